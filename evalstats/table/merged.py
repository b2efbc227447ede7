"""Equal rows of a table merged and counted where the table lies: all of it that ever comes into memory.

No engine adds up scores: it counts equal rows, and counts are the same whoever counts. So answers do not depend on the engine.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import narwhals as nw
import polars as pl

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.schema.columns import NAMED_TRIALS
from evalstats.table.items import HELPER, item_codes
from evalstats.table.vote_cells import collected

N = f"{HELPER}count"
# Merged rows are held in memory, some 300 bytes each once they are outcomes.
MOST_ROWS = 20_000_000
# The bits of a word: the sum of two billion equal ones is a whole number of 64 bits still.
_BITS = 32
# Each trial costs a bit for every merged row, and each word a sum over all rows; named ones a comparison for each row as well.
MOST_TRIALS, _MOST_NAMED = 1024, 64


@record
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


@record
class Trials:
    """The different trials of a table, in the order of their places: the values in `column`, and what they are called.

    `labelled` tells that they have names (a judge, a seed) and are not merely numbered.
    """

    column: str
    values: tuple[Any, ...]
    names: tuple[str, ...]
    labelled: bool

    @property
    def words(self) -> list[str]:
        """Names of the columns of whole numbers that hold a bit for each trial."""
        return [f"{HELPER}word{k}" for k in range(-(-len(self.values) // _BITS))]

    @property
    def consecutive(self) -> bool:
        """Whether they are whole numbers without a gap, so that a place is a difference."""
        first, last = self.values[0], self.values[-1]
        return isinstance(first, int) and last - first + 1 == len(self.values)


def trials_of(table: RemoteTable, column: str) -> Trials | None:
    """Return the trials that a column tells apart; None where they are one or too many, or some row names none."""
    (own,) = table.own([column])
    few = collected(table.frame.select(own).group_by(own).agg(nw.len().alias(N)).head(MOST_TRIALS + 1))[own]
    if isinstance(few.dtype, pl.Categorical | pl.Enum):
        few = few.cast(pl.String)
    plain = few.dtype == pl.String or few.dtype.is_integer() or (few.dtype.is_float() and few.is_finite().all())
    if not plain or few.null_count() or not 1 < few.len() <= MOST_TRIALS or "" in few.to_list():
        return None
    values = tuple(few.sort().to_list())
    numbers = [_number(value) for value in values]
    labelled = None in numbers or NAMED_TRIALS.search(column.lower()) is not None
    names = tuple(f"{value if labelled else number}" for value, number in zip(values, numbers, strict=True))
    found = Trials(column=own, values=values, names=names, labelled=labelled)
    if len(set(names)) < len(names) or (len(names) > _MOST_NAMED and not found.consecutive):
        return None
    return found


def merged_rows(
    table: RemoteTable, columns: Sequence[str], *, trials: Trials | None = None, most: int = MOST_ROWS
) -> pl.DataFrame:
    """Count the rows that agree in all `columns`: those columns, sorted, and the count in `N`.

    NaN equals NaN, null equals null, and 0 equals -0. `CannotAnswerError` where there are more than `most` different rows, of
    which no more is fetched. With `trials`, their `words` hold the sum of the bits of those that were merged: powers of two, so
    that it has as many bits as rows where no trial stands twice, and fewer where one does.
    """
    own, words = table.own(columns), [] if trials is None else trials.words
    frame = table.frame if trials is None else table.frame.with_columns(_bits(trials))
    counted = frame.group_by(own).agg(nw.len().alias(N), *(nw.col(word).sum() for word in words)).head(most + 1)
    found = collected(counted)
    if found.height > most:
        raise CannotAnswerError(
            f"more than {most:,} rows differ in {', '.join(columns)}, too many to hold: leave out columns that differ from row "
            "to row, or merge a part of the table (some models, some items)"
        )
    # Engines may keep apart what is equal here (0 and -0), and bring groups in any order.
    counts = [pl.col(name).cast(pl.Int64) for name in (N, *words)]
    plain = found.with_columns(*(_plain(name, found.schema[name]) for name in own), *counts)
    if any(plain.schema[name].is_float() for name in own):
        plain = plain.group_by(own).agg(pl.col(N, *words).sum())
    _, order = item_codes(plain.select(pl.col(own).cast(pl.String)), own)
    return plain[order].rename(_back(own, columns))


def trial_structs(rows: pl.DataFrame, trials: Trials, same: Sequence[str]) -> pl.Series | None:
    """Return the set of trials of every merged row; None where one stands twice among the rows that agree in `same`."""
    plain = rows.rename({name: f"{HELPER}{place}" for place, name in enumerate(same)})
    every = plain.group_by(f"{HELPER}{place}" for place in range(len(same))).agg(pl.col(N, *trials.words).sum())
    bits = pl.sum_horizontal(pl.col(trials.words).bitwise_count_ones())
    if not every.select((bits == pl.col(N)).all()).item():
        return None
    words = [rows[word].to_numpy() for word in trials.words]
    stands = {name: (words[k // _BITS] >> (k % _BITS)) & 1 == 1 for k, name in enumerate(trials.names)}
    return pl.DataFrame(stands).to_struct()


def _number(value: float | str) -> int | None:
    """Return the number that counts a trial; None where it is no whole number."""
    try:
        return int(value) if float(value) == int(value) else None
    except (ValueError, OverflowError):
        return None


def _bits(trials: Trials) -> "list[nw.Expr]":
    """Return a column for each word: the bit of the row's trial, and 0 where that is in another word."""
    column, zero = nw.col(trials.column), nw.lit(0, nw.Int64)
    if trials.consecutive:
        place = column.cast(nw.Int64) - trials.values[0]
        bit = (2.0 ** (place % _BITS)).cast(nw.Int64)
        found = [
            nw.when((place >= k * _BITS) & (place < (k + 1) * _BITS)).then(bit).otherwise(zero)
            for k in range(len(trials.words))
        ]
    else:
        same = column.cast(nw.String) if isinstance(trials.values[0], str) else column
        found = [zero for _ in trials.words]
        for place, value in enumerate(trials.values):
            k, bit = divmod(place, _BITS)
            found[k] = nw.when(same == value).then(nw.lit(1 << bit, nw.Int64)).otherwise(found[k])
    return [bits.alias(word) for bits, word in zip(found, trials.words, strict=True)]


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
