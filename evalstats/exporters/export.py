"""`evalstats.export`: tidy tables as files for other programs, which `evalstats.read` restores."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from evalstats.analysis.settings import from_here
from evalstats.atomic import replaced_folder
from evalstats.errors import InputError, Option
from evalstats.exporters.every_eval_ever import write_records
from evalstats.record import record
from evalstats.schema.columns import TABLES, TableName, schema_of
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.interchange import (
    DESCRIPTION,
    FORMAT,
    TABLE_FILES,
    VERSION,
    TableFormat,
    as_cells,
    file_name,
    to_cells,
)
from evalstats.schema.tables import check_table, factor_columns

_FACTORS = (pl.String, pl.Boolean, pl.Int64, pl.Float64)


def write_tables(data: EvalData, folder: Path, to: TableFormat) -> dict[str, int]:
    """Write every table that has rows; return the rows of each file.

    Raises
    ------
    InputError
        If there is nothing to write, or the folder holds anything that such an export did not write.
    """
    frames: dict[TableName, pl.DataFrame] = {
        name: checked(data.table(name), name) for name in TABLES if data.table(name).height
    }
    if not frames:
        raise InputError("there is nothing to write: the data have no rows in any table")
    own = [DESCRIPTION, *TABLE_FILES] if (folder / DESCRIPTION).is_file() else []
    with replaced_folder(folder, own) as draft:
        tables = [_write(frame, name, draft, to) for name, frame in frames.items()]
        description: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "tables": tables,
            "problems": [
                {"path": path, "message": each.message}
                for path, each in zip(from_here(each.path for each in data.problems), data.problems, strict=True)
            ],
        }
        (draft / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    return {table["file"]: table["rows"] for table in tables}


def checked(frame: pl.DataFrame, table: TableName) -> pl.DataFrame:
    """Return a table that is surely tidy: as it is, or checked where its columns are not the glossary's."""
    standard = list(schema_of(table).items())
    tidy = list(frame.schema.items())[: len(standard)] == standard
    plain = all(isinstance(frame.schema[name], _FACTORS) for name in factor_columns(frame, table))
    return frame if tidy and plain else check_table(frame, table)


def _write(frame: pl.DataFrame, table: TableName, folder: Path, to: TableFormat) -> dict[str, Any]:
    written = [to_cells(series, to) for series in frame.get_columns()]
    held = pl.DataFrame([series for series, cells in written if cells.form != "absent"])
    path = folder / file_name(table, to)
    with path.open("wb") as stream:
        if to == "parquet":
            held.write_parquet(stream, compression="zstd", compression_level=1)
        elif to == "csv":
            header = as_cells(pl.Series(held.columns, dtype=pl.String)).to_list()
            pl.DataFrame(
                [series.alias(name) for name, series in zip(header, held.get_columns(), strict=True)]
            ).write_csv(stream, quote_style="necessary")
        else:
            held.write_ndjson(stream)
    return {
        "table": table,
        "file": path.name,
        "rows": frame.height,
        "columns": [cells.described() for _, cells in written],
    }


Target = Literal["parquet", "csv", "json", "eee"]


@record
class Exported:
    """What an export wrote: where, how many rows or records, and what a reader should know."""

    folder: Path
    wrote: str
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say in two lines what was written and how it is read back."""
        return f"{self.wrote}\n{self.folder}: any command reads it back, and evalstats.read() restores the tables"


def export(
    data: object,
    folder: str | Path,
    *,
    to: Target = "parquet",
    organization: str | None = None,
    relationship: str | None = None,
    developer: str | Mapping[str, str] | None = None,
) -> Exported:
    """Write data to a folder as Parquet, CSV, JSON, or records of Every Eval Ever.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    folder
        Where to write. Tables take a folder of their own: a new or empty one, or that of an earlier export, which is replaced.
        Records of Every Eval Ever go into a datastore, beside those that are there.
    to
        "parquet", "csv" and "json" (one object a line) write a file for each table. A cell of CSV that a spreadsheet would take
        for a formula gets an apostrophe in front. "eee" writes logs and samples of Every Eval Ever 0.3.0, with the uncertainty
        of each score and the method that made it.
    organization, relationship
        For "eee": who evaluated, and as what: "first_party", "third_party", "collaborative" or "other".
    developer
        For "eee": who made the models whose names do not say it ("org/model" does): one for all, or one for each model.

    Returns
    -------
    Exported
        The folder, what was written, and what has no place in the format.

    Raises
    ------
    InputError
        If there is nothing to write, or the folder holds files of someone else.

    Examples
    --------
    >>> import tempfile
    >>> from evalstats import datasets, read
    >>> folder = Path(tempfile.mkdtemp(), "tables")
    >>> export(datasets.tenacious_held_out(), folder, to="csv").wrote
    'outcomes 86, runs 2, metrics 1 rows as CSV'
    >>> read(folder).outcomes.height
    86
    """
    data, folder = as_data(data), Path(folder)
    data.need_rows("an export")
    if to not in get_args(Target):
        raise InputError(f"to is {to!r}; it is one of {', '.join(get_args(Target))}")
    if to != "eee":
        if organization or relationship or developer:
            eee = f"{Option('organization')}, {Option('relationship')} and {Option('developer')}"
            raise InputError(f"{eee} belong to {Option('to', 'eee')}; leave them out")
        rows = write_tables(data, folder, to)
        counts = ", ".join(f"{name.partition('.')[0]} {n:,}" for name, n in rows.items())
        return Exported(folder=folder, wrote=f"{counts} rows as {'Parquet' if to == 'parquet' else to.upper()}")
    developers = {"": developer} if isinstance(developer, str) else developer
    made = write_records(data, folder, organization=organization, relationship=relationship, developers=developers)
    there = f" ({made.n_there:,} were there already)" if made.n_there else ""
    wrote = f"{made.n_new + made.n_there:,} logs with {made.n_samples:,} samples as Every Eval Ever 0.3.0{there}"
    return Exported(folder=folder, wrote=wrote, notes=tuple(made.notes))
