"""Words in a figure: how wide they come out, names that fit and stay different, labels that cover nothing, what marks say."""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from typing import Any

import matplotlib.font_manager
import numpy as np
from matplotlib.ft2font import FT2Font

from evalstats.document.escape import agreed_ends, one_line, without_ends
from evalstats.document.numbers import interval, number
from evalstats.record import record

_WIDE = 1.12  # a letter of an East Asian script, or one that the font lacks, in ems
_ROOM = 1.07  # drawing programs round each letter to whole pixels
_HAIR = 1e-6  # of a pixel: room that was reckoned from a width holds it
_ELLIPSIS = "…"
# Where names are cut, from the best place to the worst.
_HEADS = (0.5, 0.6, 0.4, 0.7, 0.3, 0.8, 0.2, 0.9, 0.1, 1.0, 0.0)
_PROVIDER = re.compile(r"^[\w.~-]+/(?:[\w.~-]+/)*")


@cache
def _face(path: str) -> Any:
    # A face of our own: matplotlib's is shared, and every text that is drawn sets its size.
    face: Any = FT2Font(path)
    face.set_size(100, 72)
    return face


def _font(*, bold: bool) -> str:
    """Return the file of the font that words are drawn in under matplotlib's settings."""
    settings: Any = matplotlib.rcParams
    families = tuple(settings["font.family"])
    # A family such as "serif" is a list of its own in the settings.
    lists = tuple(tuple(settings.get(f"font.{family}", ())) for family in families)
    return _file(families, lists, "bold" if bold else settings["font.weight"])


@cache
def _file(families: tuple[str, ...], _lists: tuple[tuple[str, ...], ...], weight: str | int) -> str:
    fonts: Any = matplotlib.font_manager
    return fonts.findfont(fonts.FontProperties(family=families, weight=weight))


@cache
def _advance(char: str, font: str) -> float:
    """Return the width of a letter in ems."""
    if unicodedata.combining(char):
        return 0.0
    face = _face(font)
    if unicodedata.east_asian_width(char) in "WF" or not face.get_char_index(ord(char)):
        return _WIDE
    return face.load_char(ord(char)).linearHoriAdvance / 65536 / 100


@lru_cache(maxsize=4096)
def _ems(text: str, font: str) -> float:
    """Return the width of a line in ems: a layout asks for that of the same names at many sizes."""
    return sum(_advance(char, font) for char in text)


def text_width(text: str, font: float, *, bold: bool = False) -> float:
    """Return how many pixels a line of text takes at most.

    >>> round(text_width("abcd", 10), 1)
    26.0
    """
    return _ROOM * font * _ems(text, _font(bold=bold))


def fitted(text: str, room: float, font: float, *, head: float = 0.5, bold: bool = False) -> str:
    """Return one line of text, cut inside until it fits into `room` pixels; `head` is the share kept at its beginning.

    The ends of names tell models apart more often than their middles do.

    >>> fitted("Meta-Llama-3.1-70B-Instruct", 100, 10)
    'Meta-Lla…Instruct'
    """
    line = one_line(text).strip()
    room += _HAIR
    if text_width(line, font, bold=bold) <= room:
        return line
    # Width of the first letters, by their number: names of hundreds of letters are cut at many places.
    face = _font(bold=bold)
    upto = [0.0, *accumulate(_advance(char, face) for char in line)]
    ems = room / (_ROOM * font) - _advance(_ELLIPSIS, face)
    for kept in range(len(line) - 1, 0, -1):
        first = round(kept * head)
        begin, end = line[:first].rstrip(), line[len(line) - (kept - first) :].lstrip()
        if upto[len(begin)] + upto[-1] - upto[len(line) - len(end)] <= ems:
            return f"{begin}{_ELLIPSIS}{end}"
    return line[:1] + _ELLIPSIS if len(line) > 2 else line


def fitted_names(names: Sequence[str], room: float, font: float, *, bold: bool = False) -> list[str]:
    """Return names that fit into `room` pixels and are as different as they were.

    What stands before the last slash (a provider) goes first, where the names differ without it. Then what all begin and end
    with, up to a mark between words. Then each name is cut at the same share of its length, the first at which they stay
    different. Names that come out alike wherever they are cut get a number.

    >>> fitted_names(["openai/gpt-4o", "openai/gpt-4o-mini"], 80, 10)
    ['gpt-4o', 'gpt-4o-mini']
    >>> fitted_names(["a-rather-long-name-1-chat", "a-rather-long-name-2-chat"], 88, 10)
    ['…name-1-chat', '…name-2-chat']
    """
    lines = [one_line(name).strip() for name in names]
    room += _HAIR
    if any(text_width(line, font, bold=bold) > room for line in lines):
        short = [_PROVIDER.sub("", line) or line for line in lines]
        if len(set(short)) == len(set(lines)):
            lines = short
    ends = agreed_ends(lines, lambda text: text_width(text, font, bold=bold) <= room)
    short = [without_ends(line, ends) for line in lines]
    if len(set(short)) == len(set(lines)):
        lines = short
    if all(text_width(line, font, bold=bold) <= room for line in lines):
        return lines
    tried = ([fitted(line, room, font, head=head, bold=bold) for line in lines] for head in _HEADS)
    best: list[str] = []
    for cut in tried:
        if len(set(cut)) > len(set(best)):
            best = cut
        if len(set(best)) == len(set(lines)):
            return best
    return _core_names(lines, room, font, bold=bold) or [
        _numbered(place, best, lines, room, font) for place in range(len(lines))
    ]


