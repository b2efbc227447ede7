"""MLflow: the table of an evaluation, one row an example, and the metrics beside it.

Format: `eval_results_table.json` that `mlflow.evaluate` logs, in pandas' split orientation (`columns`, `data`), with a column
`<metric>/<version>/score` and `.../justification` for each metric; `metrics.json` that `EvaluationResult.save` writes
(`mlflow/models/evaluation/base.py`). A judge that fails leaves null, and says so in its justification.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, in_frames, plain_name
from evalstats.loaders.files import JsonItem, iter_json, load_json
from evalstats.loaders.records import Repeats, how_to_name, item_of
from evalstats.loaders.rows import Ranges, Row, held, scored, told, unscored
from evalstats.loaders.values import as_amount, as_count, as_dict, as_list, as_number, as_text, first_line, json_text
from evalstats.schema.data import Problem

BENCHMARK: Final = "MLflow"
_SCORE: Final = re.compile(r"(?P<metric>.+?(?:/v\d+)?)/(?:score|value)")
_METRICS: Final = "metrics.json"
_MANIFEST: Final = "artifacts_metadata.json"
_MEAN: Final = re.compile(r"(?P<metric>.+?(?:/v\d+)?)/mean")
_STATISTIC: Final = re.compile(r".+/(?:mean|variance|p90)|.+/v\d+")
_ASKED: Final = ("inputs", "input", "question", "questions", "query", "request", "prompt")
_REFERENCE: Final = ("ground_truth", "targets", "target", "expected_response", "reference")
_ANSWER: Final = frozenset({"outputs", "output", "prediction", "predictions", "response", "answer"})
_MEASURED: Final = frozenset({"latency", "token_count"})
_LOW_IS_GOOD: Final = re.compile(r"toxicity|latency")
_HIGH_IS_GOOD: Final = re.compile(
    r"answer_|faithfulness|relevance|exact_match|rouge|bleu|precision_at|recall_at|ndcg_at|professionalism|correctness"
)
_JUDGE_FAILED: Final = "Failed to"

_FAILED: Final = "{n} scores are empty since the judge failed; unscored"
_EMPTY: Final = "{n} scores are empty; unscored"
_REPEATED: Final = "{n} rows repeat an earlier question and its reference, and are its trials"
_NO_ITEM: Final = "{n} rows ask nothing that could name their item and are left out ({places})"
_MISFIT: Final = "{n} rows have not as many cells as there are columns and are left out ({places})"


class MLflowLoader:
    """Loader of MLflow's evaluation tables; one run for each table, with the means that were logged beside it.

    The item is a digest of the question and its reference; without a column of questions, of all columns but answers and
    scores. The model is named after the folder: `<run>/artifacts/eval_results_table.json`.
    """

    name = "mlflow"
    title = "MLflow evaluations (eval_results_table.json, metrics.json)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a table with columns of scores, or the metrics that were saved beside one."""
        if head.shape not in {"object", "lines"}:
            return None
        name = plain_name(head.path)
        if name == _MANIFEST and '"uri"' in head.text and '"class_name"' in head.text:
            return Match(confidence=0.9, reason="a list of MLflow's artifacts", skip=True)
        if name == _METRICS:
            values = head.members
            numbers = bool(values) and all(isinstance(value, int | float) for value in values.values())
            found = numbers and any(_STATISTIC.fullmatch(key) for key in values)
            return Match(confidence=0.85, reason="metrics that MLflow saved") if found else None
        if not head.keys >= {"columns"} or '"data"' not in head.text:
            return None
        columns = [column for column in as_list(head.members.get("columns")) if isinstance(column, str)]
        if any(_SCORE.fullmatch(column) for column in columns):
            return Match(confidence=0.9, reason="columns and data, with a column <metric>/score")
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Put each table together with the metrics of its folder, or of the one above `artifacts`."""
        metrics = {path.parent: path for path in files if plain_name(path) == _METRICS}
        for path in files:
            if plain_name(path) != _METRICS:
                folders = (path.parent, path.parent.parent)
                beside = next((found for folder in folders if (found := metrics.pop(folder, None))), None)
                yield Source(path=path, companions=(beside,) if beside else ())
        yield from (Source(path=path) for path in metrics.values())

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes in batches, the published means, the metrics, the run and notes."""
        alone = plain_name(source.path) == _METRICS
        model = source.called
        run = source.run_id(model)
        common: Row = {"run": run, "model": model, "system": model, "benchmark": BENCHMARK}
        ranges = Ranges()
        table = None if alone else _Table(source, ranges)
        if table is not None:
            yield from in_frames(table.rows(), "outcomes", common)
            if not tuple(ranges):
                raise UnreadableFileError(
                    f"{source.path}: holds no row with a score; the table of an evaluation was expected"
                )
        published = [
            row for path in ((source.path,) if alone else source.companions) for row in _published(path, common)
        ]
        if alone and not published:
            raise UnreadableFileError(f"{source.path}: holds no number; the metrics of an evaluation were expected")
        yield Rows(table="aggregates", rows=published)
        seen = set(ranges)
        for row in published:
            key = BENCHMARK, str(row["metric"])
            if key not in seen:
                ranges.add(*key, as_number(row["estimate"]))
        yield Rows(table="metrics", rows=[ranges.row(*key, higher_is_better=_direction(key[1])) for key in ranges])
        about = {name: common[name] for name in ("run", "model", "system", "benchmark")}
        yield Rows(table="runs", rows=[{**about, "harness": "MLflow", "config": json_text({"file": source.path.name})}])
        yield from source.notes([how_to_name(model)])
        if table is not None:
            yield from source.notes(told(table.counts))
            yield from source.notes(table.left_out(), "error")
        else:
            yield from source.notes(["published numbers without items: no two models can be compared item by item"])


