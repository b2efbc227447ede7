"""promptfoo: every test with every provider and prompt, as `promptfoo eval -o` writes it.

Formats: `results.results` of the JSON output (version 2 and 3), the bare summary that `evaluate()` returns, and JSON Lines with
one result each; promptfoo/promptfoo at 002b8d0, `src/evaluator.ts` and `src/assertions/assertionsResult.ts`.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from evalstats.errors import InputError
from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source
from evalstats.loaders.records import Held, Records, hashed, how_to_name
from evalstats.loaders.rows import Factors, Ranges, Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import (
    as_amount,
    as_count,
    as_dict,
    as_number,
    as_text,
    as_time,
    as_whole,
    dicts,
    first_line,
    get,
    json_text,
    shortened,
)
from evalstats.schema.data import Problem

BENCHMARK: Final = "promptfoo"
_ARRAYS: Final = ("results.results", "results")
_KEEP: Final = ("evalId", "config", "metadata", "results.timestamp", "timestamp")
_ERROR: Final = 2  # promptfoo's failureReason: 0 none, 1 an assertion, 2 an error
_ROW: Final = frozenset({"promptIdx", "testIdx"})
_ROW_MORE: Final = frozenset({"gradingResult", "namedScores", "testCase", "failureReason"})
_RESULTS = re.compile(r'"results"\s*:\s*[\[{]')
_RESULT = re.compile(r'"(?:namedScores|gradingResult|promptIdx)"\s*:')
_LABEL_CHARS = 40
_MOST_NAMED = 200
# What older versions say where a judge failed; newer ones mark it with graderError.
_JUDGE_FAILED: Final = (
    "Could not extract JSON from",
    "Could not parse",
    "llm-rubric produced malformed response",
    "Scoring function error",
    "No output from grader",
    "Grading error",
    "API error",
    "API call error",
)
_FAILED: Final = "{n} tests ended in an error of the harness or of an API; promptfoo counts them as score 0"
_UNJUDGED: Final = "in {n} tests the judge itself failed; promptfoo counts them as failures, here they are unscored"
_NOTHING: Final = "{n} tests assert nothing; promptfoo passes them, here they are unscored"
_MANY_NAMED: Final = f"{{n}} named scores are left out: more than {_MOST_NAMED} different names"


@dataclass(slots=True)
class _Run:
    """One column of promptfoo's table: a provider with a prompt."""

    run: str
    model: str
    label: str
    prompt_id: str
    prompt: str | None
    temperature: float | None


