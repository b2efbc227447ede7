"""One test of several linear hypotheses together, such as an interaction."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray
from evalstats.stats.mixed.contrasts import as_linear, not_estimable
from evalstats.stats.tails import positive_p

_RANK = 1e-10  # an eigenvalue of the correlation below this share of the largest is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class JointTest:
    """A Wald test that all rows of L beta are 0.

    Attributes
    ----------
    statistic
        F where there are denominator degrees of freedom, else chi-squared; None where nothing can be tested.
    df
        Numerator: hypotheses that are not combinations of the others.
    df_denominator
        None for chi-squared.
    p_value
        Never 0.
    reason
        Why there is no test.
    """

    statistic: float | None
    df: int
    df_denominator: float | None
    p_value: float | None
    method: str
    reason: str | None
    warnings: tuple[str, ...] = ()


def joint_test(
    L: ArrayLike,  # noqa: N803 - the letter of the literature
    beta: ArrayLike,
    covariance: ArrayLike,
    *,
    df: float | None = None,
    null_basis: FloatArray | None = None,
) -> JointTest:
    """Test L beta = 0, all rows together: an interaction before any contrast within it.

    Parameters
    ----------
    L
        float64, shape (n_hypotheses, n_fixed); rows may repeat one another.
    df
        Denominator degrees of freedom (Kenward-Roger's, with its covariance and scale; Satterthwaite's); None for the
        chi-squared law, which is for many independent units.
    null_basis
        As in `contrasts.linear_estimates`: rows that cannot be estimated are left out, which a warning says.

    Notes
    -----
    chi2 = (L b)' (L V L')^- (L b) with df the rank of L V L', and F = chi2/df.

    References
    ----------
    Wald 1943, doi:10.1090/S0002-9947-1943-0012401-3.

    Examples
    --------
    >>> found = joint_test(np.eye(2), [0.6, -0.2], 0.04 * np.eye(2), df=20)
    >>> round(found.statistic, 3), found.df, round(found.p_value, 4)
    (5.0, 2, 0.0173)
    """
    rows, b, v = as_linear(L, beta, covariance)
    if df is not None and not df > 0.0:
        raise InputError(f"df is {df:g}; denominator degrees of freedom must be above 0")
    free = None if df is None or math.isinf(df) else float(df)
    method = "Wald chi-squared test" if free is None else "Wald F test"
    warnings: list[str] = []
    if null_basis is not None:
        lost = not_estimable(rows, null_basis)
        if lost.any():
            warnings.append(f"{int(lost.sum())} of {len(rows)} hypotheses cannot be estimated and are left out")
        rows = rows[~lost]
    hypotheses = int(np.linalg.matrix_rank(rows)) if rows.size else 0
    if hypotheses == 0:
        why = "no hypothesis is left that the data can test"
        return _none(0, free, method, why, warnings)
    # Rows of one length, so that which eigenvalues count as 0 hangs on no unit.
    estimate, together = rows @ b, rows @ v @ rows.T
    scale = np.sqrt(np.maximum(np.diagonal(together), 0.0))
    if not (scale > 0.0).any():
        return _none(hypotheses, free, method, "the estimates tested have a standard error of 0", warnings)
    scale = np.where(scale > 0.0, scale, float(scale.max()))
    values, vectors = np.linalg.eigh(together / np.outer(scale, scale))
    kept = values > _RANK * values[-1]
    rank = int(kept.sum())
    along = vectors.T @ (estimate / scale)
    if rank < hypotheses:
        if (np.abs(along[~kept]) > 1e-6 * max(1.0, float(np.abs(along).max()))).any():
            why = f"the covariance has rank {rank} for {hypotheses} hypotheses, and what it leaves out is not 0"
            return _none(hypotheses, free, method, why, warnings)
        warnings.append(f"the covariance has rank {rank} for {hypotheses} hypotheses; {rank} are tested")
    chi2 = float((np.square(along[kept]) / values[kept]).sum())
    p = (
        float(special.gammaincc(0.5 * rank, 0.5 * chi2))
        if free is None
        else float(special.betainc(0.5 * free, 0.5 * rank, free / (free + chi2)))
    )
    return JointTest(
        statistic=chi2 if free is None else chi2 / rank,
        df=rank,
        df_denominator=free,
        p_value=positive_p(p),
        method=method,
        reason=None,
        warnings=tuple(warnings),
    )


def _none(df: int, denominator: float | None, method: str, reason: str, warnings: list[str]) -> JointTest:
    return JointTest(
        statistic=None,
        df=df,
        df_denominator=denominator,
        p_value=None,
        method=method,
        reason=reason,
        warnings=tuple(warnings),
    )
