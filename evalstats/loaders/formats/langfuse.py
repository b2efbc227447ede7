"""Langfuse: exports of traces and observations with their scores, and scores by themselves (export or API).

A trace or observation is a sample: its item is a digest of its input, so that two experiments on one dataset pair, and its
scores are the columns after `comments`. A score by itself names its trace and no input: the trace is the item, annotators are
judges, and scores of people and of evaluators are ratings too. Observations name their model; traces do where their metadata do.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final, cast

import numpy as np
import polars as pl
from msgspec import UNSET, UnsetType

from evalstats.loaders.files import cell_value
from evalstats.loaders.format import FAILED, JSON, OBJECT, UNSCORED, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import members_of, number
from evalstats.loaders.rows import Row, Said, held, item_of, score_of, unscored
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_time, get

_SHAPES: Final = (*JSON, "text")
_PROJECT: Final = re.compile(r"-lf-[a-z_]+-export-(?P<project>[^.]+)")
_NUMBERS: Final = frozenset({"NUMERIC", "BOOLEAN"})
_REMARKS: Final = frozenset({"TEXT", "CORRECTION"})
_RATER: Final = {"ANNOTATION": "human", "EVAL": "judge"}
_NO_SCORE: Final = "{n} of {all} rows have no score and give no outcome"
_TEXTS: Final = "{n} scores are remarks or corrections and no scores"

File = FormatFile[dict[str, Any]]


def _with_scores(rows: list[Row], file: File) -> tuple[Sequence[Row], pl.Series]:
    """Return the rows that have a score: a member behind `comments` that is no empty list."""
    names = members_of(rows)
    names = names[names.index("comments") + 1 :] if "comments" in names else []
    file.kept["scores"] = {name: name for name in names}
    for row in rows if file.head.shape == "text" else ():
        row |= {name: cell_value(row.get(name)) for name in ("input", "metadata", "tags", *names)}
    kept = np.zeros(len(rows), np.bool_)
    for name in names:
        kept |= [len(as_list(row.get(name))) > 0 for row in rows]
    file.count(_NO_SCORE, len(rows) - int(kept.sum()))
    return [*compress(rows, kept)], file.locators.filter(pl.Series(kept))


def _mean(value: object) -> Said | UnsetType:
    """Return the number among scores of one name, or their mean."""
    values = as_list(value)
    if len(values) == 1 and type(values[0]) is float:
        return number(values[0])
    numbers = [found for each in values if isinstance(each, int | float) and (found := as_number(each)) is not None]
    if not values:
        return UNSET
    if len(numbers) < len(values):
        return unscored("the score is a label and no number", held(values))
    return number(sum(numbers) / len(numbers))


def _arranged(frame: pl.DataFrame, file: File) -> pl.DataFrame:
    found = _PROJECT.search(file.path.name)
    project = pl.coalesce("_project", pl.lit(found["project"] if found else None, pl.String))
    failed = (pl.col("_level") == "ERROR") & pl.col("_trace").is_not_null()
    trace = pl.coalesce("_trace", "_id")
    return frame.with_columns(
        item=pl.coalesce("item", trace),
        error=pl.when(failed).then(pl.coalesce("_message", pl.lit("the call failed; the file does not say why"))),
        link=pl.format("/project/{}/traces/{}", project, trace),
        # 0 stands for usage that is not known.
        **{name: pl.when(pl.col(name) != 0).then(name) for name in ("input_tokens", "output_tokens")},
    )


def _score(record: Row, file: File) -> Iterator[Sample]:
    """Read a score by itself."""
    kind, name = as_text(record.get("dataType")), as_text(record.get("name"))
    trace = as_text(record.get("traceId")) or as_text(get(record, "subject", "traceId"))
    others = record.get("sessionId"), record.get("datasetRunId"), get(record, "subject", "id")
    item = next(filter(None, (trace, *map(as_text, others))), None)
    if kind in _REMARKS:
        file.count(_TEXTS)
        return
    if name is None or item is None:
        file.leave_out("no name" if name is None else "nothing that was scored")
        return
    value = record.get("value")
    label = record.get("stringValue") or value
    # A category's number is 0 unless a configuration maps it.
    if kind in _NUMBERS:
        outcome = number(float(value) if isinstance(value, bool) else value)
    else:
        outcome = unscored("the score is a label and no number", held(label))
    observation = as_text(record.get("observationId")) or ""
    if not observation and get(record, "subject", "kind") == "observation":
        observation = as_text(get(record, "subject", "id")) or ""
    source = as_text(record.get("source"))
    author = as_text(record.get("authorUserName")) or as_text(record.get("authorUserId"))
    run, time = file.run(None), record.get("timestamp")
    key = (item, observation, name, author or "")
    if source in _RATER and not file.again(source, *key):
        rating: Row = {"item": item, "variant": observation, "run": run, "rater": author or source, "criterion": name}
        told = {"value": score_of(outcome), "label": None if kind in _NUMBERS else as_text(label)}
        file.add("ratings", {**rating, "rater_kind": _RATER[source], **told, "timestamp": as_time(time)})
    about = as_dict(record.get("trace"))
    yield (
        {
            "run": run,
            "item": item,
            "variant": observation,
            "trial": file.trial(*key),
            "judge": author,
            "timestamp": time,
            **_about(
                {**record, **about} if about else record,
                file,
                trace or "",
                record.get("traceName"),
                record.get("traceTags"),
            ),
            "source": source,
        },
        [(name, outcome)],
    )


def _about(record: Row, file: File, trace: str, name: object, tags: object) -> Row:
    """Return what a trace says of itself; the address in the viewer follows the server's."""
    if "project" not in file.kept:
        found = _PROJECT.search(file.path.name)
        file.kept["project"] = found["project"] if found else None
    project = as_text(record.get("projectId")) or file.kept["project"]
    return {
        "user": as_text(record.get("userId")),
        "session": as_text(record.get("sessionId")),
        "environment": as_text(record.get("environment")),
        "trace_name": as_text(name) or None,
        "tags": [tag for part in as_list(cell_value(tags)) if (tag := as_text(part))],
        "link": f"/project/{project}/traces/{trace}" if project and trace else None,
    }


