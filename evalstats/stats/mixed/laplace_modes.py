"""Conditional modes of the random effects of a binomial model, by Newton steps that cannot diverge."""

import copy
from dataclasses import dataclass

import numpy as np

from evalstats.stats.mixed.design import Floats, MixedDesign
from evalstats.stats.mixed.laplace_factor import Blocks, Elimination, System
from evalstats.stats.mixed.laplace_plan import make_plan

# Squared length of a Newton step in units of the effects' own standard deviations: the step below this one is the last,
# and leaves an error of about its square.
LAST_STEP = 1e-10
ROUNDED = 1e-7
SHORTEST = 1e-10  # part of a Newton step; a convex criterion falls long before
MAX_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
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
        return self.rows.T @ (self.trials * (0.5 - _expit(self.rows @ beta)))

    def information(self, beta: Floats) -> Floats:
        """Minus the second derivative."""
        mean = _expit(self.rows @ beta)
        return self.rows.T @ ((self.trials * mean * (1.0 - mean))[:, None] * self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
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
    n_steps: int

    @property
    def weights(self) -> Floats:
        """Binomial variance of every cell."""
        return self.elimination.weights


class Cells:
    """A binomial model's cells with the plan of its eliminations."""

    def __init__(self, design: MixedDesign) -> None:
        self.design = design
        self.plan = make_plan(design)
        self.system = System(self.plan)
        self.trials = design.count
        self.successes = design.count * design.response
        n_fixed = design.fixed.shape[1]
        self.pseudo = Pseudo(rows=np.zeros((0, n_fixed)), trials=np.zeros(0))

    def with_response(self, design: MixedDesign) -> "Cells":
        """Return the same cells with the trials and successes of another response."""
        out = copy.copy(self)
        out.design, out.trials, out.successes = design, design.count, design.count * design.response
        return out

    def with_prior(self, pseudo: Pseudo) -> "Cells":
        """Return the same cells with pseudo-observations beside them."""
        out = copy.copy(self)
        out.pseudo = pseudo
        return out

    def no_effects(self) -> Blocks:
        """Random effects of 0."""
        return [np.zeros((block.size, block.n_levels)) for block in self.plan.blocks]

    def fixed_predictor(self, beta: Floats) -> Floats:
        """Return the fixed part of the linear predictor of every cell, with the offset."""
        distinct = self.plan.distinct
        out = distinct.of_cell.at_cells(distinct.rows @ beta)
        return out if self.design.offset is None else out + self.design.offset

    def fixed_sums(self, values: Floats) -> Floats:
        """X' times a value of every cell."""
        return self.plan.distinct.rows.T @ self.plan.distinct.of_cell.sums(values)

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
        small = np.exp(-np.abs(eta))
        value = self.trials @ (np.maximum(eta, 0.0) + np.log1p(small)) - self.successes @ eta
        return float(value), np.where(eta >= 0.0, 1.0, small) / (1.0 + small)

    def losses(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return the same cell by cell."""
        small = np.exp(-np.abs(eta))
        value = self.trials * (np.maximum(eta, 0.0) + np.log1p(small)) - self.successes * eta
        return value, np.where(eta >= 0.0, 1.0, small) / (1.0 + small)


def find_modes(cells: Cells, theta: Floats, beta: Floats, start: Blocks, *, with_fixed: bool = False) -> Modes:
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
    return Modes(
        theta=theta,
        beta=beta,
        effects=effects,
        criterion=criterion,
        mean=mean,
        residual=residual,
        elimination=elimination,
        n_steps=n_steps,
    )


def _half_square(effects: Blocks) -> float:
    return 0.5 * sum(float(np.vdot(effect, effect)) for effect in effects)


def _expit(eta: Floats) -> Floats:
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0.0, 1.0, small) / (1.0 + small)
