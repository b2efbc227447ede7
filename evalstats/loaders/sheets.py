"""Spreadsheets of Excel and LibreOffice, as the delimited text that one would save them as."""

import io
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.regular import open_regular

_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
# Excel's books name one of these among their first members; LibreOffice's begin with their type.
_MARKS = (
    *(b"xl/workbook", b"xl/worksheets", b"[Content_Types].xml"),
    b"application/vnd.oasis.opendocument.spreadsheet",
)
_LOOKED_AT = 1 << 12
# Members of a book unpack to at most so much: some two million cells.
_MOST_UNPACKED = 256 << 20
# What a header without a name is called by the reader.
_UNNAMED = "__UNNAMED__"


def is_sheet(stream: BinaryIO) -> bool:
    """Whether a file is a spreadsheet, whatever it is called; the stream stands at its beginning afterwards."""
    start = stream.read(_LOOKED_AT)
    stream.seek(0)
    return start.startswith(_OLD_EXCEL) or (start.startswith(b"PK") and any(mark in start for mark in _MARKS))


def sheet_as_text(path: Path) -> bytes:
    """Return the only sheet with rows as delimited text, its values as they are stored and not as they are shown.

    Raises
    ------
    UnreadableFileError
        If several sheets have rows, or none; if the file is damaged, or unpacks to too much; if `fastexcel`, which reads
        spreadsheets, is not installed.
    """
    at = path.stat()
    return _as_text(path, at.st_mtime_ns, at.st_size)


# A table is opened some times while it is read: its head, its survey, its rows.
@lru_cache(maxsize=1)
def _as_text(path: Path, changed: int, size: int) -> bytes:  # noqa: ARG001 - which file it is
    try:
        import fastexcel  # an extra of its own
    except ImportError:
        raise UnreadableFileError(
            f"{path}: is a spreadsheet, which fastexcel reads; install it (`pip install fastexcel`), or save the sheet as CSV"
        ) from None
    book = _unpacked(path)
    # The reader is written in another language, whose panics are no ordinary exceptions.
    try:
        opened = cast("Any", fastexcel).read_excel(book)
        held = [name for name in opened.sheet_names if opened.load_sheet(name).height]
        frame = cast("Any", pl).read_excel(book, sheet_name=held[0], engine="calamine") if len(held) == 1 else None
    except (Exception, pl.exceptions.PanicException) as error:
        raise UnreadableFileError(
            f"{path}: is no spreadsheet that can be read ({error}); save the sheet as CSV"
        ) from error
    if frame is None:
        found = f"several sheets with rows ({comma_list(held, 3)})" if held else "no sheet with rows"
        raise UnreadableFileError(f"{path}: holds {found}, and one was expected; save that one as a file of its own")
    return _delimited(frame)


def _delimited(frame: pl.DataFrame) -> bytes:
    odd = [name for name, dtype in frame.schema.items() if dtype.is_nested() or dtype == pl.Duration]
    header = pl.DataFrame([["" if name.startswith(_UNNAMED) else name for name in frame.columns]], orient="row")
    rows = frame.with_columns(pl.col(odd).cast(pl.String)).write_csv(include_header=False)
    return (header.write_csv(include_header=False) + rows).encode()


def _unpacked(path: Path) -> bytes:
    """Return a book whose members are packed no more: so they can be no larger than what was counted here."""
    with open_regular(path) as raw:
        if raw.read(4) == _OLD_EXCEL:
            raw.seek(0)
            return raw.read()
        made = io.BytesIO()
        try:
            with zipfile.ZipFile(raw) as book, zipfile.ZipFile(made, "w") as plain:
                members = book.infolist()
                size = sum(info.file_size for info in members)
                for info in members if size <= _MOST_UNPACKED else ():
                    plain.writestr(info.filename, book.read(info))
        except (zipfile.BadZipFile, zlib.error, ValueError, RuntimeError, NotImplementedError) as error:
            raise UnreadableFileError(f"{path}: is a damaged spreadsheet ({error}); save the sheet as CSV") from error
    if size > _MOST_UNPACKED:
        raise UnreadableFileError(f"{path}: unpacks to more than {_MOST_UNPACKED >> 20} MiB; save the sheet as CSV")
    return made.getvalue()
