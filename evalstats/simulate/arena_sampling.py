"""Which models meet next (at random, where a vote tells most, near equals, placements), and the refits that it rests on.

`evalstats.stats.arena.bradley_terry.fit_strengths` is the estimator for results. A schedule needs something smaller: it
refits after every batch, before all models have won and lost, and in a study for hundreds of simulated arenas at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evalstats.errors import CannotAnswerError, InputError
from evalstats.simulate.draws import check_share
from evalstats.stats.checks import FloatArray, IntArray, check_count

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


Sampling = Literal["random", "active", "variance", "proximity", "placement"]
SAMPLINGS: tuple[Sampling, ...] = get_args(Sampling)
Bools = NDArray[np.bool_]
_TOP = 0.1  # share of the pairs with the largest weights that active sampling draws from


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRule:
    """How pairs are chosen. The paper's threshold and series could not be read; the numbers here are invented.

    Attributes
    ----------
    sampling
        "random": all pairs alike. "active": the tenth of all pairs whose next vote tells most about all strengths at once.
        "variance": the tenth whose difference is known worst. "proximity": pairs whose estimated strengths differ by at
        most `threshold`, more often those that met seldom; neighbours in the ranking may always meet. "placement": as
        proximity, but `n_new` models come in one after the other, each by a placement series.
    threshold
        Log-odds.
    warm_up
        Votes per model at random before any other rule begins.
    batch
        Votes between two refits.
    n_new
        Models that come in later, the last ones of the list; None: a quarter of all.
    series
        Votes against each anchor of a placement.
    explore
        Share of the votes after the warm-up that are between pairs drawn at random all the same.
    """

    sampling: Sampling = "random"
    threshold: float = 0.5
    warm_up: int = 5
    batch: int = 200
    n_new: int | None = None
    series: int = 10
    explore: float = 0.0

    def __post_init__(self) -> None:
        if self.sampling not in SAMPLINGS:
            raise InputError(f"there is no sampling {self.sampling!r}; there are {', '.join(SAMPLINGS)}")
        if not self.threshold > 0:
            raise InputError(f"threshold is {self.threshold:g}; give log-odds above 0")
        check_share("explore", self.explore, high=1.0)
        check_count(self.warm_up, "warm_up", least=1)
        check_count(self.batch, "batch", least=1)
        check_count(self.series, "series", least=1)

    def newcomers(self, n_models: int) -> int:
        """Return how many models come in later."""
        if self.sampling != "placement":
            return 0
        n_new = max(1, n_models // 4) if self.n_new is None else check_count(self.n_new, "n_new", least=1)
        if n_models - n_new < 2:
            raise InputError(f"{n_new} of {n_models} models are to come in later; at least two must be there before")
        return n_new


def pair_weights(
    rule: SamplingRule, wins: FloatArray, *, start: FloatArray | None = None, allowed: Bools | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the weight of every pair for the next batch, and the strengths that it rests on.

    Parameters
    ----------
    wins
        float64, shape (..., n_models, n_models): [i, j] is what i won against j so far, ties as half.
    start
        Strengths of the batch before, to begin the refit with.
    allowed
        Bool, shape (n_models, n_models), symmetric: pairs that may meet; None: all.

    Returns
    -------
    tuple
        Symmetric weights, shape (..., n_models, n_models), 0 on the diagonal; strengths, shape (..., n_models).

    Notes
    -----
    "active": one more vote between i and j multiplies the determinant of the information by 1 + p(1 - p) v_ij, v_ij the
    variance of their difference (D-optimal design). "proximity": weight 1/(1 + votes between them).

    Examples
    --------
    >>> wins = np.array([[0.0, 9.0, 9.0], [1.0, 0.0, 7.0], [1.0, 3.0, 0.0]])
    >>> pair_weights(SamplingRule(sampling="proximity"), wins)[0].round(3).tolist()
    [[0.0, 0.091, 0.0], [0.091, 0.0, 0.091], [0.0, 0.091, 0.0]]
    """
    met = wins + np.swapaxes(wins, -1, -2)
    strengths = refit(wins, start=start)
    different = ~np.eye(int(met.shape[-1]), dtype=np.bool_)
    may = different if allowed is None else allowed & different
    if rule.sampling == "random":
        weights = np.broadcast_to(may, met.shape).astype(np.float64)
    elif rule.sampling in ("active", "variance"):
        gain = difference_variance(met, strengths)
        if rule.sampling == "active":
            p = 1.0 / (1.0 + np.exp(np.abs(strengths[..., :, None] - strengths[..., None, :])))
            gain = np.log1p(p * (1.0 - p) * gain)
        weights = _largest(gain, may)
    else:
        weights = near(strengths, rule.threshold, may) / (1.0 + met)
    if rule.explore:
        weights = (1.0 - rule.explore) * weights / weights.sum(axis=(-1, -2), keepdims=True)
        weights = weights + rule.explore * may / may.sum()
    return weights, strengths


