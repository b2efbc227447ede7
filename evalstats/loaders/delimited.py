"""Delimited text: its header, its rows one by one, and frames of them, in bounded memory."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.files import BadRow, bounded_lines, open_bytes, open_text

MAX_CELL_CHARS = 64 << 20
_CELL_CHARS = 16
_LAST_CELL_CHARS = 1 << 20
_MARK = "\ufeff".encode()


def header_of(path: Path, delimiter: str) -> list[str]:
    """Return the column names of a delimited file; a column without a name (an index that pandas wrote) is ""."""
    for _, cells in iter_cells(path, delimiter):
        names = [name.strip() for name in cells]
        counts = Counter(names)
        twice = next((name for name, n in counts.items() if name and n > 1), None)
        if twice is not None:
            raise UnreadableFileError(f"{path}: column {twice!r} appears twice in the header; rename one of the two")
        return names
    raise UnreadableFileError(f"{path}: is empty; a header with column names was expected")


def iter_rows(
    path: Path, delimiter: str, *, n_columns: int, may_end_early: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number from 1, cells) of every row behind the header; a row of blank cells alone is passed over.

    Cells are text without the blanks around it, and otherwise kept as they are: a cell such as `=cmd()` is data. Tables written
    by hand leave cells away at the end of a row.
    """
    records = iter_cells(path, delimiter)
    next(records, None)
    for line, cells in records:
        if not (may_end_early and len(cells) < n_columns):
            _check_width(path, line, cells, n_columns)
        yield line, cells


class _Text:
    """Text in UTF-8 in pieces of whole lines, or line by line: also as old Macs end them, by a return alone."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._whole, self._rest = stream, bounded_lines(stream.readline, name), io.StringIO()

    def lines(self) -> Iterator[str]:
        """Yield what stands behind the last piece."""
        for line in self._whole:
            self._rest = io.StringIO(line.decode(), newline="")
            yield from iter(self._rest.readline, "")

    def piece(self, size: int) -> bytes:
        """Return so many bytes, and the lines that their last line and its last cell go on in, as far as one is likely to."""
        data = self._rest.read().encode() + self._stream.read(size)
        if data and not data.endswith(b"\n"):
            data += next(self._whole, b"")
        is_open, most = data.count(b'"') % 2 if b'"' in data else 0, len(data) + _LAST_CELL_CHARS
        while is_open and len(data) < most and (more := next(self._whole, b"")):
            data += more
            is_open = (is_open + more.count(b'"')) % 2
        if not data.isascii():
            data.decode()  # raises what `lines` would
        return data


def iter_frames(
    path: Path, delimiter: str, *, n_columns: int, most_rows: int, most_chars: int, bad: BadRow | None = None
) -> Iterator[tuple[pl.DataFrame, Sequence[int]]]:
    """Yield what `iter_rows` does as frames of text, and the line of each row; an empty or blank cell is null.

    A row that does not fit its header is given to `bad`, with what is wrong with it; without that it is an error.

    Text whose quotes stand around cells only is read as a whole; any other, and text with a fault, row by row.
    """
    _allow_large_cells()
    line = 1
    with open_bytes(path) as stream:
        text = _Text(stream, str(path))
        try:
            reader = _reader(text.lines(), delimiter)
            header = next((cells for cells in reader if any(map(str.strip, cells))), None) or []
            line += reader.line_num
            width = sum(map(len, header)) + n_columns
            while data := text.piece(_step(width, most_rows, most_chars, n_columns)):
                whole = _at_once(data, line, delimiter, n_columns)
                if whole is not None:
                    frame, places, n_lines = whole
                    yield _with_values(frame, places)
                    line += n_lines
                    width = max(len(data) // max(frame.height, 1), 1)
                    continue
                piece = list(io.StringIO(data.decode(), newline=""))
                width = max(len(data) // len(piece), 1)
                reader = _reader(chain(piece, text.lines()), delimiter)
                rows: list[list[str]] = []
                held: list[int] = []
                first = line
                for cells in reader:
                    has_value = any(map(str.strip, cells))
                    if has_value and bad is not None and len(cells) != n_columns:
                        bad(_misfit(line, cells, n_columns))
                    elif has_value:
                        _check_width(path, line, cells, n_columns)
                        rows.append(cells)
                        held.append(line)
                    line = first + reader.line_num
                    if reader.line_num >= len(piece):  # a cell may go on behind the piece
                        break
                if rows:
                    columns = zip(*rows, strict=True)
                    made = pl.DataFrame({f"{k}": pl.Series(cells, dtype=pl.String) for k, cells in enumerate(columns)})
                    yield _stripped(made), held
        except csv.Error as error:
            raise UnreadableFileError(_fault(path, line, error)) from error


def _reader(lines: Iterable[str], delimiter: str):
    """Read delimited text; blanks between a delimiter and a quote are no part of the cell."""
    return csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)


def _stripped(frame: pl.DataFrame, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the cells of all columns or some without the blanks around them: "a, b" has the cells of "a,b"."""
    return frame.with_columns(pl.col(frame.columns if names is None else names).str.strip_chars().replace("", None))


def _with_values(frame: pl.DataFrame, places: Sequence[int]) -> tuple[pl.DataFrame, Sequence[int]]:
    """Return the rows in which some cell has a value, as spreadsheets write some without."""
    if not min(series.null_count() for series in frame.iter_columns()):
        return frame, places
    kept = frame.select(~pl.all_horizontal(pl.all().is_null())).to_series()
    return frame.filter(kept), [place for place, keep in zip(places, kept, strict=True) if keep]


