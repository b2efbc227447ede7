"""Tastes of raters, and what an honest one's next vote is expected to be: votes with a winner, rater by rater."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.arena.parametric_bootstrap import ATTENUATION
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, counted_order, levels_and_places


@record
class DecidedVotes:
    """Votes that one side won, sorted by rater and, of one rater, by time; arrays of shape (n,).

    Attributes
    ----------
    rater
        int64: codes 0..n_raters-1, ascending.
    first, second, a_won
        Models on sides a and b, and whether side a won.
    eta
        float64: log-odds of side a by the ratings that the others' votes give.
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
    """Sort votes by rater; votes of one rater must come in the order in which they were given."""
    n = rater.size
    first, second = pairs
    if not (first.shape == second.shape == a_won.shape == eta.shape == (n,)):
        raise InputError(f"{n} raters, {first.size} pairs and {eta.size} log-odds; give one of each for every vote")
    if not (np.isfinite(eta).all() and np.isfinite(uncertainty).all()):
        raise InputError("log-odds or variances of strengths are not finite; rate models on one scale first")
    order = counted_order(rater)
    return DecidedVotes(
        n_raters=int(rater.max(initial=-1)) + 1,
        rater=rater[order],
        first=first[order],
        second=second[order],
        a_won=np.asarray(a_won[order], dtype=np.bool_),
        eta=eta[order],
        uncertainty=np.maximum(uncertainty, 0.0),
    )


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


_STEP_NODES, _STEP_AREAS = np.polynomial.hermite_e.hermegauss(15)
# Of the normal law: its mass, mean and mean square, by nodes.
_STEP_MOMENTS = (_STEP_AREAS / _STEP_AREAS.sum())[:, None] * np.column_stack([_STEP_NODES**k for k in range(3)])
_BLOCK = 400_000  # numbers of the covariances held at a time: what stays in a processor's cache
_TOGETHER = 4096
_AT_ONCE = 32  # votes


