"""Drops and the scores they forecast: by hand, against other estimators, and by simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.errors_in_variables.line import fit_line, fit_plane, slope_covariance
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.gap import Drops, _pooled, flipped_pairs, no_spread_p, pooled_drops, spread_beyond_noise
from evalstats.stats.many.winners_curse import shrunken_means

CLOSE = 1e-9


def covariance_of(n: int, of_ideal: float = 0.03, of_drop: float = 0.04, *, shared: float = 0.3) -> np.ndarray:
    """Errors of ideal scores and drops: models share some, and the two err against each other."""
    one = (1 - shared) * np.eye(n) + shared
    cross = -0.5 * of_ideal * of_drop * one
    return np.block([[of_ideal**2 * one, cross], [cross, of_drop**2 * one]])


def drops_of(ideal: np.ndarray, drop: np.ndarray, **errors: float) -> Drops:
    n = ideal.size
    return Drops(ideal=ideal, drop=drop, covariance=covariance_of(n, **errors), df=np.full(n, 50.0))


@pytest.fixture
def some() -> Drops:
    rng = np.random.default_rng(3)
    return drops_of(rng.uniform(0.5, 0.9, 7), rng.normal(-0.15, 0.1, 7))


def test_pooled_drops_are_the_shrunken_means(some: Drops):
    found = pooled_drops(some, 0.4)
    known = shrunken_means(some.drop, covariance=some.of_drop)
    np.testing.assert_allclose(found.pooled, known.shrunken, rtol=1e-6)
    np.testing.assert_allclose(found.pooled_std_error, known.std_error, rtol=1e-6)
    np.testing.assert_allclose(found.forecast, some.ideal + 0.4 * found.pooled, rtol=CLOSE)


def test_no_share_leaves_the_ideal_score(some: Drops):
    found = pooled_drops(some, 0.0)
    np.testing.assert_array_equal(found.forecast, some.ideal)
    np.testing.assert_allclose(found.forecast_covariance, some.of_ideal, rtol=CLOSE)


def test_two_models_are_not_pooled_and_all_non_ideal_is_the_other_score():
    drops = drops_of(np.array([0.8, 0.6]), np.array([-0.1, -0.3]))
    found = pooled_drops(drops, 1.0)
    np.testing.assert_allclose(found.forecast, [0.7, 0.3])
    v = drops.covariance
    by_hand = v[0, 0] + v[2, 2] + 2 * v[0, 2]
    assert found.forecast_covariance[0, 0] == pytest.approx(by_hand)
    assert found.spread is None
    assert found.spread_p is None


def test_what_is_not_known_of_the_shares_moves_all_forecasts_alike(some: Drops):
    sure, unsure = pooled_drops(some, 0.4), pooled_drops(some, 0.4, share_variance=0.01)
    np.testing.assert_allclose(unsure.forecast_covariance - sure.forecast_covariance, 0.01)


def test_one_model_has_no_pairs_to_flip(some: Drops):
    one = Drops(
        ideal=some.ideal[:1], drop=some.drop[:1], covariance=some.covariance[np.ix_([0, 7], [0, 7])], df=some.df[:1]
    )
    assert flipped_pairs(one, pooled_drops(one, 0.5)) == []


def test_the_order_of_models_does_not_matter(some: Drops):
    at = np.array([3, 0, 6, 1, 5, 2, 4])
    both = np.concatenate([at, at + 7])
    again = Drops(ideal=some.ideal[at], drop=some.drop[at], covariance=some.covariance[np.ix_(both, both)], df=some.df)
    np.testing.assert_allclose(pooled_drops(again, 0.3).forecast, pooled_drops(some, 0.3).forecast[at], rtol=1e-7)
    assert no_spread_p(again) == pytest.approx(no_spread_p(some))


def test_no_spread_is_welch_where_models_are_independent():
    rng = np.random.default_rng(8)
    groups = [rng.normal(0.0, sd, size) for sd, size in ((1.0, 12), (2.0, 20), (0.7, 9), (1.4, 15))]
    mean, variance = (np.array([f(g) for g in groups]) for f in (np.mean, lambda g: np.var(g, ddof=1) / len(g)))
    drops = Drops(
        ideal=np.zeros(4),
        drop=mean,
        covariance=np.diag(np.concatenate([np.ones(4), variance])),
        df=np.array([len(g) - 1.0 for g in groups]),
    )
    known = stats.f_oneway(*groups, equal_var=False)
    assert no_spread_p(drops) == pytest.approx(float(known.pvalue), rel=1e-6)


def test_paule_and_mandel_solves_its_equation():
    rng = np.random.default_rng(9)
    values, noise = rng.normal(0, 1, 9), np.diag(rng.uniform(0.1, 0.5, 9))
    tau2 = spread_beyond_noise(values, noise)
    weights = 1 / (np.diag(noise) + tau2)
    rest = values - weights @ values / weights.sum()
    assert weights @ rest**2 == pytest.approx(8, rel=1e-6)
    assert spread_beyond_noise(np.full(9, 2.0), noise) == 0.0
    for unit in (0.01, 30.0):
        assert spread_beyond_noise(unit * values, unit**2 * noise) == pytest.approx(unit**2 * tau2)


def test_a_pair_flips_only_where_both_orders_are_separated():
    ideal, drop = np.array([0.9, 0.7, 0.5]), np.array([-0.6, 0.0, 0.0])
    sure = drops_of(ideal, drop, of_ideal=0.01, of_drop=0.01)
    assert flipped_pairs(sure, pooled_drops(sure, 0.9)) == [(0, 1), (0, 2)]
    assert flipped_pairs(sure, pooled_drops(sure, 0.05)) == []
    noisy = drops_of(ideal, drop, of_ideal=0.3, of_drop=0.3)
    assert flipped_pairs(noisy, pooled_drops(noisy, 0.9)) == []
    # A forecast in the other order that nobody can tell from a tie flips nothing, however sure the ideal order is.
    unsure = drops_of(ideal, drop, of_ideal=0.01, of_drop=0.5)
    turned = pooled_drops(unsure, 0.9)
    turned = replace(turned, forecast=np.array([0.3, 0.7, 0.5]))
    assert flipped_pairs(unsure, turned) == []


def test_a_plane_with_one_column_is_yorks_line():
    rng = np.random.default_rng(11)
    x, noise = rng.normal(0, 1, 12), np.diag(rng.uniform(0.01, 0.06, 12))
    for gap in (0.0, 0.6):
        live = 2 * x + rng.normal(0, gap + 0.1, 12)
        lab = x + rng.multivariate_normal(np.zeros(12), noise)
        scores = LabLiveScores(
            lab=lab, live=live, lab_covariance=noise, live_covariance=0.5 * noise, cross=-0.2 * noise
        )
        line = fit_line(scores)
        plane = fit_plane(live, lab[None], 0.5 * noise, noise, cross=-0.2 * noise)
        # Two searches with tolerances of their own.
        assert plane.slopes[0] == pytest.approx(line.slope, rel=1e-4)
        assert plane.tau2 == pytest.approx(line.tau2, rel=1e-3, abs=1e-6)
        assert plane.covariance[0, 0] == pytest.approx(slope_covariance(scores, line.slope, line.tau2), rel=1e-3)
        # York's error is the smaller one, and close where the lab is hardly noise.
        assert 0.9 < line.slope_std_error / math.sqrt(plane.covariance[0, 0]) < 1.0
        assert plane.statistic == pytest.approx(line.statistic, rel=1e-4)
        assert plane.converged


def a_noisy_plane(seed: int, n: int, gap: float):
    """Live scores on two noisy columns whose errors go together, with each other and with those of the live scores."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3 * n, 60)) / 50.0
    both, error = root @ root.T, root @ rng.normal(size=60)
    true = rng.normal(size=(2, n)) * [[1.0], [0.4]]
    live = 0.3 + 1.5 * true[0] - 0.8 * true[1] + gap * rng.normal(size=n)
    columns = true + error[: 2 * n].reshape(2, n)
    return live + error[2 * n :], columns, both[2 * n :, 2 * n :], both[: 2 * n, : 2 * n], both[: 2 * n, 2 * n :]


