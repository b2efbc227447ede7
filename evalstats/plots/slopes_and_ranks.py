"""Ranks that the data leave open, and lines between two orders or two conditions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from matplotlib.figure import Figure

from evalstats.document.numbers import interval, number
from evalstats.plots.canvas import (
    SMALL,
    Canvas,
    Extent,
    Segment,
    Sheet,
    draw_segments,
    drawn,
    limits_of,
    point_style,
    round_ticks,
    tick_words,
)
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.rows import Line, MarkPanel, Marks, Words, further_columns, grouped_lines, row_figure, word_column
from evalstats.plots.text import Room, digits_within, fitted, fitted_names, spread, text_width, with_interval, wrapped


def ranks(
    rows: object,
    *,
    title: str = "",
    columns: Mapping[str, str] | None = None,
    digits: int = 1,
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
        Decimals of the scores where there are no `words`.
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
        limits = limits_of(values)
        if bounds is not None:
            room = 0.02 * (bounds[1] - bounds[0])
            limits = max(limits[0], bounds[0] - room), min(limits[1], bounds[1] + room)
        parts.append(Marks(draw=lambda panel: _draw_scores(panel, table, at), title=title, limits=limits, share=1.25))
        words = table.texts("words") if table.has("words") else _scores(table, digits)
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


MOST_LABELS = 22
_TALL = 12.0  # of a panel, in letters' heights
_LEAST_NAME = 0.7  # heights of a panel for each name in it, in letters' heights


def slopes(
    rows: object,
    *,
    panel: str = "scenario",
    ends: tuple[str, str] = ("", ""),
    bounds: tuple[float, float] | None = None,
    reverse: bool = False,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw each model's way from one score to another, in a panel for each scenario.

    Within an end the models stand side by side in the order of their scores, so that no interval hides another. A coloured
    line is a change that is settled, a grey one is not. Of many models those that change most are named.

    Parameters
    ----------
    rows
        `model` (or `label`), `start`, `estimate` (the end); if known `start_low`, `start_high`, `conf_low`, `conf_high`; and
        any of: the column of panels, `words` (the change), `tone`, `settled`.
    panel
        The column whose values have a panel each.
    ends
        What stands at the left and at the right of a panel; the right one by itself is the panel.
    bounds
        The lowest and highest value that can occur.
    reverse
        Whether less is above.

    Examples
    --------
    >>> rows = {"model": ["a", "b"], "scenario": ["law", "law"], "start": [80, 70], "estimate": [60, 71]}
    >>> [text.get_text() for text in slopes(rows).axes[0].texts]
    ['law', '60', '65', '70', '75', '80', 'b', 'a']
    """
    table = columns_of(rows, "slopes")
    table.need("start")
    table.need("estimate")
    panels = list(table.by(panel))
    columns = ("start", "estimate", "start_low", "start_high", "conf_low", "conf_high")
    low, high = limits_of([value for name in columns for value in table.numbers(name)], 0.04)
    if bounds is not None:
        room = 0.02 * (bounds[1] - bounds[0])
        low, high = max(low, bounds[0] - room), min(high, bounds[1] + room)

    def figure(sheet: Sheet) -> Canvas:
        font = sheet.font
        beside = 1 if sheet.narrow else min(2, len(panels))
        lines = ceil(len(panels) / beside)
        most = max(min(own.n, MOST_LABELS) for _, own in panels)
        heads, notes = 1.9 + (1.2 if any(ends) else 0.0), wrapped(note, sheet.width, SMALL * font)
        foot = 1.25 * SMALL * len(notes)
        tall = max(_TALL, 1.3 * SMALL * most)
        if sheet.most is not None:
            room = (sheet.most / font - foot) / lines - heads - 1.0
            tall = max(room if sheet.height is not None else min(tall, room), 4.0, _LEAST_NAME * most)
        canvas = sheet.canvas(font * (lines * (tall + heads + 1.0) + foot))
        each = (canvas.width - 1.5 * font * (beside - 1)) / beside
        if beside == 1 and not canvas.narrow:
            each = min(each, 46 * font)
        for place, (name, own) in enumerate(panels):
            down, across = divmod(place, beside)
            top = font * (down * (tall + heads + 1.0) + heads)
            left = across * (each + 1.5 * font)
            _draw_panel(
                canvas, own, (name, *ends), (left, top, left + each, top + tall * font), (low, high), reverse=reverse
            )
        canvas.small_lines(notes, canvas.height - font * (foot - 0.6))
        return canvas

    return drawn(ax, size, figure)


