"""Cluster-robust covariances against clubSandwich, their definition, and closed forms."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.robust import _whole_clusters, crossing_term, robust_covariance
from evalstats.stats.one_sample import cr2_of_mean
from tests.stats.mixed.dense import fit_at, golden_cases, golden_design, merged, relative_covariance, rows_design, term

CLUBSANDWICH = 1e-9  # relative: the same closed form at estimates written with 12 digits
CASES = ("robust_sleepstudy", "robust_items", "robust_scenarios")


@pytest.fixture(scope="module")
def cases():
    return golden_cases()


def fitted(cases, name):
    case = cases[name]
    fit = fit_at(golden_design(name, case), case["theta"], case["sigma"])
    return fit, np.unique(case["data"][case["cluster"]], return_inverse=True)[1]


@pytest.mark.parametrize("name", CASES)
def test_clubsandwich(cases, name):
    case, (fit, clusters) = cases[name], fitted(cases, name)
    found = robust_covariance(fit, clusters)
    expected = np.asarray(case["CR2"])
    np.testing.assert_allclose(
        found.covariance, expected, rtol=CLUBSANDWICH, atol=CLUBSANDWICH * np.abs(expected).max()
    )
    each = np.eye(len(fit.beta))
    assert found.df(each) == pytest.approx(case["df"], rel=CLUBSANDWICH)
    joint = found.f_test(fit.beta, each[np.atleast_1d(case["joint"])])
    assert joint.statistic == pytest.approx(case["HTZ"]["F"], rel=CLUBSANDWICH)
    assert joint.df_denominator == pytest.approx(case["HTZ"]["df"], rel=CLUBSANDWICH)
    assert joint.p_value == pytest.approx(case["HTZ"]["p"], rel=CLUBSANDWICH)


def test_golden_regression_without_random_effects(golden):
    """With a random intercept of variance 0 the working covariance is that of a plain regression."""
    expected = json.loads((golden / "r_mixed_models.json").read_text())["cluster_robust_sleepstudy"]["CR2"]
    with (golden / "sleepstudy.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    subject = [row["Subject"] for row in rows]
    days = np.array([float(row["Days"]) for row in rows])
    reaction = [float(row["Reaction"]) for row in rows]
    terms = [term("Subject", subject)]
    fit = fit_at(rows_design([("(Intercept)", np.ones(180)), ("Days", days)], terms, reaction), [0.0], 1.0)
    found = robust_covariance(fit, terms[0].level)
    assert found.std_errors == pytest.approx([row["SE"] for row in expected], rel=1e-8)
    assert found.df(np.eye(2)) == pytest.approx([row["df_Satt"] for row in expected], rel=1e-8)


def by_definition(fit, clusters):
    """Bell and McCaffrey's adjustment with matrices of all rows, and its df from the covariance of the residuals."""
    v = relative_covariance(fit.design, fit.theta)
    x, inverse = fit.design.fixed.at(), np.linalg.inv(v)
    bread = np.linalg.inv(x.T @ inverse @ x)
    residual_maker = np.eye(len(v)) - x @ bread @ x.T @ inverse
    residual = fit.design.response - x @ fit.beta
    influences = []
    for g in np.unique(clusters):
        own = clusters == g
        d = np.linalg.cholesky(v[np.ix_(own, own)]).T
        inner = d @ (residual_maker @ v @ residual_maker.T)[np.ix_(own, own)] @ d.T
        values, vectors = np.linalg.eigh(inner)
        adjustment = d.T @ (vectors / np.sqrt(values)) @ vectors.T @ d
        # bread X'V^-1 A (I - H) of this cluster's rows, applied to y.
        influences.append(bread @ x[own].T @ inverse[np.ix_(own, own)] @ adjustment @ residual_maker[own])
    scores = np.array([a @ fit.design.response for a in influences])
    df = []
    for j in range(len(bread)):
        maps = np.array([a[j] for a in influences])
        covariances = maps @ v @ maps.T
        df.append(np.trace(covariances) ** 2 / (covariances**2).sum())
    assert np.abs(residual).max() > 0.0
    return scores.T @ scores, np.array(df)


@pytest.mark.parametrize("name", CASES)
def test_definition(cases, name):
    fit, clusters = fitted(cases, name)
    covariance, df = by_definition(fit, clusters)
    found = robust_covariance(fit, clusters)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7, atol=1e-9 * np.abs(covariance).max())
    assert found.df(np.eye(len(fit.beta))) == pytest.approx(df, rel=1e-8)


def test_cells_equal_rows(cases):
    case = cases["robust_scenarios"]
    fit, clusters = fitted(cases, "robust_scenarios")
    cells = merged(fit.design)
    assert cells.n_cells < fit.design.n_cells
    scenario = next(t for t in cells.terms if t.group == "scenario")
    found = robust_covariance(fit_at(cells, case["theta"], case["sigma"]), scenario.level)
    expected = robust_covariance(fit, clusters)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-8)
    assert found.df(np.eye(8)) == pytest.approx(expected.df(np.eye(8)), rel=1e-8)


