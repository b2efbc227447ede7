"""Why a fit of strengths has no maximum: a direction in which the likelihood never falls."""

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack, vstack

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.cells import PairCells
from evalstats.stats.arena.fit import Ties
from evalstats.stats.arena.newton import information, linear_predictor
from evalstats.stats.arena.ties import derivatives
from evalstats.stats.checks import FloatArray

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
    farthest = np.abs(linear_predictor(cells, parameters)).max()
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
    found: Any = linprog(objective, A_ub=limits, b_ub=np.zeros(constraints.shape[0]), bounds=bounds, method="highs")
    if found.status != 0 or -found.fun <= _MOVES:
        return None
    return np.asarray(found.x if ties != "half" else found.x[:-1], dtype=np.float64)
