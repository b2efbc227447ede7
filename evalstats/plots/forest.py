"""The difference and its interval: overall first, then for every group."""

import math

from matplotlib.figure import Figure

from evalstats.analysis.results import Comparison, GroupRow, Verdict
from evalstats.document.blocks import Tone
from evalstats.document.numbers import interval, number, plural, scaled
from evalstats.plots.intervals import Row, Scale, intervals
from evalstats.plots.style import Medium

MOST_GROUPS = 40

_TONES: dict[Verdict, Tone] = {
    "better": "good",
    "worse": "bad",
    "equivalent": "neutral",
    "inconclusive": "neutral",
    "powerless": "neutral",
    "invalid": "caution",
}


def forest(comparison: Comparison, *, medium: Medium = "screen") -> Figure:
    """Draw the difference with its interval, and below it the difference within every group.

    Filled points are settled by their interval, hollow ones are not. A group without an interval says why. At most 40
    groups are drawn, those with the most items.

    Parameters
    ----------
    comparison
        What `compare` returned; groups are there when it was called with `by`.
    medium
        "screen", "phone" or "print": see `evalstats.plots.intervals.intervals`.
    """
    rows = [overall_row(comparison), *(_group_row(comparison, group) for group in shown_groups(comparison))]
    return intervals(rows, difference_scale(comparison), medium=medium)


def shown_groups(comparison: Comparison) -> list[GroupRow]:
    """Return the groups that `forest` draws: largest difference first, those without an interval last."""
    largest = sorted(comparison.groups, key=lambda group: (-group.n_items, group.level))[:MOST_GROUPS]

    def order(group: GroupRow) -> tuple[bool, float, str]:
        return (group.conf_low is None, math.inf if group.estimate is None else -group.estimate, group.level)

    return sorted(largest, key=order)


def verdict_tone(verdict: Verdict) -> Tone:
    """Return the tone in which a verdict is shown.

    Examples
    --------
    >>> verdict_tone("better"), verdict_tone("inconclusive")
    ('good', 'neutral')
    """
    return _TONES[verdict]


def difference_scale(comparison: Comparison) -> Scale:
    """Return the axis of a difference: candidate minus baseline, in the unit it is shown in."""
    better, worse = ("candidate better →", "← baseline better")
    if not comparison.higher_is_better:
        better, worse = ("baseline better →", "← candidate better")
    reach = comparison.scale if comparison.metric_kind in ("binary", "proportion") else math.inf
    margin = None if comparison.margin is None else comparison.margin * comparison.scale
    unit = {"pp": "percentage points"}.get(comparison.unit, comparison.unit)
    return Scale(
        title=f"Difference in {comparison.metric}, candidate minus baseline" + (f" ({unit})" if unit else ""),
        left=worse,
        right=better,
        margin=margin,
        margin_label="" if margin is None else f"margin ±{number(margin)}",
        bounds=(-reach, reach),
        left_tone="bad" if comparison.higher_is_better else "good",
        right_tone="good" if comparison.higher_is_better else "bad",
    )


def overall_row(comparison: Comparison) -> Row:
    """Return the row of the headline."""
    return Row(
        label="All items",
        detail=plural(comparison.n_items, "item"),
        words=words_of(
            comparison,
            comparison.estimate,
            comparison.conf_low,
            comparison.conf_high,
            why_none(comparison.n_items, comparison.n_clusters, comparison.verdict_reason),
        ),
        estimate=_shown(comparison, comparison.estimate),
        low=_shown(comparison, comparison.conf_low),
        high=_shown(comparison, comparison.conf_high),
        tone=verdict_tone(comparison.verdict),
        decided=comparison.verdict in ("better", "worse", "equivalent"),
        strong=True,
    )


def _group_row(comparison: Comparison, group: GroupRow) -> Row:
    reason = why_none(group.n_items, group.n_clusters, group.verdict_reason)
    return Row(
        label=group.level,
        detail=plural(group.n_items, "item"),
        words=words_of(comparison, group.estimate, group.conf_low, group.conf_high, reason),
        estimate=_shown(comparison, group.estimate),
        low=_shown(comparison, group.conf_low),
        high=_shown(comparison, group.conf_high),
        tone=verdict_tone(group.verdict),
        decided=group.verdict in ("better", "worse", "equivalent"),
    )


def words_of(comparison: Comparison, estimate: float | None, low: float | None, high: float | None, reason: str) -> str:
    """Write an estimate and its interval, or why one of them is missing."""
    digits = digits_of(comparison)
    if low is not None and high is not None:
        shown = scaled(estimate, comparison.scale, digits, sign=True)
        return f"{shown} {interval(low, high, comparison.scale, digits, sign=True)}"
    return f"no interval: {reason}" if estimate is not None else f"no estimate: {reason}"


def digits_of(comparison: Comparison) -> int:
    """Return how many decimals the page shows: two, so that every place says the same, and more where two say nothing.

    The interval's half width has two figures then, with at most 4 decimals.
    """
    if comparison.conf_low is None or comparison.conf_high is None:
        return 2
    half = (comparison.conf_high - comparison.conf_low) * comparison.scale / 2
    return min(max(1 - math.floor(math.log10(half)), 2), 4) if half > 0 else 2


def why_none(n_items: int, n_clusters: int | None, reason: str) -> str:
    """Say in a few words why there is no interval.

    Examples
    --------
    >>> why_none(12, 3, "too few clusters"), why_none(1, None, "")
    ('3 clusters', '1 item')
    """
    if n_clusters is not None and n_clusters < 5:
        return plural(n_clusters, "cluster")
    return reason if reason and n_items > 1 else plural(n_items, "item")


def _shown(comparison: Comparison, value: float | None) -> float | None:
    return None if value is None else value * comparison.scale
