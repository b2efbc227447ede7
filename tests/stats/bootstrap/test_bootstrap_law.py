"""Laws of the bootstrap: listed resamples, R-free convolutions, the published audit, resampling with a seed."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import fft, stats

from evalstats.stats import bootstrap
from evalstats.stats.bootstrap import (
    _all_multiples,
    _bracket,
    _window,
    all_resamples,
    augmented_percentile,
    common_step,
    fast_length,
    grid_law,
    lattice_law,
    law_of_sum,
    percentile_law,
    ratio_ends,
)
from tests.stats.coverage import ends

GRID_ERROR = 0.01  # standard errors; the grid has 400 points to one


def type_one_ends(law, tail):
    """Smallest point with P(<=) >= tail and largest with P(>=) >= tail, in exact arithmetic."""
    points = sorted(law)
    below, above = Fraction(0), Fraction(0)
    low = high = None
    for point in points:
        below += law[point]
        if low is None and below >= tail:
            low = point
    for point in reversed(points):
        above += law[point]
        if high is None and above >= tail:
            high = point
    return float(low), float(high)


def law_of_mean(numerators, denominator):
    """n-fold convolution in whole numbers."""
    n = len(numerators)
    law = {0: 1}
    for _ in range(n):
        grown = defaultdict(int)
        for total, ways in law.items():
            for value in numerators:
                grown[total + value] += ways
        law = grown
    return {Fraction(total, denominator * n): Fraction(ways, n**n) for total, ways in law.items()}


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-5, 5), min_size=2, max_size=12), st.sampled_from([1, 3, 5]), st.sampled_from([0.8, 0.95]))
def test_lattice_ends_equal_the_exact_convolution(numerators, denominator, conf_level):
    assume(len(set(numerators)) > 1)
    expected = type_one_ends(law_of_mean(numerators, denominator), Fraction(str(round((1 - conf_level) / 2, 6))))
    result = percentile_law(np.array(numerators) / denominator, conf_level=conf_level)
    if expected[0] == expected[1]:
        assert result.conf_low is None
        assert result.reason
    else:
        assert ends(result) == pytest.approx(expected, abs=1e-9)


def test_published_audit(reference):
    expected = reference["tenacious"]
    items, gained = np.array(expected["clusters"]).T
    clusters = np.repeat(np.arange(7), items)
    values = np.concatenate([np.repeat([1.0, 0.0], [g, m - g]) for m, g in zip(items, gained, strict=True)])
    assert 100 * np.array(ends(percentile_law(values))) == pytest.approx(expected["percentile_pp"], abs=1e-8)
    grouped = percentile_law(values, clusters=clusters)
    assert 100 * np.array(ends(grouped)) == pytest.approx(expected["cluster_percentile_pp"], abs=1e-8)
    assert grouped.std_error == pytest.approx(0.19787093697832987, rel=1e-10)  # CR0 of the same source
    assert grouped.n_resamples is None
    assert grouped.p_value is None


@pytest.mark.parametrize("n", [43, 3_000, 400_000])
@pytest.mark.parametrize("rate", [0.5, 0.97])
def test_right_wrong_ends_are_binomial_quantiles(n, rate):
    right = round(rate * n)
    expected = stats.binom.ppf([0.025, 0.975], n, right / n) / n
    result = percentile_law(np.repeat([1.0, 0.0], [right, n - right]))
    assert ends(result) == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.parametrize("n", [7, 20, 60, 400])
@pytest.mark.parametrize("shape", ["skewed", "ceiling", "outlier"])
def test_grid_ends_equal_a_large_bootstrap(n, shape):
    rng = np.random.default_rng(n)
    values = {
        "skewed": rng.exponential(size=n) ** 2,
        "ceiling": np.where(rng.random(n) < 0.6, 1.0, rng.random(n)),
        "outlier": np.where(np.arange(n) == 0, 50.0, rng.normal(size=n)),
    }[shape]
    assert common_step(values - values.min()) is None
    draws = 40_000
    means = np.concatenate([rng.choice(values, (2000, n)).mean(axis=1) for _ in range(draws // 2000)])
    result = percentile_law(values)
    # P(mean <= end) of the resamples is the level, within 5 binomial standard errors and one atom.
    for end, level in zip(ends(result), (0.025, 0.975), strict=True):
        noise = 5 * math.sqrt(0.025 * 0.975 / draws)
        slack = GRID_ERROR * result.std_error
        assert np.mean(means < end - slack) <= level + noise
        assert np.mean(means <= end + slack) >= level - noise


def test_grid_and_lattice_agree_on_the_same_data():
    """Trial means, once as they are and once moved by less than matters, so that no lattice is found."""
    rng = np.random.default_rng(1)
    values = rng.binomial(40, 0.85, 500) / 40
    exact, near = percentile_law(values), percentile_law(values + 1e-6 * rng.normal(size=500))
    step = 1 / 40 / 500
    assert ends(near) == pytest.approx(ends(exact), abs=step + GRID_ERROR * exact.std_error)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=5), st.sampled_from([1.0, 40.0]))
def test_a_grid_blurs_each_listed_sum_by_a_few_cells_only(values, unit):
    """A draw is spread less than two cells to either side: between sums that are further apart the law is the listed one."""
    values = unit * np.array(values)
    assume(np.ptp(values) > 1e-3 * unit)
    n, law = values.size, grid_law(values)
    sums = np.sort([sum(drawn) for drawn in product(values.tolist(), repeat=n)])
    assert law.step <= values.std() * math.sqrt(n) / 400
    gap = np.flatnonzero(np.diff(sums) > (4 * n + 2) * law.step)
    for at in gap:
        point = sums[at + 1] - (2 * n + 1) * law.step
        assert law.cdf(point) == pytest.approx((at + 1) / sums.size, abs=1e-12)


def test_a_lattice_keeps_its_accuracy_over_many_draws():
    """Against SciPy's binomial law; the powers of a transform that turns with every draw would lose digits."""
    n = 200_000
    law = lattice_law(np.repeat([0.0, 1.0], [n // 4, n - n // 4]), 0.0, 1.0)
    points = np.rint(law.start + law.step * np.arange(law.mass.size))
    assert law.mass == pytest.approx(stats.binom.pmf(points, n, 0.75), abs=5e-14)


def test_values_on_a_lattice_may_be_counted_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch):
    values = 0.25 * np.random.default_rng(8).integers(-3, 9, size=500)
    whole = lattice_law(values, float(values.min()), 0.25)
    monkeypatch.setattr(bootstrap, "_DIVIDED_AT_ONCE", 7)
    parts = lattice_law(values, float(values.min()), 0.25)
    assert (parts.start, parts.step) == (whole.start, whole.step)
    np.testing.assert_array_equal(parts.mass, whole.mass)


def test_a_lattice_too_long_to_transform_is_laid_on_a_grid():
    steps = np.zeros(100)
    steps[:30] = 2.0**20 - np.arange(30.0)
    assert lattice_law(steps, 0.0, 1.0) is None
    law = law_of_sum(steps)
    assert law.mass.size < 2**17
    assert law.step * law.mass @ np.arange(law.mass.size) + law.start == pytest.approx(steps.sum(), rel=1e-9)


@pytest.mark.parametrize(("n", "right"), [(60_000, 40_000), (60_000, 3), (2_000, 700)])
def test_the_window_is_where_bernsteins_bound_falls_to_1e_20(n, right):
    values = np.repeat([0.0, 1.0], [n - right, right])
    start, length, std_error = _window(values.mean(), values.var(), n, 1.0)
    assert std_error == pytest.approx(values.std() * math.sqrt(n))
    assert start + 0.5 * length == pytest.approx(right)
    reach = 0.5 * length
    assert reach**2 / (2.0 * (std_error**2 + reach / 3.0)) == pytest.approx(-math.log(1e-20))
    outside = stats.binom.cdf(math.ceil(start) - 1, n, right / n) + stats.binom.sf(start + length, n, right / n)
    assert outside < 2e-20


def test_a_window_is_never_longer_than_the_sums_that_there_are():
    values = np.repeat([0.0, 3.0], [10, 20])
    assert _window(values.mean(), values.var(), 30, 3.0)[:2] == (0.0, 90.0)


def test_the_unit_of_values_changes_neither_the_grid_nor_its_law():
    """Costs are 1e-6 dollars: a window that is rounded up to whole units would take millions of points."""
    values = np.random.default_rng(3).exponential(size=3000)
    plain, small = grid_law(values), grid_law(values * 2.0**-20)
    assert plain.mass.size == small.mass.size
    assert np.array_equal(plain.mass, small.mass)
    assert (small.start, small.step) == (plain.start * 2.0**-20, plain.step * 2.0**-20)


def test_grid_keeps_mean_and_variance():
    values = np.random.default_rng(9).exponential(size=1000)
    law = grid_law(values)
    points = law.start + law.step * np.arange(law.mass.size)
    mean = float(law.mass @ points)
    assert law.mass.sum() == pytest.approx(1.0, abs=1e-10)
    assert mean == pytest.approx(values.sum(), rel=1e-9)
    assert float(law.mass @ (points - mean) ** 2) == pytest.approx(1000 * values.var(), rel=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=60), st.floats(0.7, 0.99))
def test_percentile_law_properties(numerators, conf_level):
    values = np.array(numerators) / 6
    here = percentile_law(values, conf_level=conf_level)
    assume(here.conf_low is not None)
    assert values.min() - 1e-9 <= here.conf_low < here.conf_high <= values.max() + 1e-9
    there = percentile_law(-values, conf_level=conf_level)
    assert ends(here) == pytest.approx((-there.conf_high, -there.conf_low), abs=1e-9)
    wider = percentile_law(values[::-1], conf_level=0.5 * (1 + conf_level))
    assert wider.conf_low <= here.conf_low + 1e-9
    assert wider.conf_high >= here.conf_high - 1e-9
    assert here.estimate == pytest.approx(values.mean(), rel=1e-12)
    assert here.std_error == pytest.approx(values.std() / math.sqrt(values.size), rel=1e-12)


@pytest.mark.parametrize("values", [np.ones(43), np.full(300, 0.1), np.array([0.3])])
def test_constant_data_give_a_reason_and_no_interval(values):
    result = percentile_law(values)
    assert result.conf_low is None
    assert result.conf_high is None
    assert result.std_error is None
    assert "width zero" in result.reason
    grouped = percentile_law(np.ones(20), clusters=np.arange(20) // 2)
    assert grouped.conf_low is None
    assert "width zero" in grouped.reason
    sizes = np.arange(1, 7)
    of_no_like_size = percentile_law(np.full(21, 0.3), clusters=np.repeat(np.arange(6), sizes))
    assert "cluster means are equal" in of_no_like_size.reason
    like_sums = percentile_law(np.repeat(1.0 / sizes, sizes), clusters=np.repeat(np.arange(6), sizes))
    assert like_sums.conf_low < like_sums.conf_high


def test_one_failure_in_a_million_is_poisson():
    """The sum of n draws is Poisson(1) in the limit: its .025 and .975 quantiles are 0 and 3."""
    values = np.zeros(1_000_000)
    values[0] = 1.0
    assert ends(percentile_law(values)) == pytest.approx((0.0, 3e-6), abs=1e-12)


@pytest.mark.parametrize("sizes", [[1, 2, 3, 1, 4], [2, 5, 1, 1, 3, 2]])
def test_cluster_ends_equal_every_resample_listed(sizes):
    rng = np.random.default_rng(sum(sizes))
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    values = rng.integers(0, 3, clusters.size)
    sums = np.bincount(clusters, weights=values).astype(int).tolist()
    law = defaultdict(Fraction)
    for chosen in product(range(len(sizes)), repeat=len(sizes)):
        ratio = Fraction(sum(sums[g] for g in chosen), 2 * sum(sizes[g] for g in chosen))
        law[ratio] += Fraction(1, len(sizes) ** len(sizes))
    result = percentile_law(values / 2, clusters=clusters)
    assert ends(result) == pytest.approx(type_one_ends(law, Fraction(1, 40)), abs=1e-12)


def test_listed_resamples_have_total_probability_one():
    ratios, weights = all_resamples(np.arange(8.0), np.arange(1.0, 9.0))
    assert weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert ratios.size == math.comb(15, 8)


def test_clusters_of_one_item_are_items():
    values = np.random.default_rng(2).integers(0, 4, 25) / 3
    assert ends(percentile_law(values, clusters=np.arange(25))) == pytest.approx(
        ends(percentile_law(values)), abs=1e-12
    )


@pytest.mark.parametrize("n_clusters", [12, 40])
@pytest.mark.parametrize("continuous", [False, True])
def test_cluster_ends_equal_a_large_bootstrap(n_clusters, continuous):
    rng = np.random.default_rng(n_clusters)
    sizes = rng.integers(1, 9, n_clusters)
    clusters = np.repeat(np.arange(n_clusters), sizes)
    level = rng.beta(2, 1, n_clusters)[clusters]
    values = level + 0.1 * rng.normal(size=clusters.size) if continuous else (rng.random(clusters.size) < level) * 1.0
    sums = np.bincount(clusters, weights=values)
    chosen = rng.integers(0, n_clusters, (40_000, n_clusters))
    ratios = sums[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
    result = percentile_law(values, clusters=clusters)
    noise, slack = 5 * math.sqrt(0.025 * 0.975 / 40_000), GRID_ERROR * result.std_error
    for end, share in zip(ends(result), (0.025, 0.975), strict=True):
        assert np.mean(ratios < end - slack) <= share + noise
        assert np.mean(ratios <= end + slack) >= share - noise


def test_a_ceiling_that_most_resamples_reach_is_an_end():
    """11 of 12 clusters are perfect: (11/12)^12 = .35 of resamples are, so the upper end is exactly 1."""
    clusters = np.repeat(np.arange(12), [1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5])
    values = np.where(clusters == 4, 0.0, 1.0)
    assert percentile_law(values, clusters=clusters).conf_high == 1.0
    assert percentile_law(-values, clusters=clusters).conf_low == -1.0
    # (9/12)^12 = .032: just more than .025, and half of it less.
    values = np.where(np.isin(clusters, (2, 4, 7)), 0.0, 1.0)
    assert percentile_law(values, clusters=clusters).conf_high == 1.0
    # (8/12)^12 = .008
    assert percentile_law(np.where(clusters == 8, 0.0, values), clusters=clusters).conf_high < 1.0


def test_ends_that_fall_on_one_value_are_no_interval():
    """Of ten draws from nine 0 and one 1, P(sum = 0) = .35 and P(sum <= 1) = .74: both 45% ends are one 1."""
    found = percentile_law([0.0] * 9 + [1.0], conf_level=0.1)
    assert ends(found) == (None, None)
    assert "both ends fall on it" in found.reason
    assert percentile_law([0.0] * 9 + [1.0], conf_level=0.5).conf_low == 0.0


def test_the_resamples_of_ten_clusters_are_listed():
    """An end of whole sums over whole sizes is such a ratio."""
    sizes = np.arange(1.0, 11.0)
    for end in ratio_ends(np.array([0.0, 2, 1, 3, 1, 6, 2, 8, 4, 9]), sizes, 0.025):
        parts = end * np.arange(10, 101)
        assert np.abs(parts - np.rint(parts)).min() < 1e-9


def test_four_clusters_are_too_few():
    assert "too few" in percentile_law([1.0, 0.0, 1.0, 1.0], clusters=[0, 1, 2, 3]).reason


def test_augmented_percentile_is_the_percentile_of_padded_data():
    d = np.repeat([1.0, -1.0, 0.0], [4, 1, 25])
    padded = percentile_law(np.concatenate([d, [1.0, -1.0]]))
    result = augmented_percentile(d)
    assert ends(result) == ends(padded)
    assert result.estimate == d.mean()
    assert result.std_error == padded.std_error
    assert result.n == 30
    assert ends(augmented_percentile(100 * d, bound=100.0)) == pytest.approx([100 * end for end in ends(padded)])
    assert augmented_percentile(np.ones(10)).conf_low < 1.0


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 2000), st.lists(st.integers(-2000, 2000), min_size=1, max_size=40))
def test_common_step_finds_the_greatest_common_divisor(denominator, numerators):
    assume(any(numerators))
    step = common_step(np.array(numerators) / denominator)
    assert step == pytest.approx(math.gcd(*numerators) / denominator, rel=1e-9)


def test_common_step_of_unlike_trials_and_of_continuous_values():
    assert common_step(np.array([1 / 3, 2 / 5, 3 / 7])) == pytest.approx(1 / 105, rel=1e-9)
    assert common_step(np.random.default_rng(0).random(50)) is None
    assert common_step(np.zeros(4)) is None
    # Only the last of many values leaves the lattice of thirds, for that of sixths.
    assert common_step(np.append(np.tile([1 / 3, 1.0], 1000), 1 / 6)) == pytest.approx(1 / 6, rel=1e-12)
    # None of the later ones lies on any.
    assert common_step(np.append(np.tile([1 / 3, 1.0], 1000), [2**-0.5])) is None
    assert _all_multiples(np.array([1.0, 2.0, 5.0]), 1.0)
    assert not _all_multiples(np.array([1.0, 1.9]), 1.0)
    assert not _all_multiples(np.array([1.0, 2.1]), 1.0)
    assert not _all_multiples(np.array([1.0, 2.00001]), 1.0)
    assert common_step(np.array([-2.0, -3.0, -7.0])) == 1.0
    assert common_step(np.append(np.tile([1 / 3, 1.0], 1000), -1 / 6)) == pytest.approx(1 / 6, rel=1e-12)
    # A largest value of 2^20 steps is the finest lattice.
    assert common_step(np.array([1.0, 2.0**-20])) == 2.0**-20
    assert common_step(np.array([1.0, 1.0 / (2**20 + 1)])) is None


def test_a_lattice_is_one_wherever_it_lies():
    for low in (math.sqrt(2.0), -1.7, 1e3):
        law = law_of_sum(low + np.array([0.0, 1.0, 3.0, 3.0]))
        assert law.step == pytest.approx(1.0, rel=1e-9)
        assert law.lower(0.004) == pytest.approx(4 * low + 1.0)  # (1/4)^4 = .0039 lies at the lowest sum
        assert law.lower(0.0038) == pytest.approx(4 * low)


def test_equal_clusters_of_several_items_are_their_means():
    means = np.random.default_rng(4).exponential(size=15)
    found = ratio_ends(3.0 * means, np.full(15, 3.0), 0.025)
    assert found == pytest.approx(ends(percentile_law(means)), rel=1e-9)


@pytest.mark.parametrize("near", [-9.0, 0.5, 1.4, 1.5, 6.0, 99.0])
@pytest.mark.parametrize("root", [1.45, -50.0, 50.0])
def test_a_bracket_holds_the_root_or_the_end_nearest_to_it(near, root):
    low, high = _bracket(lambda t: t**3 - root**3, near, 0.1, (0.0, 8.0))
    assert 0.0 <= low <= high <= 8.0
    if root < 0.0:
        assert low == 0.0
    elif root > 8.0:
        assert high == 8.0
    else:
        assert low < root < high
        assert high - low <= max(0.2, abs(near - root))


@given(st.integers(1, 10**7))
def test_a_fast_length_is_that_of_scipy(least):
    assert fast_length(least) == fft.next_fast_len(least, real=True)
