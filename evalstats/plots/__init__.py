"""Figures: tidy rows in, a matplotlib figure out.

Each takes any frame (Polars, pandas, Arrow, a dict of columns) whose columns have the glossary's names, returns a
`matplotlib.figure.Figure`, and has `ax=` (axes to draw in) and `size=` (inches: the width, or width and height).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstats.plots.cells import heatmap
    from evalstats.plots.intervals import forest
    from evalstats.plots.points import frontier, scatter
    from evalstats.plots.rank_sets import ranks
    from evalstats.plots.rings import network
    from evalstats.plots.shares import bars

_WHERE = {
    "bars": "shares",
    "forest": "intervals",
    "frontier": "points",
    "heatmap": "cells",
    "network": "rings",
    "ranks": "rank_sets",
    "scatter": "points",
}

__all__ = ["bars", "forest", "frontier", "heatmap", "network", "ranks", "scatter"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    # No module is named as a function: importing one would put it in the function's place.
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
