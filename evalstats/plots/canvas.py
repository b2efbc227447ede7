"""Where a figure is drawn: a sheet of its own or somebody's axes, in pixels from the top left, in the colours of its ground."""

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, inf, log10
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from evalstats.document.numbers import MINUS
from evalstats.errors import InputError
from evalstats.plots.style import LIGHT, Medium, Palette, Tooltip, house_style, palette_on, untyped
from evalstats.plots.text import Box, Room, rooms, text_width
from evalstats.record import record

Tone = Literal["plain", "good", "bad", "caution", "neutral"]
Extent = float | tuple[float, float] | Medium | None
Segment = tuple[tuple[float, float], tuple[float, float]]

SMALL = 0.88
_WIDTH = 8.0  # inches of a figure without a size
_EDGE = 7.0  # pixels around a figure of its own; a page has its own margins
_SMALLER, _SMALLEST = 0.92, 1.0  # steps in which letters get smaller, and where that ends
_NARROW = 40.0  # letters' heights across below which words stand above marks and not beside them
# Width and letters of the pages' three sizes in pixels, and how tall the last may become: one page of paper.
_PAGES: dict[Medium, tuple[float, float, float | None]] = {
    "screen": (860.0, 13.5, None),
    "phone": (340.0, 13.0, None),
    "print": (482.0, 8.6, 585.0),
}


