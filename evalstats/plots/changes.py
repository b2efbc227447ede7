"""A row each: from one number to another, and shares of one thing."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from evalstats.document.numbers import number
from evalstats.plots.canvas import Extent, limits_of, point_style
from evalstats.plots.frame import columns_of
from evalstats.plots.rows import Line, MarkPanel, Marks, Words, further_columns, row_figure
from evalstats.plots.text import digits_within, with_interval


def dumbbell(
    rows: object,
    *,
    title: str = "",
    reference: float | None = None,
    columns: Mapping[str, str] | None = None,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw two numbers of each row: a hollow square where it starts, a point with its interval where it ends.

    Parameters
    ----------
    rows
        `label` (or `model`), `start`, `estimate`; if known `conf_low`, `conf_high` (of the second); and `loud` for a row
        that has no first number: a cross on ground of its own.
    title
        What the axis measures.
    reference
        Where nothing happens; None for none.
    columns
        Further columns of `rows` to write at the end of each row, with their headings.

    Examples
    --------
    >>> rows = {"label": ["law", "maths"], "start": [20, 0], "estimate": [35, 5], "loud": [False, True]}
    >>> len(dumbbell(rows).axes[0].child_axes)
    1
    """
    table = columns_of(rows, "dumbbell")
    table.need("start")
    table.need("estimate")
    starts, stops, loud = table.numbers("start"), table.numbers("estimate"), table.flags("loud")
    limits = limits_of([*starts, *stops, *table.numbers("conf_low"), *table.numbers("conf_high"), reference])

    def draw(panel: MarkPanel) -> None:
        colors, font = panel.canvas.colors, panel.font
        for place, (start, stop, both) in enumerate(zip(starts, stops, table.intervals(), strict=True)):
            color = colors.caution if loud[place] else colors.ink
            if loud[place]:
                panel.bar(place, *limits, 0.8, color=colors.caution, alpha=0.18, zorder=0.4)
            if start is not None and stop is not None and not loud[place]:
                level = [panel.levels[place]] * 2
                panel.axes.plot([start, stop], level, color=colors.line, linewidth=0.22 * font, zorder=1)
            if both is not None:
                panel.interval(place, *both, color=color)
            if stop is not None:
                panel.point(place, stop, **{**point_style(colors, color, font), "markersize": 0.48 * font})
            if start is not None:
                marker, edge = ("X", colors.caution) if loud[place] else ("s", colors.neutral)
                look = point_style(colors, edge, font, filled=loud[place], marker=marker)
                panel.point(place, start, **{**look, "markersize": 0.5 * font})

    axis = Marks(draw=draw, title=title, limits=limits, zero=reference)
    parts = [axis, *further_columns(table, columns, range(table.n), table.n)]
    digits, ends = digits_within(limits[1] - limits[0]), table.intervals()
    lines = [
        Line(
            name=name,
            strong=loud[place],
            says=f"{number(starts[place], digits)} → {with_interval(stops[place], ends[place], digits)}",
            value=stops[place],
        )
        for place, name in enumerate(table.names("label", "model"))
    ]
    return row_figure(lines, parts, note=note, ax=ax, size=size)


def bars(rows: object, *, title: str = "", note: str = "", ax: Any = None, size: Extent = None) -> Figure:
    """Draw a bar a row, as long as its share of the longest, with its number in words at the end of the row.

    Parameters
    ----------
    rows
        `label` (or `model`) and `estimate` (0 or more); and any of: `words` (what stands at the end of the row), `tone`,
        `faint` (nothing is there).
    title, note
        Lines above and below the bars.

    Examples
    --------
    >>> figure = bars({"label": ["items", "models"], "estimate": [0.6, 0.1], "words": ["60%", "10%"]})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['items', 'models', '60%', '10%']
    """
    table = columns_of(rows, "bars")
    table.need("estimate")
    values, tones, faint = table.numbers("estimate"), table.texts("tone"), table.flags("faint")
    words = table.texts("words") if table.has("words") else ["" if value is None else f"{value:g}" for value in values]
    longest = max((value for value in values if value), default=1.0)

    def draw(panel: MarkPanel) -> None:
        for place, value in enumerate(values):
            panel.bar(place, 0.0, value or 0.0, 0.42, color=panel.canvas.tone(tones[place] or "neutral"))

    names = table.names("label", "model")
    lines = [Line(name=name, faint=none, value=value) for name, none, value in zip(names, faint, values, strict=True)]
    axis = Marks(draw=draw, title=title, limits=(0.0, longest), ticks=(), zero=0.0)
    return row_figure(lines, [axis, Words(texts=words)], note=note, ax=ax, size=size)
