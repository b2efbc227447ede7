"""The page of lab and live: its answer, what can be acted on, its parts on hand-made results, and names as text."""

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

from evalstats.analysis.gap.gap import gap
from evalstats.analysis.gap.layers import Part
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.errors import InputError
from evalstats.report.engine import find_page
from evalstats.report.lab_live import (
    actions,
    again,
    agreement,
    blocks,
    method,
    mix,
    models,
    opening,
    plain,
    slices,
    trust,
)
from evalstats.report.lab_live import page as page_of
from evalstats.report.lab_live.names import lab_live_page_names, with_lab_live_names
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import float_block
from evalstats.report.names import LONGEST
from evalstats.report.qmd import check_constructs, read_document
from evalstats.schema.plan import PlanAccount
from tests.analysis.gap import example_gap as example
from tests.report.test_leaderboard_page import words

PARTS: tuple[Callable[[LabLivePage], str], ...] = (
    opening.title, opening.simulated, opening.departures, opening.verdict, opening.facts, opening.warnings,
    actions.what_this_means, agreement.overall, agreement.within_parts, agreement.pairs, agreement.slices, models.gaps,
    models.line, models.differences, mix.parts, slices.scenarios, slices.drops, slices.forecasts, trust.not_answered,
    trust.threats, plain.on_page, plain.appendix, method.paragraph, method.other_lines, method.reference_list, method.notes,
    method.reproduce, method.provenance,
)  # fmt: skip
EXAMPLES = (
    example.one_scale, example.votes, example.without_errors, example.four, example.invalid, example.aligned,
    example.hostile,
)  # fmt: skip


def shown(found: LabLiveGap) -> LabLivePage:
    """The page of a result, as `open_page` makes it."""
    names = lab_live_page_names(found)
    return LabLivePage(
        found=with_lab_live_names(found, names),
        engine="an engine",
        rendered=date(2025, 11, 21),
        reproduce="import evalstats as es",
        full_names=tuple((short, name) for name, short in names.items()),
    )


@pytest.fixture(scope="module", autouse=True)
def undrawn() -> Any:
    """Figures are drawn where a page is rendered; here their caption and their words stand for them."""

    def figure(_figure: object, label: str, *, caption: str, after: str = "") -> str:
        return float_block(label, f"```{{=html}}\n{after}\n```", caption)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "figure_float", figure)
        yield


@pytest.fixture(scope="module")
def one_scale() -> LabLivePage:
    return shown(example.one_scale())


@pytest.fixture(scope="module")
def parts_of_hostile() -> dict[str, str]:
    page = shown(example.hostile())
    return {f"{part.__module__.rpartition('.')[2]}.{part.__name__}": part(page) for part in PARTS}


def told(found: LabLiveGap) -> str:
    return " ".join(f"{each.do} {each.why}" for each in actions.actions(found))


# --- the opening ---------------------------------------------------------------------------------------------------


def test_the_title_is_the_question(one_scale: LabLivePage) -> None:
    text = opening.title(one_scale).replace("\\", "")
    assert "Does rutbench predict support-app?" in text
    assert "12 models: success in the lab against success live" in text


def test_the_answer_is_three_sentences_and_what_not_to_conclude(one_scale: LabLivePage) -> None:
    text = words(opening.verdict(one_scale))
    assert "1 of 12 models has a gap: grebe lies below what its lab score leads to expect." in text
    assert "The lab's order of models says something about the live one: Spearman 0.8" in text
    assert "On average over models, live scores lie" in text
    assert "Not to conclude: that the " in text
    assert "What is estimated: live less what the lab score leads to expect" in text
    assert opening.headline_number(one_scale.found) == ("1 of 12", "models has a gap")


def without_gaps(found: LabLiveGap) -> LabLiveGap:
    rows = tuple(replace(row, verdict="inconclusive", difference_verdict="inconclusive") for row in found.rows)
    return replace(found, rows=rows, level=None, verdict="inconclusive")


