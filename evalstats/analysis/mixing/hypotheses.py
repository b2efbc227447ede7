"""What the test of a fixed term says is 0: differences of equally weighted means, whatever the coding."""

import itertools

import numpy as np
import polars as pl
from scipy import linalg

from evalstats.analysis.mixing.frame import ModelFrame
from evalstats.analysis.mixing.terms import INTERCEPT, Term
from evalstats.errors import InputError
from evalstats.stats.mixed.design import Floats

MOST_GRID_ROWS = 50_000
_RANK = 1e-9


def factor_grid(frame: ModelFrame) -> pl.DataFrame:
    """Return every combination of the levels of the fixed factors, the last factor running fastest.

    Raises
    ------
    InputError
        If there are more than 50,000.
    """
    size = 1
    for levels in frame.factors.values():
        size *= len(levels)
    if size > MOST_GRID_ROWS:
        raise InputError(
            f"the fixed factors have {size:,} combinations of levels; at most {MOST_GRID_ROWS:,} are averaged"
        )
    rows = list(itertools.product(*frame.factors.values()))
    if not frame.factors:
        return pl.DataFrame({"": [0]})
    return pl.DataFrame(rows, schema=dict.fromkeys(frame.factors, pl.String), orient="row")


def term_rows(frame: ModelFrame, term: Term) -> Floats:
    """Return the combinations of all fixed columns that are 0 if a term has no effect, shape (n_rows, n_columns).

    For a factor these are the differences of its levels' means, all other factors averaged with equal weights and numbers at
    their means; for an interaction differences of differences; for a number its slope. This is the hypothesis of type III
    tests, free of which level is the reference. A factor whose margin is not in the model is taken level by level, as its
    coding does.
    """
    values = _slopes(frame, term)
    for axis, name in enumerate(frame.factors):
        if name not in term:
            values = values.mean(axis=axis, keepdims=True)
        elif _margin_is_in_model(frame, term, name):
            values = np.take(values, range(1, values.shape[axis]), axis=axis) - np.take(values, [0], axis=axis)
    rows = values.reshape(-1, values.shape[-1])
    covariates = [name for name in term if name in frame.covariates]
    differenced = any(_margin_is_in_model(frame, term, name) for name in term if name in frame.factors)
    if not differenced and not covariates and frame.formula.intercept:
        rows = rows[1:] - rows[:1]
    return rows


def estimable_part(frame: ModelFrame, rows: Floats) -> tuple[Floats, int]:
    """Return independent rows that span what the data can say of `rows`, and how many dimensions are lost."""
    size = np.abs(rows).max(initial=0.0)
    if size == 0.0:
        return rows[:0], 0
    rank = int(np.linalg.matrix_rank(rows / size, tol=_RANK * max(rows.shape)))
    if not len(frame.kept.dropped):
        return rows, 0
    nothing = rows[:, frame.kept.dropped] - rows[:, frame.kept.columns] @ frame.kept.alias
    # Combinations of the rows that do not touch what the data say nothing about.
    combine = linalg.null_space(nothing.T, rcond=1e-8)
    left = np.asarray(combine, dtype=np.float64).T @ rows
    kept = int(np.linalg.matrix_rank(left / size, tol=_RANK * max(rows.shape))) if len(left) else 0
    return left, rank - kept


def _slopes(frame: ModelFrame, term: Term) -> Floats:
    """Rows of the grid, one axis a factor; for the numbers of a term, what one unit more of each changes together."""
    grid = factor_grid(frame)
    covariates = [name for name in term if name in frame.covariates]
    total = np.zeros((grid.height, len(frame.columns)))
    for raised in itertools.product((0, 1), repeat=len(covariates)):
        at = grid.with_columns(
            pl.lit(frame.covariates[name] + step).alias(name) for name, step in zip(covariates, raised, strict=True)
        )
        total += (-1.0) ** (len(covariates) - sum(raised)) * frame.all_rows(at)
    return total.reshape(*(len(levels) for levels in frame.factors.values()), -1)


def _margin_is_in_model(frame: ModelFrame, term: Term, name: str) -> bool:
    margin = frozenset(term) - {name}
    return margin == frozenset(INTERCEPT) or any(frozenset(other) == margin for other in frame.formula.fixed)
