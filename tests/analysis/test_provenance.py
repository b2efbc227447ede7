"""What is said of runs: that they are simulated is a column, and no note is read for it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.frontier.frontier import frontier
from evalstats.analysis.provenance import run_notes
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of, rows_of


def two(**columns: str | None) -> EvalData:
    """Two runs, of which the first has these columns."""
    made = data_of(rows_of("a", [1.0, 0.0] * 10), rows_of("b", [0.0, 1.0] * 10))
    first = pl.col("run") == "a-run"
    runs = made.runs.with_columns(
        pl.when(first).then(pl.lit(value)).otherwise(pl.col(name)).alias(name) for name, value in columns.items()
    )
    return EvalData(outcomes=made.outcomes, runs=runs, metrics=made.metrics)


def test_a_simulated_run_raises_a_banner_that_says_by_what() -> None:
    data = two(simulated="by a coin", note="fair")
    banner, source = run_notes(data, ["a-run", "b-run"])
    assert (banner.kind, banner.text) == ("simulated", "1 of 2 runs are simulated by a coin")
    assert (source.kind, source.text, source.caution) == ("source", "fair", False)
    assert run_notes(data, ["a-run"])[0].text == "The data are simulated by a coin"
    assert run_notes(two(simulated="yes"), ["a-run"])[0].text == "The data are simulated"


def test_a_note_that_names_a_model_called_simulated_raises_none() -> None:
    for note in ("judged by simulated-annealer-7b", "simulated: a word of the file's own"):
        found = run_notes(two(note=note), ["a-run", "b-run"])
        assert [(each.kind, each.caution) for each in found] == [("source", False)]


def test_the_banner_comes_first_in_an_answer() -> None:
    data = two(simulated="by a coin")
    costs = EvalData(
        outcomes=data.outcomes.with_columns(cost_usd=pl.int_range(pl.len()) % 7 + 1.0),
        runs=data.runs,
        metrics=data.metrics,
    )
    said = frontier(costs, n_resamples=50).document()
    assert [note.kind for note in said.banners] == ["simulated"]
    plain = frontier(
        EvalData(outcomes=costs.outcomes, runs=two(note="simulated-annealer-7b").runs, metrics=data.metrics)
    )
    assert not plain.document().banners


def test_what_was_not_read_is_a_caution_of_every_answer(tmp_path: Path) -> None:
    rows = [f"q{k},{k % 3 + 1}" for k in range(20)]
    for name in ("old", "new", "newer"):
        odd = rows if name != "newer" else [*rows[:-1], "q19,Error"]
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,score", *odd]))
    data = es.read(tmp_path)
    assert data.models() == ("new", "old")
    lost = "Not all was read: newer.csv: 1 of 20 rows have no known score in 'score' (line 21: 'Error')"
    for found in (es.leaderboard(data), es.compare(data, "old", "new"), es.audit(data)):
        assert [note.caution for note in found.notes if note.text == lost] == [True]
    assert any(lost in note.line for note in es.score(data).document().notes)


def test_what_is_said_of_a_file_that_was_not_read_ends_with_a_clause(tmp_path: Path) -> None:
    for name in ("old", "new", "newer"):
        rows = [f"q{k},{k % 2}" for k in range(20)]
        twice = rows[:2] if name == "newer" else []
        (tmp_path / f"{name}.csv").write_text("\n".join(["id,score", *rows, *twice]))
    (said,) = [
        note.text for note in es.leaderboard(es.read(tmp_path)).notes if note.text.startswith("Not all was read")
    ]
    assert "2 ids stand more than once (" in said
    assert said.endswith(")")


def test_weights_that_are_those_of_levels_are_said_with_the_shares_that_use_them(tmp_path: Path) -> None:
    """The weighted average over the levels is that over the items (numpy)."""
    rng = np.random.default_rng(0)
    weights = {"billing": 2.0, "legal": 0.5, "login": 1.0}
    rows = [(f"{level}{k}", level, weights[level], *rng.integers(0, 2, 2)) for level in weights for k in range(20)]
    table = pl.DataFrame(rows, ["qid", "intent", "traffic_weight", "old", "new"], orient="row")
    table.write_csv(tmp_path / "t.csv")
    data = es.read(tmp_path / "t.csv", column_map=es.ColumnMap.from_options(["item=qid", "models=old,new"]))
    assert any("traffic_weight is not used; if it holds sampling" in each.message for each in data.problems)
    named = ["item=qid", "models=old,new", "weight=traffic_weight"]
    data = es.read(tmp_path / "t.csv", column_map=es.ColumnMap.from_options(named))
    (note,) = (each for each in es.compare(data, "old", "new").notes if each.kind == "average" and each.remedy)
    assert "over='intent' and weights={...}, a CSV with level,share / billing,0.5714 / legal,0.1429 /" in note.line
    found = es.compare(data, "old", "new", over="intent", weights={"billing": 4 / 7, "legal": 1 / 7, "login": 2 / 7})
    differences = table["new"] - table["old"]
    assert found.estimate == pytest.approx(np.average(differences, weights=table["traffic_weight"]))
