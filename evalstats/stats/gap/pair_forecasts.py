"""How well probabilities of order forecast an order: Brier's score of pairs and its exact parts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, as_values, check_bounds

_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """Brier's score of forecasts of order, and what it is made of.

    Attributes
    ----------
    score
        Mean of (forecast - outcome)^2; 0.25 for a coin.
    soft_score
        Mean of (forecast - probability of the outcome)^2; None where that probability is unknown.
    reliability, resolution, uncertainty, within
        score = reliability - resolution + uncertainty + within, exactly.
    """

    score: float
    soft_score: float | None
    reliability: float
    resolution: float
    uncertainty: float
    within: float


def forecast_parts(forecasts: ArrayLike, outcomes: ArrayLike, chances: ArrayLike | None = None) -> Forecasts:
    """Score forecasts that the first of a pair beats the second, and take the score apart as Murphy does.

    Parameters
    ----------
    forecasts
        float64, shape (n_pairs,), in [0, 1].
    outcomes
        1 where the first won, 0 where the second did, 0.5 for a tie.
    chances
        Probability of the outcome 1 where outcomes are themselves uncertain.

    Raises
    ------
    InputError
        If lengths differ or a number lies outside [0, 1].

    Notes
    -----
    Which model of a pair comes first is arbitrary, so each pair is binned from both ends: ten bins, symmetric about one
    half, and a base rate of one half. `within` is the variance of the forecasts inside bins less twice their covariance
    with the outcomes there: it makes the identity exact for binned forecasts.

    References
    ----------
    Murphy 1973, doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2; Stephenson et al. 2008, doi:10.1175/2007WAF2006116.1.

    Examples
    --------
    >>> r = forecast_parts([0.9, 0.8, 0.4], [1.0, 0.0, 0.0])
    >>> round(r.score, 6), round(r.reliability - r.resolution + r.uncertainty + r.within, 6)
    (0.27, 0.27)
    """
    p, y = as_values(forecasts, "forecasts"), as_values(outcomes, "outcomes")
    if p.size != y.size:
        raise InputError(f"there are {p.size} forecasts and {y.size} outcomes; give one of each per pair")
    for what, values in (("forecasts", p), ("outcomes", y)):
        check_bounds(values, 0.0, 1.0, what)
    soft = None if chances is None else float(((p - as_values(chances, "chances")) ** 2).mean())
    q, x = np.concatenate([p, 1.0 - p]), np.concatenate([y, 1.0 - y])
    # The bin of 1 - p is the mirror of the bin of p, rounding at the edges or not.
    lower = np.minimum((p * _BINS).astype(np.int64), _BINS - 1)
    bins = np.concatenate([lower, _BINS - 1 - lower])
    return Forecasts(score=float(((p - y) ** 2).mean()), soft_score=soft, **_murphy(q, x, bins))


def _murphy(q: FloatArray, x: FloatArray, bins: IntArray) -> dict[str, float]:
    n = np.maximum(np.bincount(bins, minlength=_BINS), 1).astype(np.float64)
    share = np.bincount(bins, minlength=_BINS) / q.size
    mean_q = np.bincount(bins, q, minlength=_BINS) / n
    mean_x = np.bincount(bins, x, minlength=_BINS) / n
    left = q - mean_q[bins]
    return {
        "reliability": float((share * (mean_q - mean_x) ** 2).sum()),
        "resolution": float((share * (mean_x - x.mean()) ** 2).sum()),
        "uncertainty": float(x.var()),
        "within": float((left**2 - 2.0 * left * (x - mean_x[bins])).mean()),
    }
