"""Linear mixed models against lme4: classic data, unbalanced crossed factors, slopes, and estimates on the boundary."""

import csv
import json
from functools import cache

import numpy as np
import pytest

from evalstats.stats.mixed.linear import fit_linear
from tests.stats.mixed.dense import GOLDEN, dummies, rows_design, term

# lme4 stops when its criterion changes little: its likelihood is lower by up to 1e-7, its estimates are off by about the
# root of that, relative to their standard errors.
DEVIANCE = 1e-7
ESTIMATE = 1e-5
CASES = ("crossed", "slopes", "zero", "tied", "scenarios", "pastes")


@cache
def cases():
    return json.loads((GOLDEN / "mixed_linear.json").read_text())


def design(name, *, merge=False):
    case = cases()[name]
    data = {key: np.asarray(values) for key, values in case["data"].items()}
    ones = ("(Intercept)", np.ones(len(data["y"])))
    slope = [("x", data["x"].astype(float))] if "x" in data else []
    fixed = [ones, *slope]
    if name == "crossed":
        fixed = [ones, ("service", data["service"].astype(float))]
    elif name == "scenarios":
        fixed = [ones, *dummies(data["model"])]
    groups = np.atleast_1d(case["REML"]["groups"])
    return rows_design(fixed, [term(g, data[g], ones, *slope) for g in groups], data["y"], merge=merge)


@pytest.mark.parametrize("merge", [False, True], ids=["rows", "cells"])
@pytest.mark.parametrize("method", ["REML", "ML"])
@pytest.mark.parametrize("name", CASES)
def test_lme4(name, method, merge):
    expected = cases()[name][method]
    fit = fit_linear(design(name, merge=merge), reml=method == "REML")
    assert fit.convergence.converged
    assert fit.deviance <= expected["deviance"] + 1e-9
    assert fit.deviance == pytest.approx(expected["deviance"], abs=DEVIANCE * 10)
    assert fit.sigma == pytest.approx(expected["sigma"], rel=ESTIMATE)
    assert fit.beta == pytest.approx(np.atleast_1d(expected["beta"]), rel=ESTIMATE, abs=ESTIMATE)
    assert fit.covariance == pytest.approx(
        np.array(expected["vcov"], dtype=float).reshape(fit.covariance.shape), rel=1e-4
    )
    factors = fit.design.factors(np.atleast_1d(expected["theta"]))
    for found, factor in zip(fit.covariances(), factors, strict=True):
        assert found == pytest.approx(expected["sigma"] ** 2 * factor @ factor.T, rel=1e-4, abs=3e-5)


@pytest.mark.parametrize("name", CASES)
def test_random_effects_and_their_conditional_variances(name):
    expected = cases()[name]["REML"]
    fit = fit_linear(design(name, merge=True))
    for t, modes, variances in zip(fit.design.terms, fit.effects, fit.effect_covariances, strict=True):
        theirs = expected["modes"][t.group]
        order = [t.levels.index(level) for level in theirs["levels"]]
        values = np.array(theirs["values"], dtype=float).reshape(modes.shape)
        assert modes[order] == pytest.approx(values, rel=1e-4, abs=1e-4)
        their_variances = np.array(expected["variances"][t.group], dtype=float).reshape(variances.shape)
        assert variances[order] == pytest.approx(their_variances, rel=1e-3, abs=1e-5)


def test_boundary_is_said_in_words():
    zero, tied = fit_linear(design("zero")), fit_linear(design("tied"))
    assert zero.singular == ("the variance of g is estimated as 0",)
    assert zero.theta[0] == 0.0
    assert tied.singular == ("the correlation of (Intercept) and x by g is estimated as 1",)
    assert tied.theta[2] == 0.0
    assert fit_linear(design("crossed")).singular == ()


def columns(path):
    rows = list(csv.DictReader(path.read_text().splitlines()))
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


@pytest.fixture(scope="module")
def models(golden):
    return json.loads((golden / "r_mixed_models.json").read_text())


def sleepstudy(golden, terms):
    data = columns(golden / "sleepstudy.csv")
    days = ("Days", data["Days"].astype(float))
    ones = ("(Intercept)", np.ones(len(days[1])))
    made = {
        "correlated": [term("Subject", data["Subject"], ones, days)],
        "uncorrelated": [term("Subject", data["Subject"]), term("Subject", data["Subject"], days)],
        "icc": [term("Subject", data["Subject"])],
    }[terms]
    return rows_design([ones] if terms == "icc" else [ones, days], made, data["Reaction"].astype(float))


def entries(fit):
    """Variances, then covariances, of each term, then the residual's: lme4's order of VarCorr."""
    out = []
    for covariance in fit.covariances():
        out += [*np.diag(covariance), *covariance[np.tril_indices(len(covariance), -1)]]
    return [*out, fit.sigma**2]


def compare(fit, expected, criterion):
    assert fit.deviance <= expected[criterion] + 1e-9
    assert fit.deviance == pytest.approx(expected[criterion], rel=1e-8)
    assert entries(fit) == pytest.approx([row["vcov"] for row in expected["varcomp"]], rel=1e-4)
    if "fixef" in expected:
        assert fit.beta == pytest.approx([row["Estimate"] for row in expected["fixef"]], rel=1e-8)
        assert fit.std_errors == pytest.approx([row["Std. Error"] for row in expected["fixef"]], rel=1e-4)


def test_sleepstudy(golden, models):
    full = sleepstudy(golden, "correlated")
    fit = fit_linear(full)
    compare(fit, models["sleepstudy"], "REMLcrit")
    compare(fit_linear(full, reml=False), models["sleepstudy"]["ML"], "deviance")
    for subject in ("308", "309"):
        at = full.terms[0].levels.index(subject)
        assert fit.effects[0][at] == pytest.approx(models["sleepstudy"][f"ranef_{subject}"], rel=1e-4)


def test_sleepstudy_uncorrelated(golden, models):
    compare(fit_linear(sleepstudy(golden, "uncorrelated")), models["sleepstudy_uncorrelated"], "REMLcrit")


def test_sleepstudy_intraclass_correlation(golden, models):
    fit = fit_linear(sleepstudy(golden, "icc"))
    assert entries(fit) == pytest.approx([row["vcov"] for row in models["sleepstudy_icc"]["varcomp"]], rel=1e-4)


def test_penicillin(golden, models):
    data = columns(golden / "Penicillin.csv")
    y = data["diameter"].astype(float)
    terms = [term("plate", data["plate"]), term("sample", data["sample"])]
    compare(fit_linear(rows_design([("(Intercept)", np.ones(len(y)))], terms, y)), models["Penicillin"], "REMLcrit")
