"""Cost, time and tokens on the same items: what is counted, on which items, and what is said where it cannot be."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.costs import (
    COSTS,
    MIN_SUCCESSES,
    PER_SUCCESS,
    WORDS,
    CostRow,
    _per_success,
    amount,
    cost_rows,
    log_scale_mean,
)
from evalstats.analysis.design.metric import Metric
from evalstats.schema.columns import OUTCOMES
from evalstats.schema.tables import frame_from_rows
from evalstats.stats.paired.ratios import geometric_ratio, ratio_of_means
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import system_of

CORRECT = Metric(
    benchmark="b", name="correct", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="proportion"
)
AMOUNT = replace(CORRECT, kind="continuous", low=None, high=None)
FREE = [0.0] * 8
BEFORE = [1.0, 2.0, 4.0, 3.0, 2.0, 5.0, 1.0, 2.0]
AFTER = [1.5, 2.5, 6.0, 4.0, 3.5, 7.0, 1.0, 3.0]


def rows_with(model: str, cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one system; a cell names its item, and whatever else differs from a scored first trial."""
    fixed = {"run": model, "model": model, "system": model, "benchmark": "b", "metric": "correct"}
    return [{**fixed, "trial": 0, "score": 1.0, "status": "scored", **cell} for cell in cells]


def costs(values: Sequence[float | None], quantity: str = "cost_usd", **more: Any) -> list[dict[str, Any]]:
    return [{"item": f"q{n}", quantity: value, **more} for n, value in enumerate(values)]


def compared(
    before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]], *, metric: Metric = AMOUNT, **options: Any
) -> dict[str, CostRow]:
    arms = [
        system_of(frame_from_rows(rows_with(name, cells), "outcomes"), name, CORRECT, role=role)
        for name, role, cells in (("a", "baseline", before), ("b", "candidate", after))
    ]
    factors = options.get("clusters", [])
    found = cost_rows(ScoreTable.of(arms, metric, factors=list(factors)), **options)
    return {row.quantity: row for row in found}


def test_a_ratio_is_that_of_the_means_and_the_typical_one_that_of_the_items() -> None:
    [row] = compared(costs(BEFORE), costs(AFTER)).values()
    assert (row.quantity, row.unit, row.n_items, row.n_paired) == ("cost_usd", "US dollars", 8, 8)
    assert row.baseline_mean == pytest.approx(sum(BEFORE) / 8)
    assert row.candidate_mean == pytest.approx(sum(AFTER) / 8)
    assert row.ratio == pytest.approx(sum(AFTER) / sum(BEFORE))
    expected = ratio_of_means(BEFORE, AFTER)
    assert (row.conf_low, row.conf_high, row.method) == (expected.conf_low, expected.conf_high, expected.method)
    typical = geometric_ratio(BEFORE, AFTER)
    assert (row.typical_ratio, row.typical_low, row.typical_high) == (
        typical.estimate,
        typical.conf_low,
        typical.conf_high,
    )
    assert row.reason is None


def test_every_quantity_has_a_row_a_unit_and_a_name_and_those_without_data_have_none() -> None:
    before = [{"item": f"q{n}", **dict.fromkeys(COSTS, value)} for n, value in enumerate(BEFORE)]
    after = [{"item": f"q{n}", **dict.fromkeys(COSTS, value)} for n, value in enumerate(AFTER)]
    whole = [
        [
            {**cell, **{name: round(cell[name]) for name in COSTS if name.startswith(("n_", "in", "out"))}}
            for cell in cells
        ]
        for cells in (before, after)
    ]
    found = compared(*whole)
    assert tuple(found) == COSTS
    units = {column.name: column.unit for column in OUTCOMES}
    assert {name: row.unit for name, row in found.items()} == {name: units[name] for name in COSTS}
    assert set(WORDS) == {*COSTS, PER_SUCCESS}
    assert "load" in found["latency_s"].note
    assert compared(costs([None] * 8), costs([None] * 8)) == {}


