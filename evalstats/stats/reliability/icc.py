"""Intraclass correlations: the share of the variance that lies between the things measured."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, as_codes, as_values, check_level
from evalstats.stats.estimate import Estimate
from evalstats.stats.tails import positive_p

_MEANS = "of one rating", "of the mean of all ratings"
_MODELS = "each object has raters of its own", "raters are a sample", "these raters only, consistency"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntraclassCorrelations:
    """The six intraclass correlations of Shrout and Fleiss, by name, with the mean squares behind them.

    Attributes
    ----------
    estimates
        "ICC1", "ICC2", "ICC3" (one rating) and "ICC1k", "ICC2k", "ICC3k" (mean of the k ratings). `df` is that of the
        numerator of F; `df_denominator` stands beside it.
    df_denominator
        Denominator degrees of freedom of F, by name.
    between, within, raters, residual
        Mean squares.
    """

    estimates: dict[str, Estimate]
    df_denominator: dict[str, float]
    between: float
    within: float
    raters: float
    residual: float
    n_objects: int
    n_raters: int


def intraclass_correlations(scores: ArrayLike, *, conf_level: float = 0.95) -> IntraclassCorrelations:
    """Estimate how much of the variance of ratings lies between the objects rated, in six ways.

    ICC1: every object has raters of its own. ICC2: the same raters rate all objects and are a sample of raters (agreement).
    ICC3: these raters and no others (consistency: a rater who is always stricter does not count). With k: for the mean of the
    k ratings.

    Parameters
    ----------
    scores
        float64, shape (n_objects, n_raters), complete: both at least 2.

    Returns
    -------
    IntraclassCorrelations
        Estimates may be negative, where objects differ less than raters of one object: a sign of no reliability. They are
        reported as they are.

    Raises
    ------
    InputError
        NaN, or no variance at all.

    Notes
    -----
    Intervals invert F; those of ICC2 and ICC2k are approximate (Satterthwaite). p is of "objects do not differ".

    References
    ----------
    Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; McGraw & Wong 1996, doi:10.1037/1082-989X.1.1.30.

    Examples
    --------
    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> found = intraclass_correlations(ratings).estimates
    >>> [round(found[kind].estimate, 2) for kind in ("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k")]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    level = check_level(conf_level)
    y = _complete(scores)
    n, k = y.shape
    of_object, of_rater = y.mean(axis=1), y.mean(axis=0)
    between = k * float(np.square(of_object - y.mean()).sum()) / (n - 1)
    within = float(np.square(y - of_object[:, np.newaxis]).sum()) / (n * (k - 1))
    raters = n * float(np.square(of_rater - y.mean()).sum()) / (k - 1)
    rest = y - of_object[:, np.newaxis] - of_rater + y.mean()
    residual = float(np.square(rest).sum()) / ((n - 1) * (k - 1))
    rounding = 1e-20 * float(np.square(y).max())
    if within <= rounding or between <= rounding:
        what = "the raters agree on every object" if within <= rounding else "the objects all have the same mean"
        raise InputError(f"{what}: an intraclass correlation has no interval there; check that the scores differ")
    estimates: dict[str, Estimate] = {}
    denominators: dict[str, float] = {}
    sides: tuple[tuple[str, str, float, float, float], ...] = (
        ("ICC1", "ICC1k", within, n * (k - 1.0), 0.0),
        ("ICC2", "ICC2k", residual, (n - 1.0) * (k - 1.0), k * (raters - residual) / n),
        ("ICC3", "ICC3k", residual, (n - 1.0) * (k - 1.0), 0.0),
    )
    for place, (one, mean, error, df, of_raters) in enumerate(sides):
        value = (between - error) / (between + (k - 1) * error + of_raters)
        statistic: float | None = None
        p: float | None = None
        ends: tuple[float, float] | None = None
        if error > rounding:
            f = float(between / error)
            statistic, p = f, _p_of_f(f, n - 1.0, df)
            ends = _f_limits(f, (n - 1.0, df), k, level)
            if one == "ICC2":
                ends = _limits_of_agreement((between, raters, residual), n, k, level)
        for kind, averaged in ((one, 1), (mean, k)):
            estimates[kind] = Estimate(
                estimate=_stepped_up(value, averaged),
                method=f"{kind}, {_MEANS[averaged > 1]}, {_MODELS[place]}",
                conf_level=level,
                n=n,
                conf_low=None if ends is None else _stepped_up(ends[0], averaged),
                conf_high=None if ends is None else _stepped_up(ends[1], averaged),
                statistic=statistic,
                df=n - 1.0,
                p_value=p,
                reason=None if ends else "the raters space all objects alike; the interval would have no width",
            )
            denominators[kind] = df
    return IntraclassCorrelations(
        estimates=estimates,
        df_denominator=denominators,
        between=between,
        within=within,
        raters=raters,
        residual=residual,
        n_objects=n,
        n_raters=k,
    )


