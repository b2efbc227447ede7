"""Stores are made in folders of their own, and cleared of what killed processes left."""

import os
import time
from pathlib import Path

import pytest

from evalstats.errors import StoreError
from evalstats.schema.tables import frame_from_rows
from evalstats.store import write
from evalstats.store.check import lock
from evalstats.store.manifest import INCOMING, MARKER, SOURCES, Shelf
from evalstats.store.read import open_store
from evalstats.store.write import make_store

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
