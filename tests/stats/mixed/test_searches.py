"""Searches for an optimum on functions whose optimum, slope and curvature are known."""

import numpy as np
import pytest

from evalstats.stats.mixed.binomial import (
    FARTHEST_THETA,
    _damped_update,
    _divided,
    _fall,
    _polish,
    _try_zeros,
    held_entries,
    positive,
    quasi_newton,
)
from evalstats.stats.mixed.design import MixedDesign, central_differences, lower_entries
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.glm import fit_logistic
from evalstats.stats.mixed.laplace import DeviancePoint
from evalstats.stats.mixed.linear import LinearCriterion, _standard, fit_linear
from evalstats.stats.mixed.trust_region import difference_hessian, minimise, symmetric_update, trust_step
from tests.stats.mixed.binomial_by_definition import design_of, term
from tests.stats.mixed.dense import rows_design
from tests.stats.mixed.dense import term as term_of


def _quartic(x):
    """Value and gradient of (sum of x^2)^2 / 4, whose Hessian is |x|^2 I + 2 x x'."""
    return float(x @ x) ** 2 / 4.0, (x @ x) * x


@pytest.mark.parametrize("x", [[-1.0, 2.0, -3.0], [0.0, 0.5, -0.5], [-8.0, -1.0, 4.0]])
def test_differences_of_the_gradient_are_the_hessian(x):
    at = np.array(x)
    wanted = at @ at * np.eye(3) + 2.0 * np.outer(at, at)
    assert difference_hessian(_quartic, at, _quartic(at)[1]) == pytest.approx(wanted, rel=1e-4, abs=1e-3)
    lengths = np.array([1e-4, 2e-4, 1e-3])
    columns = central_differences(lambda x: _quartic(x)[1], at, lengths[[2, 0, 1]], [2, 0])
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
    return DeviancePoint(theta=np.zeros(0), beta=np.zeros(0), deviance=deviance, gradient=gradient, effects=[])


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
            fixed=distinct_rows(np.ones((1, 1))),
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


