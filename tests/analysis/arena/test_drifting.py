"""What is said of change over time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.arena.fit_checks import drift_of
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS, fit_strengths
from tests.analysis.arena.vote_tables import days, some_votes, vote_table

HALF_YEAR = 182


def over_half_a_year(seed=0, *, n=12_000, rise=0.0, span=HALF_YEAR, **more):
    """Votes over some days; model m0 rises by `rise` log-units in all."""
    when = np.random.default_rng(1000 + seed).integers(0, span, n)

    def extra(first, second):
        return rise * (when / span - 0.5) * ((first == 0) * 1.0 - (second == 0))

    return some_votes(seed, n=n, extra=extra, ties=0.0, timestamp=days(when), **more)


def drift(table, **more):
    return drift_of(table, fit_strengths(table.rows), **more)


def test_steady_models_are_called_steady():
    found, line = drift(over_half_a_year(1))
    assert (found.period, found.n_periods, found.reason) == ("month", 6, None)
    assert line.check == "drift"
    assert line.status == "ok"
    assert "no change is seen over 6 months" in line.finding
    assert "a steady change shows from about" in line.finding
    assert not any(each.flagged for each in found.models)
    assert {each.model for each in found.models} == {f"m{k}" for k in range(5)}


def test_a_rising_model_is_named():
    found, line = drift(over_half_a_year(2, rise=0.8))
    assert line.status == "warning"
    assert "m0 rises by" in line.finding
    first = found.models[0]
    assert (first.model, first.flagged) == ("m0", True)
    # 0.8 log-units in six months, in points a month.
    assert first.slope == pytest.approx(ELO_PER_LOG_ODDS * 0.8 / 6, abs=4 * first.std_error)
    assert [each.model for each in found.models if each.flagged] == ["m0"]


def test_ratings_of_periods_are_against_the_same_models():
    found, _ = drift(over_half_a_year(3, rise=0.8))
    months = sorted({row.period for row in found.ratings})
    assert months == [f"2024-0{k}" for k in range(1, 7)]
    for month in months:
        rows = [row for row in found.ratings if row.period == month]
        assert sum(row.estimate for row in rows) == pytest.approx(0.0, abs=1e-6)
        assert sum(row.n_votes for row in rows) > 0
        assert all(row.conf_low < row.estimate < row.conf_high for row in rows)
    first, last = (next(r for r in found.ratings if (r.period, r.model) == (m, "m0")) for m in (months[0], months[-1]))
    assert last.estimate - first.estimate > 2 * first.std_error


def test_few_months_are_taken_as_weeks():
    found, _ = drift(over_half_a_year(4, span=40))
    assert found.period == "week"
    assert found.n_periods == 6
    assert found.ratings[0].period == "2024-W01"


def test_months_without_votes_are_counted_as_time():
    """Votes of January, February and July only: the slope is by month, not by pair of periods."""
    rng = np.random.default_rng(5)
    late = rng.choice([0, 1, 6], 12_000)
    table = some_votes(
        5,
        n=12_000,
        ties=0.0,
        extra=lambda a, b: 1.2 * late / 6 * ((a == 0) * 1.0 - (b == 0)),
        timestamp=[datetime(2024, 1 + int(k), 5, tzinfo=UTC) for k in late],
    )
    found, _ = drift(table)
    assert found.n_periods == 3
    assert found.models[0].slope == pytest.approx(ELO_PER_LOG_ODDS * 1.2 / 6, abs=4 * found.models[0].std_error)


def test_votes_without_a_time_are_left_out_and_counted():
    table = over_half_a_year(6)
    times = table.votes["timestamp"].to_list()
    times[:100] = [None] * 100
    found, _ = drift(replace(table, votes=table.votes.with_columns(pl.Series("timestamp", times))))
    assert "100 votes without a time dropped" in found.method


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"votes": None}, "votes were merged"),
        ({"votes": pl.DataFrame({"model_a": ["x"]})}, "no timestamp"),
    ],
)
def test_no_times_no_answer(change, reason):
    found, line = drift(replace(over_half_a_year(8, n=500), **change))
    assert reason in found.reason
    assert line.status == "not run"
    assert reason in line.finding


def test_one_week_is_no_time():
    found, line = drift(over_half_a_year(9, n=500, span=3))
    assert line.status == "not run"
    assert "all votes are of one week" in found.reason


def test_few_clusters_say_so():
    found, line = drift(over_half_a_year(10, n=2000, clusters={"rater": np.arange(2000) % 4}))
    assert found.p_value is None
    assert line.status == "not run"
    assert "come from 4 clusters" in line.finding
    # Ratings are given, without the errors that four raters cannot give.
    assert all(row.estimate is not None and row.std_error is None for row in found.ratings)


def test_models_that_never_share_all_periods_have_no_common_measure():
    when = np.repeat([0, 40, 70], [300, 150, 150])
    rng = np.random.default_rng(11)
    first = np.where(when == 0, 0, 2) + rng.integers(0, 2, 600)
    second = np.where(first % 2 == 0, first + 1, first - 1)
    both = np.arange(600) % 50 == 0
    second = np.where(both & (first == 1), 2, second)
    outcome = np.where(both, 2, rng.integers(0, 2, 600))
    found, _ = drift(vote_table(first, second, outcome, timestamp=days(when)))
    assert found.ratings == ()
    assert "no two models are rated in every month" in found.reason


def test_a_poor_week_does_not_cost_the_others_their_ratings():
    """In the last week two models met; the others are still measured against all five."""
    table = over_half_a_year(15, n=3000, span=21)
    times, poor = table.votes["timestamp"].to_list(), []
    for k in range(3000):
        if {int(table.first[k]), int(table.second[k])} == {0, 1} and len(poor) < 20:
            poor.append(k)
            times[k] = days([25])[0]
    found, _ = drift(replace(table, votes=table.votes.with_columns(pl.Series("timestamp", times))))
    assert found.n_periods == 4
    last = [row for row in found.ratings if row.period == "2024-W04"]
    assert {row.model for row in last} == {"m0", "m1"}
    assert all(row.estimate is None for row in last)
    assert sum(row.estimate is not None for row in found.ratings) == 15


def test_other_zones_and_naive_times():
    table = over_half_a_year(12, n=3000)
    naive = table.votes.with_columns(pl.col("timestamp").dt.replace_time_zone(None))
    zoned = table.votes.with_columns(pl.col("timestamp").dt.convert_time_zone("Asia/Tokyo"))
    one, two, three = (drift(replace(table, votes=votes))[0] for votes in (table.votes, naive, zoned))
    assert one == two == three


def test_points_scale_everything():
    table = over_half_a_year(13, n=3000, rise=0.5)
    elo, odds = drift(table)[0], drift(table, points=1.0)[0]
    assert elo.models[0].slope == pytest.approx(ELO_PER_LOG_ODDS * odds.models[0].slope)
    assert elo.ratings[3].std_error == pytest.approx(ELO_PER_LOG_ODDS * odds.ratings[3].std_error)
    assert elo.p_value == odds.p_value


def test_weeks_begin_on_mondays():
    sunday = datetime(2024, 12, 29, 23, tzinfo=UTC)
    table = some_votes(14, n=600, timestamp=[sunday + timedelta(hours=2 * (k % 2)) for k in range(600)])
    found, _ = drift(table)
    assert sorted({row.period for row in found.ratings}) == ["2024-W52", "2025-W01"]


@pytest.mark.slow
def test_false_alarms_of_both_questions_together():
    alarms = [drift(over_half_a_year(seed, n=1500))[1].status == "warning" for seed in range(150)]
    assert np.mean(alarms) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)
