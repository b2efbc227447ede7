"""What is known of every pair: a mark for each, in a triangle of all models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from evalstats.plots.canvas import SMALL, Canvas, Extent, Segment, Sheet, draw_segments, drawn
from evalstats.plots.frame import columns_of
from evalstats.plots.lettering import fitted, fitted_names, text_width, wrapped

_TRIANGLE: list[Segment] = [((-0.3, 0.0), (0.25, -0.3)), ((0.25, -0.3), (0.25, 0.3)), ((0.25, 0.3), (-0.3, 0.0))]
# Each mark as strokes about the middle of its cell, and how thick they are, in shares of the cell.
_STROKES: dict[str, tuple[list[Segment], float]] = {
    "square": ([((-0.36, 0.0), (0.36, 0.0))], 0.72),
    "cross": ([((-0.36, -0.36), (0.36, 0.36)), ((-0.36, 0.36), (0.36, -0.36))], 0.24),
    "left": (_TRIANGLE, 0.07),
    "right": ([((-x0, y0), (-x1, y1)) for (x0, y0), (x1, y1) in _TRIANGLE], 0.07),
    "dot": ([((-0.09, 0.0), (0.09, 0.0))], 0.18),
}
_WIDEST, _LEAST_ROW = 2.0, 1.16  # a cell at most, a row at least, in letters' heights
_NAMES = 0.34  # share of the width that names may take


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """One kind of pair: its mark, its tone, what it means, and the cells (row, column) where it stands."""

    mark: str
    tone: str
    words: str
    cells: Sequence[tuple[int, int]]


def pairs(
    rows: object,
    *,
    kinds: Mapping[str, tuple[str, str, str]],
    order: Sequence[str] = (),
    counts: Mapping[str, int] | None = None,
    note: str = "",
    ax: Any = None,
    size: Extent = None,
) -> Figure:
    """Draw a mark for every pair of models; each model's name stands at the end of its row, above its column.

    Parameters
    ----------
    rows
        A row for each pair: `model_a`, `model_b`, `kind`.
    kinds
        What each kind looks like: its mark ("square", "cross", "left", "right", "dot"), its tone, and what it means, in the
        order of the key.
    order
        The models from the first to the last; by itself as they appear.
    counts
        How many pairs of each kind the key says there are, where not all are drawn.

    Examples
    --------
    >>> rows = {"model_a": ["a"], "model_b": ["b"], "kind": ["same"]}
    >>> [text.get_text() for text in pairs(rows, kinds={"same": ("square", "good", "same order")}).axes[0].texts]
    ['1', 'same order', 'a', 'b']
    """
    table = columns_of(rows, "pairs")
    one, other, kind = table.names("model_a"), table.names("model_b"), table.names("kind")
    names = list(order) or list(dict.fromkeys([*one, *other]))
    place = {name: row for row, name in enumerate(names)}
    cells: dict[str, list[tuple[int, int]]] = {name: [] for name in kinds}
    for a, b, key in zip(one, other, kind, strict=True):
        if a in place and b in place and key in cells:
            low, high = sorted((place[a], place[b]))
            cells[key].append((high, low))
    found = [_Kind(mark=m, tone=t, words=w, cells=cells[key]) for key, (m, t, w) in kinds.items()]
    numbers = [len(cells[key]) if counts is None else counts.get(key, 0) for key in kinds]
    return drawn(ax, size, lambda sheet: _draw(sheet, names, found, numbers, note))


def _draw(sheet: Sheet, names: Sequence[str], kinds: Sequence[_Kind], numbers: Sequence[int], note: str) -> Canvas:
    n, notes = len(names), wrapped(note, sheet.width, SMALL * sheet.font)
    around = len(kinds) * 1.4 + 1.0 + 1.25 * SMALL * len(notes) + 0.3
    font = sheet.font
    widest = min(max(text_width(name, SMALL * font) for name in names), _NAMES * sheet.width)
    wide = min((sheet.width - widest - 0.8 * font) / n, _WIDEST * font)
    sheet, tall = sheet.squeezed(n, max(min(wide / font, 1.5), _LEAST_ROW), around)
    canvas = sheet.canvas(tall * n + around * sheet.font)
    font, top = canvas.font, (len(kinds) * 1.4 + 1.0) * canvas.font
    _draw_rules(canvas, top, wide, tall, n)
    for kind in kinds:
        at = [((across + 0.5) * wide, top + (down + 0.5) * tall) for down, across in kind.cells]
        _draw_marks(canvas, kind, at, min(wide, tall))
    _write_key(canvas, kinds, numbers)
    letters = min(SMALL, tall / 1.15 / font)
    shown = fitted_names(names, canvas.width - n * wide - 0.6 * font, letters * font)
    for down, name in enumerate(shown):
        canvas.text((down + 0.2) * wide + 0.3 * font, top + (down + 0.5) * tall, name, letters=letters)
    canvas.small_lines(notes, top + n * tall + 0.6 * font)
    for kind in kinds:
        for down, across in kind.cells:
            canvas.spot(names[down], f"{names[across]}, {kind.words}", (across * wide, top + down * tall, wide, tall))
    return canvas


def _draw_rules(canvas: Canvas, top: float, wide: float, tall: float, n: int) -> None:
    """Draw thin lines along every fifth row and column, so that an eye finds its way from a mark to both names."""
    lines: list[Segment] = []
    for place in range(0, n, 5):
        x, y = (place + 0.5) * wide, top + (place + 0.5) * tall
        lines += [((0.0, y), (x, y)), ((x, y), (x, top + n * tall))]
    draw_segments(canvas.base, lines, color=canvas.colors.line, linewidth=0.06 * canvas.font, zorder=0.5)


def _draw_marks(canvas: Canvas, kind: _Kind, at: Sequence[tuple[float, float]], side: float) -> None:
    """Draw the pairs of a kind as one path: a marker each would be a hundred letters of SVG for up to 1,770 pairs."""
    strokes, width = _STROKES[kind.mark]
    lines: list[Segment] = [
        ((x + side * x0, y + side * y0), (x + side * x1, y + side * y1))
        for x, y in at
        for (x0, y0), (x1, y1) in strokes
    ]
    cap = "projecting" if kind.mark in ("left", "right") else "butt"
    look = {"color": canvas.tone(kind.tone), "linewidth": width * side, "solid_capstyle": cap}
    draw_segments(canvas.base, lines, zorder=3 if kind.mark == "cross" else 2, **look)


def _write_key(canvas: Canvas, kinds: Sequence[_Kind], numbers: Sequence[int]) -> None:
    """Write what each mark means and how many there are, above the marks."""
    font = canvas.font
    widest = max(text_width(f"{count:,}", SMALL * font, bold=True) for count in numbers)
    for down, (kind, count) in enumerate(zip(kinds, numbers, strict=True)):
        y = (0.8 + 1.4 * down) * font
        _draw_marks(canvas, kind, [(0.6 * font, y)], font)
        loud = kind.tone == "bad" and count > 0
        style: dict[str, Any] = {"letters": SMALL, "color": canvas.colors.ink if count else canvas.colors.muted}
        style["weight"] = "bold" if loud else "normal"
        x = 2.0 * font + widest
        canvas.text(1.5 * font + widest, y, f"{count:,}", align="right", **style)
        canvas.text(x, y, fitted(kind.words, canvas.width - x, SMALL * font, bold=loud), **style)
