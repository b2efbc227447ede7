"""Find out whether every stored source is what its manifest says."""

import hashlib
import os
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from evalstats.errors import StoreError
from evalstats.schema.columns import KEYS, TABLES, Column, TableName, column_names, schema_of
from evalstats.schema.data import Problem, factor_cast, shared_dtypes
from evalstats.store.manifest import MANIFEST, SOURCES, Part, StoredSource, read_manifest

# Before this version of the schema true also stood for a direction that nobody had declared.
_DIRECTION_SINCE = 3


def files_of(sources: Iterable[StoredSource], table: TableName) -> list[tuple[Path, Part]]:
    """Return the parts of one table, with their paths."""
    return [
        (source.folder / part.file, part) for source in sources for part in source.manifest.parts if part.table == table
    ]


def scan_parts(files: Iterable[tuple[Path, Part]], table: TableName) -> pl.LazyFrame:
    """Return parts of one table as one lazy table: standard columns first, a factor that a part lacks is null there.

    A standard column that is younger than a part is null there; where the part has a factor of that name, it is taken for
    the column. Parts with the same factors are scanned together, so that a store of many small sources stays a short query.
    """
    alike: dict[tuple[int, tuple[tuple[str, pl.DataType], ...]], list[Path]] = {}
    for path, part in files:
        alike.setdefault((part.schema_version, tuple(part.factors.items())), []).append(path)
    if not alike:
        return pl.LazyFrame(schema=schema_of(table))
    standard = set(column_names(table))
    shared = shared_dtypes({name: kind for name, kind in held if name not in standard} for _, held in alike)
    scans: list[pl.LazyFrame] = []
    for (schema_version, factors), paths in alike.items():
        have = dict(factors)
        columns = [_standard(column, schema_version, have) for column in TABLES[table]]
        columns += [factor_cast(name, have.get(name, pl.Null()), dtype) for name, dtype in shared.items()]
        # glob and hive_partitioning are off: a folder may be called `a[b]=c`
        scan = pl.scan_parquet(paths, glob=False, hive_partitioning=False)
        scans.append(scan.select(columns))
    return pl.concat(scans, how="vertical")


def _standard(column: Column, schema_version: int, factors: Mapping[str, pl.DataType]) -> pl.Expr:
    """Expression for a standard column of parts that were written under a schema version."""
    if column.name == "higher_is_better" and schema_version < _DIRECTION_SINCE:
        return pl.when(~pl.col(column.name)).then(pl.col(column.name))
    if column.since <= schema_version:
        return pl.col(column.name)
    if column.name not in factors:
        return pl.lit(None, dtype=column.dtype).alias(column.name)
    found = pl.col(column.name).cast(column.dtype, strict=False)
    return found if column.low is None else pl.when(found >= column.low).then(found)


def repeated_key(files: Iterable[tuple[Path, Part]], table: TableName) -> dict[str, object] | None:
    """Return a key of `table` that names more than one row, or None.

    Only 8 bytes a row are held: the keys' hashes. Where two hashes agree, the keys themselves decide.
    """
    key = KEYS[table]
    if not key:
        return None
    keys = scan_parts(files, table).select(key)
    hashed = keys.select(pl.struct(key).hash().alias("hash"))
    hashes = hashed.collect(engine="streaming")["hash"].sort()
    suspects = hashes.filter(hashes == hashes.shift())
    if suspects.is_empty():
        return None
    few = suspects.unique().head(1_000)  # one repeated key is enough for the message
    again = keys.filter(pl.struct(key).hash().is_in(few.implode()))
    repeated = again.group_by(key).len().filter(pl.col("len") > 1).select(key).sort(key).head(1)
    found = repeated.collect(engine="streaming")
    return found.row(0, named=True) if found.height else None


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


def check_store(store: Path) -> tuple[Problem, ...]:
    """Compare every file of a store with the manifest it belongs to; no problems means that the store is whole.

    Checks that each manifest can be read, that its files are there and no others, their sizes, digests, numbers of
    rows and columns, that `runs` lists the runs of the manifest, and that no run is in two sources.
    """
    problems: list[Problem] = []
    whole: list[StoredSource] = []
    for folder in sorted((store / SOURCES).iterdir()):
        if not folder.is_dir():
            problems.append(Problem(path=str(folder), message="does not belong to the store; move it elsewhere"))
            continue
        try:
            source = StoredSource(folder=folder, manifest=read_manifest(folder))
        except StoreError as error:
            problems.append(Problem(path=str(folder), message=str(error).removeprefix(f"{folder / MANIFEST}: ")))
            continue
        faults = list(faults_of(source))
        problems.extend(Problem(path=str(source), message=f"{fault}; ingest its file again") for fault in faults)
        if not faults:
            whole.append(source)
    problems.extend(Problem(path=str(store), message=message) for message in shared_runs(whole))
    return tuple(problems)


def is_whole(source: StoredSource) -> bool:
    """Whether every part of a source is there and has the digest that its manifest names."""
    return not any(fault for part in source.manifest.parts if (fault := _damage(source.folder, part)))


def shared_runs(sources: Sequence[StoredSource]) -> Iterator[str]:
    """Say which runs are in more than one source: their rows would count twice."""
    counts = Counter(entry.run for source in sources for entry in source.manifest.runs)
    for run, n in sorted(counts.items()):
        if n > 1:
            holders = [str(source) for source in sources if any(entry.run == run for entry in source.manifest.runs)]
            yield f"run {run!r} is in {n} sources ({', '.join(holders)}); delete all but one of these folders"


def faults_of(source: StoredSource) -> Iterator[str]:
    """Say everything in which a source differs from its manifest."""
    listed = {part.file for part in source.manifest.parts} | {MANIFEST}
    extra = sorted({path.name for path in source.folder.iterdir()} - listed)
    if extra:
        yield f"has a file that its manifest does not list: {extra[0]!r}"
    for part in source.manifest.parts:
        damage = _damage(source.folder, part) or _misfit(source.folder, part)
        if damage:
            yield damage
            return
    runs = scan_parts(files_of([source], "runs"), "runs").select("run").collect()["run"]
    if sorted(runs) != sorted(entry.run for entry in source.manifest.runs):
        yield "its table of runs does not list the runs of its manifest"


def _damage(folder: Path, part: Part) -> str | None:
    path = folder / part.file
    try:
        size = path.stat().st_size
        if size != part.bytes:
            return f"{part.file} is damaged ({size} bytes where {part.bytes} were written)"
        if sha256_of(path) != part.sha256:
            return f"{part.file} is damaged (its bytes are not those that were written)"
    except FileNotFoundError:
        return f"{part.file} is missing"
    except OSError as error:
        return f"{part.file} cannot be read ({error})"
    return None


def _misfit(folder: Path, part: Part) -> str | None:
    """Say in what a file whose bytes are right differs from its manifest: then the manifest is wrong."""
    try:
        table = scan_parts([(folder / part.file, part)], part.table)
        rows = table.select(pl.len()).collect().item()
        table.head(1).collect()
    except pl.exceptions.PolarsError as error:
        return f"{part.file} is not the table that its manifest describes ({error})"
    return f"{part.file} has {rows} rows where its manifest says {part.rows}" if rows != part.rows else None
