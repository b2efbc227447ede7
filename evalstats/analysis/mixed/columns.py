"""Columns of a model: levels as codes, numbers as numbers, and the distinct combinations of several columns."""

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.linalg import qr

from evalstats.analysis.mixed.formula import Term, term_name
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


_MOST_COLUMNS = 5000
_MOST_NUMBERS = 200_000_000
_PART = re.compile(r"c(\d+)(?:\[(?:T\.)?(\d+)\])?")
INTERCEPT_NAME = "(Intercept)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """Columns of a design: `matrix`, float64, shape (n, n_columns); `term_of` gives the place of each column's term."""

    matrix: Floats
    names: tuple[str, ...]
    term_of: tuple[int, ...]


def code_columns(terms: Sequence[Term], columns: Mapping[str, Column], n: int, *, intercept: bool) -> Coded:
    """Code products of columns, the intercept first.

    Factors are coded by treatment: the first level is the reference, `model[b]` is b minus it. A factor whose lower-order
    margin is not in the model gets a column for each level, so that the columns span the same space as in R. Columns of a
    factor's levels are named with the level in brackets.

    Raises
    ------
    InputError
        If there would be more than 5,000 columns.

    References
    ----------
    Chambers & Hastie 1992, Statistical Models in S, section 2.4, for which factors get all their levels.

    Examples
    --------
    >>> model = Factor(name="model", levels=("a", "b"), codes=np.array([0, 1, 1]))
    >>> coded = code_columns([("model",)], {"model": model}, 3, intercept=True)
    >>> coded.names, coded.matrix[:, 1]
    (('(Intercept)', 'model[b]'), array([0., 1., 1.]))
    """
    _check_size(terms, columns, n)
    if not terms:
        return Coded(matrix=np.ones((n, 1)), names=(INTERCEPT_NAME,), term_of=(0,))
    from formulaic.formula import SimpleFormula  # imports pandas: only where a model is built
    from formulaic.parser.types import Factor as Part
    from formulaic.parser.types import Term as Product

    names = list(dict.fromkeys(name for term in terms for name in term))
    ids = {name: f"c{at}" for at, name in enumerate(names)}

    def product(term: Term) -> Any:
        # "lookup" takes a column by its name and nothing else; these names are ours.
        return Product([Part(ids[name], eval_method="lookup") for name in term])

    products = [product(term) for term in terms]
    if intercept:
        products.insert(0, Product([Part("1", eval_method="literal")]))
    table = _pandas({ids[name]: columns[name] for name in names})
    formula: Any = SimpleFormula(products, _ordering="none")
    made = formula.get_model_matrix(table, context={}, output="numpy")
    spec = made.model_spec
    term_of: list[int] = [0] * len(spec.column_names)
    for at, part in enumerate(products):
        for column in spec.term_indices[part]:
            term_of[column] = at
    readable = tuple(_readable(str(name), names, columns) for name in spec.column_names)
    return Coded(matrix=np.ascontiguousarray(made, dtype=np.float64), names=readable, term_of=tuple(term_of))


def _pandas(columns: Mapping[str, Column]) -> Any:
    import pandas as pd

    categorical: Any = pd.Categorical
    made: dict[str, Any] = {}
    for name, column in columns.items():
        if isinstance(column, Factor):
            made[name] = categorical.from_codes(column.codes, categories=range(len(column.levels)))
        else:
            made[name] = column.values
    return pd.DataFrame(made)


def _readable(name: str, names: Sequence[str], columns: Mapping[str, Column]) -> str:
    """Turn formulaic's `c0[T.1]:c1` into `model[b]:day`."""
    if name == "Intercept":
        return INTERCEPT_NAME

    def part(match: re.Match[str]) -> str:
        column = columns[names[int(match[1])]]
        return f"{column.name}[{column.levels[int(match[2])]}]" if isinstance(column, Factor) else column.name

    return _PART.sub(part, name)


