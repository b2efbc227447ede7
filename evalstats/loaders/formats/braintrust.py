"""Braintrust: the spans of one or several experiments, put together by trace.

Read are the answer of `/v1/experiment/{id}/fetch`, a BTQL export (JSON or JSON Lines), and the CSV file that the page of an
experiment offers, with JSON in its cells. A run is an experiment with a model, a metric a scorer. Scores of a root span count,
else the mean of those of the spans below it. The item is a digest of input and expected, or the name of a test without them;
equal ones in one experiment are trials. The model is the root's `metadata.model`, else the one that all calls outside scorers
name. A null is a scorer that gave no score; a root with an error is one unless an assertion of its test failed. The address of
a span needs the organisation's name, which no export holds.
"""

from collections.abc import Iterator
from statistics import fmean
from typing import Any, Final

from msgspec import Struct

from evalstats.errors import UnreadableFileError
from evalstats.loaders.files import cell_value
from evalstats.loaders.format import HIGHER, OBJECT, RECORDS, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Row, Said, held, item_of, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, first_line, get

_PAGE: Final = frozenset({"input", "output", "expected"})
_CELLS: Final = ("input", "expected", "error", "scores", "metadata", "metrics", "tags", "span_attributes", "origin")
_SPREAD: Final = ("scores.", "metadata.", "metrics.")  # members that may be broken out into columns
_ANY: Final = "eval"  # what the framework calls every root span
_ID_CHARS: Final = 8
_ASSERTION: Final = "{n} rows failed an assertion of their test, which is a result and no error of the harness"


class _Trace(Struct):
    """What the spans of one trace say; `root` is the part of its outcomes that its root span tells."""

    experiment: str
    places: list[str] = []
    root: Row | None = None
    error: str | None = None
    own: dict[str, Any] = {}
    inner: dict[str, list[float]] = {}
    failed: dict[str, str] = {}
    model: str | None = None
    tokens: dict[str, int] = {}


class _Models(Struct):
    """The models that the calls of an experiment name, outside and inside its scorers."""

    called: set[str] = set()
    judges: set[str] = set()


class _Reader:
    def __init__(self, file: FormatFile[Row]) -> None:
        self.file = file
        self.traces: dict[tuple[str, str], _Trace] = {}
        self.models: dict[str, _Models] = {}

    def rows(self, event: Row) -> tuple[Sample, ...]:
        """Put spans together by trace; the end of the file tells what they say."""
        if self.file.head.shape == "text":
            event |= {name: cell_value(event[name]) for name in _CELLS if name in event}
        for name in [name for name in event if "." in name and name.startswith(_SPREAD)]:
            member, _, key = name.partition(".")
            event[member] = {**as_dict(event.get(member)), key: event.pop(name)}
        event_id, experiment = as_text(event.get("id")), as_text(event.get("experiment_id")) or ""
        span = as_text(event.get("span_id")) or event_id
        top = as_text(event.get("root_span_id")) or span
        if top is None and event.keys() >= _PAGE:
            span = top = self.file.locator
        if top is None or (event_id is not None and self.file.again(event_id)):
            self.file.leave_out("no span_id" if top is None else "copies of earlier ones")
            return ()
        trace = self.traces.get((experiment, top))
        if trace is None:
            trace = self.traces[experiment, top] = _Trace(experiment)
        if span == top or str(event.get("is_root")).lower() == "true":
            self.take_root(trace, event)
        else:
            trace.places.append(self.file.locator)
            _take_inner(trace, event, self.models.setdefault(experiment, _Models()))
        return ()

    def take_root(self, trace: _Trace, event: Row) -> None:
        metadata, metrics = as_dict(event.get("metadata")), as_dict(event.get("metrics"))
        name, error = as_text(get(event, "span_attributes", "name")), event.get("error")
        item = item_of(event.get("input"), event.get("expected")) or as_text(get(event, "origin", "id"))
        item = item or (name if name != _ANY else None)
        if item is None:
            self.file.leave_out("neither input nor name")
            return
        trace.own = as_dict(event.get("scores"))
        trace.failed |= {scorer: first_line(why) for scorer, why in as_dict(metadata.get("scorer_errors")).items()}
        trace.error = None if error is None else as_text(error) or held(error)
        trace.model = as_text(metadata.pop("model", None)) or None
        start, end = as_number(metrics.get("start")), as_number(metrics.get("end"))
        trace.root = {
            **self.file.factors.of(metadata),
            "item": item,
            "tags": [tag for part in as_list(event.get("tags")) if (tag := as_text(part))] or None,
            "timestamp": event.get("created"),
            "latency_s": end - start if start is not None and end is not None else None,
            "input_tokens": metrics.get("prompt_tokens"),
            "output_tokens": metrics.get("completion_tokens"),
            "locator": self.file.locator,
        }

    def finish(self) -> Iterator[Sample]:
        """Yield what each trace says of every scorer of its experiment."""
        metrics: dict[str, dict[str, None]] = {}
        for trace in self.traces.values():
            known = metrics.setdefault(trace.experiment, {})
            for scorers in (trace.own, trace.inner, trace.failed):
                if not scorers.keys() <= known.keys():
                    known.update(dict.fromkeys(scorers))
            for place in trace.places if trace.root is None else ():
                self.file.leave_out("their trace has no root span; the export was filtered or cut", place)
        if not any(metrics.values()):
            raise UnreadableFileError(
                f"{self.file.source.path}: holds {self.file.n_read:,} spans and no scores; export the experiment with its scores"
            )
        rooted = [trace for trace in self.traces.values() if trace.root is not None]
        experiments = dict[str | None, dict[str, None]]()
        for trace in rooted:
            called = self.models.get(trace.experiment, _Models()).called
            trace.model = trace.model or (next(iter(called)) if len(called) == 1 else None)
            experiments.setdefault(trace.model, {})[trace.experiment] = None
        runs = {
            (name, model): self.run(name, model, several=len(names) > 1)
            for model, names in experiments.items()
            for name in names
        }
        for trace in rooted:
            failed = trace.error is not None and "AssertionError" not in trace.error
            self.file.count(_ASSERTION, trace.error is not None and not failed)
            outcomes = [(metric, _outcome(trace, metric, failed=failed)) for metric in metrics[trace.experiment]]
            run = runs[trace.experiment, trace.model]
            yield {**(trace.root or {}), **trace.tokens, "run": run}, outcomes

    def run(self, experiment: str, model: str | None, *, several: bool) -> str:
        """Return the run of an experiment with a model, which `several` experiments may share."""
        judges, name = self.models.get(experiment, _Models()).judges, model or self.file.source.called
        return self.file.run(
            model,
            experiment,
            name,
            system=f"{name} ({experiment[:_ID_CHARS]})" if several else name,
            judge=next(iter(judges)) if len(judges) == 1 else None,
            config={"experiment_id": experiment or None},
        )


