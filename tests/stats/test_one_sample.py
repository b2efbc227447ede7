"""Single scores: R's values, the formulae written out, and properties."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.one_sample import (
    beta_posterior,
    clopper_pearson,
    failure_rate_limit,
    jeffreys,
    mean_t,
    variance_matched_wilson,
    wilson,
)
from tests.stats.coverage import ends

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
METHODS = (wilson, clopper_pearson, jeffreys)


def test_wilson_and_clopper_pearson_equal_r(reference):
    for case in reference["binomial"]:
        for method, name in ((wilson, "wilson"), (clopper_pearson, "cp")):
            assert ends(method(case["x"], case["n"])) == pytest.approx(case[name], abs=1e-8)


def test_jeffreys_equals_r_away_from_the_ends_and_is_mended_at_them(reference):
    for case in reference["binomial"]:
        expected = list(case["jeffreys"])
        if case["x"] == 0:
            expected[0] = 0.0
        if case["x"] == case["n"]:
            expected[1] = 1.0
        assert ends(jeffreys(case["x"], case["n"])) == pytest.approx(expected, abs=1e-8)


def test_beta_posteriors_equal_r(reference):
    for case in reference["binomial"]:
        x, n = case["x"], case["n"]
        assert ends(beta_posterior(x, n, a=1, b=1)) == pytest.approx(case["uniform"], abs=1e-8)


@settings(deadline=None)
@given(COUNTS, st.floats(0.5, 20), st.floats(0.5, 20), st.floats(0.05, 0.999))
def test_beta_posterior_holds_its_level_and_mirrors(counts, a, b, conf_level):
    x, n = counts
    found = beta_posterior(x, n, a=a, b=b, conf_level=conf_level)
    low, high = ends(found)
    assert 0 <= low < high <= 1
    inside = stats.beta.cdf(high, x + a, n - x + b) - stats.beta.cdf(low, x + a, n - x + b)
    assert inside == pytest.approx(conf_level, abs=1e-7)
    assert found.estimate == x / n
    turned = ends(beta_posterior(n - x, n, a=b, b=a, conf_level=conf_level))
    assert (low, high) == pytest.approx((1 - turned[1], 1 - turned[0]), abs=1e-9)


def test_wilson_ends_solve_the_score_equation():
    result = wilson(81, 263, conf_level=0.9)
    for end in ends(result):
        assert abs(81 / 263 - end) / math.sqrt(end * (1 - end) / 263) == pytest.approx(stats.norm.ppf(0.95), rel=1e-10)


@settings(deadline=None)
@given(COUNTS, st.sampled_from(METHODS), st.floats(0.5, 0.999))
def test_proportion_intervals_hold_the_estimate_and_mirror(counts, method, conf_level):
    x, n = counts
    here, there = method(x, n, conf_level=conf_level), method(n - x, n, conf_level=conf_level)
    assert 0.0 <= here.conf_low <= x / n <= here.conf_high <= 1.0
    assert here.conf_low < here.conf_high
    assert ends(here) == pytest.approx((1 - there.conf_high, 1 - there.conf_low), abs=1e-9)


@settings(deadline=None)
@given(COUNTS, st.sampled_from(METHODS), st.floats(0.5, 0.98))
def test_proportion_intervals_grow_with_the_level(counts, method, conf_level):
    narrow, wide = method(*counts, conf_level=conf_level), method(*counts, conf_level=conf_level + 0.01)
    assert wide.conf_low <= narrow.conf_low
    assert narrow.conf_high <= wide.conf_high
    assert wide.conf_high - wide.conf_low > narrow.conf_high - narrow.conf_low


def test_no_standard_error_is_claimed_where_all_or_none_succeed():
    assert wilson(0, 20).std_error is None
    assert wilson(20, 20).std_error is None
    assert wilson(10, 20).std_error == pytest.approx(math.sqrt(0.25 / 20))
    assert wilson(10, 20).p_value is None


def test_failure_rate_limit_is_the_rate_at_which_all_successes_have_five_percent():
    assert (1 - failure_rate_limit(43)) ** 43 == pytest.approx(0.05, rel=1e-12)
    assert failure_rate_limit(10**9) == pytest.approx(-math.log(0.05) / 10**9, rel=1e-6)


@pytest.mark.parametrize(("x", "n"), [(5, 4), (-1, 4), (0, 0), (2.5, 4), (math.nan, 4)])
def test_impossible_counts_are_refused(x, n):
    for method in METHODS:
        with pytest.raises(InputError):
            method(x, n)


@pytest.mark.parametrize("conf_level", [0.0, 1.0, 95, math.nan])
def test_impossible_levels_are_refused(conf_level):
    with pytest.raises(InputError, match="conf_level"):
        wilson(3, 4, conf_level=conf_level)


def test_mean_t_equals_scipy():
    values = np.random.default_rng(3).normal(2.0, 5.0, 37)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    result = mean_t(values, conf_level=0.9)
    assert ends(result) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert result.df == 36
    assert result.p_value is None


@pytest.mark.parametrize("values", [[1.0, 3.0], [0.2, 0.9, 0.4]])
def test_mean_t_of_the_fewest_items_equals_scipy(values):
    found, theirs = mean_t(values, conf_level=0.8), stats.ttest_1samp(values, 0.0)
    wanted = theirs.confidence_interval(0.8)
    assert (found.conf_low, found.conf_high) == pytest.approx((wanted.low, wanted.high), rel=1e-10)
    assert (found.std_error, found.df, found.n) == (pytest.approx(stats.sem(values)), len(values) - 1, len(values))
    assert found.reason is None


@pytest.mark.parametrize("values", [[0.1] * 12, [3.0], [0.1 + 0.2, 0.3]])
def test_mean_t_of_constant_data_has_no_interval_but_a_reason(values):
    result = mean_t(values)
    assert result.conf_low is None
    assert result.conf_high is None
    assert result.std_error is None
    assert result.reason


def wilson_written_out(p, n_eff, q):
    centre = (p + q**2 / (2 * n_eff)) / (1 + q**2 / n_eff)
    reach = q / (1 + q**2 / n_eff) * math.sqrt(p * (1 - p) / n_eff + q**2 / (4 * n_eff**2))
    return centre - reach, centre + reach


def test_variance_matched_wilson_written_out():
    """n_hat = p(1-p)/V, V = (n-1)s^2/n^2; two of 43 items fall short, by 1/3 and 2/3."""
    values = np.array([1.0] * 40 + [2 / 3, 1 / 3, 1.0])
    n, p = 43, values.mean()
    n_hat = p * (1 - p) / ((n - 1) * values.var(ddof=1) / n**2)
    k = (1 / 3 + 2 / 3) ** 2 / ((1 / 3) ** 2 + (2 / 3) ** 2)
    a = 1 - k / n
    n_eff = 1 / ((k / n_hat + a / n) / (k + a))
    assert n < n_eff < n_hat < 50 * n
    expected = wilson_written_out(p, n_eff, stats.t.ppf(0.975, n - 1))
    result = variance_matched_wilson(values)
    assert ends(result) == pytest.approx(expected, rel=1e-12)
    assert result.df == 42
    assert result.std_error == pytest.approx(values.std() / math.sqrt(43), rel=1e-12)
    # Failures count as successes do: the shortfall is from the nearer bound.
    mirrored = ends(variance_matched_wilson(1 - values))
    assert mirrored == pytest.approx((1 - expected[1], 1 - expected[0]), rel=1e-10)


def test_grades_away_from_both_bounds_are_left_nearly_as_they_are():
    values = np.random.default_rng(0).beta(20, 20, 200)
    p = values.mean()
    n_hat = p * (1 - p) / (199 * values.var(ddof=1) / 200**2)
    expected = wilson_written_out(p, n_hat, stats.t.ppf(0.975, 199))
    low, high = ends(variance_matched_wilson(values))
    assert expected[1] - expected[0] < high - low < 1.01 * (expected[1] - expected[0])


def test_variance_matched_wilson_of_one_trial_is_wilson_with_t():
    values = np.repeat([1.0, 0.0], [30, 13])
    q = stats.t.ppf(0.975, 42)
    as_normal_level = 2 * stats.norm.cdf(q) - 1
    assert ends(variance_matched_wilson(values)) == pytest.approx(
        ends(wilson(30, 43, conf_level=as_normal_level)), abs=1e-10
    )


def test_variance_matched_wilson_with_clusters_written_out():
    """CR2 variance and Satterthwaite df from the double sums of the definition."""
    rng = np.random.default_rng(8)
    clusters = np.repeat(np.arange(9), [14, 2, 2, 3, 5, 2, 4, 6, 2])
    values = (rng.random(40) < rng.beta(2, 2, 9)[clusters]).astype(float)
    n, p = 40, values.mean()
    share = np.bincount(clusters) / n
    sums = np.bincount(clusters, weights=values - p)
    variance = sum(s**2 / (1 - f) for s, f in zip(sums, share, strict=True)) / n**2
    cross = sum(
        share[g] ** 2 * share[h] ** 2 / ((1 - share[g]) * (1 - share[h])) for g in range(9) for h in range(9) if g != h
    )
    df = 1 / (sum(share**2) + cross)
    n_hat = min(n, p * (1 - p) / variance)
    successes = np.bincount(clusters, weights=values)
    short = np.bincount(clusters) - successes if p > 0.5 else successes
    k = short.sum() ** 2 / (short**2).sum()
    a = 1 - k / 9
    n_eff = min(n, 1 / ((k / n_hat + a * (share**2).sum()) / (k + a)))
    result = variance_matched_wilson(values, clusters=clusters)
    assert ends(result) == pytest.approx(wilson_written_out(p, n_eff, stats.t.ppf(0.975, df)), rel=1e-10)
    assert result.df == pytest.approx(df, rel=1e-12)
    assert result.std_error == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_variance_matched_wilson_at_a_bound_counts_items_or_clusters():
    clusters = np.arange(20) // 2
    q_items, q_clusters = stats.t.ppf(0.975, 19), stats.t.ppf(0.975, 9)
    items = variance_matched_wilson(np.ones(20))
    grouped = variance_matched_wilson(np.ones(20), clusters=clusters)
    assert ends(items) == pytest.approx((20 / (20 + q_items**2), 1.0), rel=1e-12)
    assert ends(grouped) == pytest.approx((10 / (10 + q_clusters**2), 1.0), rel=1e-9)
    assert grouped.std_error is None
    assert grouped.warnings == ("Not one of 10 clusters holds a failure: the interval may be too short",)


def test_few_clusters_with_a_failure_are_named():
    clusters = np.arange(24) // 3
    values = np.ones(24)
    values[[0, 5]] = 0.0
    assert variance_matched_wilson(values, clusters=clusters).warnings == (
        "Only 2 of 8 clusters hold a failure: the interval may be too short",
    )
    values[[9, 12, 15]] = 0.0
    assert variance_matched_wilson(values, clusters=clusters).warnings == ()
    rare = variance_matched_wilson(np.where(np.arange(24) == 4, 1.0, 0.0), clusters=clusters)
    assert rare.warnings == ("Only 1 of 8 clusters holds a success: the interval may be too short",)
    balanced = np.tile([0.0, 1.0, 1.0], 8)
    assert variance_matched_wilson(balanced, clusters=clusters).warnings == ()


def test_four_clusters_give_no_interval():
    result = variance_matched_wilson(np.tile([0.0, 1.0], 10), clusters=np.arange(20) // 5)
    assert result.conf_low is None
    assert result.reason == "4 clusters are too few for an interval or a test; at least 5 are needed"
    assert result.estimate == 0.5


def test_equal_grades_inside_the_scale_are_worth_one_item_each():
    """Forty scores of 0.8 tell nothing of their spread: the interval is that of right/wrong items."""
    low, high = ends(variance_matched_wilson(np.full(40, 0.8)))
    assert variance_matched_wilson(np.full(40, 0.8)).std_error is None
    assert (low, high) == pytest.approx(wilson_written_out(0.8, 40, stats.t.ppf(0.975, 39)), rel=1e-10)


def test_a_small_spread_is_worth_at_most_fifty_items_each():
    values = 0.5 + 1e-6 * np.arange(20)
    low, high = ends(variance_matched_wilson(values))
    q = stats.t.ppf(0.975, 19)
    assert high - low == pytest.approx(2 * q * math.sqrt(0.25 / (1000 + q**2)), rel=1e-3)
    capped = variance_matched_wilson(values, n_rows=60)
    assert capped.conf_high - capped.conf_low == pytest.approx(2 * q * math.sqrt(0.25 / (60 + q**2)), rel=1e-3)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=60),
    st.floats(-5, 5),
    st.floats(0.1, 10),
    st.booleans(),
    st.floats(0.5, 0.99),
)
def test_variance_matched_wilson_follows_a_change_of_unit(quarters, low, span, grouped, conf_level):
    unit = np.array(quarters) / 4
    assume(unit.mean() != 0.5)  # both bounds are as near, and rounding says which is taken
    clusters = np.arange(unit.size) % 6 if grouped and unit.size >= 6 else None
    base = variance_matched_wilson(unit, conf_level=conf_level, clusters=clusters)
    moved = variance_matched_wilson(
        low + span * unit, low=low, high=low + span, conf_level=conf_level, clusters=clusters
    )
    assert 0.0 <= base.conf_low <= base.estimate <= base.conf_high <= 1.0
    assert base.conf_low < base.conf_high
    assert ends(moved) == pytest.approx([low + span * end for end in ends(base)], rel=1e-6, abs=1e-6 * span)


def test_scores_out_of_bounds_are_refused():
    with pytest.raises(InputError, match="above the highest possible"):
        variance_matched_wilson([0.5, 87.0])
    with pytest.raises(InputError, match="below the lowest possible"):
        variance_matched_wilson([0.5, -0.1])
    with pytest.raises(InputError, match="NaN"):
        variance_matched_wilson([0.5, math.nan])
    with pytest.raises(InputError, match="low must be below high"):
        variance_matched_wilson([0.5, 0.6], low=1.0, high=1.0)
