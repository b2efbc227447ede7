"""A frame in memory becomes the same tables as the same frame in a file."""

import re
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import evalstats as es
from evalstats.errors import InputError
from evalstats.loaders import registry
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.frames import found_columns, from_frame
from evalstats.loaders.registry import read_source
from evalstats.loaders.table import TableLoader
from evalstats.schema.data import EvalData, combine
from tests.loaders.headers import HEADERS, Header, rows_of
from tests.loaders.test_binder import lines_of, words_of, written
from tests.loaders.trees import offered

COLUMNS: dict[str, list[Any]] = {
    "question_id": [1, 2, 3, 1, 2, 3],
    "system": ["a", "a", "a", "b", "b", "b"],
    "correct": [1.0, 0.0, None, 1.0, 1.0, 0.0],
    "level": [1, 2, 3, 1, 2, 3],
}


def read(frame: object, **more: Any) -> Any:
    return from_frame(frame, item="question_id", score="correct", model="system", **more)


@pytest.mark.parametrize("kind", ["dict", "polars", "lazy", "pandas", "pandas pyarrow", "arrow", "duckdb"])
def test_every_kind_of_frame_gives_the_same_tables(kind: str) -> None:
    polars = pl.DataFrame(COLUMNS)
    frames: dict[str, Any] = {
        "dict": COLUMNS,
        "polars": polars,
        "lazy": polars.lazy(),
        "pandas": pd.DataFrame(COLUMNS),
        "pandas pyarrow": pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
        "arrow": polars.to_arrow(),
        "duckdb": duckdb.from_arrow(polars.to_arrow()),
    }
    data = read(frames[kind])
    assert data.outcomes.select("item", "model", "score", "status", "trial", "metric", "level").rows() == [
        ("1", "a", 1.0, "scored", 0, "correct", 1),
        ("2", "a", 0.0, "scored", 0, "correct", 2),
        ("3", "a", None, "unscored", 0, "correct", 3),
        ("1", "b", 1.0, "scored", 0, "correct", 1),
        ("2", "b", 1.0, "scored", 0, "correct", 2),
        ("3", "b", 0.0, "scored", 0, "correct", 3),
    ]
    assert data.metrics.select("metric", "kind").rows() == [("correct", "binary")]
    assert data.runs.select("model", "loader", "n_scored", "n_unscored").rows() == [
        ("a", "frame", 2, 1),
        ("b", "frame", 3, 0),
    ]


def test_a_frame_and_its_file_agree(tmp_path: Path) -> None:
    frame = pl.DataFrame(COLUMNS)
    options = {"item": "question_id", "score": "correct", "model": "system", "benchmark": "@b"}
    frame.write_csv(tmp_path / "x.csv")
    loader = TableLoader(ColumnMap.from_pairs(options.items()))
    from_file = read_source(loader, with_digest(Source(path=tmp_path / "x.csv")))
    in_memory = from_frame(frame, **options)
    assert in_memory.outcomes.drop("run", "locator").equals(from_file.outcomes.drop("run", "locator"))
    assert in_memory.metrics.equals(from_file.metrics)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([True, False], [1.0, 0.0]),
        (["C", "I"], [1.0, 0.0]),
        ([np.float32(0.5), float("nan")], [0.5, None]),
        (pl.Series([1, 0], dtype=pl.UInt8), [1.0, 0.0]),
        (pl.Series(["0.25", "1"]).cast(pl.Decimal(5, 2)), [0.25, 1.0]),
        (pl.Series(["yes", "no"], dtype=pl.Categorical), [1.0, 0.0]),
        (pl.Series(["yes", "no"], dtype=pl.Enum(["no", "yes"])), [1.0, 0.0]),
        ([None, None], [None, None]),
    ],
)
def test_scores_of_every_dtype(scores: Any, expected: list[float | None]) -> None:
    data = from_frame({"item": [1, 2], "model": ["m", "m"], "s": scores}, item="item", score="s")
    assert data.outcomes["score"].to_list() == expected


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (["C", "B+"], "2 of 2 rows have no known score in 's' (row 0: 'C'; then 'B+'); "),
        (["C", "good"], "1 of 2 rows have no known score in 's' (row 1: 'good'); "),
        ([1.0, float("inf")], "1 of 2 rows have no known score in 's' (row 1: 'inf'); "),
        (
            pl.Series(["2026-01-01", "2026-01-02"]).str.to_date(),
            "2 of 2 rows have no known score in 's' (row 0: '2026-01-01'; then '2026-01-02'); ",
        ),
    ],
)
def test_unknown_scores_are_counted_and_name_the_row(scores: Any, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        from_frame({"item": [1, 2], "model": ["m", "m"], "s": scores}, item="item", score="s")


def test_what_lies_in_the_index_of_a_pandas_table_is_told_from_what_is_not_there() -> None:
    frame = pd.DataFrame(COLUMNS).set_index(["system", "question_id"])
    assert read(frame).outcomes.equals(read(frame.reset_index()).outcomes)
    with pytest.raises(InputError, match="there is no column 'question' for item"):
        from_frame(frame, item="question", score="correct")


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([12, 13], ["12", "13"]),
        ([12.0, 13.0], ["12", "13"]),
        (["012", "12.0"], ["012", "12.0"]),
        (["1", "1.0"], ["1", "1.0"]),
        ([1.5, 2.0], ["1.5", "2"]),
    ],
)
def test_ids_are_text(ids: list[Any], expected: list[str]) -> None:
    data = from_frame({"i": ids, "model": ["m", "m"], "score": [1, 0]}, item="i", score="score")
    assert data.outcomes["item"].to_list() == expected


