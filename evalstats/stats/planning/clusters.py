"""Power where items come in clusters, by formula, and of the whole rule of a comparison, by simulation."""

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, IntArray, as_values, check_count, check_level
from evalstats.stats.estimate import normal_quantile, t_quantile
from evalstats.stats.one_sample import satterthwaite_df, wilson_ends
from evalstats.stats.paired.means import ENOUGH_NONZERO
from evalstats.stats.planning.mean import check_power, mean_power, positive, smallest_effect

MIN_DF = 4.0  # with fewer degrees of freedom no direction is claimed

_ROUNDING = 1e-9
_MANY = 40  # from here on the sign-flip agrees but for less than one draw in a hundred, and for ties
_LISTED = 12  # up to 2**12 sets of clusters are listed, beyond that sampled
_WORK = 3_000_000
_MOST_DRAWS = 16_000
_SEED = 20250301
_FAR = 1e4
_GRID = 0.04  # standard errors
_Critical = tuple[FloatArray, FloatArray]
Rule = Literal["t", "augmented-t", "cr2"]
Claim = Literal["difference", "noninferiority", "equivalence"]
_CHUNK = 2_000_000
_FLIPS = 1999


def design_effect(cluster_size: float, icc: float, *, size_cv: float = 0.0) -> float:
    """Variance of a mean of clustered items over that of as many independent ones: 1 + [(1 + cv^2) m - 1] rho.

    `icc` is the correlation of the differences of two items of one cluster (of the differences, not of the scores),
    `size_cv` the standard deviation of the cluster sizes over their mean.
    """
    if not (math.isfinite(cluster_size) and cluster_size >= 1.0):
        raise InputError(f"cluster_size is {cluster_size:g}; give a number of at least 1")
    if not 0.0 <= icc <= 1.0:
        raise InputError(f"icc is {icc:g}; give a number between 0 and 1")
    _check_cv(size_cv)
    return 1.0 + ((1.0 + size_cv**2) * cluster_size - 1.0) * icc


def _check_cv(size_cv: float) -> None:
    if not (math.isfinite(size_cv) and size_cv >= 0.0):
        raise InputError(f"size_cv is {size_cv:g}; give a number from 0")


def gamma_shares(n_clusters: int, size_cv: float) -> FloatArray:
    """Shares of the items that clusters hold whose sizes have a coefficient of variation: quantiles of a gamma law."""
    n_clusters = check_count(n_clusters, "n_clusters", least=1)
    _check_cv(size_cv)
    if size_cv < _ROUNDING:
        return np.full(n_clusters, 1.0 / n_clusters)
    middles = (np.arange(n_clusters) + 0.5) / n_clusters
    sizes = np.maximum(special.gammaincinv(size_cv**-2, middles), 1e-300)
    return sizes / sizes.sum()


def shares_with_df(n_clusters: int, df: float) -> FloatArray:
    """Shares of the items that would give the CR2 variance of a mean these Satterthwaite degrees of freedom.

    For where only G and df are known: gamma-distributed sizes, unequal enough.
    """
    equal = gamma_shares(n_clusters, 0.0)
    # Two have 1 degree of freedom whatever their sizes.
    if n_clusters < 3 or df >= satterthwaite_df(equal) - 1e-6:
        return equal
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        shares = gamma_shares(n_clusters, middle)
        # A share that rounds to 1 is worth no more than 1 degree of freedom, and the formula divides by what is left of 1.
        wider = float(shares.max()) < 1.0 and satterthwaite_df(shares) > df
        low, high = (middle, high) if wider else (low, middle)
    return gamma_shares(n_clusters, high)


