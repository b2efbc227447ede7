"""York's line with errors on both sides and a spread of true gaps: the fit, an interval of its slope, a test for a bend."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.slope_search import (
    Lines,
    Problems,
    Sides,
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


def slope_interval(sides: Sides, problems: Problems, line: Lines, conf_level: float) -> tuple[float, float]:
    """Return the slopes, in scaled units, that a test of the slope does not reject; infinite where none is steep enough.

    At the true slope the residuals r and the adjusted lab scores X(b) = x - Cov(e_x, r) Omega^-1 r are independent, so that
    t(b) = X' P r / sqrt(X' P X) is standard normal whatever the lab scores are, and however few. tau is held at its estimate;
    where it is above 0 the limit is Student's with n - 2 degrees of freedom.

    References
    ----------
    Moran 1971, Journal of Multivariate Analysis 1:232; the inversion is that of Fieller for a ratio.
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
    return _slope(found[0]), _slope(found[1])


def slope_p(sides: Sides, problems: Problems, line: Lines, slope: float) -> float:
    """Return the p of one slope, in scaled units, by the test that the interval inverts."""
    t = float(_score(problems, sides.contrast_cross(), np.array([math.atan(slope)]), float(line.tau2[0]))[0])
    return two_sided_t_p(t, sides.n_models - 2) if line.tau2[0] > sides.floor else two_sided_normal_p(t)


def _slope(angle: float) -> float:
    return math.copysign(math.inf, angle) if abs(angle) >= math.pi / 2 else math.tan(angle)


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


def no_slope_p(sides: Sides, problems: Problems) -> float:
    """Return the p of no association: with slope 0 the lab is to live scores as any other column."""
    n = sides.n_models
    x, z, v_z = problems.x[0], problems.z[0], problems.v_z[0]
    tau2 = _flat_tau2(z, v_z, sides.floor)
    precision = solved(v_z + tau2 * np.eye(n - 1), np.eye(n - 1))
    # Errors that both sides share make scores go together without any slope: as much as that is expected.
    expected = 0.0 if problems.v_cross is None else float((precision * problems.v_cross[0]).sum()) / 2.0
    inner, lab, live = float(x @ precision @ z) - expected, float(x @ precision @ x), float(z @ precision @ z)
    if tau2 <= sides.floor:
        return two_sided_normal_p(inner / math.sqrt(lab))
    share = min(inner**2 / (lab * live), 1.0 - 1e-15)
    return two_sided_t_p(math.sqrt(share * (n - 2) / (1.0 - share)), n - 2)


def _flat_tau2(z: FloatArray, v_z: FloatArray, floor: float) -> float:
    """Return the tau2 at which live contrasts alone have a sum of squares of their number, or the floor."""
    eigen = np.linalg.eigh(v_z)
    squares: FloatArray = (eigen.eigenvectors.T @ z) ** 2
    roots: FloatArray = np.maximum(eigen.eigenvalues, 0.0)
    tau2, df = floor, z.size
    for _ in range(100):
        parts = squares / (roots + tau2)
        total = float(parts.sum())
        # Newton's step for 1/sum = 1/df, which comes from below and never goes past.
        step = (total - df) * total / (df * float((parts / (roots + tau2)).sum()))
        if step <= 1e-12 * (1e-3 + tau2):
            break
        tau2 += step
    return tau2


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


LEAST_MODELS = 10
# Below this share of the live spread a residual is rounding, and a column beside the straight one is no column of its own.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Bend:
    """A check of the straight line.

    Attributes
    ----------
    statistic, df, p_value
        t of the square of the lab score, n_models - 3 degrees of freedom, two-sided. Above 0 both ends lie above the line
        through the middle (more is better on both sides), below 0 both lie below.
    """

    statistic: float
    df: int
    p_value: float


