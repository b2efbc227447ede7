"""Power by simulation: the whole rule of a comparison, on differences drawn from a model or from a pilot."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.errors import InputError
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, as_values, check_count, check_level
from evalstats.stats.cr2 import satterthwaite_df
from evalstats.stats.one_score import wilson_ends
from evalstats.stats.planning.clusters import MIN_DF
from evalstats.stats.tails import normal_quantile, t_quantile

Rule = Literal["t", "augmented-t", "cr2"]
Claim = Literal["difference", "noninferiority", "equivalence"]

_CHUNK = 2_000_000
_LISTED = 12
_FLIPS = 1999
_ENOUGH_NONZERO = 5
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPower:
    """Share of simulated comparisons that made the claim, with its own interval.

    Attributes
    ----------
    power
        The share.
    conf_low, conf_high
        Ends of the 95% Wilson interval of the share: Monte Carlo error alone.
    n_resamples, seed
        Simulated comparisons, and the seed they came from.
    """

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
    n_trials: int | None = 1,
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
    n_items
        Items of one comparison.
    variance
        Variance of an item's difference within its cluster.
    pool
        Differences of a pilot, shape (n,): noise is drawn from them with replacement, centred and brought to `variance`,
        so that ties and skewness are kept. None draws normal noise.
    shares
        Shares of the items that the clusters hold, shape (n_clusters,); needed for rule "cr2".
    cluster_variance
        Variance of the clusters' true mean differences, drawn as normal.
    rule
        "t" and "augmented-t" on independent items; "cr2": CR2's t and, for a direction, a sign-flip of clusters that
        agrees, at least 5 clusters and 4 degrees of freedom.
    bound, n_trials
        Largest possible difference and trials behind each, for "augmented-t"; None where their number is unknown.
    step
        The smallest amount by which an item's difference can change, for "cr2": 1 for right/wrong items with one trial, 1/K
        with K; cluster sums are rounded to it, since ties cost the sign-flip power. 0 for continuous scores.
    claim
        "difference" counts intervals that exclude 0 on the side of `delta`; the others one-sided ends beyond `margin`.
    n_resamples, seed
        Simulated comparisons and their seed; the same seed draws the same noise for every `delta`.

    Returns
    -------
    SimulatedPower

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
    _check_variances(variance, cluster_variance)
    _check_question(claim, margin, rule, shares)
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
        hits = _cr2_claims(np.rint(sums / step) * step if step > 0.0 else sums, sizes, judge)
    else:
        hits = 0
        for rows in _chunks(draws, n_items):
            d = delta + noise.items((rows, n_items))
            tested = _augmented(d / bound, n_trials, bound) if rule == "augmented-t" else _plain(d)
            hits += int(np.count_nonzero(judge.claims(*tested)))
    low, high = wilson_ends(hits / draws, draws, normal_quantile(0.95))
    return SimulatedPower(power=hits / draws, conf_low=low, conf_high=high, n_resamples=draws, seed=seed)


@dataclass(frozen=True, slots=True, kw_only=True)
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

        Rounding to a step adds step^2/12 to the variance of a sum, so as much is taken off before (Sheppard's correction).
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
        return between + within * np.sqrt(np.maximum(0.0, 1.0 - step**2 / 12.0 / variance))


@dataclass(frozen=True, slots=True, kw_only=True)
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


def _check_variances(variance: float, cluster_variance: float) -> None:
    if not (math.isfinite(variance) and math.isfinite(cluster_variance)) or min(variance, cluster_variance) < 0.0:
        raise InputError(f"variances are {variance:g} and {cluster_variance:g}; give numbers from 0")
    if variance + cluster_variance <= 0.0:
        raise InputError("both variances are 0: without noise there is nothing to simulate")


def _check_question(claim: Claim, margin: float | None, rule: Rule, shares: ArrayLike | None) -> None:
    if (claim == "difference") != (margin is None):
        raise InputError(f"claim {claim!r} {'takes no' if claim == 'difference' else 'needs a'} margin")
    if (rule == "cr2") != (shares is not None):
        raise InputError(f"rule {rule!r} {'needs the' if rule == 'cr2' else 'takes no'} shares of clusters")


def _standardised(pool: FloatArray) -> FloatArray:
    centred = pool - pool.mean()
    spread = float(centred.std())
    if not spread > _ROUNDING * float(np.abs(pool).max()):
        raise InputError("all differences of the pool are equal, so they have no noise to draw from")
    return centred / spread


def _chunks(draws: int, width: int) -> list[int]:
    rows = max(1, min(draws, _CHUNK // max(1, width)))
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
    for rows in _chunks(len(sums), len(signs)) if len(sums) else []:
        part = sums[start : start + rows]
        start += rows
        slack = _ROUNDING * np.abs(part).sum(axis=1, keepdims=True)
        hits = (np.abs(part @ signs.T) >= np.abs(part.sum(axis=1, keepdims=True)) - slack).sum(axis=1)
        agreed += int(np.count_nonzero((hits + extra) / (len(signs) + extra) <= (1.0 - level) * (1.0 + _ROUNDING)))
    return agreed


def _plain(d: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    n = d.shape[1]
    return d.mean(axis=1), d.std(axis=1, ddof=1) / math.sqrt(n), n - 1.0


def _augmented(d: FloatArray, n_trials: int | None, bound: float) -> tuple[FloatArray, FloatArray, float]:
    """Return mean, standard error and df of the augmented t of `paired_means`, row by row; nothing is clipped."""
    n = d.shape[1]
    squares, sizes = np.square(d).sum(axis=1), np.abs(d).sum(axis=1)
    floor = 0.0 if n_trials is None else 1.0 / n_trials
    pseudo = np.maximum(floor, squares / np.maximum(sizes, 1e-300))
    pseudo = np.where(np.count_nonzero(d, axis=1) < _ENOUGH_NONZERO, 1.0, pseudo)
    centre = d.sum(axis=1) / (n + 2)
    variance = ((squares + 2.0 * pseudo) / (n + 2) - centre**2) / (n + 1)
    return bound * centre, bound * np.sqrt(variance), n + 1.0
