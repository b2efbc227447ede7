"""Which models can be compared: who saw enough of the same items, who was measured alike, which numbers are one quantity."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse.csgraph import connected_components

from evalstats.analysis.comparability.comparability import run_comparability
from evalstats.analysis.comparability.rules import RunDifference, Severity
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.pairs import Bools, Ints
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, Option, some_of, written
from evalstats.schema.data import EvalData
from evalstats.schema.plan import check_settings
from evalstats.schema.tables import frame_from_rows
from evalstats.stats.checks import FEW_ITEMS
from evalstats.table.systems import System, listed

# Two models with fewer items in common than this are not compared: no method is reliable below it.
MIN_SHARED = FEW_ITEMS


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedItems:
    """How many items two models, or two groups of models that each saw the same items, have in common."""

    first: str
    second: str
    n_items: int
    compared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemGroup:
    """Models that were scored on exactly the same items, and measured alike."""

    models: tuple[str, ...]
    n_items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparabilityGraph:
    """The comparability graph: models are its points, enough shared items (`min_shared`) its lines.

    `measured_alike` tells that nothing grave sets the runs apart, such as another judge. Of the items, at least one model was
    scored on `n_items`, every one on `n_common`. `components` are models that are connected, directly or through others, the
    largest part first; `groups` were scored on exactly the same items, and `edges` say how many items two groups share.
    """

    same_items: bool
    measured_alike: bool
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


def comparability_graph(scored: Bools, names: Sequence[str], allowed: Bools | None = None) -> ComparabilityGraph:
    """Draw the comparability graph of models that were scored on some items each (`scored`, shape (n_items, n_models)).

    `allowed` tells which two models may be compared at all, shape (n_models, n_models), an equivalence; None where all may.

    >>> seen = np.zeros((40, 3), dtype=bool)
    >>> seen[:20, :2] = seen[20:, 2] = True
    >>> found = comparability_graph(seen, ["a", "b", "c"])
    >>> found.components, [(edge.first, edge.second, edge.n_items) for edge in found.edges]
    ((('a', 'b'), ('c',)), [('a', 'c', 0)])
    """
    shared = shared_counts(scored)
    linked = shared >= MIN_SHARED if allowed is None else (shared >= MIN_SHARED) & allowed
    parts: dict[int, list[str]] = {}
    for name, part in zip(names, components(linked).tolist(), strict=True):
        parts.setdefault(part, []).append(name)
    groups = _groups(scored, linked)
    edges = [
        SharedItems(
            first=names[one[0]],
            second=names[other[0]],
            n_items=int(shared[one[0], other[0]]),
            compared=bool(linked[one[0], other[0]]),
        )
        for i, one in enumerate(groups)
        for other in groups[i + 1 :]
    ]
    return ComparabilityGraph(
        same_items=bool((scored == scored[:, :1]).all()),
        measured_alike=allowed is None or bool(allowed.all()),
        n_items=int(scored.any(axis=1).sum()),
        n_common=int(scored.all(axis=1).sum()),
        min_shared=MIN_SHARED,
        components=tuple(sorted(map(tuple, parts.values()), key=len, reverse=True)),
        groups=tuple(
            ItemGroup(models=tuple(names[j] for j in group), n_items=int(shared[group[0], group[0]]))
            for group in groups
        ),
        edges=tuple(edges),
    )


def shared_counts(scored: Bools) -> Ints:
    """Return how many items every two models were both scored on, shape (n_models, n_models)."""
    # In float64, where the product runs in BLAS; counts stay exact below 2^53.
    seen = scored.astype(np.float64)
    return np.rint(seen.T @ seen).astype(np.int64)


def components(linked: Bools) -> Ints:
    """Return the connected component of every point, numbered in the order of their first points."""
    return connected_components(linked, directed=False)[1].astype(np.int64)


def _groups(scored: Bools, linked: Bools) -> list[list[int]]:
    """Models with the same column that are compared with the same others, in the order of their first."""
    found: dict[bytes, list[int]] = {}
    for j in range(scored.shape[1]):
        found.setdefault(np.packbits([*scored[:, j], *linked[:, j]]).tobytes(), []).append(j)
    return list(found.values())


# Which items a system has is the comparability graph's matter, in full.
_ELSEWHERE = frozenset({"items", "n_trials"})
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDifference:
    """One thing in which the runs of some systems differ from those of another, the reference.

    `explanation` is that of the first of them, a clause without a full stop; `alike` is whether it is the same for all.
    Severities are those of `RunDifference`.
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
        return f"{some_of(self.models, _SHOWN)} against {self.reference}: {self.explanation}{so}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Who was measured alike: the number of every system's kind, and all differences that are known.

    `apart` are the settings that set the kinds apart; empty where there is one kind.
    """

    kind: tuple[int, ...]
    differences: tuple[EntryDifference, ...] = ()
    apart: tuple[str, ...] = ()

    def allowed(self) -> Bools:
        """Return which two systems may be compared, shape (n_models, n_models)."""
        kinds = np.array(self.kind)
        return np.asarray(kinds[:, np.newaxis] == kinds, dtype=np.bool_)

    def notes(self, severity: Severity) -> tuple[Note, ...]:
        """Return the differences of one severity: remarks where that is "note", else cautions."""
        told = [str(each) for each in self.differences if each.severity == severity]
        return tuple(Note(kind="comparability", text=text, caution=severity != "note") for text in told)

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

    def ordered(self, order: Sequence[int]) -> "Measured":
        """Put the systems in another order."""
        return Measured(kind=tuple(self.kind[j] for j in order), differences=self.differences, apart=self.apart)


def measured_alike(
    data: EvalData, arms: Sequence[System], *, contrast: str, accept: Collection[str], reference: int = 0
) -> Measured:
    """Compare what is recorded of the systems' runs, and gather those measured alike; `reference` is of kind 0."""
    order = [reference, *(j for j in range(len(arms)) if j != reference)]
    firsts: list[int] = []
    kind = [0] * len(arms)
    seen: list[tuple[str, str, RunDifference]] = []
    grave: list[RunDifference] = []
    for j in order:
        for number, first in enumerate(firsts):
            found = run_comparability(
                data, arms[first], arms[j], contrast=contrast, accept=accept, leave_out=_ELSEWHERE
            )
            invalid = [each for each in found if each.severity == "invalid"]
            grave.extend(invalid)
            seen.extend((arms[first].name, arms[j].name, each) for each in (invalid or found))
            if not invalid:
                kind[j] = number
                break
        else:
            kind[j] = len(firsts)
            firsts.append(j)
    apart = tuple(dict.fromkeys(each.setting for each in grave)) if len(firsts) > 1 else ()
    return Measured(kind=tuple(kind), differences=_gathered(seen), apart=apart)


