"""A board of a judge's scores, corrected by people's labels: as `score` and `compare` correct them."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.raters.correction import corrected_values, powered_mean

N, LABELLED = 400, 80
NAMES = ("a", "b", "c")


def world(seed: int = 3) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Three models of .5, .6 and .8; the judge passes half of the failures of the first."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N, 3)) < (0.5, 0.6, 0.8)).astype(float)
    judge = (rng.random((N, 3)) < np.where(truth == 1, 0.95, (0.6, 0.1, 0.1))).astype(float)
    chosen = rng.choice(N, LABELLED, replace=False)
    rows = [{"item": f"q{i:03}", "model": n, "score": judge[i, j]} for j, n in enumerate(NAMES) for i in range(N)]
    labels = [{"item": f"q{i:03}", "model": n, "value": truth[i, j]} for j, n in enumerate(NAMES) for i in chosen]
    return pl.DataFrame(rows), pl.DataFrame(labels)


def test_lines_are_the_corrected_scores_and_pairs_their_differences():
    rows, labels = world()
    board = es.leaderboard(rows, labels=labels)
    for row in board.rows:
        score = es.score(rows, row.name, labels=labels)
        assert (row.estimate, row.conf_low, row.conf_high) == pytest.approx(
            (score.estimate, score.conf_low, score.conf_high)
        )
    for pair in board.pairs:
        lead = board.row(pair.first).estimate - board.row(pair.second).estimate
        assert pair.estimate == pytest.approx(lead, abs=1e-9)
        compared = es.compare(rows, pair.second, pair.first, labels=labels)
        # The judge's weight is tuned to each score here, and there to the difference.
        assert pair.estimate == pytest.approx(compared.estimate, abs=compared.std_error)
        assert pair.std_error == pytest.approx(compared.std_error, rel=0.25)


def test_the_order_is_that_of_people_and_the_first_line_says_so():
    rows, labels = world()
    assert [row.name for row in es.leaderboard(rows).rows] == ["c", "a", "b"]
    board = es.leaderboard(rows, labels=labels)
    assert [row.name for row in board.rows] == ["c", "b", "a"]
    assert board.best() == ("c",)
    assert "corrected by people's labels of 80 items" in board.summary()
    assert any("The judge scores a" in note.text for note in board.notes)
    open_board = es.leaderboard(rows, labels=labels, models=["a", "b"])
    assert any("label status" in str(action) for action in open_board.document().actions)


def test_the_order_of_models_rows_and_a_saved_board_change_nothing(tmp_path):
    rows, labels = world()
    board = es.leaderboard(rows, labels=labels)
    mixed = es.leaderboard(
        rows.sample(fraction=1, shuffle=True, seed=1), labels=labels.sample(fraction=1, shuffle=True, seed=2)
    )
    assert [(row.name, row.estimate) for row in mixed.rows] == [
        (row.name, pytest.approx(row.estimate)) for row in board.rows
    ]
    board.save(tmp_path / "r.json")
    assert es.load_result(tmp_path / "r.json") == board


def test_values_of_items_have_the_mean_and_the_error_of_the_correction():
    rng = np.random.default_rng(4)
    people = rng.normal(size=300)
    judge = people + rng.normal(size=300)
    labels = np.where(np.arange(300) < 60, people, np.nan)
    plain = powered_mean(judge[60:], judge[:60], people[:60]).estimate
    values = corrected_values(judge, labels)
    assert values.mean() == pytest.approx(plain.estimate)
    # Stretched by the ratio of the 99.5% quantiles of t with 59 and with 299 degrees of freedom.
    wider = stats.t.ppf(0.995, 59) / stats.t.ppf(0.995, 299)
    assert values.std(ddof=1) / 300**0.5 == pytest.approx(plain.std_error * wider)
    chance = np.where(np.arange(300) < 150, 0.2, 0.1)
    drawn = np.isin(np.arange(300), np.r_[:30, 150:165])
    weighed = powered_mean(judge[~drawn], judge[drawn], people[drawn], probabilities=chance[drawn]).estimate
    values = corrected_values(judge, np.where(drawn, people, np.nan), probabilities=chance)
    assert values.mean() == pytest.approx(weighed.estimate)


def test_items_that_a_model_lacks_are_dropped():
    rows, labels = world()
    some = rows.filter(~((pl.col("model") == "b") & (pl.col("item") >= "q350")))
    board = es.leaderboard(some, labels=labels)
    assert {row.n_items for row in board.rows} == {350}
    same = es.leaderboard(some.filter(pl.col("item") < "q350"), labels=labels)
    assert [row.estimate for row in board.rows] == pytest.approx([row.estimate for row in same.rows])
    assert any("350" in text or "50 items" in text for text in [note.text for note in board.notes])


def test_what_is_refused():
    rows, labels = world()
    with pytest.raises(InputError, match="expected labels of each of"):
        es.leaderboard(rows, labels=labels.filter(pl.col("model") != "b"))
    with pytest.raises(InputError, match="leave out"):
        es.leaderboard(rows, labels=labels, average="macro")
    chosen = labels.filter(pl.col("item").is_in(rows.filter(model="a", score=1)["item"].to_list()))
    with pytest.raises(CannotAnswerError, match="not a random sample"):
        es.leaderboard(rows, labels=chosen)
    with pytest.raises(CannotAnswerError, match="too few"):
        es.leaderboard(rows, labels=labels.filter(pl.col("item").is_in(labels["item"].head(19).to_list())))
