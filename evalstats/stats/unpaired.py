"""Two systems on different users or items: the difference of two independent means, with its interval and test.

Right-or-wrong scores: Miettinen and Nurminen's score interval, Newcombe's hybrid beside it. Graded ones: Welch. Rows that come in
clusters (users, sessions), also those that both sides share: CR2 of the two-sample contrast. A covariate that was measured
before, or strata, make the interval shorter. And whether the two sides have the sizes that their split should have given.

References: Miettinen & Nurminen 1985, doi:10.1002/sim.4780040211; Farrington & Manning 1990, doi:10.1002/sim.4780091208 (the
restricted proportions in closed form); Newcombe 1998, doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I;
Welch 1947, doi:10.1093/biomet/34.1-2.28; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004 (CR2); Lin 2013,
doi:10.1214/12-AOAS583, and Deng et al. 2013, doi:10.1145/2433396.2433413 (covariates); Fabijan et al. 2019,
doi:10.1145/3292500.3330722 (sample-ratio mismatch).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import (
    FloatArray,
    IntArray,
    as_codes,
    as_values,
    check_bounds,
    check_count,
    check_level,
    few_items,
    is_constant,
    too_few_clusters,
)
from evalstats.stats.estimate import (
    IntervalEstimate,
    normal_quantile,
    positive_p,
    t_estimate,
    two_sided_normal_p,
)
from evalstats.stats.one_sample import wilson_ends
from evalstats.stats.paired.effect_sizes import MarginTest, margin_answer

_BESIDE = 1e-10  # so close to the estimate a difference is the estimate
_BISECTION_STEPS = 60


@record
class TwoProportions:
    """Successes and trials of a baseline and a candidate that share no item."""

    baseline: int
    n_baseline: int
    candidate: int
    n_candidate: int

    def __post_init__(self) -> None:
        """Refuse counts that are none."""
        for successes, n, side in (
            (self.baseline, self.n_baseline, "baseline"),
            (self.candidate, self.n_candidate, "candidate"),
        ):
            check_count(n, f"n_{side}", least=1)
            if not 0 <= check_count(successes, side) <= n:
                raise InputError(f"{side} is {successes} of {n}; successes are at most the trials")

    @property
    def estimate(self) -> float:
        """Candidate minus baseline."""
        return self.candidate / self.n_candidate - self.baseline / self.n_baseline

    def variance(self, difference: FloatArray) -> FloatArray:
        """Variance of the estimate if the true difference were this, from the proportions that fit best under it.

        Miettinen and Nurminen's, with the factor N/(N - 1). Elementwise, for differences in [-1, 1].
        """
        n_1, n_2 = float(self.n_candidate), float(self.n_baseline)
        p_1, p_2, ratio = self.candidate / n_1, self.baseline / n_2, n_2 / n_1
        a = 1.0 + ratio
        b = -(1.0 + ratio + p_1 + ratio * p_2 + difference * (ratio + 2.0))
        c = difference**2 + difference * (2.0 * p_1 + ratio + 1.0) + p_1 + ratio * p_2
        d = -p_1 * difference * (1.0 + difference)
        v = (b / (3.0 * a)) ** 3 - b * c / (6.0 * a**2) + d / (2.0 * a)
        u = np.where(v > 0.0, 1.0, -1.0) * np.sqrt(np.maximum((b / (3.0 * a)) ** 2 - c / (3.0 * a), 0.0))
        cosine = np.clip(np.divide(v, u**3, out=np.zeros_like(v), where=u != 0.0), -1.0, 1.0)
        first = 2.0 * u * np.cos((np.pi + np.arccos(cosine)) / 3.0) - b / (3.0 * a)
        first = np.clip(first, np.maximum(0.0, difference), np.minimum(1.0, 1.0 + difference))
        second = np.clip(first - difference, 0.0, 1.0)
        n = n_1 + n_2
        return (first * (1.0 - first) / n_1 + second * (1.0 - second) / n_2) * n / (n - 1.0)

    def statistic(self, difference: float = 0.0) -> float:
        """Score statistic of a true difference; 0 where the estimate is that difference, infinite where it cannot be."""
        apart = self.estimate - difference
        variance = float(self.variance(np.array([difference]))[0])
        if abs(apart) <= _BESIDE:
            return 0.0
        return math.copysign(math.inf, apart) if variance <= 0.0 else apart / math.sqrt(variance)


def miettinen_nurminen(counts: TwoProportions, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Difference of two independent proportions with Miettinen and Nurminen's score interval and the test that belongs to it.

    The default for right-or-wrong scores of different users: the interval holds all differences that the score test does not
    reject, never leaves [-1, 1], and is right where nobody or everybody succeeds.

    Examples
    --------
    >>> r = miettinen_nurminen(TwoProportions(baseline=48, n_baseline=80, candidate=56, n_candidate=70))
    >>> round(r.estimate, 4), round(r.conf_low, 5), round(r.conf_high, 5), round(r.p_value, 4)
    (0.2, 0.05283, 0.33817, 0.0083)
    """
    level = check_level(conf_level)
    z, found, n = normal_quantile(level), counts.estimate, counts.n_baseline + counts.n_candidate
    # Both ends by bisection: where one side always fails and the other never does, the variance rises from 0 so steeply that a
    # faster search stops at the estimate.
    inside, outside = np.full(2, found), np.array([-1.0, 1.0])
    for _ in range(_BISECTION_STEPS):
        middle = 0.5 * (inside + outside)
        kept = (found - middle) ** 2 <= z**2 * counts.variance(middle)
        inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
    low, high = 0.5 * (inside + outside)
    statistic = counts.statistic()
    return IntervalEstimate(
        estimate=found,
        method="Miettinen-Nurminen score",
        conf_level=level,
        n=n,
        std_error=_wald_error(counts),
        conf_low=float(low),
        conf_high=float(high),
        statistic=statistic,
        p_value=two_sided_normal_p(statistic),
        warnings=few_items(min(counts.n_baseline, counts.n_candidate)),
    )


