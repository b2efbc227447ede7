"""W&B Weave: evaluations as the API answers, grouped by row (`eval_results/query`) or as calls (`predict_and_score`).

A row of the dataset is an item by its digest, the same in all evaluations; numbers and verdicts that a scorer returns, however
deep, are metrics `scorer/key`. A call that raised, or whose model did, is an error in all metrics. Texts of scorers are reasons.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, cast

from msgspec import UNSET, Struct

from evalstats.loaders.format import FAILED, OBJECT, RECORDS, UNSCORED, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import InEvery, number, verdict
from evalstats.loaders.rows import Row, Said, item_of, unscored
from evalstats.loaders.typed_records import Other
from evalstats.loaders.values import as_dict, as_text, dicts, first_line, get

# weave:///entity/project/object/name:digest, and what a row of a dataset adds to it.
_REFERENCE: Final = re.compile(r"weave://.*?/object/(?P<name>[^:/]+):(?P<digest>[^/]+)(?:/.*)?")
_OPERATION: Final = re.compile(r"(?:.*/op/)?Evaluation\.predict_and_score(?::.*)?")
_DEEPEST: Final = 4
_NUMBERS: Final = (int, float)
_TEXTS: Final = "{n} values of scorers are texts or lists and no scores"
_OTHER_CALLS: Final = "{n} calls are not predict_and_score and are skipped"


class _Inputs(Struct):
    model: Any = None
    example: Any = None


class _Output(Struct):
    output: Any = UNSET
    model_output: Any = None
    scores: Any = None
    model_latency: Any = None


class _Record(Struct):
    """A row of the dataset with its evaluations, or a call."""

    row_digest: Any = None
    evaluations: Any = None
    op_name: Any = UNSET
    inputs: _Inputs | Other = None
    output: _Output | Other = None
    project_id: Any = None
    trace_id: Any = None
    id: Any = None
    started_at: Any = None
    exception: Any = None


File = FormatFile[_Record]


def _finish(file: File) -> None:
    """Name the models and evaluations that the summary names."""
    for evaluation in dicts(get(file.members.get("summary"), "evaluations")):
        model, name = _name(evaluation.get("model_ref")), as_text(evaluation.get("display_name"))
        for run in file.runs.values():
            if run["model"] == evaluation.get("evaluation_call_id"):
                run.update(model=model or name or run["model"], system=name or model or run["model"])


def _row(record: _Record, file: File) -> Iterator[Sample]:
    item = as_text(record.row_digest)
    if not item:
        file.leave_out("no row_digest")
        return
    for evaluation in dicts(record.evaluations):
        run = file.run(as_text(evaluation.get("evaluation_call_id")) or file.source.called)
        for trial in dicts(evaluation.get("trials")):
            common: Row = {
                "run": run,
                "item": item,
                "latency_s": trial.get("model_latency_seconds"),
                "cost_usd": trial.get("total_cost"),
            }
            failed = "the model's call failed" if trial.get("model_output") is None else None
            yield _scores(common, trial.get("scores"), failed, file)


def _call(record: _Record, file: File) -> Iterator[Sample]:
    given = record.inputs if isinstance(record.inputs, _Inputs) else _Inputs()
    if not _is_operation(as_text(record.op_name) or ""):
        file.count(_OTHER_CALLS)
        return
    example = given.example
    item = example.rpartition("/")[2] if isinstance(example, str) else item_of(example)
    if not item:
        file.leave_out("no example")
        return
    output = record.output if isinstance(record.output, _Output) else _Output()
    project, call = as_text(record.project_id), as_text(record.id)
    run = file.run(_name(given.model), as_text(record.trace_id) or "")
    common: Row = {
        "run": run,
        "item": item,
        "latency_s": output.model_latency,
        "timestamp": record.started_at,
        "link": f"https://wandb.ai/{project}/r/call/{call}" if project and call else None,
    }
    raised = first_line(record.exception)
    answer = output.model_output if output.output is UNSET else output.output
    failed = raised or ("the model's call failed" if answer is None else None)
    yield _scores(common, output.scores, failed, file)


def _scores(common: Row, scores: object, failed: str | None, file: File) -> Sample:
    outcomes: dict[str, Said] = {}
    _take_leaves(outcomes, "", scores, file)
    return common, [*outcomes.items()] or InEvery(unscored(failed or "the scorers gave no value", error=bool(failed)))


def _take_leaves(found: dict[str, Said], name: str, value: object, file: File, deep: int = 0) -> None:
    if isinstance(value, dict) and deep < _DEEPEST:
        for key, part in as_dict(cast("object", value)).items():
            _take_leaves(found, f"{name}/{key}" if name else key, part, file, deep + 1)
    elif isinstance(value, bool):
        found[name] = verdict(value)
    elif value is None and name:
        found[name] = unscored("the scorer gave no value")
    elif isinstance(value, _NUMBERS):
        found[name] = number(value)
    elif name and not name.rpartition("/")[2].startswith("_"):
        file.count(_TEXTS)


@lru_cache(maxsize=100)  # calls of one evaluation name the same
def _is_operation(name: str) -> bool:
    return _OPERATION.fullmatch(name) is not None


def _name(reference: object) -> str | None:
    text = as_text(reference) or as_text(get(reference, "name"))
    return None if text is None else _short_name(text)


@lru_cache(maxsize=100)
def _short_name(text: str) -> str:
    """Return the name of an object and a few characters of its version: "MyModel:a1b2c3"."""
    found = _REFERENCE.fullmatch(text)
    return f"{found['name']}:{found['digest'][:6]}" if found else text


FORMAT: Final = Format(
    name="weave",
    title="W&B Weave evaluations (answers of eval_results/query, calls)",
    version="1",
    upstream="wandb/weave at 017ff8b, weave/evaluation/eval.py; weave 0.54.0, v2_eval_result_query_response.py",
    benchmark="Weave",
    harness="Weave",
    signs=(
        Sign("rows total_rows", text=('"row_digest"', '"evaluations"'), shapes=OBJECT),
        Sign("op_name trace_id inputs", text=("Evaluation.predict_and_score",), shapes=RECORDS),
    ),
    record=_Record,
    rows=lambda record, file: _row(record, file) if record.op_name is UNSET else _call(record, file),
    finish=_finish,
    at=("rows",),
    keep=("summary",),
    called="rows",
    repeated=True,
    counts={
        "{n} scores are of calls that failed; they are errors": FAILED,
        "{n} scores are missing; they are unscored": UNSCORED,
    },
    texts={"question": "inputs.example inputs", "answer": "output.output output.model_output output"},
)
