"""LangSmith: the results of one experiment as a table, as runs, or as the body that uploads an experiment.

Read are `ExperimentResults.to_pandas()` and `Client.get_test_results()`, saved as CSV or JSON; runs as `Client.list_runs()` gives
them, with `feedback_stats`; the body of `/datasets/upload-experiment`, as LangSmith's documentation describes it; the file that
the page of an experiment offers for download, whose columns its user may have changed. Each key of feedback is a metric. The item
is a digest of inputs and reference, since the table of `get_test_results` names no example; equal ones are trials in the order
of the file. A run that failed is an error whatever its feedback says. The model is a column `model` or in the metadata; else the
file's or the experiment's name.
"""

import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.format import OBJECT, RECORDS, Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import amounts, numbers, series, states, texts
from evalstats.loaders.records import cell_value, item_of
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_dict, as_number, as_text, as_time, dicts, first_line, get, plain_numbers

_PREFIXES: Final = {"inputs": "in", "input": "in", "reference": "ref", "feedback": "score"}
# The file that the page of an experiment offers: whole inputs, outputs and reference in a cell each, then a column for each key
# of feedback and what was measured. Its columns may be renamed, hidden and broken out there.
_PAGE: Final = ("inputs", "outputs", "reference_outputs")
_PAGE_NAMES: Final = {"reference_output": "reference_outputs", "latency_seconds": "latency", "model_name": "model"}
_PAGE_FACTS: Final = re.compile(
    r"(?:.*_)?(?:id|name|status|error|run|created_at|modified_at|start_time|end_time|latency|time|duration|tokens?|cost|url|split"
    r"|model|repetition|metadata|tags|notes?|comments?|first_token|)"
)
_LOOKED_AT: Final = 1_000
_NO_VALUE: Final = frozenset({"", "nan", "none", "null", "<na>"})
_WORDS: Final = {"true": 1.0, "false": 0.0}
_COMMENTS: Final = "note"  # the key of free remarks, which are no feedback
_VIEWER: Final = "https://smith.langchain.com"

_LABELS: Final = "{n} values of feedback are labels or other text and no numbers; unscored"
_REPEATED: Final = "{n} rows repeat inputs and reference of an earlier row and are its trials"
_SEVERAL: Final = "{n} rows have several scores of one key; their mean is taken, as LangSmith does"
_BELOW: Final = "{n} runs belong to no example or lie below another run, and are dropped"


class _Result(Struct):
    """One row of an experiment; `scores` are as the file has them."""

    shared: Row
    item: str | None
    scores: Row
    error: object
    model: object


