"""Scores of rows whose format is assumed: on a scale that is declared or unknown, and never 0 for want of a score."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evalstats.errors import InputError
from evalstats.loaders.assumed import AssumedTable, Form, Record
from evalstats.loaders.base import Source
from evalstats.loaders.cells import percent_score
from evalstats.loaders.column_map import NO_SCORE, ORDER, ColumnMap, MetricFacts
from evalstats.loaders.values import as_number, first_line

_NO_VALUE: Final = frozenset({"", "nan", "na", "n/a", "<na>", "none", "null"})
_FLAGS: Final[Mapping[str, float]] = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_SHOWN = 5
_LABEL_CHARS = 60
_RAW_CHARS = 200
_MAX_LABELS = 50

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Reading:
    """A value, or None with the status and the reason; `raw` is what the file held where it is not the value."""

    value: float | None
    status: str = "scored"
    reason: str | None = None
    raw: str | None = None


def flag(text: str | None, name: str) -> Reading:
    """Read what must be yes or no: 1, 0, true, false, yes, no.

    >>> flag("True", "harmful").value, flag("0", "harmful").value
    (1.0, 0.0)
    >>> flag("maybe", "harmful").status, flag(None, "harmful").status
    ('error', 'unscored')
    """
    return _without_value(text, name) or _flagged(text or "", name)


def _flagged(text: str, name: str) -> Reading:
    number = _FLAGS.get(text.lower(), as_number(text))
    if number in (0.0, 1.0):
        return Reading(number)
    return Reading(None, "error", f"{name} is {_shown(text)}, neither 0 nor 1", text[:_RAW_CHARS])


def on_scale(text: str | None, name: str, bounds: Bounds, *, percent: bool = False) -> Reading:
    """Read a number that must lie within bounds, both inclusive; None is no bound.

    >>> on_scale("4", "safety", (1, 5)).value, on_scale("7", "safety", (1, 5)).reason
    (4.0, 'safety is 7, not within 1 to 5')
    """
    nothing = _without_value(text, name)
    if nothing is not None or text is None:
        return nothing or Reading(None, "unscored")
    number = as_number(text)
    if number is None and percent:
        number = percent_score(text)
    if number is None:
        return Reading(None, "error", f"{name} is {_shown(text)}, which is no number", text[:_RAW_CHARS])
    low, high = bounds
    if (low is not None and number < low) or (high is not None and number > high):
        return Reading(None, "error", f"{name} is {number:g}, not within {_span(bounds)}", text[:_RAW_CHARS])
    return Reading(number)


def _without_value(text: str | None, name: str) -> Reading | None:
    if text in NO_SCORE:
        return Reading(None, text, f"{name} stands for {text}", text)
    if text is None or text.lower() in _NO_VALUE:
        return Reading(None, "unscored", f"{name} is empty: there is no score", text)
    return None


def counted(n: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _shown(text: str) -> str:
    return repr(text[:_LABEL_CHARS] + ("..." if len(text) > _LABEL_CHARS else ""))


def _span(bounds: Bounds) -> str:
    low, high = bounds
    if low is None or high is None:
        return f"{high:g} and below" if high is not None else f"{low:g} and above"
    return f"{low:g} to {high:g}"


def judged(record: Record, reading: Reading) -> dict[str, object]:
    """Return score and status of an outcome: a failure outranks a value, which then stands in `value_raw` only."""
    raw = reading.raw if reading.value is None else f"{reading.value:g}"
    crash, judge = record.fields.get("error"), record.fields.get("judge_error")
    if crash is not None:
        return {"status": "error", "status_reason": first_line(crash) or "there is no answer", "value_raw": raw}
    if judge is not None:
        return {"status": "unscored", "status_reason": f"the judge failed: {first_line(judge)}", "value_raw": raw}
    if reading.value is None:
        return {"status": reading.status, "status_reason": reading.reason, "value_raw": reading.raw}
    return {"status": "scored", "score": reading.value}


@dataclass(slots=True)
class Scales:
    """The bounds of each metric: what the map says of it, else `score_min` and `score_max` of the rows.

    The rows must agree: averages over two scales mean nothing.
    """

    map_: ColumnMap
    in_rows: Bounds | None = None
    _where: str = ""
    _values: dict[str, set[bool]] = field(default_factory=dict[str, set[bool]])

    def take(self, record: Record) -> None:
        """Take note of a row's own scale."""
        given = tuple(record.fields.get(name) for name in ("score_min", "score_max"))
        low, high = (as_number(text) for text in given)
        if given != (None, None) and (low is None or high is None or low >= high):
            raise InputError(
                f"{record.where} has score_min {given[0]} and score_max {given[1]}; expected two numbers, low and high"
            )
        if self.in_rows is None:
            self.in_rows, self._where = (low, high), record.where
            declared = self.map_.scale
            if declared is not None and low is not None and (low, high) != (declared.low, declared.high):
                raise InputError(
                    f"{record.where} has the scale {_span((low, high))}, but the map says "
                    f"{_span((declared.low, declared.high))}; leave one of the two out"
                )
        elif self.in_rows != (low, high):
            scales = [_span(each) if None not in each else "none" for each in (self.in_rows, (low, high))]
            raise InputError(
                f"scores stand on two scales: {scales[0]} ({self._where}) and {scales[1]} ({record.where}); averages over "
                "both mean nothing: put all scores on one scale, or give each scale a file and a benchmark of its own"
            )

    def of(self, metric: str) -> Bounds:
        """Return the bounds of a metric; None where there is no bound."""
        facts = self.map_.metrics.get(metric, MetricFacts())
        low, high = (facts.low, facts.high) if (facts.low, facts.high) != (None, None) else self._common()
        return low, high

    def is_percent(self, metric: str) -> bool:
        """Whether the scores of a metric are percentages."""
        unit = self.map_.metrics.get(metric, MetricFacts()).unit
        return (unit or (self.map_.scale.unit if self.map_.scale else None)) == "percent"

    def saw(self, metric: str, value: float | None) -> None:
        """Take note of a score: whether it is neither 0 nor 1."""
        seen = self._values.setdefault(metric, set())
        if value is not None:
            seen.add(value not in (0.0, 1.0))

    def metric(self, metric: str, *, higher_is_better: bool, primary: bool) -> dict[str, object]:
        """Make what the table of metrics says of one on a scale; what the map says wins."""
        low, high = self.of(metric)
        is_share = (low, high) == (0.0, 1.0)
        if low is None or high is None:
            kind, unit = "continuous", None
        elif is_share and self._values.get(metric) == {False}:
            kind, unit = "binary", "proportion"
        else:
            kind, unit = "bounded", "proportion" if is_share else "points"
        row: dict[str, object] = {
            "metric": metric,
            "kind": kind,
            "low": low,
            "high": high,
            "higher_is_better": higher_is_better,
            "unit": "percent" if self.is_percent(metric) else unit,
            "primary": primary,
        }
        return row | facts_of(self.map_, metric)

    def notes(self, form: Form) -> Iterator[str]:
        """Say which metrics have no known scale."""
        unknown = [name for name in self._values if self.of(name) == (None, None)]
        if unknown:
            yield (
                f"no scale is given for {', '.join(unknown)}, so the scores are kept without bounds; if there are bounds, "
                f"say so: {form.how_to_map('scale=1..5')}"
            )

    def _common(self) -> Bounds:
        if self.map_.scale is not None:
            return self.map_.scale.low, self.map_.scale.high
        return self.in_rows or (None, None)