def _check_size(terms: Sequence[Term], columns: Mapping[str, Column], n: int) -> None:
    for term in terms:
        size = 1
        for name in term:
            column = columns[name]
            size *= len(column.levels) if isinstance(column, Factor) else 1
        if size > _MOST_COLUMNS or size * n > _MOST_NUMBERS:
            raise InputError(
                f"the term {term_name(term)} would need {size:,} columns for {n:,} distinct rows; at most {_MOST_COLUMNS:,} "
                f"columns and {_MOST_NUMBERS:,} numbers are made: let a factor of many levels be random, (1 | {term[-1]})"
            )


def grid_column(grid: pl.DataFrame, factor: Factor) -> Factor:
    """Return the levels a grid holds as codes of a factor.

    Raises
    ------
    InputError
        If the grid has no such column, or a level the factor has not.
    """
    if factor.name not in grid.columns:
        raise InputError(f"the grid has no column {factor.name!r}; give a level of {', '.join(factor.levels[:5])}")
    place = {level: at for at, level in enumerate(factor.levels)}
    labels = [str(value) for value in grid[factor.name].to_list()]
    unknown = sorted({label for label in labels if label not in place})
    if unknown:
        raise InputError(f"{factor.name!r} has no level {unknown[0]!r}; it has {', '.join(factor.levels[:12])}")
    return Factor(
        name=factor.name, levels=factor.levels, codes=np.array([place[label] for label in labels], dtype=np.int64)
    )


Bools = npt.NDArray[np.bool_]

# R's tolerance (qr.default, lme4): a column is dropped where less than this share of its length is not explained by others.
TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Columns of a design that are kept, and what the others are made of.

    `columns` and `dropped` are int64 places; a dropped column is the kept ones times its column of `alias`, float64, shape
    (n_kept, n_dropped).
    """

    columns: Ints
    dropped: Ints
    alias: Floats

    def estimable(self, rows: Floats) -> Bools:
        """Whether the data determine each linear combination; `rows` has all columns, shape (n, n_columns).

        A combination is estimable where it gives the same value for every solution: it must treat a dropped column as it
        treats the columns this one is made of.
        """
        expected = rows[:, self.columns] @ self.alias
        size = np.abs(rows[:, self.columns]) @ np.abs(self.alias) + np.abs(rows[:, self.dropped]) + 1.0
        off = np.abs(rows[:, self.dropped] - expected) > 1e-6 * size
        return np.logical_not(off.any(axis=1))


def independent_columns(matrix: Floats) -> Kept:
    """Keep columns from left to right that are no combination of those before, as R does.

    Examples
    --------
    >>> kept = independent_columns(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]))
    >>> kept.columns, kept.dropped
    (array([0, 2]), array([1]))
    """
    n, p = matrix.shape
    length = np.sqrt((matrix**2).sum(axis=0))
    scaled = matrix / np.where(length > 0.0, length, 1.0)
    if n >= p and bool(np.all(length > 0.0)):
        (triangle,) = qr(scaled, mode="r")
        if bool(np.all(np.abs(np.diag(triangle)) > TOLERANCE)):
            return Kept(
                columns=np.arange(p, dtype=np.int64), dropped=np.empty(0, dtype=np.int64), alias=np.empty((p, 0))
            )
    basis = np.empty((n, min(n, p)))
    kept: list[int] = []
    for column in range(p):
        rest = scaled[:, column].copy()
        for _ in range(2):  # once more, since one pass loses digits where columns nearly agree
            rest -= basis[:, : len(kept)] @ (basis[:, : len(kept)].T @ rest)
        size = float(np.sqrt(rest @ rest))
        if size > TOLERANCE and len(kept) < n:
            basis[:, len(kept)] = rest / size
            kept.append(column)
    columns = np.array(kept, dtype=np.int64)
    dropped = np.setdiff1d(np.arange(p, dtype=np.int64), columns)
    alias = np.linalg.lstsq(scaled[:, columns], matrix[:, dropped])[0] / length[columns, None]
    return Kept(columns=columns, dropped=dropped, alias=alias)
