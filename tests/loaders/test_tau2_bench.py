"""tau2-bench: both layouts of results, submissions, and every shape the format notes list."""

import gzip
import hashlib
import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.tau2_bench import FORMAT as LOADER
from evalstats.loaders.formats.tau2_bench import SUBMISSION
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData, Problem


def sim(task: object = "0", trial: object = 0, reward: object = 1.0, **changes: object) -> dict[str, object]:
    """One simulation as newer versions write it."""
    content: dict[str, object] = {
        "id": f"s-{task}-{trial}",
        "task_id": task,
        "timestamp": "2026-06-01T00:01:00",
        "start_time": "2026-06-01T00:00:00",
        "end_time": "2026-06-01T00:01:00",
        "duration": 41.2,
        "termination_reason": "user_stop",
        "agent_cost": 0.07,
        "user_cost": 0.01,
        "reward_info": {
            "reward": reward,
            "db_check": {"db_match": True, "db_reward": 1.0},
            "reward_basis": ["DB", "COMMUNICATE"],
            "reward_breakdown": {"DB": 1.0, "COMMUNICATE": reward},
        },
        "messages": [{"role": "assistant", "content": "Hi"}, {"role": "user", "content": "hi"}],
        "trial": trial,
        "seed": 1234,
        "mode": "half_duplex",
    }
    return content | changes


def ended(reason: str, task: str = "0", trial: int = 0, **changes: object) -> dict[str, object]:
    """A simulation that was never evaluated."""
    return sim(task, trial, termination_reason=reason, reward_info=None, **changes)


def results(
    simulations: Sequence[object] | None, *, trials: int = 1, tasks: int = 0, **changes: object
) -> dict[str, object]:
    """A results file of the text layout."""
    content: dict[str, object] = {
        "timestamp": "2026-06-01T00:00:00",
        "info": {
            "git_commit": "abc",
            "num_trials": trials,
            "max_steps": 200,
            "max_errors": 10,
            "user_info": {"implementation": "user_simulator", "llm": "u-llm", "llm_args": {"api_key": "sk-1"}},
            "agent_info": {"implementation": "llm_agent", "llm": "toy-1", "llm_args": {"temperature": 0.3}},
            "environment_info": {"domain_name": "retail", "policy": "Be kind."},
            "seed": 300,
        },
        "tasks": [{"id": str(n), "user_scenario": {}} for n in range(tasks)],
    }
    if simulations is not None:
        content["simulations"] = simulations
    return content | changes


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def load(path: Path) -> EvalData:
    loader = LOADER if LOADER.sniff(read_head(path)) else SUBMISSION
    (source,) = [part for part in loader.plan([path]) if isinstance(part, Source)]
    return read_source(loader, with_digest(source))


def rewards(data: EvalData) -> dict[tuple[str, int], dict[str, object]]:
    return {(one["item"], one["trial"]): one for one in data.outcomes.filter(metric="reward").to_dicts()}


def said(data: EvalData) -> str:
    assert all(problem.severity == "note" for problem in data.problems)
    return " | ".join(problem.message for problem in data.problems)


def test_a_single_file(tmp_path: Path) -> None:
    path = write(
        tmp_path / "toy-1_retail_default_u-llm_2trials.json", results([sim("0"), sim("0", 1, 0.0)], trials=2, tasks=1)
    )
    match = LOADER.sniff(read_head(path))
    assert match is not None
    assert (match.confidence, match.skip) == (0.95, False)
    data = load(path)
    first, second = rewards(data).values()
    assert (first["model"], first["system"], first["benchmark"], first["task"]) == (
        "toy-1",
        "toy-1",
        "tau2-bench",
        "retail",
    )
    assert [(one["score"], one["status"]) for one in (first, second)] == [(1.0, "scored"), (0.0, "scored")]
    assert (first["cost_usd"], first["user_cost_usd"], first["latency_s"]) == (0.07, 0.01, 41.2)
    assert (first["n_turns"], first["seed"], first["termination_reason"]) == (1, 1234, "user_stop")
    assert first["session"] == "s-0-0"
    parts = data.outcomes.filter(metric="reward/COMMUNICATE")
    assert parts.select("trial", "score").rows() == [(0, 1.0), (1, 0.0)]
    assert data.outcomes.filter(metric="reward/DB")["score"].to_list() == [1.0, 1.0]
    kinds = {one["metric"]: (one["kind"], one["primary"]) for one in data.metrics.to_dicts()}
    assert kinds == {
        "reward": ("binary", True),
        "reward/DB": ("binary", False),
        "reward/COMMUNICATE": ("binary", False),
    }
    assert data.problems == ()


