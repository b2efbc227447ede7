"""Records of a result file as typed `msgspec` structs, in blocks: JSON, JSON Lines, delimited text or Parquet, packed or not.

What a struct does not declare is passed over by the decoder and never becomes an object. Where only the file says which
members there are, records are dicts or lists (`dict[str, Any]`, `list[Any]`). A record that does not fit is counted, named and
left out; a JSON document that is cut off is refused.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast, get_origin, get_type_hints

import msgspec
import numpy as np
import polars as pl
from msgspec import Raw, Struct

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Source, read_head
from evalstats.loaders.delimited import header_of, iter_frames
from evalstats.loaders.files import (
    BadRow,
    cell_value,
    check_objects,
    encoding_message,
    iter_json,
    line_pieces,
    load_json,
    loads,
    open_bytes,
)
from evalstats.loaders.parquet_sizes import parquet_frames
from evalstats.loaders.values import as_text
from evalstats.schema.data import Problem

R = TypeVar("R")
Place = int | str
# What may stand in a file where a list or an object is expected, so that the record is kept: `part: Part | Other = None`.
Plain = str | float | int | bool | None
Other = Plain | list[Any]
# How the places of a list are written, the places, and its elements, decoded or not.
_List = tuple[str, Sequence[Place], "Sequence[Raw | Struct]"]

# A JSON document of at most so many bytes is held whole while its records are decoded; a longer one is read piece by piece.
_WHOLE_BYTES: Final = 256 << 20
# The records of so long a list never take more than one reading may.
_AT_ONCE_BYTES: Final = 32 << 20
_PIECE_BYTES: Final = 1 << 20
_BLOCK_BYTES: Final = 8 << 20
_PIECES: Final = 4
_BLOCK_RECORDS: Final = 5_000
_PIECE_RECORDS: Final = 500
# Rows of results hold prompts and answers, so few are held at a time.
_PARQUET_ROWS: Final = 1_000
_PLACES: Final = 5
_FAULTS: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
_RAW: Final = msgspec.json.Decoder(list[Raw]).decode
_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw]).decode
# The number of members of an object, a name that stands twice counted twice; what they hold is dropped at once.
_N_MEMBERS: Final = json.JSONDecoder(object_pairs_hook=len, parse_int=str).decode
_NEWLINE: Final = ord("\n")
_LIST: Final = b"["
_OBJECT: Final = b"{"
_NO_JSON: Final = "no JSON, or cut off"


class TypedRecords(Generic[R]):
    """The records of a file, decoded as `record`, each with its locator ("line 3", "results[2]").

    `at` says where they may stand in a JSON document: dotted paths of lists; `*` for the members of an object ("eval.*"), each
    of which becomes a record of `key` and `value`; "." for the object itself, which is then the only record. Nothing means that
    the file is a list of them. `members` holds what else an object has, of the names in `keep`. `called` is what the records
    are, for messages.

    `n_read` counts all that stood in the file, `n_left_out` those that no row was made of; `fault` is what the parser said of the
    last text that was no JSON. A reader of several files opens one after the other, and says which of them a place is in.
    """

    def __init__(
        self,
        source: Source,
        record: type[R],
        *,
        at: Sequence[str] = (),
        keep: Iterable[str] = (),
        called: str = "records",
    ) -> None:
        self.source = source
        self.called = called
        self.n_read = 0
        self.fault = ""
        self.begin(source.path)
        self._record = record
        self._members = _members(record)
        self._keyed = is_keyed(at)
        self._lists = [path.removesuffix(".*") for path in at if path not in {".", "*"}]
        self._alone = "." in at
        element: Any = get_type_hints(record)["value"] if self._keyed else record
        self._decoder = msgspec.json.Decoder(element)
        self._several = msgspec.json.Decoder(list[element])
        self._keep = frozenset(keep)
        self._pattern, self._places, self._at = "{}", cast("Sequence[Place]", ()), 0
        self._left_out: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def begin(self, path: Path, called: str = "") -> None:
        """Make this the file that is read; `called` is what places in it begin with."""
        self.path, self.head, self._before = path, read_head(path), called and f"{called} "
        self.members: dict[str, object] = {}

    @property
    def n_left_out(self) -> int:
        """How many records no row was made of."""
        return sum(self._counts.values())

    @property
    def locator(self) -> str:
        """Where the record stands that was given last."""
        return self._place(self._pattern, self._places[self._at])

    def _place(self, pattern: str, place: Place) -> str:
        within = pattern.format(place)
        return f"{self._before}{within}" if within else self._before.rstrip()

    @property
    def locators(self) -> pl.Series:
        """Where each record of the block stands that was given last."""
        before, _, after = self._pattern.partition("{}")
        return pl.select(
            pl.concat_str(pl.lit(self._before + before), pl.Series(self._places).cast(pl.String), pl.lit(after))
        ).to_series()

    def blocks(self) -> Iterator[list[R]]:
        """Yield the records some thousand at a time; `locators` are those of the block that was given last."""
        shape = self.head.shape
        if self._keyed and shape in {"object", "lines"}:  # a document of one line is none of lines
            yield from self._document()
        elif shape == "lines":
            yield from self._lines()
        elif shape == "text":
            yield from self._rows()
        elif shape == "parquet":
            yield from self._converted("row {}", parquet_records(self.path, self._members))
        else:
            yield from self._document()

    def __iter__(self) -> Iterator[tuple[str, R]]:
        """Yield the records one by one, each with its locator."""
        for block in self.blocks():
            for record in self.one_by_one(block):
                yield self.locator, record

    def one_by_one(self, block: Sequence[R]) -> Iterator[R]:
        """Yield the records of the block that was given last; `locator` is that of the record."""
        for self._at, record in enumerate(block):
            yield record

    def leave_out(self, why: str, locator: str | None = None) -> None:
        """Take note of a record that no row is made of; `why` is what it is or lacks, as in "no item"."""
        self._counts[why] = self._counts.get(why, 0) + 1
        places = self._left_out.setdefault(why, [])
        if len(places) <= _PLACES:
            places.append(self.locator if locator is None else locator)

    def problems(self) -> Iterator[Problem]:
        """Yield what was left out: how many, why, and the first places."""
        for why, places in self._left_out.items():
            what = f"{self._counts[why]:,} of {self.n_read:,} {self.called} are dropped ({why}): "
            yield from self.source.notes([what + comma_list(places, _PLACES)], "error")

    def _block(self, pattern: str, records: list[R], places: Sequence[Place]) -> list[R]:
        self._pattern, self._places, self._at = pattern, places, 0
        return records

    def _lines(self) -> Iterator[list[R]]:
        """Read pieces that the processor's cache holds; many of them make a block, the more of structs, which hold little."""
        before, n_bytes, most = 0, 0, _BLOCK_BYTES if self._members is None else _PIECES * _BLOCK_BYTES
        held: list[R] = []
        held_at: list[Sequence[Place]] = []
        for piece in line_pieces(self.path, _PIECE_BYTES):
            if len(piece) > 2 * _BLOCK_BYTES:  # one line is long
                check_objects(piece, self.path)
            n_lines = int(np.count_nonzero(np.frombuffer(piece, np.uint8) == _NEWLINE)) + (piece[-1] != _NEWLINE)
            try:
                records = self._decoder.decode_lines(piece)
            except _FAULTS:
                records = []
            places: Sequence[Place] = range(before + 1, before + n_lines + 1)
            if len(records) == n_lines:
                self.n_read += n_lines
            else:
                # A blank line, one that is no such record, or lines that end as old Macs end them.
                texts = bytes(piece).splitlines()
                n_lines = len(texts)
                lines = [line for line in enumerate(texts, start=before + 1) if line[1].strip()]
                records, places = self._fitting("line {}", lines)
            before += n_lines
            held += records
            held_at.append(places)
            n_bytes += len(piece)
            if n_bytes >= most:
                yield self._block("line {}", held, [*chain.from_iterable(held_at)])
                held, held_at, n_bytes = [], [], 0
        if held_at:
            yield self._block("line {}", held, [*chain.from_iterable(held_at)])

    def _rows(self) -> Iterator[list[R]]:
        """Read delimited text: cells of columns that hold JSON are read as such, columns that no record has are not looked at."""
        path, delimiter = self.path, self.head.delimiter
        header = header_of(path, delimiter)
        wanted = [at for at, name in enumerate(header) if name and (self._members is None or name in self._members)]
        read = wanted or [0]
        names = [header[at] for at in read]

        def misfit(said: str) -> None:
            self.n_read += 1
            self.leave_out("not as many cells as the header", self._place("{}", said.partition(" has ")[0]))

        size = {"most_rows": _BLOCK_RECORDS, "most_chars": _BLOCK_BYTES}
        for frame, lines in iter_frames(path, delimiter, n_columns=len(header), bad=misfit, **size):
            columns = (frame.to_series(at).to_list() for at in read)
            if self._members is not None:
                of_text = [self._members.get(name, True) for name in names]
                columns = (
                    cells if plain else [*map(cell_value, cells)] for cells, plain in zip(columns, of_text, strict=True)
                )
            values = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
            yield self._block("line {}", *self._fitting_at_once("line {}", lines, values))

    def _document(self) -> Iterator[list[R]]:
        with open_bytes(self.path) as stream:
            # What is not packed is read in one piece, of which a join makes no copy.
            first = stream.read(min(self.path.stat().st_size, _WHOLE_BYTES) + 1)
            rest = iter(lambda: stream.read(_PIECE_BYTES), b"")
            data = b"".join([first, *islice(rest, _WHOLE_BYTES // _PIECE_BYTES + 1)])
        try:
            if len(data) > _WHOLE_BYTES:
                raise msgspec.DecodeError
            found: list[_List] = [("", [""], [Raw(data)])] if self._is_alone else self._found(data)
        except _FAULTS:
            yield from self._piece_by_piece()
            return
        for pattern, all_places, elements in found:
            at_once = _BLOCK_BYTES * (_PIECES if elements and isinstance(elements[0], Struct) else 1)
            step = max(1, len(elements) * at_once // len(data))
            for first in range(0, len(elements), step):
                places, some = all_places[first : first + step], elements[first : first + step]
                if isinstance(some[0], Struct):
                    self.n_read += len(some)
                    yield self._block(pattern, cast("list[R]", some), places)
                    continue
                texts = cast("Sequence[Raw]", some)
                try:
                    if len(data) > 2 * _BLOCK_BYTES:
                        self._check(texts)
                    records = self._decode(places, texts)
                    self.n_read += len(texts)
                except _FAULTS:
                    if self._is_alone:
                        yield from self._piece_by_piece()
                        return
                    try:  # what is passed over is not looked at
                        data.decode()
                    except UnicodeDecodeError as error:
                        raise UnreadableFileError(encoding_message(str(self.path), error)) from error
                    records, places = self._fitting(pattern, zip(places, map(bytes, texts), strict=True))
                yield self._block(pattern, records, places)

    @property
    def _is_alone(self) -> bool:
        """Whether the document is a record and holds no list of them."""
        inside = {path.partition(".")[0] for path in self._lists}
        return self._alone and self.head.shape == "object" and self.head.keys.isdisjoint(inside)

    def _found(self, data: bytes | Raw, inside: str = "") -> list[_List]:
        """Return the lists of records, undecoded, with how their places are written; keep the members that are asked for."""
        if not inside and bytes(memoryview(data)[:64]).lstrip().startswith(_LIST):
            self._refuse_list()
            elements = self._elements(data)
            return [("[{}]", range(len(elements)), elements)]
        found: list[_List] = []
        members = _MEMBERS(data)
        if not inside and not self._lists:
            self._refuse_object()
            _refuse_twice(data, members)
            self.members |= {name: msgspec.json.decode(members.pop(name)) for name in self._keep & members.keys()}
            return [("{}", [*members], [*members.values()])]
        for key, raw in members.items():
            name = f"{inside}{key}"
            opening = bytes(memoryview(raw)[:1])
            if name in self._lists and self._keyed and opening == _OBJECT:
                keyed = _MEMBERS(raw)
                _refuse_twice(raw, keyed)
                found.append((f"{name}.{{}}", [*keyed], [*keyed.values()]))
            elif name in self._lists and not self._keyed and opening == _LIST:
                elements = self._elements(raw)
                found.append((f"{name}[{{}}]", range(len(elements)), elements))
            elif opening == _OBJECT and any(path.startswith(f"{name}.") for path in self._lists):
                found += self._found(raw, f"{name}.")
            elif name in self._keep:
                self.members[name] = msgspec.json.decode(raw)
        return found

    def _elements(self, text: bytes | Raw) -> Sequence[Raw | Struct]:
        """Return what a list holds: records at once where it is short and all of them fit; else its elements undecoded."""
        if self._members is not None and not self._keyed and len(memoryview(text)) <= _AT_ONCE_BYTES:
            with suppress(*_FAULTS):
                return cast("list[Struct]", self._several.decode(text))
        return _RAW(text)

    def _refuse_list(self) -> None:
        if self._keyed:
            raise UnreadableFileError(f"{self.path}: is a list; an object with {self.called} was expected")

    def _refuse_object(self) -> None:
        if not self._lists and not self._keyed:
            raise UnreadableFileError(f"{self.path}: is one JSON object; a list of {self.called} was expected")

    def _piece_by_piece(self) -> Iterator[list[R]]:
        """Read a document that is too long to be held, holds NaN or a name twice; what is wrong with it is raised here."""
        if self._is_alone:
            yield from self._converted("", [("", load_json(self.path))])
            return
        pattern = "{}"
        values: list[tuple[Place, object]] = []
        named: set[str] = set()
        arrays = (*(f"{name}." if self._keyed else name for name in self._lists),)
        beside = iter_json(self.path, arrays=arrays) if self._keep else ()
        self.members |= {each.member: each.value for each in beside if each.member in self._keep}
        for part in iter_json(self.path, arrays=arrays):
            if part.index is not None:
                self._refuse_list()
                found, place = f"{part.member}[{{}}]", part.index
            elif part.member in self._keep:
                continue
            else:
                self._refuse_object()
                inside = next((f"{name}." for name in self._lists if part.member.startswith(f"{name}.")), "")
                if not self._keyed or bool(inside) != bool(self._lists):
                    continue
                found, place = f"{inside}{{}}", part.member.removeprefix(inside)
                if part.member in named:
                    self.n_read += 1
                    self.leave_out("the name appeared before, and the first counts", self._place("{}", part.member))
                    continue
                named.add(part.member)
            if values and (pattern != found or len(values) >= _PIECE_RECORDS):
                yield from self._converted(pattern, values)
                values = []
            pattern = found
            values.append((place, part.value))
        yield from self._converted(pattern, values)

    def _converted(self, pattern: str, values: Iterable[tuple[Place, object]]) -> Iterator[list[R]]:
        rest = iter(values)
        while some := [*islice(rest, _BLOCK_RECORDS)]:
            places, held = zip(*some, strict=True)
            yield self._block(pattern, *self._fitting_at_once(pattern, places, held))

    def _fitting_at_once(
        self, pattern: str, places: Sequence[Place], values: Sequence[object]
    ) -> tuple[list[R], Sequence[Place]]:
        """Make records of what a block holds; one by one only where one of them does not fit."""
        if self.head.shape == "text" and self._members is None and get_origin(self._record) is dict:
            self.n_read += len(values)
            return cast("list[R]", values), places
        if not self._keyed:
            with suppress(*_FAULTS):
                records = msgspec.convert(values, list[self._record], strict=self.head.shape != "text")
                self.n_read += len(records)
                return records, places
        return self._fitting(pattern, zip(places, values, strict=True))

    def _fitting(self, pattern: str, values: Iterable[tuple[Place, object]]) -> tuple[list[R], list[Place]]:
        """Decode records one by one, from JSON text or from what it held, and leave out those that do not fit."""
        records: list[R] = []
        places: list[Place] = []
        for place, value in values:
            self.n_read += 1
            where = self._place(pattern, place)
            found = self._decoded(value, place, where) if isinstance(value, bytes) else self._fitted(value, place)
            if isinstance(found, str):
                self.leave_out(found, where)
            else:
                records.append(found)
                places.append(place)
        return records, places

    def _check(self, elements: Sequence[bytes | Raw]) -> None:
        """Refuse long records of a document whose objects would take too much memory."""
        if sum(len(memoryview(raw)) for raw in elements) > 2 * _BLOCK_BYTES:
            for raw in elements:
                check_objects(memoryview(raw), self.path)

    def _decode(self, places: Sequence[Place], elements: Sequence[bytes | Raw]) -> list[R]:
        found = [*map(self._decoder.decode, elements)]
        if not self._keyed:
            return found
        make = cast("Callable[..., R]", self._record)
        return [make(key=place, value=value) for place, value in zip(places, found, strict=True)]

    def _decoded(self, text: bytes, place: Place, where: str) -> R | str:
        try:
            self._check([text])
            return self._decode([place], [text])[0]
        except _FAULTS:
            pass
        try:
            return self._fitted(loads(text, where), place)  # with NaN, or half of a character; or what is wrong with it
        except UnreadableFileError as error:
            self.fault = str(error)
            return _NO_JSON

    def _fitted(self, value: object, place: Place) -> R | str:
        """Return a record, or what is wrong with it in words that are the same for all records of the kind."""
        if self._keyed:
            value = {"key": place, "value": value}
        kind = list if get_origin(self._record) is list else dict
        if not isinstance(value, kind):
            return "a bare text" if isinstance(value, str) else f"no JSON {'list' if kind is list else 'object'}"
        try:
            return converted(cast("object", value), self._record, strict=self.head.shape != "text")
        except msgspec.ValidationError as error:
            return str(error).replace("Object missing required field", "no").replace("`", "").lower()


class PlainRecords(TypedRecords[dict[str, Any]]):
    """The objects of a file of JSON, or the rows of a table, as they are, each with its number.

    What is wrong with one is given to `bad`; without that it is raised.
    """

    def __init__(self, path: Path, bad: BadRow | None = None) -> None:
        super().__init__(Source(path=path), dict[str, Any], at=(".",))
        self._bad = bad

    @property
    def numbers(self) -> pl.Series:
        """The number of each record of the block that was given last; null for the only one of a file."""
        return pl.Series(self._places, dtype=pl.Int64, strict=False)

    def numbered(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the records one by one: with their lines from 1, or with their places in a list or their rows from 0."""
        for block in self.blocks():
            yield from zip(self.numbers, block, strict=True)

    def leave_out(self, why: str, locator: str | None = None) -> None:
        """Hand on what is wrong with a record, or raise it."""
        place, kind = locator or self.locator, "line must be one record"
        if self.head.shape == "array":
            place, kind = f"record {place.strip('[]')} (counted from 0)", "element must be one"
        problem = f"{place}: {why}" if self.head.shape == "text" else f"{place} is not a JSON object; every {kind}"
        problem = self.fault if why == _NO_JSON else problem
        if self._bad is None:
            raise UnreadableFileError(f"{self.path}: {problem}")
        self._bad(problem)


def parquet_records(path: Path, names: Collection[str] | None = None) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield (number from 0, members) of every row of a Parquet file; `names` are the columns to read, or None for all."""
    try:
        for first, frame in parquet_frames(path, _PARQUET_ROWS, lambda name, _: names is None or name in names):
            yield from enumerate(frame.iter_rows(named=True), start=first)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:  # a value that Python cannot hold
        raise UnreadableFileError(
            f"{path}: is not a Parquet file that can be read ({error}); write it again, or fetch it again"
        ) from error


def is_keyed(at: Iterable[str]) -> bool:
    """Whether records are the members of an object."""
    return any(path.endswith("*") for path in at)


def converted(value: object, record: type[R], *, strict: bool = True) -> R:
    """Return what JSON held as a record; half characters are replaced."""
    try:
        return msgspec.convert(value, record, strict=strict)
    except UnicodeError:
        return msgspec.convert(_in_whole_characters(value), record, strict=strict)


def _in_whole_characters(value: object) -> object:
    """Return what JSON held with half characters in its names and texts replaced."""
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, dict):
        return {as_text(name): _in_whole_characters(inner) for name, inner in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_in_whole_characters(inner) for inner in cast("list[object]", value)]
    return value


def _members(record: object) -> Mapping[str, bool] | None:
    """Return which members a record has, and whether each is a text; None for a record that has any."""
    if not isinstance(record, type) or not issubclass(record, msgspec.Struct):
        return None
    return {field.encode_name: field.type in {str, str | None} for field in msgspec.structs.fields(record)}


def _refuse_twice(data: bytes | Raw, members: Mapping[str, Raw]) -> None:
    """Raise a fault of the decoder where a name stands twice in an object, of which a dict keeps the last."""
    text = data.strip() if type(data) is bytes else memoryview(data)
    between = (
        len(text) - len("".join(members)) - 2 * len(members) - sum(len(memoryview(raw)) for raw in members.values())
    )
    # As programs write it, without blanks or with one behind each mark, there is room for these members alone.
    if between not in (2 * len(members) + 1, 4 * len(members)) and _N_MEMBERS(bytes(text).decode()) != len(members):
        raise msgspec.DecodeError
