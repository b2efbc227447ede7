"""Abilities of models on the logit scale, told from the items that one model solves and another does not.

References: Rasch 1960; Choppin 1968, Nature 219:870; Zwinderman 1995, doi:10.1177/014662169501900406 (pairwise conditional
estimation); Haldane 1956, doi:10.1111/j.1469-1809.1955.tb01285.x (half a success more).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.stats.checks import FloatArray
from evalstats.stats.roots import solved

_HALF_A_WIN = 0.5
_MOST_ROUNDS = 100
_LONGEST_STEP = 2.0
_AT_REST = 1e-10
_LONGEST_LEAD = 5.0


def ability_scores(sides: Sequence[ArrayLike]) -> tuple[FloatArray, ...]:
    """Return logits of ability whose mean over the items of a side is each model's there, about the mean of all models.

    `sides`: float64 arrays of shape (n_items, n_models), one for each side, the model in question first and others after it:
    right or wrong, or the share of an item's trials that are right.

    A model's ability plus what this item adds to its error, so that means and their (clustered) variances may be taken of them
    as of any scores.

    Notes
    -----
    Under the Rasch model logit P(m solves i) = ability_m - difficulty_i. Of the items that exactly one of two models solves, m
    solves a share of expit(ability_m - ability_l), whatever their difficulties: no law of difficulties is assumed, and items
    that all or none solve tell nothing. The estimating equations add w sum_l [y_m (1 - y_l) - {y_m (1 - y_l) + y_l (1 - y_m)}
    expit(ability_m - ability_l)] over items, and are unbiased for shares of trials too. The weight of an item that t of M models
    solve is w = 1 / (t e^lead + M - t), with the mean lead of the model in question over the others: where these are alike,
    that is the conditional likelihood of Rasch. Half a win each way keeps abilities finite. The error of an item is the
    inverse Hessian times its term.

    Examples
    --------
    >>> both = np.array([[1.0, 0.0]] * 30 + [[0.0, 1.0]] * 10 + [[1.0, 1.0]] * 60)
    >>> (found,) = ability_scores([both])
    >>> found.mean(axis=0).round(2).tolist(), round(math.log(30 / 10) / 2, 2)
    ([0.54, -0.54], 0.55)
    """
    shares = [np.asarray(side, dtype=np.float64) for side in sides]
    even = [_abilities(y, np.ones(len(y))) for y in shares]
    leads = [found[:, 0].mean() - found[:, 1:].mean() for found in even]
    odds = math.exp(min(max(float(np.mean(leads)), -_LONGEST_LEAD), _LONGEST_LEAD))
    n_solved = [y.sum(axis=1) for y in shares]
    return tuple(_abilities(y, 1.0 / (t * odds + y.shape[1] - t)) for y, t in zip(shares, n_solved, strict=True))


def _abilities(y: FloatArray, weight: FloatArray) -> FloatArray:
    """Solve the estimating equations by Newton's method, and add the error that each item brings."""
    n, count = y.shape
    wins = (y * weight[:, np.newaxis]).T @ (1.0 - y) + _HALF_A_WIN * weight.mean()
    np.fill_diagonal(wins, 0.0)
    met = wins + wins.T
    ability, hessian = np.zeros(count), np.eye(count)
    for _ in range(_MOST_ROUNDS):
        chance = _chances(ability)
        told = met * chance * (1.0 - chance)
        # A constant added to all abilities changes nothing: their mean stays 0.
        hessian = np.diag(told.sum(axis=1)) - told + told.mean()
        step = solved(hessian, (wins - met * chance).sum(axis=1))
        ability = ability + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        if np.abs(step).max() < _AT_REST:
            break
    chance = _chances(ability)
    np.fill_diagonal(chance, 0.0)
    terms: FloatArray = y * ((1.0 - y) @ (1.0 - chance).T) - (1.0 - y) * (y @ chance.T) - y * (1.0 - y)
    terms = terms * weight[:, np.newaxis]
    # What half a win each way adds is shared by all items, so that the errors sum to 0.
    errors = solved(hessian, (terms - terms.mean(axis=0)).T)
    return ability + n * errors.T


def _chances(ability: FloatArray) -> FloatArray:
    """Return how often each model, and not the other, solves an item that one of the two solves."""
    return np.asarray(special.expit(ability[:, np.newaxis] - ability), dtype=np.float64)
