"""`check` finds every difference between a manifest and its files."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats import regular
from evalstats.errors import StoreError
from evalstats.store.manifest import MANIFEST, SOURCES, Shelf
from evalstats.store.read import open_store


@pytest.fixture
def folder(shelf: Shelf, tools) -> Path:
    """The folder of one sound source beside another."""
    tools.put(shelf, tools.origin("good"), [tools.outcome("good", f"i{n}") for n in range(9)])
    tools.put(shelf, tools.origin("bad"), [tools.outcome("bad", f"i{n}", level=n) for n in range(9)])
    return tools.folder(shelf, "bad")


def messages(shelf: Shelf) -> list[str]:
    return [str(problem) for problem in open_store(shelf.store).check()]


def edit(folder: Path, **changes: Any) -> None:
    """Change the manifest's entry of the part with the outcomes."""
    manifest = json.loads((folder / MANIFEST).read_text())
    del manifest["sha256"]
    [part] = [part for part in manifest["parts"] if part["table"] == "outcomes"]
    part.update(changes)
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_a_whole_store_has_no_problems(shelf: Shelf, folder: Path) -> None:
    assert messages(shelf) == []


def test_a_cut_off_part(shelf: Shelf, folder: Path) -> None:
    part = folder / "outcomes-0000.parquet"
    part.write_bytes(part.read_bytes()[:-7])
    [message] = messages(shelf)
    assert message.startswith(f"bad.json (folder sources/{folder.name}): outcomes-0000.parquet is damaged (")
    assert message.endswith(f"bytes where {part.stat().st_size + 7} were written); ingest its file again")


def test_one_changed_bit(shelf: Shelf, folder: Path) -> None:
    part = folder / "outcomes-0000.parquet"
    data = bytearray(part.read_bytes())
    data[100] ^= 1
    part.write_bytes(data)
    [message] = messages(shelf)
    assert "outcomes-0000.parquet is damaged (its bytes are not those that were written)" in message


def test_a_missing_part(shelf: Shelf, folder: Path) -> None:
    (folder / "outcomes-0000.parquet").unlink()
    [message] = messages(shelf)
    assert "outcomes-0000.parquet is missing" in message


def test_a_file_too_many(shelf: Shelf, folder: Path) -> None:
    (folder / "outcomes-0001.parquet").write_bytes(b"")
    [message] = messages(shelf)
    assert "a file that its manifest does not list: 'outcomes-0001.parquet'" in message


def test_a_wrong_number_of_rows(shelf: Shelf, folder: Path) -> None:
    edit(folder, rows=8)
    [message] = messages(shelf)
    assert "outcomes-0000.parquet has 9 rows where its manifest says 8" in message


def test_a_wrong_factor(shelf: Shelf, folder: Path) -> None:
    edit(folder, factors={"nowhere": "String"})
    [message] = messages(shelf)
    assert "is not the table that its manifest describes" in message


def test_a_part_that_is_no_table_of_ours(shelf: Shelf, folder: Path) -> None:
    """A consistent manifest around foreign columns: the digest agrees, the columns do not."""
    from evalstats.store.manifest import sha256_of

    part = folder / "outcomes-0000.parquet"
    pl.DataFrame({"level": [1] * 9}).write_parquet(part)
    edit(folder, sha256=sha256_of(part), bytes=part.stat().st_size)
    [message] = messages(shelf)
    assert "is not the table that its manifest describes" in message


def test_runs_that_the_manifest_does_not_list(shelf: Shelf, folder: Path, tools) -> None:
    manifest = tools.manifest(folder)
    manifest["runs"][0]["run"] = "other"
    (folder / MANIFEST).write_text(json.dumps(manifest))
    [message] = messages(shelf)
    assert "its table of runs does not list the runs of its manifest" in message


def test_a_damaged_manifest_does_not_hide_the_rest(shelf: Shelf, folder: Path, tools) -> None:
    good = tools.folder(shelf, "good")
    (folder / MANIFEST).write_text("{")
    (good / "runs-0000.parquet").unlink()
    damaged, missing = sorted(messages(shelf), key=lambda message: "missing" in message)
    assert damaged.startswith(f"{folder}: the description of a stored source is damaged")
    assert damaged.endswith("repair` sets the source aside and names its file")
    assert "runs-0000.parquet is missing" in missing


def test_what_does_not_belong(shelf: Shelf, folder: Path) -> None:
    (shelf.store / SOURCES / "notes.txt").write_text("")
    [message] = messages(shelf)
    assert "notes.txt: does not belong to the store" in message


def test_a_source_behind_a_link_is_not_passed_over(shelf: Shelf, folder: Path, tmp_path: Path) -> None:
    moved = folder.rename(tmp_path / "moved")
    folder.symlink_to(moved)
    with pytest.raises(
        StoreError, match=r"is a link, and a store reads no source through one; put the folder itself there"
    ):
        open_store(shelf.store).read()
    assert any("is a link" in told for told in messages(shelf))


def test_a_store_that_may_not_be_read_is_not_called_damaged(
    shelf: Shelf, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(path: Path) -> None:
        if path.name == "manifest.json":
            raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(regular, "check_regular", closed)
    with pytest.raises(StoreError, match=r"cannot be read \(Permission denied\); see to its rights") as caught:
        open_store(shelf.store).read()
    assert "delete" not in str(caught.value)
