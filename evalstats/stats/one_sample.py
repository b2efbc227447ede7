"""The score of one model: a proportion or a mean, of independent or clustered items, with its interval, and unseen failures.

References: Bell & McCaffrey 2002, Survey Methodology 28:169; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004
(CR2); Wilson 1927, JASA 22:209; Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404; Brown, Cai & DasGupta 2001,
doi:10.1214/ss/1009213286 (Jeffreys); Bowyer, Aitchison & Ivanova 2025, arXiv:2503.01747; Hanley & Lippman-Hand 1983, JAMA
249:1743 (the rule of three).
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import (
    FEW_CLUSTERS,
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
from evalstats.stats.estimate import IntervalEstimate, normal_quantile, t_estimate, t_quantile

RUNAWAY = 10.0  # a cost of so many times the median has run away
_WIDEST_GAIN = 50.0  # a spread far below that of 0/1 scores may be chance: n_hat stays below 50 n


@record
class Cr2:
    """Variance of a mean under clustering, 0.0 where every cluster's residuals add up to 0, and its df."""

    mean: float
    variance: float
    df: float
    n_clusters: int


def cr2_of_mean(values: FloatArray, codes: IntArray, n_clusters: int) -> Cr2:
    """Return the CR2 variance of the mean of `values` for at least two clusters coded 0..n_clusters-1.

    The general CR2 adjusts the residuals of cluster g by the inverse root of its block of I - H. For a mean that
    block is I - 11'/n, the adjusted residuals add up to R_g / sqrt(1 - f_g), and nothing need be inverted:
    V = sum_g R_g^2 / (1 - f_g) / n^2, with R_g the sum of residuals and f_g the share of items of cluster g.

    The degrees of freedom are Satterthwaite's under independent items of equal variance:
    1 / df = sum_g f_g^2 + sum_{g != h} f_g^2 f_h^2 / ((1 - f_g)(1 - f_h)).
    """
    n = values.size
    mean = float(values.mean())
    residual_sums = np.bincount(codes, weights=values - mean, minlength=n_clusters)
    share = np.bincount(codes, minlength=n_clusters) / n
    variance = float((residual_sums**2 / (1.0 - share)).sum()) / n**2
    rounding = 16.0 * np.finfo(np.float64).eps * float(np.abs(values).max())
    return Cr2(
        mean=mean,
        variance=variance if variance > rounding**2 else 0.0,
        df=satterthwaite_df(share),
        n_clusters=n_clusters,
    )


def satterthwaite_df(share: FloatArray) -> float:
    """Return the Satterthwaite df of the CR2 variance of a mean, from the clusters' shares; equal ones give G - 1."""
    cross = share**2 / (1.0 - share)
    return 1.0 / float((share**2).sum() + cross.sum() ** 2 - (cross**2).sum())


