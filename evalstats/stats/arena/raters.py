"""Raters whose votes are not those of an honest person, alone or in rings: bets against the forecasts of honest votes."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from scipy import special
from scipy.sparse import csr_array

from evalstats.record import record
from evalstats.stats.arena.parametric_bootstrap import ATTENUATION
from evalstats.stats.arena.tastes import DecidedVotes, decided_line, estimated_taste, honest_forecasts, only_raters
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, counted_order, levels_and_places
from evalstats.stats.many.multiplicity import e_bh

LOYAL = np.array([0.85, 0.95, 0.99])  # how often a loyal rater chooses the model


def loyal_log(wins: FloatArray, met: IntArray) -> FloatArray:
    """Return the log-likelihood of `wins` of `met` votes for a model if the rater is loyal to it."""
    each = (wins * math.log(often) + (met - wins) * math.log1p(-often) for often in LOYAL.tolist())
    return reduce(np.logaddexp, each) - math.log(LOYAL.size)


@record
class Loyalty:
    """Log e-values of loyalty, shape (n_raters,), the model with the most of it, decided votes on it, and those for it."""

    of_rater: FloatArray
    model: IntArray
    met: IntArray
    won: IntArray


def loyalty(votes: DecidedVotes, forecasts: FloatArray) -> Loyalty:
    """Bet that a rater is loyal to a model, for each model met, averaged by how often the rater met it.

    `forecasts`, of shape (n,), are of side a by an honest rater.
    """
    n_models = votes.uncertainty.size
    # Every vote is met twice: by the model on side a and by that on side b.
    model = np.concatenate([votes.first, votes.second])
    rater = np.concatenate([votes.rater, votes.rater])
    won = np.concatenate([votes.a_won, ~votes.a_won])
    levels, cell = levels_and_places(rater * n_models + model)
    met = np.bincount(cell, minlength=levels.size)
    wins = np.bincount(cell, weights=won, minlength=levels.size).astype(np.int64)
    # Against a loyalty fixed beforehand the order of votes does not matter.
    log_chance = np.log(np.where(votes.a_won, forecasts, 1.0 - forecasts))
    chance = np.bincount(cell, weights=np.concatenate([log_chance, log_chance]), minlength=levels.size)
    log_e = loyal_log(wins.astype(np.float64), met) - chance
    owner, whose = levels // n_models, levels % n_models
    values = log_e + np.log(met / (2.0 * np.bincount(votes.rater, minlength=votes.n_raters))[owner])
    most = np.maximum.reduceat(values, np.searchsorted(owner, np.arange(votes.n_raters)))
    largest = np.flatnonzero(values == most[owner])
    best = largest[np.searchsorted(owner[largest], np.arange(votes.n_raters), side="right") - 1]
    log_sums = most + np.log(np.bincount(owner, weights=np.exp(values - most[owner]), minlength=votes.n_raters))
    return Loyalty(of_rater=log_sums, model=whose[best], met=met[best], won=wins[best])


FEWEST_MET = 3

_SIZES = (0.02, 0.05, 0.1, 0.2)  # shares of the raters that a ring may hold
_GRID = np.arange(-10.0, 8.0, 0.125)  # log-units by which one rater may rate the model higher than the fit does
_LEAST_TASTE = 0.15  # narrower laws fall between the points of the grid
_FARTHEST = 4.0  # log-units by which a ring may lift a rating
_SURE = 0.9
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_SEARCH = 14
_TINY = 1e-250


@record
class Rings:
    """Evidence of a ring behind each model.

    `log_e`, one a model, is 0 where fewer than two raters met the model three times. For a rater who did, `member` is the
    probability of belonging to the model's ring if there is one; `model`, `rater` and `member` have shape (n_cells,).
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
    """Look for a ring behind each model; arguments as in `honest_forecasts`.

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


@record
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
        by_opponent, ends = self._by_opponent(rows), np.append(starts, won.size)
        # Sums of a few rows each, by a product: a tenth of what `reduceat` takes along this axis.
        together: Any = csr_array((np.ones(won.size), np.arange(won.size), ends), shape=(at.size, won.size))
        sums: FloatArray = together @ by_opponent
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
        out[one] = _log_expit((won[one] - lost[one]) / blur * (eta[one] + _GRID))
        several = ~one
        if several.any():
            at = eta[several] + _GRID
            logs = won[several] * _log_expit(at) + lost[several] * _log_expit(-at)
            most = logs.max(axis=1, keepdims=True)
            kernel = np.exp(-0.5 * ((_GRID[:, None] - _GRID) / max(self.taste, _LEAST_TASTE)) ** 2)
            mean = np.exp(logs - most) @ (kernel / kernel.sum(axis=0))
            out[several] = most + np.log(np.maximum(mean, _TINY))
        return out


@record
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
        log_weight -= _log_sum(log_weight)
        mean = self.likelihood @ np.exp(log_weight)
        # Votes far from the narrow law of tastes: products of the two are too small for numbers, and not for logs.
        tiny = mean < _TINY
        if not tiny.any():
            return self.most + np.log(mean)
        found = self.most + np.log(np.where(tiny, 1.0, mean))
        found[tiny] = self.most[tiny] + _log_sum(self.logs[tiny] + log_weight)
        return found


def _log_expit(values: FloatArray) -> FloatArray:
    """Return the log of a logistic; SciPy's takes four times as long."""
    return -np.log1p(np.exp(np.minimum(-values, 700.0)))


