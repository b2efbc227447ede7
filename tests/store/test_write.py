"""A source is in the store whole or not at all."""

import json
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from evalstats.errors import InputError, StoreError
from evalstats.schema.data import Problem
from evalstats.schema.tables import empty_table, frame_from_rows
from evalstats.store import manifest, write
from evalstats.store.manifest import INCOMING, MANIFEST, MARKER, SCHEMA_VERSION, SOURCES, Shelf, SourceOrigin
from evalstats.store.read import open_store
from evalstats.store.write import SourceWriter, held_already, lock, make_store


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_went_in_comes_out(shelf: Shelf, tools) -> None:
    rows = [tools.outcome("r1", f"i{n}", score=n / 10, difficulty=n, tags=["x", "y"]) for n in range(10)]
    tools.put(shelf, tools.origin("a"), rows, batch=3)
    data = open_store(shelf.store).read()
    assert data.outcomes.equals(frame_from_rows(rows, "outcomes"))
    assert data.runs["run"].to_list() == ["r1"]


def test_batches_are_gathered_into_parts_of_bounded_size(shelf: Shelf, tools, monkeypatch) -> None:
    monkeypatch.setattr(write, "PART_ROWS", 40)
    rows = [tools.outcome("r1", f"i{n}") for n in range(100)]
    committed = tools.put(shelf, tools.origin("a"), rows, batch=10)
    assert [part.rows for part in committed.manifest.parts if part.table == "outcomes"] == [40, 40, 20]
    assert open_store(shelf.store).read().outcomes["item"].to_list() == [f"i{n}" for n in range(100)]


def test_large_texts_make_smaller_parts(shelf: Shelf, tools, monkeypatch) -> None:
    monkeypatch.setattr(write, "PART_BYTES", 1 << 20)
    rows = [tools.outcome("r1", f"i{n}", answer="x" * 100_000) for n in range(30)]
    committed = tools.put(shelf, tools.origin("a"), rows, batch=2)
    # 2 rows of 100 kB a batch: 1 MiB is passed with the sixth batch
    assert [part.rows for part in committed.manifest.parts if part.table == "outcomes"] == [12, 12, 6]


@pytest.mark.parametrize("part_rows", [1, 1_000])
def test_a_key_that_stands_twice_in_different_batches_rejects_the_source(
    shelf: Shelf, tools, monkeypatch, part_rows: int
) -> None:
    monkeypatch.setattr(write, "PART_ROWS", part_rows)
    rows = [tools.outcome("r1", f"i{n}") for n in range(10)]
    rows += [tools.outcome("r1", "i3", score=0.0)]
    with pytest.raises(InputError, match=r"a\.json: outcomes: more than one row has the key run='r1'.*item='i3'"):
        tools.put(shelf, tools.origin("a"), rows, batch=5)
    assert files_below(shelf.store) == ["evalstats-store.json"]


@pytest.mark.parametrize("n", range(8))
def test_a_repeated_key_is_found_whichever_of_several_readings_its_hash_falls_into(
    shelf: Shelf, tools, monkeypatch, n: int
) -> None:
    monkeypatch.setattr(manifest, "_HASHES", 2)
    rows = [tools.outcome("r1", f"i{k}") for k in (*range(8), n)]
    with pytest.raises(InputError, match=f"more than one row has the key run='r1'.*item='i{n}'"):
        tools.put(shelf, tools.origin("a"), rows, batch=1)