def test_swapping_the_sides_inverts_the_ratio_and_order_means_nothing() -> None:
    forth, back = compared(costs(BEFORE), costs(AFTER)), compared(costs(AFTER), costs(BEFORE))
    one, other = forth["cost_usd"], back["cost_usd"]
    assert one.ratio == pytest.approx(1 / other.ratio)
    assert (one.typical_low, one.typical_high) == pytest.approx((1 / other.typical_high, 1 / other.typical_low))
    shuffled = compared(costs(BEFORE)[::-1], sorted(costs(AFTER), key=lambda cell: -cell["cost_usd"]))
    assert shuffled["cost_usd"] == one


def test_trials_are_averaged_within_items_and_lost_trials_left_out() -> None:
    """Three trials of 1, 2 and 6 cost 3; an error's 100 does not count, nor does a trial whose cost is unknown."""
    trials = [
        {"item": "q0", "trial": n, "cost_usd": cost, "status": status, "score": 1.0 if status == "scored" else None}
        for n, (cost, status) in enumerate(
            [(1.0, "scored"), (2.0, "scored"), (6.0, "scored"), (100.0, "error"), (None, "scored"), (50.0, "unscored")]
        )
    ]
    row = compared([*trials, *costs(BEFORE)[1:]], costs(AFTER))["cost_usd"]
    assert row.baseline_mean == pytest.approx((3 + sum(BEFORE[1:])) / 8)


def test_a_trial_that_several_judges_and_metrics_score_costs_once() -> None:
    judged = [{**cell, "judge": judge} for cell in costs(BEFORE) for judge in ("x", "y", "z")]
    other = [{**cell, "metric": "tone"} for cell in costs([99.0] * 8)]
    once = compared(costs(BEFORE), costs(AFTER))
    assert compared([*judged, *other], costs(AFTER)) == once


def test_only_items_that_both_have_count_and_how_many_is_said() -> None:
    row = compared(costs([*BEFORE[:6], None, 2.0, 9.0]), costs([*AFTER[:7], None]))["cost_usd"]
    # q8 is no paired item at all
    assert (row.n_items, row.n_paired) == (6, 8)
    assert row.baseline_mean == pytest.approx(sum(BEFORE[:6]) / 6)
    assert "6 of 8 paired items have it on both sides" in row.note


def test_a_quantity_of_one_side_alone_has_no_ratio() -> None:
    row = compared(costs(BEFORE), costs([None] * 8))["cost_usd"]
    assert (row.ratio, row.conf_low, row.typical_ratio, row.n_items) == (None, None, None, 0)
    assert (row.baseline_mean, row.candidate_mean) == (pytest.approx(2.5), None)
    assert row.reason == "only the baseline has it"
    mixed = compared(costs([1.0, None] * 4), costs([None, 1.0] * 4))["cost_usd"]
    assert mixed.reason == "no item has it on both sides"


def test_zeros_are_named_and_never_divided_by() -> None:
    for before, after, side in (
        (FREE, AFTER, "baseline"),
        (AFTER, FREE, "candidate"),
        (FREE, FREE, "baseline and the candidate"),
    ):
        found = compared(costs(before), costs(after), metric=CORRECT)
        row = found["cost_usd"]
        assert (row.ratio, row.conf_low, row.typical_ratio) == (None, None, None)
        assert row.reason == f"the cost of the {side} is 0 on every item, as harnesses write if the price is unknown"
        assert found[PER_SUCCESS].ratio is None
        assert "is 0 on every item" in str(found[PER_SUCCESS].reason)
    some = compared(costs([0.0, *BEFORE[1:]]), costs(AFTER))["cost_usd"]
    assert some.conf_low is not None
    assert some.typical_low is None
    assert "no interval of the typical ratio: 1 of 8 items have a 0" in some.note
    seconds = compared(costs(FREE, "latency_s"), costs(AFTER, "latency_s"))["latency_s"]
    assert "price" not in f"{seconds.reason}{seconds.note}"
    assert "0 on all 8 items" in str(seconds.reason)
    instant = compared(costs(AFTER, "latency_s"), costs(FREE, "latency_s"))["latency_s"]
    assert (instant.ratio, instant.conf_low, instant.typical_ratio) == (0.0, None, None)


def test_equal_costs_have_a_ratio_and_no_interval_of_width_zero() -> None:
    row = compared(costs(BEFORE), costs(BEFORE))["cost_usd"]
    assert (row.ratio, row.conf_low, row.conf_high) == (1.0, None, None)
    assert "spread" in str(row.reason)


