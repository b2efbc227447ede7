"""What a store gives back, and what it says when it cannot."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from evalstats.errors import InputError, StoreError
from evalstats.schema.columns import TABLES
from evalstats.schema.data import Problem
from evalstats.schema.tables import empty_table, frame_from_rows
from evalstats.store.manifest import MANIFEST, MARKER, SCHEMA_VERSION, Shelf, shared_constants
from evalstats.store.read import open_store
from evalstats.store.write import SourceWriter, make_store


@pytest.fixture
def two_models(shelf: Shelf, tools) -> Shelf:
    """Models m1 and m2 in sources of their own; m1's file also holds votes and a published number without a run."""
    for model in ("m2", "m1"):
        tools.put(shelf, tools.origin(model), [tools.outcome(model, f"i{n}") for n in range(3)])
    battles = [("m1", "m2"), ("m1", "m3"), ("m3", "m2")]
    votes = [
        {"run": "votes", "battle": f"{a}-{b}", "model_a": a, "model_b": b, "outcome": "a", "status": "scored"}
        for a, b in battles
    ]
    published = [{"model": model, "benchmark": "b", "metric": "acc", "estimate": 0.5} for model in ("m1", "m9")]
    with SourceWriter(shelf, tools.origin("votes")) as writer:
        writer.add("comparisons", frame_from_rows(votes, "comparisons"))
        writer.add("aggregates", frame_from_rows(published, "aggregates"))
        writer.add("runs", frame_from_rows([{"run": "votes", "benchmark": "arena"}], "runs"))
        writer.add_problem(Problem(path="votes.json", message="one vote was unreadable", severity="note"))
        writer.commit()
    return shelf


def test_all_is_read_by_default(two_models: Shelf) -> None:
    data = open_store(two_models.store).read()
    assert data.outcomes["run"].to_list() == ["m1"] * 3 + ["m2"] * 3
    assert data.comparisons.height == 3
    assert data.aggregates.height == 2
    assert [str(problem) for problem in data.problems] == ["votes.json: one vote was unreadable"]
    assert data.ratings.equals(empty_table("ratings"))


def test_runs_are_chosen_and_rows_without_a_run_come_with_their_source(two_models: Shelf) -> None:
    store = open_store(two_models.store)
    data = store.read(runs=["m2"])
    assert data.outcomes["run"].unique().to_list() == ["m2"]
    assert data.runs["run"].to_list() == ["m2"]
    assert (data.comparisons.height, data.aggregates.height, data.problems) == (0, 0, ())
    assert store.read(runs=["votes"]).aggregates.height == 2


def test_models_are_chosen_and_battles_are_between_them(two_models: Shelf) -> None:
    data = open_store(two_models.store).read(models=["m1", "m2"])
    assert data.comparisons["battle"].to_list() == ["m1-m2"]
    assert data.aggregates["model"].to_list() == ["m1"]
    assert set(data.outcomes["model"]) == {"m1", "m2"}
    assert open_store(two_models.store).read(models=["m1"]).runs["run"].to_list() == ["m1", "votes"]


def test_tables_are_chosen(two_models: Shelf) -> None:
    data = open_store(two_models.store).read(tables=["comparisons"])
    assert [name for name in TABLES if data.table(name).height] == ["comparisons", "runs"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"runs": ["m1", "m7"]}, "holds no run 'm7'; there are 'm1', 'm2', 'votes'"),
        ({"models": ["m7"]}, "holds no model 'm7'; there are 'm1', 'm2', 'm3', 'm9'"),
        ({"tables": ["scores"]}, "there is no table 'scores'; there are 'aggregates'"),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_known(two_models: Shelf, wanted, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_store(two_models.store).read(**wanted)


def test_the_order_of_ingest_does_not_show(tmp_path: Path, tools) -> None:
    frames = []
    for number, order in enumerate(("abc", "cba", "bca")):
        shelf = make_store(tmp_path / f"store{number}")
        for name in order:
            more = {} if name == "b" else {"level": name}
            tools.put(shelf, tools.origin(name), [tools.outcome(f"r{name}", f"i{n}", **more) for n in range(3)])
        frames.append(open_store(shelf.store).read().outcomes)
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])


def test_a_factor_that_is_a_number_here_and_text_there_is_text(shelf: Shelf, tools) -> None:
    for name, level in (("a", 1), ("b", "x"), ("c", 2.0), ("d", None), ("e", True)):
        tools.put(shelf, tools.origin(name), [tools.outcome(name, "i", level=level)])
    store = open_store(shelf.store)
    assert store.read().outcomes["level"].to_list() == ["1", "x", "2", None, "true"]
    assert store.read(runs=["a", "c"]).outcomes["level"].to_list() == [1.0, 2.0]
    assert store.read(runs=["a", "d"]).outcomes["level"].to_list() == [1, None]
    assert store.read(runs=["e"]).outcomes["level"].to_list() == [True]


def test_scan_is_lazy_and_sees_every_source(two_models: Shelf) -> None:
    lazy = open_store(two_models.store).scan("outcomes")
    assert isinstance(lazy, pl.LazyFrame)
    counted = lazy.group_by("model").len().sort("model").collect()
    assert counted.rows() == [("m1", 3), ("m2", 3)]
    assert open_store(two_models.store).scan("ratings").collect().equals(empty_table("ratings"))


