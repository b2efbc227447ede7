"""From the lab to live in steps: mix of scenarios, behaviour within them, and what neither explains."""

from matplotlib.figure import Figure

from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.plots.style import Medium

_NOT_YET = "this figure is not drawn yet"


def gap_waterfall_reason(result: LabLiveGap, *, model: str = "") -> str | None:
    """Say why there is nothing to draw; None where there is."""
    return _NOT_YET


def gap_waterfall(result: LabLiveGap, *, model: str = "", medium: Medium = "screen") -> Figure:
    """From the lab to live in steps: mix of scenarios, behaviour within them, and what neither explains.

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_waterfall_reason`.
    """
    raise ValueError(gap_waterfall_reason(result) or "")


def gap_waterfall_alt(result: LabLiveGap, *, model: str = "") -> str:
    """Describe `gap_waterfall` in words."""
    return _NOT_YET
