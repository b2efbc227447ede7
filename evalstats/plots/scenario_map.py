"""Where models break, as a map: a row for each model, a column for each scenario, and how certain every cell is."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from evalstats.analysis.scenarios.results import ScenarioModel
from evalstats.analysis.scenarios.words import digits_of
from evalstats.display.escape import one_line
from evalstats.display.numbers import number, plural
from evalstats.plots.lettering import fitted_names, text_width
from evalstats.plots.scenario_cells import MapCell, MapGrid, Show, base_name, map_grid
from evalstats.plots.segments import Segment, draw_segments
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, tone_color, untyped

# The deepest colour: letters keep a contrast of 4.5 to 1 on it, on light pages and on dark ones.
MOST_OPAQUE, LEAST_OPAQUE = 0.5, 0.12
_ACROSS: dict[Medium, int] = {"screen": 10, "phone": 7, "print": 9}  # columns beside each other; more go below
_WIDEST = 8.5  # a cell, in letters' heights
_NAMES = 0.24
_BOLD = 1.08
_SMALL = 0.8  # letters of half the width of an interval
_GAP = 0.16  # between cells, in letters' heights
_PAPER_HEIGHT = 570.0
_READ = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
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


def scenario_map(result: ScenarioModel, *, show: Show = "drop", medium: Medium = "screen") -> Figure:
    """Draw the map of models and scenarios.

    With `show="drop"` a cell is the model's drop from the reference: vermillion to the worse, blue to the better, the deeper
    the larger; a drop that the data do not show is hollow and grey. The first column has the scores that drops are counted
    from. With `show="score"` a cell is the score itself. Each cell says its number and half the width of its interval, and
    below them the interval is drawn, on one axis for all cells. A cell without an estimate is empty but for a dash. At most
    40 rows and 14 columns are drawn; where scenarios are many and models few, scenarios stand in rows.

    Parameters
    ----------
    result
        What `scenarios` returned.
    show
        "drop" or "score".
    medium
        "screen", "phone" (columns that do not fit go below) or "print".

    Raises
    ------
    ValueError
        If there is no cell.
    """
    grid = map_grid(result, show)
    if not grid.rows or not grid.columns:
        message = "there is no model or no scenario to draw"
        raise ValueError(message)
    size = SIZES[medium]
    panels = _panels(grid, size, medium)
    height = panels[-1].bottom + 0.6 * size.font
    with house_style():
        figure = new_figure(size, height)
        axes = untyped(figure).add_axes((0, 0, 1, 1), label="map")
        axes.set_xlim(0, size.width)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        for panel in panels:
            _draw_headings(axes, panel)
            _draw_names(axes, panel)
            for down in range(len(grid.rows)):
                for across, column in enumerate(panel.columns):
                    _draw_cell(axes, panel, across, down, grid.cells[down][column])
            _draw_intervals(axes, panel)
    return figure


def scenario_map_alt(result: ScenarioModel, *, show: Show = "drop") -> str:
    """Describe `scenario_map` in words: what it shows, then every model's largest drop."""
    grid = map_grid(result, show)
    unit = {"pp": "percentage points"}.get(result.unit, result.unit) if show == "drop" else result.score_unit
    within = f"{result.metric}{f' in {unit}' if unit else ''}"
    size = f"{plural(result.n_models, 'model')} and {plural(result.n_scenarios, 'scenario')}"
    if show == "score":
        lines = [
            f"{name} {' '.join(cell.words for cell in line)}"
            for name, line in zip(grid.rows[:_READ], grid.cells, strict=False)
        ]
        order = ", ".join(grid.columns)
        return one_line(f"Map of {size}: {within}. Columns: {order}. {'; '.join(lines)}.")
    shown = sum(row.verdict == "drop" for row in result.drops)
    lines = [_worst_words(result, name) for name in result.model_names[:_READ]]
    rest = result.n_models - len(lines)
    more = f" {plural(rest, 'more model')} {'stands' if rest == 1 else 'stand'} in the table." if rest > 0 else ""
    return one_line(
        f"Map of {size}: the change of {within} from {base_name(result)}. {shown} of "
        f"{plural(len(result.drops), 'change')} {'is' if shown == 1 else 'are'} shown to be to the worse. The largest of each "
        f"model: {'; '.join(lines)}.{more}"
    )


