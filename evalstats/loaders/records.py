"""Records of result files one by one, from JSON, JSON Lines or delimited text, packed or not.

A bad record is counted, named and left out instead of stopping the rest. Here is also what loaders of records share: names of
items that have no id, names of runs that name no model, and outcomes that wait for the file's end.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, cast

import msgspec
import polars as pl
from polars.selectors import by_name

from evalstats.errors import InputError, UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import (
    BATCH_ROWS,
    PARQUET_FAULTS,
    Frame,
    Rows,
    Source,
    in_frames,
    parquet_fault,
    read_head,
    readable_name,
)
from evalstats.loaders.files import (
    JsonItem,
    NotJson,
    header_of,
    iter_cells,
    iter_json,
    json_lines,
    json_value,
    load_json,
)
from evalstats.loaders.parquet_sizes import rows_at_once
from evalstats.loaders.rows import Row, held
from evalstats.loaders.values import as_text, json_text
from evalstats.regular import open_regular
from evalstats.schema.data import Problem
from evalstats.schema.memory import sliced
from evalstats.schema.tables import frame_from_rows

# What a file of records looks like from its first bytes.
RECORD_SHAPES: Final = frozenset({"array", "lines"})
_PLACES: Final = 5
# Rows of results hold prompts and answers, so few are held at a time.
_PARQUET_ROWS: Final = 1_000
_MISFIT: Final = object()
_ITEM_CHARS: Final = 16
_ENCODE: Final = msgspec.json.Encoder(order="sorted", enc_hook=str).encode
_WHOLE_WITH_POINT: Final = re.compile(r"(-?\d+)\.0+")


# Names that harnesses and their examples give to every file alike; the folder then says more.
class Records:
    """The records of a file, each with its locator ("line 3", "results[2]").

    `arrays` are where they may stand in a JSON object, as dotted paths; none means that the file is a list of them. `members`
    holds what else an object has, of the names in `keep`. With `alone`, an object is the file's only record. `called` is what
    the records are, for messages.

    `n_read` counts all that stood in the file, `n_left_out` those that no row was made of: what is no JSON or no object, a row
    of text that does not fit its header, and what a loader gives to `leave_out`. A JSON document that is cut off is refused.
    """

    def __init__(
        self, source: Source, *arrays: str, called: str = "records", keep: Iterable[str] = (), alone: bool = False
    ) -> None:
        self.source = source
        self.called = called
        self.head = read_head(source.path)
        self.members: dict[str, object] = {}
        self.n_read = 0
        self._arrays = arrays
        self._keep = frozenset(keep)
        self._alone = alone
        self._places: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    @property
    def n_left_out(self) -> int:
        """How many records no row was made of."""
        return sum(self._counts.values())

    def __iter__(self) -> Iterator[tuple[str, Row]]:
        shape = self.head.shape
        values = self._cells() if shape == "text" else self._lines() if shape == "lines" else self._elements()
        for locator, value in values:
            self.n_read += 1
            if isinstance(value, dict):
                yield locator, cast("Row", value)
            else:
                self.leave_out(locator, _no_record(value))

    def leave_out(self, locator: str, why: str) -> None:
        """Take note of a record that no row is made of; `why` is what it is or lacks, as in "no item"."""
        self._counts[why] = self._counts.get(why, 0) + 1
        places = self._places.setdefault(why, [])
        if len(places) <= _PLACES:
            places.append(locator)

    def problems(self) -> Iterator[Problem]:
        """Yield what was left out: how many, why, and the first places."""
        for why, places in self._places.items():
            what = f"{self._counts[why]:,} of {self.n_read:,} {self.called} are left out ({why}): "
            yield from self.source.notes([what + comma_list(places, _PLACES)], "error")

    def parts(
        self, rows: Iterable[Row], runs: Mapping[str, Row], common: Mapping[str, object] | None = None
    ) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes in batches, then their runs and what was left out; refuse a file that no outcome came of.

        `common` are columns that are alike in every row.
        """
        n = 0
        for batch in in_frames(rows, "outcomes", common):
            n += batch.frame.height
            yield batch
        if not n:
            first = next((problem.message for problem in self.problems()), "it holds none at all")
            raise UnreadableFileError(f"{self.source.path}: none of its {self.called} could be read; {first}")
        yield Rows(table="runs", rows=list(runs.values()))
        yield from self.problems()

    def _elements(self) -> Iterator[tuple[str, object]]:
        if self._alone and self.head.shape == "object":
            yield "", load_json(self.source.path)
            return
        for part in iter_json(self.source.path, arrays=self._arrays):
            if isinstance(part, JsonItem):
                yield f"{part.member}[{part.index}]", part.value
            elif not self._arrays:
                raise UnreadableFileError(
                    f"{self.source.path}: is one JSON object; a list of {self.called} was expected"
                )
            elif part.member in self._keep:
                self.members[part.member] = part.value

    def _lines(self) -> Iterator[tuple[str, object]]:
        for number, value in json_lines(self.source.path):
            yield f"line {number}", value

    def _cells(self) -> Iterator[tuple[str, object]]:
        path, delimiter = self.source.path, self.head.delimiter
        header = header_of(path, delimiter)
        named = [(place, name) for place, name in enumerate(header) if name]
        cells = iter_cells(path, delimiter)
        next(cells, None)
        for line, row in cells:
            fits = len(row) == len(header)
            yield f"line {line}", {name: row[place] or None for place, name in named} if fits else _MISFIT


