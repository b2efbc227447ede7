"""Label Studio: exports of annotations (JSON, JSON_MIN, CSV): an annotator's result is a rating, or a vote on two answers.

The task is the item, the annotator the rater, the control's name the criterion: choices and taxonomies are labels, ratings and
numbers values. Predictions are ratings by their model's version, as a judge. Of an annotator's several annotations of a task the
latest counts; skipped ones do not. A `Pairwise` result is a vote of the left answer against the right; the models are those that
the task's data name. Regions and texts are no ratings.

JSON_MIN and CSV put the task's data and the annotator's results into one row, and only the project's settings tell which is
which. Results are the members between `id` and `annotator` (JSON_MIN, whose data come first), those written as a list of results,
and those that differ between annotations of one task.
"""

from collections.abc import Iterable
from typing import Any, Final, cast

from msgspec import Struct, ValidationError, convert

from evalstats.errors import UnreadableFileError
from evalstats.loaders.format import JSON, Format, FormatFile, Sample, Sign
from evalstats.loaders.records import cell_value
from evalstats.loaders.rows import Row, held
from evalstats.loaders.values import as_dict, as_list, as_text, as_time

# Members of a task's data that name the models of its two answers, the left first.
_SIDES: Final = (
    ("model_a", "model_b"),
    ("left_model", "right_model"),
    ("model_left", "model_right"),
    ("model_1", "model_2"),
    ("model1", "model2"),
)
# What every row of a JSON_MIN or CSV export says of its annotation.
_OF_ROW: Final = frozenset(
    {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history"}
)
# A longer cell is a text.
_MOST_CHARS: Final = 1_000
_SKIPPED: Final = "{n} annotations were skipped by their annotator and hold no rating"
_UNNAMED: Final = (
    "{n} votes are of the left answer against the right, since the tasks' data name no models (as model_a and model_b); they say "
    "which side won and not who"
)


class _Value(Struct):
    choices: Any = None
    rating: Any = None
    number: Any = None
    taxonomy: Any = None
    selected: Any = None


class _Result(Struct):
    from_name: Any = None
    # What a result on a part of the item, a region, is tied to.
    parentID: Any = None  # noqa: N815 - the file's name
    value: _Value | None = None


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
                _take(file, (item, as_text(result.from_name) or "", who), result.value, data, known)
    return ()


def _rater(kind: str, annotation: _Annotation) -> str:
    if kind == "judge":
        return as_text(annotation.model_version) or "prediction"
    who = annotation.completed_by
    return as_text(as_dict(who).get("email")) or as_text(as_dict(who).get("id")) or as_text(who) or "annotator"


def _take(file: FormatFile[Any], key: tuple[str, str, str], value: _Value | str, data: Row, known: Row) -> None:
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


def _answer(value: _Value) -> object:
    """Return a number, a label, or a list of labels; None for a region or a text."""
    for number in (value.rating, value.number):
        if number is not None:
            return number
    paths = [as_list(path) or [path] for path in as_list(value.taxonomy)]
    labels = as_list(value.choices) or [" / ".join(filter(None, map(as_text, path))) for path in paths]
    return labels[0] if len(labels) == 1 else labels or None


def _keep(row: dict[str, Any], file: FormatFile[dict[str, Any]]) -> Iterable[Sample]:
    if not as_text(row.get("id")) or row.get("annotation_id") is None:
        file.leave_out("no id" if row.get("annotation_id") is not None else "no annotation")
        return ()
    kept: Row = {name: cell for name, cell in row.items() if not isinstance(cell, str) or len(cell) <= _MOST_CHARS}
    _kept_rows(file).append(kept)
    return ()


def _kept_rows(file: FormatFile[dict[str, Any]]) -> list[Row]:
    return cast("list[Row]", file.kept.setdefault("rows", []))


def _finish_rows(file: FormatFile[dict[str, Any]]) -> None:
    rows = _kept_rows(file)
    criteria = _criteria(rows, in_order=file.records.head.shape != "text")
    if rows and not criteria:
        raise UnreadableFileError(
            f"{file.path}: does not tell the annotators' results from the tasks' data, as no task was annotated twice; "
            "export the project as JSON, or read the table by its columns (evalstats judges FILE --map value=COLUMN "
            "--map rater=annotator --map item=id)"
        )
    for row in sorted(rows, key=lambda row: as_text(row.get("updated_at") or row.get("created_at")) or ""):
        known: Row = {"rater_kind": "human", "timestamp": as_time(row.get("updated_at") or row.get("created_at"))}
        for name in criteria:
            found = _results(row.get(name))
            value = row.get(name) if found is None else found
            if isinstance(value, _Value | str) and value != "":
                _take(
                    file,
                    (as_text(row["id"]) or "", name, as_text(row.get("annotator")) or "annotator"),
                    value,
                    row,
                    known,
                )


def _criteria(rows: list[Row], *, in_order: bool) -> list[str]:
    """Return the members that hold results."""
    found: dict[str, None] = {}
    first: dict[tuple[str | None, str], object] = {}
    for row in rows:
        names = [*row]
        # With `id` at the head the data hold one of their own, and the order tells nothing.
        if in_order and names[0] != "id" and "annotator" in names:
            found |= dict.fromkeys(names[names.index("id") + 1 : names.index("annotator")])
        for name in names:
            if name not in _OF_ROW and (_results(row[name]) is not None or _differs(first, row, name)):
                found.setdefault(name)
    return [*found]


def _differs(first: dict[tuple[str | None, str], object], row: Row, name: str) -> bool:
    return first.setdefault((as_text(row["id"]), name), row[name]) != row[name]


def _results(value: object) -> _Value | None:
    """Return the one result that a cell lists; None where it holds something else."""
    value = cell_value(value)
    if not isinstance(value, list) or len(cast("list[object]", value)) != 1:
        return None
    try:
        found = convert(cast("list[object]", value)[0], _Value)
    except ValidationError:
        return None
    return found if found != _Value() else None


_UPSTREAM: Final = (
    "HumanSignal/label-studio-sdk at 97fcff1, src/label_studio_sdk/converter and label_interface/control_tags.py"
)

FORMAT: Final = Format(
    name="label-studio",
    title="Label Studio exports (JSON)",
    version="1",
    upstream=_UPSTREAM,
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
    alone=True,
    called="tasks",
)

ROWS: Final = Format(
    name="label-studio-rows",
    title="Label Studio exports, a row an annotation (JSON_MIN, CSV)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="Label Studio",
    harness="Label Studio",
    signs=(Sign("id annotator annotation_id created_at updated_at lead_time", 0.9, shapes=("array", "text")),),
    record=dict[str, Any],
    rows=_keep,
    finish=_finish_rows,
    called="annotations",
)
