"""Benchmarks whose results nobody has published: tables in columns that are assumed, or that a column map names instead.

A format declares its columns and its metrics. Its rows are put into standard columns, a row for each metric, and read from there
on as any table is (`tidy.Tidier`). Scores are on a scale that is declared or unknown, and never 0 for want of a score.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec
import polars as pl

from evalstats.errors import InputError, Option, UnreadableFileError, together
from evalstats.grammar import comma_list, plural
from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source, read_head
from evalstats.loaders.blocks import SHOWN_COLUMNS, TableBlock, TableFile, open_table, safe_name
from evalstats.loaders.bound_columns import bind, surveyed
from evalstats.loaders.column_map import NO_SCORE, STANDARD, ColumnMap, DeclaredMetric, column_named
from evalstats.loaders.format import SHARE, Sign
from evalstats.loaders.rows import Row, told
from evalstats.loaders.tidy import Tidier
from evalstats.loaders.values import NO_VALUE, PLACE, as_number, failures_of, first_line, percent_score, text_of
from evalstats.schema.columns import column_names
from evalstats.schema.data import Problem

SHAPES: Final = ("text", "lines", "array", "parquet")
# Behind the name of a metric of rows that are single turns, which never mix with whole answers.
TURN: Final = "/turn"
# Glossary columns that a file may hold under their own names, beside the columns of its form.
_KEPT: Final = frozenset(
    {"trial", "n_trials", "weight", "setting", "user_kind", "tags", "judge", "user", "session", "n_turns"}
    | {"cost_usd", "latency_s", "input_tokens", "output_tokens", "timestamp"}
)
_MADE: Final = frozenset(column_names("outcomes")) - _KEPT
_FLAGS: Final = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_SHOWN_LABELS: Final = 5
_LABEL_CHARS: Final = 60
_RAW_CHARS: Final = 200

Bounds = tuple[float | None, float | None]


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a form: its name and what it holds.

    `also` are standard names that a column map may call it by; it becomes the column of the first. A `needed` column must be
    there; one that may be the same on all rows (`constant`) can be given as `name=@value`.
    """

    name: str
    meaning: str
    also: tuple[str, ...] = ()
    needed: bool = False
    constant: bool = False


