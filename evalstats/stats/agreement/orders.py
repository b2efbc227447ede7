"""Orders of true scores that the data leave open, and the rank coefficients that these orders can have.

References: Mogstad, Romano, Shaikh & Wilhelm 2024, doi:10.1093/restud/rdad006 (confidence sets of ranks from simultaneous
tests of all differences); Klein, Wright & Wieczorek 2020, doi:10.1111/rssc.12402 (joint confidence of a whole ranking).
"""

import math
from functools import cache
from itertools import permutations
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from evalstats.record import record
from evalstats.stats.agreement.attenuation import NoiseSource
from evalstats.stats.agreement.correlation import correlate, mean_ranks
from evalstats.stats.agreement.intervals import AgreementInterval, missing_sources
from evalstats.stats.checks import BoolArray, FloatArray, check_level
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.many.multiplicity import holm

RankName: TypeAlias = Literal["spearman", "kendall"]

LISTED = 7  # models up to which every order is looked at: 5040
_STARTS = 4
_ROUNDING = 1e-12


def true_rank_interval(
    scores: LabLiveScores,
    name: RankName,
    source: NoiseSource,
    *,
    conf_level: float = 0.95,
    lab_df: float | None = None,
    live_df: float | None = None,
) -> AgreementInterval:
    """Return an interval for the rank coefficient of the true scores of these very models.

    It runs from the lowest to the highest coefficient of all orders that the data leave open: pairs of models that
    `open_orders` separates keep their order, all others may stand either way. By "items" alone the live scores count as they
    are, by "votes" alone the lab scores. `lab_df` and `live_df` are the degrees of freedom of the errors, None for normal ones.

    Notes
    -----
    The set of orders holds the true one with a probability of `conf_level` at least, however close the models are, and so
    does the interval (Spearman's beyond 7 models as far as `rank_range` finds its ends): it covers more often than it promises,
    and is wide where models are close. Quantiles of draws do not: noise makes close models change
    places in the draws as it does in the data, and deviations of a coefficient that cannot exceed 1 are no mirror of its
    errors. About the estimate they covered .00 to .88 in worlds of 5 to 9 models some of which are close to each other.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.array([1.0, 2.0, 9.0]),
    ...     live=np.array([2.0, 1.0, 9.0]),
    ...     lab_covariance=np.eye(3),
    ...     live_covariance=np.eye(3),
    ... )
    >>> found = true_rank_interval(s, "spearman", "items and votes")
    >>> round(found.conf_low, 6), round(found.conf_high, 6)
    (0.5, 1.0)
    """
    reason = missing_sources(scores).get(source)
    estimate = float(correlate(name, scores.lab, scores.live))
    if reason is None and np.isnan(estimate):
        reason = "a side is constant"
    if reason is not None:
        return AgreementInterval(conf_low=None, conf_high=None, method="", reason=reason)
    held: dict[NoiseSource, Literal["lab", "live"]] = {"items": "live", "votes": "lab"}
    sides = open_orders(scores, conf_level=conf_level, lab_df=lab_df, live_df=live_df, held=held.get(source))
    low, high = rank_range(name, *sides)
    # Equal scores share a rank, which no order of the true ones does.
    return AgreementInterval(
        conf_low=min(low, estimate),
        conf_high=max(high, estimate),
        method=f"orders of true scores that {source} leave open, Holm over all pairs",
    )


@record
class SideOrders:
    """The orders that one side leaves open: all in which a model stands above another wherever `above` says so.

    `above`, shape (n_models, n_models), is true where the row is shown to lie above the column; `ranks` are the ranks of a
    side whose scores are taken as they are, None where the order is estimated.
    """

    above: BoolArray
    ranks: FloatArray | None = None


