"""Comparisons with the best: by hand for two and more models, permutations, and the shortlist."""

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.many.pairwise import pairwise_differences
from evalstats.stats.many.ranks import _constrained, _Controls, with_the_best
from tests.stats.flips_by_hand import all_flips


def made(seed, n, models=4, missing=0.0, gap=0.5):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, models)) + gap * np.arange(models)
    scores[rng.random(scores.shape) < missing] = np.nan
    return scores


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_constrained_intervals_by_hand(seed, missing):
    """Hsu's intervals from every flip: q of each model as the best, upper ends, shortlist, lower ends."""
    scores = made(seed, 9, missing=missing, gap=1.2)
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    flips = all_flips(scores.tolist(), list(range(9)), pairs)
    found = with_the_best(scores, conf_level=0.9)
    assert found.exact
    upper = np.full((4, 4), np.inf)
    for j in range(4):
        mine = [k for k, pair in enumerate(pairs) if pair[0] == j]
        largest = np.sort(np.nanmax(flips[:, mine], axis=1))
        q = largest[int(np.ceil(0.9 * len(largest) - 1e-9)) - 1]
        for k in mine:
            d = scores[:, j] - scores[:, pairs[k][1]]
            d = d[np.isfinite(d)]
            upper[j, pairs[k][1]] = d.mean() + q * d.std(ddof=1) / np.sqrt(d.size)
    high = np.maximum(0, upper.min(axis=1))
    shortlist = [j for j in range(4) if high[j] > 0]
    low = [min([0.0, *(-upper[k, j] for k in shortlist if k != j)]) for j in range(4)]
    np.testing.assert_allclose(found.high, high, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.low, low, rtol=1e-7, atol=1e-9)
    assert found.not_best.tolist() == [j not in shortlist for j in range(4)]
    assert found.not_best.any()


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n", [60, 240])
def test_order_changes_nothing(n, clustered):
    rng = np.random.default_rng(n)
    scores = made(5, n, gap=0.15, missing=0.05)
    codes = np.arange(n) % 30 if clustered else None
    found = with_the_best(scores, clusters=codes, n_resamples=299)
    rows, columns = rng.permutation(n), rng.permutation(4)
    other = with_the_best(scores[rows][:, columns], clusters=None if codes is None else codes[rows], n_resamples=299)
    np.testing.assert_allclose(other.low, found.low[columns], rtol=1e-9)
    np.testing.assert_allclose(other.high, found.high[columns], rtol=1e-9)
    assert other.not_best.tolist() == found.not_best[columns].tolist()


def test_the_shape_of_the_answer():
    scores = (made(6, 400, gap=0.2) > 0).astype(float)
    found = with_the_best(scores, binary=True)
    means = scores.mean(axis=0)
    for j in range(4):
        assert found.estimate[j] == pytest.approx(means[j] - np.delete(means, j).max())
    assert ((found.low <= found.estimate) & (found.estimate <= found.high)).all()
    assert (found.low <= 0).all()
    assert (found.high >= 0).all()
    assert (found.high[found.not_best] == 0).all()
    assert found.not_best.tolist() == [True, True, False, False]
    assert "Tango" in found.method


def test_one_model_far_ahead_is_the_best():
    found = with_the_best(made(7, 200, gap=0.0) + np.array([0, 0, 0, 3.0]))
    assert found.not_best.tolist() == [True, True, True, False]
    assert found.low[3] == 0
    assert 2.5 < found.high[3] < 3.5


def test_the_shortlist_is_sharper_than_pairs():
    scores = made(8, 150, models=8, gap=0.07)
    found = with_the_best(scores)
    pairs = pairwise_differences(scores)
    below = {int(j) for j, end in zip(pairs.first, pairs.conf_high, strict=True) if end < 0}
    below |= {int(j) for j, end in zip(pairs.second, pairs.conf_low, strict=True) if end > 0}
    assert below < set(np.flatnonzero(found.not_best).tolist())


def test_twins_at_the_top_leave_each_other_open():
    y = (made(9, 200, models=2, gap=0.4) > 0).astype(float)
    scores = np.column_stack([y[:, 1], y[:, 1], y[:, 0]])
    found = with_the_best(scores, binary=True)
    assert found.not_best.tolist() == [False, False, True]
    # Tango's limits hold where no item tells the twins apart.
    assert -0.1 < found.low[0] < 0
    plain = with_the_best(scores)
    assert np.isnan(plain.low[:2]).all()
    assert "1 of 3 pairs have no standard error" in plain.warnings[0]
    bounded = with_the_best(scores, clusters=np.arange(200) % 20, bounds=(0.0, 1.0))
    assert bounded.low[:2].tolist() == [-1.0, -1.0]


def test_too_little_to_say():
    few = with_the_best(made(10, 40), clusters=np.arange(40) % 5)
    assert few.reason == "5 clusters: at least 6 are needed"
    assert np.isnan(few.low).all()
    assert not few.not_best.any()
    equal = with_the_best(np.ones((30, 3)))
    assert equal.reason == "no difference between two models has a standard error"
    assert equal.estimate.tolist() == [0, 0, 0]


