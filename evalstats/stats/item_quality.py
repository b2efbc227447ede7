"""Items that tell nothing, items that only weak models get right, and items that are copies of each other.

All scores are of shape (n_items, n_models), NaN where a model has none, higher is better.

References: Lord & Novick 1968, Statistical Theories of Mental Test Scores (item-rest correlation); Mann & Whitney 1947,
doi:10.1214/aoms/1177730491 (ranks of strength).
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes, check_count
from evalstats.stats.many.multiplicity import conditional_benjamini_hochberg
from evalstats.stats.many.pair_table import as_scores

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


@record
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


Keys: TypeAlias = NDArray[np.uint64]

FEWEST_MODELS = 8
_RARE, _FAR_FEWER = 0.01, 0.8
_ENOUGH_REACHED = 10  # shuffles with as few different rows as there are
_STRATUM = 20  # items that are taken to be about equally hard


@record
class ItemInformation:
    """Which items tell models apart. Arrays are bool, shape (n_items,).

    Attributes
    ----------
    saturated, unsolvable
        Every model (of two or more) has the highest, or the lowest, possible score.
    tied
        Every model has the same score, these two included.
    informative
        At least two models differ. The other items add 0 to every difference.
    """

    saturated: BoolArray
    unsolvable: BoolArray
    tied: BoolArray
    informative: BoolArray


def item_information(scores: ArrayLike, *, low: float = 0.0, high: float = 1.0) -> ItemInformation:
    """Return which items all models get right, all get wrong, and which tell models apart.

    `low` and `high` are the ends of the scale. An item that only one model has is none of these.

    Examples
    --------
    >>> found = item_information([[1, 1, 1], [0, 0, 0], [1, 0, 1], [0.5, 0.5, 0.5], [1, np.nan, np.nan]])
    >>> [int(each.sum()) for each in (found.saturated, found.unsolvable, found.tied, found.informative)]
    [1, 1, 3, 1]
    """
    y = as_scores(scores)
    seen = ~np.isnan(y)
    several = seen.sum(axis=1) > 1
    least = np.where(seen, y, np.inf).min(axis=1)
    most = np.where(seen, y, -np.inf).max(axis=1)
    tied = several & (most <= least)
    return ItemInformation(
        saturated=tied & (least >= high), unsolvable=tied & (most <= low), tied=tied, informative=several & ~tied
    )


@record
class ItemSlopes:
    """Whether weak models do better on an item than strong ones. Arrays have shape (n_items,), NaN where nothing can be said.

    Attributes
    ----------
    correlation
        Correlation over models of the score on the item with the rank of the model on all other items.
    p_value, p_adjusted
        One-sided, of "strong models do at least as well as weak ones"; adjusted by Benjamini and Hochberg over the items
        that lean the other way at all.
    n_models
        Models with a score on the item.
    least_p
        The smallest p that an item with as many models, half of them right, can have.
    """

    correlation: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    n_models: IntArray
    least_p: float


def item_slopes(scores: ArrayLike) -> ItemSlopes:
    """Test of every item whether the models that do well on it are the weak ones: the sign of a wrong key.

    A model's strength is its mean over the other items, each less the item's mean, so that models need not have the same
    items. Items with a score of fewer than eight models are not tested.

    Notes
    -----
    If an item has nothing to do with strength, every assignment of its scores to its models is as likely as any other. Scores of
    two values have the rank-sum test of `weak_models_test`; graded scores are ranked too, and their correlation is referred to
    Student's t. On most items strong models do better and p is near 1: the family is those with p up to one half, each p
    taken as conditional on that (`conditional_benjamini_hochberg`).

    The law takes models as independent. Weak models of one family that share an answer can make a good key look wrong: a
    suspect is to be read, not dropped.

    Examples
    --------
    >>> strength = np.linspace(-2, 2, 20)
    >>> rng = np.random.default_rng(1)
    >>> scores = (rng.random((200, 20)) < 1 / (1 + np.exp(-strength))).astype(float)
    >>> scores[7] = strength < 0
    >>> found = item_slopes(scores)
    >>> int(np.nanargmin(found.p_value)), round(float(found.correlation[7]), 2), bool(found.p_adjusted[7] < 0.01)
    (7, -0.87, True)
    """
    y = as_scores(scores)
    n_models = (~np.isnan(y)).sum(axis=1)
    testable = (n_models >= FEWEST_MODELS) & item_information(y).informative
    ranks = strength_ranks(y, ~np.isnan(y))[testable]
    seen = ~np.isnan(y[testable])
    values = np.where(seen, y[testable], 0.0)
    correlation, p_value, p_adjusted = (np.full(y.shape[0], np.nan) for _ in range(3))
    if _two_valued(values[seen]):
        r = row_correlations(values, ranks, seen)
        test = weak_models_test(values == values.max(initial=-np.inf), ranks, seen)
        p, cut = test.p_value, test.cut
    else:
        r = row_correlations(ranks_within(values, seen), ranks, seen)
        df = n_models[testable] - 2.0
        t = r * np.sqrt(df / np.maximum(1.0 - np.square(r), 1e-12))
        p, cut = np.asarray(special.stdtr(df, t), dtype=np.float64), np.full(r.size, CUT)
    correlation[testable], p_value[testable] = r, p
    p_adjusted[testable] = conditional_benjamini_hochberg(p, cut)
    return ItemSlopes(
        correlation=correlation,
        p_value=p_value,
        p_adjusted=p_adjusted,
        n_models=n_models.astype(np.int64),
        least_p=least_p(int(n_models.max())),
    )


def _two_valued(values: FloatArray) -> bool:
    return values.size == 0 or bool(np.all((values == values.min()) | (values == values.max())))


@record
class RepeatedRows:
    """How many different rows of scores there are, beside how many there would be if models erred independently.

    Attributes
    ----------
    n_rows, n_distinct
        Items with any score, and how many different rows they have.
    expected
        Mean of that number where the scores of each model are shuffled among items about as hard.
    p_value
        Share of shuffles (the observed rows included) with so few different rows.
    group
        int64, shape (n_items,): items with the same row have the same code.
    """

    n_rows: int
    n_distinct: int
    expected: float
    p_value: float
    group: IntArray

    @property
    def far_fewer(self) -> bool:
        """Whether chance does not explain it: p up to .01, and at most four fifths of the rows that are expected.

        The second asks for more than models that err alike, as those of one family do.
        """
        return self.p_value <= _RARE and self.n_distinct <= _FAR_FEWER * self.expected


def repeated_rows(
    scores: ArrayLike, *, models: ArrayLike | None = None, n_permutations: int = 99, seed: int = 0
) -> RepeatedRows | None:
    """Count items whose whole row of scores is the same as another's, and what chance would give.

    Parameters
    ----------
    scores
        Shape (n_items, n_columns): one column for every model and every metric. NaN equals NaN.
    models
        Codes of the columns' models, shape (n_columns,): metrics of one model go together, since one often follows from
        another. Every column is a model by itself if not given.

    Returns
    -------
    RepeatedRows or None
        None with fewer than ten items.

    Notes
    -----
    Items that the same models answered are sorted by their mean and cut into runs of 20, within which each model is shuffled by
    itself: the models keep their values, the items about their difficulty, and what is left to chance is which values meet in
    one row. Models that resemble each other make rows coincide too, so fewer rows than expected are a reason to look, and no
    proof of copies, where scores are only right and wrong. Once ten shuffles have as few different rows, no more are made: the
    share of these is a p-value too (Besag & Clifford 1991, doi:10.1093/biomet/78.2.301).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> once = rng.random((20, 3)).round(2)
    >>> found = repeated_rows(np.repeat(once, 2, axis=0))
    >>> found.n_rows, found.n_distinct, found.p_value
    (40, 20, 0.01)
    """
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2 or np.isinf(y).any():
        raise InputError(f"scores have shape {y.shape}; give finite numbers, one row an item, and NaN for none")
    draws = check_count(n_permutations, "n_permutations", least=1)
    codes = _column_codes(y)
    group = (
        np.unique(_cell_keys(codes).sum(axis=1, dtype=np.uint64), return_inverse=True)[1].reshape(-1).astype(np.int64)
    )
    seen = ~np.isnan(y)
    kept = np.flatnonzero(seen.any(axis=1))
    if kept.size < 10:
        return None
    mean = np.where(seen, y, 0.0)[kept].sum(axis=1) / seen[kept].sum(axis=1)
    # Items that the same models answered stay together: where few did, few different rows are possible.
    packed = np.packbits(seen[kept], axis=1)
    there = np.unique(packed.view(f"V{packed.shape[1]}"), return_inverse=True)[1].reshape(-1)
    cells = _by_model(_cell_keys(codes), models)[kept[np.lexsort((mean, there))]]
    starts = np.flatnonzero(np.diff(np.sort(there), prepend=-1))
    observed = _n_distinct(cells)
    rng, counts, reached = np.random.default_rng(seed), list[int](), 0
    # Rows that are all different now would be so after any shuffle, or nearly: no surprise to weigh.
    enough = _ENOUGH_REACHED if observed < kept.size else 1
    while len(counts) < draws and reached < enough:
        counts.append(_n_distinct(_shuffled_within(cells, starts, rng)))
        reached += counts[-1] <= observed
    return RepeatedRows(
        n_rows=kept.size,
        n_distinct=observed,
        expected=float(np.mean(counts)),
        p_value=reached / len(counts) if reached == enough else (1 + reached) / (1 + len(counts)),
        group=group,
    )


def _column_codes(y: FloatArray) -> IntArray:
    """Code the values of each column from 0, NaN as one value, and as equal what rounding alone tells apart."""
    scale = max(float(np.abs(y[~np.isnan(y)]).max(initial=0.0)), 1e-300)
    rounded = np.round(y / scale, 10)
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in rounded.T]).astype(np.int64)


def _cell_keys(codes: IntArray) -> Keys:
    """Return a random-looking number for every value of every column; the sum over a row stands for the row.

    Two different rows have the same sum with a chance of about 2^-64.
    """
    rng = np.random.default_rng(1)
    table = rng.integers(0, 2**64, size=(int(codes.max(initial=0)) + 1, codes.shape[1]), dtype=np.uint64)
    return table[codes, np.arange(codes.shape[1])]


def _by_model(cells: Keys, models: ArrayLike | None) -> Keys:
    """Add up the keys of each model's columns: one number for all its scores on an item."""
    if models is None:
        return cells
    codes, n_models = as_codes(models, cells.shape[1], "models")
    return np.stack([cells[:, codes == model].sum(axis=1, dtype=np.uint64) for model in range(n_models)], axis=1)


def _n_distinct(cells: Keys) -> int:
    ordered = np.sort(cells.sum(axis=1, dtype=np.uint64))
    return int(1 + np.count_nonzero(ordered[1:] != ordered[:-1]))


def _shuffled_within(table: Keys, starts: IntArray, rng: np.random.Generator) -> Keys:
    return np.concatenate([_shuffled(part, rng) for part in np.split(table, starts[1:])])


def _shuffled(table: Keys, rng: np.random.Generator) -> Keys:
    """Shuffle each column within runs of 20 rows; the last run takes the rest."""
    n, width = table.shape
    n_full = max(n // _STRATUM, 1)
    main = (n_full - 1) * _STRATUM
    out = np.empty_like(table)
    if main:
        blocks = table[:main].reshape(n_full - 1, _STRATUM, width)
        out[:main] = rng.permuted(blocks, axis=1).reshape(main, width)
    out[main:] = rng.permuted(table[main:], axis=0)
    return out
