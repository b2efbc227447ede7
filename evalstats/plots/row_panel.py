"""A figure of rows: a name, a panel of marks, and columns of words beside it; on a phone the words stand above the marks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Transform, blended_transform_factory

from evalstats.document.numbers import MINUS
from evalstats.plots.lettering import fitted, fitted_names, text_width
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

_BOLD = 1.08  # bold letters are wider by this
_SMALL = 0.88
_NAMES, _MARKED = 0.34, 0.3  # shares of the width: what names may take at most, what marks get at least
_PAPER_ROW, _PAPER_HEIGHT = 14.5, 585.0  # all rows on one page of paper, few ones near the words that they belong to
_PHONE_ROW = 58.0
_MARKS = 0.3  # how far below the middle of a phone's row its marks stand


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelRow:
    """One line: a name and the words of every column; `line` is all of them for a phone. A `heading` has a name alone."""

    name: str
    words: tuple[str, ...] = ()
    line: str = ""
    strong: bool = False
    faint: bool = False
    heading: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPanel:
    """The panel that marks are drawn into; rows are counted downwards from 0."""

    axes: Any
    size: Size
    left: float
    right: float
    across: Transform

    def level(self, place: int) -> float:
        """Return where the marks of a row stand."""
        return place + (_MARKS if self.size.stacked else 0.0)

    def half(self, letters: float) -> float:
        """Return a height in letters as a share of a row."""
        return letters * self.size.font / self.size.row

    def text(self, x: float, row: float, text: str, *, align: str = "left", small: bool = False, **style: Any) -> None:
        """Write at a pixel across the figure and a row down, never as mathematics."""
        font = self.size.font * (_SMALL if small else 1)
        style = {"color": LIGHT.ink, "va": "center_baseline", "fontsize": font, **style}
        self.axes.text(x / self.size.width, row, text, transform=self.across, ha=align, parse_math=False, **style)


def row_figure(
    rows: Sequence[PanelRow],
    draw: Callable[[RowPanel], None],
    *,
    title: str,
    columns: Sequence[str],
    limits: tuple[float, float],
    ticks: Sequence[float] | None = None,
    medium: Medium = "screen",
) -> Figure:
    """Return a figure of rows with names, marks and words.

    Parameters
    ----------
    rows
        From top to bottom.
    draw
        Draws the marks into the panel.
    title
        What the panel shows, above it.
    columns
        Headings of the columns of words; not shown on a phone, where words explain themselves.
    limits
        Ends of the panel's axis.
    ticks
        Where the axis is marked; by itself at round numbers.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there are no rows.
    """
    if not rows:
        message = "a figure of rows needs at least one row"
        raise ValueError(message)
    size = _size(len(rows), medium)
    ends = _column_ends(rows, columns, size)
    with house_style():
        figure, panel = _panel(rows, ends, columns, size)
        panel.axes.set_xlim(*limits)
        _draw_ground(panel, rows, ticks)
        _write_headings(panel, title, columns, ends)
        room = (size.width - 8) / _BOLD if size.stacked else panel.left - 1.6 * size.font
        names = iter(fitted_names([row.name for row in rows if not row.heading], room / _BOLD, size.font))
        for place, row in enumerate(rows):
            _write_row(panel, place, row, row.name if row.heading else next(names), ends)
        draw(panel)
    return figure


def _size(n_rows: int, medium: Medium) -> Size:
    size = SIZES[medium]
    if medium == "phone":
        return replace(size, row=_PHONE_ROW)
    if medium == "screen":
        return replace(size, row=28.0 if n_rows <= 15 else 24.0 if n_rows <= 30 else 20.0)
    row = min(_PAPER_ROW, _PAPER_HEIGHT / n_rows)
    return replace(size, row=row, font=min(size.font, row * 0.82))


def _column_ends(rows: Sequence[PanelRow], columns: Sequence[str], size: Size) -> list[float]:
    """Return the right edges of the columns of words, in pixels across the figure."""
    if size.stacked:
        return []
    ends: list[float] = []
    right = size.width - 2
    for place in reversed(range(len(columns))):
        ends.append(right)
        right -= _column_width(rows, columns, place, size)
    return ends[::-1]


def _column_width(rows: Sequence[PanelRow], columns: Sequence[str], place: int, size: Size) -> float:
    words = [row.words[place] for row in rows if place < len(row.words)]
    widest = max((text_width(word, size.font) for word in words), default=0.0)
    return max(widest, text_width(columns[place], _SMALL * size.font) * _BOLD) + 1.1 * size.font


def _panel(
    rows: Sequence[PanelRow], ends: Sequence[float], columns: Sequence[str], size: Size
) -> tuple[Figure, RowPanel]:
    font = size.font
    top, bottom = 3.4 * font, 1.9 * font
    height = top + bottom + size.row * len(rows)
    left, right = 6.0, size.width - 8.0
    if not size.stacked:
        named = [text_width(row.name, font) * _BOLD for row in rows if not row.heading]
        right = size.width - 2 - sum(_column_width(rows, columns, place, size) for place in range(len(ends)))
        right -= 0.3 * font
        most = max(min(_NAMES * size.width, right - _MARKED * size.width), 8 * font)
        left = min(max(named, default=0.0), most) + 1.6 * font
    figure = new_figure(size, height)
    tall = size.row * len(rows)
    box = (left / size.width, bottom / height, (right - left) / size.width, tall / height)
    axes = untyped(figure).add_axes(box, label="rows")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.patch.set_visible(False)
    axes.set_yticks([])
    axes.spines[["left", "right", "top", "bottom"]].set_visible(False)
    axes.tick_params(axis="x", length=0, pad=4, labelsize=font * 0.86, labelcolor=LIGHT.muted)
    axes.tick_params(axis="x", labeltop=True, labelbottom=len(rows) > 12)
    across = blended_transform_factory(figure.transFigure, axes.transData)
    return figure, RowPanel(axes=axes, size=size, left=left, right=right, across=across)


def _draw_ground(panel: RowPanel, rows: Sequence[PanelRow], ticks: Sequence[float] | None) -> None:
    """Draw the grid behind the marks of every row, never across words."""
    axes, low_high = panel.axes, sorted(panel.axes.get_xlim())
    found = MaxNLocator(nbins=4 if panel.size.stacked else 6, steps=[1, 2, 2.5, 5, 10]).tick_values(*low_high)
    wanted = list(found) if ticks is None else list(ticks)
    shown = [float(tick) for tick in wanted if low_high[0] <= tick <= low_high[1]]
    axes.set_xticks(shown, [tick_words(tick) for tick in shown])
    half = 0.15 if panel.size.stacked else 0.5
    levels = [panel.level(place) for place, row in enumerate(rows) if not row.heading]
    xs = [tick for tick in shown for _ in levels]
    starts, ends = [level - half for _ in shown for level in levels], [level + half for _ in shown for level in levels]
    axes.vlines(xs, starts, ends, color=LIGHT.line, linewidth=0.8, zorder=0.5)


def tick_words(value: float) -> str:
    """Write a number at an axis.

    Examples
    --------
    >>> tick_words(-20.0), tick_words(0.5)
    ('−20', '0.5')
    """
    return f"{value:g}".replace("-", MINUS)


def _write_headings(panel: RowPanel, title: str, columns: Sequence[str], ends: Sequence[float]) -> None:
    size = panel.size
    row = -0.5 - 2.45 * size.font / size.row
    style: dict[str, Any] = {"small": True, "color": LIGHT.muted, "weight": "bold"}
    font = _SMALL * size.font
    heads = [end - text_width(name, font) * _BOLD for name, end in zip(columns, ends, strict=False) if name]
    room = min([*heads, size.width]) - panel.left - font
    panel.text(panel.left, row, fitted(title, room / _BOLD, font), **style)
    for name, end in zip(columns, ends, strict=False):
        panel.text(end, row, name, align="right", **style)


def _write_row(panel: RowPanel, place: int, row: PanelRow, name: str, ends: Sequence[float]) -> None:
    size = panel.size
    weight = "bold" if row.strong or row.heading else "normal"
    color = LIGHT.muted if row.faint else LIGHT.ink
    if row.heading:
        panel.text(0, place + 0.08, fitted(name, (size.width - 8) / _BOLD, size.font), weight=weight)
        return
    if size.stacked:
        panel.text(0, place - 0.3, name, weight=weight, color=color)
        panel.text(0, place - 0.01, fitted(row.line, (size.width - 8) / _BOLD, _SMALL * size.font), small=True)
        return
    panel.text(0, place, name, weight=weight, color=color)
    for word, end in zip(row.words, ends, strict=False):
        panel.text(end, place, word, align="right", weight=weight, color=color)
