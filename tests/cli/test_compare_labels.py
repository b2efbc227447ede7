"""`evalstats compare --labels FILE`."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app

MAPS = ("--map", "item=item", "--map", "model=model", "--map", "score=score")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(3)
    truth = (rng.random((300, 2)) < 0.6).astype(int)
    judge = (rng.random((300, 2)) < np.where(truth == 1, (0.9, 0.95), (0.1, 0.35))).astype(int)
    rows = [
        {"item": f"q{i}", "model": name, "score": judge[i, side]}
        for side, name in enumerate(("old", "new"))
        for i in range(300)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "scores.csv")
    some = [f"q{i}" for i in range(80)]
    pl.DataFrame({"item": some, "old": truth[:80, 0], "new": truth[:80, 1]}).write_csv(tmp_path / "labels.csv")
    return tmp_path


def run(folder, *more: object):
    given = ["compare", folder / "scores.csv", "--baseline", "old", "--candidate", "new", *MAPS, *more]
    return CliRunner().invoke(app, [str(each) for each in given])


def test_the_first_line_is_the_corrected_one(files):
    done = run(files, "--labels", files / "labels.csv")
    assert done.exit_code == 0, done.output
    assert "labels of 80 items" in done.output.replace("\n", " ")
    assert "favours new" in done.output
    assert len(done.output.splitlines()) <= 15
    values = json.loads(run(files, "--labels", files / "labels.csv", "--format", "json").stdout)
    assert values["estimate"] == pytest.approx(values["rows"][0]["estimate"])
    assert values["labels"]["judged"]["estimate"] > values["estimate"]
    full = run(files, "--labels", files / "labels.csv", "--full").output
    assert "Labels alone" in full
    assert "By the judge's error rates" in full


def test_labels_that_fit_nothing_are_an_error_in_words(files):
    (files / "other.csv").write_text("question,verdict\n1,good\n")
    done = run(files, "--labels", files / "other.csv")
    assert done.exit_code != 0
    assert "expected item, model and value" in str(done.exception)
