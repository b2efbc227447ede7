"""Stratified means: the textbook sums, limits, and refusals."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.paired.means import augmented_t
from evalstats.stats.stratified import linearised, strata_of, stratified_augmented_t, stratified_mean, stratified_wilson


def test_weighted_strata_written_out():
    rng = np.random.default_rng(4)
    groups = [rng.normal(m, s, n) for m, s, n in ((0.2, 1.0, 8), (0.5, 2.0, 2), (0.9, 0.5, 14))]
    weights = [0.5, 0.3, 0.2]
    parts = [w**2 * g.var(ddof=1) / g.size for w, g in zip(weights, groups, strict=True)]
    df = sum(parts) ** 2 / sum(v**2 / (g.size - 1) for v, g in zip(parts, groups, strict=True))
    estimate = sum(w * g.mean() for w, g in zip(weights, groups, strict=True))
    result = stratified_mean(np.concatenate(groups), np.repeat([3, 7, 9], [8, 2, 14]), weights=[5, 3, 2])
    reach = stats.t.ppf(0.975, df) * math.sqrt(sum(parts))
    assert (result.estimate, result.std_error, result.df) == pytest.approx((estimate, math.sqrt(sum(parts)), df))
    assert (result.conf_low, result.conf_high) == pytest.approx((estimate - reach, estimate + reach), rel=1e-10)
    assert result.p_value == pytest.approx(2 * stats.t.sf(abs(estimate) / math.sqrt(sum(parts)), df), rel=1e-9)


def test_without_weights_the_estimate_is_the_plain_mean():
    values, strata = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 0, 1, 1, 1, 1])
    result = stratified_mean(values, strata)
    assert result.estimate == pytest.approx(values.mean(), rel=1e-12)
    within = [(3 / 7) ** 2 * (1 / 3) / 3, (4 / 7) ** 2 * (1 / 3) / 4]
    assert result.std_error == pytest.approx(math.sqrt(sum(within)), rel=1e-12)


def test_one_stratum_is_the_t_interval():
    values = np.random.default_rng(1).normal(size=20)
    interval = stats.ttest_1samp(values, 0.0).confidence_interval()
    result = stratified_mean(values, np.zeros(20, dtype=int))
    assert (result.conf_low, result.conf_high) == pytest.approx((interval.low, interval.high), rel=1e-10)


def test_differences_between_strata_do_not_count():
    """The audit's data: right in four scenario types, wrong in three; within a type nothing varies."""
    result = stratified_mean(np.repeat([1.0, 0.0], [21, 22]), np.repeat([0, 1], [21, 22]))
    assert result.conf_low is None
    assert "equal" in result.reason


def test_a_stratum_with_one_item_takes_the_spread_of_all():
    values = np.array([1.0, 0.0, 0.5, 0.2, 0.9])
    result = stratified_mean(values, [0, 0, 0, 1, 2], weights=[2, 1, 1])
    mean = 0.5 * 0.5 + 0.25 * (0.2 + 0.9)
    a = np.array([1 / 6, 1 / 6, 1 / 6, 1 / 4, 1 / 4])
    overall = float(a @ (values - mean) ** 2) / (1 - float(a @ a))
    variance = 0.25 * np.var(values[:3], ddof=1) / 3 + 2 * 0.25**2 * overall
    assert (result.estimate, result.std_error) == pytest.approx((mean, math.sqrt(variance)))
    assert "2 strata have a single item, whose spread is taken from all items" in result.warnings


def test_when_every_stratum_is_one_item_it_is_the_plain_t():
    values = np.random.default_rng(2).normal(size=12)
    result, plain = stratified_mean(values, np.arange(12)), stats.ttest_1samp(values, 0.0).confidence_interval()
    assert (result.conf_low, result.conf_high) == pytest.approx((plain.low, plain.high))


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="3 weights for 2 strata"):
        stratified_mean([1.0, 0.0], [0, 1], weights=[1, 1, 1])
    with pytest.raises(InputError, match="above 0"):
        stratified_mean([1.0, 0.0], [0, 1], weights=[1, -1])


