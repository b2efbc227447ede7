"""A run can be taken out, and comes back when its file is ingested again."""

import pytest

from evalstats.errors import InputError, StoreError
from evalstats.schema.data import Problem
from evalstats.schema.tables import frame_from_rows
from evalstats.store.manifest import SOURCES, Shelf
from evalstats.store.read import open_store
from evalstats.store.write import SourceWriter, held_already


def put_both(shelf: Shelf, tools) -> None:
    """One source with runs r1 and r2, a metric, a note and a rating that names no run."""
    with SourceWriter(shelf, tools.origin("ab")) as writer:
        rows = [tools.outcome(run, f"i{n}", level=n if run == "r1" else "x") for run in ("r1", "r2") for n in range(4)]
        writer.add("outcomes", frame_from_rows(rows, "outcomes"))
        writer.add("metrics", frame_from_rows([{"benchmark": "b", "metric": "acc", "kind": "binary"}], "metrics"))
        writer.add("ratings", frame_from_rows([{"item": "i1", "rater": "p", "value": 1.0}], "ratings"))
        runs = [{"run": run, "model": run, "benchmark": "b", "n_scored": 4} for run in ("r1", "r2")]
        writer.add("runs", frame_from_rows(runs, "runs"))
        writer.add_problem(Problem(path="ab.json", message="worth knowing", severity="note"))
        writer.commit()


def test_the_only_run_of_a_source_takes_the_source_with_it(shelf: Shelf, tools) -> None:
    for name in ("a", "b"):
        tools.put(shelf, tools.origin(name), [tools.outcome(name, "i")])
    folder = tools.folder(shelf, "a")
    store = open_store(shelf.store).remove("a")
    assert store.runs()["run"].to_list() == ["b"]
    assert not folder.exists()
    assert store.check() == ()


def test_the_other_runs_of_a_source_stay(shelf: Shelf, tools) -> None:
    put_both(shelf, tools)
    store = open_store(shelf.store).remove("r1")
    data = store.read()
    assert data.runs["run"].to_list() == ["r2"]
    assert data.outcomes["run"].to_list() == ["r2"] * 4
    assert data.metrics.height == 1
    assert data.ratings["run"].to_list() == [None]
    assert [problem.message for problem in data.problems] == ["worth knowing"]
    assert store.check() == ()
    assert len(list((shelf.store / SOURCES).iterdir())) == 1


def test_a_removed_run_comes_back_with_its_file(shelf: Shelf, tools) -> None:
    put_both(shelf, tools)
    assert held_already(shelf, tools.origin("ab")) is not None
    open_store(shelf.store).remove("r1")
    assert held_already(shelf, tools.origin("ab")) is None
    put_both(shelf, tools)
    assert open_store(shelf.store).read().outcomes.height == 8


def test_all_runs_removed_one_by_one(shelf: Shelf, tools) -> None:
    put_both(shelf, tools)
    store = open_store(shelf.store).remove("r1").remove("r2")
    assert store.sources() == ()
    assert store.check() == ()


def test_an_unknown_run(shelf: Shelf, tools) -> None:
    put_both(shelf, tools)
    with pytest.raises(InputError, match="holds no run 'r3'; there are 'r1', 'r2'"):
        open_store(shelf.store).remove("r3")


def test_a_damaged_source_cannot_be_split(shelf: Shelf, tools) -> None:
    put_both(shelf, tools)
    (tools.folder(shelf, "ab") / "outcomes-0000.parquet").write_bytes(b"")
    with pytest.raises(StoreError, match="is damaged, so that its other runs cannot be kept"):
        open_store(shelf.store).remove("r1")
