"""Which systems are looked at: two that are named, or the entries of a board, with their scores on one table."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import polars as pl

from evalstats.analysis.design.clusters import candidate_groups, group_columns
from evalstats.analysis.design.comparability import RunKinds, run_kinds
from evalstats.analysis.design.metric import Metric, choose_metric
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural, quoted_list
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.table.items import HELPER, Bools, Floats
from evalstats.table.metric import PassKind
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import (
    SeveralRunsError,
    System,
    refuse_same_rows,
    rows_among,
    rows_named,
    shared_benchmarks,
    system_of,
)

# The column that names the entry of a row.
ENTRY = f"{HELPER}entry"
# Up to so large a share of the systems can be left out of a board for having several numbers.
FEW_OF_ALL = 0.1
_KEY = ("run", "benchmark", "task", "item", "variant", "trial", "metric", "judge")


def both_systems(
    data: EvalData, baseline: str, candidate: str, *, metric: str | None, contrast: str, plan: Plan | None = None
) -> tuple[Metric, System, System]:
    """Return the metric of two named systems, on the benchmarks that they share, and both with their rows of it.

    A plan may declare the metric of the one benchmark that they share.
    """
    names = (baseline, candidate)
    first = rows_named(data.outcomes, baseline, contrast=contrast, role="baseline")
    second = rows_named(data.outcomes, candidate, contrast=contrast, role="candidate")
    refuse_same_rows(first, second, names)
    shared = shared_benchmarks(first, second, names)
    if metric is None and plan is not None and len(shared) == 1:
        metric = plan.primary_for(shared[0])
    both = pl.concat([first, second])
    rows = rows_among(both, both["benchmark"].is_in(shared))
    chosen = choose_metric(data, rows, metric, contrast=contrast)
    return (
        chosen,
        system_of(first, baseline, chosen, role="baseline"),
        system_of(second, candidate, chosen, role="candidate"),
    )


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
class EntryTable:
    """The systems that have scores, all on one table, with what is known of them.

    `kinds` says who was measured alike; `silent` are systems without a single scored item. `groups` names the columns that
    describe items and may group them, `ungrouped` says which only just do not. `notes` name items that were left out.
    """

    data: EvalData
    table: ScoreTable
    kinds: RunKinds
    silent: tuple[System, ...] = ()
    groups: tuple[str, ...] = ()
    ungrouped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def metric(self) -> Metric:
        """What a value is, with the cautions about its scale."""
        return cast("Metric", self.table.metric)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems, in column order."""
        return self.table.names

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs behind all systems."""
        return tuple(sorted({run for system in (*self.table.systems, *self.silent) for run in system.runs}))

    @property
    def values(self) -> Floats:
        """Values of all items, shape (n_items, n_systems), NaN where there is none."""
        # Every system in one piece: numpy adds up a column of a table in another order.
        return np.asfortranarray(self.table.values())

    @property
    def counted(self) -> Bools:
        """Items that any system was scored on, shape (n_items,)."""
        return np.asarray((self.table.n_scored > 0).any(axis=1), dtype=np.bool_)

    def place(self, name: str) -> int:
        """Return the column of a system."""
        if name not in self.names:
            raise CannotAnswerError(
                f"{name!r} has no scored item of {self.metric.name!r}, so nothing can be compared with it"
            )
        return self.names.index(name)


def entry_table(
    data: EvalData,
    metric: Metric,
    systems: Sequence[System],
    *,
    contrast: str,
    named: Sequence[str] = (),
    passes: tuple[PassKind, int] | None = None,
    accept: Collection[str] = (),
    reference: str | None = None,
) -> EntryTable:
    """Count and sum the scores of all systems; one without a single value stands apart.

    `named` are columns that the user named; at the `reference` the runs of the others are held first. An item with fewer than
    k scored trials of a system has no pass^k there and counts as missing, by name.
    """
    groups = [name for name in group_columns(systems[0].rows) if name != contrast]
    candidates = candidate_groups(data, metric, groups, contrast=contrast)
    table = ScoreTable.of(systems, metric, factors=sorted({*groups, *named}), contrast=contrast)
    notes: tuple[str, ...] = ()
    if passes is not None:
        before, table = table, table.passing(*passes)
        if not table.scored.any():
            most = int(table.n_scored.max(initial=0))
            raise CannotAnswerError(f"no item has {plural(passes[1], 'scored trial')}; the most that any has is {most}")
        notes = _too_few_trials(table, before.scored & ~table.scored, passes[1])
    scored: list[int] = np.flatnonzero(table.scored.any(axis=0)).tolist()
    if len(scored) < 2:
        have = f"only {table.names[scored[0]]!r} has" if scored else "no system has"
        raise CannotAnswerError(
            f"a ranking needs two systems with scored items, and {have} any of {table.metric.name!r}"
        )
    silent = tuple(system for j, system in enumerate(systems) if j not in scored)
    table = table.select(*scored)
    head = table.names.index(reference) if reference in table.names else 0
    return EntryTable(
        data=data,
        table=table,
        kinds=run_kinds(data, table.systems, contrast=contrast, accept=accept, reference=head),
        silent=silent,
        groups=candidates.names,
        ungrouped=candidates.notes,
        notes=notes,
    )


def _too_few_trials(table: ScoreTable, cells: Bools, k: int) -> tuple[str, ...]:
    short = np.asarray(cells.any(axis=1), dtype=np.bool_)
    if not short.any():
        return ()
    more = f" and {short.sum() - _NAMED:,} more" if short.sum() > _NAMED else ""
    words = (
        f"{plural(int(short.sum()), 'item')} with fewer than {k} scored trials of a model are left out for it "
        f"({plural(int(cells.sum()), 'value')} in all): {', '.join(table.labels(short, _NAMED))}{more}"
    )
    return (words,)
