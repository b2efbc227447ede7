"""Parquet parts as one lazy table, whatever factors each of them has."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from evalstats.schema.columns import KEYS, TABLES, Column, TableName, column_names, schema_of
from evalstats.schema.data import factor_cast, shared_dtypes
from evalstats.store.layout import StoredSource
from evalstats.store.manifest import Part

# Before this version of the schema true also stood for a direction that nobody had declared.
_DIRECTION_SINCE = 3


def files_of(sources: Iterable[StoredSource], table: TableName) -> list[tuple[Path, Part]]:
    """Return the parts of one table, with their paths."""
    return [
        (source.folder / part.file, part) for source in sources for part in source.manifest.parts if part.table == table
    ]


def scan_parts(files: Iterable[tuple[Path, Part]], table: TableName) -> pl.LazyFrame:
    """Return parts of one table as one lazy table: standard columns first, a factor that a part lacks is null there.

    A standard column that is younger than a part is null there; where the part has a factor of that name, it is taken for
    the column. Parts with the same factors are scanned together, so that a store of many small sources stays a short query.
    """
    alike: dict[tuple[int, tuple[tuple[str, pl.DataType], ...]], list[Path]] = {}
    for path, part in files:
        alike.setdefault((part.schema_version, tuple(part.factors.items())), []).append(path)
    if not alike:
        return pl.LazyFrame(schema=schema_of(table))
    standard = set(column_names(table))
    shared = shared_dtypes({name: kind for name, kind in held if name not in standard} for _, held in alike)
    scans: list[pl.LazyFrame] = []
    for (schema_version, factors), paths in alike.items():
        have = dict(factors)
        columns = [_standard(column, schema_version, have) for column in TABLES[table]]
        columns += [factor_cast(name, have.get(name, pl.Null()), dtype) for name, dtype in shared.items()]
        # glob and hive_partitioning are off: a folder may be called `a[b]=c`
        scan = pl.scan_parquet(paths, glob=False, hive_partitioning=False)
        scans.append(scan.select(columns))
    return pl.concat(scans, how="vertical")


def _standard(column: Column, schema_version: int, factors: Mapping[str, pl.DataType]) -> pl.Expr:
    """Expression for a standard column of parts that were written under a schema version."""
    if column.name == "higher_is_better" and schema_version < _DIRECTION_SINCE:
        return pl.when(~pl.col(column.name)).then(pl.col(column.name))
    if column.since <= schema_version:
        return pl.col(column.name)
    if column.name not in factors:
        return pl.lit(None, dtype=column.dtype).alias(column.name)
    found = pl.col(column.name).cast(column.dtype, strict=False)
    return found if column.low is None else pl.when(found >= column.low).then(found)


def repeated_key(files: Iterable[tuple[Path, Part]], table: TableName) -> dict[str, object] | None:
    """Return a key of `table` that names more than one row, or None.

    Only 8 bytes a row are held: the keys' hashes. Where two hashes agree, the keys themselves decide.
    """
    key = KEYS[table]
    if not key:
        return None
    keys = scan_parts(files, table).select(key)
    hashed = keys.select(pl.struct(key).hash().alias("hash"))
    hashes = hashed.collect(engine="streaming")["hash"].sort()
    suspects = hashes.filter(hashes == hashes.shift())
    if suspects.is_empty():
        return None
    few = suspects.unique().head(1_000)  # one repeated key is enough for the message
    again = keys.filter(pl.struct(key).hash().is_in(few.implode()))
    repeated = again.group_by(key).len().filter(pl.col("len") > 1).select(key).sort(key).head(1)
    found = repeated.collect(engine="streaming")
    return found.row(0, named=True) if found.height else None
