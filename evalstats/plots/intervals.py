"""Intervals in rows: the figure that every comparison is shown with. Each row says its own name and numbers."""

import math
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Transform, blended_transform_factory

from evalstats.document.blocks import Tone
from evalstats.document.escape import one_line
from evalstats.document.numbers import MINUS
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, tone_color, untyped

_STACKED = 0.22  # where the interval stands below the middle of its row, when its words are above it
_EM = 0.56  # width of a letter, as a share of the text size, that few lines of text exceed


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One interval. Numbers are as they are shown (percentage points, say), not in the metric's unit.

    `decided` fills the point: the interval settles the question. `words` stands at the end of the row: the numbers, or
    why there are none. `strong` marks the answer among the rows. A `heading` has a label alone, and names the rows below.
    """

    label: str
    words: str
    detail: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    tone: Tone = "neutral"
    decided: bool = False
    strong: bool = False
    heading: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The axis: what it measures, where nothing happens, and what each side means.

    `bounds` are the lowest and highest value that can occur. `margin` is drawn as a band around zero.
    """

    title: str
    zero: bool = True
    left: str = ""
    right: str = ""
    margin: float | None = None
    margin_label: str = ""
    bounds: tuple[float, float] = (-math.inf, math.inf)
    left_tone: Tone = "bad"
    right_tone: Tone = "good"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Canvas:
    """The axes and where they are: pixels of the figure, and rows counted downwards from 0."""

    axes: Any
    size: Size
    left: float
    right: float
    height: float
    plot_height: float
    across: Transform

    def text(self, x: float, row: float, text: str, *, align: str = "left", small: bool = False, **style: Any) -> None:
        """Write at a pixel across the figure and a row down, never as mathematics."""
        font = self.size.font * (0.88 if small else 1)
        style = {"color": LIGHT.ink, "va": "center_baseline", "fontsize": font, **style}
        self.axes.text(x / self.size.width, row, text, transform=self.across, ha=align, parse_math=False, **style)

    def pixel(self, value: float) -> float:
        """Return where a value of the axis stands, in pixels across the figure."""
        low, high = self.axes.get_xlim()
        return self.left + (value - low) / (high - low) * (self.right - self.left)


def intervals(rows: Sequence[Row], scale: Scale, *, medium: Medium = "screen") -> Figure:
    """Draw one interval a row, with its words beside it.

    A row without an interval shows its words (and its point, where there is one): it is never left out.

    Parameters
    ----------
    rows
        From top to bottom.
    scale
        The axis.
    medium
        "screen" (860 pixels wide), "phone" (340, words above each interval) or "print" (a column of A4).

    Raises
    ------
    ValueError
        If there are no rows.

    Examples
    --------
    >>> figure = intervals([Row(label="All", words="none", detail="0 items")], Scale(title="difference"))
    >>> len(figure.axes)
    1
    """
    if not rows:
        message = "an interval plot needs at least one row"
        raise ValueError(message)
    size = SIZES[medium]
    with house_style():
        figure, canvas = _canvas(rows, scale, size)
        _draw_axis(canvas, rows, scale)
        for place, row in enumerate(rows):
            _draw_interval(canvas, place, row)
            _write_words(canvas, place, row)
        _name_sides(canvas, scale)
    return figure


def shortened(text: str, most: int) -> str:
    """Return at most `most` letters of one line of text.

    Examples
    --------
    >>> shortened("conflicting_signals", 8)
    'conflic…'
    """
    line = one_line(text).strip()
    return line if len(line) <= most else line[: max(most - 1, 1)].rstrip() + "…"


def _text_width(text: str, font: float) -> float:
    ems = sum(1.05 if unicodedata.east_asian_width(char) in "WF" else _EM for char in text)
    return ems * font


