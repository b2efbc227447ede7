"""Any table file (delimited text, JSON list, JSON Lines, Parquet) as blocks of columns, in bounded memory.

What text holds no dtype tells: delimited text and JSON are handed on as text, and `Survey` says, after a look at all of
the file, which columns are numbers, which are booleans, and which are no factors at all.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import PARQUET_FAULTS, Head, readable_name
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.files import JsonItem, iter_json, iter_json_lines
from evalstats.loaders.values import as_dict

BLOCK_ROWS = 50_000
BLOCK_CHARS = 64 << 20
KEPT_BYTES = 256 << 20
# A column that holds a longer text than this is an answer or a prompt, not a factor.
MAX_FACTOR_CHARS = 1_000

_WHOLE = r"^-?(?:0|[1-9]\d{0,17})$"
_NUMBER = r"^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$"
_TRUTH = r"^(?i:true|false)$"

Place = tuple[int, dict[str, object]]


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of a table: its columns, and where each row stands in the file.

    `texts` are columns known to hold text where all columns are handed on as text; `nested` hold lists or objects.
    """

    frame: pl.DataFrame
    places: pl.Series
    texts: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """A table on disk. `blocks()` reads it from its beginning each time; `word` names a row's place in messages."""

    word: str
    blocks: Callable[[], Iterator[Block]]


@dataclass(slots=True)
class _Seen:
    """What all values of one column have in common so far."""

    whole: bool = True
    number: bool = True
    truth: bool = True
    any: bool = False
    long: bool = False
    nested: bool = False
    dtype: pl.DataType | None = None

    def kind(self) -> pl.DataType:
        if self.dtype is not None:
            return self.dtype
        found = [(self.whole, pl.Int64()), (self.number, pl.Float64()), (self.truth, pl.Boolean())]
        return next((dtype for fits, dtype in found if fits and self.any), pl.String())


@dataclass(slots=True)
class Survey:
    """The columns of a whole table in order, and what each of them holds."""

    seen: dict[str, _Seen] = field(default_factory=dict[str, _Seen])
    n_rows: int = 0

    def add(self, block: Block) -> None:
        """Take one more block into account."""
        self.n_rows += block.frame.height
        for series in block.frame.iter_columns():
            seen = self.seen.setdefault(series.name, _Seen())
            seen.nested |= series.name in block.nested or _is_nested(series.dtype)
            if series.dtype == pl.String:
                _look_at_text(series.drop_nulls(), seen, is_text=series.name in block.texts)
            elif not seen.nested:
                seen.dtype = series.dtype

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.seen)

    @property
    def long(self) -> frozenset[str]:
        """Columns with texts too long for a factor."""
        return frozenset(name for name, seen in self.seen.items() if seen.long)

    @property
    def nested(self) -> frozenset[str]:
        """Columns that hold lists or objects."""
        return frozenset(name for name, seen in self.seen.items() if seen.nested)

    def dtype(self, name: str) -> pl.DataType:
        """Return the dtype that fits all values of a column."""
        return self.seen[name].kind()


def surveyed(table: TableFile) -> tuple[Survey, Iterator[Block]]:
    """Look at all of a table, then hand on its blocks. Only a table too large to be kept is read twice."""
    survey = Survey()
    kept: list[Block] | None = []
    size = 0
    for block in table.blocks():
        survey.add(block)
        size += block.frame.estimated_size()
        if size > KEPT_BYTES:
            kept = None
        elif kept is not None:
            kept.append(block)
    return survey, table.blocks() if kept is None else iter(kept)


def open_table(head: Head) -> TableFile:
    """Choose the reader by what the file holds, not by its name.

    Raises
    ------
    UnreadableFileError
        If the file is no table: a single JSON object, an archive, an image, ...
    """
    path = head.path
    if head.shape == "text":
        return TableFile(word="line", blocks=lambda: delimited_blocks(path, head.delimiter))
    if head.shape == "lines":
        return TableFile(word="line", blocks=lambda: _json_blocks(_lines(path)))
    if head.shape == "array":
        return TableFile(word="record", blocks=lambda: _json_blocks(_elements(path)))
    if head.shape == "parquet":
        return TableFile(word="row", blocks=lambda: parquet_blocks(path))
    held = {"empty": "is empty", "object": "holds one JSON object", "zip": "is an archive"}.get(head.shape, "is binary")
    message = f"{path}: {held}; a table was expected (CSV, TSV, JSON Lines, a JSON list of records, or Parquet)"
    raise UnreadableFileError(message)


def frame_block(frame: pl.DataFrame, *, first: int = 0) -> Block:
    """Make a block of a frame; structs become columns `name.field`, one level deep."""
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Struct):
            fields = [pl.col(name).struct.field(part.name).alias(f"{name}.{part.name}") for part in dtype.fields]
            frame = frame.with_columns(fields).drop(name)
    return Block(frame, _places(range(first, first + frame.height)))