def cluster_power(
    delta: float,
    std_error: float,
    df: float,
    n_clusters: int,
    *,
    conf_level: float = 0.95,
    shares: ArrayLike | None = None,
    between: float = 0.5,
    step: float = 0.0,
) -> float:
    """Probability that a difference in clustered items is found: CR2's interval excludes 0 and the sign-flip agrees.

    Parameters
    ----------
    delta
        True difference; its sign does not matter.
    std_error, df
        Standard error of the difference and its (Satterthwaite) degrees of freedom.
    n_clusters
        Clusters. Fewer than 5, fewer than 4 df, or so few that 2^(1 - G) > 1 - conf_level, never lead to a direction: 0.
    shares
        Shares of the items that the clusters hold, shape (n_clusters,), where they are known; else sizes are made up
        that fit `df`.
    between
        Share of the squared standard error that comes from differences between clusters rather than within them. It
        matters only where sizes are unequal; design_effect d gives about 1 - 1/d.
    step
        The smallest amount by which the mean difference can change, in its own unit: 1/n for right/wrong items with one
        trial, 1/(n K) with K trials; 0 for continuous scores. On a lattice sets of clusters cancel exactly now and then,
        which costs the sign-flip power where clusters are few and small.

    Notes
    -----
    The t part is the noncentral t. The part that the sign-flip takes away is counted on normal cluster sums: for noise
    sums e_g and shares f_g the test rejects from the effect on at which no more than k sets F of clusters have
    sum_F (delta f_g + e_g) <= step/2, with k = floor((1 - conf_level) 2^(G - 1)); each set gives one critical effect, so that
    one table of draws (fixed, hence the same answer every time) serves every delta. The draws are 700 to 16000: the
    power is good to .01. With 40 clusters and more the sign-flip takes away less than .01 but for a step.

    Examples
    --------
    >>> round(cluster_power(3.5, 1.0, 5, 6), 2), round(cluster_power(3.5, 1.0, 20, 21), 2)
    (0.61, 0.91)
    """
    shift = abs(delta) / positive(std_error, "std_error")
    level = check_level(conf_level)
    if _hopeless(n_clusters, df, level):
        return 0.0
    return _agreed(shift, df, level, _critical(n_clusters, df, level, shares, (between, step / std_error)))


def mde_clusters(
    std_error: float,
    df: float,
    n_clusters: int,
    *,
    conf_level: float = 0.95,
    power: float = 0.8,
    shares: ArrayLike | None = None,
    between: float = 0.5,
    step: float = 0.0,
) -> float | None:
    """Smallest difference in clustered items that is found with the power asked for, the sign-flip agreeing.

    In the unit of `std_error`; None where no difference would ever be found. Parameters are those of `cluster_power`.
    What CR2's t test alone finds with 80% power is found with 62% at 6 clusters and 75% at 7, since all 6 clusters, or
    nearly all 7, must go the same way.
    """
    scale = positive(std_error, "std_error")
    level = check_level(conf_level)
    check_power(power, level)
    if _hopeless(n_clusters, df, level):
        return None
    critical = _critical(n_clusters, df, level, shares, (between, step / scale))
    found = smallest_effect(lambda shift: _agreed(shift, df, level, critical), power, low=0.0, high=_FAR)
    return None if found is None else scale * found


def _hopeless(n_clusters: int, df: float, level: float) -> bool:
    """Whether no direction is ever claimed: too few clusters, in number or in effect, or a sign-flip that cannot reach."""
    positive(df, "df")
    clusters = check_count(n_clusters, "n_clusters", least=1)
    unreachable = math.ldexp(1.0, 1 - clusters) > 1.0 - level
    return clusters < FEW_CLUSTERS or df < MIN_DF - _ROUNDING or unreachable


def _agreed(shift: float, df: float, level: float, critical: _Critical | float) -> float:
    """Return the power of the t test less the share of draws that it finds and the sign-flip does not.

    Of many clusters a set drawn at random holds half the items, so that ties at half a step cost a whole step of the effect.
    """
    if not isinstance(critical, tuple):
        return mean_power(max(0.0, shift - critical), 1.0, df, conf_level=level)
    by_t, by_both = (float(np.searchsorted(each, shift, side="right")) / each.size for each in critical)
    return max(0.0, mean_power(shift, 1.0, df, conf_level=level) - (by_t - by_both))


def _critical(
    n_clusters: int, df: float, level: float, shares: ArrayLike | None, noise: tuple[float, float]
) -> _Critical | float:
    """Return the sorted critical effects, in standard errors, of the t test and of both; for many clusters the step alone."""
    between, step = noise
    if not 0.0 <= between <= 1.0:
        raise InputError(f"between is {between:g}; give a share from 0 to 1")
    if not (math.isfinite(step) and step >= 0.0):
        raise InputError(f"step is {step:g} standard errors; give a number from 0")
    if n_clusters >= _MANY:
        return step
    held = shares_with_df(n_clusters, df) if shares is None else _proportions(shares, n_clusters)
    # A table serves more often where equal clusters ignore `between` (it means nothing there) and steps go by a grid, which
    # moves a power by .005 at most.
    equal = float(np.ptp(held)) < _ROUNDING
    return _critical_effects(tuple(held.tolist()), level, 0.5 if equal else between, _GRID * round(step / _GRID))


