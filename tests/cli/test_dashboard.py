"""`evalstats dashboard`: on a store, as JSON, and where there is too little."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evalstats as es
from evalstats.cli.main import app
from evalstats.errors import CannotAnswerError


def run(*arguments: object, status: int = 0) -> str:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, a run a week of each; what came later is ingested later."""
    folder, draw = tmp_path_factory.mktemp("watched"), np.random.default_rng(0)
    columns = ("item=item", "model=model", "run=run", "score=correct", "timestamp=started", "benchmark=@questions")
    for part in (0, 3):
        rows = [
            {
                "item": f"q{i}",
                "model": name,
                "run": f"{name}-{week}",
                "started": (datetime(2026, 5, 4, 23, 30, tzinfo=UTC) + timedelta(weeks=week)).isoformat(),
                "correct": int(draw.random() < p),
            }
            for week in range(part, part + 3)
            for name, p in (("steady", 0.8), ("falling", 0.85 - 0.3 * (week > 2)))
            for i in range(150)
        ]
        pl.DataFrame(rows).write_csv(folder / f"part-{part}.csv")
        run("ingest", folder / f"part-{part}.csv", "--store", folder / "store", *(f"--map={pair}" for pair in columns))
    return folder / "store"


def test_a_store_is_watched_in_fifteen_lines(store: Path) -> None:
    lines = run("dashboard", store).splitlines()
    assert lines[0] == "DRIFT: falling dropped since 2026-05-25."
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 80
    assert run("dashboard", store, "-q").count("\n") == 1


def test_the_plan_of_the_folder_holds(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evalstats.toml").write_text('[plan]\nconf_level = 0.9\n[aliases]\n"falling" = "assistant"\n')
    found = json.loads(run("dashboard", store, "--format", "json"))
    assert (found["conf_level"], found["rows"][0]["name"]) == (0.9, "assistant")
    assert any("evalstats.toml, digest" in note["text"] for note in found["notes"])
    given = json.loads(run("dashboard", store, "--format", "json", "--conf-level", "0.8"))
    plain = json.loads(run("dashboard", store, "--format", "json", "--no-plan"))
    assert (given["conf_level"], plain["conf_level"]) == (0.8, 0.95)


def test_json_is_the_result_and_shows_again(store: Path, tmp_path: Path) -> None:
    text = run("dashboard", "--store", store, "--format", "json")
    (tmp_path / "r.json").write_text(text)
    found = es.load_result(tmp_path / "r.json")
    assert found == es.dashboard(es.open_store(store).read())
    assert json.loads(text)["rows"][0]["since"] == "2026-05-25"
    shown = run("show", tmp_path / "r.json", "--full")
    assert "Every score by day" in shown


def test_one_model_or_a_reference_may_be_named(store: Path) -> None:
    text = run("dashboard", store, "--models", "steady", "--reference", "2026-05-20")
    assert "falling" not in text
    assert "NO DRIFT SHOWN" in text


def test_a_single_run_cannot_answer(store: Path, tmp_path: Path) -> None:
    first = es.open_store(store).read().outcomes["run"].min()
    text = run("dashboard", store, "--where", f"run={first}", status=3)
    assert "No model can be compared: one day with runs" in " ".join(text.split())
    pl.DataFrame({"item": ["a"], "model": ["m"], "score": [1.0]}).write_csv(tmp_path / "t.csv")
    with pytest.raises(CannotAnswerError, match="has a date"):
        run("dashboard", tmp_path / "t.csv")
