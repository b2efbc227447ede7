"""Unseen outright failures: Clopper and Pearson's limit, the share that undoes a lead, and what the two do together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalstats.stats.one_sample import pair_failures, possible_failures, unseen_failures
from evalstats.stats.paired.means import paired_t

HEIGHTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=40).map(
    lambda pairs: np.array(pairs, dtype=float)
)


@pytest.mark.parametrize(("failures", "n"), [(0, 50), (1, 50), (4, 12), (11, 12), (3, 1000), (12, 12)])
def test_possible_failures_are_the_exact_upper_limit_less_what_was_seen(failures, n):
    """A one-sided 95% limit is the upper end of the two-sided 90% interval, which scipy computes."""
    upper = stats.binomtest(failures, n).proportion_ci(confidence_level=0.9, method="exact").high
    assert float(possible_failures(failures, n)) == pytest.approx(upper - failures / n, rel=1e-9, abs=1e-12)


def test_without_a_failure_the_limit_has_a_closed_form():
    assert float(possible_failures(0, 60)) == pytest.approx(1 - 0.05 ** (1 / 60), rel=1e-12)
    assert float(possible_failures(0, 300, conf_level=0.99)) == pytest.approx(1 - 0.01 ** (1 / 300), rel=1e-12)


@settings(deadline=None)
@given(HEIGHTS, st.floats(0.0, 3.0))
def test_failing_on_that_share_takes_the_lead_away(pairs, allowance):
    side, other = pairs.T
    found = unseen_failures(side, other, allowance=allowance)
    if side.mean() > 0:
        left = (1 - found.undoing) * side.mean() - other.mean()
        assert left == pytest.approx(-allowance, abs=1e-9)
    wider = unseen_failures(10 * side, 10 * other, allowance=10 * allowance)
    assert (wider.undoing, wider.possible, wider.seen) == pytest.approx((found.undoing, found.possible, found.seen))
    assert found.failures == sum(a == 0 and b > 0 for a, b in pairs.tolist())
    assert found.seen == bool((pairs == 0).any())


def test_an_item_that_both_fail_is_no_failure_of_one():
    found = unseen_failures([0.0, 0.0, 2.0, 3.0], [0.0, 1.0, 2.0, 2.0])
    assert (found.failures, found.seen) == (1, True)


def test_pairs_are_each_looked_at_on_their_own_items():
    rng = np.random.default_rng(3)
    heights = rng.integers(0, 5, (30, 4)).astype(float)
    heights[rng.random(heights.shape) < 0.2] = np.nan
    first, second = np.array([0, 2, 3, 1]), np.array([1, 0, 2, 3])
    found = pair_failures(heights, first, second, conf_level=0.9)
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        both = heights[:, [i, j]][~np.isnan(heights[:, [i, j]]).any(axis=1)]
        ahead = both if both[:, 0].mean() >= both[:, 1].mean() else both[:, ::-1]
        alone = unseen_failures(ahead[:, 0], ahead[:, 1], conf_level=0.9)
        assert (found.undoing[k], found.possible[k]) == pytest.approx((alone.undoing, alone.possible))
        assert found.seen[k] == alone.seen


def test_t_claims_what_rare_falls_undo_and_the_limit_says_so():
    """2% of the candidate's items fall to 0 and small gains elsewhere make up for it: no claim is right.

    t claims one in a third of tables of 50 items; nearly none of these lie beyond the failures that 50 items leave possible.
    """
    rng = np.random.default_rng(5)
    claims = beyond = 0
    for _ in range(600):
        level = rng.normal(0.75, 0.05, 50)
        baseline = level + rng.normal(0, 0.02, 50)
        candidate = np.where(rng.random(50) < 0.02, 0.0, level + 0.02 * 0.75 / 0.98 + rng.normal(0, 0.02, 50))
        claimed = paired_t(candidate - baseline).p_value <= 0.05
        up = candidate.mean() >= baseline.mean()
        risk = unseen_failures(*((candidate, baseline) if up else (baseline, candidate)))
        claims += claimed
        beyond += claimed and not risk.within
    assert claims / 600 > 0.25
    assert beyond / 600 < 0.02


def test_where_both_fail_on_everything_there_is_no_lead_to_lose():
    found = pair_failures(np.zeros((20, 2)), [0], [1])
    assert (found.undoing.tolist(), found.seen.tolist(), found.within.tolist()) == ([0.0], [True], [False])
    apart = pair_failures([[1.0, np.nan], [np.nan, 1.0]], [0], [1])
    assert np.isnan(apart.possible).all()
