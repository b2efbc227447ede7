"""Strengths of models from votes: Bradley-Terry with ties and covariates by maximum likelihood."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import coo_array, csr_array, hstack, vstack
from scipy.special import expit, log_expit

from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.record import record
from evalstats.stats.arena.likelihood import (
    Derivatives,
    PairCells,
    PairFit,
    RowScores,
    Ties,
    derivatives,
    first_tie_parameter,
    linear_predictor,
    n_components,
    pair_cells,
    split_votes,
)
from evalstats.stats.arena.votes import VoteRows, summed
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import legendre

_GRADIENT = 1e-10  # of the total weight
_STEP_TOLERANCE = 1e-9  # log-units; the next step would be of its square
_PROMISED_TOLERANCE = 1e-8
_SMALL_STEP = 1e-5
_LONGEST = 6.0  # log-odds by which one step may move a vote: where all is certain, there is no information left
_MOST_STEPS = 100
_MOST_HALVINGS = 40
_ROUNDING = 1e-13  # of the objective, by which a step may seem to lower it


@record
class StrengthOptimum:
    """Where the search ended; `bread` is None where the information could not be inverted."""

    parameters: FloatArray
    log_lik: float
    bread: FloatArray | None
    converged: bool
    n_iterations: int
    largest_gradient: float


@record
class _Point:
    """Objective with its derivatives: the gradient without a part along equal strengths, the cells' curvature."""

    objective: float
    log_lik: float
    gradient: FloatArray
    at: Derivatives


@record
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
def maximise(cells: PairCells, ties: Ties, start: FloatArray, *, prior: float = 0.0) -> StrengthOptimum:
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
        if np.abs(here.gradient).max() <= tolerance and (
            left <= _STEP_TOLERANCE or before / 2.0 < left <= _PROMISED_TOLERANCE
        ):
            converged, bread = True, inverse.matrix()
            break
        before = left
        found = _climb(cells, ties, parameters, step, here, prior=prior)
        if found is None:
            break
        parameters, here = found
        n_steps += 1
    return StrengthOptimum(
        parameters=parameters,
        log_lik=here.log_lik,
        bread=bread,
        converged=converged,
        n_iterations=n_steps,
        largest_gradient=float(np.abs(here.gradient).max()),
    )


def _eta(cells: PairCells, parameters: FloatArray) -> FloatArray:
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
    between = summed(cells.first * n + cells.second, at.curve, n * n).reshape(n, n)
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
    eta = _eta(cells, parameters)
    at = derivatives(ties, eta, float(parameters[-1]), (cells.won, cells.lost, cells.tied))
    strengths = parameters[:n]
    log_lik = float(at.log_lik.sum())
    gradient = np.empty(parameters.size)
    gradient[:n] = _by_model(cells, at.slope)
    if prior > 0.0:
        gradient[:n] += prior * (expit(-strengths) - expit(strengths))
    gradient[:n] -= gradient[:n].mean()
    k = cells.n_covariates
    gradient[n : n + k] = cells.covariates.T @ at.slope
    if ties != "half":
        gradient[-1] = at.tie_slope.sum()
    added = prior * float((log_expit(strengths) + log_expit(-strengths)).sum())
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
    reach = float(np.abs(_eta(cells, step)).max())
    if ties != "half":
        reach = max(reach, abs(float(step[-1])))
    if prior > 0.0:
        reach = max(reach, float(np.abs(step[: cells.n_models]).max()))
    return max(reach, 1e-300)


def _by_model(cells: PairCells, values: FloatArray) -> FloatArray:
    """Return the sum of values over cells where a model is first less that where it is second, shape (n_models,)."""
    n = cells.n_models
    return summed(cells.first, values, n) - summed(cells.second, values, n)


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


_COLLINEAR = 1e-9  # of the covariates' variance that models and other covariates leave
_MOVES = 1e-6
_FAR = 15.0  # log-odds