def dense_cr2(values, strata, weights, clusters):
    """Variance and df of a contrast of stratum means by the definition of CR2 (Pustejovsky & Tipton 2018, equations 3 to 11)."""
    x = np.eye(strata.max() + 1)[strata]
    inner = np.linalg.inv(x.T @ x)
    hat = np.eye(len(values)) - x @ inner @ x.T
    residuals = hat @ values
    p = np.zeros((len(values), clusters.max() + 1))
    for g in range(clusters.max() + 1):
        own = clusters == g
        root, vectors = np.linalg.eigh(hat[np.ix_(own, own)])
        adjust = (vectors / np.sqrt(root)) @ vectors.T
        p[own, g] = adjust @ (x @ inner @ weights)[own]
    variance = float(np.square(p.T @ residuals).sum())
    omega = p.T @ hat @ p
    return variance, np.trace(omega) ** 2 / float(np.square(omega).sum())


@pytest.mark.parametrize("crossed", [False, True])
def test_clusters_are_cr2_by_its_definition(crossed):
    rng = np.random.default_rng(11)
    strata = np.repeat([0, 1, 2], [14, 25, 9])
    clusters = rng.integers(0, 9, 48) if crossed else strata * 4 + rng.integers(0, 4, 48)
    clusters = np.unique(clusters, return_inverse=True)[1]
    values = rng.normal(size=48) + rng.normal(size=12)[clusters] + strata
    weights = np.array([0.2, 0.5, 0.3])
    found = stratified_mean(values, strata, weights=weights, clusters=[clusters])
    variance, df = dense_cr2(values, strata, weights, clusters)
    assert (found.std_error, found.df) == pytest.approx((math.sqrt(variance), df), rel=1e-9)


def test_one_stratum_is_what_is_used_without_strata():
    rng = np.random.default_rng(3)
    d, codes = rng.integers(-1, 2, 40).astype(float), rng.integers(0, 8, 40)
    ours, theirs = stratified_augmented_t(d, np.zeros(40, int)), augmented_t(d)
    assert (ours.conf_low, ours.conf_high, ours.p_value) == pytest.approx(
        (theirs.conf_low, theirs.conf_high, theirs.p_value)
    )
    ours, theirs = stratified_mean(d, np.zeros(40, int), clusters=[codes]), cluster_mean(d, codes).estimate
    assert (ours.conf_low, ours.conf_high, ours.df) == pytest.approx((theirs.conf_low, theirs.conf_high, theirs.df))


def test_linearised_values_carry_means_errors_and_covariances():
    rng = np.random.default_rng(8)
    strata, weights = np.repeat([0, 1, 2], [5, 30, 9]), [3.0, 1.0, 1.0]
    values = rng.integers(0, 2, (44, 3)).astype(float)
    z = linearised(values, strata_of(strata, 44, weights))
    for j in range(3):
        found = stratified_mean(values[:, j], strata, weights=weights)
        assert z[:, j].mean() == pytest.approx(found.estimate)
        assert z[:, j].std(ddof=1) / math.sqrt(44) == pytest.approx(found.std_error)
    between = stratified_mean(values[:, 0] - values[:, 1], strata, weights=weights)
    assert (z[:, 0] - z[:, 1]).std(ddof=1) / math.sqrt(44) == pytest.approx(between.std_error)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (1.0, 5.0)])
def test_stratified_wilson_has_the_stratified_error_on_the_score_s_own_scale(low, high):
    rng = np.random.default_rng(12)
    groups = [rng.beta(3, 2, n) for n in (9, 14, 25)]
    shares = np.array([0.2, 0.5, 0.3])
    parts = [w**2 * g.var(ddof=1) / g.size for w, g in zip(shares, groups, strict=True)]
    values, strata = low + (high - low) * np.concatenate(groups), np.repeat([0, 1, 2], [9, 14, 25])
    found = stratified_wilson(values, strata, weights=shares, low=low, high=high)
    mean = sum(w * g.mean() for w, g in zip(shares, groups, strict=True))
    df = sum(parts) ** 2 / sum(v**2 / (g.size - 1) for v, g in zip(parts, groups, strict=True))
    assert (found.estimate, found.std_error, found.df, found.n) == pytest.approx(
        (low + (high - low) * mean, (high - low) * math.sqrt(sum(parts)), df, 48), rel=1e-9
    )
    assert (found.reason, found.p_value) == (None, None)
    flat = stratified_wilson(np.full(48, high), strata, low=low, high=high)
    assert (flat.estimate, flat.std_error, flat.conf_high) == (high, None, high)


