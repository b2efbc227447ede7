"""An interval for York's slope by inverting a test, since few models and a noisy lab make its law skew."""

import math

import numpy as np

from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import normal_quantile, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.gap.contrasts import Sides
from evalstats.stats.gap.slope_search import Lines, Problems, noise, solved

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
