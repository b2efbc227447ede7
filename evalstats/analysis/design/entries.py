"""The systems of a board: which, who was measured alike, who saw the same items, and their scores on one table.

Those measured alike and with enough shared items can be compared: the comparability graph.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import polars as pl

from evalstats.analysis.design.clusters import candidate_groups, group_columns
from evalstats.analysis.design.comparability import OF_ITEMS, RunDifference, invalidating, recorded_differences
from evalstats.analysis.design.metric import Metric, choose_metric
from evalstats.analysis.design.run_settings import RecordedRuns, Severity
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option, written
from evalstats.grammar import comma_list, plural, quoted_list
from evalstats.options import GivenOptions
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.tables import is_constant
from evalstats.stats.checks import FEW_ITEMS
from evalstats.table.items import HELPER, Bools, Floats, Ints
from evalstats.table.metric import PassKind
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import (
    SeveralRunsError,
    System,
    require_outcomes,
    rows_among,
    rows_named,
    system_of,
)

# The column that names the entry of a row.
ENTRY = f"{HELPER}entry"
# Up to so large a share of the systems can be left out of a board for having several numbers.
FEW_OF_ALL = 0.1
# Two models with fewer items in common than this are not compared, unless there are no more: no method is reliable below it.
MIN_SHARED = FEW_ITEMS
_NAMED = 3
_KEY = ("run", "benchmark", "task", "item", "variant", "trial", "metric", "judge")


@record
class ChosenEntries:
    """What a question about several systems begins with: data, metric, systems, and notes on what was left out.

    `column` is that whose levels are the systems.
    """

    data: EvalData
    metric: Metric
    systems: tuple[System, ...]
    column: str
    notes: tuple[str, ...]


def chosen_entries(data: EvalData | object, asked: GivenOptions, *, purpose: str, least: int = 2) -> ChosenEntries:
    """Take what was given as data, and choose its metric and systems as the options ask.

    `purpose` is what needs rows and at least `least` systems, for errors: "a frontier of score and cost".
    """
    data = as_data(data, asked.names()).with_metric(asked.metric, higher_is_better=asked.higher_is_better)
    data.need_rows(purpose)
    require_outcomes(data, *(asked.models or ()))
    column = data.factor(asked.contrast)
    metric, systems, notes = entries_of(
        data, metric=asked.metric, models=asked.models, contrast=column, least=least, purpose=purpose
    )
    return ChosenEntries(data=data, metric=metric, systems=systems, column=column, notes=notes)


def entries_of(
    data: EvalData,
    *,
    metric: str | None,
    models: Sequence[str] | None,
    contrast: str,
    least: int = 2,
    purpose: str = "a ranking",
    ambiguous: dict[str, SeveralRunsError] | None = None,
) -> tuple[Metric, tuple[System, ...], tuple[str, ...]]:
    """Return the metric, the systems to rank, by name, that have rows of it, and notes on what was left out.

    With `contrast="model"` every distinct system is an entry (a system defaults to its model); a system name that stands for
    several models is one entry for each of them. With any other column, every level of it. Repetitions count as trials only
    where their trial numbers differ. A question needs at least `least` systems: two to rank them, one to ask where it breaks;
    `purpose` says in errors what needs them.
    A system whose runs answered the same items is refused; where nobody named it, there are few such and `ambiguous` is given,
    it goes there instead.
    """
    if models is not None and len(models) < least:
        raise InputError(
            f"models names {plural(len(models), 'system')}; {purpose} {_needs(least)}, and `score` takes one"
        )
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
            f"{purpose} {_needs(least)} systems with {chosen.name!r}; there is {quoted_list(with_rows)} alone: "
            "`score` gives a single system's score"
            if len(with_rows) == 1
            else f"{purpose} {_needs(least)} systems with {chosen.name!r}; there are {len(with_rows)}: "
            f"{quoted_list(with_rows)}"
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


def _needs(least: int) -> str:
    return "needs two" if least == 2 else f"needs at least {least}"


def _parts(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the rows of every entry; where they stand together, as those of a store do, without copying them.

    Elsewhere the columns of one value throughout, which are most, are not copied either.
    """
    stretches = rows[ENTRY].rle().struct.unnest()
    if stretches["value"].n_unique() < stretches.height:
        fixed = {column.name: column for column in rows.iter_columns() if is_constant(column)}
        varying = pl.DataFrame([column for column in rows.iter_columns() if column.name not in fixed])
        parts = varying.partition_by(ENTRY, as_dict=True, include_key=False)
        order = [name for name in rows.columns if name != ENTRY]
        return {
            str(entry): pl.DataFrame([fixed[name].head(part.height) if name in fixed else part[name] for name in order])
            for (entry,), part in parts.items()
        }
    bare = rows.drop(ENTRY)
    ends = stretches["len"].cum_sum()
    spans = zip(stretches["value"], ends - stretches["len"], stretches["len"], strict=True)
    return {name: bare.slice(begin, length) for name, begin, length in spans}


