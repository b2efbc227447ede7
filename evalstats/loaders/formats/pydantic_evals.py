"""Pydantic Evals: an `EvaluationReport` as JSON (`EvaluationReportAdapter.dump_json`), one experiment a file.

A case is an item and its repetitions are trials. Scores are metrics as they are, assertions are right or wrong, labels have
no number. A case whose task raised is an error in all metrics; a failed evaluator, in the metrics that it gives elsewhere.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import FAILED, OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import InEvery, number, verdict
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_dict, as_text, dicts, first_line, get

_REPEATED: Final = re.compile(r" \[(\d{1,9})/\d+\]")
_LABELS: Final = "{n} results are labels and no numbers; they are unscored"


class _Case(Struct):
    name: str
    source_case_name: str | None = None
    metadata: Any = None
    scores: Any = None
    assertions: Any = None
    labels: Any = None
    metrics: Any = None
    task_duration: Any = None
    evaluator_failures: Any = None
    error_message: Any = None
    trace_id: Any = None


def _rows(record: _Case, file: FormatFile[_Case]) -> Iterator[Sample]:
    """Return the outcomes of a case's evaluators."""
    item = record.source_case_name or record.name
    repeated = _REPEATED.fullmatch(record.name.removeprefix(item))
    trial = int(repeated[1]) - 1 if repeated else file.trial(item)
    if file.again(item, trial):
        file.leave_out("repeated cases")
        return
    metrics = as_dict(record.metrics)
    common: Row = {
        "run": file.run(file.source.called, "all"),
        "item": item,
        "trial": trial,
        "latency_s": record.task_duration,
        "cost_usd": metrics.get("cost"),
        "input_tokens": metrics.get("input_tokens"),
        "output_tokens": metrics.get("output_tokens"),
        **file.factors.of(as_dict(record.metadata)),
    }
    if record.error_message is not None:
        yield common, InEvery(unscored(first_line(record.error_message) or "the task failed", error=True))
        return
    outcomes: list[tuple[str, Said]] = []
    for results, read in ((record.scores, number), (record.assertions, verdict), (record.labels, _label)):
        for metric, result in as_dict(results).items():
            outcomes.append((metric, read(get(result, "value"))))
            file.gives(as_text(get(result, "source", "name")) or metric, metric)
    file.count(_LABELS, len(as_dict(record.labels)))
    yield common, outcomes
    for failure in dicts(record.evaluator_failures):
        failed = unscored(first_line(failure.get("error_message")) or "the evaluator failed", error=True)
        name = as_text(get(failure, "source", "name")) or as_text(failure.get("name"))
        yield common, InEvery(failed, name or "evaluator")


def _finish(file: FormatFile[_Case]) -> None:
    """Name the model that the experiment's metadata name; its own name is that of the system."""
    members = file.members
    experiment = as_text(members.get("name")) or file.source.called
    model = as_text(get(members.get("experiment_metadata"), "model"))
    for run in file.runs.values():
        run.update(model=model or experiment, system=experiment)
    if not model:
        file.unnamed(experiment)


def _label(value: object) -> Row:
    return unscored("the result is a label and no number", held(value))


FORMAT: Final = Format(
    name="pydantic-evals",
    title="Pydantic Evals reports (EvaluationReport as .json)",
    version="1",
    upstream="pydantic/pydantic-ai at 4fda389, pydantic_evals/pydantic_evals/reporting/__init__.py",
    benchmark="Pydantic Evals",
    harness="pydantic-evals",
    signs=(
        Sign("name cases", some="failures analyses", text=('"assertions"', '"scores"'), shapes=OBJECT),
        Sign("name cases failures", text=('"error_stacktrace"',), shapes=OBJECT),
    ),
    record=_Case,
    rows=_rows,
    finish=_finish,
    metrics={"assertions": {}},
    at=("cases", "failures"),
    keep=("name", "experiment_metadata"),
    called="cases",
    counts={"{n} results are errors of the task or of an evaluator; upstream's averages drop them": FAILED},
    naming="Name it in the metadata that `evaluate` is given",
)
