"""Checks of arguments, made once at the public edge of every function in this package."""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.errors import InputError
from evalstats.grammar import plural

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

FEW_ITEMS = 10
FEW_CLUSTERS = 5


def as_values(values: ArrayLike, what: str = "values") -> FloatArray:
    """Return a one-dimensional float64 array that is not empty and all finite, or raise InputError."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"{what} have {array.ndim} dimensions; give one number per item")
    if array.size == 0:
        raise InputError(f"{what} are empty; at least one is needed")
    wrong = array.size - int(np.count_nonzero(np.isfinite(array)))
    if wrong:
        raise InputError(f"{wrong} of {array.size} {what} are NaN or infinite; leave out items that have no score")
    return array


def as_codes(codes: ArrayLike, n: int, what: str = "clusters") -> tuple[IntArray, int]:
    """Return codes 0..G-1 in the order of the given integers, and G, or raise InputError."""
    array = np.asarray(codes)
    if array.shape != (n,):
        raise InputError(f"{what} have shape {array.shape}, but there are {n} values; give one code per value")
    if array.dtype.kind not in "iub":
        raise InputError(f"{what} are of type {array.dtype}; give integer codes")
    array = array.astype(np.int64)
    if (low := int(array.min())) < 0:
        raise InputError(f"{what} hold {low}; codes are 0 or more: give items without a level one of their own")
    levels, compact = levels_and_places(array)
    return compact, int(levels.size)


def levels_and_places(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the different whole numbers in order, and where each value stands among them.

    >>> levels, places = levels_and_places(np.array([7, 3, 7]))
    >>> levels.tolist(), places.tolist()
    ([3, 7], [1, 0, 1])
    """
    low, high = (int(values.min()), int(values.max())) if values.size else (0, -1)
    cheaper_to_count = high - low < 4 * values.size + 1000
    if cheaper_to_count:
        above = values - low if low else values
        present = np.zeros(high - low + 1, dtype=np.bool_)
        present[above] = True
        # Half as wide as the numbers themselves: looking up a million of them takes less the smaller the table is.
        place = np.cumsum(present, dtype=np.int32)
        return np.flatnonzero(present) + low, place[above].astype(np.int64) - 1
    order = counted_order(values)
    ascending = values[order]
    new = np.concatenate([[True], ascending[1:] != ascending[:-1]])
    places = np.empty(values.size, dtype=np.int64)
    places[order] = np.cumsum(new) - 1
    return ascending[new], places


def counted_order(values: IntArray) -> IntArray:
    """Return the places of whole numbers in ascending order, equal ones as they stood.

    NumPy counts numbers of 16 bits into order, and compares larger ones, which takes several times as long.

    >>> counted_order(np.array([70_000, -3, 70_000, 5])).tolist()
    [1, 3, 0, 2]
    >>> counted_order(np.array([2, 1, 0], dtype=np.int32)).tolist()
    [2, 1, 0]
    """
    if (values[1:] >= values[:-1]).all():
        return np.arange(values.size, dtype=np.int64)
    low = values.min(initial=0)
    above = np.asarray(values - low if low else values, dtype=np.int64).view(np.uint64)
    order = np.argsort(above.astype(np.uint16), kind="stable")
    for bits in range(16, int(above.max(initial=0)).bit_length(), 16):
        order = order[np.argsort((above[order] >> np.uint64(bits)).astype(np.uint16), kind="stable")]
    return order


def check_level(conf_level: float) -> float:
    """Return `conf_level` if it lies strictly between 0 and 1."""
    if not 0.0 < conf_level < 1.0:
        hint = " (0.95, not 95)" if conf_level >= 1.0 else ""
        raise InputError(f"conf_level is {conf_level:g}; give a number between 0 and 1{hint}")
    return float(conf_level)


_MOST = 1_000_000_000_000  # of anything that can be counted out in a computer's memory


def check_count(value: float, what: str, *, least: int = 0) -> int:
    """Return a whole number of at least `least`."""
    if value > _MOST:
        raise InputError(f"{what} is {value}; give at most {_MOST:,}")
    if not math.isfinite(value) or int(value) != value or value < least:
        raise InputError(f"{what} is {value}; give a whole number of at least {least}")
    return int(value)


def check_bounds(values: FloatArray, low: float | None, high: float | None, what: str = "values") -> None:
    """Raise InputError where a value lies outside [low, high] by more than rounding."""
    if low is not None and high is not None and not low < high:
        raise InputError(f"low is {low:g} and high is {high:g}; low must be below high")
    slack = 1e-9 * max(abs(low or 0.0), abs(high or 0.0), 1e-300)
    smallest, largest = float(values.min()), float(values.max())
    if low is not None and smallest < low - slack:
        raise InputError(f"{what} reach {smallest:g}, below the lowest possible {low:g}; check the unit")
    if high is not None and largest > high + slack:
        raise InputError(f"{what} reach {largest:g}, above the highest possible {high:g}; check the unit")


def check_bound(bound: float) -> float:
    """Return a positive finite bound."""
    if not (math.isfinite(bound) and bound > 0.0):
        raise InputError(f"bound is {bound:g}; give the metric's range, a positive number")
    return float(bound)


def few_items(n: int) -> tuple[str, ...]:
    """Return the warning for fewer than ten items."""
    if n >= FEW_ITEMS:
        return ()
    return (f"Only {plural(n, 'item')}: no method is reliable below {FEW_ITEMS}",)


def few_effective(df: float) -> str:
    """Say that unequal clusters with these degrees of freedom are too few; what they are worth is rounded down.

    >>> few_effective(3.9945)
    'Unequal clusters, worth 4.9 equal ones, are too few for a verdict'
    """
    worth = math.floor(10.0 * (1.0 + df)) / 10.0
    return f"Unequal clusters, worth {worth:.1f} equal ones, are too few for a verdict"


def too_few_clusters(n_clusters: int) -> str | None:
    """Return why there can be no interval, or None where there are at least five clusters."""
    if n_clusters >= FEW_CLUSTERS:
        return None
    only = "1 cluster is" if n_clusters == 1 else f"{n_clusters} clusters are"
    return f"{only} too few for an interval or a test; at least {FEW_CLUSTERS} are needed"


def is_constant(values: FloatArray) -> bool:
    """Whether the values differ by no more than rounding."""
    low, high = float(values.min()), float(values.max())
    return high - low <= 1e-12 * max(abs(low), abs(high))
