"""MLflow: the table of an evaluation, one row an example, and the metrics beside it.

Read are `eval_results_table.json` that `mlflow.evaluate` logs, in pandas' split orientation (`columns`, `data`), with a column
`<metric>/<version>/score` and `.../justification` for each metric, and `metrics.json` that `EvaluationResult.save` writes. The
item is a digest of the question and its reference; without a column of questions, of all columns but answers and scores. The
model is named after the folder: `<run>/artifacts/eval_results_table.json`. A judge that fails leaves null, and says so in its
justification; such scores are unscored.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, plain_name
from evalstats.loaders.files import load_json
from evalstats.loaders.format import OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.records import item_of
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, first_line, json_text
from evalstats.schema.data import Problem

_SCORE: Final = re.compile(r"(?P<metric>.+?(?:/v\d+)?)/(?:score|value)")
_METRICS: Final = "metrics.json"
_MEAN: Final = re.compile(r"(?P<metric>.+?(?:/v\d+)?)/mean")
_ASKED: Final = ("inputs", "input", "question", "questions", "query", "request", "prompt")
_REFERENCE: Final = ("ground_truth", "targets", "target", "expected_response", "reference")
_ANSWER: Final = frozenset(
    {"outputs", "output", "prediction", "predictions", "response", "answer", "latency", "token_count"}
)
_LOW_IS_GOOD: Final = re.compile(r"toxicity|latency")
_HIGH_IS_GOOD: Final = re.compile(
    r"answer_|faithfulness|relevance|exact_match|rouge|bleu|precision_at|recall_at|ndcg_at|professionalism|correctness"
)
_JUDGE_FAILED: Final = "Failed to"
_FAILED: Final = "{n} scores are empty since the judge failed; unscored"
_EMPTY: Final = "{n} scores are empty; unscored"
_REPEATED: Final = "{n} rows repeat an earlier question and its reference, and are its trials"
_PUBLISHED: Final = "published numbers without items: no two models can be compared item by item"


class _Reader:
    def __init__(self, file: FormatFile[list[Any]]) -> None:
        self.file = file
        self.columns: list[str] = []
        self.metrics: dict[str, str] = {}
        self.items: list[str] = []

    def rows(self, record: list[Any]) -> Iterator[Sample]:
        if not self.columns:
            self.name([as_text(column) or "" for column in as_list(self.file.members.get("columns"))])
        if len(record) != len(self.columns):
            self.file.leave_out("not as many cells as columns")
            return
        row: Row = dict(zip(self.columns, record, strict=True))
        item = item_of({name: row[name] for name in self.items if row[name] is not None})
        if item is None:
            self.file.leave_out("nothing asks what could name the item")
            return
        trial = self.file.trial(item)
        self.file.count(_REPEATED, trial > 0)
        shared: Row = {"run": self.run(), "item": item, "trial": trial}
        shared |= {"latency_s": row.get("latency"), "output_tokens": row.get("token_count")}
        yield (
            shared,
            [
                (metric, self.outcome(row[column], row.get(f"{metric}/justification")))
                for column, metric in self.metrics.items()
            ],
        )

    def run(self) -> str:
        return self.file.run(None, config=json_text({"file": self.file.source.path.name}))

    def name(self, columns: list[str]) -> None:
        """Find out what the columns are for."""
        path = self.file.source.path
        if not columns:
            raise UnreadableFileError(
                f"{path}: its data come before its columns, or it has none; write it in pandas' split "
                'orientation: {"columns": [...], "data": [[...], ...]}'
            )
        if len(set(columns)) < len(columns):
            raise UnreadableFileError(f"{path}: two columns have one name; rename one of them")
        self.columns = columns
        self.metrics = {name: found["metric"] for name in columns if (found := _SCORE.fullmatch(name))}
        asked = [name for name in _ASKED if name in columns]
        others = [name for name in columns if "/" not in name and name not in _ANSWER]
        self.items = [*asked, *(name for name in _REFERENCE if name in columns)] if asked else others

    def outcome(self, value: object, justification: object) -> Said:
        number = as_number(value)
        if number is not None:
            return number
        said = first_line(justification) if justification is not None else ""
        failed = said.startswith(_JUDGE_FAILED)
        empty = value is None or value != value  # noqa: PLR0124 - NaN is not equal to itself
        self.file.count(_FAILED if failed else _EMPTY, empty)
        reason = f"the judge failed: {said}" if failed else "there is no score" if empty else "the score is no number"
        return unscored(reason, held(value))

    def finish(self) -> tuple[Sample, ...]:
        """Publish the means that were saved with the table, or without it."""
        source, run = self.file.source, self.run()
        alone = plain_name(source.path) == _METRICS
        for path in (source.path,) if alone else source.companions:
            for key, value in as_dict(load_json(path)).items():
                if not isinstance(value, bool) and as_number(value) is not None:
                    mean = _MEAN.fullmatch(key)
                    name = mean["metric"] if mean else key
                    self.file.publish(value, run, name)
                    self.file.metric(name, higher_is_better=_better(name))
        if alone:
            self.file.count(_PUBLISHED)
        return ()


def _sources(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Put each table together with the metrics of its folder, or of the one above `artifacts`."""
    metrics = {path.parent: path for path in files if plain_name(path) == _METRICS}
    for path in files:
        if plain_name(path) != _METRICS:
            folders = (path.parent, path.parent.parent)
            beside = next((found for folder in folders if (found := metrics.pop(folder, None))), None)
            yield Source(path=path, companions=(beside,) if beside else ())
    yield from (Source(path=path) for path in metrics.values())


def _better(metric: str) -> bool | None:
    return False if _LOW_IS_GOOD.match(metric) else True if _HIGH_IS_GOOD.match(metric) else None


_SHAPES: Final = (*OBJECT, "lines")
FORMAT: Final = Format(
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
    reader=_Reader,
    lists=("data",),
    keep=("columns",),
    facts=(_METRICS,),
    called="rows",
    better=_better,
    expected="The table of an evaluation, or its metrics, was expected",
    grouped=_sources,
)
