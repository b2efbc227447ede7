"""Newton's method for strengths that sum to 0, coefficients of covariates and a tie parameter."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit, log_expit

from evalstats.stats.arena.cells import PairCells, sums_at
from evalstats.stats.arena.fit import Ties
from evalstats.stats.arena.ties import Derivatives, derivatives
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread

_GRADIENT = 1e-10  # of the total weight
_STEP = 1e-9  # log-units; the next step would be of its square
_PROMISED = 1e-8
_SMALL_STEP = 1e-5
_LONGEST = 6.0  # log-odds by which one step may move a vote: where all is certain, there is no information left
_MOST_STEPS = 100
_MOST_HALVINGS = 40
_ROUNDING = 1e-13  # of the objective, by which a step may seem to lower it


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """Where the search ended; `bread` is None where the information could not be inverted."""

    parameters: FloatArray
    log_lik: float
    bread: FloatArray | None
    converged: bool
    n_iterations: int
    largest_gradient: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """Objective with its derivatives: the gradient without a part along equal strengths, the cells' curvature."""

    objective: float
    log_lik: float
    gradient: FloatArray
    at: Derivatives


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inverse:
    """The inverse of an information under the constraint that strengths sum to 0.

    Without a prior the information has no value in the direction of equal strengths. One model is then held at 0, the
    inverse is that of the others, and strengths are centred. With a prior it is the inverse of all, less its part along
    the constraint. Both keep the digits of models with few votes beside models with many, which filling in the direction
    would not. `factor` is of the matrix scaled to a diagonal of 1 by `scale`.
    """

    n_models: int
    free: IntArray
    factor: tuple[FloatArray, bool]
    scale: FloatArray
    prior: bool
    size: int

    def times(self, vector: FloatArray) -> FloatArray:
        """Return the inverse times one vector, or each column of a matrix."""
        out = self._solve(vector)
        if not self.prior:
            out[: self.n_models] -= out[: self.n_models].mean(axis=0)
            return out
        level = np.zeros(self.size)
        level[: self.n_models] = 1.0
        along = self._solve(level)
        shift = out[: self.n_models].sum(axis=0) / along[: self.n_models].sum()
        return out - (along * shift if out.ndim == 1 else along[:, None] * shift)

    def matrix(self) -> FloatArray:
        """Return the inverse, shape (n_parameters, n_parameters)."""
        out = self.times(np.eye(self.size))
        if not self.prior:
            out[:, : self.n_models] -= out[:, : self.n_models].mean(axis=1, keepdims=True)
        return (out + out.T) / 2.0

    def _solve(self, vector: FloatArray) -> FloatArray:
        scale = self.scale if vector.ndim == 1 else self.scale[:, None]
        out = np.zeros_like(vector)
        out[self.free] = cho_solve(self.factor, vector[self.free] / scale) / scale
        return out


@one_thread
def maximise(cells: PairCells, ties: Ties, start: FloatArray, *, prior: float = 0.0) -> Optimum:
    """Climb from `start` (strengths summing to 0, coefficients, tau for ties with a parameter).

    Every full step that would lower the objective is halved. The search ends where the largest gradient is at most 1e-10
    of the total weight and the step still to go at most 1e-9; otherwise `converged` is False, which is what happens where
    there is no maximum.
    """
    parameters, tolerance = start, _GRADIENT * max(float(cells.weight.sum()), 1e-300)
    here = _point(cells, ties, parameters, prior)
    bread, converged, n_steps, before = None, False, 0, np.inf
    while n_steps <= _MOST_STEPS:
        inverse = _invert(information(cells, ties, parameters, here.at, prior), cells.n_models, prior=prior > 0.0)
        if inverse is None:
            break
        step = inverse.times(here.gradient)
        left = float(np.abs(step).max())
        # A step that is small and shrinks no more is rounding.
        if np.abs(here.gradient).max() <= tolerance and (left <= _STEP or before / 2.0 < left <= _PROMISED):
            converged, bread = True, inverse.matrix()
            break
        before = left
        found = _climb(cells, ties, parameters, step, here, prior=prior)
        if found is None:
            break
        parameters, here = found
        n_steps += 1
    return Optimum(
        parameters=parameters,
        log_lik=here.log_lik,
        bread=bread,
        converged=converged,
        n_iterations=n_steps,
        largest_gradient=float(np.abs(here.gradient).max()),
    )


def linear_predictor(cells: PairCells, parameters: FloatArray) -> FloatArray:
    """Return eta, shape (n_cells,)."""
    eta = parameters[cells.first] - parameters[cells.second]
    n_covariates = cells.n_covariates
    if n_covariates:
        eta = eta + cells.covariates @ parameters[cells.n_models : cells.n_models + n_covariates]
    return eta


