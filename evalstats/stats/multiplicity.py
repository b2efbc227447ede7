"""Adjusted p-values for a declared family of hypotheses."""

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's adjusted p-values: they control the chance of any false finding in the family.

    Parameters
    ----------
    p_values
        float64 array, shape (n_hypotheses,), each in [0, 1]; NaN is refused, since a family whose size is unknown
        cannot be adjusted for.

    Returns
    -------
    numpy.ndarray
        Adjusted p-values in the order given.

    References
    ----------
    Holm 1979, Scandinavian Journal of Statistics 6:65.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return _restored(stepped, order)


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini-Hochberg adjusted p-values: they control the expected share of false findings among the findings.

    For screens; valid for independent or positively dependent tests.

    References
    ----------
    Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.04, 0.04]
    """
    return _step_up(_checked(p_values), 1.0)


def benjamini_yekutieli(p_values: ArrayLike) -> FloatArray:
    """Benjamini-Yekutieli adjusted p-values: as Benjamini-Hochberg, valid under any dependence.

    References
    ----------
    Benjamini & Yekutieli 2001, doi:10.1214/aos/1013699998.

    Examples
    --------
    >>> benjamini_yekutieli([0.01, 0.04, 0.03]).round(4).tolist()
    [0.055, 0.0733, 0.0733]
    """
    p = _checked(p_values)
    return _step_up(p, float((1.0 / np.arange(1, p.size + 1)).sum()))


def _checked(p_values: ArrayLike) -> FloatArray:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise InputError(f"p-values have {p.ndim} dimensions; give a flat list")
    wrong = ~((p >= 0.0) & (p <= 1.0))
    if wrong.any():
        where = int(np.flatnonzero(wrong)[0])
        raise InputError(f"p-value {where} is {p[where]:g}; give numbers from 0 to 1, and leave out tests not made")
    return p


def _step_up(p: FloatArray, factor: float) -> FloatArray:
    order = np.argsort(p, kind="stable")
    ranks = np.arange(1, p.size + 1)
    scaled = p[order] * (factor * p.size) / ranks
    return _restored(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _restored(stepped: FloatArray, order: np.ndarray) -> FloatArray:
    adjusted = np.empty_like(stepped)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
