"""`--engine` reads one table where it lies, with the columns that the question names."""

import json
import shlex
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from tests.loaders.test_scan import rows, votes


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    names = {"question": "item", "llm": "model", "my.score": "score", "^kind$": "scenario"}
    rows(clean=True).rename(names).write_parquet(path)
    return path


def run(*words: object) -> "tuple[int, str, str]":
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.stdout, f"{done.stderr} {done.exception or ''}"


def test_both_engines_compare_alike(table: Path) -> None:
    asked = ["compare", table, *shlex.split("--baseline model.b --candidate 模型 --map trial=attempt --cluster grp")]
    found = []
    for engine in ("polars", "duckdb"):
        status, out, told = run(*asked, "--engine", engine, "--format", "json")
        assert status == 0, told
        found.append(json.loads(out))
        assert "720 rows were merged into" in " ".join(told.split())
    for name in ("estimate", "conf_low", "conf_high", "p_value", "n_items", "n_clusters"):
        assert found[0]["rows"][0][name] == found[1]["rows"][0][name]
    assert found[0]["rows"][0]["n_clusters"] == 15


def test_the_best_of_several_is_called_picked_on_an_engine_too(tmp_path: Path) -> None:
    """The others decide how many were there to pick from, and stand in the table alone."""
    base = [k % 2 for k in range(60)]
    tuned = [
        1 - score if k < 14 and (score == 0 or k == 1) else score for k, score in enumerate(base)
    ]  # 7 gained, 1 lost
    frame = pl.DataFrame(
        {
            "item": [f"q{k}" for k in range(60)] * 3,
            "model": [name for name in ("base", "tuned", "third") for _ in base],
            "score": [*base, *tuned, *[0] * 60],
        }
    )
    frame.write_parquet(path := tmp_path / "rows.parquet")
    asked = ["compare", path, "--baseline", "base", "--candidate", "tuned"]
    for options in ([], ["--engine", "polars"]):
        _, out, _ = run(*asked, *options)
        assert "tuned scores highest of 3 systems; if it was picked for that" in " ".join(out.split()), out


def test_votes_are_ranked_on_an_engine(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    votes().write_parquet(path)
    status, out, _ = run("arena", path, "--engine", "duckdb", "--no-checks")
    assert status == 0
    assert "4,000 votes" in out


def test_what_an_engine_does_not_read_is_said(table: Path) -> None:
    for words, said in (
        (("compare", table, "--engine", "duckdb"), "two models in it: --baseline A --candidate B"),
        (("leaderboard", table, table, "--engine", "polars"), "at a time, and 2 were given"),
        (("score", table, "--engine", "polars", "--trials-from-runs"), "leave out --store"),
        (("audit", table, "--engine", "polars", "--map", "trial=#order"), "needs single rows"),
        (("leaderboard", table, "--engine", "polars"), "#order"),
    ):
        status, _, told = run(*words)
        assert status != 0
        assert said in " ".join(told.replace("│", " ").split()), told


@pytest.mark.parametrize("command", ["audit", "contamination", "frontier", "judges", "overview"])
def test_what_needs_single_rows_refuses_an_engine_and_does_not_offer_it(command: str) -> None:
    status, out, _ = run(command, "--help")
    assert status == 0
    assert "--engine" not in out
    status, _, told = run(command, "no-such-file.parquet", "--engine", "polars")
    assert status == 2
    assert "needs single rows" in " ".join(told.replace("│", " ").split())


@pytest.mark.parametrize("command", ["arena", "compare", "leaderboard", "scenarios", "score"])
def test_what_counts_rows_offers_an_engine(command: str) -> None:
    assert "--engine" in run(command, "--help")[1]
