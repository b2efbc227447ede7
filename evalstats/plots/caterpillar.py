"""Levels of random effects in the order of their estimates: which scenarios, items or users stand out, and how certainly."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evalstats.analysis.scenarios.result import EffectRow, ScenarioModel
from evalstats.document.escape import one_line
from evalstats.document.numbers import MINUS, interval, number, plural
from evalstats.plots.labels import spread
from evalstats.plots.lettering import fitted, fitted_names, text_width
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

MOST_PANELS = 4
MOST_NAMED = 26
MOST_WHISKERS = 500
_EXTREMES = 4
_ROW = 1.55  # of a row with a name, in letters' heights
_TALL = 17.0  # of a panel of many levels, in letters' heights
_BROWSER = 1.16  # a browser may have only a font whose letters are wider than those that were measured
_SMALL = 0.88
_INTERCEPT = "(Intercept)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The levels of one random effect, from the lowest estimate to the highest."""

    title: str
    rows: tuple[EffectRow, ...]

    @property
    def apart(self) -> int:
        """How many intervals do not include 0."""
        return sum(_is_apart(row) for row in self.rows)


def shown_effects(result: ScenarioModel) -> list[Effects]:
    """Return what `caterpillar` draws: up to four random effects, those with the fewest levels first."""
    found: dict[tuple[str, str], list[EffectRow]] = {}
    for row in result.effects:
        found.setdefault((row.group, row.column), []).append(row)
    order = sorted(found.items(), key=lambda entry: len(entry[1]))
    return [
        Effects(
            title=group if column in ("", _INTERCEPT, "1") else f"{column} by {group}",
            rows=tuple(sorted(rows, key=lambda row: row.estimate)),
        )
        for (group, column), rows in order[:MOST_PANELS]
    ]


def caterpillar(result: ScenarioModel, *, medium: Medium = "screen") -> Figure:
    """Draw the conditional modes of the random effects with their intervals, in the order of their estimates.

    Up to 26 levels stand in rows with their names. More stand side by side, thin, and the four lowest and four highest are
    named; more than 500 are drawn as a band. Dark marks have an interval that does not include 0. The intervals are those of
    single levels: of 100 levels that are all alike, about 5 leave 0 out.

    Parameters
    ----------
    result
        What `scenarios` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If the result has no levels of random effects.
    """
    panels = shown_effects(result)
    if not panels:
        message = "the result has no levels of random effects"
        raise ValueError(message)
    size = SIZES[medium]
    head, foot = 2.2 * size.font, 2.6 * size.font
    talls = [size.font * (_ROW * len(each.rows) if len(each.rows) <= MOST_NAMED else _TALL) for each in panels]
    height = sum(talls) + len(panels) * (head + foot)
    with house_style():
        figure = new_figure(size, height)
        top = 0.0
        for each, tall in zip(panels, talls, strict=True):
            top += head
            box = (0.0, 1 - (top + tall) / height, 1.0, tall / height)
            axes = untyped(figure).add_axes(box, label=each.title)
            axes.patch.set_visible(False)
            axes.spines[["left", "right", "top", "bottom"]].set_visible(False)
            _write_title(axes, each, result, size)
            if len(each.rows) <= MOST_NAMED:
                _draw_rows(axes, each, size)
            else:
                _draw_many(axes, each, size, tall)
            top += tall + foot
    return figure


def caterpillar_alt(result: ScenarioModel) -> str:
    """Describe `caterpillar` in words: how many levels, how many stand apart, the lowest and the highest."""
    lines: list[str] = []
    for each in shown_effects(result):
        low, high = each.rows[0], each.rows[-1]
        lines.append(
            f"{each.title}: {plural(len(each.rows), 'level')}, {each.apart:,} with an interval that leaves out 0; the lowest is "
            f"{_said(low)}, the highest {_said(high)}"
        )
    return one_line(
        f"Levels of random effects in the order of their estimates, {_scale_words(result)}. {'. '.join(lines)}."
    )


def _said(row: EffectRow) -> str:
    return f"{row.level} {number(row.estimate, sign=True)} {interval(row.conf_low, row.conf_high, sign=True)}"


