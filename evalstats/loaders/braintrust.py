"""Braintrust: the spans of one or several experiments, put together by trace.

Format: `ExperimentEvent` as braintrustdata/braintrust-sdk at a696a72 declares it (`js/src/generated_types.ts`) and
`js/src/framework.ts` and `js/src/wrappers/shared/traced-eval.ts` fill it; the answer of `/v1/experiment/{id}/fetch`, a BTQL
export (JSON or JSON Lines), or a CSV file with JSON in its cells.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches
from evalstats.loaders.blocks import MAX_FACTOR_CHARS
from evalstats.loaders.bound_columns import MAX_FACTORS
from evalstats.loaders.records import Records, cell_value, item_of
from evalstats.loaders.rows import Ranges, Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import as_amount, as_count, as_dict, as_list, as_number, as_text, as_time, first_line, get
from evalstats.schema.columns import column_names
from evalstats.schema.data import Problem

BENCHMARK: Final = "Braintrust"
_NEEDED: Final = frozenset({"span_id", "root_span_id", "scores"})
# The file that the page of an experiment offers has a row for each root span, with or without its ids.
_PAGE: Final = frozenset({"input", "output", "expected"})
_MEMBERS: Final = ("events", "data")
_CELLS: Final = ("input", "expected", "error", "scores", "metadata", "metrics", "tags", "span_attributes", "origin")
_SPREAD: Final = frozenset({"scores", "metadata", "metrics"})  # members that may be broken out into columns
_OWN: Final = frozenset({*column_names("outcomes"), "scorer_errors"})
_ANY: Final = "eval"  # what the framework calls every root span
_NO_SCORE: Final = "the scorer gave no score"
_ID_CHARS: Final = 8

_NO_ROOT: Final = "{n} traces have no root span (the export was filtered or cut) and are left out"
_ASSERTION: Final = "{n} rows failed an assertion of their test, which is a result and no error of the harness"
_SEVERAL: Final = "{n} scores stand on several spans of a trace; their mean is taken, as Braintrust does"
_NO_MODEL: Final = "{n} rows name no model (metadata.model), so the file's name is taken for it"
_OUTSIDE: Final = "{n} scores lie outside 0 to 1 or are no numbers; unscored"
_COPIES: Final = "{n} rows repeat the id of an earlier row and are left out"


@dataclass(slots=True)
class _Trace:
    """What the spans of one trace say; `root` is the part of its outcomes that its root span tells."""

    experiment: str
    root: Row | None = None
    error: str | None = None
    own: dict[str, object] = field(default_factory=dict[str, object])
    inner: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    model: str | None = None
    called: set[str] = field(default_factory=set[str])
    tokens: list[int] = field(default_factory=lambda: [0, 0])

    def names(self) -> Iterator[str]:
        """Yield the scorers that the trace has a word of."""
        yield from self.own
        yield from self.inner
        yield from self.failed


class BraintrustLoader(SingleFileLoader):
    """Loader of Braintrust's experiments: one run for each experiment and model, one metric for each scorer.

    Scores of a root span count, else those of the spans below it. The item is a digest of input and expected, or the name of
    a test without them; equal ones in one experiment are trials. The model is the root's `metadata.model`, else the one
    that all calls outside scorers name.
    """

    name = "braintrust"
    title = "Braintrust experiment events (.json, .jsonl, .csv)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise spans with scores, in a list or in the answer to a fetch."""
        found = Match(confidence=0.9, reason="spans with root_span_id and scores")
        if head.shape == "object":
            inside = head.keys & {*_MEMBERS} and all(f'"{name}"' in head.text for name in _NEEDED)
            return found if inside else None
        if head.shape not in {"lines", "array", "text"}:
            return None
        names = frozenset(head.columns or head.keys)
        if names >= _NEEDED:
            return found
        scores = "scores" in names or any(name.startswith("scores.") for name in names)
        if scores and names >= _PAGE:
            return Match(
                confidence=0.6, reason="input, output, expected and scores, as the page of an experiment exports"
            )
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes in batches, the metrics, the runs, and notes."""
        records, counts = Records(source, *_MEMBERS, called="spans"), Counter[str]()
        traces, judges = _traces(records, counts)
        metrics: dict[str, dict[str, None]] = {}
        for trace in traces:
            metrics.setdefault(trace.experiment, {}).update(dict.fromkeys(trace.names()))
        if not any(metrics.values()):
            raise UnreadableFileError(
                f"{source.path}: holds {records.n_read:,} spans and no scores; export the experiment with its scores"
            )
        rooted = [trace for trace in traces if trace.root is not None]
        counts[_NO_ROOT] = len(traces) - len(rooted)
        runs = _runs(source, rooted, judges, counts)
        ranges = Ranges()
        yield from in_batches(_outcomes(rooted, metrics, ranges, counts), "outcomes")
        known = [metric_row(BENCHMARK, metric, str(ranges.row(BENCHMARK, metric)["kind"])) for _, metric in ranges]
        yield Rows(table="metrics", rows=known)
        yield Rows(table="runs", rows=list(runs.values()))
        yield from records.problems()
        yield from source.notes(told(Counter({text: n for text, n in counts.items() if text != _NO_ROOT})))
        yield from source.notes(told(Counter({_NO_ROOT: counts[_NO_ROOT]})), "error")


def _traces(records: Records, counts: Counter[str]) -> tuple[list[_Trace], dict[str, set[str]]]:
    """Put spans together by trace; return these, and the models that scorers called, by experiment."""
    traces: dict[tuple[str, str], _Trace] = {}
    judges: dict[str, set[str]] = {}
    seen: set[str] = set()
    factors: set[str] = set()
    for locator, event in records:
        if records.head.shape == "text":
            event.update({name: cell_value(event.get(name)) for name in _CELLS})
        for name in [name for name in event if name.partition(".")[0] in _SPREAD and "." in name]:
            member, _, key = name.partition(".")
            value = event.pop(name)
            event[member] = {**as_dict(event.get(member)), key: _plain(value) if member != "metadata" else value}
        event_id = as_text(event.get("id"))
        if event_id is not None and event_id in seen:
            counts[_COPIES] += 1
            continue
        seen.update([event_id] if event_id else [])
        span = as_text(event.get("span_id")) or event_id
        top = as_text(event.get("root_span_id")) or span
        if span is None and top is None and event.keys() >= _PAGE:
            span = top = locator
        if top is None:
            records.leave_out(locator, "no span_id")
            continue
        experiment = as_text(event.get("experiment_id")) or ""
        known = traces.setdefault((experiment, top), _Trace(experiment))
        if span == top or str(event.get("is_root")).lower() == "true":
            _take_root(known, event, locator, records, factors)
        else:
            _take_inner(known, event, judges.setdefault(experiment, set()))
    return list(traces.values()), judges


def _plain(value: object) -> object:
    """Return the number that a cell of delimited text holds; anything else as it is."""
    number = as_number(value) if isinstance(value, str) else None
    return value if number is None else number


def _take_root(trace: _Trace, event: Row, locator: str, records: Records, factors: set[str]) -> None:
    metadata, metrics = as_dict(event.get("metadata")), as_dict(event.get("metrics"))
    name = as_text(get(event, "span_attributes", "name"))
    item = item_of(event.get("input"), event.get("expected")) or as_text(get(event, "origin", "id"))
    item = item or (name if name != _ANY else None)
    if item is None:
        records.leave_out(locator, "neither input nor name")
        return
    trace.own = as_dict(event.get("scores"))
    trace.failed.update({scorer: first_line(why) for scorer, why in as_dict(metadata.get("scorer_errors")).items()})
    trace.error = as_text(event["error"]) or held(event["error"]) if event.get("error") is not None else None
    trace.model = as_text(metadata.get("model")) or None
    start, end = as_number(metrics.get("start")), as_number(metrics.get("end"))
    trace.root = {
        **_factors(metadata, factors),
        "item": item,
        "tags": [tag for part in as_list(event.get("tags")) if (tag := as_text(part))] or None,
        "timestamp": as_time(event.get("created")),
        "latency_s": as_amount(end - start) if start is not None and end is not None else None,
        "input_tokens": as_count(metrics.get("prompt_tokens")),
        "output_tokens": as_count(metrics.get("completion_tokens")),
        "locator": locator,
    }


def _factors(metadata: Row, known: set[str]) -> Row:
    """Return the plain values of a row's metadata; `known` are the names that there are so far."""
    found: Row = {}
    for name, value in metadata.items():
        short = len(value) <= MAX_FACTOR_CHARS if isinstance(value, str) else isinstance(value, int | float)
        if name and short and name not in _OWN and (name in known or len(known) < MAX_FACTORS):
            known.add(name)
            found[name] = value
    return found


