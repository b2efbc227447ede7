"""Partial pooling of strengths by category: the mixed model by hand, and tau, its test and intervals by simulation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena import slices
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.slices import (
    DeviationModel,
    _averaged,
    _best,
    _grid,
    _interval,
    _p_value,
    _widths,
    cluster_noise,
    clustering,
    deviation_model,
    draws_without,
    pooled_strengths,
    slice_strengths,
)
from evalstats.stats.arena.votes import vote_rows
from tests.stats.arena.check_votes import drawn_votes, share_small, with_slices


def by_category(seed, *, n=3000, n_models=8, n_categories=4, tau=0.0, n_raters=0, rater_sd=0.0, nested=False):
    """Votes in categories of unequal size, and the true deviations, of mean 0 in each."""
    rng = np.random.default_rng(seed)
    share = np.arange(1.0, n_categories + 1)
    category = rng.choice(n_categories, n, p=share / share.sum())
    deviations = rng.normal(0, tau, (n_categories, n_models))
    rater = rng.integers(0, max(n_raters, 1), n) + (category * n_raters if nested else 0)
    liking = rng.normal(0, rater_sd, (int(rater.max()) + 1, n_models))

    def extra(first, second):
        return deviations[category, first] - deviations[category, second] + liking[rater, first] - liking[rater, second]

    clusters = ((rater,) if n_raters else ()) + (category,)
    rows = drawn_votes(rng, rng.normal(0, 0.5, n_models), n, extra=extra, clusters=clusters)
    return *with_slices(rows), deviations - deviations.mean(axis=1, keepdims=True)


# The mixed model


def dense(model: DeviationModel):
    """Values, design and noise of all categories in one system."""
    y, x = np.concatenate(model.values), np.vstack([axes.T for axes in model.axes])
    return y, x, np.diag(np.concatenate(model.noise))


def an_expansion(seed=0, **more):
    rows, category, _ = by_category(seed, **more)
    fit = fit_strengths(rows)
    n_categories = int(category.max()) + 1
    common = np.repeat(fit.strengths[None], n_categories, axis=0)
    return deviation_model(fit, rows, category, strengths=common)


@pytest.mark.parametrize("tau", [0.0, 0.1, 0.6])
def test_restricted_likelihood_is_that_of_error_contrasts(tau):
    """Of K'y for an orthonormal basis K of what strengths do not reach, with the design's own volume added."""
    model = an_expansion(n=600, n_models=5, tau=0.3)
    y, x, noise = dense(model)
    left, size, _ = np.linalg.svd(x)
    kept = size > 1e-9 * size[0]
    basis = left[:, np.count_nonzero(kept) :]
    law = stats.multivariate_normal(cov=basis.T @ (tau**2 * np.eye(y.size) + noise) @ basis)
    volume = np.log(size[kept]).sum()
    constant = 0.5 * basis.shape[1] * np.log(2 * np.pi)
    assert model.log_lik(tau) == pytest.approx(law.logpdf(basis.T @ y) + constant - volume, abs=1e-8)


@pytest.mark.parametrize("tau", [0.1, 0.6])
def test_predictions_are_best_linear(tau):
    """Against the joint normal law of deviations and values, strengths with a flat prior."""
    model = an_expansion(1, n=600, n_models=5, tau=0.3)
    y, x, noise = dense(model)
    n, n_categories = 5, len(model.axes)
    z = np.zeros((y.size, n * n_categories))
    at = 0
    for s, axes in enumerate(model.axes):
        z[at : at + axes.shape[1], s * n : (s + 1) * n] = axes.T
        at += axes.shape[1]
    wide = 1e6  # a prior of strengths that is flat for all purposes
    joint = wide * x @ x.T + tau**2 * z @ z.T + noise
    gain = np.linalg.solve(joint, tau**2 * z).T
    centre = np.kron(np.eye(n_categories), np.eye(n) - 1 / n)
    mean = (centre @ gain @ y).reshape(n_categories, n)
    error = np.diag(centre @ (tau**2 * np.eye(z.shape[1]) - gain @ (tau**2 * z)) @ centre).reshape(n_categories, n)
    strengths, deviations, variances = model.predict(tau)
    # A prior variance of 1e6 leaves 1e-6, and the inverse of so wide a matrix loses six digits more.
    np.testing.assert_allclose(deviations, mean, atol=1e-5)
    np.testing.assert_allclose(variances, error, atol=1e-5)
    assert strengths.sum() == pytest.approx(0.0, abs=1e-9)


def test_expansion_is_one_step_towards_the_category_s_own_fit():
    rows, category, _ = by_category(2, n=20_000, n_models=4, tau=0.05)
    fit = fit_strengths(rows)
    common = np.repeat(fit.strengths[None], 4, axis=0)
    model = deviation_model(fit, rows, category, strengths=common)
    for s in range(4):
        own = slice_strengths(rows.take(category == s))[1].strengths
        # A step of size d is wrong by d^2: deviations are about 0.1.
        np.testing.assert_allclose(model.axes[s] @ model.values[s], own, atol=0.02)
        errors = (model.axes[s] ** 2 * model.noise[s]).sum(axis=1) ** 0.5
        assert np.all((errors * np.sqrt(np.sum(rows.weight[category == s])) > 0.5) & (errors < 1.0))


def test_draws_have_the_law_of_refits():
    """The simulated ratio at its maximum over tau, against a fine search on some draws."""
    model = an_expansion(3, n=800, n_models=5)
    drawn = draws_without(model, np.linspace(0, 1.0, 32), 8, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    values = [rng.standard_normal((8, noise.size)) * np.sqrt(noise) for noise in model.noise]
    for k in range(8):
        one = replace(model, values=tuple(v[k] for v in values))
        best = max(one.log_lik(tau) for tau in np.linspace(0, 1.0, 200))
        # Between two values of tau of the grid a maximum is missed by little.
        assert drawn[k] == pytest.approx(2 * (best - one.log_lik(0.0)), abs=0.05)


# The whole


def test_names_and_order_change_nothing():
    rows, category, _ = by_category(4, n=800, n_models=5, tau=0.4)
    rng = np.random.default_rng(0)
    name, order, level = rng.permutation(5), rng.permutation(rows.n_rows), rng.permutation(4)
    other = replace(rows, first=name[rows.first], second=name[rows.second]).take(order)
    one = pooled_strengths(fit_strengths(rows), rows, category, n_resamples=99)
    two = pooled_strengths(fit_strengths(other), other, level[category][order], n_resamples=99)
    np.testing.assert_allclose(two.deviations[np.ix_(level, name)], one.deviations, atol=1e-5)
    assert two.tau == pytest.approx(one.tau, rel=1e-4)


def test_deviations_are_drawn_towards_nothing():
    rows, category, _ = by_category(5, n=1500, tau=0.3)
    fit = fit_strengths(rows)
    found = pooled_strengths(fit, rows, category, n_resamples=99)
    own = np.array([slice_strengths(rows.take(category == s))[1].strengths for s in range(4)]) - fit.strengths
    assert np.abs(found.deviations).mean() < np.abs(own).mean()
    assert np.corrcoef(found.deviations.ravel(), own.ravel())[0, 1] > 0.8
    # The category with the fewest votes is drawn the most.
    slope = [(found.deviations[s] @ own[s]) / (own[s] @ own[s]) for s in range(4)]
    assert slope[0] < slope[3]
    np.testing.assert_allclose(found.deviations.sum(axis=1), 0, atol=1e-9)


def test_without_deviations_no_interval_is_of_no_width():
    rows, category, _ = by_category(16, n=1000)
    found = pooled_strengths(fit_strengths(rows), rows, category, n_resamples=99)
    assert (found.std_error > 1e-3).all()
    assert found.tau_low == 0.0
    assert found.tau_high > 0.02
    assert found.p_value > 0.05


def test_a_category_that_does_not_connect_is_pooled():
    rows, category, _ = by_category(7, n=2000, n_models=6, tau=0.3)
    # In category 0 only 0-1 and 2-3 meet, and 0 always beats 1.
    alone = vote_rows([0, 2, 2], [1, 3, 3], [0, 0, 1], n_models=6, count=[15, 10, 5])
    kept = rows.take(category > 0)
    both = vote_rows(
        np.concatenate([kept.first, alone.first]),
        np.concatenate([kept.second, alone.second]),
        np.concatenate([kept.outcome, alone.outcome]),
        count=np.concatenate([kept.count, alone.count]),
        clusters=(np.concatenate([category[category > 0], np.zeros(alone.n_rows, dtype=int)]),),
    )
    slices = with_slices(both)
    found = pooled_strengths(fit_strengths(slices[0]), *slices, n_resamples=99)
    assert np.isfinite(found.deviations).all()
    assert found.deviations[0, 0] > found.deviations[0, 1]
    # A model that did not meet anyone there has next to the prior's own spread.
    assert found.std_error[0, 5] > 0.8 * found.tau


def test_raters_with_likings_widen_the_noise():
    rows, category, _ = by_category(8, n=3000, n_raters=15, rater_sd=0.8, nested=True)
    found = pooled_strengths(fit_strengths(rows), rows, category, n_resamples=99)
    bare = pooled_strengths(fit_strengths(rows), replace(rows, clusters=()), category, n_resamples=99)
    reach = stats.t(found.df).ppf(0.975) * found.std_error
    assert 1 < found.df < 60  # 15 raters in each of 4 categories
    np.testing.assert_allclose(found.conf_low, found.deviations - reach, rtol=1e-9)
    np.testing.assert_allclose(found.conf_high, found.deviations + reach, rtol=1e-9)
    assert found.inflation > 1.3
    assert bare.inflation == 1.0
    assert found.tau < bare.tau
    assert found.p_value > bare.p_value


def test_what_cannot_be_answered_says_why():
    rows, category, _ = by_category(9, n=500, n_raters=4, rater_sd=0.1)
    fit = fit_strengths(rows)
    with pytest.raises(CannotAnswerError, match="come from 4 clusters"):
        pooled_strengths(fit, rows, category)
    with pytest.raises(CannotAnswerError, match="one category"):
        pooled_strengths(fit, rows, np.zeros_like(category))
    with pytest.raises(InputError, match="categories have shape"):
        pooled_strengths(fit, rows, category[1:])


def simulate(n_tables, *, tau, **more):
    """Return p, and how often intervals hold the truth.

    Raters' likings of spread v make the strengths over all raters smaller than those of one rater, by about
    sqrt(1 + 0.346 v) (Zeger, Liang & Albert 1988, doi:10.2307/2531734): the truth is what holds over all raters.
    """
    p, inside, tau_inside = [], [], []
    smaller = np.sqrt(1 + 0.346 * 2 * more.get("rater_sd", 0.0) ** 2)
    for seed in range(n_tables):
        rows, category, true = by_category(seed, tau=tau, **more)
        found = pooled_strengths(fit_strengths(rows), rows, category, n_resamples=199, seed=seed)
        p.append(found.p_value)
        inside.append(((found.conf_low <= true / smaller) & (true / smaller <= found.conf_high)).mean())
        tau_inside.append(found.tau_low <= tau / smaller <= found.tau_high)
    return np.array(p), float(np.mean(inside)), float(np.mean(tau_inside))


def test_small_simulation():
    p, _, _ = simulate(6, tau=0.0, n=600, n_models=6)
    found, most = share_small(p, 0.05)
    assert found <= most
    p, inside, tau_inside = simulate(5, tau=0.4, n=1500, n_models=6)
    # 5 tables of 24 deviations: a standard error of about 2 points, and 10 of the interval of tau.
    assert inside > 0.88
    assert tau_inside > 0.7
    assert (p <= 0.05).mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        {"n": 4000, "n_models": 10, "n_categories": 5},
        {"n": 2000, "n_models": 30, "n_categories": 6},
        {"n": 4000, "n_models": 10, "n_categories": 5, "n_raters": 80, "rater_sd": 0.6},
        {"n": 4000, "n_models": 10, "n_categories": 5, "n_raters": 20, "rater_sd": 0.5, "nested": True},
    ],
)
def test_coverage_and_false_alarms(design):
    p, _, _ = simulate(200, tau=0.0, **design)
    for level in (0.05, 0.2):
        found, most = share_small(p, level)
        assert found <= most
    _, inside, tau_inside = simulate(100, tau=0.3, **design)
    assert inside > 0.93
    assert tau_inside > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 100)


@pytest.mark.slow
def test_few_clusters_in_a_category_are_not_taken_for_the_category():
    """Three raters with likings in each category: without their own part in the noise a third of p are below .05."""
    p, _, _ = simulate(60, tau=0.0, n=4000, n_models=10, n_categories=5, n_raters=3, rater_sd=0.5, nested=True)
    for level in (0.05, 0.2):
        found, most = share_small(p, level)
        assert found <= most


class Parabola:
    """A model whose log-likelihood falls from `top` by 4 (tau - top)^2."""

    def __init__(self, top):
        self.top = top

    def log_lik(self, tau):
        return 7.0 - 4.0 * (tau - self.top) ** 2

    def largest_tau(self):
        return 10.0


@pytest.mark.parametrize("top", [0.5, 1.0, 2.0])
def test_an_interval_ends_where_twice_the_log_likelihood_has_fallen_by_a_quantile(top):
    """That is top -+ sqrt(q / 8); where 0 is inside, it is the lower end."""
    half = np.sqrt(stats.chi2.ppf(0.9, 1) / 8.0)
    low, high = _interval(Parabola(top), top, 0.9)
    assert low == pytest.approx(max(top - half, 0.0), abs=1e-6)
    assert high == pytest.approx(top + half, abs=1e-6)


@pytest.mark.parametrize("top", [-1.0, 0.0, 0.2, 3.3, 9.9, 10.0, 25.0])
def test_the_best_tau_is_the_highest_point_between_0_and_the_largest(top):
    assert _best(Parabola(top)) == pytest.approx(np.clip(top, 0.0, 10.0), abs=1e-3)


def test_the_p_of_deviations_counts_draws_that_reach_the_statistic_and_itself(monkeypatch):
    draws = np.array([3.0, 2.0, 2.0 * (1.0 - 1e-12), 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    monkeypatch.setattr(slices, "draws_without", lambda *_: draws)
    assert _p_value(Parabola(1.0), 2.0, np.zeros(1), draws.size, 0) == pytest.approx((1 + 3) / (1 + 9))
    assert _p_value(Parabola(1.0), 0.0, np.zeros(1), draws.size, 0) == 1.0


@pytest.mark.parametrize("tau", [0.0, 0.1, 0.8, 4.0])
def test_the_grid_of_tau_ends_where_the_likelihood_is_a_thousandth_of_a_tenth(tau):
    """From 0 to where the logarithm has fallen by 9 below that at tau, and not much beyond."""
    model = Parabola(tau)
    grid, height = _grid(model, tau)
    np.testing.assert_allclose(grid, np.linspace(0.0, grid[-1], grid.size), atol=1e-12)
    np.testing.assert_allclose(height, [model.log_lik(each) for each in grid])
    assert height[-1] <= 7.0 - 9.0
    assert model.log_lik(grid[-1] / 1.25) > 7.0 - 9.0


def test_widths_are_those_of_the_trapezoidal_rule():
    grid = np.linspace(0.0, 2.0, 9)
    heights = np.exp(grid)
    assert _widths(grid) @ heights == pytest.approx(np.trapezoid(heights, grid))


def test_predictions_are_averaged_with_the_spread_between_them():
    """Mean and standard deviation of a mixture; parts that weigh next to nothing are left out."""

    class Predicts:
        def predict(self, tau):
            return None, tau * np.array([[1.0, -2.0]]), np.array([[0.3, 0.5]]) + tau

    grid, weights = np.array([0.1, 0.4, 0.9, 50.0]), np.array([3.0, 2.0, 1.0, 1e-5])
    mean, error = _averaged(Predicts(), grid, weights)
    tau, share = grid[:3], weights[:3] / 6.0
    for k, (slope, variance) in enumerate(((1.0, 0.3), (-2.0, 0.5))):
        middle = share @ (slope * tau)
        assert mean[0, k] == pytest.approx(middle)
        assert error[0, k] ** 2 == pytest.approx(share @ (variance + tau + (slope * tau - middle) ** 2))


def test_strengths_and_deviations_need_as_many_directions_as_there_are_models():
    three = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1] * 3, count=[5, 4, 3, 6, 7, 2])
    fit = fit_strengths(three)
    common = np.repeat(fit.strengths[None], 2, axis=0)
    more = three.take([0, 1, 2, 3, 4, 5, 0, 1])
    found = deviation_model(fit, more, np.array([0] * 6 + [1] * 2), strengths=common)
    assert [axes.shape[1] for axes in found.axes] == [2, 1]
    with pytest.raises(CannotAnswerError, match="no two models met in more than one category"):
        deviation_model(fit, three.take([0, 1, 2, 3]), np.array([0, 0, 1, 1]), strengths=common)


def test_clusters_worth_less_than_two_have_one_degree_of_freedom():
    rows, category, _ = by_category(18, n=600, n_models=4, n_raters=9, rater_sd=1.0)
    rows = rows.reweighted(np.where(rows.clusters[0] == 0, 60.0, 1.0))
    fit = fit_strengths(rows)
    found = pooled_strengths(fit, rows, category, n_resamples=99, seed=4)
    assert found.df < 1.0
    reach = stats.t.ppf(0.975, 1.0) * found.std_error
    np.testing.assert_allclose(found.conf_high - found.deviations, reach, rtol=1e-9)


@pytest.mark.parametrize("rater_sd", [0.0, 1.0])
def test_the_inflation_told_is_what_deviations_leave_of_clusters(rater_sd):
    rows, category, _ = by_category(8, n=1500, n_models=5, tau=1.0, n_raters=40, rater_sd=rater_sd, nested=True)
    fit = fit_strengths(rows)
    found = pooled_strengths(fit, rows, category, n_resamples=99, seed=4)
    (way,) = cluster_noise(fit, rows, category, used=clustering(rows), seed=4)
    assert found.tau > 0.1
    assert found.inflation == pytest.approx(max(1.0, way.at_zero - found.tau**2 * way.by_deviations))
    assert (found.inflation > 1.0) is (rater_sd > 0.0)


def test_what_a_whole_category_shares_is_no_way_of_clustering_within_it():
    category = np.array([0, 0, 0, 1, 1])
    ways = ([0, 0, 0, 1, 1], [0, 0, 1, 2, 2], [0, 1, 2, 3, 4], [7, 7, 7, 7, 7])
    rows = vote_rows([0, 1, 0, 1, 0], [1, 2, 2, 0, 2], [0, 1, 0, 1, 0], clusters=tuple(map(np.array, ways)))
    found = slices._within(rows, category)
    assert [codes.tolist() for codes in found] == [list(ways[1]), list(ways[2])]


def test_a_part_rates_the_models_that_its_votes_connect_or_with_a_prior_all_that_have_one():
    rows = vote_rows([5, 5, 1, 4, 4], [2, 2, 2, 1, 1], [0, 1, 0, 0, 0], weight=[1.0, 1.0, 1.0, 1.0, 0.0])
    assert slice_strengths(rows)[0].tolist() == [2, 5]
    models, fit, numbered = slice_strengths(rows, prior=0.5)
    assert models.tolist() == [1, 2, 4, 5]
    assert fit.strengths.size == numbered.n_models == 4
    with pytest.raises(CannotAnswerError, match="connect no two models"):
        slice_strengths(rows.take(rows.first != 5))
    with pytest.raises(CannotAnswerError, match="no votes of any weight"):
        slice_strengths(vote_rows([0, 1], [1, 0], [0, 0], weight=[0.0, 0.0]), prior=0.5)
