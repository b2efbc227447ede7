"""A map of cells: models by scenarios, or each model against each other one."""

import re
from collections.abc import Sequence
from math import ceil
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from evalstats.document.escape import one_line
from evalstats.document.numbers import interval, number
from evalstats.plots.canvas import SMALL, Canvas, Extent, Segment, Sheet, draw_segments, drawn
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.text import digits_within, fitted_names, text_width, wrapped
from evalstats.record import record

_LEAST_OPAQUE, _MOST_OPAQUE = 0.12, 0.5  # letters keep a contrast of 4.5 to 1 on the deepest colour
_HALF = 0.8  # letters of half the width of an interval
_GAP = 0.16  # between cells, in letters' heights
_WIDEST = 8.5  # a cell, in letters' heights
_NAMES = 0.28  # share of the width that names may take
_MOST_TOOLTIPS = 2000
_LOWEST, _LOWEST_MARKED, _HIGHEST = (
    0.66,
    0.9,
    2.0,
)  # factors of a cell's height where the figure's is given or has a limit
_HEADING = 13.0  # what upright headings may take, in letters' heights
_MOST_LINES, _LEAST_BROKEN = 4, 5  # of a heading, and letters of a word that is broken


@record
class _Cell:
    """One cell: its words, half the width of its interval in words, what it says to a pointer, its value and interval."""

    words: str
    half: str
    says: str
    value: float | None
    ends: tuple[float, float] | None
    tone: str
    depth: float
    filled: bool
    base: bool


@record
class _Grid:
    """All cells by row and column; `reach` is the axis of their intervals, None where none is drawn."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: dict[tuple[str, str], _Cell]
    reach: tuple[float, float] | None
    zero: float
    note: str
    diagonal: bool


def heatmap(
    rows: object,
    *,
    row: str = "model",
    column: str = "scenario",
    centre: float = 0.0,
    reach: float | None = None,
    digits: int | None = None,
    sign: bool = False,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw a cell for each pair of a row and a column: the deeper its colour, the farther its value from the centre.

    Filled cells are settled, hollow ones are not; a dash is a cell without a value. Where intervals are known, half their
    width stands beside the number and the interval at the cell's foot, all on one axis. Columns that find no room beside the
    others go below them.

    Parameters
    ----------
    rows
        A row for each cell: `row`, `column` and `estimate`; if known `conf_low`, `conf_high`; and any of: `words` (what is
        written; else the number), `tone` ("good", "bad"; else by the side of the centre), `settled`, `base` (what the others
        are counted from: grey).
    row, column
        The names of the columns that name a cell's row and column, in the order in which they appear.
    centre, reach
        The value without a colour, and how far from it the colour is deepest; by itself the farthest value.
    digits, sign
        How numbers are written where there are no `words`; by itself with decimals by which three digits of their range differ.

    Examples
    --------
    >>> cells = {"model": ["a", "a", "b"], "scenario": ["law", "maths", "law"], "estimate": [-10, 2, 5]}
    >>> [text.get_text() for text in heatmap(cells).axes[0].texts]
    ['law', 'maths', 'a', 'b', '−10.0', '2.0', '5.0', '–']
    """
    table = columns_of(rows, "heatmap")
    grid = _grid(table, row, column, centre=centre, reach=reach, digits=digits, sign=sign, note=note)
    return drawn(ax, size, lambda sheet: _draw(sheet, grid))


def _grid(
    table: Columns,
    row: str,
    column: str,
    *,
    centre: float,
    reach: float | None,
    digits: int | None,
    sign: bool,
    note: str,
) -> _Grid:
    table.need("estimate")
    downs, acrosses = table.names(row), table.names(column)
    values, ends, tones = table.numbers("estimate"), table.intervals(), table.texts("tone")
    base = table.flags("base")
    away = [
        abs(value - centre) for value, is_base in zip(values, base, strict=True) if value is not None and not is_base
    ]
    farthest = reach or max(away, default=0.0) or 1.0
    known = [value for value in values if value is not None] or [0.0]
    digits = digits_within(max(known) - min(known)) if digits is None else digits
    numbers = [_number_words(value, both, digits, sign=sign) for value, both in zip(values, ends, strict=True)]
    words = [given or shown for given, shown in zip(table.texts("words"), numbers, strict=True)]
    settled = table.flags("settled", default=True)
    cells: dict[tuple[str, str], _Cell] = {}
    for place, value in enumerate(values):
        both = ends[place]
        side = "plain" if value is None or value == centre else "good" if value > centre else "bad"
        cells[downs[place], acrosses[place]] = _Cell(
            words=words[place],
            half="" if both is None else f"±{number((both[1] - both[0]) / 2, digits)}",
            says=words[place]
            if both is None
            else f"{words[place]} {interval(*both, 1, digits, sign=sign and not base[place])}",
            value=value,
            ends=None if base[place] else both,
            tone=tones[place] or side,
            depth=0.0 if value is None else min(abs(value - centre) / farthest, 1.0),
            filled=settled[place],
            base=base[place],
        )
    reached = [centre, *(end for cell in cells.values() if cell.ends for end in cell.ends)]
    rows, columns = list(dict.fromkeys(downs)), list(dict.fromkeys(acrosses))
    square = set(rows) == set(columns)
    return _Grid(
        rows=rows,
        columns=rows if square else columns,
        cells=cells,
        reach=(min(reached), max(reached)) if len(reached) > 1 else None,
        zero=centre,
        note=note,
        diagonal=square,
    )


