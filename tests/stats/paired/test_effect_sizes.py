"""Effect sizes: exact odds ratios by R's rule, d_z, probability of superiority."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from evalstats.errors import InputError
from evalstats.stats.one_sample import variance_matched_wilson
from evalstats.stats.paired.binary import PairedCounts, mcnemar_exact, score_test_p, tango
from evalstats.stats.paired.effect_sizes import (
    conditional_odds_ratio,
    standardised_difference,
    superiority,
    tango_margin_test,
)

CELL = st.integers(0, 60)
COUNTS = st.builds(PairedCounts, CELL, CELL, CELL, CELL.map(lambda k: k + 1))


def test_odds_ratio_ends_solve_the_binomial_tails():
    """b = 16 of 22: each end is the odds at which its tail is .025 (Breslow & Day 1980, 5.2)."""
    found = conditional_odds_ratio(PairedCounts(59, 16, 6, 80))

    def at(tail, low, high):
        return optimize.brentq(lambda odds: tail(odds / (1 + odds)) - 0.025, low, high, xtol=1e-12)

    assert found.estimate == 16 / 6
    assert found.conf_low == pytest.approx(at(lambda p: stats.binom.sf(15, 22, p), 0.1, 2.6), rel=1e-8)
    assert found.conf_high == pytest.approx(at(lambda p: stats.binom.cdf(16, 22, p), 2.7, 50), rel=1e-8)


@settings(deadline=None)
@given(COUNTS, st.floats(0.5, 0.999))
def test_odds_ratio_agrees_with_the_exact_test_and_inverts(counts, conf_level):
    found = conditional_odds_ratio(counts, conf_level=conf_level)
    assert found.p_value == mcnemar_exact(counts)
    if counts.discordant == 0:
        assert (found.estimate, found.conf_low, found.conf_high) == (None, None, None)
        assert found.reason == "no discordant items: the odds ratio is unknown"
        return
    assume(abs(found.p_value - (1 - conf_level)) > 1e-9)
    excludes = found.conf_low > 1 or (found.conf_high is not None and found.conf_high < 1)
    assert excludes == (found.p_value < 1 - conf_level)
    turned = conditional_odds_ratio(
        PairedCounts(counts.both, counts.only_baseline, counts.only_candidate, counts.neither), conf_level=conf_level
    )
    if counts.only_candidate and counts.only_baseline:
        assert found.conf_low < found.estimate < found.conf_high
        assert (turned.conf_low, turned.conf_high) == pytest.approx((1 / found.conf_high, 1 / found.conf_low), rel=1e-7)


def test_an_odds_ratio_without_upper_limit_says_so():
    found = conditional_odds_ratio(PairedCounts(22, 21, 0, 0))
    assert (found.estimate, found.conf_high) == (None, None)
    assert found.reason == "the baseline alone got no item right, so the odds ratio has no upper limit"
    low = 0.025 ** (1 / 21)
    assert found.conf_low == pytest.approx(low / (1 - low), rel=1e-9)
    turned = conditional_odds_ratio(PairedCounts(22, 0, 21, 0))
    assert (turned.estimate, turned.conf_low, turned.reason) == (0.0, 0.0, None)
    assert turned.conf_high == pytest.approx(1 / found.conf_low, rel=1e-9)
    none = conditional_odds_ratio(PairedCounts(22, 0, 0, 21))
    assert (none.estimate, none.conf_low, none.conf_high, none.n, none.p_value) == (None, None, None, 0, 1.0)
    assert none.reason == "no discordant items: the odds ratio is unknown"


@pytest.mark.parametrize("heavy", [False, True])
def test_d_z_written_out(heavy):
    rng = np.random.default_rng(2)
    d = rng.standard_t(3, size=50) + 2 if heavy else rng.exponential(size=50) - 0.3
    n, d_z = 50, d.mean() / d.std(ddof=1)
    own = (1 - stats.skew(d) * d_z + (stats.kurtosis(d, fisher=False) - 1) * d_z**2 / 4) / n
    assert (own > (1 + d_z**2 / 2) / n) == heavy
    variance = max(own, (1 + d_z**2 / 2) / n)
    found = standardised_difference(d, conf_level=0.9)
    assert found.estimate == pytest.approx(d_z, rel=1e-12)
    assert found.std_error == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert found.conf_high - found.estimate == pytest.approx(stats.t.ppf(0.95, 49) * math.sqrt(variance), rel=1e-10)
    moved = standardised_difference(100 * d)
    assert moved.estimate == pytest.approx(d_z, rel=1e-12)


def test_the_variance_of_d_z_is_that_of_heavy_tails_where_these_are_heavier():
    d = np.random.default_rng(0).standard_t(3, size=400) + 2
    found = standardised_difference(d)
    assert found.std_error > 1.02 * math.sqrt((1 + found.estimate**2 / 2) / 400)


@pytest.mark.parametrize("values", [[0.2] * 12, [0.0] * 12, [0.1 + 0.2, 0.3, 0.3], [0.4]])
def test_d_z_of_constant_differences_is_unknown(values):
    found = standardised_difference(values)
    assert found.estimate is None
    assert found.conf_low is None
    assert "spread" in found.reason


@settings(deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=60), st.floats(0.5, 0.999))
def test_superiority_is_half_of_tango_on_the_signs(thirds, conf_level):
    d = np.array(thirds) / 3
    won, lost = int((d > 0).sum()), int((d < 0).sum())
    found = superiority(d, conf_level=conf_level)
    shares = tango(PairedCounts(0, won, lost, d.size - won - lost), conf_level=conf_level)
    assert found.estimate == pytest.approx((won + (d.size - won - lost) / 2) / d.size)
    assert (found.conf_low, found.conf_high) == pytest.approx(((1 + shares.conf_low) / 2, (1 + shares.conf_high) / 2))
    assert found.std_error == (None if shares.std_error is None else pytest.approx(shares.std_error / 2))
    assert 0 <= found.conf_low < found.conf_high <= 1
    assert found.conf_low <= found.estimate <= found.conf_high
    p = score_test_p(PairedCounts(0, won, lost, d.size - won - lost))
    assume(abs(p - (1 - conf_level)) > 1e-9)
    assert (found.conf_low > 0.5 or found.conf_high < 0.5) == (p < 1 - conf_level)
    assert found.p_value is None


def test_rounding_is_a_tie():
    assert superiority([0.1 + 0.2 - 0.3, 1.0, -1.0, 1.0]).estimate == (2 + 0.5) / 4
    assert superiority([0.0, 0.0]).estimate == 0.5


def test_superiority_with_clusters():
    d = np.random.default_rng(1).normal(0.3, 1, 60)
    d[:7] = 0.0
    clusters = np.arange(60) // 5
    found = superiority(d, clusters=clusters)
    plain = variance_matched_wilson(np.where(d > 0, 1.0, np.where(d < 0, 0.0, 0.5)), clusters=clusters)
    assert (found.conf_low, found.conf_high) == (plain.conf_low, plain.conf_high)
    assert found.n_clusters == 12
    assert found.method.startswith("probability of superiority, variance-matched Wilson")
    assert superiority(d, clusters=np.arange(60) % 4).conf_low is None


def test_what_does_not_fit_is_refused():
    for function in (standardised_difference, superiority):
        with pytest.raises(InputError, match="NaN"):
            function([0.1, math.nan])
    for margin in (1.0, 1.5, 0.0, math.inf):
        with pytest.raises(InputError, match="margin is"):
            tango_margin_test(PairedCounts(3, 2, 1, 4), margin=margin)
    assert tango_margin_test(PairedCounts(3, 2, 1, 4), margin=0.999).noninferior
    with pytest.raises(InputError, match="conf_level"):
        conditional_odds_ratio(PairedCounts(3, 2, 1, 0), conf_level=95)


@pytest.mark.parametrize("p10", [0.05, 0.3])
def test_odds_ratio_coverage_is_never_below_the_level(p10):
    """Exact, over every number of discordant items of 25 and odds of 3 to 1."""
    n, p01 = 25, p10 / 3
    covered = 0.0
    for m in range(n + 1):
        for b in range(m + 1):
            weight = stats.multinomial.pmf([b, m - b, n - m], n, [p10, p01, 1 - p10 - p01])
            found = conditional_odds_ratio(PairedCounts(n - m, b, m - b, 0))
            low, high = found.conf_low or 0.0, math.inf if found.conf_high is None else found.conf_high
            covered += weight * (low <= 3 <= high)
    assert 0.95 <= covered < 1


@pytest.mark.parametrize(
    "replicates", [pytest.param(500, id="quick"), pytest.param(5000, id="long", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("three_valued", [False, True])
def test_d_z_and_superiority_are_covered(three_valued, replicates):
    rng = np.random.default_rng(4)
    d_z, won = (0.1 / 0.53852, 0.55) if three_valued else (0.5, stats.norm.cdf(0.5))
    inside = []
    for _ in range(replicates):
        d = rng.choice([1.0, -1.0, 0.0], p=[0.2, 0.1, 0.7], size=50) if three_valued else rng.normal(0.5, 1, 50)
        first, second = standardised_difference(d), superiority(d)
        inside.append((first.conf_low <= d_z <= first.conf_high, second.conf_low <= won <= second.conf_high))
    assert np.mean(inside, axis=0).min() >= 0.94 - 4 * math.sqrt(0.05 * 0.95 / replicates)
