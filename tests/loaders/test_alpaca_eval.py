"""AlpacaEval annotations: preferences, draws of both kinds, unread answers, items without ids; raw and flattened."""

import hashlib
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.alpaca_eval import FORMAT, item_of, shares_of_baseline
from evalstats.loaders.registry import read, read_source
from evalstats.schema.data import EvalData
from tests.loaders.trees import said as told

ANNOTATION: dict[str, Any] = {
    "instruction": "Name a fruit",
    "output_1": "Apple.",
    "generator_1": "gpt4_1106_preview",
    "dataset": "koala",
    "output_2": "Pear",
    "generator_2": "my-model",
    "annotator": "weighted_alpaca_eval_gpt4_turbo",
    "preference": 1.9997,
    "price_per_example": 0.01,
    "time_per_example": 0.84,
    "raw_completion": {"finish_reason": "length", "logprobs": {"content": []}},
}


@pytest.fixture
def annotations(tmp_path: Path) -> Any:
    def write(content: str | list[dict[str, Any]]) -> EvalData:
        path = tmp_path / "annotations.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return read_source(FORMAT, with_digest(Source(path=path)))

    return write


def test_an_annotation(annotations: Any) -> None:
    data = annotations([ANNOTATION])
    row = data.comparisons.row(0, named=True)
    expected = {
        "battle": "0",
        "model_a": "gpt4_1106_preview",
        "model_b": "my-model",
        "outcome": "b",
        "judge": "weighted_alpaca_eval_gpt4_turbo",
        "rater": None,
        "order": None,
        "setting": "lab",
        "scenario": "koala",
        "length_a": 6,
        "length_b": 4,
        "status": "scored",
        "value_raw": "1.9997",
    }
    assert {name: row[name] for name in expected} == expected
    assert math.isclose(row["preference"], 2 - 1.9997)
    assert not {"instruction", "output_1", "raw_completion"} & set(data.comparisons.columns)
    assert data.runs.select("benchmark", "judge", "n_scored").row(0) == (
        "AlpacaEval",
        "weighted_alpaca_eval_gpt4_turbo",
        1,
    )
    assert data.problems == ()


@pytest.mark.parametrize(
    ("preference", "outcome", "share"),
    [
        (1, "a", 1.0),
        (1.0, "a", 1.0),
        ("1.25", "a", 0.75),
        (2, "b", 0.0),
        (0, "tie", 0.5),
        (0.0, "tie", 0.5),
        (1.5, "tie", 0.5),
        (1.5000001, "b", 0.4999999),
    ],
)
def test_preferences(annotations: Any, preference: object, outcome: str, share: float) -> None:
    row = annotations([{**ANNOTATION, "preference": preference}]).comparisons.row(0, named=True)
    assert row["outcome"] == outcome
    assert math.isclose(row["preference"], share)


@pytest.mark.parametrize(
    ("preference", "reason"),
    [
        (None, "the annotator's answer could not be read"),
        (float("nan"), "the annotator's answer could not be read"),
        ("", "the annotator's answer could not be read"),
        (-1, "the preference lies outside 1 to 2"),
        (0.5, "the preference lies outside 1 to 2"),
        (2.1, "the preference lies outside 1 to 2"),
        ("model", "the preference is no number"),
        ([1], "the annotator's answer could not be read"),
        (math.inf, "the preference is no number"),
    ],
)
def test_what_is_no_preference_is_unscored_and_never_a_draw(annotations: Any, preference: object, reason: str) -> None:
    data = annotations([{**ANNOTATION, "preference": preference}, ANNOTATION])
    row = data.comparisons.row(0, named=True)
    assert (row["outcome"], row["preference"], row["status"], row["status_reason"]) == (None, None, "unscored", reason)
    assert "1 of 2 votes have no outcome and are kept as unscored, not as ties" in told(data)


def test_bare_nan_in_json_is_read(annotations: Any) -> None:
    text = json.dumps([ANNOTATION]).replace("1.9997", "NaN")
    assert annotations(text).comparisons["status"].to_list() == ["unscored"]


def share_of_baseline(value: object) -> tuple[float | None, str | None]:
    return shares_of_baseline([value]).select("preference", "status_reason").row(0)


@given(st.floats() | st.integers() | st.text() | st.none() | st.booleans())
def test_a_share_or_a_reason_and_never_both(value: object) -> None:
    share, reason = share_of_baseline(value)
    assert (share is None) != (reason is None)
    assert share is None or 0 <= share <= 1


@given(st.floats(1, 2))
def test_swapping_the_models_swaps_the_share(preference: float) -> None:
    share, _ = share_of_baseline(preference)
    swapped, _ = share_of_baseline(3 - preference)
    assert share is not None
    assert swapped is not None
    assert math.isclose(share + swapped, 1.0)


