"""Comet Opik: the items of an experiment (`opik export`), or what the page of one or several experiments exports (CSV, JSON).

An item of the dataset is an item here, by its id, the same in all experiments; an item that was run again is a trial. Feedback
scores are metrics, assertions are right or wrong. The page writes "-" where an item has no such score; it keeps one trial.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from evalstats.loaders.format import OBJECT, RECORDS, UNSCORED, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import InEvery, number, verdict
from evalstats.loaders.rows import Row, Said, held, item_of, unscored
from evalstats.loaders.values import as_text, dicts, get

_TABLE: Final = (*RECORDS, "text")
_COLUMN: Final = re.compile(r"(?:(?P<experiment>.+)\.)?feedback_scores\.(?P<metric>.+)", re.DOTALL)
_DATASET: Final = "dataset."
_NO_SCORE: Final = unscored("there is no score")

File = FormatFile[dict[str, Any]]


def _rows(record: Row, file: File) -> Iterator[Sample]:
    """Return the scores of an item, of one experiment or of several side by side."""
    return _item(record, file) if "dataset_item_id" in record else _columns(record, file)


def _finish(file: File) -> None:
    """Name the experiment, and the model that its configuration names."""
    experiment = file.members.get("experiment")
    name, model = as_text(get(experiment, "name")), as_text(get(experiment, "metadata", "model"))
    for run in file.runs.values() if name else ():
        run.update(model=model or name, system=name)
    if name and not model:
        file.unnamed(name)


def _item(record: Row, file: File) -> Iterator[Sample]:
    item = as_text(record.get("dataset_item_id"))
    if not item:
        file.leave_out("no dataset_item_id")
        return
    common: Row = {
        "run": file.run(file.source.called, "all"),
        "item": item,
        "trial": file.trial(item),
    }
    outcomes: dict[str, Said] = {}
    for score in dicts(record.get("feedback_scores")):
        if metric := as_text(score.get("name")):
            outcomes[metric] = number(score.get("value"))
    for assertion in dicts(record.get("assertion_results")):
        if metric := as_text(assertion.get("value")):
            outcomes[metric] = verdict(assertion.get("passed"))
    yield common, [*outcomes.items()] or InEvery(_NO_SCORE)


def _columns(record: Row, file: File) -> Iterator[Sample]:
    asked = {name: value for name, value in record.items() if name.startswith(_DATASET)}
    item = as_text(record.get("id")) or item_of(asked)
    if item is None:
        file.leave_out("neither id nor columns of the dataset")
        return
    of: dict[str | None, list[tuple[str, Said]]] = {}
    for name, value in record.items():
        column = _COLUMN.fullmatch(name)
        if column is None or value is None or name.removesuffix("_reason") in {*record} - {name}:
            continue
        outcome = number(value)
        if isinstance(outcome, dict):
            is_score = outcome["status"] == "scored"
            outcome = {**(_NO_SCORE if value == "-" else outcome), "value_raw": None if is_score else held(value)}
        of.setdefault(column["experiment"], []).append((column["metric"], outcome))
    trial = file.trial(item)
    for experiment, outcomes in of.items():
        yield {"run": file.run(experiment), "item": item, "trial": trial}, outcomes


FORMAT: Final = Format(
    name="opik",
    title="Comet Opik experiments (.json of opik export, .csv or .json of a page)",
    version="1",
    upstream="comet-ml/opik at 01b41f3, apps/opik-frontend/.../CompareExperimentsActionsPanel.tsx; opik 2.2.122, cli/exports",
    benchmark="Opik",
    harness="Opik",
    signs=(
        Sign("experiment items downloaded_at", shapes=OBJECT, text=('"dataset_item_id"',)),
        Sign(text=("feedback_scores.", "dataset."), shapes=_TABLE, confidence=0.85),
        Sign("id", text=("feedback_scores.", "evaluation_task."), shapes=_TABLE, confidence=0.85),
    ),
    record=dict[str, Any],
    rows=_rows,
    finish=_finish,
    at=("items",),
    keep=("experiment",),
    called="items",
    counts={"{n} scores are missing or no numbers; they are unscored": UNSCORED},
    naming="Name it in the experiment's configuration, or rename the file",
)
