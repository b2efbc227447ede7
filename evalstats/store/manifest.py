"""The manifest: all that is known of one stored source without opening its Parquet files.

Manifests may come from someone else: no path in them is followed, and the names of parts must have the form of ours.

DIR/evalstats-store.json                 that this is a store, and its schema version
DIR/sources/<digest>-<loader>-.../       one source, whole: manifest.json, runs-0000.parquet, outcomes-0000.parquet, ...
DIR/.incoming/                           sources being written, or being thrown away; never read
"""

import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from typing import Any, Final, cast

import msgspec
import polars as pl
from polars.selectors import by_name

from evalstats.errors import Option, StoreError
from evalstats.record import record
from evalstats.regular import StrangeFileError, check_regular, read_regular
from evalstats.schema.columns import KEYS, TABLES, TableName, column_names, schema_of
from evalstats.schema.data import Problem
from evalstats.schema.tables import factor_cast, shared_dtypes

# Raised when a standard column or the layout changes: a store of another version is refused, and ingested anew.
SCHEMA_VERSION = 5

MANIFEST = "manifest.json"
_SEAL = "sha256"
_PART = re.compile(rf"({'|'.join(TABLES)})-\d{{4,}}\.parquet")
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")
_DTYPES: Mapping[str, pl.DataType] = {
    str(dtype): dtype for dtype in (pl.String(), pl.Boolean(), pl.Int64(), pl.Float64(), pl.Null())
}


@record
class SourceOrigin:
    """What a stored source was made from.

    `options` is whatever else decided how the bytes were read (a column map); `removed_runs` are runs that the user
    took out again.
    """

    path: str
    digest: str
    loader: str
    loader_version: str
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    removed_runs: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, ...]:
        """File name and the name of its folder: where harnesses put the model's name, when the file does not hold it."""
        return PurePath(self.path).parts[-2:]

    def same_reading(self, other: "SourceOrigin") -> bool:
        """Whether the same bytes were read in the same way, from whatever path."""
        return replace(self, path="") == replace(other, path="")


@record
class StoredFile:
    """One Parquet file: its table, size, digest, and the dtypes of its factors (`Null` where all values are null).

    `constants` are standard columns with the same text on every row, or with null on every row: what they hold is known without
    reading them.
    """

    file: str
    table: TableName
    rows: int
    bytes: int
    sha256: str
    factors: Mapping[str, pl.DataType]
    constants: Mapping[str, str | None] = field(default_factory=dict[str, str | None])


@record
class RunEntry:
    """One run of a source, with the number of its rows that have a score, failed, or got none."""

    run: str
    model: str | None
    system: str | None
    benchmark: str
    n_scored: int
    n_error: int
    n_unscored: int


@record
class Manifest:
    """All that is known of one stored source without opening its Parquet files."""

    origin: SourceOrigin
    parts: tuple[StoredFile, ...]
    runs: tuple[RunEntry, ...]
    problems: tuple[Problem, ...] = ()
    committed: str = ""
    schema_version: int = SCHEMA_VERSION
    evalstats: str = ""

    @property
    def labels(self) -> list[tuple[str, str, str]]:
        """Model, system and benchmark of every run, sorted: what the rows are about."""
        return sorted((entry.model or "", entry.system or "", entry.benchmark) for entry in self.runs)

    @property
    def folder(self) -> str:
        """Name of the source's folder: the same for the same reading of the same bytes, and safe on any file system."""
        origin = self.origin
        loader, loader_version = (_UNSAFE.sub("_", part)[:40] for part in (origin.loader, origin.loader_version))
        rest = json.dumps([sorted(origin.options.items()), sorted(origin.removed_runs), self.labels])
        return "-".join((origin.digest[:32], loader, loader_version, sha256(rest.encode()).hexdigest()[:8]))

    def same_source(self, other: "Manifest") -> bool:
        """Whether only one of the two may count: the same bytes, in the same place or about the same models.

        Bytes alone do not tell: two models that answered everything right may have equal files, told apart by their
        names. And a renamed copy is no second run.
        """
        same_bytes = self.origin.digest == other.origin.digest
        return same_bytes and (self.origin.place == other.origin.place or self.labels == other.labels)

    def rows(self) -> dict[TableName, int]:
        """Rows of every table that has any."""
        counts: dict[TableName, int] = {}
        for part in self.parts:
            counts[part.table] = counts.get(part.table, 0) + part.rows
        return counts


class OtherSchemaError(StoreError):
    """A store or a source was written under a schema that this version does not read."""


class DamagedMarkerError(StoreError):
    """The marker of a store is there and says nothing of use."""


class DamagedSourceError(StoreError):
    """The manifest of a stored source is not there or not what was written, so that its parts mean nothing."""


