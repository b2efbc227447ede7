"""A result in at most 2 kB, for machines: what its card says, as values.

Every question goes through one function, which reads the `Document` of its result. What does not fit is shortened or dropped,
and `dropped` counts it: the whole result has it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UNSET, UnsetType

from evalstats.analysis.settings import Settings, shell_command
from evalstats.document.escape import cut
from evalstats.document.model import Document, Note, Table, Tone, Value
from evalstats.errors import Option, written
from evalstats.questions import QUESTIONS, signature_of

# Of the JSON, in bytes of UTF-8.
MOST_BYTES = 2048
# Letters of a text, and entries of a list: the first pair that fits is taken.
_FITS = ((400, 8), (300, 5), (200, 4), (140, 3), (100, 2), (60, 1), (40, 0))
_COUNTED = ("items", "clusters", "trials", "models", "votes")


class BriefCaution(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What limits the use of the answer."""

    what: Annotated[str, msgspec.Meta(description="Its kind: dependence, missing, few, comparability, ...")]
    found: Annotated[str, msgspec.Meta(description="The consequence.")]
    do: Annotated[str, msgspec.Meta(description="What to do about it; `next` has the command.")] = ""


class BriefRows(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The first rows of the leading table: models, levels, tasks, findings."""

    columns: list[str]
    rows: list[list[Any]]


class BriefAnswer(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One answer. What is not known, or does not apply, is left out."""

    verdict: Annotated[str, msgspec.Meta(description="The answer in a word or two.")]
    tone: Annotated[Tone, msgspec.Meta(description="Whether that is good, bad, neutral or a reason for caution.")]
    headline: Annotated[str, msgspec.Meta(description="The answer in one sentence.")]
    number: Annotated[str, msgspec.Meta(description="The number that answers, its interval and p, in words.")] = ""
    estimate: Annotated[float | UnsetType, msgspec.Meta(description="That number, in `unit`.")] = UNSET
    unit: Annotated[str, msgspec.Meta(description="pp are percentage points.")] = ""
    low: Annotated[float | UnsetType, msgspec.Meta(description="Lower end of its confidence interval.")] = UNSET
    high: Annotated[float | UnsetType, msgspec.Meta(description="Upper end of its confidence interval.")] = UNSET
    level: Annotated[float | UnsetType, msgspec.Meta(description="Level of the interval, a proportion.")] = UNSET
    p: Annotated[float | UnsetType, msgspec.Meta(description="The p-value that belongs to the interval.")] = UNSET
    n: Annotated[dict[str, int], msgspec.Meta(description="What it rests on: items, clusters, trials, ...")] = {}
    metric: str = ""


class BriefGate(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Whether a gate (`--fail-on`) passed; null: the data cannot answer."""

    rule: str
    passed: bool | None
    reason: str
    exit_status: int


class Brief(BriefAnswer, kw_only=True, forbid_unknown_fields=True):
    """The answer to one question, in at most 2048 bytes. What is not known, or does not apply, is left out."""

    brief: Annotated[Literal[1], msgspec.Meta(description="Version of this form.")]
    question: Annotated[str, msgspec.Meta(description="The command or function that answered.")]
    asked: Annotated[str, msgspec.Meta(description="The question as asked of these data.")]
    holds_for: Annotated[str, msgspec.Meta(description="For what the answer holds, and what it rests on.")] = ""
    gate: BriefGate | UnsetType = UNSET
    cautions: list[BriefCaution] = []
    do: Annotated[list[str], msgspec.Meta(description="What to do.")] = []
    answers: Annotated[
        list[BriefAnswer], msgspec.Meta(description="Of several metrics or systems: the answer by each.")
    ] = []
    table: BriefRows | UnsetType = UNSET
    next: Annotated[list[str], msgspec.Meta(description="Commands that ask further, the most urgent first.")] = []
    dropped: Annotated[dict[str, int], msgspec.Meta(description="How many entries of a list did not fit.")] = {}


def brief(result: Any, gate: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a result in brief, as `Brief` describes it; `gate` is the outcome of the gate that it was put to."""
    document: Document = result.document()
    values: dict[str, Any] = {}
    for letters, entries in _FITS:
        values = _brief(result, document, gate, letters, entries)
        if len(json.dumps(values, ensure_ascii=False).encode()) <= MOST_BYTES:
            break
    return values


def _brief(
    result: Any, document: Document, gate: Mapping[str, Any] | None, letters: int, entries: int
) -> dict[str, Any]:
    parts = _parts(result)
    leading = None if parts else document.leading_table
    table = leading and leading.without_empty_columns()
    notes = [note for note in (*document.banners, *document.cautions) if gate is None or note.kind != "gate"]
    lists: dict[str, list[Any]] = {
        "cautions": [_caution(note, letters) for note in notes],
        "do": [cut(action, letters) for action in document.actions],
        "answers": [_answer(each, each.document(), letters) for each in parts],
        "table": [] if table is None else [_cells(row, table, letters) for row in table.rows],
        "next": _commands(result, document, gated=gate is not None),
    }
    kept: dict[str, Any] = {name: rows[:entries] for name, rows in lists.items()}
    if table is not None and kept["table"]:
        kept["table"] = {"columns": [cut(each.title, letters) for each in table.columns], "rows": kept["table"]}
    return _known(
        brief=1,
        question=document.kind,
        asked=cut(document.title, letters),
        **_answer(result, document, letters),
        holds_for=cut(document.scope, letters),
        gate=gate and {**gate, "reason": cut(gate["reason"], letters)},
        **kept,
        dropped={name: len(rows) - entries for name, rows in lists.items() if len(rows) > entries},
    )


def _known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _answer(result: Any, document: Document, letters: int) -> dict[str, Any]:
    interval, counts = document.interval, {name: getattr(result, f"n_{name}", None) for name in _COUNTED}
    about: dict[str, Any] = {}
    if interval is not None:
        ends = {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
        about = {name: _short(value * interval.scale) for name, value in ends.items()}
        about |= {"unit": interval.unit, "level": _short(interval.conf_level)}
        about["p"] = None if interval.p_value is None else _short(interval.p_value)
    return _known(
        verdict=cut(document.label, letters),
        tone=document.tone,
        headline=cut(document.headline, letters),
        number=cut(", ".join(filter(None, (document.number, document.number_words))), letters),
        **about,
        n={name: n for name, n in counts.items() if isinstance(n, int) and n},
        metric=cut(getattr(result, "metric", None) or "", letters),
    )


def _parts(result: Any) -> list[Any]:
    """Return the results that a result is made of: one for each metric, system or question."""
    listed: Sequence[Any] = getattr(result, "answers", None) or getattr(result, "rows", ())
    parts = [getattr(each, "result", each) for each in listed]
    return [each for each in parts if hasattr(each, "document")]


def _caution(note: Note, letters: int) -> dict[str, str]:
    return _known(what=note.kind, found=cut(note.text, letters), do=cut(written(note.remedy), letters))


def _cells(row: Sequence[Value], table: Table, letters: int) -> list[Any]:
    """Return the cells of a row as values, numbers in the unit that is shown."""
    return [
        [None if end is None else _short(end * column.scale) for end in cell]
        if isinstance(cell, tuple)
        else cut(cell, letters)
        if isinstance(cell, str)
        else _short(cell * column.scale)
        if isinstance(cell, float)
        else cell
        for cell, column in zip(row, table.columns, strict=True)
    ]


def _short(value: float) -> float:
    """Round to four digits, of which no interval leaves more."""
    return float(f"{value:.4g}")


# --- what to ask next ---


def _commands(result: Any, document: Document, *, gated: bool) -> list[str]:
    """Return the command of the result with every option that is advised, then as a gate; none where a shell cannot say it."""
    settings: Settings | None = getattr(result, "settings", None)
    if settings is None:
        return []
    advised = [part for note in document.cautions for part in note.remedy if isinstance(part, Option)]
    found = [shell_command(_with(settings, option)) for option in advised if option.value is not None]
    question = QUESTIONS[settings.question]
    can_gate = question.rules and (not question.gated_by or question.gated_by in settings.options)
    if can_gate and not gated and result.answered:
        found.append(shell_command(_with(settings, Option("fail_on", question.rules[0]))))
    lines = (command.replace(" \\\n    ", " ") for command in dict.fromkeys(found) if command)
    return [f"{line} --format brief" for line in lines]


def _with(settings: Settings, option: Option) -> Settings:
    """Return the call with one more option: an argument of the function, else one by which the command reads."""
    value = f"{option.of}={option.value}" if option.of else option.value
    if option.name in signature_of(settings.question).parameters:
        return replace(settings, options={**settings.options, option.name: value})
    reading = settings.reading
    if reading is None:  # a call in Python: its files are all that the command reads
        reading = {"paths": [file for files in settings.files.values() for file in files]}
    before = cast("list[Any]", reading.get(option.name, []))
    several = option.name in ("where", "map", "fail_on")
    return replace(settings, reading={**reading, option.name: [*before, value] if several else value})
