"""Shares as bars."""

from typing import Any

from matplotlib.figure import Figure

from evalstats.plots.canvas import SMALL, Canvas, Extent, Sheet, drawn
from evalstats.plots.frame import columns_of
from evalstats.plots.text import fitted_names, text_width, wrapped


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
