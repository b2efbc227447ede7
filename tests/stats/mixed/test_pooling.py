"""Partial pooling of a table: against the joint normal law, a brute search, lme4, and simulated truths."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.mixed.prediction import pooled_table

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "mixed_pooling.json"
# The criterion is minimised to 1e-8 of its range; where it is flat the root moves by the root of its rounding.
SEARCH = 2e-4
ALGEBRA = 1e-6


def spread_out(rng, n):
    """A covariance with unequal variances and correlations."""
    half = rng.normal(size=(n, 2 * n)) * np.sqrt(rng.uniform(0.2, 2.0, n))[:, None]
    return half @ half.T / (2 * n)


def drawn(rng, shape, variance, noise):
    """Truth and estimates: row + column + interaction, and noise with the covariance given."""
    truth = rng.normal(size=shape[0])[:, None] + rng.normal(size=shape[1]) + variance**0.5 * rng.normal(size=shape)
    return truth, truth + rng.multivariate_normal(np.zeros(truth.size), noise).reshape(shape)


def additive(shape, has=None):
    """Treatment coding of rows and columns."""
    rows, columns = (each.ravel() for each in np.indices(shape))
    x = np.hstack([np.eye(shape[0])[rows], np.eye(shape[1])[columns][:, 1:]])
    return x if has is None else x[has.ravel()]


def restricted(y, x, covariance):
    """Minus twice the log-density of the residuals A'y, A a basis of what is orthogonal to X: what REML means."""
    left = np.linalg.svd(x)[0][:, np.linalg.matrix_rank(x) :]
    own, residuals = left.T @ covariance @ left, left.T @ y
    return np.linalg.slogdet(2 * np.pi * own)[1] + residuals @ np.linalg.solve(own, residuals)


def conditioned(y, x, noise, variance):
    """Mean and covariance of the truth given y with a flat prior on rows and columns, as a very wide normal one."""
    wide = 1e7 * x @ x.T + variance * np.eye(len(y))
    gain = np.linalg.solve(wide + noise, wide).T
    return gain @ y, wide - gain @ wide


@pytest.mark.parametrize("seed", range(4))
def test_variance_maximises_the_density_of_the_residuals(seed):
    rng = np.random.default_rng(seed)
    noise = 0.3 * spread_out(rng, 20)
    _, estimates = drawn(rng, (5, 4), 0.5 * (seed > 0), noise)
    found = pooled_table(estimates, noise)
    x, y = additive((5, 4)), estimates.ravel()
    grid = np.linspace(0, 2.0, 400) ** 2
    values = np.array([restricted(y, x, noise + v * np.eye(20)) for v in grid])
    at = restricted(y, x, noise + found.variance * np.eye(20))
    assert at <= values.min() + SEARCH
    assert np.sqrt(found.variance) == pytest.approx(np.sqrt(grid[values.argmin()]), abs=2 * 2.0 / 400)


@pytest.mark.parametrize("missing", [False, True])
def test_predictions_are_the_conditional_mean(missing):
    rng = np.random.default_rng(8)
    shape = (5, 4)
    _, estimates = drawn(rng, shape, 0.6, 0.2 * np.eye(20))
    has = np.ones(shape, dtype=bool)
    if missing:
        has[0, 1] = has[3, 3] = has[4, 0] = False
    noise = 0.2 * spread_out(rng, int(has.sum()))
    found = pooled_table(np.where(has, estimates, np.nan), noise)
    assert found.variance > 0
    mean, errors = conditioned(estimates[has], additive(shape, has), noise, found.variance)
    # A prior of variance 1e7 is flat up to 1e-7, and the subtraction loses as much.
    np.testing.assert_allclose(found.values[has], mean, atol=1e-5)
    np.testing.assert_allclose(found.covariance, errors, atol=1e-5)
    assert np.isnan(found.values[~has]).all()