def refuse_other_schema(schema_version: int, where: Path) -> None:
    """Raise `OtherSchemaError` where something was written under a schema that this version does not read."""
    if schema_version != SCHEMA_VERSION:
        newer = schema_version > SCHEMA_VERSION
        raise OtherSchemaError(
            f"{where}: was written by {'a newer' if newer else 'an older'} evalstats (store schema {schema_version}; this one "
            f"reads {SCHEMA_VERSION}); {'update evalstats-toolkit' if newer else 'ingest its files into a new store'}"
        )


def _version(data: Mapping[str, Any]) -> int:
    version = data["schema_version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"{version!r} is no version")
    return version


def manifest_text(manifest: Manifest) -> str:
    """Return the manifest as JSON (lone surrogates and control characters in names are escaped)."""
    data = msgspec.to_builtins(manifest, enc_hook=str)
    for part in data["parts"]:
        if not part["constants"]:
            del part["constants"]
    return json.dumps({**data, _SEAL: _seal(data)}, indent=1) + "\n"


def _seal(data: Mapping[str, Any]) -> str:
    """Digest of a manifest: a count or a name in it that changed on the disk must not be taken for what was read."""
    held = {name: value for name, value in data.items() if name != _SEAL}
    return sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()


# What a file that is there and may be read can bring about; any other error of the system says nothing of its bytes.
_DAMAGE: tuple[type[Exception], ...] = (
    *(FileNotFoundError, IsADirectoryError, NotADirectoryError, StrangeFileError),
    *(ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError),
)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of one stored source."""
    path = folder / MANIFEST
    try:
        data = cast("dict[str, Any]", json.loads(read_regular(path)))
        refuse_other_schema(_version(data), folder)
        if _seal(data) != data.pop(_SEAL, _seal(data)):
            raise ValueError("it is not what was written")
        return _manifest(data)
    except _DAMAGE as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else f"is damaged ({error})"
        raise DamagedSourceError(
            f"{path}: the description of a stored source {reason}; `evalstats store {folder.parent.parent} repair` sets the "
            "source aside and names its file"
        ) from error
    except OSError as error:
        raise StoreError(
            f"{path}: the description of a stored source cannot be read ({error.strerror or error}); {SEE_TO_RIGHTS}"
        ) from error


def _manifest(data: dict[str, Any]) -> Manifest:
    found = msgspec.convert(data, Manifest, dec_hook=lambda _, name: _DTYPES[name])
    listed: dict[str, StoredFile] = {}
    for part in found.parts:
        if listed.setdefault(part.file, part) != part:
            raise ValueError(f"{part.file!r} stands twice with other contents")
        form = _PART.fullmatch(part.file)
        if form is None or form[1] != part.table:
            raise ValueError(f"{part.file!r} is no name for a part of {part.table!r}")
        dtypes = schema_of(part.table)
        if not dtypes.keys().isdisjoint(part.factors):
            raise ValueError(f"{part.file!r} has a factor that is called like a standard column")
        wrong = [name for name, value in part.constants.items() if value is not None and dtypes.get(name) != pl.String]
        if wrong or not dtypes.keys() >= part.constants.keys():
            raise ValueError(f"{part.file!r} has no text column of each name that its manifest calls constant")
    return replace(found, parts=tuple(listed.values()))


MARKER = "evalstats-store.json"
SOURCES = "sources"
INCOMING = ".incoming"
SEE_TO_RIGHTS = "see to its rights, nothing is known to be damaged"
LINK = "is a link, and a store reads no source through one; put the folder itself there, or remove the link"
_FORMAT = "evalstats-store"


@record
class StoredSource:
    """A source as it stands in a store: its folder and its manifest."""

    folder: Path
    manifest: Manifest

    @property
    def origin(self) -> SourceOrigin:
        """What it was made from."""
        return self.manifest.origin

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes it was made from."""
        return self.manifest.origin.digest

    def __str__(self) -> str:
        return f"{self.origin.path} (folder {SOURCES}/{self.folder.name})"


def now(after: Iterable[str] = ()) -> str:
    """Return the time as the manifests write it: ISO 8601 in UTC, so that later times sort later.

    It is later than all of `after`: a clock that was put back must not let an older reading count.
    """
    moments = [datetime.now(tz=UTC)]
    for text in after:
        with suppress(ValueError, OverflowError):  # not a time: nothing that a clock said
            moments.append(datetime.fromisoformat(text).astimezone(UTC) + timedelta(microseconds=1))
    return max(moments).isoformat(timespec="microseconds")


@cache
def program_version() -> str:
    """Version of the installed evalstats."""
    try:
        return version("evalstats-toolkit")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"


def marker_text() -> str:
    """Return the text of a new store's marker file."""
    marker = {"format": _FORMAT, "schema_version": SCHEMA_VERSION, "created": now(), "evalstats": program_version()}
    return json.dumps(marker, indent=1) + "\n"


def is_store(folder: str | Path) -> bool:
    """Whether the folder is a store, and not files or tables alone."""
    return (Path(folder) / MARKER).is_file()


def check_marker(path: Path) -> None:
    """Raise `StoreError` unless the folder is a store that this version can read."""
    marker = path / MARKER
    try:
        text = read_regular(marker, errors="replace")
    except FileNotFoundError:
        raise StoreError(
            f"{path}: there is no store here (no {MARKER}); make one with "
            f"`evalstats ingest FILES {Option('into', str(path))}`"
        ) from None
    except NotADirectoryError:
        raise StoreError(
            f"{path}: is a file, and a store is a folder; give a file of results as the data themselves, or read it into "
            f"a store: `evalstats ingest {shlex.quote(str(path))} {Option('into', blank='DIR')}`"
        ) from None
    except StrangeFileError as error:
        raise StoreError(
            f"{marker}: {error}; move it elsewhere, and `evalstats store {path} repair` writes it anew"
        ) from None
    except OSError as error:
        raise StoreError(f"{marker}: cannot be read ({error.strerror or error}); {SEE_TO_RIGHTS}") from error
    try:
        found = cast("dict[str, Any]", json.loads(text))
        known, schema_version = found["format"] == _FORMAT, _version(found)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise DamagedMarkerError(
            f"{marker}: is damaged ({error}); `evalstats store {path} repair` writes it anew and keeps the sources"
        ) from error
    if not known:
        raise DamagedMarkerError(f"{marker}: is not the marker of an evalstats store; choose another folder")
    refuse_other_schema(schema_version, path)


class Shelf:
    """The committed sources of a store, found by their digest, their runs or their path.

    Each manifest is read once, since a committed folder is never changed, only replaced; `refresh` takes in what other
    processes have committed or dropped since. Of several readings of the same source only the one committed last
    counts: the others are about to be dropped.
    """

    def __init__(self, store: Path) -> None:
        self.store = store
        self._known: dict[tuple[str, int], StoredSource] = {}
        self._found: dict[tuple[str, str], list[StoredSource]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Look again which sources there are."""
        folders = self._folders()
        for key in self._known.keys() - folders:
            source = self._known.pop(key)
            for name in _found_by(source):
                self._found[name].remove(source)
        for key in sorted(folders - self._known.keys()):
            source = _read_source(self.store / SOURCES / key[0])
            if source is not None:
                self._known[key] = source
                for name in _found_by(source):
                    self._found.setdefault(name, []).append(source)

    def with_digest(self, digest: str) -> list[StoredSource]:
        """Return the sources made of these bytes."""
        return latest(self._found.get(("digest", digest), ()))

    def with_run(self, run: str) -> list[StoredSource]:
        """Return the sources that hold this run: one, unless two processes committed it at the same moment."""
        return [source for source in self._found.get(("run", run), ()) if source in self.with_digest(source.digest)]

    def with_path(self, path: str) -> list[StoredSource]:
        """Return the sources that were read from this path."""
        return [source for source in self._found.get(("path", path), ()) if source in self.with_digest(source.digest)]

    def replaced(self) -> list[StoredSource]:
        """Return the sources that no longer count, since a later reading takes their place."""
        return [source for source in self._known.values() if source not in self.with_digest(source.digest)]

    def current(self) -> tuple[StoredSource, ...]:
        """Return the sources that count, in the order of their first run's name, whatever the order of ingest."""
        counted = [source for kind, name in self._found if kind == "digest" for source in self.with_digest(name)]
        return tuple(sorted(counted, key=_reading_order))

    def _folders(self) -> set[tuple[str, int]]:
        """Names and inodes: a folder of the same name that was written anew is another."""
        folder = self.store / SOURCES
        try:
            with os.scandir(folder) as found:
                entries = list(found)
            link = next((entry.name for entry in entries if entry.is_symlink() and entry.is_dir()), None)
            if link is not None:
                raise StoreError(f"{folder / link}: {LINK}")
            return {(entry.name, entry.inode()) for entry in entries if entry.is_dir(follow_symlinks=False)}
        except FileNotFoundError as error:
            raise StoreError(
                f"{folder}: the folder of the sources is missing; `evalstats store {self.store} repair` makes an empty one"
            ) from error
        except OSError as error:
            raise StoreError(f"{folder}: cannot be listed ({error.strerror or error}); {SEE_TO_RIGHTS}") from error


def latest(sources: Iterable[StoredSource]) -> list[StoredSource]:
    """Return the sources that count: of several readings of the same one, that committed last."""
    kept: list[StoredSource] = []
    for source in sorted(sources, key=_commit_order):
        kept = [*(held for held in kept if not held.manifest.same_source(source.manifest)), source]
    return kept


def _found_by(source: StoredSource) -> list[tuple[str, str]]:
    runs = [("run", entry.run) for entry in source.manifest.runs]
    return [("digest", source.digest), ("path", source.origin.path), *runs]


def _read_source(folder: Path) -> StoredSource | None:
    try:
        return StoredSource(folder=folder, manifest=read_manifest(folder))
    except StoreError:
        if folder.exists():
            raise
        return None  # removed by another process since it was listed


def _commit_order(source: StoredSource) -> tuple[str, str]:
    return source.manifest.committed, source.folder.name


def _reading_order(source: StoredSource) -> tuple[str, str]:
    return min((entry.run for entry in source.manifest.runs), default=""), source.folder.name


_OTHER: Final = object()


def files_of(sources: Iterable[StoredSource], table: TableName) -> list[tuple[Path, StoredFile]]:
    """Return the parts of one table, with their paths."""
    return [
        (source.folder / part.file, part) for source in sources for part in source.manifest.parts if part.table == table
    ]


def scan_parts(
    files: Iterable[tuple[Path, StoredFile]], table: TableName, *, beside: Iterable[tuple[Path, StoredFile]] = ()
) -> pl.LazyFrame:
    """Return parts of one table as one lazy table: standard columns first, a factor that a part lacks is null there.

    Factors and their dtypes are those that it would have with the parts `beside`, which are not read.

    Parts with the same factors are scanned together, so that a store of many small sources stays a short query.
    """
    files = list(files)
    fixed = shared_constants([part for _, part in files], table)
    alike: dict[tuple[tuple[str, pl.DataType], ...], list[Path]] = {}
    for path, part in files:
        alike.setdefault(tuple(part.factors.items()), []).append(path)
    if not alike:
        return pl.LazyFrame(schema=schema_of(table))
    shared = shared_dtypes([*map(dict, alike), *(part.factors for _, part in beside)])
    scans: list[pl.LazyFrame] = []
    for factors, paths in alike.items():
        have = dict(factors)
        columns = [pl.col(name) for name in column_names(table) if name not in fixed]
        columns += [factor_cast(name, have.get(name, pl.Null()), dtype) for name, dtype in shared.items()]
        # glob and hive_partitioning are off: a folder may be called `a[b]=c`
        for path in paths:
            check_regular(path)
        scan = pl.scan_parquet(paths, glob=False, hive_partitioning=False)
        scans.append(scan.select(columns))
    stacked = pl.concat(scans, how="vertical")
    order = [by_name(name) for name in (*column_names(table), *shared)]  # a factor may be called "*"
    return stacked.with_columns(constant_columns(fixed, table)).select(order) if fixed else stacked


def shared_constants(parts: Sequence[StoredFile], table: TableName) -> dict[str, str | None]:
    """Return the standard columns that hold one value in all of these parts, with the value.

    One column is always left to be read: it says how many rows there are.
    """
    if not parts:
        return {}
    first, *rest = (part.constants for part in parts)
    shared = {name: value for name, value in first.items() if all(value == other.get(name, _OTHER) for other in rest)}
    if len(shared) == len(TABLES[table]):
        del shared[TABLES[table][0].name]
    return shared


def constant_columns(constants: Mapping[str, str | None], table: TableName) -> list[pl.Expr]:
    """Return the columns that are known without reading them."""
    dtypes = schema_of(table)
    return [pl.lit(value, dtype=dtypes[name]).alias(name) for name, value in constants.items()]


# So many hashes of keys are compared at a time: 8 bytes each, and as much again to sort them.
_HASHES = 10_000_000


def repeated_key(files: Iterable[tuple[Path, StoredFile]], table: TableName) -> dict[str, object] | None:
    """Return a key of `table` that names more than one row, or None.

    Only hashes of keys are held, some `_HASHES` at a time: the same keys are read again for the next. Where two hashes agree,
    the keys themselves decide.
    """
    key, files = KEYS[table], list(files)
    if not key:
        return None
    keys = scan_parts(files, table).select(key)
    hashed = keys.select(pl.struct(key).hash().alias("hash"))
    n = -(-sum(part.rows for _, part in files) // _HASHES)
    for k in range(n):
        hashes = hashed.filter(pl.col("hash") % n == k).collect(engine="streaming")["hash"].sort()
        suspects = hashes.filter(hashes == hashes.shift())
        if suspects.is_empty():
            continue
        few = suspects.unique().head(1_000)  # one repeated key is enough for the message
        again = keys.filter(pl.struct(key).hash().is_in(few.implode()))
        repeated = again.group_by(key).len().filter(pl.col("len") > 1).select(key).sort(key).head(1)
        found = repeated.collect(engine="streaming")
        if found.height:
            return found.row(0, named=True)
    return None