def _number_words(value: float | None, ends: tuple[float, float] | None, digits: int, *, sign: bool) -> str:
    """Write a value; one near 0 with no more digits than an interval allows that is wider than the last of them."""
    if value is not None and ends is not None and ends[1] - ends[0] >= 10.0**-digits:
        value = round(value, digits)
    return number(value, digits, sign=sign)


# --- where cells stand ---


@record
class _MapPart:
    """Some columns of the map, in pixels from the top left: `top` is the upper edge of the headings."""

    columns: Sequence[str]
    headings: Sequence[Sequence[str]]
    upright: bool
    top: float
    head: float
    left: float
    cell: float
    row: float
    lines: int
    names: float

    def box(self, across: int, down: int, font: float) -> tuple[float, float, float, float]:
        """Return left and upper edge, width and height of a cell."""
        gap = _GAP * font
        y = self.top + self.head + down * self.row + self.names
        return self.left + across * self.cell + gap / 2, y + gap / 2, self.cell - gap, self.row - self.names - gap


def _number_width(cell: _Cell, font: float, *, beside: bool) -> float:
    words = text_width(cell.words, font, bold=True)
    half = text_width(cell.half, _HALF * font)
    return words + half + (0.35 * font if half else 0.0) if beside else max(words, half)


def _parts(sheet: Sheet, grid: _Grid, shrink: float = 1.0) -> list[_MapPart]:
    font = sheet.font
    names = [text_width(name, font) for name in fitted_names(grid.rows, _NAMES * sheet.width, font)]
    # Above their rows names need no room beside them; few columns leave enough.
    stacked = sheet.narrow and len(grid.columns) > 1
    numbers = text_width(_number_of(len(names) - 1, grid), font)
    left = 0.0 if stacked else max(names) + numbers + 0.8 * font
    # Cells of the same words are as wide.
    cells = {(cell.words, cell.half): cell for cell in grid.cells.values()}.values()
    beside, below = (
        max((_number_width(cell, font, beside=way) for cell in cells), default=0.0) for way in (True, False)
    )
    gap = (_GAP + 0.5) * font
    room = sheet.width - left
    in_one = room / len(grid.columns)
    wide = in_one >= beside + gap
    least = beside + gap if wide else below + gap
    most = max(int(room / least), 1)
    n_parts = ceil(len(grid.columns) / most)
    each = ceil(len(grid.columns) / n_parts)
    cell = min(room / each, _WIDEST * font)
    halves = any(cell_.half for cell_ in grid.cells.values())
    lines = 1 if cell >= beside + gap or not halves else 2
    row = font * (1.0 + 1.05 * lines + (0.35 if grid.reach else 0.0)) * shrink
    over = 1.35 * font if stacked else 0.0
    parts: list[_MapPart] = []
    top = 0.0
    for start in range(0, len(grid.columns), each):
        columns = grid.columns[start : start + each]
        # Each against each other: columns have the numbers of their rows.
        numbered = [[_number_of(start + place, grid).strip()] for place in range(len(columns))]
        headings, upright = (numbered, False) if grid.diagonal else _headings(columns, cell, font)
        letters = SMALL * font
        if upright:
            head = max(text_width(lines[0], letters) for lines in headings) + 0.9 * font
        else:
            head = max(len(lines) for lines in headings) * 1.25 * letters + 0.7 * font
        part = _MapPart(
            columns=columns,
            headings=headings,
            upright=upright,
            top=top,
            head=head,
            left=left,
            cell=cell,
            row=row + over,
            lines=lines,
            names=over,
        )
        parts.append(part)
        top += head + len(grid.rows) * (row + over) + 1.2 * font
    return parts


