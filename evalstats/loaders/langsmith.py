"""LangSmith: the results of one experiment as a table, as runs, or as the body that uploads an experiment.

Format: `ExperimentResults.to_pandas()` and `Client.get_test_results()` of langchain-ai/langsmith-sdk
(`python/langsmith/evaluation/_runner.py`, `client.py`), saved as CSV or JSON; runs as `Client.list_runs()` gives them, with
`feedback_stats`; the body of `/datasets/upload-experiment`, as LangSmith's documentation describes it; the file that the page of
an experiment offers for download, whose columns its user may have changed.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from statistics import fmean
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches
from evalstats.loaders.files import JsonMember, iter_json
from evalstats.loaders.records import Records, cell_value, item_of
from evalstats.loaders.rows import Ranges, Row, held, scored, told, unscored
from evalstats.loaders.values import as_amount, as_count, as_dict, as_number, as_text, as_time, dicts, first_line, get
from evalstats.schema.data import Problem

BENCHMARK: Final = "LangSmith"
_RUN: Final = frozenset({"feedback_stats", "reference_example_id"})
_PREFIXES: Final = {"inputs": "in", "input": "in", "reference": "ref", "feedback": "score"}
_UPLOAD: Final = frozenset({"experiment_name", "results"})
# The file that the page of an experiment offers: whole inputs, outputs and reference in a cell each, then a column for each key
# of feedback and what was measured. Its columns may be renamed, hidden and broken out there.
_PAGE: Final = ("inputs", "outputs", "reference_outputs")
_PAGE_NAMES: Final = {"reference_output": "reference_outputs", "latency_seconds": "latency", "model_name": "model"}
_PAGE_FACTS: Final = re.compile(
    r"(?:.*_)?(?:id|name|status|error|run|created_at|modified_at|start_time|end_time|latency|time|duration|tokens?|cost|url|split"
    r"|model|repetition|metadata|tags|notes?|comments?|first_token|)"
)
_LOOKED_AT: Final = 1_000
_NO_VALUE: Final = frozenset({"", "nan", "none", "null", "<na>"})
_WORDS: Final = {"true": 1.0, "false": 0.0}
_COMMENTS: Final = "note"  # the key of free remarks, which are no feedback

_LABELS: Final = "{n} values of feedback are labels or other text and no numbers; unscored"
_REPEATED: Final = "{n} rows repeat inputs and reference of an earlier row and are its trials"
_SEVERAL: Final = "{n} rows have several scores of one key; their mean is taken, as LangSmith does"
_NO_MODEL: Final = "no model is named, so the name of the file or experiment is taken for it: {model!r}"
_BELOW: Final = "{n} runs belong to no example or lie below another run, and are left out"


@dataclass(frozen=True, slots=True)
class _Result:
    """One row of an experiment; `scores` are as the file has them."""

    common: Row
    item: str
    scores: dict[str, object]
    error: str | None
    model: str | None


class LangSmithLoader(SingleFileLoader):
    """Loader of LangSmith's experiments: one metric for each key of feedback.

    The item is a digest of inputs and reference, since the table of `get_test_results` names no example; equal ones are
    trials in the order of the file. A run that failed is an error whatever its feedback says. The model is a column `model`
    or the metadata of an upload; else the file's or the experiment's name.
    """

    name = "langsmith"
    title = "LangSmith experiment results (.csv, .json, .jsonl)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise columns of feedback beside inputs, runs with feedback_stats, or the body of an upload."""
        if head.shape == "object":
            body = head.keys >= _UPLOAD and ("experiment_start_time" in head.keys or '"evaluation_scores"' in head.text)
            return Match(confidence=0.9, reason="experiment_name and results") if body else None
        if head.shape not in {"text", "lines", "array"}:
            return None
        names = frozenset(head.columns or head.keys)
        if names >= _RUN:
            return Match(confidence=0.85, reason="runs with feedback_stats and reference_example_id")
        kinds = {name.partition(".")[0] for name in names if "." in name}
        if "feedback" in kinds and kinds & {"inputs", "input", "outputs"}:
            return Match(confidence=0.9, reason="columns feedback.* beside inputs.* or outputs.*")
        plain = {_page_name(name) for name in head.columns} if head.shape == "text" else set[str]()
        if plain >= {*_PAGE}:
            return Match(
                confidence=0.6, reason="inputs, outputs and reference outputs, as the page of an experiment exports"
            )
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes in batches, the metrics, the runs, and notes."""
        file = _File(source)
        yield from in_batches(file.outcomes(), "outcomes")
        if not file.runs:
            raise UnreadableFileError(
                f"{source.path}: holds no results with inputs; a row for each example was expected"
            )
        yield Rows(table="metrics", rows=[file.metric(*key) for key in file.ranges])
        yield Rows(table="runs", rows=list(file.runs.values()))
        yield from file.records.problems()
        yield from source.notes(told(file.counts, model=file.name))


class _File:
    """One file while it is read: its runs, metrics, and what is worth telling."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.records = Records(source, "results", called="rows")
        self.counts: Counter[str] = Counter()
        self.ranges = Ranges()
        self.runs: dict[str | None, Row] = {}
        self.scales: dict[str, tuple[float, float]] = {}
        head = self.records.head
        self._names = frozenset(head.columns or head.keys)
        self._about = _about(self.records) if head.shape == "object" else {}
        self._experiment = as_text(self._about.get("experiment_name"))
        self.name = self._experiment or source.called
        dataset = as_text(self._about.get("dataset_name")) or as_text(self._about.get("dataset_id"))
        self._benchmark = dataset or BENCHMARK

    def outcomes(self) -> Iterator[Row]:
        """Yield a row for every result and key of feedback."""
        trials: Counter[tuple[str | None, str]] = Counter()
        results, keys = self._results()
        for result in results:
            run = self._run(result.model)
            key = (result.model, result.item)
            self.counts[_REPEATED] += trials[key] > 0
            common = {name: run[name] for name in ("run", "model", "system", "benchmark")}
            common.update(result.common, item=result.item, trial=trials[key])
            trials[key] += 1
            for metric in keys or result.scores:
                outcome = self._outcome(result.scores.get(metric), result.error)
                self.ranges.add(self._benchmark, metric, as_number(outcome.get("score")))
                yield {**common, "metric": metric, **outcome}

    def metric(self, benchmark: str, metric: str) -> Row:
        """Make the row of `metrics`: a declared scale counts where the scores keep to it."""
        row, (low, high) = self.ranges.row(benchmark, metric), self.scales.get(metric, (0.0, 1.0))
        seen = self.ranges.ends(benchmark, metric)
        if (low, high) != (0.0, 1.0) and low <= seen[0] and seen[1] <= high:
            row.update(low=low, high=high, kind="bounded", unit=None)
        return row

    def _results(self) -> tuple[Iterable[_Result], Iterable[str]]:
        """Return the results, and every key of feedback where not each result has them all."""
        if self.records.head.shape == "text" and {_page_name(name) for name in self._names} >= {*_PAGE}:
            return self._page(), ()
        if self.records.head.shape != "object" and not self._names >= _RUN:
            return self._table(), ()
        results = list(self._uploaded() if self.records.head.shape == "object" else self._exported())
        return results, dict.fromkeys(key for result in results for key in result.scores)

    def _run(self, model: str | None) -> Row:
        if model not in self.runs:
            known = model or as_text(get(self._about, "experiment_metadata", "model"))
            self.counts[_NO_MODEL] += known is None
            self.runs[model] = {
                "run": self.source.run_id(*([] if model is None else [model])),
                "model": known or self.name,
                "system": self._experiment or known or self.name,
                "benchmark": self._benchmark,
                "harness": "LangSmith",
                "config": json.dumps({"experiment": self._experiment}) if self._experiment else None,
            }
        return self.runs[model]

    def _outcome(self, value: object, error: str | None) -> Row:
        if error:
            return unscored(error, held(value), error=True)
        if value is None or (isinstance(value, str) and value.strip().lower() in _NO_VALUE):
            return unscored("there is no feedback", held(value))
        number = as_number(value)
        if number is None and isinstance(value, str):
            number = _WORDS.get(value.strip().lower())
        if number is None:
            self.counts[_LABELS] += 1
            return unscored("the feedback is no number", held(value))
        return scored(number)

    def _table(self) -> Iterator[_Result]:
        """Read a table of `get_test_results` or `to_pandas`."""
        for locator, row in self.records:
            parts: dict[str, Row] = {"in": {}, "ref": {}, "score": {}}
            for name, value in row.items():
                kind, key = _split(name)
                if kind:
                    parts[kind][key] = value
            example = as_text(row.get("example_id")) or as_text(row.get("reference_example_id"))
            item = item_of(parts["in"], parts["ref"]) or example
            if item is None:
                self.records.leave_out(locator, "no inputs")
                continue
            common: Row = {"latency_s": as_amount(row.get("execution_time")), "locator": locator}
            error = _error(row.get("error"))
            yield _Result(common, item, parts["score"], error, as_text(row.get("model")) or None)

    def _page(self) -> Iterator[_Result]:
        """Read what the page of an experiment exports; a column that holds numbers only and is no known fact is feedback."""
        records = iter(self.records)
        first = list(islice(records, _LOOKED_AT))
        names = {name: _page_name(name) for _, row in first[:1] for name in row}
        keys = [
            name
            for name, plain in names.items()
            if plain not in _PAGE and not _PAGE_FACTS.fullmatch(plain) and _holds_numbers(row[name] for _, row in first)
        ]
        if first and not keys:
            raise UnreadableFileError(
                f"{self.source.path}: has no column of feedback, one with a number in each row; found {comma_list(names, 12)}"
            )
        for locator, row in chain(first, records):
            known = {plain: row[name] for name, plain in names.items()}
            inputs, _, reference = (cell_value(known[part]) for part in _PAGE)
            item = item_of(inputs, reference) or as_text(known.get("example_id"))
            if item is None:
                self.records.leave_out(locator, "no inputs")
                continue
            failed = _error(known.get("error"))
            if failed is None and str(known.get("status")).lower() == "error":
                failed = "the run failed; the file does not say why"
            common: Row = {"latency_s": as_amount(known.get("latency")), "locator": locator}
            yield _Result(common, item, {key: row[key] for key in keys}, failed, as_text(known.get("model")) or None)

    def _exported(self) -> Iterator[_Result]:
        """Read runs as the API gives them; those below a root have no example and are passed over."""
        for locator, row in self.records:
            item = as_text(row.get("reference_example_id"))
            if item is None or row.get("parent_run_id"):
                self.counts[_BELOW] += 1
                continue
            stats = as_dict(row.get("feedback_stats"))
            scores = {key: get(found, "avg") for key, found in stats.items() if key != _COMMENTS}
            metadata = as_dict(get(row, "extra", "metadata"))
            model = as_text(metadata.get("ls_model_name")) or as_text(metadata.get("model")) or None
            common = {
                **_times(row),
                "input_tokens": as_count(row.get("prompt_tokens")),
                "output_tokens": as_count(row.get("completion_tokens")),
                "cost_usd": as_amount(row.get("total_cost")),
                "locator": locator,
            }
            yield _Result(common, item, scores, _error(row.get("error")), model)

    def _uploaded(self) -> Iterator[_Result]:
        """Read the rows of an upload."""
        for locator, row in self.records:
            item = item_of(row.get("inputs"), row.get("expected_outputs")) or as_text(row.get("row_id"))
            if item is None:
                self.records.leave_out(locator, "no inputs")
                continue
            given: dict[str, list[object]] = {}
            for score in dicts(row.get("evaluation_scores")):
                key = as_text(score.get("key"))
                if key:
                    value = score.get("score")
                    given.setdefault(key, []).append(score.get("value") if value is None else value)
                    self._declare(key, as_dict(score.get("feedback_config")))
            model = as_text(get(row, "run_metadata", "model")) or None
            scores = {key: self._mean(values) for key, values in given.items()}
            yield _Result({**_times(row), "locator": locator}, item, scores, _error(row.get("error")), model)

    def _declare(self, key: str, config: Row) -> None:
        low, high = as_number(config.get("min")), as_number(config.get("max"))
        if low is not None and high is not None and low < high:
            self.scales[key] = low, high

    def _mean(self, values: list[object]) -> object:
        if len(values) == 1:
            return values[0]
        self.counts[_SEVERAL] += 1
        numbers = [number for value in values if (number := as_number(value)) is not None]
        return fmean(numbers) if numbers else None


