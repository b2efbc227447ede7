"""DeepEval: a test run with its test cases and the metrics of each.

Formats: `.deepeval/.latest_test_run.json` (the run inside `testRunData`), `.deepeval/.latest_run_full.json`, and
`test_run_<date>_<time>[_<n>]`, with `.json` or (older) without, in DEEPEVAL_RESULTS_FOLDER; confident-ai/deepeval at a2e0d4c,
`deepeval/test_run/test_run.py`, `deepeval/test_run/api.py` and `deepeval/tracing/api.py`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from evalstats.errors import InputError
from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source
from evalstats.loaders.records import Held, Records, hashed, how_to_name
from evalstats.loaders.rows import Factors, Ranges, Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import as_amount, as_dict, as_list, as_number, as_text, dicts, first_line, get, json_text
from evalstats.schema.data import Problem

BENCHMARK: Final = "DeepEval"
_CASES: Final = ("testCases", "conversationalTestCases")
_WRAP: Final = "testRunData."
_ABOUT: Final = ("hyperparameters", "identifier", "testFile", "datasetAlias", "testRunLink")
_ARRAYS: Final = (*_CASES, *(f"{_WRAP}{name}" for name in _CASES))
# The keys under which people log the model that was tested; DeepEval prescribes none.
_MODEL_KEYS: Final = ("model", "modelname", "llm", "llmmodel", "testedmodel", "generationmodel", "generatormodel")
_NO_LETTER = re.compile(r"[^a-z]")
_IN_RUN = re.compile(r'"(?:testCases|conversationalTestCases)"\s*:\s*\[')
_OF_CASE = re.compile(r'"metrics(?:Data|Metadata)"\s*:')
# Metrics that pass at or below their threshold.
_LOW_IS_GOOD: Final = ("bias", "toxicity", "hallucination", "misuse")
_ROUNDING: Final = 1e-9
_ROLLING: Final = ".latest_test_run.json"
_FOLDER: Final = ".deepeval"
_FAILED: Final = "metrics that ended in an error ({n}), which DeepEval counts as failures, are errors here"
_EMPTY: Final = "{n} test cases have no metric; they are unscored"


class DeepEvalLoader(SingleFileLoader):
    """Loader of DeepEval's test runs.

    One run per file. Metrics: `success` of each test case (flaky metrics do not decide it), and every metric under its own
    name, with its judge. The item is a hash of input, expected output and context; of a conversation, of its scenario.
    Repetitions are trials. Factors: `threshold` of the metric, and the test case's metadata.
    """

    name = "deepeval"
    title = "DeepEval test runs (.latest_test_run.json, test_run_*)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a test run, bare or inside testRunData."""
        if head.shape != "object":
            return None
        keys = head.keys
        if "testRunData" in keys or ("testRunLink" in keys and len(keys) == 1):
            return Match(confidence=0.95, reason="testRunData")
        if keys & set(_CASES) and _IN_RUN.search(head.text) and (_OF_CASE.search(head.text) or "metricsScores" in keys):
            return Match(confidence=0.95, reason="testCases with metricsData")
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Make every file a source, but the rolling copy of the newest run where runs of the same project have files too."""
        kept = [path for path in files if path.name != _ROLLING]
        for path in files:
            project = path.parent.parent if path.parent.name == _FOLDER else path.parent
            if path.name == _ROLLING and any(project in other.parents for other in kept):
                note = "is DeepEval's copy of its newest run, and runs beside it have files of their own; it is passed over"
                yield from Source(path=path).notes([note])
            else:
                yield Source(path=path)

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, metrics, the run, and notes."""
        yield from _File(source).parts()