def test_a_missing_id_names_the_row() -> None:
    with pytest.raises(InputError, match=r"a row has no item; every row needs one \(row 1\)"):
        from_frame({"i": [1.0, float("nan")], "model": ["m", "m"], "score": [1, 0]}, item="i", score="score")


def test_labels_scale_metrics_and_dependence() -> None:
    data = from_frame(
        {"q": [1, 2], "grade": ["good", "poor"], "len": [10, 20], "doc": ["x", "y"], "who": ["u", "v"]},
        item="q",
        score=["grade", "len"],
        model="@m",
        benchmark="@mine",
        values={"score": {"good": 5, "poor": 1}},
        metrics={"len": {"higher_is_better": False, "unit": "tokens"}},
        scale="1..5",
        dependence=["doc"],
        user="who",
    )
    assert data.outcomes.filter(metric="grade").select("score", "value_raw", "user", "doc", "benchmark").rows() == [
        (5.0, "good", "u", "x", "mine"),
        (1.0, "poor", "v", "y", "mine"),
    ]
    assert data.metrics.sort("metric").select("metric", "low", "high", "higher_is_better", "unit").rows() == [
        ("grade", 1.0, 5.0, None, None),
        ("len", None, None, False, "tokens"),
    ]
    assert data.runs["dependence"].to_list() == [["user", "doc"]]
    assert data.problems == ()


def test_repetitions() -> None:
    frame = {"item": [1, 1, 1], "model": ["m", "m", "m"], "score": [1, 0, 1]}
    with pytest.raises(InputError, match=r"1 id stands more than once .*\(row 1: model 'm', item '1'; row 2:"):
        from_frame(frame, item="item", score="score")
    assert from_frame(frame, item="item", score="score", trial="#order").outcomes["trial"].to_list() == [0, 1, 2]


def test_runs_of_frames_with_other_results_have_other_names() -> None:
    one, other = read(COLUMNS), read({**COLUMNS, "correct": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]})
    assert set(one.runs["run"]) & set(other.runs["run"]) == set()
    assert combine([one, other]).outcomes.height == 12
    assert combine([one, read(pd.DataFrame(COLUMNS))]).outcomes.height == 6


def test_runs_can_be_named() -> None:
    data = from_frame({**COLUMNS, "id": list("rrrsss")}, item="question_id", score="correct", model="system", run="id")
    assert sorted(data.runs["run"].to_list()) == ["r", "s"]
    assert read(COLUMNS, benchmark="@b").runs["run"].to_list()[0].startswith("a~")
    with pytest.raises(InputError, match=r"run 'r' holds the models 'a' and 'b', and a run is one system"):
        read(COLUMNS, run="@r")


