"""Ratings on the scale that live arenas print, one-pass Elo, and what choosing the best of several variants adds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, as_values, check_count

ELO_PER_LOG_ODDS = 400.0 / math.log(10.0)


def online_elo(
    first: ArrayLike,
    second: ArrayLike,
    share: ArrayLike,
    *,
    n_models: int,
    k: float = 4.0,
    scale: float = 400.0,
    start: float = 1000.0,
) -> FloatArray:
    """Return ratings after one pass over votes in the order given, shape (n_models,).

    After each vote the first model gains k (share - expected) points and the second loses them, where expected is
    1 / (1 + 10^((rating of second - rating of first) / scale)) (Elo 1978).

    Parameters
    ----------
    first, second
        Integers, shape (n_votes,): models.
    share
        Shape (n_votes,): 1 where the first won, 0 where the second did, 1/2 for a tie.

    Raises
    ------
    InputError
        If shapes differ, a model is unknown, or a number is not finite or out of range.

    Examples
    --------
    >>> online_elo([0], [1], [1.0], n_models=2).tolist()
    [1002.0, 998.0]
    """
    a, b, y = _votes(first, second, share, n_models)
    for value, what in ((k, "k"), (scale, "scale")):
        if not 0.0 < value < math.inf:
            raise InputError(f"{what} is {value:g}; give a number above 0")
    return _pass(a.tolist(), b.tolist(), y.tolist(), n_models, _Rule(k, scale, start))


@dataclass(frozen=True, slots=True)
class _Rule:
    k: float
    scale: float
    start: float


def _pass(first: list[int], second: list[int], share: list[float], n_models: int, rule: _Rule) -> FloatArray:
    """Return ratings after all votes; plain floats are faster than arrays of one number."""
    ratings, tanh = [0.0] * n_models, math.tanh
    # 1 / (1 + 10^(-d / scale)) is (1 + tanh(d ln 10 / (2 scale))) / 2, which cannot overflow.
    half_slope, half_k = math.log(10.0) / (2.0 * rule.scale), rule.k / 2.0
    for a, b, got in zip(first, second, share, strict=True):
        gain = half_k * (got + got - 1.0 - tanh(half_slope * (ratings[a] - ratings[b])))
        ratings[a] += gain
        ratings[b] -= gain
    return rule.start + np.array(ratings)


def _votes(
    first: ArrayLike, second: ArrayLike, share: ArrayLike, n_models: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return checked votes."""
    y = as_values(share, "shares")
    a, b = np.asarray(first), np.asarray(second)
    if not (a.shape == b.shape == y.shape) or a.dtype.kind not in "iu" or b.dtype.kind not in "iu":
        raise InputError(
            f"there are {a.size} first models, {b.size} second models and {y.size} shares; give one of each"
        )
    if min(a.min(), b.min()) < 0 or max(a.max(), b.max()) >= n_models:
        raise InputError(
            f"models are numbered up to {max(a.max(), b.max())}, but there are {n_models}; number them from 0"
        )
    if np.any(a == b):
        raise InputError(f"{int(np.count_nonzero(a == b))} votes are of a model against itself; leave them out")
    if y.min() < 0.0 or y.max() > 1.0:
        raise InputError(f"shares lie between {y.min():g} and {y.max():g}; give shares between 0 and 1")
    return a.astype(np.int64), b.astype(np.int64), y


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_REACH = 9.0  # standard deviations within which the law of the maximum lies
TRIED = (2, 3, 5, 10, 20)


def expected_maximum(n: int) -> float:
    """Return the mean of the largest of `n` independent standard normal numbers.

    n integral x phi(x) Phi(x)^(n-1) dx, by Gauss-Legendre quadrature; right to 12 digits up to n of some thousands.

    Raises
    ------
    InputError
        If `n` is no whole number of at least 1.

    References
    ----------
    Harter 1961, Biometrika 48:151, doi:10.1093/biomet/48.1-2.151.

    Examples
    --------
    >>> round(expected_maximum(2), 6), round(1 / math.sqrt(math.pi), 6)
    (0.56419, 0.56419)
    """
    count = check_count(n, "n", least=1)
    x = _REACH * _NODES
    log_density = (count - 1) * special.log_ndtr(x) - 0.5 * x**2 - 0.5 * math.log(2.0 * math.pi)
    return _REACH * count * float(_WEIGHTS @ (x * np.exp(log_density)))


def selection_bias(std_error: float, tried: Sequence[int] = TRIED) -> tuple[tuple[int, float], ...]:
    """Return, for each number of variants tried, by how much the best looks better than it is.

    Parameters
    ----------
    std_error
        Standard error of the rating of one variant, in rating points; above 0.

    Returns
    -------
    tuple of (number tried, points)

    Notes
    -----
    For equally strong variants with independent normal errors. Truly different variants gain less by luck (and something by
    merit); ratings that share opponents have errors a little alike, which also makes it less. So it is the most that luck
    alone adds on average.

    References
    ----------
    Singh et al. 2025, The leaderboard illusion, arXiv 2504.20879.

    Examples
    --------
    >>> [(n, round(points, 1)) for n, points in selection_bias(10.0, (2, 10))]
    [(2, 5.6), (10, 15.4)]
    """
    if not (math.isfinite(std_error) and std_error > 0.0):
        raise InputError(f"std_error is {std_error:g}; give the standard error of a rating, above 0")
    return tuple((n, std_error * expected_maximum(n)) for n in tried)
