"""Means of clustered items: CR2 with Satterthwaite df, several cluster columns, and the checks printed beside them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import (
    FEW_CLUSTERS,
    FloatArray,
    IntArray,
    as_codes,
    as_values,
    check_bounds,
    check_level,
    is_constant,
    too_few_clusters,
)
from evalstats.stats.cr2 import cr2_of_mean
from evalstats.stats.estimate import Estimate
from evalstats.stats.sign_flip import SignFlip, sign_flip
from evalstats.stats.tails import t_quantile, two_sided_t_p
from evalstats.stats.wild_cluster import wild_cluster_p

__all__ = [
    "ClusterMean",
    "cluster_mean",
    "cluster_sign_flip",
    "cluster_weighted_mean",
    "multiway_mean",
    "wild_cluster_p",
]

_FEW_DF = 4.0
_MOST_COLUMNS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMean:
    """The mean of clustered items and what the clusters do to it.

    Attributes
    ----------
    estimate
        The mean with its interval, clipped to the bounds that were given.
    design_effect
        CR2 variance over the variance if items were independent (s^2/n); None where either is 0 or unknown.
    effective_clusters
        1 + df: how many equal clusters the data are worth.
    n_clusters
        Number of clusters; with several cluster columns, of the column that has the fewest.
    conf_low_unclipped, conf_high_unclipped
        Ends before clipping.
    """

    estimate: Estimate
    design_effect: float | None
    effective_clusters: float | None
    n_clusters: int
    conf_low_unclipped: float | None = None
    conf_high_unclipped: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variance:
    """Variance of a mean, its df, and which method gave them."""

    method: str
    variance: float
    df: float
    n_clusters: int


def cluster_mean(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    conf_level: float = 0.95,
    low: float | None = None,
    high: float | None = None,
) -> ClusterMean:
    """Mean of items that come in clusters, with CR2 variance and Satterthwaite t.

    The default for paired differences when groups of items (passages, templates, users) are a sample from many.
    Groups that are fixed, such as the scenario types of a benchmark, are strata: see `stratified_mean`.

    Parameters
    ----------
    values
        float64 array, shape (n_items,): item differences or scores, in the score's own unit.
    clusters
        Integer codes, shape (n_items,). Fewer than 5 clusters give no interval and no p.
    low, high
        Bounds of the mean, for example -1 and 1 for a difference of proportions; the interval is clipped to them.

    Notes
    -----
    With f_g = n_g/n and R_g the sum of residuals of cluster g, V = sum R_g^2/(1 - f_g)/n^2. CR1 with G - 1 df rejects
    .08 to .13 of true hypotheses at 5 to 7 unequal clusters; this rejects .02 to .06, and .07 where one cluster in four
    is seven times the size of the others and dependence is strong, since its df suppose independent items. `p_value` is
    of the hypothesis 0, so ignore it for single scores.

    References
    ----------
    Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004.

    Examples
    --------
    >>> d = np.repeat([1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], [8, 6, 8, 6, 2, 6, 7])
    >>> r = cluster_mean(d, np.repeat(np.arange(7), [8, 6, 8, 6, 2, 6, 7]), low=-1, high=1)
    >>> round(r.estimate.std_error, 5), round(r.estimate.df, 3), round(r.design_effect, 2), r.estimate.conf_high
    (0.21637, 5.404, 7.87, 1.0)
    """
    x = as_values(values)
    check_bounds(x, low, high)
    codes, n_clusters = as_codes(clusters, x.size)
    return _result(x, _one_way(x, codes, n_clusters), check_level(conf_level), low, high)


def multiway_mean(
    values: ArrayLike,
    clusters: Sequence[ArrayLike],
    *,
    conf_level: float = 0.95,
    low: float | None = None,
    high: float | None = None,
) -> ClusterMean:
    """Mean of items that are clustered in two or more ways at once (passage and user, prompt and rater).

    Parameters
    ----------
    clusters
        One array of integer codes per way of clustering, each of shape (n_items,). A column whose levels each lie
        inside one level of another column adds nothing and is left out.

    Notes
    -----
    Inclusion and exclusion over the columns and their intersections, each piece a CR2 variance; never less than the
    largest one-way variance, since the sum can be negative by chance. The df are the smallest of the
    one-way Satterthwaite df.

    References
    ----------
    Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136.

    Examples
    --------
    >>> d = np.array([0.1, 0.3, -0.2, 0.4, 0.2, 0.5, 0.0, 0.1, 0.3, 0.2])
    >>> passage, user = np.arange(10) // 2, np.arange(10) % 5
    >>> multiway_mean(d, [passage, user]).estimate.method
    'CR2 on 2 cluster columns, Satterthwaite df'
    """
    x = as_values(values)
    check_bounds(x, low, high)
    level = check_level(conf_level)
    if not 1 <= len(clusters) <= _MOST_COLUMNS:
        raise InputError(f"{len(clusters)} cluster columns; give 1 to {_MOST_COLUMNS}")
    columns = _coarsest([as_codes(column, x.size) for column in clusters])
    one_way = [_one_way(x, codes, n_clusters) for codes, n_clusters in columns]
    if len(columns) == 1:
        return _result(x, one_way[0], level, low, high)
    fewest = min(piece.n_clusters for piece in one_way)
    if fewest < FEW_CLUSTERS:
        return _result(x, min(one_way, key=lambda piece: piece.n_clusters), level, low, high)
    combined = _Variance(
        method=f"CR2 on {len(columns)} cluster columns, Satterthwaite df",
        variance=max(_inclusion_exclusion(x, columns), *(piece.variance for piece in one_way)),
        df=min(piece.df for piece in one_way),
        n_clusters=fewest,
    )
    return _result(x, combined, level, low, high)


def cluster_weighted_mean(values: ArrayLike, clusters: ArrayLike, *, conf_level: float = 0.95) -> Estimate:
    """Mean in which each cluster counts once, with Student's t on the cluster means.

    Another estimand than `cluster_mean`: the average scenario rather than the average item.

    Examples
    --------
    >>> r = cluster_weighted_mean([1, 1, 1, 0, 1, 0, 0], [0, 0, 0, 1, 2, 3, 4])
    >>> r.estimate, r.df
    (0.4, 4.0)
    """
    x = as_values(values)
    level = check_level(conf_level)
    codes, n_clusters = as_codes(clusters, x.size)
    means = np.bincount(codes, weights=x) / np.bincount(codes)
    estimate, method = float(means.mean()), "cluster-weighted mean, t"
    reason = too_few_clusters(n_clusters)
    if reason is None and is_constant(means):
        reason = f"all {n_clusters} cluster means are equal, so their spread is unknown"
    if reason is not None:
        return Estimate(
            estimate=estimate, method=method, conf_level=level, n=x.size, n_clusters=n_clusters, reason=reason
        )
    std_error = float(means.std(ddof=1)) / math.sqrt(n_clusters)
    df = float(n_clusters - 1)
    reach = t_quantile(level, df) * std_error
    return Estimate(
        estimate=estimate,
        method=method,
        conf_level=level,
        n=x.size,
        std_error=std_error,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        statistic=estimate / std_error,
        df=df,
        p_value=two_sided_t_p(estimate / std_error, df),
        n_clusters=n_clusters,
    )


def cluster_sign_flip(values: ArrayLike, clusters: ArrayLike, *, seed: int = 0, n_resamples: int = 9999) -> SignFlip:
    """Sign-flip test on the sums of clusters: the check beside `cluster_mean`.

    With few clusters it cannot reach small p-values; `smallest_p` = 2^(1 - nonzero clusters) says how small.

    Examples
    --------
    >>> r = cluster_sign_flip([1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 3, 4])
    >>> r.p_value, r.smallest_p, r.n_nonzero
    (0.5, 0.5, 2)
    """
    x = as_values(values)
    codes, n_clusters = as_codes(clusters, x.size)
    sums = np.bincount(codes, weights=x, minlength=n_clusters)
    rounding = 1e-12 * float(np.abs(x).max()) * float(np.bincount(codes).max())
    return sign_flip(np.where(np.abs(sums) > rounding, sums, 0.0), seed=seed, n_resamples=n_resamples)


def _one_way(x: FloatArray, codes: IntArray, n_clusters: int) -> _Variance:
    method = "CR2, Satterthwaite df"
    if n_clusters < 2:
        return _Variance(method=method, variance=math.nan, df=math.nan, n_clusters=n_clusters)
    cr2 = cr2_of_mean(x, codes, n_clusters)
    return _Variance(method=method, variance=cr2.variance, df=cr2.df, n_clusters=n_clusters)


def _coarsest(columns: list[tuple[IntArray, int]]) -> list[tuple[IntArray, int]]:
    """Leave out columns nested in another one; of equal columns keep the first."""
    kept: list[tuple[IntArray, int]] = []
    for column in sorted(columns, key=lambda column: column[1]):
        if not any(_is_nested(column, coarse) for coarse in kept):
            kept.append(column)
    return kept


def _is_nested(fine: tuple[IntArray, int], coarse: tuple[IntArray, int]) -> bool:
    return _intersection([fine, coarse])[1] == fine[1]


def _intersection(columns: Sequence[tuple[IntArray, int]]) -> tuple[IntArray, int]:
    codes, count = columns[0]
    for other, n_other in columns[1:]:
        levels, codes = np.unique(codes * n_other + other, return_inverse=True)
        codes, count = codes.astype(np.int64), int(levels.size)
    return codes, count


def _inclusion_exclusion(x: FloatArray, columns: list[tuple[IntArray, int]]) -> float:
    total = 0.0
    for size in range(1, len(columns) + 1):
        for chosen in combinations(columns, size):
            codes, n_clusters = _intersection(chosen)
            total += (-1.0) ** (size + 1) * cr2_of_mean(x, codes, n_clusters).variance
    return total


def _result(x: FloatArray, v: _Variance, level: float, low: float | None, high: float | None) -> ClusterMean:
    n, mean = x.size, float(x.mean())
    std_error = math.sqrt(v.variance) if v.variance > 0.0 else None
    independent = float(x.var(ddof=1)) / n if n > 1 and not is_constant(x) else 0.0
    design_effect = v.variance / independent if std_error is not None and independent > 0.0 else None
    effective = 1.0 + v.df if math.isfinite(v.df) else None
    reason = too_few_clusters(v.n_clusters)
    if reason is None and std_error is None:
        reason = f"the means of all {v.n_clusters} clusters are equal, so their spread is unknown"
    if reason is not None or std_error is None:
        bare = Estimate(
            estimate=mean,
            method=v.method,
            conf_level=level,
            n=n,
            std_error=std_error,
            n_clusters=v.n_clusters,
            reason=reason,
        )
        return ClusterMean(
            estimate=bare, design_effect=design_effect, effective_clusters=effective, n_clusters=v.n_clusters
        )
    reach = t_quantile(level, v.df) * std_error
    start, end = mean - reach, mean + reach
    estimate = Estimate(
        estimate=mean,
        method=v.method,
        conf_level=level,
        n=n,
        std_error=std_error,
        conf_low=start if low is None else max(float(low), start),
        conf_high=end if high is None else min(float(high), end),
        statistic=mean / std_error,
        df=v.df,
        p_value=two_sided_t_p(mean / std_error, v.df),
        n_clusters=v.n_clusters,
        warnings=_few_effective(v.df),
    )
    return ClusterMean(
        estimate=estimate,
        design_effect=design_effect,
        effective_clusters=effective,
        n_clusters=v.n_clusters,
        conf_low_unclipped=start,
        conf_high_unclipped=end,
    )


def _few_effective(df: float) -> tuple[str, ...]:
    # Five equal clusters have 4 df up to rounding.
    if df >= _FEW_DF - 1e-9:
        return ()
    return (f"the clusters are so unequal that they are worth {1.0 + df:.1f}: too few for a verdict",)
