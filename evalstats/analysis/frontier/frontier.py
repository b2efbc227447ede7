"""Is the better system worth its price? Scores against costs on the same items, and the systems that none beats."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from evalstats import options as opt
from evalstats.analysis.costs import cost_word, item_amounts, log_scale_mean, runaway_words
from evalstats.analysis.design.averages import estimand
from evalstats.analysis.design.clusters import (
    ItemFactor,
    chosen_clusters,
    deciding_factor,
    dependence,
    label_of,
    named_clusters,
    without_nested,
)
from evalstats.analysis.design.different_users import (
    assigned_units,
    persons_as_items,
    rows_may_align,
    split_mismatch,
    unpaired_arms,
)
from evalstats.analysis.design.entries import EntryTable, chosen_entries, entry_table, measured_alike
from evalstats.analysis.design.runs import TrialDesign, trial_design
from evalstats.analysis.frontier.result import Frontier, FrontierRow, Standing
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.score import item_scores, score_of
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, Option
from evalstats.grammar import and_list, plural
from evalstats.record import record
from evalstats.schema.columns import OUTCOMES
from evalstats.schema.data import EvalData
from evalstats.stats.checks import few_items, too_few_clusters
from evalstats.stats.many.pareto import beaten_by, certain_dominance, frontier_shares, unsure_savings
from evalstats.stats.one_sample import UnseenRunaways, unseen_runaways
from evalstats.stats.paired.means import paired_t
from evalstats.stats.unpaired import welch
from evalstats.table.items import ITEM_KEY, ITEM_OF_VARIANTS, Bools, Floats, Ints
from evalstats.table.score_table import ScoreTable, too_much_missing
from evalstats.table.systems import System

COSTS: tuple[opt.Cost, ...] = get_args(opt.Cost)
_NAMED = 3

_METHOD = (
    "bootstrap of items, scores and costs of all systems together",
    "bootstrap of clusters, scores and costs of all systems together",
)
_DOMINANCE = "for every pair the larger p of the two differences, Holm over all pairs"


@record
class _Cases:
    """The items on which every system has a score and a cost (`table`), with costs and scores turned so that more is better.

    Arrays have shape (n_items, n_systems); `n_any` are the items of any system, `n_own` those of each, scored or not. Systems
    that are `apart` have items of their own, and NaN at all others.
    """

    table: ScoreTable
    scores: Floats
    costs: Floats
    clusters: tuple[Ints, ...]
    n_any: int
    n_own: Ints
    apart: bool

    def own(self, j: int) -> Bools:
        """Return the items of one system."""
        return ~np.isnan(self.costs[:, j])

    @property
    def single(self) -> bool:
        """Whether every value is one right-or-wrong answer."""
        alone = self.table.metric.kind == "binary" and bool((self.table.n_scored <= 1).all())
        return alone and bool(np.isin(np.abs(self.scores[~np.isnan(self.scores)]), (0.0, 1.0)).all())

    @property
    def coarsest(self) -> Ints | None:
        """The cluster column with the fewest levels."""
        return min(self.clusters, key=lambda each: len(np.unique(each)), default=None)


@recorded
def frontier(
    data: EvalData | object,
    *,
    metric: opt.Metric = None,
    cost: opt.Spent = "cost_usd",
    cluster: opt.Cluster = None,
    models: opt.Models = None,
    accept: opt.Accept = (),
    conf_level: opt.ConfLevel = 0.95,
    contrast: opt.Contrast = "model",
    paired: opt.Paired = None,
    higher_is_better: opt.HigherIsBetter = None,
    n_resamples: opt.Resamples = 10_000,
    seed: opt.Seed = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> Frontier:
    """Find the systems that score the most for their cost, with the uncertainty of that set.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    metric
        The score; needed only where the benchmark declares no headline.
    cost
        "cost_usd", "latency_s", "output_tokens", "input_tokens" or "n_turns": the less the better.
    cluster, models, accept, contrast, paired, higher_is_better
        As in `leaderboard`; systems of different users stand on all of their own rows with a score and a cost.
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
    >>> import polars as pl
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
    entries = chosen_entries(data, opt.GivenOptions.of(frontier, locals()), purpose="a frontier of score and cost")
    data, column, chosen = entries.data, entries.column, entries.metric
    systems, left_out, without_cost = _with_cost(entries.systems, cost, contrast=column)
    data, systems, of_persons = persons_as_items(data, systems, paired=paired)
    systems, unpaired, numbered = unpaired_arms(data, systems, paired=paired)
    named = named_clusters(data, cluster)
    every = entry_table(data, chosen, systems, contrast=column, named=named, accept=accept, apart=unpaired)
    board, apart = measured_alike(every, "no frontier can be drawn")
    clusters, declared = chosen_clusters(data, board.table, cluster, board.runs, contrast=column, counted=every.counted)
    cases, decides = _cases(board, clusters, cost, apart=unpaired), None
    if not cluster and not unpaired and not set(clusters) - {ITEM_OF_VARIANTS}:
        decides = _deciding_factor(board, cases, clusters, seed=seed)
    if decides is not None:
        clusters = tuple(without_nested(board.table, (*clusters, decides.column)))
        cases = _cases(board, clusters, cost, apart=unpaired)
    trials = trial_design(board.table.systems, chosen, called=label_of("trial", data.factor_names()))
    lines = _lines(cases, data, clusters, replace(trials, shared=False), conf_level)
    rows, share_reason = _placed(
        lines, cases, conf_level=conf_level, n_resamples=n_resamples, seed=seed, on_progress=on_progress
    )
    labels = tuple(label_of(name, data.factor_names()) for name in clusters)
    sign = 1.0 if chosen.higher_is_better else -1.0
    items = cases.table.items
    tasks = items["task"].unique().sort().to_list() if "task" in items.columns else []
    units = assigned_units(data, board.table, clusters) if unpaired else None
    split = None if units is None else split_mismatch(data, board.table, units)
    return Frontier(
        about=chosen.facts,
        different="" if units is None else units.noun,
        tasks=tuple(name for name in tasks if name),
        cost=cost,
        cost_unit=next(each.unit for each in OUTCOMES if each.name == cost),
        contrast=contrast,
        conf_level=conf_level,
        rows=tuple(sorted(rows, key=lambda row: (row.cost, -sign * row.estimate, row.name))),
        method=_METHOD[bool(cases.clusters)],
        dominance_method=_DOMINANCE,
        estimand=estimand("score and mean cost", labels, None),
        n_items=len(items),
        n_items_any=cases.n_any,
        n_clusters=None if cases.coarsest is None else len(np.unique(cases.coarsest)),
        clusters=labels,
        share_reason=share_reason,
        left_out=(*left_out, *apart),
        n_resamples=n_resamples,
        origin=Origin(sources=sources_of(data, board.runs), version=toolkit_version(), seed=seed),
        notes=(
            *run_notes(data, board.runs),
            *chosen.cautions,
            *board.kinds.refusal(),
            *(() if split is None else (split,)),
            *of_persons,
            *_cautions(cases, cost),
            *as_notes("fit", _unseen_tails(rows, cost)),
            *as_notes("fit", _unseen_runaways(rows, cases, cost, conf_level)),
            *board.kinds.notes("weakens"),
            *(() if decides is None else (decides.note(),)),
            *(rows_may_align(board.table) if numbered else ()),
            *as_notes("choice", (*declared, *entries.notes), caution=False),
            *as_notes("left_out", without_cost),
            *board.kinds.notes("note"),
            *as_notes("source", (text for each in board.table.systems for text in each.remarks), caution=False),
        ),
    )


