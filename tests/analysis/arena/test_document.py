"""What is said of a ranking of votes: it answers the title, keeps its budgets, and claims no more than the votes do."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from evalstats.analysis.arena.document import answer_of, methods_of
from evalstats.analysis.arena.evidence import nearest_open, turned_choices
from evalstats.analysis.arena.figures import digits_of, percent
from evalstats.analysis.arena.result import ArenaRanking, PairContrast
from evalstats.analysis.method_texts import texts_for
from evalstats.document import terminal
from evalstats.document.model import Section, Text
from tests.analysis.arena import example_ranking as example

EXAMPLES: dict[str, Callable[[], ArenaRanking]] = {
    "small": example.small,
    "large": example.large,
    "disconnected": example.disconnected,
    "without intervals": example.without_intervals,
    "weakly linked": example.weakly_linked,
    "troubled": example.troubled,
}


@pytest.fixture(params=EXAMPLES, scope="module")
def result(request: pytest.FixtureRequest) -> ArenaRanking:
    return EXAMPLES[request.param]()


def words(text: str, result: ArenaRanking) -> int:
    """Count words, names not counted."""
    for name in sorted((row.name for row in result.rows), key=len, reverse=True):
        text = text.replace(name, "")
    return len([word for word in text.split() if any(letter.isalnum() for letter in word)])


def section(result: ArenaRanking, name: str) -> Section:
    found = result.document().section(name)
    assert found is not None
    return found


def has(result: ArenaRanking, name: str) -> bool:
    return result.document().section(name) is not None


def texts(found: Section) -> str:
    return " ".join(block.text for block in found.blocks if isinstance(block, Text))


# --- every result ---


def test_the_terminal_shows_a_line_a_model_and_twelve_more(result: ArenaRanking) -> None:
    lines = terminal.to_text(result.document(), hint="More: --full, --report FILE.html.").splitlines()
    table = min(len(result.rows), 20) + 2 + (len(result.rows) > 20)
    assert len([line for line in lines if line]) - table <= 12
    assert len([line for line in lines if line.startswith("!")]) <= 4
    assert max(map(len, lines)) <= 80
    assert "\n" not in terminal.headline(result.document())


def test_the_rank_of_live_arenas_stands_where_it_tells_models_apart(result: ArenaRanking) -> None:
    table = result.document().tables["ratings"]
    told = {row.rank_arena for row in result.rows} - {None}
    assert ("Arena" in [each.title for each in table.columns]) == (len(told) > 1) == ("live arenas" in table.caption)


def test_checks_that_were_not_run_are_counted_apart(result: ArenaRanking) -> None:
    section = result.document().section("checks")
    if section is not None:
        lines = [line.status for line in result.checks if line.check != "connected"]
        assert (f"{lines.count('not run')} not run" in section.heading) == ("not run" in lines)


def test_a_winner_is_claimed_only_where_one_set_alone_holds_the_first_rank(result: ArenaRanking) -> None:
    firsts = [row for row in result.rows if row.rank_low == 1]
    if answer_of(result)[0] == "clear winner":
        assert len(firsts) == 1
        assert firsts[0].rank_high == 1
    else:
        assert "is ahead of all" not in result.document().headline


def test_neighbours_are_of_one_part(result: ArenaRanking) -> None:
    table = result.document().tables.get("pairs")
    part_of = {row.name: row.component for row in result.rows}
    for row in table.rows if table is not None else ():
        assert part_of[str(row[0])] == part_of[str(row[-1])]


def test_methods_have_texts(result: ArenaRanking) -> None:
    assert all(texts_for(name) for name in methods_of(result) if "likelihood" not in name and "Wald" not in name)


# --- the answer ---


def test_one_model_ahead_of_all() -> None:
    found = example.made(("a", "b", "c"), (1100.0, 1000.0, 900.0), 5.0)
    assert found.document().headline == "a is ahead of both others"
    assert found.document().tone == "good"
    two = example.made(("a", "b"), (1100.0, 900.0), 5.0)
    assert two.document().headline == "a is ahead of the other"


def test_a_model_without_a_rank_leaves_the_best_open() -> None:
    found = example.small()
    rows = (*found.rows[:-1], replace(found.rows[-1], rank_low=None, rank_high=None, may_be_best=None))
    said = replace(found, rows=rows).document()
    assert said.label == "no clear winner"
    assert said.headline.endswith("1 model has no rank")


def test_parts_have_no_number_over_all_and_are_listed() -> None:
    found = example.disconnected()
    document = found.document()
    assert document.headline == "The votes leave 9 models in 3 parts that cannot be compared"
    assert (document.number, document.tone) == ("", "bad")
    assert "albatross never lost" in texts(section(found, "parts"))
    assert len(document.tables["parts"].rows) == 3
    assert "Collect votes between the parts" in document.actions[0]


def test_a_prior_that_joins_parts_is_named() -> None:
    found = replace(example.disconnected(), prior=0.5)
    assert "Only the prior of 0.5 wins" in texts(section(found, "parts"))
    assert "0.5 wins and 0.5 losses" in found.explain()


def test_without_intervals_no_rank_is_told() -> None:
    document = example.without_intervals().document()
    assert document.label == "no ranks"
    assert "pairs" not in document.tables
    assert "at least 6" in example.without_intervals().summary() or document.cautions


def test_a_fit_that_did_not_converge_shows_no_number() -> None:
    document = replace(example.small(), converged=False).document()
    assert document.label == "not converged"
    assert not document.answer
    assert not document.evidence
    assert document.number == ""


# --- what limits it ---


def test_suspect_checks_are_cautions_with_a_section_each_and_passed_ones_a_word() -> None:
    found = example.troubled()
    document = found.document()
    kinds = [note.kind for note in document.cautions]
    assert {"trust", "fit", "choice"} <= set(kinds)
    suspect = [each for each in document.evidence if each.id.startswith("check-")]
    assert len(suspect) == sum(line.status == "warning" for line in found.checks)
    results = {row[0]: row[-1] for row in document.tables["checks"].rows}
    assert results["Sides"] == "suspect"
    assert results["Selection"] == "passed"
    assert results["Cycles"] == "not run"
    assert {"raters", "worst-pairs", "drift"} <= set(document.tables)
    small = example.small().document()
    assert not [each for each in small.evidence if each.id.startswith("check-")]
    assert not small.cautions


def test_weak_links_are_listed_and_warned_of() -> None:
    found = example.weakly_linked()
    assert [note.kind for note in found.document().cautions] == ["few"]
    assert found.document().tables["links"].rows[0][-1] == 1.5


def test_another_leader_under_another_choice_is_a_caution() -> None:
    found = example.troubled()
    (turned,) = turned_choices(found)
    assert turned.new_first == found.rows[1].name
    assert section(found, "choices").heading.startswith(found.rows[1].name)
    same = replace(found, alternatives=tuple(each for each in found.alternatives if each.new_first is None))
    assert section(same, "choices").heading == "No other choice changes who leads"


# --- numbers in words ---


def test_digits_follow_the_standard_error() -> None:
    assert digits_of(example.small()) == 0
    fine = example.made(("a", "b"), (1000.3, 999.7), 0.04)
    assert digits_of(fine) == 2
    assert digits_of(replace(example.without_intervals(), scale="log-odds")) == 2


def test_shares_are_never_0_or_all_by_rounding() -> None:
    assert [percent(share) for share in (0.0004, 0.5, 0.9996, None)] == ["<1%", "50%", ">99%", "–"]


def test_more_votes_are_told_only_of_open_pairs() -> None:
    table = example.small().document().tables["pairs"]
    needed = {row[0]: row[-2] for row in table.rows}
    assert needed["kestrel"] == "0"
    assert needed["falcon"] not in ("0", "–")
    pair = nearest_open(example.small())
    assert isinstance(pair, PairContrast)
    assert (pair.first, pair.second) == ("falcon", "heron")
    assert "each with a rater and prompt of its own" not in example.made(("a", "b"), (1000.0, 999.0), 9.0).summary()


def test_style_is_no_cause_and_a_side_has_a_direction() -> None:
    found = section(example.troubled(), "style")
    assert found.heading == "Answers with more tokens are preferred"
    unchecked = replace(example.troubled(), checks=())
    captions = [each.document().tables["style"].caption for each in (example.troubled(), unchecked)]
    assert ["the side between equals" in caption for caption in captions] == [False, True]
    none = replace(example.troubled(), covariates=example.troubled().covariates[2:])
    assert not has(none, "style")


def test_categories_say_how_many_departures_luck_would_show() -> None:
    found = section(example.troubled(), "categories")
    assert found.heading == "Ratings differ by scenario"
    assert "2 of 18 cells exclude 0; chance alone gives about 1" in texts(found)
    assert "poetry" in texts(found)
    by = example.troubled().categories
    assert by is not None
    unclear = replace(example.troubled(), categories=replace(by, p_value=0.4))
    assert section(unclear, "categories").heading == "No difference by scenario is established"
