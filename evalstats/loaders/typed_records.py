"""Records of a result file as typed `msgspec` structs, in blocks: JSON, JSON Lines, delimited text or Parquet, packed or not.

What a struct does not declare is passed over by the decoder and never becomes an object. A record that does not fit is
counted, named and left out; a JSON document that is cut off is refused.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, Generic, TypeVar, cast

import msgspec

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Source, read_head
from evalstats.loaders.files import (
    JsonItem,
    NotJson,
    header_of,
    iter_cells,
    iter_json,
    json_value,
    line_pieces,
    load_json,
    open_bytes,
)
from evalstats.loaders.records import cell_value, parquet_records
from evalstats.schema.data import Problem

R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")

# A JSON document of at most so many bytes is held whole while its records are decoded; a longer one is read piece by piece.
_WHOLE_BYTES: Final = 256 << 20
_BLOCK_BYTES: Final = 16 << 20
_BLOCK_RECORDS: Final = 20_000
_PLACES: Final = 5
_FAULTS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
_RAW: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_LIST: Final = b"["
_OBJECT: Final = b"{"


class TypedRecords(Generic[R]):
    """The records of a file, decoded as `record`, each with its locator ("line 3", "results[2]").

    `lists` are where they may stand in a JSON object, as dotted paths; none means that the file is a list of them. `members`
    holds what else an object has, of the names in `keep`. With `alone`, an object is the file's only record. `called` is what
    the records are, for messages.

    `n_read` counts all that stood in the file, `n_left_out` those that no row was made of.
    """

    def __init__(
        self,
        source: Source,
        record: type[R],
        *,
        lists: Sequence[str] = (),
        keep: Iterable[str] = (),
        alone: bool = False,
        called: str = "records",
    ) -> None:
        self.source = source
        self.called = called
        self.head = read_head(source.path)
        self.members: dict[str, object] = {}
        self.n_read = 0
        self._record = record
        self._decoder = msgspec.json.Decoder(record)
        self._lists = lists
        self._keep = frozenset(keep)
        self._alone = alone
        self._pattern, self._places, self._at = "{}", cast("Sequence[int]", ()), 0
        self._left_out: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    @property
    def n_left_out(self) -> int:
        """How many records no row was made of."""
        return sum(self._counts.values())

    @property
    def locator(self) -> str:
        """Where the record stands that was given last."""
        return self._pattern.format(self._places[self._at])

    @property
    def locators(self) -> list[str]:
        """Where each record of the block stands that was given last."""
        return [self._pattern.format(place) for place in self._places]

    def blocks(self) -> Iterator[Iterator[R]]:
        """Yield the records some thousand at a time; each block is gone through before the next is asked for."""
        shape = self.head.shape
        if shape == "lines":
            yield from self._lines()
        elif shape == "text":
            path, delimiter = self.source.path, self.head.delimiter
            yield from self._converted("line {}", _cells(path, delimiter, header_of(path, delimiter)))
        elif shape == "parquet":
            yield from self._converted("row {}", parquet_records(self.source.path, self._names()))
        else:
            yield from self._document()

    def leave_out(self, why: str, locator: str | None = None) -> None:
        """Take note of a record that no row is made of; `why` is what it is or lacks, as in "no item"."""
        self._counts[why] = self._counts.get(why, 0) + 1
        places = self._left_out.setdefault(why, [])
        if len(places) <= _PLACES:
            places.append(self.locator if locator is None else locator)

    def problems(self) -> Iterator[Problem]:
        """Yield what was left out: how many, why, and the first places."""
        for why, places in self._left_out.items():
            what = f"{self._counts[why]:,} of {self.n_read:,} {self.called} are left out ({why}): "
            yield from self.source.notes([what + comma_list(places, _PLACES)], "error")

    def _names(self) -> set[str]:
        return {field.encode_name for field in msgspec.structs.fields(self._record)}

    def _block(self, pattern: str, records: Sequence[R], places: Sequence[int]) -> Iterator[R]:
        self._pattern, self._places = pattern, places
        for self._at, record in enumerate(records):
            yield record

    def _lines(self) -> Iterator[Iterator[R]]:
        before = 0
        for piece in line_pieces(self.source.path, _BLOCK_BYTES):
            n_lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
            try:
                records = self._decoder.decode_lines(piece)
            except _FAULTS:
                records = []
            places: Sequence[int] = range(before + 1, before + n_lines + 1)
            if len(records) == n_lines:
                self.n_read += n_lines
            else:
                # A blank line, one that is no such record, or lines that end as old Macs end them.
                lines = [line for line in enumerate(piece.splitlines(), start=before + 1) if line[1].strip()]
                n_lines = len(piece.splitlines())
                records, places = self._fitting("line {}", lines)
            before += n_lines
            yield self._block("line {}", records, places)

    def _document(self) -> Iterator[Iterator[R]]:
        path = self.source.path
        with open_bytes(path) as stream:
            data = stream.read(_WHOLE_BYTES + 1)
        try:
            if len(data) > _WHOLE_BYTES:
                raise msgspec.DecodeError
            lists = [("", [msgspec.Raw(data)])] if self._alone and self.head.shape == "object" else self._found(data)
        except _FAULTS:
            yield from self._piece_by_piece()
            return
        for member, elements in lists:
            first = 0
            for some in _batches(elements):
                pattern = f"{member}[{{}}]" if member or len(elements) > 1 or not self._alone else "{}"
                try:
                    records, places = [self._decoder.decode(raw) for raw in some], range(first, first + len(some))
                    self.n_read += len(some)
                except _FAULTS:
                    records, places = self._fitting(pattern, enumerate(map(bytes, some), start=first))
                first += len(some)
                yield self._block(pattern, records, places)

    def _found(self, data: bytes | msgspec.Raw, inside: str = "") -> list[tuple[str, list[msgspec.Raw]]]:
        """Return the lists of records with their names, undecoded, and keep the members that are asked for."""
        if not inside and bytes(memoryview(data)[:64]).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_LIST):
            return [("", _RAW(data))]
        found: list[tuple[str, list[msgspec.Raw]]] = []
        if not inside and not self._lists:
            raise UnreadableFileError(f"{self.source.path}: is one JSON object; a list of {self.called} was expected")
        for key, raw in _MEMBERS(data).items():
            name = f"{inside}{key}"
            opening = bytes(memoryview(raw)[:1])
            if name in self._lists and opening == _LIST:
                found.append((name, _RAW(raw)))
            elif opening == _OBJECT and any(path.startswith(f"{name}.") for path in self._lists):
                found += self._found(raw, f"{name}.")
            elif name in self._keep:
                self.members[name] = msgspec.json.decode(raw)
        return found

    def _piece_by_piece(self) -> Iterator[Iterator[R]]:
        """Read a document that is too long to be held, or that holds NaN; what is wrong with it is raised here."""
        if self._alone and self.head.shape == "object":
            yield from self._converted("{}", [(0, load_json(self.source.path))])
            return
        pattern = "{}"
        values: list[tuple[int, object]] = []
        for part in iter_json(self.source.path, arrays=(*self._lists,)):
            if isinstance(part, JsonItem):
                if values and (pattern != f"{part.member}[{{}}]" or len(values) >= _BLOCK_RECORDS):
                    yield from self._converted(pattern, values)
                    values = []
                pattern = f"{part.member}[{{}}]"
                values.append((part.index, part.value))
            elif not self._lists:
                raise UnreadableFileError(
                    f"{self.source.path}: is one JSON object; a list of {self.called} was expected"
                )
            elif part.member in self._keep:
                self.members[part.member] = part.value
        yield from self._converted(pattern, values)

    def _converted(self, pattern: str, values: Iterable[tuple[int, object]]) -> Iterator[Iterator[R]]:
        for some in _batches(values):
            yield self._block(pattern, *self._fitting(pattern, some))

    def _fitting(self, pattern: str, values: Iterable[tuple[int, object]]) -> tuple[list[R], list[int]]:
        """Decode records one by one, from JSON text or from what it held, and leave out those that do not fit."""
        records: list[R] = []
        places: list[int] = []
        for place, value in values:
            self.n_read += 1
            found = self._decoded(value) if isinstance(value, bytes) else self._fitted(value)
            if isinstance(found, str):
                self.leave_out(found, pattern.format(place))
            else:
                records.append(found)
                places.append(place)
        return records, places

    def _decoded(self, text: bytes) -> R | str:
        try:
            return self._decoder.decode(text)
        except _FAULTS:
            return self._fitted(json_value(text))  # with NaN, or half of a character; or what is wrong with it

    def _fitted(self, value: object) -> R | str:
        """Return a record, or what is wrong with it in words that are the same for all records of the kind."""
        if not isinstance(value, dict):
            return next((words for kind, words in _NO_RECORD.items() if isinstance(value, kind)), "no JSON object")
        error: msgspec.ValidationError | None = None
        of_text = self.head.shape == "text"
        members = cast("dict[str, object]", value)
        for record in ({name: cell_value(cell) for name, cell in members.items()}, members) if of_text else (members,):
            try:
                return msgspec.convert(record, self._record, strict=not of_text)
            except msgspec.ValidationError as fault:
                error = fault
        return str(error).replace("Object missing required field", "no").replace("`", "").lower()


_NO_RECORD: Final[dict[type, str]] = {
    NotJson: "no JSON, or cut off",
    str: "a bare text",
    tuple: "not as many cells as the header",
}


def _batches(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while batch := list(islice(rest, _BLOCK_RECORDS)):
        yield batch


def _cells(path: Path, delimiter: str, header: Sequence[str]) -> Iterator[tuple[int, object]]:
    """Yield the rows of delimited text with their lines; a row that does not fit the header as a tuple."""
    rows = iter_cells(path, delimiter)
    next(rows, None)
    for line, row in rows:
        fits = len(row) == len(header)
        yield line, {name: cell or None for name, cell in zip(header, row, strict=True) if name} if fits else (*row,)
