"""A break at the cut-off, from rows to verdicts."""

import numpy as np
import pytest

import evalstats as es
from evalstats.analysis.contamination.cutoff import day_of
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.contamination import break_bandwidth
from tests.analysis.contamination.example_items import CUTOFF, REFERENCES, as_results, dated_rows


@pytest.fixture(scope="module")
def found():
    results = as_results(dated_rows(jump=0.4))
    return es.contamination(results, date="released", cutoffs={"suspect": CUTOFF}, references=REFERENCES)


def test_a_planted_break_is_found_where_it_is(found):
    row = found.row("suspect")
    assert found.verdict == "inflated"
    assert row.cutoff == CUTOFF
    assert row.df >= 4.0
    assert (row.conf_low or 0.0) < 0.4 < (row.largest or 0.0)
    assert [(each.order, round(each.width / (row.bandwidth or 1.0), 6)) for each in row.widths] == [
        (1, 0.5),
        (1, 2.0),
        (2, 1.0),
    ]
    section = found.document().section("bandwidths")
    assert section is not None
    assert section.heading == "The break keeps its sign at other bandwidths"


def test_the_bandwidth_is_that_of_the_difference_from_the_references(found):
    rows = dated_rows(jump=0.4)
    scores = {(r["model"], r["item"]): r["score"] for r in rows}
    items = {str(r["item"]): day_of(str(r["released"]), "it") - day_of(CUTOFF, "it") for r in rows}
    less = [scores["suspect", i] - np.mean([scores[name, i] for name in REFERENCES]) for i in items]
    assert found.row("suspect").bandwidth == pytest.approx(break_bandwidth(list(items.values()), less).width)


def test_items_that_grow_harder_with_time_are_no_break():
    results = as_results(dated_rows(seed=3))
    found = es.contamination(results, date="released", cutoffs={"suspect": CUTOFF}, references=REFERENCES)
    assert found.verdict == "inconclusive"


def test_references_that_may_break_there_themselves_are_refused_or_left_out():
    results = as_results(dated_rows())
    close = {"suspect": CUTOFF, "r1": "2023-06-01"}
    with pytest.raises(InputError, match="reference 'r1' lies within"):
        es.contamination(results, date="released", cutoffs=close, suspects=["suspect"], references=REFERENCES)
    found = es.contamination(results, date="released", cutoffs=close, suspects=["suspect"])
    assert found.row("suspect").references == REFERENCES[1:]
    assert any("not taken as references" in note.text for note in found.notes if not note.caution)


def test_dates_chosen_by_side_are_warned_of():
    rows = dated_rows(n=700)
    day = day_of(CUTOFF, "it")
    thinned = [
        r for r in rows if not (0 < day_of(str(r["released"]), "it") - day < 300 and int(str(r["item"])[1:]) % 4)
    ]
    found = es.contamination(as_results(thinned), date="released", cutoffs={"suspect": CUTOFF}, references=REFERENCES)
    assert any(
        "chosen by their date" in note.text for note in found.notes if note.kind == "comparability" and note.caution
    )


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"cutoffs": None}, InputError, "needs the suspects' cut-offs"),
        ({"cutoffs": {"nobody": CUTOFF}}, InputError, "none of the models"),
        ({"cutoffs": {"suspect": "last May"}}, InputError, "which is no date"),
        ({"cutoffs": {"r1": CUTOFF}, "suspects": ["suspect"]}, InputError, "'suspect' has no cut-off"),
        ({"cutoffs": {"suspect": "2019-01-01"}}, CannotAnswerError, "suspect: 0 items on 0 different dates lie before"),
        ({"cutoffs": {"suspect": CUTOFF}, "old": "x"}, InputError, "go with split and twin"),
        ({"cutoffs": {"suspect": CUTOFF}, "date": "model"}, InputError, "gives no item a single date"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(options, error, said):
    results = as_results(dated_rows(n=200))
    with pytest.raises(error, match=said):
        es.contamination(results, **{"date": "released", **options})


def test_dates_are_read():
    assert day_of("2024-03", "it") == day_of("2024-03-01", "it") == day_of("2024/03/01", "it")
    assert day_of("2024-03-01 12:00:00.000000 UTC", "it") == day_of("2024-03-01", "it") + 0.5