def test_the_large_number_is_the_one_that_the_answer_is_about() -> None:
    found = example.one_scale()
    level = found.level
    assert level is not None
    bare = without_gaps(found)
    drop = replace(level, estimate=-0.1, conf_low=-0.13, conf_high=-0.07, verdict="gap")
    about_level = replace(bare, level=drop, verdict="gap")
    amount, words_ = opening.headline_number(about_level)
    assert (amount, words_) == ("−10.0 pp", "live less lab, 95% [−13.0, −7.0]")
    text = words(opening.verdict(shown(about_level)))
    assert "What is estimated: the mean of live less lab success over these 12 models; of one model, live less" in text
    row = found.agreement.of("spearman")
    assert opening.headline_number(bare)[0] == f"{row.estimate:.2f}"
    assert opening.headline_number(bare)[1].startswith("Spearman, 95% [")
    assert "es-neutral" in opening.verdict(shown(bare))
    assert opening.headline_number(example.aligned()) == ("10 of 10", "models are aligned")
    assert opening.headline_number(example.four())[1].startswith("live less lab, 95% [")
    assert opening.headline_number(replace(example.four(), level=None))[1] == "models differ live from the lab"


def test_no_number_is_claimed_without_an_interval() -> None:
    found = without_gaps(example.one_scale())
    row = replace(found.agreement.of("spearman"), intervals=())
    others = tuple(each for each in found.agreement.coefficients if each.name != "spearman")
    found = replace(found, agreement=replace(found.agreement, coefficients=(row, *others)))
    assert opening.headline_number(found) == ("", "")
    assert "without an interval" in opening.order_sentence(found)


@pytest.mark.parametrize(("low", "high", "said"), [(-0.2, 0.4, "is not shown"), (-0.9, -0.1, "the other way round")])
def test_the_interval_decides_what_is_said_of_the_order(low: float, high: float, said: str) -> None:
    found = example.one_scale()
    row = found.agreement.of("spearman")
    row = replace(row, intervals=tuple(replace(each, conf_low=low, conf_high=high) for each in row.intervals))
    others = tuple(each for each in found.agreement.coefficients if each.name != "spearman")
    found = replace(found, agreement=replace(found.agreement, coefficients=(row, *others)))
    assert said in opening.order_sentence(found)


def test_an_invalid_comparison_is_no_absence_of_gaps() -> None:
    text = words(opening.verdict(shown(example.without_errors())))
    assert "No gap can be told" in text
    assert "Not to conclude: that there is no gap" in text


def test_facts_say_what_it_rests_on(one_scale: LabLivePage) -> None:
    found = {label: (value, note) for label, value, note in opening.key_facts(one_scale.found)}
    assert found["Models in both"] == ("12", "2 only in the lab, 1 only live")
    assert found["Lab"] == ("400 items", "120 tasks")
    assert found["Live"] == ("6,120 sessions", "1,840 users")
    assert found["Reliability"] == ("96% / 95%", "of the variance between models is not noise, lab / live")
    assert found["Ceiling"][0] == f"{one_scale.found.agreement.of('spearman').ceiling:.2f}"
    assert found["Detectable"][0].endswith(" pp")
    without = {label: (value, note) for label, value, note in opening.key_facts(example.without_errors())}
    assert without["Lab"] == ("62 models", "published numbers, no standard errors")
    assert "Detectable" not in without


def test_what_departs_from_the_plan_is_said_once() -> None:
    plan = PlanAccount(source="evalstats.toml", digest="1" * 64, departures=("departs from the plan: margin 5 pp",))
    page = shown(replace(example.one_scale(), plan=plan, warnings=plan.departures))
    assert "not what was planned" in words(opening.departures(page))
    assert opening.warnings(page) == ""
    assert "1" * 64 in method.provenance(page)


def test_simulated_data_are_called_so() -> None:
    page = shown(replace(example.one_scale(), notes=("simulated: nobody asked",)))
    assert "These data are simulated" in opening.simulated(page)
    assert "simulated" not in method.notes(page)


# --- what this means -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EXAMPLES, ids=lambda make: make.__name__)
def test_there_are_at_most_five_actions_each_with_a_number(make: Callable[[], LabLiveGap]) -> None:
    said = actions.actions(make())
    assert 1 <= len(said) <= 5
    assert len({each.do for each in said}) == len(said)
    for each in said:
        assert each.do.endswith(".")
        assert re.search(r"\d", each.why) or "standard errors" in each.do, each


