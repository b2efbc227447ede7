"""The winner's curse: the score of the leader corrected for selection, and scores shrunken towards their mean.

References: Andrews, Kitagawa & McCloskey 2024, doi:10.1093/qje/qjad043; Efron & Morris 1975; Prasad & Rao 1990,
doi:10.1080/01621459.1990.10475320; Datta & Lahiri 2000.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.many.pair_table import as_estimates

_SHARE = 0.1  # beta = alpha / 10, the authors' choice
_BISECTION_STEPS = 80
_ROUNDING = 1e-12
_GUESSES = 120
_FINER_STEPS = 41  # every round narrows the search twentyfold
_ROUNDS = 6


@record
class WinnerInterval:
    """The score of the model with the highest estimate, corrected for its having been chosen for that.

    `winner` is its index (the first where several tie), `observed` its estimate as it is. The hybrid `estimate` lies above
    the true score about as often as below. The projection is the simultaneous interval of all models, for the winner:
    simpler, and wider where the lead is clear.
    """

    winner: int
    observed: float
    estimate: float
    conf_low: float
    conf_high: float
    projection_low: float
    projection_high: float
    conf_level: float
    method: str
    note: str | None = None


def winner_interval(estimates: ArrayLike, covariance: ArrayLike, *, conf_level: float = 0.95) -> WinnerInterval:
    """Hybrid interval of Andrews, Kitagawa & McCloskey for the true score of the model on top; higher is better.

    `covariance`, shape (n_models, n_models), see `evalstats.stats.many.pair_table`, is taken as known, so from 100 items or 40
    clusters on.

    Notes
    -----
    Given that model j won, and given the part of the other estimates that is independent of X_j, X_j is normal truncated
    to [V_low, V_high]: it could not have been lower without losing. The hybrid also truncates to mu +- c sd_j, with c the
    simultaneous critical value at 1 - beta, beta = alpha / 10, and takes the mu at which the truncated law puts
    (alpha - beta) / (1 - beta) / 2 beyond X_j on either side. So it is never longer than the simultaneous interval at
    1 - beta and nears the ordinary one where the lead is clear. c is Sidak's, which holds for any correlation; the paper
    simulates it. Where the runner-up is close, the interval lies low and may not contain the estimate as observed: a
    narrow win is what a weaker model would have needed luck for. Where several tie at the top, no one was chosen by the
    data: then the interval is the simultaneous one.

    Examples
    --------
    >>> found = winner_interval([0.80, 0.76, 0.70], np.diag([0.02, 0.02, 0.02]) ** 2)
    >>> found.winner, round(found.estimate, 3), round(found.conf_low, 3), round(found.conf_high, 3)
    (0, 0.799, 0.753, 0.84)
    """
    level = check_level(conf_level)
    x, sigma = as_estimates(estimates, covariance)
    j = int(np.argmax(x))
    sd = math.sqrt(float(sigma[j, j]))
    reach = _sidak(level, x.size) * sd
    observed = float(x[j])
    tied = int(np.count_nonzero(x >= observed - _ROUNDING * sd)) > 1
    if tied:
        estimate, low, high = observed, observed - reach, observed + reach
    else:
        estimate, low, high = _hybrid(x, sigma, j, 1.0 - level)
    return WinnerInterval(
        winner=j,
        observed=observed,
        estimate=estimate,
        conf_low=low,
        conf_high=high,
        projection_low=observed - reach,
        projection_high=observed + reach,
        conf_level=level,
        method="simultaneous (projection)" if tied else "hybrid of conditional and simultaneous",
        note="several models tie at the top, so none was chosen by the data" if tied else None,
    )


def _hybrid(x: FloatArray, sigma: FloatArray, j: int, alpha: float) -> tuple[float, float, float]:
    """Return the median-unbiased estimate and both ends."""
    observed, sd = float(x[j]), math.sqrt(float(sigma[j, j]))
    low, high = _truncation(x, sigma, j)
    beta = _SHARE * alpha
    tail = (alpha - beta) / (1.0 - beta) / 2.0
    reach = _sidak(1.0 - beta, x.size) * sd

    def below(mu: float) -> float:
        """Return P(X_j <= observed) under mu, truncated; it falls as mu grows."""
        start, end = max(low, mu - reach), min(high, mu + reach)
        return _truncated_cdf((observed - mu) / sd, (start - mu) / sd, (end - mu) / sd)

    least, most = observed - reach, observed + reach
    found = [_root(below, share, least, most) for share in (0.5, 1.0 - tail, tail)]
    return found[0], found[1], found[2]


def _truncation(x: FloatArray, sigma: FloatArray, j: int) -> tuple[float, float]:
    """Return the lowest and highest X_j with which j would still have won, the independent rest being as it is."""
    others = np.arange(x.size) != j
    slack = sigma[j, j] - sigma[j, others]
    behind = x[others] - x[j]
    real = np.abs(slack) > _ROUNDING * sigma[j, j]
    # X_k moves with X_j by sigma_jk / sigma_jj: the gap to k closes at this value of X_j.
    closes = x[j] + behind[real] * sigma[j, j] / slack[real]
    return (
        float(closes[slack[real] > 0.0].max(initial=-np.inf)),
        float(closes[slack[real] < 0.0].min(initial=np.inf)),
    )


def _truncated_cdf(z: float, start: float, end: float) -> float:
    """Return P(Z <= z) for a standard normal truncated to [start, end], accurate in both tails."""
    if start > 0.0:
        return 1.0 - _truncated_cdf(-z, -end, -start) if end > start else 1.0
    inside, whole = _log_between(start, z), _log_between(start, end)
    return math.exp(min(0.0, inside - whole)) if whole > -math.inf else 1.0


def _log_between(start: float, end: float) -> float:
    """Return log P(start < Z < end) for start <= 0."""
    if end > 0.0:
        return math.log1p(-float(special.ndtr(start)) - float(special.ndtr(-end)))
    upper, lower = float(special.log_ndtr(end)), float(special.log_ndtr(start))
    return upper + math.log(-math.expm1(lower - upper)) if lower < upper else -math.inf


def _root(falling: Callable[[float], float], share: float, low: float, high: float) -> float:
    for _ in range(_BISECTION_STEPS):
        middle = 0.5 * (low + high)
        if falling(middle) > share:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _sidak(level: float, count: int) -> float:
    return normal_quantile(level ** (1.0 / count))


@record
class ShrunkenMeans:
    """Scores pulled towards their common mean by as much as they are noise.

    `shrunken` are predicted true scores and `std_error` their root mean squared errors, with those of the mean and of
    `between_sd` in them; the latter, the standard deviation of true scores, is 0 where noise explains the differences.
    """

    shrunken: FloatArray
    std_error: FloatArray
    mean: float
    between_sd: float


def shrunken_means(estimates: ArrayLike, covariance: ArrayLike) -> ShrunkenMeans:
    """Predict the models' true scores with a mixed model: the noisier a score, the nearer to the mean of all.

    The score of the model on top is too high on average, since luck helped to bring it there; its shrunken score is not.
    For models that were chosen from the same population (versions, checkpoints, systems of one kind): a single outlier of
    another kind is pulled towards the rest too far. The luck that the items give to all models alike, in `covariance`, is not
    taken for noise between them. At least 3 estimates.

    Notes
    -----
    x ~ N(mu, tau^2 I + S) with S known; tau^2 by restricted maximum likelihood, which may be 0. With V = tau^2 I + S and
    P = V^-1 - V^-1 1 1'V^-1 / (1'V^-1 1) the prediction is x - S P x. Its mean squared error is the diagonal of
    S - S P S + 2 S P P P S * 2 / tr(P P): the last term is for the error of tau^2 (Prasad & Rao; Datta & Lahiri).

    Examples
    --------
    >>> found = shrunken_means([0.62, 0.55, 0.52, 0.50, 0.41], 0.05**2 * np.eye(5))
    >>> found.shrunken.round(3).tolist(), round(found.between_sd, 3)
    ([0.577, 0.537, 0.52, 0.509, 0.457], 0.058)
    """
    x, sigma = as_estimates(estimates, covariance)
    if x.size < 3:
        raise InputError(f"{x.size} estimates say nothing of the spread of true scores; at least 3 are needed")
    values, vectors = np.linalg.eigh(sigma)
    values = np.maximum(values, _ROUNDING * float(values[-1]))
    tau2 = _between_variance(vectors.T @ x, vectors.sum(axis=0), values)
    inverse = (vectors / (tau2 + values)) @ vectors.T
    weights = inverse.sum(axis=0)
    projection = inverse - np.outer(weights, weights) / float(weights.sum())
    pulled = sigma @ projection
    of_variance = 2.0 / float(np.square(projection).sum())
    squares = np.diagonal(sigma - pulled @ sigma) + 2.0 * of_variance * np.diagonal(pulled @ projection @ pulled.T)
    return ShrunkenMeans(
        shrunken=x - pulled @ x,
        std_error=np.sqrt(np.maximum(squares, 0.0)),  # below 0 only by rounding
        mean=float(weights @ x / weights.sum()),
        between_sd=math.sqrt(tau2),
    )


def _between_variance(x: FloatArray, ones: FloatArray, values: FloatArray) -> float:
    """Return tau^2 by restricted maximum likelihood: the best point of a grid, then of finer ones around it.

    x and the vector of ones are given in the eigenvectors of the noise covariance, whose eigenvalues are `values`.
    """

    def deviance(tau2: FloatArray) -> FloatArray:
        weight = 1.0 / (tau2[:, np.newaxis] + values)
        information = weight @ ones**2
        residual = x - np.outer(weight @ (ones * x) / information, ones)
        return -np.log(weight).sum(axis=1) + np.log(information) + (residual**2 * weight).sum(axis=1)

    scale = float(np.square(x).sum()) / x.size + float(values.mean())
    grid = np.append(0.0, np.geomspace(1e-8 * scale, 10.0 * scale, _GUESSES))
    for _ in range(_ROUNDS):
        best = int(np.argmin(deviance(grid)))
        low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, grid.size - 1)])
        grid = np.linspace(low, high, _FINER_STEPS)
    return float(grid[int(np.argmin(deviance(grid)))])