def _with_cost(
    systems: Sequence[System], cost: opt.Cost, *, contrast: str
) -> tuple[list[System], tuple[str, ...], tuple[str, ...]]:
    """Keep the systems that have the cost; name those left out, and say why."""
    kept: list[System] = []
    lacking: list[str] = []
    free: list[str] = []
    for system in systems:
        key = [name for name in ITEM_KEY if name != contrast]
        amounts = item_amounts(system.rows, system.rows.select(key).unique())[cost]
        if np.isnan(amounts).all():
            lacking.append(system.name)
        elif cost == "cost_usd" and np.nanmax(amounts) == 0:
            free.append(system.name)
        else:
            kept.append(system)
    texts = [f"Dropped, since none of their scored rows has {cost}: {', '.join(lacking)}"] if lacking else []
    if free:
        why = "is 0 on every item, as harnesses write if the price is unknown"
        texts.append(f"Dropped, since their {cost} {why}: {', '.join(free)}")
    if len(kept) < 2:
        have = f"{kept[0].name!r} alone has" if kept else "no system has"
        raise CannotAnswerError(
            f"a frontier needs two systems with {cost}, and {have} it; a cost can be any of {', '.join(COSTS)}"
        )
    return kept, (*lacking, *free), tuple(texts)


def _cases(board: EntryTable, clusters: Sequence[str], cost: opt.Cost, *, apart: bool) -> _Cases:
    costs = np.stack([item_amounts(each.rows, board.table.items)[cost] for each in board.table.systems], axis=1)
    both = board.table.scored & ~np.isnan(costs)
    keep: Bools = np.asarray(both.any(axis=1) if apart else both.all(axis=1), dtype=np.bool_)
    n_any, counts = int(board.table.scored.any(axis=1).sum()), both.sum(axis=0)
    if (counts.min() if apart else keep.sum()) < 2:
        fewest = int(counts.argmin())
        leave = f": leave it out, with {Option('models', blank='NAMES')}" if len(counts) > 2 else ""
        whose = f"; if each system has different users or items, add {Option('paired', value=False)}"
        raise CannotAnswerError(
            f"{plural(int(keep.sum()), 'item')} of {n_any:,} have a score and {cost} of {_every(len(counts))}; "
            f"{board.names[fewest]!r} has the fewest, {counts[fewest]:,}{leave}{'' if apart else whose}"
        )
    here = both[keep]
    codes = [board.table.codes(name)[keep] for name in clusters]
    if apart and not codes and (here.sum(axis=1) > 1).any():
        codes = [np.arange(len(here), dtype=np.int64)]  # of users that several systems met, each is a cluster
    elif not apart or here.sum() == len(here):
        codes = [each for each in codes if len(np.unique(each)) < len(each)]
    return _Cases(
        table=board.table.take(keep),
        scores=np.where(here, board.values[keep], np.nan) * (1.0 if board.metric.higher_is_better else -1.0),
        costs=np.where(here, costs[keep], np.nan),
        clusters=tuple(codes),
        n_any=n_any,
        n_own=np.asarray(board.table.seen.sum(axis=0), dtype=np.int64),
        apart=apart,
    )


