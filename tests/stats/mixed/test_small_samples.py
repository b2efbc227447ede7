"""False alarms of the tests of fixed effects with few scenarios: what small-sample corrections are for."""

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.mixed.degrees_of_freedom import kenward_roger, kenward_roger_f, satterthwaite, satterthwaite_f
from evalstats.stats.mixed.linear import fit_linear
from tests.stats.mixed.dense import dummies, rows_design, term

LEVEL = 0.05


def draw(rng, n_scenarios, between):
    """Three models on scenarios of one to four items, a tenth of the answers missing."""
    scenario = np.repeat(np.arange(n_scenarios), rng.integers(1, 5, n_scenarios))
    item = np.repeat(np.arange(scenario.size), 3)
    scenario, model = scenario[item], np.tile(np.arange(3), scenario.size)
    kept = rng.random(item.size) > 0.1
    item, scenario, model = item[kept], scenario[kept], model[kept]
    cell = scenario * 3 + model
    response = rng.normal(size=item.size) + rng.normal(size=item.max() + 1)[item]
    response += rng.normal(size=n_scenarios)[scenario] + between * rng.normal(size=3 * n_scenarios)[cell]
    terms = [term("item", item), term("scenario", scenario), term("model:scenario", cell)]
    return fit_linear(rows_design([("(Intercept)", np.ones(item.size)), *dummies(model)], terms, response))


@pytest.mark.slow
@pytest.mark.parametrize(("n_scenarios", "between"), [(10, 1.0), (10, 0.0)])
def test_false_alarms(n_scenarios, between):
    rng = np.random.default_rng(n_scenarios)
    n_rep = 300
    one, both = np.array([0.0, 1.0, 0.0]), np.eye(3)[1:]
    normal = np.zeros(2)
    corrected = {"Satterthwaite": np.zeros(2), "Kenward-Roger": np.zeros(2)}
    for _ in range(n_rep):
        fit = draw(rng, n_scenarios, between)
        t = (one @ fit.beta) / np.sqrt(one @ fit.covariance @ one)
        wald = fit.beta[1:] @ np.linalg.solve(fit.covariance[1:, 1:], fit.beta[1:])
        normal += [2 * stats.norm.sf(abs(t)) < LEVEL, stats.chi2.sf(wald, 2) < LEVEL]
        p = 2 * stats.t.sf(abs(t), satterthwaite(fit, one)[0])
        corrected["Satterthwaite"] += [p < LEVEL, satterthwaite_f(fit, both).p_value < LEVEL]
        found = kenward_roger(fit)
        t = (one @ fit.beta) / np.sqrt(one @ found.covariance @ one)
        p = 2 * stats.t.sf(abs(t), found.df(one[None, :])[0])
        corrected["Kenward-Roger"] += [p < LEVEL, kenward_roger_f(fit, both, corrected=found).p_value < LEVEL]
    noise = 3.5 * np.sqrt(LEVEL * (1 - LEVEL) / n_rep)
    for rates in corrected.values():
        assert np.all(rates / n_rep < LEVEL + noise)
    if between:
        assert np.all(normal > corrected["Kenward-Roger"])
        assert np.all(corrected["Kenward-Roger"] / n_rep > LEVEL - noise)
