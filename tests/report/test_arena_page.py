"""The page of an arena: its answer, its parts on hand-made results, and names as text."""

import ast
import base64
import inspect
import io
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import polars as pl
import pytest

from evalstats.analysis.arena.check_result import CheckLine
from evalstats.analysis.arena.result import ArenaRanking
from evalstats.report.arena import choices, method, opening, pairs, plain, ranking, slices, trust
from evalstats.report.arena import page as page_of
from evalstats.report.arena.names import arena_page_names, with_arena_names
from evalstats.report.arena.page import ArenaPage
from evalstats.report.engine import find_page
from evalstats.report.names import LONGEST
from evalstats.report.qmd import check_constructs, read_document
from evalstats.schema.plan import PlanAccount
from tests.analysis.arena import example_ranking as example
from tests.report.page_words import words

PARTS: tuple[Callable[[ArenaPage], str], ...] = (
    opening.title, opening.simulated, opening.departures, opening.verdict, opening.facts, opening.warnings,
    ranking.forest, ranking.ratings, ranking.ranks, ranking.connections, pairs.matrix, pairs.neighbours,
    choices.other_choices, choices.style, slices.categories, trust.lines, trust.details, slices.drift,
    plain.on_page, plain.appendix, method.paragraph, method.reference_list, method.notes, method.reproduce,
    method.provenance,
)  # fmt: skip


def unfinished() -> ArenaRanking:
    """A fit that did not converge."""
    return replace(example.small(), converged=False, warnings=("the fit did not converge",))


def unchecked() -> ArenaRanking:
    """Without checks."""
    found = example.small()
    return replace(found, checks=found.checks[:1])


EXAMPLES = (
    example.small, example.disconnected, example.without_intervals, example.weakly_linked, example.troubled, unfinished,
    unchecked,
)  # fmt: skip


def shown(found: ArenaRanking) -> ArenaPage:
    """The page of a result, as `open_page` makes it."""
    names = arena_page_names(found)
    return ArenaPage(
        found=with_arena_names(found, names),
        engine="an engine",
        rendered=date(2025, 11, 21),
        reproduce="import evalstats as es",
        full_names=tuple((short, name) for name, short in names.items()),
    )


@pytest.fixture(scope="module", autouse=True)
def working_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Figures for the PDF are written into the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        yield


@pytest.fixture(scope="module")
def small() -> ArenaPage:
    return shown(example.small())


@pytest.fixture(scope="module")
def troubled() -> ArenaPage:
    return shown(example.troubled())


@pytest.fixture(scope="module")
def parts_of_troubled(troubled: ArenaPage) -> dict[str, str]:
    return {f"{part.__module__.rpartition('.')[2]}.{part.__name__}": part(troubled) for part in PARTS}


# --- the opening ---------------------------------------------------------------------------------------------------


def test_the_title_is_the_question(small: ArenaPage) -> None:
    text = opening.title(small)
    assert "Whom do the votes of example arena prefer" in text
    assert "5 models, 4,200 votes between two of them" in text.replace("\\", "")


def test_the_answer_takes_three_sentences_and_says_what_not_to_conclude(small: ArenaPage) -> None:
    text = words(opening.verdict(small))
    assert "2 of 5 models may be the best, the votes do not tell which: falcon and heron." in text
    assert "3 of 5 ranks are certain, and 9 of 10 pairs of models are separated (95%, all together)." in text
    assert "None of the 2 checks that could be run warns." in text
    assert "Not to conclude: that the order of the lines is a ranking" in text
    assert "right more often" in text
    assert opening.headline_number(small.found) == ("2 of 5", "models may be the best")


def test_another_model_under_another_choice_is_in_the_answer(troubled: ArenaPage) -> None:
    said = opening.reliance_sentence(troubled.found)
    assert said.startswith("Another choice (without covariates) rates a|b")
    assert "11 of 14 checks warn: sides, raters, duplicates and 8 more." in said


