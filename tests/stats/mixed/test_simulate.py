"""Drawn responses have the mean and the covariance that the model states."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats

from evalstats.stats.mixed.likelihood_ratio import simulate
from tests.stats.mixed.dense import fit_at, golden_cases, golden_design, random_matrices, rows_design, term

N = 3000


def draws(fit, seed, n):
    """Responses of many data sets, one a row, and their squares within cells."""
    rng = np.random.default_rng(seed)
    responses, within = zip(*(simulate(fit, rng) for _ in range(n)), strict=True)
    return SimpleNamespace(responses=np.stack(responses), within=np.array(within))


@pytest.fixture(scope="module")
def slopes():
    """Nine cells of a few rows, in three groups with correlated intercepts and slopes, and a crossed factor."""
    x = np.array([0.0, 1, 2, 0, 1, 2, 0, 1, 2])
    ones = ("(Intercept)", np.ones(9))
    groups = [term("g", np.repeat(["a", "b", "c"], 3), ones, ("x", x)), term("h", list("uvwvuwuwv"))]
    design = rows_design([ones, ("x", x)], groups, x)
    design = replace(design, count=np.array([1.0, 3, 2, 5, 1, 1, 2, 2, 4]), offset=np.linspace(0, 1, 9))
    return fit_at(design, [0.8, -0.3, 0.5, 0.6], 1.5)


def test_moments_of_a_linear_model(slopes):
    design = slopes.design
    v = np.diag(1.0 / design.count)
    for columns, factor in zip(random_matrices(design), design.factors(slopes.theta), strict=True):
        z = np.stack(columns)
        v = v + np.einsum("ail,ab,bjl->ij", z, factor @ factor.T, z)
    v *= slopes.sigma**2
    drawn = draws(slopes, 0, N)
    mean = design.fixed.at() @ slopes.beta + design.offset
    assert drawn.responses.mean(axis=0) == pytest.approx(mean, abs=4 * np.sqrt(v.max() / N))
    # The error of a sample covariance is sqrt((v_ij^2 + v_ii v_jj) / N).
    noise = np.sqrt((v**2 + np.outer(np.diag(v), np.diag(v))) / N)
    assert np.all(np.abs(np.cov(drawn.responses.T) - v) < 4.5 * noise)


def test_squares_within_cells(slopes):
    drawn = draws(slopes, 1, N)
    assert stats.kstest(drawn.within / slopes.sigma**2, stats.chi2(21 - 9).cdf).pvalue > 1e-3
    rows = replace(slopes, design=replace(slopes.design, count=np.ones(9)))
    assert not draws(rows, 1, 3).within.any()


def test_binomial_counts(slopes):
    """Counts are whole; their mean is the logistic curve averaged over the effects; effects make them overdispersed."""
    fit = replace(slopes, family="binomial", method="Laplace", sigma=1.0)
    fit = replace(fit, design=replace(fit.design, offset=None), beta=np.array([-0.5, 0.4]))
    drawn = draws(fit, 2, N)
    counts = drawn.responses * fit.design.count
    assert counts == pytest.approx(np.round(counts), abs=1e-9)
    assert not drawn.within.any()
    sd = np.sqrt(0.8**2 + 0.6**2)  # cells with x = 0
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    mean = weights @ special.expit(-0.5 + sd * nodes) / np.sqrt(2 * np.pi)
    at_zero = fit.design.fixed.at()[:, 1] == 0.0
    assert drawn.responses[:, at_zero].mean(axis=0) == pytest.approx([mean] * 3, abs=4 * 0.5 / np.sqrt(N))
    five = drawn.responses[:, 3]
    assert five.var() > 1.2 * mean * (1 - mean) / 5


def test_draws_follow_the_generator(slopes):
    one, again, other = (draws(slopes, seed, 2).responses for seed in (4, 4, 5))
    assert np.array_equal(one, again)
    assert not np.any(one == other)


def test_data_like_the_observed():
    """Refitting is what this is for: the mean squares of draws average to their expectation under the fit."""
    case = golden_cases()["pastes"]
    fit = fit_at(golden_design("pastes", case), case["theta"], case["sigma"])
    drawn = draws(fit, 6, 1500).responses
    sample = fit.design.terms[0].level
    sums = np.stack([np.bincount(sample, weights=row) for row in drawn])
    means = (sums / np.bincount(sample))[:, sample]
    free = fit.design.n_cells - len(np.unique(sample))
    error = ((drawn - means) ** 2).sum(axis=1) / free
    assert error.mean() == pytest.approx(fit.sigma**2, rel=4 * np.sqrt(2 / free / 1500))
