"""The Open LLM Leaderboard's own table: a row for each model that was submitted, with raw and normalised scores.

Read is the `contents` dataset of both leaderboards (Parquet, CSV or JSON). The second version has for each of six tasks a raw
score from 0 to 1 (`raw`) and one above chance from 0 to 100 (`normalised`), the first one score from 0 to 100 for each of four to
seven (`score`). The task is the benchmark's name there, and "" for the average of all; the variant is the precision, since one
model may stand there in several.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Head, Match, Source
from evalstats.loaders.blocks import MAX_FACTOR_CHARS
from evalstats.loaders.format import Sign
from evalstats.loaders.open_llm_scores import NORMALISED, V1, V2
from evalstats.loaders.published_format import PublishedFormat
from evalstats.loaders.published_numbers import PublishedRows
from evalstats.loaders.rows import Row
from evalstats.loaders.sampled_column import Record
from evalstats.loaders.score_table import ScoreRows
from evalstats.loaders.values import as_number, as_text, day_of

_V2: Final = ("IFEval", "BBH", "MATH Lvl 5", "GPQA", "MUSR", "MMLU-PRO")
# The first four are all that the first leaderboard began with.
_V1: Final = ("ARC", "HellaSwag", "MMLU", "TruthfulQA", "Winogrande", "GSM8K", "DROP")
_FEWEST: Final = {V2: len(_V2), V1: 4}
# One of these tells the leaderboard's table from another one with the same benchmarks, or "(25-shot)" behind their names.
_MARKS: Final = frozenset({"revision", "model sha", "precision", "eval name", "hub license", "weight type", "t"})
_SHOTS: Final = re.compile(r"\s?\(?(?<!\d)\d{1,3}[- ]?shots?\)?")
_MODEL: Final = ("fullname", "model name for query", "model name", "model")
_FACTS: Final = {
    "precision": "precision",
    "type": "model_type",
    "model sha": "revision",
    "params b": "params_b",
    "flagged": "flagged",
    "base model": "base_model",
}
_DAYS: Final = ("submission date", "date")
_TAG: Final = re.compile(r"<[^<>]*>")
_EMPTY: Final = "{n} scores are empty; they are missing, not 0"
_SCALE: Final = "{n} scores lie outside their scale (0 to 1 raw, 0 to 100 otherwise) and are dropped"
_FLAGGED: Final = "{n} models are flagged by the leaderboard, often as trained on the tests (column flagged)"


class _Columns(msgspec.Struct, frozen=True):
    """Where a table keeps what; the keys of `scores` and `raw` are tasks."""

    version: str
    model: str
    average: str | None
    scores: Mapping[str, str]
    raw: Mapping[str, str]
    facts: Mapping[str, str]
    day: str | None


class _BoardSign(Sign, frozen=True):
    """The sign of the leaderboard's table: an average, a column for each task, the model, and what only the leaderboard has."""

    def match(self, head: Head) -> Match | None:
        """Say whether a file has the columns of either version."""
        found = None if head.shape not in self.shapes else _columns(head.columns or tuple(head.keys))
        reason = "an average and a column for each task of the {}"
        return None if found is None else Match(confidence=self.confidence, reason=reason.format(found.version))


def _board(head: Head, source: Source, numbers: PublishedRows) -> str:
    table = ScoreRows(head)
    columns = _columns(tuple(table.columns))
    if columns is None:
        raise UnreadableFileError(
            f"{source.path}: has not the tasks of the Open LLM Leaderboard with their average, and columns that only it has "
            f"({comma_list(table.columns, 8)}); take the `contents` dataset as it is published"
        )
    for record in table.records:
        _add(numbers, record, columns)
    return columns.version


def _plain(name: str) -> str:
    return " ".join(re.sub(r"[^a-z0-9]+", " ", name.lower()).split())


def _columns(names: tuple[str, ...]) -> _Columns | None:
    """Say where a table keeps what; None where it is not the leaderboard's."""
    by_name = {_plain(_SHOTS.sub("", name)): name for name in reversed(names)}
    model = next((by_name[name] for name in _MODEL if name in by_name), None)
    for version, tasks in ((V2, _V2), (V1, _V1)):
        scores = {task: by_name[_plain(task)] for task in tasks if _plain(task) in by_name}
        marked = by_name.keys() & _MARKS or any(_SHOTS.search(name) for name in names)
        if model is None or "average" not in by_name or not marked:
            return None
        if len(scores) < _FEWEST[version] or any(task not in scores for task in tasks[: _FEWEST[version]]):
            continue
        raw = {task: by_name[name] for task in tasks if (name := _plain(f"{task} raw")) in by_name}
        facts = {ours: by_name[name] for name, ours in _FACTS.items() if name in by_name}
        day = next((by_name[name] for name in _DAYS if name in by_name), None)
        return _Columns(version, model, by_name.get("average"), scores, raw, facts, day)
    return None


def _add(numbers: PublishedRows, record: Record, columns: _Columns) -> None:
    facts: Row = {name: as_text(record.get(column)) for name, column in columns.facts.items()}
    facts = {name: text if text and len(str(text)) <= MAX_FACTOR_CHARS else None for name, text in facts.items()}
    # The name may be the text of a link, with another link behind it.
    written = [part.strip() for part in _TAG.split(as_text(record.get(columns.model)) or "") if part.strip()]
    known: Row = {**facts, "model": next(iter(written), None), "benchmark": columns.version, "setting": "lab"}
    known |= {"variant": facts.get("precision") or "", "date": day_of(record.get(columns.day or ""))}
    numbers.counts[_FLAGGED] += str(facts.get("flagged")).lower() == "true"
    score = {"metric": NORMALISED if columns.version == V2 else "score", "unit": "percent"}
    for task in columns.scores:
        raw = _number(record, columns.raw.get(task), 1.0, numbers.counts)
        if raw is not None:
            numbers.add(raw, {**known, "task": task, "metric": "raw", "unit": "proportion"})
        shown = _number(record, columns.scores[task], 100.0, numbers.counts)
        if shown is not None:
            numbers.add(shown, {**known, **score, "task": task})
    average = _number(record, columns.average, 100.0, numbers.counts)
    if average is not None:
        numbers.add(average, {**known, **score, "task": ""})


def _number(record: Record, column: str | None, high: float, counts: Counter[str]) -> float | None:
    value = None if column is None else record.get(column)
    number = None if isinstance(value, bool) else as_number(value)
    if number is not None and 0 <= number <= high:
        return number
    if column is not None:
        counts[_EMPTY if number is None else _SCALE] += 1
    return None


FORMAT: Final = PublishedFormat(
    name="open-llm-leaderboard",
    title="Open LLM Leaderboard tables, v1 and v2 (contents .parquet, .csv, .json)",
    version="2",
    upstream="huggingface.co/datasets/open-llm-leaderboard/contents, and the same of the first leaderboard",
    harness="Open LLM Leaderboard",
    tables=((_BoardSign(shapes=("text", "parquet", "array", "lines")), _board),),
    primary=(NORMALISED, "score"),
)
