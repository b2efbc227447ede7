"""Tenacious-Bench by its other authors: lines of arms, wide and long, runs of tau2-bench beside them, published numbers."""

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
TAU = {
    "trace_id": "t1",
    "condition": "baseline",
    "trial": 1,
    "task_id": "held_001",
    "domain": "retail",
    "pass": 1,
    "latency_seconds": 492.16,
    "cost_usd": 0.0243,
    "model": "gpt-4.1",
    "timestamp": "2026-04-25T10:00:00Z",
}
SIMULATION = {
    "agent_cost": 0.017,
    "domain": "retail",
    "duration": 106.8,
    "reward": 1.0,
    "simulation_id": "9f1b",
    "task_id": "1",
    "termination_reason": "user_stop",
}
SCORES = {
    "avg_agent_cost": 0.0199,
    "domain": "retail",
    "evaluated_simulations": 150,
    "num_trials": 5,
    "p50_latency_seconds": 105.9521,
    "pass_at_1": 0.7267,
    "pass_at_1_ci_95": [0.6504, 0.7917],
    "total_tasks": 30,
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


def test_conversations_of_tau2_beside_the_benchmark(tmp_path: Path) -> None:
    data = lines(tmp_path / "x.jsonl", TAU, TAU | {"trial": 2, "pass": 0}, TAU | {"condition": "soft"}, TAU)
    assert data.outcomes.select("benchmark", "task", "system", "trial", "score").rows() == [
        ("tau2-bench", "retail", "gpt-4.1 (baseline)", 1, 1.0),
        ("tau2-bench", "retail", "gpt-4.1 (baseline)", 2, 0.0),
        ("tau2-bench", "retail", "gpt-4.1 (soft)", 1, 1.0),
    ]
    assert data.models() == ("gpt-4.1",)
    assert "(copies of earlier ones): line 4" in told(data, "error")


def test_simulations_without_their_conversations(tmp_path: Path) -> None:
    again = SIMULATION | {"simulation_id": "2", "reward": 0.0}
    broken = SIMULATION | {"simulation_id": "3", "termination_reason": "infrastructure_error"}
    span = {"trace_id": "tr", "name": "enrich"}
    data = lines(tmp_path / "trace_log.jsonl", SIMULATION, again, broken, SIMULATION, span)
    assert data.outcomes.select("item", "trial", "score", "status", "cost_usd", "latency_s").rows() == [
        ("1", 0, 1.0, "scored", 0.017, 106.8),
        ("1", 1, 0.0, "scored", 0.017, 106.8),
        ("1", 2, None, "error", 0.017, 106.8),
    ]
    assert "the file does not name its model" in told(data)
    assert sorted(told(data, "error").split("\n")) == [
        "1 of 5 lines are dropped (copies of earlier ones): line 4",
        "1 of 5 lines are dropped (no task_id): line 5",
    ]


def test_the_scores_of_a_run_of_tau2(tmp_path: Path) -> None:
    path = tmp_path / "score_log.json"
    path.write_text(json.dumps(SCORES))
    data = read(path)
    assert data.aggregates.select("benchmark", "task", "metric", "estimate", "conf_low", "n", "unit").rows() == [
        ("tau2-bench", "retail", "pass_at_1", 0.7267, 0.6504, 150, "proportion"),
        ("tau2-bench", "retail", "agent_cost_usd", 0.0199, None, 150, "US dollars"),
        ("tau2-bench", "retail", "p50_latency", 105.9521, None, 150, "seconds"),
    ]
    better = dict(data.metrics.select("metric", "higher_is_better").rows())
    assert (better["pass_at_1"], better["agent_cost_usd"]) == (True, False)


@pytest.mark.parametrize("n", [1e308, -1, 12.5, "many"])
def test_a_count_that_is_none_is_left_out_and_told(tmp_path: Path, n: object) -> None:
    path = tmp_path / "score_log.json"
    path.write_text(json.dumps(SCORES | {"evaluated_simulations": n}))
    data = read(path)
    assert data.aggregates.filter(metric="pass_at_1").select("estimate", "n").row(0) == (0.7267, None)
    assert any("number of votes or items behind pass_at_1" in problem.message for problem in data.problems)


PUBLISHED: tuple[tuple[dict[str, Any], list[tuple[Any, ...]]], ...] = (
    (
        {
            "run_mode": "full",
            "variant_summary": {"baseline": {"n": 50, "mean_score_pct": 93.44, "pass_rate": 0.86}},
            "delta_a_trained_vs_week10_baseline": {"n": 50, "mean_diff": 4.48, "ci95": {"low": 3.68, "high": 5.44}},
        },
        [("baseline", "passed", 0.86, None), ("baseline", "score", 93.44, None), ("trained", "delta_a", 4.48, 3.68)],
    ),
    (
        {
            "meta": {},
            "training_run": {},
            "variants": {},
            "comparisons": {},
            "statistics": {"C_judge": {"accuracy": 0.8525, "ci_95": [0.7705, 0.9344], "n": 61}},
        },
        [("C_judge", "correct", 0.8525, 0.7705)],
    ),
    (
        {
            "held_out_slice": "x",
            "deltas": {},
            "conditions": [{"condition": "baseline", "n": 20, "pass@1": 0.4, "95_ci": [0.219, 0.613]}],
        },
        [("baseline", "passed", 0.4, 0.219)],
    ),
    (
        {"held_out_task_count": 36, "baseline_mean": 6.69, "prompt_only_mean": 7.32, "trained_judge_mean": 8.06},
        [
            ("baseline", "score", 6.69, None),
            ("prompt_only", "score", 7.32, None),
            ("trained_judge", "score", 8.06, None),
        ],
    ),
    (
        {
            "bootstrap_samples": 9,
            "n_tasks": 50,
            "baseline": {"pass_rate": 0.34},
            "delta_b": {},
            "delta_a": {"delta": 0.043, "ci_lower": -0.012, "ci_upper": 0.103, "trained_pass_rate": 0.3},
        },
        [("trained", "passed", 0.3, None), ("trained", "delta_a", 0.043, -0.012)],
    ),
)


@pytest.mark.parametrize(("content", "expected"), PUBLISHED)
def test_published_numbers(tmp_path: Path, content: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    path = tmp_path / "ablation_results.json"
    path.write_text(json.dumps(content))
    found = read(path).aggregates.select("model", "metric", "estimate", "conf_low").rows()
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for name, record in (*(("tenacious-arms", each) for each in (LINE, WIDE, JUDGED, TAU)), ("tau2-log", SIMULATION)):
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
