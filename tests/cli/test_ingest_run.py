"""Ingesting: all or nothing for every source, whatever else happens to the process or to its neighbours."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

from evalstats.cli.ingest_run import ingest
from evalstats.errors import InputError, StoreError, UnreadableFileError
from evalstats.loaders import registry
from evalstats.loaders.column_map import ColumnMap
from evalstats.store import write
from evalstats.store.manifest import INCOMING, MARKER, SOURCES
from evalstats.store.read import open_store

FAKE = Path(__file__).with_name("fake_loader.py")


@pytest.fixture(scope="module")
def fake() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fake_loader", FAKE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def loader(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = fake.FakeLoader()
    monkeypatch.setattr(registry, "loaders", lambda _shape=None: (made,))
    return made


def write_file(path: Path, *orders: dict[str, Any], model: str = "m", items: int = 3) -> Path:
    lines: list[dict[str, Any]] = [{"fake": 1, "model": model}]
    lines += [{"item": f"i{n}", "score": float(n % 2)} for n in range(items)]
    lines += orders
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def listing(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder: its bytes and when it was last written."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def statuses(report: Any) -> list[str]:
    return [source.status for source in report.sources]


def start(store: Path, *files: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(FAKE), str(store), *map(str, files)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_files_become_runs(tmp_path: Path) -> None:
    write_file(tmp_path / "logs" / "a.jsonl", {"item": "broken", "score": None}, model="m1")
    write_file(tmp_path / "logs" / "deep" / "b.jsonl", model="m2")
    report = ingest([tmp_path / "logs"], tmp_path / "store")
    assert [(run.model, run.n_scored, run.n_error) for source in report.sources for run in source.runs] == [
        ("m1", 3, 1),
        ("m2", 3, 0),
    ]
    runs = open_store(tmp_path / "store").runs()
    assert runs["source"].to_list() == [str(tmp_path / "logs" / "a.jsonl"), str(tmp_path / "logs" / "deep" / "b.jsonl")]
    assert runs["n_error"].to_list() == [1, 0]


def test_a_second_ingest_changes_no_byte(tmp_path: Path) -> None:
    for name in "abc":
        write_file(tmp_path / "logs" / f"{name}.jsonl", model=name)
    first = ingest([tmp_path / "logs"], tmp_path / "store")
    before = listing(tmp_path / "store")
    second = ingest([tmp_path / "logs"], tmp_path / "store")
    assert (statuses(first), statuses(second)) == (["loaded"] * 3, ["skipped"] * 3)
    assert listing(tmp_path / "store") == before
    assert second.n_readable == 3


def test_the_same_bytes_from_another_path_are_the_same_source(tmp_path: Path) -> None:
    first = write_file(tmp_path / "a.jsonl")
    (tmp_path / "copy.jsonl").write_bytes(first.read_bytes())
    report = ingest([first, tmp_path / "copy.jsonl"], tmp_path / "store")
    assert statuses(report) == ["loaded", "skipped"]
    assert report.sources[1].reason == f"the store has it already, from {first}"
    assert open_store(tmp_path / "store").runs().height == 1


def test_one_bad_file_in_ten_is_named_and_the_rest_loads(tmp_path: Path) -> None:
    for n in range(10):
        write_file(tmp_path / f"f{n}.jsonl", *([{"raise": "unreadable"}] if n == 4 else []), model=f"m{n}")
    report = ingest([tmp_path / f"f{n}.jsonl" for n in range(10)], tmp_path / "store")
    assert statuses(report) == ["loaded"] * 4 + ["failed"] + ["loaded"] * 5
    assert [(source.path, source.reason) for source in report.failed] == [
        (str(tmp_path / "f4.jsonl"), "line 3 is not what it should be")
    ]
    assert open_store(tmp_path / "store").models() == tuple(f"m{n}" for n in range(10) if n != 4)


@pytest.mark.parametrize("error", ["unreadable", "key", "zip", "arithmetic", "memory", "polars"])
def test_whatever_a_loader_raises_leaves_nothing_of_its_file(tmp_path: Path, monkeypatch, error: str) -> None:
    monkeypatch.setattr(write, "PART_ROWS", 1)  # rows are on disk when the error comes
    bad = write_file(tmp_path / "bad.jsonl", {"flush": 1}, {"raise": error})
    good = write_file(tmp_path / "good.jsonl", model="other")
    report = ingest([bad, good], tmp_path / "store")
    assert statuses(report) == ["failed", "loaded"]
    assert list((tmp_path / "store" / INCOMING).iterdir()) == []
    assert open_store(tmp_path / "store").read().outcomes["model"].unique().to_list() == ["other"]
    assert open_store(tmp_path / "store").check() == ()


def test_a_foreign_error_is_explained(tmp_path: Path) -> None:
    bad = write_file(tmp_path / "bad.jsonl", {"raise": "zip"})
    [source] = ingest([bad], tmp_path / "store").sources
    assert source.reason == (
        "could not be read by the fake loader (BadZipFile: File is not a zip file); "
        "check that the file is whole, or report it with the harness's version"
    )


def test_an_interrupt_is_passed_on_and_leaves_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(write, "PART_ROWS", 1)
    good = write_file(tmp_path / "a.jsonl")
    stopped = write_file(tmp_path / "b.jsonl", {"flush": 1}, {"raise": "stopped"}, model="other")
    with pytest.raises(KeyboardInterrupt):
        ingest([good, stopped], tmp_path / "store")
    assert list((tmp_path / "store" / INCOMING).iterdir()) == []
    assert open_store(tmp_path / "store").models() == ("m",)


def test_strict_stops_at_the_first_failure_and_keeps_what_came_before(tmp_path: Path) -> None:
    files = [
        write_file(tmp_path / f"{name}.jsonl", *orders, model=name)
        for name, orders in (("a", []), ("b", [{"raise": "key"}]), ("c", []))
    ]
    with pytest.raises(UnreadableFileError, match=r"b\.jsonl: could not be read by the fake loader"):
        ingest(files, tmp_path / "store", strict=True)
    assert open_store(tmp_path / "store").models() == ("a",)


def test_strict_stops_at_a_row_that_is_left_out_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{k},m,{k % 2}" for k in range(200)]
    path.write_text("\n".join(["item,model,score", *rows, "q200,m"]))
    map_ = ColumnMap.from_options(["item=item", "score=score"])
    with pytest.raises(UnreadableFileError, match=r"t\.csv: 1 of 201 rows cannot be read"):
        ingest([path], tmp_path / "store", strict=True, column_map=map_)
    assert ingest([path], tmp_path / "store", column_map=map_).n_readable == 1
    assert open_store(tmp_path / "store").models() == ("m",)


def test_strict_stops_before_reading_when_a_file_is_of_no_known_format(tmp_path: Path) -> None:
    (tmp_path / "z.txt").write_text("what is this")
    good = write_file(tmp_path / "a.jsonl")
    with pytest.raises(UnreadableFileError, match=r"z\.txt: no known format"):
        ingest([good, tmp_path / "z.txt"], tmp_path / "store", strict=True)
    assert not (tmp_path / "store").exists()
    report = ingest([good, tmp_path / "z.txt"], tmp_path / "store")
    assert [source.path for source in report.failed] == [str(tmp_path / "z.txt")]
    assert report.n_readable == 1


def test_a_key_that_stands_twice_names_the_file_and_the_key(tmp_path: Path) -> None:
    bad = write_file(tmp_path / "bad.jsonl", {"flush": 1}, {"item": "i1", "score": 0.5})
    [source] = ingest([bad], tmp_path / "store").failed
    assert source.path == str(bad)
    assert source.reason.startswith("outcomes: more than one row has the key run='bad~")
    assert "item='i1'" in source.reason


def test_killed_in_the_middle_and_ingested_again(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first = write_file(tmp_path / "a.jsonl", model="a")
    slow = write_file(tmp_path / "b.jsonl", {"rows": 60_000, "chars": 1}, {"sleep": 60}, model="b")
    process = start(store, first, slow)
    deadline = time.monotonic() + 60
    while not (list(store.glob(f"{SOURCES}/*")) and list(store.glob(f"{INCOMING}/*/outcomes-0000.parquet"))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert open_store(store).models() == ("a",)
    assert open_store(store).check() == ()
    assert len(list((store / INCOMING).iterdir())) == 1

    write_file(tmp_path / "b.jsonl", {"rows": 60_000, "chars": 1}, model="b")
    for path in (store / INCOMING).rglob("*"):
        os.utime(path, (0, 0))
    report = ingest([first, slow], store)
    assert statuses(report) == ["skipped", "loaded"]
    assert open_store(store).read().outcomes.group_by("model").len().sort("model").rows() == [("a", 3), ("b", 60_003)]
    assert list((store / INCOMING).iterdir()) == []


def test_two_ingests_of_the_same_files_at_once(tmp_path: Path) -> None:
    """The files wait between batches, so that both processes are inside the same source at the same time."""
    files = [
        write_file(tmp_path / f"{name}.jsonl", {"flush": 1}, {"sleep": 0.3}, {"item": "x", "score": 1}, model=name)
        for name in "abc"
    ]
    processes = [start(tmp_path / "store", *files) for _ in range(2)]
    results = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], results
    outcomes = [json.loads(out.splitlines()[0]) for out, _ in results]
    for name, pair in zip("abc", zip(*outcomes, strict=True), strict=True):
        assert sorted(pair) == ["loaded", "skipped"], (name, pair)
    store = open_store(tmp_path / "store")
    assert store.read().outcomes.group_by("model").len().sort("model").rows() == [("a", 4), ("b", 4), ("c", 4)]
    assert len(list((tmp_path / "store" / SOURCES).iterdir())) == 3
    assert store.check() == ()


def test_a_newer_loader_takes_the_place_of_the_older(tmp_path: Path, loader: Any) -> None:
    path = write_file(tmp_path / "a.jsonl")
    ingest([path], tmp_path / "store")
    loader.version = "2"
    [source] = ingest([path], tmp_path / "store").sources
    assert (source.status, source.reason) == ("loaded", "put in the place of an earlier reading by fake 1")
    assert open_store(tmp_path / "store").runs()["loader_version"].to_list() == ["2"]


def test_another_column_map_is_another_reading(tmp_path: Path, monkeypatch) -> None:
    path = write_file(tmp_path / "a.jsonl")
    plan = registry.plan
    monkeypatch.setattr("evalstats.cli.ingest_run.plan", lambda paths, **_: plan(paths))
    maps = [ColumnMap.from_options(["score=exact"]), ColumnMap.from_options(["score=f1"])]
    reports = [ingest([path], tmp_path / "store", column_map=maps[n]) for n in (0, 0, 1)]
    assert [statuses(report) for report in reports] == [["loaded"], ["skipped"], ["loaded"]]
    assert reports[2].sources[0].reason == "put in the place of an earlier reading by fake 1"


def test_a_file_that_grew_since_is_read_and_the_earlier_state_is_pointed_out(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl")
    ingest([path], tmp_path / "store")
    write_file(path, {"item": "new", "score": 1.0})
    [source] = ingest([path], tmp_path / "store").sources
    assert source.status == "loaded"
    assert "the store also holds an earlier version of this file (run 'a~" in source.reason
    assert open_store(tmp_path / "store").runs()["n_scored"].sort().to_list() == [3, 4]


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, loader: Any, monkeypatch) -> None:
    path = write_file(tmp_path / "a.jsonl")
    read = loader.read

    def read_and_append(source: Any) -> Any:
        yield from read(source)
        with path.open("a") as stream:
            stream.write("\n")

    monkeypatch.setattr(loader, "read", read_and_append)
    [source] = ingest([path], tmp_path / "store").sources
    assert source.status == "failed"
    assert source.reason == "changed while it was being read; ingest it again when its run has ended"
    assert open_store(tmp_path / "store").runs().height == 0


def test_a_store_among_the_files_is_passed_over(tmp_path: Path) -> None:
    write_file(tmp_path / "logs" / "a.jsonl")
    store = tmp_path / "logs" / "store"
    ingest([tmp_path / "logs"], store)
    write_file(store / SOURCES / "trap.jsonl", model="trap")
    report = ingest([tmp_path / "logs"], tmp_path / "other")
    assert [source.path for source in report.sources] == [str(tmp_path / "logs" / "a.jsonl")]
    assert report.notes == ()
    assert registry.read(tmp_path / "logs").models() == ("m",)
    assert registry.STORE_MARKER == MARKER


def test_a_store_named_as_a_file_is_an_error(tmp_path: Path) -> None:
    write_file(tmp_path / "a.jsonl")
    ingest([tmp_path / "a.jsonl"], tmp_path / "store")
    with pytest.raises(InputError, match="is a store, not result files; open it with --store"):
        ingest([tmp_path / "store"], tmp_path / "other")


def test_hostile_names(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202eevil\r\n"
    write_file(tmp_path / f"{evil}.jsonl", {"note": f"line {evil}"}, model=evil)
    write_file(tmp_path / f"bad{evil}.jsonl", {"raise": "arithmetic"}, model=evil)
    report = ingest([tmp_path], tmp_path / "store")
    assert sorted(statuses(report)) == ["failed", "loaded"]
    assert open_store(tmp_path / "store").models() == (evil,)
    lines = report.summary_lines()
    text = "".join(lines)
    assert text.isprintable()
    assert any(line.startswith(r"\x1b[2J\u202eevil\r\n · bench") for line in lines)
    assert any(r"bad\x1b[2J\u202eevil\r\n.jsonl" in line for line in lines)


def test_a_path_that_is_no_unicode_harms_only_its_own_file(tmp_path: Path) -> None:
    try:
        write_file(tmp_path / "logs" / "odd\udcff.jsonl", model="odd")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes Unicode names only")
    write_file(tmp_path / "logs" / "plain.jsonl", model="plain")
    report = ingest([tmp_path / "logs"], tmp_path / "store")
    assert len(report.sources) == 2
    assert "plain" in open_store(tmp_path / "store").models()
    assert "".join(report.summary_lines()).isprintable()


def test_tables_that_name_no_benchmark_are_pointed_out_once(tmp_path: Path, monkeypatch) -> None:
    """In a store they meet tables that are read later, so that one alone is enough."""
    monkeypatch.undo()
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"item,model,score\nq1,{name},1\n")
    report = ingest([tmp_path / "a.csv"], tmp_path / "store")
    assert [note.message.partition(":")[0] for note in report.notes] == ["names no benchmark"]
    report = ingest([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "store")
    assert [Path(note.path).name for note in report.notes] == ["b.csv"]  # the other is no news
    report = ingest([tmp_path], tmp_path / "new", column_map=ColumnMap.from_options(["benchmark=@mine"]))
    assert report.notes == ()


def test_a_fault_of_the_store_ends_the_ingest(tmp_path: Path, monkeypatch) -> None:
    files = [write_file(tmp_path / f"{name}.jsonl", model=name) for name in "abc"]

    def no_space(path: Path, frame: pl.DataFrame, *, row_group_size: int) -> None:
        if "b" in frame["model"]:
            raise OSError(28, "No space left on device")
        original(path, frame, row_group_size=row_group_size)

    original = write.write_parquet
    monkeypatch.setattr(write, "write_parquet", no_space)
    with pytest.raises(StoreError, match=r"cannot be written to .*No space left on device"):
        ingest(files, tmp_path / "store")
    assert open_store(tmp_path / "store").models() == ("a",)
    monkeypatch.undo()


def test_a_file_that_goes_away_before_it_is_read_harms_only_itself(tmp_path: Path, loader: Any, monkeypatch) -> None:
    files = [write_file(tmp_path / f"{name}.jsonl", model=name) for name in "abc"]
    plan = loader.plan

    def plan_and_delete(found: Any) -> Any:
        files[1].unlink()
        return plan(found)

    monkeypatch.setattr(loader, "plan", plan_and_delete)
    report = ingest(files, tmp_path / "store")
    assert [(source.path, source.reason) for source in report.failed] == [
        (str(files[1]), "cannot be read (No such file or directory)")
    ]
    assert open_store(tmp_path / "store").models() == ("a", "c")


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        ingest([tmp_path / "nowhere"], tmp_path / "store")


def test_progress_is_told_before_every_source_and_at_the_end(tmp_path: Path) -> None:
    files = [write_file(tmp_path / f"{name}.jsonl", model=name) for name in "ab"]
    told: list[tuple[int, int, str]] = []
    ingest(files, tmp_path / "store", on_progress=lambda done, total, path: told.append((done, total, path.name)))
    assert told == [(0, 2, "a.jsonl"), (1, 2, "b.jsonl"), (2, 2, "b.jsonl")]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """From 40 MB of text to 190: a copy in memory would show; 100 MB are allowed for a part that waits and the allocator."""
    peaks: list[int] = []
    for rows in (40_000, 190_000):
        path = write_file(tmp_path / f"{rows}.jsonl", {"rows": rows, "chars": 1_000})
        out, err = start(tmp_path / f"store{rows}", path).communicate(timeout=120)
        assert out.splitlines()[0] == '["loaded"]', err
        peaks.append(int(out.splitlines()[1]))
    assert peaks[1] - peaks[0] < 100_000, peaks


def test_rows_are_counted_as_they_are_taken(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.jsonl", items=100)
    taken: list[int] = []
    report = ingest([path], tmp_path / "store", on_rows=taken.append)
    assert sum(taken) == sum(report.loaded[0].rows.values()) > 100
    taken.clear()
    assert ingest([path], tmp_path / "store", on_rows=taken.append).skipped
    assert taken == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file just opened closes itself
@pytest.mark.parametrize("first", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_stopped_at_any_line_it_leaves_nothing_unfinished(first: int, loader: Any, tmp_path: Path) -> None:
    """Every fourth line that the writer runs ends it, as a signal would, while one reading takes the place of another."""
    path, store = write_file(tmp_path / "a.fake"), tmp_path / "store"
    ingest([path], store)
    left, stopped, n_lines = [], 0, 10_000
    # The clearing itself; and a lock, which ends with the process: this one goes on.
    own = {"nothing_left", "_alone"}

    def ends_at(stop: int) -> Any:
        seen = 0

        def local(frame: Any, event: str, _value: object) -> Any:
            nonlocal seen, stopped
            if event == "line" and frame.f_code.co_name not in own:
                seen += 1
                if seen == stop:
                    stopped += 1
                    raise SystemExit(143)
            return local

        return lambda frame, _event, _value: local if frame.f_code.co_filename == write.__file__ else None

    for stop in range(1 + first, n_lines, 4):
        loader.version = f"of line {stop}"
        before, earlier = stopped, sys.gettrace()
        sys.settrace(ends_at(stop))
        try:
            ingest([path], store)
        except SystemExit:
            pass
        finally:
            sys.settrace(earlier)
        left += [(stop, entry.name) for entry in (store / INCOMING).iterdir()]
        assert open_store(store).check() == ()
        if stopped == before:
            break
    assert stopped > 30
    assert left == []
