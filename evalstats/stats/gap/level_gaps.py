"""Plain differences of live and lab on one scale: each model's, its departure from the mean one, and the mean over models."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.errors_in_variables.leave_one_out import false_coverage_quantile
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.slope_search import contrast_rows
from evalstats.stats.estimate import normal_quantile, positive_p, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.many.multiplicity import benjamini_hochberg


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """A family of differences, one for each model. Arrays are float64, shape (n_models,), in the scores' unit.

    Attributes
    ----------
    df
        Degrees of freedom of each t interval; inf for normal.
    p_adjusted
        By Benjamini-Hochberg over models.
    flagged
        Whether p_adjusted is small enough and the adjusted interval leaves out 0.
    adjusted_low, adjusted_high
        At the level of false-coverage control where p_adjusted is small enough, else the plain interval.
    """

    estimate: FloatArray
    std_error: FloatArray
    df: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    flagged: npt.NDArray[np.bool_]
    adjusted_low: FloatArray
    adjusted_high: FloatArray
    equivalence_low: FloatArray
    equivalence_high: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelGaps:
    """Live less lab on one scale.

    Attributes
    ----------
    differences, deviations
        Of each model; less the mean over models.
    mean, std_error, df, conf_low, conf_high, p_value, equivalence_low, equivalence_high
        The mean difference over these models.
    statistic, heterogeneity_df, heterogeneity_p
        Of the question whether all models have the same true difference: chi-squared of the deviations.
    """

    differences: Differences
    deviations: Differences
    mean: float
    std_error: float
    df: float
    conf_low: float
    conf_high: float
    p_value: float
    equivalence_low: float
    equivalence_high: float
    statistic: float
    heterogeneity_df: int
    heterogeneity_p: float
    conf_level: float


def level_gaps(
    scores: LabLiveScores,
    *,
    conf_level: float = 0.95,
    lab_df: float | None = None,
    live_df: float | None = None,
) -> LevelGaps:
    """Compare live with lab model by model, where both are on one scale.

    The error of a difference is V_z + V_x - V_xz - V_zx. What all models share (easy items) stays in the error of a model's
    difference and of the mean one, and leaves the deviations from the mean.

    Parameters
    ----------
    scores
        At least 1 model, with the covariances of both sides.
    lab_df, live_df
        Degrees of freedom of either side's errors, where few clusters make them t; combined by Satterthwaite.

    Raises
    ------
    CannotAnswerError
        Without models or without errors on a side.

    Examples
    --------
    >>> scores = LabLiveScores(
    ...     lab=np.array([0.7, 0.8, 0.6]),
    ...     live=np.array([0.6, 0.7, 0.5]),
    ...     lab_covariance=np.eye(3) * 0.03**2,
    ...     live_covariance=np.eye(3) * 0.04**2,
    ... )
    >>> found = level_gaps(scores)
    >>> round(found.mean, 3), round(found.std_error, 4), found.differences.std_error.round(3).tolist()
    (-0.1, 0.0289, [0.05, 0.05, 0.05])
    """
    check_level(conf_level)
    for name, df in (("lab_df", lab_df), ("live_df", live_df)):
        if df is not None and not (math.isfinite(df) and df > 0.0):
            raise InputError(f"{name} is {df}; give degrees of freedom above 0, or None for the normal law")
    n = scores.n_models
    if n == 0:
        raise CannotAnswerError("lab and live share no model; at least 1 is needed for a difference")
    if scores.lab_covariance is None or scores.live_covariance is None:
        side = "lab" if scores.lab_covariance is None else "live"
        raise CannotAnswerError(f"the {side} scores have no standard errors; without them a difference has no interval")
    v_x, v_z = scores.lab_covariance, scores.live_covariance
    both = 0.0 * v_x if scores.cross is None else scores.cross + scores.cross.T
    gap, table = scores.live - scores.lab, v_x + v_z - both
    laws = (lab_df, live_df)
    centre = np.eye(n) - 1.0 / n
    df = _satterthwaite(np.diag(v_x), np.diag(v_z), laws)
    centred = _satterthwaite(np.diag(centre @ v_x @ centre), np.diag(centre @ v_z @ centre), laws)
    mean_df = float(_satterthwaite(np.array([v_x.mean()]), np.array([v_z.mean()]), laws)[0])
    mean, std_error = float(gap.mean()), float(_root(np.array([table.mean()]))[0])
    narrow = 1.0 - 2.0 * (1.0 - conf_level)
    statistic = _spread(gap, table)
    return LevelGaps(
        differences=_family(gap, _root(np.diag(table)), df, conf_level),
        deviations=_family(gap - mean, _root(np.diag(centre @ table @ centre)), centred, conf_level),
        mean=mean,
        std_error=std_error,
        df=mean_df,
        conf_low=mean - _quantile(conf_level, mean_df) * std_error,
        conf_high=mean + _quantile(conf_level, mean_df) * std_error,
        p_value=_p(mean, std_error, mean_df),
        equivalence_low=mean - _quantile(narrow, mean_df) * std_error,
        equivalence_high=mean + _quantile(narrow, mean_df) * std_error,
        statistic=statistic,
        heterogeneity_df=n - 1,
        heterogeneity_p=positive_p(float(special.chdtrc(n - 1, statistic))) if n > 1 else 1.0,
        conf_level=conf_level,
    )


def _root(variance: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(variance, 0.0))


def _satterthwaite(lab: FloatArray, live: FloatArray, laws: tuple[float | None, float | None]) -> FloatArray:
    """Degrees of freedom of the sum of two variances; inf where neither side has any."""
    lab_df, live_df = laws
    doubt = np.zeros(lab.size)
    if lab_df is not None:
        doubt += lab**2 / lab_df
    if live_df is not None:
        doubt += live**2 / live_df
    known = doubt > 0.0
    return np.where(known, (lab + live) ** 2 / np.where(known, doubt, 1.0), np.inf)


def _family(estimate: FloatArray, std_error: FloatArray, df: FloatArray, conf_level: float) -> Differences:
    p_value = np.array([_p(d, s, nu) for d, s, nu in zip(estimate, std_error, df, strict=True)])
    p_adjusted = benjamini_hochberg(p_value)
    found = p_adjusted <= 1.0 - conf_level
    reach = np.array([_quantile(conf_level, nu) for nu in df]) * std_error
    narrow = np.array([_quantile(1.0 - 2.0 * (1.0 - conf_level), nu) for nu in df]) * std_error
    wider = np.where(found, false_coverage_quantile(found, conf_level, df) * std_error, reach)
    return Differences(
        estimate=estimate,
        std_error=std_error,
        df=df,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        p_value=p_value,
        p_adjusted=p_adjusted,
        flagged=found & (np.abs(estimate) > wider),
        adjusted_low=estimate - wider,
        adjusted_high=estimate + wider,
        equivalence_low=estimate - narrow,
        equivalence_high=estimate + narrow,
    )


def _quantile(conf_level: float, df: float) -> float:
    return t_quantile(conf_level, df) if math.isfinite(df) else normal_quantile(conf_level)


def _p(estimate: float, std_error: float, df: float) -> float:
    if std_error == 0.0:
        return 1.0 if estimate == 0.0 else positive_p(0.0)
    return two_sided_t_p(estimate / std_error, df) if math.isfinite(df) else two_sided_normal_p(estimate / std_error)


def _spread(gap: FloatArray, table: FloatArray) -> float:
    """Chi-squared of the deviations; contrasts known exactly count by how far they are beyond rounding."""
    n = gap.size
    if n < 2:
        return 0.0
    rows = contrast_rows(n)
    apart, noise = rows @ gap, rows @ table @ rows.T
    rounding = 1e-12 * max(float(np.trace(noise)), float(apart @ apart), 1e-300)
    return float(apart @ np.linalg.solve(noise + rounding * np.eye(n - 1), apart))
