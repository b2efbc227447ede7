"""York's line with errors on both sides, any covariance of them, and a spread of true gaps between models."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import SMALLEST_P, positive_p
from evalstats.stats.gap.contrasts import Sides, contrast_rows, scaled_sides
from evalstats.stats.gap.scores import LabLiveScores
from evalstats.stats.gap.slope_interval import no_slope_p, slope_interval, slope_p
from evalstats.stats.gap.slope_search import Lines, Problems, lowest, noise, solved, with_spread


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFit:
    """A line live = intercept + slope * lab through noisy scores.

    Attributes
    ----------
    slope, intercept, slope_std_error, intercept_std_error
        In the units of the scores. Standard errors are York's (2004), from the adjusted points.
    slope_low, slope_high
        Interval of the slope by inverting a test, which keeps its level where the lab is noisy; infinite where the lab does not
        tell how steep the line is.
    slope_p_value
        Of no association at all (slope 0), by the correlation of both sides with the live errors as weights. `slope_one_p`: of
        slope 1, by the test that the interval inverts.
    tau2
        Variance of true gaps beyond noise; `tau_low`, `tau_high` bound its root. `tau_high` is None where models lie closer to
        the line than their noise makes likely for any tau.
    statistic, df, p_value
        York's S at tau = 0, chi-squared with n_models - 2 degrees of freedom where noise alone explains all gaps.
    lab_p_value
        Of the question whether models differ in the lab at all beyond noise; without that no line is determined.
    residual
        float64, shape (n_models,): live less the line at the lab score.
    leverage
        Share of the information on the slope that each model holds, 0 to 1.
    converged
        Whether the search came to rest.
    """

    slope: float
    intercept: float
    slope_std_error: float
    intercept_std_error: float
    slope_low: float
    slope_high: float
    slope_p_value: float
    slope_one_p: float
    tau2: float
    tau_low: float
    tau_high: float | None
    statistic: float
    df: int
    p_value: float
    lab_p_value: float
    residual: FloatArray
    leverage: FloatArray
    n_models: int
    conf_level: float
    converged: bool

    @property
    def tau(self) -> float:
        """Standard deviation of true gaps."""
        return math.sqrt(self.tau2)


@one_thread
def fit_line(scores: LabLiveScores, *, tau2: float | None = None, conf_level: float = 0.95) -> LineFit:
    """Fit live = intercept + slope * lab with errors on both sides and variance between models.

    Residuals r = live - intercept - slope * lab have covariance

        Omega(b) = V_z + b^2 V_x - b (V_xz + V_zx) + tau^2 I.

    For given tau^2 the slope minimises S = r' Omega^-1 r over intercept and slope, without the log-determinant: with it, and
    tau^2 unknown, the fit is ordinary least squares, biased towards 0. tau^2 is the value at which S = n_models - 2, or 0. The
    slope is searched over all angles, since S can have two minima. Only contrasts between models enter it, so that whatever
    moves all models alike in a covariance changes no more than the error of the intercept.

    Parameters
    ----------
    scores
        At least 3 models, with the covariances of both sides; a zero matrix says that scores are exact.
    tau2
        Squared live units; None estimates it.

    Returns
    -------
    LineFit

    Raises
    ------
    CannotAnswerError
        Where there are fewer than 3 models, a side has no errors or is constant.
    InputError
        Where `tau2` is negative or `conf_level` no level.

    Notes
    -----
    Assumes normal errors whose covariance is known, and true gaps independent of one another and of the lab score. Where the
    lab covariance is 0 this is generalised least squares with York's moment estimate of tau^2 (that of Paule and Mandel in
    meta-analysis). Standard errors take tau^2 as known; see the simulations in the tests for what that costs.

    References
    ----------
    York, Evensen, Martinez & Delgado 2004, American Journal of Physics 72:367, doi:10.1119/1.1632486; Viechtbauer 2007,
    Statistics in Medicine 26:37, doi:10.1002/sim.2514 (the interval of tau).

    Examples
    --------
    >>> scores = LabLiveScores(
    ...     lab=np.array([0.1, 0.3, 0.4, 0.6, 0.7, 0.9]),
    ...     live=np.array([2.3, 2.5, 2.9, 3.2, 3.3, 3.8]),
    ...     lab_covariance=np.diag(np.full(6, 0.02**2)),
    ...     live_covariance=np.diag(np.full(6, 0.1**2)),
    ... )
    >>> fit = fit_line(scores)
    >>> round(fit.slope, 2), round(fit.slope_std_error, 2), fit.tau, round(fit.p_value, 2)
    (1.89, 0.16, 0.0, 0.56)
    """
    check_level(conf_level)
    if tau2 is not None and not (math.isfinite(tau2) and tau2 >= 0.0):
        raise InputError(f"tau2 is {tau2}; give a variance of 0 or more, or None to estimate it")
    sides = scaled_sides(scores)
    problems = sides.all_models()
    return _told(sides, problems, _searched(problems, sides, tau2, conf_level), conf_level)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineShape:
    """What follows from slopes and tau2 of many problems, in scaled units; the first axis is the problem.

    Attributes
    ----------
    slope, slope_variance
        float64, shape (n_problems,).
    mean_weights
        float64, shape (n_problems, n_kept): the intercept is their product with live - slope * lab. They sum to 1.
    slope_weights
        As far as the first order goes, the error of the slope is their product with the residuals. They sum to 0.
    points
        Adjusted lab scores: where York puts the true ones.
    leverage
        Share of the slope's information that each model holds.
    """

    slope: FloatArray
    slope_variance: FloatArray
    mean_weights: FloatArray
    slope_weights: FloatArray
    points: FloatArray
    leverage: FloatArray


def line_shape(sides: Sides, problems: Problems, lines: Lines, keep: np.ndarray | None = None) -> LineShape:
    """Return weights and variances of fitted lines; `keep` says which models each rests on (all by default)."""
    keep = np.arange(sides.n_models)[None, :] if keep is None else keep
    n = keep.shape[1]
    rows = contrast_rows(n)
    cos = np.cos(lines.angle)
    slope = np.tan(lines.angle)
    inverse = np.linalg.inv(noise(problems, lines.angle, lines.tau2)) * (cos**2)[:, None, None]
    square = (keep[:, :, None], keep[:, None, :])
    v_x, v_z, cross = sides.v_x[square], sides.v_z[square], sides.cross[square]
    b = slope[:, None, None]
    omega = v_z + b**2 * v_x - b * (cross + np.swapaxes(cross, 1, 2)) + lines.tau2[:, None, None] * np.eye(n)
    precision = rows.T @ inverse @ rows
    mean_weights = 1.0 / n - (precision @ omega.mean(axis=2)[..., None])[..., 0]
    residual = sides.z[keep] - slope[:, None] * sides.x[keep]
    lab_error = (cross - b * v_x) @ (precision @ residual[..., None])
    points = sides.x[keep] - lab_error[..., 0]
    pulled = (precision @ points[..., None])[..., 0]
    information = (points * pulled).sum(axis=1)
    own = np.diagonal(precision, axis1=1, axis2=2)
    return LineShape(
        slope=slope,
        slope_variance=1.0 / information,
        mean_weights=mean_weights,
        slope_weights=pulled / information[:, None],
        points=points,
        leverage=np.clip(pulled**2 / (own * information[:, None]), 0.0, 1.0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Searched:
    """The line at tau = 0, the line asked for, and those of S's mean and of both ends of tau's interval."""

    plain: Lines
    best: Lines
    spread: Lines


def _searched(problems: Problems, sides: Sides, tau2: float | None, conf_level: float) -> _Searched:
    df = sides.n_models - 2
    tail = (1.0 - conf_level) / 2.0
    target = np.array([df, special.chdtri(df, tail), special.chdtri(df, 1.0 - tail)], dtype=np.float64)
    plain = lowest(problems, np.array([sides.floor]))
    three = np.zeros(3, dtype=np.int64)
    spread = with_spread(problems.take(three), target, sides.floor, angle=plain.angle[three], tau2=plain.tau2[three])
    best = _only(spread, 0) if tau2 is None else lowest(problems, np.array([tau2 / sides.unit_z**2 + sides.floor]))
    return _Searched(plain=plain, best=best, spread=spread)


def _only(lines: Lines, at: int) -> Lines:
    cut = slice(at, at + 1)
    return Lines(
        angle=lines.angle[cut], tau2=lines.tau2[cut], statistic=lines.statistic[cut], converged=lines.converged[cut]
    )


def _told(sides: Sides, problems: Problems, found: _Searched, conf_level: float) -> LineFit:
    """Turn the lines back into the units of the scores."""
    n, df = sides.n_models, sides.n_models - 2
    shape = line_shape(sides, problems, found.best)
    scaled_slope, weights = float(shape.slope[0]), shape.mean_weights[0]
    level = float(weights @ (sides.z - scaled_slope * sides.x))
    ratio = sides.unit_z / sides.unit_x
    slope, std_error = scaled_slope * ratio, math.sqrt(float(shape.slope_variance[0])) * ratio
    low, high = slope_interval(sides, problems, found.best, conf_level)
    tau2 = _above_floor(found.best.tau2, sides)
    # The place on the lab's own axis where the slope does not matter to the level.
    pivot = float(weights @ shape.points[0]) * sides.unit_x + sides.mean_x
    omega = _residual_noise(sides, scaled_slope, float(found.best.tau2[0]))
    level_variance = max(0.0, float(weights @ omega @ weights)) * sides.unit_z**2
    statistic, taus = float(found.plain.statistic[0]), np.sqrt(_above_floor(found.spread.tau2, sides))
    lines = (found.plain, found.best, found.spread)
    return LineFit(
        slope=slope,
        intercept=sides.mean_z + level * sides.unit_z - slope * sides.mean_x,
        slope_std_error=std_error,
        intercept_std_error=math.sqrt(level_variance + (pivot * std_error) ** 2),
        slope_low=low * ratio,
        slope_high=high * ratio,
        slope_p_value=no_slope_p(sides, problems),
        slope_one_p=slope_p(sides, problems, found.best, 1.0 / ratio),
        tau2=float(tau2[0]),
        tau_low=float(taus[1]),
        tau_high=None if taus[2] == 0.0 else float(taus[2]),
        statistic=statistic,
        df=df,
        p_value=positive_p(float(special.chdtrc(df, statistic))),
        lab_p_value=float(lab_spread_p(problems)[0]),
        residual=(sides.z - scaled_slope * sides.x - level) * sides.unit_z,
        leverage=shape.leverage[0],
        n_models=n,
        conf_level=conf_level,
        converged=all(bool(each.converged.all()) for each in lines),
    )


def _above_floor(tau2: FloatArray, sides: Sides) -> FloatArray:
    return np.where(tau2 > sides.floor, tau2, 0.0) * sides.unit_z**2


def _residual_noise(sides: Sides, slope: float, tau2: float) -> FloatArray:
    both = sides.cross + sides.cross.T
    return sides.v_z + slope**2 * sides.v_x - slope * both + tau2 * np.eye(sides.n_models)


def lab_spread_p(problems: Problems) -> FloatArray:
    """Return the p of lab scores this far apart where all true ones are equal, for each problem.

    Chi-squared of the contrasts; those that are exact count by how far they are beyond rounding.
    """
    p = problems.x.shape[1]
    trace: FloatArray = np.trace(problems.v_x, axis1=1, axis2=2)
    rounding = 1e-12 * np.maximum(1.0, trace)
    pulled = solved(problems.v_x + rounding[:, None, None] * np.eye(p), problems.x[..., None])[..., 0]
    apart: FloatArray = (problems.x * pulled).sum(axis=1)
    return np.maximum(special.chdtrc(p, apart), SMALLEST_P)
