"""A figure of rows: a name, panels of marks, and columns of words beside them; on narrow sheets words stand above the marks."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from evalstats.plots.canvas import (
    SMALL,
    Canvas,
    Extent,
    Sheet,
    draw_segments,
    drawn,
    kept_apart,
    round_ticks,
    set_ticks,
    tick_words,
)
from evalstats.plots.frame import Columns
from evalstats.plots.text import fitted, fitted_names, text_width, wrapped
from evalstats.record import record

_LEAST_NAMES = 9.0  # letters' heights that names need beside marks
# Shares of the width: what names may take at most and what a panel gets at least; and where all names then stand whole.
_NAMES, _MARKED = 0.36, 0.24
_WHOLE_NAMES, _MARKED_LEAST = 0.42, 0.16
_GAP = 1.1  # between columns, in letters' heights
_ROW, _HEADING = 2.15, 1.9  # heights in letters' heights
_BESIDE, _BELOW = 3.1, 4.2  # of a row whose words stand above its marks: beside its name, or below it
# So dense may rows be, and so small letters, where a figure then finds room on half a page of paper.
_DENSE, _LETTERS = 0.7, (1.0, 0.93, 0.86, 0.8)
_SMALLER, _SMALLEST = 0.92, 1.5  # steps in which letters get smaller where a height is given, and where that ends
# By what factor rows may become lower (with words above their marks, and beside them), and higher where a height is given: a name
# stays near its mark.
_LOWEST_STACKED, _LOWEST, _HIGHEST_STACKED, _HIGHEST = 0.95, 0.58, 1.3, 2.0


@record
class Line:
    """A row: its name, with a muted `detail` beside it. A `heading` has a name alone.

    `says` is what the row tells a pointer, by itself the words beside its marks; `value` is where on the first panel it is told.
    """

    name: str
    detail: str = ""
    strong: bool = False
    faint: bool = False
    heading: bool = False
    says: str = ""
    value: float | None = None


@record
class Words:
    """A column of words, one for each line; `tones` colours them."""

    texts: Sequence[str]
    heading: str = ""
    tones: Sequence[str] = ()

    def wide(self, font: float) -> float:
        """Return its width in pixels."""
        widest = max((text_width(text, font, bold=True) for text in self.texts), default=0.0)
        return max(widest, text_width(self.heading, SMALL * font, bold=True))


@record
class Marks:
    """A panel: its title, its axis, and who draws into it.

    `sides` are written below it, left and right of `zero`. `grid` is where thin lines stand behind the marks.
    """

    draw: "Callable[[MarkPanel], None]"
    title: str
    limits: tuple[float, float]
    ticks: Sequence[float] | None = None
    write: Callable[[float], str] = tick_words
    share: float = 1.0
    zero: float | None = None
    sides: tuple[str, str] = ("", "")
    side_tones: tuple[str, str] = ("bad", "good")
    band: tuple[float, float] | None = None
    log: bool = False


@record
class MarkPanel:
    """Axes whose heights are pixels from their top; `levels` has the middle of the marks of each line."""

    axes: Any
    canvas: Canvas
    levels: Sequence[float]
    left: float
    right: float

    @property
    def font(self) -> float:
        """The height of letters."""
        return self.canvas.font

    def interval(self, place: int, low: float, high: float, *, color: str, thick: float = 0.15, **style: Any) -> None:
        """Draw an interval with caps."""
        level, cap = self.levels[place], 0.32 * self.font
        line = {"color": color, "zorder": 2, **style}
        self.axes.plot([low, high], [level, level], linewidth=thick * self.font, solid_capstyle="butt", **line)
        self.axes.vlines(
            [low, high], level - cap, level + cap, color=color, linewidth=0.75 * thick * self.font, zorder=2
        )

    def point(self, place: int, value: float, **style: Any) -> None:
        """Draw a point."""
        self.axes.plot([value], [self.levels[place]], **{"linestyle": "none", "clip_on": False, "zorder": 3, **style})

    def bar(self, place: int, low: float, high: float, half: float, **style: Any) -> None:
        """Draw a bar of twice `half` letters' heights."""
        level = self.levels[place]
        look = {"linewidth": 0, "zorder": 1.5, **style}
        self.axes.fill_betweenx([level - half * self.font, level + half * self.font], low, high, **look)

    def pixel(self, value: float) -> float:
        """Return where a value stands across the canvas."""
        low, high = self.axes.get_xlim()
        return self.left + (value - low) / (high - low) * (self.right - self.left)


