"""Rephrased twins, from rows to verdicts: paired as `compare` pairs them, and against references."""

import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from tests.analysis.contamination.example_items import REFERENCES, as_results, twin_pairs, twins_by_name

OPTIONS = {"suspects": ["suspect"], "references": REFERENCES}


def by_variant(rows):
    return es.contamination(as_results(rows), twin="variant", old="asked", new="reworded", **OPTIONS)


def test_the_models_own_difference_is_that_of_compare():
    rows = twin_pairs(inflation=0.4)
    row = by_variant(rows).row("suspect")
    own = as_results([each for each in rows if each["model"] == "suspect"])
    paired = es.compare(own, "reworded", "asked", contrast="variant")
    assert (row.own, row.own_low, row.own_high) == pytest.approx((paired.estimate, paired.conf_low, paired.conf_high))
    assert row.verdict == "inflated"
    assert row.n_old == row.n_new == 120


def test_rephrasing_that_is_harder_for_all_is_no_inflation():
    row = by_variant(twin_pairs(harder=0.35)).row("suspect")
    assert (row.own_low or 0.0) > 0.1
    assert row.verdict == "inconclusive"
    assert (row.conf_low or 0.0) < 0 < (row.largest or 0.0)


def test_twins_that_name_their_original_give_the_same():
    rows = twin_pairs(inflation=0.3)
    named = es.contamination(as_results(twins_by_name(rows)), twin="twin_of", **OPTIONS)
    assert named.row("suspect") == by_variant(rows).row("suspect")
    assert (named.old, named.new) == ("original", "rephrased")


def test_several_twins_of_an_item_are_averaged():
    rows = twins_by_name(twin_pairs(inflation=0.3))
    doubled = rows + [{**row, "item": f"{row['item']}-again"} for row in rows if row["twin_of"] is not None]
    once = es.contamination(as_results(rows), twin="twin_of", **OPTIONS).row("suspect")
    twice = es.contamination(as_results(doubled), twin="twin_of", **OPTIONS).row("suspect")
    # A copy of every twin changes no mean.
    assert twice.estimate == pytest.approx(once.estimate)
    assert twice.p_value == pytest.approx(once.p_value)
    assert twice.n_old == once.n_old


def test_items_without_a_twin_are_left_out_and_said():
    rows = [row for row in twins_by_name(twin_pairs()) if row["item"] not in ("q000-b", "q001")]
    # q001-b names an original that nobody answered, so it is an error; without it q001 is simply alone.
    with pytest.raises(InputError, match="'q001'"):
        es.contamination(as_results(rows), twin="twin_of", **OPTIONS)
    found = es.contamination(as_results([row for row in rows if row["item"] != "q001-b"]), twin="twin_of", **OPTIONS)
    assert found.row("suspect").n_old == 118
    assert any("1 item without a twin" in note.text for note in found.notes)


def test_chains_and_too_few_pairs_are_refused():
    rows = twins_by_name(twin_pairs(n=30))
    chained = [{**row, "twin_of": "q000-b" if row["item"] == "q001-b" else row["twin_of"]} for row in rows]
    with pytest.raises(InputError, match="is itself named as an original"):
        es.contamination(as_results(chained), twin="twin_of", **OPTIONS)
    with pytest.raises(CannotAnswerError, match="at least 10"):
        es.contamination(as_results(twins_by_name(twin_pairs(n=6))), twin="twin_of", **OPTIONS)


def test_levels_that_say_nothing_must_be_named():
    with pytest.raises(InputError, match="which items are old"):
        es.contamination(as_results(twin_pairs(n=20)), twin="variant", **OPTIONS)
