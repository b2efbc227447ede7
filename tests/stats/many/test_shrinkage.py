"""Shrunken scores against statsmodels and by definition; the winner's interval against its law drawn by rejection."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from evalstats.errors import InputError
from evalstats.stats.many.winners_curse import (
    _log_between,
    _truncated_cdf,
    _truncation,
    shrunken_means,
    winner_interval,
)


def reml_by_hand(x, sigma):
    """The restricted likelihood written out with matrices, maximised by scipy."""
    ones = np.ones(x.size)

    def deviance(log_tau2):
        v = np.exp(log_tau2) * np.eye(x.size) + sigma
        inverse = np.linalg.inv(v)
        mean = ones @ inverse @ x / (ones @ inverse @ ones)
        r = x - mean
        return np.linalg.slogdet(v)[1] + math.log(ones @ inverse @ ones) + r @ inverse @ r

    found = optimize.minimize_scalar(deviance, bounds=(-15, 3), method="bounded", options={"xatol": 1e-10})
    return math.exp(found.x)


def related(rng, n, rho):
    root = rng.normal(size=(n, n)) * 0.2
    return root @ root.T + np.full((n, n), rho) + np.diag(rng.uniform(0.3, 1.0, n))


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_reml_and_prediction_by_definition(rho):
    rng = np.random.default_rng(3)
    sigma = related(rng, 8, rho)
    x = rng.normal(size=8) * 2 + np.linalg.cholesky(sigma) @ rng.normal(size=8)
    found = shrunken_means(x, covariance=sigma)
    tau2 = reml_by_hand(x, sigma)
    assert found.between_sd**2 == pytest.approx(tau2, rel=1e-5)
    inverse = np.linalg.inv(tau2 * np.eye(8) + sigma)
    mean = inverse.sum(axis=0) @ x / inverse.sum()
    assert found.mean == pytest.approx(mean, rel=1e-6)
    np.testing.assert_allclose(found.shrunken, mean + tau2 * inverse @ (x - mean), rtol=1e-5)


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_the_error_of_a_prediction_is_its_own_and_that_of_the_spread(rho):
    """What tau^2 moves the prediction by counts twice: what was estimated is too small by as much (Prasad & Rao)."""
    rng = np.random.default_rng(3)
    sigma = related(rng, 8, rho)
    x = rng.normal(size=8) * 2 + np.linalg.cholesky(sigma) @ rng.normal(size=8)
    found = shrunken_means(x, covariance=sigma)

    def predicted(tau2):
        inverse = np.linalg.inv(tau2 * np.eye(8) + sigma)
        return np.eye(8) - sigma @ (inverse - np.outer(inverse.sum(axis=0), inverse.sum(axis=0)) / inverse.sum())

    tau2, step = found.between_sd**2, 1e-4
    at, slope = predicted(tau2), (predicted(tau2 + step) - predicted(tau2 - step)) / (2 * step)
    total = tau2 * np.eye(8) + sigma
    # The prediction L x of true scores m + u misses u by (L - I) u + L e.
    own = (at - np.eye(8)) @ (tau2 * np.eye(8)) @ (at - np.eye(8)).T + at @ sigma @ at.T
    p = np.linalg.inv(sigma) @ (np.eye(8) - at)
    of_spread = slope @ total @ slope.T * 2.0 / np.trace(p @ p)
    np.testing.assert_allclose(found.std_error**2, np.diag(own + 2.0 * of_spread), rtol=1e-5)


def test_equal_errors_have_a_closed_form():
    x, se = np.array([0.62, 0.55, 0.52, 0.50, 0.41]), 0.05
    tau2 = x.var(ddof=1) - se**2
    found = shrunken_means(x, se**2 * np.eye(5))
    assert found.between_sd == pytest.approx(math.sqrt(tau2), rel=1e-6)
    np.testing.assert_allclose(found.shrunken, x.mean() + tau2 / (tau2 + se**2) * (x - x.mean()), rtol=1e-6)


def test_noise_alone_is_shrunk_to_the_mean():
    found = shrunken_means([0.50, 0.51, 0.49, 0.50], 0.05**2 * np.eye(4))
    assert found.between_sd == 0
    np.testing.assert_allclose(found.shrunken, 0.5, rtol=1e-9)
    assert (found.std_error > 0.02).all()


def test_luck_that_all_models_share_is_no_spread_and_no_noise_between_them():
    x = np.array([0.60, 0.55, 0.52, 0.48, 0.41])
    alone = shrunken_means(x, 0.05**2 * np.eye(5))
    shared = shrunken_means(x, covariance=0.0024 * np.ones((5, 5)) + 0.0001 * np.eye(5))
    assert shared.between_sd > alone.between_sd
    assert np.abs(shared.shrunken - x).max() < np.abs(alone.shrunken - x).max()


def test_prediction_covers_and_the_top_is_not_biased():
    """Ten models, true sd 1, noise sd .7 to 1.2 that is partly shared: the top score is 1 too high, its prediction is not."""
    rng = np.random.default_rng(4)
    sigma = np.full((10, 10), 0.4) + np.diag(np.linspace(0.1, 1.0, 10))
    root = np.linalg.cholesky(sigma)
    inside, top, raw = [], [], []
    for _ in range(400):
        truth = rng.normal(size=10)
        x = truth + root @ rng.normal(size=10)
        found = shrunken_means(x, covariance=sigma)
        inside.append(np.abs(found.shrunken - truth) <= 1.96 * found.std_error)
        j = int(np.argmax(x))
        top.append(found.shrunken[j] - truth[j])
        raw.append(x[j] - truth[j])
    # 400 tables of 10 models that share their luck: worth about 1,000 independent ones.
    assert np.mean(inside) >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / 1000)
    assert np.mean(raw) > 0.5
    assert abs(np.mean(top)) < 0.2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"estimates": [1, 2], "covariance": np.eye(2)}, "at least 3"),
        ({"estimates": [1, 2, 3], "covariance": np.eye(2)}, "square matrix"),
    ],
)
def test_bad_input_is_refused(arguments, says):
    with pytest.raises(InputError, match=says):
        shrunken_means(**arguments)


# The winner


def test_truncation_is_where_the_lead_is_lost():
    """Move the winner with the independent rest held: it ties with another model exactly at the ends."""
    rng = np.random.default_rng(5)
    found_both = False
    for _ in range(20):
        sigma = related(rng, 5, 0.2) * np.outer(scale := rng.uniform(0.3, 3.0, 5), scale)
        x = rng.normal(size=5)
        j = int(np.argmax(x))
        rest = x - sigma[:, j] / sigma[j, j] * x[j]
        low, high = _truncation(x, sigma, j)
        assert low < x[j] < high
        for end, inwards in ((low, 1e-6), (high, -1e-6)):
            if np.isfinite(end):
                others = np.arange(5) != j
                at = rest + sigma[:, j] / sigma[j, j] * end
                assert at[others].max() == pytest.approx(end, abs=1e-9)
                inside = rest + sigma[:, j] / sigma[j, j] * (end + inwards)
                assert inside[others].max() < end + inwards
        found_both |= bool(np.isfinite(high))
    assert found_both


@pytest.mark.parametrize(("z", "start", "end"), [(0.3, -1, 2), (-9.5, -10, -9), (9.5, 9, 10), (5.0, 4.9, np.inf)])
def test_truncated_normal_in_the_tails(z, start, end):
    grid = np.linspace(start, min(end, start + 6.0), 2_000_001)
    density = np.exp(-0.5 * (grid**2 - start**2))
    wanted = np.trapezoid(density[grid <= z], grid[grid <= z]) / np.trapezoid(density, grid)
    assert _truncated_cdf(z, start, end) == pytest.approx(wanted, rel=1e-4)


def test_a_truncated_law_without_room_is_all_below():
    """The ends meet, or what lies between is lost to rounding: then P(Z <= z) is 1, never above it and never 0 over 0."""
    for start, end in ((5.0, 5.0), (5.0, 4.0), (-5.0, -5.0), (-5.0, -6.0), (-1e-9, math.nextafter(-1e-9, -1.0))):
        assert _truncated_cdf(start, start, end) == 1.0
    assert _truncated_cdf(-0.7, -0.8, math.nextafter(-0.8, 0.0)) == 1.0
    assert _log_between(-1.0, -1.0) == _log_between(-1.0, -2.0) == -math.inf
    assert _log_between(-1e200, -9e199) == -math.inf
    assert _truncated_cdf(-3.0, -1.0, 2.0) == 0.0
    assert _truncated_cdf(3.0, 1.0, 2.0) == 1.0


@pytest.mark.parametrize(("start", "end"), [(-1.0, 2.0), (-9.0, -8.0), (-40.0, -39.0), (-2.0, 0.0), (-np.inf, -1.0)])
def test_the_logarithm_of_what_lies_between(start, end):
    wanted = math.log(integrate.quad(lambda z: math.exp(-0.5 * (z * z - end * end)), max(start, end - 6.0), end)[0])
    if end <= 0.0:
        wanted += -0.5 * end * end - 0.5 * math.log(2 * math.pi)
        assert _log_between(start, end) == pytest.approx(wanted, rel=1e-7)
    else:
        assert _log_between(start, end) == pytest.approx(math.log(stats.norm.cdf(end) - stats.norm.cdf(start)))


def test_hybrid_solves_its_equation():
    """At each end the truncated law puts (alpha - beta)/(1 - beta)/2 beyond the estimate: checked by rejection draws."""
    x, sd = np.array([0.9, 0.5, -0.3]), np.array([0.5, 0.4, 0.6])
    found = winner_interval(x, np.diag(sd**2))
    assert found.winner == 0
    reach = 3.1402 * 0.5  # Sidak at 1 - .005 for three: P(|Z| <= 3.1402)^3 = .995
    rng = np.random.default_rng(6)
    tail = (0.05 - 0.005) / 0.995 / 2
    for mu, below in ((found.conf_low, 1 - tail), (found.conf_high, tail), (found.estimate, 0.5)):
        draws = mu + 0.5 * rng.normal(size=1_000_000)
        # Independent estimates: the winner stays the winner above the runner-up's .5.
        kept = draws[(draws > 0.5) & (np.abs(draws - mu) <= reach)]
        assert np.mean(kept <= 0.9) == pytest.approx(below, abs=0.004)


def test_a_clear_winner_has_nearly_the_ordinary_interval():
    found = winner_interval([10.0, 0.0, 0.0], np.eye(3))
    assert found.estimate == pytest.approx(10.0, abs=1e-6)
    # Quantile at (alpha - beta)/(1 - beta), truncated at the simultaneous one: 1.99 instead of 1.96.
    assert (found.conf_low, found.conf_high) == pytest.approx((10 - 1.99, 10 + 1.99), abs=0.01)
    assert found.projection_high - 10 == pytest.approx(2.388, abs=0.001)  # Sidak for three


def test_a_narrow_win_is_corrected_downwards_and_a_tie_is_said():
    narrow = winner_interval([1.0, 0.9, 0.0], np.eye(3))
    assert narrow.conf_high < 3
    assert narrow.estimate < 0
    tie = winner_interval([1.0, 1.0, 0.0], np.eye(3))
    assert (tie.conf_low, tie.conf_high) == (tie.projection_low, tie.projection_high)
    assert "tie at the top" in str(tie.note)


@pytest.mark.parametrize(
    ("replicates", "models", "spread", "rho"),
    [
        pytest.param(150, 10, 0.0, 0.3, id="equal"),
        pytest.param(150, 5, 2.0, 0.0, id="apart"),
        pytest.param(5000, 29, 3.0, 0.5, id="many", marks=pytest.mark.slow),
        pytest.param(5000, 2, 0.0, 0.0, id="two", marks=pytest.mark.slow),
        pytest.param(5000, 10, 0.0, 0.0, id="equal-long", marks=pytest.mark.slow),
    ],
)
def test_hybrid_covers_and_is_median_unbiased(replicates, models, spread, rho):
    """.945 to .96 measured, where the ordinary interval of the winner covers .79 to .89."""
    rng = np.random.default_rng(models)
    sigma = np.full((models, models), rho)
    np.fill_diagonal(sigma, np.linspace(0.7, 1.5, models))
    truth, root = np.linspace(0, spread, models), np.linalg.cholesky(sigma)
    inside, above, ordinary = [], [], []
    for _ in range(replicates):
        x = truth + root @ rng.normal(size=models)
        found = winner_interval(x, sigma)
        mine = truth[found.winner]
        inside.append(found.conf_low <= mine <= found.conf_high)
        above.append(mine < found.estimate)
        ordinary.append(abs(x[found.winner] - mine) <= 1.96 * math.sqrt(sigma[found.winner, found.winner]))
    assert np.mean(inside) >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / replicates)
    assert abs(np.mean(above) - 0.5) <= 0.01 + 2 / math.sqrt(replicates)
    if models == 10:
        assert np.mean(ordinary) < 0.92


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("spread", [0.1, 3.0, 300.0])
def test_the_spread_has_the_largest_restricted_likelihood_in_any_unit(unit, spread):
    rng = np.random.default_rng(9)
    sigma = related(rng, 6, 0.3) * 0.5
    x = np.linspace(-1.0, 1.0, 6) ** 3 * spread
    found = shrunken_means(unit * x, unit**2 * sigma)
    least = np.linalg.eigvalsh(sigma)[0]

    def deviance(tau2):
        v = sigma + np.multiply.outer(tau2, np.eye(6))
        inverse = np.linalg.inv(v)
        information = inverse.sum(axis=(-2, -1))
        residual = x - np.expand_dims((inverse @ x).sum(axis=-1) / information, -1)
        squares = np.einsum("...i,...ij,...j", residual, inverse, residual)
        return np.linalg.slogdet(v)[1] + np.log(information) + squares

    grid = np.append(0.0, np.geomspace(1e-6 * least, 1e3 * spread**2 + 1.0, 4000))
    values = deviance(grid)
    assert deviance((found.between_sd / unit) ** 2) <= values.min() + 1e-9
    assert (found.between_sd == 0.0) == (int(np.argmin(values)) == 0)


def test_three_estimates_are_enough():
    assert shrunken_means([0.1, 0.5, 0.9], 0.01 * np.eye(3)).between_sd > 0.3
    with pytest.raises(InputError, match="at least 3"):
        shrunken_means([0.1, 0.5], 0.01 * np.eye(2))