def _direction(metric: str) -> bool | None:
    if _LOW_IS_GOOD.match(metric):
        return False
    return True if _HIGH_IS_GOOD.match(metric) else None


def _published(path: Path, common: Row) -> Iterator[Row]:
    for key, value in as_dict(load_json(path)).items():
        number = None if isinstance(value, bool) else as_number(value)
        if number is not None:
            mean = _MEAN.fullmatch(key)
            own = {name: common[name] for name in ("run", "model", "benchmark")}
            yield {**own, "metric": mean["metric"] if mean else key, "estimate": number, "method": "published"}


class _Table:
    """A table while it is read: what its columns are for, and what is worth telling."""

    def __init__(self, source: Source, ranges: Ranges) -> None:
        self.counts: Counter[str] = Counter()
        self._source = source
        self._ranges = ranges
        self._without: dict[str, list[int]] = {_NO_ITEM: [], _MISFIT: []}
        self._columns: list[str] = []
        self._metrics: dict[str, str] = {}
        self._items: list[str] = []
        self._repeats = Repeats()

    def rows(self) -> Iterator[Row]:
        for part in iter_json(self._source.path, arrays=("data",)):
            if isinstance(part, JsonItem) and part.member == "data":
                if not self._columns:
                    raise UnreadableFileError(
                        f"{self._source.path}: its data come before its columns, or it has none; write it in pandas' split "
                        'orientation: {"columns": [...], "data": [[...], ...]}'
                    )
                yield from self._row(part.index, as_list(part.value))
            elif not isinstance(part, JsonItem) and part.member == "columns":
                self._name(as_list(part.value))

    def left_out(self) -> Iterator[str]:
        for sentence, places in self._without.items():
            if places:
                yield sentence.format(n=len(places), places=comma_list(f"data[{place}]" for place in places))

    def _name(self, columns: list[object]) -> None:
        self._columns = [as_text(column) or "" for column in columns]
        if len(set(self._columns)) < len(self._columns):
            raise UnreadableFileError(f"{self._source.path}: two columns have one name; rename one of them")
        self._metrics = {name: found["metric"] for name in self._columns if (found := _SCORE.fullmatch(name))}
        asked = [name for name in _ASKED if name in self._columns]
        reference = [name for name in _REFERENCE if name in self._columns]
        others = [name for name in self._columns if "/" not in name and name not in {*_ANSWER, *_MEASURED}]
        self._items = [*asked, *reference] if asked else others

    def _row(self, place: int, cells: list[object]) -> Iterator[Row]:
        if len(cells) != len(self._columns):
            self._without[_MISFIT].append(place)
            return
        row = dict(zip(self._columns, cells, strict=True))
        item = item_of({name: row[name] for name in self._items if row[name] is not None})
        if item is None:
            self._without[_NO_ITEM].append(place)
            return
        trial = self._repeats.next(item)
        self.counts[_REPEATED] += trial > 0
        base: Row = {
            "item": item,
            "trial": trial,
            "latency_s": as_amount(row.get("latency")),
            "output_tokens": as_count(row.get("token_count")),
            "locator": f"data[{place}]",
        }
        for column, metric in self._metrics.items():
            outcome = self._outcome(row[column], row.get(f"{metric}/justification"))
            self._ranges.add(BENCHMARK, metric, as_number(outcome.get("score")))
            yield {**base, "metric": metric, **outcome}

    def _outcome(self, value: object, justification: object) -> Row:
        number = as_number(value)
        if number is not None:
            return scored(number)
        said = first_line(justification) if justification is not None else ""
        failed = said.startswith(_JUDGE_FAILED)
        empty = value is None or value != value  # noqa: PLR0124 - NaN is not equal to itself
        self.counts[_FAILED if failed else _EMPTY] += empty
        reason = f"the judge failed: {said}" if failed else "there is no score" if empty else "the score is no number"
        return unscored(reason, held(value))


LOADER: Final = MLflowLoader()
