"""Write sources into a store, and take runs out of it: each step leaves the store whole."""

import os
import shutil
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, cast
from uuid import uuid4

import polars as pl

from evalstats.errors import InputError, StoreError
from evalstats.grammar import quoted_list
from evalstats.record import record
from evalstats.regular import digest_of, open_folder
from evalstats.schema.columns import TableName, column_names, schema_of
from evalstats.schema.data import Problem
from evalstats.schema.memory import held_bytes
from evalstats.schema.tables import check_table, concat_tables, factor_dtypes, levels_of
from evalstats.store.check import is_whole
from evalstats.store.manifest import (
    INCOMING,
    MANIFEST,
    MARKER,
    SOURCES,
    Manifest,
    RunEntry,
    Shelf,
    SourceOrigin,
    StoredFile,
    StoredSource,
    check_marker,
    manifest_text,
    marker_text,
    now,
    program_version,
    repeated_key,
    scan_parts,
)

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
        raise StoreError(
            f"{store}: cannot be written to ({error}); check its rights and its free space, then ingest again"
        ) from error


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
    descriptor = open_folder(folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(folder: Path) -> int | None:
    """Lock a folder for this process and return the descriptor that holds the lock; None where that is impossible.

    The system frees the lock when the process ends, however it ends; no process id is trusted.
    """
    if fcntl is None:
        return None
    try:
        descriptor = open_folder(folder)
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


# A folder this young may belong to a process that has not locked it yet.
_GRACE_SECONDS = 60.0
# Where folders cannot be locked, one that nobody has touched for this long belongs to nobody.
_STALE_SECONDS = 24 * 3600.0


def make_store(path: str | Path) -> Shelf:
    """Make a store in a new or empty folder, or take the one that is there and clear away what was left unfinished."""
    path = Path(path)
    try:
        if not (path / MARKER).exists():
            _refuse_other_use(path)
            # The marker last: a store whose marker is there is whole, whenever its maker was killed.
            (path / SOURCES).mkdir(parents=True, exist_ok=True)
            write_marker(path)
        check_marker(path)
        (path / INCOMING).mkdir(exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be used as a store ({error}); name a folder that can be written to"
        ) from error
    clear_unfinished(path)
    shelf = Shelf(path)
    for source in shelf.replaced():
        drop_source(path, source)
    return shelf


class _Begun(threading.local):
    """Folders in `INCOMING` that this thread began and has not deleted or moved into the store."""

    def __init__(self) -> None:
        self.folders: set[Path] = set()


_begun = _Begun()
# Another thread may still be writing into a folder that is deleted.
_CLEAR_TRIES, _CLEAR_PAUSE = 50, 0.1


def _begin(store: Path) -> Path:
    folder = store / INCOMING / uuid4().hex
    _begun.folders.add(folder)
    return folder


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _begun.folders.discard(folder)


@contextmanager
def nothing_left() -> Generator[None]:
    """Delete what was begun within the block, where something ends it at whatever line: a signal, too."""
    try:
        yield
    except BaseException:
        for _ in range(_CLEAR_TRIES):
            for folder in [each for each in _begun.folders if each.exists()]:
                shutil.rmtree(folder, ignore_errors=True)
            if not any(folder.exists() for folder in _begun.folders):
                break
            time.sleep(_CLEAR_PAUSE)
        _begun.folders.clear()
        raise


def drop_source(store: Path, source: StoredSource) -> None:
    """Take a source out of the store: out of sight in one step, then deleted."""
    trash = _begin(store)
    try:
        source.folder.rename(trash)
        sync_folder(source.folder.parent)
    except FileNotFoundError:
        _clear(trash)
        return  # another process dropped it
    except OSError as error:
        raise StoreError(f"{store}: cannot be written to ({error}); check its rights") from error
    _clear(trash)


def _refuse_other_use(path: Path) -> None:
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"{path!r}: is not valid Unicode, and Parquet files there cannot be opened") from error
    if not path.is_dir():
        return
    with os.scandir(path) as entries:
        names = sorted(entry.name for entry in entries if not entry.name.startswith(f".{MARKER}"))
    if MARKER in names:  # another process has just made it
        return
    begun = not any((path / SOURCES).glob("*"))
    other = [name for name in names if not (begun and name == SOURCES)]
    if other:
        raise StoreError(
            f"{path}: is not a store and not empty (it holds {other[0]!r}); "
            "name a new folder, so that nothing of yours is mixed with the store"
        )


