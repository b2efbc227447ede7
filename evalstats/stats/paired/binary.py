"""Two models on the same right/wrong items: Tango's score interval and test, and McNemar's tests.

References: Tango 1998, Statistics in Medicine 17:891,
doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B; Newcombe 1998, Statistics in Medicine 17:2635;
Bonett & Price 2012, Journal of Educational and Behavioral Statistics 37:479.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.grammar import plural
from evalstats.stats.checks import FloatArray, IntArray, as_values, check_count, check_level, few_items
from evalstats.stats.estimate import IntervalEstimate, normal_quantile, positive_p, two_sided_normal_p
from evalstats.stats.one_sample import wilson_ends

MIN_DISCORDANT = 6  # with fewer discordant pairs no method tells the models apart reliably

_BISECTION_STEPS = 60


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """The 2x2 table of two models on the same items: how many both, one model only, or neither got right.

    Attributes
    ----------
    both, only_candidate, only_baseline, neither
        Items that both, the candidate alone, the baseline alone, or neither got right.

    Examples
    --------
    >>> counts = PairedCounts(22, 21, 0, 0)
    >>> counts.n, counts.discordant, round(counts.estimate, 4)
    (43, 21, 0.4884)
    """

    both: int
    only_candidate: int
    only_baseline: int
    neither: int

    def __post_init__(self) -> None:
        for name in ("both", "only_candidate", "only_baseline", "neither"):
            check_count(getattr(self, name), name)
        if self.n == 0:
            raise InputError("the table of pairs is empty; at least one item answered by both models is needed")

    @property
    def n(self) -> int:
        """Number of items."""
        return self.both + self.only_candidate + self.only_baseline + self.neither

    @property
    def discordant(self) -> int:
        """Items on which the models differ."""
        return self.only_candidate + self.only_baseline

    @property
    def estimate(self) -> float:
        """Candidate minus baseline, as a proportion of items."""
        return (self.only_candidate - self.only_baseline) / self.n

    @classmethod
    def from_scores(cls, baseline: ArrayLike, candidate: ArrayLike) -> Self:
        """Count the table from two arrays of 0 and 1, shape (n_items,), in the same order of items."""
        a, b = as_values(baseline, "baseline scores"), as_values(candidate, "candidate scores")
        n, right, other, both = a.size, int(a.sum()), int(b.sum()), int(a @ b)
        return cls(both=both, only_candidate=other - both, only_baseline=right - both, neither=n - right - other + both)


def tango(counts: PairedCounts, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Difference of two proportions on the same items, with Tango's score interval and the test it inverts.

    The default for right/wrong items with one trial, at every n. Items must be independent; for clusters use
    `evalstats.stats.clusters.cluster_mean`, for several trials `evalstats.stats.paired.means.augmented_t`.

    Notes
    -----
    The interval holds every D with |T(D)| <= z, where T(D) = (b - c - nD) / sqrt(n (2 q + D (1 - D))), b and c
    are the items that only candidate and only baseline got right, and q is the maximum likelihood estimate of the
    probability behind c when the difference is D. At D = 0 this is the uncorrected McNemar test, so p < 1 - conf_level
    exactly when the interval excludes 0. An end is 1 or -1 only when the estimate is.

    Examples
    --------
    >>> r = tango(PairedCounts(22, 21, 0, 0))
    >>> round(r.conf_low, 4), round(r.conf_high, 4), f"{r.p_value:.1e}"
    (0.3462, 0.6325, '4.6e-06')
    """
    level = check_level(conf_level)
    z = normal_quantile(level)
    n, b, c = counts.n, counts.only_candidate, counts.only_baseline
    return IntervalEstimate(
        estimate=counts.estimate,
        method="Tango score",
        conf_level=level,
        n=n,
        std_error=_wald_std_error(counts),
        conf_low=-_tango_upper(n, c, b, z),
        conf_high=_tango_upper(n, b, c, z),
        statistic=_tango_statistic(n, b, c, 0.0),
        p_value=score_test_p(counts),
        warnings=_few_pairs(counts),
    )


def score_test_p(counts: PairedCounts) -> float:
    """Two-sided p of the uncorrected McNemar (score) test; 1 when no item is discordant."""
    if counts.discordant == 0:
        return 1.0
    return two_sided_normal_p((counts.only_candidate - counts.only_baseline) / math.sqrt(counts.discordant))


