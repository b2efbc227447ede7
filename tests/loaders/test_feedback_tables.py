"""TruLens and UpTrain: rows of a table with a column for every feedback or check."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import sniffed
from evalstats.schema.data import EvalData

RECORD: dict[str, Any] = {
    "app_name": "RAG",
    "app_version": "v2",
    "app_id": "app_1",
    "record_id": "record_1",
    "input": "What is it?",
    "output": "That.",
    "ts": "2026-01-01T10:00:00",
    "Answer Relevance": 0.9,
    "Answer Relevance_calls": [{"args": {"prompt": "x"}, "ret": 0.9}],
    "Answer Relevance feedback cost in USD": 0.01,
    "Answer Relevance direction": True,
    "Toxicity": None,
    "Toxicity_calls": [],
    "Toxicity direction": False,
    "latency": 1.5,
    "total_tokens": 120,
    "total_cost": 0.002,
}
CHECKED: dict[str, Any] = {
    "question": "What is it?",
    "response": "That.",
    "score_response_completeness": 0.5,
    "explanation_response_completeness": "Because.",
    "score_factual_accuracy": None,
    "explanation_factual_accuracy": None,
}


def as_csv(*rows: dict[str, Any]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [*rows[0]])
    writer.writeheader()
    writer.writerows(
        {name: json.dumps(cell) if isinstance(cell, list) else cell for name, cell in row.items()} for row in rows
    )
    return stream.getvalue()


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def write(*rows: dict[str, Any], text: bool = False) -> EvalData:
        path = tmp_path / ("rows.csv" if text else "rows.json")
        path.write_text(as_csv(*rows) if text else json.dumps(rows))
        return es.read(path)

    return write


def errors(data: EvalData) -> list[str]:
    return [problem.message for problem in data.problems if problem.severity == "error"]


@pytest.mark.parametrize("text", [False, True])
def test_feedback_of_trulens(read: Any, text: bool) -> None:
    data = read(RECORD, {**RECORD, "record_id": "record_2"}, text=text)
    assert data.outcomes.select("system", "trial", "metric", "score", "status", "latency_s", "cost_usd").rows() == [
        ("RAG v2", trial, metric, score, status, 1.5, 0.002)
        for trial in (0, 1)
        for metric, score, status in (("Answer Relevance", 0.9, "scored"), ("Toxicity", None, "unscored"))
    ]
    assert data.outcomes["item"].n_unique() == 1
    assert data.metrics.select("metric", "higher_is_better").rows() == [("Answer Relevance", True), ("Toxicity", False)]


def test_results_of_one_feedback(read: Any) -> None:
    several = {"Ground:::a": 0.5, "Ground:::b": 1.0, "Ground_calls": []}
    bare = {name: RECORD[name] for name in ("app_id", "record_id", "input", "output", "app_version")}
    data = read({**bare, **several})
    assert data.outcomes.select("metric", "score").rows() == [("Ground:::a", 0.5), ("Ground:::b", 1.0)]
    assert data.runs["model"].to_list() == ["v2"]


def test_versions_of_an_app_pair_by_input(read: Any) -> None:
    rows = [
        {**RECORD, "app_version": version, "input": f"q{n}", "Answer Relevance": 0.5 + better * (n % 2) / 2}
        for version, better in (("v1", 0), ("v2", 1))
        for n in range(30)
    ]
    result = es.compare(read(*rows), "RAG v1", "RAG v2", metric="Answer Relevance")
    assert (result.n_items, result.estimate) == (30, pytest.approx(0.25))


def test_records_without_input_are_left_out(read: Any) -> None:
    assert errors(read(RECORD, {**RECORD, "input": None})) == ["1 of 2 records are dropped (no question): [1]"]


def test_a_record_without_feedback_is_unscored(read: Any) -> None:
    bare = {name: value for name, value in RECORD.items() if "Relevance" not in name and "Toxicity" not in name}
    data = read(RECORD, {**bare, "input": "another"})
    assert set(data.outcomes.filter(locator="[1]")["status"]) == {"unscored"}


@pytest.mark.parametrize("text", [False, True])
def test_checks_of_uptrain(read: Any, text: bool) -> None:
    data = read(CHECKED, {**CHECKED, "question": "And this?"}, text=text)
    assert data.outcomes.select("metric", "score", "status").rows()[:2] == [
        ("response_completeness", 0.5, "scored"),
        ("factual_accuracy", None, "unscored"),
    ]
    assert data.outcomes["item"].n_unique() == 2
    assert set(data.metrics["higher_is_better"]) == {True}


def test_rows_without_a_question_are_left_out(read: Any) -> None:
    assert errors(read(CHECKED, {"response": "x", "score_tone": 1, "explanation_tone": ""}, {"question": "q"})) == [
        "1 of 3 rows are dropped (no question): [1]",
    ]


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content, name in (([RECORD], "trulens"), ([CHECKED], "uptrain")):
        path.write_text(json.dumps(content))
        found, _ = sniffed(read_head(path))
        assert found is not None
        assert found[0].name == name
