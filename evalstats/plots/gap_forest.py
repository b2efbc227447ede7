"""Every model's gap with its interval, the margin and the verdict in words."""

from typing import Literal

from matplotlib.figure import Figure

from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.plots.style import Medium

GapKind = Literal["gap", "difference"]
_NOT_YET = "this figure is not drawn yet"


def gap_forest_reason(result: LabLiveGap, *, kind: GapKind = "gap") -> str | None:
    """Say why there is nothing to draw; None where there is."""
    return _NOT_YET


def gap_forest(result: LabLiveGap, *, kind: GapKind = "gap", medium: Medium = "screen") -> Figure:
    """Every model's gap with its interval, the margin and the verdict in words.

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_forest_reason`.
    """
    raise ValueError(gap_forest_reason(result) or "")


def gap_forest_alt(result: LabLiveGap, *, kind: GapKind = "gap") -> str:
    """Describe `gap_forest` in words."""
    return _NOT_YET