class _Reader:
    def __init__(self, file: FormatFile[Row]) -> None:
        self.file = file
        self.waiting: list[_Result] = []
        self.runs: dict[str | None, str] = {}
        self.scales: dict[str, tuple[float, float]] = {}
        names = frozenset(file.head.columns or file.head.keys)
        self.is_page = file.head.shape == "text" and {*map(_page_name, names)} >= {*_PAGE}
        uploaded, runs = file.head.shape == "object", names >= {"feedback_stats", "reference_example_id"}
        self.at_once = None if self.is_page or uploaded or runs else self.table
        self.read = self.page if self.is_page else self.uploaded if uploaded else self.exported

    def rows(self, record: Row) -> tuple[Sample, ...]:
        result = self.read(record)
        if result is not None and result.item is None:
            self.file.leave_out("no inputs")
        elif result is not None:
            result.shared["locator"] = self.file.locator
            self.waiting.append(result)
        return ()

    def finish(self) -> Iterator[Sample]:
        """Give each result every key of feedback that any has."""
        keys = dict.fromkeys(key for result in self.waiting for key in result.scores)
        if self.is_page:
            first = self.waiting[:_LOOKED_AT]
            keys = dict.fromkeys(key for key in keys if _holds_numbers([result.scores[key] for result in first]))
            if self.waiting and not keys:
                raise UnreadableFileError(
                    f"{self.file.source.path}: has no column of feedback, one with a number in each row; "
                    f"found {comma_list(self.file.head.columns, 12)}"
                )
        for key, (low, high) in self.scales.items():
            numbers = [number for each in self.waiting if (number := as_number(each.scores.get(key))) is not None]
            if (low, high) != (0.0, 1.0) and numbers and low <= min(numbers) and max(numbers) <= high:
                self.file.metric(key, low=low, high=high, kind="bounded", unit=None)
        for result in self.waiting:
            yield self.sample(result, keys)

    def sample(self, result: _Result, keys: Row | dict[str, None]) -> Sample:
        run = self.run(as_text(result.model) or None)
        trial, failed = self.file.trial(run, result.item), _error(result.error)
        self.file.count(_REPEATED, trial > 0)
        shared = {"run": run, "item": result.item, "trial": trial, **result.shared}
        return shared, [(key, self.outcome(result.scores.get(key), failed)) for key in keys]

    def run(self, model: str | None) -> str:
        return self.runs.get(model) or self.runs.setdefault(model, self.new_run(model))

    def new_run(self, model: str | None) -> str:
        members = self.file.members
        experiment = as_text(members.get("experiment_name"))
        known, name = (
            model or as_text(get(members.get("experiment_metadata"), "model")),
            experiment or self.file.source.called,
        )
        if known is None:
            self.file.note(f"no model is named, so the name of the file or experiment is used: {name!r}")
        return self.file.run(
            known or name,
            model or "",
            system=experiment or known or name,
            benchmark=as_text(members.get("dataset_name")) or as_text(members.get("dataset_id")) or FORMAT.benchmark,
            config=json.dumps({"experiment": experiment}) if experiment else None,
        )

    def outcome(self, value: object, error: str | None) -> Said:
        if error:
            return unscored(error, held(value), error=True)
        word = value.strip().lower() if isinstance(value, str) else None
        if value is None or word in _NO_VALUE:
            return unscored("there is no feedback", held(value))
        number = as_number(value)
        number = _WORDS.get(word or "") if number is None else number
        if number is None:
            self.file.count(_LABELS)
            return unscored("the feedback is no number", held(value))
        return number

    def table(self, rows: list[Row]) -> pl.DataFrame:
        """Read rows of `get_test_results` or `to_pandas`, each of which has the feedback of its own columns."""
        parts: dict[str, dict[str, str]] = {"in": {}, "ref": {}, "score": {}, "": {}}
        for name in dict.fromkeys(chain.from_iterable(rows)):
            kind, key = _split(name)
            parts[kind][key] = name
        asked = [
            [{key: row[name] for key, name in parts[kind].items() if name in row} for kind in ("in", "ref")]
            for row in rows
        ]
        ids = [as_text(row.get("example_id")) or as_text(row.get("reference_example_id")) for row in rows]
        frame = pl.DataFrame(
            {
                "place": range(len(rows)),
                "run": [self.run(as_text(row.get("model")) or None) for row in rows],
                "item": texts([item_of(*given) or own for given, own in zip(asked, ids, strict=True)]),
                "latency_s": amounts([row.get("execution_time") for row in rows]),
                "locator": self.file.locators,
            }
        )
        frame = self.file.without(frame, pl.col("item").is_null(), "no inputs")
        frame = frame.with_columns(trial=self.file.trials(frame.select("run", "item")))
        self.file.count(_REPEATED, int((frame["trial"] > 0).sum()))
        found: list[pl.DataFrame] = []
        for key, name in parts["score"].items():
            places: list[int] = [place for place in frame["place"].to_list() if name in rows[place]]
            values, errors = [rows[each][name] for each in places], [_error(rows[each].get("error")) for each in places]
            plain = series(values)
            plain = plain_numbers(plain) if plain.dtype == pl.String else plain
            if any(errors) or plain.null_count() or not plain.dtype.is_numeric() or not plain.is_finite().all():
                said = [self.outcome(value, error) for value, error in zip(values, errors, strict=True)]
                outcomes = states(said)
            else:
                outcomes = numbers(plain.to_list())
            given = frame.filter(pl.col("place").is_in(places))
            found.append(given.hstack(outcomes).with_columns(metric=pl.lit(key)))
        if not found:
            return pl.DataFrame()
        return pl.concat(found, how="diagonal").sort("place", maintain_order=True).drop("place")

    def page(self, row: Row) -> _Result:
        """Read a row of what the page of an experiment exports; a column of numbers that is no known fact is feedback."""
        known = {_page_name(name): value for name, value in row.items()}
        inputs, _, reference = (cell_value(known[part]) for part in _PAGE)
        item = item_of(inputs, reference) or as_text(known.get("example_id"))
        scores = {name: value for name, value in row.items() if not _is_fact(_page_name(name))}
        failed = known.get("error")
        if _error(failed) is None and str(known.get("status")).lower() == "error":
            failed = "the run failed; the file does not say why"
        return _Result({"latency_s": known.get("latency")}, item, scores, failed, known.get("model"))

    def exported(self, row: Row) -> _Result | None:
        """Read a run as the API gives it; those below a root have no example and are passed over."""
        item = as_text(row.get("reference_example_id"))
        if item is None or row.get("parent_run_id"):
            self.file.count(_BELOW)
            return None
        scores = {
            key: get(found, "avg") for key, found in as_dict(row.get("feedback_stats")).items() if key != _COMMENTS
        }
        metadata, path = as_dict(get(row, "extra", "metadata")), as_text(row.get("app_path"))
        shared: Row = {
            **_times(row),
            "input_tokens": row.get("prompt_tokens"),
            "output_tokens": row.get("completion_tokens"),
            "cost_usd": row.get("total_cost"),
            "link": f"{_VIEWER}{path}" if path else None,
        }
        return _Result(shared, item, scores, row.get("error"), metadata.get("ls_model_name") or metadata.get("model"))

    def uploaded(self, row: Row) -> _Result:
        """Read a row of an upload."""
        item = item_of(row.get("inputs"), row.get("expected_outputs")) or as_text(row.get("row_id"))
        given: dict[str, list[object]] = {}
        for score in dicts(row.get("evaluation_scores")):
            if key := as_text(score.get("key")):
                value, scale = score.get("score"), as_dict(score.get("feedback_config"))
                given.setdefault(key, []).append(score.get("value") if value is None else value)
                low, high = as_number(scale.get("min")), as_number(scale.get("max"))
                if low is not None and high is not None and low < high:
                    self.scales[key] = low, high
        scores = {key: values[0] if len(values) == 1 else self.mean(values) for key, values in given.items()}
        return _Result(_times(row), item, scores, row.get("error"), get(row, "run_metadata", "model"))

    def mean(self, values: list[object]) -> float | None:
        self.file.count(_SEVERAL)
        numbers = [number for value in values if (number := as_number(value)) is not None]
        return math.fsum(numbers) / len(numbers) if numbers else None


