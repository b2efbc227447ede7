"""One-pass ratings against their formula, and what the order of votes does to them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS, online_elo


def votes(first, second, share):
    return np.array(first), np.array(second), np.array(share, dtype=float)


def by_formula(votes, n_models, *, k, scale, start):
    ratings = np.full(n_models, start)
    for a, b, got in zip(*votes, strict=True):
        expected = 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / scale))
        ratings[a], ratings[b] = ratings[a] + k * (got - expected), ratings[b] - k * (got - expected)
    return ratings


def random_votes(seed, n_votes=500, strengths=(0.6, 0.2, -0.1, -0.7)):
    rng = np.random.default_rng(seed)
    strengths = np.array(strengths)
    n = strengths.size
    first = rng.integers(n, size=n_votes)
    second = (first + rng.integers(1, n, size=n_votes)) % n
    won = rng.random(n_votes) < 1 / (1 + np.exp(strengths[second] - strengths[first]))
    return first, second, np.where(rng.random(n_votes) < 0.2, 0.5, won)


@given(seed=st.integers(0, 1000), k=st.floats(0.1, 100), scale=st.floats(50, 1000), start=st.floats(0, 2000))
def test_equals_the_formula(seed, k, scale, start):
    drawn = random_votes(seed, 50)
    found = online_elo(*drawn, n_models=4, k=k, scale=scale, start=start)
    np.testing.assert_allclose(found, by_formula(drawn, 4, k=k, scale=scale, start=start), atol=1e-8)
    assert found.sum() == pytest.approx(4 * start)


def test_a_first_win_is_worth_half_of_k():
    assert online_elo(*votes([0], [1], [1.0]), n_models=3, k=32).tolist() == [1016.0, 984.0, 1000.0]
    assert online_elo(*votes([0], [1], [0.5]), n_models=2).tolist() == [1000.0, 1000.0]


def test_sides_change_nothing():
    first, second, share = random_votes(1)
    np.testing.assert_allclose(
        online_elo(first, second, share, n_models=4), online_elo(second, first, 1 - share, n_models=4)
    )


def test_no_jump_is_too_large():
    assert np.isfinite(online_elo(*votes([0, 0, 1], [1, 1, 0], [1, 0, 1]), n_models=2, k=1e9)).all()


def test_the_scale_is_ten_to_one_in_four_hundred_points():
    assert ELO_PER_LOG_ODDS * np.log(10.0) == pytest.approx(400.0)


def test_without_options_a_vote_moves_by_four_points_at_most_and_ten_to_one_are_400():
    drawn = random_votes(2, 200)
    np.testing.assert_allclose(
        online_elo(*drawn, n_models=4), by_formula(drawn, 4, k=4.0, scale=400.0, start=1000.0), atol=1e-8
    )
