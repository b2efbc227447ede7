"""Lines over numbers: power by size, reliability by items, order by votes, an interval that narrows."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import Any

from matplotlib.figure import Figure

from evalstats.document.numbers import interval, number
from evalstats.errors import InputError
from evalstats.plots.canvas import (
    SMALL,
    Canvas,
    Extent,
    Key,
    Sheet,
    draw_keys,
    drawn,
    kept_apart,
    key_rows,
    limits_of,
    log_ticks,
    point_style,
    round_ticks,
    set_ticks,
    tick_words,
    tone_color,
)
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.text import Box, Ground, crosses, digits_within, text_width, with_interval, wrapped
from evalstats.record import record

_TALL = 11.5  # of a panel, in letters' heights
# Told apart without colour too: by dash and mark.
_STROKES: tuple[tuple[str, Any, str], ...] = (
    ("good", "solid", "o"),
    ("neutral", (0, (4, 2)), "s"),
    ("bad", "solid", "D"),
    ("caution", (0, (4, 2)), "^"),
    ("plain", "solid", "P"),
    ("good", (0, (1, 1.5)), "v"),
)
_POINTER = 5.0  # pixels between looks that answer a pointer
_LEFT_ALONE = 0.1  # intervals of the first tenth are wide and do not set the axis


def curves(
    rows: object,
    *,
    goals: object = None,
    marks: object = None,
    x_title: str | Mapping[str, str] = "",
    limits: tuple[float, float] | None = None,
    percent: bool = False,
    log: bool = True,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw lines over a number, in panels side by side (below each other on a narrow sheet).

    Parameters
    ----------
    rows
        A row for each point: `x`, `estimate`; if known `conf_low`, `conf_high` (a band); and any of: `panel` (its title),
        `line` (its name; at most six).
    goals
        Level lines: `panel`, `estimate`, `words`.
    marks
        Points: `panel`, `x`, `estimate`, and any of `words` beside it, `tone`.
    x_title
        What is counted across, for all panels or for each by its title.
    limits
        The ends of the axis upwards; by itself from 0 up.
    percent
        Whether numbers upwards are percentages.
    log
        Whether the axis across is logarithmic.

    Examples
    --------
    >>> rows = {"x": [50, 100, 200], "estimate": [0.3, 0.5, 0.8]}
    >>> figure = curves(rows, goals={"estimate": [0.8], "words": ["80% power"]}, x_title="Items", limits=(0, 1))
    >>> len(figure.axes[0].child_axes)
    1
    """
    table = columns_of(rows, "curves")
    table.need("x")
    table.need("estimate")
    panels = [name for name, _ in table.by("panel")]
    names = list(dict.fromkeys(table.texts("line")))
    beside = columns_of(goals or {}, "the goals of curves", empty=True), columns_of(
        marks or {}, "the marks of curves", empty=True
    )  # fmt: skip
    titles = x_title if isinstance(x_title, Mapping) else dict.fromkeys(panels, x_title)

    many = len(names) > 2

    def figure(sheet: Sheet) -> Canvas:
        font = sheet.font
        keys = [Key(name, _stroke(sheet, place, many=many), stroke=True) for place, name in enumerate(names) if name]
        found, notes = key_rows(keys, sheet.width, font), wrapped(note, sheet.width, SMALL * font)
        across = 1 if sheet.narrow else len(panels)
        each = (sheet.width - 2 * font * (across - 1)) / across
        heads = max(len(wrapped(name, each, font, bold=True)) for name in panels) if any(panels) else 0
        head = 1.5 * len(found) + (0.3 if found else 0.0)
        # Above a panel its title, below it numbers and what they are.
        around = 1.25 * heads + 0.6 + 3.3
        down = len(panels) // across
        foot = 1.25 * SMALL * len(notes) + (0.4 if notes else 0.0)
        tall = _TALL
        if sheet.most is not None:
            room = (sheet.most / font - head - foot) / down - around
            tall = max(room if sheet.height is not None else min(tall, room), 4.0)
        canvas = sheet.canvas((head + down * (tall + around) + foot) * font)
        draw_keys(canvas, found, 0.0)
        for place, (name, own) in enumerate(table.by("panel")):
            row, column = (place, 0) if sheet.narrow else (0, place)
            top = (head + row * (tall + around) + around - 3.3) * font
            panel = _CurvePanel(
                canvas=canvas,
                table=own,
                names=names,
                box=(column * (each + 2 * font), top, column * (each + 2 * font) + each, top + tall * font),
                title=name,
                x_title=titles.get(name, ""),
                limits=limits,
                percent=percent,
                log=log,
                goals=_of_panel(beside[0], name),
                marks=_of_panel(beside[1], name),
            )
            _draw_panel(panel)
        canvas.small_lines(notes, canvas.height - font * (foot - 0.6))
        return canvas

    return drawn(ax, size, figure)