def filtered(votes: DecidedVotes, eta: FloatArray, variance: FloatArray) -> FloatArray:
    """Return P(a) of each vote for a rater with normal tastes of these variances, given the rater's votes before it.

    `eta` is the log-odds of side a without tastes; `variance` has shape (n_models,). Of raters with few votes the law of the
    differences that their votes show is kept (n_votes x n_votes), of others that of the tastes for the models they met
    (n_models x n_models): the same, by the shorter way.
    """
    forecasts = np.empty(votes.rater.size)
    local, n_local = _local_models(votes)
    starts = np.searchsorted(votes.rater, np.arange(votes.n_raters + 1))
    n_votes = np.diff(starts)
    order = np.argsort(-n_votes, kind="stable")
    width = np.minimum(n_local, n_votes)
    at = 0
    while at < order.size:
        # Raters with about as many votes go together; the widest of them says how many fit.
        chunk = min(_TOGETHER, max(1, _BLOCK // max(1, int(width[order[at : at + _TOGETHER]].max())) ** 2))
        chosen = order[at : at + chunk]
        block = _Block(votes=votes, eta=eta, local=local, starts=starts[chosen], n_votes=n_votes[chosen])
        most_models = int(n_local[chosen].max())
        votes_are_cheaper = int(n_votes[chosen[0]]) <= most_models
        if votes_are_cheaper:
            block.by_votes(variance, forecasts)
        else:
            block.by_models(variance, forecasts, most_models)
        at += chosen.size
    return forecasts


@record
class _Block:
    """Some raters, those with most votes first, filtered together."""

    votes: DecidedVotes
    eta: FloatArray
    local: IntArray
    starts: IntArray
    n_votes: IntArray

    def by_models(self, variance: FloatArray, forecasts: FloatArray, width: int) -> None:
        """Write the forecasts of all votes of these raters, keeping the law of tastes for models."""
        mean, cov = np.zeros((self.starts.size, width)), self._of_models(variance, width)
        # What votes leave of a covariance is subtracted for some of them at once: one product in place of many passes.
        lost = np.zeros((self.starts.size, _AT_ONCE, width))
        for t, active in enumerate(self._active()):
            k = t % _AT_ONCE
            if t and not k:
                cov[:active] -= lost[:active].transpose(0, 2, 1) @ lost[:active]
            who, row = np.arange(active), self.starts[:active] + t
            a, b = self.local[0, row], self.local[1, row]
            along = cov[who, a] - cov[who, b]
            along -= ((lost[who, :k, a] - lost[who, :k, b])[:, None] @ lost[:active, :k])[:, 0]
            square = np.maximum(along[who, a] - along[who, b], 1e-12)
            middle = self.eta[row] + mean[who, a] - mean[who, b]
            forecasts[row], shift, left = _moments(middle, square, self.votes.a_won[row])
            mean[:active] += along * shift[:, None]
            lost[:active, k] = along * left[:, None]

    def by_votes(self, variance: FloatArray, forecasts: FloatArray) -> None:
        """Do the same, keeping the law of the differences that the votes still to come show."""
        row, cov = self._rows(), self._of_votes(variance)
        mean, lost = self.eta[row], np.zeros_like(cov)
        for t, active in enumerate(self._active()):
            now = row[:active, t]
            along = cov[:active, t, t:] - (lost[:active, :t, t][:, None] @ lost[:active, :t, t:])[:, 0]
            square = np.maximum(along[:, 0], 1e-12)
            forecasts[now], shift, left = _moments(mean[:active, t], square, self.votes.a_won[now])
            mean[:active, t:] += along * shift[:, None]
            lost[:active, t, t:] = along * left[:, None]

    def _active(self) -> list[int]:
        """Return how many raters have more than 0, 1, 2, ... votes, while there is one."""
        return np.searchsorted(-self.n_votes, -np.arange(int(self.n_votes[0])), side="left").tolist()

    def _rows(self) -> IntArray:
        """Return places of the votes, shape (n_raters, most votes); beyond a rater's last vote they mean nothing."""
        return np.minimum(self.starts[:, None] + np.arange(int(self.n_votes[0])), self.eta.size - 1)

    def _of_votes(self, variance: FloatArray) -> FloatArray:
        row = self._rows()
        first, second = self.votes.first[row], self.votes.second[row]
        cov = variance[first][:, :, None] * _met(first, first, second)
        cov += variance[second][:, :, None] * _met(second, second, first)
        return cov

    def _of_models(self, variance: FloatArray, width: int) -> FloatArray:
        cov = np.zeros((self.n_votes.size, width, width))
        who = np.repeat(np.arange(self.n_votes.size), self.n_votes)
        within = np.arange(who.size) - np.repeat(np.cumsum(self.n_votes) - self.n_votes, self.n_votes)
        rows = np.repeat(self.starts, self.n_votes) + within
        for side, models in enumerate((self.votes.first, self.votes.second)):
            at = self.local[side, rows]
            cov[who, at, at] = variance[models[rows]]
        return cov


def _met(own: IntArray, same: IntArray, other: IntArray) -> NDArray[np.int8]:
    """Return 1 where a vote's own model is `same` in another vote of the rater, -1 where `other`, shape (n, votes, votes)."""
    alike, unlike = (own[:, :, None].astype(np.int32) == side[:, None].astype(np.int32) for side in (same, other))
    return alike.view(np.int8) - unlike.view(np.int8)


def _moments(middle: FloatArray, square: FloatArray, a_won: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(a) and, given who won, what moves means and what leaves covariances, as factors of covariances.

    The difference is normal with mean `middle` and variance `square`; its mean moves by square x the second, its variance
    falls by (square x the third)^2.
    """
    sd, way = np.sqrt(square), np.where(a_won, 1.0, -1.0)
    likelihood = expit((way * middle)[:, None] + (way * sd)[:, None] * _STEP_NODES)
    moments: FloatArray = likelihood @ _STEP_MOMENTS
    total, first, second = moments[:, 0], moments[:, 1], moments[:, 2]
    shift = first / total
    kept = np.minimum(np.maximum(second / total - shift**2, 1e-9), 1.0)
    return np.where(a_won, total, 1.0 - total), shift / sd, np.sqrt((1.0 - kept) / square)


def _local_models(votes: DecidedVotes) -> tuple[IntArray, IntArray]:
    """Return numbers of both models among those of the rater, shape (2, n), and how many models each rater met."""
    n_models = votes.uncertainty.size
    key = votes.rater * n_models + np.stack([votes.first, votes.second])
    levels, place = levels_and_places(key.ravel())
    owner = levels // n_models
    start = np.searchsorted(owner, np.arange(votes.n_raters))
    local = (np.arange(levels.size) - start[owner])[place.reshape(2, -1)]
    return local.astype(np.int64), np.bincount(owner, minlength=votes.n_raters).astype(np.int64)


_TASTES = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0])
_USUAL = 0.75
_MOST_FOR_TASTE = 6_000  # votes from which taste is estimated


def decided_line(eta: FloatArray, a_won: BoolArray) -> tuple[float, float]:
    """Return how the log-odds of a decided vote go with `eta`: intercept (of side a) and slope.

    Ratings that take ties for half wins, or that are of all raters together, are closer to each other than the odds of
    the votes that are decided. A weak prior (slope 1, intercept 0, standard deviations 1) keeps both finite.
    """
    x = np.column_stack([np.ones_like(eta), eta])
    prior = beta = np.array([0.0, 1.0])
    for _ in range(50):
        p = expit(x @ beta)
        step = np.linalg.solve((x.T * (p * (1.0 - p))) @ x + np.eye(2), x.T @ (a_won - p) - (beta - prior))
        # Long steps of a logistic overshoot.
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-10:
            break
    return float(beta[0]), float(beta[1])


def honest_forecasts(votes: DecidedVotes, *, taste: float, line: tuple[float, float]) -> FloatArray:
    """Return for each vote the probability that an honest rater with these earlier votes chooses side a, strictly within (0, 1).

    An honest rater has strengths of the models that differ from everybody's by independent normal amounts of standard
    deviation `taste`, in log-units; `line` is from `decided_line`. What the votes so far say about them is kept as a normal law
    that has, after each vote, the mean and the variances that Bayes' rule gives for the two models at hand (assumed density
    filtering, as in TrueSkill, with all covariances). Whatever that approximates, it is a law of sequences of votes: forecasts of
    side a and b sum to 1.

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
    # The top of the parabola through the best and its neighbours, between which it lies.
    c = np.polyfit(_TASTES[best - 1 : best + 2], [value(best + k) for k in (-1, 0, 1)], 2)
    return float(-c[1] / (2.0 * c[0]))


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
