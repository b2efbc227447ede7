"""Ratings without suspect votes: what is left out, what is said of it, and that nothing else moves."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evalstats as es
from dev.validation.arena_checks import World
from evalstats.cli.main import app
from evalstats.errors import InputError


def _draw(seed: int = 0, **trouble: float) -> pl.DataFrame:
    options: Mapping[str, object] = {"n_models": 6, "n_votes": 900, "n_raters": 30, **trouble}
    return World(name="", **options).draw(np.random.default_rng([17, seed]))  # pyright: ignore[reportArgumentType]


@cache
def _without_one_side() -> es.ArenaRanking:
    return es.arena(_draw(one_side=40), without_suspects=True)


def _caution(result: es.ArenaRanking) -> str:
    return " ".join(f"{note.line}" for note in result.document().notes)


def test_a_rater_who_always_takes_one_side_is_left_out() -> None:
    votes = _draw(one_side=40)
    every = es.arena(votes)
    assert "Rate without them: without_suspects=True" in _caution(every)
    assert every.trust is not None
    flagged = {flag.rater for flag in every.trust.raters}
    assert "r00030" in flagged
    by_hand = es.arena(votes.filter(~pl.col("rater").is_in(list(flagged))))
    result = _without_one_side()
    assert [(row.name, row.estimate, row.ranks) for row in result.rows] == [
        (row.name, row.estimate, row.ranks) for row in by_hand.rows
    ]
    lost = every.n_votes - result.n_votes
    assert f"{lost:,} of 900 votes are dropped as suspect ({lost:,} by raters unlike the others)" in _caution(result)
    assert "--without-suspects" not in _caution(result)


def test_repeats_after_the_first_are_left_out() -> None:
    votes = _draw(1, twice=0.06)
    result = es.arena(votes, without_suspects=True)
    assert "repeats" in _caution(result)
    assert result.n_votes == 900


def test_votes_whose_answers_name_their_model_are_left_out() -> None:
    votes = _draw(2, leak=0.1)
    named = votes.select((pl.col("names_itself_a") | pl.col("names_itself_b")).sum()).item()
    assert es.arena(votes, without_suspects=True).n_votes == 900 - named


def test_of_a_burst_the_votes_on_the_model_go_won_or_lost() -> None:
    votes = _draw(3, n_votes=3_000)
    busy = pl.int_range(pl.len()).is_between(1_000, 1_150) & (
        (pl.col("model_a") == "model 02") | (pl.col("model_b") == "model 02")
    )
    at = datetime(2026, 2, 3, 12, tzinfo=UTC)
    wins = pl.when(pl.col("model_a") == "model 02").then(pl.lit("a")).otherwise(pl.lit("b"))
    burst = votes.with_columns(
        timestamp=pl.when(busy).then(pl.lit(at)).otherwise(pl.col("timestamp")),
        outcome=pl.when(busy).then(wins).otherwise(pl.col("outcome")),
    )
    result = es.arena(burst)
    assert any(line.check == "bursts" and line.status == "warning" for line in result.checks)
    without = es.arena(burst, without_suspects=True)
    assert "in bursts" in _caution(without)
    assert without.n_votes < result.n_votes


def test_honest_votes_all_stay() -> None:
    votes = _draw(4)
    one, other = es.arena(votes, checks=False), es.arena(votes, without_suspects=True)
    assert one.rows == other.rows
    assert "The checks suspect no votes, so none is dropped" in _caution(other)


def test_order_does_not_matter() -> None:
    one, votes = _without_one_side(), _draw(one_side=40)
    other = es.arena(votes.sample(fraction=1.0, shuffle=True, seed=1), without_suspects=True)
    assert [row.name for row in other.rows] == [row.name for row in one.rows]
    assert [row.estimate for row in other.rows] == pytest.approx([row.estimate for row in one.rows], abs=1e-6)


def test_merged_votes_are_refused() -> None:
    with pytest.raises(InputError, match="collect the lazy frame"):
        es.arena(_draw(6).lazy(), without_suspects=True)


def test_the_command_that_the_caution_names_does_it(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    labels = pl.col("outcome").replace({"a": "model_a", "b": "model_b"})
    _draw(one_side=40).select("model_a", "model_b", labels.alias("winner"), "rater").write_csv(path)
    plain = CliRunner().invoke(app, ["arena", str(path)])
    assert "--without-suspects" in plain.output
    told = CliRunner().invoke(app, ["arena", str(path), "--without-suspects"])
    assert told.exit_code == 0
    assert "dropped as suspect" in " ".join(told.output.split())
