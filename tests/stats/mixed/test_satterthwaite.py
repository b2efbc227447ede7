"""Satterthwaite's df and F against lmerTest, and against differences of the deviance."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg, sparse, stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.estimate import SMALLEST_P
from evalstats.stats.mixed.degrees_of_freedom import (
    IndependentCells,
    _inverse,
    _pooled_df,
    _solved,
    f_p,
    most_effects,
    satterthwaite,
    satterthwaite_f,
    variance_parameters,
)
from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows
from tests.stats.mixed.dense import deviance, fit_at, golden_cases, golden_design, numeric_gradient

LMERTEST = 1e-6  # relative: lmerTest differentiates numerically, and the estimates were written with 12 digits
CASES = ("sleepstudy", "sleepstudy_holes", "sleepstudy_uncorrelated", "penicillin", "pastes", "crossed", "boundary")


@pytest.fixture(scope="module")
def cases():
    return golden_cases()


def fitted(cases, name, **more):
    return fit_at(golden_design(name, cases[name], merge=True), cases[name]["theta"], cases[name]["sigma"], **more)


@pytest.mark.parametrize("name", CASES)
def test_lmertest(cases, name):
    case, fit = cases[name], fitted(cases, name)
    each = np.eye(len(fit.beta))
    assert satterthwaite(fit, each) == pytest.approx(case["satterthwaite_df"], rel=LMERTEST)
    found, expected = satterthwaite_f(fit, each[np.atleast_1d(case["joint"])]), case["satterthwaite_F"]
    assert found.statistic == pytest.approx(expected["F value"], rel=LMERTEST)
    assert (found.df_numerator, found.df_denominator) == pytest.approx(
        (expected["NumDF"], expected["DenDF"]), rel=LMERTEST
    )
    assert found.p_value == pytest.approx(expected["Pr(>F)"], rel=LMERTEST)


def test_golden_sleepstudy(cases, golden):
    import json

    expected = json.loads((golden / "r_mixed_models.json").read_text())["sleepstudy"]["fixef"]
    found = satterthwaite(fitted(cases, "sleepstudy"), np.eye(2))
    assert found == pytest.approx([row["df"] for row in expected], rel=1e-4)


@pytest.mark.parametrize(("method", "name"), [("REML", "sleepstudy_holes"), ("ML", "pastes")])
def test_against_differences_of_the_deviance(cases, name, method):
    """Off the optimum too, where the change of parameters adds the slope of the deviance to its curvature."""
    case = cases[name]
    design = golden_design(name, case)
    at = np.append(np.asarray(case["theta"]), np.log(case["sigma"])) + 0.01
    fit = fit_at(design, at[:-1], np.exp(at[-1]), method=method)

    def value(psi):
        return deviance(design, psi[:-1], np.exp(psi[-1]), restricted=method == "REML")

    hessian = numeric_gradient(lambda psi: numeric_gradient(value, psi, 2e-3), at, 2e-3)
    gradient = numeric_gradient(lambda psi: fit_at(design, psi[:-1], np.exp(psi[-1])).covariance, at)
    found = variance_parameters(fit)
    # Second differences of a deviance near 1600, known to 1e-12, with steps of 2e-3: an error near 1e-6 of the curvature.
    assert found.covariance == pytest.approx(2.0 * np.linalg.inv(hessian), rel=1e-4, abs=1e-7)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-6, atol=1e-8 * np.abs(gradient).max())


@pytest.mark.parametrize("name", CASES)
def test_differences_of_the_criterion_give_the_same(cases, name, monkeypatch):
    """What large designs take: analytic gradients, differenced once (relative error about 1e-8 of the step's square)."""
    fit = fitted(cases, name)
    expected = variance_parameters(fit)
    monkeypatch.setattr("evalstats.stats.mixed.degrees_of_freedom.MOST_EFFECTS", 0)
    found = variance_parameters(fit)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-4, atol=1e-7)
    largest = np.abs(expected.gradient).max()
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-6, atol=1e-6 * largest)
    assert satterthwaite(fit, np.eye(len(fit.beta))) == pytest.approx(cases[name]["satterthwaite_df"], rel=1e-5)


def test_effects_of_the_largest_block(cases):
    assert most_effects(golden_design("sleepstudy", cases["sleepstudy"])) == 2
    assert most_effects(golden_design("penicillin", cases["penicillin"])) == 24 + 6
    assert most_effects(golden_design("pastes", cases["pastes"])) == 1 + 3


