"""Names beside points of a scatter: none covers another name, a point or the edge; a far one is tied to its point by a line."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

Box = tuple[float, float, float, float]
# Directions in the order in which a reader expects a name: right of the point first, straight above and below last.
_DIRECTIONS = ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))
# A line to a name never runs straight up or across: it would be read as an interval.
_DIAGONALS = _DIRECTIONS[2:6]
# Distances from the point, in letters' heights: beside it no line is needed.
_NEAR = (0.5, 0.9)
_FAR = (1.7, 2.5, 3.4, 4.6, 6.0, 7.6, 9.4, 11.5, 14.0)
_ACROSS = 1.5  # what it costs to stand across a letter's height of a thin line, in letters' heights of distance
_STEPS = 24  # of a line, looked at one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where a name stands: its box in pixels (y upwards), and where a line from its point ends; None where it is near."""

    box: Box
    tie: tuple[float, float] | None


@dataclass(slots=True)
class Ground:
    """The frame within which names stand, in pixels (y upwards), and what is there already.

    Attributes
    ----------
    taken
        Points and names: nothing may cover them.
    thin
        Lines and intervals: names stand across them only where there is no better room.
    """

    frame: Box
    taken: list[Box] = field(default_factory=list[Box])
    thin: list[Box] = field(default_factory=list[Box])
    _ties: list[Box] = field(default_factory=list[Box])

    def place(self, at: tuple[float, float], width: float, font: float, *, most: float = math.inf) -> Placed | None:
        """Find the best free place for a name of `width` pixels beside a point; None where there is none.

        The best one is near its point and across no thin line: distance and what is crossed are added up.

        Parameters
        ----------
        most
            What its place may cost, in letters' heights: beyond 2 the name stands far from its point, tied to it by a line.
        """
        best: Placed | None = None
        least = most
        for distance in _NEAR + _FAR:
            if distance >= least:
                break  # all others cost more
            for turn, box in enumerate(_boxes(at, width, font, distance)):
                cost = distance + 0.02 * turn + _ACROSS * self._crossed(box) / font
                if cost < least and self._fits(box):
                    found = self._placed(at, box, tied=distance in _FAR)
                    best, least = (best, least) if found is None else (found, cost)
        if best is not None:
            self.taken.append(best.box)
            self._ties += [] if best.tie is None else [(*at, *best.tie)]
        return best

    def _crossed(self, box: Box) -> float:
        """Return how many pixels of thin lines a name would stand across."""
        return sum(
            max(min(box[2], thin[2]) - max(box[0], thin[0]), min(box[3], thin[3]) - max(box[1], thin[1]))
            for thin in self.thin
            if crosses(box, thin)
        )

    def _fits(self, box: Box) -> bool:
        if not _inside(box, self.frame) or any(crosses(box, other) for other in self.taken):
            return False
        return not any(_cut(tie, edge) for tie in self._ties for edge in _corners(box))

    def _placed(self, at: tuple[float, float], box: Box, *, tied: bool) -> Placed | None:
        if not tied:
            return Placed(box=box, tie=None)
        end = min(max(at[0], box[0]), box[2]), min(max(at[1], box[1]), box[3])
        return Placed(box=box, tie=end) if self._is_free(at, end) else None

    def _is_free(self, one: tuple[float, float], other: tuple[float, float]) -> bool:
        """Whether a line to a name runs through no name and no other point, and across no other such line."""
        shares = [step / _STEPS for step in range(1, _STEPS)]
        inner = [(one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share) for share in shares]
        beside = [box for box in self.taken if not _holds(box, *one)]
        if any(_holds(box, x, y) for box in beside for x, y in inner):
            return False
        return not any(_cut((*one, *other), tie) for tie in self._ties)


def _holds(box: Box, x: float, y: float) -> bool:
    return box[0] < x < box[2] and box[1] < y < box[3]


def crosses(one: Box, other: Box) -> bool:
    """Whether two boxes share ground.

    Examples
    --------
    >>> crosses((0, 0, 2, 2), (1, 1, 3, 3)), crosses((0, 0, 1, 1), (1, 0, 2, 1))
    (True, False)
    """
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _boxes(at: tuple[float, float], width: float, font: float, distance: float) -> Iterator[Box]:
    (x, y), gap, height = at, distance * font, 1.2 * font
    for right, up in _DIRECTIONS if distance in _NEAR else _DIAGONALS:
        left = x + gap if right > 0 else x - gap - width if right < 0 else x - width / 2
        middle = y + up * (gap * (0.8 if right else 1.0) + 0.35 * font)
        yield left, middle - height / 2, left + width, middle + height / 2


def _corners(box: Box) -> tuple[Box, Box]:
    """Return both lines from corner to corner."""
    return box, (box[0], box[3], box[2], box[1])


def _inside(box: Box, frame: Box) -> bool:
    return frame[0] <= box[0] and frame[1] <= box[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _cut(one: Box, other: Box) -> bool:
    """Whether two stretches of line, each from (x, y) to (x, y), cross."""

    def side(line: Box, x: float, y: float) -> float:
        return (line[2] - line[0]) * (y - line[1]) - (line[3] - line[1]) * (x - line[0])

    apart_one = side(one, other[0], other[1]) * side(one, other[2], other[3])
    apart_other = side(other, one[0], one[1]) * side(other, one[2], one[3])
    return apart_one < 0 and apart_other < 0
