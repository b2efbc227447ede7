"""All systems of a leaderboard with their item values, and what groups the items."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.aggregate.items import ScoreMatrix, score_matrix
from evalstats.analysis.arms import Arm, Metric
from evalstats.analysis.grouping import Average, candidate_groups, fixed_by, group_columns, with_item_column
from evalstats.analysis.leaderboard.comparability import (
    ComparabilityGraph,
    Measured,
    comparability_graph,
    measured_alike,
)
from evalstats.analysis.leaderboard.entries import ENTRY, ItemValues, item_values
from evalstats.analysis.leaderboard.pairs import BoardRuns, board_runs
from evalstats.analysis.leaderboard.standings import Scores
from evalstats.analysis.pairs import Pairs, PassKind, Side
from evalstats.errors import CannotAnswerError
from evalstats.schema.data import EvalData
from evalstats.stats.stratified import Strata, linearised

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryTable:
    """The systems that have scores, in the order of their lines, and the values of all items under each.

    Attributes
    ----------
    arms
        The systems, in column order.
    values
        Their item values.
    every
        The items of any of them, in the shape that groupings work on; `groups` names the columns that describe items
        and may group them, `ungrouped` says which only just do not.
    measured
        Which of them were measured alike.
    silent
        Systems without a single scored item.
    average
        The levels averaged over, where that was asked for: all items are then scored by every system.
    whole
        For an average, the same systems with all of their items: a line shows a system's score on its own items.
    shared_trials
        Whether all models share their trials, as the user says; None leaves it to the labels.
    """

    data: EvalData
    arms: tuple[Arm, ...]
    values: ItemValues
    every: Pairs
    measured: Measured
    silent: tuple[Arm, ...]
    groups: tuple[str, ...]
    ungrouped: tuple[str, ...] = ()
    average: Average | None = None
    whole: "EntryTable | None" = None
    shared_trials: bool | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems, in column order."""
        return tuple(arm.name for arm in self.arms)

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs behind all systems."""
        return tuple(sorted({run for arm in (*self.arms, *self.silent) for run in arm.runs}))

    @property
    def scored(self) -> Bools:
        """Which system has a value on which item, shape (n_items, n_models)."""
        return ~np.isnan(self.values.values)

    def graph(self) -> ComparabilityGraph:
        """Return who can be compared with whom."""
        return comparability_graph(self.scored, self.names, self.measured.allowed())

    def place(self, name: str) -> int:
        """Return the column of a system.

        Raises
        ------
        CannotAnswerError
            If it has no scored item.
        """
        if name not in self.names:
            message = f"{name!r} has no scored item of {self.values.metric.name!r}, so nothing can be compared with it"
            raise CannotAnswerError(message)
        return self.names.index(name)

    def scores(self, clusters: Sequence[str]) -> Scores:
        """Return the values as the statistics take them; a column with a level for every item is no clustering."""
        codes = [self.every.codes(name) for name in clusters]
        strata, raw = self.strata(), self.values.values
        return Scores(
            values=raw if strata is None else linearised(raw, strata),
            clusters=tuple(each for each in codes if len(np.unique(each)) < len(each)),
            single=self.values.single and strata is None,
            allowed=self.measured.allowed(),
            raw=None if strata is None else raw,
            weights=None if strata is None else strata.item_weights,
            runs=self.board_runs(),
        )

    def board_runs(self) -> BoardRuns | None:
        """Return what full runs add to the variance of each pair; an item's pass^k has no such part."""
        if self.values.wanted is not None:
            return None
        strata = self.strata()
        weights = None if strata is None else strata.item_weights
        metric, declared = self.values.metric, self.shared_trials
        return board_runs(self.every.items, self.arms, metric, weights=weights, declared=declared)

    def strata(self) -> Strata | None:
        """Return the levels averaged over; None where every item counts alike."""
        return None if self.average is None else self.average.strata(self.every.items)

    def own_scores(self) -> Floats:
        """Return every system's score on its own items."""
        if self.average is None:
            return np.asarray(np.nanmean(self.values.values, axis=0))
        lines = (self.whole or self).values
        own = [lines.pairs(j) for j in range(len(self.arms))]
        strata = [self.average.strata(each.items) for each in own]
        means = [each.baseline.means() for each in own]
        pairs = zip(means, strata, strict=True)
        return np.array([float(x.mean() if of is None else of.item_weights @ x) for x, of in pairs])

    @property
    def n_left_out(self) -> int:
        """Items that an average leaves out, since some system has no score there."""
        return 0 if self.whole is None else len(self.whole.values.values) - len(self.values.values)

    def averaged_over(self, average: Average) -> "EntryTable":
        """Average over the levels of a factor, on the items that all systems have.

        Raises
        ------
        CannotAnswerError
            If fewer than half of the items are left.
        """
        keep: Bools = np.asarray(self.scored.all(axis=1), dtype=np.bool_)
        if 2 * int(keep.sum()) < len(keep):
            message = (
                f"an average over {average.label} needs items that every model has, and only {int(keep.sum()):,} of "
                f"{len(keep):,} are; name models that answered the same items with --models"
            )
            raise CannotAnswerError(message)
        return replace(
            self,
            values=self.values.subset(keep),
            every=self.every.subset(keep),
            groups=tuple(name for name in self.groups if not fixed_by(average, self.every, name)),
            average=average,
            whole=replace(self, average=average),
        )

    def best_first(self) -> "EntryTable":
        """Put the systems in the order of the lines: by part of the graph, then by score, then by name."""
        part = {name: number for number, names in enumerate(self.graph().components) for name in names}
        means = self.own_scores()
        sign = -1.0 if self.values.metric.higher_is_better else 1.0
        names = self.names
        order = sorted(range(len(names)), key=lambda j: (part[names[j]], round(sign * means[j], 12), names[j]))
        return self.ordered(order)

    def ordered(self, order: Sequence[int]) -> "EntryTable":
        """Put the systems in another order."""
        return replace(
            self,
            arms=tuple(self.arms[j] for j in order),
            values=self.values.ordered(order),
            measured=self.measured.ordered(order),
            whole=None if self.whole is None else self.whole.ordered(order),
        )


