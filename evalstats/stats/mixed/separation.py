"""Separation: whether the fixed effects of a binomial model have a finite maximum-likelihood estimate.

A direction d of the coefficients in which no success becomes less likely and no failure either (x'd >= 0 in every cell of
successes only, <= 0 in every cell of failures only, 0 in every mixed cell) lets the likelihood rise for ever (Albert &
Anderson 1984, doi:10.1093/biomet/71.1.1). Random effects change nothing: the likelihood given them rises whatever they are.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from evalstats.stats.mixed.design import Floats, Ints, MixedDesign
from evalstats.stats.mixed.laplace_plan import Distinct, distinct_rows

RANK = 1e-9  # of the largest pivot, after columns are scaled to unit length
DEPENDENT = 1e-7  # of its length: what is left of a column outside the span of those before it
MANY = 4000  # distinct rows above which a plain fit is tried before the linear programme


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
    cells: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
    labels: tuple[str, ...]
    n_directions: int
    columns: tuple[str, ...]
    complete: bool


def find_separation(design: MixedDesign, distinct: Distinct | None = None) -> Separation | None:
    """Return what is separated in the fixed part of a binomial design of full rank, or None if nothing is.

    Cells with the same fixed effects are merged. Where some of them hold both outcomes, the direction must be 0 on those,
    which leaves few dimensions, mostly none; a linear programme (Konis 2007, "Linear programming algorithms for detecting
    separated data in binary logistic regression models", University of Oxford) finds the largest separated set in the
    rest. With thousands of distinct rows, an ordinary logistic regression with a finite solution proves that nothing is.
    """
    distinct = distinct or distinct_rows(design.fixed)
    rows = distinct.rows
    trials = distinct.of_cell.sums(design.count)
    successes = np.rint(distinct.of_cell.sums(design.count * design.response))
    if len(rows) > MANY and _has_finite_fit(rows, trials, successes):
        return None
    scale = np.sqrt((rows**2).mean(axis=0))
    side = np.where(successes >= trials, 1.0, np.where(successes <= 0.0, -1.0, 0.0))
    free = _null_space(rows[side == 0.0] / scale)
    if free.shape[1] == 0:
        return None
    one_sided = np.flatnonzero(side)
    moves = (side[one_sided, None] * rows[one_sided] / scale) @ free
    moves[np.abs(moves) < 1e-9 * np.abs(moves).max(initial=1e-300)] = 0.0
    direction, separated = _largest_separated(moves)
    if not separated.any():
        return None
    which = one_sided[separated]
    others = np.setdiff1d(np.arange(len(rows)), which)
    beyond = _null_space(rows[others] / scale)
    loose = np.abs(beyond).max(axis=1) > 1e-7
    loose |= np.abs(free @ direction) > 1e-7
    cells = np.isin(distinct.of_cell.level, which)
    return Separation(
        rows=rows[which],
        cells=cells,
        labels=tuple(_label(row, design.fixed_names) for row in rows[which]),
        n_directions=beyond.shape[1],
        columns=tuple(name for name, is_loose in zip(design.fixed_names, loose, strict=True) if is_loose),
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
        scaled = linalg.qr(scaled, mode="r", check_finite=False)[0][: scaled.shape[1]]
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
    """Orthonormal basis of the vectors that all rows send to 0."""
    width = rows.shape[1]
    if len(rows) == 0:
        return np.eye(width)
    if len(rows) > 4 * width:
        rows = linalg.qr(rows, mode="r", check_finite=False)[0][:width]
    _, values, turned = np.linalg.svd(rows, full_matrices=True)
    rank = int((values > RANK * max(float(values.max(initial=0.0)), 1e-300)).sum())
    return turned[rank:].T


def _largest_separated(moves: Floats) -> tuple[Floats, "np.ndarray[tuple[int], np.dtype[np.bool_]]"]:
    """Return a direction with moves @ d >= 0 that is positive on as many rows as any, and those rows.

    Maximise sum z, 0 <= z <= min(1, moves @ d): a direction may be as long as it likes, so every row that can be positive
    together with the others reaches 1.
    """
    distinct, inverse = np.unique(np.round(moves, 12), axis=0, return_inverse=True)
    n, width = distinct.shape
    upper = np.hstack([-distinct, np.eye(n)])
    result = optimize.linprog(
        np.concatenate([np.zeros(width), -np.ones(n)]),
        A_ub=upper,
        b_ub=np.zeros(n),
        bounds=[(None, None)] * width + [(0.0, 1.0)] * n,
        method="highs",
    )
    if result.x is None:
        return np.zeros(width), np.zeros(len(moves), dtype=bool)
    direction = result.x[:width]
    length = float(np.abs(direction).max(initial=0.0))
    return direction / length if length > 0 else direction, (result.x[width:] > 0.5)[inverse.ravel()]


def _has_finite_fit(rows: Floats, trials: Floats, successes: Floats) -> bool:
    """Whether Newton's method for the plain logistic regression ends at a point of zero gradient with weight everywhere."""
    beta = np.zeros(rows.shape[1])
    for _ in range(15):
        eta = rows @ beta
        if np.abs(eta).max() > 15.0:
            return False
        mean = 1.0 / (1.0 + np.exp(-eta))
        gradient = rows.T @ (successes - trials * mean)
        information = rows.T @ ((trials * mean * (1.0 - mean))[:, None] * rows)
        try:
            step = linalg.solve(information, gradient, assume_a="pos")
        except (linalg.LinAlgError, linalg.LinAlgWarning):
            return False
        beta = beta + step
        if float(gradient @ step) < 1e-16 * trials.sum():
            return True
    return False


def _label(row: Floats, names: tuple[str, ...]) -> str:
    parts = [
        name if value == 1.0 else f"{name} = {value:.4g}"
        for name, value in zip(names, row, strict=True)
        if value != 0.0 and name not in ("(Intercept)", "Intercept")
    ]
    return " and ".join(parts) if parts else "the baseline of every factor"