class ShownFigure(Figure):
    """A figure that shows itself in a notebook, whether or not anybody has called on pyplot.

    `tooltips` is what its marks say in words, for pages that answer a pointer.
    """

    tooltips: list[Tooltip]

    def __init__(self, *args: Any, **options: Any) -> None:
        untyped(super()).__init__(*args, **options)
        self.tooltips = []

    def suptitle(self, t: str, **options: Any) -> Any:
        """Write a title above all that is drawn."""
        return untyped(super()).suptitle(t, **{"y": 1.0, "verticalalignment": "bottom", **options})

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save the figure, with the titles and labels that were set around it."""
        with house_style(followed=True):
            if options.get("bbox_inches") is None and untyped(mpl.rcParams)["savefig.bbox"] is None:
                around = untyped(self).get_tightbbox().padded(0.5 * _EDGE / 72)
                options["bbox_inches"] = Bbox.union([untyped(self).bbox_inches, around])
            untyped(super()).savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=144)
        return buffer.getvalue()


class _TooTallError(Exception):
    """What is to be drawn finds no room in the height that is given."""


@record
class Sheet:
    """The room for a figure, in pixels (1/72 inch): `height` where it is given, `tallest` where it has a limit.

    `edge` is left free around it. A `loose` one is drawn on though its height is too small.
    """

    width: float
    font: float
    height: float | None
    tallest: float | None
    colors: Palette
    axes: Any = None
    edge: float = 0.0
    stacked: bool = False
    loose: bool = False

    @property
    def narrow(self) -> bool:
        """Whether words stand above marks and not beside them."""
        return self.stacked or self.width < _NARROW * self.font

    @property
    def most(self) -> float | None:
        """How tall the figure may become; None where nothing limits it."""
        return self.height if self.height is not None else self.tallest

    @property
    def half(self) -> float | None:
        """What half a page of paper leaves a figure below its heading; None where it is not drawn for paper."""
        return None if self.tallest is None else 0.47 * self.tallest

    def canvas(self, height: float) -> "Canvas":
        """Return the canvas, `height` pixels tall where no height is given; _TooTallError where that is less."""
        if self.height is not None and height > self.height + 0.5 and not self.loose:
            raise _TooTallError
        height = self.height or height
        base = self.axes
        if base is None:
            wide, tall = self.width + 2 * self.edge, height + 2 * self.edge
            figure = ShownFigure(figsize=(wide / 72, tall / 72), facecolor=self.colors.surface)
            box = (self.edge / wide, self.edge / tall, self.width / wide, height / tall)
            base = untyped(figure).add_axes(box)
        # Not switched off: labels that somebody sets are seen.
        base.set_frame_on(False)
        base.set_xticks([])
        base.set_yticks([])
        base.set_xlim(0, self.width)
        base.set_ylim(height, 0)
        return Canvas(
            base=base,
            width=self.width,
            height=height,
            font=self.font,
            colors=self.colors,
            narrow=self.narrow,
            edge=self.edge,
        )


@record
class Canvas:
    """Axes without a frame whose units are pixels from the top left."""

    base: Any
    width: float
    height: float
    font: float
    colors: Palette
    narrow: bool
    edge: float = 0.0

    @property
    def figure(self) -> Figure:
        """The figure that all is drawn in."""
        return self.base.figure

    def tone(self, tone: str) -> str:
        """Return the colour of a tone; that of "plain" is ink."""
        return tone_color(self.colors, tone)

    def text(self, x: float, y: float, words: str, *, align: str = "left", letters: float = 1.0, **style: Any) -> None:
        """Write at a pixel, never as mathematics."""
        if words:
            style = {"color": self.colors.ink, "va": "center_baseline", **style}
            self.base.text(x, y, words, ha=align, fontsize=letters * self.font, parse_math=False, **style)

    def small_lines(self, lines: Sequence[str], y: float, *, step: float = 1.25, **style: Any) -> None:
        """Write lines of small muted words below each other from the left edge, the first one at `y`."""
        for down, words in enumerate(lines):
            at = y + step * SMALL * self.font * down
            self.text(0, at, words, letters=SMALL, **{"color": self.colors.muted, **style})

    def line(self, xs: Sequence[float], ys: Sequence[float], **style: Any) -> None:
        """Draw a line between pixels."""
        self.base.plot(xs, ys, **{"solid_capstyle": "butt", "clip_on": False, **style})

    def tooltip(
        self,
        name: str,
        words: str,
        box: Room,
        mark: float | None = None,
        also: Room | None = None,
    ) -> None:
        """Say what a mark within the box (left, top, width, height) shows; on somebody else's axes nothing would show it.

        `mark` is where the mark stands across the canvas, `also` where its name stands apart from it.
        """
        if not isinstance(self.figure, ShownFigure):
            return
        boxes = [box, *([also] if also else [])]
        left, right = min(each[0] for each in boxes), max(each[0] + each[2] for each in boxes)
        mark = box[0] + box[2] / 2 if mark is None else mark
        tooltip = Tooltip(
            name=name,
            words=words,
            left=box[0] + self.edge,
            top=box[1] + self.edge,
            width=box[2],
            height=box[3],
            mark=min(max((mark - left) / ((right - left) or 1.0), 0.0), 1.0),
            also=None if also is None else (also[0] + self.edge, also[1] + self.edge, also[2], also[3]),
        )
        self.figure.tooltips.append(tooltip)

    def tooltips(
        self,
        said: Sequence[tuple[str, str]],
        points: Sequence[tuple[float, float]],
        frame: Box,
        reach: tuple[float, float],
        also: Sequence[Room | None] = (),
    ) -> None:
        """Say what points show, given their names and words; each answers within `reach`, halfway to its neighbours."""
        boxes = rooms(points, frame, reach)
        for place, ((name, words), (x, _), box) in enumerate(zip(said, points, boxes, strict=True)):
            self.tooltip(name, words, box, x, also[place] if also else None)

    def graph(
        self,
        box: Box,
        across: tuple[float, float],
        up: tuple[float, float],
        *,
        most: int = 6,
        write: Callable[[float], str] | None = None,
        log: bool = False,
        label: str = "",
    ) -> tuple[Any, float]:
        """Return axes within a box (left, top, right, bottom), numbers upwards written left of them, and where they begin."""
        left, top, right, bottom = box
        ticks = round_ticks(*up, most)
        words = [(write or tick_words)(tick) for tick in ticks]
        inner = left + max(text_width(each, SMALL * self.font) for each in words) + 0.6 * self.font
        axes = self.panel(inner, top, right, bottom, label)
        if log:
            axes.set_xscale("log")
        axes.set_xlim(*across)
        axes.set_ylim(*up)
        set_ticks(axes, "y", ticks, words)
        axes.grid(axis="y", color=self.colors.line, linewidth=0.06 * self.font)
        return axes, inner

    def panel(self, left: float, top: float, right: float, bottom: float, label: str = "") -> Any:
        """Return axes of their own within the canvas, without a frame and without ticks."""
        box = (left / self.width, 1 - bottom / self.height, (right - left) / self.width, (bottom - top) / self.height)
        axes = self.base.inset_axes(box)
        axes.set_label(label)
        axes.patch.set_visible(False)
        axes.spines[["left", "right", "top", "bottom"]].set_visible(False)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.tick_params(length=0, pad=0.3 * self.font, labelsize=SMALL * self.font, labelcolor=self.colors.muted)
        axes.set_axisbelow(True)
        return axes


def sheet_of(ax: Any = None, size: Extent = None) -> Sheet:
    """Return the room for a figure: within `ax`, else of `size` inches, or one of the three sizes of a page.

    Letters and colours are those of matplotlib's settings, on a page the page's; colours read on the figure's ground.
    """
    settings = untyped(mpl.rcParams)
    ground = settings["figure.facecolor"] if ax is None else ax.get_figure(root=True).get_facecolor()
    # A clear ground is taken for a light one.
    surface = to_hex(ground) if to_rgba(ground)[3] else LIGHT.surface
    colors, letters = palette_on(surface, to_hex(settings["text.color"])), settings["font.size"]
    if ax is not None:
        width, height = _extent_of(ax, ax.get_position())
        font = min(letters, max(width / 28, 5.0))
        return Sheet(width=width, font=font, height=height, tallest=None, colors=colors, axes=ax)
    if isinstance(size, str):
        width, font, tallest = _PAGES[size]
        return Sheet(width=width, font=font, height=None, tallest=tallest, colors=LIGHT)
    width, height = size if isinstance(size, tuple) else (size or _WIDTH, None)
    return Sheet(
        width=width * 72 - 2 * _EDGE,
        font=min(letters, max(width * 72 / 26, 5.0)),
        height=None if height is None else height * 72 - 2 * _EDGE,
        tallest=None,
        colors=colors,
        edge=_EDGE,
    )


def _extent_of(ax: Any, box: Any) -> tuple[float, float]:
    """Return width and height of axes that take a box of their figure, in pixels of 1/72 inch."""
    corners = box.transformed(ax.figure.transSubfigure)
    return corners.width * 72 / ax.figure.dpi, corners.height * 72 / ax.figure.dpi


def _contents(ax: Any) -> list[Any]:
    return [*ax.lines, *ax.texts, *ax.collections, *ax.patches, *ax.artists, *ax.child_axes]


class _Layout:
    """Where axes stand, as they ask for it whenever they are drawn; what we drew in them is drawn anew where their size changed.

    So a figure may be resized, and axes moved by a layout engine. A figure that is pickled keeps its size.
    """

    def __init__(self, base: Any, draw: Callable[[Sheet], Canvas], others: Sequence[Any]) -> None:
        self.within, self.draw = base.get_axes_locator(), draw
        self.get_subplotspec = base.get_subplotspec  # tight_layout asks a locator
        self.extent = _extent_of(base, base.get_position())
        self.drawn = [each for each in _contents(base) if each not in others]

    def __call__(self, ax: Any, renderer: Any) -> Any:
        box = self.within(ax, renderer) if self.within is not None else ax.get_position(original=True)
        extent = _extent_of(ax, box)
        if max(abs(now - was) for now, was in zip(extent, self.extent, strict=True)) > 1 < min(extent):
            for artist in self.drawn:
                artist.remove()
            ax.set_axes_locator(self.within)
            self.extent, others = extent, _contents(ax)
            with house_style(followed=True):
                _within(replace(sheet_of(ax), width=extent[0], height=extent[1]), self.draw)
            self.drawn = [each for each in _contents(ax) if each not in others]
            ax.set_axes_locator(self)
        return box

    def __reduce__(self) -> Any:
        return type(None), ()


def _within(sheet: Sheet, draw: Callable[[Sheet], Canvas]) -> Canvas:
    """Draw within a sheet; letters get smaller until all finds room in a height that is given."""
    if isinstance(getattr(sheet.axes, "figure", None), ShownFigure):
        sheet.axes.figure.tooltips = []
    while True:
        try:
            return draw(sheet)
        except _TooTallError:
            font = _SMALLER * sheet.font
            sheet = replace(sheet, font=font, loose=font < _SMALLEST)


def drawn(ax: Any, size: Extent, draw: Callable[[Sheet], Canvas]) -> Figure:
    """Call `draw` with the room for a figure, and return the figure.

    One of a page is drawn under the project's settings. Any other follows matplotlib's, and is drawn anew when it gets
    another size.
    """
    if ax is not None and not isinstance(ax, Axes):
        raise InputError(f"ax is {ax!r}; give axes of matplotlib, such as those of plt.subplots()")
    page = ax is None and isinstance(size, str)
    with house_style(followed=not page):
        others = [] if ax is None else _contents(ax)
        base = _within(sheet_of(ax, size), draw).base
        if not page:
            base.set_axes_locator(_Layout(base, draw, others))
    return base.get_figure(root=True)


def tone_color(colors: Palette, tone: str) -> str:
    """Return the colour of a tone.

    >>> tone_color(LIGHT, "good") == LIGHT.good
    True
    """
    known: dict[str, str] = {
        "good": colors.good,
        "bad": colors.bad,
        "caution": colors.caution,
        "neutral": colors.neutral,
    }
    return known.get(tone, colors.ink)


# --- marks ---


def draw_segments(axes: Any, segments: Iterable[Segment], **style: Any) -> None:
    """Draw straight lines as one path: a drawing with thousands of marks stays small and is quick to draw.

    >>> axes = Figure().add_axes((0, 0, 1, 1))
    >>> draw_segments(axes, [((0, 0), (1, 1)), ((2, 0), (2, 1))])
    >>> len(axes.lines)
    1
    """
    across: list[float] = []
    along: list[float] = []
    for (x0, y0), (x1, y1) in segments:
        across += [x0, x1, float("nan")]
        along += [y0, y1, float("nan")]
    if across:
        axes.plot(across, along, **{"solid_capstyle": "butt", **style})


def point_style(colors: Palette, color: str, font: float, *, filled: bool = True, marker: str = "o") -> dict[str, Any]:
    """Return how a point looks: filled where its interval settles the question, else hollow."""
    return {
        "marker": marker,
        "markersize": 0.6 * font,
        "markerfacecolor": color if filled else colors.surface,
        "markeredgecolor": color,
        "markeredgewidth": 0.12 * font,
        "linestyle": "none",
        "clip_on": False,
    }


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend: a mark or a stroke, and what it means."""

    words: str
    style: dict[str, Any]
    stroke: bool = False


