"""Which differences a board can resolve: by its definition, and by how often such a difference is found."""

import statistics

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es


def board_of(values: dict[str, np.ndarray]) -> es.Leaderboard:
    rows = [
        {"model": model, "item": f"q{i}", "score": float(score)}
        for model, scores in values.items()
        for i, score in enumerate(scores)
    ]
    return es.leaderboard(es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score"))


def test_it_is_the_median_detectable_difference_of_the_pairs() -> None:
    rng = np.random.default_rng(3)
    board = board_of({name: rng.random(80) for name in "abcd"})
    known = [
        pair.std_error * (stats.t.ppf(0.975, pair.df) + stats.t.ppf(0.8, pair.df))
        for pair in board.pairs
        if pair.std_error and pair.df
    ]
    assert len(known) == 6
    assert board.detects == pytest.approx(statistics.median(known), rel=1e-9)
    assert board.detects is not None
    assert board.needs(board.detects / 2) == pytest.approx(320, abs=1)
    assert "Differences of" in board.to_markdown()


def test_such_a_difference_is_found_in_four_of_five_boards() -> None:
    """500 boards of three models, one better by what the first board says it detects: 80%, Monte Carlo error 1.8%."""
    rng = np.random.default_rng(4)
    size = board_of({name: rng.normal(0, 1, 60) for name in "abc"}).detects
    assert size is not None
    found = 0
    for _ in range(500):
        a, b = rng.normal(0, 1, 60), rng.normal(size, 1, 60)
        found += stats.ttest_rel(b, a).pvalue <= 0.05
    assert 0.72 < found / 500 < 0.88  # the standard error of the first board is itself an estimate
