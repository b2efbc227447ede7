"""JSON values are narrowed without guessing: what does not fit is None."""

from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.loaders import values
from evalstats.loaders.values import (
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    as_whole,
    dicts,
    get,
    letter_grade,
    scores_of,
    unit_of_count,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(JSON)
def test_containers_are_themselves_or_empty(value: object) -> None:
    assert as_dict(value) == (value if isinstance(value, dict) else {})
    assert as_list(value) == (value if isinstance(value, list) else [])


@given(JSON)
def test_numbers_are_finite_or_none_and_nothing_raises(value: object) -> None:
    number = as_number(value)
    assert number is None or abs(number) < float("inf")
    whole = as_whole(value)
    assert whole is None or whole == number
    assert as_time(value) is None or isinstance(as_time(value), datetime)
    assert letter_grade(value) is None or isinstance(letter_grade(value), float)


def test_objects_in_an_array() -> None:
    assert list(dicts([{"a": 1}, 2, None, {"b": 2}])) == [{"a": 1}, {"b": 2}]
    assert list(dicts({"a": 1})) == []


def test_members_are_followed_as_far_as_they_go() -> None:
    assert get({"a": {"b": [1]}}, "a", "b") == [1]
    assert get({"a": "text"}, "a", "b") is None
    assert get(None, "a") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [(12, "12"), ("12", "12"), (12.0, "12"), ("012", "012"), (1.5, "1.5"), (True, "True"), (None, None), ({}, None)],
)
def test_ids(value: object, expected: str | None) -> None:
    assert as_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, 1.0),
        (3, 3.0),
        ("0.5", 0.5),
        (" 1e3 ", 1000.0),
        ("1_000", None),
        ("", None),
        ("inf", None),
        (float("nan"), None),
        (10**400, None),
        ([1], None),
    ],
)
def test_numbers(value: object, expected: float | None) -> None:
    assert as_number(value) == expected


@pytest.mark.parametrize(("value", "expected"), [(2.0, 2), ("3", 3), (2.5, None), (None, None)])
def test_whole_numbers(value: object, expected: int | None) -> None:
    assert as_whole(value) == expected


NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-06-01T12:00:00Z",
        "2026-06-01T14:00:00+02:00",
        "2026-06-01 12:00:00",
        NOON.timestamp(),
        NOON.timestamp() * 1000,
        str(NOON.timestamp()),
        str(int(NOON.timestamp() * 1000)),
        int(NOON.timestamp()) * 1_000_000,
        int(NOON.timestamp()) * 1_000_000_000,
        str(int(NOON.timestamp()) * 1_000_000),
        str(int(NOON.timestamp()) * 1_000_000_000),
        NOON,
        NOON.replace(tzinfo=None),
        NOON.astimezone(timezone(timedelta(hours=5))),
    ],
)
def test_times_in_every_form(value: object) -> None:
    assert as_time(value) == NOON


def test_thirteen_digits_are_milliseconds_and_no_date() -> None:
    """Python would read 16121231 as a day in 1612 and the rest as a time of day."""
    assert as_time("1612123101230") == datetime(2021, 1, 31, 19, 58, 21, 230_000, tzinfo=UTC)


@given(st.integers(126_230_400, 95_617_584_000))
def test_a_count_is_told_apart_by_its_size(seconds: int) -> None:
    """From 1974 to 5000 no count in one unit can be taken for another unit."""
    whole = datetime.fromtimestamp(seconds, tz=UTC)
    for factor, unit in ((1, "seconds"), (10**3, "milliseconds"), (10**6, "microseconds"), (10**9, "nanoseconds")):
        for value in (seconds * factor, str(seconds * factor)):
            read = as_time(value)
            assert read is not None
            assert abs(read - whole) <= timedelta(microseconds=16)  # doubles lie 15 microseconds apart in the year 5000
        assert unit_of_count(seconds * factor) == unit
    assert unit_of_count(whole.isoformat()) == unit_of_count(whole) == "dates"


def test_eight_digits_are_a_date() -> None:
    assert as_time("20260601") == datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize("value", ["yesterday", "2024", "", None, True, [1], float("nan"), 1e300])
def test_what_is_no_time(value: object) -> None:
    assert as_time(value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("C", 1.0),
        ("p", 0.5),
        (" I ", 0.0),
        ("N", 0.0),
        ("Yes", 1.0),
        ("FALSE", 0.0),
        ("0.25", 0.25),
        ("B+", None),
        ("", None),
    ],
)
def test_grades(value: object, expected: float | None) -> None:
    assert letter_grade(value) == expected


def test_numbers_among_which_some_are_no_value_are_not_read_by_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "coded", None)
    found = scores_of(pl.Series([0.25, float("nan"), None, -0.0]))
    assert found.number.to_list() == [0.25, None, None, 0.0]
    assert not found.unknown.any()


def test_numbers_in_text_among_which_some_are_words_are_not_read_by_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "coded", None)
    found = scores_of(pl.Series([*(f"{k / 200}" for k in range(150)), "N/A", "pass"]))
    assert found.number.tail(3).to_list() == [0.745, None, 1.0]
    assert found.label.drop_nulls().to_list() == ["pass"]
