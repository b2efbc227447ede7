"""Spreadsheets of Excel and LibreOffice, as the delimited text that one would save them as.

Their reader is a program of another language, which ends its process where a small file claims a vast sheet. It therefore runs in
a process of its own, with bounded memory.
"""

import io
import subprocess
import sys
import zipfile
import zlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from evalstats.errors import UnreadableFileError
from evalstats.regular import open_regular, part_of

_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
# Excel's books name one of the first two among their first members; LibreOffice's begin with their type.
_MARKS = (b"xl/workbook", b"xl/worksheets", b"application/vnd.oasis.opendocument.spreadsheet")
_LOOKED_AT = 1 << 16
# Members of a book unpack to at most so much: some two million cells.
_MOST_UNPACKED = 256 << 20
_SECONDS = 120
# Prints the sheet that is named, or the only one with rows: its header as it stands, and columns that are numbers as far down as
# they go. What stands above a header is a title: it has fewer cells, as a header has no numbers.
_READER = """
import io, logging, sys
logging.disable()
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
except (ImportError, ValueError, OSError):
    pass
import fastexcel, polars as pl
data, wanted = sys.stdin.buffer.read(), sys.argv[1]
book = fastexcel.read_excel(data)
held = [name for name in book.sheet_names if book.load_sheet(name).height]
if wanted and wanted not in book.sheet_names:
    sys.exit(f"holds no sheet {wanted!r}; it has {', '.join(book.sheet_names)}")
if len(held) != 1 and not wanted:
    found = f"several sheets with rows ({', '.join(held[:9])}); name one, as in FILE::{held[0]}" if held else "no sheet with rows"
    sys.exit(f"holds {found}")
name = wanted or held[0]
top = book.load_sheet(name, header_row=None, n_rows=20, dtypes="string").to_polars()
filled = [[cell for cell in row if cell] for row in top.rows()]
most = max(map(len, filled), default=0)
title = next((k for k, cells in enumerate(filled) if len(cells) > max(1, most // 2)), 0)
header = top[title : title + 1]
rows = pl.read_excel(
    io.BytesIO(data),
    sheet_name=name,
    engine="calamine",
    infer_schema_length=None,
    drop_empty_cols=False,
    read_options={"header_row": title},
)
sys.stdout.buffer.write(bytes([10]) * title)
odd = [name for name, dtype in rows.schema.items() if dtype.is_nested() or dtype == pl.Duration]
rows = rows.with_columns(pl.col(odd).cast(pl.String))
for part in (header, rows):
    sys.stdout.buffer.write(part.write_csv(include_header=False).encode())
"""


def is_sheet(stream: BinaryIO) -> bool:
    """Whether a file is a spreadsheet, whatever it is called; the stream stands at its beginning afterwards."""
    start = stream.read(4)
    start += stream.read(_LOOKED_AT) if start.startswith(b"PK") else b""
    stream.seek(0)
    return start == _OLD_EXCEL or (start.startswith(b"PK") and any(mark in start for mark in _MARKS))


def sheet_as_text(path: Path) -> bytes:
    """Return the sheet that a path names, or the only one with rows, as delimited text.

    Its values are as they are stored and not as they are shown.

    Raises
    ------
    UnreadableFileError
        If several sheets have rows, or none; if the file is damaged, or takes too much memory or time; if `fastexcel`, which
        reads spreadsheets, is not installed.
    """
    whole, part = part_of(path)
    at = whole.stat()
    return _as_text(path, part, at.st_mtime_ns, at.st_size)


def holds_sheets(path: Path) -> bool:
    """Whether a file is a spreadsheet."""
    with open_regular(path) as stream:
        return is_sheet(stream)


# A table is opened some times while it is read: its head, its survey, its rows.
@lru_cache(maxsize=1)
def _as_text(path: Path, part: str, changed: int, size: int) -> bytes:  # noqa: ARG001 - which file it is
    if find_spec("fastexcel") is None:
        raise UnreadableFileError(
            f"{path}: is a spreadsheet, which fastexcel reads; install it (`pip install fastexcel`), or save the sheet as CSV"
        )
    book = _unpacked(path)
    try:
        done = subprocess.run(  # noqa: S603 - this Python, on our own text
            [sys.executable, "-I", "-c", _READER, part], input=book, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UnreadableFileError(f"{path}: takes more than {_SECONDS} s to read; save the sheet as CSV") from None
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.decode(errors="replace").strip().splitlines()
    why = next(
        (line for line in said if line.startswith("holds ")),
        "is not a readable spreadsheet; save the sheet as CSV",
    )
    raise UnreadableFileError(f"{path}: {why}")


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
