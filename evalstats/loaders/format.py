"""A format as a declaration: what a file of it is recognised by, its typed record, and the rows that one record gives.

`Format` is a loader. It reads records in blocks (`typed_records`), asks the declaration what they say, and makes the rest: runs,
models, metrics and their ranges, notes, what was left out. Records that nest are asked one by one (`rows`); flat ones a block
at a time (`columns`), which costs a third. What records mean only together is told at the end (`finish`). Modules of
`loaders/formats/` hold one format each; another package offers its own by the entry-point group `evalstats.loaders`.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

import msgspec
import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.arena_cells import VoteOutcome
from evalstats.loaders.arena_records import Tally
from evalstats.loaders.base import Frame, Head, Match, Rows, Shape, Source, in_batches, plain_name, readable_name
from evalstats.loaders.files import cell_value, load_json
from evalstats.loaders.published_numbers import PublishedRows
from evalstats.loaders.record_columns import (
    MAKERS,
    InEvery,
    RecordBlock,
    Sample,
    column_of,
    facts_of,
    numbers,
    outcomes_of,
    record_of,
    states,
    with_outcomes,
    with_said,
)
from evalstats.loaders.rows import Factors, GroupCounter, Ranges, RatingRows, Row, Said, told
from evalstats.loaders.typed_records import TypedRecords, is_keyed
from evalstats.loaders.values import as_dict, as_text, json_text
from evalstats.schema.columns import TableName
from evalstats.schema.data import Problem
from evalstats.schema.tables import columns_of_rows

R = TypeVar("R")
S = TypeVar("S")

RECORDS: Final[tuple[Shape, ...]] = ("lines", "array")
OBJECT: Final[tuple[Shape, ...]] = ("object",)
JSON: Final[tuple[Shape, ...]] = ("lines", "array", "object")
TABLE: Final[tuple[Shape, ...]] = ("text", "parquet")
# Facts of a metric that says whether something was right, and of one that is a benchmark's headline.
SHARE: Final[Row] = {"kind": "binary", "low": 0.0, "high": 1.0, "unit": "proportion"}
HEADLINE: Final[Row] = {**SHARE, "primary": True}
HIGHER: Final[Row] = {"higher_is_better": True}
LOWER: Final[Row] = {"higher_is_better": False}
# Outcomes that a sentence is about.
FAILED: Final = pl.col("status") == "error"
UNSCORED: Final = pl.col("status") == "unscored"

_BATCH: Final = 5_000
_STATE: Final = "state"


@cache
def _words(text: str) -> tuple[str, ...]:
    return (*text.split(),)


class Sign(msgspec.Struct, frozen=True):
    """What the first bytes of a file show where it is of a format.

    `keys` are names of members (of the first record, or of the document) or of columns, with blanks between them; all of them are
    there, at least one of `some` and none of `without`; each pattern of `like` is that of a whole name. `text` stands anywhere
    in the head, `opening` is a pattern that it begins with, `name` how the file's name ends, `path` a pattern that is found in
    its absolute path.
    """

    keys: str = ""
    confidence: float = 0.9
    some: str = ""
    without: str = ""
    like: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    opening: str = ""
    name: str = ""
    path: str = ""
    shapes: Collection[Shape] = JSON
    skip: str = ""

    def match(self, head: Head) -> Match | None:
        """Say whether a file shows it; with `skip`, in what words a file that goes with results is passed over."""
        if head.shape not in self.shapes or not head.name.endswith(self.name):
            return None
        found, some = head.names, _words(self.some)
        if not found.issuperset(_words(self.keys)) or (some and found.isdisjoint(some)):
            return None
        if not found.isdisjoint(_words(self.without)) or not all(text in head.text for text in self.text):
            return None
        if self.path and not re.search(self.path, head.path.absolute().as_posix()):
            return None
        if self.opening and not re.match(self.opening, head.text.lstrip()):
            return None
        alike = [next(filter(re.compile(pattern).fullmatch, sorted(found)), "") for pattern in self.like]
        if not all(alike):
            return None
        shown = ", ".join([*_words(self.keys), *(name for name in some if name in found), *alike, *self.text])
        reason = self.skip or shown or self.name or ("its beginning" if self.opening else "the folders that it lies in")
        return Match(confidence=self.confidence, reason=reason, skip=bool(self.skip))


def surest(signs: Iterable[Sign], head: Head) -> Match | None:
    """Return what the surest of the signs that a file shows says of it; None where it shows none."""
    found = [match for sign in signs if (match := sign.match(head)) is not None]
    return max(found, key=lambda match: match.confidence, default=None)


class FormatFile(TypedRecords[R]):
    """What is known of a source while its records are read: its runs, trials, metrics, and what a reader should know.

    `kept` is what the format itself remembers from one record to the next.
    """

    def __init__(self, source: Source, declared: "Format[R]") -> None:
        super().__init__(
            source,
            declared.typed,
            at=declared.at,
            keep=declared.keep,
            called=declared.called,
        )
        self.n_rows = 0
        self._unread: list[Problem] = []
        self.runs: dict[str, Row] = {}
        self.metrics: dict[str, Row] = {}
        self.counts: Counter[str] = Counter()
        self.more: dict[TableName, list[Row]] = {}
        self.tally = Tally()
        self.published = PublishedRows(higher_is_better=True)
        self.ratings = RatingRows(self.counts)
        self.kept: Row = {}
        self.factors = Factors()
        self._declared = declared
        self._notes: dict[str, None] = {}
        self._apart: set[tuple[str, str]] = set()
        self._trials: dict[Hashable, int] = {}
        self._seen, self._counter = GroupCounter(), GroupCounter()
        self._named: dict[tuple[str, ...], str] = {}
        self._said: dict[str, Row] = {}  # of each run when it was first named
        self._given: dict[str | None, dict[str, None]] = {}
        self._waiting: list[pl.DataFrame] = []

    def blocks(self) -> Iterator[list[R]]:
        """Yield the records of the source's file, then of those that belong to it, some thousand at a time.

        One of the latter that cannot be read is left out of its run and named.
        """
        for path in (self.source.path, *self.source.companions):
            if plain_name(path) in self._declared.keep:
                continue
            try:
                if path != self.path:
                    self.begin(path, readable_name("/".join(path.parts[-2:])))
                yield from super().blocks()
            except UnreadableFileError as error:
                if path == self.source.path:
                    raise
                message = f"{str(error).removeprefix(f'{path}: ')} It is dropped from its run."
                self._unread.append(Problem(path=str(path), message=message, severity="error"))

    def problems(self) -> Iterator[Problem]:
        """Yield what was left out, also at the end of the file, and which files beside it could not be read."""
        yield from self._unread
        yield from super().problems()

    @cached_property
    def facts(self) -> Row:
        """What the file of a name in `keep` holds that goes with the records; nothing where there is none."""
        path = next((path for path in self.source.companions if plain_name(path) in self._declared.keep), None)
        return {} if path is None else as_dict(load_json(path))

    def run(self, model: str | None, *parts: str, **about: object) -> str:
        """Return the name of the run that a record belongs to; `parts` tell runs of one file apart (by default the model does).

        A part "" tells nothing apart. `about` are columns of `runs`; what differs between records of one run is null there. A
        model without a name is called after the file, and a note says so; runs of comparisons have none. A `config` may be an
        object, of which nulls are dropped.
        """
        if isinstance(config := about.get("config"), dict):
            kept = {name: value for name, value in cast("Row", config).items() if value is not None}
            about["config"] = json_text(kept) if kept else None
        key = tuple(filter(None, parts or (model,)))
        run = self._named.get(key)
        if run is not None and self._said[run] == about:
            return run
        if run is None:
            run = self._named[key] = self.source.run_id(*key)
            row: Row = {"run": run, "benchmark": self._declared.benchmark, "harness": self._declared.harness}
            if self._declared.table == "outcomes":
                name = model or self.source.called
                if model is None:
                    self.unnamed(name)
                row |= {"model": name, "system": name}
            self.runs[run], self._said[run] = row | about, about
            return run
        known = self.runs[run]
        for name, value in about.items():
            if value is None or known.get(name) == value or (run, name) in self._apart:
                continue
            if known.get(name) is not None:
                self._apart.add((run, name))
                value = None  # noqa: PLW2901 - records of one run differ in it
            known[name] = value
        return run

    def name(self, run: str, model: str | None) -> None:
        """Name the model of a run that only the end of the file tells; one that it does not name is called after the file."""
        if model is None:
            self.unnamed(self.source.called)
        self.runs[run].update(dict.fromkeys(("model", "system"), model or self.source.called))

    def unnamed(self, name: str) -> None:
        """Say that the file names no model, what it is called, and what to do about it."""
        self.note(f"the file does not name its model; it is called {name!r} after the file. {self._declared.naming}")

    def trial(self, *key: Hashable) -> int:
        """Return how many records had this key before."""
        n = self._trials.get(key, 0)
        self._trials[key] = n + 1
        return n

    def again(self, *key: Hashable) -> bool:
        """Tell whether a record had this key before."""
        return self.trial("again", *key) > 0

    def without(self, frame: pl.DataFrame, where: pl.Expr | pl.Series, why: str) -> pl.DataFrame:
        """Return a block's columns without the rows `where` this holds, which are left out like a record."""
        marked = where if isinstance(where, pl.Series) else frame.select(where).to_series()
        if not marked.any():
            return frame
        marked = marked.fill_null(value=False)
        for locator in frame["locator"].filter(marked):
            self.leave_out(why, locator)
        return frame.filter(~marked)

    def named(self, frame: pl.DataFrame, **columns: str) -> pl.DataFrame:
        """Return a block's columns without the rows that lack one of these columns, with what a record then lacks."""
        for column, called in columns.items():
            if not frame[column].null_count() and not (frame[column] == "").any():
                continue
            frame = self.without(frame, pl.col(column).is_null() | (pl.col(column) == ""), f"no {called}")
        return frame

    def copies(self, frame: pl.DataFrame) -> pl.Series:
        """Mark the rows that are there before, in this block or an earlier one."""
        return self._seen.again(frame)

    def once(self, frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """Return a block's columns without the rows that are as earlier ones in these columns."""
        return self.without(frame, self.copies(frame.select(columns)), "copies of earlier ones")

    def trials(self, frame: pl.DataFrame) -> pl.Series:
        """Return each row's number among those with its key, from 0 and over all blocks."""
        return self._counter.next(frame)

    def state(self, make: Callable[["FormatFile[R]"], S]) -> S:
        """Return what the format remembers of the file, made of it when this is first asked."""
        if (known := self.kept.get(_STATE)) is None:
            known = self.kept[_STATE] = make(self)
        return cast("S", known)

    def count(self, sentence: str, n: int = 1) -> None:
        """Count a case of what a reader should know: a sentence with `{n}`, `{all}` (records) and `{rows}`."""
        self.counts[sentence] += n

    def note(self, sentence: str) -> None:
        """Take note of what a reader should know, once and as it stands."""
        self._notes[sentence] = None

    @property
    def notes(self) -> list[str]:
        """What a reader should know."""
        return [*told(self.counts, all=self.n_read, rows=self.n_rows), *self._notes, *self.published.doubts()]

    def metric(self, name: str, **facts: object) -> None:
        """Say what is known of a metric beside the range of its scores, as columns of `metrics`."""
        self.metrics.setdefault(name, {}).update(facts)

    def add(self, table: TableName, row: Row) -> None:
        """Add a row to another table, such as a vote."""
        self.more.setdefault(table, []).append(row)

    def gives(self, evaluator: str | None, *metrics: str) -> None:
        """Take note of metrics that an evaluator gives, or, without one, that the file has."""
        self._given.setdefault(evaluator, {}).update(dict.fromkeys(metrics))

    def wait(self, outcomes: pl.DataFrame, evaluators: Sequence[str | None]) -> None:
        """Keep outcomes until the end tells their metrics: those that an evaluator gives, or, without one, all of the file."""
        self._waiting.append(outcomes.with_columns(_given=pl.Series(evaluators, dtype=pl.String)))

    def late(self) -> Iterator[pl.DataFrame]:
        """Yield the outcomes that waited, in each of their metrics."""
        declared = [*(() if callable(self._declared.scores) else self._declared.scores), *self._declared.metrics]
        usual = next((name for name in declared if "*" not in name), "score")
        for frame in self._waiting:
            given = [[*(self._given.get(each) or (each or usual,))] for each in frame["_given"]]
            metrics = pl.Series(given, dtype=pl.List(pl.String))
            yield frame.drop("_given").with_columns(metric=metrics).explode("metric")

    def path_says(self, pattern: str) -> dict[str, str]:
        """Return the groups of a pattern that the path of the file that is being read ends in, before its ending."""
        path = readable_name((self.path.absolute().parent / Source(path=self.path).stem).as_posix())
        found = re.search(f"(?:^|/)(?:{pattern})$", path)
        return {name: value for name, value in found.groupdict().items() if value} if found else {}

    def no_model_run(self) -> str:
        """Return the name of the run of a file that is of no single model: of votes, or of ratings."""
        if not self.runs:
            run = self.source.run_id()
            self.runs[run] = {"run": run, "benchmark": self._declared.benchmark, "harness": self._declared.harness}
        return next(iter(self.runs))

    def rate(self, item: str, criterion: str, value: object, *, rater: str, **known: object) -> None:
        """Add a rating: a number, true or false, a label, or a list of labels; the later where there are two."""
        self.ratings.add(item, criterion, value, rater=rater, run=self.no_model_run(), **known)

    def publish(
        self,
        value: object,
        run: str,
        metric: str,
        *,
        ends: tuple[float, float] | None = None,
        error: object = None,
        **known: object,
    ) -> None:
        """Add a number that the file reports to `aggregates`; `known` stands beside it, model and benchmark are its run's."""
        of_run = {name: self.runs[run][name] for name in ("run", "model", "benchmark")}
        self.published.add(value, {**of_run, "metric": metric, **known}, ends=ends, error=error)

    def taken(self) -> Iterator[Rows]:
        """Yield the rows of other tables that were added since this was asked last."""
        for table, rows in self.more.items():
            yield from in_batches(rows, table)
        self.more = {}


@dataclass(frozen=True, kw_only=True)
class Format(Generic[R]):
    """A format of records, declared.

    Attributes
    ----------
    name, title, version
        As in `Loader`: the short name, what it reads, and what is raised whenever the rows change.
    upstream
        Where the format was read: repository, commit and file.
    benchmark, harness
        What the runs are of, unless a run says otherwise.
    signs
        What a file is recognised by; the surest that it shows counts.
    table
        What the records say: outcomes, or comparisons (judged pairs).
    record
        A `msgspec.Struct` with the members that are used. A member without a default has to be there. `dict[str, Any]` where
        only the file says which members there are.
    rows
        What one record says: pairs of what its outcomes share (`run`, `item`, `trial`, ...) and the outcomes, each a metric with
        its score or with what `scored`, `unscored` or `number` return; `InEvery` says one outcome of all metrics. Model, system
        and benchmark come from the run, the locator from the record. What costs, times and counts hold that fits no such column
        is null.
    fields, scores
        In place of `rows`: the columns that the outcomes of a record share, and its metrics, by where a record has them (paths as
        in `record_columns`); a field may also be a function of the record, such as one that names its item by what was asked.
        With `[]` in a path the elements of that list are the record's trials. `error` is why a record failed, whatever its
        scores; `*` an object whose plain members are factors; what begins with `_` is for `arranged` alone. `scores` may be asked
        which members of a block are metrics. A record without any score is unscored in all metrics of the file. Without `record`,
        that is made of these members.
    inner
        Takes the records of a block apart into those that `fields` are of, each with its place; [] where they hold none.
    reads
        What a value of `scores` says, or UNSET where it says nothing; by default a number, or true and false.
    about
        What the file, or its path (`FormatFile.path_says`), says of all its records: `model`, `task` and columns of `runs`.
    counts
        Sentences with `{n}`, `{all}` and `{rows}` that a reader should know, with the outcomes that they count: `FAILED`,
        `UNSCORED`, or any other.
    arranged
        Changes the columns of `fields` before they are checked.
    after
        Changes the outcomes, which still have the columns for `arranged`.
    columns
        In place of `rows`: the outcomes of a block of records as columns. Those without `run` have `part` (a name) or `model`,
        by which runs are told apart; `of_run` are columns that say something of it. Comparisons have `outcome`, and
        `status_reason` where there is none; a model against itself is none.
    at, keep, called
        Where the records stand, what is read beside them, and what they are called (`TypedRecords`). `keep` also has the names
        of files that go with the others of a source and hold no records (`FormatFile.facts`).
    repeated
        Records of one run and item are its trials, in the order of the file.
    metrics
        Facts of metrics by name or pattern ("score/*", "*"), of which more is better unless they say otherwise; without facts,
        nothing tells. Ranges that they do not fix are taken from the scores.
    finish
        What only the end of a file tells: outcomes as of `rows`, or names of systems, which it may change in `FormatFile.runs`.
        What it needs of the records, `FormatFile.state` remembers.
    expected, naming
        What a file without a record should have held and where the harness writes it; how a model gets a name.
    grouped
        Makes sources of files that belong together, whose companions hold records too; by default each stands alone.
    texts
        Where a record, as it stands in the file, has its "question", "expected" and "answer": dotted paths with blanks between
        them, the first with something in it counts. Else the usual names do (`item_texts`).
    """

    name: str
    title: str
    version: str
    upstream: str
    benchmark: str
    harness: str | None
    signs: tuple[Sign, ...]
    record: type[R] | None = None
    fields: Mapping[str, str | Callable[[Any], object]] = field(
        default_factory=dict[str, str | Callable[[Any], object]]
    )
    scores: Mapping[str, str] | Callable[[Sequence[Any], "FormatFile[R]"], Mapping[str, str]] = field(
        default_factory=dict[str, str]
    )
    inner: Callable[[list[R], "FormatFile[R]"], tuple[Sequence[object], Sequence[str] | pl.Series]] | None = None
    reads: Callable[[object], Said | msgspec.UnsetType] | None = None
    about: Callable[["FormatFile[R]"], Row] | None = None
    counts: Mapping[str, pl.Expr] = field(default_factory=dict[str, pl.Expr])
    arranged: Callable[[pl.DataFrame, "FormatFile[R]"], pl.DataFrame] | None = None
    after: Callable[[pl.DataFrame, "FormatFile[R]"], pl.DataFrame] | None = None
    rows: Callable[[R, FormatFile[R]], Iterable[Sample]] | None = None
    columns: Callable[[list[R], FormatFile[R]], pl.DataFrame] | None = None
    table: TableName = "outcomes"
    at: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    called: str = "records"
    repeated: bool = False
    of_run: tuple[str, ...] = ()
    metrics: Mapping[str, Row] = field(default_factory=dict[str, Row])
    finish: Callable[[FormatFile[R]], Iterable[Sample] | None] | None = None
    expected: str = ""
    naming: str = "Rename the file to say otherwise"
    grouped: Callable[[Sequence[Path]], Iterable[Source | Problem]] | None = None
    texts: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def typed(self) -> type[R]:
        """The record, declared or made of the members that are read."""
        if self.record is not None:
            return self.record
        fields, scores = self._paths
        scores = [path for path in scores if not path.startswith("_")]
        return cast("type[R]", record_of(fields, scores, keyed=is_keyed(self.at)))

    @property
    def _paths(self) -> tuple[list[str], list[str]]:
        fields = [paths for paths in self.fields.values() if isinstance(paths, str)]
        return fields, [] if callable(self.scores) else [*self.scores.values()]

    @cached_property
    def each(self) -> str:
        """The list in a record whose elements are its trials; "" where the record is the only one."""
        return next((path.partition("[]")[0] for path in chain(*self._paths) if "[]" in path), "")

    def sniff(self, head: Head) -> Match | None:
        """Say whether a file shows one of the signs."""
        return surest(self.signs, head)

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Group files that belong together."""
        return [Source(path=path) for path in files] if self.grouped is None else self.grouped(files)

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes in blocks, the metrics, the runs, notes, and what was left out."""
        file, ranges, n = FormatFile(source, self), Ranges(), 0
        waits = self.finish is not None and self.table == "outcomes"
        waiting: list[pl.DataFrame] = []
        for block in file.blocks():
            for frame in self._frames(block, file):
                n += frame.height
                file.n_rows += frame.height
                waiting.append(frame)
                if self.table == "outcomes":
                    file.gives(None, *frame["metric"].unique(maintain_order=True))
                if not waits:
                    yield from self._with_runs(waiting, file, ranges)
            n += sum(map(len, file.more.values()))
            yield from file.taken()
        told = (self.finish is not None and self.finish(file)) or ()
        for frame in self._frames_of_samples(((None, *each) for each in told if each[1]), file):
            waiting.append(frame)
            file.gives(None, *frame["metric"].unique(maintain_order=True))
        waiting += file.late()
        n += len(waiting) + sum(map(len, file.more.values()))
        if not n and not file.published.rows and not file.ratings:
            first = next((problem.message for problem in file.problems()), "it holds none at all")
            advice = f". {self.expected}" if self.expected else ""
            raise UnreadableFileError(f"{source.path}: none of its {self.called} could be read; {first}{advice}")
        yield from self._with_runs(waiting, file, ranges)
        yield from file.taken()
        yield from in_batches(file.ratings.rows(), "ratings")
        yield from in_batches(file.published.rows, "aggregates")
        seen = {key: ranges.row(*key) for key in ranges}
        metrics = [*{**file.published.metrics, **seen}.values()]
        for row in metrics:
            name = str(row["metric"])
            facts = facts_of(name, self.metrics)
            row.update({**({"higher_is_better": True} if facts else {}), **facts, **file.metrics.get(name, {})})
        if metrics:
            yield Rows(table="metrics", rows=metrics)
        if file.factors.own_names:
            for run in file.runs.values():
                run["factor_names"] = file.factors.own_names
        yield Rows(table="runs", rows=list(file.runs.values()))
        yield from file.problems()
        yield from file.tally.problems(source, self.called)
        yield from source.notes(file.notes)

    def _frames(self, block: list[R], file: FormatFile[R]) -> Iterator[pl.DataFrame]:
        """Yield the rows of a block of records, with their runs' names."""
        frames: Iterable[pl.DataFrame]
        columns = self._declared if self.fields else self.columns
        if columns is not None:
            frame = columns(block, file) if block else pl.DataFrame()
            frames = [frame if "run" in frame.columns else self._named(frame, file)] if frame.height else []
        else:
            samples = (
                (place, *sample)
                for place, record in enumerate(file.one_by_one(block))
                for sample in (() if self.rows is None else self.rows(record, file))
                if sample[1]
            )
            frames = self._frames_of_samples(samples, file)
        yield from frames if self.table == "outcomes" else (_judged(frame, file.tally) for frame in frames)

    def _declared(self, records: list[R], file: FormatFile[R]) -> pl.DataFrame:
        """Return the outcomes of a block, by where the declaration says that records have what."""
        places: Sequence[str] | pl.Series
        inner, places = (records, file.locators) if self.inner is None else self.inner(records, file)
        if not inner:
            return pl.DataFrame()
        block, places = RecordBlock(inner, self.each), pl.Series(places, dtype=pl.String)
        for place in block.without:
            file.leave_out(f"no list of {'tries' if self.each == 'value' else self.each}", places[place])
        frame = self._shared(block, places, file)
        if not frame.height or self.table == "comparisons":
            return frame.drop(name for name in frame.columns if name.startswith("_"))
        kept = [] if frame.height == len(block.parents) else frame["_row"].to_list()
        if callable(self.scores):
            given = block.named(self.scores(inner, file))
        else:
            given = chain.from_iterable(_given(block, frame, metric, path) for metric, path in self.scores.items())
        # What `arranged` made has the rows that are left.
        scores = (
            (name, values if len(values) == frame.height else [values[row] for row in kept]) for name, values in given
        )
        outcomes, waiting = outcomes_of(frame, scores, self.metrics, self.reads)
        outcomes = outcomes if self.after is None or not outcomes.height else self.after(outcomes, file)
        own = [name for name in frame.columns if name.startswith("_")]
        outcomes = outcomes.drop(own) if own else outcomes
        if waiting.height:
            waiting = waiting.drop(own)
            file.wait(with_said(waiting, numbers([None] * waiting.height)), [None] * waiting.height)
        return outcomes

    def _shared(self, block: RecordBlock, places: pl.Series, file: FormatFile[R]) -> pl.DataFrame:
        """Return what the outcomes of each row share, with its run, without the rows that have no name or repeat others."""
        columns = [column_of(name, block.at(paths)) for name, paths in self.fields.items() if name != "*"]
        frame = pl.DataFrame([*columns, block.located(places).alias("locator")]).with_row_index("_row")
        if self.each:
            frame = frame.with_columns(trial=pl.Series(block.trials, dtype=pl.Int64))
        if paths := self.fields.get("*"):
            factors = [file.factors.of(as_dict(cell_value(value))) for value in block.at(paths)]
            found = columns_of_rows(factors, "outcomes") if any(factors) else pl.DataFrame()
            frame = frame.hstack(found.drop(frame.columns, strict=False))
        frame = frame if self.arranged is None else self.arranged(frame, file)
        item = self.fields.get("item", "name")
        named = item.replace(" ", " or ") if isinstance(item, str) else "question"
        frame = file.named(frame, item=named) if self.table == "outcomes" else frame
        return self._numbered(self._named(frame, file), file)

    def _numbered(self, frame: pl.DataFrame, file: FormatFile[R]) -> pl.DataFrame:
        """Return what outcomes share with their trial, where records of one run and item are its trials."""
        if not self.repeated or "trial" in frame.columns:
            return frame
        key = [name for name in ("run", "task", "item", "variant", "judge") if name in frame.columns]
        return frame.hstack([file.trials(frame[key]).alias("trial")])

    def _frames_of_samples(
        self, samples: Iterator[tuple[int | None, Row, Sequence[tuple[str, Said]] | InEvery]], file: FormatFile[R]
    ) -> Iterator[pl.DataFrame]:
        """Yield frames of what records say, each with its number in the block: what outcomes share is looked at once."""
        while batch := [*islice(samples, _BATCH)]:
            places, rows, said = cast(
                "tuple[list[int | None], list[Row], list[Sequence[tuple[str, Said]] | InEvery]]",
                zip(*batch, strict=True),
            )
            shared = columns_of_rows(rows, self.table, MAKERS)
            if "locator" not in shared.columns and places[0] is not None:
                shared = shared.hstack([file.locators.gather([place or 0 for place in places]).alias("locator")])
            shared = self._numbered(shared, file)
            if InEvery in {*map(type, said)}:
                late = [each for each in said if isinstance(each, InEvery)]
                waits = pl.Series([isinstance(each, InEvery) for each in said])
                found = shared.filter(waits).hstack(states([each.said for each in late]))
                file.wait(found, [each.evaluator for each in late])
                shared = shared.filter(~waits)
            if shared.height:
                yield with_outcomes(shared, [each for each in said if not isinstance(each, InEvery)])

    def _named(self, frame: pl.DataFrame, file: FormatFile[R]) -> pl.DataFrame:
        """Return a block's columns with the names of the runs, in place of the parts that tell them apart."""
        if "run" in frame.columns:
            return frame
        key = next((name for name in ("part", "model") if name in frame.columns), None)
        known = [name for name in dict.fromkeys((key, "model", *self.of_run)) if name in frame.columns]
        runs: dict[object, str] = {}
        about = {} if self.about is None else self.about(file)
        if (task := about.pop("task", None)) is not None:
            frame = frame.with_columns(task=pl.lit(task))
        usual, parts = as_text(about.pop("model", None)), cast("tuple[str, ...]", about.pop("parts", ()))
        for row in frame[known].unique(maintain_order=True).iter_rows(named=True) if known else ():
            part, model = row.pop("part", None), row.pop("model", None)
            named = [*parts, *([] if part is None else [part])]
            runs[part if key == "part" else model] = file.run(model or usual, *named, **about | row)
        if key is None:
            run = next(iter(runs.values()), None) or file.run(usual, *(parts or ("",)), **about)
            return frame.with_columns(run=pl.lit(run)).drop("harness", strict=False)
        names = frame[key].replace_strict(runs, return_dtype=pl.String)
        return frame.hstack([names.alias("run")]).drop("part", "harness", strict=False)

    def _with_runs(self, frames: list[pl.DataFrame], file: FormatFile[R], ranges: Ranges) -> Iterator[Frame]:
        """Yield the rows that wait, with what their runs say of model, system and benchmark, and let go of them."""
        while frames:
            frame = frames.pop(0)
            if self.table == "outcomes":
                counted = {sentence: which.sum() for sentence, which in self.counts.items()}
                file.counts.update(frame.select(**counted).row(0, named=True) if counted else {})
                more: dict[str, pl.Expr] = {}
                if "trial" not in frame.columns:  # each outcome is the only one
                    more["trial"] = pl.lit(0)
                if "n_trials" not in frame.columns:
                    one = pl.lit(1)
                    more["n_trials"] = one if "trial" in more else pl.when(pl.col("trial").is_not_null()).then(one)
                for name in ("model", "system", "benchmark"):
                    known = {run: row[name] for run, row in file.runs.items()}
                    first, alike = next(iter(known.values())), len({*known.values()}) == 1
                    by_run = pl.col("run").replace_strict(known, return_dtype=pl.String)
                    more[name] = pl.lit(first, pl.String) if alike else by_run
                frame = frame.with_columns(**more)
                ranges.add_frame(frame)
            yield Frame(table=self.table, frame=frame)


def _given(block: RecordBlock, frame: pl.DataFrame, metric: str, path: str) -> Iterable[tuple[str, list[object]]]:
    """Return the values of a metric, or of a group of them, in the records or in a column that was made of these."""
    if not path.startswith("_"):
        return block.scores({metric: path})
    return [(metric, frame[path].to_list())] if path in frame.columns else []


def _judged(frame: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """Return comparisons with their states, and take note of the labels that are no outcome."""
    itself = pl.col("model_a") == pl.col("model_b")
    none = itself | pl.col("outcome").is_null()
    frame = frame.with_columns(
        pl.when(~itself).then(name).alias(name)
        for name in ("outcome", "strength", "preference")
        if name in frame.columns
    ).with_columns(
        setting=pl.lit("lab"),
        status=pl.when(none).then(pl.lit("unscored")).otherwise(pl.lit("scored")),
        status_reason=pl.when(itself).then(pl.lit("a model against itself")).otherwise("status_reason"),
    )
    lost = frame.filter(none).group_by("value_raw", itself, maintain_order=True).len()
    for raw, against_itself, n in lost.iter_rows():
        tally.count_winner(VoteOutcome(raw=raw), against_itself=against_itself, n=n)
    tally.n_votes += frame.height - int(lost["len"].sum())
    return frame.drop("locator", strict=False)


def by_folder(up: int = 0, first: Callable[[Path], bool] | None = None) -> Callable[[Sequence[Path]], Iterator[Source]]:
    """Return what puts the files of a folder together, so many levels above theirs; those for which `first` holds come first."""

    def grouped(files: Sequence[Path]) -> Iterator[Source]:
        folders: dict[Path, list[Path]] = {}
        for path in sorted(files, key=lambda path: (first is not None and not first(path), path)):
            folders.setdefault(path.absolute().parents[up], []).append(path)
        return (Source(path=path, companions=(*others,)) for path, *others in folders.values())

    return grouped
