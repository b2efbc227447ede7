"""York's line against published values, its definition, and what may not matter to it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.errors_in_variables.line import fit_line, lab_spread_p
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.slope_search import Problems

CLOSED = 1e-8  # closed forms and published values held to full precision
SEARCHED = 1e-6  # two searches that stop by themselves


def _values(golden: Path) -> dict[str, Any]:
    return json.loads((golden / "py_golden.json").read_text())


def _pearson(golden: Path) -> LabLiveScores:
    given = _values(golden)["york_pearson"]
    return LabLiveScores(
        lab=np.array(given["x"]),
        live=np.array(given["y"]),
        lab_covariance=np.diag(1.0 / np.array(given["wx"])),
        live_covariance=np.diag(1.0 / np.array(given["wy"])),
    )


def _random(seed: int, n: int = 9, *, tau: float = 0.5, cross: bool = True) -> LabLiveScores:
    """Scores with a full joint covariance of both sides' errors."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2 * n, 2 * n)) * 0.1
    joint = root @ root.T + np.diag(rng.uniform(0.01, 0.05, size=2 * n))
    true = rng.normal(size=n)
    errors = np.linalg.cholesky(joint) @ rng.normal(size=2 * n)
    return LabLiveScores(
        lab=true + errors[:n],
        live=0.7 + 1.5 * true + tau * rng.normal(size=n) + errors[n:],
        lab_covariance=joint[:n, :n],
        live_covariance=joint[n:, n:],
        cross=joint[:n, n:] if cross else None,
    )


def _sum(scores: LabLiveScores, slope: float, tau2: float) -> tuple[float, float]:
    """S and the intercept, from the definition."""
    n = scores.n_models
    assert scores.lab_covariance is not None
    assert scores.live_covariance is not None
    cross = np.zeros((n, n)) if scores.cross is None else scores.cross
    omega = scores.live_covariance + slope**2 * scores.lab_covariance - slope * (cross + cross.T) + tau2 * np.eye(n)
    precision, rest = np.linalg.inv(omega), scores.live - slope * scores.lab
    intercept = precision.sum(axis=0) @ rest / precision.sum()
    residual = rest - intercept
    return float(residual @ precision @ residual), float(intercept)


def test_published_values_of_york_2004(golden: Path) -> None:
    fit, given = fit_line(_pearson(golden), tau2=0.0), _values(golden)["york_pearson"]
    found = (fit.slope, fit.intercept, fit.slope_std_error, fit.intercept_std_error, fit.statistic)
    wanted = [given[key] for key in ("slope", "intercept", "se_b", "se_a", "S")]
    np.testing.assert_allclose(found, wanted, rtol=CLOSED)
    assert fit.p_value == pytest.approx(stats.chi2.sf(given["S"], 8), rel=CLOSED)


def test_equal_errors_give_demings_line(golden: Path) -> None:
    scores = replace(_pearson(golden), lab_covariance=np.eye(10), live_covariance=np.eye(10))
    fit = fit_line(scores, tau2=0.0)
    np.testing.assert_allclose((fit.intercept, fit.slope), _values(golden)["deming_delta1_same_xy"], rtol=CLOSED)


def test_an_exact_lab_gives_least_squares(golden: Path) -> None:
    scores = replace(_pearson(golden), lab_covariance=np.zeros((10, 10)), live_covariance=0.1 * np.eye(10))
    for tau2 in (0.0, None):
        fit = fit_line(scores, tau2=tau2)
        np.testing.assert_allclose((fit.intercept, fit.slope), _values(golden)["ols_same_xy"], rtol=CLOSED)


def test_an_exact_lab_and_unequal_live_errors_give_generalised_least_squares() -> None:
    scores = _random(3, cross=False)
    scores = replace(scores, lab_covariance=np.zeros((9, 9)))
    fit = fit_line(scores, tau2=0.2)
    assert scores.live_covariance is not None
    precision = np.linalg.inv(scores.live_covariance + 0.2 * np.eye(9))
    design = np.stack([np.ones(9), scores.lab], axis=1)
    table = np.linalg.inv(design.T @ precision @ design)
    np.testing.assert_allclose((fit.intercept, fit.slope), table @ design.T @ precision @ scores.live, rtol=CLOSED)
    np.testing.assert_allclose((fit.intercept_std_error, fit.slope_std_error), np.sqrt(np.diag(table)), rtol=CLOSED)