def _canvas(rows: Sequence[Row], scale: Scale, size: Size) -> tuple[Figure, _Canvas]:
    top = size.font * (0.8 + 1.6 * bool(scale.left or scale.right) + 1.1 * bool(scale.margin))
    bottom = size.font * (2.6 + 1.25 * len(_title_lines(scale, size)))
    height = top + bottom + size.row * len(rows)
    left, right = 4.0, size.width - 4.0
    if not size.stacked:
        labels = max(_text_width(f"{row.label}   {row.detail}", size.font) for row in rows if not row.heading)
        words = max((_text_width(row.words, size.font) for row in rows if _has_interval(row)), default=0.0)
        left = min(labels, size.width * 0.36) + size.font
        right = size.width - min(words, size.width * 0.32) - size.font
    figure = new_figure(size, height)
    plot_height = height - top - bottom
    axes = untyped(figure).add_axes(
        (left / size.width, bottom / height, (right - left) / size.width, plot_height / height)
    )
    across = blended_transform_factory(figure.transFigure, axes.transData)
    return figure, _Canvas(
        axes=axes, size=size, left=left, right=right, height=height, plot_height=plot_height, across=across
    )


def _title_lines(scale: Scale, size: Size) -> list[str]:
    return textwrap.wrap(one_line(scale.title), int(size.width / (size.font * 0.92 * _EM))) or [""]


def _has_interval(row: Row) -> bool:
    return row.low is not None and row.high is not None


def _limits(rows: Sequence[Row], scale: Scale) -> tuple[float, float]:
    values = [value for row in rows for value in (row.estimate, row.low, row.high) if value is not None]
    if scale.zero:
        values.append(0.0)
    if scale.margin:
        values += [-scale.margin, scale.margin]
    low, high = (min(values), max(values)) if values else (-1.0, 1.0)
    room = 0.06 * (high - low) or 1.0
    return max(low, scale.bounds[0]) - room, min(high, scale.bounds[1]) + room


def _draw_axis(canvas: _Canvas, rows: Sequence[Row], scale: Scale) -> None:
    axes, font = canvas.axes, canvas.size.font
    axes.set_xlim(*_limits(rows, scale))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.patch.set_visible(False)
    axes.set_yticks([])
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT.line)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5 if canvas.size.stacked else 7, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(_signed_tick if scale.zero else _tick)
    axes.tick_params(axis="x", length=0, pad=5, labelsize=font * 0.88, labelcolor=LIGHT.muted)
    title = "\n".join(_title_lines(scale, canvas.size))
    axes.set_xlabel(title, fontsize=font * 0.92, color=LIGHT.muted, labelpad=6, parse_math=False)
    _draw_ground(canvas, rows, scale)


def _draw_ground(canvas: _Canvas, rows: Sequence[Row], scale: Scale) -> None:
    """Draw what the intervals are read against: ticks, margin, zero; never across words."""
    axes, size = canvas.axes, canvas.size
    if size.stacked:
        bands = [(place + _STACKED - 0.2, place + _STACKED + 0.2) for place, row in enumerate(rows) if not row.heading]
    else:
        bands = [(-0.5, len(rows) - 0.5)]
        axes.grid(axis="x", color=LIGHT.line, linewidth=0.8)
        axes.set_axisbelow(True)
    for top, bottom in bands:
        if scale.margin:
            axes.fill_betweenx([top, bottom], -scale.margin, scale.margin, color=LIGHT.band, linewidth=0, zorder=0.6)
        if scale.zero:
            axes.plot([0, 0], [top, bottom], color=LIGHT.ink, linewidth=size.font * 0.09, zorder=1)
    if rows[0].strong and len(rows) > 1:
        rule: dict[str, Any] = {"color": LIGHT.line, "linewidth": 1, "clip_on": False, "zorder": 0.8}
        axes.plot([0, 1], [0.5, 0.5], transform=canvas.across, **rule)


def _tick(value: float, _place: int | None = None) -> str:
    return f"{value:g}".replace("-", MINUS)


def _signed_tick(value: float, _place: int | None = None) -> str:
    return f"+{_tick(value)}" if value > 0 else _tick(value)


