"""Weave's evaluations: what a scorer returns is taken apart, and a model that failed is an error in all of it."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from tests.loaders.trees import opened, said

Row = dict[str, Any]
MODEL = "weave:///lab/qa/object/MyModel:a1b2c3d4e5"


def call(row: str = "r1", scores: object = None, model: str = MODEL, **changes: Any) -> Row:
    example = f"weave:///lab/qa/object/Dataset:ff00/attr/rows/id/{row}"
    known = {"id": "c1", "project_id": "lab/qa", "op_name": "weave:///lab/qa/op/Evaluation.predict_and_score:9f"}
    output = {"output": "4", "scores": {} if scores is None else scores, "model_latency": 1.5}
    more = {"trace_id": model, "started_at": "2026-01-02T03:04:05Z", "inputs": {"model": model, "example": example}}
    return {**known, **more, "output": output, "exception": None, "summary": {}, **changes}


SCORES = {"match": True, "judge": {"tone": 0.5, "facts": {"right": 1, "reason": "text"}}, "none": None}
CALLS = [
    call(scores=SCORES),
    call(scores={"match": False}),
    call("r2", exception="ValueError: boom\nmore", output=None),
    call("r3", output={"output": None, "scores": {"match": {}}}),
    call("r4"),
    call(op_name="weave:///lab/qa/op/MyModel.predict:1"),
]


def test_calls(tmp_path: Path) -> None:
    data = opened(tmp_path, {"calls.jsonl": CALLS}, "weave")
    assert data.outcomes.head(5).select("item", "trial", "metric", "status", "score").rows() == [
        ("r1", 0, "match", "scored", 1.0),
        ("r1", 0, "judge/tone", "scored", 0.5),
        ("r1", 0, "judge/facts/right", "scored", 1.0),
        ("r1", 0, "none", "unscored", None),
        ("r1", 1, "match", "scored", 0.0),
    ]
    late = data.outcomes.tail(12)
    assert late.unique("item", maintain_order=True).select("item", "status", "status_reason").rows() == [
        ("r2", "error", "ValueError: boom"),
        ("r3", "error", "the model's call failed"),
        ("r4", "unscored", "the scorers gave no value"),
    ]
    assert data.outcomes["link"][0] == "https://wandb.ai/lab/qa/r/call/c1"
    assert data.runs["model"][0] == "MyModel:a1b2c3"
    assert "1 values of scorers are texts" in said(data)
    assert "1 calls are not predict_and_score" in said(data)


def answer(*rows: tuple[str, dict[str, list[Row]]]) -> Row:
    def trial(scores: Row, output: object = "4") -> Row:
        return {"predict_and_score_call_id": "c", "model_output": output, "scores": scores, "total_cost": 0.01}

    found = [
        {
            "row_digest": digest,
            "raw_data_row": {"q": "2+2"},
            "evaluations": [
                {"evaluation_call_id": name, "trials": [trial(scores) for scores in trials]}
                for name, trials in evaluations.items()
            ],
        }
        for digest, evaluations in rows
    ]
    about = [
        {"evaluation_call_id": name, "display_name": f"eval {name}", "model_ref": f"weave:///l/q/object/{name}:0f"}
        for name in dict.fromkeys(name for _, evaluations in rows for name in evaluations)
    ]
    return {"rows": found, "summary": {"evaluations": about, "row_count": 1}, "total_rows": len(found), "warnings": []}


ANSWER = answer(("d1", {"old": [{"m": True}, {"m": False}], "new": [{"m": True}]}), ("d2", {"old": [{}]}))


def test_the_answer_of_a_query(tmp_path: Path) -> None:
    data = opened(tmp_path, {"results.json": ANSWER}, "weave")
    assert data.outcomes.select("model", "item", "trial", "status", "score").rows() == [
        ("old:0f", "d1", 0, "scored", 1.0),
        ("old:0f", "d1", 1, "scored", 0.0),
        ("new:0f", "d1", 0, "scored", 1.0),
        ("old:0f", "d2", 0, "unscored", None),
    ]
    assert data.runs["system"].to_list() == ["eval old", "eval new"]


def test_odd_records(tmp_path: Path) -> None:
    odd = [call(inputs={}), call("r9", scores={"a": [1], "b": "x", "_type": "T", "c": float("nan")})]
    data = opened(
        tmp_path, {"calls.jsonl": [*odd, call(inputs={"example": {"q": 1}, "model": {"name": "m"}})]}, "weave"
    )
    assert data.outcomes.select("metric", "status").head(1).rows() == [("c", "unscored")]
    assert "(no example): line 1" in said(data, "error")


def test_two_evaluations_pair(tmp_path: Path) -> None:
    rows = [(f"d{n}", {"old": [{"m": n % 2 > 0}], "new": [{"m": n % 3 > 0}]}) for n in range(30)]
    result = es.compare(opened(tmp_path, {"r.json": answer(*rows)}, "weave"), "eval old", "eval new")
    assert (result.n_items, result.estimate) == (30, pytest.approx(20 / 30 - 15 / 30))
