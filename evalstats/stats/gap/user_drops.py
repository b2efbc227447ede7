"""The drop from ideal to non-ideal users as a forecast: pooled over models, turned into scores, set against the gap."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import optimize, special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import positive_p, two_sided_t_p
from evalstats.stats.gap.scenario_gaps import averaged_correlations
from evalstats.stats.many.multiplicity import holm
from evalstats.stats.many.winners_curse import shrunken_means

_FEWEST_POOLED = 3
_SYMMETRY = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Drops:
    """What the lab says of each model with ideal users, and of what non-ideal ones take from it.

    Attributes
    ----------
    ideal, drop
        Shape (n_models,): score with ideal users; score with non-ideal ones less that (negative: does worse).
    covariance
        Shape (2 * n_models, 2 * n_models) of the errors of ideal scores, then drops. The ideal score enters both, so that
        they err against each other.
    df
        Shape (n_models,): degrees of freedom of the errors.
    """

    ideal: FloatArray
    drop: FloatArray
    covariance: FloatArray
    df: FloatArray

    def __post_init__(self) -> None:
        n = self.ideal.size
        if self.drop.shape != (n,) or self.df.shape != (n,) or self.covariance.shape != (2 * n, 2 * n):
            raise InputError(
                f"ideal has shape {self.ideal.shape}, drop {self.drop.shape}, df {self.df.shape} and covariance "
                f"{self.covariance.shape}; expected (n,), (n,), (n,) and (2n, 2n)"
            )
        parts = (self.ideal, self.drop, self.covariance)
        if not all(np.isfinite(part).all() for part in parts):
            raise InputError("an ideal score, a drop or a covariance is NaN or infinite; leave such models out")
        if np.abs(self.covariance - self.covariance.T).max(initial=0.0) > _SYMMETRY * np.abs(self.covariance).max():
            raise InputError("the covariance of ideal scores and drops is not symmetric")

    @property
    def of_ideal(self) -> FloatArray:
        """Covariance of the errors of the ideal scores."""
        return self.covariance[: self.ideal.size, : self.ideal.size]

    @property
    def of_drop(self) -> FloatArray:
        """Covariance of the errors of the drops."""
        return self.covariance[self.ideal.size :, self.ideal.size :]

    @property
    def drop_with_ideal(self) -> FloatArray:
        """Covariance of the errors of drops (rows) with those of ideal scores (columns)."""
        return self.covariance[self.ideal.size :, : self.ideal.size]

    def smooth(self) -> "Drops":
        """Average correlations over models, so that few clusters do not make a covariance that cannot be inverted."""
        n = self.ideal.size
        model, block = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
        kind = block[:, np.newaxis] + block + 3 * (model[:, np.newaxis] == model)
        return Drops(
            ideal=self.ideal, drop=self.drop, covariance=averaged_correlations(self.covariance, kind), df=self.df
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledDrops:
    """Drops drawn towards their common mean, and the scores that follow from them.

    Attributes
    ----------
    pooled, pooled_std_error
        Shape (n_models,).
    forecast, forecast_covariance
        Scores with a share of non-ideal users; covariance of their errors, that of the pooled drops in it.
    spread, spread_p
        Standard deviation of true drops between models (REML), and p of none; None for fewer than three models.
    """

    pooled: FloatArray
    pooled_std_error: FloatArray
    forecast: FloatArray
    forecast_covariance: FloatArray
    spread: float | None
    spread_p: float | None


def pooled_drops(drops: Drops, share: float, *, share_variance: float = 0.0) -> PooledDrops:
    """Pool drops over models and forecast the scores where a share of users is not ideal.

    Parameters
    ----------
    share
        Of non-ideal users, 0 to 1.
    share_variance
        Variance of share x drop that comes from not knowing the live shares exactly; it moves all models alike.

    Raises
    ------
    InputError
        If the share is no share, or the variance is negative.

    Notes
    -----
    Drops are ideal for `shrunken_means`: d = mu + a_m + e with a ~ N(0, spread^2) and e ~ N(0, V), V from the clusters. The
    predictions are linear in the drops given the spread, A d, so that the forecast ideal + share * A d has the errors of
    ideal scores and drops together with their covariance; what is not known of the spread is added (Prasad & Rao 1990). With
    fewer than three models drops stay as they are.

    Examples
    --------
    >>> found = pooled_drops(
    ...     Drops(
    ...         ideal=np.array([0.8, 0.7, 0.6]),
    ...         drop=np.array([-0.1, -0.1, -0.1]),
    ...         covariance=1e-4 * np.eye(6),
    ...         df=np.full(3, 30.0),
    ...     ),
    ...     0.5,
    ... )
    >>> found.forecast.round(3).tolist(), found.spread
    ([0.75, 0.65, 0.55], 0.0)
    """
    if not (0.0 <= share <= 1.0 and share_variance >= 0.0):
        raise InputError(f"the share of non-ideal users is {share:g} with variance {share_variance:g}; give 0 to 1")
    n = drops.ideal.size
    if n < _FEWEST_POOLED:
        pull, extra, spread = np.eye(n), np.zeros(n), None
        pooled = drops.drop
    else:
        pooled, pull, extra, spread = _pooled(drops)
    tau2 = 0.0 if spread is None else spread**2
    away = pull - np.eye(n)
    of_truth = tau2 * away @ away.T + np.diag(extra)
    own = pull @ drops.of_drop @ pull.T + of_truth
    both = np.hstack([np.eye(n), share * pull])
    covariance = both @ drops.covariance @ both.T + share**2 * of_truth + share_variance
    return PooledDrops(
        pooled=pooled,
        pooled_std_error=np.sqrt(np.maximum(np.diag(own), 0.0)),
        forecast=drops.ideal + share * pooled,
        forecast_covariance=(covariance + covariance.T) / 2.0,
        spread=spread,
        spread_p=None if spread is None else no_spread_p(drops),
    )


def _pooled(drops: Drops) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return predictions, the matrix that makes them, the variance that the unknown spread adds, and the spread."""
    noise = drops.smooth().of_drop
    found = shrunken_means(drops.drop, covariance=noise)
    inverse = np.linalg.inv(noise + found.between_sd**2 * np.eye(drops.drop.size))
    weights = inverse.sum(axis=0)
    pulled = noise @ (inverse - np.outer(weights, weights) / weights.sum())
    extra = np.maximum(found.std_error**2 - np.diag(noise - pulled @ noise), 0.0)
    return found.shrunken, np.eye(drops.drop.size) - pulled, extra, found.between_sd


