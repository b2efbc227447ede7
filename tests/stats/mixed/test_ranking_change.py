"""Changes of ranking; joint tests."""

import math

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.estimate import SMALLEST_P
from evalstats.stats.mixed.contrasts import joint_test
from evalstats.stats.mixed.interaction import ranking_change

NAMES = {"models": ["A", "B", "C"], "scenarios": ["s", "t", "u"]}


def test_a_swap_needs_both_orders():
    ahead = np.array([[5.0, 5.0, 5.0], [0.0, 0.1, 4.9], [-5.0, -5.0, -5.0]])
    found = ranking_change(ahead, 0.04 * np.eye(9), **NAMES)
    assert not any(swap.shown for swap in found)
    # A large interaction, and still the order stands.
    turned = ahead.copy()
    turned[0, 1] = -3.0
    found = ranking_change(turned, 0.04 * np.eye(9), **NAMES)
    shown = [swap for swap in found if swap.shown]
    assert [(swap.first, swap.second) for swap in shown] == [("A", "B")]
    assert (shown[0].first_better, shown[0].second_better) == ("s", "t")


def test_the_p_of_a_swap_is_its_definition():
    rng = np.random.default_rng(4)
    theta, a = rng.normal(size=(3, 3)), rng.normal(size=(9, 14))
    v = a @ a.T / 14
    for df in (None, 8.0):
        found = ranking_change(theta, v, df=df, **NAMES)
        law = stats.norm if df is None else stats.t(df)
        for swap in found:
            i, j = NAMES["models"].index(swap.first), NAMES["models"].index(swap.second)
            z = []
            for s in range(3):
                c = np.zeros(9)
                c[3 * i + s], c[3 * j + s] = 1, -1
                z.append((theta[i, s] - theta[j, s]) / math.sqrt(c @ v @ c))
            ahead, behind = 3 * min(law.sf(z)), 3 * min(law.sf(np.negative(z)))
            assert swap.p_value == pytest.approx(min(1.0, max(ahead, behind)))
        p = sorted(swap.p_value for swap in found)
        assert min(swap.p_adjusted for swap in found) == pytest.approx(min(1.0, 3 * p[0]))


def test_names_and_order_do_not_matter():
    rng = np.random.default_rng(5)
    theta, v = rng.normal(size=(3, 3)) * 3, np.diag(rng.uniform(0.1, 1, 9))
    one = ranking_change(theta, v, **NAMES)
    order = np.array([2, 0, 1])
    place = np.arange(9).reshape(3, 3)[order].ravel()
    other = ranking_change(theta[order], v[np.ix_(place, place)], models=["C", "A", "B"], scenarios=NAMES["scenarios"])
    by_pair = {frozenset((s.first, s.second)): s.p_adjusted for s in other}
    for swap in one:
        assert by_pair[frozenset((swap.first, swap.second))] == pytest.approx(swap.p_adjusted)


def test_null_cells_leave_what_is_left():
    theta = np.array([[5.0, -5.0, np.nan], [0.0, 0.0, 0.0], [np.nan, np.nan, 1.0]])
    v = 0.1 * np.eye(9)
    v[2, 2] = np.nan
    found = ranking_change(theta, v, **NAMES)
    assert [swap.shown for swap in found] == [True, False, False]
    assert found[1].p_value is None
    nothing = ranking_change(np.full((3, 3), np.nan), v, **NAMES)
    assert {swap.p_value for swap in nothing} == {None}


