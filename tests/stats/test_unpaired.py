"""Two independent samples: against published values, scipy, brute force and simulation."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from evalstats.errors import InputError
from evalstats.stats.unpaired import (
    TwoProportions,
    adjusted_difference,
    clustered_difference,
    detectable_difference,
    fisher_exact,
    miettinen_nurminen,
    newcombe_hybrid,
    sample_ratio_p,
    score_margin_test,
    stratified_difference,
    welch,
)
from tests.stats.coverage import allowance

# Printed with five digits.
PRINTED = 6e-6
# Roots are found to 1e-12 of their bracket.
ROOT = 1e-9
# Sums in another order.
ROUNDING = 1e-10


def counts(baseline: int, n_baseline: int, candidate: int, n_candidate: int) -> TwoProportions:
    return TwoProportions(baseline=baseline, n_baseline=n_baseline, candidate=candidate, n_candidate=n_candidate)


NEWCOMBE = counts(48, 80, 56, 70)


# --- right or wrong ---


def test_published_intervals() -> None:
    """Newcombe 1998, 56/70 against 48/80: methods 5 (Mee), 6 (Miettinen-Nurminen) and 10 (hybrid)."""
    found = miettinen_nurminen(NEWCOMBE)
    assert (found.conf_low, found.conf_high) == pytest.approx((0.05283, 0.33817), abs=PRINTED)
    hybrid = newcombe_hybrid(NEWCOMBE)
    assert (hybrid.conf_low, hybrid.conf_high) == pytest.approx((0.05243, 0.33387), abs=PRINTED)


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [
        # Newcombe 1998, table II, method 10, examples (b) to (h).
        ((3, 10, 9, 10), 0.1705, 0.8090),
        ((2, 7, 6, 7), 0.0582, 0.8062),
        ((0, 29, 5, 56), -0.0381, 0.1926),
        ((0, 20, 0, 10), -0.1611, 0.2775),
        ((0, 10, 10, 10), 0.6075, 1.0000),
    ],
)
def test_published_hybrids(table: tuple[int, int, int, int], low: float, high: float) -> None:
    found = newcombe_hybrid(counts(*table))
    assert (found.conf_low, found.conf_high) == pytest.approx((low, high), abs=6e-5)


@pytest.mark.parametrize("table", [(48, 80, 56, 70), (0, 20, 3, 15), (7, 7, 2, 9), (1, 400, 0, 300)])
@pytest.mark.parametrize("difference", [-0.6, -0.05, 0.0, 0.02, 0.4])
def test_the_restricted_proportions_maximise_the_likelihood(table: tuple[int, ...], difference: float) -> None:
    two = counts(*table)

    def unlikely(p: float) -> float:
        q = p + difference
        if not (0 <= p <= 1 and 0 <= q <= 1):
            return math.inf
        return -float(
            stats.binom.logpmf(two.baseline, two.n_baseline, p) + stats.binom.logpmf(two.candidate, two.n_candidate, q)
        )

    ends = max(0.0, -difference), min(1.0, 1.0 - difference)
    best = optimize.minimize_scalar(unlikely, bounds=ends, method="bounded", options={"xatol": 1e-11}).x
    best = min((best, *ends), key=unlikely)
    q, n = best + difference, two.n_baseline + two.n_candidate
    slow = (best * (1 - best) / two.n_baseline + q * (1 - q) / two.n_candidate) * n / (n - 1)
    # The likelihood is flat at its top: its maximum is found to some 1e-6.
    assert float(two.variance(np.array([difference]))[0]) == pytest.approx(slow, abs=2e-7)


@pytest.mark.parametrize(
    "table",
    [
        (48, 80, 56, 70),
        (0, 20, 3, 15),
        (7, 7, 2, 9),
        (0, 5, 5, 5),
        (0, 30, 0, 25),
        (4, 4, 4, 4),
        (9, 9, 6, 6),
        (0, 900, 700, 700),
    ],
)
def test_the_interval_holds_what_the_test_does_not_reject(table: tuple[int, int, int, int]) -> None:
    two = counts(*table)
    found = miettinen_nurminen(two)
    assert found.conf_low is not None
    assert found.conf_high is not None
    assert -1 <= found.conf_low < found.conf_high <= 1
    z = stats.norm.ppf(0.975)
    for end, outward in ((found.conf_low, -1), (found.conf_high, 1)):
        if abs(end) < 1 - ROOT:
            assert abs(two.statistic(end - outward * 1e-7)) < z < abs(two.statistic(end + outward * 1e-7))
    grid = np.linspace(-0.999, 0.999, 112)
    inside = [abs(two.statistic(float(d))) <= z for d in grid]
    assert inside == [found.conf_low <= d <= found.conf_high for d in grid]


def test_the_test_of_no_difference_is_pearsons_with_n_less_one() -> None:
    table = [[56, 14], [48, 32]]
    pearson = stats.chi2_contingency(table, correction=False).statistic * (150 - 1) / 150
    found = miettinen_nurminen(NEWCOMBE)
    assert found.statistic == pytest.approx(math.sqrt(pearson), abs=ROUNDING)
    assert found.p_value == pytest.approx(stats.chi2.sf(pearson, 1), abs=ROUNDING)


def test_size_and_coverage_from_every_table() -> None:
    """Over all tables of 10 and 14 trials the interval holds the truth in 93% to 99%, and the test is of size 5%."""
    n_1, n_2 = 10, 14
    answer = cache(lambda x, y: miettinen_nurminen(counts(x, n_1, y, n_2)))
    for p, difference in ((0.5, 0.0), (0.2, 0.0), (0.6, 0.2), (0.85, 0.1), (0.1, 0.3)):
        weight = np.outer(stats.binom.pmf(range(n_1 + 1), n_1, p), stats.binom.pmf(range(n_2 + 1), n_2, p + difference))
        held = rejected = 0.0
        for x, y in zip(*np.nonzero(weight > 1e-9), strict=True):
            found = answer(int(x), int(y))
            assert found.conf_low is not None
            assert found.conf_high is not None
            assert found.p_value is not None
            held += weight[x, y] * (found.conf_low <= difference <= found.conf_high)
            rejected += weight[x, y] * (found.p_value <= 0.05)
        assert 0.93 < held < 0.99
        assert difference != 0.0 or rejected < 0.06


def test_the_margin_test_agrees_with_its_limit() -> None:
    two = counts(480, 600, 470, 600)
    found = score_margin_test(two, margin=0.07)
    low = found.low_one_sided
    assert low is not None
    assert stats.norm.sf(two.statistic(low)) == pytest.approx(0.05, abs=1e-8)
    at = score_margin_test(two, margin=-low)
    assert at.noninferior_p == pytest.approx(0.05, abs=1e-8)
    mirrored = score_margin_test(counts(470, 600, 480, 600), margin=0.07)
    assert mirrored.nonsuperior_p == pytest.approx(found.noninferior_p, abs=ROOT)
    with pytest.raises(InputError, match="margin is 2"):
        score_margin_test(two, margin=2.0)


@pytest.mark.parametrize("wrong", [(5, 4, 1, 2), (1, 0, 1, 2), (-1, 3, 1, 2)])
def test_counts_that_are_none(wrong: tuple[int, int, int, int]) -> None:
    with pytest.raises(InputError):
        counts(*wrong)


# --- graded ---


def test_welch_is_scipys() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 23), rng.normal(0.4, 3, 41)
    found, theirs = welch(a, b), stats.ttest_ind(b, a, equal_var=False)
    ends = theirs.confidence_interval()
    assert (found.statistic, found.df, found.p_value) == pytest.approx(
        (theirs.statistic, theirs.df, theirs.pvalue), rel=ROUNDING
    )
    assert (found.conf_low, found.conf_high) == pytest.approx((ends.low, ends.high), rel=ROUNDING)


def _by_matrices(values: Any, treated: Any, clusters: Any) -> tuple[float, float]:
    """CR2 variance and Satterthwaite df of a treatment's coefficient as Pustejovsky and Tipton define them, in full matrices."""
    x = np.column_stack([np.ones(len(values)), treated])
    bread = np.linalg.inv(x.T @ x)
    hat = x @ bread @ x.T
    residual = values - hat @ values
    pieces = []
    for g in np.unique(clusters):
        own = np.flatnonzero(clusters == g)
        block = np.eye(len(own)) - hat[np.ix_(own, own)]
        root, vectors = np.linalg.eigh(block)
        keep = root > 1e-10
        adjust = vectors[:, keep] @ np.diag(root[keep] ** -0.5) @ vectors[:, keep].T
        piece = np.zeros(len(values))
        piece[own] = (bread @ x[own].T @ adjust)[1]
        pieces.append(piece)
    variance = sum((piece @ residual) ** 2 for piece in pieces)
    projected = np.array([(np.eye(len(values)) - hat) @ piece for piece in pieces])
    gram = projected @ projected.T
    return variance, np.trace(gram) ** 2 / (gram**2).sum()


