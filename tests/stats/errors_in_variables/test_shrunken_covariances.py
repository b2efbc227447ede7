"""Covariances from few clusters: what is kept, and the level of the test of tau with and without."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.stats.errors_in_variables.line import fit_line
from evalstats.stats.errors_in_variables.scores import (
    LabLiveScores,
    centred_variance,
    shrunken_covariances,
    unique_variances,
)


def _world(rng: np.random.Generator, n: int, clusters: int) -> LabLiveScores:
    """No true gap; items with an error that all models share and one of their own; covariances from the clusters."""
    true, sides = rng.normal(size=n), []
    for sd in (0.4, 0.25):
        errors = sd * np.sqrt(clusters) * (rng.normal(size=(clusters, n)) + rng.normal(size=(clusters, 1)))
        sides.append((true + errors.mean(axis=0), np.cov(errors.T) / clusters))
    return LabLiveScores(lab=sides[0][0], live=sides[1][0], lab_covariance=sides[0][1], live_covariance=sides[1][1])


def test_unique_variances_and_positive_definiteness_are_kept() -> None:
    scores = _world(np.random.default_rng(0), 8, 60)
    scores = replace(scores, cross=0.3 * scores.lab_covariance)
    plain = shrunken_covariances(scores, 60)
    for before, after in (
        (scores.lab_covariance, plain.lab_covariance),
        (scores.live_covariance, plain.live_covariance),
    ):
        assert before is not None
        assert after is not None
        np.testing.assert_allclose(unique_variances(after), unique_variances(before), rtol=1e-9)
        assert centred_variance(after) == pytest.approx(centred_variance(before))
        assert np.linalg.eigvalsh(after)[0] > 0.0


def test_many_clusters_change_next_to_nothing() -> None:
    scores = _world(np.random.default_rng(1), 8, 60)
    assert fit_line(shrunken_covariances(scores, 10**7)).slope == pytest.approx(fit_line(scores).slope, rel=1e-4)


def test_the_test_of_tau_keeps_its_level_with_few_clusters() -> None:
    """60 worlds of 15 models and 40 clusters: 17% of raw tests reject; three Monte Carlo errors of 5% are 8 points."""
    rng = np.random.default_rng(7)
    worlds = [_world(rng, 15, 40) for _ in range(60)]
    assert np.mean([fit_line(shrunken_covariances(scores, 40)).p_value <= 0.05 for scores in worlds]) < 0.05 + 0.084
