"""Draws of scores by items, votes and models."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError
from evalstats.stats.agreement.attenuation import (
    draw_noise,
    map_to_correlation,
    own_noise,
    own_variances,
    true_correlation,
    without_noise,
)
from evalstats.stats.agreement.correlation import pearson
from evalstats.stats.agreement.intervals import canonical_order, draw_all
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance

SOURCES = ("items", "votes", "items and votes")


def scores(cross: bool = False, n: int = 30) -> LabLiveScores:
    """Scores with noise that differs between models and is shared between some."""
    rng = np.random.default_rng(8)
    root = rng.normal(size=(2 * n, 2 * n)) * 0.03 + np.diag(rng.uniform(0.1, 0.4, 2 * n))
    errors = root @ root.T
    x = rng.normal(size=n)
    return LabLiveScores(
        lab=x,
        live=10 * (0.6 * x + 0.8 * rng.normal(size=n)),
        lab_covariance=errors[:n, :n],
        live_covariance=100 * errors[n:, n:],
        cross=10 * errors[:n, n:] if cross else None,
    )


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("cross", [False, True])
def test_spread_and_covariance_less_noise(source: str, cross: bool) -> None:
    s = scores(cross)
    lab, live = without_noise(s, source)
    noise = [centred_variance(s.lab_covariance), centred_variance(s.live_covariance)]
    expected = np.cov(s.lab, s.live)
    if source != "votes":
        expected[0, 0] -= noise[0]
    if source != "items":
        expected[1, 1] -= noise[1]
    if cross and source == "items and votes":
        centring = np.eye(30) - 1 / 30
        expected[0, 1] -= np.trace(centring @ s.cross @ centring) / 29
        expected[1, 0] = expected[0, 1]
    np.testing.assert_allclose(np.cov(lab, live), expected, rtol=1e-6)
    assert (live == s.live).all() if source == "items" else (lab == s.lab).all() or source == "items and votes"


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("cross", [False, True])
def test_draws_scatter_about_what_was_seen(source: str, cross: bool) -> None:
    s = scores(cross)
    draws = draw_noise(s, source, n_resamples=4000, rng=np.random.default_rng(0))
    # The mean of 4000 draws of a correlation with sd .07 or less is known to .0011; finite samples bend it by about .01.
    assert pearson(draws.lab, draws.live).mean() == pytest.approx(float(pearson(s.lab, s.live)), abs=0.02)


def test_noise_added_to_noisy_scores_would_lower_the_agreement() -> None:
    s = scores()
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal(s.lab, s.lab_covariance, 2000)
    z = rng.multivariate_normal(s.live, s.live_covariance, 2000)
    twice = pearson(x, z).mean() / float(pearson(s.lab, s.live))
    assert twice < 0.95
    found = true_correlation(s)
    grown = (2 - found.lab.value) * (2 - found.live.value)  # variances with the noise counted twice
    assert twice == pytest.approx(1 / np.sqrt(grown), abs=0.03)


def test_noise_has_the_covariance_given() -> None:
    s = scores(cross=True, n=5)
    draws = draw_noise(s, "items and votes", n_resamples=40_000, rng=np.random.default_rng(1))
    joint = np.block([[s.lab_covariance, s.cross], [s.cross.T, s.live_covariance]])
    scale = np.sqrt(np.diag(joint))
    found = np.cov(np.hstack([draws.lab, draws.live]).T)
    np.testing.assert_allclose(found / np.outer(scale, scale), joint / np.outer(scale, scale), atol=0.03)


def test_few_clusters_make_noise_heavier() -> None:
    s = scores()
    light = draw_noise(s, "items", n_resamples=4000, rng=np.random.default_rng(2))
    heavy = draw_noise(s, "items", n_resamples=4000, rng=np.random.default_rng(2), lab_df=8.0)
    # The variance of t with 8 degrees of freedom is 8/6.
    assert (heavy.lab.var(axis=0) / light.lab.var(axis=0)).mean() == pytest.approx(8 / 6, rel=0.1)


def test_models_drawn_twice_have_noise_of_their_own() -> None:
    draws = draw_all(scores(), n_resamples=200, rng=np.random.default_rng(3))
    assert all(np.unique(row).size == row.size for row in draws.lab)


def test_draws_of_everything_keep_the_agreement() -> None:
    for cross in (False, True):
        s = scores(cross)
        draws = draw_all(s, n_resamples=4000, rng=np.random.default_rng(4))
        assert pearson(draws.lab, draws.live).mean() == pytest.approx(float(pearson(s.lab, s.live)), abs=0.02)


def test_own_variances_have_the_centred_mean() -> None:
    s = scores()
    own = own_variances(s.lab_covariance)
    assert own.mean() == pytest.approx(centred_variance(s.lab_covariance))
    np.testing.assert_allclose(own_variances(s.lab_covariance + 50.0), own, atol=1e-9)


def test_the_map_gives_any_correlation() -> None:
    s = scores()
    for rho in (-1.0, 0.0, 0.4, 1.0):
        turned = np.column_stack([s.lab, s.live]) @ map_to_correlation(s, rho).T
        assert np.corrcoef(turned.T)[0, 1] == pytest.approx(rho, abs=1e-6)
        assert turned[:, 0].var(ddof=1) == pytest.approx(
            s.lab.var(ddof=1) - centred_variance(s.lab_covariance), rel=1e-6
        )


def test_more_noise_than_spread_leaves_a_flat_side() -> None:
    s = LabLiveScores(lab=np.arange(6.0), live=np.arange(6.0) % 4, lab_covariance=50.0 * np.eye(6))
    lab, _ = without_noise(s, "items")
    np.testing.assert_allclose(lab, lab.mean(), atol=1e-6)


def test_order_of_models_is_found_again() -> None:
    s = scores()
    shuffled = s.subset(np.random.default_rng(0).permutation(30))
    np.testing.assert_array_equal(shuffled.lab[canonical_order(shuffled)], s.lab[canonical_order(s)])


def test_unknown_errors_are_named() -> None:
    with pytest.raises(CannotAnswerError, match="errors of the live scores are unknown"):
        without_noise(LabLiveScores(lab=np.arange(5.0), live=np.arange(5.0)), "votes")


@pytest.mark.parametrize("share", [0.0, 0.6, -0.9])
def test_own_noise_has_each_models_variances_and_the_sides_correlation(share: float) -> None:
    n, rng = 5, np.random.default_rng(0)
    lab_sd, live_sd = 0.2, 0.5
    given = LabLiveScores(
        lab=np.arange(5.0),
        live=np.arange(5.0),
        lab_covariance=lab_sd**2 * np.eye(n),
        live_covariance=live_sd**2 * np.eye(n),
        cross=share * lab_sd * live_sd * np.eye(n) if share else None,
    )
    drawn = own_noise(given, np.tile(np.arange(n), (40_000, 1)), rng)
    # The standard error of an SD is 0.4% of it, that of a correlation at most .005.
    np.testing.assert_allclose(drawn.lab.std(axis=0), lab_sd, rtol=0.02)
    np.testing.assert_allclose(drawn.live.std(axis=0), live_sd, rtol=0.02)
    for model in range(n):
        assert np.corrcoef(drawn.lab[:, model], drawn.live[:, model])[0, 1] == pytest.approx(share, abs=0.025)
    assert abs(np.corrcoef(drawn.lab[:, 0], drawn.live[:, 1])[0, 1]) < 0.025


@pytest.mark.parametrize("source", SOURCES)
def test_noise_is_taken_out_about_the_means_of_both_sides(source: str) -> None:
    s = scores(cross=True)
    moved = without_noise(replace(s, lab=s.lab + 5.0, live=s.live - 70.0), source)
    for side, before, by in zip(moved, without_noise(s, source), (5.0, -70.0), strict=True):
        np.testing.assert_allclose(side, before + by, rtol=1e-9)
    assert moved[0].mean() == pytest.approx(s.lab.mean() + 5.0)
    assert moved[1].mean() == pytest.approx(s.live.mean() - 70.0)


def test_a_side_that_is_held_keeps_the_regression_of_the_other_on_it() -> None:
    """Residuals about that line shrink, all by one factor."""
    s = scores()
    for source, held, drawn, at in (("votes", s.lab, s.live, 1), ("items", s.live, s.lab, 0)):
        slope = np.cov(held, drawn)[0, 1] / held.var(ddof=1)
        before = drawn - drawn.mean() - slope * (held - held.mean())
        made = without_noise(s, source)[at]
        after = made - made.mean() - slope * (held - held.mean())
        assert np.ptp(after / before) == pytest.approx(0.0, abs=1e-6)
        assert 0.0 < (after / before)[0] < 1.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_own_variances_by_hand_in_any_unit(scale: float) -> None:
    own = np.array([1.0, 2.0, 5.0, 0.5])
    np.testing.assert_allclose(own_variances(scale * (np.diag(own) + 7.0)), scale * own)
    # Errors 0, e and 2e: the variances 0, 1, 4 less twice the mean covariance with others (0, 1, 1) and plus that of all (2/3)
    # are 2/3, -1/3 and 8/3. None is below 0, and their mean is that about the mean of all, 1.
    one = np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(own_variances(scale * np.outer(one, one)), scale * np.array([0.6, 0.0, 2.4]), atol=1e-12)
    np.testing.assert_array_equal(own_variances(scale * np.ones((3, 3))), 0.0)


@pytest.mark.parametrize("cross", [False, True])
def test_few_clusters_of_one_side_leave_the_noise_of_the_other_as_it_is(cross: bool) -> None:
    """All errors of one draw grow by one factor, the root of df over a chi-squared; its square has the mean df / (df - 2)."""
    s, source = scores(cross, n=6), "items and votes"
    centre = without_noise(s, source)
    light, *heavy = (
        draw_noise(s, source, n_resamples=4000, rng=np.random.default_rng(2), **df)
        for df in ({}, {"lab_df": 12.0}, {"live_df": 12.0})
    )
    for drawn, grown, kept in ((heavy[0], "lab", "live"), (heavy[1], "live", "lab")):
        np.testing.assert_array_equal(getattr(drawn, kept), getattr(light, kept))
        middle = centre[0] if grown == "lab" else centre[1]
        factor = (getattr(drawn, grown) - middle) / (getattr(light, grown) - middle)
        np.testing.assert_allclose(factor, np.broadcast_to(factor[:, :1], factor.shape), rtol=1e-5)
        # The standard error of the mean of 4000 squares is .013: their variance is .48 at 12 degrees of freedom.
        assert (factor[:, 0] ** 2).mean() == pytest.approx(1.2, abs=0.05)


def test_own_noise_of_models_whose_variances_differ() -> None:
    lab, live = np.array([0.01, 0.04, 0.25]), np.array([1.0, 0.0, 4.0])
    given = LabLiveScores(
        lab=np.arange(3.0), live=np.arange(3.0), lab_covariance=np.diag(lab) + 2.0, live_covariance=np.diag(live) + 3.0
    )
    drawn = own_noise(given, np.tile([2, 0, 1], (20_000, 1)), np.random.default_rng(0))
    np.testing.assert_allclose(drawn.lab.var(axis=0), lab[[2, 0, 1]], rtol=0.04)
    np.testing.assert_allclose(drawn.live.var(axis=0), live[[2, 0, 1]], rtol=0.04, atol=1e-12)


def test_errors_that_go_together_more_than_they_can_are_drawn_alike() -> None:
    one = 0.1 * np.eye(4)
    given = LabLiveScores(
        lab=np.arange(4.0), live=np.arange(4.0), lab_covariance=one, live_covariance=one, cross=1.5 * one
    )
    drawn = own_noise(given, np.tile(np.arange(4), (5, 1)), np.random.default_rng(0))
    np.testing.assert_allclose(drawn.lab, drawn.live)
    exact = own_noise(
        replace(given, live_covariance=0.0 * one), np.tile(np.arange(4), (5, 1)), np.random.default_rng(0)
    )
    np.testing.assert_array_equal(exact.live, 0.0)


def test_scores_that_are_all_equal_have_no_noise_to_be_freed_of() -> None:
    one = np.eye(5)
    for lab, live in ((np.ones(5), np.arange(5.0)), (np.arange(5.0), np.ones(5))):
        given = LabLiveScores(lab=lab, live=live, lab_covariance=one, live_covariance=one)
        with pytest.raises(CannotAnswerError, match="all scores of a side are equal"):
            without_noise(given, "items")


def test_draws_of_everything_give_each_model_its_own_noise() -> None:
    """Models whose scores are exact are drawn as they are, beside one that is not."""
    s = scores(n=12)
    noise = np.zeros((12, 12))
    noise[3, 3] = 0.4
    exact = replace(s, lab_covariance=noise, live_covariance=100.0 * noise)
    lab, live = without_noise(exact, "items and votes")
    draws = draw_all(exact, n_resamples=50, rng=np.random.default_rng(3))
    places = np.abs(draws.lab[..., None] - lab).argmin(axis=-1)
    assert np.isclose(draws.lab, lab[places], atol=1e-12).mean() > 0.7
    same = np.isclose(draws.lab, lab[places], atol=1e-12)
    np.testing.assert_allclose(draws.live[same], live[places[same]], atol=1e-9)
