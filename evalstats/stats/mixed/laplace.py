"""Laplace's approximation to the likelihood of a binomial mixed model, its conditional modes, and adaptive quadrature."""

import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evalstats.record import record
from evalstats.stats.mixed.design import Floats, Ints, MixedDesign
from evalstats.stats.mixed.laplace_elimination import Blocks, Elimination, EliminationSystem, make_plan

# Squared length of a Newton step in units of the effects' own standard deviations: the step below this one is the last,
# and leaves an error of about its square.
LAST_STEP = 1e-10
ROUNDED = 1e-7
_MOST_AT_ONCE = 1_000_000  # numbers gathered at a time
SHORTEST = 1e-10  # part of a Newton step; a convex criterion falls long before
MAX_STEPS = 200


@record
class Pseudo:
    """Pseudo-observations of the fixed part: `trials[k]` trials, half of them successes, at predictor `rows[k] @ beta`.

    They stand for a prior; random effects are 0 in them. `trials` may be fractions.
    """

    rows: Floats
    trials: Floats

    def log_likelihood(self, beta: Floats) -> float:
        """Sum of trials * (eta / 2 - log(1 + exp(eta)))."""
        eta = self.rows @ beta
        return float(self.trials @ (0.5 * eta - np.logaddexp(0.0, eta)))

    def gradient(self, beta: Floats) -> Floats:
        """Return the derivative of the log-likelihood in beta."""
        return self.rows.T @ (self.trials * (0.5 - _log_failure(self.rows @ beta)[1]))

    def information(self, beta: Floats) -> Floats:
        """Minus the second derivative."""
        mean = _log_failure(self.rows @ beta)[1]
        return self.rows.T @ ((self.trials * mean * (1.0 - mean))[:, None] * self.rows)


@dataclass(frozen=True, slots=True)
class Modes:
    """Random effects at their conditional modes, and the model there.

    `effects` are spherical: one array for each block of the plan, shape (n_columns, n_levels). `criterion` is minus the
    log-likelihood of the cells plus half the squared length of the effects (and minus the prior's part). `mean` is the
    probability of success of every cell, `residual` successes minus expected, `weights` trials * mean * (1 - mean).
    """

    theta: Floats
    beta: Floats
    effects: Blocks
    criterion: float
    mean: Floats
    residual: Floats
    elimination: Elimination

    @property
    def weights(self) -> Floats:
        """Binomial variance of every cell."""
        return self.elimination.weights


