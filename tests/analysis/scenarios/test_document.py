"""What is said of scenarios is true of the result, in either direction of better, short, and claims no more than that."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from evalstats import EvalData, from_frame
from evalstats.analysis.scenarios.document import items_to_settle
from evalstats.analysis.scenarios.evidence import worst_first
from evalstats.analysis.scenarios.result import ChangeRow, Crossing, EffectRow, RankingChange, ScenarioModel, TermTest
from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.document.formats import to_html, to_markdown
from evalstats.document.latex import to_latex
from evalstats.document.model import Figure
from evalstats.document.terminal import headline, to_text
from evalstats.errors import CannotAnswerError
from tests.analysis.scenarios import example

ALL: dict[str, Callable[[], ScenarioModel]] = {
    "rut": example.rut,
    "small": example.small,
    "medium": example.medium,
    "random": example.random_scenarios,
    "missing": example.with_missing_cells,
    "without answer": example.without_answer,
    "costs": example.costs,
    "hostile": example.hostile,
}


@pytest.fixture(scope="module", params=ALL)
def result(request: pytest.FixtureRequest) -> ScenarioModel:
    return ALL[request.param]()


def in_one_line(found: ScenarioModel) -> str:
    return " ".join(to_text(found.document(), full=True, width=10_000).split())


def turned(found: ScenarioModel) -> ScenarioModel:
    """Return the same result for the metric counted the other way round: 1 - score, lower is better."""

    def flip(value: float | None) -> float | None:
        return None if value is None else 1 - value

    def negative(value: float | None) -> float | None:
        return None if value is None else -value

    def scores(rows: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            replace(row, estimate=flip(row.estimate), conf_low=flip(row.conf_high), conf_high=flip(row.conf_low))
            for row in rows
        )

    return replace(
        found,
        about=replace(found.about, name="failure", higher_is_better=not found.higher_is_better),
        cells=scores(found.cells),
        models=scores(found.models),
        scenarios=scores(found.scenarios),
        drops=tuple(
            replace(
                row,
                estimate=negative(row.estimate),
                conf_low=negative(row.conf_high),
                conf_high=negative(row.conf_low),
                paired=negative(row.paired),
                paired_low=negative(row.paired_high),
                paired_high=negative(row.paired_low),
            )
            for row in found.drops
        ),
    )


# --- every result ---


def test_the_answer_is_short_and_every_text_reads_well(result: ScenarioModel) -> None:
    document = result.document()
    short = to_text(document, hint="more").splitlines()
    hostile = result.benchmark == "b $y$ <b>"
    assert len(short) <= (40 if hostile else 30)
    assert all(len(line) <= 80 or "long-name-long" in line for line in short)
    assert headline(document).count("\n") == 0
    line = in_one_line(result)
    for wrong in ("None", "nan", "inf]", " ,", "—", "..", ";.", ":."):
        assert wrong not in line.replace("...", "").replace("…", ""), wrong
    for view in (to_markdown(document), to_html(document), to_latex(document)):
        assert len(view) > 300
    assert result.summary().startswith(tuple(note.line for note in document.banners) or document.headline)


def test_label_and_colour_are_those_of_the_verdicts(result: ScenarioModel) -> None:
    tones = {
        "breaks shown": "bad",
        "none shown": "caution",
        "scores only": "neutral",
        "scenarios sampled": "neutral",
        "no answer": "bad",
        "not converged": "bad",
    }
    document = result.document()
    assert document.label == result.verdict
    assert document.tone == tones[result.verdict]
    shown = result.converged and any(row.verdict == "drop" for row in result.drops)
    assert (result.verdict == "breaks shown") == shown


def test_every_caution_and_reason_is_said(result: ScenarioModel) -> None:
    document = result.document()
    for note in result.notes:
        assert note in document.notes
    if result.answered:
        for row in result.drops:
            if row.verdict == "invalid":
                assert any(row.verdict_reason in note.text for note in document.cautions)


def test_every_table_has_every_row_for_the_csv(result: ScenarioModel) -> None:
    tables = result.document().tables
    if result.answered:
        assert len(tables["scenarios"].frame["model"]) == len(result.drops or result.cells)
        assert len(tables["cells"].frame["model"]) == len(result.cells)


# --- the answer ---


def test_the_headline_counts_who_does_worse_and_the_number_is_the_worst() -> None:
    rates = np.array([[0.8, 0.4], [0.7, 0.35]])
    both = example.made(rates, ("alpha", "beta"), ("ideal", "rude"), n_items=200)
    assert both.document().headline == "Both models do worse in rude than in ideal; rude costs alpha most"
    difficult = replace(both, by_user=True).document()
    assert difficult.headline == "Both models do worse with difficult users; rude costs alpha most"
    document = example.rut().document()
    assert document.headline.startswith("17 of 19 models do worse in some scenario than in ideal; ")
    assert document.number == "−29.2 pp"
    assert document.number_words == "GLM-5.1 in fabricated_parameters, 95% CI −37.9 to −20.5"


def test_what_is_open_is_said_with_the_largest_drop_that_it_leaves() -> None:
    found = example.small()
    drops = tuple(
        replace(row, estimate=-0.02, conf_low=-0.11, conf_high=0.07, p_adjusted=0.6, verdict="not shown")
        for row in found.drops
    )
    document = replace(found, drops=drops).document()
    assert (document.label, document.number) == ("none shown", "Up to −11.0 pp")
    assert document.headline == "No model is shown to do worse in any scenario than in ideal"
    assert "not ruled out for beta in impatient" in document.number_words


def test_a_failed_fit_answers_nothing() -> None:
    found = example.without_answer()
    assert not found.answered
    document = found.document()
    assert document.evidence == ()
    assert document.answer == ()
    assert "its numbers answer nothing" in document.headline
    invalid = replace(found, converged=True)
    assert invalid.verdict == "no answer"
    assert "fewer than 5 give no interval" in invalid.document().headline


def test_a_single_model_is_told_by_its_scenarios() -> None:
    rates = np.array([[0.8, 0.5, 0.78, 0.3]])
    found = example.made(rates, ("alpha",), ("ideal", "vague", "polite", "hostile"), n_items=200)
    found = replace(found, tests=())
    document = found.document()
    assert document.title == "Where does alpha break on RUT-Bench?"
    assert document.headline == "alpha does worse in hostile and vague than in ideal"
    assert document.number == "−50.0 pp"
    rows = document.tables["scenarios"].rows
    assert [row[0] for row in rows] == ["ideal", "hostile", "vague", "polite"]
    assert document.section("models") is None


def test_sampled_scenarios_are_told_by_their_spread() -> None:
    found = example.random_scenarios()
    document = found.document()
    # The root of the variance .41.
    assert document.number == "SD 0.64 log-odds"
    shares = replace(found, family="gaussian").document()
    assert shares.number == "SD 64.0 pp"
    assert shares.tables["variation"].caption.endswith("standard deviations in pp")
    assert document.headline == "Scenarios differ, and no single one stands out"
    nothing = TermTest(term="env_id", method="likelihood ratio of a variance", role="check", p_value=0.23)
    assert "are not shown to differ (p = 0.23)" in replace(found, tests=(nothing,)).document().headline
    assert document.section("changes") is None
    one = replace(found.drops[0], verdict="drop", conf_low=-0.3, conf_high=-0.1, estimate=-0.2)
    assert replace(found, drops=(one, *found.drops[1:])).document().section("changes") is not None


def test_where_lower_is_better_the_story_is_the_same() -> None:
    found = example.rut()
    other = turned(found)
    assert other.document().headline == found.document().headline
    assert (found.document().number, other.document().number) == ("−29.2 pp", "+29.2 pp")
    for one, two in zip(worst_first(found.drops, found), worst_first(other.drops, other), strict=True):
        assert (one.model, one.scenario) == (two.model, two.scenario)
    best, other_best = (each.document().section("models") for each in (found, other))
    assert best is not None
    assert other_best is not None
    assert best.heading == other_best.heading
    assert "lower is better" in other.document().scope


# --- beside the answer ---


def test_an_interaction_is_the_test_and_not_two_verdicts() -> None:
    found = example.small()
    assert {row.verdict for row in found.drops} == {"drop", "not shown"}
    test = TermTest(term="model:scenario", method="Wald", role="headline", p_value=0.31)
    text = in_one_line(replace(found, tests=(test,)))
    assert "Models are not shown to differ in where they break (p = 0.31)" in text
    assert "One change shown and another not does not mean that the two differ" in text
    shown = in_one_line(replace(found, tests=(replace(test, p_value=0.049),)))
    assert "Models differ in where they break (p = 0.049)." in shown
    strict = replace(found, tests=(replace(test, p_value=0.049),), conf_level=0.99)
    assert "Models differ in where" not in in_one_line(strict)
    alone = TermTest(term="scenario", method="Wald", role="headline", p_value=1e-9)
    assert "in where they break (p" not in in_one_line(replace(found, tests=(alone,)))


def test_crossings_that_are_not_shown_are_no_change_of_order() -> None:
    ranking = RankingChange(shown=False, p_value=0.4, method="x", n_crossed=3)
    document = replace(example.small(), ranking=ranking).document()
    assert "The two are not shown to swap order" in to_text(document).replace("\n", " ")
    assert document.section("order") is None
    names = {"first": "alpha", "second": "beta", "ahead_in": "ideal", "behind_in": "impatient"}
    swap = Crossing(**names, ahead_by=0.08, behind_by=0.16, p_value=0.01, p_adjusted=0.02, shown=True)
    crossings = (swap, replace(swap, shown=False))
    told = replace(example.small(), ranking=RankingChange(shown=True, p_value=0.02, crossings=crossings)).document()
    assert len(told.tables["order"].rows) == 1
    assert told.tables["order"].rows[0][3:6] == (0.08, "impatient", -0.16)


def test_a_drop_that_the_differences_within_items_doubt_is_named() -> None:
    found = example.small()
    doubted = replace(found.drop("alpha", "impatient"), paired_low=-0.5, paired_high=0.01)
    drops = tuple(doubted if row.model == "alpha" else row for row in found.drops)
    words = "Within items alone the interval includes 0 for alpha in impatient"
    assert any(words in note.text for note in replace(found, drops=drops).document().cautions)
    assert not any(words in note.text for note in found.document().cautions)


def test_a_change_whose_interval_excludes_0_and_is_not_shown_has_its_reason() -> None:
    found = example.small()
    reason = "only 3 items differ between the two; 6 are needed"
    row = replace(found.drop("alpha", "impatient"), verdict="not shown", verdict_reason=reason)
    drops = tuple(row if each.model == "alpha" else each for each in found.drops)
    assert any(reason in note.text for note in replace(found, drops=drops).document().cautions)


def test_more_items_are_asked_for_by_the_square_of_what_is_missing() -> None:
    row = ChangeRow(model="m", scenario="s", reference="r", estimate=-0.1, conf_low=-0.25, conf_high=0.05, n_items=100)
    assert items_to_settle(row) == 230  # 1.5 squared, rounded up to two digits
    assert items_to_settle(replace(row, conf_high=-0.05)) is None
    assert items_to_settle(replace(row, estimate=0.0)) is None


def test_hostile_names_stay_text() -> None:
    document = example.hostile().document()
    page, markdown, latex = to_html(document), to_markdown(document), to_latex(document)
    assert "<script>" not in page
    assert "<img" not in page
    # Within a fence of code names are what they are.
    assert "<script>" not in re.sub(r"````python.*?````", "", markdown, flags=re.DOTALL)
    assert r"\textbf{z}" not in latex
    text = to_text(document, full=True)
    # Names that differ stay different at 80 columns.
    names = {line.split()[0] for line in text.splitlines() if line.startswith("long-name") or "long-name" in line[:30]}
    assert len(names) >= 2


def test_beside_the_levels_of_scenarios_no_page_carries_those_of_thousands_of_items() -> None:
    found = example.random_scenarios()
    one = EffectRow(group="item", column="(Intercept)", level="1", estimate=0.1)
    section = replace(found, effects=(*found.effects, one)).document().section("levels")
    assert section is not None
    (drawn,) = section.blocks
    assert isinstance(drawn, Figure)
    assert drawn.table is not None
    assert set(drawn.table.frame["group"]) == {row.group for row in found.effects} - {"item"} != set()


def made_up(
    score: Callable[[int, str], int], n: int = 60, level: Callable[[int], str] = lambda i: "xyz"[i % 3]
) -> EvalData:
    rows = [
        {"item": f"q{i}", "model": model, "scenario": level(i), "score": score(i, model)}
        for i in range(n)
        for model in "abc"
    ]
    return from_frame(pl.DataFrame(rows))


def test_where_models_are_level_none_is_best_and_no_drop_the_largest() -> None:
    found = scenarios(made_up(lambda i, _: int(i % 3 == 0)))
    text = to_text(found.document(), full=True)
    assert found.document().headline == "All 3 models do worse in y and z"
    assert "a, b and c have the same best mean over all scenarios" in text
    assert "costs a most" not in text


def test_scenarios_of_an_item_each_are_refused_by_what_they_are() -> None:
    data = made_up(lambda i, model: (i + ord(model)) % 2, level=lambda i: f"s{i}")
    with pytest.raises(CannotAnswerError, match="each level of scenario has one item, answered once"):
        scenarios(data)
