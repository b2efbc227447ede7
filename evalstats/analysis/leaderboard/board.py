"""The systems of a board, on which scale they stand and over what is averaged; and its lines, one for each model and each pair.

The top score is corrected for selection.
"""

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import date
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from evalstats.analysis.design.averages import Average, fixed_by
from evalstats.analysis.design.comparability import ran_to_its_limit
from evalstats.analysis.design.entries import (
    ComparabilityGraph,
    EntryTable,
    comparability_graph,
    least_shared,
    shared_counts,
)
from evalstats.analysis.design.labels import Labels, labels_of, one_cluster_column, pseudo_residual
from evalstats.analysis.design.runs import TrialDesign
from evalstats.analysis.leaderboard.ranks import (
    MIN_DF,
    BoardRuns,
    BoardScores,
    OpenRanks,
    Ranking,
    RankingOptions,
    board_runs,
    separated,
)
from evalstats.analysis.leaderboard.result import TIED, LeaderboardRow, PairRow, PairVerdict, TopScore
from evalstats.analysis.result import estimated, finite
from evalstats.analysis.score.result import Score
from evalstats.analysis.score.score import item_scores, score_of
from evalstats.document.numbers import share_in_percent
from evalstats.errors import CannotAnswerError, Option
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.stats.estimate import IntervalEstimate, normal_quantile
from evalstats.stats.many.common_scale import common_scale, score_interval
from evalstats.stats.many.multiplicity import adjusted
from evalstats.stats.many.pair_table import score_covariance
from evalstats.stats.many.pairwise import PairwiseDifferences
from evalstats.stats.many.winners_curse import shrunken_means, winner_interval
from evalstats.stats.raters.correction import corrected_values
from evalstats.stats.runs import with_runs
from evalstats.stats.stratified import Strata, linearised
from evalstats.stats.unpaired import adjusted_columns
from evalstats.table.items import Bools, Floats, Ints, row_counts
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import System


