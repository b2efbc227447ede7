"""Simulated power against closed forms, and against the methods themselves on the same draws."""

import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.clusters import cluster_mean, cluster_sign_flip
from evalstats.stats.paired.means import augmented_t, paired_t
from evalstats.stats.planning.clusters import simulated_power
from evalstats.stats.planning.mean import mean_margin_power, mean_power


def near(found, expected):
    """Within 4 standard errors of the simulation."""
    return abs(found.power - expected) <= 4 * math.sqrt(0.25 / found.n_resamples)


def test_normal_items_give_the_noncentral_t():
    found = simulated_power(0.4, n_items=30, variance=0.5, n_resamples=8000)
    assert near(found, mean_power(0.4, math.sqrt(0.5 / 30), 29))
    wilson = stats.binomtest(round(found.power * 8000), 8000).proportion_ci(method="wilson")
    assert (found.conf_low, found.conf_high) == pytest.approx((wilson.low, wilson.high))


@pytest.mark.parametrize("claim", ["noninferiority", "equivalence"])
def test_margins_give_the_closed_form(claim):
    found = simulated_power(0.05, n_items=25, variance=0.3, claim=claim, margin=0.35, n_resamples=8000)
    assert near(found, mean_margin_power(0.05, 0.35, math.sqrt(0.3 / 25), 24, test=claim))


def test_equal_clusters_give_the_margin_of_their_means():
    found = simulated_power(
        0.0,
        n_items=40,
        variance=0.6,
        cluster_variance=0.4,
        shares=np.ones(10),
        rule="cr2",
        claim="equivalence",
        margin=0.9,
        n_resamples=8000,
    )
    assert near(found, mean_margin_power(0.0, 0.9, math.sqrt(0.4 / 10 + 0.6 / 40), 9, test="equivalence"))


def test_the_size_is_kept_where_there_is_no_difference():
    """One direction of a two-sided 5% test."""
    for rule, shares in (("t", None), ("augmented-t", None), ("cr2", np.ones(12))):
        found = simulated_power(0.0, n_items=48, variance=0.3, rule=rule, shares=shares, n_resamples=8000)
        assert found.power <= 0.025 + 4 * math.sqrt(0.025 / 8000)


def test_pilot_noise_keeps_its_ties_and_the_rule_is_the_method_itself():
    """The same draws through `augmented_t`; differences of thirds, moved by delta."""
    pool = np.array([0.0] * 20 + [1 / 3] * 6 + [-1 / 3] * 4 + [2 / 3])
    n, delta, variance = 60, 0.04, 0.05
    found = simulated_power(delta, n_items=n, variance=variance, pool=pool, rule="augmented-t", n_resamples=600, seed=9)
    standard = (pool - pool.mean()) / pool.std()
    draws = delta + math.sqrt(variance) * standard[np.random.default_rng(9).integers(0, pool.size, size=(600, n))]
    hits = sum(augmented_t(d, bound=2.0).conf_low > 0 for d in draws)
    other = simulated_power(
        delta,
        n_items=n,
        variance=variance,
        pool=pool,
        rule="augmented-t",
        bound=2.0,
        n_resamples=600,
        seed=9,
    )
    assert other.power == hits / 600
    plain = simulated_power(delta, n_items=n, variance=variance, pool=pool, n_resamples=600, seed=9)
    assert plain.power == sum(paired_t(d).conf_low > 0 for d in draws) / 600
    assert found.power <= plain.power


def test_cluster_noise_of_a_pilot_is_added_up_by_cluster():
    pool = np.random.default_rng(4).exponential(1.0, 400)
    shares = np.arange(1.0, 11.0)
    drawn, normal = (
        simulated_power(
            0.25, n_items=550, variance=1.0, cluster_variance=0.02, pool=each, shares=shares, rule="cr2", seed=2
        )
        for each in (pool, None)
    )
    assert abs(drawn.power - normal.power) < 4 * math.sqrt(0.5 / 4000)


def test_sums_on_a_lattice_keep_their_variance_and_have_ties():
    """Right/wrong items drawn as they are, against normal sums rounded to whole items."""
    n_clusters, size, psi, delta = 8, 6, 0.4, 0.34
    rounded = simulated_power(
        delta, n_items=48, variance=psi - delta**2, shares=np.ones(8), rule="cr2", step=1.0, n_resamples=8000
    )
    smooth = simulated_power(
        delta, n_items=48, variance=psi - delta**2, shares=np.ones(8), rule="cr2", n_resamples=8000
    )
    rng, clusters = np.random.default_rng(1), np.repeat(np.arange(n_clusters), size)
    draws = rng.choice([-1.0, 0.0, 1.0], size=(500, 48), p=[(psi - delta) / 2, 1 - psi, (psi + delta) / 2])
    hits = [
        (cluster_mean(d, clusters).estimate.conf_low or 0.0) > 0 and cluster_sign_flip(d, clusters).p_value <= 0.05
        for d in draws
    ]
    assert rounded.power == pytest.approx(np.mean(hits), abs=0.02 + 4 * math.sqrt(0.2 / 500))
    assert rounded.power < smooth.power - 0.03


def test_downward_differences_count_downward():
    up, down = (simulated_power(delta, n_items=20, variance=0.2, seed=1) for delta in (0.25, -0.25))
    assert near(up, down.power)
    assert up.power > 0.4


def test_too_few_clusters_never_claim():
    assert simulated_power(9.0, n_items=40, variance=1.0, shares=np.ones(4), rule="cr2").power == 0.0
    assert simulated_power(9.0, n_items=60, variance=1.0, shares=[10, 1, 1, 1, 1, 1], rule="cr2").power == 0.0
    assert simulated_power(9.0, n_items=40, variance=1.0, shares=np.ones(5), rule="cr2").power == 0.0


def test_the_seed_decides_the_draws():
    one, same, other = (simulated_power(0.1, n_items=50, variance=0.2, seed=seed).power for seed in (1, 1, 2))
    assert one == same != other


def test_non_inferiority_at_no_margin_is_a_difference_by_a_one_sided_test():
    told = {"n_items": 20, "variance": 0.2, "n_resamples": 500, "seed": 4}
    one_sided = simulated_power(0.2, **told, claim="noninferiority", margin=0.0, conf_level=0.95)
    assert one_sided.power == simulated_power(0.2, **told, conf_level=0.9).power
    assert 0.3 < one_sided.power < 0.9


def test_one_simulated_comparison_of_two_items_is_the_least():
    assert simulated_power(90.0, n_items=2, variance=1e-4, n_resamples=1).power == 1.0
    for few in ({"n_items": 1}, {"n_items": 2, "n_resamples": 0}):
        with pytest.raises(InputError, match="at least"):
            simulated_power(1.0, variance=1.0, **few)
