"""The same votes in two files count twice; different votes do not."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData, same_votes


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
    assert ["2139 of its 2139 votes" in message for message in crowd] == [True, True]
