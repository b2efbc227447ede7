"""pass@k, pass^k and variance components: exact counts, published values, unbiasedness."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.one_sample import variance_matched_wilson
from evalstats.stats.trials import pass_at_k, pass_hat_k, suite_pass


def test_single_items_equal_published_arithmetic(reference):
    for case in reference["pass_k"]["single"]:
        n, c, k = case["n"], case["c"], case["k"]
        assert pass_at_k(n, c, k)[0] == pytest.approx(case["pass_at_k"], abs=1e-12)
        assert pass_hat_k(n, c, k)[0] == pytest.approx(case["pass_hat_k"], rel=1e-10)


def test_suite_equals_published_mean_and_standard_error(reference):
    suite = reference["pass_k"]["suite"]
    c = np.array(suite["c"])
    for k in (1, 2, 4, 8):
        for kind, sign in (("at", "@"), ("hat", "^")):
            mean, std_error = suite[f"pass{sign}{k}"]
            result = suite_pass(8, c, k, kind=kind)
            assert result.estimate == pytest.approx(mean, abs=1e-10)
            # Published with divisor n - 1; here V = (n - 1) s^2/n^2.
            assert result.std_error == pytest.approx(std_error * np.sqrt(49 / 50), rel=1e-9)
            assert result.conf_low < mean < result.conf_high
            assert result.method.startswith(f"mean pass{sign}{k}, ")


@settings(deadline=None)
@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_items_equal_binomial_coefficients(case):
    n, c, k = case
    assert pass_at_k(n, c, k)[0] == pytest.approx(1 - comb(n - c, k) / comb(n, k), abs=1e-12)
    assert pass_hat_k(n, c, k)[0] == pytest.approx(comb(c, k) / comb(n, k), rel=1e-10)


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("p", [0.1, 0.8])
def test_both_are_unbiased(k, p):
    """The mean over c ~ Bin(6, p) is exactly 1 - (1 - p)^k and p^k."""
    c = np.arange(7)
    weights = stats.binom.pmf(c, 6, p)
    assert weights @ pass_at_k(6, c, k) == pytest.approx(1 - (1 - p) ** k, rel=1e-10)
    assert weights @ pass_hat_k(6, c, k) == pytest.approx(p**k, rel=1e-10)


def test_many_trials_do_not_overflow():
    assert 0.0 < pass_hat_k(10_000, 9_000, 5_000)[0] < 1e-300
    assert pass_at_k(10_000, 1, 5_000)[0] == pytest.approx(0.5, rel=1e-9)


def test_items_with_fewer_than_k_trials_are_refused():
    with pytest.raises(InputError, match="2 of 3 items have fewer than k = 5 trials"):
        pass_at_k([4, 8, 3], [1, 1, 1], 5)
    with pytest.raises(InputError, match="k is 0"):
        pass_hat_k(8, 3, 0)


def test_a_perfect_suite_keeps_an_interval():
    result = suite_pass(4, np.full(43, 4), 4, kind="hat")
    assert result.conf_high == 1.0
    assert 0.9 < result.conf_low < 0.93
    grouped = suite_pass(4, np.full(43, 4), 4, kind="hat", clusters=np.arange(43) % 6)
    assert grouped.conf_low < result.conf_low
    assert grouped.n_clusters == 6
    assert grouped.conf_low == variance_matched_wilson(np.ones(43), clusters=np.arange(43) % 6).conf_low
