"""Simulated RUT-Bench files: the format key by key, the published rates, and a truth that the draws agree with."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.simulate.draws import apportion, intercept_for_rate
from evalstats.simulate.rutbench import rutbench_truth, simulate_rutbench, write_rutbench
from evalstats.simulate.rutbench_world import (
    BEHAVIOURS,
    DIFFICULTIES,
    RutEffects,
    RutModel,
    draw_run,
    make_design,
    published_models,
)

NULL = type(None)
# Keys by type as in github.com/Miaow-Lab/RUT-Bench @ d41a3fc: run_eval.py, completion.py and reliability.py in eval/,
# efficiency.py in benchmark_builder/eval/.
SHAPES: dict[str, dict[Any, str]] = {
    "metadata": {
        str: "generated_at benchmark_file blueprint_file model agent_provider judge_model variant_filter sample_id_filter "
        "simulated",
        NULL: "agent_base_url thinking_budget judge_base_url",
        float: "temperature judge_temperature",
        int: "max_samples max_steps max_workers",
        bool: "skip_reliability",
    },
    "summary": {int: "sample_count", list: "missing_runtime_task_ids", float: "success_rate strict_success_rate"},
    "sample": {
        str: "sample_id task_id env_id variant difficulty_bucket task_type unstable_behavior",
        int: "num_user_turns min_required_action_turn",
        list: "profile_bundle behavior_bundle",
        dict: "run completion efficiency reliability",
    },
    "run": {
        str: "sample_id agent_context_mode constraints_rules_text",
        list: "transcript actual_actions actual_tool_trace",
        dict: "initial_state final_state final_state_diff",
        (str, NULL): "run_error",
    },
    "completion": {
        bool: "passed success semantic_success strict_success expected_state_diff_passed clarification_satisfied "
        "refusal_satisfied",
        float: "sr semantic_sr strict_sr",
        str: "agent_context_mode task_type",
        int: "required_read_match_count required_read_total required_write_match_count required_write_total "
        "required_write_tool_name_match_count required_write_tool_name_total precedence_satisfied_count precedence_total "
        "final_state_assertion_pass_count final_state_assertion_total critical_final_state_assertion_pass_count "
        "critical_final_state_assertion_total",
        list: "forbidden_action_violations read_results write_results write_tool_name_results precedence_results "
        "final_state_results hard_failures soft_failures failures",
    },
    "efficiency": {
        int: "min_required_action_turns actual_user_turn_count actual_assistant_response_turn_count "
        "actual_assistant_tool_call_count actual_total_action_turns",
        bool: "success",
        float: "sr efficiency task_score",
    },
    "reliability": {
        str: "judge_model faithfulness_reason clarification_reason tool_discipline_reason",
        int: "faithfulness_score clarification_score tool_discipline_score",
        float: "reliability",
        (str, NULL): "judge_error",
    },
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return simulate_rutbench("GPT-5.4")


@pytest.fixture(scope="module")
def samples(document: dict[str, Any]) -> list[dict[str, Any]]:
    return document["samples"]


def relaxed(sample: dict[str, Any]) -> bool:
    """Success by the harness's headline rule, from the definition in its run_eval.py."""
    completion = sample["completion"]
    total, passed = completion["final_state_assertion_total"], completion["final_state_assertion_pass_count"]
    state = total in (0, passed)
    return state and completion["expected_state_diff_passed"] and not completion["forbidden_action_violations"]


def assert_shape(block: dict[str, Any], name: str, *, without: str = "") -> None:
    wanted = {key: kinds for kinds, keys in SHAPES[name].items() for key in keys.split() if key != without}
    assert set(block) == set(wanted)
    for key, kinds in wanted.items():
        assert type(block[key]) in (kinds if isinstance(kinds, tuple) else (kinds,)), f"{key} is {block[key]!r}"


def test_the_document_and_every_sample_have_the_harness_keys(document: dict[str, Any]) -> None:
    assert list(document) == ["metadata", "summary", "samples"]
    assert_shape(document["metadata"], "metadata")
    assert_shape(document["summary"], "summary")
    for sample in document["samples"]:
        assert_shape(sample, "sample")
        crashed = sample["run"]["run_error"] is not None
        assert_shape(sample["run"], "run", without="agent_context_mode" if crashed else "")
        for block in ("completion", "efficiency", "reliability"):
            assert_shape(sample[block], block)