def test_an_update_of_curvature_is_that_of_bfgs_and_damped_where_the_slope_hardly_rises():
    """Powell: the curvature along the step is never below a fifth of what was thought; so it stays positive definite."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(4, 4))
    hessian, moved = root @ root.T + np.eye(4), rng.normal(size=4)
    expected = moved @ hessian @ moved
    for share in (3.0, 1.0, 0.21, 0.19, 0.0, -2.0):
        change = hessian @ rng.normal(size=4)
        change *= share * expected / (moved @ change) if share else 0.0
        new = _damped_update(hessian, moved, change)
        assert moved @ new @ moved == pytest.approx(max(share, 0.2) * expected)
        assert np.linalg.eigvalsh(new)[0] > 0.0
        assert new == pytest.approx(new.T)
        if share > 0.2:
            assert new @ moved == pytest.approx(change)
        # What lies across the step, as the old curvature measures it, is changed by the new slope alone.
        across = np.linalg.svd(np.stack([hessian @ moved, new @ moved]))[2][2:]
        assert across @ new @ across.T == pytest.approx(across @ hessian @ across.T)
    assert _damped_update(-np.eye(4), moved, moved) == pytest.approx(-np.eye(4))
    assert _damped_update(np.eye(4), np.zeros(4), moved) == pytest.approx(np.eye(4))


def test_a_matrix_is_made_positive_by_its_eigenvalues():
    turned = np.array([[0.6, -0.8], [0.8, 0.6]])
    made = positive(turned @ np.diag([-3.0, 0.01]) @ turned.T, 0.1)
    assert made == pytest.approx(turned @ np.diag([3.0, 0.1]) @ turned.T)
    assert positive(np.array([[1.0, 4.0], [0.0, 9.0]]), 0.1) == pytest.approx(np.array([[1.0, 2.0], [2.0, 9.0]]))


def test_a_step_goes_downhill_whatever_rounding_did_to_the_curvature():
    gradient = np.array([0.3, -0.2])
    assert _divided(np.diag([2.0, 4.0]), gradient) == pytest.approx([0.15, -0.05])
    found = _divided(np.diag([1.0, -1e-20]), gradient)
    assert found == pytest.approx([0.3, -0.2e8], rel=1e-6)


def test_what_is_left_to_gain_is_the_depth_of_the_parabola():
    hessian, gradient = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.4, -0.3])
    least = np.linalg.solve(hessian, -gradient)
    assert _fall(gradient, hessian) == pytest.approx(-(gradient @ least + 0.5 * least @ hessian @ least))
    assert _fall(gradient, -hessian) == np.inf


def _slopes(n=12):
    """Two terms, the first with an intercept and two slopes: theta has six entries, then one."""
    rng = np.random.default_rng(0)
    group = np.arange(n) % 4
    terms = [term("user", group, np.ones(n), rng.normal(size=n), rng.normal(size=n)), term("item", np.arange(n) % 3)]
    return design_of(np.ones((n, 1)), terms, np.arange(n) % 2, np.ones(n))


def test_variances_that_cost_nothing_are_set_to_zero_together_the_larger_first():
    """Of a term as many as its largest small one that costs nothing; where that costs, a smaller one."""
    design = _slopes()
    theta = np.array([1.0, 0.1, 0.2, 0.05, 0.0, 0.12, 0.15])

    def tried(cost):
        seen = []

        def evaluate(x):
            seen.append(x.copy())
            return _point(cost(x), np.zeros(7))._replace(theta=x)

        return _try_zeros(design, _point(cost(theta), np.zeros(7))._replace(theta=theta), evaluate), seen

    both, seen = tried(lambda _: 0.0)
    assert both.theta == pytest.approx([1.0, 0.1, 0.2, 0.0, 0.0, 0.0, 0.0])
    assert len(seen) == 2
    one, seen = tried(lambda x: 10.0 * (x[5] < 0.1) + 10.0 * (x[6] == 0.0))
    assert one.theta == pytest.approx([1.0, 0.1, 0.2, 0.0, 0.0, 0.12, 0.15])
    assert len(seen) == 3
    none, _ = tried(lambda x: 10.0 * (x[3] == 0.0) + 10.0 * (x[6] == 0.0))
    assert none.theta == pytest.approx(theta)
    # A rise of a millionth is none; two millionths are one.
    for rise, last in ((0.9e-6, 0.0), (1.9e-6, 0.15)):
        found, _ = tried(lambda x, rise=rise: rise * (x[6] == 0.0))
        assert found.theta[6] == last


def test_a_theta_of_negative_diagonals_is_told_by_its_covariances():
    design = _slopes()
    theta = np.array([-1.0, 0.1, 0.2, 0.5, 0.3, -0.4, 0.6])
    asked = []

    def evaluate(x):
        asked.append(x)
        return _point(0.0, np.zeros(7))._replace(theta=x)

    found = _try_zeros(design, evaluate(theta), evaluate)
    assert len(asked) == 2
    assert found.theta == pytest.approx([1.0, -0.1, -0.2, 0.5, 0.3, 0.4, 0.6])
    for before, after in zip(design.factors(theta), design.factors(found.theta), strict=True):
        assert after @ after.T == pytest.approx(before @ before.T)
    assert _try_zeros(design, found, evaluate) is found
    assert held_entries(design, np.array([1.0, 0.1, 0.2, 0.0, 0.0, 0.4, 0.0])).tolist() == [
        False, False, False, True, True, False, True
    ]  # fmt: skip


def test_polishing_ends_at_the_minimum_with_its_exact_curvature():
    """From a point near it, with a rough curvature; what is held at 0 stays there."""
    design = _slopes()
    hessian = np.diag([3.0, 2.0, 5.0, 1.0, 1.0, 4.0, 2.0, 6.0])
    hessian[0, 7] = hessian[7, 0] = 1.5
    least = np.array([0.7, 0.1, 0.2, 0.0, 0.0, 0.5, 0.4, -0.3])

    class Bowl:
        def __init__(self):
            self.n = 0

        def __call__(self, x):
            self.n += 1
            d = x - least
            value = 0.5 * d @ hessian @ d + 0.01 * (d**4).sum()
            slope = hessian @ d + 0.04 * d**3
            return DeviancePoint(theta=x[:7], beta=x[7:], deviance=value, gradient=slope, effects=[])

    free = np.array([0, 1, 2, 5, 6, 7])
    start = Bowl()(least + np.where(np.isin(np.arange(8), free), [0.1, -0.1, 0.05, 0, 0, 0.2, 0.1, -0.2], 0.0))
    exact, point, fall = _polish(Bowl(), start, free, 4.0 * np.eye(8))
    assert np.concatenate([point.theta, point.beta]) == pytest.approx(least, abs=1e-6)
    assert exact == pytest.approx(hessian[np.ix_(free, free)], abs=1e-3)
    assert 0.0 <= fall < 1e-12
    bowl = Bowl()
    _polish(bowl, start, free, 4.0 * np.eye(8))
    # The curvature, twice 6 evaluations, is taken at the start and once more near the end; steps take one each.
    assert bowl.n <= 30
    assert design.n_theta == 7


@pytest.mark.parametrize("start", [[-1.2, 1.0], [3.0, -2.0], [1.0, 1.0]])
def test_a_search_ends_at_the_minimum_and_counts_what_it_asked(start):
    """Rosenbrock's valley."""
    asked = []

    def valley(x):
        asked.append(x)
        a, b = 1.0 - x[0], x[1] - x[0] ** 2
        return a * a + 100.0 * b * b, np.array([-2.0 * a - 400.0 * x[0] * b, 200.0 * b])

    found = minimise(valley, np.array(start))
    assert found.converged
    assert found.x == pytest.approx([1.0, 1.0], abs=1e-4)
    assert found.value == valley(found.x)[0]
    assert found.gradient == pytest.approx(valley(found.x)[1])
    assert found.hessian == pytest.approx(np.array([[802.0, -400.0], [-400.0, 200.0]]), rel=0.01)
    assert found.n_evaluations == len(asked) - 2


