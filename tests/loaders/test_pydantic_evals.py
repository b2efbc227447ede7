"""Pydantic Evals' reports: cases repeated are trials, and what failed is an error in the metrics it would have had."""

from pathlib import Path
from typing import Any

import evalstats as es
from tests.loaders.trees import opened, said

Row = dict[str, Any]


def result(name: str, value: object, evaluator: str | None = None) -> Row:
    source = {"name": evaluator or name, "arguments": None}
    return {"name": name, "value": value, "reason": None, "source": source, "evaluator_version": None}


def case(name: str, source: str | None = None, /, correct: object = True, **changes: Any) -> Row:
    known = {"name": name, "inputs": "2+2", "metadata": {"difficulty": "easy"}, "expected_output": "4", "output": "4"}
    metrics = {"cost": 0.01, "input_tokens": 12, "output_tokens": 3, "requests": 1}
    results = {
        "scores": {"tone": result("tone", 0.5, "Judge"), "style": result("style", 7, "Judge")},
        "labels": {"language": result("language", "en")},
        "assertions": {"correct": result("correct", correct)},
    }
    more = {"attributes": {}, "task_duration": 1.5, "total_duration": 2.0, "source_case_name": source}
    failures: Row = {"trace_id": None, "span_id": None, "evaluator_failures": []}
    return {**known, "metrics": metrics, **results, **more, **failures, **changes}


def failure(name: str, source: str | None = None) -> Row:
    known = {"name": name, "inputs": "2+2", "metadata": None, "expected_output": "4", "source_case_name": source}
    return {**known, "error_message": "ValueError: boom", "error_stacktrace": "Traceback ...", "trace_id": None}


def report(*cases: Row, failures: tuple[Row, ...] = (), model: str | None = "gpt", name: str = "task") -> Row:
    metadata = None if model is None else {"model": model}
    analyses: Row = {"analyses": [], "report_evaluator_failures": [], "experiment_metadata": metadata}
    return {"name": name, "cases": list(cases), "failures": list(failures), **analyses, "trace_id": None}


JUDGE_FAILED = {"name": "Judge", "error_message": "429", "source": {"name": "Judge", "arguments": {"rubric": "x"}}}
REPORT = report(
    case("a", scores={}, evaluator_failures=[JUDGE_FAILED]), case("b", correct=False), failures=(failure("c"),)
)


def test_scores_assertions_and_labels(tmp_path: Path) -> None:
    data = opened(tmp_path, {"report.json": REPORT}, "pydantic-evals")
    rows = data.outcomes.sort("item", "metric").select("item", "metric", "status", "score")
    assert rows.rows() == [
        ("a", "correct", "scored", 1.0),
        ("a", "language", "unscored", None),
        ("a", "style", "error", None),
        ("a", "tone", "error", None),
        ("b", "correct", "scored", 0.0),
        ("b", "language", "unscored", None),
        ("b", "style", "scored", 7.0),
        ("b", "tone", "scored", 0.5),
        ("c", "correct", "error", None),
        ("c", "language", "error", None),
        ("c", "style", "error", None),
        ("c", "tone", "error", None),
    ]
    first = data.outcomes.row(0, named=True)
    assert (first["latency_s"], first["cost_usd"], first["input_tokens"], first["difficulty"], first["locator"]) == (
        1.5,
        0.01,
        12,
        "easy",
        "cases[0]",
    )
    assert data.outcomes.filter(data.outcomes["item"] == "c")["status_reason"].unique().to_list() == [
        "ValueError: boom"
    ]
    assert data.runs.select("model", "system", "harness").row(0) == ("gpt", "task", "pydantic-evals")
    assert "2 results are labels and no numbers" in said(data)
    assert "6 results are errors" in said(data)


def test_repetitions_are_trials_by_their_number(tmp_path: Path) -> None:
    failed = failure("a [2/3]", "a")
    cases = [case("a [3/3]", "a"), case("a [1/3]", "a"), case("a [1/3]", "a")]
    data = opened(tmp_path, {"report.json": report(*cases, failures=(failed,))}, "pydantic-evals")
    correct = data.outcomes.filter(data.outcomes["metric"] == "correct").sort("trial")
    assert correct.select("item", "trial", "status").rows() == [
        ("a", 0, "scored"),
        ("a", 1, "error"),
        ("a", 2, "scored"),
    ]
    assert said(data, "error") == "1 of 4 cases are dropped (repeated cases): cases[2]"


def test_a_report_in_which_all_failed(tmp_path: Path) -> None:
    data = opened(tmp_path, {"report.json": report(failures=(failure("a"),), model=None)}, "pydantic-evals")
    assert data.outcomes.select("metric", "status").rows() == [("assertions", "error")]
    assert data.runs["model"][0] == "task"
    assert "metadata that `evaluate` is given" in said(data)


def test_odd_values(tmp_path: Path) -> None:
    odd = case("a", correct="yes", scores={"tone": {"value": None}, "style": 3, "pass": {"value": True}}, metrics=[])
    data = opened(tmp_path, {"r.json": report(odd, {"name": 3}, failures=({"cases": 1},))}, "pydantic-evals")  # type: ignore[arg-type]
    assert data.outcomes.select("metric", "status", "value_raw").rows() == [
        ("tone", "unscored", None),
        ("style", "unscored", None),
        ("pass", "unscored", "true"),
        ("correct", "unscored", '"yes"'),
        ("language", "unscored", '"en"'),
    ]
    assert "expected str, got int - at $.name): cases[1]" in said(data, "error")
    assert "(no name): failures[0]" in said(data, "error")


def test_two_reports_pair(tmp_path: Path) -> None:
    files = {
        f"{model}.json": report(*(case(f"case {n}", correct=n % every > 0) for n in range(30)), model=model)
        for model, every in (("old", 2), ("new", 3))
    }
    result = es.compare(opened(tmp_path, files, "pydantic-evals"), "old", "new", metric="correct")
    assert (result.n_items, round(result.estimate, 6)) == (30, round(20 / 30 - 15 / 30, 6))
