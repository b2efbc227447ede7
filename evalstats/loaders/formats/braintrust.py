"""Braintrust: the spans of one or several experiments, put together by trace.

Read are the answer of `/v1/experiment/{id}/fetch`, a BTQL export (JSON or JSON Lines), and the CSV file that the page of an
experiment offers, with JSON in its cells. A run is an experiment with a model, a metric a scorer. Scores of a root span count,
else the mean of those of the spans below it. The item is a digest of input and expected, or the name of a test without them;
equal ones in one experiment are trials. The model is the root's `metadata.model`, else the one that all calls outside scorers
name. A null is a scorer that gave no score; a root with an error is one unless an assertion of its test failed. The address of
a span needs the organisation's name, which no export holds.
"""

import json
from collections import Counter
from collections.abc import Iterator
from statistics import fmean
from typing import Any, Final

from msgspec import Struct

from evalstats.errors import UnreadableFileError
from evalstats.loaders.blocks import MAX_FACTOR_CHARS
from evalstats.loaders.bound_columns import MAX_FACTORS
from evalstats.loaders.format import OBJECT, RECORDS, Format, FormatFile, Sample, Sign
from evalstats.loaders.records import cell_value, item_of
from evalstats.loaders.rows import Row, Said, held, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, first_line, get
from evalstats.schema.columns import column_names

_PAGE: Final = frozenset({"input", "output", "expected"})
_CELLS: Final = ("input", "expected", "error", "scores", "metadata", "metrics", "tags", "span_attributes", "origin")
_SPREAD: Final = ("scores.", "metadata.", "metrics.")  # members that may be broken out into columns
_OWN: Final = frozenset({*column_names("outcomes"), "scorer_errors"})
_ANY: Final = "eval"  # what the framework calls every root span
_ID_CHARS: Final = 8
_ASSERTION: Final = "{n} rows failed an assertion of their test, which is a result and no error of the harness"
_SEVERAL: Final = "{n} scores are on several spans of a trace; their mean is taken, as Braintrust does"
_NO_MODEL: Final = "{n} rows name no model (metadata.model), so the file's name is used"
_OUTSIDE: Final = "{n} scores lie outside 0 to 1 or are no numbers; unscored"
_COPIES: Final = "{n} rows repeat the id of an earlier row and are dropped"


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
    called: set[str] = set()
    given: int = 0
    written: int = 0


