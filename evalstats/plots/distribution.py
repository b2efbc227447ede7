"""How values lie: a cloud of their density, a box of their quartiles, and a rain of the values themselves."""

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from evalstats.document.numbers import number
from evalstats.errors import InputError
from evalstats.plots.canvas import (
    SMALL,
    Canvas,
    Extent,
    Sheet,
    drawn,
    kept_apart,
    limits_of,
    point_style,
    round_ticks,
    set_ticks,
    tick_words,
)
from evalstats.plots.frame import columns_of
from evalstats.plots.text import digits_within, text_width, wrapped

Floats = NDArray[np.float64]

_FEW = 15  # so many distinct values are bars; of more the density is smoothed
_DROPS = 400  # of more values every drop stands for several
_CLOUD, _BOX, _RAIN = 6.5, 1.9, 3.4  # in letters' heights
_GOLDEN = 0.6180339887498949  # drops are spread evenly by its multiples, alike every time


def raincloud(
    rows: object,
    *,
    title: str = "",
    sides: tuple[str, str] | None = None,
    reference: float | None = 0.0,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw how values lie: their density above, a box of their quartiles with the mean, and the values below.

    Up to 15 distinct values are bars; of more the density is smoothed by a Gaussian kernel of Silverman's width.

    Parameters
    ----------
    rows
        A row for each value: `estimate`; and `n`, how often it occurs, if it does so several times.
    title
        What the values are.
    sides
        What lies left and right of the reference.
    reference
        A value that is marked by a line; None for none.

    Examples
    --------
    >>> figure = raincloud({"estimate": [-1, 0, 1, 2], "n": [3, 10, 6, 1]}, title="Differences of items")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['Differences of items', 'median 0.00, mean +0.25']
    """
    table = columns_of(rows, "raincloud")
    table.need("estimate")
    counted = table.numbers("n") if table.has("n") else [1.0] * table.n
    known = [(value, n) for value, n in zip(table.numbers("estimate"), counted, strict=True) if value is not None and n]
    if not known or any(n < 0 for _, n in known):
        raise InputError(
            "raincloud needs values in column 'estimate', and counts above 0 in column 'n'; found none, or less"
        )
    order = sorted(known)
    values, counts = (np.array([row[place] for row in order], dtype=np.float64) for place in (0, 1))
    low, high = limits_of([float(values[0]), float(values[-1]), reference], 0.06)
    digits = min(digits_within(high - low), 2)
    middle, mean = _quantile(values, counts, 0.5), float(np.average(values, weights=counts))
    said = f"median {number(middle, digits, sign=True)}, mean {number(mean, digits, sign=True)}"

    def figure(sheet: Sheet) -> Canvas:
        font = sheet.font
        room = sheet.width - text_width(said, font, bold=True) - font
        heads = wrapped(title, room, SMALL * font, bold=True)
        apart = len(heads) not in (1, 2) or room < 10 * font
        heads = wrapped(title, sheet.width, SMALL * font, bold=True) if apart else heads
        notes = wrapped(note, sheet.width, SMALL * font)
        top = font * (1.3 * SMALL * len(heads) + (1.4 if apart else 0.2) + 0.4)
        foot = font * ((3.0 if sides else 1.9) + 1.25 * SMALL * len(notes))
        tall = (_CLOUD + _BOX + _RAIN) * font
        if sheet.most is not None:
            tall = sheet.most - top - foot if sheet.height is not None else min(tall, sheet.most - top - foot)
            tall = max(tall, 5 * font)
        canvas = sheet.canvas(top + tall + foot)
        bottom = top + tall
        canvas.small_lines(heads, 0.6 * font, step=1.3, weight="bold")
        canvas.text(canvas.width, top - 0.8 * font if apart else 0.6 * font, said, align="right", weight="bold")
        axes = canvas.panel(0.6 * font, top, canvas.width - 0.6 * font, bottom, "raincloud")
        wide = canvas.width - 1.2 * font
        axes.set_xlim(low, high)
        axes.set_ylim(-(_BOX + _RAIN), _CLOUD)
        _draw_cloud(axes, canvas, values, counts)
        _draw_box(axes, canvas, values, counts)
        _draw_rain(axes, canvas, values, counts)
        first, third = (_quantile(values, counts, share) for share in (0.25, 0.75))
        quartiles = f"{number(first, digits, sign=True)} and {number(third, digits, sign=True)}"
        words_of_box = f"median {number(middle, digits, sign=True)}, quartiles {quartiles}"
        canvas.tooltip("Values", words_of_box, (0.6 * font, top, wide, tall))
        if reference is not None:
            axes.axvline(reference, color=canvas.colors.ink, linewidth=0.09 * font, zorder=1.6)
        ticks = round_ticks(low, high, 6)
        words = [tick_words(tick, sign=reference == 0.0) for tick in ticks]
        kept = kept_apart(
            ticks,
            words,
            lambda tick: (tick - low) / (high - low) * wide,
            SMALL * font,
            gap=0.6 * font,
            within=(0, wide),
        )
        set_ticks(axes, "x", [ticks[place] for place in kept], [words[place] for place in kept])
        for words_of, x, align in zip(sides or (), (0.0, canvas.width), ("left", "right"), strict=False):
            canvas.text(x, bottom + 2.0 * font, words_of, align=align, letters=SMALL, color=canvas.colors.muted)
        canvas.small_lines(notes, bottom + font * (3.2 if sides else 2.1))
        return canvas

    return drawn(ax, size, figure)


def _quantile(values: Floats, counts: Floats, share: float) -> float:
    """Return a quantile of sorted values that occur so often: the first up to which that share of them lies."""
    place = np.count_nonzero(np.cumsum(counts) < share * counts.sum())
    return float(values[min(place, values.size - 1)])


def _draw_cloud(axes: Any, canvas: Canvas, values: Floats, counts: Floats) -> None:
    """Draw the density, as high as the room: bars of few distinct values, else a smooth line."""
    room, style = 0.92 * _CLOUD, {"color": canvas.colors.neutral, "alpha": 0.35, "linewidth": 0}
    (left, right), edge = axes.get_xlim(), canvas.colors.neutral
    if values.size <= _FEW:
        levels = list(map(float, values))
        gap = min((after - before for before, after in pairwise(levels)), default=0.2 * (right - left))
        half = min(0.4 * gap, 0.03 * (right - left))
        for value, n in zip(values, counts, strict=True):
            top = room * float(n / counts.max())
            axes.fill_between([value - half, value + half], 0.0, top, zorder=1.2, **style)
        return
    mean = np.average(values, weights=counts)
    spread = float(np.sqrt(np.average(np.square(values - mean), weights=counts)))
    middle_half = (_quantile(values, counts, 0.75) - _quantile(values, counts, 0.25)) / 1.349
    width = 0.9 * min(spread, middle_half or spread) * float(counts.sum()) ** -0.2
    at: Floats = np.linspace(float(left), float(right), 256)
    heights = (counts * np.exp(-0.5 * np.square((at[:, None] - values) / width))).sum(axis=1)
    heights *= room / heights.max()
    axes.fill_between(at, 0.0, heights, zorder=1.2, **style)
    axes.plot(at, heights, color=edge, linewidth=0.11 * canvas.font, zorder=1.3)


def _draw_box(axes: Any, canvas: Canvas, values: Floats, counts: Floats) -> None:
    """Draw the middle half as a box with its median, the middle nine tenths as a line, and the mean as a diamond."""
    font, ink, level = canvas.font, canvas.colors.ink, -0.5 * _BOX
    low, first, middle, third, high = (_quantile(values, counts, share) for share in (0.05, 0.25, 0.5, 0.75, 0.95))
    half = 0.26 * _BOX
    axes.plot([low, high], [level, level], color=ink, linewidth=0.1 * font, zorder=2)
    style = {"color": canvas.colors.surface, "edgecolor": ink, "linewidth": 0.1 * font}
    axes.fill_between([first, third], level - half, level + half, zorder=2.1, **style)
    axes.plot([middle, middle], [level - half, level + half], color=ink, linewidth=0.22 * font, zorder=2.2)
    mean = float(np.average(values, weights=counts))
    axes.plot(
        [mean], [level], zorder=2.4, **{**point_style(canvas.colors, ink, font, marker="D"), "markersize": 0.5 * font}
    )


def _draw_rain(axes: Any, canvas: Canvas, values: Floats, counts: Floats) -> None:
    """Draw each value as a drop; of many, every drop stands for equally many."""
    drops = _drops(values, counts)
    heights = -_BOX - _RAIN * (0.12 + 0.8 * np.mod(_GOLDEN * np.arange(1, drops.size + 1), 1.0))
    style = {"marker": "o", "linestyle": "none", "markersize": 0.3 * canvas.font, "markeredgewidth": 0}
    axes.plot(drops, heights, color=canvas.colors.neutral, alpha=0.55, zorder=1.4, **style)


def _drops(values: Floats, counts: Floats) -> Floats:
    """Return the values of the drops: all, or evenly spaced ranks of many."""
    ends = np.cumsum(counts)
    n = min(max(round(float(ends[-1])), 1), _DROPS)
    ranks = (np.arange(n) + 0.5) * float(ends[-1]) / n
    return values[np.minimum(np.searchsorted(ends, ranks), values.size - 1)]
