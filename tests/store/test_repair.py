"""`repair` makes any damaged store one that opens: what is whole stays, what is not is set aside and named."""

import json
import os
import shutil
from pathlib import Path

import pytest

from evalstats.errors import StoreError
from evalstats.store.manifest import INCOMING, MANIFEST, MARKER, SCHEMA_VERSION, SOURCES, Shelf
from evalstats.store.read import open_store
from evalstats.store.repair import SET_ASIDE, Repairs, repair_store
from evalstats.store.write import make_store


@pytest.fixture
def store(shelf: Shelf, tools) -> Path:
    """A store of three sources."""
    for name in ("a", "b", "c"):
        tools.put(shelf, tools.origin(name), [tools.outcome(name, f"i{n}") for n in range(9)])
    return shelf.store


def repaired(store: Path, *, left: int = 0) -> Repairs:
    """Repair; afterwards there is nothing more to repair, and all that is left can be read."""
    repairs = repair_store(store)
    assert len(repairs.left) == left
    if not left:
        assert open_store(store).check() == ()
        assert repair_store(store) == Repairs(done=(), left=())
    return repairs


def models(store: Path) -> list[str]:
    found = open_store(store).read().outcomes
    assert found.height == 9 * found["model"].n_unique()
    return found["model"].unique().sort().to_list()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_sound_store_is_left_as_it_is(store: Path) -> None:
    before = files(store)
    assert repaired(store) == Repairs(done=(), left=())
    assert files(store) == before


@pytest.mark.parametrize("part", ["outcomes-0000.parquet", "runs-0000.parquet"])
@pytest.mark.parametrize("how", ["flipped", "cut", "gone"])
def test_a_source_with_a_damaged_part_is_set_aside_whole(store: Path, shelf: Shelf, tools, part: str, how: str) -> None:
    folder = tools.folder(shelf, "b")
    path, data = folder / part, (folder / part).read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-9] if how == "cut" else bytes([data[0] ^ 1]) + data[1:])
    kept = files(folder)
    with pytest.raises(StoreError, match=rf"b\.json.*{part}.*evalstats store .* repair"):
        open_store(store).read()
    [told] = repaired(store).done
    assert told.path == "b.json"
    assert "set aside in" in told.message
    assert "with it go run 'b'" in told.message
    assert told.message.endswith(f"To have it back: evalstats ingest b.json into the store {str(store)!r}")
    assert files(store / SET_ASIDE / folder.name) == kept
    assert models(store) == ["a", "c"]


@pytest.mark.parametrize("text", ["", "{", None])
def test_a_source_without_its_manifest_is_set_aside(store: Path, shelf: Shelf, tools, text: str | None) -> None:
    folder = tools.folder(shelf, "b")
    if text is None:
        (folder / MANIFEST).unlink()
    else:
        (folder / MANIFEST).write_text(text)
    [told] = repaired(store).done
    assert "To have it back: evalstats ingest the file that it came from" in told.message
    assert models(store) == ["a", "c"]


def test_the_path_is_read_out_of_what_is_left_of_a_manifest(store: Path, shelf: Shelf, tools) -> None:
    manifest = tools.folder(shelf, "b") / MANIFEST
    manifest.write_text(manifest.read_text()[:200])
    [told] = repaired(store).done
    assert told.message.endswith(f"evalstats ingest b.json into the store {str(store)!r}")


def test_one_changed_number_in_a_manifest_is_damage(store: Path, shelf: Shelf, tools) -> None:
    manifest = tools.folder(shelf, "b") / MANIFEST
    text = manifest.read_text()
    assert text.count('"n_scored": 9') == 1
    manifest.write_text(text.replace('"n_scored": 9', '"n_scored": 8'))
    with pytest.raises(StoreError, match=r"is damaged \(it is not what was written\)"):
        open_store(store).read()
    repaired(store)
    assert models(store) == ["a", "c"]


def test_what_does_not_belong_is_moved_and_not_deleted(store: Path, shelf: Shelf, tools, tmp_path: Path) -> None:
    (store / SOURCES / "notes.txt").write_text("mine")
    (tools.folder(shelf, "a") / "outcomes-0001.parquet").write_bytes(b"stray")
    (tmp_path / "elsewhere").mkdir()
    (store / SOURCES / "link").symlink_to(tmp_path / "elsewhere")
    assert len(repaired(store).done) == 3
    aside = {path.name: path for path in (store / SET_ASIDE).iterdir()}
    assert aside["notes.txt"].read_text() == "mine"
    assert aside[f"{tools.folder(shelf, 'a').name}-outcomes-0001.parquet"].read_bytes() == b"stray"
    assert aside["link"].is_symlink()
    assert (tmp_path / "elsewhere").is_dir()
    assert models(store) == ["a", "b", "c"]


