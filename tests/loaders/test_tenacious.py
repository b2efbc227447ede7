"""Tenacious-Bench: every real result file, and the shapes that the format notes list."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Match, Source, read_head, with_digest
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData, combine
from tests.loaders.trees import write

RUNS = (
    "ablations/held_out_traces.jsonl",
    "history_b81785b/ablations_held_out_traces.jsonl",
    "history_5503748/ablations_held_out_traces.jsonl",
)


def pair(task: object = "tb-x-001-v01", **changes: object) -> dict[str, object]:
    """One traced pair: the baseline ties, the trained critic is right."""
    content: dict[str, object] = {
        "split": "held_out",
        "task_id": task,
        "dimension": "conflicting_signals",
        "task_type": "email_grounding",
        "source_mode": "trace-derived",
        "baseline_chosen_score": 0.7,
        "baseline_rejected_score": 0.7,
        "baseline_correct": False,
        "trained_chosen_score": 1.5,
        "trained_rejected_score": 1.25,
        "trained_correct": True,
        "delta_correct": 1,
    }
    return content | changes


def result(
    task: object = "tb-x-001-v01", score: object = 1.0, passed: object = True, **changes: object
) -> dict[str, object]:
    content: dict[str, object] = {
        "task_id": task,
        "dimension": "cto_sensitivity",
        "task_type": "email_grounding",
        "score": score,
        "pass_threshold": 0.8,
        "passed": passed,
        "dimension_results": [
            {"name": "tone_safety", "score": score, "max_score": 1.0, "detail": "no banned phrases found"},
            {"name": "routing_safety", "score": 1.0, "max_score": 2.0, "detail": "handoff_ok=True"},
        ],
    }
    return content | changes


def evaluation(*results: object, **changes: object) -> dict[str, object]:
    held = [one for one in results if isinstance(one, dict)]
    passed = sum(one["passed"] is True for one in held)
    return {"task_count": len(held), "passed": passed, "failed": len(held) - passed, "results": list(results)} | changes


def lines(path: Path, *pairs: object) -> Path:
    return write(path, "".join(json.dumps(one) + "\n" for one in pairs))


def matched(path: Path) -> Match | None:
    found, _ = sniffed(read_head(path))
    return found[1] if found is not None and found[0].name.startswith("tenacious") else None


def load(path: Path) -> EvalData:
    found, _ = sniffed(read_head(path))
    assert found is not None
    return read_source(found[0], with_digest(Source(path=path)))


def said(data: EvalData) -> str:
    assert all(problem.severity == "note" for problem in data.problems)
    return " | ".join(problem.message for problem in data.problems)


def scores(data: EvalData, model: str, metric: str) -> pl.DataFrame:
    return data.outcomes.filter(model=model, metric=metric)


def test_the_headline_run_counts_22_and_43_of_43(shared: Path) -> None:
    data = load(shared / "data" / "tenacious" / RUNS[0])
    baseline, trained = scores(data, "baseline", "correct"), scores(data, "trained", "correct")
    # 22/43 = 51.16% and 43/43, as published in ablation_results.json
    assert (baseline["score"].sum(), trained["score"].sum(), baseline.height, trained.height) == (22, 43, 43, 43)
    # every one of the baseline's 21 errors is an exact tie
    assert baseline.filter(score=0.0)["tie"].to_list() == [True] * 21
    assert baseline.filter(score=1.0)["tie"].to_list() == [False] * 22
    assert "21 errors of baseline are exact ties" in said(data)
    # 30 base scenarios stand behind the 43 pairs
    assert data.outcomes["scenario_base"].n_unique() == 30
    assert data.factor("dimension") == "scenario"


def test_the_headline_run_by_dimension(shared: Path) -> None:
    data = load(shared / "data" / "tenacious" / RUNS[0])
    with (shared / "formats" / "tables" / "tenacious_held_out_by_dimension.csv").open(encoding="utf-8") as stream:
        expected = {
            tuple(row[name] for name in ("dimension", "task_type", "source_mode")): tuple(
                int(row[name]) for name in ("n", "baseline_correct", "baseline_ties", "trained_correct")
            )
            for row in csv.DictReader(stream)
        }
    assert len(expected) == 7
    keys = ["scenario", "task_type", "source_mode"]
    right = pl.col("score").sum().cast(pl.Int64)
    baseline = (
        scores(data, "baseline", "correct").group_by(keys).agg(pl.len(), right, pl.col("tie").sum().alias("ties"))
    )
    trained = dict(scores(data, "trained", "correct").group_by("scenario").agg(right).rows())
    found = {row[:3]: (row[3], row[4], row[5], trained[row[0]]) for row in baseline.rows()}
    assert found == expected


@pytest.mark.parametrize("name", RUNS)
def test_every_published_run_is_read_whole(shared_data: Path, name: str) -> None:
    path = shared_data / "tenacious" / name
    held = [json.loads(line) for line in path.read_text().splitlines()]
    match = matched(path)
    assert match is not None
    assert not match.skip
    data = load(path)
    for run in data.runs.to_dicts():
        assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (2 * len(held), 0, 0)
    for model in ("baseline", "trained"):
        assert scores(data, model, "correct")["score"].to_list() == [float(one[f"{model}_correct"]) for one in held]
        margins = [round(one[f"{model}_chosen_score"] - one[f"{model}_rejected_score"], 9) for one in held]
        assert scores(data, model, "margin")["score"].to_list() == margins
    assert set(data.outcomes["task"].to_list()) == {"held_out"}


def test_the_three_published_runs_stand_beside_each_other(shared_data: Path) -> None:
    data = combine([load(shared_data / "tenacious" / name) for name in RUNS])
    assert data.runs.height == 6
    counted = data.outcomes.filter(metric="correct").group_by("run").agg(pl.len(), pl.col("score").sum())
    # pairs and right answers of (5503748), (b81785b) and HEAD: .4000 -> .7333, .6591 -> .9318, .5116 -> 1.0
    assert sorted(row[1:] for row in counted.rows()) == [(43, 22), (43, 43), (44, 29), (44, 41), (45, 18), (45, 33)]


def test_traced_pairs(tmp_path: Path) -> None:
    right = pair("tb-x-002", baseline_chosen_score=0.8, baseline_correct=True, delta_correct=0)
    data = load(lines(tmp_path / "held_out_traces.jsonl", pair(), right))
    baseline, trained = data.runs.to_dicts()
    assert [run["run"].partition("~")[0] for run in (baseline, trained)] == [
        "held_out_traces.baseline",
        "held_out_traces.trained",
    ]
    first, second = scores(data, "baseline", "correct").to_dicts()
    assert (first["item"], first["scenario_base"], first["task"]) == ("tb-x-001-v01", "tb-x-001", "held_out")
    assert (first["scenario"], first["task_type"], first["source_mode"]) == (
        "conflicting_signals",
        "email_grounding",
        "trace-derived",
    )
    assert [(one["score"], one["tie"]) for one in (first, second)] == [(0.0, True), (1.0, False)]
    assert scores(data, "trained", "margin")["score"].to_list() == [0.25, 0.25]
    kinds = {one["metric"]: (one["kind"], one["primary"], one["high"]) for one in data.metrics.to_dicts()}
    assert kinds == {"correct": ("binary", True, 1.0), "margin": ("continuous", False, None)}


def test_an_id_may_stand_in_several_splits(tmp_path: Path) -> None:
    data = load(lines(tmp_path / "traces.jsonl", pair(), pair(split="dev"), pair(7), pair("8")))
    places = scores(data, "trained", "correct").select("task", "item").rows()
    assert places == [("held_out", "tb-x-001-v01"), ("dev", "tb-x-001-v01"), ("held_out", "7"), ("held_out", "8")]


def test_what_is_not_in_a_line_is_unscored(tmp_path: Path) -> None:
    partial = pair(baseline_correct=None, trained_rejected_score=None, delta_correct=None)
    data = load(lines(tmp_path / "traces.jsonl", partial))
    (correct,) = scores(data, "baseline", "correct").to_dicts()
    assert (correct["status"], correct["status_reason"]) == ("unscored", "there is no verdict")
    (margin,) = scores(data, "trained", "margin").to_dicts()
    assert (margin["status"], margin["tie"]) == ("unscored", None)
    for run in data.runs.to_dicts():
        assert (run["n_scored"], run["n_unscored"]) == (1, 1)


def test_a_verdict_against_its_scores_is_noted(tmp_path: Path) -> None:
    odd = pair(baseline_correct=True, delta_correct=0)
    assert "1 verdicts are not what their scores say" in said(load(lines(tmp_path / "t.jsonl", pair("a"), odd)))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([pair("a"), pair("b", delta_correct=0)], "(delta_correct contradicts the verdicts): line 2"),
        ([pair("a"), pair("b"), pair("a")], "(a task of its split before): line 3"),
        ([pair(1), pair("1")], "(a task of its split before): line 2"),
        ([pair("a"), pair(None)], "(no task_id): line 2"),
        ([pair("a"), 3], "(no JSON object): line 2"),
    ],
)
def test_bad_lines_are_left_out_and_named(tmp_path: Path, pairs: list[object], expected: str) -> None:
    data = load(lines(tmp_path / "traces.jsonl", *pairs))
    (problem,) = (problem for problem in data.problems if problem.severity == "error")
    assert problem.message == f"1 of {len(pairs)} pairs are dropped {expected}"
    assert data.outcomes.height == 4 * (len(pairs) - 1)


def test_damaged_traces(tmp_path: Path) -> None:
    path = write(tmp_path / "traces.jsonl", json.dumps(pair("a")) + "\n" + json.dumps(pair("b"))[:-30])
    (problem,) = (problem for problem in load(path).problems if problem.severity == "error")
    assert problem.message == "1 of 2 pairs are dropped (no JSON, or cut off): line 2"


def test_an_evaluation(tmp_path: Path) -> None:
    content = evaluation(result(), result("tb-y-002-v03", score=0.5, passed=False))
    path = write(tmp_path / "gpt-4o_dev_eval.json", content)
    match = matched(path)
    assert match is not None
    assert (match.confidence, match.skip) == (0.9, False)
    data = load(path)
    assert data.models() == ("gpt-4o",)
    one = data.outcomes.filter(metric="passed").to_dicts()[1]
    assert (one["score"], one["item"], one["task"]) == (0.0, "tb-y-002-v03", "dev")
    assert (one["scenario"], one["scenario_base"], one["pass_threshold"]) == ("cto_sensitivity", "tb-y-002", 0.8)
    assert data.outcomes.filter(metric="score")["score"].to_list() == [1.0, 0.5]
    assert data.outcomes.filter(metric="score/tone_safety")["score"].to_list() == [1.0, 0.5]
    kinds = {row["metric"]: (row["kind"], row["high"], row["primary"]) for row in data.metrics.to_dicts()}
    assert kinds == {
        "passed": ("binary", 1.0, True),
        "score": ("bounded", 1.0, False),
        "score/tone_safety": ("bounded", 1.0, False),
        "score/routing_safety": ("bounded", 2.0, False),
    }
    assert said(data) == ""


def test_a_file_of_another_name_is_named_after_it(tmp_path: Path) -> None:
    data = load(write(tmp_path / "<b>scores.json", evaluation(result())))
    assert (data.models(), data.outcomes["task"][0]) == (("<b>scores",), "")


def test_scores_that_are_none_are_unscored(tmp_path: Path) -> None:
    content = evaluation(result("a", score=None, passed=None), result("b", score=1.5, passed="perhaps"))
    data = load(write(tmp_path / "bench_dev_eval.json", content))
    assert data.outcomes.filter(metric="passed")["status"].to_list() == ["unscored"] * 2
    assert data.outcomes.filter(metric="score")["value_raw"].to_list() == [None, "1.5"]


@pytest.mark.parametrize(
    ("second", "expected"),
    [(result("a"), "copies of earlier ones"), (result(None), "no task_id"), (5, "no JSON object")],
)
def test_bad_results_of_an_evaluation_are_left_out_and_named(tmp_path: Path, second: object, expected: str) -> None:
    data = load(write(tmp_path / "bench_dev_eval.json", evaluation(result("a"), second)))
    (problem,) = (problem for problem in data.problems if problem.severity == "error")
    assert problem.message.endswith(f"results are dropped ({expected}): results[1]")
    assert data.outcomes["item"].unique().to_list() == ["a"]


def test_an_evaluation_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "bench_dev_eval.json", json.dumps(evaluation(result("a")))[:-20])
    with pytest.raises(UnreadableFileError, match="is not valid JSON"):
        load(path)


def test_an_evaluation_that_names_its_scorer(tmp_path: Path) -> None:
    """As IbnuEyni/tenacious-sales-bench writes it."""
    task = {"task_id": "TB_1", "total_score": 0.5, "passed": False, "category": "tone", "difficulty": "easy"}
    content = {"scorer": "judge", "total_tasks": 1, "passed": 0, "pass_rate": 0.0, "avg_score": 0.5, "scores": [0.5]}
    data = load(write(tmp_path / "x.json", {**content, "task_results": [task | {"dimension_scores": {"tone": 0.5}}]}))
    assert data.outcomes.select("model", "item", "metric", "score", "scenario", "difficulty").rows() == [
        ("judge", "TB_1", "passed", 0.0, "tone", "easy"),
        ("judge", "TB_1", "score", 0.5, "tone", "easy"),
        ("judge", "TB_1", "score/tone", 0.5, "tone", "easy"),
    ]
    assert data.problems == ()


def test_all_published_accuracies_are_read(shared: Path) -> None:
    files = {
        "HEAD_7d1a806": "ablations/ablation_results.json",
        "b81785b": "history_b81785b/ablations_ablation_results.json",
        "5503748": "history_5503748/ablations_ablation_results.json",
    }
    found: list[tuple[object, ...]] = []
    for commit, name in files.items():
        table = load(shared / "data" / "tenacious" / name).aggregates
        for split in table["task"].unique(maintain_order=True):
            rows = {(row["model"], row["metric"]): row for row in table.filter(task=split).to_dicts()}
            delta = rows["trained", "delta_accuracy"]
            accuracies = tuple(rows[model, "accuracy"]["estimate"] for model in ("baseline", "trained"))
            interval = (delta["conf_low"], delta["conf_high"], delta["p_value"])
            latencies = tuple(rows[model, "latency_ms"]["estimate"] for model in ("baseline", "trained"))
            found.append((commit, split, delta["n"], *accuracies, delta["estimate"], *interval, *latencies))
    with (shared / "formats" / "tables" / "tenacious_ablation_splits.csv").open(encoding="utf-8") as stream:
        expected = [
            (row.pop("commit"), row.pop("split"), int(row.pop("pair_count")), *map(_number, row.values()))
            for row in csv.DictReader(stream)
        ]
    assert len(expected) == 9
    assert found == expected


def _number(text: str) -> float | None:
    return float(text) if text else None


def ablation(**changes: object) -> dict[str, object]:
    held_out: dict[str, object] = {
        "pair_count": 43,
        "baseline_accuracy": 0.5116,
        "trained_accuracy": 1.0,
        "delta_accuracy_pp": 48.84,
        "cost_per_pair_usd_trained": 0.0,
        "delta_accuracy_pp_ci_lower": 34.88,
        "delta_accuracy_pp_ci_upper": 62.79,
        "paired_bootstrap_p_value": 0.0,
    }
    top = {"run_name": "path_b", "baseline": "heuristic", "trained_component": "critic"}
    return top | {"splits": {"held_out": held_out | changes}, "delta_a": {"delta_accuracy_pp": 48.84}}


def test_an_ablation(tmp_path: Path) -> None:
    data = load(write(tmp_path / "ablation_results.json", ablation()))
    assert data.runs.select("model", "system").rows() == [("baseline", "heuristic"), ("trained", "critic")]
    rows = {(row["model"], row["metric"]): row for row in data.aggregates.to_dicts()}
    accuracy = rows["baseline", "accuracy"]
    assert (accuracy["estimate"], accuracy["unit"], accuracy["n"], accuracy["task"]) == (
        0.5116,
        "proportion",
        43,
        "held_out",
    )
    delta = rows["trained", "delta_accuracy"]
    assert (delta["estimate"], delta["unit"], delta["conf_level"]) == (48.84, "points", 0.95)
    assert (delta["conf_low"], delta["conf_high"], delta["value_raw"]) == (34.88, 62.79, "48.84")
    assert (delta["method"], accuracy["method"]) == (
        "published, trained minus baseline, percentile bootstrap over pairs",
        "published",
    )
    assert set(data.aggregates["run"].to_list()) == set(data.runs["run"].to_list())
    assert "a p-value of 0 is published" in said(data)


def test_a_p_value_of_0_is_noted(tmp_path: Path) -> None:
    assert "a p-value of 0" in said(load(write(tmp_path / "ablation_results.json", ablation())))


def test_half_an_interval_has_no_level(tmp_path: Path) -> None:
    data = load(write(tmp_path / "a.json", ablation(delta_accuracy_pp_ci_lower=None)))
    (delta,) = data.aggregates.filter(metric="delta_accuracy").to_dicts()
    assert (delta["conf_low"], delta["conf_high"], delta["conf_level"]) == (None, None, None)


@pytest.mark.parametrize(
    ("splits", "expected"),
    [({}, "none of its splits could be read"), ({"dev": {"split": "dev"}}, r"splits\.dev holds no accuracy")],
)
def test_an_ablation_without_numbers_is_refused(tmp_path: Path, splits: object, expected: str) -> None:
    path = write(tmp_path / "a.json", ablation() | {"splits": splits})
    with pytest.raises(UnreadableFileError, match=expected):
        load(path)


def test_files_without_results_are_passed_over(shared_data: Path) -> None:
    folder = shared_data / "tenacious"
    read: set[str] = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".md":
            match = matched(path)
            assert match is not None, path
            if not match.skip:
                read.add(str(path.relative_to(folder)))
    assert read == {
        *RUNS,
        "ablations/ablation_results.json",
        "history_b81785b/ablations_ablation_results.json",
        "history_5503748/ablations_ablation_results.json",
        *(f"outputs/bench_{split}_eval.json" for split in ("train", "dev", "held_out")),
    }


def test_an_interval_without_a_width_is_not_kept(tmp_path: Path) -> None:
    data = load(write(tmp_path / "ablation_results.json", ablation(delta_accuracy_pp_ci_lower=62.79)))
    assert data.aggregates.select("conf_low", "conf_high", "conf_level").null_count().row(0) == (4, 4, 4)