def _log_sum(values: FloatArray) -> FloatArray:
    """Return the log of the sum of exponentials along the last axis; SciPy's takes ten times as long for so few numbers."""
    most = values.max(axis=-1, keepdims=True)
    return most[..., 0] + np.log(np.exp(values - most).sum(axis=-1))


def _cells(votes: DecidedVotes, taste: float, line: tuple[float, float]) -> _Cells:
    n_models = votes.uncertainty.size
    sharper = math.sqrt(1.0 + ATTENUATION * 2.0 * taste**2)
    eta = sharper * (line[0] + line[1] * votes.eta)
    model = np.concatenate([votes.first, votes.second])
    rater = np.concatenate([votes.rater, votes.rater])
    key = model * votes.n_raters + rater
    levels, place = levels_and_places(key)
    met = np.bincount(place)
    kept = met[place] >= FEWEST_MET
    order = np.flatnonzero(kept)[counted_order(place[kept])]
    large = levels[met >= FEWEST_MET]
    owner = np.repeat(np.arange(large.size), met[met >= FEWEST_MET])
    against = np.concatenate([votes.second, votes.first])[order]
    group, place = levels_and_places(owner * n_models + against)
    count = np.bincount(place)
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


CHECKS = ("side", "disagreement", "loyalty")
FEWEST_VOTES = 10

_SLOPES = (0.0, -1.0)  # of a rater who clicks at random, and of one who votes for the weaker
_SUSPECT = math.log(30.0)  # whoever is so far from honest tells nothing about ratings and honest tastes
_RING = math.log(5.0)  # of a ring less is enough: it hides in what it did to ratings and tastes
_LIKELY = 0.5  # so likely a member of a ring: the same
_PASSES = 5
_MATERIAL = 0.02  # of the votes on some model: fewer suspect ones change no rating that matters
_BALANCED = 3.0  # standard errors by which the stronger model may be on one side more often


@record
class RaterEvidence:
    """Evidence against each rater, and against a ring behind each model.

    Attributes
    ----------
    rater
        int64, shape (n,): the raters with enough votes.
    n_votes, n_first_side
        int64, shape (n,): decided votes, and those for side a.
    n_agree, expected_agree
        Votes for the model that others rate higher, and how many were to be expected of an honest rater.
    log_e
        float64, shape (n, 3): natural logs of the e-values of `CHECKS`.
    adjusted
        float64, shape (n, 3): flagged at a false discovery rate of a where at most a (half of which is for rings).
    loyal_to, loyal_met, loyal_won
        int64, shape (n,): the model with the largest evidence of loyalty, decided votes on it, and those for it.
    rings, ring_adjusted
        Evidence that some of the raters are loyal to a model; adjusted likewise.
    taste
        Standard deviation of honest raters' tastes, log-units.
    """

    rater: IntArray
    n_votes: IntArray
    n_first_side: IntArray
    n_agree: IntArray
    expected_agree: FloatArray
    log_e: FloatArray
    adjusted: FloatArray
    loyal_to: IntArray
    loyal_met: IntArray
    loyal_won: IntArray
    rings: Rings
    ring_adjusted: FloatArray
    taste: float


Rate = Callable[[BoolArray], tuple[FloatArray, FloatArray] | None]


