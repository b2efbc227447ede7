"""What is looked for in drawings."""

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


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
    renderer = FigureCanvasAgg(figure).get_renderer()
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
    boxes = np.array([text.get_window_extent(renderer).extents for text in drawn])
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
