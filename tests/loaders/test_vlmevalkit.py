"""VLMEvalKit: model and dataset by folder and name, requests that failed are errors, accuracies are published."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from tests.loaders.trees import opened, said

Row = dict[str, Any]
FAILED = "Failed to obtain answer via API."


def hit(index: int = 1, value: object = 1, **changes: Any) -> Row:
    known = {"index": index, "question": "What?", "A": "x", "B": "y", "category": "law", "l2-category": "reasoning"}
    return {**known, "prediction": "A", "GT": "A", "hit": value, "log": "Match Log", **changes}


NAME = "GPT4V/T20260102_Gab/GPT4V_MMBench_DEV_EN_gpt4_result"
ACCURACIES = '"split","Overall","Law"\n"dev","0.75","0.5"\n"test","0.5","0.25"\n'


@pytest.mark.parametrize("ending", ["tsv", "json"])
def test_multiple_choice(tmp_path: Path, ending: str) -> None:
    data = opened(tmp_path, {f"{NAME}.{ending}": [hit(), hit(2, 0), hit(3, 0, prediction=FAILED)]}, "vlmevalkit")
    columns = ("model", "task", "item", "metric", "status", "score", "scenario", "judge")
    assert data.outcomes.select(columns).rows() == [
        ("GPT4V", "MMBench_DEV_EN", "1", "hit", "scored", 1.0, "law", "gpt4"),
        ("GPT4V", "MMBench_DEV_EN", "2", "hit", "scored", 0.0, "law", "gpt4"),
        ("GPT4V", "MMBench_DEV_EN", "3", "hit", "error", None, "law", "gpt4"),
    ]
    assert "in 1 of 3 rows the request to the model failed" in said(data)


def test_visual_questions_and_yes_or_no(tmp_path: Path) -> None:
    vqa = {"index": 1, "prediction": "4", "eval_gt": "4", "eval_pred": "4", "eval_match": [1], "eval_score": 0.6}
    yes = [
        {"index": n, "question": "?", "answer": "Yes", "prediction": "y", "extracted": "Yes", "score": found}
        for n, found in enumerate([True, "False", None, "x"])
    ]
    files = {"M/M_DocVQA_VAL_results.tsv": [vqa], "M/M_POPE_auxmatch.tsv": yes}
    data = opened(tmp_path, files, "vlmevalkit")
    assert data.outcomes.sort("task", "item").select("task", "metric", "status", "score").rows() == [
        ("DocVQA_VAL", "score", "scored", 0.6),
        ("POPE", "correct", "scored", 1.0),
        ("POPE", "correct", "scored", 0.0),
        ("POPE", "correct", "unscored", None),
        ("POPE", "correct", "unscored", None),
    ]


def test_accuracies(tmp_path: Path) -> None:
    files = {"M/M_MMBench_acc.csv": ACCURACIES, "M/M_DocVQA_VAL_acc.csv": '"Overall"\n"81.5"\n'}
    data = opened(tmp_path, files, "vlmevalkit-accuracies")
    told = data.aggregates.sort("task", "variant", "scenario")
    assert told.select("task", "variant", "scenario", "metric", "estimate", "unit").rows() == [
        ("DocVQA_VAL", "", None, "accuracy", 81.5, "percent"),
        ("MMBench", "dev", None, "accuracy", 0.75, "proportion"),
        ("MMBench", "dev", "Law", "accuracy", 0.5, "proportion"),
        ("MMBench", "test", None, "accuracy", 0.5, "proportion"),
        ("MMBench", "test", "Law", "accuracy", 0.25, "proportion"),
    ]


def test_a_file_without_its_folder(tmp_path: Path) -> None:
    data = opened(tmp_path, {"a_MMBench_exact_matching_result.tsv": [hit(), hit(index=None)]}, "vlmevalkit")  # type: ignore[arg-type]
    assert data.runs["model"][0] == "a_MMBench_exact_matching_result"
    assert "does not name its model" in said(data)
    assert said(data, "error") == "1 of 2 rows are dropped (no index): line 3"
    assert data.outcomes["judge"][0] is None


def test_two_models_pair(tmp_path: Path) -> None:
    files = {
        f"{model}/{model}_MMBench_result.tsv": [hit(n, int(n % every > 0)) for n in range(30)]
        for model, every in (("old", 2), ("new", 3))
    }
    result = es.compare(opened(tmp_path, files, "vlmevalkit"), "old", "new")
    assert (result.n_items, result.estimate) == (30, pytest.approx(20 / 30 - 15 / 30))
