"""Make a damaged store one that opens: what is not as it was written is set aside, never deleted, and named.

DIR/set-aside/     folders of sources and files that were taken out; nothing reads them
"""

import json
import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from evalstats.errors import Option, StoreError
from evalstats.grammar import plural, quoted_list
from evalstats.record import record
from evalstats.regular import read_regular
from evalstats.schema.data import Problem
from evalstats.store.check import faults_of, folders_of, misplacement, shared_runs, stray_files
from evalstats.store.manifest import (
    INCOMING,
    MANIFEST,
    MARKER,
    SOURCES,
    DamagedMarkerError,
    DamagedSourceError,
    OtherSchemaError,
    RunEntry,
    StoredSource,
    check_marker,
    read_manifest,
)
from evalstats.store.write import clear_unfinished, sync_folder, write_marker, writing_to

SET_ASIDE = "set-aside"
_PATH = re.compile(r'"origin":\s*\{\s*"path":\s*(?=")')


@record
class Repairs:
    """What a repair did, and what it left: only the user can mend that."""

    done: tuple[Problem, ...]
    left: tuple[Problem, ...]


def repair_store(path: str | Path) -> Repairs:
    """Take out of a store whatever is damaged or does not belong there, so that it opens with all that is whole.

    A source with a damaged part goes as a whole, since its other rows would answer another question. What goes lies in the
    folder `set-aside` of the store afterwards. Unfinished writes that nobody holds are deleted: they were never in the store.

    Raises
    ------
    StoreError
        If there is no store, another version of evalstats wrote to it (then nothing is touched), or it cannot be written to.
    """
    path = Path(path)
    repair = _Repair(path)
    repair.refuse_other_schema()
    with writing_to(path):
        repair.mend_marker()
        repair.look_for_sources()
        repair.clear()
        sources = [source for folder in folders_of(path) if (source := repair.look_at(folder)) is not None]
    repair.left.extend(Problem(path=str(path), message=message) for message in shared_runs(sources))
    return Repairs(done=tuple(repair.done), left=tuple(repair.left))


