"""The same votes by category and over time."""

import dataclasses
from collections.abc import Sequence

import polars as pl

from evalstats.analysis.arena import figures
from evalstats.analysis.arena.result import CategoryRating
from evalstats.analysis.arenas.wording_slices import categories_blocks, drift_blocks
from evalstats.analysis.arenas.words import level
from evalstats.report.arena.blocks import compact, shown
from evalstats.report.arena.opening import were_checked
from evalstats.report.arena.page import ArenaPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import csv_link, folded, prose, raw, section

_MANY = 20


def categories(page: ArenaPage) -> str:
    """Return ratings by category; nothing where none was asked for."""
    found = page.found
    if not found.converged or found.categories is None:
        return ""
    frame = _frame(found.categories.rows)
    link = (
        raw("html", csv_link(compact(frame), "categories.csv", "Every model in every category (CSV)"))
        if frame.height
        else ""
    )
    return section(f"By {found.categories.by}", shown(categories_blocks(found), "tbl-categories"), link, level=2)


def _frame(rows: Sequence[CategoryRating]) -> pl.DataFrame:
    return pl.DataFrame([dataclasses.asdict(row) for row in rows], infer_schema_length=None)


def drift(page: ArenaPage) -> str:
    """Return whether ratings change over time, or why that is not known."""
    found = page.found
    if not found.converged or (found.drift is None and not were_checked(found)):
        return ""
    said = shown(drift_blocks(found), "tbl-drift")
    if not said:
        line = next((line for line in found.checks if line.check == "drift"), None)
        reason = found.drift.reason if found.drift is not None else None
        said = prose(f"Not looked at: {(reason or (line.finding if line else 'the votes have no times')).rstrip('.')}.")
    figure = ""
    lines = figures.drift(found)
    if lines is not None:
        flagged = any(lines.rows["strong"])
        what = (
            f"Coloured are the models shown to rise (blue) or to fall (vermillion), with {level(found)} bands."
            if flagged
            else "No single model is shown to rise or to fall."
        )
        figure = figure_float(
            lines,
            "fig-drift",
            caption=prose(f"Ratings by period, against the mean of the models that are there all the time. {what}"),
        )
        if not flagged and len(found.rows) > _MANY:
            figure = folded("Ratings by period", figure)  # so many lines, none of them marked, show nothing
    return section("Over time", said, figure, level=2)
