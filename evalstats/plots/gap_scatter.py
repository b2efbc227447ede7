"""Lab against live, a point a model: intervals both ways, the line through them, and who stands off it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.plots.gap_line import DrawnLine, drawn_line, least_squares_line
from evalstats.plots.gap_marks import side_words
from evalstats.plots.gap_spots import (
    Frame,
    Name,
    Spot,
    frame_of,
    gap_scatter_alt,
    names_of,
    notes_of,
    spots,
)
from evalstats.plots.lettering import fitted, text_width
from evalstats.plots.row_panel import tick_words
from evalstats.plots.segments import Segment, draw_segments
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

__all__ = ["gap_scatter", "gap_scatter_alt", "gap_scatter_reason"]

_TALL: dict[Medium, float] = {"screen": 440.0, "phone": 330.0, "print": 265.0}
_SMALL = 0.88
_LINE, _KEY = 1.3, 1.45  # height of a line of notes and of the key, in letters' heights
_APART = 3.5  # pixels: from here the ordinary line is seen to lie elsewhere


def gap_scatter_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    return None if result.rows else "no model has both a lab and a live score"


def gap_scatter(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """Draw every model's live score over its lab score, with both intervals and the line by which the lab is read.

    A flagged model is a filled point with its name, in bold: blue where live is better than the lab leads to expect,
    vermillion where worse. An aligned one is filled and grey, an open one hollow; where neither score has an error it is a
    diamond. The line is York's, with the band of its own error; the ordinary line is dotted where it lies visibly elsewhere;
    the dashed one is live = lab, on one scale. Up is better, and so is right: where less is better the axis is turned over.
    With up to 16 models all are named where there is room, of many the flagged and the extreme ones; a flagged name without
    room is a number, with the name below.

    Parameters
    ----------
    result
        What `gap` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_scatter_reason`.
    """
    reason = gap_scatter_reason(result)
    if reason is not None:
        raise ValueError(reason)
    size, found = SIZES[medium], spots(result)
    frame = frame_of(result, found, size, _TALL[medium])
    line, other = drawn_line(result), _other(result, frame)
    lines = [each for each in (line, other, _identity(result, frame)) if each is not None]
    names = names_of(found, frame, lines)
    notes = notes_of(result, names, size)
    keys = _key_rows(found, size, _line_entries(result, frame, line, other))
    font = size.font
    top, bottom = font * (2.0 + _KEY * len(keys)), font * (3.2 + _LINE * len(notes))
    height = top + frame.tall + bottom
    with house_style():
        figure = new_figure(size, height)
        share = (frame.left / size.width, bottom / height, frame.wide / size.width, frame.tall / height)
        axes = untyped(figure).add_axes(share, label="scatter")
        _draw_axes(axes, frame)
        _draw_lines(axes, result, frame, line, other)
        _draw_spots(axes, found, frame)
        _write_names(axes, names, frame)
        _write_around(axes, result, frame, notes, len(keys))
        _write_keys(axes, keys, frame)
    return figure


def _other(result: LabLiveGap, frame: Frame) -> DrawnLine | None:
    """Return the ordinary line where it lies visibly elsewhere than York's."""
    other, line = least_squares_line(result), result.line
    if other is None or line is None:
        return None
    unit = frame.tall / abs(frame.ylim[1] - frame.ylim[0])
    ratio = result.live.scale / result.lab.scale
    york = [line.intercept * result.live.scale + line.slope * ratio * x for x in other.x]
    far = max(abs(one - two) for one, two in zip(york, other.y, strict=True)) * unit
    return other if far > _APART else None


def _identity(result: LabLiveGap, frame: Frame) -> DrawnLine | None:
    """Return the line on which live is as the lab, where both are on one scale and it runs through the panel."""
    low, high = max(min(frame.xlim), min(frame.ylim)), min(max(frame.xlim), max(frame.ylim))
    if not result.same_scale or low >= high:
        return None
    ends = np.linspace(low, high, 21)
    return DrawnLine(x=ends, y=ends)


def _looks(font: float) -> dict[str, dict[str, Any]]:
    """Return how each line looks."""
    return {
        "york": {"color": LIGHT.ink, "linewidth": 0.14 * font},
        "ordinary": {"color": LIGHT.muted, "linewidth": 0.11 * font, "linestyle": (0, (1, 1.6))},
        "identity": {"color": LIGHT.muted, "linewidth": 0.09 * font, "linestyle": (0, (5, 3))},
    }


def marker_of(spot_kind: str, font: float) -> dict[str, Any]:
    """Return how a point of a kind looks: filled where settled, coloured where a gap is shown."""
    color = {"worse": LIGHT.bad, "better": LIGHT.good}.get(spot_kind, LIGHT.neutral)
    filled = spot_kind in ("worse", "better", "aligned")
    return {
        "marker": "D" if spot_kind == "bare" else "o",
        "markersize": font * {"open": 0.44, "bare": 0.4, "aligned": 0.46}.get(spot_kind, 0.62),
        "markerfacecolor": color if filled else LIGHT.surface,
        "markeredgecolor": color,
        "markeredgewidth": font * 0.1,
        "linestyle": "none",
    }


# --- drawing ---


def _draw_axes(axes: Any, frame: Frame) -> None:
    font = frame.size.font
    axes.set_xlim(*frame.xlim)
    axes.set_ylim(*frame.ylim)
    axes.patch.set_visible(False)
    axes.spines[["right", "top", "left", "bottom"]].set_visible(False)
    locator = MaxNLocator(nbins=4 if frame.size.stacked else 7, steps=[1, 2, 2.5, 5, 10])
    low, high = sorted(frame.xlim)
    across = [float(tick) for tick in locator.tick_values(low, high) if low <= tick <= high]
    axes.set_xticks(across, [tick_words(tick) for tick in across])
    axes.set_yticks(frame.ticks, [tick_words(tick) for tick in frame.ticks])
    axes.tick_params(axis="both", length=0, pad=4, labelsize=font * _SMALL, labelcolor=LIGHT.muted)
    axes.grid(color=LIGHT.line, linewidth=0.8)
    axes.set_axisbelow(True)


def _draw_lines(axes: Any, result: LabLiveGap, frame: Frame, line: DrawnLine | None, other: DrawnLine | None) -> None:
    looks = _looks(frame.size.font)
    same = _identity(result, frame)
    if same is not None:
        axes.plot(same.x, same.y, zorder=1.1, **looks["identity"])
    if line is not None:
        axes.fill_between(line.x, line.low, line.high, color=LIGHT.band, linewidth=0, zorder=0.3)
        axes.plot(line.x, line.y, zorder=1.5, **looks["york"])
    if other is not None:
        axes.plot(other.x, other.y, zorder=1.3, **looks["ordinary"])


def _draw_spots(axes: Any, found: Sequence[Spot], frame: Frame) -> None:
    font = frame.size.font
    thin = [spot for spot in found if not spot.flagged]
    for color, alpha, group in ((LIGHT.neutral, 0.4, thin), *((s.color, 0.9, [s]) for s in found if s.flagged)):
        bars: list[Segment] = [((s.x_ends[0], s.y), (s.x_ends[1], s.y)) for s in group if s.x_ends]
        bars += [((s.x, s.y_ends[0]), (s.x, s.y_ends[1])) for s in group if s.y_ends]
        draw_segments(axes, bars, color=color, linewidth=0.09 * font, alpha=alpha, zorder=2)
    for spot in found:
        axes.plot([spot.x], [spot.y], zorder=4 if spot.flagged else 3, **marker_of(spot.kind, font))


def _write_names(axes: Any, names: Sequence[Name], frame: Frame) -> None:
    """Write names in shares of the axes, so that they stay where they are at any resolution."""
    for name in names:
        spot, box = name.spot, name.placed.box
        if name.placed.tie is not None:
            xs, ys = zip(frame.at(spot.x, spot.y), name.placed.tie, strict=True)
            tie = {"color": LIGHT.muted, "linewidth": 0.7, "zorder": 1.8, "transform": axes.transAxes}
            axes.plot([x / frame.wide for x in xs], [y / frame.tall for y in ys], **tie)
        left_of = box[2] <= frame.at(spot.x, spot.y)[0]
        axes.text(
            (box[2] if left_of else box[0]) / frame.wide,
            (box[1] + box[3]) / 2 / frame.tall,
            name.text,
            ha="right" if left_of else "left",
            va="center_baseline",
            transform=axes.transAxes,
            fontsize=frame.font,
            color=spot.color if spot.flagged else LIGHT.muted,
            weight="bold" if spot.flagged else "normal",
            parse_math=False,
            zorder=5,
        )


def _write_around(axes: Any, result: LabLiveGap, frame: Frame, notes: Sequence[str], n_keys: int) -> None:
    """Write what is up above the axes, what is across below them, and notes at the foot."""
    size, font = frame.size, frame.size.font
    style: dict[str, Any] = {
        "transform": axes.transAxes,
        "color": LIGHT.muted,
        "parse_math": False,
        "va": "center_baseline",
    }
    style["fontsize"] = _SMALL * font
    turned = ("" if side.higher_is_better else ", less is better" for side in (result.live, result.lab))
    up, across = (
        f"{name}: {side_words(side)}{words}"
        for name, side, words in zip(("↑ Live", "Lab"), (result.live, result.lab), turned, strict=True)
    )
    edge = -frame.left / frame.wide
    room = size.width / 1.12
    above = 1 + font * (1.0 + _KEY * n_keys) / frame.tall
    axes.text(edge, above, fitted(up, room, _SMALL * font), weight="bold", **style)
    below = -font * 2.3 / frame.tall
    axes.text(1.0, below, fitted(f"{across} →", frame.wide / 1.12, _SMALL * font), ha="right", weight="bold", **style)
    for place, note in enumerate(notes):
        axes.text(edge, -font * (3.7 + _LINE * place) / frame.tall, note, **style)


def _line_entries(
    result: LabLiveGap, frame: Frame, line: DrawnLine | None, other: DrawnLine | None
) -> list[tuple[str, str]]:
    entries = [("york", f"York's line, {100 * result.conf_level:g}% band")] if line is not None else []
    entries += [("ordinary", "least squares")] if other is not None else []
    return [*entries, ("identity", "live = lab")] if _identity(result, frame) is not None else entries


def _key_rows(
    found: Sequence[Spot], size: Size, lines: Sequence[tuple[str, str]]
) -> list[list[tuple[str, str, float]]]:
    """Return what the kinds of points and lines mean that are there, in as many rows as the width asks for."""
    words = {
        "worse": "worse than expected",
        "better": "better than expected",
        "aligned": "aligned",
        "open": "no gap shown",
        "bare": "no errors known",
    }
    if not any(key == "york" for key, _ in lines):
        words |= {"worse": "worse than in the lab", "better": "better than in the lab"}
        words["open"] = (
            "no difference shown" if any(spot.row.difference is not None for spot in found) else "not judged"
        )
    have = {spot.kind for spot in found}
    rows: list[list[tuple[str, str, float]]] = [[]]
    x = 0.0
    for key, said in [*((key, said) for key, said in words.items() if key in have), *lines]:
        width = text_width(said, _SMALL * size.font) + 2.7 * size.font
        if x and x + width > size.width:
            rows.append([])
            x = 0.0
        rows[-1].append((key, said, x))
        x += width
    return [row for row in rows if row]


def _write_keys(axes: Any, rows: Sequence[Sequence[tuple[str, str, float]]], frame: Frame) -> None:
    font, looks = frame.size.font, _looks(frame.size.font)
    for down, row in enumerate(rows):
        up = 1 + font * (0.95 + _KEY * (len(rows) - 1 - down)) / frame.tall
        for key, words, left in row:
            start = (left - frame.left + 0.1 * font) / frame.wide
            end = start + 1.3 * font / frame.wide
            look = looks.get(key)
            xs, more = ([start, end], look) if look is not None else ([(start + end) / 2], marker_of(key, font))
            axes.add_line(Line2D(xs, [up] * len(xs), transform=axes.transAxes, clip_on=False, **more))
            axes.text(
                end + 0.45 * font / frame.wide,
                up,
                words,
                transform=axes.transAxes,
                fontsize=_SMALL * font,
                color=LIGHT.ink,
                va="center_baseline",
                parse_math=False,
            )
