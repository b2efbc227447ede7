"""What joins models, such as the votes between them, as lines on a ring."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, cos, pi, sin, sqrt
from typing import Any

from matplotlib.figure import Figure

from evalstats.grammar import and_list
from evalstats.plots.canvas import SMALL, Canvas, Extent, Segment, Sheet, draw_segments, drawn
from evalstats.plots.frame import columns_of
from evalstats.plots.text import Room, fitted, fitted_names, spread, text_width, wrapped

_STEP = 1.35  # of two names beside each other, in letters' heights
_LEAST = 10.0  # of a ring, in letters' heights
_RING_NAMES = 0.34  # share of the width that names of one side may take
_SHADES = 5
_FEW_LINES = 6  # so many lines carry their numbers
_MOST_TOLD = 5  # so many others a point names


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ring:
    """One part: its points clockwise from the top, in pixels from the top left of the figure."""

    title: str
    rows: Sequence[int]
    middle: tuple[float, float]
    radii: tuple[float, float]
    top: float

    def at(self, place: int) -> tuple[float, float]:
        """Return where a point stands."""
        if len(self.rows) == 1:
            return self.middle
        angle = 2 * pi * (place + 0.5) / len(self.rows)
        return self.middle[0] + self.radii[0] * sin(angle), self.middle[1] - self.radii[1] * cos(angle)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edge:
    one: int
    other: int
    n: float
    dashed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graph:
    names: Sequence[str]
    weak: Sequence[bool]
    parts: Sequence[tuple[str, Sequence[int]]]
    edges: Sequence[_Edge]
    note: str


def network(rows: object, *, edges: object, note: str = "", ax: Any = None, size: Extent = None) -> Figure:
    """Draw points on a ring and lines between them, the darker and thicker the more two have in common.

    Points of one part stand on one ring, clockwise in the order of the rows; nothing is placed by chance. With few lines each
    has its number.

    Parameters
    ----------
    rows
        A row for each point: `model` (or `label`); and any of: `part` (points of one ring, under this heading where there
        are several), `weak` (a square in the colour of what is bad).
    edges
        A row for each line: `first`, `second` (names of points) and `n`; and `dashed` for one that is too weak to count.

    Examples
    --------
    >>> figure = network({"model": ["a", "b"]}, edges={"first": ["a"], "second": ["b"], "n": [20]})
    >>> sorted(text.get_text() for text in figure.axes[0].texts)
    ['20', 'a', 'b']
    """
    table, lines = columns_of(rows, "network"), columns_of(edges, "the edges of a network", empty=True)
    names = table.names()
    order = {name: place for place, name in enumerate(names)}
    ends = list(zip(lines.names("first"), lines.names("second"), strict=True)) if lines.n else []
    found = [
        _Edge(one=order[one], other=order[other], n=n or 0.0, dashed=dashed)
        for (one, other), n, dashed in zip(ends, lines.numbers("n"), lines.flags("dashed"), strict=True)
        if one in order and other in order
    ]
    part = table.texts("part")
    graph = _Graph(
        names=names,
        weak=table.flags("weak"),
        parts=[(title, [row for row in range(table.n) if part[row] == title]) for title in dict.fromkeys(part)],
        edges=found,
        note=note,
    )
    return drawn(ax, size, lambda sheet: _draw_network(sheet, graph))


_LOWEST = 0.8  # by what factor rings may become lower where a height is given, so that names keep apart


def _draw_network(sheet: Sheet, graph: _Graph) -> Canvas:
    rings, below = _rings(sheet, graph)
    notes = wrapped(graph.note, sheet.width, SMALL * sheet.font)
    height = below + (1.25 * SMALL * len(notes) + 0.2) * sheet.font
    if sheet.most is not None and height != sheet.most and (sheet.height is not None or height > sheet.most):
        least = 0.0 if sheet.height is None else _LOWEST
        rings, below = _rings(sheet, graph, max((sheet.most - height + below) / below, least))
    canvas = sheet.canvas(below + height - _rings(sheet, graph)[1])
    for ring in rings:
        _draw_ring(canvas, ring, graph)
    canvas.small_lines(notes, below + 0.6 * canvas.font)
    return canvas


def _rings(sheet: Sheet, graph: _Graph, shrink: float = 1.0) -> tuple[list[_Ring], float]:
    """Return the rings from top to bottom, and where the last of them ends."""
    font, top = sheet.font, 0.0
    rings: list[_Ring] = []
    several = len(graph.parts) > 1
    for title, rows in graph.parts:
        widest = max(text_width(graph.names[row], SMALL * font) for row in rows)
        names = min(widest, _RING_NAMES * sheet.width) + 1.8 * font
        tall = max(_STEP * font * (len(rows) / 2 + 1), _LEAST * font if len(rows) > 2 else 3 * font) * shrink
        across = max(min(sheet.width / 2 - names, 0.62 * tall + 4 * font), 2 * font)
        head = (1.9 if several and title else 0.4) * font
        rings.append(
            _Ring(
                title=title if several else "",
                rows=rows,
                middle=(sheet.width / 2, top + head + tall / 2),
                radii=(across, tall / 2 - 0.8 * font),
                top=top,
            )
        )
        top += head + tall + 0.5 * font
    return rings, top


def _draw_ring(canvas: Canvas, ring: _Ring, graph: _Graph) -> None:
    font, colors = canvas.font, canvas.colors
    places = {row: ring.at(place) for place, row in enumerate(ring.rows)}
    canvas.text(0, ring.top + 1.0 * font, fitted(ring.title, canvas.width, font, bold=True), weight="bold")
    _draw_lines(canvas, [edge for edge in graph.edges if edge.one in places and edge.other in places], places)
    for row, (x, y) in places.items():
        weak = graph.weak[row]
        look: dict[str, Any] = {"markerfacecolor": colors.bad if weak else colors.ink, "linestyle": "none"}
        look |= {"markeredgecolor": colors.surface, "markeredgewidth": 0.08 * font, "zorder": 4}
        canvas.base.plot([x], [y], marker="s" if weak else "o", markersize=0.56 * font, **look)
    written_at = _write_names(canvas, ring, places, graph)
    # Neighbours on a ring stand a chord apart; their rooms must not meet.
    chord = 2 * min(ring.radii) * sin(pi / len(ring.rows)) if len(ring.rows) > 1 else 4 * font
    reach = min(0.9 * font, max(chord / 2.9, 0.3 * font))
    for row, (x, y) in places.items():
        canvas.tooltip(
            graph.names[row],
            _tooltip_words(graph, row),
            (x - reach, y - reach, 2 * reach, 2 * reach),
            x,
            written_at[row],
        )


def _tooltip_words(graph: _Graph, row: int) -> str:
    """Return what a point tells a pointer: what it has in common with which others, most first."""
    joined = [
        (edge, edge.other if edge.one == row else edge.one) for edge in graph.edges if row in (edge.one, edge.other)
    ]
    joined.sort(key=lambda pair: -pair[0].n)
    return (
        and_list([f"{edge.n:,.0f} with {graph.names[other]}" for edge, other in joined], _MOST_TOLD)
        if joined
        else "no line"
    )


def _draw_lines(canvas: Canvas, edges: Sequence[_Edge], places: dict[int, tuple[float, float]]) -> None:
    font, most = canvas.font, max((edge.n for edge in edges), default=0.0) or 1.0
    shades: dict[int, list[Segment]] = {}
    crowd = min(1.0, 40 / max(len(edges), 1)) ** 0.4
    for edge in edges:
        segment: Segment = (places[edge.one], places[edge.other])
        if edge.dashed:
            look = {"color": canvas.colors.bad, "linewidth": 0.09 * font, "linestyle": (0, (4, 3)), "zorder": 2}
            canvas.line(*zip(*segment, strict=True), **look)
        else:
            shades.setdefault(ceil(_SHADES * sqrt(edge.n / most)), []).append(segment)
    for shade, segments in sorted(shades.items()):
        deep = shade / _SHADES
        draw_segments(
            canvas.base,
            segments,
            color=canvas.colors.neutral,
            linewidth=font * (0.04 + 0.2 * deep * crowd),
            alpha=(0.15 + 0.55 * deep) * crowd,
            zorder=1 + 0.1 * shade,
        )
    for edge in edges if len(edges) <= _FEW_LINES else ():
        (x0, y0), (x1, y1) = places[edge.one], places[edge.other]
        # Slanting lines cross in their middles.
        share = 0.5 if len(places) < 4 or x0 == x1 or y0 == y1 else 0.3
        ground = {"facecolor": canvas.colors.surface, "edgecolor": "none", "pad": 1.0}
        at = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
        canvas.text(*at, f"{edge.n:,.0f}", align="center", letters=SMALL, bbox=ground, zorder=3)


def _write_names(canvas: Canvas, ring: _Ring, places: dict[int, tuple[float, float]], graph: _Graph) -> dict[int, Room]:
    """Write names left and right of the ring, at the heights of their points where there is room; return where."""
    font = SMALL * canvas.font
    written_at: dict[int, Room] = {}
    for sign in (1, -1):
        side = [row for row, (x, _) in places.items() if (x >= ring.middle[0]) == (sign > 0)]
        side.sort(key=lambda row: places[row][1])
        if not side:
            continue
        low, high = ring.middle[1] - ring.radii[1] - 0.6 * font, ring.middle[1] + ring.radii[1] + 0.6 * font
        levels = spread([places[row][1] for row in side], _STEP * font, low, high)
        edge = ring.middle[0] + sign * (ring.radii[0] + 1.0 * canvas.font)
        room = canvas.width - edge if sign > 0 else edge
        texts = fitted_names([graph.names[row] for row in side], room, font)
        for row, level, text in zip(side, levels, texts, strict=True):
            x, y = places[row]
            canvas.line(
                [x, edge - sign * 0.3 * font], [y, level], color=canvas.colors.line, linewidth=0.07 * font, zorder=0.6
            )
            color = canvas.colors.bad if graph.weak[row] else canvas.colors.ink
            canvas.text(edge, level, text, align="left" if sign > 0 else "right", letters=SMALL, color=color)
            wide = text_width(text, font)
            written_at[row] = (edge if sign > 0 else edge - wide, level - _STEP * font / 2, wide, _STEP * font)
    return written_at
