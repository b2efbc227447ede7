"""Formats whose result files nobody has published: the columns that are assumed, or that a column map names instead.

A form says which columns there are and what they mean, `bind_form` finds them in a table. Scores are on a scale that is
declared or unknown, and never 0 for want of a score.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from evalstats.errors import InputError, Option, UnreadableFileError, together
from evalstats.grammar import comma_list, plural
from evalstats.loaders.base import Head, Source, read_head
from evalstats.loaders.blocks import SHOWN_COLUMNS, TableBlock, open_table, safe_name
from evalstats.loaders.bound_columns import Survey, surveyed
from evalstats.loaders.column_map import NO_SCORE, ORDER, ROW, ColumnMap, DeclaredMetric, column_named
from evalstats.loaders.rows import Row, metric_row, scored, unscored
from evalstats.loaders.values import (
    Places,
    as_number,
    factor_of,
    failures_of,
    first_line,
    percent_score,
    read_standard,
    text_of,
)
from evalstats.schema.columns import OUTCOMES, GlossaryColumn

SHAPES: Final = frozenset({"text", "lines", "array", "parquet"})
# Glossary columns that a file may hold under their own names, beside the columns of its form.
_KEPT: Final = (
    *("trial", "n_trials", "weight", "setting", "user_kind", "tags", "judge", "user", "session", "n_turns"),
    *("cost_usd", "latency_s", "input_tokens", "output_tokens", "timestamp"),
)
KEPT: Final[Mapping[str, GlossaryColumn]] = {column.name: column for column in OUTCOMES if column.name in _KEPT}

_GLOSSARY: Final = frozenset(column.name for column in OUTCOMES)
_MAX_FACTORS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One column of a form: its name and what it holds.

    `also` are standard names that a column map may call it by. A `needed` column must be there; one that may be the same
    on all rows (`constant`) can be given as `name=@value`.
    """

    name: str
    meaning: str
    also: tuple[str, ...] = ()
    needed: bool = False
    constant: bool = False


