"""Can several groups of scores be of one scale? And is a value among them a code for a missing score?

Both are questions about what was seen alone: there is no test for a scale that nobody has declared. The rules, the tables
they are confused by, and their error rates stand in `design/scales.md`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from evalstats.record import record
from evalstats.stats.checks import FloatArray

Sureness = Literal["certain", "likely"]

# So many scores above the highest one seen would be expected, were that no end of the scale, before it is called one.
EXPECTED_ABOVE = 8.0
EXPECTED_WARNED = 2.0
# A rating scatters at least so much around its mean; a mean close to the end of the scale makes it look like less.
_LEAST_SD = 0.5
_FEWEST_RATINGS = 30
_FEWEST = 10
_HIGHEST_RATING = 10.0
_SHARE_INSIDE = 0.1
_SHARE_BEYOND = 0.1
_ROUNDING = 1e-9
_MOST_COMMON_CODE = 0.2
_RARE = 0.05
_SMALL_SET = 25
# Codes of survey programs: -1, -9, -99, 99, 999, 88, 777 ...; below 0 also -10, -100, ...
_REPEATED = frozenset("789")


@record
class Spread:
    """The scores of one group: every value, how often it was given, and the kind of scale they could be of."""

    values: FloatArray
    counts: FloatArray

    @property
    def n(self) -> float:
        """How many scores there are."""
        return float(self.counts.sum())

    @property
    def low(self) -> float:
        """Lowest score."""
        return float(self.values[0])

    @property
    def high(self) -> float:
        """Highest score."""
        return float(self.values[-1])

    @property
    def mean(self) -> float:
        """Mean score."""
        return float(self.values @ self.counts / self.n)

    @property
    def in_unit(self) -> bool:
        """Whether all scores lie in 0 to 1 and some are above 0: of nothing but zeros any scale is possible."""
        return self.low >= 0 and 0 < self.high <= 1 + _ROUNDING

    @property
    def has_fractions(self) -> bool:
        """Whether a score lies strictly between 0 and 1."""
        return bool(((self.values > 0) & (self.values < 1)).any())

    @property
    def is_rating(self) -> bool:
        """Whether all scores are whole or half numbers from 0 to 10."""
        halves = self.values * 2
        return self.low >= 0 and self.high <= _HIGHEST_RATING and bool((halves == np.round(halves)).all())

    def share_above(self, value: float) -> float:
        """Share of the scores above a value."""
        return float(self.counts[self.values > value].sum() / self.n)

    def share_of_unit(self) -> float:
        """Share of the scores above 0 that lie in 0 to 1."""
        above = self.values > 0
        inside = above & (self.values <= 1 + _ROUNDING)
        return float(self.counts[inside].sum() / max(self.counts[above].sum(), 1.0))


def spread_of(scores: npt.ArrayLike, counts: npt.NDArray[np.int64] | None = None) -> Spread:
    """Count the values of some scores, each of which may stand for several, leaving out a code for a missing one."""
    values, place = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    counts = np.bincount(place.reshape(-1), weights=counts, minlength=len(values)).astype(np.int64)
    code = lone_code(values, counts)
    kept = np.ones(len(values), dtype=bool) if code is None else values != code
    return Spread(values=values[kept], counts=counts[kept].astype(np.float64))


def two_scales(groups: Mapping[str, Spread], *, has_top: bool = True) -> tuple[str, str, Sureness] | None:
    """Return two groups whose scores cannot be of one scale, the smaller scale's first, and how sure that is; else None.

    "certain": one group lies in 0 to 1 while another lies beyond; ratings of one stop at a value that others pass, where
    scores above it would be expected of the former too; or ratings stand against percentages. "likely" is the second of
    these with fewer scores. A metric that has no highest value (a time, a count, a cost; `has_top`) tells nothing here.

    Examples
    --------
    >>> shares, percent = spread_of([0.5, 0.25, 1]), spread_of([62, 0, 85])
    >>> two_scales({"a": percent, "b": shares})
    ('b', 'a', 'certain')
    >>> two_scales({"a": percent, "b": spread_of([0, 0, 0])}) is None
    True
    """
    usable = {name: group for name, group in groups.items() if len(group.values)}
    if not has_top or len(usable) < 2 or any(group.low < 0 for group in usable.values()):
        return None
    likely: tuple[str, str, Sureness] | None = None
    for name, group in usable.items():
        if not (group.in_unit or group.is_rating):
            continue
        expected = expected_above(group) if group.is_rating else 0.0
        for other, beyond in usable.items():
            if beyond.high <= group.high + _ROUNDING:
                continue
            sureness = _conflict(group, beyond, expected)
            if sureness == "certain":
                return name, other, sureness
            likely = likely or (None if sureness is None else (name, other, sureness))
    return likely


def _conflict(group: Spread, beyond: Spread, expected: float) -> Sureness | None:
    """Whether two groups, the second of which goes higher, are on two scales; `expected` is the first's `expected_above`."""
    if group.in_unit and beyond.high > 1 + _ROUNDING and beyond.share_of_unit() <= _SHARE_INSIDE:
        if group.has_fractions or _is_percent_like(beyond):
            return "certain"
        # Right or wrong against ratings from 1: no zero there, and nothing above 1 here.
        binary = group.low == 0.0 and group.mean >= 0.5 and min(group.n, beyond.n) >= 2 * _FEWEST
        if binary and beyond.low >= 1 and beyond.high >= 5:
            return "certain"
    if not group.is_rating:
        return None
    if _is_rating_beside_percent(group, beyond):
        return "certain"
    return _ceiling(group, beyond, expected)