def _no_record(value: object) -> str:
    """Say what stands where a record was expected."""
    if isinstance(value, NotJson):
        return "no JSON, or cut off"
    if value is _MISFIT:
        return "not as many cells as the header"
    return "a bare text" if isinstance(value, str) else "no JSON object"


def parquet_records(path: Path, names: Collection[str] | None = None) -> Iterator[tuple[int, Row]]:
    """Yield (number from 0, members) of every row of a Parquet file; `names` are the columns to read, or None for all."""
    try:
        with open_regular(path) as stream:
            # A path tells Polars where to read and a stream is held whole; but Polars takes paths in Unicode only.
            source = path if readable_name(path) == str(path) else stream
            scan = pl.scan_parquet(source, glob=False, hive_partitioning=False)
            # A bare name such as "*" would be a pattern.
            wanted = [name for name in scan.collect_schema() if names is None or name in names]
            scan = scan.select(by_name(wanted))
            height = scan.select(pl.len()).collect().item()
            for first, frame in sliced(scan, height, rows_at_once(path, _PARQUET_ROWS, wanted)):
                yield from enumerate(frame.iter_rows(named=True), start=first)
    except (*PARQUET_FAULTS, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise UnreadableFileError(
            f"{path}: is not a Parquet file that can be read ({parquet_fault(error)}); write it again, or fetch it again"
        ) from error


def objects_in(path: Path, member: str = "", *, word: str = "row") -> Iterator[tuple[str, str, Row]]:
    """Yield the objects of an array in a JSON document: where each stands in words, its locator, and what it holds.

    `member` names the array; "" is a document that is one. Anything that is no object is refused.
    """
    for part in iter_json(path, arrays=(member,) if member else ()):
        if not isinstance(part, JsonItem) or part.member != member:
            if not member:
                raise InputError(f"is a JSON object; a list of {word}s was expected")
            continue
        where = f"{word} {part.index}"
        if not isinstance(value := part.value, dict):
            raise InputError(f"{where} is {held(value) or 'null'}, not an object")
        yield where, f"{member}[{part.index}]", cast("Row", value)


class Repeats:
    """Tells the first, second, ... time that something is seen.

    >>> repeats = Repeats()
    >>> repeats.next("q1"), repeats.next("q1"), repeats.next("q2")
    (0, 1, 0)
    """

    def __init__(self) -> None:
        self._seen: dict[object, int] = {}

    def next(self, key: object) -> int:
        """Return how often the key was seen before."""
        number = self._seen.get(key, 0)
        self._seen[key] = number + 1
        return number


class Held:
    """Rows of `outcomes` kept as columns until the file's end tells what all of them lack."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._frames: list[pl.DataFrame] = []

    def add(self, row: Row) -> None:
        """Keep a row."""
        self._rows.append(row)
        if len(self._rows) >= BATCH_ROWS:
            self._pack()

    def frames(self, *columns: pl.Expr) -> Iterator[Frame]:
        """Yield all rows, with these columns in place of their own."""
        self._pack()
        for frame in self._frames:
            yield Frame(table="outcomes", frame=frame.with_columns(*columns))

    def _pack(self) -> None:
        if self._rows:
            self._frames.append(frame_from_rows(self._rows, "outcomes"))
            self._rows = []


def cell_value(cell: object) -> object:
    """Return what a cell of delimited text holds as JSON; other text, and what is no text, stays as it is.

    >>> cell_value('{"a": 1}'), cell_value("2+2"), cell_value(3)
    ({'a': 1}, '2+2', 3)
    """
    if isinstance(cell, str) and cell[:1] in {"{", "[", '"'}:
        found = json_value(cell)
        return cell if isinstance(found, NotJson) else found
    return cell


def hashed(*parts: object) -> str:
    """Name an item that has no id by what was asked, the same in every file.

    >>> hashed({"q": "2+2", "n": 1}) == hashed({"n": 1, "q": "2+2"}) != hashed({"q": "2+2"})
    True
    """
    return _digest(parts)


def _digest(value: object) -> str:
    try:
        text = _ENCODE(value)
    except (TypeError, UnicodeEncodeError):  # half of a character, or a key that is no text
        text = json_text(value).encode()
    return hashlib.sha256(text).hexdigest()[:_ITEM_CHARS]


def item_of(*parts: object) -> str | None:
    """Name an item by a digest of what was asked, as `hashed` does where a file may be delimited text; None where nothing was.

    A number is the same as its text, since delimited text does not tell them apart, and 4.0 is 4.

    >>> item_of({"q": 4}) == item_of({"q": "4.0"}), item_of({"q": 4}) == item_of({"q": 5}), item_of({}, None)
    (True, False, None)
    """
    plain = [_plain(part) for part in parts]
    if not any(plain):
        return None
    return _digest(plain)


def _plain(value: object) -> object:
    """Return a value without its nulls, and its numbers as text."""
    if type(value) is str and not value.endswith("0"):
        return value
    if isinstance(value, dict):
        members = cast("Row", value)
        return {name: kept for name, inner in members.items() if (kept := _plain(inner)) is not None}
    if isinstance(value, list):
        return [_plain(part) for part in cast("list[object]", value)]
    text = value if isinstance(value, str) else as_text(value)
    whole = _WHOLE_WITH_POINT.fullmatch(text) if text and text[-1] == "0" and "." in text else None
    return text if whole is None else whole[1]


def how_to_name(name: str, advice: str = "Rename the file to say otherwise") -> str:
    """Say that the file names no model, and what to do about it."""
    return f"the file does not say which model it is of; it is called {name!r} after the file. {advice}"