def _draw_interval(canvas: _Canvas, place: int, row: Row) -> None:
    axes, size = canvas.axes, canvas.size
    color = tone_color(row.tone)
    level = place + (_STACKED if size.stacked else 0.0)
    thick = size.font * (0.24 if row.strong else 0.16)
    if row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [level, level], color=color, linewidth=thick, solid_capstyle="butt", zorder=2)
        cap = size.font * (0.42 if row.strong else 0.34) / size.row
        for end in (row.low, row.high):
            axes.plot([end, end], [level - cap, level + cap], color=color, linewidth=thick * 0.75, zorder=2)
    if row.estimate is None:
        return
    axes.plot(
        [row.estimate],
        [level],
        marker="o" if _has_interval(row) else "D",
        markersize=size.font * (0.78 if row.strong else 0.6),
        markerfacecolor=color if row.decided else LIGHT.surface,
        markeredgecolor=color,
        markeredgewidth=size.font * 0.13,
        linestyle="none",
        clip_on=False,
        zorder=3,
    )


def _write_words(canvas: _Canvas, place: int, row: Row) -> None:
    size = canvas.size
    if row.heading:
        _write_heading(canvas, place, row)
        return
    weight = "bold" if row.strong else "normal"
    color = tone_color(row.tone) if row.decided else LIGHT.ink
    letter = size.font * _EM * (1.06 if row.strong else 1)
    if size.stacked:
        level = place - 0.2
        room = size.width - 8 - size.font * 0.7 - len(row.words) * letter
        canvas.text(4, level, shortened(row.label, max(int(room / letter), 4)), weight=weight)
        canvas.text(size.width - 4, level, row.words, align="right", weight=weight, color=color)
        return
    detail_width = _text_width(f"  {row.detail}", size.font * 0.88)
    label = shortened(row.label, max(int((canvas.left - size.font - detail_width) / letter), 4))
    canvas.text(0, place, label, weight=weight)
    canvas.text(canvas.left - size.font, place, row.detail, align="right", small=True, color=LIGHT.muted)
    if _has_interval(row):
        canvas.text(size.width, place, row.words, align="right", weight=weight, color=color)
    else:
        _write_reason(canvas, place, row)


def _write_heading(canvas: _Canvas, place: int, row: Row) -> None:
    """Name the rows below, close above them and as wide as the figure, on ground of its own."""
    size = canvas.size
    # Letters of the axis behind it would be read with it.
    ground: dict[str, Any] = {"facecolor": LIGHT.surface, "edgecolor": "none", "pad": 1.5}
    room = int((size.width - 8) / (size.font * 0.92 * _EM))
    style: dict[str, Any] = {"fontsize": size.font * 0.92, "color": LIGHT.muted, "bbox": ground, "zorder": 4}
    canvas.text(4 if size.stacked else 0, place + 0.14, shortened(row.label, room), **style)


def _write_reason(canvas: _Canvas, place: int, row: Row) -> None:
    """Put the words of a row without an interval beside its point, on the side where there is more room."""
    if row.estimate is None:
        canvas.text(canvas.size.width, place, row.words, align="right", small=True, color=LIGHT.muted, style="italic")
        return
    point = canvas.pixel(row.estimate)
    on_left = point > (canvas.left + canvas.size.width) / 2
    shift = canvas.size.font * (-0.8 if on_left else 0.8)
    align = "right" if on_left else "left"
    canvas.text(point + shift, place, row.words, align=align, small=True, color=LIGHT.muted, style="italic")


def _name_sides(canvas: _Canvas, scale: Scale) -> None:
    """Say in words what each side of zero means, above the rows; a side with no room for its words has few values."""
    size = canvas.size
    font = size.font * 0.92
    zero = canvas.pixel(0.0)
    row = -0.5 - size.font * 1.0 / size.row
    gap = size.font * 0.5
    if scale.right and _text_width(scale.right, font) * 0.9 < size.width - zero:
        canvas.text(zero + gap, row, scale.right, fontsize=font, color=tone_color(scale.right_tone))
    if scale.left and _text_width(scale.left, font) * 0.9 < zero:
        canvas.text(zero - gap, row, scale.left, align="right", fontsize=font, color=tone_color(scale.left_tone))
    if scale.margin and scale.margin_label:
        above = row - size.font * 1.15 / size.row
        canvas.text(zero, above, scale.margin_label, align="center", small=True, color=LIGHT.muted)