@record
class _CurvePanel:
    """One panel: its rows, where it stands on the canvas with all that is written around it, and how it is labelled."""

    canvas: Canvas
    table: Columns
    names: Sequence[str]
    box: Box
    title: str
    x_title: str
    limits: tuple[float, float] | None
    percent: bool
    log: bool
    goals: Columns
    marks: Columns


def _of_panel(table: Columns, name: str) -> Columns:
    return table.where([each == name for each in table.texts("panel")]) if "panel" in table.data else table


def _stroke(sheet: Sheet | Canvas, place: int, *, many: bool) -> dict[str, Any]:
    """Return how a line looks: with a mark of its own among many."""
    tone, dash, marker = _STROKES[place % len(_STROKES)]
    look: dict[str, Any] = {"color": tone_color(sheet.colors, tone), "linestyle": dash, "linewidth": 0.16 * sheet.font}
    return {**look, "marker": marker, "markersize": 0.42 * sheet.font} if many else look


def _ranges(panel: _CurvePanel) -> tuple[tuple[float, float], tuple[float, float]]:
    table = panel.table
    xs = [x for each in (table, panel.marks) for x in each.numbers("x") if x is not None]
    low, high = min(xs), max(xs)
    if panel.log:
        room = (high / low) ** 0.03 if high > low else 1.1
        across = (low / room, high * room)
    else:
        room = 0.03 * (high - low) or 0.1
        across = (low - room, high + room)
    if panel.limits is not None:
        return across, panel.limits
    values = [*table.numbers("estimate"), *table.numbers("conf_high"), *panel.goals.numbers("estimate")]
    most = max(value for value in values if value is not None)
    return across, (0.0, 1.08 * most)


def _draw_panel(panel: _CurvePanel) -> None:
    canvas, font = panel.canvas, panel.canvas.font
    (left, top, right, bottom), colors = panel.box, canvas.colors
    xlim, ylim = _ranges(panel)
    unit = "%" if panel.percent else ""
    axes, inner = canvas.graph(
        (left, top, right - 0.6 * font, bottom),
        xlim,
        ylim,
        most=5,
        write=lambda tick: f"{tick_words(tick)}{unit}",
        log=panel.log,
        label=panel.title,
    )
    axes.spines["bottom"].set_visible(True)
    axes.spines["bottom"].set_color(colors.line)
    _count_axis(axes, xlim, right - 0.6 * font - inner, font, log=panel.log)
    for up, line in enumerate(reversed(wrapped(panel.title, right - left, font, bold=True))):
        canvas.text(left, top - font * (0.9 + 1.25 * up), line, weight="bold")
    canvas.text(
        (inner + right) / 2, bottom + 2.2 * font, panel.x_title, align="center", letters=SMALL, color=colors.muted
    )
    ground = Ground(frame=(0.0, 0.0, right - 0.6 * font - inner, bottom - top))
    many = len(panel.names) > 2
    for line, own in panel.table.by("line"):
        _draw_line(axes, own, _stroke(canvas, panel.names.index(line), many=many), ground)
    _add_tooltips(axes, panel, ground, inner)
    _write_goals(axes, panel, ground)
    _write_marks(axes, panel, ground)


def _add_tooltips(axes: Any, panel: _CurvePanel, ground: Ground, inner: float) -> None:
    """Let every point of a line answer a pointer with what it stands over and its value."""
    table, (_, top, right, bottom) = panel.table, panel.box
    across, wide, unit = panel.x_title, axes.get_ylim()[1] - axes.get_ylim()[0], "%" if panel.percent else ""
    rows = [
        (line or panel.title or "value", x, y, both)
        for line, x, y, both in zip(
            table.texts("line"), table.numbers("x"), table.numbers("estimate"), table.intervals(), strict=True
        )
        if x is not None and y is not None
    ]
    edge, digits = panel.canvas.font, digits_within(wide)
    said = [
        (name, f"{across} {tick_words(x)}, {with_interval(y, both, digits)}{unit}".strip()) for name, x, y, both in rows
    ]
    points = [(inner + right_of, bottom - up) for right_of, up in (_at(axes, ground, x, y) for _, x, y, _ in rows)]
    panel.canvas.tooltips(said, points, (inner - edge, top - edge, right, bottom + edge), (4 * edge, 2 * edge))


