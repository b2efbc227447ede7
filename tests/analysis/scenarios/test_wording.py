"""What is said of where models break is true of the result, in either direction of better, and claims no more than that."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from evalstats.analysis.scenarios.result import DropRow, RankingChange, ScenarioModel, TermTest
from evalstats.analysis.scenarios.wording import scenario_blocks, scenario_sentences
from evalstats.analysis.scenarios.wording_answer import answer_label, answers, headline
from evalstats.analysis.scenarios.words import digits_of, judged, short_codes, worse, worse_end, worst_first
from evalstats.document.blocks import Banner
from evalstats.document.markup import to_html, to_latex, to_markdown
from evalstats.document.text import to_text
from tests.analysis.scenarios import example

ALL: dict[str, Callable[[], ScenarioModel]] = {
    "rut": example.rut,
    "small": example.small,
    "medium": example.medium,
    "random": example.random_scenarios,
    "missing": example.with_missing_cells,
    "singular": example.singular,
    "separated": example.separated,
    "without answer": example.without_answer,
    "costs": example.costs,
    "hostile": example.hostile,
}


@pytest.fixture(scope="module", params=ALL)
def result(request: pytest.FixtureRequest) -> ScenarioModel:
    return ALL[request.param]()


def in_one_line(found: ScenarioModel) -> str:
    return " ".join(to_text(found.blocks(), width=10_000).split())


def mirrored(found: ScenarioModel) -> ScenarioModel:
    """Return the same result for the metric counted the other way round: 1 - score, lower is better."""

    def flip(value: float | None) -> float | None:
        return None if value is None else 1 - value

    def negative(value: float | None) -> float | None:
        return None if value is None else -value

    return replace(
        found,
        metric="failure",
        higher_is_better=not found.higher_is_better,
        cells=tuple(
            replace(row, estimate=flip(row.estimate), conf_low=flip(row.conf_high), conf_high=flip(row.conf_low))
            for row in found.cells
        ),
        models=tuple(
            replace(row, estimate=flip(row.estimate), conf_low=flip(row.conf_high), conf_high=flip(row.conf_low))
            for row in found.models
        ),
        scenarios=tuple(
            replace(row, estimate=flip(row.estimate), conf_low=flip(row.conf_high), conf_high=flip(row.conf_low))
            for row in found.scenarios
        ),
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


def test_every_result_reads_well(result: ScenarioModel) -> None:
    text = to_text(result.blocks())
    assert max(map(len, text.splitlines())) <= 80
    line = in_one_line(result)
    for wrong in ("None", "nan", "inf]", " ,", "—", "  ", "..", ";.", ":."):
        assert wrong not in line.replace("…", ""), wrong
    for sentence in scenario_sentences(result):
        assert sentence.endswith(".")
        assert not sentence[0].islower() or sentence.split()[0] in result.model_names
    for markup in (to_markdown(result.blocks()), to_html(result.blocks()), to_latex(result.blocks())):
        assert len(markup) > (1000 if result.converged else 500)


def test_every_warning_note_and_reason_is_said(result: ScenarioModel) -> None:
    line = in_one_line(result)
    reasons = [row.verdict_reason for row in result.drops if row.verdict == "invalid" and result.converged]
    for text in (*result.warnings, *result.notes, *reasons):
        assert " ".join(text.split()) in line


def test_nothing_is_claimed_of_what_is_not_shown(result: ScenarioModel) -> None:
    line = in_one_line(result).lower()
    for claim in ("does not break", "do not break", "no drop in", "holds up", "robust", "unaffected", "significant"):
        assert claim not in line


def test_the_counts_are_those_of_the_verdicts(result: ScenarioModel) -> None:
    if not answers(result):
        return
    line = in_one_line(result)
    rows = judged(result)
    count = {verdict: sum(row.verdict == verdict for row in rows) for verdict in ("drop", "gain", "not shown")}
    are = "is" if count["drop"] == 1 else "are"
    change = "change" if len(rows) == 1 else "changes"
    assert (
        f"Of {len(rows)} {change} {count['drop']} {are} shown to be to the worse and {count['gain']} to the better, "
        f"and {count['not shown']}"
    ) in line


def test_colours_do_not_say_more_than_the_label(result: ScenarioModel) -> None:
    (banner,) = [block for block in scenario_blocks(result) if isinstance(block, Banner)]
    tones = {
        "breaks shown": "bad",
        "none shown": "caution",
        "scores only": "neutral",
        "scenarios sampled": "neutral",
        "no answer": "bad",
        "not converged": "bad",
    }
    assert banner.tone == tones[banner.label]


# --- the answer ---


def test_the_scenario_that_most_models_break_in_is_the_answer() -> None:
    found = example.rut()
    by_scenario = {
        name: [row for row in found.drops if row.scenario == name and row.verdict == "drop"]
        for name in example.BEHAVIOURS[1:]
    }
    name, rows = max(by_scenario.items(), key=lambda pair: len(pair[1]))
    worst = min(found.drops, key=lambda row: row.estimate or 0)
    assert headline(found) == (
        f"{len(rows)} of 19 models do worse in {name} than in ideal, the most in any scenario. {worst.scenario} costs "
        f"{worst.model} most: −29.2 pp (95% CI −37.9 to −20.5)"
    )


def test_few_models_are_named_and_one_change_has_its_interval() -> None:
    found = example.small()
    row = found.drop("alpha", "impatient")
    assert headline(found).startswith("alpha does worse in impatient than in ideal: −27.0 pp (95% CI ")
    assert f"(95% CI −{-100 * (row.conf_low or 0):.1f} to −{-100 * (row.conf_high or 0):.1f})" in headline(found)


def test_what_is_open_is_said_with_the_largest_drop_that_it_leaves() -> None:
    found = example.small()
    open_drops = tuple(
        replace(row, estimate=-0.02, conf_low=-0.11, conf_high=0.07, p_adjusted=0.6, verdict="not shown")
        for row in found.drops
    )
    text = headline(replace(found, drops=open_drops))
    assert text == (
        "No model is shown to do worse in any scenario than in ideal. These data leave changes of up to −11.0 pp open (beta in "
        "impatient)"
    )
    assert answer_label(replace(found, drops=open_drops)) == "none shown"


def test_where_each_scenario_costs_another_model_the_largest_is_named() -> None:
    found = example.costs()
    counts = {name: sum(row.verdict == "drop" for row in found.drops if row.scenario == name) for name in ("de", "ja")}
    assert counts == {"de": 1, "ja": 1}
    assert headline(found).startswith(
        "2 of 3 models do worse in some scenario than in en. de costs slow most: +10.7 s ("
    )


def test_a_failed_fit_answers_nothing() -> None:
    found = example.without_answer()
    assert not answers(found)
    assert answer_label(found) == "not converged"
    assert "nothing follows from its numbers" in scenario_sentences(found)[0]
    assert "best mean" not in found.summary()
    invalid = replace(found, converged=True)
    assert answer_label(invalid) == "no answer"
    assert headline(invalid) == "These data cannot say where models break: 3 items: fewer than 5 give no interval"


def test_a_single_model_is_told_by_its_scenarios() -> None:
    rates = np.array([[0.8, 0.5, 0.78, 0.3]])
    found = example.made(rates, ("alpha",), ("ideal", "vague", "polite", "hostile"), n_items=200)
    found = replace(found, pairs=(), ranking=None, tests=())
    assert headline(found) == (
        "alpha does worse in hostile and vague than in ideal. hostile costs most: −50.0 pp (95% CI −58.8 to −41.2)"
    )
    text = in_one_line(found)
    assert "Where 1 model on RUT-Bench breaks" in text
    assert "interaction" not in text
    assert "best mean" not in text


def test_random_scenarios_are_told_by_their_spread() -> None:
    found = example.random_scenarios()
    # The roots of the variances .41 and .07.
    assert "varies with an SD of 0.64" in headline(found)
    assert "judged by a sample of 40 scenarios" in headline(found)
    assert "of its own in a scenario varies with an SD of 0.26" in headline(found)
    assert answers(found)
    nothing = replace(found, variances=tuple(replace(row, singular=True) for row in found.variances))
    assert "nothing is seen of models that break in places of their own, which is no proof" in headline(nothing)


def test_a_spread_that_may_be_nothing_is_said_to_be_so() -> None:
    found = example.random_scenarios()
    open_test = TermTest(term="env_id", method="likelihood ratio of a variance", role="check", p_value=0.23)
    text = headline(replace(found, tests=(open_test,)))
    assert "judged by a sample of 40 scenarios, not shown to be more than 0 (p = 0.230); what a model has" in text
    assert "not shown to be" not in headline(replace(found, tests=(replace(open_test, p_value=0.001),)))


def test_many_sampled_scenarios_are_not_listed_change_by_change() -> None:
    found = example.random_scenarios()
    assert not any(row.verdict in ("drop", "gain") for row in found.drops)
    text = in_one_line(found)
    assert "Changes (pp) one by one" not in text
    assert "The 120 changes are in the JSON and in drops_frame(); none is shown." in text
    one = replace(found.drops[0], verdict="drop", conf_low=-0.3, conf_high=-0.1, estimate=-0.2)
    assert "Changes (pp) one by one" in in_one_line(replace(found, drops=(one, *found.drops[1:])))


# --- where lower is better ---


def test_the_mirrored_metric_tells_the_mirrored_story() -> None:
    found = example.rut()
    other = mirrored(found)
    there, back = headline(found), headline(other)
    assert back.partition(" most: ")[0] == there.partition(" most: ")[0]
    assert "most: −29.2 pp (95% CI −37.9 to −20.5)" in there
    assert "most: +29.2 pp (95% CI +20.5 to +37.9)" in back
    for one, two in zip(worst_first(found.drops, found), worst_first(other.drops, other), strict=True):
        assert (one.model, one.scenario) == (two.model, two.scenario)
    for one, two in zip(found.drops, other.drops, strict=True):
        assert worse_end(one, found) == -(worse_end(two, other) or 0.0)
        assert worse(found, one.estimate or 0.0) == worse(other, two.estimate or 0.0)
    text = in_one_line(other)
    assert "failure, lower is better" in text
    assert "(above 0 is worse)" in text
    assert "more is worse" in text
    best = re.search(r"\) (\S+) has the best mean", text)
    assert best is not None
    assert best[1] == re.search(r"\) (\S+) has the best mean", in_one_line(found))[1]  # type: ignore[index]


# --- beside the answer ---


def test_an_interaction_is_the_test_and_not_two_verdicts() -> None:
    found = example.small()
    assert {row.verdict for row in found.drops} == {"drop", "not shown"}
    test = TermTest(term="model:scenario", method="Wald", role="headline", p_value=0.31)
    text = in_one_line(replace(found, tests=(test,)))
    assert "Models are not shown to differ in where they break (p = 0.310)" in text
    assert "Models differ in where" not in text
    assert "That one change is shown and another is not does not make the two different" in text
    shown = in_one_line(replace(found, tests=(replace(test, p_value=0.049),)))
    assert "Models differ in where they break (p = 0.049)." in shown
    strict = replace(found, tests=(replace(test, p_value=0.049),), conf_level=0.99)
    assert "Models differ in where" not in in_one_line(strict)


def test_a_test_of_scenarios_is_no_interaction() -> None:
    test = TermTest(term="scenario", method="Wald", role="headline", p_value=1e-9)
    assert "is not the same for all models" not in in_one_line(replace(example.small(), tests=(test,)))


def test_crossings_that_are_not_shown_are_called_noise_at_most() -> None:
    ranking = RankingChange(
        shown=False, words="no two models are shown to change places", p_value=0.4, method="x", n_crossed=3
    )
    text = in_one_line(replace(example.small(), ranking=ranking))
    assert "The estimates of 3 pairs cross, which noise alone can do (smallest adjusted p = 0.400)." in text
    assert "Does the ranking change?" not in text


def test_a_drop_that_the_paired_difference_doubts_is_named() -> None:
    found = example.small()
    doubted = replace(found.drop("alpha", "impatient"), paired_low=-0.5, paired_high=0.01)
    drops = tuple(doubted if row.model == "alpha" else row for row in found.drops)
    assert "the paired interval includes 0 for alpha in impatient" in in_one_line(replace(found, drops=drops))
    assert "the paired interval includes 0" not in in_one_line(found)


def test_a_change_that_is_not_shown_although_its_interval_excludes_0_has_its_reason() -> None:
    found = example.small()
    reason = "only 3 items differ between the two; 6 are needed"
    row = replace(found.drop("alpha", "impatient"), verdict="not shown", verdict_reason=reason)
    drops = tuple(row if each.model == "alpha" else each for each in found.drops)
    text = in_one_line(replace(found, drops=drops))
    assert f"alpha in impatient: not shown, although the interval excludes 0: {reason}." in text
    assert "although the interval excludes 0" not in in_one_line(found)


def test_versions_of_items_are_not_called_items() -> None:
    found = replace(example.small(), n_items=300, n_clusters=150, clusters=("item",))
    assert "300 versions of 150 items; success" in in_one_line(found)
    assert "300 items in 150 clusters (topic)" in in_one_line(replace(found, clusters=("topic",)))


def test_an_upper_end_that_the_data_do_not_give_is_left_open() -> None:
    found = example.small()
    rows = tuple(replace(row, conf_high=1e6) if row.term == "item:model" else row for row in found.variances)
    text = in_one_line(replace(found, variances=rows))
    assert "[0.57, open]" in text
    assert "open]" not in in_one_line(found)


def test_scenarios_without_common_items_are_confounded_with_them() -> None:
    found = example.small()
    bare = tuple(replace(row, paired=None, paired_low=None, paired_high=None) for row in found.drops)
    assert "No item was scored in two scenarios: a change may be that of the items" in in_one_line(
        replace(found, drops=bare)
    )
    assert "No item was scored in two" not in in_one_line(found)


def test_a_variance_of_0_is_called_singular_and_no_proof() -> None:
    text = in_one_line(example.singular())
    assert "0 (bound)" in text
    assert "item:model: the variance is estimated as 0" in text
    assert "no proof that there is none" in text


def test_the_penalty_and_the_fit_are_told() -> None:
    text = in_one_line(example.separated())
    assert "Penalty: Student-t(7, 2.5) on the fixed effects." in text
    assert "The fit: converged: gradient 2e-07, log-likelihood −1234.5, AIC 2489.0, BIC 2560.2" in text


def test_missing_items_are_counted_and_not_called_wrong() -> None:
    text = in_one_line(example.with_missing_cells())
    assert "7 harness errors and 12 unscored rows are left out: missing is not wrong, and not 0." in text
    assert (
        "2 cells of 20 lack items that others have: east in telecom (90 of 90) and west in banking (89 of 90)" in text
    )
    assert "2 further ones cannot be judged." in text


def test_the_number_of_items_needed_is_told_or_why_not() -> None:
    text = in_one_line(example.rut())
    # Spearman-Brown: 9 * .06/.02 = 27 items for the order, 9 * .11/.02 = 49.5 for the scores.
    assert "For a reliability of 0.9 of the order of the models: 27 items." in text
    assert "For a reliability of 0.9 of the scores themselves: 50 items." in text
    assert "by more trials alone: no answer, since there is one trial: its part is not known." in text
    assert "cannot be said: 2 models are too few to tell apart." in in_one_line(
        replace(example.without_answer(), converged=True)
    )


# --- small parts ---


def test_digits_follow_the_standard_error() -> None:
    found = example.small()
    assert digits_of(found) == 1
    fine = replace(
        found,
        scale=1.0,
        cells=tuple(replace(row, std_error=0.002) for row in found.cells),
        drops=tuple(replace(row, std_error=0.002) for row in found.drops),
    )
    assert digits_of(fine) == 3


@pytest.mark.parametrize(
    "names",
    [
        example.BEHAVIOURS,
        [f"a very long scenario {i}" for i in range(150)],
        ["ideal", "GoaSwi", "goal_switching", "goal-switching", ""],
        example.HOSTILE_SCENARIOS,
    ],
)
def test_codes_are_short_and_apart(names: list[str]) -> None:
    codes = short_codes(names)
    assert len(set(codes)) == len(codes)
    assert max(map(len, codes)) <= 6
    assert all(code == name for code, name in zip(codes, names, strict=True) if len(name) <= 6)


def test_rows_without_an_estimate_come_last() -> None:
    found = example.with_missing_cells()
    ordered = worst_first(found.drops, found)
    assert [row.estimate for row in ordered[-2:]] == [None, None]
    assert isinstance(ordered[0], DropRow)
    assert (ordered[0].model, ordered[0].scenario) == ("east", "banking")
