"""Search for the minimum of a deviance whose gradient is known: quasi-Newton steps, then Newton's with a Hessian by differences.

The entries of theta need no bounds. A column of a covariance factor may change its sign without changing the model, so the
deviance is an even function there, a variance of 0 is an ordinary stationary point, and no step can leave the model.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from evalstats.stats.mixed.design import Floats
from evalstats.stats.mixed.laplace import Point

Evaluate = Callable[[Floats], Point]

ENOUGH = 1e-9  # fall of the deviance still to be had, by the quadratic model, at which the quasi-Newton search stops
FARTHEST_THETA = 30.0  # logits: a variance that has come this far runs to infinity
LONGEST_THETA = 1.0  # largest change of an entry of theta in one step, in logits


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where a search ended: the point, the approximate Hessian there, and how it went."""

    point: Point
    hessian: Floats
    converged: bool
    n_evaluations: int


def quasi_newton(
    evaluate: Evaluate,
    x: Floats,
    first: Point,
    hessian: Floats,
    *,
    n_theta: int,
    max_steps: int = 200,
    enough: float = ENOUGH,
) -> Found:
    """Return the minimum by damped BFGS from `x`, where `evaluate` gave `first`; `hessian` must be positive definite.

    Every step is shortened until the deviance falls (Armijo), so the search cannot diverge. The update of the Hessian is
    Powell's damped one, which keeps it positive definite (Nocedal & Wright 2006, section 18.3).
    """
    point, n_evaluations = first, 0
    for _ in range(max_steps):
        gradient = point.gradient
        step = -_divided(hessian, gradient)
        fall = -0.5 * float(gradient @ step)
        if fall < enough:
            return Found(point=point, hessian=hessian, converged=True, n_evaluations=n_evaluations)
        if np.abs(x[:n_theta]).max(initial=0.0) > FARTHEST_THETA:
            break
        longest = float(np.abs(step[:n_theta]).max(initial=0.0))
        part = min(1.0, LONGEST_THETA / longest) if longest > 0 else 1.0
        while True:
            new = evaluate(x + part * step)
            n_evaluations += 1
            rise = new.deviance - point.deviance
            if rise <= -1e-4 * part * 2.0 * fall or part < 1e-8 or (fall < 1e-6 and rise < 1e-8):
                break
            # The minimum of the parabola through both values and the first slope, kept between a tenth and a half.
            slope = -2.0 * fall * part
            part *= float(np.clip(-0.5 * slope / max(rise - slope, 1e-300), 0.1, 0.5))
        if new.deviance > point.deviance:
            return Found(point=point, hessian=hessian, converged=fall < 1e-5, n_evaluations=n_evaluations)
        moved = part * step
        hessian = _damped_update(hessian, moved, new.gradient - gradient)
        x, point = x + moved, new
    return Found(point=point, hessian=hessian, converged=False, n_evaluations=n_evaluations)


def _divided(hessian: Floats, gradient: Floats) -> Floats:
    """Return the inverse of the Hessian times the gradient; what is not positive definite by rounding is made so."""
    try:
        return linalg.cho_solve(linalg.cho_factor(hessian), gradient)
    except linalg.LinAlgError:
        return linalg.cho_solve(linalg.cho_factor(positive(hessian, 1e-8 * float(np.trace(hessian)))), gradient)


def _damped_update(hessian: Floats, moved: Floats, change: Floats) -> Floats:
    along = hessian @ moved
    expected, seen = float(moved @ along), float(moved @ change)
    if expected <= 0.0:
        return hessian
    if seen < 0.2 * expected:
        share = 0.8 * expected / (expected - seen)
        change = share * change + (1.0 - share) * along
        seen = float(moved @ change)
    return hessian - np.outer(along, along) / expected + np.outer(change, change) / seen


def difference_columns(evaluate: Evaluate, x: Floats, which: list[int], lengths: Floats) -> Floats:
    """Columns of the Hessian by central differences of the gradient, shape (n, len(which))."""
    out = np.empty((x.size, len(which)))
    for k, i in enumerate(which):
        ends: list[Floats] = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[i] += sign * lengths[i]
            ends.append(evaluate(moved).gradient)
        out[:, k] = (ends[0] - ends[1]) / (2.0 * lengths[i])
    return out


def positive(hessian: Floats, floor: float) -> Floats:
    """Return the matrix with its eigenvalues replaced by their absolute values, at least `floor`."""
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    return (vectors * np.maximum(np.abs(values), floor)) @ vectors.T
