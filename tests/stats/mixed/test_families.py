"""Laws of the largest difference against R, exact integrals and plain draws; families of estimates."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from evalstats.errors import InputError
from evalstats.stats.many.max_t import MaxLaw, range_critical, range_p
from evalstats.stats.mixed.contrasts import _for_each_df, adjusted, linear_estimates, pairwise

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "golden" / "mixed_means.json").read_text())
PAIRS = {k: pairwise([str(i) for i in range(k)]).weights for k in (3, 4, 8)}
WITHIN = 6.0  # standard errors reported, which come from 8 shifts only (t with 7 df: 1 in 2,000)


def test_range_equals_ptukey():
    for row in GOLDEN["ptukey"]:
        df = math.inf if row["df"] < 0 else row["df"]
        # ptukey errs by 1e-4 at 2 degrees of freedom: for two means the exact p is that of Student's t, .0238129 at q = 9.
        assert range_p(row["q"], row["n"], df) == pytest.approx(row["p"], abs=2e-4 if df < 5 else 1e-6), row


@pytest.mark.parametrize(("q", "n", "df"), [(1.0, 3, 2.0), (4.0, 7, 3.5), (9.0, 20, 30.0), (3.0, 5, 12.0)])
def test_range_equals_scipy(q, n, df):
    assert range_p(q, n, df) == pytest.approx(stats.studentized_range.sf(q, n, df), abs=1e-9)


@pytest.mark.parametrize("df", [1.0, 5.5, 200.0, math.inf])
def test_range_of_two_is_students_t(df):
    for t in (0.0, 0.7, 3.0, 30.0):
        expected = 2.0 * (stats.norm.sf(t) if math.isinf(df) else stats.t.sf(t, df))
        assert range_p(math.sqrt(2.0) * t, 2, df) == pytest.approx(expected, rel=1e-5)


def test_range_keeps_its_digits_far_out():
    # Far out two means are at least as far apart as q with almost the sum of all pairs' chances.
    for n in (3, 10):
        p, pairs = range_p(15.0, n), n * (n - 1) / 2 * 2 * stats.norm.sf(15.0 / math.sqrt(2.0))
        assert 0.99 < p / pairs <= 1.0 + 1e-9
    assert range_p(1e6, 3) == 1e-300


@pytest.mark.parametrize(("level", "n", "df"), [(0.5, 3, 10.0), (0.999, 8, math.inf), (0.95, 20, 4.5)])
def test_range_critical_is_its_inverse(level, n, df):
    assert range_p(range_critical(level, n, df), n, df) == pytest.approx(1.0 - level, rel=1e-8)


def test_max_law_equals_pmvt():
    law = MaxLaw(np.array(GOLDEN["mvt"]["correlation"]))
    for df, expected in zip(GOLDEN["mvt"]["df"], GOLDEN["mvt"]["p"], strict=True):
        for c, p in zip(GOLDEN["mvt"]["c"], expected, strict=True):
            found, error = law.p(c, df)
            assert abs(found - p) < WITHIN * error + 2e-6, (df, c)  # pmvt reports errors up to 1e-6
            assert error < 5e-3 * p


def test_max_law_of_a_control_equals_pmvnorm():
    cbpp = GOLDEN["cbpp"]
    contrasts = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    found = adjusted(linear_estimates(contrasts, cbpp["beta"], cbpp["vcov"]), "max-t")
    np.testing.assert_allclose(found.p_adjusted, cbpp["mvt_control"], rtol=1e-3)


@pytest.mark.parametrize(("k", "df"), [(3, 5.5), (8, math.inf)])
def test_max_law_of_all_pairs_is_tukeys(k, df):
    law = MaxLaw(PAIRS[k] @ PAIRS[k].T / 2.0)
    assert law.rank == k - 1
    for t in (0.5, 1.5, 2.5, 4.0, 7.0):
        p, error = law.p(t, df)
        exact = range_p(math.sqrt(2.0) * t, k, df)
        assert abs(p - exact) < WITHIN * error + 1e-12, t
        assert error < 5e-3 * exact
    c, error = law.critical(0.95, df)
    assert abs(c - range_critical(0.95, k, df) / math.sqrt(2.0)) < WITHIN * error
    assert error < 0.005


def test_max_law_of_one_factor_is_an_integral():
    # r_ij = a_i a_j: independent given one normal variable (Dunnett).
    a = np.array([0.9, 0.5, -0.7, 0.3])
    correlation = np.outer(a, a) + np.diag(1.0 - a * a)
    own = np.sqrt(1.0 - a * a)
    for c in (1.0, 2.4, 4.0):

        def inside(u, c=c):
            each = stats.norm.cdf((c - a * u) / own) - stats.norm.cdf((-c - a * u) / own)
            return stats.norm.pdf(u) * np.prod(each)

        exact = 1.0 - integrate.quad(inside, -12, 12, epsabs=1e-13, limit=200)[0]
        p, error = MaxLaw(correlation).p(c)
        assert abs(p - exact) < WITHIN * error + 1e-12


def test_max_law_is_bounded_and_deterministic():
    r = np.array(GOLDEN["mvt"]["correlation"])
    law, again, other = MaxLaw(r), MaxLaw(r), MaxLaw(r, seed=1)
    for c in (0.0, 1.3, 5.0, 9.0, 45.0):
        p, error = law.p(c, 12.0)
        single = min(1.0, 2.0 * stats.t.sf(c, 12.0))
        assert single <= p <= min(1.0, 6 * single) * (1 + 1e-9)
        assert again.p(c, 12.0) == (p, error)
        assert abs(other.p(c, 12.0)[0] - p) < 12.0 * error + 1e-15
    assert law.p(60.0) == (1e-300, 0.0)
    same = MaxLaw(np.ones((3, 3)))
    assert same.p(2.0)[0] == pytest.approx(2 * stats.norm.sf(2.0))
    assert same.critical(0.95)[0] == pytest.approx(1.959964, abs=1e-6)
    signs = np.diag([1, -1, 1, 1, -1, 1.0])
    assert MaxLaw(signs @ r @ signs).p(2.0)[0] == pytest.approx(law.p(2.0)[0], rel=2e-3)


def test_max_law_refuses_what_is_no_correlation():
    with pytest.raises(InputError, match="negative eigenvalue"):
        MaxLaw(np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]]))


def some_estimates(df=12.0, seed=0, rows=PAIRS[4]):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(4, 9))
    return linear_estimates(rows, rng.normal(size=4) * 1.5, a @ a.T / 9.0, df=df)


@pytest.mark.parametrize("df", [math.inf, [8, 8, 11, 11, 11, 8]])
def test_p_and_interval_say_the_same(df):
    plain = some_estimates(df)
    for method in ("none", "tukey", "max-t"):
        found = adjusted(plain, method)
        outside = (found.conf_low > 0) | (found.conf_high < 0)
        assert (outside == (found.p_adjusted < 0.05)).all()
        assert (found.p_adjusted >= plain.p_value * (1 - 1e-9)).all()


def test_seventeen_degrees_of_freedom_are_interpolated_and_sixteen_are_not():
    """At the nodes of Chebyshev in 1/df; quantiles of t are as smooth as those of Tukey's law and quick to have."""
    asked = []

    def critical(df):
        asked.append(df)
        return float(stats.norm.isf(0.025) if math.isinf(df) else stats.t.isf(0.025, df))

    for n, more, times in ((16, [math.inf], 17), (17, [], 9), (17, [math.inf], 10), (40, [], 9)):
        asked.clear()
        df = np.append(np.random.default_rng(n).permutation(np.geomspace(4.0, 90.0, n)), more)
        df = np.append(df, df[:3])
        exact = stats.t.isf(0.025, np.where(np.isinf(df), 1e12, df))
        # A polynomial of degree 8 in 1/df, which runs from 1/90 to 1/4.
        np.testing.assert_allclose(_for_each_df(df, critical), exact, rtol=1e-8)
        assert len(asked) == times
        assert min(asked) >= 4.0 * (1 - 1e-12)
        assert max(each for each in asked if np.isfinite(each)) <= 90.0 * (1 + 1e-12)


