"""Delimited text (CSV, TSV, semicolons), read strictly: a row that does not fit its header is an error."""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from evalstats.errors import UnreadableFileError
from evalstats.loaders.files import bounded_lines, encoding_message, open_text

MAX_CELL_CHARS = 64 << 20


def header_of(path: Path, delimiter: str) -> list[str]:
    """Return the column names of a delimited file; a column without a name (an index that pandas wrote) is "".

    Raises
    ------
    UnreadableFileError
        If there is no header, or a name stands twice.
    """
    for _, cells in _records(path, delimiter):
        names = [name.strip() for name in cells]
        counts = Counter(names)
        twice = next((name for name, n in counts.items() if name and n > 1), None)
        if twice is not None:
            message = f"{path}: column {twice!r} stands twice in the header; rename one of the two"
            raise UnreadableFileError(message)
        return names
    message = f"{path}: is empty; a header with column names was expected"
    raise UnreadableFileError(message)


def iter_rows(path: Path, delimiter: str, *, n_columns: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number from 1, cells) of every row behind the header; blank lines are passed over.

    Cells are text, kept as they are: a cell such as `=cmd()` is data.

    Raises
    ------
    UnreadableFileError
        Naming the line: too many or too few cells, a quote that is not closed, wrong encoding, a cell too large.
    """
    records = _records(path, delimiter)
    next(records, None)
    for line, cells in records:
        if len(cells) != n_columns:
            message = (
                f"{path}: line {line} has {len(cells)} cells, the header {n_columns}; "
                "put quotes around cells that hold the delimiter, or write the row again"
            )
            raise UnreadableFileError(message)
        yield line, cells


def _records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    if csv.field_size_limit() < MAX_CELL_CHARS:
        csv.field_size_limit(MAX_CELL_CHARS)  # the limit is one for the whole process; ours is only ever larger
    with open_text(path) as stream:
        reader = csv.reader(bounded_lines(stream, str(path)), delimiter=delimiter, strict=True)
        line = 1
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            message = f"{path}: line {line} is not delimited text ({error}); check its quotes"
            raise UnreadableFileError(message) from error
        except UnicodeDecodeError as error:
            raise UnreadableFileError(encoding_message(str(path), error)) from error
