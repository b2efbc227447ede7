"""Azure AI evaluation: numbers and verdicts of evaluators in flat rows, and their means."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import sniffed
from evalstats.schema.data import EvalData


def row(n: int, **changes: Any) -> dict[str, Any]:
    asked = {"inputs.query": f"{n} + 1?", "inputs.ground_truth": str(n + 1), "inputs.response": "2"}
    scores = {"f1_score": 0.5, "f1_score_score": 0.5, "f1_score_result": "pass", "f1_score_threshold": 0.5}
    scores |= {"f1_score_passed": True, "f1_score_reason": None, "f1_score_status": "completed"}
    harm = {"violence": "Very low", "violence_score": 0, "violence_reason": "None.", "violence_result": "pass"}
    found = {f"outputs.f1.{name}": value for name, value in scores.items()}
    return {**asked, **found, **{f"outputs.violence.{name}": value for name, value in harm.items()}, **changes}


def output(*rows: Any) -> dict[str, Any]:
    metrics = {
        "f1.f1_score": 0.5,
        "f1.f1_score_threshold": 0.5,
        "f1.binary_aggregate": 1.0,
        "violence.violence_defect_rate": 0.0,
    }
    return {"rows": [*rows], "metrics": metrics, "studio_url": "https://x/runs/1"}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def write(content: object, name: str = "results-a.json") -> EvalData:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return es.read(path)

    return write


def test_numbers_and_verdicts_are_metrics(read: Any) -> None:
    data = read(output(row(1), row(2)))
    assert data.outcomes.filter(locator="rows[0]").select("metric", "score", "trial").rows() == [
        ("f1.f1_score", 0.5, 0),
        ("f1.f1_score_result", 1.0, 0),
        ("violence.violence_score", 0.0, 0),
        ("violence.violence_result", 1.0, 0),
    ]
    better = dict(data.metrics.select("metric", "higher_is_better").rows())
    assert (better["f1.f1_score"], better["violence.violence_score"], better["violence.violence_result"]) == (
        True,
        False,
        True,
    )
    assert data.aggregates.select("metric", "estimate", "n").rows() == [
        ("f1.f1_score", 0.5, 2),
        ("f1.binary_aggregate", 1.0, 2),
        ("violence.violence_defect_rate", 0.0, 2),
    ]
    assert not better["violence.violence_defect_rate"]
    assert data.runs["model"].to_list() == ["results-a"]


def test_an_item_is_what_was_asked_and_not_what_was_answered(read: Any) -> None:
    items = read(output(row(1), row(2), row(1, **{"inputs.response": "3"}))).outcomes.unique(
        "locator", maintain_order=True
    )
    assert items["item"][0] == items["item"][2] != items["item"][1]
    assert items["trial"].to_list() == [0, 0, 1]
    named = read(output(row(1, **{"inputs.id": 7})))
    assert set(named.outcomes["item"]) == {"7"}


@pytest.mark.parametrize(
    ("changes", "metric", "expected"),
    [
        ({"outputs.f1.f1_score": float("nan")}, "f1.f1_score", "unscored"),
        ({"outputs.f1.f1_score_result": "unknown"}, "f1.f1_score_result", "unscored"),
        ({"outputs.f1.f1_score_result": "not_applicable"}, "f1.f1_score_result", "unscored"),
        ({"outputs.f1.f1_score_result": "fail"}, "f1.f1_score_result", "scored"),
        ({"outputs.f1.f1_score": None}, "f1.f1_score", "unscored"),
    ],
)
def test_states(read: Any, changes: dict[str, Any], metric: str, expected: str) -> None:
    data = read(output(row(1), row(2, **changes)))
    assert data.outcomes.filter(locator="rows[1]", metric=metric)["status"].to_list() == [expected]


def test_older_names_of_a_number_count_once(read: Any) -> None:
    scores = {"outputs.coherence.coherence": 4.0, "outputs.coherence.gpt_coherence": 4.0}
    data = read(output({"inputs.query": "q", **scores}))
    assert data.outcomes["metric"].to_list() == ["coherence.coherence"]


def test_a_column_names_the_model_and_conversations_their_item(read: Any) -> None:
    turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    score = {"outputs.e.score": 1}
    known = {"inputs.model": "m1", "inputs.conversation": {"messages": turns}}
    data = read([{**known, **score}, {"inputs.model": "m2", "inputs.query": "q", **score}], "rows.json")
    assert data.runs["model"].to_list() == ["m1", "m2"]
    assert data.aggregates.height == 0


def test_rows_without_a_question_are_left_out(read: Any) -> None:
    data = read(output(row(1), {"outputs.f1.f1_score": 1}, {"inputs.query": "q", "outputs.f1.note": "x"}, 3))
    assert [problem.message for problem in data.problems if problem.severity == "error"] == [
        "1 of 4 rows are dropped (no JSON object): rows[3]",
        "1 of 4 rows are dropped (no question): rows[1]",
    ]


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content, name in (
        (output(row(1)), "azure-evaluation"),
        ([row(1)], "azure-evaluation"),
        ({"rows": [{"a": 1}]}, None),
    ):
        path.write_text(json.dumps(content))
        found, _ = sniffed(read_head(path))
        assert (found and found[0].name) == name
