"""Read result files into a store: the step behind `evalstats ingest`, without its options and its progress bar."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from evalstats.cli.ingest_report import IngestReport, SourceReport
from evalstats.errors import InputError, StoreError, UnreadableFileError
from evalstats.loaders.base import ANY_FAULT, Loader, Source, tables_of, with_digest
from evalstats.loaders.mapping import ColumnMap
from evalstats.loaders.registry import plan
from evalstats.loaders.table import LOADER as TABLE
from evalstats.loaders.table import unnamed_benchmarks
from evalstats.loaders.tidy import DEFAULT_BENCHMARK
from evalstats.schema.data import Problem
from evalstats.store.layout import Shelf, some_of
from evalstats.store.make import make_store
from evalstats.store.manifest import Manifest, Origin
from evalstats.store.write import Committed, SourceWriter, held_already

Progress = Callable[[int, int, Path], None]


def ingest(
    paths: Iterable[str | Path],
    store: str | Path,
    *,
    strict: bool = False,
    format: str | None = None,
    column_map: ColumnMap | None = None,
    on_progress: Progress | None = None,
) -> IngestReport:
    """Read result files and folders of any known format into a store, which is made if it is not there.

    Each source (a file, or the files of one run) is in the store whole or not at all, also when the process is killed
    or another one ingests the same files. A source that is there already, byte for byte and read the same way, is
    passed over (under another name too, if it is about the same models). One that was read by another version of its
    loader, or with another column map, takes the place of the earlier reading.

    Parameters
    ----------
    paths
        Files and folders. A store inside a folder is passed over.
    store
        Folder of the store.
    strict
        Raise on the first source that cannot be read; those before it stay in the store.
    format, column_map
        As in `evalstats.read`.
    on_progress
        Called with (sources done, sources in all, file) before every source, and once more at the end.

    Raises
    ------
    InputError
        If a path does not exist or is a store.
    StoreError
        If the store cannot be used, or can no longer be written to.
    UnreadableFileError
        With `strict`, for the first source that cannot be read.
    """
    planned, problems = plan(paths, format=format, column_map=column_map)
    reports = [_failed(problem.path, problem.message) for problem in problems if problem.severity == "error"]
    if strict and reports:
        raise UnreadableFileError(f"{reports[0].path}: {reports[0].reason}")
    notes = [problem for problem in problems if problem.severity == "note"]
    if not planned:
        # Nothing to keep: a store that did not exist is not made.
        return IngestReport(store=str(store), sources=tuple(reports), notes=tuple(notes))
    shelf = make_store(store)
    path = Path(store)
    for done, item in enumerate(planned):
        path = item.source.path
        if on_progress is not None:
            on_progress(done, len(planned), path)
        try:
            reports.append(_ingest_source(shelf, item.loader, item.source, column_map))
        except UnreadableFileError as error:
            if strict:
                raise
            reports.append(_failed(str(path), str(error).removeprefix(f"{path}: ")))
    if on_progress is not None:
        on_progress(len(planned), len(planned), path)
    unnamed = [report.path for report in reports if _is_unnamed(report)]
    if unnamed:
        notes.append(unnamed_benchmarks(unnamed))
    return IngestReport(store=str(store), sources=tuple(reports), notes=tuple(notes))


def _is_unnamed(report: SourceReport) -> bool:
    """Whether a table was added that counts as the one benchmark of all tables that name none."""
    added = report.status == "loaded" and report.loader == TABLE.name
    return added and any(run.benchmark == DEFAULT_BENCHMARK for run in report.runs)


def _failed(path: str, reason: str) -> SourceReport:
    return SourceReport(path=path, status="failed", reason=reason)


def _ingest_source(shelf: Shelf, loader: Loader, source: Source, column_map: ColumnMap | None) -> SourceReport:
    origin = _origin(loader, source, column_map)
    held = held_already(shelf, origin)
    if held is not None:
        return _skipped(origin, held.manifest)
    other = _other_version(shelf, origin)
    committed = _commit(shelf, loader, source, origin)
    if committed.outcome == "present":
        return _skipped(origin, committed.manifest)
    return _report("loaded", origin, committed.manifest, _what_it_replaces(committed) or other)


def _commit(shelf: Shelf, loader: Loader, source: Source, origin: Origin) -> Committed:
    try:
        return _written(shelf, loader, source, origin)
    except (StoreError, UnreadableFileError):
        raise
    except InputError as error:
        raise UnreadableFileError(str(error)) from error
    except ANY_FAULT as error:
        message = f"{source.path}: could not be stored ({type(error).__name__}: {error}); check that the file is whole"
        raise UnreadableFileError(message) from error


def _written(shelf: Shelf, loader: Loader, source: Source, origin: Origin) -> Committed:
    with SourceWriter(shelf, origin) as writer:
        for part in tables_of(loader, source):
            if isinstance(part, Problem):
                writer.add_problem(part)
            else:
                writer.add(*part)
        if with_digest(source).digest != origin.digest:
            message = f"{source.path}: changed while it was being read; ingest it again when its run has ended"
            raise UnreadableFileError(message)
        return writer.commit()


def _origin(loader: Loader, source: Source, column_map: ColumnMap | None) -> Origin:
    options = {} if column_map is None else {"column_map": json.dumps(column_map.as_config(), sort_keys=True)}
    return Origin(
        path=str(source.path),
        digest=source.digest,
        loader=loader.name,
        loader_version=loader.version,
        options=options,
    )


def _other_version(shelf: Shelf, origin: Origin) -> str:
    """Say that the store holds the same path with other bytes: then the same results may be in it twice."""
    for source in shelf.with_path(origin.path):
        if source.digest != origin.digest:
            runs = some_of((entry.run for entry in source.manifest.runs), shown=3)
            return (
                f"the store also holds what this file was before (run {runs}); if that is outdated, "
                f"remove it: evalstats store {shelf.store} remove RUN"
            )
    return ""


def _what_it_replaces(committed: Committed) -> str:
    if not committed.replaced:
        return ""
    earlier, origin = committed.replaced[0], committed.manifest.origin
    if earlier.removed_runs:
        return f"brought back {some_of(earlier.removed_runs, shown=3)}, which had been removed"
    if (earlier.loader, earlier.loader_version) == (origin.loader, origin.loader_version):
        return "put in the place of an earlier reading with another column map"
    return f"put in the place of an earlier reading by {earlier.loader} {earlier.loader_version}"


def _skipped(origin: Origin, held: Manifest) -> SourceReport:
    copy_of = held.origin.path
    return _report(
        "skipped", origin, held, "" if copy_of == origin.path else f"the store has it already, from {copy_of}"
    )


def _report(status: Literal["loaded", "skipped"], origin: Origin, manifest: Manifest, reason: str) -> SourceReport:
    return SourceReport(
        path=origin.path,
        status=status,
        reason=reason,
        loader=origin.loader,
        runs=manifest.runs,
        rows=manifest.rows(),
        problems=manifest.problems,
    )
