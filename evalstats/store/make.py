"""Make a store, and clear away what a killed process left in one."""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from evalstats.errors import StoreError
from evalstats.store.disk import lock, sync_folder, write_bytes
from evalstats.store.layout import INCOMING, MARKER, SOURCES, Shelf, StoredSource, check_marker, marker_text

# A folder this young may belong to a process that has not locked it yet.
_GRACE_SECONDS = 60.0
# Where folders cannot be locked, one that nobody has touched for this long belongs to nobody.
_STALE_SECONDS = 24 * 3600.0


def make_store(path: str | Path) -> Shelf:
    """Make a store in a new or empty folder, or take the one that is there and clear away what was left unfinished.

    Raises
    ------
    StoreError
        If the folder holds something else, cannot be written to, or holds a store of a newer evalstats.

    Examples
    --------
    >>> import tempfile
    >>> make_store(Path(tempfile.mkdtemp(), "store")).current()
    ()
    """
    path = Path(path)
    try:
        if not (path / MARKER).exists():
            _refuse_other_use(path)
            path.mkdir(parents=True, exist_ok=True)
            _write_marker(path)
        check_marker(path)
        (path / SOURCES).mkdir(exist_ok=True)
        (path / INCOMING).mkdir(exist_ok=True)
    except OSError as error:
        message = f"{path}: cannot be used as a store ({error}); name a folder that can be written to"
        raise StoreError(message) from error
    _clear_unfinished(path)
    shelf = Shelf(path)
    for source in shelf.replaced():
        drop_source(path, source)
    return shelf


def drop_source(store: Path, source: StoredSource) -> None:
    """Take a source out of the store: out of sight in one step, then deleted.

    Raises
    ------
    StoreError
        If the store cannot be written to.
    """
    trash = store / INCOMING / uuid4().hex
    try:
        source.folder.rename(trash)
        sync_folder(source.folder.parent)
    except FileNotFoundError:
        return  # another process dropped it
    except OSError as error:
        raise StoreError(f"{store}: cannot be written to ({error}); check its rights") from error
    shutil.rmtree(trash, ignore_errors=True)


def _refuse_other_use(path: Path) -> None:
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"{path!r}: is not valid Unicode, and Parquet files there cannot be opened") from error
    if not path.is_dir():
        return
    with os.scandir(path) as entries:
        other = sorted(entry.name for entry in entries if not entry.name.startswith(f".{MARKER}"))
    if other:
        message = (
            f"{path}: is not a store and not empty (it holds {other[0]!r}); "
            "name a new folder, so that nothing of yours is mixed with the store"
        )
        raise StoreError(message)


def _write_marker(path: Path) -> None:
    """Write under another name, then rename: of two processes that make the store at once, both find it whole."""
    draft = path / f".{MARKER}-{uuid4().hex}"
    write_bytes(draft, marker_text().encode())
    draft.replace(path / MARKER)
    sync_folder(path)


def _clear_unfinished(path: Path) -> None:
    for folder in (path / INCOMING).iterdir():
        with suppress(OSError):  # another process may clear at the same time
            if _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    age = time.time() - max(entry.stat().st_mtime for entry in (folder, *folder.iterdir()))
    if age < _GRACE_SECONDS:
        return False
    try:
        held = lock(folder)
    except BlockingIOError:
        return False
    if held is None:
        return age > _STALE_SECONDS
    os.close(held)
    return True