def _core_names(lines: Sequence[str], room: float, font: float, *, bold: bool) -> list[str]:
    """Cut names at both ends, in what all agree in, around the part in which they differ; nothing where that is too long."""
    n_first = _agreed(lines)
    n_last = min(_agreed([line[::-1] for line in lines]), min(map(len, lines)) - n_first)
    for step in range(1, _STEPS + 1):
        first, last = round(n_first * step / _STEPS), round(n_last * step / _STEPS)
        head, tail = _ELLIPSIS if first else "", _ELLIPSIS if last else ""
        cut = [f"{head}{line[first : len(line) - last]}{tail}" for line in lines]
        if all(text_width(each, font, bold=bold) <= room for each in cut):
            return cut if len(set(cut)) == len(set(lines)) else []
    return []


def _agreed(lines: Sequence[str]) -> int:
    """Return in how many letters at their beginning all lines agree."""
    columns = (len(set(letters)) for letters in zip(*lines, strict=False))
    return next((place for place, n in enumerate(columns) if n > 1), min(map(len, lines)))


def _numbered(place: int, cut: Sequence[str], lines: Sequence[str], room: float, font: float) -> str:
    """Put a number behind a name that another one was cut to as well."""
    alike = list(dict.fromkeys(line for line, other in zip(lines, cut, strict=True) if other == cut[place]))
    if len(alike) < 2:
        return cut[place]
    number = f" ({alike.index(lines[place]) + 1})"
    return fitted(cut[place], room - text_width(number, font), font) + number


def wrapped(text: str, room: float, font: float, *, bold: bool = False) -> list[str]:
    """Break text into lines of at most `room` pixels, between words.

    >>> wrapped("one two three", 45, 10)
    ['one two', 'three']
    """
    lines: list[str] = []
    for word in one_line(text).split():
        if lines and text_width(f"{lines[-1]} {word}", font, bold=bold) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(fitted(word, room, font, bold=bold))
    return lines


