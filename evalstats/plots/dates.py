"""Over dates: scores in a small panel for each model, and periods on one axis."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from matplotlib.figure import Figure

from evalstats.errors import InputError
from evalstats.plots.canvas import (
    SMALL,
    Canvas,
    Extent,
    Key,
    Sheet,
    draw_keys,
    draw_segments,
    drawn,
    key_rows,
    limits_of,
    point_style,
)
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.text import (
    Box,
    Room,
    digits_within,
    fitted,
    fitted_names,
    spread,
    text_width,
    with_interval,
    wrapped,
)
from evalstats.record import record

_TALL = 6.5  # of a panel, in letters' heights
_LEAST_TALL = 2.8
_AROUND = 4.6  # what is written above and below it
_MOST_ACROSS = 3
_LEAST_WIDE = 24.0  # of a panel, in letters' heights


def histories(
    rows: object,
    *,
    levels: object = None,
    events: object = None,
    title: str = "",
    event_words: str = "",
    aside_words: str = "",
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw each model's estimates with their intervals by date, in panels with the same axes.

    Parameters
    ----------
    rows
        A row for each model and date: `model` (or `label`), `day` (a date, or 2026-01-31), `estimate`; if known `conf_low`,
        `conf_high`; and any of: `aside` (drawn hollow: not compared with the others), `words` (what a pointer is told).
    levels
        Level lines: `model`, `first`, `last` (dates), `estimate`, `tone`; and `words`, written above the panel.
    events
        Dates on which something else changed, as dotted lines: `model`, `day`.
    title
        What the axis measures.
    event_words, aside_words
        What a dotted line and a hollow point mean, for the key.

    Examples
    --------
    >>> rows = {"model": ["a", "a", "b"], "day": ["2026-01-01", "2026-01-08", "2026-01-08"], "estimate": [80, 70, 75]}
    >>> len(histories(rows, title="correct (%)").axes[0].child_axes)
    2
    """
    table = columns_of(rows, "histories")
    table.need("estimate")
    label = "model" if "model" in table.data else "label"
    table.need(label)
    models = list(table.by(label))
    lines = columns_of(levels or {}, "the levels of histories", empty=True)
    marks = columns_of(events or {}, "the events of histories", empty=True)
    days = _days(table, "day")
    span = (min(days), max(days))
    values = [value for name in ("estimate", "conf_low", "conf_high") for value in table.numbers(name)]
    limits = limits_of([*values, *lines.numbers("estimate")])

    def figure(sheet: Sheet) -> Canvas:
        while True:
            across = _across(sheet, len(models))
            down = -(-len(models) // across)
            if sheet.most is None or sheet.font * (down * (_LEAST_TALL + _AROUND) + 5.0) <= sheet.most:
                break
            # Letters get smaller where all panels would not find room; then more stand side by side.
            sheet = replace(sheet, font=0.92 * sheet.font)
        font = sheet.font
        keys: list[Key] = []
        if event_words and marks.n:
            keys.append(Key(event_words, _event_style(sheet, font), stroke=True))
        if aside_words and any(table.flags("aside")):
            keys.append(Key(aside_words, point_style(sheet.colors, sheet.colors.muted, font, filled=False)))
        found = key_rows(keys, sheet.width, font)
        notes, heads = (
            wrapped(text, sheet.width, SMALL * font, bold=bold) for text, bold in ((note, False), (title, True))
        )
        each = (sheet.width - 2 * font * (across - 1)) / across
        head = 1.5 * len(found) + 1.3 * SMALL * len(heads) + 0.6
        foot = 1.25 * SMALL * len(notes) + (0.6 if notes else 0.0)
        tall = _TALL
        if sheet.most is not None:
            room = (sheet.most / font - head - foot) / down - _AROUND
            tall = max(room if sheet.height is not None else min(tall, room), 0.9 * _LEAST_TALL)
        canvas = sheet.canvas((head + down * (tall + _AROUND) + foot) * font)
        canvas.small_lines(heads, 0.6 * font, step=1.3, weight="bold")
        draw_keys(canvas, found, (1.3 * SMALL * len(heads) + 0.3) * font)
        for place, (name, own) in enumerate(models):
            left, top = (place % across) * (each + 2 * font), (head + (place // across) * (tall + _AROUND) + 2.4) * font
            panel = _HistoryPanel(
                canvas=canvas,
                box=(left, top, left + each, top + tall * font),
                name=name,
                table=own,
                levels=_of(lines, label, name),
                events=_of(marks, label, name),
                span=span,
                limits=limits,
            )
            _draw(panel)
        canvas.small_lines(notes, canvas.height - font * (foot - 0.6))
        return canvas

    return drawn(ax, size, figure)


def _across(sheet: Sheet, n: int) -> int:
    """Return how many panels stand side by side."""
    if sheet.narrow and sheet.most is None:
        return 1
    return max(1, min(_MOST_ACROSS, n, int(sheet.width / ((12.0 if sheet.narrow else _LEAST_WIDE) * sheet.font))))


@record
class _HistoryPanel:
    canvas: Canvas
    box: tuple[float, float, float, float]
    name: str
    table: Columns
    levels: Columns
    events: Columns
    span: tuple[int, int]
    limits: tuple[float, float]


def _of(table: Columns, label: str, name: str) -> Columns:
    return table.where([each == name for each in table.texts(label)]) if table.n else table


def _days(table: Columns, name: str) -> list[int]:
    """Return a column of dates as numbers of days."""
    found: list[int] = []
    for value in table.need(name):
        try:
            found.append(value.toordinal() if isinstance(value, date) else date.fromisoformat(str(value)).toordinal())
        except ValueError:
            raise InputError(
                f"{table.figure} needs dates in column '{name}', as 2026-01-31; it holds {value!r}"
            ) from None
    return found


def _event_style(sheet: Sheet | Canvas, font: float) -> dict[str, Any]:
    return {"color": sheet.colors.muted, "linewidth": 0.11 * font, "linestyle": (0, (1, 1.6))}


def _draw(panel: _HistoryPanel) -> None:
    canvas, font, colors = panel.canvas, panel.canvas.font, panel.canvas.colors
    left, top, right, bottom = panel.box
    first, last = panel.span
    room = max(0.03 * (last - first), 0.5)
    inside = left, top, right - 0.6 * font, bottom
    axes, inner = canvas.graph(inside, (first - room, last + room), panel.limits, most=4, label=panel.name)
    for day in _days(panel.events, "day") if panel.events.n else ():
        axes.axvline(day, zorder=0.8, **_event_style(canvas, font))
    _draw_points(axes, panel, (inner, right - 0.6 * font))
    tone = _draw_levels(axes, panel)
    trend = next((each for each in panel.levels.texts("words") if each), "")
    canvas.text(left, top - 1.9 * font, fitted(panel.name, right - left, font, bold=True), weight="bold")
    canvas.text(
        left,
        top - 0.75 * font,
        fitted(trend, right - left, SMALL * font),
        letters=SMALL,
        color=canvas.tone(tone or "neutral"),
    )
    ends = (date.fromordinal(first).isoformat(), date.fromordinal(last).isoformat())
    wide = text_width(ends[0], SMALL * font)
    canvas.text(min(inner, right - wide), bottom + 0.9 * font, ends[0], letters=SMALL, color=colors.muted)
    if last > first and 2.2 * wide < right - inner:
        canvas.text(right - 0.6 * font, bottom + 0.9 * font, ends[1], align="right", letters=SMALL, color=colors.muted)


def _draw_points(axes: Any, panel: _HistoryPanel, sides: tuple[float, float]) -> None:
    canvas, font, table = panel.canvas, panel.canvas.font, panel.table
    _, top, _, bottom = panel.box
    points = zip(
        _days(table, "day"), table.numbers("estimate"), table.intervals(), table.flags("aside"), table.texts("words"),
        strict=True,
    )  # fmt: skip
    known = [(day, value, both, aside, words) for day, value, both, aside, words in points if value is not None]
    # Many dates leave each point little room.
    wide = (sides[1] - sides[0]) / max(len(known), 1)
    small = min(1.0, max(wide / (0.9 * font), 0.45))
    for hollow in (True, False):
        own = [each for each in known if each[3] == hollow]
        color = canvas.colors.muted if hollow else canvas.colors.ink
        bars = [((day, both[0]), (day, both[1])) for day, _, both, _, _ in own if both is not None]
        draw_segments(axes, bars, color=color, linewidth=0.1 * font, alpha=0.55, zorder=1.5, clip_on=False)
        style = point_style(canvas.colors, color, font * small, filled=not hollow)
        if own:
            axes.plot([each[0] for each in own], [each[1] for each in own], zorder=3, **style)
    low, high = axes.get_xlim()
    for day, _, _, _, words in known:
        x = sides[0] + (day - low) / (high - low) * (sides[1] - sides[0])
        if words:
            half = min(max(wide / 2, 3.0), 0.8 * font)
            canvas.tooltip(panel.name, words, (x - half, top, 2 * half, bottom - top), mark=x)


def _draw_levels(axes: Any, panel: _HistoryPanel) -> str:
    """Draw the level lines; return the tone of the last one."""
    levels, tone = panel.levels, ""
    if not levels.n:
        return tone
    rows = zip(
        _days(levels, "first"), _days(levels, "last"), levels.numbers("estimate"), levels.texts("tone"), strict=True
    )
    for first, last, value, own in rows:
        if value is not None:
            tone = own
            ends: Sequence[float] = (first - 0.4, last + 0.4)
            style: dict[str, Any] = {"color": panel.canvas.tone(own or "neutral"), "linewidth": 0.2 * panel.canvas.font}
            axes.plot(ends, [value, value], zorder=2, solid_capstyle="butt", **style)
    return tone


_MOST_POINTS = 1200  # that all answer a pointer
_MOST_NAMED = 12


def timeline(rows: object, *, title: str = "", note: str = "", ax: Any = None, size: Extent = None) -> Figure:
    """Draw a line for each model over periods; the strong ones in their tone with a band and their name, the others grey.

    Without strong ones all are named, if they are at most 12.

    Parameters
    ----------
    rows
        A row for each model and period: `model` (or `label`), `period`, `estimate`; if known `conf_low`, `conf_high`; and
        any of: `strong`, `tone`.
    title
        What the axis measures.

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
    named = strong[-_MOST_NAMED:] or ([name for name, _ in lines] if len(lines) <= _MOST_NAMED else [])
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
        texts = fitted_names(named, 0.36 * canvas.width, font)
        names = max((text_width(text, font) for text in texts), default=0.0)
        right = canvas.width - (names + 2.0 * font if named else 1.5 * font)
        most = max(len(periods) - 1, 1)
        axes, left = canvas.graph((0.0, top, right, bottom), (-0.04 * most, most), (low, high), label="timeline")
        for place in _spaced(periods, right - left, font):
            x = left + (place - axes.get_xlim()[0]) / (axes.get_xlim()[1] - axes.get_xlim()[0]) * (right - left)
            align = "right" if place == len(periods) - 1 and place else "left" if place == 0 else "center"
            canvas.text(x, bottom + 0.9 * font, periods[place], align=align, letters=SMALL, color=canvas.colors.muted)
        ends = {name: _draw_period_line(axes, canvas, own, periods) for name, own in lines}
        written_at = _write_ends(axes, canvas, dict(zip(named, texts, strict=True)), ends, (top, bottom, right))
        panel = (left, top, right, bottom), axes.get_xlim(), axes.get_ylim()
        _add_tooltips(canvas, lines, periods, written_at, panel)
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


def _add_tooltips(
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
    digits = digits_within(high - low)
    canvas.tooltips(
        [(name, f"{period}, {with_interval(value, both, digits)}") for name, period, value, both, _ in rows],
        points,
        (left - font, top, right + font, bottom),
        (2 * font, 1.2 * font),
        [written_at.get(name) if at_end else None for name, _, _, _, at_end in rows],
    )
