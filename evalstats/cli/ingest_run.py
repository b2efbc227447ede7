"""Read result files into a store: the step behind `evalstats ingest`, without its options and its progress bar."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from evalstats.cli.ingest_report import IngestReport, SourceReport
from evalstats.errors import InputError, StoreError, UnreadableFileError
from evalstats.loaders.base import ANY_FAULT, Loader, Source, tables_of, with_digest
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import plan
from evalstats.loaders.table import LOADER as TABLE
from evalstats.loaders.table import unnamed_benchmarks
from evalstats.loaders.tidy import DEFAULT_BENCHMARK
from evalstats.schema.anonymize import Anonymizer
from evalstats.schema.data import Problem
from evalstats.store.manifest import Manifest, Origin, Shelf, some_of
from evalstats.store.write import MAX_PROBLEMS, Committed, SourceWriter, held_already, make_store

Progress = Callable[[int, int, Path], None]


def ingest(
    paths: Iterable[str | Path],
    store: str | Path,
    *,
    strict: bool = False,
    format: str | None = None,
    column_map: ColumnMap | None = None,
    on_progress: Progress | None = None,
    anonymize: bytes | None = None,
    keep: Sequence[str] = (),
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
    anonymize
        32 secret bytes: nothing that identifies a person and no text reaches the store, see
        `evalstats.schema.anonymize.anonymized`. The key is not kept; its fingerprint is, so that another key, as another
        reading, takes the place of the earlier one. None reads everything.
    keep
        Factors whose labels or numbers stay readable when anonymised.

    Raises
    ------
    InputError
        If a path does not exist or is a store, or the key is not 32 bytes.
    StoreError
        If the store cannot be used, or can no longer be written to.
    UnreadableFileError
        With `strict`, for the first source that cannot be read.
    """
    way = _Way(column_map=column_map, key=anonymize, keep=tuple(keep))
    way.anonymizer()  # a key or a column that cannot be used is refused before anything is read
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
            reports.append(_ingest_source(shelf, item.loader, item.source, way))
        except UnreadableFileError as error:
            if strict:
                raise
            reports.append(_failed(str(path), str(error).removeprefix(f"{path}: ")))
    if on_progress is not None:
        on_progress(len(planned), len(planned), path)
    unnamed = [report.path for report in reports if _is_unnamed(report)]
    if unnamed:
        notes.append(unnamed_benchmarks(unnamed))
    if anonymize is not None:
        notes.extend(_plain_sources(shelf))
    return IngestReport(store=str(store), sources=tuple(reports), notes=tuple(notes))


def _is_unnamed(report: SourceReport) -> bool:
    """Whether a table was added that counts as the one benchmark of all tables that name none."""
    added = report.status == "loaded" and report.loader == TABLE.name
    return added and any(run.benchmark == DEFAULT_BENCHMARK for run in report.runs)


def _plain_sources(shelf: Shelf) -> list[Problem]:
    shelf.refresh()
    plain = [source.origin.path for source in shelf.current() if "anonymized" not in source.origin.options]
    if not plain:
        return []
    message = f"also holds {len(plain)} sources that are not anonymised ({some_of(plain, shown=3)})"
    return [Problem(path=str(shelf.store), message=message, severity="note")]