def refuse_collinear(cells: PairCells) -> None:
    """Raise CannotAnswerError where a covariate is a combination of the others and of which models meet."""
    n, k = cells.n_models, cells.n_covariates
    if not k:
        return
    at = derivatives("half", np.zeros(cells.first.size), 0.0, (cells.weight, np.zeros_like(cells.won), cells.tied))
    whole = information(cells, "half", np.zeros(n + k), at, 0.0)
    laplacian, cross = whole[:n, :n], whole[:n, n:]
    left = whole[n:, n:] - cross.T @ np.linalg.pinv(laplacian, rcond=1e-11, hermitian=True) @ cross
    size = np.sqrt(np.diag(whole)[n:])
    values, vectors = np.linalg.eigh(left / np.outer(size, size))
    if values[0] <= _COLLINEAR:
        part = int(np.argmax(np.abs(vectors[:, 0])))
        raise CannotAnswerError(
            f"covariate {part} is determined by which models meet on which side"
            + (" and by the other covariates" if k > 1 else "")
            + ", so its effect cannot be told from theirs; leave it out, or collect votes in which it varies for a pair"
        )


def runs_away(cells: PairCells, ties: Ties, parameters: FloatArray, prior: float) -> bool:
    """Whether a search that seems to have ended only went so far that nothing is left to be seen of the likelihood.

    Where ties are half a win and there are no covariates, connected wins are enough for a maximum.
    """
    if ties == "half" and not cells.n_covariates:
        return False
    farthest = np.abs(_eta(cells, parameters)).max()
    if max(float(farthest), abs(float(parameters[-1])) if ties != "half" else 0.0) < _FAR:
        return False
    return rising_direction(cells, ties, prior) is not None


def explain_failure(cells: PairCells, ties: Ties, prior: float) -> CannotAnswerError:
    """Return an error that says along which parameters the likelihood rises for ever, if it does."""
    direction = rising_direction(cells, ties, prior)
    if direction is None:
        return CannotAnswerError(
            "the search for the strengths did not converge, although a maximum exists; strengths are too far apart or "
            "covariates too unequal in size: drop models that almost always win or lose, or rescale covariates"
        )
    n, k = cells.n_models, cells.n_covariates
    moving = np.flatnonzero(np.abs(direction[n : n + k]) > _MOVES)
    if moving.size:
        names = ", ".join(str(int(j)) for j in moving)
        return CannotAnswerError(
            f"covariate {names} predicts every vote that it could change, so its coefficient has no finite estimate; "
            "leave it out, make it coarser, or collect more votes"
        )
    return CannotAnswerError(
        f'votes do not determine strengths and the tie parameter of "{ties}" together: some models tie and win, but never '
        'lose to those below them; use ties="half", or add a prior'
    )


def rising_direction(cells: PairCells, ties: Ties, prior: float) -> FloatArray | None:
    """Return parameters along which the likelihood never falls, shape (n_parameters,), or None where there are none.

    Votes are kept likely by a direction (strengths, coefficients, tau) if eta >= tau for every win of the first model,
    -eta >= tau for every loss, and |eta| <= tau for every tie, with tau >= 0, and tau = 0 for "half" (Albert and Anderson
    1984; tau stands for log(nu^2) or log(theta)). A linear programme looks for one that is not 0.
    """
    n, k = cells.n_models, cells.n_covariates
    m = cells.first.size
    at = np.arange(m)
    design = csr_array(
        coo_array(
            (np.concatenate([np.ones(m), -np.ones(m)]), (np.tile(at, 2), np.concatenate([cells.first, cells.second]))),
            shape=(m, n),
        )
    )
    eta = csr_array(hstack([design, csr_array(cells.covariates)]))
    tau = csr_array(np.ones((m, 1)))
    won, lost, tied = cells.won > 0.0, cells.lost > 0.0, cells.tied > 0.0
    blocks = [
        hstack([-eta[won], tau[won]]),
        hstack([eta[lost], tau[lost]]),
        hstack([eta[tied], -tau[tied]]),
        hstack([-eta[tied], -tau[tied]]),
    ]
    constraints = csr_array(vstack(blocks))
    decisive = np.asarray(eta[won].sum(axis=0)).ravel() - np.asarray(eta[lost].sum(axis=0)).ravel()
    objective = -np.append(decisive, 0.0 if ties == "half" else 1.0)
    # A prior holds the strengths, so that only coefficients may run.
    held = prior > 0.0
    bounds = [(0.0, 0.0) if held else (-1.0, 1.0)] * n + [(-1.0, 1.0)] * k + [(0.0, 0.0 if ties == "half" else 1.0)]
    limits: Any = constraints
    from scipy.optimize import linprog  # slow to load, and most votes leave nothing to look for

    found: Any = linprog(objective, A_ub=limits, b_ub=np.zeros(constraints.shape[0]), bounds=bounds, method="highs")
    if found.status != 0 or -found.fun <= _MOVES:
        return None
    return np.asarray(found.x if ties != "half" else found.x[:-1], dtype=np.float64)


