"""Who can be compared with whom: models that saw the same items are one point, shared items the lines between points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evalstats.analysis.boards.graph import ComparabilityGraph, ItemGroup, SharedItems
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.lettering import fitted, text_width
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

MOST_GROUPS = 16
_FEW_LINES = 6  # so many lines carry their numbers
_READ = 20
_THIN = 0.5  # two groups that share less than this of the smaller one's items are worth a drawing


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A group of models that saw the same items: where it stands in pixels from the upper left corner, and its label.

    `side` is 1 where the label is on the right, -1 where it is on the left.
    """

    group: ItemGroup
    x: float
    y: float
    side: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heading:
    text: str
    y: float


def is_worth_drawing(graph: ComparabilityGraph | None) -> bool:
    """Whether the graph says more than a sentence does: some are not compared, or rest on few shared items.

    Examples
    --------
    >>> is_worth_drawing(None)
    False
    """
    if graph is None or len(graph.groups) < 2:
        return False
    size = {group.models[0]: group.n_items for group in graph.groups}
    return any(
        not edge.compared or edge.n_items < _THIN * min(size[edge.first], size[edge.second]) for edge in graph.edges
    )


def comparability(graph: ComparabilityGraph, *, medium: Medium = "screen") -> Figure:
    """Draw the comparability graph.

    Each point is a group of models that were scored on the same items and measured alike; lines are as thick as the number of
    items that two groups share, dashed where these are too few to compare. The groups of one part stand on a circle, in the
    order of the graph, so that the same data give the same picture; between parts nothing is drawn.
    At most 16 groups are drawn, those with the most models.

    Parameters
    ----------
    graph
        `Leaderboard.graph`.
    medium
        "screen", "phone" or "print": see `evalstats.plots.intervals.intervals`.

    Examples
    --------
    >>> import numpy as np
    >>> from evalstats.analysis.boards.graph import comparability_graph
    >>> seen = np.ones((40, 2), dtype=bool)
    >>> seen[:20, 0] = False
    >>> figure = comparability(comparability_graph(seen, ["a", "b"]))
    >>> sorted(text.get_text() for text in figure.texts)
    ['20', '20 items', '40 items', 'a', 'b']
    """
    size = SIZES[medium]
    groups = shown_groups(graph)
    nodes, headings, height = layout(graph, groups, size)
    with house_style():
        figure = new_figure(size, height)
        place = {node.group.models[0]: node for node in nodes}
        part = {name: number for number, names in enumerate(graph.components) for name in names}
        edges = [
            edge
            for edge in graph.edges
            if edge.n_items and part[edge.first] == part[edge.second] and edge.first in place and edge.second in place
        ]
        _draw_lines(figure, size, height, edges, place)
        for node in nodes:
            _draw_node(figure, size, height, node)
        for heading in headings:
            _write(figure, size, height, (0, heading.y), heading.text, weight="bold")
        rest = len(graph.groups) - len(groups)
        if rest:
            _write(
                figure, size, height, (0, height - size.font), f"{plural(rest, 'further group')} not drawn", small=True
            )
    return figure


def shown_groups(graph: ComparabilityGraph) -> list[ItemGroup]:
    """Return the groups that are drawn, in the order of the graph."""
    most = sorted(graph.groups, key=lambda group: -len(group.models))[:MOST_GROUPS]
    kept = {group.models[0] for group in most}
    return [group for group in graph.groups if group.models[0] in kept]


def layout(
    graph: ComparabilityGraph, groups: Sequence[ItemGroup], size: Size
) -> tuple[list[Node], list[_Heading], float]:
    """Return where points and headings stand, and how tall the figure is.

    Points of a part stand on a circle, at even heights on either side, so that no label covers another.
    """
    font = size.font
    line = font * (2.6 if max(len(names) for names in _parted(graph, groups)) > 6 else 4.4)
    nodes: list[Node] = []
    headings: list[_Heading] = []
    top = font * 0.4
    several = not graph.connected
    for number, own in enumerate(_parted(graph, groups), start=1):
        if not own:
            continue
        if several:
            n_models = len(graph.components[number - 1])
            headings.append(_Heading(text=f"Part {number}: {plural(n_models, 'model')}", y=top + font * 0.8))
            top += font * 2.0
        high = font * 2.6 if len(own) < 3 else line * math.ceil(len(own) / 2)
        nodes.extend(_circle(own, size, top, high))
        top += high + font * 0.8
    return nodes, headings, top + font * (1.6 if len(groups) < len(graph.groups) else 0.2)


def _parted(graph: ComparabilityGraph, groups: Sequence[ItemGroup]) -> list[list[ItemGroup]]:
    """Return the groups of every part."""
    return [[group for group in groups if group.models[0] in names] for names in map(set, graph.components)]