def _count_axis(axes: Any, limits: tuple[float, float], wide: float, font: float, *, log: bool) -> None:
    """Write round numbers below a panel, none of them beyond its edges."""
    ticks = log_ticks(*limits, 6) if log else round_ticks(*limits, 6)
    words = [tick_words(tick) for tick in ticks]

    def at(tick: float) -> float:
        return axes.transAxes.inverted().transform(axes.transData.transform((tick, axes.get_ylim()[0])))[0] * wide

    gap = 0.6 * font
    kept = kept_apart(ticks, words, at, SMALL * font, gap=gap, within=(-gap, wide + gap))
    set_ticks(axes, "x", [ticks[place] for place in kept], [words[place] for place in kept])


def _at(axes: Any, ground: Ground, x: float, y: float) -> tuple[float, float]:
    """Return where a point stands in the panel, in pixels from its lower left."""
    across, up = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))
    return across * ground.frame[2], up * ground.frame[3]


def _draw_line(axes: Any, table: Columns, stroke: dict[str, Any], ground: Ground) -> None:
    order = sorted(
        (x, y, both)
        for x, y, both in zip(table.numbers("x"), table.numbers("estimate"), table.intervals(), strict=True)
        if x is not None and y is not None
    )
    banded = [(x, *both) for x, _, both in order if both is not None]
    if len(banded) > 1:
        xs, lows, highs = zip(*banded, strict=True)
        axes.fill_between(xs, lows, highs, color=stroke["color"], alpha=0.14, linewidth=0, zorder=0.8)
    axes.plot([x for x, _, _ in order], [y for _, y, _ in order], clip_on=False, zorder=3, **stroke)
    at = [_at(axes, ground, x, y) for x, y, _ in order]
    ground.taken += [
        (min(a[0], b[0]) - 1, min(a[1], b[1]) - 1, max(a[0], b[0]) + 1, max(a[1], b[1]) + 1) for a, b in _halves(at)
    ]


