"""Exact coverage of 95% intervals: every table is enumerated and weighed, nothing is drawn.

Reference values come from an enumeration that shares no code with the package (tests/golden/stats.json).
"""

import math

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.bootstrap import augmented_percentile, percentile_law
from evalstats.stats.one_sample import clopper_pearson, jeffreys, mean_t, variance_matched_wilson, wilson
from evalstats.stats.paired.binary import PairedCounts, bonett_price, newcombe, tango
from evalstats.stats.paired.means import augmented_t, paired_t

NEVER = (math.nan, math.nan)
TOUCHING = 1e-9  # an end that equals the truth covers it, whatever the rounding
TABULATED = 1e-6  # the reference enumeration dropped tables of tiny probability


def differences(counts):
    return np.repeat([1.0, -1.0, 0.0], [counts.only_candidate, counts.only_baseline, counts.n - counts.discordant])


def ends(estimate, *, constant):
    """Ends; where a method rightly refuses constant data, the zero-width interval that the table has."""
    if estimate.conf_low is None:
        return (constant, constant)
    return estimate.conf_low, estimate.conf_high


PAIRED = {
    "Tango score": tango,
    "Bonett-Price": bonett_price,
    "t (n-1)": lambda counts: paired_t(differences(counts)),
    "boot percentile": lambda counts: percentile_law(differences(counts)),
    "boot pct +1/-1 augmented": lambda counts: augmented_percentile(differences(counts)),
}
SINGLE = {
    "Wilson": wilson,
    "Clopper-Pearson": clopper_pearson,
    "Jeffreys": jeffreys,
    "boot percentile": lambda x, n: percentile_law(np.repeat([1.0, 0.0], [x, n - x])),
}


def tables(n):
    return [PairedCounts(n - b - c, b, c, 0) for b in range(n + 1) for c in range(n + 1 - b)]


def paired_coverage(intervals, p10, p01):
    """Return coverage and mean width, from {(b, c, rest): (low, high)} for every table of n items."""
    cells = np.array([list(table) for table in intervals])
    low, high = np.array(list(intervals.values())).T
    weight = stats.multinomial.pmf(cells, cells[0].sum(), [p10, p01, 1 - p10 - p01])
    covered = (low <= p10 - p01 + TOUCHING) & (high >= p10 - p01 - TOUCHING)
    return float(weight @ covered), float(weight @ (high - low))


def paired_intervals(method, n):
    return {(t.only_candidate, t.only_baseline, t.both): ends(method(t), constant=t.estimate) for t in tables(n)}


def discordant_rates(case):
    p_a, p_b = case["pA"], case["pB"]
    both = p_a * p_b + case["rho"] * math.sqrt(p_a * (1 - p_a) * p_b * (1 - p_b))
    return p_b - both, p_a - both


@pytest.mark.parametrize("n", [20, pytest.param(43, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", PAIRED)
def test_paired_coverage_and_width_equal_the_table(reference, method, n):
    cases = [case for case in reference["coverage_paired"] if case["method"] == method and case["n"] == n]
    assert len(cases) >= 4
    intervals = paired_intervals(PAIRED[method], n)
    for case in cases:
        coverage, width = paired_coverage(intervals, *discordant_rates(case))
        assert coverage == pytest.approx(case["coverage"], abs=TABULATED), case
        assert width == pytest.approx(case["width"], abs=TABULATED), case


@pytest.mark.parametrize("method", SINGLE)
def test_single_coverage_and_width_equal_the_table(reference, method):
    cases = [case for case in reference["coverage_single"] if case["method"] == method]
    assert len(cases) == 16
    of_size = {
        n: np.array([ends(SINGLE[method](k, n), constant=k / n) for k in range(n + 1)]).T
        for n in {case["n"] for case in cases}
    }
    for case in cases:
        n, x = case["n"], np.arange(case["n"] + 1)
        low, high = of_size[n]
        weight = stats.binom.pmf(x, n, case["p"])
        covered = weight @ ((low <= case["p"] + TOUCHING) & (high >= case["p"] - TOUCHING))
        assert covered == pytest.approx(case["coverage"], abs=TABULATED), case
        assert weight @ (high - low) == pytest.approx(case["width"], abs=5e-4 if method == "Jeffreys" else TABULATED)


def grid_of_rates():
    rates = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
    return [(p10, p01) for p10 in rates for p01 in rates if 0 < p10 + p01 <= 1 and p10 >= p01]


@pytest.mark.parametrize(
    ("method", "least"),
    [(tango, 0.93), (newcombe, 0.92), (bonett_price, 0.925)],
    ids=["tango", "newcombe", "bonett-price"],
)
def test_least_paired_coverage_over_a_grid(method, least):
    """methods: the least of Tango over a grid of (p10, p01) is about .941 at n = 20 and .934 at n = 43."""
    for n in (20, 43):
        intervals = paired_intervals(method, n)
        assert min(paired_coverage(intervals, *rates)[0] for rates in grid_of_rates()) >= least


def test_least_coverage_of_augmented_t_for_right_wrong_scores():
    for n in (20, 43):
        intervals = paired_intervals(lambda counts: augmented_t(differences(counts)), n)
        assert min(paired_coverage(intervals, *rates)[0] for rates in grid_of_rates()) >= 0.944


def test_plain_t_fails_where_augmented_t_holds():
    """8% against 0 discordant, deterministic and one-sided: t covers .81 at n = 20 and .87 at n = 43."""
    for n, expected in ((20, 0.81), (43, 0.86)):
        plain = paired_intervals(lambda counts: paired_t(differences(counts)), n)
        assert paired_coverage(plain, 0.08, 0.0)[0] == pytest.approx(expected, abs=0.015)
        augmented = paired_intervals(lambda counts: augmented_t(differences(counts)), n)
        assert paired_coverage(augmented, 0.08, 0.0)[0] >= 0.944


def test_coverage_near_the_ceiling_with_one_trial():
    """Wilson's and the variance-matched interval at p = .95 to .99, where t on the items falls below .8."""
    for n, p in ((20, 0.95), (43, 0.98), (43, 0.99)):
        x = np.arange(n + 1)
        weight = stats.binom.pmf(x, n, p)
        results = {}
        for name, method in (("t", mean_t), ("matched", variance_matched_wilson)):
            pairs = [ends(method(np.repeat([1.0, 0.0], [k, n - k])), constant=k / n) for k in x]
            low, high = np.array(pairs).T
            results[name] = weight @ ((low <= p) & (high >= p))
        assert results["t"] < 0.8
        assert results["matched"] >= 0.92


@pytest.mark.parametrize("discordant", [1, 2, 5, 10, 20, 40])
def test_size_of_the_score_test(discordant):
    """Over b + c ~ Poisson with these means the size at .05 is at most .052."""
    size = 0.0
    for m in range(1, 160):
        least = math.floor((m + 1.9599639845 * math.sqrt(m)) / 2) + 1
        size += stats.poisson.pmf(m, discordant) * 2 * stats.binom.sf(least - 1, m, 0.5)
    assert size <= 0.052
    rejected = [tango(PairedCounts(200, b, 12 - b, 0)).p_value < 0.05 for b in range(13)]
    assert rejected == [abs(2 * b - 12) / math.sqrt(12) > 1.9599639845 for b in range(13)]