def _proportions(shares: ArrayLike, n_clusters: int) -> FloatArray:
    held = np.asarray(shares, dtype=np.float64)
    if held.shape != (n_clusters,) or not (held > 0.0).all():
        raise InputError(f"shares have shape {held.shape}; give {n_clusters} positive numbers, one for each cluster")
    return held / held.sum()


@lru_cache(maxsize=512)
def _critical_effects(
    shares: tuple[float, ...], level: float, between: float, step: float
) -> tuple[FloatArray, FloatArray]:
    f = np.array(shares)
    rng = np.random.default_rng(_SEED)
    sets = _sets(f.size, rng)
    draws = min(_MOST_DRAWS, max(400, _WORK // len(sets))) // 2
    noise = rng.standard_normal((draws, f.size))
    deviation = np.sqrt(between * f**2 / (f**2).sum() + (1.0 - between) * f)
    e = np.concatenate([noise, -noise]) * deviation
    total = e.sum(axis=1)
    variance = ((e - f * total[:, np.newaxis]) ** 2 / (1.0 - f)).sum(axis=1)
    by_t = t_quantile(level, satterthwaite_df(f)) * np.sqrt(variance) - total
    by_both = np.maximum(by_t, _sign_flip_effects(e, f, sets, level, 0.5 * step))
    return np.sort(by_t), np.sort(by_both)


def _sets(n_clusters: int, rng: np.random.Generator) -> FloatArray:
    """Return sets of clusters as rows of 0 and 1: all that are not empty, or a sample of them."""
    if n_clusters <= _LISTED:
        numbers: IntArray = np.arange(1, 2**n_clusters, dtype=np.int64)
        return np.asarray((numbers[:, np.newaxis] >> np.arange(n_clusters)) & 1, dtype=np.float64)
    sample = rng.integers(0, 2, size=(2**_LISTED, n_clusters)).astype(np.float64)
    return sample[sample.any(axis=1)]


def _sign_flip_effects(e: FloatArray, f: FloatArray, sets: FloatArray, level: float, room: float) -> FloatArray:
    """Return, for each draw, the effect from which the sign-flip rejects.

    Flipping the signs of a set of clusters reaches the observed sum from the other side exactly where the set's own sum is
    at most 0 (`room` on a lattice): below the effect (room - sum_F e) / sum_F f. The p is (1 + number of such sets) / 2^(G - 1).
    """
    allowed = math.floor((1.0 - level) * 2.0 ** (f.size - 1) * (1.0 + 1e-12))
    rank = allowed if f.size <= _LISTED else round(allowed / 2.0**f.size * (len(sets) + 1))
    # Single precision is enough for draws, and twice as fast.
    effects = (np.float32(room) - e.astype(np.float32) @ sets.astype(np.float32).T) / (sets @ f).astype(np.float32)
    place = effects.shape[1] - max(1, rank)
    return np.asarray(np.partition(effects, place, axis=1)[:, place], dtype=np.float64)


@record
class SimulatedPower:
    """Share of simulated comparisons that made the claim, with its 95% Wilson interval: Monte Carlo error alone."""

    power: float
    conf_low: float
    conf_high: float
    n_resamples: int
    seed: int


def simulated_power(
    delta: float,
    *,
    n_items: int,
    variance: float,
    pool: ArrayLike | None = None,
    shares: ArrayLike | None = None,
    cluster_variance: float = 0.0,
    rule: Rule = "t",
    bound: float = 1.0,
    step: float = 0.0,
    claim: Claim = "difference",
    margin: float | None = None,
    conf_level: float = 0.95,
    n_resamples: int = 4000,
    seed: int = 0,
) -> SimulatedPower:
    """Draw item differences with a true mean of `delta`, apply the rule of a comparison, count the claims.

    Parameters
    ----------
    delta
        True mean difference, in favour of the candidate, in score units.
    n_items, variance
        Items of one comparison; variance of an item's difference within its cluster.
    pool
        Differences of a pilot, shape (n,): noise is drawn from them with replacement, centred and brought to `variance`,
        so that ties and skewness are kept. None draws normal noise.
    shares, cluster_variance
        Shares of the items that the clusters hold, shape (n_clusters,), needed for rule "cr2"; variance of the clusters' true
        mean differences, drawn as normal.
    rule
        "t" and "augmented-t" on independent items; "cr2": CR2's t and, for a direction, a sign-flip of clusters that
        agrees, at least 5 clusters and 4 degrees of freedom.
    bound
        Largest possible difference, for "augmented-t".
    step
        The smallest amount by which an item's difference can change, for "cr2": 1 for right/wrong items with one trial, 1/K
        with K; cluster sums are rounded to it, since ties cost the sign-flip power. 0 for continuous scores.
    claim
        "difference" counts intervals that exclude 0 on the side of `delta`; the others one-sided ends beyond `margin`.
    n_resamples, seed
        Simulated comparisons and their seed; the same seed draws the same noise for every `delta`.

    Notes
    -----
    CR2 and the sign-flip of a mean depend on cluster sums alone, so with normal noise only sums are drawn. The sign-flip is
    exact up to 12 clusters and counts 1999 random flips beyond.

    Examples
    --------
    >>> found = simulated_power(0.3, n_items=90, variance=1.0, n_resamples=2000)
    >>> found.conf_low < 0.80 < found.conf_high
    True
    """
    n_items = check_count(n_items, "n_items", least=2)
    draws = check_count(n_resamples, "n_resamples", least=1)
    level = check_level(conf_level)
    noise = _Noise(
        rng=np.random.default_rng(seed),
        spread=math.sqrt(variance),
        pool=None if pool is None else _standardised(as_values(pool, "pool")),
    )
    judge = _Judge(claim=claim, margin=margin or 0.0, level=level, upward=delta >= 0.0)
    if rule == "cr2":
        sizes = _whole_sizes(np.asarray(shares, dtype=np.float64), n_items)
        sums = noise.cluster_sums(sizes, math.sqrt(cluster_variance), draws, step) + delta * sizes
        hits = _cr2_claims(noise.rounded(sums, step), sizes, judge)
    else:
        hits = 0
        for rows in _chunks(draws, n_items):
            d = delta + noise.items((rows, n_items))
            tested = _augmented(d / bound, bound) if rule == "augmented-t" else _plain(d)
            hits += int(np.count_nonzero(judge.claims(*tested)))
    low, high = wilson_ends(hits / draws, draws, normal_quantile(0.95))
    return SimulatedPower(power=hits / draws, conf_low=low, conf_high=high, n_resamples=draws, seed=seed)


@record
class _Noise:
    """Draws of what items and clusters differ by beside the true difference."""

    rng: np.random.Generator
    spread: float
    pool: FloatArray | None

    def items(self, shape: tuple[int, int]) -> FloatArray:
        if self.pool is None:
            return self.spread * self.rng.standard_normal(shape)
        return self.spread * self.pool[self.rng.integers(0, self.pool.size, size=shape)]

    def cluster_sums(self, sizes: FloatArray, cluster_spread: float, draws: int, step: float) -> FloatArray:
        """Return sums over clusters, shape (draws, n_clusters).

        Rounding to a step adds step^2/12 to the variance of a sum, twice that where it is at random, so as much is taken off
        before (Sheppard's correction).
        """
        between = cluster_spread * self.rng.standard_normal((draws, sizes.size)) * sizes
        if self.pool is None:
            within = self.spread * self.rng.standard_normal((draws, sizes.size)) * np.sqrt(sizes)
        else:
            n = int(sizes.sum())
            starts = (np.cumsum(sizes) - sizes).astype(np.int64)
            parts = [np.add.reduceat(self.items((rows, n)), starts, axis=1) for rows in _chunks(draws, n)]
            within = np.concatenate(parts)
        variance = np.maximum(self.spread**2 * sizes, 1e-300)
        added = step**2 / (12.0 if self.pool is None else 6.0)
        return between + within * np.sqrt(np.maximum(0.0, 1.0 - added / variance))

    def rounded(self, sums: FloatArray, step: float) -> FloatArray:
        """Round to the step: normal sums to the nearest, those of a pool up or down at random, so that their mean stays.

        A pool of right or wrong answers gives sums that lie on a lattice themselves; the nearest step would move all of them
        by the same amount, and a small true difference would be lost or doubled.
        """
        if not step > 0.0:
            return sums
        shift = 0.0 if self.pool is None else self.rng.uniform(-0.5, 0.5, sums.shape)
        return np.rint(sums / step + shift) * step


@record
class _Judge:
    claim: Claim
    margin: float
    level: float
    upward: bool

    def claims(self, mean: FloatArray, std_error: FloatArray, df: float) -> NDArray[np.bool_]:
        """Return where the interval makes the claim."""
        level = self.level if self.claim == "difference" else 2.0 * self.level - 1.0
        reach = t_quantile(level, df) * std_error
        if self.claim == "difference":
            return mean - reach > 0.0 if self.upward else mean + reach < 0.0
        above = mean - reach > -self.margin
        return above if self.claim == "noninferiority" else above & (mean + reach < self.margin)


def _standardised(pool: FloatArray) -> FloatArray:
    centred = pool - pool.mean()
    spread = float(centred.std())
    if not spread > _ROUNDING * float(np.abs(pool).max()):
        raise InputError("all differences of the pool are equal, so they have no noise to draw from")
    return centred / spread


def _chunks(draws: int, width: int) -> list[int]:
    rows = max(1, _CHUNK // width)
    return [min(rows, draws - start) for start in range(0, draws, rows)]


def _whole_sizes(shares: FloatArray, n_items: int) -> FloatArray:
    """Return whole cluster sizes, at least 1, that add up to n_items, as near to the shares as can be."""
    if shares.ndim != 1 or shares.size < 2 or not (shares > 0.0).all():
        raise InputError("shares must be a positive number for each of at least 2 clusters")
    if n_items < shares.size:
        raise InputError(f"{n_items} items cannot fill {shares.size} clusters")
    ends = np.rint(np.cumsum(shares / shares.sum()) * (n_items - shares.size))
    return np.diff(ends, prepend=0.0) + 1.0


def _cr2_claims(sums: FloatArray, sizes: FloatArray, judge: _Judge) -> int:
    n, share = float(sizes.sum()), sizes / sizes.sum()
    df = satterthwaite_df(share)
    if sizes.size < FEW_CLUSTERS or df < MIN_DF - _ROUNDING:
        return 0
    mean = sums.sum(axis=1) / n
    residuals = sums - sizes * mean[:, np.newaxis]
    std_error = np.sqrt((residuals**2 / (1.0 - share)).sum(axis=1)) / n
    found = judge.claims(mean, std_error, df)
    if judge.claim != "difference":
        return int(found.sum())
    return _flips_agree(sums[found], judge.level)


def _flips_agree(sums: FloatArray, level: float) -> int:
    """Count the rows whose sign-flip test rejects."""
    n_clusters = sums.shape[1]
    if n_clusters <= _LISTED:
        numbers = np.arange(2 ** (n_clusters - 1), dtype=np.int64)
        signs = np.asarray(1.0 - 2.0 * ((numbers[:, np.newaxis] >> np.arange(n_clusters)) & 1), dtype=np.float64)
        extra = 0.0
    else:
        signs = np.random.default_rng(_FLIPS).choice(np.array([-1.0, 1.0]), size=(_FLIPS, n_clusters))
        extra = 1.0
    agreed, start = 0, 0
    for rows in _chunks(len(sums), len(signs)):
        part = sums[start : start + rows]
        start += rows
        slack = _ROUNDING * np.abs(part).sum(axis=1, keepdims=True)
        hits = (np.abs(part @ signs.T) >= np.abs(part.sum(axis=1, keepdims=True)) - slack).sum(axis=1)
        agreed += int(np.count_nonzero((hits + extra) / (len(signs) + extra) <= (1.0 - level) * (1.0 + _ROUNDING)))
    return agreed


def _plain(d: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    n = d.shape[1]
    return d.mean(axis=1), d.std(axis=1, ddof=1) / math.sqrt(n), n - 1.0


def _augmented(d: FloatArray, bound: float) -> tuple[FloatArray, FloatArray, float]:
    """Return mean, standard error and df of the augmented t of `paired_means`, row by row; nothing is clipped."""
    n = d.shape[1]
    squares, sizes = np.square(d).sum(axis=1), np.abs(d).sum(axis=1)
    pseudo = np.where(np.count_nonzero(d, axis=1) < ENOUGH_NONZERO, 1.0, squares / np.maximum(sizes, 1e-300))
    centre = d.sum(axis=1) / (n + 2)
    variance = ((squares + 2.0 * pseudo**2) / (n + 2) - centre**2) / (n + 1)
    return bound * centre, bound * np.sqrt(variance), n + 1.0
