"""Sign flips: every pattern counted, exact lattice laws in the far tail, and ties."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.stats.paired import means
from evalstats.stats.paired.binary import PairedCounts, mcnemar_exact
from evalstats.stats.paired.means import SignFlip, sign_flip


def counted(differences):
    """Every sign pattern, in exact arithmetic: whole numbers over a common denominator."""
    parts = [Fraction(d).limit_denominator(10**6) for d in differences if d != 0]
    whole = math.lcm(*(part.denominator for part in parts))
    sums = np.zeros(1, dtype=object)
    for part in parts:
        sums = np.concatenate([sums + int(part * whole), sums - int(part * whole)])
    return np.mean(np.abs(sums) >= abs(int(sum(parts) * whole)))


def exact_lattice_p(steps):
    """Exact law of the signed sum by adding one step at a time, in whole numbers.

    In how many ways the positive steps sum to 0, 1, ... stands side by side in one number: a step moves all by its size.
    """
    place = len(steps) // 8 + 1  # bytes that no number of ways fills
    total, law = sum(abs(step) for step in steps), 1
    for step in steps:
        law += law << (8 * place * abs(step))
    digits = law.to_bytes((total + 1) * place, "little")
    ways = [int.from_bytes(digits[k * place : (k + 1) * place], "little") for k in range(total + 1)]
    reach = sum(count for positive, count in enumerate(ways) if abs(2 * positive - total) >= abs(sum(steps)))
    return float(Fraction(reach, 2 ** len(steps)))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=12), st.sampled_from([1, 3, 7, 10]))
def test_lattice_values_equal_every_pattern_counted(numerators, denominator):
    differences = np.array(numerators) / denominator
    result = sign_flip(differences)
    assert result.exact
    assert result.p_value == pytest.approx(counted(differences.tolist()), rel=1e-11)
    assert result.n_nonzero == np.count_nonzero(differences)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 13), st.integers(0, 10**6))
def test_continuous_values_equal_every_pattern_counted(n, seed):
    differences = np.round(np.random.default_rng(seed).normal(0.5, 1.0, n), 5) * (1 + 2**0.5)
    result = sign_flip(differences)
    assert result.exact
    patterns = np.array(list(product((1, -1), repeat=n))) @ differences
    hits = np.count_nonzero(np.abs(patterns) >= abs(differences.sum()) * (1 - 1e-12))
    assert result.p_value == pytest.approx(hits / 2**n, rel=1e-9)


@pytest.mark.parametrize("trials", [1, 50])
@pytest.mark.parametrize(("n", "favourable"), [(30, 0.5), (200, 0.8), (400, 0.97)])
def test_lattice_law_keeps_relative_accuracy_in_the_tail(trials, n, favourable):
    rng = np.random.default_rng(n + trials)
    steps = rng.integers(1, trials + 1, n) * np.where(rng.random(n) < favourable, 1, -1)
    assert sign_flip(steps / trials).p_value == pytest.approx(
        max(exact_lattice_p(steps.tolist()), 1e-300), rel=1e-10, abs=0.0
    )


@pytest.mark.parametrize(("ones", "twos"), [(200, 200), (300, 40)])
@pytest.mark.parametrize("lost", [1, 3, 20])
def test_the_farthest_tail_of_two_sizes_is_the_sum_of_binomials(ones, twos, lost):
    """With i ones and j twos turned the sum falls by 2 i + 4 j: a sum as large needs i + 2 j of `lost` at most."""
    ways = sum(
        math.comb(ones, i) * math.comb(twos, j) for i in range(lost + 1) for j in range(lost + 1) if i + 2 * j <= lost
    )
    found = sign_flip(np.r_[-np.ones(lost), np.ones(ones - lost), np.full(twos, 2.0)])
    assert found.p_value == pytest.approx(float(Fraction(2 * ways, 2 ** (ones + twos))), rel=1e-10, abs=0.0)


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(0, 300))
def test_right_wrong_scores_give_the_exact_mcnemar_test(b, c):
    differences = np.repeat([1.0, -1.0, 0.0], [b, c, 5])
    assert sign_flip(differences).p_value == pytest.approx(mcnemar_exact(PairedCounts(5, b, c, 0)), rel=1e-9, abs=0.0)


def test_sums_that_differ_by_rounding_are_ties():
    # 0.1 + 0.2 - 0.3 is 5.6e-17 in floating point and 0 in truth: all 8 patterns reach it.
    assert sign_flip([0.1, 0.2, -0.3]).p_value == 1.0
    # pi and e have no common step, so patterns are listed.
    assert sign_flip([np.pi, -np.e]).p_value == 1.0
    assert sign_flip([np.pi, np.e, 1.0]).p_value == 0.25


def test_no_nonzero_difference_says_nothing():
    expected = SignFlip(p_value=1.0, smallest_p=1.0, exact=True, n_nonzero=0, n_resamples=None, seed=None)
    assert sign_flip([0.0, 0.0, 0.0]) == expected


def test_smallest_p_is_reached_when_all_agree():
    result = sign_flip(np.array([0.3, 0.7, 0.1, 0.2, 0.0]))
    assert result.p_value == result.smallest_p == 2.0**-3


def test_monte_carlo_counts_the_observed_pattern_and_keeps_its_seed():
    differences = np.random.default_rng(5).normal(3.0, 0.1, 40)
    first, again = sign_flip(differences, seed=11), sign_flip(differences, seed=11)
    assert first == again
    assert not first.exact
    assert first.p_value == first.smallest_p == 1 / 10_000
    assert first.n_resamples == 9999
    assert first.seed == 11


def test_monte_carlo_agrees_with_the_lattice_law():
    """The same differences with and without noise too small to matter: exact law against 9,999 draws."""
    rng = np.random.default_rng(0)
    steps = rng.integers(-3, 4, 150)
    steps[:12] = 3
    exact = sign_flip(steps)
    drawn = sign_flip(steps + 1e-7 * rng.normal(size=150))
    assert exact.exact
    assert not drawn.exact
    assert drawn.p_value == pytest.approx(exact.p_value, abs=4 * np.sqrt(exact.p_value / 9999))


def test_blocks_of_many_items_keep_the_p_value():
    rng = np.random.default_rng(1)
    differences = rng.normal(0.009, 1.0, 50_000)
    normal_p = 2 * stats.norm.sf(abs(differences.sum()) / np.sqrt(np.square(differences).sum()))
    assert sign_flip(differences, n_resamples=1999).p_value == pytest.approx(normal_p, abs=4 * np.sqrt(normal_p / 1999))


def test_a_million_items_have_a_positive_p():
    differences = np.repeat([1 / 3, -1 / 3, 0.0], [300_000, 200_000, 500_000])
    result = sign_flip(differences)
    assert result.exact
    assert 0.0 < result.p_value <= 1e-299


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=12), st.randoms())
def test_order_and_sign_do_not_matter(differences, random):
    shuffled = list(differences)
    random.shuffle(shuffled)
    p = sign_flip(differences).p_value
    assert sign_flip(shuffled).p_value == pytest.approx(p, rel=1e-9)
    assert sign_flip([-d for d in differences]).p_value == pytest.approx(p, rel=1e-9)
    assert 0.0 < p <= 1.0


@pytest.mark.parametrize("draws", [1, 9, 10, 23])
def test_draws_in_chunks_are_as_many_as_asked_for(monkeypatch, draws):
    """Differences that cancel: every pattern reaches their sum, so that p is 1 however the draws come."""
    values = np.random.default_rng(3).normal(size=15)
    monkeypatch.setattr(means, "_CHUNK", 150)
    found = sign_flip(np.concatenate([values, -values]), n_resamples=draws)
    assert (found.p_value, found.exact, found.n_resamples) == (1.0, False, draws)
