"""Parquet files in bounded memory: their rows as frames, and what reading takes, which the footer tells.

Pages pack, and a dictionary may stand for millions of rows.

Polars does not hand on the sizes that a footer names. Footers are in Thrift's compact protocol, of which this reads what is
needed.
"""

import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import polars as pl
from polars.selectors import by_name

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import PARQUET_FAULTS, parquet_fault, readable_name
from evalstats.regular import open_regular
from evalstats.schema.memory import BLOCK_BYTES, limit_of, pieces, too_much

_MAGIC: Final = b"PAR1"
_TAIL: Final = struct.Struct("<I4s")
# Values of a column that is written out take this much each, at least; the view of a text takes twice as much.
_CELL_BYTES: Final = 8
_MAX_DEPTH: Final = 32
_BLOCKS_READ: Final = 4  # blocks that are read at once, where they are small: some 400,000 rows
_INSTEAD: Final = "write the file again in smaller row groups, or, if you trust it,"
# Kinds of values in the compact protocol, and fields of the footer's structures by their numbers there.
_TRUE, _FALSE, _BYTE, _NUMBER, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 4, 7, 8, 9, 10, 12
_TRUTHS, _FIXED, _LISTS = frozenset({_TRUE, _FALSE}), frozenset({_BYTE, _DOUBLE}), frozenset({_LIST, _SET})
_ROW_GROUPS, _COLUMNS, _GROUP_ROWS, _META_DATA, _PATH, _UNPACKED = 4, 1, 3, 3, 3, 6


class RowGroup(msgspec.Struct, frozen=True):
    """Rows that are written together: how many, and how many bytes the pages of each column unpack to."""

    n_rows: int
    unpacked: dict[str, int]

    def of(self, names: Collection[str] | None) -> int:
        """Return how many bytes the pages of these columns, or of all, unpack to."""
        return sum(size for name, size in self.unpacked.items() if names is None or name in names)


def row_groups(path: Path) -> list[RowGroup]:
    """Return the row groups of a Parquet file, from its footer."""
    try:
        return _Footer(_footer_of(path)).row_groups()
    except (OSError, ValueError, IndexError, TypeError, struct.error) as error:
        raise UnreadableFileError(
            f"{path}: is not a Parquet file that can be read ({error}); write it again"
        ) from error


def _footer_of(path: Path) -> bytes:
    with open_regular(path) as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - _TAIL.size))
        length, magic = _TAIL.unpack(stream.read(_TAIL.size))
        if magic != _MAGIC or length + _TAIL.size > size:
            raise ValueError("it has no footer")
        stream.seek(size - _TAIL.size - length)
        return stream.read(length)


