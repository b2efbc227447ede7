"""`evalstats audit` on tables."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from tests.analysis.audit.builders import clean


def run(*arguments: object):
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture
def planted(tmp_path):
    """Three models, the best of which lacks scores on two items in five."""
    frame = clean(200, 3, spread=0.5)
    hidden = (pl.col("model") == "m2") & (pl.int_range(pl.len()) % 5 < 2)
    path = tmp_path / "scores.csv"
    frame.with_columns(pl.when(~hidden).then("score").alias("score")).write_csv(path)
    return path


def test_the_answer_is_short_and_names_a_comparison(planted):
    done = run("audit", planted)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("SETTLE FIRST: ")
    assert len(lines) <= 18
    assert max(map(len, lines)) <= 80
    assert "80 of 600 answers have no score, 40% of m2's. Counted as 0," in " ".join(done.stdout.split())
    assert len(run("audit", planted, "-q").stdout.splitlines()) == 1


def test_json_is_the_saved_result_and_csv_a_row_a_finding(planted):
    values = json.loads(run("audit", planted, "--format", "json").stdout)
    assert values["result"] == "Audit"
    table = pl.read_csv(run("audit", planted, "--format", "csv").stdout.encode())
    assert table.height == len(values["findings"])
    assert table["effect"][0] == "flips"


def test_the_gate_fails_where_something_flips(planted, tmp_path):
    assert run("audit", planted, "--fail-on", "flips").exit_code == 1
    clean(300, 3, spread=1.5).write_csv(tmp_path / "clean.csv")
    kept = run("audit", tmp_path / "clean.csv", "--fail-on", "flips")
    assert kept.exit_code == 0, kept.output