def _scale_words(result: ScenarioModel) -> str:
    if result.family == "binomial":
        return "in log-odds"
    return f"in {result.score_unit}" if result.score_unit and result.scale == 1 else "in the metric's own unit"


def _is_apart(row: EffectRow) -> bool:
    return row.conf_low > 0 or row.conf_high < 0


def _write_title(axes: Any, effects: Effects, result: ScenarioModel, size: Size) -> None:
    words = f"{plural(len(effects.rows), 'level')}, {_scale_words(result)}"
    up = 1 + 0.9 * size.font / axes.bbox.height
    muted: dict[str, Any] = {"fontsize": _SMALL * size.font, "color": LIGHT.muted, "parse_math": False}
    axes.text(1.0 - 4 / size.width, up, words, ha="right", transform=axes.transAxes, **muted)
    room = size.width - text_width(words, _SMALL * size.font) - 3 * size.font
    title = fitted(effects.title, room / _BROWSER, size.font)
    bold: dict[str, Any] = {"fontsize": size.font, "color": LIGHT.ink, "weight": "bold", "parse_math": False}
    axes.text(0.0, up, title, transform=axes.transAxes, **bold)


def _ends(rows: Sequence[EffectRow]) -> tuple[float, float]:
    low = min(0.0, *(row.conf_low for row in rows))
    high = max(0.0, *(row.conf_high for row in rows))
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def _ticks(ends: tuple[float, float]) -> list[float]:
    found = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(*ends)
    return [float(tick) for tick in found if ends[0] <= tick <= ends[1]]


def _tick_words(value: float) -> str:
    return f"{'+' if value > 0 else ''}{value:g}".replace("-", MINUS)


def _draw_rows(axes: Any, effects: Effects, size: Size) -> None:
    """Draw one level a row, its name on the left; the highest on top."""
    rows, font = effects.rows[::-1], size.font
    names = fitted_names([row.level for row in rows], 0.36 * size.width, font)
    left = max(text_width(name, font) for name in names) + font
    low, high = _ends(rows)
    axes.set_yticks([])
    # The axis is drawn in pixels of the figure, so that names and intervals share it.
    across = (size.width - left - 4) / (high - low)

    def at(value: float) -> float:
        return left + (value - low) * across

    axes.set_xlim(0, size.width)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    ticks = _ticks((low, high))
    axes.vlines([at(tick) for tick in ticks], -0.5, len(rows) - 0.5, color=LIGHT.line, linewidth=0.8, zorder=0.4)
    axes.vlines([at(0.0)], -0.5, len(rows) - 0.5, color=LIGHT.ink, linewidth=0.09 * font, zorder=0.5)
    axes.set_xticks([at(tick) for tick in ticks], [_tick_words(tick) for tick in ticks])
    axes.tick_params(axis="x", length=0, pad=4, labelsize=_SMALL * font, labelcolor=LIGHT.muted)
    for place, (row, name) in enumerate(zip(rows, names, strict=True)):
        color = LIGHT.ink if _is_apart(row) else LIGHT.muted
        axes.text(0, place, name, fontsize=font, color=LIGHT.ink, va="center_baseline", parse_math=False)
        axes.plot([at(row.conf_low), at(row.conf_high)], [place] * 2, color=color, linewidth=0.14 * font, zorder=2)
        axes.plot([at(row.estimate)], [place], marker="o", markersize=0.4 * font, color=color, zorder=3)


