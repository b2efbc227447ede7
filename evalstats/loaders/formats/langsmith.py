"""LangSmith: the results of one experiment as a table, as runs, or as its page offers them.

Read are `ExperimentResults.to_pandas()` and `Client.get_test_results()`; runs as `Client.list_runs()` gives them; and the CSV
file of an experiment's page, with whole inputs, outputs and reference in a cell each, where feedback is what holds numbers and is
no known fact. The item is a digest of inputs and reference, since the table of `get_test_results` names no example. A run that
failed is an error whatever its feedback says.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, cast

import polars as pl

from evalstats.loaders.files import cell_value
from evalstats.loaders.format import RECORDS, Format, FormatFile, Sign
from evalstats.loaders.record_columns import members_of
from evalstats.loaders.rows import Row, Said, as_row, held, item_of, score_of, unscored
from evalstats.loaders.values import as_number, times_of

_PREFIXES: Final = {"inputs": "in", "input": "in", "reference": "ref", "feedback": "score"}
_NO_VALUE: Final = frozenset({"", "nan", "none", "null", "<na>"})
_WORDS: Final = {"true": 1.0, "false": 0.0}
_COMMENTS: Final = "note"  # the key of free remarks, which are no feedback
_NO_NUMBER: Final = "the feedback is no number"
_BELOW: Final = "{n} runs belong to no example or lie below another run, and are dropped"


_NO_FEEDBACK: Final = "there is no feedback"


def _feedback(value: object) -> Said:
    word = value.strip().lower() if isinstance(value, str) else None
    if value is None or word in _NO_VALUE:
        return unscored(_NO_FEEDBACK, held(value))
    number = as_number(value)
    number = _WORDS.get(word or "") if number is None else number
    return unscored(_NO_NUMBER, held(value)) if number is None else number


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
        "item": _asked,
        "model": "model",
        "latency_s": "execution_time",
        "error": "error",
        "_example": "example_id reference_example_id",
    },
    scores=lambda rows, _: _parts(tuple(members_of(rows)), "score"),
    reads=_feedback,
    arranged=lambda frame, _: frame.with_columns(pl.coalesce("item", "_example")),
    repeated=True,
    called="rows",
    counts={
        "{n} values of feedback are labels or other text and no numbers; unscored": pl.col("status_reason")
        == _NO_NUMBER
    },
    expected="Results with inputs were expected, a row for each example",
)


def _exported(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    """Return runs of the API without those below a root, which have no example."""
    of_example = pl.col("item").is_not_null() & pl.col("_parent").is_null()
    kept = frame.filter(of_example)
    file.count(_BELOW, frame.height - kept.height)
    took = times_of(kept["_end"])[0] - kept["timestamp"]
    link = pl.format("https://smith.langchain.com{}", "_path")
    return kept.with_columns(link=link, latency_s=took.dt.total_microseconds() / 1e6)


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
    arranged=_exported,
    after=_without_comments,
)


# The facts in such a file; what else holds numbers is feedback. Columns may be renamed, so that spelling does not matter.
_FACTS: Final = re.compile(
    r"inputs|outputs|reference_outputs?|latency_seconds|model_name|(?:.*_)?(?:id|name|status|error|run|created_at|modified_at|start_time|end_time|latency|time"
    r"|duration|tokens?|cost|url|split|model|repetition|metadata|tags|notes?|comments?|first_token|)"
)


@lru_cache(maxsize=1_000)
def _fact(name: str) -> str | None:
    """Return the fact that a column of the page holds, in one spelling; None where it is feedback."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    return plain if _FACTS.fullmatch(plain) else None


def _page(rows: list[Row], file: FormatFile[Any]) -> tuple[list[Row], pl.Series]:
    found = [{_fact(name) or name: value for name, value in row.items()} for row in rows]
    for row in found if file.head.shape == "text" else ():
        row |= {name: cell_value(row.get(name)) for name in ("inputs", "reference_outputs", "reference_output")}
    return found, file.locators


def _asked_there(row: Row) -> str | None:
    return item_of(row.get("inputs"), row.get("reference_outputs", row.get("reference_output")))


def _failed(frame: pl.DataFrame, _: object) -> pl.DataFrame:
    reason = pl.when(pl.col("_status").str.to_lowercase() == "error").then(pl.lit("the run failed"))
    return frame.with_columns(pl.coalesce("item", "_example"), error=pl.coalesce("error", reason))


def _columns_of_feedback(rows: Sequence[Row], file: FormatFile[Any]) -> dict[str, str]:
    """Return the columns that are no known fact and hold numbers, or words for right and wrong, wherever they hold anything."""
    if "feedback" not in file.kept:
        said = {name: [_feedback(row.get(name)) for row in rows] for name in members_of(rows[:1]) if not _fact(name)}
        given = {
            name: [each for each in cells if as_row(each).get("status_reason") != _NO_FEEDBACK]
            for name, cells in said.items()
        }
        file.kept["feedback"] = {
            name: name for name, cells in given.items() if cells and all(score_of(each) is not None for each in cells)
        }
    return cast("dict[str, str]", file.kept["feedback"])


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
    fields={
        "item": _asked_there,
        "model": "model model_name",
        "latency_s": "latency latency_seconds",
        "error": "error",
        "_status": "status",
        "_example": "example_id",
    },
    scores=_columns_of_feedback,
    arranged=_failed,
)
