"""Mixtures of normal laws with the same weights: their quantiles, moments and probabilities."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from evalstats.stats.checks import FloatArray

_STEPS = 45


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """One mixture of normal laws for each column.

    Attributes
    ----------
    weight
        float64, shape (n_parts, n) or (n_parts, 1): columns sum to 1.
    mean, sd
        float64, shape (n_parts, n).

    Examples
    --------
    >>> one = Mixture(weight=np.ones((1, 1)), mean=np.zeros((1, 1)), sd=np.ones((1, 1)))
    >>> one.quantile(0.975).round(6), one.below(0.0)
    (array([1.959964]), array([0.5]))
    """

    weight: FloatArray
    mean: FloatArray
    sd: FloatArray

    def centre(self) -> FloatArray:
        """Return the means, shape (n,)."""
        return np.asarray((self.weight * self.mean).sum(axis=0), dtype=np.float64)

    def spread(self) -> FloatArray:
        """Return the standard deviations, shape (n,)."""
        away = np.square(self.mean - self.centre())
        return np.sqrt((self.weight * (away + np.square(self.sd))).sum(axis=0))

    def below(self, value: FloatArray | float) -> FloatArray:
        """Return the probability of lying below a value (one for each column, or one for all)."""
        return np.asarray((self.weight * ndtr((value - self.mean) / self.sd)).sum(axis=0), dtype=np.float64)

    def quantile(self, p: float) -> FloatArray:
        """Return the quantiles, shape (n,), by halving an interval that surely holds them (Cantelli's inequality)."""
        centre, spread = self.centre(), 1.001 * self.spread()
        low: FloatArray = centre - spread * float(np.sqrt((1 - p) / p))
        high: FloatArray = centre + spread * float(np.sqrt(p / (1 - p)))
        for _ in range(_STEPS):
            middle: FloatArray = (low + high) / 2
            under = self.below(middle) < p
            low[under], high[~under] = middle[under], middle[~under]
        return (low + high) / 2
