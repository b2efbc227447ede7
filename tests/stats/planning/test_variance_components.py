"""The split of a difference's variance is unbiased, whatever the sizes and trials; designs add up."""

import math

import numpy as np
import pytest

from evalstats.stats.clusters import cluster_mean
from evalstats.stats.one_sample import satterthwaite_df
from evalstats.stats.planning.mean import DifferenceParts, cheapest_trials, difference_parts


def expectations(clusters, counts, sigmas, cluster_variance, item_variance):
    """E of both raw estimates, exactly: each is d'Ad plus a constant, and E(d'Ad) = tr(A Sigma)."""
    n = len(counts[0])
    variances = tuple(np.where(np.array(k) > 1, sigma, np.nan) for k, sigma in zip(counts, sigmas, strict=True))

    def raw(d):
        parts = difference_parts(d, clusters=clusters, trial_variances=variances, n_trials=counts)
        return np.array([parts.cluster_raw or 0.0, parts.item_raw])

    zero, unit = raw(np.zeros(n)), np.eye(n)
    single = np.array([raw(row) - zero for row in unit])
    noise = sum(sigma / np.array(k) for k, sigma in zip(counts, sigmas, strict=True))
    same = np.eye(n) if clusters is None else np.equal.outer(clusters, clusters).astype(float)
    truth = cluster_variance * same + np.diag(item_variance + noise)
    total = zero.copy()
    for i in range(n):
        for j in range(n):
            form = single[i] if i == j else (raw(unit[i] + unit[j]) - zero - single[i] - single[j]) / 2
            total += form * truth[i, j]
    return total


def test_the_split_is_unbiased_with_unequal_clusters_and_trials():
    clusters = np.array([0, 0, 0, 0, 1, 1, 2, 3, 3, 3])
    counts = (np.array([1, 2, 3, 1, 5, 2, 2, 1, 4, 3]), np.array([2, 2, 2, 7, 1, 1, 3, 2, 2, 2]))
    found = expectations(clusters, counts, (0.3, 0.5), 0.2, 0.7)
    np.testing.assert_allclose(found, [0.2, 0.7], atol=1e-12)


def test_the_split_without_clusters_is_unbiased():
    counts = (np.array([1, 2, 3, 1, 5, 2]), np.array([2, 2, 2, 7, 1, 1]))
    assert expectations(None, counts, (0.3, 0.5), 0.0, 0.7)[1] == pytest.approx(0.7, abs=1e-12)


def test_without_clusters_it_is_miller():
    """The difference of two sides against the decomposition of one array, where the other side is always 0."""
    y = np.array([[0, 1, 1], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 0, 1]], dtype=float)
    within = y.var(axis=1, ddof=1).mean()
    between = y.mean(axis=1).var(ddof=1) - within / 3
    parts = difference_parts(
        y.mean(axis=1), trial_variances=(np.zeros(5), y.var(axis=1, ddof=1)), n_trials=(np.full(5, 3), np.full(5, 3))
    )
    assert parts.trials[1] == pytest.approx(within)
    assert parts.item == pytest.approx(between)
    assert parts.variance() == pytest.approx(y.mean(axis=1).var(ddof=1) / 5)
    assert parts.variance(n_items=20, n_trials=(1, 6)) == pytest.approx((between + within / 6) / 20)


def test_equal_clusters_give_back_the_variance_of_cr2():
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(8), 5)
    d = rng.standard_normal(8)[clusters] + rng.standard_normal(40)
    parts = difference_parts(d, clusters=clusters)
    assert parts.cluster > 0
    assert math.sqrt(parts.variance()) == pytest.approx(cluster_mean(d, clusters).estimate.std_error, rel=1e-12)
    assert parts.df() == pytest.approx(7.0)


def test_more_of_each_lowers_only_its_own_part():
    parts = difference_parts(
        [0.0, 1.0, 1.0, 2.0, 5.0, 6.0],
        clusters=[0, 0, 1, 1, 2, 2],
        trial_variances=(np.full(6, 0.2), np.full(6, 0.4)),
        n_trials=(np.full(6, 2), np.full(6, 2)),
    )
    assert parts.cluster == pytest.approx(6.75)
    assert parts.item == pytest.approx(0.5 - 0.3)
    now = parts.variance()
    assert now == pytest.approx(6.75 / 3 + (0.2 + 0.3) / 6)
    assert parts.variance(n_items=12) == pytest.approx(6.75 / 3 + 0.5 / 12)
    assert parts.variance(n_trials=(4, 4)) == pytest.approx(6.75 / 3 + (0.2 + 0.15) / 6)
    assert parts.variance(n_items=12, n_clusters=6) == pytest.approx(now / 2)


def test_planned_sizes_are_spread_as_the_seen_ones():
    parts = difference_parts(np.arange(10.0), clusters=np.repeat([0, 1, 2], [1, 2, 7]))
    assert parts.shares().tolist() == pytest.approx([0.1, 0.2, 0.7])
    doubled = parts.shares(6)
    assert sorted(doubled.tolist()) == pytest.approx([0.05, 0.05, 0.1, 0.1, 0.35, 0.35])
    assert parts.df(6) == pytest.approx(satterthwaite_df(doubled))
    assert parts.shares(1).tolist() == [1.0]
    assert parts.df(1) == 0.0


