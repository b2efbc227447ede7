"""The line by maximum likelihood, true lab scores taken as normally spread between models."""

import math

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.gap.contrasts import Sides, scaled_sides
from evalstats.stats.gap.other_lines import AnotherLine
from evalstats.stats.gap.scores import LabLiveScores
from evalstats.stats.gap.york import fit_line

_STEP = 1e-3
_STEEPEST = 5.0
_WALL = 1e8


@one_thread
def structural_line(scores: LabLiveScores) -> AnotherLine:
    """Fit the structural line: lab and live together as draws from a bivariate normal law.

    With true lab scores X ~ N(mu, s2), contrasts (x, z) have mean 0 and covariance

        [[s2 I + V_x, b s2 I + V_xz], [b s2 I + V_zx, (b^2 s2 + tau2) I + V_z]],

    whose likelihood is maximised over b, s2 and tau2. Working on contrasts profiles both means out and corrects for it
    (restricted likelihood). With equal errors and tau2 > 0 the slope is s_xz / (s_xx - s_x^2).

    Raises
    ------
    CannotAnswerError
        As `fit_line`.

    References
    ----------
    Fuller 1987, Measurement Error Models, section 2.2.

    Examples
    --------
    >>> lab = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> errors = np.eye(5) * 0.01
    >>> live = 2 * lab + np.array([0.1, -0.1, 0.0, 0.1, -0.1])
    >>> scores = LabLiveScores(lab=lab, live=live, lab_covariance=errors, live_covariance=errors)
    >>> round(structural_line(scores).slope, 1)
    2.0
    """
    sides = scaled_sides(scores)
    parts = _Parts(sides)
    first = float(np.clip(fit_line(scores).slope * sides.unit_x / sides.unit_z, -_STEEPEST, _STEEPEST))
    found = minimize(parts.deviance, np.array([first, 0.8, 0.3]), method="BFGS", options={"gtol": 1e-6})
    best = np.asarray(found.x, dtype=np.float64)
    slope = float(best[0]) * sides.unit_z / sides.unit_x
    std_error = _std_error(parts, best)
    return AnotherLine(
        slope=slope,
        intercept=sides.mean_z - slope * sides.mean_x,
        slope_std_error=None if std_error is None else std_error * sides.unit_z / sides.unit_x,
    )


class _Parts:
    def __init__(self, sides: Sides) -> None:
        problems = sides.all_models()
        p = problems.x.shape[1]
        self.n = p
        self.y = np.concatenate([problems.x[0], problems.z[0]])
        self.fixed = np.zeros((2 * p, 2 * p))
        self.fixed[:p, :p], self.fixed[p:, p:] = problems.v_x[0], problems.v_z[0] + sides.floor * np.eye(p)
        rows_cross = sides.contrast_cross()
        self.fixed[:p, p:], self.fixed[p:, :p] = rows_cross, rows_cross.T

    def deviance(self, at: FloatArray) -> float:
        """-2 log likelihood but for a constant, at slope, sd of true lab scores and tau (signs of sds do not matter)."""
        p = self.n
        slope, s2, tau2 = float(at[0]), float(at[1]) ** 2, float(at[2]) ** 2
        table = self.fixed.copy()
        at_x: IntArray = np.arange(p, dtype=np.int64)
        at_z = at_x + p
        table[at_x, at_x] += s2
        table[at_z, at_z] += slope**2 * s2 + tau2
        table[at_x, at_z] += slope * s2
        table[at_z, at_x] += slope * s2
        try:
            root = np.linalg.cholesky(table)
        except np.linalg.LinAlgError:
            return _WALL
        white = solve_triangular(root, self.y, lower=True, check_finite=False)
        return float(white @ white) + 2.0 * float(np.log(np.diag(root)).sum())


def _std_error(parts: _Parts, best: FloatArray) -> float | None:
    """Return the slope's error from the curvature of the likelihood; where a spread is 0 it is held there."""
    free = np.array([True, abs(best[1]) > _STEP, abs(best[2]) > _STEP])
    places = np.flatnonzero(free)
    table = np.empty((places.size, places.size))
    for i, one in enumerate(places):
        for j, other in enumerate(places):
            total = 0.0
            for up in (1.0, -1.0):
                for over in (1.0, -1.0):
                    at = best.copy()
                    at[one] += up * _STEP
                    at[other] += over * _STEP
                    total += up * over * parts.deviance(at)
            table[i, j] = total / (8.0 * _STEP**2)
    if float(np.linalg.eigvalsh(table)[0]) <= 0.0:
        return None
    return math.sqrt(float(np.linalg.inv(table)[0, 0]))
