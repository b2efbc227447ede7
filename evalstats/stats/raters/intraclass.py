"""Intraclass correlations: the share of the variance that lies between the things measured."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.estimate import Estimate, positive_p

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
    n_raters: int


def intraclass_correlations(scores: ArrayLike, *, conf_level: float = 0.95) -> IntraclassCorrelations:
    """Estimate how much of the variance of ratings lies between the objects rated, in six ways.

    ICC1: every object has raters of its own. ICC2: the same raters rate all objects and are a sample of raters (agreement).
    ICC3: these raters and no others (consistency: a rater who is always stricter does not count). With k: for the mean of the
    k ratings.

    `scores`: float64, shape (n_objects, n_raters), complete: both at least 2.

    Notes
    -----
    Intervals invert F; those of ICC2 and ICC2k are approximate (Satterthwaite). p is of "objects do not differ".

    References
    ----------
    Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; McGraw & Wong 1996, doi:10.1037/1082-989X.1.1.30.
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
        n_raters=k,
    )


def _complete(scores: ArrayLike) -> FloatArray:
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2 or min(y.shape) < 2:
        raise InputError(
            f"scores have shape {y.shape}; give one row an object and one column a rater, at least 2 of each"
        )
    missing = int(np.count_nonzero(~np.isfinite(y)))
    if missing:
        raise InputError(f"{missing} of {y.size} scores are NaN or infinite; leave those objects out")
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