def test_few_items_that_cannot_be_told_apart_are_no_lack_of_clusters():
    reason = "no difference between two models has a standard error"
    assert with_the_best(np.tile([0.1, 0.5], (3, 1))).reason == reason
    assert with_the_best(np.ones((30, 3)), clusters=np.arange(30) % 10).reason == reason
    assert with_the_best(np.ones((30, 3)), clusters=np.arange(30) % 6).reason == reason
    none = with_the_best(np.ones((30, 3)), clusters=np.zeros(30, int))
    assert none.reason == "1 cluster: at least 6 are needed"
    assert (none.exact, none.method) == (True, "none")


def test_each_model_is_set_against_all_others_in_its_own_direction():
    """q of a model: its largest lead over any other exceeds it in at most 1 - level of the draws and their mirror images."""
    rng = np.random.default_rng(3)
    first, second = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 3, 2, 3, 3])
    t, weight = rng.normal(size=(60, 6)) * np.arange(1, 7), rng.integers(1, 4, 60).astype(float)
    found = _Controls(first, second, 5)
    for part in (slice(0, 25), slice(25, 60)):
        found.add(t[part], weight[part])
    critical, reached = found.critical(0.8)
    assert reached
    for j in range(4):
        leads = []
        for draw, w in zip(t, weight, strict=True):
            own = [value if i == j else -value for value, i, k in zip(draw, first, second, strict=True) if j in {i, k}]
            leads += [(max(own), w), (max(-each for each in own), w)]
        beyond = 0.2 * sum(w for _, w in leads)
        fits = [value for value, _ in leads if sum(w for other, w in leads if other > value) <= beyond * (1 + 1e-9)]
        assert critical[j] == pytest.approx(min(fits), rel=1e-12)
    assert np.isnan(critical[4])
    # Nothing lies beyond the quantile of a law of two points: then the draws do not reach the level of every model.
    flat = np.column_stack([np.ones(60), rng.normal(size=60)])
    short = _Controls(np.array([0, 2]), np.array([1, 3]), 4)
    short.add(flat, np.ones(60))
    assert short.critical(0.8)[1] is False


def test_upper_ends_that_contradict_one_another_bound_nothing_from_below():
    """On different items each of two models can be shown to be below the other: then no shortlist is left."""
    inf = np.inf
    low, high = _constrained(np.array([[inf, -0.1], [-0.2, inf]]))
    assert (low.tolist(), high.tolist()) == ([-inf, -inf], [0.0, 0.0])
    low, high = _constrained(np.array([[inf, 0.3, 0.5], [0.1, inf, 0.4], [-0.2, -0.3, inf]]))
    assert (low.tolist(), high.tolist()) == ([-0.1, -0.3, -0.5], [0.3, 0.1, 0.0])


def test_of_clusters_the_larger_of_both_laws_counts():
    """Every flip of seven uneven clusters, of their sums and of their sums about the mean: q is the larger one."""
    seen = set()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        codes = np.repeat(np.arange(7), [1, 1, 2, 2, 3, 3, 6])
        scores = rng.normal(size=(18, 3)) + 0.8 * rng.normal(size=(7, 3))[codes] + [0.0, 0.3, 1.5]
        pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
        own = pairwise_differences(scores, pairs=pairs, clusters=codes, adjust="none")
        laws = [all_flips(each.tolist(), codes.tolist(), pairs) for each in (scores, scores - scores.mean(axis=0))]
        upper = np.full((3, 3), np.inf)
        for j in range(3):
            mine = [k for k, pair in enumerate(pairs) if pair[0] == j]
            largest = [np.sort(np.nanmax(flips[:, mine], axis=1)) for flips in laws]
            q = [each[int(np.ceil(0.9 * len(each) - 1e-9)) - 1] for each in largest]
            seen.add(q[0] > q[1])
            for k in mine:
                reach = max(*q, stats.t.ppf(0.9, own.df[k])) * own.std_error[k]
                upper[j, pairs[k][1]] = own.estimate[k] + reach
        found = with_the_best(scores, clusters=codes, conf_level=0.9)
        assert found.exact
        np.testing.assert_allclose(found.high, np.maximum(0, upper.min(axis=1)), rtol=1e-7, atol=1e-9)
    assert seen == {True, False}


def test_a_model_that_shares_nothing_is_known_by_its_bounds_alone():
    scores = (made(12, 60, models=3) > 0.5).astype(float)
    scores[1:, 2] = np.nan
    for options, ends in (
        ({}, [np.nan, np.nan]),
        ({"bounds": (0.0, 2.0)}, [-2.0, 2.0]),
        ({"binary": True, "clusters": np.arange(60) % 12}, [-1.0, 1.0]),
    ):
        found = with_the_best(scores, **options)
        np.testing.assert_array_equal([found.low[2], found.high[2]], ends)
        assert np.isfinite(found.high[:2]).all()
        assert not found.not_best[2]


def test_where_the_patterns_are_too_few_bonferroni_is_the_least_there_is():
    """Sixteen patterns do not reach .99; one item outweighs the others, so that flips give no large t."""
    scores = np.array([[9.0, 0.5, 0.0], [0.1, 0.2, 0.0], [0.2, -0.1, 0.05], [-0.1, 7.0, 0.1]])
    found = with_the_best(scores, conf_level=0.99)
    upper = np.full((3, 3), np.inf)
    for i in range(3):
        for j in set(range(3)) - {i}:
            d = scores[:, i] - scores[:, j]
            upper[i, j] = d.mean() + stats.t.ppf(1 - 0.01 / 2, 3) * d.std(ddof=1) / 2
    np.testing.assert_allclose(found.high, np.maximum(0, upper.min(axis=1)), rtol=1e-7)
