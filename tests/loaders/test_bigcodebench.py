"""BigCodeBench: tries of tasks, what the file's name says of them, pass rates, and the board of all models."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import everything_said as told


def attempt(status: object = "pass") -> dict[str, object]:
    return {"task_id": "x", "solution": "pass", "status": status, "details": {}}


RESULTS: dict[str, Any] = {
    "date": "2025-09-02 10:30",
    "eval": {
        "BigCodeBench/13": [attempt(), attempt("fail")],
        "BigCodeBench/15": [attempt("timeout"), attempt(None)],
    },
}
NAME = "maker--m-8B--main--bigcodebench-hard-instruct--vllm-0.2-2-sanitized_calibrated_eval_results.json"
RATES = {
    "pass@1": 0.25,
    "pass@5": 0.5,
    "model": "maker--m-8B",
    "split": "instruct",
    "subset": "hard",
    "calibrated": True,
}
RATES |= {"gt_pass_rate": 1.0, "failed_tasks": []}
MEMBER = {"link": "x", "open-data": "None", "pass@1": {"instruct": 31.1, "complete": 40.5}, "prompted": True, "size": 8}
BOARD = {"M 8B": {**MEMBER, "date": "2024-05-13"}, "N": {**MEMBER, "pass@1": {"instruct": None, "complete": 20.0}}}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def write(content: object, name: str = NAME) -> EvalData:
        path = tmp_path / name
        path.write_text(json.dumps(content))
        return es.read(path)

    return write


def test_a_try_is_a_trial(read: Any) -> None:
    data = read(RESULTS)
    assert data.outcomes.select("task", "item", "trial", "metric", "score", "status", "locator").rows() == [
        ("instruct", "BigCodeBench/13", 0, "pass", 1.0, "scored", "eval.BigCodeBench/13[0]"),
        ("instruct", "BigCodeBench/13", 1, "pass", 0.0, "scored", "eval.BigCodeBench/13[1]"),
        ("instruct", "BigCodeBench/15", 0, "pass", 0.0, "scored", "eval.BigCodeBench/15[0]"),
        ("instruct", "BigCodeBench/15", 1, "pass", None, "unscored", "eval.BigCodeBench/15[1]"),
    ]
    assert told(data) == "1 tries ran out of time and count as failed, as upstream counts them"
    run = data.runs.row(0, named=True)
    assert (run["model"], run["benchmark"], run["temperature"]) == ("maker/m-8B", "BigCodeBench-Hard", 0.2)
    assert json.loads(run["config"]) == {"backend": "vllm", "revision": "main"}


@pytest.mark.parametrize(
    ("name", "model", "benchmark", "task"),
    [
        ("gpt-4o--main--bigcodebench-complete--openai-0-1_eval_results.json", "gpt-4o", "BigCodeBench", "complete"),
        (
            "a--b--skip_prefill--main--bigcodebench-hard-complete--hf-0.0-1-x.json",
            "a/b",
            "BigCodeBench-Hard",
            "complete",
        ),
        ("gpt-4o--bigcodebench-instruct--openai-0-1-sanitized_eval_results.json", "gpt-4o", "BigCodeBench", "instruct"),
    ],
)
def test_names_of_files(read: Any, name: str, model: str, benchmark: str, task: str) -> None:
    data = read(RESULTS, name)
    assert data.outcomes.select("model", "benchmark", "task").row(0) == (model, benchmark, task)


def test_a_file_of_another_name_names_no_model(read: Any) -> None:
    data = read(RESULTS, "mine.json")
    assert set(data.outcomes["model"]) == {"mine"}
    assert "does not name its model" in told(data)


def test_pass_rates(read: Any) -> None:
    data = read(RATES, "pass_at_k.json")
    assert data.aggregates.select("model", "benchmark", "task", "metric", "estimate").rows() == [
        ("maker/m-8B", "BigCodeBench-Hard", "instruct", "pass@1", 0.25),
        ("maker/m-8B", "BigCodeBench-Hard", "instruct", "pass@5", 0.5),
    ]


def test_the_board(read: Any) -> None:
    data = read(BOARD, "results.json")
    assert data.aggregates.select("model", "task", "estimate", "unit", "size_b").rows() == [
        ("M 8B", "instruct", 31.1, "percent", 8.0),
        ("M 8B", "complete", 40.5, "percent", 8.0),
        ("N", "complete", 20.0, "percent", 8.0),
    ]
    assert str(data.aggregates["date"][0]) == "2024-05-13"


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content, name in ((RESULTS, "bigcodebench"), (RATES, "bigcodebench-pass-at-k"), (BOARD, "bigcodebench-board")):
        path.write_text(json.dumps(content))
        found, _ = sniffed(read_head(path))
        assert (found and found[0].name) == name
