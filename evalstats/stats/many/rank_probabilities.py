"""The posterior of the ranks of many models: exchangeable scores, and a likelihood known from the errors of all pairs.

True scores are theta_m ~ N(mu, tau^2) with a flat prior of mu, so that models are drawn together by as much as their noise makes
likely; tau has a half-Cauchy prior. The likelihood of contrasts of scores is normal with the
covariance that the standard errors of all pairs give, known up to a factor w with `df` degrees of freedom. In the eigenvectors of
that covariance all contrasts are independent given (tau, w), over which the sum is by the trapezoid rule; pairs are then exact,
and only the ranks of all models together are drawn.

References: Gelman 2006, doi:10.1214/06-BA117A; Laird & Louis 1989, doi:10.2307/1164724, and Lin, Louis, Paddock & Ridgeway 2006,
doi:10.1214/06-BA130 (posteriors of ranks); Goldstein & Spiegelhalter 1996, doi:10.2307/2983325.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, check_count, check_level

# Between nodes of log tau and of log w; the laws are smooth in both.
_STEP, _W_NODES = 0.1, 41
_BEYOND = 1e3
# Errors of pairs that no joint law has: the most negative eigenvalue, as a share of the largest.
_NOT_JOINT = 1e-3
# Nodes of less weight change nothing.
_NOTHING = 1e-9
_AT_ONCE = 2_000_000


@record
class RankProbabilities:
    """What is to be thought of the ranks of models; all arrays in the order of the models, higher is better.

    Attributes
    ----------
    p_rank
        P(model i has rank k + 1), shape (n_models, n_models): rows and columns sum to 1.
    p_above
        P(model i is better than model j), shape (n_models, n_models), 1/2 on the diagonal.
    expected_rank
        1 + the sum of P(another one is better), exact.
    rank_low, rank_high
        Ranks between which the model's lies with `conf_level`, equal tails.
    loss
        Expected loss of choosing the model: how far the best is above it, in the unit of the scores.
    mean, std_dev
        Of the model's score minus the mean of all.
    between_sd
        Posterior median of tau.
    error
        Largest Monte Carlo standard error of a probability in `p_rank`.
    """

    p_rank: FloatArray
    p_above: FloatArray
    expected_rank: FloatArray
    rank_low: IntArray
    rank_high: IntArray
    loss: FloatArray
    mean: FloatArray
    std_dev: FloatArray
    between_sd: float
    n_draws: int
    error: float


def rank_posterior(
    estimates: ArrayLike,
    pair_errors: ArrayLike,
    *,
    df: float,
    scale: float,
    conf_level: float = 0.95,
    n_draws: int = 20_000,
    seed: int = 0,
) -> RankProbabilities:
    """Posterior of the ranks of models.

    Parameters
    ----------
    estimates
        Shape (n_models,); higher is better.
    pair_errors
        Standard errors of all differences of two, shape (n_models, n_models), symmetric.
    df
        Degrees of freedom of these; infinite where they are known.
    scale
        Of the half-Cauchy prior of the standard deviation between models, in the unit of the scores.
    n_draws, seed
        Draws of all ranks.

    Raises
    ------
    InputError
        If shapes or values are wrong, a pair has no standard error, or the errors of the pairs are those of no joint law.

    Examples
    --------
    >>> errors = np.full((3, 3), 0.03) * (1 - np.eye(3))
    >>> found = rank_posterior([0.62, 0.60, 0.50], errors, df=200, scale=0.1)
    >>> found.p_rank[:, 0].round(2).tolist(), found.expected_rank.round(2).tolist()
    ([0.73, 0.27, 0.0], [1.27, 1.74, 3.0])
    """
    x, errors = np.asarray(estimates, dtype=np.float64), np.asarray(pair_errors, dtype=np.float64)
    level, n_draws = check_level(conf_level), check_count(n_draws, "n_draws", least=1)
    m = x.size
    if x.ndim != 1 or m < 2 or errors.shape != (m, m):
        raise InputError(
            f"{m} estimates and errors of shape {errors.shape}; give at least two, and an error for every pair"
        )
    if not np.isfinite(x).all() or not (errors[~np.eye(m, dtype=bool)] > 0.0).all() or not np.isfinite(errors).all():
        raise InputError("an estimate is missing, or two models have no standard error of their difference")
    if not (scale > 0.0 and math.isfinite(scale) and df > 0.0):
        raise InputError(f"scale is {scale:g} and df {df:g}; both must be positive, and the scale finite")
    basis = _contrasts(m)
    values, vectors = np.linalg.eigh(-0.5 * basis.T @ np.square(errors) @ basis)
    if values[0] < -_NOT_JOINT * values[-1]:
        raise InputError(
            "the standard errors of the pairs contradict each other, as those of models on different items can; "
            "compare models that answered the same items"
        )
    values = np.maximum(values, 1e-9 * values[-1])
    axes = basis @ vectors  # (n_models, n_models - 1): scores minus their mean from independent contrasts
    y = axes.T @ x
    tau, w, weight = _nodes(y, values, df=df, scale=scale)
    noise = w[:, np.newaxis] * values
    kept = np.square(tau)[:, np.newaxis] / (np.square(tau)[:, np.newaxis] + noise)
    middle, spread = kept * y, np.sqrt(kept * noise)

    p_above = np.full((m, m), 0.5)
    first, second = np.triu_indices(m, 1)
    for start in range(0, first.size, max(_AT_ONCE // weight.size, 1)):
        pairs = slice(start, start + max(_AT_ONCE // weight.size, 1))
        across = (axes[first[pairs]] - axes[second[pairs]]).T
        p = weight @ special.ndtr((middle @ across) / np.sqrt(np.square(spread) @ np.square(across)))
        p_above[first[pairs], second[pairs]], p_above[second[pairs], first[pairs]] = p, 1.0 - p

    rng = np.random.default_rng(seed)
    # Systematic: each node as often as its weight says, but for one.
    node = np.searchsorted(np.cumsum(weight)[:-1], (np.arange(n_draws) + rng.random()) / n_draws)
    counts, lost = np.zeros((m, m)), np.zeros(m)
    for part in np.array_split(node, max(n_draws * m // _AT_ONCE, 1)):
        theta = (middle[part] + spread[part] * rng.standard_normal((part.size, m - 1))) @ axes.T
        order = np.argsort(-theta, axis=1)
        lost += (theta.max(axis=1, keepdims=True) - theta).sum(axis=0)
        for k in range(m):
            counts[:, k] += np.bincount(order[:, k], minlength=m)
    p_rank = counts / n_draws
    below = np.cumsum(p_rank, axis=1)
    mean = axes @ (weight @ middle)
    square = np.square(middle @ axes.T) + np.square(spread) @ np.square(axes).T
    by_tau = np.argsort(tau)
    return RankProbabilities(
        p_rank=p_rank,
        p_above=p_above,
        expected_rank=np.asarray(0.5 + p_above.sum(axis=0), dtype=np.float64),
        rank_low=1 + (below < (1.0 - level) / 2.0).sum(axis=1),
        rank_high=1 + (below < (1.0 + level) / 2.0 - 1e-12).sum(axis=1),
        loss=lost / n_draws,
        mean=mean,
        std_dev=np.sqrt(np.maximum(weight @ square - np.square(mean), 0.0)),
        between_sd=float(tau[by_tau][np.searchsorted(np.cumsum(weight[by_tau]), 0.5)]),
        n_draws=n_draws,
        error=float(np.sqrt(p_rank * (1.0 - p_rank) / n_draws).max()),
    )


def _contrasts(m: int) -> FloatArray:
    """Return an orthonormal basis of the contrasts of m scores, shape (m, m - 1): Helmert's."""
    found = np.zeros((m, m - 1))
    for k in range(1, m):
        found[:k, k - 1], found[k, k - 1] = 1.0, -float(k)
        found[:, k - 1] /= math.sqrt(k * (k + 1.0))
    return found


