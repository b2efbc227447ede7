"""Which ranks the data leave open for every model: multiple comparisons with the best, and confidence sets for ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, check_count, check_level, few_items
from evalstats.stats.many.pair_table import FLAT, PairTable, as_estimates, pair_table
from evalstats.stats.many.pairwise import LABELS, PairTests, pair_tests
from evalstats.stats.many.reference_laws import (
    ENOUGH_ITEMS,
    FLIPPED_CLUSTERS,
    enough_to_flip,
    fitting_law,
    flip_clusters,
    normal_known,
)
from evalstats.stats.many.step_down import OneSided, ReferenceLaw, collect, upper_quantile

_MOST_LISTED = 2**16  # the largest t of every draw is kept for every model
_DRAWS, _MOST_DRAWS = 9_999, 99_999
_MOST_STATISTICS = 1_000_000


@record
class WithTheBest:
    """Each model against the best of the others.

    Attributes
    ----------
    estimate
        Score minus the highest score among the other models, shape (n_models,).
    low, high
        Simultaneous interval of that difference in the population; NaN where there is none. `high` is 0 where
        another model is shown to be at least as good, `low` is 0 only for a model shown to be the best (no other is as good).
        Models with a `high` above 0 are the shortlist, which holds the best model with the level asked for.
    """

    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    method: str
    exact: bool
    reason: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def not_best(self) -> NDArray[np.bool_]:
        """Models shown to have another that is at least as good. The others are the shortlist."""
        return self.high <= 0.0


def with_the_best(
    scores: ArrayLike | PairTable,
    *,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    binary: bool = False,
    shares: bool = False,
    conf_level: float = 0.95,
    seed: int = 0,
    n_resamples: int = _DRAWS,
    drawn: "DrawnControls | None" = None,
) -> WithTheBest:
    """Hsu's comparisons with the best: which models may be the best, and by how much the others fall short.

    Sharper than all pairs where only the top matters.

    Parameters
    ----------
    scores
        float64, shape (n_items, n_models): item means over trials; a higher score is better. NaN where a model has no
        score. Or a table that `pair_table` made of them, with its own clusters.
    clusters
        Integer codes, shape (n_items,); fewer than 6 clusters give no answer.
    bounds
        Lowest and highest possible score.
    binary
        Whether every score is one right-or-wrong answer, 0 or 1.
    shares
        Whether bounded scores are shares of several right-or-wrong answers.
    drawn
        What `rank_sets` of the same table kept of its draws, which are not made again where they are those of this law.

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
    place = np.argsort(table.columns)
    square = _matrix(table, table.estimate, -table.estimate)
    estimate = np.fmin.reduce(square, axis=1, initial=np.inf)[place]
    estimate[np.isinf(estimate)] = np.nan
    pairs = np.flatnonzero(tests.testable & enough_to_flip(table))
    if pairs.size == 0:
        none = np.full(place.size, np.nan)
        reason = _too_few_clusters(table) or "no difference between two models has a standard error"
        return WithTheBest(estimate=estimate, low=none, high=none, method="none", exact=True, reason=reason)
    law, words = fitting_law(table, pairs, seed=seed, n_resamples=draws, most_listed=_MOST_LISTED)
    found = drawn.controls if drawn is not None and drawn.law is law else None
    if found is None:
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
    missing = table.first.size - pairs.size
    warning = f"{missing} of {table.first.size} pairs have no standard error (or share too little) and tell nothing"
    return WithTheBest(
        estimate=estimate,
        low=low[place],
        high=high[place],
        method=f"comparisons with the best, {LABELS[tests.kind]}, {words}",
        exact=law.exact,
        warnings=(*([warning] if missing else []), *few_items(int(table.n_items[pairs].min()))),
    )


