"""Columns with odd names, odd dtypes, in great number, or called like something that items share."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalstats.analysis.compare.compare import compare
from evalstats.errors import InputError
from evalstats.loaders.blocks import safe_name
from evalstats.loaders.bound_columns import MAX_FACTORS
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.frames import from_frame
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData

ROWS: dict[str, list[Any]] = {"item": ["a", "b", "c", "d"], "model": ["m"] * 4, "score": [1, 0, 1, 0]}


def by_frame(frame: pl.DataFrame, _: Path) -> EvalData:
    return from_frame(frame, item="item", score="score", model="model")


def by_csv(frame: pl.DataFrame, folder: Path) -> EvalData:
    frame.write_csv(folder / "t.csv")
    return read(folder / "t.csv")


def by_parquet(frame: pl.DataFrame, folder: Path) -> EvalData:
    frame.write_parquet(folder / "t.parquet")
    return read(folder / "t.parquet")


def by_lines(frame: pl.DataFrame, folder: Path) -> EvalData:
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in frame.to_dicts()))
    return read(folder / "t.jsonl")


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a table have 1,000 columns."""
    monkeypatch.setattr("evalstats.loaders.blocks.MAX_COLUMNS", 1_000)


@pytest.mark.parametrize("name", ["*", "^.*$", "^a$", "_arm", "_task_item", "evalstats: arm"])
@pytest.mark.parametrize("way", [by_frame, by_csv, by_parquet, by_lines])
def test_a_factor_may_have_any_name(name: str, way: Callable[[pl.DataFrame, Path], EvalData], tmp_path: Path) -> None:
    levels = ["x", "x", "y", "y"]
    data = way(pl.DataFrame({**ROWS, name: levels, "a": ["k"] * 4}), tmp_path)
    assert data.outcomes[safe_name(name)].to_list() == levels
    assert any("got other names" in problem.message for problem in data.problems) == (safe_name(name) != name)
    assert data.outcomes["a"].to_list() == ["k"] * 4


@pytest.mark.parametrize("role", ["item", "score", "model"])
def test_a_mapped_column_may_have_any_name(role: str) -> None:
    named = {("^.*$" if name == role else name): cells for name, cells in ROWS.items()}
    roles = {name: "^.*$" if name == role else name for name in ROWS}
    outcomes = from_frame(named, **roles).outcomes
    assert outcomes["item"].to_list() == ROWS["item"]
    assert outcomes["score"].to_list() == ROWS["score"]


def test_durations_become_text(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS).with_columns(took=pl.duration(seconds=90))
    for data in (by_frame(frame, tmp_path), by_parquet(frame, tmp_path)):
        assert data.outcomes["took"].to_list() == ["PT1M30S"] * 4  # ISO 8601


@pytest.mark.parametrize(
    "cells", [pd.period_range("2026-01", periods=4, freq="M"), pd.interval_range(0, 4)], ids=["period", "interval"]
)
def test_a_dtype_of_pandas_alone_is_its_text(cells: Any) -> None:
    frame = pd.DataFrame({**ROWS, "odd": cells})
    for odd in (frame["odd"], frame["odd"].astype("category")):
        data = from_frame(frame.assign(odd=odd), item="item", score="score", model="model")
        assert data.outcomes["odd"].to_list() == [*map(str, cells)]


def test_a_map_in_parquet_is_left_out(tmp_path: Path) -> None:
    cells = pa.array([[("k", 1)]] * 4, type=pa.map_(pa.string(), pa.int64()))
    pq.write_table(pa.table({**ROWS, "odd": cells}), tmp_path / "t.parquet")
    data = read(tmp_path / "t.parquet")
    assert data.outcomes.height == 4
    assert any(problem.message.endswith(": odd") for problem in data.problems)


@pytest.mark.parametrize("way", [by_frame, by_csv, by_parquet, by_lines])
def test_only_so_many_factors_are_kept(way: Callable[[pl.DataFrame, Path], EvalData], tmp_path: Path) -> None:
    wide = {f"f{place}": ["x"] * 4 for place in range(MAX_FACTORS + 50)}
    data = way(pl.DataFrame({**ROWS, **wide, "passage": ["p", "p", "q", "q"]}), tmp_path)
    assert f"f{MAX_FACTORS - 1}" in data.outcomes.columns
    assert f"f{MAX_FACTORS}" not in data.outcomes.columns
    assert data.outcomes["passage"].to_list() == ["p", "p", "q", "q"]
    assert any(problem.message.startswith("50 columns") for problem in data.problems)


@pytest.mark.parametrize("way", [by_frame, by_csv, by_parquet, by_lines])
@pytest.mark.usefixtures("narrow")
def test_a_table_with_too_many_columns_is_refused(
    way: Callable[[pl.DataFrame, Path], EvalData], tmp_path: Path
) -> None:
    wide = pl.DataFrame([pl.Series(f"f{place}", ["x"]) for place in range(1_000)])
    with pytest.raises(InputError, match="has more than 1000 columns"):
        way(pl.concat([pl.DataFrame(ROWS).head(1), wide], how="horizontal"), tmp_path)