def _circle(groups: Sequence[ItemGroup], size: Size, top: float, high: float) -> list[Node]:
    """Put groups on a circle clockwise from its upper right; one alone stands at the left."""
    middle = top + high / 2
    if len(groups) == 1:
        return [Node(group=groups[0], x=size.font, y=middle, side=1)]
    right = groups[: math.ceil(len(groups) / 2)]
    left = groups[len(right) :][::-1]
    radius = max(high / 2, size.font * 5)
    wide = min(radius, size.width * (0.12 if size.stacked else 0.2))
    found: list[Node] = []
    for side, column in ((1, right), (-1, left)):
        for place, group in enumerate(column):
            level = (2 * place + 1) / len(column) - 1
            across = math.sqrt(max(1 - level * level, 0.0))
            found.append(
                Node(group=group, x=size.width / 2 + side * wide * across, y=middle + level * high / 2, side=side)
            )
    return found


def comparability_alt(graph: ComparabilityGraph) -> str:
    """Describe `comparability` in words: parts and groups, then who shares how many items, the fewest first."""
    groups = [
        f"{_name(group)}, {plural(group.n_items, 'item')}" for group in sorted(graph.groups, key=lambda g: -g.n_items)
    ]
    edges = sorted(graph.edges, key=lambda edge: edge.n_items)[:_READ]
    shared = [
        f"{edge.first} and {edge.second} {plural(edge.n_items, 'item')}{'' if edge.compared else ' (not compared)'}"
        for edge in edges
    ]
    more = len(graph.edges) - len(edges)
    rest = f", and {plural(more, 'further pair')} at least as many" if more else ""
    parts = plural(len(graph.components), "part")
    return one_line(
        f"Graph of who saw the same items, in {parts}. Groups: {'; '.join(groups[:_READ])}. Shared: {'; '.join(shared)}{rest}."
    )


def _name(group: ItemGroup) -> str:
    more = len(group.models) - 1
    return group.models[0] if not more else f"{group.models[0]} and {more} more"


# --- drawing ---


def _draw_lines(
    figure: Figure, size: Size, height: float, edges: Sequence[SharedItems], place: dict[str, Node]
) -> None:
    most = max((edge.n_items for edge in edges), default=1)
    crowd = min(1.0, 14 / len(edges)) if edges else 1.0
    for edge in edges:
        one, other = place[edge.first], place[edge.second]
        width = size.font * (0.06 + (0.1 + 0.28 * crowd) * edge.n_items / most)
        style: dict[str, Any] = {"color": LIGHT.neutral, "linewidth": width, "alpha": 0.3 + 0.3 * crowd}
        if not edge.compared:
            style = {"color": LIGHT.caution, "linewidth": size.font * 0.1, "linestyle": (0, (3, 3))}
        xs, ys = [one.x / size.width, other.x / size.width], [1 - one.y / height, 1 - other.y / height]
        untyped(figure).add_artist(_line(figure, xs, ys, zorder=1, **style))
    if len(edges) <= _FEW_LINES:
        for edge in edges:
            one, other = place[edge.first], place[edge.second]
            # Slanting lines cross in their middles.
            share = 0.5 if len(place) < 4 or one.x == other.x or one.y == other.y else 0.3
            at = (one.x + share * (other.x - one.x), one.y + share * (other.y - one.y))
            ground = {"facecolor": LIGHT.surface, "edgecolor": "none", "pad": 1.5}
            _write(figure, size, height, at, f"{edge.n_items:,}", small=True, align="center", bbox=ground)


def _line(figure: Figure, xs: Sequence[float], ys: Sequence[float], **style: Any) -> Line2D:
    return Line2D(list(xs), list(ys), transform=untyped(figure).transFigure, **style)


def _draw_node(figure: Figure, size: Size, height: float, node: Node) -> None:
    font = size.font
    marker: dict[str, Any] = {
        "marker": "o",
        "markersize": font * 0.78,
        "markerfacecolor": LIGHT.ink,
        "markeredgecolor": LIGHT.surface,
        "markeredgewidth": font * 0.12,
    }
    untyped(figure).add_artist(
        _line(figure, [node.x / size.width], [1 - node.y / height], linestyle="none", zorder=3, **marker)
    )
    x = node.x + node.side * font * 0.95
    room = size.width - x if node.side > 0 else x
    align = "left" if node.side > 0 else "right"
    more = len(node.group.models) - 1
    tail = f" and {more} more" if more else ""
    # Letters can be wider than is usual.
    name = fitted(node.group.models[0], room / 1.08 - text_width(tail, font), font) + tail
    _write(figure, size, height, (x, node.y - font * 0.6), name, align=align)
    items = plural(node.group.n_items, "item")
    _write(figure, size, height, (x, node.y + font * 0.62), items, align=align, small=True, color=LIGHT.muted)


def _write(
    figure: Figure,
    size: Size,
    height: float,
    at: tuple[float, float],
    text: str,
    *,
    small: bool = False,
    align: str = "left",
    **style: Any,
) -> None:
    """Write at a pixel from the upper left corner, never as mathematics."""
    style = {"color": LIGHT.ink, "va": "center_baseline", "fontsize": size.font * (0.88 if small else 1), **style}
    untyped(figure).text(at[0] / size.width, 1 - at[1] / height, text, ha=align, parse_math=False, **style)