def test_hashes_of_keys_are_held_some_at_a_time(shelf: Shelf, tools, monkeypatch) -> None:
    monkeypatch.setattr(manifest, "_HASHES", 50)
    heights: list[int] = []
    collect = pl.LazyFrame.collect

    def counted(lazy: pl.LazyFrame, **how) -> pl.DataFrame:
        found = collect(lazy, **how)
        heights.append(found.height)
        return found

    monkeypatch.setattr(pl.LazyFrame, "collect", counted)
    tools.put(shelf, tools.origin("a"), [tools.outcome("r1", f"i{n}") for n in range(400)], batch=100)
    assert sum(heights) == 400
    assert max(heights) < 100  # hashes fall evenly: 400 into 8 readings, by chance some more or fewer


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"trial": 1}, False),
        ({"judge": "j"}, False),
        ({"variant": "v"}, False),
        ({"metric": "f1"}, False),
        ({"score": 0.0}, True),
        ({"difficulty": 3}, True),
    ],
)
def test_rows_are_the_same_by_their_key_alone(shelf: Shelf, tools, other: dict[str, object], same: bool) -> None:
    rows = [tools.outcome("r1", "i"), {**tools.outcome("r1", "i"), **other}]
    if same:
        with pytest.raises(InputError, match="more than one row"):
            tools.put(shelf, tools.origin("a"), rows, batch=1)
    else:
        tools.put(shelf, tools.origin("a"), rows, batch=1)
        assert open_store(shelf.store).read().outcomes.height == 2


def test_a_null_in_a_key_is_a_value_like_any_other(shelf: Shelf, tools) -> None:
    rows = [tools.outcome("r1", "i", trial=None), tools.outcome("r1", "i", trial=None)]
    with pytest.raises(InputError, match="more than one row"):
        tools.put(shelf, tools.origin("a"), rows, batch=1)


def test_a_row_of_an_undescribed_run_rejects_the_source(shelf: Shelf, tools) -> None:
    with pytest.raises(InputError, match="rows of run 'r2', which its table of runs does not list"):
        tools.put(
            shelf, tools.origin("a"), [tools.outcome("r2", "i")], runs=[{"run": "r1", "model": "m", "benchmark": "b"}]
        )
    assert files_below(shelf.store) == ["evalstats-store.json"]


def test_a_run_name_that_another_source_has_is_refused(shelf: Shelf, tools) -> None:
    tools.put(shelf, tools.origin("a"), [tools.outcome("r1", "i")])
    with pytest.raises(InputError, match=r"b\.json: holds run 'r1', and so does a\.json.*remove that run first"):
        tools.put(shelf, tools.origin("b"), [tools.outcome("r1", "i")])
    assert len(open_store(shelf.store).sources()) == 1


def test_an_error_halfway_leaves_nothing(shelf: Shelf, tools, monkeypatch) -> None:
    monkeypatch.setattr(write, "PART_ROWS", 1)
    seen: list[str] = []

    def half() -> None:
        with write.SourceWriter(shelf, tools.origin("a")) as writer:
            for item in "ij":  # the second waits for the first to be written
                writer.add("outcomes", frame_from_rows([tools.outcome("r1", item)], "outcomes"))
            seen.extend(files_below(shelf.store / INCOMING))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert seen  # a part had been written
    assert min(seen).endswith("outcomes-0000.parquet")
    assert files_below(shelf.store) == ["evalstats-store.json"]
    assert open_store(shelf.store).runs().height == 0


def test_the_same_bytes_twice_are_one_copy(shelf: Shelf, tools) -> None:
    rows = [tools.outcome("r1", "i")]
    assert tools.put(shelf, tools.origin("a"), rows).outcome == "added"
    before = files_below(shelf.store)
    assert tools.put(shelf, tools.origin("a"), rows).outcome == "present"
    assert files_below(shelf.store) == before


def test_a_reading_by_another_loader_version_takes_the_place_of_the_earlier(shelf: Shelf, tools) -> None:
    tools.put(shelf, tools.origin("a", version="1"), [tools.outcome("r1", "i", score=0.0)])
    committed = tools.put(shelf, tools.origin("a", version="2"), [tools.outcome("r1", "i", score=1.0)])
    assert committed.outcome == "replaced"
    assert [origin.loader_version for origin in committed.replaced] == ["1"]
    assert open_store(shelf.store).read().outcomes["score"].to_list() == [1.0]
    assert len(list((shelf.store / SOURCES).iterdir())) == 1


