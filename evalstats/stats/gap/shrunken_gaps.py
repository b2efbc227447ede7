"""Gaps drawn towards 0 by as much as their noise makes likely."""

from dataclasses import dataclass

import numpy as np

from evalstats.stats.checks import FloatArray
from evalstats.stats.gap.deleted_gaps import DeletedGaps
from evalstats.stats.gap.york import LineFit


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkenGaps:
    """Shrunken gaps, float64, shape (n_models,), live units; `low` and `high` NaN where tau has no upper limit."""

    estimate: FloatArray
    low: FloatArray
    high: FloatArray


def shrunken_gaps(gaps: DeletedGaps, fit: LineFit) -> ShrunkenGaps:
    """Return tau^2 / (tau^2 + v) times each gap."""
    v = gaps.std_error**2
    share = fit.tau2 / (fit.tau2 + v)
    empty = np.full(v.size, np.nan)
    return ShrunkenGaps(estimate=share * gaps.gap, low=empty, high=empty.copy())