def _halves(at: Sequence[tuple[float, float]]) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the stretches of a line cut in eight, so that boxes around them keep near it."""
    found: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for (x0, y0), (x1, y1) in pairwise(at):
        cuts = [(x0 + (x1 - x0) * k / 8, y0 + (y1 - y0) * k / 8) for k in range(9)]
        found += list(pairwise(cuts))
    return found


def _write_goals(axes: Any, panel: _CurvePanel, ground: Ground) -> None:
    """Draw level lines, each with its words above or below it at the end where no curve runs."""
    font, colors = panel.canvas.font, panel.canvas.colors
    wide = ground.frame[2]
    first = panel.table.numbers("x")[0] or 1.0
    goals = zip(panel.goals.numbers("estimate"), panel.goals.texts("words"), strict=True)
    levels = [(value, words, _at(axes, ground, first, value)[1]) for value, words in goals if value is not None]
    for value, words, level in levels:
        axes.axhline(value, color=colors.ink, linewidth=0.08 * font, linestyle=(0, (4, 3)), zorder=1)
        if not words:
            continue
        long = text_width(words, SMALL * font)
        boxes: list[Box] = [
            (x, level + y, x + long, level + y + 1.1 * font)
            for y in (0.25 * font, -1.35 * font)
            for x in (0.2 * font, wide - long - 0.2 * font)
        ]
        above = ground.frame[3] + (0.2 if panel.title else 1.2) * font
        inside = [box for box in boxes if box[1] >= 0 and box[3] <= above] or boxes
        inside = [box for box in inside if not any(box[1] < other < box[3] for _, _, other in levels)] or inside
        box = next((box for box in inside if not any(crosses(box, other) for other in ground.taken)), inside[0])
        ground.taken.append(box)
        style: dict[str, Any] = {"fontsize": SMALL * font, "color": colors.muted, "va": "center_baseline"}
        y = (box[1] + box[3]) / 2 / ground.frame[3]
        axes.text(box[0] / wide, y, words, transform=axes.transAxes, parse_math=False, **style)


def _write_marks(axes: Any, panel: _CurvePanel, ground: Ground) -> None:
    font, canvas = panel.canvas.font, panel.canvas
    marks = panel.marks
    rows = zip(marks.numbers("x"), marks.numbers("estimate"), marks.texts("words"), marks.texts("tone"), strict=True)
    for x, y, words, tone in rows:
        if x is None or y is None:
            continue
        color = canvas.tone(tone or "good")
        axes.plot([x], [y], zorder=4, **{**point_style(canvas.colors, color, font), "markersize": 0.7 * font})
        at = _at(axes, ground, x, y)
        ground.taken.append((at[0] - 0.4 * font, at[1] - 0.4 * font, at[0] + 0.4 * font, at[1] + 0.4 * font))
        if words:
            box = _free_box(ground, at, text_width(words, font, bold=True), font)
            ground.taken.append(box)
            style: dict[str, Any] = {"fontsize": font, "weight": "bold", "color": color, "va": "center_baseline"}
            place = box[0] / ground.frame[2], (box[1] + box[3]) / 2 / ground.frame[3]
            axes.text(*place, words, transform=axes.transAxes, parse_math=False, zorder=5, **style)


def _free_box(ground: Ground, at: tuple[float, float], wide: float, font: float) -> Box:
    """Return where words beside a point cross nothing: right of it, left of it, or as far right as there is room."""
    right, top = ground.frame[2] + 0.6 * font, ground.frame[3] + 0.6 * font
    lefts = [at[0] + 0.7 * font, at[0] - 0.7 * font - wide, at[0] - wide / 2, min(right - wide, at[0])]
    ups = [sign * far * font for far in (0.9, 1.6, 2.4, 3.4, 4.6) for sign in (1, -1)]
    boxes = [(x, at[1] + up - 0.6 * font, x + wide, at[1] + up + 0.6 * font) for up in ups for x in lefts]
    inside = [box for box in boxes if box[0] >= 0 and box[1] >= 0 and box[2] <= right + 1 and box[3] <= top]
    free = (box for box in inside if not any(crosses(box, other) for other in ground.taken))
    return next(free, inside[0] if inside else boxes[0])


# --- a confidence sequence ---


def sequence(
    rows: object,
    *,
    title: str = "",
    x_title: str = "",
    margin: float | None = None,
    crossing: float | None = None,
    crossing_words: str = "",
    planned: float | None = None,
    tone: str = "neutral",
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw how an estimate and its interval narrow while observations come in, against 0.

    Parameters
    ----------
    rows
        A row for each look: `n`, `estimate`, `conf_low`, `conf_high`.
    title, x_title
        What the axes measure.
    margin
        Half the width of a band around 0.
    crossing, crossing_words
        At which `n` 0 was first excluded, and how that is said.
    planned
        The `n` that was planned: a dashed line.
    tone
        The tone of the interval.

    Examples
    --------
    >>> rows = {"n": [10, 20], "estimate": [0.2, 0.1], "conf_low": [-0.2, 0.02], "conf_high": [0.6, 0.3]}
    >>> [text.get_text() for text in sequence(rows, title="Difference").axes[0].texts]
    ['Difference', '+0.10 [+0.02, +0.30]']
    """
    table = columns_of(rows, "sequence")
    for name in ("n", "estimate", "conf_low", "conf_high"):
        table.need(name)
    n, means = ([value or 0.0 for value in table.numbers(name)] for name in ("n", "estimate"))
    lows = [-inf if value is None else value for value in table.numbers("conf_low")]
    highs = [inf if value is None else value for value in table.numbers("conf_high")]
    late = [place for place in range(table.n) if n[place] >= _LEFT_ALONE * n[-1]]
    ends = [end for place in late for end in (lows[place], highs[place]) if abs(end) < inf]
    low, high = limits_of([*ends, *(means[place] for place in late), 0.0, margin, None if margin is None else -margin])
    digits = min(digits_within(high - low), 2)

    path = _Path(
        n=n,
        values=means,
        limits=(low, high),
        said=f"{number(means[-1], digits, sign=True)} {interval(lows[-1], highs[-1], 1, digits, sign=True)}",
        ends=[both if inf not in (-both[0], both[1]) else None for both in zip(lows, highs, strict=True)],
        title=title,
        x_title=x_title,
        note=note,
        label="sequence",
    )

    def figure(sheet: Sheet) -> Canvas:
        color = tone_color(sheet.colors, tone)
        canvas, axes = _path_panel(sheet, path, color if tone != "neutral" else sheet.colors.ink)
        _draw_sequence(axes, canvas, (n, means, lows, highs), color, margin=margin, filled=tone != "neutral")
        if planned is not None and planned <= n[-1]:
            style = {"linewidth": 0.07 * canvas.font, "linestyle": (0, (4, 3)), "zorder": 0.9}
            axes.axvline(planned, color=canvas.colors.muted, **style)
        if crossing is not None:
            _mark_crossing(axes, canvas, crossing, crossing_words, low if means[-1] > 0 else high)
        return canvas

    return drawn(ax, size, figure)