def entry_table(
    data: EvalData,
    metric: Metric,
    arms: Sequence[Arm],
    named: Sequence[str],
    wanted: tuple[PassKind, int] | None,
    *,
    contrast: str,
    accept: Collection[str] = (),
    baseline: str | None = None,
) -> EntryTable:
    """Reduce the rows of all systems to item values; a system without a single one stands apart.

    Parameters
    ----------
    named
        Columns that the user named as clusters.
    wanted
        pass^k or pass@k, where that is the question.
    accept
        Settings in which the runs differ on purpose.
    baseline
        The system that the others are looked at against first.

    Raises
    ------
    CannotAnswerError
        If fewer than two systems have a value.
    """
    rows = pl.concat([arm.rows.with_columns(pl.lit(arm.name).alias(ENTRY)) for arm in arms])
    groups = [name for name in group_columns(rows) if name not in (contrast, ENTRY)]
    candidates = candidate_groups(data, metric, groups, contrast=contrast)
    key = [name for name in ("task", "item", "variant") if name != contrast]
    names = [arm.name for arm in arms]
    matrix = score_matrix(rows, arm=ENTRY, models=names, factors=sorted({*groups, *named}), key=key)
    every = _all_items(matrix)
    matrix = replace(matrix, items=every.items)
    values = item_values(matrix, metric, wanted)
    scored: list[int] = np.flatnonzero(~np.isnan(values.values).all(axis=0)).tolist()
    if len(scored) < 2:
        have = f"only {names[scored[0]]!r} has" if scored else "no system has"
        message = f"a leaderboard needs two systems with scored items, and {have} any of {values.metric.name!r}"
        raise CannotAnswerError(message)
    kept = tuple(arms[j] for j in scored)
    head = next((j for j, arm in enumerate(kept) if arm.name == baseline), 0)
    return EntryTable(
        data=data,
        arms=kept,
        values=values.ordered(scored),
        every=every,
        measured=measured_alike(data, kept, contrast=contrast, accept=accept, reference=head),
        silent=tuple(arm for j, arm in enumerate(arms) if j not in scored),
        groups=candidates.names,
        ungrouped=candidates.notes,
    )


def _all_items(matrix: ScoreMatrix) -> Pairs:
    """Return the items of any system as one side: what groups them does not depend on the system."""
    scored = matrix.n_scored.sum(axis=1)
    side = Side(n_scored=scored, present=scored + matrix.n_lost.sum(axis=1), total=matrix.total.sum(axis=1))
    return with_item_column(Pairs(items=matrix.items, baseline=side, candidate=side))
