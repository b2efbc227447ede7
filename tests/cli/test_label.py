"""`evalstats label draw|status|read`, and its labels in `score` and `compare`: as a user types them."""

import csv
import json

import polars as pl
import pytest

import evalstats as es
from tests.exporters.test_label_sheet import fill, scores
from tests.typed import typed


@pytest.fixture
def folder(tmp_path):
    scores().write_csv(tmp_path / "scores.csv")
    return tmp_path


def test_from_a_draw_to_corrected_scores(folder):
    drawn = typed(
        "label", "draw", "scores.csv", "-o", "sheet.csv", "--n", "80", "--how", "stratified", "--show", "answer", "--blind",
        folder=folder,
    )  # fmt: skip
    assert drawn.returncode == 0, drawn.stderr
    assert "80 items of 300 drawn (stratified): 160 answers to label" in drawn.stderr
    assert "name a system" in drawn.stderr
    empty = typed("label", "status", "sheet.csv", folder=folder)
    assert (empty.returncode, empty.stdout.splitlines()[0]) == (0, "0 of 80 drawn items labelled, 300 in all.")
    fill(folder / "sheet.csv")
    status = typed("label", "status", "sheet.csv", "--half-width", "0.08", folder=folder)
    assert status.returncode == 0
    assert "80 of 80 drawn items labelled" in status.stdout
    assert "more items give ±8.0" in status.stdout
    assert max(map(len, status.stdout.splitlines())) <= 80
    read = typed("label", "read", "sheet.csv", "-o", "labels.csv", "--rater", "ann", folder=folder)
    assert "160 labels of 80 items" in read.stderr
    score = typed("score", "scores.csv", "--system", "new", "--labels", "labels.csv", folder=folder)
    assert "corrected by 80 labels" in score.stdout
    compared = typed(
        "compare", "scores.csv", "--baseline", "old", "--candidate", "new", "--labels", "labels.csv", folder=folder
    )
    assert "labels of 80 items" in compared.stdout.replace("\n", " ")
    # The sheet itself is read by its key; without it nobody knows the chances of its rows.
    by_sheet = typed("score", "scores.csv", "--system", "new", "--labels", "sheet.csv", folder=folder)
    assert by_sheet.stdout == score.stdout
    with pytest.raises(es.InputError, match="a sheet to fill in"):
        es.score(es.read(folder / "scores.csv"), "new", labels=pl.read_csv(folder / "sheet.csv"))
    again = typed("label", "draw", "scores.csv", "-o", "sheet.csv", folder=folder)
    assert again.returncode == 2
    assert "holds 160 labels" in again.stderr.replace("\n  ", " ")


def test_names_that_a_spreadsheet_would_run_find_their_items_again(folder):
    odd = scores().with_columns(item=pl.lit("=") + pl.col("item"), model=pl.lit("-") + pl.col("model"))
    odd.write_csv(folder / "odd.csv")
    options = ("--map", "item=item", "--map", "model=model", "--map", "score=score")
    typed("label", "draw", "odd.csv", "-o", "sheet.csv", "--n", "40", *options, folder=folder)
    rows = (folder / "sheet.csv").read_text().replace(",,", ",1,")
    assert "'=q" in rows
    (folder / "sheet.csv").write_text(rows)
    assert typed("label", "read", "sheet.csv", "-o", "labels.csv", folder=folder).returncode == 0
    assert "'=q" in (folder / "labels.csv").read_text()
    done = typed("score", "odd.csv", "--system=-new", "--labels", "labels.csv", *options, folder=folder)
    assert "corrected by 40 labels" in done.stdout.replace("\n", " "), done.stderr


def test_options_of_another_action_are_refused(folder):
    for arguments, words in (
        (("draw", "scores.csv"), "needs a file"),
        (("status", "sheet.csv", "--n", "30"), "--n is not an option of label status"),
        (("draw", "scores.csv", "-o", "s.csv", "--half-width", "0.1"), "--half-width is not an option"),
        (("read", "a.csv", "b.csv", "-o", "c.csv"), "takes one sheet"),
    ):
        done = typed("label", *arguments, folder=folder)
        assert done.returncode == 2
        assert words in done.stderr


def test_tasks_of_label_studio_come_with_their_interface(folder):
    done = typed("label", "draw", "scores.csv", "-o", "tasks.json", "--n", "30", "--show", "answer", folder=folder)
    assert done.stdout.startswith("<View>")


@pytest.mark.parametrize("odd", ["two\nlines {}", "10e{}", "00{}", "x\u202e{}"])
def test_names_stay_what_they_are_on_the_way_to_labels(folder, odd):
    """A name that is written otherwise loses its labels, and the score is that of the others."""
    named = scores().with_columns(item=pl.col("item").str.replace("q", "").map_elements(odd.format, pl.String))
    named.select("item", "model", "score").write_csv(folder / "odd.csv")
    options = ("--map", "item=item", "--map", "model=model", "--map", "score=score")
    assert typed("label", "draw", "odd.csv", "-o", "s.csv", "--n", "40", *options, folder=folder).returncode == 0
    sheet = es.open_labels(folder / "s.csv")
    filled = sheet.with_labels({row.row: "1" for row in sheet.rows})
    with (folder / "s.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    with (folder / "s.csv").open("w", newline="") as stream:
        out = csv.DictWriter(stream, rows[0].keys())
        out.writeheader()
        out.writerows({**row, "label": "1"} for row in rows)
    assert typed("label", "read", "s.csv", "-o", "labels.csv", folder=folder).returncode == 0
    there = es.score(es.read(folder / "odd.csv"), "new", labels=filled.ratings())
    here = typed(
        "score", "odd.csv", *options, "--system", "new", "--labels", "labels.csv", "--format", "json", folder=folder
    )
    assert json.loads(here.stdout)["estimate"] == pytest.approx(there.estimate)


def test_labels_never_replace_their_sheet(folder):
    typed("label", "draw", "scores.csv", "-o", "s.csv", "--n", "40", folder=folder)
    fill(folder / "s.csv")
    for output in ("s.csv", "s.csv.key.json"):
        refused = typed("label", "read", "s.csv", "-o", output, folder=folder)
        assert (refused.returncode, "is the sheet or its key" in refused.stderr) == (2, True)
