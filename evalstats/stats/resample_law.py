"""The law of a sum or ratio of draws with replacement, as from infinitely many resamples: exact on a lattice, else on a grid."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import special

from evalstats.record import record
from evalstats.stats.checks import FloatArray

_FINEST = 2.0**20  # steps in the largest value: finer data count as continuous
_PROBE_AT_ONCE = 512
_TAIL = -math.log(1e-20)  # mass outside the window is below 2e-20
_LONGEST_LATTICE = 2**22
_CELLS_PER_SE = 400.0
_SLACK = 2  # cells by which one draw can overrun its own; beyond 200 draws the window has room to spare
_LISTED = 10  # 92,378 different resamples of 10 clusters
_SETTLED = 1e-6  # standard errors
_ROUNDING = 1e-9


def common_step(values: FloatArray) -> float | None:
    """Return the largest step of which every value is a whole multiple, or None where there is none worth using.

    Values may carry rounding error: 0.1 + 0.2 is 3 steps of 0.1. A step that divides the largest value into more
    than 2**20 parts is not looked for.

    Examples
    --------
    >>> common_step(np.array([1 / 3, 1.0, -2 / 3, 0.0]))
    0.3333333333333333
    >>> common_step(np.array([1.0, 2**0.5])) is None
    True
    """
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest == 0.0:
        return None
    probe = _greatest_divisor(np.unique(np.abs(values[:_PROBE_AT_ONCE])), largest)
    if probe is None:
        return None
    if _all_multiples(values, probe):
        return probe
    step = _greatest_divisor(np.unique(np.abs(values)), largest)
    return step if step is not None and _all_multiples(values, step) else None


def _greatest_divisor(magnitudes: FloatArray, largest: float) -> float | None:
    """Euclid's algorithm on floats; None once the divisor is too fine."""
    step, rounding = largest, _ROUNDING * largest
    for magnitude in magnitudes.tolist():
        rest = magnitude
        while rest > rounding:
            remainder = step % rest
            step, rest = rest, (0.0 if rest - remainder <= rounding else remainder)
        if step * _FINEST < largest:
            return None
        step = largest / round(largest / step)  # else rounding grows with every division
    return step


