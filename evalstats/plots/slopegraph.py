"""From the reference to every scenario, model by model: one small slopegraph for each scenario, all on one axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evalstats.analysis.scenarios.result import CellRow, DropRow, MeanRow, ScenarioModel
from evalstats.analysis.scenarios.words import AVERAGE, digits_of
from evalstats.document.escape import one_line
from evalstats.document.numbers import MINUS, number, plural
from evalstats.plots.labels import spread
from evalstats.plots.lettering import fitted, fitted_names, text_width
from evalstats.plots.scenario_cells import base_name, drop_tone
from evalstats.plots.segments import Segment, draw_segments
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, tone_color, untyped

MOST_PANELS = 12
MOST_LABELS = 22
_BESIDE: dict[Medium, int] = {"screen": 2, "phone": 1, "print": 2}
_LINE = 1.04  # distance of two labels, in letters' heights
_LEAST_HEIGHT = 13.0  # of a panel, in letters' heights
_SMALL = 0.86
_BOLD = 1.1
_READ = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """One model from the reference to one scenario: both scores with their intervals, as they are shown (percent, say)."""

    model: str
    words: str
    start: float
    start_ends: tuple[float, float] | None
    end: float
    end_ends: tuple[float, float] | None
    drop: DropRow

    @property
    def shown(self) -> bool:
        """Whether the data show the two to differ."""
        return self.drop.verdict in ("drop", "gain")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """Where a panel stands: pixels across, and its axes."""

    axes: Any
    size: Size
    width: float
    start: tuple[float, float]
    end: tuple[float, float]
    names: float


def slopegraph(result: ScenarioModel, *, medium: Medium = "screen") -> Figure:
    """Draw each model's way from the reference to every scenario.

    A panel is a scenario; on its left the models stand in the reference (without one: at their mean over scenarios), on its
    right in the scenario, each with its interval. Within an end the models are set side by side in the order of their scores,
    so that no interval hides another. A coloured line is a change that the data show, a grey one is not. At most 12 panels
    are drawn, those with the largest changes; with more than 22 models the largest changes alone are named.

    Parameters
    ----------
    result
        What `scenarios` returned.
    medium
        "screen" (two panels side by side), "phone" (one) or "print".

    Raises
    ------
    ValueError
        If no model has a score in both the reference and a scenario.
    """
    panels = shown_panels(result)
    if not panels:
        message = "no model has a score both in the reference and in another scenario"
        raise ValueError(message)
    size = SIZES[medium]
    beside = min(_BESIDE[medium], len(panels))
    most = max(len(_named(slopes)) for _, slopes in panels)
    tall = size.font * max(_SMALL * _LINE * 1.25 * most, _LEAST_HEIGHT)
    head, foot = 3.1 * size.font, 0.8 * size.font
    lines = math.ceil(len(panels) / beside)
    height = lines * (tall + head + foot)
    limits = _limits(panels, result)
    with house_style():
        figure = new_figure(size, height)
        for place, (name, slopes) in enumerate(panels):
            down, across = divmod(place, beside)
            width = size.width / beside if beside > 1 else min(size.width, 520.0)
            top = down * (tall + head + foot) + head
            box = (
                across * width / size.width,
                1 - (top + tall) / height,
                (width - size.font) / size.width,
                tall / height,
            )
            axes = untyped(figure).add_axes(box, label=f"slopes-{place}")
            panel = _panel(axes, size, width - size.font, _named(slopes), _ticks(limits))
            _draw_axis(panel, limits, result, name)
            _draw_slopes(panel, slopes)
            _write_names(panel, slopes, limits, tall)
    return figure


def shown_panels(result: ScenarioModel) -> list[tuple[str, list[Slope]]]:
    """Return the scenarios that `slopegraph` draws with their slopes, in the order of the result."""
    cells = {(row.model, row.scenario): row for row in result.cells}
    means = {row.name: row for row in result.models}
    found: dict[str, list[Slope]] = {}
    for row in result.drops:
        start = means.get(row.model) if result.reference == AVERAGE else cells.get((row.model, result.reference))
        end = cells.get((row.model, row.scenario))
        if start is None or end is None or start.estimate is None or end.estimate is None:
            continue
        found.setdefault(row.scenario, []).append(_slope(result, row, start, end))
    largest = sorted(found, key=lambda name: -max(abs(slope.end - slope.start) for slope in found[name]))[:MOST_PANELS]
    return [(name, slopes) for name, slopes in found.items() if name in largest]


def _slope(result: ScenarioModel, row: DropRow, start: CellRow | MeanRow, end: CellRow) -> Slope:
    scale = result.scale

    def ends(of: CellRow | MeanRow) -> tuple[float, float] | None:
        return None if of.conf_low is None or of.conf_high is None else (of.conf_low * scale, of.conf_high * scale)

    drop = number(None if row.estimate is None else row.estimate * scale, digits_of(result), sign=True)
    return Slope(
        model=row.model,
        words=drop,
        start=(start.estimate or 0.0) * scale,
        start_ends=ends(start),
        end=(end.estimate or 0.0) * scale,
        end_ends=ends(end),
        drop=row,
    )


def slopegraph_alt(result: ScenarioModel) -> str:
    """Describe `slopegraph` in words: for each scenario how many models change, and which changes most."""
    unit = f" in {result.score_unit}" if result.score_unit else ""
    lines: list[str] = []
    for name, slopes in shown_panels(result)[:_READ]:
        worse = sum(slope.drop.verdict == "drop" for slope in slopes)
        better = sum(slope.drop.verdict == "gain" for slope in slopes)
        largest = max(slopes, key=lambda slope: abs(slope.end - slope.start))
        digits = digits_of(result)
        lines.append(
            f"{name}: {worse} of {plural(len(slopes), 'model')} shown to be worse, {better} better; the largest change is "
            f"{largest.model}'s, from {number(largest.start, digits)} to {number(largest.end, digits)}"
        )
    return one_line(
        f"Slopegraphs of {result.metric}{unit} from {base_name(result)} to each scenario, a line for each model. "
        f"{'. '.join(lines)}."
    )


# --- drawing ---


def _named(slopes: Sequence[Slope]) -> list[Slope]:
    """Return the slopes that are named: all, or of many those with the largest changes."""
    if len(slopes) <= MOST_LABELS:
        return list(slopes)
    largest = sorted(slopes, key=lambda slope: (not slope.shown, -abs(slope.end - slope.start)))[: MOST_LABELS // 2]
    return [slope for slope in slopes if any(slope is each for each in largest)]


def _limits(panels: Sequence[tuple[str, Sequence[Slope]]], result: ScenarioModel) -> tuple[float, float]:
    values = [
        value
        for _, slopes in panels
        for slope in slopes
        for value in (slope.start, slope.end, *(slope.start_ends or ()), *(slope.end_ends or ()))
    ]
    low, high = min(values), max(values)
    room = 0.04 * (high - low) or 1.0
    low, high = low - room, high + room
    if result.metric_kind in ("binary", "proportion"):
        low, high = max(low, -0.02 * result.scale), min(high, 1.02 * result.scale)
    return low, high


def _panel(axes: Any, size: Size, width: float, named: Sequence[Slope], ticks: Sequence[float]) -> _Panel:
    font = _SMALL * size.font
    widest = max(text_width(slope.model, font) for slope in named) * _BOLD
    names = min(0.42 * width, max(widest + font, 4 * font) + _numbers(named, font))
    left = max(text_width(_tick_words(tick), font) for tick in ticks) + 0.9 * font
    right = width - names - 1.6 * font
    n_fan = max(len(named) - 1, 1)
    fan = min(0.2 * (right - left), 1.1 * font * n_fan)
    axes.set_xlim(0, width)
    return _Panel(
        axes=axes, size=size, width=width, start=(left, left + fan), end=(right - fan, right), names=width - names
    )


def _numbers(named: Sequence[Slope], font: float) -> float:
    """Return the width of the column of changes, with the gap before it."""
    return max(text_width(slope.words, font) for slope in named) * _BOLD + 0.7 * font


def _ticks(limits: tuple[float, float]) -> list[float]:
    found = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(*limits)
    return [float(tick) for tick in found if limits[0] <= tick <= limits[1]]


def _tick_words(tick: float) -> str:
    return f"{tick:g}".replace("-", MINUS)


def _draw_axis(panel: _Panel, limits: tuple[float, float], result: ScenarioModel, name: str) -> None:
    axes, font = panel.axes, panel.size.font
    axes.set_ylim(*(limits if result.higher_is_better else limits[::-1]))
    axes.patch.set_visible(False)
    axes.set_xticks([])
    axes.spines[["left", "right", "top", "bottom"]].set_visible(False)
    ticks = _ticks(limits)
    axes.set_yticks([])
    axes.hlines(ticks, panel.start[0], panel.end[1], color=LIGHT.line, linewidth=0.8, zorder=0.4)
    style: dict[str, Any] = {"fontsize": _SMALL * font, "color": LIGHT.muted, "parse_math": False, "clip_on": False}
    for tick in ticks:
        axes.text(panel.start[0] - 0.5 * font, tick, _tick_words(tick), ha="right", va="center_baseline", **style)
    across = axes.get_xaxis_transform()
    tall = axes.bbox.height

    def above(lines: float) -> float:
        return 1 + lines * font / tall

    title = fitted(name, panel.width / 1.08, font)
    axes.text(0, above(1.75), title, transform=across, fontsize=font, color=LIGHT.ink, weight="bold", parse_math=False)
    unit = f"change ({result.unit})" if result.unit else "change"
    base = fitted(f"from {base_name(result)}", panel.names - panel.start[0], _SMALL * font)
    axes.text(panel.start[0], above(0.55), base, transform=across, ha="left", **style)
    axes.text(panel.width, above(0.55), unit, transform=across, ha="right", **style)


def _draw_slopes(panel: _Panel, slopes: Sequence[Slope]) -> None:
    starts = _fan([slope.start for slope in slopes], panel.start)
    ends = _fan([slope.end for slope in slopes], panel.end)
    font = panel.size.font
    for slope, start, end in zip(slopes, starts, ends, strict=True):
        color = tone_color(drop_tone(slope.drop))
        strong = slope.shown
        line = {"color": color, "linewidth": font * (0.12 if strong else 0.07), "alpha": 0.9 if strong else 0.55}
        panel.axes.plot([start, end], [slope.start, slope.end], zorder=2 + strong, **line)
        ends_ = [(x, both) for x, both in ((start, slope.start_ends), (end, slope.end_ends)) if both is not None]
        upright: list[Segment] = [((x, low), (x, high)) for x, (low, high) in ends_]
        draw_segments(panel.axes, upright, color=color, linewidth=font * 0.09, alpha=0.6, zorder=1.5)
        panel.axes.plot(
            [start, end],
            [slope.start, slope.end],
            linestyle="none",
            marker="o",
            markersize=font * 0.32,
            markerfacecolor=color if strong else LIGHT.surface,
            markeredgecolor=color,
            markeredgewidth=font * 0.07,
            clip_on=False,
            zorder=4,
        )


def _fan(values: Sequence[float], room: tuple[float, float]) -> list[float]:
    """Return a place across for each value, side by side in their order; alone it stands at the outer edge's middle."""
    order = sorted(range(len(values)), key=lambda place: (values[place], place))
    step = (room[1] - room[0]) / max(len(values) - 1, 1)
    across = [0.0] * len(values)
    for turn, place in enumerate(order):
        across[place] = room[0] + turn * step if len(values) > 1 else sum(room) / 2
    return across


