"""The test of the published order: by counting, by scipy, uniform under exchangeability, and what it finds."""

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.contamination.order_test import canonical_order_test


def test_p_counts_shuffles_that_are_as_likely():
    found = canonical_order_test([-10.0, -20.0], [[-11.0, -10.0, -9.0, -30.0], [-21.0, -20.0, -20.0, -1.0]])
    # Sums: published -30; shuffled -32, -30, -29, -31: two of four are at least as likely.
    assert found.p_value == pytest.approx(3 / 5)
    assert (found.smallest_p, found.n_shuffles, found.n_shards) == (0.2, 4, 2)


def test_shards_are_the_t_test_of_scipy():
    rng = np.random.default_rng(0)
    shuffled, canonical = rng.normal(size=(12, 25)), rng.normal(0.3, 1, 12)
    found = canonical_order_test(canonical, shuffled)
    reference = stats.ttest_1samp(canonical - shuffled.mean(axis=1), 0.0, alternative="greater")
    assert found.shard_p_value == pytest.approx(reference.pvalue, rel=1e-9)
    assert found.shard_statistic == pytest.approx(reference.statistic, rel=1e-9)


def test_never_zero_and_told_where_shards_are_too_few():
    found = canonical_order_test(0.0, np.full(99, -50.0))
    assert found.p_value == pytest.approx(0.01)
    assert found.shard_p_value is None
    assert "too few" in str(found.reason)
    same = canonical_order_test(np.zeros(6), np.full((6, 3), -1.0))
    assert "same amount" in str(same.reason)


def test_p_is_uniform_under_exchangeability():
    rng = np.random.default_rng(1)
    p = [canonical_order_test(each[0], each[1:]).p_value for each in rng.normal(size=(1500, 20))]
    counts = np.bincount(np.rint(np.array(p) * 20).astype(int), minlength=21)[1:]
    assert stats.chisquare(counts).pvalue > 0.001


def test_p_of_shards_is_nominal_and_finds_a_memory_from_few_shuffles():
    rng = np.random.default_rng(2)
    clean = [
        canonical_order_test(rng.normal(size=20), rng.normal(size=(20, 9))).shard_p_value or 1.0 for _ in range(500)
    ]
    # 3 Monte Carlo standard errors.
    assert np.mean(np.array(clean) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)
    seen = canonical_order_test(rng.normal(2.0, 1, 20), rng.normal(size=(20, 9)))
    assert (seen.shard_p_value or 1.0) < 1e-4 < seen.smallest_p


@pytest.mark.parametrize(
    ("canonical", "shuffled", "said"),
    [
        ([0.0, 0.0], [[0.0]], "shape"),
        (0.0, np.zeros((1, 0)), "at least one shuffle"),
        (0.0, [np.nan], "NaN"),
        (-np.inf, [0.0], "probability 0"),
    ],
)
def test_what_cannot_be_is_refused(canonical, shuffled, said):
    with pytest.raises(InputError, match=said):
        canonical_order_test(canonical, shuffled)
