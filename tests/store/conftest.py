"""Small stores, made by hand."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstats.schema.tables import frame_from_rows
from evalstats.store.manifest import MANIFEST, Shelf, SourceOrigin
from evalstats.store.write import Committed, SourceWriter, make_store

Rows = list[dict[str, object]]


def origin_of(name: str, *, loader: str = "fake", version: str = "1", **more: object) -> SourceOrigin:
    """An origin whose digest follows from the name."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    return SourceOrigin(path=f"{name}.json", digest=digest, loader=loader, loader_version=version, **more)


def outcome(run: str, item: str, score: float | None = 1.0, **more: object) -> dict[str, object]:
    """One row of outcomes; its model is named like the run."""
    status = "unscored" if score is None else "scored"
    row = {"run": run, "model": run, "system": run, "benchmark": "b", "item": item, "trial": 0, "metric": "acc"}
    return {**row, "score": score, "status": status, **more}


def put(shelf: Shelf, origin: SourceOrigin, rows: Rows, *, batch: int = 1_000, runs: Rows | None = None) -> Committed:
    """Write outcomes, in batches, and their runs."""
    if runs is None:
        names = dict.fromkeys(str(row["run"]) for row in rows)
        runs = [
            {"run": name, "model": name, "benchmark": "b", "n_scored": sum(row["run"] == name for row in rows)}
            for name in names
        ]
    with SourceWriter(shelf, origin) as writer:
        for start in range(0, len(rows), batch):
            writer.add("outcomes", frame_from_rows(rows[start : start + batch], "outcomes"))
        writer.add("runs", frame_from_rows(runs, "runs"))
        return writer.commit()


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """An empty store."""
    return make_store(tmp_path / "store")


@pytest.fixture
def tools() -> "Tools":
    """The functions above, for test modules."""
    return Tools()


def folder_of(shelf: Shelf, name: str) -> Path:
    """Where the source of that name is stored."""
    [folder] = [source.folder for source in Shelf(shelf.store).current() if source.origin.path == f"{name}.json"]
    return folder


def manifest_of(folder: Path) -> dict[str, Any]:
    """What the manifest in a folder says, without its digest: so that a test can forge another."""
    manifest = json.loads((folder / MANIFEST).read_text())
    del manifest["sha256"]
    return manifest


class Tools:
    """What tests of a store need."""

    origin: Callable[..., SourceOrigin] = staticmethod(origin_of)
    folder: Callable[[Shelf, str], Path] = staticmethod(folder_of)
    outcome: Callable[..., dict[str, object]] = staticmethod(outcome)
    manifest: Callable[[Path], dict[str, Any]] = staticmethod(manifest_of)
    put: Callable[..., Committed] = staticmethod(put)
