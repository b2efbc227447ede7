"""The line from lab to live as it is drawn: York's with its band over the lab scores that there are, and the ordinary one."""

from dataclasses import dataclass

import numpy as np

from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.stats.checks import FloatArray
from evalstats.stats.tails import t_quantile

_POINTS = 41


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLine:
    """A line over the lab scores, as they are shown; `low` and `high` are the ends of its band, where it has one."""

    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None


def drawn_line(result: LabLiveGap) -> DrawnLine | None:
    """Return York's line with the band of the line itself; None where there is none.

    The line is drawn over the lab scores of the shared models and no further: beyond them it is a guess. The band is
    pointwise, `y(x) ± t sqrt(1 / sum(w) + (x - x̄)² se(slope)²)`, with York's weights `w = 1 / (live² + slope² lab² + tau²)`
    of the models' errors and their mean `x̄`: what the slope's error leaves open, and at `x̄` the line's level. It holds the
    line, not the models: true gaps spread about it by `tau`.

    References
    ----------
    York, Evensen, Martínez & De Basabe Delgado 2004, doi:10.1119/1.1632486 (weights and errors of slope and intercept).
    """
    line = result.line
    if line is None:
        return None
    lab: FloatArray = np.array([row.lab for row in result.rows], dtype=np.float64)
    x: FloatArray = np.linspace(float(lab.min()), float(lab.max()), _POINTS, dtype=np.float64)
    y: FloatArray = line.intercept + line.slope * x
    noise = [
        (row.live_std_error or 0.0) ** 2 + (line.slope * (row.lab_std_error or 0.0)) ** 2 + line.tau**2
        for row in result.rows
    ]
    half: FloatArray = np.zeros(_POINTS, dtype=np.float64)
    if min(noise) > 0.0:
        weights: FloatArray = 1.0 / np.array(noise, dtype=np.float64)
        middle = float(weights @ lab / weights.sum())
        error = np.sqrt(1.0 / weights.sum() + ((x - middle) * line.slope_std_error) ** 2)
        half = t_quantile(result.conf_level, max(line.df, 1)) * error
    lab_scale, live_scale = result.lab.scale, result.live.scale
    return DrawnLine(x=x * lab_scale, y=y * live_scale, low=(y - half) * live_scale, high=(y + half) * live_scale)


def least_squares_line(result: LabLiveGap) -> DrawnLine | None:
    """Return the ordinary line of live on lab, for comparison; None where it was not fitted."""
    found = None if result.line is None else next((each for each in result.line.others if each.key == "ols"), None)
    if found is None:
        return None
    lab = [row.lab for row in result.rows]
    x = np.array([min(lab), max(lab)])
    return DrawnLine(x=x * result.lab.scale, y=(found.intercept + found.slope * x) * result.live.scale)
