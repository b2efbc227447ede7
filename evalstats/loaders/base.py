"""What a loader is, how a file finds its loader, and how the rows of one source become checked tables.

A loader knows one format. It looks at the head of a file (`sniff`), groups files that belong together (`plan`), and
yields rows (`read`). It never opens anything but the files it was given.
"""

import csv
import gc
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, Literal, Protocol, runtime_checkable

import msgspec
import polars as pl
from msgspec.structs import replace

from evalstats.errors import InputError, UnreadableFileError, bounded
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.files import HEAD_BYTES, open_bytes, partial_object
from evalstats.loaders.values import as_text
from evalstats.regular import digest_of, open_regular, part_of
from evalstats.schema.columns import STATUSES, TableName
from evalstats.schema.data import Problem, Severity
from evalstats.schema.tables import check_table, combinations_in, frame_from_rows

Shape = Literal["empty", "object", "array", "lines", "zip", "parquet", "text", "binary"]

# How a file begins that stands for one which git-LFS has not fetched.
# Lines of a text whose widths are compared.
_LINES_COMPARED = 20
_LFS = b"version https://git-lfs.github.com/spec/"

_ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv")

# How many rows a loader may hold before it hands them on.
BATCH_ROWS = 5_000

# A damaged Parquet file can make Polars panic, which is no ordinary exception.
PARQUET_FAULTS: tuple[type[BaseException], ...] = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)


def parquet_fault(error: BaseException) -> str:
    """Say what is wrong with a Parquet file; the words of a panic are those of its program, and differ from time to time."""
    return "its data are damaged" if isinstance(error, pl.exceptions.PanicException) else str(error)


# A loader may come from another package and raise anything; whatever one file brings about must not stop the others.
ANY_FAULT: tuple[type[BaseException], ...] = (Exception, pl.exceptions.PanicException)


@dataclass(frozen=True)
class Head:
    """The first bytes of a file, unpacked, and what can be told from them without reading the rest."""

    path: Path
    size: int
    data: bytes

    @cached_property
    def name(self) -> str:
        """File name without the folder, and without the ending of a packer."""
        return plain_name(self.path)

    @cached_property
    def text(self) -> str:
        """The head as text; undecodable bytes are replaced (loaders report them when they read)."""
        return self.data.decode(errors="replace")

    @cached_property
    def shape(self) -> Shape:
        """What kind of container the file is."""
        if self.data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            return "zip"
        if self.data[:4] == b"PAR1":
            return "parquet"
        if b"\x00" in self.data[:1024]:
            return "binary"
        start = self.text.lstrip()
        if not start:
            return "empty"
        if start[0] == "[":
            return "array"
        if start[0] == "{":
            return "lines" if self._is_lines else "object"
        return "text"

    @cached_property
    def _is_lines(self) -> bool:
        """Whether the first line is a whole JSON object and more follows, or the name says JSON Lines."""
        if self.name.endswith((".jsonl", ".ndjson")):
            return True
        first, _, rest = self.text.lstrip().partition("\n")
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            return False
        return rest.lstrip().startswith("{")

    @cached_property
    def members(self) -> dict[str, object]:
        """Members of the first JSON object (the document, or the first element or line) that lie whole in the head."""
        return partial_object(self._first_object)[0]

    @cached_property
    def keys(self) -> frozenset[str]:
        """Names of all members of the first JSON object that begin in the head."""
        return frozenset(partial_object(self._first_object)[1])

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of the columns of a table, or of the members of the first JSON object."""
        return frozenset(self.columns) or self.keys

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Column names of a delimited text file (its first record) or a Parquet file."""
        if self.shape == "parquet":
            try:
                with open_regular(self.path) as stream:  # a path would be taken for a pattern
                    return tuple(pl.read_parquet_schema(stream))
            except PARQUET_FAULTS:
                return ()
        if self.shape != "text":
            return ()
        nothing: list[str] = []
        try:
            rows = csv.reader(io.StringIO(self.text, newline=""), delimiter=self.delimiter, skipinitialspace=True)
            first = next((row for row in rows if row), nothing)
        except csv.Error:
            return ()
        return tuple(name.strip() for name in first)

    @property
    def delimiter(self) -> str:
        """Comma, semicolon or tab, whichever the first line has most of; else blanks that part all lines into as many cells."""
        first, *lines = self.text.lstrip("\r\n").splitlines()[:_LINES_COMPARED] or [""]
        if not any(first.count(each) for each in ",;\t"):
            whole = lines if len(self.data) < HEAD_BYTES else lines[:-1]
            widths = {len(line.split()) for line in (first, *whole) if line.strip()}
            if " " in first and whole and len(widths) == 1:
                return " "
        return max(",;\t", key=first.count)

    @property
    def _first_object(self) -> str:
        start = self.text.lstrip()
        return start[1:].lstrip() if start.startswith("[") else start


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """How sure a loader is that a file is its own, from 0 to 1, and why, in words.

    Use 0.9 for a set of keys only this format has, 0.5 for a likely guess, 0.1 for "any table". `skip` names a file
    that belongs to the format and holds no results (a manifest): it is passed over without a complaint. `columns` are what a
    table's columns are taken for.
    """

    confidence: float
    reason: str
    skip: bool = False
    columns: ColumnMap | None = None