def test_families_do_not_touch_each_other():
    plain = some_estimates()
    labels = ["x", "y", "x", "y", "x", "y"]
    for method in ("holm", "max-t"):
        together = adjusted(plain, method, family=labels)
        for label in "xy":
            at = [i for i, each in enumerate(labels) if each == label]
            alone = adjusted(some_estimates(rows=PAIRS[4][at]), method)
            np.testing.assert_allclose(together.p_adjusted[at], alone.p_adjusted, rtol=1e-12)
            np.testing.assert_allclose(together.conf_high[at], alone.conf_high, rtol=1e-12)
    one = adjusted(plain, "holm", family=list("abcdef"))
    np.testing.assert_allclose(one.p_adjusted, plain.p_value)


def test_null_estimates_are_not_counted():
    plain = linear_estimates([[1, 0], [0, 1], [0, 0]], [0.5, 0.4], 0.04 * np.eye(2))
    found = adjusted(plain, "holm")
    two = adjusted(linear_estimates(np.eye(2), [0.5, 0.4], 0.04 * np.eye(2)), "holm")
    np.testing.assert_allclose(found.p_adjusted[:2], two.p_adjusted)
    assert "1 of 3 estimates are null and not adjusted for" in found.warnings
    assert np.isnan(found.p_adjusted[2])


def test_holm_says_where_its_interval_is_wider():
    found = adjusted(linear_estimates(np.eye(2), [5.0, 2.1], np.eye(2), names=["a", "b"]), "holm")
    assert found.p_adjusted[1] < 0.05
    assert found.warnings == ("Holm's p is at most 0.05 but the Bonferroni interval contains 0: b",)
    third = adjusted(linear_estimates(np.eye(3), [5.0, 2.3, 0.3], np.eye(3), names=["a", "b", "c"]), "holm")
    assert third.warnings == found.warnings  # c is not shown to differ from 0 by either


def test_tukey_is_for_all_pairs():
    with pytest.raises(InputError, match="all pairwise"):
        adjusted(linear_estimates(np.eye(2), [1.0, 2.0], np.eye(2)), "tukey")
    with pytest.raises(InputError, match="use one of none, holm, tukey, max-t"):
        adjusted(some_estimates(), "sidak")  # pyright: ignore[reportArgumentType]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["holm", "max-t"])
def test_intervals_hold_together(method):
    rng = np.random.default_rng(1)
    a = rng.normal(size=(4, 7))
    v = a @ a.T / 7.0
    root, df, held, n = np.linalg.cholesky(v), 9.0, 0, 150
    for _ in range(n):
        scale = rng.chisquare(df) / df
        found = adjusted(linear_estimates(PAIRS[4], root @ rng.normal(size=4), v * scale, df=df), method)
        held += bool(((found.conf_low <= 0) & (found.conf_high >= 0)).all())
    # 4 standard errors of a share of .95 in 150; Bonferroni may hold more often.
    assert held / n > 0.95 - 4 * math.sqrt(0.95 * 0.05 / n)
    if method == "max-t":
        assert held / n < 0.95 + 4 * math.sqrt(0.95 * 0.05 / n)
