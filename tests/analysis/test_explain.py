"""Leaderboards explained."""

import re

import pytest

from evalstats.analysis.explaining.explain import explain_text
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard
from tests.analysis.builders import data_of, rows_of
from tests.analysis.compare.test_document import LEVELS, N, draws


def in_one_line(result: object) -> str:
    return " ".join(explain_text(result, width=10_000).split())


def ranked(rates: dict[str, float], **options: object) -> Leaderboard:
    rows = [rows_of(name, draws(rate, N, i), factors=LEVELS) for i, (name, rate) in enumerate(rates.items())]
    return leaderboard(data_of(*rows), **options)  # type: ignore[arg-type]


CLEAR = {"a": 0.4, "b": 0.5, "c": 0.95, "d": 0.6}


def test_a_rank_is_explained_by_who_is_above_and_below() -> None:
    result = ranked(CLEAR)
    text = in_one_line(result)
    top = result.rows[0]
    assert (top.name, top.ranks) == ("c", "1")
    assert "The rank of c is 1: of the other 3 models, none is shown to be better and 3 are shown to be worse" in text
    below = max(result.rows, key=lambda row: (row.rank_high or 0) - (row.rank_low or 0))
    n_open = (below.rank_high or 0) - (below.rank_low or 0)
    assert f"The rank of {below.name} is {below.ranks}" in text
    assert f"and {n_open} are left open" in text
    assert sum(row.rank_low == row.rank_high for row in result.rows) == int(re.search(r"(\d) of 4 ranks", text)[1])  # type: ignore[index]


@pytest.mark.parametrize(
    ("adjust", "words"),
    [
        ("max-t", "even one of the separated pairs is a false alarm is at most 5%"),
        ("bh", "about 5% are expected not to be; that is a weaker promise"),
    ],
)
def test_the_promise_of_an_adjustment_is_its_own(adjust: str, words: str) -> None:
    assert words in in_one_line(ranked(CLEAR, adjust=adjust))


def test_the_weakest_claim_and_the_nearest_miss_are_named() -> None:
    result = ranked(CLEAR)
    text = in_one_line(result)
    apart = [pair for pair in result.pairs if pair.separated]
    missed = [pair for pair in result.pairs if not pair.separated]
    assert apart
    assert missed
    weakest = max(apart, key=lambda pair: pair.p_adjusted or 0)
    nearest = min(missed, key=lambda pair: pair.p_adjusted or 1)
    assert f"The weakest claim is {weakest.first} against {weakest.second}" in text
    assert f"The nearest miss is {nearest.first} against {nearest.second}" in text


def test_a_board_without_a_difference_claims_none() -> None:
    text = in_one_line(ranked({"a": 0.5, "b": 0.5, "c": 0.5}))
    assert "0 of 3 ranks are certain" in text
    assert "0 of 3 pairs can be told apart" in text
    assert "The weakest claim" not in text
    for wrong in ("None", "nan", "..", "—"):
        assert wrong not in text
