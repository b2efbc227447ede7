"""LangSmith: the results of one experiment as a table, as runs, or as the body that uploads an experiment.

Read are `ExperimentResults.to_pandas()` and `Client.get_test_results()`, saved as CSV or JSON; runs as `Client.list_runs()` gives
them, with `feedback_stats`; the body of `/datasets/upload-experiment`, as LangSmith's documentation describes it; the file that
the page of an experiment offers for download, whose columns its user may have changed. Each key of feedback is a metric. The item
is a digest of inputs and reference, since the table of `get_test_results` names no example; equal ones are trials in the order
of the file. A run that failed is an error whatever its feedback says. The model is a column `model` or in the metadata; else the
file's or the experiment's name.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import fmean
from typing import Any, Final, cast

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.format import OBJECT, RECORDS, Format, FormatFile, Sign
from evalstats.loaders.record_columns import members_of
from evalstats.loaders.records import cell_value, item_of
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_dict, as_number, as_text, dicts, get, times_of

_PREFIXES: Final = {"inputs": "in", "input": "in", "reference": "ref", "feedback": "score"}
# The file that the page of an experiment offers: whole inputs, outputs and reference in a cell each, then a column for each key
# of feedback and what was measured. Its columns may be renamed, hidden and broken out there.
_PAGE_NAMES: Final = {"reference_output": "reference_outputs", "latency_seconds": "latency", "model_name": "model"}
_PAGE_FACTS: Final = re.compile(
    r"inputs|outputs|reference_outputs|(?:.*_)?(?:id|name|status|error|run|created_at|modified_at|start_time|end_time|latency|time"
    r"|duration|tokens?|cost|url|split|model|repetition|metadata|tags|notes?|comments?|first_token|)"
)
_LOOKED_AT: Final = 1_000
_NO_VALUE: Final = frozenset({"", "nan", "none", "null", "<na>"})
_WORDS: Final = {"true": 1.0, "false": 0.0}
_COMMENTS: Final = "note"  # the key of free remarks, which are no feedback
_NO_NUMBER: Final = "the feedback is no number"
_SEVERAL: Final = "{n} rows have several scores of one key; their mean is taken, as LangSmith does"
_BELOW: Final = "{n} runs belong to no example or lie below another run, and are dropped"


def _feedback(value: object) -> Said:
    word = value.strip().lower() if isinstance(value, str) else None
    if value is None or word in _NO_VALUE:
        return unscored("there is no feedback", held(value))
    number = as_number(value)
    number = _WORDS.get(word or "") if number is None else number
    return unscored(_NO_NUMBER, held(value)) if number is None else number


def _about(file: FormatFile[Any]) -> Row:
    members = file.members
    experiment, model = (
        as_text(members.get("experiment_name")),
        as_text(get(members.get("experiment_metadata"), "model")),
    )
    dataset = as_text(members.get("dataset_name")) or as_text(members.get("dataset_id"))
    known = {"system": experiment, "benchmark": dataset, "config": {"experiment": experiment} if experiment else None}
    return {"model": model or experiment, **{name: value for name, value in known.items() if value}}


@lru_cache(maxsize=1_000)
def _split(name: str) -> tuple[str, str]:
    """Return what a column of a table is (in, ref, score, or nothing of these), and its name there."""
    prefix, dot, key = name.partition(".")
    kind = _PREFIXES.get(prefix, "") if dot and key else ""
    return ("", "") if kind == "score" and key == _COMMENTS else (kind, key)


@lru_cache(maxsize=100)
def _parts(names: tuple[str, ...], kind: str) -> dict[str, str]:
    return {key: name for name in names for own, key in [_split(name)] if own == kind}


def _asked(row: Row) -> str | None:
    names = tuple(row)
    return item_of(*({key: row[name] for key, name in _parts(names, kind).items()} for kind in ("in", "ref")))


FORMAT: Final[Format[Any]] = Format(
    name="langsmith",
    title="LangSmith experiment results (.csv, .json, .jsonl)",
    version="2",
    upstream="langchain-ai/langsmith-sdk at bc8dd67, python/langsmith/evaluation/_runner.py, client.py and schemas.py",
    benchmark="LangSmith",
    harness="LangSmith",
    signs=(Sign(confidence=0.9, like=(r"feedback\..*", r"(?:inputs?|outputs)\..*"), shapes=(*RECORDS, "text")),),
    record=dict[str, Any],
    fields={
        "model": "model",
        "latency_s": "execution_time",
        "error": "error",
        "_example": "example_id reference_example_id",
    },
    scores=lambda rows, _: _parts(tuple(members_of(rows)), "score"),
    reads=_feedback,
    identity=_asked,
    arranged=lambda frame, _: frame.with_columns(pl.coalesce("item", "_example")),
    repeated=True,
    called="rows",
    counts={
        "{n} values of feedback are labels or other text and no numbers; unscored": pl.col("status_reason")
        == _NO_NUMBER
    },
    expected="Results with inputs were expected, a row for each example",
)


def _timed(frame: pl.DataFrame) -> pl.DataFrame:
    took = times_of(frame["_end"])[0] - frame["timestamp"]
    return frame.with_columns(latency_s=took.dt.total_microseconds() / 1e6)


def _exported(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    """Return runs of the API without those below a root, which have no example."""
    of_example = pl.col("item").is_not_null() & pl.col("_parent").is_null()
    kept = _timed(frame.filter(of_example))
    file.count(_BELOW, frame.height - kept.height)
    return kept.with_columns(link=pl.format("https://smith.langchain.com{}", "_path"))


def _without_comments(frame: pl.DataFrame, _: object) -> pl.DataFrame:
    return frame.filter(pl.col("metric") != _COMMENTS)


RUNS: Final[Format[Any]] = replace(
    FORMAT,
    name="langsmith-runs",
    title="LangSmith runs of an experiment (list_runs)",
    signs=(Sign("feedback_stats reference_example_id", 0.85, shapes=(*RECORDS, "text")),),
    record=None,
    fields={
        "item": "reference_example_id",
        "model": "extra.metadata.ls_model_name extra.metadata.model",
        "error": "error",
        "timestamp": "start_time",
        "_end": "end_time",
        "input_tokens": "prompt_tokens",
        "output_tokens": "completion_tokens",
        "cost_usd": "total_cost",
        "_path": "app_path",
        "_parent": "parent_run_id",
    },
    scores={"*": "feedback_stats.*.avg"},
    identity=None,
    arranged=_exported,
    after=_without_comments,
)


def _scores(rows: list[Row], file: FormatFile[Any]) -> tuple[list[Row], pl.Series]:
    """Return rows with one score of each key, of several the mean, as LangSmith has it; take note of scales."""
    for row in rows:
        given: dict[str, list[object]] = {}
        for score in dicts(row.get("evaluation_scores")):
            key, value, scale = (
                as_text(score.get("key")) or "",
                score.get("score"),
                as_dict(score.get("feedback_config")),
            )
            given.setdefault(key, []).append(score.get("value") if value is None else value)
            low, high = as_number(scale.get("min")), as_number(scale.get("max"))
            if low is not None and high is not None and low < high and (low, high) != (0.0, 1.0):
                file.metric(key, low=low, high=high, kind="bounded", unit=None)
        several = {
            key: [number for value in values if (number := as_number(value)) is not None]
            for key, values in given.items()
        }
        row["scores"] = {
            key: values[0] if len(values) == 1 else fmean(several[key]) if several[key] else None
            for key, values in given.items()
        }
        file.count(_SEVERAL, any(len(values) > 1 for values in given.values()))
    return rows, file.locators


def _uploaded(frame: pl.DataFrame, _: object) -> pl.DataFrame:
    return _timed(frame).with_columns(pl.coalesce("item", "_row_id"))


UPLOAD: Final[Format[Any]] = replace(
    FORMAT,
    name="langsmith-upload",
    title="LangSmith experiments as they are uploaded",
    signs=(
        Sign("experiment_name results experiment_start_time", 0.9, shapes=OBJECT),
        Sign("experiment_name results", 0.9, text=('"evaluation_scores"',), shapes=OBJECT),
    ),
    inner=_scores,
    lists=("results",),
    keep=("experiment_name", "dataset_name", "dataset_id", "experiment_metadata"),
    about=_about,
    fields={
        "model": "run_metadata.model",
        "error": "error",
        "timestamp": "start_time",
        "_end": "end_time",
        "_row_id": "row_id",
    },
    scores={"*": "scores.*"},
    asked=("inputs", "expected_outputs"),
    identity=item_of,
    arranged=_uploaded,
)


@lru_cache(maxsize=1_000)
def _page_name(name: str) -> str:
    """Return a column's name as the page of an experiment may have it, spelled in one way; that of feedback as it is."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    plain = _PAGE_NAMES.get(plain, plain)
    return plain if _PAGE_FACTS.fullmatch(plain) else name


