"""Blocks of a table in, rows of `outcomes` out; what was seen on the way becomes runs, metrics and notes.

Whole columns are worked on at a time, so that a table of a million rows takes seconds.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import structs

from evalstats.errors import InputError, Option
from evalstats.grammar import and_list, comma_list, has_have, plural
from evalstats.loaders.binder import as_options
from evalstats.loaders.blocks import TableBlock
from evalstats.loaders.bound_columns import MAX_FACTORS, Binding, Survey
from evalstats.loaders.column_map import MADE, NO_SCORE, ORDER, SCALES, ColumnMap, DeclaredMetric
from evalstats.loaders.published_columns import COUNT_NAMES
from evalstats.loaders.roles import DAYS, words_of
from evalstats.loaders.rows import MOST_KEYS, GroupCounter, Ranges
from evalstats.loaders.sampled_column import SampledColumn, repeats_told_apart
from evalstats.loaders.values import (
    BROKEN_OFF,
    FAILURE,
    PLACE,
    STATE,
    Places,
    as_text,
    as_time,
    digests_of,
    factor_of,
    failures_of,
    read_standard,
    refuse_labels,
    scores_of,
    text_of,
    with_states,
)
from evalstats.schema.columns import KEYS, NAMED_TRIALS, OUTCOMES, TRIAL_LABEL, Presumed
from evalstats.schema.data import UNNAMED
from evalstats.schema.metrics import says_percent
from evalstats.schema.tables import coded, is_constant, levels_of

# What scores are called where the columns that hold them are called like models.
DEFAULT_METRIC = "score"
_SHOWN = 3
# What the row is called below a table that sums up those above it.
_TOTALS = frozenset(
    {"mean", "average", "avg", "overall", "total", "sum", "all", "mittelwert", "durchschnitt", "gesamt"}
)
# What no row may lack.
_NEEDED = ("item", "model", "run", "benchmark", "metric")
_SHOWN_LEVELS = 12
_LOOKED_AT = 200
_REASON_CHARS, _ITEM_CHARS = 500, 80
_ROUNDING, _NO_TINY = 1e-9, 0.1
_SIMULATED = frozenset({"yes", "true", "1"})
_NOT_SIMULATED = frozenset({"", "no", "false", "0"})


@dataclass(slots=True)
class Tidier:
    """Turns the blocks of one table into outcomes, remembering what must be known across blocks.

    `word` is what a row's place is called (line, record, row), `name_run` makes a run's name from its parts; rows of other
    levels than `where` has are dropped before anything is asked of them. `merged` says that a row stands for `n_trials` equal
    ones, `reread` brings the blocks again, to find what tells rows apart that repeat a key. `rows_apart` stands before the
    numbers of rows that are items: nobody said that they are those of other tables. `said` is the map that the runs keep, where
    some of what it names was made (items of counts).
    """

    map_: ColumnMap
    binding: Binding
    survey: Survey
    word: str
    name_run: Callable[[Sequence[str]], str]
    where: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    merged: bool = False
    reread: Callable[[], Iterable[TableBlock]] = tuple
    rows_apart: str = ""
    said: ColumnMap | None = None
    _ranges: Ranges = field(default_factory=Ranges)
    _runs: dict[str, tuple[str, str, str]] = field(default_factory=dict[str, tuple[str, str, str]])
    _hashes: list[npt.NDArray[np.uint64]] = field(
        default_factory=list[npt.NDArray[np.uint64]]
    )  # of the keys of the first rows
    _n_hashed: int = 0
    _items: GroupCounter = field(default_factory=GroupCounter)
    _trials: GroupCounter = field(default_factory=GroupCounter)
    _trial_labels: dict[str, int] = field(default_factory=dict[str, int])
    _presumed: Presumed = field(init=False)
    _levels: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _makers: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _days: dict[str, set[datetime | None]] = field(default_factory=dict[str, set[datetime | None]])
    _n_kept: int = 0
    _n_empty: int = 0
    _broken_off: dict[str, int] = field(
        default_factory=dict[str, int]
    )  # rows with a score, by the word of their status
    _n_dropped: int = 0
    _totals: dict[int, str] = field(default_factory=dict[int, str])  # rows that sum up others, by their places
    _places: pl.Series | None = None

    def __post_init__(self) -> None:
        sources = {**self.binding.columns, **self.binding.factors}
        self._presumed = Presumed(name for name in self.binding.presumed if self.survey.is_factor(sources[name]))

    def outcomes(self, block: TableBlock) -> pl.DataFrame:
        """Make the outcomes of one block."""
        if self.map_.repeats is not None and self._places is None:
            self._places = self._places_kept(self.map_.repeats)
        rows = self._rows(block)
        for column in (rows[name] for name in _NEEDED if name in rows.columns):
            if not rows.height or (is_constant(column) and column[0] != ""):
                continue
            Places(self.word, rows[PLACE]).reject(column == "", f"has no {column.name}; every row needs one")
        frame = self._unrepeated(rows)
        self._n_dropped += rows.height - frame.height
        self._check_range(frame)
        if self._n_hashed < MOST_KEYS:
            self._hashes.append(frame.select(self._telling_keys(frame)).hash_rows(seed=0).to_numpy())
            self._n_hashed += frame.height
        self._take_note(frame)
        self._take_note_of_makers(frame)
        self._take_note_of_days(frame)
        self._presumed.add(frame)
        # An element of a JSON list is written as programs address it.
        before, after = (f"{self.map_.rows or ''}[", "]") if self.word == "record" else (f"{self.word} ", "")
        return frame.with_columns(pl.format("{}{}{}", pl.lit(before), PLACE, pl.lit(after)).alias("locator")).drop(
            PLACE
        )

    def _rows(self, block: TableBlock) -> pl.DataFrame:
        block = self._without_totals(block)
        shared = self._shared(block, Places(self.word, block.places))
        parts = [self._scored(shared, block, metric, source) for metric, source in self.binding.scores.items()]
        return self._kept(self._numbered(self._with_run(pl.concat(parts))))

    def _without_totals(self, block: TableBlock) -> TableBlock:
        """Leave out the rows that sum up others, where such a row ends the table: they are no items.

        Where the first item is such a word, or any word that is written alike, each row is an item of its own, unless the last
        one holds the means of the others.
        """
        source = self.binding.columns.get("item", "")
        first, last = (as_text(row.get(source)) or "" for row in (self.survey.first, self.survey.last))
        are_words = first.isalpha() and first[:1].isupper() == last[:1].isupper()
        if first.lower() in _TOTALS or last.lower() not in _TOTALS or (are_words and not self._ends_in_means(block)):
            return block
        ids = block.cells(source).cast(pl.String)
        sums = ids.str.strip_chars().str.to_lowercase().is_in(_TOTALS).fill_null(value=False)
        self._totals.update(zip(block.places.filter(sums).to_list(), ids.filter(sums).to_list(), strict=True))
        return structs.replace(block, frame=block.frame.filter(~sums), places=block.places.filter(~sums))

    def _ends_in_means(self, block: TableBlock) -> bool:
        """Whether the last row of a whole table of items holds the means of the others, which differ, as far as it is written."""
        items, sources = block.cells(self.binding.columns["item"]), {*self.binding.scores.values()}
        if block.frame.height != self.survey.n_rows or items.is_duplicated().any():
            return False
        columns = [self.survey.cells(block, source, "score") for source in sources]
        numbers = [scores_of(cells, percent=self.survey.in_percent(sources)).number for cells in columns]
        digits = [len(str(cells[-1]).rstrip("% ").partition(".")[2]) for cells in columns]
        # A whole number may be a score like any other, and the nearest one to a mean by chance.
        return any(own.n_unique() > 1 for own in numbers) and all(
            abs((own[-1] or 0.0) - cast("float", own[:-1].mean() or 0.0)) <= 0.5 * 0.1**n * (n > 0) + _ROUNDING
            for own, n in zip(numbers, digits, strict=True)
        )

    def _unrepeated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Drop the rows that repeat others, where the user asked for it."""
        return rows if self._places is None else rows.filter(rows[PLACE].is_in(self._places.implode()))

    def _places_kept(self, repeats: str) -> pl.Series:
        """Return where the rows stand that are kept of those that repeat each other."""
        seen: pl.DataFrame | None = None
        for block in self.reread():
            if repeats == "drop":
                keys, places = block.frame, block.places
            else:
                rows = self._rows(block)
                keys, places = rows.select(name for name in KEYS["outcomes"] if name in rows.columns), rows[PLACE]
            marked = pl.DataFrame({"key": keys.hash_rows(seed=0), "place": places})
            both = marked if seen is None else pl.concat([seen, marked])
            seen = both.unique("key", keep="last" if repeats == "last" else "first", maintain_order=True)
        self._n_kept, self._items, self._trials = 0, GroupCounter(), GroupCounter()
        return pl.Series([], dtype=pl.Int64) if seen is None else seen["place"]

    def runs(self) -> list[dict[str, object]]:
        """Make the rows of `runs`, one for every run seen."""
        config = json.dumps((self.said or self.map_).as_config(), ensure_ascii=False)
        dependence = [*self.binding.dependence, *self._presumed.held()] or None
        return [
            {
                "run": run,
                "model": model,
                "system": system,
                "benchmark": benchmark,
                "judge": self.binding.constants.get("judge"),
                "timestamp": next(iter(days)) if len(days := self._days.get(run, ())) == 1 else None,
                "factor_names": list(self.binding.own_names) or None,
                "dependence": dependence,
                "config": config,
                "simulated": "; ".join(sorted(self._makers.get(run, ()))) or None,
            }
            for run, (model, system, benchmark) in self._runs.items()
            if model and benchmark
        ]

    def _take_note_of_makers(self, frame: pl.DataFrame) -> None:
        """Take note of the runs whose rows say in a column `simulated` that they are, and by what."""
        if "simulated" not in frame.columns:
            return
        said = pl.col("simulated").cast(pl.String).str.strip_chars()
        for run, maker in frame.select("run", said).drop_nulls().unique().iter_rows():
            if maker.lower() not in _NOT_SIMULATED:
                self._makers.setdefault(run, set()).add("yes" if maker.lower() in _SIMULATED else maker)

    def _take_note_of_days(self, frame: pl.DataFrame) -> None:
        """Take note of when the rows of each run say that they were made: the same in all of them is the time of the run."""
        days = ["timestamp", *(name for name in frame.columns if words_of(name) in DAYS)]
        day = next((name for name in days if name in frame.columns), None)
        if day is not None:
            first, n_days = pl.col(day).first().cast(pl.String), pl.col(day).n_unique().alias("n")
            for run, text, n in frame.group_by("run").agg(first, n_days).iter_rows():
                self._days.setdefault(run, set()).update({as_time(text), None} if n > 1 else {as_time(text)})

    def metrics(self) -> list[dict[str, object]]:
        """Make the rows of `metrics`: what the user said of each, else what its scores look like."""
        rows: list[dict[str, object]] = []
        if self._names_metrics() and self.unknown_metrics():
            raise InputError(self.unknown_metrics())
        # Columns of scores have an order of their own; names that stand in rows have none.
        for benchmark, metric in self._ranges if self._names_metrics() else sorted(self._ranges):
            row = self._ranges.row(benchmark, metric)
            facts = self._facts(metric)
            if (facts.low, facts.high) not in {(None, None), (0.0, 1.0)}:
                kind = "continuous" if facts.low is None or facts.high is None else "bounded"
                row.update(low=facts.low, high=facts.high, kind=kind, unit=None)
            self._refuse_shares_called_percent(benchmark, metric, facts)
            said: dict[str, Any] = {
                name: getattr(facts, name) for name in ("low", "high", "kind", "higher_is_better", "unit", "primary")
            }
            rows.append({**row, **{name: value for name, value in said.items() if value is not None}})
        return rows

    def _refuse_shares_called_percent(self, benchmark: str, metric: str, facts: DeclaredMetric) -> None:
        """Refuse a metric whose name says percent and whose scores, of no declared scale, all lie in 0 to 1."""
        low, high = self._ranges.ends(benchmark, metric)
        undeclared = (facts.low, facts.high, facts.unit) == (None, None, None)
        if undeclared and says_percent(metric) and low >= 0 and 0 < high <= 1:
            raise InputError(
                f"{metric!r} is called a percentage, and its scores all lie between {low:g} and {high:g}; declare which it is: "
                f"{Option('map', 'percent', of='scale')}, or proportion"
            )

    def _names_metrics(self) -> bool:
        """Tell whether the metrics are known without the rows, so that all tables with this map have the same."""
        if self.map_.across:
            return "metric" not in self.binding.columns
        return None not in self.binding.scores or "metric" in self.binding.constants

    def unknown_metrics(self) -> str:
        """Say which metrics the user described and the table does not have; "" where all are there."""
        have = sorted({metric for _, metric in self._ranges})
        described = dict.fromkeys((*self.map_.metrics, *self.map_.directions))
        unknown = [repr(name) for name in described if name not in {*have, *self.binding.scores.values(), ""}]
        if not unknown:
            return ""
        return (
            f"there is no metric {', '.join(unknown)}, of which the map says something; the table has {', '.join(have)}"
        )

    def details(self) -> Iterator[str]:
        """Say how the table was read where that changes no number."""
        yield from self.survey.notes(self.binding.factors.values())

    def notes(self, asked: Collection[str] = ()) -> Iterator[str]:
        """Say what a reader should know about how the table was read; of the metrics that are asked about, where any are."""
        if self.binding.n_left_out:
            yield (
                f"{self.binding.n_left_out} columns behind the first {MAX_FACTORS} are dropped; name those that "
                f"you need: {Option('map', blank='COLUMN', of='COLUMN')}"
            )
        for name, why in self.binding.unfit.items():
            to_take = Option("map", name, of=name)
            # In which rows it is so, who takes it all the same is told.
            short = why.partition(" (")[0]
            yield f"column {name} is kept as a factor, source_{name}: {short}; to take it for {name}: {to_take}"
        yield from self._presumed.notes()
        if unknown := self.unknown_metrics():
            yield unknown
        yield from self._unweighted()
        if self.rows_apart:
            yield (
                "no column names items, so each row is one, of this table alone; where row k of every table is the same item: "
                f"{Option('map', '#row', of='item')}"
            )
        elif self.map_.makes("item"):
            yield (
                "items are numbered by their place: rows of two models are one item only if both were given the same items in "
                "the same order"
            )
        yield from self._left_out()
        if self._n_empty:
            rows = (
                "1 row has no score; it is" if self._n_empty == 1 else f"{self._n_empty:,} rows have no score; they are"
            )
            yield f"{rows} kept as unscored, which is not the same as wrong"
        for word, n in ((word, n) for word, n in self._broken_off.items() if n):
            yield (
                f"{plural(n, 'row')} with the status {word!r} {has_have(n)} a score, which is counted; if the harness failed "
                f"there, say so: {Option('values', (word, 'error'), of='status')}"
            )
        outside = {key for key in self._ranges if self._is_outside(*key)}
        percent = {key for key in outside if self._ranges.in_percent(*key)}
        for metric in sorted({metric for _, metric in percent}):
            yield f"scores of {metric!r} are 0 or 100 and nothing else, and are taken for right or wrong in percent"
        codes: dict[str, list[str]] = {}
        for metric in sorted({metric for _, metric in outside - percent if not asked or metric in asked}):
            ends = [self._ranges.ends(*key) for key in outside if key[1] == metric]
            # Beside right and wrong, -1 is what harnesses write for a failed judgement.
            code = f"if -1 means no score: {Option('map', -1, of='unscored')}; " if (-1.0, 1.0) in ends else ""
            codes.setdefault(code, []).append(repr(metric))
        for code, metrics in codes.items():
            yield (
                f"scores of {and_list(metrics)} are not all between 0 and 1, and their scale is not known; {code}"
                f"to declare it: {Option('map', '1..5', of='scale')}, or percent"
            )

    def _unweighted(self) -> Iterator[str]:
        """Say which columns look like weights or counts of rows and weight none."""
        for name in self.binding.factors.values():
            if words_of(name).endswith("_weight") and self.survey.dtype(name).is_numeric():
                yield f"{name} is not used; if it holds sampling weights: {Option('map', name, of='weight')}"
        counts = (name for name in self.binding.factors.values() if words_of(name) in COUNT_NAMES)
        if self.map_.across == "model" and (counted := next(counts, None)) is not None:
            yield (
                f"each row is one item and counts alike, whatever {counted} holds; if rows are published shares of {counted} "
                f"items each, give every model and task a row of its own with its {counted}"
            )

    def _is_outside(self, benchmark: str, metric: str) -> bool:
        """Tell whether scores of which nothing is declared lie outside 0 to 1."""
        facts, (low, high) = self._facts(metric), self._ranges.ends(benchmark, metric)
        return (low < 0 or high > 1) and (facts.low, facts.high, facts.unit, facts.kind) == (None,) * 4

    def _left_out(self) -> Iterator[str]:
        """Say which rows are left out."""
        if self._n_dropped:
            which = {"first": "the first is", "last": "the last is", "drop": "one of each is"}[
                self.map_.repeats or "drop"
            ]
            yield f"repeated rows are dropped, and {which} kept: {self._n_dropped // len(self.binding.scores):,}"
        if self._totals:
            named = comma_list((f"{name!r} in {self.word} {place}" for place, name in self._totals.items()), _SHOWN)
            yield f"rows that sum up others are no items and are left out: {len(self._totals):,} ({named})"

    def _facts(self, metric: str) -> DeclaredMetric:
        """Return what the user says of a metric: of it alone, else of all scores of its column or of the table."""
        facts, scale = self.map_.metrics.get(metric, DeclaredMetric()), self.map_.scale
        scores = self.binding.scores
        if scale is None and self.survey.in_percent([scores[metric]] if metric in scores else scores.values()):
            scale = SCALES["percent"]
        if scale is not None and (facts.low, facts.high, facts.kind, facts.unit) == (None,) * 4:
            facts = structs.replace(facts, low=scale.low, high=scale.high, unit=scale.unit)
        if facts.higher_is_better is None and self.map_.directions:
            source = self.binding.scores.get(metric) or self.binding.scores.get(None) or ""
            said = (self.map_.directions.get(name) for name in (metric, source, ""))
            facts = structs.replace(facts, higher_is_better=next((up for up in said if up is not None), None))
        return facts

    def _shared(self, block: TableBlock, places: Places) -> pl.DataFrame:
        """Read every column but the scores and the failures."""
        columns = {PLACE: block.places}
        for column in OUTCOMES:
            if column.name not in {"score", *MADE} and (cells := self._given(column.name, block)) is not None:
                if column.name == "trial" and self._names_trials():
                    columns[TRIAL_LABEL] = text_of(cells)
                    cells = self._numbers_of_trials(columns[TRIAL_LABEL])
                columns[column.name] = read_standard(column, cells, places)
        for name in _NEEDED:  # a row of another level than is asked for may lack them
            if name in columns:
                columns[name] = columns[name].fill_null("")
        for name, source in self.binding.factors.items():
            if self.survey.is_factor(source):
                columns[name] = factor_of(block.cells(source), self.survey.dtype(source))
            elif self.survey.is_question(source):
                columns[f"{name}_digest"] = digests_of(block.cells(source))
        for name, value in self.binding.constants.items():
            columns.setdefault(name, block.repeated(value))
        frame = pl.DataFrame([series.alias(name) for name, series in columns.items()])
        if self.map_.across == "model":
            frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias("model"))
        defaults = {"system": pl.col("model"), "benchmark": pl.lit(UNNAMED), "task": "", "variant": ""}
        frame = frame.with_columns(
            (default if isinstance(default, pl.Expr) else pl.lit(default)).alias(name)
            for name, default in defaults.items()
            if name not in frame.columns
        )
        return frame.with_columns(pl.col("system").fill_null(pl.col("model")), pl.col("task", "variant").fill_null(""))

    def _names_trials(self) -> bool:
        """Tell whether trials have names (a judge, a seed), and not mere numbers that count them."""
        source = self.binding.columns.get("trial", "")
        if source not in self.survey.seen:
            return False
        holds_names = self.survey.dtype(source) == pl.String and not self.survey.seen[source].floats
        return holds_names or NAMED_TRIALS.search(source.lower()) is not None

    def _numbers_of_trials(self, labels: pl.Series) -> pl.Series:
        """Return a number for each named trial, in the order in which the table brings the names."""
        for label in labels.drop_nulls().unique(maintain_order=True).to_list():
            self._trial_labels.setdefault(label, len(self._trial_labels))
        return labels.replace_strict(self._trial_labels, default=None, return_dtype=pl.Int64)

    def _given(self, name: str, block: TableBlock) -> pl.Series | None:
        """Return the cells of a standard column, their labels put in the standard words for them."""
        source = self.binding.columns.get(name)
        if source is None:
            value = self.binding.constants.get(name)
            return None if value is None else block.repeated(value)
        cells = self.survey.cells(block, source, name)
        labels = self.map_.values.get(name)
        if labels is None:
            return cells
        return text_of(cells).replace({label: str(meaning) for label, meaning in labels.items()})

    def _scored(self, shared: pl.DataFrame, block: TableBlock, metric: str | None, source: str) -> pl.DataFrame:
        """Put the scores of one column, and the states that follow from them, beside the other columns."""
        if across := self.map_.across:
            level, metric = self.binding.sides.get(source, (source, DEFAULT_METRIC))
            own = block.repeated(level)
            if across == "trial":
                shared = shared.with_columns(self._numbers_of_trials(own).alias("trial"), own.alias(TRIAL_LABEL))
            else:
                shared = shared.with_columns(own.alias(across), pl.col("system").fill_null(own))
            metric = None if "metric" in shared.columns else metric
        cells = self.survey.cells(block, source, "score")
        percent = self._facts(metric or self.binding.constants.get("metric", "")).unit == "percent"
        found = scores_of(cells, self.map_.values.get("score"), percent=percent)
        # What a row holds that says itself that it has no score may be anything.
        lost = None
        if "status" in shared.columns:
            lost = shared["status"].is_in(NO_SCORE).fill_null(value=False)
            self._broken_off = dict.fromkeys(levels_of(shared["status"]), 0) | self._broken_off
        unknown = found.unknown if lost is None else found.unknown & ~lost
        label = found.label if lost is None else found.label.zip_with(~(found.unknown & lost), text_of(cells))
        refuse_labels(Places(self.word, block.places), unknown, cells, source, self.survey.n_rows)
        error = self.binding.columns.get("error")
        failure = block.repeated(None)
        if error is not None:
            failure = failures_of(self.survey.cells(block, error, "error")).str.slice(0, _REASON_CHARS)
        frame = shared.with_columns(
            _at_the_ends(found.number).alias("score"),
            label.alias("value_raw"),
            found.state.alias(STATE),
            failure.alias(FAILURE),
        )
        if metric is not None:
            frame = frame.with_columns(pl.lit(metric).alias("metric"))
        return with_states(frame)

    def _with_run(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Name the run of every row: one system on one benchmark."""
        names = [name for name in ("run", "model", "system", "benchmark") if name in frame.columns]
        if frame["system"].equals(frame["model"]):
            names.remove("system")
        telling = [name for name in names if not is_constant(frame[name])]
        if not telling:
            named = [self._run_named(row) for row in frame.select(names).head(1).iter_rows(named=True)]
            return frame.with_columns(pl.lit(named[0] if named else None, dtype=pl.String).alias("run"))
        first, codes = coded(frame.select(telling))
        named = [self._run_named(row) for row in frame.select(names)[first].iter_rows(named=True)]
        return frame.with_columns(pl.Series("run", named, dtype=pl.String).gather(codes))

    def _run_named(self, row: dict[str, str]) -> str:
        model, benchmark = row["model"], row["benchmark"]
        system = row.get("system", model)
        if "run" in row:
            parts = [row["run"]]
        else:
            parts = [] if "model" in self.binding.constants else [model]
            parts += [system] if system != model else []
            parts += [benchmark] if "benchmark" in self.binding.columns else []
        run = name = self.name_run(parts)
        about = {"model": model, "system": system, "benchmark": benchmark}
        known = self._runs.setdefault(run, (model, system, benchmark))
        number = 1
        while known != (model, system, benchmark):
            if "run" in row:
                both = zip(about.items(), known, strict=True)
                said = next(f"{what}s {had!r} and {has!r}" for (what, has), had in both if had != has)
                raise InputError(
                    f"run {row['run']!r} holds the {said}, and a run is one system on one benchmark; "
                    "map another column to run, or none"
                )
            # Names with dots in them may come to the same.
            number += 1
            run = f"{name}.{number}"
            known = self._runs.setdefault(run, (model, system, benchmark))
        return run

    def _numbered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Fill in items by place and repetitions by order where the user asked for it; else all is the first trial."""
        if self.map_.makes("item"):
            keys = [name for name in KEYS["outcomes"] if name in frame.columns and name != "item"]
            numbers = frame[PLACE] if self.rows_apart else self._items.next(frame.select(keys))
            before = f"{self.rows_apart}:" if self.rows_apart else ""
            frame = frame.with_columns(pl.format("{}{}", pl.lit(before), numbers).alias("item"))
        if self.map_.makes("trial"):
            keys = [name for name in KEYS["outcomes"] if name in frame.columns and name != "trial"]
            frame = frame.with_columns(self._trials.next(frame.select(keys)).alias("trial"))
        if "trial" not in frame.columns and "n_trials" not in frame.columns:
            frame = frame.with_columns(pl.lit(0, dtype=pl.Int64).alias("trial"))
        if "n_trials" not in frame.columns:
            one = pl.lit(1, dtype=pl.Int64)
            known = one if not frame["trial"].null_count() else pl.when(pl.col("trial").is_not_null()).then(one)
            frame = frame.with_columns(known.alias("n_trials"))
        return frame

    def _check_range(self, frame: pl.DataFrame) -> None:
        """Reject scores that are not what the user says the metric holds."""
        in_percent = self.survey.in_percent(self.binding.scores.values())
        if self.map_.scale is None and not self.map_.metrics and not in_percent:
            return
        places = Places(self.word, frame[PLACE])
        for metric in frame["metric"].unique().to_list():
            facts = self._facts(metric)
            score = pl.select(pl.when(frame["metric"] == metric).then(frame["score"])).to_series()
            if facts.low is not None:
                below = score < facts.low
                places.reject(below, f"has a {metric} below {facts.low:g}", score, _code_remedy(score.filter(below)))
            if facts.high is not None:
                above = score > facts.high
                places.reject(above, f"has a {metric} above {facts.high:g}", score, _code_remedy(score.filter(above)))
            if facts.kind == "binary":
                places.reject(~score.is_in([0.0, 1.0]), f"has a {metric} that is neither 0 nor 1", score)

    def _kept(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Drop the rows that are not asked for; what is wrong with them is no matter."""
        sources = {source: name for name, source in (*self.binding.factors.items(), *self.binding.columns.items())}
        for name, levels in self.where.items():
            column = name if name in frame.columns else sources.get(name)
            if column not in frame.columns or isinstance(frame[column].dtype, pl.List):
                continue
            text = frame[column].cast(pl.String)
            seen = self._levels.setdefault(name, set())
            if len(seen) < _SHOWN_LEVELS:
                seen.update(text.drop_nulls().unique(maintain_order=True).head(_SHOWN_LEVELS).to_list())
            frame = frame.filter(text.is_in(levels))
        self._n_kept += frame.height
        return frame

    def check_kept(self) -> None:
        """Raise `InputError` where not one row of the table is of the levels that are asked for."""
        if self._n_kept:
            return
        for name, seen in self._levels.items():
            wanted = " or ".join(map(repr, self.where[name]))
            have = comma_list(map(repr, sorted(seen)), _SHOWN_LEVELS) if seen else "no value in any row"
            if not set(self.where[name]) & seen or len(self._levels) == 1:
                own = f"source_{name}"
                also = f"; the file's own column of that name is called {own}" if own in self.binding.factors else ""
                raise InputError(f"{name} has no level {wanted}; it has {have}{also}")
        asked = ", ".join(f"{name}={','.join(levels)}" for name, levels in self.where.items())
        raise InputError(f"no row has {asked}; leave one of the conditions out")

    def _telling_keys(self, frame: pl.DataFrame) -> list[str]:
        """Return the columns of the key that may tell rows of this table apart."""
        given = {
            *self.binding.columns,
            *(name for name in ("item", "trial") if self.map_.makes(name)),
            self.map_.across,
        }
        given |= {"metric"} if len(self.binding.scores) > 1 else set()
        given |= {"run"} if given & {"model", "system", "benchmark"} else set()
        return [name for name in _keys_of(frame) if name in given] or ["item"]

    def check_unique(self) -> None:
        """Raise `InputError` where rows repeat a key, among the first `MOST_KEYS`; which they are, a further reading tells.

        What repeats a later row is found where all of a file is: in a store, or in a table that is held.
        """
        hashes = np.sort(np.concatenate(self._hashes or [np.empty(0, np.uint64)]))
        if not (hashes[1:] == hashes[:-1]).any():
            return
        self._items, self._trials, seen = GroupCounter(), GroupCounter(), GroupCounter()
        for n_before, block in enumerate(self.reread()):
            frame = self._unrepeated(self._rows(block))
            again = seen.again(frame.select(_keys_of(frame)))
            if again.any():
                raise InputError(self._repeated(frame, again, n_before))

    def _repeated(self, frame: pl.DataFrame, again: pl.Series, n_before: int) -> str:
        names = _keys_of(frame)
        rows = frame.filter(again)
        shown = "; ".join(
            f"{self.word} {row[PLACE]}: model {row['model']!r}, item {row['item'][:_ITEM_CHARS]!r}"
            for row in rows.unique(PLACE, maintain_order=True).head(_SHOWN).iter_rows(named=True)
        )
        # Only what the table has: nobody should look for a column that we have filled in.
        own = [name for name in ("model", *names[1:]) if name in self.binding.columns and name != "item"]
        told = and_list(own) if own else ""
        ids = rows["item"].n_unique()
        many = "1 id stands" if ids == 1 else f"{ids:,} ids stand"
        least = "at least " if frame.height + self._n_dropped < self.survey.n_rows * len(self.binding.scores) else ""
        found = f"{least}{many} more than once{f' with the same {told}' if told else ''} ({shown}); "
        as_trials = (
            "If they are repeats of an item, number them as trials in the order of the file: "
            f"{Option('map', ORDER, of='trial')}"
        )
        if not least and not rows[PLACE].is_in(self._places_kept("drop").implode()).any():
            return f"{found}these are copies of whole rows; to drop them: {Option('map', 'drop', of='repeats')}. {as_trials}"
        found += f"{self._telling(frame, rows.head(_LOOKED_AT), names, n_before)}. "
        to_keep = f"to keep one of each: {Option('map', 'first', of='repeats')}"
        if not least and rows["system"].n_unique() == 1 < frame["system"].n_unique():
            only = f"Only {rows['system'][0]!r} repeats items: its last attempts beside first ones of others would favour it"
            return f"{found}{only}; {to_keep}. {as_trials}"
        return f"{found}{as_trials}; {to_keep} (or last, or drop, which drops copies of whole rows)"

    def _telling(self, frame: pl.DataFrame, rows: pl.DataFrame, names: Sequence[str], n_before: int) -> str:
        """Say which column tells these rows from earlier ones with the same key, where one does."""
        factors = {source: name for name, source in self.binding.factors.items() if name in frame.columns}
        needed = [*names, *factors.values()]
        self._items = GroupCounter()
        earlier = map(self._rows, islice(self.reread(), n_before))
        repeated = pl.concat(
            [part.select(needed).join(rows, on=names, how="semi", nulls_equal=True) for part in (*earlier, frame)],
            how="vertical_relaxed",
        )
        records = repeated.select(pl.col(name).cast(pl.String).alias(source) for source, name in factors.items())
        keys = repeated.select(pl.col("item", *(name for name in names if name != "item")).cast(pl.String)).rows()
        free = [name for name in ("variant", "task") if name not in self.binding.columns] or ["variant"]
        cells = records.to_dicts()
        found = repeats_told_apart([SampledColumn(source, cells) for source in factors], keys)
        parts = [option.partition("=") for option in found]
        found = [
            f"{name if name in free or name not in {'variant', 'task'} else free[0]}={of}" for name, _, of in parts
        ]
        if not found:
            return (
                "if they are different questions, give each its own id, or name what tells them apart: "
                f"{Option('map', blank='COLUMN', of='variant')}"
            )
        told = " and ".join(repr(option.partition("=")[2]) for option in found)
        return f"{told} {'tell' if len(found) > 1 else 'tells'} them apart: {as_options(found)}"

    def _take_note(self, frame: pl.DataFrame) -> None:
        is_empty = frame["status"] == "unscored"
        self._n_empty += int(frame["n_trials"].filter(is_empty).sum() if self.merged else is_empty.sum())
        scored = frame.filter(status="scored") if self._broken_off else frame.clear()
        for word in self._broken_off:
            self._broken_off[word] += int(scored.filter(status_reason=BROKEN_OFF.format(word))["n_trials"].sum())
        self._ranges.add_frame(frame)


def _keys_of(frame: pl.DataFrame) -> list[str]:
    return [name for name in KEYS["outcomes"] if name in frame.columns]


def _at_the_ends(scores: pl.Series) -> pl.Series:
    """Put what lies outside 0 to 1 by rounding alone at the end: a sum of weights comes to 1.0000000000000002.

    Not where all scores are tiny, in a unit in which they are no rounding.
    """
    name, lowest, most = scores.name, scores.min(), scores.abs().max()
    if not isinstance(most, float) or most < _NO_TINY or (lowest >= 0 and most <= 1):  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]
        return scores
    above, below = (pl.col(name) > 1) & (pl.col(name) < 1 + _ROUNDING), (pl.col(name) < 0) & (pl.col(name) > -_ROUNDING)
    kept = pl.when(above).then(1.0).when(below).then(0.0).otherwise(pl.col(name)).alias(name)
    return scores.to_frame().select(kept).to_series()


def _code_remedy(outside: pl.Series) -> str:
    """Say what to do where all scores outside the scale are one value, which then is likely a code for "no score"."""
    if outside.n_unique() != 1:
        return ""
    return f"if {outside[0]:g} means no score, say {Option('map', outside[0], of='unscored')}"
