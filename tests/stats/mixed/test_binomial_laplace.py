"""The Laplace deviance and its gradient: against dense matrices and differences, for every kind of elimination."""

from dataclasses import replace

import numpy as np
import pytest

import evalstats.stats.mixed.laplace_elimination as gram_module
from evalstats.stats.mixed.design import MixedDesign
from evalstats.stats.mixed.distinct_rows import distinct_rows, hash_rows
from evalstats.stats.mixed.laplace import (
    BinomialCells,
    Pseudo,
    cell_scores,
    deviance_at,
    find_modes,
    invert,
    laplace,
    profiled,
)
from evalstats.stats.mixed.laplace_elimination import Elimination, EliminationSystem, make_plan
from tests.stats.mixed.binomial_by_definition import dense_columns, dense_laplace, some_designs
from tests.stats.mixed.dense import dummies, term

ROUNDING = 1e-9  # relative, of sums and solutions of some hundred terms
DIFFERENCES = 2e-6  # of central differences with step 1e-5: third derivatives times 1e-10, rounding of 1e3 over 1e-5

DESIGNS = [
    pytest.param(design, id=f"{name}{', covariate' if covariate else ''}")
    for covariate in (False, True)
    for name, design in some_designs(covariate=covariate).items()
]


def parameters(design, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=design.n_theta), 0.5 * rng.normal(size=design.fixed.n_columns)


def spherical(cells, effects):
    """Random effects of all blocks in the order of the columns of the dense matrix."""
    parts = {}
    for b, block in enumerate(cells.plan.blocks):
        values = effects[b] if block.given is None else effects[b][:, np.argsort(block.given)]
        start = 0
        for t in block.terms:
            size = cells.design.terms[t].n_columns
            parts[t] = values[start : start + size].T.ravel()
            start += size
    return np.concatenate([parts[t] for t in range(len(cells.design.terms))])


