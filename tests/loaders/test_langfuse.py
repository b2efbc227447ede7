"""Langfuse's exports: traces and observations pair by their input, scores by themselves are of traces."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from tests.loaders.trees import opened, said

Row = dict[str, Any]
SCORES = "1763000000000-lf-scores-export-p1.jsonl"
TRACES = "1763000000000-lf-traces-export-p1.json"


def trace(question: str = "2+2", scores: Row | None = None, **changes: Any) -> Row:
    known = {"id": "t1", "timestamp": "2026-01-02T03:04:05.000Z", "name": "chat", "userId": "u1", "sessionId": None}
    more = {"release": "v2", "version": None, "environment": "production", "tags": ["a"], "bookmarked": False}
    texts = {"input": {"q": question}, "output": "4", "metadata": {"model": "gpt", "difficulty": "easy"}}
    return {**known, **more, "public": False, **texts, "comments": [], **(scores or {}), **changes}


def observation(scores: Row, **changes: Any) -> Row:
    known = {"id": "o1", "traceId": "t1", "startTime": "2026-01-02T03:04:05.000Z", "projectId": "p1"}
    more = {"parentObservationId": None, "type": "GENERATION", "name": "call", "level": "DEFAULT"}
    usage = {"statusMessage": None, "input": "2+2", "output": "4", "model": "gpt-4o", "latency": 1.5}
    cost = {"inputUsage": 10, "outputUsage": 0, "totalCost": 0.01, "metadata": {}}
    return {**known, **more, **usage, **cost, "comments": [], **scores, **changes}


def score(value: object = 1, kind: str = "NUMERIC", **changes: Any) -> Row:
    known = {"id": "s1", "traceId": "t1", "sessionId": None, "datasetRunId": None, "timestamp": "2026-01-02T03:04:05Z"}
    more = {"source": "EVAL", "name": "helpful", "dataType": kind, "value": value, "stringValue": None}
    about = {"observationId": None, "traceName": "chat", "userId": "u1", "traceTags": ["a"], "environment": "default"}
    return {**known, **more, "comment": None, "metadata": {}, **about, "authorUserName": None, **changes}


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
def test_traces_with_their_scores(tmp_path: Path, ending: str) -> None:
    rows = [
        trace(scores={"correct": [1], "tone": ["polite"], "other": None}),
        trace(scores={"correct": [0, 0.5], "tone": None, "other": None}, id="t2"),
        trace("3+3", {"correct": None, "tone": None, "other": None}),
    ]
    data = opened(tmp_path, {f"1-lf-traces-export-p1.{ending}": rows}, "langfuse")
    told = data.outcomes.select("metric", "trial", "status", "score", "value_raw", "link")
    assert told.rows() == [
        ("correct", 0, "scored", 1.0, None, "/project/p1/traces/t1"),
        ("tone", 0, "unscored", None, '["polite"]', "/project/p1/traces/t1"),
        ("correct", 1, "scored", 0.25, None, "/project/p1/traces/t2"),
    ]
    first = data.outcomes.row(0, named=True)
    assert (first["model"], first["difficulty"], first["release"], first["user"], first["tags"]) == (
        "gpt",
        "easy",
        "v2",
        "u1",
        ["a"],
    )
    assert first["timestamp"].year == 2026
    notes = said(data)
    assert "1 of 3 rows have no score and give no outcome" in notes


def test_observations_name_their_model_and_failures(tmp_path: Path) -> None:
    rows = [observation({"ok": [1]}), observation({"ok": [0]}, level="ERROR", statusMessage="429", model=None)]
    data = opened(tmp_path, {"observations.json": rows}, "langfuse")
    told = data.outcomes.select("model", "status", "status_reason", "input_tokens", "output_tokens", "cost_usd")
    assert told.rows() == [
        ("gpt-4o", "scored", None, 10, None, 0.01),
        ("observations", "error", "429", 10, None, 0.01),
    ]
    assert data.outcomes["item"].n_unique() == 1


def test_scores_by_themselves(tmp_path: Path) -> None:
    rows = [
        score(0.5),
        score(1, "BOOLEAN", name="safe", source="API", stringValue="True"),
        score(0, "CATEGORICAL", name="tone", stringValue="polite", observationId="o1"),
        score(5, source="ANNOTATION", authorUserName="Ann"),
        score(None, "TEXT", stringValue="remark"),
        score(3, traceId=None, sessionId="s9"),
        score(3, traceId=None),
        score(name=None),
    ]
    data = opened(tmp_path, {SCORES: rows}, "langfuse-scores")
    told = data.outcomes.select("item", "variant", "metric", "status", "score", "judge", "source", "link")
    assert told.rows() == [
        ("t1", "", "helpful", "scored", 0.5, None, "EVAL", "/project/p1/traces/t1"),
        ("t1", "", "safe", "scored", 1.0, None, "API", "/project/p1/traces/t1"),
        ("t1", "o1", "tone", "unscored", None, None, "EVAL", "/project/p1/traces/t1"),
        ("t1", "", "helpful", "scored", 5.0, "Ann", "ANNOTATION", "/project/p1/traces/t1"),
        ("s9", "", "helpful", "scored", 3.0, None, "EVAL", None),
    ]
    assert data.ratings.select("item", "rater", "rater_kind", "criterion", "value", "label").rows() == [
        ("t1", "EVAL", "judge", "helpful", 0.5, None),
        ("t1", "EVAL", "judge", "tone", None, "polite"),
        ("t1", "Ann", "human", "helpful", 5.0, None),
        ("s9", "EVAL", "judge", "helpful", 3.0, None),
    ]
    left_out = said(data, "error")
    assert "(nothing that was scored): line 7" in left_out
    assert "(no name): line 8" in left_out
    assert "1 scores are remarks or corrections" in said(data)


def test_scores_as_the_api_answers(tmp_path: Path) -> None:
    about = {"id": "s1", "name": "helpful", "source": "API", "timestamp": "2026-01-02T03:04:05Z"}
    old = {**about, "traceId": "t1", "dataType": "NUMERIC", "value": 0.5, "trace": {"userId": "u1", "tags": []}}
    new = [
        {**about, "dataType": "BOOLEAN", "value": True, "subject": {"kind": "trace", "id": "t2"}},
        {**about, "dataType": "NUMERIC", "value": 2, "subject": {"kind": "observation", "id": "o1", "traceId": "t2"}},
    ]
    files = {
        "v2.json": {"data": [old], "meta": {"page": 1}},
        "v3.json": {"data": new, "meta": {"limit": 50}},
    }
    data = opened(tmp_path, files, "langfuse-scores")
    assert data.outcomes.sort("item", "variant").select("item", "variant", "score").rows() == [
        ("t1", "", 0.5),
        ("t2", "", 1.0),
        ("t2", "o1", 2.0),
    ]


@pytest.mark.parametrize(
    ("value", "kind", "status", "raw"),
    [
        ("high", "NUMERIC", "unscored", '"high"'),
        (None, "NUMERIC", "unscored", None),
        (True, "BOOLEAN", "scored", None),
        (1, "ODD", "unscored", "1"),
        ("0.5", "NUMERIC", "scored", '"0.5"'),
    ],
)
def test_states(tmp_path: Path, value: object, kind: str, status: str, raw: str | None) -> None:
    data = opened(tmp_path, {SCORES: [score(value, kind)]}, "langfuse-scores")
    assert data.outcomes.select("status", "value_raw").row(0) == (status, raw)


def test_two_experiments_pair_by_their_input(tmp_path: Path) -> None:
    files = {
        f"{name}.json": [
            trace(f"{n}?", {"correct": [int(n % every > 0)]}, id=f"{name}{n}", metadata={}) for n in range(30)
        ]
        for name, every in (("old", 2), ("new", 3))
    }
    result = es.compare(opened(tmp_path, files, "langfuse"), "old", "new")
    assert (result.n_items, result.estimate) == (30, pytest.approx(20 / 30 - 15 / 30))
