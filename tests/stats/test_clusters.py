"""Cluster-robust means: textbook matrices, the published audit, and properties."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.checks import few_effective
from evalstats.stats.clusters import (
    cluster_mean,
    cluster_sign_flip,
    cluster_weighted_mean,
    multiway_mean,
)
from evalstats.stats.one_sample import cr2_of_mean
from tests.stats.coverage import ends


def textbook_cr2(values, clusters):
    """CR2 and Satterthwaite df of an intercept-only regression, from matrices (Pustejovsky & Tipton 2018, eqs 5-11)."""
    n = len(values)
    design = np.ones((n, 1))
    bread = np.linalg.inv(design.T @ design)
    annihilator = np.eye(n) - design @ bread @ design.T
    residuals = annihilator @ values
    variance, columns = 0.0, []
    for level in np.unique(clusters):
        inside = clusters == level
        roots, vectors = np.linalg.eigh(annihilator[np.ix_(inside, inside)])
        adjust = vectors @ np.diag(roots**-0.5) @ vectors.T
        weight = (bread @ design[inside].T @ adjust).ravel()
        variance += float(weight @ residuals[inside]) ** 2
        columns.append(annihilator[:, inside] @ weight)
    cross = np.array(columns) @ np.array(columns).T
    return variance, np.trace(cross) ** 2 / np.square(cross).sum()


@st.composite
def clustered(draw, least=5):
    sizes = draw(st.lists(st.integers(1, 9), min_size=least, max_size=12))
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    steps = draw(st.lists(st.integers(-4, 4), min_size=clusters.size, max_size=clusters.size))
    return np.array(steps) / 4, clusters


def tenacious(reference):
    items, gained = np.array(reference["tenacious"]["clusters"]).T
    clusters = np.repeat(np.arange(len(items)), items)
    values = np.concatenate([np.repeat([1.0, 0.0], [g, m - g]) for m, g in zip(items, gained, strict=True)])
    return values, clusters


@settings(deadline=None, max_examples=60)
@given(clustered(least=2))
def test_closed_form_equals_textbook_matrices(data):
    values, clusters = data
    variance, df = textbook_cr2(values, clusters)
    fast = cr2_of_mean(values, clusters, int(clusters.max()) + 1)
    assert fast.variance == pytest.approx(variance, rel=1e-9, abs=1e-25)
    assert fast.df == pytest.approx(df, rel=1e-9)


def test_published_audit(reference):
    expected = reference["tenacious"]
    values, clusters = tenacious(reference)
    result = cluster_mean(values, clusters, low=-1, high=1)
    assert result.estimate.std_error == pytest.approx(expected["cr2_se"], abs=5e-6)
    assert result.estimate.df == pytest.approx(expected["cr2_df"], abs=5e-4)
    assert result.design_effect == pytest.approx(expected["design_effect"], abs=5e-3)
    assert result.estimate.p_value == pytest.approx(expected["cr2_p"], abs=5e-5)
    low, high = expected["cr2_interval_pp"]
    assert 100 * result.conf_low_unclipped == pytest.approx(low, abs=5e-3)
    assert 100 * result.conf_high_unclipped == pytest.approx(high, abs=5e-2)
    assert ends(result) == (result.conf_low_unclipped, 1.0)
    assert result.effective_clusters == 1 + result.estimate.df
    assert result.n_clusters == result.estimate.n_clusters == 7
    flip = cluster_sign_flip(values, clusters)
    assert (flip.p_value, flip.smallest_p, flip.n_nonzero) == (expected["cluster_sign_flip_p"], 0.25, 3)


def test_clusters_of_one_item_are_the_t_interval():
    values = np.random.default_rng(4).normal(size=30)
    result = cluster_mean(values, np.arange(30))
    interval = stats.ttest_1samp(values, 0.0).confidence_interval()
    assert ends(result) == pytest.approx((interval.low, interval.high), rel=1e-10)
    assert result.estimate.df == pytest.approx(29, rel=1e-12)
    assert result.design_effect == pytest.approx(1.0, rel=1e-12)


def test_equal_clusters_are_the_t_interval_of_cluster_means():
    rng = np.random.default_rng(5)
    values, clusters = rng.normal(size=48), np.arange(48) % 8
    means = np.array([values[clusters == g].mean() for g in range(8)])
    interval = stats.ttest_1samp(means, 0.0).confidence_interval()
    assert ends(cluster_mean(values, clusters)) == pytest.approx((interval.low, interval.high), rel=1e-10)
    weighted = cluster_weighted_mean(values, clusters)
    assert (weighted.conf_low, weighted.conf_high) == pytest.approx((interval.low, interval.high), rel=1e-10)


@settings(deadline=None)
@given(clustered(), st.floats(0.6, 0.99))
def test_cluster_mean_properties(data, conf_level):
    values, clusters = data
    here = cluster_mean(values, clusters, conf_level=conf_level, low=-1, high=1)
    assume(here.estimate.std_error is not None)
    assert here.estimate.conf_low <= here.estimate.estimate <= here.estimate.conf_high
    there = cluster_mean(-values, clusters, conf_level=conf_level, low=-1, high=1)
    assert ends(here) == pytest.approx((-there.estimate.conf_high, -there.estimate.conf_low), abs=1e-12)
    wider = cluster_mean(values, clusters, conf_level=0.5 * (1 + conf_level))
    assert wider.conf_low_unclipped < here.conf_low_unclipped
    assert wider.conf_high_unclipped > here.conf_high_unclipped
    p = here.estimate.p_value
    assume(abs(p - (1 - conf_level)) > 1e-9)
    assert (here.estimate.conf_low > 0 or here.estimate.conf_high < 0) == (p < 1 - conf_level)


@settings(deadline=None)
@given(clustered(), st.integers(2, 4), st.randoms())
def test_copies_of_rows_and_their_order_change_nothing(data, copies, random):
    values, clusters = data
    base = cluster_mean(values, clusters)
    assume(base.estimate.std_error is not None)
    order = list(range(values.size * copies))
    random.shuffle(order)
    many = cluster_mean(np.tile(values, copies)[order], 7 * np.tile(clusters, copies)[order] + 3)
    assert ends(many) == pytest.approx(ends(base), rel=1e-9, abs=1e-12)
    assert many.estimate.df == pytest.approx(base.estimate.df, rel=1e-9)
    assert many.estimate.p_value == pytest.approx(base.estimate.p_value, rel=1e-7)


@pytest.mark.parametrize("n_clusters", [1, 2, 4])
def test_too_few_clusters_give_no_interval_and_no_p(n_clusters):
    values, clusters = np.arange(12.0), np.arange(12) % n_clusters
    for estimate in (cluster_mean(values, clusters).estimate, cluster_weighted_mean(values, clusters)):
        assert estimate.conf_low is None
        assert estimate.p_value is None
        assert "too few" in estimate.reason
    assert cluster_mean(values, clusters).n_clusters == n_clusters


@pytest.mark.parametrize("values", [np.full(20, 0.1), np.tile([0.0, 0.3], 10)])
def test_equal_cluster_means_give_a_reason_and_not_a_width_of_zero(values):
    result = cluster_mean(values, np.arange(20) // 2)
    assert result.estimate.conf_low is None
    assert result.estimate.std_error is None
    assert result.estimate.p_value is None
    assert result.design_effect is None
    assert result.conf_low_unclipped is None
    assert "equal" in result.estimate.reason
    assert cluster_weighted_mean(values, np.arange(20) // 2).reason


def test_one_huge_cluster_leaves_few_effective_clusters():
    clusters = np.repeat(np.arange(5), [200, 1, 1, 1, 1])
    result = cluster_mean(np.random.default_rng(1).normal(size=204), clusters)
    assert result.effective_clusters == pytest.approx(2.0, abs=0.2)
    assert result.estimate.warnings == (few_effective(result.estimate.df),)
    assert cluster_mean(np.arange(40.0), np.arange(40) // 5).estimate.warnings == ()


def test_weighted_mean_counts_each_cluster_once():
    values, clusters = np.repeat([1.0, 0.0, 0.5, 0.0, 1.0], [9, 1, 1, 1, 1]), np.repeat(np.arange(5), [9, 1, 1, 1, 1])
    result = cluster_weighted_mean(values, clusters)
    assert result.estimate == 0.5
    assert result.std_error == pytest.approx(0.5 / math.sqrt(5), rel=1e-12)
    assert result.p_value == pytest.approx(stats.ttest_1samp([1, 0, 0.5, 0, 1], 0).pvalue, rel=1e-10)


def test_cluster_sums_that_cancel_count_as_zero():
    flip = cluster_sign_flip([0.1, 0.2, -0.3, 1.0, 1.0], [0, 0, 0, 1, 2])
    assert flip.n_nonzero == 2
    assert flip.p_value == 0.5


def test_two_ways_are_inclusion_and_exclusion_of_textbook_pieces():
    rng = np.random.default_rng(12)
    passage, user = rng.integers(0, 9, 120), rng.integers(0, 7, 120)
    values = rng.normal(size=120) + rng.normal(size=9)[passage] + rng.normal(size=7)[user]
    (v_p, df_p), (v_u, df_u) = textbook_cr2(values, passage), textbook_cr2(values, user)
    both, _ = textbook_cr2(values, 10 * passage + user)
    result = multiway_mean(values, [passage, user]).estimate
    assert v_p + v_u - both > max(v_p, v_u)
    assert result.std_error == pytest.approx(math.sqrt(v_p + v_u - both), rel=1e-9)
    assert result.df == pytest.approx(min(df_p, df_u), rel=1e-9)
    assert result.n_clusters == 7


def test_three_ways_alternate_in_sign():
    rng = np.random.default_rng(21)
    a, b, c = rng.integers(0, 6, (3, 150))
    values = rng.normal(size=150) + rng.normal(size=6)[a] + rng.normal(size=6)[b] + rng.normal(size=6)[c]

    def piece(codes):
        return textbook_cr2(values, codes)[0]

    pairs = piece(10 * a + b) + piece(10 * a + c) + piece(10 * b + c)
    expected = piece(a) + piece(b) + piece(c) - pairs + piece(100 * a + 10 * b + c)
    assert multiway_mean(values, [a, b, c]).estimate.std_error == pytest.approx(math.sqrt(expected), rel=1e-9)


def test_one_column_of_several_is_the_mean_of_its_clusters():
    rng = np.random.default_rng(8)
    values, clusters = rng.normal(size=30), rng.integers(0, 8, 30)
    assert multiway_mean(values, [clusters]) == cluster_mean(values, clusters)
    columns = [rng.integers(0, 8, 30) for _ in range(9)]
    assert multiway_mean(values, columns[:8]).estimate.conf_low is not None
    for wrong in ([], columns):
        with pytest.raises(InputError, match=f"{len(wrong)} cluster columns; give 1 to 8"):
            multiway_mean(values, wrong)


def test_two_ways_never_fall_below_one_way():
    """Differences that balance within users make the sum smaller than the passage piece alone."""
    passage, user = np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6)
    values = np.where((passage + user) % 2 == 0, 1.0, -1.0) + 0.1 * passage
    both = multiway_mean(values, [passage, user]).estimate.std_error
    assert both == cluster_mean(values, passage).estimate.std_error


def test_nested_columns_reduce_to_the_coarser():
    rng = np.random.default_rng(3)
    family = rng.integers(0, 8, 90)
    template = 10 * family + rng.integers(0, 3, 90)
    values = rng.normal(size=90)
    alone = cluster_mean(values, family, low=-9, high=9)
    assert multiway_mean(values, [template, family], low=-9, high=9) == alone
    assert multiway_mean(values, [family, family], low=-9, high=9) == alone


def test_several_ways_with_a_column_of_four_have_no_interval():
    result = multiway_mean(np.arange(40.0), [np.arange(40) % 4, np.arange(40) // 5])
    assert result.estimate.conf_low is None
    assert "4 clusters are too few" in result.estimate.reason


def test_codes_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="one code per value"):
        cluster_mean([1.0, 2.0], [0, 1, 2])
    with pytest.raises(InputError, match="integer codes"):
        cluster_mean([1.0, 2.0], [0.0, 1.0])
    with pytest.raises(InputError, match="codes are 0 or more"):
        cluster_mean([1.0, 2.0], [0, -1])
    with pytest.raises(InputError, match="0 cluster columns"):
        multiway_mean([1.0, 2.0], [])


def test_values_beyond_the_bounds_are_refused():
    values, codes = np.linspace(-1.0, 1.0, 12), np.arange(12) % 6
    for low, high, words in (
        (-0.5, 1.0, "below the lowest"),
        (-1.0, 0.5, "above the highest"),
        (1.0, -1.0, "below high"),
    ):
        with pytest.raises(InputError, match=words):
            cluster_mean(values, codes, low=low, high=high)
        with pytest.raises(InputError, match=words):
            multiway_mean(values, [codes, np.arange(12) // 2], low=low, high=high)


def test_two_clusters_have_a_standard_error():
    """Their residuals are r and -r: with shares f and 1 - f, V = r^2 (1/(1 - f) + 1/f)/n^2."""
    values, codes = np.array([1.0, 2.0, 4.0, 3.0, 9.0]), np.array([0, 0, 0, 1, 1])
    found = cluster_mean(values, codes).estimate
    rest = (values - values.mean())[:3].sum()
    assert found.std_error == pytest.approx(abs(rest) * np.sqrt(1 / 0.4 + 1 / 0.6) / 5)
    assert cluster_mean(values, np.zeros(5, int)).estimate.std_error is None


@pytest.mark.parametrize(("last", "few"), [(7, False), (8, True), (70, True)])
def test_clusters_worth_fewer_than_five_are_told(last, few):
    """Five equal clusters have four degrees of freedom up to rounding."""
    codes = np.repeat(np.arange(5), [7, 7, 7, 7, last])
    estimate = cluster_mean(np.random.default_rng(0).normal(size=len(codes)), codes).estimate
    assert bool(estimate.warnings) == few
    assert (estimate.df < 4 - 1e-9) == few