def one_way_icc(values: ArrayLike, groups: ArrayLike, *, conf_level: float = 0.95) -> Estimate:
    """ICC1 for groups of any sizes: the correlation of two values of the same group.

    Parameters
    ----------
    values
        float64, shape (n_values,).
    groups
        Integer codes, shape (n_values,).

    Notes
    -----
    The estimate is that of the analysis of variance, (MSA - MSW)/n_0 over itself plus MSW, with n_0 = (N - sum n_g^2/N)/(G - 1).
    The interval is Wald's, exact for normal effects and unequal groups: at the true ratio L of the variances,
    sum w_g (m_g - m_w)^2/((G - 1) MSW) is F with G - 1 and N - G degrees of freedom, w_g = n_g/(1 + n_g L), and it falls in L.
    Both may lie below 0. For equal groups they are those of Shrout and Fleiss.

    References
    ----------
    Wald 1940, doi:10.1214/aoms/1177731882; Donner 1986, doi:10.2307/1403259.

    Examples
    --------
    >>> found = one_way_icc([9, 2, 5, 8, 6, 1, 3, 8, 4, 6, 8], [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    >>> round(found.estimate, 3), round(found.conf_low, 3), round(found.conf_high, 3)
    (0.104, -0.299, 0.944)
    """
    level = check_level(conf_level)
    y = as_values(values)
    codes, n_groups = as_codes(groups, y.size, "groups")
    sizes = np.bincount(codes).astype(np.float64)
    if n_groups < 2 or y.size == n_groups:
        raise InputError(f"{y.size} values in {n_groups} groups; at least 2 groups, and one with 2 values, are needed")
    means = np.bincount(codes, weights=y) / sizes
    within = float(np.square(y - means[codes]).sum()) / (y.size - n_groups)
    among = float((sizes * np.square(means - y.mean())).sum()) / (n_groups - 1)
    effective = (y.size - float(np.square(sizes).sum()) / y.size) / (n_groups - 1)
    if within <= 1e-20 * float(np.square(y).max(initial=0.0)):
        raise InputError("no group has values that differ: an intraclass correlation has no interval there")
    part = (among - within) / effective
    free = n_groups - 1.0, float(y.size - n_groups)

    def pivot(ratio: float) -> float:
        weight = sizes / (1.0 + sizes * ratio)
        centre = float(weight @ means) / float(weight.sum())
        return float(weight @ np.square(means - centre)) / (n_groups - 1) / within

    statistic = pivot(0.0)
    ends = [
        _where_pivot(pivot, float(special.fdtri(*free, 0.5 + half)), -1.0 / float(sizes.max()))
        for half in (0.5 * level, -0.5 * level)
    ]
    low, high = (None if end is None else end / (1.0 + end) for end in ends)
    return Estimate(
        estimate=part / (part + within),
        method="ICC1 of groups, analysis of variance, Wald's exact interval",
        conf_level=level,
        n=n_groups,
        conf_low=low,
        conf_high=high,
        statistic=statistic,
        df=free[0],
        p_value=_p_of_f(statistic, *free),
        reason="the groups' means do not differ enough to bound it" if low is None or high is None else None,
    )


