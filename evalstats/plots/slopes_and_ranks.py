"""Ranks that the data leave open, and lines between two orders or two conditions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from evalstats.plots.lettering import fitted, fitted_names, spread, text_width, wrapped
from evalstats.plots.rows import Line, Marks, Panel, Words, row_figure


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
    note, ax, size
        As in every figure of `evalstats.plots`.

    Examples
    --------
    >>> figure = ranks({"model": ["a", "b"], "rank_low": [1, 1], "rank_high": [1, 2]})
    >>> [text.get_text() for text in figure.axes[0].texts][:4]
    ['a', 'b', '1', '1–2']
    """
    table = columns_of(rows, "ranks")
    table.need("rank_low")
    table.need("rank_high")
    lines, at = _lines(table)
    sets = table.intervals("rank_low", "rank_high")
    parts: list[Words | Marks] = []
    if table.has("estimate"):
        values = [*table.numbers("estimate"), *table.numbers("conf_low"), *table.numbers("conf_high")]
        limits = limits_of(values)
        if bounds is not None:
            room = 0.02 * (bounds[1] - bounds[0])
            limits = max(limits[0], bounds[0] - room), min(limits[1], bounds[1] + room)
        parts.append(Marks(draw=lambda panel: _draw_scores(panel, table, at), title=title, limits=limits, share=1.25))
        words = table.texts("words") if table.has("words") else _scores(table, digits)
        parts.append(_column(words, at, len(lines)))
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
    shown = ["no rank" if ends is None else _set_words(ends) for ends in sets]
    parts.append(_column(shown, at, len(lines)))
    for name, heading in (columns or {}).items():
        table.need(name)
        parts.append(_column(table.texts(name), at, len(lines), heading))

    def figure(sheet: Sheet) -> Canvas:
        return row_figure(sheet, lines, parts, note)

    return drawn(ax, size, figure)


def _lines(table: Columns) -> tuple[list[Line], list[int]]:
    groups, best, low = table.texts("group"), table.flags("best"), table.numbers("rank_low")
    lines: list[Line] = []
    at: list[int] = []
    for place, name in enumerate(table.names()):
        if groups[place] and (place == 0 or groups[place] != groups[place - 1]):
            lines.append(Line(name=groups[place], heading=True))
        at.append(len(lines))
        lines.append(Line(name=name, strong=best[place], faint=low[place] is None and not table.has("estimate")))
    return lines, at


def _column(texts: list[str], at: list[int], n: int, heading: str = "") -> Words:
    found = [""] * n
    for text, place in zip(texts, at, strict=True):
        found[place] = text
    return Words(texts=found, heading=heading)


def _scores(table: Columns, digits: int) -> list[str]:
    rows = zip(table.numbers("estimate"), table.intervals(), strict=True)
    return [
        "no score" if value is None else f"{number(value, digits)} {interval(*ends, 1, digits)}" if ends else
        f"{number(value, digits)}, no interval"
        for value, ends in rows
    ]  # fmt: skip


def _set_words(ends: tuple[float, float]) -> str:
    low, high = map(round, ends)
    return f"{low}" if low == high else f"{low}–{high}"


def rank_ticks(last: int) -> list[int]:
    """Return places to write at an axis of ranks: the first, the last, and round ones between that keep their distance.

    >>> rank_ticks(5), rank_ticks(29)
    ([1, 2, 3, 4, 5], [1, 10, 20, 29])
    """
    step = next((step for step in (1, 5, 10, 20, 50, 100) if last / step <= (8 if step == 1 else 5)), 500)
    between = [place for place in range(step, last, step) if place - 1 >= step / 2 and last - place >= step / 2]
    return sorted({1, *between, last})


def _draw_scores(panel: Panel, table: Columns, at: list[int]) -> None:
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


