"""Adjusted p-values: R's values, published rejections, properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.many.max_t import MaxLaw
from evalstats.stats.many.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm

P_VALUES = st.lists(st.floats(0, 1), max_size=30)


def test_adjusted_p_values_equal_r(reference):
    case = reference["p_adjust"]
    for method, name in ((holm, "holm"), (benjamini_hochberg, "BH"), (benjamini_yekutieli, "BY")):
        assert method(case["p"]) == pytest.approx(case[name], abs=1e-10)


def test_the_example_of_the_paper(reference):
    case = reference["benjamini_hochberg_1995"]
    assert benjamini_hochberg(case["p"]) == pytest.approx(case["BH"], abs=1e-10)
    assert holm(case["p"]) == pytest.approx(case["holm"], abs=1e-10)
    assert np.count_nonzero(benjamini_hochberg(case["p"]) <= 0.05) == case["n_reject_BH"]


@given(P_VALUES, st.randoms())
def test_order_is_kept_and_adjusting_never_lowers(p_values, random):
    order = list(range(len(p_values)))
    random.shuffle(order)
    p = np.array(p_values)
    for method in (holm, benjamini_hochberg, benjamini_yekutieli):
        adjusted = method(p)
        assert np.all(adjusted >= p * (1 - 1e-12))
        assert np.all(adjusted <= 1.0)
        assert method(p[order]) == pytest.approx(adjusted[order], rel=1e-12, abs=0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.001, 0.5))
def test_holm_rejects_what_the_step_down_rule_rejects(p_values, level):
    p = np.array(p_values)
    rejected = np.zeros(p.size, dtype=bool)
    for step, index in enumerate(np.argsort(p, kind="stable")):
        if p[index] * (p.size - step) > level:
            break
        rejected[index] = True
    assert np.array_equal(holm(p) <= level, rejected)


def test_unknown_p_values_are_refused():
    for method in (holm, benjamini_hochberg, benjamini_yekutieli):
        with pytest.raises(InputError, match="p-value 1 is nan"):
            method([0.1, float("nan")])
        with pytest.raises(InputError, match=r"p-value 0 is 1\.5"):
            method([1.5])
    assert holm([]).size == 0


def test_tables_of_p_values_are_refused():
    for method in (holm, benjamini_hochberg, benjamini_yekutieli):
        with pytest.raises(InputError, match="2 dimensions"):
            method([[0.1, 0.2]])


@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.9])
@pytest.mark.parametrize("c", [0.4, 2.3, 4.5])
def test_the_largest_of_two_is_beyond_the_square_that_scipy_integrates(correlation, c):
    matrix = np.array([[1.0, correlation], [correlation, 1.0]])
    law = MaxLaw(matrix)
    p, error = law.p(c)
    inside = stats.multivariate_normal(cov=matrix).cdf([c, c], lower_limit=[-c, -c])
    assert p == pytest.approx(1 - inside, abs=5 * error + 2e-6)
    assert 2 * stats.norm.sf(c) <= p <= 4 * stats.norm.sf(c)
    assert law.p(-c) == (p, error)


def test_estimates_that_move_as_one_are_one_and_far_tails_are_the_sum():
    one = MaxLaw(np.ones((3, 3)))
    assert one.p(2.0) == (pytest.approx(2 * stats.norm.sf(2.0)), 0.0)
    assert one.p(2.0, df=7) == (pytest.approx(2 * stats.t(7).sf(2.0)), 0.0)
    assert one.critical(0.95) == (pytest.approx(stats.norm.ppf(0.975)), 0.0)
    apart = MaxLaw(np.eye(3))
    assert apart.p(9.0) == (pytest.approx(6 * stats.norm.sf(9.0), rel=1e-9, abs=0), 0.0)
    assert apart.p(60.0) == (1e-300, 0.0)
    q, error = apart.critical(0.95)
    assert q == pytest.approx(stats.norm.ppf((1 + 0.95 ** (1 / 3)) / 2), abs=5 * error + 1e-4)
