"""Whether a bend of live against lab scores is found, and none where there is none."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import logit

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray
from evalstats.stats.errors_in_variables.line import fit_line
from evalstats.stats.errors_in_variables.line_estimators import Bend, bend
from evalstats.stats.errors_in_variables.scores import LabLiveScores

CLOSED = 1e-8


def _straight(true: FloatArray) -> FloatArray:
    return 1.0 + true


def _world(
    seed: int,
    n: int,
    *,
    lab: float = 0.3,
    tau: float = 0.2,
    skewed: bool = False,
    curve: Callable[[FloatArray], FloatArray] = _straight,
) -> LabLiveScores:
    """Scores with full covariances of unlike errors on both sides; skewed true scores are those that mislead most."""
    rng = np.random.default_rng(seed)
    true = rng.exponential(size=n) - 1.0 if skewed else rng.normal(size=n)

    def covariance(size: float) -> FloatArray:
        shared = rng.normal(size=(n, 3)) * 0.6
        return size**2 * (shared @ shared.T + np.diag(rng.uniform(0.3, 1.0, n)) + 0.5)

    v_x, v_z = covariance(lab), covariance(0.2)
    errors = [np.linalg.cholesky(table) @ rng.normal(size=n) for table in (v_x, v_z)]
    live = curve(true) + errors[1] + tau * rng.normal(size=n)
    return LabLiveScores(lab=true + errors[0], live=live, lab_covariance=v_x, live_covariance=v_z)


def _share(seed: int, n: int) -> LabLiveScores:
    """A share in the lab (mostly below a half) against a rating that is straight in its log-odds."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(-1.2, 1.0, n)
    lab = 1.0 / (1.0 + np.exp(-skill)) + 0.01 * rng.normal(size=n)
    live = 1200 + 100 * skill + 10 * rng.normal(size=n)
    return LabLiveScores(
        lab=np.clip(lab, 0.005, 0.995), live=live, lab_covariance=1e-4 * np.eye(n), live_covariance=100 * np.eye(n)
    )


def _found(scores: LabLiveScores) -> Bend:
    return bend(scores, fit_line(scores))


def test_with_an_exact_lab_it_is_the_t_of_the_square_in_least_squares() -> None:
    scores = replace(_world(1, 14), lab_covariance=np.zeros((14, 14)))
    fit = fit_line(scores)
    design = np.stack([np.ones(14), scores.lab, scores.lab**2], axis=1)
    assert scores.live_covariance is not None
    other = sm.GLS(scores.live, design, sigma=scores.live_covariance + fit.tau2 * np.eye(14)).fit()
    found = bend(scores, fit)
    assert found.statistic == pytest.approx(other.tvalues[2], rel=1e-6)
    assert found.p_value == pytest.approx(other.pvalues[2], rel=1e-6)
    assert found.df == 11


def test_what_all_models_share_and_units_and_zeros_and_order_do_not_matter() -> None:
    scores = _world(2, 15)
    assert scores.lab_covariance is not None
    assert scores.live_covariance is not None
    plain = _found(scores)
    moved = replace(
        scores,
        lab=5.0 - 3.0 * scores.lab,
        live=1000.0 + 400.0 * scores.live,
        lab_covariance=9.0 * scores.lab_covariance + 2.0,
        live_covariance=400.0**2 * scores.live_covariance + 1e5,
    )
    turned = _found(moved.subset(np.random.default_rng(0).permutation(15)))
    assert turned.statistic == pytest.approx(plain.statistic, rel=1e-5)
    assert turned.p_value == pytest.approx(plain.p_value, rel=1e-5)
    assert _found(replace(scores, live=-scores.live)).statistic == pytest.approx(-plain.statistic, rel=1e-5)


def test_a_singular_covariance_of_ratings_is_used_as_it_is() -> None:
    scores = _world(3, 12)
    centre = np.eye(12) - 1 / 12
    assert scores.live_covariance is not None
    centred = replace(scores, live_covariance=centre @ scores.live_covariance @ centre)
    assert _found(centred).statistic == pytest.approx(_found(scores).statistic, rel=1e-5)


def _rejected(n: int, rounds: int, **world: object) -> float:
    return float(np.mean([_found(_world(seed, n, **world)).p_value <= 0.05 for seed in range(rounds)]))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("n", [12, 40])
