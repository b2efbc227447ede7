"""Numbers of either side in a reader's units, and which models, cells and intervals the answer speaks of."""

import math
from collections.abc import Sequence

from evalstats.analysis.gap.agreement_result import PartRow, Source
from evalstats.analysis.gap.result import CellPart, GapRow, LabLiveGap, SideAccount
from evalstats.analysis.result import Estimate, level
from evalstats.document.model import Column, Tone
from evalstats.document.names import named
from evalstats.document.numbers import interval_words, number, p_words, scaled
from evalstats.grammar import and_list
from evalstats.table.metric import MetricFacts

Ends = tuple[float | None, float | None] | None

# How verdicts of tables stand out.
TONES: dict[str, Tone] = {"gap": "bad", "material gap": "bad", "aligned": "good"}
_MOST_DIGITS = 6
# Where errors are unknown, a hundredth of the spread between models is written.
_FINE = 100.0
_UNITS = {"rating": "rating points"}
_WHOM: dict[Source, str] = {
    "items and votes": "the true scores of these models",
    "items": "the true lab scores of these models",
    "votes": "the true live scores of these models",
    "models": "models like these, as measured",
    "all": "models like these, as measured",
}


def difference_unit(about: MetricFacts) -> str:
    """Return the unit of a difference in a reader's words."""
    return _UNITS.get(about.shown_unit, about.shown_unit)


