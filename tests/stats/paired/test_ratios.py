"""Ratios of amounts on the same items: against the tests they invert, enumeration, and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.clusters import cluster_mean, multiway_mean
from evalstats.stats.estimate import t_quantile
from evalstats.stats.paired.ratios import as_amounts, as_columns, geometric_ratio, ratio_of_means, variance_forms
from tests.stats.coverage import covered

ALL = [ratio_of_means, geometric_ratio]


def lognormal_pairs(rng, n, *, sd=(0.8, 0.8), ratio=1.3, correlation=0.5, shared=None):
    """Amounts of both sides with the given sd of the logs; the ratio of medians is `ratio`."""
    z = rng.normal(size=(3, n))
    logs = math.sqrt(correlation) * z[0] + math.sqrt(1 - correlation) * z[1:]
    if shared is not None:
        logs = math.sqrt(0.5) * (logs + rng.normal(size=(2, int(shared.max()) + 1))[:, shared])
    return np.exp(sd[0] * logs[0]), ratio * np.exp(sd[1] * logs[1])


def test_fieller_ends_are_where_the_paired_t_test_turns():
    a, b = lognormal_pairs(np.random.default_rng(1), 25)
    found = ratio_of_means(a, b, conf_level=0.9)
    for end in (found.conf_low, found.conf_high):
        assert stats.ttest_1samp(b - end * a, 0.0).pvalue == pytest.approx(0.1, abs=1e-9)
    assert found.p_value == pytest.approx(stats.ttest_rel(b, a).pvalue, rel=1e-9)
    assert found.estimate == pytest.approx(b.sum() / a.sum())


def test_two_items_are_enough_at_a_level_that_they_can_bear():
    a, b = np.array([2.0, 3.0]), np.array([2.2, 3.9])
    found = ratio_of_means(a, b, conf_level=0.5)
    for end in (found.conf_low, found.conf_high):
        assert stats.ttest_1samp(b - end * a, 0.0).pvalue == pytest.approx(0.5, abs=1e-9)
    assert found.p_value == pytest.approx(stats.ttest_rel(b, a).pvalue, rel=1e-9)
    assert (found.estimate, found.df, found.n, found.reason) == (pytest.approx(6.1 / 5), 1, 2, None)
    logs = stats.ttest_1samp(np.log(b / a), 0.0)
    limits = logs.confidence_interval(0.5)
    found = geometric_ratio(a, b, conf_level=0.5)
    assert (found.conf_low, found.conf_high) == pytest.approx((math.exp(limits.low), math.exp(limits.high)))
    assert found.p_value == pytest.approx(logs.pvalue)


def test_fieller_ends_with_clusters_are_where_cr2_turns():
    rng = np.random.default_rng(2)
    clusters = rng.integers(0, 9, 60)
    a, b = lognormal_pairs(rng, 60, shared=clusters)
    found = ratio_of_means(a, b, clusters=clusters)
    for end in (found.conf_low, found.conf_high):
        tested = cluster_mean(b - end * a, clusters).estimate
        assert abs(tested.statistic) == pytest.approx(t_quantile(0.95, tested.df), rel=1e-9)
    plain = cluster_mean(b - a, clusters).estimate
    assert (found.p_value, found.df) == (pytest.approx(plain.p_value), pytest.approx(plain.df))
    assert found.n_clusters == 9


def test_fieller_ends_with_two_columns_are_where_the_multiway_test_turns():
    rng = np.random.default_rng(3)
    passage, user = rng.integers(0, 10, 80), rng.integers(0, 8, 80)
    a, b = lognormal_pairs(rng, 80, shared=passage)
    found = ratio_of_means(a, b, clusters=[passage, user])
    for end in (found.conf_low, found.conf_high):
        tested = multiway_mean(b - end * a, [passage, user]).estimate
        assert abs(tested.statistic) == pytest.approx(t_quantile(0.95, tested.df), rel=1e-6)
    assert found.method == "ratio of means, Fieller, CR2 on 2 cluster columns"


def test_a_column_of_single_items_changes_nothing():
    a, b = lognormal_pairs(np.random.default_rng(4), 30)
    plain, single = ratio_of_means(a, b), ratio_of_means(a, b, clusters=np.arange(30))
    assert (single.conf_low, single.conf_high) == pytest.approx((plain.conf_low, plain.conf_high), rel=1e-12)


@pytest.mark.parametrize("function", ALL)
def test_swapping_the_systems_inverts_estimate_and_ends(function):
    a, b = lognormal_pairs(np.random.default_rng(5), 41)
    one, other = function(a, b), function(b, a)
    assert one.estimate == pytest.approx(1 / other.estimate)
    assert one.conf_low == pytest.approx(1 / other.conf_high, rel=1e-9)
    assert one.p_value == (None if other.p_value is None else pytest.approx(other.p_value))


@pytest.mark.parametrize("function", ALL)
def test_units_and_order_of_items_do_not_matter(function):
    rng = np.random.default_rng(6)
    a, b = lognormal_pairs(rng, 30)
    order = rng.permutation(30)
    plain, moved = function(a, b), function(1000 * a[order], 1000 * b[order])
    assert (moved.conf_low, moved.conf_high) == pytest.approx((plain.conf_low, plain.conf_high), rel=1e-5)


@given(
    st.lists(st.tuples(st.floats(0.01, 50), st.floats(0, 50)), min_size=3, max_size=30), st.sampled_from([0.8, 0.95])
)
@settings(max_examples=40, deadline=None)
def test_p_agrees_with_the_interval_and_the_interval_holds_the_ratio(pairs, level):
    a, b = np.array(pairs).T
    found = ratio_of_means(a, b, conf_level=level)
    if found.conf_low is None:
        assert found.reason
        return
    assert found.conf_low <= found.estimate <= found.conf_high
    assert found.conf_low < found.conf_high
    if found.p_value is not None and abs(found.p_value - (1 - level)) > 1e-9:
        assert (found.p_value < 1 - level) == (not found.conf_low <= 1 <= found.conf_high)


def test_nearly_equal_ratios_lose_no_digits():
    rng = np.random.default_rng(7)
    a, noise = rng.exponential(size=20) + 0.1, rng.normal(size=20)
    widths = [
        (found.conf_high - found.conf_low) / step
        for step in (1e-3, 1e-9)
        for found in [ratio_of_means(a, 1.5 * a * (1 + step * noise))]
    ]
    assert widths[1] == pytest.approx(widths[0], rel=1e-2)


def test_geometric_ratio_is_the_t_test_on_the_logs():
    a, b = lognormal_pairs(np.random.default_rng(10), 18)
    test = stats.ttest_1samp(np.log(b / a), 0.0)
    ends = test.confidence_interval(0.95)
    found = geometric_ratio(a, b)
    assert (found.conf_low, found.conf_high) == pytest.approx((math.exp(ends.low), math.exp(ends.high)))
    assert found.p_value == pytest.approx(test.pvalue)
    assert found.estimate == pytest.approx(stats.gmean(b / a))


def test_geometric_ratio_takes_clusters():
    rng = np.random.default_rng(11)
    clusters = rng.integers(0, 8, 50)
    a, b = lognormal_pairs(rng, 50, shared=clusters)
    expected = cluster_mean(np.log(b / a), clusters).estimate
    assert geometric_ratio(a, b, clusters=clusters).conf_low == pytest.approx(math.exp(expected.conf_low))
    both = geometric_ratio(a, b, clusters=[clusters, np.arange(50) % 7])
    expected = multiway_mean(np.log(b / a), [clusters, np.arange(50) % 7]).estimate
    assert both.conf_high == pytest.approx(math.exp(expected.conf_high))


# Ranks of the 95% interval of a median: Conover, Practical Nonparametric Statistics, table A3 (sign test).


def test_zeros_are_told_in_words():
    a, b = np.ones(20), np.linspace(1, 3, 20)
    b[0] = 0.0
    found = geometric_ratio(a, b)
    assert found.n == 19
    assert found.conf_low is not None
    assert any("1 of 20 items have a 0" in text for text in found.warnings)
    b[:3] = 0.0
    refused = geometric_ratio(a, b)
    assert refused.conf_low is None
    assert "3 of 20 items" in refused.reason


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize(
    ("a", "b", "words"),
    [([1.0, 2.0], [1.0], "2 baseline and 1"), ([1.0, -2.0], [1.0, 1.0], "baseline values reach -2"), ([], [], "empty")],
)
def test_amounts_that_cannot_be_are_refused(function, a, b, words):
    with pytest.raises(InputError, match=words):
        function(a, b)


@pytest.mark.parametrize("function", ALL)
def test_a_baseline_of_nothing_is_refused(function):
    with pytest.raises(CannotAnswerError):
        function(np.zeros(8), np.arange(8.0))


@pytest.mark.parametrize(
    ("a", "b", "clusters", "words"),
    [
        ([1.0, 2.0, 3.0, 5.0] * 3, [2.0, 4.0, 6.0, 10.0] * 3, None, "same in every item"),
        ([0.1, 0.2, 0.3, 0.7] * 3, [0.3, 0.6, 0.9, 2.1] * 3, None, "same in every item"),
        ([1.0, 2.0] * 4, [0.0] * 8, None, "0 on every item"),
        ([1.0], [2.0], None, "one item"),
        ([1.0, 2.0, 1.0, 2.0], [2.0, 3.0, 1.0, 5.0], [0, 0, 1, 1], "2 clusters are too few"),
        ([1.0, 2.0], [2.0, 3.0], [0, 0], "1 cluster is too few"),
    ],
)
def test_no_interval_of_width_zero(a, b, clusters, words):
    found = ratio_of_means(a, b, clusters=clusters)
    assert found.conf_low is None
    assert found.p_value is None
    assert words in found.reason


@pytest.mark.parametrize("clusters", [None, [0, 0, 1, 1, 2]])
def test_a_ratio_without_an_interval_is_a_ratio_all_the_same(clusters):
    """The same ratio of every item, and three clusters, are too little for an interval."""
    found = geometric_ratio([1.0, 2.0, 4.0, 3.0, 5.0], [3.0, 6.0, 12.0, 9.0, 15.0], clusters=clusters)
    assert found.estimate == pytest.approx(3.0)
    assert (found.conf_low, found.conf_high, found.std_error) == (None, None, None)


def test_fieller_without_bounds_is_refused():
    a, b = [0.0, 0.0, 0.0, 0.0, 10.0, 0.1], [1.0, 2.0, 1.0, 1.5, 1.0, 2.0]
    found = ratio_of_means(a, b)
    assert found.conf_low is None
    assert "cannot be told from 0" in found.reason


def test_differences_that_are_all_equal_have_an_interval_but_no_p():
    a = np.array([3.0, 5.0, 8.0, 13.0, 21.0, 34.0])
    found = ratio_of_means(a, a + 0.1)
    assert found.p_value is None
    assert found.conf_low > 1


def test_a_long_tail_on_one_side_is_told():
    a, b = np.full(30, 2.0) + np.arange(30) / 100, np.full(30, 3.0)
    assert not ratio_of_means(a, b).warnings
    # A gamma law with a skewness of 1/2: over root 30 that is .09, less than .2.
    assert not ratio_of_means(np.full(30, 2.0), stats.gamma.ppf((np.arange(30) + 0.5) / 30, 16)).warnings
    b[4] = 90.0
    assert "large candidate values" in ratio_of_means(a, b).warnings[0]
    assert "large baseline values" in ratio_of_means(b, a).warnings[0]


@pytest.mark.parametrize(
    ("n", "sd", "replicates"),
    [(20, 0.5, 200), (200, 1.0, 200)]
    + [pytest.param(n, sd, 5000, marks=pytest.mark.slow) for n in (20, 50, 200) for sd in (0.5, 1.0, 1.5)],
)
def test_coverage_of_lognormal_amounts(n, sd, replicates):
    """The same tail on both sides: Fieller .95 to .98 where it has an interval, the typical ratio .95."""
    rng = np.random.default_rng(n)
    fieller, typical = [], []
    for _ in range(replicates):
        a, b = lognormal_pairs(rng, n, sd=(sd, sd))
        found = ratio_of_means(a, b)
        if found.conf_low is not None:
            fieller.append(covered(found, 1.3))
        typical.append(covered(geometric_ratio(a, b), 1.3))
    allowance = 4 * math.sqrt(0.05 * 0.95 / replicates)
    assert len(fieller) >= 0.75 * replicates
    assert 0.945 - allowance <= np.mean(fieller) <= 0.98 + allowance
    assert abs(np.mean(typical) - 0.95) <= allowance


@pytest.mark.parametrize("replicates", [300, pytest.param(4000, marks=pytest.mark.slow)])
def test_coverage_with_unequal_clusters(replicates):
    """12 clusters, 7:1, dependence: .95 and more; without the clusters about .7."""
    rng = np.random.default_rng(12)
    clusters = np.repeat(np.arange(12), np.where(np.arange(12) % 4 == 0, 21, 3))
    known, ignored = [], []
    for _ in range(replicates):
        a, b = lognormal_pairs(rng, clusters.size, sd=(0.5, 0.5), shared=clusters)
        known.append(covered(ratio_of_means(a, b, clusters=clusters), 1.3))
        ignored.append(covered(ratio_of_means(a, b), 1.3))
    assert np.mean(known) >= 0.94 - 4 * math.sqrt(0.05 * 0.95 / replicates)
    assert np.mean(ignored) < 0.85


def test_amounts_and_columns():
    with pytest.raises(InputError, match="NaN"):
        as_amounts([1.0, math.nan], [1.0, 1.0])
    assert as_columns(None, 3) == ()
    with pytest.raises(InputError, match="shape"):
        as_columns([[0, 1], [1, 0]], 3)


@pytest.mark.parametrize("ways", [2, 3])
def test_several_columns_have_the_multiway_error_of_what_is_left_beside_the_ratio(ways):
    rng = np.random.default_rng(10 + ways)
    codes = rng.integers(0, 8, (3, 60))
    a = 20.0 + rng.normal(size=60)
    b = 25.0 + rng.normal(size=60) + sum(2.0 * rng.normal(size=8)[each] for each in codes)  # every way adds its own
    found = ratio_of_means(a, b, clusters=codes[:ways])
    left = multiway_mean(b - found.estimate * a, list(codes[:ways])).estimate
    assert found.std_error == pytest.approx(left.std_error / a.mean(), rel=1e-9)
    at_one = multiway_mean(b - a, list(codes[:ways])).estimate
    assert found.statistic == pytest.approx(at_one.statistic, rel=1e-9)
    assert found.n_clusters == 8
    alone = [ratio_of_means(a, b, clusters=each).std_error for each in codes[:ways]]
    assert found.std_error > 1.05 * max(alone)


def test_the_larger_one_way_variance_counts_where_inclusion_and_exclusion_gives_less():
    """Effects of rows within columns that cancel over rows: both ways together come out below one of them."""
    row, column = np.divmod(np.arange(64), 8)
    effect = np.where(row % 2 == column % 2, 1.0, -1.0) + 0.3 * np.where(row < 4, 1.0, -1.0)
    a, b = np.full(64, 5.0), 6.0 + effect
    both, alone = (ratio_of_means(a, b, clusters=each) for each in (np.array([row, column]), row))
    assert both.std_error == pytest.approx(alone.std_error, rel=1e-9)
    assert both.statistic == pytest.approx(alone.statistic, rel=1e-9)
    assert (both.conf_low, both.conf_high) == pytest.approx((alone.conf_low, alone.conf_high))


@pytest.mark.parametrize("ways", [1, 2])
def test_geometric_ratio_is_the_clustered_mean_of_the_logs_of_items_without_a_zero(ways):
    rng = np.random.default_rng(ways)
    codes = rng.integers(0, 9, (ways, 80))
    a, b = lognormal_pairs(rng, 80)
    a[3] = b[7] = 0.0
    kept = np.delete(np.arange(80), [3, 7])
    found = geometric_ratio(a, b, clusters=codes, conf_level=0.9)
    logs = multiway_mean(np.log(b[kept] / a[kept]), [column[kept] for column in codes], conf_level=0.9).estimate
    assert (found.estimate, found.conf_low, found.conf_high) == pytest.approx(
        tuple(map(math.exp, (logs.estimate, logs.conf_low, logs.conf_high)))
    )
    assert (found.p_value, found.std_error) == pytest.approx((logs.p_value, logs.std_error))
    assert "2 of 80 items have a 0" in found.warnings[-1]


def test_few_items_are_told_and_of_clusters_it_is_their_number_that_counts():
    a, b = lognormal_pairs(np.random.default_rng(6), 8)
    assert any("Only 8 items" in each for each in ratio_of_means(a, b).warnings)
    assert not any("Only 8 items" in each for each in ratio_of_means(a, b, clusters=np.arange(8)).warnings)


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_the_forms_are_the_variance_of_b_less_any_multiple_of_a(ways):
    rng = np.random.default_rng(20 + ways)
    codes = rng.integers(0, 8, (3, 60))
    shared = [2.0 * rng.normal(size=(2, 8))[:, each] for each in codes]  # every way adds its own to both sides
    a, b = np.array([[20.0], [25.0]]) + rng.normal(size=(2, 60)) + sum(shared)
    columns = as_columns(codes[:ways], 60)
    forms = variance_forms(a, b, columns)
    for r in (-1.5, 0.0, 0.8, 3.0):
        left = multiway_mean(b - r * a, list(codes[:ways])).estimate
        found = max(form.bb - 2 * r * form.ab + r**2 * form.aa for form in forms)
        assert math.sqrt(found) == pytest.approx(left.std_error, rel=1e-9)
        assert [form.df for form in forms] == pytest.approx([left.df] * len(forms))
    found = ratio_of_means(a, b, clusters=codes[:ways], conf_level=0.9)
    for end in (found.conf_low, found.conf_high):
        tested = multiway_mean(b - end * a, list(codes[:ways])).estimate
        assert abs(tested.statistic) == pytest.approx(t_quantile(0.9, tested.df), rel=1e-9)
    assert found.conf_low < found.estimate < found.conf_high


def test_eight_columns_of_clusters_are_taken_and_nine_are_not():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, (9, 40))
    a, b = lognormal_pairs(rng, 40)
    assert ratio_of_means(a, b, clusters=codes[:8]).method.endswith("CR2 on 8 cluster columns")
    with pytest.raises(InputError, match="9 cluster columns; give at most 8"):
        ratio_of_means(a, b, clusters=codes)


def test_a_tenth_of_the_items_may_have_no_ratio_and_no_more():
    a, b = lognormal_pairs(np.random.default_rng(1), 20)
    b[:2] = 0.0
    assert geometric_ratio(a, b).conf_low is not None
    a[2] = 0.0
    found = geometric_ratio(a, b)
    assert (found.conf_low, found.n) == (None, 17)
    assert found.reason.startswith("3 of 20 items")
    assert found.estimate == pytest.approx(stats.gmean(b[3:] / a[3:]))
