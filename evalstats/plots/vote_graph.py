"""How votes connect models: models as points, lines between those that met, parts and weak links marked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from evalstats.analysis.arena.check_result import VoteGraph, WeakLink
from evalstats.analysis.arena.result import ArenaRanking, PairContrast
from evalstats.analysis.arenas.words import some
from evalstats.document.escape import one_line
from evalstats.document.numbers import number, plural
from evalstats.plots.labels import spread
from evalstats.plots.lettering import fitted, fitted_names, text_width
from evalstats.plots.segments import Segment, draw_segments
from evalstats.plots.style import LIGHT, SIZES, Medium, Size, house_style, new_figure, untyped

MOST_MODELS = 60
FEW_WINS = 10.0  # below this many wins (or losses) a link is drawn as weak
_SMALL = 0.88
_STEP = 1.28  # of two names beside each other, in letters' heights
_LEAST = 11.0  # of a ring, in letters' heights
_NAMES = 0.32
_SHADES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """One part of the graph and where it stands: models on an ellipse, in pixels from the top left of the figure."""

    title: str
    models: tuple[str, ...]
    middle: tuple[float, float]
    radii: tuple[float, float]
    top: float

    def at(self, place: int) -> tuple[float, float]:
        """Return where a model stands: from the top clockwise, in the order of the rows."""
        if len(self.models) == 1:
            return self.middle
        angle = 2 * math.pi * (place + 0.5) / len(self.models)
        return self.middle[0] + self.radii[0] * math.sin(angle), self.middle[1] - self.radii[1] * math.cos(angle)


def shown_parts(result: ArenaRanking) -> list[tuple[str, ...]]:
    """Return the models of every part in the order of the rows; single ones follow, and stand together as the last."""
    graph = result.graph
    if graph is None:
        return []
    order = {row.name: place for place, row in enumerate(result.rows)}
    known = [tuple(sorted((m for m in part if m in order), key=order.__getitem__)) for part in graph.components]
    return [part for part in known if len(part) > 1]


def alone_models(result: ArenaRanking) -> list[str]:
    """Return the models that are a part of their own."""
    graph = result.graph
    return [] if graph is None else [part[0] for part in graph.components if len(part) == 1]


def weak_links_of(graph: VoteGraph) -> list[WeakLink]:
    """Return the links that hang by fewer than 10 wins or losses."""
    return [link for link in graph.links if link.n_wins < FEW_WINS]


def vote_graph(result: ArenaRanking, *, medium: Medium = "screen") -> Figure:
    """Draw how votes connect the models.

    Each part in which ratings can be compared is a ring, its models clockwise in the order of the table; a line joins two that
    met, the darker and thicker the more votes. Square vermillion marks are models that fewer than 10 wins or losses hold to
    the rest, and dashed lines their votes with it. Nothing is placed by chance: the same votes give the same drawing.

    Parameters
    ----------
    result
        What `arena` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is no graph, or no part with two models.
    """
    parts = shown_parts(result)
    graph = result.graph
    if graph is None or not parts:
        message = "there is no part of the vote graph with two models to draw"
        raise ValueError(message)
    size = SIZES[medium]
    rings, below = _rings(parts, size)
    lone = alone_models(result)
    height = below + (2.2 * size.font if lone else 0.3 * size.font)
    with house_style():
        figure = new_figure(size, height)
        axes = untyped(figure).add_axes((0, 0, 1, 1), label="graph")
        axes.set_xlim(0, size.width)
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        weak = frozenset(name for link in weak_links_of(graph) for name in link.group)
        for ring in rings:
            _draw_ring(axes, ring, result, size, weak)
        if lone:
            words = fitted(f"On no scale with others: {some(lone)}", (size.width - 8) / 1.08, size.font)
            axes.text(0, below + 0.6 * size.font, words, fontsize=size.font, color=LIGHT.muted, parse_math=False)
    return figure


def _rings(parts: Sequence[tuple[str, ...]], size: Size) -> tuple[list[Ring], float]:
    """Return the rings from top to bottom, and where the last of them ends."""
    font, top = size.font, 0.0
    rings: list[Ring] = []
    for part in parts:
        models = part[:MOST_MODELS]
        widest = max(text_width(name, _SMALL * font) for name in models)
        names = min(1.18 * widest, _NAMES * size.width) + 1.8 * font
        tall = max(_STEP * font * (len(models) / 2 + 1), _LEAST * font if len(models) > 2 else 4 * font)
        across = min(size.width / 2 - names, 0.62 * tall + 4 * font)
        head = 1.9 * font if len(parts) > 1 else 0.6 * font
        more = f", the first {len(models)} drawn" if len(models) < len(part) else ""
        title = f"Part of {plural(len(part), 'model')}{more}" if len(parts) > 1 else ""
        middle = (size.width / 2, top + head + tall / 2)
        rings.append(Ring(title=title, models=models, middle=middle, radii=(across, tall / 2 - 0.8 * font), top=top))
        top += head + tall + 0.6 * font
    return rings, top


def _draw_ring(axes: Any, ring: Ring, result: ArenaRanking, size: Size, weak: frozenset[str]) -> None:
    font = size.font
    places = {name: ring.at(place) for place, name in enumerate(ring.models)}
    if ring.title:
        style: dict[str, Any] = {"fontsize": font, "color": LIGHT.ink, "weight": "bold", "parse_math": False}
        axes.text(0, ring.top + 1.1 * font, ring.title, **style)
    _draw_lines(axes, _edges(result.pairs, places), places, font, weak)
    for name, (x, y) in places.items():
        hangs = name in weak
        axes.plot(
            [x],
            [y],
            marker="s" if hangs else "o",
            markersize=font * 0.52,
            markerfacecolor=LIGHT.bad if hangs else LIGHT.ink,
            markeredgecolor=LIGHT.surface,
            markeredgewidth=font * 0.08,
            linestyle="none",
            zorder=4,
        )
    _write_names(axes, ring, places, size, weak)


def _edges(pairs: Sequence[PairContrast], places: dict[str, tuple[float, float]]) -> list[PairContrast]:
    return [pair for pair in pairs if pair.n_votes > 0 and pair.first in places and pair.second in places]


def _draw_lines(
    axes: Any,
    edges: Sequence[PairContrast],
    places: dict[str, tuple[float, float]],
    font: float,
    weak: frozenset[str],
) -> None:
    most = max((pair.n_votes for pair in edges), default=1)
    shades: dict[int, list[Segment]] = {}
    hanging: list[Segment] = []
    for pair in edges:
        segment: Segment = (places[pair.first], places[pair.second])
        if (pair.first in weak) != (pair.second in weak):
            hanging.append(segment)
        else:
            shades.setdefault(math.ceil(_SHADES * math.sqrt(pair.n_votes / most)), []).append(segment)
    crowd = min(1.0, 40 / max(len(edges), 1)) ** 0.4
    for shade, segments in sorted(shades.items()):
        deep = shade / _SHADES
        draw_segments(
            axes,
            segments,
            color=LIGHT.neutral,
            linewidth=font * (0.03 + 0.16 * deep * crowd),
            alpha=(0.12 + 0.55 * deep) * crowd,
            zorder=1 + 0.1 * shade,
        )
    for start, end in hanging:
        axes.plot(*zip(start, end, strict=True), color=LIGHT.bad, linewidth=0.09 * font, linestyle="--", zorder=2)


def _write_names(
    axes: Any, ring: Ring, places: dict[str, tuple[float, float]], size: Size, weak: frozenset[str]
) -> None:
    """Write names on the left and on the right of the ring, at the heights of their points where there is room."""
    font = _SMALL * size.font
    for sign in (1, -1):
        here = [(y, name) for name, (x, y) in places.items() if (x >= ring.middle[0]) == (sign > 0)]
        side = [name for _, name in sorted(here)]
        if not side:
            continue
        low, high = ring.middle[1] - ring.radii[1] - 0.6 * font, ring.middle[1] + ring.radii[1] + 0.6 * font
        levels = spread([places[name][1] for name in side], _STEP * font, low, high)
        edge = ring.middle[0] + sign * (ring.radii[0] + 1.0 * size.font)
        room = (size.width - edge if sign > 0 else edge) - 4
        for name, level, shown in zip(side, levels, fitted_names(side, room / 1.16, font), strict=True):
            x, y = places[name]
            leader: dict[str, Any] = {"color": LIGHT.line, "linewidth": 0.8, "zorder": 0.6}
            axes.plot([x, edge - sign * 0.3 * font], [y, level], **leader)
            color = LIGHT.bad if name in weak else LIGHT.ink
            style: dict[str, Any] = {"fontsize": font, "color": color, "va": "center_baseline", "parse_math": False}
            axes.text(edge, level, shown, ha="left" if sign > 0 else "right", **style)


def vote_graph_alt(result: ArenaRanking) -> str:
    """Describe `vote_graph` in words: how many pairs met, the parts, the weak links."""
    graph = result.graph
    if graph is None:
        return "The vote graph is not known."
    said = [f"{graph.n_pairs_met:,} of {plural(graph.n_pairs, 'pair')} of {plural(graph.n_models, 'model')} met."]
    if graph.connected:
        said.append("All models are on one scale.")
    else:
        told = [some(part) for part in shown_parts(result)]
        said.append(f"Parts on a scale of their own: {'; '.join(told)}." if told else "No two models are on one scale.")
        lone = alone_models(result)
        said.extend([f"On no scale with others: {some(lone)}."] if lone else [])
    said.extend(
        f"{some(link.group)} {'won' if link.side == 'wins' else 'lost'} only {number(link.n_wins, 1)} votes against the rest."
        for link in weak_links_of(graph)
    )
    return one_line(f"Graph of votes between models. {' '.join(said)}")