def latent_icc(variance: ArrayLike, others: ArrayLike = 0.0) -> FloatArray:
    """Intraclass correlation of a logit mixed model on its latent scale: variance/(variance + others + pi^2/3).

    Parameters
    ----------
    variance
        Variance of the random effect, logits squared; an array of draws (a parametric bootstrap) gives an array.
    others
        Sum of the variances of the other random effects of an outcome.

    Notes
    -----
    pi^2/3 is the variance of the logistic error behind a 0/1 outcome. The correlation of the outcomes themselves is smaller.

    References
    ----------
    Goldstein, Browne & Rasbash 2002, doi:10.1207/S15328031US0104_02.

    Examples
    --------
    >>> latent_icc([0.4123]).round(4).tolist()
    [0.1114]
    """
    own, rest = np.asarray(variance, dtype=np.float64), np.asarray(others, dtype=np.float64)
    if not (np.isfinite(own).all() and np.isfinite(rest).all() and (own >= 0.0).all() and (rest >= 0.0).all()):
        raise InputError("variances must be finite and at least 0")
    return np.asarray(own / (own + rest + math.pi**2 / 3.0), dtype=np.float64)


def _complete(scores: ArrayLike) -> FloatArray:
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2 or min(y.shape) < 2:
        raise InputError(
            f"scores have shape {y.shape}; give one row an object and one column a rater, at least 2 of each"
        )
    missing = int(np.count_nonzero(~np.isfinite(y)))
    if missing:
        raise InputError(
            f"{missing} of {y.size} scores are NaN or infinite; leave those objects out, or use one_way_icc"
        )
    return y


def _stepped_up(r: float, k: int) -> float:
    """Return the correlation of means of k ratings, by Spearman and Brown."""
    return r * k / (1.0 + r * (k - 1.0))


def _p_of_f(f: float, df: float, df_denominator: float) -> float:
    return positive_p(float(special.fdtrc(df, df_denominator, f)))


def _f_limits(statistic: float, free: tuple[float, float], k: int, level: float) -> tuple[float, float]:
    beyond = 0.5 + 0.5 * level
    low = statistic / float(special.fdtri(*free, beyond))
    high = statistic * float(special.fdtri(free[1], free[0], beyond))
    return (low - 1.0) / (low + k - 1.0), (high - 1.0) / (high + k - 1.0)


def _limits_of_agreement(squares: tuple[float, float, float], n: int, k: int, level: float) -> tuple[float, float]:
    between, raters, residual = squares
    r = (between - residual) / (between + (k - 1) * residual + k * (raters - residual) / n)
    of_raters, rest = k * r * raters / residual, n * (1.0 + (k - 1.0) * r) - k * r
    free = (k - 1.0) * (n - 1.0) * (of_raters + rest) ** 2 / ((n - 1.0) * of_raters**2 + rest**2)
    beyond = 0.5 + 0.5 * level
    upper, lower = float(special.fdtri(n - 1.0, free, beyond)), float(special.fdtri(free, n - 1.0, beyond))
    other = k * raters + (k * n - k - n) * residual
    low = n * (between - upper * residual) / (upper * other + n * between)
    return low, n * (lower * between - residual) / (other + n * lower * between)


def _where_pivot(pivot: Callable[[float], float], goal: float, least: float) -> float | None:
    """Return the ratio of variances at which a falling pivot is `goal`, above `least`; None where it starts below it."""
    low = least * (1.0 - 1e-9)
    if pivot(low) < goal:
        return None
    high = 1.0
    while pivot(high) > goal:
        high *= 4.0
    return float(optimize.brentq(lambda ratio: pivot(ratio) - goal, low, high, xtol=1e-14, rtol=1e-13))