@pytest.mark.parametrize("shared", [False, True])
def test_cr2_is_that_of_full_matrices(shared: bool) -> None:
    rng = np.random.default_rng(2)
    n_1, n_2 = 40, 55
    first, second = rng.integers(0, 9, n_1), rng.integers(0 if shared else 9, 17, n_2)
    effect = rng.normal(0, 1, 17)
    a, b = rng.normal(effect[first], 1), rng.normal(0.3 + effect[second], 1)
    found = clustered_difference(a, b, first, second)
    variance, df = _by_matrices(
        np.concatenate([a, b]), np.repeat([0.0, 1.0], [n_1, n_2]), np.concatenate([first, second])
    )
    assert found.std_error == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert found.df == pytest.approx(df, rel=1e-9)


def test_rows_that_are_clusters_each_have_welchs_variance() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(0, 1, 20), rng.normal(0, 2, 30)
    clustered = clustered_difference(a, b, np.arange(20), 20 + np.arange(30))
    assert clustered.std_error == pytest.approx(welch(a, b).std_error, rel=ROUNDING)


def test_clustered_type_one_error_and_coverage() -> None:
    """12 against 15 unequal clusters, correlated .3: 5% false differences, within 4 Monte Carlo errors of 500."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(500):
        sizes = [rng.integers(2, 12, 12), rng.integers(2, 12, 15)]
        codes = [np.repeat(np.arange(len(size)), size) for size in sizes]
        values = [rng.normal(rng.normal(0, 0.65, len(size))[code], 1) for size, code in zip(sizes, codes, strict=True)]
        p = clustered_difference(*values, codes[0], codes[1] + 12).p_value
        wrong += p is not None and p <= 0.05
    assert abs(wrong / 500 - 0.05) < allowance(500)


def test_few_clusters_give_no_interval() -> None:
    found = clustered_difference([0, 1, 1, 0], [1, 1, 0, 1, 1], [0, 1, 2, 3], [4, 5, 6, 7, 8])
    assert found.conf_low is None
    assert found.reason == "4 clusters are too few for an interval or a test; at least 5 are needed"


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0, 3.0]), ([1.0, 1.0], [2.0, 2.0])])
def test_no_spread_no_interval(a: list[float], b: list[float]) -> None:
    found = welch(a, b)
    assert (found.conf_low, found.p_value, found.std_error) == (None, None, None)
    assert found.reason


# --- covariates and strata ---


def test_adjustment_is_lins_regression() -> None:
    """The estimate is the coefficient of treatment in a regression with the centred covariate and their product."""
    rng = np.random.default_rng(5)
    x = rng.normal(0, 1, 90)
    treated = np.repeat([0.0, 1.0], [40, 50])
    y = 2 * x + treated * (0.5 + 0.7 * x) + rng.normal(0, 0.5, 90)
    centred = x - x.mean()
    design = np.column_stack([np.ones(90), treated, centred, treated * centred])
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    found = adjusted_difference(y[:40], y[40:], x[:40], x[40:])
    assert found.estimate == pytest.approx(coefficients[1], rel=ROUNDING)
    assert found.std_error is not None
    plain = welch(y[:40], y[40:]).std_error
    assert plain is not None
    assert found.std_error < 0.4 * plain


def test_adjusted_coverage() -> None:
    """With slopes that differ: 95% of intervals hold the difference of the population, within 4 Monte Carlo errors of 500."""
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(500):
        x = rng.exponential(1, 120)
        treated = rng.random(120) < 0.4
        y = x + treated * (0.3 + 0.8 * (x - 1)) + rng.normal(0, 1, 120)
        found = adjusted_difference(y[~treated], y[treated], x[~treated], x[treated])
        assert found.conf_low is not None
        assert found.conf_high is not None
        held += found.conf_low <= 0.3 <= found.conf_high
    assert abs(held / 500 - 0.95) < allowance(500)


def test_the_error_of_a_line_grows_with_the_way_to_where_it_is_read() -> None:
    """Read at a mean covariate far from both sides', the error is that of least squares in the sandwich form (HC0, n - 1)."""
    rng = np.random.default_rng(9)
    x, z = rng.normal(0, 1, 40), rng.normal(1, 1, 50)
    y, w = x + rng.normal(0, 1, 40), 2 * z + rng.normal(0, 1, 50)
    whole = np.concatenate([x, z, rng.normal(4, 1, 60)])
    variance, slopes = 0.0, []
    for values, covariate in ((y, x), (w, z)):
        design = np.column_stack([np.ones(values.size), covariate - whole.mean()])
        bread = np.linalg.inv(design.T @ design)
        coefficients = bread @ design.T @ values
        moved = (design @ bread)[:, 0] * (values - design @ coefficients)
        variance += float((moved**2).sum()) * values.size / (values.size - 1)
        slopes.append(coefficients[1])
    variance += (slopes[1] - slopes[0]) ** 2 * float(whole.var(ddof=1)) / whole.size
    found = adjusted_difference(y, w, x, z, whole=whole)
    assert found.std_error == pytest.approx(math.sqrt(variance), rel=ROUNDING)


