"""Strengths by category, drawn together: what a category adds to a model's strength, as far as it is more than noise.

References
----------
.. [1] C. N. Morris, "Parametric empirical Bayes inference", J. Am. Stat. Assoc. 78 (1983) 47-55.
.. [2] C. M. Crainiceanu, D. Ruppert, "Likelihood ratio tests in linear mixed models with one variance component",
   J. R. Statist. Soc. B 66 (2004) 165-185.
.. [3] N. E. Breslow, D. G. Clayton, "Approximate inference in generalized linear mixed models", J. Am. Stat. Assoc. 88 (1993)
   9-25.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special
from scipy.optimize import minimize_scalar

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.covariance import FEWEST_CLUSTERS
from evalstats.stats.arena.deviations import (
    DeviationModel,
    WayNoise,
    cluster_noise,
    deviation_model,
    draws_without,
)
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.slice_scores import clustering
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, check_count, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import t_quantile

_ROUNDS = 3
_GRID = 32
_FALL = 9.0  # log-likelihood below the maximum at which the grid of tau ends
_STEPS = 60
_NOTHING = 1e-6
_SETTLE = 8
_NEAR = 0.01  # relative change of tau at which the two agree


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledStrengths:
    """Deviations of strengths by category.

    Attributes
    ----------
    strengths
        float64, shape (n_models,), sum 0, log-units: common to all categories.
    deviations, std_error
        float64, shape (n_categories, n_models): predicted strength in the category less the common one, of mean 0 in each
        category; and the standard deviation of the error, in which it is counted that `tau` is estimated.
    conf_low, conf_high
        Of deviations, the same shape.
    tau, tau_low, tau_high
        Standard deviation of true deviations, log-units, with its profile interval; `tau_low` may be 0.
    statistic, p_value
        Restricted likelihood ratio of tau = 0, and its p from simulated noise; never 0.
    inflation
        How many times the variances between clusters exceed those of single votes, on average over deviations; 1 where votes
        stand on their own. Clusters that categories lie inside of are not counted.
    """

    strengths: FloatArray
    deviations: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    tau: float
    tau_low: float
    tau_high: float
    statistic: float
    p_value: float
    inflation: float
    df: float
    n_resamples: int


@one_thread
def pooled_strengths(
    fit: PairFit,
    rows: VoteRows,
    category: IntArray,
    *,
    conf_level: float = 0.95,
    n_resamples: int = 999,
    seed: int = 0,
) -> PooledStrengths:
    """Predict strengths in each category: strength m in category s is l_m + d_ms, d_ms ~ N(0, tau^2).

    Parameters
    ----------
    fit
        Strengths fitted to all rows together.
    rows
        Votes with their clusters; rows of different categories must not be merged. A vote may stand in several categories,
        with the code of the vote itself as a cluster.
    category
        Shape (n_rows,): 0..n_categories-1.

    Raises
    ------
    CannotAnswerError
        If there are fewer than 2 categories, no deviation can be told from strengths, or clusters are fewer than 6.

    Notes
    -----
    The likelihood of each category is expanded to second order about its prediction, three times (penalised quasi-
    likelihood), so that a category that does not connect all models, or in which a model won all, needs no estimate of its
    own: what its votes do not tell comes from the prior. Noise has the variance of single votes under the law of votes,
    and what clusters add if each has deviations of its own, of one variance (by moments); a covariance estimated for every
    cell would be as noisy as the cells. tau is estimated by restricted
    likelihood. Predictions are averaged over tau by that likelihood, so their errors count in that it is not known. Intervals
    are t with min G* - 1 df. Coefficients of covariates stay as fitted.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rng = np.random.default_rng(0)
    >>> topic, first = rng.integers(0, 4, 8000), rng.integers(0, 5, 8000)
    >>> second, extra = (first + rng.integers(1, 5, 8000)) % 5, rng.normal(0, 0.4, (4, 5))
    >>> lost = rng.random(8000) > 1 / (1 + np.exp(extra[topic, second] - extra[topic, first]))
    >>> rows = vote_rows(first, second, lost.astype(int), clusters=(topic,))
    >>> found = pooled_strengths(fit_strengths(rows), replace(rows, clusters=()), rows.clusters[0])
    >>> found.tau_low < 0.4 < found.tau_high, found.p_value
    (True, 0.001)
    """
    level, n_resamples = check_level(conf_level), check_count(n_resamples, "n_resamples", least=99)
    n_categories = int(category.max(initial=-1)) + 1
    if category.shape != (rows.n_rows,):
        raise InputError(f"categories have shape {category.shape}, but there are {rows.n_rows} rows; give one for each")
    if n_categories < 2:
        raise CannotAnswerError("votes are of one category; at least 2 are needed")
    used = clustering(replace(rows, clusters=_within(rows, category)))
    if used.fewest < FEWEST_CLUSTERS:
        raise CannotAnswerError(f"votes come from {used.fewest} clusters; at least {FEWEST_CLUSTERS} are needed")
    strengths = np.repeat(fit.strengths[None], n_categories, axis=0)
    ways = cluster_noise(fit, rows, category, used=used, seed=seed)

    def model_at(tau: float) -> DeviationModel:
        return deviation_model(fit, rows, category, strengths=strengths, extra=_extra(ways, tau))

    tau = 0.0
    for _ in range(_ROUNDS):
        model, tau = _settled(model_at, tau)
        common, deviations, _ = model.predict(tau)
        strengths = common + deviations
    model, tau = _settled(model_at, tau)
    grid, height = _grid(model, tau)
    weights = np.exp(height - height.max()) * _widths(grid)
    mean, error = _averaged(model, grid, weights / weights.sum())
    reach = t_quantile(level, max(used.df, 1.0)) * error
    # Without deviations clusters would vary as much as they are seen to.
    null = model_at(0.0)
    statistic = max(0.0, 2.0 * (null.log_lik(_best(null)) - null.log_lik(0.0)))
    low, high = _interval(model, tau, level)
    return PooledStrengths(
        strengths=model.predict(tau)[0],
        deviations=mean,
        std_error=error,
        conf_low=mean - reach,
        conf_high=mean + reach,
        tau=tau,
        tau_low=low,
        tau_high=high,
        statistic=statistic,
        p_value=_p_value(null, statistic, grid, n_resamples, seed),
        inflation=max([1.0, *(way.at_zero - tau**2 * way.by_deviations for way in ways)]),
        df=used.df,
        n_resamples=n_resamples,
    )


def _within(rows: VoteRows, category: IntArray) -> tuple[IntArray, ...]:
    """Return the ways of clustering that vary inside of categories; what a whole category shares is its deviation."""
    n = int(category.max()) + 1
    return tuple(codes for codes in rows.clusters if np.unique(codes * n + category).size > n)


def _settled(model_at: Callable[[float], DeviationModel], tau: float) -> tuple[DeviationModel, float]:
    """Return tau, and the model with the noise that is left when what such deviations add to clusters is taken off."""
    model = model_at(tau)
    for _ in range(_SETTLE):
        tau, before = _best(model), tau
        if abs(tau - before) <= _NEAR * max(tau, before):
            break
        model = model_at(tau)
    return model, tau


def _extra(ways: tuple[WayNoise, ...], tau: float) -> FloatArray | float:
    """Return the variance of scores that clusters add."""
    return sum((way.variance(tau) * way.blocks for way in ways), 0.0)


def _best(model: DeviationModel) -> float:
    """Return the tau of the largest restricted likelihood."""
    top = model.largest_tau()
    points = np.linspace(0.0, top, _GRID)
    best = int(np.argmax([model.log_lik(float(tau)) for tau in points]))
    low, high = points[max(best - 1, 0)], points[min(best + 1, _GRID - 1)]
    found = minimize_scalar(lambda tau: -model.log_lik(float(tau)), bounds=(low, high), method="bounded")
    tau = float(found.x)
    # 0 where nothing else is better.
    return tau if model.log_lik(tau) > model.log_lik(0.0) + _NOTHING else 0.0


def _grid(model: DeviationModel, tau: float) -> tuple[FloatArray, FloatArray]:
    """Return values of tau that hold almost all of the likelihood, and its logarithm there."""
    least = model.log_lik(tau) - _FALL
    high = max(tau, 0.05 * model.largest_tau())
    while model.log_lik(high) > least:
        high *= 1.25
    grid = np.linspace(0.0, high, _GRID)
    return grid, np.array([model.log_lik(float(value)) for value in grid])


def _widths(grid: FloatArray) -> FloatArray:
    width = np.gradient(grid)
    width[[0, -1]] /= 2.0
    return np.asarray(width, dtype=np.float64)


def _averaged(model: DeviationModel, grid: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the deviations, averaged over tau."""
    kept = weights > 1e-4 * weights.max()
    found = [model.predict(float(tau)) for tau in grid[kept]]
    share = weights[kept] / weights[kept].sum()
    means, variances = np.array([each[1] for each in found]), np.array([each[2] for each in found])
    mean = np.tensordot(share, means, axes=1)
    total = np.tensordot(share, variances + (means - mean) ** 2, axes=1)
    return mean, np.sqrt(np.maximum(total, 0.0))


def _interval(model: DeviationModel, tau: float, level: float) -> tuple[float, float]:
    """Return where twice the log-likelihood is within a chi-squared quantile of its maximum."""
    least = model.log_lik(tau) - float(special.chdtri(1, 1.0 - level)) / 2.0

    def crossing(inside: float, outside: float) -> float:
        for _ in range(_STEPS):
            middle = (inside + outside) / 2.0
            inside, outside = (middle, outside) if model.log_lik(middle) >= least else (inside, middle)
        return (inside + outside) / 2.0

    high = max(2.0 * tau, 0.05 * model.largest_tau())
    while model.log_lik(high) >= least:
        high *= 2.0
    low = 0.0 if model.log_lik(0.0) >= least else crossing(tau, 0.0)
    return low, crossing(tau, high)


def _p_value(model: DeviationModel, statistic: float, grid: FloatArray, n_resamples: int, seed: int) -> float:
    """Return the share of noise without deviations whose ratio is as large, the observed one counted in."""
    if statistic <= 0.0:
        return 1.0
    drawn = draws_without(model, grid, n_resamples, np.random.default_rng(seed))
    return (1 + int(np.count_nonzero(drawn >= statistic * (1.0 - 1e-9)))) / (1 + n_resamples)
