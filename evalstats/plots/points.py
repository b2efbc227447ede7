"""Points with intervals both ways: lab against live with the line between them, and score against cost with its frontier."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

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
    log_ticks,
    point_style,
    round_ticks,
    set_ticks,
    tick_words,
)
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.text import Ground, Placed, digits_within, fitted_names, text_width, with_interval, wrapped
from evalstats.record import record

NAMED = 40  # so many points are all named; of more the strong ones and those at the ends
_FEW = 16  # of so many a name may stand far from its point, of more beside it or as a number
_COST_FEW, _COST_MANY = 11.0, 3.0  # what the place of a name that is not strong may cost, in letters' heights
_LETTERS = 0.92
# Shares of the width: what a name may take where there is room, and what one that is cut may, more on a narrow sheet.
_WHOLE, _LONGEST, _LONGEST_NARROW = 0.6, 0.32, 0.55
# An interval may stretch an axis by this share of the points' own range (a factor on a logarithmic one), and is cut there.
_STRETCH, _LOG_STRETCH = 0.5, 4.0
_TALL, _TALL_NARROW = 33.0, 25.0  # of the panel, in letters' heights
_FLATTEST, _SQUARE = 0.5, 0.62  # of a panel whose axes have one unit: its sides, and its height by the figure's width
_LEAST_SHARE = 1e-4
_SHARES = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
_FEW_TICKS = 3
_LOG_FROM = 10.0  # an axis that may be logarithmic is so where values differ by more than this factor

Ends = tuple[float, float] | None


@record
class _Dot:
    """One point: both values with their intervals, how it looks, and whether it is named in any case."""

    name: str
    x: float
    y: float
    x_ends: Ends
    y_ends: Ends
    kind: str
    tone: str
    filled: bool
    strong: bool
    weak: bool

    @property
    def marker(self) -> str:
        """A diamond where no interval is known."""
        return "o" if self.x_ends or self.y_ends else "D"


@record
class _Axis:
    """One axis: its ends, its numbers, and whether equal distances are equal ratios, or equal logits between two bounds."""

    limits: tuple[float, float]
    ticks: tuple[float, ...]
    log: bool
    logit: tuple[float, float] | None = None

    def moved(self, value: float) -> float:
        """Return a value on a scale of equal distances."""
        if self.logit is not None:
            low, high = self.logit
            part = min(max((value - low) / (high - low), _LEAST_SHARE), 1.0 - _LEAST_SHARE)
            return math.log(part / (1.0 - part))
        return math.log(max(value, 1e-300)) if self.log else value

    @property
    def span(self) -> float:
        """How far its ends are apart on a scale of equal distances."""
        return abs(self.moved(self.limits[1]) - self.moved(self.limits[0]))

    def stretched(self, least: float) -> "_Axis":
        """Return it at least so long; logits reach as far as their data do."""
        more = (least - self.span) / 2 if self.logit is None else 0.0
        if more <= 0:
            return self
        (low, high), turned = sorted(self.limits), self.limits[0] > self.limits[1]
        limits = (high + more, low - more) if turned else (low - more, high + more)
        return replace(self, limits=limits, ticks=tuple(round_ticks(*limits, 6)))

    def share(self, value: float) -> float:
        """Return where a value stands, from 0 to 1."""
        low, high = (self.moved(end) for end in self.limits)
        return (self.moved(value) - low) / (high - low)


@record
class _Plot:
    """Everything that is drawn: points, curves, axes and words."""

    points: Sequence[_Dot]
    curves: Sequence["_Curve"]
    across: _Axis
    up: _Axis
    x_title: str
    y_title: str
    keys: Mapping[str, str]
    note: str
    square: bool = False  # whether both axes have one unit


@record
class _Curve:
    """A line through the points, with its band if it has one; `steps` are stairs, shaded below."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    look: str = "line"
    words: str = ""