@record
class Board(EntryTable):
    """All systems with a value, and what their trials are.

    For an `average`, or with `labels`, all items of `table` are scored by every system, and `whole` are the same systems with
    all of their items; else the two are one. `on_scale` are item values on one scale that the lines stand by, where that is
    another than their own and the order was set by it. `apart` are systems of different users or items: each has its own
    rows of the table, and none is missing what others have; `before` is a covariate of the items, at whose mean they then
    stand.
    """

    trials: TrialDesign
    whole: ScoreTable
    average: Average | None = None
    on_scale: Floats | None = None
    apart: bool = False
    before: Floats | None = None
    labels: Labels | None = None

    @classmethod
    def of(cls, entries: EntryTable, trials: TrialDesign, *, apart: bool = False) -> "Board":
        """Make a board of entries."""
        values = {each.name: getattr(entries, each.name) for each in fields(entries)}
        return cls(**values, trials=trials, whole=entries.table, apart=apart)

    @property
    def n_left_out(self) -> int:
        """Items that an average, or a correction by labels, leaves out, since some system has no score there."""
        return len(self.whole) - len(self.table)

    @property
    def single(self) -> bool:
        """Whether every value is one right-or-wrong answer, by its metric and by what is there."""
        table = self.table
        one = table.steps == 1 if table.passes else bool((table.n_scored <= 1).all())
        if self.metric.kind != "binary" or not one:
            return False
        # Column by column: all values at once would be copied.
        own = (table.column(j)[known] for j, known in enumerate(table.scored.T))
        return all(bool(np.isin(each, (0.0, 1.0)).all()) for each in own)

    def graph(self) -> ComparabilityGraph:
        """Return who can be compared with whom."""
        comparable = self.kinds.comparable()
        if not self.apart:
            return comparability_graph(self.table.scored, self.names, comparable)
        # As if everybody had seen everything: which items a system has says nothing here.
        found = comparability_graph(np.ones_like(self.table.scored), self.names, comparable)
        return replace(found, same_items=False, n_items=int(self.table.scored.any(axis=1).sum()), n_common=0, edges=())

    def strata(self) -> Strata | None:
        """Return the levels averaged over; None where every item counts alike."""
        return None if self.average is None else self.average.strata(self.table.items)

    def scores(self, clusters: Sequence[str]) -> BoardScores:
        """Return the values as the statistics take them; a column with a level for every item is no clustering."""
        codes = [self.table.codes(name) for name in clusters]
        strata = self.strata()
        several = self.apart and bool((self.table.scored.sum(axis=1) > 1).any())
        if several and not codes:
            # Of users that several systems met, each is a cluster.
            codes = [np.arange(len(self.table), dtype=np.int64)]
        elif not several:
            codes = [each for each in codes if len(np.unique(each)) < len(each)]
        whole = self.on_scale is None or bool(self.table.scored.all()) or (self.apart and self.before is None)
        linear = strata is not None or self.labels is not None
        single = self.single and not linear and self.before is None
        alike = self.table.merged() if single and not codes and not self.apart else None
        raw, times = (self.values, None) if alike is None else alike
        values = raw if strata is None else self.on_common_scale()
        if self.labels is not None:
            values = self.by_labels(codes)
        return BoardScores(
            values=values,
            times=times,
            clusters=tuple(codes),
            single=single,
            comparable=self.kinds.comparable(),
            raw=raw if linear else None,
            weights=None if strata is None else strata.item_weights,
            runs=self.runs_added(),
            means=None if whole or self.on_scale is None else np.nanmean(self.on_scale, axis=0),
            apart=self.apart,
            before=self.before,
        )

    def runs_added(self) -> BoardRuns | None:
        """Return what full runs add to the variance of each pair; an item's pass^k has no such part."""
        if self.table.passes is not None:
            return None
        strata = self.strata()
        weights = None if strata is None else strata.item_weights
        return board_runs(self.table.items, self.table.systems, self.metric, self.trials, weights=weights)

    def on_common_scale(self) -> Floats:
        """Return item values whose means are scores on the items of all systems of a part; NaN where an item is of another.

        Where every system has every item these are the values themselves, or those of the average.
        """
        strata, values, scored = self.strata(), self.values, self.table.scored
        if self.labels is not None:
            return self.by_labels()
        if self.before is not None:
            return adjusted_columns(values, self.before)
        if self.apart and self.average is not None:
            found = np.full(values.shape, np.nan)
            for j, rows in enumerate(scored.T):
                own = self.average.strata(self.table.items.filter(pl.Series(rows)))
                found[rows, j] = values[rows, j] if own is None else linearised(values[rows, j], own)
            return found
        if self.apart:
            return values
        if strata is not None:
            return linearised(values, strata)
        if scored.all():
            return values
        found = np.full(values.shape, np.nan)
        for part in self.graph().components:
            members: Ints = np.array([self.names.index(name) for name in part], dtype=np.int64)
            here = scored[:, members].any(axis=1)
            own = values[np.ix_(here, members)]
            scaled = common_scale(own, bounds=self.metric.bounds).values if len(members) > 1 else own
            found[np.ix_(here, members)] = scaled
        return found

    def by_labels(self, clusters: Sequence[Ints] = ()) -> Floats:
        """Return values of items whose means are the scores corrected by people's labels."""
        if self.labels is None:
            return self.values
        codes, judged, chances = one_cluster_column(clusters), self.values, self.labels.chances
        columns = [
            corrected_values(f, y, probabilities=chances, clusters=codes, pseudo=pseudo_residual(f, y, self.metric))
            for f, y in zip(judged.T.copy(), self.labels.values.T.copy(), strict=True)
        ]
        return np.column_stack(columns)

    def corrected_by(self, labels: object, clusters: Sequence[str], contrast: str) -> "Board":
        """Correct scores by people's labels, on the items that all systems have."""
        table = self.table.take(self.table.paired())
        if not len(table):
            raise CannotAnswerError("no item has a score of every model, and labels correct those that have")
        return replace(
            self, table=table, labels=labels_of(labels, table, self.data, clusters=clusters, contrast=contrast)
        )

    def averaged_over(self, average: Average) -> "Board":
        """Average over the levels of a factor, on the items that all systems have."""
        if self.apart:
            return self._each_averaged_over(average)
        keep: Bools = self.table.paired()
        if 2 * int(keep.sum()) < len(keep):
            raise CannotAnswerError(
                f"an average over {average.label} needs items that every model has, and only {int(keep.sum()):,} of "
                f"{len(keep):,} are; name models that answered the same items with {Option('models')}"
            )
        groups = tuple(name for name in self.groups if not fixed_by(average, self.table, name))
        return replace(self, table=self.table.take(keep), groups=groups, average=average)

    def _each_averaged_over(self, average: Average) -> "Board":
        """Average each system over its own items; the levels must be the same for all."""
        levels = self.table.items[average.column].cast(pl.String)
        for name, rows in zip(self.names, self.table.scored.T, strict=True):
            gone = sorted({*levels.drop_nulls()} - {*levels.filter(pl.Series(rows))})
            if gone:
                raise CannotAnswerError(
                    f"{name} has no item of {average.label} {gone[0]!r}, so that its average over {average.label} is another; "
                    f"keep the levels that all have with {Option('where')}"
                )
        groups = tuple(name for name in self.groups if not fixed_by(average, self.table, name))
        return replace(self, groups=groups, average=average)

    def best_first(self) -> "Board":
        """Put the systems in the order of the lines: by part of the graph, then by score on one scale, then by name."""
        part = {name: number for number, names in enumerate(self.graph().components) for name in names}
        names, whole = self.names, bool(self.table.scored.all())
        as_they_are = whole and self.average is None and self.labels is None and self.before is None
        on_scale = None if as_they_are else self.on_common_scale()
        # Column by column: all values at once would be copied.
        columns = map(self.table.column, range(len(names))) if on_scale is None else iter(on_scale.T)
        means = [float(np.nanmean(column)) for column in columns]
        sign, digits = -1.0 if self.metric.higher_is_better else 1.0, 12 if whole else 9
        order = sorted(range(len(names)), key=lambda j: (part[names[j]], round(sign * means[j], digits), names[j]))
        table = self.table.select(*order)
        return replace(
            self,
            table=table,
            whole=table if self.whole is self.table else self.whole.select(*order),
            kinds=self.kinds.ordered(order),
            on_scale=None if on_scale is None or (whole and self.before is None) else on_scale[:, order],
            labels=None if self.labels is None else replace(self.labels, values=self.labels.values[:, order]),
        )

    def without_average(self) -> "Board":
        """Return the same systems with all of their items, each counting alike."""
        return replace(self, table=self.whole, average=None, on_scale=None)


