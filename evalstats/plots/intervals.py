"""Intervals of any rows, one below the other: differences, scores, ratings, gaps, ratios, and a model's effects."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from evalstats.document.numbers import interval, number
from evalstats.grammar import plural
from evalstats.plots.canvas import (
    SMALL,
    Canvas,
    Extent,
    Sheet,
    drawn,
    limits_of,
    log_ticks,
    point_style,
    round_ticks,
    set_ticks,
    tick_words,
)
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.rows import Line, MarkPanel, Marks, grouped_lines, row_figure, word_column
from evalstats.plots.text import Room, digits_within, fitted, fitted_names, spread, text_width, with_interval


def forest(
    rows: object,
    *,
    title: str = "",
    reference: float | None = 0.0,
    margin: float | None = None,
    sides: tuple[str, str] = ("", ""),
    side_tones: tuple[str, str] = ("bad", "good"),
    digits: int | None = None,
    bounds: tuple[float, float] | None = None,
    log: bool = False,
    reverse: bool = False,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw one interval a row, with its name and its numbers.

    A filled point is settled: its interval leaves out the reference. A hollow one is open, a diamond has no interval. A row
    without an estimate says why in its words; it is never left out.

    Parameters
    ----------
    rows
        `model` (or `label`) and `estimate`; if known `conf_low`, `conf_high`; and any of: `words` (what stands at the end of
        the row; else the numbers), `detail` (beside the name), `group` (a heading above the rows of one), `tone` ("good",
        "bad", "neutral", "caution"), `settled`, `strong` (the answer among the rows), `dashed` (an extrapolation).
    title
        What the axis measures.
    reference
        Where nothing happens; None for none.
    margin
        Half the width of a band around the reference.
    sides, side_tones
        What lies left and right of the reference, in words and tones.
    digits
        Decimals of the numbers where there are no `words`; by itself so many that three digits of the axis differ.
    bounds
        The lowest and highest value that can occur.
    log
        Whether equal distances are equal ratios.
    reverse
        Whether less is on the right.

    Examples
    --------
    >>> figure = forest({"model": ["a", "b"], "estimate": [1, 4], "conf_low": [-2, 2], "conf_high": [4, 6]}, size=6)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['a', 'b', '+1.00 [−2.00, +4.00]', '+4.00 [+2.00, +6.00]']
    """
    table = columns_of(rows, "forest")
    table.need("estimate")
    estimates, ends, names = table.numbers("estimate"), table.intervals(), table.names()
    values = [*estimates, *(end for both in ends if both for end in both)]
    values += [] if reference is None else [reference]
    if reference is not None and margin is not None:
        values += [reference - margin, reference + margin]
    limits = _limits(values, bounds, log=log)
    digits = digits_within(2.0 if log else limits[1] - limits[0]) if digits is None else digits
    shown_numbers = _numbers(estimates, ends, digits, sign=reference == 0)
    lines, at = grouped_lines(table.texts("group"), _lines(table, names, shown_numbers))
    settled = table.flags("settled")
    if not table.has("settled"):
        settled = [both is not None and (reference is None or not both[0] <= reference <= both[1]) for both in ends]
    tones = table.texts("tone") if table.has("tone") else ["neutral"] * table.n
    words = table.texts("words") if table.has("words") else shown_numbers
    marks = Marks(
        draw=lambda panel: _draw_rows(panel, table, at, settled, tones),
        title=title,
        limits=(limits[1], limits[0]) if reverse else limits,
        ticks=log_ticks(*limits, 5) if log else None,
        write=lambda value: f"× {tick_words(value)}" if log else tick_words(value, sign=reference == 0),
        zero=reference,
        sides=sides,
        side_tones=side_tones,
        band=None if margin is None or reference is None else (reference - margin, reference + margin),
        log=log,
    )
    shown = [tone if done and tone != "neutral" else "plain" for tone, done in zip(tones, settled, strict=True)]
    return row_figure(lines, [marks, word_column(words, at, len(lines), tones=shown)], note=note, ax=ax, size=size)


def _lines(table: Columns, names: Sequence[str], numbers: Sequence[str]) -> list[Line]:
    groups, details, words = table.texts("group"), table.texts("detail"), table.texts("words")
    strong, estimates, ends = table.flags("strong"), table.numbers("estimate"), table.intervals()
    lines: list[Line] = []
    for place, name in enumerate(names):
        shown = words[place]
        # Words may give the interval already, in their own unit.
        has_ends = "[" in shown or " to " in shown or "±" in shown
        said = [shown] if has_ends or (shown and ends[place] is None) else [numbers[place], shown]
        # A name that stands below several headings is told apart by them.
        said = [groups[place], *said] if names.count(name) > 1 else said
        lines.append(
            Line(
                name=name,
                detail=details[place],
                strong=strong[place],
                faint=estimates[place] is None,
                says=", ".join(part for part in said if part),
                value=estimates[place],
            )
        )
    return lines


