"""Coverage and type-I error by simulation, with seeds.

Quick versions allow 4 binomial standard errors around the stated range, so that only a fault, not chance, fails them; the
slow ones draw fifty times as much. Stated ranges are those of the method's own simulations (see each docstring).
"""

import math

import numpy as np
import pytest
from scipy.special import expit

from evalstats.stats.bootstrap import percentile_law
from evalstats.stats.clusters import (
    cluster_mean,
    cluster_sign_flip,
    multiway_mean,
    undeclared_dependence,
    wild_cluster_p,
)
from evalstats.stats.one_sample import mean_t, variance_matched_wilson
from evalstats.stats.paired.means import augmented_t, paired_t, sign_flip
from evalstats.stats.trials import suite_pass
from tests.stats.coverage import allowance, covered

LEVEL = 0.95
REPLICATES = [pytest.param(200, id="quick"), pytest.param(10_000, id="long", marks=pytest.mark.slow)]


def share(outcomes):
    return float(np.mean(list(outcomes)))


def beta_rates(rng, mean, spread, size):
    """Success rates of items with this mean; `spread` near 0 makes items alike, near 1 all or nothing."""
    strength = 1 / spread - 1
    return rng.beta(mean * strength, (1 - mean) * strength, size)


def unequal_sizes(n_clusters):
    """Seven to one: one cluster in four is large."""
    return np.where(np.arange(n_clusters) % 4 == 0, 28, 4)


@pytest.mark.parametrize("replicates", REPLICATES)
@pytest.mark.parametrize("n", [20, 43, 100])
def test_variance_matched_wilson_covers_near_the_ceiling(n, replicates):
    """Binary, 3 trials, true .988: .95 to .97 where t covers .49 (n = 20) to .92 (n = 300)."""
    rng = np.random.default_rng(n)
    scores = [rng.binomial(3, beta_rates(rng, 0.988, 0.5, n)) / 3 for _ in range(replicates)]
    assert share(covered(variance_matched_wilson(x), 0.988) for x in scores) >= 0.93 - allowance(replicates)
    if n == 20:
        assert share(covered(mean_t(x), 0.988) for x in scores) < 0.6


@pytest.mark.parametrize("replicates", REPLICATES)
def test_variance_matched_wilson_covers_graded_scores_at_the_ceiling(replicates):
    """90% of the scores at 1, the rest from Beta(1/2, 1/2), n = 43: t covers .87, Wilson at n_hat .91, this one .95."""
    rng = np.random.default_rng(1)
    scores = [np.where(rng.random(43) < 0.9, 1.0, rng.beta(0.5, 0.5, 43)) for _ in range(replicates)]
    assert share(covered(variance_matched_wilson(x), 0.95) for x in scores) >= 0.945 - allowance(replicates)
    assert share(covered(mean_t(x), 0.95) for x in scores) < 0.9


@pytest.mark.parametrize(
    ("n_clusters", "rate", "replicates"),
    [
        *((5, 0.6, 200), (12, 0.9, 200), (40, 0.97, 200)),
        *(pytest.param(g, r, 10_000, marks=pytest.mark.slow) for g in (5, 12, 40) for r in (0.6, 0.9, 0.97)),
    ],
)
def test_variance_matched_wilson_covers_clusters(n_clusters, rate, replicates):
    """Unequal clusters (7:1), strong dependence: .93 and more, where Wilson at n_hat falls to .81 (G = 40, .9)."""
    rng = np.random.default_rng(n_clusters)
    clusters = np.repeat(np.arange(n_clusters), unequal_sizes(n_clusters))
    hits = []
    for _ in range(replicates):
        rates = beta_rates(rng, rate, 0.7, n_clusters)[clusters]
        scores = (rng.random(clusters.size) < rates) * 1.0
        hits.append(covered(variance_matched_wilson(scores, clusters=clusters), rate))
    assert share(hits) >= 0.93 - allowance(replicates)


PAIRS = [(20, 0.95, 0.95), (43, 0.98, 0.98), (43, 0.9, 0.98), (100, 0.6, 0.7), (20, 0.5, 0.5)]


