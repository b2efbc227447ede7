"""How reliable the benchmark would be with more or fewer items, trials or scenarios."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from evalstats.analysis.scenarios.result import DesignPoint, Needed, Reliability, ScenarioModel
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

_PANEL = 16.0  # height of a panel, in lines of text
_SMALL = 0.88
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Reliability over the number of one facet, with what is needed of it."""

    facet: str
    points: tuple[DesignPoint, ...]
    needed: tuple[Needed, ...]


def shown_curves(result: ScenarioModel) -> list[Curve]:
    """Return what `dstudy` draws: a curve for each facet that has two points or more."""
    found = result.reliability
    if found is None:
        return []
    facets = dict.fromkeys(point.facet for point in found.curve)
    curves = [
        Curve(
            facet=facet,
            points=tuple(sorted((point for point in found.curve if point.facet == facet), key=lambda point: point.n)),
            needed=tuple(each for each in found.needed if each.facet == facet),
        )
        for facet in facets
    ]
    return [curve for curve in curves if len(curve.points) > 1]


def dstudy(result: ScenarioModel, *, medium: Medium = "screen") -> Figure:
    """Draw the D-study: relative and absolute reliability over the number of items, and of trials or scenarios if known.

    The whole line is relative reliability (the order of models) with its interval as a band, the dashed one absolute
    reliability (their scores). A thin line is the target; the points on it are the numbers that are needed. Numbers are on a
    logarithmic axis.

    Parameters
    ----------
    result
        What `scenarios` returned.
    medium
        "screen" (panels side by side), "phone" (one above the other) or "print".

    Raises
    ------
    ValueError
        If the result has no curve.
    """
    curves = shown_curves(result)
    if not curves:
        message = "the result has no curve of reliability"
        raise ValueError(message)
    size = SIZES[medium]
    beside = 1 if size.stacked else min(len(curves), 2)
    lines = math.ceil(len(curves) / beside)
    height = lines * _PANEL * size.font
    with house_style():
        figure = new_figure(size, height)
        for place, curve in enumerate(curves):
            axes = untyped(figure).add_axes(_box(place, beside, size, height), label=curve.facet)
            _style(axes, curve, size)
            _draw(axes, curve, size)
    return figure


def dstudy_alt(result: ScenarioModel) -> str:
    """Describe `dstudy` in words: reliability as it is, then what each target needs."""
    found = result.reliability
    if found is None:
        return ""
    said = [
        f"{name} {value:.2f}"
        for name, value in (("relative", found.relative), ("absolute", found.absolute))
        if value is not None
    ]
    lines = [
        f"by {curve.facet}: "
        + ", ".join(f"{point.n:,}: {point.relative:.2f} and {point.absolute:.2f}" for point in _thinned(curve.points))
        for curve in shown_curves(result)
    ]
    needed = needed_words(found)
    now = f"Now ({found.design}): {' and '.join(said)}. " if said and found.design else ""
    return one_line(f"Curves of reliability, relative and absolute. {now}{'; '.join(lines)}. {' '.join(needed)}")


def needed_words(found: Reliability) -> list[str]:
    """Say how many of each facet every target needs.

    Examples
    --------
    >>> needed = Needed(kind="relative", target=0.9, facet="item", n=27)
    >>> needed_words(Reliability(relative=0.95, absolute=0.9, needed=(needed,)))
    ['27 items give a relative reliability of 0.9.']
    """
    lines: list[str] = []
    for each in found.needed:
        if each.n is None:
            why = f": {each.reason}" if each.reason else ""
            lines.append(f"No number of {each.facet}s is given for a {each.kind} reliability of {each.target:g}{why}.")
        else:
            gives = "gives" if each.n == 1 else "give"
            lines.append(
                f"{plural(each.n, each.facet)} {gives} {_a(each.kind)} {each.kind} reliability of {each.target:g}."
            )
    return lines


def _a(kind: str) -> str:
    return "an" if kind == "absolute" else "a"


def _thinned(points: Sequence[DesignPoint]) -> Sequence[DesignPoint]:
    return points[:: max(1, math.ceil(len(points) / 8))]


def _box(place: int, beside: int, size: Size, height: float) -> tuple[float, float, float, float]:
    left, right, top, bottom = 2.9 * size.font, 1.4 * size.font, 2.4 * size.font, 3.4 * size.font
    each, tall = (size.width if size.stacked or beside == 1 else size.width / beside), _PANEL * size.font
    if beside == 1 and not size.stacked:
        each = min(each, 46 * size.font)
    down, across = divmod(place, beside)
    return (
        (across * each + left) / size.width,
        (height - (down + 1) * tall + bottom) / height,
        (each - left - right) / size.width,
        (tall - top - bottom) / height,
    )


