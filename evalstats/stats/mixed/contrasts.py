"""Linear combinations of fixed effects with their uncertainty, and the usual contrasts of means as weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.estimate import SMALLEST_P

RowDf = Callable[[FloatArray], float]

_ROUNDING = 1e-10  # relative: a variance this small against its terms is rounding, and so is a sum of weights


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearEstimates:
    """Estimates of several linear combinations, one entry each; null is NaN here and `reasons` says why.

    Attributes
    ----------
    names
        What each is.
    estimate, std_error, statistic, df, p_value, conf_low, conf_high
        float64, shape (n_estimates,). `df` is infinite where the normal law is used; `p_value` is two-sided, of "it is 0",
        and never 0. Each interval holds on its own.
    covariance
        Of the estimates together, shape (n_estimates, n_estimates).
    reasons
        Why an entry is null; None where it is not.
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
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrasts:
    """Weights over means, each row adding up to 0.

    Attributes
    ----------
    names
        Names of the contrasts.
    means
        Names of the means, in the order of the columns.
    weights
        float64, shape (n_contrasts, n_means).
    family
        Family of each contrast, within which p-values are adjusted; "" for one family.
    """

    names: tuple[str, ...]
    means: tuple[str, ...]
    weights: FloatArray
    family: tuple[str, ...]


