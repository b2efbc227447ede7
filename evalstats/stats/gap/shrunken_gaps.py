"""Gaps drawn towards 0 by as much as their noise makes likely."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from evalstats.stats.checks import FloatArray
from evalstats.stats.computation import one_thread
from evalstats.stats.gap.contrasts import scaled_sides
from evalstats.stats.gap.deleted_gaps import DeletedGaps
from evalstats.stats.gap.scores import LabLiveScores
from evalstats.stats.gap.slope_search import lowest, with_spread
from evalstats.stats.gap.york import LineFit

_LEVELS = 15
_HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkenGaps:
    """Shrunken gaps, float64, shape (n_models,), live units; `low` and `high` are NaN where no tau above 0 is plausible."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray


@one_thread
def shrunken_gaps(scores: LabLiveScores, gaps: DeletedGaps, fit: LineFit) -> ShrunkenGaps:
    """Return tau^2 / (tau^2 + v) times each gap, v its noise, with an interval that does not take tau as known.

    Given tau, a true gap drawn from N(0, tau^2) and observed with noise v is normal with mean B gap and variance B v, where B =
    tau^2 / (tau^2 + v). tau is uncertain with few models, and often estimated as 0, where that interval has no width. So the
    interval holds the middle of a mixture over tau: one part for each of 15 equal slices of the confidence distribution of tau
    that York's S gives (its interval at every level).

    Parameters
    ----------
    gaps, fit
        Of these scores, at one conf_level.

    Examples
    --------
    >>> from evalstats.stats.gap.deleted_gaps import deleted_gaps
    >>> from evalstats.stats.gap.york import fit_line
    >>> lab = np.arange(10) / 10
    >>> live = 2 * lab + np.array([0, 0.1, -0.1, 0, 1.5, 0.1, 0, -0.1, 0.1, 0])
    >>> scores = LabLiveScores(
    ...     lab=lab, live=live, lab_covariance=np.eye(10) * 0.02**2, live_covariance=np.eye(10) * 0.1**2
    ... )
    >>> drawn = shrunken_gaps(scores, deleted_gaps(scores), fit_line(scores))
    >>> round(float(drawn.estimate[4]), 1), bool(drawn.low[4] < 1.4 < drawn.high[4])
    (1.4, True)
    """
    v = gaps.std_error**2
    estimate = fit.tau2 / (fit.tau2 + v) * gaps.gap
    tau2 = _plausible(scores)
    share = tau2[:, None] / (tau2[:, None] + v)
    low, high = _mixture_ends(share * gaps.gap, np.sqrt(share * v), fit.conf_level)
    some = high > low
    return ShrunkenGaps(
        estimate=estimate,
        low=np.where(some, np.minimum(low, estimate), np.nan),
        high=np.where(some, np.maximum(high, estimate), np.nan),
    )


def _plausible(scores: LabLiveScores) -> FloatArray:
    """Return tau2 at the middle of equal slices of its confidence distribution, in squared live units."""
    sides = scaled_sides(scores)
    problems = sides.all_models()
    tail = (np.arange(_LEVELS) + 0.5) / _LEVELS
    target = np.asarray(special.chdtri(sides.n_models - 2, tail), dtype=np.float64)
    plain = lowest(problems, np.array([sides.floor]))
    every = np.zeros(_LEVELS, dtype=np.int64)
    lines = with_spread(problems.take(every), target, sides.floor, angle=plain.angle[every], tau2=plain.tau2[every])
    return np.where(lines.tau2 > sides.floor, lines.tau2, 0.0) * sides.unit_z**2


def _mixture_ends(mean: FloatArray, sd: FloatArray, conf_level: float) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the middle of equal mixtures of normal laws (parts in rows); a part without spread is a point."""
    tail = (1.0 - conf_level) / 2.0
    least: FloatArray = (mean - 9.0 * sd).min(axis=0)
    most: FloatArray = (mean + 9.0 * sd).max(axis=0)
    ends: list[FloatArray] = []
    for level in (tail, 1.0 - tail):
        low: FloatArray = least
        high: FloatArray = most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            with np.errstate(divide="ignore", invalid="ignore"):
                below: FloatArray = np.where(sd > 0.0, special.ndtr((middle - mean) / sd), middle >= mean)
            short = below.mean(axis=0) < level
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        ends.append(high)
    return ends[0], ends[1]
