"""The entries of a leaderboard: whose rows they are, one value an item, all systems in one table, and what groups the items."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.analysis.design.averages import Average, fixed_by
from evalstats.analysis.design.clusters import candidate_groups, group_columns, with_item_column
from evalstats.analysis.design.comparability import ComparabilityGraph, RunKinds, comparability_graph, run_kinds
from evalstats.analysis.design.metric import Metric, choose_metric
from evalstats.analysis.design.runs import TrialDesign
from evalstats.analysis.leaderboard.pairs import BoardRuns, board_runs
from evalstats.analysis.leaderboard.standings import Scores
from evalstats.analysis.pairs import Bools, Floats, Ints, Pairs, Side, item_labels, pass_metric
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural, quoted_list
from evalstats.schema.data import EvalData
from evalstats.stats.many.common_scale import common_scale
from evalstats.stats.stratified import Strata, linearised
from evalstats.stats.trials import pass_at_k, pass_hat_k
from evalstats.table.items import HELPER, ScoreMatrix, score_matrix
from evalstats.table.metric import PassKind
from evalstats.table.systems import SeveralRunsError, System, rows_among, rows_named, system_of

# The column that names the entry of a row.
ENTRY = f"{HELPER}entry"
# Up to so large a share of the systems can be left out of a board for having several numbers.
FEW_OF_ALL = 0.1
_KEY = ("run", "benchmark", "task", "item", "variant", "trial", "metric", "judge")


def entries_of(
    data: EvalData,
    *,
    metric: str | None,
    models: Sequence[str] | None,
    contrast: str,
    least: int = 2,
    ambiguous: dict[str, SeveralRunsError] | None = None,
) -> tuple[Metric, tuple[System, ...], tuple[str, ...]]:
    """Return the metric, the systems to rank, by name, that have rows of it, and notes on what was left out.

    With `contrast="model"` every distinct system is an entry (a system defaults to its model); a system name that stands for
    several models is one entry for each of them. With any other column, every level of it. Repetitions count as trials only
    where their trial numbers differ. A question needs at least `least` systems: two to rank them, one to ask where it breaks.
    A system whose runs answered the same items is refused; where nobody named it, there are few such and `ambiguous` is given,
    it goes there instead.
    """
    if models is not None and len(models) < least:
        raise InputError(f"models names {plural(len(models), 'system')}; a ranking needs two, and `score` takes one")
    labelled, notes = with_entries(data.outcomes, contrast) if models is None else _named(data, models, contrast)
    chosen = choose_metric(data, labelled, metric, contrast=contrast)
    of_metric = (labelled["benchmark"] == chosen.benchmark) & (labelled["metric"] == chosen.name)
    own = rows_among(labelled, of_metric)
    with_rows: list[str] = own[ENTRY].unique().sort().to_list()
    every = labelled[ENTRY].unique().sort().to_list() if models is None else list(models)
    absent = [name for name in every if name not in set(with_rows)]
    if absent and models is not None:
        raise InputError(
            f"{absent[0]!r} has no {chosen.name!r} on {chosen.benchmark}; those that do are {quoted_list(with_rows)}"
        )
    if absent:
        notes = (
            *notes,
            f"{len(absent):,} of {len(every)} systems have no {chosen.name!r} and are not listed: {quoted_list(absent)}",
        )
    if len(with_rows) < least:
        raise CannotAnswerError(
            f"a ranking needs two systems with {chosen.name!r}; there is {quoted_list(with_rows)} alone: "
            "`score` gives a single system's score"
        )
    parts = _parts(own)
    order = with_rows if models is None else every
    kept: list[System] = []
    refused: dict[str, SeveralRunsError] = {}
    for name in order:
        try:
            kept.append(system_of(parts[name], name, chosen, role="system"))
        except SeveralRunsError as error:
            refused[name] = error
    few = len(refused) <= FEW_OF_ALL * len(order) and len(kept) >= least
    if refused and (models is not None or ambiguous is None or not few):
        error = next(iter(refused.values()))
        raise InputError(
            f"{error}; keep one of them, or make every run an entry of its own with {Option('contrast', 'run')}"
        ) from error
    if ambiguous is not None:
        ambiguous.update(refused)
    return chosen, tuple(kept), notes


def _parts(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the rows of every entry; where they stand together, as those of a store do, without copying them."""
    stretches = rows[ENTRY].rle().struct.unnest()
    if stretches["value"].n_unique() < stretches.height:
        found = rows.partition_by(ENTRY, as_dict=True, include_key=False)
        return {str(name): part for (name,), part in found.items()}
    bare = rows.drop(ENTRY)
    ends = stretches["len"].cum_sum()
    spans = zip(stretches["value"], ends - stretches["len"], stretches["len"], strict=True)
    return {name: bare.slice(begin, length) for name, begin, length in spans}