def test_killed_between_commit_and_drop_the_later_reading_counts(shelf: Shelf, tools, monkeypatch) -> None:
    tools.put(shelf, tools.origin("a", version="2"), [tools.outcome("r1", "i", score=0.0)])
    monkeypatch.setattr(write, "drop_source", lambda *_: None)
    # version "10" sorts before "2" as text: the time of the commit decides, not the name
    tools.put(shelf, tools.origin("a", version="10"), [tools.outcome("r1", "i", score=1.0)])
    assert len(list((shelf.store / SOURCES).iterdir())) == 2
    assert open_store(shelf.store).read().outcomes["score"].to_list() == [1.0]
    make_store(shelf.store)
    assert [source.origin.loader_version for source in Shelf(shelf.store).current()] == ["10"]


def test_a_damaged_copy_is_not_held_and_is_replaced(shelf: Shelf, tools) -> None:
    origin = tools.origin("a")
    tools.put(shelf, origin, [tools.outcome("r1", "i")])
    assert write.held_already(shelf, origin) is not None
    part = next((shelf.store / SOURCES).rglob("outcomes-*.parquet"))
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 0xFF
    part.write_bytes(data)
    assert write.held_already(Shelf(shelf.store), origin) is None
    assert tools.put(shelf, origin, [tools.outcome("r1", "i")]).outcome == "added"
    assert open_store(shelf.store).check() == ()


@pytest.mark.parametrize(
    ("path", "held"),
    [
        ("logs/gpt/run.json", True),
        ("elsewhere/gpt/run.json", True),
        ("logs/claude/run.json", False),  # the folder may name the model
        ("logs/gpt/other.json", False),  # the file may name the model
    ],
)
def test_which_paths_are_known_without_reading(shelf: Shelf, tools, path: str, held: bool) -> None:
    origin = replace(tools.origin("a"), path="logs/gpt/run.json")
    tools.put(shelf, origin, [tools.outcome("r1", "i")])
    assert (write.held_already(shelf, replace(origin, path=path)) is not None) == held
    assert write.held_already(shelf, replace(origin, path=path, options={"column_map": "x"})) is None
    assert write.held_already(shelf, replace(origin, path=path, digest="ab" * 32)) is None


def test_equal_bytes_about_different_models_are_two_sources(shelf: Shelf, tools) -> None:
    """Two models that answered everything right: equal tables, told apart by the files' names."""
    for model in ("m1", "m2"):
        origin = replace(tools.origin("a"), path=f"{model}.csv")
        assert tools.put(shelf, origin, [tools.outcome(model, "i")]).outcome == "added"
    assert open_store(shelf.store).models() == ("m1", "m2")
    assert open_store(shelf.store).read().outcomes.height == 2
    make_store(shelf.store)
    assert open_store(shelf.store).models() == ("m1", "m2")


def test_a_renamed_copy_about_the_same_model_is_one_source(shelf: Shelf, tools) -> None:
    origin = tools.origin("a")
    runs = [{"run": name, "model": "m", "benchmark": "b", "n_scored": 1} for name in ("a~1", "copy~1")]
    tools.put(shelf, origin, [{**tools.outcome("a~1", "i"), "model": "m"}], runs=runs[:1])
    copy = replace(origin, path="copy.json")
    committed = tools.put(shelf, copy, [{**tools.outcome("copy~1", "i"), "model": "m"}], runs=runs[1:])
    assert (committed.outcome, committed.manifest.origin.path) == ("present", "a.json")
    assert open_store(shelf.store).runs()["run"].to_list() == ["a~1"]