# --- the lines ---


_ROUNDING = 1e-12
# The correction takes the covariance as known and the scores as normal.
_MIN_ITEMS, _MIN_DRAWN, _MIN_EITHER = 100, 40, 10

# The score at the top, and shrunken scores in column order, None where there are none.
Correction: TypeAlias = tuple[TopScore | None, tuple[float | None, ...]]


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
    trials = replace(board.trials, shared=False)

    def scored_on(own: ScoreTable, labels: Labels | None = None) -> Score:
        scores = item_scores(own, clusters, trials, average=board.average, labels=labels)
        return score_of(scores, board.data, asked.conf_level)

    rows: list[LeaderboardRow] = []
    kinds = ("few",) if board.labels is None else ("few", "trust")
    for j, ranks in enumerate(found.ranks.models):
        # What is missing of a pass^k is a value that is not there.
        column = table.select(j)
        lost = ~scored[:, j] if table.passes else column.lost_shares()[:, 0]
        alone = board.apart or ran_to_its_limit(board.data, table.systems[j], int(seen[:, j].sum()))
        items = np.asarray(seen[:, j] if alone else seen[:, part == ranks.part].any(axis=1))
        own = column.take(scored[:, j])
        if board.labels is None:
            score = scored_on(own)
        else:
            own = board.table.select(j)
            score = scored_on(own, replace(board.labels, values=board.labels.values[:, j : j + 1], notes=()))
        on_scale: Score | IntervalEstimate = score
        if board.n_left_out and board.labels is None:
            on_scale = scored_on(board.table.select(j))
        elif board.before is not None or (score.n_items < items.sum() and not board.apart and board.labels is None):
            on_scale = _on_all_items(board, asked, clusters, j, own)
        # The score if all that is missing had scored the lowest, the highest value.
        worst_to_best: list[float] = []
        if not scored[items, j].all() or table.n_lost[items, j].any():
            strata = None if board.average is None else board.average.strata(table.items.filter(pl.Series(items)))
            weights = None if strata is None else strata.item_weights
            worst_to_best = [
                float(np.average(table.filled(end, j)[items, 0], weights=weights)) for end in asked.metric.bounds or ()
            ]
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
                share_missing=float(lost[items].mean()) if items.any() else 0.0,
                missing_low=worst_to_best[0] if worst_to_best else None,
                missing_high=worst_to_best[1] if worst_to_best else None,
                tier=found.tiers[j],
                best_low=found.to_best[j][0],
                best_high=found.to_best[j][1],
                shrunken=shrunken[j],
                runs=score.runs,
                notes=tuple(note for note in score.notes if note.kind in kinds and note.caution),
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
    runs = None if own.passes else trials.spread(replace(own, metric=metric))
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
            few = f"{plural(int(shared[i, j]), 'shared item')}; at least {least_shared(len(board.table))} are needed"
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
    p_holm, p_bh = (adjusted(family.p_for_family, how) for how in ("holm", "bh"))
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
    if small and family.df[k] < MIN_DF:
        return f"the interval rests on fewer than {MIN_DF:g} degrees of freedom"
    if risk is None or not small or not (risk.within & risk.seen)[k]:
        return None
    undoing, possible = (share_in_percent(float(each[k])) for each in (risk.undoing, risk.possible))
    return f"outright failures of the better one on {undoing} of the items would undo it, and the items cannot exclude {possible}"


