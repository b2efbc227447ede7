"""How large a paired difference is, in other units than the score's, and whether it lies inside a declared margin.

References: Breslow & Day 1980, Statistical Methods in Cancer Research I, section 5.2 (odds ratio); Tango 1998, Statistics in
Medicine 17:891; Schuirmann 1987, doi:10.1007/BF01068419 (two one-sided tests).
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import as_values, check_level, few_items
from evalstats.stats.estimate import IntervalEstimate, positive_p, t_quantile
from evalstats.stats.one_sample import clopper_pearson, mean_t, variance_matched_wilson
from evalstats.stats.paired.binary import PairedCounts, mcnemar_exact, tango, tango_margin_p

_TIE = 1e-9  # relative to the largest difference: smaller ones are 0


@record
class EffectSize:
    """An effect size that may be unbounded or unknown: then it, or an end of its interval, is None with a reason.

    `n` are the items that count: all, or the discordant ones for an odds ratio. `p_value` is that of "no effect", where
    the effect size has a test of its own.
    """

    estimate: float | None
    method: str
    conf_level: float
    n: int
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    p_value: float | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def conditional_odds_ratio(counts: PairedCounts, *, conf_level: float = 0.95) -> EffectSize:
    """Odds of the candidate's winning an item over the baseline's, among items of which only one got it right.

    For independent items with one trial. It says how one-sided the changes are, not how many there are: 3 items against 1
    in a million give 3, so show the difference beside it.

    Notes
    -----
    Given b + c discordant items, b is binomial with probability OR/(1 + OR): Clopper and Pearson's interval for b/(b + c)
    is carried over, so coverage is never below the level, and 1 lies outside whenever the exact p is below 1 - conf_level.

    Examples
    --------
    >>> r = conditional_odds_ratio(PairedCounts(59, 6, 16, 80))
    >>> r.estimate, round(r.conf_low, 4), round(r.conf_high, 4), round(r.p_value, 4)
    (0.375, 0.1202, 1.0089, 0.0525)
    >>> conditional_odds_ratio(PairedCounts(22, 21, 0, 0)).reason
    'the baseline alone got no item right, so the odds ratio has no upper limit'
    """
    level = check_level(conf_level)
    b, m = counts.only_candidate, counts.discordant
    method = "conditional odds ratio, exact"
    if m == 0:
        reason = "no discordant items: the odds ratio is unknown"
        return EffectSize(estimate=None, method=method, conf_level=level, n=0, p_value=1.0, reason=reason)
    share = clopper_pearson(b, m, conf_level=level)
    none = counts.only_baseline == 0
    return EffectSize(
        estimate=None if none else b / counts.only_baseline,
        method=method,
        conf_level=level,
        n=m,
        p_value=mcnemar_exact(counts),
        conf_low=_odds(share.conf_low),
        conf_high=_odds(share.conf_high),
        reason="the baseline alone got no item right, so the odds ratio has no upper limit" if none else None,
    )


def standardised_difference(differences: ArrayLike, *, conf_level: float = 0.95) -> EffectSize:
    """Mean difference in units of the standard deviation of the differences (Cohen's d_z).

    For independent items (means over trials, candidate minus baseline). It depends on how noisy an item is: more trials
    an item make it larger, so compare it only between designs that are alike.

    Notes
    -----
    d_z = mean/sd with divisor n - 1, not corrected for small samples. The variance is that of the delta method with the
    observed skewness g and kurtosis k, (1 - g d_z + (k - 1) d_z^2/4)/n, and never less than its value for normal
    differences, (1 + d_z^2/2)/n; t with n - 1 df. Simulated coverage at 95%, n = 30 and 100: .945 to .998 for normal,
    exponential, heavy-tailed and three-valued differences, and .91 and .93 where the candidate wins 90% of the items.
    """
    d = as_values(differences, "differences")
    plain = mean_t(d, conf_level=conf_level)
    level, n, method = plain.conf_level, d.size, "mean difference over sd of differences"
    if plain.std_error is None:
        return EffectSize(
            estimate=None, method=method, conf_level=level, n=n, reason=plain.reason, warnings=plain.warnings
        )
    sd = plain.std_error * math.sqrt(n)
    d_z = plain.estimate / sd
    z = (d - plain.estimate) / float(d.std())
    skewness, kurtosis = float((z**3).mean()), float((z**4).mean())
    variance = max(1.0 - skewness * d_z + 0.25 * (kurtosis - 1.0) * d_z**2, 1.0 + 0.5 * d_z**2) / n
    reach = t_quantile(level, n - 1) * math.sqrt(variance)
    return EffectSize(
        estimate=d_z,
        method=method,
        conf_level=level,
        n=n,
        std_error=math.sqrt(variance),
        conf_low=d_z - reach,
        conf_high=d_z + reach,
        warnings=plain.warnings,
    )


def superiority(
    differences: ArrayLike, *, clusters: ArrayLike | None = None, conf_level: float = 0.95
) -> IntervalEstimate:
    """Probability that the candidate does better on an item, ties counted half: P(d > 0) + P(d = 0)/2.

    Differences (candidate minus baseline, means over trials) below 1e-9 of the largest are ties. No p-value: that of the sign
    test is `score_test_p` of the signs.

    Notes
    -----
    Independent items: P = (1 + D)/2, where D is the difference of the shares of items won and lost, with Tango's
    interval. Clusters: the variance-matched Wilson interval on 1, 1/2 and 0.

    Examples
    --------
    >>> r = superiority([0.3, 0.1, 0.4, -0.1, 0.2, 0.0, 0.5, 0.2, 0.1, 0.3])
    >>> r.estimate, round(r.conf_low, 3), round(r.conf_high, 3)
    (0.85, 0.56, 0.958)
    """
    d = as_values(differences, "differences")
    level = check_level(conf_level)
    tie = _TIE * max(float(d.max()), -float(d.min()))
    above, below = d > tie, d < -tie
    if clusters is not None:
        found = variance_matched_wilson(0.5 + 0.5 * above - 0.5 * below, conf_level=level, clusters=clusters)
        return replace(found, method=f"probability of superiority, {found.method}")
    won, lost = int(np.count_nonzero(above)), int(np.count_nonzero(below))
    shares = tango(PairedCounts(0, won, lost, d.size - won - lost), conf_level=level)
    return IntervalEstimate(
        estimate=0.5 + 0.5 * shares.estimate,
        method="probability of superiority, Tango score",
        conf_level=level,
        n=d.size,
        std_error=None if shares.std_error is None else 0.5 * shares.std_error,
        conf_low=None if shares.conf_low is None else 0.5 + 0.5 * shares.conf_low,
        conf_high=None if shares.conf_high is None else 0.5 + 0.5 * shares.conf_high,
        warnings=few_items(d.size),
    )


def _odds(share: float | None) -> float | None:
    return None if share is None or share >= 1.0 else share / (1.0 - share)


@record
class MarginTest:
    """Two one-sided tests at a margin, with the limits that belong to them.

    Higher is better. For a score of which less is better, flip the sign of the difference first.

    Attributes
    ----------
    conf_level
        One-sided level, 0.95 for tests at 5%.
    low_one_sided, high_one_sided
        One-sided limits at `conf_level`: the ends of the two-sided interval at 2 conf_level - 1.
    noninferior_p, nonsuperior_p, tost_p
        One-sided p of "the difference is -margin or less", of "the difference is margin or more", and the larger of the two: p of
        "the difference is not inside the margin".
    noninferior, equivalent
        Whether the lower limit lies above -margin; whether both limits lie inside the margin.
    reason
        Why there is no answer; then everything but `margin` and `conf_level` is None.
    """

    margin: float
    conf_level: float
    method: str
    low_one_sided: float | None = None
    high_one_sided: float | None = None
    noninferior_p: float | None = None
    nonsuperior_p: float | None = None
    tost_p: float | None = None
    noninferior: bool | None = None
    equivalent: bool | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()


def tango_margin_test(counts: PairedCounts, *, margin: float, conf_level: float = 0.95) -> MarginTest:
    """Test non-inferiority and equivalence of two models on the same right/wrong items, by Tango's score.

    For independent items with one trial. The limits are those of Tango's interval, so that limit and p agree. `margin` is the
    largest loss that does not matter, a proportion between 0 and 1 (0.02 for two points), set before looking; `conf_level` is
    one-sided, above 0.5.

    Notes
    -----
    Size of the non-inferiority test at 5%, from every table of n items, margins of .02 to .15 and discordance up to .5:
    at most .056, .063 and .058 at n = 20, 43 and 100.
    """
    level, margin = _checked_level(conf_level), _checked_margin(margin)
    if margin >= 1.0:
        raise InputError(f"margin is {margin:g}; give a proportion between 0 and 1 (0.02 for two points)")
    interval = tango(counts, conf_level=2.0 * level - 1.0)
    return margin_answer(
        margin,
        level,
        "Tango score tests at the margin",
        limits=(interval.conf_low, interval.conf_high),
        p=(tango_margin_p(counts, margin), tango_margin_p(counts, margin, side="upper")),
        warnings=interval.warnings,
    )


def t_margin_test(
    estimate: IntervalEstimate, *, margin: float, conf_level: float = 0.95, bound: float | None = None
) -> MarginTest:
    """Test non-inferiority and equivalence with the t law behind an estimate of a difference.

    For `paired_t`, `augmented_t`, `stratified_mean`, `cluster_mean(...).estimate` and any other estimate with a
    standard error, a t statistic and its degrees of freedom; its own level does not matter. `margin` and `conf_level` as in
    `tango_margin_test`, the margin in the unit of the difference; `bound` is the largest possible |difference|, to which the
    limits are clipped.

    Notes
    -----
    The law is centred where the estimate's own test is, at statistic * std_error: for the augmented t that is the
    shrunken mean, not `estimate`.
    """
    level, margin = _checked_level(conf_level), _checked_margin(margin)
    if bound is not None and not margin < bound:
        raise InputError(f"margin is {margin:g}, but no difference can exceed {bound:g}; give a smaller margin")
    method = f"one-sided t tests at the margin ({estimate.method})"
    if estimate.reason is not None:
        return MarginTest(
            margin=margin, conf_level=level, method=method, reason=estimate.reason, warnings=estimate.warnings
        )
    if estimate.std_error is None or estimate.statistic is None or estimate.df is None:
        message = f"{estimate.method} has no t statistic with degrees of freedom; give an estimate of the t type"
        raise InputError(message)
    std_error, df = estimate.std_error, estimate.df
    centre = estimate.statistic * std_error
    reach = t_quantile(2.0 * level - 1.0, df) * std_error
    low, high = centre - reach, centre + reach
    return margin_answer(
        margin,
        level,
        method,
        limits=(low, high) if bound is None else (max(-bound, low), min(bound, high)),
        p=(_t_above(margin + centre, std_error, df), _t_above(margin - centre, std_error, df)),
        warnings=estimate.warnings,
    )


def margin_answer(
    margin: float,
    level: float,
    method: str,
    *,
    limits: tuple[float | None, float | None],
    p: tuple[float, float],
    warnings: tuple[str, ...],
) -> MarginTest:
    """Return what one-sided limits and p (of a loss, of a gain beyond the margin) say."""
    low, high = limits
    noninferior = low is not None and low > -margin
    return MarginTest(
        margin=margin,
        conf_level=level,
        method=method,
        low_one_sided=low,
        high_one_sided=high,
        noninferior_p=p[0],
        nonsuperior_p=p[1],
        tost_p=max(p),
        noninferior=noninferior,
        equivalent=noninferior and high is not None and high < margin,
        warnings=warnings,
    )


def _t_above(distance: float, std_error: float, df: float) -> float:
    return positive_p(float(special.stdtr(df, -distance / std_error)))


def _checked_margin(margin: float) -> float:
    if not (math.isfinite(margin) and margin > 0.0):
        raise InputError(f"margin is {margin:g}; give a positive number in the unit of the difference")
    return float(margin)


def _checked_level(conf_level: float) -> float:
    level = check_level(conf_level)
    if level <= 0.5:
        raise InputError(f"conf_level is {level:g}; a one-sided level must be above 0.5 (0.95 for tests at 5%)")
    return level