class PromptfooLoader(SingleFileLoader):
    """Loader of promptfoo's results.

    A run is a provider with a prompt. The model is the provider's id; the system is its label, with the prompt where the file
    has several. The item is a hash of the test (variables, description, assertions), repetitions are trials. Metrics: `pass`,
    `score`, and `score/<name>` of every named score. Factors: `prompt`, `test` (its description), and the test's metadata.
    """

    name = "promptfoo"
    title = "promptfoo results (eval -o, .json and .jsonl)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a summary of an eval, or a result of one test."""
        keys = head.keys
        if head.shape in {"lines", "array"} and keys >= _ROW and keys & _ROW_MORE:
            return Match(confidence=0.95, reason="promptIdx, testIdx and what promptfoo says of a test")
        if head.shape not in {"object", "lines"} or "results" not in keys:
            return None
        if "evalId" in keys and _RESULTS.search(head.text):
            return Match(confidence=0.95, reason="evalId and results")
        if _RESULT.search(head.text) and keys <= {"version", "timestamp", "prompts", "results", "stats", "config"}:
            return Match(confidence=0.9, reason="results with namedScores or gradingResult")
        return None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, metrics, the runs, and notes."""
        yield from _File(source).parts()


class _File:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.records = Records(source, *_ARRAYS, called="results", keep=_KEEP)
        self.runs: dict[tuple[object, ...], _Run] = {}
        self.counts: Counter[str] = Counter()
        self.ranges = Ranges()
        self.named: dict[str, None] = {}
        self.trials: Counter[tuple[str, str]] = Counter()
        self.factors = Factors()
        self.held = Held()
        self.unnamed = False

    def parts(self) -> Iterator[Rows | Frame | Problem]:
        for locator, record in self.records:
            if not record.keys() & {"success", "score", "gradingResult", "error", "failureReason"}:
                self.records.leave_out(locator, "no success, score or error")
                continue
            for row in self.rows(record, locator):
                self.held.add(row)
        if not self.runs:
            raise InputError(
                "holds no result of a test; promptfoo writes them to results.results (promptfoo eval -o out.json)"
            )
        systems = self.systems()
        yield from self.held.frames(pl.col("run").replace_strict(systems, return_dtype=pl.String).alias("system"))
        metrics = [metric_row(BENCHMARK, "pass", primary=True)]
        metrics += [self.ranges.row(benchmark, name, higher_is_better=True) for benchmark, name in self.ranges]
        yield Rows(table="metrics", rows=metrics)
        yield Rows(table="runs", rows=[self.run_row(run, systems[run.run]) for run in self.runs.values()])
        yield from self.records.problems()
        yield from self.source.notes(told(self.counts))
        if self.unnamed:
            yield from self.source.notes([how_to_name(self.source.called)])

    def rows(self, record: Row, locator: str) -> Iterator[Row]:
        run = self.run_of(record)
        test = as_dict(record.get("testCase"))
        item = _item(record, test)
        trial = self.trials[run.run, item]
        self.trials[run.run, item] += 1
        latency = as_amount(record.get("latencyMs"))
        tokens = as_dict(get(record, "response", "tokenUsage"))
        base: Row = {
            **self.factors.of({k: v for k, v in as_dict(test.get("metadata")).items() if not k.startswith("_")}),
            "run": run.run,
            "model": run.model,
            "system": "",  # is told at the end
            "benchmark": BENCHMARK,
            "item": item,
            "trial": trial,
            "cost_usd": as_amount(record.get("cost")),
            "latency_s": None if latency is None else latency / 1000,
            "input_tokens": as_count(tokens.get("prompt")),
            "output_tokens": as_count(tokens.get("completion")),
            "prompt": run.prompt,
            "test": shortened(as_text(test.get("description")) or "") or None,
            "locator": locator,
        }
        state = self.state(record)
        yield {**base, "metric": "pass", **(state or _passed(record))}
        outcome = state or _number(record.get("score"))
        self.ranges.add(BENCHMARK, "score", as_number(outcome.get("score")))
        yield {**base, "metric": "score", **outcome}
        names = as_dict(record.get("namedScores"))
        for own in dict.fromkeys([*names, *(_asserted(test) if state else ())]):
            name = f"score/{as_text(own)}"
            if name not in self.named and len(self.named) >= _MOST_NAMED:
                self.counts[_MANY_NAMED] += 1
                continue
            self.named.setdefault(name)
            outcome = state or _number(names.get(own))
            self.ranges.add(BENCHMARK, name, as_number(outcome.get("score")))
            yield {**base, "metric": name, **outcome}

    def state(self, record: Row) -> Row | None:
        """Return why a test has no score; None where it has one."""
        graded = as_dict(record.get("gradingResult"))
        failure = as_whole(record.get("failureReason"))
        called = get(record, "response", "error")
        error = record.get("error")
        raw = held(record.get("score"))
        untold = failure is None and not graded and error and record.get("success") is not True
        if failure == _ERROR or called or untold:
            self.counts[_FAILED] += 1
            return unscored(_words(error or called) or "an error without a message", raw, error=True)
        components = list(dicts(graded.get("componentResults")))
        for part in (*components, graded):
            if part.get("pass") is True and not part.get("metadata"):
                continue
            reason = as_text(part.get("reason")) or ""
            if get(part, "metadata", "graderError") or (not part.get("pass") and reason.startswith(_JUDGE_FAILED)):
                self.counts[_UNJUDGED] += 1
                return unscored(f"the judge failed: {first_line(reason)}", raw)
        if not components and graded.get("reason") == "No assertions":
            self.counts[_NOTHING] += 1
            return unscored("the test asserts nothing", raw)
        return None

    def run_of(self, record: Row) -> _Run:
        provider = record.get("provider")
        model = as_text(get(provider, "id")) or as_text(provider)
        label = as_text(get(provider, "label")) or model
        prompt = as_text(get(record, "prompt", "label")) or as_text(get(record, "prompt", "raw"))
        prompt_id = as_text(record.get("promptId")) or hashed(prompt)
        column = as_whole(record.get("promptIdx"))
        key = (model, label, prompt_id, column)
        found = self.runs.get(key)
        if found is None:
            self.unnamed = self.unnamed or not model
            model = model or self.source.called
            label = label or model
            run = self.source.run_id(label, str(len(self.runs)))
            heat = as_amount(get(provider, "config", "temperature"))
            heat = as_amount(get(record, "prompt", "config", "temperature")) if heat is None else heat
            found = self.runs[key] = _Run(run, model, label, prompt_id, _short(prompt, prompt_id), heat)
        return found

    def systems(self) -> dict[str, str]:
        """Name what is compared: the provider, with its prompt where there are several, and with a number where both repeat."""
        several = len({run.prompt_id for run in self.runs.values()}) > 1
        systems: dict[str, str] = {}
        taken: Counter[str] = Counter()
        for run in self.runs.values():
            name = f"{run.label} [{run.prompt}]" if several and run.prompt else run.label
            taken[name] += 1
            systems[run.run] = name if taken[name] == 1 else f"{name} #{taken[name]}"
        return systems

    def run_row(self, run: _Run, system: str) -> Row:
        members = self.records.members
        judge = get(members.get("config"), "defaultTest", "options", "provider")
        return {
            "run": run.run,
            "model": run.model,
            "system": system,
            "benchmark": BENCHMARK,
            "harness": "promptfoo",
            "harness_version": as_text(get(members.get("metadata"), "promptfooVersion")),
            "prompt_hash": run.prompt_id,
            "temperature": run.temperature,
            "judge": as_text(get(judge, "id")) or as_text(judge),
            "timestamp": as_time(members.get("results.timestamp") or members.get("timestamp")),
            "factor_names": self.factors.own_names,
            "dependence": [],
            "config": json_text(
                {
                    "evalId": as_text(members.get("evalId")),
                    "description": as_text(get(members.get("config"), "description")),
                    "provider": run.label,
                    "prompt": run.prompt,
                }
            ),
        }


def _item(record: Row, test: Row) -> str:
    """Name a test by what it asks and asserts; a prompt without variables is the question itself."""
    asked = as_dict(test.get("vars")) or as_dict(record.get("vars"))
    asked = {name: value for name, value in asked.items() if not name.startswith(("__", "_conversation"))}
    prompt = None if asked else get(record, "prompt", "raw")
    return hashed(asked, test.get("description"), test.get("assert"), prompt)


def _asserted(test: Row) -> Iterator[str]:
    """Yield the names of the scores that a test would have had."""
    for assertion in dicts(test.get("assert")):
        for part in (assertion, *dicts(assertion.get("assert"))):
            name = part.get("metric")
            if isinstance(name, str) and name and "{{" not in name:
                yield name


def _passed(record: Row) -> Row:
    success = record.get("success")
    if not isinstance(success, bool):
        return unscored("promptfoo says neither that it passed nor that it failed", held(success))
    graded = as_dict(record.get("gradingResult"))
    return scored(float(success), status_reason=None if graded else first_line(record.get("error")) or None)


def _number(value: object) -> Row:
    number = None if isinstance(value, bool) else as_number(value)
    return unscored("the score is no number", held(value)) if number is None else scored(number)


def _words(value: object) -> str:
    return first_line(value) or first_line(held(value))


def _short(prompt: str | None, prompt_id: str) -> str | None:
    """Shorten a prompt's label, which may be the whole prompt; its id keeps two of them apart."""
    if prompt is None:
        return None
    line = first_line(prompt)
    if line == prompt.strip() and len(line) <= _LABEL_CHARS:
        return line
    return f"{line[:_LABEL_CHARS]}… ({prompt_id[:8]})"


LOADER: Final = PromptfooLoader()
