"""IFEval's results: both readings of a run belong together, and a prompt is an item whatever its file."""

from pathlib import Path
from typing import Any

import pytest

from tests.loaders.trees import opened, said

KINDS = ["punctuation:no_comma", "length_constraints:number_words"]


def response(*followed: bool, prompt: str | None = "Write.", **changes: Any) -> dict[str, Any]:
    known = {"follow_all_instructions": all(followed), "follow_instruction_list": list(followed)}
    return {**known, "instruction_id_list": KINDS, "prompt": prompt, "response": "Text.", **changes}


FILES = {
    f"{model}/eval_results_{reading}.jsonl": [
        response(True, reading == "loose", response=model),
        response(True, True, prompt="Go."),
    ]
    for model in ("gpt", "claude")
    for reading in ("strict", "loose")
}


def test_both_readings_of_two_models(tmp_path: Path) -> None:
    data = opened(tmp_path, FILES, "ifeval")
    assert sorted(data.runs["model"]) == ["claude", "gpt"]
    first = data.outcomes.filter(data.outcomes["model"] == "gpt")
    assert first.select("metric", "score", "trial", "locator").rows() == [
        ("prompt_level_strict_acc", 0.0, 0, "line 1"),
        ("inst_level_strict_acc", 0.5, 0, "line 1"),
        ("prompt_level_strict_acc", 1.0, 0, "line 2"),
        ("inst_level_strict_acc", 1.0, 0, "line 2"),
        ("prompt_level_loose_acc", 1.0, 0, "gpt/eval_results_loose.jsonl line 1"),
        ("inst_level_loose_acc", 1.0, 0, "gpt/eval_results_loose.jsonl line 1"),
        ("prompt_level_loose_acc", 1.0, 0, "gpt/eval_results_loose.jsonl line 2"),
        ("inst_level_loose_acc", 1.0, 0, "gpt/eval_results_loose.jsonl line 2"),
    ]
    assert first["tags"][0].to_list() == KINDS
    assert data.outcomes["item"].n_unique() == 2
    assert data.metrics.filter(data.metrics["primary"])["metric"].to_list() == ["prompt_level_strict_acc"]


@pytest.mark.parametrize(
    ("changes", "statuses", "raw"),
    [
        ({"follow_all_instructions": None}, ["unscored", "scored"], [None, None]),
        ({"follow_instruction_list": []}, ["scored", "unscored"], [None, "[]"]),
        ({"follow_instruction_list": [True, 1]}, ["scored", "unscored"], [None, "[true, 1]"]),
        ({"follow_all_instructions": "no"}, ["unscored", "scored"], ['"no"', None]),
    ],
)
def test_states(tmp_path: Path, changes: dict[str, Any], statuses: list[str], raw: list[str | None]) -> None:
    data = opened(tmp_path, {"gpt.jsonl": [response(True, **changes)]}, "ifeval")
    assert data.outcomes["metric"].to_list() == ["prompt_level_acc", "inst_level_acc"]
    assert data.outcomes["status"].to_list() == statuses
    assert data.outcomes["value_raw"].to_list() == raw


def test_a_prompt_that_comes_again_is_a_trial_and_none_without_one(tmp_path: Path) -> None:
    again = [response(True), response(False), response(True, prompt=None)]
    data = opened(tmp_path, {"eval_results_strict.jsonl": again}, "ifeval")
    assert data.outcomes.filter(data.outcomes["metric"].str.starts_with("prompt"))["trial"].to_list() == [0, 1]
    assert "expected str, got null - at $.prompt" in said(data, "error")
