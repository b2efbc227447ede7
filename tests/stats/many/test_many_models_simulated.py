"""Error rates of what is said of many models, by simulation with seeds.

Quick versions allow 4 binomial standard errors, so that only a fault fails them; the slow ones draw many more. The normal
law with the clusters' covariance is simulated beside: it must fail where the methods do not.
"""

import math

import numpy as np
import pytest
from scipy import special

from evalstats.stats.many import reference_laws
from evalstats.stats.many.pair_table import score_covariance
from evalstats.stats.many.pairwise import pairwise_differences
from evalstats.stats.many.ranks import rank_sets, rank_sets_normal, with_the_best

EVEN, UNEVEN = (5,), (2, 3, 20)
DRAWS = 199


@pytest.fixture(autouse=True)
def few_patterns(monkeypatch):
    """List patterns up to 128 only: draws stay exact tests, and replicates stay fast."""
    monkeypatch.setattr(reference_laws, "_MOST_STATISTICS", 6000)


def allowance(replicates, rate=0.05):
    return 4 * math.sqrt(rate * (1 - rate) / replicates)


def clustered(rng, n_clusters, sizes, means, *, binary=False):
    """Scores with a model x cluster effect; returns them and the clusters."""
    codes = np.repeat(np.arange(n_clusters), rng.choice(sizes, n_clusters))
    effect = 0.7 * rng.normal(size=(n_clusters, len(means))) + rng.normal(size=(n_clusters, 1))
    latent = effect[codes] + rng.normal(size=(codes.size, len(means))) + means
    return ((latent > 0).astype(float) if binary else latent), codes


def independent(rng, n, means):
    """Right-or-wrong items with difficulties."""
    return (rng.normal(size=(n, 1)) + rng.normal(size=(n, len(means))) + means > -0.5).astype(float)


@pytest.mark.parametrize(
    ("n_clusters", "sizes", "binary", "replicates"),
    [
        pytest.param(15, EVEN, False, 40, id="15"),
        *(
            pytest.param(g, sizes, binary, 4000, id=f"{g}-{len(sizes)}-{binary}-long", marks=pytest.mark.slow)
            for g in (7, 15, 40)
            for sizes in (EVEN, UNEVEN)
            for binary in (False, True)
        ),
    ],
)
def test_rank_sets_of_equal_models_hold_together_with_clusters(n_clusters, sizes, binary, replicates):
    """Ten equal models: every false separation is a miss. .946 to .985 measured (4,000 tables each).

    N(0, V) with the plain sandwich holds .41, .74 and .90 of the time at 7, 15 and 40 equal clusters, less at unequal ones.
    """
    rng = np.random.default_rng(n_clusters + len(sizes))
    ours, normal = [], []
    for seed in range(replicates):
        scores, codes = clustered(rng, n_clusters, sizes, np.zeros(10), binary=binary)
        ours.append((rank_sets(scores, clusters=codes, n_resamples=DRAWS, seed=seed).low == 1).all())
        if seed < 200:
            plain = score_covariance(scores, clusters=codes) * (1 - 1 / n_clusters) + 1e-9 * np.eye(10)
            known = rank_sets_normal(scores.mean(axis=0), plain, n_resamples=499, seed=seed)
            normal.append((known.low == 1).all())
    assert np.mean(ours) >= 0.95 - allowance(replicates)
    assert np.mean(normal) < np.mean(ours)
    if replicates > 100:
        assert np.mean(normal) < (0.945 if n_clusters == 40 else 0.87)


@pytest.mark.parametrize(
    ("n", "replicates"),
    [
        pytest.param(60, 25, id="60"),
        pytest.param(200, 10_000, id="200-long", marks=pytest.mark.slow),
        pytest.param(100, 4000, id="100-long", marks=pytest.mark.slow),
        pytest.param(60, 4000, id="60-long", marks=pytest.mark.slow),
        pytest.param(1000, 2000, id="1000-long", marks=pytest.mark.slow),
    ],
)
def test_rank_sets_of_equal_models_hold_together_with_independent_items(n, replicates):
    rng = np.random.default_rng(n)
    held = [
        (rank_sets(independent(rng, n, np.zeros(10)), n_resamples=DRAWS, seed=seed).low == 1).all()
        for seed in range(replicates)
    ]
    assert np.mean(held) >= 0.94 - allowance(replicates)


