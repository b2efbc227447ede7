"""Arena votes one by one, from JSON, delimited text and Parquet in bounded memory; and what is met while they are read."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Final, cast

import msgspec
import polars as pl
from msgspec.structs import replace

from evalstats.errors import Option, UnreadableFileError
from evalstats.loaders.arena_cells import SAID, SELF_NAMING, SIDES, UNKNOWN, VoteOutcome
from evalstats.loaders.base import PARQUET_FAULTS, Head, Source, parquet_fault
from evalstats.loaders.blocks import delimited_blocks, own_name
from evalstats.loaders.files import BadRow, JsonItem, iter_json, iter_json_lines
from evalstats.loaders.parquet_sizes import rows_at_once
from evalstats.loaders.rows import told
from evalstats.loaders.values import as_text
from evalstats.regular import check_regular
from evalstats.schema.data import Problem
from evalstats.schema.memory import sliced

# Conversations, prompts and answers: never kept. Answers are looked through for the names of models (arena_naming).
ANSWERS = frozenset({"conversation_a", "conversation_b", "response_a", "response_b"})
TEXTS = frozenset(
    {
        *(*ANSWERS, *SAID.values(), "full_conversation", "system_prompt"),
        *("completion_a", "completion_b", "prefix", "suffix", "openai_moderation", "toxic_chat_tag"),
    }
)
NESTED = frozenset({"conv_metadata", "category_tag", "dedup_tag", "occupational_tags", "tags", "models", "ranking"})
_PARQUET_ROWS = 5_000
# Rows of a block where no column holds texts or nested values.
_PLAIN_ROWS = 100_000
_DTYPES: Mapping[type, pl.DataType] = {str: pl.String(), int: pl.Int64(), float: pl.Float64(), bool: pl.Boolean()}

# A column: a series, or its values one by one where they are of several kinds.
Cells = pl.Series | list[object]


class VoteBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Some votes: their columns, where each stands in the file, and its number among all.

    `winners` are given where the votes themselves do not say who won.
    """

    columns: dict[str, Cells]
    places: Sequence[int]
    numbers: Sequence[int]
    winners: Sequence[VoteOutcome] | None = None

    @property
    def height(self) -> int:
        """How many votes there are."""
        return len(self.places)

    def get(self, name: str | None) -> Cells:
        """Return a column; nulls where there is none of that name."""
        found = self.columns.get(name) if name else None
        return pl.Series([None], dtype=pl.String).new_from_index(0, self.height) if found is None else found

    def first_of(self, *names: str) -> Cells:
        """Return the first of some columns, filled up from the next where it is empty."""
        present = [self.columns[name] for name in names if name in self.columns]
        if len(present) < 2:
            return present[0] if present else self.get(None)
        return (
            pl.DataFrame([texts(cells).alias(f"{k}") for k, cells in enumerate(present)])
            .select(pl.coalesce(pl.all()))
            .to_series()
        )

    def select(self, names: Iterable[str]) -> "VoteBlock":
        """Return the block with these of its columns only."""
        return replace(self, columns={name: self.columns[name] for name in names if name in self.columns})

    def filter(self, keep: pl.Series) -> "VoteBlock":
        """Return the votes that are marked."""
        rows: list[int] = keep.arg_true().to_list()
        return VoteBlock(
            columns={
                name: cells.filter(keep) if isinstance(cells, pl.Series) else [cells[row] for row in rows]
                for name, cells in self.columns.items()
            },
            places=[self.places[row] for row in rows],
            numbers=[self.numbers[row] for row in rows],
            winners=None if self.winners is None else [self.winners[row] for row in rows],
        )

    def records(self) -> Iterator[dict[str, object]]:
        """Yield the votes one by one."""
        for cells in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, cells, strict=True))