def near(strengths: FloatArray, threshold: float, allowed: Bools) -> Bools:
    """Mark allowed pairs that differ by at most `threshold`, and the next stronger and weaker one however far away.

    Without the neighbours a model that leads by more than the threshold would never meet anyone again.

    Examples
    --------
    >>> near(np.array([0.0, 0.2, 3.0]), 0.5, ~np.eye(3, dtype=np.bool_))[2].tolist()
    [False, True, False]
    """
    above = strengths[..., None, :] - strengths[..., :, None]
    close = allowed & (np.abs(above) <= threshold)
    for gap in (above, -above):
        ahead = np.where(allowed & (gap > 0), gap, np.inf)
        nearest = np.isfinite(ahead) & (ahead == ahead.min(axis=-1, keepdims=True))
        close |= nearest | np.swapaxes(nearest, -1, -2)
    return close


def draw_pairs(rng: np.random.Generator, weights: FloatArray, n: int) -> IntArray:
    """Draw pairs by their weights, with a coin for the sides.

    Parameters
    ----------
    weights
        float64, shape (..., n_models, n_models), symmetric.

    Returns
    -------
    int64 array, shape (..., n, 2)
        Models on sides a and b.

    Examples
    --------
    >>> weights = np.zeros((3, 3))
    >>> weights[0, 2] = weights[2, 0] = 1.0
    >>> sorted(set(map(tuple, draw_pairs(np.random.default_rng(0), weights, 20).tolist())))
    [(0, 2), (2, 0)]
    """
    n_models = weights.shape[-1]
    flat = weights.reshape(-1, n_models * n_models)
    ends = np.cumsum(flat, axis=1)
    if not np.all(ends[:, -1] > 0):
        raise InputError("no pair has a weight above 0, so nobody can meet; give at least one")
    ends /= ends[:, -1:]
    # One sorted search over all arenas: the k-th is moved to [k, k + 1).
    lift = np.arange(flat.shape[0])[:, None]
    # Kept so far below 1 that the sum cannot round up to the next arena's beginning.
    level = rng.random((flat.shape[0], n)) * (1.0 - 2.0**-32)
    drawn = np.searchsorted((ends + lift).ravel(), (level + lift).ravel(), side="right")
    cell = (drawn.reshape(-1, n) - lift * flat.shape[1]).clip(0, flat.shape[1] - 1)
    # Both orders of a pair are cells of their own with equal weights: the side is a coin already.
    return np.stack(np.divmod(cell, n_models), axis=-1).reshape(*weights.shape[:-2], n, 2)


Ask = Callable[[IntArray, int], FloatArray]


def place(asked: Ask, order: IntArray, series: int) -> IntArray:
    """Place a new model among ranked ones by binary search: a short series against the middle of what is left.

    Parameters
    ----------
    asked
        Called with the anchors, shape (n_arenas,), -1 where an arena has finished, and the length of a series; returns the
        new model's share of the votes, shape (n_arenas,).
    order
        int64, shape (n_arenas, n_anchors): models from best to worst.
    series
        Votes against each anchor.

    Returns
    -------
    int64 array, shape (n_arenas,)
        How many of the ranked models are placed above the new one.

    Examples
    --------
    >>> strengths = np.array([2.0, 1.0, 0.0, -1.0])
    >>> place(lambda anchors, n: (strengths[anchors] < 0.5) * 1.0, np.array([[0, 1, 2, 3]]), 10).tolist()
    [2]
    """
    arenas = np.arange(len(order))
    low, high = np.zeros(order.shape[0], dtype=np.int64), np.full(order.shape[0], order.shape[1])
    while np.any(low < high):
        open_ = low < high
        middle = (low + high) // 2
        anchors = np.where(open_, order[arenas, np.minimum(middle, order.shape[1] - 1)], -1)
        won = asked(anchors, series) > 0.5
        high = np.where(open_ & won, middle, high)
        low = np.where(open_ & ~won, middle + 1, low)
    return low


def _largest(gain: FloatArray, may: Bools) -> FloatArray:
    """Weigh the largest tenth of the allowed pairs alike, all others 0."""
    upper = np.nonzero(np.triu(may, 1))
    each = gain[..., upper[0], upper[1]]
    wanted = max(1, round(_TOP * each.shape[-1]))
    least = np.partition(each, each.shape[-1] - wanted, axis=-1)[..., each.shape[-1] - wanted]
    return ((gain >= least[..., None, None]) & may).astype(np.float64)


__all__ = ["PRIOR", "SAMPLINGS", "Sampling", "SamplingRule", "draw_pairs", "near", "pair_weights", "place"]
