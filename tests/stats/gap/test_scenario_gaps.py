"""Rates by model and cell against their definition, the clustered covariance against a dense one, and coverage."""

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.clusters import cluster_mean
from evalstats.stats.gap import (
    CellRates,
    _floor,
    cell_rates,
    combined,
    rate_gaps,
)
from evalstats.stats.many.pair_table import score_covariance

# Sums in another order differ by rounding.
CLOSE = 1e-12


def rates_of(scores: np.ndarray, cluster: np.ndarray, **bounds: float) -> CellRates:
    """From scores of shape (n_items, n_models, n_cells); NaN where there is none."""
    item, model, cell = np.nonzero(~np.isnan(scores))
    return cell_rates(
        cluster[item],
        model.astype(np.int64),
        cell.astype(np.int64),
        np.ones(item.size),
        scores[item, model, cell],
        n_clusters=int(cluster.max()) + 1,
        n_models=scores.shape[1],
        n_cells=scores.shape[2],
        **bounds,
    )


@pytest.fixture
def some() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    cluster = np.sort(rng.integers(9, size=60)).astype(np.int64)
    scores = rng.random((60, 3, 2)) + rng.normal(0, 0.3, 9)[cluster][:, None, None]
    scores[rng.random(scores.shape) < 0.2] = np.nan
    return scores, cluster


def test_rates_and_covariance_are_those_of_a_dense_table(some: tuple[np.ndarray, np.ndarray]):
    scores, cluster = some
    found = rates_of(scores, cluster)
    np.testing.assert_allclose(found.rate, np.nanmean(scores, axis=0), rtol=CLOSE)
    everything = combined(found, np.eye(6))
    np.testing.assert_allclose(
        everything.covariance, score_covariance(scores.reshape(60, 6), clusters=cluster), atol=CLOSE
    )
    assert found.n.sum() == np.count_nonzero(~np.isnan(scores))


def test_one_cell_is_the_clustered_mean(some: tuple[np.ndarray, np.ndarray]):
    scores, cluster = some
    found = combined(rates_of(scores, cluster), np.eye(6))
    for column in range(6):
        own = scores.reshape(60, 6)[:, column]
        has = ~np.isnan(own)
        known = cluster_mean(own[has], cluster[has]).estimate
        assert np.sqrt(found.covariance[column, column]) == pytest.approx(known.std_error, rel=CLOSE)
        assert found.df[column] == pytest.approx(known.df, rel=1e-9)


def test_a_mean_over_models_of_a_full_table_is_the_mean_of_item_means():
    rng = np.random.default_rng(6)
    cluster = np.repeat(np.arange(8), 5).astype(np.int64)
    scores = rng.random((40, 4, 1)) + rng.normal(0, 0.2, 8)[cluster][:, None, None]
    found = combined(rates_of(scores, cluster), np.full((1, 4), 0.25))
    known = cluster_mean(scores.mean(axis=(1, 2)), cluster).estimate
    assert found.estimate[0] == pytest.approx(known.estimate, rel=CLOSE)
    assert np.sqrt(found.covariance[0, 0]) == pytest.approx(known.std_error, rel=CLOSE)
    assert found.df[0] == pytest.approx(known.df, rel=1e-9)


def test_entries_of_one_cluster_and_cell_add_up(some: tuple[np.ndarray, np.ndarray]):
    scores, cluster = some
    whole = rates_of(scores, cluster)
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(60)
    again = rates_of(scores[shuffled], cluster[shuffled])
    np.testing.assert_allclose(again.rate, whole.rate, rtol=CLOSE)
    np.testing.assert_allclose(
        (again.residual.T @ again.residual).toarray(), (whole.residual.T @ whole.residual).toarray(), atol=CLOSE
    )


def test_weights_scale_out(some: tuple[np.ndarray, np.ndarray]):
    scores, cluster = some
    item, model, cell = np.nonzero(~np.isnan(scores))
    sizes = {"n_clusters": 9, "n_models": 3, "n_cells": 2}
    once, ten = (
        cell_rates(cluster[item], model, cell, np.full(item.size, w), w * scores[item, model, cell], **sizes)
        for w in (1.0, 10.0)
    )
    np.testing.assert_allclose(combined(ten, np.eye(6)).covariance, combined(once, np.eye(6)).covariance, atol=CLOSE)


def test_swapping_sides_turns_the_sign_only(some: tuple[np.ndarray, np.ndarray]):
    scores, cluster = some
    lab = combined(rates_of(scores, cluster), np.eye(6))
    live = combined(rates_of(scores[:30] ** 2, cluster[:30]), np.eye(6))
    there, back = rate_gaps(lab, live), rate_gaps(live, lab)
    np.testing.assert_allclose(there.estimate, -back.estimate, atol=CLOSE)
    np.testing.assert_allclose(there.std_error, back.std_error)
    np.testing.assert_allclose(there.p_value, back.p_value)
    np.testing.assert_allclose(there.df, back.df)