def _gathered(seen: Sequence[tuple[str, str, RunDifference]]) -> tuple[EntryDifference, ...]:
    """Say of several systems at once that they differ from one in the same setting."""
    models: dict[tuple[str, str, Severity], list[str]] = {}
    words: dict[tuple[str, str, Severity], list[str]] = {}
    for reference, name, each in seen:
        key = (reference, each.setting, each.severity)
        models.setdefault(key, []).append(name)
        words.setdefault(key, []).append(each.explanation)
    unrecorded = False
    found: list[EntryDifference] = []
    for key, names in models.items():
        reference, setting, severity = key
        # That nothing is recorded is said once, whoever was looked at.
        if setting == "unrecorded" and unrecorded:
            continue
        unrecorded = unrecorded or setting == "unrecorded"
        found.append(
            EntryDifference(
                setting=setting,
                severity=severity,
                reference=reference,
                models=tuple(names),
                explanation=words[key][0],
                alike=len(set(words[key])) == 1,
            )
        )
    return tuple(found)


# Columns that say what a number is of, and the setting that declares a difference in them as intended.
_OF = {"task": "items", "scenario": "items", "variant": "items", "setting": "lab_or_live"}
_SAME_UNIT = {"%": "percent", "pct": "percent"}
_NOT_GIVEN = "not given"


def check_one_quantity(
    rows: pl.DataFrame, *, entry: str, metric: Metric, contrast: str, accept: Collection[str] = ()
) -> tuple[str, ...]:
    """Refuse published numbers of different tasks, scenarios, variants, settings or units; return what was accepted.

    `entry` names the models; the column of `contrast` may differ. A unit cannot be accepted: a percentage and a proportion are
    not ordered by their numbers.
    """
    accepted = check_settings(accept)
    told: list[str] = []
    for column in (*_OF, "unit"):
        if column == contrast:
            continue
        levels = _levels(rows, column, entry)
        if len(levels) < 2:
            continue
        differ = f"the published {metric.name!r} on {metric.benchmark} differ in {column} ({_in_words(levels)})"
        if column == "unit":
            raise CannotAnswerError(
                f"{differ}: numbers in different units have no order; bring them to one unit, or keep one with "
                f"{Option('published', blank='LEVEL', of='unit')}"
            )
        setting = _OF[column]
        if setting not in accepted:
            raise CannotAnswerError(
                f"{differ}, so they are not one quantity and are not ranked; keep one with "
                f"{Option('published', blank='LEVEL', of=column)}, or where the difference is intended, declare it: "
                f"{Option('accept', (setting,))}"
            )
        told.append(f"{differ}; declared as intended")
    return tuple(told)


def published_alike(
    data: EvalData, rows: pl.DataFrame, *, entry: str, contrast: str, accept: Collection[str]
) -> Measured | None:
    """Compare what is recorded of the runs behind published numbers, refusing grave differences; None where none is known."""
    known = rows["run"].is_in(data.runs["run"].to_list()).fill_null(value=False)
    if not known.any():
        return None
    found = measured_alike(data, [_arm(row, entry) for row in rows.to_dicts()], contrast=contrast, accept=accept)
    if found.apart:
        raise CannotAnswerError(found.why_apart())
    return found


def _arm(row: dict[str, object], entry: str) -> System:
    """Return a published number as the one row of a side, which is what runs are compared by."""
    run = str(row["run"] or "")
    shared = {name: row[name] for name in ("model", "benchmark", "task", "variant", "metric", "setting")}
    outcome = {
        **shared,
        "run": run,
        "system": str(row[entry]),
        "item": "published",
        "status": "scored",
        "score": row["estimate"],
    }
    return System(name=str(row[entry]), rows=frame_from_rows([outcome], "outcomes"), runs=(run,) if run else ())


def _levels(rows: pl.DataFrame, column: str, entry: str) -> dict[str, list[str]]:
    """Return the models of every level of a column; a number that does not say its level is of a level of its own."""
    found: dict[str, list[str]] = {}
    for level, name in zip(rows[column].to_list(), rows[entry].to_list(), strict=True):
        text = _NOT_GIVEN if level in (None, "") else str(level)
        if column == "unit":
            text = _SAME_UNIT.get(text.lower(), text.lower())
        found.setdefault(text, []).append(name)
    return found


def _in_words(levels: dict[str, list[str]]) -> str:
    return some_of((f"{level}: {_names(names)}" for level, names in sorted(levels.items())), _SHOWN, "; ")


def _names(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _SHOWN else f"{listed(names[:_SHOWN])} and {len(names) - _SHOWN} more"
