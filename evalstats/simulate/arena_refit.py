"""Bradley-Terry refits while votes come in: many arenas at once, from tables of wins, with a little prior.

`evalstats.stats.arena.bradley_terry.fit_strengths` is the estimator for results. A schedule needs something smaller: it
refits after every batch, before all models have won and lost, and in a study for hundreds of simulated arenas at a time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray

PRIOR = 0.5  # votes won, and as many lost, of every model against an average one
_MAX_STEPS = 50
_GRADIENT = 1e-8  # per vote of the busiest model


def refit(wins: FloatArray, *, prior: float = PRIOR, start: FloatArray | None = None) -> FloatArray:
    """Return strengths by Bradley-Terry's model, ties as half a win of either.

    Parameters
    ----------
    wins
        float64, shape (..., n_models, n_models): [i, j] is what i won against j; leading axes are arenas of their own.
    prior
        Votes won and lost of every model against one of strength 0; with 0, strengths exist only where every model can be
        reached from every other by wins.
    start
        Strengths to begin with, of the batch before.

    Returns
    -------
    float64 array, shape (..., n_models)
        Log-odds, sum 0.

    Raises
    ------
    CannotAnswerError
        If there is no prior and wins do not connect all models, or Newton's method does not settle.

    Notes
    -----
    Newton's method on the concave log-likelihood sum w_ij log expit(s_i - s_j) + prior log expit(s_i) expit(-s_i); with
    the prior the location is determined, and strengths are centred at the end.

    Examples
    --------
    >>> refit(np.array([[0.0, 3.0], [1.0, 0.0]]), prior=0.0).round(4).tolist()
    [0.5493, -0.5493]
    """
    n_models = int(wins.shape[-1])
    if prior == 0 and not _connected(wins):
        raise CannotAnswerError("wins do not connect all models, so strengths need a prior")
    met = wins + np.swapaxes(wins, -1, -2)
    strengths = np.zeros_like(wins[..., 0]) if start is None else start.copy()
    scale = np.maximum(met.sum(axis=-1).max(axis=-1), 1.0)
    for _ in range(_MAX_STEPS):
        gradient, hessian = _derivatives(wins, met, strengths, prior)
        if np.all(np.abs(gradient).max(axis=-1) <= _GRADIENT * scale):
            return strengths - strengths.mean(axis=-1, keepdims=True)
        # Without a prior the location is free; the added matrix fixes it and changes no contrast.
        step = _as_floats(np.linalg.solve(hessian + (prior == 0) / n_models, gradient[..., None])[..., 0])
        # A long step is cut: from far away Newton's method may overshoot.
        largest = np.abs(step).max(axis=-1, keepdims=True)
        strengths = strengths + step * np.minimum(1.0, 2.0 / np.maximum(largest, 1e-300))
    raise CannotAnswerError(f"strengths did not settle in {_MAX_STEPS} steps; are there numbers that are not finite?")


def difference_variance(met: FloatArray, strengths: FloatArray, *, prior: float = PRIOR) -> FloatArray:
    """Return the model-based variance of every difference of two strengths.

    Parameters
    ----------
    met
        float64, shape (..., n_models, n_models): votes between two models, symmetric.
    strengths
        float64, shape (..., n_models).

    Returns
    -------
    float64 array, shape (..., n_models, n_models)
        Squared log-odds; 0 on the diagonal.

    Examples
    --------
    >>> met = np.array([[0.0, 100.0], [100.0, 0.0]])
    >>> difference_variance(met, np.zeros(2), prior=0.0).round(4).tolist()
    [[0.0, 0.04], [0.04, 0.0]]
    """
    n_models = int(met.shape[-1])
    _, hessian = _derivatives(met / 2, met, strengths, prior)
    inverse = _as_floats(np.linalg.inv(hessian + (prior == 0) / n_models))
    own = np.diagonal(inverse, axis1=-2, axis2=-1)
    # Both halves of an inverse differ in the last digits; a pair has one variance whichever way round.
    return own[..., :, None] + own[..., None, :] - (inverse + np.swapaxes(inverse, -1, -2))


def _connected(wins: FloatArray) -> bool:
    """Whether in every arena each model can be reached from each other by wins (Ford's condition)."""
    n_models = int(wins.shape[-1])
    reach = ((wins > 0) | np.eye(n_models, dtype=np.bool_)).astype(np.float64)
    # Squaring doubles the length of the chains.
    for _ in range(n_models.bit_length()):
        reach = np.minimum(reach @ reach, 1.0)
    return bool((reach > 0).all())


def _derivatives(
    wins: FloatArray, met: FloatArray, strengths: FloatArray, prior: float
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient and the negative second derivative."""
    # expit, written so that the whole batch is one exponential.
    p = 1.0 / (1.0 + np.exp(strengths[..., None, :] - strengths[..., :, None]))
    own = 1.0 / (1.0 + np.exp(-strengths))
    gradient = wins.sum(axis=-1) - (met * p).sum(axis=-1) + prior * (1.0 - 2.0 * own)
    hessian = -met * p * (1.0 - p)
    place = np.arange(int(strengths.shape[-1]))
    hessian[..., place, place] = -hessian.sum(axis=-1) + 2.0 * prior * own * (1.0 - own)
    return gradient, hessian


def _as_floats(values: NDArray[np.floating[Any]]) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
