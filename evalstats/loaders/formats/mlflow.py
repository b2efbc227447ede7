"""MLflow: the table of an evaluation, one row an example, and the metrics beside it.

Read are `eval_results_table.json` that `mlflow.evaluate` logs, in pandas' split orientation (`columns`, `data`), with a column
`<metric>/<version>/score` and `.../justification` for each metric, and `metrics.json` that `EvaluationResult.save` writes. The
item is a digest of the question and its reference; without a column of questions, of all columns but answers and scores. The
model is named after the folder: `<run>/artifacts/eval_results_table.json`. A judge that fails leaves null, and says so in its
justification; such scores are unscored.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, plain_name
from evalstats.loaders.files import load_json
from evalstats.loaders.format import HIGHER, LOWER, OBJECT, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.rows import Row, Said, held, item_of, unscored
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, first_line
from evalstats.schema.data import Problem

_SCORE: Final = re.compile(r"(?P<metric>.+?(?:/v\d+)?)/(?:score|value)")
_MEAN: Final = re.compile(r"(?P<metric>.+?(?:/v\d+)?)/mean")
_METRICS: Final = "metrics.json"
_ASKED: Final = ("inputs", "input", "question", "questions", "query", "request", "prompt")
_REFERENCE: Final = ("ground_truth", "targets", "target", "expected_response", "reference")
_ANSWER: Final = frozenset(
    {"outputs", "output", "prediction", "predictions", "response", "answer", "latency", "token_count"}
)
_LOW_IS_GOOD: Final = ("toxicity*", "latency*")
_HIGH_IS_GOOD: Final = (
    "answer_*", "faithfulness*", "relevance*", "exact_match*", "rouge*", "bleu*", "precision_at*", "recall_at*", "ndcg_at*",
    "professionalism*", "correctness*",
)  # fmt: skip
_ITEM: Final = ":item"  # the name of no column


def _rows(records: list[list[Any]], file: FormatFile[list[Any]]) -> tuple[list[Row], list[str]]:
    """Return cells by their column, with what names the item; a score that is lacking gives way to its justification."""
    columns = [as_text(column) or "" for column in as_list(file.members.get("columns"))]
    if not columns:
        raise UnreadableFileError(
            f"{file.path}: its data come before its columns, or it has none; write it in pandas' split "
            'orientation: {"columns": [...], "data": [[...], ...]}'
        )
    if len(set(columns)) < len(columns):
        raise UnreadableFileError(f"{file.path}: two columns have one name; rename one of them")
    asked = [name for name in _ASKED if name in columns]
    others = [name for name in columns if "/" not in name and name not in _ANSWER]
    names = [*asked, *(name for name in _REFERENCE if name in columns)] if asked else others
    beside = {name: f"{metric}/justification" for metric, name in _metrics(columns).items()}
    rows: list[Row] = []
    places: list[str] = []
    for record, place in zip(records, file.locators, strict=True):
        if len(record) != len(columns):
            file.leave_out("not as many cells as columns", place)
            continue
        row: Row = dict(zip(columns, record, strict=True))
        lacking = {name: [row.get(why)] for name, why in beside.items() if row[name] is None}
        rows.append({**row, **lacking, _ITEM: item_of({name: row[name] for name in names if row[name] is not None})})
        places.append(place)
    return rows, places


def _metrics(columns: Iterable[str]) -> dict[str, str]:
    return {found["metric"]: name for name in columns if (found := _SCORE.fullmatch(name))}


def _said(value: object) -> Said:
    number = as_number(value)
    if number is not None:
        return number
    if not isinstance(value, list):
        return unscored("the score is no number", held(value))
    why = next((first_line(each) for each in as_list(cast("object", value)) if each is not None), "")
    return unscored(f"the judge failed: {why}" if why.startswith("Failed to") else "there is no score")


def _finish(file: FormatFile[list[Any]]) -> None:
    """Publish the means that were saved with the table, or without it."""
    source = file.source
    alone = plain_name(source.path) == _METRICS
    run = next(iter(file.runs), "") or file.run(None, config={"file": source.path.name})
    for key, value in (as_dict(load_json(source.path)) if alone else file.facts).items():
        if not isinstance(value, bool) and as_number(value) is not None:
            mean = _MEAN.fullmatch(key)
            file.publish(value, run, mean["metric"] if mean else key)
    if alone:
        file.note("published numbers without items: no two models can be compared item by item")


def _sources(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Put each table together with the metrics of its folder, or of the one above `artifacts`."""
    metrics = {path.parent: path for path in files if plain_name(path) == _METRICS}
    for path in files:
        if plain_name(path) != _METRICS:
            folders = (path.parent, path.parent.parent)
            beside = next((found for folder in folders if (found := metrics.pop(folder, None))), None)
            yield Source(path=path, companions=(beside,) if beside else ())
    yield from (Source(path=path) for path in metrics.values())


_SHAPES: Final = (*OBJECT, "lines")
FORMAT: Final[Format[list[Any]]] = Format(
    name="mlflow",
    title="MLflow evaluations (eval_results_table.json, metrics.json)",
    version="2",
    upstream="mlflow/mlflow at 2cd1068, mlflow/models/evaluation/base.py",
    benchmark="MLflow",
    harness="MLflow",
    signs=(
        Sign(
            name="artifacts_metadata.json",
            text=('"uri"', '"class_name"'),
            skip="a list of MLflow's artifacts",
            shapes=_SHAPES,
        ),
        Sign(confidence=0.85, name=_METRICS, like=(r".+/(?:mean|variance|p90)|.+/v\d+",), shapes=_SHAPES),
        Sign("columns", text=('"data":', '/score"'), shapes=_SHAPES),
        Sign("columns", text=('"data":', '/value"'), shapes=_SHAPES),
    ),
    record=list[Any],
    inner=_rows,
    fields={"item": lambda row: row[_ITEM], "latency_s": "latency", "output_tokens": "token_count"},
    scores=lambda rows, _: _metrics(rows[0]),
    reads=_said,
    repeated=True,
    about=lambda file: {"config": {"file": file.source.path.name}},
    finish=_finish,
    counts={
        "{n} scores are empty since the judge failed": pl.col("status_reason").str.starts_with("the judge failed"),
        "{n} scores are empty or no numbers; unscored": UNSCORED,
    },
    at=("data",),
    keep=("columns", _METRICS),
    called="rows",
    metrics={
        **dict.fromkeys(_LOW_IS_GOOD, LOWER),
        **dict.fromkeys(_HIGH_IS_GOOD, HIGHER),
        "*": {"higher_is_better": None},
    },
    expected="The table of an evaluation, or its metrics, was expected",
    grouped=_sources,
)