FORMAT: Final[Format[Any]] = Format(
    name="langfuse",
    title="Langfuse exports of traces and observations (.csv, .json, .jsonl)",
    version="1",
    upstream="langfuse/langfuse at 6275144, worker/src/features/database-read-stream/getDatabaseReadStream.ts",
    benchmark="Langfuse",
    harness="Langfuse",
    signs=(
        Sign("id timestamp name userId sessionId release version tags bookmarked public comments", shapes=_SHAPES),
        Sign("id traceId type startTime parentObservationId level model comments", shapes=_SHAPES),
    ),
    record=dict[str, Any],
    fields={
        "item": lambda row: item_of(row.get("input")),
        "model": "model metadata.model",
        "latency_s": "latency",
        "cost_usd": "totalCost",
        "input_tokens": "inputUsage inputTokens",
        "output_tokens": "outputUsage outputTokens",
        "timestamp": "timestamp startTime",
        "user": "userId",
        "session": "sessionId",
        "environment": "environment",
        "trace_name": "name",
        "tags": "tags",
        "release": "release",
        "version": "version",
        "_trace": "traceId",
        "_id": "id",
        "_project": "projectId",
        "_level": "level",
        "_message": "statusMessage",
        "*": "metadata",
    },
    inner=_with_scores,
    scores=lambda _, file: cast("dict[str, str]", file.kept["scores"]),
    reads=_mean,
    arranged=_arranged,
    called="rows",
    repeated=True,
    counts={
        "{n} scores are of calls that failed; they are errors whatever was scored": FAILED,
        "{n} scores are labels and no numbers; they are unscored": UNSCORED,
    },
    naming="Export each experiment to a file of its own, and name the file after its model",
)

SCORES: Final = replace(
    FORMAT,
    name="langfuse-scores",
    title="Langfuse exports of scores (.csv, .json, .jsonl)",
    signs=(
        Sign("id traceId source name dataType value stringValue", some="datasetRunId observationId", shapes=_SHAPES),
        Sign("data meta", text=('"dataType"', '"source"', '"traceId"'), shapes=OBJECT),
        Sign("data meta", text=('"dataType"', '"source"', '"subject"'), shapes=OBJECT),
    ),
    fields={},
    inner=None,
    rows=_score,
    at=("data",),
)