def write_marker(path: Path) -> None:
    """Write under another name, then rename: of two processes that make the store at once, both find it whole."""
    draft = path / f".{MARKER}-{uuid4().hex}"
    write_bytes(draft, marker_text().encode())
    draft.replace(path / MARKER)
    sync_folder(path)


def clear_unfinished(path: Path) -> int:
    """Delete what writers that are gone left unfinished; return of how many."""
    n = 0
    for folder in (path / INCOMING).iterdir():
        with suppress(OSError):  # another process may clear at the same time
            if _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)
                n += 1
    return n


@contextmanager
def _alone(store: Path) -> Generator[None]:
    """Let one process at a time look what a store holds and move a source in; two could bring the same run at once.

    Held for the length of a rename. Where folders cannot be locked, a run in two sources is refused when it is read.
    """
    descriptor = None
    if fcntl is not None:
        with suppress(OSError):
            descriptor = open_folder(store / SOURCES)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


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


# A part is written when the frames held reach either of these.
PART_ROWS = 50_000
PART_BYTES = 64 << 20

# Tables that may have millions of rows, of which the manifest keeps what need not be read again.
_LONG_TABLES = frozenset({"outcomes", "comparisons", "ratings"})
_CONSTANT_CHARS = 200

# Notes kept of one source; a damaged file of a million rows would otherwise leave a million.
MAX_PROBLEMS = 200


@record
class Committed:
    """What became of a source: added, put in the place of earlier readings of the same bytes, or there already."""

    outcome: Literal["added", "replaced", "present"]
    manifest: Manifest
    replaced: tuple[SourceOrigin, ...] = ()


def held_already(shelf: Shelf, origin: SourceOrigin) -> StoredSource | None:
    """Return the stored source that need not be read again; None if the source is to be read.

    It has the same bytes, was read the same way from a file of the same name in a folder of the same name, and is whole.
    """
    shelf.refresh()
    for source in shelf.with_digest(origin.digest):
        if source.origin.place == origin.place and source.origin.same_reading(origin) and is_whole(source):
            return source
    return None