class BinomialCells:
    """A binomial model's cells with the plan of its eliminations."""

    def __init__(self, design: MixedDesign) -> None:
        self.design = design
        self.plan = make_plan(design)
        self.system = EliminationSystem(self.plan)
        self.trials = design.count
        self.successes = design.count * design.response
        n_fixed = design.fixed.n_columns
        self.pseudo = Pseudo(rows=np.zeros((0, n_fixed)), trials=np.zeros(0))

    def with_response(self, design: MixedDesign) -> "BinomialCells":
        """Return the same cells with the trials and successes of another response."""
        out = copy.copy(self)
        out.design, out.trials, out.successes = design, design.count, design.count * design.response
        return out

    def with_prior(self, pseudo: Pseudo) -> "BinomialCells":
        """Return the same cells with pseudo-observations beside them."""
        out = copy.copy(self)
        out.pseudo = pseudo
        return out

    def no_effects(self) -> Blocks:
        """Random effects of 0."""
        return [np.zeros((block.size, block.n_levels)) for block in self.plan.blocks]

    def fixed_predictor(self, beta: Floats) -> Floats:
        """Return the fixed part of the linear predictor of every cell, with the offset."""
        out = self.plan.distinct.at_cells(beta)
        return out if self.design.offset is None else out + self.design.offset

    def fixed_sums(self, values: Floats) -> Floats:
        """X' times a value of every cell."""
        return self.plan.distinct.sums(values)

    def fixed_precision(self, modes: "Modes") -> Floats:
        """X'(W - W A H^-1 A'W)X, and the prior's part: the precision of beta at given theta and weights."""
        e = modes.elimination
        if not e.has_fixed:
            e = Elimination(self.system, e.factors, e.columns, e.weights, self.pseudo.information(modes.beta))
        return e.fixed_precision()

    def random_predictor(self, columns: tuple[Floats, ...], effects: Blocks) -> Floats:
        """Random part of the linear predictor of every cell."""
        out = np.zeros(self.plan.n_cells)
        for block, column, effect in zip(self.plan.blocks, columns, effects, strict=True):
            for j in range(len(column)):
                out += column[j] * block.groups.at_cells(effect[j])
        return out

    def random_sums(self, columns: tuple[Floats, ...], values: Floats) -> Blocks:
        """Return A' times a value of every cell, block by block."""
        return [
            np.stack([block.groups.sums(row * values) for row in column])
            for block, column in zip(self.plan.blocks, columns, strict=True)
        ]

    def minus_log_likelihood(self, eta: Floats) -> tuple[float, Floats]:
        """Return minus the log-likelihood of the cells, and their probabilities of success."""
        failure, mean = _log_failure(eta)
        return float(self.trials @ failure - self.successes @ eta), mean

    def losses(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return the same cell by cell."""
        failure, mean = _log_failure(eta)
        return self.trials * failure - self.successes * eta, mean


def find_modes(cells: BinomialCells, theta: Floats, beta: Floats, start: Blocks, *, with_fixed: bool = False) -> Modes:
    """Return the modes of the random effects given theta and beta, or of both (`with_fixed`), given theta.

    The criterion is strictly convex in the random effects, so Newton steps, halved until it falls, find the one minimum.
    """
    factors = cells.plan.factors(theta)
    columns = cells.plan.columns(factors)
    effects = start
    eta = cells.fixed_predictor(beta) + cells.random_predictor(columns, effects)
    minus_log, mean = cells.minus_log_likelihood(eta)
    criterion = minus_log + _half_square(effects) - cells.pseudo.log_likelihood(beta)
    n_steps, last = 0, False
    while True:
        residual = cells.successes - cells.trials * mean
        weights = cells.trials * mean * (1.0 - mean)
        extra = cells.pseudo.information(beta) if with_fixed else None
        elimination = Elimination(cells.system, factors, columns, weights, extra)
        if last or n_steps == MAX_STEPS:
            break
        sides = [s - u for s, u in zip(cells.random_sums(columns, residual), effects, strict=True)]
        side = cells.fixed_sums(residual) + cells.pseudo.gradient(beta) if with_fixed else np.zeros(0)
        steps, step, change = elimination.solve(sides, side)
        fall = sum(float(np.vdot(s, d)) for s, d in zip(sides, steps, strict=True)) + float(side @ step)
        last = fall < LAST_STEP
        part = 1.0
        while True:
            moved = [u + part * d for u, d in zip(effects, steps, strict=True)]
            moved_beta = beta + part * step if with_fixed else beta
            minus_log, mean = cells.minus_log_likelihood(eta + part * change)
            value = minus_log + _half_square(moved) - cells.pseudo.log_likelihood(moved_beta)
            # Close to the minimum the criterion moves by less than it is rounded: the full step is right there.
            if fall < ROUNDED or value <= criterion - 1e-4 * part * fall or part < SHORTEST:
                break
            part *= 0.5
        effects, beta, criterion, eta = moved, moved_beta, value, eta + part * change
        n_steps += 1
    return Modes(theta, beta, effects, criterion, mean, residual, elimination)


def _half_square(effects: Blocks) -> float:
    return 0.5 * sum(float(np.vdot(effect, effect)) for effect in effects)


def _log_failure(eta: Floats) -> tuple[Floats, Floats]:
    """Return minus the logarithm of the probability of failure, and the probability of success."""
    small = np.exp(-np.abs(eta))
    return np.maximum(eta, 0.0) + np.log1p(small), np.where(eta >= 0.0, 1.0, small) / (1.0 + small)


class DeviancePoint(NamedTuple):
    """The deviance and its gradient at one (theta, beta).

    `gradient` is in (theta, beta), or in theta alone where beta was profiled out; `deviance` has the binomial constants
    left out.
    """

    theta: Floats
    beta: Floats
    deviance: float
    gradient: Floats
    effects: Blocks


class CellScores(NamedTuple):
    """What every cell adds to the gradient of half the deviance.

    `fixed`, shape (n_cells,), is to be multiplied by the cell's row of X; `theta` has shape (n_theta, n_cells).
    """

    fixed: Floats
    theta: Floats


def laplace(cells: BinomialCells, theta: Floats, beta: Floats, start: Blocks) -> DeviancePoint:
    """Return the Laplace deviance at (theta, beta) and its gradient; `start` are effects to begin from."""
    modes = find_modes(cells, theta, beta, start)
    scores = cell_scores(cells, modes)
    prior = cells.pseudo.gradient(beta)
    gradient = np.concatenate([scores.theta.sum(axis=1), cells.fixed_sums(scores.fixed) - prior])
    return DeviancePoint(theta, beta, deviance_at(modes), 2.0 * gradient, modes.effects)


def profiled(cells: BinomialCells, theta: Floats, beta: Floats, start: Blocks) -> DeviancePoint:
    """Return the same with beta at the mode it shares with the random effects (lme4's nAGQ = 0), and the gradient in theta.

    `beta` is where the search for the mode begins.
    """
    modes = find_modes(cells, theta, beta, start, with_fixed=True)
    scores = cell_scores(cells, modes)
    return DeviancePoint(theta, modes.beta, deviance_at(modes), 2.0 * scores.theta.sum(axis=1), modes.effects)


def deviance_at(modes: Modes) -> float:
    """Minus twice the Laplace log-likelihood, without the binomial constants."""
    return 2.0 * modes.criterion + modes.elimination.log_determinant


def cell_scores(cells: BinomialCells, modes: Modes) -> CellScores:
    """Return every cell's part of the gradient of half the deviance at given modes.

    Where beta was found together with the modes the solve for q takes it along, and only the part of theta is a gradient.
    """
    plan, elimination, weights = cells.plan, modes.elimination, modes.weights
    inverse = invert(elimination)
    slope = 0.5 * weights * (1.0 - 2.0 * modes.mean) * inverse.of_predictor
    side = cells.fixed_sums(slope) if elimination.has_fixed else None
    pulls, _, change = elimination.solve(cells.random_sums(elimination.columns, slope), side)
    fixed = slope - weights * change - modes.residual
    theta = np.empty((len(plan.entries), plan.n_cells))
    for k, (b, i, j) in enumerate(plan.entries):
        block = plan.blocks[b]
        theta[k] = block.values[i] * (
            fixed * block.groups.at_cells(modes.effects[b][j])
            + modes.residual * block.groups.at_cells(pulls[b][j])
            + weights * inverse.at_cells[b][j]
        )
    return CellScores(fixed=fixed, theta=theta)


def quadrature(cells: BinomialCells, theta: Floats, beta: Floats, start: Blocks, n_points: int) -> DeviancePoint:
    """Return the deviance by quadrature at (theta, beta) and its gradient; `start` are effects to begin from."""
    modes = find_modes(cells, theta, beta, start)
    value, scores = integrate(cells, modes, n_points)
    gradient = np.concatenate([scores.theta.sum(axis=1), cells.fixed_sums(scores.fixed) - cells.pseudo.gradient(beta)])
    return DeviancePoint(theta, beta, 2.0 * (value - cells.pseudo.log_likelihood(beta)), 2.0 * gradient, modes.effects)


def integrate(cells: BinomialCells, modes: Modes, n_points: int) -> tuple[float, CellScores]:
    """Return half the deviance by quadrature at given modes, but for the prior, and every cell's part of its gradient."""
    (block,) = cells.plan.blocks
    groups, z, a = block.groups, block.values[0], modes.elimination.columns[0][0]
    mode, weights = modes.effects[0][0], modes.weights
    curvature = 1.0 + groups.sums(weights * a * a)
    spread = 1.0 / np.sqrt(curvature)
    x, rule = np.polynomial.hermite_e.hermegauss(n_points)
    at = mode + spread * x[:, None]  # (n_points, n_levels)
    base = cells.fixed_predictor(modes.beta)
    log_terms, residuals = np.empty(at.shape), np.empty((n_points, base.size))
    for k, effect in enumerate(at):
        losses, mean = cells.losses(base + a * groups.at_cells(effect))
        residuals[k] = cells.successes - cells.trials * mean
        log_terms[k] = np.log(rule[k] / np.sqrt(2.0 * np.pi)) + 0.5 * (x[k] ** 2 - effect**2) - groups.sums(losses)
    top = log_terms.max(axis=0)
    shares = np.exp(log_terms - top)
    total = shares.sum(axis=0)
    shares /= total
    value = float((0.5 * np.log(curvature) - top - np.log(total)).sum())

    slopes = np.stack([u - groups.sums(a * r) for u, r in zip(at, residuals, strict=True)])
    first, second = (shares * slopes).sum(axis=0), (shares * slopes * x[:, None]).sum(axis=0)
    kappa = 0.5 * (1.0 - spread * second) / curvature
    at_cells = np.stack([groups.at_cells(share) for share in shares])
    mean_residual = (at_cells * residuals).sum(axis=0)
    mean_product = sum(s * r * groups.at_cells(u) for s, r, u in zip(at_cells, residuals, at, strict=True))
    slope = groups.at_cells(kappa) * weights * (1.0 - 2.0 * modes.mean) * a * a
    pull = groups.at_cells((first + groups.sums(slope * a)) / curvature)
    own = slope - pull * a * weights
    theta = z * (
        own * groups.at_cells(mode) - mean_product + pull * modes.residual + 2.0 * groups.at_cells(kappa) * weights * a
    )
    return value, CellScores(fixed=own - mean_residual, theta=theta[None, :])


class EffectCovariances(NamedTuple):
    """Covariances under precision H: `of_predictor` that of the linear predictor of every cell with itself, a_c' H^-1 a_c.

    `at_cells` holds for every block the covariance of the effects of a cell's level with the linear predictor of that cell,
    H^-1 a_c as far as the block's own level, shape (n_columns, n_cells); `blocks` the covariance matrix of the effects of every
    level, shape (n_columns, n_columns, n_levels).
    """

    at_cells: list[Floats]
    of_predictor: Floats
    blocks: list[Floats]


def invert(elimination: Elimination) -> EffectCovariances:
    """Return the entries of the inverse between effects that meet in a cell."""
    plan = elimination.plan
    walk = _Covariances(elimination)
    for b in reversed(plan.chain):
        walk.add(b)
    at_cells: list[Floats] = [np.empty(0)] * len(plan.blocks)
    later = [*plan.chain, *plan.rest]
    variance = np.zeros(plan.n_cells)
    for b in later:
        total = np.zeros((plan.blocks[b].size, plan.n_cells))
        for other in later:
            total += walk.with_predictor(b, other)
        at_cells[b] = total
        variance += (elimination.columns[b] * total).sum(axis=0)
    blocks = [np.empty(0)] * len(plan.blocks)
    for b in plan.chain:
        blocks[b] = walk.within[b, b]
    for b in plan.rest:
        blocks[b] = walk.of_rest(b)
    if plan.has_leaf:
        variance = _add_leaf(elimination, at_cells, variance, blocks)
    return EffectCovariances(at_cells=at_cells, of_predictor=variance, blocks=blocks)


class _Covariances:
    """Covariances found so far.

    `within[s, t]`, t >= s, is the covariance of the effects of a level of s and of the level of t that it lies in, shape
    (n_columns of s, n_columns of t, n_levels of s); `toward[s]` minus that with all effects of the rest, shape
    (n_columns, n_levels, n_random), along the axis of the component of the level; `rest` the covariance of the rest.
    """

    def __init__(self, elimination: Elimination) -> None:
        self.e, self.plan = elimination, elimination.plan
        self.within: dict[tuple[int, int], Floats] = {}
        self.toward: dict[int, Floats] = {}
        self.layout = elimination.plan.layout
        self.rest = np.empty((0, 0, 0)) if elimination.rest is None else elimination.rest.covariance()
        self.slots = dict(zip(self.plan.rest, self.layout.slots, strict=True))

    def parent(self, s: int, t: int) -> Ints:
        """Level of t in which each level of s lies."""
        out = np.zeros(self.plan.blocks[s].n_levels, dtype=np.int64)
        out[self.plan.blocks[s].groups.level] = self.plan.blocks[t].groups.level
        return out

    def add(self, s: int) -> None:
        """Find the covariances of the effects of block s of the chain, all later ones being known."""
        e = self.e
        groups, left, inverse = e.plan.blocks[s].groups, e.left[s], e.inverse[s]
        later = [t for t in e.plan.chain if t > s]
        cross = {
            t: np.stack([np.stack([groups.sums(row * column) for column in e.columns[t]]) for row in left])
            for t in later
        }
        coupling: Floats | None = None
        if self.plan.n_rest:
            pairs, scaling = e.system.gram(s), self.layout.scaling(e.factors, with_fixed=False)
            rows = [self.layout.along(pairs.columns(pairs.pairs.sums(row))) for row in left]
            coupling = np.stack([scaling.right(row) for row in rows])  # N_s' times the columns of the rest
            moved = self._times_rest(s, coupling)
            for t in later:
                moved -= np.einsum("ijl,jlr->ilr", cross[t], self.toward[t][:, self.parent(s, t)])
            self.toward[s] = np.einsum("ijl,jlr->ilr", inverse, moved)
        for t in later:
            shape = (len(left), e.plan.blocks[t].size, groups.n_levels)
            known: Floats = np.zeros(shape)
            for v in later:
                # Covariance of the effects of the levels of v and t that each level of s lies in.
                first, second = min(v, t), max(v, t)
                between = self.within[first, second][:, :, self.parent(s, first)]
                known += np.einsum("ijl,jkl->ikl", cross[v], between if v <= t else between.transpose(1, 0, 2))
            if coupling is not None:
                known -= np.einsum("ilr,klr->ikl", coupling, self.toward[t][:, self.parent(s, t)])
            self.within[s, t] = -np.einsum("ijl,jkl->ikl", inverse, known)
        own: Floats = np.zeros_like(inverse)
        for t in later:
            own += np.einsum("ijl,kjl->ikl", cross[t], self.within[s, t])
        if coupling is not None:
            own -= np.einsum("ilr,klr->ikl", coupling, self.toward[s])
        self.within[s, s] = inverse - np.einsum("ijl,jkl->ikl", inverse, own)

    def _times_rest(self, s: int, coupling: Floats) -> Floats:
        """Return rows, one for each level of s, times the covariance of the rest."""
        if len(self.rest) == 1:
            return coupling @ self.rest[0]
        component = np.zeros(coupling.shape[1], dtype=np.int64)
        component[self.plan.blocks[s].groups.level] = self.layout.of_cell
        order = np.argsort(component, kind="stable")
        out = np.empty_like(coupling)
        chunk = max(1, _MOST_AT_ONCE // self.rest[0].size)
        for start in range(0, order.size, chunk):
            at = order[start : start + chunk]
            out[:, at] = (coupling[:, at].transpose(1, 0, 2) @ self.rest[component[at]]).transpose(1, 0, 2)
        return out

    def of_rest(self, b: int) -> Floats:
        """Covariance matrix of the effects of every level of a block of the rest."""
        slot = self.slots[b]
        component = np.zeros(slot.place.size, dtype=np.int64)
        if slot.start < self.layout.n_local:
            component[self.plan.blocks[b].groups.level] = self.layout.of_cell
        at, size = slot.place, range(slot.n_columns)
        return np.stack([np.stack([self.rest[component, at + i, at + j] for j in size]) for i in size])

    def with_predictor(self, b: int, other: int) -> Floats:
        """Covariance of the effects of a cell's level of b with what block `other` adds to the cell's predictor."""
        plan, column = self.plan, self.e.columns[other]
        level, to = plan.blocks[b].groups.level, plan.blocks[other].groups.level
        size, n_other = plan.blocks[b].size, plan.blocks[other].size
        out = np.zeros((size, plan.n_cells))
        for i in range(size):
            for j in range(n_other):
                if b in plan.rest and other in plan.rest:
                    mine, theirs = self.slots[b].place[level] + i, self.slots[other].place[to] + j
                    value = self.rest[self.layout.of_cell, mine, theirs]
                elif b in plan.rest:
                    value = -self.toward[other][j, to, self.slots[b].place[level] + i]
                elif other in plan.rest:
                    value = -self.toward[b][i, level, self.slots[other].place[to] + j]
                elif b <= other:
                    value = self.within[b, other][i, j, level]
                else:
                    value = self.within[other, b][j, i, to]
                out[i] += value * column[j]
        return out


def _add_leaf(e: Elimination, at_cells: list[Floats], variance: Floats, blocks: list[Floats]) -> Floats:
    """Complete the covariances by the leaf, given those of everything else; return the variance of the predictor."""
    column, pull = e.columns[0], e.weights * e.leaf_scale
    # u_0 = noise - pull a x with x the rest of the predictor; the noise has covariance I - pull a a'
    spread = column * (pull**2 * variance - pull)
    blocks[0] = column[:, None, :] * spread[None, :, :]
    for i in range(len(column)):
        blocks[0][i, i] += 1.0
    with_rest = -column * (pull * variance)
    at_cells[0] = (blocks[0] * column[None, :, :]).sum(axis=1) + with_rest
    for b in [*e.plan.chain, *e.plan.rest]:
        at_cells[b] = at_cells[b] * e.leaf_scale  # 1 - pull |a|^2
    return (column * at_cells[0]).sum(axis=0) + variance * e.leaf_scale