def rater_evidence(votes: DecidedVotes, *, rate: Rate | None = None, seed: int = 0) -> RaterEvidence | None:
    """Bet against the honesty of every rater with at least ten decided votes; None where there is none.

    Honest means: the rater's strengths of the models are those that the other raters' votes give, plus tastes that are
    normal and independent between models with one standard deviation for all raters, estimated from the table; sides do
    not matter to the rater more than to raters on the whole. A rater with stronger tastes than normal ones will be flagged
    in the end; a flag says "look at these votes", not "fraud".

    `votes`: with log-odds from ratings without the rater's own votes (`influence.without_each`). `rate`: given which raters
    are to be believed (bool, shape (n_raters,)), returns log-odds and variances as in `votes` from ratings without the
    others; None where these cannot be had. Called where some raters are suspect: what they voted would otherwise make itself
    look honest. `seed`: draws the raters from whom taste is estimated, where there are very many votes.

    Notes
    -----
    "side": against the share of side a that lies nearest to the rater's own between 1/2 and the overall share (give or take
    two standard errors); the bet is the Beta(1/2, 1/2) mixture, as in `log_e_mcnemar`. It needs no ratings, since who of
    the two models stands on side a is random; where it is seen not to be, the smaller of this and of a bet against the
    forecasts is taken. "disagreement": the mean of two bets, on random clicks and on votes for the weaker model. "loyalty":
    for each model the bets that it is chosen 85, 95 or 99 times in 100, averaged, also over models by how often the rater
    met them. Rings: see `rings`.

    References
    ----------
    Wang & Ramdas 2022, JRSS-B 84:822, doi:10.1111/rssb.12489; Grünwald, de Heide & Koolen 2024, JRSS-B 86:1091.
    """
    counts = np.bincount(votes.rater, minlength=votes.n_raters)
    tested = counts >= FEWEST_VOTES
    if not tested.any():
        return None
    believed = np.ones(votes.n_raters, dtype=np.bool_)
    found, used = None, None
    for step in range(_PASSES):
        rest = only_raters(votes, believed)
        line = decided_line(rest.eta, rest.a_won)
        used = estimated_taste(rest, line, seed=seed, near=used)
        found = _evidence(only_raters(votes, tested), votes, line, used)
        doubted = believed.copy()
        doubted[np.flatnonzero(tested)[_suspects(found)]] = False
        if step == _PASSES - 1 or not doubted.any() or _weight_of(votes, doubted != believed) < _MATERIAL:
            break
        again = None if rate is None else rate(doubted)
        if again is not None:
            votes = replace(votes, eta=again[0], uncertainty=again[1])
        believed = doubted
    return None if found is None else _named(found, np.flatnonzero(tested).astype(np.int64))


def _weight_of(votes: DecidedVotes, some: BoolArray) -> float:
    """Return the largest share, over models, of the votes on a model that some raters gave."""
    n_models, theirs = votes.uncertainty.size, some[votes.rater]
    total, part = np.zeros(n_models), np.zeros(n_models)
    for side in (votes.first, votes.second):
        total += np.bincount(side, minlength=n_models)
        part += np.bincount(side[theirs], minlength=n_models)
    return float((part / np.maximum(total, 1.0)).max())


def _suspects(found: RaterEvidence) -> IntArray:
    alone = np.flatnonzero(found.log_e.max(axis=1) > _SUSPECT)
    models = np.flatnonzero(found.rings.log_e > _RING)
    likely = np.isin(found.rings.model, models) & (found.rings.member > _LIKELY)
    return np.union1d(alone, found.rings.rater[likely])


def _evidence(votes: DecidedVotes, everyone: DecidedVotes, line: tuple[float, float], taste: float) -> RaterEvidence:
    forecasts = honest_forecasts(votes, taste=taste, line=line)
    n = np.bincount(votes.rater, minlength=votes.n_raters)
    wins_a = np.bincount(votes.rater, weights=votes.a_won, minlength=votes.n_raters).astype(np.int64)
    log_side = side_log_e(wins_a, n - wins_a, *_side_bands(wins_a, n, everyone))
    if not _balanced(everyone):
        log_side = np.minimum(log_side, _side_against(votes, forecasts))
    loyal = loyalty(votes, forecasts)
    stronger = (votes.eta > 0.0) == votes.a_won
    likely = np.where(votes.eta > 0.0, forecasts, 1.0 - forecasts)
    log_e = np.column_stack([log_side, _disagreement(votes, forecasts, line), loyal.of_rater])
    around = _rings_of_the_careful(votes, log_e, taste, line)
    return RaterEvidence(
        rater=np.arange(votes.n_raters),
        n_votes=n.astype(np.int64),
        n_first_side=wins_a,
        n_agree=np.bincount(votes.rater, weights=stronger, minlength=votes.n_raters).astype(np.int64),
        expected_agree=_summed(votes, likely),
        log_e=log_e,
        adjusted=_adjusted(log_e.ravel()).reshape(log_e.shape),
        loyal_to=loyal.model,
        loyal_met=loyal.met,
        loyal_won=loyal.won,
        rings=around,
        ring_adjusted=_adjusted(around.log_e),
        taste=taste,
    )


