"""Shares and error rates as bars and points with their intervals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from evalstats.plots.canvas import SMALL, Canvas, Extent, Sheet, drawn, point_style, round_ticks
from evalstats.plots.frame import Columns, columns_of
from evalstats.plots.rows import Line, MarkPanel, Marks, Words, row_figure
from evalstats.plots.text import fitted_names, text_width, with_interval, wrapped


def bars(rows: object, *, title: str = "", note: str = "", ax: Any = None, size: Extent = None) -> Figure:
    """Draw a bar a row, as long as its share of the longest, with its number in words at its end.

    Parameters
    ----------
    rows
        `label` (or `model`) and `estimate` (0 or more); and any of: `words` (what stands at the end of the bar), `tone`,
        `faint` (nothing is there).
    title, note
        Lines above and below the bars.

    Examples
    --------
    >>> figure = bars({"label": ["items", "models"], "estimate": [0.6, 0.1], "words": ["60%", "10%"]})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['items', '60%', 'models', '10%']
    """
    table = columns_of(rows, "bars")
    table.need("estimate")
    values = [value or 0.0 for value in table.numbers("estimate")]
    words = table.texts("words") if table.has("words") else [f"{value:g}" for value in values]
    names, tones, faint = table.names("label", "model"), table.texts("tone"), table.flags("faint")

    def figure(sheet: Sheet) -> Canvas:
        heads = wrapped(title, sheet.width, SMALL * sheet.font, bold=True)
        notes = wrapped(note, sheet.width, SMALL * sheet.font)
        around = 1.25 * SMALL * (len(heads) + len(notes)) + 0.4
        sheet, row = sheet.squeezed(table.n, 3.0 if sheet.narrow else 1.9, around, 2.6 if sheet.narrow else 1.22)
        canvas = sheet.canvas(row * table.n + around * sheet.font)
        font, colors = canvas.font, canvas.colors
        top = 1.25 * SMALL * font * len(heads)
        canvas.small_lines(heads, 0.6 * font, weight="bold")
        widest = max(text_width(each, SMALL * font) for each in words) + 0.5 * font
        room = canvas.width if canvas.narrow else 0.5 * canvas.width
        shown = fitted_names(names, room, font)
        left = 0.0 if canvas.narrow else max(text_width(name, font) for name in shown) + font
        longest = (canvas.width - left - widest) / (max(values) or 1.0)
        for place, value in enumerate(values):
            level = top + row * (place + (0.68 if canvas.narrow else 0.5))
            canvas.text(0, top + row * place + 0.75 * font if canvas.narrow else level, shown[place])
            end = left + value * longest
            color = colors.line if faint[place] else canvas.tone(tones[place] or "neutral")
            canvas.base.fill_between([left, end], level - 0.42 * font, level + 0.42 * font, color=color, linewidth=0)
            canvas.line([left] * 2, [level - 0.6 * font, level + 0.6 * font], color=colors.muted, linewidth=0.08 * font)
            ink = colors.muted if faint[place] else colors.ink
            canvas.text(end + 0.5 * font, level, words[place], letters=SMALL, color=ink)
            canvas.tooltip(names[place], words[place], (0.0, top + row * place, canvas.width, row), end)
        canvas.small_lines(notes, top + row * table.n + 0.6 * font)
        return canvas

    return drawn(ax, size, figure)


LEAST = 0.005  # smaller error rates are drawn here on a logarithmic axis
_TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def rates(
    rows: object,
    *,
    nominal: float,
    title: str = "",
    band: tuple[float, float] | None = None,
    limits: tuple[float, float] | None = None,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw rates between 0 and 1 in rows against the promised rate.

    Several rows of the frame with one `label` are one row of the figure. One or two dots show their intervals as bars; more
    are dots alone.

    Parameters
    ----------
    rows
        `label` and `estimate`; if known `conf_low`, `conf_high`; and any of: `group` (a heading), `ours` (filled and in
        colour), `words` (what stands at the end of the row; the first of its dots says it).
    nominal
        The rate that is promised: a line.
    title
        What is counted.
    band
        The range that is accepted.
    limits
        The ends of the axis; by itself it is logarithmic from 0.5% on.

    Examples
    --------
    >>> figure = rates({"label": ["Wilson", "Wald"], "estimate": [0.048, 0.09], "words": ["4.8%", "9%"]}, nominal=0.05)
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['Wilson', 'Wald', '4.8%', '9%']
    """
    table = columns_of(rows, "rates")
    table.need("estimate")
    lines, dots = _lines(table)
    lines = [
        line if line.heading else replace(line, says=_tooltip_words(table, own))
        for line, own in zip(lines, dots, strict=True)
    ]
    words = [table.texts("words")[own[0]] if own else "" for own in dots]
    most = max((value for name in ("estimate", "conf_high") for value in table.numbers(name) if value), default=0.1)
    log = limits is None
    ticks = [tick for tick in _TICKS if tick <= 0.1 or tick <= 2 * most] if limits is None else round_ticks(*limits)
    marks = Marks(
        draw=lambda panel: _draw(panel, table, dots, log=log),
        title=title,
        limits=(0.88 * LEAST, 1.12 * ticks[-1]) if limits is None else limits,
        ticks=ticks,
        write=lambda value: f"{100 * value:g}%",
        zero=nominal,
        band=band,
        log=log,
    )
    return row_figure(lines, [marks, Words(texts=words)], note=note, ax=ax, size=size)