def fit_strengths(rows: VoteRows, *, ties: Ties = "half", prior: float = 0.0, start: PairFit | None = None) -> PairFit:
    """Fit strengths (log-units, sum 0) to votes.

    `rows`: votes. Clusters play no part in the fit. `ties`: "half" (Bradley-Terry, a tie as half a win of either: a
    quasi-likelihood, also for graded shares), "davidson" or "rao-kupper", which give ties a probability of their own.
    `prior`: votes won and as many lost by every model against one of strength 0, as weight. They keep strengths finite where
    some model won or lost all its votes, and draw all strengths towards 0. They say nothing about ties. `start`: an earlier
    fit with the same models and covariates, from which to search.
    """
    if not 0.0 <= prior < np.inf:
        raise InputError(f"prior is {prior:g}; give the votes to add to each model, 0 or more")
    cells, scale = _scaled(pair_cells(rows, ties))
    _check_existence(cells, ties, prior)
    refuse_collinear(cells)
    # Parameters to start from.
    strengths, coefficients = np.zeros(cells.n_models), np.zeros(scale.size)
    tau_guess = [] if ties == "half" else [first_tie_parameter(ties, float(cells.tied.sum() / cells.weight.sum()))]
    if start is not None:
        if start.strengths.shape != strengths.shape or start.coefficients.shape != coefficients.shape:
            raise InputError(
                f"start has {start.n_models} models and {start.coefficients.size} covariates, but the votes have "
                f"{strengths.size} and {coefficients.size}; start from a fit to such votes"
            )
        strengths, coefficients = start.strengths, start.coefficients * scale
        tau_guess = [float(np.log(start.tie))] if start.ties == ties and start.tie is not None else tau_guess
    first = np.concatenate([strengths - strengths.mean(), coefficients, tau_guess])
    found = maximise(cells, ties, first, prior=prior)
    if not found.converged or found.bread is None or runs_away(cells, ties, found.parameters, prior):
        raise explain_failure(cells, ties, prior)
    # The optimum in the units of the covariates.
    n_models = found.parameters.size - scale.size - (ties != "half")
    factor = np.ones(found.parameters.size)
    factor[n_models : n_models + scale.size] = 1.0 / scale
    return PairFit(
        ties=ties,
        strengths=found.parameters[:n_models],
        coefficients=found.parameters[n_models : n_models + scale.size] / scale,
        tie=None if ties == "half" else float(np.exp(found.parameters[-1])),
        log_lik=found.log_lik,
        bread=found.bread * factor[:, None] * factor,
        prior=prior,
        converged=found.converged,
        n_iterations=found.n_iterations,
        largest_gradient=found.largest_gradient,
    )