class _File:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.records = Records(
            source, *_ARRAYS, called="test cases", keep=(*_ABOUT, *(f"{_WRAP}{name}" for name in _ABOUT))
        )
        self.counts: Counter[str] = Counter()
        self.trials: Counter[str] = Counter()
        self.judges: dict[str, None] = {}
        self.ranges = Ranges()
        self.signs: dict[str, set[bool]] = {}
        self.factors = Factors()
        self.held = Held()

    def parts(self) -> Iterator[Rows | Frame | Problem]:
        for locator, record in self.records:
            if not record.keys() & {"input", "metricsData", "metricsMetadata", "success", "scenario", "turns"}:
                self.records.leave_out(locator, "no test case")
                continue
            for row in self.rows(record, locator):
                self.held.add(row)
        if not self.trials:
            raise InputError(self.nothing())
        model = self.model()
        name = model or self.source.called
        yield from self.held.frames(pl.lit(name).alias("model"), pl.lit(name).alias("system"))
        metrics = [metric_row(BENCHMARK, "success", primary=True)]
        metrics += [
            self.ranges.row(benchmark, metric, higher_is_better=self.higher_is_better(metric))
            for benchmark, metric in self.ranges
        ]
        yield Rows(table="metrics", rows=metrics)
        yield Rows(table="runs", rows=[self.run_row(name)])
        yield from self.records.problems()
        yield from self.source.notes(told(self.counts))
        if model is None:
            advice = "log it with hyperparameters={'model': ...}, or rename the file"
            yield from self.source.notes([how_to_name(name).replace("Rename the file to say otherwise", advice)])

    def rows(self, record: Row, locator: str) -> Iterator[Row]:
        item = _item(record)
        trial = self.trials[item]
        self.trials[item] += 1
        listed = record.get("tags")
        base: Row = {
            **self.factors.of(as_dict(record.get("metadata"))),
            "run": self.source.run_id(),
            "model": "",  # is told at the end
            "system": "",
            "benchmark": BENCHMARK,
            "item": item,
            "trial": trial,
            "tags": [text for tag in as_list(listed) if (text := as_text(tag)) is not None] or None,
            "cost_usd": as_amount(record.get("tokenCost")),
            "latency_s": as_amount(record.get("completionTime")),
            "locator": locator,
        }
        found = list(dicts(record.get("metricsData") or record.get("metricsMetadata")))
        yield {**base, "metric": "success", **self.success(record, found)}
        names: Counter[str] = Counter()
        for part in found:
            name = as_text(part.get("name")) or as_text(part.get("metric")) or "metric without a name"
            names[name] += 1
            name = name if names[name] == 1 else f"{name} ({names[name]})"
            name = "metric success" if name == "success" else name
            judge = as_text(part.get("evaluationModel"))
            if judge is not None:
                self.judges.setdefault(judge)
            threshold = as_number(part.get("threshold"))
            outcome = self.outcome(part)
            score = as_number(outcome.get("score"))
            self.ranges.add(BENCHMARK, name, score)
            if score is not None and threshold is not None and abs(score - threshold) > _ROUNDING:
                passed = part.get("success")
                if isinstance(passed, bool):
                    self.signs.setdefault(name, set()).add((score > threshold) == passed)
            yield {**base, "metric": name, "judge": judge, "threshold": threshold, **outcome}

    def outcome(self, part: Row) -> Row:
        """Read a metric of one test case; one that failed has an error and no score."""
        value = part.get("score")
        error = part.get("error")
        if error:
            self.counts[_FAILED] += 1
            return unscored(_words(error), held(value), error=True)
        number = None if isinstance(value, bool) else as_number(value)
        if number is None:
            return unscored("the metric gave no score", held(value))
        return scored(number)

    def success(self, record: Row, found: list[Row]) -> Row:
        """Read whether the test case passed; where only errors made it fail, that is an error."""
        value = record.get("success")
        self.counts[_EMPTY] += not found
        if not isinstance(value, bool) or not found:
            return unscored("the test case was not judged", held(value))
        deciding = [part for part in found if part.get("flaky") is not True]
        failed = any(
            part.get("success") is False and not part.get("error") and as_number(part.get("score")) is not None
            for part in deciding
        )
        if not value and not failed:
            broken = next((part for part in deciding if part.get("error")), None)
            if broken is None:
                return unscored("no metric with a score failed the test case", held(value))
            name = as_text(broken.get("name")) or "a metric"
            return unscored(f"{name}: {_words(broken.get('error'))}", held(value), error=True)
        return scored(float(value))

    def higher_is_better(self, metric: str) -> bool | None:
        """Tell from how scores pass their threshold, and where that says nothing from the metric's name."""
        signs = self.signs.get(metric, set())
        if len(signs) == 1:
            return next(iter(signs))
        usual = not metric.lower().startswith(_LOW_IS_GOOD)
        return usual if not signs else None

    def member(self, name: str) -> object:
        members = self.records.members
        return members.get(f"{_WRAP}{name}", members.get(name))

    def model(self) -> str | None:
        """Return the model from the hyperparameters, or else the run's identifier."""
        logged = {
            _NO_LETTER.sub("", key.lower()): value for key, value in as_dict(self.member("hyperparameters")).items()
        }
        for key in _MODEL_KEYS:
            value = logged.get(key)
            name = as_text(value) or as_text(get(value, "name")) or as_text(get(value, "model"))
            if name and name.strip():
                return name.strip()
        return as_text(self.member("identifier")) or None

    def nothing(self) -> str:
        if self.member("testRunLink") and not self.records.n_read:
            return "holds only a link to a test run that is kept elsewhere; export that run, or set DEEPEVAL_RESULTS_FOLDER"
        return "holds no test case; DeepEval writes them to testCases after evaluate() or `deepeval test run`"

    def run_row(self, name: str) -> Row:
        config = {key: self.member(key) for key in ("hyperparameters", "identifier", "testFile", "datasetAlias")}
        return {
            "run": self.source.run_id(),
            "model": name,
            "system": name,
            "benchmark": BENCHMARK,
            "harness": "DeepEval",
            "judge": next(iter(self.judges)) if len(self.judges) == 1 else None,
            "temperature": as_amount(get(self.member("hyperparameters"), "temperature")),
            "factor_names": self.factors.own_names,
            "dependence": [],
            "config": json_text({key: value for key, value in config.items() if value is not None}),
        }


def _item(record: Row) -> str:
    """Name a test case by its golden: what a model was given, never what it answered."""
    if "input" in record:
        return hashed(record["input"], record.get("expectedOutput"), record.get("context"))
    golden = [record.get(key) for key in ("scenario", "expectedOutcome", "userDescription", "context")]
    if any(golden):
        return hashed(*golden)
    first = next((turn.get("content") for turn in dicts(record.get("turns")) if turn.get("role") == "user"), None)
    return hashed(first, None if first else record.get("name"))


def _words(error: object) -> str:
    return first_line(error) or first_line(held(error)) or "an error without a message"


LOADER: Final = DeepEvalLoader()
