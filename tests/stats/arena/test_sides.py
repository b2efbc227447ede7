"""The share of side a: its definition, the clusters, and false alarms."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.arena.raters import side_preference
from evalstats.stats.arena.votes import VoteRows, vote_rows
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.one_sample import wilson


def _rows(won: np.ndarray, *clusters: np.ndarray) -> VoteRows:
    n = won.size
    return vote_rows(np.zeros(n, dtype=int), np.ones(n, dtype=int), np.where(won, 0, 1), clusters=clusters)


def test_without_clusters_it_is_wilsons_interval_and_the_score_test() -> None:
    found = side_preference(_rows(np.arange(80) < 50))
    by_hand = wilson(50, 80)
    assert (found.estimate, found.conf_low, found.conf_high) == (
        by_hand.estimate, by_hand.conf_low, by_hand.conf_high
    )  # fmt: skip
    assert found.p_value == pytest.approx(2.0 * stats.norm.sf((50 - 40) / math.sqrt(20.0)))


def test_with_clusters_it_is_the_cluster_mean() -> None:
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(25), rng.integers(2, 30, 25))
    won = rng.random(codes.size) < rng.beta(4, 4, 25)[codes]
    found, by_hand = side_preference(_rows(won, codes)), cluster_mean(won.astype(float), codes).estimate
    assert found.std_error == pytest.approx(by_hand.std_error, rel=1e-12)
    assert found.df == pytest.approx(by_hand.df, rel=1e-12)
    assert (found.conf_low, found.conf_high) == pytest.approx((by_hand.conf_low, by_hand.conf_high), rel=1e-12)
    assert found.statistic == pytest.approx((won.mean() - 0.5) / by_hand.std_error, rel=1e-12)
    # The p is the level at which the interval ends at a half.
    at_p = side_preference(_rows(won, codes), conf_level=1.0 - found.p_value)
    assert min(abs(at_p.conf_low - 0.5), abs(at_p.conf_high - 0.5)) < 1e-9


def test_turning_sides_and_shuffling_rows() -> None:
    rng = np.random.default_rng(4)
    codes, won = np.repeat(np.arange(20), 10), rng.random(200) < 0.6
    order = rng.permutation(200)
    one, other = side_preference(_rows(won, codes)), side_preference(_rows(~won, codes))
    again = side_preference(_rows(won[order], codes[order]))
    assert one.estimate == pytest.approx(1.0 - other.estimate)
    assert one.p_value == pytest.approx(other.p_value)
    assert replace(again, estimate=one.estimate).p_value == pytest.approx(one.p_value)


def test_ties_are_left_out() -> None:
    rows = vote_rows([0, 0, 0], [1, 1, 1], [0, 1, 2], count=[30, 20, 500])
    assert side_preference(rows).n == 50


def test_few_clusters_give_no_interval_and_no_votes_are_refused() -> None:
    found = side_preference(_rows(np.arange(40) < 20, np.arange(40) % 3))
    assert found.p_value is None
    assert "at least 5" in (found.reason or "")
    with pytest.raises(InputError, match="decided"):
        side_preference(vote_rows([0], [1], [2]))


def test_a_side_that_always_wins_has_an_interval() -> None:
    found = side_preference(_rows(np.ones(60, dtype=bool), np.arange(60) % 12))
    assert found.conf_low is not None
    assert found.conf_low < 1.0
    assert found.p_value is not None
    assert 0.0 < found.p_value < 1e-4


def test_raters_who_each_prefer_a_side_make_no_false_alarm() -> None:
    """Sides preferred by single raters (logit sd .5) cancel; votes alone would cry wolf three times as often."""
    rng, alarms, naive = np.random.default_rng(8), 0, 0
    for _ in range(400):
        codes = np.repeat(np.arange(60), 30)
        won = rng.random(codes.size) < 1.0 / (1.0 + np.exp(-rng.normal(0.0, 0.5, 60)))[codes]
        alarms += (side_preference(_rows(won, codes)).p_value or 1.0) <= 0.05
        naive += (side_preference(_rows(won)).p_value or 1.0) <= 0.05
    # 5% of 400 is 20; 37 are passed once in ten thousand times.
    assert alarms <= 36
    assert naive > 2 * alarms


@pytest.mark.parametrize("wins", [0, 60])
def test_a_share_without_spread_has_the_error_of_wilsons_centre(wins: int) -> None:
    found = side_preference(_rows(np.arange(60) < wins, np.arange(60) % 12), conf_level=0.9)
    std_error = math.sqrt(0.25 / (60 + stats.norm.ppf(0.95) ** 2))
    assert found.std_error == pytest.approx(std_error)
    assert found.df == pytest.approx(11.0)
    reach = stats.t.ppf(0.95, 11) * std_error
    share = wins / 60
    assert (found.conf_low, found.conf_high) == pytest.approx((max(0.0, share - reach), min(1.0, share + reach)))
    assert found.p_value == pytest.approx(2.0 * stats.t.sf(0.5 / std_error, 11))


def test_of_several_ways_the_fewest_clusters_count() -> None:
    won = np.arange(60) < 35
    for ways, fewest in (((12, 7), 7), ((7, 12), 7), ((12, 4), 4)):
        rows = vote_rows(
            np.zeros(60, dtype=int), np.ones(60, dtype=int), np.where(won, 0, 1),
            clusters=tuple(np.arange(60) % n for n in ways),
        )  # fmt: skip
        found = side_preference(rows)
        assert found.n_clusters == fewest
        assert (found.p_value is None) is (fewest < 5)
