"""The lines of a leaderboard: one for each model, one for each pair of the family."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from evalstats.analysis.design.entries import MIN_SHARED, shared_counts
from evalstats.analysis.leaderboard.board import Board
from evalstats.analysis.leaderboard.ranks import OpenRanks, Ranking, RankingOptions, separated
from evalstats.analysis.leaderboard.result import TIED, LeaderboardRow, PairRow, PairVerdict
from evalstats.analysis.result import estimated, finite
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import item_scores, score_of
from evalstats.document.numbers import share_in_percent
from evalstats.grammar import plural
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.many.common_scale import score_interval
from evalstats.stats.many.multiplicity import adjusted
from evalstats.stats.many.pairwise import PairwiseDifferences
from evalstats.stats.runs import with_runs
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import System
from evalstats.table.trial_sets import row_counts


def ranked(ranks: OpenRanks) -> dict[str, Any]:
    """Return the fields of a line that say where its model stands."""
    return {
        "rank_low": ranks.low,
        "rank_high": ranks.high,
        "rank_low_marginal": ranks.marginal_low,
        "rank_high_marginal": ranks.marginal_high,
        "rank_reason": ranks.reason,
        "may_be_best": dict(ranks.top).get(1),
        "top": ranks.top,
        "component": ranks.part,
    }


def model_rows(
    board: Board,
    found: Ranking,
    asked: RankingOptions,
    clusters: tuple[str, ...],
    shrunken: Sequence[float | None],
) -> tuple[LeaderboardRow, ...]:
    """Return the line of every model, those without a score at the end."""
    table, part = board.whole, found.ranks.parts
    seen, scored = table.seen, table.scored
    # What is missing of a pass^k is a value that is not there.
    lost = (~scored).astype(np.float64) if table.passes else table.lost_shares()
    ends = () if asked.metric.bounds is None else tuple(table.filled(end) for end in asked.metric.bounds)
    trials = replace(board.trials, shared=False)

    def scored_on(own: ScoreTable) -> Score:
        scores = item_scores(own, clusters, trials, average=board.average)
        return score_of(scores, own, board.data, clusters=clusters, conf_level=asked.conf_level, trials=trials)

    rows: list[LeaderboardRow] = []
    for j, ranks in enumerate(found.ranks.models):
        items = np.asarray(seen[:, part == ranks.part].any(axis=1))
        own = table.select(j).take(scored[:, j])
        score = scored_on(own)
        on_scale: Score | IntervalEstimate = score
        if board.n_left_out:
            on_scale = scored_on(board.table.select(j))
        elif score.n_items < items.sum():
            on_scale = _on_all_items(board, asked, clusters, j, own)
        # The score if all that is missing had scored the lowest, the highest value.
        worst_to_best: list[float] = []
        if not scored[items, j].all() or table.n_lost[items, j].any():
            strata = None if board.average is None else board.average.strata(table.items.filter(pl.Series(items)))
            weights = None if strata is None else strata.item_weights
            worst_to_best = [float(np.average(end[items, j], weights=weights)) for end in ends]
        rows.append(
            LeaderboardRow(
                **estimated(on_scale, p_value=None),
                **ranked(ranks),
                own_mean=None if on_scale is score else score.estimate,
                name=score.name,
                n_items=score.n_items,
                n_trials=score.n_trials,
                n_error=score.n_error,
                n_unscored=score.n_unscored,
                n_clusters=score.n_clusters,
                n_missing=int(items.sum()) - score.n_items,
                share_missing=float(lost[items, j].mean()) if items.any() else 0.0,
                missing_low=worst_to_best[0] if worst_to_best else None,
                missing_high=worst_to_best[1] if worst_to_best else None,
                tier=found.tiers[j],
                best_low=found.to_best[j][0],
                best_high=found.to_best[j][1],
                shrunken=shrunken[j],
                runs=score.runs,
                notes=tuple(note for note in score.notes if note.kind == "few" and note.caution),
            )
        )
    return (*with_ties(rows), *(_silent_row(system, board) for system in board.silent))


def _on_all_items(
    board: Board, asked: RankingOptions, clusters: tuple[str, ...], j: int, own: ScoreTable
) -> IntervalEstimate:
    """Score one model on the items of all of its part, some of which it lacks."""
    on_scale = board.on_common_scale() if board.on_scale is None else board.on_scale
    values, metric = on_scale[:, j], asked.metric
    here = ~np.isnan(values)
    codes = (board.table.codes(name)[here] for name in clusters)
    found = score_interval(
        values[here],
        n_own=len(own) if own.passes or metric.is_graded(own.values()) else int(own.n_scored.sum()),
        bounds=metric.bounds,
        clusters=[each for each in codes if len(np.unique(each)) < len(each)],
        conf_level=asked.conf_level,
    )
    trials = replace(board.trials, shared=False)
    runs = None if own.passes else trials.spread(own.items, own.systems, metric)
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


def _silent_row(system: System, board: Board) -> LeaderboardRow:
    status, counts = system.rows["status"].to_numpy(), row_counts(system.rows)
    n_error, n_unscored = (int(counts[status == name].sum()) for name in ("error", "unscored"))
    lost = n_error + n_unscored
    why = (
        f"no scored row: {plural(lost, 'row')} {'is an error' if lost == 1 else 'are errors'} or unscored"
        if lost == counts.sum()
        else f"no item with a value of {board.metric.name}"
    )
    return LeaderboardRow(
        name=system.name,
        estimate=None,
        reason=why,
        n_items=0,
        n_trials=0,
        n_error=n_error,
        n_unscored=n_unscored,
        n_missing=int(board.table.seen.any(axis=1).sum()),
        rank_reason=why,
        runs=system.runs,
    )


def pair_rows(board: Board, found: Ranking, asked: RankingOptions) -> tuple[PairRow, ...]:
    """Return the line of every pair of the family, those that share too few items included."""
    names, head, n = board.names, asked.baseline, len(board.names)
    compared = {(row.first, row.second): row for row in family_rows(names, found.shown, asked)}
    wanted = [(i, j) for i in range(n) for j in range(i + 1, n)]
    if head is not None:
        wanted = [(j, head) for j in range(n) if j != head]
    shared, comparable = shared_counts(board.table.scored), board.kinds.comparable()
    rows: list[PairRow] = []
    for i, j in wanted:
        row = compared.get((names[i], names[j]))
        if row is None:
            few = f"{plural(int(shared[i, j]), 'shared item')}; at least {MIN_SHARED} are needed"
            row = PairRow(
                first=names[i],
                second=names[j],
                estimate=None,
                n_items=int(shared[i, j]),
                verdict="not compared",
                reason=few if comparable[i, j] else "their runs were measured differently",
            )
        rows.append(row)
    return tuple(rows)


def family_rows(names: Sequence[str], family: PairwiseDifferences, asked: RankingOptions) -> tuple[PairRow, ...]:
    """Return the line of every pair of a family that was compared."""
    apart = separated(family, asked.conf_level)
    p_holm, p_bh = adjusted(family.p_value, "holm"), adjusted(family.p_value, "bh")
    rows: list[PairRow] = []
    pairs: list[tuple[int, int]] = list(zip(family.first.tolist(), family.second.tolist(), strict=True))
    for k, (i, j) in enumerate(pairs):
        estimate = finite(float(family.estimate[k]))
        verdict: PairVerdict = "not separated"
        if apart[k] and estimate is not None:
            verdict = "better" if asked.sign * estimate > 0 else "worse"
        rows.append(
            PairRow(
                first=names[i],
                second=names[j],
                estimate=estimate,
                std_error=finite(float(family.std_error[k])),
                df=finite(float(family.df[k])),
                conf_low=finite(float(family.conf_low[k])),
                conf_high=finite(float(family.conf_high[k])),
                conf_level=family.conf_level,
                method=family.method,
                p_value=finite(float(family.p_value[k])),
                p_adjusted=finite(float(family.p_adjusted[k])),
                p_holm=finite(float(p_holm[k])),
                p_bh=finite(float(p_bh[k])),
                n_items=int(family.n_items[k]) or None,
                n_clusters=None if family.n_clusters is None else int(family.n_clusters[k]),
                separated=bool(apart[k]),
                verdict=verdict,
                reason=None if apart[k] else _kept_open(family, k, estimate),
            )
        )
    return tuple(rows)


def _kept_open(family: PairwiseDifferences, k: int, estimate: float | None) -> str | None:
    """Say why a pair is not separated, where the reason is none that its interval shows."""
    if family.contradicted is not None and family.contradicted[k]:
        return "by the scores on all items the order is the other one"
    if not np.isfinite(family.std_error[k]):
        agree = "the two agree on every item, so no difference is shown"
        return agree if estimate == 0 else "the differences have no spread to judge by"
    risk = family.failures
    small = max(family.p_value[k], family.p_adjusted[k]) <= 1.0 - family.conf_level
    if risk is None or not small or not (risk.within & risk.seen)[k]:
        return None
    undoing, possible = (share_in_percent(float(each[k])) for each in (risk.undoing, risk.possible))
    return f"outright failures of the better one on {undoing} of the items would undo it, and the items cannot exclude {possible}"
