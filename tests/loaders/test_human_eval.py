"""HumanEval's results: samples of a problem are trials, and the reason of a failure is kept."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from tests.loaders.trees import opened, said

NAME = "gpt.jsonl_results.jsonl"


def sample(task: object = 0, result: str = "passed", **changes: Any) -> dict[str, Any]:
    known = {"task_id": f"HumanEval/{task}", "completion": "    return 1\n", "result": result}
    return {**known, "passed": result == "passed", **changes}


SAMPLES = [sample(), sample(0, "timed out"), sample(1, "failed: name 'x' is not defined\nand more")]


def test_samples_of_a_problem_are_trials(tmp_path: Path) -> None:
    data = opened(tmp_path, {NAME: SAMPLES}, "human-eval")
    assert data.outcomes.select("item", "trial", "score", "status_reason", "locator").rows() == [
        ("HumanEval/0", 0, 1.0, None, "line 1"),
        ("HumanEval/0", 1, 0.0, "timed out", "line 2"),
        ("HumanEval/1", 0, 0.0, "failed: name 'x' is not defined", "line 3"),
    ]
    assert data.runs.select("model", "benchmark", "harness").row(0) == ("gpt", "HumanEval", "human-eval")
    assert data.metrics.select("metric", "kind", "higher_is_better", "primary").row(0) == (
        "passed",
        "binary",
        True,
        True,
    )
    assert "does not name its model" in said(data)


@pytest.mark.parametrize(
    ("passed", "status", "raw"),
    [(True, "scored", None), (None, "unscored", None), ("yes", "unscored", '"yes"'), (2, "unscored", "2")],
)
def test_states(tmp_path: Path, passed: object, status: str, raw: str | None) -> None:
    data = opened(tmp_path, {NAME: [sample(passed=passed)]}, "human-eval")
    assert data.outcomes.select("status", "value_raw").row(0) == (status, raw)


def test_samples_without_a_problem_are_left_out(tmp_path: Path) -> None:
    data = opened(tmp_path, {NAME: [*SAMPLES, sample(task_id=None), sample(task_id="")]}, "human-eval")
    assert data.outcomes.height == 3
    assert said(data, "error") == "2 of 5 samples are dropped (no task_id): line 4, line 5"


def test_files_of_the_usual_name_are_called_by_their_folders_and_pair(tmp_path: Path) -> None:
    files = {
        f"{model}/samples.jsonl_results.jsonl": [
            sample(task, "passed" if (task + k) % every else "timed out") for task in range(42) for k in range(2)
        ]
        for model, every in (("a", 2), ("b", 3))
    }
    result = es.compare(opened(tmp_path, files, "human-eval"), "a", "b")
    assert (result.n_items, result.estimate) == (42, pytest.approx(2 / 3 - 1 / 2))
