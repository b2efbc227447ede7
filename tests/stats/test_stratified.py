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


def test_a_stratum_with_one_item_has_no_variance():
    result = stratified_mean([1.0, 0.0, 1.0], [0, 0, 1])
    assert result.conf_low is None
    assert result.reason == "1 stratum has a single item, so the spread within is unknown"
    assert stratified_mean([1.0, 0.0, 1.0], [0, 0, 1], weights=[1, 0]).conf_low is not None


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="3 weights for 2 strata"):
        stratified_mean([1.0, 0.0], [0, 1], weights=[1, 1, 1])
    with pytest.raises(InputError, match="0 or more"):
        stratified_mean([1.0, 0.0], [0, 1], weights=[1, -1])
