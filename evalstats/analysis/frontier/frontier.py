"""Is the better system worth its price? Scores against costs on the same items, and which systems no other one beats."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import polars as pl

from evalstats.analysis.costs import cost_word, item_amounts, log_scale_mean, runaway_words
from evalstats.analysis.design.clusters import (
    candidate_groups,
    chosen_clusters,
    group_columns,
    label_of,
    named_clusters,
    without_nested,
)
from evalstats.analysis.design.comparability import RunKinds, run_kinds
from evalstats.analysis.design.dependence import ItemFactor, deciding_factor, dependence
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.design.runs import trial_design
from evalstats.analysis.frontier.options import Cost
from evalstats.analysis.frontier.result import Frontier, FrontierRow, Standing
from evalstats.analysis.leaderboard.entries import ENTRY, ItemValues, all_items, entries_of, item_values
from evalstats.analysis.pairs import Bools, Floats, Ints, Pairs, Side
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.score import score_of_arm
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, plural
from evalstats.schema.columns import OUTCOMES
from evalstats.schema.data import EvalData, as_data
from evalstats.stats.checks import few_items, too_few_clusters
from evalstats.stats.many.pareto import beaten_by, certain_dominance, frontier_shares, on_frontier, unsure_savings
from evalstats.stats.one_sample import UnseenRunaways, unseen_runaways
from evalstats.stats.paired.means import paired_t
from evalstats.table.items import ITEM_OF_VARIANTS, score_matrix
from evalstats.table.systems import System, require_outcomes

COSTS: tuple[Cost, ...] = get_args(Cost)
_NAMED = 3

_METHOD = (
    "bootstrap of items, scores and costs of all systems together",
    "bootstrap of clusters, scores and costs of all systems together",
)
_DOMINANCE = "for every pair the larger p of the two differences, Holm over all pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """All systems that have the cost: their rows, item values and costs, shape (n_items, n_systems), NaN where there is none.

    `every` are the items of any of them, in the shape that groupings work on.
    """

    data: EvalData
    arms: tuple[System, ...]
    values: ItemValues
    costs: Floats
    every: Pairs
    measured: RunKinds

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs behind all systems."""
        return tuple(sorted({run for arm in self.arms for run in arm.runs}))

    @property
    def complete(self) -> Bools:
        """Items on which every system has a score and a cost."""
        return np.asarray((~np.isnan(self.values.values) & ~np.isnan(self.costs)).all(axis=1), dtype=np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cases:
    """The complete cases, turned so that higher scores are better, and how they hang together."""

    names: tuple[str, ...]
    metric: Metric
    scores: Floats
    costs: Floats
    clusters: tuple[Ints, ...]
    single: bool

    @property
    def coarsest(self) -> Ints | None:
        """The cluster column with the fewest levels."""
        return min(self.clusters, key=lambda each: len(np.unique(each)), default=None)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Bounds of the turned scores."""
        low, high = self.metric.low, self.metric.high
        if low is None or high is None:
            return None
        return (low, high) if self.metric.higher_is_better else (-high, -low)


@recorded
def frontier(
    data: EvalData | object,
    *,
    metric: str | None = None,
    cost: Cost = "cost_usd",
    cluster: str | Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    accept: Collection[str] = (),
    conf_level: float = 0.95,
    contrast: str = "model",
    higher_is_better: bool | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> Frontier:
    """Find the systems that score the most for their cost, and say how sure that is.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    metric
        The score; needed only where the benchmark declares no headline.
    cost
        "cost_usd", "latency_s", "output_tokens", "input_tokens" or "n_turns": the less the better.
    cluster, models, accept, contrast, higher_is_better
        As in `leaderboard`.
    conf_level
        Level of the intervals, of the claims that a system is dominated, and of the share that settles that it is not.
    n_resamples, seed
        Of the bootstrap; intervals do not depend on it.
    on_progress
        Called as on_progress(done, n_resamples) while resampling.

    Returns
    -------
    Frontier
        For every system score and cost with intervals, whether it is on the frontier as observed, the share of resamples in
        which it is, and which systems dominate it for certain.

    Raises
    ------
    InputError
        If a name, column or option is unknown or ambiguous.
    CannotAnswerError
        If fewer than two systems have the cost, or no item has a score and a cost of all of them.

    Notes
    -----
    Only complete cases count: items on which every system has a score and a cost. Left out by name are systems without the
    cost, those whose dollars are 0 throughout, as where no price is known, and those that were measured by another ruler
    (another judge, another version of the task) than most. One bootstrap of items (or clusters) serves all systems, scores and
    costs alike (`evalstats.stats.many.pareto.frontier_shares`). A system is dominated for certain where
    another scores more and costs less, both differences shown over all pairs
    (`evalstats.stats.many.pareto.certain_dominance`).

    Examples
    --------
    >>> from evalstats import from_frame
    >>> rows = [
    ...     {"item": i, "model": m, "score": int(i % 7 < good), "cost_usd": price * (1 + i % 3)}
    ...     for m, good, price in (("small", 3, 0.1), ("large", 6, 1.0), ("slow", 2, 3.0))
    ...     for i in range(70)
    ... ]
    >>> found = frontier(from_frame(pl.DataFrame(rows), item="item", score="score", model="model"))
    >>> [(row.name, row.on_frontier, row.dominated_by) for row in found.rows]
    [('small', True, ()), ('large', True, ()), ('slow', False, ('small', 'large'))]
    """
    _check_options(cost=cost, conf_level=conf_level, seed=seed)
    data = as_data(data).with_metric(metric, higher_is_better=higher_is_better)
    data.need_rows("a frontier of score and cost")
    require_outcomes(data, *(models or ()))
    column = contrast if contrast == "model" else data.factor(contrast)
    chosen, arms, notes = entries_of(data, metric=metric, models=models, contrast=column)
    named = named_clusters(data, cluster)
    field, left_out, told = _field(data, chosen, arms, named, cost, contrast=column)
    field, apart = _measured_alike(field, column, accept)
    clusters, declared = chosen_clusters(data, field.every, cluster, field.runs, contrast=column)
    cases = _complete(field, clusters, cost)
    decides = None
    if not cluster and not set(clusters) - {ITEM_OF_VARIANTS}:
        decides = _in_force(field, cases, clusters, chosen, contrast=column, seed=seed)
    if decides is not None:
        clusters = tuple(without_nested(field.every, (*clusters, decides.column)))
        cases = _complete(field, clusters, cost)
    rows, share_reason = _rows(field, cases, clusters, conf_level, n_resamples, seed, on_progress)
    labels = tuple(label_of(name, data.factor_names()) for name in clusters)
    sign = 1.0 if chosen.higher_is_better else -1.0
    return Frontier(
        benchmark=chosen.benchmark,
        tasks=_tasks(field),
        metric=chosen.name,
        metric_kind=chosen.kind,
        higher_is_better=chosen.higher_is_better,
        direction=chosen.direction,
        scale=chosen.scale,
        score_unit=chosen.score_unit,
        cost=cost,
        cost_unit=next(each.unit for each in OUTCOMES if each.name == cost),
        contrast=contrast,
        conf_level=conf_level,
        rows=tuple(sorted(rows, key=lambda row: (row.cost, -sign * row.estimate, row.name))),
        method=_METHOD[bool(cases.clusters)],
        dominance_method=_DOMINANCE,
        estimand=_estimand(labels),
        n_items=len(cases.scores),
        n_items_any=_n_any(field),
        n_clusters=None if cases.coarsest is None else len(np.unique(cases.coarsest)),
        clusters=labels,
        share_reason=share_reason,
        left_out=(*left_out, *apart),
        n_resamples=n_resamples,
        seed=seed,
        version=toolkit_version(),
        sources=sources_of(data, field.runs),
        notes=(
            *run_notes(data, field.runs),
            *chosen.cautions,
            *field.measured.refusal(),
            *_cautions(field, cases, cost),
            *as_notes("fit", _unseen_tails(rows, cost)),
            *as_notes("fit", _unseen_runaways(rows, cases, cost, conf_level)),
            *field.measured.notes("weakens"),
            *(() if decides is None else (decides.note(),)),
            *as_notes("choice", (*declared, *notes), caution=False),
            *as_notes("left_out", told, caution=False),
            *field.measured.notes("note"),
            *as_notes("source", (text for arm in field.arms for text in arm.remarks), caution=False),
        ),
    )


def _field(
    data: EvalData, metric: Metric, arms: Sequence[System], named: Sequence[str], cost: Cost, *, contrast: str
) -> tuple[_Field, tuple[str, ...], tuple[str, ...]]:
    """Keep the systems that have scores and the cost; say who is left out, and why."""
    rows = pl.concat([arm.rows.with_columns(pl.lit(arm.name).alias(ENTRY)) for arm in arms])
    groups = [name for name in group_columns(rows) if name not in (contrast, ENTRY)]
    key = [name for name in ("task", "item", "variant") if name != contrast]
    names = [arm.name for arm in arms]
    matrix = score_matrix(rows, arm=ENTRY, models=names, factors=sorted({*groups, *named}), key=key)
    values = item_values(matrix, metric, None)
    costs = np.stack([item_amounts(arm.rows, matrix.items)[cost] for arm in arms], axis=1)
    unknown = np.isnan(costs).all(axis=0)
    free = ~unknown & (np.nan_to_num(costs).max(axis=0) == 0) & (cost == "cost_usd")
    lacking, unpriced = ([names[j] for j in np.flatnonzero(which)] for which in (unknown, free))
    told = [f"left out, since no scored row of theirs has {cost}: {', '.join(lacking)}"] if lacking else []
    if unpriced:
        why = "is 0 on every item, as harnesses write where they know no price"
        told.append(f"left out, since their {cost} {why}: {', '.join(unpriced)}")
    kept: list[int] = np.flatnonzero(~(unknown | free)).tolist()
    if len(kept) < 2:
        have = f"{names[kept[0]]!r} alone has" if kept else "no system has"
        raise CannotAnswerError(
            f"a frontier needs two systems with {cost}, and {have} it; a cost can be any of {', '.join(COSTS)}"
        )
    field = _Field(
        data=data,
        arms=tuple(arms[j] for j in kept),
        values=values.ordered(kept),
        costs=costs[:, kept],
        every=all_items(matrix),
        measured=RunKinds(kind=(0,) * len(kept)),
    )
    return field, (*lacking, *unpriced), tuple(told)


def _measured_alike(field: _Field, contrast: str, accept: Collection[str]) -> tuple[_Field, tuple[str, ...]]:
    """Keep the systems that most others were measured like; name the rest."""
    measured = run_kinds(field.data, field.arms, contrast=contrast, accept=accept)
    counts = np.bincount(measured.kind)
    if counts.max() < 2:
        raise CannotAnswerError(
            f"no two systems were measured alike, so that no frontier can be drawn: {measured.why_apart()}"
        )
    most = int(counts.argmax())
    kept = [j for j, kind in enumerate(measured.kind) if kind == most]
    apart = tuple(arm.name for arm, kind in zip(field.arms, measured.kind, strict=True) if kind != most)
    smaller = replace(
        field,
        arms=tuple(field.arms[j] for j in kept),
        values=field.values.ordered(kept),
        costs=field.costs[:, kept],
        measured=measured,
    )
    return smaller, apart


def _complete(field: _Field, clusters: Sequence[str], cost: str) -> _Cases:
    keep, names = field.complete, tuple(arm.name for arm in field.arms)
    if keep.sum() < 2:
        counts = (~np.isnan(field.values.values) & ~np.isnan(field.costs)).sum(axis=0)
        fewest = int(counts.argmin())
        raise CannotAnswerError(
            f"{plural(int(keep.sum()), 'item')} of {_n_any(field):,} have a score and {cost} of {_every(len(names))}; "
            f"{names[fewest]!r} has the fewest, {counts[fewest]:,}: leave it out (models=...)"
        )
    codes = (field.every.codes(name)[keep] for name in clusters)
    metric = field.values.metric
    return _Cases(
        names=names,
        metric=metric,
        scores=field.values.values[keep] * (1.0 if metric.higher_is_better else -1.0),
        costs=field.costs[keep],
        clusters=tuple(each for each in codes if len(np.unique(each)) < len(each)),
        single=field.values.single,
    )


def _rows(  # noqa: PLR0917 - what a line is made of
    field: _Field,
    cases: _Cases,
    clusters: tuple[str, ...],
    conf_level: float,
    n_resamples: int,
    seed: int,
    on_progress: Callable[[int, int], None] | None,
) -> tuple[list[FrontierRow], str | None]:
    """Return a line for every system, and why there are no shares, where there are none."""
    codes, means = cases.coarsest, (cases.scores.mean(axis=0), cases.costs.mean(axis=0))
    few = None if codes is None else too_few_clusters(len(np.unique(codes)))
    found = None
    if few is None:
        found = frontier_shares(
            cases.scores,
            cases.costs,
            clusters=codes,
            unsure=unsure_savings(cases.costs, clusters=cases.clusters, conf_level=conf_level),
            n_resamples=n_resamples,
            seed=seed,
            on_progress=on_progress,
        )
    observed, beaten = on_frontier(*means), beaten_by(*means)
    certain = certain_dominance(
        # A right-or-wrong score stays one when it is turned round.
        1.0 + cases.scores if cases.single and not cases.metric.higher_is_better else cases.scores,
        cases.costs,
        clusters=cases.clusters,
        bounds=(0.0, 1.0) if cases.single else cases.bounds,
        binary=cases.single,
        shares=not cases.metric.is_graded(cases.scores if cases.metric.higher_is_better else -cases.scores),
        conf_level=conf_level,
        seed=seed,
    )
    rows: list[FrontierRow] = []
    for j in range(len(cases.names)):
        share, least = (None, None) if found is None else (float(found.shares[j]), float(found.least[j]))
        standing = _standing(certain[j], least, conf_level)
        rows.append(
            replace(
                _line(field, cases, clusters, conf_level, j),
                on_frontier=bool(observed[j]),
                standing=standing,
                unseen_tail=standing != _standing(certain[j], share, conf_level),
                share=share,
                share_error=None if found is None else float(found.errors[j]),
                beaten_by=_cheapest_first(beaten[j], cases),
                dominated_by=_cheapest_first(certain[j], cases),
            )
        )
    return rows, few


def _line(field: _Field, cases: _Cases, clusters: tuple[str, ...], conf_level: float, j: int) -> FrontierRow:
    """Score and cost of one system on the complete cases."""
    arm, side = field.arms[j], field.values.side(j)
    own = replace(field.every, baseline=side, candidate=side).subset(field.complete)
    score = score_of_arm(
        arm,
        cases.metric,
        field.data,
        clusters=clusters,
        conf_level=conf_level,
        pairs=own,
        side=own.baseline,
        trials=replace(
            trial_design(field.arms, cases.metric, called=label_of("trial", field.data.factor_names())), shared=False
        ),
    )
    cost = log_scale_mean(cases.costs[:, j], cases.clusters, conf_level=conf_level)
    return FrontierRow(
        name=arm.name,
        estimate=float(own.baseline.means().mean()),
        cost=cost.estimate,
        on_frontier=False,
        standing="open",
        conf_low=score.conf_low,
        conf_high=score.conf_high,
        method=score.method,
        reason=score.reason,
        cost_low=cost.conf_low,
        cost_high=cost.conf_high,
        cost_reason=cost.reason,
        n_trials=score.n_trials,
        runs=arm.runs,
    )


def _standing(dominators: Bools, share: float | None, conf_level: float) -> Standing:
    if dominators.any():
        return "dominated"
    return "on the frontier" if share is not None and share >= conf_level else "open"


def _cheapest_first(which: Bools, cases: _Cases) -> tuple[str, ...]:
    means, names = cases.costs.mean(axis=0), cases.names
    return tuple(names[k] for k in sorted(np.flatnonzero(which).tolist(), key=lambda k: (means[k], names[k])))


def _tasks(field: _Field) -> tuple[str, ...]:
    shown = field.every.items.filter(pl.Series(field.complete))
    levels: list[str] = shown["task"].unique().sort().to_list() if "task" in shown.columns else []
    return tuple(name for name in levels if name)


def _every(n: int) -> str:
    return "both systems" if n == 2 else f"all {n} systems"


def _n_any(field: _Field) -> int:
    return int((~np.isnan(field.values.values)).any(axis=1).sum())


def _cautions(field: _Field, cases: _Cases, cost: str) -> list[Note]:
    n, total = len(cases.scores), _n_any(field)
    told = [] if cases.clusters else list(as_notes("few", few_items(n)))
    if n < total:
        text = f"Only {n:,} of {total:,} items have a score and {cost} of {_every(len(cases.names))}"
        told.append(Note(kind="missing", text=f"{text}; the others may be easier or harder, cheaper or dearer"))
    if len(cases.clusters) > 1:
        text = "Items are clustered in several ways; the resamples draw the coarsest clusters alone"
        told.append(Note(kind="choice", text=text, caution=False))
    if cost == "latency_s":
        text = "Time also depends on the machine, its load and what ran beside it"
        told.append(Note(kind="comparability", text=text))
    return told


def _unseen_tails(rows: Sequence[FrontierRow], cost: str) -> list[str]:
    """Name the systems whose place is left open since their lead in cost may rest on rare dear items that were not drawn."""
    names = sorted(row.name for row in rows if row.unseen_tail)
    if not names:
        return []
    places = "its place is" if len(names) == 1 else "their places are"
    lead = f"the lead of {and_list(names, _NAMED)} in {cost_word(cost)}"
    return [f"Rare extreme items could undo {lead}, so {places} left open"]


def _unseen_runaways(rows: Sequence[FrontierRow], cases: _Cases, cost: str, conf_level: float) -> list[str]:
    """Name the systems on whose lead in cost a place rests, where runaway answers that cannot be excluded would undo it."""
    place, score = {name: j for j, name in enumerate(cases.names)}, cases.scores.mean(axis=0)
    risks: dict[str, UnseenRunaways] = {}
    for row in rows:
        j = place[row.name]
        leads = [(place[name], j) for name in row.dominated_by]
        if row.standing == "on the frontier":
            leads.extend((j, k) for k in np.flatnonzero(score >= score[j]).tolist() if k != j)
        for cheap, dear in leads:
            own, other, name = cases.costs[:, cheap], cases.costs[:, dear], cases.names[cheap]
            lead = paired_t(other - own, conf_level=conf_level).conf_low or 0.0
            risk = unseen_runaways(own, other, lead=lead, conf_level=conf_level)
            if risk.within and (name not in risks or risk.undoing < risks[name].undoing):
                risks[name] = risk
    if not risks:
        return []
    nearest = min(risks.values(), key=lambda risk: risk.undoing)
    return [runaway_words(and_list(sorted(risks), _NAMED), nearest, f"undo the lead in {cost_word(cost)}")]


def _in_force(
    field: _Field, cases: _Cases, clusters: tuple[str, ...], metric: Metric, *, contrast: str, seed: int
) -> ItemFactor | None:
    """Return the factor that nobody declared whose levels are the clusters, by the lead of the best system."""
    best = int(cases.scores.mean(axis=0).argmax())
    others = np.delete(cases.scores, best, axis=1).mean(axis=1)
    once = np.ones(len(others), dtype=np.int64)
    sides = [Side(n_scored=once, present=once, total=total) for total in (others, cases.scores[:, best])]
    items = field.every.items.filter(pl.Series(field.complete))
    every = candidate_groups(field.data, metric, group_columns(field.arms[0].rows), contrast=contrast)
    groups = [name for name in every.names if all(arm.rows[name].null_count() < arm.rows.height for arm in field.arms)]
    pairs = Pairs(items=items, baseline=sides[0], candidate=sides[1])
    rows = dependence(pairs, groups, clusters, names=field.data.factor_names(), seed=seed)
    return deciding_factor(pairs, rows)


def _estimand(clusters: tuple[str, ...]) -> str:
    if not clusters or clusters == ("item",):
        return "mean score and mean cost over items, for new items like these (the item is the unit that was sampled)"
    names = " and ".join(clusters)
    return f"mean score and mean cost over items, for new levels of {names} like these ({names} is the unit that was sampled)"


def _check_options(*, cost: str, conf_level: float, seed: int) -> None:
    if cost not in COSTS:
        raise InputError(
            f"cost {cost!r} is unknown; choose one of {', '.join(COSTS)}. A column of your own is taken for one of them with "
            f"{Option('map', cost, of=COSTS[0])}"
        )
    if isinstance(conf_level, str) or not 0.5 < conf_level < 1:
        raise InputError(f"conf_level is {conf_level}; it must lie above 0.5 and below 1, such as 0.95")
    if isinstance(seed, float | str) or seed < 0:
        raise InputError(f"seed is {seed}; it must be a whole number from 0")
