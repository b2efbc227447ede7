"""DeepEval: a test run with its test cases and the metrics of each, as `evaluate()` and `deepeval test run` write it.

One run per file. Metrics are `success` of each test case (flaky metrics do not decide it), and every metric under its own name,
with its judge. The item is a hash of what a model was given: input, expected output and context, or the scenario of a
conversation. A metric that failed has an error and no score.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET, Struct

from evalstats.loaders.base import Source
from evalstats.loaders.format import FAILED, HEADLINE, OBJECT, UNSCORED, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row, Said, hashed, held, scored, unscored
from evalstats.loaders.typed_records import Other, Plain
from evalstats.loaders.values import as_amount, as_dict, as_list, as_number, as_text, dicts, first_line, json_text
from evalstats.schema.data import Problem

_CASES: Final = ("testCases", "conversationalTestCases")
_SOME: Final = " ".join(_CASES)
_ABOUT: Final = ("hyperparameters", "identifier", "testFile", "datasetAlias")
# The keys under which people log the model that was tested; DeepEval prescribes none.
_MODEL_KEYS: Final = ("model", "modelname", "llm", "llmmodel", "testedmodel", "generationmodel", "generatormodel")
_NAMES: Final = ("name", "model")  # of a model that was logged as an object
_NO_LETTER: Final = re.compile(r"[^a-z]")
# Metrics that pass at or below their threshold.
_LOW_IS_GOOD: Final = ("bias", "toxicity", "hallucination", "misuse")
_ROLLING: Final = ".latest_test_run.json"
_COPY: Final = "is DeepEval's copy of its newest run, and runs beside it have files of their own; it is passed over"


class _Metric(Struct, rename="camel"):
    name: Any = None
    threshold: Any = None
    success: Any = None
    score: Any = None
    flaky: Any = None
    evaluation_model: Any = None
    error: Any = None


class _Case(Struct, rename="camel"):
    input: Any = UNSET
    name: Any = None
    expected_output: Any = None
    context: Any = None
    scenario: Any = None
    expected_outcome: Any = None
    user_description: Any = None
    turns: Any = UNSET
    tags: Any = None
    token_cost: Any = None
    completion_time: Any = None
    success: Any = UNSET
    metrics_data: list[_Metric | Other] | Plain = None
    metadata: Any = None


class _Reader:
    def __init__(self, file: FormatFile[_Case]) -> None:
        self.file = file
        self.judges: set[str] = set()
        self.signs: dict[str, set[bool]] = {}

    def rows(self, record: _Case) -> Iterator[Sample]:
        listed = record.metrics_data
        found = [part for part in listed if isinstance(part, _Metric)] if isinstance(listed, list) else []
        if record.input is record.turns is UNSET and not record.scenario:
            self.file.leave_out("no input, turns or scenario")
            return
        metadata = as_dict(record.metadata)
        shared: Row = {
            **(self.file.factors.of(metadata) if metadata else metadata),
            "run": self.file.run(""),
            "item": _item(record),
            "tags": [text for tag in as_list(record.tags) if (text := as_text(tag)) is not None] or None,
            "cost_usd": record.token_cost,
            "latency_s": record.completion_time,
        }
        outcomes: list[tuple[str, Said]] = [("success", self.success(record, found))]
        names = Counter[str]()
        for part in found:
            name = as_text(part.name) or "metric without a name"
            names[name] += 1
            name = name if names[name] == 1 else f"{name} ({names[name]})"
            name = "metric success" if name == "success" else name
            judge, threshold = as_text(part.evaluation_model), as_number(part.threshold)
            if judge:
                self.judges.add(judge)
            outcomes.append((name, {"judge": judge, "threshold": threshold, **self.outcome(part, name, threshold)}))
        yield shared, outcomes

    def outcome(self, part: _Metric, name: str, threshold: float | None) -> Row:
        """Read a metric of one test case, and which side of its threshold passes."""
        signs = self.signs.setdefault(name, set())
        if part.error:
            return unscored(_words(part.error), held(part.score), error=True)
        score = None if isinstance(part.score, bool) else as_number(part.score)
        if score is None:
            return unscored("the metric gave no score", held(part.score))
        if threshold is not None and abs(score - threshold) > 1e-9 and isinstance(part.success, bool):
            signs.add((score > threshold) == part.success)
        return scored(score)

    def success(self, record: _Case, found: list[_Metric]) -> Said:
        """Read whether the test case passed; where only errors made it fail, that is an error."""
        value = None if record.success is UNSET else record.success
        if not isinstance(value, bool) or not found:
            return unscored("the test case was not judged", held(value))
        if value:
            return 1.0
        deciding = [part for part in found if part.flaky is not True]
        if any(part.success is False and not part.error and as_number(part.score) is not None for part in deciding):
            return 0.0
        broken = next((part for part in deciding if part.error), None)
        if broken is None:
            return unscored("no metric with a score failed the test case", held(value))
        return unscored(f"{as_text(broken.name) or 'a metric'}: {_words(broken.error)}", held(value), error=True)

    def finish(self) -> tuple[Sample, ...]:
        """Name the run by what was logged, and tell from how scores pass their thresholds whether more is better."""
        members = self.file.members
        known = {name: members.get(f"testRunData.{name}", members.get(name)) for name in _ABOUT}
        about = {name: value for name, value in known.items() if value is not None}
        hyper = as_dict(about.get("hyperparameters"))
        logged = {_NO_LETTER.sub("", key.lower()): value for key, value in hyper.items()}
        names = (name for key in _MODEL_KEYS for name in (logged.get(key), *map(as_dict(logged.get(key)).get, _NAMES)))
        named = next((name for each in names if (name := (as_text(each) or "").strip())), None)
        judge, temperature = (self.judges.pop() if len(self.judges) == 1 else None), as_amount(hyper.get("temperature"))
        for run, told in self.file.runs.items():
            self.file.name(run, named or as_text(about.get("identifier")) or None)
            told |= {"judge": judge, "temperature": temperature, "dependence": [], "config": json_text(about)}
        for name, signs in self.signs.items():
            usual = not name.lower().startswith(_LOW_IS_GOOD)
            self.file.metric(name, higher_is_better=next(iter(signs)) if len(signs) == 1 else None if signs else usual)
        return ()


def _item(record: _Case) -> str:
    """Name a test case by its golden: what a model was given, never what it answered."""
    if record.input is not UNSET:
        return hashed(record.input, record.expected_output, record.context)
    golden = (record.scenario, record.expected_outcome, record.user_description, record.context)
    first = next((turn.get("content") for turn in dicts(record.turns) if turn.get("role") == "user"), None)
    return hashed(*golden) if any(golden) else hashed(first, None if first else record.name)


def _words(error: object) -> str:
    return first_line(error) or first_line(held(error)) or "an error without a message"


def _sources(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Make every file a source, but the rolling copy of the newest run where runs of the same project have files too."""
    kept = [path for path in files if path.name != _ROLLING]
    for path in files:
        project = path.parent.parent if path.parent.name == ".deepeval" else path.parent
        if path.name == _ROLLING and any(project in other.parents for other in kept):
            yield from Source(path=path).notes([_COPY])
        else:
            yield Source(path=path)