def test_parts_have_no_number_over_all(small: ArenaPage) -> None:
    page = shown(example.disconnected())
    text = words(opening.verdict(page))
    assert "There is no ranking over all 9 models" in text
    assert "that ratings of different parts can be compared" in text
    assert opening.headline_number(page.found) == ("", "")
    assert 'class="es-number"' not in opening.verdict(page)
    assert "different parts" not in words(opening.verdict(small))


def test_without_intervals_no_rank_is_told(small: ArenaPage) -> None:
    page = shown(example.without_intervals())
    text = words(opening.verdict(page))
    assert "No rank can be told: the votes come from 4 raters" in text
    assert "that a model rated higher is the better one" in text
    assert opening.certain_sentence(page.found) == ""
    assert "No rank can be told" in words(ranking.ranks(page))
    assert "No pair is compared" in words(pairs.neighbours(page))
    assert "fig-wins" not in pairs.matrix(page)
    assert "fig-wins" in pairs.matrix(small)


def test_a_fit_that_did_not_converge_shows_no_number() -> None:
    page = shown(unfinished())
    assert opening.headline_number(page.found) == ("", "")
    for part in (ranking.forest, ranking.ratings, ranking.ranks, pairs.matrix, pairs.neighbours, trust.lines):
        assert "1060" not in part(page)
        assert "#fig-" not in part(page)


def test_facts_say_what_it_rests_on() -> None:
    found = {label: (value, note) for label, value, note in opening.key_facts(example.troubled())}
    assert found["Models"] == ("6", "15 of 15 pairs met")
    assert found["Votes"] == ("9,000", "6,300 for one of the two")
    assert found["Raters"] == ("124", "worth 43 equal ones")
    assert found["Prompts"] == ("130", "of about one size")
    assert found["Checks"] == ("11 warn", "of 14 run, 1 not run")
    assert found["No outcome"] == ("37", "further votes, left out")
    alone = opening.key_facts(replace(example.small(), clusters=()))
    assert ("Clusters", "none", "every vote taken as independent") in alone


def test_what_departs_from_the_plan_is_said_once() -> None:
    plan = PlanAccount(
        source="evalstats.toml", digest="1" * 64, departures=("departs from the plan: clusters a given, b declared",)
    )
    page = shown(replace(example.small(), plan=plan, warnings=plan.departures))
    assert "not what was planned" in words(opening.departures(page))
    assert opening.warnings(page) == ""
    assert "1" * 64 in method.provenance(page)


def test_simulated_votes_are_called_so() -> None:
    page = shown(replace(example.small(), notes=("simulated: nobody voted",)))
    assert "These votes are simulated" in opening.simulated(page)
    assert "simulated" not in method.notes(page)


# --- ratings, ranks, pairs -----------------------------------------------------------------------------------------


def csv_of(text: str) -> pl.DataFrame:
    data = re.findall(r"base64,([A-Za-z0-9+/=]*)", text)
    return pl.read_csv(io.BytesIO(base64.b64decode(data[-1])), infer_schema_length=None)


def test_figures_have_their_data_behind_them(small: ArenaPage) -> None:
    found = csv_of(ranking.forest(small))
    assert found["model"].to_list() == [row.name for row in small.found.rows]
    assert found["estimate"].to_list() == [row.estimate for row in small.found.rows]
    assert csv_of(pairs.matrix(small)).height == 10


def test_certain_ranks_are_named_and_the_others_are_counted(small: ArenaPage) -> None:
    said = " ".join(ranking.certain_words(small.found))
    assert said.startswith("Certain: kestrel (3), osprey (4) and wren (5).")
    assert "The other 2 models may stand in 2 places each." in said
    row = replace(small.found.rows[2], rank_arena=1)
    outside = replace(small.found, rows=(*small.found.rows[:2], row, *small.found.rows[3:]))
    assert "For kestrel the arena's rank is outside the set" in " ".join(ranking.certain_words(outside))


def test_long_tables_are_folded_away() -> None:
    page = shown(example.large())
    assert "All 60 models as a table" in words(ranking.ratings(page))
    assert "All rank sets as a figure" in words(ranking.ranks(page))
    assert "Each model against the next: 20 pairs" in words(pairs.neighbours(page))
    assert "es-fold" not in ranking.ratings(shown(example.small()))