def test_strata_by_hand() -> None:
    a, b = np.array([0.0, 1, 5, 6, 7]), np.array([1.0, 2, 6, 8])
    found = stratified_difference(a, b, [0, 0, 1, 1, 1], [0, 0, 1, 1])
    weights = np.array([4 / 9, 5 / 9])
    assert found.estimate == pytest.approx(weights @ [1.5 - 0.5, 7 - 6], rel=ROUNDING)
    variance = weights**2 @ [0.5 / 2 + 0.5 / 2, 1 / 3 + 2 / 2]
    assert found.std_error == pytest.approx(math.sqrt(variance), rel=ROUNDING)
    with pytest.raises(InputError, match="a stratum has 1 rows on one side"):
        stratified_difference(a, b, [0, 1, 1, 1, 1], [0, 0, 1, 1])


# --- properties ---


def test_swapping_the_sides_flips_the_sign() -> None:
    rng = np.random.default_rng(7)
    a, b = rng.normal(0, 1, 30), rng.normal(0.4, 2, 25)
    first, second = rng.integers(0, 8, 30), rng.integers(8, 15, 25)
    pairs = [
        (miettinen_nurminen(NEWCOMBE), miettinen_nurminen(counts(56, 70, 48, 80))),
        (newcombe_hybrid(NEWCOMBE), newcombe_hybrid(counts(56, 70, 48, 80))),
        (welch(a, b), welch(b, a)),
        (clustered_difference(a, b, first, second), clustered_difference(b, a, second, first)),
        (adjusted_difference(a, b, a**2, b**2), adjusted_difference(b, a, b**2, a**2)),
    ]
    for one, other in pairs:
        assert one.estimate == pytest.approx(-other.estimate, abs=ROOT)
        assert one.conf_low == pytest.approx(-(other.conf_high or math.nan), abs=ROOT)
        assert one.p_value == pytest.approx(other.p_value, abs=ROOT)


