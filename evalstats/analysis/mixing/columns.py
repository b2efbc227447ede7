"""Columns of a model: levels as codes, numbers as numbers, and the distinct combinations of several columns."""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.errors import InputError
from evalstats.stats.mixed.design import Floats, Ints

_KEY_ROOM = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """A column of levels: `codes`, int64, shape (n,), count from 0 in the order of `levels`."""

    name: str
    levels: tuple[str, ...]
    codes: Ints

    def take(self, at: Ints) -> "Factor":
        """Return the rows at the given places."""
        return replace(self, codes=self.codes[at])

    def key(self) -> tuple[Ints, int]:
        """Codes and how many there can be."""
        return self.codes, len(self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Covariate:
    """A column of numbers: `values`, float64, shape (n,)."""

    name: str
    values: Floats

    def take(self, at: Ints) -> "Covariate":
        """Return the rows at the given places."""
        return replace(self, values=self.values[at])

    def key(self) -> tuple[Ints, int]:
        """Codes of the distinct values in their order, and how many there are."""
        distinct, codes = np.unique(self.values, return_inverse=True)
        return codes.astype(np.int64), len(distinct)


Column = Factor | Covariate


def check_column(frame: pl.DataFrame, name: str, role: str) -> None:
    """Raise InputError, with names that are near, if a frame has no such column.

    Examples
    --------
    >>> check_column(pl.DataFrame({"scenario": []}), "senario", "the formula")
    Traceback (most recent call last):
    evalstats.errors.InputError: the table has no column 'senario' (the formula); did you mean 'scenario'?
    """
    if name in frame.columns:
        return
    near = difflib.get_close_matches(name, frame.columns, n=2, cutoff=0.6)
    shown = ", ".join(repr(column) for column in frame.columns[:15])
    more = f" and {len(frame.columns) - 15} more" if len(frame.columns) > 15 else ""
    hint = f"did you mean {' or '.join(repr(name) for name in near)}?" if near else f"it has {shown}{more}"
    raise InputError(f"the table has no column {name!r} ({role}); {hint}")


def is_missing(series: pl.Series) -> pl.Series:
    """Whether each value is null or NaN."""
    missing = series.is_null()
    return missing | series.is_nan().fill_null(value=False) if series.dtype.is_float() else missing


def read_factor(series: pl.Series, name: str, order: Sequence[str] | None = None) -> Factor:
    """Return a column without nulls as levels.

    Levels stand in the order given; else in that of an Enum; else numbers by size and text by the alphabet. A level that no
    row has is left out.

    Raises
    ------
    InputError
        If `order` lacks a level that the column has, or names one twice, or the column holds lists.

    Examples
    --------
    >>> read_factor(pl.Series([10, 9, 10]), "day").levels
    ('9', '10')
    >>> read_factor(pl.Series(["b", "a"]), "model", ["b", "a"]).codes
    array([0, 1])
    """
    if series.dtype.is_nested():
        raise InputError(f"column {name!r} holds several values a row ({series.dtype}); a factor has one level a row")
    if series.dtype.is_numeric():
        values, inverse = np.unique(series.to_numpy(), return_inverse=True)
        levels = [_label(float(value)) if series.dtype.is_float() else str(value) for value in values]
        codes = inverse.astype(np.int64)
    else:
        text = series.cast(pl.String)
        present = text.unique()
        if isinstance(series.dtype, pl.Enum):
            here = set(present.to_list())
            levels = [level for level in series.dtype.categories.to_list() if level in here]
        else:
            levels = present.sort().to_list()
        codes = text.cast(pl.Enum(levels)).to_physical().to_numpy().astype(np.int64)
    if order is not None:
        wanted = _checked_order(order, levels, name)
        place = {level: at for at, level in enumerate(wanted)}
        codes = np.array([place[level] for level in levels], dtype=np.int64)[codes]
        levels = wanted
    return Factor(name=name, levels=tuple(levels), codes=codes)


def read_covariate(series: pl.Series, name: str) -> Covariate:
    """Return a column of numbers.

    Raises
    ------
    InputError
        If a value is infinite.
    """
    values = series.cast(pl.Float64).to_numpy().astype(np.float64)
    infinite = int(np.count_nonzero(np.isinf(values)))
    if infinite:
        raise InputError(f"column {name!r} holds {infinite} infinite values; leave those rows out or make them null")
    return Covariate(name=name, values=values)


def combinations(columns: Sequence[Column], n: int) -> tuple[Ints, Ints]:
    """Count the distinct combinations of columns off, sorted by the first column, then the second, and so on.

    Returns
    -------
    codes, first
        int64, shape (n,): the combination of each row, from 0; shape (n_combinations,): a row that has it.

    Examples
    --------
    >>> model = Factor(name="model", levels=("a", "b"), codes=np.array([1, 0, 1]))
    >>> combinations([model], 3)
    (array([1, 0, 1]), array([1, 0]))
    """
    key = np.zeros(n, dtype=np.int64)
    room = 1
    for column in columns:
        codes, size = column.key()
        if room * max(size, 1) > _KEY_ROOM:
            distinct, key = np.unique(key, return_inverse=True)
            room = len(distinct)
        key = key * size + codes
        room *= max(size, 1)
    _, first, codes = np.unique(key, return_index=True, return_inverse=True)
    return codes.astype(np.int64), first.astype(np.int64)


def _label(value: float) -> str:
    return str(int(value)) if math.isfinite(value) and value == int(value) else repr(value)


def _checked_order(order: Sequence[str], levels: Sequence[str], name: str) -> list[str]:
    wanted = [str(level) for level in order]
    if len(set(wanted)) < len(wanted):
        raise InputError(f"levels of {name!r} name a level twice; name each once")
    left_out = [level for level in levels if level not in set(wanted)]
    if left_out:
        raise InputError(
            f"levels of {name!r} lack {', '.join(repr(level) for level in left_out[:5])}, which the table has; "
            "name every level, or filter the table first"
        )
    here = set(levels)
    return [level for level in wanted if level in here]