def _is_percent_like(beyond: Spread) -> bool:
    two_valued = len(beyond.values) == 2 and beyond.low == 0 and beyond.n >= _FEWEST
    return beyond.high > _HIGHEST_RATING or (two_valued and beyond.high >= 5)


def _is_rating_beside_percent(group: Spread, beyond: Spread) -> bool:
    """Whether ratings from 1, most of them in the upper half, stand against numbers nearly all of which lie above them."""
    is_full = group.n >= _FEWEST and len(group.values) >= 3 and group.low >= 1 and group.mean > (1 + group.high) / 2
    return is_full and beyond.high >= 2 * _HIGHEST_RATING and beyond.share_above(group.high) >= 1 - _SHARE_BEYOND


def _ceiling(group: Spread, beyond: Spread, expected: float) -> Sureness | None:
    """Whether ratings stop at a value that is the end of their scale, while another group goes beyond it."""
    fewest_values = 2 if group.high <= 1 else 3
    if len(group.values) < fewest_values or beyond.n < _FEWEST or beyond.share_above(group.high) < _SHARE_BEYOND:
        return None
    if expected >= EXPECTED_ABOVE and group.n >= _FEWEST_RATINGS:
        return "certain"
    return "likely" if expected >= EXPECTED_WARNED and group.n >= _FEWEST else None


def expected_above(group: Spread) -> float:
    """Return how many scores above the highest one would be expected, were it not the end of the scale.

    The larger of two guesses: what a normal distribution with the mean and SD of the scores puts above the next half step;
    and one more step in the course of the counts, each falling off from the one before at least as fast as a normal
    distribution's. 0 where the counts rise again behind a valley: that is a favourite value (the middle of a longer scale)
    as often as an end.
    """
    steps = np.arange(group.low, group.high + 0.25, _step(group))
    counts = np.zeros(len(steps))
    counts[np.searchsorted(steps, group.values - 0.1)] = group.counts
    if len(counts) < 2:
        return 0.0
    top, before = float(counts[-1]), float(counts[-2])
    if len(counts) > 2 and before < 0.5 * min(top, float(counts[:-2].max())):
        return 0.0
    step = _step(group)
    sd = max(float(np.sqrt(group.counts @ (group.values - group.mean) ** 2 / group.n)), _LEAST_SD)
    by_normal = group.n * float(special.ndtr(-(group.high + step / 2 - group.mean) / sd))
    by_course = top * min(top / max(before, 1.0), 1.0) * float(np.exp(-((step / sd) ** 2)))
    return max(by_normal, by_course)


