"""How certain the ranks of an arena are: the set of every model as a bar, the arena's single rank as a dot in it."""

from matplotlib.figure import Figure

from evalstats.analysis.arena.result import ArenaRanking, RatingRow
from evalstats.analysis.arenas.words import level, whole
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.arena_forest import rank_words
from evalstats.plots.arena_rows import lines, shown_models, stands_out
from evalstats.plots.rank_sets import rank_ticks
from evalstats.plots.row_panel import PanelRow, RowPanel, row_figure
from evalstats.plots.style import LIGHT, Medium

_READ = 20


def arena_ranks(result: ArenaRanking, *, medium: Medium = "screen") -> Figure:
    """Draw the rank set of every model as a bar over the places that the votes leave open, all sets together.

    The thin bar inside is the set of that model looked at alone; the dot is the rank that live arenas print. Ranks are
    counted within the part of the vote graph that the model belongs to. At most 60 models are drawn.

    Parameters
    ----------
    result
        What `arena` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If no model has a rank set.
    """
    if not any(row.rank_low is not None for row in result.rows):
        message = "no model has a rank set to draw"
        raise ValueError(message)
    found = lines(result, lambda row: _line(row, result))

    def draw(panel: RowPanel) -> None:
        for place, (row, line) in enumerate(found):
            if row is not None:
                _draw_row(panel, place, row, line)

    last = max(row.rank_high or 1 for row in result.rows)
    return row_figure(
        [line for _, line in found],
        draw,
        title="Places left open (bar); the arena's rank (dot)",
        columns=("All together", "Alone", "Arena"),
        limits=(0.4, last + 0.6),
        ticks=rank_ticks(last),
        medium=medium,
    )


def _line(row: RatingRow, result: ArenaRanking) -> PanelRow:
    arena = "–" if row.rank_arena is None else str(row.rank_arena)
    told = rank_words(row)
    if row.rank_low_marginal is not None:
        told += f", alone {row.ranks_marginal}"
    if row.rank_arena is not None:
        told += f", arena {row.rank_arena}"
    return PanelRow(
        name=row.name,
        words=(row.ranks, row.ranks_marginal, arena),
        line=told,
        strong=stands_out(row, result),
        faint=row.rank_low is None,
    )


def _draw_row(panel: RowPanel, place: int, row: RatingRow, line: PanelRow) -> None:
    color = LIGHT.good if line.strong else LIGHT.neutral
    level_ = panel.level(place)
    sets = ((row.rank_low, row.rank_high, 0.5, 0.32), (row.rank_low_marginal, row.rank_high_marginal, 0.16, 1.0))
    for low, high, tall, faint in sets:
        if low is None or high is None:
            continue
        half = min(panel.half(tall), 0.42)
        panel.axes.fill_betweenx(
            [level_ - half, level_ + half],
            low - 0.5,
            high + 0.5,
            color=color,
            alpha=faint,
            linewidth=0,
            zorder=1 + faint,
        )
    if row.rank_arena is not None:
        panel.axes.plot(
            [row.rank_arena],
            [level_],
            marker="o",
            markersize=panel.size.font * 0.5,
            markerfacecolor=LIGHT.ink,
            markeredgecolor=LIGHT.surface,
            markeredgewidth=panel.size.font * 0.09,
            linestyle="none",
            clip_on=False,
            zorder=4,
        )


def arena_ranks_alt(result: ArenaRanking) -> str:
    """Describe `arena_ranks` in words: how many ranks are certain, then every model's set and the arena's rank."""
    ranked = [row for row in result.rows if row.rank_low is not None]
    certain = sum(row.rank_low == row.rank_high for row in ranked)
    rows = [row for row in shown_models(result) if row.rank_low is not None][:_READ]
    told = [f"{row.name} {rank_words(row)}, arena's rank {row.rank_arena or 'none'}" for row in rows]
    more = len(ranked) - len(rows)
    last = f" {plural(more, 'more model')} {'stands' if more == 1 else 'stand'} in the table." if more > 0 else ""
    part = "" if whole(result) else ", each within its part"
    return one_line(
        f"Rank sets at {level(result)}{part}: {certain} of {plural(len(ranked), 'rank')} "
        f"{'is' if certain == 1 else 'are'} certain. {'; '.join(told)}.{last}"
    )
