"""Watching a store: verdicts by model, what else changed, days and their zones, and what is refused."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.overview.changes import changes
from evalstats.analysis.overview.changes_result import Changes
from evalstats.document.terminal import to_text
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.plan import Plan
from evalstats.stats.score_drift import score_changes

START = datetime(2026, 1, 5, 6, tzinfo=UTC)
N = 200


def rows_of(
    model: str = "a", weeks: int = 8, *, drop: float = 0.0, at: int = 4, n: int = N, seed: int = 0, **more: object
) -> pl.DataFrame:
    """One run a week of one model; from week `at` on it does worse."""
    draw = np.random.default_rng(seed)
    p = draw.beta(3.0, 1.0, n)
    parts = [
        pl.DataFrame(
            {
                "item": [f"q{i}" for i in range(n)],
                "score": (draw.random(n) < p - drop * (week >= at)).astype(np.float64),
                "model": model,
                "run": f"{model}-{week}",
                "timestamp": START + timedelta(weeks=week),
            }
        )
        for week in range(weeks)
    ]
    return pl.concat(parts).with_columns(**{name: pl.lit(value) for name, value in more.items()})


def data_of(*frames: pl.DataFrame, benchmark: str = "@b") -> es.EvalData:
    return es.from_frame(
        pl.concat(frames, how="diagonal"), item="item", model="model", score="score", run="run", benchmark=benchmark
    )


@pytest.fixture(scope="module")
def watched() -> Changes:
    return changes(data_of(rows_of("a"), rows_of("b", drop=0.25, seed=1), rows_of("c", drop=-0.2, seed=2)))


def test_a_plan_names_the_metric_and_what_differs_on_purpose() -> None:
    first = rows_of("a").with_columns(metric=pl.lit("first"))
    both = pl.concat([first, first.with_columns(metric=pl.lit("second"))])
    data = es.from_frame(both, item="item", model="model", score="score", run="run", metric="metric", benchmark="@b")
    plan = Plan(primary={"b": "second"}, accept=("judge",), conf_level=0.9)
    found = changes(data, plan=plan)
    assert [row.metric for row in found.rows] == ["second"]
    assert (found.accept, found.conf_level) == (("judge",), 0.9)
    assert changes(data, metric="first", plan=plan, conf_level=0.99).conf_level == 0.99


def test_each_model_has_its_verdict_and_those_that_got_worse_stand_first(watched: Changes) -> None:
    assert [(row.name, row.verdict) for row in watched.rows] == [
        ("b", "dropped"),
        ("c", "rose"),
        ("a", "no drift shown"),
    ]
    row = watched.row("b")
    assert row.since == date(2026, 2, 2)
    assert row.first_flagged is not None
    assert row.since <= row.first_flagged <= row.last
    assert row.worse
    assert not watched.row("c").worse
    with pytest.raises(InputError, match="no model 'd'"):
        watched.row("d")


def test_the_numbers_are_those_of_the_statistic_at_the_adjusted_level(watched: Changes) -> None:
    frame = rows_of("b", drop=0.25, seed=1)
    scores = frame.pivot(on="run", index="item", values="score").drop("item").to_numpy()
    last = score_changes(scores, conf_level=1 - 0.05 / 3)[-1]
    row = watched.row("b")
    assert (row.estimate, row.conf_low, row.conf_high) == pytest.approx((last.estimate, last.conf_low, last.conf_high))
    assert row.p_adjusted == pytest.approx(min(1.0, 3 * (last.p_value or 1.0)))
    assert row.after is not None
    assert row.before is not None
    assert row.after - row.before == pytest.approx(row.estimate)
    assert watched.n_watched == 3


def test_scores_by_day_are_those_of_the_question_for_one_score(watched: Changes) -> None:
    one = watched.days_of(watched.row("a"))[2]
    own = rows_of("a").filter(pl.col("run") == "a-2")
    found = es.score(data_of(own), "a")
    assert isinstance(found, es.Score)
    assert (one.estimate, one.conf_low, one.conf_high) == pytest.approx(
        (found.estimate, found.conf_low, found.conf_high)
    )


def test_shuffled_rows_and_other_names_change_nothing() -> None:
    frame = pl.concat([rows_of("a"), rows_of("b", drop=0.25, seed=1)])
    found = changes(data_of(frame))
    again = changes(data_of(frame.sample(fraction=1.0, shuffle=True, seed=3)))
    assert again.rows == found.rows
    assert again.days == found.days
    swapped = changes(data_of(frame.with_columns(pl.col("model").replace({"a": "b", "b": "a"}))))
    assert [(row.name, row.verdict) for row in swapped.rows] == [("a", "dropped"), ("b", "no drift shown")]
    assert swapped.row("a").estimate == found.row("b").estimate


def test_right_and_wrong_turned_round_turns_the_verdict() -> None:
    frame = rows_of("b", drop=0.25, seed=1)
    found = changes(data_of(frame))
    other = changes(data_of(frame.with_columns(score=1.0 - pl.col("score"))))
    assert [found.rows[0].verdict, other.rows[0].verdict] == ["dropped", "rose"]
    assert found.rows[0].estimate == pytest.approx(-(other.rows[0].estimate or 0.0))
    lower = data_of(frame.with_columns(score=1.0 - pl.col("score"))).with_metric(higher_is_better=False)
    assert changes(lower).rows[0].worse


def test_another_judge_or_prompt_is_no_drift_and_watching_begins_anew() -> None:
    before = rows_of("a", judge="one").filter(pl.col("timestamp") < START + timedelta(weeks=4))
    after = rows_of("a", drop=0.3, judge="two").filter(pl.col("timestamp") >= START + timedelta(weeks=4))
    found = changes(data_of(before, after))
    row = found.rows[0]
    assert row.verdict == "no drift shown"
    assert (row.first, row.n_days) == (date(2026, 2, 2), 4)
    days = found.days_of(row)
    assert [day.watched for day in days] == [False] * 4 + [True] * 4
    assert days[4].changes == ("judge changed from one to two",)
    assert "judge changed from one to two" in to_text(found.document(), full=True)
    agreed = changes(data_of(before, after), accept=["judge"])
    assert agreed.rows[0].verdict == "dropped"
    assert agreed.rows[0].beside == ("judge changed from one to two",)


def test_another_harness_release_is_told_and_the_days_are_compared_all_the_same() -> None:
    data = data_of(rows_of("a"))
    early = pl.col("run").is_in([f"a-{week}" for week in range(4)])
    version = pl.when(early).then(pl.lit("0.3.1")).otherwise(pl.lit("0.3.2"))
    runs = data.runs.with_columns(harness=pl.lit("h"), harness_version=version)
    found = changes(replace(data, runs=runs))
    assert found.rows[0].n_days == 8
    assert [len(day.changes) for day in found.days] == [0, 0, 0, 0, 1, 0, 0, 0]
    cut = replace(data, runs=data.runs.with_columns(task_version=version))
    assert changes(cut).rows[0].n_days == 4


def test_items_that_come_and_go_are_compared_where_they_are_shared() -> None:
    frame = rows_of("a", n=300)
    number = pl.col("item").str.slice(1).cast(pl.Int64)
    late = pl.col("timestamp") >= START + timedelta(weeks=4)
    # Hard items come in later: a plain mean falls, and no item does worse.
    added = pl.concat([frame.filter(number < 200), frame.filter(late & (number >= 200)).with_columns(score=0.0)])
    found = changes(data_of(added))
    row = found.rows[0]
    days = found.days_of(row)
    assert days[-1].estimate is not None
    assert days[0].estimate is not None
    assert days[-1].estimate < days[0].estimate - 0.15
    assert row.verdict == "no drift shown"
    assert days[4].changes == ("items: 100 new, 200 stay",)
    assert row.n_items == 200
    others = pl.concat([frame.filter(~late & (number < 150)), frame.filter(late & (number >= 150))])
    assert changes(data_of(others)).rows[0].n_days == 4


def test_one_day_is_too_few_and_two_can_be_compared() -> None:
    found = changes(data_of(rows_of("a", 1), rows_of("b", 2, drop=0.4, at=1, seed=1)))
    assert [(row.name, row.verdict) for row in found.rows] == [("b", "dropped"), ("a", "too few")]
    assert found.row("a").reason == "one day with runs, so there is nothing to compare it with"
    assert found.n_watched == 1
    lone = changes(data_of(rows_of("a", 1)))
    assert lone.document().label == "too few runs"
    assert lone.document().figures


def test_few_items_give_no_interval() -> None:
    row = changes(data_of(rows_of("a", n=8))).rows[0]
    assert row.verdict == "too few"
    assert row.reason is not None
    assert row.reason.startswith("8 items have scores on both sides")
    assert row.conf_low is None
    said = changes(data_of(rows_of("a", n=8))).document()
    assert said.label == "too few runs"
    assert said.headline.startswith("No model can be compared: 8 items")


def test_a_day_with_few_of_the_items_is_no_other_set_of_questions() -> None:
    frame = rows_of("a", drop=0.3)
    number = pl.col("item").str.slice(1).cast(pl.Int64)
    found = changes(data_of(frame.filter((pl.col("run") != "a-2") | (number < 10))))
    assert (found.rows[0].n_days, found.rows[0].verdict) == (8, "dropped")
    assert [day.changes for day in found.days[2:4]] == [("items: 190 gone, 10 stay",), ("items: 190 new, 10 stay",)]


def test_days_that_differ_as_a_whole_are_told_and_one_bad_day_is_no_since() -> None:
    # Every third day all items are answered alike less often: no lasting change.
    bad = pl.col("run").is_in(["a-1", "a-4", "a-7"])
    worse = rows_of("a", drop=0.25, at=0).filter(bad)
    found = changes(data_of(pl.concat([rows_of("a").filter(~bad), worse])))
    assert found.rows[0].verdict == "no drift shown"
    assert found.rows[0].dispersion > 2.0
    assert any("Days differ as a whole for a" in note.text for note in found.notes)
    once = changes(data_of(rows_of("a", drop=0.4, at=7))).document()
    assert once.headline == "a dropped on 2026-02-23"
    assert any("run again before you act" in action for action in once.actions)


def test_runs_of_one_day_are_taken_together_and_gaps_between_days_do_not_matter() -> None:
    frame = rows_of("a")
    twice = frame.with_columns(run=pl.col("run") + "-again", timestamp=pl.col("timestamp") + timedelta(hours=2))
    found = changes(data_of(pl.concat([frame, twice])))
    assert [day.estimate for day in found.days] == [day.estimate for day in changes(data_of(frame)).days]
    assert [len(day.runs) for day in found.days] == [2] * 8
    gap = frame.with_columns(
        timestamp=pl.when(pl.col("run") == "a-7").then(pl.col("timestamp") + timedelta(weeks=30)).otherwise("timestamp")
    )
    assert changes(data_of(gap)).rows[0].estimate == changes(data_of(frame)).rows[0].estimate


def test_a_day_is_that_of_utc() -> None:
    late = datetime(2026, 1, 5, 22, 30, tzinfo=timezone(timedelta(hours=-5)))
    frame = rows_of("a", 2)
    moved = frame.with_columns(
        timestamp=pl.when(pl.col("run") == "a-0").then(pl.lit(late.astimezone(UTC))).otherwise(pl.col("timestamp"))
    )
    assert [day.day for day in changes(data_of(moved)).days] == [date(2026, 1, 6), date(2026, 1, 12)]
    written = frame.with_columns(
        timestamp=pl.when(pl.col("run") == "a-0")
        .then(pl.lit(late.isoformat()))
        .otherwise(pl.lit("2026-01-12T06:00:00Z"))
    )
    assert [day.day for day in changes(data_of(written)).days] == [date(2026, 1, 6), date(2026, 1, 12)]


def test_runs_without_a_date_are_named_and_none_at_all_is_refused() -> None:
    frame = rows_of("a")
    some = frame.with_columns(timestamp=pl.when(pl.col("run") != "a-3").then("timestamp"))
    found = changes(data_of(some))
    assert found.rows[0].n_days == 7
    assert [note.text for note in found.notes if note.kind == "left_out"] == ["1 run without a date is dropped: a-3"]
    with pytest.raises(CannotAnswerError, match="none of the 8 runs has a date"):
        changes(data_of(frame.drop("timestamp")))
    with pytest.raises(CannotAnswerError, match="nothing to watch"):
        changes(es.EvalData())


def test_rows_that_stand_twice_count_once_and_contradictions_are_named() -> None:
    data = data_of(rows_of("a"))
    copied = replace(data, outcomes=pl.concat([data.outcomes, data.outcomes.head(5)]))
    found = changes(copied)
    assert found.rows == changes(data).rows
    assert any("5 rows that stand twice in a run count once" in note.text for note in found.notes)
    turned = data.outcomes.head(5).with_columns(score=1.0 - pl.col("score"))
    other = changes(replace(data, outcomes=pl.concat([data.outcomes, turned])))
    assert any("10 rows give a trial of a run several scores" in note.text for note in other.notes)


def test_lost_rows_are_not_wrong_answers_and_many_of_them_are_told() -> None:
    frame = rows_of("a")
    lost = (pl.col("run") == "a-7") & (pl.col("item").str.slice(1).cast(pl.Int64) < 60)
    found = changes(data_of(frame.with_columns(score=pl.when(~lost).then("score"))))
    day = found.days[-1]
    assert (day.n_items, day.n_lost) == (140, 60)
    assert any(note.kind == "missing" and "30% of a's rows of 2026-02-23" in note.text for note in found.notes)
    assert found.rows[0].verdict == "no drift shown"


def test_a_reference_is_a_day() -> None:
    data = data_of(
        rows_of("b", drop=0.25, seed=1),
        rows_of("late", 2, seed=2).with_columns(pl.col("timestamp") + timedelta(weeks=20)),
    )
    found = changes(data, since="2026-01-27")
    assert found.row("b").since == date(2026, 2, 2)
    assert found.row("late").reason == "no comparable day up to 2026-01-27"
    assert texts_for(found.method)
    early = changes(data, since="2025-01-01", models=["b"]).document()
    assert early.headline == "No model can be compared: no comparable day up to 2025-01-01"
    with pytest.raises(InputError, match="give a day as 2026-01-31"):
        changes(data, since="last week")


def test_clusters_widen_the_interval_and_must_describe_items() -> None:
    block = pl.col("item").str.slice(1).cast(pl.Int64) // 5
    draw = np.random.default_rng(5)
    mood = pl.DataFrame(
        [{"run": f"a-{w}", "block": b, "up": float(draw.random() < 0.5)} for w in range(8) for b in range(40)]
    )
    frame = rows_of("a").with_columns(block=block).join(mood, on=["run", "block"]).with_columns(score="up").drop("up")
    plain, grouped = (changes(data_of(frame), cluster=name).rows[0] for name in (None, "block"))
    assert grouped.n_clusters == 40
    assert plain.conf_low is not None
    assert grouped.conf_low is not None
    assert (grouped.estimate or 0.0) - grouped.conf_low > 1.5 * ((plain.estimate or 0.0) - plain.conf_low)
    with pytest.raises(InputError, match="no single level"):
        changes(data_of(frame.with_columns(odd=pl.col("run"))), cluster="odd")


def test_benchmarks_stand_apart_and_one_whose_metric_is_open_is_named() -> None:
    one, two = (
        rows_of("a").with_columns(benchmark=pl.lit("x")),
        rows_of("a", drop=0.3, seed=1).with_columns(benchmark=pl.lit("y"), run=pl.col("run") + "-y"),
    )
    data = data_of(one, two, benchmark="benchmark")
    found = changes(data)
    assert [(row.benchmark, row.verdict) for row in found.rows] == [("y", "dropped"), ("x", "no drift shown")]
    assert list(found.document().figures) == ["scores-1", "scores-2"]
    with pytest.raises(InputError, match="no metric 'nothing'"):
        changes(data, metric="nothing")
    with pytest.raises(InputError, match="no model 'z'"):
        changes(data, models=["z"])


def test_it_is_told_in_some_fifteen_lines_and_saved(watched: Changes, tmp_path: object) -> None:
    lines = to_text(watched.document()).splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 80
    assert "2 scores" not in lines[0]
    assert "b dropped since 2026-02-02 and c rose since 2026-02-02" in " ".join(lines)
    assert "Bonferroni" in watched.explain()
    assert type(watched).from_dict(watched.to_dict()) == watched
    assert watched.to_frame().height == 24
    assert watched.changes_frame()["verdict"].to_list() == ["dropped", "rose", "no drift shown"]
    assert watched.to_frame().schema["day"] == pl.Date()


def test_a_change_that_went_away_again_is_told() -> None:
    bad = rows_of("a", 24, drop=0.35, at=0, n=100).filter(pl.col("run") == "a-4")
    frame = pl.concat([rows_of("a", 24, n=100).filter(pl.col("run") != "a-4"), bad])
    found = changes(data_of(frame))
    assert (found.rows[0].verdict, found.rows[0].first_flagged) == ("no drift shown", date(2026, 2, 2))
    assert "a: flagged on 2026-02-02" in to_text(found.document(), full=True)


def test_of_many_models_the_first_are_drawn() -> None:
    frame = pl.concat([rows_of(f"m{k:02}", 2, n=20, seed=k) for k in range(15)])
    said = changes(data_of(frame)).document()
    assert len(set(said.figures["scores"].rows["model"])) == 12
    assert "12 of 15 models are drawn" in said.figures["scores"].caption
    assert len(said.tables["models"].rows) == 15


def test_names_from_files_are_text_everywhere() -> None:
    hostile = "<script>alert(1)</script>"
    found = changes(data_of(rows_of(hostile, drop=0.3), rows_of("[x](javascript:1)\x1b[2J", seed=1)))
    assert hostile not in found.to_html()
    assert "\x1b" not in to_text(found.document(), full=True)


@pytest.mark.slow
def test_five_models_without_drift_are_seldom_flagged_at_any_look() -> None:
    flagged = 0
    for seed in range(60):
        frames = [rows_of(name, 12, n=80, seed=1000 * seed + k) for k, name in enumerate("abcde")]
        flagged += any(row.first_flagged is not None for row in changes(data_of(*frames)).rows)
    assert flagged / 60 <= 0.05


def test_models_that_changed_on_one_day_share_a_line_of_what_to_do() -> None:
    together = changes(data_of(rows_of("a", drop=0.3), rows_of("b", drop=0.3, seed=1))).document()
    assert len(together.actions) == 1
    assert together.actions[0].startswith(("a and b, 2026-02-02: ", "b and a, 2026-02-02: "))
    apart = changes(data_of(rows_of("a", drop=0.3), rows_of("b", drop=0.3, at=5, seed=1))).document()
    assert len(apart.actions) == 2
