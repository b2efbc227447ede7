"""Open result files safely: bounded decompression, declared encodings, JSON read piece by piece, delimited text read strictly.

Result files are hostile input. Nothing here extracts to disk, follows a name found inside a file, or holds more than
one record in memory. A delimited row that does not fit its header is an error.
"""

import csv
import gzip
import io
import json
import re
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import AnyStr, BinaryIO, cast

import msgspec

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.roles import USUAL_NAMES
from evalstats.loaders.sheets import is_sheet, sheet_as_text
from evalstats.regular import open_regular
from evalstats.schema.memory import as_size, limit_of, too_much

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

HEAD_BYTES = 1 << 16
MAX_RECORD_CHARS = 512 << 20
_MAX_SMALL_BYTES = 1 << 20
# A stream that grows more than this much, past this size, is taken for a decompression bomb.
MAX_RATIO = 500
RATIO_FROM_BYTES = 64 << 20

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZIP = b"PK\x03\x04"
# How a JSON text begins that holds a JSON object, and the longest that is taken out of it.
_JSON_IN_TEXT = b'"{\\'
_MOST_IN_TEXT = 256 << 20
# A table of Markdown, the line below its header, and what is set bold or linked in its cells.
_MARKDOWN = b"|"
_MARKDOWN_ENDINGS = frozenset({".md", ".markdown"})
_MOST_MARKDOWN = 16 << 20
_RULE = re.compile(r"[\s|:-]+")
_BAR = re.compile(r"(?<!\\)\|")
_MARKUP = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)|[*`]+([^*`]*)[*`]+")
_ZIP_NOISE = "__MACOSX/"
_ZIP_SHOWN = 3
# zipfile raises the last two for an encrypted member and for a method that it does not know.
_ZIP_FAULTS = (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, ValueError, RuntimeError, NotImplementedError)
_UTF_8_MARK, _UTF_16_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 1 << 20
# So much of a text, and so many of its lines, are looked at for what stands above a header.
_LOOKED_AT, _LINES_LOOKED_AT = 1 << 13, 20
_PLAIN_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
# Shorter texts hold no more than a few hundred MiB of objects.
_LONG_CHARS = 16 << 20
# What Python's objects take, by the characters that each needs: an object, an array, a further value, a name.
_OBJECT_BYTES = (("{", 200), ("[", 72), (",", 64), (":", 100))
_MOST_PER_CHAR = 100  # each brace has a second one
_MANY_DIGITS = 400  # a float ends at 309
_DECODE = msgspec.json.Decoder().decode
_FAULTS = (msgspec.MsgspecError, UnicodeError, RecursionError)

# Takes what is wrong with a row that is left out.
BadRow = Callable[[str], None]
_SPACE = re.compile(r"\s*")
# What a fault may point at because the file ends there: in a number the decoder stops before "." and "e".
_JSON_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_NUMBER_REST = re.compile(r"\.|[eE][+-]?")


class _Stream(io.RawIOBase):
    """The bytes that `give` returns, of which it is asked for so many at most; what lies below is closed with it."""

    def __init__(self, give: Callable[[int], bytes], below: BinaryIO) -> None:
        super().__init__()
        self._give, self._below = give, below

    def readable(self) -> bool:
        """Tell `io` that this stream can be read."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill `buffer` as far as what is given does."""
        view = memoryview(cast("bytearray", buffer)).cast("B")
        data = self._give(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the stream underneath as well."""
        self._below.close()
        super().close()


def _stream(give: Callable[[int], bytes], below: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Stream(give, below), buffer_size=_CHUNK))


def _bounded(unpacked: BinaryIO, path: Path) -> BinaryIO:
    """Refuse to go on where the data are damaged or outgrow the file that they came from."""
    limit, seen = max(RATIO_FROM_BYTES, MAX_RATIO * path.stat().st_size), 0

    def give(size: int) -> bytes:
        nonlocal seen
        try:
            data = unpacked.read(size)
        except (OSError, EOFError, zstd.ZstdError, zipfile.BadZipFile, zlib.error) as error:
            raise UnreadableFileError(
                f"{path}: the compressed data are damaged or cut off ({error}); fetch the file again"
            ) from error
        seen += len(data)
        if seen > limit:
            raise UnreadableFileError(
                f"{path}: unpacks to more than {limit >> 20} MiB, over {MAX_RATIO} times its size; "
                "refused as a decompression bomb. If it is genuine, unpack it yourself first"
            )
        return data

    return _stream(give, unpacked)


@contextmanager
def open_bytes(path: Path, *, titled: bool = False) -> Generator[BinaryIO]:
    """Open a file for reading, unpacking gzip and Zstandard (told by their first bytes, not by the name).

    Decoding is strict: of a wrong byte, whoever decodes what is read here is told with the name of the file.

    Text in UTF-16, which a byte-order mark tells, is read as UTF-8, and no mark is part of a text. A file `*.zip` that holds a
    single file is that file. Formats that are archives themselves (Inspect's .eval) stay closed. A JSON document that was
    written as a text of JSON, as Google ADK does, is what the text holds; a spreadsheet and a table of Markdown are delimited
    text. A title above a table is left out, unless `titled`.
    """
    try:
        raw = open_regular(path)
    except OSError as error:
        raise UnreadableFileError(f"{path}: cannot be opened ({error.strerror or error})") from error
    with raw, _decoding(path):
        magic = raw.read(4)
        raw.seek(0)
        if magic[:2] == _GZIP:
            unpacked = cast("BinaryIO", gzip.GzipFile(fileobj=raw))
        elif magic == _ZSTD:
            unpacked = cast("BinaryIO", zstd.ZstdFile(raw))
        elif magic == _ZIP and path.suffix.lower() == ".zip" and (member := _only_member(path, raw)):
            unpacked = member
        else:
            raw.seek(0)
            if magic[:3] == _JSON_IN_TEXT:
                yield _out_of_text(raw)
            elif magic.lstrip()[:1] == _MARKDOWN or path.suffix.lower() in _MARKDOWN_ENDINGS:
                yield _out_of_markdown(raw, path)
            elif is_sheet(raw):
                yield _in_memory(sheet_as_text(path))
            else:
                yield _text_of(raw, titled=titled)
            return
        with _bounded(unpacked, path) as stream:
            yield _text_of(stream, titled=titled)


@contextmanager
def _decoding(path: Path) -> Generator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise UnreadableFileError(encoding_message(str(path), error)) from error


def _text_of(stream: BinaryIO, *, titled: bool) -> BinaryIO:
    """Return text as UTF-8, without a mark and, unless `titled`, without what stands above a table."""
    start = cast("io.BufferedReader", stream).peek(4)
    if start.startswith(_UTF_16_MARKS):
        text = io.TextIOWrapper(stream, encoding="utf-16", errors="strict", newline="")
        stream = _stream(lambda size: text.read(size // 4).encode(), stream)  # a character takes up to four bytes
    elif start.startswith(_UTF_8_MARK):
        stream.read(len(_UTF_8_MARK))
    return stream if titled else _without_title(stream)


def _in_memory(data: bytes) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", io.BytesIO(data))))


def _without_title(stream: BinaryIO) -> BinaryIO:
    """Return delimited text with blank lines in the place of a title and of comments above its header."""
    start = cast("io.BufferedReader", stream).peek(_LOOKED_AT)[:_LOOKED_AT]
    n = lines_above(start.decode(errors="replace"))
    if not n:
        return stream
    above = [stream.readline() for _ in range(n)]
    blank = io.BytesIO(b"".join(line[len(line.rstrip(b"\r\n")) :] for line in above))
    return _stream(lambda size: blank.read(size) or stream.read(size), stream)


@lru_cache(maxsize=8)  # a file is opened for its head, its header and its rows
def lines_above(text: str) -> int:
    r"""Return how many lines stand above the header of delimited text: titles and comments.

    What is below a header has as many cells, and a header holds no numbers. Where several lines may be it, or one with cells of
    its own stands above it, it is the one with most names that columns usually have.

    >>> (
    ...     lines_above("My results,,\n\nid,model,ok\nq1,a,1\n"),
    ...     lines_above("# by me, in May, again\nid;ok\nq1;1\n"),
    ...     lines_above("By me, in May, again\nid,model,ok\nq1,a,1\n"),
    ...     lines_above("# id,ok\nq1,pass\nq2,fail\n"),
    ... )
    (2, 1, 1, 0)
    """
    lines = text.split("\n")[:_LINES_LOOKED_AT]
    if not lines or "\0" in text or text.lstrip()[:1] in {"{", "[", "<", ""}:
        return 0
    best, most, above = 0, 0, False
    for place, (line, below) in enumerate(pairwise(lines)):
        delimiter = max(",;\t", key=line.count)
        try:
            header, row = (
                next(csv.reader([each], delimiter=delimiter, skipinitialspace=True), list[str]())
                for each in (line, below)
            )
        except csv.Error:
            break
        if any(_PLAIN_NUMBER.fullmatch(cell.strip()) for cell in header):
            break
        named = len({re.sub(r"\W+", "_", cell.lower()).strip("_") for cell in header} & USUAL_NAMES)
        if len([*filter(None, header)]) > 1:
            if len(row) == len(header) and named > (max(most, 1) if above else most - 1):
                best, most = place, named
            above = above or not line.startswith("# ")
    return best if any(each.strip() for each in lines[:best]) else 0


def _out_of_text(raw: BinaryIO) -> BinaryIO:
    """Return the JSON that a JSON text holds; the file as it is where it is no such text, or a very long one."""
    data = raw.read(_MOST_IN_TEXT + 1)
    try:
        if len(data) <= _MOST_IN_TEXT:
            return _in_memory(msgspec.json.decode(data, type=str).encode())
    except (msgspec.MsgspecError, UnicodeError):
        pass
    raw.seek(0)
    return raw


def _out_of_markdown(raw: BinaryIO, path: Path) -> BinaryIO:
    """Return a table of Markdown as delimited text with the same lines; a file that is too long or no text as it is."""
    data = raw.read(_MOST_MARKDOWN)
    raw.seek(0)
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:  # said when its lines are read
        return raw
    if len(data) == _MOST_MARKDOWN:
        return raw
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    rows = [number for number, line in enumerate(lines) if line.lstrip().startswith("|")]
    apart = next((number for number, following in pairwise(rows) if following > number + 1), None)
    if apart is not None:
        raise UnreadableFileError(
            f"{path}: holds several tables of Markdown, the first of which ends in line {apart + 1}; keep one in the file"
        )
    for number, line in enumerate(lines) if rows else ():
        cells = [
            _MARKUP.sub(r"\1\2", cell).strip() for cell in _BAR.split(line.strip().removeprefix("|").removesuffix("|"))
        ]
        is_cells = rows[0] <= number <= rows[-1] and not (number == rows[0] + 1 and _RULE.fullmatch(line))
        writer.writerow([cell.replace("\\|", "|") for cell in cells] if is_cells else [])
    return _in_memory(made.getvalue().encode()) if rows else raw


def _only_member(path: Path, raw: BinaryIO) -> BinaryIO | None:
    """Open the one file in a ZIP archive, unread; None for an archive that is an Inspect log by another name.

    Names in the archive are labels and never paths, and nothing is written to disk.
    """
    try:
        directory = zipfile.ZipFile(raw)
        held = [
            info
            for info in directory.infolist()
            if not info.is_dir()
            and not info.filename.startswith(_ZIP_NOISE)
            and not info.filename.endswith(".DS_Store")
        ]
        if {"header.json", "_journal/start.json"} & {info.filename for info in held}:
            return None
        if len(held) != 1:
            names = comma_list((repr(info.filename) for info in held), _ZIP_SHOWN)
            raise UnreadableFileError(
                f"{path}: holds {len(held)} files ({names}); an archive of "
                "one result file was expected. Unpack it and give the folder"
            )
        return cast("BinaryIO", directory.open(held[0]))
    except _ZIP_FAULTS as error:
        raise UnreadableFileError(
            f"{path}: is not a readable ZIP archive ({error}); unpack it yourself, or fetch it again"
        ) from error


@contextmanager
def open_text(path: Path) -> Generator[io.TextIOBase]:
    """Open a file as text."""
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="strict", newline="")
        yield text
        text.detach()


class JsonPart(msgspec.Struct, frozen=True, kw_only=True):
    """A whole member of a top-level object, or, with an `index`, an element of a streamed array ("" for a top-level one)."""

    member: str
    value: object
    index: int | None = None


def iter_json(path: Path, *, arrays: tuple[str, ...] = ()) -> Iterator[JsonPart]:
    """Read one JSON document, a top-level member at a time, and the named arrays an element at a time.

    An array inside an object is named with a point (`results.results`), and the object's other members then come one by one,
    named alike. A top-level array is streamed too (`member` ""). Bare NaN and Infinity are read as floats. Memory is bounded
    by the largest element.
    """
    with open_text(path) as stream:
        yield from JsonStream(stream.read, path).document(arrays)


def line_pieces(path: Path, size: int) -> Iterator[memoryview]:
    """Yield a file of lines in UTF-8, whole lines at a time, up to `size` bytes; a longer line is a piece of its own.

    The next piece takes the place of the last: fresh memory would cost more than to read and to parse it.
    """
    with open_bytes(path) as stream:
        room, held = bytearray(size), 0
        while n := cast("io.BufferedReader", stream).readinto(memoryview(room)[held:]):
            held += n
            if end := room.rfind(b"\n", 0, held) + 1:
                yield memoryview(room)[:end]
                rest = room[end:held]
                if len(room) > max(size, len(rest)):
                    room = bytearray(max(size, 2 * len(rest)))
                held = len(rest)
                room[:held] = rest
            elif held >= MAX_RECORD_CHARS:
                raise UnreadableFileError(_too_long(str(path)))
            elif held == len(room):
                room = room + bytes(held)
        if held:
            yield memoryview(room)[:held]


def _too_long(name: str) -> str:
    return f"{name}: one line is longer than {MAX_RECORD_CHARS >> 20} MiB; check that it is a file of records"


def bounded_lines(readline: Callable[[int], AnyStr], name: str) -> Iterator[AnyStr]:
    """Yield the lines that `readline` gives with their ends, and refuse one that is too long to be a record."""
    while line := readline(MAX_RECORD_CHARS):
        if len(line) == MAX_RECORD_CHARS:
            raise UnreadableFileError(_too_long(name))
        yield line


def small_text(path: Path, size: str) -> str:
    """Return the text of a small file that a user wrote; `size` says how long such a file is."""
    # What seems a title above a table is a remark here, and is kept.
    with open_bytes(path, titled=True) as stream:
        data = stream.read(_MAX_SMALL_BYTES + 1)
    if len(data) > _MAX_SMALL_BYTES:
        raise UnreadableFileError(f"{path}: is longer than {_MAX_SMALL_BYTES >> 20} MiB; {size}")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableFileError(f"{path}: line {line} is not UTF-8 text; save the file as UTF-8") from error


def small_toml(path: Path, size: str) -> dict[str, object]:
    """Return the tables of a small TOML file that a user wrote."""
    text = small_text(path, size)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(f"{path}: is not TOML: {str(error) or type(error).__name__}") from error


def load_json(path: Path, *, max_chars: int = MAX_RECORD_CHARS) -> object:
    """Read a whole (small) JSON document."""
    with open_bytes(path) as stream:
        data = stream.read(max_chars + 1)
    if len(data) > max_chars:
        raise UnreadableFileError(
            f"{path}: is longer than {max_chars >> 20} MiB, too large for one JSON document of this kind"
        )
    check_objects(data, path)
    return loads(data, str(path))


def object_bytes(text: str | bytes) -> int:
    """Return how much memory the objects of a JSON text take, at most.

    >>> object_bytes('{"a": [1, 2]}')
    449
    """
    counts = (text.count(mark) if isinstance(text, str) else text.count(mark.encode()) for mark, _ in _OBJECT_BYTES)
    return len(text) + sum(n * each for n, (_, each) in zip(counts, _OBJECT_BYTES, strict=True))


def check_objects(text: str | bytes | memoryview, path: Path) -> None:
    """Refuse a JSON text whose objects may take more memory than a file of this size may; never one that is not packed."""
    if len(text) < _LONG_CHARS or _MOST_PER_CHAR * len(text) <= (most := limit_of([path])):
        return
    n_bytes = object_bytes(bytes(text) if isinstance(text, memoryview) else text)
    if excess := too_much(n_bytes, most, "write it as JSON Lines, with a record a line, or, if you trust it,"):
        raise UnreadableFileError(f"{path}: one JSON value of {as_size(len(text))} or more takes more {excess}")


def loads(text: str | bytes, where: str) -> object:
    """Parse JSON (bare NaN and Infinity allowed); every fault becomes an `UnreadableFileError` that names `where`.

    msgspec is several times as fast as `json` and stricter: what it refuses gets a second hearing.
    """
    try:
        return _DECODE(text)
    except _FAULTS:
        pass
    try:
        return _parsed(text if isinstance(text, str) else text.decode())
    except UnicodeDecodeError as error:
        raise UnreadableFileError(encoding_message(where, error)) from error
    except RecursionError as error:
        raise UnreadableFileError(f"{where}: JSON is nested too deeply to be a result") from error
    except ValueError as error:
        if not text.strip():
            raise UnreadableFileError(f"{where}: is empty; a JSON document was expected") from error
        advice = "write the file again or leave it out"
        raise UnreadableFileError(f"{where}: is not JSON, or is cut off ({error}); {advice}") from error


def cell_value(cell: object) -> object:
    """Return what a cell of delimited text holds as JSON; other text, and what is no text, stays as it is.

    >>> cell_value('{"a": 1}'), cell_value("2+2"), cell_value(3)
    ({'a': 1}, '2+2', 3)
    """
    if isinstance(cell, str) and cell[:1] in {"{", "[", '"'}:
        with suppress(UnreadableFileError):
            return loads(cell, "")
    return cell


def _parsed(text: str) -> object:
    try:
        return cast("object", json.loads(text))
    except json.JSONDecodeError:
        raise
    except ValueError:  # a whole number of thousands of digits
        return cast("object", json.loads(text, parse_int=_whole_or_infinite))


def _whole_or_infinite(digits: str) -> int | float:
    """Read a whole number; one that has more digits than Python reads is larger than any float."""
    return int(digits) if len(digits) < _MANY_DIGITS else float(digits)


def encoding_message(where: str, error: UnicodeDecodeError) -> str:
    """Say which byte of a file is not text in the expected encoding, or that the file ends inside a character."""
    if error.reason in {"unexpected end of data", "truncated data"}:
        return f"{where}: ends inside a character ({error.encoding}). The file is cut off."
    return f"{where}: is not {error.encoding} text (byte 0x{error.object[error.start]:02x}); save it as UTF-8"


class JsonStream:
    """A JSON document read through a window that holds one element at a time; `named` is the member that was begun last."""

    # raw_decode reports errors near the end of a cut-off window; only errors well inside it are faults of the file.
    _TAIL = 64

    def __init__(self, read: Callable[[int], str], path: Path) -> None:
        self._read = read
        self._path = path
        self._name = str(path)
        self._window = ""
        self._at = 0
        self._gone = 0
        self._ended = False
        self._decoder = json.JSONDecoder()
        self.named = ""

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left of it."""
        return self._peek() == ""

    def document(self, arrays: tuple[str, ...] = ()) -> Iterator[JsonPart]:
        """Yield the document's members, and the elements of the named arrays."""
        opening = self._peek()
        if opening == "[":
            yield from self._elements("")
        elif opening == "{":
            yield from self._members(arrays)
        elif opening == "":
            raise UnreadableFileError(f"{self._name}: is empty; a JSON document was expected")
        else:
            raise self._fault("starts with neither an object nor an array")
        if self._peek() != "":
            raise self._fault("goes on after the end of its JSON document (for JSON Lines, name it .jsonl)")

    def _members(self, arrays: tuple[str, ...], inside: str = "") -> Iterator[JsonPart]:
        self._at += 1
        if self._peek() == "}":
            self._at += 1
            return
        while True:
            key = self._value()
            if not isinstance(key, str):
                raise self._fault("has a member without a name")
            self.named = name = f"{inside}{key}"
            self._expect(":")
            if name in arrays and self._peek() == "[":
                yield from self._elements(name)
            elif self._peek() == "{" and any(array.startswith(f"{name}.") for array in arrays):
                yield from self._members(arrays, f"{name}.")
            else:
                yield JsonPart(member=name, value=self._value())
            if self._expect(",}") == "}":
                return
            self.named = ""

    def _elements(self, member: str) -> Iterator[JsonPart]:
        self._at += 1
        if self._peek() == "]":
            self._at += 1
            return
        index = 0
        while True:
            yield JsonPart(member=member, index=index, value=self._value())
            index += 1
            if self._expect(",]") == "]":
                return

    def _value(self) -> object:
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._window, self._at)
            except RecursionError as error:
                raise UnreadableFileError(f"{self._name}: JSON is nested too deeply to be a result") from error
            except json.JSONDecodeError as error:
                unfinished = self._ends_inside_string(error)
                inside = error.pos < len(self._window) - self._TAIL and not unfinished
                if inside or self._ended:
                    raise self._fault(error.msg, at=len(self._window) if unfinished else error.pos) from error
                self._grow()
                continue
            except ValueError:  # a whole number of thousands of digits
                self._decoder = json.JSONDecoder(parse_int=_whole_or_infinite)
                continue
            # A number near the window's end may go on behind it: "1" may be the start of "1.5", "12" or "1e-7".
            near = end + 2 >= len(self._window)
            if near and not self._ended and not isinstance(value, str | list | dict):
                self._grow()
                continue
            self._at = end
            return cast("object", value)

    def _expect(self, allowed: str) -> str:
        found = self._peek()
        if not found or found not in allowed:
            raise self._fault(f"expected one of {' '.join(allowed)}")
        self._at += 1
        return found

    def _peek(self) -> str:
        while True:
            match = _SPACE.match(self._window, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._window):
                return self._window[self._at]
            if self._ended:
                return ""
            self._grow()

    def _grow(self) -> None:
        """Drop what was used, and read more in proportion to what is held: an element is parsed from its start each time."""
        self._gone += self._at
        self._window = self._window[self._at :]
        self._at = 0
        if len(self._window) > MAX_RECORD_CHARS:
            raise UnreadableFileError(
                f"{self._name}: one element is longer than {MAX_RECORD_CHARS >> 20} MiB, or a bracket is never closed"
            )
        check_objects(self._window, self._path)
        held = len(self._window)
        more = self._read(max(_CHUNK, 3 * held if held < _LONG_CHARS else held // 2))
        self._ended = not more
        self._window += more

    def _ends_inside_string(self, error: json.JSONDecodeError) -> bool:
        """Whether the window ends in a string, also when it ends in one of its escapes."""
        return error.msg.startswith("Unterminated") or (
            error.msg.startswith("Invalid \\") and '"' not in self._window[error.pos :]
        )

    def _fault(self, problem: str, *, at: int | None = None) -> UnreadableFileError:
        at = self._at if at is None else at
        cut = " The file is cut off." if self._ended and _is_beginning(self._window[at:].strip()) else ""
        return UnreadableFileError(f"{self._name}: is not valid JSON at character {self._gone + at}: {problem}.{cut}")


def _is_beginning(text: str) -> bool:
    """Whether nothing is left, or no more than the beginning of a word or of the rest of a number."""
    return any(word.startswith(text) for word in _JSON_WORDS) or _NUMBER_REST.fullmatch(text) is not None


def partial_object(text: str) -> tuple[dict[str, object], tuple[str, ...]]:
    """Read what can be read of a JSON object whose end may be missing.

    Returns the members that are whole, and the names of all members seen (the last may be cut off).
    """
    stream = JsonStream(io.StringIO(text).read, Path())
    whole: dict[str, object] = {}
    names: dict[str, None] = {}
    try:
        for each in stream.document() if text.lstrip()[:1] == "{" else ():
            whole[each.member] = each.value
    except UnreadableFileError:
        names = dict.fromkeys([*whole, *filter(None, [stream.named])])
        # A number or a word may go on behind the end.
        if stream.is_at_end and not isinstance(whole.get(stream.named), str | list | dict):
            whole.pop(stream.named, None)
    return whole, (*(names or whole),)