def _draw_many(axes: Any, effects: Effects, size: Size, tall: float) -> None:
    """Draw levels side by side, from the lowest to the highest, and name the ends."""
    rows, font = effects.rows, size.font
    low, high = _ends(rows)
    lows, highs = ([row.level for row in part] for part in (rows[:_EXTREMES], rows[-_EXTREMES:]))
    left = 2.8 * font + (0.0 if size.stacked else _names_room(lows, size))
    right = size.width - _names_room([*lows, *highs] if size.stacked else highs, size)
    places = [left + (right - left) * (turn + 0.5) / len(rows) for turn in range(len(rows))]
    axes.set_xlim(0, size.width)
    axes.set_ylim(low, high)
    axes.set_xticks([])
    axes.set_yticks([])
    ticks = _ticks((low, high))
    axes.hlines(ticks, left, right, color=LIGHT.line, linewidth=0.8, zorder=0.4)
    axes.hlines([0.0], left, right, color=LIGHT.ink, linewidth=0.09 * font, zorder=0.5)
    for tick in ticks:
        style: dict[str, Any] = {"fontsize": _SMALL * font, "color": LIGHT.muted, "parse_math": False}
        axes.text(2.2 * font, tick, _tick_words(tick), ha="right", va="center_baseline", **style)
    if len(rows) > MOST_WHISKERS:
        axes.fill_between(
            places,
            [row.conf_low for row in rows],
            [row.conf_high for row in rows],
            color=LIGHT.neutral,
            alpha=0.3,
            linewidth=0,
            zorder=1,
        )
        axes.plot(places, [row.estimate for row in rows], color=LIGHT.ink, linewidth=0.12 * font, zorder=3)
    else:
        _draw_whiskers(axes, rows, places, font, (right - left) / len(rows))
    _name_ends(axes, rows, places, size, unit=(high - low) / tall, ends=(low, high), sides=(left, right))


def _names_room(names: Sequence[str], size: Size) -> float:
    """Return what names beside a panel take, with the lines that lead to them."""
    widest = max(text_width(name, _SMALL * size.font) for name in names)
    return min(widest + 2.0 * size.font, (0.36 if size.stacked else 0.3) * size.width)


def _draw_whiskers(axes: Any, rows: Sequence[EffectRow], places: Sequence[float], font: float, step: float) -> None:
    thick = min(0.14 * font, 0.6 * step)
    for apart in (False, True):
        chosen = [(x, row) for x, row in zip(places, rows, strict=True) if _is_apart(row) == apart]
        color = LIGHT.ink if apart else LIGHT.muted
        across = [x for x, _ in chosen]
        lows, highs = [row.conf_low for _, row in chosen], [row.conf_high for _, row in chosen]
        axes.vlines(across, lows, highs, color=color, linewidth=thick, alpha=0.8 if apart else 0.5, zorder=1 + apart)
        points: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": min(0.36 * font, 1.1 * step)}
        axes.plot(across, [row.estimate for _, row in chosen], color=color, markeredgewidth=0, zorder=3, **points)


def _name_ends(
    axes: Any,
    rows: Sequence[EffectRow],
    places: Sequence[float],
    size: Size,
    *,
    unit: float,
    ends: tuple[float, float],
    sides: tuple[float, float],
) -> None:
    """Name the lowest levels on the left and the highest on the right; on a phone all on the right."""
    font = _SMALL * size.font
    chosen = [*range(_EXTREMES), *range(len(rows) - _EXTREMES, len(rows))]
    groups = [chosen] if size.stacked else [chosen[:_EXTREMES], chosen[_EXTREMES:]]
    for group in groups:
        on_left = not size.stacked and group is groups[0]
        levels = [rows[place].estimate for place in group]
        apart = spread(levels, 1.35 * font * unit, ends[0] + 0.6 * font * unit, ends[1] - 0.6 * font * unit)
        room = (sides[0] - 2.6 * size.font if on_left else size.width - sides[1]) - 1.4 * font
        names = fitted_names([rows[place].level for place in group], room / _BROWSER, font)
        edge = sides[0] - 1.0 * font if on_left else sides[1] + 1.0 * font
        for place, level, name in zip(group, apart, names, strict=True):
            leader: dict[str, Any] = {"color": LIGHT.line, "linewidth": 0.8, "zorder": 0.6}
            axes.plot([places[place], edge], [rows[place].estimate, level], **leader)
            color = LIGHT.ink if _is_apart(rows[place]) else LIGHT.muted
            style: dict[str, Any] = {"fontsize": font, "color": color, "va": "center_baseline", "parse_math": False}
            shift = -0.2 * font if on_left else 0.2 * font
            axes.text(edge + shift, level, name, ha="right" if on_left else "left", **style)
