"""How often each scenario comes up in the lab and with live users, and which the lab never covers."""

from matplotlib.figure import Figure

from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.plots.style import Medium

_NOT_YET = "this figure is not drawn yet"


def gap_positivity_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    return _NOT_YET


def gap_positivity(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """How often each scenario comes up in the lab and with live users, and which the lab never covers.

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_positivity_reason`.
    """
    raise ValueError(gap_positivity_reason(result) or "")


def gap_positivity_alt(result: LabLiveGap) -> str:
    """Describe `gap_positivity` in words."""
    return _NOT_YET