def test_nothing_set_aside_is_overwritten(store: Path) -> None:
    for text in ("first", "second", "third"):
        (store / SOURCES / "notes.txt").write_text(text)
        repaired(store)
    assert sorted(path.read_text() for path in (store / SET_ASIDE).iterdir()) == ["first", "second", "third"]


@pytest.mark.parametrize("text", ["", "{", '{"format": "evalstats-ztore", "schema_version": 4}', None])
def test_a_marker_is_written_anew(store: Path, text: str | None) -> None:
    if text is None:
        (store / MARKER).unlink()
    else:
        (store / MARKER).write_text(text)
    with pytest.raises(StoreError):
        open_store(store)
    [told] = repaired(store).done
    assert "is written anew" in told.message
    assert models(store) == ["a", "b", "c"]
    if text is not None:
        assert (store / SET_ASIDE / MARKER).read_text() == text


def test_a_folder_that_is_no_store_is_not_made_one(tmp_path: Path) -> None:
    (tmp_path / SOURCES / "mine").mkdir(parents=True)
    (tmp_path / SOURCES / "mine" / MANIFEST).write_text('{"name": "my own"}')
    before = files(tmp_path)
    with pytest.raises(StoreError, match="there is no store here"):
        repair_store(tmp_path)
    (tmp_path / SOURCES).rename(tmp_path / "other")
    (tmp_path / MARKER).write_text("{")
    with pytest.raises(StoreError, match="holds no sources that could be saved"):
        repair_store(tmp_path)
    assert len(files(tmp_path)) == len(before) + 1


@pytest.mark.parametrize("what", [MARKER, MANIFEST])
def test_a_store_of_a_newer_evalstats_is_not_touched(store: Path, shelf: Shelf, tools, what: str) -> None:
    (tools.folder(shelf, "a") / "runs-0000.parquet").unlink()
    newer = {"format": "evalstats-store", "schema_version": SCHEMA_VERSION + 1}
    place = store if what == MARKER else tools.folder(shelf, "c")
    (place / what).write_text(json.dumps(newer))
    before = files(store)
    with pytest.raises(StoreError, match="written by a newer evalstats"):
        repair_store(store)
    assert files(store) == before


def test_without_its_sources_a_store_is_empty(store: Path) -> None:
    shutil.rmtree(store / SOURCES)
    with pytest.raises(StoreError, match=r"repair` makes an empty one"):
        open_store(store).read()
    repaired(store)
    assert open_store(store).read().outcomes.height == 0


def test_unfinished_writes_are_cleared_once_nobody_holds_them(store: Path) -> None:
    left = store / INCOMING / "left"
    left.mkdir()
    (left / "outcomes-0000.parquet").write_bytes(b"half")
    assert repair_store(store).done == ()  # it is young: its writer may not have locked it yet
    for path in (left / "outcomes-0000.parquet", left):
        os.utime(path, (0, 0))
    [told] = repaired(store).done
    assert told.message == "1 unfinished write deleted; none was in the store"
    assert not left.exists()


def test_a_run_in_two_sources_is_left_to_the_user(store: Path, tools, tmp_path: Path) -> None:
    other = make_store(tmp_path / "other")
    tools.put(other, tools.origin("elsewhere"), [tools.outcome("a", "i")])
    folder = tools.folder(other, "elsewhere")
    folder.rename(store / SOURCES / folder.name)
    repairs = repaired(store, left=1)
    assert repairs.done == ()
    [told] = repairs.left
    assert "run 'a' is in 2 sources" in told.message
    assert told.message.endswith(f"(`evalstats store {store} remove a`) and ingest one of their files again")
    open_store(store).remove("a")
    assert models(store) == ["b", "c"]


def test_a_part_listed_twice_counts_once(store: Path, shelf: Shelf, tools) -> None:
    folder = tools.folder(shelf, "b")
    manifest = tools.manifest(folder)
    manifest["parts"] *= 2
    (folder / MANIFEST).write_text(json.dumps(manifest))
    assert models(store) == ["a", "b", "c"]
    assert open_store(store).check() == ()
    manifest["parts"][0] = {**manifest["parts"][0], "rows": 1}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(StoreError, match="stands twice with other contents"):
        open_store(store).read()
