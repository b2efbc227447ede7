"""What a store asks of the file system: bytes that are on the disk when a call returns, locks, faults in words."""

import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from evalstats.errors import StoreError

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None


@contextmanager
def writing_to(store: Path) -> Generator[None]:
    """Turn whatever goes wrong while writing into a `StoreError` that names the store."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        message = f"{store}: cannot be written to ({error}); check its rights and its free space, then ingest again"
        raise StoreError(message) from error


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file and see it to the disk."""
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def write_parquet(path: Path, frame: pl.DataFrame, *, row_group_size: int) -> None:
    """Write a Parquet file and see it to the disk."""
    with path.open("wb") as stream:
        frame.write_parquet(stream, row_group_size=row_group_size)
        stream.flush()
        os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """See to the disk which files a folder holds."""
    if os.name == "nt":  # Windows opens no folder as a file
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def lock(folder: Path) -> int | None:
    """Lock a folder for this process and return the descriptor that holds the lock; None where that is impossible.

    The system frees the lock when the process ends, however it ends; no process id is trusted.

    Raises
    ------
    BlockingIOError
        If another process holds it.
    """
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:  # a network file system without such locks
        os.close(descriptor)
        return None
    return descriptor
