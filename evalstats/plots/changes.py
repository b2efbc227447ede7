"""From one number to another, a row each: steps that add up, arrows, and two shares of one thing."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure

from evalstats.document.numbers import number
from evalstats.plots.canvas import Extent, limits_of, point_style
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.rows import Line, MarkPanel, Marks, Words, further_columns, row_figure
from evalstats.plots.text import digits_within, with_interval


def waterfall(
    rows: object,
    *,
    title: str = "",
    digits: int | None = None,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw the way from one score to another in steps that add up.

    A step is a bar from where the last one ended: filled and coloured where its interval excludes 0, else a frame; the line
    on it is the interval of where it may end.

    Parameters
    ----------
    rows
        `label` and `estimate`; `kind` is "score", "step", "part" (of the step above, thin) or "mark" (beside the way); if
        known `conf_low`, `conf_high` (of the step, not of its end); and any of: `words`, `tone`.
    title
        What the axis measures.
    digits
        Decimals of the numbers where there are no `words`; by itself so many that three digits of the axis differ.

    Examples
    --------
    >>> rows = {"label": ["Lab", "Mix", "Live"], "kind": ["score", "step", "score"], "estimate": [70, -10, 60]}
    >>> [text.get_text() for text in waterfall(rows).axes[0].texts]
    ['Lab', 'Mix', 'Live', '70.0', '−10.0', '60.0']
    """
    table = columns_of(rows, "waterfall")
    table.need("estimate")
    table.need("kind")
    kinds, values = table.texts("kind"), [value or 0.0 for value in table.numbers("estimate")]
    starts = _starts(kinds, values)
    ends = [
        None if both is None else (start + both[0], start + both[1])
        for start, both in zip(starts, table.intervals(), strict=True)
    ]
    reach = [*starts, *(start + value for start, value in zip(starts, values, strict=True))]
    # Scores and marks start at 0, which need not be on the axis.
    known = [value for value, kind in zip(reach, kinds * 2, strict=True) if kind in ("step", "part")]
    known += [value for value, kind in zip(values, kinds, strict=True) if kind in ("score", "mark")]
    known += [end for both in ends if both for end in both]
    limits = limits_of(known)
    digits = digits_within(limits[1] - limits[0]) if digits is None else digits
    words = table.texts("words") if table.has("words") else _numbers(kinds, values, digits, [None] * table.n)
    said = _numbers(kinds, values, digits, table.intervals())
    lines = [
        Line(name=name, strong=kind == "score", faint=kind == "part", says=each, value=start + value)
        for name, kind, each, start, value in zip(table.names("label"), kinds, said, starts, values, strict=True)
    ]

    def draw(panel: MarkPanel) -> None:
        _draw_steps(panel, table, kinds, list(zip(starts, values, strict=True)), ends)

    marks = Marks(draw=draw, title=title, limits=limits)
    return row_figure(lines, [marks, Words(texts=words)], note=note, ax=ax, size=size)


def _numbers(
    kinds: Sequence[str], values: Sequence[float], digits: int, ends: Sequence[tuple[float, float] | None]
) -> list[str]:
    rows = zip(kinds, values, ends, strict=True)
    return [with_interval(value, both, digits, sign=kind in ("step", "part")) for kind, value, both in rows]


def _starts(kinds: Sequence[str], values: Sequence[float]) -> list[float]:
    """Return where each row starts: a step where the last one ended, its parts one after the other within it."""
    starts: list[float] = []
    at = inner = 0.0
    for kind, value in zip(kinds, values, strict=True):
        if kind == "step":
            starts.append(at)
            inner, at = at, at + value
        elif kind == "part":
            starts.append(inner)
            inner += value
        else:
            starts.append(0.0)
            at = value if kind == "score" else at
    return starts


def _draw_steps(
    panel: MarkPanel,
    table: Columns,
    kinds: Sequence[str],
    steps: Sequence[tuple[float, float]],
    ends: Sequence[tuple[float, float] | None],
) -> None:
    colors, font = panel.canvas.colors, panel.font
    tones, sizes = table.texts("tone"), table.intervals()
    chain = [place for place, kind in enumerate(kinds) if kind in ("score", "step")]
    for place, after in pairwise(chain):
        x = sum(steps[place])
        # Words stand between narrow rows: a tick below says where the next step begins.
        end = panel.levels[place] + 0.7 * font if panel.canvas.narrow else panel.levels[after]
        panel.axes.plot([x, x], [panel.levels[place], end], color=colors.muted, linewidth=0.07 * font, zorder=1)
    for place, kind in enumerate(kinds):
        start, end, both = steps[place][0], sum(steps[place]), sizes[place]
        settled = both is not None and both[0] * both[1] > 0
        color = panel.canvas.tone(tones[place] or "neutral") if settled else colors.neutral
        if kind in ("score", "mark"):
            color, settled = colors.ink, kind == "score"
        else:
            look: dict[str, Any] = {"facecolor": color if settled else colors.surface, "edgecolor": color}
            whole = kind == "step"
            low, high = sorted((start, end))
            panel.bar(place, low, high, 0.42 if whole else 0.2, alpha=0.55 if whole else 0.35, **look)
            panel.bar(
                place, low, high, 0.42 if whole else 0.2, facecolor="none", edgecolor=color, linewidth=0.07 * font
            )
        reach = ends[place]
        if reach is not None:
            panel.interval(place, *reach, color=color)
        look = point_style(colors, color, font, filled=settled, marker="D" if kind == "mark" else "o")
        panel.point(place, end, **{**look, "markersize": font * (0.34 if kind == "part" else 0.48)})


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