@pytest.mark.parametrize("replicates", [30, pytest.param(5000, marks=pytest.mark.slow)])
def test_rank_sets_of_unequal_models_hold_true_ranks(replicates):
    """Two equal pairs and two apart, with missing scores: true ranks (ties take all their places) are in the sets."""
    rng = np.random.default_rng(1)
    means = np.array([0.0, 0.0, 0.25, 0.5, 0.5, 1.0])
    best = 1 + (means[:, None] < means).sum(axis=1)
    worst = 6 - (means[:, None] > means).sum(axis=1)
    held, told = [], []
    for seed in range(replicates):
        scores = independent(rng, 150, means)
        scores[rng.random(scores.shape) < 0.05] = np.nan
        found = rank_sets(scores, n_resamples=DRAWS, seed=seed)
        held.append(((found.low <= best) & (worst <= found.high)).all())
        told.append((found.high < 6).sum() + (found.low > 1).sum())
    assert np.mean(held) >= 0.94 - allowance(replicates)
    assert np.mean(told) > 3


@pytest.mark.parametrize("replicates", [30, pytest.param(8000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["binary", "clusters"])
def test_family_wise_error_under_a_partial_null(kind, replicates):
    """Three equal models and two far better ones: false claims among the equal ones in at most 5% of tables."""
    rng = np.random.default_rng(2)
    means = np.array([0.0, 0.0, 0.0, 1.5, 2.5])
    false, found_true = [], []
    for seed in range(replicates):
        if kind == "binary":
            found = pairwise_differences(independent(rng, 60, means), binary=True, n_resamples=DRAWS, seed=seed)
        else:
            scores, codes = clustered(rng, 12, UNEVEN, means)
            found = pairwise_differences(scores, clusters=codes, n_resamples=DRAWS, seed=seed)
        equal = (found.first < 3) & (found.second < 3)
        false.append((found.p_adjusted[equal] <= 0.05).any())
        found_true.append((found.p_adjusted[~equal] <= 0.05).mean())
    assert np.mean(false) <= 0.05 + allowance(replicates)
    assert np.mean(found_true) > 0.5


@pytest.mark.parametrize(
    ("n_clusters", "sizes", "replicates"),
    [
        pytest.param(7, UNEVEN, 60, id="7-uneven"),
        *(
            pytest.param(g, sizes, 4000, id=f"{g}-{len(sizes)}-long", marks=pytest.mark.slow)
            for g in (7, 15, 40)
            for sizes in (EVEN, UNEVEN)
        ),
    ],
)
def test_simultaneous_intervals_cover_clusters_of_unequal_models(n_clusters, sizes, replicates):
    """.93 to .97 measured; with the wild quantile alone .84 at 7 uneven clusters."""
    rng = np.random.default_rng(n_clusters)
    means = np.linspace(0, 1, 6)
    truth = special.ndtr(means / math.sqrt(1 + 0.7**2 + 1))
    covered = []
    for seed in range(replicates):
        scores, codes = clustered(rng, n_clusters, sizes, means, binary=True)
        found = pairwise_differences(scores, clusters=codes, bounds=(0.0, 1.0), n_resamples=DRAWS, seed=seed)
        gap = truth[found.first] - truth[found.second]
        inside = (found.conf_low <= gap) & (gap <= found.conf_high)
        covered.append((inside | np.isnan(found.conf_low)).all())
    assert np.mean(covered) >= 0.93 - allowance(replicates)


@pytest.mark.parametrize(
    ("level", "replicates"), [(2.0, 30), *(pytest.param(level, 5000, marks=pytest.mark.slow) for level in (0.5, 2.0))]
)
def test_simultaneous_tango_limits_cover_near_the_ceiling(level, replicates):
    """Four models on 60 items, from three quarters right to nearly all right: t intervals have width 0 there."""
    rng = np.random.default_rng(3)
    means = level + np.array([0.0, 0.0, 0.3, 0.6])
    truth = special.ndtr((means + 0.5) / math.sqrt(2))
    covered = []
    for seed in range(replicates):
        found = pairwise_differences(independent(rng, 60, means), binary=True, n_resamples=DRAWS, seed=seed)
        gap = truth[found.first] - truth[found.second]
        covered.append(((found.conf_low <= gap) & (gap <= found.conf_high)).all())
    assert np.mean(covered) >= 0.95 - allowance(replicates)


@pytest.mark.parametrize("replicates", [25, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["items", "clusters"])
def test_comparisons_with_the_best_hold_together(kind, replicates):
    rng = np.random.default_rng(4)
    means = np.array([0.0, 0.3, 0.6, 0.6])
    held, shortened = [], []
    for seed in range(replicates):
        if kind == "items":
            scores, codes = independent(rng, 150, means), None
            truth = special.ndtr((means + 0.5) / math.sqrt(2))
        else:
            scores, codes = clustered(rng, 25, UNEVEN, means)
            truth = means
        found = with_the_best(scores, clusters=codes, binary=codes is None, n_resamples=DRAWS, seed=seed)
        lead = np.array([truth[j] - np.delete(truth, j).max() for j in range(4)])
        held.append(((found.low <= lead) & (lead <= found.high)).all())
        shortened.append(found.not_best.any())
    assert np.mean(held) >= 0.95 - allowance(replicates)
    assert np.mean(shortened) > 0.3