def test_base_tasks_are_crossed_with_behaviours(samples: list[dict[str, Any]]) -> None:
    assert len(samples) == 1638
    levels: dict[str, list[str]] = {}
    for sample in samples:
        levels.setdefault(sample["task_id"], []).append(sample["unstable_behavior"])
    assert len(levels) == 234
    assert {tuple(found) for found in levels.values()} == {("", *BEHAVIOURS[1:])}
    assert len({sample["sample_id"] for sample in samples}) == 1638
    assert len({sample["env_id"] for sample in samples}) == 59
    for sample in samples:
        stable = sample["unstable_behavior"] == ""
        assert sample["variant"] == ("stable" if stable else "unstable")
        assert sample["sample_id"] == f"{sample['task_id']}_{'stable' if stable else sample['unstable_behavior']}"
        assert sample["behavior_bundle"] == ([] if stable else [sample["unstable_behavior"]])
        assert sample["profile_bundle"] == ([] if stable else ["unstable_taxonomy_v1"])


def test_margins_are_those_of_the_statistics_figure(samples: list[dict[str, Any]], shared: Path) -> None:
    """Counts of the figure are for 235 base tasks; the file has 234, so each may be one less."""
    stable = [sample for sample in samples if sample["variant"] == "stable"]
    found = {
        "difficulty": Counter(sample["difficulty_bucket"] for sample in stable),
        "user_turns": Counter(str(sample["num_user_turns"]) for sample in stable),
        "min_required_action_turns": Counter(
            str(sample["efficiency"]["min_required_action_turns"]) for sample in stable
        ),
    }
    with (shared / "formats" / "tables" / "rutbench_figure_statistics.csv").open(newline="") as stream:
        figure = [row for row in csv.DictReader(stream) if row["panel"] in found]
    assert len(figure) == 3 + 3 + 8
    for row in figure:
        count = int(row["implied_count_of_235_base_tasks(or envs of 59)"])
        assert count - found[row["panel"]][row["level"]] in (0, 1), row


def test_published_models_are_those_of_the_performance_figure(shared: Path) -> None:
    with (shared / "formats" / "tables" / "rutbench_figure_performance.csv").open(newline="") as stream:
        figure = [tuple(row.values()) for row in csv.DictReader(stream)]
    carried = [
        (
            model.name,
            model.group,
            f"{100 * model.success_rate:.1f}",
            str(round(model.success_rate * 1638)),
            f"{100 * model.honesty:.1f}",
            f"{100 * model.discipline:.1f}",
        )
        for model in published_models()
    ]
    assert carried == figure


@pytest.mark.parametrize("model", published_models(), ids=lambda model: model.name)
def test_every_published_model_succeeds_exactly_as_often_as_published(model: RutModel) -> None:
    document = simulate_rutbench(model)
    wanted = round(model.success_rate * 1638)
    assert sum(map(relaxed, document["samples"])) == wanted
    assert document["summary"]["success_rate"] == wanted / 1638
    assert round(100 * document["summary"]["success_rate"], 1) == round(100 * model.success_rate, 1)


def test_another_seed_keeps_the_count_and_changes_the_rest() -> None:
    first, other = (simulate_rutbench("GLM-5", seed=seed)["samples"] for seed in (0, 1))
    assert sum(map(relaxed, first)) == sum(map(relaxed, other)) == 485
    assert [relaxed(sample) for sample in first] != [relaxed(sample) for sample in other]


def test_semantic_success_is_a_part_of_relaxed_success(samples: list[dict[str, Any]]) -> None:
    for sample in samples:
        completion = sample["completion"]
        semantic = completion["semantic_success"]
        assert semantic == (not completion["hard_failures"]) == completion["passed"] == completion["strict_success"]
        assert completion["sr"] == completion["semantic_sr"] == completion["strict_sr"] == float(semantic)
        assert relaxed(sample) or not semantic
        assert completion["failures"] == completion["hard_failures"]
    lost = sum(relaxed(sample) and not sample["completion"]["semantic_success"] for sample in samples)
    # 15% of 611, within four standard errors of a proportion
    assert lost / 611 == pytest.approx(0.15, abs=4 * np.sqrt(0.15 * 0.85 / 611))


