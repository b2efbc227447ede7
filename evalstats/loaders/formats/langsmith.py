"""LangSmith: the results of one experiment as a table, as runs, or as the body that uploads an experiment.

Read are `ExperimentResults.to_pandas()` and `Client.get_test_results()`; runs as `Client.list_runs()` gives them; the body of
`/datasets/upload-experiment`. The item is a digest of inputs and reference, since the table of `get_test_results` names no
example. A run that failed is an error whatever its feedback says.
"""

from dataclasses import replace
from functools import lru_cache
from statistics import fmean
from typing import Any, Final

import polars as pl

from evalstats.loaders.format import OBJECT, RECORDS, Format, FormatFile, Sign
from evalstats.loaders.record_columns import members_of
from evalstats.loaders.records import item_of
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_number, as_text, dicts, get, times_of

_PREFIXES: Final = {"inputs": "in", "input": "in", "reference": "ref", "feedback": "score"}
NO_VALUE: Final = frozenset({"", "nan", "none", "null", "<na>"})
WORDS: Final = {"true": 1.0, "false": 0.0}
_COMMENTS: Final = "note"  # the key of free remarks, which are no feedback
_NO_NUMBER: Final = "the feedback is no number"
_SEVERAL: Final = "{n} rows have several scores of one key; their mean is taken, as LangSmith does"
_BELOW: Final = "{n} runs belong to no example or lie below another run, and are dropped"


def _feedback(value: object) -> Said:
    word = value.strip().lower() if isinstance(value, str) else None
    if value is None or word in NO_VALUE:
        return unscored("there is no feedback", held(value))
    number = as_number(value)
    number = WORDS.get(word or "") if number is None else number
    return unscored(_NO_NUMBER, held(value)) if number is None else number


def _about(file: FormatFile[Any]) -> Row:
    members = file.members
    experiment = as_text(members.get("experiment_name"))
    model = as_text(get(members.get("experiment_metadata"), "model")) or experiment
    dataset = as_text(members.get("dataset_name")) or as_text(members.get("dataset_id"))
    known = {"system": experiment, "benchmark": dataset, "config": {"experiment": experiment} if experiment else None}
    return {"model": model, **{name: value for name, value in known.items() if value}}


@lru_cache(maxsize=100)
def _parts(names: tuple[str, ...], kind: str) -> dict[str, str]:
    """Return the columns of a table that are inputs, reference or feedback, by their name there."""
    found = ((prefix, key, f"{prefix}{dot}{key}") for prefix, dot, key in (name.partition(".") for name in names))
    return {
        key: name
        for prefix, key, name in found
        if key and _PREFIXES.get(prefix) == kind and (kind, key) != ("score", _COMMENTS)
    }


def _asked(row: Row) -> str | None:
    return item_of(*({key: row[name] for key, name in _parts(tuple(row), kind).items()} for kind in ("in", "ref")))


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
            key, value = as_text(score.get("key")) or "", score.get("score")
            given.setdefault(key, []).append(score.get("value") if value is None else value)
            low, high = (as_number(get(score, "feedback_config", end)) for end in ("min", "max"))
            if low is not None and high is not None and low < high and (low, high) != (0.0, 1.0):
                file.metric(key, low=low, high=high, kind="bounded", unit=None)
        scores = row["scores"] = {key: values[0] for key, values in given.items()}
        for key, values in given.items():
            if len(values) > 1:
                numbers = [number for value in values if (number := as_number(value)) is not None]
                scores[key] = fmean(numbers) if numbers else None
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