def test_a_straight_line_is_called_bent_as_often_as_said(n: int) -> None:
    """A noisy lab and skewed true scores: 20 worlds, so at most 4 of them (P of more is 0.3% at 5%)."""
    assert _rejected(n, 20, lab=0.4, skewed=True) <= 4 / 20


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 12, 40])
@pytest.mark.parametrize("lab", [0.02, 0.5])
@pytest.mark.parametrize("tau", [0.0, 0.3])
@pytest.mark.parametrize("skewed", [False, True])
def test_the_level_over_worlds(n: int, lab: float, tau: float, *, skewed: bool) -> None:
    rounds = 400
    share = _rejected(n, rounds, lab=lab, tau=tau, skewed=skewed)
    # Slope and tau^2 are estimated: 0.08 is allowed, and 3 standard errors of a share of 400.
    assert share <= 0.08 + 3 * np.sqrt(0.08 * 0.92 / rounds)
    assert share >= 0.05 - 4 * np.sqrt(0.05 * 0.95 / rounds)


def test_raw_lab_scores_in_their_place_would_bend_by_noise_alone() -> None:
    """Why adjusted points: with raw ones a straight line of skewed scores is called bent far too often."""

    def raw(scores: LabLiveScores) -> float:
        design = np.stack([np.ones(40), scores.lab, scores.lab**2], axis=1)
        return float(sm.OLS(scores.live, design).fit().pvalues[2])

    worlds = [_world(seed, 40, lab=0.4, tau=0.0, skewed=True) for seed in range(12)]
    often = [np.mean([p(scores) <= 0.05 for scores in worlds]) for p in (raw, lambda scores: _found(scores).p_value)]
    assert often[0] > often[1]


@pytest.mark.parametrize(("n", "least", "n_worlds"), [(12, 0.7, 20), (40, 0.98, 6)])
def test_a_share_against_log_odds_is_called_bent_and_log_odds_are_not(n: int, least: float, n_worlds: int) -> None:
    """Power: 0.99 with 12 models and no noise, 0.5 to 1 with noise; the noise here is small, so most are found."""
    made = [_share(seed, n) for seed in range(n_worlds)]
    found = [_found(scores) for scores in made]
    assert np.mean([each.p_value <= 0.05 for each in found]) >= least
    assert np.mean([each.statistic < 0 for each in found]) >= least  # flat in the middle of a share: concave
    turned = [
        replace(scores, lab=logit(scores.lab), lab_covariance=np.diag(1e-4 / (scores.lab * (1 - scores.lab)) ** 2))
        for scores in made
        if scores.lab.min() > 0.04  # where the log-odds' error is told by the delta method
    ]
    if turned:
        # At most a quarter of however few there are, or one.
        assert sum(_found(scores).p_value <= 0.05 for scores in turned) <= max(1, len(turned) // 4)


def test_p_of_a_plain_curve_is_that_of_t() -> None:
    found = _found(_world(4, 20, lab=0.05, curve=lambda true: true + 0.5 * true**2))
    assert found.p_value < 1e-3
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(found.statistic), 17), rel=CLOSED)


def test_refusals_are_in_words() -> None:
    scores = _world(5, 12)
    fit = fit_line(scores)
    with pytest.raises(CannotAnswerError, match="9 shared models are too few to tell a bend"):
        bend(scores.subset(np.arange(9)), fit)
    with pytest.raises(CannotAnswerError, match="standard error"):
        bend(replace(scores, lab_covariance=None), fit)
    with pytest.raises(CannotAnswerError, match="are no covariance"):
        bend(replace(scores, live_covariance=9.0 * (2.0 - np.eye(12))), fit)
    two = replace(scores, lab=np.repeat([0.0, 1.0], 6), lab_covariance=np.zeros((12, 12)))
    with pytest.raises(CannotAnswerError, match="two values only"):
        _found(two)
    lab = np.linspace(0.0, 1.0, 12)
    exact = replace(scores, lab=lab, live=2 * lab, lab_covariance=np.zeros((12, 12)))
    with pytest.raises(CannotAnswerError, match="on a curve exactly"):
        _found(exact)