def key_rows(keys: Sequence[Key], width: float, font: float) -> list[list[tuple[Key, float]]]:
    """Return the entries of a legend with where each begins, in as many rows as the width asks for."""
    rows: list[list[tuple[Key, float]]] = []
    x = 0.0
    for key in keys:
        needed = text_width(key.words, SMALL * font) + (2.2 if key.stroke else 1.3) * font
        if not rows or x + needed > width:
            rows.append([])
            x = 0.0
        rows[-1].append((key, x))
        x += needed + 1.4 * font
    return rows


def draw_keys(canvas: Canvas, rows: Sequence[Sequence[tuple[Key, float]]], top: float) -> None:
    """Draw a legend from `top` downwards, 1.5 letters' heights a row."""
    font = canvas.font
    for down, row in enumerate(rows):
        y = top + (0.75 + 1.5 * down) * font
        for key, x in row:
            wide = 1.7 * font if key.stroke else 0.8 * font
            xs = [x, x + wide] if key.stroke else [x + wide / 2]
            style: dict[str, Any] = {**key.style, "clip_on": False}
            canvas.base.add_line(Line2D(xs, [y] * len(xs), **style))
            canvas.text(x + wide + 0.5 * font, y, key.words, letters=SMALL)


# --- axes ---


def tick_words(value: float, *, sign: bool = False) -> str:
    """Write a number at an axis.

    >>> tick_words(-20.0), tick_words(0.5, sign=True), tick_words(20000)
    ('−20', '+0.5', '20,000')
    """
    text = f"{value:,.10g}" if value == 0 or 1e-4 <= abs(value) < 1e15 else f"{value:.0e}"
    return f"+{text}" if sign and value > 0 else text.replace("-", MINUS)


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers within an axis.

    >>> round_ticks(-3, 103)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    """
    low, high = sorted((low, high))
    found = MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(tick) + 0.0 for tick in found if low <= tick <= high]


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers within a logarithmic axis: all digits of every power of ten, fewer where that is too many.

    >>> log_ticks(430, 6900), log_ticks(1, 500), log_ticks(0.96, 4.2)
    ([500.0, 1000.0, 2000.0, 5000.0], [1.0, 3.0, 10.0, 30.0, 100.0, 300.0], [1.0, 2.0, 3.0, 4.0])
    """
    low, high = sorted((low, high))
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for digits in (range(1, 10), (1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if 2 <= len(inside) <= most:
            return inside
    step = ceil(len(powers) / most)
    inside = [10.0**power for power in powers if power % step == 0 and low <= 10.0**power <= high]
    if len(inside) > 1:
        return inside
    # Less than a power of ten: round numbers of an ordinary axis.
    return [tick for tick in round_ticks(low, high, most) if tick > 0] or [low, high]


def limits_of(values: Iterable[float | None], room: float = 0.05) -> tuple[float, float]:
    """Return the ends of an axis that holds all values with some room.

    >>> limits_of([0.0, None, 100.0])
    (-5.0, 105.0)
    >>> limits_of([])
    (0.0, 1.0)
    """
    known = [value for value in values if value is not None]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    wide = room * (high - low) or 0.1 * abs(high) or 1.0
    return low - wide, high + wide


def set_ticks(axes: Any, which: Literal["x", "y"], ticks: Sequence[float], words: Sequence[str]) -> None:
    """Write these numbers at an axis and no others."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_ticklabels(list(words))


def kept_apart(
    ticks: Sequence[float],
    words: Sequence[str],
    at: Callable[[float], float],
    font: float,
    *,
    gap: float,
    within: tuple[float, float] = (-inf, inf),
) -> list[int]:
    """Return which numbers of an axis are written: all within its room, but for those nearer than `gap` to the one before.

    `at` gives the pixel of a number.
    """
    kept: list[int] = []
    edge, end = within
    for place in sorted(range(len(ticks)), key=lambda each: at(ticks[each])):
        middle, half = at(ticks[place]), text_width(words[place], font) / 2
        if middle - half >= edge and middle + half <= end:
            kept.append(place)
            edge = middle + half + gap
    return kept