@pytest.mark.parametrize(
    ("frame", "options", "said"),
    [
        (COLUMNS, {"model": "nope"}, "there is no column 'nope' for model; the table has question_id, system"),
        (COLUMNS, {"benchmark": "gsm8k"}, "write --map benchmark=@gsm8k"),
        ({"question_id": [1], "correct": [1]}, {}, "no column is called model"),
        (COLUMNS, {"model": "system", "modle": "x"}, "'modle' is no standard column; did you mean 'model'?"),
        (COLUMNS, {"model": "system", "scale": "high"}, "scale 'high' is not understood"),
        (COLUMNS, {"model": "system", "values": {"score": {"x": "y"}}}, "must stand for a number"),
        ({"question_id": [], "correct": []}, {"model": "@m"}, "the frame holds no rows"),
        (3, {}, "is not a table; pass a pandas, Polars, pyarrow or DuckDB table"),
    ],
)
def test_what_a_frame_cannot_give(frame: object, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        from_frame(frame, item="question_id", score="correct", **options)
    assert said in str(caught.value)


def test_cells_of_mixed_types_are_read_as_in_a_file() -> None:
    cells = {"item": [1, "x", 2, "y"], "model": ["m"] * 4, "score": [True, "false", "True", None]}
    rows = pd.DataFrame(cells).to_dict("records")
    for frame in (pd.DataFrame(cells), cells, rows):
        found = from_frame(frame, item="item", score="score").outcomes
        assert found["item"].to_list() == ["1", "x", "2", "y"]
        assert found["score"].to_list() == [1.0, 0.0, 1.0, None]


def test_nested_columns_are_left_out_with_a_note() -> None:
    frame = pl.DataFrame(
        {"item": [1], "model": ["m"], "score": [1], "log": [[1, 2]], "info": [{"a": 1, "b": {"c": 2}}]}
    )
    data = from_frame(frame, item="item", score="score")
    assert data.outcomes["info.a"].to_list() == [1]
    assert not {"log", "info.b", "info"} & set(data.outcomes.columns)
    assert "dropped as factors" in data.problems[0].message


@pytest.mark.parametrize("metric", [None, "kind"])
def test_a_metric_that_is_not_there_is_named(metric: str | None) -> None:
    rows = {"item": [1, 2], "model": ["m", "m"], "score": [1, 0], "kind": ["score", "score"]}
    with pytest.raises(
        InputError, match="there is no metric 'Score', of which the map says something; the table has score"
    ):
        from_frame(rows, item="item", score="score", metric=metric, metrics={"Score": {"higher_is_better": False}})


def test_labels_may_be_numbers_and_mappings_of_any_kind() -> None:
    values = MappingProxyType({"score": MappingProxyType({2: 1, 3: "unscored"})})
    data = from_frame({"item": [1, 2], "model": ["m", "m"], "score": [2, 3]}, item="item", score="score", values=values)  # pyright: ignore[reportArgumentType] - labels of a caller without types
    assert data.outcomes["score"].to_list() == [1.0, None]


def found_or_shown(read_it: Callable[[], EvalData]) -> EvalData | str:
    """Return what is read, or the words of a refusal."""
    try:
        return read_it()
    except InputError as error:
        return str(error)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(header, id=header.columns, marks=[pytest.mark.slow] if place % 6 != 4 else [])
        for place, header in enumerate(HEADERS)
    ],
)
def test_columns_of_a_frame_are_found_as_those_of_a_file(header: Header, tmp_path: Path) -> None:
    names, rows = header.names(), rows_of(header.names(), 1)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    there = found_or_shown(
        lambda: registry.read(written(tmp_path / "table.csv", names, rows), strict=True, **words_of(header.asked))
    )
    here = found_or_shown(lambda: found_columns(frame, words_of(header.asked))[0])
    key = ("item", "model", "metric", "score")
    if isinstance(here, EvalData):
        assert isinstance(there, EvalData), there
        numbered = header.roles.startswith("item=#row")  # in a file by its lines
        assert not numbered or here.outcomes["item"].is_unique().all()
        own, other = (data.outcomes.select(key[numbered:]) for data in (here, there))
        assert_frame_equal(own, other, check_row_order=False)
        return
    assert isinstance(there, str), here
    calls = offered(here)
    assert len(calls) == len(lines_of(there))
    for call in calls:
        eval(call, {"evalstats": es, "table": frame})  # noqa: S307 - what a user would paste


@pytest.mark.parametrize(("repeats", "kept"), [("first", [1.0, 0.0]), ("last", [0.0, 0.0]), ("drop", None)])
def test_repeated_rows_are_kept_as_is_said(repeats: str, kept: list[float] | None) -> None:
    frame = {"item": ["p", "p", "q"], "model": ["a"] * 3, "score": [1.0, 0.0, 0.0]}
    if kept is None:  # the two rows are no copies
        with pytest.raises(InputError, match="stands more than once"):
            from_frame(frame, item="item", score="score", repeats=repeats)
        frame = {
            name: [*cells, cells[-1]] for name, cells in ({name: cells[1:] for name, cells in frame.items()}).items()
        }
    found = from_frame(frame, item="item", score="score", repeats=repeats)
    assert found.outcomes.sort("item")["score"].to_list() == (kept or [0.0, 0.0])


def test_columns_may_be_numbers_and_none_stands_twice() -> None:
    table = pd.DataFrame({0: ["q1", "q2"], 1: [1, 0], 2: ["m", "m"]})
    numbered: dict[str, Any] = {"item": 0, "score": 1, "model": 2, "dependence": 0}
    assert from_frame(table, **numbered).outcomes["score"].to_list() == [1, 0]
    doubled = pd.DataFrame([["q1", 1, 0]], columns=["item", "score", "score"])
    for question in (from_frame, es.score, es.from_votes, es.from_ratings):
        with pytest.raises(InputError, match="column 'score' appears twice in the table; rename one of the two"):
            question(doubled)
