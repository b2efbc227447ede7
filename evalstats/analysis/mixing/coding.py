"""Fixed effects and slopes as columns of numbers: treatment coding, made by formulaic from codes, never from text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evalstats.analysis.mixing.columns import Column, Factor
from evalstats.analysis.mixing.terms import Term, term_name
from evalstats.errors import InputError
from evalstats.stats.mixed.design import Floats

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
