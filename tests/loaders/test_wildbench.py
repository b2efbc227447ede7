"""WildBench: scores as outcomes, judged pairs as comparisons, and contradictions inside a record."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.wildbench import PAIRS, SCORES
from evalstats.loaders.registry import read, read_source
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

PAIR: dict[str, Any] = {
    "session_id": "s1",
    "parsed_result": {"analysis of A": "..", "reason": "..", "choice": "B++"},
    "meta_data": {"error": None},
    "model_A": "gpt-4-turbo-2024-04-09",
    "model_B": "my-model",
    "winner": "my-model",
    "extent": 2,
    "model_outputs": {"gpt-4-turbo-2024-04-09": "12345", "my-model": "123"},
}
SCORE: dict[str, Any] = {
    "session_id": "s1",
    "parsed_result": {"strengths": "..", "weaknesses": "..", "score": "7"},
    "meta_data": {"error": None},
    "model_test": "lab/my-model",
    "score": "7",
    "model_output": "abc",
}
FOLDER = "v2.0522/pairwise.v2/eval=gpt-4-turbo-2024-04-09/ref=gpt-4-turbo-2024-04-09"


@pytest.fixture
def results(tmp_path: Path) -> Any:
    def write(records: list[dict[str, Any]], folder: str = FOLDER, name: str = "my-model.json") -> EvalData:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(records))
        return read_source(PAIRS if "model_A" in records[0] else SCORES, with_digest(Source(path=path)))

    return write


def test_a_pair(results: Any) -> None:
    data = results([PAIR])
    row = data.comparisons.row(0, named=True)
    expected = {
        "item": "s1",
        "model_a": "gpt-4-turbo-2024-04-09",
        "model_b": "my-model",
        "outcome": "b",
        "strength": "strong",
        "order": "a_first",
        "judge": "gpt-4-turbo-2024-04-09",
        "length_a": 5,
        "length_b": 3,
        "value_raw": "B++",
        "setting": "lab",
    }
    assert {name: row[name] for name in expected} == expected
    assert data.runs.select("benchmark", "judge", "task_version").row(0) == (
        "WildBench",
        "gpt-4-turbo-2024-04-09",
        "v2.0522",
    )
    assert data.problems == ()


@pytest.mark.parametrize(
    ("choice", "winner", "extent", "outcome", "strength"),
    [
        ("A++", "gpt-4-turbo-2024-04-09", 2, "a", "strong"),
        ("A+", "gpt-4-turbo-2024-04-09", 1, "a", "slight"),
        ("A=B", "tie", 0, "tie", None),
        ("B+", "my-model", 1, "b", "slight"),
        (None, "my-model", 1, "b", "slight"),
        ("A+", "my-model", 1, None, None),
        ("B++", "my-model", 1, None, None),
        ("A=B", "someone", 0, None, None),
        ("C", "my-model", 2, None, None),
        (None, None, None, None, None),
    ],
)
def test_choices(  # noqa: PLR0917 - a record's three fields, and what they mean
    results: Any, choice: object, winner: object, extent: object, outcome: object, strength: object
) -> None:
    record = {**PAIR, "parsed_result": {"choice": choice}, "winner": winner, "extent": extent}
    row = results([record]).comparisons.row(0, named=True)
    assert (row["outcome"], row["strength"]) == (outcome, strength)


def test_contradictions_are_counted(results: Any) -> None:
    data = results([{**PAIR, "extent": 1}, {**PAIR, "session_id": "s2"}])
    assert "in 1 judgements winner and extent contradict the judge's own choice" in told(data)


def test_scores(results: Any) -> None:
    data = results([SCORE, {**SCORE, "session_id": "s2", "score": None}, {**SCORE, "session_id": "s3", "score": 11}])
    assert data.outcomes.select("item", "model", "metric", "score", "status").rows() == [
        ("s1", "my-model", "score", 7.0, "scored"),
        ("s2", "my-model", "score", None, "unscored"),
        ("s3", "my-model", "score", None, "unscored"),
    ]
    assert data.outcomes["value_raw"].to_list() == ['"7"', None, "11"]
    assert data.metrics.select("low", "high", "higher_is_better").row(0) == (1.0, 10.0, True)


def test_the_file_tells_a_run_that_the_model_does_not(results: Any) -> None:
    assert results([SCORE], name="my-model-greedy.json").runs["system"].item() == "my-model-greedy"
    assert results([SCORE], name="other.json").runs["system"].item() == "my-model"


def test_an_unknown_judge_is_told(results: Any) -> None:
    assert "the judge is not known" in told(results([SCORE], folder="."))


@pytest.mark.parametrize("record", [PAIR, SCORE])
def test_copies_and_nameless_records(results: Any, record: dict[str, Any]) -> None:
    with pytest.raises(UnreadableFileError, match="none of its judgements could be read"):
        results([{**record, "session_id": None}])
    data = results([record, {**record, "session_id": ""}, record])
    assert told(data, "error").split("\n") == [
        "1 of 3 judgements are dropped (no session_id): [1]",
        "1 of 3 judgements are dropped (copies of earlier ones): [2]",
    ]


def test_real_scores(shared_data: Path) -> None:
    """29,653 scores of 29 files, counted in the table; the first 25 of one file agree with the raw JSON."""
    path = shared_data / "wildbench" / "scores_long.parquet"
    raw = pl.read_parquet(path)
    data = read(path)
    assert data.outcomes.height == raw.height == 29_653
    assert data.runs.height == raw.select("version", "judge", "file_model").n_unique() == 29
    assert data.outcomes["score"].to_list() == raw["score"].to_list()
    head = shared_data / "wildbench" / "raw_head" / "v2.0625_gpt-4o-2024-05-13__gpt-3.5-turbo-0125.first25.json"
    records = json.loads(head.read_text())
    table = read(head).outcomes
    assert table["score"].to_list() == [float(record["score"]) for record in records]
    same = raw.filter(version="v2.0625", judge="gpt-4o-2024-05-13", file_model="gpt-3.5-turbo-0125")
    flat = dict(same.select("session_id", "score").iter_rows())
    assert [flat[item] for item in table["item"]] == table["score"].to_list()