def no_spread_p(drops: Drops) -> float:
    """Return p of the hypothesis that all models have the same drop.

    Notes
    -----
    Cochran's Q of the drops with their covariance, referred to Welch's F, which counts in that variances are estimated.

    References
    ----------
    Welch 1951, doi:10.1093/biomet/38.3-4.330.
    """
    noise = drops.smooth().of_drop
    n = drops.drop.size
    inverse = np.linalg.inv(noise)
    weights = inverse.sum(axis=0)
    rest = drops.drop - float(weights @ drops.drop / weights.sum())
    own = 1.0 / np.diag(noise)
    unsure = float((np.square(1.0 - own / own.sum()) / drops.df).sum()) / (n**2 - 1.0)
    statistic = float(rest @ inverse @ rest) / (n - 1.0) / (1.0 + 2.0 * (n - 2.0) * unsure)
    return positive_p(float(special.fdtrc(n - 1.0, 1.0 / (3.0 * unsure), statistic)))


def flipped_pairs(drops: Drops, pooled: PooledDrops, *, conf_level: float = 0.95) -> list[tuple[int, int]]:
    """Find pairs of models whose order with ideal users is not the one forecast, both being separated.

    Returns
    -------
    list of tuple of int
        (ahead with ideal users, ahead in the forecast).

    Notes
    -----
    A flip needs both differences, so the larger of the two p-values counts (intersection-union, Berger 1982); Holm over all
    pairs of models.
    """
    n = drops.ideal.size
    pairs = list(combinations(range(n), 2))
    if not pairs:
        return []
    p_values: list[float] = []
    for i, j in pairs:
        df = min(float(drops.df[i]), float(drops.df[j]))
        sides = ((drops.ideal, drops.of_ideal), (pooled.forecast, pooled.forecast_covariance))
        apart = [(x[i] - x[j], v[i, i] + v[j, j] - 2.0 * v[i, j]) for x, v in sides]
        against = apart[0][0] * apart[1][0] < 0.0 and min(apart[0][1], apart[1][1]) > 0.0
        p_values.append(max(two_sided_t_p(d / math.sqrt(v), df) for d, v in apart) if against else 1.0)
    found = holm(np.array(p_values)) <= 1.0 - conf_level
    flips = [pair for pair, yes in zip(pairs, found.tolist(), strict=True) if yes]
    return [(i, j) if drops.ideal[i] > drops.ideal[j] else (j, i) for i, j in flips]


def spread_beyond_noise(values: FloatArray, covariance: FloatArray) -> float:
    """Return the variance of true values about their mean: Paule and Mandel's, 0 where noise explains all.

    References
    ----------
    Paule & Mandel 1982, doi:10.6028/jres.087.022.

    Examples
    --------
    >>> round(spread_beyond_noise(np.array([0.0, 1.0, 2.0]), 0.25 * np.eye(3)), 9)
    0.75
    """
    n = values.size

    def excess(tau2: float) -> float:
        inverse = np.linalg.inv(covariance + tau2 * np.eye(n))
        weights = inverse.sum(axis=0)
        rest = values - float(weights @ values / weights.sum())
        return float(rest @ inverse @ rest) - (n - 1.0)

    if excess(0.0) <= 0.0:
        return 0.0
    top = float(np.square(values - values.mean()).sum()) + float(np.diag(covariance).max())
    return float(optimize.brentq(excess, 0.0, 2.0 * top, xtol=1e-12 * top))
