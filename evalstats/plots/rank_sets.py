"""Scores, and beside them the ranks that the data leave open, or which models are not separated."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from evalstats.document.numbers import interval, number
from evalstats.plots.canvas import (
    Extent,
    limits_of,
    point_style,
)
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.rows import Line, MarkPanel, Marks, Words, further_columns, grouped_lines, row_figure, word_column
from evalstats.plots.text import digits_within


def ranks(
    rows: object,
    *,
    title: str = "",
    columns: Mapping[str, str] | None = None,
    digits: int | None = None,
    bounds: tuple[float, float] | None = None,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw each model's score with its interval, and beside it the set of ranks that the data leave open.

    The wide bar covers every place that is open, all models together; the thin bar inside is the set of that model looked at
    alone; a dot is a rank given by somebody else.

    Parameters
    ----------
    rows
        `model` (or `label`), `rank_low`, `rank_high` (places counted from 1); if known `estimate`, `conf_low`, `conf_high`;
        and any of: `rank_low_marginal`, `rank_high_marginal`, `rank` (the dot), `words` (the score in words), `best` (bold
        and in colour), `group` (a heading above the models of one).
    title
        What the score measures.
    columns
        Further columns of `rows` to write at the end of each row, with their headings.
    digits
        Decimals of the scores where there are no `words`; by itself so many that three digits of the axis differ.
    bounds
        The lowest and highest score that can occur.

    Examples
    --------
    >>> figure = ranks({"model": ["a", "b"], "rank_low": [1, 1], "rank_high": [1, 2]})
    >>> [text.get_text() for text in figure.axes[0].texts][:4]
    ['a', 'b', '1', '1–2']
    """
    table = columns_of(rows, "ranks")
    table.need("rank_low")
    table.need("rank_high")
    best, low, scored = table.flags("best"), table.numbers("rank_low"), table.has("estimate")
    named = [
        Line(name=name, strong=best[place], faint=low[place] is None and not scored)
        for place, name in enumerate(table.names())
    ]
    lines, at = grouped_lines(table.texts("group"), named)
    sets = table.intervals("rank_low", "rank_high")
    parts: list[Words | Marks] = []
    score_words = [""] * table.n
    if scored:
        values = [*table.numbers("estimate"), *table.numbers("conf_low"), *table.numbers("conf_high")]
        limits = limits_of(values) if bounds is None else _within(limits_of(values), bounds)
        parts.append(Marks(draw=lambda panel: _draw_scores(panel, table, at), title=title, limits=limits, share=1.25))
        words = (
            table.texts("words")
            if table.has("words")
            else _scores(table, digits_within(limits[1] - limits[0]) if digits is None else digits)
        )
        parts.append(word_column(words, at, len(lines)))
        score_words = [f"{each}, " for each in words]
    if any(sets):
        last = max(int(ends[1]) for ends in sets if ends)
        parts.append(
            Marks(
                draw=lambda panel: _draw_sets(panel, table, at),
                title="Ranks left open" if parts or not title else title,
                limits=(0.4, last + 0.6),
                ticks=rank_ticks(last),
            )
        )
    shown: list[str] = []
    for ends in sets:
        first, final = (0, 0) if ends is None else map(round, ends)
        shown.append("no rank" if ends is None else f"{first}" if first == final else f"{first}–{final}")
    parts.append(word_column(shown, at, len(lines)))
    for place, scores, ends, words, value in zip(at, score_words, sets, shown, table.numbers("estimate"), strict=True):
        open_ranks = words if ends is None else f"rank {words}"
        lines[place] = replace(lines[place], says=f"{scores}{open_ranks}", value=value)
    parts += further_columns(table, columns, at, len(lines))
    return row_figure(lines, parts, note=note, ax=ax, size=size)


