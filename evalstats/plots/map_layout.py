"""Where the cells, headings and names of the map of scenarios stand, on a screen, a phone and paper."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from evalstats.document.escape import one_line
from evalstats.plots.lettering import fitted_names, text_width
from evalstats.plots.scenario_cells import MapCell, MapGrid
from evalstats.plots.style import SIZES, Medium, Size

BOLD = 1.08  # bold letters are wider by this
SMALL = 0.8  # letters of half the width of an interval
GAP = 0.16  # between cells, in letters' heights
_ACROSS: dict[Medium, int] = {"screen": 10, "phone": 7, "print": 9}  # columns beside each other; more go below
_WIDEST = 8.5  # a cell, in letters' heights
_NAMES = 0.24  # share of the width that names may take
_PAPER_HEIGHT = 570.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Some columns of the map, and where they stand, in pixels from the top left of the figure."""

    grid: MapGrid
    columns: tuple[int, ...]
    headings: tuple[tuple[str, ...], ...]
    slanted: bool
    top: float
    head: float
    left: float
    cell: float
    row: float
    beside: bool
    size: Size

    def x(self, place: int) -> float:
        """Return the left edge of the column at a place; the base stands off a little."""
        apart = 0.5 * self.size.font if self.grid.models_down and self.columns[0] == 0 and place else 0.0
        return self.left + place * self.cell + (apart if self.grid.first_is_base else 0.0)

    def y(self, place: int) -> float:
        """Return the upper edge of a row."""
        apart = 0.5 * self.size.font if not self.grid.models_down and place else 0.0
        return self.top + self.head + place * self.row + (apart if self.grid.first_is_base else 0.0)

    @property
    def bottom(self) -> float:
        """The lower edge of the last row."""
        return self.y(len(self.grid.rows))


def panels_of(grid: MapGrid, size: Size, medium: Medium) -> list[Panel]:
    """Return the panels of the map: columns that do not fit beside the others go below them."""
    most = _ACROSS[medium]
    n = len(grid.columns)
    per_panel = math.ceil(n / math.ceil(n / most))
    places = [tuple(range(start, min(start + per_panel, n))) for start in range(0, n, per_panel)]
    font = size.font
    left = 4.0
    if not size.stacked:
        widest = max(text_width(name, font) for name in grid.rows)
        left = min(widest, _NAMES * size.width) + 0.8 * font
    cell = min((size.width - left - 4 - 0.5 * font) / per_panel, _WIDEST * font)
    beside = _fits_beside(grid, cell, size)
    row = _row_height(grid, size, len(places), beside=beside)
    panels: list[Panel] = []
    top = 0.0
    for columns in places:
        names = [grid.columns[column] for column in columns]
        headings, slanted = _headings(names, size, cell)
        panel = Panel(
            grid=grid,
            columns=columns,
            headings=headings,
            slanted=slanted,
            top=top,
            head=_head_height(headings, size, slanted=slanted),
            left=left,
            cell=cell,
            row=row,
            beside=beside,
            size=size,
        )
        panels.append(panel)
        top = panel.bottom + 1.2 * font
    return panels


def _fits_beside(grid: MapGrid, cell: float, size: Size) -> bool:
    """Whether half the width of the interval has room beside the number, in every cell, and need not stand below it."""
    return all(both_wide(each, size.font) + (GAP + 0.4) * size.font <= cell for line in grid.cells for each in line)


def both_wide(cell: MapCell, font: float) -> float:
    """Return how wide a number and half the width of its interval are beside each other."""
    return text_width(cell.words, font) * BOLD + (
        text_width(f"±{cell.half}", SMALL * font) + 0.3 * font if cell.half else 0
    )


def _row_height(grid: MapGrid, size: Size, n_panels: int, *, beside: bool) -> float:
    lines = 2.15 if beside else 3.3
    row = size.font * (lines + 1.35 * size.stacked)
    if size is SIZES["print"]:
        row = max(min(row, _PAPER_HEIGHT / n_panels / len(grid.rows)), 1.6 * size.font)
    return row


def _headings(names: Sequence[str], size: Size, cell: float) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """Return the lines of each heading, and whether they are slanted since a word is wider than its column."""
    font = 0.88 * size.font
    room = cell - 0.3 * font
    wrapped = [_wrapped(name, room, font) for name in names]
    if all(lines is not None and len(lines) <= 3 for lines in wrapped):
        return tuple(lines or () for lines in wrapped), False
    longest = (12.0 if size.stacked else 15.0) * size.font
    return tuple((name,) for name in fitted_names(names, longest, font)), True


def _wrapped(name: str, room: float, font: float) -> tuple[str, ...] | None:
    """Break a name into lines behind its spaces, underscores and slashes; None where a word is too wide."""
    lines: list[str] = []
    for word in re.findall(r"[^\s_/]+[_/]*\s*", one_line(name)) or [name]:
        if lines and text_width((lines[-1] + word).strip(), font) <= room:
            lines[-1] += word
        elif text_width(word.strip(), font) <= room:
            lines.append(word)
        else:
            return None
    return tuple(line.strip() for line in lines)


def slant(size: Size) -> float:
    """Return by how many degrees slanted headings run down to the right; on a phone there is no room on their left."""
    return 90.0 if size.stacked else 32.0


def _head_height(headings: Sequence[Sequence[str]], size: Size, *, slanted: bool) -> float:
    font = 0.88 * size.font
    if not slanted:
        return max(len(lines) for lines in headings) * 1.25 * font + 0.7 * font
    # Letters are measured wide: what they seem to need upwards is more than they take.
    share = 1.0 if size.stacked else 0.92
    longest = share * max(text_width(lines[0], font) for lines in headings)
    return longest * math.sin(math.radians(slant(size))) + 1.5 * font


def box_of(panel: Panel, across: int, down: int) -> tuple[float, float, float, float]:
    """Return left and upper edge, width and height of a cell; its name stands above it where rows are stacked."""
    size = panel.size
    gap = GAP * size.font
    names = 1.35 * size.font if size.stacked else 0.0
    x, y = panel.x(across) + gap / 2, panel.y(down) + names + gap / 2
    return x, y, panel.cell - gap, panel.row - names - gap
