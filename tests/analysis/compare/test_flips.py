"""Items that flipped: which, where their rows stand, and in which scenarios."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.flips import RowSource, ScenarioFlips, flipped_items, flips_by_level
from evalstats.analysis.design.clusters import group_columns
from evalstats.analysis.design.metric import Metric
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows
from evalstats.stats.many.multiplicity import benjamini_hochberg
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import system_of
from tests.analysis.builders import data_of, rows_of, told

CORRECT = Metric(benchmark="bench", name="correct", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="")
LOWER = replace(CORRECT, higher_is_better=False)
RUNS = frame_from_rows(
    [
        {"run": "a-run", "benchmark": "bench", "source": "/home/someone/logs/a.jsonl"},
        {"run": "b-run", "benchmark": "bench", "source": "b.eval"},
    ],
    "runs",
)


def rows_at(model: str, scores: Sequence[float | None], *, trials: int = 1, **more: Any) -> list[dict[str, object]]:
    rows = rows_of(model, scores, trials=trials, **more)
    return [{**row, "locator": f"line {n + 1}"} for n, row in enumerate(rows)]


def sides(*rows: list[dict[str, object]]) -> ScoreTable:
    both = [
        system_of(frame_from_rows(part, "outcomes"), name, CORRECT, role="system")
        for name, part in zip("ab", rows, strict=True)
    ]
    return paired(ScoreTable.of(both, CORRECT, factors=["scenario"]))


def paired(table: ScoreTable) -> ScoreTable:
    return table.take(table.paired())


def flips_by_scenario(table: ScoreTable, **options: Any) -> tuple[ScenarioFlips, ...]:
    return flips_by_level(table, "scenario", **options)


def test_an_item_flips_where_one_side_mostly_succeeds_and_the_other_fails() -> None:
    before = rows_at("a", [1, 0, 1, 0], factors={"scenario": ["x", "y", "x", "y"]})
    after = rows_at("b", [1, 1, 0, 0], factors={"scenario": ["x", "y", "x", "y"]})
    found = flipped_items(sides(before, after), RUNS)
    assert [(flip.item, flip.scenario, flip.baseline, flip.candidate, flip.change) for flip in found] == [
        ("q0001", "y", 0.0, 1.0, 1.0),
        ("q0002", "x", 1.0, 0.0, -1.0),
    ]
    assert found[1].baseline_source == RowSource(run="a-run", file="a.jsonl", locator="line 3")
    assert str(found[1].candidate_source) == "b.eval, line 3"
    assert flipped_items(sides(before, before), RUNS) == ()


def test_the_row_shown_is_one_that_shows_it() -> None:
    """Trials 0 1 1 against 1 0 0: the first success of the baseline is its second row, the candidate's first failure too."""
    before, after = rows_at("a", [0, 1, 1], trials=3), rows_at("b", [1, 0, 0], trials=3)
    [flip] = flipped_items(sides(before, after), RUNS)
    assert flip.change == pytest.approx(-1 / 3)
    assert [str(source) for source in (flip.baseline_source, flip.candidate_source)] == [
        "a.jsonl, line 2",
        "b.eval, line 2",
    ]


def test_errors_and_unscored_rows_are_never_shown_and_an_average_is() -> None:
    lost = rows_at("a", [None, None, 1, 1], trials=4, status="error")
    average = [{**row, "trial": None, "n_trials": 4, "score": 0.25} for row in rows_at("b", [0])]
    [flip] = flipped_items(sides(lost, average), RUNS)
    assert str(flip.baseline_source) == "a.jsonl, line 3"
    assert (flip.candidate, str(flip.candidate_source)) == (0.25, "b.eval, line 1")


def test_half_right_counts_as_right_as_everywhere() -> None:
    table = sides(rows_at("a", [1, 0], trials=2), rows_at("b", [0, 0], trials=2))
    assert [flip.change for flip in flipped_items(table, RUNS)] == [-0.5]
    table = sides(rows_at("a", [1, 0], trials=2), rows_at("b", [1, 1], trials=2))
    assert flipped_items(table, RUNS) == ()


def test_a_run_without_a_file_and_a_row_without_a_place() -> None:
    bare = [{**row, "locator": None} for row in rows_at("a", [1])]
    [flip] = flipped_items(sides(bare, rows_at("b", [0])), RUNS.clear())
    assert flip.baseline_source == RowSource(run="a-run", file=None, locator=None)
    assert str(flip.baseline_source) == "a-run"


def test_variants_of_an_item_have_places_of_their_own() -> None:
    def versions(model: str, scores: Sequence[float]) -> list[dict[str, object]]:
        rows = rows_at(model, scores, items=["q"] * len(scores))
        return [{**row, "variant": f"v{n}"} for n, row in enumerate(rows)]

    found = flipped_items(sides(versions("a", [1, 1, 0]), versions("b", [1, 0, 1])), RUNS)
    assert [(flip.variant, str(flip.candidate_source)) for flip in found] == [
        ("v1", "b.eval, line 2"),
        ("v2", "b.eval, line 3"),
    ]


