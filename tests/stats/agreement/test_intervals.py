"""Intervals of agreement by items, votes and models."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.agreement.attenuation import ScoreDraws, ceilings, draw_noise, true_agreement
from evalstats.stats.agreement.correlation import NAMES, correlate
from evalstats.stats.agreement.intervals import (
    SourceDraws,
    _shifted,
    draw_sources,
    missing_sources,
    noise_source,
    resolution,
    shifted_ends,
    source_interval,
)
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from tests.stats.agreement.lablive import NAMES as BENCHMARKS
from tests.stats.agreement.lablive import published
from tests.stats.agreement.test_draws import scores


@pytest.mark.parametrize("benchmark_name", BENCHMARKS)
def test_bootstrap_over_models_of_published_benchmarks(golden: Path, benchmark_name: str) -> None:
    s, known = published(golden)[benchmark_name]
    drawn = draw_sources(s, n_resamples=5000, seed=1).draws["models"]
    # A quantile of 5000 draws against one of another 5000: four standard errors of the share below it, ties counted half.
    slack = 4 * math.sqrt(2 * 0.025 * 0.975 / 5000)
    for name, ends in zip(("spearman", "kendall", "pearson"), known["boot_models_seed0_5000"], strict=True):
        values = correlate(name, drawn.lab, drawn.live)
        for end, share in zip(ends, (0.025, 0.975), strict=True):
            below = np.mean(values < end - 1e-12) + np.mean(np.abs(values - end) <= 1e-12) / 2
            assert below == pytest.approx(share, abs=slack)


def test_wider_sources_give_wider_intervals() -> None:
    drawn = draw_sources(scores(), seed=2)
    for name in NAMES:
        widths = {}
        for source in drawn.draws:
            ends = source_interval(drawn, source, name)
            estimate = float(correlate(name, drawn.scores.lab, drawn.scores.live))
            assert ends.conf_low < estimate < ends.conf_high
            widths[source] = ends.conf_high - ends.conf_low
        assert max(widths["items"], widths["votes"]) < widths["items and votes"] < widths["all"]


def test_units_do_not_matter_and_sides_swap() -> None:
    s = scores(cross=True)
    other = LabLiveScores(
        lab=5 * s.lab + 2, live=s.live, lab_covariance=25 * s.lab_covariance, live_covariance=s.live_covariance,
        cross=5 * s.cross,
    )  # fmt: skip
    swapped = LabLiveScores(
        lab=s.live, live=s.lab, lab_covariance=s.live_covariance, live_covariance=s.lab_covariance, cross=s.cross.T
    )
    first, second, third = (draw_sources(each, n_resamples=4000) for each in (s, other, swapped))
    for source, mirrored in (("items", "votes"), ("items and votes", "items and votes"), ("all", "all")):
        ends = [source_interval(first, source, "pearson"), source_interval(second, source, "pearson")]
        assert ends[0].conf_low == pytest.approx(ends[1].conf_low, abs=1e-9)
        # Other draws: an end of an interval .5 wide is known to about .008.
        assert source_interval(third, mirrored, "pearson").conf_low == pytest.approx(ends[0].conf_low, abs=0.04)


def test_sources_that_the_data_do_not_have_carry_a_reason() -> None:
    x = np.arange(12.0)
    drawn = draw_sources(LabLiveScores(lab=x, live=x % 7, lab_covariance=0.1 * np.eye(12)), n_resamples=200)
    assert sorted(drawn.draws) == ["items", "models"]
    ends = source_interval(drawn, "votes", "spearman")
    assert ends.conf_low is None
    assert "live scores are unknown" in ends.reason
    few = missing_sources(LabLiveScores(lab=x[:9], live=x[:9]))
    assert "10 are needed" in few["models"]


def test_perfect_agreement_still_has_an_interval() -> None:
    x = np.arange(8.0)
    s = LabLiveScores(lab=x, live=x, lab_covariance=0.3 * np.eye(8), live_covariance=0.3 * np.eye(8))
    drawn = draw_sources(s)
    for name in NAMES:
        ends = source_interval(drawn, "items and votes", name)
        assert ends.conf_low < 1.0
        assert ends.conf_high == 1.0
    low, high = shifted_ends(-1.0, -np.ones(99), 0.01, 0.95)
    assert low == -1.0
    assert high < 1.0


def simulated(n: int, reliability: float, rho: float, n_rounds: int, seed: int = 0) -> dict[tuple[str, str], float]:
    """Shares of intervals that hold what they are for: noise for these models, models and all for models like these."""
    rng, noise = np.random.default_rng(seed), 1 / reliability - 1
    # Unequal errors with a large part that all models share.
    own = noise * np.linspace(0.5, 1.5, n)
    covariance, seen = np.diag(own) + 3.0, rho * reliability
    like_these = {"pearson": seen, "spearman": 6 / np.pi * np.arcsin(seen / 2), "kendall": 2 / np.pi * np.arcsin(seen)}
    hits: dict[tuple[str, str], list[bool]] = {}
    for _ in range(n_rounds):
        x, y = rng.normal(size=(2, n))
        z = rho * x + math.sqrt(1 - rho**2) * y
        order = rng.permutation(n)
        covariance = np.diag(own[order]) + 3.0
        error = np.sqrt(own[order]) * rng.normal(size=(2, 201, n)) + math.sqrt(3.0) * rng.normal(size=(2, 201, 1))
        lab, live = x + error[0], z + error[1]
        s = LabLiveScores(lab=lab[0], live=live[0], lab_covariance=covariance, live_covariance=covariance)
        drawn = draw_sources(s, n_resamples=400, seed=int(rng.integers(2**31)))
        for name in NAMES:
            truth = {
                "items": correlate(name, lab[1:], live[:1]).mean(),
                "votes": correlate(name, lab[:1], live[1:]).mean(),
                "items and votes": correlate(name, lab[1:], live[1:]).mean(),
                "models": like_these[name],
                "all": like_these[name],
            }
            for source in drawn.draws:
                ends = source_interval(drawn, source, name)
                hits.setdefault((name, source), []).append(ends.conf_low <= truth[source] <= ends.conf_high)
    return {key: float(np.mean(each)) for key, each in hits.items()}


def test_coverage_in_short() -> None:
    covered = simulated(15, 0.8, 0.7, 10)
    # 10 rounds: three standard errors below .95 is .74; the percentiles for Pearson cover .92 at 15 models.
    assert all(share >= 0.7 for share in covered.values()), covered


@pytest.mark.slow
@pytest.mark.parametrize("n", [15, 48])
@pytest.mark.parametrize("reliability", [0.7, 0.95])
@pytest.mark.parametrize("rho", [0.3, 0.9])
def test_coverage(n: int, reliability: float, rho: float) -> None:
    n_rounds = 300
    slack = 3.5 * math.sqrt(0.95 * 0.05 / n_rounds)
    for (name, source), share in simulated(n, reliability, rho, n_rounds, seed=n).items():
        # The bootstrap over models in percentiles is short for Pearson: .91 to .93 at 15 models, .92 to .94 at 48.
        least = 0.92 if source == "models" else 0.94
        assert share >= least - slack, (name, source, share)


def _true_shares(n: int, reliability: float, rho: float, n_rounds: int) -> dict[str, float]:
    rng, noise = np.random.default_rng(n), 1 / reliability - 1
    hits: dict[str, list[bool]] = {"these": [], "like these": [], "ceiling": []}
    errors = noise * np.eye(n)
    for _ in range(n_rounds):
        x, y = rng.normal(size=(2, n))
        z = rho * x + math.sqrt(1 - rho**2) * y
        lab, live = x + math.sqrt(noise) * rng.normal(size=n), z + math.sqrt(noise) * rng.normal(size=n)
        s = LabLiveScores(lab=lab, live=live, lab_covariance=errors, live_covariance=errors)
        seed = int(rng.integers(2**31))
        found = true_agreement(s, n_resamples=400, seed=seed)
        if found.these_low is not None:
            hits["these"].append(found.these_low <= np.corrcoef(x, z)[0, 1] <= found.these_high + 1e-9)
        if found.low is not None:
            hits["like these"].append(found.low <= rho <= found.high)
        # Noise as large as the spread, as few models may show, leaves no ceiling.
        top = ceilings(s, n_resamples=400, seed=seed).get("spearman") if rho == 1.0 else None
        if top is not None:
            hits["ceiling"].append(top.low <= float(correlate("spearman", lab, live)) <= top.high)
    return {key: float(np.mean(each)) for key, each in hits.items() if each}


def test_coverage_of_the_true_correlation_in_short() -> None:
    shares = _true_shares(20, 0.85, 1.0, 10)
    # 10 rounds: three standard errors below .95 is .74.
    assert all(share >= 0.7 for share in shares.values()), shares


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 15, 48])
@pytest.mark.parametrize("reliability", [0.8, 0.95])
@pytest.mark.parametrize("rho", [0.5, 0.9, 1.0])
def test_coverage_of_the_true_correlation(n: int, reliability: float, rho: float) -> None:
    shares = _true_shares(n, reliability, rho, 300)
    slack = 3.5 * math.sqrt(0.95 * 0.05 / 300)
    assert all(share >= 0.94 - slack for share in shares.values()), shares


def test_draws_that_all_agree_give_no_interval_but_a_reason() -> None:
    far = LabLiveScores(
        lab=np.array([0.0, 100.0, 300.0, 200.0]),
        live=np.array([0.0, 200.0, 100.0, 300.0]),
        lab_covariance=np.eye(4),
        live_covariance=np.eye(4),
    )
    found = source_interval(draw_sources(far, n_resamples=200), "items and votes", "spearman")
    assert found.conf_low is None
    assert found.reason is not None
    assert "same value" in found.reason


@pytest.mark.parametrize("n", [4, 7, 12])
def test_resolution_is_half_the_distance_from_1_of_two_neighbours_that_changed_places(n: int) -> None:
    x = np.arange(float(n))
    z = x.copy()
    z[[1, 2]] = z[[2, 1]]
    assert resolution("spearman", n) == pytest.approx((1.0 - stats.spearmanr(x, z).statistic) / 2.0)
    assert resolution("kendall", n) == pytest.approx((1.0 - stats.kendalltau(x, z).statistic) / 2.0)
    assert 0.0 < resolution("pearson", n) < 1e-6


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(
    ("name", "estimate"), [("pearson", 0.7), ("pearson", 0.99), ("confidence", -0.98), ("rho", 0.01)]
)
def test_deviations_of_draws_are_turned_round_the_estimate(name: str, estimate: float, level: float) -> None:
    draws = np.random.default_rng(0).beta(5, 2, 999) - 0.3
    away = np.sort(draws) - draws.mean()
    low, high = (np.quantile(away, p) for p in ((1 - level) / 2, (1 + level) / 2))
    least = -1.0 if name == "confidence" else 0.0
    wanted = max(least, min(1.0, estimate - high)), max(least, min(1.0, estimate - low))
    assert _shifted(estimate, draws, name, level) == pytest.approx(wanted)


def test_the_widest_source_of_noise() -> None:
    s = scores(n=12)
    assert noise_source(s) == "items and votes"
    assert noise_source(replace(s, live_covariance=None)) == "items"
    assert noise_source(replace(s, lab_covariance=None)) == "votes"
    assert noise_source(replace(s, lab_covariance=None, live_covariance=None)) == "items and votes"


def test_fifty_draws_at_least_and_a_side_that_varies() -> None:
    rng = np.random.default_rng(2)
    made = LabLiveScores(lab=np.arange(8.0), live=np.arange(8.0) ** 2)

    def by(n: int, scores: LabLiveScores = made, constant: int = 0):
        lab = rng.normal(size=(n + constant, 8))
        lab[n:] = 1.0
        drawn = ScoreDraws(lab=lab, live=np.arange(8.0) + rng.normal(size=(n + constant, 8)))
        return source_interval(SourceDraws(scores=scores, draws={"models": drawn}, reasons={}), "models", "pearson")

    assert by(49).conf_low is None
    assert by(50).conf_low is not None
    assert by(49, constant=30).conf_low is None
    flat = LabLiveScores(lab=np.ones(8), live=np.arange(8.0))
    assert "constant" in (by(80, flat).reason or "")


def test_each_source_is_drawn_where_the_data_have_it() -> None:
    s, noise = scores(n=12), {"items", "votes", "items and votes"}
    assert set(draw_sources(s, n_resamples=60).draws) == noise | {"models", "all"}
    few = s.subset(np.arange(9))
    assert set(draw_sources(few, n_resamples=60).draws) == noise
    assert set(draw_sources(replace(few, lab_covariance=None), n_resamples=60).draws) == {"votes"}
    assert set(draw_sources(replace(s, live_covariance=None), n_resamples=60).draws) == {"items", "models"}


def test_sources_have_random_numbers_of_their_own() -> None:
    """What is drawn by one does not hang on which others there are; nor do two draw the same models."""
    s = scores(n=12)
    exact = replace(s, lab_covariance=0.0 * s.lab_covariance, live_covariance=0.0 * s.live_covariance)
    for given in (s, exact):
        every = draw_sources(given, n_resamples=60, seed=5).draws
        fewer = draw_sources(replace(given, lab_covariance=None), n_resamples=60, seed=5).draws
        for source in ("votes", "models"):
            np.testing.assert_array_equal(every[source].lab, fewer[source].lab)
            np.testing.assert_array_equal(every[source].live, fewer[source].live)
    assert np.isclose(every["models"].lab, every["all"].lab).mean() < 0.5  # exact scores: a model is known by its score


@pytest.mark.parametrize("source", ["items", "votes", "items and votes"])
def test_few_clusters_of_either_side_are_passed_on_to_the_draws(source: str) -> None:
    s = scores(n=6)
    for df in ({"lab_df": 6.0}, {"live_df": 7.0}):
        stream = np.random.SeedSequence(3).spawn(3)[("items", "votes", "items and votes").index(source)]
        wanted = draw_noise(s, source, n_resamples=30, rng=np.random.default_rng(stream), **df)
        found = draw_sources(s, n_resamples=30, seed=3, **df).draws[source]
        np.testing.assert_array_equal(found.lab, wanted.lab)
        np.testing.assert_array_equal(found.live, wanted.live)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("estimate", [0.6, -0.97, 1.0, -1.0, 0.99])
def test_deviations_on_fishers_scale_are_turned_round_the_estimate(level: float, estimate: float) -> None:
    """One itself stands for one less a step, on either side, and is never excluded where it is the estimate."""
    values, step = np.append(np.random.default_rng(1).uniform(-0.9, 0.99, 97), [1.0, -1.0]), 0.02
    z = [math.atanh(max(-0.98, min(0.98, value))) for value in values]
    away = sorted(each - sum(z) / 99 for each in z)
    centre = math.atanh(max(-0.98, min(0.98, estimate)))
    # 99 deviations: the quantile of share p is the one of place 98 p.
    low, high = (math.tanh(centre - np.interp(98 * p, range(99), away)) for p in ((1 + level) / 2, (1 - level) / 2))
    wanted = -1.0 if estimate <= -0.98 else low, 1.0 if estimate >= 0.98 else high
    assert shifted_ends(estimate, values, step, level) == pytest.approx(wanted)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_an_interval_by_its_draws(name: str, level: float) -> None:
    """Percentiles over models; deviations turned round the estimate, on Fisher's scale, for all other sources."""
    drawn = draw_sources(scores(n=12), n_resamples=120)
    estimate = float(correlate(name, drawn.scores.lab, drawn.scores.live))
    for source, draws in drawn.draws.items():
        values = correlate(name, draws.lab, draws.live)
        ends = source_interval(drawn, source, name, conf_level=level)
        wanted = (
            np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
            if source == "models"
            else shifted_ends(estimate, values, resolution(name, 12), level)
        )
        assert (ends.conf_low, ends.conf_high) == pytest.approx(tuple(wanted))
