"""Pairs of models: separated alike, oppositely, or not."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.agreement.attenuation import draw_noise
from evalstats.stats.agreement.intervals import _redrawn, _resampled, pair_agreement
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.many.multiplicity import holm
from tests.stats.agreement.test_draws import scores


def test_a_contradiction_by_hand() -> None:
    # Errors of a difference: .1 in the lab, .2 live. Models 0 and 1 are 1 apart in the lab and -1 live: 10 and 5 errors.
    s = LabLiveScores(
        lab=np.array([1.0, 0.0, 0.05, 3.0]),
        live=np.array([0.0, 1.0, 1.02, 5.0]),
        lab_covariance=0.005 * np.eye(4) + 9.0,
        live_covariance=0.02 * np.eye(4) + 4.0,
    )
    found = pair_agreement(s)
    pairs = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert pairs == list(combinations(range(4), 2))
    assert [pairs[i] for i in np.flatnonzero(found.contradicted)] == [(0, 1), (0, 2)]
    assert [pairs[i] for i in np.flatnonzero(found.same)] == [(0, 3), (1, 3), (2, 3)]
    assert found.agreement == pytest.approx(4 / 6)  # (1, 2) is in the same order, though neither side is sure
    assert found.confidence == pytest.approx((3 - 2) / 6)
    np.testing.assert_allclose(found.lab.std_error, 0.1, rtol=1e-6)


def test_every_pair_by_its_definition() -> None:
    s = scores(n=12)
    found = pair_agreement(s, n_resamples=200, lab_df=30.0)
    for place, (i, j) in enumerate(combinations(range(12), 2)):
        error = np.sqrt(s.lab_covariance[i, i] + s.lab_covariance[j, j] - 2 * s.lab_covariance[i, j])
        ratio = (s.lab[i] - s.lab[j]) / error
        assert found.lab.probability[place] == pytest.approx(stats.t.cdf(ratio, 30))
        assert found.lab.p_value[place] == pytest.approx(2 * stats.t.sf(abs(ratio), 30))
        error = np.sqrt(s.live_covariance[i, i] + s.live_covariance[j, j] - 2 * s.live_covariance[i, j])
        assert found.live.p_value[place] == pytest.approx(2 * stats.norm.sf(abs(s.live[i] - s.live[j]) / error))
    np.testing.assert_array_equal(found.live.separated, holm(found.live.p_value) < 0.05)
    tau = stats.kendalltau(s.lab, s.live).statistic
    assert found.agreement == pytest.approx((1 + tau) / 2)


def test_swapping_sides_keeps_the_counts() -> None:
    s = scores(n=14)
    swapped = LabLiveScores(lab=s.live, live=s.lab, lab_covariance=s.live_covariance, live_covariance=s.lab_covariance)
    first, second = pair_agreement(s, n_resamples=200), pair_agreement(swapped, n_resamples=200)
    np.testing.assert_array_equal(first.same, second.same)
    np.testing.assert_array_equal(first.contradicted, second.contradicted)
    assert first.ends["agreement"] == second.ends["agreement"]


def test_bootstrap_over_models_makes_no_pair_of_a_model_with_itself() -> None:
    x = np.arange(15.0)
    perfect = pair_agreement(LabLiveScores(lab=x, live=x), n_resamples=300)
    assert perfect.agreement == 1.0
    assert "agreement" not in perfect.ends  # no draw differs: an interval of width zero would say something untrue
    s = scores(n=15)
    found, rng, values = pair_agreement(s, n_resamples=4000), np.random.default_rng(9), []
    for _ in range(1500):
        at = rng.integers(0, 15, 15)
        i, j = np.triu_indices(15, 1)
        other = at[i] != at[j]
        lab, live = s.lab[at][i] - s.lab[at][j], s.live[at][i] - s.live[at][j]
        values.append(np.mean((lab * live > 0)[other]))
    expected = np.quantile(values, [0.025, 0.975])
    assert found.ends["agreement"] == pytest.approx(tuple(expected), abs=0.02)  # Monte Carlo error of an end about .005


def test_pairs_are_no_independent_trials() -> None:
    s = scores(n=25)
    found = pair_agreement(s)
    width = found.ends["agreement"][1] - found.ends["agreement"][0]
    binomial = 2 * 1.96 * np.sqrt(found.agreement * (1 - found.agreement) / 300)
    assert width > 1.3 * binomial


def test_few_models_have_intervals_by_noise() -> None:
    s = scores(n=30).subset(np.arange(7))
    found = pair_agreement(s, n_resamples=500)
    for name in ("agreement", "confidence", "brier"):
        low, high = found.ends[name]
        assert low < high
    bare = pair_agreement(LabLiveScores(lab=s.lab, live=s.live))
    assert bare.ends == {}
    assert bare.same is None
    assert bare.brier is None
    # Three models have an order, and four the first of which noise can tell how sure it is.
    assert pair_agreement(s.subset(np.arange(3)), n_resamples=500).ends == {}
    assert pair_agreement(s.subset(np.arange(4)), n_resamples=500).ends
    with pytest.raises(CannotAnswerError, match="2 shared models"):
        pair_agreement(s.subset(np.arange(2)))


def test_scores_without_error_between_them_forecast_nothing() -> None:
    s = LabLiveScores(
        lab=np.arange(3.0), live=np.arange(3.0), lab_covariance=np.ones((3, 3)), live_covariance=np.eye(3)
    )
    assert pair_agreement(s).brier == 0.25


def test_contradictions_are_rarely_found_where_there_are_none() -> None:
    rng, found = np.random.default_rng(2), 0
    covariance = 0.2 * np.eye(12)
    for _ in range(100):
        x = rng.normal(size=12)
        s = LabLiveScores(
            lab=x + np.sqrt(0.2) * rng.normal(size=12),
            live=x + np.sqrt(0.2) * rng.normal(size=12),
            lab_covariance=covariance,
            live_covariance=covariance,
        )
        found += bool(pair_agreement(s, n_resamples=99).contradicted.any())
    # Both sides must err by Holm's 5% at once: far below .05.
    assert found <= 2


@pytest.mark.parametrize("gone", ["lab_covariance", "live_covariance"])
def test_errors_of_one_side_tell_what_it_separates_and_no_contradiction(gone: str) -> None:
    found = pair_agreement(replace(scores(n=6), **{gone: None}), n_resamples=100)
    known, unknown = (found.live, found.lab) if gone == "lab_covariance" else (found.lab, found.live)
    assert known.separated is not None
    assert unknown.separated is None
    assert (found.same, found.contradicted) == (None, None)


def test_intervals_begin_at_four_models_and_speak_of_others_from_ten_on() -> None:
    s = scores(n=12)
    assert pair_agreement(s.subset(np.arange(3)), n_resamples=60).ends == {}
    assert "brier" in pair_agreement(s.subset(np.arange(4)), n_resamples=200).ends
    bare = LabLiveScores(lab=s.lab, live=s.live)
    assert pair_agreement(bare.subset(np.arange(9)), n_resamples=60).ends == {}
    assert set(pair_agreement(bare.subset(np.arange(10)), n_resamples=60).ends) == {"agreement"}
    assert set(pair_agreement(s, n_resamples=60).ends) == {"agreement", "confidence", "brier"}
    for n in (9, 12):  # by noise, and by models
        found = [pair_agreement(s.subset(np.arange(n)), n_resamples=200, conf_level=level) for level in (0.5, 0.95)]
        narrow, wide = (each.ends["brier"] for each in found)
        assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize("n", [2, 3])
def test_a_resample_of_one_model_alone_has_no_pair(n: int) -> None:
    """Means over pairs of different models: of two models there is one pair, of three one or three."""
    values = np.array([0.25, 0.5, 2.0])[: n * (n - 1) // 2]
    found = _resampled({"some": values}, n, 200, np.random.default_rng(0))["some"]
    possible = {0.25} if n == 2 else {0.25, 0.5, 2.0, float(values.mean())}
    assert set(found.round(12).tolist()) == {round(each, 12) for each in possible}
    # Resamples of one model alone are a share 1 / n^(n - 1) of all: they are left out, and no others.
    assert found.size == pytest.approx(200 * (1 - n ** (1 - n)), abs=4 * np.sqrt(200 / 4))


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_quantities_of_draws_by_loops(level: float) -> None:
    s = scores(n=5)
    drawn = draw_noise(s, "items and votes", n_resamples=12, rng=np.random.default_rng(0))
    whole = pair_agreement(s, conf_level=level, n_resamples=60)
    found = _redrawn((whole.lab, whole.live), level, drawn)
    limit = stats.norm.ppf((1 + level) / 2)
    pairs = list(combinations(range(5), 2))
    for k in range(12):
        agreement, confidence, brier = [], [], []
        for place, (i, j) in enumerate(pairs):
            apart, live_apart = drawn.lab[k, i] - drawn.lab[k, j], drawn.live[k, i] - drawn.live[k, j]
            error, live_error = whole.lab.std_error[place], whole.live.std_error[place]
            order = np.sign(apart * live_apart)
            sure = abs(apart) > limit * error and abs(live_apart) > limit * live_error
            agreement.append((order + 1) / 2)
            confidence.append(order if sure else 0.0)
            brier.append((stats.norm.cdf(apart / error) - (live_apart > 0)) ** 2)
        for name, each in (("agreement", agreement), ("confidence", confidence), ("brier", brier)):
            assert found[name][k] == pytest.approx(np.mean(each)), name


def test_ties_count_half_and_are_neither_alike_nor_opposite() -> None:
    s = LabLiveScores(
        lab=np.array([0.0, 0.0, 5.0]),
        live=np.array([9.0, 0.0, 0.0]),
        lab_covariance=0.01 * np.eye(3),
        live_covariance=0.01 * np.eye(3),
    )
    found = pair_agreement(s)
    # (0, 1) tied in the lab, (1, 2) live, (0, 2) opposite.
    assert found.agreement == pytest.approx((0.5 + 0.0 + 0.5) / 3)
    assert (found.same.tolist(), found.contradicted.tolist()) == ([False] * 3, [False, True, False])
    assert found.confidence == pytest.approx(-1 / 3)
    assert found.lab.p_value[0] == 1.0
    assert found.brier == pytest.approx((0.25 + 1.0 + 0.25) / 3)


@pytest.mark.parametrize("level", [0.6, 0.95, 0.999])
def test_what_is_separated_hangs_on_the_level(level: float) -> None:
    found = pair_agreement(scores(n=8), conf_level=level, n_resamples=60)
    for side in (found.lab, found.live):
        np.testing.assert_array_equal(side.separated, holm(side.p_value) < 1 - level)
        np.testing.assert_array_equal(side.alone, side.p_value < 1 - level)
    orders = np.sign(found.lab.difference * found.live.difference)
    assert found.confidence == pytest.approx(np.mean(np.where(found.lab.alone & found.live.alone, orders, 0.0)))
