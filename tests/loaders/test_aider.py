"""Aider's leaderboards: flat YAML read line by line, published rates with their settings, and costs that nobody knew."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import read, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

BOARD = """---
# runs of one benchmark
- dirname: 2025-01-02-03-04-05--m-diff
  test_cases: 225
  model: lab/m (high)
  edit_format: diff
  commit_hash: 1234567
  pass_rate_1: 20.0
  pass_rate_2: 40.0
  pass_num_1: 45
  pass_num_2: 90
  percent_cases_well_formed: 99.6
  test_timeouts: 3
  total_tests: 225
  command: "aider --model lab/m # by hand"
  date: 2025-01-02
  versions: 0.71.2.dev
  seconds_per_case: 21.4
  total_cost: 14.5

- test_cases: 133   # an old entry lacks most keys
  model: 'n'
  edit_format: architect
  editor_model: e
  pass_rate_1: 60.9
  date: 2024-07-04
  total_cost: 0.0000
"""


def board(tmp_path: Path, text: str, name: str = "polyglot_leaderboard.yml") -> EvalData:
    path = tmp_path / name
    path.write_text(text)
    return read(path)


def test_rows_by_hand(tmp_path: Path) -> None:
    data = board(tmp_path, BOARD)
    assert data.aggregates.select("model", "benchmark", "variant", "metric", "estimate", "unit", "n").rows() == [
        ("lab/m (high)", "Aider polyglot", "diff", "pass_rate_1", 20.0, "percent", 225),
        ("lab/m (high)", "Aider polyglot", "diff", "pass_rate_2", 40.0, "percent", 225),
        ("lab/m (high)", "Aider polyglot", "diff", "percent_cases_well_formed", 99.6, "percent", 225),
        ("lab/m (high)", "Aider polyglot", "diff", "total_cost", 14.5, "US dollars", 225),
        ("lab/m (high)", "Aider polyglot", "diff", "seconds_per_case", 21.4, "seconds", 225),
        ("n", "Aider code editing", "architect, e", "pass_rate_1", 60.9, "percent", 133),
    ]
    row: dict[str, Any] = data.aggregates.row(0, named=True)
    assert (str(row["date"]), row["command"], row["test_timeouts"]) == (
        "2025-01-02",
        "aider --model lab/m # by hand",
        3,
    )
    assert row["std_error"] is None
    better = dict(data.metrics.select("metric", "higher_is_better").iter_rows())
    assert (better["pass_rate_1"], better["total_cost"]) == (True, False)
    assert data.metrics.filter(primary=True)["metric"].to_list() == ["pass_rate_2"]
    assert data.runs.select("benchmark", "harness").rows() == [("Aider", "Aider")]
    assert told(data) == "1 runs cost 0, which means an unknown price; it is dropped"


def test_a_run_that_was_cut_short_is_of_its_benchmark_and_noted(tmp_path: Path) -> None:
    data = board(tmp_path, BOARD.replace("test_cases: 225", "test_cases: 224"))
    assert data.aggregates["benchmark"][0] == "Aider polyglot"
    assert "1 runs have fewer test cases than tests" in told(data)


def test_lines_that_are_something_else_are_counted_and_left_out(tmp_path: Path) -> None:
    data = board(tmp_path, BOARD + "  - nested\n  {a: b}\n    model: z\n  - model: y\n")
    assert data.aggregates.height == 6
    assert told(data, "error") == "4 lines are not `name: value` of a run and are dropped (line 28, 29, 30, 31)"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- dirname: x\n  pass_rate_1: 3\n", "a list of runs with a model and a pass rate was expected"),
        ("- dirname: x\n  model: m\n  pass_rate_1: many\n", "a list of runs with a model and a pass rate was expected"),
    ],
)
def test_boards_without_rates_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        board(tmp_path, text)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yml"
    path.write_bytes(BOARD.encode() + b"\xff\xfe")
    with pytest.raises(UnreadableFileError, match="is not utf-8 text"):
        read(path, strict=True)


@pytest.mark.parametrize(
    ("text", "own"),
    [(BOARD, True), ("jobs:\n  build:\n    runs-on: x\n", False), ("- name: pass_rate_1\n  model: x\n", False)],
)
def test_detection(tmp_path: Path, text: str, own: bool) -> None:
    path = tmp_path / "x.yml"
    path.write_text(text)
    found, _ = sniffed(read_head(path))
    assert (found is not None and found[0].name == "aider") == own


def test_lines_hold_what_a_yaml_parser_finds(tmp_path: Path) -> None:
    data = board(tmp_path, BOARD)
    for run in yaml.safe_load(BOARD):
        own = data.aggregates.filter(model=run["model"], metric="pass_rate_1").row(0, named=True)
        assert own["estimate"] == run["pass_rate_1"]
        assert own["date"] == run["date"]
        assert own["edit_format"] == run["edit_format"]


def test_a_million_anchors_do_no_harm(tmp_path: Path) -> None:
    bomb = "- &a x: [" + ", ".join(["*a"] * 1000) + "]\n"
    data = board(tmp_path, BOARD + bomb * 100)
    assert data.aggregates.height == 6
    assert "100 lines are not `name: value`" in told(data, "error")
