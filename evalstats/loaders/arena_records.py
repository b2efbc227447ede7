"""Arena votes one by one, from JSON lists, JSON Lines, delimited text and Parquet, in bounded memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import cast

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.arena_cells import Winner
from evalstats.loaders.arena_naming import NAMING, SAID, SIDES
from evalstats.loaders.base import PARQUET_FAULTS, Head
from evalstats.loaders.blocks import delimited_blocks, own_name
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.files import JsonItem, iter_json, iter_json_lines
from evalstats.loaders.values import as_text

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


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteBlock:
    """Some votes: their columns, where each stands in the file, and its number among all.

    `winners` are given where the votes themselves do not say who won.
    """

    columns: dict[str, Cells]
    places: Sequence[int]
    numbers: Sequence[int]
    winners: Sequence[Winner] | None = None

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

    def some_of(self, names: Iterable[str]) -> "VoteBlock":
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
        if isinstance(cells.dtype, pl.String | pl.Null) or cells.dtype.is_integer():
            return cells.cast(pl.String)
        cells = cells.to_list()
    return pl.Series([as_text(cell) for cell in cells], dtype=pl.String)


def columns_of(head: Head) -> frozenset[str]:
    """Names of the columns of a file of votes (of a JSON file: of its first record)."""
    return frozenset(head.columns) or head.keys


def iter_records(head: Head) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield (place, record): the line of delimited text and JSON Lines, else the record's number from 0.

    Cells of delimited text are text, and null where they are empty.

    Raises
    ------
    UnreadableFileError
        If the file is damaged, or a record is not an object.
    """
    if head.shape == "parquet":
        yield from _parquet_records(head.path)
    elif head.shape == "text":
        header = header_of(head.path, head.delimiter)
        keep = [(place, name) for place, name in enumerate(header) if name and (name not in TEXTS or name in ANSWERS)]
        for line, cells in iter_rows(head.path, head.delimiter, n_columns=len(header)):
            yield line, {name: cells[place] or None for place, name in keep}
    else:
        for place, value in _json_values(head):
            if not isinstance(value, dict):
                message = f"{head.path}: {place_word(head)} {place} is not a JSON object; every vote must be one"
                raise UnreadableFileError(message)
            yield place, cast("dict[str, object]", value)


def place_word(head: Head) -> str:
    """Return what a record's place is called."""
    return "line" if head.shape in {"text", "lines", "object"} else "record"


def _json_values(head: Head) -> Iterator[tuple[int, object]]:
    if head.shape == "array":
        for item in iter_json(head.path):
            yield (item.index if isinstance(item, JsonItem) else 0), item.value
    else:
        yield from iter_json_lines(head.path)


def _parquet_records(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    for first, frame in _parquet_frames(path):
        yield from enumerate(frame.iter_rows(named=True), start=first)


def _parquet_frames(path: Path) -> Iterator[tuple[int, pl.DataFrame]]:
    try:
        # Brackets in the name are no pattern, and folders named a=b make no columns.
        whole = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        schema = whole.collect_schema()
        scan = whole.select(_wanted(schema))
        nested = any(dtype.is_nested() for dtype in scan.collect_schema().dtypes())
        rows = _PARQUET_ROWS if nested or _said(schema) else _PLAIN_ROWS
        height = scan.select(pl.len()).collect().item()
        # Texts are gone through once, in a stream, and only those in which a name may stand are held.
        said = whole.select(_said(schema)).collect(engine="streaming")
        for first in range(0, height, rows):
            beside = said.slice(first, rows) if said.width else pl.DataFrame()
            yield first, scan.slice(first, rows).collect().hstack(beside)
    except PARQUET_FAULTS as error:
        message = f"{path}: is not a Parquet file that can be read ({error}); write it again"
        raise UnreadableFileError(message) from error


def iter_blocks(head: Head, rename: Mapping[str, str] | None = None) -> Iterator[VoteBlock]:
    """Yield the records of a file as blocks of columns; `rename` gives columns other names.

    Raises
    ------
    UnreadableFileError
        If the file is damaged, or a record is not an object.
    """
    number = 0
    for columns, places in _column_blocks(head):
        named = {(rename or {}).get(name, name): cells for name, cells in columns.items()}
        yield VoteBlock(columns=named, places=places, numbers=range(number, number + len(places)))
        number += len(places)


def _column_blocks(head: Head) -> Iterator[tuple[dict[str, Cells], Sequence[int]]]:
    if head.shape == "parquet":
        for first, frame in _parquet_frames(head.path):
            columns = {
                cells.name: cells.to_list() if cells.dtype.is_nested() else cells for cells in frame.iter_columns()
            }
            yield columns, range(first, first + frame.height)
    elif head.shape == "text":
        for block in delimited_blocks(head.path, head.delimiter):
            kept = [cells for cells in block.frame.iter_columns() if cells.name not in TEXTS or cells.name in ANSWERS]
            yield {own_name(cells.name): cells for cells in kept}, block.places.to_list()
    else:
        # Conversations are long, and a block of them is held.
        most = _PARQUET_ROWS if columns_of(head) & (TEXTS | NESTED) else _PLAIN_ROWS
        records: list[Mapping[str, object]] = []
        places: list[int] = []
        for place, record in iter_records(head):
            records.append(record)
            places.append(place)
            if len(records) >= most:
                yield columns_from(records), places
                records, places = [], []
        if records:
            yield columns_from(records), places


def columns_from(records: Sequence[Mapping[str, object]]) -> dict[str, Cells]:
    """Return the columns of records; one whose values are all of a kind is a series.

    Examples
    --------
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
                    pl.when(text.str.contains(NAMING))
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
