"""Phoenix's experiments and annotations: runs that failed are errors in every annotation, spans are rated."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from tests.loaders.trees import opened, said

Row = dict[str, Any]


def annotation(name: str, score: object = 1.0, **changes: Any) -> Row:
    known = {"name": name, "annotator_kind": "LLM", "label": None, "score": score, "explanation": "text"}
    return {**known, "trace_id": None, "error": None, "metadata": {}, "start_time": "2026-01-02T03:04:05", **changes}


def run(example: object = "RXhhbXBsZTox", *annotations: Row, **changes: Any) -> Row:
    known = {"example_id": example, "repetition_number": 1, "input": {"q": "2+2"}, "reference_output": {"a": "4"}}
    more = {"output": "4", "error": None, "latency_ms": 1500.0, "start_time": "2026-01-02T03:04:05+00:00"}
    usage = {"end_time": "2026-01-02T03:04:06+00:00", "trace_id": "abc", "prompt_token_count": 7}
    return {**known, **more, **usage, "completion_token_count": 3, "annotations": list(annotations), **changes}


RUNS = [
    run("e1", annotation("correct"), annotation("tone", None, label="polite")),
    run("e1", annotation("correct", None, error="429 from the judge"), repetition_number=2),
    run("e2", error="ValueError: boom\ntrace"),
    run("e3"),
]


def flat(record: Row) -> Row:
    """Return a run as the CSV export has it."""
    columns = {
        f"annotation_{found['name']}_{part}": found[part]
        for found in record["annotations"]
        for part in ("label", "score", "explanation", "metadata", "annotator_kind", "trace_id", "error", "start_time")
    }
    known = {name: value for name, value in record.items() if name != "annotations"}
    return {**known, "metadata": {"difficulty": "easy"}, **columns}


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_an_experiment(tmp_path: Path, ending: str) -> None:
    runs = RUNS if ending == "json" else [flat(record) for record in RUNS]
    data = opened(tmp_path, {f"my-model.{ending}": runs}, "phoenix")
    told = data.outcomes.sort("item", "trial", "metric").select("item", "trial", "metric", "status", "score")
    assert told.rows() == [
        ("e1", 0, "correct", "scored", 1.0),
        ("e1", 0, "tone", "unscored", None),
        ("e1", 1, "correct", "error", None),
        ("e2", 0, "correct", "error", None),
        ("e2", 0, "tone", "error", None),
        ("e3", 0, "correct", "unscored", None),
        ("e3", 0, "tone", "unscored", None),
    ]
    first = data.outcomes.row(0, named=True)
    assert (first["latency_s"], first["input_tokens"], first["link"]) == (1.5, 7, "/redirects/traces/abc")
    assert data.runs["model"][0] == "my-model"
    assert ("difficulty" in data.outcomes.columns) == (ending == "csv")
    reasons = data.outcomes.filter(data.outcomes["status"] == "error")["status_reason"].unique().sort().to_list()
    assert reasons == ["429 from the judge", "ValueError: boom"]


def test_an_experiment_without_annotations(tmp_path: Path) -> None:
    data = opened(tmp_path, {"m.json": [run("e1"), run(None), run("e1")]}, "phoenix")
    assert data.outcomes.select("metric", "status").rows() == [("annotation", "unscored")]
    assert "(no example_id): [1]" in said(data, "error")
    assert "(repeated runs): [2]" in said(data, "error")


def span(value: object = 1.0, **changes: Any) -> Row:
    known = {"id": "U3Bhbg==", "created_at": "2026-01-02T03:04:05Z", "source": "API", "user_id": None, "span_id": "s1"}
    result = {"label": None, "score": value, "explanation": None}
    return {**known, "name": "correct", "annotator_kind": "LLM", "result": result, "identifier": "", **changes}


def test_annotations_of_spans(tmp_path: Path) -> None:
    found = [span(), span(0, annotator_kind="HUMAN", user_id="u1"), span("x", annotator_kind="CODE"), span(name=None)]
    data = opened(tmp_path, {"a.json": {"data": found, "next_cursor": None}}, "phoenix")
    assert data.outcomes.select("item", "metric", "judge", "status", "score", "link").rows() == [
        ("s1", "correct", "LLM", "scored", 1.0, "/redirects/spans/s1"),
        ("s1", "correct", "u1", "scored", 0.0, "/redirects/spans/s1"),
        ("s1", "correct", "CODE", "unscored", None, "/redirects/spans/s1"),
    ]
    assert data.ratings.select("item", "rater", "rater_kind", "value").rows() == [
        ("s1", "LLM", "judge", 1.0),
        ("s1", "u1", "human", 0.0),
    ]
    assert "(no name): data[3]" in said(data, "error")


def test_a_table_of_annotations(tmp_path: Path) -> None:
    rows = [
        {**{name: cell for name, cell in span().items() if name != "result"}, "result.score": 0.5, "result.label": "ok"}
    ]
    data = opened(tmp_path, {"a.csv": rows}, "phoenix")
    assert data.outcomes.select("item", "score").row(0) == ("s1", 0.5)
    assert data.ratings.select("label", "value").row(0) == ("ok", 0.5)


def test_two_experiments_pair(tmp_path: Path) -> None:
    files = {
        f"{name}.json": [run(f"e{n}", annotation("correct", float(n % every > 0)), input=name) for n in range(30)]
        for name, every in (("old", 2), ("new", 3))
    }
    result = es.compare(opened(tmp_path, files, "phoenix"), "old", "new")
    assert (result.n_items, result.estimate) == (30, pytest.approx(20 / 30 - 15 / 30))