def _numbers(
    estimates: Sequence[float | None], ends: Sequence[tuple[float, float] | None], digits: int, *, sign: bool
) -> list[str]:
    shown: list[str] = []
    for value, both in zip(estimates, ends, strict=True):
        said = number(value, digits, sign=sign)
        if value is None:
            shown.append("no estimate")
        else:
            shown.append(f"{said}, no interval" if both is None else f"{said} {interval(*both, 1, digits, sign=sign)}")
    return shown


def _limits(values: Sequence[float | None], bounds: tuple[float, float] | None, *, log: bool) -> tuple[float, float]:
    known = [value for value in values if value is not None and (value > 0 or not log)]
    if log:
        low, high = min(known), max(known)
        room = (high / low) ** 0.08 if high > low else 1.5
        return low / room, high * room
    low, high = limits_of(known, 0.06)
    if bounds is not None:
        room = 0.06 * (high - low)
        low, high = max(low, bounds[0] - room), min(high, bounds[1] + room)
    return low, high


def _draw_rows(
    panel: MarkPanel, table: Columns, at: Sequence[int], settled: Sequence[bool], tones: Sequence[str]
) -> None:
    colors, font = panel.canvas.colors, panel.font
    strong, dashed = table.flags("strong"), table.flags("dashed")
    rows = zip(at, table.numbers("estimate"), table.intervals(), strict=True)
    for row, (place, value, ends) in enumerate(rows):
        color = panel.canvas.tone(tones[row])
        if ends is not None:
            thick = 0.22 if strong[row] else 0.15
            dash: dict[str, Any] = {"linestyle": (0, (3, 2))} if dashed[row] else {}
            panel.interval(place, *ends, color=color, thick=thick, **dash)
        if value is not None:
            marker = "o" if ends is not None else "D"
            look = point_style(colors, color, font, filled=settled[row], marker=marker)
            panel.point(place, value, **{**look, "markersize": (0.7 if strong[row] else 0.5) * font})


_MOST_NAMED = 26
_MOST_WHISKERS = 500
_EXTREMES = 4
_MANY, _LOWEST, _AROUND = (
    15.0,
    9.0,
    4.2,
)  # height of a panel of many levels, at least, and around it, in letters' heights


def caterpillar(rows: object, *, unit: str = "", ax: Any = None, size: Extent = None) -> Figure:
    """Draw the levels of each random effect with their intervals, from the highest to the lowest.

    Effects of up to 26 levels each are a forest. With more, levels stand side by side, thin, and the four lowest and four
    highest are named; more than 500 are drawn as a band. Dark marks have an interval that excludes 0.

    Parameters
    ----------
    rows
        `level` (or `label`), `estimate`, `conf_low`, `conf_high`; and `group`, whose values have a panel each.
    unit
        The unit of the estimates.

    Examples
    --------
    >>> rows = {"level": ["law", "maths"], "estimate": [-1, 1], "conf_low": [-2, 0.5], "conf_high": [0.5, 2]}
    >>> [text.get_text() for text in caterpillar(rows).axes[0].texts]
    ['maths', 'law', '+1.00 [+0.50, +2.00]', '−1.00 [−2.00, +0.50]']
    """
    table = columns_of(rows, "caterpillar")
    for name in ("estimate", "conf_low", "conf_high"):
        table.need(name)
    table.need("level", "label")
    panels = [(name, _ordered(own)) for name, own in table.by("group")]
    of_unit = f", {unit}" if unit else ""
    if all(own.n <= _MOST_NAMED for _, own in panels):
        parts = [(place, name, own) for name, own in panels for place in reversed(range(own.n))]
        found: dict[str, list[Any]] = {
            "label": [own.names("level", "label")[place] for place, _, own in parts],
            "group": [f"{name}: {plural(own.n, 'level')}" if name else "" for _, name, own in parts],
        }
        for column in ("estimate", "conf_low", "conf_high"):
            found[column] = [own.numbers(column)[place] for place, _, own in parts]
        return forest(found, title=unit, ax=ax, size=size)

    def figure(sheet: Sheet) -> Canvas:
        tall = _MANY
        if sheet.most is not None:
            # Letters get smaller where all panels would not find room.
            most = sheet.most / len(panels)
            sheet = replace(sheet, font=min(sheet.font, most / (_LOWEST + _AROUND)))
            room = most / sheet.font - _AROUND
            tall = room if sheet.height is not None else min(tall, room)
        font = sheet.font
        each = tall * font
        canvas = sheet.canvas(len(panels) * (each + _AROUND * font))
        top = 0.0
        for name, own in panels:
            words = f"{plural(own.n, 'level')}{of_unit}"
            canvas.text(canvas.width, top + 0.8 * font, words, align="right", letters=SMALL, color=canvas.colors.muted)
            room = canvas.width - text_width(words, SMALL * font) - font
            canvas.text(0, top + 0.8 * font, fitted(name, room, font, bold=True), weight="bold")
            _draw_many(canvas, own, (top + 1.9 * font, top + 1.9 * font + each))
            top += each + _AROUND * font
        return canvas

    return drawn(ax, size, figure)


