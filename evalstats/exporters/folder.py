"""A folder that is filled whole or not at all, and in which nobody else's files are touched."""

import os
import shutil
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from evalstats.errors import InputError


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
            raise InputError(
                f"{folder}: holds {other[0]!r}, which this export did not write; name a new folder with --output DIR"
                if folder.is_dir()
                else f"{folder}: is a file; name a new folder with --output DIR"
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
        with path.open("rb") as stream:
            os.fsync(stream.fileno())
