"""What the verdict rests on: the difference overall and by group, each side alone, what is missing, hidden groups."""

from dataclasses import replace

from evalstats.analysis.compare.figures import MOST_GROUPS, difference, digits_of, shown_groups
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.compare.verdict import margin_sentence
from evalstats.analysis.looks.wording import sequential_sentences
from evalstats.analysis.notes import (
    VERDICT_TONE,
    dependence_table,
    difference_sentence,
    groups_table,
    missing_blocks,
    scores_table,
)
from evalstats.document.blocks import Paragraph, Table, Tone
from evalstats.document.numbers import interval, number, scaled
from evalstats.report.comparison import ComparisonPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import csv_link, prose, section, sentence
from evalstats.report.tables import chosen_columns, table_float, with_cells, without_empty_columns
from evalstats.report.verdicts import glossary
from evalstats.report.watched import narrowing_figure

_NAME_AND_SCORE = 2


def headline_sentence(page: ComparisonPage) -> str:
    """Return the difference, its interval, p and method in one sentence; then how it stands at a declared margin."""
    result = page.comparison
    unit = f" {result.unit}" if result.unit else ""
    if page.refused:
        shown = scaled(result.estimate, result.scale, digits_of(result), sign=True)
        return prose(
            f"The scores as they were given differ by {shown}{unit}. How much of that is due to the systems cannot be told, so "
            "no interval and no test is given."
        )
    first = (
        difference_sentence(result) if result.sequential is None else " ".join(sequential_sentences(result.sequential))
    )
    return "\n\n".join(prose(text) for text in (first, margin_sentence(result)) if text)


def difference_figure(page: ComparisonPage) -> str:
    """Return the figure of the difference, overall and by group, or of how it narrowed; nothing without any interval."""
    result = page.comparison
    if result.sequential is not None and not page.refused:
        return narrowing_figure(page)
    if all(each.conf_low is None for each in (result, *result.groups)):
        return ""
    unit = {"pp": "percentage points"}.get(result.unit, result.unit)
    caption = (
        f"The difference in {result.metric}{f' in {unit}' if unit else ''}, with {100 * result.conf_level:g}% intervals. "
        f"The candidate is {result.candidate.name}, the baseline {result.baseline.name}. "
        "A filled point is settled by its interval; a hollow one is not."
    )
    if result.groups:
        caption += f" Those by {result.by} are adjusted for all {len(result.groups)}, so that they hold together."
    if len(result.groups) > MOST_GROUPS:
        caption += f" Drawn are the {MOST_GROUPS} groups with the most items."
    return figure_float(
        difference(result),
        "fig-difference",
        caption=prose(caption),
        after=csv_link(result.to_frame(), "difference.csv", "Data of this figure (CSV)"),
    )


def group_table(page: ComparisonPage) -> str:
    """Return the comparison by group as a table, in the order of the figure, and what its words mean; else nothing."""
    result = page.comparison
    if not result.groups:
        return ""
    shown = shown_groups(result)
    drawn = {group.level for group in shown}
    ordered = (*shown, *(group for group in result.groups if group.level not in drawn))
    grouped = replace(result, groups=ordered)
    tones: dict[str, Tone] = {name: tone for name, tone in VERDICT_TONE.items() if tone in ("good", "bad")}
    table = table_float(_rounded_groups(grouped), "tbl-groups", tones=tones)
    remarks = [glossary(group.verdict for group in ordered)]
    if page.split_by_itself:
        remarks.append(
            f"The split by {result.by} is automatic: these data have it, with {len(ordered)} levels, and nobody named a "
            "factor. The option --by NAME takes another one; --by none leaves the split out."
        )
    return f"{table}\n\n{prose(' '.join(remarks))}"


def _rounded_groups(result: Comparison) -> Table:
    """Return the table with as many decimals as the figure above it."""
    digits, scale = digits_of(result), result.scale
    return with_cells(
        groups_table(result),
        {
            "Baseline": [scaled(group.baseline, scale, digits) for group in result.groups],
            "Candidate": [scaled(group.candidate, scale, digits) for group in result.groups],
            "Difference": [scaled(group.estimate, scale, digits, sign=True) for group in result.groups],
            "Interval": [interval(group.conf_low, group.conf_high, scale, digits) for group in result.groups],
        },
    )


def scores(page: ComparisonPage) -> str:
    """Return each side's own score with its interval."""
    result = page.comparison
    digits, sides = digits_of(result), (result.baseline, result.candidate)
    table = with_cells(
        scores_table(result),
        {
            "Score": [scaled(side.estimate, side.scale, digits) for side in sides],
            f"{100 * result.conf_level:g}% interval": [
                interval(side.conf_low, side.conf_high, side.scale, digits) for side in sides
            ],
        },
    )
    if page.refused:
        table = chosen_columns(table, range(_NAME_AND_SCORE))
    return f"{table_float(table, 'tbl-scores')}\n\n{prose(_on_scores(page))}"


def _on_scores(page: ComparisonPage) -> str:
    if page.refused:
        return "These two scores are not of one kind, and must not be held against each other."
    sides = (page.comparison.baseline, page.comparison.candidate)
    if all(side.conf_low is None for side in sides):
        return f"Neither has an interval: {sides[0].reason or sides[1].reason or 'see the verdict'}."
    words = (
        "Whether these two intervals overlap says little: both sides answered the same items, and the verdict rests on the "
        "differences item by item."
    )
    if page.comparison.sequential is None:
        return words
    return f"{words} They, effect sizes and costs are for a single look; the difference above holds at every look."


def effects(page: ComparisonPage) -> str:
    """Return the section on effect sizes; nothing where there are none."""
    rows = page.comparison.effects
    if not rows:
        return ""
    table = Table(
        columns=("Effect size", "Value", f"{100 * page.comparison.conf_level:g}% interval", "What it is"),
        rows=tuple(
            (row.term, number(row.estimate), interval(row.conf_low, row.conf_high), sentence(row.note)) for row in rows
        ),
        align="lrrl",
        caption="The difference in terms that do not hang on the metric's unit",
    )
    return section("Effect sizes", table_float(table, "tbl-effects"))


def missing(page: ComparisonPage) -> str:
    """Return what could not be paired, and how far it could move the answer."""
    parts: list[str] = []
    for block in missing_blocks(page.comparison):
        if isinstance(block, Paragraph):
            parts.append(prose(sentence(block.text)))
        elif isinstance(block, Table):
            parts.append(table_float(block, "tbl-missing"))
    return "\n\n".join(parts)


def dependence(page: ComparisonPage) -> str:
    """Return the section on groups that nobody declared as clusters; nothing where there is no difference to run in any."""
    return "" if page.refused else section("Hidden groups", _dependence(page.comparison))


def _dependence(result: Comparison) -> str:
    """Return whether the differences run in groups that nobody declared as clusters."""
    if not result.dependence:
        return prose(
            "Nothing could be checked for hidden groups: the items have no further factor with several levels, or the two "
            "sides never differ."
        )
    words = (
        "Items that share a scenario, a template or an author can rise and fall together; then there is less information "
        "than the number of items says. A design effect of 1 means no such thing; the band shows what chance alone gives."
    )
    return f"{prose(words)}\n\n{table_float(without_empty_columns(dependence_table(result)), 'tbl-dependence')}"
