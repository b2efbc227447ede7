"""Figures of ways of sampling: how the order of models gets right while votes come in, and room for rows of differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from evalstats.document.escape import one_line
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

_PANEL = 15.0  # height of a panel, in lines of text
_LINE = 1.7  # height of a line of the key
# One colour a kind of rule, solid and dashed: told apart without colour too.
_STROKES: tuple[tuple[str, Any, str], ...] = (
    (LIGHT.ink, "solid", "o"),
    (LIGHT.good, "solid", "s"),
    (LIGHT.good, (0, (3, 2)), "D"),
    (LIGHT.bad, "solid", "P"),
    (LIGHT.caution, "solid", "^"),
    (LIGHT.caution, (0, (3, 2)), "v"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderLine:
    """One way of sampling: votes and the percentage of pairs in the right order at each."""

    label: str
    votes: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderPanel:
    """One world: its name and its lines, random pairs first; at most six."""

    title: str
    lines: tuple[OrderLine, ...]


def order_curves(panels: Sequence[OrderPanel], *, medium: Medium = "screen") -> Figure:
    """Draw the percentage of pairs in the right order over the number of votes (logarithmic).

    Parameters
    ----------
    panels
        From left to right; on a phone from top to bottom. All have the same lines.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is no panel, or a panel has no line or more than six.

    Examples
    --------
    >>> line = OrderLine(label="random", votes=(600.0, 6000.0), values=(83.0, 94.0))
    >>> len(order_curves([OrderPanel(title="spread out", lines=(line,))]).axes)
    1
    """
    if not panels or any(not 0 < len(panel.lines) <= len(_STROKES) for panel in panels):
        message = f"curves of order need a panel, and one to {len(_STROKES)} lines in each"
        raise ValueError(message)
    size = SIZES[medium]
    keys = _key_rows(panels[0].lines, size)
    head = (len(keys) * _LINE + 0.6) * size.font
    height = head + _PANEL * size.font * (len(panels) if size.stacked else 1)
    with house_style():
        figure = new_figure(size, height)
        _draw_key(figure, keys, size, height)
        for place, panel in enumerate(panels):
            axes = untyped(figure).add_axes(_box(place, len(panels), size, height, head))
            _draw(axes, panel, size)
    return figure


def order_curves_alt(panels: Sequence[OrderPanel]) -> str:
    """Describe `order_curves` in words: every line by its first and last value.

    Examples
    --------
    >>> line = OrderLine(label="random", votes=(600.0, 6000.0), values=(83.0, 94.0))
    >>> order_curves_alt([OrderPanel(title="spread out", lines=(line,))])
    'Pairs in the right order. spread out: random 83.0% at 600 votes, 94.0% at 6,000.'
    """
    said = [
        f"{panel.title}: "
        + "; ".join(
            f"{line.label} {line.values[0]:.1f}% at {line.votes[0]:,.0f} votes, {line.values[-1]:.1f}% at {line.votes[-1]:,.0f}"
            for line in panel.lines
        )
        for panel in panels
    ]
    return one_line(f"Pairs in the right order. {'. '.join(said)}.")


def _key_rows(lines: Sequence[OrderLine], size: Size) -> list[list[tuple[int, str, float]]]:
    """Return the key in rows: the line's number, its label, and where it begins (pixels)."""
    rows: list[list[tuple[int, str, float]]] = [[]]
    at = 0.0
    for place, line in enumerate(lines):
        needed = (2.9 + 0.58 * len(line.label) + 1.2) * size.font
        if rows[-1] and at + needed > size.width:
            rows.append([])
            at = 0.0
        rows[-1].append((place, line.label, at))
        at += needed
    return rows


def _draw_key(figure: Figure, rows: Sequence[Sequence[tuple[int, str, float]]], size: Size, height: float) -> None:
    for number, row in enumerate(rows):
        level = 1.0 - (number + 0.5) * _LINE * size.font / height
        for place, label, at in row:
            color, style, marker = _STROKES[place]
            ends = [at / size.width, (at + 2.2 * size.font) / size.width]
            untyped(figure).add_artist(
                Line2D(
                    ends,
                    [level, level],
                    color=color,
                    linestyle=style,
                    linewidth=size.font * 0.15,
                    marker=marker,
                    markersize=size.font * 0.42,
                )
            )
            untyped(figure).text(
                ends[1] + 0.5 * size.font / size.width, level, label, va="center_baseline", fontsize=size.font,
                color=LIGHT.ink, parse_math=False,
            )  # fmt: skip


def _box(place: int, panels: int, size: Size, height: float, head: float) -> tuple[float, float, float, float]:
    """Return left, bottom, width and height of a panel, as shares of the figure."""
    left, right, top, bottom = 3.6 * size.font, 1.2 * size.font, 2.4 * size.font, 3.4 * size.font
    across, down = (1, panels) if size.stacked else (panels, 1)
    each, tall = size.width / across, (height - head) / down
    column, row = (0, place) if size.stacked else (place, 0)
    return (
        (column * each + left) / size.width,
        (height - head - (row + 1) * tall + bottom) / height,
        (each - left - right) / size.width,
        (tall - top - bottom) / height,
    )


def _draw(axes: Any, panel: OrderPanel, size: Size) -> None:
    font = size.font
    axes.patch.set_visible(False)
    axes.set_xscale("log")
    votes = panel.lines[0].votes
    axes.set_xlim(votes[0] * 0.9, votes[-1] * 1.1)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT.line)
    axes.grid(axis="y", color=LIGHT.line, linewidth=0.8)
    axes.set_axisbelow(True)
    for line, (color, style, marker) in zip(panel.lines, _STROKES, strict=False):
        axes.plot(
            line.votes, line.values, color=color, linestyle=style, linewidth=font * 0.15, marker=marker,
            markersize=font * 0.42, clip_on=False,
        )  # fmt: skip
    ticks = [votes[0], votes[len(votes) // 2], votes[-1]]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([f"{tick:,.0f}" for tick in ticks])
    axes.yaxis.set_major_formatter(_percent)
    axes.tick_params(length=0, pad=5, labelsize=font * 0.88, labelcolor=LIGHT.muted)
    axes.set_xlabel("Votes", fontsize=font * 0.92, color=LIGHT.muted, labelpad=5, parse_math=False)
    axes.text(
        -2.9 * font / axes.bbox.width, 1.0 + 0.9 * font / axes.bbox.height, panel.title, transform=axes.transAxes,
        fontsize=font, color=LIGHT.ink, weight="bold", parse_math=False,
    )  # fmt: skip


def _percent(value: float, _place: int | None = None) -> str:
    return f"{value:g}%"