FORMAT: Final = Format(
    name="deepeval",
    title="DeepEval test runs (.latest_test_run.json, test_run_*)",
    version="2",
    upstream="confident-ai/deepeval at a2e0d4c, deepeval/test_run/test_run.py, deepeval/test_run/api.py, deepeval/tracing/api.py",
    benchmark="DeepEval",
    harness="DeepEval",
    signs=(
        Sign("testRunData", 0.95, shapes=OBJECT),
        Sign("testRunLink", 0.9, shapes=OBJECT),
        Sign("", 0.95, some=_SOME, text=('"metricsData":',), shapes=OBJECT),
        Sign("metricsScores", 0.95, some=_SOME, shapes=OBJECT),
    ),
    record=_Case,
    rows=lambda record, file: file.state(_Reader).rows(record),
    finish=lambda file: file.state(_Reader).finish(),
    at=(*_CASES, *(f"testRunData.{name}" for name in _CASES)),
    keep=(*_ABOUT, *(f"testRunData.{name}" for name in _ABOUT)),
    called="test cases",
    repeated=True,
    metrics={"success": HEADLINE},
    counts={
        "{n} results are errors of metrics, which DeepEval counts as failures; they are errors here": FAILED,
        "{n} results have no score; they are unscored": UNSCORED,
    },
    expected=(
        "DeepEval writes them to testCases after evaluate() or `deepeval test run`; of a run that holds only a testRunLink, "
        "export the run, or set DEEPEVAL_RESULTS_FOLDER"
    ),
    naming="Log it with hyperparameters={'model': ...}, or rename the file",
    grouped=_sources,
)
