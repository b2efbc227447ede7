"""`evalstats overview`: on the terminal, as JSON, and as a folder of pages."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.ingest_run import ingest
from evalstats.cli.main import app
from evalstats.errors import CannotAnswerError, InputError
from evalstats.simulate.benchmark_files import write_tau_airline, write_tenacious_traces
from tests.cli.once import answered_once


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("overview")
    paths = [write_tenacious_traces(folder / "tenacious"), write_tau_airline(folder / "tau")]
    ingest(paths, folder / "store")
    return folder / "store"


@pytest.fixture(scope="module", autouse=True)
def _answered_once() -> Iterator[None]:
    from evalstats.analysis.overview import overview as module

    yield from answered_once(module, "overview")


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_terminal_shows_every_answer_in_25_lines(store: Path) -> None:
    lines = run("overview", store).splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    assert any("compare on Tenacious-Bench: INCONCLUSIVE." in line for line in lines)
    assert any("score on tau-bench" in line for line in lines)
    full = run("overview", store, "--full")
    assert "What the data hold" in full
    assert "no ratings." in full


def test_json_holds_the_files_of_the_single_commands(store: Path) -> None:
    values = json.loads(run("overview", "--store", store, "--format", "json"))
    assert values["result"] == "Overview"
    single = {(each["question"], each["benchmark"]): each["result"] for each in values["answers"]}
    where = ("--store", store, "--where", "benchmark=Tenacious-Bench", "--format", "json")
    asked = {
        "compare": ("compare", "baseline", "trained", *where),
        "scenarios": ("scenarios", *where),
        "audit": ("audit", *where),
    }
    for question, command in asked.items():
        alone = json.loads(run(*command))
        # Here the sides are named by position, there by what they are.
        told = [each.get("origin", each).pop("settings") for each in (single[question, "Tenacious-Bench"], alone)]
        assert told[0]["reading"]["where"] == told[1]["reading"]["where"]
        assert single[question, "Tenacious-Bench"] == alone, question


def test_a_folder_gets_a_page_for_each_answer_and_one_that_links_them(store: Path, tmp_path: Path) -> None:
    run("overview", store, "--where", "benchmark=tau-bench", "-o", tmp_path / "pages")
    made = sorted(path.name for path in (tmp_path / "pages").iterdir())
    assert made == [
        "01-score-tau-bench.html",
        "01-score-tau-bench.json",
        "02-audit-tau-bench.html",
        "02-audit-tau-bench.json",
        "index.html",
        "overview.json",
    ]
    index = (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert 'href="01-score-tau-bench.html"' in index
    assert 'href="02-audit-tau-bench.html"' in index
    assert "gpt-4o scores 42.0%" in " ".join(re.sub(r"<[^>]*>", "", index).split())


def test_a_table_of_no_rows_is_refused_in_words(tmp_path: Path) -> None:
    pl.DataFrame({"item": [], "model": [], "score": []}).write_csv(tmp_path / "empty.csv")
    with pytest.raises((CannotAnswerError, InputError)):
        run("overview", tmp_path / "empty.csv")
