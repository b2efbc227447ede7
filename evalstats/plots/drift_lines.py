"""Ratings over time: a line with its band for every model that is shown to change, the others grey behind."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evalstats.analysis.arena.check_result import PeriodRating
from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.arenas.words import points, unit_of
from evalstats.document.blocks import Tone
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.arena_rows import limits_of
from evalstats.plots.labels import spread
from evalstats.plots.lettering import fitted, fitted_names, text_width
from evalstats.plots.row_panel import tick_words
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, tone_color, untyped

MOST_NAMED = 12
_SMALL = 0.88
_TALL: dict[Medium, float] = {"screen": 300.0, "phone": 300.0, "print": 150.0}
_NAMES = 0.36


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftLine:
    """One model's ratings by period; `slope` is its change from one period to the next."""

    model: str
    places: tuple[int, ...]
    ratings: tuple[PeriodRating, ...]
    slope: float | None = None
    flagged: bool = False

    @property
    def tone(self) -> Tone:
        """Blue for a model shown to rise, vermillion for one shown to fall, grey for the others."""
        if not self.flagged or self.slope is None:
            return "neutral"
        return "good" if self.slope > 0 else "bad"


def periods_of(result: ArenaRanking) -> list[str]:
    """Return the periods in order."""
    return [] if result.drift is None else sorted({row.period for row in result.drift.ratings})


def shown_lines(result: ArenaRanking) -> list[DriftLine]:
    """Return a line for each model that has a rating in two periods or more; those shown to change last, on top."""
    if result.drift is None:
        return []
    places = {period: place for place, period in enumerate(periods_of(result))}
    drifts = {row.model: row for row in result.drift.models}
    found: dict[str, list[PeriodRating]] = {}
    for row in result.drift.ratings:
        if row.estimate is not None:
            found.setdefault(row.model, []).append(row)
    lines: list[DriftLine] = []
    for model, rows in found.items():
        if len(rows) < 2:
            continue
        ordered = sorted(rows, key=lambda row: row.period)
        drift = drifts.get(model)
        lines.append(
            DriftLine(
                model=model,
                places=tuple(places[row.period] for row in ordered),
                ratings=tuple(ordered),
                slope=None if drift is None else drift.slope,
                flagged=drift is not None and drift.flagged,
            )
        )
    return sorted(lines, key=lambda line: line.flagged)


def named_lines(lines: Sequence[DriftLine]) -> list[DriftLine]:
    """Return the lines that are named: those shown to change, the steepest of many; without any, all where they are few."""
    flagged = sorted((line for line in lines if line.flagged), key=lambda line: -abs(line.slope or 0.0))
    if flagged:
        return flagged[:MOST_NAMED]
    return list(lines) if len(lines) <= MOST_NAMED else []


def drift_lines(result: ArenaRanking, *, medium: Medium = "screen") -> Figure:
    """Draw the rating of every model in every period, against the mean of the models that are there all the time.

    Models that are shown to rise are blue, those shown to fall vermillion, with the band of their intervals and their name;
    all others are thin grey lines.

    Parameters
    ----------
    result
        What `arena` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If no model has a rating in two periods.
    """
    lines = shown_lines(result)
    if not lines:
        message = "no model has a rating in two periods or more"
        raise ValueError(message)
    size, tall = SIZES[medium], _TALL[medium]
    font = size.font
    top, bottom = 1.9 * font, 2.3 * font
    height = top + tall + bottom
    limits = limits_of(_values(lines))
    ticks = _ticks(limits)
    left = max(text_width(tick_words(tick), _SMALL * font) for tick in ticks) + 0.9 * font
    names = named_lines(lines)
    widest = 1.12 * max((text_width(line.model, font) for line in names), default=0.0)
    right = size.width - (min(widest, _NAMES * size.width) + 2.2 * font if names else 1.5 * font)
    with house_style():
        figure = new_figure(size, height)
        box = (left / size.width, bottom / height, (right - left) / size.width, tall / height)
        axes = untyped(figure).add_axes(box, label="drift")
        _draw_axes(axes, result, size, limits=limits, ticks=ticks)
        for line in lines:
            _draw_line(axes, line, size)
        _write_names(
            axes, names, size, limits=limits, room=(size.width - right - 2.0 * font) / 1.12, width=right - left
        )
    return figure


def _period(result: ArenaRanking) -> str:
    return "period" if result.drift is None else result.drift.period


def _values(lines: Sequence[DriftLine]) -> list[float]:
    """Return every value that the axis has to hold: bands are drawn of flagged models alone."""
    values: list[float] = []
    for line in lines:
        for row in line.ratings:
            ends = (row.conf_low, row.conf_high) if line.flagged else ()
            values.extend(value for value in (row.estimate, *ends) if value is not None)
    return values


def _ticks(limits: tuple[float, float]) -> list[float]:
    found = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]).tick_values(*limits)
    return [float(tick) for tick in found if limits[0] <= tick <= limits[1]]


