"""Pairs chosen by past votes are seen in their order, and replayed; pairs that no vote chose are not taken for such."""

import numpy as np
import pytest

from dev.validation.arena_pairing import ADAPTIVE, FIXED, World
from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.pairing import (
    PairingRule,
    fitted_ratings,
    pairing_rule,
    pairing_test,
    refitted,
    replayed,
    stepped_ratings,
    widened,
)
from evalstats.stats.arena.parametric_bootstrap import Tastes
from evalstats.stats.arena.votes import vote_rows


def _votes(world: World, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    frame = world.draw(np.random.default_rng(seed))
    first, second = (frame[side].str.slice(1).cast(int).to_numpy() for side in ("model_a", "model_b"))
    return first, second, (frame["outcome"] == "a").cast(float).to_numpy()


@pytest.mark.parametrize("world", ADAPTIVE, ids=lambda world: world.name)
def test_pairs_chosen_by_past_votes_are_seen(world: World) -> None:
    found = [pairing_test(*_votes(world, seed), n_models=6) for seed in range(2)]
    assert max(each.p_value for each in found) < 0.01
    assert all(each.distance < each.expected for each in found)


@pytest.mark.parametrize("world", FIXED, ids=lambda world: world.name)
def test_pairs_that_no_vote_chose_are_not_flagged(world: World) -> None:
    assert pairing_test(*_votes(world, 0), n_models=6).p_value > 0.01


def test_shuffled_votes_hide_the_rule() -> None:
    votes = _votes(ADAPTIVE[0], 1)
    order = np.random.default_rng(2).permutation(votes[0].size)
    assert pairing_test(*(each[order] for each in votes), n_models=6).p_value > 0.01


def test_sides_and_numbers_of_models_do_not_matter() -> None:
    first, second, share = _votes(ADAPTIVE[0], 3)
    one = pairing_test(first, second, share, n_models=6)
    turned = pairing_test(second, first, 1.0 - share, n_models=6)
    again = pairing_test(5 - first, 5 - second, share, n_models=6)
    for other in (turned, again):
        assert other.statistic == pytest.approx(one.statistic, abs=1e-6)
        assert other.n_votes == one.n_votes


def test_what_cannot_be_tested_is_refused() -> None:
    first, second, share = _votes(FIXED[0], 1)
    with pytest.raises(CannotAnswerError, match="two models always meet"):
        pairing_test(first[:5] * 0, first[:5] * 0 + 1, share[:5], n_models=2)
    with pytest.raises(CannotAnswerError, match="the test needs 100"):
        pairing_test(first[:60], second[:60], share[:60], n_models=6)
    order = np.lexsort((np.maximum(first, second), np.minimum(first, second)))
    with pytest.raises(CannotAnswerError, match="sorted by model"):
        pairing_test(first[order], second[order], share[order], n_models=6)
    order = np.argsort(first, kind="stable")
    with pytest.raises(CannotAnswerError, match="sorted by model"):
        pairing_test(first[order], second[order], share[order], n_models=6)


def test_running_ratings_are_those_of_one_pass_and_of_a_fit() -> None:
    votes = _votes(FIXED[0], 4)
    seen = np.array([0, 10, 899])
    steps = stepped_ratings(votes, seen, n_models=6, step=0.092)
    before = [each[:899] for each in votes]
    elo = np.zeros(6)
    for a, b, got in zip(*before, strict=True):
        gain = 0.092 * (got - 1.0 / (1.0 + np.exp(elo[b] - elo[a])))
        elo[a], elo[b] = elo[a] + gain, elo[b] - gain
    assert steps[0].tolist() == [0.0] * 6
    np.testing.assert_allclose(steps[2], elo, atol=1e-12)
    fits = fitted_ratings(votes, seen, n_models=6)
    assert fits[0].tolist() == [0.0] * 6
    rows = vote_rows(votes[0][:890], votes[1][:890], (votes[2][:890] == 0.0).astype(int), n_models=6)
    np.testing.assert_allclose(fits[2], fit_strengths(rows, prior=0.5).strengths, atol=2e-3)


def test_many_fits_are_each_a_fit() -> None:
    rng = np.random.default_rng(5)
    won = rng.integers(1, 20, size=(4, 5, 5)) * (1.0 - np.eye(5))
    found = refitted(np.zeros((4, 5)), won, prior=0.5, steps=15)
    for table, strengths in zip(won, found, strict=True):
        first, second = np.nonzero(table)
        rows = vote_rows(first, second, np.zeros(first.size, dtype=int), count=table[first, second].astype(int))
        np.testing.assert_allclose(strengths, fit_strengths(rows, prior=0.5).strengths, atol=1e-5)


def test_the_rule_that_was_followed_is_found() -> None:
    near = pairing_rule(_votes(ADAPTIVE[0], 6), n_models=6)
    apart = pairing_rule(_votes(FIXED[0], 6), n_models=6)
    assert near.by_rank
    assert near.pull > 2.0
    assert apart.pull < 0.5 * near.pull
    np.testing.assert_allclose(near.activity.sum(), 1.0)


def test_replays_without_a_pull_are_random_pairs() -> None:
    """Strengths are then as far off as their information says: variance of a contrast near 2 x 4 / votes of a model."""
    rule = PairingRule(pull=0.0, step=0.092, by_rank=False, activity=np.full(4, 0.25))
    drawn = replayed(rule, np.zeros(4), Tastes(), n_votes=800, tie_share=0.0, seed=1)
    contrast = drawn[:, 0] - drawn[:, 1]
    assert contrast.var() == pytest.approx(2.0 * 4.0 / 400.0 * 0.75, rel=0.3)
    pulled = PairingRule(pull=6.0, step=0.023, by_rank=True, activity=np.full(4, 0.25))
    assert (replayed(pulled, np.zeros(4), Tastes(), n_votes=800, tie_share=0.0, seed=1)[:, 0] ** 2).mean() > 1.3 * (
        drawn[:, 0] ** 2
    ).mean()


def test_errors_are_widened_to_the_level_and_never_narrowed() -> None:
    rng = np.random.default_rng(7)
    drawn = rng.normal(size=(200, 3))
    error = np.full((3, 3), 1.0)
    factor = widened(drawn, error, 2.0, level=0.95)
    largest = np.abs(drawn[:, :, None] - drawn[:, None, :]).max(axis=(1, 2))
    assert np.mean(largest > factor * 2.0) <= 0.05 < np.mean(largest >= 0.9 * factor * 2.0)
    assert widened(0.01 * drawn, error, 2.0, level=0.95) == 1.0


def test_too_many_models_are_not_replayed() -> None:
    rule = PairingRule(pull=1.0, step=0.0, by_rank=False, activity=np.full(80, 1 / 80))
    with pytest.raises(CannotAnswerError, match="too many to replay"):
        replayed(rule, np.zeros(80), Tastes(), n_votes=5_000, tie_share=0.0)