def delimited_blocks(path: Path, delimiter: str) -> Iterator[Block]:
    """Read delimited text; an empty cell is null, a column without a name is left out."""
    header = header_of(path, delimiter)
    keep = [place for place, name in enumerate(header) if name]
    rows: list[list[str]] = []
    lines: list[int] = []
    chars = 0
    for line, cells in iter_rows(path, delimiter, n_columns=len(header)):
        rows.append(cells)
        lines.append(line)
        chars += sum(map(len, cells))
        if len(rows) >= BLOCK_ROWS or chars >= BLOCK_CHARS:
            yield _text_block(header, keep, rows, lines)
            rows, lines, chars = [], [], 0
    if rows:
        yield _text_block(header, keep, rows, lines)


def _text_block(header: list[str], keep: list[int], rows: list[list[str]], lines: list[int]) -> Block:
    columns = list(zip(*rows, strict=True))
    frame = pl.DataFrame({header[place]: pl.Series(columns[place], dtype=pl.String) for place in keep})
    return Block(frame.with_columns(pl.all().replace("", None)), _places(lines))


def parquet_blocks(path: Path) -> Iterator[Block]:
    """Read a Parquet file some row groups at a time; columns of bytes are left out.

    Raises
    ------
    UnreadableFileError
        If it is damaged.
    """
    try:
        with path.open("rb") as stream:
            # A path tells Polars where to read and a stream is held whole; but Polars takes paths in Unicode only.
            source = path if readable_name(path) == str(path) else stream
            # Brackets in the name are no pattern, and folders named a=b make no columns.
            scan = pl.scan_parquet(source, glob=False, hive_partitioning=False)
            dtypes = scan.collect_schema()
            scan = scan.select(name for name, dtype in dtypes.items() if not isinstance(dtype, pl.Binary | pl.Object))
            height = scan.select(pl.len()).collect().item()
            for first in range(0, height, BLOCK_ROWS):
                yield frame_block(scan.slice(first, BLOCK_ROWS).collect(), first=first)
    except PARQUET_FAULTS as error:
        message = f"{path}: is not a Parquet file that can be read ({error}); write it again"
        raise UnreadableFileError(message) from error


def _lines(path: Path) -> Iterator[Place]:
    for line, value in iter_json_lines(path):
        if not isinstance(value, dict):
            message = f"{path}: line {line} is not a JSON object; every line must be one record"
            raise UnreadableFileError(message)
        yield line, cast("dict[str, object]", value)


def _elements(path: Path) -> Iterator[Place]:
    for item in iter_json(path):
        place = item.index if isinstance(item, JsonItem) else 0
        value = item.value
        if not isinstance(value, dict):
            message = f"{path}: record {place} (counted from 0) is not a JSON object; every element must be one"
            raise UnreadableFileError(message)
        yield place, cast("dict[str, object]", value)


def _json_blocks(records: Iterable[Place]) -> Iterator[Block]:
    cells: list[dict[str, object]] = []
    places: list[int] = []
    chars = 0
    for place, record in records:
        flat = _flat(record)
        cells.append(flat)
        places.append(place)
        chars += sum(len(value) for value in flat.values() if isinstance(value, str))
        if len(cells) >= BLOCK_ROWS or chars >= BLOCK_CHARS:
            yield _cell_block(cells, places)
            cells, places, chars = [], [], 0
    if cells:
        yield _cell_block(cells, places)


def _flat(record: dict[str, object]) -> dict[str, object]:
    """Take the fields of an object one level up, as `name.field`."""
    flat: dict[str, object] = {}
    for name, value in record.items():
        inner = as_dict(value)
        if inner:
            flat.update({f"{name}.{part}": deep for part, deep in inner.items()})
        else:
            flat[name] = value
    return flat


def _cell_block(cells: list[dict[str, object]], places: list[int]) -> Block:
    names = dict.fromkeys(name for row in cells for name in row if name)
    texts: set[str] = set()
    nested: set[str] = set()
    columns: dict[str, pl.Series] = {}
    for name in names:
        values = [row.get(name) for row in cells]
        kinds = {type(value) for value in values}
        texts.update([name] if str in kinds else [])
        nested.update([name] if kinds & {list, dict} else [])
        columns[name] = pl.Series(name, [_cell(value) for value in values], dtype=pl.String)
    return Block(pl.DataFrame(columns), _places(places), frozenset(texts), frozenset(nested))


def _cell(value: object) -> str | None:
    """Return a JSON value as text; of lists only those of plain values (tags) are kept."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, dict):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        elements = cast("list[object]", value)
        plain = len(elements) <= MAX_FACTOR_CHARS and all(isinstance(part, str | int | float) for part in elements)
        return json.dumps(elements) if plain else None
    return str(value)


def _look_at_text(present: pl.Series, seen: _Seen, *, is_text: bool) -> None:
    if not len(present):
        return
    seen.any = True
    if is_text:
        seen.whole = seen.number = seen.truth = False
    seen.number = seen.number and bool(present.str.contains(_NUMBER).all())
    seen.whole = seen.whole and seen.number and bool(present.str.contains(_WHOLE).all())
    seen.truth = seen.truth and bool(present.str.contains(_TRUTH).all())
    longest = present.str.len_chars().max()
    seen.long = seen.long or (isinstance(longest, int) and longest > MAX_FACTOR_CHARS)


def _is_nested(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.List | pl.Array | pl.Struct | pl.Object | pl.Binary)


def _places(places: Iterable[int]) -> pl.Series:
    return pl.Series("place", list(places), dtype=pl.Int64)
