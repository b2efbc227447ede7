"""RUT-Bench: no real result file is public, so every file here is hand-written after the evaluation script."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.rutbench import BEHAVIOURS, FORMAT
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData, Problem

METRICS = (
    *("success", "semantic_success", "efficiency", "task_score"),
    *("reliability", "faithfulness", "clarification", "tool_discipline"),
)


def completion(
    *, semantic: bool = True, passed: int = 3, diff: bool = True, forbidden: Sequence[str] = ()
) -> dict[str, object]:
    """A completion whose relaxed success is: passed == 3, diff, nothing forbidden."""
    return {
        **dict.fromkeys(("passed", "success", "semantic_success", "strict_success"), semantic),
        **{name: float(semantic) for name in ("sr", "semantic_sr", "strict_sr")},
        "final_state_assertion_pass_count": passed,
        "final_state_assertion_total": 3,
        "expected_state_diff_passed": diff,
        "forbidden_action_violations": list(forbidden),
        "hard_failures": [],
        "soft_failures": [],
    }


def judgment(**changes: object) -> dict[str, object]:
    content: dict[str, object] = {
        "judge_model": "gpt-4o",
        "faithfulness_score": 3,
        "clarification_score": 2,
        "tool_discipline_score": 2,
        "reliability": 0.7,
        "judge_error": None,
    }
    return content | changes


def sample(
    task: object = "env_9_env_9_cfg_1_task_2", behaviour: str = "stable", **changes: object
) -> dict[str, object]:
    """One sample as the evaluation script writes it."""
    variant = "stable" if behaviour == "stable" else "unstable"
    content: dict[str, object] = {
        "sample_id": f"{task}_{behaviour}",
        "task_id": task,
        "env_id": "env_9",
        "variant": variant,
        "difficulty_bucket": "medium",
        "task_type": "execute",
        "num_user_turns": 2,
        "min_required_action_turn": 0,
        "profile_bundle": [] if variant == "stable" else ["unstable_taxonomy_v1"],
        "behavior_bundle": [] if variant == "stable" else [behaviour],
        "unstable_behavior": "" if variant == "stable" else behaviour,
        "run": {"transcript": [{"role": "user", "content": "hi"}], "run_error": None},
        "completion": completion(),
        "efficiency": {
            "min_required_action_turns": 6,
            "actual_user_turn_count": 2,
            "actual_total_action_turns": 9,
            "efficiency": 0.6667,
            "task_score": 0.6667,
        },
        "reliability": judgment(),
    }
    return content | changes


def crashed(task: str = "t1", behaviour: str = "stable") -> dict[str, object]:
    """A crash as the script writes it: an empty conversation, whose completion passes for want of assertions."""
    empty = completion() | {"final_state_assertion_total": 0, "final_state_assertion_pass_count": 0}
    return sample(
        task,
        behaviour,
        run={"transcript": [], "run_error": "Timeout: no answer\nTraceback"},
        completion=empty,
        reliability=judgment(
            faithfulness_score=0, reliability=0.0, judge_error="run failed before reliability scoring"
        ),
    )


METADATA: dict[str, object] = {
    "generated_at": "2026-06-10T09:00:00+00:00",
    "benchmark_file": "eval/benchmark/RUT-Bench.jsonl",
    "blueprint_file": "eval/benchmark/task_blueprints.jsonl",
    "model": "toy-1",
    "agent_provider": "openai",
    "thinking_budget": None,
    "temperature": 0.0,
    "judge_model": "gpt-4o",
    "max_samples": 0,
    "skip_reliability": False,
}


def write(path: Path, samples: object, summary: dict[str, object] | None = None, **metadata: object) -> Path:
    content = {"metadata": METADATA | metadata, "summary": summary or {}, "samples": samples}
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
    return path


def load(path: Path) -> EvalData:
    return read_source(FORMAT, with_digest(Source(path=path)))


def values(data: EvalData, metric: str) -> list[float | None]:
    return data.outcomes.filter(metric=metric)["score"].to_list()


def said(data: EvalData) -> str:
    assert all(problem.severity == "note" for problem in data.problems)
    return " | ".join(problem.message for problem in data.problems)


def test_a_crossed_file(tmp_path: Path) -> None:
    versions = ("stable", *BEHAVIOURS)
    path = write(tmp_path / "eval_results.json", [sample(f"t{n}", one) for n in range(3) for one in versions])
    match = FORMAT.sniff(read_head(path))
    assert match is not None
    assert (match.confidence, match.skip) == (0.95, False)
    data = load(path)
    (run,) = data.runs.to_dicts()
    n_rows = 3 * len(versions) * len(METRICS)  # counted by hand: 3 tasks, 7 users, 8 metrics
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (n_rows, 0, 0) == (168, 0, 0)
    assert set(data.outcomes["item"].to_list()) == {"t0", "t1", "t2"}
    assert set(data.outcomes["variant"].to_list()) == set(versions)
    assert data.outcomes["variant"].to_list() == data.outcomes["scenario"].to_list()
    kinds = dict(data.outcomes.select("scenario", "user_kind").unique().rows())
    assert kinds["stable"] == "ideal"
    assert {kinds[behaviour] for behaviour in BEHAVIOURS} == {"non_ideal"}
    assert set(data.outcomes["trial"].to_list()) == {0}
    assert data.factor("unstable_behavior") == "scenario"
    assert data.problems == ()


def test_one_row_in_full(tmp_path: Path) -> None:
    data = load(write(tmp_path / "r.json", [sample(behaviour="goal_switching")]))
    rows = {one["metric"]: one for one in data.outcomes.to_dicts()}
    assert tuple(rows) == METRICS
    assert {name: row["score"] for name, row in rows.items()} == {
        "success": 1.0,
        "semantic_success": 1.0,
        "efficiency": 0.6667,
        "task_score": 0.6667,
        "reliability": 0.7,
        "faithfulness": 3.0,
        "clarification": 2.0,
        "tool_discipline": 2.0,
    }
    one = rows["success"]
    assert (one["item"], one["tags"], one["env_id"]) == ("env_9_env_9_cfg_1_task_2", ["goal_switching"], "env_9")
    assert (one["difficulty"], one["task_type"], one["num_user_turns"], one["n_turns"]) == ("medium", "execute", 2, 2)
    assert one["min_required_action_turns"] == 6  # not the row's own key, which is always 0
    assert (one["judge"], rows["faithfulness"]["judge"]) == (None, "gpt-4o")


def test_metrics_have_their_scales(tmp_path: Path) -> None:
    table = {one["metric"]: one for one in load(write(tmp_path / "r.json", [sample()])).metrics.to_dicts()}
    assert {name: (one["kind"], one["high"]) for name, one in table.items()} == {
        "success": ("binary", 1.0),
        "semantic_success": ("binary", 1.0),
        "efficiency": ("bounded", 1.0),
        "task_score": ("bounded", 1.0),
        "reliability": ("bounded", 1.0),
        "faithfulness": ("ordinal", 4.0),
        "clarification": ("ordinal", 3.0),
        "tool_discipline": ("ordinal", 3.0),
    }
    assert [name for name, one in table.items() if one["primary"]] == ["success"]


@pytest.mark.parametrize(
    ("given", "relaxed"),
    [
        (completion(semantic=False), 1.0),  # only reads, writes or their order are wrong
        (completion(semantic=False, passed=2), 0.0),
        (completion(semantic=False, diff=False), 0.0),
        (completion(semantic=False, forbidden=["deleted a user"]), 0.0),
        (completion(), 1.0),
    ],
)
def test_success_is_the_relaxed_one_and_semantic_the_stricter(
    tmp_path: Path, given: dict[str, object], relaxed: float
) -> None:
    data = load(write(tmp_path / "r.json", [sample(completion=given)]))
    assert values(data, "success") == [relaxed]
    assert values(data, "semantic_success") == [given["sr"]]


@pytest.mark.parametrize("name", ["semantic_sr", "sr", "semantic_success", "success", "passed"])
def test_semantic_success_goes_by_five_names(tmp_path: Path, name: str) -> None:
    data = load(write(tmp_path / "r.json", [sample(completion={name: False, "expected_state_diff_passed": True})]))
    assert values(data, "semantic_success") == [0.0]
    assert values(data, "success") == [1.0]


def test_a_stored_relaxed_success_is_used(tmp_path: Path) -> None:
    agreeing = sample("t1", relaxed_completion={"relaxed_success": True, "relaxed_sr": 1.0})
    other = sample("t2", relaxed_completion={"relaxed_success": False, "relaxed_sr": 0.0})
    data = load(write(tmp_path / "eval_results_relaxed.json", [agreeing, other]))
    assert values(data, "success") == [1.0, 0.0]


def test_a_crash_is_an_error_in_every_metric_though_it_passes(tmp_path: Path) -> None:
    data = load(write(tmp_path / "r.json", [crashed("t1"), sample("t2")]))
    crash = data.outcomes.filter(item="t1")
    assert crash["status"].to_list() == ["error"] * len(METRICS)
    assert crash["score"].null_count() == len(METRICS)
    assert set(crash["status_reason"].to_list()) == {"Timeout: no answer"}
    assert crash.filter(metric="success")["value_raw"].to_list() == ["1"]  # what the harness would count
    (run,) = data.runs.to_dicts()
    assert (run["n_scored"], run["n_error"]) == (len(METRICS), len(METRICS))
    assert "1 samples crashed" in said(data)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (judgment(judge_model=None, judge_error="skipped", faithfulness_score=0), "judge: skipped"),
        (judgment(judge_error="429 Too Many Requests\nretry", faithfulness_score=0), "judge: 429 Too Many Requests"),
        (judgment(judge_model=None), "judge: none"),
        (None, "the sample has no judgment"),
    ],
)
def test_the_zeros_of_a_judge_who_did_not_judge_are_no_scores(tmp_path: Path, given: object, reason: str) -> None:
    data = load(write(tmp_path / "r.json", [sample(reliability=given)]))
    judged = data.outcomes.filter(data.outcomes["metric"].is_in(METRICS[4:]))
    assert judged["status"].to_list() == ["unscored"] * 4
    assert set(judged["status_reason"].to_list()) == {reason}
    assert values(data, "success") == [1.0]


def test_scores_off_their_scale_are_unscored(tmp_path: Path) -> None:
    odd = sample(reliability=judgment(faithfulness_score=5), completion=completion() | {"semantic_sr": 0.4})
    rows = {one["metric"]: one for one in load(write(tmp_path / "r.json", [odd])).outcomes.to_dicts()}
    assert (rows["faithfulness"]["status"], rows["faithfulness"]["value_raw"]) == ("unscored", "5")
    assert rows["faithfulness"]["status_reason"] == "the score lies outside 0 to 4"
    assert (rows["semantic_success"]["status"], rows["semantic_success"]["value_raw"]) == ("unscored", "0.4")


def test_without_a_shortest_solution_there_is_no_efficiency(tmp_path: Path) -> None:
    none = {"min_required_action_turns": 0, "efficiency": 0.0, "task_score": 0.0}
    data = load(write(tmp_path / "r.json", [sample(efficiency=none), sample("t2", efficiency={}, completion={})]))
    assert values(data, "efficiency") == [None, None]
    assert values(data, "task_score") == [None, None]
    assert values(data, "success") == [1.0, None]  # an absent completion is not a success


@pytest.mark.parametrize(
    ("changes", "behaviour", "item"),
    [
        ({}, "goal_switching", "t1"),
        # the version in the task's id, as samples of the expanded benchmark may carry it
        ({"task_id": "t1_goal_switching"}, "goal_switching", "t1"),
        ({"task_id": "t1_unstable"}, "goal_switching", "t1"),
        ({"task_id": None, "sample_id": "t1_goal_switching"}, "goal_switching", "t1"),
        ({"task_id": "t1_u7", "source_task_id": "t1"}, "goal_switching", "t1"),
        # an id that ends in another version's name is left alone
        ({"task_id": "t1_impatience_and_hostility"}, "goal_switching", "t1_impatience_and_hostility"),
        ({"task_id": 17}, "goal_switching", "17"),
        ({"variant": "noncollab"}, "goal_switching", "t1"),
        ({"variant": None}, "goal_switching", "t1"),
        ({"unstable_behavior": ""}, "goal_switching", "t1"),
        ({"unstable_behavior": None, "behavior_bundle": []}, "goal_switching", "t1"),
        ({"unstable_behavior": "", "behavior_bundle": [], "sample_id": "t1_unstable"}, "unstable", "t1"),
        ({"unstable_behavior": "", "behavior_bundle": ["a", "b"], "sample_id": "t1_unstable"}, "unstable", "t1"),
    ],
)
def test_base_task_and_behaviour_of_an_unstable_sample(
    tmp_path: Path, changes: dict[str, object], behaviour: str, item: str
) -> None:
    data = load(write(tmp_path / "r.json", [sample("t1", "goal_switching", **changes)]))
    one = data.outcomes.to_dicts()[0]
    assert (one["variant"], one["item"], one["user_kind"]) == (behaviour, item, "non_ideal")


@pytest.mark.parametrize(
    "changes", [{}, {"variant": "collab"}, {"variant": None}, {"task_id": "t1_stable"}, {"unstable_behavior": None}]
)
def test_base_task_of_a_stable_sample(tmp_path: Path, changes: dict[str, object]) -> None:
    one = load(write(tmp_path / "r.json", [sample("t1", **changes)])).outcomes.to_dicts()[0]
    assert (one["variant"], one["item"], one["user_kind"]) == ("stable", "t1", "ideal")


def test_the_run_keeps_the_metadata(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", [sample()], judge_temperature=0.0, max_samples=20, simulated="beta(2, 3) users")
    (run,) = load(path).runs.to_dicts()
    assert (run["model"], run["judge"], run["temperature"], run["item_limit"]) == ("toy-1", "gpt-4o", 0.0, 20)
    assert run["timestamp"].isoformat() == "2026-06-10T09:00:00+00:00"
    assert (run["note"], run["simulated"]) == (None, "beta(2, 3) users")
    assert json.loads(run["config"])["agent_provider"] == "openai"
    assert (run["factor_names"], run["dependence"]) == (["unstable_behavior=scenario"], [])
    assert load(write(tmp_path / "s.json", [sample()], simulated=True)).runs["simulated"].to_list() == ["yes"]
    assert load(write(tmp_path / "u.json", [sample()], simulated=False)).runs["simulated"].to_list() == [None]


def test_a_local_backend_has_a_path_for_a_model(tmp_path: Path) -> None:
    local = {"model": "/models/Qwen3-8B", "model_backend": "local_hf", "dtype": "bfloat16", "load_in_4bit": True}
    (run,) = load(write(tmp_path / "r.json", [sample()], **local)).runs.to_dicts()
    assert run["model"] == "/models/Qwen3-8B"
    assert json.loads(run["config"])["load_in_4bit"] is True


def relaxed_copy(path: Path, model: str = "toy-1") -> Path:
    metadata = {
        "generated_at": "2026-06-11T09:00:00+00:00",
        "source_eval_result_file": "/x/r.json",
        "source_model": model,
    }
    content = {"metadata": metadata | {"criteria": []}, "summary": {}, "samples": [sample()]}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_rescored_copy_is_not_read_beside_its_original(tmp_path: Path) -> None:
    original = write(tmp_path / "eval_results.json", [sample()])
    copy = relaxed_copy(tmp_path / "eval_results_relaxed.json")
    source, problem = FORMAT.plan([original, copy])
    assert isinstance(source, Source)
    assert source.path == original
    assert isinstance(problem, Problem)
    assert (problem.path, problem.severity) == (str(copy), "note")
    alone = list(FORMAT.plan([copy]))
    assert [part.path for part in alone if isinstance(part, Source)] == [copy]
    assert FORMAT.sniff(read_head(copy)) is not None
    assert load(copy).models() == ("toy-1",)


def test_a_rescored_copy_of_another_model_is_read(tmp_path: Path) -> None:
    files = [write(tmp_path / "eval_results.json", [sample()])]
    files.append(relaxed_copy(tmp_path / "eval_results_relaxed.json", "toy-2"))
    assert [part.path for part in FORMAT.plan(files) if isinstance(part, Source)] == files


# Two samples: both a relaxed success, one a semantic one; efficiencies as in `sample`.
TWO = [sample("t1"), sample("t2", completion=completion(semantic=False))]
RIGHT: dict[str, object] = {
    "sample_count": 2,
    "success_rate": 1.0,
    "semantic_success_rate": 1.0,  # relaxed in spite of its name
    "strict_success_rate": 0.5,
    "avg_efficiency": 0.6667,
    "avg_reliability": 0.7,
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ""),
        ({"sample_count": 3}, "the summary counts 3 samples, the file holds 2"),
        ({"missing_runtime_task_ids": ["t8", "t9"]}, "2 samples had no environment and are missing (t8, t9)"),
    ],
)
def test_the_summary_is_checked_against_the_samples(tmp_path: Path, changes: dict[str, object], expected: str) -> None:
    message = said(load(write(tmp_path / "r.json", TWO, RIGHT | changes)))
    assert message == "" if not expected else expected in message


def test_a_summary_over_crashes_and_failed_judgments_is_no_contradiction(tmp_path: Path) -> None:
    unjudged = sample("t2", reliability=judgment(judge_error="500", reliability=0.0))
    # as the harness counts: the crash is a success, both missing judgments are 0
    summary: dict[str, object] = {"sample_count": 2, "success_rate": 1.0, "avg_reliability": 0.0}
    assert "summary" not in said(load(write(tmp_path / "r.json", [crashed("t1"), unjudged], summary)))


def test_samples_before_the_metadata_are_read(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    long = sample(run={"transcript": [{"role": "user", "content": "x" * 100_000}], "run_error": None})
    path.write_text(json.dumps({"samples": [long], "summary": {"sample_count": 7}, "metadata": METADATA}))
    match = FORMAT.sniff(read_head(path))
    assert match is not None
    assert match.confidence == 0.8
    data = load(path)
    assert data.models() == ("toy-1",)
    assert "counts 7 samples" in said(data)


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (sample("t1"), "copies of earlier ones"),
        (sample("t2", unstable_behavior="goal_switching"), "stable, but with an unstable_behavior"),
        (sample(variant=None, sample_id="x"), "no variant, stable or unstable"),
        (sample(task_id=None, sample_id=None), "no task_id or sample_id"),
        (7, "no JSON object"),
    ],
)
def test_bad_samples_are_left_out_and_named(tmp_path: Path, bad: object, expected: str) -> None:
    data = load(write(tmp_path / "r.json", [sample("t1"), bad]))
    assert data.outcomes["item"].unique().to_list() == ["t1"]
    (problem,) = (problem for problem in data.problems if problem.severity == "error")
    assert problem.message == f"1 of 2 samples are dropped ({expected}): samples[1]"


@pytest.mark.parametrize("samples", [[], None])
def test_a_file_without_samples_is_refused(tmp_path: Path, samples: object) -> None:
    with pytest.raises(UnreadableFileError, match="none of its samples could be read"):
        load(write(tmp_path / "r.json", samples))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", [sample()])
    whole = path.read_text()
    path.write_text(whole[:-50])
    with pytest.raises(UnreadableFileError, match="is not valid JSON at character"):
        load(path)
    path.write_text("")
    with pytest.raises(UnreadableFileError, match="is empty"):
        load(path)
    path.write_bytes(whole.replace("hi", "h\u00e9").encode("latin-1"))
    with pytest.raises(UnreadableFileError, match="utf-8"):
        load(path)
    path.write_text(whole.replace('"model"', '"no_model"'))
    with pytest.raises(UnreadableFileError, match="metadata has no model"):
        load(path)


def test_hostile_names_stay_data(tmp_path: Path) -> None:
    name = "../../x'); DROP TABLE runs; --<script>"
    data = load(write(tmp_path / "r.json", [sample("../../etc/passwd", env_id=name)], model=name))
    one = data.outcomes.to_dicts()[0]
    assert (one["model"], one["env_id"], one["item"]) == (name, name, "../../etc/passwd")


def test_the_benchmark_itself_is_passed_over(tmp_path: Path) -> None:
    benchmark = dict.fromkeys(("sample_id", "env_id", "config_id", "task_id", "variant", "unstable_behavior"), "")
    lines = tmp_path / "RUT-Bench.jsonl"
    lines.write_text(json.dumps(benchmark) + "\n" + json.dumps(benchmark) + "\n")
    blueprints = tmp_path / "task_blueprints.jsonl"  # JSON in spite of its name
    blueprints.write_text(json.dumps({"items": [{"env_id": "env_1", "env_class_code": ".."}]}, indent=2))
    for path in (lines, blueprints):
        match = FORMAT.sniff(read_head(path))
        assert match is not None, path
        assert match.skip, path
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"metadata": {"model": "m"}, "summary": {}, "samples": []}))
    assert FORMAT.sniff(read_head(other)) is None
