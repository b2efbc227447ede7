"""Other lines from lab to live: closed forms, other programs, and what outliers and noise do to them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import linalg, optimize, stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.errors_in_variables import line_estimators
from evalstats.stats.errors_in_variables.line import fit_line, no_slope_p
from evalstats.stats.errors_in_variables.line_estimators import (
    _crossing,
    _edges,
    _whitened,
    least_squares,
    theil_sen,
    without_leverage,
)
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance, unique_variances
from evalstats.stats.errors_in_variables.slope_search import contrast_rows, scaled_sides

CLOSED = 1e-8
SEARCHED = 1e-4  # a search over a likelihood that is flat at its top


def _scores(seed: int, n: int = 30, *, lab: float = 0.5, live: float = 0.2, tau: float = 0.3) -> LabLiveScores:
    rng = np.random.default_rng(seed)
    true = rng.normal(size=n)
    return LabLiveScores(
        lab=true + lab * rng.normal(size=n),
        live=1.0 + true + live * rng.normal(size=n) + tau * rng.normal(size=n),
        lab_covariance=lab**2 * np.eye(n),
        live_covariance=live**2 * np.eye(n),
    )


def test_least_squares_on_published_points(golden: Path) -> None:
    values = json.loads((golden / "py_golden.json").read_text())
    points = values["york_pearson"]
    scores = LabLiveScores(
        lab=np.array(points["x"]), live=np.array(points["y"]), lab_covariance=np.eye(10), live_covariance=np.eye(10)
    )
    line = least_squares(scores)
    np.testing.assert_allclose((line.intercept, line.slope), values["ols_same_xy"], rtol=CLOSED)


def test_least_squares_is_scipys_and_counts_residuals_beyond_live_noise() -> None:
    scores = _scores(1)
    line, other = least_squares(scores), stats.linregress(scores.lab, scores.live)
    assert (line.slope, line.slope_std_error) == pytest.approx((other.slope, other.stderr))
    residual = scores.live - other.intercept - other.slope * scores.lab
    assert line.n_beyond == (np.abs(residual) > stats.norm.ppf(0.975) * 0.2).sum()
    assert least_squares(replace(scores, live_covariance=None)).n_beyond is None


def test_theil_sen_without_lab_errors_is_scipys() -> None:
    scores = replace(_scores(2), lab_covariance=np.zeros((30, 30)))
    assert theil_sen(scores).slope == pytest.approx(stats.theilslopes(scores.live, scores.lab).slope, rel=0.01)


def test_noise_in_the_lab_flattens_least_squares_alone() -> None:
    """25 worlds of slope 1 at reliability 0.8: means within 3 standard errors (sd of one slope about 0.13)."""
    slopes = np.array(
        [
            [of(scores).slope for of in (least_squares, theil_sen)]
            for scores in (_scores(seed, tau=0.0) for seed in range(25))
        ]
    )
    slack = 3 * 0.13 / np.sqrt(25)
    assert slopes[:, 0].mean() == pytest.approx(0.8, abs=slack)
    np.testing.assert_allclose(slopes[:, 1:].mean(axis=0), 1.0, atol=slack + 0.02)


def test_an_outlying_model_does_not_move_the_line_by_ranks() -> None:
    scores = _scores(4, lab=0.2, tau=0.1)
    live = scores.live.copy()
    live[int(scores.lab.argmax())] += 15.0
    moved = replace(scores, live=live)
    assert abs(theil_sen(moved).slope - theil_sen(scores).slope) < 0.15
    assert abs(least_squares(moved).slope - least_squares(scores).slope) > 0.5


def test_unique_variances_leave_out_what_models_share() -> None:
    own = np.array([1.0, 2.0, 5.0, 0.5])
    found = unique_variances(np.diag(own) + 7.0)
    np.testing.assert_allclose(found, own)
    assert found.mean() == pytest.approx(centred_variance(np.diag(own) + 7.0))


def test_the_line_without_the_model_of_most_leverage_names_it() -> None:
    scores = _scores(5)
    lab = scores.lab.copy()
    lab[7] = 9.0
    far = replace(scores, lab=lab)
    line = without_leverage(far, fit_line(far))
    assert line.place == 7
    assert line.slope == pytest.approx(fit_line(far.subset(np.delete(np.arange(30), 7))).slope)


def test_refusals_are_in_words() -> None:
    scores = _scores(6)
    with pytest.raises(CannotAnswerError, match="standard errors of both"):
        theil_sen(replace(scores, lab_covariance=None))
    with pytest.raises(CannotAnswerError, match="same lab score"):
        theil_sen(replace(scores, lab=np.ones(30)))
    with pytest.raises(CannotAnswerError, match="too few for a line"):
        least_squares(scores.subset(np.array([0, 1])))


def _all_slopes(scores: LabLiveScores) -> float:
    """The line by ranks from its definition: each slope between two models tried, one at a time."""
    assert scores.lab_covariance is not None
    assert scores.live_covariance is not None
    x, z = scores.lab, scores.live
    v_x, v_z = centred_variance(scores.lab_covariance), centred_variance(scores.live_covariance)
    i, j = np.triu_indices(x.size, 1)
    edges = np.sort((z[j] - z[i]) / (x[j] - x[i]))
    edges = edges[(edges > 0.6) & (edges < 1.7)]  # slope 1 is planted, and residuals are smallest near it
    taus = []
    for b in (edges[1:] + edges[:-1]) / 2:
        r = z - b * x - np.median(z - b * x)
        spread = max((1.482602218505602 * np.median(np.abs(r))) ** 2, v_z + b**2 * v_x)
        taus.append(stats.kendalltau(r, x + b * v_x / spread * r).statistic)
    at = int(np.flatnonzero((np.array(taus[:-1]) > 0) & (np.array(taus[1:]) <= 0))[0])
    return float(edges[at + 1])


def test_the_line_by_ranks_of_many_models_is_found_as_if_each_slope_were_tried() -> None:
    """80 models: slopes are thinned first. Neighbouring slopes between models are about 0.001 apart there."""
    scores = _scores(7, n=80)
    assert theil_sen(scores).slope == pytest.approx(_all_slopes(scores), abs=0.005)


def test_the_line_by_ranks_of_many_models_rests_on_drawn_pairs_and_is_the_same_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_estimators, "_MOST_PAIRS", 1_000)  # of 1,770
    scores = _scores(8, n=60)
    slope = theil_sen(scores).slope
    assert slope == theil_sen(scores).slope
    # Standard error of one slope of 60 models about 0.13 sqrt(30 / 60) = 0.09.
    assert slope == pytest.approx(1.0, abs=0.27)


TIGHT = {"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4000, "maxfev": 4000}


@pytest.mark.parametrize("n", [5, 8, 13])
def test_the_line_by_ranks_of_few_models_tries_every_slope(n: int) -> None:
    """Residuals and adjusted lab scores change from more concordant to more discordant pairs at the slope."""
    scores = _scores(n, n=n)
    slope = theil_sen(scores).slope
    v_x, v_z = centred_variance(scores.lab_covariance), centred_variance(scores.live_covariance)

    def concordant(b: float) -> float:
        r = scores.live - b * scores.lab
        r = r - np.median(r)
        middle = (1.482602218505602 * np.median(np.abs(r))) ** 2
        points = scores.lab + b * v_x / max(middle, v_z + b**2 * v_x) * r
        return sum(np.sign(r[j] - r[i]) * np.sign(points[j] - points[i]) for i in range(n) for j in range(i))

    assert concordant(slope - 1e-6) >= 0.0 >= concordant(slope + 1e-6)
    assert theil_sen(scores).intercept == pytest.approx(np.median(scores.live - slope * scores.lab))


def test_models_with_equal_scores_do_not_stop_the_line_by_ranks() -> None:
    """Pairs of equal models tell nothing; where most scores of a side are equal, spreads stand in for their middle distance."""
    lab = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 4.0])
    live = np.array([0.5, 0.5, 2.5, 2.5, 4.5, 6.5, 8.5])
    tables = {"lab_covariance": 0.01 * np.eye(7), "live_covariance": 0.01 * np.eye(7)}
    assert theil_sen(LabLiveScores(lab=lab, live=live, **tables)).slope == pytest.approx(2.0, abs=0.05)
    mostly = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 5.0])
    for x, z in ((lab, mostly), (mostly, lab)):
        first, second = np.triu_indices(7, 1)
        steps, edges = _edges(x, z, first, second)
        assert steps.size % 2 == 1
        assert np.median(steps) == pytest.approx(0.0, abs=1e-12)
        # An angle of 45 degrees is one spread against the other.
        assert np.abs(steps / (z.std() / x.std()) - 1.0).min() < 0.1
        assert set(steps.tolist()) <= set(edges.tolist())
        assert np.isfinite(theil_sen(LabLiveScores(lab=x, live=z, **tables)).slope)


def test_ranks_that_never_turn_take_the_slope_of_least_agreement() -> None:
    edges, size = np.arange(6.0), np.ones(5)
    assert _crossing(edges, np.array([5.0, 3.0, 1.0, 2.0, 4.0]), size) == 2.0
    assert _crossing(edges, np.array([-5.0, -3.0, -4.0, -2.0, -4.0]), size) == 3.0 + 0.0
    assert _crossing(edges, np.array([5.0, 3.0, 0.0, -2.0, -4.0]), size) == 2.5
    # Twice: where residuals are smaller against their noise.
    twice = np.array([5.0, -3.0, -1.0, 2.0, -4.0])
    assert _crossing(edges, twice, np.array([2.0, 9.0, 9.0, 1.0, 9.0])) == 4.0
    assert _crossing(edges, twice, np.array([1.0, 9.0, 9.0, 2.0, 9.0])) == 1.0


def _crossed(seed: int, n: int = 8) -> LabLiveScores:
    """Scores whose errors go together between the sides, and not alike in both directions."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2 * n, 40)) / 16.0
    both = root @ root.T
    true = rng.normal(size=n)
    error = root @ rng.normal(size=40)
    return LabLiveScores(
        lab=true + error[:n],
        live=1.0 + 2.0 * true + error[n:],
        lab_covariance=both[:n, :n],
        live_covariance=both[n:, n:],
        cross=both[:n, n:],
    )


