"""The line from lab to live as it is drawn: York's with its band over the lab scores that there are, and the ordinary one."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.line_band import line_band

_POINTS = 41
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLine:
    """A line over the lab scores, as they are shown; `low` and `high` are the ends of its band, where it has one."""

    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


def drawn_line(result: LabLiveGap) -> DrawnLine | None:
    """Return York's line with the band of the line itself; None where there is none.

    It is drawn over the lab scores of the shared models and no further: beyond them it is a guess.
    """
    lab = [row.lab for row in result.rows]
    x: FloatArray = np.linspace(min(lab), max(lab), _POINTS, dtype=np.float64)
    found = line_band(result, x)
    if found is None:
        return None
    scale = result.live.scale
    line, low, high = found
    return DrawnLine(x=x * result.lab.scale, y=line * scale, low=low * scale, high=high * scale)


def least_squares_line(result: LabLiveGap) -> DrawnLine | None:
    """Return the ordinary line of live on lab, for comparison; None where it was not fitted."""
    found = None if result.line is None else next((each for each in result.line.others if each.key == "ols"), None)
    if found is None:
        return None
    lab = [row.lab for row in result.rows]
    x: FloatArray = np.linspace(min(lab), max(lab), _POINTS, dtype=np.float64)
    return DrawnLine(x=x * result.lab.scale, y=(found.intercept + found.slope * x) * result.live.scale)