@lru_cache(maxsize=1_000)
def _split(name: str) -> tuple[str, str]:
    """Return what a column of a table is (in, ref, score, or nothing of these), and its name there."""
    prefix, dot, key = name.partition(".")
    kind = _PREFIXES.get(prefix, "") if dot and key else ""
    return ("", "") if kind == "score" and key == _COMMENTS else (kind, key)


@lru_cache(maxsize=1_000)
def _page_name(name: str) -> str:
    """Return a column's name as the page of an experiment may have it, spelled in one way."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    return _PAGE_NAMES.get(plain, plain)


def _holds_numbers(cells: Iterable[object]) -> bool:
    """Whether all cells with something in them are numbers or words for right and wrong, and there are such."""
    filled = [str(cell).strip().lower() for cell in cells if cell is not None]
    filled = [cell for cell in filled if cell not in _NO_VALUE]
    return bool(filled) and all(cell in _WORDS or as_number(cell) is not None for cell in filled)


def _about(records: Records) -> Row:
    """Return what an upload says beside its results."""
    found = dict(records.head.members)
    if not {"experiment_name", "dataset_name"} <= found.keys():
        parts = iter_json(records.head.path, arrays=("results",))
        found.update({part.member: part.value for part in parts if isinstance(part, JsonMember)})
    return found


def _error(value: object) -> str | None:
    """Return why a run failed; None where it did not."""
    text = as_text(value) or held(value) or ""
    return None if text.strip().lower() in _NO_VALUE else first_line(text)


def _times(row: Row) -> Row:
    start, end = as_time(row.get("start_time")), as_time(row.get("end_time"))
    took = (end - start).total_seconds() if start is not None and end is not None else None
    return {"timestamp": start, "latency_s": as_amount(took)}


LOADER: Final = LangSmithLoader()
