"""Bursts: more votes for a model, or by a rater, in a short time than their usual pace explains.

Windows are fixed before the data are seen: runs of 4, 8, 16, ... votes (8, 16, ... for models), each overlapping half of the
next. So a p-value times the number of windows (Holm) needs no further law of a maximum.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.errors import InputError
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
