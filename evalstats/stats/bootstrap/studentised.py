"""The studentised bootstrap of a mean, from random resamples: its interval, its seed, and how far chance moved its ends."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import (
    FloatArray,
    as_codes,
    as_values,
    check_count,
    check_level,
    few_items,
    is_constant,
    too_few_clusters,
)
from evalstats.stats.estimate import Estimate
from evalstats.stats.one_sample import cr2_of_mean

BLOCKS = 10
FEWEST_RESAMPLES = 100

_ROUNDING = 1e-9  # 0.025 * 1000 is 25, whatever the rounding
_MOST_TIED = 0.5
_CHUNK = 2_000_000  # numbers drawn at a time
_FEW_DISTINCT = 20  # with this many items a distinct value, drawing counts is cheaper than drawing items
_FLAT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """An estimate whose interval comes from random resamples.

    Attributes
    ----------
    estimate
        The statistic on the observed data with its interval; `n_resamples` says how many were drawn.
    seed
        Seed of the draws: the same seed on the same data gives the same interval.
    error_low, error_high
        Monte Carlo standard error of either end, from ten blocks of resamples; None where there is no interval or a
        block had no finite end.
    """

    estimate: Estimate
    seed: int
    error_low: float | None = None
    error_high: float | None = None


def check_resamples(n_resamples: int, conf_level: float) -> int:
    """Return `n_resamples` if that many can tell the ends of an interval at `conf_level`.

    Examples
    --------
    >>> check_resamples(9999, 0.95)
    9999
    """
    draws = check_count(n_resamples, "n_resamples", least=FEWEST_RESAMPLES)
    least = math.ceil(2.0 / (1.0 - conf_level))
    if draws < least:
        raise InputError(f"{draws} resamples cannot reach an end at level {conf_level:g}; draw at least {least}")
    return draws


def order_statistic(ordered: FloatArray, level: float) -> float:
    """Return the type 1 quantile (inverse c.d.f.) of values in rising order: always one of them.

    Examples
    --------
    >>> order_statistic(np.arange(1.0, 1001.0), 0.025)
    25.0
    """
    place = math.ceil(level * ordered.size - _ROUNDING)
    return float(ordered[min(max(place, 1), ordered.size) - 1])


def block_error(draws: FloatArray, end: Callable[[FloatArray], float]) -> float | None:
    """Return the Monte Carlo error of `end(draws)`: its sd over ten blocks of the draws, divided by root ten.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=10_000)
    >>> round(block_error(draws, lambda block: float(block.mean())), 2)
    0.01
    """
    blocks = draws[: draws.size // BLOCKS * BLOCKS].reshape(BLOCKS, -1)
    ends = np.array([end(block) for block in blocks])
    if not np.isfinite(ends).all():
        return None
    return float(ends.std(ddof=1)) / math.sqrt(BLOCKS)


def bootstrap_t(
    values: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    conf_level: float = 0.95,
    seed: int = 0,
    n_resamples: int = 9999,
) -> Resampled:
    """Mean with the studentised bootstrap interval ("bootstrap-t").

    The best bootstrap for a mean of continuous, skewed scores from 30 items on; a second row beside t. Not for scores
    that pile up on one value: refused when more than half of the values are equal.

    Parameters
    ----------
    values
        float64 array, shape (n_items,): scores or differences, one per item (average trials first).
    clusters
        Integer codes, shape (n_items,): whole clusters are drawn, each resample with its own CR2 standard error.
        Fewer than 5 give no interval; the tie rule is then applied to cluster means.
    seed, n_resamples
        Of the Monte Carlo draws.

    Returns
    -------
    Resampled
        The interval with the Monte Carlo error of its ends, or an estimate with a `reason` and no interval.

    Raises
    ------
    InputError
        NaN, no items, codes that do not fit, fewer than 100 resamples or too few for the level.

    Notes
    -----
    t* = (mean* - mean)/se*; the interval is mean - q se with the 1 - alpha/2 and alpha/2 quantiles q of t*. A resample
    whose values are all equal has se* = 0: its t* counts as infinite on the side where its mean lies (0 if its mean is
    the observed one). They are counted in a warning, and where they decide an end there is no interval.

    Time grows with n_items * n_resamples (a second for 10,000 items), less for values of a few kinds; memory stays
    below 100 MB above the data.

    Simulated coverage at 95%, 30 items: exponential scores .95 where t covers .93; log-normal (sigma 1) .93 against .87.
    Clusters of unequal size (7:1), 8, 15 and 30 of them: .90, .92 and .93, where CR2's t covers .94, so it is no gain
    there unless the clusters themselves are skewed (15, exponential: .91 against .89).

    References
    ----------
    Efron 1982, doi:10.1137/1.9781611970319; Hall 1988, doi:10.1214/aos/1176350933.

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
    if clusters is None:
        reason = _unfit(x, "value")
        if reason is not None:
            return _refused(x, level, seed, reason, None)
        std_error = float(x.std(ddof=1)) / math.sqrt(x.size)
        t = np.concatenate(list(_item_draws((x - x.mean()) / x.std(), rng, draws)))
        return _inverted(x, t, level, seed, std_error=std_error)
    codes, n_clusters = as_codes(clusters, x.size)
    sizes = np.bincount(codes, minlength=n_clusters).astype(np.float64)
    sums = np.bincount(codes, weights=x, minlength=n_clusters).astype(np.float64)
    reason = too_few_clusters(n_clusters) or _unfit(sums / sizes, "cluster mean")
    if reason is not None:
        return _refused(x, level, seed, reason, n_clusters)
    std_error = math.sqrt(cr2_of_mean(x, codes, n_clusters).variance)
    t = np.concatenate(list(_cluster_draws((sums - sizes * x.mean()) / std_error, sizes, rng, draws)))
    return _inverted(x, t, level, seed, std_error=std_error, n_clusters=n_clusters)


