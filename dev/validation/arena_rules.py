"""Rules of which models meet next: weights of pairs from the votes so far, and the places of new models.

After every batch a rule gives each pair a weight, for one arena or for hundreds at once along the leading axes. The paper's
threshold and series could not be read; the numbers here are invented.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evalstats.simulate.arena_world import PRIOR, derivatives, refit
from evalstats.stats.checks import FloatArray, IntArray

Bools = NDArray[np.bool_]
_TOP = 0.1  # share of the pairs with the largest weights that active sampling draws from


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRule:
    """How pairs are chosen.

    Attributes
    ----------
    sampling
        "random": all pairs alike. "active": the tenth of all pairs whose next vote tells most about all strengths at once.
        "variance": the tenth whose difference is known worst. "proximity": pairs whose estimated strengths differ by at
        most `threshold`, more often those that met seldom; neighbours in the ranking may always meet.
    threshold
        Log-odds.
    warm_up
        Votes per model at random before any other rule begins.
    batch
        Votes between two refits.
    series
        Votes against each anchor of a placement.
    explore
        Share of the votes after the warm-up that are between pairs drawn at random all the same.
    """

    sampling: Literal["random", "active", "variance", "proximity"] = "random"
    threshold: float = 0.5
    warm_up: int = 5
    batch: int = 200
    series: int = 10
    explore: float = 0.0


def pair_weights(
    rule: SamplingRule, wins: FloatArray, *, start: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the weight of every pair for the next batch (symmetric, 0 on the diagonal), and the strengths that it rests on.

    `wins` as in `refit`. "active": one more vote between i and j multiplies the determinant of the information by
    1 + p(1 - p) v_ij, v_ij the variance of their difference (D-optimal design). "proximity": weight 1/(1 + votes between them).
    """
    met = wins + np.swapaxes(wins, -1, -2)
    strengths = refit(wins, start=start)
    may = ~np.eye(int(met.shape[-1]), dtype=np.bool_)
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


def difference_variance(met: FloatArray, strengths: FloatArray, *, prior: float = PRIOR) -> FloatArray:
    """Return the model-based variance of every difference of two strengths, shape (..., n_models, n_models).

    `met` counts the votes between two models.
    """
    n_models = int(met.shape[-1])
    _, hessian = derivatives(met / 2, met, strengths, prior)
    inverse = np.asarray(np.linalg.inv(hessian + (prior == 0) / n_models), dtype=np.float64)
    own = np.diagonal(inverse, axis1=-2, axis2=-1)
    # Both halves of an inverse differ in the last digits; a pair has one variance whichever way round.
    return own[..., :, None] + own[..., None, :] - (inverse + np.swapaxes(inverse, -1, -2))


Ask = Callable[[IntArray, int], FloatArray]


def place(asked: Ask, order: IntArray, series: int) -> IntArray:
    """Return below how many ranked models a new one is placed: binary search by short series against the middle of what is left.

    `asked` is called with the anchors, shape (n_arenas,), -1 where an arena has finished, and the length of a series; it returns
    the new model's share of the votes. `order`, of shape (n_arenas, n_anchors), holds the models from best to worst.
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


def near(strengths: FloatArray, threshold: float, allowed: Bools) -> Bools:
    """Mark allowed pairs that differ by at most `threshold`, and the next stronger and weaker one however far away.

    Without the neighbours a model that leads by more than the threshold would never meet anyone again.
    """
    above = strengths[..., None, :] - strengths[..., :, None]
    close = allowed & (np.abs(above) <= threshold)
    for gap in (above, -above):
        ahead = np.where(allowed & (gap > 0), gap, np.inf)
        nearest = np.isfinite(ahead) & (ahead == ahead.min(axis=-1, keepdims=True))
        close |= nearest | np.swapaxes(nearest, -1, -2)
    return close
