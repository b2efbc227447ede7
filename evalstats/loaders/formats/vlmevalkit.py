"""VLMEvalKit: what its evaluators give each question (TSV or JSON, where PRED_FORMAT says so), and accuracies (`_acc.csv`).

Files are called `<model>_<dataset>_<what>` and lie in the model's folder, by which the two are told apart. The index of the
dataset is the item. Upstream counts a request that failed as wrong; here it is an error.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import polars as pl

from evalstats.loaders.format import FAILED, HEADLINE, UNSCORED, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Row, Said
from evalstats.loaders.values import as_text, letter_grade

_SHAPES: Final = ("text", "array")
_PARTS: Final = re.compile(r"(?P<dataset>.+?)(?:_(?P<judge>[^_]+|exact_matching)_result|_results|_auxmatch|_acc)?")
# What stands in place of an answer that a request failed to bring.
_FAILED: Final = "Failed to obtain answer"
_NO_SPLIT: Final = frozenset({"none", "None", "", None})
# The column of verdicts by the kind of file, and what it is called as a metric.
_VERDICTS: Final = {"hit": "hit", "eval_score": "score", "score": "correct"}


def _arranged(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    model, dataset, judge = _named(file.path)
    failed = pl.col("_prediction").str.contains(_FAILED, literal=True)
    return frame.with_columns(
        run=pl.lit(file.run(model, judge=judge)),
        task=pl.lit(dataset),
        judge=pl.lit(judge, dtype=pl.String),
        error=pl.when(failed).then(pl.lit("the request to the model failed")),
    )


def _verdicts(rows: Sequence[Row], _: FormatFile[Any]) -> dict[str, str]:
    column = next((name for name in _VERDICTS if name in rows[0]), "hit")
    return {_VERDICTS[column]: column}


def _verdict(value: object) -> Said:
    """Return a verdict as a number, which may be in words."""
    found = float(value) if isinstance(value, bool) else letter_grade(value) if isinstance(value, str) else None
    return number(value if found is None else found)


def _rows(record: dict[str, Any], file: FormatFile[dict[str, Any]]) -> tuple[Sample, ...]:
    """Publish a row of accuracies: shares where it names a split, percentages where it does not."""
    model, dataset, _ = _named(file.path)
    run, split = file.run(model), as_text(record.get("split"))
    unit, variant = "proportion" if "split" in record else "percent", "" if split in _NO_SPLIT else split
    for name, value in record.items():
        if name != "split":
            scenario = None if name == "Overall" else name
            file.publish(value, run, "accuracy", task=dataset, variant=variant, scenario=scenario, unit=unit)
    return ()


@lru_cache
def _named(path: Path) -> tuple[str | None, str, str | None]:
    """Return model, dataset and judge, as the names of the file and of its folders tell."""
    name = path.name.partition(".tsv")[0].partition(".json")[0].partition(".csv")[0]
    folder = next((part for part in reversed(path.absolute().parts[:-1]) if name.startswith(f"{part}_")), None)
    found = _PARTS.fullmatch(name if folder is None else name[len(folder) + 1 :])
    judge = found["judge"] if found else None
    return folder, found["dataset"] if found else "", None if judge == "exact_matching" else judge


_UPSTREAM: Final = "open-compass/VLMEvalKit at e8e78f0, vlmeval/dataset/image_mcq.py, image_vqa.py, image_yorn.py"
_NAMING: Final = "Leave the file in the folder of its model, or rename it"
FORMAT: Final[Format[Any]] = Format(
    name="vlmevalkit",
    title="VLMEvalKit results by question (.tsv, .json)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="VLMEvalKit",
    harness="VLMEvalKit",
    signs=(
        Sign("index prediction hit log", shapes=_SHAPES),
        Sign("index prediction eval_gt eval_pred eval_score", shapes=_SHAPES),
        Sign("index prediction extracted score", shapes=_SHAPES),
    ),
    record=dict[str, Any],
    fields={
        "item": "index",
        "scenario": "category",
        "l2-category": "l2-category",
        "split": "split",
        "_prediction": "prediction",
    },
    scores=_verdicts,
    reads=_verdict,
    arranged=_arranged,
    repeated=True,
    called="rows",
    metrics={"hit": HEADLINE, "correct": HEADLINE},
    counts={
        "in {n} of {all} rows the request to the model failed; they are errors here, and wrong in upstream's accuracy": FAILED,
        "{n} of {all} rows have no score; they are unscored": UNSCORED,
    },
    naming=_NAMING,
)
ACCURACIES: Final = Format(
    name="vlmevalkit-accuracies",
    title="VLMEvalKit accuracies (_acc.csv)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="VLMEvalKit",
    harness="VLMEvalKit",
    signs=(Sign("Overall", 0.8, name="_acc.csv", without="model", shapes=("text",)),),
    record=dict[str, Any],
    rows=_rows,
    called="rows",
    naming=_NAMING,
)