def information(cells: PairCells, ties: Ties, parameters: FloatArray, at: Derivatives, prior: float) -> FloatArray:
    """Return the negative second derivative of the objective, shape (n_parameters, n_parameters), constraint not built in."""
    n, k = cells.n_models, cells.n_covariates
    out = np.zeros((parameters.size, parameters.size))
    between = sums_at(cells.first * n + cells.second, at.curve, n * n).reshape(n, n)
    between += between.T
    out[:n, :n] = -between
    strengths = parameters[:n]
    out[np.arange(n), np.arange(n)] = between.sum(axis=1) + 2.0 * prior * expit(strengths) * expit(-strengths)
    for j in range(k):
        column = _by_model(cells, at.curve * cells.covariates[:, j])
        out[:n, n + j] = out[n + j, :n] = column
    if k:
        out[n : n + k, n : n + k] = cells.covariates.T @ (at.curve[:, None] * cells.covariates)
    if ties != "half":
        out[:n, -1] = out[-1, :n] = _by_model(cells, at.cross)
        out[n : n + k, -1] = out[-1, n : n + k] = cells.covariates.T @ at.cross
        out[-1, -1] = at.tie_curve.sum()
    return out


def _point(cells: PairCells, ties: Ties, parameters: FloatArray, prior: float) -> _Point:
    n = cells.n_models
    eta = linear_predictor(cells, parameters)
    at = derivatives(ties, eta, float(parameters[-1]), (cells.won, cells.lost, cells.tied))
    strengths = parameters[:n]
    log_lik = float(at.log_lik.sum())
    gradient = np.zeros(parameters.size)
    gradient[:n] = _by_model(cells, at.slope)
    if prior > 0.0:
        gradient[:n] += prior * (expit(-strengths) - expit(strengths))
    gradient[:n] -= gradient[:n].mean()
    k = cells.n_covariates
    gradient[n : n + k] = cells.covariates.T @ at.slope
    if ties != "half":
        gradient[-1] = at.tie_slope.sum()
    added = prior * float((log_expit(strengths) + log_expit(-strengths)).sum()) if prior > 0.0 else 0.0
    return _Point(objective=log_lik + added, log_lik=log_lik, gradient=gradient, at=at)


def _climb(
    cells: PairCells, ties: Ties, parameters: FloatArray, step: FloatArray, here: _Point, *, prior: float
) -> tuple[FloatArray, _Point] | None:
    """Return the first of the full step, half of it, a quarter, ... that does not lower the objective."""
    lowest, size = (
        here.objective - _ROUNDING * abs(here.objective),
        min(1.0, _LONGEST / _reach(cells, ties, step, prior)),
    )
    # The objective of many votes has not the digits to judge a last small step of a model with few.
    small = np.abs(step).max() <= _SMALL_STEP
    for _ in range(_MOST_HALVINGS):
        further = parameters + size * step
        there = _point(cells, ties, further, prior)
        # A comparison with NaN is False, so that a point outside of what is allowed is stepped back from.
        if there.objective >= lowest or (small and np.isfinite(there.objective)):
            return further, there
        size /= 2.0
    return None


def _reach(cells: PairCells, ties: Ties, step: FloatArray, prior: float) -> float:
    """Return by how many log-odds a step moves any vote, those against the average model included."""
    reach = float(np.abs(linear_predictor(cells, step)).max())
    if ties != "half":
        reach = max(reach, abs(float(step[-1])))
    if prior > 0.0:
        reach = max(reach, float(np.abs(step[: cells.n_models]).max()))
    return max(reach, 1e-300)


def _by_model(cells: PairCells, values: FloatArray) -> FloatArray:
    """Return the sum of values over cells where a model is first less that where it is second, shape (n_models,)."""
    n = cells.n_models
    return sums_at(cells.first, values, n) - sums_at(cells.second, values, n)


def _invert(information: FloatArray, n: int, *, prior: bool) -> _Inverse | None:
    """Return the inverse under the constraint, or None where the information is singular."""
    every = np.arange(information.shape[0], dtype=np.int64)
    # Without a prior, the model that is known best is held.
    free: IntArray = every if prior else every[every != np.argmax(np.diag(information)[:n])]
    inside: FloatArray = information[np.ix_(free, free)]
    diagonal = np.diag(inside).astype(np.float64)
    if not np.all(diagonal > 0.0):
        return None
    scale = np.sqrt(diagonal)
    try:
        factor = cho_factor(inside / np.outer(scale, scale), lower=True)
    except (LinAlgError, ValueError):
        return None
    return _Inverse(n_models=n, free=free, factor=factor, scale=scale, prior=prior, size=information.shape[0])
