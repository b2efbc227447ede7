"""What `evalstats store` prints of each run."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.schema.columns import TableName
from evalstats.schema.tables import frame_from_rows
from evalstats.store.manifest import Shelf, SourceOrigin
from evalstats.store.write import SourceWriter, make_store

DIGESTS = {"1": "1a2b3c4d", "2": "5e6f7a8b"}


def add(shelf: Shelf, digest: str, **tables: list[dict[str, object]]) -> None:
    names: tuple[TableName, ...] = ("runs", "outcomes", "aggregates", "ratings")
    origin = SourceOrigin(path=f"{digest}.json", digest=digest * 8, loader="fake", loader_version="1")
    with SourceWriter(shelf, origin) as writer:
        for name in names:
            if name in tables:
                writer.add(name, frame_from_rows(tables[name], name))
        writer.commit()


def run(name: str, n_scored: int = 0, **more: object) -> dict[str, object]:
    counts = {"n_scored": n_scored, "n_error": 0, "n_unscored": 0}
    return {"run": name, "model": "gpt", "benchmark": "gsm8k", **counts, **more}


def published(name: str | None, task: str) -> dict[str, object]:
    return {"run": name, "model": "gpt", "benchmark": "gsm8k", "task": task, "metric": "acc", "estimate": 0.5}


def listed(store: Path, *options: str) -> str:
    result = CliRunner().invoke(app, ["store", str(store), *options])
    assert result.exit_code == 0
    return result.output


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return make_store(tmp_path / "store")


def test_long_names_stand_whole_on_lines_of_their_own(shelf: Shelf) -> None:
    """Two runs of the same long file name differ in the digest at the end only, and `remove` needs all of it."""
    long = "results-of-a-very-long-name-with-a-date-2026-06-01T12-00-00-and-a-model"
    for digest in DIGESTS.values():
        add(shelf, digest, runs=[run(f"{long}~{digest}", 1200)])
    lines = listed(shelf.store).splitlines()
    assert lines == [
        "2 runs; counts are rows: one for each item, trial and metric, or for each vote",
        "",
        f"{long}~1a2b3c4d",
        "  gpt · gsm8k: scored 1200, error 0, unscored 0",
        "",
        f"{long}~5e6f7a8b",
        "  gpt · gsm8k: scored 1200, error 0, unscored 0",
    ]
    listed(shelf.store, "remove", lines[2])
    assert f"{long}~5e6f7a8b" in listed(shelf.store)
    assert "1a2b3c4d" not in listed(shelf.store)


def test_published_numbers_and_ratings_are_counted(shelf: Shelf) -> None:
    rating = {"item": "q", "rater": "x", "run": "two", "model": "gpt"}
    add(shelf, "a", runs=[run("board")], aggregates=[published(None, task) for task in "wxyz"])
    add(
        shelf,
        "b",
        runs=[run("one", 3), run("two")],
        aggregates=[published("one", "w"), published("two", "w"), published("two", "x"), published(None, "y")],
        ratings=[rating],
    )
    rows = json.loads(listed(shelf.store, "--format", "json"))
    assert [(row["run"], row["n_aggregates"], row["n_ratings"]) for row in rows] == [
        ("board", 4, 0),
        ("one", 1, 0),
        ("two", 2, 1),
    ]
    assert listed(shelf.store).splitlines()[2:4] == ["board", "  gpt · gsm8k: aggregates 4"]


def test_an_empty_store(shelf: Shelf) -> None:
    assert "0 runs" in listed(shelf.store)
    assert json.loads(listed(shelf.store, "--format", "json")) == []
