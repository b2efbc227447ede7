"""Error rates against the rate that was promised: one row a method or a situation, a dot for every rate."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from evalstats.document.escape import one_line
from evalstats.plots.labels import shortened
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

LEAST = 0.005  # smaller error rates are drawn here
_EM = 0.56
_STACKED = 0.22
# Rows hold a few dots and one line of words: they can stand closer than intervals do.
_CLOSER = 0.82
_TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePoint:
    """One rate between 0 and 1, with its Monte Carlo interval where it was simulated; `ours` is filled and coloured."""

    rate: float
    low: float | None = None
    high: float | None = None
    ours: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRow:
    """A row: its name, its dots, and what they say in numbers. A row without dots is a heading."""

    label: str
    points: tuple[RatePoint, ...] = ()
    words: str = ""
    ours: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RateScale:
    """The axis: what is counted, the rate that is promised (a line), and the range that is accepted (a band).

    With `logarithmic`, equal distances are equal ratios, from 0.5% on; else the axis runs over `limits`.
    """

    title: str
    nominal: float
    band: tuple[float, float] | None = None
    logarithmic: bool = True
    limits: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Canvas:
    axes: Any
    size: Size
    left: float
    across: Any


def rates(rows: Sequence[RateRow], scale: RateScale, *, medium: Medium = "screen") -> Figure:
    """Draw rates in rows against the promised rate.

    A row with one or two dots shows their Monte Carlo intervals as bars; a row with more shows the dots alone.

    Parameters
    ----------
    rows
        From top to bottom.
    scale
        The axis.
    medium
        "screen", "phone" or "print": see `evalstats.plots.intervals.intervals`.

    Raises
    ------
    ValueError
        If there are no rows.

    Examples
    --------
    >>> row = RateRow(label="Wilson", points=(RatePoint(rate=0.048),), words="4.8%")
    >>> len(rates([row], RateScale(title="misses", nominal=0.05)).axes)
    1
    """
    if not rows:
        message = "a figure of rates needs at least one row"
        raise ValueError(message)
    size = replace(SIZES[medium], row=_CLOSER * SIZES[medium].row)
    with house_style():
        figure, canvas = _canvas(rows, scale, size)
        _draw_axis(canvas, rows, scale)
        for place, row in enumerate(rows):
            _draw_points(canvas, place, row, scale)
            _write(canvas, place, row)
    return figure


def rates_alt(what: str, rows: Sequence[RateRow]) -> str:
    """Describe `rates` in words: what is drawn, then every row as it is written.

    Examples
    --------
    >>> rates_alt(
    ...     "Misses", [RateRow(label="p = .5"), RateRow(label="Wilson", words="4.8%", points=(RatePoint(rate=0.05),))]
    ... )
    'Misses. p = .5: Wilson 4.8%.'
    """
    parts: list[str] = []
    for row in rows:
        if not row.points:
            parts.append(f"{row.label}:")
        else:
            parts.append(f"{row.label} {row.words}{'.' if row is rows[-1] else ';'}")
    return one_line(f"{what}. {' '.join(parts)}")


def _canvas(rows: Sequence[RateRow], scale: RateScale, size: Size) -> tuple[Figure, _Canvas]:
    top = size.font * 1.7
    bottom = size.font * (2.4 + 1.25 * len(_title_lines(scale, size)))
    heights = size.row * len(rows)
    height = top + bottom + heights
    left, right = 12.0, size.width - 16.0
    if not size.stacked:
        labels = max(len(row.label) * _EM * (1.1 if row.ours else 1) for row in rows if row.points) * size.font
        words = max(len(row.words) * (1.1 if row.ours else 1) for row in rows) * _EM * size.font
        left = min(labels, size.width * 0.42) + 2 * size.font
        right = size.width - min(words, size.width * 0.32) - size.font
    figure = new_figure(size, height)
    axes = untyped(figure).add_axes((left / size.width, bottom / height, (right - left) / size.width, heights / height))
    across = blended_transform_factory(figure.transFigure, axes.transData)
    return figure, _Canvas(axes=axes, size=size, left=left, across=across)


def _title_lines(scale: RateScale, size: Size) -> list[str]:
    return textwrap.wrap(one_line(scale.title), int(size.width / (size.font * 0.92 * _EM))) or [""]


def _draw_axis(canvas: _Canvas, rows: Sequence[RateRow], scale: RateScale) -> None:
    axes, size = canvas.axes, canvas.size
    ticks = _ticks(rows, scale)
    if scale.logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(LEAST * 0.88, ticks[-1] * 1.12)
    else:
        axes.set_xlim(*scale.limits)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.patch.set_visible(False)
    axes.set_yticks([])
    axes.set_xticks(ticks)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_percent))
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT.line)
    axes.tick_params(axis="x", length=0, pad=5, labelsize=size.font * 0.88, labelcolor=LIGHT.muted)
    title = "\n".join(_title_lines(scale, size))
    axes.set_xlabel(title, fontsize=size.font * 0.92, color=LIGHT.muted, labelpad=6, parse_math=False)
    axes.text(
        scale.nominal,
        -0.5 - size.font * 0.9 / size.row,
        f"promised: {_percent(scale.nominal)}",
        ha="center",
        va="center_baseline",
        fontsize=size.font * 0.88,
        color=LIGHT.muted,
    )
    _draw_ground(canvas, rows, scale)


def _ticks(rows: Sequence[RateRow], scale: RateScale) -> list[float]:
    if not scale.logarithmic:
        low, high = scale.limits
        return [tenth / 10 for tenth in range(math.ceil(low * 10 - 1e-9), math.floor(high * 10 + 1e-9) + 1)]
    largest = max((point.high or point.rate for row in rows for point in row.points), default=0.1)
    return [tick for tick in _TICKS if tick <= 0.1 or tick <= 2.0 * largest]


def _percent(value: float, _place: int | None = None) -> str:
    return f"{100 * value:g}%"


def _draw_ground(canvas: _Canvas, rows: Sequence[RateRow], scale: RateScale) -> None:
    """Draw the promised rate and the accepted range behind every row that has dots; never across words."""
    axes, size = canvas.axes, canvas.size
    for place, row in enumerate(rows):
        if not row.points:
            continue
        top, bottom = (place + _STACKED - 0.2, place + _STACKED + 0.2) if size.stacked else (place - 0.5, place + 0.5)
        if scale.band:
            axes.fill_betweenx([top, bottom], *scale.band, color=LIGHT.band, linewidth=0, zorder=0.6)
        for tick in () if size.stacked else _ticks(rows, scale):
            axes.plot([tick, tick], [top, bottom], color=LIGHT.line, linewidth=0.8, zorder=0.7)
        axes.plot([scale.nominal] * 2, [top, bottom], color=LIGHT.ink, linewidth=size.font * 0.09, zorder=1)


def _draw_points(canvas: _Canvas, place: int, row: RateRow, scale: RateScale) -> None:
    size, level = canvas.size, place + (_STACKED if canvas.size.stacked else 0.0)
    several = len(row.points) > 2
    for number, point in enumerate(row.points):
        color = LIGHT.good if point.ours else LIGHT.neutral
        shift = 0.11 * ((number * 2) % 5 - 2) / 2 if several else 0.13 * (2 * number - len(row.points) + 1)
        if not several and point.low is not None and point.high is not None:
            ends = [_drawn(point.low, scale), _drawn(point.high, scale)]
            canvas.axes.plot(ends, [level + shift] * 2, color=color, linewidth=size.font * 0.16, zorder=2)
        canvas.axes.plot(
            [_drawn(point.rate, scale)],
            [level + shift],
            marker="o",
            markersize=size.font * ((0.56 if point.ours else 0.46) if several else 0.6),
            markerfacecolor=color if point.ours else LIGHT.surface,
            markeredgecolor=LIGHT.surface if point.ours and several else color,
            markeredgewidth=size.font * (0.05 if point.ours and several else 0.1),
            linestyle="none",
            clip_on=False,
            zorder=3.0 + point.ours,
        )


def _drawn(rate: float, scale: RateScale) -> float:
    return max(rate, LEAST) if scale.logarithmic else rate


def _write(canvas: _Canvas, place: int, row: RateRow) -> None:
    size = canvas.size
    heading = not row.points
    weight = "bold" if heading or row.ours else "normal"
    letter = size.font * _EM * (1.06 if weight == "bold" else 1)
    color = LIGHT.good if row.ours and not heading else LIGHT.ink
    if heading:
        lower = place + (0.1 if size.stacked else 0.08)
        _text(canvas, 0, lower, shortened(row.label, int(size.width / letter)), weight="bold")
        return
    if size.stacked:
        level = place - 0.2
        room = size.width - 8 - len(row.words) * _EM * size.font
        _text(canvas, 4, level, shortened(row.label, max(int(room / letter), 4)), weight=weight, color=color)
        _text(canvas, size.width - 4, level, row.words, align="right", color=color)
        return
    room = canvas.left - 2 * size.font
    _text(canvas, size.font * 0.6, place, shortened(row.label, max(int(room / letter), 4)), weight=weight, color=color)
    _text(canvas, size.width, place, row.words, align="right", weight=weight, color=color)


def _text(canvas: _Canvas, x: float, row: float, text: str, *, align: str = "left", **style: Any) -> None:
    """Write at a pixel across the figure and a row down, never as mathematics."""
    style = {"color": LIGHT.ink, "va": "center_baseline", "fontsize": canvas.size.font, **style}
    canvas.axes.text(x / canvas.size.width, row, text, transform=canvas.across, ha=align, parse_math=False, **style)
