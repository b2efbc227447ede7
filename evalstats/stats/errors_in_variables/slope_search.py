"""The slope and the spread of true gaps at which York's sum of squares is lowest, for many problems at once."""

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.linalg import helmert

from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, is_constant
from evalstats.stats.errors_in_variables.scores import LabLiveScores

_N_ANGLES = 12
_MOST_STEPS = 80
_LONGEST_TURN = 0.2
_ROUNDS = 4
_HALVINGS = 45
_CLOSE_ENOUGH = 1e-11


@record
class Problems:
    """Problems of one size: scores as contrasts (n_problems, n_contrasts), and the covariances of their errors.

    `v_cross` is V_xz + V_zx, None where sides are independent.
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


@record
class Lines:
    """Where S is smallest, for each problem: angle (radians), tau2, S there, and whether the search came to rest."""

    angle: FloatArray
    tau2: FloatArray
    statistic: FloatArray
    converged: npt.NDArray[np.bool_]

    def first(self) -> "Lines":
        """Keep the first problem."""
        return Lines(
            angle=self.angle[:1], tau2=self.tau2[:1], statistic=self.statistic[:1], converged=self.converged[:1]
        )


def solved(table: FloatArray, right: FloatArray) -> FloatArray:
    """Solve table @ answer = right for stacks of matrices."""
    return np.asarray(np.linalg.solve(table, right), dtype=np.float64)


def noise(problems: Problems, angle: FloatArray, tau2: FloatArray) -> FloatArray:
    """Return W(angle, tau2), shape (n_problems, n_contrasts, n_contrasts)."""
    c, s = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    table: FloatArray = c**2 * problems.v_z + s**2 * problems.v_x
    if problems.v_cross is not None:
        table -= c * s * problems.v_cross
    at: IntArray = np.arange(problems.x.shape[1], dtype=np.int64)
    table[:, at, at] += (np.cos(angle) ** 2 * tau2)[:, None]
    return table


def york_sum(problems: Problems, angle: FloatArray, tau2: FloatArray) -> FloatArray:
    """Return S for each problem at its own angle and tau2."""
    u = np.cos(angle)[:, None] * problems.z - np.sin(angle)[:, None] * problems.x
    g = solved(noise(problems, angle, tau2), u[..., None])[..., 0]
    return (u * g).sum(axis=1)


def lowest(problems: Problems, tau2: FloatArray) -> Lines:
    """Return the lowest point of S over all angles, tau2 (n_problems,) being given."""
    angle, _ = _best_of_grid(problems, tau2)
    return _searched(problems, angle, tau2, None, tau2)


def with_spread(problems: Problems, target: FloatArray, floor: float, *, angle: FloatArray, tau2: FloatArray) -> Lines:
    """Return the lines whose tau2 brings the lowest S down to `target`, from a first guess of angle and tau2.

    The lowest S falls as tau2 grows, so there is one such tau2; where S is at or below the target already at tau2 = floor, the
    line is the one there.
    """
    found = _searched(problems, angle, tau2, target, np.full(target.size, floor))
    stuck = np.flatnonzero(~found.converged)
    if stuck.size:
        part = _bracketed(problems.take(stuck), target[stuck], floor)
        for name in ("angle", "tau2", "statistic", "converged"):
            getattr(found, name)[stuck] = getattr(part, name)
    return found


def _bracketed(problems: Problems, target: FloatArray, floor: float) -> Lines:
    """Halve an interval of log tau2, with the lowest S at each: slow, and sure even where the lowest S jumps between angles."""
    least = np.full(target.size, floor)
    plain = lowest(problems, least)
    low, high = np.full(target.size, max(floor, 1e-12)), np.full(target.size, 1e3)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        above = lowest(problems, middle).statistic > target
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return lowest(problems, np.where(plain.statistic > target, high, least))


def _searched(
    problems: Problems, angle: FloatArray, tau2: FloatArray, target: FloatArray | None, floor: FloatArray
) -> Lines:
    """Newton from a first guess; where a grid of angles then shows a lower S elsewhere, again from there."""
    angle, tau2 = angle.copy(), tau2.copy()
    statistic, converged = np.empty_like(tau2), np.zeros(tau2.size, dtype=np.bool_)
    at: IntArray = np.arange(tau2.size)
    part = problems
    for _ in range(_ROUNDS):
        found = _newton(part, angle[at], tau2[at], None if target is None else target[at], floor[at])
        angle[at], tau2[at], statistic[at], converged[at] = found.angle, found.tau2, found.statistic, found.converged
        elsewhere, value = _best_of_grid(part, tau2[at])
        lower = np.flatnonzero(value < statistic[at] - 1e-7 * (1.0 + statistic[at]))
        if lower.size == 0:
            break
        at, part = at[lower], part.take(lower)
        angle[at], converged[at] = elsewhere[lower], False
    turned = np.remainder(angle + np.pi / 2, np.pi) - np.pi / 2
    return Lines(angle=turned, tau2=tau2, statistic=statistic, converged=converged)


def _best_of_grid(problems: Problems, tau2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the angle with the lowest S of a few, and S there."""
    # Half steps, so that neither the flat nor the vertical line, where noise may be singular, is among the angles.
    angles: FloatArray = (np.arange(_N_ANGLES) + 0.5) * np.pi / _N_ANGLES - np.pi / 2
    table: FloatArray = np.stack([york_sum(problems, np.full(tau2.size, angle), tau2) for angle in angles])
    best = table.argmin(axis=0)
    return angles[best], table[best, np.arange(tau2.size)]


