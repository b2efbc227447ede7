"""Scores of a judge, corrected by people's labels: against the statistics, what is said, and what is refused."""

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.raters.correction import judge_errors, powered_mean, rogan_gladen, rogan_gladen_smoothed

N, LABELLED = 500, 80


def world(seed: int = 3) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two models; the judge passes a third of the failures of the second."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N, 2)) < 0.6).astype(float)
    judge = (rng.random((N, 2)) < np.where(truth == 1, (0.9, 0.95), (0.1, 0.35))).astype(float)
    rows = [
        {"item": f"q{i:03}", "model": name, "score": judge[i, side]}
        for side, name in enumerate(("old", "new"))
        for i in range(N)
    ]
    chosen = rng.choice(N, LABELLED, replace=False)
    labels = [
        {"item": f"q{i:03}", "model": name, "value": truth[i, side]}
        for side, name in enumerate(("old", "new"))
        for i in chosen
    ]
    return pl.DataFrame(rows), pl.DataFrame(labels)


def columns(rows: pl.DataFrame, labels: pl.DataFrame, model: str) -> tuple[np.ndarray, np.ndarray]:
    known = dict(labels.filter(model=model).select("item", "value").rows())
    own = rows.filter(model=model).sort("item")
    return own["score"].to_numpy(), np.array([known.get(item, np.nan) for item in own["item"]])


def test_the_score_is_the_prediction_powered_mean():
    rows, labels = world()
    found = es.score(rows, "new", labels=labels)
    f, y = columns(rows, labels, "new")
    known = np.isfinite(y)
    expected = powered_mean(f[~known], f[known], y[known], bounds=(0.0, 1.0), pseudo=0.5)
    assert (found.estimate, found.conf_low, found.conf_high) == pytest.approx(
        (expected.estimate.estimate, expected.estimate.conf_low, expected.estimate.conf_high)
    )
    account = found.labels
    assert (account.n_labels, account.n_judged) == (LABELLED, N)
    assert account.judged.estimate == pytest.approx(f.mean())
    assert account.labels_only.estimate == pytest.approx(y[known].mean())
    assert account.estimate == pytest.approx((f[known] - y[known]).mean())


def test_yes_or_no_has_both_corrections_by_error_rates():
    rows, labels = world()
    f, y = columns(rows, labels, "new")
    known = np.isfinite(y)
    counts = int(f[~known].sum()), int((~known).sum()), judge_errors(f[known], y[known])
    found = {row.method: row for row in es.score(rows, "new", labels=labels).rows}
    for expected in (rogan_gladen(*counts), rogan_gladen_smoothed(*counts)):
        row = found[expected.method]
        assert (row.conf_low, row.conf_high) == pytest.approx((expected.conf_low, expected.conf_high))
    assert len(found) == 5
    graded = rows.with_columns(score=pl.col("score") * 4 + pl.int_range(pl.len()) % 3)
    people = labels.with_columns(value=pl.col("value") * 4 + 1)
    assert not any("Rogan" in row.method for row in es.score(graded, "new", labels=people).rows)


def test_the_first_line_says_so_and_a_judge_that_is_too_kind_is_told():
    rows, labels = world()
    found = es.score(rows, "new", labels=labels)
    assert "corrected by 80 labels" in found.summary()
    assert "the judge alone says" in found.summary()
    assert any("above people" in note.text for note in found.notes if note.kind == "trust")
    scores = es.score(rows, labels=labels)
    assert [each.labels.n_labels for each in scores] == [LABELLED, LABELLED]
    assert scores[0].estimate == pytest.approx(found.estimate)


def test_it_is_saved_and_read_back(tmp_path):
    rows, labels = world()
    found = es.score(rows, "new", labels=labels)
    found.save(tmp_path / "r.json")
    assert es.load_result(tmp_path / "r.json") == found


def test_a_table_of_one_system_needs_no_model():
    rows, labels = world()
    own = labels.filter(model="new")
    one = es.score(rows, "new", labels=own)
    assert es.score(rows, "new", labels=own.drop("model")).estimate == pytest.approx(one.estimate)
    wide = own.rename({"value": "new"}).drop("model")
    assert es.score(rows, "new", labels=wide).estimate == pytest.approx(one.estimate)


def test_a_claim_is_held_against_the_corrected_score():
    rows, labels = world()
    plain, found = es.score(rows, "new", against=0.72), es.score(rows, "new", against=0.72, labels=labels)
    assert plain.against.verdict == "not shown to differ"
    assert found.against.verdict == "below"
    assert found.against.conf_high == pytest.approx(found.conf_high - 0.72)


def test_known_chances_and_clusters_count():
    rows, labels = world()
    f, y = columns(rows, labels, "new")
    known = np.isfinite(y)
    half = labels.with_columns(label_prob=pl.when(pl.col("item") < "q250").then(0.1).otherwise(0.4))
    found = es.score(rows, "new", labels=half)
    chance = np.where(np.arange(N) < 250, 0.1, 0.4)[known]
    expected = powered_mean(f[~known], f[known], y[known], probabilities=chance, bounds=(0, 1))
    assert found.estimate == pytest.approx(expected.estimate.estimate)
    assert found.estimate != pytest.approx(es.score(rows, "new", labels=labels).estimate)
    topics = rows.with_columns(topic=pl.col("item").str.slice(1, 2))
    grouped = es.score(topics, "new", labels=labels, cluster="topic")
    codes = np.arange(N) // 10
    expected = powered_mean(f[~known], f[known], y[known], clusters=(codes[~known], codes[known]), bounds=(0, 1))
    assert grouped.std_error == pytest.approx(expected.estimate.std_error)


def test_what_is_refused():
    rows, labels = world()
    judged_right = labels.join(rows, on=["item", "model"]).filter(pl.col("score") == 1).drop("score")
    with pytest.raises(CannotAnswerError, match="not a random sample"):
        es.score(rows, "new", labels=judged_right)
    with pytest.raises(CannotAnswerError, match="19 labels are too few"):
        es.score(rows, "new", labels=labels.filter(model="new").head(19))
    with pytest.raises(CannotAnswerError, match="every item has a label"):
        es.score(rows, "new", labels=rows.rename({"score": "value"}))
    with pytest.raises(InputError, match="expected labels of 'old'"):
        es.score(rows, "old", labels=labels.filter(model="new"))
    for option in ({"average": "macro"}, {"pass_hat": 2}, {"weights": {"a": 1}}):
        with pytest.raises(InputError, match="leave out"):
            es.score(rows, "new", labels=labels, **option)
