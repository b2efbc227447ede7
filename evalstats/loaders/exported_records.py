"""ExportedRecords of a result file one by one, from JSON, JSON Lines or delimited text; what is none is counted and left out."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final, cast

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head
from evalstats.loaders.files import (
    JsonItem,
    bounded_lines,
    encoding_message,
    header_of,
    iter_cells,
    iter_json,
    open_text,
)
from evalstats.loaders.rows import Row, some_of
from evalstats.loaders.values import as_text
from evalstats.schema.data import Problem

_SHOWN: Final = 5
_ITEM_CHARS: Final = 16
_NO_RECORD: Final = object()
_WHOLE_WITH_POINT: Final = re.compile(r"(-?\d+)\.0+")


class ExportedRecords:
    """The records of one file, each with its locator; `members` name the arrays that may hold them in a JSON object.

    A line that is no JSON, an element that is no object and a row that does not fit its header are left out and told, and
    so is what a loader gives to `leave_out`.
    """

    def __init__(self, source: Source, *members: str) -> None:
        self.source = source
        self.head = read_head(source.path)
        self.n = 0
        self.n_left_out = 0
        self._members = members
        self._places: list[str] = []

    def __iter__(self) -> Iterator[tuple[str, Row]]:
        for locator, value in self._values():
            if isinstance(value, dict):
                self.n += 1
                yield locator, cast("Row", value)
            else:
                self.leave_out(locator)

    def leave_out(self, locator: str) -> None:
        """Take note of a record that cannot be used."""
        self.n_left_out += 1
        if len(self._places) < _SHOWN:
            self._places.append(locator)

    def problems(self, why: str) -> Iterator[Problem]:
        """Say how many records were left out, and where they stand."""
        if self.n_left_out:
            more = ", ..." if self.n_left_out > len(self._places) else ""
            places = some_of(self._places) + more
            yield from self.source.notes([f"{self.n_left_out:,} rows {why} and are left out ({places})"], "error")

    def _values(self) -> Iterator[tuple[str, object]]:
        path, shape = self.head.path, self.head.shape
        if shape == "text":
            yield from self._delimited()
        elif shape == "lines":
            with open_text(path) as stream:
                try:
                    for number, line in enumerate(bounded_lines(stream, str(path)), start=1):
                        if line.strip():
                            yield f"line {number}", _parsed(line)
                except UnicodeDecodeError as error:
                    raise UnreadableFileError(encoding_message(str(path), error)) from error
        else:
            for part in iter_json(path, arrays=self._members):
                if isinstance(part, JsonItem):
                    yield f"{part.member}[{part.index}]", part.value

    def _delimited(self) -> Iterator[tuple[str, object]]:
        path, delimiter = self.head.path, self.head.delimiter
        header = header_of(path, delimiter)
        named = [(place, name) for place, name in enumerate(header) if name]
        cells = iter_cells(path, delimiter)
        next(cells, None)
        for line, row in cells:
            fits = len(row) == len(header)
            yield f"line {line}", {name: row[place] or None for place, name in named} if fits else None


def _parsed(line: str) -> object:
    try:
        return cast("object", json.loads(line))
    except (ValueError, RecursionError):
        return _NO_RECORD


def cell_value(cell: object) -> object:
    """Return what a cell of delimited text holds as JSON; other text, and what is no text, stays as it is.

    >>> cell_value('{"a": 1}'), cell_value("2+2"), cell_value(3)
    ({'a': 1}, '2+2', 3)
    """
    if isinstance(cell, str) and cell[:1] in {"{", "[", '"'}:
        found = _parsed(cell)
        return cell if found is _NO_RECORD else found
    return cell


def item_of(*parts: object) -> str | None:
    """Name an item by a digest of what was asked; None where nothing was.

    A number is the same as its text, since delimited text does not tell them apart, and 4.0 is 4.

    >>> item_of({"q": 4}) == item_of({"q": "4.0"}), item_of({"q": 4}) == item_of({"q": 5}), item_of({}, None)
    (True, False, None)
    """
    plain = [_plain(part) for part in parts]
    if not any(plain):
        return None
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:_ITEM_CHARS]


def _plain(value: object) -> object:
    """Return a value without its nulls, and its numbers as text."""
    if isinstance(value, dict):
        members = cast("Row", value)
        return {name: kept for name, inner in members.items() if (kept := _plain(inner)) is not None}
    if isinstance(value, list):
        return [_plain(part) for part in cast("list[object]", value)]
    text = value if isinstance(value, str) else as_text(value)
    whole = _WHOLE_WITH_POINT.fullmatch(text) if text and text.endswith("0") else None
    return text if whole is None else whole[1]