def test_the_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    a, b, first, second = rng.normal(0, 1, 30), rng.normal(0, 1, 25), rng.integers(0, 8, 30), rng.integers(5, 15, 25)
    order, other = rng.permutation(30), rng.permutation(25)
    one = clustered_difference(a, b, first, second)
    again = clustered_difference(a[order], b[other], first[order], second[other])
    assert (again.estimate, again.std_error, again.df) == pytest.approx((one.estimate, one.std_error, one.df), rel=1e-9)


@pytest.mark.parametrize(("n", "share"), [((821, 700), 0.5), ((600, 400), 0.4), ((3, 9), 0.25), ((0, 12), 0.5)])
def test_the_sample_ratio_of_two_is_tested_exactly(n: tuple[int, int], share: float) -> None:
    law = stats.binom(sum(n), share)
    expected = min(1.0, 2 * min(law.cdf(n[1]), law.sf(n[1] - 1)))
    assert sample_ratio_p(n, [1 - share, share]) == pytest.approx(expected, rel=1e-9)
    if share == 0.5:
        assert expected == pytest.approx(stats.binomtest(n[1], sum(n)).pvalue, rel=1e-9)


def test_the_sample_ratio_of_several_is_pearsons() -> None:
    counts, shares = [310, 240, 250], np.array([0.4, 0.3, 0.3])
    expected = stats.chisquare(counts, 800 * shares).pvalue
    assert sample_ratio_p(counts, 10 * shares) == pytest.approx(expected, rel=1e-9)
    assert sample_ratio_p(counts) == pytest.approx(stats.chisquare(counts).pvalue, rel=1e-9)
    for wrong in ([1, 1], [1, 0, 1], [1, math.nan, 1]):
        with pytest.raises(InputError, match="give a positive number for each of 3 counts"):
            sample_ratio_p(counts, wrong)