def test_the_run_keeps_what_makes_runs_incomparable_and_no_secrets(tmp_path: Path) -> None:
    (run,) = load(write(tmp_path / "r.json", results([sim()]))).runs.to_dicts()
    assert (run["harness"], run["harness_version"], run["temperature"]) == ("tau2-bench", "abc", 0.3)
    # the policy that every agent of the run was given
    assert run["prompt_hash"] == hashlib.sha256(b"Be kind.").hexdigest()
    config = json.loads(run["config"])
    assert (config["seed"], config["user_info"]["llm"], config["max_steps"]) == (300, "u-llm", 200)
    assert "sk-1" not in run["config"]
    assert run["timestamp"].date() == date(2026, 6, 1)


def test_scaffold_and_effort_are_part_of_the_system(tmp_path: Path) -> None:
    content = results([sim()])
    info = content["info"]
    assert isinstance(info, dict)
    info["agent_info"] = {"implementation": "llm_agent_solo", "llm": "toy-1", "llm_args": {"reasoning_effort": "high"}}
    (run,) = load(write(tmp_path / "r.json", content)).runs.to_dicts()
    assert (run["model"], run["system"]) == ("toy-1", "toy-1 (llm_agent_solo, high)")


def test_a_model_that_only_the_voice_settings_name(tmp_path: Path) -> None:
    content = results([sim()])
    info = content["info"]
    assert isinstance(info, dict)
    info["agent_info"] = {"implementation": "discrete_time_audio_native_agent", "llm": None}
    info["audio_native_config"] = {"model": "voice-2", "reasoning_effort": "minimal"}
    (run,) = load(write(tmp_path / "r.json", content)).runs.to_dicts()
    assert run["system"] == "voice-2 (discrete_time_audio_native_agent, minimal)"


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("infrastructure_error", "error"),
        ("unexpected_error", "error"),
        ("user_error", "error"),
        ("agent_error", "unscored"),
        ("max_steps", "unscored"),
        ("timeout", "unscored"),
        ("too_many_errors", "unscored"),
        ("context_window_exceeded", "unscored"),
        ("user_stop", "unscored"),
        ("agent_stop", "unscored"),
    ],
)
def test_without_a_reward_the_reason_of_the_end_decides(tmp_path: Path, reason: str, status: str) -> None:
    absent = ended(reason, "1")
    del absent["reward_info"]
    data = load(write(tmp_path / "r.json", results([ended(reason), absent])))
    assert data.outcomes["status"].to_list() == [status, status]
    assert data.outcomes["score"].to_list() == [None, None]
    assert all(reason in str(text) for text in data.outcomes["status_reason"].to_list())


def test_a_reward_in_the_file_stands_except_where_the_conversation_never_ran(tmp_path: Path) -> None:
    simulations = [
        sim("0", reward=0.0, termination_reason="max_steps"),
        sim("1", reward=0.0, termination_reason="agent_error"),
        sim("2", reward=0.0, termination_reason="user_error"),
        sim("3", reward=0.0, termination_reason="infrastructure_error", info={"error": "API disconnect\ntrace"}),
    ]
    data = load(write(tmp_path / "r.json", results(simulations)))
    judged = rewards(data)
    assert [judged[str(n), 0]["score"] for n in range(3)] == [0.0, 0.0, 0.0]
    never = judged["3", 0]
    assert (never["status"], never["value_raw"]) == ("error", "0")
    assert never["status_reason"] == "infrastructure_error: API disconnect"
    assert data.problems == ()


