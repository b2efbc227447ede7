"""What is said of lab against live is true of the result, fits a terminal, and claims no more than the data do."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from evalstats.analysis.gap.layers import Part, PartRow
from evalstats.analysis.gap.result import Deviation, LabLiveGap
from evalstats.analysis.gaps.wording import gap_blocks, gap_sentences
from evalstats.analysis.gaps.wording_agreement import coefficients_table, contradictions_table, pairs_lines
from evalstats.analysis.gaps.wording_answer import order_sentences, top_sentences
from evalstats.analysis.gaps.wording_forecasts import forecast_blocks
from evalstats.analysis.gaps.wording_headline import headline
from evalstats.analysis.gaps.wording_mix import by_model_table, cells_table, overall_table
from evalstats.analysis.gaps.wording_models import LINES, beside_models, differences_table, models_table, shown_rows
from evalstats.analysis.gaps.wording_slices import means_table
from evalstats.analysis.gaps.words import digits_of, flagged, gap_ends, gap_text, gap_unit, part_text, score_unit
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph, Table
from evalstats.document.markup import to_html, to_latex, to_markdown
from evalstats.document.numbers import MINUS, interval, number
from evalstats.document.text import to_text
from tests.analysis.gap import example_gap as example

ALL: dict[str, Callable[[], LabLiveGap]] = {
    "one scale": example.one_scale,
    "votes": example.votes,
    "without errors": example.without_errors,
    "four": example.four,
    "invalid": example.invalid,
    "aligned": example.aligned,
    "hostile": example.hostile,
}
MADE = {name: make() for name, make in ALL.items()}


@pytest.fixture(params=ALL)
def found(request: pytest.FixtureRequest) -> LabLiveGap:
    return MADE[request.param]


def in_one_line(result: LabLiveGap | list[Block]) -> str:
    blocks = result.blocks() if isinstance(result, LabLiveGap) else result
    return " ".join(to_text(blocks, width=100_000).split())


def column(table: Table, name: str) -> list[str]:
    place = table.columns.index(name)
    return [row[place] for row in table.rows]


# --- whatever the result ---


def test_the_text_fits_a_terminal_and_the_verdict_comes_first(found: LabLiveGap) -> None:
    text = to_text(gap_blocks(found), width=80)
    assert max(map(len, text.splitlines())) <= 80
    banner = found.blocks()[1]
    assert isinstance(banner, Banner)
    assert banner.label == found.verdict
    assert banner.text == f"{headline(found)}."


def test_nothing_is_said_with_holes_in_it(found: LabLiveGap) -> None:
    text = in_one_line(found)
    for hole in (" None", "(None", "nan", " .", "..", " ,", "( ", ": :", "p = –", "; ;", "[–", "–]", "—"):
        assert hole not in text.replace("a|b # heading", ""), hole
    assert "  " not in " ".join(gap_sentences(found))
    for block in found.blocks():
        for item in block.items if isinstance(block, Bullets) else ():
            assert item.endswith("."), item
        if isinstance(block, Paragraph):
            assert block.text.endswith(".")
        if isinstance(block, Table):
            assert len(block.align) == len(block.columns)
            assert block.rows


def test_the_summary_is_the_sentences_and_repeats_every_warning(found: LabLiveGap) -> None:
    assert found.summary() == " ".join(gap_sentences(found))
    for text in found.warnings:
        assert text in found.summary()


def test_every_format_is_made_and_escapes_names(found: LabLiveGap) -> None:
    blocks = gap_blocks(found)
    assert "<script" not in to_html(blocks)
    assert to_markdown(blocks).count("\n# ") == 0
    assert "\x1b" not in to_text(blocks)
    assert to_latex(blocks)


def test_no_point_estimate_is_called_a_gap(found: LabLiveGap) -> None:
    named = {row.name for row in found.rows if row.verdict == "gap" or row.difference_verdict == "gap"}
    for row in found.rows:
        if row.name not in named:
            assert row.name not in headline(found)


def test_tables_are_short(found: LabLiveGap) -> None:
    for block in found.blocks():
        if isinstance(block, Table):
            assert len(block.rows) <= LINES


def test_every_layer_that_is_missing_is_named_with_its_reason(found: LabLiveGap) -> None:
    text = in_one_line(found)
    for _, reason in found.left_out:
        assert reason in text
        assert reason in found.summary()


def test_all_seven_threats_stand_with_every_result(found: LabLiveGap) -> None:
    block = next(each for each in found.blocks() if isinstance(each, Bullets) and each.title == "Threats to validity")
    assert len(block.items) == 7
    seen = [each for each in found.threats if each.status == "seen"]
    for item, threat in zip(block.items, seen, strict=False):
        assert item.startswith(f"{threat.title} (seen in these data): ")


def test_the_models_are_told_with_their_own_numbers(found: LabLiveGap) -> None:
    table, rows = models_table(found), shown_rows(found)
    assert column(table, "Model") == [row.name for row in rows]
    if found.line is not None:
        assert column(table, "Gap") == [gap_text(row.gap, found, unit=False) for row in rows]
        assert column(table, "Verdict") == [
            "gap, material" if row.verdict == "gap" and row.material else row.verdict for row in rows
        ]
    for verdict in {row.verdict for row in rows} - {"invalid"}:
        assert any(line.startswith(f"{verdict}:") for line in beside_models(found))


def test_the_coefficients_stand_under_their_names(found: LabLiveGap) -> None:
    table = coefficients_table(found)
    for row in found.agreement.coefficients:
        assert column(table, row.name.capitalize())[0] == number(row.estimate)
        own = row.interval("items and votes")
        if own is not None and own.conf_low is not None:
            assert interval(own.conf_low, own.conf_high) in column(table, row.name.capitalize())


# --- what is said of which result ---


def test_the_flagged_model_is_named_with_its_direction_and_widened_interval() -> None:
    found = MADE["one scale"]
    (row,) = flagged(found)
    assert headline(found) == f"1 of 12 models has a gap: {row.name} lies below what its lab score leads to expect"
    told = f"{row.name} {gap_text(row.gap, found)} {gap_ends(row.adjusted_low, row.adjusted_high, found)}"
    assert f"Live less expected: {told}." in found.summary()
    assert row.gap is not None
    assert row.gap < 0
    assert MINUS in told


def test_gaps_in_both_directions_are_told_apart() -> None:
    text = headline(MADE["votes"])
    assert text.startswith("2 of 48 models have a gap: laboratory-2/model-30-instruct-2026 lies below, and ")
    assert "laboratory-2/model-09-instruct-2026 lies above what the lab leads to expect; without " in text


def test_the_order_is_told_with_both_intervals_and_the_ceiling() -> None:
    found = MADE["one scale"]
    row = found.agreement.of("spearman")
    these, like = row.interval("items and votes"), row.interval("all")
    assert these is not None
    assert like is not None
    said = " ".join(order_sentences(found))
    for each, words in ((these, "for these models"), (like, "for models like these")):
        assert f"{interval(each.conf_low, each.conf_high)} {words}" in said
    assert f"the noise of both sides would leave about {number(row.ceiling)}" in said


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.1, 0.9, "says something about the live one"),
        (-0.2, 0.9, "is not shown"),
        (-0.9, -0.1, "the other way round"),
    ],
)
def test_the_interval_and_not_the_coefficient_decides_what_is_said_of_the_order(
    low: float, high: float, words: str
) -> None:
    found = MADE["one scale"]
    row = found.agreement.of("spearman")
    told = tuple(
        replace(each, conf_low=low, conf_high=high) if each.source == "all" else each for each in row.intervals
    )
    rows = tuple(
        replace(row, intervals=told) if each.name == "spearman" else each for each in found.agreement.coefficients
    )
    text = " ".join(order_sentences(replace(found, agreement=replace(found.agreement, coefficients=rows))))
    assert words in text


def test_low_agreement_within_the_best_is_said() -> None:
    said = " ".join(top_sentences(MADE["votes"]))
    assert "There the lab's order is not shown to say anything." in said
    turned = PartRow(
        kind="top", label="live top 5", n_models=5, spearman=-0.7, kendall=-0.6, conf_low=-0.8, conf_high=-0.6
    )
    fine = PartRow(kind="top", label="live top 10", n_models=10, spearman=0.7, kendall=0.6, conf_low=0.5, conf_high=0.8)
    found = MADE["votes"]
    agreement = replace(found.agreement, parts=(found.agreement.parts[0], turned, fine))
    said = " ".join(top_sentences(replace(found, agreement=agreement)))
    assert said.endswith("Within the live top 5 the lab orders these models the other way round.")


def test_without_errors_nothing_is_said_of_single_models() -> None:
    found = MADE["without errors"]
    assert headline(found).startswith("No gap can be told: neither side has standard errors")
    assert "Gap" not in models_table(found).columns
    assert "Live less expected" not in found.summary()
    assert "for models like these, scores taken as exact" in found.summary()


def test_of_few_models_differences_are_told_and_no_line() -> None:
    found = MADE["four"]
    table = differences_table(found)
    assert table is not None
    assert column(table, "Verdict") == [row.difference_verdict for row in found.rows]
    assert "From lab scores to live ones" not in [block.text for block in found.blocks() if isinstance(block, Heading)]
    assert headline(found).startswith("On average over models, live scores lie 12.8 pp below the lab's")
    # What the headline says is not said again.
    assert found.summary().count("On average over models") == 1


def test_aligned_names_the_margin() -> None:
    found = MADE["aligned"]
    assert headline(found) == "All 10 models do live as the lab leads to expect, to within 10.0 pp"
    assert any("smaller than the declared margin of 10.0 pp" in line for line in beside_models(found))


def test_the_headline_says_where_a_flagged_model_hangs_on_the_end_of_the_line_or_bends_it() -> None:
    found = MADE["one scale"]
    line = found.line
    assert line is not None
    end = replace(found, rows=tuple(replace(row, extrapolated=row.name == "grebe") for row in found.rows))
    assert headline(end).endswith("; its lab score lies outside the others', so the line is drawn out to it")
    rows = tuple(replace(row, extrapolated=False) for row in found.rows)
    bent = replace(found, rows=rows, line=replace(line, influential=("grebe",)))
    assert headline(bent).endswith("; without it the slope moves by more than its standard error")
    plain = replace(found, rows=rows, line=replace(line, influential=("auk",)))
    assert headline(plain).endswith("grebe lies below what its lab score leads to expect")
    two = tuple(
        replace(row, verdict="gap" if row.name in {"auk", "grebe"} else row.verdict, extrapolated=row.name == "auk")
        for row in found.rows
    )
    assert "the lab score of auk lies outside the others', so the line is drawn out to it" in headline(
        replace(found, rows=two)
    )


def deviations_of(found: LabLiveGap, ps: list[float]) -> tuple[Deviation, ...]:
    return tuple(
        Deviation(name=row.name, estimate=0.08, std_error=0.03, conf_low=0.0, conf_high=0.16, p_value=p, p_adjusted=p)
        for row, p in zip(found.rows, ps, strict=True)
    )


def test_beside_a_difference_of_all_each_question_on_single_models_has_its_own_clause() -> None:
    found = MADE["one scale"]
    level = found.level
    assert level is not None
    rows = tuple(
        replace(row, verdict="inconclusive", difference_verdict="gap" if i < 8 else "inconclusive")
        for i, row in enumerate(found.rows)
    )
    deviations = deviations_of(found, [0.03, 0.03, *[0.6] * 10])
    level = replace(level, verdict="gap", deviations=deviations)
    said = headline(replace(found, rows=rows, level=level, verdict="gap"))
    assert said.startswith("On average over models, live scores lie ")
    assert said.endswith(
        "; no model stands off the line through the others; 2 of 12 models differ from that mean change; "
        "8 of 12 models differ from their own lab score"
    )
    assert "stands out" not in said


def with_true_pearson(estimate: float, low: float, high: float) -> LabLiveGap:
    found = MADE["one scale"]
    rows = tuple(
        replace(row, disattenuated=estimate, disattenuated_low=low, disattenuated_high=high)
        if row.name == "pearson"
        else row
        for row in found.agreement.coefficients
    )
    return replace(found, agreement=replace(found.agreement, coefficients=rows))


@pytest.mark.parametrize(
    ("numbers", "cell", "sentence"),
    [
        ((1.01, 0.97, 1.0), "at least 0.97", "is at least 0.97 (estimated above 1, which is noise)"),
        ((1.02, -1.0, 1.0), "anything", "Of the correlation of true scores these data say nothing."),
        ((0.95, 0.9, 0.99), "[0.90, 0.99]", "is 0.95 [0.90, 0.99]: short of 1."),
    ],
)
def test_no_interval_stands_beside_an_estimate_outside_it(
    numbers: tuple[float, float, float], cell: str, sentence: str
) -> None:
    found = with_true_pearson(*numbers)
    table = coefficients_table(found)
    assert column(table, "Pearson")[column(table, "").index("  its interval")] == cell
    assert sentence in " ".join(order_sentences(found))
    said = "it is not cut off at 1, while the interval is, since no correlation exceeds 1."
    assert (said in in_one_line(found)) == (numbers[0] > 1)


def test_each_p_of_the_differences_stands_beside_what_it_is_of() -> None:
    found = MADE["one scale"]
    level = found.level
    assert level is not None
    level = replace(level, deviations=deviations_of(found, [0.03] * 12))
    table = differences_table(replace(found, level=level))
    assert table is not None
    names = list(table.columns)
    assert names[names.index("Verdict") + 1] == "p (adjusted)"
    assert names[names.index("Beyond the mean") + 1] == "Its p"
    assert all("[" in cell for cell in column(table, "Beyond the mean"))


def test_open_results_say_what_would_have_been_found() -> None:
    found = MADE["aligned"]
    rows = tuple(replace(row, verdict="inconclusive") for row in found.rows)
    open_ = replace(found, verdict="inconclusive", rows=rows, margin=None)
    assert headline(open_) == "No model is shown to have a gap, and that none has is not shown either"
    assert "would have been found with 80% probability, smaller ones less often." in open_.summary()
    assert any("No margin was declared" in line for line in beside_models(open_))


def test_inconclusive_beside_an_interval_without_0_is_explained() -> None:
    found = MADE["votes"]
    puzzling = [
        row for row in found.rows if row.verdict == "inconclusive" and (row.conf_low or 0) * (row.conf_high or 0) > 0
    ]
    assert puzzling
    assert any("inconclusive beside an interval that excludes 0" in line for line in beside_models(found))


def test_of_many_models_those_that_stand_out_are_shown() -> None:
    found = MADE["votes"]
    rows = shown_rows(found)
    assert len(rows) == LINES
    assert {row.name for row in flagged(found)} <= {row.name for row in rows}
    order = [row.name for row in found.rows]
    assert [row.name for row in rows] == sorted((row.name for row in rows), key=order.index)
    assert f"the {LINES} of 48 that stand out most" in models_table(found).caption


def test_contradictions_are_counted_and_shown() -> None:
    found = MADE["votes"]
    pairs = found.agreement.pairs
    assert pairs is not None
    table = contradictions_table(found)
    assert table is not None
    assert len(table.rows) == min(10, pairs.n_contradicted or 0)
    assert f"and contradict each other in {pairs.n_contradicted} of these" in found.summary()
    assert f"{pairs.n_contradicted:,} in the opposite" in pairs_lines(pairs)[1]


def test_where_less_is_better_words_follow_the_printed_numbers_and_signs_the_result() -> None:
    found = MADE["one scale"]
    # An error rate: the same gaps and differences, which are to the worse below 0, in numbers that grow with errors.
    turned = replace(
        found,
        lab=replace(found.lab, higher_is_better=False),
        live=replace(found.live, higher_is_better=False),
    )
    assert headline(turned).endswith("grebe lies above what its lab score leads to expect")
    assert "Expected less live, so that above 0 is better: grebe −21.0 pp" in turned.summary()
    assert "live scores lie 8.5 pp above the lab's (95% interval [+5.0, +12.0])" in turned.summary()
    table = differences_table(turned)
    assert table is not None
    assert table.columns[1] == "Lab less live (pp)"


def test_a_model_without_a_verdict_has_its_reason_beside_the_line() -> None:
    found = MADE["votes"]
    rows = tuple(replace(row, verdict="invalid", reason="the line is flat") for row in found.rows)
    assert "All models: the line is flat." in beside_models(replace(found, rows=rows))
    one = (replace(found.rows[0], verdict="invalid", reason="the line is flat"), *found.rows[1:])
    assert f"{one[0].name}: the line is flat." in beside_models(replace(found, rows=one))


def test_a_slope_that_may_be_flat_says_so() -> None:
    found = MADE["votes"]
    assert found.line is not None
    assert "at all is not shown by it" not in in_one_line(found)
    flat = replace(found, line=replace(found.line, slope_low=-1.0))
    assert "that live goes with the lab at all is not shown by it" in in_one_line(flat)


# --- parts ---


def test_the_decomposition_adds_up_as_shown() -> None:
    found = MADE["one scale"]
    parts = found.decomposition
    assert parts is not None
    row = parts.overall
    assert row.mix.estimate is not None
    assert row.behaviour.estimate is not None
    assert row.unexplained is not None
    assert row.unexplained.estimate is not None
    total = row.mix.estimate + row.behaviour.estimate + row.unexplained.estimate
    assert row.total.estimate == pytest.approx(total, abs=1e-12)
    table = overall_table(found, parts)
    assert column(table, "Value")[2:6] == [
        part_text(each, found) for each in (row.total, row.mix, row.behaviour, row.unexplained)
    ]


def test_a_scenario_that_the_lab_never_covers_is_named() -> None:
    found = MADE["one scale"]
    parts = found.decomposition
    assert parts is not None
    table = cells_table(found, parts)
    assert table is not None
    assert dict(zip(column(table, "Scenario"), column(table, "Covered"), strict=True))["off topic"] == "no"
    assert "off topic: the lab has no item of it" in in_one_line(found)
    assert "6% of live use falls where the lab has no item." in found.summary()


def test_with_a_mix_from_outside_the_prediction_alone_is_shown() -> None:
    found = MADE["one scale"]
    parts = found.decomposition
    assert parts is not None

    def without(row):
        gone = Part(estimate=None, reason="no live outcomes")
        return replace(row, live=gone, total=gone, mix=gone, behaviour=gone, unexplained=None, threefold=None)

    cells = tuple(replace(cell, live_rate=None, mix=None, behaviour=None, n_live=0) for cell in parts.cells)
    rows = tuple(map(without, parts.rows))
    outside = replace(parts, overall=without(parts.overall), rows=rows, cells=cells, mix_source="a survey")
    shown = replace(found, decomposition=outside, same_scale=False)
    table = by_model_table(shown, outside)
    assert table is not None
    assert table.columns[:3] == ("Model", "Lab", "For the live mix")
    assert column(overall_table(shown, outside), "Mean over models") == ["Lab", "Lab, weighted to the live mix"]
    positivity = cells_table(shown, outside)
    assert positivity is not None
    assert {"Mix", "Behaviour", "Live"}.isdisjoint(positivity.columns)
    assert "Live shares: a survey." in in_one_line(shown)


def test_scenarios_are_told_by_their_verdict() -> None:
    found = MADE["one scale"]
    scenarios = found.scenario_gaps
    assert scenarios is not None
    assert "Live differs from the lab in 4 of 4 levels of scenario" in found.summary()
    none = tuple(replace(row, verdict="inconclusive") for row in scenarios.means)
    text = replace(found, scenario_gaps=replace(scenarios, means=none)).summary()
    assert "In none of 5 levels of scenario is live shown to differ from the lab." in text
    assert column(means_table(found, scenarios), "Verdict")[-1] == "invalid"


def test_forecasts_mark_what_is_extrapolated() -> None:
    found = MADE["votes"]
    fitted = found.hierarchy
    assert fitted is not None
    table = next(block for block in forecast_blocks(found) if isinstance(block, Table))
    # The best to expect comes first.
    best = sorted(fitted.forecasts, key=lambda each: -(each.expected or 0.0))
    assert column(table, "Model") == [each.name for each in best]
    far = tuple(replace(each, extrapolated=each is fitted.forecasts[0]) for each in fitted.forecasts)
    table = next(
        block
        for block in forecast_blocks(replace(found, hierarchy=replace(fitted, forecasts=far)))
        if isinstance(block, Table)
    )
    marked = dict(zip(column(table, "Model"), column(table, "Extrapolated"), strict=True))
    assert marked[far[0].name] == "yes"
    assert not marked[far[1].name]


# --- numbers ---


def test_shares_are_in_percent_and_their_differences_in_points_whatever_the_side_calls_them() -> None:
    found = MADE["one scale"]
    other = replace(found, lab=replace(found.lab, unit="%"), live=replace(found.live, unit="%"))
    assert other.summary() == found.summary()
    assert (score_unit(other.live), gap_unit(other.live)) == ("%", "pp")
    rating = replace(MADE["votes"].live, unit="rating")
    assert gap_unit(rating) == "rating points"


def test_digits_follow_the_errors() -> None:
    found = MADE["votes"]
    assert digits_of(found, found.live) == 0  # standard errors of 6 points
    assert digits_of(found, found.lab) == 1  # shares get one decimal at least
    fine = tuple(replace(row, live_std_error=0.02) for row in found.rows)
    assert digits_of(replace(found, rows=fine), found.live) == 2
    bare = MADE["without errors"]
    assert re.fullmatch(r"\d+", column(models_table(bare), "Live")[0])


def test_of_ten_or_more_pairs_of_names_a_few_are_listed() -> None:
    found = MADE["one scale"]
    near = tuple((f"model-{i}", f"Model {i}") for i in range(10))
    text = in_one_line(replace(found, near_names=near, joined_by_alias=near))
    assert "model-5 and Model 5 and 4 more; --aliases says which are one model." in text
    assert "model-5 is Model 5 and 4 more." in text
