"""What is looked for in drawings."""

from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from evalstats.plots.text import text_width


def renderer_of(figure: Figure) -> Any:
    """The figure's renderer, which remembers how wide words are."""
    canvas = figure.canvas if isinstance(figure.canvas, FigureCanvasAgg) else FigureCanvasAgg(figure)
    return canvas.get_renderer()


def box_of(text: Any, renderer: Any) -> Bbox:
    """Where a text stands; each is looked for by several checks."""
    return _box(text, renderer, text.get_text(), *text.get_transform().transform(text.get_position()))


@lru_cache(maxsize=1024)
def _box(text: Any, renderer: Any, *_: Any) -> Bbox:
    return text.get_window_extent(renderer)


def all_axes(figure: Figure) -> list[Any]:
    """The canvas and its panels."""
    return [axes for base in figure.axes for axes in (base, *base.child_axes)]


def panels(figure: Figure) -> list[Any]:
    return [axes for base in figure.axes for axes in base.child_axes]


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in all_axes(figure) for text in axes.texts if text.get_text()]


def intervals(axes: Any) -> list[tuple[float, float]]:
    """Ends of the lines across, in the coordinates of the axes."""
    found = []
    for line in axes.lines:
        x, y = line.get_xdata(), line.get_ydata()
        if len(x) == 2 and y[0] == y[1] and x[0] != x[1] and line.get_transform() == axes.transData:
            found.append((float(x[0]), float(x[1])))
    return found


def points(axes: Any, markers: str = "oD") -> list[tuple[float, float]]:
    lines = (line for line in axes.lines if line.get_marker() in tuple(markers) and len(line.get_xdata()) == 1)
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines]


def assert_words_stand_apart(figure: Figure, inside: Any = None) -> None:
    """No word is clipped by the figure (or the axes it was drawn in), and none covers another."""
    renderer = renderer_of(figure)
    frame = figure.bbox if inside is None else inside.get_window_extent()
    looked_at = all_axes(figure) if inside is None else [inside, *inside.child_axes]
    labels = [
        label
        for axes in looked_at
        if axes.axison
        for label in (*axes.get_xticklabels(which="both"), *axes.get_yticklabels(which="both"))
        if label.get_visible() and label.get_text()
    ]
    drawn = [*(text for axes in looked_at for text in axes.texts if text.get_text()), *labels]
    boxes = np.array([box_of(text, renderer).extents for text in drawn])
    names = [text.get_text() for text in drawn]
    low, high = np.array(frame.extents[:2]), np.array(frame.extents[2:])
    clipped = (boxes[:, :2] < low - 1).any(axis=1) | (boxes[:, 2:] > high + 1).any(axis=1)
    assert not clipped.any(), [names[place] for place in np.flatnonzero(clipped)]
    left, down, right, up = boxes.T
    wide = np.minimum.outer(right, right) - np.maximum.outer(left, left)
    tall = np.minimum.outer(up, up) - np.maximum.outer(down, down)
    over = (wide > 1) & (tall > 0.25 * np.minimum.outer(up - down, up - down))
    over &= ~np.eye(len(boxes), dtype=np.bool_)
    assert not over.any(), [(names[one], names[other]) for one, other in np.argwhere(over)]


def covered_marks(figure: Figure, inside: Any = None) -> list[str]:
    """Words that stand on a point, of their own figure or within the axes it was drawn in."""
    renderer = renderer_of(figure)
    looked_at = all_axes(figure) if inside is None else [inside, *inside.child_axes]
    words = [(text, box_of(text, renderer).extents) for axes in looked_at for text in axes.texts if text.get_text()]
    found = []
    for axes in looked_at:
        for line in axes.lines:
            if line.get_marker() in ("None", None, "", " ") or not line.get_visible():
                continue
            half = 0.5 * line.get_markersize() * figure.dpi / 72 * 0.7
            for x, y in line.get_transform().transform(np.column_stack(line.get_data())):
                found += [
                    text.get_text()
                    for text, (left, down, right, up) in words
                    if left < x + half and x - half < right and down < y + half and y - half < up
                ]
    return found


def struck_names(figure: Figure, names: set[str], inside: Any = None) -> list[str]:
    """Names through which a line of the panel runs (but the one that ties it to its point)."""
    renderer = renderer_of(figure)
    looked_at = [panel for base in (figure.axes if inside is None else [inside]) for panel in base.child_axes]
    found = []
    for axes in looked_at:
        for text in axes.texts:
            if text.get_text() not in names:
                continue
            box = box_of(text, renderer)
            # Letters do not fill the box of their line.
            left, right, down, up = box.x0 + 1, box.x1 - 1, box.y0 + 0.2 * box.height, box.y1 - 0.2 * box.height
            for line in axes.lines:
                if line.get_linestyle() in ("None", "none", "") or line.get_transform() == axes.transAxes:
                    continue
                path = line.get_transform().transform_path(line.get_path())
                if path.intersects_bbox(Bbox([[left, down], [right, up]]), filled=False):
                    found.append(text.get_text())
    return found


def cut_with_room(figure: Figure, names: list[str]) -> list[str]:
    """Names that are cut though they would end before the next text or panel on their right, and within the figure."""
    renderer = renderer_of(figure)
    base = figure.axes[0]
    boxes = [(text, box_of(text, renderer)) for text in base.texts if text.get_text()]
    walls = [box for _, box in boxes] + [panel.get_window_extent() for panel in base.child_axes]
    unit = figure.dpi / 72
    found = []
    for text, box in boxes:
        if "…" not in text.get_text() or text.get_rotation():
            continue
        head, *inner, tail = (part.strip() for part in text.get_text().split("…"))
        whole = [
            name for name in names if name.startswith(head) and name.endswith(tail) and all(p in name for p in inner)
        ]
        if not whole:
            continue
        beside = [wall.x0 for wall in walls if wall.x0 > box.x1 - 1 and wall.y0 < box.y1 and box.y0 < wall.y1]
        room = (min([*beside, base.bbox.x1]) - box.x0) / unit - 2.1 * text.get_fontsize()
        bold = text.get_weight() == "bold"
        if text.get_horizontalalignment() == "left" and text_width(whole[0], text.get_fontsize(), bold=bold) < room:
            found.append(text.get_text())
    return found