def test_a_model_against_itself_has_no_preference(annotations: Any) -> None:
    data = annotations([{**ANNOTATION, "generator_2": "gpt4_1106_preview", "preference": 1.5}])
    row = data.comparisons.row(0, named=True)
    assert (row["outcome"], row["preference"], row["status_reason"]) == (None, None, "a model against itself")
    assert "1 votes set a model against itself" in told(data)


def test_items_are_named_by_instruction_and_part(annotations: Any) -> None:
    records = [
        ANNOTATION,
        {**ANNOTATION, "dataset": "oasst"},
        {**ANNOTATION, "instruction": "Name a fruit "},
        {**ANNOTATION, "generator_2": "other", "output_1": "Banana."},
        {**ANNOTATION, "instruction": ""},
    ]
    data = annotations(records)
    items = data.comparisons["item"].to_list()
    assert items[0] == items[3]
    assert len(set(items[:3])) == 3
    assert items[4] is None
    assert "1 annotations have no instruction" in told(data)


def test_flat_and_raw_records_name_the_same_item() -> None:
    sha = hashlib.sha1(b"Name a fruit", usedforsecurity=False).hexdigest()[:12]
    assert item_of(None, sha, "koala") == item_of("Name a fruit", None, "koala") == f"koala.{sha}"


def test_a_repeated_annotation_is_told(annotations: Any) -> None:
    assert "1 annotations repeat an instruction" in told(annotations([ANNOTATION, ANNOTATION]))


def test_an_annotation_without_a_generator_is_left_out_and_told(annotations: Any) -> None:
    data = annotations([{**ANNOTATION, "generator_2": None}, ANNOTATION])
    assert data.comparisons.height == 1
    assert told(data, "error") == "1 of 2 annotations are dropped (no generator_2): [0]"


@pytest.mark.parametrize("content", ["[]", '[{"generator_1": "x", "generator_2": null, "preference": 1}]', "[3]"])
def test_files_without_annotations_are_refused(annotations: Any, content: str) -> None:
    with pytest.raises(UnreadableFileError):
        annotations(content)


# Real files


@pytest.mark.parametrize(
    "name",
    [
        "results__claude-2.1__weighted_alpaca_eval_gpt4_turbo__annotations.json",
        "results__gpt4__alpaca_eval_gpt4__annotations.json",
    ],
)
def test_real_annotations(shared_data: Path, name: str) -> None:
    """The first 40 annotations of two files, counted in the raw JSON."""
    path = shared_data / "alpaca_eval" / "raw_head" / name
    records = json.loads(path.read_text())
    table = read(path).comparisons
    assert table.height == len(records) == 40
    assert [2 - share for share in table["preference"]] == pytest.approx([record["preference"] for record in records])
    assert table["length_b"].to_list() == [len(record["output_2"]) for record in records]
    assert table["model_b"].to_list() == [record["generator_2"] for record in records]
    won = Counter("tie" if r["preference"] in {0, 1.5} else "a" if r["preference"] < 1.5 else "b" for r in records)
    assert Counter(table["outcome"]) == won


def check_flat(path: Path, raw: pl.DataFrame) -> EvalData:
    """Compare what is read of a flat table with counts of the table itself."""
    data = read(path)
    table = data.comparisons
    assert table.height == raw.height
    assert data.runs.height == raw["path"].n_unique()
    itself = raw["generator_1"] == raw["generator_2"]
    assert table.filter(status="unscored").height == raw["preference"].null_count() + itself.sum()
    counted = raw.filter(~itself)["preference"]
    assert Counter(table["outcome"].drop_nulls()) == {
        "tie": ((counted == 0) | (counted == 1.5)).sum(),
        "a": ((counted >= 1) & (counted < 1.5)).sum(),
        "b": (counted > 1.5).sum(),
    }
    return data


def test_real_flat_annotations(shared_data: Path, tmp_path: Path) -> None:
    """Ten of 135 files: a baseline against itself, both encodings of a draw, unread answers, a nested folder."""
    folder = shared_data / "alpaca_eval"
    raw = pl.read_parquet(folder / "annotations_long.parquet")
    names = ("gpt4_1106_preview", "vicuna-7b-v1.5", "claude-2.1", "gpt4", "phi-2")
    some = raw.filter(pl.col("result_dir").is_in(names))
    some.write_parquet(tmp_path / "some.parquet")
    data = check_flat(tmp_path / "some.parquet", some)
    assert some["preference"].null_count() > 0
    items = set(read(folder / "raw_head").comparisons["item"])
    assert items <= set(data.comparisons["item"])
    messages = "\n".join(str(problem) for problem in data.problems)
    assert "805 annotations repeat an instruction" in messages
    assert messages.count("805 of its 805 votes also stand in") == 1