def _outcome(trace: _Trace, metric: str, *, failed: bool) -> Said:
    value, inner = trace.own.get(metric), trace.inner.get(metric)
    value = fmean(inner) if value is None and inner else value
    if failed:  # a handler of errors may have written 0
        return unscored(first_line(trace.error) or "an error without a message", held(value), error=True)
    if metric in trace.failed:
        return unscored(f"the scorer failed: {trace.failed[metric]}", held(value))
    return unscored("the scorer gave no score") if value is None else number(value, 0.0, 1.0)


def _take_inner(trace: _Trace, event: Row, models: _Models) -> None:
    """Take scores, tokens and models of a span below the root."""
    attributes, metrics = as_dict(event.get("span_attributes")), as_dict(event.get("metrics"))
    kind, name, error = attributes.get("type"), as_text(attributes.get("name")), event.get("error")
    for scorer, value in as_dict(event.get("scores")).items():
        score = as_number(value)
        trace.inner.setdefault(scorer, []).extend([] if score is None else [score])
    if kind == "score" and name and error is not None:
        trace.failed.setdefault(name, first_line(as_text(error) or held(error)))
    if kind == "llm":
        is_judge = attributes.get("purpose") == "scorer"
        if model := as_text(get(event, "metadata", "model")):
            (models.judges if is_judge else models.called).add(model)
        for column, key in () if is_judge else _TOKENS:
            trace.tokens[column] = trace.tokens.get(column, 0) + (as_count(metrics.get(key)) or 0)


_TOKENS: Final = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
_TABLES: Final = (*RECORDS, "text")
FORMAT: Final = Format(
    name="braintrust",
    title="Braintrust experiment events (.json, .jsonl, .csv)",
    version="2",
    upstream="braintrustdata/braintrust-sdk at a696a72, js/src: generated_types, framework, wrappers/shared/traced-eval",
    benchmark="Braintrust",
    harness="Braintrust",
    signs=(
        Sign(some="events data", text=('"span_id"', '"root_span_id"', '"scores"'), shapes=OBJECT),
        Sign("span_id root_span_id scores", shapes=_TABLES),
        Sign("input output expected scores", 0.6, shapes=_TABLES),
        Sign("input output expected", 0.6, like=(r"scores\..*",), shapes=_TABLES),
    ),
    record=dict[str, Any],
    rows=lambda record, file: file.state(_Reader).rows(record),
    finish=lambda file: file.state(_Reader).finish(),
    at=("events", "data"),
    called="spans",
    repeated=True,
    metrics={"*": HIGHER},
    naming="Log it as metadata.model, or rename the file",
)
