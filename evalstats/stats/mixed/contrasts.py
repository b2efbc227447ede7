"""Linear combinations of fixed effects: each on its own, adjusted within families, and all of them tested together.

MeanContrasts of means are weights over them. Holm 1979, Scandinavian Journal of Statistics 6:65; Kramer 1956,
doi:10.2307/3001469; Hothorn, Bretz & Westfall 2008, doi:10.1002/bimj.200810425; Wald 1943,
doi:10.1090/S0002-9947-1943-0012401-3; Lenth, emmeans.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.estimate import SMALLEST_P, positive_p
from evalstats.stats.many.max_t import MaxLaw, range_critical, range_p
from evalstats.stats.many.multiplicity import holm

Adjustment = Literal["none", "holm", "tukey", "max-t"]

_ROUNDING = 1e-10  # relative: a variance this small against its terms is rounding, and so is a sum of weights
_RANK_TOLERANCE = 1e-10  # an eigenvalue of the correlation below this share of the largest is rounding
_DEGREE = 8


@record
class LinearEstimates:
    """Estimates of several linear combinations, one entry each; null is NaN here and `reasons` says why.

    All arrays have shape (n_estimates,), but for `covariance`, that of the estimates together. `df` is infinite where the
    normal law is used; `p_value` is two-sided, of "it is 0", and never 0. Each interval holds on its own.
    """

    names: tuple[str, ...]
    estimate: FloatArray
    std_error: FloatArray
    df: FloatArray
    statistic: FloatArray
    p_value: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    conf_level: float
    covariance: FloatArray
    reasons: tuple[str | None, ...]


@record
class MeanContrasts:
    """Weights over means, shape (n_contrasts, n_means), each row adding up to 0.

    `family` names for each contrast the family within which p-values are adjusted; "" for one family.
    """

    names: tuple[str, ...]
    weights: FloatArray
    family: tuple[str, ...]


def linear_estimates(
    L: ArrayLike,  # noqa: N803 - the letter of the literature
    beta: ArrayLike,
    covariance: ArrayLike,
    *,
    df: float | ArrayLike | None = None,
    conf_level: float = 0.95,
    names: Sequence[str] | None = None,
    null_basis: FloatArray | None = None,
) -> LinearEstimates:
    """Estimates L beta with standard errors, tests and intervals, each on its own: estimate +- q std_error, q a quantile of t.

    For several that are read together, use `adjusted`. An estimate with a standard error of 0 or no degrees of freedom has
    neither interval nor p. InputError where numbers are not finite, or a covariance gives a negative variance.

    `L` has shape (n_estimates, n_fixed); beta and its covariance come from any estimator: the model's, or a cluster-robust one.
    `df` are None for the normal law, a number, or one number a row. `null_basis`, shape (n_fixed, n_missing), are directions of
    the coefficients that the data say nothing about: rows of L that touch one are null.

    >>> found = linear_estimates([[1, 0], [0, 1], [-1, 1]], [2.0, 3.0], [[0.04, 0.0], [0.0, 0.05]], df=20)
    >>> found.estimate.tolist(), found.std_error.round(3).tolist(), round(float(found.p_value[2]), 4)
    ([2.0, 3.0, 1.0], [0.2, 0.224, 0.3], 0.0033)
    """
    level = check_level(conf_level)
    rows, b, v = as_linear(L, beta, covariance)
    n = len(rows)
    labels = tuple(f"row {i}" for i in range(n)) if names is None else tuple(names)
    estimate, together = rows @ b, rows @ v @ rows.T
    variance, terms = np.diagonal(together).copy(), np.square(np.abs(rows) @ np.sqrt(np.diagonal(v)))
    wrong = -variance > _ROUNDING * terms
    if wrong.any():
        raise InputError(f"the variance of {labels[int(np.argmax(wrong))]} is negative; covariance must be one")
    lost = np.zeros(n, dtype=np.bool_)
    if null_basis is not None:  # rows that are no combinations of the rows of the design
        size = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
        lost = (np.abs(rows @ null_basis) > 1e-8 * size[:, np.newaxis]).any(axis=1)
    free = np.broadcast_to(np.asarray(np.inf if df is None else df, dtype=np.float64), (n,))
    why: list[str | None] = [None] * n
    for i in range(n):
        if lost[i]:
            why[i] = "not estimable: the data hold nothing about some cell or combination it needs"
        elif variance[i] <= _ROUNDING * terms[i]:
            why[i] = "its standard error is 0: it is not uncertain in this model, or nothing is compared"
        elif not free[i] > 0.0:
            why[i] = f"it has {free[i]:g} degrees of freedom; more independent units are needed"
    estimate = np.where(lost, np.nan, estimate)
    open_ = np.array([reason is None for reason in why])
    std_error = np.sqrt(np.where(~lost & (variance > _ROUNDING * terms), variance, np.nan))
    free = np.where(open_, free, np.nan)
    statistic = np.where(open_, estimate / std_error, np.nan)
    half = _quantile(1.0 - level, free) * std_error
    below, normal = -np.abs(statistic), np.isinf(free)
    tail = np.where(normal, special.ndtr(below), special.stdtr(np.where(normal, 1.0, free), below))
    return LinearEstimates(
        names=labels,
        estimate=estimate,
        std_error=std_error,
        df=free,
        statistic=statistic,
        p_value=np.maximum(2.0 * tail, SMALLEST_P),
        conf_low=np.where(open_, estimate - half, np.nan),
        conf_high=np.where(open_, estimate + half, np.nan),
        conf_level=level,
        covariance=together,
        reasons=tuple(why),
    )


def as_linear(
    L: ArrayLike,  # noqa: N803
    beta: ArrayLike,
    covariance: ArrayLike,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return L (in rows), beta and the covariance, symmetric, as finite float64 arrays."""
    rows, b = np.atleast_2d(np.asarray(L, dtype=np.float64)), np.asarray(beta, dtype=np.float64)
    v = np.asarray(covariance, dtype=np.float64)
    for what, array in (("L", rows), ("beta", b), ("covariance", v)):
        if not np.isfinite(array).all():
            raise InputError(f"{what} holds NaN or infinite numbers; leave out what was not estimated")
    return rows, b, 0.5 * (v + v.T)


