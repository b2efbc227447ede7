"""What check_table lets through, what it mends, and what it refuses with the row, the value and the remedy."""

import math
from datetime import UTC, date, datetime
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import InputError
from evalstats.schema import tables
from evalstats.schema.columns import column_names, schema_of
from evalstats.schema.in_memory import as_polars
from evalstats.schema.tables import check_table, empty_table, factor_columns, frame_from_rows, is_constant, levels_of


def outcome(**changes: object) -> dict[str, Any]:
    return {
        "run": "r",
        "model": "m",
        "system": "m",
        "benchmark": "b",
        "item": "i",
        "metric": "acc",
        "score": 1.0,
        "status": "scored",
        "trial": 0,
        **changes,
    }


def outcomes(*rows: dict[str, Any]) -> pl.DataFrame:
    return check_table(pl.DataFrame(list(rows), infer_schema_length=None), "outcomes")


def test_standard_columns_come_first_in_glossary_order_and_factors_follow() -> None:
    table = outcomes(outcome(zebra=1, difficulty="hard"))
    assert tuple(table.columns) == (*column_names("outcomes"), "zebra", "difficulty")
    assert {name: table.schema[name] for name in column_names("outcomes")} == schema_of("outcomes")
    assert factor_columns(table) == ("zebra", "difficulty")


def test_absent_columns_are_null_or_filled() -> None:
    table = outcomes(outcome())
    assert table.select("task", "variant", "setting", "judge").row(0) == ("", "", "lab", None)


def test_a_null_where_there_is_a_fill_is_filled() -> None:
    assert outcomes(outcome(task=None, setting=None)).select("task", "setting").row(0) == ("", "lab")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"item": None}, "column 'item' is null (row 0: None)"),
        ({"score": float("nan")}, "column 'score' is NaN (row 0: nan); put null where there is no score"),
        ({"score": float("inf")}, "column 'score' is infinite"),
        ({"score": "high"}, "column 'score' is not Float64 (row 0: 'high')"),
        ({"status": "ok"}, "column 'status' is unknown (row 0: 'ok'); use one of scored, error, unscored"),
        ({"trial": -1}, "column 'trial' is below 0 (row 0: -1)"),
        ({"trial": 0.5}, "column 'trial' is not Int64 (row 0: 0.5)"),
        ({"n_trials": 0}, "column 'n_trials' is below 1"),
        ({"timestamp": "yesterday"}, "column 'timestamp' is not a time (row 0: 'yesterday')"),
        ({"timestamp": True}, "column 'timestamp' is not a time"),
        ({"item": [1, 2]}, "column 'item' holds List(Int64), which is not String"),
        ({"status": "error"}, "row 0 (item 'i') has status 'error' but a score of 1"),
        ({"score": None}, "row 0 (item 'i') has status 'scored' but no score"),
    ],
)
def test_a_fault_names_column_row_value_and_remedy(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        outcomes(outcome(**changes))
    assert said in str(caught.value)


def test_a_missing_required_column_is_named_with_its_meaning() -> None:
    row = outcome()
    del row["metric"]
    with pytest.raises(InputError, match=r"column 'metric' is missing \(Name of the metric\)"):
        outcomes(row)


def test_the_source_is_named() -> None:
    with pytest.raises(InputError, match=r"^a\.csv: outcomes: column 'item'"):
        check_table(
            {**{name: [value] for name, value in outcome().items()}, "item": [None]}, "outcomes", source="a.csv"
        )


def test_at_most_three_rows_are_shown() -> None:
    with pytest.raises(InputError, match=r"\(row 0: 'x', row 1: 'x', row 2: 'x' and 2 more\)"):
        outcomes(*(outcome(item=str(number), status="x") for number in range(5)))


def test_repeated_keys_are_refused_and_trials_tell_them_apart() -> None:
    with pytest.raises(InputError, match=r"2 rows share their key .*item='i'.*repetitions by 'trial'"):
        outcomes(outcome(), outcome(score=0.0))
    assert outcomes(outcome(), outcome(trial=1)).height == 2


@pytest.mark.parametrize(
    ("runs", "at_once"),
    [("a a b b", [2, 2]), ("a b a b", [4]), ("a a b a", [4]), ("a a a a", [4]), ("a a b c d d e", [2, 2, 2, 1])],
)
def test_keys_of_runs_that_stand_together_are_told_apart_run_by_run(
    runs: str, at_once: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    n, seen = 500, list[int]()
    run = [name for name in runs.split() for _ in range(n)]
    named = {"run": run, "item": [f"q{place}" for place in range(len(run))]}
    rows = check_table({**{name: [value] * len(run) for name, value in outcome().items()}, **named}, "outcomes")
    hashed_alike = tables._hashed_alike  # pyright: ignore[reportPrivateUsage]

    def counted(keys: pl.DataFrame) -> bool:
        seen.append(keys.height)
        return hashed_alike(keys)

    monkeypatch.setattr(tables, "_hashed_alike", counted)
    monkeypatch.setattr(tables, "_HASHED_AT_ONCE", 2 * n)  # runs that are shorter are looked at with others
    tables.check_key(rows, "outcomes")
    assert seen == [n * part for part in at_once]
    again = [place for place, name in enumerate(run) if name == "a"]
    item = rows["item"].to_list()
    item[again[-1]] = item[again[0]]
    with pytest.raises(InputError, match="2 rows share their key"):
        tables.check_key(rows.with_columns(pl.Series("item", item)), "outcomes")


def test_null_keys_are_equal_to_each_other() -> None:
    with pytest.raises(InputError, match="share their key"):
        outcomes(outcome(trial=None), outcome(trial=None))


@pytest.mark.parametrize(
    ("item", "expected"),
    [([12.0, None], "12"), ([12, 13], "12"), (["012", "13"], "012"), ([1.5, 2.0], "1.5"), ([True, False], "true")],
)
def test_ids_become_text(item: list[Any], expected: str) -> None:
    frame = pl.DataFrame({**{name: [value, value] for name, value in outcome().items()}, "item": item})
    assert check_table(frame.head(1), "outcomes")["item"].to_list() == [expected]


TIME = datetime(2026, 6, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        TIME,
        datetime(2026, 6, 1, 10),  # noqa: DTZ001 - a time without a zone is taken for UTC
        TIME.timestamp(),
        int(TIME.timestamp()),
        TIME.timestamp() * 1000,
        "2026-06-01T10:00:00+00:00",
    ],
)
def test_times_are_read_from_every_form(value: object) -> None:
    assert outcomes(outcome(timestamp=value))["timestamp"].to_list() == [TIME]


def test_a_date_is_its_midnight() -> None:
    assert outcomes(outcome(timestamp=date(2026, 6, 1)))["timestamp"].to_list() == [datetime(2026, 6, 1, tzinfo=UTC)]


def test_a_zone_is_brought_to_utc() -> None:
    series = pl.Series("timestamp", ["2026-06-01T12:00:00+02:00"]).str.to_datetime().dt.convert_time_zone("Asia/Tokyo")
    frame = pl.DataFrame([outcome()]).with_columns(series)
    assert check_table(frame, "outcomes")["timestamp"].to_list() == [TIME]


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, None], pl.Int64, [1, None]),
        ([1, 0.5], pl.Float64, [1.0, 0.5]),
        ([True, None], pl.Boolean, [True, None]),
        ([1, "x"], pl.String, ["1", "x"]),
        ([2**70, 1], pl.String, [str(2**70), "1"]),
        ([[1], None], pl.String, ["[1]", None]),
    ],
)
def test_factors_from_rows_keep_their_kind(
    values: list[object], dtype: type[pl.DataType], expected: list[object]
) -> None:
    rows = [outcome(item=str(number), extra=value) for number, value in enumerate(values)]
    extra = frame_from_rows(rows, "outcomes")["extra"]
    assert extra.dtype == dtype
    assert extra.to_list() == expected


