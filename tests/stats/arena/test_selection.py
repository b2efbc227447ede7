"""The largest of several numbers, and what luck adds to the best of several variants."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from evalstats.stats.arena.bradley_terry import TRIED, expected_maximum, selection_bias


def test_closed_forms_of_two_three_and_four() -> None:
    root = math.sqrt(math.pi)
    assert expected_maximum(1) == pytest.approx(0.0, abs=1e-13)
    assert expected_maximum(2) == pytest.approx(1.0 / root, rel=1e-12)
    assert expected_maximum(3) == pytest.approx(1.5 / root, rel=1e-12)
    assert expected_maximum(4) == pytest.approx(1.5 / root * (1.0 + 2.0 / math.pi * math.asin(1.0 / 3.0)))


@pytest.mark.parametrize("n", [5, 10, 20, 1000])
def test_it_is_the_integral_of_its_definition(n: int) -> None:
    # E max = integral of 1 - F^n above 0 less that of F^n below.
    above = integrate.quad(lambda x: 1.0 - stats.norm.cdf(x) ** n, 0.0, 12.0, epsabs=1e-12)[0]
    below = integrate.quad(lambda x: stats.norm.cdf(x) ** n, -12.0, 0.0, epsabs=1e-12)[0]
    assert expected_maximum(n) == pytest.approx(above - below, abs=1e-9)


def test_simulated_variants_of_one_strength_gain_as_much() -> None:
    rng = np.random.default_rng(0)
    for n, points in selection_bias(12.0):
        best = rng.normal(1000.0, 12.0, (40_000, n)).max(axis=1) - 1000.0
        # Four standard errors of the mean of 40,000.
        assert best.mean() == pytest.approx(points, abs=4.0 * best.std() / 200.0)


def test_more_variants_gain_more() -> None:
    gains = [points for _, points in selection_bias(10.0)]
    assert gains == sorted(gains)
    assert len(gains) == len(TRIED)
