"""One definition of each metric, whatever the files at hand happened to show of it."""

import polars as pl
import pytest

from evalstats.schema.metrics import one_definition, with_facts
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


def test_two_ranges_of_one_metric_stay_apart_and_are_said() -> None:
    merged, contradictions = one_definition(
        table({"kind": "bounded", "low": 1.0, "high": 5.0}, {"kind": "bounded", "low": 1.0, "high": 10.0})
    )
    assert merged.select("low", "high").rows() == [(1.0, 5.0), (1.0, 10.0)]
    assert "it runs from 1 to 5, and from 1 to 10" in contradictions[0]


def test_what_is_declared_makes_one_of_descriptions_that_contradict_each_other() -> None:
    apart, _ = one_definition(table({"higher_is_better": True}, {"higher_is_better": False}, {"metric": "z"}))
    told = with_facts(apart, ("b", "m"), {"higher_is_better": False})
    assert told.filter(metric="m").select("higher_is_better", "kind").rows() == [(False, "binary")]
    assert told.filter(metric="z").height == 1


def test_a_direction_that_one_source_names_holds_for_all() -> None:
    merged, contradictions = one_definition(table({}, {"higher_is_better": False}))
    assert merged["higher_is_better"].to_list() == [False]
    assert contradictions == []


def test_equal_units_are_kept() -> None:
    seconds = {"kind": "continuous", "low": None, "high": None, "unit": "seconds"}
    merged, contradictions = one_definition(table({**seconds, "primary": True}, seconds))
    assert merged.select("unit", "primary").rows() == [("seconds", True)]
    assert contradictions == []


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"higher_is_better": True}, {"higher_is_better": False}, "more is better, and less is better"),
        ({"unit": "proportion"}, {"unit": "percent"}, "unit is 'proportion' and 'percent'"),
        ({"kind": "ordinal"}, {"kind": "continuous"}, "kind is 'ordinal' and 'continuous'"),
    ],
)
def test_what_cannot_both_be_true_is_said(first: dict[str, object], second: dict[str, object], said: str) -> None:
    merged, contradictions = one_definition(table(first, second))
    assert merged.height == (2 if "higher_is_better" in first else 1)
    assert len(contradictions) == 1
    assert said in contradictions[0]


def test_other_metrics_keep_their_rows_and_order() -> None:
    merged, _ = one_definition(table({"metric": "z"}, {"metric": "a"}, {"metric": "z", "kind": "bounded"}))
    assert merged.select("metric", "kind").rows() == [("z", "bounded"), ("a", "binary")]
