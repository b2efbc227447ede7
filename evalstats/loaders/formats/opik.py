"""Comet Opik: the items of an experiment (`opik export`), or what the page of one or several experiments exports (CSV, JSON).

An item of the dataset is an item here, by its id, the same in all experiments; an item that was run again is a trial. Feedback
scores are metrics, assertions are right or wrong. The page writes "-" where an item has no such score; it keeps one trial.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from evalstats.loaders.format import OBJECT, RECORDS, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.record_columns import number, verdict
from evalstats.loaders.rows import Row, Said, held, item_of, score_of, unscored
from evalstats.loaders.values import as_text, get

_TABLE: Final = (*RECORDS, "text")
_COLUMN: Final = re.compile(r"(?:(?P<experiment>.+)\.)?feedback_scores\.(?P<metric>.+)", re.DOTALL)
_DATASET: Final = "dataset."

File = FormatFile[dict[str, Any]]


def _items(records: list[Row], file: File) -> tuple[Sequence[Row], pl.Series]:
    """Return items with their scores: what a page exports has those of each experiment in columns."""
    if any("dataset_item_id" in record for record in records):
        return records, file.locators
    found: list[Row] = []
    places: list[str] = []
    for record in file.one_by_one(records):
        item = as_text(record.get("id")) or item_of(
            {name: record[name] for name in record if name.startswith(_DATASET)}
        )
        if item is None:
            file.leave_out("neither id nor columns of the dataset")
            continue
        of: dict[str | None, list[Row]] = {}
        for name, value in record.items():
            column = _COLUMN.fullmatch(name)
            if column is not None and value is not None and name.removesuffix("_reason") not in {*record} - {name}:
                of.setdefault(column["experiment"], []).append({"name": column["metric"], "value": value})
        for experiment, scores in of.items():
            found.append({"dataset_item_id": item, "experiment": experiment, "feedback_scores": scores})
        places += [file.locator] * len(of)
    return found, pl.Series(places, dtype=pl.String)


def _said(value: object) -> Said:
    """Read a score, which may be text, or whether an assertion passed."""
    said = verdict(value) if isinstance(value, bool) else number(value)
    if (score := score_of(said)) is not None:
        return score
    return unscored("there is no score", held(value)) if value == "-" else said


def _finish(file: File) -> None:
    """Name the experiment, and the model that its configuration names."""
    experiment = file.members.get("experiment")
    name, model = as_text(get(experiment, "name")), as_text(get(experiment, "metadata", "model"))
    for run in file.runs.values() if name else ():
        run.update(model=model or name, system=name)
    if name and not model:
        file.unnamed(name)


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
    inner=_items,
    fields={"item": "dataset_item_id", "model": "experiment"},
    scores={"*": "feedback_scores.*name.value | assertion_results.*value.passed"},
    reads=_said,
    about=lambda file: {"model": file.source.called, "parts": ("all",)} if file.members else {},
    repeated=True,
    finish=_finish,
    at=("items",),
    keep=("experiment",),
    called="items",
    counts={"{n} scores are missing or no numbers; they are unscored": UNSCORED},
    naming="Name it in the experiment's configuration, or rename the file",
)