def _deciding_factor(board: EntryTable, cases: _Cases, clusters: tuple[str, ...], *, seed: int) -> ItemFactor | None:
    """Return the factor that nobody declared whose levels are the clusters, by the lead of the best system."""
    best = int(cases.scores.mean(axis=0).argmax())
    others = np.delete(cases.scores, best, axis=1).mean(axis=1)
    lead = ScoreTable.of_values(np.stack([others, cases.scores[:, best]], axis=1), cases.table.items, board.metric)
    rows = [system.rows for system in board.table.systems]
    groups = [name for name in board.groups if all(each[name].null_count() < each.height for each in rows)]
    return deciding_factor(lead, dependence(lead, groups, clusters, names=board.data.factor_names(), seed=seed))


def _lines(
    cases: _Cases, data: EvalData, clusters: tuple[str, ...], trials: TrialDesign, conf_level: float
) -> list[FrontierRow]:
    """Score and cost of every system on the complete cases, without its place."""
    rows: list[FrontierRow] = []
    for j, system in enumerate(cases.table.systems):
        here = cases.own(j)
        own = cases.table.select(j).take(here)
        score = score_of(item_scores(own, clusters, trials), data, conf_level)
        cost = log_scale_mean(cases.costs[here, j], [each[here] for each in cases.clusters], conf_level=conf_level)
        rows.append(
            FrontierRow(
                name=system.name,
                estimate=float(own.column(0).mean()),
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
                runs=system.runs,
            )
        )
    return rows