def _rings_of_the_careful(votes: DecidedVotes, log_e: FloatArray, taste: float, line: tuple[float, float]) -> Rings:
    """Return rings among raters who do read: who clicks at random lifts every weak model, and is told of already."""
    careless = log_e[:, :2].max(axis=1)
    reads = (careless <= _SUSPECT) | (careless < log_e[:, 2])
    found = rings(only_raters(votes, reads), taste=taste, line=line)
    return replace(found, rater=np.flatnonzero(reads)[found.rater].astype(np.int64))


def _adjusted(log_e: FloatArray) -> FloatArray:
    """Return e-BH within raters or within rings; each of the two families has half of the level."""
    # A cap keeps the exponential finite; what it is compared with is far below.
    return np.minimum(2.0 * e_bh(np.exp(np.minimum(log_e, 600.0))), 1.0)


def _named(evidence: RaterEvidence, names: IntArray) -> RaterEvidence:
    around = evidence.rings
    return replace(evidence, rater=names, rings=replace(around, rater=names[around.rater]))


def side_log_e(wins_a: IntArray, wins_b: IntArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the log e-value against "side a is chosen with a probability between low and high".

    The likelihood mixed over all probabilities by Beta(1/2, 1/2), over the largest of the null: its mean is at most 1
    whatever the probability between the limits is.
    """
    a, b = wins_a.astype(np.float64), wins_b.astype(np.float64)
    null = np.clip(a / np.maximum(a + b, 1.0), low, high)
    return special.betaln(a + 0.5, b + 0.5) - math.log(math.pi) - special.xlogy(a, null) - special.xlogy(b, 1.0 - null)


def _side_bands(wins_a: IntArray, n: IntArray, everyone: DecidedVotes) -> tuple[FloatArray, FloatArray]:
    """Return for each rater the shares of side a that the others show, stretched to hold 1/2."""
    others = np.maximum(everyone.rater.size - n, 1)
    share = (everyone.a_won.sum() - wins_a) / others
    reach = 2.0 * np.sqrt((share * (1.0 - share) + 1.0 / others) / others)
    low = np.maximum(np.minimum(share - reach, 0.5), 0.01)
    high = np.minimum(np.maximum(share + reach, 0.5), 0.99)
    # Where the others' share is 1/2 up to chance, 1/2 it is.
    chance = np.abs(share - 0.5) <= reach
    return np.where(chance, 0.5, low), np.where(chance, 0.5, high)


def _balanced(votes: DecidedVotes) -> bool:
    lean = np.tanh(votes.eta / 2.0)
    spread = math.sqrt(float((lean**2).sum()))
    return abs(float(lean.sum())) <= _BALANCED * spread


def _side_against(votes: DecidedVotes, forecasts: FloatArray) -> FloatArray:
    # Wins and votes of the same group before each vote; groups are sorted.
    start = np.searchsorted(votes.rater, votes.rater)
    total = np.concatenate([[0], np.cumsum(votes.a_won)])
    at = np.arange(votes.rater.size)
    before_a, before = (total[at] - total[start]).astype(np.float64), (at - start).astype(np.float64)
    q = (before_a + 0.5) / (before + 1.0)
    return _summed(votes, _log_ratio(votes.a_won, q, forecasts))


def _disagreement(votes: DecidedVotes, forecasts: FloatArray, line: tuple[float, float]) -> FloatArray:
    lean = line[0] + line[1] * votes.eta
    bets = [
        _summed(votes, _log_ratio(votes.a_won, special.expit(line[0] + slope * (lean - line[0])), forecasts))
        for slope in _SLOPES
    ]
    return special.logsumexp(bets, axis=0) - math.log(len(_SLOPES))


def _log_ratio(won: BoolArray, q: FloatArray, p: FloatArray) -> FloatArray:
    return np.where(won, np.log(q) - np.log(p), np.log1p(-q) - np.log1p(-p))


def _summed(votes: DecidedVotes, values: FloatArray) -> FloatArray:
    return np.bincount(votes.rater, weights=values, minlength=votes.n_raters).astype(np.float64)