def scatter(
    rows: object,
    *,
    line: object = None,
    identity: str = "",
    line_title: str = "",
    x_title: str = "",
    y_title: str = "",
    reverse_x: bool = False,
    reverse_y: bool = False,
    logit_x: tuple[float, float] | None = None,
    logit_y: tuple[float, float] | None = None,
    keys: Mapping[str, str] | None = None,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw a point for each row, with its intervals across and upwards, and a line with its band.

    Up to 40 points are all named; of more the strong ones and those at the ends. A name stands beside its point where it covers
    nothing and no line runs through it, else it is tied to its point by a thin line; without room it is a number, named below.

    Parameters
    ----------
    rows
        `model` (or `label`), `x`, `y`; if known `x_low`, `x_high`, `y_low`, `y_high`; and any of: `kind` (named by `keys`),
        `tone`, `settled` (filled), `strong` (named in bold).
    line
        A frame with `x`, `estimate` and, for a band, `conf_low` and `conf_high`.
    identity
        What the line x = y is called, where it is drawn; then both axes have one unit, and it rises at 45 degrees.
    line_title
        What the line is called in the key.
    x_title, y_title
        What the axes measure.
    reverse_x, reverse_y
        Whether less is on the right, or above.
    logit_x, logit_y
        The ends of a scale of shares, such as (0, 100), that is drawn in equal logits.
    keys
        What each `kind` means, for the key, in its order.

    Examples
    --------
    >>> figure = scatter({"model": ["a", "b", "c"], "x": [1, 2, 3], "y": [1, 3, 2]}, x_title="lab", y_title="live")
    >>> len(figure.axes[0].child_axes[0].lines)
    3
    """
    table = columns_of(rows, "scatter")
    points = _points_of(table, "x", "y", ("x_low", "x_high"), ("y_low", "y_high"))
    across = _axis([s.x for s in points], [s.x_ends for s in points], reverse=reverse_x, logit=logit_x)
    up = _axis([s.y for s in points], [s.y_ends for s in points], reverse=reverse_y, logit=logit_y)
    curves = [_line(line, line_title)] if line is not None else []
    square = bool(identity) and logit_x == logit_y
    if square:
        across, up = across.stretched(_FLATTEST * up.span), up.stretched(_FLATTEST * across.span)
    if identity:
        low = max(min(across.limits), min(up.limits))
        high = min(max(across.limits), max(up.limits))
        way = [low + (high - low) * step / 40 for step in range(41)] if logit_x != logit_y else [low, high]
        curves += [_Curve(x=way, y=way, look="dashed", words=identity)] if low < high else []
    plot = _Plot(
        points=points,
        curves=curves,
        across=across,
        up=up,
        x_title=x_title,
        y_title=y_title,
        keys=keys or {},
        note=note,
        square=square,
    )
    return drawn(ax, size, lambda sheet: _draw(sheet, plot))


def frontier(
    rows: object,
    *,
    x_title: str = "Cost",
    y_title: str = "Score",
    reverse_y: bool = False,
    keys: Mapping[str, str] | None = None,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw score against cost with intervals both ways, and shaded what others beat: below the stairs.

    The cost axis is logarithmic where costs differ by more than tenfold.

    Parameters
    ----------
    rows
        `model` (or `label`), `cost`, `estimate`, `on_frontier`; if known `cost_low`, `cost_high`, `conf_low`, `conf_high`;
        and any of: `kind` (named by `keys`), `tone`, `settled` (filled), `weak` (small: beaten for certain).
    x_title, y_title
        What the axes measure.
    reverse_y
        Whether less is above.
    keys
        What each `kind` means, for the key, in its order.

    Examples
    --------
    >>> rows = {"model": ["a", "b"], "cost": [0.01, 0.2], "estimate": [40, 80], "on_frontier": [True, True]}
    >>> frontier(rows).axes[0].child_axes[0].get_xscale()
    'log'
    """
    table = columns_of(rows, "frontier")
    best = [bool(value) for value in table.need("on_frontier")]
    points = _points_of(table, "cost", "estimate", ("cost_low", "cost_high"), ("conf_low", "conf_high"), strong=best)
    up = _axis([s.y for s in points], [s.y_ends for s in points], reverse=reverse_y, room=0.1)
    across = _axis([s.x for s in points], [s.x_ends for s in points], may_log=True, from_zero=True, room=0.1)
    steps = sorted((point.x, point.y) for point in points if point.strong)
    curves: list[_Curve] = []
    if steps:
        x, y = [*(cost for cost, _ in steps), across.limits[1]], [*(score for _, score in steps), steps[-1][1]]
        curves.append(_Curve(x=x, y=y, look="steps"))
    log = "log scale" if across.log else ""
    plot = _Plot(
        points=points,
        curves=curves,
        across=across,
        up=up,
        x_title=f"{x_title} ({log})" if log and x_title else x_title,
        y_title=y_title,
        keys=keys or {},
        note=note,
    )
    return drawn(ax, size, lambda sheet: _draw(sheet, plot))


# --- what there is to draw ---


def _points_of(
    table: Columns,
    x: str,
    y: str,
    x_ends: tuple[str, str],
    y_ends: tuple[str, str],
    *,
    strong: Sequence[bool] | None = None,
) -> list[_Dot]:
    """Return the points of rows that have both values, the strong ones last, so that they lie on top."""
    table.need(x)
    table.need(y)
    tones = table.texts("tone") if table.has("tone") else ["neutral"] * table.n
    both = table.intervals(*x_ends), table.intervals(*y_ends)
    found = [
        _Dot(
            name=name,
            x=one,
            y=other,
            x_ends=both[0][place],
            y_ends=both[1][place],
            kind=table.texts("kind")[place],
            tone=tones[place],
            filled=table.flags("settled", default=True)[place],
            strong=table.flags("strong")[place] if strong is None else strong[place],
            weak=table.flags("weak")[place],
        )
        for place, (name, one, other) in enumerate(zip(table.names(), table.numbers(x), table.numbers(y), strict=True))
        if one is not None and other is not None
    ]
    return sorted(found, key=lambda point: (point.strong, not point.weak))


def _line(rows: object, words: str) -> _Curve:
    table = columns_of(rows, "the line of a scatter")
    table.need("x")
    table.need("estimate")
    x, y = table.numbers("x"), table.numbers("estimate")
    known = [place for place in range(table.n) if x[place] is not None and y[place] is not None]
    ends = table.intervals()
    banded = all(ends[place] is not None for place in known) and bool(known)
    return _Curve(
        x=[x[place] or 0.0 for place in known],
        y=[y[place] or 0.0 for place in known],
        low=[(ends[place] or (0.0, 0.0))[0] for place in known] if banded else None,
        high=[(ends[place] or (0.0, 0.0))[1] for place in known] if banded else None,
        words=words,
    )


def _axis(
    values: Sequence[float],
    ends: Sequence[Ends],
    *,
    reverse: bool = False,
    may_log: bool = False,
    from_zero: bool = False,
    room: float = 0.06,
    logit: tuple[float, float] | None = None,
) -> _Axis:
    """Return an axis; a very long interval does not squeeze the rest, and is cut off."""
    if logit is not None:
        return _logit_axis(values, ends, logit, reverse=reverse)
    low, high = min(values), max(values)
    lows, highs = ([low, *(each[side] for each in ends if each)] for side in (0, 1))
    highs.append(high)
    log = may_log and low > 0 and high > _LOG_FROM * low
    if log:
        low, high = max(min(lows), low / _LOG_STRETCH), min(max(highs), high * _LOG_STRETCH)
        free = (high / low) ** 0.08
        limits = low / free, high * free
    else:
        reach = _STRETCH * (high - low) or abs(high) or 1.0
        low, high = max(min(lows), low - reach), min(max(highs), high + reach)
        free = room * (high - low) or room * abs(high) or 1.0
        limits = (0.0 if from_zero and 0 <= low < 2 * free else low - free), high + free
    ticks = log_ticks(*limits, 7) if log else round_ticks(*limits, 6)
    return _Axis(limits=(limits[1], limits[0]) if reverse else limits, ticks=tuple(ticks), log=log)


def _logit_axis(values: Sequence[float], ends: Sequence[Ends], bounds: tuple[float, float], *, reverse: bool) -> _Axis:
    """Return an axis of shares between two bounds, drawn in equal logits."""
    free = _Axis(limits=bounds, ticks=(), log=False, logit=bounds)
    plain = _axis(
        [free.moved(value) for value in values],
        [None if each is None else (free.moved(each[0]), free.moved(each[1])) for each in ends],
        reverse=reverse,
    )
    wide = bounds[1] - bounds[0]
    limits = tuple(bounds[0] + wide / (1.0 + math.exp(-end)) for end in plain.limits)
    every = [bounds[0] + wide * share for share in _SHARES]
    ticks = [tick for tick in every if min(limits) <= tick <= max(limits)]
    if len(ticks) < _FEW_TICKS:
        ticks = round_ticks(min(limits), max(limits), 6)
    return _Axis(limits=(limits[0], limits[1]), ticks=tuple(ticks), log=False, logit=bounds)


# --- drawing ---


@record
class _PointFrame:
    """The panel of points on its canvas, in pixels."""

    sheet: Sheet
    left: float
    wide: float
    tall: float
    plot: _Plot
    most_wide: float  # names may stand right of the panel

    @property
    def font(self) -> float:
        """The height of names."""
        return _LETTERS * self.sheet.font

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point stands, from the lower left corner of the panel."""
        return self.plot.across.share(x) * self.wide, self.plot.up.share(y) * self.tall


@record
class _PointName:
    """A name and where it stands; a number where it found no room, with the name below the figure; None without room for that."""

    point: _Dot
    text: str
    placed: Placed | None
    numbered: bool = False


def _draw(sheet: Sheet, plot: _Plot) -> Canvas:
    font = sheet.font
    left = max((text_width(tick_words(tick), SMALL * font) for tick in plot.up.ticks), default=0.0) + 0.9 * font
    keys = key_rows(_keys(sheet, plot), sheet.width, font)
    title = wrapped(f"↑ {plot.y_title}", sheet.width, SMALL * font, bold=True) if plot.y_title else []
    below = wrapped(f"{plot.x_title} →", sheet.width - left, SMALL * font, bold=True) if plot.x_title else []
    top = font * (1.3 * SMALL * len(title) + 1.5 * len(keys) + 0.9)

    def foot(notes: Sequence[str]) -> float:
        return font * (1.9 + 1.3 * SMALL * len(below) + 1.25 * SMALL * len(notes) + (0.4 if notes else 0.0))

    tall = font * (_TALL_NARROW if sheet.narrow else _TALL)
    tall = max(tall, _SQUARE * sheet.width) if plot.square else tall
    most_wide = sheet.width - left - 0.9 * font
    notes = wrapped(plot.note, sheet.width, SMALL * font)

    def framed(said: Sequence[str]) -> tuple[_PointFrame, list[_PointName], list[str]]:
        """Return the panel that such lines below it leave room for, its names, and the lines that these ask for."""
        most = math.inf if sheet.most is None else max(sheet.most - top - foot(said), 4 * font)
        high = most if sheet.height is not None else min(tall, max(most, 8 * font))
        wide = most_wide
        if plot.square:
            unit = max(plot.across.span / wide, plot.up.span / high)
            wide, high = plot.across.span / unit, plot.up.span / unit
        frame = _PointFrame(sheet=sheet, left=left, wide=wide, tall=high, plot=plot, most_wide=most_wide)
        names = _placed_names(frame)
        return frame, names, [*notes, *_names_below(names, sheet.width, SMALL * font)]

    # Names below take room from the panel where a height is given, which may leave others without.
    said = notes
    frame, names, below_them = framed(said)
    while len(below_them) > len(said):
        said = below_them
        frame, names, below_them = framed(said)
    tall, notes = frame.tall, below_them
    canvas = sheet.canvas(top + tall + foot(notes))
    canvas.small_lines(title, 0.6 * font, step=1.3, weight="bold")
    draw_keys(canvas, keys, font * (1.3 * SMALL * len(title) + 0.3))
    axes = canvas.panel(left, top, left + frame.wide, top + tall, "points")
    _draw_axes(axes, frame)
    for curve in plot.curves:
        if curve.low is not None and curve.high is not None:
            axes.fill_between(curve.x, curve.low, curve.high, color=canvas.colors.band, linewidth=0, zorder=0.7)
        if curve.look == "steps":
            # What the stairs beat is shaded: a line would lie on the intervals of cost, and hide where they end.
            style: dict[str, Any] = {"step": "post", "color": canvas.colors.good, "alpha": 0.13, "linewidth": 0}
            axes.fill_between(curve.x, curve.y, plot.up.limits[0], zorder=0.7, **style)
            continue
        axes.plot(curve.x, curve.y, zorder=1.5, **_curve_style(canvas.colors, font, curve.look))
    for point in plot.points:
        _draw_point(axes, canvas, point)
        across, up = frame.at(point.x, point.y)
        reach = 0.7 * font
        canvas.tooltip(
            point.name,
            _tooltip_words(plot, point),
            (left + across - reach, top + tall - up - reach, 2 * reach, 2 * reach),
        )
    _write_names(axes, canvas, frame, names)
    y = top + tall + 1.9 * font
    for words in below:
        right = left + frame.wide
        canvas.text(right, y, words, align="right", letters=SMALL, weight="bold", color=canvas.colors.muted)
        y += 1.3 * SMALL * font
    canvas.small_lines(notes, y + 0.3 * font)
    return canvas


def _names_below(names: Sequence[_PointName], room: float, font: float) -> list[str]:
    """Return lines that say what the numbers in the panel stand for, and what is marked nowhere."""
    apart = [name for name in names if name.numbered or name.placed is None]
    heads = [f"{name.text} " if name.placed else "not marked: " for name in apart]
    widest = max((text_width(head, font) for head in heads), default=0.0) + text_width(";", font)
    short = fitted_names([name.point.name for name in apart], room - widest, font)
    lines: list[str] = []
    for place, (head, name) in enumerate(zip(heads, short, strict=True)):
        entry = f"{head}{name}{'' if place == len(apart) - 1 else ';'}"
        if lines and text_width(f"{lines[-1]} {entry}", font) <= room:
            lines[-1] += f" {entry}"
        else:
            lines.append(entry)
    return lines


def _keys(sheet: Sheet, plot: _Plot) -> list[Key]:
    keys: list[Key] = []
    for kind, words in plot.keys.items():
        found = next((point for point in plot.points if point.kind == kind), None)
        if found is not None:
            keys.append(Key(words, _look(sheet.colors, sheet.font, found)))
    keys += [
        Key(curve.words, _curve_style(sheet.colors, sheet.font, curve.look), stroke=True)
        for curve in plot.curves
        if curve.words
    ]
    return keys


def _look(colors: Any, font: float, point: _Dot) -> dict[str, Any]:
    color = {"good": colors.good, "bad": colors.bad, "caution": colors.caution, "plain": colors.ink}.get(
        point.tone, colors.muted if point.weak else colors.neutral
    )
    look = point_style(colors, color, font, filled=point.filled, marker=point.marker)
    return {**look, "markersize": font * (0.45 if point.weak else 0.64)}


def _curve_style(colors: Any, font: float, look: str) -> dict[str, Any]:
    looks: dict[str, dict[str, Any]] = {
        "line": {"color": colors.ink, "linewidth": 0.13 * font},
        "dashed": {"color": colors.muted, "linewidth": 0.1 * font, "linestyle": (0, (5, 3))},
    }
    return looks[look]


def _draw_axes(axes: Any, frame: _PointFrame) -> None:
    plot, font, colors = frame.plot, frame.sheet.font, frame.sheet.colors
    if plot.across.log:
        axes.set_xscale("log")
    for set_scale, axis in ((axes.set_xscale, plot.across), (axes.set_yscale, plot.up)):
        if axis.logit is not None:
            set_scale("function", functions=_logits_between(*axis.logit))
    axes.set_xlim(*plot.across.limits)
    axes.set_ylim(*plot.up.limits)
    ticks = plot.across.ticks
    words = [tick_words(tick) for tick in ticks]
    room = -math.inf, frame.wide + 0.9 * font
    kept = kept_apart(
        ticks, words, lambda tick: plot.across.share(tick) * frame.wide, SMALL * font, gap=0.6 * font, within=room
    )
    set_ticks(axes, "x", [ticks[place] for place in kept], [words[place] for place in kept])
    set_ticks(axes, "y", plot.up.ticks, [tick_words(tick) for tick in plot.up.ticks])
    axes.grid(color=colors.line, linewidth=0.06 * font)


def _draw_point(axes: Any, canvas: Canvas, point: _Dot) -> None:
    font = canvas.font
    look = _look(canvas.colors, font, point)
    thin = {"color": look["markeredgecolor"], "linewidth": 0.1 * font, "solid_capstyle": "butt", "alpha": 0.75}
    if point.x_ends is not None:
        axes.plot(point.x_ends, [point.y, point.y], zorder=2, **thin)
    if point.y_ends is not None:
        axes.plot([point.x, point.x], point.y_ends, zorder=2, **thin)
    axes.plot([point.x], [point.y], zorder=3 + point.strong, **look)


def _tooltip_words(plot: _Plot, point: _Dot) -> str:
    """Say both values of a point with their intervals, named by their axes."""
    both = ((plot.x_title, plot.across, point.x, point.x_ends), (plot.y_title, plot.up, point.y, point.y_ends))
    parts: list[str] = []
    for title, axis, value, ends in both:
        # Three digits of what the axis spans; of a logarithmic one, of the value itself.
        digits = digits_within(value if axis.log else axis.limits[1] - axis.limits[0])
        said = with_interval(value, ends, digits)
        # What follows a comma says how it is drawn.
        parts.append(f"{title.partition(',')[0]} {said}".strip())
    return ", ".join(parts)


# --- names ---


def _wanted(points: Sequence[_Dot]) -> list[_Dot]:
    """Return the points that are to be named, the most important first: strong ones, the ends of both axes, few all."""
    keys: tuple[Callable[[_Dot], float], ...] = (lambda point: point.y, lambda point: point.x)
    ends = [pick(points, key=key) for key in keys for pick in (max, min)]
    order = [*(point for point in points if point.strong), *ends, *(points if len(points) <= NAMED else ())]
    return list({id(point): point for point in order}.values())


def _placed_names(frame: _PointFrame) -> list[_PointName]:
    """Return the names where they stand: strong ones and few may stand far from their point, others of many beside it."""
    points, font = frame.plot.points, frame.font
    ground = Ground(frame=(0.0, 0.0, frame.most_wide, frame.tall))
    for point in points:
        (x, y), reach = frame.at(point.x, point.y), 0.42 * font
        ground.taken.append((x - reach, y - reach, x + reach, y + reach))
        for ends, upright in ((point.x_ends, False), (point.y_ends, True)):
            if ends is not None:
                at = [frame.at(point.x, end) if upright else frame.at(end, point.y) for end in ends]
                ground.thin.append((*at[0], *at[1]))
    for curve in frame.plot.curves:
        at = [frame.at(float(x), float(y)) for x, y in zip(curve.x, curve.y, strict=True)]
        if curve.look == "steps":
            at = [place for one, other in pairwise(at) for place in (one, (other[0], one[1]))] + at[-1:]
        ground.thin += [(*one, *other) for one, other in pairwise(at)]
    wanted = _wanted(points)
    room = (_LONGEST_NARROW if frame.sheet.narrow else _LONGEST) * frame.sheet.width
    texts = fitted_names([point.name for point in wanted], room, font, bold=True)
    names: list[_PointName] = []
    for point, text in zip(wanted, texts, strict=True):
        number = str(1 + sum(name.numbered for name in names))
        most = math.inf if point.strong else _COST_FEW if len(points) <= _FEW else _COST_MANY
        # What all names begin with stays cut; one that is cut inside stands whole where there is room.
        whole = not text.startswith("…") and text_width(point.name, font, bold=True) <= _WHOLE * frame.sheet.width
        ways = [(words, most, False) for words in dict.fromkeys(((point.name,) if whole else ()) + (text,))]
        ways += [(number, math.inf, across) for across in (False, True)]
        for shown, cost, across in ways:
            width = text_width(shown, font, bold=point.strong)
            placed = ground.place(frame.at(point.x, point.y), width, font, most=cost, across=across)
            if placed is not None:
                names.append(_PointName(point=point, text=shown, placed=placed, numbered=shown is number))
                break
        else:
            names.append(_PointName(point=point, text="", placed=None))
    return names


def _write_names(axes: Any, canvas: Canvas, frame: _PointFrame, names: Sequence[_PointName]) -> None:
    """Write names in shares of the axes, so that they stay where they are at any resolution."""
    for name in names:
        if name.placed is None:
            continue
        point, box = name.point, name.placed.box
        x, y = frame.at(point.x, point.y)
        if name.placed.tie is not None:
            tie = [x / frame.wide, name.placed.tie[0] / frame.wide], [y / frame.tall, name.placed.tie[1] / frame.tall]
            axes.plot(
                *tie, color=canvas.colors.muted, linewidth=0.07 * canvas.font, zorder=1.8, transform=axes.transAxes
            )
        on_left = box[2] <= x
        color = canvas.colors.ink if point.strong else canvas.colors.muted
        axes.text(
            (box[2] if on_left else box[0]) / frame.wide,
            (box[1] + box[3]) / 2 / frame.tall,
            name.text,
            ha="right" if on_left else "left",
            va="center_baseline",
            transform=axes.transAxes,
            fontsize=frame.font,
            color=canvas.tone(point.tone) if point.strong and point.tone != "neutral" else color,
            weight="bold" if point.strong else "normal",
            parse_math=False,
            zorder=5,
        )


def _logits_between(low: float, high: float) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return the logit of shares between two bounds, and its inverse."""

    def logits(value: Any) -> Any:
        part = np.clip((np.asarray(value, dtype=np.float64) - low) / (high - low), _LEAST_SHARE, 1.0 - _LEAST_SHARE)
        return np.log(part / (1.0 - part))

    return logits, lambda value: low + (high - low) / (1.0 + np.exp(-np.asarray(value, dtype=np.float64)))