def smallest_p_paired_binary(n: int) -> float:
    """Smallest p of the paired score test that n items could show: all of them discordant in one direction.

    The rule of at least 6 discordant items is apart from this: 4 and 5 items reach p < .05 and still decide nothing.

    Examples
    --------
    >>> round(smallest_p_paired_binary(3), 4), round(smallest_p_paired_binary(6), 4)
    (0.0833, 0.0143)
    """
    return two_sided_normal_p(math.sqrt(check_count(n, "n", least=1)))


def mcnemar_exact(counts: PairedCounts) -> float:
    """Two-sided exact McNemar p: min(1, 2 P(Bin(b + c, 1/2) <= min(b, c)))."""
    m, least = counts.discordant, min(counts.only_candidate, counts.only_baseline)
    if m == 0:
        return 1.0
    return positive_p(2.0 * _half_binomial_cdf(least, m))


def mcnemar_midp(counts: PairedCounts) -> float:
    """Two-sided McNemar mid-p: the exact p less the probability of the observed minimum."""
    m, least = counts.discordant, min(counts.only_candidate, counts.only_baseline)
    if m == 0:
        return 1.0
    below = _half_binomial_cdf(least - 1, m) if least > 0 else 0.0
    return positive_p(_half_binomial_cdf(least, m) + below)


def tango_margin_p(counts: PairedCounts, margin: float, side: Literal["lower", "upper"] = "lower") -> float:
    """One-sided p of Tango's score test at a margin on the proportion scale, -1 < margin < 1, declared before looking.

    Side "lower" tests "difference <= -margin" (small p: not inferior), "upper" tests "difference >= margin"; equivalence is
    claimed when both are small. A negative margin with side="lower" asks for superiority by more than |margin|.
    """
    if not -1.0 < margin < 1.0:
        raise InputError(f"margin is {margin:g}; give a proportion between -1 and 1 (0.02 for two points)")
    n, b, c = counts.n, counts.only_candidate, counts.only_baseline
    statistic = _tango_statistic(n, b, c, -margin) if side == "lower" else -_tango_statistic(n, b, c, margin)
    return positive_p(0.5 * math.erfc(statistic / math.sqrt(2.0)))