_GENERIC: Final = frozenset(
    {
        *(".latest_test_run", ".latest_run_full", ".temp_test_run_data", "latest_test_run", "results", "result"),
        *("output", "outputs", "ragas_results", "promptfoo-results", "promptfoo_results", "eval_results"),
        *("evaluation_results", "eval_results_table", "metrics", "scores", "ragas_scores", "ragas_evaluation"),
        *("samples.jsonl_results", "eval_results_strict", "eval_results_loose"),
    }
)
_GENERIC_FOLDERS: Final = frozenset(
    {".deepeval", "deepeval", "promptfoo", "ragas", "evals", "artifacts", "data", "", "/", "."}
)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One unit that is loaded whole or not at all: a main file and the files that belong to it.

    `apart` is what tells its path from those of other sources whose files have the same name; "" where none has. `given` are
    standard columns that its path says, `layout` the template that it shows where the user gave none. Of a `twin` another file
    of this name, as deep, has the same bytes: what tells them apart is part of the run's name. `columns` are those that were
    found when it was detected.
    """

    path: Path
    companions: tuple[Path, ...] = ()
    digest: str = ""
    apart: str = ""
    given: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    layout: str = ""
    twin: bool = False
    columns: ColumnMap | None = None

    @property
    def stem(self) -> str:
        """File name without its ending, the readable part of a run's name."""
        return _stem_of(self.path)

    @property
    def called(self) -> str:
        """What a run without a model's name is called: its file, or its folder where the file's name is everybody's.

        Of files of the same name it is what tells their paths apart.

        >>> [
        ...     Source(path=Path(path)).called
        ...     for path in ("a/gpt.csv", "a/results.json", "m1/.deepeval/.latest_test_run.json")
        ... ]
        ['gpt', 'a', 'm1']
        """
        if self.apart:
            return self.apart
        stem = self.stem
        if stem.lower() not in _GENERIC and not stem.startswith("."):
            return stem
        folders = (readable_name(folder) for folder in reversed(self.path.absolute().parts[:-1]))
        return next((folder for folder in folders if folder.lower() not in {*_GENERIC, *_GENERIC_FOLDERS}), stem)

    def run_id(self, *parts: str) -> str:
        """Name of a run: readable, and different for different bytes (`stem.part~1a2b3c4d`).

        >>> Source(path=Path("a/run.json"), digest="0123456789").run_id("gpt")
        'run.gpt~01234567'
        """
        apart = [self.called] if self.twin and self.called != self.stem else []
        return f"{'.'.join([self.stem, *apart, *parts])}~{self.digest[:8]}"

    def notes(self, messages: Iterable[str], severity: Severity = "note") -> Iterator[Problem]:
        """Make problems of what a reader should know; "error" of what was left out."""
        return (Problem(path=str(self.path), message=bounded(message), severity=severity) for message in messages)


