"""Many short lines as one: a drawing with thousands of marks stays small and is quick to draw."""

import math
from collections.abc import Iterable
from typing import Any

Segment = tuple[tuple[float, float], tuple[float, float]]


def draw_segments(axes: Any, segments: Iterable[Segment], **style: Any) -> None:
    """Draw straight lines as one path: each from (x, y) to (x, y), in the coordinates of the axes.

    Parameters
    ----------
    style
        As matplotlib's `plot` takes it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().add_axes((0, 0, 1, 1))
    >>> draw_segments(axes, [((0, 0), (1, 1)), ((2, 0), (2, 1))])
    >>> len(axes.lines)
    1
    """
    across: list[float] = []
    along: list[float] = []
    for (x0, y0), (x1, y1) in segments:
        across += [x0, x1, math.nan]
        along += [y0, y1, math.nan]
    if across:
        axes.plot(across, along, **{"solid_capstyle": "butt", **style})
