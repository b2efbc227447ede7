"""Arize Phoenix: the runs of an experiment (JSON or CSV) and annotations of spans (the API's answer, or a table of them).

An example is an item, its repetitions are trials, annotations are metrics. A run whose task failed is an error in all of them.
Annotations of spans are scores of the span and ratings as well: identifiers and users are the raters.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from evalstats.loaders.files import cell_value
from evalstats.loaders.format import FAILED, OBJECT, RECORDS, UNSCORED, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import InEvery, number
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_count, as_dict, as_number, as_text, as_time, dicts, first_line

_SHAPES: Final = (*RECORDS, "text")
_COLUMN: Final = re.compile(r"annotation_(?P<name>.+)_(?P<part>label|score|error)", re.DOTALL)

File = FormatFile[dict[str, Any]]


def _run(record: Row, file: File) -> Iterator[Sample]:
    item = as_text(record.get("example_id"))
    if item is None:
        file.leave_out("no example_id")
        return
    repetition, latency = as_count(record.get("repetition_number")), as_number(record.get("latency_ms"))
    trace = as_text(record.get("trace_id"))
    trial = repetition - 1 if repetition else file.trial(item)
    if file.again(item, trial):
        file.leave_out("repeated runs")
        return
    common: Row = {
        "run": file.run(None),
        "item": item,
        "trial": trial,
        "latency_s": None if latency is None else latency / 1000,
        "input_tokens": record.get("prompt_token_count"),
        "output_tokens": record.get("completion_token_count"),
        "timestamp": record.get("start_time"),
        "link": trace and f"/redirects/traces/{trace}",
        **file.factors.of(as_dict(cell_value(record.get("metadata")))),
    }
    annotations = _annotations(record)
    file.gives(None, *annotations)  # also of a run that failed
    if error := first_line(record.get("error")):
        yield common, InEvery(unscored(error, error=True))
    elif annotations:
        yield common, [(metric, _outcome(found)) for metric, found in annotations.items()]
    else:
        yield common, InEvery(unscored("there is no annotation"))


def _span(record: Row, file: File) -> Iterator[Sample]:
    span, name = as_text(record.get("span_id")), as_text(record.get("name", record.get("annotation_name")))
    if not span or not name:
        file.leave_out("no span_id" if not span else "no name")
        return
    result = as_dict(record.get("result")) or {
        part: record.get(f"result.{part}", record.get(part)) for part in ("score", "label")
    }
    outcome, kind = _outcome(result), as_text(record.get("annotator_kind"))
    rater = as_text(record.get("identifier")) or as_text(record.get("user_id")) or kind
    run, time = file.run(None), as_time(record.get("created_at"))
    trial = file.trial(span, name, rater)
    if kind in {"HUMAN", "LLM"} and not trial:
        rating: Row = {"item": span, "run": run, "rater": rater, "criterion": name, "timestamp": time}
        value = outcome if isinstance(outcome, float) else None
        told = {"value": value, "label": as_text(result.get("label"))}
        file.add("ratings", {**rating, "rater_kind": "human" if kind == "HUMAN" else "judge", **told})
    common: Row = {"run": run, "item": span, "trial": trial, "judge": rater, "timestamp": time}
    more = {"annotator_kind": kind, "link": f"/redirects/spans/{span}"}
    yield {**common, **more}, [(name, outcome)]


def _annotations(record: Row) -> dict[str, Row]:
    """Return the annotations of a run by name, from a list or from columns."""
    found: dict[str, Row] = {}
    for annotation in dicts(record.get("annotations")):
        if name := as_text(annotation.get("name")):
            found[name] = annotation
    for column, cell in record.items():
        if cell is not None and (part := _COLUMN.fullmatch(column)):
            found.setdefault(part["name"], {})[part["part"]] = cell
    return found


def _outcome(annotation: Row) -> Said:
    if error := first_line(annotation.get("error")):
        return unscored(error, held(annotation.get("score")), error=True)
    score, label = annotation.get("score"), annotation.get("label")
    if score is None and label is not None:
        return unscored("the annotation is a label and no number", held(label))
    return number(score if (found := as_number(score)) is None or isinstance(score, bool) else found)


FORMAT: Final = Format(
    name="phoenix",
    title="Arize Phoenix experiments and annotations (.json, .csv)",
    version="1",
    upstream="Arize-ai/phoenix at 9478f95, src/phoenix/server/api/routers/v1/experiments.py",
    benchmark="Phoenix",
    harness="Phoenix",
    signs=(
        Sign("example_id repetition_number reference_output latency_ms trace_id", shapes=_SHAPES),
        Sign("span_id annotator_kind identifier", some="result result.score score result.label", shapes=_SHAPES),
        Sign("data next_cursor", text=('"span_id"', '"annotator_kind"'), shapes=OBJECT),
    ),
    record=dict[str, Any],
    rows=lambda record, file: _span(record, file) if "span_id" in record else _run(record, file),
    at=("data",),
    called="rows",
    metrics={"annotation": {}},
    counts={
        "{n} annotations are errors: the task or the evaluator failed": FAILED,
        "{n} annotations have no number; they are unscored": UNSCORED,
    },
)
