"""Arguments are checked once, with messages that say what to do; tails of laws stay positive and exact."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.checks import as_codes, as_values, check_bounds, check_count, is_constant
from evalstats.stats.estimate import Estimate, normal_quantile, t_quantile, two_sided_normal_p, two_sided_t_p


@pytest.mark.parametrize("codes", [[5, 2, 9, 2], [50_000_000_000, 7, 10**15, 7], [True, False, True, False]])
def test_codes_are_numbered_in_order(codes):
    compact, count = as_codes(codes, 4)
    levels = sorted(set(codes))
    assert compact.tolist() == [levels.index(code) for code in codes]
    assert count == len(levels)


def test_values_that_are_no_values_are_named():
    with pytest.raises(InputError, match="2 of 3 values are NaN or infinite"):
        as_values([1.0, math.nan, math.inf])
    with pytest.raises(InputError, match="2 dimensions"):
        as_values([[1.0], [2.0]])
    with pytest.raises(InputError, match="whole number of at least 1"):
        check_count(0, "n", least=1)


def test_bounds_allow_rounding_and_no_more():
    check_bounds(np.array([0.1 + 0.2, 0.3]), 0.0, 0.3)
    with pytest.raises(InputError, match="above"):
        check_bounds(np.array([0.300001]), 0.0, 0.3)
    with pytest.raises(InputError, match="below"):
        check_bounds(np.array([-0.000001]), 0.0, 0.3)


def test_constant_up_to_rounding():
    assert is_constant(np.array([0.1 + 0.2, 0.3]))
    assert is_constant(np.zeros(3))
    assert not is_constant(np.array([1.0, 1.0 + 1e-9]))


@pytest.mark.parametrize("conf_level", [0.5, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("df", [0.7, 1.0, 2.5, 11.0, 1e6])
def test_quantiles_and_tails_equal_scipy_stats(conf_level, df):
    tail = (1 - conf_level) / 2
    assert normal_quantile(conf_level) == pytest.approx(stats.norm.isf(tail), rel=1e-12)
    assert t_quantile(conf_level, df) == pytest.approx(stats.t.isf(tail, df), rel=1e-9)
    assert two_sided_t_p(-1.7, df) == pytest.approx(2 * stats.t.sf(1.7, df), rel=1e-10)
    assert two_sided_normal_p(-1.7) == pytest.approx(2 * stats.norm.sf(1.7), rel=1e-12)


def test_no_p_value_is_zero():
    assert two_sided_normal_p(1e6) == 1e-300
    assert two_sided_t_p(1e6, 1e9) == 1e-300
    assert two_sided_normal_p(30.0) == pytest.approx(2 * stats.norm.sf(30.0), rel=1e-10)


def test_an_estimate_cannot_be_changed():
    estimate = Estimate(estimate=0.5, method="mean", conf_level=0.95, n=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.estimate = 0.6


@pytest.mark.parametrize("value", [10**20, 1e13, 10**400])
def test_more_than_can_be_counted_out_is_refused(value):
    with pytest.raises(InputError, match=r"n_users is .*; give at most 1,000,000,000,000"):
        check_count(value, "n_users")
    assert check_count(10**12, "n_users") == 10**12
