"""LiveCodeBench: the site's averages by question and model, and submissions with a verdict for every sample.

Formats: `performances_<kind>.json` of LiveCodeBench/livecodebench.github.io at f186ab5, and
`<model>/Scenario.<scenario>_<n>_<temperature>_eval_all.json` of LiveCodeBench/submissions.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from evalstats.errors import InputError, UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source, in_frames, read_head
from evalstats.loaders.files import JsonItem, iter_json, loads
from evalstats.loaders.rows import Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, day_of, first_line, json_text
from evalstats.schema.data import Problem

_SITE: Final = "performances"
_BENCHMARK: Final = "LiveCodeBench"
# Columns of the site's averages, in percent, and the metrics that they are.
_SHARES: Final = {"pass@1": "pass@1", "Pass@1": "pass@1", "Pass@1-COT": "pass@1/cot"}
_TEST_OUTPUT: Final = "testoutputprediction"
_KINDS: Final = {"execution": "codeexecution", "repair": "selfrepair", "testgen": _TEST_OUTPUT}
_NAME = re.compile(r"Scenario\.(?P<task>[a-z]+)(?:_(?P<n>\d+)_(?P<temperature>\d+(?:\.\d+)?))?(?:_.*)?")
# What the runner of the tests writes where it failed itself, and not the code under test.
_RUNNER_FAILED: Final = -5
_NOT_RUN: Final = "{n} averages are -1: the model was not run so; they are unscored"
_NO_SHARE: Final = "{n} averages are no percentage and are unscored"
_UNNAMED: Final = "{n} rows name no question or model, or are no objects, and are left out"
_AGAIN: Final = "{n} rows repeat a question and a model and have no id of their own; they are numbered as trials"
_TWICE: Final = "{n} questions stand a second time and are left out"
_FAILED: Final = "{n} samples are errors of the runner of the tests, which the file counts as failed"
_NO_VERDICT: Final = "{n} samples have no verdict (true or false) and are unscored"
_AVERAGED: Final = "{n} questions have no verdict by sample; their average is read"
_AVERAGES: Final = "scores are averages over some ten samples; how many is not in the file"


class LiveCodeBenchLoader(SingleFileLoader):
    """Loader of LiveCodeBench: metric `pass@1`, as a proportion; the question is the item.

    The site's files give averages: one run for each model, `trial` is null. -1 means that a model was not run: unscored.
    Submissions give every sample: `trial` counts from 0, the model is the folder, and a failure of the runner of the tests
    (error code -5) is an error. `contest_date` is the day on which a question was first asked.
    """

    name = "livecodebench"
    title = "LiveCodeBench (performances_*.json, Scenario.*_eval_all.json)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise the site's averages, or questions with their samples."""
        if head.shape == "object" and _SITE in head.keys and any(f'"{name}"' in head.text for name in _SHARES):
            return Match(confidence=0.9, reason="performances with pass@1")
        if head.shape == "array" and head.keys >= {"question_id", "contest_date", "output_list"}:
            return Match(confidence=0.9, reason="question_id, contest_date and output_list")
        if head.shape == "array" and head.keys >= {"question_id", "graded_list"}:
            return Match(confidence=0.85, reason="question_id and graded_list")
        return None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, metrics, the runs, and notes."""
        file = _Site(source) if read_head(source.path).shape == "object" else _Submission(source)
        yield from in_frames(file.outcomes(), "outcomes", {"benchmark": _BENCHMARK, "task": file.task})
        if not file.metrics:
            raise UnreadableFileError(
                f"{source.path}: holds no question with a score; results that were graded were expected"
            )
        yield Rows(table="metrics", rows=list(file.metrics.values()))
        yield Rows(table="runs", rows=list(file.runs.values()))
        yield from source.notes([*file.notes, *told(file.counts)])
        if file.left_out:
            message = f"{_UNNAMED.format(n=len(file.left_out))} (row {comma_list(file.left_out)})"
            yield from source.notes([message], "error")


class _File:
    """One document being read: its runs and metrics, and what is worth telling."""

    def __init__(self, source: Source, task: str) -> None:
        self.source = source
        self.task = task
        self.runs: dict[str, Row] = {}
        self.metrics: dict[str, Row] = {}
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.left_out: list[int] = []

    def take(self, metric: str, kind: str) -> None:
        """Take note of a metric."""
        if metric not in self.metrics:
            self.metrics[metric] = metric_row(_BENCHMARK, metric, kind, primary=metric == "pass@1")


class _Site(_File):
    """The site's averages by question and model."""

    def __init__(self, source: Source) -> None:
        kind = next((task for word, task in _KINDS.items() if word in source.stem), "codegeneration")
        super().__init__(source, kind)
        self.notes.append(_AVERAGES)
        self._names: dict[str, str] = {}
        self._seen: Counter[tuple[str, str]] = Counter()

    def outcomes(self) -> Iterator[Row]:
        """Yield one row for each average."""
        known: dict[str, Row] = {}
        for part in iter_json(self.source.path, arrays=(_SITE, "models", "date_marks")):
            if not isinstance(part, JsonItem) or part.member == "date_marks":
                continue
            record = as_dict(part.value)
            if part.member == _SITE:
                yield from self._record(record, part.index)
            elif name := as_text(record.get("model_repr")):
                known[name] = {key: record.get(key) for key in ("model_name", "model_style", "link")} | {
                    "release_date": str(day_of(record.get("release_date")))
                }
        unknown = [model for model in self._names if model not in known]
        if unknown and known:
            self.notes.append(f"{len(unknown)} models are not among the file's models ({comma_list(unknown)})")
        for model, run in self._names.items():
            self.runs[run]["config"] = json_text(known[model]) if model in known else None

    def _record(self, record: Row, index: int) -> Iterator[Row]:
        sample, question = as_text(record.get("sample_id")), as_text(record.get("question_id"))
        model, item = as_text(record.get("model")), sample or question
        if not model or not item:
            self.left_out.append(index)
            return
        run = self._names.get(model)
        if run is None:
            run = self._names[model] = self.source.run_id(model)
            self.runs[run] = {
                "run": run,
                "model": model,
                "system": model,
                "benchmark": _BENCHMARK,
                "harness": _BENCHMARK,
            }
        before = self._seen[model, item]
        self._seen[model, item] += 1
        self.counts[_AGAIN] += before > 0
        about: Row = {
            "run": run,
            "model": model,
            "system": model,
            "item": item,
            # Test outputs are asked for several tests of a question.
            "trial": before if before or self.task == _TEST_OUTPUT else None,
            "difficulty": as_text(record.get("difficulty")),
            "platform": as_text(record.get("platform")),
            "contest_date": _day(record.get("date")),
            "question": question if sample else None,
        }
        for column, metric in _SHARES.items():
            if column in record:
                self.take(metric, "proportion")
                yield {**about, "metric": metric, **self._share(record[column])}

    def _share(self, value: object) -> Row:
        number = None if isinstance(value, bool | str) else as_number(value)
        if number == -1:
            self.counts[_NOT_RUN] += 1
            return unscored("-1: not run", held(value))
        if number is None or not 0 <= number <= 100:
            self.counts[_NO_SHARE] += 1
            return unscored("no percentage", held(value))
        return scored(number / 100, value_raw=f"{number:g}%")


