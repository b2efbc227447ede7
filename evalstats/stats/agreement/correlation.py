"""Pearson's, Spearman's and Kendall's coefficients for many draws at once, their p-values.

References: Kendall 1938, Biometrika 30:81 (the law of tau), and 1945, Biometrika 33:239 (ties); Knight 1966,
Journal of the American Statistical Association 61:436 (counting by merges); Phipson & Smyth 2010,
doi:10.2202/1544-6115.1585 (p never zero).
"""

from collections.abc import Callable
from functools import cache
from itertools import permutations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_values
from evalstats.stats.estimate import positive_p

CoefficientName: TypeAlias = Literal["pearson", "spearman", "kendall"]
NAMES: tuple[CoefficientName, ...] = ("pearson", "spearman", "kendall")

_ROUNDING = 1e-13
_MOST = 32_000  # models


def correlate(name: CoefficientName, x: ArrayLike, z: ArrayLike) -> FloatArray:
    """Return one of the three coefficients by name; see `pearson`, `spearman` and `kendall`."""
    return _FUNCTIONS[name](x, z)


def pearson(x: ArrayLike, z: ArrayLike) -> FloatArray:
    """Pearson's correlation along the last axis, of scores of shape (..., n_models); NaN where a side is constant."""
    a, b = _both(x, z)
    u, v = _unit(a), _unit(b)
    return np.clip((u * v).sum(axis=-1), -1.0, 1.0)


def spearman(x: ArrayLike, z: ArrayLike) -> FloatArray:
    """Spearman's rank correlation along the last axis, with mean ranks for ties.

    Examples
    --------
    >>> float(spearman([1.0, 2.0, 3.0], [1.0, 9.0, 4.0]).round(12))
    0.5
    """
    a, b = _both(x, z)
    return pearson(mean_ranks(a), mean_ranks(b))