def _newton(
    problems: Problems, angle: FloatArray, tau2: FloatArray, target: FloatArray | None, floor: FloatArray
) -> Lines:
    """Newton's steps for dS/dangle = 0 and, with a target, S = target; each problem stops on its own."""
    angle, tau2 = angle.copy(), tau2.copy()
    statistic, converged = np.empty_like(tau2), np.zeros(tau2.size, dtype=np.bool_)
    at: IntArray = np.arange(tau2.size)
    part = problems
    for _ in range(_MOST_STEPS):
        s, turn, spread = _step(part, angle[at], tau2[at], None if target is None else target[at], floor[at])
        angle[at] += turn
        before = tau2[at]
        tau2[at] = np.clip(before + spread, floor[at], 10.0 * (before + 1.0))
        statistic[at] = s
        rest = (np.abs(turn) < _CLOSE_ENOUGH) & (np.abs(tau2[at] - before) <= _CLOSE_ENOUGH * (1e-3 + before))
        converged[at] = rest
        if rest.all():
            break
        if rest.any():
            moving = np.flatnonzero(~rest)
            at, part = at[moving], part.take(moving)
    return Lines(angle=angle, tau2=tau2, statistic=statistic, converged=converged)


def _step(
    problems: Problems, angle: FloatArray, tau2: FloatArray, target: FloatArray | None, floor: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return S at the point, and the steps of angle and tau2."""
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
    plain = np.clip(-slope / bend, -_LONGEST_TURN, _LONGEST_TURN)
    if target is None:
        return value, plain, np.zeros_like(angle)
    cos, sin = c[:, 0], s[:, 0]
    by_tau2 = -(cos**2) * _dot(g, g)
    mixed = 2 * cos * sin * _dot(g, g) - 2 * cos**2 * _dot(g, dg - second)
    # 1/S is nearly straight in tau2 where S is not: the step is Newton's for 1/S = 1/target.
    short = -(value - target) * value / target
    whole = bend * by_tau2 - mixed * slope
    sound = whole < 0.1 * bend * by_tau2
    divisor = np.where(sound, whole, bend * by_tau2)
    turn = np.where(sound, (-slope * by_tau2 - mixed * short) / divisor, plain)
    spread = np.where(sound, (bend * short + slope * slope) / divisor, short / by_tau2)
    # Nothing to explain is left at the floor: there only the angle moves.
    held = (tau2 <= floor) & (value <= target)
    turn, spread = np.where(held, plain, turn), np.where(held, 0.0, spread)
    return value, np.clip(turn, -_LONGEST_TURN, _LONGEST_TURN), spread


def _turned_noise(problems: Problems, angle: FloatArray, tau2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second derivative of W by the angle."""
    double, cosine = np.sin(2 * angle)[:, None, None], np.cos(2 * angle)[:, None, None]
    apart: FloatArray = problems.v_x - problems.v_z
    at: IntArray = np.arange(problems.x.shape[1], dtype=np.int64)
    apart[:, at, at] -= tau2[:, None]
    first, second = double * apart, 2 * cosine * apart
    if problems.v_cross is not None:
        first = first - cosine * problems.v_cross
        second = second + 2 * double * problems.v_cross
    return first, second


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return (a * b).sum(axis=1)


# A variance below this share of the live spread is rounding: exact scores are taken as known to that.
_EXACT = 1e-9


@cache
def contrast_rows(n: int) -> FloatArray:
    """Return n - 1 orthonormal rows that each sum to 0 (Helmert's), shape (n - 1, n), made once."""
    rows = np.asarray(helmert(n), dtype=np.float64)
    rows.setflags(write=False)
    return rows


@record
class ScaledSides:
    """Both sides centred and divided by `unit_x`, `unit_z`, with full covariances (zeros where none is given).

    `cross` has lab errors in rows. `floor` is the smallest tau2 (in units of z) at which a residual's covariance can be
    inverted; 0 but for exact scores.
    """

    x: FloatArray
    z: FloatArray
    v_x: FloatArray
    v_z: FloatArray
    cross: FloatArray
    has_cross: bool
    unit_x: float
    unit_z: float
    mean_x: float
    mean_z: float
    floor: float

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return self.x.size

    def problems(self, keep: IntArray) -> Problems:
        """Return one problem for each row of places in `keep`, shape (n_problems, n_kept)."""
        rows = contrast_rows(keep.shape[1])

        def cut(table: FloatArray) -> FloatArray:
            return rows @ table[keep[:, :, None], keep[:, None, :]] @ rows.T

        return Problems(
            x=self.x[keep] @ rows.T,
            z=self.z[keep] @ rows.T,
            v_x=cut(self.v_x),
            v_z=cut(self.v_z),
            v_cross=cut(self.cross + self.cross.T) if self.has_cross else None,
        )

    def contrast_cross(self) -> FloatArray:
        """Return the covariance of contrasts of the lab (rows) with those of the live scores (columns)."""
        rows = contrast_rows(self.n_models)
        return rows @ self.cross @ rows.T

    def all_models(self) -> Problems:
        """Return the one problem with all models."""
        return self.problems(np.arange(self.n_models)[None, :])


def scaled_sides(scores: LabLiveScores, least: int = 3) -> ScaledSides:
    """Centre and scale both sides; CannotAnswerError with fewer than `least` models, without errors, or with a constant side."""
    check_models(scores, least)
    if scores.lab_covariance is None or scores.live_covariance is None:
        side = "lab" if scores.lab_covariance is None else "live"
        raise CannotAnswerError(
            f"not every {side} score has a standard error, so that noise cannot be told from a gap; give them with the scores"
        )
    unit_x, unit_z = float(scores.lab.std(ddof=1)), float(scores.live.std(ddof=1))
    mean_x, mean_z = float(scores.lab.mean()), float(scores.live.mean())
    v_x, v_z = scores.lab_covariance / unit_x**2, scores.live_covariance / unit_z**2
    cross = np.zeros_like(v_x) if scores.cross is None else scores.cross / (unit_x * unit_z)
    has_cross = bool(np.abs(cross).max() > 0.0)
    # 0 where the noise of every contrast of residuals is above rounding at any slope.
    rows = contrast_rows(scores.n_models)
    least_noise = rows @ v_z @ rows.T
    if has_cross:
        lab, both = rows @ v_x @ rows.T, rows @ cross @ rows.T
        # What is left of the live noise where the lab noise is known: the least noise that any slope leaves.
        least_noise = least_noise - both.T @ np.linalg.pinv(lab, rcond=_EXACT, hermitian=True) @ both
    return ScaledSides(
        x=(scores.lab - mean_x) / unit_x,
        z=(scores.live - mean_z) / unit_z,
        v_x=v_x,
        v_z=v_z,
        cross=cross,
        has_cross=has_cross,
        unit_x=unit_x,
        unit_z=unit_z,
        mean_x=mean_x,
        mean_z=mean_z,
        floor=0.0 if float(np.linalg.eigvalsh(least_noise)[0]) > _EXACT else _EXACT,
    )


def check_models(scores: LabLiveScores, least: int = 3) -> None:
    """Raise CannotAnswerError with fewer than `least` models or a constant side."""
    n = scores.n_models
    if n < least:
        raise CannotAnswerError(
            f"{n} shared models are too few for a line from lab to live; at least {least} are needed"
        )
    for side, values in (("lab", scores.lab), ("live", scores.live)):
        if is_constant(values):
            raise CannotAnswerError(f"all {n} models have the same {side} score, {values[0]:g}; no line can be drawn")