# --- the winner's curse ---


def corrected(
    scores: BoardScores, asked: RankingOptions, names: Sequence[str], graph: ComparabilityGraph
) -> Correction:
    """Correct the scores of models on the same items for the luck of the draw of items.

    The covariance is that of items, or of the clusters that are fewest. Models that fall into unconnected parts have no
    common mean to be drawn to, and no winner.
    """
    none = (None,) * len(names)
    if not graph.connected:
        return None, none
    estimates = scores.column_means()
    if not scores.comparable.all() or np.isnan(scores.values).any():
        return _uncorrected(estimates, asked, names, "the models did not see the same items"), none
    codes = min(scores.clusters, key=lambda each: len(np.unique(each)), default=None)
    units, least = scores.n_items, _MIN_ITEMS
    if codes is not None:
        units, least = len(np.unique(codes)), _MIN_DRAWN
    if units < least and len(_tied(estimates, asked, names)) < 2:
        what = "items" if codes is None else "clusters"
        few = f"there are {units} {what}, and at least {least} are needed to estimate the noise"
        return _uncorrected(estimates, asked, names, few), none
    top, shrunken = corrected_estimates(
        estimates, score_covariance(scores.values, clusters=codes, times=scores.times), asked, names
    )
    if asked.metric.bounds is not None:
        low, high = asked.metric.bounds
        share = (scores.values[:, int(np.argmax(asked.turned(estimates)))] - low) / (high - low)
        if min(float(scores.each @ share), float(scores.each @ (1.0 - share))) < _MIN_EITHER:
            near = f"it lies within {_MIN_EITHER} items of an end of the scale, where its noise is not normal"
            top = _uncorrected(estimates, asked, names, near)
    return top, shrunken