def test_negative_estimates_are_cut_off_and_said():
    parts = difference_parts([1.0, -1.0, 1.0, -1.0, 1.0, -1.0], clusters=[0, 0, 1, 1, 2, 2])
    assert parts.cluster == 0.0
    assert parts.cluster_raw < 0
    assert "between clusters is estimated as -1" in " ".join(parts.notes)
    quiet = difference_parts(
        [0.0, 0.1, 0.0], trial_variances=(np.ones(3), np.ones(3)), n_trials=(np.full(3, 2), np.full(3, 2))
    )
    assert quiet.item == 0.0
    assert "true differences is estimated as -0.99" in " ".join(quiet.notes)


def test_what_cannot_be_told_apart_is_said():
    alone = difference_parts([0.0, 1.0, 3.0], clusters=[0, 1, 2])
    assert alone.cluster is None
    assert alone.variance() == pytest.approx(alone.item / 3)
    assert alone.variance(n_items=12, n_clusters=12) == pytest.approx(alone.item / 12)
    assert "no cluster holds two items" in " ".join(alone.notes)
    assert "all items lie in one cluster" in " ".join(difference_parts([0.0, 1.0, 3.0], clusters=[0, 0, 0]).notes)
    noisy = {"trial_variances": ([0.2] * 3, [0.4] * 3), "n_trials": ([2] * 3, [4] * 3)}
    assert difference_parts([0.0, 1.0, 3.0], clusters=[0, 1, 2], **noisy).item == pytest.approx(7 / 3 - 0.1 - 0.1)
    assert alone.trials == (None, None)
    assert "trial noise is counted" in " ".join(alone.notes)
    one_side = difference_parts([0.0, 1.0, 3.0], trial_variances=([np.nan] * 3, [0.1] * 3), n_trials=([1] * 3, [2] * 3))
    assert one_side.trials == (None, pytest.approx(0.1))
    assert one_side.per_item((1, 4)) == pytest.approx(one_side.item + 0.025)
    for known, noise in (([0.1, 0.3, np.nan], 0.2), ([0.1, np.nan, np.nan], None)):
        told = difference_parts([0.0, 1.0, 3.0], trial_variances=(known, known), n_trials=([2] * 3, [2] * 3))
        assert told.trials[0] == (None if noise is None else pytest.approx(noise))


def test_cheapest_trials_minimise_the_variance_of_a_budget():
    item, trials, cost_item, cost_trial = 0.05, 0.3, 5.0, 0.6
    best = cheapest_trials(item, trials, cost_item=cost_item, cost_trial=cost_trial)

    def variance(k):
        return (item + trials / k) * (cost_item + k * cost_trial)

    grid = np.linspace(1, 40, 40_000)
    assert best == pytest.approx(grid[np.argmin(variance(grid))], abs=0.01)
    assert cheapest_trials(0.5, 0.01, cost_item=0.0, cost_trial=1.0) == 1.0
    assert cheapest_trials(0.5, 0.0, cost_item=1.0, cost_trial=1.0) == 1.0
    assert cheapest_trials(0.0, 0.1, cost_item=1.0, cost_trial=1.0) == math.inf
    assert cheapest_trials(0.0, 0.0, cost_item=1.0, cost_trial=1.0) == 1.0  # nothing varies, so one is enough


def test_degrees_of_freedom_are_those_of_clusters_or_of_items():
    d = [0.0, 1.0, 3.0, 2.0]
    assert difference_parts(d).df() == 3.0
    assert difference_parts(d).df(n_items=50) == 49.0
    assert difference_parts(d, clusters=[0, 0, 1, 1]).df() == pytest.approx(1.0)
    assert difference_parts(d, clusters=[0, 0, 0, 0]).df() == 0.0
    assert difference_parts(d, clusters=[0, 0, 1, 1]).df(12) == pytest.approx(11.0)


def test_scaled_parts_scale_the_variance_of_every_design_and_leave_what_is_unknown():
    parts = DifferenceParts(cluster=0.3, item=0.5, trials=(None, 0.2), sizes=(3, 5, 4), n_items=12, n_trials=(1.0, 2.0))
    more = parts.scaled(4.0)
    assert (more.cluster, more.item, more.trials) == (1.2, 2.0, (None, 0.8))
    assert parts.scaled(1.0) == parts
    for design in ({}, {"n_items": 90.0}, {"n_clusters": 7}, {"n_trials": (3.0, 5.0)}):
        assert more.variance(**design) == pytest.approx(4.0 * parts.variance(**design), rel=1e-12)
    bare = DifferenceParts(item=0.5, trials=(0.1, None), n_items=12).scaled(2.0)
    assert (bare.cluster, bare.item, bare.trials) == (None, 1.0, (0.2, None))


def test_two_clusters_are_enough_to_tell_items_from_clusters():
    """Mean squares of a one-way analysis of variance, equal sizes: MSW, and (MSB - MSW) / 3."""
    d = np.array([0.0, 1.0, 2.0, 5.0, 7.0, 6.0])
    found = difference_parts(d, clusters=[0, 0, 0, 1, 1, 1])
    within = (d[:3].var(ddof=1) + d[3:].var(ddof=1)) / 2
    among = 3 * np.var([d[:3].mean(), d[3:].mean()], ddof=1)
    assert (found.item, found.cluster) == pytest.approx((within, (among - within) / 3))
    alone = difference_parts(d, clusters=np.zeros(6, dtype=int))
    assert (alone.cluster, alone.item) == (None, pytest.approx(d.var(ddof=1)))
    assert difference_parts([0.0, 1.0]).item == pytest.approx(0.5)
