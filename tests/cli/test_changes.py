"""`evalstats overview` of a store with runs on several days: what has changed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evalstats as es
from evalstats.cli.main import app
from evalstats.errors import InputError


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


def changes_in(text: str) -> dict[str, Any]:
    (found,) = [each["result"] for each in json.loads(text)["answers"] if each["question"] == "changes"]
    return found


def test_an_overview_says_what_has_changed(store: Path) -> None:
    told = " ".join(run("overview", store).split())
    assert "changes: DRIFT. falling dropped since 2026-05-25." in told


def test_the_plan_of_the_folder_holds(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evalstats.toml").write_text('[plan]\nconf_level = 0.9\n[aliases]\n"falling" = "assistant"\n')
    found = changes_in(run("overview", store, "--format", "json"))
    assert (found["conf_level"], found["rows"][0]["name"]) == (0.9, "assistant")
    assert any("evalstats.toml, digest" in note["text"] for note in found["notes"])
    given = changes_in(run("overview", store, "--format", "json", "--conf-level", "0.8"))
    assert given["conf_level"] == 0.8


def test_one_model_or_a_day_may_be_named(store: Path) -> None:
    found = changes_in(run("overview", store, "--models", "steady", "--since", "2026-05-20", "--format", "json"))
    assert [(row["name"], row["verdict"]) for row in found["rows"]] == [("steady", "no drift shown")]
    assert found["reference"] == "2026-05-20"
    with pytest.raises(InputError, match="no model 'z'"):
        run("overview", store, "--models", "z")


def test_a_single_run_has_no_changes(store: Path) -> None:
    first = es.open_store(store).read().outcomes["run"].min()
    found = json.loads(run("overview", store, "--where", f"run={first}", "--format", "json"))
    assert changes_of(found) == "no system has runs on two days"


def test_runs_without_a_date_are_told_how_to_name_it(tmp_path: Path) -> None:
    """Nightly files that say no date had no word of changes, which somebody who keeps them asks first."""
    (tmp_path / "t.csv").write_text("model,item,correct\n" + "".join(f"bot,{k},{k % 2}\n" for k in range(40)))
    found = json.loads(run("overview", tmp_path / "t.csv", "--format", "json"))
    assert "--map timestamp=COLUMN" in changes_of(found)


def changes_of(overview: dict) -> str:
    return next(each["reason"] for each in overview["refusals"] if each["question"] == "changes")