@pytest.mark.parametrize("gap", [0.0, 0.3])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_plane_with_noise_in_all_columns_is_its_definition(seed, gap):
    """The objective, the spread of true gaps and Fuller's covariance in loops, over another set of contrasts."""
    n = 11
    live, columns, v_z, v_x, cross = a_noisy_plane(seed, n, gap)
    found = fit_plane(live, columns, v_z, v_x, cross=cross)
    rows = np.eye(n)[:-1] - np.eye(n)[1:]

    def part(i: int, j: int) -> np.ndarray:
        return v_x[i * n : (i + 1) * n, j * n : (j + 1) * n]

    def noise(b: np.ndarray, tau2: float) -> np.ndarray:
        whole = v_z + tau2 * np.eye(n)
        for i in range(2):
            shared = cross[i * n : (i + 1) * n]
            whole = whole - b[i] * (shared + shared.T)
            for j in range(2):
                whole = whole + b[i] * b[j] * part(i, j)
        return rows @ whole @ rows.T

    def objective(b: np.ndarray, tau2: float) -> float:
        r = rows @ (live - b @ columns)
        return float(r @ np.linalg.solve(noise(b, tau2), r))

    b, tau2 = found.slopes, found.tau2
    assert (tau2 > 0) == (gap > 0)
    best = optimize.minimize(objective, b + 0.02, args=(tau2,), method="Nelder-Mead", options={"xatol": 1e-8})
    # Two searches over a sum that is flat at its bottom.
    np.testing.assert_allclose(b, best.x, rtol=1e-4)
    if gap:
        # The spread of gaps is searched to a millionth of the largest that it could be.
        assert objective(b, tau2) == pytest.approx(n - 3, rel=2e-3)
        assert found.statistic > n - 3
    else:
        assert objective(b, 0.0) == pytest.approx(found.statistic, rel=1e-6)
    inverse = np.linalg.inv(noise(b, tau2))
    with_rest = [
        rows @ (cross[i * n : (i + 1) * n] - sum(part(i, j) * b[j] for j in range(2))) @ rows.T for i in range(2)
    ]
    adjusted = [rows @ columns[i] - with_rest[i] @ inverse @ rows @ (live - b @ columns) for i in range(2)]
    seen, lost = np.empty((2, 2)), np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            seen[i, j] = adjusted[i] @ inverse @ adjusted[j]
            left = rows @ part(i, j) @ rows.T - with_rest[i] @ inverse @ with_rest[j].T
            lost[i, j] = np.trace(inverse @ left)
    spread = np.linalg.inv(seen - (lost + lost.T) / 2.0)
    np.testing.assert_allclose(found.covariance, spread @ seen @ spread, rtol=1e-5)