def _tooltip_words(table: Columns, own: Sequence[int]) -> str:
    """Return what a row tells a pointer: its one or two rates with their intervals, of more the lowest and the highest."""
    values, ends = table.numbers("estimate"), table.intervals()
    known = [row for row in own if values[row] is not None]
    if len(known) > 2:
        known = [pick(known, key=lambda row: values[row] or 0.0) for pick in (min, max)]
    percents = [
        with_interval(
            100 * (values[row] or 0.0), None if (both := ends[row]) is None else (100 * both[0], 100 * both[1]), 1
        )
        for row in known
    ]
    return f"{(' to ' if len(own) > 2 else ' and ').join(percents)} (percent)" if percents else "no rate"


def _lines(table: Columns) -> tuple[list[Line], list[list[int]]]:
    """Return the lines, and which rows of the frame are dots of each."""
    groups, ours = table.texts("group"), table.flags("ours")
    lines: list[Line] = []
    dots: list[list[int]] = []
    before: tuple[str, str] | None = None
    for place, name in enumerate(table.names("label", "model")):
        if groups[place] and (before is None or before[0] != groups[place]):
            lines.append(Line(name=groups[place], heading=True))
            dots.append([])
        if (groups[place], name) != before:
            lines.append(Line(name=name, strong=ours[place]))
            dots.append([])
        dots[-1].append(place)
        before = (groups[place], name)
    return lines, dots


def _draw(panel: MarkPanel, table: Columns, dots: Sequence[Sequence[int]], *, log: bool) -> None:
    colors, font = panel.canvas.colors, panel.font
    values, ends, ours = table.numbers("estimate"), table.intervals(), table.flags("ours")

    def at(value: float) -> float:
        return max(value, LEAST) if log else value

    for line, own in enumerate(dots):
        several = len(own) > 2
        for turn, row in enumerate(own):
            value, both = values[row], ends[row]
            shift = 0.22 * ((turn * 2) % 5 - 2) / 2 if several else 0.28 * (2 * turn - len(own) + 1)
            level = panel.levels[line] + shift * font
            color = colors.good if ours[row] else colors.neutral
            if both is not None and not several:
                panel.axes.plot([at(both[0]), at(both[1])], [level] * 2, color=color, linewidth=0.15 * font, zorder=2)
            if value is not None:
                look = point_style(colors, color, font, filled=ours[row])
                look |= {
                    "markeredgecolor": colors.surface if ours[row] and several else color,
                    "markersize": 0.52 * font,
                }
                panel.axes.plot([at(value)], [level], **{**look, "markeredgewidth": 0.09 * font}, zorder=3 + ours[row])