def _draw_sets(panel: Panel, table: Columns, at: list[int]) -> None:
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
_STEP = 1.55  # of two ranks, in letters' heights
_FAN = 0.3  # what bars of one side may take of the middle
_NAMES = 0.27  # share of the width that names of one side may take


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
    note, ax, size
        As in every figure of `evalstats.plots`.

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
            tall = max(room if sheet.height is not None else min(tall, room), 4.0)
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
    places = _draw_slopes(canvas, table, (start, stop), at)
    order = sorted(named, key=lambda row: at(table.numbers("estimate")[row] or 0.0))
    ys = [at(table.numbers("estimate")[row] or 0.0) for row in order]
    levels = spread(ys, 1.25 * small, top + 0.5 * small, bottom - 0.5 * small)
    texts = fitted_names([table.names()[row] for row in order], names, small)
    settled, tones = table.flags("settled"), table.texts("tone")
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
) -> dict[int, float]:
    """Draw the lines with their intervals; return where each ends."""
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
    return {row: sides[1] - fan + right[row] for row in known}


def _fan(rows: Sequence[int], values: Sequence[float | None], room: float) -> dict[int, float]:
    """Return a place across for each row, side by side in the order of their values."""
    order = sorted(rows, key=lambda row: (values[row] or 0.0, row))
    step = room / max(len(rows) - 1, 1)
    return {row: turn * step for turn, row in enumerate(order)}


# --- ranks ---


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One ranking: each row's place, the ranks that are left open for it, and how that is written."""

    title: str
    places: Sequence[int]
    sets: Sequence[tuple[float, float] | None]

    def words(self, row: int) -> str:
        """Write the set of ranks."""
        ends = self.sets[row]
        if ends is None:
            return "–"
        low, high = map(round, ends)
        return f"{low}" if low == high else f"{low}–{high}"