def _quantile(beyond: float, df: FloatArray) -> FloatArray:
    """Return q with P(|T| > q) = `beyond`, entry by entry."""
    tail = 0.5 * beyond
    return -np.where(np.isinf(df), special.ndtri(tail), special.stdtrit(np.where(np.isinf(df), 1.0, df), tail))


def pairwise(means: Sequence[str]) -> MeanContrasts:
    """Every mean minus every later one."""
    eye = _eye(means)
    pairs = list(combinations(range(len(means)), 2))
    return _contrasts([f"{means[i]} - {means[j]}" for i, j in pairs], [eye[i] - eye[j] for i, j in pairs])


def against(means: Sequence[str], reference: str) -> MeanContrasts:
    """Every other mean minus the reference, such as each non-ideal behaviour minus the ideal one."""
    if reference not in means:
        raise InputError(f"reference {reference!r} is not one of {', '.join(means)}")
    eye, at = _eye(means), list(means).index(reference)
    others = [i for i in range(len(means)) if i != at]
    return _contrasts([f"{means[i]} - {reference}" for i in others], [eye[i] - eye[at] for i in others])


def against_mean(means: Sequence[str]) -> MeanContrasts:
    """Every mean minus the plain mean of all."""
    return _contrasts([f"{name} - mean" for name in means], list(_eye(means) - 1.0 / len(means)))


def custom(means: Sequence[str], weights: Mapping[str, Mapping[str, float]]) -> MeanContrasts:
    """MeanContrasts of the user's own: for each name, what each mean is multiplied by; means not named get 0."""
    eye, place = _eye(means), {name: i for i, name in enumerate(means)}
    rows: list[FloatArray] = []
    for name, given in weights.items():
        unknown = [level for level in given if level not in place]
        if unknown:
            raise InputError(f"contrast {name!r} names {unknown[0]!r}, which is not one of {', '.join(means)}")
        row = sum((float(weight) * eye[place[level]] for level, weight in given.items()), np.zeros(len(means)))
        total, size = float(row.sum()), float(np.abs(row).sum())
        if not size > 0.0 or abs(total) > _ROUNDING * size:
            raise InputError(
                f"weights of contrast {name!r} add up to {total:g}; they must differ from 0 and add up to 0"
            )
        rows.append(row)
    if not rows:
        raise InputError("no contrast was given; name at least one")
    return _contrasts(list(weights), rows)


