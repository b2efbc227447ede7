"""Confidence sequences for means that are watched while the units come in, and whether their order matters.

Those of bounded values by betting, and e-values, are in `evalstats.stats.betting`.

References: Robbins 1970, doi:10.1214/aoms/1177696786, and Howard et al. 2021, doi:10.1214/20-AOS1991 (normal mixture);
Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024, doi:10.1214/24-AOS2408 (asymptotic); Ploberger & Krämer 1992,
doi:10.2307/2951597 (CUSUM test with ordinary residuals).
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_values, check_bound, check_bounds, check_level, is_constant
from evalstats.stats.estimate import positive_p

PATH_POINTS = 200

_MOVED = "the mean of all units lies outside the intervals of the first ones: the order is not like a random one"
_FEWEST = 20
_CLEAR = 0.01
FIRST_LOOK = 100  # the asymptotic sequence starts here
_USUAL_N = 500  # the n that is favoured where none is planned


@record
class ConfidenceSequence:
    """A mean, watched while the units come in: where it stands now, and how it got there.

    The probability that any interval of the path ever misses the mean is at most 1 - conf_level.

    Attributes
    ----------
    conf_low, conf_high
        The intersection of all intervals so far (but see `alone`), in the unit of the data; None where there is none, and
        `reason` says why.
    log_e
        Natural log of the e-value against "the mean is 0" now.
    p_value
        Anytime-valid p: the smallest 1/e so far, at most 1. At most 1 - conf_level exactly when the interval excludes 0.
    alone
        Whether the interval and the p are those of this n alone, since the mean moves along the order; the intersection is
        then only in the path.
    first_crossing
        The first n at which 0 was excluded; None where it never was.
    times, estimates, lows, highs
        The path, shape (n_points,), at most some 200: n, the running mean and the running intersection; infinite where
        nothing bounds it.
    """

    estimate: float
    method: str
    conf_level: float
    n: int
    log_e: float
    p_value: float | None
    times: IntArray
    estimates: FloatArray
    lows: FloatArray
    highs: FloatArray
    conf_low: float | None = None
    conf_high: float | None = None
    first_crossing: int | None = None
    alone: bool = False
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def path_times(n: int, *, first: int = 1, points: int = PATH_POINTS) -> IntArray:
    """Return whole numbers from `first` to `n`, in nearly equal ratios: at most `points` of them."""
    if n - first < points:
        return np.arange(first, n + 1, dtype=np.int64)
    return np.unique(np.rint(np.geomspace(first, n, points)).astype(np.int64))


def as_sizes(sizes: ArrayLike | None, n: int) -> FloatArray:
    """Return the weight of every unit as a share of the largest, all 1 without sizes, or raise InputError.

    Sizes of at most 1 are such shares already: of a largest unit that has not come yet.
    """
    if sizes is None:
        return np.broadcast_to(1.0, n)
    found = as_values(sizes, "sizes")
    if found.size != n:
        raise InputError(f"{found.size} sizes for {n} values; give the number of items of every unit")
    if float(found.min()) <= 0.0:
        raise InputError(f"sizes reach {float(found.min()):g}; every unit holds at least one item")
    return found / max(float(found.max()), 1.0)


def check_planned(planned_n: float | None) -> int | None:
    """Return a planned number of units of at least 1, or None."""
    if planned_n is None:
        return None
    if not math.isfinite(planned_n) or int(planned_n) != planned_n or planned_n < 1:
        raise InputError(f"planned_n is {planned_n}; give the number of units the run is planned for, a whole number")
    return int(planned_n)


def sequence_of(
    *,
    method: str,
    conf_level: float,
    log_e: FloatArray,
    first: int,
    times: IntArray,
    estimates: FloatArray,
    lows: FloatArray,
    highs: FloatArray,
    now: tuple[float, float],
    steady: bool,
) -> ConfidenceSequence:
    """Make a confidence sequence from its path; `log_e` are log e-values against a mean of 0 at n = first, first + 1, ...

    The intersection of all intervals is reported, unless the mean of all units has left it or moves along the order (not
    `steady`); then the interval of this n alone, `now`, with the p that belongs to it. Where every interval holds the true
    mean both do, so either may be taken.
    """
    estimate = float(estimates[-1])
    running = (float(lows[-1]), float(highs[-1]))
    outside = not _holds(running, estimate)
    alone = outside or not steady
    kept = now if alone else running
    if not _holds(kept, estimate):
        kept = None
    log_best = float(log_e[-1] if alone else log_e.max())
    crossed = np.flatnonzero(log_e >= -math.log1p(-conf_level))
    return ConfidenceSequence(
        estimate=estimate,
        method=method,
        conf_level=conf_level,
        n=int(times[-1]),
        conf_low=None if kept is None else kept[0],
        conf_high=None if kept is None else kept[1],
        log_e=float(log_e[-1]),
        p_value=None if kept is None else positive_p(math.exp(-max(log_best, 0.0))),
        first_crossing=first + int(crossed[0]) if crossed.size else None,
        times=times,
        estimates=estimates,
        lows=lows,
        highs=highs,
        reason=None if kept is not None else f"{_MOVED}, so the units are not alike and no interval holds",
        alone=alone,
        warnings=(_MOVED,) if outside else (),
    )


def _holds(ends: tuple[float, float], estimate: float) -> bool:
    slack = 1e-9 * max(abs(ends[0]), abs(ends[1]))
    return ends[0] < ends[1] and ends[0] - slack <= estimate <= ends[1] + slack


@record
class Drift:
    """How far the running sum strays from a straight line: p, and the mean of each half of the units."""

    p_value: float
    first_half: float
    second_half: float

    @property
    def clear(self) -> bool:
        """Whether p is at most .01."""
        return self.p_value <= _CLEAR


def order_drift(values: ArrayLike, *, sizes: ArrayLike | None = None) -> Drift | None:
    """Test whether the order of the units has to do with their values.

    The largest distance of the running sum of residuals from 0, over sd sqrt(n), is compared with a Brownian bridge's. Too
    few units (under 20) and equal values give None. The test is conservative for few units. `sizes` are the items in each
    unit, where the mean over items is meant.
    """
    v = as_values(values)
    if v.size < _FEWEST or is_constant(v):
        return None
    shares = as_sizes(sizes, v.size)
    strayed, scale = _strayed(v, shares)
    distance, half = max(float(strayed.max()), -float(strayed.min())) / scale, v.size // 2
    return Drift(
        p_value=positive_p(float(special.kolmogorov(distance))),
        first_half=float(np.average(v[:half], weights=shares[:half])),
        second_half=float(np.average(v[half:], weights=shares[half:])),
    )


def _strayed(v: FloatArray, shares: FloatArray) -> tuple[FloatArray, float]:
    """Return the running sum of residuals, and what it is measured by: sd sqrt(n)."""
    residuals = v - np.average(v, weights=shares)
    residuals *= shares
    strayed = np.cumsum(residuals)
    return strayed, math.sqrt(float(np.square(residuals, out=residuals).sum()))


@record
class CumulativeMean:
    """A mean as it adds up over the units in their order.

    Attributes
    ----------
    totals
        Shape (n_units + 1,), from 0 to the mean: the sum up to each unit over the sum of all sizes, in the unit of the data.
    lows, highs
        The band around the straight line to the mean in which all of `totals` lies with probability `conf_level` (at least,
        for few units) if the order is random. Same shape.
    first, last
        The stretch of units, counted from 1, that strays most from the mean; it is the shorter one where a beginning and
        the rest stray alike.
    inside, outside
        The mean of the stretch, and that of all other units.
    p_value
        As in `order_drift`: at most 1 - conf_level exactly where `totals` leave the band.
    """

    totals: FloatArray
    lows: FloatArray
    highs: FloatArray
    first: int
    last: int
    inside: float
    outside: float
    p_value: float
    conf_level: float


def cumulative_mean(
    values: ArrayLike, *, sizes: ArrayLike | None = None, conf_level: float = 1 - _CLEAR
) -> CumulativeMean | None:
    """Add a mean up over the units in their order, with the band of a random order.

    The band is that of a Brownian bridge, of one width all along: what the CUSUM test with ordinary residuals rejects
    outside. Of 4,000 to 10,000 random orders of normal, skewed, and right-or-wrong values, 0.0 to 0.1% leave the 99% band at 20
    units, 0.2 to 0.9% at 200 and 0.8 to 1.2% at 1,000. The stretch is picked since it stands out, so its mean is exaggerated.
    Under 20 units and equal values give None.

    Examples
    --------
    >>> found = cumulative_mean([0.0] * 60 + [1.0] * 20 + [0.0] * 20)
    >>> found.first, found.last, found.inside, found.outside
    (61, 80, 1.0, 0.0)
    """
    drift, level = order_drift(values, sizes=sizes), check_level(conf_level)
    if drift is None:
        return None
    v = as_values(values)
    shares = as_sizes(sizes, v.size)
    strayed, scale = _strayed(v, shares)
    path, whole = np.concatenate([[0.0], strayed]), float(shares.sum())
    line = np.concatenate([[0.0], np.cumsum(shares)]) * float(np.average(v, weights=shares)) / whole
    half = float(special.kolmogi(1.0 - level)) * scale / whole
    start, end = sorted((int(path.argmin()), int(path.argmax())))
    if 2 * (end - start) > v.size and (start == 0 or end == v.size):
        start, end = (end, v.size) if start == 0 else (0, start)
    within = np.zeros(v.size, dtype=np.bool_)
    within[start:end] = True
    return CumulativeMean(
        totals=np.concatenate([[0.0], np.cumsum(shares * v)]) / whole,
        lows=line - half,
        highs=line + half,
        first=start + 1,
        last=end,
        inside=float(np.average(v[within], weights=shares[within])),
        outside=float(np.average(v[~within], weights=shares[~within])),
        p_value=drift.p_value,
        conf_level=level,
    )


def is_steady(values: ArrayLike, *, sizes: ArrayLike | None = None) -> bool:
    """Whether no clear drift shows."""
    drift = order_drift(values, sizes=sizes)
    return drift is None or not drift.clear


def mixture_half_width(n: ArrayLike, rho: float, *, conf_level: float = 0.95, sigma: float = 1.0) -> FloatArray:
    """Half width of the normal-mixture confidence sequence after n values.

    sigma sqrt((n rho^2 + 1)/(n^2 rho^2) 2 log(sqrt(n rho^2 + 1)/alpha)); `rho` says which n the sequence favours, see
    `best_rho`; `sigma` is the root of the variance proxy: for values in [-b, b] it is b (Hoeffding).
    """
    counts = np.asarray(n, dtype=np.float64)
    grown = counts * rho**2 + 1.0
    return sigma * np.sqrt(grown / (counts**2 * rho**2) * 2.0 * (0.5 * np.log(grown) - math.log1p(-conf_level)))


def best_rho(planned_n: float, *, conf_level: float = 0.95) -> float:
    """Return the rho at which the half width after `planned_n` values is smallest.

    With y = n rho^2 + 1 the derivative vanishes where y - log y = 1 - 2 log alpha: y = -W(-alpha^2/e), W the lower branch of
    Lambert's function.
    """
    y = -float(special.lambertw(-((1.0 - conf_level) ** 2) / math.e, -1).real)
    return math.sqrt((y - 1.0) / planned_n)


def normal_mixture_cs(
    values: ArrayLike,
    *,
    bound: float = 1.0,
    conf_level: float = 0.95,
    planned_n: int | None = None,
    sizes: ArrayLike | None = None,
) -> ConfidenceSequence:
    """Confidence sequence for the mean of values in [-bound, bound], in closed form: the simple and wide one.

    It knows nothing of the variance, so for models that agree on most items it is several times as wide as `betting_cs`,
    whose arguments it takes. It is shortest at `planned_n`, 500 without it, fixed before the first look.
    """
    v = as_values(values)
    span, level = check_bound(bound), check_level(conf_level)
    check_bounds(v, -span, span)
    shares = as_sizes(sizes, v.size)
    rho = best_rho(check_planned(planned_n) or _USUAL_N, conf_level=level)
    n = np.arange(1.0, v.size + 1.0)
    total, weight = np.cumsum(v * shares), np.cumsum(shares)
    # A unit's share x (value - mean) lies in a range of 2 span whatever its share: the proxy is span^2.
    half = mixture_half_width(n, rho, conf_level=level, sigma=span) * n / weight
    means = total / weight
    lows, highs = np.maximum(means - half, -span), np.minimum(means + half, span)
    log_e = _log_mixture(total / span, n, rho)
    times = path_times(v.size)
    return sequence_of(
        method="normal-mixture confidence sequence",
        conf_level=level,
        log_e=log_e,
        first=1,
        times=times,
        estimates=means[times - 1],
        lows=np.maximum.accumulate(lows)[times - 1],
        highs=np.minimum.accumulate(highs)[times - 1],
        now=(float(lows[-1]), float(highs[-1])),
        steady=is_steady(v, sizes=sizes),
    )


def asymptotic_cs(
    values: ArrayLike,
    *,
    conf_level: float = 0.95,
    planned_n: int | None = None,
    sizes: ArrayLike | None = None,
) -> ConfidenceSequence:
    """Confidence sequence for the mean of unbounded values, from 100 units on: what a t interval is to a fixed n.

    Its coverage is right in the limit, like that of a t interval, and the first look must not come before 100 units: fewer
    raise CannotAnswerError, since nothing bounds what the next one may be. It is shortest at `planned_n`, 500 without it, fixed
    before the first look.

    Notes
    -----
    The normal-mixture half width with the standard deviation seen so far for sigma. With sizes the values are residuals
    size x (value - mean) over the mean size. Times at which all values are equal have no interval.
    """
    v = as_values(values)
    level = check_level(conf_level)
    if v.size < FIRST_LOOK:
        raise CannotAnswerError(
            f"{v.size} units of a score without bounds: nothing bounds what the next one may be, so a sequential interval "
            f"starts at {FIRST_LOOK}; wait for more, or declare the score's bounds"
        )
    shares = as_sizes(sizes, v.size)
    rho = best_rho(check_planned(planned_n) or _USUAL_N, conf_level=level)
    n = np.arange(1.0, v.size + 1.0)
    means, spread = _running(v, shares, n)
    late = np.arange(FIRST_LOOK - 1, v.size)
    varied = late[spread[late] > 1e-12 * float(np.abs(v).max())]
    if not varied.size:
        raise CannotAnswerError(f"all {v.size} differences are equal, so their spread is unknown")
    start = int(varied[0])
    half = np.full(v.size, math.inf)
    half[varied] = mixture_half_width(n[varied], rho, conf_level=level) * spread[varied]
    log_e = np.zeros(v.size)
    log_e[varied] = _log_mixture(n[varied] * means[varied] / spread[varied], n[varied], rho)
    times = path_times(v.size, first=start + 1)
    lows, highs = np.maximum.accumulate(means - half), np.minimum.accumulate(means + half)
    return sequence_of(
        method="asymptotic confidence sequence",
        conf_level=level,
        log_e=log_e[start:],
        first=start + 1,
        times=times,
        estimates=means[times - 1],
        lows=lows[times - 1],
        highs=highs[times - 1],
        now=(float(means[-1] - half[-1]), float(means[-1] + half[-1])),
        steady=is_steady(v, sizes=sizes),
    )


def _running(v: FloatArray, shares: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the running mean and the running standard deviation of what one unit adds to it, times n."""
    weight, squared = np.cumsum(shares), shares**2
    weight_squared = np.cumsum(squared)
    # About the overall mean, so that squares of large numbers do not cancel.
    centre = float((v * shares).sum() / weight[-1])
    d = v - centre
    means, means_squared = np.cumsum(d * shares) / weight, np.cumsum(d * squared) / weight_squared
    # In steps that are no differences: units that are all equal so far have no spread, not one of rounding.
    steps = squared[1:] * weight_squared[:-1] / weight_squared[1:] * np.square(d[1:] - means_squared[:-1])
    residual = np.cumsum(np.append(0.0, steps)) + weight_squared * np.square(means_squared - means)
    return centre + means, np.sqrt(residual / n) * n / weight


def _log_mixture(totals: FloatArray, n: FloatArray, rho: float) -> FloatArray:
    """Return the log e-value against a mean of 0, from sums of values of variance proxy 1."""
    grown = n * rho**2 + 1.0
    return 0.5 * (np.square(totals) * rho**2 / grown - np.log(grown))