def test_counts_never_exceed_their_totals_and_explain_the_failures(samples: list[dict[str, Any]]) -> None:
    pairs = (
        ("required_read_match_count", "required_read_total", "missing required read-equivalence matches"),
        ("required_write_match_count", "required_write_total", "missing required write matches"),
        ("required_write_tool_name_match_count", "required_write_tool_name_total", "missing required write tool usage"),
        ("precedence_satisfied_count", "precedence_total", "precedence constraints violated"),
        ("final_state_assertion_pass_count", "final_state_assertion_total", "final state assertions failed"),
    )
    seen: Counter[str] = Counter()
    for sample in samples:
        completion = sample["completion"]
        for met, total, text in pairs:
            assert 0 <= completion[met] <= completion[total]
            assert (text in completion["hard_failures"]) == (completion[met] < completion[total])
            seen[text] += text in completion["hard_failures"]
        forbidden = completion["forbidden_action_violations"]
        assert completion["hard_failures"][-len(forbidden) :] == forbidden or not forbidden
        seen["forbidden"] += bool(forbidden)
    assert min(seen.values()) > 0  # every way to fail occurs


def test_efficiency_and_reliability_follow_their_formulas(samples: list[dict[str, Any]]) -> None:
    for sample in samples:
        block, judged = sample["efficiency"], sample["reliability"]
        total = (
            block["actual_user_turn_count"]
            + block["actual_assistant_response_turn_count"]
            + block["actual_assistant_tool_call_count"]
        )
        assert block["actual_total_action_turns"] == total
        expected = min(1, block["min_required_action_turns"] / total) if total else 0
        assert block["efficiency"] == expected
        assert block["task_score"] == sample["completion"]["sr"] * expected
        f, c, t = (judged[f"{name}_score"] for name in ("faithfulness", "clarification", "tool_discipline"))
        assert f in range(5)
        assert {c, t} <= set(range(4))
        assert judged["reliability"] == pytest.approx(0.4 * f / 4 + 0.3 * c / 3 + 0.3 * t / 3, abs=1e-15)
        if sample["run"]["run_error"] is None:
            users = sum(message["role"] == "user" for message in sample["run"]["transcript"])
            assert users == block["actual_user_turn_count"] == sample["num_user_turns"]


def test_crashes_and_judge_errors_show_the_quirks(samples: list[dict[str, Any]]) -> None:
    crashed = [sample for sample in samples if sample["run"]["run_error"]]
    assert len(crashed) == 8  # 0.5% of 1638
    assert Counter(map(relaxed, crashed)) == {True: 4, False: 4}  # an empty run passes where nothing was asserted
    assert not any(sample["completion"]["semantic_success"] for sample in crashed)
    for sample in crashed:
        assert sample["run"]["transcript"] == []
        assert sample["efficiency"]["actual_total_action_turns"] == 0
    unjudged = [sample for sample in samples if sample["reliability"]["judge_error"] is not None]
    assert len(unjudged) == 8 + 7  # the crashes, and 0.4% of 1638
    assert {sample["reliability"]["reliability"] for sample in unjudged} == {0.0}
    assert {sample["min_required_action_turn"] for sample in samples} == {0}


def test_the_summary_means_what_the_harness_means_by_its_keys(document: dict[str, Any]) -> None:
    summary, samples = document["summary"], document["samples"]
    assert summary["success_rate"] == pytest.approx(np.mean([relaxed(sample) for sample in samples]), abs=1e-12)
    semantic = np.mean([sample["completion"]["semantic_success"] for sample in samples])
    assert summary["strict_success_rate"] == pytest.approx(semantic, abs=1e-12)


