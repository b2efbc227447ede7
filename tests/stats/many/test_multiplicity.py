"""Adjusted p-values: R's values, published rejections, properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import InputError
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
        assert method(p[order]) == pytest.approx(adjusted[order], rel=1e-12)


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