def test_a_whole_number_too_large_for_a_factor_is_text() -> None:
    frame = pl.DataFrame([outcome()]).with_columns(pl.Series("extra", [2**63], dtype=pl.UInt64))
    assert check_table(frame, "outcomes")["extra"].to_list() == [str(2**63)]


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pl.Series([1], dtype=pl.Int8), 1),
        (pl.Series([0.5], dtype=pl.Float32), 0.5),
        (pl.Series(["x"], dtype=pl.Categorical), "x"),
        (pl.Series([date(2026, 1, 2)]), "2026-01-02"),
        (pl.Series([[1, 2]]), "[1, 2]"),
        (pl.Series([None]), None),
    ],
)
def test_factors_from_frames_are_text_number_or_boolean(series: pl.Series, expected: object) -> None:
    frame = pl.DataFrame([outcome()]).with_columns(series.alias("extra"))
    extra = check_table(frame, "outcomes")["extra"]
    assert extra.dtype in (pl.String, pl.Int64, pl.Float64)
    assert extra.to_list() == [expected]


def test_rows_may_lack_keys() -> None:
    table = frame_from_rows([outcome(item="1", tags=["a", 1]), outcome(item="2", level=3)], "outcomes")
    assert table["tags"].to_list() == [["a", "1"], None]
    assert table["level"].to_list() == [None, 3]


def test_a_value_that_fits_no_dtype_is_named_by_row() -> None:
    with pytest.raises(InputError, match=r"column 'cost_usd' is not Float64 \(row 1: 'free'\)"):
        frame_from_rows([outcome(item="1", cost_usd=0.1), outcome(item="2", cost_usd="free")], "outcomes")


