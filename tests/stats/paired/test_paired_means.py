"""Augmented t and paired t: the definition, the link to Bonett-Price, properties."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.paired.binary import PairedCounts, bonett_price
from evalstats.stats.paired.means import (
    _skewness_of_mean,
    augmented_t,
    has_unseen_tail,
    paired_t,
    rests_on_unseen_tail,
)
from tests.stats.coverage import ends

TRIALS = 4
LATTICE = st.lists(st.integers(-TRIALS, TRIALS), min_size=1, max_size=80).map(lambda d: np.array(d) / TRIALS)


@pytest.mark.parametrize("n_nonzero", [0, 3, 5, 20])
def test_augmented_t_is_the_t_interval_of_items_with_two_pseudo_items(n_nonzero):
    """Append +c and -c, then Student's t with the divisor n' - 1: scipy does the rest."""
    d = np.zeros(40)
    d[:n_nonzero] = np.array([1.0, 2.0, -1.0, 3.0])[np.arange(n_nonzero) % 4] / 3
    c = 1.0
    if n_nonzero >= 5:
        c = np.square(d).sum() / np.abs(d).sum()
    expected = stats.ttest_1samp(np.concatenate([d, [c, -c]]), 0.0)
    interval = expected.confidence_interval(0.9)
    result = augmented_t(d, conf_level=0.9)
    assert ends(result) == pytest.approx((interval.low, interval.high), rel=1e-10)
    assert result.statistic == pytest.approx(expected.statistic, abs=1e-12)
    assert result.p_value == pytest.approx(expected.pvalue, rel=1e-10)
    assert result.estimate == d.mean()
    assert result.df == 41


def test_one_trial_of_right_wrong_scores_is_bonett_price_with_t():
    """v'/(n' - 1) = (b + c + 2 - (b-c)^2/n')/(n'(n' - 1)), Bonett-Price has n' for n' - 1."""
    counts = PairedCounts(20, 12, 4, 7)
    d = np.repeat([1.0, -1.0, 0.0], [12, 4, 27])
    here, there = augmented_t(d), bonett_price(counts)
    assert here.std_error == pytest.approx(there.std_error * math.sqrt(45 / 44), rel=1e-12)
    assert (here.conf_low + here.conf_high) == pytest.approx(there.conf_low + there.conf_high, rel=1e-10)


@settings(deadline=None)
@given(LATTICE, st.floats(0.75, 0.999))
def test_augmented_t_properties(d, conf_level):
    here = augmented_t(d, conf_level=conf_level)
    assert -1.0 <= here.conf_low <= here.estimate + 1e-12
    assert here.estimate - 1e-12 <= here.conf_high <= 1.0
    assert here.conf_low < here.conf_high
    there = augmented_t(-d, conf_level=conf_level)
    assert ends(here) == pytest.approx((-there.conf_high, -there.conf_low), abs=1e-12)
    wider = augmented_t(d, conf_level=0.5 * (1 + conf_level))
    assert wider.conf_low <= here.conf_low
    assert wider.conf_high >= here.conf_high
    scaled = augmented_t(100 * d, bound=100.0, conf_level=conf_level)
    assert ends(scaled) == pytest.approx([100 * end for end in ends(here)], rel=1e-9, abs=1e-9)
    assume(abs(here.p_value - (1 - conf_level)) > 1e-9)
    assert (here.conf_low > 0 or here.conf_high < 0) == (here.p_value < 1 - conf_level)


def test_augmented_t_never_has_width_zero():
    assert augmented_t(np.zeros(50)).conf_high > 0.02
    all_better = augmented_t(np.ones(50))
    assert all_better.conf_high == 1.0
    assert all_better.conf_low < 0.95
    assert all_better.p_value == pytest.approx(2 * stats.t.sf(25.0, 51), rel=1e-10, abs=0)


def test_paired_t_equals_scipy():
    d = np.random.default_rng(2).normal(0.3, 1.0, 25)
    expected = stats.ttest_1samp(d, 0.0)
    interval = expected.confidence_interval(0.95)
    result = paired_t(d)
    assert ends(result) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert (result.statistic, result.p_value) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-10)


def test_paired_t_is_clipped_at_the_bound():
    plain, clipped = paired_t([1.0, 0.0, 1.0]), paired_t([1.0, 0.0, 1.0], bound=1.0)
    assert plain.conf_high > 1.0
    assert ends(clipped) == (plain.conf_low, 1.0)
    with pytest.raises(InputError, match="above the highest possible 1"):
        paired_t([0.2, 5.0], bound=1.0)
    for bound in (0.0, -1.0, math.nan):
        with pytest.raises(InputError, match="bound is"):
            paired_t([0.0, 0.0], bound=bound)


@pytest.mark.parametrize("d", [[0.5] * 8, [0.0] * 8, [0.1]])
def test_paired_t_of_constant_differences_has_a_reason(d):
    result = paired_t(d)
    assert result.conf_low is None
    assert result.p_value is None
    assert result.reason
    assert result.estimate == pytest.approx(d[0])


def test_far_tails_stay_positive():
    assert 0.0 < paired_t(1e6 + np.arange(100_000.0) / 1e5).p_value <= 1e-299


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_tail_is_told_by_the_skewness_of_scipy(unit):
    rng = np.random.default_rng(0)
    for _ in range(200):
        ahead, behind = unit * rng.lognormal(0, rng.uniform(0.1, 1.5), (2, 20)) * rng.choice([-1, 1])
        behind *= rng.uniform(0.2, 2.0)
        difference, own = (-stats.skew(x) / np.sqrt(20) for x in (ahead - behind, ahead))
        expected = difference > 0.1 or (own > 0.2 and ahead.std() > behind.std())
        assert has_unseen_tail(ahead, behind) == expected
        assert has_unseen_tail(rng.permutation(ahead) + 0 * behind, 0 * behind) == has_unseen_tail(ahead, 0 * behind)
    assert not has_unseen_tail(np.full(9, unit), np.zeros(9))


@pytest.mark.parametrize(
    ("spreads", "all_claims", "unsaid"), [((0.5, 1.2), (0.09, 0.14), 0.065), ((1.0, 1.0), (0.03, 0.06), 0.06)]
)
def test_most_false_leads_of_heavy_tailed_costs_are_told(spreads, all_claims, unsaid):
    """Lognormal costs of mean 1, 30 items, 3,000 tables (Monte Carlo error .004 to .006)."""
    rng = np.random.default_rng(1)
    n_claims = n_unsaid = 0
    for _ in range(3_000):
        first, second = (-rng.lognormal(-s * s / 2, s, 30) for s in spreads)
        if paired_t(first - second).p_value <= 0.05:
            n_claims += 1
            ahead, behind = (first, second) if first.mean() > second.mean() else (second, first)
            n_unsaid += not has_unseen_tail(ahead, behind)
    assert all_claims[0] < n_claims / 3_000 < all_claims[1]
    assert n_unsaid / 3_000 < unsaid
    assert n_unsaid < n_claims or spreads == (1.0, 1.0)


def test_the_skewness_of_a_difference_of_two_groups_is_that_of_all_pairs():
    """Of independent draws third moments add: over n of each the skewness of the mean is that of one pair by sqrt(n)."""
    one, other = np.random.default_rng(3).lognormal(size=(2, 12))
    every = (one[:, None] - other).ravel()
    assert _skewness_of_mean(one, -other) == pytest.approx(stats.skew(every) / math.sqrt(12), rel=1e-9)
    assert _skewness_of_mean(one) == pytest.approx(stats.skew(one) / math.sqrt(12), rel=1e-9)
    assert _skewness_of_mean(np.tile(one, 3), -np.tile(other, 3)) == pytest.approx(
        stats.skew(every) / math.sqrt(36), rel=1e-9
    )


def test_of_two_groups_with_the_same_tail_none_is_ahead_by_it():
    costs = -np.random.default_rng(4).lognormal(size=40)
    assert not has_unseen_tail(costs + 1.0, 1.05 * costs, same_items=False)
    assert has_unseen_tail(costs, np.full(30, -3.0), same_items=False)


@pytest.mark.parametrize(
    ("spreads", "sizes", "all_claims", "unsaid"),
    [((0.5, 1.2), (30, 30), 0.1, 0.06), ((0.3, 1.5), (30, 30), 0.17, 0.065), ((0.5, 1.2), (120, 40), 0.1, 0.05)],
)
def test_most_false_leads_of_different_users_costs_are_told(spreads, sizes, all_claims, unsaid):
    """Lognormal costs of mean 1 of two groups, by Welch, 2,000 tables (Monte Carlo error .005)."""
    rng = np.random.default_rng(1)
    one, other = (-rng.lognormal(-s * s / 2, s, (2_000, n)) for s, n in zip(spreads, sizes, strict=True))
    p_values = stats.ttest_ind(one, other, axis=1, equal_var=False).pvalue
    n_claims = n_unsaid = 0
    for first, second, p in zip(one, other, p_values, strict=True):
        if p <= 0.05:
            sides = (first, second) if first.mean() > second.mean() else (second, first)
            n_claims += 1
            n_unsaid += not rests_on_unseen_tail(*sides, p, same_items=False)
    assert n_claims / 2_000 > all_claims
    assert n_unsaid / 2_000 < unsaid


@pytest.mark.parametrize("other", [1.0, 1.2, 1.5])
def test_a_claim_is_firm_at_a_500th_of_its_share_of_the_error(other):
    """Lognormal costs of equal means, log spreads .3 and 1.0 to 1.5, 30 items, 3,000 tables (Monte Carlo error .004)."""
    rng = np.random.default_rng(5)
    n_claims = n_unsaid = 0
    for _ in range(3_000):
        first, second = (-rng.lognormal(-s * s / 2, s, 30) for s in (0.3, other))
        p = paired_t(first - second).p_value
        if p <= 0.05:
            n_claims += 1
            sides = (first, second) if first.mean() > second.mean() else (second, first)
            said = rests_on_unseen_tail(*sides, p)
            n_unsaid += not said
            assert said <= has_unseen_tail(*sides)
            assert rests_on_unseen_tail(*sides, p, n_claims=7) >= said
    assert n_claims / 3_000 > 0.09
    assert n_unsaid / 3_000 < 0.06


def test_without_a_p_value_no_claim_is_firm():
    tailed = ([1.0] * 5 + [-3.0], [0.0] * 6)
    assert rests_on_unseen_tail(*tailed, None)
    assert not rests_on_unseen_tail(*tailed, 0.05 / 500)
    assert rests_on_unseen_tail(*tailed, 0.051 / 500)
    assert not rests_on_unseen_tail([1.0, 1.0, 2.0, 2.0], [0.0] * 4, None)


@pytest.mark.parametrize(("law", "most"), [("normal", 0.01), ("exponential", 0.03)])
def test_ordinary_scores_need_no_word(law, most):
    """300 items of one law on both sides, 1,000 tables: how often a claim would be qualified, made or not."""
    rng = np.random.default_rng(6)
    draws = [getattr(rng, law)(size=(2, 300)) for _ in range(1_000)]
    assert np.mean([has_unseen_tail(*each) for each in draws]) < most
