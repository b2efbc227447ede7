"""Which models cannot be told from the best: multiple comparisons with the best."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.stats.checks import FloatArray, IntArray, check_count, check_level, few_items
from evalstats.stats.many.max_t import collect, upper_quantile
from evalstats.stats.many.pair_table import PairTable, pair_table
from evalstats.stats.many.pair_tests import LABELS, PairTests, pair_tests
from evalstats.stats.many.reference_laws import FLIPPED_CLUSTERS, enough_to_flip, fitting_law, flip_clusters

_MOST_LISTED = 2**16  # the largest t of every draw is kept for every model


@dataclass(frozen=True, slots=True, kw_only=True)
class WithTheBest:
    """Each model against the best of the others.

    Attributes
    ----------
    estimate
        Score minus the highest score among the other models, shape (n_models,).
    low, high
        Simultaneous interval of that difference in the population; NaN where there is none. `high` is 0 where
        another model is shown to be at least as good, `low` is 0 only for a model shown to be the best (no other is as good).
    not_best
        Models shown to have another that is at least as good. The others are the shortlist: it holds the best model with
        `conf_level`.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    not_best: NDArray[np.bool_]
    conf_level: float
    method: str
    exact: bool
    n_resamples: int | None
    seed: int | None
    reason: str | None
    warnings: tuple[str, ...]


def with_the_best(
    scores: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    binary: bool = False,
    shares: bool = False,
    conf_level: float = 0.95,
    seed: int = 0,
    n_resamples: int = 9999,
) -> WithTheBest:
    """Hsu's comparisons with the best: which models may be the best, and by how much the others fall short.

    Sharper than all pairs where only the top matters.

    Parameters
    ----------
    scores
        float64, shape (n_items, n_models): item means over trials; a higher score is better. NaN where a model has no
        score.
    clusters
        Integer codes, shape (n_items,); fewer than 6 clusters give no answer.
    bounds
        Lowest and highest possible score.
    binary
        Whether every score is one right-or-wrong answer, 0 or 1.
    shares
        Whether bounded scores are shares of several right-or-wrong answers.

    Notes
    -----
    Every model in turn is taken as the best and compared, one-sided, with all others: q_j is the 1 - alpha quantile of
    the largest t of "j less another" when models do not differ, from the same law as for rank sets. With upper ends
    U_jk of theta_j - theta_k at q_j: high_j = max(0, min_k U_jk). The models with high > 0 are the shortlist S, and
    low_j = min(0, min_{k in S, k != j} -U_kj), or 0 where j alone is in S. If j is in truth the best, all its U_jk hold at
    once with `conf_level`, and from these follow all intervals (constrained comparisons, Hsu 1996). Ends are those that
    `evalstats.stats.many.pairwise.pairwise_differences` gives such pairs: Tango's for right-or-wrong answers.

    References
    ----------
    Hsu 1996, Multiple Comparisons: Theory and Methods, chapter 4.

    Examples
    --------
    >>> items = np.arange(200)
    >>> scores = np.stack([items % 10 < 8, items % 7 < 5, items % 3 < 1], axis=1)
    >>> found = with_the_best(scores, binary=True)
    >>> found.not_best.tolist(), found.estimate.round(3).tolist()
    ([False, False, True], [0.08, -0.08, -0.465])
    """
    level = check_level(conf_level)
    draws = check_count(n_resamples, "n_resamples", least=1)
    table = pair_table(scores, None, clusters)
    tests = pair_tests(table, binary=binary, bounds=bounds, shares=shares)
    estimate = _least(_matrix(table, table.estimate, -table.estimate))
    pairs = np.flatnonzero(tests.testable & enough_to_flip(table))
    if pairs.size == 0:
        return _unknown(table, estimate, level)
    law, words = fitting_law(table, pairs, seed=seed, n_resamples=draws, most_listed=_MOST_LISTED)
    found = _Controls(table.first[pairs], table.second[pairs], table.columns.size)
    collect(law, [found])
    critical, reached = found.critical(level)
    if table.codes is not None:
        wild = flip_clusters(table, pairs, seed=seed, n_resamples=draws, centred=True, most_listed=_MOST_LISTED)
        around = _Controls(table.first[pairs], table.second[pairs], table.columns.size)
        collect(wild, [around])
        critical = np.fmax(critical, around.critical(level)[0])
    upper = _upper_ends(tests, critical, level if reached else 1.0 - (1.0 - level) / (table.columns.size - 1))
    low, high = _constrained(upper)
    low = np.where(np.isfinite(low), low, np.nan if bounds is None and not binary else -tests.span)
    high = np.where(np.isfinite(high), high, np.nan if bounds is None and not binary else tests.span)
    place = np.argsort(table.columns)
    missing = table.first.size - pairs.size
    warning = f"{missing} of {table.first.size} pairs have no standard error (or share too little) and tell nothing"
    return WithTheBest(
        estimate=estimate[place],
        low=low[place],
        high=high[place],
        not_best=(high <= 0.0)[place],
        conf_level=level,
        method=f"comparisons with the best, {LABELS[tests.kind]}, {words}",
        exact=law.exact,
        n_resamples=law.n_resamples,
        seed=law.seed,
        reason=None,
        warnings=(*([warning] if missing else []), *few_items(int(table.n_items[pairs].min()))),
    )