def rows_at_once(path: Path, groups: Sequence[RowGroup], most_rows: int, names: Collection[str] | None = None) -> int:
    """Return how many rows of a Parquet file, at most `most_rows`, take no more than a block on the average of their row group.

    `names` are the columns that are read. UnreadableFileError if one row group, which may be a single page, is over the limit.
    """
    sizes = [(group.of(names), group.n_rows) for group in groups]
    excess = too_much(max((size for size, _ in sizes), default=0), limit_of([path]), _INSTEAD)
    if excess:
        raise UnreadableFileError(f"{path}: one of its row groups takes more {excess}")
    fitting = [BLOCK_BYTES * n_rows // size for size, n_rows in sizes if size and n_rows]
    return max(1, min([most_rows, *fitting]))


def parquet_frames(
    path: Path, most_rows: int, keep: Callable[[str, pl.DataType], bool]
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the rows of a Parquet file as frames, each with the number of its first row; `keep` chooses the columns."""
    try:
        with open_regular(path) as stream:
            # A path tells Polars where to read and a stream is held whole; but Polars takes paths in Unicode only.
            source = path if readable_name(path) == str(path) else stream
            # Brackets in the name are no pattern, and folders named a=b make no columns.
            scan = pl.scan_parquet(source, glob=False, hive_partitioning=False)
            kept = [name for name, dtype in scan.collect_schema().items() if keep(name, dtype)]
            scan = scan.select(by_name(kept))  # a bare name such as "*" or "^a$" would be a pattern
            fitting = 2 * BLOCK_BYTES // (2 * _CELL_BYTES * max(1, len(kept)))
            groups, first = row_groups(path), 0
            most_read = rows_at_once(path, groups, max(1, min(_BLOCKS_READ * most_rows, fitting)), kept)
            for n_rows in _readings([group.n_rows for group in groups], most_read):
                # A value that stands once in the file may be that of every row: pieces count it each time.
                for part in scan.slice(first, n_rows).collect().iter_slices(most_rows):
                    for piece in pieces(part, BLOCK_BYTES):
                        yield first, piece
                        first += piece.height
    except PARQUET_FAULTS as error:
        raise UnreadableFileError(
            f"{path}: is not a Parquet file that can be read ({parquet_fault(error)}); write it again, or fetch it again"
        ) from error


def _readings(group_rows: list[int], most: int) -> list[int]:
    """Return how many rows to read at a time: whole row groups, since one is unpacked anew for each of its parts.

    >>> _readings([3, 3, 3, 10], 6)
    [6, 3, 5, 5]
    """
    found: list[int] = []
    for n_rows in group_rows:
        if found and found[-1] + n_rows <= most:
            found[-1] += n_rows
            continue
        n_parts = -(-n_rows // most)
        step = -(-n_rows // max(1, n_parts))
        found += [min(step, n_rows - first) for first in range(0, n_rows, max(1, step))]
    return found


def check_whole(path: Path) -> None:
    """Refuse a Parquet file that would take more memory than the limit if all its rows were written out at once."""
    size = sum(
        sum(max(unpacked, _CELL_BYTES * group.n_rows) for unpacked in group.unpacked.values())
        for group in row_groups(path)
    )
    if excess := too_much(size, limit_of([path]), "write fewer of them, or, if you trust it,"):
        raise UnreadableFileError(f"{path}: its rows take more {excess}")


class _Footer:
    """The footer's bytes, read from the front: structures as dicts from the numbers of their fields to values."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def row_groups(self) -> list[RowGroup]:
        found: list[RowGroup] = []
        for group in _within(self._value(_STRUCT), _ROW_GROUPS):
            unpacked: dict[str, int] = {}
            for column in _within(group, _COLUMNS):
                about = _within(column, _META_DATA)
                name, size = _within(about, _PATH)[0], _within(about, _UNPACKED)  # the outermost name
                if size < 0:
                    raise ValueError("a column's size is below 0")
                unpacked[name] = unpacked.get(name, 0) + size
            found.append(msgspec.convert({"n_rows": _within(group, _GROUP_ROWS), "unpacked": unpacked}, RowGroup))
        return found

    def _value(self, kind: int, depth: int = 0, *, in_list: bool = False) -> Any:
        """Read one value: a number, a text, a list or a structure."""
        if depth > _MAX_DEPTH:
            raise ValueError("its footer is nested too deeply")
        if self._at > len(self._data):
            raise ValueError("its footer is cut off")
        if kind in _TRUTHS:
            self._at += in_list
            return kind == _TRUE
        if kind in _FIXED:
            self._at += 1 if kind == _BYTE else 8
            return None
        if kind < _DOUBLE:
            value = self._varint()
            return (value >> 1) ^ -(value & 1)
        if kind == _BINARY:
            n = self._varint()
            self._at += n
            return self._data[self._at - n : self._at].decode(errors="replace")
        if kind in _LISTS:
            head = self._byte()
            n = head >> 4 if head >> 4 < 15 else self._varint()
            if n > len(self._data):
                raise ValueError("its footer holds a list longer than itself")
            return [self._value(head & 15, depth + 1, in_list=True) for _ in range(n)]
        if kind != _STRUCT:
            raise ValueError("its footer holds what no footer holds")
        fields: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._value(_NUMBER)
            fields[field] = self._value(head & 15, depth + 1)
        return fields

    def _varint(self) -> int:
        value = shift = 0
        while shift <= 63:
            self._at, byte = self._at + 1, self._data[self._at]
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("its footer holds a number of more than 64 bits")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]


def _within(struct_: dict[int, Any], field: int) -> Any:
    if field not in struct_:
        raise ValueError("its footer lacks what every footer has")
    return struct_[field]
