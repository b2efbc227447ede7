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

    def __str__(self) -> str:
        return f"{self.origin.path} (folder {SOURCES}/{self.folder.name})"


def now() -> str:
    """Return the time as the manifests write it: ISO 8601 in UTC, so that later times sort later."""
    return datetime.now(tz=UTC).isoformat(timespec="microseconds")


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
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(f"{marker}: is damaged ({error}); a store's marker names its format and version") from error
    if not known:
        raise StoreError(f"{marker}: is not the marker of an evalstats store; choose another folder")
    refuse_newer(schema_version, path)


class Shelf:
    """The committed sources of a store, as they stand at each call.

    Each manifest is read once: a committed folder is never changed, only replaced.
    """

    def __init__(self, store: Path) -> None:
        self.store = store
        self._known: dict[tuple[str, int], StoredSource] = {}

    def every(self) -> list[StoredSource]:
        """Return every committed source, also those that a later reading replaces, as they stand now.

        Raises
        ------
        StoreError
            If the sources cannot be listed or a manifest cannot be read.
        """
        known: dict[tuple[str, int], StoredSource] = {}
        for name, inode in self._folders():
            source = self._known.get((name, inode)) or _read_source(self.store / SOURCES / name)
            if source is not None:
                known[name, inode] = source
        self._known = known
        return list(known.values())

    def current(self) -> tuple[StoredSource, ...]:
        """Return the sources that count, in the order of their first run's name, whatever the order of ingest.

        Of several readings of the same source only the one committed last counts: the others are about to be dropped.

        Raises
        ------
        StoreError
            As `every`.
        """
        by_digest: dict[str, list[StoredSource]] = {}
        for source in sorted(self.every(), key=_commit_order):
            earlier = by_digest.get(source.origin.digest, [])
            kept = [held for held in earlier if not held.manifest.same_source(source.manifest)]
            by_digest[source.origin.digest] = [*kept, source]
        return tuple(sorted((source for kept in by_digest.values() for source in kept), key=_reading_order))

    def _folders(self) -> list[tuple[str, int]]:
        folder = self.store / SOURCES
        try:
            with os.scandir(folder) as entries:
                return sorted((entry.name, entry.inode()) for entry in entries if entry.is_dir(follow_symlinks=False))
        except OSError as error:
            raise StoreError(f"{folder}: cannot be listed ({error}); the store is not whole") from error


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
