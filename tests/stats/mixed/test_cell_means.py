"""Plain means of cells: against the general CR2 of a fit, and textbook cases."""

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.mixed.robust import cell_means, robust_covariance
from tests.stats.mixed.dense import fit_at, rows_design, term


def nested(rng, sizes, n_models):
    """Scores of items in scenarios of these sizes, answered by all models; cells are models within scenarios."""
    scenario = np.repeat(np.arange(len(sizes)), sizes)
    item = np.arange(len(scenario))
    scores = rng.normal(size=(n_models, len(item))) + rng.normal(size=len(item)) + scenario
    cell = (np.arange(n_models)[:, None] * len(sizes) + scenario).ravel()
    return scores.ravel(), cell, np.tile(item, n_models)


def test_is_the_mixed_models_answer():
    """Estimates and CR2 of a linear mixed model with an intercept of items, whatever their variance is."""
    scores, cell, item = nested(np.random.default_rng(1), (6, 9, 12), 3)
    of_items = RandomTerm(
        group="item",
        columns=("(Intercept)",),
        levels=tuple(str(k) for k in range(27)),
        level=item,
        values=np.ones((len(item), 1)),
    )
    design = MixedDesign(
        fixed=distinct_rows(np.eye(9)[cell]),
        fixed_names=tuple("abcdefghi"),
        terms=(of_items,),
        count=np.ones(len(item)),
        response=scores,
        within=0.0,
    )
    fit = fit_linear(design)
    robust = robust_covariance(fit, item)
    found = cell_means(scores, cell, item)
    np.testing.assert_allclose(found.mean, fit.beta, atol=1e-8)
    np.testing.assert_allclose(found.covariance, robust.covariance, atol=1e-8)
    # Within one model items are independent, where both working models give the same degrees of freedom.
    rows = np.zeros((3, 9))
    rows[0, 0], rows[1, [0, 1]], rows[2, [0, 1, 2]] = 1, (1, -1), (1, -0.5, -0.5)
    np.testing.assert_allclose(found.df(rows), robust.df(rows), rtol=1e-6)


def test_two_cells_are_welchs_test():
    """Independent items of two scenarios: the standard error of Welch's t."""
    scores, cell, item = nested(np.random.default_rng(2), (8, 20), 1)
    found = cell_means(scores, cell, item)
    row = np.array([-1.0, 1.0])
    t = row @ found.mean / np.sqrt(row @ found.covariance @ row)
    assert t == pytest.approx(stats.ttest_ind(scores[cell == 1], scores[cell == 0], equal_var=False).statistic)


def test_shared_items_are_the_paired_t_test():
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(2, 15)) + rng.normal(size=15)
    found = cell_means(scores.ravel(), np.repeat([0, 1], 15), np.tile(np.arange(15), 2))
    row = np.array([-1.0, 1.0])
    t = row @ found.mean / np.sqrt(row @ found.covariance @ row)
    assert t == pytest.approx(stats.ttest_rel(scores[1], scores[0]).statistic)


def test_groups_of_items_are_units():
    """Each item three times over, in one group: nothing moves."""
    scores, cell, item = nested(np.random.default_rng(4), (7, 9), 2)
    once = cell_means(scores, cell, item)
    again = cell_means(np.tile(scores, 3), np.tile(cell, 3), np.tile(item, 3))
    np.testing.assert_allclose(again.covariance, once.covariance, atol=1e-12)
    np.testing.assert_allclose(again.df(np.eye(4)), once.df(np.eye(4)), rtol=1e-9)


def test_a_joint_test_is_that_of_a_regression_with_the_same_clusters():
    """Users of one of two models in some of three scenarios, each with several scores: an intercept of variance 0 is no term."""
    rng = np.random.default_rng(6)
    user = np.repeat(np.arange(24), rng.integers(1, 7, 24))
    cell = 3 * (user % 2) + rng.integers(0, 3, user.size)
    scores = rng.normal(size=user.size) + rng.normal(size=24)[user]
    found = cell_means(scores, cell, user)
    columns = [(str(k), (cell == k).astype(float)) for k in range(6)]
    fit = fit_at(rows_design(columns, [term("user", user)], scores), [0.0], 1.0)
    interaction = np.array([[1.0, -1, 0, -1, 1, 0], [1, 0, -1, -1, 0, 1]])
    expected = robust_covariance(fit, user).f_test(fit.beta, interaction)
    robust = found.robust()
    assert robust is not None
    joint = robust.f_test(found.mean, interaction)
    assert (joint.statistic, joint.df_denominator) == pytest.approx((expected.statistic, expected.df_denominator))
    np.testing.assert_allclose(robust.df(interaction), found.df(interaction))


def test_a_cell_of_one_cluster_tells_no_spread():
    cell, cluster = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 3, 4, 5, 6, 6, 6])
    found = cell_means(np.arange(9.0) ** 2, cell, cluster)
    assert found.df(np.array([[-1.0, 1.0], [1.0, 0.0]])).tolist() == [0.0, pytest.approx(5.0)]
    assert found.robust() is None


def test_few_groups_are_refused():
    with pytest.raises(CannotAnswerError, match="too few"):
        cell_means(np.arange(8.0), np.arange(8) % 2, np.arange(8) % 4)