def _step(group: Spread) -> float:
    return 1.0 if bool((group.values == np.round(group.values)).all()) else 0.5


def single_numbers_conflict(estimates: npt.ArrayLike) -> bool:
    """Whether published numbers, one a model, are shares of 1 for some models and percentages for others.

    Only where nothing lies between the two, and the shares times 100 would fall among the percentages: a weak model may
    well have 0.6 % where others have 3 and 20.

    Examples
    --------
    >>> single_numbers_conflict([0.81, 62.0, 75.5, 90.1]), single_numbers_conflict([0.6, 3.1, 16, 53])
    (True, False)
    """
    values = np.asarray(estimates, dtype=np.float64)
    values = values[np.isfinite(values) & (values != 0)]
    small, large = values[values <= 1], values[values > 1]
    if not len(small) or not len(large) or (values < 0).any() or large.max() > 100 or large.min() < _HIGHEST_RATING:
        return False
    as_percent = 100 * small
    return bool(as_percent.min() >= 0.8 * large.min() and as_percent.max() <= min(1.2 * large.max(), 100.0))


def lone_code(values: Sequence[float] | FloatArray, counts: Sequence[float] | npt.NDArray[np.generic]) -> float | None:
    """Return the value that stands alone outside all others and looks like a code for "no score"; None where none does.

    -1, -9, -99, -999 or -1000 where nothing else is below 0, or 77, 99, 888, 999 and their like far above a small set of
    other values. It must be the score of one row in five at most: a code is an exception. -1 beside nothing but 0 and 1
    may be a loss beside ties and wins, and is taken for a code only where it is rare. `values` are each given once, in
    rising order.

    Examples
    --------
    >>> lone_code([-1, 4, 7, 8, 10], [3, 20, 20, 30, 10]), lone_code([1, 2, 3, 4, 5, 99], [9, 9, 9, 9, 9, 1])
    (-1.0, 99.0)
    >>> lone_code([-1, -0.5, 0, 1], [1, 9, 9, 9]) is lone_code([-1, 0, 1], [9, 9, 9]) is None
    True
    """
    found = np.asarray(values, dtype=np.float64)
    n = np.asarray(counts, dtype=np.float64)
    if len(found) < 3:
        return None
    low, high, shares = float(found[0]), float(found[-1]), n / n.sum()
    if low < 0 <= found[1]:
        may_be_loss = low == -1 and bool(np.isin(found[1:], (0.0, 1.0)).all())
        is_rare = shares[0] <= (_RARE if may_be_loss else _MOST_COMMON_CODE)
        return low if is_rare and (low == -1 or _is_code(low, found[1:])) else None
    is_rare = shares[-1] <= _MOST_COMMON_CODE
    return high if is_rare and found[0] >= 0 and _is_code(high, found[:-1]) else None


def _is_code(value: float, others: FloatArray) -> bool:
    """Whether a value is a repeated 7, 8 or 9, or below 0 a power of ten, far outside a small set of others."""
    digits = str(abs(int(value)))
    repeated = len(set(digits)) == 1 and digits[0] in _REPEATED and (len(digits) > 1 or value < 0)
    power = value < 0 and digits[0] == "1" and set(digits[1:]) == {"0"}
    distance = float(np.abs(others - value).min())
    width = max(float(others[-1] - others[0]), 1.0)
    is_far = distance >= (1 if value < 0 else 2) * width and (value < 0 or len(others) <= _SMALL_SET)
    return value == round(value) and (repeated or power) and is_far
