"""Numbers of either side in a reader's units, and which models a gap is called for."""

import math
from collections.abc import Sequence

from evalstats.analysis.gap.layers import CoefficientRow, PartRow, SourceInterval
from evalstats.analysis.gap.result import GapRow, LabLiveGap, SideAccount
from evalstats.analysis.result import Estimate
from evalstats.document.model import Column, Tone
from evalstats.document.numbers import interval_words, number, p_words, scaled

Ends = tuple[float | None, float | None] | None

_MOST_DIGITS = 6
# How verdicts of tables stand out.
TONES: dict[str, Tone] = {"gap": "bad", "aligned": "good"}
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


def difference_unit(unit: str) -> str:
    """Return the unit of a difference in a reader's words.

    Examples
    --------
    >>> difference_unit("%"), difference_unit("rating"), difference_unit("")
    ('pp', 'rating points', '')
    """
    return "pp" if unit in _PERCENT else _UNITS.get(unit, unit)


def titled(title: str, unit: str) -> str:
    """Write a heading with its unit, where there is one.

    Examples
    --------
    >>> titled("Lab", "%"), titled("Lab", "")
    ('Lab (%)', 'Lab')
    """
    return f"{title} ({unit})" if unit else title


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


def score_column(found: LabLiveGap, side: SideAccount, title: str, *, spare: bool = False) -> Column:
    """Return a column of scores of one side."""
    return Column(title=title, kind="number", digits=digits_of(found, side), scale=side.scale, spare=spare)


def difference_column(found: LabLiveGap, side: SideAccount, title: str, *, spare: bool = False) -> Column:
    """Return a column of differences of scores of one side."""
    digits = digits_of(found, side)
    return Column(title=title, kind="number", digits=digits, scale=side.scale, sign=True, spare=spare)


def ends_column(
    found: LabLiveGap, side: SideAccount, title: str = "", *, sign: bool = True, spare: bool = False
) -> Column:
    """Return a column of intervals in the unit of one side."""
    digits = digits_of(found, side)
    title = title or f"{level(found)} CI"
    return Column(title=title, kind="interval", digits=digits, scale=side.scale, sign=sign, spare=spare)


def difference_text(value: float | None, found: LabLiveGap, side: SideAccount | None = None) -> str:
    """Write a difference with its sign and unit, in the live side's unit unless another is given."""
    side = side or found.live
    unit = difference_unit(side.unit)
    return f"{scaled(value, side.scale, digits_of(found, side), sign=True)} {unit}".rstrip()


def size_text(value: float, found: LabLiveGap, side: SideAccount | None = None) -> str:
    """Write the size of a difference without its sign."""
    return difference_text(abs(value), found, side).lstrip("+")


def points(value: float, found: LabLiveGap, side: SideAccount | None = None) -> str:
    """Write the size of a difference as a headline does: "10 points"."""
    side = side or found.live
    size = abs(value) * side.scale
    digits = 0 if size >= 2 else digits_of(found, side)
    unit = "points" if is_share(side) else difference_unit(side.unit)
    return f"{number(size, digits)} {unit}".rstrip()


def ends_text(ends: Ends, found: LabLiveGap, side: SideAccount | None = None, *, sign: bool = True) -> str:
    """Write an interval as running text does: "95% CI −4.3 to +3.2"; "" where there is none."""
    if ends is None or None in ends:
        return ""
    side = side or found.live
    return f"{level(found)} CI {interval_words(*ends, side.scale, digits_of(found, side), sign=sign)}"


def told(estimate: Estimate | None, found: LabLiveGap, side: SideAccount | None = None) -> str:
    """Write a difference with its interval: "−0.5 pp, 95% CI −4.3 to +3.2"."""
    if estimate is None:
        return "–"
    return ", ".join(
        filter(None, (difference_text(estimate.estimate, found, side), ends_text(estimate.ends, found, side)))
    )


def printed(value: float, found: LabLiveGap) -> float:
    """Return a gap or level as printed scores differ, whichever direction is better: above 0 of it is always better."""
    return value if found.live.higher_is_better else -value


def printed_ends(ends: Ends, found: LabLiveGap) -> Ends:
    """Return an interval of a gap or level as printed scores differ."""
    if ends is None or found.live.higher_is_better:
        return ends
    low, high = ends
    return None if high is None else -high, None if low is None else -low


def metric_side(found: LabLiveGap) -> SideAccount:
    """Return the side in whose numbers parts and drops are told: where scales differ they are those of the lab."""
    return found.live if found.same_scale else found.lab


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


def excludes_zero(ends: Ends) -> bool:
    """Whether an interval is there and leaves out 0."""
    if ends is None or ends[0] is None or ends[1] is None:
        return False
    return ends[0] > 0 or ends[1] < 0


def flagged(found: LabLiveGap) -> list[GapRow]:
    """Return the rows with a gap, the largest first."""
    rows = [row for row in found.rows if row.verdict == "gap"]
    return sorted(rows, key=lambda row: -abs(row.estimate or 0.0))


def apart(found: LabLiveGap) -> list[GapRow]:
    """Return the rows whose live score differs from the lab's on one scale, the largest difference first."""
    rows = [row for row in found.rows if row.difference_verdict == "gap"]
    return sorted(rows, key=lambda row: -abs(row.difference or 0.0))


def part_label(row: PartRow) -> str:
    """Return what a part of the order is called in a sentence.

    Examples
    --------
    >>> part_label(PartRow(kind="top", label="live top 5", n_models=5))
    'best 5 live'
    """
    if row.kind == "top":
        return f"best {row.n_models} live"
    return f"best {row.n_models} in the lab" if row.kind == "lab top" else row.label


def part_ends(row: PartRow) -> tuple[float, float] | None:
    """Return the interval of agreement in a part of the order; none of no width, which would claim that there is no noise."""
    if row.conf_low is None or row.conf_high is None or row.conf_low == row.conf_high:
        return None
    return row.conf_low, row.conf_high


def verdict_words(verdict: str) -> str:
    """Return a verdict as a table writes it."""
    return {"inconclusive": "open", "invalid": "–"}.get(verdict, verdict)


def these_models(row: CoefficientRow) -> SourceInterval | None:
    """Return the interval of a coefficient for these very models: by all noise there is."""
    return _first(row, "items and votes", "votes", "items")


def models_like_these(row: CoefficientRow) -> SourceInterval | None:
    """Return the interval of a coefficient for other models like these."""
    return _first(row, "all", "models")


def _first(row: CoefficientRow, *sources: str) -> SourceInterval | None:
    by = {each.source: each for each in row.intervals if each.conf_low is not None and each.conf_high is not None}
    return next((by[source] for source in sources if source in by), None)


def spearman_words(found: LabLiveGap) -> str:
    """Write the interval of Spearman's coefficient, and what it is of."""
    row = found.agreement.of("spearman")
    like = models_like_these(row)
    each = like or these_models(row)
    if each is None:
        return p_words(row.p_value)
    whom = "models like these" if like else "these models"
    return f"{level(found)} CI {interval_words(each.conf_low, each.conf_high, digits=2)} for {whom}"


def grouped(found: Sequence[tuple[str, str]]) -> list[tuple[str, list[str]]]:
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