def within_each(groups: Sequence[str], contrasts: MeanContrasts) -> MeanContrasts:
    """Repeat contrasts within each group, a family of its own; the means are those of the grid, groups slowest."""
    return MeanContrasts(
        names=tuple(f"{group}: {name}" for group in groups for name in contrasts.names),
        weights=np.asarray(np.kron(np.eye(len(groups)), contrasts.weights), dtype=np.float64),
        family=tuple(group for group in groups for _ in contrasts.names),
    )


def _eye(means: Sequence[str]) -> FloatArray:
    if len(means) < 2 or len(set(means)) < len(means):
        raise InputError(f"means are {', '.join(means) or 'empty'}; at least 2 with different names can be compared")
    return np.eye(len(means))


def _contrasts(names: Sequence[str], rows: Sequence[FloatArray]) -> MeanContrasts:
    return MeanContrasts(names=tuple(names), weights=np.array(rows) + 0.0, family=("",) * len(names))


@record
class FamilyEstimates:
    """Adjusted p-values and intervals, one entry for each estimate; NaN where the estimate's own are."""

    p_adjusted: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    warnings: tuple[str, ...] = ()


def adjusted(
    estimates: LinearEstimates, method: Adjustment = "holm", *, family: Sequence[str] | None = None
) -> FamilyEstimates:
    """Adjust tests and intervals within families (None: all are one); intervals are at the level of the estimates.

    "holm": valid under any dependence, with Bonferroni intervals, which may contain 0 where Holm's p is small. "tukey": all
    pairwise differences of means, exact where the means have equal variances and equal covariances, nearly so elsewhere
    (Tukey-Kramer). "max-t": single-step, from the estimates' correlation; never less powerful than Bonferroni. "none": p and
    intervals as they are. Null estimates are not adjusted for, which a warning says. Where degrees of freedom differ within
    a family, "tukey" and "max-t" use each estimate's own, as emmeans does.

    >>> contrasts = pairwise(["a", "b", "c"])
    >>> found = linear_estimates(contrasts.weights, [0.9, 0.7, 0.6], 0.005 * np.eye(3))
    >>> adjusted(found, "tukey").p_adjusted.round(4).tolist()
    [0.1122, 0.0076, 0.5768]
    """
    if method not in ("none", "holm", "tukey", "max-t"):
        raise InputError(f"adjustment is {method!r}; use one of none, holm, tukey, max-t")
    n = len(estimates.names)
    labels = [""] * n if family is None else list(family)
    level = estimates.conf_level
    tested: NDArray[np.bool_] = np.isfinite(estimates.p_value)
    p, critical = np.full(n, np.nan), np.full(n, np.nan)
    notes: list[str] = []
    for label in dict.fromkeys(labels):
        inside = np.array([each == label for each in labels])
        members, size = np.flatnonzero(inside & tested), int(np.count_nonzero(inside))
        if members.size < size:
            of = f" of family {label}" if label else ""
            notes.append(f"{size - members.size} of {size} estimates{of} are null and not adjusted for")
        if members.size:
            p[members], critical[members] = _one_family(estimates, members, method, n_differences=size)
    half = critical * estimates.std_error
    low, high = estimates.estimate - half, estimates.estimate + half
    if method == "holm":
        apart = np.flatnonzero((p <= 1.0 - level) & (low <= 0.0) & (high >= 0.0))
        if apart.size:
            names = ", ".join(estimates.names[i] for i in apart)
            notes.append(f"Holm's p is at most {1.0 - level:g} but the Bonferroni interval contains 0: {names}")
    return FamilyEstimates(p_adjusted=p, conf_low=low, conf_high=high, warnings=tuple(notes))