def _step(width: int, most_rows: int, most_chars: int, n_columns: int) -> int:
    """Return how many characters to read for one frame, where lines are about so long.

    A cell takes room however short it is. Lines may become shorter than those before them: text of nothing but cells of
    one letter takes at most four times the room.
    """
    room = most_chars * width // (width + _CELL_CHARS * n_columns)
    return max(min(most_rows * width, room, 4 * most_chars // _CELL_CHARS), 1)


def _at_once(raw: bytes, line: int, delimiter: str, n_columns: int) -> tuple[pl.DataFrame, Sequence[int], int] | None:
    """Read text in UTF-8 from a line on as a whole: its rows, the line of each, and the number of lines.

    None where a quote stands inside a cell or does not pair, and where a row does not fit its header.
    """
    # Polars takes an empty cell too many where the text ends behind it, and no mark of the byte order that the text begins with.
    if n_columns < 2 or len(raw) > MAX_CELL_CHARS or raw.endswith(delimiter.encode()) or raw.startswith(_MARK):
        return None
    marks = np.frombuffer(raw, np.uint8)
    line_ends, has_end = np.flatnonzero(marks == ord("\n")), raw.endswith(b"\n")
    n_breaks, n_returns = len(line_ends), 0
    if b"\r" in raw:
        n_returns = int(np.count_nonzero(marks[line_ends[line_ends > 0] - 1] == ord("\r")))
        if n_returns != np.count_nonzero(marks == ord("\r")):
            return None
    n_lines = n_breaks + (not has_end)
    n_plain = n_breaks + n_returns + (raw.count(delimiter.encode()) if delimiter < " " else 0)
    quote, quotes = '"' if b'"' in raw else None, np.empty(0, np.int64)
    if quote is not None:
        quotes, apart = np.flatnonzero(marks == ord(quote)), np.zeros(256, np.bool_)
        apart[[*map(ord, ("\n", "\r", quote, delimiter))]] = True
        before, behind = quotes[::2] - 1, quotes[1::2] + 1
        beside = np.concatenate([marks[before[before >= 0]], marks[behind[behind < len(marks)]]])
        if len(quotes) % 2 or not apart[beside].all():
            return None
    schema = {f"{k}": pl.String for k in range(n_columns)}
    try:
        frame = pl.read_csv(raw, has_header=False, separator=delimiter, quote_char=quote, schema=schema)
    except pl.exceptions.PolarsError:  # a line with more cells than the header, as there is where another has fewer
        return None
    places: Sequence[int] = range(line, line + n_lines)
    if quote is not None and frame.height != n_lines:  # a cell goes on in the next line
        row_ends = np.flatnonzero(np.searchsorted(quotes, line_ends) % 2 == 0)
        places = [line, *(row_ends + line + 1).tolist()][: len(row_ends) + (not has_end)]
        n_breaks, n_returns = len(row_ends), int(np.count_nonzero(marks[line_ends[row_ends] - 1] == ord("\r")))
    # What is in no cell is a mark; of two quotes inside a cell one is kept.
    n_kept = sum(frame.select(pl.all().str.len_bytes().cast(pl.Int64).sum()).row(0))
    n_doubled = int(np.count_nonzero(quotes[1:-1:2] + 1 == quotes[2::2]))
    n_delimiters = len(raw) - n_kept - len(quotes) + n_doubled - n_breaks - n_returns
    if frame.height != len(places) or n_delimiters != len(places) * (n_columns - 1):
        return None
    is_plain = raw.isascii() and np.count_nonzero(marks < ord(" ")) == n_plain
    if not is_plain or frame.height != n_lines or (quote is not None and delimiter <= " "):
        return _stripped(frame), places, n_lines
    ends = pl.all().str.starts_with(" ") | pl.all().str.ends_with(" ")
    blank = (
        [name for name, found in frame.select(ends.any()).row(0, named=True).items() if found] if b" " in raw else []
    )
    if len(quotes) and (quotes[1::2] == quotes[::2] + 1).any():
        blank = frame.columns
    return _stripped(frame, blank) if blank else frame, places, n_lines


def _check_width(path: Path, line: int, cells: Sequence[str], n_columns: int) -> None:
    if len(cells) != n_columns:
        raise UnreadableFileError(f"{path}: {_misfit(line, cells, n_columns)}")


def _misfit(line: int, cells: Sequence[str], n_columns: int) -> str:
    return (
        f"line {line} has {len(cells)} cells, the header {n_columns}; "
        "put quotes around cells that hold the delimiter, or write the row again"
    )


def _fault(path: Path, line: int, error: csv.Error) -> str:
    return f"{path}: line {line} is not delimited text ({error}); check its quotes"


def _allow_large_cells() -> None:
    if csv.field_size_limit() < MAX_CELL_CHARS:
        csv.field_size_limit(MAX_CELL_CHARS)  # the limit is one for the whole process; ours is only ever larger


def iter_cells(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number from 1, cells) of every record, the header first, whatever its width; blank rows are passed over."""
    _allow_large_cells()
    with open_text(path) as stream:
        reader = _reader(bounded_lines(stream.readline, str(path)), delimiter)
        line = 1
        try:
            for cells in reader:
                if any(stripped := [cell.strip() for cell in cells]):
                    yield line, stripped
                line = reader.line_num + 1
        except csv.Error as error:
            raise UnreadableFileError(_fault(path, line, error)) from error