def test_metrics_that_sources_describe_differently_are_reported(shelf: Shelf, tools) -> None:
    for name, higher in (("a", True), ("b", True), ("c", False)):
        with SourceWriter(shelf, tools.origin(name)) as writer:
            metric = {"benchmark": "b", "metric": "acc", "kind": "binary", "higher_is_better": higher}
            writer.add("metrics", frame_from_rows([metric], "metrics"))
            writer.add("runs", frame_from_rows([{"run": name, "benchmark": "b"}], "runs"))
            writer.commit()
    store = open_store(shelf.store)
    assert store.read(runs=["a", "b"]).problems == ()
    data = store.read()
    assert data.metrics["higher_is_better"].to_list() == [True, False]
    assert [problem.message for problem in data.problems] == [
        "sources describe metric 'acc' of 'b' differently: more is better, and less is better"
    ]


def test_a_run_in_two_sources_is_never_counted_twice(shelf: Shelf, tools) -> None:
    tools.put(shelf, tools.origin("a"), [tools.outcome("r1", "i")])
    tools.put(shelf, tools.origin("b"), [tools.outcome("r2", "i")])
    # Two processes that commit at the same moment could leave this; here the manifest is changed by hand.
    folder = tools.folder(shelf, "b")
    manifest = tools.manifest(folder)
    manifest["runs"][0]["run"] = "r1"
    (folder / MANIFEST).write_text(json.dumps(manifest))
    for read in ("read", "runs"):
        with pytest.raises(StoreError, match="run 'r1' is in 2 sources"):
            getattr(open_store(shelf.store), read)()


def test_a_store_opens_with_no_loader_present(two_models: Shelf) -> None:
    code = (
        "import sys; from evalstats.store.read import open_store; "
        f"print(open_store({str(two_models.store)!r}).read().outcomes.height); "
        "print([name for name in sys.modules if name.startswith('evalstats.loaders')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["6", "[]"]


def test_a_store_is_a_snapshot(shelf: Shelf, tools) -> None:
    tools.put(shelf, tools.origin("a"), [tools.outcome("a", "i")])
    store = open_store(shelf.store)
    assert store.runs().height == 1
    tools.put(shelf, tools.origin("b"), [tools.outcome("b", "i")])
    assert store.runs().height == 1
    assert open_store(shelf.store).runs().height == 2


def test_no_store_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no store here.*evalstats ingest FILES into the store"):
        open_store(tmp_path / "nothing")
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(StoreError, match="there is no store here"):
        open_store(tmp_path)
    with pytest.raises(StoreError, match=r"results\.json: is a file, and a store is a folder"):
        open_store(tmp_path / "results.json")


@pytest.mark.parametrize(
    "marker",
    ["", "{", "[]", "null", '{"format": "evalstats-store"}', '{"format": "other", "schema_version": 1}', "\xff"],
)
def test_a_damaged_marker(shelf: Shelf, marker: str) -> None:
    (shelf.store / MARKER).write_bytes(marker.encode("latin-1"))
    with pytest.raises(StoreError, match=MARKER):
        open_store(shelf.store)


@pytest.mark.parametrize(
    ("version", "remedy"),
    [(SCHEMA_VERSION + 1, "update evalstats-toolkit"), (SCHEMA_VERSION - 1, "ingest its files into a new store")],
)
def test_a_store_of_another_schema(shelf: Shelf, tools, version: int, remedy: str) -> None:
    tools.put(shelf, tools.origin("a"), [tools.outcome("a", "i")])
    message = f"er evalstats .store schema {version}; this one reads {SCHEMA_VERSION}.; {remedy}"
    manifest = tools.folder(shelf, "a") / MANIFEST
    manifest.write_text(json.dumps({"schema_version": version, "something": "else"}))
    with pytest.raises(StoreError, match=message):
        open_store(shelf.store).read()
    (shelf.store / MARKER).write_text(json.dumps({"format": "evalstats-store", "schema_version": version}))
    for use in (open_store, make_store):
        with pytest.raises(StoreError, match=message):
            use(shelf.store)


def damage(part: Path, how: str) -> None:
    data = part.read_bytes()
    if how == "cut off":
        part.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        part.write_bytes(b"")
    elif how == "gone":
        part.unlink()
    else:
        part.write_bytes(b"\x00" * len(data))


@pytest.mark.parametrize("how", ["cut off", "empty", "gone", "zeros"])
def test_a_damaged_part_names_its_source(shelf: Shelf, tools, how: str) -> None:
    for name in ("a", "b"):
        tools.put(shelf, tools.origin(name), [tools.outcome(name, f"i{n}") for n in range(50)])
    damage(tools.folder(shelf, "b") / "outcomes-0000.parquet", how)
    store = open_store(shelf.store)
    with pytest.raises(StoreError, match=r"b\.json .folder sources/.* is (damaged|missing).*ingest its file again"):
        store.read()
    assert store.read(runs=["a"]).outcomes.height == 50
    assert store.runs().height == 2


def test_a_source_that_goes_away_while_the_store_is_read(two_models: Shelf, tools) -> None:
    store = open_store(two_models.store)
    assert len(store.sources()) == 3
    shutil.rmtree(tools.folder(two_models, "m1"))
    with pytest.raises(
        StoreError, match=r"m1\.json.*removed or replaced while the store was read; open the store again"
    ):
        store.read()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        f'{{"schema_version": {SCHEMA_VERSION}}}',
        '{"schema_version": "x"}',
        "[" * 100_000,
        f'{{"schema_version": {SCHEMA_VERSION}, "parts": 3}}',
    ],
)
def test_a_damaged_manifest_names_its_folder(shelf: Shelf, tools, text: str) -> None:
    tools.put(shelf, tools.origin("a"), [tools.outcome("a", "i")])
    (tools.folder(shelf, "a") / MANIFEST).write_text(text)
    with pytest.raises(StoreError, match=r"is damaged .*repair` sets the source aside and names its file"):
        open_store(shelf.store).read()