def _unfit(units: FloatArray, word: str) -> str | None:
    """Return why units (items or clusters) cannot be studentised, or None."""
    if units.size < 2:
        return f"one {word} has no spread"
    if is_constant(units):
        return f"all {units.size} {word}s are equal, so their spread is unknown"
    # Rounding must not part what is tied.
    scale = _FLAT * float(np.abs(units).max())
    kinds, counts = np.unique(np.round(units / scale) * scale, return_counts=True)
    most = int(counts.argmax())
    if counts[most] > _MOST_TIED * units.size:
        return (
            f"{int(counts[most])} of {units.size} {word}s are {float(kinds[most]):.6g}: with more than half tied, "
            "resamples have too little spread to be studentised"
        )
    return None


def _item_draws(y: FloatArray, rng: np.random.Generator, draws: int) -> Iterator[FloatArray]:
    """Yield chunks of t* of the mean of standardised values."""
    n = y.size
    kinds, counts = np.unique(y, return_counts=True)
    by_count = kinds.size * _FEW_DISTINCT <= n
    rows = max(1, _CHUNK // (kinds.size if by_count else n))
    for start in range(0, draws, rows):
        size = min(rows, draws - start)
        if by_count:
            drawn = rng.multinomial(n, counts / n, size=size).astype(np.float64)
            mean, square = drawn @ kinds / n, drawn @ (kinds * kinds) / n
        else:
            sample = y[rng.integers(0, n, size=(size, n))]
            mean, square = sample.mean(axis=1), np.einsum("ij,ij->i", sample, sample) / n
        yield _studentised(mean, (square - mean * mean) / (n - 1), mean * mean)


def _cluster_draws(
    residual: FloatArray, sizes: FloatArray, rng: np.random.Generator, draws: int
) -> Iterator[FloatArray]:
    """Yield chunks of t* of the ratio of drawn sums and sizes, from residual sums in units of the standard error."""
    n_clusters = sizes.size
    rows = max(1, _CHUNK // n_clusters)
    for start in range(0, draws, rows):
        chosen = rng.integers(0, n_clusters, size=(min(rows, draws - start), n_clusters))
        drawn, size = residual[chosen], sizes[chosen]
        items = size.sum(axis=1, keepdims=True)
        mean = drawn.sum(axis=1, keepdims=True) / items
        spread = np.square(drawn - size * mean) / (1.0 - size / items)
        most = np.square(drawn).max(axis=1) / items[:, 0] ** 2
        yield _studentised(mean[:, 0], spread.sum(axis=1) / items[:, 0] ** 2, most)


def _studentised(shift: FloatArray, variance: FloatArray, scale: FloatArray) -> FloatArray:
    """Return shift / se; where se is 0 up to rounding, infinite on the side of the shift, or 0 where there is none."""
    flat = variance <= _FLAT * scale + _FLAT**2
    t = shift / np.sqrt(np.where(flat, 1.0, variance))
    endless = np.where(np.abs(shift) > _FLAT, np.copysign(np.inf, shift), 0.0)
    return np.where(flat, endless, t)


def _inverted(
    x: FloatArray, t: FloatArray, level: float, seed: int, *, std_error: float, n_clusters: int | None = None
) -> Resampled:
    mean, tail = float(x.mean()), (1.0 - level) / 2.0
    ordered = np.sort(t)
    flat = int(np.count_nonzero(np.isinf(t)))

    def low(draws: FloatArray) -> float:
        return mean - order_statistic(np.sort(draws), 1.0 - tail) * std_error

    def high(draws: FloatArray) -> float:
        return mean - order_statistic(np.sort(draws), tail) * std_error

    start, end = low(ordered), high(ordered)
    if not (math.isfinite(start) and math.isfinite(end)):
        reason = f"{flat} of {t.size} resamples had no spread, so an end of the interval cannot be told"
        return _refused(x, level, seed, reason, n_clusters)
    few = () if n_clusters is not None else few_items(x.size)
    told = (f"{flat} of {t.size} resamples had no spread and count as infinitely far off",) if flat else ()
    return Resampled(
        estimate=Estimate(
            estimate=mean,
            method=_method(n_clusters),
            conf_level=level,
            n=x.size,
            std_error=std_error,
            conf_low=start,
            conf_high=end,
            n_clusters=n_clusters,
            n_resamples=t.size,
            warnings=(*few, *told),
        ),
        seed=seed,
        error_low=block_error(t, low),
        error_high=block_error(t, high),
    )


def _refused(x: FloatArray, level: float, seed: int, reason: str, n_clusters: int | None) -> Resampled:
    bare = Estimate(
        estimate=float(x.mean()),
        method=_method(n_clusters),
        conf_level=level,
        n=x.size,
        n_clusters=n_clusters,
        reason=reason,
        warnings=() if n_clusters is not None else few_items(x.size),
    )
    return Resampled(estimate=bare, seed=seed)


def _method(n_clusters: int | None) -> str:
    return "studentised bootstrap" if n_clusters is None else "studentised cluster bootstrap (CR2)"