class _Controls:
    """The law of the largest t of each model against all others, for every model in turn."""

    def __init__(self, first: IntArray, second: IntArray, n_models: int) -> None:
        self._members = [np.flatnonzero((first == j) | (second == j)) for j in range(n_models)]
        self._signs = [np.where(first[pairs] == j, 1.0, -1.0) for j, pairs in enumerate(self._members)]
        self._largest: list[list[FloatArray]] = [[] for _ in range(n_models)]
        self._weights: list[FloatArray] = []

    def add(self, t: FloatArray, weight: FloatArray) -> None:
        """Take one chunk of draws and their mirror images."""
        self._weights += [weight, weight]
        for pairs, signs, largest in zip(self._members, self._signs, self._largest, strict=True):
            if pairs.size:
                ahead = t.T[pairs] * signs[:, np.newaxis]
                largest += [ahead.max(axis=0), -ahead.min(axis=0)]

    def critical(self, level: float) -> tuple[FloatArray, bool]:
        """Return q of every model, NaN for one without a pair, and whether the draws reach the level."""
        weights = np.concatenate(self._weights)
        found = [upper_quantile(np.concatenate(each), weights, level) if each else None for each in self._largest]
        values = np.array([np.nan if each is None else each[0] for each in found])
        return values, all(each is None or each[1] for each in found)


def _upper_ends(tests: PairTests, critical: FloatArray, level: float) -> FloatArray:
    """Return U, shape (n_models, n_models): upper end of row less column at the row's q; infinite where there is none."""
    table = tests.table
    one_sided = 2.0 * level - 1.0
    high = tests.joint_ends(critical[table.first], one_sided)[1]
    low = tests.joint_ends(critical[table.second], one_sided)[0]
    upper = _matrix(table, high, -low)
    np.fill_diagonal(upper, np.inf)
    return np.where(np.isnan(upper), np.inf, upper)


def _constrained(upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    high = np.maximum(0.0, upper.min(axis=1))
    shortlist = np.flatnonzero(high > 0.0)
    low = np.zeros(high.size)
    for j in range(high.size):
        rivals = shortlist[shortlist != j]
        if rivals.size:
            low[j] = min(0.0, -float(upper[rivals, j].max()))
        elif shortlist.size == 0:  # pairs on different items can contradict one another
            low[j] = -np.inf
    return low, high


def _matrix(table: PairTable, above: FloatArray, below: FloatArray) -> FloatArray:
    """Return a square of row less column from values of first less second and of second less first."""
    square = np.full((table.columns.size, table.columns.size), np.nan)
    square[table.first, table.second] = above
    square[table.second, table.first] = below
    return square


def _least(square: FloatArray) -> FloatArray:
    known = [row[~np.isnan(row)] for row in square]
    return np.array([float(row.min()) if row.size else np.nan for row in known])


def _unknown(table: PairTable, estimate: FloatArray, level: float) -> WithTheBest:
    place = np.argsort(table.columns)
    none = np.full(place.size, np.nan)
    few = table.codes is not None and table.n_groups < FLIPPED_CLUSTERS
    reason = (
        f"{table.n_groups} cluster{'s' if table.n_groups != 1 else ''}: at least {FLIPPED_CLUSTERS} are needed"
        if few
        else "no difference between two models has a standard error"
    )
    return WithTheBest(
        estimate=estimate[place],
        low=none,
        high=none.copy(),
        not_best=np.zeros(place.size, dtype=np.bool_),
        conf_level=level,
        method="none",
        exact=True,
        n_resamples=None,
        seed=None,
        reason=reason,
        warnings=(),
    )
