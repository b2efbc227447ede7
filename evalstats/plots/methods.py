"""The same difference by every method that was run: how far the answer hangs on the choice."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.figure import Figure

from evalstats.analysis.results import Comparison, MethodRow
from evalstats.display.blocks import Tone
from evalstats.display.numbers import p_value
from evalstats.plots.forest import difference_scale, overall_row, verdict_tone, words_of
from evalstats.plots.intervals import Row, intervals
from evalstats.plots.style import Medium


def methods(
    comparison: Comparison, *, others: Sequence[tuple[str, Comparison]] = (), medium: Medium = "screen"
) -> Figure:
    """Draw the headline's interval first and every other method's below it.

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
    first, *rest = [_method_row(comparison, row) for row in shown_methods(comparison)]
    rows = [first, *(_other_row(name, other) for name, other in others), *rest]
    return intervals(rows, difference_scale(comparison), medium=medium)


def _other_row(name: str, other: Comparison) -> Row:
    return replace(overall_row(other), label=f"{name} as clusters", detail="", strong=False)


def shown_methods(comparison: Comparison) -> list[MethodRow]:
    """Return the rows that `methods` draws: those that say something about the difference itself."""
    return [row for row in comparison.rows if row.term == "difference"]


def _method_row(comparison: Comparison, row: MethodRow) -> Row:
    headline = row.role == "headline"
    has_interval = row.conf_low is not None and row.conf_high is not None
    outside = has_interval and not (row.conf_low or 0.0) <= 0 <= (row.conf_high or 0.0)
    if has_interval:
        words = words_of(comparison, row.estimate, row.conf_low, row.conf_high, "")
    else:
        words = "no interval" if row.p_value is None else f"test only, p {p_value(row.p_value)}"
    return Row(
        label=row.method,
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