def _page(rows: list[Row], file: FormatFile[Any]) -> tuple[list[Row], pl.Series]:
    found = [{_page_name(name): value for name, value in row.items()} for row in rows]
    for row in found:
        if row.get("error") is None and str(row.get("status")).lower() == "error":
            row["error"] = "the run failed; the file does not say why"
    return found, file.locators


def _columns_of_feedback(rows: Sequence[Row], file: FormatFile[Any]) -> dict[str, str]:
    """Return the columns that are no known fact and hold numbers, or words for right and wrong, wherever they hold anything."""
    if "feedback" not in file.kept:
        names = [name for name in members_of(rows[:1]) if not _PAGE_FACTS.fullmatch(_page_name(name))]
        file.kept["feedback"] = found = {
            name: name for name in names if _holds_numbers([row[name] for row in rows[:_LOOKED_AT]])
        }
        if not found:
            raise UnreadableFileError(
                f"{file.source.path}: has no column of feedback, one with a number in each row; "
                f"found {comma_list(file.head.columns, 12)}"
            )
    return cast("dict[str, str]", file.kept["feedback"])


def _holds_numbers(cells: Sequence[object]) -> bool:
    filled = [text for cell in cells if cell is not None and (text := str(cell).strip().lower()) not in _NO_VALUE]
    return bool(filled) and all(text in _WORDS or as_number(text) is not None for text in filled)


def _by_texts(row: Row) -> str | None:
    return item_of(cell_value(row.get("inputs")), cell_value(row.get("reference_outputs")))


PAGE: Final[Format[Any]] = replace(
    FORMAT,
    name="langsmith-page",
    title="LangSmith's page of an experiment (.csv)",
    signs=(
        Sign(
            confidence=0.6,
            like=(r"(?i)[\W_]*inputs[\W_]*", r"(?i)[\W_]*outputs[\W_]*", r"(?i)[\W_]*reference[\W_]+outputs?[\W_]*"),
            shapes=("text",),
        ),
    ),
    inner=_page,
    fields={"model": "model", "latency_s": "latency", "error": "error", "_example": "example_id"},
    scores=_columns_of_feedback,
    identity=_by_texts,
)