@record
class _Layout:
    """Where columns end and rows begin, in pixels."""

    edges: tuple[tuple[float, float], ...]
    names: float
    tops: tuple[float, ...]
    heights: tuple[float, ...]
    beside: bool
    titles: tuple[tuple[float, tuple[str, ...]], ...]
    titled: float
    head: float
    foot: float

    @property
    def bottom(self) -> float:
        """The lower edge of the last row."""
        return self.tops[-1] + self.heights[-1]

    def lowered(self, by: float) -> "_Layout":
        """Return the layout further down: where a height is given, few rows stand in its middle."""
        return replace(self, tops=tuple(top + by for top in self.tops), titled=self.titled + by, head=self.head + by)


def row_figure(
    lines: Sequence[Line],
    columns: Sequence[Words | Marks],
    *,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Return a figure with a row for each line: names, then columns of words and marks from left to right.

    `note` is a line below the rows.
    """
    return drawn(ax, size, lambda sheet: _row_canvas(sheet, lines, columns, note))


def grouped_lines(groups: Sequence[str], lines: Sequence[Line]) -> tuple[list[Line], list[int]]:
    """Return the lines with a heading above those of each group, and where each line then stands."""
    headed: list[Line] = []
    at: list[int] = []
    for place, (group, line) in enumerate(zip(groups, lines, strict=True)):
        if group and (place == 0 or group != groups[place - 1]):
            headed.append(Line(name=group, heading=True))
        at.append(len(headed))
        headed.append(line)
    return headed, at


def word_column(texts: Sequence[str], at: Sequence[int], n: int, heading: str = "", tones: Sequence[str] = ()) -> Words:
    """Return a column of words for `n` lines of which those `at` the places given have texts."""
    column, colors = [""] * n, ["plain"] * n
    for row, place in enumerate(at):
        column[place] = texts[row]
        colors[place] = tones[row] if tones else "plain"
    return Words(texts=column, heading=heading, tones=colors if tones else ())


def further_columns(table: Columns, columns: Mapping[str, str] | None, at: Sequence[int], n: int) -> list[Words]:
    """Return the columns of a frame that somebody wants to see beside the marks, under their headings."""
    for name in columns or {}:
        table.need(name)
    return [word_column(table.texts(name), at, n, heading) for name, heading in (columns or {}).items()]


def _row_canvas(sheet: Sheet, lines: Sequence[Line], columns: Sequence[Words | Marks], note: str) -> Canvas:
    if not sheet.narrow:
        stacked = replace(sheet, stacked=True)
        # On axes of a given height words go above marks, too, where names would be cut and rows find room.
        fits = sheet.height is not None and _scaled_sheet(stacked, lines, columns, note)[0].font == sheet.font
        sheet = stacked if _cramped(sheet, lines, columns, fits=fits) else sheet
    sheet, scale = _scaled_sheet(sheet, lines, columns, note)
    layout = _layout(sheet, lines, columns, scale)
    notes = wrapped(note, sheet.width, SMALL * sheet.font)
    height = layout.bottom + layout.foot + 1.25 * SMALL * sheet.font * len(notes)
    if sheet.height is not None and sheet.height > height:
        layout = layout.lowered((sheet.height - height) / 2)
    canvas = sheet.canvas(height)
    _write_names(canvas, lines, layout)
    if canvas.narrow:
        _write_joined(canvas, lines, columns, layout)
    for column, edge in zip(columns, layout.edges, strict=True):
        if isinstance(column, Words) and not canvas.narrow:
            _write_column(canvas, lines, column, edge, layout)
    marks = [(column, edge) for column, edge in zip(columns, layout.edges, strict=True) if isinstance(column, Marks)]
    panels: list[tuple[MarkPanel, Marks]] = []
    for (column, edge), (left, title) in zip(marks, layout.titles, strict=True):
        panels.append((_draw_marks(canvas, lines, column, edge, layout), column))
        bottom = layout.titled
        for up, words in enumerate(reversed(title)):
            level = bottom - 1.3 * SMALL * canvas.font * up
            canvas.text(left, level, words, letters=SMALL, weight="bold", color=canvas.colors.muted)
    # From the right: where two axes are too close for both, the end of one gives way to the beginning of the next.
    end = canvas.width + canvas.edge
    for panel, column in reversed(panels):
        end = _write_ticks(panel, column, len(lines), end)
    canvas.small_lines(notes, layout.bottom + layout.foot + 0.4 * SMALL * canvas.font)
    _add_tooltips(canvas, lines, columns, layout)
    return canvas


def _add_tooltips(canvas: Canvas, lines: Sequence[Line], columns: Sequence[Words | Marks], layout: _Layout) -> None:
    """Let every row answer a pointer with its numbers, beside its mark."""
    first = next(
        ((column, edge) for column, edge in zip(columns, layout.edges, strict=True) if isinstance(column, Marks)), None
    )
    for place, (line, top, height) in enumerate(zip(lines, layout.tops, layout.heights, strict=True)):
        if line.heading:
            continue
        parts = [f"{column.heading} {column.texts[place]}".strip() for column in _texts(columns) if column.texts[place]]
        mark = None
        if line.value is not None and first is not None and not first[0].log:
            (low, high), (left, right) = first[0].limits, first[1]
            mark = left + (line.value - low) / (high - low) * (right - left)
        canvas.tooltip(line.name, line.says or ", ".join(parts), (0.0, top, canvas.width, height), mark)


def _cramped(sheet: Sheet, lines: Sequence[Line], columns: Sequence[Words | Marks], *, fits: bool) -> bool:
    """Whether words leave so little beside them that names would lose what tells them apart; where it `fits`, any letter."""
    names = [line.name for line in lines if not line.heading]
    room, _ = _edges(sheet, lines, columns)
    details = max((text_width(f"  {line.detail}", SMALL * sheet.font) for line in lines if line.detail), default=0.0)
    if fits and any("…" in name.strip("…") for name in fitted_names(names, room - details, sheet.font)):
        return True
    widest = max((text_width(name, sheet.font) for name in names), default=0.0)
    return widest > _LEAST_NAMES * sheet.font > room


def _texts(columns: Sequence[Words | Marks]) -> list[Words]:
    return [column for column in columns if isinstance(column, Words) and any(column.texts)]


def _beside(sheet: Sheet, lines: Sequence[Line], columns: Sequence[Words | Marks]) -> bool:
    """Whether, on a narrow sheet, words find room on the right of names."""
    texts = _texts(columns)
    if len(texts) != 1:
        return not texts
    font = sheet.font
    return all(
        text_width(f"{line.name}   ", font, bold=line.strong) + text_width(words, font, bold=line.strong) < sheet.width
        for line, words in zip(lines, texts[0].texts, strict=True)
        if not line.heading
    )


def _row_height(sheet: Sheet, line: Line, *, beside: bool) -> float:
    if line.heading:
        return _HEADING + 1.25 * (len(wrapped(line.name, sheet.width, sheet.font, bold=True)) - 1)
    if not sheet.narrow:
        return _ROW
    return _BESIDE if beside else _BELOW


def _scaled_sheet(
    sheet: Sheet, lines: Sequence[Line], columns: Sequence[Words | Marks], note: str
) -> tuple[Sheet, float]:
    """Return the sheet with letters so small, and a factor for rows, that all finds room across and in a given height."""
    while sheet.font > _SMALLEST and not sheet.narrow and _edges(sheet, lines, columns)[1][-1][1] > sheet.width + 0.5:
        sheet = replace(sheet, font=_SMALLER * sheet.font)
    most = sheet.most
    if most is None:
        return sheet, 1.0

    def room(sheet: Sheet, tall: float) -> float:
        beside = _beside(sheet, lines, columns)
        rows = sum(_row_height(sheet, line, beside=beside) for line in lines) * sheet.font
        layout = _layout(sheet, lines, columns, 1.0)
        notes = 1.25 * SMALL * sheet.font * len(wrapped(note, sheet.width, SMALL * sheet.font))
        return (tall - layout.head - layout.foot - notes) / rows

    if sheet.half is not None:
        for letters in _LETTERS:
            smaller = replace(sheet, font=letters * sheet.font)
            if room(smaller, sheet.half) >= _DENSE:
                return smaller, min(room(smaller, sheet.half), 1.0)
    factor = 1.0
    while sheet.font > _SMALLEST:
        factor = room(sheet, most)
        least, highest = (_LOWEST_STACKED, _HIGHEST_STACKED) if sheet.narrow else (_LOWEST, _HIGHEST)
        if factor >= least:
            return sheet, min(factor, highest if sheet.height is not None else 1.0)
        sheet = replace(sheet, font=_SMALLER * sheet.font)
    return sheet, max(factor, 0.1)


def _layout(sheet: Sheet, lines: Sequence[Line], columns: Sequence[Words | Marks], scale: float) -> _Layout:
    font, beside = sheet.font, _beside(sheet, lines, columns)
    names, edges = _narrow_edges(sheet, columns) if sheet.narrow else _edges(sheet, lines, columns)
    titles = _titles(sheet, columns, edges)
    # Ticks stand between the titles and the rows.
    ticks = any(isinstance(column, Marks) and column.ticks != () for column in columns)
    titled = font * (1.3 * SMALL * max((len(words) for _, words in titles), default=0) - 0.15)
    head = titled + font * (2.35 if ticks else 0.8)
    n = len(lines)
    sides = any(isinstance(column, Marks) and any(column.sides) for column in columns)
    foot = font * ((1.5 if n > 12 else 0.3) + (1.4 if sides else 0.0))
    heights = tuple(scale * font * _row_height(sheet, line, beside=beside) for line in lines)
    tops = tuple(head + sum(heights[:place]) for place in range(n))
    return _Layout(
        edges=tuple(edges),
        names=names,
        tops=tops,
        heights=heights,
        beside=beside,
        titles=titles,
        titled=titled,
        head=head,
        foot=foot,
    )


def _edges(
    sheet: Sheet, lines: Sequence[Line], columns: Sequence[Words | Marks]
) -> tuple[float, list[tuple[float, float]]]:
    """Return the room for names, and where every column begins and ends."""
    font, gap = sheet.font, _GAP * sheet.font
    words = {id(column): column.wide(font) for column in columns if isinstance(column, Words)}
    marks = [column for column in columns if isinstance(column, Marks)]
    taken = sum(words.values()) + gap * len(columns)
    free = sheet.width - taken

    def most(share: float, marked: float) -> float:
        return max(min(share * sheet.width, free - marked * sheet.width * (1 + 0.5 * max(len(marks) - 1, 0))), 7 * font)

    whole = _names_width(lines, math.inf, font)
    room = most(_NAMES, _MARKED)
    names = whole if whole <= most(_WHOLE_NAMES, _MARKED_LEAST) else min(_names_width(lines, room, font), room)
    each = max((free - names) / sum(column.share for column in marks), 4 * font) if marks else 0.0
    edges: list[tuple[float, float]] = []
    x = names
    for column in columns:
        x += gap
        wide = each * column.share if isinstance(column, Marks) else words[id(column)]
        edges.append((x, x + wide))
        x += wide
    return names, edges


def _names_width(lines: Sequence[Line], room: float, font: float) -> float:
    """Return how wide names come out when they are cut to fit into `room`, with the details beside them."""
    plain = [line for line in lines if not line.heading]
    details = max((text_width(f"  {line.detail}", SMALL * font) for line in plain if line.detail), default=0.0)
    strong = any(line.strong for line in plain)
    names = fitted_names([line.name for line in plain], room - details, font, bold=strong)
    return max((text_width(name, font, bold=strong) for name in names), default=0.0) + details


def _narrow_edges(sheet: Sheet, columns: Sequence[Words | Marks]) -> tuple[float, list[tuple[float, float]]]:
    marks = [column for column in columns if isinstance(column, Marks)]
    gap = 1.4 * sheet.font
    room = sheet.width - gap * len(marks)
    edges: list[tuple[float, float]] = []
    x = 0.5 * gap
    for column in columns:
        wide = room * column.share / sum(each.share for each in marks) if isinstance(column, Marks) else 0.0
        edges.append((x, x + wide))
        x += wide + (gap if isinstance(column, Marks) else 0.0)
    return sheet.width, edges


def _titles(
    sheet: Sheet, columns: Sequence[Words | Marks], edges: Sequence[tuple[float, float]]
) -> tuple[tuple[float, tuple[str, ...]], ...]:
    """Return where the title of each panel begins, and its lines: over its own columns, or all over where it is long."""
    font = sheet.font
    found: list[tuple[float, tuple[str, ...]]] = []
    n_marks = sum(isinstance(column, Marks) for column in columns)
    for place, column in enumerate(columns):
        if not isinstance(column, Marks):
            continue
        left, right = edges[place][0], sheet.width
        for later, edge in zip(columns[place + 1 :], edges[place + 1 :], strict=True):
            if isinstance(later, Marks):
                right = edge[0] - font
                break
            if later.heading and not sheet.narrow:
                right = edge[1] - text_width(later.heading, SMALL * font, bold=True) - font
                break
        lines = wrapped(column.title, right - left, SMALL * font, bold=True)
        if len(lines) > 1 and n_marks == 1:
            whole = wrapped(column.title, sheet.width, SMALL * font, bold=True)
            headed = any(isinstance(each, Words) and each.heading for each in columns) and not sheet.narrow
            lines, left = [*whole, *([""] if headed else [])], 0.0
        found.append((left, tuple(lines)))
    return tuple(found)


# --- words ---


def _write_names(canvas: Canvas, lines: Sequence[Line], layout: _Layout) -> None:
    font, colors = canvas.font, canvas.colors
    plain = [line for line in lines if not line.heading]
    strong = any(line.strong for line in plain)
    details = max((text_width(f"  {line.detail}", SMALL * font) for line in plain if line.detail), default=0.0)
    room = layout.names if canvas.narrow else layout.names - details
    if canvas.narrow and not layout.beside:  # names end before the longest of the words beside them
        room -= min(details, 0.4 * room)
    names = iter(fitted_names([line.name for line in plain], room, font, bold=strong))
    for line, top, height in zip(lines, layout.tops, layout.heights, strict=True):
        if line.heading:
            for up, words in enumerate(reversed(wrapped(line.name, canvas.width, font, bold=True))):
                canvas.text(0, top + height - (0.8 + 1.25 * up) * font, words, weight="bold")
            continue
        name = next(names)
        level = top + (0.85 * font if canvas.narrow else height / 2)
        color = colors.muted if line.faint else colors.ink
        canvas.text(0, level, name, weight="bold" if line.strong else "normal", color=color)
        if line.detail:
            style: dict[str, Any] = {"letters": SMALL, "color": colors.muted}
            if not canvas.narrow:
                canvas.text(layout.names, level, line.detail, align="right", **style)
            elif not layout.beside:
                x = text_width(f"{name}  ", font, bold=line.strong)
                canvas.text(x, level, fitted(line.detail, max(canvas.width - x, font), SMALL * font), **style)


def _write_joined(canvas: Canvas, lines: Sequence[Line], columns: Sequence[Words | Marks], layout: _Layout) -> None:
    """Write the words of a narrow row: beside its name, or below it."""
    font, texts = canvas.font, _texts(columns)
    for place, (line, top) in enumerate(zip(lines, layout.tops, strict=True)):
        parts = [
            f"{column.heading.lower()} {column.texts[place]}" if column.heading else column.texts[place]
            for column in texts
            if column.texts[place]
        ]
        if line.heading or not parts:
            continue
        tone = next((column.tones[place] for column in texts if column.tones), "plain")
        style: dict[str, Any] = {"color": canvas.tone(tone), "weight": "bold" if line.strong else "normal"}
        if layout.beside:
            canvas.text(canvas.width, top + 0.85 * font, parts[0], align="right", **style)
        else:
            words = fitted(", ".join(parts), canvas.width, SMALL * font, bold=line.strong)
            canvas.text(0, top + 2.05 * font, words, letters=SMALL, **style)


def _write_column(
    canvas: Canvas, lines: Sequence[Line], column: Words, edge: tuple[float, float], layout: _Layout
) -> None:
    style: dict[str, Any] = {"letters": SMALL, "color": canvas.colors.muted, "weight": "bold"}
    canvas.text(edge[1], layout.titled, column.heading, align="right", **style)
    for place, (line, top, height) in enumerate(zip(lines, layout.tops, layout.heights, strict=True)):
        tone = column.tones[place] if column.tones else "plain"
        color = canvas.colors.muted if line.faint else canvas.tone(tone)
        weight = "bold" if line.strong else "normal"
        if not line.heading:
            canvas.text(edge[1], top + height / 2, column.texts[place], align="right", color=color, weight=weight)


# --- marks ---


def _draw_marks(
    canvas: Canvas, lines: Sequence[Line], column: Marks, edge: tuple[float, float], layout: _Layout
) -> MarkPanel:
    font = canvas.font
    axes = canvas.panel(edge[0], layout.head, edge[1], layout.bottom, "marks")
    if column.log:
        axes.set_xscale("log")
    axes.set_xlim(*column.limits)
    axes.set_ylim(layout.bottom - layout.head, 0)
    # A mark stands right below its words, however high the row.
    most = font * (_BESIDE if layout.beside else _BELOW)
    levels = [
        top - layout.head + (min(height, most) - 0.75 * font if canvas.narrow else height / 2)
        for top, height in zip(layout.tops, layout.heights, strict=True)
    ]
    panel = MarkPanel(axes=axes, canvas=canvas, levels=levels, left=edge[0], right=edge[1])
    _draw_ground(panel, lines, column, layout)
    column.draw(panel)
    _write_sides(panel, column, layout)
    return panel


def _spans(panel: MarkPanel, lines: Sequence[Line], layout: _Layout) -> list[tuple[float, float]]:
    """Return the heights of each row that has marks: what stands behind them never runs across words."""
    half = 0.62 * panel.font
    spans: list[tuple[float, float]] = []
    for line, level, height in zip(lines, panel.levels, layout.heights, strict=True):
        if not line.heading:
            reach = half if panel.canvas.narrow else height / 2
            spans.append((level - reach, level + reach))
    return spans


def _ticks(column: Marks, *, narrow: bool) -> list[float]:
    low, high = sorted(column.limits)
    ticks = round_ticks(low, high, 4 if narrow else 6) if column.ticks is None else column.ticks
    return [float(tick) for tick in ticks if low <= tick <= high]


def _draw_ground(panel: MarkPanel, lines: Sequence[Line], column: Marks, layout: _Layout) -> None:
    colors, spans = panel.canvas.colors, _spans(panel, lines, layout)
    if column.band is not None:
        for low, high in spans:
            panel.axes.fill_betweenx([low, high], *column.band, color=colors.band, linewidth=0, zorder=0.3)
    ticks = _ticks(column, narrow=panel.canvas.narrow)
    grid = [((tick, low), (tick, high)) for tick in ticks for low, high in spans]
    draw_segments(panel.axes, grid, color=colors.line, linewidth=0.06 * panel.font, zorder=0.5)
    if column.zero is not None:
        zero = [((column.zero, low), (column.zero, high)) for low, high in spans]
        draw_segments(panel.axes, zero, color=colors.ink, linewidth=0.09 * panel.font, zorder=1)


def _write_ticks(panel: MarkPanel, column: Marks, n: int, end: float) -> float:
    """Write the numbers of an axis that stand on the canvas before a pixel; return where those of the axis before it must end."""
    ticks = _ticks(column, narrow=panel.canvas.narrow)
    words = [column.write(tick) for tick in ticks]
    at = panel.axes.transData
    across = panel.axes.get_window_extent().x0

    def pixel(value: float) -> float:
        return (at.transform((value, 0))[0] - across) * 72 / panel.canvas.figure.dpi

    def half(place: int) -> float:
        return text_width(words[place], SMALL * panel.font) / 2

    apart = kept_apart(ticks, words, pixel, SMALL * panel.font, gap=0.6 * SMALL * panel.font)
    least = -panel.canvas.edge
    middles = {place: panel.left + pixel(ticks[place]) for place in apart}
    inside = [place for place in apart if least <= middles[place] - half(place) and middles[place] + half(place) <= end]
    kept = inside or apart[:1]
    set_ticks(panel.axes, "x", [ticks[place] for place in kept], [words[place] for place in kept])
    panel.axes.tick_params(axis="x", labeltop=True, labelbottom=n > 12)
    for label in panel.axes.get_xticklabels(which="both"):
        label.set_parse_math(False)
    return min((panel.left + pixel(ticks[place]) - half(place) for place in kept), default=end) - 0.6 * panel.font


def _write_sides(panel: MarkPanel, column: Marks, layout: _Layout) -> None:
    """Say in words what each side of zero means, below the rows; a side without room for its words has few values."""
    if column.zero is None or not any(column.sides):
        return
    canvas, font = panel.canvas, panel.font
    zero, gap = panel.pixel(column.zero), 0.5 * font
    y = layout.bottom + layout.foot - 0.85 * font
    left, right = column.sides
    if left and text_width(left, SMALL * font) < zero - gap:
        canvas.text(zero - gap, y, left, align="right", letters=SMALL, color=canvas.tone(column.side_tones[0]))
    if right and text_width(right, SMALL * font) < canvas.width - zero - gap:
        canvas.text(zero + gap, y, right, letters=SMALL, color=canvas.tone(column.side_tones[1]))
