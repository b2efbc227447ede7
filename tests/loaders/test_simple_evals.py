"""simple-evals: scores of items out of their reports, and metrics as published numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import everything_said as told


def convo(asked: str, answer: str = "B", system: str = "Be brief.") -> list[dict[str, str]]:
    said = {"system": system, "user": asked, "assistant": answer}
    return [{"role": role, "content": content} for role, content in said.items()]


def html(score: object) -> str:
    return f"<h3>Results</h3>\n<p>Correct Answer: B</p>\n<p>Score: {score}</p>\n"


RESULTS: dict[str, Any] = {
    "score": 0.5,
    "metrics": {"chars": 20.5, "chars:std": 3.0, "score:std": 0.5},
    "htmls": [html(1.0), html("False"), html(0.0)],
    "convos": [convo("a?"), convo("b?"), convo("c?", "No response (bad request).")],
    "metadata": {"example_level_metadata": [None, None, None]},
}
METRICS = {"chars": 20.5, "chars:std": 3.0, "score": 0.5, "score:std": 0.5}
NAME = "gpqa_o3-mini_high_20250709_101500_allresults.json"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def write(content: object, name: str = NAME) -> EvalData:
        path = tmp_path / name
        path.write_text(json.dumps(content))
        return es.read(path)

    return write


def test_items(read: Any) -> None:
    data = read(RESULTS)
    assert data.outcomes.select("model", "benchmark", "trial", "metric", "score", "status", "locator").rows() == [
        ("o3-mini_high", "gpqa", 0, "score", 1.0, "scored", "htmls[0]"),
        ("o3-mini_high", "gpqa", 0, "score", 0.0, "scored", "htmls[1]"),
        ("o3-mini_high", "gpqa", 0, "score", None, "error", "htmls[2]"),
    ]
    assert data.aggregates.select("metric", "estimate", "n").rows() == [("chars", 20.5, None), ("score", 0.5, 3)]
    assert str(data.aggregates["date"][0]) == "2025-07-09"
    assert "1 requests were refused" in told(data)


def test_an_item_is_what_the_user_said(read: Any) -> None:
    other = {**RESULTS, "convos": [convo("a?", system="Take your time."), convo("b?"), convo("a?")]}
    items = read(other).outcomes.select("item", "trial").rows()
    assert items[0][0] == read(RESULTS).outcomes["item"][0]
    assert (items[2][0], items[2][1]) == (items[0][0], 1)


def test_healthbench_names_its_prompts(read: Any) -> None:
    about = [{"prompt_id": f"p{n}", "score": 0.4} for n in range(3)]
    scores = [html(-0.25), html(0.4), html(None)]
    content = {**RESULTS, "htmls": scores, "metadata": {"example_level_metadata": about}}
    metrics = {"overall_score": 0.4, "overall_score:n_samples": 3, "overall_score:bootstrap_std": 0.05}
    data = read({**content, "metrics": metrics}, "healthbench_hard_gpt-4.1_20250709_101500_allresults.json")
    assert data.outcomes.select("item", "score", "benchmark").row(0) == ("p0", -0.25, "healthbench_hard")
    assert data.aggregates.select("metric", "std_error", "n").row(0) == ("overall_score", 0.05, 3)


@pytest.mark.parametrize("score", ["None", "high", ""])
def test_an_item_without_a_number_is_unscored(read: Any, score: str) -> None:
    data = read({**RESULTS, "htmls": [html(score), "", html(1.0)]})
    assert data.outcomes["status"].to_list() == ["unscored", "unscored", "error"]


@pytest.mark.parametrize(
    ("name", "benchmark", "model"),
    [
        ("mmlu_gpt-4o_20250709_101500.json", "mmlu", "gpt-4o"),
        ("mmlu_FR-FR_gpt-4o_20250709_101500.json", "mmlu_FR-FR", "gpt-4o"),
        ("aime25_gpt-oss-20b-low_temp1.0_20250816_094011.json", "aime25", "gpt-oss-20b-low_temp1.0"),
        ("simpleqa_o1_20250709_101500_DEBUG.json", "simpleqa", "o1"),
    ],
)
def test_metrics_alone(read: Any, name: str, benchmark: str, model: str) -> None:
    data = read(METRICS, name)
    assert data.aggregates.select("benchmark", "model", "metric", "estimate").rows() == [
        (benchmark, model, "chars", 20.5),
        (benchmark, model, "score", 0.5),
    ]


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content, name in ((RESULTS, "simple-evals"), (METRICS, "simple-evals"), ({"score": 1, "std": 2}, None)):
        path.write_text(json.dumps(content))
        found, _ = sniffed(read_head(path))
        assert (found and found[0].name) == name
