"""Delimited text (CSV, TSV, semicolons), read strictly: a row that does not fit its header is an error."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.files import bounded_lines, encoding_message, open_text

MAX_CELL_CHARS = 64 << 20


def header_of(path: Path, delimiter: str) -> list[str]:
    """Return the column names of a delimited file; a column without a name (an index that pandas wrote) is ""."""
    for _, cells in _records(path, delimiter):
        names = [name.strip() for name in cells]
        counts = Counter(names)
        twice = next((name for name, n in counts.items() if name and n > 1), None)
        if twice is not None:
            raise UnreadableFileError(f"{path}: column {twice!r} stands twice in the header; rename one of the two")
        return names
    raise UnreadableFileError(f"{path}: is empty; a header with column names was expected")


def iter_rows(path: Path, delimiter: str, *, n_columns: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number from 1, cells) of every row behind the header; blank lines are passed over.

    Cells are text, kept as they are: a cell such as `=cmd()` is data.
    """
    records = _records(path, delimiter)
    next(records, None)
    for line, cells in records:
        _check_width(path, line, cells, n_columns)
        yield line, cells


def iter_frames(
    path: Path, delimiter: str, *, n_columns: int, most_rows: int, most_chars: int
) -> Iterator[tuple[pl.DataFrame, Sequence[int]]]:
    """Yield what `iter_rows` does as frames of text, and the line of each row; an empty cell is null.

    Lines without a quote are cells already, and are read as a whole; all others, and those with a fault, one by one.
    """
    _allow_large_cells()
    line = 1
    with open_text(path) as stream:
        lines = bounded_lines(stream, str(path))
        try:
            reader = csv.reader(lines, delimiter=delimiter, strict=True)
            next((cells for cells in reader if cells), None)
            line += reader.line_num
            while piece := _piece(lines, most_rows, most_chars):
                frame = _without_quotes(piece, delimiter, n_columns)
                if frame is not None:
                    yield frame, range(line, line + frame.height)
                    line += frame.height
                    continue
                reader = csv.reader(chain(piece, lines), delimiter=delimiter, strict=True)
                rows: list[list[str]] = []
                places: list[int] = []
                first = line
                for cells in reader:
                    if cells:
                        _check_width(path, line, cells, n_columns)
                        rows.append(cells)
                        places.append(line)
                    line = first + reader.line_num
                    if reader.line_num >= len(piece):  # a cell may go on behind the piece
                        break
                if rows:
                    columns = zip(*rows, strict=True)
                    made = pl.DataFrame({f"{k}": pl.Series(cells, dtype=pl.String) for k, cells in enumerate(columns)})
                    yield made.with_columns(pl.all().replace("", None)), places
        except csv.Error as error:
            raise UnreadableFileError(_fault(path, line, error)) from error
        except UnicodeDecodeError as error:
            raise UnreadableFileError(encoding_message(str(path), error)) from error


def _piece(lines: Iterator[str], most_rows: int, most_chars: int) -> list[str]:
    piece: list[str] = []
    chars = 0
    for line in lines:
        piece.append(line)
        chars += len(line)
        if len(piece) >= most_rows or chars >= most_chars:
            break
    return piece


def _without_quotes(lines: Sequence[str], delimiter: str, n_columns: int) -> pl.DataFrame | None:
    """Read lines in which every delimiter ends a cell; None where some do not, or a row does not fit its header."""
    text = "".join(lines)
    if '"' in text or n_columns < 2 or len(text) > MAX_CELL_CHARS:
        return None
    text = text.replace("\r\n", "\n")
    if "\r" in text or "\n\n" in text or text.startswith("\n"):
        return None
    if text.count(delimiter) != len(lines) * (n_columns - 1):
        return None
    schema = {f"{k}": pl.String for k in range(n_columns)}
    try:
        frame = pl.read_csv(text.encode(), has_header=False, separator=delimiter, quote_char=None, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    return frame if frame.height == len(lines) else None


def _check_width(path: Path, line: int, cells: Sequence[str], n_columns: int) -> None:
    if len(cells) != n_columns:
        raise UnreadableFileError(
            f"{path}: line {line} has {len(cells)} cells, the header {n_columns}; "
            "put quotes around cells that hold the delimiter, or write the row again"
        )


def _fault(path: Path, line: int, error: csv.Error) -> str:
    return f"{path}: line {line} is not delimited text ({error}); check its quotes"


def _allow_large_cells() -> None:
    if csv.field_size_limit() < MAX_CELL_CHARS:
        csv.field_size_limit(MAX_CELL_CHARS)  # the limit is one for the whole process; ours is only ever larger


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    _allow_large_cells()
    with open_text(path) as stream:
        reader = csv.reader(bounded_lines(stream, str(path)), delimiter=delimiter, strict=True)
        line = 1
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            raise UnreadableFileError(_fault(path, line, error)) from error
        except UnicodeDecodeError as error:
            raise UnreadableFileError(encoding_message(str(path), error)) from error
