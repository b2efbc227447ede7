"""Laplace's approximation to the likelihood of a binomial mixed model, with its exact gradient.

With u the spherical random effects, l the log-likelihood given them and f(u) = |u|^2 / 2 - l, the deviance is

    d(theta, beta) = 2 f(u*) + log det H,    H = A'WA + I,

at the mode u* of f. The mode moves with the parameters, du* = -H^-1 d(f_u), and H moves with the weights: dw = w' deta.
With h_c = a_c' H^-1 a_c, s = w' h / 2, q = H^-1 A's and t = s - W A q, the gradient of d / 2 is, summed over cells,

    beta:         (t - r) x
    Lambda[i, j]: (t - r) z_i u_j + r z_i q_j + w z_i (H^-1 a)_j

(r is the residual, z the raw and a = Lambda' z the scaled row of the random effects): one elimination, one solve and the
entries of H^-1 between effects that meet in a cell, however many parameters there are.

References
----------
Bates et al. 2015, doi:10.18637/jss.v067.i01; Kristensen et al. 2016, doi:10.18637/jss.v070.i05 (the implicit derivative).
"""

from dataclasses import dataclass

import numpy as np

from evalstats.stats.mixed.design import Floats
from evalstats.stats.mixed.laplace_factor import Blocks
from evalstats.stats.mixed.laplace_inverse import invert
from evalstats.stats.mixed.laplace_modes import Cells, Modes, find_modes


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The deviance and its gradient at one (theta, beta).

    `gradient` is in (theta, beta), or in theta alone where beta was profiled out; `deviance` has the binomial constants
    left out.
    """

    theta: Floats
    beta: Floats
    deviance: float
    gradient: Floats
    effects: Blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class CellScores:
    """What every cell adds to the gradient of half the deviance.

    `fixed`, shape (n_cells,), is to be multiplied by the cell's row of X; `theta` has shape (n_theta, n_cells).
    """

    fixed: Floats
    theta: Floats


def laplace(cells: Cells, theta: Floats, beta: Floats, start: Blocks) -> Point:
    """Return the Laplace deviance at (theta, beta) and its gradient; `start` are effects to begin from."""
    modes = find_modes(cells, theta, beta, start)
    scores = cell_scores(cells, modes)
    prior = cells.pseudo.gradient(beta)
    gradient = np.concatenate([scores.theta.sum(axis=1), cells.fixed_sums(scores.fixed) - prior])
    return Point(
        theta=theta,
        beta=beta,
        deviance=deviance_at(modes),
        gradient=2.0 * gradient,
        effects=modes.effects,
    )


def profiled(cells: Cells, theta: Floats, beta: Floats, start: Blocks) -> Point:
    """Return the same with beta at the mode it shares with the random effects (lme4's nAGQ = 0), and the gradient in theta.

    `beta` is where the search for the mode begins.
    """
    modes = find_modes(cells, theta, beta, start, with_fixed=True)
    scores = cell_scores(cells, modes)
    return Point(
        theta=theta,
        beta=modes.beta,
        deviance=deviance_at(modes),
        gradient=2.0 * scores.theta.sum(axis=1),
        effects=modes.effects,
    )


def deviance_at(modes: Modes) -> float:
    """Minus twice the Laplace log-likelihood, without the binomial constants."""
    return 2.0 * modes.criterion + modes.elimination.log_determinant


def cell_scores(cells: Cells, modes: Modes) -> CellScores:
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
