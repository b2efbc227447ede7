"""Binomial mixed models: what does not change a fit, what is refused in words, refits, and scores of clusters."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.binomial import canonical, cluster_scores, fit_binomial, refit_binomial
from evalstats.stats.mixed.distinct_rows import distinct_rows
from tests.stats.mixed.binomial_by_definition import (
    dense_columns,
    dense_laplace,
    design_of,
    dummies,
    integrated_deviance,
    reordered,
    some_designs,
    term,
)

SAME = 1e-6  # logits: two searches for one optimum end this near to each other
ZERO_SUM = 1e-5  # what scores may add up to: the gradient at which the search stops


@pytest.fixture(scope="module")
def design():
    """Items crossed with models in three trials, items nested in scenarios."""
    rng = np.random.default_rng(5)
    item, model = np.repeat(np.arange(40), 4), np.tile(np.arange(4), 40)
    scenario = item % 3
    eta = 0.5 * model - 0.6 + 0.4 * scenario + rng.normal(size=40)[item] + 0.7 * rng.normal(size=160)
    successes = rng.binomial(3, 1.0 / (1.0 + np.exp(-eta)))
    terms = [term("item", item), term("item:model", item * 4 + model)]
    return design_of(dummies(model, scenario), terms, successes, np.full(160, 3))


@pytest.fixture(scope="module")
def fit(design):
    return fit_binomial(design)


@pytest.fixture(scope="module")
def one():
    rng = np.random.default_rng(7)
    group = np.sort(rng.integers(0, 12, 40))
    eta = 0.4 + 1.5 * rng.normal(size=12)[group]
    successes = rng.binomial(2, 1.0 / (1.0 + np.exp(-eta)))
    fixed = np.column_stack([np.ones(40), rng.normal(size=40)])
    return design_of(fixed, [term("group", group)], successes, np.full(40, 2))


def slopes_design(seed=6):
    rng = np.random.default_rng(seed)
    user, x = np.repeat(np.arange(30), 8), rng.normal(size=240)
    effects = rng.multivariate_normal([0, 0], [[1.0, 0.4], [0.4, 0.6]], size=30)
    eta = -0.3 + 0.5 * x + effects[user, 0] + effects[user, 1] * x
    successes = rng.binomial(3, 1.0 / (1.0 + np.exp(-eta)))
    fixed = np.column_stack([np.ones(240), x])
    return design_of(fixed, [term("user", user, np.ones(240), x)], successes, np.full(240, 3))


class TestWhatDoesNotChangeAFit:
    def test_order_of_cells(self, design, fit):
        other = fit_binomial(reordered(design, np.random.default_rng(1).permutation(design.n_cells)))
        assert other.deviance == pytest.approx(fit.deviance, abs=1e-8)
        np.testing.assert_allclose(other.beta, fit.beta, atol=SAME)
        np.testing.assert_allclose(other.joint_covariance, fit.joint_covariance, atol=SAME)
        for ours, theirs in zip(fit.effects, other.effects, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=SAME)

    def test_order_of_terms(self, design, fit):
        other = fit_binomial(replace(design, terms=design.terms[::-1]))
        np.testing.assert_allclose(other.theta[::-1], fit.theta, atol=SAME)
        np.testing.assert_allclose(other.beta, fit.beta, atol=SAME)
        np.testing.assert_allclose(other.effects[0], fit.effects[1], atol=SAME)

    def test_names_of_levels(self, design, fit):
        """Levels numbered otherwise: modes move with their labels."""
        order = np.random.default_rng(2).permutation(design.terms[0].n_levels)
        turned = replace(design.terms[0], level=np.argsort(order)[design.terms[0].level])
        other = fit_binomial(replace(design, terms=(turned, design.terms[1])))
        np.testing.assert_allclose(other.effects[0], fit.effects[0][order], atol=SAME)
        np.testing.assert_allclose(other.effect_covariances[0], fit.effect_covariances[0][order], atol=SAME)

    def test_unused_levels(self, design, fit):
        first = design.terms[0]
        wider = replace(first, levels=(*first.levels, "never seen"))
        other = fit_binomial(replace(design, terms=(wider, design.terms[1])))
        assert other.deviance == pytest.approx(fit.deviance, abs=1e-8)
        # Nothing is known of it but its law.
        assert other.effects[0][-1] == 0.0
        assert other.effect_covariances[0][-1] == pytest.approx(fit.theta[0] ** 2)

    def test_failures_counted_for_successes(self, design, fit):
        other = fit_binomial(replace(design, response=1.0 - design.response))
        np.testing.assert_allclose(other.beta, -fit.beta, atol=SAME)
        np.testing.assert_allclose(other.theta, fit.theta, atol=SAME)
        np.testing.assert_allclose(other.effects[0], -fit.effects[0], atol=SAME)
        np.testing.assert_allclose(other.covariance, fit.covariance, atol=SAME)

    def test_trials_in_rows_of_their_own(self, design, fit):
        """Three rows of one trial each are the cell of three, but for the binomial coefficients."""
        cell = np.repeat(np.arange(design.n_cells), 3)
        successes = np.rint(design.response * 3).astype(int)
        single = np.concatenate([[1] * k + [0] * (3 - k) for k in successes])
        whole = reordered(design, cell)
        other = fit_binomial(replace(whole, count=np.ones(cell.size), response=single.astype(float), log_constant=0.0))
        assert other.log_likelihood == pytest.approx(fit.log_likelihood - design.log_constant, abs=1e-8)
        np.testing.assert_allclose(other.beta, fit.beta, atol=SAME)

    def test_coding_of_the_factors(self, design, fit):
        turn = np.random.default_rng(3).normal(size=(design.fixed.n_columns,) * 2)
        other = fit_binomial(replace(design, fixed=distinct_rows(design.fixed.at() @ turn)))
        assert other.deviance == pytest.approx(fit.deviance, abs=1e-8)
        np.testing.assert_allclose(turn @ other.beta, fit.beta, atol=1e-5)
        np.testing.assert_allclose(turn @ other.covariance @ turn.T, fit.covariance, atol=1e-4)

    def test_offset_moves_the_coefficient(self, design, fit):
        other = fit_binomial(replace(design, offset=0.7 * design.fixed.at()[:, 1]))
        np.testing.assert_allclose(other.beta[1], fit.beta[1] - 0.7, atol=SAME)
        assert other.deviance == pytest.approx(fit.deviance, abs=1e-8)

    @pytest.mark.parametrize("unit", [1e6, 1e-6])
    def test_units_of_a_covariate(self, unit):
        design = slopes_design()
        fit = fit_binomial(design)
        other = fit_binomial(replace(design, fixed=distinct_rows(design.fixed.at() * [1.0, unit])))
        assert other.convergence.converged
        np.testing.assert_allclose(other.beta * [1.0, unit], fit.beta, atol=SAME)
        np.testing.assert_allclose(other.std_errors * [1.0, unit], fit.std_errors, rtol=1e-4)

    @pytest.mark.parametrize("start", [[0.2, 3.0], [4.0, 0.2], [-1.0, 1.0]])
    def test_start(self, design, fit, start):
        other = fit_binomial(design, start=np.array(start))
        np.testing.assert_allclose(other.theta, fit.theta, atol=SAME)


class TestUncertainty:
    """The Hessian of the dense deviance by differences of its values."""

    @pytest.mark.parametrize("made", [slopes_design, lambda: some_designs(3)["nested in nested"]])
    def test_joint_covariance(self, made):
        design = made()
        fit = fit_binomial(design)
        at = np.concatenate([fit.theta, fit.beta])
        free = np.flatnonzero(np.diag(fit.joint_covariance))

        def deviance(x):
            return dense_laplace(design, x[: design.n_theta], x[design.n_theta :])[0]

        steps = 3e-3 * np.eye(at.size)[free]
        hessian = np.zeros((len(steps), len(steps)))
        for i, j in zip(*np.triu_indices(len(steps)), strict=True):
            a, b = steps[i], steps[j]
            differences = (s * t * deviance(at + s * a + t * b) for s in (1, -1) for t in (1, -1))
            hessian[i, j] = hessian[j, i] = sum(differences) / (4 * 9e-6)
        expected = 2.0 * np.linalg.inv(hessian)
        np.testing.assert_allclose(fit.joint_covariance[np.ix_(free, free)], expected, atol=2e-4 * expected.max())
        assert fit.convergence.curvature == pytest.approx(np.linalg.eigvalsh(hessian)[0], rel=2e-3)

    def test_modes_and_conditional_covariances(self):
        design = slopes_design()
        fit = fit_binomial(design)
        _, u, h = dense_laplace(design, fit.theta, fit.beta)
        (factor,) = design.factors(fit.theta)
        np.testing.assert_allclose(fit.effects[0], u.reshape(-1, 2) @ factor.T, atol=1e-6)
        inverse = np.linalg.inv(h)
        for level in range(4):
            part = inverse[2 * level : 2 * level + 2, 2 * level : 2 * level + 2]
            np.testing.assert_allclose(fit.effect_covariances[0][level], factor @ part @ factor.T, atol=1e-8)

    def test_fast_start_has_the_covariance_given_theta(self, design):
        fit = fit_binomial(design, n_quadrature=0)
        assert fit.method == "nAGQ=0"
        a, x = dense_columns(design, fit.theta), design.fixed.at()
        _, u, h = dense_laplace(design, fit.theta, fit.beta)
        mean = 1.0 / (1.0 + np.exp(-(x @ fit.beta + a @ u)))
        w = (design.count * mean * (1.0 - mean))[:, None]
        precision = x.T @ (w * x) - x.T @ (w * a) @ np.linalg.solve(h, a.T @ (w * x))
        np.testing.assert_allclose(fit.covariance, np.linalg.inv(precision), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(x.T @ (design.count * (design.response - mean)), 0.0, atol=1e-6)


class TestQuadrature:
    """One random intercept: the integral over a fine grid is the truth."""

    def test_many_points_are_the_integral(self, one):
        fit = fit_binomial(one, n_quadrature=31)
        constant = 2.0 * one.log_constant
        assert fit.deviance + constant == pytest.approx(
            integrated_deviance(one, float(fit.theta[0]), fit.beta), abs=1e-7
        )
        # ... and its optimum is that of the integral: no point nearby is lower.
        for k, step in ((0, 0.02), (0, -0.02), (1, 0.02), (1, -0.02)):
            beta = fit.beta.copy()
            beta[k] += step
            assert integrated_deviance(one, float(fit.theta[0]), beta) > fit.deviance + constant
        assert integrated_deviance(one, float(fit.theta[0]) + 0.02, fit.beta) > fit.deviance + constant
        assert integrated_deviance(one, float(fit.theta[0]) - 0.02, fit.beta) > fit.deviance + constant

    def test_more_points_come_nearer(self, one):
        theta, beta = np.array([1.4]), np.array([0.3, 0.1])
        truth = integrated_deviance(one, 1.4, beta)
        errors = [abs(quadrature_deviance(one, theta, beta, n) - truth) for n in (1, 3, 7, 15)]
        assert errors == sorted(errors, reverse=True)
        assert errors[0] == pytest.approx(abs(dense_laplace(one, theta, beta)[0] - truth), rel=1e-8)

    def test_joint_covariance_of_the_integral(self, one):
        fit = fit_binomial(one, n_quadrature=31)
        at, steps = np.concatenate([fit.theta, fit.beta]), 0.01 * np.eye(3)

        def deviance(x):
            return integrated_deviance(one, float(x[0]), x[1:])

        hessian = np.array(
            [
                [sum(s * t * deviance(at + s * a + t * b) for s in (1, -1) for t in (1, -1)) / 4e-4 for a in steps]
                for b in steps
            ]
        )
        np.testing.assert_allclose(fit.joint_covariance, 2.0 * np.linalg.inv(hessian), rtol=1e-3, atol=1e-5)


def quadrature_deviance(design, theta, beta, n_points):
    from evalstats.stats.mixed.laplace import BinomialCells, quadrature

    cells = BinomialCells(design)
    return quadrature(cells, theta, beta, cells.no_effects(), n_points).deviance


@pytest.mark.parametrize("n_points", [1, 3, 9])
def test_gradient_of_the_quadrature(n_points):
    from evalstats.stats.mixed.laplace import BinomialCells, quadrature

    for name in ("item", "only a level for each cell"):
        cells = BinomialCells(some_designs(4, 60)[name])
        theta, beta = np.array([-0.8]), 0.3 * np.arange(cells.design.fixed.n_columns)
        gradient = quadrature(cells, theta, beta, cells.no_effects(), n_points).gradient
        for k, step in enumerate(1e-5 * np.eye(gradient.size)):
            ends = [
                quadrature(cells, theta + s * step[:1], beta + s * step[1:], cells.no_effects(), n_points).deviance
                for s in (1.0, -1.0)
            ]
            assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-5)


@pytest.mark.parametrize("n_quadrature", [3, 5])
def test_a_fit_by_quadrature_is_at_the_bottom_of_its_own_deviance(n_quadrature):
    rng = np.random.default_rng(9)
    item = np.repeat(np.arange(15), 4)
    successes = rng.binomial(3, 1.0 / (1.0 + np.exp(-1.5 * rng.normal(size=15)[item])))
    design = design_of(
        np.column_stack([np.ones(60), rng.normal(size=60)]), [term("item", item)], successes, np.full(60, 3)
    )
    fit = fit_binomial(design, n_quadrature=n_quadrature)
    at = np.concatenate([fit.theta, fit.beta])
    least = quadrature_deviance(design, fit.theta, fit.beta, n_quadrature)
    for step in 1e-3 * np.vstack([np.eye(3), -np.eye(3)]):
        assert quadrature_deviance(design, (at + step)[:1], (at + step)[1:], n_quadrature) > least


class TestScores:
    @pytest.mark.parametrize("n_quadrature", [1, 5])
    def test_are_derivatives_of_each_clusters_likelihood(self, n_quadrature):
        """Leave all other clusters out: the difference quotient of what remains is the cluster's row."""
        rng = np.random.default_rng(8)
        item = np.repeat(np.arange(12), 5)
        successes = rng.binomial(4, 1.0 / (1.0 + np.exp(-rng.normal(size=12)[item])))
        design = design_of(
            np.column_stack([np.ones(60), rng.normal(size=60)]), [term("item", item)], successes, np.full(60, 4)
        )
        fit = fit_binomial(design, n_quadrature=n_quadrature)
        clusters = item // 3
        scores = cluster_scores(fit, clusters)
        np.testing.assert_allclose(scores.sum(axis=0), 0.0, atol=ZERO_SUM)
        at = np.concatenate([fit.theta, fit.beta])
        for cluster in range(4):
            alone = reordered(design, np.flatnonzero(clusters == cluster))
            for k, step in enumerate(1e-5 * np.eye(3)):
                ends = [
                    quadrature_deviance(alone, (at + s * step)[:1], (at + s * step)[1:], n_quadrature) for s in (1, -1)
                ]
                assert scores[cluster, k] == pytest.approx(-0.5 * (ends[0] - ends[1]) / 2e-5, abs=1e-6)

    def test_of_nested_effects_in_their_outer_grouping(self, design, fit):
        scores = cluster_scores(fit, design.terms[0].level)
        assert scores.shape == (40, 2 + design.fixed.n_columns)
        np.testing.assert_allclose(scores.sum(axis=0), 0.0, atol=ZERO_SUM)


