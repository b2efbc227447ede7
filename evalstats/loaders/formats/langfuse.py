"""Langfuse: exports of traces and observations with their scores, and scores by themselves (export or API).

A trace or observation is a sample: its item is a digest of its input, so that two experiments on one dataset pair, and its
scores are the columns after `comments`. A score by itself names its trace and no input: the trace is the item, annotators are
judges, and scores of people and of evaluators are ratings too. Observations name their model; traces do where their metadata do.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from evalstats.loaders.format import JSON, OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.records import cell_value, item_of
from evalstats.loaders.rows import Row, held, score_of, unscored
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_time, get

_SHAPES: Final = (*JSON, "text")
_PROJECT: Final = re.compile(r"-lf-[a-z_]+-export-(?P<project>[^.]+)")
_NUMBERS: Final = frozenset({"NUMERIC", "BOOLEAN"})
_REMARKS: Final = frozenset({"TEXT", "CORRECTION"})
_RATER: Final = {"ANNOTATION": "human", "EVAL": "judge"}
_WITHOUT: Final = "{n} of {all} rows have no score and give no outcome"
_SEVERAL: Final = "{n} samples have several scores of one name; their mean is taken"
_TEXTS: Final = "{n} scores are remarks or corrections and no scores"

File = FormatFile[dict[str, Any]]


def _rows(record: dict[str, Any], file: File) -> Iterator[Sample]:
    if "dataType" in record:
        return _score(record, file)
    return _sample(record, file)


def _sample(record: Row, file: File) -> Iterator[Sample]:
    """Read a trace or an observation; its scores are lists, in CSV as JSON."""
    scores: list[tuple[str, list[object]]] = []
    for name in _scores_of(tuple(record)):
        if record[name] is not None and (values := as_list(cell_value(record[name]))):
            file.count(_SEVERAL, int(len(values) > 1))
            scores.append((name, values))
    if not scores:
        file.count(_WITHOUT)
        return
    metadata = as_dict(cell_value(record.get("metadata")))
    trace = as_text(record.get("traceId")) or as_text(record.get("id")) or ""
    item = item_of(cell_value(record.get("input"))) or trace
    run = file.run(as_text(record.get("model")) or as_text(metadata.get("model")))
    means = [(name, values, _mean(values)) for name, values in scores]
    label = "the score is a label and no number"
    outcomes = [(name, unscored(label, held(values)) if mean is None else number(mean)) for name, values, mean in means]
    if record.get("level") == "ERROR" and "traceId" in record:
        reason = as_text(record.get("statusMessage")) or "the call failed; the file does not say why"
        outcomes = [(name, unscored(reason, held(mean), error=True)) for name, _, mean in means]
    yield (
        {
            "run": run,
            "item": item,
            "latency_s": record.get("latency"),
            "cost_usd": record.get("totalCost"),
            # 0 stands for usage that is not known.
            "input_tokens": record.get("inputUsage", record.get("inputTokens")) or None,
            "output_tokens": record.get("outputUsage", record.get("outputTokens")) or None,
            "timestamp": record.get("timestamp", record.get("startTime")),
            **_about(record, file, trace, record.get("name"), record.get("tags")),
            "release": as_text(record.get("release")),
            "version": as_text(record.get("version")),
            **file.factors.of(metadata),
        },
        outcomes,
    )


@lru_cache
def _scores_of(members: tuple[str, ...]) -> tuple[str, ...]:
    return members[members.index("comments") + 1 :] if "comments" in members else ()


def _mean(values: list[object]) -> object:
    """Return the number among scores of one name, or their mean; None where one is a label."""
    if len(values) == 1 and isinstance(values[0], int | float):
        return values[0]
    numbers = [found for value in values if isinstance(value, int | float) and (found := as_number(value)) is not None]
    return None if len(numbers) < len(values) else sum(numbers) / len(numbers)


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


FORMAT: Final = Format(
    name="langfuse",
    title="Langfuse exports of traces, observations and scores (.csv, .json, .jsonl)",
    version="1",
    upstream="langfuse/langfuse at 6275144, worker/src/features/database-read-stream/getDatabaseReadStream.ts",
    benchmark="Langfuse",
    harness="Langfuse",
    signs=(
        Sign("id timestamp name userId sessionId release version tags bookmarked public comments", shapes=_SHAPES),
        Sign("id traceId type startTime parentObservationId level model comments", shapes=_SHAPES),
        Sign("id traceId source name dataType value stringValue", some="datasetRunId observationId", shapes=_SHAPES),
        Sign("data meta", text=('"dataType"', '"source"', '"traceId"'), shapes=OBJECT),
        Sign("data meta", text=('"dataType"', '"source"', '"subject"'), shapes=OBJECT),
    ),
    record=dict[str, Any],
    rows=_rows,
    lists=("data",),
    called="rows",
    repeated=True,
    failed="{n} scores are of calls that failed; they are errors whatever was scored",
    unscored="{n} scores are labels and no numbers; they are unscored",
    naming="Export each experiment to a file of its own, and name the file after its model",
)