def open_orders(
    scores: LabLiveScores,
    *,
    conf_level: float = 0.95,
    lab_df: float | None = None,
    live_df: float | None = None,
    held: Literal["lab", "live"] | None = None,
) -> tuple[SideOrders, SideOrders]:
    """Return the orders of true scores, lab and live, that hold the true ones with a probability of `conf_level` at least.

    Each ordered pair of models on either side is tested one-sidedly, "the first is no better than the second", by Holm over
    all of them together: where none of these claims is false, the true order is left in, however errors hang together. A
    side that is `held` counts as it is, and so does one whose errors are unknown.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.array([1.0, 2.0, 9.0]),
    ...     live=np.array([2.0, 1.0, 9.0]),
    ...     lab_covariance=np.eye(3),
    ...     live_covariance=np.eye(3),
    ... )
    >>> lab, live = open_orders(s)
    >>> lab.above.astype(int).tolist()
    [[0, 0, 0], [0, 0, 0], [1, 1, 0]]
    """
    level = check_level(conf_level)
    sides = (
        ("lab", scores.lab, scores.lab_covariance, lab_df),
        ("live", scores.live, scores.live_covariance, live_df),
    )
    off = ~np.eye(scores.n_models, dtype=np.bool_)
    p_values = [
        None if covariance is None or side == held else _no_better(values, covariance, df)[off]
        for side, values, covariance, df in sides
    ]
    # The pairs of all sides are one family.
    tested = [each for each in p_values if each is not None]
    flags = holm(np.concatenate(tested)) < 1.0 - level if tested else np.zeros(0, dtype=np.bool_)
    shown = iter(np.split(flags, max(1, len(tested))))
    found: list[SideOrders] = []
    for (_, values, _, _), p in zip(sides, p_values, strict=True):
        if p is None:
            found.append(SideOrders(above=values[:, None] > values, ranks=mean_ranks(values)))
            continue
        above = np.zeros(off.shape, dtype=np.bool_)
        above[off] = next(shown)
        found.append(SideOrders(above=above))
    return found[0], found[1]


def _no_better(values: FloatArray, covariance: FloatArray, df: float | None) -> FloatArray:
    """P-value of "the row is no better than the column"; 1 where two scores have no error between them."""
    own = np.diag(covariance)
    sizes = own[:, None] + own
    variance = sizes - 2.0 * covariance
    error = np.sqrt(np.where(variance > _ROUNDING * sizes, variance, np.inf))
    ratio = (values - values[:, None]) / error
    p = special.ndtr(ratio) if df is None else special.stdtr(df, ratio)
    return np.where(np.isinf(error), 1.0, p)


def rank_range(name: RankName, lab: SideOrders, live: SideOrders) -> tuple[float, float]:
    """Return the lowest and the highest coefficient of any order that the lab and any that the live scores leave open.

    Spearman: over all orders up to 7 models. Beyond, where the two ends of such a range are hard to compute exactly, the
    best orders of a search from several starts, so an end may fall a little short. Kendall: as if every pair that is not
    settled on both sides could go either way, whatever the others do, which is never too narrow.

    Examples
    --------
    >>> shown = SideOrders(above=np.array([[0, 0, 0], [0, 0, 0], [1, 1, 0]], dtype=bool))
    >>> [round(end, 6) for end in rank_range("spearman", shown, shown)]
    [0.5, 1.0]
    """
    if name == "kendall":
        first, second = np.triu_indices(len(lab.above), 1)
        signs = [side.above[first, second] * 1.0 - side.above[second, first] for side in (lab, live)]
        # Pairs of equal scores on a side that is taken as it is count on neither end.
        tied = [(sign == 0.0) & (side.ranks is not None) for sign, side in zip(signs, (lab, live), strict=True)]
        settled = signs[0] * signs[1]
        loose = np.count_nonzero((settled == 0.0) & ~tied[0] & ~tied[1])
        size = math.sqrt(np.count_nonzero(~tied[0]) * np.count_nonzero(~tied[1]))
        known = float(settled.sum())
        return _clipped((known - loose) / size, (known + loose) / size)
    if len(lab.above) <= LISTED:
        products = _unit(_orders(lab)) @ _unit(_orders(live)).T
        return _clipped(float(products.min()), float(products.max()))
    turned = SideOrders(above=live.above.T, ranks=None if live.ranks is None else -live.ranks)
    return _clipped(
        -1.0 if _share_an_order(lab, turned) else _lowest(lab, live),
        1.0 if _share_an_order(lab, live) else -_lowest(lab, turned),
    )