class _Submission(_File):
    """Samples of one model, with their verdicts."""

    def __init__(self, source: Source) -> None:
        found = _NAME.fullmatch(source.stem)
        super().__init__(source, found["task"] if found else "codegeneration")
        folder = as_text(source.path.absolute().parent.name) or source.stem
        model = folder if found else source.called
        if not found:
            self.notes.append(f"the file names no model, so that {model}, from its own name, stands for it")
        self._about: Row = {"run": source.run_id(), "model": model, "system": model}
        self.runs[source.run_id()] = {
            **self._about,
            "benchmark": _BENCHMARK,
            "harness": _BENCHMARK,
            "temperature": as_number(found["temperature"]) if found else None,
        }

    def outcomes(self) -> Iterator[Row]:
        """Yield one row for each sample."""
        seen: set[str] = set()
        for part in iter_json(self.source.path):
            if not isinstance(part, JsonItem):
                raise InputError("is a JSON object; a list of questions was expected")
            record = as_dict(part.value)
            item = as_text(record.get("question_id"))
            if not item:
                self.left_out.append(part.index)
                continue
            if item in seen:
                self.counts[_TWICE] += 1
                continue
            seen.add(item)
            self.take("pass@1", "binary")
            about: Row = {
                **self._about,
                "item": item,
                "metric": "pass@1",
                "difficulty": as_text(record.get("difficulty")),
                "platform": as_text(record.get("platform")),
                "contest_date": _day(record.get("contest_date")),
                "locator": f"[{part.index}]",
            }
            for row in self._samples(record):
                yield {**about, **row}

    def _samples(self, record: Row) -> Iterator[Row]:
        verdicts, details = as_list(record.get("graded_list")), as_list(record.get("metadata"))
        if not verdicts:
            value = record.get("pass@1", record.get("pass1"))
            share = None if isinstance(value, bool) else as_number(value)
            good = share is not None and 0 <= share <= 1
            self.counts[_AVERAGED if good else _NO_VERDICT] += 1
            if good:
                self.metrics["pass@1"]["kind"] = "proportion"
            yield scored(share) if share is not None and good else unscored("no verdict", held(value))
            return
        for trial, verdict in enumerate(verdicts):
            failure = _runner_failure(details[trial]) if verdict is not True and trial < len(details) else None
            if failure is not None:
                self.counts[_FAILED] += 1
                row = unscored(f"the runner of the tests failed{failure}", held(verdict), error=True)
            elif isinstance(verdict, bool):
                row = scored(float(verdict))
            else:
                self.counts[_NO_VERDICT] += 1
                row = unscored("no verdict", held(verdict))
            yield {"trial": trial, **row}


def _day(value: object) -> str | None:
    return _day_of(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None


@lru_cache(maxsize=4096)
def _day_of(value: str | float) -> str | None:
    day = day_of(value)
    return None if day is None else day.isoformat()


def _runner_failure(detail: object) -> str | None:
    """Return why the runner of the tests failed; None where it did not, or nothing says so."""
    if not isinstance(detail, str) or str(_RUNNER_FAILED) not in detail:
        return None
    try:
        found = as_dict(loads(detail, "metadata"))
    except UnreadableFileError:
        return None
    reason = first_line(found.get("error"))
    return (f": {reason}" if reason else "") if found.get("error_code") == _RUNNER_FAILED else None


LOADER = LiveCodeBenchLoader()