def test_a_ranking_needs_two_of_each():
    with pytest.raises(InputError, match="at least 2 of each"):
        ranking_change([[1.0, 2.0]], np.eye(2), models=["A"], scenarios=["s", "t"])


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["equal", "ordered", "near"])
def test_false_swaps_are_rare(truth):
    rng, repeats, wrong = np.random.default_rng(6), 200, 0
    a = rng.normal(size=(9, 20))
    v = a @ a.T / 20
    root = np.linalg.cholesky(v)
    levels = {"equal": [0, 0, 0], "ordered": [3, 0, -3], "near": [0.5, 0, 0]}[truth]
    theta = np.repeat(np.array(levels, dtype=float)[:, None], 3, axis=1)
    theta[0] += {"equal": 0.0, "ordered": np.array([0, 2.0, 4.0]), "near": np.array([0, 8.0, 8.0])}[truth]
    for _ in range(repeats):
        drawn = theta + (root @ rng.normal(size=9)).reshape(3, 3)
        found = ranking_change(drawn, v, **NAMES)
        wrong += any(swap.shown for swap in found)
    most = 0.05 + 4 * math.sqrt(0.05 * 0.95 / repeats)
    assert wrong / repeats < most


def test_joint_test_is_its_definition():
    rng = np.random.default_rng(7)
    a, b, rows = rng.normal(size=(5, 9)), rng.normal(size=5), rng.normal(size=(3, 5))
    v = a @ a.T / 9
    chi2 = float((rows @ b) @ np.linalg.solve(rows @ v @ rows.T, rows @ b))
    plain, f = joint_test(rows, b, v), joint_test(rows, b, v, df=17.5)
    assert plain.statistic == pytest.approx(chi2)
    assert plain.p_value == pytest.approx(stats.chi2.sf(chi2, 3))
    assert f.statistic == pytest.approx(chi2 / 3)
    assert f.p_value == pytest.approx(stats.f.sf(chi2 / 3, 3, 17.5))
    repeated = joint_test(np.vstack([rows, rows.sum(0), 1e6 * rows[0]]), b, v)
    assert repeated.df == 3
    assert repeated.statistic == pytest.approx(chi2)
    one = joint_test([[1, 0, 0, 0, 0]], b, v, df=9)
    assert one.p_value == pytest.approx(2 * stats.t.sf(abs(b[0]) / math.sqrt(v[0, 0]), 9))


def test_joint_test_says_why_it_cannot():
    assert joint_test(np.zeros((1, 2)), [1, 2], np.eye(2)).reason == "no hypothesis is left that the data can test"
    assert "standard error of 0" in str(joint_test([[1, -1]], [1, 2], np.ones((2, 2))).reason)
    short = joint_test(np.eye(2), [1.0, 1.0], np.ones((2, 2)))
    assert short.df == 1
    assert "is not 0" in str(joint_test(np.eye(2), [1.0, 2.0], np.ones((2, 2))).reason)


@pytest.mark.parametrize("df", [None, math.inf, 5.0])
def test_the_clearest_scenario_is_that_of_the_smallest_p(df):
    """A is ahead by most in t but by most standard errors in s; C is equal to D in all but one; E is ahead everywhere."""
    theta = np.array([[2.0, 3.0, -1.0], [0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [9.0, 9.0, 9.0]])
    v = np.diag(np.tile([0.1, 1.0, 0.2], 5))
    found = ranking_change(theta, v, models=list("ABCDE"), scenarios=["s", "t", "u"], df=df)
    by_pair = {swap.first + swap.second: (swap.first_better, swap.second_better) for swap in found}
    assert by_pair["AB"] == ("s", "u")
    assert by_pair["CD"] == (None, "u")
    assert by_pair["BD"] == (None, None)
    assert by_pair["AE"] == (None, "u")  # ten over the root of .4 is more than seven over that of .2


def test_a_difference_without_a_variance_but_for_rounding_says_nothing():
    v = np.kron([[0.1 * 3, 0.3], [0.3, 0.1 * 3]], np.eye(2))
    assert 0.0 < v[0, 0] + v[2, 2] - 2 * v[0, 2] < 1e-15
    found = ranking_change([[1.0, -1.0], [0.0, 0.0]], v, models=["A", "B"], scenarios=["s", "t"])
    assert (found[0].p_value, found[0].shown) == (None, False)


def test_a_p_value_too_small_for_a_number_is_not_0():
    found = ranking_change([[50.0, -50.0], [0.0, 0.0]], np.eye(4) / 8, models=["A", "B"], scenarios=["s", "t"])
    assert found[0].p_value == 2 * SMALLEST_P
