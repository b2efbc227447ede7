"""Hand data to a page that runs in a process of its own: Parquet files in a folder, or a store."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl

from evalstats.errors import InputError
from evalstats.schema.columns import TABLES
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table
from evalstats.store.manifest import is_store
from evalstats.store.read import open_store


def write_tables(data: EvalData, folder: Path) -> None:
    """Write every table that has rows as one Parquet file, named for the table."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        frame = data.table(name)
        if frame.height:
            frame.write_parquet(folder / f"{name}.parquet")


def read_data(folder: str | Path) -> EvalData:
    """Read a store, or the tables that `write_tables` wrote, checking every column again.

    Raises
    ------
    InputError
        If the folder holds neither.
    StoreError
        If it is a store that cannot be read.
    """
    folder = Path(folder)
    if is_store(folder):
        return open_store(folder).read()
    tables: dict[str, pl.DataFrame] = {}
    for name in TABLES:
        path = folder / f"{name}.parquet"
        if path.is_file():
            tables[name] = check_table(pl.read_parquet(path), name)
    if not tables:
        message = f"{folder}: holds neither a store nor tables; give the folder that `evalstats ingest --store` made"
        raise InputError(message)
    return replace(EvalData(), **cast("dict[str, Any]", tables))
