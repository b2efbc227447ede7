"""The sign-flip permutation test of a mean difference: exact wherever that is possible."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from evalstats.stats.bootstrap.exact import common_step
from evalstats.stats.checks import FloatArray, IntArray, as_values, check_count
from evalstats.stats.tails import SMALLEST_P, positive_p

_ENUMERATED = 20  # up to 2**20 sign patterns are listed
_CHEAP = 64
_TIE = 1e-9  # relative to the largest sum: patterns that differ by rounding are ties
_WINDOW = 12.0  # the null law lies within 12 root-sum-of-squares of its mean up to 2 exp(-72)
_MOST_WORK = 2.0e7  # lattice points times distinct magnitudes: under a second
_BLOCKS = 20_000
_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """Result of a sign-flip test.

    Attributes
    ----------
    p_value
        Two-sided p of "the differences are symmetric about 0".
    smallest_p
        The smallest p this test could have given with as many nonzero differences (and draws).
    exact
        Whether every sign pattern was counted; if not, p is (1 + hits) / (1 + n_resamples).
    n_nonzero
        Differences that are not 0.
    n_resamples
        Monte Carlo draws, None when exact.
    seed
        Seed of those draws, None when exact.
    """

    p_value: float
    smallest_p: float
    exact: bool
    n_nonzero: int
    n_resamples: int | None
    seed: int | None


def sign_flip(differences: ArrayLike, *, seed: int = 0, n_resamples: int = 9999) -> SignFlip:
    """Test that differences are symmetric about 0 by flipping their signs.

    Exact for any n when the differences lie on a common lattice (right/wrong scores, means of trials, rubric points)
    and for up to 20 nonzero differences otherwise; else Monte Carlo with the observed pattern counted. For right/wrong
    scores it is the exact McNemar test.

    Parameters
    ----------
    differences
        float64 array, shape (n_items,), one difference per independent item, candidate minus baseline.
    seed, n_resamples
        Used only where the test cannot be exact.

    Notes
    -----
    On a lattice the sum of k_i steps with random signs has characteristic function prod cos(w k_i). The law is tilted
    exponentially so that its mean is the observed sum, inverted by FFT, and untilted: the far tail keeps its relative
    accuracy, where a plain FFT would stop at 1e-16.

    Examples
    --------
    >>> sign_flip([1, 1, 1, 1, 1, 1]).p_value
    0.03125
    """
    d = as_values(differences, "differences")
    draws = check_count(n_resamples, "n_resamples", least=1)
    nonzero = d[np.abs(d) > _TIE * float(np.abs(d).max())]
    m = int(nonzero.size)
    p_exact = _exact_p(nonzero)
    if p_exact is not None:
        return SignFlip(
            p_value=positive_p(p_exact), smallest_p=_least_p(m), exact=True, n_nonzero=m, n_resamples=None, seed=None
        )
    p = _monte_carlo_p(nonzero, np.random.default_rng(seed), draws)
    least = max(_least_p(m), 1.0 / (1 + draws))
    return SignFlip(p_value=p, smallest_p=least, exact=False, n_nonzero=m, n_resamples=draws, seed=seed)


def _least_p(n_nonzero: int) -> float:
    return min(1.0, max(SMALLEST_P, math.ldexp(1.0, 1 - n_nonzero)))


def _exact_p(nonzero: FloatArray) -> float | None:
    """Return p by the cheaper of the two exact ways, or None where neither is in reach."""
    m = int(nonzero.size)
    if m == 0:
        return 1.0
    listed = 2.0 ** (m - 1) if m <= _ENUMERATED else math.inf
    step = common_step(nonzero) if listed > _CHEAP else None
    if step is not None:
        steps = np.rint(nonzero / step).astype(np.int64)
        work = _lattice_work(steps)
        if work <= min(listed, _MOST_WORK):
            return _lattice_p(steps)
    return _enumerated_p(nonzero) if m <= _ENUMERATED else None


def _enumerated_p(d: FloatArray) -> float:
    """Share of the 2^m sign patterns whose |sum| reaches the observed one; half of them by symmetry."""
    sums = np.array([abs(d[0])])
    for magnitude in np.abs(d[1:]):
        sums = np.concatenate([sums - magnitude, sums + magnitude])
    slack = _TIE * float(np.abs(d).sum())
    return float(np.count_nonzero(np.abs(sums) >= abs(float(d.sum())) - slack)) / sums.size


def _lattice_work(steps: IntArray) -> float:
    spread = 2.0 * _WINDOW * math.sqrt(float((steps.astype(np.float64) ** 2).sum()))
    distinct = np.unique(np.abs(steps)).size
    return min(spread, float(np.abs(steps).sum())) * distinct


def _lattice_p(steps: IntArray) -> float:
    """Return P(|sum of randomly signed steps| >= |observed sum|)."""
    sizes, counts = np.unique(np.abs(steps), return_counts=True)
    observed, total = abs(int(steps.sum())), int(np.abs(steps).sum())
    if observed == 0:
        return 1.0
    if observed == total:
        return _least_p(int(steps.size))
    theta = _tilt(sizes, counts, observed)
    law = _tilted_law(sizes, counts, theta, observed)
    above = np.arange(min(law.size // 2, (total - observed) // 2) + 1)
    tail = float((law[above] * np.exp(-2.0 * theta * above)).sum())
    log_scale = sum(c * _log_cosh(theta * s) for s, c in zip(sizes.tolist(), counts.tolist(), strict=True))
    return 2.0 * math.exp(log_scale - theta * observed) * max(tail, 0.0)


def _tilted_law(sizes: IntArray, counts: IntArray, theta: float, observed: int) -> FloatArray:
    """Return the tilted law of the signed sum; entry j, modulo the length, is P(sum = observed + 2 j)."""
    reach = math.ceil(_WINDOW * math.sqrt(float(counts @ sizes**2)))
    length = fft.next_fast_len(min(int(counts @ sizes), reach) + 1, real=True)
    frequency = np.arange(length // 2 + 1) * (math.pi / length)
    log_modulus, angle = np.zeros(frequency.size), -frequency * observed
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        # One tilted term has characteristic function cos(wk) + i tanh(theta k) sin(wk).
        sine, cosine = np.sin(frequency * size), np.cos(frequency * size)
        with np.errstate(divide="ignore"):
            log_modulus += 0.5 * count * np.log1p(-np.minimum(1.0, sine**2 * _sech_squared(theta * size)))
        angle += count * np.arctan2(math.tanh(theta * size) * sine, cosine)
    return fft.irfft(np.exp(log_modulus) * np.exp(-1j * angle), n=length)


def _sech_squared(x: float) -> float:
    shrunk = math.exp(-2.0 * x)
    return 4.0 * shrunk / (1.0 + shrunk) ** 2


def _log_cosh(x: float) -> float:
    return x + math.log1p(math.exp(-2.0 * x)) - math.log(2.0)


def _tilt(sizes: IntArray, counts: IntArray, observed: int) -> float:
    """Return theta at which the tilted mean, sum of k tanh(theta k), is the observed sum; by bisection."""
    low, high = 0.0, 1.0
    while float((counts * sizes * np.tanh(high * sizes)).sum()) < observed:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if float((counts * sizes * np.tanh(middle * sizes)).sum()) < observed:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _monte_carlo_p(nonzero: FloatArray, rng: np.random.Generator, draws: int) -> float:
    magnitude = np.sort(np.abs(nonzero))
    d = nonzero[np.argsort(np.abs(nonzero), kind="stable")]
    if d.size > _BLOCKS:
        # Flipping fixed blocks of items is a subgroup of all flips: the test stays exact. Blocks are made by rank of
        # size, which no flip changes.
        d = np.bincount(np.arange(d.size) % _BLOCKS, weights=d)
    bound = abs(float(d.sum())) - _TIE * float(magnitude.sum())
    hits, done = 0, 0
    while done < draws:
        rows = min(draws - done, max(1, _CHUNK // d.size))
        signs = rng.integers(0, 2, size=(rows, d.size), dtype=np.int8)
        sums = 2.0 * (signs @ d) - d.sum()
        hits += int(np.count_nonzero(np.abs(sums) >= bound))
        done += rows
    return (1 + hits) / (1 + draws)