@pytest.mark.parametrize("by_component", [True, False])
@pytest.mark.parametrize("design", DESIGNS)
def test_elimination_is_the_dense_system(design, by_component, monkeypatch):
    """Log-determinant, solution, precision of beta and entries of the inverse, at weights of no model."""
    monkeypatch.setattr(gram_module, "_whole_is_cheaper", lambda *_: not by_component)
    rng = np.random.default_rng(2)
    theta, _ = parameters(design)
    theta[rng.integers(theta.size)] = 0.0
    weights, prior = rng.uniform(0.0, 0.5, design.n_cells), 0.1 * np.eye(design.fixed.n_columns)
    plan = make_plan(design)
    factors = plan.factors(theta)
    elimination = Elimination(EliminationSystem(plan), factors, plan.columns(factors), weights, prior)

    a, x = dense_columns(design, theta), design.fixed.at()
    h = a.T @ (weights[:, None] * a) + np.eye(a.shape[1])
    across = a.T @ (weights[:, None] * x)
    inner = x.T @ (weights[:, None] * x) + prior
    assert elimination.log_determinant == pytest.approx(np.linalg.slogdet(h)[1], rel=ROUNDING)
    schur = inner - across.T @ np.linalg.solve(h, across)
    np.testing.assert_allclose(elimination.fixed_precision(), schur, rtol=1e-8, atol=1e-8)

    cells = BinomialCells(design)
    values, side = rng.normal(size=design.n_cells), rng.normal(size=x.shape[1])
    effects, beta, change = elimination.solve(cells.random_sums(elimination.columns, values), side)
    solution = np.linalg.solve(np.block([[h, across], [across.T, inner]]), np.concatenate([a.T @ values, side]))
    np.testing.assert_allclose(spherical(cells, effects), solution[: len(h)], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(beta, solution[len(h) :], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(change, a @ solution[: len(h)] + x @ beta, rtol=1e-8, atol=1e-8)

    inverse, expected = invert(elimination), np.linalg.inv(h)
    np.testing.assert_allclose(inverse.of_predictor, ((a @ expected) * a).sum(axis=1), rtol=1e-8, atol=1e-10)
    for b, block in enumerate(plan.blocks):
        first = 0
        for t in block.terms:
            one = design.terms[t]
            start = sum(design.terms[v].n_levels * design.terms[v].n_columns for v in range(t))
            level = np.arange(one.n_levels) if block.given is None else block.given
            for j in range(one.n_columns):
                at = start + one.level * one.n_columns + j
                np.testing.assert_allclose(
                    inverse.at_cells[b][first + j], (expected @ a.T)[at, np.arange(design.n_cells)], atol=1e-9
                )
                for k in range(one.n_columns):
                    pair = (start + level * one.n_columns + j, start + level * one.n_columns + k)
                    np.testing.assert_allclose(inverse.blocks[b][first + j, first + k], expected[pair], atol=1e-9)
            first += one.n_columns


@pytest.mark.parametrize("design", DESIGNS)
def test_deviance_is_the_dense_one(design):
    theta, beta = parameters(design)
    cells = BinomialCells(design)
    expected, modes, _ = dense_laplace(design, theta, beta)
    point = laplace(cells, theta, beta, cells.no_effects())
    assert point.deviance == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(spherical(cells, point.effects), modes, atol=1e-8)


def directions(n):
    """Two random ones: an error in any entry of a gradient shows along both."""
    return np.random.default_rng(n).normal(size=(2, n))


@pytest.mark.parametrize("design", DESIGNS)
def test_gradient_is_that_of_differences(design):
    """With pseudo-observations, which stand beside the cells."""
    theta, beta = parameters(design)
    cells = BinomialCells(design).with_prior(Pseudo(rows=design.fixed.at()[:3], trials=np.array([0.5, 0.3, 1.0])))
    at = np.concatenate([theta, beta])

    def deviance(x):
        return deviance_at(find_modes(cells, x[: theta.size], x[theta.size :], cells.no_effects()))

    gradient = laplace(cells, theta, beta, cells.no_effects()).gradient
    for direction in directions(at.size):
        difference = (deviance(at + 1e-5 * direction) - deviance(at - 1e-5 * direction)) / 2e-5
        assert gradient @ direction == pytest.approx(difference, abs=DIFFERENCES * (1.0 + abs(difference)))


@pytest.mark.parametrize("design", DESIGNS[::2])
def test_gradient_with_beta_profiled(design):
    """Also with pseudo-observations, which stand beside the cells."""
    theta, beta = parameters(design)
    cells = BinomialCells(design).with_prior(Pseudo(rows=design.fixed.at()[:3], trials=np.array([0.5, 0.3, 1.0])))
    gradient = profiled(cells, theta, beta, cells.no_effects()).gradient
    for direction in directions(theta.size):
        ends = [profiled(cells, theta + s * direction, beta, cells.no_effects()).deviance for s in (1e-5, -1e-5)]
        difference = (ends[0] - ends[1]) / 2e-5
        assert gradient @ direction == pytest.approx(difference, abs=DIFFERENCES * (1.0 + abs(difference)))


def test_profiled_beta_is_the_mode():
    """The score of the cells at the joint mode is balanced by the prior, and a random effect by its own pull."""
    design = some_designs()["item, model"]
    theta, beta = parameters(design)
    prior = Pseudo(rows=design.fixed.at()[:2], trials=np.array([2.0, 3.0]))
    cells = BinomialCells(design).with_prior(prior)
    modes = find_modes(cells, theta, beta, cells.no_effects(), with_fixed=True)
    np.testing.assert_allclose(design.fixed.at().T @ modes.residual + prior.gradient(modes.beta), 0.0, atol=1e-7)
    pulls = cells.random_sums(modes.elimination.columns, modes.residual)
    for pull, effect in zip(pulls, modes.effects, strict=True):
        np.testing.assert_allclose(pull, effect, atol=1e-7)


def test_scores_of_cells_add_up_to_the_gradient_in_any_grouping():
    design = some_designs()["nested in nested"]
    theta, beta = parameters(design)
    cells = BinomialCells(design)
    modes = find_modes(cells, theta, beta, cells.no_effects())
    scores = cell_scores(cells, modes)
    gradient = laplace(cells, theta, beta, cells.no_effects()).gradient
    np.testing.assert_allclose(2.0 * scores.theta.sum(axis=1), gradient[: theta.size], rtol=1e-10)
    np.testing.assert_allclose(2.0 * design.fixed.at().T @ scores.fixed, gradient[theta.size :], rtol=1e-9, atol=1e-9)


def test_modes_are_found_from_a_hopeless_start():
    """Newton's first step from effects of 50 logits overshoots by far; halving brings it back to the one minimum."""
    design = some_designs()["slopes and crossed slopes"]
    theta, beta = parameters(design)
    cells = BinomialCells(design)
    near = find_modes(cells, theta, beta, cells.no_effects())
    far = find_modes(cells, theta, beta, [effect + 50.0 for effect in cells.no_effects()])
    assert far.criterion == pytest.approx(near.criterion, rel=1e-12)


def test_equal_rows_have_equal_hashes_and_others_have_not():
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, size=(6000, 12)).astype(float)
    rows[rows == 0.0] *= rng.choice([-1.0, 1.0], size=int((rows == 0.0).sum()))  # -0.0 is 0.0
    assert np.unique(hash_rows(rows)).size == np.unique(rows + 0.0, axis=0).shape[0]
    np.testing.assert_array_equal(hash_rows(rows)[5000:], hash_rows(rows[5000:]))


def test_distinct_rows_are_those_of_the_matrix_however_it_is_given():
    rng = np.random.default_rng(8)
    few, of_cell = rng.integers(0, 2, size=(40, 4)).astype(float), rng.integers(0, 40, 300)
    x, weights = few[of_cell], rng.uniform(size=300)
    whole, chosen = distinct_rows(x), distinct_rows(few, of_cell)
    turned = whole.replaced(whole.rows[:, 1:])
    np.testing.assert_allclose(whole.gram(weights), x.T @ np.diag(weights) @ x, rtol=1e-12)
    for found, wanted in ((whole, x), (chosen, x), (turned, x[:, 1:])):
        np.testing.assert_array_equal(found.at(), wanted)
        np.testing.assert_array_equal(found.rows, wanted[found.first])
        assert len(found.rows) == len(np.unique(wanted, axis=0))
        assert (np.diff(found.first) > 0).all()


def scenarios_of_models(*, model_effects, slopes):
    """Items within 12 scenarios of unequal size, four models, an interaction; models crossed with all, or fixed alone."""
    rng = np.random.default_rng(4)
    item_scenario = np.repeat(np.arange(12), rng.integers(1, 6, 12))
    item, model = (each.ravel() for each in np.indices((item_scenario.size, 4)))
    kept = rng.random(item.size) > 0.15
    item, model = np.unique(item[kept], return_inverse=True)[1], model[kept]
    scenario = np.unique(item_scenario, return_inverse=True)[1][np.indices((item_scenario.size, 4))[0].ravel()[kept]]
    x = rng.normal(size=item.size)
    pair = np.unique(scenario * 4 + model, return_inverse=True)[1]
    terms = [term("item", item), term("scenario", scenario), term("model:scenario", pair)]
    if slopes:
        terms[2] = term("model:scenario", pair, ("(Intercept)", np.ones(item.size)), ("x", x))
    if model_effects:
        terms.append(term("model", model))
    fixed = [("(Intercept)", np.ones(item.size)), ("x", x), *([] if model_effects else dummies(model))]
    return MixedDesign(
        fixed=distinct_rows(np.column_stack([column for _, column in fixed])),
        fixed_names=tuple(name for name, _ in fixed),
        terms=tuple(terms),
        count=np.full(item.size, 5.0),
        response=rng.integers(0, 6, item.size) / 5,
    )


# Every two of what differs are met together.
@pytest.mark.parametrize(
    ("model_effects", "slopes", "by_component"),
    [(False, False, True), (False, True, False), (True, False, False), (True, True, True)],
)
def test_rest_by_components_is_the_whole_one(model_effects, slopes, by_component, monkeypatch):
    """Deviance, gradient and covariances, with the rest factored scenario by scenario and in one piece."""
    monkeypatch.setattr(gram_module, "_whole_is_cheaper", lambda *_: not by_component)
    design = scenarios_of_models(model_effects=model_effects, slopes=slopes)
    theta, beta = parameters(design)
    whole = BinomialCells(design)
    monkeypatch.setattr(gram_module, "_one_is_cheaper", lambda *_: False)
    parts = BinomialCells(design)
    assert whole.plan.layout.n_components == 1
    assert parts.plan.layout.n_components == 12
    assert (parts.plan.layout.n_border > 0) == model_effects
    for criterion in (laplace, profiled):
        one, other = (criterion(cells, theta, beta, cells.no_effects()) for cells in (whole, parts))
        assert other.deviance == pytest.approx(one.deviance, rel=1e-12)
        np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(other.beta, one.beta, rtol=1e-9, atol=1e-9)
    modes = [find_modes(cells, theta, beta, cells.no_effects()) for cells in (whole, parts)]
    one, other = (invert(each.elimination) for each in modes)
    for ours, theirs in zip(other.blocks + other.at_cells, one.blocks + one.at_cells, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    precision = [cells.fixed_precision(each) for cells, each in zip((whole, parts), modes, strict=True)]
    np.testing.assert_allclose(precision[1], precision[0], rtol=1e-9, atol=1e-9)


def test_rest_of_a_small_design_stays_in_one_piece():
    """And one whose groupings all meet does too, whatever its size."""
    assert BinomialCells(scenarios_of_models(model_effects=False, slopes=False)).plan.layout.n_components == 1
    item, model, topic = (each.ravel() for each in np.indices((150, 3, 2)))
    crossed = MixedDesign(
        fixed=distinct_rows(np.ones((item.size, 1))),
        fixed_names=("(Intercept)",),
        terms=(term("item", item), term("item:model", item * 3 + model), term("model:topic", model * 2 + topic)),
        count=np.ones(item.size),
        response=np.arange(item.size) % 2.0,
    )
    assert BinomialCells(crossed).plan.layout.n_components == 1


def test_levels_without_cells_change_nothing_component_by_component(monkeypatch):
    monkeypatch.setattr(gram_module, "_whole_is_cheaper", lambda *_: False)
    design = some_designs()["crossed"]
    theta, beta = parameters(design)
    wider = replace(design, terms=tuple(replace(t, levels=("new", *t.levels), level=t.level + 1) for t in design.terms))
    one, other = (
        laplace(BinomialCells(each), theta, beta, BinomialCells(each).no_effects()) for each in (design, wider)
    )
    assert other.deviance == pytest.approx(one.deviance, rel=1e-12)
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(other.effects, one.effects, strict=True):
        assert (ours[:, 0] == 0.0).all()
        np.testing.assert_allclose(ours[:, 1:], theirs, atol=1e-9)
