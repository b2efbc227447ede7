"""Ratings and ranks: the forest, the table, and which ranks are certain."""

import polars as pl

from evalstats.analysis.arena import figures
from evalstats.analysis.arena.figures import MOST_MODELS, weak_links_of
from evalstats.analysis.arena.result import ArenaRanking, RatingRow
from evalstats.analysis.arenas.wording import parts_blocks
from evalstats.analysis.arenas.wording_answer import best_of_parts, sharing_sentence, votes_sentence
from evalstats.analysis.arenas.wording_tables import beside_ratings, ratings_table
from evalstats.analysis.arenas.words import level, ranked, some, unit_of, whole
from evalstats.document.numbers import plural
from evalstats.report.arena.blocks import compact, sentences, shown, table_of
from evalstats.report.arena.cell_blocks import without_column
from evalstats.report.arena.page import ArenaPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import csv_link, folded, prose, section

MANY = 24
_FEW = 12


def forest(page: ArenaPage) -> str:
    """Return the forest of ratings with all numbers behind it; nothing where the fit did not converge."""
    found = page.found
    if not found.converged:
        return prose("The fit did not converge, so no rating is shown.")
    ends = f"Each interval is the model's own ({level(found)}): whether two overlap does not tell whether a pair is separated"
    caption = (
        f"Ratings in {unit_of(found)}. {ends}. Ranks are the places that the votes leave open, all sets together; "
        "beside them the one rank that live arenas print (1 + the models whose whole interval lies higher)."
    )
    if not whole(found):
        caption += " Parts share the axis, and cannot be compared all the same."
    if len(found.rows) > MOST_MODELS:
        caption += f" Drawn are the first {MOST_MODELS} of {plural(len(found.rows), 'model')}."
    return figure_float(
        figures.ratings(found),
        "fig-ratings",
        caption=prose(caption),
        after=csv_link(compact(_flat(found)), "ratings.csv", "Data of this figure (CSV)"),
    )


def _flat(found: ArenaRanking) -> pl.DataFrame:
    """Return the ratings without the lists, which cannot stand in CSV."""
    frame = found.to_frame()
    return frame.drop([name for name in ("n_clusters", "warnings") if name in frame.columns])


def ratings(page: ArenaPage) -> str:
    """Return the table of ratings, folded away where it is long, and what its lines alone would suggest wrongly."""
    found = page.found
    if not found.converged:
        return ""
    # What the figures show already would squeeze the names.
    shown = without_column(without_column(ratings_table(found), "Alone"), "Tied")
    table = table_of(shown, "tbl-ratings")
    if len(found.rows) > _FEW:
        # The figure above has its first columns already.
        table = folded(f"All {plural(len(found.rows), 'model')} as a table", table)
    lines = [votes_sentence(found), sharing_sentence(found), *best_of_parts(found), *beside_ratings(found)]
    return f"{table}\n\n{sentences(lines)}"


def ranks(page: ArenaPage) -> str:
    """Return which ranks are certain and which are not."""
    found = page.found
    sets = figures.ranks(found)
    if not found.converged or not ranked(found) or sets is None:
        return prose("No rank can be told from these votes.")
    figure = figure_float(
        sets,
        "fig-ranks",
        caption=prose(
            f"The places that the votes leave open for each model ({level(found)}): broad bars hold for all models together, "
            "thin ones for that model alone. The dot is the arena's rank, one number where the bar holds several."
        ),
    )
    if len(found.rows) > MANY:
        figure = folded("All rank sets as a figure", figure)
    return f"{prose(' '.join(certain_words(found)))}\n\n{figure}"


def certain_words(found: ArenaRanking) -> list[str]:
    """Name the models whose rank is certain, and say how many places the others leave open."""
    rows = ranked(found)
    certain = [row for row in rows if row.rank_low == row.rank_high]
    open_ = [row for row in rows if row.rank_low != row.rank_high]
    said: list[str] = []
    if certain:
        said.append(f"Certain: {some([f'{row.name} ({row.ranks})' for row in certain], 12)}.")
    if open_:
        widths = sorted(_width(row) for row in open_)
        middle = widths[len(widths) // 2]
        least = f"between {widths[0]} and {widths[-1]}" if widths[0] != widths[-1] else f"{widths[0]}"
        among = (
            f"The other {plural(len(open_), 'model')}"
            if certain
            else f"No rank is certain: the {plural(len(open_), 'model')}"
        )
        median = f" (median {middle})" if widths[0] != widths[-1] else ""
        said.append(f"{among} may stand in {least} places each{median}.")
    dots = [row for row in rows if row.rank_arena is not None and not _holds(row)]
    if dots:
        are = "is" if len(dots) == 1 else "are"
        said.append(
            f"For {some([row.name for row in dots])} the arena's rank {are} outside the set: it counts intervals that do not "
            "overlap, which is no test of a pair."
        )
    return said


def _width(row: RatingRow) -> int:
    return (row.rank_high or 0) - (row.rank_low or 0) + 1


def _holds(row: RatingRow) -> bool:
    return (row.rank_low or 0) <= (row.rank_arena or 0) <= (row.rank_high or 0)


def connections(page: ArenaPage) -> str:
    """Return how votes tie the models together, first of all where they do not; folded away where there is nothing to tell."""
    found = page.found
    said = shown(parts_blocks(found), "tbl-parts")
    graph = figures.vote_graph(found)
    if found.graph is None or graph is None:
        return section("Who can be compared", said)
    caption = (
        "Models and the votes between them: the darker a line the more votes. Models of one ring can be compared, through "
        "others where they never met."
    )
    weak = weak_links_of(found.graph)
    if weak:
        caption += " Vermillion squares hang by fewer than 10 wins or losses, their votes with the rest are dashed."
    figure = figure_float(graph, "fig-graph", caption=prose(caption))
    if found.graph.connected and not weak:
        figure = folded("How votes connect the models", figure)
    return section("Who can be compared", said, figure)
