"""The frontier of score and cost: which systems lie on it, how often, and which are shown to score more for less.

References: Berger 1982, Technometrics 24:295 (intersection-union); Holm 1979, Scandinavian Journal of Statistics 6:65.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FEW_CLUSTERS, BoolArray, FloatArray, IntArray, as_codes, check_count, check_level
from evalstats.stats.clusters import cluster_sign_flip, multiway_mean
from evalstats.stats.many.independent import independent_differences
from evalstats.stats.many.multiplicity import holm
from evalstats.stats.many.pairwise import pairwise_differences
from evalstats.stats.paired.binary import MIN_DISCORDANT
from evalstats.stats.paired.means import rests_on_unseen_tail, sign_flip

Progress = Callable[[int, int], None]

CHUNK_BYTES = 16_000_000  # of drawn counts at a time

_ROUNDING = 1e-12  # relative: means that differ by less are equal
_MIN_DF = 4.0 - 1e-9  # what five equal clusters have, up to rounding
# Up to so many clusters the sign-flip of their sums must agree with CR2, as in a comparison of two.
_FLIPPED = 30


@record
class FrontierShares:
    """How often each system lies on the frontier, as a share of resamples; arrays have shape (n_systems,).

    `least` are the shares where savings that are not sure count as none; `errors` are Monte Carlo standard errors of the
    shares; never 0, since as many resamples again could differ.
    """

    shares: FloatArray
    least: FloatArray
    errors: FloatArray


def on_frontier(scores: ArrayLike, costs: ArrayLike, *, unsure: BoolArray | None = None) -> BoolArray:
    """Tell which systems no other one dominates: none scores as much for as little and does better in one of the two.

    Arrays have shape (..., n_systems). Differences within rounding count as none; equal systems do not dominate each other.
    `unsure` [j, k] says that j is not to be taken for cheaper than k, whatever the costs.

    Examples
    --------
    >>> on_frontier([0.5, 0.7, 0.6, 0.7], [1.0, 3.0, 3.0, 3.0]).tolist()
    [True, True, False, True]
    """
    s, c = np.asarray(scores, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    slack_s, slack_c = (_ROUNDING * np.abs(x).max(axis=-1, keepdims=True, initial=0.0) for x in (s, c))
    dominated = np.zeros(s.shape, dtype=np.bool_)
    for k in range(s.shape[-1]):
        gain, saving = s[..., k : k + 1] - s, c - c[..., k : k + 1]
        if unsure is not None:
            saving = np.where(unsure[:, k], np.inf, saving)
        no_worse = (gain >= -slack_s) & (saving >= -slack_c)
        dominated |= no_worse & ((gain > slack_s) | (saving > slack_c))
    return ~dominated


def beaten_by(scores: ArrayLike, costs: ArrayLike) -> BoolArray:
    """Return [j, k]: whether system k dominates system j, shape (n_systems, n_systems); `on_frontier` has no such k."""
    s, c = np.asarray(scores, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    slack_s, slack_c = (_ROUNDING * float(np.abs(x).max(initial=0.0)) for x in (s, c))
    gain, saving = s - s[:, np.newaxis], c[:, np.newaxis] - c
    return (gain >= -slack_s) & (saving >= -slack_c) & ((gain > slack_s) | (saving > slack_c))


def frontier_shares(
    scores: ArrayLike,
    costs: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    unsure: BoolArray | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    on_progress: Progress | None = None,
) -> FrontierShares:
    """Share of bootstrap resamples in which each system lies on the frontier of mean score and mean cost.

    All systems share every resample, scores and costs too, so that what makes an item hard and dear for all of them moves
    none of them off the frontier. A share is no probability that a system is on the true frontier: where two systems are equal it
    is as likely to be high as low, as a p-value is, and with few items it is too sure of itself.

    Parameters
    ----------
    scores, costs
        float64 arrays, shape (n_items, n_systems): item means over trials; higher scores and lower costs are better. No NaN, but
        where systems served different users, each in rows of its own.
    clusters
        Integer codes, shape (n_items,): whole clusters are drawn.
    unsure
        Savings not to be relied on, as `unsure_savings` finds them.
    n_resamples, seed
        Of the Monte Carlo draws; the same seed gives the same resamples, whatever the memory.

    Examples
    --------
    >>> found = frontier_shares([[1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0]], [[1, 2, 3]] * 4)
    >>> [round(share, 1) for share in found.shares.tolist()]
    [1.0, 0.2, 0.0]
    """
    s, c = _tables(scores, costs)
    draws = check_count(n_resamples, "n_resamples", least=1)
    m, apart = s.shape[1], bool(np.isnan(s).any())
    sums = _units(np.hstack([np.nan_to_num(s), np.nan_to_num(c), *([~np.isnan(s)] if apart else [])]), clusters)
    n_units = len(sums)
    rng = np.random.default_rng(seed)
    hits, least = np.zeros(m), np.zeros(m)
    doubted = unsure if unsure is not None and unsure.any() else None
    chunk = max(1, CHUNK_BYTES // (8 * max(n_units, 4 * m)))
    for start in range(0, draws, chunk):
        rows = min(chunk, draws - start)
        # Of the same items for all systems, so that these lie to each other as the means do.
        totals = _drawn_counts(rng, rows, n_units) @ sums
        of_scores, of_costs = totals[:, :m], totals[:, m : 2 * m]
        if apart:  # how many rows of a system are drawn varies
            drawn = np.maximum(totals[:, 2 * m :], 1.0)
            of_scores, of_costs = of_scores / drawn, of_costs / drawn
        hits += on_frontier(of_scores, of_costs).sum(axis=0)
        if doubted is not None:
            least += on_frontier(of_scores, of_costs, unsure=doubted).sum(axis=0)
        if on_progress is not None:
            on_progress(start + rows, draws)
    # As if half a resample more had gone either way.
    smoothed = (hits + 0.5) / (draws + 1.0)
    return FrontierShares(
        shares=hits / draws,
        least=(hits if doubted is None else least) / draws,
        errors=np.sqrt(smoothed * (1.0 - smoothed) / draws),
    )


def _tables(scores: ArrayLike, costs: ArrayLike) -> tuple[FloatArray, FloatArray]:
    s, c = np.asarray(scores, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    bad = s.ndim != 2 or s.shape != c.shape or s.size == 0
    if bad or np.isinf(s).any() or np.isinf(c).any() or (np.isnan(s) != np.isnan(c)).any():
        raise InputError(
            f"scores have shape {s.shape} and costs {c.shape}; give both for the same items and systems, complete cases only"
        )
    return s, c


def _units(values: FloatArray, clusters: ArrayLike | None) -> FloatArray:
    """Return the sums of what is drawn, items or whole clusters."""
    if clusters is None:
        return values
    codes, n_units = as_codes(clusters, len(values))
    sums = np.zeros((n_units, values.shape[1]))
    np.add.at(sums, codes, values)
    return sums


def _drawn_counts(rng: np.random.Generator, rows: int, n_units: int) -> FloatArray:
    """Draw n_units of n_units with replacement, `rows` times: how often each was drawn, shape (rows, n_units)."""
    drawn = rng.integers(0, n_units, size=(rows, n_units)) + np.arange(rows)[:, np.newaxis] * n_units
    return np.bincount(drawn.ravel(), minlength=rows * n_units).reshape(rows, n_units).astype(np.float64)


def unsure_savings(costs: ArrayLike, *, clusters: Sequence[ArrayLike] = (), conf_level: float = 0.95) -> BoolArray:
    """Return [j, k]: whether j is cheaper than k only as far as was seen, since rare dear items of j could undo that.

    The rule is that of a comparison of two (`evalstats.stats.paired.means.rests_on_unseen_tail`), over all pairs; with
    clusters it looks at the sums of the coarsest ones.

    Parameters
    ----------
    costs
        float64 array, shape (n_items, n_systems), no NaN: lower is better.
    clusters, conf_level
        As in `certain_dominance`.

    Examples
    --------
    >>> unsure_savings([[0.5, 1.1]] * 27 + [[0.5, 0.9]] * 2 + [[8.0, 1.0]]).tolist()
    [[False, True], [False, False]]
    """
    c, _ = _tables(costs, costs)
    columns = [as_codes(each, len(c)) for each in clusters]
    pairs = list(combinations(range(c.shape[1]), 2))
    unsure = np.zeros((c.shape[1], c.shape[1]), dtype=np.bool_)
    if not pairs:
        return unsure
    prices, p_values = _tests(c, pairs, [codes for codes, _ in columns], None, binary=False)
    coarsest = min(columns, key=lambda column: column[1], default=None)
    apart, left = bool(np.isnan(c).any()), c if coarsest is None else c - np.nanmean(c, axis=0)
    units: list[FloatArray] = []
    for own in left.T:
        rows = ~np.isnan(own)
        codes = None if coarsest is None else np.unique(coarsest[0][rows], return_inverse=True)[1]
        units.append(_units(own[rows, np.newaxis], codes)[:, 0])
    for (i, j), price, p in zip(pairs, prices, p_values, strict=True):
        cheap, dear = (i, j) if price < 0.0 else (j, i)
        unsure[cheap, dear] = price != 0.0 and rests_on_unseen_tail(
            *(-units[cheap], -units[dear], float(p)), conf_level=conf_level, n_claims=len(pairs), same_items=not apart
        )
    return unsure


def certain_dominance(
    scores: ArrayLike,
    costs: ArrayLike,
    *,
    clusters: Sequence[ArrayLike] = (),
    bounds: tuple[float, float] | None = None,
    binary: bool = False,
    shares: bool = False,
    conf_level: float = 0.95,
    seed: int = 0,
) -> BoolArray:
    """Return [j, k]: whether system k is shown to score more than j and to cost less.

    Parameters
    ----------
    scores, costs
        float64 arrays, shape (n_items, n_systems), no NaN: item means over trials; higher scores and lower costs are better.
    clusters
        Columns of integer codes, shape (n_items,) each. Fewer than 5 clusters in one of them show nothing.
    bounds, binary, shares
        As in `pairwise_differences`, of the scores.
    conf_level
        The chance of any false claim is at most 1 - conf_level.
    seed
        Of the sign-flip of cluster sums, where it cannot be exact; intervals and other p-values use none.

    Notes
    -----
    To claim that k dominates j both differences must be shown, so the p-value of the claim is the larger of the two
    (an intersection-union test) and needs no adjustment for being two; Holm's method adjusts for the pairs. Each p is two-
    sided, so that a pair's two directions share its error. Of different users (NaN) the tests are those of two groups. Else they
    are those of pairs of models: the score test for one
    right-or-wrong answer an item, augmented t for shares of several, t for graded scores and costs, CR2 for clusters; the
    sign-flip where all differences are equal and have no spread. As in a comparison of two, fewer than 6 items that differ,
    df below 4 (clusters, or users, worth fewer than 5), or a sign-flip of up to 30 clusters that disagrees, forbid the claim. A
    saving that may rest on the cheaper system's rare dear items not having been drawn forbids it too (`unsure_savings`). Costs
    that are equal, or scores that are, leave a pair unsettled: it takes a margin to call systems equal.

    Simulated share of data sets with any claim, all of them false, at 95% and 80 items: 5 systems that score the same and
    have costs far apart .02 (.02 and .03 with 16 and 8 clusters); 4 systems far apart in score with the same mean cost,
    lognormal with sd .5 or 1.2 of the logs .02 and .01, with .3 for two and 1.2 for the others .05 (.09 without the last
    rule; at 30 items .06 and .11).

    Examples
    --------
    >>> scores = np.array([[0, 1, 1]] * 9 + [[1, 1, 1]] * 20)
    >>> certain_dominance(scores, [[3.0, 1.0, 9.0], [4.0, 2.0, 8.0]] * 14 + [[3.5, 1.5, 9.0]], binary=True).tolist()
    [[False, True, False], [False, False, False], [False, False, False]]
    """
    s, c = _tables(scores, costs)
    alpha = 1.0 - check_level(conf_level)
    columns = [as_codes(each, len(s)) for each in clusters]
    shown = np.zeros((s.shape[1], s.shape[1]), dtype=np.bool_)
    pairs = list(combinations(range(s.shape[1]), 2))
    if not pairs or min((count for _, count in columns), default=FEW_CLUSTERS) < FEW_CLUSTERS:
        return shown
    codes = [each for each, _ in columns]
    gain, p_gain = _tests(s, pairs, codes, bounds, binary=binary, shares=shares)
    price, p_price = _tests(c, pairs, codes, None, binary=False)
    opposed = gain * price < 0.0
    p, apart = np.where(opposed, np.maximum(p_gain, p_price), 1.0), bool(np.isnan(s).any())
    coarsest = min(columns, key=lambda column: column[1], default=None)
    unsure = unsure_savings(c, clusters=codes, conf_level=conf_level)

    for place in np.flatnonzero(holm(p) <= alpha).tolist():
        i, j = pairs[place]
        better, worse = (i, j) if gain[place] > 0.0 else (j, i)
        more, saved = s[:, better] - s[:, worse], c[:, worse] - c[:, better]
        firm = apart or all(_firm(each, coarsest, alpha, seed) for each in (more, saved))
        shown[worse, better] = firm and not unsure[better, worse]
    return shown


def _tests(
    values: FloatArray,
    pairs: list[tuple[int, int]],
    codes: list[IntArray],
    bounds: tuple[float, float] | None,
    *,
    binary: bool,
    shares: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return the difference and the p-value of every pair, first minus second; 1 where nothing can be tested."""
    if np.isnan(values).any():
        rows = [np.flatnonzero(~np.isnan(own)) for own in values.T]
        coarsest = min(codes, key=lambda each: int(each.max()), default=None)
        every = independent_differences(
            [own[at] for own, at in zip(values.T, rows, strict=True)],
            pairs=pairs,
            clusters=None if coarsest is None else [coarsest[at] for at in rows],
            binary=binary,
            adjust="none",
        )
        p = every.p_adjusted  # of right-or-wrong scores the stricter of two tests
        return every.estimate, np.where(np.isnan(p) | (every.df < _MIN_DF), 1.0, p)
    if len(codes) > 1:
        found = [multiway_mean(values[:, i] - values[:, j], codes).estimate for i, j in pairs]
        estimates = np.array([each.estimate for each in found])
        numbers = [(each.p_value, each.df) for each in found]
        p, df = np.array([[np.nan if x is None else x for x in pair] for pair in numbers], dtype=np.float64).T
    else:
        every = pairwise_differences(
            values,
            pairs=pairs,
            clusters=codes[0] if codes else None,
            bounds=bounds,
            binary=binary,
            shares=shares,
            adjust="none",
        )
        estimates, p, df = every.estimate, every.p_value, every.df
    p = np.where(df < _MIN_DF, 1.0, p)
    for place in np.flatnonzero(np.isnan(p)).tolist():
        i, j = pairs[place]
        p[place] = 1.0 if codes else sign_flip(values[:, i] - values[:, j]).p_value
    return estimates, p


def _firm(differences: FloatArray, coarsest: tuple[IntArray, int] | None, alpha: float, seed: int) -> bool:
    """Whether enough items differ for a claim; with few clusters, whether their sign-flip agrees."""
    if coarsest is None:
        return int(np.count_nonzero(differences)) >= MIN_DISCORDANT
    codes, count = coarsest
    return count > _FLIPPED or cluster_sign_flip(differences, codes, seed=seed).p_value <= alpha
