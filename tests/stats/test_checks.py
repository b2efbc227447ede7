"""Arguments are checked once, with messages that say what to do; tails of laws stay positive and exact."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.checks import (
    as_codes,
    as_values,
    check_bound,
    check_bounds,
    check_count,
    check_level,
    few_items,
    is_constant,
    too_few_clusters,
)
from evalstats.stats.estimate import (
    IntervalEstimate,
    legendre,
    normal_quantile,
    positive_p,
    t_estimate,
    t_quantile,
    two_sided_normal_p,
    two_sided_t_p,
)


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
    with pytest.raises(InputError, match="are empty"):
        as_values([])
    assert as_values([3]).tolist() == [3.0]


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([[0, 1, 2]], "shape"),
        ([0, 1], "shape"),
        ([0.0, 1.0, 2.0], "integer codes"),
        (["a", "b", "c"], "integer codes"),
        ([0, -1, 2], "hold -1"),
    ],
)
def test_codes_that_are_no_codes_are_named(codes, words):
    with pytest.raises(InputError, match=words):
        as_codes(codes, 3)


@pytest.mark.parametrize("value", [0, -3, 1.5, -math.inf, math.nan])
def test_what_is_no_count_is_refused(value):
    with pytest.raises(InputError, match="whole number of at least 1"):
        check_count(value, "n", least=1)
    assert check_count(1.0, "n", least=1) == 1
    assert check_count(0, "n") == 0


@pytest.mark.parametrize("conf_level", [-0.1, 0.0, 1.0, 1.5, 95.0, math.nan])
def test_a_level_lies_between_0_and_1(conf_level):
    with pytest.raises(InputError, match="between 0 and 1") as refused:
        check_level(conf_level)
    assert ("not 95" in str(refused.value)) == (conf_level >= 1.0)
    assert check_level(0.001) == 0.001
    assert check_level(0.999) == 0.999


@pytest.mark.parametrize("bound", [0.0, -1.0, math.inf, math.nan])
def test_a_bound_is_positive(bound):
    with pytest.raises(InputError, match="positive number"):
        check_bound(bound)
    assert check_bound(0.25) == 0.25


def test_few_are_fewer_than_ten_items_or_five_clusters():
    assert [bool(few_items(n)) for n in (1, 9, 10, 11)] == [True, True, False, False]
    assert [too_few_clusters(n) is None for n in (1, 4, 5, 6)] == [False, False, True, True]
    assert few_items(1)[0].startswith("Only 1 item:")
    assert few_items(2)[0].startswith("Only 2 items:")
    assert too_few_clusters(1).startswith("1 cluster is ")
    assert too_few_clusters(2).startswith("2 clusters are ")


def test_bounds_allow_rounding_and_no_more():
    check_bounds(np.array([0.1 + 0.2, 0.3]), 0.0, 0.3)
    with pytest.raises(InputError, match="above"):
        check_bounds(np.array([0.300001]), 0.0, 0.3)
    with pytest.raises(InputError, match="below"):
        check_bounds(np.array([-0.000001]), 0.0, 0.3)
    check_bounds(np.array([-1e9, 1e9]), None, None)
    check_bounds(np.array([-1e9, 0.3]), None, 0.3)
    check_bounds(np.array([-0.3, 1e9]), -0.3, None)
    with pytest.raises(InputError, match="above"):
        check_bounds(np.array([0.0, 0.300001]), None, 0.3)
    with pytest.raises(InputError, match="below"):
        check_bounds(np.array([-0.300001, 0.0]), -0.3, None)


@pytest.mark.parametrize("low", [0.3, 0.4])
def test_bounds_that_hold_nothing_between_them_are_refused(low):
    with pytest.raises(InputError, match="low must be below high"):
        check_bounds(np.array([0.3]), low, 0.3)


def test_constant_up_to_rounding():
    assert is_constant(np.array([0.1 + 0.2, 0.3]))
    assert is_constant(np.zeros(3))
    assert not is_constant(np.array([1.0, 1.0 + 1e-9]))
    assert not is_constant(np.array([-1.0, 1.0]))


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
    assert positive_p(1.0 + 1e-15) == 1.0  # rounding of a sum of probabilities


def test_a_t_interval_is_clipped_where_bounds_are_given():
    plain = t_estimate(0.5, 0.2, 7.0, 0.9, method="t", n=8)
    assert (plain.conf_low, plain.conf_high) == pytest.approx(stats.t.interval(0.9, 7.0, 0.5, 0.2), rel=1e-12)
    clipped = t_estimate(0.5, 0.2, 7.0, 0.9, method="t", n=8, low=0.3, high=0.6)
    assert (clipped.conf_low, clipped.conf_high) == (0.3, 0.6)
    wide = t_estimate(0.5, 0.2, 7.0, 0.9, method="t", n=8, low=-1.0, high=2.0)
    assert (wide.conf_low, wide.conf_high) == (plain.conf_low, plain.conf_high)
    assert plain.p_value == pytest.approx(2 * stats.t.sf(2.5, 7.0), rel=1e-12)


def test_kept_nodes_cannot_be_changed():
    for kept in legendre(5):
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = 0.0


def test_an_estimate_cannot_be_changed():
    estimate = IntervalEstimate(estimate=0.5, method="mean", conf_level=0.95, n=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        estimate.estimate = 0.6


@pytest.mark.parametrize("value", [10**20, 1e13, 10**400, math.inf])
def test_more_than_can_be_counted_out_is_refused(value):
    with pytest.raises(InputError, match=r"n_users is .*; give at most 1,000,000,000,000"):
        check_count(value, "n_users")
    assert check_count(10**12, "n_users") == 10**12
