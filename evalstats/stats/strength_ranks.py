"""Whether the models that do something on an item are the weak ones: ranks of strength on all other items, and their sum.

Reference: Mann & Whitney 1947, doi:10.1214/aoms/1177730491.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.stats.checks import BoolArray, FloatArray, IntArray

_EXACT = 40  # models up to which the law of the rank sum is listed
CUT = 0.5  # tests of items that lean to the expected side do not count in the family


def strength_ranks(scores: FloatArray, seen: BoolArray) -> FloatArray:
    """Rank, from 1 for the weakest, the models on each item by what they do on the others; shape (n_items, n_models).

    Strength is the mean over the other items of the score less the item's mean, so that models need not have the same items.
    Models that do not have the item (`seen` is false) come last. Of equally strong models the one with the better score
    on the item counts as the stronger.

    Examples
    --------
    >>> scores = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> strength_ranks(scores, np.ones((3, 3), dtype=bool)).astype(int).tolist()
    [[1, 3, 2], [1, 3, 2], [2, 3, 1]]
    """
    filled = np.where(seen, scores, 0.0)
    count = np.maximum(seen.sum(axis=1, keepdims=True), 1)
    excess = np.where(seen, filled - filled.sum(axis=1, keepdims=True) / count, 0.0)
    rest: FloatArray = (excess.sum(axis=0) - excess) / np.maximum(seen.sum(axis=0) - 1, 1)
    # Rounding must not decide between equal strengths.
    order = np.lexsort((filled, np.where(seen, np.round(rest, 12), np.inf)), axis=1)
    ranks = np.empty(filled.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, filled.shape[1] + 1.0)[None, :], axis=1)
    return ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSums:
    """One-sided tests of many items. Arrays have shape (n_items,).

    `p_value` is the probability that models drawn at random have so low a sum of ranks; `cut` the largest value up to .5 that
    it can take there (0 where there is none), for `conditional_benjamini_hochberg`.
    """

    p_value: FloatArray
    cut: FloatArray


def weak_models_test(chosen: BoolArray, ranks: FloatArray, seen: BoolArray) -> RankSums:
    """Test of each item whether the chosen models are weaker than the others that have the item.

    Notes
    -----
    Given how many are chosen, every set of so many models is as likely as any other under the hypothesis, and the sum of their
    ranks follows Mann and Whitney's law: listed up to 40 models, above that normal with continuity correction, which is too
    large far out.

    Examples
    --------
    >>> chosen = np.array([[True, True, False, False, False]])
    >>> found = weak_models_test(chosen, np.arange(1.0, 6.0)[None, :], np.ones((1, 5), dtype=bool))
    >>> found.p_value.tolist(), found.cut.tolist()
    ([0.1], [0.4])
    """
    count = seen.sum(axis=1)
    k = (chosen & seen).sum(axis=1)
    u = np.where(chosen & seen, ranks, 0.0).sum(axis=1) - k * (k + 1) / 2.0
    p, cut = np.empty(u.size), np.empty(u.size)
    for m in np.unique(count):
        for n_chosen in np.unique(k[count == m]):
            alike = (count == m) & (k == n_chosen)
            law = _law(int(n_chosen), int(m - n_chosen))
            p[alike] = law[np.rint(u[alike]).astype(np.int64)]
            cut[alike] = law[law <= CUT].max(initial=0.0)
    return RankSums(p_value=p, cut=cut)


def _law(k: int, others: int) -> FloatArray:
    """Return P(U <= u) for u = 0, ..., k * others."""
    if k + others > _EXACT:
        spread = max(float(np.sqrt(k * others * (k + others + 1) / 12.0)), 1e-9)
        places = np.arange(k * others + 1)
        return np.asarray(special.ndtr((places + 0.5 - k * others / 2.0) / spread), dtype=np.float64)
    few, many = min(k, others), max(k, others)
    # Coefficients of the Gaussian binomial: the product of (1 - q^(many + i)) / (1 - q^i).
    counts = np.zeros(few * many + 1)
    counts[0] = 1.0
    for i in range(1, few + 1):
        shift = many + i
        if shift < counts.size:
            counts[shift:] -= counts[:-shift].copy()
        for start in range(i):
            counts[start::i] = np.cumsum(counts[start::i])
    return np.minimum(np.cumsum(counts) / counts.sum(), 1.0)


def least_p(n_models: int) -> float:
    """Return the smallest p that an item can have, with half of so many models chosen."""
    return float(1.0 / special.binom(n_models, n_models // 2))


def ranks_within(values: FloatArray, seen: BoolArray) -> FloatArray:
    """Return mean ranks of the values in each row, among those seen.

    Examples
    --------
    >>> ranks_within(np.array([[0.5, 0.1, 0.5, 9.0]]), np.array([[True, True, True, False]]))[0, :3].tolist()
    [2.5, 1.0, 2.5]
    """
    ranks = np.zeros(values.shape)
    for j in range(values.shape[1]):
        below = ((values < values[:, [j]]) & seen).sum(axis=1)
        equal = ((values == values[:, [j]]) & seen).sum(axis=1)
        ranks[:, j] = below + 0.5 * (equal + 1.0)
    return ranks


def row_correlations(x: FloatArray, y: FloatArray, seen: BoolArray) -> FloatArray:
    """Return the correlation of two tables within each row, over what is seen; both must vary there.

    Examples
    --------
    >>> row_correlations(np.array([[1.0, 2.0, 4.0]]), np.array([[2.0, 4.0, 8.0]]), np.ones((1, 3), dtype=bool)).tolist()
    [1.0]
    """
    count: IntArray = seen.sum(axis=1)

    def centred(table: FloatArray) -> FloatArray:
        kept = np.where(seen, table, 0.0)
        return np.where(seen, kept - (kept.sum(axis=1) / count)[:, None], 0.0)

    a, b = centred(x), centred(y)
    return (a * b).sum(axis=1) / np.sqrt(np.square(a).sum(axis=1) * np.square(b).sum(axis=1))