@pytest.mark.parametrize("seed", range(2))
def test_slope_intercept_and_tau_are_those_of_the_definition(seed: int) -> None:
    scores = _random(seed, tau=0.6 if seed % 2 else 0.0)
    fit = fit_line(scores)
    # S over many slopes, from the definition: none is lower than that found.
    angles = np.linspace(-np.pi / 2, np.pi / 2, 501)[1:-1]
    lowest = min(_sum(scores, float(np.tan(angle)), fit.tau2)[0] for angle in angles)
    value, intercept = _sum(scores, fit.slope, fit.tau2)
    assert value <= lowest + SEARCHED
    assert intercept == pytest.approx(fit.intercept, rel=SEARCHED)
    polished = optimize.minimize_scalar(
        lambda b: _sum(scores, b, fit.tau2)[0], bracket=(fit.slope - 0.1, fit.slope + 0.1), tol=1e-10
    )
    assert float(polished.x) == pytest.approx(fit.slope, rel=1e-5)
    at_zero = min(_sum(scores, float(np.tan(angle)), 0.0)[0] for angle in angles)
    assert fit.statistic <= at_zero + SEARCHED
    assert (fit.tau2 == 0.0) == (fit.statistic <= 7)
    if fit.tau2 > 0.0:
        assert value == pytest.approx(7.0, rel=SEARCHED)


def test_the_interval_of_tau_inverts_the_test() -> None:
    scores = _random(5, n=12, tau=0.8)
    fit = fit_line(scores)
    assert fit.tau_high is not None
    assert 0.0 < fit.tau_low < fit.tau < fit.tau_high
    for tau, tail in ((fit.tau_low, 0.975), (fit.tau_high, 0.025)):
        value, _ = _sum(scores, fit_line(scores, tau2=tau**2).slope, tau**2)
        assert stats.chi2.cdf(value, 10) == pytest.approx(tail, abs=SEARCHED)


def test_models_too_close_to_the_line_have_no_upper_end_of_tau() -> None:
    lab = np.arange(12.0)
    scores = LabLiveScores(lab=lab, live=2 * lab, lab_covariance=np.eye(12), live_covariance=np.eye(12))
    fit = fit_line(scores)
    assert fit.tau_high is None
    assert fit.tau == 0.0
    assert fit.p_value > 0.999


@pytest.mark.parametrize("seed", range(4))
def test_errors_that_all_models_share_change_nothing_between_models(seed: int) -> None:
    scores = _random(seed)
    assert scores.lab_covariance is not None
    assert scores.live_covariance is not None
    assert scores.cross is not None
    rng = np.random.default_rng(seed)
    one, other = rng.uniform(0, 1, 9), np.ones(9)
    shifted = replace(
        scores,
        lab_covariance=scores.lab_covariance + 3.0 + np.outer(one, other) + np.outer(other, one),
        live_covariance=scores.live_covariance + 40.0,
        cross=scores.cross - 2.0,
    )
    plain, moved = fit_line(scores), fit_line(shifted)
    for name in (
        "slope",
        "slope_std_error",
        "tau2",
        "statistic",
        "slope_low",
        "slope_p_value",
        "tau_low",
        "lab_p_value",
    ):
        assert getattr(moved, name) == pytest.approx(getattr(plain, name), rel=SEARCHED, abs=1e-9), name
    np.testing.assert_allclose(
        moved.residual - moved.residual.mean(), plain.residual - plain.residual.mean(), atol=1e-8
    )


def test_a_singular_covariance_of_ratings_is_used_as_it_is() -> None:
    scores = _random(2, cross=False)
    assert scores.live_covariance is not None
    centre = np.eye(9) - 1 / 9
    centred = replace(scores, live_covariance=centre @ scores.live_covariance @ centre)
    exact = replace(centred, lab_covariance=np.zeros((9, 9)))
    assert fit_line(centred).slope == pytest.approx(fit_line(scores).slope, rel=SEARCHED)
    assert np.isfinite(fit_line(exact).intercept_std_error)