def grid(n_items, n_models, rng, spread=1.0):
    item, model = (a.ravel() for a in np.meshgrid(np.arange(n_items), np.arange(n_models), indexing="ij"))
    response = rng.normal(size=n_items)[item] + spread * rng.normal(size=item.size)
    fixed = [(f"m{k}", (model == k) * 1.0) for k in range(n_models)]
    return rows_design(fixed, [term("item", item)], response)


def test_two_models_on_the_same_items_are_the_paired_t():
    """Standard error sd(d) / sqrt(n) with n - 1 df, whatever variances the model found."""
    design = grid(12, 2, np.random.default_rng(3))
    y = design.response.reshape(12, 2)
    for theta in (0.0, 0.7, 5.0):
        fit = fit_at(design, [theta], 1.3)
        found = robust_covariance(fit, design.terms[0].level)
        contrast = np.array([-1.0, 1.0])
        t = contrast @ fit.beta / np.sqrt(contrast @ found.covariance @ contrast)
        paired = stats.ttest_rel(y[:, 1], y[:, 0])
        assert t == pytest.approx(paired.statistic, rel=1e-9)
        assert found.df(contrast) == pytest.approx([11.0])


def test_a_mean_has_its_closed_form():
    rng = np.random.default_rng(8)
    clusters = np.repeat(np.arange(7), [1, 2, 6, 3, 9, 4, 2])
    values = rng.normal(size=clusters.size)
    design = rows_design([("(Intercept)", np.ones(clusters.size))], [term("g", clusters)], values)
    found, expected = robust_covariance(fit_at(design, [0.0], 1.0), clusters), cr2_of_mean(values, clusters, 7)
    assert found.covariance[0, 0] == pytest.approx(expected.variance, rel=1e-10)
    assert found.df([1.0]) == pytest.approx([expected.df], rel=1e-10)


def test_one_joint_contrast_is_the_square_of_t_and_many_are_hotelling():
    """On complete items HTZ is Hotelling's T^2 of the differences, exactly."""
    design = grid(15, 4, np.random.default_rng(5))
    fit = fit_at(design, [0.8], 1.0)
    found = robust_covariance(fit, design.terms[0].level)
    contrasts = np.array([[-1.0, 1, 0, 0], [-1, 0, 1, 0], [-1, 0, 0, 1]])
    d = design.response.reshape(15, 4) @ contrasts.T
    hotelling = 15 * d.mean(axis=0) @ np.linalg.solve(np.cov(d.T), d.mean(axis=0))
    joint = found.f_test(fit.beta, contrasts)
    assert joint.statistic == pytest.approx((15 - 3) / (3 * 14) * hotelling, rel=1e-9)
    assert (joint.df_numerator, joint.df_denominator) == (3, pytest.approx(12.0))
    one = found.f_test(fit.beta, contrasts[0])
    t2 = (contrasts[0] @ fit.beta) ** 2 / (contrasts[0] @ found.covariance @ contrasts[0])
    assert (one.statistic, one.df_denominator) == (pytest.approx(t2), pytest.approx(14.0))


def test_order_and_labels_of_clusters_say_nothing(cases):
    fit, clusters = fitted(cases, "robust_items")
    expected = robust_covariance(fit, clusters)
    rng = np.random.default_rng(2)
    order = rng.permutation(len(clusters))
    (old,) = fit.design.terms
    moved = replace(
        fit.design,
        fixed=distinct_rows(fit.design.fixed.at()[order]),
        response=fit.design.response[order],
        terms=(replace(old, level=old.level[order], values=old.values[order]),),
    )
    found = robust_covariance(replace(fit, design=moved), rng.permutation(clusters.max() + 1)[clusters][order])
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-8, atol=1e-14)
    each = np.eye(len(fit.beta))
    assert found.df(-2.0 * each) == pytest.approx(expected.df(each))


def test_a_term_that_ties_clusters_together_is_named(cases):
    fit, _ = fitted(cases, "robust_scenarios")
    item = next(t for t in fit.design.terms if t.group == "item")
    with pytest.raises(CannotAnswerError, match="random term model:scenario has cells in"):
        robust_covariance(fit, item.level)
    scenario = next(t for t in fit.design.terms if t.group == "scenario")
    assert crossing_term(fit.design, scenario.level) is None


