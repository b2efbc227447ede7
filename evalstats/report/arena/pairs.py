"""Two models at a time: each against the next, the matrix of all, and the votes that it would take."""

from evalstats.analysis.arena.figures import matrix_models, wins
from evalstats.analysis.arenas.wording_tables import neighbours_table, pair_lines
from evalstats.analysis.arenas.words import apart, compared, level
from evalstats.document.numbers import plural
from evalstats.report.arena.blocks import compact, sentences, table_of
from evalstats.report.arena.page import ArenaPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import csv_link, folded, prose, raw

_OPEN = 12


def neighbours(page: ArenaPage) -> str:
    """Return each model against the next line, with the votes that would separate the two."""
    found = page.found
    if not found.converged or not found.pairs:
        return prose("There is no pair to compare.")
    table = neighbours_table(found)
    if table is None:
        reason = next((pair.reason for pair in found.pairs if pair.reason), "their errors are not known")
        return prose(f"No pair is compared: {reason}.")
    shown = table_of(table, "tbl-neighbours")
    if len(table.rows) > _OPEN:
        shown = folded(f"Each model against the next: {plural(len(table.rows), 'pair')}", shown)
    return f"{sentences(pair_lines(found))}\n\n{shown}"


def matrix(page: ArenaPage) -> str:
    """Return how often each model would be preferred to each other, with the data of every pair."""
    found = page.found
    rows = matrix_models(found)
    if not found.converged or len(rows) < 2:
        return ""
    link = csv_link(compact(found.pairs_frame()), "pairs.csv", "All pairs (CSV)")
    if not compared(found):
        return raw("html", link)
    caption = (
        "How often, in percent, those who decide prefer the model of the row to that of the column. Filled: the pair is "
        f"separated ({level(found)}, all pairs together), blue where the row is ahead, vermillion where it is behind. Hollow: "
        "not separated, which does not mean equal."
    )
    if len(rows) < len(found.rows):
        first = f"the first {len(rows)} of {plural(len(found.rows), 'model')}"
        caption += f" Drawn are {first}."
    matrix = wins(found)
    if matrix is None:
        return raw("html", link)
    figure = figure_float(matrix, "fig-wins", caption=prose(caption), after=link)
    # Where nothing that is drawn is separated, a large matrix shows nothing but that.
    drawn = {row.name for row in rows}
    marked = [pair for pair in apart(compared(found)) if pair.first in drawn and pair.second in drawn]
    nothing = not marked and len(rows) > _OPEN
    return folded("How often each model is preferred to each other", figure) if nothing else figure
