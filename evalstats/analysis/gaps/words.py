"""Small words that every sentence and table about the gap shares: numbers of either side, levels, who is flagged."""

import math
from collections.abc import Iterable, Sequence

from evalstats.analysis.arenas.words import capital, of, p_text, some, stopped
from evalstats.analysis.gap.layers import Part, PartRow
from evalstats.analysis.gap.result import GapRow, LabLiveGap, SideAccount
from evalstats.document.numbers import interval, number, scaled

__all__ = [
    "LINE_LAYER",
    "apart",
    "capital",
    "caveat",
    "coefficient",
    "difference_unit",
    "difference_words",
    "digits_of",
    "direction",
    "ends",
    "flagged",
    "found_size",
    "gap_digits",
    "gap_ends",
    "gap_text",
    "gap_unit",
    "gap_words",
    "grouped",
    "is_share",
    "level",
    "metric_side",
    "of",
    "p_text",
    "part_ends",
    "part_interval",
    "part_text",
    "ranks",
    "score_text",
    "score_unit",
    "share",
    "size_text",
    "some",
    "stopped",
    "why_no_line",
]

LINE_LAYER = "calibrated gap"  # what a result calls the line where it is left out

_MOST_DIGITS = 6
_NAMED = 3
# Where errors are unknown, a hundredth of the spread between models is written.
_FINE = 100.0
_PERCENT = frozenset({"%", "pp"})
_UNITS = {"rating": "rating points"}


def level(found: LabLiveGap) -> str:
    """Write the level of the intervals."""
    return f"{100 * found.conf_level:g}%"


def is_share(side: SideAccount) -> bool:
    """Whether scores are shares, written in percent."""
    return side.unit in _PERCENT


def score_unit(side: SideAccount) -> str:
    """Return the unit of a score, in a reader's words."""
    return "%" if is_share(side) else _UNITS.get(side.unit, side.unit)


def gap_unit(side: SideAccount) -> str:
    """Return the unit of a difference of scores: percentage points where these are shares."""
    return difference_unit(side.unit)


def difference_unit(unit: str) -> str:
    """Return the unit of a difference in a reader's words.

    Examples
    --------
    >>> difference_unit("%"), difference_unit("rating"), difference_unit("")
    ('pp', 'rating points', '')
    """
    return "pp" if unit in _PERCENT else _UNITS.get(unit, unit)


