"""Find out whether every stored source is what its manifest says."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from evalstats.errors import StoreError
from evalstats.schema.data import Problem
from evalstats.store.disk import sha256_of
from evalstats.store.layout import SOURCES, StoredSource
from evalstats.store.manifest import MANIFEST, Part, read_manifest
from evalstats.store.parts import files_of, scan_parts


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
