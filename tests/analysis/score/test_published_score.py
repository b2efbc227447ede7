"""Published numbers of a system, without items: an interval where the source says how precise they are."""

import json

import pytest

import evalstats as es
from evalstats.analysis.score.score import score
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.one_sample import wilson


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
