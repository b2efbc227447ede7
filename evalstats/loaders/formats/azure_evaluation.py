"""Azure AI evaluation: the output of `evaluate()`, one row an example, with `inputs.<column>` and `outputs.<evaluator>.<score>`.

A number of an evaluator is a metric, and so is what it says of its threshold (`..._result`, pass or fail). An item is the id
that the data give it, or a digest of what was asked and its reference. A score that is NaN, and a result that is neither pass nor
fail, are unscored: the file does not tell an evaluator that failed from one that did not apply. Means and shares are published
numbers.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from evalstats.loaders.format import Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.records import item_of
from evalstats.loaders.rows import Said, held, unscored
from evalstats.loaders.values import as_dict, as_number, as_text, dicts, get, json_text

_SCORE: Final = re.compile(r"outputs\.(?P<evaluator>.+?)\.(?P<name>.+)")
_RESULT: Final = "_result"
_NO_SCORE: Final = re.compile(
    r".*(?:_threshold|_passed|_tokens|_reason|_details|_properties|_status|_model|finish_reason|sample_\w+)"
)
_VERDICTS: Final = {"pass": 1.0, "fail": 0.0}
_NAMES: Final = ("id", "item_id", "question_id", "example_id", "test_case_id")
_ASKED: Final = ("query", "question", "prompt", "input", "ground_truth", "expected", "reference")
# Of harm, less is better; of what else the built-in evaluators say, more.
_HARM: Final = re.compile(
    r".*(?:violence|sexual|self_harm|hate_unfairness|protected_material|indirect_attack)(?:_score|_defect_rate)?"
)


class _Output:
    """One output of `evaluate()`; `metrics` are those that were a number in an earlier row."""

    def __init__(self, file: FormatFile[dict[str, Any]]) -> None:
        self.file = file
        self.metrics: set[str] = set()

    def rows(self, row: dict[str, Any], /) -> Iterator[Sample]:
        """Return the scores of one row."""
        url = as_text(self.file.members.get("studio_url"))
        run = self.file.run(as_text(row.get("inputs.model")), config=json_text({"studio_url": url}) if url else None)
        named = next((text for name in _NAMES if (text := as_text(row.get(f"inputs.{name}")))), None)
        turns = dicts(get(row.get("inputs.conversation"), "messages"))
        said = [turn.get("content") for turn in turns if turn.get("role") == "user"]
        item = named or item_of({name: row.get(f"inputs.{name}") for name in _ASKED}, said)
        outcomes = [*self._scores(row)]
        if item is None or not outcomes:
            self.file.leave_out("neither an id nor a question" if item is None else "no score")
            return
        yield {"run": run, "item": item, "scenario": as_text(row.get("inputs.category"))}, outcomes

    def _scores(self, row: dict[str, Any]) -> Iterator[tuple[str, Said]]:
        for key, value in row.items():
            metric, others = _metric(key)
            if not metric:
                continue
            if metric.endswith(_RESULT) and isinstance(value, str):
                score = _VERDICTS.get(value)
                none = "the result is neither pass nor fail"
                yield metric, unscored(none, held(value)) if score is None else score
            elif (value is None and metric in self.metrics) or (
                isinstance(value, int | float) and not isinstance(value, bool)
            ):
                self.metrics.add(metric)
                # The same number under the names of older and newer versions.
                if not any(isinstance(row.get(other), int | float) for other in others):
                    yield metric, number(value)

    def finish(self) -> Iterable[Sample]:
        """Publish the means, which are of the whole file, where it is of one model."""
        for run in self.file.runs if len(self.file.runs) == 1 else ():
            for metric, value in as_dict(self.file.members.get("metrics")).items():
                if as_number(value) is not None and not _NO_SCORE.fullmatch(metric):
                    self.file.metric(as_text(metric) or "", higher_is_better=_better(metric))
                    self.file.publish(value, run, as_text(metric) or "", n=self.file.n_read)
        return ()


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
    reader=_Output,
    lists=("rows",),
    keep=("metrics", "studio_url"),
    better=_better,
    repeated=True,
    called="rows",
    texts={
        "question": "inputs.query inputs.question inputs",
        "expected": "inputs.ground_truth",
        "answer": "inputs.response outputs.response",
    },
)
