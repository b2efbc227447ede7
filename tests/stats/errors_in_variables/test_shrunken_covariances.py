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
    """30 worlds of 15 models and 40 clusters: 17% of raw tests reject; three Monte Carlo errors of 5% are 12 points."""
    rng = np.random.default_rng(7)
    worlds = [_world(rng, 15, 40) for _ in range(30)]
    assert np.mean([fit_line(shrunken_covariances(scores, 40)).p_value <= 0.05 for scores in worlds]) < 0.05 + 0.12


@pytest.mark.parametrize(("clusters", "share"), [(33, 0.5), (9, 1.0), (5, 1.0), (161, 0.1)])
@pytest.mark.parametrize("against", [1.0, -3.0])
def test_a_share_of_2n_over_the_clusters_is_that_of_independent_errors(
    clusters: int, share: float, against: float
) -> None:
    """Each model's own variance and one number that all share; of both sides one covariance, as far as variances allow."""
    scores = _world(np.random.default_rng(2), 8, 60)
    v_x, v_z = scores.lab_covariance, scores.live_covariance
    cross = against * (0.5 * v_x + 0.1 * np.random.default_rng(3).normal(size=(8, 8)) * v_x.mean())
    found = shrunken_covariances(replace(scores, cross=cross), clusters)
    for before, after in ((v_x, found.lab_covariance), (v_z, found.live_covariance)):
        own = unique_variances(before)
        simple = np.diag(own) + before.mean() - own.mean() / 8
        assert after == pytest.approx((1 - share) * before + share * simple)
    own = (np.trace(cross) - cross.sum() / 8) / 7
    most = np.sqrt(unique_variances(v_x) * unique_variances(v_z))
    simple = np.diag(np.maximum(-most, np.minimum(most, own))) + cross.mean() - own / 8
    assert found.cross == pytest.approx((1 - share) * cross + share * simple)
    assert shrunken_covariances(scores, clusters).cross is None