def test_a_variance_of_zero_is_held_and_named(cases):
    found = variance_parameters(fitted(cases, "boundary"))
    assert found.notes == ("the variance of model:item is held at its estimate of 0",)
    assert not found.covariance[0].any()
    assert found.covariance[1, 1] > 0.0


def test_dropping_a_term_of_variance_zero_changes_nothing(cases):
    fit = fitted(cases, "boundary")
    design = replace(fit.design, terms=fit.design.terms[1:])
    without = fit_at(design, fit.theta[1:], fit.sigma)
    assert satterthwaite(fit, np.eye(3)) == pytest.approx(satterthwaite(without, np.eye(3)), rel=1e-6)


def test_a_singular_covariance_matrix(cases):
    """Slopes in proportion to intercepts (correlation 1): the same df as the model with that one effect."""
    case = cases["sleepstudy_holes"]
    design = golden_design("sleepstudy_holes", case)
    fit = fit_at(design, [1.0, 0.25, 0.0], 25.0)
    (old,) = design.terms
    one = RandomTerm(
        group="subject",
        columns=("both",),
        levels=old.levels,
        level=old.level,
        values=old.values @ np.array([[1.0], [0.25]]),
    )
    known_slope = fit_at(replace(design, terms=(one,)), [1.0], 25.0)
    assert fit.covariance == pytest.approx(known_slope.covariance)
    found = variance_parameters(fit)
    assert found.notes == ("the variance of days by subject is held at its estimate of 0",)
    assert not found.covariance[2].any()
    assert np.all(satterthwaite(fit, np.eye(2)) <= satterthwaite(known_slope, np.eye(2)))


def shuffled(design, rng):
    order = rng.permutation(design.n_cells)
    names = [rng.permutation(term.n_levels) for term in design.terms]
    terms = tuple(
        replace(term, level=new[term.level][order], values=term.values[order])
        for term, new in zip(design.terms, names, strict=True)
    )
    return MixedDesign(
        fixed=distinct_rows(design.fixed.at()[order]),
        fixed_names=design.fixed_names,
        terms=terms,
        count=design.count[order],
        response=design.response[order],
        within=design.within,
    )


