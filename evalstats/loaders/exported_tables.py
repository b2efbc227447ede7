"""Tables that `evalstats export` wrote (Parquet, CSV, JSON), restored exactly as they were.

The description beside the tables says which columns each has and of what dtype. It may come from someone else: only files
with the names of our tables are opened, in its own folder.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from evalstats.errors import InputError
from evalstats.loaders.base import PARQUET_FAULTS, Frame, Head, Match, Rows, Source, parquet_fault
from evalstats.loaders.files import load_json
from evalstats.loaders.parquet_sizes import check_whole
from evalstats.loaders.values import as_count, as_dict, as_text, dicts
from evalstats.regular import open_regular
from evalstats.schema.columns import TableName
from evalstats.schema.data import Problem
from evalstats.schema.interchange import (
    DESCRIPTION,
    FORMAT,
    TABLE_FILES,
    VERSION,
    ExportedColumn,
    TableFormat,
    cells_of,
    from_cells,
)
from evalstats.schema.tables import check_table


class ExportedTablesLoader:
    """Loader of what `evalstats export --to parquet|csv|json` wrote."""

    name = "evalstats-tables"
    title = "Tables that evalstats exported (evalstats-tables.json beside Parquet, CSV or NDJSON)"
    version = "1"
    restores = True

    def sniff(self, head: Head) -> Match | None:
        """Recognise a description by its format, and a table by its name and the description beside it."""
        if head.shape == "object" and head.members.get("format") == FORMAT and "tables" in head.keys:
            return Match(confidence=1.0, reason="the description of exported tables")
        if head.path.name in TABLE_FILES and (head.path.parent / DESCRIPTION).is_file():
            return Match(confidence=1.0, reason="a table beside the description of exported tables")
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Put tables with the description in their folder; a description alone stands for all its tables."""
        folders: dict[Path, list[Path]] = {}
        for path in files:
            folders.setdefault(path.parent, [])
            if path.name in TABLE_FILES:
                folders[path.parent].append(path)
        for folder, given in folders.items():
            found = given or [path for path in sorted(folder.iterdir()) if path.name in TABLE_FILES]
            yield Source(path=folder / DESCRIPTION, companions=tuple(found))

    def read(self, source: Source) -> Iterator[Frame | Rows | Problem]:
        """Yield every table as it was when it was exported."""
        described = as_dict(load_json(source.path))
        version = described.get("version")
        if described.get("format") != FORMAT or not isinstance(version, int):
            raise InputError(f"{source.path}: is not the description of exported tables; export the data again")
        if version > VERSION:
            newer = f"was written by a newer evalstats (version {version} of this export); update evalstats-toolkit"
            raise InputError(f"{source.path}: {newer}")
        entries = {str(entry.get("file")): entry for entry in dicts(described.get("tables"))}
        there = {path.name: path for path in source.companions}
        for name in sorted(entries.keys() - there.keys()):
            if name in TABLE_FILES and not (source.path.parent / name).is_file():
                yield from source.notes([f"the table {name} is not beside it, and is dropped"])
        frames: dict[TableName, pl.DataFrame] = {}
        for name, path in there.items():
            if name not in entries:
                yield from source.notes([f"{name} belongs to no export that is described here, and is dropped"])
                continue
            table, frame = _table(path, entries[name])
            frames[table] = frame
            if (expected := as_count(entries[name].get("rows"))) != frame.height:
                had = "an unknown number of" if expected is None else f"{expected:,}"
                yield from source.notes([f"{name} had {had} rows when it was exported, and has {frame.height:,}"])
        for table, frame in frames.items():
            yield Frame(table=table, frame=frame)
        if (missing := _unlisted(frames)).height:
            yield Frame(table="runs", frame=missing)
        for problem in dicts(described.get("problems")):
            path, message = as_text(problem.get("path")) or str(source.path), as_text(problem.get("message"))
            if message:
                yield Problem(path=path, message=message, severity="note")


def _table(path: Path, entry: dict[str, object]) -> tuple[TableName, pl.DataFrame]:
    table, to = TABLE_FILES[path.name]
    try:
        columns = [cells_of(each) for each in dicts(entry.get("columns"))]
    except ValueError as error:
        raise InputError(f"{path.parent / DESCRIPTION}: {error}; export the data again") from error
    if len({cells.name for cells in columns}) < len(columns):
        raise InputError(f"{path.parent / DESCRIPTION}: describes a column of {path.name} twice; export the data again")
    try:
        held = _held(path, to, columns)
    except PARQUET_FAULTS as error:
        raise InputError(f"{path}: cannot be read ({parquet_fault(error)}); export the data again") from error
    series: list[pl.Series] = []
    for cells in columns:
        if cells.form == "absent" or cells.name not in held.columns:
            series.append(pl.Series(cells.name, [None], dtype=cells.dtype).new_from_index(0, held.height))
        else:
            series.append(from_cells(held[cells.name], cells, to, str(path)))
    return table, check_table(pl.DataFrame(series), table, source=str(path))


def _held(path: Path, to: TableFormat, columns: Sequence[ExportedColumn]) -> pl.DataFrame:
    """Read the columns that a file holds, by their names: whoever looked at it in a spreadsheet may have moved them."""
    with open_regular(path) as stream:
        if to == "parquet":
            check_whole(path)
            return pl.read_parquet(stream)
        if to == "json":
            there = {each.name: pl.String() if each.form == "text" else each.dtype for each in columns}
            absent = {each.name for each in columns if each.form == "absent"}
            return pl.read_ndjson(stream, schema={name: dtype for name, dtype in there.items() if name not in absent})
        head = stream.read(1 << 20).decode("utf-8-sig", errors="replace")
        names = [
            name.removeprefix("'") for name in next(csv.reader(io.StringIO(head, newline="")), cast("list[str]", []))
        ]
        if len(set(names)) != len(names) or not names:
            raise InputError(f"{path}: its first line names no columns, or one twice; export the data again")
        stream.seek(0)
        return pl.read_csv(stream, infer_schema=False, new_columns=names)


def _unlisted(frames: dict[TableName, pl.DataFrame]) -> pl.DataFrame:
    """Return a row for every run that tables name and the table of runs does not list: a store asks for it."""
    listed = set(frames["runs"]["run"].to_list()) if "runs" in frames else set[str]()
    rows: dict[str, dict[str, Any]] = {}
    for table, frame in frames.items():
        if table in {"runs", "metrics"}:
            continue
        benchmark = pl.col("benchmark") if "benchmark" in frame.columns else pl.lit("").alias("benchmark")
        for run, name in frame.select("run", benchmark).drop_nulls("run").unique().sort("run").iter_rows():
            if run not in listed:
                rows.setdefault(run, {"run": run, "benchmark": name})
    return pl.DataFrame(list(rows.values()), schema={"run": pl.String, "benchmark": pl.String})


LOADER: Final = ExportedTablesLoader()
