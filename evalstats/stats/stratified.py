"""Weighted means over strata that are fixed, such as the subjects of a benchmark: micro, macro, or any shares.

References: Cochran 1977, Sampling Techniques, sections 5.4 and 5A.12; Satterthwaite 1946, doi:10.2307/3002019; Bell &
McCaffrey 2002 (CR2).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import (
    FloatArray,
    IntArray,
    as_codes,
    as_values,
    check_bound,
    check_bounds,
    check_level,
    few_items,
    too_few_clusters,
)
from evalstats.stats.clusters import intersection
from evalstats.stats.estimate import IntervalEstimate, t_estimate, t_quantile, two_sided_t_p
from evalstats.stats.one_sample import wilson_ends
from evalstats.stats.paired.means import pseudo_size

# A spread far below that of right-or-wrong items may be chance: items never count for more than this many.
_WIDEST_GAIN = 50.0


@record
class Strata:
    """The stratum of every item, and the share of each stratum in the mean, above 0 and summing to 1."""

    codes: IntArray
    shares: FloatArray

    @property
    def counts(self) -> IntArray:
        """Items of each stratum."""
        return np.bincount(self.codes, minlength=len(self.shares)).astype(np.int64)

    @property
    def item_weights(self) -> FloatArray:
        """Weight of every item: its stratum's share over its stratum's items."""
        return np.asarray((self.shares / self.counts)[self.codes], dtype=np.float64)

    @property
    def n_alone(self) -> int:
        """Strata of a single item."""
        return int((self.counts == 1).sum())


def strata_of(codes: ArrayLike, n: int, weights: ArrayLike | None = None) -> Strata:
    """Check codes and weights; left out, each stratum weighs as many items as it has."""
    compact, n_strata = as_codes(codes, n, "strata")
    if weights is None:
        return Strata(codes=compact, shares=np.bincount(compact, minlength=n_strata) / n)
    w = as_values(weights, "weights")
    if w.size != n_strata:
        raise InputError(f"{w.size} weights for {n_strata} strata; give one weight per stratum, in order of its code")
    if w.min() <= 0.0:
        raise InputError("weights must be above 0; leave out the items of a stratum that shall not count")
    return Strata(codes=compact, shares=w / w.sum())


def linearised(values: FloatArray, strata: Strata) -> FloatArray:
    """Return values whose plain mean and standard error are the weighted mean and its stratified standard error.

    For procedures that know plain means only, such as comparisons of many models: covariances between columns are stratified
    as well. NaN is not allowed. Strata of one item are taken about the mean of all.

    Examples
    --------
    >>> z = linearised(np.array([1.0, 1, 0, 1, 0, 0]), strata_of([0, 0, 0, 1, 1, 1], 6, [1, 3]))
    >>> round(float(z.mean()), 4), round(float(z.std(ddof=1) / math.sqrt(6)), 4)
    (0.4167, 0.2635)
    """
    n, a = len(values), strata.item_weights
    table = values.reshape(n, -1)
    theta = a @ table
    rest = table - _stratum_means(table, strata)[strata.codes]
    count = strata.counts
    own = np.sqrt(count / np.maximum(count - 1, 1))[strata.codes]
    alone = (count == 1)[strata.codes]
    rest[alone] = table[alone] - theta
    scaled = (n * a * own * math.sqrt((n - 1) / n))[:, np.newaxis] * rest
    return (theta + scaled - scaled.mean(axis=0)).reshape(values.shape)


def stratified_mean(
    values: ArrayLike,
    strata: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: Sequence[ArrayLike] = (),
    conf_level: float = 0.95,
) -> IntervalEstimate:
    """Weighted mean of items in fixed strata with a t interval, from the variance within strata only.

    For statements about new items from these same strata, and for scores without bounds. Groups that are themselves a sample
    are clusters: see `evalstats.stats.clusters.cluster_mean`. Near the bounds of a score, see `stratified_wilson` and
    `stratified_augmented_t`.

    Parameters
    ----------
    values
        float64 array, shape (n_items,): scores or differences.
    strata
        Integer codes, shape (n_items,).
    weights
        Target weight of each stratum, above 0, in the order of the sorted codes; they are divided by their sum. Left out,
        each stratum weighs as many items as it has.
    clusters
        Columns of integer codes by which items are dependent, within strata or across them.

    Notes
    -----
    SE^2 = sum w_s^2 s_s^2/n_s with Satterthwaite df (sum v_s)^2 / sum(v_s^2/(n_s - 1)). A stratum of one item has no variance
    of its own and takes that of all items about the mean of all, which is too large rather than too small; a warning says so.

    With clusters the variance is CR2's of the weighted mean: u_g = sum_s (w_s/n_s) R_gs / sqrt(1 - n_gs/n_s), with R_gs
    the sum of residuals from the stratum's mean, V = sum_g u_g^2, and Satterthwaite df under independent items.

    Examples
    --------
    >>> r = stratified_mean([1, 1, 0, 1, 0, 0], [0, 0, 0, 1, 1, 1], weights=[1, 3])
    >>> round(r.estimate, 4), round(r.std_error, 4), round(r.df, 3)
    (0.4167, 0.2635, 2.439)
    """
    x = as_values(values)
    level = check_level(conf_level)
    of = strata_of(strata, x.size, weights)
    found = _spread(x, of, clusters)
    bare = _bare(x, of, found, level)
    if bare.reason is not None:
        return bare
    return t_estimate(
        found.mean,
        math.sqrt(found.variance),
        found.df,
        level,
        method=bare.method,
        n=bare.n,
        n_clusters=bare.n_clusters,
        warnings=bare.warnings,
    )


def stratified_augmented_t(
    differences: ArrayLike,
    strata: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    bound: float = 1.0,
    conf_level: float = 0.95,
) -> IntervalEstimate:
    """Weighted mean of bounded item differences over fixed strata, with two pseudo-items at +c and -c.

    With one stratum it is `evalstats.stats.paired.means.augmented_t`, whose `bound` it takes. Where few items
    differ, the spread within strata is hardly known; the pseudo-items keep coverage.

    Notes
    -----
    With d on [-1, 1], V the stratified variance of the mean and n_0 = 1/sum(a_i^2) the items that the weights a_i are worth:
    m' = n_0 m/(n_0 + 2) and V' = [n_0 (n_0 - 1) V + 2 c^2 + 2 n_0 m^2/(n_0 + 2)] / ((n_0 + 2)(n_0 + 1)), with the df of V and 2
    more. `std_error` is that of m', as in `augmented_t`.

    Examples
    --------
    >>> d = [0.0] * 30 + [1.0] * 8 + [-1.0] * 2
    >>> r = stratified_augmented_t(d, [0] * 20 + [1] * 20)
    >>> round(r.estimate, 4), round(r.conf_low, 4), round(r.conf_high, 4)
    (0.15, -0.0192, 0.3049)
    """
    check_bound(bound)
    raw = as_values(differences, "differences")
    check_bounds(raw, -bound, bound, "differences")
    level = check_level(conf_level)
    of = strata_of(strata, raw.size, weights)
    d = raw / bound
    found = _spread(d, of, ())
    n0 = 1.0 / float(np.square(of.item_weights).sum())
    centre = n0 * found.mean / (n0 + 2.0)
    total = n0 * (n0 - 1.0) * found.variance + 2.0 * pseudo_size(d) ** 2 + 2.0 * n0 * found.mean**2 / (n0 + 2.0)
    std_error = math.sqrt(total / ((n0 + 2.0) * (n0 + 1.0)))
    df = found.df + 2.0
    reach = t_quantile(level, df) * std_error
    return replace(
        _bare(d, of, found, level),
        reason=None,
        estimate=bound * found.mean,
        method="augmented t, stratified mean",
        std_error=bound * std_error,
        conf_low=bound * max(-1.0, centre - reach),
        conf_high=bound * min(1.0, centre + reach),
        statistic=centre / std_error,
        df=df,
        p_value=two_sided_t_p(centre / std_error, df),
    )


def stratified_wilson(
    values: ArrayLike,
    strata: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: Sequence[ArrayLike] = (),
    low: float = 0.0,
    high: float = 1.0,
    conf_level: float = 0.95,
) -> IntervalEstimate:
    """Weighted mean of bounded item scores over fixed strata, with a Wilson interval at the size their variance is worth.

    `one_sample.variance_matched_wilson` with the stratified variance: n_hat = p(1 - p)/V, steadied near a bound by
    a pseudo-unit of the worst kind, and a t quantile with Satterthwaite df. `low` and `high` are the ends of the scale.

    Examples
    --------
    >>> r = stratified_wilson([1, 1, 0, 1, 1, 1, 1, 1, 0, 1], [0] * 5 + [1] * 5)
    >>> round(r.estimate, 4), round(r.conf_low, 4), round(r.conf_high, 4)
    (0.8, 0.4106, 0.9583)
    """
    x = as_values(values)
    check_bounds(x, low, high)
    level = check_level(conf_level)
    of = strata_of(strata, x.size, weights)
    unit = np.clip((x - low) / (high - low), 0.0, 1.0)
    found = _spread(unit, of, clusters)
    bare = _bare(unit, of, found, level)
    span = high - low
    if bare.n_clusters is not None and bare.reason is not None and too_few_clusters(bare.n_clusters):
        return replace(bare, estimate=low + span * found.mean)
    size = _worth(unit, of, found)
    ends = wilson_ends(min(1.0, max(0.0, found.mean)), size, t_quantile(level, found.df))
    return replace(
        bare,
        reason=None,
        estimate=low + span * found.mean,
        method="variance-matched Wilson, stratified mean",
        std_error=span * math.sqrt(found.variance) if found.variance > 0.0 else None,
        conf_low=low + span * ends[0],
        conf_high=low + span * ends[1],
        df=found.df,
    )


@record
class _Spread:
    """Weighted mean, its variance (0 where nothing varies within strata), df, and the clusters of the coarsest column."""

    mean: float
    variance: float
    df: float
    n_clusters: int | None = None


def _spread(x: FloatArray, of: Strata, clusters: Sequence[ArrayLike]) -> _Spread:
    columns = [as_codes(column, x.size) for column in clusters]
    if not columns:
        return _of_items(x, of)
    pieces = [_of_clusters(x, of, codes, n) for codes, n in columns]
    fewest = min(n for _, n in columns)
    total = sum(
        (-1.0) ** (size + 1) * _of_clusters(x, of, *intersection(chosen)).variance
        for size in range(2, len(columns) + 1)
        for chosen in combinations(columns, size)
    )
    most = max(piece.variance for piece in pieces)
    variance = max(most, total + sum(piece.variance for piece in pieces)) if len(pieces) > 1 else most
    return _Spread(mean=pieces[0].mean, variance=variance, df=min(piece.df for piece in pieces), n_clusters=fewest)


def _of_items(x: FloatArray, of: Strata) -> _Spread:
    count, shares, a = of.counts, of.shares, of.item_weights
    mean = float(a @ x)
    squares = np.bincount(of.codes, weights=np.square(x - _stratum_means(x, of)[of.codes]), minlength=len(shares))
    rounding = 1e-24 * float(np.square(x).max()) * count
    parts = shares**2 * np.where(squares > rounding, squares, 0.0) / np.maximum(count - 1, 1) / count
    free = np.maximum(count - 1, 1).astype(np.float64)
    kish = float(np.square(a).sum())
    if of.n_alone and kish < 1.0:
        # Collapsed: about the mean of all items, so that differences between strata are in it.
        around = np.square(x - mean)
        overall = float(a @ around) / (1.0 - kish)
        parts = np.append(parts, overall * float(np.square(shares[count == 1]).sum()))
        free = np.append(free, x.size - 1.0)
    total = float(parts.sum())
    if total > 0.0:
        return _Spread(mean=mean, variance=total, df=total**2 / float((parts**2 / free).sum()))
    return _Spread(mean=mean, variance=0.0, df=max(1.0, float(x.size - len(shares))))


def _of_clusters(x: FloatArray, of: Strata, codes: IntArray, n_clusters: int) -> _Spread:
    """CR2 of a weighted mean over strata; a cluster that is a whole stratum is taken about the mean of all."""
    count, shares, a = of.counts, of.shares, of.item_weights
    n_strata, mean = len(shares), float(a @ x)
    # Cells of cluster x stratum that hold items; each stratum's cells lie in few clusters.
    cells, inside = np.unique(codes * n_strata + of.codes, return_inverse=True)
    cluster, stratum = cells // n_strata, cells % n_strata
    size = np.bincount(inside).astype(np.float64)
    own = np.bincount(inside, weights=x - _stratum_means(x, of)[of.codes])
    whole = size == count[stratum]
    sums = np.where(whole, np.bincount(inside, weights=x - mean), own)
    adjust = 1.0 / np.sqrt(1.0 - np.where(whole, 0.0, size / count[stratum]))
    per_item = shares[stratum] / count[stratum]
    u = np.bincount(cluster, weights=per_item * adjust * sums, minlength=n_clusters)
    rounding = 16.0 * np.finfo(np.float64).eps * float(np.abs(x).max())
    variance = float(np.square(u).sum())
    return _Spread(
        mean=mean,
        variance=variance if variance > rounding**2 else 0.0,
        df=_cluster_df(
            (cluster, stratum), size, per_item * adjust, np.where(whole, np.inf, count[stratum]), n_clusters
        ),
        n_clusters=n_clusters,
    )


def _cluster_df(
    place: tuple[IntArray, IntArray], size: FloatArray, weight: FloatArray, in_stratum: FloatArray, n_clusters: int
) -> float:
    """Satterthwaite's df under independent items: with Omega = diag(D) - QQ', tr(Omega)^2 / tr(Omega^2).

    `place` holds cluster and stratum of each cell, `size` its items, `weight` what an item counts; `in_stratum` the items of
    its stratum, infinite where the cell is all of it and its residuals are taken about another mean.
    """
    cluster, stratum = place
    diagonal = np.bincount(cluster, weights=size * weight**2, minlength=n_clusters)
    q = size * weight / np.sqrt(in_stratum)
    of_cluster = np.bincount(cluster, weights=q**2, minlength=n_clusters)
    trace = float(diagonal.sum() - of_cluster.sum())
    dense = np.zeros((n_clusters, int(stratum.max()) + 1))
    dense[cluster, stratum] = q
    # ||QQ'|| = ||Q'Q||: the smaller of the two.
    gram = dense.T @ dense if dense.shape[1] <= n_clusters else dense @ dense.T
    squares = float(np.square(diagonal).sum()) - 2.0 * float(diagonal @ of_cluster) + float(np.square(gram).sum())
    return trace**2 / squares if squares > 0.0 else 1.0


def _worth(unit: FloatArray, of: Strata, found: _Spread) -> float:
    """Return how many right-or-wrong items the mean is worth, steadied where few items fall short of the nearer bound."""
    a, p = of.item_weights, found.mean
    kish = 1.0 / float(np.square(a).sum())
    plain = kish if found.n_clusters is None else min(kish, float(found.n_clusters))
    missed = 1.0 - unit if p > 0.5 else unit
    if not missed.any():
        return plain
    n_hat = _WIDEST_GAIN * kish if found.variance == 0.0 else min(p * (1.0 - p) / found.variance, _WIDEST_GAIN * kish)
    # Misses among light items say little of the heavy ones: they count by their weight against the heaviest.
    k = float(a @ missed) ** 2 / float(a.max() * (a @ np.square(missed)))
    pseudo = max(0.0, 1.0 - k / kish)
    return (k + pseudo) / (k / n_hat + pseudo / plain)


def _stratum_means(x: FloatArray, of: Strata) -> FloatArray:
    if x.ndim == 1:
        return np.bincount(of.codes, weights=x, minlength=len(of.shares)) / of.counts
    sums = [np.bincount(of.codes, weights=column, minlength=len(of.shares)) for column in x.T]
    return np.stack(sums, axis=1) / of.counts[:, np.newaxis]


def _bare(x: FloatArray, of: Strata, found: _Spread, level: float) -> IntervalEstimate:
    """Return the estimate without its interval, and the reason where there can be none."""
    reason = None
    if found.n_clusters is not None:
        reason = too_few_clusters(found.n_clusters)
    elif x.size == 1:
        reason = "one item has no spread"
    if reason is None and found.variance == 0.0:
        reason = "the values of every stratum are equal, so their spread is unknown"
    law = "Satterthwaite t" if found.n_clusters is None else "CR2, Satterthwaite t"
    return IntervalEstimate(
        estimate=found.mean,
        method=f"stratified mean, {law}",
        conf_level=level,
        n=x.size,
        n_clusters=found.n_clusters,
        reason=reason,
        warnings=(*few_items(x.size), *_alone(of)),
    )


def _alone(of: Strata) -> tuple[str, ...]:
    if not of.n_alone:
        return ()
    have = "1 stratum has" if of.n_alone == 1 else f"{of.n_alone} strata have"
    return (f"{have} a single item, whose spread is taken from all items",)
