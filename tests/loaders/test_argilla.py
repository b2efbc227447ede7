"""Argilla's records, nested and flat: responses are people's ratings, suggestions those of judges."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.argilla import FLAT, FORMAT
from evalstats.loaders.registry import read_source, sniffed
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

RECORD: dict[str, Any] = {
    "id": "r1",
    "fields": {"prompt": "Hello"},
    "metadata": {"model": "m1"},
    "suggestions": {"tone": {"value": "good", "score": 0.9, "agent": "gpt"}},
    "responses": {
        "tone": [{"value": "good", "user_id": "u1"}, {"value": "bad", "user_id": "u2"}],
        "stars": [{"value": 4, "user_id": "u1"}],
        "topics": [{"value": ["b", "a"], "user_id": "u1"}],
        "order": [{"value": [{"value": "x", "rank": 1}], "user_id": "u1"}],
    },
    "vectors": {},
    "status": "completed",
    "_server_id": "s1",
}
ROW: dict[str, Any] = {
    "id": "r1",
    "status": "completed",
    "prompt": "Hello",
    "model": "m1",
    "tone.responses": ["good", "bad", "good"],
    "tone.responses.users": ["u1", "u2", "u3"],
    "tone.responses.status": ["submitted", "submitted", "discarded"],
    "tone.suggestion": "good",
    "tone.suggestion.score": 0.9,
    "tone.suggestion.agent": "gpt",
    "stars.responses": [4],
    "stars.responses.users": ["u1"],
    "stars.responses.status": ["submitted"],
}


@pytest.fixture
def exported(tmp_path: Path) -> Any:
    def write(*records: object, flat: bool = False) -> EvalData:
        path = tmp_path / "records.json"
        path.write_text(json.dumps(records))
        return read_source(FLAT if flat else FORMAT, with_digest(Source(path=path)))

    return write


def ratings(data: EvalData) -> list[tuple[object, ...]]:
    return data.ratings.select("item", "criterion", "rater", "rater_kind", "value", "label").rows()


def test_nested_records(exported: Any) -> None:
    data = exported(RECORD)
    assert ratings(data) == [
        ("r1", "tone", "u1", "human", None, "good"),
        ("r1", "tone", "u2", "human", None, "bad"),
        ("r1", "stars", "u1", "human", 4.0, None),
        ("r1", "topics", "u1", "human", None, "a, b"),
        ("r1", "tone", "gpt", "judge", None, "good"),
    ]
    assert set(data.ratings["model"]) == {"m1"}
    assert told(data) == "1 answers are texts, regions or rankings, and no ratings"


def test_flat_records(exported: Any) -> None:
    data = exported(ROW, flat=True)
    assert sorted(ratings(data)) == sorted(each for each in ratings(exported(RECORD)) if each[1] != "topics")
    assert told(data) == "1 responses are drafts or were discarded, not ratings"


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_flat_records_in_other_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"records.{kind}"
    frame = pl.DataFrame([ROW])
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "jsonl":
        frame.write_ndjson(path)
    else:
        lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
        cells = {name: [json.dumps(ROW[name])] for name in lists}
        frame.with_columns(pl.Series(name, cell) for name, cell in cells.items()).write_csv(path)
    found, _ = sniffed(read_head(path))
    assert found is not None
    assert found[0].name == "argilla-flat"
    assert len(ratings(read_source(FLAT, with_digest(Source(path=path))))) == 4


def test_without_a_name_a_suggestion_has_one(exported: Any) -> None:
    data = exported({**RECORD, "responses": {}, "suggestions": {"tone": {"value": "good"}}})
    assert ratings(data) == [("r1", "tone", "suggestion", "judge", None, "good")]


def test_bad_records_are_left_out_and_named(exported: Any) -> None:
    data = exported(RECORD, {**RECORD, "id": None}, 3, {**RECORD, "responses": 3})
    assert told(data, "error").split("\n") == [
        "1 of 4 records are dropped (no JSON object): [2]",
        "1 of 4 records are dropped (expected object | null, got int - at $.responses): [3]",
        "1 of 4 records are dropped (no id): [1]",
    ]


def test_detection(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content, name in (
        ([RECORD], "argilla"),
        ([ROW], "argilla-flat"),
        ([{"id": 1, "fields": {}, "responses": []}], None),
    ):
        path.write_text(json.dumps(content))
        found, _ = sniffed(read_head(path))
        assert (found and found[0].name) == name
