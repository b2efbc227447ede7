"""Searches for an optimum on functions whose optimum, slope and curvature are known."""

import numpy as np
import pytest

from evalstats.stats.mixed.binomial import FARTHEST_THETA, difference_columns, quasi_newton
from evalstats.stats.mixed.design import MixedDesign
from evalstats.stats.mixed.glm import fit_logistic
from evalstats.stats.mixed.laplace import Point
from evalstats.stats.mixed.linear import difference_hessian, symmetric_update, trust_step
from evalstats.stats.mixed.linear_elimination import _combine


def _quartic(x):
    """Value and gradient of (sum of x^2)^2 / 4, whose Hessian is |x|^2 I + 2 x x'."""
    return float(x @ x) ** 2 / 4.0, (x @ x) * x


@pytest.mark.parametrize("x", [[-1.0, 2.0, -3.0], [0.0, 0.5, -0.5], [-8.0, -1.0, 4.0]])
def test_differences_of_the_gradient_are_the_hessian(x):
    at = np.array(x)
    wanted = at @ at * np.eye(3) + 2.0 * np.outer(at, at)
    assert difference_hessian(_quartic, at, _quartic(at)[1]) == pytest.approx(wanted, rel=1e-4, abs=1e-3)
    lengths = np.array([1e-4, 2e-4, 1e-3])
    columns = difference_columns(lambda x: _point(*_quartic(x)), at, [2, 0], lengths[[2, 0, 1]])
    assert columns == pytest.approx(wanted[:, [2, 0]], rel=1e-4, abs=1e-4)


def test_an_updated_hessian_maps_the_last_step_to_the_last_change_and_nothing_else_changes():
    rng = np.random.default_rng(0)
    hessian = np.eye(4) + 0.1 * np.ones((4, 4))
    step, change = rng.normal(size=(2, 4))
    new = symmetric_update(hessian, step, change)
    assert new @ step == pytest.approx(change)
    assert new == pytest.approx(new.T)
    assert np.linalg.matrix_rank(new - hessian) == 1
    assert symmetric_update(hessian, step, hessian @ step) == pytest.approx(hessian)


@pytest.mark.parametrize("radius", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("curvature", [(1.0, 2.0), (-1.0, 2.0), (-3.0, -1.0)])
def test_a_step_within_a_radius_is_the_lowest_point_of_the_model_there(radius, curvature):
    turned = np.array([[0.6, -0.8], [0.8, 0.6]])
    hessian, gradient = turned @ np.diag(curvature) @ turned.T, np.array([0.7, -0.4])
    step, promised = trust_step(gradient, hessian, radius)
    angles, lengths = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 721), np.linspace(0.0, 1.0, 201))
    points = radius * (lengths * np.stack([np.cos(angles), np.sin(angles)])).reshape(2, -1)
    lowest = (gradient @ points + 0.5 * (points * (hessian @ points)).sum(axis=0)).min()
    assert np.linalg.norm(step) <= radius * (1.0 + 1e-9)
    assert promised == pytest.approx(-(gradient @ step + 0.5 * step @ hessian @ step))
    assert -promised <= lowest + 1e-9


def _point(deviance, gradient):
    return Point(theta=np.zeros(0), beta=np.zeros(0), deviance=deviance, gradient=gradient, effects=[])


def _parabola(x):
    return _point(float(x @ x), 2.0 * x)


@pytest.mark.parametrize("length", [2.0001, 3.0, 5.0, 9.0])
def test_a_step_too_long_is_cut_to_the_lowest_point_of_a_parabola(length):
    """From 1 the whole step lands beyond -1, where x^2 is higher again; one more evaluation hits the minimum at 0."""
    start = np.ones(1)
    found = quasi_newton(_parabola, start, _parabola(start), np.array([[2.0 / length]]), n_theta=0)
    assert found.converged
    assert found.n_evaluations == 2
    assert found.point.deviance == pytest.approx(0.0, abs=1e-12)
    assert found.hessian == pytest.approx(np.array([[2.0]]))


def test_a_step_shorter_than_the_best_is_taken_whole_and_learnt_from():
    start = np.ones(1)
    found = quasi_newton(_parabola, start, _parabola(start), np.array([[4.0]]), n_theta=0)
    # To 0.5 with half of the right step; there the curvature is known, and the next step ends at 0.
    assert (found.converged, found.n_evaluations) == (True, 2)
    assert found.point.deviance == pytest.approx(0.0, abs=1e-12)


def test_a_search_that_runs_away_has_not_converged():
    def falling(x):
        return _point(-float(x[0]), np.array([-1.0]))

    found = quasi_newton(falling, np.ones(1), falling(np.ones(1)), np.array([[0.1]]), n_theta=1)
    assert not found.converged
    assert -found.point.deviance > FARTHEST_THETA


@pytest.mark.parametrize("successes", [3, 7, 9])
def test_the_slope_left_has_a_size_and_no_side(successes):
    """The largest slope of a fit of failures is that of the fit of successes."""

    def left(share):
        design = MixedDesign(
            fixed=np.ones((1, 1)),
            fixed_names=("(Intercept)",),
            terms=(),
            count=np.array([10.0]),
            response=np.array([share]),
        )
        fit = fit_logistic(design)
        assert fit.convergence.converged
        assert fit.beta[0] == pytest.approx(np.log(share / (1.0 - share)))
        return fit.convergence.gradient

    assert left(successes / 10) >= 0.0
    assert left(successes / 10) == pytest.approx(left(1.0 - successes / 10), abs=1e-9)


@pytest.mark.parametrize("weight", [[1.0], [2.0], [0.5], [1.0, 2.0], [3.0, 1.0, 0.25]])
def test_classes_of_cells_are_added_by_weight(weight):
    arrays = [np.arange(6.0).reshape(2, 3) + 10.0 * k for k in range(len(weight))]
    wanted = sum(w * each for w, each in zip(weight, arrays, strict=True))
    assert _combine(np.array(weight), arrays) == pytest.approx(wanted)
