"""Tidy tables as plain cells that other programs read, and back without loss: CSV that runs no formula, and JSON.

A cell of CSV that a spreadsheet would take for a formula gets an apostrophe in front, and so does one that begins with an
apostrophe: to take one away restores both. A null is an empty cell, an empty text a quoted one.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, cast

import polars as pl

from evalstats.errors import InputError, Option
from evalstats.record import record
from evalstats.schema.columns import TABLES, TableName
from evalstats.schema.tables import HALF_CHARACTER

TableFormat = Literal["parquet", "csv", "json"]

# The file of an export that says what the others hold.
DESCRIPTION: Final = "evalstats-tables.json"
FORMAT: Final = "evalstats-tables"
VERSION: Final = 1
ENDINGS: Final[Mapping[TableFormat, str]] = {"parquet": "parquet", "csv": "csv", "json": "ndjson"}

# How a formula begins, its wide letters included; a cell that begins so is text only behind an apostrophe.
_FORMULA: Final = r"\A(['=+\-@\t\r\n＝＋－＠])"
_TIME: Final = "%Y-%m-%dT%H:%M:%S%.6fZ"
_DAY: Final = "%Y-%m-%d"
_DTYPES: Final[Mapping[str, pl.DataType]] = {
    str(dtype): dtype
    for dtype in (
        pl.String(),
        pl.Boolean(),
        pl.Int64(),
        pl.Float64(),
        pl.Date(),
        pl.Datetime("us", "UTC"),
        pl.List(pl.String()),
    )
}


@record
class ExportedColumn:
    """One column of an exported table: its name and dtype, and how its file holds it.

    `form` is "own" (as the file's format writes the dtype), "text" (as text that `from_cells` reads), or "absent" (all null,
    and not in the file).
    """

    name: str
    dtype: pl.DataType
    form: Literal["own", "text", "absent"] = "own"

    def described(self) -> dict[str, str]:
        """Return the column as the export's description writes it."""
        return {"name": self.name, "dtype": str(self.dtype), "form": self.form}


def cells_of(described: Mapping[str, object]) -> ExportedColumn:
    """Read what an export's description says of a column; ValueError if it says nothing that can be."""
    name, dtype, form = (described.get(key) for key in ("name", "dtype", "form"))
    known = isinstance(dtype, str) and dtype in _DTYPES and isinstance(form, str) and form in {"own", "text", "absent"}
    if not isinstance(name, str) or HALF_CHARACTER.search(name) or not known:
        raise ValueError(f"{str(described)[:200]} describes no column")
    return ExportedColumn(name=name, dtype=_DTYPES[str(dtype)], form=cast("Any", form))


def file_name(table: TableName, to: TableFormat) -> str:
    """Return what the file of a table is called.

    >>> file_name("outcomes", "json")
    'outcomes.ndjson'
    """
    return f"{table}.{ENDINGS[to]}"


# The names of all files that may be a table of an export, and what each holds.
TABLE_FILES: Final[Mapping[str, tuple[TableName, TableFormat]]] = {
    file_name(table, to): (table, to) for table in TABLES for to in ENDINGS
}


def to_cells(series: pl.Series, to: TableFormat) -> tuple[pl.Series, ExportedColumn]:
    """Return a column as its file is to hold it, and how that is.

    >>> to_cells(pl.Series("item", ["=1+1", "'", "plain"]), "csv")[0].to_list()
    ["'=1+1", "''", 'plain']
    """
    name, dtype = series.name, series.dtype
    if to == "parquet":
        return series, ExportedColumn(name=name, dtype=dtype)
    if series.null_count() == len(series):
        return series, ExportedColumn(name=name, dtype=dtype, form="absent")
    if isinstance(dtype, pl.Date | pl.Datetime):
        return _times_as_text(series), ExportedColumn(name=name, dtype=dtype, form="text")
    if to == "json":
        if dtype.is_float() and not series.is_finite().all():  # JSON has no word for these
            return series.cast(pl.String), ExportedColumn(name=name, dtype=dtype, form="text")
        return series, ExportedColumn(name=name, dtype=dtype)
    if isinstance(dtype, pl.List):
        return _lists_as_text(series), ExportedColumn(name=name, dtype=dtype, form="text")
    return as_cells(series) if dtype == pl.String else series, ExportedColumn(name=name, dtype=dtype)


def as_cells(texts: pl.Series) -> pl.Series:
    """Return texts as cells of CSV that no spreadsheet runs."""
    return texts.str.replace(_FORMULA, "'${1}")


def from_cells(series: pl.Series, cells: ExportedColumn, to: TableFormat, where: str) -> pl.Series:
    """Return a column as it was before `to_cells`; InputError where a cell is not what its column holds."""
    dtype = cells.dtype
    if to == "parquet" or (to == "json" and cells.form == "own"):
        found = series
    elif dtype == pl.String:
        found = series.str.strip_prefix("'")
    elif isinstance(dtype, pl.List):
        found = _lists_of_text(series, where)
    elif isinstance(dtype, pl.Datetime):
        found = series.str.to_datetime(_TIME, time_unit="us", strict=False).dt.replace_time_zone("UTC")
    elif dtype == pl.Date:
        found = series.str.to_date(_DAY, strict=False)
    elif dtype == pl.Boolean:
        found = series.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    else:
        found = series.cast(dtype, strict=False)
    lost = series.is_not_null() & found.is_null()
    if lost.any():
        row = int(lost.arg_true()[0])
        raise InputError(
            f"{where}: column {cells.name!r} holds {series[row]!r} (row {row}), which is no {dtype}; export the data again"
        )
    return found.alias(cells.name)


def _times_as_text(series: pl.Series) -> pl.Series:
    years = series.dt.year()
    first, last = cast("int", years.min()), cast("int", years.max())
    if first < 1 or last > 9999:
        raise InputError(
            f"column {series.name!r} holds a time in the year {first if first < 1 else last}, which text cannot hold; write "
            f"Parquet ({Option('to', 'parquet')})"
        )
    return series.dt.strftime(_TIME if isinstance(series.dtype, pl.Datetime) else _DAY)


def _lists_as_text(series: pl.Series) -> pl.Series:
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in series.to_list()]
    return pl.Series(series.name, texts, dtype=pl.String)


def _lists_of_text(series: pl.Series, where: str) -> pl.Series:
    found: list[list[str | None] | None] = []
    for row, text in enumerate(series.to_list()):
        labels = None if text is None else _labels(text)
        if text is not None and labels is None:
            raise InputError(
                f"{where}: column {series.name!r} holds {text!r} (row {row}), which is no list of labels; export the data again"
            )
        found.append(labels)
    return pl.Series(series.name, found, dtype=pl.List(pl.String))


def _labels(text: str) -> list[str | None] | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    listed = cast("list[object]", value) if isinstance(value, list) else [0]
    return cast("list[str | None]", listed) if all(isinstance(each, str | None) for each in listed) else None