def facts_of(map_: ColumnMap, metric: str) -> dict[str, object]:
    """Return what a column map says of a metric."""
    facts = map_.metrics.get(metric, MetricFacts())
    said = {name: getattr(facts, name) for name in ("kind", "low", "high", "higher_is_better", "unit", "primary")}
    return {name: value for name, value in said.items() if value is not None}


def with_one_headline(rows: list[dict[str, object]], map_: ColumnMap) -> list[dict[str, object]]:
    """Return the rows of metrics; where the map says what is primary, nothing else is."""
    told = {name for name, facts in map_.metrics.items() if facts.primary}
    return [{**row, "primary": row["metric"] in told} for row in rows] if told else rows


@dataclass(slots=True)
class Strange:
    """Values that stand for nothing known, counted by label, for one note a column."""

    labels: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    first: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, name: str, text: str | None, where: str) -> None:
        """Count a value of a column."""
        counts = self.labels.setdefault(name, Counter())
        self.first.setdefault(name, where)
        label = "nothing" if text is None else _shown(text)
        counts[label if label in counts or len(counts) < _MAX_LABELS else "other values"] += 1

    def shown(self, name: str) -> str:
        """Return the most frequent values with their counts, and where the first stands."""
        counts = self.labels[name]
        named = ", ".join(f"{label}: {n}" for label, n in counts.most_common(_SHOWN))
        more = f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else ""
        return f"{named}{more}; the first in {self.first[name]}"


