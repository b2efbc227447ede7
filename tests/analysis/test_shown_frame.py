"""A result's frame read in a terminal and a notebook: what answers is in sight, and the numbers are as they were."""

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.escape import cell_width
from tests.analysis.test_every_result import FEW, HOSTILE, results

NUMBERS = pl.DataFrame(
    {"note": ["x", "y"], "model": ["a", "b"], "estimate": [0.123456, 0.5], "conf_low": [None, -0.25]}
)


@pytest.mark.parametrize("name", [*HOSTILE, *FEW])
def test_the_estimate_is_in_sight_in_lines_that_fit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for frame in [result.to_frame() for result in results(name)]:
        known = "estimate" in frame.columns and frame["estimate"].is_not_null().any()
        for width in (60, 80):
            monkeypatch.setenv("COLUMNS", str(width))
            lines = repr(frame).splitlines()
            head = next(line for line in lines if line.strip())
            assert ("estimate" in head) is known
            assert all(line.isprintable() for line in lines)
            told = "".join(lines)
            assert all(column in told for column in frame.columns if column.isidentifier())
            if width >= 80:
                assert max(map(cell_width, lines)) <= max(width, cell_width(head))


def test_numbers_are_rounded_for_the_eye_alone() -> None:
    shown: Any = ShownFrame(NUMBERS)
    assert "0.123 " in repr(shown)
    assert "−0.250" in shown._repr_html_()
    assert shown.columns == NUMBERS.columns
    assert_frame_equal(shown, NUMBERS)
    assert type(shown.filter(pl.col("model") == "a")) is pl.DataFrame


def test_what_comes_from_a_file_is_escaped_and_cut() -> None:
    shown: Any = ShownFrame(pl.DataFrame({"model": ["<script>", "y" * 500], "estimate": [1.5, float("nan")]}))
    assert "<script>" not in shown._repr_html_()
    assert "y" * 60 not in repr(shown)


def test_frames_without_rows_or_columns_are_shown() -> None:
    assert "0 rows, 4 columns" in repr(ShownFrame(NUMBERS.clear()))
    assert "0 rows, 0 columns" in repr(ShownFrame())
    assert "1 row, 1 column" in repr(ShownFrame({"estimate": [None]}))


def test_of_many_rows_the_first_are_shown_and_this_is_said() -> None:
    shown = repr(ShownFrame({"model": [f"m{k}" for k in range(1200)]}))
    assert "the first 20 of 1,200 rows" in shown
    assert "m19" in shown
    assert "m20" not in shown
