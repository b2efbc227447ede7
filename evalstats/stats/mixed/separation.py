"""Separation: whether the fixed effects of a binomial model have a finite maximum-likelihood estimate.

A direction d of the coefficients in which no success becomes less likely and no failure either (x'd >= 0 in every cell of
successes only, <= 0 in every cell of failures only, 0 in every mixed cell) lets the likelihood rise for ever (Albert &
Anderson 1984, doi:10.1093/biomet/71.1.1). Random effects change nothing: the likelihood given them rises whatever they are.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import linalg, optimize, sparse

from evalstats.errors import CannotAnswerError
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign
from evalstats.stats.mixed.laplace_plan import Distinct, distinct_rows

Bools = npt.NDArray[np.bool_]

RANK = 1e-9  # of the largest singular value, after columns are scaled to unit length
DEPENDENT = 1e-7  # of its length: what is left of a column outside the span of those before it
NEWTON_STEPS = 30
LONGEST = 5.0  # logits: a Newton step is cut to that
MOVING = 0.1  # logits: what a separated row moves by at least in a late step
REST = 1e-5  # logits: what no other row does
ROUNDS = 4  # times that rows are taken away which turn out to move


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """What is separated.

    Attributes
    ----------
    rows
        Distinct rows of X on which the likelihood has no maximum, shape (n_rows, n_fixed).
    cells
        Which cells of the design have such a row, boolean.
    labels
        Each row in words: the names of its columns that are not 0.
    n_directions
        Dimension of the space of coefficients that run to infinity.
    columns
        Names of the coefficients that do.
    complete
        Whether all cells are separated.
    """

    rows: Floats
    cells: Bools
    labels: tuple[str, ...]
    n_directions: int
    columns: tuple[str, ...]
    complete: bool


def find_separation(design: MixedDesign, distinct: Distinct | None = None) -> Separation | None:
    """Return what is separated in the fixed part of a binomial design of full rank, or None if nothing is.

    Cells with the same fixed effects are merged. A separating direction is 0 on every mixed row, and on every set of rows
    that have a finite logistic regression by themselves; that leaves few dimensions, mostly none. In them a linear programme
    (Konis 2007, "Linear programming algorithms for detecting separated data in binary logistic regression models",
    University of Oxford) finds the largest separated set.
    """
    distinct = distinct or distinct_rows(design.fixed)
    trials = distinct.of_cell.sums(design.count)
    successes = np.rint(distinct.of_cell.sums(design.count * design.response))
    side = np.where(successes >= trials, 1.0, np.where(successes <= 0.0, -1.0, 0.0))
    rows = distinct.rows / np.sqrt((distinct.rows**2).mean(axis=0))
    free = _null_space(rows[side == 0.0])
    if free.shape[1] > 0:
        free = _null_space(rows[_bounded_rows(rows, trials, successes, side)])
    if free.shape[1] == 0:
        return None
    moves = (side[:, None] * rows) @ free
    moves[np.abs(moves) < DEPENDENT * np.abs(moves).max()] = 0.0
    candidates = np.flatnonzero(np.abs(moves).max(axis=1))
    which = candidates[_largest_separated(moves[candidates])]
    if which.size == 0:
        return None
    directions = _null_space(np.delete(rows, which, axis=0))
    runs = np.abs(directions).max(axis=1) > DEPENDENT
    cells = np.isin(distinct.of_cell.level, which)
    return Separation(
        rows=distinct.rows[which],
        cells=cells,
        labels=tuple(_label(row, design.fixed_names) for row in distinct.rows[which]),
        n_directions=directions.shape[1],
        columns=tuple(name for name, r in zip(design.fixed_names, runs, strict=True) if r),
        complete=bool(cells.all()),
    )


def dependent_columns(rows: Floats) -> Ints:
    """Return the columns of X that follow from those before them; `rows` are its distinct rows.

    Examples
    --------
    >>> dependent_columns(np.array([[1.0, 0, 1], [1, 1, 0]]))
    array([2])
    """
    length = np.sqrt((rows**2).sum(axis=0))
    scaled = rows / np.where(length > 0.0, length, 1.0)
    if len(scaled) > 4 * scaled.shape[1]:
        scaled = np.asarray(linalg.qr(scaled, mode="r", check_finite=False)[0][: scaled.shape[1]], dtype=np.float64)
    values = np.linalg.svd(scaled, compute_uv=False)
    if values.size == rows.shape[1] and values.min() > RANK * values.max():
        return np.zeros(0, dtype=np.int64)
    out: list[int] = []
    basis = np.zeros((len(scaled), 0))
    for j in range(scaled.shape[1]):
        column = scaled[:, j]
        for _ in range(2):  # orthogonal to rounding after the second time
            column = column - basis @ (basis.T @ column)
        size = float(np.linalg.norm(column))
        if size > DEPENDENT:
            basis = np.column_stack([basis, column / size])
        else:
            out.append(j)
    return np.array(out, dtype=np.int64)


def _null_space(rows: Floats) -> Floats:
    """Orthonormal basis of the vectors that all rows send to 0, shape (n_columns, dimension)."""
    return _spaces(rows)[1]


def _spaces(rows: Floats) -> tuple[Floats, Floats]:
    """Orthonormal bases of the span of the rows and of its complement."""
    width = rows.shape[1]
    if len(rows) == 0:
        return np.zeros((width, 0)), np.eye(width)
    if len(rows) > 4 * width:
        rows = np.asarray(linalg.qr(rows, mode="r", check_finite=False)[0][:width], dtype=np.float64)
    _, values, turned = np.linalg.svd(rows, full_matrices=True)
    rank = int((values > RANK * values.max()).sum())
    return turned[:rank].T, turned[rank:].T


def _bounded_rows(rows: Floats, trials: Floats, successes: Floats, side: Floats) -> Bools:
    """Say on which rows a separating direction must be 0, as far as logistic regressions prove it.

    In Newton's iteration separated rows move on by about one logit a step, for ever, and the others come to rest. Those at
    rest are then fitted alone: a finite solution proves that no direction separates any of them.
    """
    mixed = side == 0.0
    at_rest = np.ones(len(rows), dtype=bool)
    for _ in range(ROUNDS):
        basis = _spaces(rows[at_rest])[0]
        last = _last_newton_step(rows[at_rest] @ basis, trials[at_rest], successes[at_rest])
        if last is None:
            return mixed
        moving = side[at_rest] * last > MOVING
        if not moving.any():
            return at_rest if np.abs(last).max() < REST else mixed
        at_rest[np.flatnonzero(at_rest)[moving]] = False
        if not at_rest.any():
            break
    return mixed


def _last_newton_step(rows: Floats, trials: Floats, successes: Floats) -> Floats | None:
    """Change of every row's predictor in the last step of Newton's iteration for a plain logistic regression.

    None where the weights vanish before it is clear what moves.
    """
    eta, step = np.zeros(len(rows)), np.zeros(len(rows))
    for _ in range(NEWTON_STEPS):
        mean = 1.0 / (1.0 + np.exp(-eta))
        weights = trials * mean * (1.0 - mean)
        information = rows.T @ (weights[:, None] * rows)
        try:
            factor = linalg.cho_factor(information)
        except linalg.LinAlgError:
            return None
        step = rows @ linalg.cho_solve(factor, rows.T @ (successes - trials * mean))
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))
        eta = eta + step
        if np.abs(step).max() < REST:
            break
    return step


def _largest_separated(moves: Floats) -> Bools:
    """Say on which rows some direction with moves @ d >= 0 everywhere is positive.

    Maximise sum z, 0 <= z <= min(1, moves @ d): a direction may be as long as it likes, so every row that can be positive
    together with the others reaches 1.
    """
    distinct, inverse = np.unique(np.round(moves, 9), axis=0, return_inverse=True)
    n, width = distinct.shape
    limits = sparse.csr_array(
        sparse.hstack([sparse.csr_array(-distinct), sparse.eye_array(n, format="csr")], format="csr")
    )
    result: Any = optimize.linprog(
        np.concatenate([np.zeros(width), -np.ones(n)]),
        A_ub=cast("Any", limits),
        b_ub=np.zeros(n),
        bounds=[(None, None)] * width + [(0.0, 1.0)] * n,
        method="highs",
    )
    if result.x is None:
        raise CannotAnswerError(f"the search for separation failed: {result.message}; scale the covariates")
    reached = np.asarray(result.x[width:], dtype=np.float64) > 0.5
    return reached[inverse.ravel()]


def _label(row: Floats, names: tuple[str, ...]) -> str:
    """Name the columns that are not 0; an interaction of columns that are named says nothing more."""
    held = {name: value for name, value in zip(names, row.tolist(), strict=True) if value != 0.0}
    parts = [
        name if value == 1.0 else f"{name} = {value:.4g}"
        for name, value in held.items()
        if name not in ("(Intercept)", "Intercept")
        and not (":" in name and all(part in held for part in name.split(":")))
    ]
    return " and ".join(parts) if parts else "the baseline of every factor"