def test_hostile_names_stay_in_their_folder(shelf: Shelf, tools) -> None:
    origin = SourceOrigin(
        path="../../../etc/\x1b[2J\udcff", digest="ab" * 32, loader="../x/\x00y", loader_version="*?\n.."
    )
    tools.put(shelf, origin, [tools.outcome("\x1b[31m\u202e../r\n", "i")])
    [folder] = (shelf.store / SOURCES).iterdir()
    assert set(folder.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    [source] = open_store(shelf.store).sources()
    assert source.origin == origin
    assert open_store(shelf.store).read().outcomes["run"].to_list() == ["\x1b[31m\u202e../r\n"]
    assert files_below(shelf.store.parent) == [f"store/{name}" for name in files_below(shelf.store)]


def test_a_folder_with_signs_that_mean_something_to_a_scan(tmp_path: Path, tools) -> None:
    shelf = make_store(tmp_path / "a[b]*?{c}=d e")
    tools.put(shelf, tools.origin("a"), [tools.outcome("r1", "i")])
    store = open_store(shelf.store)
    assert store.read().outcomes.columns == list(empty_table("outcomes").columns)
    assert store.check() == ()


def test_frames_that_were_not_checked_are_checked(shelf: Shelf, tools) -> None:
    unchecked = pl.DataFrame([{**tools.outcome("r1", "i"), "status": "nonsense"}])
    with write.SourceWriter(shelf, tools.origin("a")) as writer, pytest.raises(InputError, match="'status'"):
        writer.add("outcomes", unchecked)


def test_notes_are_kept_up_to_a_number(shelf: Shelf, tools) -> None:
    with write.SourceWriter(shelf, tools.origin("a")) as writer:
        for n in range(write.MAX_PROBLEMS + 50):
            writer.add_problem(Problem(path="a.json", message=f"line {n}", severity="note"))
        writer.add("runs", frame_from_rows([{"run": "r1", "benchmark": "b"}], "runs"))
        writer.commit()
    problems = open_store(shelf.store).read().problems
    assert len(problems) == write.MAX_PROBLEMS + 1
    assert problems[0].message == "line 0"
    assert "50 more" in problems[-1].message


def test_a_factor_does_not_depend_on_where_the_file_was_cut(shelf: Shelf, tools) -> None:
    values = [1, None, None, 2, 0.5, None]
    labels = ["7", "7", "x", "7", None, None]
    rows = [
        tools.outcome("r1", f"i{n}", level=level, label=label)
        for n, (level, label) in enumerate(zip(values, labels, strict=True))
    ]
    for batch in (1, 2, 6):
        tools.put(shelf, tools.origin(f"b{batch}"), [{**row, "run": f"r{batch}"} for row in rows], batch=batch)
    for batch in (1, 2, 6):
        frame = open_store(shelf.store).read(runs=[f"r{batch}"]).outcomes
        assert frame["level"].to_list() == [1.0, None, None, 2.0, 0.5, None]
        assert frame["label"].to_list() == labels


def test_factors_may_be_called_anything(shelf: Shelf, tools) -> None:
    names = ["*", "^i.*$", "len", "hash", "a\x00b", "\x1b[31m", "outcomes.item"]
    rows = [
        tools.outcome("r1", "i0", **dict.fromkeys(names, 1)),
        tools.outcome("r1", "i1", **dict.fromkeys(names, "x")),
        tools.outcome("r1", "i2"),
    ]
    tools.put(shelf, tools.origin("a"), rows, batch=1)
    tools.put(shelf, tools.origin("b"), [tools.outcome("r2", "i0", **dict.fromkeys(names, 0.5))])
    frame = open_store(shelf.store).read().outcomes
    assert [frame[name].to_list() for name in names] == [["1", "x", None, "0.5"]] * len(names)


def test_the_manifest_counts_what_is_there(shelf: Shelf, tools) -> None:
    tools.put(shelf, tools.origin("a"), [tools.outcome("r1", f"i{n}") for n in range(7)])
    [folder] = (shelf.store / SOURCES).iterdir()
    manifest = json.loads((folder / MANIFEST).read_text())
    assert {part["table"]: part["rows"] for part in manifest["parts"]} == {"outcomes": 7, "runs": 1}
    assert manifest["origin"]["path"] == "a.json"
    assert manifest["schema_version"] == SCHEMA_VERSION


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are POSIX")
def test_a_full_disk_is_a_fault_of_the_store_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit on file sizes stands for the full disk: both end a write with an error of the system."""
    script = textwrap.dedent(
        f"""
        import resource, sys
        from evalstats.errors import StoreError
        from evalstats.schema.tables import frame_from_rows
        from evalstats.store.write import make_store
        from evalstats.store.manifest import SourceOrigin
        from evalstats.store.write import SourceWriter
        shelf = make_store({str(tmp_path / "store")!r})
        row = dict(run="r", model="m", system="m", benchmark="b", metric="acc", score=1.0, status="scored")
        frame = frame_from_rows([dict(row, item=str(n * 7919)) for n in range(20_000)], "outcomes")
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        try:
            with SourceWriter(shelf, SourceOrigin(path="a", digest="ab" * 32, loader="l", loader_version="1")) as writer:
                writer.add("outcomes", frame)
                writer.add("runs", frame_from_rows([dict(run="r", model="m", benchmark="b")], "runs"))
                writer.commit()
        except StoreError as error:
            print(error)
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "cannot be written to" in done.stdout
    assert "ingest again" in done.stdout
    assert files_below(tmp_path / "store") == ["evalstats-store.json"]


def test_a_store_without_its_folders_cannot_be_written_to(shelf: Shelf, tools) -> None:
    (shelf.store / INCOMING).rmdir()
    with pytest.raises(StoreError, match="cannot be written to"):
        tools.put(shelf, tools.origin("a"), [tools.outcome("r1", "i")])


HOUR = 3600.0


def age(folder: Path, seconds: float) -> None:
    past = time.time() - seconds
    for path in (*folder.iterdir(), folder):
        os.utime(path, (past, past))


def test_making_a_store_twice_changes_nothing(tmp_path: Path) -> None:
    make_store(tmp_path / "new" / "store")
    marker = (tmp_path / "new" / "store" / MARKER).read_bytes()
    make_store(tmp_path / "new" / "store")
    assert (tmp_path / "new" / "store" / MARKER).read_bytes() == marker
    assert sorted(path.name for path in (tmp_path / "new" / "store").iterdir()) == [INCOMING, MARKER, SOURCES]


def test_an_empty_folder_becomes_a_store(tmp_path: Path) -> None:
    make_store(tmp_path)
    assert open_store(tmp_path).runs().height == 0


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"not a store and not empty .it holds 'thesis\.txt'.; name a new folder"):
        make_store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_another_process_that_is_making_the_same_store_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / f".{MARKER}-0123").write_text("{")  # its marker, half written
    make_store(tmp_path)
    assert open_store(tmp_path).runs().height == 0


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "store"):
        with pytest.raises(StoreError, match=r"cannot be used as a store .*name a folder that can be written to"):
            make_store(place)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot be used as a store"):
        make_store(tmp_path / "store")


