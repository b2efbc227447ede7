"""The history of a board: records, and which of them were separated from the one before."""

from datetime import datetime

import numpy as np
import polars as pl
import pytest

import evalstats as es

# Shares of 400 items, by the day of the run.
RUNS = {"first": (0.50, 1), "worse": (0.40, 2), "small": (0.52, 3), "large": (0.70, 4), "larger": (0.90, 5)}


def board(*, lower: bool = False, baseline: str | None = None) -> es.Leaderboard:
    rng = np.random.default_rng(0)
    ease = rng.random(400)
    rows = [
        {
            "item": f"q{i}",
            "model": name,
            "run": name,
            "benchmark": "b",
            "metric": "m",
            "status": "scored",
            "score": float(right),
        }
        for name, (share, _) in RUNS.items()
        for i, right in enumerate((0.5 * ease + 0.5 * rng.random(400) < share) != lower)
    ]
    data = es.from_frame(pl.DataFrame(rows), item="item", score="score", model="model", run="run")
    days = {name: datetime(2024, 1, day) for name, (_, day) in RUNS.items()}  # noqa: DTZ001 - a column of times in UTC
    runs = data.runs.with_columns(timestamp=pl.col("run").replace_strict(days).dt.replace_time_zone("UTC"))
    dated = es.EvalData(
        outcomes=data.outcomes, runs=runs.cast({"timestamp": data.runs["timestamp"].dtype}), metrics=data.metrics
    )
    return es.leaderboard(dated, higher_is_better=not lower, baseline=baseline)


@pytest.mark.parametrize("lower", [False, True])
def test_records_are_those_above_all_before_them(lower: bool) -> None:
    found = board(lower=lower)
    rows = found.records()
    assert [(row.name, row.before, row.day.day) for row in rows] == [
        ("first", None, 1),
        ("small", "first", 3),
        ("large", "small", 4),
        ("larger", "large", 5),
    ]
    assert [row.verdict for row in rows] == [None, "not separated", "better", "better"]
    scores = {row.name: row.estimate for row in found.rows}
    for row in rows[1:]:
        assert row.estimate == pytest.approx((scores[row.name] - scores[row.before]) * (-1 if lower else 1))
        assert row.conf_low < row.estimate < row.conf_high
        pair = next(pair for pair in found.pairs if {pair.first, pair.second} == {row.name, row.before})
        assert (row.p_adjusted, row.conf_high - row.conf_low) == (
            pair.p_adjusted,
            pytest.approx(pair.conf_high - pair.conf_low),
        )


def test_the_page_says_how_many_were_told_apart() -> None:
    headings = [section.heading for section in board().document().evidence]
    assert "2 of 3 records are separated from the one before" in headings


def test_against_one_baseline_most_records_are_not_compared() -> None:
    assert [row.verdict for row in board(baseline="first").records()] == [
        None,
        "not separated",
        "not compared",
        "not compared",
    ]


def test_without_days_there_are_no_records() -> None:
    data = es.from_frame(
        {"q": [*range(20)] * 2, "m": ["a"] * 20 + ["b"] * 20, "s": [1, 0] * 15 + [1] * 10},
        item="q",
        model="m",
        score="s",
    )
    assert [row.day for row in es.leaderboard(data).rows] == [None, None]
    assert es.leaderboard(data).records() == ()