def test_detectable_difference() -> None:
    assert detectable_difference(1.0, None) == pytest.approx(stats.norm.ppf(0.975) + stats.norm.ppf(0.8), rel=1e-9)
    assert detectable_difference(1.0, 12.0) == pytest.approx(stats.t.ppf(0.975, 12) + stats.t.ppf(0.8, 12), rel=1e-9)


@pytest.mark.parametrize("table", [(3, 3, 0, 3), (8, 10, 1, 5), (0, 4, 0, 9), (2, 3, 1, 3), (40, 90, 61, 80)])
def test_fishers_exact_test_is_scipys(table: tuple[int, int, int, int]) -> None:
    a, m, b, n = table
    theirs = stats.fisher_exact([[a, m - a], [b, n - b]]).pvalue
    assert fisher_exact(counts(*table)) == pytest.approx(theirs, rel=1e-9)


def test_strata_of_rows_that_share_users_are_those_of_the_users() -> None:
    """An average over countries of sixty users with thirty visits each took 3,600 visits for users."""
    rng = np.random.default_rng(0)
    user = [np.repeat(np.arange(12) + 12 * side, 9) for side in (0, 1)]
    values = [rng.normal(size=12)[own % 12] + rng.normal(size=own.size) for own in user]
    country = [rng.integers(0, 3, own.size) for own in user]
    one = stratified_difference(*values, *(np.zeros_like(each) for each in country), clusters=(user[0], user[1]))
    plain = clustered_difference(*values, *user)
    assert (one.estimate, one.std_error, one.df) == pytest.approx((plain.estimate, plain.std_error, plain.df))
    shares = np.array([0.5, 0.3, 0.2])
    found = stratified_difference(*values, *country, shares=shares, clusters=(user[0], user[1]))
    # What each user adds to the average of its side, with the correction of CR2 for its share of the rows.
    variance = 0.0
    for own, side, codes in zip(values, user, country, strict=True):
        added = np.zeros(own.size)
        for level in range(3):
            inside = codes == level
            added[inside] = shares[level] * (own[inside] - own[inside].mean()) / inside.sum()
        variance += sum(added[side == name].sum() ** 2 / (1 - (side == name).mean()) for name in np.unique(side))
    means = [[own[codes == level].mean() for level in range(3)] for own, codes in zip(values, country, strict=True)]
    assert found.estimate == pytest.approx(shares @ (np.array(means[1]) - np.array(means[0])))
    assert found.std_error == pytest.approx(np.sqrt(variance))
    rows = stratified_difference(*values, *country, shares=shares)
    assert found.std_error > 1.5 * rows.std_error