def test_small_heavy_strata_that_never_miss_are_not_taken_as_sure():
    """Three strata of 10 items hold three quarters of the weight; all the misses seen are in the large one."""
    strata = np.repeat([0, 1, 2, 3], [10, 10, 10, 500])
    values = np.r_[np.ones(525), np.zeros(5)]
    found = stratified_wilson(values, strata, weights=[1, 1, 1, 1])
    assert found.estimate == pytest.approx(1 - 0.25 * 0.01)
    assert found.conf_low < 0.95
    perfect = stratified_wilson(np.ones(530), strata, weights=[1, 1, 1, 1])
    assert perfect.conf_high == 1.0
    assert perfect.conf_low < 0.95


SIZES = {"even": [20] * 6 + [60] * 4, "tiny": [1] * 4 + [2] * 5 + [3] * 8 + [5] * 15 + [10] * 15 + [40] * 10}


@pytest.mark.parametrize("tables", [150, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("macro", [True, False], ids=["macro", "micro"])
def test_intervals_hold_their_level(sizes, macro, tables):
    """Success .3 to .98 by stratum, unequal sizes; seen are coverages more than 3.6 errors below .95 (.886 of 150 tables)."""
    rng = np.random.default_rng(12)
    n = np.array(SIZES[sizes])
    codes = np.repeat(np.arange(len(n)), n)
    p = rng.permutation(np.linspace(0.3, 0.98, len(n)))
    weights = np.ones(len(n)) if macro else n.astype(float)
    truth, own, between = weights @ p / weights.sum(), 0, 0
    for _ in range(tables):
        a, redrawn = rng.random(codes.size) < p[codes], rng.random(codes.size) < 0.3
        b = np.where(redrawn, rng.random(codes.size) < p[codes], a)
        one = stratified_wilson(a.astype(float), codes, weights=weights)
        two = stratified_augmented_t(b.astype(float) - a, codes, weights=weights)
        own += one.conf_low <= truth <= one.conf_high
        between += two.conf_low <= 0 <= two.conf_high
    least = 0.95 - 3.6 * math.sqrt(0.95 * 0.05 / tables)
    assert own >= least * tables
    assert between >= least * tables


def by_loops(values, strata, weights, clusters):
    """CR2 of the weighted mean over strata, cell by cell; a cluster that is a whole stratum stands about the mean of all."""
    mean = sum(w * values[strata == s].mean() for s, w in enumerate(weights))
    adds, loads = [], []
    for g in np.unique(clusters):
        u, row = 0.0, np.zeros(len(values))
        for s, w in enumerate(weights):
            cell, stratum = (clusters == g) & (strata == s), strata == s
            if not cell.any():
                continue
            whole = cell.sum() == stratum.sum()
            around = mean if whole else values[stratum].mean()
            load = w / stratum.sum() / (1.0 if whole else math.sqrt(1 - cell.sum() / stratum.sum()))
            u += load * (values[cell] - around).sum()
            row += load * (cell - (0.0 if whole else cell.sum() / stratum.sum()) * stratum)
        adds.append(u)
        loads.append(row)
    law = np.array(loads) @ np.array(loads).T
    return float(np.square(adds).sum()), np.trace(law) ** 2 / float(np.square(law).sum())


@pytest.fixture
def crossed():
    rng = np.random.default_rng(14)
    strata = np.repeat([0, 1, 2], [14, 25, 9])
    users, days, sites = (rng.integers(0, k, 48) for k in (9, 7, 6))
    effects = sum(2.0 * rng.normal(size=9)[each] for each in (users, days, sites))
    values = rng.normal(size=48) + effects + strata
    return values, strata, [0.2, 0.5, 0.3], (users, days, sites)


def test_a_cluster_that_is_a_whole_stratum_is_taken_about_the_mean_of_all(crossed):
    values, strata, weights, (users, *_) = crossed
    users = np.where(strata == 2, 9, np.where(strata == 0, users % 3, users))
    found = stratified_mean(values, strata, weights=weights, clusters=[users])
    variance, df = by_loops(values, strata, weights, users)
    assert (found.std_error, found.df) == pytest.approx((math.sqrt(variance), df), rel=1e-9)


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_several_ways_are_inclusion_and_exclusion_and_no_less_than_either(crossed, ways):
    values, strata, weights, columns = crossed
    chosen = columns[:ways]
    total = 0.0
    for size in range(1, ways + 1):
        for some in itertools.combinations(chosen, size):
            cells = np.unique(np.column_stack(some), axis=0, return_inverse=True)[1].ravel()
            total -= (-1) ** size * by_loops(values, strata, weights, cells)[0]
    alone = [by_loops(values, strata, weights, column) for column in chosen]
    assert ways == 1 or total > 1.05 * max(variance for variance, _ in alone)
    found = stratified_mean(values, strata, weights=weights, clusters=chosen)
    assert found.std_error**2 == pytest.approx(max(total, *(variance for variance, _ in alone), 0.0), rel=1e-9)
    assert found.df == pytest.approx(min(df for _, df in alone), rel=1e-9)
    assert found.n_clusters == [9, 7, 6][ways - 1]


def test_nearly_cancelling_ways_are_no_less_than_the_larger_one():
    """Effects of users within days that cancel over users: the sum over both ways would come out below one of them."""
    users, days = np.divmod(np.arange(64), 8)
    values = np.where(users % 2 == days % 2, 1.0, -1.0) + 0.3 * np.where(users < 4, 1.0, -1.0)
    strata = np.zeros(64, int)
    one, other, both = (
        stratified_mean(values, strata, clusters=each).std_error for each in ([users], [days], [users, days])
    )
    cells = by_loops(values, strata, [1.0], np.arange(64))[0]
    assert (one or 0.0) ** 2 + (other or 0.0) ** 2 - cells < (one or 0.0) ** 2
    assert both == pytest.approx(one)


def test_clusters_of_equal_values_have_no_interval():
    found = stratified_mean(np.repeat([0.1, 0.7], 30), np.repeat([0, 1], 30), clusters=[np.arange(60) % 10])
    assert (found.std_error, found.conf_low) == (None, None)
    assert "the values of every stratum are equal" in str(found.reason)


def test_linearised_values_keep_the_mean_where_a_stratum_has_one_item():
    rng = np.random.default_rng(8)
    strata, weights = np.repeat([0, 1, 2], [1, 20, 9]), [3.0, 1.0, 1.0]
    values = rng.normal(size=(30, 2)) + strata[:, None]
    z = linearised(values, strata_of(strata, 30, weights))
    for j in range(2):
        assert z[:, j].mean() == pytest.approx(stratified_mean(values[:, j], strata, weights=weights).estimate)


def test_four_clusters_are_too_few_for_a_bounded_mean_too():
    values, strata, codes = np.arange(40) % 3 / 2, np.arange(40) % 2, np.arange(40) % 4
    found = stratified_wilson(2.0 + 5.0 * values, strata, clusters=[codes], low=2.0, high=7.0)
    assert found.estimate == pytest.approx(2.0 + 5.0 * values.mean())
    assert (found.conf_low, found.conf_high, found.n_clusters) == (None, None, 4)
    assert "4 clusters" in str(found.reason)


def test_an_augmented_interval_stays_on_the_scale():
    for sign in (1.0, -1.0):
        found = stratified_augmented_t(np.full(6, sign * 3.0), [0, 0, 0, 1, 1, 1], bound=3.0, conf_level=0.99)
        assert max(abs(found.conf_low), abs(found.conf_high)) == 3.0
