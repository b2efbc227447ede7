"""Where every file is opened for reading: a regular one of a sane size, and nothing else.

A pipe that lies where a file was expected waits for ever, a device never ends, and a link may lead to either.
"""

import os
import stat
from hashlib import file_digest
from io import BufferedReader
from pathlib import Path
from typing import Final

# Manifests, saved results and pages are read whole: far larger than any that was written, far smaller than memory.
MOST_BYTES: Final = 256 << 20
_KINDS: Final = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


# What stands between a file and the part of it that is meant.
_PART: Final = "::"


class StrangeFileError(OSError):
    """What lies there is no regular file, or too large; `strerror` says what it is."""

    def __str__(self) -> str:
        return self.strerror or ""


def part_of(path: str | Path) -> tuple[Path, str]:
    """Return the file that lies on the disk, and the part of it that is meant: a sheet of a workbook; "" for all of it.

    >>> [str(part) for part in part_of("book.xlsx::Sheet 2")]
    ['book.xlsx', 'Sheet 2']
    """
    path = Path(path)
    whole, mark, part = path.name.partition(_PART)
    return (path.with_name(whole), part) if mark and whole and not os.path.lexists(path) else (path, "")


def check_regular(path: str | Path) -> None:
    """Raise `StrangeFileError` unless a regular file lies there, maybe behind a link; for a folder `IsADirectoryError`."""
    _check(Path(path).stat())


def open_regular(path: str | Path) -> BufferedReader:
    """Open a regular file for reading its bytes; OSError as `check_regular`, or if it cannot be read."""
    path, _ = part_of(path)
    check_regular(path)  # to open some devices does something
    # Should a pipe have come in its place by now, this does not wait for it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    stream = os.fdopen(os.open(path, flags), "rb")
    try:
        _check(os.fstat(stream.fileno()))
    except BaseException:
        stream.close()
        raise
    return stream


def read_regular(path: str | Path, *, errors: str = "strict") -> str:
    """Return the text of a regular file, in UTF-8, every line end as one; OSError as `open_regular`, or if it is huge."""
    with open_regular(path) as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise StrangeFileError(0, f"it is larger than {MOST_BYTES >> 20} MiB")
    return data.decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")


def digest_of(path: str | Path) -> str:
    """Return the SHA-256 of a regular file's bytes as they are on disk, in hexadecimal."""
    with open_regular(path) as stream:
        return file_digest(stream, "sha256").hexdigest()


def open_folder(path: str | Path) -> int:
    """Open a folder, to lock it or see it to the disk, and return the descriptor; OSError if it is none."""
    return os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))


def _check(found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), "something else")
    error = IsADirectoryError if stat.S_ISDIR(found.st_mode) else StrangeFileError
    raise error(0, f"it is {kind}, where a file was expected")
