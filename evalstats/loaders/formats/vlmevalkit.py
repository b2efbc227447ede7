"""VLMEvalKit: what its evaluators give each question (TSV or JSON, where PRED_FORMAT says so), and accuracies (`_acc.csv`).

Files are called `<model>_<dataset>_<what>` and lie in the model's folder, by which the two are told apart. The index of the
dataset is the item. Upstream counts a request that failed as wrong; here it is an error.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from evalstats.loaders.format import SHARE, Format, FormatFile, Sample, Sign, number
from evalstats.loaders.rows import Row, held, scored, unscored
from evalstats.loaders.values import as_number, as_text, letter_grade

_SHAPES: Final = ("text", "array")
_PARTS: Final = re.compile(
    r"(?P<dataset>.+?)(?:_(?P<judge>[^_]+|exact_matching)_result|_results|_auxmatch|_acc|_score)?"
)
# What stands in place of an answer that a request failed to bring.
_FAILED: Final = "Failed to obtain answer"
_FACTORS: Final = ("category", "l2-category", "split", "type", "task")
_NO_SPLIT: Final = frozenset({"none", "None", "", None})
_VERDICTS: Final = {"hit": "hit", "eval_score": "score", "score": "correct"}


def _rows(record: dict[str, Any], file: FormatFile[dict[str, Any]]) -> Iterator[Sample]:
    model, dataset, judge = _named(file)
    run = file.run(model, judge=judge)
    if "prediction" not in record:
        _published(record, run, dataset, file)
        return
    item = as_text(record.get("index"))
    if not item:
        file.leave_out("no index")
        return
    failed = _FAILED in (as_text(record.get("prediction")) or "")
    outcomes: list[Row] = []
    for column, metric in _VERDICTS.items():
        if column in record and not (column == "score" and "eval_score" in record):
            value = record[column]
            outcome = (
                unscored("the request to the model failed", held(value), error=True) if failed else _outcome(value)
            )
            outcomes.append({"metric": metric, **outcome})
    factors = {
        ("scenario" if name == "category" else "kind" if name in {"type", "task"} else name): as_text(record[name])
        for name in _FACTORS
        if record.get(name) is not None
    }
    common: Row = {"run": run, "task": dataset, "item": item, "trial": file.trial(dataset, item), "judge": judge}
    yield common | {"locator": file.locator} | factors, outcomes


def _outcome(value: object) -> Row:
    if isinstance(value, bool):
        return scored(float(value))
    if isinstance(value, str) and as_number(value) is None and (verdict := letter_grade(value)) is not None:
        return scored(verdict)
    outcome = number(value)
    return {**outcome, "value_raw": None} if outcome["status"] == "scored" else outcome


def _published(record: Row, run: str, dataset: str, file: FormatFile[dict[str, Any]]) -> None:
    """Publish a row of accuracies: shares where it names a split, percentages where it does not."""
    split = as_text(record.get("split"))
    unit, variant = "proportion" if "split" in record else "percent", "" if split in _NO_SPLIT else split
    for name, value in record.items():
        if name != "split":
            scenario = None if name == "Overall" else name
            file.publish(value, run, "accuracy", task=dataset, variant=variant, scenario=scenario, unit=unit)


def _named(file: FormatFile[dict[str, Any]]) -> tuple[str | None, str, str | None]:
    """Return model, dataset and judge, as the names of the file and of its folders tell."""
    name = file.path.name.partition(".tsv")[0].partition(".json")[0].partition(".csv")[0]
    folder = next((part for part in reversed(file.path.absolute().parts[:-1]) if name.startswith(f"{part}_")), None)
    found = _PARTS.fullmatch(name if folder is None else name[len(folder) + 1 :])
    judge = found["judge"] if found else None
    return folder, found["dataset"] if found else "", None if judge == "exact_matching" else judge


FORMAT: Final = Format(
    name="vlmevalkit",
    title="VLMEvalKit results by question (.tsv, .json) and accuracies (_acc.csv)",
    version="1",
    upstream="open-compass/VLMEvalKit at e8e78f0, vlmeval/dataset/image_mcq.py, image_vqa.py, image_yorn.py, smp/file.py",
    benchmark="VLMEvalKit",
    harness="VLMEvalKit",
    signs=(
        Sign("index prediction hit log", shapes=_SHAPES),
        Sign("index prediction eval_gt eval_pred eval_score", shapes=_SHAPES),
        Sign("index prediction extracted score", shapes=_SHAPES),
        Sign("Overall", 0.8, name="_acc.csv", without="model", shapes=("text",)),
    ),
    record=dict[str, Any],
    rows=_rows,
    called="rows",
    metrics={"hit": {**SHARE, "primary": True}, "correct": {**SHARE, "primary": True}},
    failed="in {n} of {all} rows the request to the model failed; they are errors here, and wrong in upstream's accuracy",
    unscored="{n} of {all} rows have no score; they are unscored",
    naming="Leave the file in the folder of its model, or rename it",
)
