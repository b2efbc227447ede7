"""What an ingest did, source by source, for a program and in lines for a person."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any, Literal

from evalstats.document.width import cell_width, clean, padded, wrapped
from evalstats.schema.anonymize import Account, together
from evalstats.schema.columns import TableName
from evalstats.schema.data import Problem
from evalstats.store.manifest import RunEntry

_NOTES_SHOWN = 20
_NAME_WIDTH = 16
_TOGETHER_FROM = 3
_STATUS_TABLES = ("outcomes", "comparisons")


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-safe values."""
        return {
            "store": self.store,
            "n_loaded": len(self.loaded),
            "n_skipped": len(self.skipped),
            "n_failed": len(self.failed),
            "sources": [
                {
                    "path": source.path,
                    "status": source.status,
                    "reason": source.reason,
                    "loader": source.loader,
                    "runs": [asdict(run) for run in source.runs],
                    "rows": dict(source.rows),
                    "problems": [asdict(problem) for problem in source.problems],
                    "anonymized": None if source.anonymized is None else list(source.anonymized.lines()),
                }
                for source in self.sources
            ],
            "notes": [asdict(note) for note in self.notes],
        }

    def summary_lines(self, width: int = 80) -> list[str]:
        """Return the report for a terminal: a line for every run read, totals, then every file that was not read.

        Runs that the store had already are counted and not listed; files that failed for the same reason stand together.
        All text is cleaned of control characters, and wrapped.
        """
        readable = (*self.loaded, *self.skipped)
        notes = [*self.notes, *(problem for source in self.loaded for problem in source.problems)]
        lines = [*self._totals(), *self._anonymized(), *self._failures()]
        lines += [f"note: {source.path}: {source.reason}" for source in readable if source.reason]
        lines += [f"note: {note}" for note in notes[:_NOTES_SHOWN]]
        if len(notes) > _NOTES_SHOWN:
            lines.append(f"and {len(notes) - _NOTES_SHOWN} more notes; the store keeps those of each source")
        if self.failed:
            n_failed, n_all = len(self.failed), len(self.sources)
            lines.append(f"{n_failed} of {_count(n_all, 'source')} not read; --strict stops at the first such source")
        return [*self._run_lines(width), *(part for line in lines for part in wrapped(line, width))]

    def _run_lines(self, width: int) -> list[str]:
        pairs = [(source, run) for source in self.loaded for run in source.runs]
        if not pairs:
            return []
        names = [clean(name) for name in _names(pairs)]
        numbers = _aligned([(run.n_scored, run.n_error, run.n_unscored) for _, run in pairs])
        counts = [_other_rows(source, run) or aligned for (source, run), aligned in zip(pairs, numbers, strict=True)]
        column = max(min(max(map(cell_width, names)), width - max(map(len, counts)) - 2), _NAME_WIDTH)
        return [f"{padded(name, column)}  {text}" for name, text in zip(names, counts, strict=True)]

    def _totals(self) -> list[str]:
        if not self.sources:
            return ["no result files were found"]
        parts = [f"{len(self.loaded)} read"]
        if self.skipped:
            parts.append(f"{len(self.skipped)} already in the store")
        if self.failed:
            parts.append(f"{len(self.failed)} not read")
        lines = [f"{_count(len(self.sources), 'source')}: {', '.join(parts)}"]
        runs = [run for source in self.loaded for run in source.runs]
        if runs:
            scored, error, unscored = (
                sum(getattr(run, name) for run in runs) for name in ("n_scored", "n_error", "n_unscored")
            )
            lines.append(f"{_count(len(runs), 'run')}, rows: {scored} scored, {error} error, {unscored} unscored")
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

    def _failures(self) -> list[str]:
        by_reason: dict[str, list[str]] = {}
        for source in self.failed:
            by_reason.setdefault(source.reason, []).append(source.path)
        lines: list[str] = []
        for reason, paths in by_reason.items():
            if len(paths) < _TOGETHER_FROM:
                lines += [f"not read: {path}: {reason}" for path in paths]
            else:
                lines.append(f"not read, {len(paths)} files: {reason}")
                lines += [f"  {path}" for path in paths]
        return lines


def _names(pairs: list[tuple[SourceReport, RunEntry]]) -> list[str]:
    """Name every run by its model and benchmark; where two would read the same, by its system, file or own name too."""
    names = [run.benchmark if run.model is None else f"{run.model} · {run.benchmark}" for _, run in pairs]
    alike: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        alike.setdefault(name, []).append(place)
    for name, places in alike.items():
        if len(places) == 1:
            continue
        group = [pairs[place] for place in places]
        details = (
            [run.system or "" for _, run in group],
            [PurePath(source.path).name for source, _ in group],
            [run.run for _, run in group],
        )
        told = next((detail for detail in details if len(set(detail)) == len(group)), details[-1])
        for place, detail in zip(places, told, strict=True):
            names[place] = f"{name} · {detail}"
    return names


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


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
