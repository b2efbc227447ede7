"""What an honest rater would vote next: others' ratings, plus a taste of one's own that the earlier votes tell about."""

import math

import numpy as np
from scipy.special import expit

from evalstats.stats.arena.decided_votes import BoolArray, DecidedVotes, only_raters
from evalstats.stats.arena.taste_filter import filtered
from evalstats.stats.checks import FloatArray

# A logistic of mean m and normal noise of variance v is near expit(m / sqrt(1 + c v)).
ATTENUATION = (16.0 * math.sqrt(3.0) / (15.0 * math.pi)) ** 2
_TASTES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0])
_USUAL = 0.75
_MOST_FOR_TASTE = 6_000  # votes from which taste is estimated


def decided_line(eta: FloatArray, a_won: BoolArray) -> tuple[float, float]:
    """Return how the log-odds of a decided vote go with `eta`: intercept (of side a) and slope.

    Ratings that take ties for half wins, or that are of all raters together, are closer to each other than the odds of
    the votes that are decided. A weak prior (slope 1, intercept 0, standard deviations 1) keeps both finite.
    """
    x = np.column_stack([np.ones_like(eta), eta])
    prior, beta = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    for _ in range(50):
        p = expit(x @ beta)
        step = np.linalg.solve((x.T * (p * (1.0 - p))) @ x + np.eye(2), x.T @ (a_won - p) - (beta - prior))
        # Long steps of a logistic overshoot.
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            break
    return float(beta[0]), float(beta[1])


def honest_forecasts(votes: DecidedVotes, *, taste: float, line: tuple[float, float]) -> FloatArray:
    """Return for each vote the probability that an honest rater with these earlier votes chooses side a.

    An honest rater has strengths of the models that differ from everybody's by independent normal amounts of standard
    deviation `taste`. What the votes so far say about them is kept as a normal law that has, after each vote, the mean and
    the variances that Bayes' rule gives for the two models at hand (assumed density filtering, as in TrueSkill, with all
    covariances). Whatever that approximates, it is a law of sequences of votes: forecasts of side a and b sum to 1.

    Parameters
    ----------
    taste
        Standard deviation, log-units.
    line
        From `decided_line`.

    Returns
    -------
    numpy.ndarray
        float64, shape (n,), strictly between 0 and 1.

    References
    ----------
    Herbrich, Minka & Graepel 2006, TrueSkill, NIPS 19; Opper 1998, A Bayesian approach to on-line learning.
    """
    # Everybody's forecast of a first vote stays what the line says: taste blurs it, so it must start sharper.
    sharper = math.sqrt(1.0 + ATTENUATION * 2.0 * taste**2)
    eta = sharper * (line[0] + line[1] * votes.eta)
    variance = taste**2 + line[1] ** 2 * votes.uncertainty
    forecasts = filtered(votes, eta, variance)
    return np.clip(forecasts, 1e-12, 1.0 - 1e-12)


def estimated_taste(votes: DecidedVotes, line: tuple[float, float], *, seed: int, near: float | None = None) -> float:
    """Return the taste under which the forecasts of all raters were best (the largest product of their probabilities).

    Of many votes, those of some raters, drawn with the seed, are enough. `near` is where to begin the search.
    """
    few = _some_raters(votes, seed)
    logs: dict[int, float] = {}

    def value(k: int) -> float:
        if not 0 <= k < _TASTES.size:
            return -math.inf
        if k not in logs:
            logs[k] = log_likelihood(few, honest_forecasts(few, taste=float(_TASTES[k]), line=line))
        return logs[k]

    best = int(np.argmin(np.abs(_TASTES - (_USUAL if near is None else near))))
    # Uphill along the grid: the likelihood of one spread has one top.
    while max(value(best - 1), value(best + 1)) > value(best):
        best += 1 if value(best + 1) > value(best - 1) else -1
    if best in {0, _TASTES.size - 1}:
        return float(_TASTES[best])
    # The top of the parabola through the best and its neighbours.
    around = _TASTES[best - 1 : best + 2]
    c = np.polyfit(around, [value(best + k) for k in (-1, 0, 1)], 2)
    return float(np.clip(-c[1] / (2.0 * c[0]), around[0], around[2]))


def log_likelihood(votes: DecidedVotes, forecasts: FloatArray) -> float:
    """Return the sum of the logs of what the votes were given."""
    return float(np.log(np.where(votes.a_won, forecasts, 1.0 - forecasts)).sum())


def _some_raters(votes: DecidedVotes, seed: int) -> DecidedVotes:
    if votes.rater.size <= _MOST_FOR_TASTE:
        return votes
    order = np.random.default_rng(seed).permutation(votes.n_raters)
    n_votes = np.bincount(votes.rater, minlength=votes.n_raters)
    kept = np.zeros(votes.n_raters, dtype=np.bool_)
    within = np.cumsum(n_votes[order]) <= _MOST_FOR_TASTE
    within[0] = True
    kept[order[within]] = True
    return only_raters(votes, kept)
