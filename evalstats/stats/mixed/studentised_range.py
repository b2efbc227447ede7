"""The studentised range: the law behind Tukey's comparison of all pairs of means."""

import math

import numpy as np
from scipy import optimize, special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.tails import SMALLEST_P, positive_p

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_FAR = 38.0  # beyond it the normal density is 0 in double precision
_LARGE_DF = 1e7  # from here on the law is the normal one to 7 digits or more


def range_p(q: float, n_means: int, df: float = math.inf) -> float:
    """P(range of n_means independent standard normals, over an independent sqrt(chi2_df/df), exceeds q).

    Tukey's p of a difference with t = difference/std_error is range_p(sqrt(2) |t|, n_means, df).

    Parameters
    ----------
    q
        At least 0.
    n_means
        At least 2.
    df
        Above 0, whole or not; infinite for a known standard error.

    Notes
    -----
    With F and f the normal law, the upper tail is n int f(z) (F(z)^(n-1) - (F(z) - F(z-q))^(n-1)) dz, whose integrand is
    written without a difference, so that small p keep their digits; then averaged over the chi law. Gauss-Legendre, 200 nodes.

    References
    ----------
    Tukey 1953, The problem of multiple comparisons; Copenhaver & Holland 1988, doi:10.1080/00949658808811082.

    Examples
    --------
    >>> round(range_p(3.633, 4), 4), round(range_p(4.0, 3, df=10.5), 4)
    (0.05, 0.0417)
    """
    if n_means < 2 or not q >= 0.0 or not df > 0.0:
        raise InputError(f"q is {q:g}, n_means {n_means}, df {df:g}; expected q >= 0, at least 2 means, df > 0")
    if math.isinf(df) or df > _LARGE_DF:
        return positive_p(float(_normal_tail(np.array([q]), n_means)[0]))
    # The square of the scale is chi2/df; where it is small q counts for less, which is where a small p comes from.
    high = float(special.chdtri(df, 1e-15))
    least = max(2.0 * float(special.gammaincinv(0.5 * df, 1e-40)), 1e-60)
    u, w = _between(0.5 * math.log(least / df), 0.5 * math.log(high / df))
    scale = np.exp(u)
    log_density = (
        math.log(2.0)
        + 0.5 * df * math.log(0.5 * df)
        - float(special.gammaln(0.5 * df))
        + df * u
        - 0.5 * df * np.square(scale)
    )
    return positive_p(float(w @ (np.exp(log_density) * _normal_tail(q * scale, n_means))))


def range_critical(conf_level: float, n_means: int, df: float = math.inf) -> float:
    """Return q that the studentised range exceeds with probability 1 - conf_level.

    Examples
    --------
    >>> round(range_critical(0.95, 3, 20), 3)
    3.578
    """
    beyond = 1.0 - check_level(conf_level)
    high = 8.0
    while range_p(high, n_means, df) > beyond:
        high *= 2.0
    goal = math.log(beyond)
    found = optimize.brentq(lambda q: math.log(range_p(q, n_means, df)) - goal, 0.0, high, xtol=1e-12, rtol=1e-13)
    return float(found)


def _normal_tail(q: FloatArray, n: int) -> FloatArray:
    """Return P(range of n normals > q) for every q."""
    # Two pieces: where all n lie near 0, and where the largest lies near q.
    total = np.zeros(q.shape)
    for low, high in ((-8.5, 0.0), (0.0, 9.0)):
        total += _piece(q, n, np.full(q.shape, low), np.full(q.shape, high))
    start = np.full(q.shape, 9.0)
    total += _piece(q, n, start, np.clip(q + 9.0, start, _FAR))
    return np.clip(total, SMALLEST_P, 1.0)


def _piece(q: FloatArray, n: int, low: FloatArray, high: FloatArray) -> FloatArray:
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    z = middle[:, np.newaxis] + half[:, np.newaxis] * _NODES
    below = special.ndtr(z)
    left_out = np.minimum(special.ndtr(z - q[:, np.newaxis]) / below, 1.0)
    with np.errstate(divide="ignore"):
        gap = -np.expm1((n - 1) * np.log1p(-left_out))
    density = np.exp(-0.5 * np.square(z)) / math.sqrt(2.0 * math.pi)
    return half * ((density * below ** (n - 1) * gap) @ _WEIGHTS) * n


def _between(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    half = 0.5 * (high - low)
    return 0.5 * (high + low) + half * _NODES, half * _WEIGHTS
