"""Wild cluster bootstrap: all sign patterns by hand, and both weight laws."""

from itertools import product

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.clusters import wild_cluster_p


def slow_t(values, clusters):
    n = len(values)
    total = 0.0
    for g in np.unique(clusters):
        inside = clusters == g
        total += (values[inside] - values.mean()).sum() ** 2 / (1 - inside.mean())
    return abs(values.mean()) / np.sqrt(total / n**2)


def test_rademacher_lists_every_pattern():
    rng = np.random.default_rng(6)
    clusters = np.repeat(np.arange(7), [3, 1, 5, 2, 2, 4, 1])
    values = rng.normal(0.8, 1.0, clusters.size)
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
    assert wild_cluster_p(values, clusters) == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 9999))


def test_a_p_value_is_never_zero_and_no_difference_is_one():
    assert wild_cluster_p(np.ones(8), np.arange(8), n_resamples=99, weights="webb") >= 1 / 100
    assert wild_cluster_p(np.zeros(8), np.arange(8), n_resamples=99) == 1.0


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="one cluster"):
        wild_cluster_p([1.0, 2.0], [0, 0])
