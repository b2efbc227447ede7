"""Binomial fits on simulated data: beside another program, recovery of what was put in, coverage."""

import warnings

import numpy as np
import pytest

from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.glm import find_separation
from tests.stats.mixed.binomial_by_definition import design_of, dummies, term

Z = 1.959963984540054
NEAR = 5e-3  # standard errors: the other program's search stops that near to the optimum
DEVIANCE = 1e-6  # by which ours may be above the other's


def draw(eta, trials, rng):
    return rng.binomial(trials, 1.0 / (1.0 + np.exp(-eta)))


def random_case(kind, seed):
    """Unbalanced data, some with a variance of 0, some with many effects: rows, the formula, our terms."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 500))
    sizes = {"g": int(rng.integers(8, 40)), "h": int(rng.integers(6, 25))}
    g, h = (rng.choice(k, n, p=rng.dirichlet(np.full(k, 3.0))) for k in sizes.values())
    x, f = rng.normal(size=n), rng.integers(0, 3, n)
    sd = rng.choice([0.0, 0.5, 1.0, 2.0], size=3)
    effects = [s * rng.normal(size=max(sizes.values()) * 40) for s in sd]
    eta = 0.4 * x + np.array([-0.3, 0.2, 0.6])[f] + effects[0][g]
    one = np.ones(n)
    if kind == "crossed":
        eta = eta + effects[1][h]
        formula, terms = "(1|g) + (1|h)", lambda r: [term("g", g[r]), term("h", h[r])]
    elif kind == "nested":
        pair = g * 4 + rng.integers(0, 4, n)
        eta = eta + effects[1][pair]
        formula, terms = "(1|g) + (1|pair)", lambda r: [term("g", g[r]), term("pair", pair[r])]
        h = pair
    elif kind == "slope":
        eta = eta + effects[1][g] * x
        formula, terms = "(1 + x|g)", lambda r: [term("g", g[r], one[r], x[r])]
    else:
        eta = eta + effects[1][g] * x + effects[2][h]
        formula, terms = "(1 + x|g) + (1|h)", lambda r: [term("g", g[r], one[r], x[r]), term("h", h[r])]
    y = draw(eta, 1, rng)
    columns = {"y": y.astype(float), "x": x, "f": [f"f{k}" for k in f], "g": [f"g{k}" for k in g]}
    columns |= {"h": [f"h{k}" for k in h], "pair": [f"p{k}" for k in h]}
    design = design_of(np.column_stack([dummies(f), x]), terms(np.arange(n)), y, one)
    return f"y ~ f + x + {formula}", columns, design


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["crossed", "nested", "slope", "slope, crossed"])
def test_against_another_program(kind):
    """The package glmm (Rust, LGPL) shares no code with us; its optimum is never below ours.

    A case counts where the program reports no trouble of its own. Agreement of the coefficients is asked for where neither
    fit is singular.
    """
    glmm = pytest.importorskip("glmm")
    compared = 0
    for seed in range(12):
        formula, columns, design = random_case(kind, seed)
        if find_separation(design) is not None:
            continue
        fit = fit_binomial(design)
        assert fit.convergence.converged, (kind, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = glmm.fit(columns, formula, family="binomial")
        assert fit.log_likelihood > float(other.loglik) - DEVIANCE, (kind, seed)
        if not fit.singular:
            assert fit.log_likelihood == pytest.approx(float(other.loglik), abs=2e-4), (kind, seed)
            away = (fit.beta - np.asarray(other.beta)) / fit.std_errors
            np.testing.assert_allclose(away, 0.0, atol=NEAR, err_msg=f"{kind} {seed}")
            np.testing.assert_allclose(fit.std_errors, other.se, rtol=NEAR, err_msg=f"{kind} {seed}")
            compared += 1
    assert compared >= 4


def scenario_study(n_scenarios, sd, n_replicates, seed):
    """Three models on items nested in scenarios, two trials each; estimates of contrasts, and of standard deviations.

    `sd` are those of items, of scenarios and of models within scenarios.
    """
    rng = np.random.default_rng(seed)
    per = 6
    item = np.repeat(np.arange(n_scenarios * per), 3)
    model, scenario = np.tile(np.arange(3), n_scenarios * per), item // per
    fixed, pair = dummies(model), scenario * 3 + model
    terms = [term("item", item), term("scenario", scenario), term("model:scenario", pair)]
    truth = np.array([0.4, 0.5, -0.5])
    rows = []
    for _ in range(n_replicates):
        eta = fixed @ truth + sd[0] * rng.normal(size=item.max() + 1)[item]
        eta += sd[1] * rng.normal(size=n_scenarios)[scenario] + sd[2] * rng.normal(size=3 * n_scenarios)[pair]
        fit = fit_binomial(design_of(fixed, terms, draw(eta, 2, rng), np.full(item.size, 2)))
        assert fit.convergence.converged
        covers = np.abs(fit.beta - truth) < Z * fit.std_errors
        rows.append(np.concatenate([fit.beta - truth, covers, fit.theta]))
    return np.array(rows)


def share_limits(n):
    """Where a share of n intervals that cover 95% of the time lies, 999 times in 1000, less 0.03 for Wald's z on few units."""
    half = 3.3 * np.sqrt(0.95 * 0.05 / n)
    return 0.95 - half - 0.03, min(1.0, 0.95 + half)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_scenarios", "sd"), [(10, (1.0, 0.7, 0.5)), (30, (1.0, 0.7, 0.5)), (30, (1.0, 0.7, 0.0)), (50, (1.0, 0.0, 0.0))]
)
def test_recovery_and_coverage(n_scenarios, sd):
    """Contrasts of models are unbiased and covered; variances come back, a little low, and 0 mostly as 0 or near it."""
    n = 120
    found = scenario_study(n_scenarios, sd, n, seed=11)
    errors, covers, spread = found[:, :3], found[:, 3:6], found[:, 6:]
    np.testing.assert_array_less(np.abs(errors.mean(axis=0)), 3.5 * errors.std(axis=0) / np.sqrt(n))
    low, high = share_limits(n)
    assert ((low < covers.mean(axis=0)) & (covers.mean(axis=0) <= high)).all(), covers.mean(axis=0)
    for k, truth in enumerate(sd):
        if truth == 0.0:
            # Half of the estimates of a variance of 0 are 0 in large samples, more with maximum likelihood in small ones.
            assert 0.4 < (spread[:, k] == 0.0).mean() < 0.95
            assert np.median(spread[:, k]) < 0.1
            continue
        # Laplace and maximum likelihood understate variances: with two trials an item by up to a fifth, more from 10 scenarios.
        ratio = np.sqrt((spread[:, k] ** 2).mean()) / truth
        assert 0.7 < ratio < 1.08, (k, ratio)