def _placed(
    lines: Sequence[FrontierRow],
    cases: _Cases,
    *,
    conf_level: float,
    n_resamples: int,
    seed: int,
    on_progress: Callable[[int, int], None] | None,
) -> tuple[list[FrontierRow], str | None]:
    """Say where every system stands, and why there are no shares, where there are none."""
    codes, metric, single = cases.coarsest, cases.table.metric, cases.single
    fewest = min(len(np.unique(codes[cases.own(j)])) for j in range(len(lines))) if codes is not None else 0
    few = None if codes is None else too_few_clusters(fewest)
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
    means = np.nanmean(cases.costs, axis=0)
    beaten = beaten_by(np.nanmean(cases.scores, axis=0), means)
    bounds, up, here = metric.bounds, metric.higher_is_better, ~np.isnan(cases.scores)
    if bounds is not None and not up:
        bounds = (-bounds[1], -bounds[0])
    certain = certain_dominance(
        # A right-or-wrong score stays one when it is turned round.
        1.0 + cases.scores if single and not up else cases.scores,
        cases.costs,
        clusters=cases.clusters,
        bounds=(0.0, 1.0) if single else bounds,
        binary=single,
        shares=not metric.is_graded(cases.scores[here] if up else -cases.scores[here]),
        conf_level=conf_level,
        seed=seed,
    )

    if cases.apart:
        # What is missing may be what a system gets wrong.
        much = [too_much_missing(1.0 - share) for share in (here.sum(axis=0) / cases.n_own).tolist()]
        certain[much] = certain[:, much] = False

    def cheapest_first(which: Bools) -> tuple[str, ...]:
        places: list[int] = np.flatnonzero(which).tolist()
        return tuple(lines[k].name for k in sorted(places, key=lambda k: (means[k], lines[k].name)))

    def standing(dominators: Bools, share: float | None) -> Standing:
        if dominators.any():
            return "dominated"
        return "on the frontier" if share is not None and share >= conf_level else "open"

    rows: list[FrontierRow] = []
    for j, line in enumerate(lines):
        share, least = (None, None) if found is None else (float(found.shares[j]), float(found.least[j]))
        place = standing(certain[j], least)
        rows.append(
            replace(
                line,
                on_frontier=not beaten[j].any(),
                standing=place,
                unseen_tail=place != standing(certain[j], share),
                share=share,
                share_error=None if found is None else float(found.errors[j]),
                beaten_by=cheapest_first(beaten[j]),
                dominated_by=cheapest_first(certain[j]),
            )
        )
    return rows, few


def _every(n: int) -> str:
    return "both systems" if n == 2 else f"all {n} systems"


def _cautions(cases: _Cases, cost: str) -> list[Note]:
    n, of_each = len(cases.scores), (~np.isnan(cases.costs)).sum(axis=0)
    notes = [] if cases.clusters else list(as_notes("few", few_items(int(of_each.min()))))
    kept, whose = [f"{n:,} of {cases.n_any:,} items"] if n < cases.n_any else [], f" of {_every(cases.scores.shape[1])}"
    if cases.apart:
        counts = zip(cases.table.names, of_each.tolist(), cases.n_own.tolist(), strict=True)
        kept, whose = [f"{has:,} of {own:,} items of {name}" for name, has, own in counts if has < own], ""
    if kept:
        text = f"Only {and_list(kept, _NAMED)} have a score and {cost}{whose}"
        notes.append(Note(kind="missing", text=f"{text}; the others may be easier or harder, cheaper or dearer"))
    if len(cases.clusters) > 1:
        text = "Items are clustered in several ways; the resamples draw the coarsest clusters alone"
        notes.append(Note(kind="choice", text=text, caution=False))
    if cost == "latency_s":
        text = "Time also depends on the machine, its load and what ran beside it"
        notes.append(Note(kind="comparability", text=text))
    return notes


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
    place, score = {name: j for j, name in enumerate(cases.table.names)}, np.nanmean(cases.scores, axis=0)
    risks: dict[str, UnseenRunaways] = {}
    for row in rows:
        j = place[row.name]
        leads = [(place[name], j) for name in row.dominated_by]
        if row.standing == "on the frontier":
            leads.extend((j, k) for k in np.flatnonzero(score >= score[j]).tolist() if k != j)
        for cheap, dear in leads:
            own, other = (cases.costs[cases.own(k), k] for k in (cheap, dear))
            name, same = cases.table.names[cheap], not cases.apart
            found = paired_t(other - own, conf_level=conf_level) if same else welch(own, other, conf_level=conf_level)
            risk = unseen_runaways(own, other, lead=found.conf_low or 0.0, conf_level=conf_level, same_items=same)
            if risk.within and (name not in risks or risk.undoing < risks[name].undoing):
                risks[name] = risk
    if not risks:
        return []
    nearest = min(risks.values(), key=lambda risk: risk.undoing)
    return [runaway_words(and_list(sorted(risks), _NAMED), nearest, f"undo the lead in {cost_word(cost)}")]