def test_tokens_are_the_agents(tmp_path: Path) -> None:
    def said(role: str, given: object = None, written: object = None, **more: object) -> dict[str, object]:
        usage = None if given is None else {"prompt_tokens": given, "completion_tokens": written}
        return {"role": role, "content": "..", "usage": usage, **more}

    greeting = said("assistant", cost=0.0)
    spoken = [said("user", 7, 7), said("assistant", 10, 1, cost=0.1), said("tool"), said("assistant", 20, 2, cost=0.2)]
    voice = {"records": [{"input_tokens": 5, "output_tokens": 3}, {"input_tokens": 6, "output_tokens": None}]}
    simulations = [
        sim("whole", messages=[greeting, *spoken]),
        sim("one unknown", messages=[*spoken, said("assistant", cost=0.3)]),
        sim("odd", messages=[said("assistant", "ten", -1)]),
        sim("none", messages=[greeting]),
        sim("voice", messages=spoken, agent_usage=voice),
        sim("gone", messages=None),
    ]
    rows = load(write(tmp_path / "x.json", results(simulations))).outcomes.filter(metric="reward")
    found = {row["item"]: (row["input_tokens"], row["output_tokens"]) for row in rows.iter_rows(named=True)}
    nothing = (None, None)
    assert found == {
        "whole": (30, 3),
        "one unknown": nothing,
        "odd": nothing,
        "none": nothing,
        "voice": (11, None),
        "gone": nothing,
    }


def test_older_files_lack_the_later_keys(tmp_path: Path) -> None:
    old = {"id": "a", "task_id": 12, "termination_reason": "user_stop", "reward_info": {"reward": 1.0}, "trial": 0}
    data = load(write(tmp_path / "r.json", results([old])))
    (one,) = data.outcomes.to_dicts()
    assert (one["item"], one["score"], one["seed"], one["cost_usd"], one["n_turns"]) == ("12", 1.0, None, None, None)


def test_fractions_and_strange_parts(tmp_path: Path) -> None:
    info = {"reward": 0.9999999, "reward_breakdown": {"DB": 0.5, "NL_ASSERTION": "n/a"}}
    data = load(write(tmp_path / "r.json", results([sim(reward_info=info)])))
    rows = {one["metric"]: one for one in data.outcomes.to_dicts()}
    assert rows["reward"]["score"] == 1.0
    assert (rows["reward/NL_ASSERTION"]["status"], rows["reward/NL_ASSERTION"]["value_raw"]) == ("unscored", '"n/a"')
    kinds = dict(data.metrics.select("metric", "kind").rows())
    assert (kinds["reward"], kinds["reward/DB"]) == ("binary", "bounded")


def test_info_behind_the_simulations_is_found(tmp_path: Path) -> None:
    content = results([sim()])
    turned = {name: content[name] for name in ("simulations", "tasks", "info", "timestamp")}
    assert load(write(tmp_path / "r.json", turned)).models() == ("toy-1",)


def test_missing_simulations_and_trials_are_noted(tmp_path: Path) -> None:
    data = load(
        write(tmp_path / "r.json", results([sim("0", None), sim("0", None), sim("1", None)], trials=2, tasks=2))
    )
    assert set(rewards(data)) == {("0", 0), ("0", 1), ("1", 0)}
    assert "holds 3 of 4 simulations (2 tasks, 2 trials each)" in said(data)
    assert "3 simulations have no trial" in said(data)


@pytest.mark.parametrize("absent", [True, False])
def test_the_folder_layout(tmp_path: Path, absent: bool) -> None:
    main = write(tmp_path / "results.json", results(None if absent else [], trials=1, tasks=2, simulation_index=None))
    one = write(tmp_path / "simulations" / "s-0-0.json", sim("0"))
    two = write(tmp_path / "simulations" / "s-1-0.json.gz", sim("1", reward=0.0))
    write(tmp_path / "simulations" / ".hidden.json", "not even JSON")
    (tmp_path / "simulations" / "linked.json").symlink_to(one)
    (source,) = LOADER.plan([main, one, two])
    assert isinstance(source, Source)
    assert source.companions == (one, two)
    assert LOADER.sniff(read_head(one)) is not None
    data = load(main)  # the simulations are found though only results.json was named
    assert {place: row["score"] for place, row in rewards(data).items()} == {("0", 0): 1.0, ("1", 0): 0.0}
    assert data.runs["run"][0].startswith("results.toy-1.retail~")
    assert data.problems == ()


