"""Arena votes as blocks of columns, from JSON, delimited text and Parquet in bounded memory; and what is met on the way."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, compress
from operator import itemgetter
from typing import Any, Final

import msgspec
import polars as pl

from evalstats.errors import Option
from evalstats.loaders.arena_cells import ANSWERS, UNKNOWN, VoteOutcome
from evalstats.loaders.base import Head, Source
from evalstats.loaders.blocks import delimited_blocks, own_name
from evalstats.loaders.files import BadRow
from evalstats.loaders.format_columns import series
from evalstats.loaders.parquet_sizes import parquet_frames
from evalstats.loaders.rows import told
from evalstats.loaders.typed_records import TypedRecords
from evalstats.loaders.values import as_list, as_text, text_of
from evalstats.schema.data import Problem
from evalstats.schema.tables import combinations_in

# Conversations, prompts and answers: never kept. Answers are looked through for the names of models.
TEXTS = frozenset(
    {
        *(*ANSWERS, "full_conversation", "system_prompt", "completion_a", "completion_b", "prefix", "suffix"),
        *("openai_moderation", "toxic_chat_tag"),
    }
)
METADATA: Final = "conv_metadata"
NESTED = frozenset({METADATA, "category_tag", "dedup_tag", "occupational_tags", "tags", "models", "ranking"})
# What the messages of a Parquet file say of tokens, with the side behind it.
TOKENS: Final = "\x00tokens"
_PARQUET_ROWS, _PLAIN_ROWS = 5_000, 100_000  # where columns nest, and where none does

# A column: a series, or its values one by one where they nest.
Cells = pl.Series | list[object]


class VoteBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Some votes: their plain columns, those with nested values, where each stands in the file, and its number among all.

    `winners` are given where the votes themselves do not say who won.
    """

    frame: pl.DataFrame
    places: Sequence[int] = ()
    numbers: Sequence[int] = ()
    nested: Mapping[str, list[object]] = msgspec.field(default_factory=dict[str, list[object]])
    winners: Sequence[VoteOutcome] | None = None

    @classmethod
    def of(cls, cells: Mapping[str, Cells], places: Sequence[int], numbers: Sequence[int], **more: Any) -> "VoteBlock":
        """Return votes by their columns; of several kinds of values the texts count, and of a list of judges the first."""
        nested = {name: values for name, values in cells.items() if isinstance(values, list)}
        if judges := nested.pop("judge", None):
            cells = {**cells, "judge": [as_list(value)[0] if as_list(value) else value for value in judges]}
        plain = {name: series(values) if isinstance(values, list) else values for name, values in cells.items()}
        return cls(frame=pl.DataFrame(plain), places=places, numbers=numbers, nested=nested, **more)

    def get(self, name: str | None) -> pl.Series:
        """Return a column; nulls where there is none of that name."""
        if name is not None and name in self.frame.columns:
            return self.frame[name]
        return pl.Series([None], dtype=pl.String).new_from_index(0, self.frame.height)

    def first_of(self, *names: str) -> pl.Series:
        """Return the first of some columns, filled up from the next where it is empty."""
        present = [name for name in names if name in self.frame.columns]
        if len(present) < 2:
            return self.get(present[0] if present else None)
        return pl.select(pl.coalesce(*(texts(self.frame[name]) for name in present))).to_series()

    def filter(self, keep: pl.Series) -> "VoteBlock":
        """Return the votes that are marked."""
        marks = keep.to_list()
        return VoteBlock(
            frame=self.frame.filter(keep),
            places=[*compress(self.places, marks)],
            numbers=[*compress(self.numbers, marks)],
            nested={name: [*compress(values, marks)] for name, values in self.nested.items()},
            winners=None if self.winners is None else [*compress(self.winners, marks)],
        )

    def records(self) -> Iterator[dict[str, object]]:
        """Yield the votes one by one."""
        for at, record in enumerate(self.frame.iter_rows(named=True)):
            yield record | {name: values[at] for name, values in self.nested.items()}


def texts(cells: pl.Series) -> pl.Series:
    """Return cells as `as_text` reads each of them; NaN is none."""
    if isinstance(cells.dtype, pl.String | pl.Categorical | pl.Enum | pl.Null) or cells.dtype.is_numeric():
        return text_of(cells)
    return pl.Series([as_text(cell) for cell in cells.to_list()], dtype=pl.String)


def columns_of(head: Head) -> frozenset[str]:
    """Names of the columns of a file of votes (of a JSON file: of its first record)."""
    return frozenset(head.columns) or head.keys


def place_word(head: Head) -> str:
    """Return what a record's place is called."""
    return "line" if head.shape in {"text", "lines", "object"} else "record"


