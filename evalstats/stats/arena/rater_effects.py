"""Tastes of raters: votes of one rater lean the same way; what an honest rater would vote next, from the earlier votes."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from evalstats.errors import InputError
from evalstats.stats.arena.covariance import nested_in
from evalstats.stats.arena.likelihood import PairFit, Ties, linear_predictor, tie_parameter, vote_law
from evalstats.stats.arena.votes import A_WINS, TIE, VoteRows, summed
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes


@dataclass(frozen=True, slots=True, kw_only=True)
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
_MASS = _STEP_AREAS / _STEP_AREAS.sum()
_BLOCK = 400_000  # numbers of the covariances held at a time: what stays in a processor's cache
_TOGETHER = 4096


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
    likelihood = expit(middle[:, None] + sd[:, None] * _STEP_NODES)
    p = likelihood @ _MASS
    likelihood = np.where(a_won[:, None], likelihood, 1.0 - likelihood) * _MASS
    total = likelihood.sum(axis=1)
    shift = (likelihood @ _STEP_NODES) / total
    kept = np.clip((likelihood @ _STEP_NODES**2) / total - shift**2, 1e-9, 1.0)
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


_NODES, _AREAS = np.polynomial.hermite_e.hermegauss(41)
_GRID = np.concatenate([[0.0], np.geomspace(0.02, 4.0, 60)])  # standard deviations
_POOL = 4_096  # rows of normal numbers that clusters draw from


@dataclass(frozen=True, slots=True, kw_only=True)
class Tastes:
    """Ways of clustering in which tastes show (codes of the rows), and their standard deviations in log-units, above 0.

    `ways` are their places among the clusters of the rows.
    """

    codes: tuple[IntArray, ...] = ()
    sd: tuple[float, ...] = ()
    ways: tuple[int, ...] = ()

    @property
    def sharper(self) -> float:
        """By how much strengths of one cluster are further apart than those of all, whose votes tastes blur."""
        return math.sqrt(1.0 + ATTENUATION * 2.0 * sum(sd**2 for sd in self.sd))


def tastes_of(fit: PairFit, rows: VoteRows) -> Tastes:
    """Estimate the tastes of every way in which votes are clustered.

    With r the residual of a vote's share, v its derivative by eta and x the contrast of its two models, tastes with variance
    s^2 give two votes of one cluster the covariance s^2 v v' x'x (to first order). So the sum over pairs of votes of one
    cluster of r r' x'x, over that of v v' (x'x)^2, estimates s^2. What first order leaves out is put right by the exact
    variance of a share between equals, and what the fit takes away by G*/(G* - 1) for clusters worth G* equal ones. A way
    inside another (sessions of a rater) is left with what it adds.
    """
    if not rows.clusters or not rows.n_rows:
        return Tastes()
    law = vote_law(fit.ties, linear_predictor(fit, rows), tie_parameter(fit, rows))
    share = np.where(rows.outcome == A_WINS, 1.0, np.where(rows.outcome >= TIE, 0.5, 0.0))
    count = rows.count.astype(np.float64)
    residual, slope = share - law.share, law.slope
    columns = [as_codes(codes, rows.n_rows)[0] for codes in rows.clusters]
    inside = nested_in(columns)
    squares = [_together(rows, codes, count, residual, slope) for codes in columns]
    kept: list[tuple[int, IntArray, float]] = []
    for way, codes in enumerate(columns):
        parent = inside[way]
        square = squares[way] - (0.0 if parent is None else max(squares[parent], 0.0))
        sd = _spread(square, fit.ties, tie_parameter(fit, rows))
        if sd > 0.0:
            kept.append((way, codes, sd))
    ways, codes, sds = zip(*kept, strict=True) if kept else ((), (), ())
    return Tastes(codes=codes, sd=sds, ways=ways)


def _together(rows: VoteRows, codes: IntArray, count: FloatArray, residual: FloatArray, slope: FloatArray) -> float:
    """Return the variance of tastes to first order; 0 where no cluster has two votes."""
    k = rows.n_models
    low, high = np.minimum(rows.first, rows.second), np.maximum(rows.first, rows.second)
    cell, place = np.unique(np.concatenate([codes * k + rows.first, codes * k + rows.second]), return_inverse=True)
    pull = summed(place, np.concatenate([count * residual, -count * residual]), cell.size)
    known = summed(place, np.tile(count * slope, 2), cell.size)
    _, pair = np.unique((codes * k + low) * k + high, return_inverse=True)
    met = np.bincount(pair, weights=count * slope)
    # A vote together with itself tells nothing of tastes.
    found = float(pull @ pull) - 2.0 * float(count @ residual**2)
    expected = float(known @ known) + 2.0 * float(met @ met) - 4.0 * float(count @ slope**2)
    if expected <= 1e-9 * float(known @ known):
        return 0.0
    size = np.bincount(codes, weights=count)
    worth = float(size.sum()) ** 2 / float(size @ size)
    return found / expected * worth / max(worth - 1.0, 0.5)


def _spread(square: float, ties: Ties, tie: float) -> float:
    """Return the standard deviation of tastes that makes shares between equals vary as much as found."""
    if square <= 0.0:
        return 0.0
    shares = vote_law(ties, math.sqrt(2.0) * _GRID[:, None] * _NODES, tie).share
    varies = ((shares - 0.5) ** 2) @ (_AREAS / _AREAS.sum())
    slope = float(vote_law(ties, np.zeros(1), tie).slope[0])
    return float(np.interp(2.0 * slope**2 * square, varies, _GRID))


@dataclass(frozen=True, slots=True, kw_only=True)
class TastedCells:
    """Votes of every cell by whose tastes they follow; an entry is all votes of one cell and of the same clusters.

    `start` says where each cell begins among the entries; `cell`, `first`, `second` and `part` (share of the cell's votes) are
    of each entry, and `codes` its cluster in each way.
    """

    tastes: Tastes
    n_models: int
    first: IntArray
    second: IntArray
    start: IntArray
    cell: IntArray
    part: FloatArray
    codes: tuple[IntArray, ...]

    def shifted(self, eta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw log-odds of cells from tastes of their raters, shape (n, n_cells); shares are on average those of `eta`."""
        middle = (self.tastes.sharper * eta)[self.cell]
        pools = [rng.standard_normal((max(_POOL, int(codes.max()) + 1), self.n_models)) for codes in self.codes]
        out = np.empty((n, eta.size))
        for draw, leaned in zip(range(n), self._lean(pools, rng), strict=False):
            out[draw] = np.add.reduceat(self.part * expit(middle + leaned), self.start)
        return logit(np.clip(out, 1e-12, 1.0 - 1e-12))

    def _lean(self, pools: list[FloatArray], rng: np.random.Generator) -> Iterator[FloatArray]:
        """Give every cluster a row of the pool anew, with random signs: cheaper than normal numbers for each draw."""
        k = self.n_models
        while True:
            total = np.zeros(self.first.size)
            for codes, sd, pool in zip(self.codes, self.tastes.sd, pools, strict=True):
                row = rng.permutation(pool.shape[0])[codes] * k
                sign = rng.integers(0, 2, k) * 2.0 - 1.0
                own = pool.ravel()
                ahead = own[row + self.first] * sign[self.first] - own[row + self.second] * sign[self.second]
                total += sd * ahead
            yield total


def tasted_cells(rows: VoteRows, cell: IntArray, pairs: tuple[IntArray, IntArray], tastes: Tastes) -> TastedCells:
    """Sort votes by cell (0, 1, ... without gaps, of each row) and by whose tastes they follow; `pairs` are the cells' models."""
    key = cell
    for codes in tastes.codes:
        key = np.unique(key * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    # Numbers of keys ascend with those of cells, so that entries of a cell stand together.
    _, at, place = np.unique(key, return_index=True, return_inverse=True)
    count = summed(place, rows.count.astype(np.float64), at.size)
    of_cell = cell[at]
    start = np.flatnonzero(np.diff(of_cell, prepend=-1))
    total = summed(of_cell, count, start.size)
    return TastedCells(
        tastes=tastes,
        n_models=rows.n_models,
        first=pairs[0][of_cell],
        second=pairs[1][of_cell],
        start=start.astype(np.int64),
        cell=of_cell,
        part=count / total[of_cell],
        codes=tuple(codes[at] for codes in tastes.codes),
    )
