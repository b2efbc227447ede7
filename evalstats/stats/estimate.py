"""The shape of every estimate with its interval, the normal and t laws behind intervals, and nodes to integrate over."""

import math
from functools import cache

import numpy as np
from scipy import special

from evalstats.record import record
from evalstats.stats.checks import FloatArray

SMALLEST_P = 1e-300


@record
class IntervalEstimate:
    """An estimate, its interval, and how both were reached, in the unit of the data.

    What cannot be estimated is None, and `reason` says why; it is never zero, NaN or an interval of width zero.

    Attributes
    ----------
    method
        What was computed, in words fit for print.
    n
        Independent units when there are no clusters (items, not rows); rows of the input otherwise.
    statistic, df
        Test statistic, signed, and its degrees of freedom.
    p_value
        Two-sided p of the hypothesis "the difference is 0"; None for the score of one model. Never 0.
    n_resamples
        Monte Carlo draws; None where the law was computed exactly.
    warnings
        What a reader must know before using the numbers.
    """

    estimate: float
    method: str
    conf_level: float
    n: int
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    n_clusters: int | None = None
    n_resamples: int | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        """Width of the interval; 0 where there is none."""
        return 0.0 if self.conf_low is None or self.conf_high is None else self.conf_high - self.conf_low


def positive_p(p: float) -> float:
    """Return `p` in (0, 1]: an underflow becomes 1e-300, rounding above 1 becomes 1."""
    return min(1.0, max(float(p), SMALLEST_P))


def normal_quantile(conf_level: float) -> float:
    """Return z with P(|Z| <= z) = conf_level."""
    return -float(special.ndtri((1.0 - conf_level) / 2.0))


def t_quantile(conf_level: float, df: float) -> float:
    """Return q with P(|T| <= q) = conf_level for `df` degrees of freedom, whole or not."""
    return -float(special.stdtrit(df, (1.0 - conf_level) / 2.0))


@cache
def legendre(n: int) -> tuple[FloatArray, FloatArray]:
    """Return the nodes and weights of Gauss-Legendre quadrature over [-1, 1]; 200 take 50 ms to find, so they are kept.

    >>> nodes, weights = legendre(3)
    >>> round(float(weights @ nodes**4), 12)  # the integral of x^4
    0.4
    """
    nodes, weights = np.polynomial.legendre.leggauss(n)
    for each in (nodes, weights):
        each.flags.writeable = False
    return nodes, weights


def two_sided_normal_p(z: float) -> float:
    """Return P(|Z| >= |z|), accurate in the far tail."""
    return positive_p(math.erfc(abs(z) / math.sqrt(2.0)))


def two_sided_t_p(t: float, df: float) -> float:
    """Return P(|T| >= |t|) for `df` degrees of freedom."""
    return positive_p(2.0 * float(special.stdtr(df, -abs(t))))


def t_estimate(
    estimate: float,
    std_error: float,
    df: float,
    conf_level: float,
    *,
    method: str,
    n: int,
    low: float | None = None,
    high: float | None = None,
    n_clusters: int | None = None,
    warnings: tuple[str, ...] = (),
) -> IntervalEstimate:
    """Return an estimate with its t interval, clipped to the bounds given, and the t test of 0."""
    reach = t_quantile(conf_level, df) * std_error
    statistic = estimate / std_error
    return IntervalEstimate(
        estimate=estimate,
        method=method,
        conf_level=conf_level,
        n=n,
        std_error=std_error,
        conf_low=estimate - reach if low is None else max(float(low), estimate - reach),
        conf_high=estimate + reach if high is None else min(float(high), estimate + reach),
        statistic=statistic,
        df=df,
        p_value=two_sided_t_p(statistic, df),
        n_clusters=n_clusters,
        warnings=warnings,
    )
