"""Qualitative interaction against its published form and brute force; changes of ranking; joint tests."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from evalstats.errors import InputError
from evalstats.stats.mixed.families import joint_test
from evalstats.stats.mixed.qualitative_interaction import gail_simon, ranking_change


def test_gail_simon_is_its_formula():
    # As the SAS/STAT manual prints it (PROC FREQ, GAILSIMON): binomial weights over chi-squared tails.
    rng = np.random.default_rng(0)
    for strata in (2, 3, 5, 9):
        d, se = rng.normal(size=strata), rng.uniform(0.3, 1.0, strata)
        q = min(sum((x / s) ** 2 for x, s in zip(d, se, strict=True) if sign * x > 0) for sign in (1, -1))
        p = sum(stats.binom.pmf(h, strata - 1, 0.5) * stats.chi2.sf(q, h) for h in range(1, strata)) if q > 0 else 1.0
        found = gail_simon(d, np.diag(se**2))
        assert found.statistic == pytest.approx(q)
        assert found.p_value == pytest.approx(p)
        assert gail_simon(-d, np.diag(se**2)).p_value == pytest.approx(p)
        assert gail_simon(d[::-1], np.diag(se[::-1] ** 2)).p_value == pytest.approx(p)


def test_gail_simon_p_is_the_chance_where_it_is_largest():
    # One difference far above 0, the others at 0: brute force.
    rng, n = np.random.default_rng(1), 200_000
    z = rng.normal(size=(n, 4)) + np.array([50.0, 0, 0, 0])
    q = np.minimum((np.square(z) * (z < 0)).sum(1), (np.square(z) * (z > 0)).sum(1))
    for c in (2.0, 4.3, 8.0):
        at = gail_simon([math.sqrt(c), -20.0, -20.0, -20.0], np.eye(4))
        share = float((q >= c).mean())
        assert abs(at.p_value - share) < 4.5 * math.sqrt(share / n)


def nearest(d, v):
    """Squared distance of d from "all at least 0", by a general optimiser."""
    precision = np.linalg.inv(v)
    start = np.maximum(d, 0.0)
    found = optimize.minimize(
        lambda x: (x - d) @ precision @ (x - d), start, jac=lambda x: 2 * precision @ (x - d), bounds=[(0, None)] * len(d),
        method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12},
    )  # fmt: skip
    return found.fun


def test_correlated_strata_take_the_distance_in_their_own_metric():
    rng = np.random.default_rng(2)
    for _ in range(6):
        a = rng.normal(size=(4, 6))
        v, d = a @ a.T / 6, rng.normal(size=4)
        found = gail_simon(d, v, n_draws=200)
        assert found.q_positive == pytest.approx(nearest(d, v), abs=1e-6)
        assert found.q_negative == pytest.approx(nearest(-d, v), abs=1e-6)


def test_the_law_of_correlated_strata_is_that_of_draws():
    rng = np.random.default_rng(3)
    a = rng.normal(size=(3, 5))
    v = a @ a.T / 5
    scale = np.sqrt(np.diagonal(v))
    r = v / np.outer(scale, scale)
    d = np.array([1.3, -1.6, -0.4]) * scale
    found = gail_simon(d, v, n_draws=20_000)
    drawn = np.array([nearest(z, r) for z in rng.multivariate_normal(np.zeros(3), r, size=2_000)])
    share = float((drawn >= found.statistic).mean())
    assert abs(share - found.p_value) < 4.5 * (math.sqrt(share * (1 - share) / 2_000) + found.p_error)
    # Correlations that vanish: a bound for S strata, above Gail and Simon's for S - 1.
    nearly = np.eye(3) + 1e-5 * (np.ones((3, 3)) - np.eye(3))
    assert gail_simon([2, -2, -1], nearly).p_value > gail_simon([2, -2, -1], np.eye(3)).p_value


def test_bad_differences_are_refused():
    for d, v, said in (
        ([1.0], [[1.0]], "at least 2"),
        ([1.0, -1.0], np.zeros((2, 2)), "standard error of 0"),
        ([1.0, -1.0, 0.0], np.ones((3, 3)), "singular"),
    ):
        with pytest.raises(InputError, match=said):
            gail_simon(d, v)


NAMES = {"models": ["A", "B", "C"], "scenarios": ["s", "t", "u"]}


def test_a_swap_needs_both_orders():
    ahead = np.array([[5.0, 5.0, 5.0], [0.0, 0.1, 4.9], [-5.0, -5.0, -5.0]])
    found = ranking_change(ahead, 0.04 * np.eye(9), **NAMES)
    assert not any(swap.shown for swap in found.swaps)
    assert found.p_any == 1.0
    assert "does not show that the order is the same" in found.conclusion
    # A large interaction, and still the order stands.
    turned = ahead.copy()
    turned[0, 1] = -3.0
    found = ranking_change(turned, 0.04 * np.eye(9), **NAMES)
    shown = [swap for swap in found.swaps if swap.shown]
    assert [(swap.first, swap.second) for swap in shown] == [("A", "B")]
    assert shown[0].between == (("s", "t"),)
    assert (shown[0].first_better, shown[0].second_better) == ("s", "t")
    assert found.p_any < 1e-6


def test_the_p_of_a_swap_is_its_definition():
    rng = np.random.default_rng(4)
    theta, a = rng.normal(size=(3, 3)), rng.normal(size=(9, 14))
    v = a @ a.T / 14
    for df in (None, 8.0):
        found = ranking_change(theta, v, df=df, **NAMES)
        law = stats.norm if df is None else stats.t(df)
        for swap in found.swaps:
            i, j = NAMES["models"].index(swap.first), NAMES["models"].index(swap.second)
            z = []
            for s in range(3):
                c = np.zeros(9)
                c[3 * i + s], c[3 * j + s] = 1, -1
                z.append((theta[i, s] - theta[j, s]) / math.sqrt(c @ v @ c))
            ahead, behind = 3 * min(law.sf(z)), 3 * min(law.sf(np.negative(z)))
            assert swap.p_value == pytest.approx(min(1.0, max(ahead, behind)))
        p = sorted(swap.p_value for swap in found.swaps)
        assert min(swap.p_adjusted for swap in found.swaps) == pytest.approx(min(1.0, 3 * p[0]))


def test_names_and_order_do_not_matter():
    rng = np.random.default_rng(5)
    theta, v = rng.normal(size=(3, 3)) * 3, np.diag(rng.uniform(0.1, 1, 9))
    one = ranking_change(theta, v, **NAMES)
    order = np.array([2, 0, 1])
    place = np.arange(9).reshape(3, 3)[order].ravel()
    other = ranking_change(theta[order], v[np.ix_(place, place)], models=["C", "A", "B"], scenarios=NAMES["scenarios"])
    assert other.p_any == pytest.approx(one.p_any)
    by_pair = {frozenset((s.first, s.second)): s.p_adjusted for s in other.swaps}
    for swap in one.swaps:
        assert by_pair[frozenset((swap.first, swap.second))] == pytest.approx(swap.p_adjusted)


def test_null_cells_leave_what_is_left():
    theta = np.array([[5.0, -5.0, np.nan], [0.0, 0.0, 0.0], [np.nan, np.nan, 1.0]])
    v = 0.1 * np.eye(9)
    v[2, 2] = np.nan
    found = ranking_change(theta, v, **NAMES)
    assert [swap.shown for swap in found.swaps] == [True, False, False]
    assert "2 are needed" in str(found.swaps[1].reason)
    assert found.warnings == ("2 of 3 pairs share fewer than two scenarios and are not tested",)
    nothing = ranking_change(np.full((3, 3), np.nan), v, **NAMES)
    assert nothing.p_any is None
    assert nothing.conclusion.startswith("Nothing can be said")


def test_a_ranking_needs_two_of_each():
    with pytest.raises(InputError, match="at least 2 of each"):
        ranking_change([[1.0, 2.0]], np.eye(2), models=["A"], scenarios=["s", "t"])
    with pytest.raises(InputError, match="expected"):
        ranking_change(np.eye(3), np.eye(8), **NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["equal", "ordered", "near"])
def test_false_swaps_are_rare(truth):
    rng, repeats, wrong, any_wrong = np.random.default_rng(6), 200, 0, 0
    a = rng.normal(size=(9, 20))
    v = a @ a.T / 20
    root = np.linalg.cholesky(v)
    levels = {"equal": [0, 0, 0], "ordered": [3, 0, -3], "near": [0.5, 0, 0]}[truth]
    theta = np.repeat(np.array(levels, dtype=float)[:, None], 3, axis=1)
    theta[0] += {"equal": 0.0, "ordered": np.array([0, 2.0, 4.0]), "near": np.array([0, 8.0, 8.0])}[truth]
    for seed in range(repeats):
        drawn = theta + (root @ rng.normal(size=9)).reshape(3, 3)
        found = ranking_change(drawn, v, seed=seed, **NAMES)
        wrong += any(swap.shown or swap.between for swap in found.swaps)
        any_wrong += found.p_any <= 0.05
    most = 0.05 + 4 * math.sqrt(0.05 * 0.95 / repeats)
    assert wrong / repeats < most
    assert any_wrong / repeats < most


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
    assert short.warnings == ("the covariance has rank 1 for 2 hypotheses; 1 are tested",)
    assert "is not 0" in str(joint_test(np.eye(2), [1.0, 2.0], np.ones((2, 2))).reason)
    lost = joint_test(np.eye(2), [1.0, 2.0], np.eye(2), null_basis=np.array([[0.0], [1.0]]))
    assert lost.df == 1
    assert lost.warnings == ("1 of 2 hypotheses cannot be estimated and are left out",)
    with pytest.raises(InputError, match="above 0"):
        joint_test(np.eye(2), [1.0, 2.0], np.eye(2), df=0)