def test_parts_are_told_and_the_graph_is_open_where_something_is_wrong(small: ArenaPage) -> None:
    page = shown(example.disconnected())
    text = words(ranking.connections(page))
    assert "the 9 models fall into 3 parts" in text
    assert "es-fold" not in ranking.connections(page)
    assert "es-fold" in ranking.connections(small)
    weak = ranking.connections(shown(example.weakly_linked()))
    assert "es-fold" not in weak
    assert "hang by fewer than 10 wins" in words(weak)
    assert "Not looked at: the votes leave several parts" in words(choices.other_choices(page))


def test_where_all_ranks_are_certain_the_order_is_a_ranking() -> None:
    found = example.small()
    rows = tuple(replace(row, rank_low=place, rank_high=place) for place, row in enumerate(found.rows, start=1))
    assert "that a certain difference is a large one" in opening.not_to_conclude(replace(found, rows=rows))


def test_without_a_graph_nothing_is_said_of_connections() -> None:
    assert ranking.connections(shown(replace(example.small(), graph=None))) == ""


def test_style_is_called_no_cause(troubled: ArenaPage) -> None:
    text = words(choices.style(troubled))
    assert "whether users like it for itself, votes do not tell" in text
    assert "#fig-style" in choices.style(troubled)
    assert "say nothing of the side or of the style" in words(choices.style(shown(example.small())))


# --- trust ---------------------------------------------------------------------------------------------------------


def test_every_check_has_a_line_with_its_status(troubled: ArenaPage) -> None:
    text = trust.lines(troubled)
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
    told = [words(row) for row in rows if "<td" in row]
    assert len(told) == 15
    assert [row.split()[-1] for row in told] == ["warning"] * 11 + ["ok"] * 3 + ["run"]
    assert "11 warn, 3 found nothing amiss, 1 could not be run" in words(text)
    assert "no proof" in words(text)
    assert text.count("es-pill es-caution") == 11


def test_numbers_behind_warnings_are_folded_away(troubled: ArenaPage, small: ArenaPage) -> None:
    text = trust.details(troubled)
    assert "es-fold" in text
    assert len(re.findall(r"^::: \{#tbl-check-", text, re.MULTILINE)) >= 4
    assert trust.details(small) == ""
    assert "switched off" in words(trust.lines(shown(unchecked())))
    assert "was not looked at" in opening.reliance_sentence(unchecked())
    assert "Checks" not in {label for label, _, _ in opening.key_facts(unchecked())}


def test_drift_is_drawn_or_the_reason_is_given(troubled: ArenaPage) -> None:
    assert "#fig-drift" in slices.drift(troubled)
    line = CheckLine(check="drift", title="Drift", status="not run", finding="the votes have no times")
    silent = shown(replace(example.small(), checks=(line,)))
    assert "Not looked at: the votes have no times." in words(slices.drift(silent))
    assert slices.drift(shown(unchecked())) == ""


def test_categories_are_there_where_asked_for(troubled: ArenaPage, small: ArenaPage) -> None:
    text = slices.categories(troubled)
    assert text.startswith("## By scenario")
    assert csv_of(text).height == 18
    assert slices.categories(small) == ""


# --- method --------------------------------------------------------------------------------------------------------


def test_works_are_those_of_what_was_done(small: ArenaPage, troubled: ArenaPage) -> None:
    first, second = method.references(small.found), method.references(troubled.found)
    assert any("Bradley" in work for work in first)
    assert any("Davidson" in work for work in second)
    assert not any("Robinson" in work for work in first)
    assert any("Robinson" in work for work in second)
    assert first == sorted(set(first))