@record
class _Path:
    """A line over the observations in their order: its values, what is written around it, and what its looks say."""

    n: Sequence[float]
    values: Sequence[float]
    limits: tuple[float, float]
    said: str
    ends: Sequence[tuple[float, float] | None]
    title: str
    x_title: str
    note: str
    label: str


def _path_panel(sheet: Sheet, path: _Path, said_color: str) -> tuple[Canvas, Any]:
    """Return the canvas with all that stands around a path, and the axes that it is drawn on."""
    font, (low, high) = sheet.font, path.limits
    room = sheet.width - text_width(path.said, font, bold=True) - font
    heads = wrapped(path.title, room, SMALL * font, bold=True)
    apart = len(heads) not in (1, 2) or room < 10 * font
    heads = wrapped(path.title, sheet.width, SMALL * font, bold=True) if apart else heads
    notes = wrapped(path.note, sheet.width, SMALL * font)
    top = font * (1.3 * SMALL * len(heads) + (1.4 if apart else 0.2) + 0.5)
    foot = font * (3.2 + 1.25 * SMALL * len(notes))
    tall = 20.0 * font if sheet.most is None else max(min(20.0 * font, sheet.most - top - foot), 4 * font)
    canvas = sheet.canvas(top + tall + foot)
    bottom = canvas.height - foot
    canvas.small_lines(heads, 0.6 * font, step=1.3, weight="bold")
    y = top - 0.9 * font if apart else 0.6 * font
    canvas.text(canvas.width, y, path.said, align="right", weight="bold", color=said_color)
    far = max(path.n[-1], 2)
    axes, left = canvas.graph(
        (0.0, top, canvas.width - font, bottom),
        (0, far),
        (low, high),
        most=5,
        write=lambda tick: tick_words(tick, sign=True),
        label=path.label,
    )
    _count_axis(axes, (0, far), canvas.width - font - left, font, log=False)
    unit = (canvas.width - font - left) / far
    looks = _spaced_looks(path.n, unit)
    words, up = f"{path.x_title.partition(',')[0]} ", (bottom - top) / (high - low)
    canvas.tooltips(
        [
            (
                f"{words}{tick_words(path.n[place])}".strip(),
                with_interval(path.values[place], path.ends[place], 2, sign=True),
            )
            for place in looks
        ],
        [(left + path.n[place] * unit, top + (high - path.values[place]) * up) for place in looks],
        (left, top, canvas.width, bottom),
        (font, 4 * font),
    )
    style: dict[str, Any] = {"align": "center", "letters": SMALL, "color": canvas.colors.muted}
    canvas.text((left + canvas.width) / 2, bottom + 2.2 * font, path.x_title, **style)
    canvas.small_lines(notes, bottom + 3.5 * font)
    return canvas, axes


def _spaced_looks(n: Sequence[float], unit: float) -> list[int]:
    """Return the looks that answer a pointer, a few pixels from each other: the last always, and as many before it as fit."""
    kept: list[int] = []
    for place in reversed(range(len(n))):
        if not kept or (n[kept[-1]] - n[place]) * unit >= _POINTER:
            kept.append(place)
    return kept[::-1]


def _draw_sequence(
    axes: Any,
    canvas: Canvas,
    path: tuple[Sequence[float], ...],
    color: str,
    *,
    margin: float | None,
    filled: bool,
) -> None:
    n, means, lows, highs = path
    font, (low, high) = canvas.font, axes.get_ylim()
    if margin is not None:
        axes.axhspan(-margin, margin, color=canvas.colors.band, linewidth=0, zorder=0.6)
    axes.axhline(0.0, color=canvas.colors.ink, linewidth=0.09 * font, zorder=1)
    # Ends that nothing bounds yet leave the panel through its border.
    far = 10 * (high - low)
    lows, highs = [max(end, low - far) for end in lows], [min(end, high + far) for end in highs]
    axes.fill_between(n, lows, highs, color=color, alpha=0.14, linewidth=0, zorder=1.5)
    for ends in (lows, highs):
        axes.plot(n, ends, color=color, linewidth=0.11 * font, zorder=2)
    axes.plot(n, means, color=canvas.colors.ink, linewidth=0.13 * font, zorder=2.5)
    axes.plot([n[-1]], [means[-1]], zorder=3, **point_style(canvas.colors, color, font, filled=filled))