def test_welch_by_hand():
    rng = np.random.default_rng(2)
    lab, live = rng.random((12, 1, 1)), rng.random((20, 1, 1))
    one = np.eye(1)
    found = rate_gaps(*(combined(rates_of(side, np.arange(len(side))), one) for side in (lab, live)))
    known = stats.ttest_ind(live.ravel(), lab.ravel(), equal_var=False)
    assert found.p_value[0] == pytest.approx(known.pvalue, rel=1e-9)
    assert found.df[0] == pytest.approx(known.df, rel=1e-9)


def test_ten_of_ten_is_no_certainty():
    scores = np.ones((10, 1, 1))
    found = rates_of(scores, np.arange(10), low=0.0, high=1.0)
    share = 11 / 12
    assert found.floor[0] == pytest.approx(share * (1 - share) / 10)
    half = rates_of(scores / 2, np.arange(10), low=0.0, high=1.0)
    assert half.floor[0] > found.floor[0]


def test_without_bounds_scores_that_are_all_alike_have_no_interval():
    rng = np.random.default_rng(0)
    lab = combined(rates_of(np.ones((10, 1, 1)), np.arange(10)), np.eye(1))
    live = combined(rates_of(rng.random((10, 1, 1)), np.arange(10)), np.eye(1))
    found = rate_gaps(lab, live)
    assert np.isnan(found.std_error[0])
    assert found.reasons[0] == "lab: all scores are alike, so their spread is unknown"


@pytest.mark.parametrize(("clusters", "words"), [(4, "4 clusters are too few"), (1, "1 cluster is too few")])
def test_few_clusters_give_no_interval(clusters: int, words: str):
    rng = np.random.default_rng(0)
    many = combined(rates_of(rng.random((40, 1, 1)), np.arange(40)), np.eye(1))
    few = combined(rates_of(rng.random((40, 1, 1)), np.arange(40) % clusters), np.eye(1))
    found = rate_gaps(many, few)
    assert np.isnan(found.p_value[0])
    assert "live: " + words in str(found.reasons[0])


def test_clusters_that_are_worth_fewer_than_five_give_no_interval():
    rng = np.random.default_rng(0)
    cluster = np.concatenate([np.zeros(50), np.arange(1, 5)]).astype(np.int64)
    side = combined(rates_of(rng.random((54, 1, 1)), cluster), np.eye(1))
    assert "Unequal clusters" in str(rate_gaps(side, side).reasons[0])


def test_weights_of_any_size_and_entries_of_nothing_change_no_degrees_of_freedom(some):
    scores, cluster = some
    rates = rates_of(scores, cluster)
    w = np.random.default_rng(2).normal(size=(4, 6)) * (np.arange(6) != 3)
    one, five = combined(rates, w), combined(rates, 5.0 * w)
    np.testing.assert_allclose(five.df, one.df)
    np.testing.assert_allclose(five.estimate, 5.0 * one.estimate)
    np.testing.assert_allclose(five.covariance, 25.0 * one.covariance)
    assert np.isnan(combined(rates, 0.0 * w).df).all()
    item, model, cell = np.nonzero(~np.isnan(scores))
    count, total = np.ones(item.size), scores[item, model, cell]
    count[0] = total[0] = 0.0
    sizes = {"n_clusters": 9, "n_models": 3, "n_cells": 2}
    with_it = cell_rates(cluster[item], model, cell, count, total, **sizes)
    without = cell_rates(cluster[item][1:], model[1:], cell[1:], count[1:], total[1:], **sizes)
    np.testing.assert_array_equal(with_it.rate, without.rate)
    assert combined(with_it, w).n_clusters.tolist() == combined(without, w).n_clusters.tolist()


def test_scores_that_are_all_alike_have_the_error_of_one_more_of_each():
    """(k p + 1) / (k + 2) of k units, within the bounds of the score; of others nothing is added."""
    rate, units = np.array([1.0, 0.0, 0.5, 0.7]), np.array([4, 10, 6, 3])
    flat = np.array([True, True, False, True])
    found = _floor(rate, units, flat, 0.0, 1.0)
    shares = {0: 5 / 6, 1: 1 / 12, 3: (0.7 * 3 + 1) / 5}
    for place, share in shares.items():
        assert found[place] == pytest.approx(share * (1 - share) / units[place])
    assert found[2] == 0.0
    wider = _floor(3.0 + 5.0 * rate, units, flat, 3.0, 8.0)
    assert wider == pytest.approx(25.0 * found)
    for low, high in ((None, 1.0), (0.0, None)):
        assert not _floor(rate, units, flat, low, high).any()
    assert not _floor(rate, units, np.zeros(4, dtype=bool), 0.0, 1.0).any()
