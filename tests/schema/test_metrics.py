"""One definition of each metric, whatever the files at hand happened to show of it."""

import polars as pl
import pytest

from evalstats.schema.metrics import one_definition
from evalstats.schema.tables import check_table


def table(*rows: dict[str, object]) -> pl.DataFrame:
    base = {"benchmark": "b", "metric": "m", "kind": "binary", "low": 0.0, "high": 1.0}
    return pl.concat([check_table(pl.DataFrame([{**base, **row}]), "metrics") for row in rows])


@pytest.mark.parametrize("turned", [False, True])
def test_the_widest_kind_counts_whichever_file_comes_first(turned: bool) -> None:
    rows = [{"kind": "binary", "unit": "proportion"}, {"kind": "continuous", "low": None, "high": None}]
    merged, contradictions = one_definition(table(*(reversed(rows) if turned else rows)))
    assert merged.select("kind", "low", "high", "unit").rows() == [("continuous", None, None, None)]
    assert contradictions == []


def test_bounds_hold_for_all_files() -> None:
    merged, _ = one_definition(
        table({"kind": "bounded", "low": 1.0, "high": 4.0}, {"kind": "bounded", "low": 0.0, "high": 3.0})
    )
    assert merged.select("low", "high").rows() == [(0.0, 4.0)]


def test_equal_units_are_kept() -> None:
    seconds = {"kind": "continuous", "low": None, "high": None, "unit": "seconds"}
    merged, contradictions = one_definition(table({**seconds, "primary": True}, seconds))
    assert merged.select("unit", "primary").rows() == [("seconds", True)]
    assert contradictions == []


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"higher_is_better": True}, {"higher_is_better": False}, "higher_is_better is True and False"),
        ({"unit": "proportion"}, {"unit": "percent"}, "unit is 'proportion' and 'percent'"),
        ({"kind": "ordinal"}, {"kind": "continuous"}, "kind is 'ordinal' and 'continuous'"),
    ],
)
def test_what_cannot_both_be_true_is_said(first: dict[str, object], second: dict[str, object], said: str) -> None:
    merged, contradictions = one_definition(table(first, second))
    assert merged.height == 1
    assert len(contradictions) == 1
    assert said in contradictions[0]


def test_other_metrics_keep_their_rows_and_order() -> None:
    merged, _ = one_definition(table({"metric": "z"}, {"metric": "a"}, {"metric": "z", "kind": "bounded"}))
    assert merged.select("metric", "kind").rows() == [("z", "bounded"), ("a", "binary")]
