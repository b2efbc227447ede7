"""Where a store keeps what.

DIR/evalstats-store.json                 that this is a store, and its schema version
DIR/sources/<digest>-<loader>-.../       one source, whole: manifest.json, runs-0000.parquet, outcomes-0000.parquet, ...
DIR/.incoming/                           sources being written, or being thrown away; never read
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from evalstats.errors import StoreError
from evalstats.store.manifest import SCHEMA_VERSION, Manifest, Origin, read_manifest, refuse_newer

MARKER = "evalstats-store.json"
SOURCES = "sources"
INCOMING = ".incoming"
_FORMAT = "evalstats-store"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSource:
    """A source as it stands in a store: its folder and its manifest."""

    folder: Path
    manifest: Manifest

    @property
    def origin(self) -> Origin:
        """What it was made from."""
        return self.manifest.origin

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes it was made from."""
        return self.manifest.origin.digest

    def __str__(self) -> str:
        return f"{self.origin.path} (folder {SOURCES}/{self.folder.name})"


def now() -> str:
    """Return the time as the manifests write it: ISO 8601 in UTC, so that later times sort later."""
    return datetime.now(tz=UTC).isoformat(timespec="microseconds")


@cache
def program_version() -> str:
    """Version of the installed evalstats."""
    try:
        return version("evalstats-toolkit")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"


def marker_text() -> str:
    """Return the text of a new store's marker file."""
    marker = {
        "format": _FORMAT,
        "schema_version": SCHEMA_VERSION,
        "created": now(),
        "evalstats": program_version(),
    }
    return json.dumps(marker, indent=1) + "\n"


def is_store(folder: str | Path) -> bool:
    """Whether the folder is a store, and not files or tables alone."""
    return (Path(folder) / MARKER).is_file()


def check_marker(path: Path) -> None:
    """Raise `StoreError` unless the folder is a store that this version can read.

    Raises
    ------
    StoreError
        If there is no store, its marker is damaged, or a newer evalstats made it.
    """
    marker = path / MARKER
    try:
        text = marker.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"{path}: there is no store here (no {MARKER}); make one with `evalstats ingest FILES --store {path}`"
        raise StoreError(message) from None
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{marker}: cannot be read ({error}); the store cannot be used without it") from error
    try:
        found = cast("dict[str, Any]", json.loads(text))
        known, schema_version = found["format"] == _FORMAT, int(found["schema_version"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise StoreError(f"{marker}: is damaged ({error}); a store's marker names its format and version") from error
    if not known:
        raise StoreError(f"{marker}: is not the marker of an evalstats store; choose another folder")
    refuse_newer(schema_version, path)


class Shelf:
    """The committed sources of a store, found by their digest, their runs or their path.

    Each manifest is read once, since a committed folder is never changed, only replaced; `refresh` takes in what other
    processes have committed or dropped since. Of several readings of the same source only the one committed last
    counts: the others are about to be dropped.

    Raises
    ------
    StoreError
        Here and in `refresh`, if the sources cannot be listed or a manifest cannot be read.
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
        kept: list[StoredSource] = []
        for source in sorted(self._found.get(("digest", digest), ()), key=_commit_order):
            kept = [*(held for held in kept if not held.manifest.same_source(source.manifest)), source]
        return kept

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
            with os.scandir(folder) as entries:
                return {(entry.name, entry.inode()) for entry in entries if entry.is_dir(follow_symlinks=False)}
        except OSError as error:
            raise StoreError(f"{folder}: cannot be listed ({error}); the store is not whole") from error


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


def some_of(names: Iterable[str], shown: int = 12) -> str:
    """Return the first names for a message, and how many more there are.

    Examples
    --------
    >>> some_of(["a", "b", "c"], shown=2)
    "'a', 'b' and 1 more"
    """
    names = list(names)
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(repr(name) for name in names[:shown]) + more if names else "none"
