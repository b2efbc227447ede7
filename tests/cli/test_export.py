"""`evalstats export`: one command, two lines, and the exit status."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import evalstats as es
from evalstats.cli.main import app
from evalstats.errors import InputError

RUNNER = CliRunner()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text(
        "model,item,score\n" + "".join(f"{model},q{k},{k % 2}\n" for model in ("org/a", "b") for k in range(12))
    )
    return path


@pytest.mark.parametrize("to", ["parquet", "csv", "json"])
def test_tables_are_written_and_any_command_reads_them(table: Path, tmp_path: Path, to: str) -> None:
    done = RUNNER.invoke(app, ["export", str(table), "--to", to, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0
    said = [line for line in done.stderr.splitlines() if "rows as" in line]
    assert said == [f"outcomes 24, runs 2, metrics 1 rows as {'Parquet' if to == 'parquet' else to.upper()}"]
    board = RUNNER.invoke(app, ["leaderboard", str(tmp_path / "out"), "--format", "json", "-q"])
    direct = RUNNER.invoke(app, ["leaderboard", str(table), "--format", "json", "-q"])
    assert [row["estimate"] for row in json.loads(board.stdout)["rows"]] == [
        row["estimate"] for row in json.loads(direct.stdout)["rows"]
    ]


def test_a_store_becomes_records_with_their_makers(table: Path, tmp_path: Path) -> None:
    assert RUNNER.invoke(app, ["ingest", str(table), "--store", str(tmp_path / "store")]).exit_code == 0
    command = ["export", str(tmp_path / "store"), "--to", "eee", "-o", str(tmp_path / "out")]
    first = RUNNER.invoke(app, command)
    assert "name it with --developer NAME" in " ".join(first.stderr.split())
    done = RUNNER.invoke(app, [*command, "--developer", "b=Maker", "--organization", "We"])
    assert done.exit_code == 0
    assert "2 logs with 24 samples as Every Eval Ever 0.3.0" in done.stderr
    assert (tmp_path / "out" / "data" / "table" / "Maker" / "b").is_dir()
    # The first export is another record of the same runs: each is read once.
    back = es.read(tmp_path / "out")
    assert back.outcomes.height == 24
    assert any("read twice" in str(problem) for problem in back.problems)


def test_bad_use_is_refused_with_the_way_out(table: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("x")
    refused = RUNNER.invoke(app, ["export", str(table), "--to", "csv", "-o", str(tmp_path / "taken")])
    assert isinstance(refused.exception, InputError)
    assert "thesis.tex" in str(refused.exception)
    assert "--output DIR" in str(refused.exception)
    assert RUNNER.invoke(app, ["export", str(table), "--to", "xlsx", "-o", str(tmp_path / "out")]).exit_code == 2
    mixed = RUNNER.invoke(app, ["export", str(table), "--to", "csv", "-o", str(tmp_path / "out"), "--developer", "x"])
    assert "belong to --to eee" in str(mixed.exception)
    assert not (tmp_path / "out").exists()
