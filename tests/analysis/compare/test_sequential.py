"""A difference watched while the run goes on: the order of finishing, what is counted, and how it enters a comparison."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.difference import PairedScores, paired_difference
from evalstats.analysis.compare.sequential import (
    as_difference,
    as_estimate,
    finishing_order,
    sequential_account,
    sequential_at_margin,
    sequential_rows,
)
from evalstats.analysis.design.metric import Metric, choose_metric
from evalstats.analysis.result import json_safe
from evalstats.document.numbers import e_value_words
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.betting import betting_cs, betting_margin_p, e_mcnemar
from evalstats.stats.sequential import asymptotic_cs, normal_mixture_cs
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import rows_named, system_of
from tests.analysis.builders import data_of, rows_of

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def timed(rows, seconds):
    """Add timestamps, one a row; None leaves the row without."""
    stamped = [None if s is None else START + timedelta(seconds=float(s)) for s in seconds]
    return [row | {"timestamp": stamp} for row, stamp in zip(rows, stamped, strict=True)]


def table_of(data, *, factors=(), names=("A", "B")):
    rows = [rows_named(data.outcomes, name, contrast="model", role="side") for name in names]
    metric = choose_metric(data, pl.concat(rows), None)
    both = [system_of(own, name, metric, role="side") for own, name in zip(rows, names, strict=True)]
    return ScoreTable.of(both, metric, factors=list(factors))


def watched(data, *, clusters=(), names=("A", "B"), **options):
    return sequential_account(table_of(data, factors=clusters, names=names), clusters=tuple(clusters), **options)


def order_of(first, second):
    table = table_of(data_of(first, second))
    paired = table.take(table.paired())
    found = finishing_order(paired)
    return [paired.items["item"][place] for place in found.places.tolist()], found


@pytest.fixture(scope="module")
def answers():
    """600 right-or-wrong answers of two models, the second better."""
    rng = np.random.default_rng(0)
    first = (rng.random(600) < 0.6) * 1.0
    return first, np.where(rng.random(600) < 0.8, first, (rng.random(600) < 0.9) * 1.0)


# The order.


def test_items_are_finished_when_the_later_side_is():
    names = ["a", "b", "c", "d"]
    first = timed(rows_of("A", [1.0, 0.0, 1.0, 1.0], items=names), [40, 10, 20, 30])
    second = timed(rows_of("B", [1.0, 1.0, 0.0, 1.0], items=names), [5, 50, 15, 35])
    items, found = order_of(first, second)
    assert items == ["c", "d", "a", "b"]  # finished at 20, 35, 40, 50
    assert found.order == "timestamp"
    assert "later timestamp" in found.notes[0]


def test_the_last_trial_finishes_an_item():
    first = timed(rows_of("A", [1.0] * 6, items=["a", "b", "c"], trials=2), [1, 9, 2, 3, 4, 5])
    second = timed(rows_of("B", [0.0] * 6, items=["a", "b", "c"], trials=2), [1, 2, 3, 3, 4, 4])
    assert order_of(first, second)[0] == ["b", "c", "a"]


def test_ties_keep_the_order_of_their_keys_and_are_told():
    first = timed(rows_of("A", [1.0] * 4, items=["d", "b", "c", "a"]), [1, 1, 0, 1])
    second = timed(rows_of("B", [1.0] * 4, items=["c", "d", "a", "b"]), [0, 0, 0, 0])
    items, found = order_of(first, second)
    assert items == ["c", "a", "b", "d"]
    assert "2 timestamps for 4 items, ties by name of item" in found.notes[0]


@pytest.mark.parametrize(
    ("seconds", "why"), [([7, 7, 7, 7], "same timestamp"), ([4, 3, 2, None], "not every row has a timestamp")]
)
def test_without_telling_timestamps_the_files_give_the_order(seconds, why):
    first = timed(rows_of("A", [1.0] * 4, items=["d", "c", "b", "a"]), seconds)
    second = timed(rows_of("B", [1.0] * 4, items=["c", "b", "d", "a"]), [7, 7, 7, 7])
    items, found = order_of(first, second)
    # Places: c later of (2, 1), b of (3, 2), d of (1, 3), a of (4, 4); b and d tie and keep the order of their keys.
    assert items == ["c", "b", "d", "a"]
    assert found.order == "file order"
    assert why in found.notes[0]


def test_file_order_takes_the_later_place():
    first = rows_of("A", [1.0] * 4, items=["a", "b", "c", "d"])
    second = rows_of("B", [1.0] * 4, items=["b", "d", "c", "a"])
    # Places 1-4: a later of (1, 4), b of (2, 1), c of (3, 3), d of (4, 2).
    assert order_of(first, second)[0] == ["b", "c", "a", "d"]


def test_rows_without_a_score_need_no_timestamp():
    first = timed(rows_of("A", [1.0, 0.0, None], items=["a", "b", "c"]), [3, 2, None])
    second = timed(rows_of("B", [1.0, 0.0, 1.0], items=["a", "b", "c"]), [1, 1, 1])
    items, found = order_of(first, second)
    assert (items, found.order) == (["b", "a"], "timestamp")


# What is counted.


def test_right_or_wrong_items_are_watched_in_their_order(answers):
    first, second = answers
    rng = np.random.default_rng(1)
    when = rng.permutation(600)
    found = watched(data_of(timed(rows_of("A", first), [0] * 600), timed(rows_of("B", second), when)))
    d = (second - first)[np.argsort(when)]
    expected = betting_cs(d)
    assert (found.estimate, found.conf_low, found.conf_high) == (
        pytest.approx(d.mean()),
        pytest.approx(expected.conf_low),
        pytest.approx(expected.conf_high),
    )
    assert found.first_crossing == expected.first_crossing
    assert found.p_anytime == expected.p_value
    assert np.log(found.e_value) == pytest.approx(expected.log_e)
    assert (found.unit, found.n_units, found.order) == ("item", 600, "timestamp")
    assert found.mcnemar_p == e_mcnemar(d).p_value
    assert found.wide_low == normal_mixture_cs(d).conf_low
    assert len(found.path) <= 200
    assert found.path[-1] == (600, pytest.approx(d.mean()), expected.lows[-1], expected.highs[-1])


def test_the_order_matters(answers):
    first, second = answers
    lucky = np.argsort(np.argsort(-(second - first), kind="stable"), kind="stable")
    early = watched(data_of(timed(rows_of("A", first), [0] * 600), timed(rows_of("B", second), lucky)))
    plain = watched(data_of(rows_of("A", first), rows_of("B", second)))
    assert early.first_crossing < plain.first_crossing
    assert any("moves along the order" in text for text in early.warnings)
    assert plain.warnings == ()


def test_trials_are_averaged_and_have_no_mcnemar():
    rng = np.random.default_rng(2)
    first, second = rng.binomial(1, 0.6, 300) * 1.0, rng.binomial(1, 0.8, 300) * 1.0
    found = watched(data_of(rows_of("A", first, trials=3), rows_of("B", second, trials=3)))
    expected = betting_cs((second - first).reshape(100, 3).mean(axis=1))
    assert (found.n_units, found.conf_low) == (100, pytest.approx(expected.conf_low))
    assert found.mcnemar_p is None


def test_percent_scores_are_bounded_by_their_range():
    rng = np.random.default_rng(3)
    first, second = rng.uniform(0, 100, 200), rng.uniform(10, 100, 200)
    data = data_of(rows_of("A", first), rows_of("B", second), kind="bounded", low=0.0, high=100.0)
    assert watched(data).conf_low == pytest.approx(betting_cs(second - first, bound=100).conf_low)


def test_swapping_the_sides_flips_the_account(answers):
    first, second = answers
    data = data_of(rows_of("A", first), rows_of("B", second))
    one, other = watched(data), watched(data, names=("B", "A"))
    assert (one.conf_low, one.conf_high) == pytest.approx((-other.conf_high, -other.conf_low), abs=1e-9)
    assert one.p_anytime == pytest.approx(other.p_anytime)


def grouped_data(sizes, rng):
    group = np.repeat([f"g{k}" for k in range(len(sizes))], sizes)
    first = (rng.random(group.size) < 0.5) * 1.0
    second = (rng.random(group.size) < 0.8) * 1.0
    order = rng.permutation(group.size)
    factors = {"passage": group.tolist()}
    rows = [
        timed(rows_of("A", first, factors=factors), [0] * group.size),
        timed(rows_of("B", second, factors=factors), order),
    ]
    return data_of(*rows), group, second - first, order


def test_a_cluster_is_one_unit_finished_with_its_last_item():
    sizes = np.random.default_rng(4).integers(1, 7, 60)
    data, group, d, order = grouped_data(sizes, np.random.default_rng(5))
    found = watched(data, clusters=("passage",))
    names = sorted(set(group), key=lambda name: order[group == name].max())
    means = [d[group == name].mean() for name in names]
    expected = betting_cs(means, sizes=[(group == name).sum() for name in names])
    assert (found.unit, found.n_units, found.n_items) == ("cluster", 60, d.size)
    assert found.estimate == pytest.approx(d.mean())
    assert (found.conf_low, found.conf_high) == pytest.approx((expected.conf_low, expected.conf_high))
    assert "the largest has 6" in " ".join(found.notes)
    assert as_estimate(found).n_clusters == 60


def test_an_unfinished_cluster_counts_with_what_it_has_and_the_largest_is_known():
    sizes = [3] * 30 + [8]
    data, group, d, _ = grouped_data(sizes, np.random.default_rng(6))
    gone = pl.col("item").is_in([f"q{i:04d}" for i in np.flatnonzero(group == "g30")[2:]]) & (pl.col("model") == "B")
    shortened = replace(data, outcomes=data.outcomes.filter(~gone))
    found = watched(shortened, clusters=("passage",))
    notes = " ".join(found.notes)
    assert "1 cluster not finished on both sides" in notes
    assert "the largest has 8" in notes
    assert "6 items not scored on both sides" in notes
    assert found.estimate == pytest.approx(np.delete(d, np.flatnonzero(group == "g30")[2:]).mean())


def test_clusters_of_one_item_are_items():
    data = grouped_data([1] * 50, np.random.default_rng(7))[0]
    found = watched(data, clusters=("passage",))
    assert (found.unit, found.n_units) == ("item", 50)
    assert found.mcnemar_p is not None


def test_clusters_that_cross_are_refused():
    factors = {"passage": [f"p{i // 4}" for i in range(40)], "user": [f"u{i % 4}" for i in range(40)]}
    data = data_of(rows_of("A", [0.0, 1.0] * 20, factors=factors), rows_of("B", [1.0] * 40, factors=factors))
    with pytest.raises(CannotAnswerError, match="2 cluster columns cross"):
        watched(data, clusters=("passage", "user"))


def test_unbounded_scores_wait_for_a_hundred_items():
    rng = np.random.default_rng(8)
    first, second = rng.normal(0, 5, 150), rng.normal(1, 5, 150)
    found = watched(data_of(rows_of("A", first), rows_of("B", second), kind="continuous"), margin=4.0)
    expected = asymptotic_cs(second - first)
    assert (found.method, found.conf_low) == ("asymptotic confidence sequence", pytest.approx(expected.conf_low))
    assert found.path[0][0] == 100
    assert found.wide_low is None
    assert found.equivalence_low > found.conf_low
    with pytest.raises(CannotAnswerError, match="99 units of a score without bounds"):
        watched(data_of(rows_of("A", first[:99]), rows_of("B", second[:99]), kind="continuous"))


def test_a_plan_is_a_whole_number_and_is_told(answers):
    data = data_of(rows_of("A", answers[0]), rows_of("B", answers[1]))
    planned = watched(data, planned_n=600)
    assert planned.conf_high - planned.conf_low < 0.95 * (watched(data).conf_high - watched(data).conf_low)
    assert "planned 600 items" in planned.notes[-1]
    assert "there are 600 now" in watched(data, planned_n=500).notes[-1]
    with pytest.raises(InputError, match=r"planned_n is 0"):
        watched(data, planned_n=0)


def test_an_order_that_no_interval_survives_gives_a_reason():
    first = np.zeros(600)
    second = np.concatenate([np.ones(300), np.zeros(300)])
    first[300:] = 1.0
    found = watched(data_of(rows_of("A", first), rows_of("B", second)), margin=0.1)
    assert found.conf_low is None
    assert found.p_anytime is None
    assert as_estimate(found).reason == found.reason
    assert sequential_at_margin(found).noninferior is False


# How it enters a comparison.


@pytest.mark.parametrize("higher", [True, False])
def test_margin_follows_the_interval_at_twice_the_error(answers, higher):
    first, second = answers
    sides = (first, second) if higher else (second, first)
    data = data_of(rows_of("A", sides[0]), rows_of("B", sides[1]), kind="binary", higher_is_better=higher)
    found = watched(data, margin=0.02)
    tested = sequential_at_margin(found)
    side = "lower" if higher else "upper"
    assert tested.noninferior_p == betting_margin_p(sides[1] - sides[0], 0.02, side)
    assert tested.limit == (found.equivalence_low if higher else found.equivalence_high)
    assert tested.noninferior
    assert tested.noninferior_p < 0.05
    assert found.equivalence_p > 0.05
    wide = betting_cs(sides[1] - sides[0], conf_level=0.9)
    assert (found.equivalence_low, found.equivalence_high) == (wide.conf_low, wide.conf_high)


def test_no_margin_no_test_at_it(answers):
    found = watched(data_of(rows_of("A", answers[0]), rows_of("B", answers[1])))
    assert sequential_at_margin(found) is None


def test_a_small_difference_is_not_shown_to_be_within_a_small_margin():
    data = data_of(rows_of("A", [1.0, 0.0, 1.0, 0.0] * 10), rows_of("B", [1.0, 0.0, 0.0, 1.0] * 10))
    tested = sequential_at_margin(watched(data, margin=0.01))
    assert not tested.noninferior
    assert "leaves a loss beyond 1 pp possible" in tested.reason


def test_it_takes_the_place_of_the_headline_and_leaves_the_rest_below(answers):
    first, second = answers
    metric = Metric(benchmark="b", name="correct", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="")
    fixed = paired_difference(
        PairedScores(metric=metric, baseline=first, candidate=second, n_trials=1),
        conf_level=0.95,
        method="auto",
        seed=0,
    )
    account = watched(data_of(rows_of("A", first), rows_of("B", second)))
    found = as_difference(account, fixed)
    assert found.headline == as_estimate(account)
    assert found.headline.p_value == account.p_anytime
    assert [row.role for row in found.rows].count("headline") == 1
    assert found.rows[: len(sequential_rows(account))] == sequential_rows(account)
    tango = next(row for row in found.rows if row.method == "Tango score")
    assert tango.role == "sensitivity"
    assert tango.note.startswith("this row and those below are for a single look")
    assert found.rows[len(sequential_rows(account))] == tango
    assert tango.conf_low == fixed.headline.conf_low
    assert found.table == fixed.table
    assert (found.doubts, found.smallest_p, found.mde) == ((), None, account.mde)


def test_rows_name_the_method_the_order_and_the_e_value(answers):
    rows = sequential_rows(watched(data_of(rows_of("A", answers[0]), rows_of("B", answers[1]))))
    assert [row.method for row in rows] == [
        "betting confidence sequence",
        "sequential McNemar",
        "normal-mixture confidence sequence",
    ]
    assert "600 items by file order" in rows[0].note
    assert "e-value" in rows[1].note
    assert rows[1].conf_low is None
    assert rows[2].conf_low < rows[0].conf_low


def test_the_account_is_json(answers):
    account = watched(data_of(rows_of("A", answers[0]), rows_of("B", answers[1])), margin=0.02, planned_n=600)
    held = json.loads(json.dumps(json_safe(account), allow_nan=False))
    assert held["path"][-1][0] == 600
    assert held["first_crossing"] == account.first_crossing


# In words.


def test_the_document_says_where_the_run_could_have_stopped(answers):
    data = data_of(rows_of("A", answers[0]), rows_of("B", answers[1]))
    result = compare(data, "A", "B", sequential=True)
    document = result.document()
    section = document.section("looks")
    assert section is not None
    assert f"first excluded after {result.sequential.first_crossing} items" in section.heading
    assert "at every look" in document.number_words
    assert document.figures["narrowing"].rows["n"][-1] == 600
    tied = data_of(rows_of("A", [1.0, 0.0] * 10), rows_of("B", [0.0, 1.0] * 10))
    still = compare(tied, "A", "B", sequential=True).document().section("looks")
    assert still is not None
    assert "not excluded so far" in still.heading


def test_e_values_are_written_with_three_digits():
    assert [e_value_words(value) for value in (1.0, 19.96, 123456.0, None)] == ["1", "20", "1.2e+05", "over 1e300"]


def test_nothing_but_wins_does_not_overflow():
    account = watched(data_of(rows_of("A", [0.0] * 2000), rows_of("B", [1.0] * 2000)))
    assert account.e_value is None
    assert account.log_e > 700
    assert 0 < account.p_anytime < 1e-299