def _draw_panel(
    canvas: Canvas,
    table: Columns,
    titles: tuple[str, str, str],
    box: tuple[float, float, float, float],
    limits: tuple[float, float],
    *,
    reverse: bool,
) -> None:
    left, top, right, bottom = box
    font, (low, high), named = canvas.font, limits, _named(table)
    # So many names share the height of the panel.
    letters = min(SMALL, (bottom - top) / (1.3 * font * max(len(named), 1)))
    small = letters * font

    def at(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low)
        return top + (bottom - top) * (share if reverse else 1 - share)

    name, *ends = titles
    heads = 1.9 + (1.2 if any(ends) else 0.0)
    canvas.text(left, top - font * (heads - 0.8), fitted(name, right - left, font, bold=True), weight="bold")
    ticks = round_ticks(low, high, 5)
    start = left + max(text_width(tick_words(tick), small) for tick in ticks) + 0.7 * font
    words = table.texts("words")
    numbers = max((text_width(words[row], small, bold=True) for row in named), default=0.0)
    widest = max((text_width(table.names()[row], small) for row in named), default=0.0)
    names = min(widest, 0.44 * (right - left) - numbers)
    stop = right - names - numbers - 2.6 * font
    grid: list[Segment] = [((start, at(tick)), (stop, at(tick))) for tick in ticks]
    draw_segments(canvas.base, grid, color=canvas.colors.line, linewidth=0.06 * font, zorder=0.4)
    muted: dict[str, Any] = {"letters": letters, "color": canvas.colors.muted}
    for tick in ticks:
        canvas.text(start - 0.5 * font, at(tick), tick_words(tick), align="right", **muted)
    if any(ends):
        canvas.text(start, top - 0.9 * font, fitted(ends[0], (stop - start) * 0.6, small), **muted)
        canvas.text(stop, top - 0.9 * font, fitted(ends[1], (stop - start) * 0.38, small), align="right", **muted)
    places, step = _draw_slopes(canvas, table, (start, stop), at)
    order = sorted(named, key=lambda row: at(table.numbers("estimate")[row] or 0.0))
    ys = [at(table.numbers("estimate")[row] or 0.0) for row in order]
    levels = spread(ys, 1.25 * small, top + 0.5 * small, bottom - 0.5 * small)
    texts = fitted_names([table.names()[row] for row in order], names, small)
    settled, tones = table.flags("settled"), table.texts("tone")
    written_at: dict[int, Room] = {}
    for row, y, level, text in zip(order, ys, levels, texts, strict=True):
        color = canvas.tone(tones[row] or "plain") if settled[row] else canvas.colors.muted
        x = right - names - numbers - 0.7 * font
        canvas.line(
            [places[row], stop + 0.3 * font, x - 0.4 * font],
            [y, y, level],
            color=canvas.colors.line,
            linewidth=0.07 * font,
        )
        canvas.text(x, level, text, letters=letters, color=color)
        canvas.text(
            right,
            level,
            words[row],
            align="right",
            letters=letters,
            color=color,
            weight="bold" if settled[row] else "normal",
        )
        written_at[row] = x - 0.4 * font, level - 0.62 * small, right - x + 0.4 * font, 1.24 * small
    # Ends of lines stand side by side, each in a slice of its own.
    half, wide = 0.45 * font, min(0.9 * font, step)
    for row, x in places.items():
        box = x - wide / 2, at(table.numbers("estimate")[row] or 0.0) - half, wide, 2 * half
        canvas.tooltip(table.names()[row], _tooltip_words(table, row, name, high - low), box, also=written_at.get(row))


def _tooltip_words(table: Columns, row: int, panel: str, wide: float) -> str:
    """Return what a line tells a pointer: its panel, both scores with their intervals, and the change in words."""
    digits, change = digits_within(wide), table.texts("words")[row]
    before = with_interval(table.numbers("start")[row], table.intervals("start_low", "start_high")[row], digits)
    after = with_interval(table.numbers("estimate")[row], table.intervals()[row], digits)
    return ", ".join(part for part in (panel, f"{before} → {after}", change) if part)


def _named(table: Columns) -> list[int]:
    """Return the rows that are named: all, or of many those that change most, settled ones first."""
    starts, ends, settled = table.numbers("start"), table.numbers("estimate"), table.flags("settled")
    known = [row for row in range(table.n) if starts[row] is not None and ends[row] is not None]
    if len(known) <= MOST_LABELS:
        return known
    order = sorted(known, key=lambda row: (not settled[row], -abs((ends[row] or 0.0) - (starts[row] or 0.0))))
    return order[: MOST_LABELS // 2]


def _draw_slopes(
    canvas: Canvas, table: Columns, sides: tuple[float, float], at: Callable[[float], float]
) -> tuple[dict[int, float], float]:
    """Draw the lines with their intervals; return where each ends, and how far apart two ends are."""
    font, colors = canvas.font, canvas.colors
    starts, stops = table.numbers("start"), table.numbers("estimate")
    known = [row for row in range(table.n) if starts[row] is not None and stops[row] is not None]
    fan = min(0.2 * (sides[1] - sides[0]), 0.9 * font * max(len(known) - 1, 0))
    left, right = (_fan(known, values, fan) for values in (starts, stops))
    settled, tones = table.flags("settled"), table.texts("tone")
    before, after = table.intervals("start_low", "start_high"), table.intervals()
    for row in sorted(known, key=lambda each: settled[each]):
        xs = sides[0] + left[row], sides[1] - fan + right[row]
        ys = at(starts[row] or 0.0), at(stops[row] or 0.0)
        strong = settled[row]
        color = canvas.tone(tones[row] or "plain") if strong else colors.neutral
        look: dict[str, Any] = {"color": color, "zorder": 2 + strong}
        canvas.line(xs, ys, linewidth=font * (0.12 if strong else 0.08), alpha=0.9 if strong else 0.55, **look)
        upright: list[Segment] = [
            ((x, at(both[0])), (x, at(both[1]))) for x, both in zip(xs, (before[row], after[row]), strict=True) if both
        ]
        draw_segments(canvas.base, upright, color=color, linewidth=0.09 * font, alpha=0.6, zorder=1.5)
        face = color if strong else colors.surface
        look = {"marker": "o", "markersize": 0.34 * font, "markerfacecolor": face, "markeredgecolor": color}
        canvas.line(xs, ys, linestyle="none", markeredgewidth=0.08 * font, zorder=4, **look)
    return {row: sides[1] - fan + right[row] for row in known}, fan / (len(known) - 1) if len(known) > 1 else font


def _fan(rows: Sequence[int], values: Sequence[float | None], room: float) -> dict[int, float]:
    """Return a place across for each row, side by side in the order of their values."""
    order = sorted(rows, key=lambda row: (values[row] or 0.0, row))
    step = room / max(len(rows) - 1, 1)
    return {row: turn * step for turn, row in enumerate(order)}
