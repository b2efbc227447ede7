"""Manipulation of an arena: bursts of votes, loyalty to one model, and rings of raters who push it together."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.arena.rater_effects import ATTENUATION, DecidedVotes
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import SMALLEST_P
from evalstats.stats.many.multiplicity import holm

FEWEST_TIMES = 20

_PAUSE = 1800.0  # seconds after which a rater has been away
_LEAST_RUN = 4
_LEAST_MODEL = 8
_MANY_WINDOWS = 20
_CHI_MEDIAN = 0.4549364  # median of a chi-square law of 1 df
_MATERIAL = 1.5  # times as many as expected, below which a burst is not worth telling


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstFound:
    """The clearest burst of one model or rater.

    Attributes
    ----------
    code
        Model or rater.
    start, end
        Seconds, as given.
    n_votes, expected
        Votes in that time (for a model: votes that it won), and how many were to be expected.
    p_adjusted
        Holm over all windows of all series.
    """

    code: int
    start: float
    end: float
    n_votes: int
    expected: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Windows:
    code: IntArray
    first: IntArray
    last: IntArray
    observed: FloatArray
    expected: FloatArray
    p_value: FloatArray


def rater_bursts(rater: IntArray, seconds: FloatArray, *, level: float = 0.05) -> tuple[BurstFound, ...]:
    """Find raters who voted much faster for a while than they do on the whole.

    People vote in sittings. Pauses of more than half an hour count as half an hour, so that a burst is one against the pace
    of the rater's own sittings, not against days without a vote.

    Parameters
    ----------
    rater
        Codes, shape (n,).
    seconds
        float64, shape (n,): times of the votes, in any order. Times that are rounded make the shortest window longer by the
        smallest difference between two of them.
    level
        Chance that any rater is named where all vote at an even pace.

    Notes
    -----
    Under an even pace the time that k of a rater's g gaps take, as a share of all, is Beta(k, g - k). Gaps that vary more
    than at an even (Poisson) pace, with a squared coefficient of variation c > 1, count as g / c gaps (quasi-Poisson).
    """
    _, rater, seconds = _in_order(rater, seconds)
    if seconds.size < FEWEST_TIMES:
        return ()
    resolution = _resolution(seconds)
    gap = np.minimum(np.diff(seconds, prepend=seconds[0]), _PAUSE)
    starts = np.flatnonzero(np.diff(rater, prepend=-1))
    sizes = np.diff(np.append(starts, rater.size))
    gap[starts] = 0.0
    clock, squares = np.cumsum(gap), np.cumsum(gap**2)
    series, begin, length = _runs(sizes - 1, _LEAST_RUN)
    first, last = starts[series] + begin, starts[series] + begin + length
    ends = starts + sizes - 1
    g = (sizes - 1)[series].astype(np.float64)
    total = (clock[ends] - clock[starts])[series] + resolution
    square = (squares[ends] - squares[starts])[series]
    uneven = np.maximum(g * square / total**2 - 1.0, 1.0)
    took = np.minimum((clock[last] - clock[first] + resolution) / total, 1.0)
    p = special.betainc(length / uneven, np.maximum(g - length, 0.5) / uneven, took)
    p[length >= g] = 1.0
    found = _Windows(
        code=rater[first],
        first=first,
        last=last,
        observed=(length + 1).astype(np.float64),
        expected=1.0 + g * took,
        p_value=np.maximum(p, SMALLEST_P),
    )
    return _clearest(found, seconds, level)


def model_bursts(
    model: IntArray,
    seconds: FloatArray,
    won: np.ndarray,
    expected: FloatArray,
    rater: IntArray | None = None,
    *,
    level: float = 0.05,
) -> tuple[BurstFound, ...]:
    """Find models that won many more votes in some time than their usual share.

    The clock is the model's own votes, so that a model that the arena shows more often for a while has no burst. What is
    expected of a vote is what the ratings say, scaled to the wins that the model has on the whole.

    Parameters
    ----------
    model, seconds, won, expected
        Shape (n,): one entry for each decided vote and each of its two models; `expected` is the fitted probability of `won`.
    rater
        Codes, shape (n,); None where nothing is known of raters.
    level
        Chance that any model is named where there is no burst.

    Notes
    -----
    Votes of one rater on a model go together (taste, a sitting), so counts are divided by how much more than chance they
    vary: the median of the squared standardised counts of all windows of a length over that of a chi-square of 1 df, at
    least 1 and never less than for shorter windows; where there are fewer than 20 windows of a length, by how much wins
    vary between raters. The p-value of a window of n votes is P(Binomial(n, E / n) >= O), which is no smaller than that of
    votes with unequal probabilities where O exceeds E by 1.

    References
    ----------
    Hoeffding 1956, Annals of Mathematical Statistics 27:713.
    """
    if not (model.shape == seconds.shape == won.shape == expected.shape):
        raise InputError("models, times, wins and expected wins differ in length; give one of each for every vote")
    order, model, seconds = _in_order(model, seconds)
    if seconds.size < FEWEST_TIMES:
        return ()
    wins, likely = won[order].astype(np.float64), np.clip(expected[order], 1e-9, 1.0 - 1e-9)
    starts = np.flatnonzero(np.diff(model, prepend=-1))
    sizes = np.diff(np.append(starts, model.size))
    total = np.add.reduceat(wins, starts) / np.add.reduceat(likely, starts)
    likely = np.minimum(likely * np.repeat(total, sizes), 1.0)
    series, begin, length = _runs(sizes, _LEAST_MODEL)
    first, last = starts[series] + begin, starts[series] + begin + length - 1
    summed, mean = np.append(0.0, np.cumsum(wins)), np.append(0.0, np.cumsum(likely))
    observed, usual = summed[last + 1] - summed[first], mean[last + 1] - mean[first]
    whole = None if rater is None else _dispersion(model, rater[order], wins, likely)
    noise = np.append(0.0, np.cumsum(likely * (1.0 - likely)))
    spread = _spreads((observed - usual) ** 2 / np.maximum(noise[last + 1] - noise[first], 1e-9), length, whole)
    lost = np.maximum(length - observed, 0.0)
    p = special.betainc(np.maximum(observed, 1e-9) / spread, lost / spread + 1.0, np.minimum(usual / length, 1.0))
    p[observed < usual + 1.0] = 1.0
    found = _Windows(
        code=model[first],
        first=first,
        last=last,
        observed=observed,
        expected=usual,
        p_value=np.asarray(np.clip(p, SMALLEST_P, 1.0), dtype=np.float64),
    )
    return _clearest(found, seconds, level)


def _in_order(code: IntArray, seconds: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    if not np.isfinite(seconds).all():
        raise InputError("some times are missing or not finite; leave those votes out")
    order = np.lexsort((seconds, code))
    return order.astype(np.int64), code[order], seconds[order]


def _resolution(seconds: FloatArray) -> float:
    steps = np.diff(np.unique(seconds))
    return float(steps.min()) if steps.size else 0.0


def _runs(sizes: IntArray, least: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return series, begin and length of runs of least, 2 least, ... entries, up to half of each series, at half steps."""
    parts: list[tuple[IntArray, IntArray, IntArray]] = []
    length = least
    while sizes.size and length <= int(sizes.max()) // 2:
        step = length // 2
        count = np.where(sizes >= 2 * length, (sizes - length) // step + 1, 0)
        series = np.repeat(np.arange(sizes.size), count)
        begin = (np.arange(series.size) - np.repeat(np.cumsum(count) - count, count)) * step
        parts.append((series, begin, np.full(series.size, length)))
        length *= 2
    if not parts:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    joined = [np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True)]
    return joined[0], joined[1], joined[2]