def test_whom_to_distrust_is_named_with_the_interval(one_scale: LabLivePage) -> None:
    found = one_scale.found
    action = actions.whom_to_distrust(found)
    assert action is not None
    assert action.do == "Do not rely on the lab score of grebe."
    assert "Live less expected: grebe −2" in action.why
    quiet = actions.whom_to_distrust(
        replace(found, rows=tuple(replace(row, verdict="inconclusive") for row in found.rows))
    )
    assert quiet is not None
    assert "does not say that none does" in quiet.why


def test_only_a_mix_whose_interval_excludes_0_is_to_be_weighted(one_scale: LabLivePage) -> None:
    found = one_scale.found
    parts = found.decomposition
    assert parts is not None
    for low, high, do in ((0.01, 0.09, "Weight the lab"), (-0.02, 0.09, "Do not expect re-weighting")):
        mixed = Part(estimate=0.05, conf_low=low, conf_high=high)
        changed = replace(found, decomposition=replace(parts, overall=replace(parts.overall, mix=mixed)))
        action = actions.what_weights_repair(changed)
        assert action is not None
        assert action.do.startswith(do)
        assert "+5.0 pp" in action.why


def test_a_flagged_model_that_the_line_is_drawn_out_to_is_told_with_that() -> None:
    found = example.one_scale()
    end = tuple(replace(row, extrapolated=row.name == "grebe") for row in found.rows)
    told_ = told(replace(found, rows=end))
    assert (
        "Its lab score lies outside the others', so the line is drawn out to it: such a gap may be the line's." in told_
    )
    assert "drawn out to it" not in told(found)


def test_short_names_stay_on_one_line_and_long_ones_may_break() -> None:
    assert "es-names" in models.gaps(shown(example.one_scale()))
    assert "es-names" not in models.gaps(shown(example.hostile()))


def test_an_interval_of_no_width_is_none() -> None:
    found = example.one_scale()
    parts = tuple(replace(row, conf_low=row.spearman, conf_high=row.spearman) for row in found.agreement.parts)
    flat = replace(found, agreement=replace(found.agreement, parts=parts), lab=replace(found.lab, errors="none"))
    text = agreement.within_parts(shown(flat))
    assert "No interval: the lab scores have no errors" in text
    assert actions.use_of_ranks(replace(flat, lab=found.lab)) is None or "Spearman within" not in told(flat)


def test_ranks_are_used_only_where_the_interval_lets_them() -> None:
    found = example.one_scale()
    for low, do in (
        (0.2, "Among the live top 5 do not rely on the lab's order alone: it is better than chance"),
        (0.7, "Among these models, the live top 5, the lab's order is usable."),
        (-0.1, "Do not choose among the live top 5"),
    ):
        parts = tuple(
            replace(row, conf_low=low, conf_high=0.9) if row.kind == "top" else row for row in found.agreement.parts
        )
        action = actions.use_of_ranks(replace(found, agreement=replace(found.agreement, parts=parts)))
        assert action is not None
        assert action.do.startswith(do)


def test_without_errors_no_rank_is_recommended() -> None:
    said = told(example.without_errors())
    assert "usable" not in said
    assert "Get standard errors of the lab and live scores." in said


def test_scenarios_to_add_are_those_that_live_users_bring(one_scale: LabLivePage) -> None:
    parts = one_scale.found.decomposition
    assert parts is not None
    bare = [cell.cell for cell in parts.cells if cell.status == "lab never covers"]
    assert bare
    assert f"Add lab items of {bare[0]}" in told(one_scale.found)


def test_more_data_are_asked_of_the_noisier_side() -> None:
    found = example.one_scale()
    line = found.line
    assert line is not None
    quiet = replace(found, line=replace(line, tau=0.0, tau_low=0.0))
    for lab, live, first in ((0.09, 0.01, "lab items"), (0.001, 0.05, "live data")):
        noisy = replace(quiet, lab=replace(found.lab, noise=lab), live=replace(found.live, noise=live))
        assert f"get more {first} first" in told(noisy)
    spread = replace(found, line=replace(line, tau=0.5, tau_low=0.3))
    assert "Do not expect more items or users" in told(spread)
    assert "Score 2 further models on both sides." in told(example.four())


