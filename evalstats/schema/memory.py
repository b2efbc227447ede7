"""What tables take in memory, and how much of it what is read from files may take.

Polars' own estimate of a column of texts counts their bytes; each cell takes a view of 16 more, however short it is.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import polars as pl

from evalstats.errors import InputError
from evalstats.schema.tables import is_constant

# Name of the variable of the environment that sets another limit.
LIMIT: Final = "EVALSTATS_MAX_MEMORY"
# Without it: so much, or so many times what the files take on disk. Packed results unfold 10 to 40 times, bombs a thousand times.
_LIMIT_BYTES: Final = 2 << 30
_MOST_TIMES: Final = 100
# What one block of a file may take.
BLOCK_BYTES: Final = 64 << 20
_VIEW_BYTES: Final = 16
# Dtypes of columns that most often hold one value.
_OF_NAMES: Final = (pl.String, pl.Int64, pl.Categorical)
_SIZE: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?) *([KMGT])(?:i?B)?", re.IGNORECASE)
_POWERS: Final = {"K": 10, "M": 20, "G": 30, "T": 40}
_INSTEAD: Final = "read fewer rows or columns, put the results into a store (`evalstats ingest`), or"


def held_bytes(frame: pl.DataFrame) -> int:
    """Return what a frame takes in memory, at most: texts that share their bytes, as from a dictionary, count each time.

    >>> held_bytes(pl.DataFrame({"a": ["1"] * 1_000}))
    17000
    """
    if not frame.height:  # most tables of a file; a column's dtype costs more to ask for than to add up
        return 0
    return sum(map(_bytes_of, frame.iter_columns()))


def _bytes_of(series: pl.Series) -> int:
    return int(series.estimated_size()) + _overhead(series)


def _overhead(series: pl.Series) -> int:
    """Return what a column takes, or will where it is written out as text, beside what Polars estimates."""
    dtype = series.dtype
    if dtype == pl.String:  # as most are
        return _VIEW_BYTES * len(series)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return _VIEW_BYTES * len(series) + int(series.cast(pl.Categorical).cat.len_bytes().sum())
    if isinstance(dtype, pl.Struct):
        return sum(_overhead(part) for part in series.struct.unnest().iter_columns())
    if isinstance(dtype, pl.List):
        if series.null_count() == len(series):  # as most are, and to add up nothing takes long
            return 0
        return _VIEW_BYTES * int(series.list.len().sum())
    return _VIEW_BYTES * len(series) if isinstance(dtype, pl.Binary) else 0


def pieces(frame: pl.DataFrame, most_bytes: int) -> Iterator[pl.DataFrame]:
    """Cut a frame into slices that take no more than so much each; a single row is never cut.

    >>> [piece.height for piece in pieces(pl.DataFrame({"a": ["1"] * 1_000}), 10_000)]
    [500, 500]
    """
    parts = -(-held_bytes(frame) // most_bytes)
    if parts <= 1 or frame.height <= 1:
        yield frame
        return
    rows = -(-frame.height // parts)
    for first in range(0, frame.height, rows):
        yield from pieces(frame.slice(first, rows), most_bytes)


class InStep:
    """Cuts the rows of every run at the same places, counted from its first, so that their parts can be alike.

    Only of runs that are longer than a part of `n_rows`, which stand together; shorter ones share the parts that they come in.

    >>> step, rows = InStep(3), pl.DataFrame({"run": ["a"] * 5 + ["b"] * 5})
    >>> [part.height for block in (rows[:4], rows[4:8], rows[8:]) for part in step.of(block)] + [step.rest().height]
    [3, 2, 3, 2]
    """

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows
        self._held = pl.DataFrame()

    def of(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield the parts that these rows complete."""
        if frame.height < self._n_rows and not self._held.height:
            self._held = frame
            return
        starts = (frame["run"].rle_id().diff() != 0).arg_true()
        if len(starts) > 1:
            yield from (part for part in (self.rest(), frame) if part.height)
            return
        for part in (frame[: starts[0]], frame[starts[0] :]) if len(starts) else (frame,):
            held = self.rest()
            if held.height and (held.schema != part.schema or held["run"][-1] != part["run"][0]):
                yield held
                held = held.clear()
            own = pl.concat([held, part], rechunk=False) if held.height else part
            whole = own.height - own.height % self._n_rows
            yield from (own.slice(first, self._n_rows) for first in range(0, whole, self._n_rows))
            self._held = own[whole:]

    def rest(self) -> pl.DataFrame:
        """Hand out the rows of a part that is not complete."""
        held, self._held = self._held, pl.DataFrame()
        return held


