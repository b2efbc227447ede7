"""The tidy tables as files: one for each table, and a description by which `evalstats.read` restores them exactly."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from evalstats.errors import InputError
from evalstats.exporters.folder import replaced_folder
from evalstats.schema.columns import TABLES, TableName, schema_of
from evalstats.schema.data import EvalData
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
            "problems": [{"path": each.path, "message": each.message} for each in data.problems],
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