def test_order_of_rows_names_units_and_scale_say_nothing(cases):
    case, fit = cases["crossed"], fitted(cases, "crossed")
    contrasts = np.array([[0.0, 1.0, -1.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    expected = satterthwaite(fit, contrasts)
    moved = fit_at(shuffled(fit.design, np.random.default_rng(1)), case["theta"], case["sigma"])
    assert satterthwaite(moved, contrasts) == pytest.approx(expected, rel=1e-8)
    assert satterthwaite(fit, -3.0 * contrasts) == pytest.approx(expected, rel=1e-8)
    scaled = replace(fit.design, response=1e4 * fit.design.response, within=1e8 * fit.design.within)
    assert satterthwaite(fit_at(scaled, case["theta"], 1e4 * case["sigma"]), contrasts) == pytest.approx(
        expected, rel=1e-8
    )
    joint = satterthwaite_f(fit, contrasts)
    again = satterthwaite_f(fit, [contrasts[0] + contrasts[1], contrasts[1], 2.0 * contrasts[0]])
    assert (again.statistic, again.df_numerator) == (pytest.approx(joint.statistic), 2)
    one = satterthwaite_f(fit, contrasts[0])
    assert (one.df_numerator, one.df_denominator) == (1, pytest.approx(expected[0]))


@pytest.mark.parametrize("columns", [(1, 1), (1, 2, 1), (2, 3)])
def test_effects_of_a_block_are_solved_as_with_the_whole_matrix(columns):
    """Terms of one column, whose largest is eliminated, beside slopes; slopes alone."""
    rng = np.random.default_rng(len(columns))
    n_levels = (4, 9, 6)[: len(columns)]
    n = 60
    z = []
    for k, c in zip(n_levels, columns, strict=True):
        level, values = rng.integers(0, k, n), rng.normal(size=(n, c))
        part = np.zeros((n, k, c))
        part[np.arange(n), level] = values
        z.append(part.reshape(n, -1))
    whole = np.hstack(z)
    roots = [rng.normal(size=(c, c)) for c in columns]
    relative = [root @ root.T for root in roots]
    spread = linalg.block_diag(*[np.kron(np.eye(k), t) for k, t in zip(n_levels, relative, strict=True)])
    zz = whole.T @ whole
    block = IndependentCells(
        cells=np.arange(n), n_levels=n_levels, zz=zz, zx=whole.T @ np.ones((n, 1)), z=sparse.csr_array(whole)
    )
    right = rng.normal(size=(len(zz), 5))
    expected = np.linalg.solve(np.eye(len(zz)) + zz @ spread, right)
    np.testing.assert_allclose(_solved(block, relative, right), expected, rtol=1e-8, atol=1e-10)


def test_what_cannot_be_had_is_refused(cases):
    fit = fitted(cases, "pastes")
    with pytest.raises(InputError, match="one column for each of 3"):
        satterthwaite(fit, np.eye(2))
    with pytest.raises(InputError, match="1 of 2 contrasts have only weights of 0"):
        satterthwaite(fit, [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(InputError, match="NaN"):
        satterthwaite(fit, [1.0, np.nan, 0.0])
    with pytest.raises(InputError, match="linear models only"):
        satterthwaite(replace(fit, family="binomial"), np.eye(3))
    far = fit_at(fit.design, [30.0, 20.0], 2.0)
    with pytest.raises(CannotAnswerError, match="negative curvature"):
        satterthwaite(far, np.eye(3))


def test_differences_give_the_same_off_the_optimum_too(cases, monkeypatch):
    """There the second derivative by log sigma has the slope by sigma besides."""
    case = cases["pastes"]
    fit = fit_at(golden_design("pastes", case), np.asarray(case["theta"]) * 1.05, case["sigma"] * 1.05)
    expected = variance_parameters(fit)
    monkeypatch.setattr("evalstats.stats.mixed.degrees_of_freedom.MOST_EFFECTS", 0)
    found = variance_parameters(fit)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("df", "pooled"),
    [([np.inf, np.inf], np.inf), ([7.0, 7.0], 7.0), ([2.0, 9.0], 2.0), ([1.5, 9.0, 30.0], 2.0), ([5.0, np.inf], None)],
)
def test_df_of_f_are_those_that_give_it_the_mean_of_the_squares(df, pooled):
    """The mean of t^2 is df / (df - 2), that of F the same of its own df."""
    found = _pooled_df(np.array(df))
    if pooled is None:
        assert found / (found - 2.0) == pytest.approx(np.mean([5.0 / 3.0, 1.0]))
    else:
        assert found == pooled
    mixed = _pooled_df(np.array([6.0, 8.0, 40.0]))
    assert mixed / (mixed - 2.0) == pytest.approx(np.mean([6 / 4, 8 / 6, 40 / 38]))


@pytest.mark.parametrize(("statistic", "q", "df"), [(2.5, 3, 11.0), (0.4, 1, 2.5), (3.1, 2, np.inf)])
def test_p_of_f_is_scipys(statistic, q, df):
    law = stats.chi2(q) if np.isinf(df) else stats.f(q, df)
    assert f_p(statistic, q, df) == pytest.approx(law.sf(statistic * q if np.isinf(df) else statistic))
    assert f_p(1e9, q, 1e6) == SMALLEST_P


def test_directions_without_curvature_say_nothing_and_those_held_are_known():
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    scale = np.array([1.0, 1e4, 1e-3])
    curved = np.array([2.0, 0.5, 0.0])
    hessian = np.outer(scale, scale) * (turned @ np.diag(curved) @ turned.T)
    own = np.sqrt(np.diag(hessian))
    values = np.linalg.eigvalsh(hessian / np.outer(own, own))
    expected = 2.0 * np.linalg.pinv(hessian / np.outer(own, own), rcond=1e-6) / np.outer(own, own)
    assert values[0] == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(_inverse(hessian, np.zeros(0, dtype=np.int64)), expected, rtol=1e-6)
    held = _inverse(hessian, np.array([1]))
    assert not held[1].any()
    assert not held[:, 1].any()
    np.testing.assert_allclose(held[::2, ::2], 2.0 * np.linalg.inv(hessian[::2, ::2]), rtol=1e-9)
    with pytest.raises(CannotAnswerError, match="negative curvature"):
        _inverse(np.diag([1.0, -1.0]), np.zeros(0, dtype=np.int64))
