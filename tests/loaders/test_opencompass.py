"""OpenCompass: verdicts of details by item and trial, published numbers of files and summaries."""

from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from tests.loaders.trees import opened, said

Row = dict[str, Any]
RUN = "outputs/default/20260102_030405"


def details(*correct: object, **changes: Any) -> Row:
    found = [
        {"example_abbr": f"gsm8k_{n}", "pred": ["4"], "answer": ["4"], "correct": verdict}
        for n, verdict in enumerate(correct)
    ]
    return {"accuracy": 50.0, "details": found, **changes}


SUMMARY = """dataset,version,metric,mode,gpt,llama
mmlu,-,naive_average,gen,71.50,60.00
arc,a1b2c3,accuracy,gen,-,44.10
-,-,-,-,-,-
"""
FILES: dict[str, object] = {
    f"{RUN}/results/gpt/gsm8k.json": details([True, False], [True, True]),
    f"{RUN}/results/gpt/math.json": {"accuracy": 12.5, "bp": 1.0, "type": "GEN"},
    f"{RUN}/summary/summary_20260102_030405.csv": SUMMARY,
    f"{RUN}/predictions/gpt/gsm8k.json": {"0": {"origin_prompt": "2+2", "prediction": "4", "gold": "4"}},
}


def test_a_run(tmp_path: Path) -> None:
    data = opened(tmp_path, FILES, "opencompass")
    assert data.outcomes.select("model", "task", "item", "trial", "score", "locator").rows() == [
        ("gpt", "gsm8k", "gsm8k_0", 0, 1.0, "details[0]"),
        ("gpt", "gsm8k", "gsm8k_0", 1, 0.0, "details[0]"),
        ("gpt", "gsm8k", "gsm8k_1", 0, 1.0, "details[1]"),
        ("gpt", "gsm8k", "gsm8k_1", 1, 1.0, "details[1]"),
    ]
    assert data.aggregates.sort("model", "task").select("model", "task", "metric", "estimate").rows() == [
        ("gpt", "gsm8k", "accuracy", 50.0),
        ("gpt", "math", "accuracy", 12.5),
        ("gpt", "mmlu", "naive_average", 71.5),
        ("llama", "arc", "accuracy", 44.1),
        ("llama", "mmlu", "naive_average", 60.0),
    ]
    assert said(data, "error") == ""
    assert "1 rows of the summary have no score" in said(data)


@pytest.mark.parametrize(
    ("found", "rows"),
    [
        ({"0": {"pred": "4", "answer": "4", "correct": True}, "type": "GEN"}, [("0", "scored", 1.0)]),
        ([{"pred": "4", "answer": "4", "is_correct": False}], [("0", "scored", 0.0)]),
        ([{"example_abbr": "a", "cascade_correct": [True]}], [("a", "scored", 1.0)]),
        ([{"example_abbr": "a", "correct": ["yes"]}], [("a", "unscored", None)]),
        ([{"example_abbr": "a", "pred": "4"}, 3], []),
        (7, []),
    ],
)
def test_details(tmp_path: Path, found: object, rows: list[tuple[object, ...]]) -> None:
    files = {f"{RUN}/results/gpt/x.json": {"score": 1, "details": found}}
    data = opened(tmp_path, files, "opencompass")
    assert data.outcomes.select("item", "status", "score").rows() == rows


def test_a_result_that_is_an_error(tmp_path: Path) -> None:
    files = {
        f"{RUN}/results/gpt/x.json": {"error": "different {length}", "details": [{"correct": True}]},
        f"{RUN}/results/gpt/y.json": {"accuracy": float("nan"), "details": [{"correct": False}]},
    }
    data = opened(tmp_path, files, "opencompass")
    assert "1 results are an error in place of scores (different (length))" in said(data)
    assert data.aggregates.height == 0
    assert data.outcomes["score"].to_list() == [1.0, 0.0]


def test_the_judge_is_no_part_of_the_model(tmp_path: Path) -> None:
    data = opened(tmp_path, {f"{RUN}/results/gpt_judged-by--claude/x.json": {"score": 7.5}}, "opencompass")
    assert data.runs.select("model", "judge").row(0) == ("gpt", "claude")


def test_two_models_pair(tmp_path: Path) -> None:
    files = {
        f"{RUN}/results/{model}/gsm8k.json": details(*([n % every > 0] for n in range(30)))
        for model, every in (("old", 2), ("new", 3))
    }
    result = es.compare(opened(tmp_path, files, "opencompass"), "old", "new")
    assert (result.n_items, result.estimate) == (30, pytest.approx(20 / 30 - 15 / 30))
