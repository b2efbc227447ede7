"""Partial pooling of a table of estimates: each cell is drawn towards what its row and its column do elsewhere.

The second stage of a two-stage analysis: the first gave an estimate for every cell and their covariance, clustered by item,
so that items shared by cells, and models that are near-copies of one another, count as what they are.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar

from evalstats.errors import CannotAnswerError, InputError

Floats = npt.NDArray[np.float64]
# Golden-section steps end when the variance is known to this share of the largest that is tried.
_TOLERANCE = 1e-8
_RIDGE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledTable:
    """Cells of a table, partially pooled.

    Attributes
    ----------
    values
        float64, shape (n_rows, n_columns): predictions of the true cell values; NaN where there was no estimate.
    covariance
        Covariance of the errors of the predictions, shape (n_estimated, n_estimated), in row-major order of the cells that
        have an estimate. It counts in that rows and columns are estimated, not that the variance is.
    variance
        Estimated variance of the interaction of rows and columns beyond noise (REML). 0 means that nothing beyond noise is
        seen, and every cell is the sum of its row and its column.
    deviance_drop
        Fall of the REML criterion from variance 0 to the estimate; half a chi-squared with 1 df under variance 0.
    """

    values: Floats
    covariance: Floats
    variance: float
    deviance_drop: float


def pooled_table(estimates: Floats, covariance: Floats) -> PooledTable:
    """Predict the true values of a table of cells whose interaction is random: y = row + column + b + e.

    b ~ N(0, tau^2) independently, e ~ N(0, V) with V known. tau^2 is estimated by REML; the predictions are the best linear
    unbiased ones at that value, which is empirical Bayes.

    Parameters
    ----------
    estimates
        float64, shape (n_rows, n_columns); NaN where a cell has none. At least two rows and two columns.
    covariance
        float64, the covariance V of the cells that have an estimate, in row-major order.

    Raises
    ------
    InputError
        If shapes do not agree, an estimate is infinite, or the covariance is none.
    CannotAnswerError
        If no degree of freedom is left for the interaction, or no estimate has any error.

    Notes
    -----
    The estimate of tau^2 is noisy where there are few cells; the prediction errors do not count that in.

    References
    ----------
    Morris 1983, doi:10.2307/2287098; Harville 1977, doi:10.2307/2286796.

    Examples
    --------
    >>> found = pooled_table(np.array([[0.0, 1.0], [1.0, 2.0]]), 0.01 * np.eye(4))
    >>> found.variance, np.abs(found.values - [[0, 1], [1, 2]]).max() < 1e-9
    (0.0, np.True_)
    """
    has = ~np.isnan(estimates)
    y = estimates[has]
    if covariance.shape != (len(y), len(y)):
        message = f"the covariance has shape {covariance.shape}; {len(y)} cells have an estimate"
        raise InputError(message)
    if not (np.isfinite(y).all() and np.isfinite(covariance).all() and (np.diag(covariance) >= 0).all()):
        message = "an estimate is infinite, or a variance is negative or no number"
        raise InputError(message)
    if not np.diag(covariance).max(initial=0.0) > 0:
        message = "no estimate has any error; cells that are known exactly are not pooled"
        raise CannotAnswerError(message)
    design = _row_and_column(has)
    if design.shape[1] >= len(y):
        message = f"{len(y)} cells leave no degree of freedom for an interaction of rows and columns"
        raise CannotAnswerError(message)
    scale = float(np.mean(np.diag(covariance)))
    noise = covariance + _RIDGE * scale * np.eye(len(y))
    top = max(float(np.var(y)), scale) * 4
    found = minimize_scalar(
        lambda root: _criterion(y, design, noise, float(root) ** 2),
        bounds=(0.0, top**0.5),
        method="bounded",
        options={"xatol": _TOLERANCE * top**0.5},
    )
    at_zero = _criterion(y, design, noise, 0.0)
    variance = 0.0 if found.fun >= at_zero - 1e-6 else float(found.x) ** 2
    values, errors = _predictions(y, design, noise, variance)
    table = np.full(estimates.shape, np.nan)
    table[has] = values
    return PooledTable(
        values=table,
        covariance=errors,
        variance=variance,
        deviance_drop=max(0.0, at_zero - float(found.fun)) if variance else 0.0,
    )


def _row_and_column(has: npt.NDArray[np.bool_]) -> Floats:
    """Orthogonal basis of all sums of a row and a column; empty rows and columns have no part in it."""
    rows, columns = np.nonzero(has)
    by_row = (rows[:, None] == np.unique(rows)).astype(np.float64)
    by_column = (columns[:, None] == np.unique(columns)).astype(np.float64)
    # One column too many, and one more for every part of the table that shares no row or column with the rest.
    left, size, _ = np.linalg.svd(np.hstack([by_row, by_column]), full_matrices=False)
    return left[:, size > _RIDGE * size[0]]


def _criterion(y: Floats, design: Floats, noise: Floats, variance: float) -> float:
    """Minus twice the restricted log-likelihood, without constants."""
    factor = cho_factor(noise + variance * np.eye(len(y)), lower=True)
    whitened = cho_solve(factor, design)
    information = design.T @ whitened
    beta = np.linalg.solve(information, whitened.T @ y)
    rest = y - design @ beta
    log_determinant = 2 * float(np.log(np.diag(factor[0])).sum()) + float(np.linalg.slogdet(information)[1])
    return log_determinant + float(rest @ cho_solve(factor, rest))


def _predictions(y: Floats, design: Floats, noise: Floats, variance: float) -> tuple[Floats, Floats]:
    """Predict the true values, and give the covariance of the errors (Harville 1977).

    With K = tau^2 (V + tau^2 I)^-1 the prediction is X b + K (y - X b), and its error has covariance
    (tau^2 I - K tau^2) + (X - K X) (X' W X)^-1 (X - K X)'.
    """
    inverse = np.linalg.inv(noise + variance * np.eye(len(y)))
    spread = np.linalg.inv(design.T @ inverse @ design)
    beta = spread @ (design.T @ (inverse @ y))
    gain = variance * inverse
    left = design - gain @ design
    errors = variance * (np.eye(len(y)) - gain) + left @ spread @ left.T
    return design @ beta + gain @ (y - design @ beta), (errors + errors.T) / 2
