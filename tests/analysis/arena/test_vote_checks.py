"""Whether votes can be trusted: every check on tables made by hand, and on honest ones."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.arena.ratings import RatedPart, RatingOptions, rate, side_effect
from evalstats.analysis.arena.result import CheckLine, TrustChecks
from evalstats.analysis.arena.vote_checks import trust_checks
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS
from evalstats.table.votes import VoteTable
from tests.stats.arena.voting_by_hand import Votes, honest, one_side, ring

KEYS = ["sides", "raters", "duplicates", "bursts", "identity", "one rater", "few votes", "selection"]


def _table(votes: Votes, *, cluster: str = "auto", **columns: object) -> VoteTable:
    names = np.array([f"model {k}" for k in range(votes.n_models)])
    frame = pl.DataFrame(
        {
            "model_a": names[votes.first],
            "model_b": names[votes.second],
            "outcome": np.array(["a", "b", "tie", "both_bad"])[votes.outcome],
            "rater": [f"r{code:03d}" for code in votes.rater],
            **columns,
        }
    )
    return VoteTable.of(frame.drop([name for name, values in columns.items() if values is None]), cluster=cluster)


def _part(table: VoteTable, **options: object) -> RatedPart:
    asked = RatingOptions(**{"prior": 0.5, **options})  # pyright: ignore[reportArgumentType]
    return rate(table, range(table.n_models), asked, bare=True)


def _checked(table: VoteTable, **options: object) -> tuple[TrustChecks, dict[str, CheckLine]]:
    part = _part(table, **options)
    found, lines = trust_checks(part, side_effect(part))
    assert [line.check for line in lines] == KEYS
    assert all(line.title and line.finding for line in lines)
    return found, {line.check: line for line in lines}


def _times(n: int, seed: int = 0) -> list[datetime]:
    seconds = np.random.default_rng(seed).uniform(0.0, 30.0 * 86_400.0, n)
    return [datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=float(s)) for s in seconds]


def test_an_honest_table_has_no_warning_but_few_votes() -> None:
    votes = honest(np.random.default_rng(1), ties=0.5)
    table = _table(votes, item=[f"i{k}" for k in range(votes.rater.size)], timestamp=_times(votes.rater.size))
    found, lines = _checked(table)
    warned = [key for key, line in lines.items() if line.status == "warning"]
    # Who is first may well hang on few votes, or on one rater, in an honest table.
    assert set(warned) <= {"few votes", "one rater"}
    assert found.n_raters == 100
    assert found.raters == ()
    assert found.n_duplicates == 0
    assert found.bursts == ()
    assert found.side_low is not None
    assert found.side_low < 0.5 < (found.side_high or 0.0)
    assert found.flip is not None
    assert found.flip.confirmed
    assert found.flip.gap > 0.0 > (found.flip.gap_after or 0.0)
    assert [n for n, _ in found.selection] == [2, 3, 5, 10, 20]


def test_a_rater_of_one_side_is_named() -> None:
    votes = honest(np.random.default_rng(2), each=30, n_raters=66)
    one_side(votes, 5)
    found, lines = _checked(_table(votes))
    assert lines["raters"].status == "warning"
    assert [(flag.rater, flag.check) for flag in found.raters if flag.check == "side"] == [("r005", "side")]
    assert "30 of 30 decided votes for side a" in lines["raters"].finding
    assert found.raters[0].e_value > 1e6


def test_a_ring_and_its_model_are_named() -> None:
    rng = np.random.default_rng(3)
    votes = honest(rng, n_models=10)
    ring(rng, votes, range(10), 4)
    found, lines = _checked(_table(votes))
    assert "pushes model 4" in lines["raters"].finding
    named = {flag.rater for flag in found.raters if flag.check == "loyalty"}
    assert len(named & {f"r{k:03d}" for k in range(10)}) >= 8
    assert len(named) <= 12


def test_duplicates_are_counted_whichever_way_the_pair_is_turned() -> None:
    votes = honest(np.random.default_rng(4), n_models=4, n_raters=20, each=10)
    table = _table(votes, item=[f"i{k}" for k in range(200)])
    frame = table.votes
    assert frame is not None
    again = frame.head(10).with_columns(battle=pl.col("battle") + "again")
    turned = again.head(4).with_columns(
        model_a=pl.col("model_b"),
        model_b=pl.col("model_a"),
        outcome=pl.col("outcome").replace({"a": "b", "b": "a"}),
        battle=pl.col("battle") + "turned",
    )
    otherwise = again.head(2).with_columns(
        outcome=pl.col("outcome").replace({"a": "b", "b": "a"}), battle=pl.col("battle") + "otherwise"
    )
    found, lines = _checked(VoteTable.of(pl.concat([frame, again, turned, otherwise])))
    assert found.n_duplicates == 16
    assert found.duplicates_agree == pytest.approx(14 / 16)
    assert lines["duplicates"].status == "warning"


def test_a_burst_by_a_rater_is_named_with_its_time() -> None:
    votes = honest(np.random.default_rng(5), n_models=6, n_raters=10, each=200, sd=0.0)
    times = np.array(_times(votes.rater.size))
    for rater in range(10):
        mine = np.flatnonzero(votes.rater == rater)
        start = datetime(2026, 3, 1 + rater, tzinfo=UTC)
        times[mine] = [start + timedelta(minutes=int(k)) for k in range(mine.size)]
    mine = np.flatnonzero(votes.rater == 3)
    times[mine[100:]] = [times[mine[100]] + timedelta(seconds=int(k)) for k in range(100)]
    found, lines = _checked(_table(votes, timestamp=times.tolist()))
    (burst,) = [burst for burst in found.bursts if burst.kind == "rater"]
    assert burst.name == "r003"
    assert burst.start >= times[mine[95]]
    assert burst.start.tzinfo is UTC
    assert "by r003" in lines["bursts"].finding


def test_an_answer_that_names_its_model_is_compared_with_its_rating() -> None:
    votes = honest(np.random.default_rng(6), n_models=5, ties=0.3)
    names_a = np.random.default_rng(0).random(votes.rater.size) < 0.1
    votes.outcome[names_a & (votes.outcome < 2)] = 0
    table = _table(votes, names_itself_a=names_a.tolist(), names_itself_b=[False] * votes.rater.size)
    found, lines = _checked(table)
    assert found.identity_votes == int(names_a.sum())
    assert found.identity_share == pytest.approx(names_a.mean())
    assert lines["identity"].status == "warning"
    assert "its side won 100.0%" in lines["identity"].finding


def test_what_cannot_be_checked_has_a_reason() -> None:
    votes = honest(np.random.default_rng(7), n_models=4)
    table = VoteTable.of(_table(votes).votes.drop("rater"))
    part = _part(table)
    found, lines = trust_checks(replace(part, std_errors=np.full(4, np.nan)), "not asked")
    told = {line.check: line for line in lines}
    for key in ("raters", "duplicates", "bursts", "identity", "one rater", "selection"):
        assert told[key].status == "not run"
    assert "neither a rater nor a session" in told["raters"].finding
    assert told["one rater"].finding == told["raters"].finding
    assert found.n_duplicates is None
    assert found.identity_votes is None
    assert found.selection == ()


def test_merged_votes_are_checked_as_far_as_they_go() -> None:
    table = _table(honest(np.random.default_rng(8), n_models=4), cluster="none")
    nothing = np.zeros(0, dtype=np.int64)
    bare = replace(
        table, votes=None, first=nothing, second=nothing, outcome=nothing, share=np.zeros(0), weight=np.zeros(0),
        covariates=np.zeros((0, 0)),
    )  # fmt: skip
    found, lines = _checked(bare)
    assert lines["sides"].status == "ok"
    assert found.flip is not None
    assert found.flip.n_votes
    assert "merged" in lines["raters"].finding


def test_sessions_stand_in_for_raters_and_votes_of_nobody_stay() -> None:
    votes = honest(np.random.default_rng(9), n_models=6)
    frame = _table(votes).votes
    assert frame is not None
    sessions = frame.with_columns(
        session=pl.when(pl.int_range(pl.len()) < 500).then(None).otherwise(pl.col("rater"))
    ).drop("rater")
    found, lines = _checked(VoteTable.of(sessions))
    assert found.n_raters == 75
    assert "session" in lines["raters"].finding
    assert all(one.rater >= "r025" for one in found.influences)


def test_moves_and_gaps_are_in_the_points_asked_for() -> None:
    table = _table(honest(np.random.default_rng(10), n_models=5))
    elo, logs = _checked(table)[0], _checked(table, scale="log-odds")[0]
    assert elo.flip is not None
    assert logs.flip is not None
    assert elo.flip.gap == pytest.approx(logs.flip.gap * ELO_PER_LOG_ODDS)
    assert elo.influences[0].move == pytest.approx(logs.influences[0].move * ELO_PER_LOG_ODDS)


def test_seeds_and_shuffling_do_not_change_what_is_found() -> None:
    table = _table(honest(np.random.default_rng(11), n_models=5))
    assert _checked(table) == _checked(table, seed=5)


def test_raters_of_real_votes_who_do_not_read(shared_data: Path) -> None:
    """LLMFAO: one rater chose the left answer 21 times of 21; another one model 106 times of 109."""
    votes = pl.read_csv(shared_data / "llmfao" / "crowd-comparisons.csv")
    frame = votes.select(
        model_a="left",
        model_b="right",
        outcome=pl.col("winner").replace_strict({"left": "a", "right": "b", "tie": "tie"}),
        rater=pl.col("worker").cast(pl.String),
        item=pl.col("prompt").cast(pl.String),
    )
    found, lines = _checked(VoteTable.of(frame))
    flagged = {(flag.rater, flag.check) for flag in found.raters}
    assert {("32", "side"), ("15", "loyalty"), ("20", "disagreement")} <= flagged
    assert len({rater for rater, _ in flagged}) <= 12
    assert found.n_raters == 124
    assert found.n_duplicates == 0
    assert found.flip is not None
    assert found.flip.n_votes is not None
    assert (lines["few votes"].status == "warning") == (found.flip.n_votes <= 10)


def test_a_side_that_is_always_the_baseline_is_no_preference_for_a_side() -> None:
    frame = pl.DataFrame(
        {
            "model_a": ["base"] * 90,
            "model_b": ["x", "y", "z"] * 30,
            "outcome": ["a", "a", "b"] * 20 + ["b", "a", "a"] * 10,
        }
    )
    _, lines = _checked(VoteTable.of(frame))
    assert lines["sides"].status == "not run"
    assert "one order only" in lines["sides"].finding


def test_what_could_not_have_been_seen_is_not_called_fine() -> None:
    few = {"model_a": ["x", "y"], "model_b": ["y", "x"], "outcome": ["a", "a"], "rater": ["u", "u"]}
    _, lines = _checked(VoteTable.of(pl.DataFrame(few)))
    assert lines["sides"].status == "not run"
    assert lines["raters"].status == "not run"
    one = {name: values * 30 for name, values in few.items()}
    _, lines = _checked(VoteTable.of(pl.DataFrame(one)))
    assert lines["sides"].status == "warning"  # 60 of 60
    assert lines["raters"].status == "not run"
    assert "nobody to compare with" in lines["raters"].finding


def test_the_votes_of_one_event_are_one_choice() -> None:
    """Six events of four answers, always the first one: six choices, not eighteen."""
    votes = honest(np.random.default_rng(2), ties=0.0)
    n = votes.rater.size
    _, alone = _checked(_table(votes, event=[f"e{k}" for k in range(n)]))
    _, together = _checked(_table(votes, event=[f"e{votes.rater[k]}-{k % 2}" for k in range(n)]))
    assert alone["raters"].status == "ok"
    assert together["raters"].status == "not run"  # two choices a rater are no ground for anything
