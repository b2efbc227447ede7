"""What live users are expected to say of models that only the lab has, and how such forecasts fared."""

from matplotlib.figure import Figure

from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.plots.style import Medium

_NOT_YET = "this figure is not drawn yet"


def gap_forecast_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    return _NOT_YET


def gap_forecast(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """What live users are expected to say of models that only the lab has, and how such forecasts fared.

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_forecast_reason`.
    """
    raise ValueError(gap_forecast_reason(result) or "")


def gap_forecast_alt(result: LabLiveGap) -> str:
    """Describe `gap_forecast` in words."""
    return _NOT_YET
