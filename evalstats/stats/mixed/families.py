"""Estimates that are read together: one joint test, p-values adjusted for their family, and intervals that hold together."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.estimate import positive_p
from evalstats.stats.many.max_t import MaxLaw, range_critical, range_p
from evalstats.stats.many.multiplicity import holm
from evalstats.stats.mixed.contrasts import LinearEstimates, as_linear, not_estimable, quantile

Adjustment = Literal["none", "holm", "tukey", "max-t"]

_DEGREE = 8

_INTERVALS: dict[str, str] = {
    "none": "each interval holds on its own",
    "holm": "Bonferroni intervals, which hold together; Holm's p can be small where such an interval still contains 0",
    "tukey": "Tukey-Kramer intervals, which hold together",
    "max-t": "intervals from the largest |t| of the family, which hold together",
}
_RANK = 1e-10  # an eigenvalue of the correlation below this share of the largest is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyEstimates:
    """Adjusted p-values and intervals, one entry for each estimate; null (NaN) where the estimate's own are.

    Attributes
    ----------
    p_adjusted, conf_low, conf_high
        float64, shape (n_estimates,).
    family_size
        int64, shape (n_estimates,): estimates adjusted for together; those that are null are not among them.
    method, intervals
        How p was adjusted, and what the intervals are, in words.
    p_error
        Largest numerical standard error of a p; 0 where they are exact.
    seed
        Of the numerical integration; None where there is none.
    """

    p_adjusted: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    conf_level: float
    family_size: IntArray
    method: Adjustment
    intervals: str
    p_error: float = 0.0
    seed: int | None = None
    warnings: tuple[str, ...] = ()


def adjusted(
    estimates: LinearEstimates,
    method: Adjustment = "holm",
    *,
    family: Sequence[str] | None = None,
    n_means: int | None = None,
    conf_level: float | None = None,
    seed: int = 0,
) -> FamilyEstimates:
    """Adjust tests and intervals within families.

    Parameters
    ----------
    method
        "holm": valid under any dependence. "tukey": all pairwise differences of means, exact where the means have equal
        variances and equal covariances, nearly so elsewhere (Tukey-Kramer). "max-t": single-step, from the estimates'
        correlation; never less powerful than Bonferroni. "none": p and intervals as they are.
    family
        A label for each estimate; None for one family.
    n_means
        Means that are compared, for "tukey"; by default found from the number of differences.
    conf_level
        Level of the intervals together; that of the estimates by default.
    seed
        Of the numerical integration of "max-t".

    Notes
    -----
    Where degrees of freedom differ within a family, "tukey" and "max-t" use each estimate's own, as emmeans does.

    References
    ----------
    Holm 1979, Scandinavian Journal of Statistics 6:65; Kramer 1956, doi:10.2307/3001469; Hothorn, Bretz & Westfall 2008,
    doi:10.1002/bimj.200810425; Lenth, emmeans.

    Examples
    --------
    >>> from evalstats.stats.mixed.contrasts import linear_estimates, pairwise
    >>> contrasts = pairwise(["a", "b", "c"])
    >>> found = linear_estimates(contrasts.weights, [0.9, 0.7, 0.6], 0.005 * np.eye(3))
    >>> adjusted(found, "tukey").p_adjusted.round(4).tolist()
    [0.1122, 0.0076, 0.5768]
    """
    if method not in _INTERVALS:
        raise InputError(f"adjustment is {method!r}; use one of {', '.join(_INTERVALS)}")
    n = len(estimates.names)
    labels = [""] * n if family is None else list(family)
    if len(labels) != n:
        raise InputError(f"{len(labels)} family labels for {n} estimates; give one each")
    level = estimates.conf_level if conf_level is None else check_level(conf_level)
    tested: NDArray[np.bool_] = np.isfinite(estimates.p_value)
    p, critical, size = np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, dtype=np.int64)
    error, notes = 0.0, list[str]()
    for label in dict.fromkeys(labels):
        inside = np.array([each == label for each in labels])
        members = np.flatnonzero(inside & tested)
        left_out = int(np.count_nonzero(inside)) - members.size
        if left_out:
            of = f" of family {label}" if label else ""
            notes.append(f"{left_out} of {int(np.count_nonzero(inside))} estimates{of} are null and not adjusted for")
        if members.size:
            size[members] = members.size
            means = n_means if n_means is not None or method != "tukey" else _n_means(int(np.count_nonzero(inside)))
            p[members], critical[members], wrong = _one_family(
                estimates, members, method, level=level, n_means=means, seed=seed
            )
            error = max(error, wrong)
    half = critical * estimates.std_error
    low, high = estimates.estimate - half, estimates.estimate + half
    if method == "holm":
        apart = np.flatnonzero((p <= 1.0 - level) & (low <= 0.0) & (high >= 0.0))
        if apart.size:
            names = ", ".join(estimates.names[i] for i in apart)
            notes.append(f"Holm's p is at most {1.0 - level:g} but the Bonferroni interval contains 0: {names}")
    return FamilyEstimates(
        p_adjusted=p,
        conf_low=low,
        conf_high=high,
        conf_level=level,
        family_size=size,
        method=method,
        intervals=_INTERVALS[method],
        p_error=error,
        seed=seed if method == "max-t" else None,
        warnings=tuple(notes),
    )


def _one_family(
    estimates: LinearEstimates, members: IntArray, method: Adjustment, *, level: float, n_means: int | None, seed: int
) -> tuple[FloatArray, FloatArray, float]:
    """Return adjusted p, the critical |t| of every member, and the largest numerical error of a p."""
    df, t, raw = estimates.df[members], estimates.statistic[members], estimates.p_value[members]
    if method in {"none", "holm"}:
        m = 1 if method == "none" else members.size
        return raw if method == "none" else holm(raw), quantile((1.0 - level) / m, df), 0.0
    if method == "tukey":
        k = n_means or 2
        p = np.array([range_p(math.sqrt(2.0) * abs(a), k, b) for a, b in zip(t.tolist(), df.tolist(), strict=True)])
        return np.maximum(p, raw), _for_each_df(df, lambda b: range_critical(level, k, b) / math.sqrt(2.0)), 0.0
    law = MaxLaw(_correlation(estimates, members), seed=seed)
    found = [law.p(a, b) for a, b in zip(t.tolist(), df.tolist(), strict=True)]
    critical = _for_each_df(df, lambda b: law.critical(level, b)[0])
    return np.array([p for p, _ in found]), critical, max(error for _, error in found)


def _for_each_df(df: FloatArray, critical: Callable[[float], float]) -> FloatArray:
    """Return the critical value of every df; where many differ, by interpolation, as it is smooth in 1/df."""
    free, of = np.unique(df, return_inverse=True)
    finite = free[np.isfinite(free)]
    if finite.size <= 2 * _DEGREE:
        return np.array([critical(each) for each in free.tolist()])[of]
    low, high = 1.0 / float(finite[-1]), 1.0 / float(finite[0])

    nodes = np.cos(math.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    at = 2.0 / (low + high + (high - low) * nodes)
    known = np.array([math.log(critical(each)) for each in at.tolist()])
    curve = np.polynomial.Chebyshev.fit(nodes, known, _DEGREE, domain=[-1.0, 1.0])
    place = np.asarray((2.0 / finite - low - high) / (high - low), dtype=np.float64)
    values = np.exp(np.asarray(curve(place), dtype=np.float64))
    if finite.size < free.size:
        values = np.append(values, critical(math.inf))
    return np.asarray(values, dtype=np.float64)[of]


def _correlation(estimates: LinearEstimates, members: IntArray) -> FloatArray:
    together = estimates.covariance[np.ix_(members, members)]
    scale = np.sqrt(np.diagonal(together))
    correlation = together / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _n_means(n_differences: int) -> int:
    k = round(0.5 * (1.0 + math.sqrt(1.0 + 8.0 * n_differences)))
    if k * (k - 1) // 2 != n_differences:
        raise InputError(
            f"Tukey's law is that of all pairwise differences; {n_differences} are not all of any number of means: "
            "use max-t or holm, or give n_means"
        )
    return k


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