def kendall(x: ArrayLike, z: ArrayLike) -> FloatArray:
    """Kendall's tau-b along the last axis.

    Pairs are compared one lag at a time on small integers: 2000 draws of 300 models take a fraction of a second, where a
    loop over draws takes minutes.

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
    both = np.sort(rank_a * (n + 1) + rank_b, axis=-1)
    concordance = pairs - tied_a - tied_b + _dense_ranks(both)[1] - 2 * _inversions(both % (n + 1))
    size = np.sqrt((pairs - tied_a) * (pairs - tied_b))
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = concordance / size
    return np.where(size > 0, np.clip(tau, -1.0, 1.0), np.nan)


def mean_ranks(values: FloatArray) -> FloatArray:
    """Return ranks from 1 along the last axis; equal values share the mean of their ranks."""
    order, first, last, _ = _runs(values)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2.0 + 1.0, axis=-1)
    return ranks


def _both(x: ArrayLike, z: ArrayLike) -> tuple[FloatArray, FloatArray]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(z, dtype=np.float64)
    if not 0 < a.shape[-1] <= _MOST:
        raise InputError(f"there are {a.shape[-1]} models; give 1 to {_MOST}")
    return a, b


def _unit(values: FloatArray) -> FloatArray:
    """Centre and scale to length one; NaN where all values are equal but for rounding."""
    centred = values - values.mean(axis=-1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    size = np.abs(values).max(axis=-1, keepdims=True) * np.sqrt(values.shape[-1])
    return centred / np.where(length > _ROUNDING * size, length, np.nan)


def _runs(values: NDArray[np.generic]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
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


def _dense_ranks(values: NDArray[np.generic]) -> tuple[IntArray, IntArray]:
    """Ranks as whole numbers from 1, equal values alike, and the number of tied pairs."""
    order, first, last, run = _runs(values)
    ranks = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, run, axis=-1)
    # Each member of a run of t has t - 1 partners, and every pair is met from both of its ends.
    return ranks, (last - first).sum(axis=-1) // 2


def _inversions(ranks: IntArray) -> IntArray:
    """Count pairs along the last axis of which the first is the larger, by merging sorted halves (Knight 1966)."""
    *rows, n = ranks.shape
    width = 1 << (n - 1).bit_length()
    # The lowest bit tells the right half of a merge from the left; what fills up the last row is larger than all, and last.
    merged = np.full((*rows, width), 2 * (n + 1), dtype=np.int32)
    merged[..., :n] = 2 * ranks
    found = np.zeros(rows, dtype=np.int64)
    for half in (1 << k for k in range((n - 1).bit_length())):
        merged = merged.reshape(*rows, width // (2 * half), 2, half)
        merged[..., 1, :] += 1
        merged = np.sort(merged.reshape(*rows, -1, 2 * half), axis=-1)
        right = merged & 1
        # A member of the right half stands after those of its half and of the left one that are not larger.
        place = (right * np.arange(2 * half)).sum(axis=(-2, -1), dtype=np.int64)
        found += width // 2 * half - (place - width // (2 * half) * (half * (half - 1) // 2))
        merged -= right
    return found


_FUNCTIONS: dict[CoefficientName, Callable[[ArrayLike, ArrayLike], FloatArray]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


COUNTED = 300  # models up to which Kendall's law is counted; beyond it takes seconds
LISTED = 8  # models up to which every one of the n! orders is looked at: 40320
_P_ROUNDING = 1e-10
_DRAWN_AT_ONCE = 1_000_000  # scores of drawn orders


@record
class AssociationTest:
    """Two-sided p of no association, never 0: the share of orders of one side whose coefficient is at least as far from 0."""

    estimate: float
    p_value: float
    method: str
    exact: bool


def association_test(
    name: CoefficientName, x: ArrayLike, z: ArrayLike, *, seed: int = 0, n_resamples: int = 9999
) -> AssociationTest:
    """Test that the order of models on one side says nothing about the other, by permutation.

    Kendall without ties: the exact law by counting. Up to 8 models: every permutation. Else permutations drawn at random and
    p = (hits + 1)/(n_resamples + 1). Raises CannotAnswerError if there are fewer than 3 models, or a side is constant.

    Assumes that under no association every order of one side is equally likely given the other; noise of the scores does
    not disturb that, so the test needs no standard errors.

    Examples
    --------
    >>> r = association_test("kendall", [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    >>> round(r.p_value, 6), r.exact
    (0.083333, True)
    """
    a, b = as_values(x, "lab scores"), as_values(z, "live scores")
    estimate = float(correlate(name, a, b))
    if a.size < 3 or np.isnan(estimate):
        raise CannotAnswerError("no association can be tested: it needs 3 models or more, and two sides that vary")
    if name == "kendall" and a.size <= COUNTED and _untied(a) and _untied(b):
        # At least so few or so many discordant pairs, of permutations counted by their inversions.
        law = _inversion_law(a.size)
        pairs = a.size * (a.size - 1) // 2
        discordant = round(pairs * (1.0 - estimate) / 2.0)
        return AssociationTest(
            estimate=estimate,
            p_value=positive_p(2.0 * float(law[: min(discordant, pairs - discordant) + 1].sum())),
            method="exact law of Kendall's tau",
            exact=True,
        )
    if a.size <= LISTED:
        orders = _every_order(a.size)
        hits, total = _hits(name, a, b, estimate, orders), len(orders)
        return AssociationTest(
            estimate=estimate, p_value=positive_p(hits / total), method=f"all {total} permutations", exact=True
        )
    hits = _drawn_hits(name, (a, b), estimate, n_resamples=n_resamples, seed=seed)
    p, method = positive_p((hits + 1) / (n_resamples + 1)), f"{n_resamples} random permutations"
    return AssociationTest(estimate=estimate, p_value=p, method=method, exact=False)


def _untied(values: FloatArray) -> bool:
    return np.unique(values).size == values.size


@cache
def _inversion_law(n: int) -> FloatArray:
    """Probability of each number of inversions: one more element adds 0..m inversions, all equally likely."""
    law = np.ones(1)
    for m in range(1, n):
        law = np.convolve(law, np.ones(m + 1)) / (m + 1)  # direct sums of positive terms: the far tail keeps its digits
    law.setflags(write=False)
    return law


@cache
def _every_order(n: int) -> IntArray:
    return np.array(list(permutations(range(n))), dtype=np.int64)


def _hits(name: CoefficientName, a: FloatArray, b: FloatArray, estimate: float, orders: IntArray) -> int:
    """Orders in which the coefficient is as far from 0; a hair nearer counts, since it is the same number but for rounding."""
    if name == "spearman":
        a, b, name = mean_ranks(a), mean_ranks(b), "pearson"
    values = np.abs(correlate(name, a, b[orders]))
    return int(np.count_nonzero(values >= abs(estimate) - _P_ROUNDING))


def _drawn_hits(
    name: CoefficientName, sides: tuple[FloatArray, FloatArray], estimate: float, *, n_resamples: int, seed: int
) -> int:
    rng, hits, done, n = np.random.default_rng(seed), 0, 0, sides[0].size
    while done < n_resamples:
        take = min(max(1, _DRAWN_AT_ONCE // n), n_resamples - done)
        orders = np.argsort(rng.random((take, n)), axis=-1)
        hits += _hits(name, *sides, estimate, orders)
        done += take
    return hits
