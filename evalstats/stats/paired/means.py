"""Mean difference of two models on the same items: t and bounded intervals, the sign-flip test, Wilcoxon's test.

References: Pratt 1959, doi:10.1080/01621459.1959.10501526 (zeros); Hodges & Lehmann 1963, doi:10.1214/aoms/1177704172;
Hollander, Wolfe & Chicken 2014, Nonparametric Statistical Methods, chapter 3.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from evalstats.record import record
from evalstats.stats.bootstrap import common_step, fast_length
from evalstats.stats.checks import (
    FloatArray,
    IntArray,
    as_values,
    check_bound,
    check_bounds,
    check_count,
    check_level,
    few_items,
    is_constant,
)
from evalstats.stats.estimate import (
    SMALLEST_P,
    IntervalEstimate,
    normal_quantile,
    positive_p,
    t_estimate,
    t_quantile,
    two_sided_normal_p,
    two_sided_t_p,
)
from evalstats.stats.one_sample import mean_t

_ENUMERATED = 20  # up to 2**20 sign patterns are listed
_CHEAP = 64
# A claim at so small a part of the error holds against tails that were hardly seen.
_FIRM = 500.0
_TIE = 1e-9  # relative to the largest sum: patterns that differ by rounding are ties
_WINDOW = 12.0  # the null law lies within 12 root-sum-of-squares of its mean up to 2 exp(-72)
_MOST_WORK = 2.0e7  # lattice points times distinct magnitudes: under a second
_BLOCKS = 20_000
_CHUNK = 4_000_000
ENOUGH_NONZERO = 5  # fewer differences that are not 0 say too little of how large one is
_MOST_AVERAGED = 1.0e8  # ranks times length of their law: about a tenth of a second
_MOST_LISTED = 150  # distinct differences whose pairwise averages are listed: more are counted sooner
_TIED_VALUES = 1e-10
_PRECISION = 1e-12


@record
class SignFlip:
    """Result of a sign-flip test: two-sided p of "the differences are symmetric about 0".

    `smallest_p` is the smallest that this test could have given with as many nonzero differences (and draws). `exact`
    says whether every sign pattern was counted; if not, p is (1 + hits) / (1 + n_resamples).
    """

    p_value: float
    smallest_p: float
    exact: bool
    n_nonzero: int
    n_resamples: int | None
    seed: int | None


def sign_flip(differences: ArrayLike, *, seed: int = 0, n_resamples: int = 9999) -> SignFlip:
    """Test that differences are symmetric about 0 by flipping their signs.

    Exact for any n when the differences lie on a common lattice (right/wrong scores, means of trials, rubric points)
    and for up to 20 nonzero differences otherwise; else Monte Carlo with the observed pattern counted. For right/wrong
    scores it is the exact McNemar test.

    `differences`: float64 array, shape (n_items,), one difference per independent item, candidate minus baseline. `seed`,
    `n_resamples`: Used only where the test cannot be exact.

    Notes
    -----
    On a lattice the sum of k_i steps with random signs has characteristic function prod cos(w k_i). The law is tilted
    exponentially so that its mean is the observed sum, inverted by FFT, and untilted: the far tail keeps its relative
    accuracy, where a plain FFT would stop at 1e-16.

    Examples
    --------
    >>> sign_flip([1, 1, 1, 1, 1, 1]).p_value
    0.03125
    """
    d = as_values(differences, "differences")
    draws = check_count(n_resamples, "n_resamples", least=1)
    nonzero = d[np.abs(d) > _TIE * float(np.abs(d).max())]
    m = int(nonzero.size)
    p_exact = _exact_p(nonzero)
    if p_exact is not None:
        return SignFlip(
            p_value=positive_p(p_exact), smallest_p=_least_p(m), exact=True, n_nonzero=m, n_resamples=None, seed=None
        )
    p = _monte_carlo_p(nonzero, np.random.default_rng(seed), draws)
    least = max(_least_p(m), 1.0 / (1 + draws))
    return SignFlip(p_value=p, smallest_p=least, exact=False, n_nonzero=m, n_resamples=draws, seed=seed)


def _least_p(n_nonzero: int) -> float:
    return min(1.0, max(SMALLEST_P, math.ldexp(1.0, 1 - n_nonzero)))


def _exact_p(nonzero: FloatArray) -> float | None:
    """Return p by the cheaper of the two exact ways, or None where neither is in reach."""
    m = int(nonzero.size)
    if m == 0:
        return 1.0
    cheaper_to_list = m <= _ENUMERATED and 2.0 ** (m - 1) <= _CHEAP
    step = None if cheaper_to_list else common_step(nonzero)
    if step is not None:
        steps = np.rint(nonzero / step).astype(np.int64)
        spread = 2.0 * _WINDOW * math.sqrt(float((steps.astype(np.float64) ** 2).sum()))
        distinct = np.unique(np.abs(steps)).size
        work = min(spread, float(np.abs(steps).sum())) * distinct
        cheaper_to_list = m <= _ENUMERATED and 2.0 ** (m - 1) < work
        if work <= _MOST_WORK and not cheaper_to_list:
            return _lattice_p(steps)
    return _enumerated_p(nonzero) if m <= _ENUMERATED else None


def _enumerated_p(d: FloatArray) -> float:
    """Share of the 2^m sign patterns whose |sum| reaches the observed one; half of them by symmetry."""
    sums = np.array([abs(d[0])])
    for magnitude in np.abs(d[1:]):
        sums = np.concatenate([sums - magnitude, sums + magnitude])
    slack = _TIE * float(np.abs(d).sum())
    return float(np.count_nonzero(np.abs(sums) >= abs(float(d.sum())) - slack)) / sums.size


def _lattice_p(steps: IntArray) -> float:
    """Return P(|sum of randomly signed steps| >= |observed sum|), above 1 where 0 was observed and counts on both sides."""
    sizes, counts = np.unique(np.abs(steps), return_counts=True)
    observed, total = abs(int(steps.sum())), int(np.abs(steps).sum())
    if observed == total:
        return _least_p(int(steps.size))
    theta = _tilt(sizes, counts, observed)
    law = _tilted_law(sizes, counts, theta, observed)
    above = np.arange(min(law.size // 2, (total - observed) // 2) + 1)
    tail = float((law[above] * np.exp(-2.0 * theta * above)).sum())
    log_scale = sum(c * _log_cosh(theta * s) for s, c in zip(sizes.tolist(), counts.tolist(), strict=True))
    return 2.0 * math.exp(log_scale - theta * observed) * max(tail, 0.0)


def _tilted_law(sizes: IntArray, counts: IntArray, theta: float, observed: int) -> FloatArray:
    """Return the tilted law of the signed sum; entry j, modulo the length, is P(sum = observed + 2 j)."""
    reach = math.ceil(_WINDOW * math.sqrt(float(counts @ sizes**2)))
    length = fast_length(min(int(counts @ sizes), reach) + 1)
    frequency = np.arange(length // 2 + 1) * (math.pi / length)
    log_modulus, angle = np.zeros(frequency.size), -frequency * observed
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        # One tilted term has characteristic function cos(wk) + i tanh(theta k) sin(wk).
        sine, cosine = np.sin(frequency * size), np.cos(frequency * size)
        with np.errstate(divide="ignore"):
            log_modulus += 0.5 * count * np.log1p(-np.minimum(1.0, sine**2 * _sech_squared(theta * size)))
        angle += count * np.arctan2(math.tanh(theta * size) * sine, cosine)
    return np.fft.irfft(np.exp(log_modulus) * np.exp(-1j * angle), n=length)


def _sech_squared(x: float) -> float:
    shrunk = math.exp(-2.0 * x)
    return 4.0 * shrunk / (1.0 + shrunk) ** 2


def _log_cosh(x: float) -> float:
    return x + math.log1p(math.exp(-2.0 * x)) - math.log(2.0)


def _tilt(sizes: IntArray, counts: IntArray, observed: int) -> float:
    """Return theta at which the tilted mean, sum of k tanh(theta k), is the observed sum; by bisection."""
    low, high = 0.0, 1.0
    while float((counts * sizes * np.tanh(high * sizes)).sum()) < observed:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if float((counts * sizes * np.tanh(middle * sizes)).sum()) < observed:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _monte_carlo_p(nonzero: FloatArray, rng: np.random.Generator, draws: int) -> float:
    magnitude = np.abs(nonzero)
    d = nonzero[np.argsort(magnitude, kind="stable")]
    if d.size > _BLOCKS:
        # Flipping fixed blocks of items is a subgroup of all flips: the test stays exact. Blocks are made by rank of
        # size, which no flip changes.
        d = np.bincount(np.arange(d.size) % _BLOCKS, weights=d)
    bound = abs(float(d.sum())) - _TIE * float(magnitude.sum())
    hits, done = 0, 0
    while done < draws:
        rows = min(draws - done, max(1, _CHUNK // d.size))
        signs = rng.integers(0, 2, size=(rows, d.size), dtype=np.int8)
        sums = 2.0 * (signs @ d) - d.sum()
        hits += int(np.count_nonzero(np.abs(sums) >= bound))
        done += rows
    return (1 + hits) / (1 + draws)


def augmented_t(differences: ArrayLike, *, bound: float = 1.0, conf_level: float = 0.95) -> IntervalEstimate:
    """Mean of bounded item differences with the augmented t interval and its own p-value.

    The default for several trials of a right-or-wrong score: a t interval on few, one-sided differences covers as
    little as .55 (10 items) or .88 (43). One pseudo-item at +c and one at -c keep coverage at .93 and more for 10 to 300
    items of 2 to 40 trials, at t's width in the middle of the scale and up to 2.7 times it where 20 items of three trials
    are right in .98. Of 10 tasks with shares of many trials it is close to t. A whole item that collapses and was not
    among those seen is beyond it, as it is beyond t. For graded scores `paired_t` is the default; there it serves where
    all differences are equal and t has no spread.

    `differences`: float64 array, shape (n_items,): candidate minus baseline, item means over trials, in the score's own unit.
    `bound`: Largest possible |difference|: the metric's range.

    Notes
    -----
    On d / bound: n' = n + 2, m' = sum(d)/n', v' = (sum(d^2) + 2 c^2)/n' - m'^2; the interval is m' +- t_{n'-1}
    sqrt(v'/(n' - 1)), clipped, and the p-value that of m' with the same error. c = sum(d^2)/sum(|d|) when at least 5
    items differ, else 1: the size of a difference, averaged over what the differences are made of. Where single
    answers change it is 1, as it is for items whose trials all agree, and for one trial of right/wrong scores this is
    Bonett and Price's interval with t for z; shares of many trials that all move a little have a small c. `std_error`
    is that of m'; `estimate` is the observed mean, which the interval contains at every conf_level above about 0.7.

    InputError: a difference beyond the bound, NaN, no items.

    Examples
    --------
    >>> r = augmented_t([0.0] * 30 + [1 / 3] * 8 + [-1 / 3] * 2)
    >>> round(r.estimate, 4), round(r.conf_low, 4), round(r.conf_high, 4), round(r.p_value, 4)
    (0.05, -0.0065, 0.1018, 0.0832)
    """
    check_bound(bound)
    raw = as_values(differences, "differences")
    check_bounds(raw, -bound, bound, "differences")
    level = check_level(conf_level)
    d = raw / bound
    n = d.size
    squares = float(np.square(d).sum())
    centre = float(d.sum()) / (n + 2)
    spread = (squares + 2.0 * pseudo_size(d) ** 2) / (n + 2) - centre**2
    std_error = math.sqrt(spread / (n + 1))
    statistic = centre / std_error
    reach = t_quantile(level, n + 1) * std_error
    return IntervalEstimate(
        estimate=float(raw.mean()),
        method="augmented t",
        conf_level=level,
        n=n,
        std_error=bound * std_error,
        conf_low=bound * max(-1.0, centre - reach),
        conf_high=bound * min(1.0, centre + reach),
        statistic=statistic,
        df=float(n + 1),
        p_value=two_sided_t_p(statistic, n + 1),
        warnings=few_items(n),
    )


def smallest_p_augmented_t(n: int) -> float:
    """Smallest p of the augmented t that n items could show: every difference the same, so t = n/2 with n + 1 df.

    Examples
    --------
    >>> round(smallest_p_augmented_t(4), 4), round(smallest_p_augmented_t(5), 4)
    (0.1019, 0.0465)
    """
    p = augmented_t(np.ones(check_count(n, "n", least=1))).p_value
    return 1.0 if p is None else p


def paired_t(differences: ArrayLike, *, bound: float | None = None, conf_level: float = 0.95) -> IntervalEstimate:
    """Mean of item differences with Student's t interval and test.

    For graded and unbounded scores of independent items, ties or no ties. It knows only differences that were seen:
    `evalstats.stats.one_sample` says what rare falls to the worst score would do to it. Differences that are all equal
    have no spread: no interval and no p, and `reason` says so. `bound` is the largest possible |difference|, at which the
    interval is clipped.

    Examples
    --------
    >>> r = paired_t([0.3, 0.1, 0.4, -0.1, 0.2])
    >>> round(r.estimate, 2), round(r.statistic, 3), round(r.p_value, 4)
    (0.18, 2.092, 0.1045)
    """
    d = as_values(differences, "differences")
    if bound is not None:
        check_bound(bound)
        check_bounds(d, -bound, bound, "differences")
    plain = mean_t(d, conf_level=conf_level)
    if plain.std_error is None or plain.df is None:
        same = f"all {d.size} items differ by the same amount, so their spread is unknown"
        return plain if d.size == 1 else replace(plain, reason=same)
    return t_estimate(
        plain.estimate,
        plain.std_error,
        plain.df,
        plain.conf_level,
        method="paired t",
        n=plain.n,
        low=None if bound is None else -bound,
        high=bound,
        warnings=plain.warnings,
    )


def has_unseen_tail(ahead: ArrayLike, behind: ArrayLike, *, same_items: bool = True) -> bool:
    """Whether a lead may rest on a long tail of which too little was seen.

    A t interval knows only what it saw. Where a few items go far against the side ahead, a table that holds few of them shows
    it ahead with too short an interval: mean and standard deviation are then low together. So says the skewness of the mean
    difference (beyond .1), or that of the mean of the side ahead (beyond .2) where its scores spread wider than the other's. With
    lognormal costs of equal means and 30 items this leaves 4.5% of false claims unsaid where t makes 11.5%
    (`tests/stats/paired/test_paired_means.py`).

    `ahead`, `behind`: Scores, shape (n_items,), more being better (costs are negated); of the same items, or else of each side's
    own, whose number may differ.
    """
    one, other = as_values(ahead, "scores ahead"), as_values(behind, "scores behind")
    wider = float(one.std()) > float(other.std())
    return -_skewness_of_mean(*((one - other,) if same_items else (one, -other))) > 0.1 or (
        wider and -_skewness_of_mean(one) > 0.2
    )


def rests_on_unseen_tail(
    ahead: ArrayLike,
    behind: ArrayLike,
    p_value: float | None,
    *,
    conf_level: float = 0.95,
    n_claims: int = 1,
    same_items: bool = True,
) -> bool:
    """Whether a claim that one side is ahead may rest on a long tail, and is not shown so firmly that this does not matter.

    A claim at a 500th of the error needs no word, among `n_claims` at a 500th of each one's share. The scores are those of
    `has_unseen_tail`. Of lognormal costs of equal means and log spreads .3 and 1.5, t with 30 items calls 20% of pairs
    different, 5% with nothing said (`tests/stats/paired/test_paired_means.py`).
    """
    firm = p_value is not None and n_claims * p_value <= (1.0 - check_level(conf_level)) / _FIRM
    return not firm and has_unseen_tail(ahead, behind, same_items=same_items)


def _skewness_of_mean(*samples: FloatArray) -> float:
    """Return the skewness of the sum of the means of independent samples."""
    left = [values - values.mean() for values in samples]
    variance = sum(float((each**2).mean()) / each.size for each in left)
    third = sum(float((each**3).mean()) / each.size**2 for each in left)
    return 0.0 if all(map(is_constant, samples)) else third / variance**1.5


def pseudo_size(d: FloatArray) -> float:
    """Return c of the two pseudo-items at +c and -c, for differences on [-1, 1]."""
    return float(np.square(d).sum() / np.abs(d).sum()) if np.count_nonzero(d) >= ENOUGH_NONZERO else 1.0


def signed_rank(differences: ArrayLike, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Centre of symmetric differences by Hodges and Lehmann, with Wilcoxon's signed rank test.

    For ordinal scores and for scores with heavy tails, of independent items. It is not a test of the mean: it asks
    whether differences are symmetric about 0, and the estimate is the median of all pairwise averages (each item also
    with itself), which is another number than the mean difference wherever differences are skewed. `statistic` is V, the
    sum of the ranks of positive differences. Fewer than 6 items have no 95% interval.

    Notes
    -----
    Zeros by Pratt: they are ranked with the others, then left out; tied sizes share their mean rank. Given the ranks the
    signs are coin tosses, and the law of V is convolved exactly, ties and all, up to about 450 items; beyond that it is
    normal with a continuity correction of 1/2.

    The interval runs from the k-th smallest to the k-th largest pairwise average, k from the law without ties, so its level
    is at least `conf_level` for symmetric differences; with many ties or zeros it can disagree with p. Averages of many
    distinct differences are not listed but counted, by bisection: memory is O(n), and ends are right to 1e-12 of the
    range (.1 seconds for 10,000 items, 15 for a million).

    Examples
    --------
    >>> r = signed_rank([0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01])
    >>> r.statistic, r.p_value, round(r.estimate, 4), round(r.conf_low, 4), round(r.conf_high, 4)
    (40.0, 0.0390625, 0.46, 0.01, 0.786)
    """
    d = as_values(differences, "differences")
    level = check_level(conf_level)
    n = d.size
    ranks = _signed_ranks(d)
    v = float(np.maximum(ranks, 0.0).sum())
    p, law = _two_sided_p(ranks, v)
    walsh = _walsh(np.sort(d))
    pairs = n * (n + 1) // 2
    estimate = 0.5 * (walsh((pairs + 1) // 2) + walsh(pairs // 2 + 1))
    low, high, reason = None, None, None
    k = _place(n, level)
    if k < 1:
        few = "1 item is" if n == 1 else f"{n} items are"
        reason = f"{few} too few: even the whole range has a level of only {1.0 - 2.0 ** (1 - n):.3g}"
    elif is_constant(d):
        reason = f"all {n} differences are equal, so their spread is unknown"
    else:
        low, high = walsh(k), walsh(pairs + 1 - k)
        if not low < high:
            low, high, reason = None, None, "so many differences are equal that both ends fall on one value"
    return IntervalEstimate(
        estimate=estimate,
        method=f"Hodges-Lehmann, Wilcoxon signed rank ({law})",
        conf_level=level,
        n=n,
        conf_low=low,
        conf_high=high,
        statistic=v,
        p_value=p,
        reason=reason,
        warnings=few_items(n),
    )


def _signed_ranks(d: FloatArray) -> FloatArray:
    """Return ranks of |d| with the signs of d, 0 where d is; sizes that differ by rounding are tied."""
    size = np.abs(d)
    rounding = _TIED_VALUES * float(size.max())
    order = np.argsort(size, kind="stable")
    # Zero stands first, so that what is 0 up to rounding is tied with it.
    group = np.cumsum(np.diff(size[order], prepend=0.0) > rounding)
    counts = np.bincount(group)
    last = np.cumsum(counts)
    ranks = np.empty(d.size)
    ranks[order] = np.where(group == 0, 0.0, (last - 0.5 * (counts - 1))[group])
    return ranks * np.sign(d)


def _two_sided_p(ranks: FloatArray, v: float) -> tuple[float, str]:
    """Return the p of V, and which law gave it."""
    sizes = np.abs(ranks[ranks != 0.0])
    if sizes.size == 0:
        return 1.0, "exact"
    doubled = np.rint(2.0 * sizes).astype(np.int64)
    seen = round(2.0 * v)
    if not (doubled % 2).any():
        doubled, seen = doubled // 2, seen // 2
    total = int(doubled.sum())
    if sizes.size * total <= _MOST_AVERAGED:
        tail = float(_law_of_v(doubled)[: min(seen, total - seen) + 1].sum())
        return positive_p(2.0 * tail), "exact"
    distance = abs(v - 0.5 * float(sizes.sum()))
    z = max(0.0, distance - 0.5) / (0.5 * math.sqrt(float(np.square(sizes).sum())))
    return two_sided_normal_p(z), "normal approximation"


def _law_of_v(ranks: IntArray) -> FloatArray:
    """Return P(V = 0), P(V = 1), ...: V adds each rank with probability 1/2."""
    law = np.zeros(int(ranks.sum()) + 1)
    law[0] = 1.0
    reached = 0
    for rank in np.sort(ranks).tolist():
        law[rank : reached + rank + 1] += law[: reached + 1].copy()
        reached += rank
        law[: reached + 1] *= 0.5
    return law


def _place(n: int, level: float) -> int:
    """Return k such that the k-th smallest and k-th largest averages are the ends; 0 where no pair has the level."""
    tail = (1.0 - level) / 2.0
    pairs = n * (n + 1) // 2
    if n * pairs <= _MOST_AVERAGED:
        below = np.cumsum(_law_of_v(np.arange(1, n + 1)))
        return int(np.searchsorted(below, tail * (1.0 + 1e-12)))
    sd = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
    return math.floor(0.5 * pairs + 0.5 - normal_quantile(level) * sd)


def _walsh(ordered: FloatArray) -> Callable[[int], float]:
    """Return a function of k: the k-th smallest average of two differences (or of one with itself)."""
    values, counts = np.unique(ordered, return_counts=True)
    if values.size > _MOST_LISTED:
        return lambda k: _counted(ordered, k)
    first, second = np.triu_indices(values.size)
    averages = 0.5 * (values[first] + values[second])
    weights = np.where(first == second, counts[first] * (counts[first] + 1) // 2, counts[first] * counts[second])
    order = np.argsort(averages, kind="stable")
    averages, reached = averages[order], np.cumsum(weights[order])
    return lambda k: float(averages[np.searchsorted(reached, k)])


def _counted(ordered: FloatArray, k: int) -> float:
    """Return the k-th smallest average without listing any: the largest below where bisection finds k of them."""
    low, high = float(ordered[0]), float(ordered[-1])
    # No closer than numbers of this size lie: differences may hardly differ, far from 0.
    width = max(_PRECISION * (high - low), float(np.spacing(max(-low, high))))
    places = np.arange(ordered.size)
    reached = np.full(ordered.size, ordered.size)
    while high - low > width:
        middle = 0.5 * (low + high)
        below = np.searchsorted(ordered, 2.0 * middle - ordered, side="right")
        if int(np.maximum(below - places, 0).sum()) >= k:
            high, reached = middle, below
        else:
            low = middle
    paired = reached > places
    return 0.5 * float((ordered[paired] + ordered[reached[paired] - 1]).max())
