"""How many labels to buy: the formula, its limits, and that so many do what was promised."""

import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.raters.correction import labels_needed, powered_mean, std_error_for_power


def draw(rng: np.random.Generator, n: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    truth = rng.normal(size=n)
    return truth + noise * rng.normal(size=n), truth


def test_the_number_solves_the_variance_of_its_own_definition():
    judge, truth = draw(np.random.default_rng(1), 300, 0.5)
    found = labels_needed(judge, truth, 0.05, n_items=4000)
    square, variance = np.corrcoef(judge, truth)[0, 1] ** 2, truth.var(ddof=1)

    def error(n: int) -> float:
        return math.sqrt(variance * ((1 - square) / n + square / 4000))

    assert error(found.n - 4) <= 0.05 < error(found.n - 5)
    assert found.alone == math.ceil(variance / 0.05**2) + 2
    assert found.low < found.n < found.high < found.alone
    assert found.correlation_low < found.correlation < found.correlation_high


def test_half_the_error_takes_more_than_four_times_the_labels_and_a_useless_judge_none_off():
    rng = np.random.default_rng(2)
    judge, truth = draw(rng, 200, 0.7)
    wide, narrow = (labels_needed(judge, truth, each, n_items=5000) for each in (0.08, 0.04))
    assert narrow.n > 4 * wide.n  # the judge's own error on the items stays
    useless = labels_needed(rng.normal(size=200) * 0, truth, 0.08, n_items=5000)
    assert useless.n == useless.alone + 2
    against = labels_needed(-judge, truth, 0.08, n_items=5000)
    assert against.n == against.alone + 2


def test_what_labels_of_all_items_cannot_do_is_none():
    judge, truth = draw(np.random.default_rng(3), 100, 0.5)
    assert labels_needed(judge, truth, 0.01, n_items=1000).n is None
    widened = labels_needed(judge, truth, 0.1, n_items=1000, inflation=4.0)
    assert widened.n > 3 * labels_needed(judge, truth, 0.1, n_items=1000).n


def test_what_cannot_be_planned_says_why():
    with pytest.raises(CannotAnswerError, match="too few to plan"):
        labels_needed(np.ones(5), np.ones(5), 0.1, n_items=10)
    with pytest.raises(CannotAnswerError, match="all labels are the same"):
        labels_needed(np.arange(30), np.ones(30), 0.1, n_items=100)
    with pytest.raises(InputError, match="above 0"):
        labels_needed(np.arange(30), np.arange(30), 0.0, n_items=100)
    with pytest.raises(InputError, match="above 0"):
        labels_needed(np.arange(30), np.arange(30), 0.1, n_items=100, inflation=0.0)
    with pytest.raises(InputError, match="20 labels and 21 scores"):
        labels_needed(np.arange(21), np.arange(20), 0.1, n_items=100)


def test_the_error_for_a_power_is_that_of_the_normal_formula():
    assert std_error_for_power(0.05) == pytest.approx(0.05 / (1.959964 + 0.841621), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.3, 0.7, 2.0])
def test_so_many_labels_bring_the_interval_to_the_wanted_width(noise):
    """Plan by a large pilot, then draw as many labels: half widths have the wanted mean."""
    rng = np.random.default_rng(4)
    judge, truth = draw(rng, 20_000, noise)
    half = 0.1
    n = labels_needed(judge, truth, half / 1.96, n_items=1500).n
    widths = []
    for _ in range(400):
        f, y = draw(rng, 1500, noise)
        found = powered_mean(f[n:], f[:n], y[:n]).estimate
        widths.append((found.conf_high - found.conf_low) / 2)
    # t for z and the fitted weight cost a few per cent where labels are few.
    assert half * 0.97 < np.mean(widths) < half * 1.12


def test_a_judge_of_yes_and_no_counts_by_its_correlation():
    rng = np.random.default_rng(2)
    truth = (rng.random(150) < 0.6).astype(float)
    judge = np.where(rng.random(150) < 0.85, truth, 1.0 - truth)
    found, r = labels_needed(judge, truth, 0.03, n_items=5000), np.corrcoef(judge, truth)[0, 1]
    assert found.correlation == pytest.approx(r)
    reach = stats.norm.ppf(0.975) / np.sqrt(147)
    assert found.correlation_low == pytest.approx(np.tanh(np.arctanh(r) - reach))
    assert found.correlation_high == pytest.approx(np.tanh(np.arctanh(r) + reach))
    assert found.n is not None
    assert found.n < found.alone


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_judge_that_always_agrees_or_never_has_a_correlation_with_an_interval(sign):
    truth = np.random.default_rng(3).normal(size=100)
    found = labels_needed(sign * truth, truth, 0.05, n_items=5000)
    assert found.correlation == pytest.approx(sign)
    # Fisher's z of a correlation cut off at .9999, less 1.96 / sqrt(97).
    ends = [math.tanh(math.atanh(0.9999) + end * 1.959964 / math.sqrt(97)) for end in (-1, 1)]
    wanted = ends if sign > 0 else [-end for end in reversed(ends)]
    assert (found.correlation_low, found.correlation_high) == pytest.approx(wanted, rel=1e-6)
    assert found.n is not None
    assert (found.n < found.alone) == (sign > 0)


def test_twenty_labels_are_enough_to_plan_by():
    rng = np.random.default_rng(12)
    truth = rng.normal(size=20)
    judge = truth + rng.normal(size=20)
    assert labels_needed(judge, truth, 0.2, n_items=4000).n is not None
    with pytest.raises(CannotAnswerError, match="19 labels are too few"):
        labels_needed(judge[1:], truth[1:], 0.2, n_items=4000)