def bump(
    rows: object,
    *,
    ends: tuple[str, str] = ("Lab", "Live"),
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw the ranks that two rankings leave open as bars, and a line for each model from its place to its place.

    The point on a bar is the place of the estimate, filled where one rank alone is left. Models with a tone are coloured.

    Parameters
    ----------
    rows
        `model` (or `label`), `start_rank`, `end_rank` (places counted from 1); if known `start_low`, `start_high`,
        `end_low`, `end_high` (the sets of ranks); and any of: `tone`, `sign` (a sign beside the name).
    ends
        What the two rankings are called.
    note, ax, size
        As in every figure of `evalstats.plots`.

    Examples
    --------
    >>> rows = {"model": ["a", "b"], "start_rank": [1, 2], "end_rank": [2, 1], "end_low": [1, 1], "end_high": [2, 2]}
    >>> [text.get_text() for text in bump(rows, ends=("", "")).axes[0].texts]
    ['–', 'a', '–', 'b', '1–2', 'a', '1–2', 'b']
    """
    table = columns_of(rows, "bump")
    table.need("start_rank")
    table.need("end_rank")
    sides = [
        _Side(
            title=title,
            places=[round(value or 0) for value in table.numbers(f"{name}_rank")],
            sets=table.intervals(f"{name}_low", f"{name}_high"),
        )
        for name, title in zip(("start", "end"), ends, strict=True)
    ]
    last = max(
        [*(place for side in sides for place in side.places), *(int(e[1]) for side in sides for e in side.sets if e)]
    )
    return drawn(ax, size, lambda sheet: _draw_bump(sheet, table, sides, last, note))


def _draw_bump(sheet: Sheet, table: Columns, sides: Sequence[_Side], last: int, note: str) -> Canvas:
    notes = wrapped(note, sheet.width, SMALL * sheet.font)
    around = 2.0 + 1.25 * SMALL * len(notes) + (0.5 if notes else 0.1)
    sheet, step = sheet.squeezed(last, _STEP, around)
    canvas = sheet.canvas(step * last + around * sheet.font)
    font = canvas.font
    letters = min(1.0, 0.78 * step / font)
    rooms = [
        _room(canvas, table, side, letters, named=place == 1 or not canvas.narrow) for place, side in enumerate(sides)
    ]
    left, right = rooms[0][0] + rooms[0][1] + 1.2 * font, canvas.width - rooms[1][0] - rooms[1][1] - 1.2 * font
    fan = min(_FAN * (right - left), 0.9 * font * max(last - 1, 1))
    top = 1.9 * font

    def y(place: float) -> float:
        return top + (place - 0.5) * step

    grid: list[Segment] = [
        ((left, y(place)), (right, y(place))) for place in range(1, last + 1) if place % 5 == 0 or place == 1
    ]
    draw_segments(canvas.base, grid, color=canvas.colors.line, linewidth=0.06 * font, zorder=0.4)
    for side, x, align in zip(sides, (left, right), ("left", "right"), strict=True):
        canvas.text(x, 0.8 * font, side.title, align=align, letters=SMALL, weight="bold", color=canvas.colors.muted)
    tones = table.texts("tone")
    for row in sorted(range(table.n), key=lambda each: tones[each] not in ("", "neutral")):
        xs = [
            (left, right - fan)[place] + (side.places[row] - 1) / max(last - 1, 1) * fan
            for place, side in enumerate(sides)
        ]
        _draw_climb(canvas, sides, row, xs=xs, y=y, tone=tones[row], step=step)
    for place, (side, (names, sets)) in enumerate(zip(sides, rooms, strict=True)):
        near = left - 0.8 * font if place == 0 else right + 0.8 * font
        _write_side(canvas, table, side, (near, names, sets), y=y, letters=letters, on_left=place == 0)
    canvas.small_lines(notes, top + step * last + 0.8 * font)
    return canvas


def _room(canvas: Canvas, table: Columns, side: _Side, letters: float, *, named: bool) -> tuple[float, float]:
    """Return how wide names and sets of one side are."""
    font = letters * canvas.font
    sets = max(text_width(side.words(row), font, bold=True) for row in range(table.n)) + 0.5 * font
    if not named:
        return 0.0, sets
    widest = max(text_width(name, font, bold=True) for name in table.names()) + 1.3 * font
    return min(widest, (0.42 if canvas.narrow else _NAMES) * canvas.width), sets


def _draw_climb(
    canvas: Canvas,
    sides: Sequence[_Side],
    row: int,
    *,
    xs: Sequence[float],
    y: Callable[[float], float],
    tone: str,
    step: float,
) -> None:
    font, strong = canvas.font, tone not in ("", "neutral")
    color = canvas.tone(tone) if strong else canvas.colors.neutral
    ys = [y(side.places[row]) for side in sides]
    look: dict[str, Any] = {"color": color, "linewidth": font * (0.15 if strong else 0.08)}
    canvas.line(xs, ys, alpha=0.95 if strong else 0.4, zorder=2.5 if strong else 1.5, **look)
    for side, x, level in zip(sides, xs, ys, strict=True):
        ends = side.sets[row]
        if ends is not None:
            bar = [y(ends[0]) - 0.4 * step, y(ends[1]) + 0.4 * step]
            canvas.line([x, x], bar, color=color, linewidth=0.3 * font, alpha=0.75 if strong else 0.4, zorder=2)
        certain = ends is not None and ends[0] == ends[1]
        look = {"markerfacecolor": color if certain else canvas.colors.surface, "markeredgecolor": color}
        marker = "D" if ends is None else "o"
        canvas.line([x], [level], marker=marker, markersize=0.42 * font, markeredgewidth=0.09 * font, zorder=4, **look)


def _write_side(
    canvas: Canvas,
    table: Columns,
    side: _Side,
    room: tuple[float, float, float],
    *,
    y: Callable[[float], float],
    letters: float,
    on_left: bool,
) -> None:
    near, names, sets = room
    font, tones, signs = letters * canvas.font, table.texts("tone"), table.texts("sign")
    texts = fitted_names(table.names(), names - 1.3 * font, font, bold=True)
    for row in range(table.n):
        strong = tones[row] not in ("", "neutral")
        style: dict[str, Any] = {"letters": letters, "align": "right" if on_left else "left"}
        style |= {
            "color": canvas.tone(tones[row]) if strong else canvas.colors.muted,
            "weight": "bold" if strong else "normal",
        }
        level = y(side.places[row])
        canvas.text(near, level, side.words(row), **style)
        if names:
            said = f"{texts[row]} {signs[row]}" if on_left else f"{signs[row]} {texts[row]}"
            canvas.text(near - sets if on_left else near + sets, level, said.strip(), **style)
