"""How far the lab orders models as live users do: over all, among the best, two at a time."""

import polars as pl

from evalstats.analysis.gap import figures
from evalstats.analysis.gap.figures import why_not
from evalstats.analysis.gaps.wording_agreement import (
    agreement_blocks,
    coefficients_table,
    contradictions_table,
    pairs_lines,
    parts_table,
    slices_table,
    subsets_table,
)
from evalstats.analysis.gaps.wording_answer import order_sentences, top_sentences
from evalstats.analysis.gaps.words import level
from evalstats.document.blocks import Bullets
from evalstats.report.arena.blocks import compact
from evalstats.report.lab_live.blocks import drawn, indented, long_table, sentences, table_of
from evalstats.report.lab_live.models import models_link
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import csv_link, folded, prose, raw, section

_FEW_SLICES = 8


def overall(page: LabLivePage) -> str:
    """Return the scatter of both scores, and the coefficients by what else could have been drawn."""
    found = page.found
    line = (
        ""
        if found.line is None
        else " The line reads lab scores as live ones, its band holds the line, not the models."
    )
    figure = drawn(
        figures.scatter(found),
        "fig-scatter",
        reason=why_not(found, "scatter"),
        caption=f"Every model by its lab and its live score.{line}",
        after=models_link(found),
    )
    words = prose(" ".join(order_sentences(found)))
    return "\n\n".join([figure, words, table_of(indented(coefficients_table(found)), "tbl-agreement"), _beside(page)])


def _beside(page: LabLivePage) -> str:
    """Return what stands below the coefficients when the command prints them."""
    first = next((block for block in agreement_blocks(page.found) if isinstance(block, Bullets)), None)
    return "" if first is None or first.title else sentences(first.items)


def within_parts(page: LabLivePage) -> str:
    """Return agreement among the best and within thirds, with the change of ranks; nothing where there are too few models."""
    found = page.found
    parts = parts_table(found)
    changes = figures.rank_changes(found)
    if parts is None and changes is None:
        return ""
    figure = drawn(
        changes,
        "fig-ranks",
        reason=why_not(found, "ranks"),
        caption=(
            f"Places in the lab and live, by estimate; bars are the places that each side leaves open ({level(found)}). "
            "Coloured are models that change places with one from which both sides separate them."
        ),
    )
    return section(
        "Ranks on both sides" if parts is None else "Among the best",
        prose(" ".join(top_sentences(found))),
        table_of(parts, "tbl-parts"),
        figure,
        _subsets(page),
    )


def slices(page: LabLivePage) -> str:
    """Return agreement where the lab is cut to one level of a factor; nothing where it is not."""
    table = long_table(slices_table(page.found), "tbl-slices", "Agreement by level", few=_FEW_SLICES)
    return section("Which lab items agree with live users", table)


def _subsets(page: LabLivePage) -> str:
    said = table_of(subsets_table(page.found), "tbl-subsets")
    return folded("Agreement over repeated draws of fewer models", said) if said else ""


def pairs(page: LabLivePage) -> str:
    """Return how pairs of models are ordered, and those that both sides separate in opposite directions."""
    found = page.found
    order = found.agreement.pairs
    if order is None:
        return ""
    matrix = figures.pairs(found)
    link = csv_link(compact(pairs_frame(page)), "pairs.csv", "All pairs (CSV)") if order.matrix else ""
    figure = drawn(
        matrix,
        "fig-pairs",
        reason=why_not(found, "pairs"),
        caption=(
            "Every pair of models, each in the order of its live score: whether both sides separate the two (adjusted over all "
            "pairs), and in the same order."
        ),
        after=link,
    )
    if matrix is None:
        figure = raw("html", link) if link else ""
    table = long_table(contradictions_table(found), "tbl-contradictions", "Contradictions")
    return section("Two models at a time", sentences(pairs_lines(order)), figure, table)


def pairs_frame(page: LabLivePage) -> pl.DataFrame:
    """Return one row for each pair of models: whether each side separates it, and whether they agree."""
    order = page.found.agreement.pairs
    rows = () if order is None else order.matrix
    return pl.DataFrame(rows, schema={"first": pl.String, "second": pl.String, "order": pl.String}, orient="row")
