"""Rings: several raters who push one model, none of them conspicuous alone.

A ring also lifts the rating that it is measured against. So the model's rating is left open: the evidence is the likelihood
of "some raters are loyal", averaged over ratings and sizes of the ring, over the largest likelihood of "nobody is" that any
rating gives. Its mean under "nobody is" is at most 1, whatever the rating.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.stats.arena.decided_votes import DecidedVotes
from evalstats.stats.arena.honest_votes import ATTENUATION
from evalstats.stats.arena.loyalty import loyal_log
from evalstats.stats.checks import FloatArray, IntArray

FEWEST_MET = 3

_SIZES = (0.02, 0.05, 0.1, 0.2)  # shares of the raters that a ring may hold
_GRID = np.arange(-10.0, 8.0, 0.125)  # log-units by which one rater may rate the model higher than the fit does
_LEAST_TASTE = 0.15  # narrower laws fall between the points of the grid
_FARTHEST = 4.0  # log-units by which a ring may lift a rating
_SURE = 0.9
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_SEARCH = 14
_TINY = 1e-250


@dataclass(frozen=True, slots=True, kw_only=True)
class Rings:
    """Evidence of a ring behind each model.

    Attributes
    ----------
    log_e
        float64, shape (n_models,): 0 where fewer than two raters met the model three times.
    model, rater, member
        Shape (n_cells,): for a rater who met a model three times, the probability of belonging to its ring if there is one.
    """

    log_e: FloatArray
    model: IntArray
    rater: IntArray
    member: FloatArray

    def members(self, model: int, fdr: float) -> IntArray:
        """Return raters of the ring behind a model, if there is one: each of them with a probability of at least 90%.

        As many as keep the expected share of honest ones among them at `fdr`.
        """
        at = np.flatnonzero(self.model == model)
        at = at[np.argsort(-self.member[at], kind="stable")]
        wrong = np.cumsum(1.0 - self.member[at]) / np.arange(1, at.size + 1)
        return self.rater[at[(wrong <= fdr) & (self.member[at] >= _SURE)]]


def rings(votes: DecidedVotes, *, taste: float, line: tuple[float, float]) -> Rings:
    """Look for a ring behind each model.

    Parameters
    ----------
    votes, taste, line
        As in `honest_votes.honest_forecasts`.

    Notes
    -----
    What counts are raters with at least three decided votes on the model. Honest votes of one rater on a model share its
    taste for it and, on one opponent, the taste for that one, both integrated over a grid. (With tastes for opponents as a blur
    of single votes, 13% to 19% of tables of 8 to 12 honest raters with 80 votes on each of 4 models had a ring.) A ring member
    chooses the model with a probability of .85, .95 or .99. Averaged are rings of 2, 5, 10 and 20% of the raters and ratings
    lower than the fitted one by 0, 1, 2, 4, ... standard errors.

    References
    ----------
    Wasserman, Ramdas & Balakrishnan 2020, PNAS 117:16880, doi:10.1073/pnas.1922664117 (the largest likelihood of the null
    below); Grünwald, de Heide & Koolen 2024, JRSS-B 86:1091.
    """
    cells = _cells(votes, taste, line)
    log_e = np.zeros(votes.uncertainty.size)
    member = np.zeros(cells.rater.size)
    for model in np.unique(cells.model).tolist():
        at = np.flatnonzero(cells.model == model)
        if at.size < 2:
            continue
        log_e[model], member[at] = _of_model(cells, at, float(votes.uncertainty[model]))
    return Rings(log_e=log_e, model=cells.model, rater=cells.rater, member=member)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """Votes of one rater on one model; `start` and `stop` are their places among those of one rater, model and opponent.

    Of these `eta` holds the model's log-odds (their mean, where covariates make them differ), `won` and `lost` their number.
    """

    model: IntArray
    rater: IntArray
    start: IntArray
    stop: IntArray
    eta: FloatArray
    won: FloatArray
    lost: FloatArray
    taste: float
    sharper: float

    def of(self, at: IntArray) -> "_Model":
        """Return the likelihoods of the cells of one model (side by side)."""
        rows = slice(int(self.start[at[0]]), int(self.stop[at[-1]]))
        starts = self.start[at] - rows.start
        won, lost = self.won[rows], self.lost[rows]
        sums = np.add.reduceat(self._by_opponent(rows), starts, axis=0)
        most = sums.max(axis=1)
        logs = sums - most[:, None]
        wins, met = np.add.reduceat(won, starts), np.add.reduceat(won + lost, starts)
        return _Model(
            most=most,
            logs=logs,
            likelihood=np.exp(logs),
            loyal=loyal_log(wins, met.astype(np.int64)),
            taste=max(self.taste, _LEAST_TASTE),
            sharper=self.sharper,
        )

    def _by_opponent(self, rows: slice) -> FloatArray:
        """Return log-likelihoods over the grid of own ratings, the taste for the opponent integrated out."""
        eta, won, lost = self.eta[rows, None], self.won[rows, None], self.lost[rows, None]
        one = (won + lost)[:, 0] == 1.0
        out = np.empty((one.size, _GRID.size))
        # Of a single vote, and of no taste, the integral of a logistic is near a logistic.
        blur = math.sqrt(1.0 + ATTENUATION * self.taste**2)
        out[one] = special.log_expit((won[one] - lost[one]) / blur * (eta[one] + _GRID))
        several = ~one
        if several.any():
            at = eta[several] + _GRID
            logs = won[several] * special.log_expit(at) + lost[several] * special.log_expit(-at)
            most = logs.max(axis=1, keepdims=True)
            kernel = np.exp(-0.5 * ((_GRID[:, None] - _GRID) / max(self.taste, _LEAST_TASTE)) ** 2)
            mean = np.exp(logs - most) @ (kernel / kernel.sum(axis=0))
            out[several] = most + np.log(np.maximum(mean, _TINY))
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """Votes on one model: log-likelihoods of each rater's over the grid of own ratings are `most` + `logs`."""

    most: FloatArray
    logs: FloatArray
    likelihood: FloatArray
    loyal: FloatArray
    taste: float
    sharper: float

    def honest(self, shift: float) -> FloatArray:
        """Return log-likelihoods of honest raters if the model's strength is higher by `shift`, shape (n_cells,)."""
        log_weight = -0.5 * ((_GRID - self.sharper * shift) / self.taste) ** 2
        log_weight -= special.logsumexp(log_weight)
        mean = self.likelihood @ np.exp(log_weight)
        # Votes far from the narrow law of tastes: products of the two are too small for numbers, and not for logs.
        tiny = mean < _TINY
        found = self.most + np.log(np.where(tiny, 1.0, mean))
        found[tiny] = self.most[tiny] + special.logsumexp(self.logs[tiny] + log_weight, axis=1)
        return found


