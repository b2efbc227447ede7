"""Cost and time: what the two take on the same items, where the files say."""

from dataclasses import asdict, replace

import polars as pl

from evalstats.analysis.compare import figures as compare_figures
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.costs import PER_SUCCESS, WORDS, CostRow, costs_table
from evalstats.document.numbers import interval, number
from evalstats.report.comparison import ComparisonPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import bullets, csv_link, prose, section, sentence
from evalstats.report.tables import chosen_columns, table_float

_MEANS = 3  # the name of the quantity and both means


def costs(page: ComparisonPage) -> str:
    """Return the section on cost and time; nothing where the files say nothing of either."""
    result = page.comparison
    if not result.costs:
        return ""
    return section("Cost and time", _in_short(page), _figure(page), _table(page), _remarks(page))


def costs_frame(result: Comparison) -> pl.DataFrame:
    """Return the rows as a frame."""
    return pl.DataFrame([asdict(row) for row in result.costs], infer_schema_length=None)


def _in_short(page: ComparisonPage) -> str:
    """Say the ratio of dollars, for everything and for a success."""
    result = page.comparison
    if page.refused:
        words = "Means alone are shown: the runs differ in more than the systems, so that ratios would not be theirs."
        return prose(words)
    rows = {row.quantity: row for row in result.costs if row.ratio is not None}
    whole, success = rows.get("cost_usd"), rows.get(PER_SUCCESS)
    if whole is None:
        return ""
    first = (
        f"On the same items {result.candidate.name} costs {number(whole.ratio)} times what {result.baseline.name} costs"
    )
    second = "" if success is None else f"; a success costs {number(success.ratio)} times as much{_ends(success)}"
    return prose(f"{first}{_ends(whole)}{second}.")


def _ends(row: CostRow) -> str:
    if row.conf_low is None or row.conf_high is None:
        return ""
    return f" ({100 * row.conf_level:g}% interval {interval(row.conf_low, row.conf_high)})"


def _figure(page: ComparisonPage) -> str:
    rows = () if page.refused else compare_figures.drawn_costs(page.comparison.costs)
    if not rows:
        return ""
    result = page.comparison
    caption = (
        f"What {result.candidate.name} takes as a multiple of what {result.baseline.name} takes, with "
        f"{100 * result.conf_level:g}% intervals. A filled point is settled by its interval; each interval stands for itself."
    )
    return figure_float(
        compare_figures.costs(rows),
        "fig-costs",
        caption=prose(caption),
        after=csv_link(costs_frame(result), "costs.csv", "Data of this figure (CSV)"),
    )


def _table(page: ComparisonPage) -> str:
    result = page.comparison
    table = costs_table(result.costs, result.baseline.name, result.candidate.name, result.conf_level)
    if page.refused:
        table = replace(chosen_columns(table, range(_MEANS)), caption="What the two take on the same items")
    return table_float(table, "tbl-costs")


def _remarks(page: ComparisonPage) -> str:
    """Return what is to be said of the rows; what holds for several is said once."""
    rows = page.comparison.costs
    said: dict[str, list[str]] = {}
    for row in rows:
        for text in (row.note,) if page.refused else (row.reason, row.note):
            if text:
                said.setdefault(text, []).append(WORDS.get(row.quantity, row.quantity))
    return bullets(
        [
            prose(sentence(text) if len(names) == len(rows) > 1 else f"{', '.join(names)}: {text}.")
            for text, names in said.items()
        ]
    )
