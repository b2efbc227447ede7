"""Runs of agents: HAL, AgentBench, BrowserGym and ToolBench's ToolEval."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import sniffed
from evalstats.schema.data import EvalData

HAL: dict[str, Any] = {
    "config": {
        "agent_name": "HF Open Deep Research",
        "benchmark_name": "gaia",
        "date": "2026-01-02",
        "agent_args": {"model_name": "gpt-5", "key": {"a": 1}},
    },
    "results": {
        "accuracy": 0.5,
        "successful_tasks": ["t1"],
        "failed_tasks": ["t2"],
        "latencies": {"t1": {"total_time": 12.5}},
        "total_cost": 1.25,
    },
    "raw_eval_results": {"t1": {"score": 1, "explanation": "x"}, "t2": {"score": 0.25}},
    "task_step_counts": {"t1": 7},
}
EPISODE = "study/2026-01-01_10-00-00_GenericAgent-gpt-4o_on_webarena.12_0"
SUMMARY: dict[str, Any] = {"n_steps": 4, "cum_reward": 1.0, "cum_raw_reward": 0, "err_msg": None, "stack_trace": None}
SUMMARY |= {"stats.cum_cost": 0.5, "stats.cum_input_tokens": 900, "terminated": True, "truncated": False}
QUERY = {"query": "q", "task_solvable": "TaskStatus.Solvable", "answer_steps": [], "is_solved": "x"}
JUDGED = {"588": {"passed": 3, "failed": 1, **QUERY}, "589": {"passed": 0, "failed": 0, **QUERY}}


def sample(index: int, result: object = None, status: str = "completed", **changes: Any) -> dict[str, Any]:
    turns = [{"role": "user", "content": "x"}, {"role": "agent", "content": "y"}]
    output = {
        "index": index,
        "status": status,
        "result": {"result": True} if result is None else result,
        "history": turns,
    }
    known = {"index": index, "error": None, "info": None, "output": output}
    return {**known, "time": {"timestamp": 1767261600000, "str": "x"}, **changes}


def written(folder: Path, files: dict[str, object]) -> EvalData:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = content if isinstance(content, list) else [content]
        path.write_text("\n".join(map(json.dumps, lines)))
    return es.read(folder)


def test_hal_says_which_tasks_succeeded(tmp_path: Path) -> None:
    data = written(tmp_path, {"run_UPLOAD.json": HAL})
    assert data.outcomes.select("item", "metric", "score", "latency_s", "n_turns").rows() == [
        ("t1", "success", 1.0, 12.5, 7),
        ("t1", "score", 1.0, 12.5, 7),
        ("t2", "success", 0.0, None, None),
        ("t2", "score", 0.25, None, None),
    ]
    run = data.runs.row(0, named=True)
    assert (run["model"], run["system"], run["benchmark"]) == ("gpt-5", "HF Open Deep Research", "gaia")
    assert data.aggregates.select("metric", "estimate", "n").rows() == [("success", 0.5, 2), ("total cost", 1.25, None)]


def test_agent_bench_takes_agent_and_task_from_its_folders(tmp_path: Path) -> None:
    broken = sample(4, error="START_FAILED", info="no container", output=None)
    data = written(
        tmp_path,
        {
            "outputs/2026/gpt-4o/os-std/runs.jsonl": [sample(0), sample(1, {"result": False})],
            "outputs/2026/gpt-4o/os-std/error.jsonl": [broken],
            "outputs/2026/gpt-4o/webshop-std/runs.jsonl": [sample(0, {"reward": 0.5, "history": []})],
        },
    )
    assert data.outcomes.select("model", "task", "item", "metric", "score", "status", "n_turns").rows() == [
        ("gpt-4o", "os-std", "0", "result", 1.0, "scored", 1),
        ("gpt-4o", "os-std", "1", "result", 0.0, "scored", 1),
        ("gpt-4o", "os-std", "4", "result", None, "error", None),
        ("gpt-4o", "webshop-std", "0", "reward", 0.5, "scored", 1),
    ]
    assert data.outcomes["timestamp"][0].year == 2026


@pytest.mark.parametrize(
    ("result", "status", "expected"),
    [
        ({}, "agent context limit", ("scored", 0.0)),
        ({}, "task limit reached", ("scored", 0.0)),
        ({"result": True}, "task limit reached", ("scored", 1.0)),
        ({"result": False}, "task error", ("error", None)),
        ({"answer": "x"}, "completed", ("unscored", None)),
        ([], "running", ("unscored", None)),
    ],
)
def test_states_of_agent_bench(tmp_path: Path, result: object, status: str, expected: tuple[str, float | None]) -> None:
    data = written(tmp_path, {"o/agent/os/runs.jsonl": [sample(0, result, status)]})
    assert data.outcomes.select("status", "score").row(0) == expected


def test_browser_gym_takes_agent_task_and_seed_from_the_folder(tmp_path: Path) -> None:
    failed = {**SUMMARY, "cum_reward": 0, "err_msg": "ValueError: no action\nat line 1"}
    data = written(
        tmp_path,
        {
            f"{EPISODE}/summary_info.json": SUMMARY,
            f"{EPISODE.removesuffix('12_0')}13_None/summary_info.json": failed,
            "study/notes/summary_info.json": SUMMARY,
        },
    )
    assert data.outcomes.select("model", "scenario", "item", "variant", "score", "status").rows() == [
        ("GenericAgent-gpt-4o", "webarena", "webarena.12", "seed 0", 1.0, "scored"),
        ("GenericAgent-gpt-4o", "webarena", "webarena.13", "", None, "error"),
    ]
    assert data.outcomes.select("cost_usd", "n_turns", "input_tokens").row(0) == (0.5, 4, 900)
    assert data.runs.height == 1
    assert any("does not name agent, task and seed" in problem.message for problem in data.problems)


def test_tool_eval_counts_judgements(tmp_path: Path) -> None:
    data = written(tmp_path, {"G1_instruction_gpt-4.json": JUDGED})
    assert data.outcomes.select("model", "task", "item", "score", "n_trials", "status").rows() == [
        ("gpt-4", "G1_instruction", "588", 0.75, 4, "scored"),
        ("gpt-4", "G1_instruction", "589", None, None, "unscored"),
    ]
    assert data.metrics["kind"].to_list() == ["proportion"]


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content, name in ((HAL, "hal"), (SUMMARY, "browser-gym"), (JUDGED, "tool-eval"), ([sample(0)], "agent-bench")):
        path.write_text(json.dumps(content))
        found, _ = sniffed(read_head(path))
        assert found is not None
        assert found[0].name == name
