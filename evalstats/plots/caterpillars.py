"""Levels of random effects in the order of their estimates: which stand out, and how certainly."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from evalstats.plots.canvas import SMALL, Canvas, Extent, Sheet, drawn, limits_of, round_ticks, set_ticks, tick_words
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.lettering import fitted, fitted_names, spread, text_width

MOST_NAMED = 26
_MOST_WHISKERS = 500
_EXTREMES = 4
_ROW = 1.6  # of a row with a name, in letters' heights
_MANY = 15.0  # height of a panel of many levels, in letters' heights


def caterpillar(rows: object, *, group: str = "group", unit: str = "", ax: Any = None, size: Extent = None) -> Figure:
    """Draw the levels of each random effect with their intervals, from the highest to the lowest.

    Up to 26 levels stand in rows with their names. More stand side by side, thin, and the four lowest and four highest are
    named; more than 500 are drawn as a band. Dark marks have an interval that leaves out 0.

    Parameters
    ----------
    rows
        `level` (or `label`), `estimate`, `conf_low`, `conf_high`; and the column of groups.
    group
        The column whose values have a panel each.
    unit
        The unit of the estimates.
    ax, size
        Axes to draw in; else the size of a new figure in inches, as its width or both.

    Raises
    ------
    InputError
        If a column is missing, or there are no rows.

    Examples
    --------
    >>> rows = {"level": ["law", "maths"], "estimate": [-1, 1], "conf_low": [-2, 0.5], "conf_high": [0.5, 2]}
    >>> [text.get_text() for text in caterpillar(rows).axes[0].texts]
    ['2 levels', 'maths', 'law']
    """
    table = columns_of(rows, "caterpillar")
    for name in ("estimate", "conf_low", "conf_high"):
        table.need(name)
    table.need("level", "label")
    panels = [(name, _ordered(own)) for name, own in table.by(group)]

    def figure(sheet: Sheet) -> Canvas:
        tall = [_ROW * own.n if own.n <= MOST_NAMED else _MANY for _, own in panels]
        around = 4.2 * len(panels)
        if sheet.most is not None:
            sheet, unit_tall = sheet.squeezed(sum(map(round, tall)) or 1, 1.0, around)
            scale = unit_tall / sheet.font
            tall = [scale * each for each in tall] if sheet.height is not None or scale < 1 else tall
        font = sheet.font
        canvas = sheet.canvas(font * (sum(tall) + around))
        top = 0.0
        for (name, own), each in zip(panels, tall, strict=True):
            words = f"{own.n:,} level{'s' if own.n > 1 else ''}{f', {unit}' if unit else ''}"
            canvas.text(canvas.width, top + 0.8 * font, words, align="right", letters=SMALL, color=canvas.colors.muted)
            room = canvas.width - text_width(words, SMALL * font) - font
            canvas.text(0, top + 0.8 * font, fitted(name, room, font, bold=True), weight="bold")
            top += 1.9 * font
            draw = _draw_rows if own.n <= MOST_NAMED else _draw_many
            draw(canvas, own, (top, top + each * font))
            top += (each + 2.3) * font
        return canvas

    return drawn(ax, size, figure)


def _ordered(table: Columns) -> Columns:
    """Return the rows that have an estimate and an interval, from the lowest to the highest."""
    known = table.where([both is not None for both in table.intervals()])
    order = sorted(range(known.n), key=lambda row: known.numbers("estimate")[row] or 0.0)
    data = {name: [column[row] for row in order] for name, column in known.data.items()}
    return Columns(table.figure, data, known.n)


def _numbers(table: Columns) -> tuple[list[float], list[tuple[float, float]]]:
    values = [value or 0.0 for value in table.numbers("estimate")]
    return values, [both or (0.0, 0.0) for both in table.intervals()]


def _apart(both: tuple[float, float]) -> bool:
    return both[0] > 0 or both[1] < 0


def _draw_rows(canvas: Canvas, table: Columns, span: tuple[float, float]) -> None:
    """Draw one level a row, its name on the left; the highest on top."""
    font, colors = canvas.font, canvas.colors
    values, ends = _numbers(table)
    names = fitted_names(table.names("level", "label"), 0.4 * canvas.width, font)
    left = max(text_width(name, font) for name in names) + font
    axes = canvas.panel(left, span[0], canvas.width - 0.5 * font, span[1], "levels")
    low, high = limits_of([0.0, *(end for both in ends for end in both)])
    axes.set_xlim(low, high)
    axes.set_ylim(-0.5, table.n - 0.5)
    ticks = round_ticks(low, high, 4 if canvas.narrow else 6)
    set_ticks(axes, "x", ticks, [tick_words(tick, sign=True) for tick in ticks])
    axes.grid(axis="x", color=colors.line, linewidth=0.06 * font)
    axes.axvline(0.0, color=colors.ink, linewidth=0.09 * font, zorder=0.8)
    step = (span[1] - span[0]) / table.n
    for place, (value, both) in enumerate(zip(values, ends, strict=True)):
        color = colors.ink if _apart(both) else colors.muted
        axes.plot(both, [place, place], color=color, linewidth=0.14 * font, zorder=2)
        axes.plot([value], [place], marker="o", markersize=0.42 * font, color=color, zorder=3)
    for place in reversed(range(table.n)):
        canvas.text(0, span[1] - (place + 0.5) * step, names[place], letters=min(1.0, step / font / 1.15))


def _draw_many(canvas: Canvas, table: Columns, span: tuple[float, float]) -> None:
    """Draw levels side by side, from the lowest to the highest, and name the ends."""
    font, colors = canvas.font, canvas.colors
    values, ends = _numbers(table)
    low, high = limits_of([0.0, *(end for both in ends for end in both)])
    ticks = round_ticks(low, high, 5)
    names = table.names("level", "label")
    lowest, highest = list(range(_EXTREMES)), list(range(table.n - _EXTREMES, table.n))
    written = max(text_width(tick_words(tick, sign=True), SMALL * font) for tick in ticks) + 0.6 * font
    beside = lowest + highest if canvas.narrow else highest
    left = written + (0.0 if canvas.narrow else _room(names, lowest, canvas))
    right = canvas.width - _room(names, beside, canvas)
    axes = canvas.panel(left, span[0], right, span[1], "levels")
    axes.set_xlim(-0.5, table.n - 0.5)
    axes.set_ylim(low, high)
    axes.grid(axis="y", color=colors.line, linewidth=0.06 * font)
    set_ticks(axes, "y", ticks, [""] * len(ticks))
    axes.axhline(0.0, color=colors.ink, linewidth=0.09 * font, zorder=0.8)

    def y(value: float) -> float:
        return span[1] - (value - low) / (high - low) * (span[1] - span[0])

    for tick in ticks:
        words = tick_words(tick, sign=True)
        canvas.text(written - 0.6 * font, y(tick), words, align="right", letters=SMALL, color=colors.muted)
    places = list(range(table.n))
    if table.n > _MOST_WHISKERS:
        lows, highs = zip(*ends, strict=True)
        axes.fill_between(places, lows, highs, color=colors.neutral, alpha=0.3, linewidth=0, zorder=1)
        axes.plot(places, values, color=colors.ink, linewidth=0.12 * font, zorder=3)
    else:
        _draw_whiskers(axes, canvas, values, ends, (right - left) / table.n)
    step = (right - left) / table.n
    groups = [(beside, False)] if canvas.narrow else [(lowest, True), (highest, False)]
    for rows, on_left in groups:
        at = [(left + (row + 0.5) * step, y(values[row]), _apart(ends[row])) for row in rows]
        _name(canvas, [names[row] for row in rows], at, (written, left, right), span, on_left=on_left)


def _room(names: Sequence[str], rows: Sequence[int], canvas: Canvas) -> float:
    """Return what names beside a panel take, with the lines that lead to them."""
    widest = max(text_width(names[row], SMALL * canvas.font) for row in rows)
    return min(widest + 1.6 * canvas.font, (0.4 if canvas.narrow else 0.3) * canvas.width)


def _draw_whiskers(
    axes: Any, canvas: Canvas, values: Sequence[float], ends: Sequence[tuple[float, float]], step: float
) -> None:  # fmt: skip
    font = canvas.font
    for apart in (False, True):
        rows = [row for row, both in enumerate(ends) if _apart(both) == apart]
        color = canvas.colors.ink if apart else canvas.colors.muted
        look: dict[str, Any] = {
            "color": color,
            "linewidth": min(0.14 * font, 0.6 * step),
            "alpha": 0.8 if apart else 0.5,
        }
        axes.vlines(rows, [ends[row][0] for row in rows], [ends[row][1] for row in rows], zorder=1 + apart, **look)
        look = {"color": color, "linestyle": "none", "marker": "o", "markersize": min(0.36 * font, 1.1 * step)}
        axes.plot(rows, [values[row] for row in rows], markeredgewidth=0, zorder=3, **look)


def _name(
    canvas: Canvas,
    names: Sequence[str],
    at: Sequence[tuple[float, float, bool]],
    sides: tuple[float, float, float],
    span: tuple[float, float],
    *,
    on_left: bool,
) -> None:
    font, (written, left, right) = SMALL * canvas.font, sides
    order = sorted(range(len(at)), key=lambda place: at[place][1])
    levels = spread([at[place][1] for place in order], 1.3 * font, span[0] + 0.5 * font, span[1] - 0.5 * font)
    edge = left - canvas.font if on_left else right + canvas.font
    room = edge - written if on_left else canvas.width - edge
    texts = fitted_names([names[place] for place in order], room - 0.3 * font, font)
    for place, level, text in zip(order, levels, texts, strict=True):
        x, y, apart = at[place]
        canvas.line([x, edge], [y, level], color=canvas.colors.line, linewidth=0.07 * canvas.font, zorder=0.6)
        color = canvas.colors.ink if apart else canvas.colors.muted
        shift = -0.2 * font if on_left else 0.2 * font
        canvas.text(edge + shift, level, text, align="right" if on_left else "left", letters=SMALL, color=color)
