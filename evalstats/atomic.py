"""Files and folders that are written whole or not at all, and never through a link that somebody laid for them."""

import os
import shutil
import stat
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from uuid import uuid4

from evalstats.errors import InputError, Option
from evalstats.regular import open_regular

_LONGEST_NAME = 40


def _nobody(_part: Path) -> None:
    """Tell nobody of the unfinished file."""


@contextmanager
def whole_file(path: Path, *, on_part: Callable[[Path], None] = _nobody) -> Generator[IO[bytes]]:
    """Open a file for writing that takes its name only when the block ends well.

    Until then it has a name beside it that cannot be guessed, and that nothing had before: `on_part` is told it. A file that
    was there keeps its rights; a link to a file is followed, as the shell does; a device or a pipe is written to. OSError if
    the place cannot be written.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        # A device or a pipe: to put a file in its place would destroy it.
        with path.open("wb") as stream:
            yield stream
        return
    part = path.with_name(f".{path.name[:_LONGEST_NAME]}.{os.urandom(8).hex()}.part")
    on_part(part)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        if path.exists():
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all; OSError if the place cannot be written."""
    with whole_file(path) as stream:
        stream.write(text.encode("utf-8"))


def copy_whole(source: Path, path: Path, *, on_part: Callable[[Path], None] = _nobody) -> None:
    """Copy a file whole or not at all; OSError if the place cannot be written."""
    with open_regular(source) as given, whole_file(path, on_part=on_part) as stream:
        shutil.copyfileobj(given, stream)


@contextmanager
def replaced_folder(folder: Path, own: Collection[str]) -> Generator[Path]:
    """Give a new folder to write to, and put it in the place of `folder` when the block is left without an error.

    `own` are the files that an earlier export left there; InputError if there is any other.
    """
    folder = folder.resolve()
    if folder.exists():
        other = (
            sorted(entry.name for entry in os.scandir(folder) if entry.name not in own) if folder.is_dir() else ["."]
        )
        if other:
            another = f"name a new folder: {Option('folder', blank='DIR')}"
            raise InputError(
                f"{folder}: holds {other[0]!r}, which this export did not write; {another}"
                if folder.is_dir()
                else f"{folder}: is a file; {another}"
            )
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.{uuid4().hex}")
    draft.mkdir()
    try:
        yield draft
        _sync(draft)
        if folder.exists():
            old = folder.with_name(f".{folder.name}.{uuid4().hex}")
            folder.rename(old)
            draft.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
        else:
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def drafts(folder: Path) -> Generator[Path]:
    """Give a hidden folder inside `folder` (made if need be) for drafts, which is gone when the block is left."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".evalstats-{uuid4().hex}"
    draft.mkdir()
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _sync(folder: Path) -> None:
    """See every file of a folder to the disk."""
    for path in folder.iterdir():
        with open_regular(path) as stream:
            os.fsync(stream.fileno())
