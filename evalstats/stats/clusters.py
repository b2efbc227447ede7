"""Means of clustered items: CR2, wild cluster bootstrap, several cluster columns, and signs of undeclared dependence.

References: Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004 (CR2); Cameron, Gelbach &
Miller 2008, doi:10.1162/rest.90.3.414, and Webb 2023, doi:10.1111/caje.12661 (wild bootstrap); the same 2011,
doi:10.1198/jbes.2010.07136 (several columns); Westfall & Young 1993, Resampling-Based Multiple Testing.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
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
    few_effective,
    is_constant,
    too_few_clusters,
)
from evalstats.stats.estimate import SMALLEST_P, IntervalEstimate, t_estimate, t_quantile
from evalstats.stats.one_sample import Cr2, cr2_of_mean
from evalstats.stats.paired.means import SignFlip, sign_flip

_WEBB = np.array([1.5**0.5, 1.0, 0.5**0.5])
_ENUMERATED = 13  # up to 2**13 Rademacher patterns are listed
_CHUNK = 2_000_000
_TIE = 1e-9
_FEW_DF = 4.0
_MOST_COLUMNS = 8
_LARGE_EFFECT = 1.5
_SMOOTH_TIE = 1e-6  # a tail probability magnifies the rounding of its argument


def wild_cluster_p(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    seed: int = 0,
    n_resamples: int = 9999,
    weights: Literal["webb", "rademacher"] = "webb",
) -> float:
    """Two-sided wild cluster bootstrap p of the hypothesis that the mean of clustered items is 0.

    Webb's six-point weights are for few clusters; Rademacher's signs are all listed up to 13 clusters, which makes the
    test exact under symmetry and independent of the seed. At least 2 clusters.

    Examples
    --------
    >>> d = np.array([0.3, 0.1, 0.4, 0.2, 0.5, 0.6, 0.1])
    >>> wild_cluster_p(d, np.arange(7), weights="rademacher")
    0.015625
    """
    x = as_values(values)
    codes, n_clusters = as_codes(clusters, x.size)
    draws = check_count(n_resamples, "n_resamples", least=1)
    if n_clusters < 2:
        raise InputError("all items are in one cluster; a test needs at least 2")
    share = np.bincount(codes) / x.size
    sums = np.bincount(codes, weights=x) / x.size
    observed = _statistics(np.ones((1, n_clusters)), sums, share)[0]
    if weights == "rademacher" and n_clusters <= _ENUMERATED:
        numbers = np.arange(2**n_clusters, dtype=np.int64)[:, np.newaxis]
        patterns = np.bitwise_and(np.right_shift(numbers, np.arange(n_clusters, dtype=np.int64)), 1)
        signs = 2.0 * patterns.astype(np.float64) - 1.0
        hits = int(np.count_nonzero(_statistics(signs, sums, share) >= observed * (1.0 - _TIE)))
        return hits / len(signs)
    rng = np.random.default_rng(seed)
    hits, done = 0, 0
    while done < draws:
        rows = min(draws - done, max(1, _CHUNK // n_clusters))
        signs = 2.0 * rng.integers(0, 2, size=(rows, n_clusters)).astype(np.float64) - 1.0
        if weights == "webb":
            signs *= _WEBB[rng.integers(0, 3, size=(rows, n_clusters))]
        hits += int(np.count_nonzero(_statistics(signs, sums, share) >= observed * (1.0 - _TIE)))
        done += rows
    return (1 + hits) / (1 + draws)


def _statistics(signs: FloatArray, sums: FloatArray, share: FloatArray) -> FloatArray:
    """Return |t| of each row of cluster weights, with the CR2 variance; sums and shares are over n."""
    flipped = signs * sums
    mean = flipped.sum(axis=1)
    variance = ((flipped - share * mean[:, None]) ** 2 / (1.0 - share)).sum(axis=1)
    scale = float(np.abs(sums).sum())
    # A mean without variance is the most extreme outcome there is; no mean at all, the least.
    flat = variance <= (1e-13 * scale) ** 2
    endless = np.where(np.abs(mean) > 1e-13 * scale, np.inf, 0.0)
    return np.where(flat, endless, np.abs(mean) / np.sqrt(np.where(flat, 1.0, variance)))


@record
class ClusterMean:
    """The mean of clustered items, clipped to the bounds that were given, and what the clusters do to it.

    `design_effect` is the CR2 variance over the variance if items were independent (s^2/n), None where either is 0 or
    unknown; `effective_clusters`, 1 + df, how many equal clusters the data are worth; `n_clusters`, with several columns,
    that of the column that has the fewest.
    """

    estimate: IntervalEstimate
    design_effect: float | None
    effective_clusters: float | None
    n_clusters: int
    conf_low_unclipped: float | None = None
    conf_high_unclipped: float | None = None


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

    A column whose levels each lie inside one level of another column adds nothing and is left out.

    Notes
    -----
    Inclusion and exclusion over the columns and their intersections, each piece a CR2 variance; never less than the
    largest one-way variance, since the sum can be negative by chance. The df are the smallest of the
    one-way Satterthwaite df.

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
    variance = max(_inclusion_exclusion(x, columns), *(piece.variance for piece in one_way))
    df = min(piece.df for piece in one_way)
    combined = Cr2(mean=float(x.mean()), variance=variance, df=df, n_clusters=fewest)
    return _result(x, combined, level, low, high, method=f"CR2 on {len(columns)} cluster columns, Satterthwaite df")


def cluster_weighted_mean(values: ArrayLike, clusters: ArrayLike, *, conf_level: float = 0.95) -> IntervalEstimate:
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
        return IntervalEstimate(
            estimate=estimate, method=method, conf_level=level, n=x.size, n_clusters=n_clusters, reason=reason
        )
    std_error, df = float(means.std(ddof=1)) / math.sqrt(n_clusters), float(n_clusters - 1)
    return t_estimate(estimate, std_error, df, level, method=method, n=x.size, n_clusters=n_clusters)


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


def smallest_p_clusters(n_clusters: int) -> float:
    """Smallest p of the cluster sign-flip test that G clusters could show: 2^(1 - G)."""
    return max(SMALLEST_P, math.ldexp(1.0, 1 - check_count(n_clusters, "n_clusters", least=1)))


def _one_way(x: FloatArray, codes: IntArray, n_clusters: int) -> Cr2:
    if n_clusters < 2:
        return Cr2(mean=float(x.mean()), variance=math.nan, df=math.nan, n_clusters=n_clusters)
    return cr2_of_mean(x, codes, n_clusters)


def _coarsest(columns: list[tuple[IntArray, int]]) -> list[tuple[IntArray, int]]:
    """Leave out columns nested in another one; of equal columns keep the first."""
    kept: list[tuple[IntArray, int]] = []
    for column in sorted(columns, key=lambda column: column[1]):
        if not any(intersection([column, coarse])[1] == column[1] for coarse in kept):
            kept.append(column)
    return kept


def intersection(columns: Sequence[tuple[IntArray, int]]) -> tuple[IntArray, int]:
    """Return codes, and their number, of the items that agree in every column."""
    codes, count = columns[0]
    for other, n_other in columns[1:]:
        levels, codes = np.unique(codes * n_other + other, return_inverse=True)
        codes, count = codes.astype(np.int64), int(levels.size)
    return codes, count


def _inclusion_exclusion(x: FloatArray, columns: list[tuple[IntArray, int]]) -> float:
    total = 0.0
    for size in range(1, len(columns) + 1):
        for chosen in combinations(columns, size):
            codes, n_clusters = intersection(chosen)
            total += (-1.0) ** (size + 1) * cr2_of_mean(x, codes, n_clusters).variance
    return total


def _result(
    x: FloatArray, v: Cr2, level: float, low: float | None, high: float | None, *, method: str = "CR2, Satterthwaite df"
) -> ClusterMean:
    n, mean = x.size, v.mean
    std_error = math.sqrt(v.variance) if v.variance > 0.0 else None
    independent = float(x.var(ddof=1)) / n if n > 1 and not is_constant(x) else 0.0
    design_effect = v.variance / independent if std_error is not None and independent > 0.0 else None
    effective = 1.0 + v.df if math.isfinite(v.df) else None
    reason = too_few_clusters(v.n_clusters)
    if reason is None and std_error is None:
        reason = f"the means of all {v.n_clusters} clusters are equal, so their spread is unknown"
    if reason is not None or std_error is None:
        bare = IntervalEstimate(
            estimate=mean,
            method=method,
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
    return ClusterMean(
        estimate=t_estimate(
            mean,
            std_error,
            v.df,
            level,
            method=method,
            n=n,
            low=low,
            high=high,
            n_clusters=v.n_clusters,
            warnings=()
            if v.df >= _FEW_DF - 1e-9
            else (few_effective(v.df),),  # five equal clusters have 4 df up to rounding
        ),
        design_effect=design_effect,
        effective_clusters=effective,
        n_clusters=v.n_clusters,
        conf_low_unclipped=mean - reach,
        conf_high_unclipped=mean + reach,
    )


@record
class Dependence:
    """Whether item differences hang together within the levels of one factor.

    Attributes
    ----------
    design_effect
        sum over levels of (sum of residuals)^2, over the sum of squared residuals: the factor by which the variance of
        the mean grows if the levels are a sample. Where the factor does not matter it is about 1 with many levels, and
        1 - sum(share^2) with few (.5 with two equal ones).
    band_low, band_high
        Range of design effects that chance gives at the level asked for, by permutation.
    p_value, p_adjusted
        Share of permutations with so large a design effect; the same for the whole set of factors (Westfall-Young).
    flag
        "warn": p_adjusted at most 1 - conf_level and a design effect of at least 1.5; "note": p_value alone is that small;
        "none" otherwise.
    """

    factor: str
    n_levels: int
    design_effect: float
    band_low: float
    band_high: float
    p_value: float
    p_adjusted: float
    flag: Literal["warn", "note", "none"]


def undeclared_dependence(
    differences: ArrayLike,
    factors: Mapping[str, ArrayLike],
    *,
    seed: int = 0,
    n_permutations: int = 999,
    conf_level: float = 0.95,
) -> tuple[Dependence, ...]:
    """Look for factors whose levels would matter if they were a sample, without false alarms from looking at many.

    Parameters
    ----------
    differences
        float64 array, shape (n_items,): item differences or scores.
    factors
        Name of each factor and its integer codes, shape (n_items,). A null level is a level: code it as one.
    seed, n_permutations
        The residuals are permuted over items, the same way for all factors.

    Returns
    -------
    tuple of Dependence
        One for each factor with 2 to n/2 levels, in the order given; empty where the differences do not vary.

    Notes
    -----
    Raw p-values are permutation p-values of the design effect; adjusted ones are Westfall and Young's step-down minimum
    p over factors, each factor's p taken from a gamma law fitted to its permutations so that it is never stuck at
    1/(1 + n_permutations). Flagging every design effect above 1.5 raises a false alarm in more than half of all tables with ten
    unrelated factors; this rule in 4 to 7%.

    Examples
    --------
    >>> d = np.repeat([0.5, -0.5, 0.5, -0.5, 0.5, -0.5], 5)
    >>> (found,) = undeclared_dependence(d, {"passage": np.repeat(np.arange(6), 5)})
    >>> found.design_effect, found.flag
    (5.0, 'warn')
    """
    d = as_values(differences, "differences")
    draws = check_count(n_permutations, "n_permutations", least=1)
    level = check_level(conf_level)
    coded = {name: as_codes(codes, d.size, f"codes of {name!r}") for name, codes in factors.items()}
    kept = {name: column for name, column in coded.items() if 2 <= column[1] <= d.size / 2}
    if not kept or is_constant(d):
        return ()
    residuals = d - d.mean()
    effects = _permuted_effects(residuals, list(kept.values()), np.random.default_rng(seed), draws)
    raw = np.mean(effects >= effects[0] * (1.0 - _TIE), axis=0)
    adjusted = _step_down(_smooth_p(effects))
    tail = (1.0 - level) / 2.0
    band = np.quantile(effects[1:], [tail, 1.0 - tail], axis=0)
    return tuple(
        Dependence(
            factor=name,
            n_levels=n_levels,
            design_effect=float(effects[0, j]),
            band_low=float(band[0, j]),
            band_high=float(band[1, j]),
            p_value=float(raw[j]),
            p_adjusted=float(adjusted[j]),
            flag=_flag(float(effects[0, j]), float(raw[j]), float(adjusted[j]), 1.0 - level),
        )
        for j, (name, (_, n_levels)) in enumerate(kept.items())
    )


# Of more items than this, a thousand shuffles take longer than dealing out the few values there are.
_SHUFFLED = 100_000
# Cells and values must be so many times fewer than items.
_SPARED = 20
_CELLS_AT_ONCE = 10_000  # of shuffles that are added up together, in the processor's cache


def _permuted_effects(
    residuals: FloatArray, columns: list[tuple[IntArray, int]], rng: np.random.Generator, draws: int
) -> FloatArray:
    """Return design effects, shape (1 + draws, n_factors); row 0 is the observed one."""
    starts = np.cumsum([0, *(n_levels for _, n_levels in columns)])
    counts = _counts_of_values(residuals, columns) if residuals.size > _SHUFFLED else None
    if counts is not None:
        return _dealt_effects(*counts, float(np.square(residuals).sum()), starts, rng, draws)
    # One bincount serves all factors and some draws: their levels are numbered through.
    levels = np.concatenate([codes + start for (codes, _), start in zip(columns, starts[:-1], strict=True)])
    effects = np.empty((1 + draws, len(columns)))
    total = float(np.square(residuals).sum())
    permuted = residuals.copy()
    at_once = min(1 + draws, max(1, _CELLS_AT_ONCE // levels.size))
    of_each = np.empty((at_once, len(columns), residuals.size))
    places = levels + starts[-1] * np.arange(at_once)[:, np.newaxis]
    for first in range(0, 1 + draws, at_once):
        rows = of_each[: 1 + draws - first]
        for row in rows:
            row[:] = permuted
            rng.shuffle(permuted)
        sums = np.bincount(places[: len(rows)].ravel(), weights=rows.ravel(), minlength=len(rows) * starts[-1])
        squares = np.square(sums).reshape(len(rows), -1)
        effects[first : first + len(rows)] = np.add.reduceat(squares, starts[:-1], axis=1) / total
    return effects


def _counts_of_values(
    residuals: FloatArray, columns: list[tuple[IntArray, int]]
) -> tuple[FloatArray, IntArray, list[IntArray]] | None:
    """Return the values, how often each stands in each cell of the factors' levels, and the level of each cell by factor.

    None where values or cells are so many that dealing them out takes as long as shuffling.
    """
    values, place = np.unique(residuals, return_inverse=True)
    cell, n_cells = np.zeros(residuals.size, dtype=np.int64), 1
    for codes, n_levels in columns:
        distinct, cell = np.unique(cell * n_levels + codes, return_inverse=True)
        n_cells = distinct.size
        if n_cells * values.size > residuals.size / _SPARED:
            return None
    counts = np.bincount(place * n_cells + cell, minlength=values.size * n_cells).reshape(values.size, n_cells)
    first = np.unique(cell, return_index=True)[1]
    return values, counts.astype(np.int64), [codes[first] for codes, _ in columns]


def _dealt_effects(  # noqa: PLR0917 - what a permutation needs, and how many
    values: FloatArray,
    counts: IntArray,
    levels: list[IntArray],
    total: float,
    starts: IntArray,
    rng: np.random.Generator,
    draws: int,
) -> FloatArray:
    """Return what permuting the items gives, by its law: how often each value falls into each cell is hypergeometric."""
    every = np.concatenate([codes + start for codes, start in zip(levels, starts[:-1], strict=True)])
    effects = np.empty((1 + draws, len(levels)))
    for draw in range(1 + draws):
        if draw:
            room = counts.sum(axis=0)
            dealt = np.empty_like(counts)
            for k, n in enumerate(counts.sum(axis=1)[:-1].tolist()):
                dealt[k] = rng.multivariate_hypergeometric(room, n, method="marginals")
                room = room - dealt[k]
            dealt[-1] = room
        else:
            dealt = counts
        sums = np.bincount(every, weights=np.tile(values @ dealt, len(levels)))
        effects[draw] = np.add.reduceat(np.square(sums), starts[:-1]) / total
    return effects


def _smooth_p(effects: FloatArray) -> FloatArray:
    """Return the upper tail of each design effect under a gamma law with the permutations' mean and variance.

    It puts factors with few and with many levels on one footing. Ranks would do so too, but with F factors and B draws
    no adjusted p could fall below about F/B: with fifty factors nothing would ever be reported.
    """
    mean, variance = effects.mean(axis=0), effects.var(axis=0)
    varies = variance > 0.0
    shape = np.where(varies, mean**2 / np.where(varies, variance, 1.0), 1.0)
    return np.where(varies, special.gammaincc(shape, shape * effects / mean), 1.0)


def _step_down(p: FloatArray) -> FloatArray:
    """Return Westfall and Young's step-down adjusted p of row 0: how often the least p of the rest is as small."""
    order = np.argsort(p[0], kind="stable")
    least_of_rest = np.minimum.accumulate(p[:, order[::-1]], axis=1)[:, ::-1]
    reached = least_of_rest <= p[0, order] * (1.0 + _SMOOTH_TIE)
    adjusted = np.empty(order.size)
    adjusted[order] = np.maximum.accumulate(reached.mean(axis=0))
    return adjusted


def _flag(effect: float, p: float, p_adjusted: float, alpha: float) -> Literal["warn", "note", "none"]:
    allowed = alpha * (1.0 + _TIE)
    if p_adjusted <= allowed and effect >= _LARGE_EFFECT:
        return "warn"
    return "note" if p <= allowed else "none"