def test_too_little_is_refused():
    design = grid(4, 3, np.random.default_rng(1))
    fit = fit_at(design, [1.0], 1.0)
    with pytest.raises(CannotAnswerError, match="4 clusters are too few"):
        robust_covariance(fit, design.terms[0].level)
    with pytest.raises(InputError, match="one code per value"):
        robust_covariance(fit, np.zeros(3, dtype=np.int64))
    design = grid(5, 6, np.random.default_rng(1))
    fit = fit_at(design, [1.0], 1.0)
    found = robust_covariance(fit, design.terms[0].level)
    with pytest.raises(CannotAnswerError, match="too few for a joint test of 5 contrasts"):
        found.f_test(fit.beta, np.eye(6)[1:] - np.eye(6)[:-1])


def balanced_fit(design, n_items, n_models):
    """REML of a complete table with random items, in closed form from its mean squares."""
    y = design.response.reshape(n_items, n_models)
    residual = y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean()
    error = (residual**2).sum() / ((n_items - 1) * (n_models - 1))
    between = n_models * y.mean(axis=1).var(ddof=1)
    return fit_at(design, [np.sqrt(max(between / error - 1.0, 0.0) / n_models)], np.sqrt(error))


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [10, 20, 50])
def test_eight_clones_do_not_make_two_other_models_differ(n_items):
    """Ten models of which eight answer nearly alike: the model's one residual variance is mostly that of the clones.

    The contrast of the other two then has about .25 false alarms at the 5 % level with the covariance of the model, and
    none between two clones; with that of the clusters, .05 for both.
    """
    rng = np.random.default_rng(n_items)
    n_rep, level = 1000, 0.05
    pairs = np.zeros((2, 10))
    pairs[0, [8, 9]], pairs[1, [0, 1]] = [-1, 1], [-1, 1]
    by_model, by_cluster = np.zeros(2), np.zeros(2)
    for _ in range(n_rep):
        alike = rng.normal(size=(n_items, 1)) + 0.1 * rng.normal(size=(n_items, 8))
        design = grid(n_items, 10, rng)
        design = replace(design, response=np.hstack([alike, rng.normal(size=(n_items, 2))]).ravel())
        fit = balanced_fit(design, n_items, 10)
        estimate = pairs @ fit.beta
        t = estimate / np.sqrt(np.einsum("ci,ij,cj->c", pairs, fit.covariance, pairs))
        by_model += 2 * stats.t.sf(np.abs(t), 9 * (n_items - 1)) < level
        robust = robust_covariance(fit, design.terms[0].level)
        t = estimate / np.sqrt(np.einsum("ci,ij,cj->c", pairs, robust.covariance, pairs))
        by_cluster += 2 * stats.t.sf(np.abs(t), robust.df(pairs)) < level
    noise = 3.5 * np.sqrt(level * (1 - level) / n_rep)
    assert by_model[0] / n_rep > 0.18
    assert by_model[1] / n_rep < 0.01
    assert by_cluster / n_rep == pytest.approx([level, level], abs=noise)


@pytest.mark.parametrize("sizes", [(3, 4, 2), (40, 3, 5)], ids=["few cells", "more cells than effects"])
def test_a_cluster_is_its_columns_and_its_own_covariance(sizes):
    """Two terms, the first with a slope, and cells of several rows: forms of X, V and the residuals as with all of V."""
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(3), sizes)
    n = len(cluster)
    ones, x = ("(Intercept)", np.ones(n)), ("x", rng.normal(size=n))
    sub = cluster * 2 + rng.integers(0, 2, n)
    design = rows_design(
        [ones, ("b", (cluster == 1) * rng.normal(size=n))],
        [term("c", cluster, ones, x), term("sub", sub)],
        rng.normal(size=n),
    )
    design = replace(design, count=rng.integers(1, 5, n).astype(float))
    theta, residual = np.array([0.8, -0.4, 0.5, 0.7]), rng.normal(size=n)
    whole = relative_covariance(design, theta) - np.eye(n) + np.diag(1.0 / design.count)
    found = list(_whole_clusters(design, theta, residual, cluster))
    assert len(found) == 3
    for g, (columns, reduced, v, e) in enumerate(found):
        own = cluster == g
        assert columns.tolist() == ([0, 1] if g == 1 else [0])
        both = np.column_stack([design.fixed.at()[own][:, columns], residual[own]])
        expected = both.T @ np.linalg.solve(whole[np.ix_(own, own)], both)
        made = np.column_stack([reduced, e])
        forms = made.T @ np.linalg.solve(v, made)
        p = len(columns)
        np.testing.assert_allclose(forms[:p], expected[:p], rtol=1e-9)
        np.testing.assert_array_equal(v, v.T)


def test_many_contrasts_are_taken_in_parts(cases):
    fit, clusters = fitted(cases, "robust_items")
    found = robust_covariance(fit, clusters)
    rows = np.random.default_rng(5).normal(size=(130, len(fit.beta)))
    df = found.df(rows)
    assert len(df) == 130
    assert df[[0, 63, 64, 129]] == pytest.approx([found.df(rows[k])[0] for k in (0, 63, 64, 129)])
