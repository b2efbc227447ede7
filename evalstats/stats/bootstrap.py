"""Bootstrap intervals of a mean: percentile and BCa from the exact law of resamples, and bootstrap-t from random ones.

References: Efron 1982, doi:10.1137/1.9781611970319, and 1987, doi:10.1080/01621459.1987.10478410 (BCa); Hall 1988,
doi:10.1214/aos/1176350933 (bootstrap-t).
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import (
    FloatArray,
    as_codes,
    as_values,
    check_bound,
    check_bounds,
    check_count,
    check_level,
    few_items,
    is_constant,
    too_few_clusters,
)
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.resample_law import law_of_sum, percentile_ends, ratio_ends

_ROUNDING = 1e-9


def percentile_law(
    values: ArrayLike, *, conf_level: float = 0.95, clusters: ArrayLike | None = None
) -> IntervalEstimate:
    """Mean with the percentile bootstrap interval, as from infinitely many resamples.

    For comparison with published bootstrap intervals. It is too short near the ends of the scale (coverage .80 for .90
    against .98 at n = 20) and with few clusters (.82 to .91 up to 10), so it is never the default. There is no p-value:
    counting resamples on the wrong side of 0 is not a test.

    `values`: float64 array, shape (n_items,): item scores or differences. Trials: average them first, since resampling them as
    well would count their noise twice. `clusters`: Integer codes, shape (n_items,): whole clusters are drawn; the mean is the
    ratio of the drawn sums and sizes.

    Type 1 quantiles of the law. Data that do not vary give no interval: a bootstrap knows only the values it saw.

    Notes
    -----
    The law of the sum of n draws is the n-fold convolution of the observed distribution: exact by FFT for values on a
    lattice (right/wrong scores, means of trials, rubric points), within .02 standard errors on a grid otherwise. For
    clusters, P(S/N <= t) = P(sum(s_g - t n_g) <= 0); up to 10 clusters every resample is listed.

    Examples
    --------
    >>> r = percentile_law([1.0] * 21 + [0.0] * 22)
    >>> round(100 * r.conf_low, 2), round(100 * r.conf_high, 2)
    (34.88, 62.79)
    """
    x = as_values(values)
    level = check_level(conf_level)
    if clusters is not None:
        return _clustered(x, clusters, level)
    method = "percentile bootstrap, exact law"
    mean = float(x.mean())
    if is_constant(x):
        reason = f"all {x.size} values are equal: a bootstrap would give an interval of width zero"
        return _estimate(mean, method, level, x.size, reason=reason)
    std_error = float(x.std()) / math.sqrt(x.size)
    ends = percentile_ends(x, (1.0 - level) / 2.0)
    return _estimate(mean, method, level, x.size, std_error=std_error, ends=ends)


def augmented_percentile(differences: ArrayLike, *, bound: float = 1.0, conf_level: float = 0.95) -> IntervalEstimate:
    """Mean of bounded differences with the percentile bootstrap after one pseudo-item at +bound and one at -bound.

    The bootstrap to use for bounded differences (candidate minus baseline, in the score's own unit) below 300 items: the
    pseudo-items stand for values not yet seen, and coverage stays above .945 where the plain percentile interval falls to .80.
    """
    check_bound(bound)
    d = as_values(differences, "differences")
    check_bounds(d, -bound, bound, "differences")
    level = check_level(conf_level)
    padded = np.concatenate([d, [bound, -bound]])
    ends = percentile_ends(padded, (1.0 - level) / 2.0)
    std_error = float(padded.std()) / math.sqrt(padded.size)
    method = "augmented percentile bootstrap, exact law"
    return _estimate(float(d.mean()), method, level, d.size, std_error=std_error, ends=ends)


def _clustered(x: FloatArray, clusters: ArrayLike, level: float) -> IntervalEstimate:
    codes, n_clusters = as_codes(clusters, x.size)
    method, mean = "cluster percentile bootstrap, exact law", float(x.mean())
    sums = np.bincount(codes, weights=x).astype(np.float64)
    sizes = np.bincount(codes).astype(np.float64)
    reason = too_few_clusters(n_clusters)
    if reason is None and is_constant(sums / sizes):
        reason = f"all {n_clusters} cluster means are equal: a bootstrap would give an interval of width zero"
    if reason is not None:
        return _estimate(mean, method, level, x.size, n_clusters=n_clusters, reason=reason)
    std_error = math.sqrt(float(np.square(sums - mean * sizes).sum())) / x.size
    ends = ratio_ends(sums, sizes, (1.0 - level) / 2.0)
    return _estimate(mean, method, level, x.size, std_error=std_error, ends=ends, n_clusters=n_clusters)


def _estimate(
    mean: float,
    method: str,
    level: float,
    n: int,
    *,
    std_error: float | None = None,
    ends: tuple[float, float] | None = None,
    n_clusters: int | None = None,
    reason: str | None = None,
) -> IntervalEstimate:
    """Return an estimate with its interval, or why it has none."""
    if ends is not None and not ends[1] > ends[0]:
        ends, reason = None, "so much of the law sits on one value that both ends fall on it"
    low, high = ends or (None, None)
    return IntervalEstimate(
        estimate=mean,
        method=method,
        conf_level=level,
        n=n,
        std_error=std_error,
        conf_low=low,
        conf_high=high,
        n_clusters=n_clusters,
        reason=reason,
        warnings=() if n_clusters is not None else few_items(n),
    )


def bca_law(values: ArrayLike, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Mean with the bias-corrected and accelerated bootstrap interval, as from infinitely many resamples.

    For comparison with published BCa intervals. It mends skewness, not values that were never seen: near the ends of the
    scale it covers as little as .80 (n = 20) and .90 (n = 100), like the percentile interval, so it is never the default.
    Average trials first. Values that do not vary give a reason and no interval.

    Notes
    -----
    z0 is the normal quantile of P(mean* < mean) + P(mean* = mean)/2, and a = skewness/(6 root n), with the skewness of the
    observed values. The ends are the quantiles of the law at Phi(z0 + (z0 + z)/(1 - a (z0 + z))) with z = -1.96 and 1.96
    (at 95%). The law is that of `percentile_law`: exact on a lattice, within .02 standard errors on a grid otherwise.

    Examples
    --------
    >>> r = bca_law([1.0] * 21 + [0.0] * 22)
    >>> round(100 * r.conf_low, 2), round(100 * r.conf_high, 2)
    (34.88, 62.79)
    """
    x = as_values(values)
    level = check_level(conf_level)
    n, mean, method = x.size, float(x.mean()), "BCa bootstrap, exact law"
    if is_constant(x):
        reason = f"all {n} values are equal: a bootstrap would give an interval of width zero"
        return _estimate(mean, method, level, n, reason=reason)
    law = law_of_sum(x)
    tails = corrected_tails(law.cdf(n * mean), acceleration(x - mean), level)
    std_error = float(x.std()) / math.sqrt(n)
    if tails is None:
        reason = "the values are so skewed that BCa has no ends at this level"
        return _estimate(mean, method, level, n, std_error=std_error, reason=reason)
    ends = (law.lower(tails[0]) / n, law.upper(tails[1]) / n)
    return _estimate(mean, method, level, n, std_error=std_error, ends=ends)


def acceleration(influence: FloatArray) -> float:
    """Return BCa's acceleration, sum(u^3)/(6 sum(u^2)^1.5), from units' influence u: skewness/(6 root n) for a mean."""
    scaled = influence / float(np.abs(influence).max())
    squares = scaled**2
    return float((squares * scaled).sum()) / (6.0 * float(squares.sum()) ** 1.5)  # a power of 3 takes ten times as long


def corrected_tails(share_below: float, a: float, conf_level: float) -> tuple[float, float] | None:
    """Return how much of the bootstrap law lies below the lower and above the upper BCa end; None where they have none.

    `share_below` is P(statistic* < statistic), ties counted half; `a` the acceleration.
    """
    if not 0.0 < share_below < 1.0:
        return None
    z0, z = float(special.ndtri(share_below)), -float(special.ndtri((1.0 - conf_level) / 2.0))
    down, up = 1.0 - a * (z0 - z), 1.0 - a * (z0 + z)
    if down <= 0.0 or up <= 0.0:
        return None
    return float(special.ndtr(z0 + (z0 - z) / down)), float(special.ndtr(-z0 - (z0 + z) / up))


BLOCKS = 10
FEWEST_RESAMPLES = 100

_STUDENTISED = "studentised bootstrap"
_MOST_TIED = 0.5
_CHUNK = 2_000_000  # numbers drawn at a time
_CHEAP_TO_COUNT = 20  # with this many items a distinct value, drawing counts is cheaper than drawing items
_FLAT = 1e-12


@record
class Resampled:
    """An estimate whose interval comes from random resamples: the same seed on the same data gives the same interval.

    `error_low` and `error_high` are Monte Carlo standard errors of the ends, from ten blocks of resamples; None where there is
    no interval or a block had no finite end.
    """

    estimate: IntervalEstimate
    seed: int
    error_low: float | None = None
    error_high: float | None = None


def check_resamples(n_resamples: int, conf_level: float) -> int:
    """Return `n_resamples` if that many can tell the ends of an interval at `conf_level`."""
    draws = check_count(n_resamples, "n_resamples", least=FEWEST_RESAMPLES)
    least = math.ceil(2.0 / (1.0 - conf_level))
    if draws < least:
        raise InputError(f"{draws} resamples cannot reach an end at level {conf_level:g}; draw at least {least}")
    return draws


def order_statistic(ordered: FloatArray, level: float) -> float:
    """Return the type 1 quantile (inverse c.d.f.) of values in rising order: always one of them."""
    place = math.ceil(level * ordered.size - _ROUNDING)  # 0.025 * 1000 is 25, whatever the rounding
    return float(ordered[min(max(place, 1), ordered.size) - 1])


def block_error(draws: FloatArray, end: Callable[[FloatArray], float]) -> float | None:
    """Return the Monte Carlo error of `end(draws)`: its sd over ten blocks of the draws, divided by root ten."""
    blocks = draws[: draws.size // BLOCKS * BLOCKS].reshape(BLOCKS, -1)
    ends = np.array([end(block) for block in blocks])
    if not np.isfinite(ends).all():
        return None
    return float(ends.std(ddof=1)) / math.sqrt(BLOCKS)


def bootstrap_t(
    values: ArrayLike,
    *,
    conf_level: float = 0.95,
    seed: int = 0,
    n_resamples: int = 9999,
) -> Resampled:
    """Mean with the studentised bootstrap interval ("bootstrap-t").

    The best bootstrap for a mean of continuous, skewed scores from 30 items on; a second row beside t. Not for scores
    that pile up on one value: refused when more than half of the values are equal. One value per item: average trials first.

    Notes
    -----
    t* = (mean* - mean)/se*; the interval is mean - q se with the 1 - alpha/2 and alpha/2 quantiles q of t*. A resample
    whose values are all equal has se* = 0: its t* counts as infinite on the side where its mean lies (0 if its mean is
    the observed one). They are counted in a warning, and where they decide an end there is no interval.

    Time grows with n_items * n_resamples (a second for 10,000 items), less for values of a few kinds; memory stays
    below 100 MB above the data.

    Simulated coverage at 95%, 30 items: exponential scores .95 where t covers .93; log-normal (sigma 1) .93 against .87.
    For clusters it is no gain over CR2's t (.90 against .94 with 8 unequal ones).

    Examples
    --------
    >>> scores = np.random.default_rng(0).exponential(size=40)
    >>> r = bootstrap_t(scores, seed=1)
    >>> round(r.estimate.estimate, 3), round(r.estimate.conf_low, 1), round(r.estimate.conf_high, 1)
    (1.158, 0.8, 1.7)
    """
    x = as_values(values)
    level = check_level(conf_level)
    draws = check_resamples(n_resamples, level)
    rng = np.random.default_rng(seed)
    reason = _unfit(x)
    if reason is not None:
        return _refused(x, level, seed, reason)
    t = np.concatenate(list(_item_draws((x - x.mean()) / x.std(), rng, draws)))
    return _inverted(x, t, level, seed)


def _unfit(values: FloatArray) -> str | None:
    """Return why values cannot be studentised, or None."""
    if values.size < 2:
        return "one value has no spread"
    if is_constant(values):
        return f"all {values.size} values are equal, so their spread is unknown"
    # Rounding must not part what is tied.
    scale = _FLAT * float(np.abs(values).max())
    kinds, counts = np.unique(np.round(values / scale) * scale, return_counts=True)
    most = int(counts.argmax())
    if counts[most] > _MOST_TIED * values.size:
        return (
            f"{int(counts[most])} of {values.size} values are {float(kinds[most]):.6g}: with more than half tied, "
            "resamples have too little spread to be studentised"
        )
    return None


def _item_draws(y: FloatArray, rng: np.random.Generator, draws: int) -> Iterator[FloatArray]:
    """Yield chunks of t* of the mean of standardised values."""
    n = y.size
    kinds, counts = np.unique(y, return_counts=True)
    cheaper_to_count = kinds.size * _CHEAP_TO_COUNT <= n
    rows = max(1, _CHUNK // (kinds.size if cheaper_to_count else n))
    for start in range(0, draws, rows):
        size = min(rows, draws - start)
        if cheaper_to_count:
            drawn = rng.multinomial(n, counts / n, size=size).astype(np.float64)
            mean, square = drawn @ kinds / n, drawn @ (kinds * kinds) / n
        else:
            sample = y[rng.integers(0, n, size=(size, n))]
            mean, square = sample.mean(axis=1), np.einsum("ij,ij->i", sample, sample) / n
        yield _studentised(mean, (square - mean * mean) / (n - 1))


def _studentised(shift: FloatArray, variance: FloatArray) -> FloatArray:
    """Return shift / se; where se is 0 up to rounding, infinite on the side of the shift, or 0 where there is none."""
    flat = variance <= _FLAT * (shift * shift) + _FLAT**2
    endless = np.where(np.abs(shift) > _FLAT, np.copysign(np.inf, shift), 0.0)
    return np.where(flat, endless, shift / np.sqrt(np.where(flat, 1.0, variance)))


def _inverted(x: FloatArray, t: FloatArray, level: float, seed: int) -> Resampled:
    mean, std_error, tail = float(x.mean()), float(x.std(ddof=1)) / math.sqrt(x.size), (1.0 - level) / 2.0
    flat = int(np.count_nonzero(np.isinf(t)))

    def low(draws: FloatArray) -> float:
        return mean - order_statistic(np.sort(draws), 1.0 - tail) * std_error

    def high(draws: FloatArray) -> float:
        return mean - order_statistic(np.sort(draws), tail) * std_error

    start, end = low(t), high(t)
    if not (math.isfinite(start) and math.isfinite(end)):
        reason = f"{flat} of {t.size} resamples had no spread, so an end of the interval cannot be told"
        return _refused(x, level, seed, reason)
    told = (f"{flat} of {t.size} resamples had no spread and count as infinitely far off",) if flat else ()
    drawn = IntervalEstimate(
        estimate=mean,
        method=_STUDENTISED,
        conf_level=level,
        n=x.size,
        std_error=std_error,
        conf_low=start,
        conf_high=end,
        n_resamples=t.size,
        warnings=(*few_items(x.size), *told),
    )
    return Resampled(
        estimate=drawn,
        seed=seed,
        error_low=block_error(t, low),
        error_high=block_error(t, high),
    )


def _refused(x: FloatArray, level: float, seed: int, reason: str) -> Resampled:
    bare = _estimate(float(x.mean()), _STUDENTISED, level, x.size, reason=reason)
    return Resampled(estimate=bare, seed=seed)
