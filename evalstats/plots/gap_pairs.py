"""Which pairs of models lab and live put in the same order, which in the opposite one, and which neither tells apart."""

from matplotlib.figure import Figure

from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.plots.style import Medium

_NOT_YET = "this figure is not drawn yet"


def gap_pairs_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    return _NOT_YET


def gap_pairs(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """Which pairs of models lab and live put in the same order, which in the opposite one, and which neither tells apart.

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_pairs_reason`.
    """
    raise ValueError(gap_pairs_reason(result) or "")


def gap_pairs_alt(result: LabLiveGap) -> str:
    """Describe `gap_pairs` in words."""
    return _NOT_YET
