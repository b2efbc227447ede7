"""EvalPlus and CRUXEval: tries as rows, what passes the base tests only, timeouts, and names that only files have."""

import json
from math import comb
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats import compare
from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import read, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import everything_said as told
from tests.loaders.trees import write


def attempt(base: object, plus: object, task: str = "HumanEval/0") -> dict[str, Any]:
    more = {"base_fail_tests": [], "plus_fail_tests": [[1]]}
    return {"task_id": task, "solution": "def f(): ...", "base_status": base, "plus_status": plus, **more}


def plus_results(tries: object, **more: object) -> dict[str, object]:
    return {"date": "2024-10-02 10:00", "hash": "abc123", "eval": tries, **more}


def rows(data: EvalData, *names: str) -> list[tuple[Any, ...]]:
    return data.outcomes.select(*(names or ("item", "trial", "metric", "status", "score"))).rows()


def test_every_state_of_evalplus(tmp_path: Path) -> None:
    tries = {
        "HumanEval/0": [attempt("pass", "pass"), attempt("pass", "fail"), attempt("fail", "pass")],
        "Mbpp/2": [attempt("pass", "timeout"), attempt(None, None), attempt("pass", None), attempt("crashed", "fail")],
    }
    name = "lab--m-7B_vllm_temp_0.8.eval_results.json"
    data = read(write(tmp_path / name, plus_results(tries, pass_at_k={"base": {"pass@1": 0.7}})))
    assert rows(data) == [
        ("HumanEval/0", 0, "base", "scored", 1.0),
        ("HumanEval/0", 0, "plus", "scored", 1.0),
        ("HumanEval/0", 1, "base", "scored", 1.0),
        ("HumanEval/0", 1, "plus", "scored", 0.0),
        ("HumanEval/0", 2, "base", "scored", 0.0),
        ("HumanEval/0", 2, "plus", "scored", 0.0),
        ("Mbpp/2", 0, "base", "scored", 1.0),
        ("Mbpp/2", 0, "plus", "scored", 0.0),
        ("Mbpp/2", 1, "base", "unscored", None),
        ("Mbpp/2", 1, "plus", "unscored", None),
        ("Mbpp/2", 2, "base", "scored", 1.0),
        ("Mbpp/2", 2, "plus", "unscored", None),
        ("Mbpp/2", 3, "base", "unscored", None),
        ("Mbpp/2", 3, "plus", "unscored", None),
    ]
    assert data.outcomes["value_raw"][7] == "timeout"
    assert data.outcomes["task"].unique(maintain_order=True).to_list() == ["humaneval", "mbpp"]
    run = data.runs.row(0, named=True)
    assert (run["model"], run["temperature"], run["task_version"]) == ("lab/m-7B", 0.8, "abc123")
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (9, 0, 5)
    assert json.loads(run["config"])["pass_at_k"] == {"base": {"pass@1": 0.7}}
    assert data.metrics.select("metric", "primary").rows() == [("base", False), ("plus", True)]
    assert "5 outcomes have no status of pass, fail or timeout" in told(data)


def test_base_tests_alone_have_no_plus(tmp_path: Path) -> None:
    tries = {"HumanEval/0": [attempt("pass", None)], "HumanEval/1": "none", "HumanEval/2": []}
    data = read(write(tmp_path / "m_temp_0.0-sanitized_eval_results.json", plus_results(tries)))
    assert rows(data) == [("HumanEval/0", 0, "base", "scored", 1.0)]
    assert data.runs["model"].item() == "m"
    assert "2 of 3 items are dropped (no list of tries)" in told(data)


def test_cruxeval_by_hand(tmp_path: Path) -> None:
    content = {
        "raw_generations": {"sample_1": ["f(1)", "f(2)"], "sample_0": ["f(3)"]},
        "raw_scored_generations": {"sample_0": [True], "sample_1": [False, None], "sample_2": None},
        "pass_at_1": 50.0,
        "pass_at_5": None,
    }
    data = read(write(tmp_path / "sample_scored_m-7b_temp0.8_input.json", content))
    assert rows(data, "item", "task", "trial", "status", "score") == [
        ("sample_0", "input", 0, "scored", 1.0),
        ("sample_1", "input", 0, "scored", 0.0),
        ("sample_1", "input", 1, "unscored", None),
    ]
    run = data.runs.row(0, named=True)
    assert (run["model"], run["temperature"], json.loads(run["config"])["pass_at_1"]) == ("m-7b", 0.8, 50.0)
    assert "1 of 3 items are dropped (no list of tries)" in told(data)
    assert "1 tries have no verdict (true or false) and are unscored" in told(data)


