"""What the verdict rests on: the difference overall and by group, each side alone, what flipped, what is missing."""

from dataclasses import replace

import polars as pl

from evalstats.analysis.results import Comparison, FlippedItem
from evalstats.analysis.wording import (
    VERDICT_TONE,
    dependence_table,
    groups_table,
    missing_blocks,
    scores_table,
)
from evalstats.display.blocks import Paragraph, Table, Tone
from evalstats.display.numbers import plural, scaled
from evalstats.plots.alt import forest_alt
from evalstats.plots.forest import MOST_GROUPS, forest, shown_groups
from evalstats.report.comparison import ComparisonPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import csv_link, prose, raw, sentence
from evalstats.report.tables import table_float, typst_table, without_empty_columns

_FLIPS_SHOWN = 20
_FLIPS_SPARED = 5  # not worth an appendix
_FLIPS_PRINTED = 200


def difference_figure(page: ComparisonPage) -> str:
    """Return the figure of the difference: overall, then by group."""
    result = page.comparison
    unit = {"pp": "percentage points"}.get(result.unit, result.unit)
    caption = (
        f"The difference in {result.metric}{f' in {unit}' if unit else ''}, with {100 * result.conf_level:g}% intervals. "
        f"The candidate is {result.candidate.name}, the baseline {result.baseline.name}. "
        "A filled point is settled by its interval; a hollow one is not."
    )
    if result.groups:
        caption += f" The intervals by {result.by} hold together, all {len(result.groups)} at once."
    if len(result.groups) > MOST_GROUPS:
        caption += f" Drawn are the {MOST_GROUPS} groups with the most items."
    return figure_float(
        lambda medium: forest(result, medium=medium),
        "fig-difference",
        caption=prose(caption),
        alt=forest_alt(result),
        after=csv_link(result.to_frame(), "difference.csv", "Data of this figure (CSV)"),
    )


def group_table(page: ComparisonPage) -> str:
    """Return the comparison by group as a table, in the order of the figure; nothing where there are no groups."""
    result = page.comparison
    if not result.groups:
        return ""
    shown = shown_groups(result)
    drawn = {group.level for group in shown}
    ordered = (*shown, *(group for group in result.groups if group.level not in drawn))
    table = groups_table(replace(result, groups=ordered))
    tones: dict[str, Tone] = {name: tone for name, tone in VERDICT_TONE.items() if tone in ("good", "bad")}
    return table_float(table, "tbl-groups", tones=tones)


def scores(page: ComparisonPage) -> str:
    """Return each side's own score with its interval."""
    remark = prose(
        "Whether these two intervals overlap says little: both sides answered the same items, and the verdict rests on "
        "the differences item by item."
    )
    return f"{table_float(scores_table(page.comparison), 'tbl-scores')}\n\n{remark}"


def flipped(page: ComparisonPage) -> str:
    """Return the items on which the two disagree: the first 20, how many more, and all of them as data."""
    result = page.comparison
    if not result.flipped:
        return prose("No item flipped: wherever one side mostly succeeds, the other does too.")
    found = _by_scenario(result)
    gained = sum(item.change > 0 for item in found)
    shown = _shown_flips(found)
    more = len(found) - len(shown)
    rest = f" The first {len(shown)} are shown; the other {more:,} are in the data." if more else ""
    words = (
        f"{plural(len(found), 'item')} of {result.n_items:,} flipped: {gained:,} that only "
        f"{result.candidate.name} gets mostly right, {len(found) - gained:,} that only {result.baseline.name} does.{rest}"
    )
    if not result.higher_is_better:
        words = f"{plural(len(found), 'item')} of {result.n_items:,} changed sides of the scale's middle.{rest}"
    table = _flips_table(result, shown, "Items on which the two disagree, by scenario")
    link = csv_link(flips_frame(found), "flipped-items.csv", f"All {len(found):,} flipped items (CSV)")
    return f"{prose(words)}\n\n{table_float(table, 'tbl-flipped', after=link)}"


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
    """Return whether the differences run in groups that nobody declared as clusters."""
    result = page.comparison
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


def appendix(page: ComparisonPage) -> str:
    """Return, for the PDF alone, the full list of flipped items that the page carries as data."""
    found = _by_scenario(page.comparison)
    if len(_shown_flips(found)) == len(found):
        return ""
    printed = found[:_FLIPS_PRINTED]
    which = f"the first {_FLIPS_PRINTED} of {len(found):,}" if len(found) > len(printed) else f"all {len(found)}"
    table = _flips_table(page.comparison, printed, "")
    return raw("typst", f"= Appendix: {which} flipped items\n\n{typst_table(table, tones={})}")


def flips_frame(found: list[FlippedItem]) -> pl.DataFrame:
    """Return flipped items as a frame: scores in the metric's unit, candidate minus baseline."""
    names = ("task", "item", "variant", "scenario", "baseline", "candidate", "change")
    schema: dict[str, pl.DataType] = {name: pl.String() if name in names[:4] else pl.Float64() for name in names}
    return pl.DataFrame([{name: getattr(item, name) for name in names} for item in found], schema=schema)


def _shown_flips(found: list[FlippedItem]) -> list[FlippedItem]:
    return found if len(found) <= _FLIPS_SHOWN + _FLIPS_SPARED else found[:_FLIPS_SHOWN]


def _by_scenario(result: Comparison) -> list[FlippedItem]:
    return sorted(result.flipped, key=lambda item: (item.scenario or "", item.task, item.item, item.variant))


def _flips_table(result: Comparison, found: list[FlippedItem], caption: str) -> Table:
    unit = f" ({result.baseline.unit})" if result.baseline.unit else ""
    rows = [
        (
            "/".join(part for part in (item.task, item.item, item.variant) if part),
            item.scenario or "",
            scaled(item.baseline, result.scale, 0 if result.scale >= 100 else 2),
            scaled(item.candidate, result.scale, 0 if result.scale >= 100 else 2),
        )
        for item in found
    ]
    columns = ("Item", "Scenario", f"{result.baseline.name}{unit}", f"{result.candidate.name}{unit}")
    return without_empty_columns(Table(columns=columns, rows=tuple(rows), align="llrr", caption=caption))