def test_equal_noise_is_a_fit_of_lme4():
    """With V = s^2 I / n known, REML of the interaction is lmer's where a cell has n rows and s is its residual."""
    case = json.loads(GOLDEN.read_text())["replicated"]
    estimates = np.array(case["cell_means"])
    found = pooled_table(estimates, case["sigma"] ** 2 / case["n_rows"] * np.eye(estimates.size))
    # lme4 estimates sigma too; in a balanced table it is the pooled variance within cells, whatever the interaction is.
    assert found.variance == pytest.approx(case["interaction_variance"], rel=1e-4)
    np.testing.assert_allclose(found.values, case["predicted"], atol=1e-4)


def test_closed_form_of_equal_noise():
    """Mean square of the interaction less its noise; cells shrink by what remains."""
    rng = np.random.default_rng(3)
    _, estimates = drawn(rng, (6, 5), 0.8, 0.1 * np.eye(30))
    rest = estimates - estimates.mean(0) - estimates.mean(1)[:, None] + estimates.mean()
    variance = (rest**2).sum() / 20 - 0.1
    found = pooled_table(estimates, 0.1 * np.eye(30))
    assert found.variance == pytest.approx(variance, rel=1e-5)
    shrunk = estimates - rest * 0.1 / (variance + 0.1)
    np.testing.assert_allclose(found.values, shrunk, atol=1e-5)


def test_no_interaction_beyond_noise_gives_rows_plus_columns():
    rng = np.random.default_rng(1)
    estimates = rng.normal(size=4)[:, None] + rng.normal(size=3) + 0.01 * rng.normal(size=(4, 3))
    noise = spread_out(rng, 12)
    found = pooled_table(estimates, noise)
    assert found.variance == 0.0
    x = additive((4, 3))
    inverse = np.linalg.inv(noise)
    spread = np.linalg.inv(x.T @ inverse @ x)
    np.testing.assert_allclose(found.values.ravel(), x @ spread @ x.T @ inverse @ estimates.ravel(), atol=ALGEBRA)
    np.testing.assert_allclose(found.covariance, x @ spread @ x.T, atol=ALGEBRA)


def test_order_of_rows_and_columns_leaves_no_trace():
    rng = np.random.default_rng(5)
    noise = 0.3 * spread_out(rng, 20)
    _, estimates = drawn(rng, (5, 4), 0.7, noise)
    estimates[2, 1] = np.nan
    kept = np.flatnonzero(~np.isnan(estimates.ravel()))
    noise = noise[np.ix_(kept, kept)]
    rows, columns = rng.permutation(5), rng.permutation(4)
    place = np.full(20, -1)
    place[kept] = np.arange(len(kept))
    moved = place.reshape(5, 4)[rows][:, columns].ravel()
    moved = moved[moved >= 0]
    plain = pooled_table(estimates, noise)
    turned = pooled_table(estimates[rows][:, columns], noise[np.ix_(moved, moved)])
    np.testing.assert_allclose(turned.values, plain.values[rows][:, columns], atol=SEARCH)
    np.testing.assert_allclose(turned.covariance, plain.covariance[np.ix_(moved, moved)], atol=SEARCH)
    across = np.arange(20).reshape(5, 4).T.ravel()
    across = place[across][place[across] >= 0]
    flipped = pooled_table(estimates.T, noise[np.ix_(across, across)])
    np.testing.assert_allclose(flipped.values.T, plain.values, atol=SEARCH)


@pytest.mark.parametrize("unit", [1e-4, 10.0])
def test_shift_and_scale(unit):
    rng = np.random.default_rng(6)
    noise = 0.3 * spread_out(rng, 12)
    _, estimates = drawn(rng, (4, 3), 0.7, noise)
    plain = pooled_table(estimates, noise)
    turned = pooled_table(5 * unit - unit * estimates, unit**2 * noise)
    np.testing.assert_allclose(turned.values, unit * (5 - plain.values), atol=unit * SEARCH)
    assert turned.variance == pytest.approx(unit**2 * plain.variance, rel=1e-3)
    np.testing.assert_allclose(turned.covariance, unit**2 * plain.covariance, atol=unit**2 * SEARCH)