def test_a_plane_through_exact_columns_is_generalised_least_squares():
    rng = np.random.default_rng(12)
    columns, noise = rng.normal(0, 1, (2, 15)), np.diag(rng.uniform(0.5, 2.0, 15))
    live = 1 + columns[0] - 0.5 * columns[1] + rng.multivariate_normal(np.zeros(15), noise) * 0.5
    found = fit_plane(live, columns, noise, np.zeros((30, 30)))
    design = np.column_stack([np.ones(15), columns.T])
    weight = np.linalg.inv(noise)
    known = np.linalg.inv(design.T @ weight @ design)
    if found.tau2 == 0.0:
        np.testing.assert_allclose(found.slopes, (known @ design.T @ weight @ live)[1:], rtol=1e-5)
        np.testing.assert_allclose(found.covariance, known[1:, 1:], rtol=1e-5)
    assert found.tau2 == 0.0


def test_a_plane_does_not_hang_on_units():
    rng = np.random.default_rng(13)
    columns = rng.normal(0, 1, (2, 10))
    live = columns[0] + columns[1] + rng.normal(0, 0.5, 10)
    noise = 0.02 * np.eye(20)
    once = fit_plane(live, columns, 0.1 * np.eye(10), noise)
    scale = np.repeat([100.0, 0.1], 10)
    again = fit_plane(live, columns * [[100.0], [0.1]], 0.1 * np.eye(10), noise * np.outer(scale, scale))
    np.testing.assert_allclose(again.slopes * [100.0, 0.1], once.slopes, rtol=1e-5)


