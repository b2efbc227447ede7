"""Label Studio: exports of annotations (JSON): an annotator's result is a rating, or a vote on two answers.

The task is the item, the annotator the rater, the control's name the criterion: choices and taxonomies are labels, ratings and
numbers values. Predictions are ratings by their model's version, as a judge. Of an annotator's several annotations of a task the
latest counts; skipped ones do not. A `Pairwise` result is a vote of the left answer against the right; the models are those that
the task's data name. Regions and texts are no ratings.
"""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import JSON, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row, held
from evalstats.loaders.values import as_dict, as_list, as_text, as_time

UPSTREAM: Final = (
    "HumanSignal/label-studio-sdk at 97fcff1, src/label_studio_sdk/converter and label_interface/control_tags.py"
)
# Members of a task's data that name the models of its two answers, the left first.
_SIDES: Final = (
    ("model_a", "model_b"),
    ("left_model", "right_model"),
    ("model_left", "model_right"),
    ("model_1", "model_2"),
    ("model1", "model2"),
)
_SKIPPED: Final = "{n} annotations were skipped by their annotator and hold no rating"
_UNNAMED: Final = (
    "{n} votes are of the left answer against the right, since the tasks' data name no models (as model_a and model_b); they say "
    "which side won and not who"
)


class ResultValue(Struct):
    """What a control gave: one of these, or something that is no rating."""

    choices: Any = None
    rating: Any = None
    number: Any = None
    taxonomy: Any = None
    selected: Any = None


class _Result(Struct):
    from_name: Any = None
    # What a result on a part of the item, a region, is tied to.
    parentID: Any = None  # noqa: N815 - the file's name
    value: ResultValue | None = None


class _Annotation(Struct):
    id: Any = None
    completed_by: Any = None
    model_version: Any = None
    result: list[_Result] | None = None
    was_cancelled: Any = None
    skipped: Any = None
    ground_truth: Any = None
    created_at: Any = None
    updated_at: Any = None


class _Task(Struct):
    id: Any
    data: Any = None
    annotations: list[_Annotation] | None = None
    completions: list[_Annotation] | None = None
    predictions: list[_Annotation | int] | None = None


def _rows(task: _Task, file: FormatFile[_Task]) -> Iterable[Sample]:
    item = as_text(task.id)
    if not item:
        file.leave_out("no id")
        return ()
    file.no_model_run()
    made = [("human", each) for each in task.annotations or task.completions or []]
    made += [("judge", each) for each in task.predictions or [] if isinstance(each, _Annotation)]
    for kind, annotation in sorted(made, key=lambda pair: as_text(pair[1].updated_at or pair[1].created_at) or ""):
        if annotation.was_cancelled is True or annotation.skipped is True:
            file.count(_SKIPPED)
            continue
        known: Row = {"rater_kind": kind, "timestamp": as_time(annotation.updated_at or annotation.created_at)}
        known["ground_truth"] = annotation.ground_truth is True
        who, data = _rater(kind, annotation), as_dict(task.data)
        for result in annotation.result or []:
            if result.value is not None and result.parentID is None:
                take(file, (item, as_text(result.from_name) or "", who), result.value, data, known)
    return ()


def _rater(kind: str, annotation: _Annotation) -> str:
    if kind == "judge":
        return as_text(annotation.model_version) or "prediction"
    who = annotation.completed_by
    return as_text(as_dict(who).get("email")) or as_text(as_dict(who).get("id")) or as_text(who) or "annotator"


def take(file: FormatFile[Any], key: tuple[str, str, str], value: ResultValue | str, data: Row, known: Row) -> None:
    """Make a rating or a vote of one result; `key` is the task, the control and who gave it."""
    item, criterion, rater = key
    if isinstance(value, str) or value.selected is None:
        answer = value if isinstance(value, str) else _answer(value)
        file.rate(item, criterion, answer, rater=rater, model=as_text(data.get("model")), **known)
        return
    names = ((as_text(data.get(a)), as_text(data.get(b))) for a, b in _SIDES)
    named = next(((left, right) for left, right in names if left and right), None)
    left, right = named or ("left", "right")
    file.count(_UNNAMED, int(named is None))
    outcome = {"left": "a", "right": "b"}.get(as_text(value.selected) or "")
    battle, again = ".".join(filter(None, key)), file.trial("battle", *key)
    row: Row = {
        "run": file.no_model_run(),
        "battle": f"{battle}.{again}" if again else battle,
        "item": item,
        "rater": rater,
    }
    row |= {"model_a": left, "model_b": right, "outcome": outcome, "value_raw": held(value.selected), "setting": "lab"}
    reason = None if outcome else "neither left nor right was selected"
    row |= {"status": "scored" if outcome else "unscored", "status_reason": reason, "criterion": criterion}
    file.add("comparisons", row | {"timestamp": known["timestamp"]})


def _answer(value: ResultValue) -> object:
    """Return a number, a label, or a list of labels; None for a region or a text."""
    for number in (value.rating, value.number):
        if number is not None:
            return number
    paths = [as_list(path) or [path] for path in as_list(value.taxonomy)]
    labels = as_list(value.choices) or [" / ".join(filter(None, map(as_text, path))) for path in paths]
    return labels[0] if len(labels) == 1 else labels or None


FORMAT: Final = Format(
    name="label-studio",
    title="Label Studio exports (JSON)",
    version="1",
    upstream=UPSTREAM,
    benchmark="Label Studio",
    harness="Label Studio",
    signs=(
        Sign(
            "id data annotations",
            0.9,
            some="total_annotations file_upload inner_id project drafts predictions",
            shapes=JSON,
        ),
        Sign("id data annotations", 0.85, text=('"from_name"', '"to_name"'), shapes=JSON),
        Sign("id data completions", 0.85, text=('"from_name"', '"to_name"'), shapes=JSON),
    ),
    record=_Task,
    rows=_rows,
    at=(".",),
    called="tasks",
)
