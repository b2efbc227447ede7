"""The shipped figures as files: right keys, and read back they are the shipped tables."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from evalstats import datasets
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from evalstats.simulate.benchmark_files import write_tau_airline, write_tenacious_traces


def test_tenacious_rows_have_the_keys_and_types_of_the_format(tmp_path: Path) -> None:
    path = write_tenacious_traces(tmp_path / "deep" / "folder")
    assert path.name == "held_out_traces.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 43
    types = {
        "split": str,
        "task_id": str,
        "dimension": str,
        "task_type": str,
        "source_mode": str,
        "baseline_chosen_score": float,
        "baseline_rejected_score": float,
        "baseline_correct": bool,
        "trained_chosen_score": float,
        "trained_rejected_score": float,
        "trained_correct": bool,
        "delta_correct": int,
    }
    for row in rows:
        assert {key: type(value) for key, value in row.items()} == types
        for critic in ("baseline", "trained"):
            assert row[f"{critic}_correct"] == (row[f"{critic}_chosen_score"] > row[f"{critic}_rejected_score"])
        assert row["delta_correct"] == row["trained_correct"] - row["baseline_correct"]


def test_all_baseline_errors_are_ties_as_in_the_published_file(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in write_tenacious_traces(tmp_path).read_text(encoding="utf-8").splitlines()]
    wrong = [row for row in rows if not row["baseline_correct"]]
    assert len(wrong) == 21
    assert all(row["baseline_chosen_score"] == row["baseline_rejected_score"] for row in wrong)


def test_tau_rows_have_the_keys_and_the_order_of_the_format(tmp_path: Path) -> None:
    path = write_tau_airline(tmp_path)
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "gpt-4o-airline.json"
    assert [(row["task_id"], row["trial"]) for row in rows] == [
        (task, trial) for trial in range(4) for task in range(50)
    ]
    for row in rows:
        assert list(row) == ["task_id", "reward", "info", "traj", "trial"]
        assert row["reward"] in (0.0, 1.0)
        assert row["info"]["reward_info"]["reward"] == row["reward"]
    assert sum(row["reward"] for row in rows) == 84  # 0.42 of 200


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for write in (write_tau_airline, write_tenacious_traces):
        assert write(tmp_path / "a").read_bytes() == write(tmp_path / "b").read_bytes()


def _answers(data: EvalData) -> list[tuple[object, ...]]:
    columns = ["model", "benchmark", "task", "item", "trial", "metric", "score", "status", "scenario"]
    primary = data.metrics.filter(pl.col("primary"))["metric"].to_list()
    return sorted(data.outcomes.filter(pl.col("metric").is_in(primary)).select(columns).rows(), key=str)


@pytest.mark.parametrize(
    ("write", "name"), [(write_tau_airline, "tau_airline"), (write_tenacious_traces, "tenacious_held_out")]
)
def test_the_loader_reads_the_file_as_the_shipped_table(
    write: Callable[[Path], Path], name: str, tmp_path: Path
) -> None:
    data = read(write(tmp_path), strict=True)
    shipped = datasets.load(name)
    assert _answers(data) == _answers(shipped)
    assert data.factor_names() == shipped.factor_names()
    columns = ["benchmark", "metric", "kind", "low", "high", "higher_is_better"]
    assert data.metrics.filter(primary=True).select(columns).equals(shipped.metrics.select(columns))