def entry_of(arms: Sequence[System], name: str) -> str:
    """Return the entry that a name means: its own name, or that of the run or model that it alone holds."""
    names = [arm.name for arm in arms]
    if name in names:
        return name
    held = [
        arm.name
        for arm in arms
        if any(name in arm.rows[column].unique().to_list() for column in ("run", "system", "model"))
    ]
    if len(held) == 1:
        return held[0]
    problem = f"stands for {len(held)} of the systems listed" if held else "is none of the systems listed"
    raise InputError(f"the baseline {name!r} {problem}: {quoted_list(held or names)}")


def with_entries(outcomes: pl.DataFrame, contrast: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Name the entry of every row; rows without a level of the contrast have none and are left out."""
    if contrast == "model":
        system = pl.col("system")
        if outcomes.select((system == pl.col("model")).all()).item():
            return outcomes.with_columns(system.alias(ENTRY)), ()
        several = outcomes.group_by("system").agg(pl.col("model").n_unique()).filter(pl.col("model") > 1)
        names: list[str] = several["system"].sort().to_list()
        both = pl.concat_str("model", pl.lit(" ("), "system", pl.lit(")")).cast(outcomes.schema["system"])
        notes = [f"{name!r} stands for several models, and each is an entry of its own" for name in names]
        return outcomes.with_columns(pl.when(system.is_in(names)).then(both).otherwise(system).alias(ENTRY)), tuple(
            notes
        )
    found = outcomes.with_columns(outcomes[contrast].cast(pl.String).alias(ENTRY))
    without = found[ENTRY].null_count()
    left_out = (
        (f"{without:,} of {found.height:,} rows have no level of {contrast} and are left out",) if without else ()
    )
    return found.filter(pl.col(ENTRY).is_not_null()), left_out


def _named(data: EvalData, names: Sequence[str], contrast: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise InputError(f"{twice!r} is named twice; name every system once")
    parts = [
        rows_named(data.outcomes, name, contrast=contrast, role="system").with_columns(pl.lit(name).alias(ENTRY))
        for name in names
    ]
    rows = pl.concat(parts) if parts else data.outcomes.with_columns(pl.lit("").alias(ENTRY)).clear()
    # Of one system a merged row stands once for each of its scores, which is no second system.
    of_each = rows.select(*_KEY, ENTRY).unique()
    shared = of_each.filter(of_each.select(_KEY).is_duplicated()).sort(*_KEY, ENTRY, nulls_last=True)
    if shared.height:
        raise InputError(
            f"{quoted_list(shared[ENTRY].head(2))} share rows of the run {shared['run'][0]!r}: a system cannot stand in a "
            "leaderboard twice; name runs, systems or models without rows in common"
        )
    return rows, ()


_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemValues:
    """Values of all items under all models, shape (n_items, n_models), NaN where there is none, with the counts behind them.

    `metric` is what a value is: the metric itself, or pass^k or pass@k of it (`wanted`: "hat" or "at", and k), whose values lie
    on `steps` steps from 0 to 1. `notes` name items that were left out.
    """

    metric: Metric
    matrix: ScoreMatrix
    values: Floats
    steps: int | None = None
    wanted: tuple[PassKind, int] | None = None
    notes: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        """Whether every value is one right-or-wrong answer, by its metric and by what is there."""
        if self.metric.kind != "binary":
            return False
        one = self.steps == 1 if self.wanted else bool((self.matrix.n_scored <= 1).all())
        return one and bool(np.isin(self.values[~np.isnan(self.values)], (0.0, 1.0)).all())

    def side(self, j: int) -> Side:
        """Return one model's column as the analyses of one or two systems take it."""
        scored, lost = self.matrix.n_scored[:, j], self.matrix.n_lost[:, j]
        if self.wanted is None:
            return Side(n_scored=scored, present=scored + lost, total=self.matrix.total[:, j])
        has = ~np.isnan(self.values[:, j])
        return Side(
            n_scored=has.astype(np.int64),
            present=(scored + lost > 0).astype(np.int64),
            total=np.where(has, self.values[:, j], 0.0),
            trials=np.where(has, scored, 0),
        )

    def ordered(self, order: Sequence[int]) -> "ItemValues":
        """Put the models in another order."""
        return replace(self, matrix=self.matrix.ordered(order), values=self.values[:, list(order)])

    def subset(self, keep: Bools) -> "ItemValues":
        """Keep some of the items."""
        return replace(self, matrix=self.matrix.subset(keep), values=self.values[keep])

    def pairs(self, j: int) -> Pairs:
        """Return one model's items, those with a value, in the shape that `score` works on."""
        side = self.side(j)
        every = Pairs(items=self.matrix.items, baseline=side, candidate=side, steps=self.steps)
        return every.subset(every.paired)

    def seen(self, members: Bools) -> Bools:
        """Items that some of these models was given, scored or not."""
        given = self.matrix.n_scored[:, members] + self.matrix.n_lost[:, members]
        return np.asarray((given > 0).any(axis=1), dtype=np.bool_)

    def share_missing(self, j: int, items: Bools) -> float:
        """Return the share of the model's scores on `items` that is missing, each item counting once."""
        scored, lost = self.matrix.n_scored[items, j], self.matrix.n_lost[items, j]
        if self.wanted is not None:
            return float(np.isnan(self.values[items, j]).mean()) if items.any() else 0.0
        meant = scored + lost
        share = np.divide(lost, meant, out=np.ones(len(meant)), where=meant > 0)
        return float(share.mean()) if len(share) else 0.0

    def bounds_if_missing(self, j: int, items: Bools, weights: Floats | None = None) -> tuple[float, float] | None:
        """Return the model's score on `items` if all that is missing had scored the lowest, the highest value.

        `weights` are those of the items in the mean, all alike by default. None where nothing is missing, or the metric has no
        bounds.
        """
        low, high = self.metric.low, self.metric.high
        scored, lost = self.matrix.n_scored[items, j], self.matrix.n_lost[items, j]
        values = self.values[items, j]
        if low is None or high is None or not (np.isnan(values).any() or lost.any()):
            return None
        if self.wanted is not None:
            # A trial that is missing may have failed or succeeded, and so may all of an item with too few of them.
            at_worst, at_best = (_passed(scored + lost, total, self.wanted) for total in self._totals(j, items))
            worst, best = np.where(np.isnan(at_worst), 0.0, at_worst), np.where(np.isnan(at_best), 1.0, at_best)
            return float(np.average(worst, weights=weights)), float(np.average(best, weights=weights))
        side = self.side(j)
        expected = max(1, int((self.matrix.n_scored + self.matrix.n_lost).max(initial=0)))
        ends = (side.filled(end, expected)[items] for end in (low, high))
        worst_mean, best_mean = (float(np.average(each, weights=weights)) for each in ends)
        return worst_mean, best_mean

    def _totals(self, j: int, items: Bools) -> tuple[Floats, Floats]:
        total: Floats = np.rint(self.matrix.total[items, j]).astype(np.float64)
        return total, (total + self.matrix.n_lost[items, j]).astype(np.float64)


def item_values(matrix: ScoreMatrix, metric: Metric, wanted: tuple[PassKind, int] | None) -> ItemValues:
    """Reduce the trials of every item to one value.

    An item with fewer than k scored trials of a model has no pass^k there and counts as missing, by name.
    """
    matrix = matrix.with_absent_trials()
    if wanted is None:
        return ItemValues(metric=metric, matrix=matrix, values=matrix.means())
    kind, k = wanted
    passing = pass_metric(metric, kind, k)
    if not np.allclose(matrix.total, np.rint(matrix.total)):
        raise InputError("pass^k and pass@k need right-or-wrong trials; some rows hold shares of several trials")
    values = _passed(matrix.n_scored, np.rint(matrix.total), wanted)
    if np.isnan(values).all():
        most = int(matrix.n_scored.max(initial=0))
        raise CannotAnswerError(f"no item has {plural(k, 'scored trial')}; the most that any has is {most}")
    trials = int(matrix.n_scored[~np.isnan(values)].min())
    steps = math.comb(trials, k)
    return ItemValues(
        metric=passing if steps > 1 else replace(passing, kind="binary"),
        matrix=matrix,
        values=values,
        steps=steps,
        wanted=wanted,
        notes=_left_out(matrix, values, k),
    )


def _passed(trials: Ints, successes: Floats, wanted: tuple[PassKind, int]) -> Floats:
    """Return pass^k or pass@k of every cell; NaN where it has fewer than k trials."""
    kind, k = wanted
    of = pass_hat_k if kind == "hat" else pass_at_k
    enough = trials >= k
    values = np.full(trials.shape, np.nan)
    if enough.any():
        values[enough] = of(trials[enough], successes[enough].astype(np.int64), k)
    return values


def _left_out(matrix: ScoreMatrix, values: Floats, k: int) -> tuple[str, ...]:
    cells = matrix.scored & np.isnan(values)
    short: Bools = np.asarray(cells.any(axis=1), dtype=np.bool_)
    if not short.any():
        return ()
    one = short.astype(np.int64)
    side = Side(n_scored=one, present=one, total=np.zeros(len(one)))
    names = ", ".join(item_labels(Pairs(items=matrix.items, baseline=side, candidate=side), short, _NAMED))
    more = f" and {short.sum() - _NAMED:,} more" if short.sum() > _NAMED else ""
    words = (
        f"{plural(int(short.sum()), 'item')} with fewer than {k} scored trials of a model are left out for it "
        f"({plural(int(cells.sum()), 'value')} in all): {names}{more}"
    )
    return (words,)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryTable:
    """The systems that have scores (`arms`), in the order of their lines, and the values of all items under each.

    `every` holds the items of any of them, in the shape that groupings work on; `groups` names the columns that describe items
    and may group them, `ungrouped` says which only just do not. `silent` are systems without a single scored item. For an
    `average` all items are scored by every system, and `whole` are the same systems with all of their items. `common` are
    item values on one scale, set once the systems stand in the order of their means. `trials` says what the systems' trials are.
    """

    data: EvalData
    arms: tuple[System, ...]
    values: ItemValues
    every: Pairs
    measured: RunKinds
    silent: tuple[System, ...]
    groups: tuple[str, ...]
    trials: TrialDesign
    ungrouped: tuple[str, ...] = ()
    average: Average | None = None
    whole: "EntryTable | None" = None
    common: Floats | None = None

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

    def on_scale(self) -> Floats:
        """Return the item values on one scale that the lines stand by."""
        return self.on_common_scale() if self.common is None else self.common

    def graph(self) -> ComparabilityGraph:
        """Return who can be compared with whom."""
        return comparability_graph(self.scored, self.names, self.measured.comparable())

    def place(self, name: str) -> int:
        """Return the column of a system."""
        if name not in self.names:
            raise CannotAnswerError(
                f"{name!r} has no scored item of {self.values.metric.name!r}, so nothing can be compared with it"
            )
        return self.names.index(name)

    def scores(self, clusters: Sequence[str]) -> Scores:
        """Return the values as the statistics take them; a column with a level for every item is no clustering."""
        codes = [self.every.codes(name) for name in clusters]
        strata, raw = self.strata(), self.values.values
        return Scores(
            values=raw if strata is None else linearised(raw, strata),
            clusters=tuple(each for each in codes if len(np.unique(each)) < len(each)),
            single=self.values.single and strata is None,
            allowed=self.measured.comparable(),
            raw=None if strata is None else raw,
            weights=None if strata is None else strata.item_weights,
            runs=self.board_runs(),
            means=None if self.common is None or self.scored.all() else np.nanmean(self.common, axis=0),
        )

    def board_runs(self) -> BoardRuns | None:
        """Return what full runs add to the variance of each pair; an item's pass^k has no such part."""
        if self.values.wanted is not None:
            return None
        strata = self.strata()
        weights = None if strata is None else strata.item_weights
        return board_runs(self.every.items, self.arms, self.values.metric, self.trials, weights=weights)

    def strata(self) -> Strata | None:
        """Return the levels averaged over; None where every item counts alike."""
        return None if self.average is None else self.average.strata(self.every.items)

    def on_common_scale(self) -> Floats:
        """Return item values whose means are scores on the items of all systems of a part; NaN where an item is of another.

        Where every system has every item these are the values themselves, or those of the average.
        """
        strata, values = self.strata(), self.values.values
        if strata is not None:
            return linearised(values, strata)
        found, names = np.full(values.shape, np.nan), self.names
        for part in self.graph().components:
            members: Ints = np.array([names.index(name) for name in part], dtype=np.int64)
            here = self.scored[:, members].any(axis=1)
            own = values[np.ix_(here, members)]
            on_scale = common_scale(own, bounds=self.values.metric.bounds).values if len(members) > 1 else own
            found[np.ix_(here, members)] = on_scale
        return found

    @property
    def n_left_out(self) -> int:
        """Items that an average leaves out, since some system has no score there."""
        return 0 if self.whole is None else len(self.whole.values.values) - len(self.values.values)

    def averaged_over(self, average: Average) -> "EntryTable":
        """Average over the levels of a factor, on the items that all systems have."""
        keep: Bools = np.asarray(self.scored.all(axis=1), dtype=np.bool_)
        if 2 * int(keep.sum()) < len(keep):
            raise CannotAnswerError(
                f"an average over {average.label} needs items that every model has, and only {int(keep.sum()):,} of "
                f"{len(keep):,} are; name models that answered the same items with {Option('models')}"
            )
        return replace(
            self,
            values=self.values.subset(keep),
            every=self.every.subset(keep),
            groups=tuple(name for name in self.groups if not fixed_by(average, self.every, name)),
            average=average,
            whole=replace(self, average=average),
        )

    def best_first(self) -> "EntryTable":
        """Put the systems in the order of the lines: by part of the graph, then by score on one scale, then by name."""
        part = {name: number for number, names in enumerate(self.graph().components) for name in names}
        common = self.on_common_scale()
        means = np.nanmean(common, axis=0)
        sign = -1.0 if self.values.metric.higher_is_better else 1.0
        names, digits = self.names, 12 if self.scored.all() else 9
        order = sorted(range(len(names)), key=lambda j: (part[names[j]], round(sign * means[j], digits), names[j]))
        return replace(self, common=common).ordered(order)

    def ordered(self, order: Sequence[int]) -> "EntryTable":
        """Put the systems in another order."""
        return replace(
            self,
            arms=tuple(self.arms[j] for j in order),
            values=self.values.ordered(order),
            measured=self.measured.ordered(order),
            whole=None if self.whole is None else self.whole.ordered(order),
            common=None if self.common is None else self.common[:, list(order)],
        )


def entry_table(
    data: EvalData,
    metric: Metric,
    arms: Sequence[System],
    named: Sequence[str],
    wanted: tuple[PassKind, int] | None,
    *,
    contrast: str,
    accept: Collection[str] = (),
    baseline: str | None = None,
    trials: TrialDesign | None = None,
) -> EntryTable:
    """Reduce the rows of all systems to item values; a system without a single one stands apart.

    `named` are columns that the user named as clusters; at the `baseline` the others are looked at first.
    """
    rows = pl.concat([arm.rows.with_columns(pl.lit(arm.name).cast(pl.Categorical).alias(ENTRY)) for arm in arms])
    groups = [name for name in group_columns(rows) if name not in (contrast, ENTRY)]
    candidates = candidate_groups(data, metric, groups, contrast=contrast)
    key = [name for name in ("task", "item", "variant") if name != contrast]
    names = [arm.name for arm in arms]
    matrix = score_matrix(rows, arm=ENTRY, models=names, factors=sorted({*groups, *named}), key=key)
    every = all_items(matrix)
    matrix = replace(matrix, items=every.items)
    values = item_values(matrix, metric, wanted)
    scored: list[int] = np.flatnonzero(~np.isnan(values.values).all(axis=0)).tolist()
    if len(scored) < 2:
        have = f"only {names[scored[0]]!r} has" if scored else "no system has"
        raise CannotAnswerError(
            f"a ranking needs two systems with scored items, and {have} any of {values.metric.name!r}"
        )
    kept = tuple(arms[j] for j in scored)
    head = next((j for j, arm in enumerate(kept) if arm.name == baseline), 0)
    return EntryTable(
        data=data,
        arms=kept,
        values=values.ordered(scored),
        every=every,
        measured=run_kinds(data, kept, contrast=contrast, accept=accept, reference=head),
        silent=tuple(arm for j, arm in enumerate(arms) if j not in scored),
        groups=candidates.names,
        trials=trials or TrialDesign(role="draws"),
        ungrouped=candidates.notes,
    )


def all_items(matrix: ScoreMatrix) -> Pairs:
    """Return the items of any system as one side: what groups them does not depend on the system."""
    scored = matrix.n_scored.sum(axis=1)
    side = Side(n_scored=scored, present=scored + matrix.n_lost.sum(axis=1), total=matrix.total.sum(axis=1))
    return with_item_column(Pairs(items=matrix.items, baseline=side, candidate=side))
