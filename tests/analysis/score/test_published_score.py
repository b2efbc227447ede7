"""Published numbers of a system, without items: an interval where the source says how precise they are."""

import json
from dataclasses import replace

import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.score.score import score
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.one_sample import wilson

# The normal quantile of .995 over that of .975.
RATIO = 2.5758293 / 1.9599640


def of_json(folder, **members):
    path = folder / "m.json"
    path.write_text(json.dumps(members))
    return es.read(path)


def test_a_share_and_its_n_have_the_interval_of_right_and_wrong_items(tmp_path):
    found, items = score(of_json(tmp_path, accuracy=0.83, n=200), against=0.9), wilson(166, 200)
    assert (found.estimate, found.conf_low, found.conf_high) == (0.83, items.conf_low, items.conf_high)
    assert found.against.verdict == "below"
    assert found.n_items == 200


def test_a_number_without_an_n_has_no_interval_and_nothing_is_tested(tmp_path):
    data = of_json(tmp_path, accuracy=0.83)
    found = score(data)
    assert (found.estimate, found.conf_low) == (0.83, None)
    assert "no number of items" in found.reason
    assert "0.83" in found.summary()
    with pytest.raises(CannotAnswerError, match="column n, std_error"):
        score(data, against=0.8)


def test_what_needs_items_is_refused(tmp_path):
    with pytest.raises(InputError, match="no items, so there is no use for cluster"):
        score(of_json(tmp_path, accuracy=0.83, n=200), cluster="topic")


def test_a_row_for_each_metric_is_published_numbers_of_one_system(tmp_path):
    path = tmp_path / "ragas.csv"
    path.write_text("metric,score\nfaithfulness,0.91\nanswer_relevancy,0.84\ncontext_recall,0.8\n")
    data = es.read(path)
    assert not data.outcomes.height
    assert data.aggregates.select("model", "metric", "estimate").rows() == [
        ("ragas", "faithfulness", 0.91),
        ("ragas", "answer_relevancy", 0.84),
        ("ragas", "context_recall", 0.8),
    ]


def test_a_published_standard_error_gives_a_normal_interval(tmp_path):
    path = tmp_path / "board.csv"
    path.write_text("model,acc,acc_se\na,0.5,0.02\nb,0.6,0.02\n")
    found = score(es.read(path), "a")
    assert found.conf_low == pytest.approx(0.5 - 1.959964 * 0.02)


def test_an_interval_of_unknown_level_and_an_error_that_is_none_give_no_interval(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("model,accuracy,ci_low,ci_high\na,0.83,0.78,0.88\nb,0.75,0.70,0.81\n")
    data = es.read(path)
    known = score(data).rows[0]
    assert known.std_error == pytest.approx(0.1 / (2 * 1.959964), rel=1e-6)  # half the width over z of .975
    # A lopsided interval stands as it was published, and is wider at a higher level by the ratio of the quantiles.
    assert [(row.conf_low, row.conf_high) for row in score(data).rows] == [
        pytest.approx(ends) for ends in ((0.78, 0.88), (0.70, 0.81))
    ]
    wide = score(data, conf_level=0.99).rows[1]
    assert (wide.conf_low, wide.conf_high) == pytest.approx((0.75 - 0.05 * RATIO, 0.75 + 0.06 * RATIO))
    assert any("taken from the width of the published intervals" in note.text for note in known.notes)
    for changed in ({"conf_level": None}, {"std_error": float("nan"), "conf_high": float("nan")}):
        columns = {name: pl.lit(value, dtype=pl.Float64) for name, value in changed.items()}
        found = score(replace(data, aggregates=data.aggregates.with_columns(**columns))).rows
        assert [row.conf_low for row in found] == [None, None]