def _number_of(place: int, grid: _Grid) -> str:
    return f"{place + 1} " if grid.diagonal else ""


def _headings(names: Sequence[str], cell: float, font: float) -> tuple[Sequence[Sequence[str]], bool]:
    """Return the lines of each heading, and whether they stand upright since a word is wider than its column."""
    letters = SMALL * font
    broken = [_broken(name, cell - 0.4 * font, letters) for name in names]
    if all(0 < len(lines) <= _MOST_LINES for lines in broken):
        return broken, False
    return [[name] for name in fitted_names(names, _HEADING * font, letters)], True


def _broken(name: str, room: float, font: float) -> list[str]:
    """Break a name into lines behind its spaces, underscores and slashes, and words that are too wide behind a hyphen.

    Nothing where a line would hold fewer than five letters of such a word.
    """
    lines: list[str] = []
    words = re.findall(r"[^\s_/]+[_/]*\s*", one_line(name)) or [name]
    while words:
        word = words.pop(0)
        if lines and text_width((lines[-1] + word).strip(), font) <= room:
            lines[-1] += word
        elif text_width(word.strip(), font) <= room:
            lines.append(word)
        else:
            kept = max((n for n in range(1, len(word)) if text_width(f"{word[:n]}-", font) <= room), default=1)
            kept = -(-len(word.strip()) // -(-len(word.strip()) // kept))  # pieces of one length
            if kept < _LEAST_BROKEN:
                return []
            lines.append(f"{word[:kept]}-")
            words.insert(0, word[kept:])
    return [line.strip() for line in lines]


# --- drawing ---


def _draw(sheet: Sheet, grid: _Grid) -> Canvas:
    parts, notes = _parts(sheet, grid), wrapped(grid.note, sheet.width, SMALL * sheet.font)
    foot = (1.25 * SMALL * len(notes) + (0.5 if notes else 0.1)) * sheet.font
    if sheet.most is not None:
        tall = _bottom(parts, grid) + foot
        cells = sum(len(grid.rows) * (part.row - part.names) for part in parts)
        if tall > sheet.most or sheet.height is not None:
            # Below a number its interval needs room of its own.
            least = _LOWEST_MARKED if grid.reach else _LOWEST
            parts = _parts(sheet, grid, min(max((sheet.most - tall + cells) / cells, least), _HIGHEST))
    canvas = sheet.canvas(_bottom(parts, grid) + foot)
    for part in parts:
        _write_headings(canvas, part)
        _write_names(canvas, grid, part)
        for down, name in enumerate(grid.rows):
            for across, column in enumerate(part.columns):
                cell, box = grid.cells.get((name, column)), part.box(across, down, canvas.font)
                _draw_cell(canvas, part, box, cell, same=grid.diagonal and name == column)
                # A map of very many cells says in its letters alone what a pointer asks for.
                if cell is not None and cell.value is not None and len(grid.cells) <= _MOST_TOOLTIPS:
                    canvas.tooltip(name, f"{column}, {cell.says}", box)
        _draw_intervals(canvas, grid, part)
    canvas.small_lines(notes, _bottom(parts, grid) + 0.9 * canvas.font)
    return canvas


def _bottom(parts: Sequence[_MapPart], grid: _Grid) -> float:
    return parts[-1].top + parts[-1].head + len(grid.rows) * parts[-1].row


def _write_headings(canvas: Canvas, part: _MapPart) -> None:
    font = SMALL * canvas.font
    base = part.top + part.head - 0.45 * canvas.font
    style: dict[str, Any] = {"letters": SMALL, "color": canvas.colors.muted, "align": "center"}
    for place, lines in enumerate(part.headings):
        middle = part.left + (place + 0.5) * part.cell
        if part.upright:
            canvas.text(middle, base, lines[0], rotation=90, va="bottom", **style)
            continue
        for up, words in enumerate(reversed(lines)):
            canvas.text(middle, base - up * 1.25 * font, words, va="baseline", **style)


def _write_names(canvas: Canvas, grid: _Grid, part: _MapPart) -> None:
    font = canvas.font
    room = canvas.width if part.names else part.left - 0.7 * font
    numbers = text_width(_number_of(len(grid.rows) - 1, grid), font)
    for place, name in enumerate(fitted_names(grid.rows, room - numbers, font)):
        y = part.top + part.head + place * part.row + (0.85 * font if part.names else part.row / 2)
        canvas.text(0, y, _number_of(place, grid) + name)


def _draw_cell(
    canvas: Canvas, part: _MapPart, box: tuple[float, float, float, float], cell: _Cell | None, *, same: bool
) -> None:
    x, y, wide, tall = box
    colors = canvas.colors
    put = canvas.base.add_artist  # as add_patch, which would reckon limits that are set
    every: dict[str, Any] = {"linewidth": 0, "zorder": 0.5, "clip_on": False}
    if same and cell is None:
        put(Rectangle((x, y), wide, tall, facecolor=colors.band, **every))
        return
    if cell is None or cell.value is None:
        words = "–" if cell is None else cell.words or "–"
        canvas.text(x + wide / 2, y + tall / 2, words, align="center", color=colors.muted)
        return
    if cell.base:
        put(Rectangle((x, y), wide, tall, facecolor=colors.band, **every))
    elif cell.filled:
        opaque = _LEAST_OPAQUE + (_MOST_OPAQUE - _LEAST_OPAQUE) * cell.depth
        put(Rectangle((x, y), wide, tall, facecolor=canvas.tone(cell.tone), alpha=opaque, **every))
    else:
        look: dict[str, Any] = {**every, "facecolor": "none", "edgecolor": colors.line, "linewidth": 0.08 * canvas.font}
        put(Rectangle((x + 0.5, y + 0.5), wide - 1, tall - 1, **look))
    _write_numbers(canvas, part, box, cell)


def _write_numbers(canvas: Canvas, part: _MapPart, box: tuple[float, float, float, float], cell: _Cell) -> None:
    x, y, wide, tall = box
    font, middle = canvas.font, x + wide / 2
    loud = cell.filled and not cell.base
    style: dict[str, Any] = {"color": canvas.colors.ink if cell.filled or cell.base else canvas.colors.muted}
    style["weight"] = "bold" if loud else "normal"
    level = y + tall / 2 - (0.26 * font if cell.ends else 0.0)
    if not cell.half:
        canvas.text(middle, y + tall / 2, cell.words, align="center", **style)
    elif part.lines == 2:
        canvas.text(middle, level - 0.5 * font, cell.words, align="center", **style)
        canvas.text(middle, level + 0.5 * font, cell.half, align="center", letters=_HALF, color=style["color"])
    else:
        start = middle - _number_width(cell, font, beside=True) / 2
        seam = start + text_width(cell.words, font, bold=True)
        canvas.text(seam, level, cell.words, align="right", **style)
        canvas.text(seam + 0.3 * font, level, cell.half, letters=_HALF, color=style["color"])


def _draw_intervals(canvas: Canvas, grid: _Grid, part: _MapPart) -> None:
    """Draw every cell's interval at its foot, all on one axis, with a tick at the centre."""
    if grid.reach is None:
        return
    font, (low, high) = canvas.font, grid.reach
    lines: dict[str, list[Segment]] = {}
    points: dict[str, list[tuple[float, float]]] = {}
    zeros: list[Segment] = []
    for down, name in enumerate(grid.rows):
        for across, column in enumerate(part.columns):
            cell = grid.cells.get((name, column))
            if cell is None or cell.ends is None or cell.value is None:
                continue
            x, y, wide, tall = part.box(across, down, font)
            start, level = x + 0.3 * font, y + tall - 0.4 * font
            unit = (wide - 0.6 * font) / (high - low)
            at = [start + (each - low) * unit for each in (cell.ends[0], cell.value, cell.ends[1], grid.zero)]
            color = canvas.tone(cell.tone if cell.filled else "neutral")
            lines.setdefault(color, []).append(((at[0], level), (at[2], level)))
            points.setdefault(color, []).append((at[1], level))
            zeros.append(((at[3], level - 0.22 * font), (at[3], level + 0.22 * font)))
    for color, segments in lines.items():
        draw_segments(canvas.base, segments, color=color, linewidth=0.13 * font, zorder=2)
        marks: dict[str, Any] = {"marker": "o", "markersize": 0.28 * font, "linestyle": "none", "zorder": 3}
        canvas.base.plot(*zip(*points[color], strict=True), color=color, **marks)
    draw_segments(canvas.base, zeros, color=canvas.colors.ink, linewidth=0.07 * font, zorder=2.5)
