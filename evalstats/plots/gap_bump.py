"""The ranks that the data leave open in the lab and live, with a line for each model."""

from matplotlib.figure import Figure

from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.plots.style import Medium

_NOT_YET = "this figure is not drawn yet"


def gap_bump_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    return _NOT_YET


def gap_bump(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """The ranks that the data leave open in the lab and live, with a line for each model.

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_bump_reason`.
    """
    raise ValueError(gap_bump_reason(result) or "")


def gap_bump_alt(result: LabLiveGap) -> str:
    """Describe `gap_bump` in words."""
    return _NOT_YET
