"""Errors of predictions: against the joint normal law, Henderson's equations in full, lme4, and simulated truths."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse, stats

from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.mixed.prediction import _block_inverse, prediction_errors
from tests.stats.mixed.dense import dummies, random_matrices, rows_design, term

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "mixed_prediction.json"
ALGEBRA = 1e-8


def prediction_covariance(fit, terms):
    """All of the covariance that `prediction_errors` keeps by its structure."""
    errors = prediction_errors(fit, terms)
    inside = errors.inside if isinstance(errors.inside, np.ndarray) else errors.inside.toarray()
    across = errors.gain @ errors.fixed
    covariance = np.block([[errors.fixed, -across.T], [-across, inside + across @ errors.gain.T]])
    return (covariance + covariance.T) / 2


def crossed(seed, *, slopes=False, none=False, merge=False):
    """Three models on 8 scenarios of 3 items; item, scenario and model:scenario."""
    rng = np.random.default_rng(seed)
    scenario, item, model = (each.ravel() for each in np.indices((8, 3, 3)))
    item = scenario * 3 + item
    kept = rng.random(item.size) > 0.1
    scenario, item, model = scenario[kept], item[kept], model[kept]
    x = rng.normal(size=item.size).round(1)
    terms = [term("item", item), term("scenario", scenario), term("model:scenario", scenario * 3 + model)]
    if slopes:
        terms[1] = term("scenario", scenario, ("(Intercept)", np.ones(item.size)), ("x", x))
    response = rng.normal(size=item.size) + (0 if none else 1) * (
        rng.normal(size=24)[item] + rng.normal(size=8)[scenario] + rng.normal(size=24)[scenario * 3 + model]
    )
    if slopes:
        response += rng.normal(size=8)[scenario] * x
    fixed = [("(Intercept)", np.ones(item.size)), *dummies(model), *([("x", x)] if slopes else [])]
    return rows_design(fixed, terms, response, merge=merge)


def effects_matrix(design, terms):
    """Z of some terms, a level's effects together."""
    every = random_matrices(design)
    return np.hstack([np.stack(every[k], axis=2).reshape(design.n_cells, -1) for k in terms])


