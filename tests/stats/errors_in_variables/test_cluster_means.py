"""Means of models whose units share clusters: the same covariance as on a dense table, for sparse ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import InputError
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance, cluster_means
from evalstats.stats.estimate import t_quantile
from evalstats.stats.many.pair_table import score_covariance

ROUNDING = 1e-12


def summed(values: np.ndarray, clusters: np.ndarray):
    """A table with gaps as entries."""
    item, model = np.nonzero(~np.isnan(values))
    return cluster_means(
        clusters[item],
        model,
        np.ones(item.size),
        values[item, model],
        n_clusters=int(clusters.max()) + 1,
        n_models=values.shape[1],
    )


@given(st.integers(0, 10_000))
def test_it_is_the_covariance_of_a_dense_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (60, 4)).astype(float)
    values[rng.random((60, 4)) < 0.1] = np.nan
    clusters = rng.integers(0, 15, 60)
    found = summed(values, clusters)
    assert found.covariance is not None
    np.testing.assert_allclose(found.estimate, np.nanmean(values, axis=0), rtol=ROUNDING)
    np.testing.assert_allclose(found.covariance, score_covariance(values, clusters=clusters), atol=ROUNDING)


def test_each_unit_on_its_own_is_the_covariance_of_means() -> None:
    values = np.random.default_rng(1).random((30, 3))
    found = summed(values, np.arange(30))
    assert found.covariance is not None
    np.testing.assert_allclose(found.covariance, np.cov(values, rowvar=False) / 30, rtol=1e-10)
    assert found.df == pytest.approx(29.0)


def test_models_that_share_no_cluster_do_not_covary() -> None:
    rng = np.random.default_rng(2)
    model = np.repeat([0, 1], 20)
    found = cluster_means(np.arange(40), model, np.ones(40), rng.random(40), n_clusters=40, n_models=2)
    assert found.covariance is not None
    assert found.covariance[0, 1] == 0.0


def test_entries_of_one_cluster_are_added_up() -> None:
    rng = np.random.default_rng(3)
    cluster, model = rng.integers(0, 9, 80), rng.integers(0, 2, 80)
    score, weight = rng.random(80), rng.random(80)
    split = cluster_means(cluster, model, weight, weight * score, n_clusters=9, n_models=2)
    keys = cluster * 2 + model
    n, total = np.bincount(keys, weight, 18), np.bincount(keys, weight * score, 18)
    merged = cluster_means(np.arange(18) // 2, np.arange(18) % 2, n, total, n_clusters=9, n_models=2)
    np.testing.assert_allclose(split.estimate, merged.estimate, rtol=ROUNDING)
    assert split.covariance is not None
    assert merged.covariance is not None
    np.testing.assert_allclose(split.covariance, merged.covariance, atol=ROUNDING)


def test_few_clusters_give_no_error_but_a_reason() -> None:
    codes = np.arange(8) % 4
    found = cluster_means(codes, np.zeros(8, int), np.ones(8), np.arange(8.0), n_clusters=4, n_models=1)
    assert found.covariance is None
    assert found.reason is not None
    assert "4 clusters" in found.reason


def test_clustered_errors_cover() -> None:
    """95% intervals of a mean over users with an effect of their own, and unequal activity."""
    rng = np.random.default_rng(5)
    inside = 0
    rounds = 400
    for _ in range(rounds):
        user = np.repeat(np.arange(60), rng.integers(1, 9, 60))
        model = rng.integers(0, 3, user.size)
        score = rng.normal(0, 0.6, 60)[user] + rng.normal(0, 0.5, user.size)
        found = cluster_means(user, model, np.ones(user.size), score, n_clusters=60, n_models=3)
        assert found.covariance is not None
        difference = found.estimate[0] - found.estimate[1]
        variance = found.covariance[0, 0] + found.covariance[1, 1] - 2 * found.covariance[0, 1]
        assert found.df is not None
        inside += abs(difference) < t_quantile(0.95, found.df) * np.sqrt(variance)
    # Three Monte Carlo standard errors about .95.
    assert abs(inside / rounds - 0.95) < 3 * np.sqrt(0.95 * 0.05 / rounds)


def test_noise_that_all_models_share_is_no_noise() -> None:
    own = np.diag([0.1, 0.2, 0.3])
    assert centred_variance(own + 7.0) == pytest.approx(centred_variance(own))
    assert centred_variance(own) == pytest.approx(0.2)


def test_scores_that_are_none_are_refused() -> None:
    with pytest.raises(InputError, match="NaN"):
        LabLiveScores(lab=np.array([1.0, np.nan]), live=np.zeros(2))
    with pytest.raises(InputError, match="no covariance"):
        LabLiveScores(lab=np.zeros(2), live=np.zeros(2), lab_covariance=np.array([[1.0, 2.0], [0.0, 1.0]]))
