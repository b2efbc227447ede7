"""Read a store: which runs it holds, and their tables, lazily or as one `EvalData`. Needs no loader."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import polars as pl
from polars.selectors import by_name

from evalstats.errors import InputError, StoreError
from evalstats.grammar import quoted_list
from evalstats.schema.columns import TABLES, TableName, column_names, is_answer
from evalstats.schema.data import EvalData, Problem, with_distinct_names
from evalstats.schema.metrics import one_definition
from evalstats.store.check import READING_FAILED, Fault, check_store, first_fault, first_line, is_whole, shared_runs
from evalstats.store.manifest import (
    Shelf,
    StoredSource,
    check_marker,
    constant_columns,
    files_of,
    is_store,
    scan_parts,
    shared_constants,
)
from evalstats.store.merged import MERGED_AT_A_TIME, merged_outcomes
from evalstats.store.write import remove_run

__all__ = ["Store", "is_store", "open_store"]


def open_store(path: str | Path) -> "Store":
    """Open a store for reading.

    Raises
    ------
    StoreError
        If there is no store at `path`, it is damaged, or another version of the schema wrote it.

    Examples
    --------
    >>> import tempfile
    >>> from evalstats.store.write import make_store
    >>> folder = Path(tempfile.mkdtemp(), "store")
    >>> _ = make_store(folder)
    >>> open_store(folder).runs().height
    0
    """
    path = Path(path)
    check_marker(path)
    return Store(path)


class Store:
    """A store as it stood when it was first asked: what others ingest afterwards is seen by opening it again.

    The same files give the same rows in the same order, whatever the order of ingest.
    """

    __slots__ = ("_compared", "_sources", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sources: tuple[StoredSource, ...] | None = None
        self._compared: set[Path] = set()

    def __repr__(self) -> str:
        return f"<Store {str(self.path)!r}>"

    def sources(self) -> tuple[StoredSource, ...]:
        """Return what was ingested, in the order of the runs' names: folder and manifest of each source.

        Raises
        ------
        StoreError
            If the manifest of a source cannot be read.
        """
        if self._sources is None:
            self._sources = Shelf(self.path).current()
        return self._sources

    def runs(self) -> pl.DataFrame:
        """Return the table `runs`: one row for every run, with its source, loader and counts.

        Raises
        ------
        StoreError
            If a part is damaged, or a run is in two sources.
        """
        return self._collect("runs", self._sound_sources(), pl.lit(value=True))

    def models(self) -> tuple[str, ...]:
        """Names of all models with rows in any table, sorted."""
        found = {entry.model for source in self.sources() for entry in source.manifest.runs if entry.model is not None}
        for table in TABLES:
            for column in ("model", "model_a", "model_b"):
                if column in column_names(table):
                    lazy = self.scan(table).select(column).unique()
                    found.update(self._guarded(lazy)[column].drop_nulls().to_list())
        return tuple(sorted(found))

    def scan(self, table: TableName) -> pl.LazyFrame:
        """Return one table as a lazy Polars frame over the Parquet files: nothing is read until it is collected.

        Factors whose dtype differs between sources have the dtype that holds them all (text, unless all are numbers).

        Raises
        ------
        StoreError
            If a part is damaged, or a run is in two sources.
        """
        return self._scan(table, self._sound_sources())

    def votes(self) -> pl.LazyFrame:
        """Return the votes as a lazy frame that `evalstats.arena` merges as it reads, without the columns that hold nothing.

        Names of models are categories, which are counted several times as fast as texts. A vote without an outcome has the
        label in its place that could not be read.
        """
        parts = [part for _, part in files_of(self._sound_sources(), "comparisons")]
        fixed = shared_constants(parts, "comparisons")
        scan = self.scan("comparisons")
        if fixed.get("status") != "scored":
            raw = pl.col("value_raw")
            known = raw.str.strip_chars().str.to_lowercase().is_in(["a", "b", "tie", "both_bad"])
            unread = pl.when(known).then(pl.format("? {}", raw)).otherwise(raw)
            scan = scan.with_columns(
                pl.when(pl.col("status") == "scored").then("outcome").otherwise(unread).alias("outcome")
            )
        labels = [pl.col(name).cast(pl.Categorical) for name in ("model_a", "model_b", "outcome")]
        return scan.drop("status", *(name for name, value in fixed.items() if value is None)).with_columns(labels)

    def n_rows(self, table: TableName) -> int:
        """Return how many rows a table has, by the manifests alone."""
        return sum(source.manifest.rows().get(table, 0) for source in self.sources())

    def read(
        self,
        *,
        runs: Collection[str] | None = None,
        models: Collection[str] | None = None,
        tables: Collection[TableName] | None = None,
        coded: bool = False,
        without: Collection[str] = (),
        benchmarks: Collection[str] | None = None,
    ) -> EvalData:
        """Read the store, or the part of it that is wanted, into memory.

        Parameters
        ----------
        runs
            Names of the runs wanted; all by default. Rows that name no run (published numbers, ratings) come along with
            the runs of their source.
        models
            Names of the models wanted; all by default. Of `comparisons` the battles between two of them are read.
        tables
            Tables wanted; the others are empty. `runs` is always read.
        coded
            Hold texts of outcomes that repeat from row to row (items, runs, models, factors) as categories, which take 4 bytes
            a row. Each different text is held once.
        without
            Columns of outcomes that are not wanted: null, and not read.
        benchmarks
            Benchmarks whose outcomes are wanted; a source that holds none of them is not read for outcomes.

        Returns
        -------
        EvalData
            The tables, and the problems that were noted when their files were ingested.

        Raises
        ------
        InputError
            If a run, model or table of that name is not there; the message lists what is.
        StoreError
            If a part is damaged, or a run is in two sources.
        """
        sources = self._with_runs(runs)
        self._refuse_unknown_models(models)
        narrow: dict[str, Any] = {"coded": coded, "without": without, "benchmarks": benchmarks}
        frames: dict[TableName, pl.DataFrame] = {
            table: self._collect(
                table, sources, _selection(table, runs, models), **(narrow if table == "outcomes" else {})
            )
            for table in _tables_wanted(tables)
        }
        return self._data(frames, sources)

    def read_merged(
        self,
        *,
        tables: Collection[TableName] | None = None,
        named: Collection[str] = (),
        without: Collection[str] = (),
        benchmarks: Collection[str] | None = None,
        whole: bool = True,
        shared: bool = False,
        always: bool = False,
    ) -> EvalData:
        """Read the store with equal rows of outcomes merged as they are read, so that memory goes with what differs.

        Answers are those of single rows. Columns that differ from trial to trial are null but for those that are `named`.

        Parameters
        ----------
        tables, benchmarks
            As in `read`.
        named
            Columns that are kept even if they keep rows apart.
        without
            Columns of outcomes that are not wanted: null, and not read.
        whole
            Keep what an audit looks at as well: raw values, and options of multiple-choice tests.
        shared
            Trials that one side lacks will be left out of the other, so what each of them cost must be known.
        always
            Merge even where hardly any rows agree.

        Raises
        ------
        CannotMergeError
            If trials are not told apart, most rows differ, or too many would be left.
        InputError
            If a table of that name is not there.
        StoreError
            If a part is damaged, or a run is in two sources.
        """
        sources = self._sound_sources()
        holders, beside = _of_benchmarks(sources, benchmarks)
        files = files_of(holders, "outcomes")
        fixed = shared_constants([part for _, part in files], "outcomes")
        rows = self._scan("outcomes", holders, beside)
        stretches = [(self._scan("outcomes", some, [*holders, *beside]), n) for some, n in _stretches(holders)]
        outcomes, left_out = merged_outcomes(
            rows,
            stretches or [(rows, 0)],
            fixed,
            self._streamed,
            named=named,
            without=without,
            whole=whole,
            shared=shared,
            always=always,
        )
        frames: dict[TableName, pl.DataFrame] = {
            table: self._collect(table, sources, pl.lit(value=True))
            for table in _tables_wanted(tables)
            if table != "outcomes"
        }
        merged = bool(outcomes["trial"].null_count())
        said = [f"{outcomes['n_trials'].sum():,} rows were merged into {outcomes.height:,}"]
        if left_out:
            said.append(f"columns left out: {', '.join(left_out)}")
        notes = [Problem(path=str(self.path), message=each, severity="note") for each in said]
        frames["outcomes"] = outcomes
        data = self._data(frames, sources)
        return replace(data, merged=merged, problems=(*data.problems, *notes))

    def _data(self, frames: dict[TableName, pl.DataFrame], sources: Sequence[StoredSource]) -> EvalData:
        """Return the tables as data, with what was noted when their files were ingested."""
        notes = [problem for source in sources for problem in source.manifest.problems]
        if "metrics" in frames:
            frames["metrics"], contradictions = one_definition(frames["metrics"])
            notes.extend(Problem(path=str(self.path), message=text, severity="note") for text in contradictions)
        return with_distinct_names(EvalData(**frames, problems=tuple(notes), merged=False))

    def check(self) -> tuple[Problem, ...]:
        """Compare every file with its manifest (`evalstats.store.check.check_store`); no problems means it is whole."""
        return check_store(self.path)

    def remove(self, run: str) -> "Store":
        """Take a run out and return the store as it then is; ingesting the run's file again brings it back.

        Raises
        ------
        InputError
            If there is no such run.
        StoreError
            If the store cannot be written to, or the run's source is damaged.
        """
        remove_run(Shelf(self.path), run)
        return open_store(self.path)

    def _sound_sources(self) -> tuple[StoredSource, ...]:
        for message in shared_runs(self.sources()):
            raise StoreError(f"{self.path}: {message}")
        return self.sources()

    def _with_runs(self, runs: Collection[str] | None) -> tuple[StoredSource, ...]:
        sources = self._sound_sources()
        if runs is None:
            return sources
        have = {entry.run for source in sources for entry in source.manifest.runs}
        _refuse_unknown(runs, have, f"{self.path}: holds no run")
        return tuple(source for source in sources if any(entry.run in runs for entry in source.manifest.runs))

    def _refuse_unknown_models(self, models: Collection[str] | None) -> None:
        if models is None:
            return
        listed = {entry.model for source in self.sources() for entry in source.manifest.runs}
        if not listed.issuperset(models):
            _refuse_unknown(models, set(self.models()), f"{self.path}: holds no model")

    def _collect(
        self,
        table: TableName,
        sources: Sequence[StoredSource],
        selection: pl.Expr,
        *,
        coded: bool = False,
        without: Collection[str] = (),
        benchmarks: Collection[str] | None = None,
    ) -> pl.DataFrame:
        sources, beside = _of_benchmarks(sources, benchmarks)
        files = files_of(sources, table)
        scan = self._scan(table, sources, beside).filter(selection)
        dtypes = scan.collect_schema()
        fixed = shared_constants([part for _, part in files], table)
        left = {name: pl.lit(None, dtype=dtype).alias(name) for name, dtype in dtypes.items() if name in without}
        kept = [name for name in dtypes if name not in {*fixed, *left}]
        held = {each.meta.output_name(): each for each in constant_columns(fixed, table)} | left
        read = scan.select(map(by_name, kept))
        if coded:
            codes = {name for name, dtype in dtypes.items() if dtype == pl.String and repeats(name)}
            read = read.with_columns(by_name(name).cast(pl.Categorical) for name in kept if name in codes)
            held = {name: each.cast(pl.Categorical) if name in codes else each for name, each in held.items()}
        # Put beside the rows at the end, a column of one value takes no memory as long as nobody asks for it.
        rows = self._guarded(read)
        return rows.with_columns(held.values()).select(map(by_name, dtypes)) if held else rows

    def _scan(
        self, table: TableName, sources: Sequence[StoredSource], beside: Sequence[StoredSource] = ()
    ) -> pl.LazyFrame:
        """Scan parts whose digests were compared: a changed byte can read as another number."""
        files = files_of(sources, table)
        found = first_fault([file for file in files if file[0] not in self._compared])
        if found is not None:
            raise StoreError(self._told(*found))
        self._compared.update(path for path, _ in files)
        return scan_parts(files, table, beside=files_of(beside, table))

    def _streamed(self, lazy: pl.LazyFrame) -> pl.DataFrame:
        return self._guarded(lazy, engine="streaming")

    def _guarded(self, lazy: pl.LazyFrame, engine: Literal["auto", "streaming"] = "auto") -> pl.DataFrame:
        """Collect; where that fails, say which source is at fault."""
        try:
            return lazy.collect(engine=engine)
        except READING_FAILED as error:
            raise StoreError(self._blame(error)) from error

    def _told(self, path: Path, fault: Fault) -> str:
        """Say of a part that it is not what was written, and of which source it is."""
        [source] = [source for source in self.sources() if source.folder == path.parent]
        if not source.folder.exists():
            return f"{self.path}: {source} was removed or replaced while the store was read; open the store again"
        repair = f", or set it aside (`evalstats store {self.path} repair`)" if fault.kind == "damaged" else ""
        return f"{self.path}: {source}: {fault}{repair}"

    def _blame(self, error: BaseException) -> str:
        if isinstance(error, PermissionError):
            return f"{self.path}: cannot be read ({first_line(error)}); see to the rights of its files"
        for source in self.sources():
            if not source.folder.exists():
                return f"{self.path}: {source} was removed or replaced while the store was read; open the store again"
            if not is_whole(source):
                return f"{self.path}: {source} is damaged ({first_line(error)}); ingest its file again to mend it"
        return f"{self.path}: cannot be read ({first_line(error)}); `evalstats store {self.path} check` says more"


def _stretches(sources: Sequence[StoredSource]) -> list[tuple[list[StoredSource], int]]:
    """Cut sources into stretches of not many more rows than are merged at a time, with the rows of each."""
    found: list[tuple[list[StoredSource], int]] = []
    for source in sources:
        n = source.manifest.rows().get("outcomes", 0)
        if not n:
            continue
        if found and found[-1][1] + n <= MERGED_AT_A_TIME:
            found[-1] = ([*found[-1][0], source], found[-1][1] + n)
        else:
            found.append(([source], n))
    return found


def _of_benchmarks(
    sources: Sequence[StoredSource], benchmarks: Collection[str] | None
) -> tuple[Sequence[StoredSource], Sequence[StoredSource]]:
    """Return the sources that hold any of these benchmarks, and the others."""
    if benchmarks is None:
        return sources, ()
    wanted = [any(entry.benchmark in benchmarks for entry in source.manifest.runs) for source in sources]
    both = list(zip(sources, wanted, strict=True))
    return [source for source, has in both if has], [source for source, has in both if not has]


def repeats(name: str) -> bool:
    """Whether the texts of a column of outcomes stand on many rows each, by its name: what names or groups the rows."""
    return name not in _OF_ONE_ROW and not is_answer(name)


# Texts that differ from row to row, of which a list of the different ones would hold nearly all.
_OF_ONE_ROW = frozenset({"value_raw", "status_reason"})


def _selection(table: TableName, runs: Collection[str] | None, models: Collection[str] | None) -> pl.Expr:
    names = column_names(table)
    selection = pl.lit(value=True)
    if runs is not None and "run" in names:
        selection &= pl.col("run").is_in(list(runs)) | pl.col("run").is_null()
    if models is None:
        return selection
    wanted = list(models)
    if table == "runs":
        return selection & (pl.col("model").is_in(wanted) | pl.col("model").is_null())
    for name in ("model", "model_a", "model_b"):
        if name in names:
            selection &= pl.col(name).is_in(wanted)
    return selection


def _tables_wanted(tables: Collection[TableName] | None) -> list[TableName]:
    if tables is None:
        return list(TABLES)
    _refuse_unknown(tables, set(TABLES), "there is no table")
    return [table for table in TABLES if table in tables or table == "runs"]


def _refuse_unknown(wanted: Iterable[str], have: Collection[str], nothing: str) -> None:
    for name in wanted:
        if name not in have:
            raise InputError(f"{nothing} {name!r}; there are {quoted_list(sorted(have))}")