def fast_length(least: int) -> int:
    """Return the smallest length of at least `least` without a prime factor above 5, which Fourier transforms are fast at.

    That of scipy.fft, whose import takes as long as the statistics of a short answer.

    >>> fast_length(1), fast_length(97), fast_length(251)
    (1, 100, 256)
    """
    fives = [5**k for k in range(least.bit_length() // 2 + 1)]
    odd = [3**k * five for k in range(least.bit_length() + 1) for five in fives]
    return min(each << (-(-least // each) - 1).bit_length() for each in odd)


def _all_multiples(values: FloatArray, step: float) -> bool:
    steps = values / step
    slack = _ROUNDING * max(1.0, float(steps.max()), -float(steps.min()))
    steps -= np.rint(steps)
    return max(float(steps.max()), -float(steps.min())) <= min(slack, 1e-4)


@record
class SumLaw:
    """Masses of a sum at `start`, `start + step`, ...; on a grid some may be slightly negative."""

    start: float
    step: float
    mass: FloatArray

    def lower(self, tail: float) -> float:
        """Return the smallest point with P(sum <= point) >= tail."""
        return self.start + self.step * _first_reaching(self.mass, tail)

    def upper(self, tail: float) -> float:
        """Return the largest point with P(sum >= point) >= tail: `lower` seen in a mirror."""
        return self.start + self.step * (self.mass.size - 1 - _first_reaching(self.mass[::-1], tail))

    def cdf(self, point: float) -> float:
        """Return P(sum <= point), half the mass at a point counted there and linear between points."""
        position = (point - self.start) / self.step
        below = np.cumsum(self.mass) - 0.5 * self.mass
        return float(np.interp(position, np.arange(below.size), below))


def percentile_ends(values: FloatArray, tail: float) -> tuple[float, float]:
    """Return the `tail` and `1 - tail` quantiles of the mean of n draws with replacement from n values.

    Values on a common lattice give exact lattice quantiles. Others are placed on a grid of 1/400 standard error.
    """
    n, law = values.size, law_of_sum(values)
    return law.lower(tail) / n, law.upper(tail) / n


def lattice_law(values: FloatArray, low: float, step: float) -> SumLaw | None:
    """Return the exact law of the sum of n draws from values at low + k step; None where it would be too long."""
    n = values.size
    steps = np.rint((values - low) / step).astype(np.int64)
    first, span, _ = _window(steps.astype(np.float64), n, float(steps.max()))
    length = fast_length(math.ceil(span) + 1)
    if length > _LONGEST_LATTICE:
        return None
    centre = round(float(steps.mean()))
    counts = np.bincount(steps)
    wrapped = np.bincount((np.arange(counts.size) - centre) % length, weights=counts, minlength=length) / n
    mass = _convolved(wrapped, n)
    first = math.floor(first)
    return SumLaw(start=n * low + step * first, step=step, mass=np.roll(mass, -((first - n * centre) % length)))


def grid_law(values: FloatArray) -> SumLaw:
    """Return the law of the sum of n draws, each value spread over four grid points of at most 1/400 standard error.

    The window never exceeds 160 standard errors, so the grid stays below 2**17 points. The four weights are those of cubic
    Lagrange interpolation: they keep the first three moments of every value, so that the variance of the sum is right where
    a linear split would inflate it. They can be negative by a little.
    """
    n, low = values.size, float(values.min())
    offsets = values - low
    first, span, std_error = _window(offsets, n, float(offsets.max()))
    slack = _SLACK * min(n, 200)
    points = fast_length(math.ceil(_CELLS_PER_SE * span / std_error) + 2 * slack)
    step = span / (points - 2 * slack)
    position = offsets / step
    cell = position.astype(np.int64)
    placed = _spread(position - cell, cell)
    centre = round(float(position.mean()))
    index = (np.arange(placed.size) - 1 - centre) % points
    mass = _convolved(np.bincount(index, weights=placed, minlength=points) / n, n)
    start = math.floor(first / step) - slack
    return SumLaw(start=n * low + step * start, step=step, mass=np.roll(mass, -((start - n * centre) % points)))


def _spread(offset: FloatArray, cell: np.ndarray) -> FloatArray:
    """Return the weight at grid points -1, 0, 1, ...: sums of cubic Lagrange weights, from four moments per cell."""
    m0 = np.bincount(cell).astype(np.float64)
    m1 = np.bincount(cell, weights=offset)
    square = offset * offset
    m2 = np.bincount(cell, weights=square)
    m3 = np.bincount(cell, weights=square * offset)
    cells = m0.size
    placed = np.zeros(cells + 3)
    placed[0:cells] += (-2.0 * m1 + 3.0 * m2 - m3) / 6.0
    placed[1 : cells + 1] += (2.0 * m0 - m1 - 2.0 * m2 + m3) / 2.0
    placed[2 : cells + 2] += (2.0 * m1 + m2 - m3) / 2.0
    placed[3 : cells + 3] += (m3 - m1) / 6.0
    return placed


def _window(offsets: FloatArray, n: int, largest: float) -> tuple[float, float, float]:
    """Return start and length of a range that holds the sum but for 2e-20, by Bernstein's bound, and its std_error."""
    mean, variance = float(offsets.mean()), float(offsets.var())
    std_error = math.sqrt(n * variance)
    linear = _TAIL * largest / 3.0
    reach = linear + math.sqrt(linear**2 + 2.0 * _TAIL * n * variance)
    if 2.0 * reach >= n * largest:
        return 0.0, n * largest, std_error
    return n * mean - reach, 2.0 * reach, std_error


def _convolved(mass: FloatArray, n: int) -> FloatArray:
    """Return the n-fold circular convolution of `mass` with itself."""
    transform = np.fft.rfft(mass)
    tiny = math.exp(-_TAIL / n)
    present = np.abs(transform) > tiny
    power = np.zeros_like(transform)
    power[present] = np.exp(n * np.log(transform[present]))
    return np.fft.irfft(power, n=mass.size)


def _first_reaching(mass: FloatArray, tail: float) -> int:
    return int(np.argmax(np.cumsum(mass) >= tail - _ROUNDING))


def ratio_ends(sums: FloatArray, sizes: FloatArray, tail: float) -> tuple[float, float]:
    """Return the `tail` and `1 - tail` quantiles of sum(s)/sum(n) over G draws with replacement from G pairs (s, n).

    `sizes` are positive. Equal sizes reduce to the law of a mean; up to 10 pairs all resamples are listed; otherwise
    the quantile is the root t of P(sum(s_g - t n_g) <= 0) = tail.
    """
    size = float(sizes[0])
    if np.all(sizes == size):
        low, high = percentile_ends(sums, tail)
        return low / size, high / size
    if sums.size <= _LISTED:
        ratios, weights = all_resamples(sums, sizes)
        order = np.argsort(ratios, kind="stable")
        ratios, weights = ratios[order], weights[order]
        return float(ratios[_first_reaching(weights, tail)]), float(ratios[::-1][_first_reaching(weights[::-1], tail)])
    mirrored = _lower_root(-sums, sizes, tail)
    return _lower_root(sums, sizes, tail), -mirrored


def all_resamples(sums: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ratio and the multinomial probability of every way to draw G of G pairs, order aside."""
    n_pairs = sums.size
    used = np.zeros(1, dtype=np.int64)
    total, weight = np.zeros((1, 2)), np.ones(1)
    for which, pair in enumerate(np.column_stack([sums, sizes])):
        last = which == n_pairs - 1
        room = n_pairs - used
        copies = np.ones_like(room) if last else room + 1
        parent = np.repeat(np.arange(used.size), copies)
        starts = np.repeat(np.cumsum(copies) - copies, copies)
        times = room if last else np.arange(parent.size) - starts
        used = used[parent] + times
        total = total[parent] + times[:, np.newaxis] * pair
        weight = weight[parent] / special.factorial(times, exact=True)
    scale = math.factorial(n_pairs) / float(n_pairs) ** n_pairs
    return total[:, 0] / total[:, 1], weight * scale


def _lower_root(sums: FloatArray, sizes: FloatArray, tail: float) -> float:
    """Return the t at which P(sum(s - t n) <= 0) reaches `tail`."""
    from scipy import optimize  # takes half as long to load as a short comparison

    ratios, n = sums / sizes, sums.size
    least, most = float(ratios.min()), float(ratios.max())
    if (np.count_nonzero(ratios <= least) / n) ** n >= tail:
        return least

    @cache  # a bracket's ends are asked for again
    def excess(t: float) -> float:
        return grid_law(sums - t * sizes).cdf(0.0) - tail

    # The search starts where a normal law would have its quantile.
    guessed_mean = float(sums.sum() / sizes.sum())
    guessed_error = math.sqrt(float(np.square(sums - guessed_mean * sizes).sum())) / float(sizes.sum())
    guess = guessed_mean + float(special.ndtri(tail)) * guessed_error
    low, high = _bracket(excess, guess, 0.125 * guessed_error, (least, most))
    if excess(low) >= 0.0:
        return low
    return float(optimize.brentq(excess, low, high, xtol=_SETTLED * guessed_error))


def _bracket(
    excess: Callable[[float], float], near: float, reach: float, limits: tuple[float, float]
) -> tuple[float, float]:
    """Return two points on either side of the root of a rising function, or the last two before the end of the limits."""
    here = there = min(max(near, limits[0]), limits[1])
    beyond = excess(here) > 0.0
    step, end = (-reach, limits[0]) if beyond else (reach, limits[1])
    while (excess(there) > 0.0) == beyond and there != end:
        here, there = there, min(max(there + step, limits[0]), limits[1])
        step *= 2.0
    return min(here, there), max(here, there)


def law_of_sum(x: FloatArray) -> SumLaw:
    """Return the law of the sum of n draws from n values: exact on a lattice, else on a grid."""
    low = float(x.min())
    step = common_step(x - low)
    law = None if step is None else lattice_law(x, low, step)
    return grid_law(x) if law is None else law
