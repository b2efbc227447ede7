"""How much of the spread is real, and the correlation freed of noise."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.agreement.attenuation import _agreeing, reliability, shared_noise, true_correlation
from evalstats.stats.errors_in_variables.scores import LabLiveScores


def _scores(seed: int = 0, n: int = 20, cross: bool = False) -> LabLiveScores:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2 * n, 2 * n)) * 0.07
    errors = root @ root.T
    x = rng.normal(size=n)
    return LabLiveScores(
        lab=x,
        live=x + 0.5 * rng.normal(size=n),
        lab_covariance=errors[:n, :n],
        live_covariance=errors[n:, n:],
        cross=errors[:n, n:] if cross else None,
    )


def test_noise_is_what_the_centring_matrix_says() -> None:
    s = _scores(cross=True)
    centring = np.eye(20) - 1 / 20
    noise = np.trace(centring @ s.lab_covariance @ centring) / 19
    found = reliability(s.lab, s.lab_covariance)
    assert found.noise == pytest.approx(noise, rel=1e-12)
    assert found.value == pytest.approx(1 - noise / s.lab.var(ddof=1), rel=1e-12)
    assert shared_noise(s.cross) == pytest.approx(np.trace(centring @ s.cross @ centring) / 19, rel=1e-9)


def test_what_all_models_share_does_not_matter() -> None:
    s = _scores(cross=True)
    moved = LabLiveScores(
        lab=s.lab + 3,
        live=s.live - 2,
        lab_covariance=s.lab_covariance + 7.0,
        live_covariance=s.live_covariance + 5.0,
        cross=s.cross + 2.0,
    )
    assert true_correlation(moved).disattenuated == pytest.approx(true_correlation(s).disattenuated, rel=1e-9)


def test_units_and_sides_do_not_matter() -> None:
    s = _scores(cross=True)
    other = LabLiveScores(
        lab=100 * s.live, live=s.lab, lab_covariance=1e4 * s.live_covariance, live_covariance=s.lab_covariance,
        cross=100 * s.cross.T,
    )  # fmt: skip
    first, second = true_correlation(s), true_correlation(other)
    assert second.disattenuated == pytest.approx(first.disattenuated, rel=1e-9)
    assert second.ceiling == pytest.approx(first.ceiling, rel=1e-9)


def test_without_shared_errors_it_is_spearmans_formula() -> None:
    s = _scores()
    found = true_correlation(s)
    assert found.ceiling == pytest.approx(np.sqrt(found.lab.value * found.live.value))
    assert found.disattenuated == pytest.approx(np.corrcoef(s.lab, s.live)[0, 1] / found.ceiling)


def test_a_correlation_above_one_is_told() -> None:
    x = np.arange(8.0)
    noise = 2.0 * np.eye(8)
    found = true_correlation(LabLiveScores(lab=x, live=x, lab_covariance=noise, live_covariance=noise))
    assert found.observed == pytest.approx(1.0)
    assert found.disattenuated == pytest.approx(1.5)  # reliability of both: 1 - 2/6


def test_noise_as_large_as_the_spread_is_refused_with_a_reason() -> None:
    x = np.arange(8.0)
    found = true_correlation(LabLiveScores(lab=x, live=x, lab_covariance=9.0 * np.eye(8), live_covariance=np.eye(8)))
    assert found.disattenuated is None
    assert found.ceiling is None
    assert "lab -0.50" in found.reason
    with pytest.raises(CannotAnswerError, match="not all equal"):
        reliability(np.ones(5), np.eye(5))
    with pytest.raises(CannotAnswerError, match="both sides"):
        true_correlation(LabLiveScores(lab=x, live=x, lab_covariance=np.eye(8)))


def test_the_true_correlation_is_found_on_average() -> None:
    rng, rho, found = np.random.default_rng(11), 0.6, []
    noise = 0.4 * (np.eye(200) + 3.0)  # most of the noise is shared by all models
    root = np.linalg.cholesky(noise)
    for _ in range(60):
        x = rng.normal(size=200)
        z = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=200)
        s = LabLiveScores(
            lab=x + root @ rng.normal(size=200),
            live=z + root @ rng.normal(size=200),
            lab_covariance=noise,
            live_covariance=noise,
        )
        found.append(true_correlation(s).disattenuated)
    # Standard error of the mean about .08/sqrt(60) = .010; marginal variances would give a reliability below 0.
    assert np.mean(found) == pytest.approx(rho, abs=0.035)


def test_scores_that_agree_have_the_spacing_of_both_sides_and_normal_places_where_they_are_opposite() -> None:
    scores = _scores(n=9)
    together = stats.zscore(stats.zscore(scores.lab, ddof=1) + stats.zscore(scores.live, ddof=1), ddof=1)
    lab, live = _agreeing(scores, 4.0, 0.25)
    assert lab == pytest.approx(2.0 * together)
    assert live == pytest.approx(0.5 * together)
    opposite = replace(scores, lab=-3.0 * scores.live)
    places = stats.zscore(stats.norm.ppf(stats.rankdata(scores.live) / 10.0), ddof=1)
    assert _agreeing(opposite, 4.0, 0.25)[0] == pytest.approx(2.0 * places)
