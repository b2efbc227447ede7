"""The slope that makes residuals smallest against their noise: many small problems of one size, searched at once.

All is told of *contrasts* between models, so that an intercept, and whatever moves all models alike, drops out. With contrasts
x of the lab and z of the live scores, and a line at the angle theta, the residuals and their covariance are

    u(theta) = cos(theta) z - sin(theta) x
    W(theta, tau2) = cos^2 (V_z + tau2 I) + sin^2 V_x - sin cos (V_xz + V_zx)

and S(theta, tau2) = u' W^-1 u is York's sum. Angles rather than slopes: S is periodic and smooth in them, and steep lines are
as easy as flat ones. Problems are scaled so that both sides have unit spread.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstats.stats.checks import FloatArray, IntArray

_N_ANGLES = 12
_MOST_STEPS = 80
_LONGEST_TURN = 0.2
_ROUNDS = 4
_HALVINGS = 45
_CLOSE = 1e-11


@dataclass(frozen=True, slots=True, kw_only=True)
class Problems:
    """Problems of one size, each with scores as contrasts and the covariances of their errors.

    Attributes
    ----------
    x, z
        float64, shape (n_problems, n_contrasts).
    v_x, v_z, v_cross
        float64, shape (n_problems, n_contrasts, n_contrasts); `v_cross` is V_xz + V_zx, None where sides are independent.
    """

    x: FloatArray
    z: FloatArray
    v_x: FloatArray
    v_z: FloatArray
    v_cross: FloatArray | None

    def take(self, at: IntArray) -> "Problems":
        """Keep some of the problems."""
        cross = None if self.v_cross is None else self.v_cross[at]
        return Problems(x=self.x[at], z=self.z[at], v_x=self.v_x[at], v_z=self.v_z[at], v_cross=cross)

    def repeat(self, n: int) -> "Problems":
        """Repeat the only problem."""
        return self.take(np.zeros(n, dtype=np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Where S is smallest, for each problem: angle (radians), tau2, S there, and whether the search came to rest."""

    angle: FloatArray
    tau2: FloatArray
    statistic: FloatArray
    converged: npt.NDArray[np.bool_]


def solved(table: FloatArray, right: FloatArray) -> FloatArray:
    """Solve table @ answer = right for stacks of matrices."""
    return np.asarray(np.linalg.solve(table, right), dtype=np.float64)


def noise(problems: Problems, angle: FloatArray, tau2: FloatArray) -> FloatArray:
    """Return W(angle, tau2), shape (n_problems, n_contrasts, n_contrasts)."""
    c, s = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    table: FloatArray = c**2 * problems.v_z + s**2 * problems.v_x
    if problems.v_cross is not None:
        table -= c * s * problems.v_cross
    at: IntArray = np.arange(problems.x.shape[1])
    table[:, at, at] += (np.cos(angle) ** 2 * tau2)[:, None]
    return table


def york_sum(problems: Problems, angle: FloatArray, tau2: FloatArray) -> FloatArray:
    """Return S for each problem at its own angle and tau2."""
    u = np.cos(angle)[:, None] * problems.z - np.sin(angle)[:, None] * problems.x
    g = solved(noise(problems, angle, tau2), u[..., None])[..., 0]
    return (u * g).sum(axis=1)


def lowest(problems: Problems, tau2: FloatArray) -> Lines:
    """Return the lowest point of S over all angles, tau2 (n_problems,) being given."""
    return _searched(problems, tau2, None)


def with_spread(problems: Problems, target: FloatArray, floor: float) -> tuple[Lines, Lines]:
    """Return the lines at tau2 = floor, and those whose tau2 brings the lowest S down to `target`.

    The lowest S falls as tau2 grows, so there is one such tau2; where S is at or below the target already at the floor, the
    second is the first.
    """
    plain = lowest(problems, np.full(problems.x.shape[0], floor))
    over = np.flatnonzero(plain.statistic > target)
    if over.size == 0:
        return plain, plain
    part = _searched(problems.take(over), plain.tau2[over], target[over], plain.angle[over])
    if not part.converged.all():
        stuck = np.flatnonzero(~part.converged)
        part = _with(part, stuck, _bracketed(problems.take(over[stuck]), target[over[stuck]], floor))
    return plain, _with(plain, over, part)


def _with(lines: Lines, at: IntArray, part: Lines) -> Lines:
    """Put other lines in some places."""
    angle, tau2, statistic = lines.angle.copy(), lines.tau2.copy(), lines.statistic.copy()
    converged = lines.converged.copy()
    angle[at], tau2[at], statistic[at], converged[at] = part.angle, part.tau2, part.statistic, part.converged
    return Lines(angle=angle, tau2=tau2, statistic=statistic, converged=converged)


def _bracketed(problems: Problems, target: FloatArray, floor: float) -> Lines:
    """Halve an interval of log tau2, with the lowest S at each: slow, and sure even where the lowest S jumps between angles."""
    low, high = np.full(target.size, max(floor, 1e-12)), np.full(target.size, 1e3)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        above = lowest(problems, middle).statistic > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    found = lowest(problems, high)
    return Lines(angle=found.angle, tau2=high, statistic=found.statistic, converged=found.converged)