def test_clusters_are_the_unit() -> None:
    def cells(values: Sequence[float], size: int) -> list[dict[str, Any]]:
        return [{"item": f"q{n}", "cost_usd": v, "passage": f"p{n // size}"} for n, v in enumerate(values)]

    rng = np.random.default_rng(3)
    shared = np.repeat(rng.normal(size=12), 5)
    before, after = (np.exp(rng.normal(size=60) / 4 + weight * shared) for weight in (0.2, 0.8))
    row = compared(cells(before, 5), cells(after, 5), clusters=("passage",))["cost_usd"]
    expected = ratio_of_means(before, after, clusters=np.repeat(np.arange(12), 5))
    assert (row.n_clusters, row.conf_low, row.conf_high) == (12, expected.conf_low, expected.conf_high)
    alone = compared(cells(before, 5), cells(after, 5))["cost_usd"]
    assert row.conf_high - row.conf_low > 1.2 * (alone.conf_high - alone.conf_low)
    few = compared(cells(before, 20), cells(after, 20), clusters=("passage",), metric=CORRECT)
    assert {str(each.reason).partition(" clusters")[0] for each in few.values()} == {"3"}
    assert all(each.conf_low is None and each.ratio is not None for each in few.values())


def test_clusters_of_one_item_each_are_none() -> None:
    before, after = ([{**cell, "user": cell["item"]} for cell in costs(side)] for side in (BEFORE, AFTER))
    assert compared(before, after, clusters=("user",)) == compared(costs(BEFORE), costs(AFTER))


def scored(values: Sequence[float], scores: Sequence[float]) -> list[dict[str, Any]]:
    return [{**cell, "score": score} for cell, score in zip(costs(values), scores, strict=True)]


def test_a_success_costs_all_the_costs_over_all_the_successes() -> None:
    rng = np.random.default_rng(5)
    before, after = rng.lognormal(size=60), 2 * rng.lognormal(size=60)
    right, righter = (rng.random(60) < share for share in (0.5, 0.9))
    row = compared(scored(before, right), scored(after, righter), metric=CORRECT)[PER_SUCCESS]
    assert row.baseline_mean == pytest.approx(before.sum() / right.sum())
    assert row.candidate_mean == pytest.approx(after.sum() / righter.sum())
    assert row.ratio == pytest.approx(row.candidate_mean / row.baseline_mean)
    assert row.conf_low < row.ratio < row.conf_high
    back = compared(scored(after, righter), scored(before, right), metric=CORRECT)[PER_SUCCESS]
    assert (back.conf_low, back.conf_high) == pytest.approx((1 / row.conf_high, 1 / row.conf_low))
    # With a success on every item it is the ratio of means, on the log scale.
    sure = compared(costs(before), costs(after), metric=CORRECT)
    assert sure[PER_SUCCESS].ratio == pytest.approx(sure["cost_usd"].ratio)
    assert sure[PER_SUCCESS].conf_high == pytest.approx(sure["cost_usd"].conf_high, rel=0.2)


@pytest.mark.parametrize(
    ("right", "reason"),
    [
        (0, "the candidate has no success, so nothing has a cost of a success"),
        (9, "9 successes on one side are too few for an interval; 10 are needed"),
    ],
)
def test_few_successes_give_no_interval(right: int, reason: str) -> None:
    assert MIN_SUCCESSES == 10
    rng = np.random.default_rng(7)
    after = scored(rng.lognormal(size=40), [1.0] * right + [0.0] * (40 - right))
    row = compared(scored(rng.lognormal(size=40), [1.0] * 40), after, metric=CORRECT)[PER_SUCCESS]
    assert (row.reason, row.conf_low) == (reason, None)


def test_no_cost_of_a_success_where_success_means_nothing() -> None:
    for changes in ({"higher_is_better": False}, {"low": None, "high": None, "kind": "continuous"}):
        metric = Metric(**{**{name: getattr(CORRECT, name) for name in Metric.__dataclass_fields__}, **changes})
        assert PER_SUCCESS not in compared(costs(BEFORE), costs(AFTER), metric=metric)
    assert PER_SUCCESS not in compared(costs(BEFORE, "latency_s"), costs(AFTER, "latency_s"), metric=CORRECT)


