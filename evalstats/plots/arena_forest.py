"""Ratings of an arena: every model with its interval, its rank set, and the one rank that live arenas print."""

from typing import Any

from matplotlib.figure import Figure

from evalstats.analysis.arena.result import ArenaRanking, RatingRow
from evalstats.analysis.arenas.words import ends, level, rating, unit_of, whole
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.arena_rows import limits_of, lines, shown_models, stands_out
from evalstats.plots.row_panel import PanelRow, RowPanel, row_figure
from evalstats.plots.style import LIGHT, Medium

_READ = 20


def arena_forest(result: ArenaRanking, *, medium: Medium = "screen") -> Figure:
    """Draw every model's rating with its interval; beside it the places that the votes leave open, and the arena's own rank.

    Models that may be the best are bold and coloured, unless all may be. Parts between which no rating can be told have
    headings, and stand on an axis that they share without being comparable. At most 60 models are drawn.

    Parameters
    ----------
    result
        What `arena` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is no model.
    """
    found = lines(result, lambda row: _line(row, result))

    def draw(panel: RowPanel) -> None:
        for place, (row, line) in enumerate(found):
            if row is not None and row.estimate is not None:
                _draw_row(panel, place, row, line)

    values = [
        value
        for row, _ in found
        if row is not None
        for value in (row.estimate, row.conf_low, row.conf_high)
        if value is not None
    ]
    ranked = any(row is not None and row.rank_arena is not None for row, _ in found)
    return row_figure(
        [line for _, line in found],
        draw,
        title=f"Rating ({unit_of(result)}), {level(result)} interval",
        columns=("", "Ranks", "Arena") if ranked else ("",),
        limits=limits_of(values),
        medium=medium,
    )


def _line(row: RatingRow, result: ArenaRanking) -> PanelRow:
    words = rating_line(row, result)
    set_ = row.ranks if row.rank_low is not None else "no rank"
    arena = "–" if row.rank_arena is None else str(row.rank_arena)
    told = f"{words}, {rank_words(row)}"
    if row.rank_arena is not None:
        told += f", arena {row.rank_arena}"
    return PanelRow(
        name=row.name,
        words=(words, set_, arena),
        line=told,
        strong=stands_out(row, result),
        faint=row.estimate is None,
    )


def rating_line(row: RatingRow, result: ArenaRanking) -> str:
    """Write a rating and its interval, or what of them is missing."""
    if row.estimate is None:
        return "no rating"
    shown = rating(row.estimate, result)
    if row.name == result.anchor:
        return f"{shown}, fixed"
    if row.conf_low is None or row.conf_high is None:
        return f"{shown}, no interval"
    return f"{shown} {ends(row.conf_low, row.conf_high, result)}"


def rank_words(row: RatingRow) -> str:
    """Write a rank set: "rank 2", "ranks 1-3", or that there is none."""
    if row.rank_low is None:
        return "no rank"
    return f"{'rank' if row.rank_low == row.rank_high else 'ranks'} {row.ranks}"


def _draw_row(panel: RowPanel, place: int, row: RatingRow, line: PanelRow) -> None:
    size, level_ = panel.size, panel.level(place)
    color = LIGHT.good if line.strong else LIGHT.neutral
    thick = size.font * (0.18 if line.strong else 0.14)
    has_interval = row.conf_low is not None and row.conf_high is not None
    if has_interval:
        style: dict[str, Any] = {"color": color, "zorder": 2}
        panel.axes.plot([row.conf_low, row.conf_high], [level_] * 2, linewidth=thick, solid_capstyle="butt", **style)
        cap = panel.half(0.32)
        panel.axes.vlines([row.conf_low, row.conf_high], level_ - cap, level_ + cap, linewidth=thick * 0.75, **style)
    panel.axes.plot(
        [row.estimate],
        [level_],
        marker="o" if has_interval else "D",
        # Small, so that the caps of a short interval still show on both sides.
        markersize=size.font * 0.4,
        markerfacecolor=color if has_interval else LIGHT.surface,
        markeredgecolor=color,
        markeredgewidth=size.font * 0.08,
        linestyle="none",
        clip_on=False,
        zorder=3,
    )


def arena_forest_alt(result: ArenaRanking) -> str:
    """Describe `arena_forest` in words: what it shows, then every model's rating and rank set."""
    rows = shown_models(result)[:_READ]
    told = [f"{row.name} {rating_line(row, result)}, {rank_words(row)}{_arena_words(row)}" for row in rows]
    more = len(result.rows) - len(rows)
    last = f" {plural(more, 'more model')} {'stands' if more == 1 else 'stand'} in the table." if more > 0 else ""
    apart = "" if whole(result) else " Ratings of different parts cannot be compared."
    return one_line(
        f"{plural(len(result.rows), 'model')} on {result.arena}: ratings in {unit_of(result)} with {level(result)} intervals, "
        f"and the ranks that the votes leave open.{apart} {'; '.join(told)}.{last}"
    )


def _arena_words(row: RatingRow) -> str:
    arena = "" if row.rank_arena is None else f", arena's rank {row.rank_arena}"
    return f"{arena}, may be the best" if row.may_be_best else arena
