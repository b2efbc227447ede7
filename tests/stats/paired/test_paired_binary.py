"""Paired right/wrong scores: published tables, the defining equation, and properties."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from evalstats.stats.paired.binary import (
    PairedCounts,
    bonett_price,
    mcnemar_exact,
    mcnemar_midp,
    newcombe,
    score_test_p,
    tango,
    tango_margin_p,
)
from tests.stats.coverage import ends

CELL = st.integers(0, 60)
COUNTS = st.builds(PairedCounts, CELL, CELL, CELL, CELL.map(lambda k: k + 1))
LEVEL = st.floats(0.75, 0.999)


def swapped(counts):
    return PairedCounts(counts.both, counts.only_baseline, counts.only_candidate, counts.neither)


def profile_statistic(counts, delta):
    """T(delta) with the restricted probability found by maximising the likelihood numerically."""
    n, b, c = counts.n, counts.only_candidate, counts.only_baseline

    def minus_log_likelihood(q):
        rest = max(1 - 2 * q - delta, 1e-300)
        parts = [(b, q + delta), (c, q), (n - b - c, rest)]
        return -sum(k * math.log(max(p, 1e-300)) for k, p in parts if k)

    low, high = max(0.0, -delta), (1 - delta) / 2
    q = optimize.minimize_scalar(minus_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
    return (b - c - n * delta) / math.sqrt(n * (2 * q + delta * (1 - delta)))


def test_intervals_equal_published_tables(reference):
    for case in reference["paired_tables"]:
        counts = PairedCounts(*case["table"])
        if "tango_published" in case:
            assert ends(tango(counts, conf_level=case["conf_level"])) == pytest.approx(
                case["tango_published"], abs=0.0005
            )
            continue
        for method, name in ((tango, "tango"), (newcombe, "newcombe"), (bonett_price, "bonett_price")):
            assert ends(method(counts)) == pytest.approx(case[name], abs=1e-8), (case["name"], name)


def test_p_values_equal_published_tables(reference):
    for case in reference["paired_tables"]:
        if "score_p" not in case:
            continue
        counts = PairedCounts(*case["table"])
        assert score_test_p(counts) == pytest.approx(case["score_p"], rel=1e-8)
        assert mcnemar_exact(counts) == pytest.approx(case["exact_p"], rel=1e-8)
        assert mcnemar_midp(counts) == pytest.approx(case["mid_p"], rel=1e-8)


@pytest.mark.parametrize(
    "table",
    [
        *((20, 0, 5, 0), (0, 4, 0, 16), (20, 5, 0, 0)),  # one model is always right or always wrong
        *((1, 0, 0, 1), (3, 2, 1, 1), (4, 3, 2, 3), (7, 6, 2, 3)),  # 0 < ad - bc <= n/2, which Newcombe sets to 0
    ],
)
def test_newcombe_takes_models_as_unrelated_where_their_association_is_none_or_less_than_its_correction(table):
    """Square-and-add with phi = 0: the two Wilson intervals as of independent samples."""
    both, b, c, _ = table
    n, z = sum(table), stats.norm.ppf(0.975)

    def wilson(hits):
        centre, half = hits + z**2 / 2, z * math.sqrt(hits * (n - hits) / n + z**2 / 4)
        return (centre - half) / (n + z**2), (centre + half) / (n + z**2)

    p, q = (both + b) / n, (both + c) / n
    (p_low, p_high), (q_low, q_high) = wilson(both + b), wilson(both + c)
    found = newcombe(PairedCounts(*table))
    assert found.conf_low == pytest.approx(p - q - math.hypot(p - p_low, q_high - q))
    assert found.conf_high == pytest.approx(p - q + math.hypot(p_high - p, q - q_low))


@pytest.mark.parametrize("cells", [(43, 0, 1, 0), (53, 16, 8, 9), (4, 9, 3, 16), (1, 1, 7, 12), (22, 21, 0, 0)])
def test_tango_ends_solve_the_score_equation_with_a_numerical_profile(cells):
    counts = PairedCounts(*cells)
    result, z = tango(counts), stats.norm.ppf(0.975)
    assert profile_statistic(counts, result.conf_low) == pytest.approx(z, abs=2e-5)
    assert profile_statistic(counts, result.conf_high) == pytest.approx(-z, abs=2e-5)


def test_tango_without_discordant_items_is_closed_form():
    """With b = c = 0 the equation is n D/(1 - D) = z^2."""
    result, z = tango(PairedCounts(30, 0, 0, 13)), stats.norm.ppf(0.975)
    assert result.conf_high == pytest.approx(z**2 / (43 + z**2), abs=1e-10)
    assert result.conf_low == pytest.approx(-(z**2) / (43 + z**2), abs=1e-10)
    assert result.p_value == 1.0
    assert result.statistic == 0.0
    assert "No discordant items" in result.warnings[-1]


def test_an_end_is_one_only_when_the_estimate_is():
    assert tango(PairedCounts(0, 12, 0, 0)).conf_high == 1.0
    assert tango(PairedCounts(0, 0, 12, 0)).conf_low == -1.0
    almost = tango(PairedCounts(0, 12, 0, 1))
    assert almost.conf_high < 1.0
    assert tango(PairedCounts(0, 12, 0, 0)).conf_low > 0.0


@settings(deadline=None)
@given(COUNTS, LEVEL)
def test_tango_p_belongs_to_its_interval(counts, conf_level):
    result = tango(counts, conf_level=conf_level)
    assume(abs(result.p_value - (1 - conf_level)) > 1e-9)
    excludes = result.conf_low > 0.0 or result.conf_high < 0.0
    assert excludes == (result.p_value < 1 - conf_level)


@settings(deadline=None)
@given(COUNTS, LEVEL, st.sampled_from([tango, newcombe, bonett_price]))
def test_intervals_hold_the_estimate_swap_and_grow(counts, conf_level, method):
    here, there = method(counts, conf_level=conf_level), method(swapped(counts), conf_level=conf_level)
    assert here.estimate == -there.estimate
    assert ends(here) == pytest.approx((-there.conf_high, -there.conf_low), abs=1e-12)
    assert -1.0 <= here.conf_low <= here.estimate <= here.conf_high <= 1.0
    assert here.conf_low < here.conf_high
    wider = method(counts, conf_level=0.5 * (1.0 + conf_level))
    assert wider.conf_low <= here.conf_low + 1e-12
    assert wider.conf_high >= here.conf_high - 1e-12


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40))
def test_exact_tests_are_sums_of_binomial_coefficients(b, c):
    counts, m, least = PairedCounts(3, b, c, 0), b + c, min(b, c)
    below = Fraction(sum(comb(m, k) for k in range(least)), 2**m)
    at = Fraction(comb(m, least), 2**m)
    assert mcnemar_exact(counts) == pytest.approx(float(min(1, 2 * (below + at))), rel=1e-12, abs=0)
    expected = 1.0 if m == 0 else float(min(1, 2 * below + at))
    assert mcnemar_midp(counts) == pytest.approx(expected, rel=1e-12, abs=0)


def test_a_p_value_is_never_zero():
    counts = PairedCounts(0, 100_000, 0, 0)
    for p in (score_test_p(counts), mcnemar_exact(counts), mcnemar_midp(counts)):
        assert 0.0 < p <= 1e-299


@settings(deadline=None)
@given(COUNTS, st.floats(0.01, 0.3), st.floats(0.6, 0.99))
def test_margin_test_agrees_with_the_one_sided_limit(counts, margin, one_sided):
    result = tango(counts, conf_level=2 * one_sided - 1)
    lower, upper = tango_margin_p(counts, margin), tango_margin_p(counts, margin, side="upper")
    assume(abs(lower - (1 - one_sided)) > 1e-9)
    assume(abs(upper - (1 - one_sided)) > 1e-9)
    assert (lower < 1 - one_sided) == (result.conf_low > -margin)
    assert (upper < 1 - one_sided) == (result.conf_high < margin)


def test_margin_zero_is_half_the_two_sided_test():
    counts = PairedCounts(59, 16, 6, 80)
    assert 2 * tango_margin_p(counts, 0.0) == pytest.approx(score_test_p(counts), rel=1e-12)


@pytest.mark.parametrize("cells", [(22, 21, 0, 0), (4, 9, 3, 16), (0, 1, 1, 0), (0, 2, 0, 3)])
def test_the_standard_error_is_that_of_the_differences(cells):
    differences = np.repeat([0.0, 1.0, -1.0, 0.0], cells)
    for method in (tango, newcombe):
        found = method(PairedCounts(*cells)).std_error
        assert found == pytest.approx(differences.std() / math.sqrt(differences.size), rel=1e-12)


def test_differences_that_are_all_equal_have_no_standard_error():
    for cells in ((5, 0, 0, 3), (0, 4, 0, 0), (0, 0, 4, 0)):
        assert tango(PairedCounts(*cells)).std_error is None


def test_counts_from_scores():
    counts = PairedCounts.from_scores(np.array([1, 1, 0, 0, 0, True]), [1, 0, 1, 1, 0, 0])
    assert counts == PairedCounts(1, 2, 2, 1)


def test_few_discordant_items_are_named():
    assert any("Only 5 discordant" in text for text in tango(PairedCounts(40, 5, 0, 3)).warnings)
    assert tango(PairedCounts(40, 5, 1, 3)).warnings == ()
    assert any("Only 9 items" in text for text in tango(PairedCounts(0, 7, 2, 0)).warnings)


def test_a_million_items_are_no_trouble():
    result = tango(PairedCounts(600_000, 80_000, 79_000, 241_000))
    wald = math.sqrt((159_000 / 1e6 - 0.001**2) / 1e6)
    z = stats.norm.ppf(0.975)
    assert ends(result) == pytest.approx((0.001 - z * wald, 0.001 + z * wald), abs=1e-7)


def test_intervals_of_single_items_stay_on_the_scale():
    one = PairedCounts(0, 1, 0, 0)
    for method in (bonett_price, newcombe, tango):
        assert ends(method(one, conf_level=0.99))[1] <= 1.0
        assert ends(method(swapped(one), conf_level=0.99))[0] >= -1.0
    assert ends(bonett_price(one, conf_level=0.99))[1] == 1.0
    assert ends(bonett_price(swapped(one), conf_level=0.99))[0] == -1.0