def texts(cells: Cells) -> pl.Series:
    """Return cells as `as_text` reads each of them."""
    if isinstance(cells, pl.Series):
        if isinstance(cells.dtype, pl.String | pl.Categorical | pl.Enum | pl.Null) or cells.dtype.is_integer():
            return cells.cast(pl.String)
        cells = cells.to_list()
    return pl.Series([as_text(cell) for cell in cells], dtype=pl.String)


def columns_of(head: Head) -> frozenset[str]:
    """Names of the columns of a file of votes (of a JSON file: of its first record)."""
    return frozenset(head.columns) or head.keys


def place_word(head: Head) -> str:
    """Return what a record's place is called."""
    return "line" if head.shape in {"text", "lines", "object"} else "record"


def _json_records(head: Head, bad: BadRow) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield each vote with its line, or in a list with its number from 0; what is wrong with any other is given to `bad`."""
    if head.shape == "array":
        values = ((item.index if isinstance(item, JsonItem) else 0, item.value) for item in iter_json(head.path))
    else:
        values = iter_json_lines(head.path, bad)
    for place, value in values:
        if isinstance(value, dict):
            yield place, cast("dict[str, object]", value)
        else:
            bad(f"{place_word(head)} {place} is not a JSON object; every vote must be one")


def _parquet_frames(path: Path) -> Iterator[tuple[int, pl.DataFrame]]:
    try:
        check_regular(path)
        # Brackets in the name are no pattern, and folders named a=b make no columns.
        whole = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        schema = whole.collect_schema()
        scan = whole.select(_wanted(schema))
        nested = any(dtype.is_nested() for dtype in scan.collect_schema().dtypes())
        rows = rows_at_once(path, _PARQUET_ROWS if nested or _said(schema) else _PLAIN_ROWS)
        height = scan.select(pl.len()).collect().item()
        # Texts are gone through once, in a stream, and only those in which a name may stand are held.
        said = whole.select(_said(schema)).collect(engine="streaming")
        for first, frame in sliced(scan, height, rows):
            yield first, frame.hstack(said.slice(first, frame.height)) if said.width else frame
    except PARQUET_FAULTS as error:
        raise UnreadableFileError(
            f"{path}: is not a Parquet file that can be read ({parquet_fault(error)}); write it again"
        ) from error


def column_blocks(head: Head, bad: BadRow) -> Iterator[tuple[dict[str, Cells], Sequence[int]]]:
    """Yield the votes of a file as columns, and where each stands; what is wrong with a line without one is given to `bad`."""
    if head.shape == "parquet":
        for first, frame in _parquet_frames(head.path):
            columns = {
                cells.name: cells.to_list() if cells.dtype.is_nested() else cells for cells in frame.iter_columns()
            }
            yield columns, range(first, first + frame.height)
    elif head.shape == "text":
        for block in delimited_blocks(head.path, head.delimiter, bad):
            kept = [cells for cells in block.frame.iter_columns() if cells.name not in TEXTS or cells.name in ANSWERS]
            yield {own_name(cells.name): cells for cells in kept}, block.places.to_list()
    else:
        # Conversations are long, and a block of them is held.
        most = _PARQUET_ROWS if columns_of(head) & (TEXTS | NESTED) else _PLAIN_ROWS
        records = _json_records(head, bad)
        while batch := list(islice(records, most)):
            yield columns_from([record for _, record in batch]), [place for place, _ in batch]


def columns_from(records: Sequence[Mapping[str, object]]) -> dict[str, Cells]:
    """Return the columns of records; one whose values are all of a kind is a series.

    >>> found = columns_from([{"a": 1, "b": "x"}, {"a": 2, "b": [1]}])
    >>> found["a"].to_list(), found["b"]
    ([1, 2], ['x', [1]])
    """
    names = dict.fromkeys(chain.from_iterable(records))
    return {as_text(name) or "": _of_a_kind([record.get(name) for record in records]) for name in names}


def _of_a_kind(values: list[object]) -> Cells:
    kinds = set(map(type, values)) - {type(None)}
    dtype = _DTYPES.get(next(iter(kinds), str)) if len(kinds) < 2 else None
    if dtype is None:
        return values
    try:
        return pl.Series(values, dtype=dtype)
    except UnicodeEncodeError:  # half of a character
        return pl.Series([as_text(value) for value in values], dtype=pl.String)
    except (OverflowError, TypeError, pl.exceptions.PolarsError):  # a whole number of more than 64 bits
        return values


def _wanted(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Choose the plain columns, the nested ones that are used, and of conversations only the counts of tokens."""
    wanted = [
        pl.col(name)
        for name, dtype in schema.items()
        if name in NESTED
        or (name not in TEXTS and not dtype.is_nested() and not isinstance(dtype, pl.Binary | pl.Object))
    ]
    for name in ("conversation_a", "conversation_b"):
        dtype = schema.get(name)
        inner = dtype.inner if isinstance(dtype, pl.List) else None
        fields = {part.name for part in inner.fields} if isinstance(inner, pl.Struct) else set[str]()
        if "conv_metadata" not in schema and {"role", "num_tokens"} <= fields:
            counted = [pl.element().struct.field(part) for part in ("role", "num_tokens")]
            wanted.append(pl.col(name).list.eval(pl.struct(counted)))
    return wanted


