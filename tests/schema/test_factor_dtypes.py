"""Tables with different factors are stacked without bending a value."""

import polars as pl
import pytest

from evalstats.schema.tables import check_table, concat_tables, factor_series, frame_from_rows


def metric(name: str, **factors: object) -> pl.DataFrame:
    return frame_from_rows([{"benchmark": "b", "metric": name, "kind": "binary", **factors}], "metrics")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], [1, 2]),
        ([1, 0.5], [1.0, 0.5]),
        ([1, None], [1, None]),
        ([None, 0.5], [None, 0.5]),
        ([None, True], [None, True]),
        ([1, "x"], ["1", "x"]),
        ([1.0, "x"], ["1", "x"]),  # a whole number is the same label whether it was written 1 or 1.0
        ([0.1, "x"], ["0.1", "x"]),
        ([True, "x"], ["true", "x"]),
        ([True, 1], ["true", "1"]),
        ([None, None], [None, None]),
    ],
)
def test_the_dtype_that_holds_both(values: list[object], expected: list[object]) -> None:
    frames = [metric(f"m{n}", level=value) for n, value in enumerate(values)]
    stacked = concat_tables(frames, "metrics")["level"].to_list()
    assert stacked == expected
    assert [type(value) for value in stacked] == [type(value) for value in expected]


def test_a_number_too_large_to_be_written_as_a_whole_number() -> None:
    text, _ = concat_tables([metric("m", level=1e300), metric("n", level="x")], "metrics")["level"].to_list()
    assert float(text) == 1e300


def test_a_factor_that_a_part_lacks_is_null_there() -> None:
    stacked = concat_tables([metric("m"), metric("n", level=1)], "metrics")
    assert stacked["level"].to_list() == [None, 1]


@pytest.mark.parametrize("name", ["*", "^m.*$"])
def test_a_factor_may_be_called_like_a_pattern(name: str) -> None:
    stacked = concat_tables([metric("m", **{name: 1}), metric("n", **{name: "x"})], "metrics")
    assert stacked[name].to_list() == ["1", "x"]
    assert stacked["metric"].to_list() == ["m", "n"]


def test_a_duration_becomes_text() -> None:
    frame = pl.DataFrame({"benchmark": ["b"], "metric": ["m"], "kind": ["binary"]}).with_columns(
        took=pl.duration(seconds=90)
    )
    assert check_table(frame, "metrics")["took"].to_list() == ["PT1M30S"]  # ISO 8601


def test_half_a_character_is_replaced() -> None:
    row = {"benchmark": "b", "metric": "m", "kind": "binary", "level": "a\ud800"}
    assert frame_from_rows([row], "metrics")["level"].to_list() == ["a\ufffd"]


def test_a_number_of_hundreds_of_digits_beside_a_text_is_a_text() -> None:
    assert factor_series("level", ["x", 10**30, 1.5]).to_list() == ["x", f"1{'0' * 30}", "1.5"]
