"""Score against cost: every system with both intervals, and the line that no other one beats."""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from evalstats.analysis.costs import WORDS, amount
from evalstats.analysis.frontier.document import share_words
from evalstats.analysis.frontier.result import Frontier, FrontierRow, Standing
from evalstats.document.escape import one_line
from evalstats.document.numbers import interval, plural, scaled
from evalstats.plots.intervals import shortened
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

# A cost axis is logarithmic where the dearest system costs more than so many times the cheapest.
LOG_FROM = 10.0
# An interval may stretch the cost axis this far beyond the means, and is cut off there.
_STRETCH = 4.0
_EM = 0.56  # width of a letter, as a share of the text size, that few lines of text exceed
_MOST_LETTERS = {"screen": 30, "phone": 16, "print": 26}
_PLOT_HEIGHT = {"screen": 400.0, "phone": 300.0, "print": 230.0}
_COLORS: dict[Standing, str] = {"on the frontier": LIGHT.good, "open": LIGHT.neutral, "dominated": LIGHT.muted}
_LEGEND: dict[Standing, str] = {
    "on the frontier": "on the frontier",
    "open": "not settled",
    "dominated": "dominated",
}
_READ = 20

_PROVIDER = re.compile(r"^(?:[\w.-]+/)+(?=\S)")

Box = tuple[float, float, float, float]