class _Sides:
    """The pairs of every model, as those of which it is the first and those of which it is the second.

    Models are placed by how many they are the first against: where pairs follow one order, the others of each stand together.
    """

    def __init__(self, first: IntArray, second: IntArray, n_models: int, sign: FloatArray | None = None) -> None:
        self._n_models, self._sign = n_models, sign
        self._place = np.argsort(np.argsort(-np.bincount(first, minlength=n_models), kind="stable"))
        self._own: list[tuple[int, IntArray, IntArray | slice]] = []
        for j in range(n_models):
            pairs = np.flatnonzero(first == j)
            pairs = pairs[np.argsort(self._place[second[pairs]])]
            if pairs.size:
                self._own.append((int(self._place[j]), pairs, _places(self._place[second[pairs]])))

    def ends(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return least and largest t (times the sign of its pair) as first, then as second, shape (n_models, n_draws)."""
        shape = self._n_models, t.shape[0]
        low, least = np.full(shape, np.inf), np.full(shape, np.inf)
        high, most = np.full(shape, -np.inf), np.full(shape, -np.inf)
        for place, pairs, others in self._own:
            block = t.T[pairs]
            if self._sign is not None:
                block *= self._sign[pairs, np.newaxis]
            np.min(block, axis=0, out=low[place])
            np.max(block, axis=0, out=high[place])
            for held, further in ((least, np.minimum), (most, np.maximum)):
                if isinstance(others, slice):
                    further(held[others], block, out=held[others])
                else:
                    held[others] = further(held[others], block)
        return low[self._place], high[self._place], least[self._place], most[self._place]


def _places(places: IntArray) -> IntArray | slice:
    """Return increasing places as a slice, of which no copy is made, where they stand together."""
    together = places[-1] - places[0] < places.size
    return slice(int(places[0]), int(places[-1]) + 1) if together else places


class _Controls:
    """The law of the largest t of each model against all others, for every model in turn."""

    def __init__(self, first: IntArray, second: IntArray, n_models: int) -> None:
        self._sides = _Sides(first, second, n_models)
        self._compared = np.isin(np.arange(n_models), np.append(first, second))
        self._largest: list[FloatArray] = []
        self._weights: list[FloatArray] = []

    def add(self, t: FloatArray, weight: FloatArray) -> None:
        """Take one chunk of draws and their mirror images."""
        self.add_ends(*self._sides.ends(t), weight)

    def add_ends(
        self, low: FloatArray, high: FloatArray, least: FloatArray, most: FloatArray, weight: FloatArray
    ) -> None:
        """Take the ends of t of every model as the first of pairs and as the second, as `_Sides.ends` gives them."""
        self._weights += [weight, weight]
        self._largest += [np.maximum(high, -least), np.maximum(-low, most)]

    def critical(self, level: float) -> tuple[FloatArray, bool]:
        """Return q of every model, NaN for one without a pair, and whether the draws reach the level."""
        weights, values = np.concatenate(self._weights), np.full(self._compared.size, np.nan)
        all_reach = True
        for j in np.flatnonzero(self._compared).tolist():
            values[j], reached = upper_quantile(np.concatenate([each[j] for each in self._largest]), weights, level)
            all_reach = all_reach and reached
        return values, all_reach


class _OwnFamilies:
    """The pairs of every model as a family of its own: what all of them need of a chunk is found in one pass."""

    def __init__(
        self, observed: FloatArray, first: IntArray, second: IntArray, n_models: int, controls: _Controls | None
    ) -> None:
        self.families = [OneSided(observed, np.flatnonzero((first == j) | (second == j))) for j in range(n_models)]
        self._controls = controls
        up = np.copysign(1.0, observed)
        ahead, behind = np.where(up > 0.0, first, second), np.where(up > 0.0, second, first)
        self._sides = _Sides(ahead, behind, n_models, None if (up > 0.0).all() else up)

    def add(self, t: FloatArray, weight: FloatArray) -> None:
        """Count one chunk of draws."""
        low, high, least, most = self._sides.ends(t)
        for family, lowest, highest in zip(self.families, np.minimum(low, least), np.maximum(high, most), strict=True):
            if family.members.size:
                family.add_within(t, weight, lowest, highest)
        if self._controls is not None:
            self._controls.add_ends(low, high, least, most, weight)


@dataclass(slots=True)
class DrawnControls:
    """The law of the largest t of each model, kept from draws that were made for another question of the same table."""

    law: ReferenceLaw | None = None
    controls: _Controls | None = None


def _upper_ends(tests: PairTests, critical: FloatArray, level: float) -> FloatArray:
    """Return U, shape (n_models, n_models): upper end of row less column at the row's q; infinite where there is none."""
    table = tests.table
    one_sided = 2.0 * level - 1.0
    high = tests.joint_ends(critical[table.first], one_sided)[1]
    low = tests.joint_ends(critical[table.second], one_sided)[0]
    upper = _matrix(table, high, -low)
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


def _too_few_clusters(table: PairTable) -> str:
    """Say that there are too few clusters for any pair; "" where there are enough."""
    if table.codes is None or table.n_groups >= FLIPPED_CLUSTERS:
        return ""
    return f"{plural(table.n_groups, 'cluster')}: at least {FLIPPED_CLUSTERS} are needed"


@record
class RankSets:
    """Ranks that the data leave open; rank 1 is the highest score.

    Attributes
    ----------
    low, high
        int64, shape (n_models,): best and worst rank of each model; all these sets hold together with `conf_level`.
    marginal_low, marginal_high
        The same for a model looked at alone: each set holds with `conf_level` on its own.
    top
        For every tau asked for, a boolean array: models that may be among the tau best. Holds for all models together.
    reason
        Why nothing could be said; then every set runs from 1 to the number of models.
    """

    low: IntArray
    high: IntArray
    marginal_low: IntArray
    marginal_high: IntArray
    top: dict[int, NDArray[np.bool_]]
    method: str = "none"
    exact: bool = True
    n_resamples: int | None = None
    seed: int | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def rank_sets(
    scores: ArrayLike | PairTable,
    *,
    clusters: ArrayLike | None = None,
    conf_level: float = 0.95,
    top: Sequence[int] = (1, 3, 5),
    seed: int = 0,
    n_resamples: int | None = None,
    barred: NDArray[np.bool_] | None = None,
    joint: bool = True,
    drawn: DrawnControls | None = None,
) -> RankSets:
    """Confidence sets for the ranks of models that were given the same items.

    For published scores with standard errors and no items behind them use `rank_sets_normal`.

    Parameters
    ----------
    scores
        float64, shape (n_items, n_models): item means over trials; a higher score is better. NaN where a model has no
        score: a pair is compared on the items that both have. Or a table that `pair_table` made of them.
    clusters
        Integer codes, shape (n_items,); fewer than 6 clusters give no rank sets.
    top
        For each tau in it, which models may be among the tau best.
    seed, n_resamples
        Used only where the law cannot be listed. None: 9,999, and up to 99,999 of the normal law for few models.
    barred
        Symmetric, shape (n_models, n_models): pairs whose order must not be claimed, whatever the law says. Sets only get
        wider, and those of a barred pair always overlap.
    joint
        Whether the sets that hold together are wanted; without, they say nothing.
    drawn
        Where to keep what `with_the_best` needs of the draws, if it would make the same.

    Notes
    -----
    The rank of a model lies between 1 + the number of models shown to be above it and n_models - the number shown to be
    below it. "Shown" comes from one step-down procedure over all one-sided comparisons of two models, both directions;
    the marginal sets use the comparisons of one model only; `top` follows from the lower ends.

    The critical values are those of the largest studentised difference. Independent items, 100 or more for every pair:
    normal with the covariance of the items, over sqrt(chi2/df). Fewer items: sign flips of items. Clusters: sign flips of
    whole clusters with the CR2 variance; a normal law with the clusters' covariance would hold .39 to .87 of the time at
    7 to 40 clusters where .95 is claimed. Pairs without a standard error are never counted as shown.

    The joint coverage measured for 10 equal models at a nominal .95 (4,000 tables each): .95 to .98 with 7, .95 with 15 and
    .95 with 40 clusters, equal and unequal; .96 with 50 independent items, .94 with 100, 200 and 1,000.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006.

    Examples
    --------
    >>> items = np.arange(200)
    >>> scores = np.stack([items % 10 < 8, items % 7 < 5, items % 3 < 1], axis=1)
    >>> found = rank_sets(scores)
    >>> found.low.tolist(), found.high.tolist(), found.top[1].tolist()
    ([1, 1, 3], [2, 2, 3], [True, True, False])
    """
    level, taus = check_level(conf_level), checked_top(top)
    draws = None if n_resamples is None else check_count(n_resamples, "n_resamples", least=1)
    table = pair_table(scores, None, clusters)
    if few := _too_few_clusters(table):
        return no_ranks(table.columns.size, taus, f"{few} for rank sets")
    pairs = np.flatnonzero((table.testable | table.one_way) & enough_to_flip(table))
    if pairs.size == 0:
        return no_ranks(table.columns.size, taus, "no difference between two models has a standard error")
    law, method = fitting_law(table, pairs, seed=seed, n_resamples=draws or _draws(table, pairs))
    controls = None
    if (
        drawn is not None
        and law is fitting_law(table, pairs, seed=seed, n_resamples=_DRAWS, most_listed=_MOST_LISTED)[0]
    ):
        controls = _Controls(table.first[pairs], table.second[pairs], table.columns.size)
        drawn.law, drawn.controls = law, controls
    closed = None if barred is None else np.asarray(barred)[np.ix_(table.columns, table.columns)]
    missing = table.first.size - pairs.size
    warning = (
        f"{missing} of {table.first.size} pairs have no standard error (or share too little) and are not separated"
    )
    fewest = int(table.n_items[pairs].min())
    return ranks_of_law(
        law,
        table.first[pairs],
        table.second[pairs],
        table.columns,
        taus=taus,
        level=level,
        method=method,
        barred=closed,
        joint=joint,
        controls=controls,
        warnings=(*([warning] if missing else []), *few_items(fewest)),
    )[0]


def rank_sets_normal(
    estimates: ArrayLike,
    covariance: ArrayLike,
    *,
    conf_level: float = 0.95,
    top: Sequence[int] = (1, 3, 5),
    seed: int = 0,
    n_resamples: int = 29_999,
) -> RankSets:
    """Confidence sets for ranks from estimates with a known covariance, as published tables give them.

    Parameters
    ----------
    estimates
        float64, shape (n_models,); a higher estimate is better.
    covariance
        float64, shape (n_models, n_models); `np.diag(std_errors**2)` where the estimates are independent. Models scored on
        the same items are not: then their sets are too wide, and `rank_sets` on the items is better.

    Notes
    -----
    As `rank_sets`, with the normal law and no degrees of freedom: the standard errors are taken as known. A covariance
    from few clusters must not be given here.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006.

    Examples
    --------
    >>> found = rank_sets_normal([0.9, 0.5, 0.4], np.diag([0.01, 0.01, 0.01]))
    >>> found.low.tolist(), found.high.tolist()
    ([1, 2, 2], [1, 3, 3])
    """
    level, taus = check_level(conf_level), checked_top(top)
    draws = check_count(n_resamples, "n_resamples", least=1)
    theta, sigma = as_estimates(estimates, covariance)
    order = np.lexsort((np.diagonal(sigma), theta))
    theta, sigma = theta[order], sigma[np.ix_(order, order)]
    first, second = np.triu_indices(theta.size, k=1)
    total = sigma[first, first] + sigma[second, second]
    known = total - 2.0 * sigma[first, second] > FLAT * total
    if not known.any():
        return no_ranks(theta.size, taus, "no difference between two models has a standard error")
    first, second = first[known], second[known]
    law = normal_known(theta, sigma, first, second, seed=seed, n_resamples=draws)
    method = "normal law, known standard errors"
    return ranks_of_law(law, first, second, order, taus=taus, level=level, method=method)[0]


def _draws(table: PairTable, pairs: IntArray) -> int:
    """Return how many draws to take: many of the normal law, which is cheap for few pairs, so that no rank hangs on a seed."""
    if table.codes is not None or int(table.n_items[pairs].min()) < ENOUGH_ITEMS:
        return _DRAWS
    return int(np.clip(_MOST_STATISTICS // pairs.size, _DRAWS, _MOST_DRAWS))


def ranks_of_law(
    law: ReferenceLaw,
    first: IntArray,
    second: IntArray,
    columns: IntArray,
    *,
    taus: tuple[int, ...],
    level: float,
    method: str,
    least_p: FloatArray | None = None,
    barred: NDArray[np.bool_] | None = None,
    joint: bool = True,
    controls: _Controls | None = None,
    warnings: tuple[str, ...] = (),
) -> tuple[RankSets, OneSided]:
    """Count the models shown to be above and below each, over all pairs and over the pairs of each model alone.

    `first` and `second` are places in `columns`, which says where each model stood when they were given; the sets are in that
    order. No pair is shown whose `least_p`, shape (n_pairs,), is above 1 - level. Beside the sets stand the step-down p-values
    of all pairs. Without `joint` the sets that hold together are all ranks, and the p-values are of no use. `controls` take the
    same draws.
    """
    n_models = columns.size
    every = OneSided(law.observed, np.arange(first.size if joint else 0))
    own = _OwnFamilies(law.observed, first, second, n_models, controls)
    collect(law, [*([every] if every.members.size else []), own])
    least = np.zeros(first.size) if least_p is None else least_p
    if barred is not None:
        least = np.where(barred[first, second], np.inf, least)
    up = law.observed > 0.0
    winner, loser = np.where(up, first, second), np.where(up, second, first)
    shown = np.maximum(every.p_adjusted() if joint else 1.0, least) <= 1.0 - level
    low = 1 + np.bincount(loser[shown], minlength=n_models)
    high = n_models - np.bincount(winner[shown], minlength=n_models)
    if barred is not None:
        # Models in between may order two that are barred; their sets are made to meet.
        low = np.minimum(low, np.where(barred, high, n_models).min(axis=1))
    marginal_low, marginal_high = np.ones(n_models, dtype=np.int64), np.full(n_models, n_models, dtype=np.int64)
    for j, family in enumerate(own.families):
        if family.members.size:
            alone = family.members[np.maximum(family.p_adjusted(), least[family.members]) <= 1.0 - level]
            marginal_low[j] += np.count_nonzero(loser[alone] == j)
            marginal_high[j] -= np.count_nonzero(winner[alone] == j)
    place = np.argsort(columns)
    low = low[place]
    sets = RankSets(
        low=low,
        high=high[place],
        marginal_low=marginal_low[place],
        marginal_high=marginal_high[place],
        top={tau: low <= tau for tau in taus},
        method=f"rank sets, max-T step-down, {method}",
        exact=law.exact,
        n_resamples=law.n_resamples,
        seed=law.seed,
        warnings=warnings,
    )
    return sets, every


def no_ranks(n_models: int, taus: tuple[int, ...], reason: str) -> RankSets:
    """Say that every rank is possible."""
    low, high = np.ones(n_models, dtype=np.int64), np.full(n_models, n_models, dtype=np.int64)
    top = {tau: low <= tau for tau in taus}
    return RankSets(low=low, high=high, marginal_low=low.copy(), marginal_high=high.copy(), top=top, reason=reason)


def checked_top(top: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of best models that are asked about."""
    return tuple(check_count(tau, "an entry of top", least=1) for tau in top)
