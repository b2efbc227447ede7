"""OpenAI evals: the log of a run, one event a line: a `spec`, events (match, metrics, sampling, error), and a `final_report`.

The item is the sample's id, which is its place in the eval's data file; several matches of one sample are trials. Metrics are
`correct` of match events (their order in the file is that of threads, not of samples), and the numbers of metrics events under
their own names. `final_report`, which a run that was cut off lacks, goes into `aggregates`. The model is the completion function;
of a model-graded eval with several, the last is the judge. A sample whose request failed is an error; one without a match or
metrics is unscored.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import FAILED, HEADLINE, HIGHER, UNSCORED, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, as_time, first_line, get

_CORRECT: Final = "correct"
_INVALID: Final = "__invalid__"
_HIGHER: Final = ("accuracy", "score", "f1_score", "metascore", "sacrebleu_sentence_score")
_SPREAD: Final = ("boostrap_std", "bootstrap_std")  # the harness spells it so
_UNPARSED: Final = (
    "in {n} samples the judge's choice could not be read (__invalid__), which the harness scores lowest; unscored"
)
_CUT: Final = "there is no final_report: the run did not end, and samples may be missing"


class _Event(Struct):
    spec: Any = None
    final_report: Any = None
    run_id: Any = None
    sample_id: Any = None
    type: Any = None
    data: Any = None


class _Run(Struct):
    """One run: whether each sample has a score, what failed, its metrics, and what the harness reported."""

    run: str
    report: Row | None = None
    has_score: dict[str, bool] = {}
    errors: dict[str, str] = {}
    metrics: dict[str, None] = {}


class _Reader:
    def __init__(self, file: FormatFile[_Event]) -> None:
        self.file = file
        self.runs: dict[str, _Run] = {}

    def rows(self, record: _Event) -> Iterator[Sample]:
        if record.spec is not None:
            self.start(as_text(record.run_id), as_dict(record.spec))
        elif record.final_report is not None:
            self.run_of(record).report = as_dict(record.final_report)
        elif not isinstance(record.type, str) or not (sample := as_text(record.sample_id)):
            self.file.leave_out("no type or no sample_id")
        else:
            run, data = self.run_of(record), as_dict(record.data)
            run.has_score.setdefault(sample, False)
            if record.type == "error":
                words = ": ".join(text for key in ("type", "message") if (text := first_line(data.get(key))))
                run.errors[sample] = words or "an error without a message"
            elif record.type == "match":
                yield self.sample(run, sample, _CORRECT, _number(data.get("correct")))
            elif record.type == "metrics":
                yield from self.measured(run, sample, data)

    def measured(self, run: _Run, sample: str, data: Row) -> Iterator[Sample]:
        invalid = data.get("choice") == _INVALID
        self.file.count(_UNPARSED, invalid)
        for key, value in data.items():
            name = as_text(key) or "metric"
            name = f"metrics/{name}" if name == _CORRECT else name
            if isinstance(value, str | list | dict):
                continue
            if invalid and key in {"score", "metascore"}:
                outcome = unscored("the judge's choice could not be read", held(value))
                yield self.sample(run, sample, name, outcome)
            else:
                yield self.sample(run, sample, name, _number(value))

    def sample(self, run: _Run, sample: str, metric: str, outcome: Said) -> Sample:
        run.has_score[sample] = True
        run.metrics.setdefault(metric)
        trial = self.file.trial(run.run, sample, metric)
        return {"run": run.run, "item": sample, "trial": trial}, [(metric, outcome)]

    def start(self, run_id: str | None, spec: Row) -> _Run:
        """Begin a run with what its spec says."""
        run_id, about = as_text(spec.get("run_id")) or run_id or "", as_dict(spec.get("run_config"))
        models = [name for part in as_list(spec.get("completion_fns")) if (name := as_text(part))]
        graded = "modelgraded" in (as_text(get(about, "eval_spec", "cls")) or "")
        judge = models[-1] if models and graded else None
        models = models[:-1] or models if graded else models
        run = self.file.run(
            ",".join(models) or None,
            run_id,
            benchmark=as_text(spec.get("eval_name")) or as_text(spec.get("base_eval")) or "OpenAI evals",
            judge=judge,
            item_limit=as_count(about.get("max_samples")),
            timestamp=as_time(spec.get("created_at")),
            dependence=[],
            config=about,
        )
        return self.runs.setdefault(run_id, _Run(run))

    def run_of(self, record: _Event) -> _Run:
        run_id = as_text(record.run_id) or ""
        found = self.runs.get(run_id) or (next(iter(self.runs.values())) if len(self.runs) == 1 else None)
        if found is None:
            task = (as_text(record.sample_id) or "").rpartition(".")[0]
            found = self.start(run_id, {"eval_name": task})
        return found

    def finish(self) -> Iterator[Sample]:
        """Give every sample that has no score a row that says so, in the metric that the others have; publish the reports."""
        for run in self.runs.values():
            preferred = (_CORRECT, "score", "accuracy")
            main = next((name for name in (*preferred, *run.metrics) if name in run.metrics), _CORRECT)
            for sample in [sample for sample, has_score in run.has_score.items() if not has_score]:
                error = run.errors.get(sample)
                reason = error or "the log has no match and no metrics of this sample"
                yield self.sample(run, sample, main, unscored(reason, error=error is not None))
            self.file.runs[run.run]["status"] = "started" if run.report is None else "success"
            if run.report is None:
                self.file.note(_CUT)
            report = run.report or {}
            spread = next((number for name in _SPREAD if (number := as_number(report.get(name)))), None)
            known: Row = {name: self.file.runs[run.run][name] for name in ("run", "model", "benchmark")}
            known |= {"method": "final_report", "n": len(run.has_score) or None}
            for name, value in report.items():
                number = None if isinstance(value, bool) or name in _SPREAD else as_number(value)
                if number is not None:
                    error = spread if name == "accuracy" else None
                    row = {**known, "metric": as_text(name) or "metric", "estimate": number, "std_error": error}
                    self.file.add("aggregates", row)


def _number(value: object) -> Said:
    number = as_number(value)
    return unscored("the score is no number", held(value)) if number is None else number


FORMAT: Final = Format(
    name="openai-evals",
    title="OpenAI evals logs (evallogs/*.jsonl)",
    version="2",
    upstream="openai/evals at 4bfc1f5, evals/record.py",
    benchmark="OpenAI evals",
    harness="OpenAI evals",
    signs=(
        Sign("spec", 0.95, text=('"completion_fns":',), shapes=("lines", "object")),
        Sign("spec", 0.95, text=('"eval_name":',), shapes=("lines", "object")),
        Sign("event_id sample_id type data", 0.95, shapes=("lines",)),
    ),
    record=_Event,
    rows=lambda record, file: file.state(_Reader).rows(record),
    finish=lambda file: file.state(_Reader).finish(),
    called="events",
    metrics={_CORRECT: HEADLINE, **dict.fromkeys(_HIGHER, HIGHER)},
    counts={"{n} samples ended in an error": FAILED, "{n} samples have no score; they are unscored": UNSCORED},
    expected="OpenAI evals writes a spec and events to /tmp/evallogs/*.jsonl, one a line",
)
