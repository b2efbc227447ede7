"""Roots at many places at once, against SciPy's root of each alone and roots that are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special

from evalstats.stats.roots import bracketed_roots

# The last step is below 1e-12 of the bracket, and a step's error is about its square where the function is smooth.
NEAR = 1e-14


def found(function, low, high):
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    return bracketed_roots(function, low, high, at_low=function(low), at_high=function(high))


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=8), st.floats(0.01, 100.0))
def test_each_root_is_that_of_its_own_function_alone(shares: list[float], unit: float) -> None:
    p = np.array(shares)
    roots = found(lambda x: special.ndtr(x / unit) - p, np.full(p.size, -4.0 * unit), np.full(p.size, 5.0 * unit))
    alone = [
        optimize.brentq(
            lambda x, share=each: special.ndtr(x / unit) - share, -4.0 * unit, 5.0 * unit, xtol=1e-15 * unit
        )
        for each in p
    ]
    assert roots == pytest.approx(np.array(alone), abs=9.0 * unit * NEAR, rel=1e-13)
    assert roots == pytest.approx(special.ndtri(p) * unit, abs=9.0 * unit * NEAR, rel=1e-12)


@pytest.mark.parametrize(("low", "high"), [(0.0, 2.0), (-3.0, 0.9), (0.2, 5.0)])
def test_near_a_root_each_step_doubles_the_digits(low: float, high: float) -> None:
    calls = 0

    def counted(x):
        nonlocal calls
        calls += 1
        return np.exp(x) - 2.0

    assert found(counted, [low], [high]) == pytest.approx(np.log(2.0), rel=1e-15)
    assert calls <= 2 + 2 * 7  # halving alone takes forty steps of two calls each, doubling six: 2^6 > 52 bits


def test_rising_and_falling_functions_and_roots_at_an_end_stand_side_by_side() -> None:
    slope = np.array([1.0, -1.0, 3.0, -2.0])
    at = np.array([0.25, 0.5, 0.0, 1.0])
    roots = found(lambda x: slope * (x - at) * (1.0 + x**2), np.zeros(4), np.ones(4))
    assert roots == pytest.approx(at, abs=NEAR)


def test_a_step_is_found_though_nothing_says_where_it_is() -> None:
    at = np.array([0.1, 1.0 / 3.0, 0.7])
    roots = found(lambda x: np.where(x < at, -1.0, 1.0), np.zeros(3), np.ones(3))
    assert roots == pytest.approx(at, abs=1e-11)


def test_a_wide_bracket_and_a_tiny_one_are_searched_as_finely() -> None:
    width = np.array([1e-9, 1.0, 1e9])
    roots = found(lambda x: np.expm1(x / width) - 0.5, np.zeros(3), width)
    assert roots / width == pytest.approx(np.full(3, np.log(1.5)), rel=1e-13)