def _said(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Choose what assistants said, where it may name a model; an empty text where it does not, null where nothing is."""
    found: list[pl.Expr] = []
    for side in SIDES:
        for name in (f"conversation_{side}", f"response_{side}"):
            text = _answers(name, schema.get(name))
            if text is not None:
                found.append(
                    pl.when(text.str.contains(SELF_NAMING))
                    .then(text)
                    .when(text.is_not_null())
                    .then(pl.lit(""))
                    .alias(SAID[side])
                )
                break
    return found


def _answers(name: str, dtype: pl.DataType | None) -> pl.Expr | None:
    """Return the assistant's messages as one text, from the shapes that conversations have; None for another shape."""
    if isinstance(dtype, pl.String):
        return pl.col(name) if name.startswith("response") else None
    if not isinstance(dtype, pl.List):
        return None
    if isinstance(dtype.inner, pl.String):
        return pl.col(name).list.join("\n")
    fields = {part.name: part.dtype for part in dtype.inner.fields} if isinstance(dtype.inner, pl.Struct) else {}
    content = fields.get("content")
    if "role" not in fields or content is None:
        return None
    said = pl.element().filter(pl.element().struct.field("role") == "assistant").struct.field("content")
    if isinstance(content, pl.String):
        text = said
    elif isinstance(content, pl.List) and isinstance(content.inner, pl.Struct):
        text = said.list.eval(pl.element().struct.field("text")).list.join("\n", ignore_nulls=True)
    else:
        return None
    answers = pl.col(name).list.eval(text)
    return pl.when(answers.list.len() > 0).then(answers.list.join("\n", ignore_nulls=True))


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
            yield f"{lost}{_how_to_say(self.unknown)}" if self.unknown else lost
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
        known = units.drop_nulls().to_frame("unit").group_by("unit", maintain_order=True)
        self.units.update(dict(known.len().iter_rows()))
        self.counts[_STRANGE_TIMES] += int((~times.dt.year().is_between(_FIRST_YEAR, _LAST_YEAR)).sum())

    def add_without_model(self, places: Sequence[int]) -> None:
        """Take note of votes that name no model."""
        self.n_without_model += len(places)
        self.without_model += places[: _SHOWN_PLACES - len(self.without_model)]


def _how_to_say(label: str) -> str:
    """Say where the user writes down for whom a label of the winner counts."""
    return (
        f"; say what each label means: {Option('values', (label, 'model_a'), of='winner')} (or 'model_b', 'tie', "
        "'both_bad')"
    )


def _counted(labels: Counter[str], most: int | None = None) -> str:
    return ", ".join(f"{label}: {n}" for label, n in labels.most_common(most))
