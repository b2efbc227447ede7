"""Differences of two probabilities that were averaged over a population, with intervals that stay between -1 and 1."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.mixed.contrasts import LinearEstimates, linear_estimates
from evalstats.stats.mixed.families import Adjustment, adjusted
from evalstats.stats.mixed.population import ProbabilityMeans

_STEP, _FINEST = 0.01, 0.0005
_TAIL = 9.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbabilityDifferences:
    """Differences of two averaged probabilities, first minus second; null is NaN here and `reasons` says why.

    Attributes
    ----------
    estimate, std_error, conf_low, conf_high
        float64, shape (n_differences,), proportions; the interval lies within -1 and 1.
    statistic, p_value, p_adjusted
        z of the difference of logits, which is 0 exactly where the difference of probabilities is. An interval excludes 0
        exactly where the p that goes with it (`p_value` without adjustment) is below 1 - conf_level.
    intervals
        What the intervals are, in words.
    """

    names: tuple[str, ...]
    estimate: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    conf_level: float
    statistic: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    method: Adjustment
    intervals: str
    reasons: tuple[str | None, ...]
    warnings: tuple[str, ...] = ()


def probability_differences(
    means: ProbabilityMeans,
    first: ArrayLike,
    second: ArrayLike,
    *,
    method: Adjustment = "none",
    family: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    conf_level: float | None = None,
    seed: int = 0,
) -> ProbabilityDifferences:
    """Differences of pairs of probabilities, with intervals that stay between -1 and 1.

    Parameters
    ----------
    first, second
        Indices of the means, shape (n_differences,): mean[first] - mean[second].
    method, family, seed
        Adjustment within families, as in `families.adjusted`; the intervals then hold together.

    Notes
    -----
    The two logits are taken as jointly normal, the scale on which that is nearest to the truth, and the interval ends are the
    quantiles of the difference of the two probabilities under that law, by integration. As the difference is below 0
    exactly where that of the logits is, p is that of the Wald test of equal logits, and interval and p never disagree.

    References
    ----------
    Mandel 2013, doi:10.1080/00031305.2013.783880 (quantiles of a transformed normal estimate).

    Examples
    --------
    >>> from evalstats.stats.mixed.population import population_means
    >>> m = population_means(np.eye(2), [3.0, 1.0], [0.0, 0.0], covariance=0.2 * np.eye(2))
    >>> d = probability_differences(m, [0], [1])
    >>> d.estimate.round(3).tolist(), d.conf_low.round(3).tolist(), d.conf_high.round(3).tolist()
    ([0.222], [0.073], [0.422])
    """
    i, j = _indices(first, second, len(means.names))
    level = means.conf_level if conf_level is None else check_level(conf_level)
    eye = np.eye(len(means.names))
    labels = (
        [f"{means.names[a]} - {means.names[b]}" for a, b in zip(i.tolist(), j.tolist(), strict=True)]
        if names is None
        else list(names)
    )
    null: list[str | None] = [means.reasons[a] or means.reasons[b] for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    logits = linear_estimates(
        eye[i] - eye[j],
        np.nan_to_num(means.logit),
        np.nan_to_num(means.logit_covariance),
        conf_level=level,
        names=labels,
    )
    logits = _without(logits, null)
    together = adjusted(logits, method, family=family, seed=seed)
    z = (together.conf_high - logits.estimate) / logits.std_error
    variance = np.diagonal(means.covariance)
    spread = variance[i] + variance[j] - 2.0 * means.covariance[i, j]
    low, high = np.full(i.size, np.nan), np.full(i.size, np.nan)
    for at in np.flatnonzero(np.isfinite(z)):
        pair = np.array([i[at], j[at]])
        low[at], high[at] = _quantiles(means.logit[pair], means.logit_covariance[np.ix_(pair, pair)], float(z[at]))
    open_ = np.isfinite(z)
    return ProbabilityDifferences(
        names=tuple(labels),
        estimate=means.estimate[i] - means.estimate[j],
        std_error=np.where(open_, np.sqrt(np.maximum(spread, 0.0)), np.nan),
        conf_low=low,
        conf_high=high,
        conf_level=level,
        statistic=logits.statistic,
        p_value=logits.p_value,
        p_adjusted=together.p_adjusted,
        method=method,
        intervals=f"quantiles under normal logits; {together.intervals}",
        reasons=logits.reasons,
        warnings=(*means.warnings, *together.warnings),
    )


def _indices(first: ArrayLike, second: ArrayLike, n: int) -> tuple[IntArray, IntArray]:
    i, j = np.atleast_1d(np.asarray(first)), np.atleast_1d(np.asarray(second))
    if i.shape != j.shape or i.ndim != 1 or i.dtype.kind not in "iu" or j.dtype.kind not in "iu":
        raise InputError(f"first has shape {i.shape} and second {j.shape}; give whole numbers, one pair a difference")
    if min(i.min(), j.min()) < 0 or max(i.max(), j.max()) >= n:
        raise InputError(f"pairs reach outside the {n} means")
    return i.astype(np.int64), j.astype(np.int64)


def _without(estimates: LinearEstimates, null: Sequence[str | None]) -> LinearEstimates:
    """Return the estimates with those that have a reason made null."""
    gone = np.array([reason is not None for reason in null])
    if not gone.any():
        return estimates

    def null_where_gone(values: FloatArray) -> FloatArray:
        return np.where(gone, np.nan, values)

    return replace(
        estimates,
        estimate=null_where_gone(estimates.estimate),
        std_error=null_where_gone(estimates.std_error),
        df=null_where_gone(estimates.df),
        statistic=null_where_gone(estimates.statistic),
        p_value=null_where_gone(estimates.p_value),
        conf_low=null_where_gone(estimates.conf_low),
        conf_high=null_where_gone(estimates.conf_high),
        reasons=tuple(a or b for a, b in zip(null, estimates.reasons, strict=True)),
    )


def _quantiles(logit: FloatArray, covariance: FloatArray, z: float) -> tuple[float, float]:
    """Return the quantiles Phi(-z) and Phi(z) of expit(X) - expit(Y), (X, Y) normal."""
    # X is integrated over, Y given X is in closed form; the one with the larger spread is X, the rest has more of its own.
    turned = covariance[1, 1] > covariance[0, 0]
    a, b = (1, 0) if turned else (0, 1)
    spread = np.sqrt(np.diagonal(covariance))
    rho = float(np.clip(covariance[0, 1] / (spread[0] * spread[1]), -1.0, 1.0))
    own = max(math.sqrt(1.0 - rho * rho), 2.0 * _FINEST)
    step = max(min(_STEP, 0.5 * own), _FINEST)
    u = np.arange(-math.ceil(_TAIL / step), math.ceil(_TAIL / step) + 1) * step
    weight = np.exp(-0.5 * u * u) * (step / math.sqrt(2.0 * math.pi))
    x = np.asarray(special.expit(logit[a] + spread[a] * u), dtype=np.float64)
    centre = np.asarray(logit[b] + rho * spread[b] * u, dtype=np.float64)

    def below(d: float) -> float:
        """P(expit(X) - expit(Y) <= d)."""
        # The probability of Y must reach x - d; the logits of 0 and 1 are infinite, as they should be.
        least = special.logit(np.minimum(np.maximum(x - d, 0.0), 1.0))
        reached = np.asarray(special.ndtr((centre - least) / (own * spread[b])), dtype=np.float64)
        return float(weight @ reached)

    tail = float(special.ndtr(-z))
    low, high = _where(below, tail), _where(below, 1.0 - tail)
    return (-high, -low) if turned else (low, high)


def _where(below: Callable[[float], float], goal: float) -> float:
    return float(optimize.brentq(lambda d: below(d) - goal, -1.0, 1.0, xtol=1e-12))
