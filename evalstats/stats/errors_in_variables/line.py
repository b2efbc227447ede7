"""York's line through scores that are noisy on both sides, with a spread of true gaps.

References: York, Evensen, Martinez & Delgado 2004, doi:10.1119/1.1632486; Viechtbauer 2007, doi:10.1002/sim.2514 (the
interval of tau); Moran 1971, Journal of Multivariate Analysis 1:232 (the test of a slope, inverted as Fieller does for a
ratio).
"""

import math

import numpy as np
from scipy import special

from evalstats.record import record
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.slope_search import (
    Lines,
    Problems,
    ScaledSides,
    contrast_rows,
    lowest,
    noise,
    scaled_sides,
    solved,
    with_spread,
)
from evalstats.stats.estimate import (
    SMALLEST_P,
    normal_quantile,
    positive_p,
    t_quantile,
    two_sided_normal_p,
    two_sided_t_p,
)

_ANGLES = 48
_ZOOMS = 3


def slope_interval(sides: ScaledSides, problems: Problems, line: Lines, conf_level: float) -> tuple[float, float]:
    """Return the slopes, in scaled units, that a test of the slope does not reject; infinite where none is steep enough.

    At the true slope the residuals r and the adjusted lab scores X(b) = x - Cov(e_x, r) Omega^-1 r are independent, so that
    t(b) = X' P r / sqrt(X' P X) is standard normal whatever the lab scores are, and however few. tau is held at its estimate;
    where it is above 0 the limit is Student's with n - 2 degrees of freedom.
    """
    df = sides.n_models - 2
    limit = t_quantile(conf_level, df) if line.tau2[0] > sides.floor else normal_quantile(conf_level)
    lab_live, angle = sides.contrast_cross(), float(line.angle[0])
    # Short of the vertical, where noise may be singular.
    ends = [(angle, side * (math.pi / 2 - 1e-6)) for side in (-1.0, 1.0)]
    found: list[float] = []
    for start, stop in ends:
        low, high = start, stop
        for _ in range(_ZOOMS):
            angles = np.linspace(low, high, _ANGLES + 1)
            out = np.flatnonzero(np.abs(_score(problems, lab_live, angles, float(line.tau2[0]))) > limit)
            if out.size == 0:
                high = math.copysign(math.pi / 2, stop)
                break
            first = max(int(out[0]), 1)
            low, high = float(angles[first - 1]), float(angles[first])
        found.append(high)
    low, high = (math.copysign(math.inf, at) if abs(at) >= math.pi / 2 else math.tan(at) for at in found)
    return low, high


def slope_p(sides: ScaledSides, problems: Problems, line: Lines, slope: float) -> float:
    """Return the p of one slope, in scaled units, by the test that the interval inverts."""
    t = float(_score(problems, sides.contrast_cross(), np.array([math.atan(slope)]), float(line.tau2[0]))[0])
    return two_sided_t_p(t, sides.n_models - 2) if line.tau2[0] > sides.floor else two_sided_normal_p(t)


def _score(problems: Problems, lab_live: FloatArray, angles: FloatArray, tau2: float) -> FloatArray:
    """Return t at each angle; residuals and points are those of the angle, which changes their scale and not t."""
    c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
    many = problems.take(np.zeros(angles.size, dtype=np.int64))
    table = noise(many, angles, np.full(angles.size, tau2))
    residual = c * problems.z - s * problems.x
    pulled = solved(table, residual[..., None])[..., 0]
    lab_error = c * (pulled @ lab_live.T) - s * (pulled @ problems.v_x[0])
    points = problems.x - lab_error
    weighted = solved(table, points[..., None])[..., 0]
    return (points * pulled).sum(axis=1) / np.sqrt((points * weighted).sum(axis=1))


def no_slope_p(sides: ScaledSides, problems: Problems) -> float:
    """Return the p of no association: with slope 0 the lab is to live scores as any other column."""
    n = sides.n_models
    x, z, v_z = problems.x[0], problems.z[0], problems.v_z[0]
    # The tau2 at which live contrasts alone have a sum of squares of their number, or the floor.
    eigen = np.linalg.eigh(v_z)
    squares: FloatArray = (eigen.eigenvectors.T @ z) ** 2
    roots: FloatArray = np.maximum(eigen.eigenvalues, 0.0)
    tau2, df = sides.floor, z.size
    for _ in range(100):
        parts = squares / (roots + tau2)
        total = float(parts.sum())
        # Newton's step for 1/sum = 1/df, which comes from below and never goes past.
        step = (total - df) * total / (df * float((parts / (roots + tau2)).sum()))
        if step <= 1e-12 * (1e-3 + tau2):
            break
        tau2 += step
    precision = solved(v_z + tau2 * np.eye(n - 1), np.eye(n - 1))
    # Errors that both sides share make scores go together without any slope: as much as that is expected.
    expected = 0.0 if problems.v_cross is None else float((precision * problems.v_cross[0]).sum()) / 2.0
    inner, lab, live = float(x @ precision @ z) - expected, float(x @ precision @ x), float(z @ precision @ z)
    if tau2 <= sides.floor:
        return two_sided_normal_p(inner / math.sqrt(lab))
    share = min(inner**2 / (lab * live), 1.0 - 1e-15)
    return two_sided_t_p(math.sqrt(share * (n - 2) / (1.0 - share)), n - 2)


