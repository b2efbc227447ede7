"""A run that is watched while it goes on: how the interval narrowed, in place of the figure for one look at the end."""

import polars as pl

from evalstats.analysis.compare.figures import narrowing
from evalstats.analysis.compare.result import SequentialAccount
from evalstats.report.comparison import ComparisonPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import csv_link, prose


def narrowing_figure(page: ComparisonPage) -> str:
    """Return the figure of how the interval narrowed; nothing where there was no look with an interval."""
    account = page.comparison.sequential
    figure = None if account is None else narrowing(account)
    if account is None or figure is None:
        return ""
    unit = {"pp": "percentage points"}.get(account.unit_shown, account.unit_shown)
    caption = (
        f"The running difference in {account.metric}{f', in {unit}' if unit else ''}, with the {100 * account.conf_level:g}% "
        f"interval that holds at every look. The candidate is {page.comparison.candidate.name}, the baseline "
        f"{page.comparison.baseline.name}. The band never widens: it is what all looks so far leave."
    )
    return figure_float(
        figure,
        "fig-narrowing",
        caption=prose(caption),
        after=csv_link(path_frame(account), "narrowing.csv", "Data of this figure (CSV)"),
    )


def path_frame(account: SequentialAccount) -> pl.DataFrame:
    """Return the looks: how many units, the difference, and the interval, in the metric's own unit."""
    numbers = dict.fromkeys(("estimate", "conf_low", "conf_high"), pl.Float64)
    return pl.DataFrame(list(account.path), schema={"n": pl.Int64, **numbers}, orient="row")