def test_a_path_that_is_no_unicode(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not valid Unicode"):
        make_store(tmp_path / "store\udcff")


def leftover(shelf: Shelf, seconds: float) -> Path:
    folder = shelf.store / INCOMING / "0123"
    folder.mkdir()
    (folder / "outcomes-0000.parquet").write_bytes(b"half")
    age(folder, seconds)
    return folder


def test_what_a_dead_process_left_is_cleared_away(shelf: Shelf) -> None:
    folder = leftover(shelf, HOUR)
    make_store(shelf.store)
    assert not folder.exists()


def test_what_is_quite_new_is_left_alone(shelf: Shelf) -> None:
    folder = leftover(shelf, 5)
    make_store(shelf.store)
    assert folder.exists()


@pytest.mark.skipif(os.name == "nt", reason="folders are locked on POSIX systems only")
def test_what_a_living_process_holds_is_left_alone(shelf: Shelf, tools) -> None:
    with write.SourceWriter(shelf, tools.origin("a")) as writer:
        writer.add("outcomes", frame_from_rows([tools.outcome("a", "i")], "outcomes"))
        [folder] = (shelf.store / INCOMING).iterdir()
        age(folder, 100 * HOUR)
        make_store(shelf.store)
        writer.add("runs", frame_from_rows([{"run": "a", "benchmark": "b"}], "runs"))
        writer.commit()
    assert open_store(shelf.store).read().outcomes.height == 1


def test_where_folders_cannot_be_locked_only_old_ones_are_cleared(shelf: Shelf, monkeypatch) -> None:
    monkeypatch.setattr("evalstats.store.write.lock", lambda _: None)
    folder = leftover(shelf, HOUR)
    make_store(shelf.store)
    assert folder.exists()
    age(folder, 25 * HOUR)
    make_store(shelf.store)
    assert not folder.exists()


@pytest.mark.skipif(os.name == "nt", reason="folders are locked on POSIX systems only")
def test_a_lock_is_exclusive_and_ends_with_its_descriptor(tmp_path: Path) -> None:
    held = lock(tmp_path)
    assert held is not None
    with pytest.raises(BlockingIOError):
        lock(tmp_path)
    os.close(held)
    again = lock(tmp_path)
    assert again is not None
    os.close(again)


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


def test_a_clock_that_was_put_back_does_not_let_an_older_reading_count(
    shelf: Shelf, tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill between the commit of a new reading and the removal of the old one."""
    tools.put(shelf, tools.origin("a"), [tools.outcome("a", "i", 0.0)])
    monkeypatch.setattr("evalstats.store.write.drop_source", lambda *_: None)
    monkeypatch.setattr("evalstats.store.manifest.datetime", ClockOfYesterday)
    tools.put(Shelf(shelf.store), tools.origin("a", version="2"), [tools.outcome("a", "i", 1.0)])
    assert len(list((shelf.store / SOURCES).iterdir())) == 2
    assert open_store(shelf.store).read().outcomes["score"].to_list() == [1.0]
    assert open_store(shelf.store).check() == ()


class ClockOfYesterday(datetime):
    @classmethod
    def now(cls, tz=None) -> datetime:
        return datetime.now(tz) - timedelta(days=1)


def test_a_part_written_beside_reading_that_fails_leaves_nothing(shelf: Shelf, tools, monkeypatch) -> None:
    monkeypatch.setattr(write, "PART_ROWS", 2)
    rows = [frame_from_rows([tools.outcome("a", f"i{n}-{k}") for k in range(3)], "outcomes") for n in range(3)]
    original = write.write_parquet

    def full(path: Path, frame: pl.DataFrame, *, row_group_size: int) -> None:
        if path.name == "outcomes-0001.parquet":
            raise OSError("no space left")
        original(path, frame, row_group_size=row_group_size)

    monkeypatch.setattr(write, "write_parquet", full)

    def put() -> None:
        with SourceWriter(shelf, tools.origin("a")) as writer:
            for frame in rows:
                writer.add("outcomes", frame)
            writer.commit()

    with pytest.raises(StoreError, match="no space left"):
        put()
    assert list((shelf.store / "sources").iterdir()) == list((shelf.store / ".incoming").iterdir()) == []
    monkeypatch.setattr(write, "write_parquet", original)
    with SourceWriter(shelf, tools.origin("a")) as writer:
        for frame in rows:
            writer.add("outcomes", frame)
        writer.add("runs", frame_from_rows([{"run": "a", "model": "a", "benchmark": "b"}], "runs"))
        written = writer.commit().manifest
    assert [part.file for part in written.parts[:3]] == [f"outcomes-{n:04d}.parquet" for n in range(3)]
    assert open_store(shelf.store).read().outcomes["item"].to_list() == [
        f"i{n}-{k}" for n in range(3) for k in range(3)
    ]


def test_a_store_whose_maker_was_killed_before_its_marker_is_made_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "store" / SOURCES).mkdir(parents=True)
    assert make_store(tmp_path / "store").current() == ()
    (tmp_path / "mine" / SOURCES / "a").mkdir(parents=True)
    with pytest.raises(StoreError, match="is not a store and not empty"):
        make_store(tmp_path / "mine")