def _cells(votes: DecidedVotes, taste: float, line: tuple[float, float]) -> _Cells:
    n_models = votes.uncertainty.size
    sharper = math.sqrt(1.0 + ATTENUATION * 2.0 * taste**2)
    eta = sharper * (line[0] + line[1] * votes.eta)
    model = np.concatenate([votes.first, votes.second])
    rater = np.concatenate([votes.rater, votes.rater])
    key = model * votes.n_raters + rater
    levels, place, met = np.unique(key, return_inverse=True, return_counts=True)
    kept = met[place] >= FEWEST_MET
    order = np.flatnonzero(kept)[np.argsort(place[kept], kind="stable")]
    large = levels[met >= FEWEST_MET]
    owner = np.repeat(np.arange(large.size), met[met >= FEWEST_MET])
    against = np.concatenate([votes.second, votes.first])[order]
    group, place, count = np.unique(owner * n_models + against, return_inverse=True, return_counts=True)
    ends = np.searchsorted(group // max(n_models, 1), np.arange(large.size), side="right")
    ahead = np.concatenate([eta, -eta])[order]
    won = np.bincount(place, weights=np.concatenate([votes.a_won, ~votes.a_won])[order], minlength=group.size)
    return _Cells(
        model=large // votes.n_raters,
        rater=large % votes.n_raters,
        start=np.concatenate([[0], ends[:-1]]).astype(np.int64)[: large.size],
        stop=ends.astype(np.int64),
        eta=np.bincount(place, weights=ahead, minlength=group.size) / np.maximum(count, 1),
        won=won.astype(np.float64),
        lost=(count - won).astype(np.float64),
        taste=taste,
        sharper=sharper * line[1],
    )


def _of_model(cells: _Cells, at: IntArray, variance: float) -> tuple[float, FloatArray]:
    """Return the log e-value and the probabilities of membership."""
    of = cells.of(at)
    shifts = _lower_ratings(math.sqrt(variance))
    honest = np.array([of.honest(shift) for shift in shifts.tolist()])
    sizes = np.array(_SIZES)[:, None, None]
    in_ring, not_in = np.log(sizes) + of.loyal, np.log1p(-sizes) + honest
    each = np.logaddexp(in_ring, not_in)  # sizes x shifts x raters
    total = each.sum(axis=2)
    null = _largest(of, shifts, honest.sum(axis=1))
    weight = np.exp(total - special.logsumexp(total))
    member = (weight[:, :, None] * np.exp(in_ring - each)).sum(axis=(0, 1))
    return float(special.logsumexp(total) - math.log(total.size) - null), member


def _lower_ratings(std_error: float) -> FloatArray:
    """Return 0, -1, -2, -4, ... standard errors, at most 4 log-units."""
    least = min(max(std_error, 1e-3), 1.0)
    steps = least * 2.0 ** np.arange(1 + math.ceil(math.log2(_FARTHEST / least)))
    return -np.concatenate([[0.0], steps])


def _largest(of: _Model, shifts: FloatArray, known: FloatArray) -> float:
    """Return the largest log-likelihood of "nobody is loyal" over ratings: around the best known by golden section."""

    def value(shift: float) -> float:
        return float(of.honest(shift).sum())

    order = np.argsort(shifts)
    grid, heights = (
        np.append(shifts[order], [0.5, 1.0, 2.0]),
        np.append(known[order], [value(x) for x in (0.5, 1.0, 2.0)]),
    )
    best = int(np.argmax(heights))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    top = float(heights[best])
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = value(a), value(b)
    for _ in range(_SEARCH):
        if at_a > at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = value(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = value(b)
    return max(top, at_a, at_b)