def test_code_repeats_the_question() -> None:
    options = {
        "ties": "davidson", "cluster": ["rater"], "covariates": "auto", "side": False, "by": None, "both_bad": "tie",
        "prior": 0.5, "anchor": None, "scale": "elo", "models": None, "conf_level": None, "n_resamples": None,
        "online": False, "checks": True, "seed": 3,
    }  # fmt: skip
    code = page_of.code_again(options, "some/folder/evalstats.toml", "es.read('x.csv')")
    call = ast.parse(code).body[-1]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.value.keywords}
    assert given == {
        "ties": "'davidson'", "cluster": "['rater']", "covariates": "'auto'", "prior": "0.5", "seed": "3",
        "plan": "es.read_plan('evalstats.toml')",
    }  # fmt: skip
    assert "simulate_arena" in page_of.code_again({}, None, "")


def test_defaults_of_the_page_are_those_of_the_question() -> None:
    from evalstats.analysis.arena.arena import arena

    asked = inspect.signature(arena).parameters
    for name, given in inspect.signature(page_of.open_page).parameters.items():
        if name in asked:
            assert given.default == asked[name].default, name
    assert {name: asked[name].default for name in page_of._USUAL} == page_of._USUAL


# --- every part ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EXAMPLES, ids=lambda make: make.__name__)
def test_every_part_can_be_made_of_every_result(make: Callable[[], ArenaRanking]) -> None:
    page = shown(make())
    text = "\n\n".join(part(page) for part in PARTS)
    labels = re.findall(r"^::: \{#([a-z0-9-]+)\}$", text, re.MULTILINE)
    assert len(labels) == len(set(labels))
    said = words(text).replace("None of ", "").replace("None is certain", "")
    for raw in ("nan", "None", "inf"):
        assert not re.search(rf"(?<![\w-]){raw}(?![\w-])", said), raw


def test_long_names_are_short_everywhere_different_and_in_full_once(
    troubled: ArenaPage, parts_of_troubled: dict[str, str]
) -> None:
    names = [row.name for row in troubled.found.rows]
    assert len(set(names)) == 6
    assert max(map(len, names)) <= LONGEST
    full = dict(troubled.full_names)
    assert sorted(full.values()) == sorted(name for name in example.HOSTILE if len(name) > LONGEST)
    assert {pair.first for pair in troubled.found.pairs} <= set(names)
    for name in full.values():
        assert name in words(parts_of_troubled["method.provenance"])
        for part, text in parts_of_troubled.items():
            assert part == "method.provenance" or name not in words(text), part


@pytest.mark.parametrize("part", [f"{part.__module__.rpartition('.')[2]}.{part.__name__}" for part in PARTS])
def test_no_name_is_markup(part: str, parts_of_troubled: dict[str, str]) -> None:
    """Outside raw blocks every mark is escaped; inside them names are HTML text or Typst strings."""
    text = parts_of_troubled[part]
    outside = re.sub(r"(?ms)^(`{3,})\{=(html|typst)\}\n.*?\n\1$", "", text)
    assert not re.search(r"(?<!\\)\$|(?<![\\(])<|(?<!\\)\{\{|(?<!\\)`", outside)
    for block in re.findall(r"(?ms)^`{3,}\{=html\}\n(.*?)\n`{3,}$", text):
        assert "<script" not in block
        assert "\x1b" not in block
    for block in re.findall(r"(?ms)^`{3,}\{=typst\}\n(.*?)\n`{3,}$", text):
        strings = re.sub(r'"(?:\\.|[^"\\])*"', "", block)
        assert "$" not in strings
        assert "script" not in strings


def test_the_page_uses_only_what_both_engines_know() -> None:
    check_constructs(read_document(find_page("arena").source))


def test_every_option_of_the_page_is_handed_on() -> None:
    """The first cell sets what `open_page` takes, and the second hands all of it on."""
    cells = read_document(find_page("arena").source).cells
    set_ = {target.id for statement in ast.parse(cells[0].code).body for target in getattr(statement, "targets", [])}
    call = next(
        node
        for node in ast.walk(ast.parse(cells[1].code))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "open_page"
    )
    assert {keyword.arg for keyword in call.keywords} == set_ == set(inspect.signature(page_of.open_page).parameters)
