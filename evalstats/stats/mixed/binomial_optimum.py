"""The optimum of a binomial mixed model's deviance: start, search, zero variances, Hessian."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from evalstats.stats.mixed.design import Floats, Ints, MixedDesign
from evalstats.stats.mixed.laplace import Cells, Point, find_modes, profiled
from evalstats.stats.mixed.laplace_factor import Blocks

Evaluate = Callable[[Floats], Point]

ENOUGH = 1e-9  # fall of the deviance still to be had, by the quadratic model, at which the quasi-Newton search stops
FARTHEST_THETA = 30.0  # logits: a variance that has come this far runs to infinity
LONGEST_THETA = 1.0  # largest change of an entry of theta in one step, in logits
Criterion = Callable[[Cells, Floats, Floats, Blocks], Point]
TRY_ZERO = 0.2  # a standard deviation of effects below this is compared with 0
EVEN = 1e-6  # how far the deviance at 0 may lie above that at a small variance
DIFFERENCE = 2e-3  # step of the differences, in standard errors
LONGEST_DIFFERENCE = 0.02  # logits: for a theta about which the data say nearly nothing
TINY = 1e-20
MOST_STEPS = 200
FAR = 0.05  # standard errors: a Hessian is taken again where the point has moved farther
SETTLED = 1e-6  # fall of the deviance still to be had, by the quadratic model, in a converged fit


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
) -> Found:
    """Return the minimum by damped BFGS from `x`, where `evaluate` gave `first`; `hessian` must be positive definite.

    Every step is shortened until the deviance falls (Armijo), so the search cannot diverge. The update of the Hessian is
    Powell's damped one, which keeps it positive definite (Nocedal & Wright 2006, section 18.3).
    """
    point, n_evaluations = first, 0
    for _ in range(MOST_STEPS):
        gradient = point.gradient
        step = -_divided(hessian, gradient)
        fall = -0.5 * float(gradient @ step)
        if fall < ENOUGH:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """Where the search ended.

    `held` says which entries of theta are 0 because a variance is; `hessian` is that of the deviance in all others and beta,
    None where it was not asked for; `fall` what the quadratic model says could still be gained.
    """

    point: Point
    held: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
    hessian: Floats | None
    fall: float
    settled: bool
    n_evaluations: int


class Objective:
    """A deviance as a function of x = (theta, beta); every evaluation begins at the random effects of the last."""

    def __init__(self, cells: Cells, criterion: Criterion, effects: Blocks) -> None:
        self.cells, self.criterion, self.effects = cells, criterion, effects
        self.n_evaluations = 0

    def __call__(self, x: Floats) -> Point:
        """Return the deviance and its gradient at x."""
        k = self.cells.design.n_theta
        point = self.criterion(self.cells, x[:k], x[k:], self.effects)
        self.effects = point.effects
        self.n_evaluations += 1
        return point


def profiled_optimum(cells: Cells, theta: Floats, beta: Floats) -> Optimum:
    """Return the optimum over theta alone, beta being found with the modes (lme4's nAGQ = 0)."""
    state: dict[str, Point] = {}

    def evaluate(x: Floats) -> Point:
        last = state.get("last")
        point = profiled(
            cells, x, beta if last is None else last.beta, cells.no_effects() if last is None else last.effects
        )
        state["last"] = point
        return point

    first = evaluate(theta)
    lengths = np.full(theta.size, 1e-3)
    hessian = positive(difference_columns(evaluate, theta, list(range(theta.size)), lengths), floor=0.1)
    found = quasi_newton(evaluate, theta, first, hessian, n_theta=theta.size)
    point, n_evaluations = found.point, found.n_evaluations + 1 + 2 * theta.size
    point, tried = _try_zeros(cells.design, point, evaluate)
    return Optimum(
        point=point,
        held=held_entries(cells.design, point.theta),
        hessian=None,
        fall=0.0,
        settled=found.converged,
        n_evaluations=n_evaluations + tried,
    )


def joint_optimum(cells: Cells, criterion: Criterion, start: Point, *, with_hessian: bool = True) -> Optimum:
    """Return the optimum over theta and beta together, from a point near it."""
    k = cells.design.n_theta
    objective = Objective(cells, criterion, start.effects)
    x = np.concatenate([start.theta, start.beta])
    first = objective(x)
    found = quasi_newton(objective, x, first, _starting_hessian(objective, x), n_theta=k)
    point, _ = _try_zeros(cells.design, found.point, lambda theta: objective(np.concatenate([theta, found.point.beta])))
    held = held_entries(cells.design, point.theta)
    free = np.flatnonzero(np.concatenate([~held, np.ones(point.beta.size, dtype=bool)])).astype(np.int64)
    exact, fall = None, _fall(point.gradient[free], found.hessian[np.ix_(free, free)])
    if with_hessian:
        exact, point, fall = _polish(objective, point, free, found.hessian)
    return Optimum(
        point=point,
        held=held,
        hessian=exact,
        fall=fall,
        settled=fall < SETTLED if with_hessian else found.converged,
        n_evaluations=objective.n_evaluations,
    )


def _polish(objective: Objective, point: Point, free: Ints, rough: Floats) -> tuple[Floats, Point, float]:
    """Newton's steps in the free entries with the Hessian by differences, taken again where the point has moved far."""
    x = np.concatenate([point.theta, point.beta])
    curvature: Floats = np.diag(rough)[free]
    taken_at: Floats = x
    exact: Floats = np.empty((0, 0))
    for step_number in range(12):
        if step_number == 0 or float(np.abs((x - taken_at)[free] * np.sqrt(curvature)).max()) > FAR:
            lengths = np.zeros(x.size)
            lengths[free] = DIFFERENCE / np.sqrt(np.maximum(curvature, TINY))
            lengths[: point.theta.size] = np.minimum(lengths[: point.theta.size], LONGEST_DIFFERENCE)
            exact = difference_columns(objective, x, free.tolist(), lengths)[free]
            exact = 0.5 * (exact + exact.T)
            curvature, taken_at = np.maximum(np.diag(exact), TINY), x
        gradient = point.gradient[free]
        fall = _fall(gradient, exact)
        if not 1e-13 < fall < np.inf:
            break
        move = np.zeros(x.size)
        move[free] = -linalg.cho_solve(linalg.cho_factor(exact), gradient)
        new = objective(x + move)
        rounding = 1e-12 * abs(point.deviance) + 1e-10
        if new.deviance > point.deviance + rounding:
            break
        better = _fall(new.gradient[free], exact)
        if better > 0.25 * fall and fall < 1e-9:  # no more to be had than rounding leaves
            break
        x, point = x + move, new
    return exact, point, _fall(point.gradient[free], exact)


def _fall(gradient: Floats, hessian: Floats) -> float:
    """Fall of the deviance to the minimum of its parabola; infinite where there is none."""
    try:
        return 0.5 * float(gradient @ linalg.cho_solve(linalg.cho_factor(hessian), gradient))
    except linalg.LinAlgError:
        return float("inf")


def _starting_hessian(objective: Objective, x: Floats) -> Floats:
    """Curvature in beta from the weights, in theta and across by differences; positive definite."""
    cells = objective.cells
    k = cells.design.n_theta
    modes = find_modes(cells, x[:k], x[k:], objective.effects)
    precision = cells.fixed_precision(modes)
    lengths = np.full(x.size, 1e-3)
    columns = difference_columns(objective, x, list(range(k)), lengths)
    inner = 2.0 * precision
    factor = linalg.cho_factor(inner)
    across = columns[k:]
    beyond = columns[:k] - across.T @ linalg.cho_solve(factor, across)
    out = np.empty((x.size, x.size))
    out[k:, k:] = inner
    out[k:, :k], out[:k, k:] = across, across.T
    out[:k, :k] = positive(beyond, floor=0.1) + across.T @ linalg.cho_solve(factor, across)
    return out


def canonical(design: MixedDesign, theta: Floats, zero: float = 0.0) -> Floats:
    """Return the theta of the same covariances whose factors have no negative diagonal.

    A column whose diagonal entry is at most `zero` is set to 0; what it carried goes to later columns, so that a singular
    covariance has one theta only.
    """
    out: list[Floats] = []
    for factor in design.factors(theta):
        rest, size = factor @ factor.T, len(factor)
        made = np.zeros_like(factor)
        for j in range(size):
            if rest[j, j] > zero**2:
                made[j:, j] = rest[j:, j] / np.sqrt(rest[j, j])
                rest = rest - np.outer(made[:, j], made[:, j])
        columns, rows = np.triu_indices(size)
        out.append(made[rows, columns])
    return np.concatenate(out)


def held_entries(design: MixedDesign, theta: Floats) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Say which entries of theta belong to columns that are 0."""
    out: list[bool] = []
    for factor in design.factors(theta):
        for j in range(len(factor)):
            out += [bool(factor[j, j] == 0.0)] * (len(factor) - j)
    return np.array(out)


def _try_zeros(design: MixedDesign, point: Point, evaluate: Callable[[Floats], Point]) -> tuple[Point, int]:
    """Return the point with small standard deviations set to 0 wherever the deviance does not rise by it."""
    best, tried = point, 0
    start = canonical(design, point.theta)
    first = 0
    for term in design.terms:
        at = slice(first, first + term.n_theta)
        diagonal = [first + sum(term.n_columns - i for i in range(j)) for j in range(term.n_columns)]
        small = sorted(float(start[j]) for j in diagonal if start[j] < TRY_ZERO)
        for size in reversed(small):
            theta = canonical(design, best.theta)
            theta[at] = canonical(design, theta, size)[at]
            new = evaluate(theta)
            tried += 1
            if new.deviance <= best.deviance + EVEN:
                best = new
                break
        first += term.n_theta
    if best is point and not np.array_equal(start, point.theta):
        best, tried = evaluate(start), tried + 1
    return best, tried
