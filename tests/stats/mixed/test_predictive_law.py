"""Predictions averaged over standard deviations: against fine grids by definition, and exact integrals."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.design import MixedDesign
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.mixed.prediction import predictive_law
from tests.stats.mixed.dense import deviance, relative_covariance, rows_design, term
from tests.stats.mixed.test_prediction import by_conditioning, crossed, effects_covariance, effects_matrix

# Of a standard error: the lattice ends where the likelihood has fallen by e^-4.5, a grid in a test does not.
LATTICE = 0.06
# Of a standard error: log-odds are predicted by their modes, which are not the means of skew laws.
MODE = 0.12


def effects_of(law, terms):
    """Means and standard errors of the effects of some terms."""
    values = np.stack([np.concatenate([fit.effects[k].ravel() for k in terms]) for fit in law.fits])
    n_fixed = len(law.fits[0].beta)
    rows = np.eye(n_fixed + values.shape[1])[n_fixed:]
    inside = np.stack([errors.variance(rows) for errors in law.errors])
    return law.mean(values), np.sqrt(law.variance(values, inside))


def by_definition(fit, terms, tops, n=10):
    """Average over a fine grid, with V = Z G Z' + R formed at each of its points."""
    design = fit.design
    x, y = design.fixed.at(), design.response
    heights, means, variances = [], [], []
    for point in np.stack(np.meshgrid(*((np.arange(n) + 0.5) / n * top for top in tops)), -1).reshape(-1, len(tops)):
        theta = fit.theta.copy()
        theta[list(terms)] = point
        inverse = np.linalg.inv(relative_covariance(design, theta))
        beta = np.linalg.solve(x.T @ inverse @ x, x.T @ inverse @ y)
        rest = y - x @ beta
        sigma = np.sqrt(rest @ inverse @ rest / (len(y) - x.shape[1]))
        at = replace(fit, theta=theta, sigma=sigma, beta=beta)
        heights.append(-0.5 * deviance(design, theta, sigma, restricted=True))
        g = effects_covariance(design, theta, 1.0, terms)
        means.append(g @ effects_matrix(design, terms).T @ inverse @ rest)
        errors = by_conditioning(at, terms, np.full(len(y), sigma**2))
        variances.append(np.diag(errors)[x.shape[1] :])
    weights = np.exp(np.array(heights) - np.max(heights))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    return mean, np.sqrt(weights @ (np.array(variances) + (np.array(means) - mean) ** 2))


@pytest.mark.parametrize("none", [False, True], ids=["spread", "no spread"])
def test_linear_law_is_the_average_over_a_fine_grid(none):
    fit = fit_linear(crossed(3, none=none))
    mean, error = effects_of(predictive_law(fit, (1, 2)), (1, 2))
    expected, spread = by_definition(fit, (1, 2), (4.0, 4.0) if not none else (2.0, 2.0))
    assert np.abs(mean - expected).max() < LATTICE * spread.min()
    np.testing.assert_allclose(error, spread, rtol=LATTICE)


def test_points_share_the_weight():
    law = predictive_law(fit_linear(crossed(1)), (1, 2))
    assert law.weights.sum() == pytest.approx(1)
    assert len(law.fits) == len(law.errors) == len(law.weights) > 9
    # What is held is held.
    assert len({fit.theta[0] for fit in law.fits}) == 1


def test_many_levels_leave_nothing_open():
    """With 600 levels the standard deviation is known, and the law is that at its estimate."""
    rng = np.random.default_rng(4)
    level = np.repeat(np.arange(600), 4)
    fit = fit_linear(
        rows_design(
            [("(Intercept)", np.ones(2400))],
            [term("scenario", level)],
            rng.normal(size=600)[level] + rng.normal(size=2400),
        )
    )
    mean, error = effects_of(predictive_law(fit, (0,)), (0,))
    np.testing.assert_allclose(mean, fit.effects[0].ravel(), atol=0.01)
    given = np.sqrt(fit.effect_covariances[0].ravel() + fit.covariance[0, 0])
    np.testing.assert_allclose(error, given, rtol=0.02)


@pytest.mark.parametrize("successes", [[9, 11, 13, 12, 10, 14, 11, 8], [6, 15, 11, 8, 14, 16, 9, 12]], ids=str)
def test_binomial_law_against_the_integral(successes):
    """Eight levels of 20 answers: posterior means and errors of their log-odds, integrated over mean, SD and effect."""
    y, n = np.array(successes), 20
    fit = fit_binomial(
        MixedDesign(
            fixed=distinct_rows(np.ones((8, 1))),
            fixed_names=("(Intercept)",),
            terms=(term("scenario", np.arange(8)),),
            count=np.full(8, float(n)),
            response=y / n,
        )
    )
    law = predictive_law(fit, (0,))
    link = np.stack([each.beta[0] + each.effects[0].ravel() for each in law.fits])
    rows = np.hstack([np.ones((8, 1)), np.eye(8)])
    inside = np.stack([errors.variance(rows) for errors in law.errors])
    mean, error = law.mean(link), np.sqrt(law.variance(link, inside))
    expected, spread = _integral(y, n)
    assert np.abs((mean - expected) / spread).max() < MODE
    np.testing.assert_allclose(error, spread, rtol=LATTICE)


def _integral(y, n):
    """Sums over grids of the mean and the standard deviation, and quadrature over each effect."""
    node, share = np.polynomial.hermite_e.hermegauss(40)
    share = share / share.sum()
    beta, tau = np.meshgrid(np.linspace(-2.0, 2.5, 50), (np.arange(40) + 0.5) / 40 * 2.5, indexing="ij")
    link = beta[..., None] + tau[..., None] * node
    chance = share * np.exp(y[:, None, None, None] * link - n * np.logaddexp(0, link))
    level = chance.sum(axis=-1)
    height = np.log(level).sum(axis=0)
    weights = np.exp(height - height.max())
    weights /= weights.sum()
    first = (chance * link).sum(axis=-1) / level
    second = (chance * link**2).sum(axis=-1) / level
    mean = (weights * first).sum(axis=(1, 2))
    return mean, np.sqrt((weights * second).sum(axis=(1, 2)) - mean**2)