@pytest.mark.parametrize("replicates", REPLICATES)
@pytest.mark.parametrize(("n", "baseline", "candidate"), PAIRS)
def test_augmented_t_covers_means_of_three_trials(n, baseline, candidate, replicates):
    """At least .944 in all 84 cells tried; items shared, so the models' rates are dependent."""
    rng = np.random.default_rng(n)
    hits, plain = [], []
    for _ in range(replicates):
        hard = rng.random(n)
        rates = [np.where(hard < 0.7, beta_rates(rng, p, 0.3, n), p) for p in (baseline, candidate)]
        d = (rng.binomial(3, rates[1]) - rng.binomial(3, rates[0])) / 3
        hits.append(covered(augmented_t(d), candidate - baseline))
        plain.append(covered(paired_t(d), candidate - baseline))
    assert share(hits) >= 0.944 - allowance(replicates)
    assert share(hits) >= share(plain) - 0.005


@pytest.mark.parametrize("replicates", REPLICATES)
@pytest.mark.parametrize(("n", "trials"), [(10, 40), (20, 20), (20, 40), (43, 20)])
def test_augmented_t_covers_at_its_worst(n, trials, replicates):
    """The worst of 24 worlds (means of .5 to .98, gains of 0 to .1, ICC .02 to .95): .90 and .98, ICC .3; .93 and more."""
    rng = np.random.default_rng(n + trials)
    hits = []
    for _ in range(replicates):
        rates = [beta_rates(rng, p, 0.3, n) for p in (0.9, 0.98)]
        hits.append(
            covered(augmented_t((rng.binomial(trials, rates[1]) - rng.binomial(trials, rates[0])) / trials), 0.08)
        )
    assert share(hits) >= 0.93 - allowance(replicates)


@pytest.mark.parametrize("replicates", REPLICATES)
@pytest.mark.parametrize(("n", "trials", "least_power"), [(10, 10, 0.08), (10, 40, 0.5), (20, 40, 0.95), (43, 10, 0.8)])
def test_augmented_t_of_shares_of_many_trials_covers_and_finds(n, trials, least_power, replicates):
    """Tasks of mixed difficulty, half a logit better: t finds .28, .78, .99 and .89; a floor under c would leave .015 of .78."""
    rng = np.random.default_rng(n + trials)
    z = rng.normal(0.3, 1.0, (replicates, n))
    d = (rng.binomial(trials, expit(z + 0.5)) - rng.binomial(trials, expit(z))) / trials
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    truth = weights @ (expit(nodes + 0.8) - expit(nodes + 0.3)) / math.sqrt(2 * math.pi)
    found = [augmented_t(row) for row in d]
    assert share([covered(each, truth) for each in found]) >= 0.944 - allowance(replicates)
    assert share([each.conf_low > 0 for each in found]) >= least_power - allowance(replicates)


@pytest.mark.parametrize("replicates", REPLICATES)
@pytest.mark.parametrize("n_clusters", [5, 7, 12])
def test_cr2_keeps_its_size_with_few_unequal_clusters(n_clusters, replicates):
    """Type I .05 to .07 at this ICC of .5; the cluster sign-flip at most .05."""
    rng = np.random.default_rng(100 + n_clusters)
    clusters = np.repeat(np.arange(n_clusters), unequal_sizes(n_clusters))
    rejected, flipped = [], []
    for _ in range(replicates):
        d = rng.normal(size=clusters.size) + rng.normal(size=n_clusters)[clusters]
        rejected.append(cluster_mean(d, clusters).estimate.p_value < 0.05)
        flipped.append(cluster_sign_flip(d, clusters).p_value < 0.05)
    assert 0.045 - allowance(replicates) <= share(rejected) <= 0.072 + allowance(replicates)
    assert share(flipped) <= 0.05 + allowance(replicates)