def _take_inner(trace: _Trace, event: Row, judges: set[str]) -> None:
    attributes, metrics = as_dict(event.get("span_attributes")), as_dict(event.get("metrics"))
    kind, name = attributes.get("type"), as_text(attributes.get("name"))
    for scorer, value in as_dict(event.get("scores")).items():
        number = as_number(value)
        trace.inner.setdefault(scorer, []).extend([] if number is None else [number])
    scores = kind == "score" or attributes.get("purpose") == "scorer"
    if kind == "score" and name and event.get("error") is not None:
        trace.failed.setdefault(name, first_line(as_text(event["error"]) or held(event["error"])))
    model = as_text(get(event, "metadata", "model"))
    if kind == "llm" and model:
        (judges if scores else trace.called).add(model)
    if kind == "llm" and not scores:
        for place, counted in enumerate(("prompt_tokens", "completion_tokens")):
            trace.tokens[place] += as_count(metrics.get(counted)) or 0


def _runs(source: Source, traces: list[_Trace], judges: dict[str, set[str]], counts: Counter[str]) -> dict[str, Row]:
    """Give every trace its run, model and trial; return the rows of `runs`."""
    called: dict[str, set[str]] = {}
    for trace in traces:
        called.setdefault(trace.experiment, set()).update(trace.called)
    for trace in traces:
        if trace.model is None and len(called[trace.experiment]) == 1:
            (trace.model,) = called[trace.experiment]
        counts[_NO_MODEL] += trace.model is None
    keys = dict.fromkeys((trace.experiment, trace.model or source.called) for trace in traces)
    shared = Counter(model for _, model in keys)
    several = len(called) > 1
    runs: dict[str, Row] = {}
    named: dict[tuple[str, ...], str] = {}
    trials: Counter[tuple[str, object]] = Counter()
    for trace in traces:
        root, model = trace.root or {}, trace.model or source.called
        short = trace.experiment[:_ID_CHARS]
        parts = [*([trace.experiment] if several else []), *([model] if len(keys) > 1 and trace.model else [])]
        run = named.get((*parts,)) or named.setdefault((*parts,), source.run_id(*parts))
        system = f"{model} ({short})" if shared[model] > 1 else model
        root.update(run=run, model=model, system=system, benchmark=BENCHMARK, trial=trials[run, root["item"]])
        trials[run, root["item"]] += 1
        if trace.tokens != [0, 0]:
            root.update(input_tokens=trace.tokens[0], output_tokens=trace.tokens[1])
        by = judges.get(trace.experiment, set())
        runs.setdefault(
            run,
            {
                "run": run,
                "model": model,
                "system": system,
                "benchmark": BENCHMARK,
                "harness": "Braintrust",
                "judge": next(iter(by)) if len(by) == 1 else None,
                "config": json.dumps({"experiment_id": trace.experiment}) if trace.experiment else None,
            },
        )
    return runs


