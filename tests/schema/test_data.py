"""EvalData: putting parts together, choosing rows, finding a factor by the source's own name."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData, Problem, combine, same_votes
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
    with pytest.raises(InputError, match=r"there is no column 'speed'.*more than one level: scenario"):
        data.factor("speed")


def test_the_order_of_conditions_does_not_matter() -> None:
    data = combine([part(run, scenario=run, item=item) for run, item in (("r1", "a"), ("r1", "b"), ("r2", "b"))])
    for names in (["scenario", "item"], ["item", "scenario"]):
        levels = {"scenario": "r2", "item": ["a", "b"]}
        assert data.where(**{name: levels[name] for name in names}).outcomes["item"].to_list() == ["b"]
        levels = {"scenario": "r2", "item": "a"}
        with pytest.raises(
            InputError, match=f"no row has {', '.join(f'{name}={levels[name]}' for name in names)}; leave"
        ):
            data.where(**{name: levels[name] for name in names})


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


def votes(n: int, winner: str = "model_a", **more: object) -> list[dict[str, Any]]:
    return [{"model_a": "m", "model_b": f"n{k % 7}", "winner": winner, "turn": 1, **more} for k in range(n)]


def write(path: Path, records: list[dict[str, Any]]) -> None:
    if path.suffix == ".csv":
        pl.DataFrame(records).write_csv(path)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))


def told(folder: Path) -> list[str]:
    return [str(problem) for problem in read(folder).problems if "also stand in" in problem.message]


def test_csv_and_json_lines_of_the_same_votes_are_told(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", votes(30))
    write(tmp_path / "b.jsonl", votes(30))
    assert len(told(tmp_path)) == 1
    assert "30 of its 30 votes also stand in" in told(tmp_path)[0]
    assert "read only one" in told(tmp_path)[0]


def test_a_part_of_another_file_is_told(tmp_path: Path) -> None:
    write(tmp_path / "all.csv", votes(60))
    write(tmp_path / "some.jsonl", votes(40))
    assert len(told(tmp_path)) == 1


@pytest.mark.parametrize(
    "other", [votes(30, "model_b"), votes(30, judge="other-judge"), votes(10), votes(30, user_id="u")]
)
def test_other_votes_are_not(tmp_path: Path, other: list[dict[str, Any]]) -> None:
    write(tmp_path / "a.csv", votes(30))
    write(tmp_path / "b.jsonl", other)
    assert told(tmp_path) == []


def test_equal_bytes_are_read_once_and_not_told_again(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    write(tmp_path / "a.jsonl", votes(30))
    write(tmp_path / "copy" / "a.jsonl", votes(30))
    assert read(tmp_path).comparisons.height == 30
    assert told(tmp_path) == []


def test_an_empty_table() -> None:
    assert same_votes(EvalData().comparisons) == []


def test_real_copies(shared_data: Path) -> None:
    """The sample of LMArena is there as CSV and as JSON Lines; LLMFAO's judges of crowd pairs are part of all pairs."""
    sample = told(shared_data / "lmarena_140k_sample")
    assert len(sample) == 1
    assert "100 of its 100 votes" in sample[0]
    crowd = told(shared_data / "llmfao")
    assert ["2,139 of its 2,139 votes" in message for message in crowd] == [True, True]