def _failed(path: str, reason: str) -> SourceReport:
    return SourceReport(path=path, status="failed", reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How sources are read into the store, the same for all of them."""

    column_map: ColumnMap | None = None
    key: bytes | None = field(default=None, repr=False)
    keep: tuple[str, ...] = ()

    def anonymizer(self) -> Anonymizer | None:
        """Return one that has not seen anything yet."""
        return None if self.key is None else Anonymizer(self.key, keep=self.keep)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One source on its way into the store."""

    loader: Loader
    source: Source
    origin: Origin
    anonymizer: Anonymizer | None
    # Notes that may quote rows: shown, and not stored.
    shown: list[Problem] = field(default_factory=list[Problem])


def _ingest_source(shelf: Shelf, loader: Loader, source: Source, way: _Way) -> SourceReport:
    anonymizer = way.anonymizer()
    reading = _Reading(
        loader=loader, source=source, origin=_origin(loader, source, way.column_map, anonymizer), anonymizer=anonymizer
    )
    held = held_already(shelf, reading.origin)
    if held is not None:
        return _skipped(reading, held.manifest)
    _refuse_plain_beside_anonymized(shelf, reading)
    other = _other_version(shelf, reading.origin)
    committed = _commit(shelf, reading)
    if committed.outcome == "present":
        return _skipped(reading, committed.manifest)
    return _report("loaded", reading, committed.manifest, _what_it_replaces(committed) or other)


def _commit(shelf: Shelf, reading: _Reading) -> Committed:
    path = reading.source.path
    try:
        return _written(shelf, reading)
    except (StoreError, UnreadableFileError):
        raise
    except InputError as error:
        raise UnreadableFileError(str(error)) from error
    except ANY_FAULT as error:
        message = f"{path}: could not be stored ({type(error).__name__}: {error}); check that the file is whole"
        raise UnreadableFileError(message) from error


def _written(shelf: Shelf, reading: _Reading) -> Committed:
    source, anonymizer = reading.source, reading.anonymizer
    with SourceWriter(shelf, reading.origin) as writer:
        for part in tables_of(reading.loader, source):
            if not isinstance(part, Problem):
                name, frame = part
                writer.add(name, frame if anonymizer is None else anonymizer.table(name, frame))
            elif anonymizer is None:
                writer.add_problem(part)
            elif len(reading.shown) < MAX_PROBLEMS:
                reading.shown.append(part)
        for line in () if anonymizer is None else anonymizer.account.lines():
            writer.add_problem(Problem(path=reading.origin.path, message=f"anonymised; {line}", severity="note"))
        if with_digest(source).digest != reading.origin.digest:
            message = f"{source.path}: changed while it was being read; ingest it again when its run has ended"
            raise UnreadableFileError(message)
        return writer.commit()


def _origin(loader: Loader, source: Source, column_map: ColumnMap | None, anonymizer: Anonymizer | None) -> Origin:
    options = {} if column_map is None else {"column_map": json.dumps(column_map.as_config(), sort_keys=True)}
    path = str(source.path)
    if anonymizer is not None:
        # A map may hold constants and values of rows.
        options = {name: anonymizer.names.of(name, text) for name, text in options.items()} | anonymizer.options
        path = anonymizer.names.of_path(path)
    return Origin(path=path, digest=source.digest, loader=loader.name, loader_version=loader.version, options=options)


def _refuse_plain_beside_anonymized(shelf: Shelf, reading: _Reading) -> None:
    """Refuse to bring back what was taken out: a forgotten option must not undo it."""
    if reading.anonymizer is not None:
        return
    if any("anonymized" in held.origin.options for held in shelf.with_digest(reading.origin.digest)):
        message = (
            f"{reading.source.path}: the store holds it anonymised, and plain ids would take their place; give --anonymize "
            "with its key again, or remove its runs first (`evalstats store DIR remove RUN`)"
        )
        raise UnreadableFileError(message)


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
    if (earlier.loader, earlier.loader_version) != (origin.loader, origin.loader_version):
        return f"put in the place of an earlier reading by {earlier.loader} {earlier.loader_version}"
    if "anonymized" in origin.options and "anonymized" not in earlier.options:
        return "put in the place of an earlier reading that was not anonymised"
    if origin.options.get("key_fingerprint") != earlier.options.get("key_fingerprint"):
        return "put in the place of an earlier reading under another key"
    if origin.options.get("keep") != earlier.options.get("keep"):
        return "put in the place of an earlier reading that kept other columns"
    return "put in the place of an earlier reading with another column map"


def _skipped(reading: _Reading, held: Manifest) -> SourceReport:
    copy_of = held.origin.path
    return _report(
        "skipped", reading, held, "" if copy_of == reading.origin.path else f"the store has it already, from {copy_of}"
    )


def _report(status: Literal["loaded", "skipped"], reading: _Reading, manifest: Manifest, reason: str) -> SourceReport:
    anonymizer = reading.anonymizer
    return SourceReport(
        path=str(reading.source.path),
        status=status,
        reason=reason,
        loader=reading.origin.loader,
        runs=manifest.runs,
        rows=manifest.rows(),
        problems=manifest.problems if anonymizer is None else tuple(reading.shown),
        anonymized=None if anonymizer is None else anonymizer.account,
    )
