"""The law of the largest |t| in closed form along directions; the studentised range is tested with the families that use it."""

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.many.max_t import MaxLaw, _equivalent


@pytest.mark.parametrize("df", [np.inf, 5.0])
def test_independent_estimates_have_the_law_of_the_largest(df):
    """Normal: 1 - (1 - 2 sf)^k. With t's common scale that is averaged over the chi law, by quadrature of its quantiles."""
    law, k = MaxLaw(np.eye(4)), 4
    u = (np.arange(50_000) + 0.5) / 50_000
    scale = np.ones(1) if np.isinf(df) else np.sqrt(stats.chi2.ppf(u, df) / df)
    for c in (0.3, 1.0, 1.9, 3.3, 6.5):
        wanted = np.mean(-np.expm1(k * np.log1p(-2 * stats.norm.sf(c * scale))))
        p, error = law.p(c, df)
        assert error < 1e-2 * wanted
        assert p == pytest.approx(wanted, abs=5 * error, rel=1e-6)
    assert MaxLaw(np.eye(4), seed=7).p(1.9, df)[0] != law.p(1.9, df)[0]
    c, error = law.critical(0.9, df)
    tail = -np.expm1(k * np.log1p(-2 * stats.norm.sf(c * scale)))
    slope = np.mean((1 - tail) * 2 * k * scale * stats.norm.pdf(c * scale) / (1 - 2 * stats.norm.sf(c * scale)))
    assert np.mean(tail) == pytest.approx(0.1, abs=5 * error * slope)
    assert 1e-5 < error * slope < 2e-3


@pytest.mark.parametrize("df", [1.0, 4.5, 60.0])
def test_directions_for_t_are_those_of_a_normal_law_that_falls_as_fast(df):
    """The normal density falls with the logarithm of c at c^2; that of t by its own derivative."""
    for c in (0.2, 1.5, 9.0):
        h = 1e-5
        fall = -(stats.t.logpdf(c * (1 + h), df) - stats.t.logpdf(c * (1 - h), df)) / (2 * h)
        assert _equivalent(c, df) ** 2 == pytest.approx(fall, rel=1e-6)
        assert _equivalent(c, np.inf) == c


@pytest.mark.parametrize("k", [2, 5])
def test_a_p_too_small_to_be_drawn_is_the_sum_over_the_estimates(k):
    for df in (np.inf, 300.0):
        single = 2.0 * (stats.norm.sf(12.0) if np.isinf(df) else stats.t.sf(12.0, df))
        assert MaxLaw(np.eye(k)).p(12.0, df) == (pytest.approx(k * single, rel=1e-6), 0.0)


@pytest.mark.parametrize("level", [0.5, 0.95, 1.0 - 1e-9])
@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0 - 1e-9])
def test_a_critical_value_lies_between_that_of_one_estimate_and_bonferroni(rho, level):
    law = MaxLaw((1.0 - rho) * np.eye(3) + rho)
    c, error = law.critical(level)
    one, all_three = (stats.norm.isf((1.0 - level) / 2.0 / m) for m in (1, 3))
    assert one * (1.0 - 1e-12) <= c <= all_three * (1.0 + 1e-12)
    assert 0.0 <= error < 0.01
    exact = {0.0: stats.norm.isf((1.0 - level ** (1.0 / 3.0)) / 2.0), 1.0 - 1e-9: one}
    assert c == pytest.approx(exact.get(rho, c), abs=2e-3)


def test_p_is_never_below_that_of_one_estimate_nor_above_the_sum():
    law = MaxLaw(np.eye(4))
    for c in np.linspace(0.2, 7.5, 30):
        single = 2.0 * stats.norm.sf(c)
        p, error = law.p(c)
        assert single <= p * (1.0 + 1e-12)
        assert p <= 4 * single * (1.0 + 1e-12)
        assert p == pytest.approx(-np.expm1(4 * np.log1p(-single)), rel=0.01)
        assert error < 0.01 * p