def _worst_words(result: ScenarioModel, model: str) -> str:
    sign = -1 if result.higher_is_better else 1
    rows = [row for row in result.drops if row.model == model and row.estimate is not None]
    if not rows:
        return f"{model} none"
    worst = max(rows, key=lambda row: sign * (row.estimate or 0.0))
    said = {"drop": "shown", "gain": "shown to be better"}.get(worst.verdict, "not shown")
    words = number((worst.estimate or 0.0) * result.scale, digits_of(result), sign=True)
    return f"{model} {words} in {worst.scenario}, {said}"


# --- where things stand ---


def _panels(grid: MapGrid, size: Size, medium: Medium) -> list[_Panel]:
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
    panels: list[_Panel] = []
    top = 0.0
    for columns in places:
        names = [grid.columns[column] for column in columns]
        headings, slanted = _headings(names, size, cell)
        panel = _Panel(
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
    return all(_both_wide(each, size.font) + (_GAP + 0.4) * size.font <= cell for line in grid.cells for each in line)


def _both_wide(cell: MapCell, font: float) -> float:
    """Return how wide a number and half the width of its interval are beside each other."""
    return text_width(cell.words, font) * _BOLD + (
        text_width(f"±{cell.half}", _SMALL * font) + 0.3 * font if cell.half else 0
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


def _slant(size: Size) -> float:
    """Return by how many degrees slanted headings run down to the right; on a phone there is no room on their left."""
    return 90.0 if size.stacked else 32.0


def _head_height(headings: Sequence[Sequence[str]], size: Size, *, slanted: bool) -> float:
    font = 0.88 * size.font
    if not slanted:
        return max(len(lines) for lines in headings) * 1.25 * font + 0.7 * font
    # Letters are measured wide: what they seem to need upwards is more than they take.
    share = 1.0 if size.stacked else 0.92
    longest = share * max(text_width(lines[0], font) for lines in headings)
    return longest * math.sin(math.radians(_slant(size))) + 1.5 * font


# --- drawing ---


def _draw_headings(axes: Any, panel: _Panel) -> None:
    font = 0.88 * panel.size.font
    style: dict[str, Any] = {"fontsize": font, "color": LIGHT.muted, "parse_math": False, "clip_on": False}
    base = panel.top + panel.head - 0.45 * font
    for place, lines in enumerate(panel.headings):
        middle = panel.x(place) + panel.cell / 2
        if panel.slanted and panel.size.stacked:
            axes.text(middle, base, lines[0], rotation=90, ha="center", va="bottom", **style)
        elif panel.slanted:
            turned = {"rotation": -_slant(panel.size), "rotation_mode": "anchor"}
            axes.text(middle + 0.3 * font, base, lines[0], ha="right", va="baseline", **turned, **style)
        else:
            for up, line in enumerate(reversed(lines)):
                level = base - up * 1.25 * font
                axes.text(middle, level, line, ha="center", va="baseline", **style)


def _draw_names(axes: Any, panel: _Panel) -> None:
    size = panel.size
    # A few wide letters make a name wider than it is measured.
    room = (size.width - 8) / _BOLD if size.stacked else panel.left - 0.7 * size.font
    for place, name in enumerate(fitted_names(panel.grid.rows, room, size.font)):
        level = panel.y(place) + (0.85 * size.font if size.stacked else _middle(panel))
        axes.text(
            0 if not size.stacked else 4,
            level,
            name,
            fontsize=size.font,
            color=LIGHT.ink,
            va="center_baseline",
            parse_math=False,
        )


def _middle(panel: _Panel) -> float:
    """Return the middle of a cell, down from the upper edge of its row."""
    names = 1.35 * panel.size.font if panel.size.stacked else 0.0
    return names + (panel.row - names) / 2


def _draw_cell(axes: Any, panel: _Panel, across: int, down: int, cell: MapCell) -> None:
    box = _box(panel, across, down)
    if cell.estimate is None:
        x, y, wide, tall = box
        _write(axes, x + wide / 2, y + tall / 2, cell.words, panel.size.font, color=LIGHT.muted)
        return
    _draw_ground(axes, box, cell)
    _write_numbers(axes, panel, box, cell)


def _box(panel: _Panel, across: int, down: int) -> tuple[float, float, float, float]:
    """Return left and upper edge, width and height of a cell; its name stands above it where rows are stacked."""
    size = panel.size
    gap = _GAP * size.font
    names = 1.35 * size.font if size.stacked else 0.0
    x, y = panel.x(across) + gap / 2, panel.y(down) + names + gap / 2
    return x, y, panel.cell - gap, panel.row - names - gap


def _draw_ground(axes: Any, box: tuple[float, float, float, float], cell: MapCell) -> None:
    x, y, wide, tall = box
    if cell.base:
        axes.add_patch(Rectangle((x, y), wide, tall, facecolor=LIGHT.band, linewidth=0, zorder=0.5))
    elif cell.shown:
        opaque = LEAST_OPAQUE + (MOST_OPAQUE - LEAST_OPAQUE) * min(cell.depth, 1.0)
        color = tone_color(cell.tone)
        axes.add_patch(Rectangle((x, y), wide, tall, facecolor=color, alpha=opaque, linewidth=0, zorder=0.5))
    else:
        frame: dict[str, Any] = {"facecolor": "none", "edgecolor": LIGHT.line, "linewidth": 1.0}
        axes.add_patch(Rectangle((x + 0.5, y + 0.5), wide - 1, tall - 1, zorder=0.5, **frame))


def _write_numbers(axes: Any, panel: _Panel, box: tuple[float, float, float, float], cell: MapCell) -> None:
    x, y, wide, tall = box
    font = panel.size.font
    color = LIGHT.ink if cell.shown or cell.base else LIGHT.muted
    weight = "bold" if cell.shown and not cell.base else "normal"
    half = f"±{cell.half}" if cell.half else ""
    small = _SMALL * font
    middle = x + wide / 2
    line = 0.0 if cell.base else 0.28 * font if panel.beside else 0.6 * font
    if not panel.beside:
        rows = (tall - line) / 2
        if not half:
            _write(axes, middle, y + (tall - line) / 2, cell.words, font, color=color, weight=weight)
        elif tall < 2.6 * font:
            _write(axes, middle, y + 0.5 * tall - line, cell.words, 0.9 * font, color=color, weight=weight)
        else:
            _write(axes, middle, y + 0.6 * rows, cell.words, 0.95 * font, color=color, weight=weight)
            _write(axes, middle, y + 1.4 * rows, half, small, color=color)
        return
    level = y + tall / 2 - line
    if not half:
        _write(axes, middle, level, cell.words, font, color=color, weight=weight)
        return
    # The real letters are narrower than measured: both stand against the gap between them.
    seam = middle - _both_wide(cell, font) / 2 + text_width(cell.words, font) * _BOLD + 0.15 * font
    _write(axes, seam - 0.1 * font, level, cell.words, font, color=color, weight=weight, ha="right")
    _write(axes, seam + 0.15 * font, level, half, small, color=color, ha="left")


def _write(axes: Any, x: float, y: float, words: str, font: float, **style: Any) -> None:
    style = {"ha": "center", "va": "center_baseline", "color": LIGHT.ink, **style}
    if words:
        axes.text(x, y, words, fontsize=font, parse_math=False, zorder=3, **style)


def _draw_intervals(axes: Any, panel: _Panel) -> None:
    """Draw every cell's interval at its foot, all on one axis, with a tick at zero."""
    font = panel.size.font
    thick, tick = 0.13 * font, 0.22 * font
    low, high = panel.grid.reach
    lines: dict[str, list[Segment]] = {}
    points: dict[str, list[tuple[float, float]]] = {}
    zeros: list[Segment] = []
    for down, line in enumerate(panel.grid.cells):
        for across, column in enumerate(panel.columns):
            cell = line[column]
            if cell.base or cell.estimate is None or cell.low is None or cell.high is None:
                continue
            x, y, wide, tall = _box(panel, across, down)
            inner, level = 0.3 * font, y + tall - 0.42 * font
            unit = (wide - 2 * inner) / (high - low)
            start, value, end, zero = (
                x + inner + (each - low) * unit for each in (cell.low, cell.estimate, cell.high, 0.0)
            )
            color = tone_color(cell.tone) if cell.shown else LIGHT.neutral
            lines.setdefault(color, []).append(((start, level), (end, level)))
            points.setdefault(color, []).append((value, level))
            zeros.append(((zero, level - tick), (zero, level + tick)))
    for color, segments in lines.items():
        draw_segments(axes, segments, color=color, linewidth=thick, zorder=2)
        marks: dict[str, Any] = {"marker": "o", "markersize": 0.28 * font, "linestyle": "none", "zorder": 3}
        axes.plot(*zip(*points[color], strict=True), color=color, **marks)
    if panel.grid.first_is_base:
        draw_segments(axes, zeros, color=LIGHT.ink, linewidth=0.55 * thick, zorder=2.5)