def test_models_known_exactly_on_both_sides_are_gaps_for_certain() -> None:
    rng = np.random.default_rng(1)
    lab = rng.normal(size=10)
    nothing = np.zeros((10, 10))
    scores = LabLiveScores(
        lab=lab, live=lab + rng.normal(size=10) * 0.3, lab_covariance=nothing, live_covariance=nothing
    )
    fit, by_hand = fit_line(scores), stats.linregress(lab, scores.live)
    assert fit.p_value == pytest.approx(1e-300)
    assert fit.slope == pytest.approx(by_hand.slope, rel=1e-6)
    assert fit.tau == pytest.approx(
        np.sqrt(((scores.live - by_hand.intercept - by_hand.slope * lab) ** 2).sum() / 8), rel=1e-4
    )


@pytest.mark.parametrize("scale", [400.0, 1e-3, -1.0])
def test_units_and_zeros_of_either_side_only_change_the_units(scale: float) -> None:
    scores = _random(4)
    assert scores.live_covariance is not None
    assert scores.cross is not None
    other = replace(
        scores,
        lab=scores.lab - 7.0,
        live=1000.0 + scale * scores.live,
        live_covariance=scale**2 * scores.live_covariance,
        cross=scale * scores.cross,
    )
    plain, scaled = fit_line(scores), fit_line(other)
    assert scaled.slope == pytest.approx(scale * plain.slope, rel=SEARCHED)
    assert scaled.slope_std_error == pytest.approx(abs(scale) * plain.slope_std_error, rel=SEARCHED)
    assert scaled.tau == pytest.approx(abs(scale) * plain.tau, rel=SEARCHED)
    assert scaled.statistic == pytest.approx(plain.statistic, rel=SEARCHED)
    np.testing.assert_allclose(scaled.residual, scale * plain.residual, atol=1e-6 * abs(scale))


def test_sides_may_change_places_where_there_is_no_spread() -> None:
    scores = _random(8, tau=0.0)
    assert scores.cross is not None
    turned = LabLiveScores(
        lab=scores.live,
        live=scores.lab,
        lab_covariance=scores.live_covariance,
        live_covariance=scores.lab_covariance,
        cross=scores.cross.T,
    )
    there, back = fit_line(scores, tau2=0.0), fit_line(turned, tau2=0.0)
    assert back.slope == pytest.approx(1 / there.slope, rel=SEARCHED)
    assert back.statistic == pytest.approx(there.statistic, rel=SEARCHED)


def test_order_of_models_does_not_matter() -> None:
    scores, order = _random(6), np.random.default_rng(0).permutation(9)
    plain, shuffled = fit_line(scores), fit_line(scores.subset(order))
    assert shuffled.slope == pytest.approx(plain.slope, rel=SEARCHED)
    np.testing.assert_allclose(shuffled.leverage, plain.leverage[order], atol=1e-8)


def test_the_ends_of_the_slopes_interval_are_where_the_test_rejects() -> None:
    scores = _random(7, cross=False)
    fit = fit_line(scores)
    assert fit.slope_low < fit.slope < fit.slope_high
    assert scores.lab_covariance is not None
    assert scores.live_covariance is not None
    limit = stats.t.ppf(0.975, 7) if fit.tau2 > 0 else stats.norm.ppf(0.975)
    for b in (fit.slope_low, fit.slope_high):
        omega = scores.live_covariance + b**2 * scores.lab_covariance + fit.tau2 * np.eye(9)
        precision = np.linalg.inv(omega)
        whole = precision.sum(axis=0)
        contrast = precision - np.outer(whole, whole) / whole.sum()
        pulled = contrast @ (scores.live - b * scores.lab)
        points = scores.lab + b * scores.lab_covariance @ pulled
        assert abs(points @ pulled / np.sqrt(points @ contrast @ points)) == pytest.approx(limit, rel=1e-3)


def test_what_cannot_be_answered_is_refused_in_words() -> None:
    scores = _random(1)
    with pytest.raises(CannotAnswerError, match="2 shared models are too few"):
        fit_line(scores.subset(np.array([0, 1])))
    with pytest.raises(CannotAnswerError, match="not every lab score has a standard error"):
        fit_line(replace(scores, lab_covariance=None))
    with pytest.raises(CannotAnswerError, match="same live score"):
        fit_line(replace(scores, live=np.full(9, 2.5)))
    with pytest.raises(InputError, match="conf_level"):
        fit_line(scores, conf_level=95)


