"""From the item scores of many models to pairs, rank sets, tiers and the best: which method, and why.

====================================  =====================================  ==========================================
situation                             pairs                                  rank sets, distance from the best
====================================  =====================================  ==========================================
every two models share enough items   as `adjust` says, each pair on the     one step-down procedure over all pairs; Hsu's
                                      items that it shares                   comparisons with the best
some do, some do not                  the same, those that do                counted from the separated pairs, within parts
                                                                             that are connected; the pairs' intervals
one way of clustering                 clusters are the unit                  the same, from 6 clusters on
several ways of clustering (crossed)  multiway CR2, Holm                     counted from the separated pairs
====================================  =====================================  ==========================================

A rank counted from pairs: 1 + the models shown to be better, up to the number of models less those shown to be worse.
Where the pairs hold with a family-wise error rate, so do all these sets together (Mogstad et al. 2024).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from evalstats.analysis.design.comparability import MIN_SHARED, components, shared_counts
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.leaderboard.pairs import BoardRuns, adjusted, counting_runs, crossed_pairs
from evalstats.analysis.pairs import Bools, Floats, Ints
from evalstats.errors import CannotAnswerError
from evalstats.grammar import plural
from evalstats.stats.many.multiplicity import compact_letters
from evalstats.stats.many.pair_table import PairTable, pair_table
from evalstats.stats.many.pairwise import Adjust, PairwiseDifferences, pairwise_differences
from evalstats.stats.many.ranks import rank_sets, with_the_best
from evalstats.stats.paired.binary import MIN_DISCORDANT

# With fewer clusters no pattern of signs is rare enough to separate anything after adjustment.
MIN_CLUSTERS = 6
_MIN_DF, _ROUNDING = 4.0, 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Item values of all models, the best first, shape (n_items, n_models), NaN where there is none.

    `single` tells that every value is one right-or-wrong answer, `allowed` which two models may be compared at all; `runs` is
    what full runs add to the variance of each pair. Where levels of a factor are averaged over, `raw` are the item values, each
    with its weight, and `values` are linearised, so that plain means and errors are those of the average. Where models miss
    items, `means` are their scores on one scale, which no pair may contradict.
    """

    values: Floats
    clusters: tuple[Ints, ...]
    single: bool
    allowed: Bools
    raw: Floats | None = None
    weights: Floats | None = None
    runs: BoardRuns | None = None
    means: Floats | None = None

    @property
    def n_models(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def codes(self) -> Ints | None:
        """The one cluster column; None where items are independent."""
        return self.clusters[0] if self.clusters else None

    @property
    def all_linked(self) -> bool:
        """Whether every two models share enough items."""
        return bool(self.linked().all())

    def linked(self) -> Bools:
        """Return which two models are compared: they may be, and they share enough items."""
        return (shared_counts(~np.isnan(self.values)) >= MIN_SHARED) & self.allowed

    def of(self, members: Bools) -> "Scores":
        """Keep some models, on the items that any of them has."""
        seen = ~np.isnan(self.values[:, members]).all(axis=1)
        return replace(
            self,
            values=self.values[np.ix_(seen, members)],
            clusters=tuple(each[seen] for each in self.clusters),
            allowed=self.allowed[np.ix_(members, members)],
            runs=None if self.runs is None else self.runs.of(members),
            raw=None if self.raw is None else self.raw[np.ix_(seen, members)],
            weights=None if self.weights is None else self.weights[seen],
            means=None if self.means is None else self.means[members],
        )

    def common(self) -> "Scores":
        """Keep the items that all models have."""
        keep = ~np.isnan(self.values).any(axis=1)
        return replace(self, values=self.values[keep], clusters=tuple(each[keep] for each in self.clusters))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Rank sets in column order; None where there is none, with the reason. `part` is the component, from 1."""

    low: tuple[int | None, ...]
    high: tuple[int | None, ...]
    marginal_low: tuple[int | None, ...]
    marginal_high: tuple[int | None, ...]
    top: tuple[tuple[tuple[int, bool], ...], ...]
    part: tuple[int, ...]
    reasons: tuple[str | None, ...]
    method: str
    exact: bool | None = None
    n_resamples: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """Everything that is said of models against each other, in column order.

    `every` holds all comparable pairs, `shown` the family that was asked for (the same, or those with the baseline).
    `best_low` and `best_high` are turned so that above 0 is better, whatever the direction of the metric.
    """

    every: PairwiseDifferences
    shown: PairwiseDifferences
    ranks: Ranks
    tiers: tuple[str, ...]
    best_low: tuple[float | None, ...]
    best_high: tuple[float | None, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was asked for: the level, the family and its adjustment, the k of the top-k sets, the seed."""

    metric: Metric
    conf_level: float
    adjust: Adjust
    baseline: int | None
    top: tuple[int, ...]
    seed: int

    @property
    def family_wise(self) -> bool:
        """Whether the adjustment bounds the chance of any false finding, as rank sets need; others do for the pairs only."""
        return self.adjust in ("max-t", "holm")

    @property
    def sign(self) -> float:
        """What turns scores so that higher is better."""
        return 1.0 if self.metric.higher_is_better else -1.0

    def turned(self, values: Floats) -> Floats:
        """Return scores for which higher is better; right-or-wrong ones stay 0 and 1, and the bounds stay theirs."""
        if self.metric.higher_is_better:
            return values
        return -values if self.bounds is None else sum(self.bounds) - values

    def without_bounds(self) -> "Plan":
        """Return the plan for values that the bounds of the score do not hold for."""
        return replace(self, metric=replace(self.metric, kind="continuous", low=None, high=None))

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest score, where there are both."""
        return self.metric.bounds


def standings(scores: Scores, plan: Plan) -> Standings:
    """Compare all models: every pair, what ranks that leaves, tiers, and the distance from the best."""
    plan = plan if scores.raw is None else plan.without_bounds()
    linked, table = scores.linked(), _one_table(scores, plan)
    part = components(linked)
    every, strict, both = _claims(scores, plan, table, intervals=True)
    shown = every
    if plan.baseline is not None:
        others = [j for j in range(scores.n_models) if j != plan.baseline and linked[j, plan.baseline]]
        shown = pair_differences(scores, plan, [(j, plan.baseline) for j in others]) if others else _none_of(every)
    ranks = _ranks(scores, plan, strict, apart=both, part=part, table=table)
    low, high = _one_shortlist(_against_best(scores, plan, strict, part, table), ranks)
    # The answer is exact only where the ranks are too.
    drawn = max((each for each in (shown.n_resamples, ranks.n_resamples) if each), default=None)
    shown = replace(shown, exact=shown.exact and ranks.exact is not False, n_resamples=drawn)
    return Standings(
        every=every,
        shown=shown,
        ranks=ranks,
        tiers=_tiers(_above(every, plan, scores.n_models), part),
        best_low=low,
        best_high=high,
        warnings=tuple(dict.fromkeys((*every.warnings, *shown.warnings, *ranks.warnings))),
    )


def claims(scores: Scores, plan: Plan) -> tuple[Bools, Ranks]:
    """Return which pairs `standings` would call separated, in the order of its pairs, and its ranks without marginal sets.

    What it leaves out, intervals and the distance from the best, is most of the work where items are clustered.
    """
    plan = plan if scores.raw is None else plan.without_bounds()
    table = _one_table(scores, plan)
    every, strict, both = _claims(scores, plan, table, intervals=False)
    part = components(scores.linked())
    ranks = _ranks(scores, plan, strict, apart=both, part=part, table=table, marginal=False)
    return separated(every, plan.conf_level), ranks


def _claims(
    scores: Scores, plan: Plan, table: PairTable | None, *, intervals: bool
) -> tuple[PairwiseDifferences, PairwiseDifferences, Bools]:
    """Return all comparable pairs as asked and with a family-wise rate, and those separated by both."""
    linked = scores.linked()
    pairs = [(i, j) for i in range(scores.n_models) for j in range(i + 1, scores.n_models) if linked[i, j]]
    if not pairs:
        shared = shared_counts(~np.isnan(scores.values))
        raise CannotAnswerError(
            f"no two of the {scores.n_models} models that were measured alike share {MIN_SHARED} scored items (the most that any "
            f"two share is {int(shared[np.triu_indices(scores.n_models, 1)].max())}), so nothing can be compared"
        )
    table = table if plan.metric.higher_is_better else None  # that of ranks is turned round
    every = pair_differences(scores, plan, pairs, table=table, intervals=intervals)
    # Rank sets need a family-wise error rate, which bh and by do not give.
    strict = every
    if not plan.family_wise:
        strict = pair_differences(scores, replace(plan, adjust="holm"), pairs, table=table, intervals=intervals)
    both = (separated_matrix(each, scores.n_models, plan.conf_level) for each in (every, strict))
    return every, strict, np.logical_and(*both)


def _one_table(scores: Scores, plan: Plan) -> PairTable | None:
    """Return the table of all pairs that every question shares, higher being better; None where they cannot share one."""
    if not scores.all_linked or len(scores.clusters) > 1:
        return None
    return pair_table(plan.turned(scores.values), None, scores.codes)


def pair_differences(
    scores: Scores,
    plan: Plan,
    pairs: Sequence[tuple[int, int]],
    *,
    table: PairTable | None = None,
    intervals: bool = True,
) -> PairwiseDifferences:
    """Compare the named pairs as one family; `table` is theirs, where it was made before."""
    found = _of_items(scores, plan, pairs, table, intervals=intervals)
    found = counting_runs(found, scores.runs, span=plan.metric.span, conf_level=plan.conf_level)
    if scores.means is None:
        return found
    lead = scores.means[found.first] - scores.means[found.second]
    return replace(found, contradicted=found.estimate * lead < 0.0)


def _of_items(
    scores: Scores, plan: Plan, pairs: Sequence[tuple[int, int]], table: PairTable | None, *, intervals: bool
) -> PairwiseDifferences:
    """Compare the named pairs on their items alone."""
    if scores.raw is not None:
        plan = plan.without_bounds()
    if len(scores.clusters) > 1:
        return crossed_pairs(
            scores.values,
            scores.clusters,
            pairs,
            span=plan.metric.span,
            conf_level=plan.conf_level,
            adjust=plan.adjust,
        )
    found = pairwise_differences(
        scores.values if table is None else table,
        pairs=pairs,
        clusters=scores.clusters[0] if scores.clusters else None,
        bounds=plan.bounds,
        binary=scores.single,
        shares=not plan.metric.is_graded(scores.values),
        worst=plan.metric.worst if plan.metric.is_graded(scores.values) else None,
        conf_level=plan.conf_level,
        adjust=plan.adjust,
        seed=plan.seed,
        intervals=intervals,
    )
    if scores.raw is None or scores.clusters:
        return found
    # Linearised values differ everywhere; what counts is on how many items the models do, each by its weight against the
    # heaviest: differences in light items say little of the heavy ones, where t would take silence for certainty.
    weight = np.ones(len(scores.raw)) if scores.weights is None else scores.weights / scores.weights.max()
    differing = [int(weight @ (scores.raw[:, i] != scores.raw[:, j]) + _ROUNDING) for i, j in pairs]
    return replace(found, n_differing=np.array(differing, dtype=np.int64))


def separated(found: PairwiseDifferences, conf_level: float) -> Bools:
    """Tell which pairs are separated: both p are small, and as in a comparison of two there is enough to go by.

    Fewer than 6 items that differ, or clusters worth fewer than 5 (df below 4), separate nothing. Where either side of a pair
    fails outright on some item, unseen failures that would undo the difference keep it from being separated too; so does a
    difference that the scores on all items contradict.
    """
    alpha = 1.0 - conf_level
    with np.errstate(invalid="ignore"):
        apart = (found.p_adjusted <= alpha) & (found.p_value <= alpha)
        if found.n_differing is not None:
            apart &= found.n_differing >= MIN_DISCORDANT
        if found.failures is not None:
            apart &= ~(found.failures.within & found.failures.seen)
        if found.n_clusters is not None:
            apart &= found.df >= _MIN_DF - _ROUNDING
        if found.contradicted is not None:
            apart &= ~found.contradicted
    return apart


def separated_matrix(found: PairwiseDifferences, n_models: int, conf_level: float) -> Bools:
    """Return the same as a symmetric matrix of all models."""
    matrix = np.zeros((n_models, n_models), dtype=np.bool_)
    apart = separated(found, conf_level)
    matrix[found.first[apart], found.second[apart]] = True
    return matrix | matrix.T


def _ranks(
    scores: Scores,
    plan: Plan,
    strict: PairwiseDifferences,
    *,
    apart: Bools,
    part: Ints,
    table: PairTable | None,
    marginal: bool = True,
) -> Ranks:
    """Find the rank sets of every part of the graph on its own; only pairs that are `apart` can be put in order."""
    members = [part == label for label in range(int(part.max()) + 1)]
    above = _closed(_above(strict, plan, scores.n_models) & apart)
    found = [
        _in_order(_part_ranks(scores, plan, strict, apart, each, table, marginal=marginal), above[np.ix_(each, each)])
        for each in members
    ]
    place = [int((part[:j] == label).sum()) for j, label in enumerate(part.tolist())]
    labels: list[int] = part.tolist()
    own = [(found[label], k) for label, k in zip(labels, place, strict=True)]
    drawn = [each for each in found if each.reason is None]
    return Ranks(
        low=tuple(each.low[k] if each.low else None for each, k in own),
        high=tuple(each.high[k] if each.high else None for each, k in own),
        marginal_low=tuple(each.marginal_low[k] if each.low else None for each, k in own),
        marginal_high=tuple(each.marginal_high[k] if each.low else None for each, k in own),
        top=tuple(tuple((tau, inside[k]) for tau, inside in each.top) for each, k in own),
        part=tuple((part + 1).tolist()),
        reasons=tuple(each.reason for each, _ in own),
        method=" and ".join(dict.fromkeys(each.method for each in drawn)) or "none",
        exact=all(each.exact for each in drawn) if drawn else None,
        n_resamples=max((each.n_resamples for each in drawn if each.n_resamples), default=None),
        warnings=tuple(dict.fromkeys(text for each in drawn for text in each.warnings)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PartRanks:
    """Rank sets of the models of one part, in column order; empty where there are none, with the reason."""

    low: tuple[int, ...] = ()
    high: tuple[int, ...] = ()
    marginal_low: tuple[int, ...] = ()
    marginal_high: tuple[int, ...] = ()
    top: tuple[tuple[int, tuple[bool, ...]], ...] = ()
    reason: str | None = None
    method: str = ""
    exact: bool = True
    n_resamples: int | None = None
    warnings: tuple[str, ...] = ()


def _part_ranks(  # noqa: PLR0917 - what ranks are made of
    scores: Scores,
    plan: Plan,
    strict: PairwiseDifferences,
    apart: Bools,
    members: Bools,
    table: PairTable | None,
    *,
    marginal: bool,
) -> _PartRanks:
    own = scores.of(members)
    reason = _too_few(own)
    if reason is not None:
        return _PartRanks(reason=reason)
    pair_alone = scores.n_models == 2 and not scores.clusters
    if pair_alone or not own.all_linked or len(own.clusters) > 1:
        return _counted_ranks(scores, plan, strict, members, marginal=marginal)
    found = rank_sets(
        plan.turned(own.values) if table is None else table,
        clusters=own.codes,
        conf_level=plan.conf_level,
        top=plan.top,
        seed=plan.seed,
        barred=~apart[np.ix_(members, members)],
        marginal=marginal,
    )
    return _PartRanks(
        low=tuple(found.low.tolist()),
        high=tuple(found.high.tolist()),
        marginal_low=tuple(found.marginal_low.tolist()),
        marginal_high=tuple(found.marginal_high.tolist()),
        top=tuple((tau, tuple(found.top[tau].tolist())) for tau in plan.top),
        method=found.method,
        exact=found.exact,
        n_resamples=found.n_resamples,
        warnings=(*found.warnings, *([found.reason] if found.reason else [])),
    )


def _counted_ranks(
    scores: Scores, plan: Plan, strict: PairwiseDifferences, members: Bools, *, marginal: bool
) -> _PartRanks:
    """Count ranks from the pairs that are separated with a family-wise error rate."""
    size, n_models = int(members.sum()), scores.n_models
    above = _above(strict, plan, n_models)
    columns: list[int] = np.flatnonzero(members).tolist()
    nothing = np.zeros_like(above)
    own = [_above(_own_family(scores, plan, strict, j), plan, n_models) if marginal else nothing for j in columns]
    low = tuple(1 + int(above[:, j].sum()) for j in columns)
    return _PartRanks(
        low=low,
        high=tuple(size - int(above[j].sum()) for j in columns),
        marginal_low=tuple(1 + int(each[:, j].sum()) for each, j in zip(own, columns, strict=True)),
        marginal_high=tuple(size - int(each[j].sum()) for each, j in zip(own, columns, strict=True)),
        top=tuple((tau, tuple(lowest <= tau for lowest in low)) for tau in plan.top),
        method=f"counted from the separated pairs ({strict.method})",
        exact=strict.exact,
        n_resamples=strict.n_resamples,
    )


def _in_order(found: _PartRanks, above: Bools) -> _PartRanks:
    """Widen sets so that no model's begins or ends at a worse rank than that of one it is above, [i, j] for i above j."""
    if not found.low:
        return found
    low, high, n = np.array(found.low), np.array(found.high), len(found.low)
    low = np.minimum(low, np.where(above, low, n).min(axis=1))
    high = np.maximum(high, np.where(above.T, high, 1).max(axis=1))
    return replace(
        found,
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        top=tuple((tau, tuple((low <= tau).tolist())) for tau, _ in found.top),
    )


def _own_family(scores: Scores, plan: Plan, every: PairwiseDifferences, j: int) -> PairwiseDifferences:
    """Return the pairs of one model as a family of their own, by the same method, so that its set can only be shorter."""
    mine = (every.first == j) | (every.second == j)
    if every.adjust == "max-t":
        pairs = list(zip(every.first[mine].tolist(), every.second[mine].tolist(), strict=True))
        return pair_differences(scores, plan, pairs) if pairs else replace(every, p_adjusted=np.full(len(mine), np.nan))
    p = np.full(len(mine), np.nan)
    p[mine] = adjusted(every.p_value[mine], "holm")
    return replace(every, p_adjusted=p)


def _above(found: PairwiseDifferences, plan: Plan, n_models: int) -> Bools:
    """Return [i, j]: whether model i is shown to be better than model j."""
    apart = separated(found, plan.conf_level)
    better = plan.sign * found.estimate > 0
    matrix = np.zeros((n_models, n_models), dtype=np.bool_)
    for one, other, wins in ((found.first, found.second, better), (found.second, found.first, ~better)):
        matrix[one[apart & wins], other[apart & wins]] = True
    return matrix


def _too_few(scores: Scores) -> str | None:
    """Return why there can be no rank sets at all."""
    if scores.n_models < 2:
        return "it shares too few items with every other model"
    fewest = min((len(np.unique(each)) for each in scores.clusters), default=None)
    if fewest is not None and fewest < MIN_CLUSTERS:
        return f"{plural(fewest, 'cluster')}: at least {MIN_CLUSTERS} are needed for rank sets"
    return None


def _tiers(above: Bools, part: Ints) -> tuple[str, ...]:
    """Letters within each part of the graph; where there are several parts, its number stands before them.

    A model above one that is above a third is above that too, or letters would not follow the ranks.
    """
    letters, above = [""] * len(part), _closed(above)
    apart = above | above.T
    for label in range(int(part.max()) + 1):
        members = np.flatnonzero(part == label)
        own = compact_letters(apart[np.ix_(members, members)], np.arange(len(members)))
        for j, text in zip(members.tolist(), own, strict=True):
            letters[j] = text if part.max() == 0 else f"{label + 1}{text}"
    return tuple(letters)


def _closed(above: Bools) -> Bools:
    """Add to an order, [i, j] for i above j, what follows from it."""
    while True:
        steps = above.astype(np.float32)
        more = above | (steps @ steps > 0.0)
        if (more == above).all():
            return above
        above = more


def _against_best(
    scores: Scores, plan: Plan, strict: PairwiseDifferences, part: Ints, table: PairTable | None
) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Return the interval of every model's lead over the best of the others of its part, above 0 being better."""
    low, high = (np.full(scores.n_models, np.nan) for _ in range(2))
    for label in range(int(part.max()) + 1):
        members = part == label
        own = scores.of(members)
        if _too_few(own) is not None:
            continue
        if own.all_linked and len(own.clusters) < 2 and own.runs is None:
            found = with_the_best(
                plan.turned(own.values) if table is None else table,
                clusters=own.codes,
                bounds=plan.bounds,
                binary=own.single,
                shares=not plan.metric.is_graded(own.values),
                conf_level=plan.conf_level,
                seed=plan.seed,
            )
            low[members], high[members] = found.low, found.high
        else:
            low[members], high[members] = best_from_pairs(scores.n_models, plan, strict, members)
    return given(low), given(high)


def _one_shortlist(
    ends: tuple[tuple[float | None, ...], tuple[float | None, ...]], ranks: Ranks
) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Leave out intervals that end at 0 where the rank sets leave the first place open: these are the one shortlist.

    Comparisons with the best are sharper than all pairs, and know nothing of what forbids a verdict.
    """
    kept = [not (high is not None and high <= 0 and low == 1) for high, low in zip(ends[1], ranks.low, strict=True)]
    low, high = (tuple(x if keep else None for x, keep in zip(each, kept, strict=True)) for each in ends)
    return low, high


def best_from_pairs(n_models: int, plan: Plan, strict: PairwiseDifferences, members: Bools) -> tuple[Floats, Floats]:
    """Return the same from simultaneous intervals of pairs: the lead over the best is at most that over any other model.

    Its lower end needs an interval against every other member; its upper end holds with those that there are.
    """
    low, high = (np.full((n_models, n_models), np.nan) for _ in range(2))
    ends = (strict.conf_low, strict.conf_high) if plan.sign > 0 else (-strict.conf_high, -strict.conf_low)
    low[strict.first, strict.second], high[strict.first, strict.second] = ends
    low[strict.second, strict.first], high[strict.second, strict.first] = -ends[1], -ends[0]
    columns: list[int] = np.flatnonzero(members).tolist()
    rivals = [[k for k in columns if k != j] for j in columns]
    lows = np.array([low[j, others].min() for j, others in zip(columns, rivals, strict=True)])
    highs = np.array([np.fmin.reduce(high[j, others]) for j, others in zip(columns, rivals, strict=True)])
    return np.minimum(lows, 0.0), np.maximum(highs, 0.0)


def _none_of(found: PairwiseDifferences) -> PairwiseDifferences:
    """Return a family without a pair."""
    empty = {
        field.name: getattr(found, field.name)[:0]
        for field in fields(found)
        if isinstance(getattr(found, field.name), np.ndarray)
    }
    return replace(found, **empty)


def given(values: Floats) -> tuple[float | None, ...]:
    """Return numbers with None in the place of NaN."""
    return tuple(None if np.isnan(value) else float(value) for value in values.tolist())