class ShownSide:
    """One side in a reader's units, with as many decimals as show the first digit of a usual standard error.

    `unit` is that of a score ("%"), `step` that of a difference ("pp").
    """

    def __init__(self, found: LabLiveGap, side: SideAccount) -> None:
        about = side.about
        self.side, self.scale, self.level, self.is_share = side, about.scale, level(found), about.score_unit == "%"
        self.unit, self.step = _UNITS.get(about.score_unit, about.score_unit), difference_unit(about)
        lab = side is found.lab
        errors = [row.lab_std_error if lab else row.live_std_error for row in found.rows]
        sizes = sorted(self.scale * error for error in errors if error)
        values = [self.scale * (row.lab if lab else row.live) for row in found.rows]
        size = sizes[len(sizes) // 2] if sizes else (max(values, default=0.0) - min(values, default=0.0)) / _FINE
        least = 1 if self.is_share else 0
        self.digits = min(max(least, -math.floor(math.log10(size))), _MOST_DIGITS) if size > 0 else 1

    def scores(self, title: str, *, spare: bool = False) -> Column:
        """Return a column of scores."""
        return Column(title=title, kind="number", digits=self.digits, scale=self.scale, spare=spare)

    def differences(self, title: str, *, spare: bool = False) -> Column:
        """Return a column of differences."""
        return Column(title=title, kind="number", digits=self.digits, scale=self.scale, sign=True, spare=spare)

    def intervals(self, title: str = "", *, sign: bool = True, spare: bool = False) -> Column:
        """Return a column of intervals."""
        title, scale = title or f"{self.level} CI", self.scale
        return Column(title=title, kind="interval", digits=self.digits, scale=scale, sign=sign, spare=spare)

    def score(self, value: float | None) -> str:
        """Write a score, with a percent sign where it is a share."""
        return f"{self.scores('').written(value)}{'%' if self.is_share else ''}"

    def difference(self, value: float | None) -> str:
        """Write a difference with its sign and unit."""
        return f"{scaled(value, self.scale, self.digits, sign=True)} {self.step}".rstrip()

    def size(self, value: float) -> str:
        """Write the size of a difference without its sign."""
        return self.difference(abs(value)).lstrip("+")

    def points(self, value: float) -> str:
        """Write the size of a difference as a headline does: "10 points"."""
        size = abs(value) * self.scale
        return f"{number(size, 0 if size >= 2 else self.digits)} {'points' if self.is_share else self.step}".rstrip()

    def ends(self, ends: Ends) -> str:
        """Write an interval as running text does: "95% CI −4.3 to +3.2"; "" where there is none."""
        if ends is None or None in ends:
            return ""
        return f"{self.level} CI {interval_words(*ends, self.scale, self.digits, sign=True)}"

    def estimate(self, estimate: Estimate) -> str:
        """Write a difference with its interval: "−0.5 pp, 95% CI −4.3 to +3.2"."""
        return ", ".join(filter(None, (self.difference(estimate.estimate), self.ends(estimate.ends))))

    def spread(self, value: float) -> str:
        """Write a standard deviation of gaps, which has the scale of the line."""
        return self.size(value) if self.side.link == "identity" else f"{number(value, 2)} logits"


def of_parts(found: LabLiveGap) -> ShownSide:
    """Return the side in whose numbers parts and drops are told: where scales differ they are those of the lab."""
    return ShownSide(found, found.live if found.same_scale else found.lab)


def printed(value: float, found: LabLiveGap) -> float:
    """Return a gap or level as printed scores differ, whichever direction is better: above 0 of it is always better."""
    return value if found.live.about.higher_is_better else -value


def printed_ends(ends: Ends, found: LabLiveGap) -> Ends:
    """Return an interval of a gap or level as printed scores differ."""
    if ends is None or found.live.about.higher_is_better:
        return ends
    low, high = ends
    return None if high is None else -high, None if low is None else -low


def share(value: float | None, digits: int = 0) -> str:
    """Write a share in percent that is neither 0 nor 100 by rounding.

    >>> share(0.0004), share(0.31), share(0.9999), share(0.0), share(None)
    ('<1%', '31%', '>99%', '0%', '–')
    """
    if value is None:
        return "–"
    shown = f"{number(100 * value, digits)}%"
    if 0 < value < 1 and round(100 * value, digits) == 0:
        return "<1%"
    return ">99%" if 0 < value < 1 and round(100 * value, digits) == 100 else shown


def verdict_words(verdict: str) -> str:
    """Return a verdict as a table writes it."""
    return {"inconclusive": "open", "invalid": "–"}.get(verdict, verdict)


def flagged(found: LabLiveGap) -> list[GapRow]:
    """Return the rows with a gap, the largest first."""
    rows = [row for row in found.rows if row.verdict == "gap"]
    return sorted(rows, key=lambda row: -abs(row.estimate or 0.0))


def standing_out(found: LabLiveGap) -> list[GapRow]:
    """Return the rows that stand out among all models and are called no gap all the same; each has its reason."""
    rows = [row for row in found.rows if row.verdict == "inconclusive" and row.excludes_zero]
    return [row for row in rows if row.p_adjusted is not None and row.p_adjusted <= 1 - found.conf_level]


def apart(found: LabLiveGap) -> list[GapRow]:
    """Return the rows whose live score differs from the lab's on one scale, the largest difference first."""
    rows = [row for row in found.rows if row.difference_verdict == "gap"]
    return sorted(rows, key=lambda row: -abs(row.difference or 0.0))


def uncovered(found: LabLiveGap) -> tuple[list[CellPart], list[CellPart]]:
    """Return the cells of live use that the lab has no item of, and those it has few of, the most frequent first."""
    cells = [] if found.decomposition is None else sorted(found.decomposition.cells, key=lambda cell: -cell.live_share)
    none, thin = (
        [cell for cell in cells if cell.status == status and cell.live_share > 0]
        for status in ("lab never covers", "thin")
    )
    return none, thin


def cell_names(cells: Sequence[CellPart]) -> str:
    """Write some names of cells."""
    return and_list([named(cell.cell) for cell in cells], 3)


def part_label(row: PartRow) -> str:
    """Return what a part of the order is called in a sentence."""
    if row.kind == "top":
        return f"best {row.n_models} live"
    return f"best {row.n_models} in the lab" if row.kind == "lab top" else row.label


def spearman_words(found: LabLiveGap) -> str:
    """Write the interval of Spearman's coefficient, and what it is of: true scores, or scores as measured."""
    row = found.agreement.of("spearman")
    each = row.like_these or row.of_these
    if each is None:
        return p_words(row.p_value)
    return f"{level(found)} CI {interval_words(each.conf_low, each.conf_high, digits=2)} for {_WHOM[each.source]}"
