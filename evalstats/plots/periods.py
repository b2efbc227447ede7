"""Lines over periods: ratings of every model, month by month."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from evalstats.plots.canvas import SMALL, Canvas, Extent, Sheet, drawn, limits_of, round_ticks, set_ticks, tick_words
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.lettering import Box, fitted_names, spread, text_width, wrapped
from evalstats.plots.spots import Room, digits_within, rooms, told

_MOST_POINTS = 1200  # that all answer a pointer


def timeline(
    rows: object, *, title: str = "", note: str = "", most_named: int = 12, ax: Any = None, size: Extent = None
) -> Figure:
    """Draw a line for each model over periods; the strong ones in their tone with a band and their name, the others grey.

    Parameters
    ----------
    rows
        A row for each model and period: `model` (or `label`), `period`, `estimate`; if known `conf_low`, `conf_high`; and
        any of: `strong`, `tone`.
    title
        What the axis measures.
    most_named
        How many models are named; without strong ones all, if they are so few.

    Examples
    --------
    >>> rows = {"model": ["a", "a", "b", "b"], "period": ["May", "June"] * 2, "estimate": [0, 10, 5, 2]}
    >>> [text.get_text() for text in timeline(rows).axes[0].texts]
    ['May', 'June', 'a', 'b']
    """
    table = columns_of(rows, "timeline")
    table.need("estimate")
    periods = list(dict.fromkeys(table.names("period")))
    lines = sorted(
        table.by("model" if "model" in table.data else "label"), key=lambda each: any(each[1].flags("strong"))
    )
    strong = [name for name, own in lines if any(own.flags("strong"))]
    named = strong[-most_named:] or ([name for name, _ in lines] if len(lines) <= most_named else [])
    values = [
        value
        for _, own in lines
        for column in (("estimate", "conf_low", "conf_high") if any(own.flags("strong")) else ("estimate",))
        for value in own.numbers(column)
    ]
    low, high = limits_of(values)

    def figure(sheet: Sheet) -> Canvas:
        font = sheet.font
        heads, notes = (wrapped(text, sheet.width, SMALL * font, bold=True) for text in (title, note))
        top, foot = font * (1.3 * SMALL * len(heads) + 0.5), font * (1.9 + 1.25 * SMALL * len(notes))
        tall = 21.0 * font if sheet.most is None else max(min(21.0 * font, sheet.most - top - foot), 4 * font)
        canvas = sheet.canvas(top + tall + foot)
        bottom = canvas.height - foot
        canvas.small_lines(heads, 0.6 * font, step=1.3, weight="bold")
        ups = round_ticks(low, high)
        left = max(text_width(tick_words(tick), SMALL * font) for tick in ups) + 0.6 * font
        texts = fitted_names(named, 0.36 * canvas.width, font)
        names = max((text_width(text, font) for text in texts), default=0.0)
        right = canvas.width - (names + 2.0 * font if named else 1.5 * font)
        axes = canvas.panel(left, top, right, bottom, "timeline")
        axes.set_xlim(-0.04 * max(len(periods) - 1, 1), max(len(periods) - 1, 1))
        axes.set_ylim(low, high)
        set_ticks(axes, "y", ups, [tick_words(tick) for tick in ups])
        axes.grid(axis="y", color=canvas.colors.line, linewidth=0.06 * font)
        for place in _spaced(periods, right - left, font):
            x = left + (place - axes.get_xlim()[0]) / (axes.get_xlim()[1] - axes.get_xlim()[0]) * (right - left)
            align = "right" if place == len(periods) - 1 and place else "left" if place == 0 else "center"
            canvas.text(x, bottom + 0.9 * font, periods[place], align=align, letters=SMALL, color=canvas.colors.muted)
        ends = {name: _draw_period_line(axes, canvas, own, periods) for name, own in lines}
        written_at = _write_ends(axes, canvas, dict(zip(named, texts, strict=True)), ends, (top, bottom, right))
        panel = (left, top, right, bottom), axes.get_xlim(), axes.get_ylim()
        _add_spots(canvas, lines, periods, written_at, panel)
        canvas.small_lines(notes, bottom + 2.3 * font)
        return canvas

    return drawn(ax, size, figure)


def _spaced(periods: Sequence[str], width: float, font: float) -> list[int]:
    """Return which periods are written: the first, the last, and those between that keep their distance."""
    if len(periods) < 2:
        return list(range(len(periods)))
    # The first and the last stand inside the panel and not around their place, so take half as much again.
    room = 1.5 * max(text_width(period, SMALL * font) for period in periods) + font
    step = max(1, -int(-room * (len(periods) - 1) // width))
    between = [place for place in range(step, len(periods) - 1, step) if len(periods) - 1 - place >= step]
    return [0, *between, *([len(periods) - 1] if 2 * room / 1.5 <= width else [])]


def _draw_period_line(
    axes: Any, canvas: Canvas, table: Columns, periods: Sequence[str]
) -> tuple[float, float, str, bool]:  # fmt: skip
    """Draw one model's line; return its last place and value, its colour and whether it is strong."""
    font, strong = canvas.font, any(table.flags("strong"))
    tone = next((each for each in table.texts("tone") if each), "neutral")
    color = canvas.tone(tone) if strong else canvas.colors.muted
    points = sorted(
        (periods.index(period), value, both)
        for period, value, both in zip(table.names("period"), table.numbers("estimate"), table.intervals(), strict=True)
        if value is not None
    )
    banded = [(x, *both) for x, _, both in points if both is not None]
    if strong and banded:
        xs, lows, highs = zip(*banded, strict=True)
        axes.fill_between(xs, lows, highs, color=color, alpha=0.16, linewidth=0, zorder=1)
    look: dict[str, Any] = {"linewidth": font * (0.17 if strong else 0.08), "alpha": 1.0 if strong else 0.6}
    look |= {"marker": "o", "markersize": font * (0.34 if strong else 0.18), "markeredgewidth": 0}
    axes.plot(
        [x for x, _, _ in points], [y for _, y, _ in points], color=color, clip_on=False, zorder=2 + strong, **look
    )
    return (points[-1][0], points[-1][1], color, strong) if points else (0.0, 0.0, color, strong)


