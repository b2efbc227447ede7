"""The systems of a board in the order of its lines: on which scale they stand, over what is averaged, what their runs add."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import polars as pl

from evalstats.analysis.design.averages import Average, fixed_by
from evalstats.analysis.design.entries import ComparabilityGraph, EntryTable, comparability_graph
from evalstats.analysis.design.labels import Labels, labels_of, one_cluster_column, pseudo_residual
from evalstats.analysis.design.runs import TrialDesign
from evalstats.analysis.leaderboard.ranks import BoardRuns, BoardScores, board_runs
from evalstats.errors import CannotAnswerError, Option
from evalstats.record import record
from evalstats.stats.many.common_scale import common_scale
from evalstats.stats.raters.correction import corrected_values
from evalstats.stats.stratified import Strata, linearised
from evalstats.stats.unpaired import adjusted_columns
from evalstats.table.items import Bools, Floats, Ints
from evalstats.table.score_table import ScoreTable


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
        return self.metric.kind == "binary" and one and bool(np.isin(table.values()[table.scored], (0.0, 1.0)).all())

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
        strata, raw = self.strata(), self.values
        several = self.apart and bool((self.table.scored.sum(axis=1) > 1).any())
        if several and not codes:
            # Of users that several systems met, each is a cluster.
            codes = [np.arange(len(self.table), dtype=np.int64)]
        elif not several:
            codes = [each for each in codes if len(np.unique(each)) < len(each)]
        whole = self.on_scale is None or bool(self.table.scored.all()) or (self.apart and self.before is None)
        linear = strata is not None or self.labels is not None
        values = raw if strata is None else self.on_common_scale()
        if self.labels is not None:
            values = self.by_labels(codes)
        return BoardScores(
            values=values,
            clusters=tuple(codes),
            single=self.single and not linear and self.before is None,
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
        on_scale = self.on_common_scale()
        means = np.nanmean(on_scale, axis=0)
        sign = -1.0 if self.metric.higher_is_better else 1.0
        names, digits = self.names, 12 if self.table.scored.all() else 9
        order = sorted(range(len(names)), key=lambda j: (part[names[j]], round(sign * means[j], digits), names[j]))
        table = self.table.select(*order)
        return replace(
            self,
            table=table,
            whole=table if self.whole is self.table else self.whole.select(*order),
            kinds=self.kinds.ordered(order),
            on_scale=None if self.table.scored.all() and self.before is None else on_scale[:, order],
            labels=None if self.labels is None else replace(self.labels, values=self.labels.values[:, order]),
        )

    def without_average(self) -> "Board":
        """Return the same systems with all of their items, each counting alike."""
        return replace(self, table=self.whole, average=None, on_scale=None)