@one_thread
def bend(scores: LabLiveScores, fit: LineFit) -> Bend:
    """Test whether the residuals of York's line go with the square of the lab score.

    Weighted least squares of the residuals r = live - a - b lab on [1, x, x^2], whitened by their covariance

        Omega(b) = V_z + b^2 V_x - b (V_xz + V_zx) + tau^2 I

    as the line is, with a scale estimated from what is left, so that t has n_models - 3 degrees of freedom. For x stand York's
    adjusted lab scores (centred, scaled), not the raw ones: on a straight line the raw ones share their error with r, and with
    skewed true scores that alone looks like a bend, while the adjusted ones are independent of r. Contrasts between models take
    the place of the intercept, as if c 11' with c large were added to Omega: what moves all models alike does not matter.

    Parameters
    ----------
    scores
        At least 10 models, with the covariances of both sides.
    fit
        York's line through these scores.

    Returns
    -------
    Bend

    Raises
    ------
    CannotAnswerError
        With fewer than 10 models, without errors on a side or with a constant one, where covariances are none, where the lab
        scores take only two values, or where nothing is left beside the curve to tell noise from it.

    Notes
    -----
    A check and no estimate: noise in the lab blurs the curve, so its size would be drawn towards 0 and bends are found less
    often than with an exact lab. It cannot tell a bend from a single model at an end of the scale that really is apart: either
    may be what the other seems. A square finds curves that bend one way; one that bends as much up as down (a share against
    its log-odds, both ends alike about a half) has no square in it. The slope and tau^2 are taken as known at their estimates;
    the tests hold simulations of what that costs.

    References
    ----------
    York, Evensen, Martinez & Delgado 2004, doi:10.1119/1.1632486 (adjusted points); Fuller 1987, Measurement Error Models,
    section 1.2.3 (residuals and adjusted scores are uncorrelated), doi:10.1002/9780470316665.

    Examples
    --------
    >>> from evalstats.stats.errors_in_variables.york import fit_line
    >>> lab = np.linspace(-2.0, 2.0, 12)
    >>> wiggle = 0.1 * np.cos(5.0 * np.arange(12))
    >>> errors = {"lab_covariance": np.zeros((12, 12)), "live_covariance": 0.01 * np.eye(12)}
    >>> straight = LabLiveScores(lab=lab, live=lab + wiggle, **errors)
    >>> bent = LabLiveScores(lab=lab, live=np.exp(lab) + wiggle, **errors)
    >>> bend(straight, fit_line(straight)).p_value > 0.2, bend(bent, fit_line(bent)).p_value < 1e-4
    (True, True)
    """
    n = scores.n_models
    if n < LEAST_MODELS:
        raise CannotAnswerError(
            f"{n} shared models are too few to tell a bend from a straight line; at least {LEAST_MODELS} are needed"
        )
    residual, points, root = _whitened(scores, fit)
    points = points / float(np.abs(points).max())
    square = points**2 - float((points**2).mean())
    rows = contrast_rows(n)
    design = solved(root, rows @ np.stack([points, square], axis=1))
    left, straight = _without(design[:, 0], solved(root, rows @ residual)), design[:, 0]
    curve = _without(straight, design[:, 1])
    if float(curve @ curve) <= _ROUNDING * float(design[:, 1] @ design[:, 1]):
        raise CannotAnswerError(
            "the lab scores take two values only, so that no bend of a line through them can be told"
        )
    df = n - 3
    rest = _without(curve, left)
    scale = float(rest @ rest) / df
    if not math.sqrt(scale) > _ROUNDING * float(np.linalg.norm(solved(root, rows @ scores.live))):
        raise CannotAnswerError("the scores lie on a curve exactly, which leaves no noise to hold a bend against")
    statistic = float(curve @ left) / math.sqrt(float(curve @ curve) * scale)
    return Bend(statistic=statistic, df=df, p_value=two_sided_t_p(statistic, df))


def _whitened(scores: LabLiveScores, fit: LineFit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return residuals, adjusted lab scores (centred), and the root of the covariance of the residuals' contrasts."""
    sides = scaled_sides(scores, LEAST_MODELS)
    ratio = sides.unit_x / sides.unit_z
    b, tau2 = fit.slope * ratio, fit.tau2 / sides.unit_z**2 + sides.floor
    rows = contrast_rows(sides.n_models)
    omega = sides.v_z + b**2 * sides.v_x - b * (sides.cross + sides.cross.T)
    noise = rows @ omega @ rows.T + tau2 * np.eye(sides.n_models - 1)
    try:
        root = np.asarray(np.linalg.cholesky(noise), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise CannotAnswerError("the errors of the scores are no covariance, so that no bend can be told") from error
    residual = sides.z - b * sides.x
    pulled = rows.T @ solved(root.T, solved(root, rows @ residual))
    # Cov(lab error, r) = V_xz - b V_x: what the residual tells of the lab's error is taken off the lab score.
    points = sides.x - (sides.cross - b * sides.v_x) @ pulled
    return residual * sides.unit_z, points - points.mean(), root


def _without(column: FloatArray, values: FloatArray) -> FloatArray:
    return values - column * float(column @ values) / float(column @ column)