# --- the evidence --------------------------------------------------------------------------------------------------


def csv_of(text: str, place: int = -1) -> pl.DataFrame:
    data = re.findall(r"base64,([A-Za-z0-9+/=]*)", text)
    return pl.read_csv(io.BytesIO(base64.b64decode(data[place])), infer_schema_length=None)


def test_figures_have_their_data_behind_them(one_scale: LabLivePage) -> None:
    found = one_scale.found
    assert csv_of(models.gaps(one_scale))["model"].to_list() == [row.name for row in found.rows]
    assert csv_of(agreement.pairs(one_scale)).height == 66
    assert found.decomposition is not None
    assert csv_of(mix.parts(one_scale)).height == len(found.decomposition.cells)
    assert found.hierarchy is not None
    assert csv_of(slices.forecasts(one_scale)).height == len(found.hierarchy.forecasts) + len(found.hierarchy.left_out)
    assert found.scenario_gaps is not None
    assert csv_of(slices.scenarios(one_scale)).height == len(found.scenario_gaps.means) + len(found.scenario_gaps.rows)


def test_what_is_missing_is_said_once_and_leaves_no_heading() -> None:
    page = shown(example.votes())
    for part in (models.differences, mix.parts, slices.scenarios, slices.drops):
        assert part(page) == ""
    text = words(trust.not_answered(page))
    assert "## What these data cannot answer" in text
    assert "a plain difference means nothing" in text
    assert trust.not_answered(shown(example.aligned())) == ""


def test_without_a_line_the_models_stand_in_a_table_with_the_reason() -> None:
    page = shown(example.four())
    text = words(models.gaps(page))
    assert "a line through fewer than 6 says nothing" in text
    assert "#fig-gaps" not in models.gaps(page)
    assert models.line(page) == method.other_lines(page) == ""
    assert "#fig-differences" in models.differences(page)


def test_a_figure_that_cannot_be_drawn_says_why() -> None:
    text = blocks.drawn(None, "fig-x", reason="too few", caption="c")
    assert words(text) == "No figure: too few."


def test_threats_stand_in_the_order_of_their_status(one_scale: LabLivePage) -> None:
    text = trust.threats(one_scale)
    rows = [words(row) for row in re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL) if "<td" in row]
    assert len(rows) == 7
    assert [row.strip().endswith("seen") for row in rows] == [True] * 2 + [False] * 5
    assert "Of 7 threats: 2 seen, 4 not ruled out, 1 ruled out." in words(text)
    assert text.count("es-pill es-caution") == 2


def test_the_method_says_why_york_and_what_the_family_is(one_scale: LabLivePage) -> None:
    text = words(method.paragraph(one_scale))
    assert "Why not plain regression" in text
    assert "at most 5% are expected to be none" in text
    assert "Why not plain regression" not in words(method.paragraph(shown(example.four())))
    works = words(method.reference_list(one_scale))
    assert "York" in works
    assert "Kitagawa" in works


def test_names_that_were_joined_and_those_that_were_not_are_told(one_scale: LabLivePage) -> None:
    text = words(method.notes(one_scale))
    assert "auk-2026-02-01 is auk" in text
    assert "owl-1 and owl" in text


# --- the question --------------------------------------------------------------------------------------------------


def test_code_repeats_the_question() -> None:
    options = {
        "by": ["scenario", "user_kind"], "margin": "5pp", "aliases": "some/folder/names.csv", "mix": "rutbench",
        "cluster": "auto", "top": (5, 10), "n_resamples": 2000, "min_cell": 10, "seed": 3,
    }  # fmt: skip
    code = again.code_again(
        options, "some/folder/evalstats.toml", again.Reading(lab="es.read('a')", live="es.read('b')")
    )
    call = ast.parse(code).body[-1]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    assert [ast.unparse(each) for each in call.value.args] == ["lab", "live"]
    assert {keyword.arg: ast.unparse(keyword.value) for keyword in call.value.keywords} == {
        "by": "['scenario', 'user_kind']", "margin": "'5pp'", "aliases": "read_aliases('names.csv')",
        "mix": "rutbench_live_mix()", "seed": "3", "plan": "es.read_plan('evalstats.toml')",
    }  # fmt: skip
    assert "some/folder" not in code
    given = again.code_again({"mix": {"factor": "scenario", "shares": {"a": 1.0}}}, None, again.Reading(both="x"))
    assert "LiveMix(factor='scenario', shares={'a': 1.0})" in given