# What every form has.
SHARED: Final = (
    Field(name="run", meaning="name of the run, if a file holds several runs of one system", constant=True),
    Field(name="error", meaning="why there is no answer; the row's scores are then errors"),
    Field(name="judge_error", meaning="why the judge failed; the row is then unscored"),
    Field(name="score_min", meaning="lowest score of the scale, the same in all rows"),
    Field(name="score_max", meaning="highest score of the scale, the same in all rows"),
    Field(name="simulated", meaning="name of the simulator, if the row is simulated", constant=True),
)


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of a form: the column that holds it, on which rows it counts, and whether it is yes or no."""

    metric: str
    column: str
    higher_is_better: bool = True
    is_flag: bool = False
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedLoader(SingleFileLoader):
    """Loader of the tables of one benchmark, with columns as `fields` lists them or as a column map names them.

    `criteria` are the metrics, the headline first. `arranged` works on the fields of some rows and leaves out what is none,
    `doubts` says what a reader should know of them. `described` are fields that say the same of an item in all its rows (the
    first field names it). Rows are dependent by the levels of `dependence`; `choice` is what else was decided that the
    benchmark leaves open.
    """

    name: str
    title: str
    version: str
    benchmark: str
    sign: Sign
    fields: tuple[Field, ...]
    criteria: tuple[Criterion, ...]
    arranged: Callable[[pl.DataFrame, "AssumedRows"], pl.DataFrame]
    doubts: Callable[["AssumedRows"], Iterator[str]]
    described: tuple[str, ...]
    dependence: tuple[str, ...] = ()
    choice: str = ""
    column_map: ColumnMap = field(default_factory=ColumnMap)

    def with_columns(self, column_map: ColumnMap) -> "AssumedLoader":
        """Return a loader that finds the columns by the map."""
        return replace(self, column_map=column_map)

    def sniff(self, head: Head) -> Match | None:
        """Recognise columns that stand together nowhere else."""
        return self.sign.match(head)

    def how_to_map(self, option: Option) -> str:
        """Say how a column map is given to this format."""
        return together(Option("input_format", self.name), option)

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, metrics, runs and notes."""
        try:
            yield from self._tables(source)
        except InputError as error:
            with_format = str(Option("input_format", self.name))
            raise InputError(
                str(error) if with_format in str(error) else f"{error}. A map goes with {with_format}"
            ) from error

    def _tables(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        chosen = f"; {self.choice}" if self.choice else ""
        note = (
            f"{self.benchmark} publishes no format of results: columns are as evalstats assumes, or as mapped{chosen}"
        )
        rows = AssumedRows(self, source.path)
        survey, blocks = surveyed(TableFile(word=rows.word, blocks=rows.blocks))
        left_out = rows.left_out()
        if not survey.n_rows:
            raise InputError(left_out or "holds no score: its metrics apply to none of its rows")
        map_ = rows.standard_map()
        binding = bind(map_, survey.columns)

        def name_run(parts: Sequence[str]) -> str:  # a system is called after its model first
            return source.run_id(*(part.removeprefix(f"{parts[0]} + ") for part in parts))

        tidier = Tidier(map_, binding, survey, rows.word, name_run, reread=rows.blocks)
        judges: dict[str, set[str | None]] = {}
        for block in blocks:
            frame = tidier.outcomes(block)
            judge = pl.col("judge") if "judge" in frame.columns else pl.lit(None, pl.String)
            for run, name in frame.select("run", judge.alias("judge")).unique().iter_rows():
                judges.setdefault(run, set()).add(name)
            yield Frame(table="outcomes", frame=frame.drop("simulated", strict=False))
        tidier.check_unique()
        yield Rows(table="metrics", rows=rows.metrics(tidier.metrics()))
        config = self.column_map.as_config()
        about: Row = {
            "factor_names": [f"{name}={standard}" for name, standard in rows.own_names.items()],
            "config": json.dumps(config, ensure_ascii=False) if config else None,
            "note": f"{note}; {left_out.partition(' (')[0]}" if left_out else note,
        }
        runs = tidier.runs()
        for run in runs:
            judge, *others = judges[str(run["run"])]
            run.update(about, judge=None if others else judge)
        yield Rows(table="runs", rows=runs)
        yield from source.notes(filter(None, [left_out]), "error")
        yield from source.notes((note, *tidier.notes(), *rows.notes()))
        yield from source.notes(tidier.details(), "detail")


class AssumedRows:
    """The rows of one file in standard columns, a row for each metric, and what was met on the way.

    `counts` holds sentences with their number for `{n}`, `seen` the metrics that rows have.
    """

    def __init__(self, loader: AssumedLoader, path: Path) -> None:
        head = read_head(path)
        if head.shape not in SHAPES:
            what = "CSV, TSV, JSON Lines, a JSON list of records, or Parquet"
            raise UnreadableFileError(f"{path}: is no table; {loader.benchmark} results are read from {what}")
        self.loader, self.map_ = loader, loader.column_map
        self._table = open_table(head)
        self.word = self._table.word
        self._survey, _ = surveyed(self._table)
        if not self._survey.n_rows:
            raise UnreadableFileError(f"{path}: holds no rows")
        called = {each.name: each for each in loader.fields}
        self._meant = {**{other: each for each in loader.fields for other in each.also}, **called}
        self._check_map()
        said = self.map_.constants.items()
        self.constants = {self._meant[name].name: value for name, value in said if name in self._meant}
        self.fields = self._found()
        # What is called like something that is made here keeps its cells under another name.
        taken = {*_MADE, *called}
        names = [name for name in self._survey.columns if name not in self.fields.values()]
        self._renamed = {name: f"source_{name}" for name in names if name in taken}
        self._standard = {
            each.name: each.also[0] for each in loader.fields if each.also[:1] and each.also[0] in STANDARD
        }
        # What the fields that became standard columns are called, beside item and model.
        self.own_names = {
            name: found for name, found in self._standard.items() if self.has(name) and found not in {"item", "model"}
        }
        self.scale: Bounds = (None, None)
        self._scale_at: int | None = None
        self._items: pl.DataFrame | None = None
        self._reset()

    def _reset(self) -> None:
        self.counts = Counter[str]()
        self.seen: dict[str, Criterion] = {}
        self.strange: defaultdict[str, Counter[str | None]] = defaultdict(Counter)
        self._unscaled: dict[str, None] = {}

    def has(self, name: str) -> bool:
        """Whether a field has a column, or one value for all rows."""
        return name in self.fields or name in self.constants

    def _found(self) -> dict[str, str]:
        """Find the columns of the fields: those that the map names, then those that are called as the form calls them."""
        form, columns = self.loader, self._survey.columns
        shown = comma_list(columns, SHOWN_COLUMNS)
        fields: dict[str, str] = {}
        for name, sources in self.map_.columns.items():
            if (known := self._meant.get(name)) is None:
                continue
            source = safe_name(column_named(sources[0]) or sources[0])
            if known.name in fields:
                raise InputError(f"{known.name} is mapped twice, as {name} too; give one column for it")
            if source not in columns:
                raise InputError(f"there is no column {source!r} for {name}; the table has {shown}")
            fields[known.name] = source
        names = [each.name for each in form.fields if each.name not in {*fields, *self.constants}]
        fields |= {name: name for name in names if name in columns}
        for each in form.fields:
            if each.needed and each.name not in {*fields, *self.constants}:
                fixed = f", or for all rows {each.name}=@VALUE" if each.constant else ""
                raise InputError(
                    f"there is no column {each.name} ({each.meaning}); the table has {shown}. "
                    f"Name it: {form.how_to_map(Option('map', blank='COLUMN', of=each.name))}{fixed}"
                )
        scores = [each.column for each in form.criteria]
        if not {*scores} & {*fields, *self.constants}:
            raise InputError(
                f"there is none of the columns {', '.join(scores)}, so nothing is scored; name the column of "
                f"one: {form.how_to_map(Option('map', blank='COLUMN', of=scores[0]))}"
            )
        return fields

    def _check_map(self) -> None:
        """Refuse a map of what such results do not have."""
        form = self.loader
        metrics = {name for each in form.criteria for name in (each.metric, f"{each.metric}{TURN}")}
        for name in self.map_.metrics:
            if name not in metrics:
                known = ", ".join(each.metric for each in form.criteria)
                raise InputError(f"there is no metric {name!r}; {form.benchmark} results have {known}")
        for name in (*self.map_.columns, *self.map_.constants, *self.map_.values):
            if name not in self._meant and name not in _KEPT and (name in _MADE or name in self.map_.values):
                known = ", ".join(each.name for each in form.fields)
                raise InputError(
                    f"{form.benchmark} results have no {name} that could be mapped; their columns are {known}"
                )
        for name in self.map_.constants:
            if name in self._meant and not self._meant[name].constant:
                raise InputError(
                    f"{name} is the same on every row ({name}=@...); map the column that holds it: "
                    f"{form.how_to_map(Option('map', blank='COLUMN', of=name))}"
                )

    def standard_map(self) -> ColumnMap:
        """Return the map of the standard columns: what the user's says of others, and the scales that were found."""
        own = {**self._renamed, **{source: self._standard.get(name, name) for name, source in self.fields.items()}}
        map_ = self.map_
        return ColumnMap(
            columns={
                name: tuple(own.get(source, source) for source in found)
                for name, found in map_.columns.items()
                if name not in self._meant
            },
            constants={
                **{name: value for name, value in map_.constants.items() if name not in self._meant},
                "benchmark": self.loader.benchmark,
            },
            values={name: labels for name, labels in map_.values.items() if name not in self._meant},
            repeats=map_.repeats,
            metrics={name: self._declared(each) for name, each in self.seen.items() if not each.is_flag},
            dependence=(
                *(name for name in self.loader.dependence if self.has(name)),
                *(own.get(name, name) for name in self.map_.dependence),
            ),
        )

    def _declared(self, criterion: Criterion) -> DeclaredMetric:
        low, high = self.bounds(criterion)
        return DeclaredMetric(kind="continuous" if low is None and high is None else None, low=low, high=high)

    def blocks(self) -> Iterator[TableBlock]:
        """Yield the rows in the order of the file, a row for each metric."""
        self._reset()
        for block in self._table.blocks():
            if (found := self._block(block)) is not None:
                yield found

    def _block(self, block: TableBlock) -> TableBlock | None:
        cells = {name: self._cells(block, name, source) for name, source in self.fields.items()}
        cells |= {name: block.repeated(value) for name, value in self.constants.items()}
        others = block.frame.drop(*self.fields.values(), strict=False).rename(self._renamed, strict=False)
        frame = others.with_columns(*(series.alias(name) for name, series in cells.items()), block.places.alias(PLACE))
        self._take_scale(frame)
        frame = self.loader.arranged(frame, self)
        self._check_items(frame)
        scored = [self._scored(frame, each) for each in self.loader.criteria if each.column in frame.columns]
        if not any(part.height for part in scored):
            return None
        long = pl.concat(scored).sort(PLACE, maintain_order=True)
        consumed = [name for name in ("error", "judge_error", "score_min", "score_max") if name in long.columns]
        long = long.drop(*{each.column for each in self.loader.criteria}, *consumed, strict=False)
        long = long.rename(self._standard, strict=False)
        if "run" in long.columns:
            long = long.with_columns(run=pl.coalesce("run", "system" if "system" in long.columns else "model"))

        def kept(names: frozenset[str]) -> frozenset[str]:
            return frozenset(self._renamed.get(name, name) for name in names) & {*others.columns}

        texts = {name for name in long.columns if name not in others.columns and long[name].dtype == pl.String}
        return TableBlock(
            long.drop(PLACE),
            long[PLACE],
            texts=kept(block.texts) | texts,
            nested=kept(block.nested),
            repaired=kept(block.repaired),
            kind=block.kind,
        )

    def _cells(self, block: TableBlock, name: str, source: str) -> pl.Series:
        """Return the cells of a field as text, null where they are empty, with the words that the map gives for labels."""
        cells = self._survey.cells(block, source, name)
        if name in {"error", "judge_error"}:
            said = failures_of(cells).map_elements(first_line, pl.String)
            return said.set(said == "", "there is no answer")
        text = text_of(cells).str.strip_chars()
        labels: dict[str, str] = {}
        for given in (*(other for each in self.loader.fields if each.name == name for other in each.also), name):
            labels |= {label: str(meaning) for label, meaning in self.map_.values.get(given, {}).items()}
        return text.set(text == "", None).replace(labels)

    def _take_scale(self, frame: pl.DataFrame) -> None:
        """Take note of the scale that rows state: averages over two scales mean nothing."""
        ends = [name for name in ("score_min", "score_max") if name in frame.columns]
        stated = frame.select(*ends, PLACE).unique(ends, keep="first", maintain_order=True) if ends else pl.DataFrame()
        for row in stated.iter_rows(named=True):
            given = row.get("score_min"), row.get("score_max")
            low, high = (as_number(text) for text in given)
            where = f"{self.word} {row[PLACE]}"
            if given != (None, None) and (low is None or high is None or low >= high):
                raise InputError(
                    f"{where} has score_min {given[0]} and score_max {given[1]}; expected two numbers, low and high"
                )
            declared = self.map_.scale
            if declared is not None and low is not None and (low, high) != (declared.low, declared.high):
                raise InputError(
                    f"{where} has the scale {_span((low, high))}, but the map says "
                    f"{_span((declared.low, declared.high))}; leave one of the two out"
                )
            if self._scale_at is None:
                self.scale, self._scale_at = (low, high), row[PLACE]
            elif self.scale != (low, high):
                scales = [_span(each) for each in (self.scale, (low, high))]
                raise InputError(
                    f"scores are on two scales: {scales[0]} ({self.word} {self._scale_at}) and {scales[1]} ({where}); averages "
                    "over both mean nothing: put all scores on one scale, or give each scale a file and a benchmark of its own"
                )

    def _check_items(self, frame: pl.DataFrame) -> None:
        """Refuse an item that is described in two ways."""
        item = self.loader.fields[0].name
        described = [name for name in self.loader.described if name in frame.columns]
        now = frame.select(item, PLACE, *described).drop_nulls(item)
        known = now if self._items is None else pl.concat([self._items, now])
        self._items = known.unique(item, keep="first", maintain_order=True)
        both = now.join(self._items, on=item, how="left", suffix=" before", maintain_order="left")
        for name in described:
            other = both.filter(pl.col(name).ne_missing(pl.col(f"{name} before")))
            for row in other.head(1).iter_rows(named=True):
                raise InputError(
                    f"{self.word} {row[PLACE]}: {_shown(row[item])} has {name} {_shown(row[name])}, but in {self.word} "
                    f"{row[f'{PLACE} before']} it has {_shown(row[f'{name} before'])}; one item has one {name}: mend the "
                    "file, or give the items names that differ"
                )

    def _scored(self, frame: pl.DataFrame, criterion: Criterion) -> pl.DataFrame:
        """Return the rows on which a metric counts, with its score and state; a failure outranks a score."""
        if criterion.label is not None:
            frame = frame.filter(pl.col("label") == criterion.label)
        cells = frame[criterion.column]
        read = {text: self._reading(text, criterion) for text in cells.unique()}
        score, status, reason = (pl.Series([read[text][k] for text in cells], dtype=pl.String) for k in range(3))
        nothing = pl.Series([None], dtype=pl.String).new_from_index(0, frame.height)
        crash, judge = (frame[name] if name in frame.columns else nothing for name in ("error", "judge_error"))
        failed = crash.is_not_null() | judge.is_not_null()
        self.strange[criterion.column].update(cells.filter((status == "error").fill_null(value=False) & ~failed))
        turn = pl.col("turn").is_not_null() if "turn" in frame.columns else pl.lit(value=False)
        made = frame.with_columns(
            metric=pl.when(turn).then(pl.lit(f"{criterion.metric}{TURN}")).otherwise(pl.lit(criterion.metric)),
            score=score,
            status=pl.when(crash.is_not_null()).then(pl.lit("error"))
            .when(judge.is_not_null()).then(pl.lit("unscored")).otherwise(status),
            status_reason=pl.coalesce(crash, "the judge failed: " + judge, reason),
        )  # fmt: skip
        self.seen |= dict.fromkeys(made["metric"].unique(maintain_order=True).to_list(), criterion)
        return made

    def _reading(self, text: str | None, criterion: Criterion) -> tuple[str | None, str | None, str | None]:
        """Return the score that a cell holds; or what it holds, and the state and the reason in its place."""
        name = criterion.column
        if text is None or text.lower() in NO_VALUE:
            return None, "unscored", f"{name} is empty: there is no score"
        if text in NO_SCORE:
            return None, text, f"{name} stands for {text}"
        low, high = (0.0, 1.0) if criterion.is_flag else self.bounds(criterion)
        number = _FLAGS.get(text.lower(), as_number(text)) if criterion.is_flag else as_number(text)
        if number is None and self._unit(criterion) == "percent":
            number = percent_score(text)
        if criterion.is_flag and number not in (0.0, 1.0):
            return text[:_RAW_CHARS], "error", f"{name} is {_shown(text)}, neither 0 nor 1"
        if number is None:
            return text[:_RAW_CHARS], "error", f"{name} is {_shown(text)}, which is no number"
        if (low is not None and number < low) or (high is not None and number > high):
            return text[:_RAW_CHARS], "error", f"{name} is {number:g}, not within {_span((low, high))}"
        return repr(number), None, None

    def _unit(self, criterion: Criterion) -> str | None:
        scale = self.map_.scale
        return self.map_.metrics.get(criterion.metric, DeclaredMetric()).unit or (scale.unit if scale else None)

    def bounds(self, criterion: Criterion) -> Bounds:
        """Return the ends of a metric's scale: what the map says of it alone, else of all, else what the rows say."""
        facts, scale = self.map_.metrics.get(criterion.metric, DeclaredMetric()), self.map_.scale
        if (facts.low, facts.high) != (None, None):
            return facts.low, facts.high
        return self.scale if scale is None else (scale.low, scale.high)

    def labelled(self, frame: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
        """Return the rows with a label that is known; the others are left out and counted."""
        frame = frame.with_columns(pl.col("label").str.to_lowercase())
        known = pl.col("label").is_in(labels).fill_null(value=False)
        self.strange["label"].update(frame.filter(~known)["label"])
        return frame.filter(known)

    def left_out(self) -> str:
        """Say how many rows have no known label; "" where all have one."""
        labels = self.strange["label"]
        if not labels:
            return ""
        first = next((label for label in labels if label is not None), "LABEL")
        known = list(dict.fromkeys(each.label for each in self.loader.criteria if each.label is not None))
        meant_by = self.loader.how_to_map(Option("values", (first[:_LABEL_CHARS], known[0]), of="label"))
        return (
            f"dropped: {plural(labels.total(), 'row')} with a label that is neither {' nor '.join(known)} "
            f"({_counted(labels)}); say what labels mean: {meant_by}"
        )

    def metrics(self, rows: list[Row]) -> list[Row]:
        """Return the rows of metrics with what the form says of them; what the map says wins, also which is the headline."""
        first = self.loader.criteria[0].metric
        chosen = {name for name, facts in self.map_.metrics.items() if facts.primary}
        chosen = chosen or {next((name for name in (first, f"{first}{TURN}") if name in self.seen), first)}
        for row in rows:
            name = str(row["metric"])
            criterion = self.seen[name]
            row["higher_is_better"] = criterion.higher_is_better
            if criterion.is_flag:
                row.update(SHARE)
            elif self.bounds(criterion) == (None, None):
                row.update(kind="continuous", low=None, high=None, unit=None)
                self._unscaled[criterion.column] = None
            else:
                points = "points" if None not in self.bounds(criterion) else None
                row["unit"] = self._unit(criterion) or row["unit"] or points
            facts = self.map_.metrics.get(name, DeclaredMetric())
            said = {key: getattr(facts, key) for key in ("kind", "low", "high", "higher_is_better", "unit")}
            row.update({key: value for key, value in said.items() if value is not None}, primary=name in chosen)
        return rows

    def notes(self) -> Iterator[str]:
        """Say which values could not be read, which metrics have no known scale, and what the form has to say."""
        for name, labels in self.strange.items():
            if not labels or name == "label":
                continue
            yield f"errors, and not 0: {plural(labels.total(), 'value')} of {name} that cannot be a score ({_counted(labels)})"
        if self._unscaled:
            yield (
                f"no scale is given for {', '.join(self._unscaled)}, so the scores are kept without bounds; if "
                f"there are bounds, declare them: {self.loader.how_to_map(Option('map', '1..5', of='scale'))}"
            )
        yield from told(self.counts)
        yield from self.loader.doubts(self)


def _shown(text: str | None) -> str:
    return "none" if text is None else repr(text[:_LABEL_CHARS] + ("..." if len(text) > _LABEL_CHARS else ""))


def _counted(labels: Counter[str | None]) -> str:
    return comma_list(
        (f"{'nothing' if label is None else _shown(label)}: {n}" for label, n in labels.most_common()), _SHOWN_LABELS
    )


def _span(bounds: Bounds) -> str:
    low, high = bounds
    if low is None or high is None:
        return "none" if low == high else f"{high:g} and below" if high is not None else f"{low:g} and above"
    return f"{low:g} to {high:g}"