def test_a_plane_needs_models_and_columns_that_differ():
    with pytest.raises(CannotAnswerError, match="degree of freedom"):
        fit_plane(np.arange(3.0), np.arange(6.0).reshape(2, 3), np.eye(3), np.eye(6))
    with pytest.raises(CannotAnswerError, match="same for all"):
        fit_plane(np.arange(5.0), np.stack([np.arange(5.0), np.ones(5)]), np.eye(5), np.eye(10))


def coverage(n_models: int, spread: float, draws: int) -> tuple[float, float, float]:
    """Coverage of pooled drops and of forecasts, and how often a spread is found."""
    rng = np.random.default_rng(17)
    errors = covariance_of(n_models)
    root = np.linalg.cholesky(errors)
    inside = np.zeros((draws, 2))
    found_spread = np.zeros(draws)
    for k in range(draws):
        ideal, drop = rng.uniform(0.5, 0.9, n_models), rng.normal(-0.15, spread, n_models)
        noise = root @ rng.standard_normal(2 * n_models)
        drops = Drops(
            ideal=ideal + noise[:n_models], drop=drop + noise[n_models:], covariance=errors, df=np.full(n_models, 1e6)
        )
        found = pooled_drops(drops, 0.5)
        far = np.abs(found.pooled - drop) / found.pooled_std_error
        missed = np.abs(found.forecast - ideal - 0.5 * drop) / np.sqrt(np.diag(found.forecast_covariance))
        inside[k] = (far < 1.96).mean(), (missed < 1.96).mean()
        found_spread[k] = (found.spread_p or 0.0) < 0.05
    return (*inside.mean(axis=0).tolist(), float(found_spread.mean()))


def test_intervals_of_pooled_drops_and_forecasts_cover_and_no_spread_is_seldom_found():
    pooled, forecast, _ = coverage(8, 0.06, 150)
    assert 0.92 < pooled < 0.98
    assert 0.92 < forecast < 0.98
    # 150 draws of a 5% test: mean plus three standard errors.
    assert coverage(8, 0.0, 150)[2] < 0.11


@pytest.mark.slow
@pytest.mark.parametrize("n_models", [6, 15])
@pytest.mark.parametrize("spread", [0.0, 0.02, 0.06, 0.15])
def test_coverage_at_many_spreads(n_models: int, spread: float):
    pooled, forecast, found = coverage(n_models, spread, 500)
    assert pooled > 0.925
    assert forecast > 0.935
    if spread == 0.0:
        # 500 draws of a 5% test: three standard errors are .03.
        assert 0.02 < found < 0.08


@pytest.mark.parametrize("share", [0.3, 2.0])
def test_the_covariance_of_forecasts_is_that_of_their_errors_block_by_block(share: float):
    """Forecast less truth: e_ideal + share (A e_drop + (A - I) a), the errors' own covariances, and the unknown spread."""
    rng = np.random.default_rng(8)
    drops = drops_of(rng.uniform(0.5, 0.9, 5), rng.normal(-0.2, 0.3, 5))
    found, (_, pull, extra, spread) = pooled_drops(drops, share, share_variance=0.01), _pooled(drops)
    v, left = drops.covariance, pull - np.eye(5)
    wanted = v[:5, :5] + share * (v[:5, 5:] @ pull.T + pull @ v[5:, :5]) + share * share * pull @ v[5:, 5:] @ pull.T
    of_truth = spread * spread * left @ left.T + np.diag(extra)
    assert spread > 0.1
    np.testing.assert_allclose(found.forecast_covariance, wanted + share * share * of_truth + 0.01, rtol=1e-9)
    own = np.diag(pull @ v[5:, 5:] @ pull.T + of_truth)
    np.testing.assert_allclose(found.pooled_std_error, np.sqrt(own), rtol=1e-9)