class HeldOnce:
    """Lets the parts of a table share what they have alike: columns of nulls, of one value on every row, and equal texts.

    A cell of text takes 16 bytes even where it is null, and most of the columns of outcomes hold nothing or one name. Where
    systems answered the same items in the same order, the names of these are held for one of them. Each column of a part is in
    one piece: a table whose columns are cut at other rows is copied whole when rows are chosen. A single row has nothing to
    share. `n_bytes` is what all parts take so far.

    >>> once = HeldOnce()
    >>> first, second = (once.of(pl.DataFrame({"task": ["a"] * n, "item": ["q"] * n})) for n in (3, 2))
    >>> second.equals(pl.DataFrame({"task": ["a"] * 2, "item": ["q"] * 2})), once.n_bytes
    (True, 102)
    """

    def __init__(self) -> None:
        self.n_bytes = 0
        self._known: dict[tuple[str, pl.DataType], pl.Series] = {}
        self._texts: dict[tuple[str, int, str | None, str | None], pl.Series] = {}

    def of(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the same rows, their columns of one value and equal texts drawn from those of earlier parts."""
        if frame.height == 1:
            self.n_bytes += held_bytes(frame)
            return frame
        return pl.DataFrame([self._held(column) for column in frame.iter_columns()])

    def _held(self, column: pl.Series) -> pl.Series:
        n, dtype = len(column), column.dtype
        nothing = column.null_count() == n
        if nothing or (isinstance(dtype, _OF_NAMES) and column[0] == column[-1] and is_constant(column)):
            key = ("" if nothing else column.name, dtype)
            known = self._known.get(key)
            if known is not None and len(known) >= n and (nothing or known[0] == column[0]):
                return known.head(n).alias(column.name)
            column = self._known[key] = column.rechunk()
            self.n_bytes += _bytes_of(column)
            return column
        column = column.rechunk()
        if dtype == pl.String and n:
            texts = self._texts.setdefault((column.name, n, column[0], column[-1]), column)
            if texts is not column and texts.equals(column):
                return texts
        self.n_bytes += _bytes_of(column)
        return column


def most_bytes(on_disk: int = 0) -> int:
    """Return the limit: what the environment says, else 2 GiB, or 100 times what the files take on disk if that is more.

    InputError if the environment says no size.
    """
    said = os.environ.get(LIMIT, "").strip()
    if not said:
        return max(_LIMIT_BYTES, _MOST_TIMES * on_disk)
    found = _SIZE.fullmatch(said)
    if found is None or not float(found[1]):
        raise InputError(f"{LIMIT} is {said!r}; a size was expected, such as 8G or 512M")
    return int(float(found[1]) * 2 ** _POWERS[found[2].upper()])


def as_size(n_bytes: int) -> str:
    """Write a number of bytes.

    >>> as_size(2 << 30), as_size(512 << 20), as_size(1000)
    ('2 GiB', '512 MiB', '0.977 KiB')
    """
    power, unit = next(
        (power, unit) for unit, power in reversed(_POWERS.items()) if n_bytes >= 1 << power or power == 10
    )
    return f"{n_bytes / (1 << power):.3g} {unit}iB"


def limit_of(paths: Iterable[Path]) -> int:
    """Return the limit for what is read from these files."""
    return most_bytes(sum(path.stat().st_size for path in {*paths} if path.is_file()))


def too_much(n_bytes: int, most: int, instead: str = _INSTEAD) -> str:
    """Say that tables take more than the limit, as the end of a sentence; "" if they do not.

    `instead` is what to do, before the limit is raised.
    """
    if n_bytes <= most:
        return ""
    larger = as_size(4 * most).replace(" ", "").removesuffix("iB")  # as the environment takes it
    return f"in memory than {as_size(most)}; {instead} raise the limit, as in {LIMIT}={larger}"
