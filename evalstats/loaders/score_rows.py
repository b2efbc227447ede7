"""The rows of a small table of scores, and what its cells say: text as people write it, or a JSON list of records."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, cast

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head
from evalstats.loaders.blocks import check_width
from evalstats.loaders.delimited import header_of
from evalstats.loaders.files import HEAD_BYTES, bounded_lines, encoding_message, iter_json_lines, load_json, open_text
from evalstats.loaders.values import as_list, as_number, dicts

Record = Mapping[str, object]

MAX_MODELS: Final = 100_000
_MAX_CHARS: Final = 64 << 20
# What a cell costs beside its text.
_CELL_CHARS: Final = 16
_LOOKED_AT: Final = 200
_ABSENT: Final = frozenset({"", "-", "–", "nan", "none", "null", "n/a"})
_CELL = re.compile(r"([-+−]?[\d.]+(?:e[-+]?\d+)?)\s*(%?)\s*(?:(?:±|\+/-)\s*([\d.]+)\s*%?)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"\d{1,3}(?:[, ]\d{3})+")


class ScoreRows:
    """The rows of a file, small enough to be held.

    Attributes
    ----------
    columns
        Names of all columns that have one.
    records
        The rows.
    notes
        What is worth telling of them.

    Raises
    ------
    UnreadableFileError
        If the file is damaged, or larger than a table with a row for each model can be.
    """

    def __init__(self, head: Head) -> None:
        self.notes: list[str] = []
        if head.shape == "text":
            header = header_of(head.path, head.delimiter)
            check_width(len(header))
            self.records = list(_bounded(head, _delimited_records(head, header)))
            self.columns: Sequence[str] = [name for name in header if name]
        else:
            self.records = list(_bounded(head, _json_records(head)))
            self.columns = list(dict.fromkeys(name for record in self.records for name in record))
            check_width(len(self.columns))
        n_short = sum(len(record) < len(self.columns) for record in self.records) if head.shape == "text" else 0
        if n_short:
            self.notes.append(f"rows that end before the last column, whose missing cells give no number: {n_short}")


def _bounded(head: Head, records: Iterable[Record]) -> Iterator[Record]:
    size = 0
    for n_rows, record in enumerate(records, start=1):
        size += sum(_CELL_CHARS + len(cell) if isinstance(cell, str) else _CELL_CHARS for cell in record.values())
        if n_rows > MAX_MODELS or size > _MAX_CHARS:
            message = (
                f"{head.path}: holds more than {MAX_MODELS:,} rows or {_MAX_CHARS >> 20} MiB; "
                "a table of scores has a row for each model"
            )
            raise UnreadableFileError(message)
        yield record


def _delimited_records(head: Head, header: Sequence[str]) -> Iterator[Record]:
    for line, cells in _delimited_rows(head):
        if len(cells) > len(header):
            message = (
                f"{head.path}: line {line} has {len(cells)} cells, the header {len(header)}; "
                "put quotes around cells that hold the delimiter, or write the row again"
            )
            raise UnreadableFileError(message)
        yield {name: cell for name, cell in zip(header, cells, strict=False) if name}


def _delimited_rows(head: Head) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) behind the header. Tables written by hand leave cells away at the end of a row."""
    with open_text(head.path) as stream:
        reader = csv.reader(bounded_lines(stream, str(head.path)), delimiter=head.delimiter, strict=True)
        line = 1
        try:
            seen_header = False
            for cells in reader:
                if cells and seen_header:
                    yield line, cells
                seen_header = seen_header or bool(cells)
                line = reader.line_num + 1
        except csv.Error as error:
            message = f"{head.path}: line {line} is not delimited text ({error}); check its quotes"
            raise UnreadableFileError(message) from error
        except UnicodeDecodeError as error:
            raise UnreadableFileError(encoding_message(str(head.path), error)) from error


def _json_records(head: Head) -> Iterator[Record]:
    if head.shape == "lines":
        found: Iterator[object] = (value for _, value in iter_json_lines(head.path))
    else:
        found = iter(as_list(load_json(head.path, max_chars=_MAX_CHARS)))
    for place, value in enumerate(found):
        if not isinstance(value, dict):
            message = f"{head.path}: record {place} (counted from 0) is not a JSON object; every element must be one"
            raise UnreadableFileError(message)
        yield cast("Record", value)


def records_of_head(head: Head) -> list[Record]:
    """Return the first rows of a file as far as the head holds them whole."""
    whole = len(head.data) < HEAD_BYTES
    if head.shape == "text":
        lines = head.text.splitlines(keepends=True)
        text = "".join(lines if whole else lines[:-1])
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=head.delimiter)
        try:
            return [dict(zip(head.columns, cells, strict=False)) for cells in islice(reader, 1, _LOOKED_AT) if cells]
        except csv.Error:
            return []
    try:
        if head.shape == "lines":
            lines = head.text.splitlines()
            found = [json.loads(line) for line in (lines if whole else lines[:-1])[:_LOOKED_AT] if line.strip()]
        else:
            found = json.loads(head.text) if whole else [head.members]
    except (ValueError, RecursionError):
        return []
    return list(dicts(found))


def is_absent(cell: object) -> bool:
    """Whether a cell says that there is no number: empty, NaN, a dash, none.

    Examples
    --------
    >>> is_absent(" - "), is_absent(float("nan")), is_absent("0")
    (True, True, False)
    """
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in _ABSENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A number as a cell holds it; whether a percent sign follows, and what stands behind ± (None where nothing does)."""

    number: float
    percent: bool = False
    spread: float | None = None


def cell_of(value: object) -> Cell | None:
    """Read a cell with one number; None where it holds something else.

    Examples
    --------
    >>> cell_of("54.0% ± 1.2"), cell_of("3.1x"), cell_of("1,234")
    (Cell(number=54.0, percent=True, spread=1.2), None, None)
    """
    if isinstance(value, bool):
        return None
    if not isinstance(value, str):
        number = as_number(value)
        return None if number is None else Cell(number=number)
    found = _CELL.fullmatch(value.strip())
    number = as_number(found[1].replace("−", "-")) if found else None
    if found is None or number is None:
        return None
    return Cell(number=number, percent=bool(found[2]), spread=as_number(found[3]) if found[3] else None)


def count_of(value: object) -> object:
    """Return a count without what separates its thousands; anything else as it is.

    In a score a comma may be a decimal point; a count has none.

    Examples
    --------
    >>> count_of("26,019"), count_of("12"), count_of("many")
    ('26019', '12', 'many')
    """
    text = value.strip() if isinstance(value, str) else ""
    return re.sub(r"[, ]", "", text) if _THOUSANDS.fullmatch(text) else value