def _write_ends(
    axes: Any,
    canvas: Canvas,
    names: Mapping[str, str],
    ends: Mapping[str, tuple[float, float, str, bool]],
    box: tuple[float, float, float],
) -> dict[str, Room]:
    """Name lines at their right ends, moved apart where they would cover each other; return where each name stands."""
    top, bottom, right = box
    font, (low, high) = canvas.font, axes.get_ylim()
    xlim = axes.get_xlim()
    written_at: dict[str, Room] = {}
    ordered = sorted(names, key=lambda name: -ends[name][1])
    levels = [bottom - (ends[name][1] - low) / (high - low) * (bottom - top) for name in ordered]
    apart = spread(levels, 1.3 * font, top + 0.6 * font, bottom - 0.6 * font)
    for name, level, at in zip(ordered, apart, levels, strict=True):
        x, _, color, _ = ends[name]
        wide = axes.get_window_extent().width * 72 / canvas.figure.dpi
        start = right - wide * (xlim[1] - x) / (xlim[1] - xlim[0])
        canvas.line(
            [start, right + 1.2 * font], [at, level], color=canvas.colors.line, linewidth=0.07 * font, zorder=0.6
        )
        canvas.text(right + 1.5 * font, level, names[name], color=color)
        written_at[name] = right + 1.2 * font, level - 0.65 * font, canvas.width - right - 1.2 * font, 1.3 * font
    return written_at


def _add_spots(
    canvas: Canvas,
    lines: Sequence[tuple[str, Columns]],
    periods: Sequence[str],
    written_at: Mapping[str, Room],
    axes: tuple[Box, tuple[float, float], tuple[float, float]],
) -> None:
    """Let every point of a line answer a pointer; the last of a line does so where its name stands, too.

    `axes` is the panel and its limits across and upwards. Of very many points the last of each line answers alone.
    """
    (left, top, right, bottom), (first, last), (low, high) = axes
    rows: list[tuple[str, str, float, tuple[float, float] | None, bool]] = []
    for name, own in lines:
        known = [
            (name, period, value, both)
            for period, value, both in zip(own.names("period"), own.numbers("estimate"), own.intervals(), strict=True)
            if value is not None
        ]
        known.sort(key=lambda row: periods.index(row[1]))
        rows += [(*row, place == len(known) - 1) for place, row in enumerate(known)]
    if len(rows) > _MOST_POINTS:
        rows = [row for row in rows if row[-1]]
    points = [
        (
            left + (periods.index(period) - first) / (last - first) * (right - left),
            top + (high - value) / (high - low) * (bottom - top),
        )
        for _, period, value, _, _ in rows
    ]
    font = canvas.font
    boxes = rooms(points, (left - font, top, right + font, bottom), (2 * font, 1.2 * font))
    digits = digits_within(high - low)
    for (name, period, value, both, at_end), (x, _), room in zip(rows, points, boxes, strict=True):
        canvas.spot(name, f"{period}, {told(value, both, digits)}", room, x, written_at.get(name) if at_end else None)