def test_an_empty_table_keeps_its_dtypes() -> None:
    assert empty_table("comparisons").schema == pl.Schema(schema_of("comparisons"))
    assert check_table(empty_table("outcomes"), "outcomes").height == 0


def test_every_kind_of_frame_is_read() -> None:
    columns: dict[str, list[Any]] = {"a": [1, 2], "b": ["x", None]}
    polars = pl.DataFrame(columns)
    for frame in (
        columns,
        polars,
        polars.lazy(),
        polars.to_arrow(),
        pd.DataFrame(columns),
        duckdb.from_arrow(polars.to_arrow()),
    ):
        assert as_polars(frame).rows() == [(1, "x"), (2, None)]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InputError, match=r"'a\.csv' is not a table; read the file first: evalstats\.read\('a\.csv'\)"):
        as_polars("a.csv")
    with pytest.raises(
        InputError, match=r"a builtins\.int is not a table; pass a pandas, Polars.*what a store's read\(\) gives"
    ):
        as_polars(3)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=20))
def test_checking_twice_changes_nothing(scores: list[float]) -> None:
    once = outcomes(*(outcome(item=str(number), score=score) for number, score in enumerate(scores)))
    assert check_table(once, "outcomes").equals(once)
    assert once["score"].to_list() == scores


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("cost_usd", [None, 0.5, -1.0, None], "column 'cost_usd' is below 0 (row 2: -1.0)"),
        ("cost_usd", [None, None, float("nan"), 1.0], "column 'cost_usd' is NaN (row 2: nan)"),
        ("cost_usd", [float("inf"), 1.0, float("-inf"), None], "is infinite (row 0: inf, row 2: -inf)"),
        ("n_trials", [1, None, 0, 5], "column 'n_trials' is below 1 (row 2: 0)"),
        ("user_kind", [None, "ideal", "kind", None], "column 'user_kind' is unknown (row 2: 'kind')"),
    ],
)
def test_a_fault_between_nulls_names_its_own_row(column: str, values: list[Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        outcomes(*(outcome(item=str(row), **{column: value}) for row, value in enumerate(values)))
    assert said in str(caught.value)


def test_a_factor_without_a_name_is_called_by_its_place() -> None:
    table = check_table({"benchmark": ["b"], "metric": ["acc"], "kind": ["binary"], "": ["x"]}, "metrics")
    assert table.columns[-1].startswith("column_")
    assert table[table.columns[-1]].to_list() == ["x"]


def test_a_struct_is_no_number() -> None:
    frame = pl.DataFrame({"benchmark": ["b"], "metric": ["m"], "kind": ["binary"], "low": [{"a": 1, "b": 2}]})
    with pytest.raises(InputError, match="column 'low' holds Struct"):
        check_table(frame, "metrics")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.5, 1e300], r"'score' is beyond 1e\+70 \(row 1: 1e\+300\); its squares cannot be summed"),
        ([1e300, -1e300], r"row 0: 1e\+300, row 1: -1e\+300"),
        ([1e-200, 0.0], r"nothing but numbers near 0 \(row 0: 1e-200\); squares of such numbers are 0"),
    ],
)
def test_numbers_whose_squares_no_float_holds_are_refused(values: list[float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        outcomes(*(outcome(item=str(row), score=value) for row, value in enumerate(values)))


def test_numbers_at_the_limits_are_taken() -> None:
    for values in ([1e70, -1e70], [1e-70, 0.0], [0.0, 0.0], [1e-200, 1.0]):
        table = outcomes(*(outcome(item=str(row), score=value) for row, value in enumerate(values)))
        assert table["score"].to_list() == values


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pl.Series(["a"]).new_from_index(0, 3), True),
        (pl.Series(["b", "a"]).sort(), False),
        (pl.Series([2, 2]).sort(descending=True), True),
        (pl.Series([1.0, math.nan]).sort(), False),
        (pl.Series(["a", "b", "a"]), False),
        (pl.Series([["a"], ["a"]]), True),
        (pl.Series([["a"], ["b"]]), False),
        (pl.Series(["a", None]), False),
        (pl.Series([None, None], dtype=pl.String), True),
        (pl.Series([], dtype=pl.String), True),
    ],
)
def test_a_column_of_one_value_is_known_whether_or_not_it_is_known_to_be_sorted(
    column: pl.Series, expected: bool
) -> None:
    assert is_constant(column) is expected
    assert is_constant(pl.concat([column.head(1), column.slice(1)])) is expected


def test_levels_of_a_column_in_parts_are_those_of_the_whole() -> None:
    parts = [["a"] * 800, [None, "c", "a"] * 300, [None] * 900, ["b"] * 2]
    column = pl.concat([pl.Series(part, dtype=pl.String) for part in parts])
    assert levels_of(column) == levels_of(column.rechunk()) == levels_of(column.cast(pl.Categorical)) == ["a", "b", "c"]