def test_a_lab_of_nothing_but_noise_is_seen() -> None:
    rng = np.random.default_rng(2)
    scores = LabLiveScores(
        lab=rng.normal(size=12), live=rng.normal(size=12), lab_covariance=np.eye(12), live_covariance=0.01 * np.eye(12)
    )
    fit = fit_line(scores)
    assert fit.lab_p_value > 0.05
    assert not np.isfinite(fit.slope_high) or not np.isfinite(fit.slope_low)


def _exact_lab(residual: float, noise: float = 0.3) -> LabLiveScores:
    """An exact lab and live scores off their line by `residual` times fixed numbers, with errors of one size."""
    lab = np.array([0.0, 0.4, 1.0, 1.1, 1.9, 2.5, 3.0, 3.2])
    off = np.array([0.3, -0.5, 0.1, 0.4, -0.6, 0.5, -0.4, 0.2])
    return LabLiveScores(
        lab=lab,
        live=1.0 + 0.8 * lab + residual * off,
        lab_covariance=np.zeros((8, 8)),
        live_covariance=noise**2 * np.eye(8),
    )


@pytest.mark.parametrize("residual", [0.1, 3.0])
def test_ps_of_the_slope_are_normal_where_noise_explains_all_and_students_where_not(residual: float) -> None:
    scores = _exact_lab(residual)
    fit = fit_line(scores)
    assert (fit.tau2 > 0.0) == (residual > 1.0)
    x, z = (side - side.mean() for side in (scores.lab, scores.live))
    ratio = x @ (z - x) / np.sqrt(x @ x * (0.3**2 + fit.tau2))
    law = stats.t(6) if residual > 1.0 else stats.norm()
    assert fit.slope_one_p == pytest.approx(2.0 * law.sf(abs(ratio)))
    # Without a slope, live scores differ by more than their noise in both: they are judged by that difference.
    assert fit.slope_p_value == pytest.approx(stats.pearsonr(scores.lab, scores.live).pvalue)


def test_where_live_scores_differ_by_noise_alone_no_slope_is_judged_by_the_noise() -> None:
    scores = _exact_lab(0.5, noise=4.0)
    x, z = (side - side.mean() for side in (scores.lab, scores.live))
    assert fit_line(scores).slope_p_value == pytest.approx(2.0 * stats.norm.sf(x @ z / (4.0 * np.sqrt(x @ x))))


def test_lab_scores_without_error_are_apart_or_the_same_but_for_rounding() -> None:
    """Three contrasts: of error of every size, of none and far from 0, of none and of the size of rounding."""
    x = np.array([[1.0, -2.0, 0.5], [1.0, -2.0, 0.5], [1e-9, 0.0, -1e-9]])
    root = np.array([[1.0, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.2, 0.1, 0.5]])
    v = np.stack([root @ root.T, np.zeros((3, 3)), np.zeros((3, 3))])
    p = lab_spread_p(Problems(x=x, z=x, v_x=v, v_z=v, v_cross=None))
    assert p[0] == pytest.approx(stats.chi2.sf(x[0] @ np.linalg.solve(v[0], x[0]), 3), rel=1e-6)
    assert 0.0 < p[1] < 1e-200
    assert p[2] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cross": np.zeros((5, 6))}, "cross has shape"),
        ({"cross": np.full((6, 6), np.nan)}, "cross has shape"),
        ({"lab_covariance": np.eye(5)}, "lab_covariance has shape"),
        ({"live_covariance": np.full((6, 6), np.inf)}, "live_covariance has shape"),
        ({"lab_covariance": np.triu(np.ones((6, 6)))}, "must be symmetric"),
        ({"live_covariance": np.diag([1.0, 1.0, -1e-3, 1.0, 1.0, 1.0])}, "no negative variance"),
    ],
)
def test_covariances_that_do_not_fit_the_scores_are_refused(change: dict[str, Any], says: str) -> None:
    given = {"lab_covariance": np.eye(6), "live_covariance": np.eye(6), **change}
    with pytest.raises(InputError, match=says):
        LabLiveScores(lab=np.arange(6.0), live=np.arange(6.0), **given)
