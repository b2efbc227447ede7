"""Wild cluster bootstrap: all sign patterns by hand, and both weight laws."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.clusters import _WEBB, _statistics, wild_cluster_p


def slow_t(values, clusters):
    n = len(values)
    total = 0.0
    for g in np.unique(clusters):
        inside = clusters == g
        total += (values[inside] - values.mean()).sum() ** 2 / (1 - inside.mean())
    return abs(values.mean()) / np.sqrt(total / n**2)


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.8])
def test_rademacher_lists_every_pattern(mean):
    rng = np.random.default_rng(6)
    clusters = np.repeat(np.arange(7), [3, 1, 5, 2, 2, 4, 1])
    values = rng.normal(mean, 1.0, clusters.size)
    observed = slow_t(values, clusters)
    patterns = [np.array(signs)[clusters] for signs in product((1.0, -1.0), repeat=7)]
    hits = sum(slow_t(signs * values, clusters) >= observed * (1 - 1e-9) for signs in patterns)
    assert wild_cluster_p(values, clusters, weights="rademacher") == hits / 2**7


def test_webb_weights_have_mean_zero_and_variance_one():
    """Six points +-sqrt(3/2), +-1, +-sqrt(1/2): the p of a mean far from 0 is small, of one at 0 large; seeds hold."""
    rng = np.random.default_rng(7)
    clusters = np.repeat(np.arange(12), 5)
    noise = rng.normal(size=60)
    centred = noise - noise.mean()
    assert wild_cluster_p(centred + 5.0, clusters) < 0.01
    assert wild_cluster_p(centred, clusters) > 0.99
    assert wild_cluster_p(noise, clusters, seed=4) == wild_cluster_p(noise, clusters, seed=4)


@pytest.mark.parametrize("shift", [0.4, 1.2])
def test_webb_s_p_is_the_share_of_all_patterns_of_the_six_weights(shift):
    clusters = np.repeat(np.arange(4), [3, 1, 2, 4])
    values = np.random.default_rng(2).normal(shift, 1.0, clusters.size)
    six = [sign * size for size in (1.5**0.5, 1.0, 0.5**0.5) for sign in (1.0, -1.0)]
    observed = slow_t(values, clusters) * (1 - 1e-9)
    hits = [slow_t(np.array(each)[clusters] * values, clusters) >= observed for each in product(six, repeat=4)]
    p = float(np.mean(hits))
    assert 0.02 < p < 0.98
    assert wild_cluster_p(values, clusters, n_resamples=200_000) == pytest.approx(
        p, abs=4 * np.sqrt(p * (1 - p) / 200_000)
    )


def test_a_p_value_is_never_zero_and_no_difference_is_one():
    assert wild_cluster_p(np.ones(8), np.arange(8), n_resamples=99, weights="webb") >= 1 / 100
    assert wild_cluster_p(np.zeros(8), np.arange(8), n_resamples=99) == 1.0


def test_draws_that_tie_with_the_observed_reach_it():
    """Sixteen equal clusters of sums +-1: |t| rises with |S|, and S is twice a binomial count less 16."""
    values, codes = np.repeat([1.0, -1.0], [24, 8]), np.repeat(np.arange(16), 2)
    p = 2 * float(stats.binom.cdf(4, 16, 0.5))
    found = wild_cluster_p(values, codes, weights="rademacher")
    assert found == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 9999))


def test_two_clusters_are_enough_for_a_test():
    values, codes = np.array([1.0, 1.5, 0.5]), np.array([0, 0, 1])
    t = [slow_t(np.array(signs)[codes] * values, codes) for signs in product((1.0, -1.0), repeat=2)]
    expected = np.mean([each >= t[0] * (1 - 1e-9) for each in t])
    assert wild_cluster_p(values, codes, weights="rademacher") == expected


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="one cluster"):
        wild_cluster_p([1.0, 2.0], [0, 0])


def test_a_mean_without_variance_is_the_most_extreme_and_no_mean_the_least():
    """Clusters of equal means: their flips all one way have no variance; half one way and half the other, no mean."""
    share, sums = np.full(4, 0.25), np.full(4, 0.25) * -3.0
    signs = np.array([[1.0, 1, 1, 1], [-1, -1, -1, -1], [1, 1, -1, -1], [1, 1, 1, -1]])
    t = _statistics(signs, sums, share)
    assert t[:3].tolist() == [np.inf, np.inf, 0.0]
    values, codes = np.repeat([-3.0, -3, -3, 3], 5), np.repeat(np.arange(4), 5)
    assert t[3] == pytest.approx(slow_t(values, codes))
    assert wild_cluster_p(np.full(20, -3.0), codes, weights="rademacher") == 2 / 16
    # What cancels but for rounding has neither.
    assert _statistics(signs[2:3], np.array([0.1, 0.2, 0.1, 0.2]), share)[0] < 1e-6
    none = np.array([0.1 + 0.2, 0.0, 0.3, 0.0]) * 1e-20 + np.array([1.0, 1.0, 1.0, 1.0])
    assert _statistics(signs[:1], none, share)[0] == np.inf


@pytest.mark.parametrize("weights", ["rademacher", "webb"])
def test_drawn_weights_are_as_many_as_asked_for_and_scale_does_not_matter(weights):
    rng = np.random.default_rng(8)
    codes = np.repeat(np.arange(14), 3)
    values = rng.normal(0.3, 1.0, codes.size)
    found = wild_cluster_p(values, codes, weights=weights, n_resamples=99, seed=3)
    assert (100 * found) % 1 == pytest.approx(0.0, abs=1e-9)
    assert wild_cluster_p(-7e5 * values, codes, weights=weights, n_resamples=99, seed=3) == found
    # Without a mean every draw reaches it.
    assert wild_cluster_p(np.tile([1.0, -1.0, 0.0], 14), codes, weights=weights, n_resamples=99) == 1.0


def test_a_single_draw_is_allowed_and_none_is_not():
    values, codes = np.random.default_rng(9).normal(size=30), np.arange(30) % 15
    assert wild_cluster_p(values, codes, n_resamples=1) in {0.5, 1.0}
    with pytest.raises(InputError, match="at least 1"):
        wild_cluster_p(values, codes, n_resamples=0)


def test_webb_s_points_and_signs_have_mean_0_and_moments_of_1_and_7_sixths():
    """Webb 2014: +-sqrt(1/2), +-1, +-sqrt(3/2); squares with a mean of 1, fourth powers with one of 7/6."""
    assert np.sort(np.square(_WEBB)) == pytest.approx([0.5, 1.0, 1.5])
    assert np.mean(np.power(_WEBB, 4)) == pytest.approx(7 / 6)