def paths_apart(paths: Sequence[Path]) -> list[str]:
    """Name files by what differs in their paths, without the folders and the name that all of them share.

    A name that some of them have to themselves belongs to it; files that differ in nothing but their endings keep them.

    >>> paths_apart([Path("runs/gpt/s1/grading.csv"), Path("runs/gpt/s2/grading.csv"), Path("runs/o1/s1/grading.csv")])
    ['gpt/s1', 'gpt/s2', 'o1/s1']
    >>> paths_apart([Path("a/x.csv"), Path("a/x.jsonl")]), paths_apart([Path("x.csv"), Path("old/x.csv")])
    (['x.csv', 'x.jsonl'], ['x', 'old'])
    """
    for whole in (False, True):
        names = [path.name if whole else Source(path=path).stem for path in paths]
        parts = [
            [*map(readable_name, (*path.absolute().parts[:-1], name))] for path, name in zip(paths, names, strict=True)
        ]
        shortest = min(map(len, parts))
        before = next((k for k in range(shortest) if len({each[k] for each in parts}) > 1), shortest)
        after = next((k for k in range(shortest) if len({each[-1 - k] for each in parts}) > 1), shortest)
        names = ["/".join(each[before : max(len(each) - after, 0)]) or each[-1] for each in parts]
        if len({*names}) == len(names):
            return names
    return [readable_name(path.absolute()) for path in paths]


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Some rows of one tidy table, as dicts with glossary names; other keys become factors."""

    table: TableName
    rows: list[dict[str, object]] = msgspec.field(default_factory=list[dict[str, object]])


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one tidy table as a frame with glossary names, for loaders that work on whole columns."""

    table: TableName
    frame: pl.DataFrame


@runtime_checkable
class Loader(Protocol):
    """One format, listed in `evalstats.loaders.registry` or offered by another package.

    Other packages offer theirs by the entry-point group `evalstats.loaders`.
    """

    @property
    def name(self) -> str:
        """Short name in the command line, such as "lm-eval"."""
        ...

    @property
    def title(self) -> str:
        """What it reads, for `evalstats formats`."""
        ...

    @property
    def version(self) -> str:
        """Raised whenever the rows that it makes change."""
        ...

    def sniff(self, head: Head) -> Match | None:
        """Say whether this looks like the format."""
        ...

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Group the files that were recognised into sources (`digest` is filled in afterwards)."""
        ...

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield the rows of one source, in batches of about `BATCH_ROWS` (frames may be larger).

        Exactly one row of `runs` for every run, with the fields the loader knows; the counts, the source and the
        loader are filled in by the caller. Raise `UnreadableFileError` (or `InputError`) to reject the whole source;
        yield a `Problem` to report what was left out or is worth knowing.
        """
        ...


def readable_name(path: str | Path) -> str:
    r"""Return a path as text that a table can hold: bytes that are no Unicode become the replacement character.

    >>> readable_name("caf\udce9.csv")
    'caf�.csv'
    """
    return as_text(str(path)) or ""


@lru_cache(maxsize=1_000)
def _stem_of(path: Path) -> str:
    if part := part_of(path)[1]:
        return readable_name(part)
    name = readable_name(plain_name(path))
    return name.rpartition(".")[0] or name


@lru_cache(maxsize=1_000)
def plain_name(path: Path) -> str:
    """File name without the ending of a packer.

    >>> plain_name(Path("a.jsonl.gz")), plain_name(Path("a.csv.zip")), plain_name(Path("gpt-4.1.zip"))
    ('a.jsonl', 'a.csv', 'gpt-4.1.zip')
    """
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    bare = name.removesuffix(".zip")
    # Without an ending of its own, what is behind its last point is a name.
    return bare if bare.endswith(_ENDINGS) else name


class SingleFileLoader:
    """Base of loaders whose files stand alone."""

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Make every file a source of its own."""
        return [Source(path=path) for path in files]


def read_head(path: Path) -> Head:
    """Read the first bytes of a file, unpacked; refuse a pointer that git-LFS left in a file's place."""
    with open_bytes(path) as stream:
        data = stream.read(HEAD_BYTES)
    if data.startswith(_LFS):
        raise UnreadableFileError(
            f"{path}: is a git-LFS pointer, not the file itself; fetch that with `git lfs pull`, then try again"
        )
    return Head(path=path, size=part_of(path)[0].stat().st_size, data=data)