def corrected_estimates(
    estimates: Floats, covariance: Floats, asked: RankingOptions, names: Sequence[str]
) -> Correction:
    """Do the same for estimates with a known covariance, shape (n_models, n_models)."""
    noise = np.diagonal(covariance)
    flat = [name for name, own in zip(names, noise.tolist(), strict=True) if not own > _ROUNDING * noise.max()]
    shrunken: tuple[float | None, ...] = (None,) * len(names)
    if flat:
        reason = f"the scores of {flat[0]} are all equal, so its noise is not known"
        return _uncorrected(estimates, asked, names, reason), shrunken
    if len(names) > 2:
        shrunken = tuple(shrunken_means(estimates, covariance=covariance).shrunken.tolist())
    best = int(np.argmax(asked.turned(estimates)))
    tied = _tied(estimates, asked, names)
    if len(tied) > 1:
        reason = f"{len(tied)} models share it, so the data picked none of them"
        return _uncorrected(estimates, asked, names, reason), shrunken
    found = winner_interval(asked.turned(estimates), covariance, conf_level=asked.conf_level)
    # The simultaneous interval where the correction is wild, or its interval shorter than the model's own: a near tie moves the
    # corrected score below all that the simultaneous interval holds.
    own = 2.0 * normal_quantile(found.conf_level) * math.sqrt(float(noise[best]))
    wild = not found.projection_low <= found.estimate <= found.projection_high
    if wild or found.conf_high - found.conf_low < own or found.conf_low < found.observed - 3.0 * own:
        found = replace(
            found,
            estimate=found.observed,
            conf_low=found.projection_low,
            conf_high=found.projection_high,
            method="simultaneous (projection)",
            note="the lead is too narrow for a correction of its own"
            if wild
            else "never shorter than the model's own interval",
        )
    ends = asked.turned(np.array([found.estimate, found.conf_low, found.conf_high]))
    ends = np.clip(ends, asked.metric.low, asked.metric.high).tolist()
    top = TopScore(
        name=names[best],
        estimate=float(estimates[best]),
        conf_level=asked.conf_level,
        method=found.method if found.note is None else f"{found.method}: {found.note}",
        corrected=ends[0],
        conf_low=min(ends[1:]),
        conf_high=max(ends[1:]),
        shrunken=shrunken[best],
    )
    return top, shrunken


def _uncorrected(estimates: Floats, asked: RankingOptions, names: Sequence[str], reason: str) -> TopScore:
    """Name the model on top and say why its score is not corrected."""
    best = float(estimates[int(np.argmax(asked.turned(estimates)))])
    name = ", ".join(_tied(estimates, asked, names))
    return TopScore(name=name, estimate=best, conf_level=asked.conf_level, reason=reason)


def _tied(estimates: Floats, asked: RankingOptions, names: Sequence[str]) -> list[str]:
    turned = asked.turned(estimates)
    return [name for name, value in zip(names, turned.tolist(), strict=True) if turned.max() - value <= TIED]


def dated(rows: Sequence[LeaderboardRow], data: EvalData) -> tuple[LeaderboardRow, ...]:
    """Fill in the day of each model: that of its first run, or of its published number."""
    runs = data.runs.select("run", day=pl.col("timestamp").dt.date()).drop_nulls().rows()
    numbers = data.aggregates.select("run", "date").drop_nulls().rows()
    days: dict[str, list[date]] = {}
    for run, day in (*runs, *numbers):
        days.setdefault(run, []).append(day)
    found = [[day for run in row.runs for day in days.get(run, ())] for row in rows]
    return tuple(replace(row, day=min(own, default=None)) for row, own in zip(rows, found, strict=True))