@dataclass(slots=True)
class _Canvas:
    """The axes, where they are in pixels of the figure (y upwards), and what is drawn already."""

    axes: Any
    size: Size
    height: float
    box: Box
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    log: bool
    taken: list[Box] = field(default_factory=list[Box])

    def place(self, cost: float, score: float) -> tuple[float, float]:
        """Return where a point stands, in pixels from the lower left corner of the figure."""
        low, high, x = (*self.xlim, cost) if not self.log else (*map(math.log, self.xlim), math.log(cost))
        left, bottom, right, top = self.box
        across = (x - low) / (high - low)
        up = (score - self.ylim[0]) / (self.ylim[1] - self.ylim[0])
        return left + across * (right - left), bottom + up * (top - bottom)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One entry of the legend: where it begins, in pixels, and in which row."""

    standing: Standing
    words: str
    left: float
    row: int


def frontier(result: Frontier, *, medium: Medium = "screen") -> Figure:
    """Draw every system's score against its cost, with intervals both ways, and the frontier as observed.

    A filled blue point is on the frontier in nearly all resamples, a hollow one is not settled, a small grey one is
    dominated by another for certain. The cost axis is logarithmic where costs differ by more than tenfold. Up is better:
    where less of the metric is better its axis is turned over. A name that finds no room is a number, with its name below.

    Parameters
    ----------
    result
        What `evalstats.analysis.frontier.frontier.frontier` returned.
    medium
        "screen" (860 pixels wide), "phone" (340) or "print" (a column of A4).
    """
    size = SIZES[medium]
    with house_style():
        numbered = _draw(result, size, medium, ())[1]
        # Names below the axes make the figure taller, which is known once the others have found their places.
        return _draw(result, size, medium, numbered)[0]


def frontier_alt(result: Frontier) -> str:
    """Describe the figure in words: what it shows, then the numbers, the cheapest first."""
    unit = f", {result.score_unit}" if result.score_unit else ""
    lines = [
        f"{row.name} {amount(row.cost)}, {scaled(row.estimate, result.scale, 1)} "
        f"{interval(row.conf_low, row.conf_high, result.scale, 1)}, {_standing_words(row)}"
        for row in result.rows[:_READ]
    ]
    more = f" {len(result.rows) - _READ} more stand in the table." if len(result.rows) > _READ else ""
    return one_line(
        f"Score ({result.metric}{unit}) against {WORDS[result.cost]} of {plural(len(result.rows), 'system')}, "
        f"the cheapest first: {'; '.join(lines)}.{more}"
    )


def _standing_words(row: FrontierRow) -> str:
    if row.dominated_by:
        return "dominated"
    share = "" if row.share is None else f" in {share_words(row)} of resamples"
    return (
        f"on the frontier{share}" if row.on_frontier else f"behind the frontier, on it{share}" if share else "behind it"
    )


def _draw(result: Frontier, size: Size, medium: Medium, numbered: Sequence[int]) -> tuple[Figure, tuple[int, ...]]:
    """Draw the whole figure; return it with the places of the systems whose names found no room."""
    font = size.font
    keys = list(_key_lines(result, size, numbered))
    legend = list(_legend(result, size))
    top, bottom = font * (3.6 + 1.4 * legend[-1].row), font * (3.8 + 1.35 * len(keys))
    height = top + _PLOT_HEIGHT[medium] + bottom
    left, right = font * 3.4, size.width - font * 0.8
    figure = new_figure(size, height)
    box = (left, bottom, right, height - top)
    axes = untyped(figure).add_axes(
        (left / size.width, bottom / height, (right - left) / size.width, (height - top - bottom) / height)
    )
    canvas = _Canvas(
        axes=axes,
        size=size,
        height=height,
        box=box,
        xlim=_cost_limits(result),
        ylim=_score_limits(result),
        log=_is_log(result),
    )
    _draw_axes(canvas, result)
    _draw_line(canvas, result)
    for row in reversed(result.rows):
        _draw_system(canvas, result, row)
    unnamed = _name_systems(canvas, result, medium)
    _write_around(figure, canvas, result, keys)
    _write_legend(figure, canvas, legend)
    return figure, unnamed


def _is_log(result: Frontier) -> bool:
    costs = [row.cost for row in result.rows]
    return min(costs) > 0 and max(costs) > LOG_FROM * min(costs)


def _cost_limits(result: Frontier) -> tuple[float, float]:
    costs = [row.cost for row in result.rows]
    low = max(min(_ends(row.cost, row.cost_low)[0] for row in result.rows), min(costs) / _STRETCH)
    high = min(max(_ends(row.cost, row.cost_high)[1] for row in result.rows), max(costs) * _STRETCH)
    if _is_log(result):
        room = (high / low) ** 0.08
        return low / room, high * room
    room = 0.1 * (high - low) or 0.1 * high or 1.0
    return (0.0 if low < 2 * room else low - room), high + room


def _score_limits(result: Frontier) -> tuple[float, float]:
    """Return the scores at the lower and the upper end of the axis: the better one is above."""
    values = [
        value * result.scale
        for row in result.rows
        for value in (row.estimate, row.conf_low, row.conf_high)
        if value is not None
    ]
    room = 0.1 * (max(values) - min(values)) or 1.0
    low, high = min(values) - room, max(values) + room
    return (low, high) if result.higher_is_better else (high, low)


def _ends(middle: float, end: float | None) -> tuple[float, float]:
    other = middle if end is None else end
    return min(middle, other), max(middle, other)


def _draw_axes(canvas: _Canvas, result: Frontier) -> None:
    axes, font = canvas.axes, canvas.size.font
    if canvas.log:
        axes.set_xscale("log")
    axes.set_xlim(*canvas.xlim)
    axes.set_ylim(*canvas.ylim)
    axes.patch.set_visible(False)
    axes.spines[["right", "top"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LIGHT.line)
    few = 4 if canvas.size.stacked else 7
    if canvas.log:
        axes.xaxis.set_major_locator(FixedLocator(_log_ticks(*canvas.xlim, few)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=few, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(_tick)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(_tick)
    axes.tick_params(axis="both", length=0, pad=5, labelsize=font * 0.88, labelcolor=LIGHT.muted)
    axes.grid(color=LIGHT.line, linewidth=0.8)
    axes.set_axisbelow(True)
    log = ", log scale" if canvas.log else ""
    title = WORDS[result.cost].removesuffix(")")
    title = f"{title}{log})" if "(" in title else f"{title}{f' ({log[2:]})' if log else ''}"
    axes.set_xlabel(f"{title}, mean of an item", fontsize=font * 0.92, color=LIGHT.muted, labelpad=6, parse_math=False)


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers within an axis: 1, 2 and 5 of every power of ten, fewer where that is too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**power for power in powers for digit in digits if low <= digit * 10.0**power <= high]
        if len(ticks) <= most:
            return ticks
    step = math.ceil(len(powers) / most)
    return [10.0**power for power in powers if power % step == 0 and low <= 10.0**power <= high]


def _tick(value: float, _place: int | None = None) -> str:
    return "0" if value == 0 else f"{value:,.10g}" if abs(value) >= 1e-4 else f"{value:.0e}"


def _draw_line(canvas: _Canvas, result: Frontier) -> None:
    """Draw the frontier as stairs: what score is to be had up to a cost."""
    steps = sorted((row.cost, row.estimate * result.scale) for row in result.rows if row.on_frontier)
    xs, ys = [*(cost for cost, _ in steps), canvas.xlim[1]], [*(score for _, score in steps), steps[-1][1]]
    for (cost, score), (further, above) in pairwise(zip(xs, ys, strict=True)):
        (left, low), (right, high) = canvas.place(cost, score), canvas.place(further, above)
        canvas.taken += [(left, low - 1, right, low + 1), (right - 1, min(low, high), right + 1, max(low, high))]
    canvas.axes.plot(
        xs, ys, drawstyle="steps-post", color=LIGHT.good, linewidth=canvas.size.font * 0.1, alpha=0.45, zorder=1.5
    )


def _draw_system(canvas: _Canvas, result: Frontier, row: FrontierRow) -> None:
    axes, font = canvas.axes, canvas.size.font
    color, score = _COLORS[row.standing], row.estimate * result.scale
    thin = {"color": color, "linewidth": font * 0.1, "solid_capstyle": "butt", "zorder": 2, "alpha": 0.75}
    if row.cost_low is not None and row.cost_high is not None:
        axes.plot([max(row.cost_low, canvas.xlim[0]), row.cost_high], [score, score], **thin)
    if row.conf_low is not None and row.conf_high is not None:
        axes.plot([row.cost, row.cost], [row.conf_low * result.scale, row.conf_high * result.scale], **thin)
    axes.plot([row.cost], [score], zorder=3, **_marker(row.standing, font))
    x, y = canvas.place(row.cost, score)
    reach = font * 0.45
    canvas.taken.append((x - reach, y - reach, x + reach, y + reach))
    _keep_bars_clear(canvas, result, row)


def _keep_bars_clear(canvas: _Canvas, result: Frontier, row: FrontierRow) -> None:
    """Remember where the intervals run, so that no name stands across one."""
    thin = canvas.size.font * 0.12
    score = row.estimate * result.scale
    if row.cost_low is not None and row.cost_high is not None:
        low, high = max(row.cost_low, canvas.xlim[0]), min(row.cost_high, canvas.xlim[1])
        (left, y), (right, _) = canvas.place(low, score), canvas.place(high, score)
        canvas.taken.append((left, y - thin, right, y + thin))
    if row.conf_low is not None and row.conf_high is not None:
        ends = [canvas.place(row.cost, end * result.scale) for end in (row.conf_low, row.conf_high)]
        (x, one), (_, other) = ends
        canvas.taken.append((x - thin, min(one, other), x + thin, max(one, other)))


def _name_systems(canvas: _Canvas, result: Frontier, medium: Medium) -> tuple[int, ...]:
    """Write each name where there is room, those on the frontier first; return the places of those that got a number."""
    names = _names(result)
    order = sorted(range(len(result.rows)), key=lambda place: (_rank(result.rows[place]), place))
    unnamed: list[int] = []
    for place in order:
        row = result.rows[place]
        name = shortened(names[place], _MOST_LETTERS[medium])
        if not _write(canvas, result, row, name):
            unnamed.append(place)
    unnamed.sort()
    for number, place in enumerate(unnamed, start=1):
        _write(canvas, result, result.rows[place], f"{number}", anywhere=True)
    return tuple(unnamed)


def _names(result: Frontier) -> list[str]:
    """Names without the providers before their slashes, where they are different without them too."""
    short = [_PROVIDER.sub("", row.name) for row in result.rows]
    return short if len(set(short)) == len(short) else [row.name for row in result.rows]


def _rank(row: FrontierRow) -> int:
    return (0 if row.on_frontier else 1) + (2 if row.standing == "dominated" else 0)


def _write(canvas: _Canvas, result: Frontier, row: FrontierRow, text: str, *, anywhere: bool = False) -> bool:
    """Write a name beside its point at the first place where it crosses nothing; False where there is none."""
    font = canvas.size.font * 0.92
    width, height = _text_width(text, font) * (1.08 if row.on_frontier else 1.0), font * 1.15
    x, y = canvas.place(row.cost, row.estimate * result.scale)
    boxes = list(_places(x, y, width, height, font))
    free = [
        box for box in boxes if _inside(box, canvas.box) and not any(_crosses(box, other) for other in canvas.taken)
    ]
    if not free and not anywhere:
        return False
    box = free[0] if free else boxes[0]
    canvas.taken.append(box)
    # In shares of the figure, so that it stays there at any resolution.
    canvas.axes.text(
        box[0] / canvas.size.width,
        (box[1] + box[3]) / 2 / canvas.height,
        text,
        transform=canvas.axes.figure.transFigure,
        va="center",
        fontsize=font,
        color=LIGHT.ink if row.on_frontier else LIGHT.muted,
        weight="bold" if row.on_frontier else "normal",
        parse_math=False,
    )
    return True


def _places(x: float, y: float, width: float, height: float, font: float) -> Iterator[Box]:
    """Yield boxes about a point: to its upper right, upper left, lower right, lower left, then farther away."""
    for far in (0.35, 0.9, 1.6):
        gap = font * far
        for right, above in ((True, True), (False, True), (True, False), (False, False)):
            left = x + gap if right else x - gap - width
            bottom = y + gap * 0.6 if above else y - gap * 0.6 - height
            yield left, bottom, left + width, bottom + height


def _inside(box: Box, frame: Box) -> bool:
    return frame[0] <= box[0] and frame[1] <= box[1] and box[2] <= frame[2] + 4 and box[3] <= frame[3] + 4


def _crosses(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _key_lines(result: Frontier, size: Size, numbered: Sequence[int]) -> Iterator[str]:
    """Put the names of numbered systems into as few lines as the width allows."""
    line, names = "", _names(result)
    most = int(size.width / (size.font * 0.88 * _EM)) - 5
    for number, place in enumerate(numbered, start=1):
        entry = f"{number} {shortened(names[place], most)}"
        joined = f"{line}    {entry}" if line else entry
        if line and _text_width(joined, size.font * 0.88) > size.width - 2 * size.font:
            yield line
            joined = entry
        line = joined
    if line:
        yield line


def _write_around(figure: Figure, canvas: _Canvas, result: Frontier, keys: Sequence[str]) -> None:
    """Write what the score is above the axes, and the names of numbered systems below."""
    size, font, height = canvas.size, canvas.size.font, canvas.height
    unit = f" ({result.score_unit})" if result.score_unit else ""
    direction = "" if result.higher_is_better else ", less is better: the axis is turned over"
    write = untyped(figure).text
    most = int((size.width - font) / (font * 0.92 * _EM))
    title = shortened(f"{result.metric}{unit}{direction}, {100 * result.conf_level:g}% intervals both ways", most)
    write(0.0, 1 - 0.9 * font / height, title, fontsize=font * 0.92, color=LIGHT.muted, va="center", parse_math=False)
    for place, line in enumerate(keys):
        up = (font * 1.35 * (len(keys) - place) - font * 0.6) / height
        write(0.0, up, line, fontsize=font * 0.88, color=LIGHT.muted, va="center", parse_math=False)


def _legend(result: Frontier, size: Size) -> Iterator[_Entry]:
    """Yield what the kinds of points mean that are there, in as many rows as the width asks for."""
    x, row = 0.0, 0
    for standing, words in _LEGEND.items():
        if not any(each.standing == standing for each in result.rows):
            continue
        width = _text_width(words, size.font * 0.88) + size.font * 2.4
        if x and x + width > size.width:
            x, row = 0.0, row + 1
        yield _Entry(standing=standing, words=words, left=x, row=row)
        x += width


def _write_legend(figure: Figure, canvas: _Canvas, entries: Sequence[_Entry]) -> None:
    size, font = canvas.size, canvas.size.font
    for entry in entries:
        up = 1 - font * (2.5 + 1.4 * entry.row) / canvas.height
        place = (entry.left + font * 0.5) / size.width
        mark = Line2D([place], [up], transform=untyped(figure).transFigure, **_marker(entry.standing, font))
        untyped(figure).add_artist(mark)
        left = (entry.left + font * 1.3) / size.width
        untyped(figure).text(left, up, entry.words, fontsize=font * 0.88, color=LIGHT.ink, va="center")


def _marker(standing: Standing, font: float) -> dict[str, Any]:
    """Return how a point of a kind looks: hollow where nothing is settled, small where it is dominated."""
    color = _COLORS[standing]
    return {
        "marker": "o",
        "markersize": font * (0.5 if standing == "dominated" else 0.72),
        "markerfacecolor": LIGHT.surface if standing == "open" else color,
        "markeredgecolor": color,
        "markeredgewidth": font * 0.13,
        "linestyle": "none",
    }


def _text_width(text: str, font: float) -> float:
    return font * sum(1.05 if unicodedata.east_asian_width(char) in "WF" else _EM for char in text)