def _write_names(panel: _Panel, slopes: Sequence[Slope], limits: tuple[float, float], tall: float) -> None:
    """Name the models at their right ends, moved apart where they would cover each other, with a line to their point."""
    axes, font = panel.axes, _SMALL * panel.size.font
    named = sorted(_named(slopes), key=lambda slope: slope.end)
    places = dict(zip(map(id, slopes), _fan([slope.end for slope in slopes], panel.end), strict=True))
    unit = (limits[1] - limits[0]) / tall
    half = 0.6 * font * unit
    levels = spread([slope.end for slope in named], _LINE * 1.25 * font * unit, limits[0] + half, limits[1] - half)
    room = (panel.width - panel.names - _numbers(named, font)) / _BOLD
    for slope, level, name in zip(
        named, levels, fitted_names([slope.model for slope in named], room, font), strict=True
    ):
        x, strong = places[id(slope)], slope.shown
        color = tone_color(drop_tone(slope.drop)) if strong else LIGHT.muted
        leader: dict[str, Any] = {"color": LIGHT.line, "linewidth": 0.8, "zorder": 1}
        axes.plot([x, panel.end[1] + 0.3 * font, panel.names - 0.4 * font], [slope.end, slope.end, level], **leader)
        style: dict[str, Any] = {"fontsize": font, "color": color, "va": "center_baseline", "parse_math": False}
        axes.text(panel.names, level, name, **style)
        axes.text(panel.width, level, slope.words, ha="right", weight="bold" if strong else "normal", **style)
