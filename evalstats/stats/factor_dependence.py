"""Whether items of one passage, scenario or user hang together: design effect, a test of each factor.

Of scores of many models at once, where `undeclared_dependence` looks at one difference. Scores are of shape
(n_items, n_models), NaN where a model has none.

References: Mantel 1967, Cancer Research 27:209 (the moments of the permutation law); Kish 1965, Survey Sampling (design
effect).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.record import record
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes
from evalstats.stats.estimate import positive_p
from evalstats.stats.many.multiplicity import holm
from evalstats.stats.many.pair_table import as_scores


def _cluster_sums(table: FloatArray, codes: IntArray, n_clusters: int) -> FloatArray:
    """Return the sum of the rows of each cluster, shape (n_clusters, n_columns)."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(n_clusters))
    return np.add.reduceat(table[order], starts, axis=0)


@record
class FactorDependence:
    """What one factor does to the differences between models.

    Attributes
    ----------
    n_levels
        Levels with an item that has scores.
    design_effect
        Factor on the variance of a difference between two models if the levels are a sample: squared sums of residuals over
        levels, by squared residuals, over all pairs of models. With two models it is that of `undeclared_dependence`.
    chance
        The design effect that would be expected if the factor did not matter.
    p_value, p_adjusted
        One-sided, of a factor that does not matter; adjusted over the factors (Holm).
    """

    factor: str
    n_levels: int
    design_effect: float
    chance: float
    p_value: float
    p_adjusted: float

    @property
    def matters(self) -> bool:
        """Whether an interval without these clusters is clearly too short: adjusted p up to .05, design effect from 1.5."""
        return self.p_adjusted <= _ALPHA and self.design_effect >= _LARGE_EFFECT


_ALPHA = 0.05
_SWEEPS = 50
_LARGE_EFFECT = 1.5  # as in undeclared_dependence


def factor_dependence(scores: ArrayLike, factors: Mapping[str, ArrayLike]) -> tuple[FactorDependence, ...]:
    """Measure, for each factor, how far differences between models hang together within its levels; the largest first.

    Parameters
    ----------
    scores
        At least two models. Items that only one model has say nothing of differences.
    factors
        Name of each factor and its integer codes, shape (n_items,). A null level is a level: code it as one.

    Returns
    -------
    tuple of FactorDependence
        Of the factors with 2 to n/2 levels; empty where no difference varies.

    Notes
    -----
    Scores less item means and models' means (fitted to the cells that there are) are residuals e; a cell without a score counts
    0. The statistic sums e_i . e_j over all pairs of items of one level, so its mean and variance over all permutations of the
    items are known (Mantel) and none need be drawn; p is from a gamma law with these moments.
    A factor with few levels and one with many are thus on one footing, and p can be as small as many factors require.

    Examples
    --------
    >>> d = np.repeat([1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], [8, 6, 8, 6, 2, 6, 7])
    >>> levels = np.repeat(np.arange(7), [8, 6, 8, 6, 2, 6, 7])
    >>> (found,) = factor_dependence(np.column_stack([np.zeros(43), d]), {"dimension": levels})
    >>> round(found.design_effect, 2), found.matters
    (6.74, True)
    """
    y = as_scores(scores)
    coded = {name: as_codes(codes, y.shape[0], f"codes of {name!r}")[0] for name, codes in factors.items()}
    seen = ~np.isnan(y)
    several = seen.sum(axis=1) > 1
    y, seen = y[several], seen[several]
    n = y.shape[0]
    if n < 2:
        return ()
    residuals = double_centred(y, seen)
    total = float(np.square(residuals).sum())
    if total <= 1e-18 * max(float(np.square(np.where(seen, y, 0.0)).sum()), 1e-300):
        return ()
    moments = _Moments.of(residuals)
    rows: list[FactorDependence] = []
    for name, codes_of_all in coded.items():
        codes, n_levels = as_codes(codes_of_all[several], n)
        if not 2 <= n_levels <= n / 2:
            continue
        sizes = np.bincount(codes).astype(np.float64)
        squares = np.square(_cluster_sums(residuals, codes, n_levels)).sum(axis=1)
        chance, p = moments.tail(sizes, float(squares.sum()) - total)
        rows.append(
            FactorDependence(
                factor=name,
                n_levels=n_levels,
                design_effect=float(squares.sum()) / total,
                chance=1.0 + chance / total,
                p_value=p,
                p_adjusted=p,
            )
        )
    adjusted = holm([row.p_value for row in rows]) if rows else np.empty(0)
    ranked = sorted(
        zip(rows, adjusted, strict=True), key=lambda pair: (pair[1], -pair[0].design_effect, pair[0].factor)
    )
    return tuple(replace(row, p_adjusted=float(p)) for row, p in ranked)


def double_centred(scores: FloatArray, seen: BoolArray) -> FloatArray:
    """Return scores less effects of items and of models, fitted by least squares to the cells that are seen; 0 elsewhere.

    Examples
    --------
    >>> double_centred(np.array([[1.0, 3.0], [2.0, 8.0]]), np.ones((2, 2), dtype=bool)).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    rest = np.where(seen, scores, 0.0)
    of_item, of_model = np.maximum(seen.sum(axis=1, keepdims=True), 1), np.maximum(seen.sum(axis=0), 1)
    close_enough = 1e-10 * float(np.abs(rest).max(initial=0.0))
    for _ in range(_SWEEPS):
        rest -= np.where(seen, rest.sum(axis=1, keepdims=True) / of_item, 0.0)
        shift = rest.sum(axis=0) / of_model
        rest -= np.where(seen, shift, 0.0)
        if float(np.abs(shift).max(initial=0.0)) <= close_enough:
            break
    return rest


@dataclass(frozen=True, slots=True)
class _Moments:
    """Sums over pairs of different items of e_i . e_j, of its square, and of the square of its row sums."""

    n: int
    total: float
    one: float
    two: float
    three: float

    @classmethod
    def of(cls, residuals: FloatArray) -> "_Moments":
        lengths = np.square(residuals).sum(axis=1)
        to_others = residuals @ residuals.sum(axis=0) - lengths
        fourth = float(np.square(lengths).sum())
        return cls(
            n=residuals.shape[0],
            total=float(lengths.sum()),
            one=float(to_others.sum()),
            two=float(np.square(residuals.T @ residuals).sum()) - fourth,
            three=float(np.square(to_others).sum()),
        )

    def tail(self, sizes: FloatArray, observed: float) -> tuple[float, float]:
        """Return the mean of the statistic over permutations, and the chance of one as large as observed."""
        n = float(self.n)
        pairs = float((sizes * (sizes - 1.0)).sum())  # ones stay ones when squared
        rows = float((sizes * np.square(sizes - 1.0)).sum())
        mean = pairs * self.one / (n * (n - 1.0))
        second = 2.0 * pairs * self.two / (n * (n - 1.0))
        if n > 2:
            second += 4.0 * (rows - pairs) * (self.three - self.two) / (n * (n - 1.0) * (n - 2.0))
        if n > 3:
            rest = pairs**2 + 2.0 * pairs - 4.0 * rows, self.one**2 + 2.0 * self.two - 4.0 * self.three
            second += rest[0] * rest[1] / (n * (n - 1.0) * (n - 2.0) * (n - 3.0))
        variance = second - mean**2
        level = mean + self.total
        if variance <= 1e-12 * self.total**2 or level <= 0.0:
            return mean, 1.0
        shape = level**2 / variance
        p = float(special.gammaincc(shape, shape * (observed + self.total) / level))
        return mean, positive_p(p)
