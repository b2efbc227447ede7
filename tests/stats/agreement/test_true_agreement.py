"""The correlation of true scores and the ceiling of the observed one."""

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError
from evalstats.stats.agreement import attenuation
from evalstats.stats.agreement.attenuation import FEW_MODELS, ceilings, true_agreement, true_correlation
from evalstats.stats.agreement.correlation import correlate
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from tests.stats.agreement.test_draws import scores


def test_ceiling_by_formula_and_by_many_models() -> None:
    s = scores(n=120)
    top = ceilings(s, n_resamples=400)
    assert top["pearson"].expected == true_correlation(s).ceiling
    middle = (top["pearson"].low + top["pearson"].high) / 2
    assert top["pearson"].expected == pytest.approx(middle, abs=0.02)  # 120 models leave little chance
    assert top["kendall"].expected < top["spearman"].expected < 1.0


def test_normal_scores_have_the_ceiling_of_their_law() -> None:
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=250), 0.25 * np.eye(250)
    s = LabLiveScores(
        lab=x + 0.5 * rng.normal(size=250),
        live=x + 0.5 * rng.normal(size=250),
        lab_covariance=noise,
        live_covariance=noise,
    )
    top = ceilings(s, n_resamples=400)
    seen = true_correlation(s).ceiling
    # Greiner's relations between the coefficients of a bivariate normal law; the sample is normal only nearly.
    assert top["kendall"].expected == pytest.approx(2 / np.pi * np.arcsin(seen), abs=0.03)
    assert top["spearman"].expected == pytest.approx(6 / np.pi * np.arcsin(seen / 2), abs=0.03)


def test_the_ceiling_falls_with_noise() -> None:
    s = scores()
    more = LabLiveScores(
        lab=s.lab, live=s.live, lab_covariance=2 * s.lab_covariance, live_covariance=2 * s.live_covariance
    )
    low, high = ceilings(more, n_resamples=500), ceilings(s, n_resamples=500)
    assert all(low[name].expected < high[name].expected for name in high)


def test_opposite_sides_have_a_ceiling_all_the_same() -> None:
    x = np.arange(12.0)
    s = LabLiveScores(lab=x, live=-x, lab_covariance=np.eye(12), live_covariance=np.eye(12))
    assert ceilings(s, n_resamples=200)["spearman"].expected > 0.8


def test_no_ceiling_without_reliability() -> None:
    x = np.arange(6.0)
    assert ceilings(LabLiveScores(lab=x, live=x, lab_covariance=9 * np.eye(6), live_covariance=np.eye(6))) == {}


def test_few_models_speak_for_themselves_alone() -> None:
    s = scores(n=30).subset(np.arange(9))
    found = true_agreement(s, n_resamples=500)
    assert found.low is None
    assert found.these_low is not None
    assert "for these alone" in found.interval_reason


def test_a_correlation_above_one_is_kept_and_its_interval_reaches_one() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=25)
    noise = 0.1 * np.eye(25)
    s = LabLiveScores(lab=x, live=x + 0.1 * rng.normal(size=25), lab_covariance=noise, live_covariance=noise)
    found = true_agreement(s)
    assert found.estimate > 1
    assert found.estimate == pytest.approx(float(correlate("pearson", s.lab, s.live)) / true_correlation(s).ceiling)
    assert found.high == 1.0 or found.low is None


def test_noise_that_cannot_be_true_is_called_out() -> None:
    x = np.arange(40.0)
    noise = 30.0 * np.eye(40)
    found = true_agreement(LabLiveScores(lab=x, live=x, lab_covariance=noise, live_covariance=noise))
    assert found.these_low is None
    assert "noise is overstated" in found.interval_reason
    against = true_agreement(LabLiveScores(lab=x, live=-x, lab_covariance=noise, live_covariance=noise))
    assert "disagreement" in against.interval_reason


def test_shared_errors_are_taken_out() -> None:
    rng, estimates = np.random.default_rng(5), []
    own = 0.5 * np.eye(150)
    for _ in range(40):
        x, z, both = rng.normal(size=(3, 150))
        shared = np.sqrt(0.5) * both
        s = LabLiveScores(
            lab=x + shared, live=z + shared, lab_covariance=own, live_covariance=own, cross=0.5 * np.eye(150)
        )
        estimates.append(true_correlation(s).disattenuated)
    # True scores are unrelated; without `cross` the answer would be .5. Standard error of the mean about .02.
    assert np.mean(estimates) == pytest.approx(0.0, abs=0.06)


def test_errors_of_both_sides_are_needed() -> None:
    with pytest.raises(CannotAnswerError, match="both sides"):
        true_agreement(LabLiveScores(lab=np.arange(5.0), live=np.arange(5.0)))


