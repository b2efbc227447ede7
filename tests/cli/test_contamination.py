"""`evalstats contamination` as a user types it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from tests.analysis.contamination.example_items import CUTOFF, dated_rows, split_rows, twin_pairs, twins_by_name

REFERENCES = [part for name in ("r1", "r2", "r3", "r4", "r5") for part in ("--reference", name)]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("contamination")
    tables = {
        "split": split_rows(inflation=0.45),
        "date": dated_rows(jump=0.4),
        "twins": twins_by_name(twin_pairs(inflation=0.45)),
    }
    for name, rows in tables.items():
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return {name: folder / f"{name}.jsonl" for name in tables}


def run(*arguments):
    return CliRunner().invoke(app, ["contamination", *[str(each) for each in arguments]])


def test_old_against_new_at_eighty_columns(files):
    options = ("--split", "source", "--old", "public", "--new", "fresh", "--suspect", "suspect", *REFERENCES)
    found = run(files["split"], *options, "--margin", "5pp", "--explain")
    assert found.exit_code == 0, found.output
    assert "INFLATED" in found.stdout
    assert "What this assumes" in found.stdout
    assert max(len(line) for line in found.stdout.splitlines()) <= 80


def test_json_alone_on_stdout(files):
    found = run(
        files["split"], "--split", "source", "--suspect", "suspect", "--reference", "r1,r2,r3", "-f", "json", "-q"
    )
    assert found.exit_code == 0, found.output
    values = json.loads(found.stdout)
    assert values["references"] == ["r1", "r2", "r3"]
    assert values["rows"][0]["df"] == pytest.approx(2.27, abs=0.01)


def test_a_break_at_a_date(files):
    found = run(files["date"], "--date", "released", "--cutoff", f"suspect={CUTOFF}", *REFERENCES)
    assert found.exit_code == 0, found.output
    assert "drops more at its training cut-off" in found.stdout
    assert max(len(line) for line in found.stdout.splitlines()) <= 80


def test_where_nothing_can_be_said_the_status_says_so(files, tmp_path):
    rows = [{**row, "book": str(row["source"])} for row in split_rows(n=40)]
    file = tmp_path / "few.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    assert run(file, "--split", "source", "--cluster", "book").exit_code == 3