def newcombe(counts: PairedCounts, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Difference of paired proportions with Newcombe's square-and-add interval (his method 10).

    Closed form, slightly wider than Tango's. It belongs to no test, so it carries no p-value.
    """
    level = check_level(conf_level)
    z = normal_quantile(level)
    n, both = counts.n, counts.both
    p_b, p_a = (both + counts.only_candidate) / n, (both + counts.only_baseline) / n
    low_b, high_b = wilson_ends(p_b, n, z)
    low_a, high_a = wilson_ends(p_a, n, z)
    phi = _newcombe_phi(counts)
    down, up = p_b - low_b, high_a - p_a
    reach_low = math.sqrt(max(0.0, down**2 - 2.0 * phi * down * up + up**2))
    up, down = high_b - p_b, p_a - low_a
    reach_high = math.sqrt(max(0.0, up**2 - 2.0 * phi * up * down + down**2))
    return IntervalEstimate(
        estimate=counts.estimate,
        method="Newcombe square-and-add",
        conf_level=level,
        n=n,
        std_error=_wald_std_error(counts),
        conf_low=max(-1.0, counts.estimate - reach_low),
        conf_high=min(1.0, counts.estimate + reach_high),
        warnings=_few_pairs(counts),
    )


def bonett_price(counts: PairedCounts, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Difference of paired proportions with the Bonett-Price interval: one item added to each discordant cell.

    The interval is centred on the difference after adding, so at levels below about 70% it need not contain the
    estimate. Its p-value is that of its own z.
    """
    level = check_level(conf_level)
    n = counts.n
    p10, p01 = (counts.only_candidate + 1) / (n + 2), (counts.only_baseline + 1) / (n + 2)
    centre = p10 - p01
    std_error = math.sqrt((p10 + p01 - centre**2) / (n + 2))
    reach = normal_quantile(level) * std_error
    statistic = centre / std_error
    return IntervalEstimate(
        estimate=counts.estimate,
        method="Bonett-Price",
        conf_level=level,
        n=n,
        std_error=std_error,
        conf_low=max(-1.0, centre - reach),
        conf_high=min(1.0, centre + reach),
        statistic=statistic,
        p_value=two_sided_normal_p(statistic),
        warnings=_few_pairs(counts),
    )


def _tango_statistic(n: int, b: int, c: int, delta: float) -> float:
    """Return T(delta); infinite where the variance is 0 and the data contradict delta."""
    if delta < 0.0:
        return -_tango_statistic(n, c, b, -delta)
    # With delta >= 0 the constant term of the quadratic is <= 0: its larger root is the one wanted,
    # and either form below adds numbers of one sign.
    linear = -b - c + (2 * n - b + c) * delta
    constant = -c * delta * (1.0 - delta)
    root = math.sqrt(linear * linear - 8.0 * n * constant)
    q = (root - linear) / (4.0 * n) if linear <= 0.0 else -2.0 * constant / (root + linear)
    variance = n * (2.0 * q + delta * (1.0 - delta))
    distance = b - c - n * delta
    if variance <= 0.0:
        return 0.0 if distance == 0.0 else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def tango_statistics(n: int | IntArray, b: FloatArray, c: FloatArray, delta: float | FloatArray) -> FloatArray:
    """Return Tango's T(delta) elementwise; see `tango`."""
    sign = np.where(delta < 0.0, -1.0, 1.0)
    b, c = np.where(delta < 0.0, c, b), np.where(delta < 0.0, b, c)
    delta = np.abs(delta)
    # With delta >= 0 the constant term is <= 0: its larger root is the one wanted, and either form of it below adds
    # numbers of one sign.
    linear = -b - c + (2 * n - b + c) * delta
    constant = -c * delta * (1.0 - delta)
    root = np.sqrt(linear**2 - 8.0 * n * constant)
    safe = np.where(root + linear > 0.0, root + linear, 1.0)
    q = np.where(linear <= 0.0, (root - linear) / (4.0 * n), -2.0 * constant / safe)
    variance = n * (2.0 * q + delta * (1.0 - delta))
    distance = b - c - n * delta
    flat = variance <= 0.0
    t = distance / np.sqrt(np.where(flat, 1.0, variance))
    return sign * np.where(flat, np.where(distance == 0.0, 0.0, np.copysign(np.inf, distance)), t)


@lru_cache(maxsize=4096)  # in many small levels the same few tables come again
def _tango_upper(n: int, b: int, c: int, z: float) -> float:
    """Return the D in [estimate, 1] with T(D) = -z, by bisection; T falls from 0 at the estimate."""
    inside, outside = (b - c) / n, 1.0
    for _ in range(_BISECTION_STEPS):
        middle = 0.5 * (inside + outside)
        if _tango_statistic(n, b, c, middle) >= -z:
            inside = middle
        else:
            outside = middle
    return 0.5 * (inside + outside)


def _half_binomial_cdf(k: int, m: int) -> float:
    """Return P(Bin(m, 1/2) <= k), k < m."""
    return float(special.betainc(m - k, k + 1, 0.5))


def _newcombe_phi(counts: PairedCounts) -> float:
    both, b, c, neither = counts.both, counts.only_candidate, counts.only_baseline, counts.neither
    margins = (both + b) * (c + neither) * (both + c) * (b + neither)
    if margins == 0:
        return 0.0
    association = float(both * neither - b * c)
    if association > 0.0:
        association = max(association - counts.n / 2.0, 0.0)
    return association / math.sqrt(margins)


def _wald_std_error(counts: PairedCounts) -> float | None:
    spread = counts.discordant / counts.n - counts.estimate**2
    return math.sqrt(spread / counts.n) if spread > 0.0 else None


def _few_pairs(counts: PairedCounts) -> tuple[str, ...]:
    if counts.discordant == 0:
        return (*few_items(counts.n), "No discordant items: the models agree on every item")
    if counts.discordant < MIN_DISCORDANT:
        items = f"{plural(counts.discordant, 'discordant item')}"
        few = f"Only {items}: fewer than {MIN_DISCORDANT} cannot tell the models apart"
        return (*few_items(counts.n), few)
    return few_items(counts.n)
