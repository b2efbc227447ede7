"""The band of the line from lab to live: where the line itself may run, at any lab score."""

import numpy as np

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import t_quantile


def line_band(found: LabLiveGap, lab: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return York's line at given lab scores, and the ends of its pointwise band; None where there is no line.

    The band is `y(x) ± t sqrt(1 / sum(w) + (x - x̄)² se(slope)²)` with `t` of the line's degrees of freedom, York's weights
    `w = 1 / (live² + slope² lab² + tau²)` of the models' errors and their mean `x̄`: the slope's error, and at `x̄` that of
    the line's level. It holds the line, not the models: true gaps spread about it by `tau`. Errors that all models share
    move line and models alike and are not in it.

    Parameters
    ----------
    lab
        float64, shape (n,): lab scores in the lab's own unit.

    Returns
    -------
    line, low, high
        float64, shape (n,) each, in the live side's own unit.

    References
    ----------
    York, Evensen, Martínez & De Basabe Delgado 2004, doi:10.1119/1.1632486 (weights and errors of slope and intercept).
    """
    line = found.line
    if line is None:
        return None
    expected = line.intercept + line.slope * lab
    noise = [
        (row.live_std_error or 0.0) ** 2 + (line.slope * (row.lab_std_error or 0.0)) ** 2 + line.tau**2
        for row in found.rows
    ]
    if not noise or min(noise) <= 0.0:
        return expected, expected, expected
    weights: FloatArray = 1.0 / np.array(noise, dtype=np.float64)
    total = float(weights.sum())
    middle = float(weights @ np.array([row.lab for row in found.rows], dtype=np.float64)) / total
    error = np.sqrt(1.0 / total + ((lab - middle) * line.slope_std_error) ** 2)
    half = t_quantile(found.conf_level, max(line.df, 1)) * error
    return expected, expected - half, expected + half