def _one_family(
    estimates: LinearEstimates, members: IntArray, method: Adjustment, *, n_differences: int
) -> tuple[FloatArray, FloatArray]:
    """Return adjusted p and the critical |t| of every member."""
    level = estimates.conf_level
    df, t, raw = estimates.df[members], estimates.statistic[members], estimates.p_value[members]
    if method in {"none", "holm"}:
        m = 1 if method == "none" else members.size
        return raw if method == "none" else holm(raw), _quantile((1.0 - level) / m, df)
    if method == "tukey":
        k = round(0.5 * (1.0 + math.sqrt(1.0 + 8.0 * n_differences)))
        if k * (k - 1) // 2 != n_differences:
            raise InputError(
                f"Tukey's law is that of all pairwise differences; {n_differences} are not all of any number of means: "
                "use max-t or holm"
            )
        p = np.array([range_p(math.sqrt(2.0) * abs(a), k, b) for a, b in zip(t.tolist(), df.tolist(), strict=True)])
        return np.maximum(p, raw), _for_each_df(df, lambda b: range_critical(level, k, b) / math.sqrt(2.0))
    together = estimates.covariance[np.ix_(members, members)]
    scale = np.sqrt(np.diagonal(together))
    correlation = together / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)
    law = MaxLaw(correlation)
    p = np.array([law.p(a, b)[0] for a, b in zip(t.tolist(), df.tolist(), strict=True)])
    return p, _for_each_df(df, lambda b: law.critical(level, b)[0])


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


@record
class JointTest:
    """A Wald test that all rows of L beta are 0; where there is none, `statistic` is None and `reason` says why.

    `statistic` is F where there are denominator degrees of freedom (`df_denominator`), else chi-squared; `df` the number of
    hypotheses that are not combinations of the others; `p_value` never 0.
    """

    statistic: float | None
    df: int
    df_denominator: float | None
    p_value: float | None
    method: str
    reason: str | None


def joint_test(
    L: ArrayLike,  # noqa: N803 - the letter of the literature
    beta: ArrayLike,
    covariance: ArrayLike,
    *,
    df: float | None = None,
) -> JointTest:
    """Test L beta = 0, all rows together: an interaction before any contrast within it.

    chi2 = (L b)' (L V L')^- (L b) with df the rank of L V L', and F = chi2/df where `df`, the denominator degrees of freedom,
    is given; rows may repeat one another. The chi-squared law is for many independent units.

    >>> found = joint_test(np.eye(2), [0.6, -0.2], 0.04 * np.eye(2), df=20)
    >>> round(found.statistic, 3), found.df, round(found.p_value, 4)
    (5.0, 2, 0.0173)
    """
    rows, b, v = as_linear(L, beta, covariance)
    free = None if df is None or math.isinf(df) else float(df)
    method = "Wald chi-squared test" if free is None else "Wald F test"

    def none(hypotheses: int, reason: str) -> JointTest:
        return JointTest(statistic=None, df=hypotheses, df_denominator=free, p_value=None, method=method, reason=reason)

    hypotheses = int(np.linalg.matrix_rank(rows)) if rows.size else 0
    if hypotheses == 0:
        return none(0, "no hypothesis is left that the data can test")
    # Rows of one length, so that which eigenvalues count as 0 hangs on no unit.
    estimate, together = rows @ b, rows @ v @ rows.T
    scale = np.sqrt(np.maximum(np.diagonal(together), 0.0))
    if not (scale > 0.0).any():
        return none(hypotheses, "the estimates tested have a standard error of 0")
    scale = np.where(scale > 0.0, scale, float(scale.max()))
    values, vectors = np.linalg.eigh(together / np.outer(scale, scale))
    kept = values > _RANK_TOLERANCE * values[-1]
    rank = int(kept.sum())
    along = vectors.T @ (estimate / scale)
    if rank < hypotheses and (np.abs(along[~kept]) > 1e-6 * max(1.0, float(np.abs(along).max()))).any():
        return none(
            hypotheses, f"the covariance has rank {rank} for {hypotheses} hypotheses, and what it leaves out is not 0"
        )
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
    )
