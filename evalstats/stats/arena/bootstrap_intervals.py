"""Percentile intervals of many quantities from the same replicates, some of which have no value."""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evalstats.stats.bootstrap.studentised import BLOCKS
from evalstats.stats.checks import FloatArray

Bools: TypeAlias = npt.NDArray[np.bool_]

_ROUNDING = 1e-9  # 0.025 * 1000 is 25, whatever the rounding
_SAME = 1e-9  # log-units


@dataclass(frozen=True, slots=True, kw_only=True)
class PercentileIntervals:
    """Intervals of several quantities from the same replicates.

    Attributes
    ----------
    estimate
        float64, shape (n,): of the observed votes.
    std_error
        float64, shape (n,): standard deviation over the replicates that have a value; NaN where there is no interval.
    conf_low, conf_high
        float64, shape (n,): type 1 quantiles, each the value of some replicate; NaN where there is no interval.
    error_low, error_high
        float64, shape (n,): Monte Carlo standard error of either end, from ten blocks of replicates; NaN where unknown.
    reasons
        Why there is no interval, for each quantity; None where there is one.
    """

    estimate: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    error_low: FloatArray
    error_high: FloatArray
    conf_level: float
    reasons: tuple[str | None, ...]


def percentile_intervals(
    estimate: FloatArray, values: FloatArray, outside: Bools, *, conf_level: float, reason: str | None = None
) -> PercentileIntervals:
    """Return the interval of each quantity.

    Parameters
    ----------
    estimate
        Shape (n,).
    values
        Shape (n, n_resamples).
    outside
        Same shape: replicates without a value, which count as lying below the lower and above the upper end.
    reason
        Why no interval is to be had, whatever the values.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=(1, 1000))
    >>> found = percentile_intervals(np.zeros(1), values, np.zeros((1, 1000), dtype=bool), conf_level=0.95)
    >>> found.conf_low.round(1).tolist(), found.conf_high.round(1).tolist()
    ([-1.9], [1.9])
    """
    tail = (1.0 - conf_level) / 2.0
    low, high = _ends(values, outside, tail)
    spread = np.full(estimate.size, np.nan)
    known = np.count_nonzero(~outside, axis=1) > 1
    spread[known] = np.nanstd(np.where(outside, np.nan, values)[known], axis=1, ddof=1)
    reasons = tuple(
        reason or _reason(float(lower), float(upper), int(lost), values.shape[1])
        for lower, upper, lost in zip(low, high, np.count_nonzero(outside, axis=1), strict=True)
    )
    none = np.array([each is not None for each in reasons], dtype=np.bool_)
    error_low, error_high = _errors(values, outside, tail)
    for column in (spread, low, high, error_low, error_high):
        column[none] = np.nan
    return PercentileIntervals(
        estimate=estimate,
        std_error=spread,
        conf_low=low,
        conf_high=high,
        error_low=error_low,
        error_high=error_high,
        conf_level=conf_level,
        reasons=reasons,
    )


def _ends(values: FloatArray, outside: Bools, tail: float) -> tuple[FloatArray, FloatArray]:
    """Return both ends along the last axis; infinite where they fall among replicates without a value."""
    n = values.shape[-1]
    place = min(max(math.ceil(tail * n - _ROUNDING), 1), n) - 1
    low = np.sort(np.where(outside, -np.inf, values), axis=-1)[..., place]
    high = -np.sort(np.where(outside, -np.inf, -values), axis=-1)[..., place]
    return low, high


def _errors(values: FloatArray, outside: Bools, tail: float) -> tuple[FloatArray, FloatArray]:
    n, size = values.shape[0], values.shape[1] // BLOCKS
    shape, used = (n, BLOCKS, size), slice(size * BLOCKS)
    out: list[FloatArray] = []
    for ends in _ends(values[:, used].reshape(shape), outside[:, used].reshape(shape), tail):
        finite = np.isfinite(ends).all(axis=1)
        error = np.full(n, np.nan)
        error[finite] = ends[finite].std(axis=1, ddof=1) / math.sqrt(BLOCKS)
        out.append(error)
    return out[0], out[1]


def _reason(low: float, high: float, lost: int, n: int) -> str | None:
    if not (math.isfinite(low) and math.isfinite(high)):
        return (
            f"in {lost} of {n} replicates wins and ties do not connect these models, or there is no optimum: too many to tell "
            "an end"
        )
    if high - low <= _SAME:
        return f"all of {n} replicates give the same value: a bootstrap cannot tell its spread"
    return None
