"""The Open LLM Leaderboard: scores above chance, its own table, its results files of both versions, and lighteval's details."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evalstats as es
from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.lighteval_details import FORMAT as DETAILS
from evalstats.loaders.formats.open_llm_leaderboard import FORMAT
from evalstats.loaders.open_llm_scores import BBH_CHOICES, above_chance
from evalstats.loaders.registry import read, read_source, sniffed
from evalstats.schema.data import EvalData

# Published for EleutherAI/pythia-2.8b, float16: the shares of right answers in its results file of 2024-06-17, and the scores
# in the leaderboard's table (open-llm-leaderboard/contents). Both are facts published by the leaderboard, licence Apache-2.0.
PYTHIA_BBH = {
    "boolean_expressions": 0.628, "causal_judgement": 0.44385026737967914, "date_understanding": 0.192,
    "disambiguation_qa": 0.34, "formal_fallacies": 0.456, "geometric_shapes": 0.088, "hyperbaton": 0.484,
    "logical_deduction_five_objects": 0.236, "logical_deduction_seven_objects": 0.144,
    "logical_deduction_three_objects": 0.344, "movie_recommendation": 0.276, "navigate": 0.5, "object_counting": 0.264,
    "penguins_in_a_table": 0.19863013698630136, "reasoning_about_colored_objects": 0.128, "ruin_names": 0.212,
    "salient_translation_error_detection": 0.276, "snarks": 0.5393258426966292, "sports_understanding": 0.5,
    "temporal_sequences": 0.284, "tracking_shuffled_objects_five_objects": 0.156,
    "tracking_shuffled_objects_seven_objects": 0.168, "tracking_shuffled_objects_three_objects": 0.34, "web_of_lies": 0.54,
}  # fmt: skip
PYTHIA_MUSR = {"murder_mysteries": 0.516, "object_placements": 0.26171875, "team_allocation": 0.268}
PUBLISHED = {"IFEval": 21.73222604910526, "BBH": 5.077786161905462, "GPQA": 0.0, "MUSR": 3.6382812500000004}
PUBLISHED["MMLU-PRO"] = 1.521867612293143


def results_v2(**changes: Any) -> dict[str, Any]:
    tasks: dict[str, dict[str, Any]] = {
        "leaderboard": {"acc,none": 0.1, "alias": "leaderboard"},
        "leaderboard_bbh": {"acc_norm,none": 0.3206, "alias": " - leaderboard_bbh"},
        **{f"leaderboard_bbh_{name}": {"acc_norm,none": share} for name, share in PYTHIA_BBH.items()},
        "leaderboard_gpqa": {"acc_norm,none": 0.25},
        "leaderboard_gpqa_diamond": {"acc_norm,none": 0.24242424242424243},
        "leaderboard_ifeval": {
            "prompt_level_strict_acc,none": 0.15526802218114602,
            "inst_level_strict_acc,none": 0.2793764988009592,
        },
        "leaderboard_math_hard": {"exact_match,none": 0.006797583081570997},
        "leaderboard_mmlu_pro": {"acc,none": 0.11369680851063829},
        "leaderboard_musr": {"acc_norm,none": 0.3478835978835979},
        **{f"leaderboard_musr_{name}": {"acc_norm,none": share} for name, share in PYTHIA_MUSR.items()},
    }
    subtasks = {
        "leaderboard": [f"leaderboard_{name}" for name in ("bbh", "gpqa", "ifeval", "math_hard", "mmlu_pro", "musr")],
        "leaderboard_bbh": [f"leaderboard_bbh_{name}" for name in PYTHIA_BBH],
        "leaderboard_gpqa": ["leaderboard_gpqa_diamond"],
        "leaderboard_musr": [f"leaderboard_musr_{name}" for name in PYTHIA_MUSR],
    }
    return {
        "results": {**tasks, **changes},
        "group_subtasks": subtasks,
        "config": {"model_args": "pretrained=EleutherAI/pythia-2.8b"},
        "versions": {},
    }


def load(tmp_path: Path, content: dict[str, Any], name: str = "results_2024-06-17T12-07-04.698905.json") -> EvalData:
    path = tmp_path / name
    path.write_text(json.dumps(content))
    return read(path)


def test_normalised_scores_of_a_results_file_are_those_that_were_published(tmp_path: Path) -> None:
    data = load(tmp_path, results_v2())
    rows = data.aggregates.filter(metric="normalised")
    found = dict(rows.select("task", "estimate").iter_rows())
    assert set(data.aggregates["model"]) == {"EleutherAI/pythia-2.8b"}
    for task, score in PUBLISHED.items():
        assert found[task] == pytest.approx(score, abs=1e-12)
    assert found["MATH Lvl 5"] == pytest.approx(0.6797583081570997)
    assert set(rows["benchmark"]) == {"Open LLM Leaderboard v2"}
    assert found[""] == pytest.approx(sum(score for task, score in found.items() if task) / 6)
    assert set(rows["unit"]) == {"percent"}
    metric = data.metrics.filter(metric="normalised").row(0, named=True)
    assert (metric["low"], metric["high"], metric["higher_is_better"]) == (0.0, 100.0, True)
    # What was published stays as it was.
    raw = data.aggregates.filter(benchmark="leaderboard_bbh", task="", metric="acc_norm")
    assert raw["estimate"].to_list() == [0.3206]


def test_a_task_with_a_part_missing_has_no_normalised_score(tmp_path: Path) -> None:
    content = results_v2(leaderboard_musr_team_allocation={"acc_norm,none": "N/A"})
    del content["results"]["leaderboard_bbh_snarks"]
    found = load(tmp_path, content).aggregates.filter(metric="normalised")["task"].to_list()
    assert sorted(found) == ["GPQA", "IFEval", "MATH Lvl 5", "MMLU-PRO"]


def test_other_tasks_of_the_harness_have_no_normalised_scores(tmp_path: Path) -> None:
    content = {
        "results": {"gsm8k": {"exact_match,none": 0.5}},
        "config": {"model_args": "pretrained=m"},
        "versions": {},
    }
    data = load(tmp_path, content)
    assert data.aggregates["metric"].to_list() == ["exact_match"]


@given(raw=st.floats(0, 1), n=st.sampled_from([0, 2, 3, 10, 19]))
def test_above_chance_lies_on_its_scale_and_rises(raw: float, n: int) -> None:
    score = above_chance(raw, n)
    assert 0 <= score <= 100
    assert above_chance(1.0, n) == 100
    assert above_chance(min(raw + 0.01, 1), n) >= score
    assert above_chance(1 / n if n else 0.0, n) == pytest.approx(0)


def test_every_task_of_bbh_has_its_options() -> None:
    assert len(BBH_CHOICES) == 24
    assert set(BBH_CHOICES) == set(PYTHIA_BBH)


def v1_results(**changes: Any) -> dict[str, Any]:
    subjects = {f"harness|hendrycksTest-subject_{k}|5": {"acc": k / 100, "acc_norm": 0.9} for k in range(57)}
    return {
        "config_general": {"model_name": "org/m", "model_dtype": "torch.float16", "lighteval_sha": "ab"},
        "results": {
            "all": {"acc": 0.1},
            "harness|arc:challenge|25": {"acc": 0.5, "acc_stderr": 0.01, "acc_norm": 0.55},
            "harness|hellaswag|10": {"acc": 0.6, "acc_norm": 0.75},
            "harness|truthfulqa:mc|0": {"mc1": 0.3, "mc2": 0.45},
            "harness|winogrande|5": {"acc": 0.7},
            "harness|gsm8k|5": {"acc": 0.2},
            **subjects,
            **changes,
        },
        "versions": {},
    }


def test_version_1_takes_one_metric_of_each_task(tmp_path: Path) -> None:
    data = load(tmp_path, v1_results(), "results_2024-01-06T09-45-44.755529.json")
    shown = dict(data.aggregates.filter(benchmark="Open LLM Leaderboard v1").select("task", "estimate").iter_rows())
    by_hand = {"ARC": 55.0, "HellaSwag": 75.0, "MMLU": 28.0, "TruthfulQA": 45.0, "Winogrande": 70.0, "GSM8K": 20.0}
    assert shown == pytest.approx({**by_hand, "": sum(by_hand.values()) / 6})
    primary = data.metrics.filter(primary=True)
    assert dict(primary.select("benchmark", "metric").iter_rows()) == {
        "arc": "acc_norm",
        "hellaswag": "acc_norm",
        "hendrycksTest": "acc",
        "truthfulqa": "mc2",
        "winogrande": "acc",
        "gsm8k": "acc",
        "Open LLM Leaderboard v1": "score",
    }
    assert data.runs["run"].n_unique() == data.runs.height == 7


def test_version_1_makes_no_0_of_what_is_not_there(tmp_path: Path) -> None:
    changes = {"harness|truthfulqa:mc|0": {"mc1": 0.3, "mc2": float("nan")}}
    content = v1_results(**changes)
    del content["results"]["harness|hendrycksTest-subject_3|5"]
    data = load(tmp_path, content, "results_2024-01-06T09-45-44.755529.json")
    shown = data.aggregates.filter(benchmark="Open LLM Leaderboard v1")["task"].to_list()
    assert sorted(shown) == ["ARC", "GSM8K", "HellaSwag", "Winogrande"]


def test_a_file_without_all_six_tasks_is_none_of_the_leaderboard(tmp_path: Path) -> None:
    content = v1_results()
    del content["results"]["harness|gsm8k|5"]
    data = load(tmp_path, content, "results_2024-01-06T09-45-44.755529.json")
    assert "Open LLM Leaderboard v1" not in set(data.aggregates["benchmark"])


def test_the_early_layout_of_version_1_names_its_model(tmp_path: Path) -> None:
    content = v1_results()
    content["config"] = {"model_name": "old/m", "model_dtype": "8bit"}
    del content["config_general"]
    data = load(tmp_path, content, "results_2023-07-19T10-00-00.json")
    assert set(data.aggregates["model"]) == {"old/m"}


LINK = '<a target="_blank" href="https://example.org/org/m" style="color: red;">org/m name</a>  <a href="x">📑</a>'


def table_row(model: str = "org/m", **changes: Any) -> dict[str, Any]:
    return {
        "eval_name": "org_m_bfloat16",
        "Precision": "bfloat16",
        "Type": "pretrained",
        "Model": LINK,
        "fullname": model,
        "Model sha": "abc",
        "Average ⬆️": (40 + 5 + 10 + 20 + 7 + 100 / 3) / 6,
        "#Params (B)": 7.2,
        "Flagged": False,
        "CO₂ cost (kg)": 0.6,
        "IFEval Raw": 0.4,
        "IFEval": 40.0,
        "BBH Raw": 0.36,
        "BBH": 5.0,
        "MATH Lvl 5 Raw": 0.1,
        "MATH Lvl 5": 10.0,
        "GPQA Raw": 0.4,
        "GPQA": 20.0,
        "MUSR Raw": 0.38,
        "MUSR": 7.0,
        "MMLU-PRO Raw": 0.4,
        "MMLU-PRO": 100 / 3,
        "Submission Date": "2024-08-05",
        **changes,
    }


def table(tmp_path: Path, *rows: dict[str, Any], ending: str = "csv") -> EvalData:
    path = tmp_path / f"contents.{ending}"
    frame = pl.DataFrame(list(rows))
    if ending == "csv":
        frame.with_row_index("").write_csv(path)  # as pandas writes it, with an index that has no name
    elif ending == "parquet":
        frame.write_parquet(path)
    else:
        path.write_text(json.dumps(list(rows)))
    return read(path)


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_the_table_of_version_2_by_hand(tmp_path: Path, ending: str) -> None:
    data = table(tmp_path, table_row(), table_row("org/n", Precision="float16"), ending=ending)
    assert set(data.runs["loader"]) == {"open-llm-leaderboard"}
    assert data.aggregates.height == 2 * 13
    row = data.aggregates.filter(model="org/m")
    assert set(row["benchmark"]) == {"Open LLM Leaderboard v2"}
    assert set(row["variant"]) == {"bfloat16"}
    assert {str(day) for day in row["date"]} == {"2024-08-05"}
    raw = dict(row.filter(metric="raw").select("task", "estimate").iter_rows())
    shares = [0.4, 0.36, 0.1, 0.4, 0.38, 0.4]
    assert raw == dict(zip(("IFEval", "BBH", "MATH Lvl 5", "GPQA", "MUSR", "MMLU-PRO"), shares, strict=True))
    shown = dict(row.filter(metric="normalised").select("task", "estimate").iter_rows())
    assert shown["GPQA"] == 20.0
    assert shown[""] == pytest.approx(115.3333333 / 6)
    assert data.metrics.filter(primary=True)["metric"].to_list() == ["normalised"]
    assert not data.problems


def test_what_does_not_fit_is_told(tmp_path: Path) -> None:
    odd = table_row("org/o", GPQA=None, BBH=None, Flagged=True, **{"MMLU-PRO": 50.0, "Average ⬆️": 99.0, "MUSR": 101.0})
    data = table(tmp_path, table_row(), odd, table_row("org/p", GPQA=33.3))
    told = "\n".join(problem.message for problem in data.problems)
    assert "1 scores lie outside their scale" in told
    assert "2 scores are empty" in told
    assert "1 models are flagged" in told
    for task in ("GPQA", "BBH"):
        assert data.aggregates.filter(model="org/o", task=task)["metric"].to_list() == ["raw"]


def test_the_table_of_version_1_and_names_in_links(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    columns = ["T", "Model", "Average ⬆️", "ARC", "HellaSwag", "MMLU", "TruthfulQA", "Winogrande", "GSM8K"]
    pl.DataFrame([["x", LINK, 35.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]], schema=columns, orient="row").write_csv(path)
    data = read(path)
    assert set(data.aggregates["model"]) == {"org/m name"}
    found = dict(data.aggregates.select("task", "estimate").iter_rows())
    assert (found["ARC"], found["GSM8K"], found[""]) == (10.0, 60.0, 35.0)
    assert set(data.aggregates["metric"]) == {"score"}


@pytest.mark.parametrize("mark", ["Revision", "URL"])
def test_the_first_table_of_version_1_had_four_tasks(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "20230523.csv"
    text = f"Model,{mark},Average ,ARC (25-shot) ,HellaSwag(10-shot),MMLU (5-shot),TruthfulQA (0-shot)\n"
    path.write_text(text + "org/m,main,25.0,10,20,30,40\norg/n,main,,10,20,,40\n")
    data = read(path)
    assert set(data.runs["loader"]) == {"open-llm-leaderboard"}
    found = dict(data.aggregates.filter(model="org/m").select("task", "estimate").iter_rows())
    assert found == {"ARC": 10.0, "HellaSwag": 20.0, "MMLU": 30.0, "TruthfulQA": 40.0, "": 25.0}
    assert data.aggregates.filter(model="org/n").height == 3
    assert [problem.message for problem in data.problems] == ["2 scores are empty; they are missing, not 0"]


def test_a_table_of_the_same_benchmarks_is_not_the_leaderboards(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("Model,Average,ARC,HellaSwag,MMLU,TruthfulQA,Winogrande,GSM8K\nm,1,1,1,1,1,1,1\n")
    assert FORMAT.sniff(read_head(path)) is None


def test_other_tables_are_left_to_others(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    pl.DataFrame([{"model": "m", "GPQA": 1.0, "BBH": 2.0}]).write_csv(path)
    assert FORMAT.sniff(read_head(path)) is None
    with pytest.raises(UnreadableFileError, match="has not the tasks of the Open LLM Leaderboard"):
        read_source(FORMAT, with_digest(Source(path=path)))


def detail(question: str, acc: object, **more: Any) -> dict[str, Any]:
    return {
        "example": question,
        "instruction": "",
        "full_prompt": f"few shots\n{question}",
        "num_effective_few_shots": 25,
        "predictions": [-1.5, -0.5],
        "input_tokens": [[1, 2]],
        "gold_index": [0],
        "choices": [" a", " b"],
        "metrics": {"acc": acc, "acc_norm": 1.0},
        **more,
    }


TASK = "details_harness|arc:challenge|25_2024-01-06T09-45-44.755529.parquet"


def write_details(folder: Path, *rows: dict[str, Any], name: str = TASK) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(list(rows)).write_parquet(folder / name)
    return folder / name


def test_details_by_hand(tmp_path: Path) -> None:
    folder = tmp_path / "details_org__m_x" / "2024-01-06T09-45-44.755529"
    data = read(write_details(folder, detail("q1", 1.0), detail("q2", None), detail("q1", 0.0)))
    rows = data.outcomes.filter(metric="acc")
    assert set(rows["model"]) == {"org/m_x"}
    assert (set(rows["benchmark"]), set(rows["task"])) == ({"arc"}, {"challenge"})
    assert rows.select("status", "score").rows() == [("scored", 1.0), ("unscored", None), ("scored", 0.0)]
    items = rows["item"].to_list()
    assert items[2] == f"{items[0]}#2"
    assert data.runs.select("n_shots", "harness", "n_scored", "n_unscored").rows() == [(25, "lighteval", 5, 1)]
    assert data.metrics.filter(primary=True)["metric"].to_list() == ["acc_norm"]
    told = "\n".join(problem.message for problem in data.problems)
    assert "1 examples appear in the file more than once" in told
    assert "1 values of metrics are no single numbers" in told


def test_details_of_two_models_pair(tmp_path: Path) -> None:
    for model, right in (("a", 9), ("b", 3)):
        rows = [detail(f"q{k}", float(k < right + 8)) for k in range(20)]
        write_details(tmp_path / f"details_org__{model}" / "2024-01-06T09-45-44", *rows)
    found = es.compare(read(tmp_path), "org/b", "org/a", metric="acc")
    assert found.n_items == 20
    assert found.estimate == pytest.approx(0.3)


def test_the_newer_layout_keeps_question_and_metric_in_structs(tmp_path: Path) -> None:
    row = {"doc": {"query": "q1", "choices": ["a"], "gold_index": 0}, "model_response": {"text": ["a"]}}
    row["metric"] = {"extractive_match": 1}
    folder = tmp_path / "org" / "m" / "2025-11-05T14-43-47.148527"
    data = read(write_details(folder, row, name="details_agieval:aqua-rat|0_2025-11-05T14-43-47.148527.parquet"))
    found = data.outcomes.row(0, named=True)
    assert (found["model"], found["benchmark"], found["task"]) == ("org/m", "agieval", "aqua-rat")
    assert (found["metric"], found["score"]) == ("extractive_match", 1.0)


def test_details_without_a_folder_of_their_own_are_named_after_the_file(tmp_path: Path) -> None:
    data = read(write_details(tmp_path, detail("q", 1.0), name="part.parquet"))
    assert set(data.outcomes["model"]) == {"part"}
    assert any("The model is named only by a folder" in problem.message for problem in data.problems)


def test_damaged_and_empty_details_are_refused(tmp_path: Path) -> None:
    path = write_details(tmp_path / "a", detail("q", 1.0))
    found = sniffed(read_head(path))[0]
    assert found is not None
    assert found[0] is DETAILS
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UnreadableFileError, match="is not a Parquet file that can be read"):
        read_source(DETAILS, with_digest(Source(path=path)))
    empty = tmp_path / "empty.parquet"
    pl.DataFrame([detail("q", 1.0)]).clear().write_parquet(empty)
    with pytest.raises(UnreadableFileError, match="none of its examples could be read"):
        read_source(DETAILS, with_digest(Source(path=empty)))


def test_samples_in_parquet_are_read_as_those_in_json_lines(tmp_path: Path) -> None:
    rows = [
        {"doc_id": k, "doc": {"q": str(k)}, "target": "1", "resps": [["a"]], "filter": "none", "metrics": ["acc"]}
        | {"doc_hash": f"h{k}", "acc": k % 2}
        for k in range(4)
    ]
    name = "samples_leaderboard_gpqa_main_2024-06-17T12-07-04.698905"
    (tmp_path / "a" / "org__m").mkdir(parents=True)
    (tmp_path / "b" / "org__m").mkdir(parents=True)
    (tmp_path / "a" / "org__m" / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    pl.DataFrame(rows).write_parquet(tmp_path / "b" / "org__m" / f"{name}.parquet")
    columns = ("model", "benchmark", "item", "metric", "score", "status")
    lines, parquet = (read(tmp_path / folder).outcomes.select(columns) for folder in "ab")
    assert lines.equals(parquet)
    assert lines.height == 4
