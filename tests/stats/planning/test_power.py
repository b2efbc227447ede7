"""Power by enumeration of every table, detectable differences, smallest p-values by search."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.stats.clusters import cluster_sign_flip, smallest_p_clusters
from evalstats.stats.paired.binary import (
    PairedCounts,
    mcnemar_exact,
    mcnemar_midp,
    score_test_p,
    smallest_p_paired_binary,
)
from evalstats.stats.paired.means import augmented_t, smallest_p_augmented_t
from evalstats.stats.planning.mean import smallest_effect
from evalstats.stats.planning.power import (
    _rejections,
    discordant_shares,
    fewest_wins,
    likely_counts,
    mde_from_std_error,
    mde_paired_binary,
    paired_binary_power,
    thinned,
)
from tests.stats.planning.enumeration import enumerated_power


@pytest.mark.parametrize(("p10", "p01"), [(0.2, 0.1), (0.4, 0.05), (0.3, 0.0), (0.6, 0.4)])
@pytest.mark.parametrize("conf_level", [0.9, 0.99])
def test_power_equals_the_sum_over_all_tables(p10, p01, conf_level):
    expected = enumerated_power(
        25, p10, p01, lambda counts: counts.discordant >= 6 and score_test_p(counts) < 1 - conf_level
    )
    assert paired_binary_power(25, p10, p01, conf_level=conf_level) == pytest.approx(expected, abs=1e-10)


def test_power_beside_the_published_mid_p_values(reference):
    """The score test rejects whatever mid-p rejects but for a few (b, c): its power is a little larger, never smaller."""
    for case in reference["power_mcnemar"]:
        power = paired_binary_power(case["n"], case["p10"], case["p01"])
        assert case["exact"] < case["midp"] <= power + 1e-9
        assert power == pytest.approx(case["midp"], abs=0.03)
    first = reference["power_mcnemar"][0]
    assert paired_binary_power(first["n"], first["p10"], first["p01"]) == pytest.approx(0.206, abs=5e-4)
    table = enumerated_power(43, 0.2, 0.1, lambda counts: mcnemar_midp(counts) < 0.05)
    assert table == pytest.approx(first["midp"], abs=1e-8)


def test_mcnemar_powers_are_the_published_ones(reference):
    """py_golden.json power_mcnemar: exact and mid-p, without a least number of discordant items."""
    for case in reference["power_mcnemar"]:
        for test in ("exact", "midp"):
            power = paired_binary_power(case["n"], case["p10"], case["p01"], test=test, min_discordant=1)
            assert power == pytest.approx(case[test], abs=1e-8)


@pytest.mark.parametrize("conf_level", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(("test", "p_of"), [("exact", mcnemar_exact), ("midp", mcnemar_midp)])
def test_mcnemar_powers_equal_the_sum_over_all_tables(conf_level, test, p_of):
    def rejects(counts):
        return counts.discordant >= 1 and p_of(counts) <= (1 - conf_level) * (1 + 1e-12)

    for p10, p01 in [(0.3, 0.1), (0.5, 0.5), (1.0, 0.0)]:
        power = paired_binary_power(22, p10, p01, conf_level=conf_level, test=test, min_discordant=1)
        assert power == pytest.approx(enumerated_power(22, p10, p01, rejects), abs=1e-10)


def test_the_minimum_of_discordant_items_can_be_lifted():
    everything = paired_binary_power(5, 1.0, 0.0, min_discordant=1)
    assert everything == pytest.approx(1.0, abs=1e-12)
    assert paired_binary_power(5, 1.0, 0.0) == 0.0
    assert paired_binary_power(40, 0.0, 0.0) == 0.0
    assert paired_binary_power(1, 0.5, 0.2) == 0.0
    assert mde_paired_binary(1, 0.2) is None


def test_power_of_a_million_items_is_the_normal_one():
    delta, discordance, n = 0.001, 0.1, 1_000_000
    shift = delta * math.sqrt(n / discordance)
    expected = stats.norm.sf(1.959964 - shift) + stats.norm.cdf(-1.959964 - shift)
    assert paired_binary_power(n, 0.0505, 0.0495) == pytest.approx(expected, abs=0.002)


@settings(deadline=None, max_examples=40)
@given(st.integers(6, 400), st.floats(0.0, 1.0), st.sampled_from([0.5, 0.8, 0.95]))
def test_detectable_difference_has_the_power_and_nothing_smaller_has(n, discordance, power):
    delta = mde_paired_binary(n, discordance, power=power)

    def reached(difference):
        shared = max(discordance, difference)
        return paired_binary_power(n, (shared + difference) / 2, (shared - difference) / 2)

    assert 0.0 < delta <= 1.0
    assert reached(delta) >= power - 1e-6
    assert reached(delta * (1 - 1e-6) - 1e-9) < power + 1e-6
    stricter = mde_paired_binary(n, discordance, power=power, conf_level=0.98)
    assert stricter is None or stricter >= delta - 1e-8


@pytest.mark.parametrize("effect", [0.003, 0.04, 0.5])
def test_the_least_difference_takes_a_dozen_powers_where_the_quantile_is_a_line(effect):
    """Halving alone would take 30: one for each binary digit of a billionth."""
    asked = []

    def power_at(delta):
        asked.append(delta)
        return float(stats.norm.cdf(2.8 * delta / effect - 1.96))

    found = smallest_effect(power_at, 0.8, low=0.0, high=1.0, tolerance=1e-9)
    assert found == pytest.approx(effect * (1.96 + stats.norm.ppf(0.8)) / 2.8, rel=3e-9, abs=0)
    assert power_at(found) >= 0.8
    assert len(asked) <= 15


def test_detectable_difference_raises_the_discordance_when_it_must():
    """At discordance 0 all discordant items favour one side: P(Bin(n, delta) >= 6) must be the power."""
    delta = mde_paired_binary(50, 0.0)
    assert stats.binom.sf(5, 50, delta) == pytest.approx(0.8, abs=1e-6)
    assert mde_paired_binary(50, 0.05) == pytest.approx(delta, abs=1e-8)
    assert mde_paired_binary(5, 0.3) is None
    assert mde_paired_binary(6, 0.3, conf_level=0.99) is None


def test_detectable_difference_is_close_to_connor():
    """Connor 1987: n = [z_a sqrt(psi) + z_b sqrt(psi - delta^2)]^2 / delta^2."""
    delta, psi = 0.05, 0.2
    n = (1.959964 * math.sqrt(psi) + 0.841621 * math.sqrt(psi - delta**2)) ** 2 / delta**2
    assert mde_paired_binary(math.ceil(n), psi) == pytest.approx(delta, rel=0.03)


@pytest.mark.parametrize("df", [1.5, 5, 40, None])
def test_detectable_difference_of_a_t_test_has_the_power(df):
    shift = mde_from_std_error(2.0, df, power=0.9) / 2.0
    if df is None:
        assert stats.norm.sf(stats.norm.ppf(0.975) - shift) == pytest.approx(0.9, abs=1e-9)
    else:
        assert stats.nct.sf(stats.t.ppf(0.975, df), df, shift) == pytest.approx(0.9, abs=1e-5)


def test_detectable_difference_of_miller():
    """sqrt(1/9/969) detects 3 points with 80% power (Miller 2024)."""
    assert mde_from_std_error(math.sqrt(1 / 9 / 969)) == pytest.approx(0.03, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_smallest_paired_p_is_the_smallest_over_all_tables(n):
    tables = [PairedCounts(n - b - c, b, c, 0) for b in range(n + 1) for c in range(n + 1 - b)]
    assert smallest_p_paired_binary(n) == pytest.approx(min(score_test_p(counts) for counts in tables), rel=1e-12)


@pytest.mark.parametrize(("n", "n_trials"), [(1, 1), (3, 2), (5, 1), (5, 3), (6, 2)])
def test_smallest_augmented_p_is_the_smallest_over_all_outcomes(n, n_trials):
    steps = np.arange(-n_trials, n_trials + 1) / n_trials
    outcomes = [np.array(d) for d in product(steps, repeat=n) if list(d) == sorted(d)]
    least = min(augmented_t(d).p_value for d in outcomes)
    assert smallest_p_augmented_t(n) == pytest.approx(least, rel=1e-9)
    assert smallest_p_augmented_t(n) == pytest.approx(2 * stats.t.sf(n / 2, n + 1), rel=1e-9)


@pytest.mark.parametrize("n_clusters", [1, 5, 7, 12])
def test_smallest_cluster_p_is_that_of_clusters_that_agree(n_clusters):
    p = cluster_sign_flip(np.full(n_clusters, 0.3), np.arange(n_clusters)).p_value
    assert smallest_p_clusters(n_clusters) == p == 2.0 ** (1 - n_clusters)


@pytest.mark.parametrize(("size", "step"), [(5999, 1), (6000, 3), (11_999, 3), (12_000, 5)])
def test_very_many_counts_are_thinned_by_an_odd_step_and_keep_their_weight(size, step):
    m = np.arange(size, dtype=np.float64)
    weights = stats.norm.pdf(m, size / 2, size / 12)
    kept, weight = thinned(m, weights)
    np.testing.assert_array_equal(kept, np.arange(0, size, step))
    assert weight.sum() == pytest.approx(weights.sum(), rel=1e-12)
    assert weight @ kept / weight.sum() == pytest.approx(weights @ m / weights.sum(), rel=1e-9)


def test_discordant_shares_add_up_and_differ_as_asked():
    assert discordant_shares(0.0, 0.0) == (0.0, 0.0)
    assert discordant_shares(1.0, -0.5) == (0.25, 0.75)
    assert discordant_shares(0.2, 0.2) == (0.2, 0.0)


@pytest.mark.parametrize(("n", "share"), [(1, 0.3), (7, 1.0), (7, 0.0), (60, 0.02), (5000, 0.5), (200_000, 0.999)])
def test_likely_counts_are_those_of_the_binomial_and_none_beyond(n, share):
    m, weight = likely_counts(n, share)
    assert 0 <= m.min() <= m.max() <= n
    assert np.diff(m).tolist() == [1.0] * (m.size - 1)
    assert weight == pytest.approx(stats.binom.pmf(m, n, share), rel=1e-8, abs=1e-300)
    assert weight.sum() == pytest.approx(1.0, abs=1e-9)
    # No more are summed over than within 9 standard deviations and 40.
    assert np.abs(m - n * share).max() <= 9.0 * math.sqrt(n * share * (1.0 - share)) + 41.0


def test_shares_that_add_up_to_one_but_for_rounding_are_all_discordant():
    assert paired_binary_power(30, 0.7, 0.3 + 1e-13) == pytest.approx(paired_binary_power(30, 0.7, 0.3), rel=1e-9)


@pytest.mark.parametrize("least", [0, 1, 2])
def test_single_discordant_items_count_where_that_is_asked_for(least):
    """At a level of .5 one win of one decides: z^2 = .45 is less than 1."""
    found = paired_binary_power(3, 0.5, 0.1, conf_level=0.5, min_discordant=least)
    assert found == pytest.approx(
        enumerated_power(3, 0.5, 0.1, lambda table: table.discordant >= max(1, least) and score_test_p(table) <= 0.5),
        rel=1e-12,
    )
    assert _rejections(3, 0.6, 0.5, least)[0].tolist() == list(range(max(1, least), 4))


@pytest.mark.parametrize(("test", "p_of"), [("exact", mcnemar_exact), ("midp", mcnemar_midp)])
@pytest.mark.parametrize("conf_level", [0.3, 0.9, 0.95, 0.999])
def test_fewest_wins_are_the_first_at_which_the_test_rejects(test, p_of, conf_level):
    m = np.arange(1.0, 40.0)
    for n, wins in zip(m.astype(int), fewest_wins(m, conf_level, test), strict=True):
        rejecting = [
            b for b in range(n // 2 + 1, n + 1) if p_of(PairedCounts(0, b, n - b, 0)) <= (1 - conf_level) * (1 + 1e-9)
        ]
        assert wins == min(rejecting, default=n + 1)
