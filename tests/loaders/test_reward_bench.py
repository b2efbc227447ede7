"""RewardBench: results of prompts as columns of a document or as rows, and shares of subsets."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.loaders.base import read_head
from evalstats.loaders.registry import sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

COLUMNS: dict[str, Any] = {
    "chat_template": "tokenizer",
    "id": [30, 31, 30],
    "model": "maker/rm",
    "model_type": "Seq. Classifier",
    "results": [1, 0, 1],
    "scores_chosen": [2.5, 0.1, 1.5],
    "scores_rejected": [0.5, 0.2, 1.0],
    "subset": ["alpacaeval-easy", "alpacaeval-easy", "hep-go"],
    "text_chosen": ["a", "b", "c"],
}
ROW = {"prompt": "Hello", "results": 1, "scores_chosen": 2.0, "scores_rejected": 1.0, "text_chosen": "a"}
SUMMARY = {
    "alpacaeval-easy": 0.9,
    "chat_template": "tokenizer",
    "hep-go": 0.75,
    "model": "maker/rm",
    "model_beaker": None,
    "model_type": "Seq. Classifier",
}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def write(*records: object, name: str = "rm.json") -> EvalData:
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, records)))
        return es.read(path)

    return write


def test_columns_of_a_document(read: Any) -> None:
    data = read(COLUMNS)
    assert data.outcomes.select("model", "task", "item", "trial", "metric", "score", "locator").rows() == [
        ("maker/rm", "alpacaeval-easy", "30", 0, "correct", 1.0, "results[0]"),
        ("maker/rm", "alpacaeval-easy", "31", 0, "correct", 0.0, "results[1]"),
        ("maker/rm", "hep-go", "30", 0, "correct", 1.0, "results[2]"),
    ]
    assert json.loads(data.runs["config"][0]) == {"chat_template": "tokenizer", "model_type": "Seq. Classifier"}
    assert data.metrics.select("kind", "low", "high", "higher_is_better").row(0) == ("binary", 0.0, 1.0, True)
    assert data.problems == ()


def test_the_second_version_has_shares(read: Any) -> None:
    data = read({**COLUMNS, "results": [1, 0.5, 0.25], "scores": [[1.0], [2.0], [3.0]]})
    assert data.outcomes["score"].to_list() == [1.0, 0.5, 0.25]
    assert data.metrics["kind"].to_list() == ["bounded"]


def test_rows_of_prompts(read: Any) -> None:
    data = read(ROW, ROW | {"prompt": "Bye", "results": None}, ROW | {"prompt": None}, name="rm_outputs.jsonl")
    assert data.outcomes.select("model", "score", "status").rows() == [("rm", 1.0, "scored"), ("rm", None, "unscored")]
    assert data.outcomes["item"].n_unique() == 2
    assert told(data, "error") == "1 of 3 results are dropped (no id and no prompt): line 3"
    named = read(ROW | {"id": 7, "subset": "s"}, name="rm_outputs.jsonl")
    assert named.outcomes.select("task", "item").row(0) == ("s", "7")


@pytest.mark.parametrize(
    ("result", "status"), [(2, "unscored"), ("x", "unscored"), (None, "unscored"), (0.33, "scored")]
)
def test_states(read: Any, result: object, status: str) -> None:
    assert read({**COLUMNS, "results": [result, 1, 1]}).outcomes["status"][0] == status


def test_shares_of_subsets(read: Any) -> None:
    data = read(SUMMARY)
    assert data.aggregates.select("model", "task", "metric", "estimate", "unit").rows() == [
        ("maker/rm", "alpacaeval-easy", "correct", 0.9, "proportion"),
        ("maker/rm", "hep-go", "correct", 0.75, "proportion"),
    ]
    known = {"num_prompts": 200, "model": "m", "ref_model": None, "tokenizer": "m", "chat_template": "tulu"}
    data = read({"accuracy": 0.8, **known, "extra_results": {"hep-go": 0.5}})
    assert data.aggregates.select("task", "estimate", "n").rows() == [("", 0.8, 200), ("hep-go", 0.5, None)]


def test_a_column_that_is_too_short_leaves_prompts_without_an_id(read: Any) -> None:
    data = read({**COLUMNS, "id": [30]})
    assert data.outcomes.height == 1
    assert "2 of 3 results are dropped (no id and no prompt): results[1], results[2]" in told(data, "error")


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    second = {"Factuality": 0.5, "Focus": 0.5, "chat_template": "x", "model": "m", "model_type": "Generative RM"}
    for content, name in (
        (COLUMNS, "reward-bench"),
        (ROW, "reward-bench"),
        (SUMMARY, "reward-bench-summary"),
        (second, "reward-bench-summary"),
        ({"model": "m", "model_type": "x", "score": 1}, None),
    ):
        path.write_text(json.dumps(content))
        found, _ = sniffed(read_head(path))
        assert (found and found[0].name) == name
