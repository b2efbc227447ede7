"""Sheets of answers to label: drawn, written, filled in by a script, read back, and what is refused."""

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError, UnreadableFileError
from evalstats.exporters.label_sheet import key_path
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.raters.correction import labels_needed

N = 300
NAMES = ("old", "new")
TRUTH = (np.random.default_rng(3).random((N, 2)) < 0.6).astype(float)


def scores() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    judge = (rng.random((N, 2)) < np.where(TRUTH == 1, (0.9, 0.95), (0.1, 0.35))).astype(float)
    return pl.DataFrame(
        {
            "item": f"q{i}",
            "model": name,
            "score": judge[i, side],
            "question": f'=HYPERLINK("http://x/{i}")',
            "answer": f"first line\nsecond {i}, by {name}",
        }
        for side, name in enumerate(NAMES)
        for i in range(N)
    )


def fill(path: Path, most: int = 10**9, word=lambda value: f"{value:g}") -> None:
    """Fill in the first rows as a person would who saw the answers."""
    key = {row["row"]: row for row in json.loads(key_path(path).read_text())["sheet"]["rows"]}
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows[:most]:
        own = key[row["row"]]
        row["label"] = word(TRUTH[int(own["item"][1:]), NAMES.index(own["model"])])
    with path.open("w", newline="") as stream:
        out = csv.DictWriter(stream, rows[0].keys())
        out.writeheader()
        out.writerows(rows)


@pytest.fixture
def sheet(tmp_path) -> Path:
    path = tmp_path / "sheet.csv"
    es.draw_labels(scores(), n=60, show=["question", "answer"], blind=True, seed=1).write(path)
    return path


def test_a_blind_sheet_shows_no_model_and_no_score_and_runs_nothing(sheet):
    with sheet.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["row", "item", "question", "answer", "label", "comment"]
    assert len(rows) == 120
    assert all(row["question"].startswith("'=HYPERLINK") for row in rows)
    assert all("\n" in row["answer"] for row in rows)
    # Which of the two comes first is drawn too.
    first = [row["answer"].endswith("old") for row in rows[::2]]
    assert 10 < sum(first) < 50
    open_sheet = es.draw_labels(scores(), n=60, seed=1)
    assert "model" in open_sheet._csv().splitlines()[0]
    assert open_sheet.n_naming() == 0
    assert es.open_labels(sheet).n_naming() == 120


