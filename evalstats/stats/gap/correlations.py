"""Pearson's, Spearman's and Kendall's coefficients for many draws of the same models at once.

Equal to `scipy.stats.pearsonr`, `spearmanr` and `kendalltau` (tau-b) to rounding, but over a leading axis of draws.
"""

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray

CoefficientName: TypeAlias = Literal["pearson", "spearman", "kendall"]
NAMES: tuple[CoefficientName, ...] = ("pearson", "spearman", "kendall")

_ROUNDING = 1e-13
_BLOCK = 60_000  # scores compared at a time: what the nearest cache holds
_MOST = 32_000  # models that small integers can rank
_SmallInts: TypeAlias = NDArray[np.int16]


def correlate(name: CoefficientName, x: ArrayLike, z: ArrayLike) -> FloatArray:
    """Return one of the three coefficients by name; see `pearson`, `spearman` and `kendall`.

    Examples
    --------
    >>> float(correlate("spearman", [1.0, 2.0, 3.0], [1.0, 4.0, 9.0]).round(12))
    1.0
    """
    return _FUNCTIONS[name](x, z)


def pearson(x: ArrayLike, z: ArrayLike) -> FloatArray:
    """Pearson's correlation along the last axis.

    Parameters
    ----------
    x, z
        float64, shape (..., n_models), broadcast against each other: scores of either side, any unit.

    Returns
    -------
    numpy.ndarray
        Shape (...): the coefficients; NaN where a side is constant.

    Raises
    ------
    InputError
        If the numbers of models differ.

    Examples
    --------
    >>> float(pearson([1.0, 2.0, 3.0], [2.0, 4.0, 6.0]).round(12))
    1.0
    """
    a, b = _both(x, z)
    u, v = _unit(a), _unit(b)
    return np.clip((u * v).sum(axis=-1), -1.0, 1.0)


def spearman(x: ArrayLike, z: ArrayLike) -> FloatArray:
    """Spearman's rank correlation along the last axis, with mean ranks for ties. Arguments and result as for `pearson`.

    Examples
    --------
    >>> float(spearman([1.0, 2.0, 3.0], [1.0, 9.0, 4.0]).round(12))
    0.5
    """
    a, b = _both(x, z)
    return pearson(mean_ranks(a), mean_ranks(b))


def kendall(x: ArrayLike, z: ArrayLike) -> FloatArray:
    """Kendall's tau-b along the last axis. Arguments and result as for `pearson`.

    Notes
    -----
    Pairs are compared one lag at a time on small integers: 2000 draws of 300 models take a fraction of a second, where a
    loop over draws takes minutes.

    References
    ----------
    Kendall 1945, Biometrika 33:239.

    Examples
    --------
    >>> float(kendall([1.0, 2.0, 3.0], [1.0, 9.0, 4.0]).round(6))
    0.333333
    """
    a, b = _both(x, z)
    n = a.shape[-1]
    pairs = n * (n - 1) / 2.0
    rank_a, tied_a = _dense_ranks(a)
    rank_b, tied_b = _dense_ranks(b)
    size = np.sqrt((pairs - tied_a) * (pairs - tied_b))
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = _concordance(rank_a, rank_b) / size
    return np.where(size > 0, np.clip(tau, -1.0, 1.0), np.nan)


def mean_ranks(values: FloatArray) -> FloatArray:
    """Return ranks from 1 along the last axis; equal values share the mean of their ranks.

    Examples
    --------
    >>> mean_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    order, first, last, _ = _runs(values)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2.0 + 1.0, axis=-1)
    return ranks


def _both(x: ArrayLike, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-1]:
        raise InputError(f"sides have shapes {a.shape} and {b.shape}; the last axis must be the same models on both")
    if not 0 < a.shape[-1] <= _MOST:
        raise InputError(f"there are {a.shape[-1]} models; give 1 to {_MOST}")
    return a, b


def _unit(values: FloatArray) -> FloatArray:
    """Centre and scale to length one; NaN where all values are equal but for rounding."""
    centred = values - values.mean(axis=-1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    size = np.abs(values).max(axis=-1, keepdims=True) * np.sqrt(values.shape[-1])
    return centred / np.where(length > _ROUNDING * size, length, np.nan)


def _runs(values: FloatArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Sorted places, the first and last place of each value's run of equals, and the number of the run."""
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    n = values.shape[-1]
    place = np.broadcast_to(np.arange(n, dtype=np.int64), values.shape)
    starts = np.ones(values.shape, dtype=np.bool_)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    ends = np.ones(values.shape, dtype=np.bool_)
    ends[..., :-1] = starts[..., 1:]
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=-1)
    last = np.minimum.accumulate(np.where(ends, place, n - 1)[..., ::-1], axis=-1)[..., ::-1]
    return order, first, last, np.cumsum(starts, axis=-1, dtype=np.int64)


def _dense_ranks(values: FloatArray) -> tuple[_SmallInts, FloatArray]:
    """Ranks as small integers, equal values alike, and the number of tied pairs."""
    order, first, last, run = _runs(values)
    ranks = np.empty(values.shape, dtype=np.int16)
    np.put_along_axis(ranks, order, run.astype(np.int16), axis=-1)
    # Each member of a run of t has t - 1 partners, and every pair is met from both of its ends.
    return ranks, (last - first).sum(axis=-1) / 2.0


def _concordance(a: _SmallInts, b: _SmallInts) -> FloatArray:
    """Concordant less discordant pairs."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    n, rows = shape[-1], math.prod(shape[:-1])
    flat_a, flat_b = (
        side.reshape(-1, n) if side.size == n else np.broadcast_to(side, shape).reshape(rows, n) for side in (a, b)
    )
    sums = np.zeros(rows, dtype=np.int64)
    step = max(1, _BLOCK // n)
    for start in range(0, rows, step):
        block = slice(start, start + step)
        left, right = (side if len(side) == 1 else side[block] for side in (flat_a, flat_b))
        for lag in range(1, n):
            signs = _signs(left, lag) * _signs(right, lag)
            sums[block] += np.count_nonzero(signs == 1, axis=-1) - np.count_nonzero(signs == -1, axis=-1)
    return sums.astype(np.float64).reshape(shape[:-1])


def _signs(ranks: _SmallInts, lag: int) -> NDArray[np.int8]:
    later, earlier = ranks[..., lag:], ranks[..., :-lag]
    return (later > earlier).view(np.int8) - (later < earlier).view(np.int8)


_FUNCTIONS: dict[CoefficientName, Callable[[ArrayLike, ArrayLike], FloatArray]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}
