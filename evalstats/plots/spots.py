"""What marks say to a pointer and where: the number with its interval, and rooms of points that never overlap."""

import math
from collections.abc import Sequence
from itertools import pairwise

from evalstats.document.numbers import interval, number
from evalstats.plots.lettering import Box, spread

Room = tuple[float, float, float, float]  # left, top, width, height
_LEAST = 4.0  # pixels of a room, where points lie on each other


def told(value: float | None, ends: tuple[float, float] | None, digits: int, *, sign: bool = False) -> str:
    """Write a number with its interval; the number alone where it has none.

    >>> told(4.0, (2.0, 6.0), 1), told(0.5, None, 2, sign=True)
    ('4.0 [2.0, 6.0]', '+0.50')
    """
    said = number(value, digits, sign=sign)
    return said if value is None or ends is None else f"{said} {interval(*ends, 1, digits, sign=sign)}"


def digits_within(wide: float) -> int:
    """Return the decimals that give three digits of what an axis spans.

    >>> digits_within(0.8), digits_within(45), digits_within(400)
    (3, 1, 0)
    """
    wide = abs(wide)
    return max(2 - math.floor(math.log10(wide)), 0) if wide > 0 else 2


def rooms(points: Sequence[tuple[float, float]], frame: Box, reach: tuple[float, float]) -> list[Room]:
    """Return a box for each point, at most `reach` from it, that ends halfway to its neighbours.

    Points that stand above each other share a slice of the frame (left, top, right, bottom); in it each has what is nearest.

    >>> rooms([(10.0, 10.0), (20.0, 10.0), (20.0, 20.0)], (0, 0, 30, 50), (8, 8))
    [(2.0, 2.0, 13.0, 16.0), (15.0, 2.0, 13.0, 13.0), (15.0, 15.0, 13.0, 13.0)]
    """
    left, top, right, bottom = frame
    slices: dict[float, list[int]] = {}
    for place, (x, _) in enumerate(points):
        slices.setdefault(x, []).append(place)
    across = sorted(slices)
    edges = dict(zip(across, pairwise([-math.inf, *((a + b) / 2 for a, b in pairwise(across)), math.inf]), strict=True))
    found: dict[int, Room] = {}
    for x, own in slices.items():
        start, stop = max(edges[x][0], x - reach[0], left), min(edges[x][1], x + reach[0], right)
        own.sort(key=lambda place: points[place][1])
        levels = spread([points[place][1] for place in own], min(_LEAST, (bottom - top) / len(own)), top, bottom)
        middles = [-math.inf, *((a + b) / 2 for a, b in pairwise(levels)), math.inf]
        for place, level, (low, high) in zip(own, levels, pairwise(middles), strict=True):
            above, below = max(low, level - reach[1], top), min(high, level + reach[1], bottom)
            found[place] = start, above, max(stop - start, 0.0), max(below - above, 0.0)
    return [found[place] for place in range(len(points))]
