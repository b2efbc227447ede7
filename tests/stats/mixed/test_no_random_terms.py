"""Models without random terms: rows one by one, statsmodels, and what is added where outcomes are separated."""

import math
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import special, stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed import glm
from evalstats.stats.mixed.design import MixedDesign
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.glm import (
    _bounded_rows,
    answer_in_words,
    check_binomial,
    dependent_columns,
    find_separation,
    fit_logistic,
    fit_ordinary,
)
from tests.stats.mixed.binomial_by_definition import design_of, dummies, term


def measured(seed=0, n=60, *, offset=False):
    """Rows of three models with a covariate of few values, and the same rows gathered into cells."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([dummies(rng.integers(0, 3, n)), rng.integers(0, 3, n)])
    y = rows @ [1.0, 0.5, -0.5, 0.2] + rng.normal(size=n)
    cells, inverse = np.unique(rows, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    count = np.bincount(inverse).astype(float)
    mean = np.bincount(inverse, weights=y) / count
    added = np.linspace(-1.0, 2.0, len(cells)) if offset else None
    design = MixedDesign(
        fixed=distinct_rows(cells),
        fixed_names=("(Intercept)", "b", "c", "x"),
        terms=(),
        count=count,
        response=mean,
        within=float(((y - mean[inverse]) ** 2).sum()),
        offset=added,
    )
    return design, rows, y - (0.0 if added is None else added[inverse])


@pytest.mark.parametrize("offset", [False, True])
def test_cells_are_fitted_as_their_rows_are(offset):
    design, rows, y = measured(offset=offset)
    fit, wanted = fit_ordinary(design), sm.OLS(y, rows).fit()
    assert fit.beta == pytest.approx(wanted.params)
    assert fit.covariance == pytest.approx(wanted.cov_params())
    rest = y - rows @ fit.beta
    assert fit.sigma == pytest.approx(math.sqrt(rest @ rest / (60 - 4)))
    # The maximum is at the standard deviation with n in its denominator.
    assert fit.log_likelihood == pytest.approx(stats.norm.logpdf(rest, scale=rest.std()).sum())
    assert fit.convergence.converged
    assert fit.theta.size == 0


def test_a_linear_model_needs_more_rows_than_effects_and_noise():
    design, *_ = measured(offset=True)
    few = replace(design, count=np.ones(4), within=0.0)
    few = replace(few, fixed=distinct_rows(np.eye(4)), response=np.array([1.0, 2.0, 3.0, 5.0]), offset=None)
    with pytest.raises(InputError, match="4 rows for 4 fixed effects"):
        fit_ordinary(few)
    one_more = replace(
        few, fixed=distinct_rows(np.vstack([np.eye(4), np.ones(4)])), count=np.ones(5), response=np.arange(5.0)
    )
    wanted = sm.OLS(one_more.response, one_more.fixed.at()).fit()
    assert fit_ordinary(one_more).covariance == pytest.approx(wanted.cov_params())
    exact = replace(one_more, response=one_more.fixed.at() @ [1.0, 2.0, 3.0, 4.0])
    with pytest.raises(CannotAnswerError, match="no noise"):
        fit_ordinary(exact)
    for broken in (
        replace(design, response=np.where(np.arange(design.n_cells) == 2, np.nan, design.response)),
        replace(design, fixed=distinct_rows(np.where(design.fixed.at() == 0.0, np.inf, design.fixed.at()))),
    ):
        with pytest.raises(InputError, match="NaN or infinite"):
            fit_ordinary(broken)


def counted(seed=1, *, offset=None):
    rng = np.random.default_rng(seed)
    fixed = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    trials = rng.integers(1, 9, 30)
    eta = fixed @ [0.3, 1.0, -0.7] + (0.0 if offset is None else offset)
    return replace(design_of(fixed, [], rng.binomial(trials, special.expit(eta)), trials), offset=offset)


@pytest.mark.parametrize("offset", [None, np.linspace(-1.0, 2.0, 30)])
def test_a_logistic_regression_is_that_of_statsmodels(offset):
    design = counted(offset=offset)
    fit = fit_logistic(design)
    won = design.count * design.response
    wanted = sm.GLM(
        np.column_stack([won, design.count - won]), design.fixed.at(), sm.families.Binomial(), offset=offset
    ).fit(tol=1e-12)
    assert fit.beta == pytest.approx(wanted.params, rel=1e-7)
    assert fit.covariance == pytest.approx(wanted.cov_params(), rel=1e-6)
    at = special.expit(design.fixed.at() @ fit.beta + (0.0 if offset is None else offset))
    assert fit.log_likelihood == pytest.approx(stats.binom.logpmf(won, design.count, at).sum())
    score = design.fixed.at().T @ (won - design.count * at)
    assert np.abs(score).max() < 1e-6
    # The slope told is that before the last step.
    assert np.abs(score).max() <= fit.convergence.gradient < 1e-3
    assert fit.convergence.converged
    assert 3 <= fit.convergence.n_evaluations <= 8
    assert fit.penalty == ""
    assert fit.warnings == ()


@pytest.mark.parametrize("far", [-12.0, -4.0, 9.0])
def test_newtons_steps_that_overshoot_are_halved(far):
    """An offset for all moves the intercept by as much; from 0 that is far out, where the first step is much too long."""
    design = counted()
    moved = fit_logistic(replace(design, offset=np.full(30, far)))
    assert moved.beta + np.array([far, 0.0, 0.0]) == pytest.approx(fit_logistic(design).beta, abs=1e-6)
    assert moved.convergence.converged


def test_a_fit_whose_steps_ran_out_has_not_converged(monkeypatch):
    monkeypatch.setattr(glm, "_MOST_STEPS", 2)
    found = fit_logistic(counted()).convergence
    assert (found.converged, found.n_evaluations, found.gradient) == (False, 2, np.inf)


def separated(n_models=3):
    """The last model never fails."""
    rng = np.random.default_rng(2)
    model = np.tile(np.arange(n_models), 20)
    successes = np.where(model == n_models - 1, 4, rng.binomial(4, 0.6, model.size))
    names = ("(Intercept)", *(f"model[{m}]" for m in range(1, n_models)))
    return design_of(dummies(model), [], successes, np.full(model.size, 4), names)


def test_a_separated_regression_is_that_of_half_a_trial_more():
    design = separated()
    fit = fit_logistic(design)
    # 80 trials without a failure: 80.5 of 81. The other models keep their own log-odds.
    shares = [design.response[k::3].mean() for k in range(2)] + [80.5 / 81]
    log_odds = special.logit(shares)
    assert fit.beta == pytest.approx([log_odds[0], log_odds[1] - log_odds[0], log_odds[2] - log_odds[0]])
    variance = [1.0 / (n * p * (1.0 - p)) for n, p in zip((80, 80, 81), shares, strict=True)]
    assert np.diag(fit.covariance) == pytest.approx([variance[0], variance[0] + variance[1], variance[0] + variance[2]])
    won = design.count * design.response
    at = special.expit(design.fixed.at() @ fit.beta)
    assert fit.log_likelihood == pytest.approx(stats.binom.logpmf(won, 4, at).sum())
    assert "half a success and half a failure" in fit.penalty
    assert len(fit.warnings) == 1
    moved = fit_logistic(replace(design, offset=np.linspace(-1.0, 1.0, 60)))
    assert np.isfinite(moved.beta).all()
    assert moved.beta[2] != pytest.approx(fit.beta[2], abs=1e-3)


def test_a_prior_is_shared_by_the_rows_that_one_direction_moves():
    found = find_separation(design_of(
        np.column_stack([np.ones(8), np.tile([0, 0, 1, 1], 2), np.repeat([0, 1], 4)]),
        [],
        [1, 1, 2, 2, 1, 0, 2, 2],
        np.full(8, 2),
    ))  # fmt: skip
    assert (found.n_directions, len(found.rows), found.complete) == (1, 2, False)
    assert found.prior().trials.tolist() == [0.5, 0.5]
    penalty, _ = answer_in_words(found)
    assert penalty.startswith("0.25 successes and 0.25 failures added to each of the 2 separated combinations")


@pytest.mark.parametrize(("n", "more"), [(4, ""), (5, ""), (6, "; and 1 more"), (9, "; and 4 more")])
def test_no_more_than_five_separated_combinations_are_named(n, more):
    model = np.repeat(np.arange(n + 1), 2)
    successes = np.where(model == n, np.arange(2 * n + 2) % 2, 1)
    design = design_of(np.eye(n + 1)[model], [], successes, np.ones(2 * n + 2), [f"m{k}" for k in range(n + 1)])
    found = find_separation(design)
    assert found.n_directions == n
    _, warning = answer_in_words(found)
    shown = [f"m{k}" for k in range(min(n, 5))]
    assert f"({'; '.join(shown)}{more})" in warning
    assert f"estimate of {', '.join(shown)}{more.replace(';', '')} is infinite" in warning
    assert warning.startswith(f"quasi-complete separation: {n} combinations of the fixed effects have only")


def test_regressions_prove_which_rows_no_direction_separates():
    """Covariates without separation: all rows are proved; beside a separated indicator, all rows without it."""
    rng = np.random.default_rng(3)
    rows = np.column_stack([np.ones(200), rng.normal(size=(200, 3))])
    won = (rng.random(200) < special.expit(rows @ [0.2, 0.5, 0.0, -0.5])).astype(float)
    side = np.where(won > 0, 1.0, -1.0)
    assert _bounded_rows(rows, np.ones(200), won, side).all()
    marked = (won == 1.0) & (rng.random(200) < 0.3)
    with_mark = np.column_stack([rows, marked])
    assert (_bounded_rows(with_mark, np.ones(200), won, side) == ~marked).all()
    # All separated: nothing comes to rest, and only rows with both outcomes are known to be held.
    none = _bounded_rows(np.ones((3, 1)), np.array([2.0, 2.0, 2.0]), np.array([2.0, 2.0, 2.0]), np.ones(3))
    assert not none.any()


def test_outcomes_that_never_vary_within_a_level_are_told_unless_a_fixed_effect_explains_them():
    level, count = np.repeat(np.arange(4), 3), np.full(12, 2.0)
    constant = np.repeat([1.0, 0.0, 1.0, 0.0], 3)
    plain = np.column_stack([np.ones(12), np.tile([0.0, 1.0, 2.0], 4)])
    nested = np.column_stack([np.ones(12), np.repeat([0.0, 0.0, 1.0, 1.0], 3)])
    own = np.eye(4)[level]
    for fixed, response, expected in (
        (plain, constant, True),
        (nested, constant, True),
        (own, constant, False),
        (plain, np.where(np.arange(12) == 4, 0.5, constant), False),
    ):
        design = design_of(fixed, [term("item", level)], count * response, count)
        assert any("only successes or only failures" in text for text in check_binomial(design)) is expected


@pytest.mark.parametrize("n", [6, 300])
def test_dependent_columns_are_found_in_few_rows_and_in_many(n):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(n, 3))
    wide = np.column_stack([x[:, 0], 2.0 * x[:, 0], x[:, 1], np.zeros(n), x[:, 2], x @ [1.0, -2.0, 3.0]])
    assert dependent_columns(wide).tolist() == [1, 3, 5]
    assert dependent_columns(x).tolist() == []
    assert dependent_columns(x * [1e-8, 1.0, 1e8]).tolist() == []
    assert dependent_columns(wide * [1.0, 1e8, 1e-8, 1.0, 1e-7, 1.0]).tolist() == [1, 3, 5]
    assert dependent_columns(x[:2]).tolist() == [2]