def _wald_error(counts: TwoProportions) -> float | None:
    """Return the standard error of independent proportions; None where no side varies."""
    parts = (
        (counts.baseline / counts.n_baseline, counts.n_baseline),
        (counts.candidate / counts.n_candidate, counts.n_candidate),
    )
    variance = sum(p * (1.0 - p) / n for p, n in parts)
    return math.sqrt(variance) if variance > 0.0 else None


def newcombe_hybrid(counts: TwoProportions, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Difference of two independent proportions with Newcombe's interval of square-and-add (his method 10).

    Examples
    --------
    >>> r = newcombe_hybrid(TwoProportions(baseline=48, n_baseline=80, candidate=56, n_candidate=70))
    >>> round(r.conf_low, 5), round(r.conf_high, 5)
    (0.05243, 0.33387)
    """
    level = check_level(conf_level)
    z = normal_quantile(level)
    p_1, p_2 = counts.candidate / counts.n_candidate, counts.baseline / counts.n_baseline
    low_1, high_1 = wilson_ends(p_1, counts.n_candidate, z)
    low_2, high_2 = wilson_ends(p_2, counts.n_baseline, z)
    found = counts.estimate
    return IntervalEstimate(
        estimate=found,
        method="Newcombe's hybrid of Wilson intervals",
        conf_level=level,
        n=counts.n_baseline + counts.n_candidate,
        conf_low=found - math.hypot(p_1 - low_1, high_2 - p_2),
        conf_high=found + math.hypot(high_1 - p_1, p_2 - low_2),
    )


def fisher_exact(counts: TwoProportions, *, mid: bool = False) -> float:
    """Two-sided exact p that both success rates are equal: the chance of a table no likelier than this one, all margins fixed.

    `mid` counts tables that are as likely as the one seen by half.

    Examples
    --------
    >>> few = TwoProportions(baseline=3, n_baseline=3, candidate=0, n_candidate=3)
    >>> (
    ...     round(fisher_exact(few), 3),
    ...     round(fisher_exact(TwoProportions(baseline=8, n_baseline=10, candidate=1, n_candidate=5)), 4),
    ... )
    (0.1, 0.0889)
    """
    n_1, n_2 = counts.n_baseline, counts.n_candidate
    both = counts.baseline + counts.candidate
    k = np.arange(max(0, both - n_2), min(both, n_1) + 1)
    log = -(special.gammaln(k + 1) + special.gammaln(n_1 - k + 1))
    log -= special.gammaln(both - k + 1) + special.gammaln(n_2 - both + k + 1)
    weight = np.exp(log - log.max())
    # Tables as likely as the one seen differ from it by rounding.
    seen = weight[counts.baseline - k[0]]
    beyond = weight[weight <= seen * (1.0 + 1e-7)].sum()
    if mid:
        beyond -= 0.5 * weight[np.abs(weight - seen) <= seen * 1e-7].sum()
    return positive_p(float(beyond / weight.sum()))


def score_margin_test(counts: TwoProportions, *, margin: float, conf_level: float = 0.95) -> MarginTest:
    """Test non-inferiority and equivalence of two independent proportions by Miettinen and Nurminen's score.

    `margin`, above 0 and below 1, is the largest loss that does not matter; `conf_level` is one-sided, above 0.5. The limits are
    the ends of the two-sided interval at 2 conf_level - 1, so that limit and p agree.

    Examples
    --------
    >>> counts = TwoProportions(baseline=480, n_baseline=600, candidate=470, n_candidate=600)
    >>> r = score_margin_test(counts, margin=0.07)
    >>> r.noninferior, round(r.noninferior_p, 3)
    (True, 0.012)
    """
    if not 0.0 < margin < 1.0:
        raise InputError(f"margin is {margin:g}; give a proportion between 0 and 1 (0.02 for two points)")
    if not 0.5 < conf_level < 1.0:
        raise InputError(f"conf_level is {conf_level:g}; a one-sided level lies between 0.5 and 1")
    interval = miettinen_nurminen(counts, conf_level=2.0 * conf_level - 1.0)
    return margin_answer(
        margin,
        conf_level,
        "Miettinen-Nurminen score tests at the margin",
        limits=(interval.conf_low, interval.conf_high),
        p=(_above(counts.statistic(-margin)), _above(-counts.statistic(margin))),
        warnings=interval.warnings,
    )


def _above(z: float) -> float:
    """Return P(Z >= z)."""
    return positive_p(float(special.ndtr(-z)))


def welch(
    baseline: ArrayLike,
    candidate: ArrayLike,
    *,
    conf_level: float = 0.95,
    low: float | None = None,
    high: float | None = None,
) -> IntervalEstimate:
    """Difference of the means of two independent samples, candidate minus baseline, with Welch's t interval.

    `low` and `high` are bounds of the difference, to which the interval is clipped. No interval where a side has fewer than two
    rows or neither varies.

    Examples
    --------
    >>> r = welch([1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 9.0])
    >>> round(r.estimate, 2), round(r.df, 3), round(r.p_value, 4)
    (2.75, 4.366, 0.1277)
    """
    sides = as_values(baseline, "baseline"), as_values(candidate, "candidate")
    _check_difference(sides, low, high)
    return _contrast(sides, None, check_level(conf_level), "Welch's t", bounds=(low, high))


def clustered_difference(
    baseline: ArrayLike,
    candidate: ArrayLike,
    clusters_baseline: ArrayLike,
    clusters_candidate: ArrayLike,
    *,
    conf_level: float = 0.95,
    low: float | None = None,
    high: float | None = None,
) -> IntervalEstimate:
    """Difference of the means of two samples whose rows come in clusters, with the CR2 variance and Satterthwaite's df.

    The unit that was assigned (a user, a session) is the cluster, as it is of a ratio metric: the mean over rows is the sum over
    users divided by their rows. Codes are whole numbers over both sides; a cluster may have rows on both. Fewer than 5 clusters
    on a side give no interval.

    Notes
    -----
    For means, the CR2 adjustment of cluster g on side s is 1/sqrt(1 - f_gs), with f_gs its share of the side's rows, and
    V = sum_g (R_g2/(n_2 sqrt(1 - f_g2)) - R_g1/(n_1 sqrt(1 - f_g1)))^2. The df are Satterthwaite's for independent rows of equal
    variance on both sides, as clubSandwich has them. Of rows that are clusters each, this is Welch's variance.

    Examples
    --------
    >>> r = clustered_difference([0, 1, 1, 0, 1, 0], [1, 1, 0, 1, 1, 1], [0, 0, 1, 2, 3, 4], [5, 6, 7, 8, 9, 9])
    >>> round(r.estimate, 3), round(r.std_error, 3), round(r.df, 2), r.n_clusters
    (0.333, 0.253, 7.14, 10)
    """
    sides = as_values(baseline, "baseline"), as_values(candidate, "candidate")
    _check_difference(sides, low, high)
    both = np.concatenate([np.asarray(clusters_baseline), np.asarray(clusters_candidate)])
    codes, _ = as_codes(both, sides[0].size + sides[1].size)
    own = codes[: sides[0].size], codes[sides[0].size :]
    method = "CR2 of two samples, Satterthwaite df"
    return _contrast(sides, own, check_level(conf_level), method, bounds=(low, high))


def _check_difference(sides: tuple[FloatArray, FloatArray], low: float | None, high: float | None) -> None:
    difference = float(sides[1].mean() - sides[0].mean())
    check_bounds(np.array([difference]), low, high, "differences")


def _contrast(
    sides: tuple[FloatArray, FloatArray],
    codes: tuple[IntArray, IntArray] | None,
    level: float,
    method: str,
    *,
    bounds: tuple[float | None, float | None] = (None, None),
    lost_df: int = 0,
) -> IntervalEstimate:
    """Return the difference of two means by clusters; without any the error and its df are Welch's."""
    estimate = float(sides[1].mean() - sides[0].mean())
    sizes = [side.size for side in sides]
    n_own = sizes if codes is None else [int(np.unique(own).size) for own in codes]
    n_clusters = None if codes is None else int(np.unique(np.concatenate(codes)).size)
    reason = None if codes is None else too_few_clusters(min(n_own))
    if reason is None and min(n_own) < 2:
        reason = "a side has one row, so that its spread is unknown"
    if reason is None and all(is_constant(side) for side in sides):
        reason = "every row of a side has the same score, so that their spread is unknown"
    if reason is not None:
        return IntervalEstimate(
            estimate=estimate,
            method=method,
            conf_level=level,
            n=sum(sizes),
            n_clusters=n_clusters,
            reason=reason,
        )
    if codes is None:
        of_side = [float(side.var(ddof=1)) / side.size for side in sides]
        variance = sum(of_side)
        df = variance**2 / sum(part**2 / (n - 1) for part, n in zip(of_side, sizes, strict=True))
    else:
        n_all = 1 + max(int(own.max()) for own in codes)
        shares = [np.bincount(own, minlength=n_all) / own.size for own in codes]
        adjust = [1.0 / np.sqrt(1.0 - share) for share in shares]
        residuals = [
            np.bincount(own, weights=side - side.mean(), minlength=n_all) / side.size
            for side, own in zip(sides, codes, strict=True)
        ]
        variance = float(((residuals[1] * adjust[1] - residuals[0] * adjust[0]) ** 2).sum())
        # Satterthwaite: V is a sum of squares whose matrix B, for independent rows, is a diagonal less two of rank one.
        weights = [share * each for share, each in zip(shares, adjust, strict=True)]
        diagonal = shares[0] / (sizes[0] * (1.0 - shares[0])) + shares[1] / (sizes[1] * (1.0 - shares[1]))
        lost = weights[0] ** 2 / sizes[0] + weights[1] ** 2 / sizes[1]
        squares = float((diagonal**2).sum() - 2.0 * (diagonal * lost).sum())
        squares += sum(float(weights[i] @ weights[j]) ** 2 / (sizes[i] * sizes[j]) for i in range(2) for j in range(2))
        df = float((diagonal - lost).sum()) ** 2 / squares
    return t_estimate(
        estimate,
        math.sqrt(variance),
        max(df - lost_df, 1.0),
        level,
        method=method,
        n=sum(sizes),
        low=bounds[0],
        high=bounds[1],
        n_clusters=n_clusters,
        warnings=few_items(min(n_own)) if n_clusters is None else (),
    )


def adjusted_difference(
    baseline: ArrayLike,
    candidate: ArrayLike,
    before_baseline: ArrayLike,
    before_candidate: ArrayLike,
    *,
    clusters: tuple[ArrayLike, ArrayLike] | None = None,
    whole: ArrayLike | None = None,
    conf_level: float = 0.95,
) -> IntervalEstimate:
    """Difference of two means, adjusted for a covariate that was measured before anybody was assigned.

    Each side has a slope of its own (Lin 2013), so that the adjustment cannot make the interval longer in large samples; with
    one slope it is CUPED. The covariate must not be touched by what is compared. `whole` is the covariate of everybody whom the
    difference is to hold for, by default of both sides: where there are more groups, differences of two then add up.

    Notes
    -----
    The difference of the sides' regression lines at the mean covariate of `whole`; its variance is that of the residuals (CR2
    with clusters), weighted as they move the lines there, and that of the mean covariate where the slopes differ. One df is
    taken for each slope.

    Examples
    --------
    >>> x, y = np.arange(12.0), np.arange(12.0) + np.tile([0.3, -0.3], 6)
    >>> r = adjusted_difference(y[::3], y[1::3] + 1, x[::3], x[1::3])
    >>> round(r.estimate, 2), round(r.std_error, 2)
    (1.0, 0.24)
    """
    sides = as_values(baseline, "baseline"), as_values(candidate, "candidate")
    before = as_values(before_baseline, "covariates"), as_values(before_candidate, "covariates")
    for side, covariate in zip(sides, before, strict=True):
        if side.size != covariate.size:
            raise InputError(f"{side.size} scores have {covariate.size} covariates; give one for each")
    every = np.concatenate(before) if whole is None else as_values(whole, "covariates")
    if is_constant(every):
        raise InputError("the covariate is the same for all rows, so that nothing can be adjusted for")
    middle = float(every.mean())
    adjusted = [at_covariate(side, covariate, middle) for side, covariate in zip(sides, before, strict=True)]
    slopes = [slope_on(side, covariate) for side, covariate in zip(sides, before, strict=True)]
    method = "difference adjusted for a covariate, a slope a side"
    codes: tuple[IntArray, IntArray] | None = None
    if clusters is not None:
        joined, _ = as_codes(np.concatenate([np.asarray(each) for each in clusters]), sides[0].size + sides[1].size)
        codes = joined[: sides[0].size], joined[sides[0].size :]
    found = _contrast((adjusted[0], adjusted[1]), codes, check_level(conf_level), method, lost_df=2)
    if found.std_error is None or found.df is None:
        return found
    of_middle = (slopes[1] - slopes[0]) ** 2 * float(every.var(ddof=1)) / every.size
    return t_estimate(
        found.estimate,
        math.sqrt(found.std_error**2 + of_middle),
        found.df,
        found.conf_level,
        method=method,
        n=found.n,
        n_clusters=found.n_clusters,
        warnings=found.warnings,
    )


def slope_on(values: FloatArray, covariate: FloatArray) -> float:
    """Return the slope of least squares; 0 where the covariate does not vary.

    >>> slope_on(np.array([1.0, 3.0, 5.0]), np.array([0.0, 1.0, 2.0]))
    2.0
    """
    apart = covariate - covariate.mean()
    spread = float(apart @ apart)
    return float(apart @ values) / spread if spread > 0.0 else 0.0


def at_covariate(values: FloatArray, covariate: FloatArray, middle: float) -> FloatArray:
    """Return values whose mean is the regression line at `middle`, and whose standard error is that of the line there.

    Each residual is weighted by how far it moves the line at `middle`: far from the mean covariate of these values, the error
    of the slope counts, too.

    >>> at_covariate(np.array([1.0, 3.0, 6.0]), np.array([0.0, 1.0, 2.0]), 2.0).round(2).tolist()
    [5.75, 5.5, 6.25]
    """
    slope, apart = slope_on(values, covariate), covariate - covariate.mean()
    reach, spread = middle - covariate.mean(), float(np.square(apart).mean())
    weight = 1.0 + reach * apart / spread if spread > 0.0 else np.ones(values.size)
    return np.asarray(
        values.mean() + slope * reach + (values - values.mean() - slope * apart) * weight, dtype=np.float64
    )


def adjusted_columns(values: FloatArray, covariate: FloatArray) -> FloatArray:
    """Return columns whose means are the means of independent groups at the mean covariate of all, each by its own slope.

    `values`, shape (n_rows, n_groups), are NaN where a row is not of a group, `covariate` that of every row. Every row counts in
    every column, by what its covariate says of the mean of all, so that the variance of a column is that of its mean.

    >>> y = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, 5.0], [np.nan, 7.0]])
    >>> adjusted_columns(y, np.array([0.0, 1.0, 1.0, 2.0])).mean(axis=0).tolist()
    [3.0, 5.0]
    """
    found, apart = np.empty_like(values), covariate - covariate.mean()
    for j, own in enumerate(values.T):
        rows = ~np.isnan(own)
        slope = slope_on(own[rows], covariate[rows])
        level = at_covariate(own[rows], covariate[rows], float(covariate.mean()))
        found[:, j] = level.mean() + slope * apart
        found[rows, j] += (level - level.mean()) * own.size / level.size
    return found


def stratified_difference(
    baseline: ArrayLike,
    candidate: ArrayLike,
    strata_baseline: ArrayLike,
    strata_candidate: ArrayLike,
    *,
    shares: ArrayLike | None = None,
    clusters: tuple[ArrayLike, ArrayLike] | None = None,
    conf_level: float = 0.95,
) -> IntervalEstimate:
    """Difference of two means within strata, averaged by `shares`, or by the rows that each stratum has on both sides together.

    A stratum (a country, a device, a day) is fixed before anybody is assigned. Each needs two rows on either side. Where rows
    come in `clusters`, codes of either side as `clustered_difference` takes them, it is that of the linearised values: what
    each row adds to its side's average, whose means are the averages.

    Examples
    --------
    >>> r = stratified_difference([0, 1, 5, 6], [1, 2, 6, 8], [0, 0, 1, 1], [0, 0, 1, 1])
    >>> round(r.estimate, 2), round(r.std_error, 3)
    (1.25, 0.661)
    """
    sides = as_values(baseline, "baseline"), as_values(candidate, "candidate")
    joined, n_strata = as_codes(
        np.concatenate([np.asarray(strata_baseline), np.asarray(strata_candidate)]),
        sides[0].size + sides[1].size,
        "strata",
    )
    codes = joined[: sides[0].size], joined[sides[0].size :]
    counts = [np.bincount(own, minlength=n_strata) for own in codes]
    fewest = int(min(count.min() for count in counts))
    if fewest < 2:
        raise InputError(f"a stratum has {fewest} rows on one side; each needs two on either side: join small ones")
    weight = (counts[0] + counts[1]) / joined.size
    if shares is not None:
        given = as_values(shares, "shares")
        if given.size != n_strata:
            raise InputError(
                f"{n_strata} strata have {given.size} shares; give one for each, in the order of their codes"
            )
        weight = given / given.sum()
    means = [
        np.bincount(own, weights=side, minlength=n_strata) / count
        for side, own, count in zip(sides, codes, counts, strict=True)
    ]
    if clusters is not None:
        linear = [
            float(weight @ mean) + (weight * own.size / count)[own] * (side - mean[own])
            for side, own, count, mean in zip(sides, codes, counts, means, strict=True)
        ]
        found = clustered_difference(linear[0], linear[1], *clusters, conf_level=conf_level)
        return replace(found, method=f"{found.method}, within strata")
    within = [
        weight**2 * np.bincount(own, weights=(side - mean[own]) ** 2, minlength=n_strata) / (count - 1) / count
        for side, own, mean, count in zip(sides, codes, means, counts, strict=True)
    ]
    estimate, variance = float(weight @ (means[1] - means[0])), float(within[0].sum() + within[1].sum())
    method = "difference within strata, Satterthwaite df"
    if variance <= 0.0:
        reason = "every stratum has one score on each side, so that their spread is unknown"
        return IntervalEstimate(
            estimate=estimate, method=method, conf_level=check_level(conf_level), n=joined.size, reason=reason
        )
    df = variance**2 / sum(float((part**2 / (count - 1)).sum()) for part, count in zip(within, counts, strict=True))
    return t_estimate(estimate, math.sqrt(variance), df, check_level(conf_level), method=method, n=joined.size)


def sample_ratio_p(counts: Sequence[int], shares: ArrayLike | None = None) -> float:
    """P of the hypothesis that each unit went to a group with these probabilities, by default to each alike.

    Two groups: the exact binomial test, twice the smaller tail. More: Pearson's chi-squared. A small p (below .001, as is usual)
    says that the assignment or the logging is broken, and that no difference between the groups can be trusted.

    Examples
    --------
    >>> round(sample_ratio_p([5000, 5300]), 4), round(sample_ratio_p([600, 400], [0.6, 0.4]), 2)
    (0.0032, 1.0)
    >>> round(sample_ratio_p([1000, 1000, 1100]), 4)
    0.0397
    """
    n = np.array([check_count(each, "counts") for each in counts], dtype=np.float64)
    expected = np.ones(n.size) if shares is None else np.asarray(shares, dtype=np.float64)
    if n.size < 2 or expected.shape != n.shape or not (np.isfinite(expected).all() and (expected > 0).all()):
        raise InputError(f"shares are {shares}; give a positive number for each of {n.size} counts, of two or more")
    expected = expected / expected.sum()
    total = n.sum()
    if n.size > 2:
        statistic = float((np.square(n - total * expected) / (total * expected)).sum()) if total else 0.0
        return positive_p(float(special.chdtrc(n.size - 1, statistic)))
    pairs: list[tuple[float, float]] = list(zip(n.tolist(), expected.tolist(), strict=True))
    tails = [float(special.bdtr(own, int(total), share)) for own, share in pairs]
    return positive_p(min(1.0, 2.0 * min(tails)))


def detectable_difference(std_error: float, df: float | None, *, conf_level: float = 0.95, power: float = 0.8) -> float:
    """Return the smallest true difference that a design with this standard error finds with the power given.

    >>> round(detectable_difference(0.02, None), 4)
    0.056
    """
    if df is None:
        return std_error * (normal_quantile(conf_level) + float(special.ndtri(power)))
    return std_error * (-float(special.stdtrit(df, (1.0 - conf_level) / 2.0)) + float(special.stdtrit(df, power)))
