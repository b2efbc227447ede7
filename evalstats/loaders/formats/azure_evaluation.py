"""Azure AI evaluation: the output of `evaluate()`, one row an example, with `inputs.<column>` and `outputs.<evaluator>.<score>`.

A number of an evaluator is a metric, and so is what it says of its threshold (`..._result`, pass or fail). An item is the id
that the data give it, or a digest of what was asked and its reference. A score that is NaN, and a result that is neither pass nor
fail, are unscored: the file does not tell an evaluator that failed from one that did not apply. Means and shares are published
numbers.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from evalstats.loaders.format import Format, FormatFile, Sign
from evalstats.loaders.record_columns import members_of, number
from evalstats.loaders.rows import Row, Said, held, item_of, unscored
from evalstats.loaders.values import as_dict, as_number, as_text, dicts, get

_SCORE: Final = re.compile(r"outputs\.(?P<evaluator>.+?)\.(?P<name>.+)")
_RESULT: Final = "_result"
_NO_SCORE: Final = re.compile(
    r".*(?:_threshold|_passed|_tokens|_reason|_details|_properties|_status|_model|finish_reason|sample_\w+)"
)
_VERDICTS: Final = {"pass": 1.0, "fail": 0.0}
_NAMES: Final = ("id", "item_id", "question_id", "example_id", "test_case_id")
_ASKED: Final = {
    name: f"inputs.{name}" for name in ("query", "question", "prompt", "input", "ground_truth", "expected", "reference")
}
# Of harm, less is better; of what else the built-in evaluators say, more.
_HARM: Final = re.compile(
    r".*(?:violence|sexual|self_harm|hate_unfairness|protected_material|indirect_attack)(?:_score|_defect_rate)?"
)


def _item(row: Row) -> str | None:
    if named := next(filter(None, (as_text(row.get(f"inputs.{name}")) for name in _NAMES)), None):
        return named
    turns = dicts(get(row.get("inputs.conversation"), "messages")) if "inputs.conversation" in row else ()
    said = [turn.get("content") for turn in turns if turn.get("role") == "user"]
    return item_of({name: row.get(column) for name, column in _ASKED.items()}, said)


def _scores(rows: Sequence[Row], file: FormatFile[Row]) -> dict[str, str]:
    """Return the columns with a number or a result; the same number under the names of other versions is one metric."""
    numbers = {name for row in rows for name, value in row.items() if type(value) in {int, float}}
    file.kept |= dict.fromkeys(numbers)
    found = ((name, *_metric(name)) for name in members_of(rows))
    metrics = {
        metric: name
        for name, metric, others in found
        if metric and (metric.endswith(_RESULT) or (name in file.kept and not numbers.intersection(others)))
    }
    for metric in metrics:
        file.metric(metric, higher_is_better=_better(metric))
    return metrics


def _read(value: object) -> Said:
    """Read a number, or what is said of its threshold."""
    if not isinstance(value, str):
        return number(value)
    return _VERDICTS[value] if value in _VERDICTS else unscored("the result is neither pass nor fail", held(value))


def _finish(file: FormatFile[Row]) -> None:
    """Publish the means, which are of the whole file, where it is of one model."""
    for run in file.runs if len(file.runs) == 1 else ():
        for metric, value in as_dict(file.members.get("metrics")).items():
            if as_number(value) is not None and not _NO_SCORE.fullmatch(metric):
                file.metric(as_text(metric) or "", higher_is_better=_better(metric))
                file.publish(value, run, as_text(metric) or "", n=file.n_read)


@lru_cache(maxsize=4_096)
def _metric(column: str) -> tuple[str, tuple[str, ...]]:
    """Return the metric that a column holds and its columns of other versions; nothing for another column."""
    found = None if _NO_SCORE.fullmatch(column) else _SCORE.fullmatch(column)
    if found is None:
        return "", ()
    evaluator, name = found.groups()
    others = {name.removesuffix("_score"), name.removeprefix("gpt_")} - {name}
    return as_text(f"{evaluator}.{name}") or "", tuple(f"outputs.{evaluator}.{other}" for other in others)


def _better(metric: str) -> bool | None:
    return _HARM.fullmatch(metric) is None


FORMAT: Final = Format(
    name="azure-evaluation",
    title="Azure AI evaluation results (evaluate(output_path=...))",
    version="1",
    upstream="Azure/azure-sdk-for-python at 46f8276, sdk/evaluation/azure-ai-evaluation (_evaluate/_evaluate.py, _utils.py)",
    benchmark="Azure AI evaluation",
    harness="azure-ai-evaluation",
    signs=(
        Sign("rows", 0.9, text=('"inputs.', '"outputs.'), shapes=("object",)),
        Sign("", 0.8, like=(r"inputs\..+", r"outputs\.[^.]+\.[^.]+"), shapes=("lines", "array")),
    ),
    record=dict[str, Any],
    fields={
        "item": _item,
        "model": "inputs.model",
        "scenario": "inputs.category",
    },
    scores=_scores,
    reads=_read,
    about=lambda file: {"config": {"studio_url": as_text(file.members.get("studio_url"))}},
    finish=_finish,
    at=("rows",),
    keep=("metrics", "studio_url"),
    repeated=True,
    called="rows",
    texts={
        "question": "inputs.query inputs.question inputs",
        "expected": "inputs.ground_truth",
        "answer": "inputs.response outputs.response",
    },
)