def test_real_files_lead_back_to_the_lines(shared_data: Path) -> None:
    """The held-out traces: all 21 flips are gains; the line named holds the item."""
    import json

    path = shared_data / "tenacious" / "ablations" / "held_out_traces.jsonl"
    data = read(path)
    table = _table_of(data)
    found = flipped_items(table, data.runs)
    assert (len(found), {flip.change for flip in found}) == (21, {1.0})
    lines = path.read_text().splitlines()
    for flip in found:
        assert flip.baseline_source is not None
        assert flip.baseline_source.file == path.name
        line = json.loads(lines[int(str(flip.baseline_source.locator).removeprefix("line ")) - 1])
        assert (line["task_id"], line["baseline_correct"], line["trained_correct"]) == (flip.item, False, True)
    # 3 of the 7 dimensions are lost whole by the baseline (formats: tenacious.md), 21 items in all
    rows = flips_by_scenario(table)
    assert len(rows) == 7
    assert sorted(row.gained for row in rows)[:4] == [0, 0, 0, 0]
    assert sum(row.gained for row in rows) == 21


def _table_of(data: EvalData) -> ScoreTable:
    metric = replace(CORRECT, benchmark="Tenacious-Bench")
    both = [
        system_of(data.outcomes.filter(model=name), name, metric, role="system") for name in ("baseline", "trained")
    ]
    return paired(ScoreTable.of(both, metric, factors=["scenario"]))


# By scenario


def pairs_of(before: Sequence[float], after: Sequence[float], **factors: Sequence[object]) -> ScoreTable:
    items = pl.DataFrame({"task": "", "item": [f"q{n}" for n in range(len(before))], "variant": "", **factors})
    return ScoreTable.of_values(np.column_stack([before, after]).astype(np.float64), items, CORRECT)


def test_gained_and_lost_are_counted_by_scenario_with_mcnemars_exact_test() -> None:
    rng = np.random.default_rng(2)
    scenario = rng.choice(list("xyz"), size=300)
    before, after = (rng.random(300) < 0.5).astype(float), (rng.random(300) < 0.6).astype(float)
    rows = flips_by_scenario(pairs_of(before, after, scenario=scenario))
    assert [row.scenario for row in rows] == ["x", "y", "z"]
    for row in rows:
        here = scenario == row.scenario
        gained = int((here & (before < after)).sum())
        lost = int((here & (before > after)).sum())
        assert (row.n_items, row.gained, row.lost, row.net) == (here.sum(), gained, lost, gained - lost)
        assert row.p_value == pytest.approx(stats.binomtest(gained, gained + lost).pvalue)
    adjusted = benjamini_hochberg([row.p_value for row in rows])
    assert [row.p_adjusted for row in rows] == pytest.approx(adjusted.tolist())


def test_scenarios_that_can_show_nothing_are_no_part_of_the_screen() -> None:
    """Five flips can reach p = .0625 at best, six .03125: only the second counts among the screened."""
    scenario = ["five"] * 5 + ["six"] * 6 + ["none"] * 4
    rows = flips_by_scenario(pairs_of([1] * 15, [0] * 11 + [1] * 4, scenario=scenario))
    found = {row.scenario: (row.p_value, row.p_adjusted, row.smallest_p) for row in rows}
    assert found == {"five": (0.0625, None, 0.0625), "six": (0.03125, 0.03125, 0.03125), "none": (1.0, None, 1.0)}
    wider = flips_by_scenario(pairs_of([1] * 15, [0] * 11 + [1] * 4, scenario=scenario), conf_level=0.9)
    assert {row.scenario: row.p_adjusted for row in wider} == {"five": 0.0625, "six": 0.0625, "none": None}


def test_lower_is_better_turns_the_words_round() -> None:
    pairs = pairs_of([1, 1, 0], [0, 0, 1], scenario=["x"] * 3)
    [up], [down] = flips_by_scenario(pairs), flips_by_scenario(replace(pairs, metric=LOWER))
    assert (up.gained, up.lost, up.net) == (1, 2, -1)
    assert (down.gained, down.lost, down.net) == (2, 1, 1)
    assert up.p_value == down.p_value


def test_items_without_a_scenario_come_last_and_are_not_screened() -> None:
    rows = flips_by_scenario(pairs_of([1] * 20, [0] * 20, scenario=["x"] * 10 + [None] * 10))
    assert [(row.scenario, row.lost, row.p_adjusted is None) for row in rows] == [("x", 10, False), (None, 10, True)]
    assert flips_by_scenario(pairs_of([1], [0])) == ()


def test_clusters_are_flipped_as_one() -> None:
    """Twelve losses in three passages are three coins, not twelve: p = 2/8 as enumerated by hand."""
    passage = [f"p{n // 4}" for n in range(12)]
    pairs = pairs_of([1] * 12, [0] * 12, scenario=["x"] * 12, passage=passage)
    [row] = flips_by_scenario(pairs, clusters=["passage"])
    assert (row.p_value, row.smallest_p, row.n_clusters, row.p_adjusted) == (0.25, 0.25, 3, None)
    assert flips_by_scenario(pairs)[0].p_value == pytest.approx(2**-11)


