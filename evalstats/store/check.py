"""Whether a store is what was written into it: every file is compared with the manifest that lists it."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal

import polars as pl

from evalstats.errors import StoreError
from evalstats.record import record
from evalstats.regular import digest_of
from evalstats.schema.data import Problem
from evalstats.store.manifest import (
    LINK,
    MANIFEST,
    SEE_TO_RIGHTS,
    SOURCES,
    StoredFile,
    StoredSource,
    constant_columns,
    files_of,
    latest,
    read_manifest,
    scan_parts,
)

# A panic of the Parquet reader is no Exception; a forged part with the right digest can bring one about.
READING_FAILED: tuple[type[BaseException], ...] = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
# Digests are computed side by side: hashing large files frees the interpreter.
_HASHERS = 4


@record
class Fault:
    """In what a stored source differs from its manifest.

    Of a damaged one nothing can be trusted; a stray file harms nothing; what is unreadable may be whole.
    """

    kind: Literal["damaged", "stray", "unreadable"]
    text: str

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.kind == "unreadable":
            return SEE_TO_RIGHTS
        return "ingest its file again" if self.kind == "damaged" else "move it elsewhere"

    def __str__(self) -> str:
        return f"{self.text}; {self.remedy}"


def check_store(store: Path) -> tuple[Problem, ...]:
    """Compare every file of a store with the manifest it belongs to; no problems means that the store is whole.

    Checks that each manifest can be read, that its files are there and no others, their sizes, digests, numbers of
    rows and columns, that `runs` lists the runs of the manifest, and that no run is in two sources.
    """
    problems: list[Problem] = []
    whole: list[StoredSource] = []
    for folder in folders_of(store):
        misplaced = misplacement(folder)
        if misplaced:
            problems.append(Problem(path=str(folder), message=misplaced))
            continue
        try:
            source = StoredSource(folder=folder, manifest=read_manifest(folder))
        except StoreError as error:
            problems.append(Problem(path=str(folder), message=str(error).removeprefix(f"{folder / MANIFEST}: ")))
            continue
        faults = list(faults_of(source))
        problems.extend(Problem(path=str(source), message=str(fault)) for fault in faults)
        if not faults:
            whole.append(source)
    problems.extend(Problem(path=str(store), message=message) for message in shared_runs(whole))
    return tuple(problems)


def folders_of(store: Path) -> list[Path]:
    """Return all that lies where the sources are; StoreError if that cannot be listed."""
    try:
        return sorted((store / SOURCES).iterdir())
    except FileNotFoundError as error:
        raise StoreError(
            f"{store / SOURCES}: the folder of the sources is missing; `evalstats store {store} repair` makes an empty one"
        ) from error
    except OSError as error:
        raise StoreError(f"{store / SOURCES}: cannot be listed ({error.strerror or error}); {SEE_TO_RIGHTS}") from error


def misplacement(folder: Path) -> str | None:
    """Say why something is no folder of a source, if it is none."""
    if not folder.is_dir():
        return "does not belong to the store; move it elsewhere"
    return LINK if folder.is_symlink() else None


def is_whole(source: StoredSource) -> bool:
    """Whether every part of a source is there and has the digest that its manifest names."""
    return not any(_fault_of(source.folder / part.file, part) for part in source.manifest.parts)


def first_fault(files: Sequence[tuple[Path, StoredFile]]) -> tuple[Path, Fault] | None:
    """Return the first part that is not what was written, and what is wrong with it."""
    if len(files) < 2:
        faults: Iterable[Fault | None] = [_fault_of(*file) for file in files]
    else:
        with ThreadPoolExecutor(_HASHERS) as pool:
            faults = list(pool.map(_fault_of, *zip(*files, strict=True)))
    return next(((path, fault) for (path, _), fault in zip(files, faults, strict=True) if fault is not None), None)


def shared_runs(sources: Sequence[StoredSource]) -> Iterator[str]:
    """Say which runs are in more than one source: their rows would count twice."""
    sources = _counted(sources)
    counts = Counter(entry.run for source in sources for entry in source.manifest.runs)
    for run, n in sorted(counts.items()):
        if n > 1:
            holders = [str(source) for source in sources if any(entry.run == run for entry in source.manifest.runs)]
            store = sources[0].folder.parent.parent
            yield (
                f"run {run!r} is in {n} sources ({', '.join(holders)}); take it out (`evalstats store {store} remove "
                f"{shlex.quote(run)}`) and ingest one of their files again"
            )


def _counted(sources: Sequence[StoredSource]) -> list[StoredSource]:
    """Leave out what a later reading of the same bytes replaces: it is about to be dropped."""
    alike: dict[str, list[StoredSource]] = {}
    for source in sources:
        alike.setdefault(source.digest, []).append(source)
    return [source for group in alike.values() for source in latest(group)]


def faults_of(source: StoredSource) -> Iterator[Fault]:
    """Say everything in which a source differs from its manifest."""
    extra = stray_files(source)
    if extra:
        yield Fault(kind="stray", text=f"has a file that its manifest does not list: {extra[0].name!r}")
    for part in source.manifest.parts:
        path = source.folder / part.file
        fault = _fault_of(path, part) or _misfit(path, part)
        if fault is not None:
            yield fault
            return
    try:
        runs = scan_parts(files_of([source], "runs"), "runs").select("run").collect()["run"]
    except READING_FAILED as error:
        yield Fault(kind="damaged", text=f"its table of runs cannot be read ({first_line(error)})")
        return
    if sorted(runs) != sorted(entry.run for entry in source.manifest.runs):
        yield Fault(kind="damaged", text="its table of runs does not list the runs of its manifest")


def stray_files(source: StoredSource) -> list[Path]:
    """Return what lies in the folder of a source and is in no manifest."""
    listed = {part.file for part in source.manifest.parts} | {MANIFEST}
    return sorted(path for path in source.folder.iterdir() if path.name not in listed)


def first_line(error: BaseException) -> str:
    """Return the first line of an error: those of Polars go on with the query."""
    return str(error).partition("\n")[0]


def _fault_of(path: Path, part: StoredFile) -> Fault | None:
    try:
        size = path.stat().st_size
        if size != part.bytes:
            return Fault(kind="damaged", text=f"{part.file} is damaged ({size} bytes where {part.bytes} were written)")
        if digest_of(path) != part.sha256:
            return Fault(kind="damaged", text=f"{part.file} is damaged (its bytes are not those that were written)")
    except FileNotFoundError:
        return Fault(kind="damaged", text=f"{part.file} is missing")
    except OSError as error:
        return Fault(kind="unreadable", text=f"{part.file} cannot be read ({error.strerror or error})")
    return None


def _misfit(path: Path, part: StoredFile) -> Fault | None:
    """Say in what a file whose bytes are right differs from its manifest: then the manifest is wrong."""
    try:
        table = scan_parts([(path, replace(part, constants={}))], part.table)
        table.head(1).collect()
        told = [
            pl.col(known.meta.output_name()).eq_missing(known).all()
            for known in constant_columns(part.constants, part.table)
        ]
        rows, *held = table.select(pl.len(), *told).collect().row(0)
    except READING_FAILED as error:
        why = f"{part.file} is not the table that its manifest describes ({first_line(error)})"
        return Fault(kind="damaged", text=why)
    if not all(held):
        name = list(part.constants)[held.index(False)]
        why = f"{part.file} has another value in {name!r} than its manifest says of every row"
        return Fault(kind="damaged", text=why)
    if rows != part.rows:
        return Fault(kind="damaged", text=f"{part.file} has {rows:,} rows where its manifest says {part.rows:,}")
    return None
