"""Models that answered different items: the order, letters and first number come from one scale, never from unlike means."""

import numpy as np
import pytest

from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.analysis.score.score import score
from evalstats.stats.many.common_scale import common_scale
from tests.analysis.builders import printed
from tests.analysis.leaderboard.test_leaderboard import binary, board


def random_board(seed: int) -> np.ndarray:
    """Right-or-wrong or graded scores of a few models, each with gaps of another kind: none, at random, or the hard items."""
    rng = np.random.default_rng(seed)
    n, models = int(rng.integers(40, 120)), int(rng.integers(2, 7))
    ease = rng.normal(0, 1.5, n)
    latent = ease[:, np.newaxis] + rng.normal(0, 0.8, models) + rng.logistic(size=(n, models))
    values = (latent > 0).astype(float) if rng.random() < 0.6 else 1 / (1 + np.exp(-latent))
    for j in range(models):
        kind = rng.integers(3)
        if kind == 1:
            values[rng.random(n) < 0.4, j] = np.nan
        elif kind == 2:
            values[ease < np.quantile(ease, 0.5), j] = np.nan
    return values


def check_order(found: Leaderboard) -> None:
    """Lines, rank sets and letters tell one story, within each part."""
    sign = 1 if found.higher_is_better else -1
    rows = {row.name: row for row in found.rows}
    place = {row.name: k for k, row in enumerate(found.rows)}
    for part in {row.component for row in found.rows}:
        own = [row for row in found.rows if row.component == part]
        scores = [sign * (row.estimate or 0) for row in own]
        assert scores == sorted(scores, reverse=True) or np.allclose(scores, sorted(scores, reverse=True), atol=1e-9)
        assert own[0].tier.lstrip("0123456789")[:1] == "a"
        if own[0].rank_low is not None:
            assert own[0].rank_low == min(row.rank_low or 99 for row in own)
        for one in own:
            for other in own:
                if (one.rank_high or 99) < (other.rank_low or 0):
                    assert place[one.name] < place[other.name]
                    assert not set(one.tier.lstrip("0123456789")) & set(other.tier.lstrip("0123456789"))
    for pair in found.pairs:
        if pair.separated:
            names = (pair.first, pair.second) if pair.verdict == "better" else (pair.second, pair.first)
            better, worse = (rows[name] for name in names)
            assert place[better.name] < place[worse.name]
            assert better.tier < worse.tier
            assert (better.rank_low or 0) <= (worse.rank_low or 0)
            assert (better.rank_high or 0) <= (worse.rank_high or 0)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 24))])
def test_letters_and_lines_follow_the_ranks(seed: int) -> None:
    check_order(leaderboard(board(random_board(seed))))


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_dropping_its_hard_items_does_not_put_a_model_ahead(seed: int, *, graded: bool) -> None:
    """b does nothing that a does not do as well, and misses a fifth of it."""
    rng = np.random.default_rng(seed)
    scores = binary(120, [0.9, 0.9], seed=seed)
    if graded:
        scores = (scores + rng.random(scores.shape)) / 2
    scores[:, 1] = scores[:, 0] * np.where(rng.random(120) < 0.2, 0.5 if graded else 0.0, 1.0)
    dropped = scores.copy()
    dropped[np.argsort(scores.mean(axis=1))[:40], 1] = np.nan
    found = leaderboard(board(dropped))
    assert np.nanmean(dropped[:, 1]) > np.nanmean(dropped[:, 0])  # the mean of its own items leads
    assert found.rows[0].name == "a"
    own = found.row("b")
    assert own.own_mean == pytest.approx(np.nanmean(dropped[:, 1]))
    assert own.estimate is not None
    assert own.estimate < np.nanmean(dropped[:, 1])
    assert own.conf_low is not None
    assert own.conf_high is not None
    assert own.conf_low < own.estimate < own.conf_high


def test_a_leader_that_is_behind_on_shared_items_is_not_called_one() -> None:
    """By c, y is ahead of x on all items; on those that x and y share it is the other way round."""
    x, y, c = np.arange(90) % 10 < 6, np.full(90, np.nan), np.arange(90) % 10 < 2
    scores = np.stack([x, y, c], axis=1).astype(float)
    scores[30:60, 0], scores[30:60, 2] = 0.0, np.arange(30) < 18
    scores[:30, 1] = np.arange(30) < 17
    found = leaderboard(board(scores, names="xyc"))
    assert found.rows[0].name == "y"
    assert "y scores highest, but x is ahead of it on the 30 items that they share" in found.document().headline