def row_scores(fit: PairFit, rows: VoteRows) -> RowScores:
    """Return first derivatives of the log-likelihood of one vote of each row at the fit.

    The rows are any votes about the models of the fit, with its covariates; not only those that were fitted.
    """
    if rows.n_models != fit.n_models or rows.n_covariates != fit.coefficients.size:
        raise InputError(
            f"rows have {rows.n_models} models and {rows.n_covariates} covariates, but the fit has {fit.n_models} and "
            f"{fit.coefficients.size}; give rows numbered as those that were fitted"
        )
    eta = linear_predictor(fit, rows)
    if fit.ties == "half":
        return RowScores(slope=rows.share * expit(-eta) - (1.0 - rows.share) * expit(eta), tie_slope=None)
    at = derivatives(fit.ties, eta, fit.tau, split_votes(rows.share, np.ones(rows.n_rows), fit.ties))
    return RowScores(slope=at.slope, tie_slope=None if fit.tie is None else at.tie_slope)


def _scaled(cells: PairCells) -> tuple[PairCells, FloatArray]:
    """Return cells with covariates of mean square 1, and by what they were divided."""
    weight = cells.weight
    if not weight.size:
        return cells, np.ones(cells.n_covariates)
    scale: FloatArray = np.sqrt(weight @ cells.covariates**2 / weight.sum()).astype(np.float64)
    if np.any(scale == 0.0):
        raise CannotAnswerError(
            f"covariate {int(np.argmin(scale))} is 0 in every vote, so it has no effect to estimate; leave it out"
        )
    return replace(cells, covariates=cells.covariates / scale), scale


def _check_existence(cells: PairCells, ties: Ties, prior: float) -> None:
    if not cells.first.size:
        raise CannotAnswerError("there are no votes (or none of any weight), so there are no strengths to estimate")
    if prior == 0.0:
        count = n_components(cells)
        if count > 1:
            raise CannotAnswerError(
                f"wins and ties do not connect the {cells.n_models} models: they fall into {count} groups, between which "
                "some model has only won or only lost, or there are no votes; rate each group on its own, collect votes "
                "between them, or add a prior (half a win and half a loss of every model, say)"
            )
    if ties == "half":
        return
    tied = float(cells.tied.sum())
    if tied == 0.0 or tied == float(cells.weight.sum()):
        which = "there are no ties" if tied == 0.0 else "all votes are ties"
        raise CannotAnswerError(
            f"{which}, so the tie parameter of {ties!r} has no estimate; use {Option('ties', 'half')}"
        )


ELO_PER_LOG_ODDS = 400.0 / math.log(10.0)


_NODES = 200
_REACH = 9.0  # standard deviations within which the law of the maximum lies
TRIED = (2, 3, 5, 10, 20)


def expected_maximum(n: int) -> float:
    """Return the mean of the largest of `n` independent standard normal numbers.

    n integral x phi(x) Phi(x)^(n-1) dx, by Gauss-Legendre quadrature; right to 12 digits up to n of some thousands.

    References
    ----------
    Harter 1961, Biometrika 48:151, doi:10.1093/biomet/48.1-2.151.
    """
    nodes, weights = legendre(_NODES)
    x = _REACH * nodes
    log_density = (n - 1) * special.log_ndtr(x) - 0.5 * x**2 - 0.5 * math.log(2.0 * math.pi)
    return _REACH * n * float(weights @ (x * np.exp(log_density)))


def selection_bias(std_error: float) -> tuple[tuple[int, float], ...]:
    """Return, for each number of variants tried, by how many points the best looks better than it is.

    For equally strong variants whose ratings have independent normal errors of `std_error` points. Truly different variants gain
    less by luck (and something by merit); ratings that share opponents have errors a little alike, which also makes it less. So
    it is the most that luck alone adds on average.

    References
    ----------
    Singh et al. 2025, The leaderboard illusion, arXiv 2504.20879.
    """
    return tuple((n, std_error * expected_maximum(n)) for n in TRIED)