def _mark_crossing(axes: Any, canvas: Canvas, at: float, words: str, edge: float) -> None:
    """Mark where 0 was first excluded; its far side is empty once it is, so a line leads to the words there."""
    font = canvas.font
    axes.plot([at], [0.0], zorder=3.5, **point_style(canvas.colors, canvas.colors.ink, font, marker="D"))
    axes.plot([at, at], [0.0, 0.86 * edge], color=canvas.colors.muted, linewidth=0.07 * font, zorder=1.8)
    share = at / axes.get_xlim()[1]
    wide = axes.get_window_extent().width * 72 / canvas.figure.dpi
    long = text_width(words, SMALL * font)
    start = min(share * wide + 0.4 * font, wide - long)
    style: dict[str, Any] = {"fontsize": SMALL * font, "color": canvas.colors.ink, "va": "center_baseline"}
    style["bbox"] = {"facecolor": canvas.colors.surface, "edgecolor": "none", "alpha": 0.7, "pad": 1.5}
    axes.text(
        max(start, 0) / wide,
        0.86 * edge,
        words,
        transform=axes.get_yaxis_transform(),
        parse_math=False,
        zorder=4,
        **style,
    )


# --- a sum over observations in their order ---


def cumulative(
    rows: object,
    *,
    title: str = "",
    x_title: str = "",
    stretch: tuple[float, float] | None = None,
    tone: str = "neutral",
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw how a difference adds up over observations in their order, in the band where it stays if the order is random.

    A straight line is a difference that is alike all along; where the line is steep the difference arises.

    Parameters
    ----------
    rows
        A row for each place: `n`, `estimate` (the sum so far over the number of all); if known `conf_low`, `conf_high`.
    title, x_title
        What the axes measure.
    stretch
        The first and the last observation of a stretch that is shaded.
    tone
        The tone of the stretch.

    Examples
    --------
    >>> rows = {"n": [0, 20, 40], "estimate": [0, 0, 5], "conf_low": [-2, 0.5, 3], "conf_high": [2, 4.5, 7]}
    >>> [text.get_text() for text in cumulative(rows, title="Difference", stretch=(21, 40)).axes[0].texts]
    ['Difference', '+5.00']
    """
    table = columns_of(rows, "cumulative")
    for name in ("n", "estimate"):
        table.need(name)
    known = [
        (at, value, both)
        for at, value, both in zip(table.numbers("n"), table.numbers("estimate"), table.intervals(), strict=True)
        if at is not None and value is not None
    ]
    if not known:
        raise InputError("cumulative needs numbers in columns 'n' and 'estimate'; no row has both")
    n, totals, ends = [row[0] for row in known], [row[1] for row in known], [row[2] for row in known]
    low, high = limits_of([*totals, *(end for both in ends if both is not None for end in both), 0.0])
    path = _Path(
        n=n,
        values=totals,
        limits=(low, high),
        said=number(totals[-1], min(digits_within(high - low), 2), sign=True),
        ends=ends,
        title=title,
        x_title=x_title,
        note=note,
        label="cumulative",
    )

    def figure(sheet: Sheet) -> Canvas:
        canvas, axes = _path_panel(sheet, path, sheet.colors.ink)
        font, colors = canvas.font, canvas.colors
        banded = [(at, *both) for at, both in zip(n, ends, strict=True) if both is not None]
        if len(banded) > 1:
            at, lows, highs = zip(*banded, strict=True)
            axes.fill_between(at, lows, highs, color=colors.band, linewidth=0, zorder=0.8)
            for edge in (lows, highs):
                axes.plot(at, edge, color=colors.muted, linewidth=0.06 * font, zorder=0.9)
        if stretch is not None:
            color = tone_color(colors, tone)
            axes.axvspan(stretch[0] - 1, stretch[1], color=color, alpha=0.16, linewidth=0, zorder=0.85)
        axes.axhline(0.0, color=colors.ink, linewidth=0.09 * font, zorder=1)
        axes.plot(n, totals, color=colors.ink, linewidth=0.16 * font, zorder=2.5, clip_on=False)
        axes.plot([n[-1]], [totals[-1]], zorder=3, **point_style(colors, colors.ink, font))
        return canvas

    return drawn(ax, size, figure)
