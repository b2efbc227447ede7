"""Stratified means: the textbook sums, limits, and refusals."""

import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.stratified import stratified_mean


def test_weighted_strata_written_out():
    rng = np.random.default_rng(4)
    groups = [rng.normal(m, s, n) for m, s, n in ((0.2, 1.0, 8), (0.5, 2.0, 2), (0.9, 0.5, 14))]
    weights = [0.5, 0.3, 0.2]
    parts = [w**2 * g.var(ddof=1) / g.size for w, g in zip(weights, groups, strict=True)]
    df = sum(parts) ** 2 / sum(v**2 / (g.size - 1) for v, g in zip(parts, groups, strict=True))
    estimate = sum(w * g.mean() for w, g in zip(weights, groups, strict=True))
    result = stratified_mean(np.concatenate(groups), np.repeat([3, 7, 9], [8, 2, 14]), weights=[5, 3, 2])
    reach = stats.t.ppf(0.975, df) * math.sqrt(sum(parts))
    assert (result.estimate, result.std_error, result.df) == pytest.approx((estimate, math.sqrt(sum(parts)), df))
    assert (result.conf_low, result.conf_high) == pytest.approx((estimate - reach, estimate + reach), rel=1e-10)
    assert result.p_value == pytest.approx(2 * stats.t.sf(abs(estimate) / math.sqrt(sum(parts)), df), rel=1e-9)


def test_without_weights_the_estimate_is_the_plain_mean():
    values, strata = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 0, 1, 1, 1, 1])
    result = stratified_mean(values, strata)
    assert result.estimate == pytest.approx(values.mean(), rel=1e-12)
    within = [(3 / 7) ** 2 * (1 / 3) / 3, (4 / 7) ** 2 * (1 / 3) / 4]
    assert result.std_error == pytest.approx(math.sqrt(sum(within)), rel=1e-12)


def test_one_stratum_is_the_t_interval():
    values = np.random.default_rng(1).normal(size=20)
    interval = stats.ttest_1samp(values, 0.0).confidence_interval()
    result = stratified_mean(values, np.zeros(20, dtype=int))
    assert (result.conf_low, result.conf_high) == pytest.approx((interval.low, interval.high), rel=1e-10)


def test_differences_between_strata_do_not_count():
    """The audit's data: right in four scenario types, wrong in three; within a type nothing varies."""
    result = stratified_mean(np.repeat([1.0, 0.0], [21, 22]), np.repeat([0, 1], [21, 22]))
    assert result.conf_low is None
    assert "equal" in result.reason


def test_a_stratum_with_one_item_takes_the_spread_of_all():
    values = np.array([1.0, 0.0, 0.5, 0.2, 0.9])
    result = stratified_mean(values, [0, 0, 0, 1, 2], weights=[2, 1, 1])
    mean = 0.5 * 0.5 + 0.25 * (0.2 + 0.9)
    a = np.array([1 / 6, 1 / 6, 1 / 6, 1 / 4, 1 / 4])
    overall = float(a @ (values - mean) ** 2) / (1 - float(a @ a))
    variance = 0.25 * np.var(values[:3], ddof=1) / 3 + 2 * 0.25**2 * overall
    assert (result.estimate, result.std_error) == pytest.approx((mean, math.sqrt(variance)))
    assert "2 strata have a single item, whose spread is taken from all items" in result.warnings


def test_when_every_stratum_is_one_item_it_is_the_plain_t():
    values = np.random.default_rng(2).normal(size=12)
    result, plain = stratified_mean(values, np.arange(12)), stats.ttest_1samp(values, 0.0).confidence_interval()
    assert (result.conf_low, result.conf_high) == pytest.approx((plain.low, plain.high))


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="3 weights for 2 strata"):
        stratified_mean([1.0, 0.0], [0, 1], weights=[1, 1, 1])
    with pytest.raises(InputError, match="above 0"):
        stratified_mean([1.0, 0.0], [0, 1], weights=[1, -1])