@pytest.mark.usefixtures("narrow")
def test_records_with_keys_of_their_own_are_refused(tmp_path: Path) -> None:
    rows = [{"item": str(n), "model": "m", "score": 1, **{f"k{n}_{k}": 1 for k in range(50)}} for n in range(30)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="has more than 1000 columns"):
        read(tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    "name",
    [
        "passage", "template", "user", "session", "conversation", "thread", "dialogue", "conversation_id", "sessionId",
        "Thread ID", "DIALOGUE_ID", "passage_id", "customer", "accountId",
    ],
)  # fmt: skip
@pytest.mark.parametrize("way", [by_frame, by_csv])
def test_what_items_share_is_dependence(
    name: str, way: Callable[[pl.DataFrame, Path], EvalData], tmp_path: Path
) -> None:
    data = way(pl.DataFrame({**ROWS, name: ["p", "p", "q", "q"]}), tmp_path)
    assert data.runs["dependence"].to_list() == [[name]]
    assert any(f"share a {name} count as dependent" in problem.message for problem in data.problems)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (["p", "q", "r", "s"], False),  # each item has its own: it groups nothing
        (["p", "p", "p", "p"], False),  # all items have the same, as an account that ran them all
        (["p", "p", None, "q"], True),
    ],
)
def test_what_no_items_share_is_none(levels: list[str | None], said: bool, tmp_path: Path) -> None:
    data = by_frame(pl.DataFrame({**ROWS, "session": levels}), tmp_path)
    assert data.runs["dependence"].to_list() == [None]
    assert any("items are not clustered by it" in problem.message for problem in data.problems) == said


def test_a_level_that_differs_within_an_item_is_none() -> None:
    rows = {"item": ["a", "b", "a", "b"], "model": ["m", "m", "n", "n"], "score": [1, 0, 1, 0], "user": list("xxyy")}
    data = from_frame(rows, item="item", score="score", model="model")
    assert data.runs["dependence"].to_list() == [None, None]
    insisted = from_frame(rows, item="item", score="score", model="model", user="user")
    assert insisted.runs["dependence"].to_list() == [["user"], ["user"]]


def test_ids_that_are_text_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,model,score\n1,m,1\n1.0,m,0\n1.00,m,1\n")
    data = read(tmp_path / "t.csv", column_map=ColumnMap.from_options(["trial=#order"]))
    assert data.outcomes["item"].to_list() == ["1", "1.0", "1.00"]
    assert data.outcomes["trial"].to_list() == [0, 0, 0]


def test_a_column_written_from_floats_holds_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,model,score\n1.0,m,1\n2.0,m,0\n2.5,m,0\n")
    assert read(tmp_path / "t.csv").outcomes["item"].to_list() == ["1", "2", "2.5"]


@pytest.mark.parametrize(
    ("value", "kept"), [("9" * 5000, "inf"), ('"a\\ud800b"', "a\ufffdb")], ids=["digits", "surrogate"]
)
@pytest.mark.parametrize("shape", ["lines", "array"])
def test_an_odd_value_in_a_factor_is_replaced_and_said(value: str, kept: str, shape: str, tmp_path: Path) -> None:
    rows = [f'{{"item": "{n}", "model": "m", "score": 1, "odd": {value}}}' for n in range(2)]
    path = tmp_path / f"t.{'jsonl' if shape == 'lines' else 'json'}"
    path.write_text("\n".join(rows) if shape == "lines" else f"[{','.join(rows)}]")
    data = read(path)
    assert data.outcomes["odd"].cast(pl.String).to_list() == [kept] * 2
    assert any(problem.message.endswith("in: odd") for problem in data.problems)


def test_a_score_of_thousands_of_digits_is_no_score(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(f'{{"item": "1", "model": "m", "score": {"9" * 5000}}}\n')
    with pytest.raises(InputError, match="1 of 1 rows have no known score"):
        read(tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("n_trials", 2**31 + 1, "has a n_trials above 2147483648"),
        ("n_trials", 1e300, "has a n_trials above 2147483648"),
        ("trial", 1e300, "has a trial that is too large"),
    ],
)
def test_counts_have_an_end(name: str, value: float, said: str) -> None:
    with pytest.raises(InputError, match=said):
        from_frame({**ROWS, name: [value] * 4}, item="item", score="score", model="model", **{name: name})


@pytest.mark.parametrize("name", ["thread_count", "n_sessions", "conversation_length", "sessions_id_hash"])
def test_names_that_only_sound_alike_are_factors(name: str, tmp_path: Path) -> None:
    data = by_frame(pl.DataFrame({**ROWS, name: ["p", "p", "q", "q"]}), tmp_path)
    assert data.runs["dependence"].to_list() == [None]


def test_a_conversation_is_the_cluster_without_being_asked() -> None:
    rng = np.random.default_rng(3)
    rows = {
        "item": np.tile(np.arange(60), 2),
        "model": np.repeat(["a", "b"], 60),
        "score": rng.integers(0, 2, 120),
        "conversation": np.tile(np.arange(60) // 6, 2),
    }
    data = from_frame(rows, item="item", score="score", model="model")
    result = compare(data, "a", "b")
    assert (result.clusters, result.n_clusters) == (("conversation",), 10)
    assert "--cluster none" in data.problems[0].message


def test_few_kinds_of_several_words_are_a_factor_and_many_texts_are_none() -> None:
    """A target language is a kind of item, a question is not; of what was asked a digest remains, under its own name."""
    rows = {
        "item": [f"q{k}" for k in range(60)],
        "model": ["m"] * 60,
        "score": [float(k % 2) for k in range(60)],
        "target": ["Brazilian Portuguese" if k % 3 else "German" for k in range(60)],
        "instruction": [f"do thing {k // 2}" for k in range(60)],
    }
    data = from_frame(pl.DataFrame(rows), item="item", model="model", score="score")
    assert data.factor("target") == "target"
    assert "instruction" not in data.outcomes.columns
    assert data.factor("instruction") == "instruction_digest"
