"""Items that flipped: which, where their rows stand, and in which scenarios."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.flips import Flips, RowSource, flipped_items
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.design.clusters import group_columns
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.result import json_safe
from evalstats.errors import InputError
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import system_of
from tests.analysis.builders import data_of, rows_of, told

CORRECT = Metric(benchmark="bench", name="correct", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="")
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


def _table_of(data: EvalData) -> ScoreTable:
    metric = replace(CORRECT, benchmark="Tenacious-Bench")
    both = [
        system_of(data.outcomes.filter(model=name), name, metric, role="system") for name in ("baseline", "trained")
    ]
    return paired(ScoreTable.of(both, metric, factors=["scenario"]))


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


def test_flips_are_saved_by_columns_and_what_is_the_same_of_all_once() -> None:
    data = data_of(rows_of("a", [0.0, 1.0, 1.0, 0.0]), rows_of("b", [1.0, 0.0, 1.0, 1.0]))
    result = compare(data, "a", "b")
    saved = result.to_dict()["flipped"]
    assert pd.DataFrame(saved)[["task", "item", "baseline", "candidate"]].to_dict("list") == {
        "task": [""] * 3,
        "item": [flip.item for flip in result.flipped],
        "baseline": [0.0, 1.0, 0.0],
        "candidate": [1.0, 0.0, 1.0],
    }
    assert saved["scenario"] is None
    none = result.flipped[:0]
    assert Flips.of_saved(json.loads(json.dumps(json_safe(none)))) == none


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("item", "q1", "Expected `array`"),
        ("item", [None], "Expected `str`"),
        ("baseline", ["much"], "Expected"),
        ("candidate", [0.0] * 3, "candidate has 3 values for 4 flipped items"),
    ],
)
def test_saved_flips_that_were_edited_are_refused(column: str, value: object, said: str) -> None:
    data = data_of(rows_of("a", [0.0] * 4), rows_of("b", [1.0] * 4))
    values = compare(data, "a", "b").to_dict()
    values["flipped"][column] = value
    with pytest.raises(InputError, match=said):
        Comparison.from_dict(values)


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


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("most", [1, 4, 12, 60, 200])
def test_the_first_of_many_are_those_that_stand_first_among_all(most: int, higher_is_better: bool) -> None:
    rng = np.random.default_rng(most)
    n = 120
    baseline = rng.choice([0.0, 0.25, 1.0], n)
    frame = pl.DataFrame(
        {
            "task": rng.choice(["", "t"], n),
            "item": [f"q{k}" for k in rng.permutation(n)],
            "variant": "",
            "scenario": None,
            "baseline": baseline,
            "candidate": 1.0 - baseline,
            "p_value": np.where(rng.random(n) < 0.4, 0.01, 0.5),
        },
        schema_overrides={"scenario": pl.String},
    )
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 3 > 0).then("p_value").alias("p_value"))
    sources = [f"{side}_{name}" for side in ("baseline", "candidate") for name in ("run", "file", "locator", "link")]
    flips = Flips(frame.with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in sources))
    every = flips.worst_first(higher_is_better=higher_is_better)
    assert flips.worst_first(higher_is_better=higher_is_better, most=most) == every[:most]
