"""The ratio of two means on the same items, or of a typical item, for cost, latency and tokens.

References: Fieller 1954, JRSS-B 16:175; Franz 2007, arXiv:0710.2024.
"""

import math
from dataclasses import replace
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_codes, as_values, check_level, few_items, too_few_clusters
from evalstats.stats.clusters import intersection, multiway_mean
from evalstats.stats.estimate import IntervalEstimate, t_quantile, two_sided_t_p
from evalstats.stats.one_sample import satterthwaite_df
from evalstats.stats.paired.means import paired_t

Column = tuple[IntArray, int]
_MOST_COLUMNS = 8
_MOST_LEFT_OUT = 0.1
_ROUNDING = 1e-12
_LOPSIDED = 0.2  # flags 80 to 95% of samples at 20 to 50 items where a t interval covers .82 to .91


def as_amounts(baseline: ArrayLike, candidate: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both sides as float64 arrays of shape (n_items,), 0 or more, or raise InputError."""
    a, b = as_values(baseline, "baseline values"), as_values(candidate, "candidate values")
    if a.shape != b.shape:
        raise InputError(f"{a.size} baseline and {b.size} candidate values; give both for the same items")
    for x, name in ((a, "baseline"), (b, "candidate")):
        if float(x.min()) < 0.0:
            raise InputError(f"{name} values reach {float(x.min()):g}; a ratio is of things that are 0 or more")
    return a, b


def as_columns(clusters: ArrayLike | None, n: int) -> tuple[Column, ...]:
    """Return each column of clusters as codes from 0 and their number; none where `clusters` is None."""
    if clusters is None:
        return ()
    return tuple(as_codes(column, n) for column in np.atleast_2d(np.asarray(clusters)))


@record
class VarianceForm:
    """V(r) = bb - 2 r ab + r^2 aa, the variance of the mean of b - r a, and its degrees of freedom."""

    aa: float
    ab: float
    bb: float
    df: float

    def plus(self, other: Self, sign: float) -> "VarianceForm":
        """Return the sum (sign 1) or difference (sign -1) of two forms, with the smaller df."""
        return VarianceForm(
            aa=self.aa + sign * other.aa,
            ab=self.ab + sign * other.ab,
            bb=self.bb + sign * other.bb,
            df=min(self.df, other.df),
        )


def variance_forms(a: FloatArray, b: FloatArray, columns: tuple[Column, ...]) -> tuple[VarianceForm, ...]:
    """Return the variances that are candidates for that of mean(b - r a); the largest counts.

    Independent items (no columns): the sample covariance over n, n - 1 df. One column of clusters: CR2 with
    Satterthwaite df. Several: each column's own, and their inclusion and exclusion, which by chance can be less.
    """
    if len(columns) > _MOST_COLUMNS:
        raise InputError(f"{len(columns)} cluster columns; give at most {_MOST_COLUMNS}")
    if not columns:
        each = (np.arange(a.size), a.size)
        return (_cr2_form(a, b, each),)
    one_way = tuple(_cr2_form(a, b, column) for column in columns)
    total = VarianceForm(aa=0.0, ab=0.0, bb=0.0, df=math.inf)
    for size in range(1, len(columns) + 1):
        for chosen in combinations(columns, size):
            total = total.plus(_cr2_form(a, b, intersection(chosen)), (-1.0) ** (size + 1))
    fewest = min(form.df for form in one_way)
    return tuple(VarianceForm(aa=form.aa, ab=form.ab, bb=form.bb, df=fewest) for form in (*one_way, total))


def _cr2_form(a: FloatArray, b: FloatArray, column: Column) -> VarianceForm:
    """Return CR2's variance; where every item is its own cluster that is s^2/n with n - 1 df."""
    codes, count = column
    share = np.bincount(codes, minlength=count) / a.size
    of_a = np.bincount(codes, weights=a - a.mean(), minlength=count)
    of_b = np.bincount(codes, weights=b - b.mean(), minlength=count)
    weight = 1.0 / (1.0 - share) / a.size**2
    return VarianceForm(
        aa=float((weight * of_a * of_a).sum()),
        ab=float((weight * of_a * of_b).sum()),
        bb=float((weight * of_b * of_b).sum()),
        df=satterthwaite_df(share),
    )


def geometric_ratio(
    baseline: ArrayLike, candidate: ArrayLike, *, clusters: ArrayLike | None = None, conf_level: float = 0.95
) -> IntervalEstimate:
    """Typical ratio of an item: the geometric mean of candidate/baseline, with a t interval on the logs.

    What happens to one item, each counting alike; it says nothing about the total (see `ratio_of_means`, whose arguments
    it takes). The null value is 1. Swapping the systems inverts the estimate and its ends. An item with a 0 on either
    side has no logarithm: up to a tenth of the items are left out with a warning, more leave no interval, all raise
    CannotAnswerError. `std_error` and `statistic` belong to the logarithm; `p_value` is of the hypothesis that the mean
    log ratio is 0.
    """
    a, b = as_amounts(baseline, candidate)
    level = check_level(conf_level)
    columns = as_columns(clusters, a.size)
    usable = (a > 0.0) & (b > 0.0)
    left_out = a.size - int(usable.sum())
    if left_out == a.size:
        raise CannotAnswerError(f"all {a.size} items have a 0 on one side or both, so no item has a ratio to average")
    logs = np.log(b[usable]) - np.log(a[usable])
    groups = [codes[usable] for codes, _ in columns]
    found = multiway_mean(logs, groups, conf_level=level).estimate if groups else paired_t(logs, conf_level=level)
    method = "geometric mean of the items' ratios, " + ("CR2 on the logs" if columns else "t on the logs")
    if found.conf_low is None or found.conf_high is None:
        return replace(found, estimate=math.exp(found.estimate), method=method, std_error=None)
    if left_out > _MOST_LEFT_OUT * a.size:
        reason = (
            f"{left_out} of {a.size} items have a 0 on one side or both, too many to leave out; use the ratio of means"
        )
        return IntervalEstimate(
            estimate=math.exp(found.estimate), method=method, conf_level=level, n=logs.size, reason=reason
        )
    words = (
        (f"{left_out} of {a.size} items have a 0 on one side or both and are left out: they have no ratio to average",)
        if left_out
        else ()
    )
    return replace(
        found,
        estimate=math.exp(found.estimate),
        method=method,
        conf_low=math.exp(found.conf_low),
        conf_high=math.exp(found.conf_high),
        warnings=(*found.warnings, *words),
    )


@record
class _RatioUnits:
    """Both sides, checked; the ratio; and how sure one can be of it.

    `forms` are the variances of mean(b - R a - u a) as quadratics in u, the distance from the ratio R: written so, no
    digits are lost where the ratios of all items are nearly equal.
    """

    baseline: FloatArray
    candidate: FloatArray
    columns: tuple[Column, ...]
    level: float
    ratio: float
    forms: tuple[VarianceForm, ...]

    @property
    def variance(self) -> float:
        """Variance of mean(b - R a)."""
        return max(form.bb for form in self.forms)

    @property
    def df(self) -> float:
        return self.forms[0].df  # all have the same

    @property
    def n_clusters(self) -> int | None:
        return min((count for _, count in self.columns), default=None)


def ratio_of_means(
    baseline: ArrayLike, candidate: ArrayLike, *, clusters: ArrayLike | None = None, conf_level: float = 0.95
) -> IntervalEstimate:
    """Ratio mean(candidate)/mean(baseline) on the same items, with Fieller's interval and the test it inverts.

    What the whole suite costs with one system as a multiple of the other: the ratio for a budget. A few long items can
    carry much of it; `geometric_ratio` is the ratio of a typical item. The null value is 1.

    `baseline`, `candidate`: float64 arrays, shape (n_items,): cost, seconds or tokens of the same items in the same order
    (trials averaged first), both in one unit; 0 or more. `clusters`: Integer codes, shape (n_items,), or shape (n_columns,
    n_items) for several ways of clustering. Fewer than 5 clusters give no interval and no p.

    `estimate` and the ends are ratios; `p_value` is of the hypothesis "the means are equal" (ratio 1) and lies below 1 -
    conf_level exactly when the interval excludes 1. There is no interval, and a reason, where Fieller's set is not one bounded
    interval because the baseline's mean cannot be told from 0.

    InputError: negative values, NaN, arrays that do not match. CannotAnswerError: a baseline that is 0 on every item.

    Notes
    -----
    The interval holds every r with |mean(b - r a)| <= t se(b - r a): the paired t test of b against r a, or CR2 with
    Satterthwaite df where there are clusters, solved as a quadratic in r. It need not be symmetric about the estimate.
    With several cluster columns every one-way variance and their inclusion and exclusion is tried, and the outermost
    ends count.

    Simulated coverage at 95%, lognormal on both sides. The same sd of the logs, .5 to 1.5, correlation 0 to .9: .95 to
    .98 at 20 and 50 items, .95 to .96 at 200; where that sd is 1.5, 16 to 19% of samples of 20 items give no interval.
    A longer tail on one side (sd 1 against .5, 1.2 against .3): .86 and .82 at 20 items, .91 and .88 at 50, .94 and .93
    at 200, as with any t interval; a warning is given where the sample shows it. 7 to 40 unequal clusters: .95 to .97.

    Examples
    --------
    >>> r = ratio_of_means([1.0, 2.0, 4.0, 3.0, 2.0, 5.0], [1.5, 2.5, 6.0, 4.0, 3.5, 7.0])
    >>> round(r.estimate, 3), round(r.conf_low, 3), round(r.conf_high, 3)
    (1.441, 1.291, 1.632)
    """
    units = _units(baseline, candidate, clusters, conf_level)
    n_columns, few = len(units.columns), () if units.columns else few_items(units.baseline.size)
    by = "" if not n_columns else ", CR2" if n_columns == 1 else f", CR2 on {n_columns} cluster columns"
    bare = IntervalEstimate(
        estimate=units.ratio,
        method=f"ratio of means, Fieller{by}",
        conf_level=units.level,
        n=units.baseline.size,
        n_clusters=units.n_clusters,
        reason=_no_spread(units),
        warnings=(*few, *_lopsided(units)),
    )
    if bare.reason is not None:
        return bare
    pieces = [_fieller(units, form) for form in units.forms]
    if None in pieces:
        sure = f"{100 * units.level:g}%"
        return replace(bare, reason=f"the baseline's mean cannot be told from 0 at {sure}, so nothing bounds the ratio")
    ends = [end for piece in pieces if piece is not None for end in piece]
    # The test is that the means are equal; without a statistic all differences are equal and have no spread.
    d = units.candidate - units.baseline
    variance = max(form.bb for form in variance_forms(units.baseline, d, units.columns))
    rounding = _ROUNDING * max(float(units.candidate.max()), float(units.baseline.max()))
    statistic = float(d.mean()) / math.sqrt(variance) if variance > rounding**2 else None
    return replace(
        bare,
        std_error=math.sqrt(units.variance) / float(units.baseline.mean()),
        conf_low=max(0.0, units.ratio + min(ends)),
        conf_high=units.ratio + max(ends),
        statistic=statistic,
        df=units.df,
        p_value=None if statistic is None else two_sided_t_p(statistic, units.df),
    )


def _units(baseline: ArrayLike, candidate: ArrayLike, clusters: ArrayLike | None, conf_level: float) -> _RatioUnits:
    a, b = as_amounts(baseline, candidate)
    level = check_level(conf_level)
    columns = as_columns(clusters, a.size)
    if not a.any():
        raise CannotAnswerError(f"the baseline is 0 on all {a.size} items, so nothing is a multiple of it")
    ratio = float(b.sum()) / float(a.sum())
    enough = a.size > 1 and all(count > 1 for _, count in columns)
    forms = variance_forms(a, b - ratio * a, columns) if enough else ()
    return _RatioUnits(baseline=a, candidate=b, columns=columns, level=level, ratio=ratio, forms=forms)


def _no_spread(units: _RatioUnits) -> str | None:
    """Return why the data cannot say how far off the ratio is, or None."""
    few = None if units.n_clusters is None else too_few_clusters(units.n_clusters)
    if few is not None:
        return few
    if units.baseline.size < 2:
        return "one item has no spread"
    if not units.candidate.any():
        return "the candidate is 0 on every item"
    if units.variance > _rounding(units) ** 2:
        return None
    unit = "cluster" if units.columns else "item"
    return f"the ratio is the same in every {unit}, so its spread is unknown"


def _rounding(units: _RatioUnits) -> float:
    return _ROUNDING * max(float(units.candidate.max()), units.ratio * float(units.baseline.max()))


def _fieller(units: _RatioUnits, form: VarianceForm) -> tuple[float, float] | None:
    """Return the ends of {u: (u mean(a))^2 <= t^2 V(u)} about 0, or None where nothing bounds it."""
    mean = float(units.baseline.mean())
    square = t_quantile(units.level, units.df) ** 2
    lead = mean * mean - square * form.aa
    if lead <= _ROUNDING * mean * mean:
        return None
    # Inclusion and exclusion can give a variance below 0; the other variances then bound the ratio.
    root = math.sqrt(max((square * form.ab) ** 2 + lead * square * form.bb, 0.0))
    return (-square * form.ab - root) / lead, (-square * form.ab + root) / lead


def _lopsided(units: _RatioUnits) -> tuple[str, ...]:
    """Warn where the mean of b - R a is far from normal: skewness / sqrt(units) is what its skewness would be."""
    residuals = units.candidate - units.ratio * units.baseline
    if units.columns:
        codes = min(units.columns, key=lambda column: column[1])[0]
        residuals = np.bincount(codes, weights=residuals)
    spread = math.sqrt(float(np.square(residuals).mean()))
    if spread <= _rounding(units):
        return ()
    skewness = float(((residuals / spread) ** 3).mean())
    if abs(skewness) <= _LOPSIDED * math.sqrt(residuals.size):
        return ()
    side, unit = ("candidate", "baseline")[skewness < 0.0], "clusters" if units.columns else "items"
    return (f"a few {unit} of large {side} values carry much of the ratio: the interval may be too short",)
