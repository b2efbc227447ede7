"""Kenward and Roger's tests against pbkrtest, and against the formulas on matrices formed in full."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.degrees_of_freedom import KenwardRoger, kenward_roger, kenward_roger_f
from tests.stats.mixed.dense import derivatives, fit_at, golden_cases, golden_design, relative_covariance

PBKRTEST = 1e-9  # relative: the same closed form at the same estimates, which were written with 12 digits
CASES = ("sleepstudy", "sleepstudy_holes", "sleepstudy_uncorrelated", "penicillin", "pastes", "crossed", "boundary")


@pytest.fixture(scope="module")
def cases():
    return golden_cases()


def fitted(cases, name):
    return fit_at(golden_design(name, cases[name], merge=True), cases[name]["theta"], cases[name]["sigma"])


@pytest.mark.parametrize("name", CASES)
def test_pbkrtest(cases, name):
    case, fit = cases[name], fitted(cases, name)
    found = kenward_roger(fit)
    np.testing.assert_allclose(found.covariance, case["vcov_kr"], rtol=PBKRTEST)
    np.testing.assert_allclose(found.unadjusted, case["vcov"], rtol=PBKRTEST)
    each = np.eye(len(fit.beta))
    assert found.df(each) == pytest.approx(case["kr_df"], rel=PBKRTEST)
    assert fit.beta / found.std_errors == pytest.approx(case["kr_t"], rel=PBKRTEST)
    joint, expected = kenward_roger_f(fit, each[np.atleast_1d(case["joint"])]), case["kr_raw"]
    assert joint.statistic == pytest.approx(expected["stat"], rel=PBKRTEST)
    assert joint.scaling == pytest.approx(expected["F.scaling"], rel=PBKRTEST)
    assert joint.df_denominator == pytest.approx(expected["ddf"], rel=PBKRTEST)
    assert joint.p_value == pytest.approx(expected["p.value"], rel=PBKRTEST)


def test_golden_sleepstudy(cases, golden):
    expected = json.loads((golden / "r_mixed_models.json").read_text())["sleepstudy"]
    found = kenward_roger(fitted(cases, "sleepstudy"))
    assert found.std_errors == pytest.approx([row["Std. Error"] for row in expected["KR"]], rel=1e-4)
    assert found.df(np.eye(2)) == pytest.approx([row["df"] for row in expected["KR"]], rel=1e-4)


def test_correction_on_matrices_formed_in_full(cases):
    fit = fit_at(golden_design("pastes", cases["pastes"]), [2.0, 1.1], 0.9)
    v = fit.sigma**2 * relative_covariance(fit.design, fit.theta)
    x, inverse, g = fit.design.fixed.at(), np.linalg.inv(v), derivatives(fit.design)
    phi = np.linalg.inv(x.T @ inverse @ x)
    p = [-x.T @ inverse @ r @ inverse @ x for r in g]
    q = [[x.T @ inverse @ r @ inverse @ s @ inverse @ x for s in g] for r in g]
    information = np.empty((3, 3))
    for r in range(3):
        for s in range(3):
            traces = np.trace(inverse @ g[r] @ inverse @ g[s]) - 2 * np.trace(phi @ q[r][s])
            information[r, s] = 0.5 * (traces + np.trace(phi @ p[r] @ phi @ p[s]))
    w = np.linalg.inv(information)
    total = sum(w[r, s] * (q[r][s] - p[r] @ phi @ p[s]) for r in range(3) for s in range(3))
    np.testing.assert_allclose(kenward_roger(fit).covariance, phi + 2 * phi @ total @ phi, rtol=1e-9)


def test_a_balanced_design_has_the_df_of_its_analysis_of_variance(cases):
    """18 subjects on the same ten days: the slopes of the subjects have 17 df, and the correction is 1."""
    found = kenward_roger(fitted(cases, "sleepstudy"))
    assert found.df(np.eye(2)) == pytest.approx([17.0, 17.0], rel=1e-9)
    assert found.covariance == pytest.approx(found.unadjusted, rel=1e-9)


def test_units_signs_and_repetition_say_nothing(cases):
    fit = fitted(cases, "crossed")
    contrasts = np.array([[0.0, 1.0, -1.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    found = kenward_roger(fit)
    assert found.df(-2.0 * contrasts) == pytest.approx(found.df(contrasts))
    one = kenward_roger_f(fit, contrasts[0], corrected=found)
    t = (contrasts[0] @ fit.beta) ** 2 / (contrasts[0] @ found.covariance @ contrasts[0])
    assert (one.statistic, one.df_denominator) == pytest.approx((t, found.df(contrasts)[0]))
    joint = kenward_roger_f(fit, contrasts)
    again = kenward_roger_f(fit, [contrasts[1], contrasts[0] + contrasts[1], contrasts[0]])
    assert (again.statistic, again.df_denominator) == pytest.approx((joint.statistic, joint.df_denominator))
    assert again.df_numerator == 2


def test_a_variance_of_zero_is_counted_as_estimated(cases):
    assert "1 variance is estimated as 0" in kenward_roger(fitted(cases, "boundary")).notes[0]
    assert kenward_roger(fitted(cases, "crossed")).notes == ()


def test_refusals(cases):
    fit = fitted(cases, "pastes")
    with pytest.raises(InputError, match="fitted by REML; this is a gaussian model fitted by ML"):
        kenward_roger(replace(fit, method="ML"))
    large = replace(fit.design, count=fit.design.count * 100)
    with pytest.raises(InputError, match="5,400 rows"):
        kenward_roger(fit_at(large, fit.theta, fit.sigma))
    with pytest.raises(InputError, match="one column for each of 3"):
        kenward_roger_f(fit, [1.0])


def law_by_the_paper(q, a1, a2):
    """Denominator df and scaling of F by Kenward and Roger (1997), section 2, from the two traces."""
    b = (a1 + 6 * a2) / (2 * q)
    g = ((q + 1) * a1 - (q + 4) * a2) / ((q + 2) * a2)
    below = 3 * q + 2 * (1 - g)
    c1, c2, c3 = g / below, (q - g) / below, (q + 2 - g) / below
    expected = 1 / (1 - a2 / q)
    variance = 2 / q * (1 + c1 * b) / ((1 - c2 * b) ** 2 * (1 - c3 * b))
    rho = variance / (2 * expected**2)
    df = 4 + (q + 2) / (q * rho - 1)
    return df, df / (expected * (df - 2))


def made(variances, single):
    p = single.shape[-1]
    return KenwardRoger(covariance=np.eye(p), unadjusted=np.eye(p), variances=variances, single=single)


@pytest.mark.parametrize("a", [0.02, 0.3, 0.49, 0.7, 0.99, 1.5, 3.0])
def test_a_single_contrast_has_two_over_a_degrees_of_freedom(a):
    """The formulas with q = 1 and equal traces a come down to 2 / a, and the scaling to 1."""
    assert made(np.array([[a / 9.0]]), np.array([[[3.0]]])).f_law(np.eye(1)) == pytest.approx((2.0 / a, 1.0))


def test_two_degrees_of_freedom_have_no_expectation_to_scale_by():
    assert made(np.eye(1), np.ones((1, 1, 1))).f_law(np.eye(1)) == (pytest.approx(2.0), 1.0)
    assert made(np.eye(1), np.zeros((1, 2, 2))).f_law(np.eye(2)) == (float("inf"), 1.0)


def test_four_degrees_of_freedom_have_no_variance():
    """Of F with 4 df: two models in 4 scenarios of 2 items each have these traces for their interaction."""
    assert made(np.array([[0.5]]), np.eye(3)[np.newaxis]).f_law(np.eye(3)) == pytest.approx((4.0, 1.0))


@pytest.mark.parametrize("q", [2, 3])
def test_the_law_of_several_contrasts_is_the_paper_s(q):
    rng, seen = np.random.default_rng(q), 0
    for _ in range(30):
        root, single = rng.normal(size=(2, 2)), rng.normal(size=(2, 4, 4))
        single = 0.5 * (single + np.swapaxes(single, 1, 2))
        found, rows = made(0.02 * root @ root.T, single), rng.normal(size=(q, 4))
        theta = rows.T @ np.linalg.inv(rows @ rows.T) @ rows
        pairs = [(r, s) for r in range(2) for s in range(2)]
        a1 = sum(found.variances[r, s] * np.trace(theta @ single[r]) * np.trace(theta @ single[s]) for r, s in pairs)
        a2 = sum(found.variances[r, s] * np.trace(theta @ single[r] @ theta @ single[s]) for r, s in pairs)
        expected = law_by_the_paper(q, a1, a2)
        if expected[0] > 0:
            assert found.f_law(rows) == pytest.approx(expected)
            seen += 1
        else:
            with pytest.raises(CannotAnswerError, match="too few units"):
                found.f_law(rows)
    assert seen > 20


def test_a_law_without_degrees_of_freedom_is_refused():
    """Of two contrasts with traces far beyond what few units can give."""
    rng, seen = np.random.default_rng(1), 0
    for _ in range(40):
        single = rng.normal(size=(1, 2, 2))
        found = made(np.array([[rng.uniform(0.5, 3.0)]]), single + np.swapaxes(single, 1, 2))
        moved = found.single[0]
        a1, a2 = (float(found.variances[0, 0] * each) for each in (np.trace(moved) ** 2, np.trace(moved @ moved)))
        df, scaling = law_by_the_paper(2, a1, a2)
        if df > 0.0:
            assert found.f_law(np.eye(2)) == pytest.approx((df, scaling))
            continue
        seen += 1
        with pytest.raises(CannotAnswerError, match="degrees of freedom for these contrasts"):
            found.f_law(np.eye(2))
    assert 0 < seen < 40