@pytest.mark.parametrize(
    ("name", "system", "task"),
    [
        ("gpt-4_temp0.2_output_cot.json", "gpt-4 (CoT)", "output"),
        ("sample_scored_a_b_temp0.2_input.json", "a_b", "input"),
        ("mine.json", "mine", ""),
    ],
)
def test_names_of_cruxeval(tmp_path: Path, name: str, system: str, task: str) -> None:
    data = read(write(tmp_path / name, {"raw_generations": {}, "raw_scored_generations": {"sample_0": [True]}}))
    assert rows(data, "system", "task") == [(system, task)]
    assert ("does not name its model" in told(data)) == (name == "mine.json")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a_eval_results.json", plus_results({})),
        ("a_eval_results.json", plus_results({"HumanEval/0": [], "x": {"base_status": 1}})),
        ("a_temp0.2_input.json", {"raw_generations": {"sample_0": ["f(1)"]}}),
        ("a_temp0.2_input.json", {"raw_generations": [], "raw_scored_generations": [True]}),
    ],
)
def test_results_without_tries_are_refused(tmp_path: Path, name: str, content: dict[str, object]) -> None:
    loader = "cruxeval" if "raw_generations" in content else "evalplus"
    with pytest.raises(InputError, match="none of its items could be read"):
        read(write(tmp_path / name, content), format=loader)


@pytest.mark.parametrize("loader", ["evalplus", "cruxeval"])
def test_bad_files_are_refused_in_words(tmp_path: Path, loader: str) -> None:
    for text, words in (("[1]", "is a list"), ('{"eval": {"a": [', "cut off"), ('{"eval": tru', "cut off")):
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(UnreadableFileError, match=words):
            read(path, format=loader, strict=True)


@pytest.mark.parametrize(
    ("content", "loader"),
    [
        (plus_results({"HumanEval/0": [attempt("pass", None)]}), "evalplus"),
        (
            {"raw_generations": {"sample_0": ["x" * 100_000]}, "raw_scored_generations": {"sample_0": [True]}},
            "cruxeval",
        ),
        ({"eval": {"acc": 0.5}}, None),
        ({"generations": {}}, None),
    ],
)
def test_detection(tmp_path: Path, content: object, loader: str | None) -> None:
    found, _ = sniffed(read_head(write(tmp_path / "x.json", content)))
    own = found[0].name if found is not None and found[0].name in {"evalplus", "cruxeval"} else None
    assert own == loader


def test_two_models_pair_by_task(tmp_path: Path) -> None:
    for model, solved in (("a", 10), ("b", 30)):
        tries = {f"HumanEval/{k}": [attempt("pass", "pass" if k < solved else "fail")] for k in range(40)}
        write(tmp_path / f"{model}_temp_0.0.eval_results.json", plus_results(tries))
    result = compare(read(tmp_path), "a", "b")
    assert result.n_items == 40
    assert result.estimate == pytest.approx(0.5)


@pytest.mark.parametrize("task", ["input", "output"])
def test_published_pass_at_1_and_5_are_found_again(shared_data: Path, task: str) -> None:
    """8,000 tries of CodeLlama 7B; pass@k as the paper has it, from the counts of right tries."""
    data = read(shared_data / "cruxeval" / f"sample_scored_codellama-7b_temp0.2_{task}.json.gz")
    assert data.outcomes.height == 8_000
    published = json.loads(data.runs["config"].item())
    right = data.outcomes.group_by("item").agg(pl.col("score").sum())["score"].to_list()
    assert 100 * sum(right) / 8_000 == pytest.approx(published["pass_at_1"])
    assert 100 * sum(1 - comb(10 - int(n), 5) / comb(10, 5) for n in right) / 800 == pytest.approx(
        published["pass_at_5"]
    )
