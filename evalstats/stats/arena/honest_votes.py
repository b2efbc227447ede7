"""What an honest rater would vote next: others' ratings, plus a taste of one's own that the earlier votes tell about."""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray

# A logistic of mean m and normal noise of variance v is near expit(m / sqrt(1 + c v)).
ATTENUATION = (16.0 * math.sqrt(3.0) / (15.0 * math.pi)) ** 2
_NODES, _AREAS = np.polynomial.hermite_e.hermegauss(15)
_MASS = _AREAS / _AREAS.sum()
_BLOCK = 4_000_000  # numbers of the covariances held at a time
_TASTES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0])
_USUAL = 0.75
_MOST_FOR_TASTE = 6_000  # votes from which taste is estimated


BoolArray: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedVotes:
    """Votes that one side won, sorted by rater and, of one rater, by time.

    Attributes
    ----------
    rater
        int64, shape (n,): codes 0..n_raters-1, ascending.
    first, second
        int64, shape (n,): models on sides a and b.
    a_won
        bool, shape (n,).
    eta
        float64, shape (n,): log-odds of side a by the ratings that the others' votes give.
    uncertainty
        float64, shape (n_models,): variance of each strength.
    """

    n_raters: int
    rater: IntArray
    first: IntArray
    second: IntArray
    a_won: BoolArray
    eta: FloatArray
    uncertainty: FloatArray


def decided_votes(
    rater: IntArray, pairs: tuple[IntArray, IntArray], a_won: BoolArray, eta: FloatArray, uncertainty: FloatArray
) -> DecidedVotes:
    """Sort votes by rater; votes of one rater must come in the order in which they were given.

    Raises
    ------
    InputError
        If shapes differ or a number is not finite.
    """
    n = rater.size
    first, second = pairs
    if not (first.shape == second.shape == a_won.shape == eta.shape == (n,)):
        raise InputError(f"{n} raters, {first.size} pairs and {eta.size} log-odds; give one of each for every vote")
    if not (np.isfinite(eta).all() and np.isfinite(uncertainty).all()):
        raise InputError("log-odds or variances of strengths are not finite; rate models on one scale first")
    order = np.argsort(rater, kind="stable")
    return DecidedVotes(
        n_raters=int(rater.max(initial=-1)) + 1,
        rater=rater[order],
        first=first[order],
        second=second[order],
        a_won=np.asarray(a_won[order], dtype=np.bool_),
        eta=eta[order],
        uncertainty=np.maximum(uncertainty, 0.0),
    )


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
    forecasts = np.empty(votes.rater.size)
    local, n_local = _local_models(votes)
    starts = np.searchsorted(votes.rater, np.arange(votes.n_raters + 1))
    n_votes = np.diff(starts)
    order = np.argsort(-n_votes, kind="stable")
    order = order[n_votes[order] > 0]
    at = 0
    while at < order.size:
        # Raters with about as many votes go together; the widest of them says how many fit.
        room = max(1, _BLOCK // max(1, int(n_local[order[at : at + 4096]].max()) ** 2))
        chosen = order[at : at + min(room, 4096)]
        block = _Block(
            votes=votes,
            eta=eta,
            local=local,
            starts=starts[chosen],
            n_votes=n_votes[chosen],
            mean=np.zeros((chosen.size, int(n_local[chosen].max()))),
        )
        block.forecast(variance, forecasts)
        at += chosen.size
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


def only_raters(votes: DecidedVotes, kept: BoolArray) -> DecidedVotes:
    """Return the votes of some raters, numbered anew in the same order; `kept` is a boolean mask, shape (n_raters,)."""
    rows = kept[votes.rater]
    number = np.cumsum(kept) - 1
    return DecidedVotes(
        n_raters=int(kept.sum()),
        rater=number[votes.rater[rows]].astype(np.int64),
        first=votes.first[rows],
        second=votes.second[rows],
        a_won=votes.a_won[rows],
        eta=votes.eta[rows],
        uncertainty=votes.uncertainty,
    )


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


def _local_models(votes: DecidedVotes) -> tuple[IntArray, IntArray]:
    """Return numbers of both models among those of the rater, shape (2, n), and how many models each rater met."""
    n_models = votes.uncertainty.size
    key = votes.rater * n_models + np.stack([votes.first, votes.second])
    levels, place = np.unique(key, return_inverse=True)
    owner = levels // n_models
    start = np.searchsorted(owner, np.arange(votes.n_raters))
    local = (np.arange(levels.size) - start[owner])[place.reshape(2, -1)]
    return local.astype(np.int64), np.bincount(owner, minlength=votes.n_raters).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """Some raters, those with most votes first, filtered together; `mean` holds what is known of their tastes."""

    votes: DecidedVotes
    eta: FloatArray
    local: IntArray
    starts: IntArray
    n_votes: IntArray
    mean: FloatArray

    def forecast(self, variance: FloatArray, forecasts: FloatArray) -> None:
        """Write the forecasts of all votes of these raters."""
        mean, cov, votes = self.mean, self._prior(variance), self.votes
        for t in range(int(self.n_votes[0])):
            active = int(np.searchsorted(-self.n_votes, -t, side="left"))
            who, row = np.arange(active), self.starts[:active] + t
            a, b = self.local[0, row], self.local[1, row]
            along = cov[who, a] - cov[who, b]
            square = np.maximum(along[who, a] - along[who, b], 1e-12)
            middle = self.eta[row] + mean[who, a] - mean[who, b]
            p, shift, kept = _moments(middle, np.sqrt(square), votes.a_won[row])
            forecasts[row] = p
            mean[:active] += along * (shift / np.sqrt(square))[:, None]
            along *= np.sqrt((1.0 - kept) / square)[:, None]
            cov[:active] -= along[:, :, None] * along[:, None, :]

    def _prior(self, variance: FloatArray) -> FloatArray:
        width = int(self.mean.shape[1])
        cov = np.zeros((self.n_votes.size, width, width))
        who = np.repeat(np.arange(self.n_votes.size), self.n_votes)
        within = np.arange(who.size) - np.repeat(np.cumsum(self.n_votes) - self.n_votes, self.n_votes)
        rows = np.repeat(self.starts, self.n_votes) + within
        for side, models in enumerate((self.votes.first, self.votes.second)):
            at = self.local[side, rows]
            cov[who, at, at] = variance[models[rows]]
        return cov


def _moments(middle: FloatArray, sd: FloatArray, a_won: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(a), and mean and variance, in sd, of the normal difference given who won."""
    likelihood = expit(middle[:, None] + sd[:, None] * _NODES)
    p = likelihood @ _MASS
    likelihood = np.where(a_won[:, None], likelihood, 1.0 - likelihood) * _MASS
    total = likelihood.sum(axis=1)
    shift = (likelihood @ _NODES) / total
    kept = (likelihood @ _NODES**2) / total - shift**2
    return p, shift, np.clip(kept, 1e-9, 1.0)