@pytest.mark.parametrize("short", [1, 0])
def test_from_how_many_models_on_others_are_spoken_of(short: int) -> None:
    n = FEW_MODELS - short
    rng = np.random.default_rng(1)
    true = rng.normal(size=n)
    scores = LabLiveScores(
        lab=true + 0.3 * rng.normal(size=n),
        live=true + 0.3 * rng.normal(size=n),
        lab_covariance=0.09 * np.eye(n),
        live_covariance=0.09 * np.eye(n),
    )
    found = true_agreement(scores, n_resamples=99)
    assert (found.low is None) is bool(short)
    assert found.these_low is not None


@pytest.mark.parametrize(
    ("estimate", "wanted"),
    [(0.3, (0.11, 0.49)), (0.95, (0.76, 1.0)), (-0.95, (-1.0, -0.76)), (1.15, (0.96, 1.0)), (0.0, (-0.19, 0.19))],
)
def test_an_interval_holds_the_correlations_whose_law_holds_the_estimate(monkeypatch, estimate, wanted) -> None:
    """Draws lie within .2 of any true correlation, evenly: 95% of them within .19."""
    monkeypatch.setattr(attenuation, "_ratios", lambda _, rho, __: rho + np.linspace(-0.2, 0.2, 4001))
    assert attenuation._ends(None, estimate, 0.95, None) == pytest.approx(wanted, abs=2e-3)


def test_an_estimate_that_no_correlation_explains_is_told_apart_by_its_side(monkeypatch) -> None:
    monkeypatch.setattr(attenuation, "_ratios", lambda _, rho, __: rho + np.linspace(-0.2, 0.2, 4001))
    high, low = (attenuation._ends(None, estimate, 0.95, None) for estimate in (1.195, -1.195))
    assert isinstance(high, str)
    assert isinstance(low, str)
    assert "disagree" in low
    assert high != low
    assert not isinstance(attenuation._ends(None, 1.185, 0.95, None), str)
    assert not isinstance(attenuation._ends(None, -1.185, 0.95, None), str)


def test_where_a_quantile_meets_the_estimate_is_taken_in_a_line() -> None:
    tried = np.array([-1.0, 0.0, 0.5, 1.0])
    assert attenuation._crossing(tried, np.array([-2.0, 0.0, 1.0, 3.0]), 0.5, 9.0) == pytest.approx(0.25)
    assert attenuation._crossing(tried, np.array([-2.0, 0.0, -1.0, 3.0]), 1.5, 9.0) == pytest.approx(0.75)
    assert attenuation._crossing(tried, np.array([-np.inf, 0.0, 1.0, 3.0]), -5.0, 9.0) == pytest.approx(-0.5)
    assert attenuation._crossing(tried, np.array([-2.0, 0.0, 1.0, np.inf]), 7.0, 9.0) == pytest.approx(0.75)
    for beyond in (-2.0, -3.0, 3.0, 4.0):
        assert attenuation._crossing(tried, np.array([-2.0, 0.0, 1.0, 3.0]), beyond, 9.0) == 9.0


@pytest.mark.parametrize("share", [0.0, 0.4, -0.4])
def test_noise_that_both_sides_share_lifts_what_is_seen(share: float) -> None:
    """Seen: the true correlation times the root of both reliabilities, and the covariance of the noise over both spreads."""
    rng = np.random.default_rng(4)
    true = rng.normal(size=30)
    made = LabLiveScores(
        lab=true + 0.5 * rng.normal(size=30),
        live=true + 0.4 * rng.normal(size=30),
        lab_covariance=0.25 * np.eye(30),
        live_covariance=0.16 * np.eye(30),
        cross=share * 0.2 * np.eye(30),
    )
    found = true_correlation(made)
    x, z = made.lab.var(ddof=1), made.live.var(ddof=1)
    reliable, lift = np.sqrt((1 - 0.25 / x) * (1 - 0.16 / z)), share * 0.2 / np.sqrt(x * z)
    assert found.observed == pytest.approx(np.corrcoef(made.lab, made.live)[0, 1])
    assert found.ceiling == pytest.approx(reliable + lift)
    assert found.disattenuated == pytest.approx((found.observed - lift) / reliable)


def test_noise_as_large_as_the_spread_leaves_no_true_agreement() -> None:
    x = np.arange(8.0)
    scores = LabLiveScores(lab=x, live=x, lab_covariance=9.0 * np.eye(8), live_covariance=np.eye(8))
    found = true_agreement(scores, n_resamples=9)
    assert found.estimate is None
    assert found.reason == true_correlation(scores).reason