class TestRefit:
    @pytest.mark.parametrize("n_quadrature", [0, 1, 3])
    def test_is_the_fit_to_the_new_response(self, n_quadrature):
        design = some_designs(9)["item"]
        other = replace(
            design, response=np.random.default_rng(9).binomial(design.count.astype(int), 0.5) / design.count
        )
        fit = fit_binomial(design, n_quadrature=n_quadrature)
        expected = fit_binomial(other, n_quadrature=n_quadrature)
        again = refit_binomial(fit, other.response)
        assert again.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-6)
        np.testing.assert_allclose(again.beta, expected.beta, atol=1e-3)
        np.testing.assert_allclose(again.theta, expected.theta, atol=2e-3)

    def test_leaves_a_variance_of_zero_again(self, design, fit):
        """From a fit on the boundary to data with a variance, and back."""
        flat = replace(design, response=np.tile([1.0, 2.0, 2.0, 1.0], 40) / 3.0)
        at_zero = refit_binomial(fit, flat.response)
        assert (at_zero.theta == 0.0).all()
        np.testing.assert_allclose(refit_binomial(at_zero, design.response).theta, fit.theta, atol=1e-3)


class TestSingular:
    def test_perfect_correlation(self):
        """Slopes that are twice the intercepts: the covariance has rank 1, and the fit says so."""
        rng = np.random.default_rng(10)
        group, x = np.repeat(np.arange(12), 10), np.tile(np.linspace(-1, 1, 10), 12)
        effect = rng.normal(size=12)
        successes = rng.binomial(5, 1.0 / (1.0 + np.exp(-(effect[group] * (1.0 + 2.0 * x)))))
        fixed = np.column_stack([np.ones(120), x])
        design = design_of(fixed, [term("group", group, np.ones(120), x)], successes, np.full(120, 5))
        fit = fit_binomial(design)
        assert fit.singular == ("the effects of group are estimated as perfectly correlated",)
        assert fit.theta[2] == 0.0
        correlation = fit.covariances()[0]
        assert correlation[0, 1] ** 2 == pytest.approx(correlation[0, 0] * correlation[1, 1])
        assert fit.convergence.converged

    def test_a_variance_of_zero_beats_any_small_one(self, design):
        flat = replace(design, response=np.tile([1.0, 2.0, 2.0, 1.0], 40) / 3.0)
        fit = fit_binomial(flat)
        assert fit.singular == (
            "the variance of item is estimated as 0",
            "the variance of item:model is estimated as 0",
        )
        for theta in ([0.1, 0.0], [0.0, 0.1], [0.05, 0.05]):
            assert dense_laplace(flat, np.array(theta), fit.beta)[0] > fit.deviance + 2.0 * flat.log_constant

    def test_canonical_theta_keeps_covariances(self):
        design = slopes_design()
        for theta in ([-1.0, 0.5, -0.7], [0.0, 0.6, 0.8], [1.0, -2.0, 0.0], [0.0, 0.0, 0.0]):
            (before,), (after,) = design.factors(np.array(theta)), design.factors(canonical(design, np.array(theta)))
            np.testing.assert_allclose(after @ after.T, before @ before.T, atol=1e-12)
            assert (np.diag(after) >= 0.0).all()
        np.testing.assert_allclose(canonical(design, np.array([0.0, 0.6, 0.8])), [0.0, 0.0, 1.0])