def _searched(
    problems: Problems, tau2: FloatArray, target: FloatArray | None, angle: FloatArray | None = None
) -> Lines:
    """Newton from the best angle of a grid; where the grid then shows a lower S elsewhere, again from there."""
    tau2 = tau2.copy()
    if angle is None:
        angle, _ = _best_of_grid(problems, tau2)
    angle = angle.copy()
    low = tau2.copy()
    statistic, converged = np.empty_like(tau2), np.zeros(tau2.size, dtype=np.bool_)
    at = np.arange(tau2.size)
    for _ in range(_ROUNDS):
        part = problems.take(at)
        found = _newton(part, angle[at], tau2[at], None if target is None else target[at], low[at])
        angle[at], tau2[at], statistic[at], converged[at] = found.angle, found.tau2, found.statistic, found.converged
        elsewhere, value = _best_of_grid(part, tau2[at])
        lower = value < statistic[at] - 1e-7 * (1.0 + statistic[at])
        if not lower.any():
            break
        at = at[lower]
        angle[at], converged[at] = elsewhere[lower], False
    turned = np.remainder(angle + np.pi / 2, np.pi) - np.pi / 2
    return Lines(angle=turned, tau2=tau2, statistic=statistic, converged=converged)


def _best_of_grid(problems: Problems, tau2: FloatArray) -> tuple[FloatArray, FloatArray]:
    # Half steps, so that neither the flat nor the vertical line, where noise may be singular, is among the angles.
    angles: FloatArray = (np.arange(_N_ANGLES) + 0.5) * np.pi / _N_ANGLES - np.pi / 2
    values: FloatArray = np.stack([york_sum(problems, np.full(tau2.size, angle), tau2) for angle in angles])
    best = values.argmin(axis=0)
    return angles[best], values[best, np.arange(tau2.size)]


def _newton(
    problems: Problems, angle: FloatArray, tau2: FloatArray, target: FloatArray | None, floor: FloatArray
) -> Lines:
    """Newton's steps for dS/dangle = 0 and, with a target, S = target; each problem stops on its own."""
    angle, tau2 = angle.copy(), tau2.copy()
    statistic, converged = np.empty_like(tau2), np.zeros(tau2.size, dtype=np.bool_)
    at = np.arange(tau2.size)
    for _ in range(_MOST_STEPS):
        s, turn, spread = _step(problems.take(at), angle[at], tau2[at], None if target is None else target[at])
        angle[at] += turn
        before = tau2[at]
        tau2[at] = np.clip(before + spread, floor[at], 10.0 * (before + 1.0))
        statistic[at] = s
        rest = (np.abs(turn) < _CLOSE) & (np.abs(tau2[at] - before) <= _CLOSE * (1e-3 + before))
        converged[at] = rest
        at = at[~rest]
        if at.size == 0:
            break
    return Lines(angle=angle, tau2=tau2, statistic=statistic, converged=converged)


def _step(
    problems: Problems, angle: FloatArray, tau2: FloatArray, target: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """S at the point, and the steps of angle and tau2."""
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    u, du = c * problems.z - s * problems.x, -s * problems.z - c * problems.x
    w = noise(problems, angle, tau2)
    first = solved(w, np.stack([u, du], axis=2))
    g, dg = first[..., 0], first[..., 1]
    dw, ddw = _turned_noise(problems, angle, tau2)
    wg = (dw @ g[..., None])[..., 0]
    second = solved(w, wg[..., None])[..., 0]
    value = _dot(u, g)
    slope = 2 * _dot(du, g) - _dot(g, wg)
    gauss = 2 * _dot(du, dg) - 4 * _dot(dg, wg) + 2 * _dot(wg, second)
    bend = -2 * value + gauss - _dot(g, (ddw @ g[..., None])[..., 0])
    # Where S is not bowl-shaped, the part of its curvature that cannot be negative.
    bend = np.where(bend > 1e-3 * gauss, bend, gauss + 1e-12)
    if target is None:
        return value, np.clip(-slope / bend, -_LONGEST_TURN, _LONGEST_TURN), np.zeros_like(angle)
    cos, sin = c[:, 0], s[:, 0]
    by_tau2 = -(cos**2) * _dot(g, g)
    mixed = 2 * cos * sin * _dot(g, g) - 2 * cos**2 * _dot(g, dg - second)
    # 1/S is nearly straight in tau2 where S is not: the step is Newton's for 1/S = 1/target.
    short = -(value - target) * value / target
    whole = bend * by_tau2 - mixed * slope
    sound = whole < 0.1 * bend * by_tau2
    divisor = np.where(sound, whole, bend * by_tau2)
    turn = np.where(sound, (-slope * by_tau2 - mixed * short) / divisor, -slope / bend)
    spread = np.where(sound, (bend * short + slope * slope) / divisor, short / by_tau2)
    return value, np.clip(turn, -_LONGEST_TURN, _LONGEST_TURN), spread


def _turned_noise(problems: Problems, angle: FloatArray, tau2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second derivative of W by the angle."""
    double, cosine = np.sin(2 * angle)[:, None, None], np.cos(2 * angle)[:, None, None]
    apart: FloatArray = problems.v_x - problems.v_z
    at: IntArray = np.arange(problems.x.shape[1])
    apart[:, at, at] -= tau2[:, None]
    first, second = double * apart, 2 * cosine * apart
    if problems.v_cross is not None:
        first = first - cosine * problems.v_cross
        second = second + 2 * double * problems.v_cross
    return first, second


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return (a * b).sum(axis=1)
