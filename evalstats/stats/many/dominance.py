"""Which systems are shown to score more for less, over all pairs together."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.errors import InputError
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, IntArray, as_codes, check_level
from evalstats.stats.clusters import cluster_sign_flip, multiway_mean
from evalstats.stats.many.pairwise import pairwise_differences
from evalstats.stats.multiplicity import holm
from evalstats.stats.paired_binary import MIN_DISCORDANT
from evalstats.stats.sign_flip import sign_flip

BoolArray = NDArray[np.bool_]

_MIN_DF = 4.0
_ROUNDING = 1e-12
# Up to so many clusters the sign-flip of their sums must agree with CR2, as in a comparison of two.
_FLIPPED = 30
# A mean of savings more skewed towards losses than this must be shown at so much stricter a level.
_LOPSIDED, _STRICTER = 0.1, 50.0


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

    Raises
    ------
    InputError
        Tables that do not match, NaN or infinities.

    Notes
    -----
    To claim that k dominates j both differences must be shown, so the p-value of the claim is the larger of the two
    (an intersection-union test) and needs no adjustment for being two; Holm's method adjusts for the pairs. Each p is two-
    sided, so that a pair's two directions share its error. The tests are those of pairs of models: the score test for one
    right-or-wrong answer an item, augmented t for shares of several, t for graded scores and costs, CR2 for clusters; the
    sign-flip where all differences are equal and have no spread. As in a comparison of two, fewer than 6 items that differ,
    clusters worth fewer than 5, or a sign-flip of up to 30 clusters that disagrees, forbid the claim. A saving that may rest
    on the cheaper system's rare dear items not having been drawn (its mean has a skewness below -.1) must be shown at a
    fiftieth of the error. Costs that are equal, or scores that are, leave a pair unsettled: it takes a margin to call systems
    equal.

    Simulated share of data sets with any claim, all of them false, at 95% and 80 items: 5 systems that score the same and
    have costs far apart .02 (.02 and .03 with 16 and 8 clusters); 4 systems far apart in score with the same mean cost,
    lognormal with sd .5 or 1.2 of the logs .02 and .01, with .3 for two and 1.2 for the others .05 (.09 without the last
    rule; at 30 items .06 and .11).

    References
    ----------
    Berger 1982, Technometrics 24:295; Holm 1979, Scandinavian Journal of Statistics 6:65.

    Examples
    --------
    >>> scores = np.array([[0, 1, 1]] * 9 + [[1, 1, 1]] * 20)
    >>> certain_dominance(scores, [[3.0, 1.0, 9.0], [4.0, 2.0, 8.0]] * 14 + [[3.5, 1.5, 9.0]], binary=True).tolist()
    [[False, True, False], [False, False, False], [False, False, False]]
    """
    s, c = np.asarray(scores, dtype=np.float64), np.asarray(costs, dtype=np.float64)
    if s.ndim != 2 or s.shape != c.shape or not (np.isfinite(s).all() and np.isfinite(c).all()):
        raise InputError(
            f"scores have shape {s.shape} and costs {c.shape}; give both for the same items and systems, complete cases only"
        )
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
    p = np.where(opposed, np.maximum(p_gain, p_price), 1.0)
    coarsest = min(columns, key=lambda column: column[1], default=None)
    for place in np.flatnonzero(holm(p) <= alpha).tolist():
        i, j = pairs[place]
        better, worse = (i, j) if gain[place] > 0.0 else (j, i)
        more, saved = s[:, better] - s[:, worse], c[:, worse] - c[:, better]
        firm = all(_firm(differences, coarsest, alpha, seed) for differences in (more, saved))
        shown[worse, better] = firm and (p_price[place] <= alpha / _STRICTER or not _lopsided(saved, coarsest))
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
        turned = np.where(every.first == np.array([i for i, _ in pairs]), 1.0, -1.0)
        estimates, p, df = turned * every.estimate, every.p_value, every.df
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


def _lopsided(saved: FloatArray, coarsest: tuple[IntArray, int] | None) -> bool:
    """Whether savings have so long a tail of losses that their mean is skewed that way."""
    residuals = saved - saved.mean()
    if coarsest is not None:
        residuals = np.bincount(coarsest[0], weights=residuals)
    spread = float(np.sqrt(np.square(residuals).mean()))
    if spread <= _ROUNDING * float(np.abs(saved).max()):
        return False
    skewness = float(((residuals / spread) ** 3).mean())
    return skewness < -_LOPSIDED * residuals.size**0.5