def _dispersion(model: IntArray, rater: IntArray, wins: FloatArray, likely: FloatArray) -> float:
    """Return how much more wins of one rater on one model vary than those of as many raters, at least 1."""
    _, cell = np.unique(model * (int(rater.max()) + 1) + rater, return_inverse=True)
    excess = np.bincount(cell, weights=wins - likely)
    return max(1.0, float((excess**2).sum() / (likely * (1.0 - likely)).sum()))


def _spreads(squares: FloatArray, length: IntArray, whole: float | None) -> FloatArray:
    """Return by how much counts of windows of each length vary more than chance, shape (n_windows,)."""
    out, least = np.ones(squares.size), 1.0
    for one in np.unique(length).tolist():
        same = length == one
        if int(np.count_nonzero(same)) >= _MANY_WINDOWS:
            least = max(least, float(np.median(squares[same])) / _CHI_MEDIAN)
        elif whole is not None:
            least = max(least, whole)
        out[same] = least
    return out


def _clearest(found: _Windows, seconds: FloatArray, level: float) -> tuple[BurstFound, ...]:
    if not found.code.size:
        return ()
    adjusted = holm(found.p_value)
    told = np.flatnonzero((adjusted <= level) & (found.observed >= _MATERIAL * found.expected))
    told = told[np.lexsort((-found.observed[told], found.p_value[told]))]
    # Of each series the clearest window.
    _, best = np.unique(found.code[told], return_index=True)
    return tuple(
        BurstFound(
            code=int(found.code[i]),
            start=float(seconds[found.first[i]]),
            end=float(seconds[found.last[i]]),
            n_votes=int(found.observed[i]),
            expected=float(found.expected[i]),
            p_adjusted=max(float(adjusted[i]), SMALLEST_P),
        )
        for i in told[np.sort(best)]
    )


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
