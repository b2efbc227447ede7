"""What gaps of models and scenarios show beyond each model's and each scenario's own: the second stage."""

import math
from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import positive_p
from evalstats.stats.mixed.prediction import pooled_table

_LEAST_EIGENVALUE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledGaps:
    """Partially pooled gaps of models x cells.

    Attributes
    ----------
    value, std_error
        Shape (n_models, n_cells); NaN where there was no gap with an error.
    tau, p_value
        Standard deviation of true gaps beyond a model's and a cell's own; p of none (restricted likelihood ratio, half a
        chi-squared with 1 df).
    """

    value: FloatArray
    std_error: FloatArray
    tau: float
    p_value: float


def pooled_gaps(table: FloatArray, *covariances: FloatArray) -> PooledGaps:
    """Draw the gaps of models x cells towards what the model does in other cells and other models in the cell.

    Parameters
    ----------
    table
        float64, shape (n_models, n_cells): gaps; NaN where there is none with an error.
    *covariances
        Of the errors of each side, shape (n_gaps, n_gaps), over the gaps that are known, cells running fastest. They add up.

    Raises
    ------
    CannotAnswerError
        If there are fewer than two models or two cells, or too few gaps to tell an interaction.

    Notes
    -----
    gap = model + cell + b + e with b ~ N(0, tau^2), by `pooled_table`. A covariance of a hundred cells that comes from thirty
    clusters is singular, and its inverse is mostly noise. So of each side the variances are kept, and the correlations are
    averaged into three: of cells of one model, of models in one cell, and of the rest. The error of tau is not in
    `std_error`.

    References
    ----------
    Ledoit & Wolf 2004, doi:10.3905/jpm.2004.110 (averaged correlations); Self & Liang 1987, doi:10.2307/2289471.
    """
    has = ~np.isnan(table)
    if np.unique(np.nonzero(has)[0]).size < 2 or np.unique(np.nonzero(has)[1]).size < 2:
        raise CannotAnswerError("fewer than two models or two cells have a gap with an error; there is nothing to pool")
    model, cell = (np.asarray(codes, dtype=np.int64) for codes in np.nonzero(has))
    kind = (model[:, np.newaxis] == model) + 2 * (cell[:, np.newaxis] == cell).astype(np.int64)
    covariance = sum((averaged_correlations(each, kind) for each in covariances), np.zeros((model.size,) * 2))
    found = pooled_table(table, covariance)
    std_error = np.full(table.shape, np.nan)
    std_error[has] = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    return PooledGaps(
        value=found.values,
        std_error=std_error,
        tau=math.sqrt(found.variance),
        p_value=half_chi2(found.deviance_drop) if found.variance > 0.0 else 1.0,
    )


def half_chi2(deviance_drop: float) -> float:
    """Return half the tail of chi-squared with 1 df.

    Examples
    --------
    >>> round(half_chi2(2.7055), 4)
    0.05
    """
    return positive_p(0.5 * math.erfc(math.sqrt(deviance_drop / 2.0)))


def averaged_correlations(covariance: FloatArray, kind: IntArray) -> FloatArray:
    """Keep the variances of estimates and average the correlations of their errors by kind of pair.

    Parameters
    ----------
    covariance
        Shape (n, n).
    kind
        int64, shape (n, n), symmetric: pairs of one kind get the mean of their correlations. The diagonal is not read.

    Returns
    -------
    numpy.ndarray
        A covariance that can be inverted, however few clusters the one given comes from.

    Examples
    --------
    >>> v = np.array([[1.0, 0.4, 0.0], [0.4, 4.0, 0.0], [0.0, 0.0, 1.0]])
    >>> averaged_correlations(v, np.zeros((3, 3), dtype=np.int64)).round(3)[0].tolist()
    [1.0, 0.133, 0.067]
    """
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    safe = np.where(sd > 0.0, sd, 1.0)
    correlation = covariance / np.outer(safe, safe)
    used = (sd[:, np.newaxis] > 0.0) & (sd > 0.0) & ~np.eye(sd.size, dtype=np.bool_)
    smooth = np.eye(sd.size)
    for one in np.unique(kind[used]):
        pairs = used & (kind == one)
        smooth[pairs] = float(correlation[pairs].mean())
    smooth = _lifted(smooth)
    unit = np.sqrt(np.diag(smooth))
    return smooth / np.outer(unit, unit) * np.outer(sd, sd)


def _lifted(correlation: FloatArray) -> FloatArray:
    """Lift what is below 0 in averages: they may be no correlations of anything, above all where cells are missing."""
    try:
        # Nothing to lift, which is usual, is told by a root in a twentieth of the time that eigenvectors take.
        np.linalg.cholesky(correlation - _LEAST_EIGENVALUE * np.eye(len(correlation)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(correlation)
        return np.asarray((vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T, dtype=np.float64)
    return correlation