class _Votes(TypedRecords[dict[str, Any]]):
    """The votes of a JSON file; what is wrong with any is given to `bad`."""

    bad: BadRow

    @property
    def places(self) -> Sequence[int]:
        """Where each record of the block stands that was given last."""
        numbers = [at for at in self._places if isinstance(at, int)]
        return numbers if len(numbers) == len(self._places) else self.locators.str.extract(r"(\d+)").cast(int).to_list()

    def leave_out(self, why: str, locator: str | None = None) -> None:
        """Hand on what is wrong with a record."""
        self.bad(
            f"{place_word(self.head)} {(locator or self.locator).strip('line []')}: {why}; every vote must be a JSON object"
        )


def column_blocks(head: Head, bad: BadRow) -> Iterator[tuple[dict[str, Cells], Sequence[int]]]:
    """Yield the votes of a file as columns, and where each stands; what is wrong with a line without one is given to `bad`."""
    if head.shape == "parquet":
        for first, frame in parquet_frames(head.path, _PLAIN_ROWS, _is_kept):
            nests = any(dtype.is_nested() for dtype in frame.dtypes)
            size = _PARQUET_ROWS if nests else _PLAIN_ROWS
            for begun, part in zip(range(first, first + frame.height, size), frame.iter_slices(size), strict=True):
                yield _of_parquet(part), range(begun, begun + part.height)
    elif head.shape == "text":
        for block in delimited_blocks(head.path, head.delimiter, bad):
            found = {own_name(cells.name): cells for cells in block.frame.iter_columns()}
            yield {name: cells for name, cells in found.items() if name not in TEXTS - ANSWERS}, block.places.to_list()
    else:
        votes = _Votes(Source(path=head.path), dict[str, Any], called="votes", alone=True)
        votes.bad = bad
        for block in votes.blocks():
            if block:
                yield columns_from(block), votes.places


