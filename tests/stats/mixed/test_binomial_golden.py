"""Binomial fits against lme4: cbpp and the cases of make_mixed_binomial.R."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from evalstats.stats.mixed.binomial import fit_binomial
from tests.stats.mixed.binomial_by_definition import design_of, dummies, interaction, term

GOLDEN = 2e-3  # the reference folder's tolerance: lme4's default PIRLS leaves its numbers that far from the optimum
GOLDEN_SE = 2e-2  # the same for its standard errors, which are second differences of that deviance
NEAR = 1e-3  # in logits and standard errors: lme4's search ends that near to the optimum of a deviance rounded to 5e-6
NEAR_SE = 5e-4  # relative: second differences over 0.01 of that deviance
DEVIANCE = 1e-6  # by which our deviance may lie above lme4's
CASES = json.loads((Path(__file__).resolve().parents[2] / "golden" / "mixed_binomial.json").read_text())["cases"]


@pytest.fixture(scope="module")
def cbpp(golden):
    with (golden / "cbpp.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    column = {name: np.array([int(row[name]) for row in rows]) for name in rows[0]}
    return column, json.loads((golden / "r_mixed_models.json").read_text())["cbpp"]


def cbpp_design(column, *groups):
    fixed = dummies(column["period"])
    return design_of(fixed, [term(*group) for group in groups], column["incidence"], column["size"])


def numbers(rows, key):
    return np.array([row[key] for row in rows])


def test_cbpp_laplace(cbpp):
    column, expected = cbpp
    fit = fit_binomial(cbpp_design(column, ("herd", column["herd"])))
    assert fit.deviance <= expected["laplace"]["deviance"]
    assert fit.deviance == pytest.approx(expected["laplace"]["deviance"], abs=GOLDEN)
    np.testing.assert_allclose(fit.beta, numbers(expected["laplace"]["fixef"], "Estimate"), rtol=GOLDEN)
    np.testing.assert_allclose(fit.std_errors, numbers(expected["laplace"]["fixef"], "Std. Error"), rtol=GOLDEN_SE)
    np.testing.assert_allclose(fit.theta, numbers(expected["laplace"]["varcomp"], "sdcor"), rtol=GOLDEN)
    # 2 * 5 parameters on top, as AIC counts them.
    assert fit.deviance + 2 * fit.n_parameters == pytest.approx(expected["laplace"]["AIC"], abs=GOLDEN)


def test_cbpp_quadrature(cbpp):
    column, expected = cbpp
    fit = fit_binomial(cbpp_design(column, ("herd", column["herd"])), n_quadrature=9)
    np.testing.assert_allclose(fit.beta, numbers(expected["agq9"]["fixef"], "Estimate"), rtol=GOLDEN)
    np.testing.assert_allclose(fit.std_errors, numbers(expected["agq9"]["fixef"], "Std. Error"), rtol=GOLDEN)
    np.testing.assert_allclose(fit.theta, numbers(expected["agq9"]["varcomp"], "sdcor"), rtol=GOLDEN)


def test_cbpp_effect_of_every_observation(cbpp):
    column, expected = cbpp
    design = cbpp_design(column, ("herd", column["herd"]), ("obs", np.arange(len(column["herd"]))))
    fit = fit_binomial(design)
    assert {row["grp"]: row["sdcor"] for row in expected["obs_level"]["varcomp"]} == pytest.approx(
        {"herd": fit.theta[0], "obs": fit.theta[1]}, rel=GOLDEN
    )
    np.testing.assert_allclose(fit.beta, numbers(expected["obs_level"]["fixef"], "Estimate"), rtol=GOLDEN)
    np.testing.assert_allclose(fit.std_errors, numbers(expected["obs_level"]["fixef"], "Std. Error"), rtol=GOLDEN)


def case_design(name):
    """The design of a case, with its terms in lme4's order of theta."""
    data = {key: np.array(values) for key, values in CASES[name]["data"].items()}
    number = {key: np.array([int(v) for v in values]) for key, values in data.items() if key != "x"}
    y, n = number["y"], number["n"]
    if name == "crossed_trials":
        pair = number["item"] * 10 + number["model"]
        return design_of(
            interaction(number["model"], number["scenario"]),
            [term("item:model", pair), term("item", number["item"])],
            y,
            n,
        )
    if name == "random_models":
        pair = number["model"] * 10 + number["scenario"]
        terms = [term("item", number["item"]), term("model:scenario", pair), term("model", number["model"])]
        return design_of(dummies(number["scenario"]), terms, y, n)
    if name.startswith("slopes"):
        x = data["x"].astype(float)
        one = np.ones(x.size)
        whole = [term("user", number["user"], one, x)]
        apart = [term("user", number["user"]), term("user", number["user"], x)]
        return design_of(np.column_stack([one, x]), whole if name == "slopes" else apart, y, n)
    if name == "singular":
        terms = [term("item", number["item"]), term("batch", number["batch"])]
        return design_of(np.ones((len(y), 1)), terms, y, n)
    school_class = number["school"] * 10 + number["class"]
    schools = [term("school", number["school"])]
    terms = schools if name == "one_effect" else [term("school:class", school_class), *schools]
    return design_of(dummies(number["kind"]), terms, y, n)