def critical_differences(
    rows: object,
    *,
    title: str = "",
    bounds: tuple[float, float] | None = None,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw each model's score, and beside it lines that join models which are not separated.

    It is Demsar's critical-difference diagram with a row a model: a line for each letter of a compact letter display. Intervals
    of single scores are left out, since they do not tell whether two are separated.

    Parameters
    ----------
    rows
        `model` (or `label`), `estimate`, `tier` (letters; models that share one are not separated); and any of: `words` (the
        score in words), `best` (bold and in colour).
    title
        What the score measures.
    bounds
        The lowest and highest score that can occur.

    Examples
    --------
    >>> figure = critical_differences({"model": ["a", "b", "c"], "estimate": [3, 2, 1], "tier": ["a", "ab", "b"]})
    >>> [text.get_text() for text in figure.axes[0].texts][-1]
    'Tiers'
    """
    table = columns_of(rows, "critical_differences")
    table.need("estimate")
    table.need("tier")
    letters = [re.findall(r"[a-zA-Z]\d*", tier) for tier in table.texts("tier")]
    columns = list(dict.fromkeys(letter for own in letters for letter in own))
    shared = [letter for letter in columns if sum(letter in own for own in letters) > 1]

    def draw(panel: MarkPanel) -> None:
        font, levels = panel.font, panel.levels
        # Lines of neighbouring rows meet; where words stand between rows each row has its own.
        half = 0.55 * font if panel.canvas.narrow else 0.515 * (levels[-1] - levels[0]) / (table.n - 1)
        for across, letter in enumerate(shared):
            for level in (level for level, own in zip(levels, letters, strict=True) if letter in own):
                style = {"color": panel.canvas.colors.neutral, "linewidth": 0.3 * font}
                panel.axes.plot([across] * 2, [level - half, level + half], solid_capstyle="butt", **style)

    values, best, tiers = table.numbers("estimate"), table.flags("best"), table.texts("tier")
    limits = limits_of(values) if bounds is None else _within(limits_of(values), bounds)
    digits = digits_within(limits[1] - limits[0])
    words = table.texts("words") if table.has("words") else [number(value, digits) for value in values]

    def draw_scores(panel: MarkPanel) -> None:
        colors, font = panel.canvas.colors, panel.font
        for place, value in enumerate(values):
            if value is not None:
                look = point_style(colors, colors.good if best[place] else colors.neutral, font)
                panel.point(place, value, **{**look, "markersize": 0.5 * font})

    lines = [
        Line(name=name, strong=best[place], says=f"{words[place]}, tier {tiers[place]}", value=values[place])
        for place, name in enumerate(table.names())
    ]
    scores = Marks(draw=draw_scores, title=title, limits=limits)
    parts: list[Words | Marks] = [scores, Words(texts=words)]
    if shared:
        ends = (-0.6, len(shared) - 0.4)
        parts.append(Marks(draw=draw, title="Tiers", limits=ends, ticks=(), share=0.4))
    return row_figure(lines, parts, note=note, ax=ax, size=size)


def _within(limits: tuple[float, float], bounds: tuple[float, float]) -> tuple[float, float]:
    room = 0.02 * (bounds[1] - bounds[0])
    return max(limits[0], bounds[0] - room), min(limits[1], bounds[1] + room)


def _scores(table: Columns, digits: int) -> list[str]:
    rows = zip(table.numbers("estimate"), table.intervals(), strict=True)
    return [
        "no score" if value is None else f"{number(value, digits)} {interval(*ends, 1, digits)}" if ends else
        f"{number(value, digits)}, no interval"
        for value, ends in rows
    ]  # fmt: skip


def rank_ticks(last: int) -> list[int]:
    """Return places to write at an axis of ranks: the first, the last, and round ones between that keep their distance.

    >>> rank_ticks(5), rank_ticks(29)
    ([1, 2, 3, 4, 5], [1, 10, 20, 29])
    """
    step = next((step for step in (1, 5, 10, 20, 50, 100) if last / step <= (8 if step == 1 else 5)), 500)
    between = [place for place in range(step, last, step) if place - 1 >= step / 2 and last - place >= step / 2]
    return sorted({1, *between, last})


def _draw_scores(panel: MarkPanel, table: Columns, at: list[int]) -> None:
    colors, font = panel.canvas.colors, panel.font
    rows = zip(at, table.numbers("estimate"), table.intervals(), table.flags("best"), strict=True)
    for place, value, ends, best in rows:
        color = colors.good if best else colors.neutral
        if ends is not None:
            panel.interval(place, *ends, color=color, thick=0.18 if best else 0.14)
        if value is not None:
            look = point_style(colors, color, font, filled=ends is not None, marker="o" if ends else "D")
            # Small, so that the caps of a short interval still show on both sides.
            panel.point(place, value, **{**look, "markersize": 0.4 * font, "markeredgewidth": 0.08 * font})


def _draw_sets(panel: MarkPanel, table: Columns, at: list[int]) -> None:
    colors, font = panel.canvas.colors, panel.font
    together = table.intervals("rank_low", "rank_high")
    alone = table.intervals("rank_low_marginal", "rank_high_marginal")
    ranks_, best = table.numbers("rank"), table.flags("best")
    for row, place in enumerate(at):
        color = colors.good if best[row] else colors.neutral
        for ends, half, opaque in ((together[row], 0.5, 0.32), (alone[row], 0.17, 1.0)):
            if ends is not None:
                panel.bar(place, ends[0] - 0.5, ends[1] + 0.5, half, color=color, alpha=opaque, zorder=1 + opaque)
        rank = ranks_[row]
        if rank is not None:
            look = point_style(colors, colors.surface, font)
            panel.point(place, rank, **{**look, "markerfacecolor": colors.ink, "markersize": 0.5 * font, "zorder": 4})
