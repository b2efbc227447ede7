"""Gaps by model: live less what the lab leads to expect, and on one scale live less lab."""

from evalstats.analysis.gap import figures
from evalstats.analysis.gap.figures import shown_gaps, why_not
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.wording_answer import gap_sentences_of
from evalstats.analysis.gaps.wording_line import line_sentences
from evalstats.analysis.gaps.wording_models import beside_models, differences_table, models_table
from evalstats.analysis.gaps.wording_parts import level_sentences
from evalstats.analysis.gaps.words import level, stopped, why_no_line
from evalstats.report.arena.blocks import compact
from evalstats.report.lab_live.blocks import FEW, drawn, long_table, sentences
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import csv_link, prose, section


def models_link(found: LabLiveGap) -> str:
    """Return the link to every number of every model."""
    return csv_link(compact(found.to_frame()), "models.csv", "Every number of every model (CSV)")


def gaps(page: LabLivePage) -> str:
    """Return the forest of gaps, the table of models, and what its lines alone would suggest wrongly."""
    found = page.found
    figure = drawn(
        figures.gaps(found),
        "fig-gaps",
        reason=why_not(found, "gaps"),
        caption=(
            "Live less what the lab score leads to expect, by a line through the other models. Filled: the interval settles it. "
            "Coloured: a gap, which stands out among the gaps of all (Benjamini-Hochberg); its interval is widened for having "
            "been picked."
        ),
        after=models_link(found),
    )
    few = 0 if shown_gaps(found) else FEW
    table = long_table(models_table(found), "tbl-models", "Every model as a table", few=few)
    if found.line is None:
        reason = why_no_line(found) or found.method_reason
        why = prose(stopped(f"No line through the other models tells what to expect of each: {reason}"))
        return "\n\n".join([why, table, sentences(beside_models(found))])
    words = prose(" ".join(gap_sentences_of(found)))
    return "\n\n".join([figure, words, table, sentences(beside_models(found))])


def line(page: LabLivePage) -> str:
    """Return what the line says: its slope, whether noise explains all gaps, which models pull it."""
    found = page.found
    if found.line is None:
        return ""
    said = " ".join(stopped(text) for text in line_sentences(found, found.line))
    return section("From lab scores to live ones", prose(said))


def differences(page: LabLivePage) -> str:
    """Return live less lab where both are on one scale; nothing where they are not."""
    found = page.found
    table = differences_table(found)
    if table is None:
        return ""
    few = 0 if shown_gaps(found, "difference") else FEW
    figure = drawn(
        figures.gaps(found, "difference"),
        "fig-differences",
        reason=why_not(found, "differences"),
        caption=(
            f"Live less lab, model by model, with {level(found)} intervals. What moves all models alike, such as harder "
            "questions, is in each of them."
        ),
    )
    words = prose(" ".join(level_sentences(found)))
    return section(
        "On one scale: live less lab", words, figure, long_table(table, "tbl-differences", "All differences", few=few)
    )
