"""What an arena claims where pairs were chosen by past votes."""

import numpy as np
import polars as pl
import pytest

import evalstats as es
from dev.validation.arena_pairing import ADAPTIVE, FIXED
from evalstats.analysis.arena import pairing as module
from evalstats.errors import CannotAnswerError


@pytest.fixture(scope="module")
def chosen() -> pl.DataFrame:
    """Equal models that the sandwich alone orders: with the votes shuffled nothing shows how pairs were chosen."""
    votes = ADAPTIVE[0].draw(np.random.default_rng(0))
    bare = es.arena(votes.sample(fraction=1.0, shuffle=True, seed=1), checks=False)
    assert any(pair.verdict != "not separated" for pair in bare.pairs)
    return votes


def test_equal_models_are_no_longer_ordered(chosen: pl.DataFrame) -> None:
    result = es.arena(chosen)
    assert result.pairing is not None
    assert result.pairing.adaptive
    assert (result.pairing.factor or 0.0) > 1.1
    assert {pair.verdict for pair in result.pairs} == {"not separated"}
    (line,) = [line for line in result.checks if line.check == "pairing"]
    assert line.status == "warning"
    assert "in the order of the file" in line.finding
    assert "models were paired by similar ratings" in result.summary().lower()
    again = es.arena(chosen, checks=False)
    assert [row.std_error for row in again.rows] == [row.std_error for row in result.rows]


def test_times_give_the_order(chosen: pl.DataFrame) -> None:
    seconds = pl.datetime(2026, 1, 1) + pl.duration(minutes=pl.int_range(pl.len()))
    timed = chosen.with_columns(timestamp=seconds).sample(fraction=1.0, shuffle=True, seed=3)
    result = es.arena(timed)
    assert result.pairing is not None
    assert result.pairing.adaptive
    assert "in the order of their times" in next(line.finding for line in result.checks if line.check == "pairing")


def test_what_cannot_be_replayed_is_withheld(chosen: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise CannotAnswerError("6 models are too many to replay")

    monkeypatch.setattr(module, "replayed", refuse)
    result = es.arena(chosen, checks=False)
    assert not result.has_ranks
    assert all(row.conf_low is None for row in result.rows)
    assert "the pairing cannot be replayed: 6 models are too many" in result.summary()


def test_votes_that_say_so_are_taken_at_their_word() -> None:
    votes = FIXED[0].draw(np.random.default_rng(1)).with_columns(phase=pl.lit("proximity"))
    result = es.arena(votes, checks=False)
    assert result.pairing is not None
    assert (result.pairing.adaptive, result.pairing.n_declared) == (True, 900)
    assert "900 votes say so" in result.summary()


def test_random_pairs_change_nothing() -> None:
    votes = FIXED[0].draw(np.random.default_rng(2))
    result = es.arena(votes)
    assert result.pairing is not None
    assert not result.pairing.adaptive
    assert result.pairing.factor is None
    assert next(line.status for line in result.checks if line.check == "pairing") == "ok"
