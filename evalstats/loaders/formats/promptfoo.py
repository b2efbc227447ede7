"""promptfoo: every test with every provider and prompt, as `promptfoo eval -o` writes it (JSON of version 2 and 3, JSON Lines).

A run is a provider with a prompt. The model is the provider's id; the system is its label, with the prompt where the file has
several. The item is a hash of the test (variables, description, assertions); repetitions are trials. promptfoo writes score 0
for much that is no answer of a model: failed requests are errors here, tests that the judge failed on or that assert nothing are
unscored.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

from evalstats.loaders.format import HEADLINE, OBJECT, RECORDS, Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.records import hashed
from evalstats.loaders.rows import Row, Said, held, scored, unscored
from evalstats.loaders.typed_records import Other
from evalstats.loaders.values import (
    as_amount,
    as_dict,
    as_number,
    as_text,
    as_time,
    dicts,
    first_line,
    get,
    json_text,
    shortened,
)

_ERROR: Final = 2  # promptfoo's failureReason: 0 none, 1 an assertion, 2 an error
_MOST_NAMED: Final = 200
_LABEL_CHARS: Final = 40
# What older versions say where a judge failed; newer ones mark it with graderError.
_JUDGE_FAILED: Final = (
    *("Could not extract JSON from", "Could not parse", "llm-rubric produced malformed response", "API call error"),
    *("Scoring function error", "No output from grader", "Grading error", "API error"),
)
_FAILED: Final = "{n} tests ended in an error of the harness or of an API; promptfoo counts them as score 0"
_UNJUDGED: Final = "in {n} tests the judge itself failed; promptfoo counts them as failures, here they are unscored"
_NOTHING: Final = "{n} tests assert nothing; promptfoo passes them, here they are unscored"
_MANY_NAMED: Final = f"{{n}} named scores are dropped: more than {_MOST_NAMED} different names"


class _Response(Struct, rename="camel"):
    error: Any = None
    token_usage: Any = None


class _Test(Struct):
    vars: Any = None
    description: Any = None
    asserts: Any = field(default=None, name="assert")
    metadata: Any = None


class _Named(Struct):
    """A provider or a prompt."""

    id: Any = None
    label: Any = None
    raw: Any = None
    config: Any = None


class _Graded(Struct, rename="camel"):
    passed: Any = field(default=None, name="pass")
    reason: Any = None
    metadata: Any = None
    component_results: Any = None


class _Result(Struct, rename="camel"):
    prompt_idx: Any = None
    test_case: _Test | Other = None
    prompt_id: Any = None
    provider: _Named | Other = None
    prompt: _Named | Other = None
    vars: Any = None
    response: _Response | Other = None
    error: Any = None
    failure_reason: Any = None
    success: Any = None
    score: Any = None
    latency_ms: Any = None
    grading_result: _Graded | Other = None
    named_scores: Any = None
    cost: Any = None


class _Reader:
    def __init__(self, file: FormatFile[_Result]) -> None:
        self.file = file
        self.named: dict[str, str] = {}
        self.runs: dict[tuple[object, ...], Row] = {}

    def rows(self, record: _Result) -> Iterator[Sample]:
        if record.success is record.score is record.grading_result is record.error is record.failure_reason is None:
            self.file.leave_out("no success, score or error")
            return
        test = record.test_case if isinstance(record.test_case, _Test) else _Test()
        response = record.response if isinstance(record.response, _Response) else _Response()
        metadata = {name: value for name, value in as_dict(test.metadata).items() if not name.startswith("_")}
        tokens, latency = as_dict(response.token_usage), as_number(record.latency_ms)
        shared: Row = {
            **(self.file.factors.of(metadata) if metadata else metadata),
            **self.run(record),
            "item": _item(record, test),
            "cost_usd": record.cost,
            "latency_s": None if latency is None else latency / 1000,
            "input_tokens": tokens.get("prompt"),
            "output_tokens": tokens.get("completion"),
            "test": test.description and shortened(test.description),
        }
        state, scores = self.state(record, response), as_dict(record.named_scores)
        outcomes = [("pass", state or _passed(record)), ("score", state or number(record.score))]
        for own in dict.fromkeys([*scores, *_asserted(test)]) if state else scores:
            if own in self.named or len(self.named) < _MOST_NAMED:
                self.named[own] = f"score/{as_text(own)}"
                outcomes.append((self.named[own], state or number(scores.get(own))))
            else:
                self.file.count(_MANY_NAMED)
        yield shared, outcomes

    def state(self, record: _Result, response: _Response) -> Row | None:
        """Return why a test has no score; None where it has one."""
        graded = record.grading_result if isinstance(record.grading_result, _Graded) else None
        untold = record.failure_reason is None and not graded and record.error and record.success is not True
        if record.failure_reason == _ERROR or response.error or untold:
            self.file.count(_FAILED)
            error = record.error or response.error
            return unscored(
                first_line(error) or first_line(held(error)) or "an error without a message",
                held(record.score),
                error=True,
            )
        if graded is None:
            return None
        components = [
            (part.get("pass"), part.get("reason"), part.get("metadata")) for part in dicts(graded.component_results)
        ]
        for passed, reason, metadata in (*components, (graded.passed, graded.reason, graded.metadata)):
            if passed is True and not metadata:
                continue
            words = as_text(reason) or ""
            if get(metadata, "graderError") or (not passed and words.startswith(_JUDGE_FAILED)):
                self.file.count(_UNJUDGED)
                return unscored(f"the judge failed: {first_line(words)}", held(record.score))
        if not components and graded.reason == "No assertions":
            self.file.count(_NOTHING)
            return unscored("the test asserts nothing", held(record.score))
        return None

    def run(self, record: _Result) -> Row:
        """Return the run of a result, one column of promptfoo's table, with the prompt's short name."""
        provider, given = (
            part if isinstance(part, _Named) else _Named(id=part) for part in (record.provider, record.prompt)
        )
        prompt = as_text(given.label) or as_text(given.raw)
        model = as_text(provider.id) or None
        label = as_text(provider.label) or model
        prompt_id = as_text(record.prompt_id) or hashed(prompt)
        key = (model, label, prompt_id, as_text(record.prompt_idx))
        if key not in self.runs:
            members = self.file.members
            heat = as_amount(get(provider.config, "temperature"))
            judge = get(members.get("config"), "defaultTest", "options", "provider")
            short = _short(prompt, prompt_id)
            config: Row = {"evalId": as_text(members.get("evalId")), "provider": label or self.file.source.called}
            config |= {"description": as_text(get(members.get("config"), "description")), "prompt": short}
            run = self.file.run(
                model,
                label or self.file.source.called,
                str(len(self.runs)),
                system=label or self.file.source.called,
                harness_version=as_text(get(members.get("metadata"), "promptfooVersion")),
                prompt_hash=prompt_id,
                temperature=as_amount(get(given.config, "temperature")) if heat is None else heat,
                judge=as_text(get(judge, "id")) or as_text(judge),
                timestamp=as_time(members.get("results.timestamp") or members.get("timestamp")),
                dependence=[],
                config=json_text(config),
            )
            self.runs[key] = {"run": run, "prompt": short, "link": as_text(members.get("shareableUrl"))}
        return self.runs[key]

    def finish(self) -> tuple[Sample, ...]:
        """Name what is compared: the provider, with its prompt where there are several, and with a number where both repeat."""
        several = len({prompt_id for _, _, prompt_id, _ in self.runs}) > 1
        taken: Counter[str] = Counter()
        for found in self.runs.values():
            run = self.file.runs[str(found["run"])]
            name = f"{run['system']} [{found['prompt']}]" if several and found["prompt"] else str(run["system"])
            taken[name] += 1
            run["system"] = name if taken[name] == 1 else f"{name} #{taken[name]}"
        return ()


def _item(record: _Result, test: _Test) -> str:
    """Name a test by what it asks and asserts; a prompt without variables is the question itself."""
    asked = as_dict(test.vars) or as_dict(record.vars)
    asked = {name: value for name, value in asked.items() if not name.startswith(("__", "_conversation"))}
    prompt = None if asked or not isinstance(record.prompt, _Named) else record.prompt.raw
    return hashed(asked, test.description, test.asserts, prompt)


def _asserted(test: _Test) -> Iterator[str]:
    """Yield the names of the scores that a test would have had."""
    for assertion in dicts(test.asserts):
        for part in (assertion, *dicts(assertion.get("assert"))):
            name = part.get("metric")
            if isinstance(name, str) and name and "{{" not in name:
                yield name


def _passed(record: _Result) -> Said:
    if not isinstance(record.success, bool):
        return unscored("promptfoo says neither that it passed nor that it failed", held(record.success))
    reason = None if isinstance(record.grading_result, _Graded) else first_line(record.error) or None
    return scored(float(record.success), status_reason=reason) if reason else float(record.success)


def _short(prompt: str | None, prompt_id: str) -> str | None:
    """Shorten a prompt's label, which may be the whole prompt; its id keeps two of them apart."""
    line = first_line(prompt)
    if prompt is None or (line == prompt.strip() and len(line) <= _LABEL_CHARS):
        return prompt and line
    return f"{line[:_LABEL_CHARS]}… ({prompt_id[:8]})"


FORMAT: Final = Format(
    name="promptfoo",
    title="promptfoo results (eval -o, .json and .jsonl)",
    version="2",
    upstream="promptfoo/promptfoo at 002b8d0, src/evaluator.ts and src/assertions/assertionsResult.ts",
    benchmark="promptfoo",
    harness="promptfoo",
    signs=(
        Sign("promptIdx testIdx", 0.95, some="gradingResult namedScores testCase failureReason", shapes=RECORDS),
        Sign("evalId results", 0.95, shapes=(*OBJECT, "lines")),
        Sign("results", 0.9, some="version timestamp prompts stats", text=('"promptIdx":',), shapes=(*OBJECT, "lines")),
    ),
    record=_Result,
    reader=_Reader,
    lists=("results.results", "results"),
    keep=("evalId", "config", "metadata", "results.timestamp", "timestamp", "shareableUrl"),
    called="results",
    repeated=True,
    metrics={"pass": HEADLINE},
    better=lambda _: True,
    expected="promptfoo writes them to results.results (promptfoo eval -o out.json)",
    texts={
        "question": "prompt.raw vars testCase.vars",
        "expected": "testCase.assert",
        "answer": "response.output error",
    },
)
