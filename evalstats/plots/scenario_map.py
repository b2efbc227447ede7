"""Where models break, as a map: a row for each model, a column for each scenario, and how certain every cell is."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from evalstats.analysis.scenarios.results import ScenarioModel
from evalstats.analysis.scenarios.words import digits_of
from evalstats.document.escape import one_line
from evalstats.document.numbers import number, plural
from evalstats.plots.lettering import fitted_names, text_width
from evalstats.plots.map_layout import BOLD, SMALL, Panel, both_wide, box_of, panels_of, slant
from evalstats.plots.scenario_cells import MapCell, Show, base_name, map_grid
from evalstats.plots.segments import Segment, draw_segments
from evalstats.plots.style import LIGHT, SIZES, Medium, house_style, new_figure, tone_color, untyped

# The deepest colour: letters keep a contrast of 4.5 to 1 on it, on light pages and on dark ones.
MOST_OPAQUE, LEAST_OPAQUE = 0.5, 0.12
_READ = 20


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
    panels = panels_of(grid, size, medium)
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


# --- drawing ---


def _draw_headings(axes: Any, panel: Panel) -> None:
    font = 0.88 * panel.size.font
    style: dict[str, Any] = {"fontsize": font, "color": LIGHT.muted, "parse_math": False, "clip_on": False}
    base = panel.top + panel.head - 0.45 * font
    for place, lines in enumerate(panel.headings):
        middle = panel.x(place) + panel.cell / 2
        if panel.slanted and panel.size.stacked:
            axes.text(middle, base, lines[0], rotation=90, ha="center", va="bottom", **style)
        elif panel.slanted:
            turned = {"rotation": -slant(panel.size), "rotation_mode": "anchor"}
            axes.text(middle + 0.3 * font, base, lines[0], ha="right", va="baseline", **turned, **style)
        else:
            for up, line in enumerate(reversed(lines)):
                level = base - up * 1.25 * font
                axes.text(middle, level, line, ha="center", va="baseline", **style)


def _draw_names(axes: Any, panel: Panel) -> None:
    size = panel.size
    # A few wide letters make a name wider than it is measured.
    room = (size.width - 8) / BOLD if size.stacked else panel.left - 0.7 * size.font
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


def _middle(panel: Panel) -> float:
    """Return the middle of a cell, down from the upper edge of its row."""
    names = 1.35 * panel.size.font if panel.size.stacked else 0.0
    return names + (panel.row - names) / 2


def _draw_cell(axes: Any, panel: Panel, across: int, down: int, cell: MapCell) -> None:
    box = box_of(panel, across, down)
    if cell.estimate is None:
        x, y, wide, tall = box
        _write(axes, x + wide / 2, y + tall / 2, cell.words, panel.size.font, color=LIGHT.muted)
        return
    _draw_ground(axes, box, cell)
    _write_numbers(axes, panel, box, cell)


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


def _write_numbers(axes: Any, panel: Panel, box: tuple[float, float, float, float], cell: MapCell) -> None:
    x, y, wide, tall = box
    font = panel.size.font
    color = LIGHT.ink if cell.shown or cell.base else LIGHT.muted
    weight = "bold" if cell.shown and not cell.base else "normal"
    half = f"±{cell.half}" if cell.half else ""
    small = SMALL * font
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
    seam = middle - both_wide(cell, font) / 2 + text_width(cell.words, font) * BOLD + 0.15 * font
    _write(axes, seam - 0.1 * font, level, cell.words, font, color=color, weight=weight, ha="right")
    _write(axes, seam + 0.15 * font, level, half, small, color=color, ha="left")


def _write(axes: Any, x: float, y: float, words: str, font: float, **style: Any) -> None:
    style = {"ha": "center", "va": "center_baseline", "color": LIGHT.ink, **style}
    if words:
        axes.text(x, y, words, fontsize=font, parse_math=False, zorder=3, **style)


def _draw_intervals(axes: Any, panel: Panel) -> None:
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
            x, y, wide, tall = box_of(panel, across, down)
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