def columns_from(records: Sequence[Mapping[str, object]]) -> dict[str, Cells]:
    """Return the columns of records; one that holds lists or objects is a list.

    >>> found = columns_from([{"a": 1, "b": "x"}, {"a": 2, "b": [1]}])
    >>> found["a"].to_list(), found["b"]
    ([1, 2], ['x', [1]])
    """
    names = [*records[0]] if records else []
    if names and sum(map(len, records)) == len(names) * len(records):  # records are most often alike
        with suppress(KeyError):
            rows = map(itemgetter(*names), records) if len(names) > 1 else ((record[names[0]],) for record in records)
            return _columns(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    every = dict.fromkeys(chain.from_iterable(records))
    return _columns((name, [record.get(name) for record in records]) for name in every)


def _columns(cells: Iterable[tuple[str, list[object]]]) -> dict[str, Cells]:
    kept = ((as_text(name) or "", values) for name, values in cells if name not in TEXTS - ANSWERS)
    return {name: _column(values) for name, values in kept}


def _column(values: list[object]) -> Cells:
    if isinstance(values[0], str):  # so are most often the others
        with suppress(TypeError, UnicodeEncodeError):
            return pl.Series(values, dtype=pl.String)
    return values if {*map(type, values)} & {dict, list} else series(values)


def _is_kept(name: str, dtype: pl.DataType) -> bool:
    is_plain = not dtype.is_nested() and not isinstance(dtype, pl.Binary | pl.Object)
    if name in ANSWERS:  # a conversation as one text would be searched at the cost of all else
        return dtype.is_nested() or name.startswith("response")
    return name in NESTED or (is_plain and name not in TEXTS)


def _of_parquet(frame: pl.DataFrame) -> dict[str, Cells]:
    """Return the columns of a block, with what assistants said as one text, and its tokens where nothing else counts them."""
    columns: dict[str, Cells] = {}
    for cells in frame.iter_columns():
        name, dtype = cells.name, cells.dtype
        if name not in ANSWERS or not dtype.is_nested():
            of_numbers = name == METADATA and isinstance(dtype, pl.Struct)
            columns[name] = cells.to_list() if dtype.is_nested() and not of_numbers else cells
            continue
        inner = dtype.inner if isinstance(dtype, pl.List) else None
        fields = {part.name: part.dtype for part in inner.fields} if isinstance(inner, pl.Struct) else {}
        if METADATA not in frame.columns and {"role", "num_tokens"} <= fields.keys():
            counted = pl.struct(pl.element().struct.field(part) for part in ("role", "num_tokens"))
            columns[f"{TOKENS}{name[-2:]}"] = pl.select(pl.lit(cells).list.eval(counted)).to_series().to_list()
        text = pl.element()
        if fields:
            if "role" not in fields:
                continue
            text = text.filter(text.struct.field("role") == "assistant").struct.field("content")
        content = fields.get("content", inner)
        if isinstance(content, pl.List) and isinstance(content.inner, pl.Struct):
            text = text.list.eval(pl.element().struct.field("text")).list.join("\n", ignore_nulls=True)
        elif not isinstance(content, pl.String):
            continue
        answers = pl.lit(cells).list.eval(text)
        # a point in place of an empty answer, which would be none
        said = pl.when(answers.list.len() > 0).then(answers.list.join("\n", ignore_nulls=True) + pl.lit("\n."))
        columns[name.replace("conversation", "response")] = pl.select(said).to_series()
    return columns


_MAX_LABELS = 50
_SHOWN_LABELS = 8
_SHOWN_PLACES = 5
_LABEL_CHARS = 60
# No arena of language models is older; a time outside is one in another unit, or a clock that was never set.
_FIRST_YEAR, _LAST_YEAR = 2015, 2100
# Counted while votes are read, and told with their number.
_SELF: Final = "{n} votes set a model against itself; they are kept as unscored"
KNOWN_NAMES: Final = (
    "{n} votes were given with the models' names in sight (anony is false); the arena's own leaderboard leaves them out"
)
NOT_SAMPLED: Final = (
    "{n} votes repeat a prompt too often (dedup_sampled is false); the arena's own leaderboard leaves them out"
)
NAMING: Final = (
    "in {n} votes an answer says which model or maker it is from (names_itself_a, names_itself_b); "
    "such votes are not blind"
)
_STRANGE_TIMES: Final = (
    f"{{n}} votes were given before {_FIRST_YEAR} or after {_LAST_YEAR} by the file's times; check their unit"
)


class Tally(msgspec.Struct):
    """What was met while reading, to be told at the end; `counts` holds sentences with their number for `{n}`.

    `unknown` is the first label of a winner that is not known.
    """

    n_votes: int = 0
    labels: Counter[str] = msgspec.field(default_factory=Counter[str])
    unknown: str = ""
    without_model: list[int] = msgspec.field(default_factory=list[int])
    n_without_model: int = 0
    counts: Counter[str] = msgspec.field(default_factory=Counter[str])
    words: Counter[str] = msgspec.field(default_factory=Counter[str])
    units: Counter[str] = msgspec.field(default_factory=Counter[str])
    unread: Counter[str] = msgspec.field(default_factory=Counter[str])
    left_out: dict[str, None] = msgspec.field(default_factory=dict[str, None])
    factors: dict[str, None] = msgspec.field(default_factory=dict[str, None])

    def problems(self, source: Source, word: str) -> Iterator[Problem]:
        """Yield what a reader should know; `word` is what a vote's place is called."""
        if self.n_without_model:
            shown = ", ".join(map(str, self.without_model))
            left_out = f"{self.n_without_model:,} votes name no model_a or model_b and are dropped ({word} {shown})"
            yield from source.notes([left_out], "error")
        yield from source.notes(self._notes())

    def _notes(self) -> Iterator[str]:
        if n_unknown := self.labels.total():
            shown = _counted(self.labels, _SHOWN_LABELS)
            lost = f"{n_unknown:,} of {self.n_votes:,} votes have no outcome and are kept as unscored, not as ties ({shown})"
            how = Option("values", (self.unknown, "model_a"), of="winner")
            advice = f"; say what each label means: {how} (or 'model_b', 'tie', 'both_bad')"
            yield f"{lost}{advice}" if self.unknown else lost
        if len(self.words) > 1:
            yield (
                f"winners are named in {len(self.words)} different ways ({_counted(self.words)}); "
                "check that the file was not put together from sources whose sides differ"
            )
        if len(self.units) > 1:
            yield (
                f"times are given in {len(self.units)} different units ({_counted(self.units)}), inferred from "
                "their size; check that they belong together"
            )
        yield from told(self.counts)
        for name, n in self.unread.items():
            yield f"{name} could not be read in {n:,} votes; what it holds is null there"
        if self.left_out:
            yield f"columns with long texts or nested values are dropped: {', '.join(self.left_out)}"

    def count_winner(self, winner: VoteOutcome, *, against_itself: bool, n: int = 1) -> None:
        """Take note of the label of one vote, or of `n` that have it."""
        self.n_votes += n
        if winner.words is not None:
            self.words[winner.words] += n
        if against_itself:
            self.counts[_SELF] += n
        elif winner.outcome is None:
            raw = winner.raw
            if winner.reason == UNKNOWN and raw is not None and len(raw) <= _LABEL_CHARS:
                self.unknown = self.unknown or raw.strip()
            label = "no label" if raw is None or not raw.strip() else repr(raw[:_LABEL_CHARS])
            if label not in self.labels and len(self.labels) >= _MAX_LABELS:
                label = "other labels"
            self.labels[label] += n

    def count_times(self, times: pl.Series, units: pl.Series) -> None:
        """Take note of when votes were given, and of the units that the file says it in."""
        self.units.update(dict(combinations_in(units.drop_nulls().to_frame("unit"), ["unit"]).iter_rows()))
        first, beyond = (datetime(year, 1, 1, tzinfo=UTC) for year in (_FIRST_YEAR, _LAST_YEAR + 1))
        self.counts[_STRANGE_TIMES] += int((~times.is_between(first, beyond, closed="left")).sum())

    def add_without_model(self, places: Sequence[int]) -> None:
        """Take note of votes that name no model."""
        self.n_without_model += len(places)
        self.without_model += places[: _SHOWN_PLACES - len(self.without_model)]


def _counted(labels: Counter[str], most: int | None = None) -> str:
    return ", ".join(f"{label}: {n}" for label, n in labels.most_common(most))