@pytest.mark.parametrize("replicates", REPLICATES)
def test_two_cluster_columns_keep_the_size_that_one_loses(replicates):
    rng = np.random.default_rng(17)
    two_way, one_way = [], []
    for _ in range(replicates // 2):
        passage, user = rng.integers(0, 15, 200), rng.integers(0, 15, 200)
        d = rng.normal(size=200) + rng.normal(size=15)[passage] + rng.normal(size=15)[user]
        two_way.append(multiway_mean(d, [passage, user]).estimate.p_value < 0.05)
        one_way.append(cluster_mean(d, passage).estimate.p_value < 0.05)
    assert share(two_way) <= 0.075 + allowance(replicates // 2)
    assert share(one_way) > 0.12


@pytest.mark.slow
def test_wild_cluster_bootstrap_keeps_its_size():
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(8), unequal_sizes(8))
    rejected = []
    for seed in range(1000):
        d = rng.normal(size=clusters.size) + rng.normal(size=8)[clusters]
        rejected.append(wild_cluster_p(d, clusters, seed=seed, n_resamples=399) < 0.05)
    assert 0.02 <= share(rejected) <= 0.05 + allowance(1000)


@pytest.mark.parametrize("replicates", REPLICATES)
@pytest.mark.parametrize("n", [8, 30, 200])
def test_sign_flip_keeps_its_size_under_symmetry(n, replicates):
    rng = np.random.default_rng(n)
    p = [sign_flip((rng.binomial(3, 0.5, n) - rng.binomial(3, 0.5, n)) / 3).p_value for _ in range(replicates)]
    assert share(value <= 0.05 for value in p) <= 0.05 + allowance(replicates)
    if n == 200:
        assert share(value <= 0.5 for value in p) == pytest.approx(0.5, abs=0.03 + allowance(replicates, 0.5))


@pytest.mark.parametrize(
    "replicates", [pytest.param(60, id="quick"), pytest.param(1500, id="long", marks=pytest.mark.slow)]
)
def test_dependence_rule_seldom_raises_a_false_alarm(replicates):
    """Ten unrelated factors: a warning in 4 to 7% of tables; design effects above 1.5 alone would warn in over half."""
    rng = np.random.default_rng(6)
    warned, large = [], []
    for seed in range(replicates):
        d = rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.7, 0.2], size=80)
        factors = {f"f{k}": rng.integers(0, levels, 80) for k, levels in enumerate([2, 2, 3, 4, 5, 6, 8, 10, 15, 25])}
        found = undeclared_dependence(d, factors, seed=seed, n_permutations=199)
        warned.append(any(f.flag == "warn" for f in found))
        large.append(any(f.design_effect >= 1.5 for f in found))
    assert share(warned) <= 0.055 + allowance(replicates)
    assert share(large) > 0.4
    if replicates > 1000:
        assert share(warned) >= 0.03


@pytest.mark.parametrize("replicates", REPLICATES)
def test_pass_hat_covers_near_the_ceiling(replicates):
    """pass^4 of items from Beta(30, .1), 8 trials, 100 items: t covers .90, and .1 of suites show no failure."""
    rng = np.random.default_rng(3)
    truth = math.prod((30 + j) / (30.1 + j) for j in range(4))
    hits = [
        covered(suite_pass(8, rng.binomial(8, rng.beta(30, 0.1, 100)), 4, kind="hat"), truth) for _ in range(replicates)
    ]
    assert share(hits) >= 0.945 - allowance(replicates)


@pytest.mark.parametrize("replicates", REPLICATES)
def test_cluster_percentile_undercovers_as_its_warning_says(replicates):
    """Why it is never the default: about .88 with 10 clusters of 6 items (sim_cluster_coverage: .88 to .91)."""
    rng = np.random.default_rng(8)
    clusters = np.arange(60) // 6
    hits = []
    for _ in range(replicates // 4):
        d = rng.normal(size=60) + 0.6 * rng.normal(size=10)[clusters]
        hits.append(covered(percentile_law(d, clusters=clusters), 0.0))
    assert share(hits) == pytest.approx(0.89, abs=0.02 + allowance(replicates // 4, 0.1))