def _share_an_order(lab: SideOrders, live: SideOrders) -> bool:
    """Whether one order is open on both sides: what both show goes in no circle. Not asked of a held side with ties."""
    if any(side.ranks is not None and np.unique(side.ranks).size < len(side.ranks) for side in (lab, live)):
        return False
    above = lab.above | live.above
    for middle in range(len(above)):  # what follows: above a model that is above a third
        above = above | (above[:, middle, None] & above[middle])
    return not above.diagonal().any()


def _clipped(low: float, high: float) -> tuple[float, float]:
    ends = [round(min(max(end, -1.0), 1.0), 12) + 0.0 for end in (low, high)]
    return ends[0], ends[1]


@cache
def _every_order(n: int) -> FloatArray:
    found = np.array(list(permutations(range(n))), dtype=np.float64)
    found.setflags(write=False)
    return found


def _orders(side: SideOrders) -> FloatArray:
    """Return the ranks of every order that is open, shape (n_orders, n_models)."""
    if side.ranks is not None:
        return side.ranks[None]
    orders = _every_order(len(side.above))
    for upper, lower in np.argwhere(side.above):
        orders = orders[orders[:, upper] > orders[:, lower]]
    return orders


def _unit(ranks: FloatArray) -> FloatArray:
    centred = ranks - ranks.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).sum(axis=-1, keepdims=True))


def _lowest(lab: SideOrders, live: SideOrders) -> float:
    """Search the lowest coefficient: each side in turn is put as far against the other as it goes, from several starts."""
    n, rng = len(lab.above), np.random.default_rng(0)
    given = np.arange(float(n))
    ranks = _opposed(live, np.stack([given, given[::-1], *(rng.permutation(given) for _ in range(_STARTS))]))
    best = np.full(len(ranks), np.inf)
    found = np.inf
    while len(best):
        other = _opposed(lab, ranks)
        ranks = _opposed(live, other)
        value = correlate("spearman", other, ranks)
        # A search ends where a round gains nothing, with what it had before.
        gains = value < best - _ROUNDING
        found = min([found, *best[~gains].tolist()])
        best, ranks = value[gains], ranks[gains]
    return float(found)


def _opposed(side: SideOrders, weights: FloatArray) -> FloatArray:
    """Return ranks of an open order that go against each row of weights: the better of filling it from below and from above."""
    if side.ranks is not None:
        return np.broadcast_to(side.ranks, weights.shape)
    from_below = _filled(side.above, weights)
    from_above = weights.shape[1] - 1.0 - _filled(side.above.T, -weights)
    below, above = ((ranks * weights).sum(axis=1, keepdims=True) for ranks in (from_below, from_above))
    return np.where(below <= above, from_below, from_above)


def _filled(above: BoolArray, weights: FloatArray) -> FloatArray:
    """Give ranks from the lowest, each to the heaviest model that stands above none without a rank; a row for each of weights."""
    rows = np.arange(len(weights))
    waiting = np.tile(above.sum(axis=1), (len(weights), 1))
    left, ranks, below = weights.copy(), np.empty(weights.shape), np.ascontiguousarray(above.T)
    for rank in range(weights.shape[1]):
        chosen = np.argmax(np.where(waiting == 0, left, -np.inf), axis=1)
        ranks[rows, chosen], left[rows, chosen] = rank, -np.inf
        waiting -= below[chosen]
    return ranks
