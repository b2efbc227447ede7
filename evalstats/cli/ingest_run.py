"""Read result files into a store: the step behind `evalstats ingest`, without its options and its progress bar."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Final, Literal

from evalstats.cli.load import problem_lines
from evalstats.document.escape import cell_width, clean, padded, wrapped
from evalstats.errors import InputError, StoreError, UnreadableFileError
from evalstats.grammar import plural, quoted_list
from evalstats.loaders.base import ANY_FAULT, Loader, Source, tables_of, with_digest
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import plan
from evalstats.loaders.table import LOADER as TABLE
from evalstats.loaders.table import unnamed_benchmarks
from evalstats.record import record
from evalstats.schema.anonymize import Account, Anonymizer, together
from evalstats.schema.columns import TableName
from evalstats.schema.data import UNNAMED, Problem
from evalstats.store.key_file import is_open_to_others, key_from_text, new_key, read_or_make_key
from evalstats.store.manifest import Manifest, RunEntry, Shelf, SourceOrigin, is_store
from evalstats.store.write import MAX_PROBLEMS, Committed, SourceWriter, held_already, make_store, nothing_left

_NOTES_SHOWN = 20
_NAME_WIDTH = 16
_WIDTH = 80
_STATUS_TABLES = ("outcomes", "comparisons")


@record
class SourceReport:
    """What became of one source.

    Attributes
    ----------
    path
        The (main) file, as the user named it.
    status
        loaded: read into the store; skipped: the store has these bytes, read the same way; failed: nothing of
        it is kept.
    reason
        Why it failed, what it replaced, or under what other name the store has it; else empty.
    runs
        Its runs with the number of rows that have a score, failed, or got none.
    rows
        Rows of every table.
    problems
        What the loader left out, and what the reader should know.
    anonymized
        What was taken out of the tables; None where the source was read whole.
    """

    path: str
    status: Literal["loaded", "skipped", "failed"]
    reason: str = ""
    loader: str = ""
    runs: tuple[RunEntry, ...] = ()
    rows: Mapping[TableName, int] = field(default_factory=dict[TableName, int])
    problems: tuple[Problem, ...] = ()
    anonymized: Account | None = None


@record
class IngestReport:
    """What an ingest did: its sources in the order they were read, and notes on files that are no sources."""

    store: str
    sources: tuple[SourceReport, ...] = ()
    notes: tuple[Problem, ...] = ()

    @property
    def loaded(self) -> tuple[SourceReport, ...]:
        """Sources that were read into the store."""
        return tuple(source for source in self.sources if source.status == "loaded")

    @property
    def skipped(self) -> tuple[SourceReport, ...]:
        """Sources that the store had already."""
        return tuple(source for source in self.sources if source.status == "skipped")

    @property
    def failed(self) -> tuple[SourceReport, ...]:
        """Files that could not be read."""
        return tuple(source for source in self.sources if source.status == "failed")

    @property
    def n_readable(self) -> int:
        """Number of sources that are in the store now: loaded or there already."""
        return len(self.sources) - len(self.failed)

    def summary_lines(self) -> list[str]:
        """Return the report for a terminal: a line for every run read, totals, then every file that was not read.

        Runs that the store had already are counted and not listed. All text is cleaned of control characters, and wrapped.
        """
        readable = (*self.loaded, *self.skipped)
        problems = (*self.notes, *(problem for source in self.loaded for problem in source.problems))
        notes = problem_lines([problem for problem in problems if problem.severity != "error"])
        notes += [f"note: {problem}" for problem in problems if problem.severity == "error"]
        failures = [f"not read: {source.path}: {source.reason}" for source in self.failed]
        lines = [*self._totals(), *self._anonymized(), *failures]
        lines += [f"note: {source.path}: {source.reason}" for source in readable if source.reason]
        lines += notes[:_NOTES_SHOWN]
        if len(notes) > _NOTES_SHOWN:
            lines.append(f"and {len(notes) - _NOTES_SHOWN} more notes; the store keeps those of each source")
        if self.failed:
            n_failed, n_all = len(self.failed), len(self.sources)
            lines.append(f"{n_failed} of {plural(n_all, 'source')} not read; --strict stops at the first such source")
        return [*self._run_lines(), *(part for line in lines for part in wrapped(line, _WIDTH))]

    def _run_lines(self) -> list[str]:
        pairs = [(source, run) for source in self.loaded for run in source.runs]
        if not pairs:
            return []
        names = [run.benchmark if run.model is None else f"{run.model} · {run.benchmark}" for _, run in pairs]
        # Where two would read the same, the name of the run tells them apart.
        alike = {name for name, n in Counter(names).items() if n > 1}
        told = zip(names, pairs, strict=True)
        names = [clean(f"{name} · {run.run}" if name in alike else name) for name, (_, run) in told]
        numbers = _aligned([(run.n_scored, run.n_error, run.n_unscored) for _, run in pairs])
        counts = [_other_rows(source, run) or aligned for (source, run), aligned in zip(pairs, numbers, strict=True)]
        column = max(min(max(map(cell_width, names)), _WIDTH - max(map(len, counts)) - 2), _NAME_WIDTH)
        return [f"{padded(name, column)}  {text}" for name, text in zip(names, counts, strict=True)]

    def _totals(self) -> list[str]:
        if not self.sources:
            return ["no result files were found"]
        parts = [f"{len(self.loaded)} read"]
        if self.skipped:
            parts.append(f"{len(self.skipped)} already in the store")
        if self.failed:
            parts.append(f"{len(self.failed)} not read")
        lines = [f"{plural(len(self.sources), 'source')}: {', '.join(parts)}"]
        runs = [run for source in self.loaded for run in source.runs]
        if runs:
            scored, error, unscored = (
                sum(getattr(run, name) for run in runs) for name in ("n_scored", "n_error", "n_unscored")
            )
            lines.append(f"{plural(len(runs), 'run')}, rows: {scored} scored, {error} error, {unscored} unscored")
        return lines

    def _anonymized(self) -> list[str]:
        """Say what was taken out of the sources that were read now."""
        accounts = [source.anonymized for source in self.loaded if source.anonymized is not None]
        if not accounts:
            return []
        done = together(accounts).lines() or ("nothing in the tables looked like ids of people or like texts",)
        kept = "the notes on files below are shown and not stored, since they may quote rows"
        shown = [kept] if any(source.problems for source in self.loaded) else []
        return [f"anonymised: {line}" for line in (*done, *shown)]


def _aligned(counts: list[tuple[int, int, int]]) -> list[str]:
    widths = [max(len(str(n)) for n in column) for column in zip(*counts, strict=True)]
    words = ("scored", "error", "unscored")
    return [
        "  ".join(f"{word} {n:>{width}}" for word, n, width in zip(words, row, widths, strict=True)) for row in counts
    ]


def _other_rows(source: SourceReport, run: RunEntry) -> str:
    """Say what a source without single outcomes holds (ratings, published numbers); "" for any other."""
    if run.n_scored + run.n_error + run.n_unscored or any(table in source.rows for table in _STATUS_TABLES):
        return ""
    return (
        "  ".join(f"{table} {n}" for table, n in source.rows.items() if table not in ("runs", "metrics")) or "no rows"
    )


Progress = Callable[[int, int, Path], None]


def ingest(
    paths: Iterable[str | Path],
    store: str | Path,
    *,
    strict: bool = False,
    format: str | None = None,
    column_map: ColumnMap | None = None,
    on_progress: Progress | None = None,
    on_rows: Callable[[int], None] | None = None,
    anonymize: bytes | None = None,
    keep: Sequence[str] = (),
) -> IngestReport:
    """Read result files and folders of any known format into a store, which is made if it is not there.

    Each source (a file, or the files of one run) is in the store whole or not at all, also when the process is killed
    or another one ingests the same files. A source that is there already, byte for byte and read the same way, is
    passed over (under another name too, if it is about the same models). One that was read by another version of its
    loader, or with another column map, takes the place of the earlier reading. A store inside a folder is passed over.

    `strict` raises on the first source or row that cannot be read; sources before it stay in the store. `on_progress` is
    called with (sources done, sources in all, file) before every source, and once more at the end, `on_rows` with the number of
    rows whenever some were taken. With `anonymize`, 32 secret
    bytes, nothing that identifies a person and no text reaches the store, but for the factors of `keep`, see
    `evalstats.schema.anonymize.anonymized`; the key's fingerprint alone is kept, so that another key is another reading.

    InputError if a path does not exist or is a store, or the key is not 32 bytes; StoreError if the store cannot be used or
    written to; UnreadableFileError with `strict`.
    """
    way = _Way(column_map=column_map, key=anonymize, keep=tuple(keep), strict=strict, on_rows=on_rows)
    way.anonymizer()  # a key or a column that cannot be used is refused before anything is read
    planned, problems = plan(paths, format=format, column_map=column_map, stored=_stored_paths(store))
    reports = [_failed(problem.path, problem.message) for problem in problems if problem.severity == "error"]
    if strict and reports:
        raise UnreadableFileError(f"{reports[0].path}: {reports[0].reason}")
    notes = [problem for problem in problems if problem.severity == "note"]
    if not planned:
        # Nothing to keep: a store that did not exist is not made.
        return IngestReport(store=str(store), sources=tuple(reports), notes=tuple(notes))
    path = Path(store)
    with nothing_left():
        shelf = make_store(store)
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


def _stored_paths(store: str | Path) -> list[Path]:
    """Return the files that a store was read from; none of a store that is not there yet."""
    return [Path(source.origin.path) for source in Shelf(Path(store)).current()] if is_store(store) else []


def _is_unnamed(report: SourceReport) -> bool:
    """Whether a table was added that counts as the one benchmark of all tables that name none."""
    added = report.status == "loaded" and report.loader == TABLE.name
    return added and any(run.benchmark == UNNAMED for run in report.runs)


def _plain_sources(shelf: Shelf) -> list[Problem]:
    shelf.refresh()
    plain = [source.origin.path for source in shelf.current() if "anonymized" not in source.origin.options]
    if not plain:
        return []
    message = f"also holds {len(plain)} sources that are not anonymised ({quoted_list(plain, most=3)})"
    return [Problem(path=str(shelf.store), message=message, severity="note")]


def _failed(path: str, reason: str) -> SourceReport:
    return SourceReport(path=path, status="failed", reason=reason)


@record
class _Way:
    """How sources are read into the store, the same for all of them."""

    column_map: ColumnMap | None = None
    key: bytes | None = field(default=None, repr=False)
    keep: tuple[str, ...] = ()
    strict: bool = False
    on_rows: Callable[[int], None] | None = None

    def anonymizer(self) -> Anonymizer | None:
        """Return one that has not seen anything yet."""
        return None if self.key is None else Anonymizer(self.key, keep=self.keep)


@record
class _Reading:
    """One source on its way into the store."""

    loader: Loader
    source: Source
    origin: SourceOrigin
    anonymizer: Anonymizer | None
    way: _Way
    # Notes that may quote rows: shown, and not stored.
    shown: list[Problem] = field(default_factory=list[Problem])


def _ingest_source(shelf: Shelf, loader: Loader, source: Source, way: _Way) -> SourceReport:
    anonymizer = way.anonymizer()
    options = {} if way.column_map is None else {"column_map": json.dumps(way.column_map.as_config(), sort_keys=True)}
    if source.given:
        options["path"] = json.dumps(source.given, sort_keys=True)
    path = str(source.path)
    if anonymizer is not None:
        # A map may hold constants and values of rows.
        options = {name: anonymizer.names.of(name, text) for name, text in options.items()} | anonymizer.options
        path = anonymizer.names.of_path(path)
    origin = SourceOrigin(
        path=path, digest=source.digest, loader=loader.name, loader_version=loader.version, options=options
    )
    reading = _Reading(loader=loader, source=source, origin=origin, anonymizer=anonymizer, way=way)
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
        raise UnreadableFileError(
            f"{path}: could not be stored ({type(error).__name__}: {error}); check that the file is whole"
        ) from error


def _written(shelf: Shelf, reading: _Reading) -> Committed:
    source, anonymizer = reading.source, reading.anonymizer
    with SourceWriter(shelf, reading.origin) as writer:
        for part in tables_of(reading.loader, source):
            if not isinstance(part, Problem):
                name, frame = part
                writer.add(name, frame if anonymizer is None else anonymizer.table(name, frame))
                if reading.way.on_rows is not None:
                    reading.way.on_rows(frame.height)
            elif reading.way.strict and part.severity == "error":
                raise UnreadableFileError(str(part))
            elif anonymizer is None:
                writer.add_problem(part)
            elif len(reading.shown) < MAX_PROBLEMS:
                reading.shown.append(part)
        for line in () if anonymizer is None else anonymizer.account.lines():
            writer.add_problem(Problem(path=reading.origin.path, message=f"anonymised; {line}", severity="note"))
        if with_digest(source).digest != reading.origin.digest:
            raise UnreadableFileError(
                f"{source.path}: changed while it was being read; ingest it again when its run has ended"
            )
        return writer.commit()


def _refuse_plain_beside_anonymized(shelf: Shelf, reading: _Reading) -> None:
    """Refuse to bring back what was taken out: a forgotten option must not undo it."""
    if reading.anonymizer is not None:
        return
    if any("anonymized" in held.origin.options for held in shelf.with_digest(reading.origin.digest)):
        raise UnreadableFileError(
            f"{reading.source.path}: the store holds it anonymised, and plain ids would take their place; give --anonymize "
            "with its key again, or remove its runs first (`evalstats store DIR remove RUN`)"
        )


def _other_version(shelf: Shelf, origin: SourceOrigin) -> str:
    """Say that the store holds the same path with other bytes: then the same results may be in it twice."""
    for source in shelf.with_path(origin.path):
        if source.digest != origin.digest:
            runs = quoted_list((entry.run for entry in source.manifest.runs), most=3)
            return (
                f"the store also holds an earlier version of this file (run {runs}); if it is outdated, remove "
                f"it: evalstats store {shelf.store} remove RUN"
            )
    return ""


def _what_it_replaces(committed: Committed) -> str:
    if not committed.replaced:
        return ""
    earlier = committed.replaced[0]
    if earlier.removed_runs:
        return f"brought back {quoted_list(earlier.removed_runs, most=3)}, which had been removed"
    if "anonymized" in committed.manifest.origin.options and "anonymized" not in earlier.options:
        return "put in the place of an earlier reading that was not anonymised"
    return f"put in the place of an earlier reading by {earlier.loader} {earlier.loader_version}"


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


ENVIRONMENT: Final = "EVALSTATS_ANONYMIZE_KEY"


def chosen_key(
    *, anonymize: bool, key_file: Path | None, keep: Sequence[str], store: Path
) -> tuple[bytes | None, str | None]:
    """Choose the key (None: nothing is anonymised), of a file, else of the environment, else one for this ingest; and a note.

    InputError if options are given that need --anonymize, or the key cannot be used.
    """
    if not anonymize:
        given = "--key-file" if key_file is not None else "--keep" if keep else ""
        if given:
            raise InputError(f"{given} goes with --anonymize; give both or neither")
        return None, None
    if key_file is not None:
        return _of_file(key_file, store)
    text = os.environ.get(ENVIRONMENT)
    if text:
        return key_from_text(text, ENVIRONMENT), None
    note = (
        "the pseudonyms were made with a key for this ingest alone, which is gone now: the same user of another ingest "
        f"cannot be linked to them; --key-file FILE or {ENVIRONMENT} keeps a key"
    )
    return new_key(), note


def _of_file(path: Path, store: Path) -> tuple[bytes, str | None]:
    if path.resolve().is_relative_to(store.resolve()):
        raise InputError(
            f"{path}: the key must not lie in the store, which it would open; choose a place outside of {store}"
        )
    key, made = read_or_make_key(path)
    note = None
    if made:
        note = (
            f"a new key was written to {path}; keep it secret and safe: without it later files cannot be linked, and with it "
            "pseudonyms can be tested"
        )
    elif is_open_to_others(path):
        note = f"the key in {path} can be read by others on this machine; chmod 600 {path}"
    return key, note