def _draw_axes(
    axes: Any, result: ArenaRanking, size: Size, *, limits: tuple[float, float], ticks: Sequence[float]
) -> None:
    font, periods = size.font, periods_of(result)
    axes.patch.set_visible(False)
    axes.spines[["left", "right", "top", "bottom"]].set_visible(False)
    axes.set_xlim(-0.04 * max(len(periods) - 1, 1), len(periods) - 1)
    axes.set_ylim(*limits)
    axes.set_yticks([])
    axes.set_xticks([])
    axes.hlines(ticks, *axes.get_xlim(), color=LIGHT.line, linewidth=0.8, zorder=0.4)
    style: dict[str, Any] = {"fontsize": _SMALL * font, "color": LIGHT.muted, "parse_math": False, "clip_on": False}
    across, down = axes.get_yaxis_transform(), axes.get_xaxis_transform()
    for tick in ticks:
        axes.text(
            -0.4 * font / axes.bbox.width,
            tick,
            tick_words(tick),
            ha="right",
            va="center_baseline",
            transform=across,
            **style,
        )
    for place in _written(periods, axes.bbox.width, font):
        # The last one ends where the panel does: names stand beyond it.
        align = "right" if place == len(periods) - 1 else "left" if place == 0 else "center"
        axes.text(place, -0.6 * font / axes.bbox.height, periods[place], ha=align, va="top", transform=down, **style)
    title = fitted(f"{unit_of(result)}, by {_period(result)}", 0.95 * size.width, font)
    up = 1 + 0.9 * font / axes.bbox.height
    axes.text(0, up, title, transform=axes.transAxes, weight="bold", **style)


def _written(periods: Sequence[str], width: float, font: float) -> list[int]:
    """Return which periods are written below the axis: the first, the last, and those between that keep their distance."""
    if len(periods) < 2:
        return list(range(len(periods)))
    # The first and the last stand inside the panel and not around their place, so take half as much again.
    room = 1.5 * max(text_width(period, _SMALL * font) for period in periods) + font
    step = max(1, math.ceil(room * (len(periods) - 1) / width))
    between = [place for place in range(step, len(periods) - 1, step) if len(periods) - 1 - place >= step]
    return [0, *between, len(periods) - 1]


def _draw_line(axes: Any, line: DriftLine, size: Size) -> None:
    font = size.font
    color = tone_color(line.tone)
    estimates = [row.estimate for row in line.ratings]
    if line.flagged:
        with_ends = [(x, row) for x, row in zip(line.places, line.ratings, strict=True) if row.conf_low is not None]
        axes.fill_between(
            [x for x, _ in with_ends],
            [row.conf_low for _, row in with_ends],
            [row.conf_high for _, row in with_ends],
            color=color,
            alpha=0.16,
            linewidth=0,
            zorder=1,
        )
    axes.plot(
        line.places,
        estimates,
        color=color if line.flagged else LIGHT.muted,
        linewidth=font * (0.17 if line.flagged else 0.07),
        alpha=1.0 if line.flagged else 0.55,
        marker="o",
        markersize=font * (0.34 if line.flagged else 0.16),
        markeredgewidth=0,
        clip_on=False,
        zorder=3 if line.flagged else 2,
    )


def _write_names(
    axes: Any, names: Sequence[DriftLine], size: Size, *, limits: tuple[float, float], room: float, width: float
) -> None:
    font = size.font
    ordered = sorted(names, key=lambda line: line.ratings[-1].estimate or 0.0)
    unit = (limits[1] - limits[0]) / axes.bbox.height
    levels = [line.ratings[-1].estimate or 0.0 for line in ordered]
    apart = spread(levels, 1.3 * font * unit, limits[0] + 0.6 * font * unit, limits[1] - 0.6 * font * unit)
    across = axes.get_yaxis_transform()
    for line, level, name in zip(ordered, apart, fitted_names([e.model for e in ordered], room, font), strict=True):
        last = (line.places[-1] - axes.get_xlim()[0]) / (axes.get_xlim()[1] - axes.get_xlim()[0])
        edge = 1 + 1.2 * font / width
        leader: dict[str, Any] = {"color": LIGHT.line, "linewidth": 0.8, "clip_on": False, "zorder": 0.6}
        axes.plot([last, edge], [line.ratings[-1].estimate, level], transform=across, **leader)
        color = tone_color(line.tone) if line.flagged else LIGHT.muted
        style: dict[str, Any] = {"fontsize": font, "color": color, "va": "center_baseline", "parse_math": False}
        axes.text(edge + 0.3 * font / width, level, name, transform=across, clip_on=False, **style)


def drift_lines_alt(result: ArenaRanking) -> str:
    """Describe `drift_lines` in words: how many models over how many periods, and those that are shown to change."""
    lines = shown_lines(result)
    period = _period(result)
    periods = periods_of(result)
    span = f" from {periods[0]} to {periods[-1]}" if periods else ""
    told = [
        f"{line.model} {'rises' if (line.slope or 0) > 0 else 'falls'}, {points(line.slope, result)} a {period}, from "
        f"{points(line.ratings[0].estimate, result, unit=False)} to {points(line.ratings[-1].estimate, result, unit=False)}"
        for line in lines
        if line.flagged
    ]
    shown = f"Shown to change: {'; '.join(told)}." if told else "No single model is shown to change."
    return one_line(
        f"Ratings ({unit_of(result)}, against the models that stay) of {plural(len(lines), 'model')} in "
        f"{plural(len(periods), period)}{span}. {shown}"
    )
