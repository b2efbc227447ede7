"""What is said of a ranking of votes is true of the result, fits a terminal, and claims no more than the votes do."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from evalstats.analysis.arena.result import ArenaRanking, PairContrast
from evalstats.analysis.arenas.wording import arena_blocks, arena_sentences
from evalstats.analysis.arenas.wording_answer import (
    answer_label,
    answer_tone,
    choices_sentences,
    headline,
    sharing_sentence,
)
from evalstats.analysis.arenas.wording_checks import checks_blocks
from evalstats.analysis.arenas.wording_choices import covariate_lines
from evalstats.analysis.arenas.wording_slices import categories_blocks, drift_blocks
from evalstats.analysis.arenas.wording_tables import (
    LINES,
    beside_ratings,
    more_votes,
    neighbours,
    neighbours_table,
    percent,
    ratings_table,
)
from evalstats.analysis.arenas.words import apart, compared, digits_of, has_ranks, parts, rating, whole
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Table
from evalstats.document.markup import to_html, to_latex, to_markdown
from evalstats.document.text import to_text
from tests.analysis.arena import example_ranking as example

ALL: dict[str, Callable[[], ArenaRanking]] = {
    "small": example.small,
    "large": example.large,
    "disconnected": example.disconnected,
    "without intervals": example.without_intervals,
    "troubled": example.troubled,
}


@pytest.fixture(scope="module", params=ALL)
def result(request: pytest.FixtureRequest) -> ArenaRanking:
    return ALL[request.param]()


def in_one_line(found: ArenaRanking | list[Block]) -> str:
    blocks = found.blocks() if isinstance(found, ArenaRanking) else found
    return " ".join(to_text(blocks, width=100_000).split())


def column(table: Table, name: str) -> list[str]:
    place = table.columns.index(name)
    return [row[place] for row in table.rows]


# --- whatever the result ---


def test_the_text_fits_a_terminal_and_the_answer_comes_first(result: ArenaRanking) -> None:
    text = to_text(result.blocks(), width=80)
    assert max(map(len, text.splitlines())) <= 80
    banner = next(block for block in result.blocks() if isinstance(block, Banner))
    assert result.blocks().index(banner) == 1
    assert banner.label == answer_label(result)


def test_nothing_is_said_with_holes_in_it(result: ArenaRanking) -> None:
    text = in_one_line(result)
    for hole in (" None,", "(None", "None)", "nan", " .", "..", " ,", "( ", ": :", "p = –", "; ;"):
        assert hole not in text, hole
    assert "  " not in " ".join(arena_sentences(result))
    for block in result.blocks():
        for item in block.items if isinstance(block, Bullets) else ():
            assert item.endswith(".")
            assert item[0] != " "


def test_the_summary_is_the_sentences_and_repeats_every_warning(result: ArenaRanking) -> None:
    summary = result.summary()
    assert summary == " ".join(arena_sentences(result))
    for text in result.warnings:
        assert text in summary


def test_every_format_is_made_and_escapes_names(result: ArenaRanking) -> None:
    page = to_html(arena_blocks(result))
    assert "<script" not in page
    assert to_markdown(arena_blocks(result)).count("\n# ") == 0
    assert "\x1b" not in to_text(arena_blocks(result))
    assert to_latex(arena_blocks(result))


def test_every_model_has_its_line_with_its_own_numbers(result: ArenaRanking) -> None:
    table = ratings_table(result)
    assert column(table, "Model") == [row.name for row in result.rows]
    assert column(table, "Rating") == [rating(row.estimate, result) for row in result.rows]
    assert column(table, "Ranks") == [row.ranks for row in result.rows]
    assert column(table, "Votes") == [f"{row.n_votes:,}" for row in result.rows]


def test_every_check_is_a_sentence_with_its_finding(result: ArenaRanking) -> None:
    text = in_one_line(checks_blocks(result))
    for line in result.checks:
        assert f"{line.title}: {line.finding}" in text
    titles = [block.title for block in checks_blocks(result) if isinstance(block, Bullets)]
    order = ["Warnings of checks", "Limits of these votes", "Nothing amiss (which is no proof)", "Not run"]
    assert titles == [title for title in order if title in titles]


def test_a_certain_best_is_claimed_only_where_one_set_alone_holds_the_first_rank(result: ArenaRanking) -> None:
    firsts = [row for row in result.rows if row.rank_low == 1]
    if answer_label(result) == "one best":
        assert len(firsts) == 1
        assert firsts[0].rank_high == 1
    else:
        assert "is the best of" not in headline(result)


def test_next_lines_are_of_one_part(result: ArenaRanking) -> None:
    part_of = {row.name: row.component for row in result.rows}
    order = [row.name for row in result.rows]
    for first, second, pair in neighbours(result):
        assert part_of[first] == part_of[second]
        assert order.index(second) == order.index(first) + 1
        assert (pair.first, pair.second) == (first, second)


# --- the answer ---


def test_open_best_models_are_named() -> None:
    assert headline(example.small()) == "2 of 5 models may be the best, the votes do not tell which: falcon and heron"
    assert answer_tone(example.small()) == "caution"


def test_one_best_model() -> None:
    found = example.made(("a", "b", "c"), (1300.0, 1000.0, 990.0), 5.0)
    assert headline(found) == "a is the best of 3: every other model is shown to be weaker"
    assert (answer_label(found), answer_tone(found)) == ("one best", "good")


def test_any_may_be_the_best() -> None:
    found = example.made(("a", "b"), (1001.0, 999.0), 50.0)
    assert headline(found) == "Any of the 2 models may be the best: the votes do not tell"


def test_a_model_without_a_rank_leaves_the_best_open() -> None:
    found = example.made(("a", "b", "c"), (1300.0, 1000.0, 800.0), 5.0)
    last = replace(found.rows[2], rank_low=None, rank_high=None, may_be_best=None, top=(), rank_reason="too few votes")
    found = replace(found, rows=(*found.rows[:2], last))
    assert headline(found) == "a is the best of the 2 that have a rank; 1 model has no rank, so the best of all is open"
    assert answer_tone(found) == "caution"
    assert "No rank for c: too few votes" in beside_ratings(found)


def test_parts_refuse_a_rank_over_all_and_are_named() -> None:
    found = example.disconnected()
    assert headline(found).startswith("There is no ranking over all 9 models: the votes leave them in 3 parts")
    assert answer_tone(found) == "bad"
    assert not whole(found)
    assert [len(part) for part in parts(found)] == [1, 6, 2]
    text = in_one_line(found)
    assert "In part 2 (6 models) crane and dove may be the best." in text
    assert "Part 1 (1 model): albatross." in text
    assert "Without any loss or tie, so that no finite rating is high enough: albatross." in text
    assert "Fewer than 10 votes: jay (6)." in text
    assert "Between 2 groups there is no vote at all." in text
    assert "against the mean of each part" in text


def test_a_prior_that_joins_parts_is_named() -> None:
    found = example.small()
    assert found.graph is not None
    graph = replace(found.graph, components=(("falcon",), ("heron", "kestrel", "osprey", "wren")), unbeaten=("falcon",))
    text = in_one_line(replace(found, graph=graph, prior=0.5))
    assert "That all models are on one scale all the same is due to the prior (0.5 added wins and losses each)" in text


def test_without_intervals_there_is_no_rank_and_no_table_of_leads() -> None:
    found = example.without_intervals()
    assert not has_ranks(found)
    assert headline(found).startswith("No rank can be told: the votes come from 4 raters")
    assert neighbours_table(found) is None
    text = in_one_line(found)
    assert "are certain" not in text
    assert text.count("at least 6 are needed") == 2  # the answer and the warning


def test_a_fit_that_did_not_converge_shows_no_numbers() -> None:
    found = replace(example.small(), converged=False)
    assert headline(found) == "The fit of ratings did not converge, so nothing follows from its numbers"
    assert not any(isinstance(block, Table) for block in found.blocks())
    assert not has_ranks(found)


# --- what it rests on ---


def test_counts_of_the_answer_are_those_of_the_result(result: ArenaRanking) -> None:
    text = in_one_line(result)
    assert f"{result.n_votes:,} votes" in text
    if has_ranks(result):
        certain = sum(row.rank_low == row.rank_high for row in result.rows if row.rank_low)
        assert f"{certain or 'None'} of {sum(row.rank_low is not None for row in result.rows)} ranks" in text
        assert f"{len(apart(result.pairs)):,} of {len(compared(result)):,} pairs" in text


def test_what_votes_share_and_what_it_would_hide() -> None:
    found = example.small()
    told = sharing_sentence(found)
    assert "rater: 124, worth 43 equal ones; prompt: 130" in told
    assert "would make the standard error of a difference 1.42 times too small" in told
    assert "1.02 times that which counts every vote by itself" in sharing_sentence(
        replace(found, vote_level_ratio=1.02)
    )
    alone = sharing_sentence(replace(found, clusters=(), vote_level_ratio=None))
    assert alone.startswith("Every vote counts as independent of all others")
    assert "times" not in sharing_sentence(replace(found, vote_level_ratio=None))


def test_other_choices_that_turn_the_first_are_named_and_the_rest_bounded() -> None:
    found = example.troubled()
    turned, rest = choices_sentences(found)
    assert turned.startswith("Under another choice (without covariates) a|b")
    assert rest == (
        "The other choices (ties as half wins and Rao and Kupper's ties) leave the same model rated first, move ratings by at "
        "most 3 Elo points, and turn no pair round."
    )
    one = replace(found, alternatives=found.alternatives[1:2])
    assert choices_sentences(one)[0].startswith("Another choice (Rao and Kupper's ties) leaves")
    assert choices_sentences(example.small()) == []
    text = in_one_line(found)
    assert "Without both-bad votes: not fitted, a model would have no vote left." in text


def test_checks_that_warn_show_their_numbers_and_others_do_not() -> None:
    text = in_one_line(example.troubled())
    for caption in (
        "Raters whose votes",
        "More votes in a short time",
        "What leaving out one rater",
        "Pairs that go least",
    ):
        assert caption in text
    calm = replace(example.troubled(), checks=example.small().checks)
    assert "Raters whose votes" not in in_one_line(calm)
    assert "Not looked at: the checks were switched off." in in_one_line(replace(calm, checks=()))


def test_weak_links_are_listed_where_the_connection_warns() -> None:
    found = example.weakly_linked()
    text = in_one_line(found)
    assert "Groups that few votes hold to the rest" in text
    assert "osprey and wren 2 wins 1.5" in text


# --- tables ---


def test_sixty_long_names_stay_apart_in_a_terminal() -> None:
    found = example.large()
    lines = to_text([ratings_table(found)], width=80).splitlines()[-60:]
    assert len({line.split("  ")[0] for line in lines}) == 60
    table = neighbours_table(found)
    assert table is not None
    assert len(table.rows) == LINES
    assert f"the first {LINES} of 59" in table.caption
    assert "May be among the 3 best: the first 12 lines, down to laboratory-3/" in in_one_line(found)


def test_digits_follow_the_standard_error() -> None:
    found = example.small()
    assert digits_of(found) == 0
    fine = replace(found, rows=tuple(replace(row, std_error=0.04) for row in found.rows))
    assert digits_of(fine) == 2
    none = replace(found, scale="log-odds", rows=tuple(replace(row, std_error=None) for row in found.rows))
    assert digits_of(none) == 2


def test_shares_are_never_0_or_all_by_rounding() -> None:
    assert [percent(share) for share in (None, 0.001, 0.5, 0.999)] == ["–", "<1%", "50%", ">99%"]


def test_more_votes_are_told_only_of_open_pairs() -> None:
    pair = PairContrast(first="a", second="b", estimate=1.0, more_votes=1234)
    assert more_votes(pair) == "1,300"
    assert more_votes(replace(pair, verdict="better")) == "0"
    assert more_votes(replace(pair, more_votes=None)) == "–"


def test_what_more_votes_rest_on_and_why_there_is_no_number() -> None:
    found = example.small()
    text = in_one_line(found)
    assert "3,600 more votes between the two (each with a rater and prompt of its own) would do" in text
    first = replace(found.pairs[0], more_votes=None, more_votes_reason="more than 10,000,000 votes: too close to 0")
    text = in_one_line(replace(found, pairs=(first, *found.pairs[1:])))
    assert "A dash under More votes: more than 10,000,000 votes: too close to 0." in text
    assert "more votes between the two (each with" not in text.partition("The nearest to being separated")[2]
    single = replace(found, pairs=(replace(first, more_votes=1), *found.pairs[1:]), clusters=())
    assert "1 more vote between the two would do" in in_one_line(single)


def test_few_separated_pairs_are_named_where_the_table_does_not_show_them() -> None:
    names, ratings = tuple("abcdef"), (1020.0, 1010.0, 1000.0, 990.0, 980.0, 970.0)
    text = in_one_line(example.made(names, ratings, 10.0))
    assert "The separated pairs: a over f by 50 Elo points" in text
    assert "The separated pairs" not in in_one_line(example.small())
    assert "None of 1 pair is separated" in in_one_line(example.made(("a", "b"), (1001.0, 999.0), 50.0))


def test_online_elo_stands_beside_only_where_asked_for() -> None:
    assert "Online Elo" not in ratings_table(example.small()).columns
    assert "Online Elo" in ratings_table(example.troubled()).columns


# --- categories and time ---


def test_categories_say_how_many_departures_luck_would_show() -> None:
    text = in_one_line(categories_blocks(example.troubled()))
    assert "about 7 Elo points [3, 12] (standard deviation)" in text
    assert "Models are shown to stand differently by scenario (p = 6.0e-04" in text
    assert "2 of 18 single departures have an interval without 0, about 0.9 would by luck alone" in text
    assert "poetry is left out: 41 votes leave 3 models without a win." in text
    assert categories_blocks(example.small()) == []


def test_categories_that_are_not_shown_to_differ_are_not_said_to() -> None:
    found = example.troubled()
    assert found.categories is not None
    calm = replace(found, categories=replace(found.categories, p_value=0.4))
    assert "That models stand differently by scenario is not shown (p = 0.400" in in_one_line(categories_blocks(calm))
    none = replace(
        found, categories=replace(found.categories, rows=(), tau=None, p_value=None, reason="one level only")
    )
    assert "Ratings by scenario cannot be told: one level only." in in_one_line(categories_blocks(none))


def test_many_categories_are_told_without_a_table_of_all() -> None:
    found = example.large()
    levels = [f"a category with a long name, number {i}" for i in range(14)]
    wide = replace(found, categories=example.categories([row.name for row in found.rows], levels))
    captions = [block.caption for block in categories_blocks(wide) if isinstance(block, Table)]
    assert len(captions) == 1
    assert captions[0].startswith("Departures from the overall rating")
    assert max(map(len, to_text(wide.blocks(), width=80).splitlines())) <= 80


def test_drift_names_the_models_that_are_flagged() -> None:
    found = example.troubled()
    text = in_one_line(drift_blocks(found))
    assert "Ratings are shown to change over time (3 months, p = 1.0e-05)" in text
    assert "Single models shown to rise or fall against the others: <script>alert(1)</script>|$x$." in text
    assert drift_blocks(example.small()) == []


def test_headings_are_of_two_levels(result: ArenaRanking) -> None:
    headings = [block for block in result.blocks() if isinstance(block, Heading)]
    assert [block.level for block in headings] == [1] + [2] * (len(headings) - 1)
    assert re.match(r"\d+ models by the votes of ", headings[0].text)


def test_counts_of_checks_are_of_those_that_could_be_run() -> None:
    found = example.troubled()
    run = [line for line in found.checks if line.status != "not run"]
    warned = sum(line.status == "warning" for line in run)
    assert len(run) < len(found.checks)
    assert f"{warned} of {len(run)} checks warn" in in_one_line(found)
    alone = replace(found, checks=tuple(line for line in found.checks if line.check == "sides"))
    assert "The one check that was run warns: sides." in in_one_line(alone)


def test_what_ratings_hold_equal_is_told() -> None:
    found = example.troubled()
    free = tuple(replace(row, held=False) for row in found.covariates)
    assert not any("equal" in line for line in covariate_lines(found))
    assert not any("equal" in line for line in covariate_lines(replace(found, covariates=free, alternatives=())))
    some = replace(found, covariates=(*free[:1], *found.covariates[1:]))
    assert covariate_lines(some)[0] == "The ratings hold tokens and headers equal, but not side a"


def test_a_bootstrap_that_was_asked_for_is_shown() -> None:
    found = example.small()
    assert "Bootstrap" not in ratings_table(found).columns
    drawn = replace(found, rows=tuple(replace(row, boot_low=900.0, boot_high=1100.4) for row in found.rows))
    assert set(column(ratings_table(drawn), "Bootstrap")) == {"[900, 1100]"}
    assert "Bootstrap: percentile interval" in (ratings_table(drawn).caption or "")


def test_categories_keep_their_names_where_there_is_room() -> None:
    found = example.small()
    few = example.categories([row.name for row in found.rows], ["joyland", "t-box"])
    text = in_one_line(categories_blocks(replace(found, categories=few)))
    assert "joyland" in text
    assert " is joyland" not in text


def test_what_is_said_of_one_model_is_said_of_each() -> None:
    found = example.small()
    rows = tuple(replace(row, warnings=("it won no vote",)) if k < 2 else row for k, row in enumerate(found.rows))
    assert any(
        line.startswith("Each of ") and "it won no vote" in line for line in beside_ratings(replace(found, rows=rows))
    )