def test_simulations_are_found_by_the_folder_and_never_by_an_id_in_a_file(tmp_path: Path) -> None:
    outside = write(tmp_path / "elsewhere.json", sim("9"))
    index = [{"id": "../../elsewhere", "task_id": "5", "trial": 0, "reward": 0.0, "termination_reason": "max_steps"}]
    main = write(tmp_path / "run" / "results.json", results(None, simulation_index=index))
    write(tmp_path / "run" / "simulations" / "s-0-0.json", sim("0"))
    data = load(main)
    assert set(data.outcomes["item"].to_list()) == {"0", "5"}  # the index's own numbers, not the file it points to
    assert outside.exists()
    assert "1 simulations are only in simulation_index" in said(data)


def test_the_index_fills_in_for_files_that_are_not_there(tmp_path: Path) -> None:
    index = [
        {"id": "s-0-0", "task_id": "0", "trial": 0, "reward": 1.0, "termination_reason": "user_stop"},
        {"id": "gone", "task_id": 1, "trial": 0, "reward": None, "termination_reason": "infrastructure_error"},
    ]
    main = write(tmp_path / "results.json", results(None, simulation_index=index))
    write(tmp_path / "simulations" / "s-0-0.json", sim("0"))
    data = load(main)
    judged = rewards(data)
    assert {place[0]: row["status"] for place, row in judged.items()} == {"0": "scored", "1": "error"}
    assert "1 simulations are only in simulation_index" in said(data)


def test_results_in_a_folder_called_simulations_are_runs_of_their_own(tmp_path: Path) -> None:
    main = write(tmp_path / "results.json", results([sim("0")]))
    older = write(tmp_path / "simulations" / "older.json", results([sim("1")]))
    sources = list(LOADER.plan([main, older]))
    assert [(part.path, part.companions) for part in sources if isinstance(part, Source)] == [(main, ()), (older, ())]


def test_a_lone_simulation_is_a_fault_that_says_what_to_give(tmp_path: Path) -> None:
    lone = write(tmp_path / "simulations" / "s.json", sim())
    (problem,) = LOADER.plan([lone])
    assert isinstance(problem, Problem)
    assert problem.severity == "error"
    assert "results.json" in problem.message