def spread(levels: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move levels apart until none is nearer than `gap` to the next, as little as possible, within `low` and `high`.

    The least sum of squared moves of ascending levels: blocks of neighbours that touch stand around their mean.

    >>> spread([1.0, 1.0, 5.0], 1.0, 0.0, 10.0)
    [0.5, 1.5, 5.0]
    >>> spread([0.0, 0.1], 1.0, 0.0, 10.0)
    [0.0, 1.0]
    """
    # Without their share of the gaps, the levels need only ascend: isotonic regression by pooling neighbours.
    blocks: list[tuple[float, int]] = []
    for place, level in enumerate(levels):
        block = (level - place * gap, 1)
        while blocks and blocks[-1][0] >= block[0]:
            mean, n = blocks.pop()
            block = ((mean * n + block[0] * block[1]) / (n + block[1]), n + block[1])
        blocks.append(block)
    flat = [mean for mean, n in blocks for _ in range(n)]
    room = high - gap * (len(levels) - 1)
    return [min(max(level, low), max(room, low)) + place * gap for place, level in enumerate(flat)]


# --- names beside points ---

Box = tuple[float, float, float, float]
# Directions in the order in which a reader expects a name: right of the point first, straight above and below last.
_DIRECTIONS = ((1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1))
# A line to a name never runs straight up or across: it would be read as an interval.
_SLOPES = tuple((math.cos(math.radians(turn)), math.sin(math.radians(turn))) for turn in (35, 60, 15))
_TIED = tuple((across * right, up * above) for across, up in _SLOPES for above in (1, -1) for right in (1, -1))
# Distances from the point, in letters' heights: beside it no line is needed.
_NEAR = (0.5, 0.9)
_FAR = (1.7, 2.5, 3.4, 4.6, 6.0, 7.6, 9.4, 11.5, 14.0, 17.0, 20.0)
_ACROSS = 1.5  # what it costs to stand across a letter's height of a thin line, in letters' heights of distance
_STEPS = 24  # of a line, looked at one by one


@record
class Placed:
    """Where a name stands: its box in pixels (y upwards), and where a line from its point ends; None where it is near."""

    box: Box
    tie: tuple[float, float] | None


@dataclass(slots=True)
class Ground:
    """The frame within which names stand, in pixels (y upwards), and what is there already.

    `taken`: points and names: nothing may cover them. `thin`: lines and intervals, each from (x, y) to (x, y): no name stands
    across one, but for a number that has no other room.
    """

    frame: Box
    taken: list[Box] = field(default_factory=list[Box])
    thin: list[Box] = field(default_factory=list[Box])
    _ties: list[Box] = field(default_factory=list[Box])

    def place(
        self, at: tuple[float, float], width: float, font: float, *, most: float = math.inf, across: bool = False
    ) -> Placed | None:
        """Find the best free place for a name of `width` pixels beside a point; None where there is none.

        The best one is nearest. `most` is what its place may cost, in letters' heights: beyond 2 the name stands far from its
        point, tied to it by a line. Where it may stand `across` thin lines, what is crossed is added to the distance.
        """
        best: Placed | None = None
        least = most
        for distance in _NEAR + _FAR:
            if distance >= least:
                break  # all others cost more
            for turn, box in enumerate(_boxes(at, width, font, distance)):
                cost = distance + 0.02 * turn
                if cost >= least or not self._fits(box):
                    continue
                crossed = self._crossed(box)
                cost += _ACROSS * crossed / font
                if cost < least and (across or not crossed):
                    found = self._placed(at, box, tied=distance in _FAR)
                    best, least = (best, least) if found is None else (found, cost)
        if best is not None:
            self.taken.append(best.box)
            self._ties += [] if best.tie is None else [(*at, *best.tie)]
        return best

    def _crossed(self, box: Box) -> float:
        """Return how many pixels of thin lines run through a box."""
        lines = np.array(self.thin, dtype=np.float64).reshape(-1, 4)
        start, way = lines[:, :2], lines[:, 2:] - lines[:, :2]
        # Shares of its way at which a line passes the edges; one along an edge passes none.
        with np.errstate(divide="ignore", invalid="ignore"):
            one, other = ((np.array(corner) - start) / way for corner in (box[:2], box[2:]))
        enters = np.maximum(np.minimum(one, other).max(axis=1), 0.0)
        leaves = np.minimum(np.maximum(one, other).min(axis=1), 1.0)
        within = np.where(leaves > enters, leaves - enters, 0.0)
        return float((within * np.hypot(way[:, 0], way[:, 1])).sum())

    def _fits(self, box: Box) -> bool:
        left, low, right, high = box
        inside = self.frame[0] <= left and self.frame[1] <= low and right <= self.frame[2] and high <= self.frame[3]
        if not inside or any(crosses(box, other) for other in self.taken):
            return False
        diagonals = box, (left, high, right, low)
        return not any(_cut(tie, each) for tie in self._ties for each in diagonals)

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

    >>> crosses((0, 0, 2, 2), (1, 1, 3, 3)), crosses((0, 0, 1, 1), (1, 0, 2, 1))
    (True, False)
    """
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _boxes(at: tuple[float, float], width: float, font: float, distance: float) -> Iterator[Box]:
    (x, y), gap, height = at, distance * font, 1.2 * font
    near = distance in _NEAR
    for right, up in _DIRECTIONS if near else _TIED:
        away = gap if near else abs(right) * gap
        left = x + away if right > 0 else x - away - width if right < 0 else x - width / 2
        middle = y + up * ((gap * (0.8 if right else 1.0) if near else gap) + 0.35 * font)
        yield left, middle - height / 2, left + width, middle + height / 2


def _cut(one: Box, other: Box) -> bool:
    """Whether two stretches of line, each from (x, y) to (x, y), cross."""

    def side(line: Box, x: float, y: float) -> float:
        return (line[2] - line[0]) * (y - line[1]) - (line[3] - line[1]) * (x - line[0])

    apart_one = side(one, other[0], other[1]) * side(one, other[2], other[3])
    apart_other = side(other, one[0], one[1]) * side(other, one[2], one[3])
    return apart_one < 0 and apart_other < 0


Room = tuple[float, float, float, float]  # left, top, width, height
_LEAST = 4.0  # pixels of a room, where points lie on each other


def with_interval(value: float | None, ends: tuple[float, float] | None, digits: int, *, sign: bool = False) -> str:
    """Write a number with its interval; the number alone where it has none.

    >>> with_interval(4.0, (2.0, 6.0), 1), with_interval(0.5, None, 2, sign=True)
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