_SHOWN_CHARS = 80


@dataclass(slots=True)
class Ledger:
    """Remembers keys, items and runs while the rows of one table go by."""

    table: AssumedTable
    source: Source
    _keys: dict[tuple[object, ...], str] = field(default_factory=dict[tuple[object, ...], str])
    _orders: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])
    _items: dict[str, tuple[str, dict[str, str | None]]] = field(
        default_factory=dict[str, tuple[str, dict[str, str | None]]]
    )
    _runs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def required(self, record: Record, name: str) -> str:
        """Return a field that every row must have."""
        text = record.fields.get(name)
        if text is None:
            raise InputError(f"{record.where} has no {name}; every row needs one")
        return text

    def run(self, record: Record, model: str, system: str, *, parts: tuple[str, ...]) -> str:
        """Return the name of the run that a row belongs to, and take note of it."""
        own = record.fields.get("run")
        name = self.source.run_id(*(part for part in (*parts, own) if part))
        known = self._runs.setdefault(name, {"model": model, "system": system, "judges": set(), "simulated": {}})
        if (known["model"], known["system"]) != (model, system):
            raise InputError(
                f"{record.where}: run {name!r} is of {known['system']!r} and of {system!r}; give the systems names that "
                "differ in more than dots"
            )
        known["judges"].add(record.kept.get("judge"))
        if record.fields.get("simulated") is not None and len(known["simulated"]) < 3:
            known["simulated"][record.fields["simulated"]] = None
        return name

    def trial(self, record: Record, key: tuple[object, ...], what: str) -> dict[str, object]:
        """Return trial and n_trials of a row, and refuse one that repeats an earlier row."""
        if self.table.bound.trial_from_order:
            trial: object = self._orders.get(key, 0)
            self._orders[key] = self._orders.get(key, 0) + 1
        else:
            trial = record.kept.get("trial", None if "n_trials" in record.kept else 0)
        first = self._keys.setdefault((*key, trial), record.where)
        if first != record.where:
            raise InputError(
                f"{record.where} repeats {what[: 3 * _SHOWN_CHARS]}, which stands in {first} already; tell repetitions apart "
                f"by a column trial, or number them in the order of the file: {self.table.form.how_to_map(f'trial={ORDER}')}"
            )
        n_trials = record.kept.get("n_trials", None if trial is None else 1)
        return {"trial": trial, "n_trials": n_trials}

    def describe(self, record: Record, item: str, said: dict[str, str | None]) -> None:
        """Check that an item is described as it was before."""
        where, known = self._items.setdefault(item, (record.where, said))
        for name, level in said.items():
            if known[name] != level:
                raise InputError(
                    f"{record.where}: {_short(item)} has {name} {_short(level)}, but in {where} it has {_short(known[name])}; "
                    f"one item has one {name}: mend the file, or give the items names that differ"
                )

    def run_rows(self, *, factor_names: list[str], dependence: list[str], note: str = "") -> list[dict[str, object]]:
        """Make the rows of `runs`; each says that the format is assumed, and whether it is simulated."""
        dependent = list(dict.fromkeys([*dependence, *self.table.bound.dependence]))
        config = self.table.map_.as_config()
        rows: list[dict[str, object]] = []
        for name, known in self._runs.items():
            judge = next(iter(known["judges"])) if len(known["judges"]) == 1 else None
            rows.append(
                {
                    "run": name,
                    "model": known["model"],
                    "system": known["system"],
                    "benchmark": self.table.form.benchmark,
                    "judge": judge,
                    "factor_names": factor_names,
                    "dependence": dependent,
                    "config": _as_json(config) if config else None,
                    "simulated": "; ".join(known["simulated"]) or None,
                    "note": "; ".join(part for part in (self.table.form.note, note) if part),
                }
            )
        return rows


def _short(text: str | None) -> str:
    return "none" if text is None else repr(text[:_SHOWN_CHARS])


def _as_json(config: dict[str, object]) -> str:
    import json

    return json.dumps(config, ensure_ascii=False)
