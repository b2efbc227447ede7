"""Arena votes as blocks of columns, from JSON, delimited text and Parquet in bounded memory; and what is met on the way."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
import polars as pl

from evalstats.errors import Option
from evalstats.loaders.arena_cells import ANSWERS, UNKNOWN, VoteOutcome
from evalstats.loaders.base import Head, Source
from evalstats.loaders.blocks import TableBlock, delimited_blocks, own_name
from evalstats.loaders.files import BadRow
from evalstats.loaders.parquet_sizes import parquet_frames
from evalstats.loaders.record_columns import RecordBlock, members_of, series
from evalstats.loaders.rows import told
from evalstats.loaders.typed_records import PlainRecords
from evalstats.loaders.values import as_text, text_of
from evalstats.schema.data import Problem
from evalstats.schema.tables import combinations_in

# Conversations, prompts and answers: never kept. Answers are looked through for the names of models.
TEXTS = frozenset(
    {
        *(*ANSWERS, "full_conversation", "system_prompt", "completion_a", "completion_b", "prefix", "suffix"),
        *("openai_moderation", "toxic_chat_tag"),
    }
)
_UNREAD = TEXTS - ANSWERS
METADATA: Final = "conv_metadata"
NESTED = frozenset({METADATA, "category_tag", "dedup_tag", "occupational_tags", "tags", "models", "ranking"})
# What the messages of a Parquet file say of tokens, with the side behind it.
TOKENS: Final = "\x00tokens"
_PARQUET_ROWS, _PLAIN_ROWS = 5_000, 100_000  # where columns nest, and where none does

# Columns of a block beside those of the file: where a vote stands, its number among all, and who won where no label says so.
PLACE: Final = "\x00place"
NUMBER: Final = "\x00number"
WINNER: Final = "\x00winner"
OF_BLOCKS: Final = frozenset({PLACE, NUMBER, WINNER})


def column(frame: pl.DataFrame, *names: str | None) -> pl.Series | None:
    """Return the first of some columns, filled up from the next where it is empty; None where there is none of them.

    Of several kinds of values the texts count: lists and objects are null.
    """
    there = [frame[name] for name in names if name in frame.columns]
    there = [texts(cells) if cells.dtype == pl.Object or len(there) > 1 else cells for cells in there]
    return pl.select(pl.coalesce(*there)).to_series() if len(there) > 1 else next(iter(there), None)


def texts(cells: pl.Series) -> pl.Series:
    """Return cells as `as_text` reads each of them; NaN is none."""
    if isinstance(cells.dtype, pl.String | pl.Categorical | pl.Enum | pl.Null) or cells.dtype.is_numeric():
        return text_of(cells)
    return pl.Series([as_text(cell) for cell in cells.to_list()], dtype=pl.String)


def place_word(head: Head) -> str:
    """Return what a record's place is called."""
    return "line" if head.shape in {"text", "lines", "object"} else "record"


def column_blocks(head: Head, bad: BadRow) -> Iterator[tuple[pl.DataFrame, pl.Series]]:
    """Yield the votes of a file some thousand at a time, and the place of each; what is wrong with a line goes to `bad`.

    A column that holds lists or objects has the dtype Object.
    """
    if head.shape == "parquet":
        for first, frame in parquet_frames(head.path, _PLAIN_ROWS, _is_kept):
            places = pl.int_range(first, first + frame.height, eager=True)
            size = _PARQUET_ROWS if any(dtype.is_nested() for dtype in frame.dtypes) else _PLAIN_ROWS
            for at, part in zip(range(0, frame.height, size), frame.iter_slices(size), strict=True):
                yield _of_parquet(part), places.slice(at, part.height)
    elif head.shape == "text":
        yield from map(of_table, delimited_blocks(head.path, head.delimiter, bad))
    else:
        votes = PlainRecords(head.path, bad)
        for block in filter(None, votes.blocks()):
            yield frame_of(block), votes.numbers


def of_table(block: TableBlock) -> tuple[pl.DataFrame, pl.Series]:
    """Return the votes of a block of a table, and where each stands."""
    cells = [cells.alias(own_name(cells.name)) for cells in block.frame.iter_columns()]
    return pl.DataFrame([each for each in cells if each.name not in _UNREAD]), block.places


def frame_of(records: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Return the columns of records.

    >>> found = frame_of([{"a": 1, "b": "x"}, {"a": 2, "b": [1]}])
    >>> found["a"].to_list(), found["b"].to_list()
    ([1, 2], ['x', [1]])
    """
    kept = {as_text(name) or "": name for name in members_of(records) if name not in _UNREAD}
    return pl.DataFrame({own: _column(values) for own, values in RecordBlock(records).named(kept, None)})


def _column(values: list[object]) -> pl.Series:
    nests = not {*map(type, values)}.isdisjoint({dict, list, VoteOutcome})
    return pl.Series(values, dtype=pl.Object) if nests else series(values)


def _is_kept(name: str, dtype: pl.DataType) -> bool:
    is_plain = not dtype.is_nested() and not isinstance(dtype, pl.Binary | pl.Object)
    if name in ANSWERS:  # a conversation as one text would be searched at the cost of all else
        return dtype.is_nested() or name.startswith("response")
    return name in NESTED or (is_plain and name not in TEXTS)


def _of_parquet(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a block with what assistants said as one text, and its tokens where nothing else counts them."""
    columns: dict[str, pl.Series] = {}
    for cells in frame.iter_columns():
        name, dtype = cells.name, cells.dtype
        if name not in ANSWERS or not dtype.is_nested():
            of_numbers = name == METADATA and isinstance(dtype, pl.Struct)
            columns[name] = _column(cells.to_list()) if dtype.is_nested() and not of_numbers else cells
            continue
        inner = dtype.inner if isinstance(dtype, pl.List) else None
        fields = {part.name: part.dtype for part in inner.fields} if isinstance(inner, pl.Struct) else {}
        if METADATA not in frame.columns and {"role", "num_tokens"} <= fields.keys():
            counted = pl.struct(pl.element().struct.field(part) for part in ("role", "num_tokens"))
            columns[f"{TOKENS}{name[-2:]}"] = _column(pl.select(pl.lit(cells).list.eval(counted)).to_series().to_list())
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
    return pl.DataFrame(columns)


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
