"""Forecasts of every vote from the rater's earlier ones, many raters at a time."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from evalstats.stats.arena.decided_votes import BoolArray, DecidedVotes
from evalstats.stats.checks import FloatArray, IntArray

_NODES, _AREAS = np.polynomial.hermite_e.hermegauss(15)
_MASS = _AREAS / _AREAS.sum()
_BLOCK = 400_000  # numbers of the covariances held at a time: what stays in a processor's cache
_TOGETHER = 4096


def filtered(votes: DecidedVotes, eta: FloatArray, variance: FloatArray) -> FloatArray:
    """Return P(a) of each vote for a rater with normal tastes of these variances, given the rater's votes before it.

    Parameters
    ----------
    eta
        float64, shape (n,): log-odds of side a without tastes.
    variance
        float64, shape (n_models,): of the taste for each model.

    Notes
    -----
    Of raters with few votes the law of the differences that their votes show is kept (n_votes x n_votes), of others that of
    the tastes for the models they met (n_models x n_models): the same, by the shorter way.
    """
    forecasts = np.empty(votes.rater.size)
    local, n_local = _local_models(votes)
    starts = np.searchsorted(votes.rater, np.arange(votes.n_raters + 1))
    n_votes = np.diff(starts)
    order = np.argsort(-n_votes, kind="stable")
    order = order[n_votes[order] > 0]
    width = np.minimum(n_local, n_votes)
    at = 0
    while at < order.size:
        # Raters with about as many votes go together; the widest of them says how many fit.
        widest = max(1, int(width[order[at : at + _TOGETHER]].max()))
        chosen = order[at : at + min(max(1, _BLOCK // widest**2), _TOGETHER)]
        block = _Block(votes=votes, eta=eta, local=local, starts=starts[chosen], n_votes=n_votes[chosen])
        if int(n_votes[chosen[0]]) <= int(n_local[chosen].max()):
            block.by_votes(variance, forecasts)
        else:
            block.by_models(variance, forecasts, int(n_local[chosen].max()))
        at += chosen.size
    return forecasts


@dataclass(frozen=True, slots=True, kw_only=True)
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
        for t in range(int(self.n_votes[0])):
            active = self._active(t)
            who, row = np.arange(active), self.starts[:active] + t
            a, b = self.local[0, row], self.local[1, row]
            along = cov[who, a] - cov[who, b]
            square = np.maximum(along[who, a] - along[who, b], 1e-12)
            middle = self.eta[row] + mean[who, a] - mean[who, b]
            forecasts[row], shift, left = _moments(middle, square, self.votes.a_won[row])
            mean[:active] += along * shift[:, None]
            along *= left[:, None]
            cov[:active] -= along[:, :, None] * along[:, None, :]

    def by_votes(self, variance: FloatArray, forecasts: FloatArray) -> None:
        """Do the same, keeping the law of the differences that the votes still to come show."""
        row, cov = self._rows(), self._of_votes(variance)
        mean = self.eta[row]
        for t in range(int(self.n_votes[0])):
            active = self._active(t)
            now = row[:active, t]
            along = cov[:active, t, t:]
            square = np.maximum(along[:, 0], 1e-12)
            forecasts[now], shift, left = _moments(mean[:active, t], square, self.votes.a_won[now])
            mean[:active, t:] += along * shift[:, None]
            rest = along[:, 1:] * left[:, None]
            cov[:active, t + 1 :, t + 1 :] -= rest[:, :, None] * rest[:, None, :]

    def _active(self, t: int) -> int:
        """Return how many raters have more than `t` votes."""
        return int(np.searchsorted(-self.n_votes, -t, side="left"))

    def _rows(self) -> IntArray:
        """Return places of the votes, shape (n_raters, most votes); beyond a rater's last vote they mean nothing."""
        return np.minimum(self.starts[:, None] + np.arange(int(self.n_votes[0])), self.eta.size - 1)

    def _of_votes(self, variance: FloatArray) -> FloatArray:
        row = self._rows()
        first, second = self.votes.first[row], self.votes.second[row]
        on_first, on_second = variance[first][:, :, None], variance[second][:, :, None]
        cov = on_first * (first[:, :, None] == first[:, None, :])
        cov += on_second * (second[:, :, None] == second[:, None, :])
        cov -= on_first * (first[:, :, None] == second[:, None, :])
        cov -= on_second * (second[:, :, None] == first[:, None, :])
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


def _moments(middle: FloatArray, square: FloatArray, a_won: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(a) and, given who won, what moves means and what leaves covariances, as factors of covariances.

    The difference is normal with mean `middle` and variance `square`; its mean moves by square x the second, its variance
    falls by (square x the third)^2.
    """
    sd = np.sqrt(square)
    likelihood = expit(middle[:, None] + sd[:, None] * _NODES)
    p = likelihood @ _MASS
    likelihood = np.where(a_won[:, None], likelihood, 1.0 - likelihood) * _MASS
    total = likelihood.sum(axis=1)
    shift = (likelihood @ _NODES) / total
    kept = np.clip((likelihood @ _NODES**2) / total - shift**2, 1e-9, 1.0)
    return p, shift / sd, np.sqrt((1.0 - kept) / square)


def _local_models(votes: DecidedVotes) -> tuple[IntArray, IntArray]:
    """Return numbers of both models among those of the rater, shape (2, n), and how many models each rater met."""
    n_models = votes.uncertainty.size
    key = votes.rater * n_models + np.stack([votes.first, votes.second])
    levels, place = np.unique(key, return_inverse=True)
    owner = levels // n_models
    start = np.searchsorted(owner, np.arange(votes.n_raters))
    local = (np.arange(levels.size) - start[owner])[place.reshape(2, -1)]
    return local.astype(np.int64), np.bincount(owner, minlength=votes.n_raters).astype(np.int64)
