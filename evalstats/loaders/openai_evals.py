"""OpenAI evals: the log of a run, one event a line.

Format: `<run id>_<completion function>_<eval>.jsonl` of openai/evals at 4bfc1f5, `evals/record.py`: a `spec`, events (match,
metrics, sampling, error, ...), and a `final_report`, which a run that was cut off lacks.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from evalstats.errors import InputError
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches
from evalstats.loaders.records import Records, how_to_name
from evalstats.loaders.rows import Ranges, Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, as_time, first_line, get, json_text
from evalstats.schema.data import Problem

_EVENT: Final = frozenset({"event_id", "sample_id", "type", "data"})
_CORRECT: Final = "correct"
_MOST_METRICS = 200
_INVALID: Final = "__invalid__"
_HIGHER: Final = frozenset({"accuracy", "score", "f1_score", "metascore", "sacrebleu_sentence_score"})
_MAIN: Final = ("score", "accuracy")
_UNPARSED: Final = (
    "in {n} samples the judge's choice could not be read (__invalid__), which the harness scores lowest; unscored"
)
_ERRORS: Final = "{n} samples ended in an error"
_NO_SCORE: Final = "{n} samples ran and have no score"
_CUT: Final = "there is no final_report: the run did not end, and samples may be missing"
_MANY: Final = f"{{n}} metrics are left out: more than {_MOST_METRICS} different names"


@dataclass(slots=True)
class _Run:
    """One run: what its spec says, its samples, and what the harness reported."""

    run: str
    model: str
    benchmark: str
    judge: str | None = None
    spec: Row = field(default_factory=dict[str, object])
    report: Row | None = None
    has_score: dict[str, bool] = field(default_factory=dict[str, bool])
    errors: dict[str, str] = field(default_factory=dict[str, str])
    trials: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    metrics: dict[str, None] = field(default_factory=dict[str, None])


class OpenAIEvalsLoader(SingleFileLoader):
    """Loader of OpenAI evals' logs.

    The item is the sample's id, which is its place in the eval's data file; several matches of one sample are trials. Metrics:
    `correct` of match events (their order in the file is that of threads, not of samples), and the numbers of metrics events
    under their own names. `final_report` goes into `aggregates`. The model is the completion function; of a model-graded
    eval with several, the last is the judge.
    """

    name = "openai-evals"
    title = "OpenAI evals logs (evallogs/*.jsonl)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise the spec or an event."""
        if head.shape not in {"lines", "object"}:
            return None
        spec = as_dict(head.members.get("spec"))
        if "completion_fns" in spec or "eval_name" in spec:
            return Match(confidence=0.95, reason="a spec with completion_fns and eval_name")
        if head.shape == "lines" and head.keys >= _EVENT:
            return Match(confidence=0.95, reason="events with event_id, sample_id, type and data")
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes, the reported aggregates, metrics, the runs, and notes."""
        yield from _File(source).parts()


class _File:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.records = Records(source, called="events")
        self.runs: dict[str, _Run] = {}
        self.counts: Counter[str] = Counter()
        self.ranges = Ranges()

    def parts(self) -> Iterator[Rows | Problem]:
        if self.records.head.shape == "object":
            raise InputError("is one JSON object; a log of OpenAI evals has one event a line (name it .jsonl)")
        yield from in_batches(self.rows(), "outcomes")
        if not self.runs:
            raise InputError("holds no spec and no event; OpenAI evals writes both to /tmp/evallogs/*.jsonl")
        yield from in_batches(self.aggregates(), "aggregates")
        for benchmark, name in self.ranges:
            if name == _CORRECT:
                yield Rows(table="metrics", rows=[metric_row(benchmark, name, primary=True)])
            else:
                better = True if name in _HIGHER else None
                yield Rows(table="metrics", rows=[self.ranges.row(benchmark, name, higher_is_better=better)])
        yield Rows(table="runs", rows=[self.run_row(run) for run in self.runs.values()])
        yield from self.records.problems()
        yield from self.source.notes(told(self.counts))
        if any(run.report is None for run in self.runs.values()):
            yield from self.source.notes([_CUT])
        if any(not run.spec for run in self.runs.values()):
            yield from self.source.notes([how_to_name(self.source.called)])

    def rows(self) -> Iterator[Row]:
        for locator, record in self.records:
            if "spec" in record:
                self.start(as_dict(record["spec"]))
            elif "final_report" in record:
                self.run_of(record).report = as_dict(record["final_report"])
            else:
                yield from self.event(record, locator)
        for run in self.runs.values():
            yield from self.without_score(run)

    def event(self, record: Row, locator: str) -> Iterator[Row]:
        kind, sample = record.get("type"), as_text(record.get("sample_id"))
        data = as_dict(record.get("data"))
        if not isinstance(kind, str) or not sample:
            self.records.leave_out(locator, "no type or no sample_id")
            return
        run = self.run_of(record)
        run.has_score.setdefault(sample, False)
        if kind == "error":
            words = ": ".join(text for key in ("type", "message") if (text := first_line(data.get(key))))
            run.errors[sample] = words or "an error without a message"
        elif kind == "match":
            yield self.row(run, sample, _CORRECT, _number(data.get("correct")), locator)
        elif kind == "metrics":
            invalid = data.get("choice") == _INVALID
            self.counts[_UNPARSED] += invalid
            for key, value in data.items():
                if isinstance(value, str | list | dict):
                    continue
                name = as_text(key) or "metric"
                name = f"metrics/{name}" if name == _CORRECT else name
                if name not in run.metrics and len(run.metrics) >= _MOST_METRICS:
                    self.counts[_MANY] += 1
                    continue
                outcome = (
                    unscored("the judge's choice could not be read", held(value))
                    if invalid and key in {"score", "metascore"}
                    else _number(value)
                )
                yield self.row(run, sample, name, outcome, locator)

    def row(self, run: _Run, sample: str, metric: str, outcome: Row, locator: str | None) -> Row:
        run.has_score[sample] = True
        run.metrics.setdefault(metric)
        trial = run.trials[sample, metric]
        run.trials[sample, metric] += 1
        self.ranges.add(run.benchmark, metric, as_number(outcome.get("score")))
        return {
            "run": run.run,
            "model": run.model,
            "system": run.model,
            "benchmark": run.benchmark,
            "item": sample,
            "trial": trial,
            "metric": metric,
            "locator": locator,
            **outcome,
        }

    def without_score(self, run: _Run) -> Iterator[Row]:
        """Give every sample that has no score a row that says so, in the metric that the others have."""
        seen = run.metrics
        main = next((name for name in (_CORRECT, *_MAIN) if name in seen), next(iter(seen), _CORRECT))
        for sample, has_score in list(run.has_score.items()):
            if not has_score:
                error = run.errors.get(sample)
                self.counts[_NO_SCORE if error is None else _ERRORS] += 1
                reason = "the log has no match and no metrics of this sample"
                outcome = unscored(reason) if error is None else unscored(error, error=True)
                yield self.row(run, sample, main, outcome, None)

    def start(self, spec: Row) -> None:
        run_id = as_text(spec.get("run_id")) or ""
        made = [as_text(part) for part in as_list(spec.get("completion_fns"))]
        models = [part for part in made if part]
        judge = None
        if models and "modelgraded" in (as_text(get(spec, "run_config", "eval_spec", "cls")) or ""):
            judge = models[-1]
            models = models[:-1] or models
        self.runs[run_id] = _Run(
            run=self.source.run_id(run_id) if run_id else self.source.run_id(),
            model=",".join(models) or self.source.called,
            benchmark=as_text(spec.get("eval_name")) or as_text(spec.get("base_eval")) or "OpenAI evals",
            judge=judge,
            spec=spec,
        )

    def run_of(self, record: Row) -> _Run:
        run_id = as_text(record.get("run_id")) or ""
        found = self.runs.get(run_id) or (next(iter(self.runs.values())) if len(self.runs) == 1 else None)
        if found is None:
            sample = as_text(record.get("sample_id")) or ""
            found = self.runs[run_id] = _Run(
                run=self.source.run_id(run_id) if run_id else self.source.run_id(),
                model=self.source.called,
                benchmark=sample.rpartition(".")[0] or "OpenAI evals",
            )
        return found

    def aggregates(self) -> Iterator[Row]:
        for run in self.runs.values():
            report = run.report or {}
            for name, value in list(report.items())[:_MOST_METRICS]:
                number = None if isinstance(value, bool) else as_number(value)
                if number is None or name in {"boostrap_std", "bootstrap_std"}:
                    continue
                spread = as_number(report.get("boostrap_std", report.get("bootstrap_std")))  # the harness spells it so
                yield {
                    "model": run.model,
                    "benchmark": run.benchmark,
                    "metric": as_text(name) or "metric",
                    "estimate": number,
                    "std_error": spread if name == "accuracy" and spread is not None and spread >= 0 else None,
                    "method": "final_report",
                    "n": len(run.has_score) or None,
                    "run": run.run,
                }

    def run_row(self, run: _Run) -> Row:
        return {
            "run": run.run,
            "model": run.model,
            "system": run.model,
            "benchmark": run.benchmark,
            "harness": "OpenAI evals",
            "judge": run.judge,
            "item_limit": as_count(get(run.spec, "run_config", "max_samples")),
            "status": "success" if run.report is not None else "started",
            "timestamp": as_time(run.spec.get("created_at")),
            "factor_names": [],
            "dependence": [],
            "config": json_text(as_dict(run.spec.get("run_config"))),
        }


def _number(value: object) -> Row:
    number = as_number(value)
    return unscored("the score is no number", held(value)) if number is None else scored(number)


LOADER: Final = OpenAIEvalsLoader()
