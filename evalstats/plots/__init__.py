"""Figures: tidy rows in, a matplotlib figure out.

Each takes any frame (Polars, pandas, Arrow, a dict of columns) whose columns have the glossary's names, returns a
`matplotlib.figure.Figure`, and raises `InputError` if a column is missing, or there are no rows.

Parameters
----------
ax
    Axes to draw in; None makes a figure.
size
    Inches: the width, or width and height.
note
    A line below the figure.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalstats.plots.cells import heatmap
    from evalstats.plots.changes import bars, dumbbell
    from evalstats.plots.curve_panels import cumulative, curves, sequence
    from evalstats.plots.dates import histories, timeline
    from evalstats.plots.distribution import raincloud
    from evalstats.plots.intervals import caterpillar, forest
    from evalstats.plots.points import frontier, scatter
    from evalstats.plots.rank_sets import critical_differences, ranks

_WHERE = {
    "bars": "changes",
    "caterpillar": "intervals",
    "critical_differences": "rank_sets",
    "cumulative": "curve_panels",
    "curves": "curve_panels",
    "dumbbell": "changes",
    "forest": "intervals",
    "frontier": "points",
    "heatmap": "cells",
    "histories": "dates",
    "raincloud": "distribution",
    "ranks": "rank_sets",
    "scatter": "points",
    "sequence": "curve_panels",
    "timeline": "dates",
}

__all__ = [
    "bars",
    "caterpillar",
    "critical_differences",
    "cumulative",
    "curves",
    "dumbbell",
    "forest",
    "frontier",
    "heatmap",
    "histories",
    "raincloud",
    "ranks",
    "scatter",
    "sequence",
    "timeline",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # No module is named as a function: importing one would put it in the function's place.
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