@pytest.mark.parametrize("name", CASES)
def test_against_lme4(name):
    expected = CASES[name]["laplace"]
    theta, beta, se = (np.atleast_1d(expected[key]) for key in ("theta", "beta", "se"))
    fit = fit_binomial(case_design(name))
    assert fit.convergence.converged
    assert fit.convergence.gradient < 1e-5
    assert fit.deviance < expected["deviance"] + DEVIANCE
    assert fit.deviance == pytest.approx(expected["deviance"], abs=1e-4)
    np.testing.assert_allclose(fit.theta, theta, atol=NEAR)
    np.testing.assert_allclose((fit.beta - beta) / se, 0.0, atol=NEAR)
    np.testing.assert_allclose(fit.std_errors, se, rtol=NEAR_SE)


@pytest.mark.parametrize("name", CASES)
def test_the_fast_start_against_lme4(name):
    expected = CASES[name]["fast"]
    theta, beta, se = (np.atleast_1d(expected[key]) for key in ("theta", "beta", "se"))
    fit = fit_binomial(case_design(name), n_quadrature=0)
    assert fit.deviance < expected["deviance"] + DEVIANCE
    np.testing.assert_allclose(fit.theta, theta, atol=NEAR)
    np.testing.assert_allclose((fit.beta - beta) / se, 0.0, atol=NEAR)
    np.testing.assert_allclose(fit.std_errors, se, rtol=NEAR_SE)
    assert fit.joint_covariance is None


@pytest.mark.parametrize("name", [name for name in CASES if "modes" in CASES[name]])
def test_modes_and_their_variances_against_lme4(name):
    design = case_design(name)
    fit = fit_binomial(design)
    names = {t.group: k for k, t in enumerate(design.terms)}
    for group, found in CASES[name]["modes"].items():
        t = names.get(group, names.get(":".join(reversed(group.split(":")))))
        modes = np.atleast_2d(np.array(found["mode"], dtype=float).reshape(len(found["level"]), -1))
        variances = np.array(found["variance"], dtype=float).reshape(len(found["level"]), modes.shape[1], -1)
        order = [in_design(design.terms[t], label) for label in found["level"]]
        np.testing.assert_allclose(fit.effects[t][order], modes, atol=NEAR)
        np.testing.assert_allclose(fit.effect_covariances[t][order], variances, atol=NEAR)


def in_design(one, label):
    """Levels of interactions are numbered 10 a + b there, "a:b" in R."""
    if ":" in label:
        parts = [int(part) for part in label.split(":")]
        code = parts[0] * 10 + parts[1]
        return one.levels.index(str(code))
    return one.levels.index(label)


def test_quadrature_against_lme4():
    expected = CASES["one_effect"]["quadrature"]
    fit = fit_binomial(case_design("one_effect"), n_quadrature=expected["points"])
    np.testing.assert_allclose(fit.theta, expected["theta"], atol=1e-4)
    np.testing.assert_allclose((fit.beta - expected["beta"]) / expected["se"], 0.0, atol=NEAR)
    np.testing.assert_allclose(fit.std_errors, expected["se"], rtol=NEAR_SE)


def test_a_variance_of_zero_is_found_and_said():
    fit = fit_binomial(case_design("singular"))
    assert CASES["singular"]["laplace"]["theta"][1] == pytest.approx(0.0, abs=1e-4)
    assert fit.theta[1] == 0.0
    assert fit.singular == ("the variance of batch is estimated as 0",)
    np.testing.assert_array_equal(fit.joint_covariance[1], 0.0)
    np.testing.assert_array_equal(fit.effects[1], 0.0)
    assert fit.convergence.curvature > 0.0