# What every form has.
SHARED: Final = (
    Field(name="run", meaning="name of the run, where a file holds several of one system", constant=True),
    Field(name="error", meaning="why there is no answer; the row's scores are then errors"),
    Field(name="judge_error", meaning="why the judge failed; the row is then unscored"),
    Field(name="score_min", meaning="lowest score of the scale, the same in all rows"),
    Field(name="score_max", meaning="highest score of the scale, the same in all rows"),
    Field(name="simulated", meaning="where the row is simulated: by what", constant=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedForm:
    """The columns that the results of a benchmark are assumed to have.

    `loader` is the name of the format in the command line; `made` are factors that the rows get besides; `choice` is what
    else was decided that the benchmark leaves open.
    """

    benchmark: str
    loader: str
    fields: tuple[Field, ...]
    made: tuple[str, ...] = ()
    choice: str = ""

    def called(self, name: str) -> Field | None:
        """Return the field of that name."""
        return next((each for each in self.fields if each.name == name), None)

    def meant(self, name: str) -> Field | None:
        """Return the field that a column map means by a name: its own, or the standard name it stands for."""
        return self.called(name) or next((each for each in self.fields if name in each.also), None)

    def how_to_map(self, option: Option) -> str:
        """Say how a column map is given to this format.

        >>> print(
        ...     AssumedForm(benchmark="HarmAmp", loader="harmamp", fields=()).how_to_map(
        ...         Option("map", "kind", of="label")
        ...     )
        ... )
        format='harmamp', label='kind'
        """
        return together(Option("input_format", self.loader), option)

    @property
    def note(self) -> str:
        """What every run that was read must say of its format."""
        chosen = f"; {self.choice}" if self.choice else ""
        return (
            f"{self.benchmark} publishes no format of results: columns are as evalstats assumes, or as mapped{chosen}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A form applied to a table: its fields, columns of the glossary and factors, each with its column in the table.

    `constants` hold the one value of a field, a column of the glossary or a factor; `dependence` are columns of the
    outcomes whose levels make rows dependent, as the map says.
    """

    fields: Mapping[str, str]
    kept: Mapping[str, str]
    factors: Mapping[str, str]
    constants: Mapping[str, str]
    n_left_out: int
    dependence: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Whether a field has a column, or one value for all rows."""
        return name in self.fields or name in self.constants


def looks_like(head: Head, needed: frozenset[str], some: frozenset[str]) -> bool:
    """Whether a file is a table that has all of the needed columns and at least one of some others."""
    names = frozenset(head.columns) or head.keys
    return head.shape in SHAPES and names >= needed and bool(names & some)


def bind_form(form: AssumedForm, map_: ColumnMap, columns: Sequence[str]) -> Bound:
    """Find the columns of a form: those that the map names, then those that are called as the form calls them.

    Every other column is a factor.

    >>> plan = Field(name="plan", meaning="the plan", also=("item",), needed=True)
    >>> form = AssumedForm(benchmark="b", loader="b", fields=(plan,))
    >>> bound = bind_form(form, ColumnMap.from_options(["item=id"]), ["id", "size"])
    >>> bound.fields, bound.factors
    ({'plan': 'id'}, {'size': 'size'})
    """
    fields: dict[str, str] = {}
    kept: dict[str, str] = {}
    factors: dict[str, str] = {}
    for name, sources in map_.columns.items():
        known = form.meant(name)
        if name == "trial" and map_.makes("trial"):
            continue
        if known is not None and known.name in fields:
            raise InputError(f"{known.name} is mapped twice, as {name} too; give one column for it")
        target = fields if known is not None else kept if name in KEPT else factors
        if target is factors:
            _refuse_strange(form, name)
        target[known.name if known is not None else name] = _source(name, sources, columns)
    constants = {_constant_name(form, name): value for name, value in map_.constants.items()}
    for name in map_.values:
        if form.meant(name) is None and name not in KEPT:
            raise InputError(f"[values.{name}] says what labels stand for, but {form.benchmark} results have no {name}")
    used = {*fields.values(), *kept.values(), *factors.values()}
    named = {*fields, *kept, *factors, *constants, *(["trial"] if map_.makes("trial") else [])}
    n_left_out = 0
    for name in (name for name in columns if name and "\x00" not in name and name not in used):
        if name not in named and form.called(name) is not None:
            fields[name] = name
        elif name not in named and name in KEPT:
            kept[name] = name
        elif len(factors) < _MAX_FACTORS:
            taken = name in _GLOSSARY or name in form.made or name in named or form.called(name) is not None
            factors[f"source_{name}" if taken else name] = name
        else:
            n_left_out += 1
    bound = Bound(
        fields=fields,
        kept=kept,
        factors=factors,
        constants=constants,
        n_left_out=n_left_out,
        dependence=tuple(_dependent(form, name, {**kept, **factors}, fields) for name in map_.dependence),
    )
    _require(form, bound, columns)
    return bound


def _refuse_strange(form: AssumedForm, name: str) -> None:
    if name in _GLOSSARY or name in form.made:
        known = ", ".join(each.name for each in form.fields)
        raise InputError(f"{form.benchmark} results have no {name} that could be mapped; their columns are {known}")


def _constant_name(form: AssumedForm, name: str) -> str:
    known = form.meant(name)
    if known is None:
        if name not in KEPT:
            _refuse_strange(form, name)
        return name
    if not known.constant:
        raise InputError(
            f"{name} is the same on every row ({name}=@...); map the column that holds it: "
            f"{Option('map', blank='COLUMN', of=name)}"
        )
    return known.name


def _source(name: str, sources: tuple[str, ...], columns: Sequence[str]) -> str:
    if len(sources) != 1 or sources[0] in {ROW, ORDER}:
        raise InputError(f"{name}={','.join(sources)} has no meaning here; name one column (only trial may be {ORDER})")
    source = safe_name(column_named(sources[0]) or "")
    if source not in columns:
        raise InputError(
            f"there is no column {source!r} for {name}; the table has {comma_list(columns, SHOWN_COLUMNS)}"
        )
    return source


def _dependent(form: AssumedForm, name: str, columns: Mapping[str, str], fields: Mapping[str, str]) -> str:
    """Return what a column that the map calls dependence is called in the outcomes."""
    usable = {**{own: source for own, source in fields.items() if own in form.made}, **columns}
    found = name if name in usable else next((own for own, source in usable.items() if source == name), None)
    if found is None:
        raise InputError(f"there is no column {name!r} for dependence; there are {comma_list(usable, SHOWN_COLUMNS)}")
    return found


def _require(form: AssumedForm, bound: Bound, columns: Sequence[str]) -> None:
    for each in form.fields:
        if each.needed and not bound.has(each.name):
            fixed = f", or for all rows {each.name}=@VALUE" if each.constant else ""
            raise InputError(
                f"there is no column {each.name} ({each.meaning}); the table has {comma_list(columns, SHOWN_COLUMNS)}. "
                f"Say which one it is: {form.how_to_map(Option('map', blank='COLUMN', of=each.name))}{fixed}"
            )


_PLACE = "\x00place"
_FAILURES = ("error", "judge_error")


@dataclass(frozen=True, slots=True)
class Record:
    """One row: where it stands, its fields as text (None where empty), and what goes into the outcome as it is."""

    where: str
    locator: str
    fields: Mapping[str, str | None]
    kept: Mapping[str, object]


@dataclass(slots=True)
class AssumedTable:
    """A table that is read by a form, row by row."""

    form: AssumedForm
    map_: ColumnMap
    bound: Bound
    word: str
    _survey: Survey = field(repr=False)
    _blocks: Iterator[TableBlock] = field(repr=False)

    @classmethod
    def open(cls, path: Path, form: AssumedForm, map_: ColumnMap) -> "AssumedTable":
        """Look at all of a file and find the form's columns."""
        head = read_head(path)
        if head.shape not in SHAPES:
            what = "CSV, TSV, JSON Lines, a JSON list of records, or Parquet"
            raise UnreadableFileError(f"{path}: is no table; {form.benchmark} results are read from {what}")
        survey, blocks = surveyed(open_table(head))
        if survey.n_rows == 0:
            raise UnreadableFileError(f"{path}: holds no rows")
        word = {"array": "record", "parquet": "row"}.get(head.shape, "line")
        return cls(form, map_, bind_form(form, map_, survey.columns), word, survey, blocks)

    def records(self) -> Iterator[Record]:
        """Yield the rows in the order of the file; once only."""
        fixed = {name: value for name, value in self.bound.constants.items() if self.form.called(name)}
        others = {name: value for name, value in self.bound.constants.items() if name not in fixed and name not in KEPT}
        for block in self._blocks:
            fields = [self._field(block, name, source) for name, source in self.bound.fields.items()]
            kept = [*self._kept(block), *self._factors(block), block.places.alias(_PLACE)]
            rows = zip(
                pl.DataFrame(fields).iter_rows(named=True), pl.DataFrame(kept).iter_rows(named=True), strict=True
            )
            for own, passed in rows:
                place = passed.pop(_PLACE)
                where = f"{self.word} {place}"
                locator = f"[{place}]" if self.word == "record" else where
                yield Record(where, locator, {**fixed, **own}, {**others, **passed})

    def notes(self) -> Iterator[str]:
        """Say what a reader should know: that the columns are assumed, and which were left out."""
        yield self.form.note
        yield from self._survey.notes(self.bound.factors.values())
        if self.bound.n_left_out:
            how = self.form.how_to_map(Option("map", blank="COLUMN", of="NAME"))
            yield f"{self.bound.n_left_out} more columns are left out; name those that you need: {how}"

    def _field(self, block: TableBlock, name: str, source: str) -> pl.Series:
        cells = self._cells(block, name, source)
        if name in _FAILURES:
            return failures_of(cells).alias(name)
        text = text_of(cells).str.strip_chars()
        return text.set(text == "", None).alias(name)

    def _kept(self, block: TableBlock) -> Iterator[pl.Series]:
        places = Places(self.word, block.places)
        for name, column in KEPT.items():
            if name in self.bound.kept:
                cells = self._cells(block, name, self.bound.kept[name])
            elif name in self.bound.constants:
                cells = block.repeated(self.bound.constants[name])
            else:
                continue
            yield read_standard(column, cells, places).alias(name)

    def _factors(self, block: TableBlock) -> Iterator[pl.Series]:
        for name, source in self.bound.factors.items():
            if self._survey.is_factor(source):
                yield factor_of(block.cells(source), self._survey.dtype(source)).alias(name)

    def _cells(self, block: TableBlock, name: str, source: str) -> pl.Series:
        """Return a column with the words that the map gives for its labels, and whole numbers without a point."""
        cells = self._survey.cells(block, source, name)
        known = self.form.called(name)
        labels: dict[str, str] = {}
        for given in (*(known.also if known is not None else ()), name):
            labels |= {label: str(meaning) for label, meaning in self.map_.values.get(given, {}).items()}
        return text_of(cells).replace(labels) if labels else cells


_NO_VALUE: Final = frozenset({"", "nan", "na", "n/a", "<na>", "none", "null"})
_FLAGS: Final[Mapping[str, float]] = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_SHOWN = 5
_LABEL_CHARS = 60
_RAW_CHARS = 200
_MAX_LABELS = 50

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class CellValue:
    """A value, or None with the status and the reason; `raw` is what the file held where it is not the value."""

    value: float | None
    status: str = "scored"
    reason: str | None = None
    raw: str | None = None


def flag(text: str | None, name: str) -> CellValue:
    """Read what must be yes or no: 1, 0, true, false, yes, no.

    >>> flag("True", "harmful").value, flag("0", "harmful").value
    (1.0, 0.0)
    >>> flag("maybe", "harmful").status, flag(None, "harmful").status
    ('error', 'unscored')
    """
    nothing = _without_value(text, name)
    if nothing is not None or text is None:
        return nothing or CellValue(None, "unscored")
    number = _FLAGS.get(text.lower(), as_number(text))
    if number in (0.0, 1.0):
        return CellValue(number)
    return CellValue(None, "error", f"{name} is {_shown(text)}, neither 0 nor 1", text[:_RAW_CHARS])


def on_scale(text: str | None, name: str, bounds: Bounds, *, percent: bool = False) -> CellValue:
    """Read a number that must lie within bounds, both inclusive; None is no bound.

    >>> on_scale("4", "safety", (1, 5)).value, on_scale("7", "safety", (1, 5)).reason
    (4.0, 'safety is 7, not within 1 to 5')
    """
    nothing = _without_value(text, name)
    if nothing is not None or text is None:
        return nothing or CellValue(None, "unscored")
    number = as_number(text)
    if number is None and percent:
        number = percent_score(text)
    if number is None:
        return CellValue(None, "error", f"{name} is {_shown(text)}, which is no number", text[:_RAW_CHARS])
    low, high = bounds
    if (low is not None and number < low) or (high is not None and number > high):
        return CellValue(None, "error", f"{name} is {number:g}, not within {_span(bounds)}", text[:_RAW_CHARS])
    return CellValue(number)


def _without_value(text: str | None, name: str) -> CellValue | None:
    if text in NO_SCORE:
        return CellValue(None, text, f"{name} stands for {text}", text)
    if text is None or text.lower() in _NO_VALUE:
        return CellValue(None, "unscored", f"{name} is empty: there is no score", text)
    return None


def _shown(text: str | None) -> str:
    return "none" if text is None else repr(text[:_LABEL_CHARS] + ("..." if len(text) > _LABEL_CHARS else ""))


def _span(bounds: Bounds) -> str:
    low, high = bounds
    if low is None or high is None:
        return f"{high:g} and below" if high is not None else f"{low:g} and above"
    return f"{low:g} to {high:g}"


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
        named = comma_list((f"{label}: {n}" for label, n in counts.most_common()), _SHOWN)
        return f"{named}; the first in {self.first[name]}"


@dataclass(slots=True)
class Scales:
    """Reads scores: on the scale that the map gives a metric, else that of `score_min` and `score_max` of the rows.

    The rows must agree: averages over two scales mean nothing.
    """

    map_: ColumnMap
    strange: Strange = field(default_factory=Strange)
    in_rows: Bounds | None = None
    _where: str = ""
    _values: dict[str, set[bool]] = field(default_factory=dict[str, set[bool]])

    def number(self, record: Record, metric: str) -> Row:
        """Return score and status of a metric whose scores are numbers in the column of its name."""
        self._take(record)
        text = record.fields.get(metric)
        outcome = self._outcome(
            record, metric, on_scale(text, metric, self.of(metric), percent=self._is_percent(metric))
        )
        seen = self._values.setdefault(metric, set())
        if "score" in outcome:
            seen.add(outcome["score"] not in (0.0, 1.0))
        return outcome

    def flag(self, record: Record, column: str) -> Row:
        """Return score and status of a metric that is yes or no in a column."""
        return self._outcome(record, column, flag(record.fields.get(column), column))

    def _outcome(self, record: Record, column: str, reading: CellValue) -> Row:
        """Make the outcome: a failure outranks a value, which then stands in `value_raw` only."""
        raw = reading.raw if reading.value is None else f"{reading.value:g}"
        crash, judge = record.fields.get("error"), record.fields.get("judge_error")
        if crash is not None:
            return unscored(first_line(crash) or "there is no answer", raw, error=True)
        if judge is not None:
            return unscored(f"the judge failed: {first_line(judge)}", raw)
        if reading.value is not None:
            return scored(reading.value)
        if reading.status == "error" and raw is not None:
            self.strange.add(column, raw, record.where)
        return unscored(reading.reason, raw, error=reading.status == "error")

    def _take(self, record: Record) -> None:
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
        facts = self.map_.metrics.get(metric, DeclaredMetric())
        low, high = (facts.low, facts.high) if (facts.low, facts.high) != (None, None) else self._common()
        return low, high

    def _is_percent(self, metric: str) -> bool:
        unit = self.map_.metrics.get(metric, DeclaredMetric()).unit
        return (unit or (self.map_.scale.unit if self.map_.scale else None)) == "percent"

    def metric(self, benchmark: str, metric: str, *, higher_is_better: bool, primary: bool) -> Row:
        """Make what the table of metrics says of one on a scale; what the map says wins."""
        low, high = self.of(metric)
        is_share = (low, high) == (0.0, 1.0)
        if low is None or high is None:
            kind, unit = "continuous", None
        elif is_share and self._values.get(metric) == {False}:
            kind, unit = "binary", "proportion"
        else:
            kind, unit = "bounded", "proportion" if is_share else "points"
        unit = "percent" if self._is_percent(metric) else unit
        row = metric_row(
            benchmark, metric, kind, low=low, high=high, unit=unit, higher_is_better=higher_is_better, primary=primary
        )
        return row | facts_of(self.map_, metric)

    def notes(self, form: AssumedForm) -> Iterator[str]:
        """Say which values could not be read, and which metrics have no known scale."""
        for name in (each.name for each in form.fields if each.name in self.strange.labels):
            n, shown = self.strange.labels[name].total(), self.strange.shown(name)
            yield f"errors, and not 0: {plural(n, 'value')} of {name} that cannot be a score ({shown})"
        unknown = [name for name in self._values if self.of(name) == (None, None)]
        if unknown:
            yield (
                f"no scale is given for {', '.join(unknown)}, so the scores are kept without bounds; if there are bounds, "
                f"say so: {form.how_to_map(Option('map', '1..5', of='scale'))}"
            )

    def _common(self) -> Bounds:
        if self.map_.scale is not None:
            return self.map_.scale.low, self.map_.scale.high
        return self.in_rows or (None, None)


def facts_of(map_: ColumnMap, metric: str) -> Row:
    """Return what a column map says of a metric."""
    facts = map_.metrics.get(metric, DeclaredMetric())
    said = {name: getattr(facts, name) for name in ("kind", "low", "high", "higher_is_better", "unit", "primary")}
    return {name: value for name, value in said.items() if value is not None}


def with_one_headline(rows: list[Row], map_: ColumnMap) -> list[Row]:
    """Return the rows of metrics; where the map says what is primary, nothing else is."""
    told = {name for name, facts in map_.metrics.items() if facts.primary}
    return [{**row, "primary": row["metric"] in told} for row in rows] if told else rows


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

    def trial(self, record: Record, key: tuple[object, ...], what: str) -> Row:
        """Return trial and n_trials of a row, and refuse one that repeats an earlier row."""
        if self.table.map_.makes("trial"):
            trial: object = self._orders.get(key, 0)
            self._orders[key] = self._orders.get(key, 0) + 1
        else:
            trial = record.kept.get("trial", None if "n_trials" in record.kept else 0)
        first = self._keys.setdefault((*key, trial), record.where)
        if first != record.where:
            raise InputError(
                f"{record.where} repeats {what[: 4 * _LABEL_CHARS]}, which stands in {first} already; tell repetitions apart "
                f"by a column trial, or number them in the order of the file: "
                f"{self.table.form.how_to_map(Option('map', ORDER, of='trial'))}"
            )
        n_trials = record.kept.get("n_trials", None if trial is None else 1)
        return {"trial": trial, "n_trials": n_trials}

    def describe(self, record: Record, item: str, said: dict[str, str | None]) -> None:
        """Check that an item is described as it was before."""
        where, known = self._items.setdefault(item, (record.where, said))
        for name, level in said.items():
            if known[name] != level:
                raise InputError(
                    f"{record.where}: {_shown(item)} has {name} {_shown(level)}, but in {where} it has {_shown(known[name])}; "
                    f"one item has one {name}: mend the file, or give the items names that differ"
                )

    def run_rows(self, *, factor_names: list[str], dependence: list[str], note: str = "") -> list[Row]:
        """Make the rows of `runs`; each says that the format is assumed, and whether it is simulated."""
        dependent = list(dict.fromkeys([*dependence, *self.table.bound.dependence]))
        config = self.table.map_.as_config()
        rows: list[Row] = []
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
                    "config": json.dumps(config, ensure_ascii=False) if config else None,
                    "simulated": "; ".join(known["simulated"]) or None,
                    "note": "; ".join(part for part in (self.table.form.note, note) if part),
                }
            )
        return rows
