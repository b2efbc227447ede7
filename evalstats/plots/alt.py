"""Text for those who do not see the figure: what it shows, then the numbers that matter, in the order of the figure."""

from collections.abc import Sequence

from evalstats.analysis.results import Comparison, MethodRow
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.forest import overall_row, shown_groups, words_of
from evalstats.plots.methods import HINTED, ONCE, OTHER, SAME, grouped_methods

_ROWS_READ = 20


def forest_alt(comparison: Comparison) -> str:
    """Describe `evalstats.plots.forest.forest` in words."""
    unit = {"pp": "percentage points"}.get(comparison.unit, comparison.unit)
    level = f"{100 * comparison.conf_level:g}%"
    names = f"{comparison.candidate.name} minus {comparison.baseline.name}{f', in {unit}' if unit else ''}"
    parts = [
        f"Interval plot of the difference in {comparison.metric}, {names}, with {level} intervals.",
        f"All {plural(comparison.n_items, 'item')}: {overall_row(comparison).words}.",
    ]
    groups = shown_groups(comparison)
    if groups:
        lines = [
            f"{group.level} ({plural(group.n_items, 'item')}) "
            f"{words_of(comparison, group.estimate, group.conf_low, group.conf_high, group.verdict_reason)}"
            for group in groups[:_ROWS_READ]
        ]
        parts.append(f"By {comparison.by}: {'; '.join(lines)}.")
    if len(groups) > _ROWS_READ:
        parts.append(f"{len(groups) - _ROWS_READ} more groups stand in the table.")
    return one_line(" ".join(parts))


def methods_alt(comparison: Comparison, *, others: Sequence[tuple[str, Comparison]] = ()) -> str:
    """Describe `evalstats.plots.methods.methods` in words."""
    found = grouped_methods(comparison)
    hinted = [f"{name} as clusters {overall_row(other).words}" for name, other in others]
    parts = [
        ("", _lines(comparison, found.headline)),
        (HINTED, hinted),
        (SAME, _lines(comparison, found.same)),
        (ONCE, _lines(comparison, found.once)),
        (OTHER, _lines(comparison, found.other)),
    ]
    count = sum(len(lines) for _, lines in parts)
    told = " ".join(f"{title}{': ' if title else ''}{'; '.join(lines)}." for title, lines in parts if lines)
    return one_line(f"Interval plot of the same difference by {plural(count, 'method')}. {told}")


def _lines(comparison: Comparison, rows: Sequence[MethodRow]) -> list[str]:
    return [
        f"{row.method} {words_of(comparison, row.estimate, row.conf_low, row.conf_high, '')}"
        for row in rows
        if row.conf_low is not None
    ]