def test_a_table_of_two_parts_is_two_tables_with_one_variance():
    """Rows and columns that share nothing: the design of rows and columns lacks two ranks, not one."""
    rng = np.random.default_rng(9)
    estimates = np.full((6, 6), np.nan)
    estimates[:3, :3], estimates[3:, 3:] = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)) + 5
    found = pooled_table(estimates, 0.1 * np.eye(18))
    for part in (slice(3), slice(3, 6)):
        block = estimates[part, part]
        rest = block - block.mean(0) - block.mean(1)[:, None] + block.mean()
        expected = block - rest * 0.1 / (found.variance + 0.1)
        np.testing.assert_allclose(found.values[part, part], expected, atol=ALGEBRA)


def test_a_near_copy_of_a_model_is_not_two_witnesses():
    """Rows 0 and 1 have the same errors: what both show in a column is noise of one."""
    shape = (4, 3)
    noise = 0.5 * np.eye(12)
    for column in range(3):
        noise[column, 3 + column] = noise[3 + column, column] = 0.4999
    estimates = np.zeros(shape)
    estimates[:2, 0] += 1.0
    estimates[2, 1] = 1.2
    alone = pooled_table(estimates, 0.5 * np.eye(12))
    copies = pooled_table(estimates, noise)
    assert abs(copies.values[0, 0] - copies.values[1, 0]) < 0.01
    assert copies.values[3, 0] < alone.values[3, 0]


@pytest.mark.parametrize(
    ("estimates", "covariance", "error", "words"),
    [
        (np.array([[0.0, np.nan], [np.nan, 1.0]]), np.eye(2), CannotAnswerError, "no degree of freedom"),
        (np.zeros((1, 4)), np.eye(4), CannotAnswerError, "no degree of freedom"),
        (np.full((2, 2), np.nan), np.eye(0), CannotAnswerError, "no "),
        (np.zeros((2, 2)), np.zeros((4, 4)), CannotAnswerError, "any error"),
        (np.zeros((2, 2)), np.full((4, 4), np.nan), InputError, "no number"),
        (np.array([[0.0, np.inf], [0.0, 1.0]]), np.eye(4), InputError, "infinite"),
    ],
)
def test_bad_input(estimates, covariance, error, words):
    with pytest.raises(error, match=words):
        pooled_table(estimates, covariance)


def test_pooling_is_nearer_to_the_truth():
    rng = np.random.default_rng(2)
    raw, pooled = [], []
    for _ in range(60):
        truth, estimates = drawn(rng, (6, 5), 0.2, 0.4 * np.eye(30))
        found = pooled_table(estimates, 0.4 * np.eye(30))
        raw.append(((estimates - truth) ** 2).mean())
        pooled.append(((found.values - truth) ** 2).mean())
    gain = np.array(raw) - np.array(pooled)
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))
    assert np.mean(pooled) < 0.7 * np.mean(raw)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "variance"), [((6, 7), 0.5), ((19, 7), 0.2), ((4, 4), 1.0), ((19, 7), 0.0)], ids=str)
def test_coverage_of_predictions(shape, variance):
    """Intervals hold averaged over cells; they do not count that the variance is estimated, which costs about .01."""
    rng = np.random.default_rng(12)
    covered = []
    n = shape[0] * shape[1]
    noise = 0.4 * spread_out(rng, n)
    for _ in range(400):
        truth, estimates = drawn(rng, shape, variance, noise)
        found = pooled_table(estimates, noise)
        error = np.sqrt(np.diag(found.covariance)).reshape(shape)
        covered.append((np.abs(found.values - truth) <= stats.norm.isf(0.025) * error).mean())
    rate, simulated = np.mean(covered), np.std(covered) / 20
    assert rate + 3 * simulated > 0.93
    assert rate - 3 * simulated < 0.975
