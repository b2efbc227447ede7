"""Adaptive Gauss-Hermite quadrature for a binomial model with one scalar random effect, with its exact gradient.

For every level, with f(u) = u^2 / 2 - l(u), mode u*, curvature H and s = H^(-1/2), the integral of exp(-f) is taken at the
points u_k = u* + s x_k of the Gauss-Hermite rule:

    -log L = (log H) / 2 - log sum_k w_k exp(x_k^2 / 2 - f(u_k)).

One point gives Laplace's approximation. The gradient counts that the points move with the mode and the curvature: with
p_k the share of point k in the sum, F0 = sum p_k f'(u_k), F1 = sum p_k x_k f'(u_k) and kappa = (1 - s F1) / 2,

    d(-log L) = sum_k p_k df(u_k) + F0 du* + kappa d(log H).

References
----------
Pinheiro & Bates 1995, doi:10.1080/10618600.1995.10474663.
"""

import numpy as np

from evalstats.stats.mixed.design import Floats
from evalstats.stats.mixed.laplace import CellScores, Point
from evalstats.stats.mixed.laplace_factor import Blocks
from evalstats.stats.mixed.laplace_modes import Cells, Modes, find_modes


def quadrature(cells: Cells, theta: Floats, beta: Floats, start: Blocks, n_points: int) -> Point:
    """Return the deviance by quadrature at (theta, beta) and its gradient; `start` are effects to begin from."""
    modes = find_modes(cells, theta, beta, start)
    value, scores = _integrate(cells, modes, n_points)
    gradient = np.concatenate([scores.theta.sum(axis=1), cells.fixed_sums(scores.fixed) - cells.pseudo.gradient(beta)])
    return Point(
        theta=theta,
        beta=beta,
        deviance=2.0 * (value - cells.pseudo.log_likelihood(beta)),
        gradient=2.0 * gradient,
        effects=modes.effects,
    )


def quadrature_scores(cells: Cells, modes: Modes, n_points: int) -> CellScores:
    """Return every cell's part of the gradient of half the deviance at given modes."""
    return _integrate(cells, modes, n_points)[1]


def _integrate(cells: Cells, modes: Modes, n_points: int) -> tuple[float, CellScores]:
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
