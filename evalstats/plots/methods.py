"""The same difference by every method that was run: how far the answer hangs on the choice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from evalstats.analysis.results import Comparison, MethodRow
from evalstats.document.blocks import Tone
from evalstats.document.numbers import p_value
from evalstats.plots.forest import difference_scale, overall_row, verdict_tone, words_of
from evalstats.plots.intervals import Row, intervals
from evalstats.plots.style import Medium

HINTED = "If the groups hinted at are a sample of more"
SAME = "The same question by other methods"
ONCE = "For a single look, chosen beforehand"
OTHER = "Other questions, each with an answer of its own"
# A longer name and its variety would not both find room on a screen; the table has them.
_BOTH_FIT = 37


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodGroups:
    """A comparison's rows by what they answer: the headline, the same question, the same for one look, other questions."""

    headline: tuple[MethodRow, ...]
    same: tuple[MethodRow, ...]
    once: tuple[MethodRow, ...]
    other: tuple[MethodRow, ...]

    @property
    def all(self) -> tuple[MethodRow, ...]:
        """The rows in that order."""
        return (*self.headline, *self.same, *self.once, *self.other)


def methods(
    comparison: Comparison, *, others: Sequence[tuple[str, Comparison]] = (), medium: Medium = "screen"
) -> Figure:
    """Draw the headline's interval, then those of the same question by other methods, and apart from them other questions.

    A check that gives a p-value and no interval says its p-value. Filled points belong to intervals that exclude 0.

    Parameters
    ----------
    comparison
        What `compare` returned.
    others
        The same comparison with clusters that were not declared, by name of the factor; drawn below the headline.
    medium
        "screen", "phone" or "print": see `evalstats.plots.intervals.intervals`.
    """
    found = grouped_methods(comparison)
    rows = _method_rows(comparison, found.headline, medium)
    parts = (
        (HINTED, [_other_row(name, other) for name, other in others]),
        (SAME, _method_rows(comparison, found.same, medium)),
        (ONCE, _method_rows(comparison, found.once, medium)),
        (OTHER, _method_rows(comparison, found.other, medium)),
    )
    for title, part in parts:
        if part:
            rows += [Row(label=title, words="", heading=True), *part]
    return intervals(rows, difference_scale(comparison), medium=medium)


def grouped_methods(comparison: Comparison) -> MethodGroups:
    """Return the rows of the difference by what they answer.

    Where the run is watched while it goes on, the rows from the fixed-n headline on are for a single look.
    """
    rows = [row for row in comparison.rows if row.term == "difference"]
    kept = [row for row in rows if row.role not in ("headline", "other estimand")]
    start = len(kept)
    if comparison.sequential is not None:
        start = next((place for place, row in enumerate(kept) if row.role == "sensitivity"), len(kept))
    return MethodGroups(
        headline=tuple(row for row in rows if row.role == "headline"),
        same=tuple(kept[:start]),
        once=tuple(kept[start:]),
        other=tuple(row for row in rows if row.role == "other estimand"),
    )


def shown_methods(comparison: Comparison) -> tuple[MethodRow, ...]:
    """Return the rows that `methods` draws, in its order."""
    return grouped_methods(comparison).all


def _other_row(name: str, other: Comparison) -> Row:
    return replace(overall_row(other), label=f"{name} as clusters", detail="", strong=False)


def _method_rows(comparison: Comparison, rows: Sequence[MethodRow], medium: Medium) -> list[Row]:
    return [_method_row(comparison, row, wide=medium == "screen") for row in rows]


def _method_row(comparison: Comparison, row: MethodRow, *, wide: bool) -> Row:
    headline = row.role == "headline"
    has_interval = row.conf_low is not None and row.conf_high is not None
    outside = has_interval and not (row.conf_low or 0.0) <= 0 <= (row.conf_high or 0.0)
    if has_interval:
        words = words_of(comparison, row.estimate, row.conf_low, row.conf_high, "")
    else:
        words = "no interval" if row.p_value is None else f"test only, p {p_value(row.p_value)}"
    name, _, variety = row.method.partition(", ")
    return Row(
        label=name,
        detail=variety if wide and len(row.method) <= _BOTH_FIT else "",
        words=words,
        estimate=_scaled(comparison, row.estimate),
        low=_scaled(comparison, row.conf_low),
        high=_scaled(comparison, row.conf_high),
        tone=verdict_tone(comparison.verdict) if headline else _tone(comparison, row, outside=outside),
        decided=outside,
        strong=headline,
    )


def _tone(comparison: Comparison, row: MethodRow, *, outside: bool) -> Tone:
    if not outside or row.estimate is None:
        return "neutral"
    return "good" if (row.estimate > 0) == comparison.higher_is_better else "bad"


def _scaled(comparison: Comparison, value: float | None) -> float | None:
    return None if value is None else value * comparison.scale