class _Reader:
    def __init__(self, file: FormatFile[Row]) -> None:
        self.file = file
        self.traces: dict[tuple[str, str], _Trace] = {}
        self.judges: dict[str, set[str]] = {}
        self.factors: set[str] = set()

    def rows(self, event: Row) -> tuple[Sample, ...]:
        """Put spans together by trace; the end of the file tells what they say."""
        if self.file.head.shape == "text":
            event |= {name: cell_value(event[name]) for name in _CELLS if name in event}
        for name in [name for name in event if name.startswith(_SPREAD)]:
            member, _, key = name.partition(".")
            value = event.pop(name)
            number = as_number(value) if member != "metadata" and isinstance(value, str) else None
            event[member] = {**as_dict(event.get(member)), key: value if number is None else number}
        event_id, experiment = as_text(event.get("id")), as_text(event.get("experiment_id")) or ""
        if event_id is not None and self.file.again(event_id):
            self.file.count(_COPIES)
            return ()
        span = as_text(event.get("span_id")) or event_id
        top = as_text(event.get("root_span_id")) or span
        if top is None and event.keys() >= _PAGE:
            span = top = self.file.locator
        if top is None:
            self.file.leave_out("no span_id")
            return ()
        trace = self.traces.get((experiment, top))
        if trace is None:
            trace = self.traces[experiment, top] = _Trace(experiment)
        if span == top or str(event.get("is_root")).lower() == "true":
            self.take_root(trace, event)
        else:
            trace.places.append(self.file.locator)
            _take_inner(trace, event, self.judges.setdefault(experiment, set()))
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
        trace.model = as_text(metadata.get("model")) or None
        start, end = as_number(metrics.get("start")), as_number(metrics.get("end"))
        trace.root = {
            **self.factors_of(metadata),
            "item": item,
            "tags": [tag for part in as_list(event.get("tags")) if (tag := as_text(part))] or None,
            "timestamp": event.get("created"),
            "latency_s": end - start if start is not None and end is not None else None,
            "input_tokens": metrics.get("prompt_tokens"),
            "output_tokens": metrics.get("completion_tokens"),
            "locator": self.file.locator,
        }

    def factors_of(self, metadata: Row) -> Row:
        """Return the plain values of a row's metadata."""
        found: Row = {}
        for name, value in metadata.items():
            short = len(value) <= MAX_FACTOR_CHARS if isinstance(value, str) else isinstance(value, int | float)
            if name and short and name not in _OWN and (name in self.factors or len(self.factors) < MAX_FACTORS):
                self.factors.add(name)
                found[name] = value
        return found

    def finish(self) -> Iterator[Sample]:
        """Yield what each trace says of every scorer of its experiment."""
        metrics: dict[str, dict[str, None]] = {}
        called: dict[str, set[str]] = {}
        for trace in self.traces.values():
            metrics.setdefault(trace.experiment, {}).update(dict.fromkeys((*trace.own, *trace.inner, *trace.failed)))
            if trace.root is None:
                for place in trace.places:
                    self.file.leave_out("their trace has no root span; the export was filtered or cut", place)
            else:
                called.setdefault(trace.experiment, set()).update(trace.called)
        if not any(metrics.values()):
            raise UnreadableFileError(
                f"{self.file.source.path}: holds {self.file.n_read:,} spans and no scores; export the experiment with its scores"
            )
        rooted = [trace for trace in self.traces.values() if trace.root is not None]
        for trace in rooted:
            if trace.model is None and len(called[trace.experiment]) == 1:
                (trace.model,) = called[trace.experiment]
            self.file.count(_NO_MODEL, trace.model is None)
        name = self.file.source.called
        keys = dict.fromkeys((trace.experiment, trace.model or name) for trace in rooted)
        shared, runs = Counter(model for _, model in keys), dict[tuple[str, str | None], str]()
        for trace in rooted:
            model, judges = trace.model or name, self.judges.get(trace.experiment, set())
            run = runs.get((trace.experiment, trace.model))
            if run is None:
                run = runs[trace.experiment, trace.model] = self.file.run(
                    model,
                    trace.experiment if len(called) > 1 else "",
                    model if len(keys) > 1 and trace.model else "",
                    system=f"{model} ({trace.experiment[:_ID_CHARS]})" if shared[model] > 1 else model,
                    judge=next(iter(judges)) if len(judges) == 1 else None,
                    config=json.dumps({"experiment_id": trace.experiment}) if trace.experiment else None,
                )
            tokens: Row = {"input_tokens": trace.given, "output_tokens": trace.written}
            asserted = trace.error is not None and "AssertionError" in trace.error
            self.file.count(_ASSERTION, asserted)
            failed = trace.error is not None and not asserted
            yield (
                {**(trace.root or {}), **(tokens if trace.given or trace.written else {}), "run": run},
                [(metric, self.outcome(trace, metric, failed=failed)) for metric in metrics[trace.experiment]],
            )

    def outcome(self, trace: _Trace, metric: str, *, failed: bool) -> Said:
        value, inner = trace.own.get(metric), trace.inner.get(metric, [])
        if value is None and inner:
            self.file.count(_SEVERAL, len(inner) > 1)
            value = fmean(inner)
        if failed:  # a handler of errors may have written 0
            return unscored(first_line(trace.error) or "an error without a message", held(value), error=True)
        if metric in trace.failed:
            return unscored(f"the scorer failed: {trace.failed[metric]}", held(value))
        if value is None:
            return unscored("the scorer gave no score")
        number = None if isinstance(value, str) else as_number(value)
        if number is None or not 0 <= number <= 1:
            self.file.count(_OUTSIDE)
            return unscored("the score is no number from 0 to 1", held(value))
        return number


def _take_inner(trace: _Trace, event: Row, judges: set[str]) -> None:
    attributes, metrics = as_dict(event.get("span_attributes")), as_dict(event.get("metrics"))
    kind, name, error = attributes.get("type"), as_text(attributes.get("name")), event.get("error")
    for scorer, value in as_dict(event.get("scores")).items():
        number = as_number(value)
        trace.inner.setdefault(scorer, []).extend([] if number is None else [number])
    scores = kind == "score" or attributes.get("purpose") == "scorer"
    if kind == "score" and name and error is not None:
        trace.failed.setdefault(name, first_line(as_text(error) or held(error)))
    model = as_text(get(event, "metadata", "model"))
    if kind == "llm" and model:
        (judges if scores else trace.called).add(model)
    if kind == "llm" and not scores:
        trace.given += as_count(metrics.get("prompt_tokens")) or 0
        trace.written += as_count(metrics.get("completion_tokens")) or 0


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
    reader=_Reader,
    lists=("events", "data"),
    called="spans",
    repeated=True,
    better=lambda _: True,
)