def test_no_cost_of_a_success_of_k_trials() -> None:
    trials = [{**cell, "trial": trial} for cell in costs(BEFORE * 2) for trial in range(2)]
    arms = [
        system_of(frame_from_rows(rows_with(name, trials), "outcomes"), name, CORRECT, role="system") for name in "ab"
    ]
    table = ScoreTable.of(arms, CORRECT)
    assert PER_SUCCESS in {row.quantity for row in cost_rows(table)}
    assert [row.quantity for row in cost_rows(table.passing("hat", 2))] == ["cost_usd"]


def test_the_interval_of_the_cost_of_a_success_covers() -> None:
    """400 samples of 80 items with costs that depend on success; allowance four binomial standard errors at .95."""
    rng, n, reps = np.random.default_rng(11), 80, 400
    truth = ((1.5 - 0.5 * 0.7) / 0.7) / ((1.5 - 0.5 * 0.5) / 0.5)
    covered = 0
    for _ in range(reps):
        shared = rng.normal(size=n)
        right, righter = (rng.random(n) < 0.5).astype(float), (rng.random(n) < 0.7).astype(float)
        before, after = (np.exp(0.5 * (shared + rng.normal(size=n))) * (1.5 - 0.5 * done) for done in (right, righter))
        has = np.ones(n, dtype=bool)
        row = _per_success((before, after), (right, righter), has, [], 0.95)
        covered += row.conf_low <= truth <= row.conf_high
    assert covered / reps >= 0.95 - 4 * (0.95 * 0.05 / reps) ** 0.5


def test_real_costs_of_a_benchmark_of_repairs(shared_data: Path) -> None:
    """SWE-bench Verified with four models: the sums of the file itself."""
    held = json.loads((shared_data / "swebench_verified_mini" / "info_for_leaderboard.json").read_text())
    small, large = (
        [
            {"item": item, "cost_usd": each["cost"], "score": float(each["resolved"])}
            for item, each in held[name].items()
        ]
        for name in ("gpt-5-mini", "gpt-5")
    )
    found = compared(small, large, metric=CORRECT)
    row, success = found["cost_usd"], found[PER_SUCCESS]
    sums = [sum(each["cost"] for each in held[name].values()) for name in ("gpt-5-mini", "gpt-5")]
    wins = [sum(each["resolved"] for each in held[name].values()) for name in ("gpt-5-mini", "gpt-5")]
    assert row.ratio == pytest.approx(sums[1] / sums[0])
    assert success.ratio == pytest.approx(sums[1] / wins[1] * wins[0] / sums[0])
    assert 7 < row.conf_low < row.ratio < row.conf_high < 9


def test_the_mean_of_amounts_has_an_interval_above_zero() -> None:
    values = np.array([0.001, 0.002, 5.0, 0.001, 0.3, 0.2, 0.001, 0.02])
    found = log_scale_mean(values, [], conf_level=0.95)
    assert found.estimate == pytest.approx(values.mean())
    assert 0 < found.conf_low < found.estimate < found.conf_high
    # log m +- t s/(m sqrt n), with t = 2.3646 at 7 df (R: qt(.975, 7))
    reach = 2.364624 * values.std(ddof=1) / 8**0.5 / values.mean()
    assert (found.conf_low, found.conf_high) == pytest.approx(
        (values.mean() * np.exp(-reach), values.mean() * np.exp(reach))
    )
    for constant in (np.zeros(5), np.full(5, 2.0), np.array([3.0])):
        none = log_scale_mean(constant, [], conf_level=0.95)
        assert (none.estimate, none.conf_low) == (constant.mean(), None)
        assert none.reason


def test_amounts_are_written_with_the_digits_that_count() -> None:
    assert [amount(value) for value in (1e6, 99.96, 0.5, 2e-7, None)] == [
        "1,000,000",
        "100.0",
        "0.500",
        "0.000000200",
        "–",
    ]


def test_rows_are_json_safe() -> None:
    from evalstats.analysis.result import json_safe

    found = json_safe(tuple(compared(costs(BEFORE), costs(AFTER)).values()))
    assert json.loads(json.dumps(found))[0]["ratio"] == pytest.approx(1.425)
    assert pl.DataFrame(found).height == 1