def test_a_step_to_where_nothing_can_be_computed_is_refused_and_made_shorter():
    tried = []

    def cut(x):
        tried.append(float(x[0]))
        if x[0] > 0.5:
            return np.inf, np.zeros(1)
        return float((x[0] - 1.0) ** 2), 2.0 * (x - 1.0)

    found = minimise(cut, np.zeros(1))
    assert 0.4 < found.x[0] <= 0.5
    assert np.isfinite(found.value)
    # Start, its curvature, then 1; a quarter of that step, and on from there.
    assert tried[2] == pytest.approx(1.0)
    shorter = [x for x in tried[3:] if abs(x) > 1e-4]
    assert shorter[0] == pytest.approx(0.25)


def test_a_search_that_finds_no_lower_point_says_so():
    found = minimise(lambda x: (float(x[0]), np.array([-1e3])), np.zeros(1))
    assert (found.converged, found.value) == (False, 0.0)
    assert "no step lowers the deviance" in found.message


@pytest.mark.parametrize("radius", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("gradient", [(0.0, 0.4), (1e-14, -0.4), (0.0, 0.0)])
def test_a_step_leaves_a_ridge_to_one_side(radius, gradient):
    """No slope along the direction that bends down: the lowest points of the circle are two, one on either side."""
    hessian, slope = np.diag([-1.0, 2.0]), np.array(gradient)
    step, promised = trust_step(slope, hessian, radius)
    angles = np.linspace(0.0, 2.0 * np.pi, 100_001)
    points = radius * np.stack([np.cos(angles), np.sin(angles)])
    lowest = (slope @ points + 0.5 * (points * (hessian @ points)).sum(axis=0)).min()
    assert np.linalg.norm(step) == pytest.approx(radius)
    assert -promised == pytest.approx(lowest, abs=1e-6)


@pytest.mark.parametrize(("columns", "off"), [(1, 0.02), (2, 0.1)])
def test_a_search_begins_near_its_end_where_levels_have_many_rows(columns, off):
    """EM's first steps forget where they came from where the data say what every effect is."""
    rng = np.random.default_rng(columns)
    level, x = np.repeat(np.arange(20), 150), rng.normal(size=3000)
    ones = ("(Intercept)", np.ones(3000))
    slopes = [ones, ("x", x)][:columns]
    root = np.array([[0.6, 0.0], [0.9, 0.5]])[:columns, :columns]
    effects = rng.normal(size=(20, columns)) @ root.T
    y = rng.normal(size=3000) + sum(effects[level, k] * values for k, (_, values) in enumerate(slopes))
    design = rows_design([ones], [term_of("item", level, *slopes)], y)
    criterion = LinearCriterion(design)
    (drawn,) = design.terms
    information = np.sqrt(design.count @ drawn.values**2 / drawn.n_levels)[lower_entries(columns)[0]]
    first, found = _standard(criterion, information), fit_linear(design)
    (begun,), (ended,) = design.factors(first), design.factors(found.theta)
    assert begun @ begun.T == pytest.approx(ended @ ended.T, rel=off, abs=off * np.trace(ended @ ended.T))
