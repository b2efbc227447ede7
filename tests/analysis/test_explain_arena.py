"""A ranking of votes explained: every method has words, the numbers are this ranking's, and nothing is claimed beyond it."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.explaining.arena import error_method, explain_arena
from evalstats.analysis.explaining.explain import explain, explain_text
from evalstats.analysis.method_texts import ARENA_TEXTS, known_methods, texts_for
from evalstats.document.blocks import Bullets, Heading, Paragraph
from evalstats.document.markup import to_html
from tests.analysis.arena import example_ranking as example

ALL: dict[str, Callable[[], ArenaRanking]] = {
    "small": example.small,
    "large": example.large,
    "disconnected": example.disconnected,
    "without intervals": example.without_intervals,
    "weakly linked": example.weakly_linked,
    "troubled": example.troubled,
}


@pytest.fixture(scope="module", params=ALL)
def result(request: pytest.FixtureRequest) -> ArenaRanking:
    return ALL[request.param]()


def in_one_line(found: ArenaRanking) -> str:
    return " ".join(explain_text(found, width=100_000).split())


def test_it_reads_well_whatever_the_result(result: ArenaRanking) -> None:
    text = explain_text(result)
    assert max(map(len, text.splitlines())) <= 80
    assert result.explain() == text
    for hole in (" None,", "(None", "None)", "nan", " .", "..", " ,", "There is no description"):
        assert hole not in in_one_line(result), hole
    for block in explain(result):
        for item in (
            block.items if isinstance(block, Bullets) else (block.text,) if isinstance(block, Paragraph) else ()
        ):
            assert item[-1] == "." or re.search(r"\d|Present", item), item
    assert "<script" not in to_html(explain_arena(result))


def test_the_sections_stand_in_order() -> None:
    headings = [block.text for block in explain(example.troubled()) if isinstance(block, Heading)]
    assert headings == [
        "6 models by the votes of example arena: what this ranking says",
        "What was asked",
        "How it was answered",
        "What this takes for granted, and how it could fail here",
        "What a rating means",
        "What the ranks mean",
        "What side and style mean",
        "By category and over time",
        "What would change the conclusion",
        "Where the methods come from",
    ]


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_every_treatment_of_ties_has_words_of_its_own(ties: str) -> None:
    found = example.made(("a", "b", "c"), (1010.0, 1000.0, 990.0), 3.0, ties=ties)
    (text,) = texts_for(found.method)
    assert text is ARENA_TEXTS[found.method]
    assert text.how in in_one_line(found)


def test_methods_are_found_by_the_beginning_of_their_names() -> None:
    for name, key in (
        ("sandwich clustered by item (13) and rater (124), t with 10.2 df", "sandwich clustered by"),
        ("sandwich of single votes, t with 8,800 df", "sandwich of single votes"),
        (
            "restricted likelihood ratio of standard deviation 0, its law from 999 draws; 3 votes count in each",
            "restricted likelihood ratio of standard deviation 0",
        ),
        (
            "score test of months x models, its law by random signs of clusters of rater (999 draws)",
            "its law by random signs of",
        ),
    ):
        assert texts_for(name) == (known_methods()[key],)


@pytest.mark.parametrize("law", ["multivariate t with 42.2 df", "sign flips of clusters by item"])
def test_rank_sets_are_explained_with_the_law_that_they_rest_on(law: str) -> None:
    sets, joint = texts_for(f"rank sets, max-T step-down, {law}")
    assert sets is known_methods()["rank sets"]
    assert joint in ARENA_TEXTS.values()


def test_errors_are_explained_as_they_were_made() -> None:
    found = example.small()
    assert error_method(found) == "sandwich clustered by rater and prompt"
    assert error_method(replace(found, clusters=())) == "sandwich of single votes"
    assert error_method(example.without_intervals()) == ""
    assert "Every vote is taken as independent" in in_one_line(replace(found, clusters=()))
    assert "There are no standard errors: the votes come from 4 raters" in in_one_line(example.without_intervals())
    assert "One rater alone gave 8% of the votes" in in_one_line(found)


def test_the_lead_and_the_ranks_are_this_rankings() -> None:
    text = in_one_line(example.small())
    assert "The lead of falcon over heron is 12 Elo points" in text
    assert "about 52% would take falcon (from 49% to 55%)" in text
    assert (
        "The rank of falcon is 1-2: of the other 4 models, none is shown to be better and 3 are shown to be weaker"
        in text
    )
    assert "2 models may be the best (falcon and heron)" in text
    assert "falcon has 1 there, and the votes leave 1-2 open" in text
    assert "The weakest claim is osprey over wren (+30 Elo points)" in text
    assert "The nearest miss is falcon over heron (+12 Elo points)" in text


def test_wins_of_a_hundred_are_those_of_the_elo_scale() -> None:
    wins = [round(100 / (1 + 10 ** (-lead / 400))) for lead in (100, 200, 400)]
    told = "A lead of 100 Elo points means about {} wins in 100 decided votes, 200 about {}, 400 about {}".format(*wins)
    assert told in in_one_line(example.small())
    assert "wins in 100" not in in_one_line(replace(example.small(), scale="log-odds", unit="log-odds"))


def test_parts_are_explained_and_no_best_of_all_is_named() -> None:
    text = in_one_line(example.disconnected())
    assert "fall into 3 parts" in text
    assert "models may be the best" not in text
    assert "inside its part" in text


def test_a_fit_that_did_not_converge_has_no_meaning() -> None:
    text = in_one_line(replace(example.small(), converged=False))
    assert "did not converge" in text
    for heading in ("What a rating means", "What the ranks mean", "What would change"):
        assert heading not in text


def test_style_is_no_cause_and_a_side_has_a_direction() -> None:
    found = example.troubled()
    text = in_one_line(found)
    assert "Between equal models the first side is preferred (p 0.016, worth 9 Elo points)" in text
    assert "Answers with more of tokens are preferred" in text
    assert "Nothing of this is a cause" in text
    side, tokens, headers = found.covariates
    other = replace(side, estimate=-0.05, conf_low=-0.09, conf_high=-0.01)
    unclear = replace(tokens, conf_low=-0.1)
    text = in_one_line(replace(found, covariates=(other, unclear, headers)))
    assert "the second side is preferred" in text
    assert "That tokens goes with being preferred is not shown" in text


def test_what_would_turn_it_is_told_without_a_likelihood() -> None:
    text = in_one_line(example.troubled())
    assert "Another choice: without covariates (length may be liked for itself). Then a|b" in text
    assert "Without 61 votes (1% of all), chosen for it" in text
    assert "not how likely it is" in text
    found = example.troubled()
    assert found.trust is not None
    assert found.trust.flip is not None
    unconfirmed = replace(found, trust=replace(found.trust, flip=replace(found.trust.flip, confirmed=False)))
    assert "chosen for it" not in in_one_line(unconfirmed)