def _outcomes(
    traces: list[_Trace], metrics: dict[str, dict[str, None]], ranges: Ranges, counts: Counter[str]
) -> Iterator[Row]:
    for trace in traces:
        asserted = trace.error is not None and "AssertionError" in trace.error
        counts[_ASSERTION] += asserted
        for metric in metrics[trace.experiment]:
            row = _outcome(trace, metric, counts, failed=trace.error is not None and not asserted)
            ranges.add(BENCHMARK, metric, as_number(row.get("score")))
            yield {**(trace.root or {}), "metric": metric, **row}


def _outcome(trace: _Trace, metric: str, counts: Counter[str], *, failed: bool) -> Row:
    value, inner = trace.own.get(metric), trace.inner.get(metric, [])
    if value is None and inner:
        counts[_SEVERAL] += len(inner) > 1
        value = fmean(inner)
    if failed:  # a handler of errors may have written 0
        return unscored(first_line(trace.error) or "an error without a message", held(value), error=True)
    if metric in trace.failed:
        return unscored(f"the scorer failed: {trace.failed[metric]}", held(value))
    if value is None:
        return unscored(_NO_SCORE)
    number = None if isinstance(value, str) else as_number(value)
    if number is None or not 0 <= number <= 1:
        counts[_OUTSIDE] += 1
        return unscored("the score is no number from 0 to 1", held(value))
    return scored(number)


LOADER: Final = BraintrustLoader()