def test_judge_scores_have_the_published_means(samples: list[dict[str, Any]]) -> None:
    judged = [sample["reliability"] for sample in samples if sample["reliability"]["judge_error"] is None]
    honesty = np.mean([block["faithfulness_score"] for block in judged]) / 4
    discipline = np.mean([block["tool_discipline_score"] for block in judged]) / 3
    # a mean of 1623 scores of 4 (3) points: standard error below 0.0075
    assert honesty == pytest.approx(0.794, abs=0.03)
    assert discipline == pytest.approx(0.807, abs=0.03)


def test_same_seed_same_bytes_and_other_models_change_nothing(tmp_path: Path) -> None:
    names = ["GLM-5", "Qwen3-8B"]
    both = write_rutbench(tmp_path / "both", names, n_tasks=20, seed=3)
    alone = write_rutbench(tmp_path / "alone", names[1:], n_tasks=20, seed=3)
    assert [path.name for path in both] == ["GLM-5_eval_results.json", "Qwen3-8B_eval_results.json"]
    assert both[1].read_bytes() == alone[0].read_bytes()
    assert json.loads(alone[0].read_text(encoding="utf-8")) == simulate_rutbench("Qwen3-8B", n_tasks=20, seed=3)


def test_a_full_file_is_valid_json_below_four_megabytes(tmp_path: Path, document: dict[str, Any]) -> None:
    (path,) = write_rutbench(tmp_path, ["GPT-5.4"])
    assert path.stat().st_size < 4_000_000
    assert json.loads(path.read_text(encoding="utf-8")) == document
    assert "per-behaviour rates and all else are invented" in document["metadata"]["simulated"]
    assert "seed 0" in document["metadata"]["simulated"]


def test_pairs_of_models_are_positively_correlated() -> None:
    """Phi of two models' outcomes follows from their probabilities: cov(p, q) over the two standard deviations."""
    models = [model for model in published_models() if model.success_rate > 0.05]  # rarer successes are too few to tell
    design = make_design()
    draws = [
        draw_run(model, design, RutEffects(), seed=0, run=0, calibrate="count", crash_rate=0.0) for model in models
    ]
    observed = np.corrcoef([draw.success.ravel() for draw in draws])
    probability = np.array([draw.probability.ravel() for draw in draws])
    spread = np.sqrt(probability.mean(axis=1) * (1 - probability.mean(axis=1)))
    expected = np.cov(probability, ddof=0) / np.outer(spread, spread)
    pairs = np.triu_indices(len(models), k=1)
    assert expected[pairs].min() > 0.1
    assert np.abs(observed[pairs] - expected[pairs]).max() < 4 / np.sqrt(1638)


def test_without_shared_difficulty_models_are_uncorrelated() -> None:
    flat = RutEffects(
        behaviour=dict.fromkeys(BEHAVIOURS, 0.0),
        difficulty=dict.fromkeys(DIFFICULTIES, 0.0),
        turn=0.0,
        sd_env=0.0,
        sd_task=0.0,
        sd_task_behaviour=0.0,
    )
    first, second = (
        [relaxed(sample) for sample in simulate_rutbench(name, effects=flat, crash_rate=0.0)["samples"]]
        for name in ("GPT-5.4", "Claude-4.6-Opus")
    )
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(1638)


def test_the_truth_is_recovered_on_average() -> None:
    """At a fixed truth, behaviour rates over repeated runs scatter round their probabilities by binomial error."""
    n_runs, n_tasks = 40, 234
    runs = [rutbench_truth(["GLM-5"], run=run, calibrate="rate", crash_rate=0.0) for run in range(n_runs)]
    truth = runs[0]["probability"].to_numpy()
    assert all((frame["probability"].to_numpy() == truth).all() for frame in runs)
    observed = np.mean([frame["successes"].to_numpy() / frame["n_items"].to_numpy() for frame in runs], axis=0)
    error = np.sqrt(truth * (1 - truth) / (n_runs * n_tasks))
    assert (np.abs(observed - truth) < 4 * error).all()
    assert truth.mean() == pytest.approx(0.296, abs=1e-9)


