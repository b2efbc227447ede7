"""Quantiles and two-sided p-values of the normal and Student's t law.

`scipy.special` only: `scipy.stats` takes a second to import. A p-value is never 0.
"""

import math

from scipy import special

SMALLEST_P = 1e-300


def positive_p(p: float) -> float:
    """Return `p` in (0, 1]: an underflow becomes 1e-300, rounding above 1 becomes 1."""
    return min(1.0, max(float(p), SMALLEST_P))


def normal_quantile(conf_level: float) -> float:
    """Return z with P(|Z| <= z) = conf_level.

    Examples
    --------
    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    return -float(special.ndtri((1.0 - conf_level) / 2.0))


def t_quantile(conf_level: float, df: float) -> float:
    """Return q with P(|T| <= q) = conf_level for `df` degrees of freedom, whole or not.

    Examples
    --------
    >>> round(t_quantile(0.95, 5.404), 4)
    2.5138
    """
    return -float(special.stdtrit(df, (1.0 - conf_level) / 2.0))


def two_sided_normal_p(z: float) -> float:
    """Return P(|Z| >= |z|), accurate in the far tail.

    Examples
    --------
    >>> two_sided_normal_p(0.0), two_sided_normal_p(100.0)
    (1.0, 1e-300)
    """
    return positive_p(math.erfc(abs(z) / math.sqrt(2.0)))


def two_sided_t_p(t: float, df: float) -> float:
    """Return P(|T| >= |t|) for `df` degrees of freedom.

    Examples
    --------
    >>> round(two_sided_t_p(2.2571, 5.404), 4)
    0.0697
    """
    return positive_p(2.0 * float(special.stdtr(df, -abs(t))))