def test_no_association_allows_for_errors_that_both_sides_share() -> None:
    """x'P z less what errors alone give it, tr(P C), over its noise; P the precision of live contrasts, by any contrasts."""
    for seed in range(4):
        scores = replace(_crossed(seed), live=np.random.default_rng(seed).normal(size=8))
        sides = scaled_sides(scores, 5)
        rows = linalg.helmert(8)
        x, z = rows @ scores.lab, rows @ scores.live
        v, cross = rows @ scores.live_covariance @ rows.T, rows @ scores.cross @ rows.T

        def precision(tau2: float, v: np.ndarray = v) -> np.ndarray:
            return np.linalg.inv(v + tau2 * np.eye(7))

        tau2 = optimize.brentq(lambda t, z=z: z @ precision(t) @ z - 7, 0.0, 100.0, xtol=1e-14)
        p = precision(tau2)
        inner = x @ p @ z - np.trace(p @ (cross + cross.T)) / 2
        share = inner**2 / ((x @ p @ x) * (z @ p @ z))
        wanted = 2 * stats.t.sf(np.sqrt(share * 6 / (1 - share)), 6)
        assert no_slope_p(sides, sides.all_models()) == pytest.approx(wanted, rel=1e-6)


def test_the_noise_of_residuals_has_the_errors_that_both_sides_share_in_it() -> None:
    """The contrasts of live - b lab vary by V_z + b^2 V_x - b (C + C') and the spread of true gaps."""
    scores = _crossed(5, 12)
    fit = fit_line(scores)
    residual, points, root = _whitened(scores, fit)
    b, shared = fit.slope, scores.cross + scores.cross.T
    whole = scores.live_covariance + b**2 * scores.lab_covariance - b * shared + fit.tau2 * np.eye(12)
    rows = contrast_rows(12)
    noise = rows @ whole @ rows.T
    np.testing.assert_allclose(root @ root.T * scores.live.var(ddof=1), noise, rtol=1e-7, atol=1e-12)
    away = scores.live - b * scores.lab
    assert residual - residual.mean() == pytest.approx(away - away.mean())
    # What the residuals tell of the lab's errors is taken off the lab scores.
    told = (scores.cross - b * scores.lab_covariance) @ rows.T @ np.linalg.inv(noise) @ rows @ away
    adjusted = scores.lab - told
    assert points * scores.lab.std(ddof=1) == pytest.approx(adjusted - adjusted.mean(), abs=1e-7)