def test_behaviour_effects_show_in_the_truth() -> None:
    truth = rutbench_truth(calibrate="rate").group_by("scenario").agg(pl.col("probability").mean())
    rate = dict(truth.rows())
    ordered = sorted(BEHAVIOURS, key=lambda name: -RutEffects().behaviour[name])
    assert sorted(rate, key=lambda name: -rate[name]) == ordered
    assert rate["stable"] - rate["contradictory_constraints"] > 0.1


def test_the_truth_table_counts_what_the_file_holds(samples: list[dict[str, Any]]) -> None:
    truth = rutbench_truth(["GPT-5.4"])
    ran = [sample for sample in samples if sample["run"]["run_error"] is None]
    for scenario, kind, successes, n_items in truth.select("scenario", "user_kind", "successes", "n_items").iter_rows():
        own = "" if scenario == "stable" else scenario
        rows = [sample for sample in ran if sample["unstable_behavior"] == own]
        assert (len(rows), sum(map(relaxed, rows))) == (n_items, successes)
        assert kind == ("ideal" if scenario == "stable" else "non_ideal")


@pytest.mark.parametrize("n_tasks", [1, 2, 7, 59, 100, 235, 500])
def test_any_number_of_tasks_gives_a_feasible_design(n_tasks: int) -> None:
    design = make_design(n_tasks=n_tasks, seed=2)
    assert design.n_tasks == n_tasks
    assert len({design.task_id(task) for task in range(n_tasks)}) == n_tasks
    # a turn needs a message and an answer, and some tool must be called
    assert (design.action_turns - 2 * design.user_turns >= 1).all()
    document = simulate_rutbench(RutModel(name="m", success_rate=0.3), n_tasks=n_tasks)
    assert sum(map(relaxed, document["samples"])) == round(0.3 * 7 * n_tasks)


def test_largest_remainders() -> None:
    assert apportion([1, 1, 1], 2) == [1, 1, 0]
    assert apportion([59, 118, 58], 235) == [59, 118, 58]
    assert sum(apportion([118, 71, 46], 234)) == 234


def test_the_intercept_meets_extreme_rates() -> None:
    eta = np.random.default_rng(0).normal(size=1000) * 3
    for rate in (0.001, 0.5, 0.999):
        assert (1 / (1 + np.exp(-(intercept_for_rate(eta, rate) + eta)))).mean() == pytest.approx(rate, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: simulate_rutbench("GPT-9"), r"no published model is called 'GPT-9'; known are GPT-5\.4"),
        (lambda: simulate_rutbench("GLM-5", crash_rate=0.9), "crash_rate is 0.9"),
        (lambda: simulate_rutbench("GLM-5", n_tasks=0), "n_tasks is 0"),
        (lambda: simulate_rutbench("GLM-5", seed=-1), "seed is -1"),
        (lambda: RutEffects(sd_task=-1.0), "sd_task is -1"),
        (lambda: RutEffects(behaviour={"stable": 0.0}), "effects are given for stable; give exactly stable, undersp"),
        (lambda: RutModel(name="m", success_rate=float("nan")), "success_rate of 'm' is nan"),
        (lambda: RutModel(name=" ", success_rate=0.5), "name is empty"),
    ],
)
def test_faults_are_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_two_models_in_one_file_are_refused(tmp_path: Path) -> None:
    models = [RutModel(name=name, success_rate=0.5) for name in ("a/b", "a b")]
    with pytest.raises(InputError, match=r"would be written to a_b_eval_results\.json"):
        write_rutbench(tmp_path, models)
    assert list(tmp_path.iterdir()) == []


def test_the_design_page_states_the_numbers_in_use() -> None:
    page = Path(__file__).resolve().parents[2] / "design" / "simulated-rutbench.md"
    rows = [line.strip("| ").split(" | ") for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    stated = {row[0]: float(row[1]) for row in rows[2:]}
    effects = RutEffects()
    used = {f"behaviour: {name}": value for name, value in effects.behaviour.items()}
    used |= {f"difficulty: {name}": value for name, value in effects.difficulty.items()}
    used |= {
        name: getattr(effects, name)
        for name in ("turn", "sd_env", "sd_task", "sd_task_behaviour", "sd_task_model", "sd_behaviour_model")
    }
    assert stated == used