def test_small_moves_that_cross_no_middle_are_no_flips() -> None:
    pairs = pairs_of([0.6, 0.1], [1.0, 0.4], scenario=["x", "x"])
    [row] = flips_by_scenario(pairs)
    assert (row.gained, row.lost, row.p_value) == (0, 0, 1.0)


def test_the_screen_finds_falsely_no_more_often_than_it_says() -> None:
    """75 screens of 8 scenarios where nothing changed: any find at all is false; four binomial errors above .05."""
    rng, reps, false = np.random.default_rng(4), 75, 0
    for _ in range(reps):
        before, after = ((rng.random(240) < 0.6).astype(float) for _ in range(2))
        rows = flips_by_scenario(pairs_of(before, after, scenario=np.arange(240) % 8))
        false += any(row.p_adjusted is not None and row.p_adjusted <= 0.05 for row in rows)
    assert false / reps <= 0.05 + 4 * (0.05 * 0.95 / reps) ** 0.5


# The place of a row has no part in any answer.


def test_places_change_no_answer() -> None:
    rng = np.random.default_rng(6)
    factors = {"scenario": [f"s{n % 4}" for n in range(60)], "template": [f"t{n % 6}" for n in range(60)]}
    rows = [rows_of(name, (rng.random(120) < 0.6).astype(float), trials=2, factors=factors) for name in "ab"]
    # Places that run in groups, as files do: the worst that a factor could look like.
    placed = [[{**row, "locator": f"samples[{n // 40}]"} for n, row in enumerate(part)] for part in rows]
    plain, with_places = data_of(*rows, kind="binary"), data_of(*placed, kind="binary")
    assert with_places.outcomes["locator"].null_count() == 0
    assert "locator" not in group_columns(with_places.outcomes)
    for options in ({}, {"by": "scenario"}, {"cluster": "template"}):
        first, second = (compare(data, "a", "b", **options) for data in (plain, with_places))
        assert second.dependence == first.dependence
        assert (second.rows, second.groups, told(second)) == (first.rows, first.groups, told(first))
        assert (second.origin.sources, second.missing) == (first.origin.sources, first.missing)


def test_flips_in_columns_are_the_flips_one_by_one() -> None:
    rng = np.random.default_rng(3)
    data = data_of(rows_of("a", rng.integers(0, 2, 40).tolist()), rows_of("b", rng.integers(0, 2, 40).tolist()))
    result = compare(data, "a", "b")
    flips = result.flipped
    assert len(flips) > 12
    assert [flips[place] for place in range(len(flips))] == list(flips)
    assert list(flips[3:7]) == list(flips)[3:7]
    assert flips[-1] == list(flips)[-1]
    assert flips.changes().tolist() == [flip.change for flip in flips]
    columns = flips.columns()
    assert columns["item"] == [flip.item for flip in flips]
    for side in ("baseline_source", "candidate_source"):
        assert columns[side] == [str(getattr(flip, side) or "") for flip in flips]
    again = type(result).from_dict(json.loads(json.dumps(result.to_dict())))
    assert again.flipped == flips
    assert again == result
    assert hash(again.flipped) == hash(flips)
    assert flips != flips[1:]


def test_losses_are_read_first_the_largest_and_surest_first_in_natural_order() -> None:
    scores = {"q1": (0, 1), "q2": (1, 0), "q10": (1, 0), "q9": (1, 0), "q11": (0, 1)}
    data = data_of(
        rows_of("a", [float(old) for old, _ in scores.values()], items=list(scores)),
        rows_of("b", [float(new) for _, new in scores.values()], items=list(scores)),
    )
    result = compare(data, "a", "b")
    assert result.flips()["item"].to_list() == ["q2", "q9", "q10", "q1", "q11"]
    assert result.flips()["p_value"].null_count() == 5
    lower = compare(data, "a", "b", higher_is_better=False)
    assert lower.flips()["item"].to_list() == ["q1", "q11", "q2", "q9", "q10"]


def test_trials_tell_which_flips_are_noise() -> None:
    rows = [
        {"model": model, "item": item, "trial": k, "right": int(k < n)}
        for model, counts in (("a", {"sure": 8, "noise": 5}), ("b", {"sure": 0, "noise": 3}))
        for item, n in counts.items() for k in range(8)
    ]  # fmt: skip
    data = es.from_frame(pl.DataFrame(rows), item="item", model="model", trial="trial", score="right")
    flips = compare(data, "a", "b").flips()
    assert flips["item"].to_list() == ["sure", "noise"]
    assert flips["p_value"].to_list() == pytest.approx([2 / 12870, 0.6192696], rel=1e-6)  # scipy.stats.fisher_exact