@pytest.mark.parametrize(
    "file", ["../../other.parquet", "/etc/passwd", "outcomes-0000.parquet/..", "runs-0000.parquet"]
)
def test_a_manifest_leads_nowhere_else(shelf: Shelf, tools, file: str) -> None:
    tools.put(shelf, tools.origin("a"), [tools.outcome("a", "i")])
    path = tools.folder(shelf, "a") / MANIFEST
    manifest = tools.manifest(path.parent)
    manifest["parts"][0]["file"] = file
    assert manifest["parts"][0]["table"] == "outcomes"
    path.write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="no name for a part"):
        open_store(shelf.store).read()


def without_constants(store: Path) -> None:
    """Make the manifests of a store name no column that holds one value."""
    for path in (store / "sources").glob(f"*/{MANIFEST}"):
        manifest = json.loads(path.read_text())
        del manifest["sha256"]
        for part in manifest["parts"]:
            part.pop("constants", None)
        path.write_text(json.dumps(manifest))


def test_columns_of_one_value_are_not_read_and_yet_there(shelf: Shelf, tools) -> None:
    rows = [tools.outcome("a", f"i{n}", n % 2, scenario="law", level=n) for n in range(4)]
    tools.put(shelf, tools.origin("a"), rows)
    rows = [tools.outcome("b", f"i{n}", None if n else 1.0, level=n) for n in range(4)]
    tools.put(shelf, tools.origin("b"), rows)
    manifests = [source.manifest for source in open_store(shelf.store).sources()]
    first, second = (next(part for part in each.parts if part.table == "outcomes").constants for each in manifests)
    assert (first["scenario"], second["scenario"]) == ("law", None)
    assert first["run"] == "a"
    assert "status" in first
    assert "status" not in second
    assert "item" not in first
    shared = shared_constants(
        [part for each in manifests for part in each.parts if part.table == "outcomes"], "outcomes"
    )
    assert shared["benchmark"] == "b"
    assert shared["judge"] is None
    assert shared.keys().isdisjoint({"run", "model", "status", "scenario", "item", "score"})
    known = open_store(shelf.store)
    quick = known.read(models=["b"]), known.read(), known.scan("outcomes").collect(), known.check()
    without_constants(shelf.store)
    plain = open_store(shelf.store)
    slow = plain.read(models=["b"]), plain.read(), plain.scan("outcomes").collect(), plain.check()
    for one, other in zip(quick[:2], slow[:2], strict=True):
        assert one.outcomes.equals(other.outcomes)
        assert one.outcomes.schema == other.outcomes.schema
        assert one.runs.equals(other.runs)
    assert quick[2].equals(slow[2])
    assert quick[3] == slow[3] == ()


def test_a_table_of_nothing_but_one_value_keeps_its_rows(shelf: Shelf, tools) -> None:
    tools.put(shelf, tools.origin("a"), [tools.outcome("a", "i", 1.0)])
    part = next(part for part in open_store(shelf.store).sources()[0].manifest.parts if part.table == "outcomes")
    every = {column.name: None for column in TABLES["outcomes"]}
    assert len(shared_constants([replace(part, constants=every)], "outcomes")) == len(every) - 1
    assert open_store(shelf.store).read().outcomes.height == 1


def test_a_manifest_that_calls_a_column_what_it_is_not_is_found(shelf: Shelf, tools) -> None:
    tools.put(shelf, tools.origin("a"), [tools.outcome("a", f"i{n}", n % 2) for n in range(3)])
    path = tools.folder(shelf, "a") / MANIFEST
    manifest = tools.manifest(path.parent)
    part = next(part for part in manifest["parts"] if part["table"] == "outcomes")
    part["constants"]["item"] = "i0"
    path.write_text(json.dumps(manifest))
    [problem] = open_store(shelf.store).check()
    assert "has another value in 'item' than its manifest says" in problem.message
    for wrong in ({"score": "1"}, {"none such": None}):
        part["constants"] = wrong
        path.write_text(json.dumps(manifest))
        with pytest.raises(StoreError, match="calls constant"):
            open_store(shelf.store).read()