@pytest.mark.slow
def test_quadrature_brings_back_the_variance_that_laplace_understates():
    """Items of five single trials: the known bias of Laplace's approximation with little information in a level."""
    rng = np.random.default_rng(12)
    item = np.repeat(np.arange(150), 5)
    fixed = np.ones((750, 1))
    ratios = []
    for _ in range(60):
        successes = draw(0.5 + 1.5 * rng.normal(size=150)[item], 1, rng)
        design = design_of(fixed, [term("item", item)], successes, np.ones(750))
        ratios.append([fit_binomial(design, n_quadrature=n).theta[0] / 1.5 for n in (0, 1, 15)])
    fast, laplace, exact = np.array(ratios).mean(axis=0)
    error = np.array(ratios)[:, 2].std() / np.sqrt(60)
    assert abs(exact - 1.0) < 3.5 * error + 0.01
    assert laplace < exact - 0.02
    assert fast < exact - 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("top", "n_items"), [(2.5, 45), (3.5, 90)])
def test_coverage_with_a_combination_near_its_ceiling(top, n_items):
    """One combination at 92% or 98%: separated in a fifth to a third of the data sets, covered in all of them together."""
    rng = np.random.default_rng(13)
    item, model = np.repeat(np.arange(n_items), 3), np.tile(np.arange(3), n_items)
    cell = model * 3 + item % 3
    fixed = (cell[:, None] == np.arange(9)).astype(float)
    truth = np.array([0.5, 0.5, 0.5, 0.5, top, 0.5, 0.5, 1.0, 0.5])
    contrasts = np.zeros((2, 9))
    contrasts[:, 4] = 1.0
    contrasts[1, 7] = -1.0
    covers, separated, n = [], 0, 150
    for _ in range(n):
        successes = draw(fixed @ truth + rng.normal(size=n_items)[item], 1, rng)
        fit = fit_binomial(design_of(fixed, [term("item", item)], successes, np.ones(item.size)))
        separated += fit.penalty != ""
        error = contrasts @ (fit.beta - truth)
        covers.append(np.abs(error) < Z * np.sqrt(np.diag(contrasts @ fit.covariance @ contrasts.T)))
    assert 0.1 < separated / n < 0.5
    shares = np.mean(covers, axis=0)
    assert (shares > 0.95 - 3.3 * np.sqrt(0.95 * 0.05 / n)).all(), shares
