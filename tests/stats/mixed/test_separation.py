"""Separation: found exactly, answered the same for every coding, refused on request."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from evalstats.stats.mixed import glm
from evalstats.stats.mixed.binomial import cluster_scores, fit_binomial, refit_binomial
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.glm import LONGEST, MOVING, REST, _last_newton_step, dependent_columns, find_separation
from tests.stats.mixed.binomial_by_definition import dense_laplace, design_of, dummies, interaction, term

NAMES = ["(Intercept)", "model[b]", "model[c]", "model[d]", "scenario[y]", "scenario[z]"]


def separated_by_definition(rows, successes, trials):
    """Row by row: can x'd be made positive (negative for failures) with no row going the wrong way?"""
    side = np.where(successes == trials, 1.0, np.where(successes == 0, -1.0, 0.0))
    limits = -(side[:, None] * rows)[side != 0]
    held = rows[side == 0]
    out = np.zeros(len(rows), dtype=bool)
    for k in np.flatnonzero(side):
        found = linprog(
            -side[k] * rows[k],
            A_ub=limits,
            b_ub=np.zeros(len(limits)),
            A_eq=held if len(held) else None,
            b_eq=np.zeros(len(held)) if len(held) else None,
            bounds=[(-1.0, 1.0)] * rows.shape[1],
        )
        out[k] = -found.fun > 1e-7
    return out


def grid(n_items=40, trials=2, seed=3):
    """Four models on items in three scenarios."""
    rng = np.random.default_rng(seed)
    item, model = np.repeat(np.arange(n_items), 4), np.tile(np.arange(4), n_items)
    scenario = item % 3
    successes = rng.binomial(trials, 1.0 / (1.0 + np.exp(-0.5 - rng.normal(size=n_items)[item])))
    return item, model, scenario, successes, np.full(item.size, trials)


@pytest.fixture(scope="module")
def perfect():
    """Model c never fails in scenario y."""
    item, model, scenario, successes, trials = grid()
    successes = np.where((model == 2) & (scenario == 1), trials, successes)
    names = [*NAMES, *(f"model[{m}]:scenario[{s}]" for s in "yz" for m in "bcd")]
    return design_of(interaction(model, scenario), [term("item", item)], successes, trials, names)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["factors", "covariates", "thin"])
