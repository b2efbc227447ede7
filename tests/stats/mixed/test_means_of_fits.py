"""From rows to marginal means: our fits of the data in the reference values, against lme4 and emmeans."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.contrasts import adjusted, against, linear_estimates, pairwise
from evalstats.stats.mixed.degrees_of_freedom import satterthwaite
from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.mixed.marginal_means import marginal_means, population_means, random_effect_sd
from tests.stats.mixed.test_means import grid_of

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "golden" / "mixed_means.json").read_text())
LINEAR, BINOMIAL, CBPP = GOLDEN["linear"], GOLDEN["binomial"], GOLDEN["cbpp"]
LME4 = {"linear": 2e-4, "binomial": 2e-3}  # where lme4's optimisers stop


def design_of(response):
    data, levels = LINEAR["data"], LINEAR["grid"]["levels"]
    codes = {name: np.array([levels[name].index(each) for each in data[name]]) for name in levels}
    grid, stored = np.array(LINEAR["grid"]["rows"], dtype=float), LINEAR["grid"]["codes"]
    place = {cell: i for i, cell in enumerate(zip(stored["model"], stored["scenario"], stored["lang"], strict=True))}
    rows = grid[[place[cell] for cell in zip(codes["model"], codes["scenario"], codes["lang"], strict=True)]]
    items, level = np.unique(data["item"], return_inverse=True)
    n = len(response)
    item = RandomTerm(
        group="item",
        columns=("(Intercept)",),
        levels=tuple(map(str, items)),
        level=level.astype(np.int64),
        values=np.ones((n, 1)),
    )
    names = tuple(LINEAR["beta_names"])
    return MixedDesign(
        fixed=distinct_rows(rows),
        fixed_names=names,
        terms=(item,),
        count=np.ones(n),
        response=np.array(response, dtype=float),
    )


def test_a_linear_fit_gives_the_means_and_df_of_emmeans():
    fit = fit_linear(design_of(LINEAR["data"]["score"]))
    means = marginal_means(grid_of(LINEAR["grid"]), ["model"])
    table = LINEAR["equal"]
    found = linear_estimates(means.rows, fit.beta, fit.covariance, df=satterthwaite(fit, means.rows))
    for name, ours in (
        ("emmean", found.estimate),
        ("SE", found.std_error),
        ("df", found.df),
        ("upper.CL", found.conf_high),
    ):
        np.testing.assert_allclose(
            ours, [row[name] for row in table], rtol=LME4["linear"] * 5 if name == "df" else LME4["linear"]
        )


def test_a_binomial_fit_gives_the_means_of_emmeans():
    fit = fit_binomial(design_of(BINOMIAL["data"]["right"]))
    means = marginal_means(grid_of(BINOMIAL["grid"]), ["model"])
    found = at_effects_of_0(means.rows, fit)
    np.testing.assert_allclose(found.estimate, [row["prob"] for row in BINOMIAL["response"]], rtol=LME4["binomial"])
    np.testing.assert_allclose(found.std_error, [row["SE"] for row in BINOMIAL["response"]], rtol=5 * LME4["binomial"])


def at_effects_of_0(rows, fit):
    """Probabilities of a unit whose random effects are 0, which emmeans prints with type = "response"."""
    found = linear_estimates(rows, fit.beta, fit.covariance)
    p = special.expit(found.estimate)
    return SimpleNamespace(estimate=p, std_error=p * (1 - p) * found.std_error)


@pytest.fixture
def cbpp(golden):
    rows = [line.replace('"', "").split(",") for line in (golden / "cbpp.csv").read_text().split()]
    at = {name: [row[rows[0].index(name)] for row in rows[1:]] for name in ("herd", "incidence", "size", "period")}
    herds, level = np.unique(at["herd"], return_inverse=True)
    size, period = np.array(at["size"], dtype=float), np.array(at["period"], dtype=int)
    term = RandomTerm(
        group="herd",
        columns=("(Intercept)",),
        levels=tuple(map(str, herds)),
        level=level.astype(np.int64),
        values=np.ones((size.size, 1)),
    )
    return MixedDesign(
        fixed=distinct_rows(np.array(CBPP["grid"]["rows"], dtype=float)[period - 1]),
        fixed_names=("1", "2", "3", "4"),
        terms=(term,),
        count=size,
        response=np.array(at["incidence"], dtype=float) / size,
    )


def test_cbpp_from_rows_to_averages(cbpp, golden):
    fit, stored = fit_binomial(cbpp), json.loads((golden / "r_mixed_models.json").read_text())["cbpp"]
    rows = np.array(CBPP["grid"]["rows"], dtype=float)
    found = at_effects_of_0(rows, fit)
    np.testing.assert_allclose(
        found.estimate, [row["prob"] for row in stored["emmeans_response"]], rtol=LME4["binomial"]
    )
    plain = linear_estimates(pairwise("1234").weights @ rows, fit.beta, fit.covariance)
    # lme4 at its default tolerance has standard errors 1 % too small here: p is compared with its tight fit.
    for method in ("tukey", "holm"):
        p = [row["p.value"] for row in CBPP[f"pairs_{method}"]]
        np.testing.assert_allclose(adjusted(plain, method).p_adjusted, p, rtol=LME4["binomial"])
    control = linear_estimates(against("1234", "1").weights @ rows, fit.beta, fit.covariance)
    p = [row["p.value"] for row in CBPP["control_holm"]]
    np.testing.assert_allclose(adjusted(control, "holm").p_adjusted, p, rtol=LME4["binomial"])
    s, slopes = random_effect_sd(fit.design.factors(fit.theta), [np.ones((4, 1))])
    averaged = population_means(rows, fit.beta, s, fit.joint_covariance, sd_jacobian=slopes)
    assert (averaged.estimate > found.estimate).all()
    assert averaged.warnings == ()