def _ordered(table: Columns) -> Columns:
    """Return the rows that have an estimate and an interval, from the lowest to the highest."""
    known = table.where([both is not None for both in table.intervals()])
    order = sorted(range(known.n), key=lambda row: known.numbers("estimate")[row] or 0.0)
    data = {name: [column[row] for row in order] for name, column in known.data.items()}
    return Columns(table.figure, data, known.n)


def _effect_numbers(table: Columns) -> tuple[list[float], list[tuple[float, float]]]:
    values = [value or 0.0 for value in table.numbers("estimate")]
    return values, [both or (0.0, 0.0) for both in table.intervals()]


def _tooltip_words(values: Sequence[float], ends: Sequence[tuple[float, float]]) -> list[str]:
    return [with_interval(value, both, 2, sign=True) for value, both in zip(values, ends, strict=True)]


def _apart(both: tuple[float, float]) -> bool:
    return both[0] > 0 or both[1] < 0


def _draw_many(canvas: Canvas, table: Columns, span: tuple[float, float]) -> None:
    """Draw levels side by side, from the lowest to the highest, and name the ends."""
    font, colors = canvas.font, canvas.colors
    values, ends = _effect_numbers(table)
    low, high = limits_of([0.0, *(end for both in ends for end in both)])
    ticks = round_ticks(low, high, 5)
    names = table.names("level", "label")
    few = min(_EXTREMES, table.n // 2)
    lowest, highest = list(range(few)), list(range(table.n - (few or 1), table.n))
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
    written_at: dict[int, Room] = {}
    for rows, on_left in groups:
        at = [(left + (row + 0.5) * step, y(values[row]), _apart(ends[row])) for row in rows]
        boxes = _name(canvas, [names[row] for row in rows], at, (written, left, right), span, on_left=on_left)
        written_at |= dict(zip(rows, boxes, strict=True))
    said = _tooltip_words(values, ends)
    # A slice of a band is narrower than a pointer: there the named levels answer, where they are named.
    for row in range(table.n) if table.n <= _MOST_WHISKERS else sorted(written_at):
        box = left + row * step, span[0], step, span[1] - span[0]
        canvas.tooltip(names[row], said[row], box, also=written_at.get(row))


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
) -> list[Room]:
    """Name levels beside their panel; return where each name stands."""
    font, (written, left, right) = SMALL * canvas.font, sides
    order = sorted(range(len(at)), key=lambda place: at[place][1])
    levels = spread([at[place][1] for place in order], 1.3 * font, span[0] + 0.5 * font, span[1] - 0.5 * font)
    edge = left - canvas.font if on_left else right + canvas.font
    room = edge - written if on_left else canvas.width - edge
    texts = fitted_names([names[place] for place in order], room - 0.3 * font, font)
    boxes: dict[int, Room] = {}
    for place, level, text in zip(order, levels, texts, strict=True):
        x, y, apart = at[place]
        boxes[place] = (written if on_left else edge, level - 0.65 * font, room, 1.3 * font)
        canvas.line([x, edge], [y, level], color=canvas.colors.line, linewidth=0.07 * canvas.font, zorder=0.6)
        color = canvas.colors.ink if apart else canvas.colors.muted
        shift = -0.2 * font if on_left else 0.2 * font
        canvas.text(edge + shift, level, text, align="right" if on_left else "left", letters=SMALL, color=color)
    return [boxes[place] for place in range(len(at))]