def test_the_digest_covers_the_simulations(tmp_path: Path) -> None:
    main = write(tmp_path / "results.json", results(None))
    write(tmp_path / "simulations" / "s.json", sim())
    before = load(main).runs["run"][0]
    write(tmp_path / "simulations" / "s.json", sim(reward=0.0))
    assert load(main).runs["run"][0] != before


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (results([]), "it holds none at all"),
        (results([sim(None)]), "no task_id"),
        (json.dumps(results([sim()]))[:-40], "cut off"),
        (results([sim()], info={"agent_info": {}, "user_info": {}}), "names no agent_info.llm"),
        (results([sim()], info={"agent_info": {"llm": "m"}, "user_info": {}}), "or no domain_name"),
    ],
)
def test_bad_files_are_refused_by_name_and_place(tmp_path: Path, content: object, expected: str) -> None:
    path = write(tmp_path / "run.json", content)
    with pytest.raises(UnreadableFileError) as caught:
        load(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


def test_what_is_no_simulation_is_left_out_and_named(tmp_path: Path) -> None:
    data = load(write(tmp_path / "run.json", results([sim(7), 4, sim("7"), sim(8, reward=-2.0)])))
    assert rewards(data)["7", 0]["score"] == 1.0
    assert "1 of 4 simulations are dropped (no JSON object): simulations[1]" in str(data.problems)
    assert "1 of 4 simulations are dropped (copies of earlier ones): simulations[2]" in str(data.problems)
    odd = rewards(data)["8", 0]
    assert (odd["status"], odd["status_reason"]) == ("unscored", "the score lies outside 0 to 1")


def test_a_damaged_simulation_beside_the_results_is_named(tmp_path: Path) -> None:
    main = write(tmp_path / "results.json", results(None))
    write(tmp_path / "simulations" / "good.json", sim())
    broken = write(tmp_path / "simulations" / "s.json", json.dumps(sim())[:-20])
    packed = tmp_path / "simulations" / "s.json.gz"
    packed.write_bytes(gzip.compress(b"{" * 100_000)[:-30])
    data = load(main)
    assert data.outcomes["item"].unique().to_list() == ["0"]
    cut, damaged = data.problems
    assert (cut.path, damaged.path) == (str(broken), str(packed))
    assert cut.message.startswith("is not JSON, or is cut off")
    assert damaged.message.startswith("the compressed data are damaged")


def test_hostile_names_stay_data(tmp_path: Path) -> None:
    content = results([sim("../../etc/passwd")])
    info = content["info"]
    assert isinstance(info, dict)
    info["agent_info"]["llm"] = "=cmd|'/c calc'!A1\n<b>"
    info["environment_info"]["domain_name"] = "../up"
    (one,) = load(write(tmp_path / "r.json", content)).outcomes.filter(metric="reward").to_dicts()
    assert (one["model"], one["task"], one["item"]) == ("=cmd|'/c calc'!A1\n<b>", "../up", "../../etc/passwd")


def test_half_characters_and_impossible_settings_do_not_escape_as_other_errors(tmp_path: Path) -> None:
    content = results([sim()])
    info = content["info"]
    assert isinstance(info, dict)
    info["agent_info"]["llm"] = "m\ud800"  # a lone surrogate: JSON can hold it, a table cannot
    assert load(write(tmp_path / "r.json", content)).models() == ("m\ufffd",)
    info["agent_info"]["llm_args"]["temperature"] = -1
    with pytest.raises(UnreadableFileError, match="'temperature' is below 0"):
        load(write(tmp_path / "r.json", content))


def test_task_definitions_are_passed_over(tmp_path: Path) -> None:
    tasks = [{"id": "0", "description": None, "user_scenario": {}, "evaluation_criteria": {}}]
    files = {
        "tasks.json": tasks,
        "split_tasks.json": {"train": ["0"], "test": ["1"]},
        "manifest.json": {"submissions": ["a"], "voice_submissions": []},
        "schema.json": {"properties": {}, "title": "Tau2-Bench Leaderboard Submission"},
    }
    for name, content in files.items():
        head = read_head(write(tmp_path / name, content))
        match = LOADER.sniff(head) or SUBMISSION.sniff(head)
        assert match is not None, name
        assert match.skip, name
    assert LOADER.sniff(read_head(write(tmp_path / "x.json", {"train": ["0"]}))) is None
    assert SUBMISSION.sniff(read_head(write(tmp_path / "y.json", {"results": {}, "model_name": "m"}))) is None


def submission(**changes: object) -> dict[str, object]:
    """A leaderboard entry with one full domain, one partial and one empty."""
    content: dict[str, object] = {
        "model_name": "Toy 1",
        "model_organization": "Toys",
        "submitting_organization": "Toys",
        "submission_date": "2026-02-26",
        "submission_type": "standard",
        "results": {
            "retail": {"pass_1": 79.61, "pass_2": 67.4, "pass_3": 58.77, "pass_4": 51.75, "cost": 0.38695},
            "banking_knowledge": {"pass_1": 24.74, "pass_2": None, "cost": None, "retrieval_config": "alltools"},
            "airline": None,
        },
        "reasoning_effort": "high",
        "methodology": {"evaluation_date": "2026-02-20", "tau2_bench_version": "1.0.1", "user_simulator": "gpt-5.2"},
    }
    return content | changes


def test_a_submission_becomes_aggregates_in_percent(tmp_path: Path) -> None:
    path = write(tmp_path / "toy-1_toys_2026-02-26" / "submission.json", submission())
    data = load(path)
    numbers = data.aggregates.select("task", "metric", "estimate", "unit").rows()
    assert numbers == [
        ("retail", "pass^1", 79.61, "percent"),
        ("retail", "pass^2", 67.4, "percent"),
        ("retail", "pass^3", 58.77, "percent"),
        ("retail", "pass^4", 51.75, "percent"),
        ("retail", "cost_usd", 0.38695, "US dollars"),
        ("banking_knowledge", "pass^1", 24.74, "percent"),
    ]
    first = data.aggregates.to_dicts()[0]
    assert (first["model"], first["date"], first["value_raw"]) == ("Toy 1", date(2026, 2, 20), "79.61")
    assert (first["user_simulator"], first["harness_version"], first["retrieval_config"]) == ("gpt-5.2", "1.0.1", None)
    assert data.aggregates["retrieval_config"].to_list()[-1] == "alltools"
    (run,) = data.runs.to_dicts()
    assert (run["system"], run["harness_version"], run["n_scored"]) == ("Toy 1 (high)", "1.0.1", 0)
    kinds = {one["metric"]: one for one in data.metrics.to_dicts()}
    assert (kinds["pass^1"]["high"], kinds["pass^1"]["primary"], kinds["pass^2"]["primary"]) == (100.0, True, False)
    assert (kinds["cost_usd"]["kind"], kinds["cost_usd"]["higher_is_better"]) == ("continuous", False)
    assert data.problems == ()


def test_voice_submissions_bring_their_interaction_metrics(tmp_path: Path) -> None:
    measured = {"response_latency_mean": 3.59, "agent_interruption_rate": 0.23, "counts": {"n_simulations": 50}}
    content = submission(modality="voice", interaction_metrics={"domains": {"airline": measured}})
    data = load(write(tmp_path / "s.json", content))
    rows = {one["metric"]: one for one in data.aggregates.filter(task="airline").to_dicts()}
    latency = rows["interaction/response_latency_mean"]
    assert (latency["estimate"], latency["unit"], latency["n"]) == (3.59, "seconds", 50)
    assert set(rows) == {"interaction/response_latency_mean", "interaction/agent_interruption_rate"}
    better = dict(data.metrics.select("metric", "higher_is_better").rows())
    assert better["interaction/agent_interruption_rate"] is False


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"submission_type": "custom"}, "custom submission"),
        ({"results": {"retail": {"pass_1": 0.8}}}, "may be proportions"),
        ({"methodology": {"tau2_bench_version": "original tau-bench"}}, "first tau-bench"),
    ],
)
def test_what_a_reader_of_a_submission_must_know_is_noted(
    tmp_path: Path, changes: dict[str, object], expected: str
) -> None:
    assert expected in said(load(write(tmp_path / "s.json", submission(**changes))))


