"""Loyalty of a rater to one model: bets that it is chosen nearly always, whatever it meets."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.stats.arena.decided_votes import DecidedVotes
from evalstats.stats.checks import FloatArray, IntArray

LOYAL = np.array([0.85, 0.95, 0.99])  # how often a loyal rater chooses the model


def loyal_log(wins: FloatArray, met: IntArray) -> FloatArray:
    """Return the log-likelihood of `wins` of `met` votes for a model if the rater is loyal to it.

    Examples
    --------
    >>> loyal_log(np.array([20.0, 10.0]), np.array([20, 20])).round(1).tolist()
    [-0.9, -21.7]
    """
    each = wins * np.log(LOYAL)[:, None] + (met - wins) * np.log1p(-LOYAL)[:, None]
    return np.asarray(special.logsumexp(each, axis=0) - math.log(LOYAL.size), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loyalty:
    """Log e-values of loyalty, shape (n_raters,), the model with the most of it, decided votes on it, and those for it."""

    of_rater: FloatArray
    model: IntArray
    met: IntArray
    won: IntArray


def loyalty(votes: DecidedVotes, forecasts: FloatArray) -> Loyalty:
    """Bet that a rater is loyal to a model, for each model met, averaged by how often the rater met it.

    Parameters
    ----------
    forecasts
        Of side a by an honest rater, shape (n,).
    """
    n_models = votes.uncertainty.size
    # Every vote is met twice: by the model on side a and by that on side b.
    model = np.concatenate([votes.first, votes.second])
    rater = np.concatenate([votes.rater, votes.rater])
    won = np.concatenate([votes.a_won, ~votes.a_won])
    p = np.concatenate([forecasts, 1.0 - forecasts])
    levels, cell = np.unique(rater * n_models + model, return_inverse=True)
    met = np.bincount(cell, minlength=levels.size)
    wins = np.bincount(cell, weights=won, minlength=levels.size).astype(np.int64)
    # Against a loyalty fixed beforehand the order of votes does not matter.
    chance = np.bincount(cell, weights=np.log(np.where(won, p, 1.0 - p)), minlength=levels.size)
    log_e = loyal_log(wins.astype(np.float64), met) - chance
    owner, whose = levels // n_models, levels % n_models
    share = np.log(met / (2.0 * np.bincount(votes.rater, minlength=votes.n_raters))[owner])
    best = np.lexsort((log_e + share, owner))[np.searchsorted(owner, np.arange(votes.n_raters), side="right") - 1]
    return Loyalty(
        of_rater=_log_sums(log_e + share, owner, votes.n_raters),
        model=whose[best],
        met=met[best],
        won=wins[best],
    )


def _log_sums(values: FloatArray, group: IntArray, n: int) -> FloatArray:
    most = np.full(n, -np.inf)
    np.maximum.at(most, group, values)
    return most + np.log(np.bincount(group, weights=np.exp(values - most[group]), minlength=n))