def with_digest(source: Source) -> Source:
    """Fill in the digest: of the one file, or of all files together in a fixed order."""
    digests = [digest_of(path) for path in (source.path, *sorted(source.companions))]
    if part := part_of(source.path)[1]:
        digests.append(part)
    if len(digests) == 1:
        return replace(source, digest=digests[0])
    return replace(source, digest=hashlib.sha256("\n".join(digests).encode()).hexdigest())


def in_batches(rows: Iterable[dict[str, object]], table: TableName, size: int = BATCH_ROWS) -> Iterator[Rows]:
    """Cut a stream of rows into batches."""
    batch: list[dict[str, object]] = []
    for row in rows:
        batch.append(row)
        if len(batch) >= size:
            yield Rows(table=table, rows=batch)
            batch = []
    if batch:
        yield Rows(table=table, rows=batch)


def with_path(path: Path, error: Exception) -> str:
    """Return the words of an error about a file, with its path before them unless they hold it."""
    return str(error) if str(path) in str(error) else f"{path}: {error}"


def tables_of(loader: Loader, source: Source) -> Iterator[tuple[TableName, pl.DataFrame] | Problem]:
    """Read a source into checked frames, batch by batch; `runs` comes last, with its counts.

    Until then Python's collector of cycles is paused: records make many objects, none of them a cycle, and it would look at all.
    """
    runs: list[dict[str, object]] = []
    counts: dict[str, dict[str, int]] = {}
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        for part in loader.read(source):
            if isinstance(part, Problem):
                yield part
            elif part.table == "runs":
                runs.extend(part.rows if isinstance(part, Rows) else part.frame.to_dicts())
            elif (frame := _checked(part)).height:
                count_statuses(frame, counts)
                yield part.table, frame
        if getattr(loader, "restores", False):  # tables of ours, whose runs say themselves where they come from
            yield "runs", frame_from_rows(runs, "runs")
            return
        if not runs:
            raise UnreadableFileError(f"{source.path}: holds no run that the {loader.name} loader could read")
        about: dict[str, object] = {"source": readable_name(source.path), "source_digest": source.digest}
        about |= {"loader": loader.name, "loader_version": loader.version}
        yield "runs", counted_runs(runs, about, counts)
    except InputError as error:
        raise UnreadableFileError(with_path(source.path, error)) from error
    except RecursionError as error:
        raise UnreadableFileError(f"{source.path}: JSON is nested too deeply to be a result") from error
    except ANY_FAULT as error:
        raise UnreadableFileError(
            f"{source.path}: could not be read by the {loader.name} loader ({type(error).__name__}: {error}); "
            "check that the file is whole, or report it with the harness's version"
        ) from error
    finally:
        if is_collecting:
            gc.enable()


def _checked(part: Rows | Frame) -> pl.DataFrame:
    if isinstance(part, Frame):
        return check_table(part.frame, part.table, keyed=False)
    return frame_from_rows(part.rows, part.table)


def count_statuses(frame: pl.DataFrame, counts: dict[str, dict[str, int]]) -> None:
    """Add to the rows that runs have of each status."""
    if "status" not in frame.columns or "run" not in frame.columns:
        return
    for run, status, n in combinations_in(frame, ("run", "status")).iter_rows():
        of_run = counts.setdefault(run, {})
        of_run[status] = of_run.get(status, 0) + n


def counted_runs(
    runs: Iterable[Mapping[str, object]], about: Mapping[str, object], counts: Mapping[str, Mapping[str, int]]
) -> pl.DataFrame:
    """Return runs with what is known of their source, and with how many rows they have of each status."""
    rows = [
        {**run, **about, **{f"n_{status}": counts.get(str(run["run"]), {}).get(status, 0) for status in STATUSES}}
        for run in runs
    ]
    return frame_from_rows(rows, "runs")