def test_a_model_with_every_item_keeps_its_score() -> None:
    scores = binary(90, [0.9, 0.5, 0.1], seed=2)
    scores[:30, 2] = np.nan
    data = board(scores)
    found = leaderboard(data)
    for name in "ab":
        alone, row = score(data, name), found.row(name)
        assert (row.estimate, row.conf_low, row.conf_high) == (alone.estimate, alone.conf_low, alone.conf_high)
        assert row.own_mean is None


def test_complete_boards_show_no_second_mean() -> None:
    found = leaderboard(board(binary(90, [0.9, 0.5, 0.1], seed=2)))
    assert all(row.own_mean is None for row in found.rows)
    assert "Own mean" not in printed(found, full=False)


def test_the_first_screen_names_both_means() -> None:
    scores = binary(180, [0.5, 0.45], seed=1)
    scores[:60, 1] = np.nan
    shown = printed(leaderboard(board(scores)), full=False)
    assert "Score, all items (%)" in shown
    assert "Own mean (%)" in shown
    assert "on the 120 items that they share" in " ".join(shown.split())


def test_a_pair_that_the_scores_on_all_items_contradict_is_not_separated() -> None:
    """x beats y on the few items that they share; through z, on many items, y is far ahead."""
    x, y, z = (np.full(230, np.nan) for _ in range(3))
    x[:30], y[:30] = 1.0, np.arange(30) < 18
    x[30:130], z[30:130] = np.arange(100) < 30, np.arange(100) < 60
    y[130:], z[130:] = np.arange(100) < 95, np.arange(100) < 50
    found = leaderboard(board(np.stack([x, y, z], axis=1), names="xyz"), adjust="holm")
    check_order(found)
    pair = next(pair for pair in found.pairs if {pair.first, pair.second} == {"x", "y"})
    assert (pair.p_adjusted or 1) < 0.05
    assert not pair.separated
    assert pair.reason == "by the scores on all items the order is the other one"


def test_parts_that_share_nothing_have_no_order_between_them() -> None:
    scores = np.full((80, 4), np.nan)
    scores[:40, :2], scores[40:, 2:] = binary(40, [0.5, 2.0], seed=3), binary(40, [3.0, 0.5], seed=4)
    found = leaderboard(board(scores))
    assert found.document().label == "no overall rank"
    assert {row.component for row in found.rows} == {1, 2}
    check_order(found)


def test_lower_is_better_follows_the_same_rule() -> None:
    scores = binary(120, [-0.3, 0.5], seed=5)
    scores[np.argsort(scores.mean(axis=1))[-40:], 1] = np.nan
    found = leaderboard(board(scores), higher_is_better=False)
    assert [row.name for row in found.rows] == ["a", "b"]
    assert np.nanmean(scores[:, 1]) < np.nanmean(scores[:, 0])
    check_order(found)


@pytest.mark.slow
@pytest.mark.parametrize("abilities", [(0.5, 0.5), (0.5, 0.5, 1.5)])
def test_of_two_equal_models_the_one_on_easier_items_is_ahead_half_of_the_time(abilities: tuple[float, ...]) -> None:
    """By means of their own items it was in 97% of 2,000 tables."""
    rng = np.random.default_rng(11)
    tables, ahead, by_means = 300, 0.0, 0
    for _ in range(tables):
        ease = rng.normal(0, 1.2, 60)
        scores = (rng.logistic(size=(60, len(abilities))) < ease[:, np.newaxis] + abilities).astype(float)
        scores[ease < np.median(ease), 0] = np.nan
        by_means += np.nanmean(scores[:, 0]) > np.nanmean(scores[:, 1])
        one, two = common_scale(scores, bounds=(0.0, 1.0)).estimate[:2]
        ahead += 0.5 if abs(one - two) < 1e-9 else float(one > two)
    assert by_means / tables > 0.9
    assert abs(ahead / tables - 0.5) < 0.1