def wilson(successes: int, n: int, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Proportion of successes with Wilson's score interval.

    The default for right/wrong items that are independent, at any n: it never leaves [0, 1] and its ends are
    right at 0/n and n/n. With several trials an item, or clusters, use `variance_matched_wilson`.

    Examples
    --------
    >>> r = wilson(43, 43)
    >>> round(r.conf_low, 4), r.conf_high
    (0.918, 1.0)
    """
    x, n = _checked_counts(successes, n)
    level = check_level(conf_level)
    return _proportion(x, n, level, "Wilson", wilson_ends(x / n, n, normal_quantile(level)))


def clopper_pearson(successes: int, n: int, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Proportion of successes with the Clopper-Pearson interval: coverage is never below `conf_level`.

    For safety claims, where a guarantee is wanted; elsewhere it is wider than needed. Ends are Beta quantiles.

    Examples
    --------
    >>> round(clopper_pearson(43, 43).conf_low, 4)
    0.9178
    """
    x, n = _checked_counts(successes, n)
    level = check_level(conf_level)
    tail = (1.0 - level) / 2.0
    low = 0.0 if x == 0 else float(special.betaincinv(x, n - x + 1, tail))
    high = 1.0 if x == n else float(special.betainccinv(x + 1, n - x, tail))
    return _proportion(x, n, level, "Clopper-Pearson", (low, high))


def jeffreys(successes: int, n: int, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Proportion of successes with the equal-tailed posterior interval under Jeffreys' Beta(1/2, 1/2) prior.

    The lower end is 0 when nothing succeeded and the upper end is 1 when all did (Brown, Cai & DasGupta 2001).

    Examples
    --------
    >>> r = jeffreys(43, 43)
    >>> round(r.conf_low, 4), r.conf_high
    (0.9436, 1.0)
    """
    x, n = _checked_counts(successes, n)
    level = check_level(conf_level)
    tail = (1.0 - level) / 2.0
    low = 0.0 if x == 0 else float(special.betaincinv(x + 0.5, n - x + 0.5, tail))
    high = 1.0 if x == n else float(special.betainccinv(x + 0.5, n - x + 0.5, tail))
    return _proportion(x, n, level, "Jeffreys", (low, high))


def beta_posterior(successes: int, n: int, *, a: float, b: float, conf_level: float = 0.95) -> IntervalEstimate:
    """Proportion of successes with the equal-tailed posterior interval under a Beta(a, b) prior.

    For whoever wants a posterior; show a second prior where the choice matters: 0.5 and 0.5 (Jeffreys) or 1 and 1
    (uniform). Items are independent, one trial each. `estimate` is the observed proportion: where nothing or everything
    succeeded it lies outside the interval, unless the prior is Jeffreys', whose interval then reaches the bound (see
    `jeffreys`).

    Examples
    --------
    >>> r = beta_posterior(43, 43, a=1, b=1)
    >>> r.method, round(r.conf_low, 4), round(r.conf_high, 4)
    ('Beta(1, 1) posterior', 0.9196, 0.9994)
    """
    x, n = _checked_counts(successes, n)
    level = check_level(conf_level)
    tail = (1.0 - level) / 2.0
    low = float(special.betaincinv(x + a, n - x + b, tail))
    high = float(special.betainccinv(x + a, n - x + b, tail))
    return _proportion(x, n, level, f"Beta({a:g}, {b:g}) posterior", (low, high))


def failure_rate_limit(n: int, *, conf_level: float = 0.95) -> float:
    """One-sided upper limit of the failure rate when n of n items succeeded: 1 - (1 - conf_level)^(1/n).

    Close to 3/n at 95% (the "rule of three").

    Examples
    --------
    >>> round(failure_rate_limit(43), 4)
    0.0673
    """
    n = check_count(n, "n", least=1)
    return -math.expm1(math.log1p(-check_level(conf_level)) / n)


def mean_t(values: ArrayLike, *, conf_level: float = 0.95) -> IntervalEstimate:
    """Mean of independent items with Student's t interval.

    For scores without bounds, or with bounds when n >= 300 and few values sit at a bound. One value per item:
    average trials first.

    Examples
    --------
    >>> r = mean_t([1.0, 2.0, 3.0])
    >>> r.estimate, round(r.conf_low, 4), r.df
    (2.0, -0.4841, 2.0)
    """
    x = as_values(values)
    level = check_level(conf_level)
    n, mean = x.size, float(x.mean())
    if n < 2 or is_constant(x):
        reason = "one item has no spread" if n < 2 else f"all {n} values are equal, so their spread is unknown"
        return IntervalEstimate(estimate=mean, method="t", conf_level=level, n=n, reason=reason, warnings=few_items(n))
    std_error = float(x.std(ddof=1)) / math.sqrt(n)
    found = t_estimate(mean, std_error, float(n - 1), level, method="t", n=n, warnings=few_items(n))
    return replace(found, statistic=None, p_value=None)  # nobody asks whether a score is 0


def variance_matched_wilson(
    values: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    conf_level: float = 0.95,
    clusters: ArrayLike | None = None,
    n_rows: int | None = None,
) -> IntervalEstimate:
    """Mean of bounded item scores with a Wilson interval at the sample size their variance is worth.

    The default for trials, graded scores and clusters. Scores are mapped to [0, 1]; with mean p and estimated variance V
    of the mean, the interval is Wilson's with a t quantile in place of z and in place of n an n_eff made in two steps:

    - n_hat = p(1 - p)/V: with (n - 1) s^2/n^2 and n - 1 df for independent items (50 n at most), with CR2 and
      Satterthwaite df for clusters (at most what the items would be worth if independent).
    - Near a bound V rests on the few units that fall short of it. With k the effective number of these,
      (sum u)^2/sum(u^2) for the shortfalls u of the m items or clusters from the nearer bound, a pseudo-unit of the
      worst kind is weighed in: 1/n_eff = (k/n_hat + a/n_0)/(k + a), a = 1 - k/m, where n_0 is n for items and
      1/sum(share^2) for clusters. Right/wrong items with one trial are left as they are.

    Where all scores sit at one bound n_eff is the number of items, or of clusters.

    Parameters
    ----------
    values
        float64 array, shape (n_items,): item means over trials, in the score's own unit.
    low, high
        Lowest and highest possible score.
    clusters
        Integer codes, shape (n_items,). Fewer than 5 clusters give no interval.
    n_rows
        Number of right/wrong outcomes behind the values (items times trials); n_eff never exceeds it. Leave it
        out for graded scores, whose spread may truly be small.

    Raises
    ------
    InputError
        Values outside [low, high], NaN, or codes that do not fit.

    Notes
    -----
    Simulated coverage of 95% intervals. Items (20 laws of trials and grades, n = 20 to 300): .94 and more, where t
    covers .32 to .95 and n_hat alone .73 to .99. Clusters (5 to 40, equal to 7:1, ICC .02 to .8, p = .6 to .97): .93 and
    more, where t covers .20 to .98 and n_hat alone .81 and more; the price is width where clusters do not matter, about
    a quarter at p = .9 with 12 clusters.

    Examples
    --------
    >>> r = variance_matched_wilson([1.0] * 40 + [2 / 3, 1 / 3, 1.0])
    >>> round(r.estimate, 4), round(r.conf_low, 4), round(r.conf_high, 4)
    (0.9767, 0.899, 0.995)
    """
    x = as_values(values)
    check_bounds(x, low, high)
    level = check_level(conf_level)
    unit = np.clip((x - low) / (high - low), 0.0, 1.0)
    rows = None if n_rows is None else check_count(n_rows, "n_rows", least=1)
    if clusters is None:
        return _rescaled(_matched_items(unit, level, rows), low, high)
    codes, n_clusters = as_codes(clusters, x.size)
    return _rescaled(_matched_clusters(unit, codes, n_clusters, level, rows), low, high)


def wilson_ends(p: float, n: float, q: float) -> tuple[float, float]:
    """Return Wilson's ends for proportion `p`, sample size `n` (whole or not) and quantile `q`."""
    shrink = 1.0 + q * q / n
    centre = (p + q * q / (2.0 * n)) / shrink
    reach = q * math.sqrt(p * (1.0 - p) / n + (q / (2.0 * n)) ** 2) / shrink
    low = 0.0 if p == 0.0 else max(0.0, centre - reach)
    high = 1.0 if p == 1.0 else min(1.0, centre + reach)
    return low, high


def _checked_counts(successes: int, n: int) -> tuple[int, int]:
    n = check_count(n, "n", least=1)
    x = check_count(successes, "successes")
    if x > n:
        raise InputError(f"{x} successes of {n} items: successes cannot exceed n")
    return x, n


def _proportion(x: int, n: int, level: float, method: str, ends: tuple[float, float]) -> IntervalEstimate:
    p = x / n
    return IntervalEstimate(
        estimate=p,
        method=method,
        conf_level=level,
        n=n,
        std_error=math.sqrt(p * (1.0 - p) / n) if 0 < x < n else None,
        conf_low=ends[0],
        conf_high=ends[1],
        warnings=few_items(n),
    )


def _items_worth(unit: FloatArray, rows: int | None) -> tuple[float, float, float]:
    """Return mean, variance of the mean and n_eff of independent items, scores in [0, 1]."""
    n, p = unit.size, float(unit.mean())
    if is_constant(unit):
        return p, 0.0, float(n)
    variance = float(np.square(unit - p).sum()) / n**2
    n_hat = min(p * (1.0 - p) / variance, _WIDEST_GAIN * n)
    n_eff = _steadied(n_hat, float(n), _shortfall(unit, p))
    return p, variance, max(float(n), n_eff if rows is None else min(n_eff, rows))


def _shortfall(unit: FloatArray, p: float) -> FloatArray:
    return 1.0 - unit if p > 0.5 else unit


def _steadied(n_hat: float, n_worst: float, shortfalls: FloatArray) -> float:
    """Weigh a pseudo-unit of the worst kind into n_hat, the more the fewer units fall short of the nearer bound."""
    k = float(shortfalls.sum()) ** 2 / float(np.square(shortfalls).sum())
    pseudo = 1.0 - k / shortfalls.size
    return (k + pseudo) / (k / n_hat + pseudo / n_worst)


def _matched_items(unit: FloatArray, level: float, rows: int | None) -> IntervalEstimate:
    n, method = unit.size, "variance-matched Wilson"
    p, variance, n_eff = _items_worth(unit, rows)
    if n < 2:
        reason = "one item has no spread"
        return IntervalEstimate(estimate=p, method=method, conf_level=level, n=n, reason=reason, warnings=few_items(n))
    return _matched(Cr2(mean=p, variance=variance, df=float(n - 1), n_clusters=n), n_eff, level, method, n)


def _matched_clusters(
    unit: FloatArray, codes: IntArray, n_clusters: int, level: float, rows: int | None
) -> IntervalEstimate:
    n, method = unit.size, "variance-matched Wilson (CR2, Satterthwaite df)"
    p, _, n_items_worth = _items_worth(unit, rows)
    reason = too_few_clusters(n_clusters)
    if reason is not None:
        return IntervalEstimate(estimate=p, method=method, conf_level=level, n=n, n_clusters=n_clusters, reason=reason)
    cr2 = cr2_of_mean(unit, codes, n_clusters)
    found = _matched(cr2, _clusters_worth(unit, codes, cr2, n_items_worth), level, method, n)
    return replace(found, n_clusters=n_clusters, warnings=_uneven_clusters(unit, codes, n_clusters))


def _matched(mean: Cr2, n_eff: float, level: float, method: str, n: int) -> IntervalEstimate:
    low, high = wilson_ends(mean.mean, n_eff, t_quantile(level, mean.df))
    return IntervalEstimate(
        estimate=mean.mean,
        method=method,
        conf_level=level,
        n=n,
        std_error=math.sqrt(mean.variance) if mean.variance > 0.0 else None,
        conf_low=low,
        conf_high=high,
        df=mean.df,
        warnings=few_items(n),
    )


def _clusters_worth(unit: FloatArray, codes: IntArray, cr2: Cr2, n_items_worth: float) -> float:
    p = cr2.mean
    if p in {0.0, 1.0}:
        return float(cr2.n_clusters)
    n_hat = min(p * (1.0 - p) / cr2.variance, n_items_worth) if cr2.variance > 0.0 else n_items_worth
    sizes = np.bincount(codes, minlength=cr2.n_clusters)
    kish = unit.size**2 / float(np.square(sizes).sum())
    shortfalls = np.bincount(codes, weights=_shortfall(unit, p), minlength=cr2.n_clusters).astype(np.float64)
    return min(n_items_worth, _steadied(n_hat, kish, shortfalls))


def _rescaled(unit: IntervalEstimate, low: float, high: float) -> IntervalEstimate:
    """Carry an estimate on [0, 1] to the score's own scale."""
    span = high - low

    def back(value: float | None) -> float | None:
        return None if value is None else low + span * value

    return replace(
        unit,
        estimate=low + span * unit.estimate,
        std_error=None if unit.std_error is None else span * unit.std_error,
        conf_low=back(unit.conf_low),
        conf_high=back(unit.conf_high),
    )


def _uneven_clusters(unit: FloatArray, codes: IntArray, n_clusters: int) -> tuple[str, ...]:
    """Warn when so few clusters hold a failure (or a success) that coverage can fall to about .9."""
    found: list[str] = []
    for word, short_of in (("failure", unit < 1.0), ("success", unit > 0.0)):
        holding = int(np.unique(codes[short_of]).size)
        if holding < FEW_CLUSTERS:
            held = "holds" if holding <= 1 else "hold"
            those = f"Only {holding}" if holding else "Not one"
            found.append(f"{those} of {n_clusters} clusters {held} a {word}: the interval may be too short")
    return tuple(found)


@record
class UnseenFailures:
    """Further outright failures of one side: what would undo its lead, and what the items cannot exclude.

    `undoing` is the share of items on which the side would have to fail besides what was seen for its lead (and the
    allowance) to be gone, 0 or less where there is none; `possible` the share of further failures that these items cannot
    exclude; `failures` counts items on which the side failed outright and the other did not; `seen` says whether either
    side failed on any item.
    """

    undoing: float
    possible: float
    failures: int
    seen: bool
    n: int
    conf_level: float

    @property
    def within(self) -> bool:
        """Whether failures that cannot be excluded would undo the lead."""
        return self.undoing <= self.possible


def unseen_failures(
    side: ArrayLike, other: ArrayLike, *, allowance: float = 0.0, conf_level: float = 0.95
) -> UnseenFailures:
    """Compare the failures that would undo the lead of one side with those that its items cannot exclude.

    For graded scores with a worst value. For right-or-wrong answers the score interval knows of rare failures already.

    Parameters
    ----------
    side, other
        float64 arrays, shape (n_items,): how far either side's score lies from the worst one, 0 or more.
    allowance
        What the side may lose beyond its lead, such as a declared margin, in score units.

    Notes
    -----
    If the side failed on a further share s of the items, its mean m would become (1 - s) m, so s = (m - m_other +
    allowance)/m takes lead and allowance away. Of k failures in n items, Clopper and Pearson's one-sided upper end U
    is the largest rate not excluded (1 - (1 - conf_level)^(1/n) where k = 0, about 3/n at 95%), and U - k/n is what it
    adds to those seen. Failures are counted where the other side did not fail: an item on which both do is hard, no more.

    Examples
    --------
    >>> r = unseen_failures([0.76, 0.74, 0.78] * 20, [0.75, 0.73, 0.76] * 20)
    >>> round(r.undoing, 4), round(r.possible, 4), r.within
    (0.0175, 0.0487, True)
    """
    mine, theirs = as_values(side, "side"), as_values(other, "other")
    if mine.shape != theirs.shape:
        raise InputError(f"side has {mine.size} items and other has {theirs.size}; give the same items")
    for values, what in ((mine, "side"), (theirs, "other")):
        check_bounds(values, 0.0, None, what)
    level = check_level(conf_level)
    mean, n = float(mine.mean()), mine.size
    failures = int(np.count_nonzero((mine <= 0.0) & (theirs > 0.0)))
    lead = mean - float(theirs.mean()) + allowance
    return UnseenFailures(
        undoing=lead / mean if mean > 0.0 else 0.0,
        possible=float(possible_failures(failures, n, conf_level=level)),
        failures=failures,
        seen=bool((mine <= 0.0).any() or (theirs <= 0.0).any()),
        n=n,
        conf_level=level,
    )


def possible_failures(failures: ArrayLike, n: ArrayLike, *, conf_level: float = 0.95) -> FloatArray:
    """Return the share of further failures that `failures` seen in `n` items cannot exclude."""
    k, items = np.asarray(failures, dtype=np.float64), np.asarray(n, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        upper = np.where(k < items, special.betaincinv(k + 1.0, np.maximum(items - k, 0.5), conf_level), 1.0)
        return np.asarray(np.where(items > 0, upper - k / items, np.nan), dtype=np.float64)


@record
class UnseenRunaways:
    """Further runaway answers of the cheaper side: what would undo a result, and what the items cannot exclude.

    `undoing` is the share of items on which its cost would have to run away, besides what was seen, for the result to be gone,
    0 or less where there is none; `possible` the share that these items cannot exclude; `ratio` how many times the median such an
    answer costs, `runaways` how many the side has where the other has none.
    """

    undoing: float
    possible: float
    ratio: float
    runaways: int
    n: int

    @property
    def within(self) -> bool:
        """Whether there is a result that runaways which cannot be excluded would undo."""
        return 0.0 < self.undoing <= self.possible


def unseen_runaways(
    side: ArrayLike, other: ArrayLike, *, lead: float, conf_level: float = 0.95, same_items: bool = True
) -> UnseenRunaways:
    """Compare the runaway answers that would undo the lead of the cheaper side with those that its items cannot exclude.

    For costs, tokens and seconds, which have no worst value: the counterpart of `unseen_failures`. A t interval knows the tail
    that it saw alone; where 1% of the answers cost 12 times as much, 80 items hold none of them in 45% of tables.

    Parameters
    ----------
    side, other
        float64 arrays, shape (n_items,): what either side costs, 0 or more, `side` being the one whose lead is at stake.
    lead
        How far the side's mean may rise before the result is gone, in units of the costs: from the end of the interval that
        lies nearest to no difference, or to the margin.
    same_items
        Whether place k of both sides is the same item; else the sides may differ in length, and all runaways of `side` count.

    Notes
    -----
    A runaway costs the largest seen ratio to the median, of either side, and at least 10 times the side's median. On a further
    share s of the items it moves the side's mean m to m + s(r median - m), so s = lead/(r median - m) takes the lead away. Of k
    answers in n that cost 10 times the median where the other side's do not, U - k/n is what Clopper and Pearson's one-sided
    upper end U adds to those seen: 1 - (1 - conf_level)^(1/n) where k = 0.

    Examples
    --------
    >>> r = unseen_runaways([0.9, 1.0, 1.1, 1.0] * 20, [1.1, 1.2, 1.0, 1.1] * 20, lead=0.05)
    >>> r.ratio, round(r.undoing, 4), round(r.possible, 4), r.within
    (10.0, 0.0056, 0.0368, True)
    """
    mine, theirs = as_values(side, "side"), as_values(other, "other")
    if same_items and mine.shape != theirs.shape:
        raise InputError(f"side has {mine.size} items and other has {theirs.size}; give the same items")
    for values, what in ((mine, "side"), (theirs, "other")):
        check_bounds(values, 0.0, None, what)
    middles = [float(np.median(values)) for values in (mine, theirs)]
    both = list(zip((mine, theirs), middles, strict=True))
    ratio = max([RUNAWAY, *(float(values.max()) / middle for values, middle in both if middle > 0.0)])
    far = [values >= RUNAWAY * middle if middle > 0.0 else values > 0.0 for values, middle in both]
    runaways = int(np.count_nonzero(far[0] & ~far[1] if same_items else far[0]))
    step = ratio * middles[0] - float(mine.mean())
    return UnseenRunaways(
        undoing=lead / step if step > 0.0 else math.inf if lead > 0.0 else 0.0,
        possible=float(possible_failures(runaways, mine.size, conf_level=check_level(conf_level))),
        ratio=ratio,
        runaways=runaways,
        n=mine.size,
    )


@record
class PairFailures:
    """The same for pairs of models, of the better one of each pair; arrays of shape (n_pairs,)."""

    undoing: FloatArray
    possible: FloatArray
    seen: NDArray[np.bool_]

    @property
    def within(self) -> NDArray[np.bool_]:
        """Pairs whose difference would be undone by failures that cannot be excluded."""
        with np.errstate(invalid="ignore"):
            return (self.undoing > 0.0) & (self.undoing <= self.possible)


def pair_failures(
    heights: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    times: IntArray | None = None,
    conf_level: float = 0.95,
) -> PairFailures:
    """Return what unseen failures would do to the lead in every pair of models.

    `heights`, shape (n_items, n_models), say how far each score lies from the worst one; NaN where there is none. A pair of
    columns (`first`, `second`) is looked at on the items that both have. A row may stand for so many `times` of items.

    Examples
    --------
    >>> r = pair_failures([[0.76, 0.75]] * 60 + [[np.nan, 0.1]], [0], [1])
    >>> r.undoing.round(4).tolist(), r.possible.round(4).tolist(), r.seen.tolist(), r.within.tolist()
    ([0.0132], [0.0487], [False], [True])
    """
    height = np.asarray(heights, dtype=np.float64)
    i, j = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    held = (~np.isnan(height)).astype(np.float64)
    failed = held * (height <= 0.0)
    weighed = held if times is None else held * times[:, np.newaxis]
    total = np.where(held > 0.0, height, 0.0).T @ weighed
    either, items = failed.T @ weighed, (held.T @ weighed)[i, j]
    alone = either - failed.T @ (failed * weighed)
    ahead = total[i, j] >= total[j, i]
    best, other = np.maximum(total[i, j], total[j, i]), np.minimum(total[i, j], total[j, i])
    failures = np.where(ahead, alone[i, j], alone[j, i])
    return PairFailures(
        undoing=np.where(best > 0.0, (best - other) / np.where(best > 0.0, best, 1.0), 0.0),
        possible=possible_failures(failures, items, conf_level=check_level(conf_level)),
        seen=(either[i, j] + either[j, i]) > 0.0,
    )