def _nodes(y: FloatArray, values: FloatArray, *, df: float, scale: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return standard deviations between models, factors of the noise and their posterior weights, shape (n_nodes,) each."""
    seen = math.sqrt(float(np.square(y).mean()))
    noise = math.sqrt(float(values.min()))
    low, high = min(scale, noise) / _BEYOND, max(scale, seen, noise) * _BEYOND
    # Many models make the likelihood of tau narrow, and the steps with it.
    step = min(_STEP, 0.35 / math.sqrt(y.size))
    tau = np.exp(np.arange(math.log(low), math.log(high) + step, step))
    log_tau = np.log(tau) - np.log1p(np.square(tau / scale))
    w, log_w = np.ones(1), np.zeros(1)
    if math.isfinite(df):
        # 1/w is chi-squared/df; its log is smooth, and this far holds all but 1e-12 of it.
        reach = 8.0 * math.sqrt(2.0 / df) + 8.0 / df
        log = np.linspace(-reach, reach + 24.0 / df, _W_NODES)
        w, log_w = np.exp(log), -0.5 * df * (log + np.exp(-log))
    variance = np.square(tau)[:, np.newaxis, np.newaxis] + w[:, np.newaxis] * values
    logs = log_tau[:, np.newaxis] + log_w - 0.5 * (np.log(variance) + np.square(y) / variance).sum(axis=2)
    weight = np.exp(logs - logs.max()).ravel()
    weight /= weight.sum()
    taus, ws = (each.ravel() for each in np.meshgrid(tau, w, indexing="ij"))
    kept = weight > _NOTHING * weight.max()
    return taus[kept], ws[kept], weight[kept] / weight[kept].sum()