def linear_estimates(
    L: ArrayLike,  # noqa: N803 - the letter of the literature
    beta: ArrayLike,
    covariance: ArrayLike,
    *,
    df: float | ArrayLike | RowDf | None = None,
    conf_level: float = 0.95,
    names: Sequence[str] | None = None,
    null_basis: FloatArray | None = None,
    reasons: Sequence[str | None] | None = None,
) -> LinearEstimates:
    """Estimates L beta with standard errors, tests and intervals, each on its own.

    For several that are read together, adjust with `families.adjusted`.

    Parameters
    ----------
    L
        float64, shape (n_estimates, n_fixed).
    beta, covariance
        Fixed effects and their covariance, shapes (n_fixed,) and (n_fixed, n_fixed), from any estimator: the model's, or a
        cluster-robust one.
    df
        Degrees of freedom: None for the normal law, a number, one number a row, or a function of a row of L
        (Satterthwaite, Kenward-Roger).
    null_basis
        Directions of the coefficients that the data say nothing about (`means.null_basis`), shape (n_fixed, n_missing).
        Rows of L that touch one are null.
    reasons
        Rows that are null from the start (`means.MarginalMeans.reasons`), which may then hold NaN.

    Returns
    -------
    LinearEstimates
        estimate +- q std_error with q the quantile of t. An estimate with a standard error of 0 or no degrees of freedom
        has neither interval nor p.

    Raises
    ------
    InputError
        Shapes that do not fit, numbers that are not finite, or a covariance that gives a negative variance.

    Examples
    --------
    >>> found = linear_estimates([[1, 0], [0, 1], [-1, 1]], [2.0, 3.0], [[0.04, 0.0], [0.0, 0.05]], df=20)
    >>> found.estimate.tolist(), found.std_error.round(3).tolist(), round(float(found.p_value[2]), 4)
    ([2.0, 3.0, 1.0], [0.2, 0.224, 0.3], 0.0033)
    """
    level = check_level(conf_level)
    given, why = _null_rows(L, reasons)
    rows, b, v = as_linear(given, beta, covariance)
    labels = _labels(names, len(rows))
    estimate, together = rows @ b, rows @ v @ rows.T
    variance, terms = np.diagonal(together).copy(), np.square(np.abs(rows) @ np.sqrt(np.diagonal(v)))
    wrong = variance < -_ROUNDING * terms
    if wrong.any():
        raise InputError(f"the variance of {labels[int(np.argmax(wrong))]} is negative; covariance must be one")
    lost = np.array([reason is not None for reason in why])
    free = np.full(len(rows), np.nan)
    free[~lost] = _degrees_of_freedom(df, rows, ~lost)
    if null_basis is not None:
        lost |= not_estimable(rows, null_basis)
    for i in range(len(rows)):
        if why[i] is not None:
            continue
        if lost[i]:
            why[i] = "not estimable: the data hold nothing about some cell or combination it needs"
        elif variance[i] <= _ROUNDING * terms[i]:
            why[i] = "its standard error is 0: it is not uncertain in this model, or nothing is compared"
        elif not free[i] > 0.0:
            why[i] = f"it has {free[i]:g} degrees of freedom; more independent units are needed"
    estimate = np.where(lost, np.nan, estimate)
    open_ = np.array([reason is None for reason in why])
    std_error = np.where(open_ | (~lost & (variance > _ROUNDING * terms)), np.sqrt(np.maximum(variance, 0.0)), np.nan)
    std_error = np.where(std_error > 0.0, std_error, np.nan)
    free = np.where(open_, free, np.nan)
    statistic = np.where(open_, estimate / std_error, np.nan)
    half = quantile(1.0 - level, free) * std_error
    return LinearEstimates(
        names=labels,
        estimate=estimate,
        std_error=std_error,
        df=free,
        statistic=statistic,
        p_value=two_sided_p(statistic, free),
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
    """Return L, beta and the covariance as float64 arrays that fit each other and are finite."""
    rows, b = np.atleast_2d(np.asarray(L, dtype=np.float64)), np.asarray(beta, dtype=np.float64)
    v = np.asarray(covariance, dtype=np.float64)
    if b.ndim != 1 or rows.ndim != 2 or rows.shape[1] != b.size or v.shape != (b.size, b.size):
        raise InputError(
            f"L has shape {rows.shape}, beta {b.shape} and covariance {v.shape}; expected (n, p), (p,) and (p, p)"
        )
    for what, array in (("L", rows), ("beta", b), ("covariance", v)):
        if not np.isfinite(array).all():
            raise InputError(f"{what} holds NaN or infinite numbers; leave out what was not estimated")
    if not np.allclose(v, v.T, rtol=1e-8, atol=1e-10 * float(np.abs(v).max(initial=0.0))):
        raise InputError("covariance is not symmetric; give the covariance matrix of beta")
    return rows, b, 0.5 * (v + v.T)


def not_estimable(rows: FloatArray, null_basis: FloatArray) -> np.ndarray:
    """Return which rows are not combinations of the rows of the design, given a basis of its null space."""
    if null_basis.shape[0] != rows.shape[1]:
        raise InputError(f"null_basis has {null_basis.shape[0]} rows; expected {rows.shape[1]}, one a coefficient")
    size = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    return (np.abs(rows @ null_basis) > 1e-8 * size[:, np.newaxis]).any(axis=1)


def two_sided_p(statistic: FloatArray, df: FloatArray) -> FloatArray:
    """Return P(|T| >= |t|) entry by entry, in (0, 1]; NaN stays NaN."""
    normal = 2.0 * special.ndtr(-np.abs(statistic))
    student = 2.0 * special.stdtr(np.where(np.isinf(df), 1.0, df), -np.abs(statistic))
    return np.clip(np.where(np.isinf(df), normal, student), SMALLEST_P, 1.0)


def quantile(beyond: float | FloatArray, df: FloatArray) -> FloatArray:
    """Return q with P(|T| > q) = `beyond`, entry by entry."""
    student = -special.stdtrit(np.where(np.isinf(df), 1.0, df), 0.5 * np.asarray(beyond))
    return np.where(np.isinf(df), -special.ndtri(0.5 * np.asarray(beyond)), student)


def pairwise(means: Sequence[str]) -> Contrasts:
    """Every mean minus every later one.

    Examples
    --------
    >>> pairwise(["a", "b", "c"]).names
    ('a - b', 'a - c', 'b - c')
    """
    eye = _eye(means)
    pairs = list(combinations(range(len(means)), 2))
    return _contrasts([f"{means[i]} - {means[j]}" for i, j in pairs], means, [eye[i] - eye[j] for i, j in pairs])


def against(means: Sequence[str], reference: str) -> Contrasts:
    """Every other mean minus the reference, such as each non-ideal behaviour minus the ideal one.

    Examples
    --------
    >>> found = against(["ideal", "vague", "rude"], "ideal")
    >>> found.names, found.weights.tolist()
    (('vague - ideal', 'rude - ideal'), [[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    """
    if reference not in means:
        raise InputError(f"reference {reference!r} is not one of {', '.join(means)}")
    eye, at = _eye(means), list(means).index(reference)
    others = [i for i in range(len(means)) if i != at]
    return _contrasts([f"{means[i]} - {reference}" for i in others], means, [eye[i] - eye[at] for i in others])


def against_mean(means: Sequence[str], *, of_others: bool = False) -> Contrasts:
    """Every mean minus the plain mean of all, or `of_others`.

    Examples
    --------
    >>> against_mean(["a", "b"], of_others=True).weights.tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    eye, k = _eye(means), len(means)
    scale = k / (k - 1.0) if of_others else 1.0
    what = "mean of the others" if of_others else "mean"
    return _contrasts([f"{name} - {what}" for name in means], means, list(scale * (eye - 1.0 / k)))


def custom(means: Sequence[str], weights: Mapping[str, Mapping[str, float]]) -> Contrasts:
    """Contrasts of the user's own: for each name, what each mean is multiplied by; means not named get 0.

    Examples
    --------
    >>> custom(["a", "b", "c"], {"a against the rest": {"a": 1, "b": -0.5, "c": -0.5}}).weights.tolist()
    [[1.0, -0.5, -0.5]]
    """
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
    return _contrasts(list(weights), means, rows)


def interaction(first: Contrasts, second: Contrasts) -> Contrasts:
    """Differences of differences: every contrast of one factor in every contrast of another.

    The means are those of the grid of both factors, the second one running fastest.

    Examples
    --------
    >>> found = interaction(pairwise(["A", "B"]), against(["ideal", "rude"], "ideal"))
    >>> found.names, found.weights.tolist()
    (('(A - B) in (rude - ideal)',), [[-1.0, 1.0, 1.0, -1.0]])
    """
    return _contrasts(
        [f"({a}) in ({b})" for a in first.names for b in second.names],
        [f"{a}, {b}" for a in first.means for b in second.means],
        list(np.kron(first.weights, second.weights)),
    )


def within_each(groups: Sequence[str], contrasts: Contrasts) -> Contrasts:
    """Repeat contrasts within each group, each group a family of its own.

    The means are those of the grid, groups slowest.

    Examples
    --------
    >>> found = within_each(["A", "B"], against(["ideal", "rude"], "ideal"))
    >>> found.names, found.family
    (('A: rude - ideal', 'B: rude - ideal'), ('A', 'B'))
    """
    return Contrasts(
        names=tuple(f"{group}: {name}" for group in groups for name in contrasts.names),
        means=tuple(f"{group}, {mean}" for group in groups for mean in contrasts.means),
        weights=np.asarray(np.kron(np.eye(len(groups)), contrasts.weights), dtype=np.float64),
        family=tuple(group for group in groups for _ in contrasts.names),
    )


def _eye(means: Sequence[str]) -> FloatArray:
    if len(means) < 2 or len(set(means)) < len(means):
        raise InputError(f"means are {', '.join(means) or 'empty'}; at least 2 with different names can be compared")
    return np.eye(len(means))


def _contrasts(names: Sequence[str], means: Sequence[str], rows: Sequence[FloatArray]) -> Contrasts:
    if not rows:
        raise InputError("no contrast was given; name at least one")
    return Contrasts(names=tuple(names), means=tuple(means), weights=np.array(rows) + 0.0, family=("",) * len(names))


def _labels(names: Sequence[str] | None, n: int) -> tuple[str, ...]:
    if names is not None and len(names) != n:
        raise InputError(f"{len(names)} names for {n} rows of L; give one each")
    return tuple(names) if names is not None else tuple(f"row {i}" for i in range(n))


def _null_rows(
    L: ArrayLike,  # noqa: N803
    reasons: Sequence[str | None] | None,
) -> tuple[FloatArray, list[str | None]]:
    """Return L with rows of 0 where there is a reason, and a reason or None for each row."""
    rows = np.atleast_2d(np.asarray(L, dtype=np.float64))
    why: list[str | None] = [None] * len(rows) if reasons is None else list(reasons)
    if len(why) != len(rows):
        raise InputError(f"{len(why)} reasons for {len(rows)} rows of L; give one each, None where a row is not null")
    null = np.array([reason is not None for reason in why])
    return np.where(null[:, np.newaxis], 0.0, rows), why


def _degrees_of_freedom(df: float | ArrayLike | RowDf | None, rows: FloatArray, asked: np.ndarray) -> FloatArray:
    """Return the df of the rows asked about."""
    if df is None:
        return np.full(int(asked.sum()), np.inf)
    if callable(df):
        return np.array([df(row) for row in rows[asked]], dtype=np.float64)
    array = np.asarray(df, dtype=np.float64)
    if array.ndim and array.shape != (len(rows),):
        raise InputError(f"df has shape {array.shape}; give one number, or one for each of {len(rows)} rows")
    return np.broadcast_to(array, (len(rows),))[asked]