class SourceWriter:
    """Takes the checked frames of one source, in any order and number, and commits them all or none.

    A context manager: what was not committed is gone when the block is left. Frames are gathered into parts of about
    `PART_ROWS` rows or `PART_BYTES`, one of which is written while the next is read, so memory is bounded by two
    parts, however many rows there are.
    """

    def __init__(self, shelf: Shelf, origin: SourceOrigin) -> None:
        self._shelf = shelf
        self._origin = origin
        self._held: dict[TableName, list[pl.DataFrame]] = {}
        self._parts: list[StoredFile] = []
        self._runs: list[RunEntry] = []
        self._named: set[str] = set()
        self._problems: list[Problem] = []
        self._n_problems = 0
        self._folder = _begin(shelf.store)
        self._lock: int | None = None
        self._beside: ThreadPoolExecutor | None = None
        self._written: Future[None] | None = None

    def __enter__(self) -> Self:
        with writing_to(self._shelf.store):
            self._folder.mkdir()
            self._lock = lock(self._folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._beside is not None:
            self._beside.shutdown()
        if self._lock is not None:
            os.close(self._lock)
        _clear(self._folder)

    def add(self, table: TableName, frame: pl.DataFrame) -> None:
        """Take rows of one table."""
        expected = schema_of(table)
        if list(frame.schema.items())[: len(expected)] != list(expected.items()):
            frame = check_table(frame, table, source=self._origin.path)
        if table == "runs":
            self._runs.extend(_run_entries(frame))
        elif "run" in expected:
            self._named.update(levels_of(frame["run"]))
        held = self._held.setdefault(table, [])
        held.append(frame)
        if sum(part.height for part in held) >= PART_ROWS or sum(map(held_bytes, held)) >= PART_BYTES:
            self._flush(table, beside=True)

    def add_problem(self, problem: Problem) -> None:
        """Take a note that belongs to the source; past `MAX_PROBLEMS` only their number is kept."""
        self._n_problems += 1
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(problem)

    def commit(self) -> Committed:
        """Check the source as a whole and move it into the store, in one step that others see whole or not at all."""
        for table in list(self._held):
            self._flush(table)
        self._settle()
        self._refuse_repeated_keys()
        self._refuse_unlisted_runs()
        manifest = self._manifest()
        with writing_to(self._shelf.store):
            write_bytes(self._folder / MANIFEST, manifest_text(manifest).encode())
            sync_folder(self._folder)
            with _alone(self._shelf.store):
                return self._move_in(manifest)

    def _flush(self, table: TableName, *, beside: bool = False) -> None:
        """Write what is held of a table; `beside` reading, in a thread of its own, one part at a time."""
        frames = self._held.pop(table)
        self._settle()
        if beside:
            self._beside = self._beside or ThreadPoolExecutor(max_workers=1)
            self._written = self._beside.submit(self._write, table, frames)
        else:
            self._write(table, frames)

    def _settle(self) -> None:
        """Wait for the part that is being written, and raise what went wrong with it."""
        if self._written is not None:
            written, self._written = self._written, None
            written.result()

    def _write(self, table: TableName, frames: list[pl.DataFrame]) -> None:
        frame = concat_tables(frames, table)
        if not frame.height:
            return
        index = sum(part.table == table for part in self._parts)
        path = self._folder / f"{table}-{index:04d}.parquet"
        with writing_to(self._shelf.store):
            write_parquet(path, frame, row_group_size=PART_ROWS)
            part = StoredFile(
                file=path.name,
                table=table,
                rows=frame.height,
                bytes=path.stat().st_size,
                sha256=digest_of(path),
                factors=factor_dtypes(frame, table),
                constants=_constants(frame, table),
            )
        self._parts.append(part)

    def _refuse_repeated_keys(self) -> None:
        tables: dict[TableName, None] = dict.fromkeys(part.table for part in self._parts)
        for table in tables:
            if sum(part.rows for part in self._parts if part.table == table) == 1:
                continue  # most often `runs`: a look at its file would cost more than writing it
            files = [(self._folder / part.file, part) for part in self._parts if part.table == table]
            with writing_to(self._shelf.store):
                repeated = repeated_key(files, table)
            if repeated is not None:
                named = ", ".join(f"{name}={value!r}" for name, value in repeated.items() if value not in (None, ""))
                raise InputError(
                    f"{self._origin.path}: {table}: more than one row has the key {named}; a row is named by "
                    f"{', '.join(repeated)}: drop the copies or tell them apart (repetitions by 'trial')"
                )

    def _refuse_unlisted_runs(self) -> None:
        unlisted = sorted(self._named - {entry.run for entry in self._runs})
        if unlisted:
            raise InputError(
                f"{self._origin.path}: has rows of run {unlisted[0]!r}, which its table of runs does not list; "
                f"this is a fault of the loader {self._origin.loader!r}, which must list every run once"
            )

    def _manifest(self) -> Manifest:
        problems = tuple(self._problems)
        if self._n_problems > len(problems):
            more = f"and {self._n_problems - len(problems)} more such notes, which are not kept"
            problems = (*problems, Problem(path=self._origin.path, message=more, severity="note"))
        return Manifest(
            origin=self._origin,
            parts=tuple(self._parts),
            runs=tuple(sorted(self._runs, key=lambda entry: entry.run)),
            problems=problems,
            committed=now(after=[held.manifest.committed for held in self._shelf.with_digest(self._origin.digest)]),
            evalstats=program_version(),
        )

    def _move_in(self, manifest: Manifest) -> Committed:
        store = self._shelf.store
        target = store / SOURCES / manifest.folder
        self._shelf.refresh()
        readings = self._shelf.with_digest(self._origin.digest)
        earlier = [source for source in readings if source.manifest.same_source(manifest)]
        for source in earlier:
            same = source.origin.same_reading(self._origin) and source.manifest.labels == manifest.labels
            if same and is_whole(source):
                return Committed(outcome="present", manifest=source.manifest)
            if source.folder == target:
                drop_source(store, source)
        self._refuse_taken_runs(manifest, earlier)
        try:
            self._folder.rename(target)
        except OSError:
            if target.is_dir():  # another process was faster with the same source
                return Committed(outcome="present", manifest=manifest)
            raise
        sync_folder(target.parent)
        replaced = [source for source in earlier if source.folder != target]
        for source in replaced:
            drop_source(store, source)
        outcome = "replaced" if replaced else "added"
        return Committed(outcome=outcome, manifest=manifest, replaced=tuple(source.origin for source in replaced))

    def _refuse_taken_runs(self, manifest: Manifest, earlier: Sequence[StoredSource]) -> None:
        for entry in manifest.runs:
            for other in self._shelf.with_run(entry.run):
                if other not in earlier:
                    raise InputError(
                        f"{self._origin.path}: holds run {entry.run!r}, and so does {other.origin.path}, which is in the "
                        "store; to put this one in its place, remove that run first (`evalstats store DIR remove RUN`)"
                    )


def _constants(frame: pl.DataFrame, table: TableName) -> dict[str, str | None]:
    """Return the standard columns of a table of many rows that have one text, or null, on every row."""
    if table not in _LONG_TABLES:
        return {}
    found: dict[str, str | None] = {}
    for name in column_names(table):
        series = frame[name]
        if series.null_count() == frame.height:
            found[name] = None
        elif series.dtype == pl.String and not series.null_count():
            first = cast("str", series[0])
            if len(first) <= _CONSTANT_CHARS and first == series[-1] and (series == first).all():
                found[name] = first
    return found


def _run_entries(runs: pl.DataFrame) -> list[RunEntry]:
    counts = ("n_scored", "n_error", "n_unscored")
    columns = runs.select("run", "model", "system", "benchmark", pl.col(counts).fill_null(0))
    return [RunEntry(**row) for row in columns.iter_rows(named=True)]


def remove_run(shelf: Shelf, run: str) -> None:
    """Take one run out of a store; the other runs of its source stay. Ingesting its file again brings it back."""
    holders = shelf.with_run(run)
    if not holders:
        have = quoted_list(entry.run for source in shelf.current() for entry in source.manifest.runs)
        raise InputError(f"{shelf.store}: holds no run {run!r}; there are {have}")
    for source in holders:
        if len(source.manifest.runs) == 1:
            drop_source(shelf.store, source)
        else:
            _rewrite_without(shelf, source, run)


def _rewrite_without(shelf: Shelf, source: StoredSource, run: str) -> None:
    if not is_whole(source):
        raise StoreError(
            f"{source}: is damaged, so that its other runs cannot be kept; ingest its file again, then remove the run"
        )
    origin = replace(source.origin, removed_runs=tuple(sorted({*source.origin.removed_runs, run})))
    with SourceWriter(shelf, origin) as writer:
        for part in source.manifest.parts:
            frame = scan_parts([(source.folder / part.file, part)], part.table).collect()
            if "run" in column_names(part.table):
                frame = frame.filter(pl.col("run").ne_missing(run))
            writer.add(part.table, frame)
        for problem in source.manifest.problems:
            writer.add_problem(problem)
        writer.commit()