@pytest.mark.parametrize("value", [101.0, -1, "84%", True])
def test_a_rate_that_is_no_percentage_is_told(tmp_path: Path, value: object) -> None:
    data = load(write(tmp_path / "s.json", submission(results={"retail": {"pass_1": value, "pass_2": 50.0}})))
    assert "check their unit" in said(data) or "1 models could not be read" in said(data)


@pytest.mark.parametrize("place", ["A_EXAMPLE_m_o_2025.json", "A_EXAMPLE_m_o_2025/submission.json", "renamed.json"])
def test_templates_among_submissions_are_passed_over(tmp_path: Path, place: str) -> None:
    organization = "Example Organization" if place == "renamed.json" else "Toys"
    match = SUBMISSION.sniff(read_head(write(tmp_path / place, submission(model_organization=organization))))
    assert match is not None
    assert match.skip


def test_the_real_voice_run_has_one_simulation_without_a_reward(shared_data: Path) -> None:
    folder = shared_data / "tau_bench" / "tau2_results_dirformat"
    held = list((folder / "simulations").iterdir())
    data = load(folder / "results.json")
    (run,) = data.runs.to_dicts()
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (0, 0, len(held)) == (0, 0, 1)
    (one,) = data.outcomes.to_dicts()
    with gzip.open(held[0]) as stream:
        simulation = json.load(stream)
    assert (one["item"], one["seed"], one["latency_s"]) == ("20", simulation["seed"], simulation["duration"])
    assert (one["status_reason"], one["task"]) == ("not evaluated (ended by user_stop)", "retail")


def test_settings_nested_too_deeply_are_refused_in_words(tmp_path: Path) -> None:
    text = json.dumps(results([sim()])).replace('{"temperature": 0.3}', "[" * 200_000 + "]" * 200_000)
    with pytest.raises(UnreadableFileError, match="nested too deeply to be a result"):
        load(write(tmp_path / "results.json", text))