def _style(axes: Any, curve: Curve, size: Size) -> None:
    font = size.font
    numbers = [point.n for point in curve.points] + [each.n for each in curve.needed if each.n is not None]
    low, high = max(min(numbers), 1), max(*numbers, 2)
    axes.patch.set_visible(False)
    axes.set_xscale("log")
    axes.set_xlim(low * (low / high) ** 0.02, high * (high / low) ** 0.03)
    axes.set_ylim(0.0, 1.02)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT.line)
    axes.grid(axis="y", color=LIGHT.line, linewidth=0.8)
    axes.set_axisbelow(True)
    ticks = count_ticks(low, high, 5 if size.stacked else 6)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([f"{tick:,.0f}" for tick in ticks])
    axes.set_yticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axes.tick_params(length=0, pad=5, labelsize=_SMALL * font, labelcolor=LIGHT.muted)
    label = f"{curve.facet[:1].upper()}{curve.facet[1:]}s"
    axes.set_xlabel(label, fontsize=0.92 * font, color=LIGHT.muted, labelpad=5, parse_math=False)


def count_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers within the range, at most so many: 1, 2 and 5 times powers of ten, or fewer of them.

    Examples
    --------
    >>> count_ticks(1, 500, 6)
    [1.0, 3.0, 10.0, 30.0, 100.0, 300.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        inside = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if 2 <= len(inside) <= most:
            return inside
    return [float(low), float(high)]


def _draw(axes: Any, curve: Curve, size: Size) -> None:
    font = size.font
    numbers = [point.n for point in curve.points]
    banded = [point for point in curve.points if point.relative_low is not None and point.relative_high is not None]
    if len(banded) > 1:
        axes.fill_between(
            [point.n for point in banded],
            [point.relative_low for point in banded],
            [point.relative_high for point in banded],
            color=LIGHT.band,
            linewidth=0,
            zorder=0.6,
        )
    thick = 0.17 * font
    axes.plot(numbers, [point.relative for point in curve.points], color=LIGHT.good, linewidth=thick, zorder=3)
    dashes = {"linestyle": (0, (5, 2)), "linewidth": thick}
    axes.plot(numbers, [point.absolute for point in curve.points], color=LIGHT.neutral, zorder=2.5, **dashes)
    targets = sorted({each.target for each in curve.needed})
    for target in targets:
        axes.axhline(target, color=LIGHT.ink, linewidth=0.08 * font, linestyle=(0, (2, 2)), zorder=1)
        _write(
            axes,
            0.0,
            target,
            f"target {target:g}",
            size,
            shift=(0.3, -0.3),
            ha="left",
            va="top",
            across=True,
            small=True,
        )
    _name_lines(axes, size)
    _mark_needed(axes, curve, size)


def _name_lines(axes: Any, size: Size) -> None:
    """Name the two lines above the panel, each in its colour and with its stroke: at their ends they run together."""
    font = size.font
    place = 0.0
    up = 1 + 1.0 * font / axes.bbox.height
    for words, color, dash in (
        ("relative (order)", LIGHT.good, "solid"),
        ("absolute (scores)", LIGHT.neutral, (0, (3, 1.5))),
    ):
        wide = axes.bbox.width
        axes.plot(
            [place / wide, (place + 1.6 * font) / wide],
            [up] * 2,
            transform=axes.transAxes,
            color=color,
            linewidth=0.17 * font,
            linestyle=dash,
            clip_on=False,
        )
        style: dict[str, Any] = {"fontsize": _SMALL * font, "color": color, "parse_math": False, "clip_on": False}
        axes.text((place + 2.1 * font) / wide, up, words, transform=axes.transAxes, va="center_baseline", **style)
        place += 2.1 * font + len(words) * 0.56 * _SMALL * font + 1.0 * font


def _mark_needed(axes: Any, curve: Curve, size: Size) -> None:
    """Put a point on the target where a line reaches it, with the number; the higher number writes below the line."""
    font = size.font
    known = sorted((each for each in curve.needed if each.n is not None), key=lambda each: each.n or 0)
    for place, each in enumerate(known):
        color = LIGHT.good if each.kind == "relative" else LIGHT.neutral
        axes.plot([each.n], [each.target], marker="o", markersize=0.6 * font, color=color, clip_on=False, zorder=5)
        axes.plot([each.n] * 2, [0, each.target], color=color, linewidth=0.07 * font, linestyle=(0, (1, 2)), zorder=1.5)
        across = axes.transAxes.inverted().transform(axes.transData.transform((each.n, each.target)))[0]
        left = across > 0.75
        words = f"{each.n:,}"
        shift = (-0.4 if left else 0.4, 0.5 + 1.3 * (len(known) - 1 - place))
        _write(
            axes, each.n or 1, 0.0, words, size, shift=shift, ha="right" if left else "left", va="bottom", color=color
        )


def _write(
    axes: Any,
    x: float,
    y: float,
    words: str,
    size: Size,
    *,
    shift: tuple[float, float],
    ha: str,
    va: str,
    across: bool = False,
    small: bool = False,
    color: str = LIGHT.muted,
) -> None:
    axes.annotate(
        words,
        (x, y),
        xycoords=("axes fraction", "data") if across else "data",
        xytext=(shift[0] * size.font, shift[1] * size.font),
        textcoords="offset points",
        ha=ha,
        va=va,
        fontsize=size.font * (_SMALL if small else 1.0),
        weight="normal" if small else "bold",
        color=color,
        parse_math=False,
    )