@record
class LineFit:
    """A line live = intercept + slope * lab through noisy scores, in their units.

    Attributes
    ----------
    slope_std_error, intercept_std_error
        York's (2004), from the adjusted points.
    slope_low, slope_high
        Interval of the slope by inverting a test, which keeps its level where the lab is noisy; infinite where the lab does not
        tell how steep the line is.
    slope_p_value, slope_one_p
        Of no association at all (slope 0), by the correlation of both sides with the live errors as weights; of slope 1, by the
        test that the interval inverts.
    tau2, tau_low, tau_high
        Variance of true gaps beyond noise; bounds of its root. `tau_high` is None where models lie closer to the line than their
        noise makes likely for any tau.
    statistic, df, p_value
        York's S at tau = 0, chi-squared with n_models - 2 degrees of freedom where noise alone explains all gaps.
    lab_p_value
        Of the question whether models differ in the lab at all beyond noise; without that no line is determined.
    residual, leverage
        float64, shape (n_models,): live less the line at the lab score; share of the information on the slope, 0 to 1.
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

    Raises
    ------
    CannotAnswerError
        Where there are fewer than 3 models, a side has no errors or is constant.

    Notes
    -----
    Assumes normal errors whose covariance is known, and true gaps independent of one another and of the lab score. Where the
    lab covariance is 0 this is generalised least squares with York's moment estimate of tau^2 (that of Paule and Mandel in
    meta-analysis). Standard errors take tau^2 as known; see the simulations in the tests for what that costs.

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
    sides = scaled_sides(scores)
    problems = sides.all_models()
    df, tail = sides.n_models - 2, (1.0 - conf_level) / 2.0
    # The line at tau = 0, those of S's mean and of both ends of tau's interval, and the one asked for.
    target = np.array([df, special.chdtri(df, tail), special.chdtri(df, 1.0 - tail)], dtype=np.float64)
    plain = lowest(problems, np.array([sides.floor]))
    three = np.zeros(3, dtype=np.int64)
    spread = with_spread(problems.take(three), target, sides.floor, angle=plain.angle[three], tau2=plain.tau2[three])
    best = spread.first() if tau2 is None else lowest(problems, np.array([tau2 / sides.unit_z**2 + sides.floor]))
    n = sides.n_models
    shape = line_shape(sides, problems, best)
    scaled_slope, weights = float(shape.slope[0]), shape.mean_weights[0]
    level = float(weights @ (sides.z - scaled_slope * sides.x))
    ratio = sides.unit_z / sides.unit_x
    slope, std_error = scaled_slope * ratio, math.sqrt(float(shape.slope_variance[0])) * ratio
    low, high = slope_interval(sides, problems, best, conf_level)
    gaps2, spreads2 = (np.where(each.tau2 > sides.floor, each.tau2, 0.0) * sides.unit_z**2 for each in (best, spread))
    # The place on the lab's own axis where the slope does not matter to the level.
    pivot = float(weights @ shape.points[0]) * sides.unit_x + sides.mean_x
    both = sides.cross + sides.cross.T
    omega = sides.v_z + scaled_slope**2 * sides.v_x - scaled_slope * both + float(best.tau2[0]) * np.eye(n)
    level_variance = max(0.0, float(weights @ omega @ weights)) * sides.unit_z**2
    statistic, taus = float(plain.statistic[0]), np.sqrt(spreads2)
    return LineFit(
        slope=slope,
        intercept=sides.mean_z + level * sides.unit_z - slope * sides.mean_x,
        slope_std_error=std_error,
        intercept_std_error=math.sqrt(level_variance + (pivot * std_error) ** 2),
        slope_low=low * ratio,
        slope_high=high * ratio,
        slope_p_value=no_slope_p(sides, problems),
        slope_one_p=slope_p(sides, problems, best, 1.0 / ratio),
        tau2=float(gaps2[0]),
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
        converged=all(bool(each.converged.all()) for each in (plain, best, spread)),
    )


@record
class LineShape:
    """What follows from slopes and tau2 of many problems, in scaled units; the first axis is the problem.

    The intercept is the product of `mean_weights` (summing to 1) with live - slope * lab; to first order the slope's error is
    that of `slope_weights` (summing to 0) with the residuals. `points` are the adjusted lab scores, where York puts the true
    ones; `leverage` is the share of the slope's information that each model holds.
    """

    slope: FloatArray
    slope_variance: FloatArray
    mean_weights: FloatArray
    slope_weights: FloatArray
    points: FloatArray
    leverage: FloatArray


def line_shape(sides: ScaledSides, problems: Problems, lines: Lines, keep: np.ndarray | None = None) -> LineShape:
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


_ROUNDING = 1e-9
