"""EvalData: putting parts together, choosing rows, finding a factor by the source's own name."""

from typing import Any

import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.schema.data import EvalData, Problem, combine
from evalstats.schema.tables import frame_from_rows


def part(run: str = "r", *, factor_names: list[str] | None = None, **outcome: Any) -> EvalData:
    row = {
        "run": run,
        "model": "m",
        "system": "m",
        "benchmark": "b",
        "item": "i",
        "metric": "acc",
        "trial": 0,
        **outcome,
    }
    return EvalData(
        outcomes=frame_from_rows([{"score": 1.0, "status": "scored", **row}], "outcomes"),
        runs=frame_from_rows([{"run": run, "model": "m", "benchmark": "b", "factor_names": factor_names}], "runs"),
        metrics=frame_from_rows([{"benchmark": "b", "metric": "acc", "kind": "binary"}], "metrics"),
    )


def test_factors_that_a_part_lacks_are_null_there() -> None:
    data = combine([part("r1", difficulty="hard"), part("r2")])
    assert data.outcomes.select("run", "difficulty").rows() == [("r1", "hard"), ("r2", None)]
    assert data.metrics.height == 1


def test_a_run_that_is_read_twice_counts_once() -> None:
    data = combine([part("r"), part("r")])
    assert (data.outcomes.height, data.runs.height) == (1, 1)
    assert data.problems == (Problem(path="r", message="read twice; the second copy is ignored", severity="note"),)


def test_metrics_of_all_parts_are_merged() -> None:
    narrow, wide = part("r1"), part("r2", score=0.5)
    wider = EvalData(
        outcomes=wide.outcomes,
        runs=wide.runs,
        metrics=frame_from_rows([{"benchmark": "b", "metric": "acc", "kind": "bounded"}], "metrics"),
    )
    assert combine([narrow, wider]).metrics["kind"].to_list() == ["bounded"]


def test_contradicting_metrics_are_a_note() -> None:
    sides = [
        EvalData(
            metrics=frame_from_rows(
                [{"benchmark": "b", "metric": "acc", "kind": "binary", "higher_is_better": better}], "metrics"
            )
        )
        for better in (True, False, None)
    ]
    problems = combine(sides).problems
    assert [problem.severity for problem in problems] == ["note"]
    assert "more is better, and less is better" in problems[0].message


def test_rows_are_chosen_by_level_and_by_the_sources_own_name() -> None:
    data = combine(
        [
            part("r1", factor_names=["dimension=scenario"], scenario="tone"),
            part("r2", factor_names=["dimension=scenario"], scenario="facts"),
        ]
    )
    assert data.where(scenario="tone").outcomes["run"].to_list() == ["r1"]
    assert data.where(dimension=["tone", "facts"]).outcomes.height == 2
    assert data.factor("dimension") == "scenario"


def test_an_unknown_level_or_factor_lists_what_there_is() -> None:
    data = combine([part("r1", scenario="tone"), part("r2", scenario="facts")])
    with pytest.raises(InputError, match="scenario has no level 'speed'; it has 'facts', 'tone'"):
        data.where(scenario="speed")
    with pytest.raises(InputError, match=r"there is no column 'speed'.*more than one level: run, scenario"):
        data.factor("speed")


def test_nothing_combines_to_nothing() -> None:
    data = combine([])
    assert data.outcomes.height == 0
    assert data.models() == ()


def test_models_are_sorted() -> None:
    assert combine([part("1", model="z"), part("2", model="a")]).models() == ("a", "z")


def test_tables_are_found_by_name() -> None:
    data = part()
    assert isinstance(data.table("outcomes"), pl.DataFrame)
    assert data.table("runs") is data.runs