def test_the_largest_separated_set_by_definition(kind, seed):
    """Random small designs, many of them separated, some in several directions."""
    rng = np.random.default_rng(seed)
    n = {"factors": 40, "covariates": 9, "thin": 14}[kind]
    a, b = rng.integers(0, 3, n), rng.integers(0, 3, n)
    if kind == "factors":
        fixed = dummies(a, b)
        trials = rng.integers(1, 3, n)
        successes = rng.binomial(trials, np.where(a == 0, 0.97, 0.6))
    else:
        fixed = np.column_stack([np.ones(n), rng.normal(size=(n, 2)), a == 0])
        trials = np.ones(n, dtype=int)
        successes = rng.binomial(1, 1.0 / (1.0 + np.exp(-3.0 * fixed[:, 1])))
        if kind == "thin":
            successes[fixed[:, 3] == 1.0] = 1
    fixed = fixed[:, np.setdiff1d(np.arange(fixed.shape[1]), dependent_columns(fixed))]
    design = design_of(fixed, [term("g", np.arange(n) % 4)], successes, trials)
    rows, inverse = np.unique(fixed, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    expected = rows[separated_by_definition(rows, np.bincount(inverse, successes), np.bincount(inverse, trials))]
    found = find_separation(design)
    assert (set() if found is None else set(map(tuple, found.rows))) == set(map(tuple, expected))


def test_the_random_designs_hold_both_kinds():
    """The test above would show nothing if hardly any design were separated, or all."""
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        a, b = rng.integers(0, 3, 40), rng.integers(0, 3, 40)
        trials = rng.integers(1, 3, 40)
        successes = rng.binomial(trials, np.where(a == 0, 0.97, 0.6))
        found.append(find_separation(design_of(dummies(a, b), [term("g", b)], successes, trials)) is not None)
    assert 2 <= sum(found) <= 10


def test_what_is_separated_is_named(perfect):
    found = find_separation(perfect)
    assert found.labels == ("model[c] and scenario[y]",)
    assert found.columns == ("model[c]:scenario[y]",)
    assert found.n_directions == 1
    assert not found.complete
    fit = fit_binomial(perfect)
    (warning,) = fit.warnings
    assert warning.startswith("quasi-complete separation: 1 combination of the fixed effects has only successes")
    assert "model[c] and scenario[y]" in warning
    assert "half a success and half a failure" in fit.penalty
    assert fit.convergence.converged


def test_every_coding_gives_the_same_answer(perfect):
    """Other baselines, and a mean for each combination: the same predictor of every cell, with the same variance."""
    expected = fit_binomial(perfect)
    turn = np.random.default_rng(4).normal(size=(12, 12))
    means = np.unique(perfect.fixed.at(), axis=0)
    for fixed in (perfect.fixed.at() @ turn, perfect.fixed.at() @ np.linalg.inv(means)):
        fit = fit_binomial(replace(perfect, fixed=distinct_rows(fixed)))
        np.testing.assert_allclose(fixed @ fit.beta, perfect.fixed.at() @ expected.beta, atol=1e-5)
        variance = np.einsum("ij,jk,ik->i", fixed, fit.covariance, fixed)
        before = np.einsum("ij,jk,ik->i", perfect.fixed.at(), expected.covariance, perfect.fixed.at())
        np.testing.assert_allclose(variance, before, rtol=1e-4)
        assert fit.deviance == pytest.approx(expected.deviance, abs=1e-7)


def test_successes_and_failures_are_alike(perfect):
    """The prior is symmetric: swapped outcomes change signs only."""
    fit, other = fit_binomial(perfect), fit_binomial(replace(perfect, response=1.0 - perfect.response))
    np.testing.assert_allclose(other.beta, -fit.beta, atol=1e-6)


def test_a_separated_mean_is_that_of_half_a_success_more():
    """Without variance between items the estimate is Haldane's and Anscombe's log-odds, and its variance theirs."""
    n = 24
    successes = np.r_[np.full(n, 2), np.tile([1, 1, 2, 0], n // 4)]
    model = np.repeat([0, 1], n)
    design = design_of(
        np.column_stack([model == 0, model == 1]),
        [term("item", np.tile(np.arange(n), 2))],
        successes,
        np.full(2 * n, 2),
    )
    fit = fit_binomial(design)
    assert fit.theta[0] == 0.0
    assert fit.beta[0] == pytest.approx(np.log((2 * n + 0.5) / 0.5), rel=1e-6)
    assert fit.covariance[0, 0] == pytest.approx(1 / (2 * n + 0.5) + 1 / 0.5, rel=1e-4)
    # The other model is not touched: its 24 of 48 successes.
    assert fit.beta[1] == pytest.approx(0.0, abs=1e-6)
    assert fit.covariance[1, 1] == pytest.approx(1 / 12, rel=1e-4)


def test_one_direction_over_several_cells_weighs_one_trial():
    """A model that never fails, additive in the scenarios: three cells, one coefficient, one pseudo-trial in all."""
    item, model, scenario, successes, trials = grid()
    successes = np.where(model == 2, trials, successes)
    design = design_of(dummies(model, scenario), [term("item", item)], successes, trials, NAMES)
    found = find_separation(design)
    assert found.columns == ("model[c]",)
    np.testing.assert_allclose(found.prior().trials, 1 / 3)
    fit = fit_binomial(design)
    assert "added to each of the 3 separated combinations" in fit.penalty
    assert 2.0 < fit.beta[2] < 8.0
    assert np.isfinite(fit.std_errors).all()


def test_complete_separation():
    """All failures of one model, all successes of the other."""
    item, model = np.repeat(np.arange(20), 2), np.tile([0, 1], 20)
    design = design_of(dummies(model), [term("item", item)], model * 2, np.full(40, 2))
    found = find_separation(design)
    assert found.complete
    assert found.n_directions == 2
    fit = fit_binomial(design)
    assert fit.warnings[0].startswith("complete separation: 2 combinations")
    assert fit.beta[0] == pytest.approx(np.log(0.5 / 40.5), rel=1e-4)
    assert fit.beta[1] == pytest.approx(2 * np.log(40.5 / 0.5), rel=1e-4)


def test_thousands_of_rows_with_covariates_are_quick():
    """A separated indicator among many covariates: proved by regressions, not by one large programme."""
    rng = np.random.default_rng(5)
    n = 5000
    y = rng.integers(0, 2, n)
    fixed = np.column_stack([np.ones(n), rng.normal(size=(n, 8)), (y == 1) * (rng.random(n) < 0.3)])
    design = design_of(fixed, [term("g", rng.integers(0, 50, n))], y, np.ones(n))
    found = find_separation(design)
    assert found.columns == ("b9",)
    assert (found.rows[:, 9] == 1.0).all()
    assert len(found.rows) == (fixed[:, 9] == 1.0).sum()
    assert find_separation(replace(design, fixed=distinct_rows(fixed[:, :9]))) is None


def test_a_refit_answers_separation_of_its_own_response(perfect):
    *_, successes, trials = grid()
    mixed = replace(perfect, response=successes / trials)
    fit = fit_binomial(mixed)
    assert fit.penalty == ""
    again = refit_binomial(fit, perfect.response)
    assert again.penalty != ""
    np.testing.assert_allclose(again.beta, fit_binomial(perfect).beta, atol=2e-3)
    assert refit_binomial(again, mixed.response).penalty == ""


def test_log_likelihood_is_that_of_the_data(perfect):
    """At the penalised estimates, without the prior's part."""
    fit = fit_binomial(perfect)
    deviance = dense_laplace(perfect, fit.theta, fit.beta)[0]
    assert fit.log_likelihood == pytest.approx(perfect.log_constant - 0.5 * deviance, abs=1e-7)


def test_scores_leave_out_the_prior(perfect):
    """They are of the data: what they do not add up to 0 by is the prior's score."""
    fit = fit_binomial(perfect)
    prior = find_separation(perfect).prior()
    scores = cluster_scores(fit, perfect.terms[0].level).sum(axis=0)
    np.testing.assert_allclose(scores[1:], -prior.gradient(fit.beta), atol=1e-5)


def test_dependent_columns_are_those_that_follow():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(50, 4)) * [1.0, 1e-6, 1e6, 1.0]
    assert dependent_columns(x).size == 0
    with_more = np.column_stack([x[:, :2], x[:, 0] + 1e6 * x[:, 1], x[:, 2:], np.zeros(50)])
    np.testing.assert_array_equal(dependent_columns(with_more), [2, 5])


@pytest.mark.parametrize("successes", [0.0, 1.0, 3.0, 5.0])
def test_newtons_iteration_is_the_same_for_failures_as_for_successes(successes):
    """A row that always fails moves on as one that always succeeds; one with both comes to rest from either side."""
    rows, trials = np.ones((1, 1)), np.array([10.0])
    for won, side in ((successes, -1.0), (10.0 - successes, 1.0)):
        last = _last_newton_step(rows, trials, np.array([won]))
        assert last is not None
        if successes:
            assert abs(last[0]) < REST
        else:
            assert side * last[0] > MOVING


def test_one_step_of_newtons_iteration_is_cut_to_its_longest(monkeypatch):
    monkeypatch.setattr(glm, "NEWTON_STEPS", 1)
    rows = np.array([[1.0, 0.0], [1.0, 40.0]])
    for won in (np.array([9.0, 1.0]), np.array([1.0, 9.0])):
        eta = np.zeros(2)
        step = rows @ np.linalg.solve(rows.T @ (2.5 * rows), rows.T @ (won - 5.0))
        wanted = eta + step * min(1.0, LONGEST / np.abs(step).max())
        assert _last_newton_step(rows, np.full(2, 10.0), won) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(3))
def test_rounding_separates_nothing(seed):
    """A turned coding makes zeros of the directions into 1e-16: the separated rows stay the same."""
    rng = np.random.default_rng(seed)
    model, scenario = np.repeat(np.arange(4), 6), np.tile(np.arange(3), 8)
    successes = np.where((model == 3) & (scenario == 1), 2, 1)
    fixed = dummies(model, scenario)
    fixed = np.column_stack([fixed, (model == 3) & (scenario == 1)])
    plain = find_separation(design_of(fixed, [], successes, np.full(24, 2)))
    turned = find_separation(design_of(fixed @ rng.normal(size=(7, 7)), [], successes, np.full(24, 2)))
    assert len(plain.rows) == len(turned.rows) == 1
    assert (plain.n_directions, turned.n_directions) == (1, 1)
