"""Lab against live, a point a model: intervals both ways, the line through them, and who stands off it."""

from matplotlib.figure import Figure

from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.plots.style import Medium

_NOT_YET = "this figure is not drawn yet"


def gap_scatter_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    return _NOT_YET


def gap_scatter(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """Lab against live, a point a model: intervals both ways, the line through them, and who stands off it.

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_scatter_reason`.
    """
    raise ValueError(gap_scatter_reason(result) or "")


def gap_scatter_alt(result: LabLiveGap) -> str:
    """Describe `gap_scatter` in words."""
    return _NOT_YET
