"""Equal rows of a table merged and counted where the table lies: all of it that ever comes into memory.

No engine adds up scores: it counts equal rows, and counts are the same whoever counts. So answers do not depend on the engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import narwhals as nw
import polars as pl

from evalstats.aggregate.items import HELPER
from evalstats.aggregate.votes import collected
from evalstats.errors import CannotAnswerError, InputError

N = f"{HELPER}count"
# Merged rows are held in memory, some 300 bytes each once they are outcomes.
MOST_ROWS = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTable:
    """A table that stays where it is.

    `frame` has columns of our own names, in the order of `names`: engines read some names of files in ways of their own (Polars
    "^a$" as a pattern, Spark "a.b" as a field of a).
    """

    frame: "nw.LazyFrame[Any]"
    names: tuple[str, ...]

    def own(self, columns: Sequence[str]) -> list[str]:
        """Return our own names of some columns."""
        lacking = [name for name in columns if name not in self.names]
        if lacking:
            raise InputError(f"there is no column {lacking[0]!r}; the table has {', '.join(self.names)}")
        return [f"{HELPER}{self.names.index(name)}" for name in columns]


def remote_table(frame: object) -> RemoteTable:
    """Return a lazy table of any library under names of our own."""
    wrapped = cast("nw.LazyFrame[Any]", nw.from_native(cast("Any", frame)).lazy())
    names = tuple(wrapped.collect_schema().names())
    own = [f"{HELPER}{place}" for place in range(len(names))]
    if wrapped.implementation.is_pyspark() or wrapped.implementation.is_pyspark_connect():
        renamed = nw.from_native(wrapped.to_native().toDF(*own))  # by place: a name with a dot in it is not found
    else:
        renamed = wrapped.rename(dict(zip(names, own, strict=True)))
    return RemoteTable(frame=cast("nw.LazyFrame[Any]", renamed), names=names)


def merged_rows(table: RemoteTable, columns: Sequence[str], *, most: int = MOST_ROWS) -> pl.DataFrame:
    """Count the rows that agree in all `columns`: those columns, sorted, and the count in `N`.

    NaN equals NaN, null equals null, and 0 equals -0. `CannotAnswerError` where there are more than `most` different rows, of
    which no more is fetched.
    """
    own = table.own(columns)
    counted = table.frame.group_by(own).agg(nw.len().alias(N)).head(most + 1)
    found = collected(counted)
    if found.height > most:
        raise CannotAnswerError(
            f"more than {most:,} rows differ in {', '.join(columns)}, too many to hold: leave out columns that differ from row "
            "to row, or merge a part of the table (some models, some items)"
        )
    # Engines may keep apart what is equal here (0 and -0), and bring groups in any order.
    plain = found.with_columns(_plain(name, found.schema[name]) for name in own)
    again = plain.group_by(own).agg(pl.col(N).cast(pl.Int64).sum())
    return again.sort([pl.col(name).cast(pl.String) for name in own], nulls_last=True).rename(_back(own, columns))


def repeated_rows(table: RemoteTable, columns: Sequence[str], *, shown: int) -> pl.DataFrame:
    """Return some of the combinations of `columns` that stand in several rows, with their count in `N`.

    Every combination is counted, so that this takes as much memory as merging rows that all differ.
    """
    own = table.own(columns)
    counted = table.frame.group_by(own).agg(nw.len().alias(N)).filter(nw.col(N) > 1).head(shown)
    return collected(counted).rename(_back(own, columns))


def _back(own: Sequence[str], columns: Sequence[str]) -> Mapping[str, str]:
    return dict(zip(own, columns, strict=True))


def _plain(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column in a dtype that all engines share."""
    column = pl.col(name)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return column.cast(pl.String)
    if isinstance(dtype, pl.Decimal) or dtype.is_float():
        number = column.cast(pl.Float64)
        return pl.when(number == 0.0).then(0.0).otherwise(number).alias(name)  # -0 becomes 0
    return column.cast(pl.Int64) if dtype.is_integer() else column