class TestRefusals:
    def with_response(self, design, index, value):
        response = design.response.copy()
        response[index] = value
        return replace(design, response=response)

    def test_response_outside_0_to_1(self, design):
        with pytest.raises(InputError, match="2 of 160 cells have a response outside 0 to 1"):
            fit_binomial(self.with_response(design, [3, 4], [1.5, -0.1]))

    def test_successes_that_are_not_whole(self, design):
        with pytest.raises(
            InputError, match=r"1 cells hold no whole number of successes .the first: 0.5 of 3 trials.*linear"
        ):
            fit_binomial(self.with_response(design, 7, 0.5))

    def test_nan(self, design):
        with pytest.raises(InputError, match="NaN"):
            fit_binomial(self.with_response(design, 7, np.nan))

    def test_cells_without_trials(self, design):
        with pytest.raises(InputError, match="1 cells have no trial"):
            fit_binomial(replace(design, count=np.r_[0.0, design.count[1:]]))

    @pytest.mark.parametrize(("value", "what"), [(1.0, "successes"), (0.0, "failures")])
    def test_constant_response(self, design, value, what):
        with pytest.raises(CannotAnswerError, match=f"all 480 trials are {what}"):
            fit_binomial(replace(design, response=np.full(160, value)))

    def test_rank(self, design):
        fixed = np.column_stack(
            [design.fixed.at(), design.fixed.at()[:, 1] + design.fixed.at()[:, 2], design.fixed.at()[:, 4]]
        )
        deficient = replace(design, fixed=distinct_rows(fixed), fixed_names=(*design.fixed_names, "sum", "twin"))
        with pytest.raises(InputError, match="8 fixed effects, but columns 'sum', 'twin' follow from those before"):
            fit_binomial(deficient)

    def test_a_grouping_with_one_level(self, design):
        with pytest.raises(InputError, match="'domain' has one level"):
            fit_binomial(replace(design, terms=(*design.terms, term("domain", np.zeros(160)))))

    def test_no_random_effect(self, design):
        with pytest.raises(InputError, match="no random effect"):
            fit_binomial(replace(design, terms=()))

    def test_a_level_for_each_single_trial(self, design):
        single = replace(design, count=np.ones(160), response=(design.response > 0.5).astype(float))
        with pytest.raises(CannotAnswerError, match="every level of 'item:model' has one trial"):
            fit_binomial(single)

    def test_quadrature_with_two_effects(self, design):
        with pytest.raises(InputError, match=r"one scalar random effect, and the model has .*item.*n_quadrature=1"):
            fit_binomial(design, n_quadrature=5)

    @pytest.mark.parametrize("n_quadrature", [-1, 2, 4])
    def test_number_of_points(self, design, n_quadrature):
        with pytest.raises(InputError, match="odd number of points"):
            fit_binomial(design, n_quadrature=n_quadrature)


class TestWarnings:
    def test_few_levels(self, design):
        fit = fit_binomial(replace(design, terms=(*design.terms, term("batch", np.arange(160) % 3))))
        assert any("batch has only 3 levels" in warning for warning in fit.warnings)

    def test_a_variance_that_runs_to_infinity(self):
        """Every item always fails or always succeeds: the integral has no maximum in the variance."""
        item = np.repeat(np.arange(30), 6)
        successes = (item % 2).astype(float)
        fixed = np.column_stack([np.ones(180), np.tile([0.0, 1.0], 90)])
        design = design_of(fixed, [term("item", item)], successes * 4, np.full(180, 4))
        for n_quadrature in (0, 1, 9):
            fit = fit_binomial(design, n_quadrature=n_quadrature)
            assert any("only successes or only failures" in warning for warning in fit.warnings)
            assert np.isfinite(fit.theta).all()
            assert np.isfinite(fit.beta).all()
