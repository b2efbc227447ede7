"""Inference by betting on bounded values, and e-values: valid at every n and at every time of stopping.

References: Waudby-Smith & Ramdas 2024, doi:10.1093/jrsssb/qkad009 (betting); Robbins 1970, doi:10.1214/aoms/1177696786, and
Grünwald, de Heide & Koolen 2024, doi:10.1093/jrsssb/qkae011 (e-values of counts).
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_values, check_bound, check_bounds, check_level
from evalstats.stats.estimate import positive_p
from evalstats.stats.sequential import (
    ConfidenceSequence,
    as_sizes,
    check_planned,
    is_steady,
    path_times,
    sequence_of,
)

Side = Literal["above", "below"]

# At most this share of the capital is put at risk on one unit.
_TRUNCATION = 0.75
# Capital is spread over bettors who each aim at one n: without a plan over these, else most of it on the plan.
_HORIZONS = (32.0, 256.0, 2048.0, 16384.0)
_PLANNED_RATIOS = (1.0, 1 / 8, 1 / 64, 8.0)
_PLANNED_SHARES = (0.7, 0.1, 0.1, 0.1)
_SHORTEST_HORIZON = 8.0
_CLOSE = 1e-10
_CLOSE_ON_PATH = 1e-7


@record
class Game:
    """Scores mapped to [0, 1] and the bets on them, each made before its score is seen.

    `scores` holds size x score and `sizes` the sizes, as shares of the largest unit; shape (n,). `bets` has one row for
    each bettor, `log_shares` the log of their shares of the first capital, shape (n_bettors, 1).
    """

    scores: FloatArray
    sizes: FloatArray
    bets: FloatArray
    log_shares: FloatArray

    def capital(self, reach: float, n: int, side: Side) -> FloatArray:
        """Return the log of what all bettors together hold after each of the first `n` units, shape (n,).

        They bet that the mean lies above `reach`, or, with side "below", that it lies below 1 - `reach`. Where the mean is
        just that, the capital is a martingale from 1 and reaches 1/a with a probability of at most a. It falls in `reach`.
        """
        return _log_sum(self._each(reach, n, side))

    def most(self, reach: float, n: int, side: Side) -> float:
        """Return the largest value of `capital`."""
        each = self._each(reach, n, side)
        best = each.max(axis=0)
        # Together they hold at most as many times the best as there are bettors: few times can hold the largest sum.
        near = best >= best.max() - math.log(each.shape[0])
        return float(_log_sum(each[:, near]).max())

    def last(self, reach: float, n: int, side: Side) -> float:
        """Return the last value of `capital`."""
        return float(_log_sum(self._each(reach, n, side)[:, -1:])[0])

    def _each(self, reach: float, n: int, side: Side) -> FloatArray:
        sizes, scores = self.sizes[:n], self.scores[:n]
        won = (scores if side == "above" else sizes - scores) - reach * sizes
        held = np.minimum(self.bets[:, :n], _TRUNCATION / reach if reach > 0.0 else math.inf)
        held *= won
        held += 1.0
        np.log(held, out=held)
        np.cumsum(held, axis=1, out=held)
        held += self.log_shares
        return held


def open_game(scores: FloatArray, sizes: FloatArray, log_stake: float, planned_n: int | None) -> Game:
    """Place every bettor's bets: each of them sqrt(2 log_stake / (variance seen so far x n aimed at)).

    `scores` lie in [0, 1], in order, `sizes` in (0, 1]; `log_stake` is the log of the capital that decides: log(2/alpha) for
    two-sided intervals.
    """
    weighted = scores * sizes
    t = np.arange(1.0, scores.size + 1.0)
    mean = (0.5 + np.cumsum(weighted)) / (1.0 + np.cumsum(sizes))
    variance = (0.25 + np.cumsum(np.square(weighted - mean * sizes))) / (t + 1)
    known = np.concatenate([[0.25], variance[:-1]])
    aims = _HORIZONS if planned_n is None else tuple(planned_n * ratio for ratio in _PLANNED_RATIOS)
    shares = (1.0 / len(aims),) * len(aims) if planned_n is None else _PLANNED_SHARES
    bets: list[FloatArray] = []
    for aim in (max(aim, _SHORTEST_HORIZON) for aim in aims):
        # A bet is divided by the n aimed at, and once that is past by t log(t + 1), scaled to meet it.
        slowed = np.where(t <= aim, aim, t * np.log1p(t) / math.log1p(aim))
        bets.append(np.sqrt(2.0 * log_stake / (known * slowed)))
    log_shares = np.log(np.array(shares))[:, np.newaxis]
    return Game(scores=weighted, sizes=sizes, bets=np.array(bets), log_shares=log_shares)


def _log_sum(logs: FloatArray) -> FloatArray:
    most = logs.max(axis=0)
    return most + np.log(np.exp(logs - most).sum(axis=0))


def betting_cs(
    values: ArrayLike,
    *,
    bound: float = 1.0,
    conf_level: float = 0.95,
    planned_n: int | None = None,
    sizes: ArrayLike | None = None,
) -> ConfidenceSequence:
    """Confidence sequence for the mean of bounded values, by betting: valid at every n and at every time of stopping.

    The default for those who look while the run goes on: right-or-wrong, graded and trial differences alike. Units must
    come in an order that has nothing to do with their values, as a random order has: then the mean of the next one
    is that of all.

    `values`: float64 array, shape (n,): differences in the order in which they were finished, in the score's own unit; for
    clusters the mean difference of each. `bound`: Largest possible |value|: the metric's range. `planned_n`: How many units are
    planned. The interval is shortest around this n. It must be fixed before the first look and stay the same; without it no n
    is favoured. `sizes`: Items in each unit, shape (n,), when clusters are unequal and the mean over items is wanted. The
    largest counts as known from the design; where it has not come yet, give each unit's share of it.

    The interval is the intersection of all intervals so far. Where the mean moves along the order, or has left that
    intersection, the interval of this n alone stands instead (`alone`).

    InputError: a value beyond the bound, NaN, no values, a planned_n that is no whole number.

    Notes
    -----
    On x = (value/bound + 1)/2 in [0, 1]: who bets that the mean exceeds m holds K(m) = prod(1 + b_i (x_i - m)), a martingale
    from 1 if m is the mean. m is excluded from below once K(m) has reached 2/alpha, from above by the bets on the other
    side. K falls in m, so each end is the root of one monotone function. The bets follow the variance seen so far,
    b_i = sqrt(2 log(2/alpha) / (variance h_i)), and risk at most 3/4 of the capital on one unit; h_i is the n aimed at, and
    past it i log(i + 1) / log(h + 1). With sizes s_i as shares of the largest, s_i (x_i - m) takes the place of x_i - m.

    Waudby-Smith & Ramdas let one bettor use h_i = i log(i + 1). Here four share the capital and aim at different n: the
    interval is 1.4 to 1.6 times as wide as the fixed-n one from 50 to 10,000 items, where theirs goes from 1.4 to 2.4, and
    1.2 to 1.3 times at a planned n.

    Examples
    --------
    >>> found = betting_cs([1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0] * 30)
    >>> round(found.estimate, 3), round(found.conf_low, 3), round(found.conf_high, 3), found.first_crossing
    (0.2, 0.092, 0.309, 101)
    """
    v, game, span = _opened(values, bound, conf_level, planned_n, sizes, sides=2)
    threshold = math.log(2.0 / (1.0 - conf_level))
    times = path_times(v.size)
    lows, highs = _path(game, times, threshold, "above"), 1.0 - _path(game, times, threshold, "below")
    now = [_end(game.last, v.size, threshold, side) for side in ("above", "below")]
    means = np.cumsum(v * game.sizes)[times - 1] / np.cumsum(game.sizes)[times - 1]
    log_e = _log_e(game, 0.5)
    return sequence_of(
        method="betting confidence sequence",
        conf_level=conf_level,
        log_e=log_e,
        first=1,
        times=times,
        estimates=means,
        lows=span * (2.0 * lows - 1.0),
        highs=span * (2.0 * highs - 1.0),
        now=(span * (2.0 * now[0] - 1.0), span * (1.0 - 2.0 * now[1])),
        steady=is_steady(v, sizes=sizes),
    )


def betting_log_e(
    values: ArrayLike,
    mean: float = 0.0,
    *,
    bound: float = 1.0,
    conf_level: float = 0.95,
    planned_n: int | None = None,
    sizes: ArrayLike | None = None,
) -> FloatArray:
    """Natural log of the e-value against "the mean is `mean`" after every unit, shape (n,): the test behind `betting_cs`.

    It may be looked at any number of times as it is; it rejects at the first time it reaches log(1/alpha). E-values of
    different looks at the same units are never multiplied. Arguments as in `betting_cs`; the level only decides the size of
    the bets.
    """
    _, game, span = _opened(values, bound, conf_level, planned_n, sizes, sides=2)
    if not -span < mean < span:
        raise InputError(f"mean is {mean:g}; give a number inside ({-span:g}, {span:g})")
    return _log_e(game, (mean / span + 1.0) / 2.0)


def _log_e(game: Game, reach: float) -> FloatArray:
    n = game.scores.size
    return np.maximum(game.capital(reach, n, "above"), game.capital(1.0 - reach, n, "below")) - math.log(2.0)


def betting_margin_p(
    values: ArrayLike,
    margin: float,
    side: Literal["lower", "upper"] = "lower",
    *,
    bound: float = 1.0,
    conf_level: float = 0.95,
    planned_n: int | None = None,
    sizes: ArrayLike | None = None,
) -> float:
    """One-sided anytime-valid p at a margin declared before looking: the smallest 1/e so far.

    Side "lower" tests "mean <= -margin" (small p: not inferior), "upper" tests "mean >= margin". It is at most alpha exactly when
    the interval of `betting_cs` at level 1 - 2 alpha excludes the margin on that side. `conf_level` is 1 - alpha and only
    decides the size of the bets; other arguments as in `betting_cs`.
    """
    v, game, span = _opened(values, bound, conf_level, planned_n, sizes, sides=1)
    if not -span < margin < span:
        raise InputError(f"margin is {margin:g}; give a number inside ({-span:g}, {span:g})")
    where: Side = "above" if side == "lower" else "below"
    return positive_p(math.exp(-game.most((1.0 - margin / span) / 2.0, v.size, where)))


def _opened(
    values: ArrayLike,
    bound: float,
    conf_level: float,
    planned_n: int | None,
    sizes: ArrayLike | None,
    *,
    sides: int,
) -> tuple[FloatArray, Game, float]:
    v = as_values(values)
    span, level = check_bound(bound), check_level(conf_level)
    check_bounds(v, -span, span)
    scores = np.clip((v / span + 1.0) / 2.0, 0.0, 1.0)
    shares = as_sizes(sizes, v.size)
    return v, open_game(scores, shares, math.log(sides / (1.0 - level)), check_planned(planned_n)), span


def _path(game: Game, times: IntArray, threshold: float, side: Side) -> FloatArray:
    """Return how far from its bound the mean is known to be at each time; it never shrinks."""
    ends = np.zeros(times.size)
    end = _end(game.most, int(times[-1]), threshold, side)
    ends[-1] = end
    gap = 1e-3
    for place in range(times.size - 2, -1, -1):
        n = int(times[place])
        found = _end_below(game, n, threshold, side, known=end, gap=gap)
        if found == 0.0:
            break
        gap = max(end - found, 1e-6)
        end = ends[place] = found
    return ends


def _end(evaluate: Callable[[float, int, Side], float], n: int, threshold: float, side: Side) -> float:
    """Return the reach at which a capital falls to the threshold; 0 where it never gets there."""

    def excess(reach: float) -> float:
        return evaluate(reach, n, side) - threshold

    return _root(excess, 0.0, 1.0, _CLOSE) if excess(0.0) > 0.0 else 0.0


def _end_below(game: Game, n: int, threshold: float, side: Side, *, known: float, gap: float) -> float:
    """Return the end at an earlier time, no further in than one that is known; `gap` is a first guess of how far away."""

    def excess(reach: float) -> float:
        return game.most(reach, n, side) - threshold

    inside, outside = known, known
    while excess(outside) < 0.0:
        if outside == 0.0:
            return 0.0
        inside, outside = outside, max(outside - gap, 0.0)
        gap *= 3.0
    if outside == known:
        return known
    return _root(excess, outside, inside, _CLOSE_ON_PATH)


def _root(function: Callable[[float], float], low: float, high: float, close: float) -> float:
    # Every comparison imports this module, few look along the way: the solver takes a quarter of a second to load.
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=close))


@record
class EMcnemar:
    """Where the test stands: discordant items each way, log e now (it does not overflow), and the smallest 1/e so far as p.

    `first_crossing` is the first item at which e reached 1/alpha; None where it never did.
    """

    only_candidate: int
    only_baseline: int
    log_e: float
    p_value: float
    conf_level: float
    first_crossing: int | None


def log_e_mcnemar(only_candidate: ArrayLike, only_baseline: ArrayLike) -> FloatArray:
    """Natural log of the e-value against "each discordant item goes either way with probability 1/2", from counts each way.

    e = B(b + 1/2, c + 1/2)/B(1/2, 1/2) 2^(b + c): the likelihood of the discordant items mixed over all probabilities of the
    candidate by Beta(1/2, 1/2), against that at 1/2.
    """
    b, c = (np.asarray(x, dtype=np.float64) for x in (only_candidate, only_baseline))
    return special.betaln(b + 0.5, c + 0.5) - math.log(math.pi) + (b + c) * math.log(2.0)


def e_mcnemar(differences: ArrayLike, *, conf_level: float = 0.95) -> EMcnemar:
    """Sequential McNemar test of right-or-wrong items with one trial, looked at after every item.

    `differences`, candidate minus baseline, are -1, 0 or 1, in the order in which the items were finished. Items must be
    independent. It stops, or is read, whenever one likes; e-values of two looks are never multiplied.

    Examples
    --------
    >>> found = e_mcnemar([1.0, 0.0, 1.0, -1.0, 1.0, 1.0] * 8)
    >>> found.only_candidate, found.only_baseline, round(found.p_value, 4), found.first_crossing
    (32, 8, 0.0035, 27)
    """
    d = as_values(differences, "differences")
    level = check_level(conf_level)
    odd = d[(d != 0.0) & (np.abs(d) != 1.0)]
    if odd.size:
        raise InputError(f"differences hold {odd[0]:g}; those of right-or-wrong items are -1, 0 or 1")
    won, lost = np.cumsum(d == 1.0), np.cumsum(d == -1.0)
    log_e = log_e_mcnemar(won, lost)
    crossed = np.flatnonzero(log_e >= -math.log1p(-level))
    return EMcnemar(
        only_candidate=int(won[-1]),
        only_baseline=int(lost[-1]),
        log_e=float(log_e[-1]),
        p_value=positive_p(math.exp(-max(float(log_e.max()), 0.0))),
        conf_level=level,
        first_crossing=int(crossed[0]) + 1 if crossed.size else None,
    )