def test_the_same_seed_draws_the_same_and_another_does_not():
    one, same, other = (es.draw_labels(scores(), n=40, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one.places != other.places
    shuffled = es.draw_labels(scores().sample(fraction=1, shuffle=True, seed=5), n=40, seed=1)
    assert shuffled == one


@pytest.mark.parametrize("how", ["random", "stratified", "disagreement"])
def test_a_filled_sheet_gives_labels_with_their_chances(tmp_path, how):
    path = tmp_path / "sheet.csv"
    es.draw_labels(scores(), n=80, how=how).write(path)
    fill(path)
    ratings = es.open_labels(path).ratings("ann").ratings
    assert ratings.height == 160
    assert ratings["rater"].unique().to_list() == ["ann"]
    given = {(row["item"], row["model"]): row["value"] for row in ratings.to_dicts()}
    assert all(value == TRUTH[int(item[1:]), NAMES.index(model)] for (item, model), value in given.items())
    # Horvitz and Thompson: the labelled items stand for all of them.
    assert (1 / ratings["label_prob"]).sum() == pytest.approx(2 * N)
    if how == "disagreement":
        wide = scores().pivot("model", index="item", values="score")
        apart = wide.filter(pl.col("old") != pl.col("new"))["item"].to_list()
        assert ratings["item"].is_in(apart).sum() == 80
    found = es.compare(scores(), "old", "new", labels=es.open_labels(path).ratings())
    truth = float((TRUTH[:, 1] - TRUTH[:, 0]).mean())
    assert abs(found.estimate - truth) < 3 * found.std_error
    assert found.labels.n_labels == 80


def test_a_sheet_filled_to_some_row_is_a_random_part(tmp_path):
    path = tmp_path / "sheet.csv"
    es.draw_labels(scores(), n=80, how="disagreement").write(path)
    fill(path, 101)
    sheet = es.open_labels(path)
    assert sheet.n_filled == 50
    ratings = sheet.ratings().ratings
    assert ratings.height == 100
    assert (1 / ratings["label_prob"]).sum() == pytest.approx(2 * N)
    assert es.score(scores(), "new", labels=sheet.ratings()).labels.n_labels == 50


@pytest.mark.parametrize("word", [lambda v: "yes" if v else "no", lambda v: f"{v:.1f}".replace(".", ","), str])
def test_words_and_decimal_commas_are_read(sheet, word):
    fill(sheet, word=word)
    assert set(es.open_labels(sheet).labels.values()) == {0.0, 1.0}


def test_status_says_how_precise_scores_are_and_what_more_labels_buy(sheet):
    fill(sheet)
    opened = es.open_labels(sheet)
    status = opened.status()
    assert status["name"].to_list() == ["new", "old", "old minus new"]
    score = es.score(scores(), "new", labels=opened.ratings())
    row = status.row(0, named=True)
    assert (row["estimate"], row["conf_low"]) == pytest.approx((score.estimate, score.conf_low))
    assert row["half_width"] == pytest.approx((row["conf_high"] - row["conf_low"]) / 2)
    assert row["wanted"] == pytest.approx(row["half_width"] / 2)
    difference = es.compare(scores(), "new", "old", labels=opened.ratings())
    assert status["estimate"][2] == pytest.approx(difference.estimate)
    assert status["conf_low"][2] == pytest.approx(difference.conf_low)
    given = {row["item"]: row["value"] for row in opened.ratings().ratings.filter(model="new").to_dicts()}
    judged = dict(scores().filter(model="new").select("item", "score").rows())
    f, y = np.array([judged[item] for item in given]), np.array(list(given.values()))
    needed = labels_needed(f, y, 0.1 / normal_quantile(0.95), n_items=N).n
    assert opened.status(0.1)["n_needed"][0] == needed
    for same in ("10pp", "10%", "0.1"):
        assert opened.status(same).equals(opened.status(0.1))
    with pytest.raises(InputError, match="half_width 'wide' is not a difference"):
        opened.status("wide")
    assert 20 <= needed < N


def test_label_studio_tasks_go_there_and_back(tmp_path):
    path = tmp_path / "tasks.json"
    sheet = es.draw_labels(scores(), n=30, show=["answer"], blind=True)
    sheet.write(path)
    tasks = json.loads(path.read_text())
    key = {row.row: row for row in sheet.rows}
    assert set(tasks[0]["data"]) == {"row", "item", "answer"}
    assert '<Choices name="label" toName="answer">' in sheet.label_studio_config()
    for task in tasks:
        own = key[task["data"]["row"]]
        value = TRUTH[int(own.item[1:]), NAMES.index(own.model)]
        skipped = {"was_cancelled": True, "result": []}
        task["annotations"] = [{"result": [{"value": {"choices": [f"{value:g}"]}}]}, skipped]
    path.write_text(json.dumps(tasks))
    opened = es.open_labels(path)
    assert opened.n_filled == 30
    assert opened.labels == {row.row: TRUTH[int(row.item[1:]), NAMES.index(row.model)] for row in sheet.rows}


def test_labels_are_never_written_over(sheet, tmp_path):
    draw = es.draw_labels(scores(), n=60)
    draw.write(sheet)  # nothing filled in yet
    fill(sheet, 1)
    with pytest.raises(InputError, match="holds 1 label"):
        draw.write(sheet)
    assert len(es.open_labels(sheet).labels) == 1
    other = tmp_path / "mine.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no sheet of ours"):
        draw.write(other)
    with pytest.raises(InputError, match=r"\.csv"):
        draw.write(tmp_path / "sheet.xlsx")


def test_what_a_sheet_may_not_hold(sheet):
    for label, words in (("maybe", "no number"), ("7", "off the scale"), ("nan", "no number")):
        fill(sheet, 3, word=lambda _, label=label: label)
        with pytest.raises(InputError, match=words):
            es.open_labels(sheet)
    fill(sheet, 3)
    sheet.write_text(sheet.read_text() + sheet.read_text().splitlines()[1] + ',x,1,""\n')
    with pytest.raises((InputError, UnreadableFileError)):
        es.open_labels(sheet)


def test_a_key_that_is_lost_damaged_or_of_another_draw(sheet, tmp_path):
    fill(sheet, 30)
    key = key_path(sheet)
    text = key.read_text()
    other = tmp_path / "other.csv"
    es.draw_labels(scores(), n=60, seed=9).write(other)
    key.write_text(key_path(other).read_text())
    with pytest.raises(InputError, match="none of this draw"):
        es.open_labels(sheet)
    for wrong in (
        "{",
        "[]",
        text.replace('"version":1', '"version":2'),
        text.replace('"places":[', '"places":[99999,'),
    ):
        key.write_text(wrong)
        with pytest.raises(InputError, match="key"):
            es.open_labels(sheet)
    key.unlink()
    with pytest.raises(InputError, match="no key"):
        es.open_labels(sheet)


def test_what_cannot_be_drawn_or_said(sheet):
    with pytest.raises(InputError, match="draw at least 20"):
        es.draw_labels(scores(), n=19)
    with pytest.raises(InputError, match="at most the 300"):
        es.draw_labels(scores(), n=301)
    with pytest.raises(InputError, match="no column 'prompt'"):
        es.draw_labels(scores(), n=30, show=["prompt"])
    with pytest.raises(InputError, match="several trials"):
        es.draw_labels(pl.concat([scores().with_columns(trial=pl.lit(k)) for k in (0, 1)]), n=30)
    with pytest.raises(CannotAnswerError, match="no item is labelled yet"):
        es.open_labels(sheet).ratings()
    fill(sheet, 20)
    with pytest.raises(CannotAnswerError, match="10 items of 60 labelled"):
        es.open_labels(sheet).status()


def test_a_draw_never_takes_the_key_of_a_sheet_that_is_elsewhere(sheet):
    sheet.rename(sheet.with_name("given-away.csv"))
    with pytest.raises(InputError, match="is the key of a sheet that lies elsewhere"):
        es.draw_labels(scores(), n=60).write(sheet)


@pytest.mark.parametrize("name", ["row", "label", "comment", "model"])
def test_a_shown_column_takes_no_name_of_the_sheet(tmp_path, name):
    path = tmp_path / "sheet.csv"
    frame = scores()
    frame = frame if name == "model" else frame.with_columns(pl.lit("gold").alias(name))
    es.draw_labels(frame, n=30, show=[name]).write(path)
    with path.open(newline="") as stream:
        header = next(csv.reader(stream))
    assert len(header) == len({*header})
    assert f"shown_{name}" in header
    assert es.open_labels(path).n_filled == 0


def test_a_sheet_shows_no_score_of_the_judge():
    with pytest.raises(InputError, match="shows what the judge says"):
        es.draw_labels(scores(), n=30, show=["score"])


def two_tasks(column):
    """The items of `scores` twice, under one name, in two tasks or benchmarks, of which the second has other scores."""
    parts = [scores().with_columns(pl.lit(name).alias(column)) for name in ("math", "law")]
    parts[1] = parts[1].with_columns(score=1.0 - pl.col("score"))
    return es.from_frame(pl.concat(parts), item="item", score="score", model="model", **{column: column})


@pytest.mark.parametrize(("column", "most"), [("task", 200), ("benchmark", 10**9)])
def test_items_of_several_tasks_with_the_same_names_find_their_labels(tmp_path, column, most):
    data, path = two_tasks(column), tmp_path / "sheet.csv"
    es.draw_labels(data, n=150, seed=2).write(path)
    key = {row["row"]: row for row in json.loads(key_path(path).read_text())["sheet"]["rows"]}
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["task"] for row in rows} == {"math", "law"}
    # People say what the judge says, in either task: then labels change nothing.
    judged = {(row[column], row["item"], row["model"]): row["score"] for row in data.outcomes.to_dicts()}
    sheet = es.open_labels(path).with_labels(
        {r["row"]: judged[key[r["row"]]["task"], key[r["row"]]["item"], key[r["row"]]["model"]] for r in rows[:most]}
    )
    found = es.score(data, "new", labels=sheet.ratings())
    assert found.labels.n_labels == sheet.n_filled == min(150, most // 2)
    assert found.labels.estimate == 0.0
    assert found.estimate == pytest.approx(0.5, abs=1e-3)  # the judge's weight is a hair below 1
    frame = sheet.ratings().ratings.select("task", "item", "model", "value", "label_prob")
    assert es.score(data, "new", labels=frame).estimate == found.estimate


def test_labels_of_one_task_are_of_this_task_alone():
    data = two_tasks("task")
    sheet = es.draw_labels(data.where(task="law"), n=60)
    filled = sheet.with_labels({row.row: 1 for row in sheet.rows})
    for labels in (filled.ratings(), filled.ratings().ratings.drop("label_prob")):
        with pytest.raises(CannotAnswerError, match="one task holds 100% of them, and 44% of the others"):
            es.score(data, "new", labels=labels)
        assert es.score(data.where(task="law"), "new", labels=labels).labels.n_labels == 60


def test_words_are_answers_to_yes_or_no(tmp_path):
    frame = scores().with_columns(score=pl.col("score") * 9 + 1)
    for metric, word, fits in (
        ({"low": 1, "high": 10, "higher_is_better": True}, "yes", False),
        ({"low": 1, "high": 10, "higher_is_better": True}, "7,5", True),
        ({"low": 0, "high": 2000, "higher_is_better": True}, "1,000", False),
        ({"kind": "binary", "higher_is_better": False}, "pass", False),
        ({"kind": "binary", "higher_is_better": False}, "yes", True),
    ):
        own = scores() if "kind" in metric else frame
        data = es.from_frame(own, item="item", score="score", model="model", metrics={"score": metric})
        drawn = es.draw_labels(data, n=30)
        row = drawn.rows[0].row
        if fits:
            assert drawn.with_labels({row: word}).labels[row] in (7.5, 1.0)
        else:
            with pytest.raises(InputError, match="is no number"):
                drawn.with_labels({row: word})