def test_the_code_of_the_simulated_page_makes_what_the_page_shows() -> None:
    code = again.code_again({}, None, again.Reading())
    names: dict[str, Any] = {}
    exec(code.replace("es.gap(both.lab, both.live)", ""), names)  # noqa: S102 - the code that the page prints
    lab, live = page_of.simulated()
    assert names["both"].lab.outcomes.equals(lab.outcomes)
    assert names["both"].live.outcomes.equals(live.outcomes)


def test_defaults_of_the_page_are_those_of_the_question() -> None:
    asked = inspect.signature(gap).parameters
    for name, given in inspect.signature(page_of.open_page).parameters.items():
        if name in asked and name not in ("lab", "live"):
            assert given.default == asked[name].default, name
    assert {name: asked[name].default for name in again._USUAL} == again._USUAL


def test_one_side_alone_is_refused() -> None:
    with pytest.raises(InputError, match=r"two sides are needed: .* found lab"):
        page_of.open_page(lab="x")
    with pytest.raises(InputError, match="found store, lab, live"):
        page_of.open_page(store="x", lab="y", live="z")


# --- every part ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EXAMPLES, ids=lambda make: make.__name__)
def test_every_part_can_be_made_of_every_result(make: Callable[[], LabLiveGap]) -> None:
    page = shown(make())
    text = "\n\n".join(part(page) for part in PARTS)
    labels = re.findall(r"^::: \{#([a-z0-9-]+)\}$", text, re.MULTILINE)
    assert len(labels) == len(set(labels))
    assert "not drawn yet" not in text
    headings = re.findall(r"^#{2,3} .*\n\n(.)", text, re.MULTILINE)
    assert headings
    said = re.sub(r"\bNone (?:is|of)\b", "", words(text))
    for raw in ("nan", "None", "inf"):
        assert not re.search(rf"(?<![\w-]){raw}(?![\w-])", said), raw


def test_long_names_are_short_everywhere_different_and_in_full_once(parts_of_hostile: dict[str, str]) -> None:
    page = shown(example.hostile())
    names = [row.name for row in page.found.rows]
    assert len(set(names)) == 12
    assert max(map(len, names)) <= LONGEST
    full = [name for _, name in page.full_names]
    assert sorted(full) == sorted(name for name in example.HOSTILE if len(name) > LONGEST)
    for name in full:
        assert name in words(parts_of_hostile["method.provenance"])
        for part, text in parts_of_hostile.items():
            assert part == "method.provenance" or name not in words(text), part


@pytest.mark.parametrize("part", [f"{part.__module__.rpartition('.')[2]}.{part.__name__}" for part in PARTS])
def test_no_name_is_markup(part: str, parts_of_hostile: dict[str, str]) -> None:
    """Outside raw blocks every mark is escaped; inside them names are HTML text or Typst strings."""
    text = parts_of_hostile[part]
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
    check_constructs(read_document(find_page("lab-live").source))


def test_every_option_of_the_page_is_handed_on() -> None:
    """The first cell sets what `open_page` takes, and the second hands all of it on."""
    cells = read_document(find_page("lab-live").source).cells
    set_ = {target.id for statement in ast.parse(cells[0].code).body for target in getattr(statement, "targets", [])}
    call = next(
        node
        for node in ast.walk(ast.parse(cells[1].code))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "open_page"
    )
    assert {keyword.arg for keyword in call.keywords} == set_ == set(inspect.signature(page_of.open_page).parameters)


def test_no_module_of_the_page_shadows_an_option() -> None:
    """The page imports its parts into the namespace in which the options stand."""
    cells = read_document(find_page("lab-live").source).cells
    options = {target.id for node in ast.parse(cells[0].code).body for target in getattr(node, "targets", [])}
    imported = {
        name.asname or name.name
        for node in ast.walk(ast.parse(cells[1].code))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert not options & imported
