"""The lines of a leaderboard: one for each model, one for each pair of the family."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.design.comparability import MIN_SHARED, shared_counts
from evalstats.analysis.leaderboard.checks import Correction
from evalstats.analysis.leaderboard.entries import EntryTable
from evalstats.analysis.leaderboard.pairs import adjusted
from evalstats.analysis.leaderboard.result import TIED, LeaderboardRow, PairRow, PairVerdict
from evalstats.analysis.leaderboard.standings import Plan, Standings, separated
from evalstats.analysis.pairs import Floats, Pairs
from evalstats.analysis.result import estimated
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import score_of_arm
from evalstats.document.numbers import share_in_percent
from evalstats.grammar import plural
from evalstats.stats.estimate import Estimate
from evalstats.stats.many.common_scale import score_interval
from evalstats.stats.many.pairwise import PairwiseDifferences
from evalstats.stats.runs import with_runs
from evalstats.table.systems import System
from evalstats.table.trial_sets import row_counts


def model_rows(
    table: EntryTable, found: Standings, plan: Plan, clusters: tuple[str, ...], correction: Correction
) -> tuple[LeaderboardRow, ...]:
    """Return the line of every model, those without a score at the end."""
    part = np.array(found.ranks.part)
    values = (table.whole or table).values
    items = {label: values.seen(part == label) for label in np.unique(part).tolist()}
    rows = [_row(table, found, plan, clusters, correction, j, items[int(part[j])]) for j in range(len(table.arms))]
    return (*with_ties(rows), *(_silent_row(arm, table) for arm in table.silent))


def _row(  # noqa: PLR0917 - what a line is made of
    table: EntryTable,
    found: Standings,
    plan: Plan,
    clusters: tuple[str, ...],
    correction: Correction,
    j: int,
    items: npt.NDArray[np.bool_],
) -> LeaderboardRow:
    lines = table.whole or table
    own = lines.values.pairs(j)
    score = _scored(table, plan, clusters, j, own)
    on_scale = score
    if table.n_left_out:
        on_scale = _scored(table, plan, clusters, j, table.values.pairs(j))
    elif score.n_items < items.sum():
        on_scale = _on_all_items(table, plan, clusters, j, own)
    every = None if table.average is None else table.average.strata(lines.every.subset(items).items)
    bounds = lines.values.bounds_if_missing(j, items, None if every is None else every.item_weights)
    ranks = found.ranks
    top = dict(ranks.top[j])
    return LeaderboardRow(
        **estimated(on_scale, p_value=None),
        own_mean=None if on_scale is score else score.estimate,
        name=score.name,
        n_items=score.n_items,
        n_trials=score.n_trials,
        n_error=score.n_error,
        n_unscored=score.n_unscored,
        n_clusters=score.n_clusters,
        n_missing=int(items.sum()) - score.n_items,
        share_missing=lines.values.share_missing(j, items),
        missing_low=None if bounds is None else bounds[0],
        missing_high=None if bounds is None else bounds[1],
        rank_low=ranks.low[j],
        rank_high=ranks.high[j],
        rank_low_marginal=ranks.marginal_low[j],
        rank_high_marginal=ranks.marginal_high[j],
        rank_reason=ranks.reasons[j],
        may_be_best=top.get(1),
        top=ranks.top[j],
        tier=found.tiers[j],
        best_low=found.best_low[j],
        best_high=found.best_high[j],
        shrunken=correction.shrunken[j],
        runs=score.runs,
        component=ranks.part[j],
        notes=tuple(note for note in score.notes if note.kind == "few" and note.caution),
    )


def _scored(table: EntryTable, plan: Plan, clusters: tuple[str, ...], j: int, own: Pairs) -> Score:
    """Score one model on some of its items, as `score` does."""
    return score_of_arm(
        table.arms[j],
        plan.metric,
        table.data,
        clusters=clusters,
        conf_level=plan.conf_level,
        pairs=own,
        side=own.baseline,
        trials=replace(table.trials, shared=False),
        strata=None if table.average is None else table.average.strata(own.items),
    )


def _on_all_items(table: EntryTable, plan: Plan, clusters: tuple[str, ...], j: int, own: Pairs) -> Estimate:
    """Score one model on the items of all of its part, some of which it lacks."""
    values, metric = table.on_scale()[:, j], plan.metric
    here = ~np.isnan(values)
    codes = (table.every.codes(name)[here] for name in clusters)
    found = score_interval(
        values[here],
        n_own=len(own.items) if metric.is_graded(own.baseline.means()) else int(own.baseline.n_scored.sum()),
        bounds=metric.bounds,
        clusters=[each for each in codes if len(np.unique(each)) < len(each)],
        conf_level=plan.conf_level,
    )
    trials = replace(table.trials, shared=False)
    runs = None if own.baseline.trials is not None else trials.spread(own.items, [table.arms[j]], metric)
    return with_runs(found, runs, low=metric.low, high=metric.high)


def with_ties(rows: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
    """Name the models with the same estimate in the same part."""

    def tied(row: LeaderboardRow) -> tuple[str, ...]:
        return tuple(
            other.name
            for other in rows
            if other is not row
            and other.component == row.component
            and row.estimate is not None
            and other.estimate is not None
            and abs(other.estimate - row.estimate) <= TIED * max(1.0, abs(row.estimate))
        )

    return [replace(row, tied_with=tied(row)) for row in rows]


def _silent_row(arm: System, table: EntryTable) -> LeaderboardRow:
    n_error, n_unscored = (
        int(row_counts(arm.rows.filter(pl.col("status") == status)).sum()) for status in ("error", "unscored")
    )
    lost = n_error + n_unscored
    why = (
        f"no scored row: {plural(lost, 'row')} {'is an error' if lost == 1 else 'are errors'} or unscored"
        if lost == row_counts(arm.rows).sum()
        else f"no item with a value of {table.values.metric.name}"
    )
    return LeaderboardRow(
        name=arm.name,
        estimate=None,
        reason=why,
        n_items=0,
        n_trials=0,
        n_error=n_error,
        n_unscored=n_unscored,
        n_missing=int(table.values.seen(np.ones(len(table.arms), dtype=np.bool_)).sum()),
        rank_reason=why,
        runs=arm.runs,
    )


def pair_rows(table: EntryTable, found: Standings, plan: Plan) -> tuple[PairRow, ...]:
    """Return the line of every pair of the family, those that share too few items included."""
    family = found.shown
    place = {pair: k for k, pair in enumerate(zip(family.first.tolist(), family.second.tolist(), strict=True))}
    n = len(table.arms)
    if plan.baseline is None:
        wanted = [(i, j) for i in range(n) for j in range(i + 1, n)]
    else:
        wanted = [(j, plan.baseline) for j in range(n) if j != plan.baseline]
    shared, allowed = shared_counts(table.scored), table.measured.comparable()
    stepped = adjusted(family.p_value, "holm"), adjusted(family.p_value, "bh")
    apart = separated(family, plan.conf_level)
    names = table.names
    rows: list[PairRow] = []
    for i, j in wanted:
        k = place.get((i, j))
        if k is None:
            rows.append(
                PairRow(
                    first=names[i],
                    second=names[j],
                    estimate=None,
                    n_items=int(shared[i, j]),
                    verdict="not compared",
                    reason=f"{plural(int(shared[i, j]), 'shared item')}; at least {MIN_SHARED} are needed"
                    if allowed[i, j]
                    else "their runs were measured differently",
                )
            )
            continue
        rows.append(pair_row((names[i], names[j]), family, k, stepped, is_apart=bool(apart[k]), sign=plan.sign))
    return tuple(rows)


def pair_row(
    names: tuple[str, str],
    family: PairwiseDifferences,
    k: int,
    stepped: tuple[Floats, Floats],
    *,
    is_apart: bool,
    sign: float,
) -> PairRow:
    """Return the line of one pair; `stepped` holds Holm's and Benjamini-Hochberg's p of the family."""
    estimate = _number(family.estimate[k])
    verdict: PairVerdict = "not separated"
    if is_apart and estimate is not None:
        verdict = "better" if sign * estimate > 0 else "worse"
    return PairRow(
        first=names[0],
        second=names[1],
        estimate=estimate,
        std_error=_number(family.std_error[k]),
        df=_number(family.df[k]),
        conf_low=_number(family.conf_low[k]),
        conf_high=_number(family.conf_high[k]),
        conf_level=family.conf_level,
        method=family.method,
        p_value=_number(family.p_value[k]),
        p_adjusted=_number(family.p_adjusted[k]),
        p_holm=_number(stepped[0][k]),
        p_bh=_number(stepped[1][k]),
        n_items=int(family.n_items[k]) or None,
        n_clusters=None if family.n_clusters is None else int(family.n_clusters[k]),
        separated=is_apart,
        verdict=verdict,
        reason=None if is_apart else _kept_open(family, k, estimate),
    )


def _kept_open(family: PairwiseDifferences, k: int, estimate: float | None) -> str | None:
    """Say why a pair is not separated, where the reason is none that its interval shows."""
    if family.contradicted is not None and family.contradicted[k]:
        return "by the scores on all items the order is the other one"
    if not np.isfinite(family.std_error[k]):
        return _no_spread(estimate)
    risk = family.failures
    small = max(family.p_value[k], family.p_adjusted[k]) <= 1.0 - family.conf_level
    if risk is None or not small or not (risk.within & risk.seen)[k]:
        return None
    shares = (share_in_percent(float(each[k])) for each in (risk.undoing, risk.possible))
    return (
        "outright failures of the better one on {} of the items would undo it, and the items cannot exclude {}".format(
            *shares
        )
    )


def _no_spread(estimate: float | None) -> str:
    if estimate == 0:
        return "the two agree on every item, so no difference is shown"
    return "the differences have no spread to judge by"


def _number(value: float) -> float | None:
    return None if not np.isfinite(value) else float(value)
