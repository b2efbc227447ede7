"""The kind of a metric as told from its scores."""

from datetime import date

import pytest

from evalstats.loaders.rows import Ranges, held
from evalstats.schema.tables import frame_from_rows


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.0, 1.0], ("binary", 0.0, 1.0)),
        ([1.0, 1.0], ("binary", 0.0, 1.0)),
        ([0.0, 0.5], ("bounded", 0.0, 1.0)),
        ([0.0, 1.5], ("continuous", None, None)),
        ([-0.1, 1.0], ("continuous", None, None)),
        ([None], ("binary", 0.0, 1.0)),
        ([None, 1.0], ("binary", 0.0, 1.0)),
    ],
)
def test_kind_of_scores(scores: list[float | None], expected: tuple[object, ...]) -> None:
    ranges = Ranges()
    for score in scores:
        ranges.add("b", "m", score)
    row = ranges.row("b", "m")
    assert (row["kind"], row["low"], row["high"]) == expected


def test_average_of_binary_parts_is_a_proportion_even_where_it_is_whole() -> None:
    ranges = Ranges()
    ranges.add("b", "m", 1.0, average=True)
    assert ranges.row("b", "m")["kind"] == "proportion"


def test_benchmarks_are_apart_and_rows_are_rows_of_metrics() -> None:
    ranges = Ranges()
    ranges.add("b", "m", 1.0)
    ranges.add("c", "m", 7.0)
    assert list(ranges) == [("b", "m"), ("c", "m")]
    frame = frame_from_rows([ranges.row(*key) for key in ranges], "metrics")
    assert frame["kind"].to_list() == ["binary", "continuous"]
    assert frame["higher_is_better"].to_list() == [None, None]


def test_a_date_or_bytes_of_a_parquet_file_are_held_as_text() -> None:
    assert held(date(2026, 1, 2)) == '"2026-01-02"'
    assert held([b"x"]) == "[\"b'x'\"]"


@pytest.mark.parametrize(
    ("metric", "scores", "kind"),
    [
        ("cost", (0.02, 0.3), "continuous"),
        ("latency_s", (0.5, 0.9), "continuous"),
        ("f1", (0.02, 0.3), "bounded"),
        ("cost_efficiency", (0.02, 0.3), "bounded"),
        ("on_time", (0.0, 1.0), "binary"),
    ],
)
def test_dollars_and_seconds_below_1_are_no_shares(metric: str, scores: tuple[float, ...], kind: str) -> None:
    seen = Ranges()
    for score in scores:
        seen.add("b", metric, score)
    row = seen.row("b", metric)
    assert row["kind"] == kind
    assert (row["low"], row["high"]) == ((None, None) if kind == "continuous" else (0.0, 1.0))
