"""Micro and macro answer differently: both stand on the first screen, and `audit` finds it."""

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.loaders.frames import from_frame
from evalstats.schema.data import EvalData
from tests.analysis.builders import printed

SIZES = {"law": 900, "maths": 30, "art": 30, "physics": 30}


def turned(
    column: str = "subject", *, metrics: tuple[str, ...] = ("score",), sizes: dict[str, int] = SIZES
) -> EvalData:
    """b is better in the large level by a tenth, and worse in the small ones by a fifth."""
    rng = np.random.default_rng(2)
    rows: list[dict[str, object]] = []
    for level, n in sizes.items():
        for i in range(n):
            u = rng.random()
            for model, p in (("a", 0.5 if level == "law" else 0.8), ("b", 0.6 if level == "law" else 0.55)):
                row = {"q": f"{level}{i}", "model": model, column: level}
                rows.extend({**row, "metric": metric, "score": int(u < p)} for metric in metrics)
    return from_frame(pl.DataFrame(rows), item="q", score="score", model="model", metric="metric")


@pytest.mark.parametrize("column", ["subject", "task"])
def test_both_averages_stand_on_the_first_screen(column: str) -> None:
    data = turned(column)
    micro, macro = compare(data, "a", "b"), compare(data, "a", "b", average="macro", over=column)
    assert (micro.verdict, macro.verdict) == ("better", "worse")
    (other,) = micro.other_averages
    assert (other.kind, other.verdict, other.agrees) == ("macro", "worse", False)
    assert (other.estimate, other.conf_low, other.p_value) == pytest.approx(
        (macro.estimate, macro.conf_low, macro.p_value)
    )
    shown = " ".join(printed(micro, full=False).split())
    assert "b is better than a; with" in shown
    assert "weighted equally it is worse" in shown
    assert "micro average over 4" in shown
    assert "CI " in shown.split("macro average")[1]
    (back,) = macro.other_averages
    assert (back.kind, back.verdict, back.estimate) == ("micro", "better", pytest.approx(micro.estimate))
    assert "with every item weighted equally it is better" in " ".join(printed(macro, full=False).split())


@pytest.mark.parametrize("column", ["subject", "category", "language", "task"])
def test_the_audit_finds_it(column: str) -> None:
    found = es.audit(turned(column))
    (average,) = [each for each in found.findings if each.kind == "average"]
    assert average.effect == "flips"
    flip = average.shifts[0].flips[0]
    assert {flip.verdict_before, flip.verdict_after} == {"better", "worse"}
    assert found.document().label != "holds"


def test_the_board_names_the_other_leader() -> None:
    found = leaderboard(turned())
    assert found.rows[0].name == "b"
    (other,) = found.other_leaders
    assert (other.leader, other.best) == ("a", ("a",))
    assert other.estimate == pytest.approx(leaderboard(turned(), average="macro").row("a").estimate)
    shown = " ".join(printed(found, full=False).split())
    assert "a leads with subjects weighted equally" in shown
    assert "micro average over 4 subjects of 30 to 900 items" in shown
    back = leaderboard(turned(), average="macro")
    assert [each.leader for each in back.other_leaders] == ["b"]


def test_the_board_says_where_the_other_average_alone_names_one_best() -> None:
    # b gains 90 and loses 99 of 650 items (p .51); by levels it changes by 16, -60, -60 and -58 pp.
    flips = {"law": (500, 90, 10), "art": (50, 0, 30), "logic": (50, 0, 30), "trivia": (50, 0, 29)}
    rows = [
        {"q": f"{level}{i}", "model": model, "score": int(right), "subject": level}
        for level, (n, gained, lost) in flips.items()
        for i in range(n)
        for model, right in (("a", i >= gained), ("b", not gained <= i < gained + lost))
    ]
    data = from_frame(pl.DataFrame(rows), item="q", score="score", model="model")
    found = leaderboard(data)
    assert found.rows[0].name == "a"
    assert found.pairs[0].p_value == pytest.approx(0.5127, abs=5e-5)  # (9 / 189**0.5) normal
    (other,) = found.other_leaders
    assert other.best == ("a",)
    assert "only a could be best with subjects weighted equally" in " ".join(printed(found, full=False).split())


def test_each_of_several_metrics_says_it() -> None:
    found = compare(turned(metrics=("score", "other")), "a", "b", metric=["score", "other"])
    assert all(not row.other_averages[0].agrees for row in found.rows)
    assert "weighted equally" in " ".join(printed(found, full=False).split())


def test_levels_of_one_size_are_no_news() -> None:
    found = compare(turned(sizes=dict.fromkeys(SIZES, 100)), "a", "b")
    assert not found.average
    assert not found.other_averages
    assert not [each for each in es.audit(turned(sizes=dict.fromkeys(SIZES, 100))).findings if each.kind == "average"]


def test_an_average_that_agrees_is_named_and_no_caution() -> None:
    rows = [
        {"q": f"{level}{i}", "model": model, "score": int(i % 10 < good), "subject": level}
        for level, n in (("law", 300), ("art", 100))
        for i in range(n)
        for model, good in (("a", 4), ("b", 7))
    ]
    data = from_frame(pl.DataFrame(rows), item="q", score="score", model="model")
    found = compare(data, "a", "b")
    assert [row.agrees for row in found.other_averages] == [True]
    shown = printed(found, full=False)
    assert "micro average over 2 subjects of 100 to 300 items" in " ".join(shown.split())
    assert "weighted equally" not in shown
    assert not leaderboard(data).other_leaders


def test_a_factor_that_was_named_counts_as_declared() -> None:
    data = turned("shelf")
    assert not compare(data, "a", "b").other_averages
    assert [row.factor for row in compare(data, "a", "b", by="shelf").other_averages] == ["shelf"]


def test_two_names_of_one_partition_are_said_once() -> None:
    data = turned()
    frame = data.outcomes.select("item", "model", "score", "subject").with_columns(domain=pl.col("subject"))
    doubled = from_frame(frame, item="item", score="score", model="model")
    assert len(compare(doubled, "a", "b").other_averages) == 1
