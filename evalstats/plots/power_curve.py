"""The curve of a plan: power over the size for the difference asked about, and what each size can find."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from evalstats.analysis.planning.results import CurvePoint, PowerPlan
from evalstats.analysis.planning.wording import answer_sentence, bare, percent, power_words, shown
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.labels import shortened
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

_PANEL = 15.5  # height of a panel, in lines of text
_TICKS = (1.0, 2.0, 5.0)
_POWER_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_ALT_POINTS = 9
_LOW = 0.15  # share of a panel below which there is no room for words
_BOLD = 0.66  # width of a bold letter, as a share of the text size, that few lines of text exceed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """One thing over the size: its points, how its axis is labelled, and the value that is asked for."""

    title: str
    values: tuple[tuple[int, float], ...]
    goal: float | None
    goal_words: str
    ticks: tuple[float, ...] | None
    top: float
    write: Callable[[float], str]
    answer_words: str = ""


def power_curve(plan: PowerPlan, *, medium: Medium = "screen") -> Figure:
    """Draw the plan's curve: power by size, and the difference (or margin, or half width) that each size can find.

    The filled point is the plan itself; a line marks what was asked for. Without a difference there is no power, and only the
    second panel is drawn. Sizes are on a logarithmic axis.

    Parameters
    ----------
    plan
        What `power` returned.
    medium
        "screen" (panels side by side), "phone" (one above the other) or "print".

    Raises
    ------
    ValueError
        If the plan's curve has no value at any size.

    Examples
    --------
    >>> from evalstats.analysis.planning.power import power
    >>> len(power_curve(power(delta="5pp", discordance=0.2)).axes)
    2
    """
    panels = _panels(plan)
    if not panels:
        message = "no size of this plan shows anything, so there is no curve to draw"
        raise ValueError(message)
    size = SIZES[medium]
    rows = len(panels) if size.stacked else 1
    height = rows * _PANEL * size.font
    with house_style():
        figure = new_figure(size, height)
        for place, panel in enumerate(panels):
            axes = untyped(figure).add_axes(_box(place, len(panels), size, height))
            _draw(axes, panel, plan, size)
    return figure


def power_curve_alt(plan: PowerPlan) -> str:
    """Describe `power_curve` in words, for those who do not see it.

    Examples
    --------
    >>> from evalstats.analysis.planning.power import power
    >>> power_curve_alt(power(delta="5pp", discordance=0.2))[:44]
    'Curve of a plan. 622 items: so many find a t'
    """
    count = "clusters" if plan.curve_unit == "clusters" else "items"
    points = _spread(plan.curve, _ALT_POINTS)
    lines = [f"{_count(plan, point):,} {count}: {', '.join(_facts(plan, point))}" for point in points]
    return one_line(f"Curve of a plan. {answer_sentence(plan)} {'; '.join(lines)}.")


def _facts(plan: PowerPlan, point: CurvePoint) -> list[str]:
    facts = [] if point.power is None else [f"power {power_words(point.power)}"]
    for value, words in ((point.mde, "detectable"), (point.margin, "margin"), (point.half_width, "half width")):
        if value is not None:
            facts.append(f"{words} {shown(plan, value)}")
    return facts or ["nothing"]


def _spread(points: Sequence[CurvePoint], most: int) -> list[CurvePoint]:
    step = max(1, math.ceil(len(points) / most))
    return list(points[::step])


def _count(plan: PowerPlan, point: CurvePoint) -> int:
    return point.n_clusters or 0 if plan.curve_unit == "clusters" else point.n_items


def _panels(plan: PowerPlan) -> list[_Panel]:
    """Return what there is to draw."""
    panels: list[_Panel] = []
    powers = _points(plan, "power", 1.0)
    if powers:
        what = f"a true difference of {shown(plan, plan.delta)}"
        if plan.margin is not None:
            what = f"the margin of {shown(plan, plan.margin)}"
        panels.append(
            _Panel(
                title=f"Power for {what}",
                values=powers,
                goal=plan.power_goal,
                goal_words=f"{percent(plan.power_goal)} power",
                ticks=_POWER_TICKS,
                top=1.0,
                write=lambda value: f"{value:g}",
                answer_words=power_words(plan.power),
            )
        )
    panels.extend(_found_panels(plan))
    return panels


def _found_panels(plan: PowerPlan) -> list[_Panel]:
    goal = percent(plan.power_goal)
    unit = f" ({shortened(plan.unit, 12)})" if plan.unit else ""
    kinds = (
        ("mde", f"Difference found with {goal} power{unit}", plan.delta, "asked for"),
        ("margin", f"Margin shown with {goal} power{unit}", plan.margin, "margin"),
        ("half_width", f"Half the width of the interval{unit}", plan.half_width, "asked for"),
    )
    panels: list[_Panel] = []
    for name, title, asked, words in kinds:
        values = _points(plan, name, plan.scale)
        if not values:
            continue
        given = asked if plan.solved not in ("delta", "margin", "half_width") else None
        panels.append(
            _Panel(
                title=title,
                values=values,
                goal=None if given is None else given * plan.scale,
                goal_words="" if given is None else f"{bare(plan, given)} {words}",
                ticks=None,
                top=1.06 * max(value for _, value in values),
                write=lambda value: f"{value:g}",
                answer_words="" if asked is None or given is not None else shown(plan, asked),
            )
        )
    return panels


def _points(plan: PowerPlan, name: str, scale: float) -> tuple[tuple[int, float], ...]:
    values = [(_count(plan, point), getattr(point, name)) for point in plan.curve]
    return tuple((count, value * scale) for count, value in values if value is not None)


def _box(place: int, panels: int, size: Size, height: float) -> tuple[float, float, float, float]:
    """Return left, bottom, width and height of a panel, as shares of the figure."""
    left, right, top, bottom = 3.4 * size.font, 1.4 * size.font, 3.1 * size.font, 3.4 * size.font
    if size.stacked or panels == 1:
        each = height / (panels if size.stacked else 1)
        floor = height - (place + 1) * each + bottom
        return (
            left / size.width,
            floor / height,
            (size.width - left - right) / size.width,
            (each - top - bottom) / height,
        )
    each = size.width / panels
    return (
        (place * each + left) / size.width,
        bottom / height,
        (each - left - right) / size.width,
        (height - top - bottom) / height,
    )


def _draw(axes: Any, panel: _Panel, plan: PowerPlan, size: Size) -> None:
    font = size.font
    counts = [count for count, _ in panel.values]
    _style(axes, panel, plan, size, counts)
    axes.plot(counts, [value for _, value in panel.values], color=LIGHT.good, linewidth=font * 0.17, zorder=2)
    if panel.goal is not None:
        axes.axhline(panel.goal, color=LIGHT.ink, linewidth=font * 0.08, linestyle=(0, (4, 3)), zorder=1)
        # On the left a rising curve is below its goal and a falling one above: the words go to the other side.
        above = _rises(panel) or panel.goal < _LOW * panel.top
        _words(axes, panel.goal_words, panel.goal, size, above=above)
    _mark_answer(axes, panel, plan, size)


def _style(axes: Any, panel: _Panel, plan: PowerPlan, size: Size, counts: list[int]) -> None:
    font = size.font
    axes.patch.set_visible(False)
    axes.set_xscale("log")
    low, high = min(counts), max(counts)
    room = (high / low) ** 0.03 if high > low else 1.1
    axes.set_xlim(low / room, high * room)
    axes.set_ylim(0.0, panel.top * 1.02)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT.line)
    axes.grid(axis="y", color=LIGHT.line, linewidth=0.8)
    axes.set_axisbelow(True)
    ticks = _count_ticks(low, high, 5 if size.stacked else 6)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([f"{tick:,.0f}" for tick in ticks])
    if panel.ticks is not None:
        axes.set_yticks(panel.ticks)
    axes.set_yticks(axes.get_yticks()[axes.get_yticks() <= panel.top])
    axes.set_yticklabels([panel.write(tick) for tick in axes.get_yticks()])
    axes.tick_params(length=0, pad=5, labelsize=font * 0.88, labelcolor=LIGHT.muted)
    unit = "Clusters" if plan.curve_unit == "clusters" else "Items"
    axes.set_xlabel(unit, fontsize=font * 0.92, color=LIGHT.muted, labelpad=5, parse_math=False)
    axes.text(
        -2.6 * font / axes.bbox.width,
        1.0 + 1.1 * font / axes.bbox.height,
        panel.title,
        transform=axes.transAxes,
        fontsize=font,
        color=LIGHT.ink,
        weight="bold",
        parse_math=False,
    )


def _count_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers 1, 2 and 5 times powers of ten within the range, at most so many.

    Examples
    --------
    >>> _count_ticks(430, 6900, 6)
    [500.0, 1000.0, 2000.0, 5000.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in (_TICKS, (1.0, 3.0), (1.0,)):
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= most and inside:
            return inside
    return [float(round(low)), float(round(high))]


def _rises(panel: _Panel) -> bool:
    return panel.values[-1][1] > panel.values[0][1]


def _words(axes: Any, text: str, level: float, size: Size, *, above: bool) -> None:
    """Write on the left, beside a level line."""
    axes.annotate(
        text,
        (0.0, level),
        xycoords=("axes fraction", "data"),
        xytext=(0.2 * size.font, (0.35 if above else -0.35) * size.font),
        textcoords="offset points",
        ha="left",
        va="bottom" if above else "top",
        fontsize=size.font * 0.88,
        color=LIGHT.muted,
        parse_math=False,
    )


def _mark_answer(axes: Any, panel: _Panel, plan: PowerPlan, size: Size) -> None:
    """Fill the point of the plan and say its size, where the curve leaves room: a rising one below, a falling one above."""
    count = plan.n_clusters if plan.curve_unit == "clusters" else plan.n_items
    value = dict(panel.values).get(count or -1)
    if plan.answer is None or count is None or value is None:
        return
    font = size.font
    axes.plot(
        [count],
        [value],
        marker="o",
        markersize=font * 0.78,
        color=LIGHT.good,
        linestyle="none",
        clip_on=False,
        zorder=3,
    )
    low = _rises(panel) and value < _LOW * panel.top
    above = low or not _rises(panel)
    across = axes.transAxes.inverted().transform(axes.transData.transform((count, value)))[0]
    room = (1.0 - across) * axes.bbox.width + 0.4 * font
    words = plural(count, "cluster" if plan.curve_unit == "clusters" else "item")
    full = f"{words}: {panel.answer_words}" if panel.answer_words else words
    fits = len(full) * font * _BOLD < room
    axes.annotate(
        full if fits else words,
        (count, value),
        xytext=(0.7 * font, (2.0 if low else 0.8 if above else -0.8) * font),
        textcoords="offset points",
        ha="left",
        va="bottom" if above else "top",
        fontsize=font,
        weight="bold",
        color=LIGHT.good,
        parse_math=False,
    )
