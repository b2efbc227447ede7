"""Harbor's jobs: trials of a task, rewards as metrics, and failures that leave no valid reward."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from tests.loaders.trees import opened, said

Row = dict[str, Any]


def trial(task: object = "t1", reward: object = 1.0, model: str | None = "gpt", **changes: Any) -> Row:
    info = None if model is None else {"name": model, "provider": "openai"}
    times = {"started_at": "2026-01-02T03:04:05Z", "finished_at": "2026-01-02T03:05:05Z"}
    known = {"task_name": task, "trial_name": f"{task}__abc", "trial_uri": "file:///x", "task_id": {"path": "x"}}
    more = {"source": "terminal-bench", "task_checksum": "0f", "config": {}, "exception_info": None, **times}
    agent = {"agent_info": {"name": "terminus", "version": "2", "model_info": info}, "agent_execution": times}
    usage = {"agent_result": {"n_input_tokens": 9, "n_output_tokens": 3, "cost_usd": 0.5}}
    verified = None if reward is None else {"rewards": reward if isinstance(reward, dict) else {"reward": reward}}
    return {**known, **more, **agent, **usage, "verifier_result": verified, **changes}


def ended(name: str, *, valid: bool | None = None) -> Row:
    policy = None if valid is None else {"should_retry": True, "should_grade": True, "has_valid_reward": valid}
    return {"exception_type": name, "exception_message": "it did\nmore", "exception_traceback": "", "policy": policy}


SUMS = {"id": "x", "started_at": "2026-01-02T03:04:05Z", "n_total_trials": 5, "stats": {"n_completed_trials": 5}}
JOB: dict[str, object] = {
    "job1/result.json": SUMS,
    "job1/config.json": {"job_name": "job1", "jobs_dir": "jobs"},
    "job1/lock.json": {"schema_version": 3, "retry": {}, "trials": []},
    "job1/t1__Ab3dE5g/agent/trajectory.json": {"schema_version": "ATIF-v1.6", "session_id": "s", "steps": []},
    "job1/t1__Ab3dE5g/verifier/reward.json": {"reward": 1.0},
    "job1/t1__Ab3dE5g/lock.json": {"schema_version": 2},
    "job1/t1__Ab3dE5g/agent/sessions/log.jsonl": [{"item": "q", "model": "m", "score": 1}],
    "job1/t1__a/result.json": trial(),
    "job1/t1__b/result.json": trial(reward=0, exception_info=ended("AgentTimeoutError", valid=True)),
    "job1/t2__a/result.json": trial("t2", 0, exception_info=ended("ApiRateLimitError", valid=False)),
    "job1/t3__a/result.json": trial("t3", None, exception_info=ended("AgentSetupTimeoutError")),
    "job1/t4__a/result.json": trial("t4", None),
}


def test_a_job(tmp_path: Path) -> None:
    data = opened(tmp_path, JOB, "harbor")
    assert data.outcomes.select("item", "trial", "status", "score", "status_reason", "locator").rows() == [
        ("t1", 0, "scored", 1.0, None, "t1__a/result.json"),
        ("t1", 1, "scored", 0.0, "AgentTimeoutError: it did", "t1__b/result.json"),
        ("t2", 0, "error", None, "ApiRateLimitError: it did", "t2__a/result.json"),
        ("t3", 0, "error", None, "AgentSetupTimeoutError: it did", "t3__a/result.json"),
        ("t4", 0, "error", None, "the verifier gave no reward", "t4__a/result.json"),
    ]
    assert data.runs.height == 1
    run = data.runs.row(0, named=True)
    assert (run["model"], run["system"], run["benchmark"]) == ("openai/gpt", "openai/gpt (terminus)", "terminal-bench")
    first = data.outcomes.row(0, named=True)
    assert (first["latency_s"], first["cost_usd"], first["input_tokens"], first["metric"]) == (60.0, 0.5, 9, "reward")
    assert "1 trials have a reward although an exception ended them" in said(data)
    assert "3 rewards are errors" in said(data)
    assert said(data, "error") == ""


def test_several_rewards_agents_and_datasets(tmp_path: Path) -> None:
    oracle = trial(model=None, agent_info={"name": "oracle", "version": "1"}, source=None)
    files = {"j/a/result.json": trial(reward={"tests": 1, "style": "x"}), "j/b/result.json": oracle}
    data = opened(tmp_path, files, "harbor")
    assert data.outcomes.select("model", "benchmark", "metric", "status").rows() == [
        ("openai/gpt", "terminal-bench", "tests", "scored"),
        ("openai/gpt", "terminal-bench", "style", "unscored"),
        ("oracle", "Harbor", "reward", "scored"),
    ]


def test_a_trial_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    files = {"j/a/result.json": trial(), "j/b/result.json": trial(task=None)}
    data = opened(tmp_path, files, "harbor")
    assert data.outcomes.height == 1
    assert "expected str, got null - at $.task_name" in said(data, "error")


def test_two_jobs_pair(tmp_path: Path) -> None:
    files = {
        f"{model}/t{n}__x/result.json": trial(f"t{n}", float(n % every > 0), model)
        for model, every in (("old", 2), ("new", 3))
        for n in range(30)
    }
    result = es.compare(opened(tmp_path, files, "harbor"), "openai/old", "openai/new")
    assert (result.n_items, result.estimate) == (30, pytest.approx(20 / 30 - 15 / 30))
