"""promptfoo: every test with every provider and prompt, as `promptfoo eval -o` writes it (JSON of version 2 and 3, JSON Lines).

promptfoo writes score 0 for much that is no answer of a model: failed requests are errors here, tests that the judge failed on
or that assert nothing are unscored.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import HEADLINE, HIGHER, OBJECT, RECORDS, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import number, verdict
from evalstats.loaders.rows import Row, hashed, held, unscored
from evalstats.loaders.typed_records import Other
from evalstats.loaders.values import as_amount, as_dict, as_number, as_text, as_time, dicts, first_line, get, shortened

_ERROR: Final = 2  # promptfoo's failureReason: 0 none, 1 an assertion, 2 an error
_LABEL_CHARS: Final = 40
# What older versions say where a judge failed; newer ones mark it.
_JUDGE_FAILED: Final = (
    *("Could not extract JSON from", "Could not parse", "llm-rubric produced malformed response", "API call error"),
    *("Scoring function error", "No output from grader", "Grading error", "API error"),
)
_FAILED: Final = "{n} tests ended in an error of the harness or of an API; promptfoo counts them as score 0"
_UNJUDGED: Final = "in {n} tests the judge itself failed; promptfoo counts them as failures, here they are unscored"
_NOTHING: Final = "{n} tests assert nothing; promptfoo passes them, here they are unscored"


class _Response(Struct, rename="camel"):
    error: Any = None
    token_usage: Any = None


class _Result(Struct, rename="camel"):
    prompt_idx: Any = None
    test_case: Any = None
    prompt_id: Any = None
    provider: Any = None
    prompt: Any = None
    vars: Any = None
    response: _Response | Other = None
    error: Any = None
    failure_reason: Any = None
    success: Any = None
    score: Any = None
    latency_ms: Any = None
    grading_result: Any = None
    named_scores: Any = None
    cost: Any = None


class _Reader:
    def __init__(self, file: FormatFile[_Result]) -> None:
        self.file = file
        self.runs: dict[tuple[object, ...], Row] = {}

    def rows(self, record: _Result) -> Iterator[Sample]:
        if record.success is record.score is record.grading_result is record.error is record.failure_reason is None:
            self.file.leave_out("no success, score or error")
            return
        test = as_dict(record.test_case)
        response = record.response if isinstance(record.response, _Response) else _Response()
        metadata = {name: value for name, value in as_dict(test.get("metadata")).items() if not name.startswith("_")}
        tokens, latency = as_dict(response.token_usage), as_number(record.latency_ms)
        shared: Row = {
            **(self.file.factors.of(metadata) if metadata else metadata),
            **self.run(record),
            "item": _item(record, test),
            "cost_usd": record.cost,
            "latency_s": None if latency is None else latency / 1000,
            "input_tokens": tokens.get("prompt"),
            "output_tokens": tokens.get("completion"),
            "test": shortened(said) if isinstance(said := test.get("description"), str) else None,
        }
        state, scores = self.state(record, response), as_dict(record.named_scores)
        outcomes = [("pass", state or verdict(record.success)), ("score", state or number(record.score))]
        # A test without a score lacks those that it would have had, too.
        names = [*scores, *_asserted(test)] if state else scores
        outcomes += [(f"score/{as_text(name)}", state or number(scores.get(name))) for name in dict.fromkeys(names)]
        yield shared, outcomes

    def state(self, record: _Result, response: _Response) -> Row | None:
        """Return why a test has no score; None where it has one."""
        graded = as_dict(record.grading_result)
        untold = record.failure_reason is None and not graded and record.error and record.success is not True
        if record.failure_reason == _ERROR or response.error or untold:
            self.file.count(_FAILED)
            error = record.error or response.error
            words = first_line(error) or first_line(held(error)) or "an error without a message"
            return unscored(words, held(record.score), error=True)
        components = [*dicts(graded.get("componentResults"))]
        for part in (*components, graded):
            if part.get("pass") is True and not part.get("metadata"):
                continue
            words = as_text(part.get("reason")) or ""
            if get(part, "metadata", "graderError") or (not part.get("pass") and words.startswith(_JUDGE_FAILED)):
                self.file.count(_UNJUDGED)
                return unscored(f"the judge failed: {first_line(words)}", held(record.score))
        if not components and graded.get("reason") == "No assertions":
            self.file.count(_NOTHING)
            return unscored("the test asserts nothing", held(record.score))
        return None

    def run(self, record: _Result) -> Row:
        """Return the run of a result, one column of promptfoo's table, with the prompt's short name."""
        provider, given = as_dict(record.provider) or {"id": record.provider}, as_dict(record.prompt)
        prompt = as_text(given.get("label")) or as_text(given.get("raw"))
        model = as_text(provider.get("id")) or None
        label = as_text(provider.get("label")) or model
        prompt_id = as_text(record.prompt_id) or hashed(prompt)
        key = (model, label, prompt_id, as_text(record.prompt_idx))
        if key in self.runs:
            return self.runs[key]
        members, system = self.file.members, label or self.file.source.called
        judge = get(members.get("config"), "defaultTest", "options", "provider")
        heats = (as_amount(get(each, "config", "temperature")) for each in (provider, given))
        short = _short(prompt, prompt_id)
        run = self.file.run(
            model,
            system,
            str(len(self.runs)),
            system=system,
            harness_version=as_text(get(members.get("metadata"), "promptfooVersion")),
            prompt_hash=prompt_id,
            temperature=next((heat for heat in heats if heat is not None), None),
            judge=as_text(get(judge, "id")) or as_text(judge),
            timestamp=as_time(members.get("results.timestamp") or members.get("timestamp")),
            dependence=[],
            config={"evalId": as_text(members.get("evalId")), "provider": system, "prompt": short},
        )
        found = self.runs[key] = {"run": run, "prompt": short, "link": as_text(members.get("shareableUrl"))}
        return found

    def finish(self) -> tuple[Sample, ...]:
        """Name what is compared: the provider, with its prompt where there are several, and with a number where both repeat."""
        several = len({prompt_id for _, _, prompt_id, _ in self.runs}) > 1
        for found in self.runs.values():
            run = self.file.runs[str(found["run"])]
            name = f"{run['system']} [{found['prompt']}]" if several and found["prompt"] else str(run["system"])
            again = self.file.trial("system", name)
            run["system"] = f"{name} #{again + 1}" if again else name
        return ()


def _item(record: _Result, test: Row) -> str:
    """Name a test by what it asks and asserts; a prompt without variables is the question itself."""
    asked = as_dict(test.get("vars")) or as_dict(record.vars)
    asked = {name: value for name, value in asked.items() if not name.startswith(("__", "_conversation"))}
    return hashed(asked, test.get("description"), test.get("assert"), None if asked else get(record.prompt, "raw"))


def _asserted(test: Row) -> Iterator[str]:
    """Yield the names of the scores that a test would have had."""
    for assertion in dicts(test.get("assert")):
        for part in (assertion, *dicts(assertion.get("assert"))):
            if isinstance(name := part.get("metric"), str) and name and "{{" not in name:
                yield name


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
    rows=lambda record, file: file.state(_Reader).rows(record),
    finish=lambda file: file.state(_Reader).finish(),
    at=("results.results", "results"),
    keep=("evalId", "config", "metadata", "results.timestamp", "timestamp", "shareableUrl"),
    called="results",
    repeated=True,
    metrics={"pass": HEADLINE, "*": HIGHER},
    expected="promptfoo writes them to results.results (promptfoo eval -o out.json)",
    texts={
        "question": "prompt.raw vars testCase.vars",
        "expected": "testCase.assert",
        "answer": "response.output error",
    },
)
