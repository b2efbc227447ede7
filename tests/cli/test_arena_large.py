"""A large Parquet file of votes is rated without being read into memory."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.loaders import frames
from evalstats.loaders.frames import scan_votes

RUNNER = CliRunner()


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {
            "model_a": ["x", "y", "z", "x"] * 60,
            "model_b": ["y", "z", "x", "z"] * 60,
            "winner": (["model_a", "tie", "model_b", "model_b"] * 2 + ["model_b", "model_a", "Model_A", "?"]) * 20,
            "rater": [f"u{k % 30}" for k in range(240)],
        },
        schema_overrides={"model_a": pl.Categorical, "model_b": pl.Categorical},
    )
    path = tmp_path / "votes.parquet"
    frame.write_parquet(path)
    return path


def test_only_large_files_of_votes_are_scanned(votes: Path, tmp_path: Path):
    assert scan_votes([votes]) is None
    assert scan_votes([votes], at_least=240) is not None
    assert scan_votes([votes, votes], at_least=1) is None
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    assert scan_votes([tmp_path / "broken.parquet"], at_least=0) is None


def test_the_command_gives_the_same_from_a_scan(votes: Path, monkeypatch: pytest.MonkeyPatch):
    held = RUNNER.invoke(app, ["arena", str(votes), "--format", "json", "--no-checks", "--cluster", "rater"])
    monkeypatch.setattr(frames.scan_votes, "__kwdefaults__", {"at_least": 100})
    scanned = RUNNER.invoke(app, ["arena", str(votes), "--format", "json", "--no-checks", "--cluster", "rater"])
    assert (held.exit_code, scanned.exit_code) == (0, 0), held.output + scanned.output
    one, other = json.loads(held.stdout), json.loads(scanned.stdout)
    assert [row["name"] for row in one["rows"]] == [row["name"] for row in other["rows"]]
    for here, there in zip(one["rows"], other["rows"], strict=True):
        assert here["estimate"] == pytest.approx(there["estimate"], abs=1e-7)
        assert here["std_error"] == pytest.approx(there["std_error"], rel=1e-9)
    assert one["n_unscored"] == other["n_unscored"] == 20
    assert any("'?' (20)" in note["text"] for note in other["notes"] if note["kind"] == "missing")


def test_a_large_store_gives_what_its_file_gives_held(votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = tmp_path / "store"
    assert RUNNER.invoke(app, ["ingest", str(votes), "--store", str(store)]).exit_code == 0
    asked = ["arena", str(store), "--format", "json", "--no-checks", "--cluster", "rater"]
    held = RUNNER.invoke(app, asked)
    monkeypatch.setattr(frames, "FROM_ROWS", 100)
    merged = RUNNER.invoke(app, asked)
    assert (held.exit_code, merged.exit_code) == (0, 0), held.output + merged.output
    assert "merged as they are read" not in held.stderr
    assert "merged as they are read" in merged.stderr
    one, other = json.loads(held.stdout), json.loads(merged.stdout)
    assert [row["name"] for row in one["rows"]] == [row["name"] for row in other["rows"]]
    for here, there in zip(one["rows"], other["rows"], strict=True):
        assert here["estimate"] == pytest.approx(there["estimate"], abs=1e-7)
        assert here["std_error"] == pytest.approx(there["std_error"], rel=1e-9)
    assert one["n_unscored"] == other["n_unscored"] == 20
    assert any("'?' (20)" in note["text"] for note in other["notes"] if note["kind"] == "missing")


def test_a_stores_judges_are_looked_at_one_by_one(votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    judged = tmp_path / "judged.parquet"
    pl.read_parquet(votes).with_columns(pl.lit("judge-model").alias("judge")).write_parquet(judged)
    store = tmp_path / "store"
    assert RUNNER.invoke(app, ["ingest", str(judged), "--store", str(store)]).exit_code == 0
    monkeypatch.setattr(frames, "FROM_ROWS", 100)
    found = RUNNER.invoke(app, ["arena", "--store", str(store), "--no-checks"])
    assert found.exit_code == 0, found.output
    assert "merged as they are read" not in found.stderr


def test_a_large_store_of_several_files_says_what_is_not_checked(
    votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    again = tmp_path / "again.csv"
    pl.read_parquet(votes).write_csv(again)
    store = tmp_path / "store"
    assert RUNNER.invoke(app, ["ingest", str(votes), str(again), "--store", str(store)]).exit_code == 0
    monkeypatch.setattr(frames, "FROM_ROWS", 100)
    found = RUNNER.invoke(app, ["arena", "--store", str(store), "--no-checks"])
    assert found.exit_code == 0, found.output
    assert "repeat each other's votes is not checked" in " ".join(found.stderr.split())