def effects_covariance(design, theta, sigma, terms):
    factors = design.factors(theta)
    blocks = [np.kron(np.eye(design.terms[k].n_levels), sigma**2 * factors[k] @ factors[k].T) for k in terms]
    out = np.zeros((sum(map(len, blocks)),) * 2)
    at = 0
    for block in blocks:
        out[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return out


def by_conditioning(fit, terms, noise):
    """Errors of the best linear unbiased predictions, from V = Z G Z' + R alone."""
    design = fit.design
    every = range(len(design.terms))
    z, g = effects_matrix(design, every), effects_covariance(design, fit.theta, fit.sigma, every)
    v = z @ g @ z.T + np.diag(noise)
    inverse = np.linalg.inv(v)
    x = design.fixed.at()
    beta = np.linalg.inv(x.T @ inverse @ x)
    z, g = effects_matrix(design, terms), effects_covariance(design, fit.theta, fit.sigma, terms)
    pull = g @ z.T @ inverse
    cross = -beta @ (pull @ x).T
    errors = g - pull @ z @ g + pull @ x @ beta @ (pull @ x).T
    return np.block([[beta, cross], [cross.T, errors]])


@pytest.mark.parametrize(
    ("terms", "slopes"), [((0,), True), ((1, 2), False), ((2, 1), True), ((0, 1, 2), True), ((), False)], ids=str
)
def test_joint_normal_law(terms, slopes):
    fit = fit_linear(crossed(1, slopes=slopes))
    found = prediction_covariance(fit, terms)
    if terms:
        expected = by_conditioning(fit, terms, np.full(fit.design.n_cells, fit.sigma**2))
        np.testing.assert_allclose(found, expected, atol=ALGEBRA)
    p = len(fit.beta)
    np.testing.assert_allclose(found[:p, :p], fit.covariance, atol=ALGEBRA)


def test_variance_of_0():
    fit = fit_linear(crossed(3, none=True))
    zero = [k for k, value in enumerate(fit.theta) if value == 0]
    assert zero
    found = prediction_covariance(fit, (0, 1, 2))
    np.testing.assert_allclose(
        found, by_conditioning(fit, (0, 1, 2), np.full(fit.design.n_cells, fit.sigma**2)), atol=ALGEBRA
    )
    for k in zero:
        own = prediction_covariance(fit, (k,))[len(fit.beta) :]
        np.testing.assert_array_equal(own, 0.0)


def test_singular_slopes():
    """A correlation of 1: the covariance of a level's effects has no inverse, which Henderson's equations would need."""
    fit = fit_linear(crossed(1, slopes=True))
    theta = fit.theta.copy()
    theta[3] = 0.0
    fit = replace(fit, theta=theta)
    found = prediction_covariance(fit, (1,))
    np.testing.assert_allclose(
        found, by_conditioning(fit, (1,), np.full(fit.design.n_cells, fit.sigma**2)), atol=ALGEBRA
    )
    assert np.linalg.matrix_rank(found) < len(found)


def test_cells_stand_for_their_rows():
    """Three trials of every answer, as rows and as cells."""
    one = crossed(2)
    rng = np.random.default_rng(5)
    rows = rows_design(
        [(name, np.repeat(one.fixed.at()[:, k], 3)) for k, name in enumerate(one.fixed_names)],
        [term(t.group, np.repeat(t.level, 3)) for t in one.terms],
        np.repeat(one.response, 3) + rng.normal(size=3 * one.n_cells),
    )
    merged = rows_design(
        [(name, rows.fixed.at()[:, k]) for k, name in enumerate(one.fixed_names)], rows.terms, rows.response, merge=True
    )
    assert merged.n_cells < rows.n_cells
    # Two searches for theta end within its tolerance of one another.
    np.testing.assert_allclose(
        prediction_covariance(fit_linear(merged), (1, 2)), prediction_covariance(fit_linear(rows), (1, 2)), atol=1e-5
    )


def test_conditional_covariances_of_the_fit():
    """What the fit gives for each level is the error given the fixed effects: less what is not known of these."""
    fit = fit_linear(crossed(1, slopes=True))
    for k in range(3):
        found = prediction_covariance(fit, (k,))
        p = len(fit.beta)
        beta, cross, own = found[:p, :p], found[p:, :p], found[p:, p:]
        given = own - cross @ np.linalg.solve(beta, cross.T)
        c = fit.design.terms[k].n_columns
        for level, expected in enumerate(fit.effect_covariances[k]):
            at = slice(level * c, (level + 1) * c)
            np.testing.assert_allclose(given[at, at], expected, atol=ALGEBRA)


@pytest.mark.parametrize("sloped", ["item", "scenario"])
def test_conditional_covariances_beside_a_term_of_cells(sloped):
    """Each cell of several rows has an effect of its own beside slopes of items, or of what they lie in: errors given beta."""
    rng = np.random.default_rng(8)
    item, model, _ = (each.ravel() for each in np.indices((10, 3, 4)))
    kept = rng.random(item.size) > 0.2
    item, model = item[kept], model[kept]
    x = model - 0.7
    line = ("(Intercept)", np.ones(item.size)), ("x", x)
    terms = [
        term("item", item, *(line if sloped == "item" else ())),
        term("scenario", item % 5, *(line if sloped == "scenario" else ())),
        term("model:item", item * 3 + model),
    ]
    response = rng.normal(size=item.size) + rng.normal(size=5)[item % 5] + rng.normal(size=30)[item * 3 + model]
    response += rng.normal(size=10)[item] + 2.0 * rng.normal(size=10)[item if sloped == "item" else item % 5] * x
    fit = fit_linear(rows_design([("(Intercept)", np.ones(item.size)), ("x", x)], terms, response, merge=True))
    assert fit.design.n_cells == 30
    assert np.count_nonzero(np.abs(fit.theta) > 0.05) >= 4
    for k in range(3):
        found = by_conditioning(fit, (k,), fit.sigma**2 / fit.design.count)
        beta, cross, own = found[:2, :2], found[2:, :2], found[2:, 2:]
        given = own - cross @ np.linalg.solve(beta, cross.T)
        c = fit.design.terms[k].n_columns
        for level, expected in enumerate(fit.effect_covariances[k]):
            at = slice(level * c, (level + 1) * c)
            np.testing.assert_allclose(given[at, at], expected, atol=ALGEBRA)


def test_binomial_weights():
    """The same equations with the weights of the last step: p (1 - p) for each trial."""
    rng = np.random.default_rng(6)
    linear = crossed(6)
    design = replace(linear, response=(rng.random(linear.n_cells) < 1 / (1 + np.exp(-linear.response))).astype(float))
    fit = fit_binomial(design)
    eta = fit.linear_predictor()
    direct = design.fixed.at() @ fit.beta
    for k, t in enumerate(design.terms):
        direct = direct + fit.effects[k][t.level, 0]
    np.testing.assert_allclose(eta, direct, atol=ALGEBRA)
    chance = 1 / (1 + np.exp(-eta))
    found = prediction_covariance(fit, (1, 2))
    np.testing.assert_allclose(found, by_conditioning(fit, (1, 2), 1 / (chance * (1 - chance))), atol=ALGEBRA)


def test_offset_is_part_of_the_predictor():
    design = crossed(2)
    fit = fit_linear(replace(design, offset=np.linspace(0, 1, design.n_cells)))
    without = replace(fit, design=replace(fit.design, offset=None))
    np.testing.assert_allclose(fit.linear_predictor() - without.linear_predictor(), np.linspace(0, 1, design.n_cells))


def test_lme4():
    """Conditional variances and fixed effects of lmer on sleepstudy-like data with a correlated slope."""
    case = json.loads(GOLDEN.read_text())
    data = case["data"]
    x = np.array(data["x"])
    design = rows_design(
        [("(Intercept)", np.ones(x.size)), ("x", x)],
        [term("g", data["g"], ("(Intercept)", np.ones(x.size)), ("x", x)), term("h", data["h"])],
        data["y"],
    )
    found = prediction_covariance(fit_linear(design), (0, 1))
    np.testing.assert_allclose(found, case["errors"], atol=1e-4)


@pytest.mark.slow
def test_coverage():
    """Intervals of a model's mean in a named scenario; theta is taken as known, which costs a little with 20 scenarios."""
    rng = np.random.default_rng(9)
    scenario, item, model = (each.ravel() for each in np.indices((20, 4, 2)))
    item, pair = scenario * 4 + item, scenario * 2 + model
    covered = []
    for _ in range(300):
        own, both, noise = rng.normal(size=20), 0.7 * rng.normal(size=40), rng.normal(size=80)[item]
        response = own[scenario] + both[pair] + noise + rng.normal(size=item.size)
        design = rows_design(
            [("(Intercept)", np.ones(item.size)), *dummies(model)],
            [term("item", item), term("scenario", scenario), term("pair", pair)],
            response,
        )
        fit = fit_linear(design)
        covariance = prediction_covariance(fit, (1, 2))
        first = np.unique(pair, return_index=True)[1]
        in_scenario, in_pair = (np.eye(t.n_levels)[t.level[first]] for t in design.terms[1:])
        rows = np.hstack([design.fixed.at()[first], in_scenario, in_pair])
        value = rows @ np.concatenate([fit.beta, fit.effects[1].ravel(), fit.effects[2].ravel()])
        error = np.sqrt(np.einsum("ij,jk,ik->i", rows, covariance, rows))
        truth = np.repeat(own, 2) + both
        covered.append((np.abs(value - truth) <= stats.norm.isf(0.025) * error).mean())
    rate, simulated = np.mean(covered), np.std(covered) / np.sqrt(300)
    assert rate + 3 * simulated > 0.925
    assert rate - 3 * simulated < 0.965


@pytest.mark.parametrize("slopes", [False, True])
def test_variance_of_combinations_is_that_of_the_whole_matrix(slopes):
    fit = fit_linear(crossed(6, slopes=slopes))
    errors, whole = prediction_errors(fit, (1, 2)), prediction_covariance(fit, (1, 2))
    rows = np.random.default_rng(1).normal(size=(9, len(whole)))
    rows[np.abs(rows) < 0.7] = 0.0
    expected = np.diag(rows @ whole @ rows.T)
    np.testing.assert_allclose(errors.variance(rows), expected, rtol=1e-10)
    np.testing.assert_allclose(errors.variance(sparse.csr_array(rows)), expected, rtol=1e-10)


def test_inverse_by_blocks_is_the_inverse():
    rng = np.random.default_rng(2)
    sizes = [1, 3, 2, 3, 1, 40, 2] + [4] * 20
    whole = np.zeros((sum(sizes),) * 2)
    start = 0
    for size in sizes:
        root = rng.normal(size=(size, size))
        whole[start : start + size, start : start + size] = root @ root.T + np.eye(size)
        start += size
    order = rng.permutation(len(whole))
    mixed = whole[np.ix_(order, order)]
    found = _block_inverse(sparse.csr_array(mixed))
    assert found is not None
    assert found.nnz == sum(size**2 for size in sizes)
    np.testing.assert_allclose(found.toarray(), np.linalg.inv(mixed), rtol=1e-9, atol=1e-12)
    assert _block_inverse(sparse.csr_array(np.eye(3) + 0.1)) is None