def _split(name: str) -> tuple[str, str]:
    """Return what a column of a table is (in, ref, score, or nothing of these), and its name there."""
    prefix, dot, key = name.partition(".")
    kind = _PREFIXES.get(prefix, "") if dot and key else ""
    return ("", "") if kind == "score" and key == _COMMENTS else (kind, key)


@lru_cache(maxsize=1_000)
def _page_name(name: str) -> str:
    """Return a column's name as the page of an experiment may have it, spelled in one way."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    return _PAGE_NAMES.get(plain, plain)


@lru_cache(maxsize=1_000)
def _is_fact(name: str) -> bool:
    return name in _PAGE or _PAGE_FACTS.fullmatch(name) is not None


def _holds_numbers(cells: list[object]) -> bool:
    """Whether all cells with something in them are numbers or words for right and wrong, and there are such."""
    filled = [text for cell in cells if cell is not None and (text := str(cell).strip().lower()) not in _NO_VALUE]
    return bool(filled) and all(text in _WORDS or as_number(text) is not None for text in filled)


def _error(value: object) -> str | None:
    """Return why a run failed; None where it did not."""
    text = "" if value is None else as_text(value) or held(value) or ""
    return None if text.strip().lower() in _NO_VALUE else first_line(text)


def _times(row: Row) -> Row:
    start, end = as_time(row.get("start_time")), as_time(row.get("end_time"))
    return {"timestamp": start, "latency_s": (end - start).total_seconds() if start and end else None}


_TABLES: Final = (*RECORDS, "text")
FORMAT: Final = Format(
    name="langsmith",
    title="LangSmith experiment results (.csv, .json, .jsonl)",
    version="2",
    upstream="langchain-ai/langsmith-sdk at bc8dd67, python/langsmith/evaluation/_runner.py, client.py and schemas.py",
    benchmark="LangSmith",
    harness="LangSmith",
    signs=(
        Sign("experiment_name results experiment_start_time", 0.9, shapes=OBJECT),
        Sign("experiment_name results", 0.9, text=('"evaluation_scores"',), shapes=OBJECT),
        Sign("feedback_stats reference_example_id", 0.85, shapes=_TABLES),
        Sign(confidence=0.9, like=(r"feedback\..*", r"(?:inputs?|outputs)\..*"), shapes=_TABLES),
        Sign(
            confidence=0.6,
            like=(r"(?i)[\W_]*inputs[\W_]*", r"(?i)[\W_]*outputs[\W_]*", r"(?i)[\W_]*reference[\W_]+outputs?[\W_]*"),
            shapes=("text",),
        ),
    ),
    record=dict[str, Any],
    reader=_Reader,
    lists=("results",),
    keep=("experiment_name", "dataset_name", "dataset_id", "experiment_metadata"),
    called="rows",
    expected="Results with inputs were expected, a row for each example",
)