class _Repair:
    """The steps of one repair."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self.done: list[Problem] = []
        self.left: list[Problem] = []

    def refuse_other_schema(self) -> None:
        """Look at all that says its version before anything is touched; damage is no reason to stop."""
        try:
            check_marker(self._store)
        except DamagedMarkerError as error:
            if not (self._store / SOURCES).is_dir():
                raise StoreError(
                    f"{self._store}: holds no sources that could be saved ({str(error).partition('; ')[0]}); "
                    "ingest the files into a new folder"
                ) from error
        except OtherSchemaError:
            raise
        except StoreError:
            if (self._store / MARKER).exists() or not self._has_sources():
                raise
        for folder in folders_of(self._store) if (self._store / SOURCES).is_dir() else ():
            if misplacement(folder) is None:
                _refuse_other_source(folder)

    def _has_sources(self) -> bool:
        """Whether at least one folder is a source of ours, so that a store is here even without its marker."""
        return any(_is_source(manifest.parent) for manifest in (self._store / SOURCES).glob(f"*/{MANIFEST}"))

    def mend_marker(self) -> None:
        """Write the marker anew where it is damaged or gone."""
        marker = self._store / MARKER
        try:
            check_marker(self._store)
        except StoreError:
            there = marker.exists()
            kept = f"; the old one is in {self._aside(marker)}" if there else ""
            write_marker(self._store)
            what = "was damaged" if there else "was missing"
            self._did(marker, f"the store's marker {what} and is written anew{kept}")

    def look_for_sources(self) -> None:
        """Make the folder of the sources where it is gone."""
        folder = self._store / SOURCES
        if not folder.is_dir():
            folder.mkdir()
            self._did(
                folder, "the folder of the sources was missing; the store is empty now, so ingest all its files again"
            )

    def clear(self) -> None:
        """Delete what writers that are gone left unfinished."""
        (self._store / INCOMING).mkdir(exist_ok=True)
        n = clear_unfinished(self._store)
        if n:
            self._did(self._store / INCOMING, f"{plural(n, 'unfinished write')} deleted; none was in the store")

    def look_at(self, folder: Path) -> StoredSource | None:
        """Return the source of a folder; None where it is set aside, or cannot be read."""
        misplaced = misplacement(folder)
        if misplaced:
            why = (
                "is a link, through which a store reads nothing"
                if folder.is_symlink()
                else "does not belong to the store"
            )
            self._did(folder, f"{why}; moved to {self._aside(folder)}")
            return None
        try:
            source = StoredSource(folder=folder, manifest=read_manifest(folder))
        except DamagedSourceError as error:
            if not folder.exists():
                return None  # another process removed it
            lost = _path_in(folder / MANIFEST)
            reason = str(error).removeprefix(f"{folder / MANIFEST}: ").partition("; `evalstats store")[0]
            self._lose(folder, reason, lost, ())
            return None
        except StoreError as error:
            self.left.append(Problem(path=str(folder), message=str(error).removeprefix(f"{folder / MANIFEST}: ")))
            return None
        return self._whole(source)

    def _whole(self, source: StoredSource) -> StoredSource | None:
        try:
            for stray in stray_files(source):
                moved = self._aside(stray, f"{source.folder.name}-{stray.name}")
                self._did(stray, f"a file that its manifest does not list; moved to {moved}")
            faults = list(faults_of(source))
        except PermissionError as error:
            self.left.append(Problem(path=str(source), message=f"cannot be read or changed ({error.strerror})"))
            return None
        for fault in faults:
            if fault.kind != "damaged":
                self.left.append(Problem(path=str(source), message=str(fault)))
                return None
            self._lose(source.folder, fault.text, source.origin.path, source.manifest.runs, source.origin.options)
            return None
        return source

    def _lose(
        self, folder: Path, reason: str, path: str | None, runs: tuple[RunEntry, ...], options: Iterable[str] = ()
    ) -> None:
        """Set a source aside and say what is gone with it, and how it comes back."""
        moved = self._aside(folder)
        held = (
            f"; with it go {'run' if len(runs) == 1 else 'runs'} {quoted_list(entry.run for entry in runs)}"
            if runs
            else ""
        )
        file = "the file that it came from" if path is None else shlex.quote(path)
        ways = ", ".join(sorted(options))
        same = f", read as before ({ways})" if ways else ""
        again = f"evalstats ingest {file} {Option('into', str(self._store))}{same}"
        told = f"{reason}; set aside in {moved}{held}. To have it back: {again}"
        self.done.append(Problem(path=path or str(folder), message=told))

    def _aside(self, path: Path, name: str = "") -> Path:
        """Move something into the folder for it, under a name that nothing has there."""
        aside = self._store / SET_ASIDE
        aside.mkdir(exist_ok=True)
        target, n = aside / (name or path.name), 1
        while os.path.lexists(target):
            n += 1
            target = aside / f"{name or path.name}-{n}"
        path.rename(target)
        sync_folder(path.parent)
        sync_folder(aside)
        return target

    def _did(self, path: Path, message: str) -> None:
        self.done.append(Problem(path=str(path), message=message))


def _is_source(folder: Path) -> bool:
    try:
        read_manifest(folder)
    except StoreError as error:
        return isinstance(error, OtherSchemaError)
    return True


def _refuse_other_source(folder: Path) -> None:
    try:
        read_manifest(folder)
    except OtherSchemaError:
        raise
    except StoreError:
        return  # damaged, or not to be read: that comes later


def _path_in(manifest: Path) -> str | None:
    """Return the path that a damaged manifest still names; None where nothing is left of it."""
    try:
        text = read_regular(manifest, errors="replace")
        found = _PATH.search(text)
        return None if found is None else str(json.JSONDecoder().raw_decode(text, found.end())[0])
    except (OSError, ValueError):
        return None
