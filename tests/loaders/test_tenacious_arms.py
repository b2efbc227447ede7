"""Tenacious-Bench by its other authors: lines of arms, wide and long."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import read, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

LINE: dict[str, Any] = {
    "task_id": "TBENCH-PRO-00094",
    "variant": "baseline",
    "variant_source": "file",
    "output": {"subject": "..", "body": ".."},
    "score": {
        "marker_scores": {"direct": 4, "grounded": 5},
        "marker_issues": {"direct": ["no_explicit_ask"], "grounded": []},
    },
    "aggregate_score_pct": 90.0,
    "pass": True,
    "latency_ms": 1.5,
    "cost_usd": 0.0,
    "approx_prompt_tokens": 165,
    "approx_output_tokens": 66,
}
WIDE = {"task_id": "TB-MS-0012", "baseline_score": 8, "trained_judge_score": 9.0, "prompt_only_score": 8.5}
JUDGED = {
    "trace_id": "H-1",
    "pair_id": "A07-006",
    "probe_id": "A07",
    "failure_type": "judgment",
    "difficulty": "easy",
    "variant": "C_judge",
    "ground_truth_label": 1,
    "judge_label": 1,
    "correct": True,
}


def lines(path: Path, *records: object) -> EvalData:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return read(path)


def test_a_line_for_a_task_and_an_arm(tmp_path: Path) -> None:
    data = lines(tmp_path / "held_out_traces.jsonl", LINE, LINE | {"variant": "trained", "pass": False})
    assert data.outcomes.select("model", "item", "metric", "score", "trial").rows() == [
        (model, LINE["task_id"], metric, score, 0)
        for model, passed in (("baseline", 1.0), ("trained", 0.0))
        for metric, score in (("passed", passed), ("score", 90.0), ("score/direct", 4.0), ("score/grounded", 5.0))
    ]
    row = data.outcomes.row(0, named=True)
    assert (row["benchmark"], row["latency_s"], row["input_tokens"]) == ("Tenacious-Bench", 0.0015, 165)
    bounds = {name: (low, high) for name, low, high in data.metrics.select("metric", "low", "high").rows()}
    assert (bounds["score"], bounds["score/direct"]) == ((0.0, 100.0), (1.0, 5.0))


def test_an_evaluation_that_failed_is_an_error_and_not_twenty_percent(tmp_path: Path) -> None:
    failed = {"marker_scores": {"direct": 1}, "marker_issues": {"direct": ["evaluation_error:KeyError"]}}
    data = lines(tmp_path / "x.jsonl", LINE | {"score": failed, "aggregate_score_pct": 20.0, "pass": False})
    assert data.outcomes["status"].to_list() == ["error"] * 3
    assert data.outcomes["status_reason"].unique().to_list() == ["evaluation_error:KeyError"]
    assert "3 outcomes are of evaluations that failed" in told(data)


def test_a_line_with_the_score_of_every_arm(tmp_path: Path) -> None:
    data = lines(tmp_path / "x.jsonl", WIDE | {"failure_mode": "tone", "latency_ms": 3}, WIDE | {"task_id": None})
    assert data.outcomes.select("model", "metric", "score", "scenario", "latency_s").rows() == [
        ("baseline", "score", 8.0, "tone", None),
        ("prompt_only", "score", 8.5, "tone", None),
        ("trained_judge", "score", 9.0, "tone", None),
    ]
    assert told(data, "error") == "1 of 2 lines are dropped (no task_id): line 2"


def test_a_judge_of_pairs(tmp_path: Path) -> None:
    data = lines(tmp_path / "x.jsonl", JUDGED, JUDGED | {"pair_id": "A07-007", "correct": None})
    assert data.outcomes.select("model", "item", "metric", "score", "status", "difficulty").rows() == [
        ("C_judge", "A07-006", "correct", 1.0, "scored", "easy"),
        ("C_judge", "A07-007", "correct", None, "unscored", "easy"),
    ]


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for name, record in (("tenacious-arms", each) for each in (LINE, WIDE, JUDGED)):
        path.write_text(f"{json.dumps(record)}\n" * 2)
        found, _ = sniffed(read_head(path))
        assert found is not None
        assert found[0].name == name


def test_two_arms_pair(tmp_path: Path) -> None:
    records = [
        LINE | {"task_id": f"t{k}", "variant": variant, "pass": k % step > 0}
        for variant, step in (("baseline", 2), ("trained", 3))
        for k in range(60)
    ]
    found = es.compare(lines(tmp_path / "x.jsonl", *records), "baseline", "trained", metric="passed")
    assert found.n_items == 60
    assert found.estimate == pytest.approx(1 / 6)
