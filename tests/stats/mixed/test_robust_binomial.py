"""The sandwich of a binomial mixed model: its parts by definition, and its false alarms with few clusters."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg, special, stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.binomial import cluster_scores, fit_binomial
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.robust import robust_covariance
from tests.stats.mixed.dense import random_matrices, rows_design, term


def answers(rng, n_items, n_models, trials, *, own=0.0, item=1.0):
    """Successes of `trials` trials; `own` is the sd of what an item does to one model alone."""
    item_of = np.repeat(np.arange(n_items), n_models)
    model = np.tile(np.arange(n_models), n_items)
    eta = 0.5 + item * rng.normal(size=n_items)[item_of] + own * rng.normal(size=item_of.size)
    fixed = [(f"m{k}", (model == k) * 1.0) for k in range(n_models)]
    design = rows_design(fixed, [term("item", item_of)], rng.binomial(trials, special.expit(eta)) / trials)
    return replace(design, count=np.full(item_of.size, float(trials)))


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(4)
    design = answers(rng, 30, 3, 6, own=0.5)
    keep = np.sort(rng.permutation(design.n_cells)[:80])
    (items,) = design.terms
    design = replace(
        design,
        fixed=distinct_rows(design.fixed.at()[keep]),
        count=rng.integers(2, 7, size=80).astype(float),
        terms=(replace(items, level=items.level[keep], values=items.values[keep]),),
    )
    share = special.expit(0.4 + 0.9 * rng.normal(size=30)[design.terms[0].level])
    found = fit_binomial(replace(design, response=rng.binomial(design.count.astype(int), share) / design.count))
    assert found.theta[0] > 0.3  # at 0 its score would say nothing
    return found


def test_sandwich_and_df_by_their_definition(fit):
    """All cells at once: whitened X, I - H of each cluster, and the law of the adjusted scores."""
    design = fit.design
    clusters = design.terms[0].level
    weight = fit.working_weights()
    ((z,),) = random_matrices(design)
    v = np.diag(1.0 / weight) + fit.theta[0] ** 2 * z @ z.T
    order = np.argsort(clusters, kind="stable")
    lower = np.linalg.cholesky(v[np.ix_(order, order)])
    x = np.linalg.solve(lower, design.fixed.at()[order])
    h = x @ np.linalg.inv(x.T @ x) @ x.T
    scores = cluster_scores(fit, clusters)
    n = len(scores)
    scores[:, 0] *= np.sqrt(n / (n - 1))
    rows = []
    for g in range(n):
        own = clusters[order] == g
        root = np.real(linalg.sqrtm(np.linalg.inv(np.eye(own.sum()) - h[np.ix_(own, own)])))
        # X'(I - H)^(-1/2) is the multiplied score of any residual; solve for the multiplier on the score's own space.
        scores[g, 1:] = x[own].T @ root @ np.linalg.lstsq(x[own].T, scores[g, 1:], rcond=None)[0]
        rows.append(np.linalg.inv(x.T @ x) @ x[own].T @ root @ (np.eye(len(h)) - h)[own])
    influence = scores @ fit.joint_covariance
    found = robust_covariance(fit, clusters)
    np.testing.assert_allclose(found.joint, influence.T @ influence, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(found.covariance, found.joint[1:, 1:])
    for j, df in enumerate(found.df(np.eye(3))):
        maps = np.array([row[j] for row in rows])
        law = maps @ maps.T
        assert df == pytest.approx(np.trace(law) ** 2 / (law**2).sum(), rel=1e-8)


def test_many_clusters_and_a_right_model_give_the_models_covariance():
    fit = fit_binomial(answers(np.random.default_rng(0), 800, 3, 3))
    found = robust_covariance(fit, fit.design.terms[0].level)
    # Standard error of a variance from 800 clusters: sqrt(2 / 800) = 5 %, somewhat more with heavy tails.
    assert np.diag(found.joint) == pytest.approx(np.diag(fit.joint_covariance), rel=0.2)
    assert found.std_errors == pytest.approx(fit.std_errors, rel=0.1)


def test_names_and_order_of_clusters_say_nothing(fit):
    clusters = fit.design.terms[0].level
    relabelled = np.random.default_rng(1).permutation(30)[clusters]
    found, expected = robust_covariance(fit, relabelled), robust_covariance(fit, clusters)
    np.testing.assert_allclose(found.joint, expected.joint, rtol=1e-8, atol=1e-12)
    assert found.df(np.eye(3)) == pytest.approx(expected.df(np.eye(3)))


def test_refusals(fit):
    design = fit.design
    with pytest.raises(CannotAnswerError, match="random term item has cells in"):
        robust_covariance(fit, np.arange(design.n_cells) % 7)
    with pytest.raises(InputError, match="no joint covariance"):
        robust_covariance(replace(fit, joint_covariance=None), design.terms[0].level)


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [10, 20, 50])
def test_false_alarms_with_few_clusters(n_items):
    """Four of six models are clones, which the model does not know: its own covariance alarms falsely, the sandwich not."""
    rng = np.random.default_rng(n_items)
    n_rep, level = 400, 0.05
    contrast = np.array([0, 0, 0, 0, -1.0, 1.0])
    by_model = by_cluster = 0
    for _ in range(n_rep):
        design = answers(rng, n_items, 6, 5)
        clones = np.repeat(rng.normal(size=(n_items, 1)), 4, axis=1)
        own = 1.2 * np.hstack([clones, rng.normal(size=(n_items, 2))])
        eta = 0.5 + rng.normal(size=(n_items, 1)) + own
        fit = fit_binomial(replace(design, response=rng.binomial(5, special.expit(eta)).ravel() / 5))
        estimate = abs(contrast @ fit.beta)
        by_model += 2 * stats.norm.sf(estimate / np.sqrt(contrast @ fit.covariance @ contrast)) < level
        robust = robust_covariance(fit, design.terms[0].level)
        t = estimate / np.sqrt(contrast @ robust.covariance @ contrast)
        by_cluster += 2 * stats.t.sf(t, robust.df(contrast)[0]) < level
    assert by_model / n_rep > 0.12
    # At most the level, and not so far below it that nothing could be found (3.5 standard errors on either side).
    noise = 3.5 * np.sqrt(level * (1 - level) / n_rep)
    assert by_cluster / n_rep == pytest.approx(level, abs=noise)