def digits_of(found: LabLiveGap, side: SideAccount) -> int:
    """Return how many decimals scores of one side get: those that show the first digit of a usual standard error."""
    lab = side is found.lab
    errors = [row.lab_std_error if lab else row.live_std_error for row in found.rows]
    known = sorted(abs(side.scale) * error for error in errors if error)
    if known:
        return _decimals(known[len(known) // 2], side)
    values = [side.scale * (row.lab if lab else row.live) for row in found.rows]
    spread = max(values, default=0.0) - min(values, default=0.0)
    return _decimals(spread / _FINE, side) if spread > 0 else 1


def _decimals(size: float, side: SideAccount) -> int:
    least = 1 if is_share(side) else 0
    return min(max(least, -math.floor(math.log10(size))), _MOST_DIGITS)


def gap_digits(found: LabLiveGap) -> int:
    """Return how many decimals gaps get: as the scores of the live side."""
    return digits_of(found, found.live)


def score_text(value: float | None, found: LabLiveGap, side: SideAccount, *, unit: bool = True) -> str:
    """Write a score of one side, with a percent sign where it is a share; other units stand in the heading."""
    percent = "%" if unit and is_share(side) and value is not None else ""
    return f"{scaled(value, side.scale, digits_of(found, side))}{percent}"


def gap_text(value: float | None, found: LabLiveGap, *, unit: bool = True) -> str:
    """Write a gap with its sign, in the live side's unit."""
    shown = scaled(value, found.live.scale, gap_digits(found), sign=True)
    return f"{shown} {gap_unit(found.live)}".rstrip() if unit and value is not None else shown


def size_text(value: float, found: LabLiveGap) -> str:
    """Write the size of a gap without its sign."""
    return gap_text(abs(value), found).lstrip("+")


def gap_ends(low: float | None, high: float | None, found: LabLiveGap) -> str:
    """Write an interval of gaps."""
    return interval(low, high, found.live.scale, gap_digits(found), sign=True)


def ends(low: float | None, high: float | None, found: LabLiveGap, side: SideAccount) -> str:
    """Write an interval of scores of one side."""
    return interval(low, high, side.scale, digits_of(found, side))


def metric_side(found: LabLiveGap) -> SideAccount:
    """Return the side in whose numbers parts and drops are told: where scales differ they are those of the lab."""
    return found.live if found.same_scale else found.lab


def part_text(part: Part | None, found: LabLiveGap, *, sign: bool = True) -> str:
    """Write a part of a decomposition, with its sign where it is a difference; a dash where it is not known."""
    side = metric_side(found)
    return scaled(None if part is None else part.estimate, side.scale, digits_of(found, side), sign=sign)


def part_ends(part: Part | None, found: LabLiveGap, *, sign: bool = True) -> str:
    """Write the interval of a part; a dash where there is none."""
    if part is None or part.conf_low is None or part.conf_high is None:
        return "–"
    side = metric_side(found)
    return interval(part.conf_low, part.conf_high, side.scale, digits_of(found, side), sign=sign)


def coefficient(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Write a correlation, with its interval where there is one.

    Examples
    --------
    >>> coefficient(0.741), coefficient(0.741, 0.557, 0.856), coefficient(None)
    ('0.74', '0.74 [0.56, 0.86]', '–')
    """
    shown = number(value)
    return shown if low is None or high is None else f"{shown} {interval(low, high)}"


def part_interval(row: PartRow) -> tuple[float | None, float | None]:
    """Return the interval of agreement in a part of the order; none of no width, which would claim that there is no noise."""
    return (None, None) if row.conf_low == row.conf_high else (row.conf_low, row.conf_high)


def why_no_line(found: LabLiveGap) -> str:
    """Return why there is no line from lab to live, without its stop; "" where there is one or nothing tells."""
    return next((why.rstrip(".") for layer, why in found.left_out if layer in {LINE_LAYER, "line"}), "")


def share(value: float | None, digits: int = 0) -> str:
    """Write a share in percent that is neither 0 nor 100 by rounding.

    Examples
    --------
    >>> share(0.0004), share(0.31), share(0.9999), share(0.0), share(None)
    ('<1%', '31%', '>99%', '0%', '–')
    """
    if value is None:
        return "–"
    shown = f"{number(100 * value, digits)}%"
    if 0 < value < 1 and round(100 * value, digits) == 0:
        return "<1%"
    return ">99%" if 0 < value < 1 and round(100 * value, digits) == 100 else shown


def ranks(low: int | None, high: int | None) -> str:
    """Write a set of places.

    Examples
    --------
    >>> ranks(2, 4), ranks(1, 1), ranks(None, None)
    ('2-4', '1', '–')
    """
    if not low or not high:
        return "–"
    return str(low) if low == high else f"{low}-{high}"


def direction(value: float, found: LabLiveGap) -> str:
    """Return where a printed live score lies, by the sign of a gap or difference; above 0 is better on every metric."""
    lower = value < 0 if found.live.higher_is_better else value > 0
    return "below" if lower else "above"


def gap_words(found: LabLiveGap) -> str:
    """Return what is taken from what in a gap: where less is better live, a gap above 0 is still one to the better."""
    return "live less expected" if found.live.higher_is_better else "expected less live, so that above 0 is better"


def difference_words(found: LabLiveGap) -> str:
    """Return what is taken from what in a difference of one model."""
    return "live less lab" if found.live.higher_is_better else "lab less live"


def flagged(found: LabLiveGap) -> list[GapRow]:
    """Return the rows with a gap, the largest first."""
    rows = [row for row in found.rows if row.verdict == "gap"]
    return sorted(rows, key=lambda row: -abs(row.gap or 0.0))


def found_size(detectable: float, found: LabLiveGap) -> str:
    """Say what gap would have been found, as a clause: at that size chances are 80%, not 0 below it."""
    return (
        f"a gap of {size_text(detectable, found)} would have been found with 80% probability, smaller ones less often"
    )


def caveat(rows: Sequence[GapRow], found: LabLiveGap) -> str:
    """Return as a clause what makes the gaps of these rows doubtful; "" where nothing does.

    A model at an end is judged by a line that is drawn out to it, and one that moves the line by a line that it bent itself.
    """
    pull = () if found.line is None else found.line.influential
    said: list[str] = []
    out = [row.name for row in rows if row.extrapolated]
    bent = [row.name for row in rows if row.name in pull and not row.extrapolated]
    if out and len(rows) == 1:
        said.append("its lab score lies outside the others', so the line is drawn out to it")
    elif out:
        score, it = ("score", "it") if len(out) == 1 else ("scores", "them")
        lie = "lies" if len(out) == 1 else "lie"
        said.append(
            f"the lab {score} of {some(out, _NAMED)} {lie} outside the others', so the line is drawn out to {it}"
        )
    if bent:
        whom = "it" if len(rows) == 1 else some(bent, _NAMED)
        said.append(f"without {whom} the slope moves by more than its standard error")
    return "; ".join(said)


def apart(found: LabLiveGap) -> list[GapRow]:
    """Return the rows whose live score differs from the lab's on one scale, the largest difference first."""
    rows = [row for row in found.rows if row.difference_verdict == "gap"]
    return sorted(rows, key=lambda row: -abs(row.difference or 0.0))


def grouped(found: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Collect names under the same reason, in the order of their first appearance.

    Examples
    --------
    >>> grouped([("too few", "a"), ("no error", "b"), ("too few", "c")])
    [('too few', ['a', 'c']), ('no error', ['b'])]
    """
    collected: dict[str, list[str]] = {}
    for reason, name in found:
        collected.setdefault(reason.rstrip("."), []).append(name)
    return list(collected.items())