def entry_of(arms: Sequence[System], name: str) -> str:
    """Return the entry that a name means: its own name, that of the run or model that it alone holds, or the end of one."""
    names = [arm.name for arm in arms]
    if name in names:
        return name
    held = [
        arm.name
        for arm in arms
        if arm.name.endswith(f"/{name}")
        or any(name in arm.rows[column].unique().to_list() for column in ("run", "system", "model"))
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
    left_out = (f"{without:,} of {found.height:,} rows have no level of {contrast} and are dropped",) if without else ()
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


# --- who was measured alike ---


@record
class EntryDifference:
    """One thing in which the runs of some systems differ from those of another, the reference.

    `explanation` is that of the first of them, a clause without a full stop; `alike` is whether it is the same for all.
    Severities are those of `RunDifference`.

    Attributes
    ----------
    setting, severity
        The setting that differs, and how much that matters.
    reference
        The system that the others differ from.
    """

    setting: str
    severity: Severity
    reference: str
    models: tuple[str, ...]
    explanation: str
    alike: bool = True

    def __str__(self) -> str:
        if self.setting == "unrecorded":
            return self.explanation
        so = "" if self.alike else f" (so for {self.models[0]}, and likewise for the rest)"
        return f"{comma_list(self.models, _NAMED)} against {self.reference}: {self.explanation}{so}"


@record
class RunKinds:
    """Who was measured alike: the number of every system's kind, and all differences that are known.

    `apart` are the settings that set the kinds apart; empty where there is one kind.
    """

    kind: tuple[int, ...]
    differences: tuple[EntryDifference, ...] = ()
    apart: tuple[str, ...] = ()

    def comparable(self) -> Bools:
        """Return which two systems may be compared, shape (n_models, n_models)."""
        kinds = np.array(self.kind)
        return np.asarray(kinds[:, np.newaxis] == kinds, dtype=np.bool_)

    def notes(self, severity: Severity) -> tuple[Note, ...]:
        """Return the differences of one severity: remarks where that is "note", else cautions."""
        texts = [str(each) for each in self.differences if each.severity == severity]
        return tuple(Note(kind="comparability", text=text, caution=severity != "note") for text in texts)

    def refusal(self) -> tuple[Note, ...]:
        """Return why some are not compared with others, and how to declare that the difference is intended."""
        if not self.apart:
            return ()
        text = f"Models whose runs differ in {' or '.join(self.apart)} are not compared with one another"
        remedy = ("Where the difference is intended, declare it: ", Option("accept", tuple(self.apart)))
        return (*self.notes("invalid"), Note(kind="comparability", text=text, remedy=remedy))

    def why_apart(self) -> str:
        """Return the refusal as a clause, for an error."""
        return ". ".join(part for note in self.refusal() for part in (note.text, written(note.remedy)) if part)

    def ordered(self, order: Sequence[int]) -> "RunKinds":
        """Put the systems in another order."""
        return replace(self, kind=tuple(self.kind[j] for j in order))


def run_kinds(
    data: EvalData,
    systems: Sequence[System],
    *,
    contrast: str,
    accept: Collection[str],
    reference: int = 0,
    apart: bool = False,
) -> RunKinds:
    """Compare what is recorded of the systems' runs, and gather those measured alike; `reference` is of kind 0.

    Systems that are `apart` have different items by design.
    """
    of_items = OF_ITEMS if apart else ("items",)
    firsts: list[int] = []
    kind = [0] * len(systems)
    recorded = [RecordedRuns.of(data, system.runs, system.rows) for system in systems]
    seen: list[tuple[str, str, RunDifference]] = []
    for j in (reference, *(j for j in range(len(systems)) if j != reference)):
        for number, first in enumerate(firsts):
            # Which items a system has is the comparability graph's matter, in full.
            pair = recorded[first], recorded[j]
            found = recorded_differences(data, *pair, contrast=contrast, accept=accept, leave_out=of_items)
            invalid = [each for each in found if each.severity == "invalid"]
            seen.extend((systems[first].name, systems[j].name, each) for each in (invalid or found))
            if not invalid:
                kind[j] = number
                break
        else:
            kind[j] = len(firsts)
            firsts.append(j)
    grave = invalidating([each for *_, each in seen]) if len(firsts) > 1 else ()
    return RunKinds(kind=tuple(kind), differences=_gathered(seen), apart=grave)


def _gathered(seen: Sequence[tuple[str, str, RunDifference]]) -> tuple[EntryDifference, ...]:
    """Say of several systems at once that they differ from one in the same setting."""
    of_setting: dict[tuple[str, str, Severity], list[tuple[str, str]]] = {}
    for reference, name, each in seen:
        # That nothing is recorded is said once, whoever was looked at.
        if each.setting == "unrecorded" and any(
            setting == "unrecorded" and (reference, severity) != (other, each.severity)
            for other, setting, severity in of_setting
        ):
            continue
        key = (reference, each.setting, each.severity)
        of_setting.setdefault(key, []).append((name, each.explanation))
    return tuple(
        EntryDifference(
            setting=setting,
            severity=severity,
            reference=reference,
            models=tuple(name for name, _ in each),
            explanation=each[0][1],
            alike=len({text for _, text in each}) == 1,
        )
        for (reference, setting, severity), each in of_setting.items()
    )


# --- who saw the same items ---


@record
class SharedItems:
    """How many items two models, or two groups of models that each saw the same items, have in common.

    Attributes
    ----------
    compared
        Whether these are enough to compare the two.
    """

    first: str
    second: str
    n_items: int
    compared: bool


@record
class ItemGroup:
    """Models that were scored on exactly the same items, and measured alike."""

    models: tuple[str, ...]
    n_items: int


@record
class ComparabilityGraph:
    """The comparability graph: models are its points, enough shared items (`min_shared`) its lines.

    Of the items, at least one model was scored on `n_items`, every one on `n_common`. `components` are models that are
    connected, directly or through others, the largest part first; `groups` were scored on exactly the same items, and `edges`
    say how many items two groups share.

    Attributes
    ----------
    same_items
        Whether all models were scored on the same items.
    """

    same_items: bool
    n_items: int
    n_common: int
    min_shared: int
    components: tuple[tuple[str, ...], ...]
    groups: tuple[ItemGroup, ...]
    edges: tuple[SharedItems, ...]

    @property
    def connected(self) -> bool:
        """Whether every model is connected to every other."""
        return len(self.components) == 1


def comparability_graph(scored: Bools, names: Sequence[str], comparable: Bools | None = None) -> ComparabilityGraph:
    """Draw the comparability graph of models that were scored on some items each (`scored`, shape (n_items, n_models)).

    `comparable` tells which two models may be compared at all, shape (n_models, n_models), an equivalence; None where all may.

    >>> seen = np.zeros((40, 3), dtype=bool)
    >>> seen[:20, :2] = seen[20:, 2] = True
    >>> found = comparability_graph(seen, ["a", "b", "c"])
    >>> found.components, [(edge.first, edge.second, edge.n_items) for edge in found.edges]
    ((('a', 'b'), ('c',)), [('a', 'c', 0)])
    """
    shared = shared_counts(scored)
    linked = shared >= least_shared(len(scored))
    if comparable is not None:
        linked &= comparable
    parts: dict[int, list[str]] = {}
    for name, part in zip(names, components(linked).tolist(), strict=True):
        parts.setdefault(part, []).append(name)
    # Models with the same column that are compared with the same others, in the order of their first.
    alike: dict[bytes, list[int]] = {}
    for j in range(scored.shape[1]):
        alike.setdefault(np.packbits(np.append(scored[:, j], linked[:, j])).tobytes(), []).append(j)
    groups = list(alike.values())
    return ComparabilityGraph(
        same_items=bool((scored == scored[:, :1]).all()),
        n_items=int(scored.any(axis=1).sum()),
        n_common=int(scored.all(axis=1).sum()),
        min_shared=least_shared(len(scored)),
        components=tuple(sorted(map(tuple, parts.values()), key=len, reverse=True)),
        groups=tuple(
            ItemGroup(models=tuple(names[j] for j in group), n_items=int(shared[group[0], group[0]]))
            for group in groups
        ),
        edges=tuple(
            SharedItems(
                first=names[one],
                second=names[other],
                n_items=int(shared[one, other]),
                compared=bool(linked[one, other]),
            )
            for i, (one, *_) in enumerate(groups)
            for other, *_ in groups[i + 1 :]
        ),
    )


def shared_counts(scored: Bools, n_items: int | None = None) -> Ints:
    """Return how many items every two models were both scored on, shape (n_models, n_models); all of `n_items` at most."""
    if scored.all():
        return np.full((scored.shape[1],) * 2, len(scored) if n_items is None else n_items, dtype=np.int64)
    # In float64, where the product runs in BLAS; counts stay exact below 2^53.
    seen = scored.astype(np.float64)
    return np.rint(seen.T @ seen).astype(np.int64)


def least_shared(n_items: int) -> int:
    """Return how many items two models must share to be compared: all of them on a board of few, at least two.

    >>> [least_shared(n_items) for n_items in (1, 5, 400)]
    [2, 5, 10]
    """
    return max(2, min(MIN_SHARED, n_items))


def components(linked: Bools) -> Ints:
    """Return the connected component of every point, numbered in the order of their first points."""
    joined = linked | linked.T | np.eye(len(linked), dtype=np.bool_)
    first = np.arange(len(linked))
    # The first point that each reaches; every round reaches twice as far.
    while True:
        reached = np.where(joined, first, len(first)).min(axis=1, initial=len(first))
        reached = reached[reached]
        if np.array_equal(reached, first):
            return np.unique(first, return_inverse=True)[1].astype(np.int64)
        first = reached


# --- their scores ---


@record
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
    apart: bool = False,
) -> EntryTable:
    """Count and sum the scores of all systems; one without a single value stands apart.

    `named` are columns that the user named; at the `reference` the runs of the others are held first. An item with fewer than
    k scored trials of a system has no pass^k there and counts as missing, by name. Systems that are `apart` have different items.
    """
    groups = [name for name in group_columns(systems[0].rows) if name != contrast]
    candidates = candidate_groups(data, metric, groups, contrast=contrast)
    table = ScoreTable.of(systems, metric, factors=sorted({*groups, *named}), contrast=contrast)
    notes: tuple[str, ...] = ()
    if passes is not None:
        before, table = table, table.passing(*passes)
        if not table.scored.any():
            most = int(table.n_scored.max(initial=0))
            raise CannotAnswerError(
                f"no item has {plural(passes[1], 'scored trial')}; the most that any has is {most}; to extrapolate, use score"
            )
        notes = _too_few_trials(table, before.scored & ~table.scored, passes[1])
    scored: list[int] = np.flatnonzero(table.scored.any(axis=0)).tolist()
    if len(scored) < 2:
        have = f"only {table.names[scored[0]]!r} has" if scored else "no system has"
        raise CannotAnswerError(f"two systems with scored items are needed, and {have} any of {table.metric.name!r}")
    silent = tuple(system for j, system in enumerate(systems) if j not in scored)
    table = table.select(*scored)
    head = table.names.index(reference) if reference in table.names else 0
    return EntryTable(
        data=data,
        table=table,
        kinds=run_kinds(data, table.systems, contrast=contrast, accept=accept, reference=head, apart=apart),
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
        f"{plural(int(short.sum()), 'item')} with fewer than {k} scored trials of a model are dropped for it "
        f"({plural(int(cells.sum()), 'value')} in all): {', '.join(table.labels(short, _NAMED))}{more}"
    )
    return (words,)


def measured_alike(every: EntryTable, otherwise: str) -> tuple[EntryTable, tuple[str, ...]]:
    """Keep the systems that most others were measured like; name the rest. `otherwise` says what cannot be done without two."""
    counts = np.bincount(every.kinds.kind)
    if counts.max() < 2:
        raise CannotAnswerError(f"no two systems were measured alike, so that {otherwise}: {every.kinds.why_apart()}")
    most = int(counts.argmax())
    kept = [j for j, kind in enumerate(every.kinds.kind) if kind == most]
    apart = tuple(name for name, kind in zip(every.names, every.kinds.kind, strict=True) if kind != most)
    return replace(every, table=every.table.select(*kept)), apart
