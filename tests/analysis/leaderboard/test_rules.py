"""What two models alone could not be told apart by, the leaderboard does not tell them apart by either."""

import numpy as np
import pytest

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of, rows_of


def board(scores: np.ndarray) -> EvalData:
    names = [f"m{j}" for j in range(scores.shape[1])]
    return data_of(*(rows_of(name, column.tolist()) for name, column in zip(names, scores.T, strict=True)))


def disjoint_yet_not_separated(found: Leaderboard) -> list[tuple[str, str]]:
    rows = {row.name: row for row in found.rows}
    wrong: list[tuple[str, str]] = []
    for pair in found.pairs:
        one, two = rows[pair.first], rows[pair.second]
        assert one.rank_low is not None
        assert one.rank_high is not None
        assert two.rank_low is not None
        assert two.rank_high is not None
        apart = one.rank_high < two.rank_low or two.rank_high < one.rank_low
        if apart and not pair.separated:
            wrong.append((pair.first, pair.second))
    return wrong


@pytest.mark.parametrize("adjust", ["max-t", "holm", "bh", "by"])
@pytest.mark.parametrize("discordant", [4, 5])
def test_too_few_discordant_items_order_nothing(discordant: int, adjust: str) -> None:
    scores = np.ones((100, 2))
    scores[:discordant, 1] = 0
    found = leaderboard(board(scores), adjust=adjust)  # pyright: ignore[reportArgumentType]
    assert [row.ranks for row in found.rows] == ["1-2", "1-2"]
    assert not found.pairs[0].separated
    assert {row.tier for row in found.rows} == {"a"}
    assert all(row.may_be_best for row in found.rows)
    assert all(row.best_high is None or row.best_high > 0 for row in found.rows)


@pytest.mark.parametrize("kind", ["right or wrong", "graded"])
@pytest.mark.parametrize("seed", range(4))
def test_a_board_of_two_says_what_their_comparison_says(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random((50, 2))
    scores[:, 1] = 0.7 * scores[:, 0] + 0.3 * scores[:, 1] + 0.02 * seed
    scores = (scores > [0.6, 0.4]).astype(float) if kind == "right or wrong" else scores
    data = board(scores)
    alone = compare(data, "m0", "m1")
    found = leaderboard(data)
    (pair,) = found.pairs
    sign = 1 if pair.first == "m1" else -1
    assert pair.p_value == pair.p_adjusted == pytest.approx(alone.p_value)
    ends = sorted(sign * end for end in (pair.conf_low, pair.conf_high) if end is not None)
    assert ends == pytest.approx([alone.conf_low, alone.conf_high])
    assert pair.separated == (alone.verdict in {"better", "worse"})
    assert pair.separated == ({row.ranks for row in found.rows} == {"1", "2"})


@pytest.mark.parametrize("seed", range(4))
def test_disjoint_rank_sets_are_of_separated_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = (40, 100, 150, 300)[seed % 4]
    scores = (rng.random((n, 4)) < np.sort(rng.uniform(0.75, 1, 4))).astype(float)
    found = leaderboard(board(scores), adjust=("max-t", "by")[seed % 2])
    assert disjoint_yet_not_separated(found) == []
    for row in found.rows:
        assert not (row.may_be_best and row.best_high is not None and row.best_high <= 0)


@pytest.mark.parametrize("n", [43, 120])
def test_all_right_against_all_wrong_is_separated(n: int) -> None:
    scores = np.stack([np.ones(n), np.zeros(n)], axis=1)
    found = leaderboard(board(scores))
    assert found.pairs[0].verdict == "better"
    assert [row.ranks for row in found.rows] == ["1", "2"]
    assert len({row.tier for row in found.rows}) == 2


def test_the_draws_of_the_ranks_are_told() -> None:
    scores = np.ones((100, 3))
    scores[:8, 1] = 0
    scores[8:16, 2] = 0
    found = leaderboard(board(scores))
    assert found.exact is False
    assert found.n_resamples == 99_999


def test_the_winner_is_corrected_only_where_there_is_enough_to_know_the_noise_by() -> None:
    rng = np.random.default_rng(3)
    few = leaderboard(board((rng.random((99, 3)) < [0.8, 0.6, 0.5]).astype(float))).winner
    assert few is not None
    assert few.corrected is None
    assert "at least 100" in str(few.reason)
    scores = (rng.random((300, 3)) < [0.99, 0.6, 0.5]).astype(float)
    ceiling = leaderboard(board(scores)).winner
    assert ceiling is not None
    assert ceiling.corrected is None
    assert "end of the scale" in str(ceiling.reason)


def test_a_near_tie_is_not_corrected_wildly() -> None:
    rng = np.random.default_rng(4)
    scores = np.repeat((rng.random((400, 1)) < 0.7).astype(float), 3, axis=1)
    scores[:60, 2] = 0
    scores[:21, 0], scores[:21, 1] = np.arange(21) % 2 == 0, np.arange(21) % 2 == 1
    winner = leaderboard(board(scores)).winner
    assert winner is not None
    assert winner.corrected is not None
    assert winner.conf_low is not None
    assert winner.conf_high is not None
    assert 0 <= winner.conf_low <= winner.corrected <= winner.conf_high <= 1
    assert winner.conf_low > winner.estimate - 0.15
