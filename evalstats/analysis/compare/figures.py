"""Figures of a comparison: the difference by group, by method, what the two cost, and which items flipped."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalstats.analysis.compare.result import Comparison, GroupRow, Verdict
from evalstats.analysis.costs import WORDS, CostRow
from evalstats.analysis.result import MethodRow, as_columns
from evalstats.document.model import Figure, Table, Tone
from evalstats.document.numbers import declared, digits_of_interval, interval, number, p_value, scaled
from evalstats.grammar import plural

MOST_GROUPS = 40
_LONG_NAME = 18  # letters; beside an axis the title above has to name the sides then
FEWEST_RATIOS = 2  # a figure of one ratio says no more than its numbers

SAME = "The same question by other methods"
ONCE = "For a single look, chosen beforehand"
OTHER = "Other questions, each with an answer of its own"

TONES: dict[Verdict, Tone] = {
    "better": "good",
    "worse": "bad",
    "equivalent": "neutral",
    "inconclusive": "neutral",
    "powerless": "neutral",
    "invalid": "caution",
}
_SETTLED = ("better", "worse", "equivalent")


def difference(result: Comparison, *, table: Table | None = None) -> Figure:
    """Return the figure of the difference with its interval, and below it the difference within every group.

    At most 40 groups are drawn, those with the most items; one without an interval says why.
    """
    groups = shown_groups(result)
    rows = [_overall(result), *_by_labels(result), *(_group(result, group) for group in groups)]
    by = f", overall and by {result.by}" if groups else ""
    more = f" Drawn are the {MOST_GROUPS} groups with the most items." if len(result.groups) > MOST_GROUPS else ""
    return Figure(
        id="difference",
        plot="forest",
        rows=as_columns(rows),
        options=_options(result),
        alt=f"Difference in {result.metric}{by}, {result.candidate.name} minus {result.baseline.name}: {rows[0]['words']}.",
        caption=f"The difference in {result.metric}{by}, with {_levels(result, groups)}; filled points are "
        f"settled.{more}",
        table=table,
    )


def _levels(result: Comparison, groups: Sequence[GroupRow]) -> str:
    """Name the intervals by their level, and that of the groups', which hold together only at a higher one."""
    levels = [f"{100 * level:.5g}%" for level in (result.conf_level, *{group.conf_level for group in groups})]
    higher = f" ({levels[1]} for each {result.by}, so that all hold together)" if len(set(levels)) > 1 else ""
    return f"{levels[0]} intervals{higher}"


def methods(result: Comparison, *, table: Table | None = None) -> Figure:
    """Return the figure of the same difference by every method."""
    found = grouped_methods(result)
    parts = (
        ("", [_method(result, row) for row in found.headline]),
        (SAME, [_method(result, row) for row in found.same]),
        (ONCE, [_method(result, row) for row in found.once]),
        (OTHER, [_method(result, row) for row in found.other]),
    )
    rows = [{**row, "group": title} for title, own in parts for row in own]
    agree = sum(bool(row["settled"]) for row in rows)
    return Figure(
        id="methods",
        plot="forest",
        rows=as_columns(rows),
        options=_options(result),
        alt=f"The same difference by {plural(len(rows), 'method')}; {agree} of the intervals exclude 0.",
        caption="The same difference by every method; the first row decides, and filled points exclude 0.",
        table=table,
    )


def costs(result: Comparison, rows: Sequence[CostRow], *, table: Table | None = None) -> Figure:
    """Return the figure of what the candidate takes as a multiple of the baseline; `rows` are those of `drawn_costs`."""
    who, whose = result.candidate.name, result.baseline.name
    drawn = [_cost(row) for row in rows]
    said = [f"{row['label']} {row['words']}" for row in drawn]
    return Figure(
        id="costs",
        plot="forest",
        rows=as_columns(drawn),
        options={
            "title": f"{who} as a multiple of {whose} (log scale)",
            "reference": 1.0,
            "log": True,
            "sides": ("← takes less", "takes more →"),
            "side_tones": ("good", "bad"),
        },
        alt=f"What {who} takes as a multiple of {whose}: {'; '.join(said)}.",
        caption=f"What {who} takes as a multiple of {whose}; filled points are settled.",
        table=table,
    )


def flips(result: Comparison, *, table: Table | None = None) -> Figure:
    """Return the figure of how many items both, one or none of the two got right; of other scores, those that flipped."""
    good, bad = ("good", "bad") if result.higher_is_better else ("bad", "good")
    counted = result.table
    if counted is None:
        up = int((result.flipped.changes() > 0).sum())
        counts = [
            (f"{result.candidate.name} higher", up, good),
            (f"{result.baseline.name} higher", len(result.flipped) - up, bad),
        ]
    else:
        counts = [
            ("both", counted.both, "neutral"),
            (f"only {result.candidate.name}", counted.only_candidate, good),
            (f"only {result.baseline.name}", counted.only_baseline, bad),
            ("neither", counted.neither, "neutral"),
        ]
    title = f"Items with {result.metric} = 1" if counted is not None else "Items that flipped"
    return Figure(
        id="flips",
        plot="bars",
        rows={
            "label": [name for name, _, _ in counts],
            "estimate": [n for _, n, _ in counts],
            "words": [plural(n, "item") for _, n, _ in counts],
            "tone": [tone for _, _, tone in counts],
        },
        options={"title": title},
        alt=f"{title}: {', '.join(f'{name} {n:,}' for name, n, _ in counts)}.",
        caption=f"{title}, by which side has it.",
        table=table,
    )


def narrowing(result: Comparison) -> Figure | None:
    """Return how the interval of a watched run narrowed; None where it is not watched, or no look had an interval."""
    account = result.sequential
    if account is None or not account.path:
        return None
    unit = {"pp": "percentage points"}.get(account.unit_shown, account.unit_shown)
    better = (account.estimate > 0.0) == account.higher_is_better
    crossed = account.first_crossing
    said = "0 is not excluded so far"
    if crossed is not None:
        said = f"0 first excluded after {plural(crossed, account.unit)}"
    last = account.path[-1][0]
    notes: list[str] = []
    if account.margin is not None:
        notes.append(
            f"Band along 0: the margin, ±{declared(account.margin, account.scale)} {account.unit_shown}".rstrip()
        )
    if account.planned_n is not None and account.planned_n <= last:
        notes.append(f"dashed: {plural(account.planned_n, account.unit)} planned")
    ends = [(point[1], point[2], point[3]) for point in account.path]
    return Figure(
        id="narrowing",
        plot="sequence",
        rows={
            "n": [point[0] for point in account.path],
            "estimate": [value * account.scale for value, _, _ in ends],
            "conf_low": [value * account.scale for _, value, _ in ends],
            "conf_high": [value * account.scale for _, _, value in ends],
        },
        options={
            "title": f"{result.candidate.name} minus {result.baseline.name} in {account.metric}"
            + (f" ({unit})" if unit else ""),
            "x_title": f"{account.unit.capitalize()}s, in order of "
            + ("finishing" if account.order == "timestamp" else "the files"),
            "margin": None if account.margin is None else account.margin * account.scale,
            "crossing": crossed,
            "crossing_words": said,
            "planned": account.planned_n,
            "tone": "neutral" if not account.excludes_zero else "good" if better else "bad",
            "note": "; ".join(notes),
        },
        alt=f"The running difference in {account.metric} with its {100 * account.conf_level:.5g}% confidence sequence; {said}.",
        caption="The running difference with the interval that holds at every look.",
    )


def shown_groups(comparison: Comparison) -> list[GroupRow]:
    """Return the groups that are drawn: largest difference first, those without an interval last."""
    largest = sorted(comparison.groups, key=lambda group: (-group.n_items, group.level))[:MOST_GROUPS]

    def order(group: GroupRow) -> tuple[bool, float, str]:
        return (group.conf_low is None, math.inf if group.estimate is None else -group.estimate, group.level)

    return sorted(largest, key=order)


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


def drawn_costs(rows: Sequence[CostRow]) -> tuple[CostRow, ...]:
    """Return the rows that can be drawn: those with a ratio above 0 and its interval; nothing where there are too few."""
    found = tuple(row for row in rows if row.ratio and row.conf_low and row.conf_high and row.conf_low > 0)
    return found if len(found) >= FEWEST_RATIOS else ()


def digits_of(comparison: Comparison) -> int:
    """Return how many decimals its differences are shown with."""
    return digits_of_interval(comparison.conf_low, comparison.conf_high, comparison.scale)


def why_none(n_items: int, n_clusters: int | None, reason: str) -> str:
    """Say in a few words why there is no interval.

    >>> why_none(12, 3, "too few clusters"), why_none(1, None, "")
    ('3 clusters', '1 item')
    """
    if n_clusters is not None and n_clusters < 5:
        return plural(n_clusters, "cluster")
    return reason if reason and n_items > 1 else plural(n_items, "item")


# --- rows ---


def _options(result: Comparison) -> dict[str, Any]:
    """Return the axis of a difference: candidate minus baseline, in the unit it is shown in."""
    who, whose = result.candidate.name, result.baseline.name
    first, second = (whose, who) if result.higher_is_better else (who, whose)
    sides = (f"← {first} better", f"{second} better →")
    if max(len(who), len(whose)) > _LONG_NAME:
        sides = ("← worse", "better →") if result.higher_is_better else ("← better", "worse →")
    unit = {"pp": "percentage points"}.get(result.unit, result.unit)
    margin = None if result.margin is None else result.margin * result.scale
    options: dict[str, Any] = {
        "title": f"{who} minus {whose} in {result.metric}" + (f" ({unit})" if unit else ""),
        "sides": sides,
        "side_tones": ("bad", "good") if result.higher_is_better else ("good", "bad"),
    }
    if margin is not None:
        options |= {
            "margin": margin,
            "note": f"The band is the margin, ±{declared(margin)}{f' {unit}' if unit else ''}.",
        }
    if result.metric_kind in ("binary", "proportion"):
        options["bounds"] = (-result.scale, result.scale)
    return options


def _numbers(result: Comparison, estimate: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    values = (("estimate", estimate), ("conf_low", low), ("conf_high", high))
    return {name: None if value is None else value * result.scale for name, value in values}


def _words(result: Comparison, estimate: float | None, low: float | None, high: float | None, reason: str) -> str:
    """Write an estimate and its interval, or why one of them is missing."""
    digits = digits_of(result)
    if low is not None and high is not None:
        shown = scaled(estimate, result.scale, digits, sign=True)
        return f"{shown} {interval(low, high, result.scale, digits, sign=True)}"
    return f"no interval: {reason}" if estimate is not None else f"no estimate: {reason}"


def _overall(result: Comparison) -> dict[str, Any]:
    reason = why_none(result.n_items, result.n_clusters, result.verdict_reason)
    return {
        "label": "All items" if result.labels is None else "Corrected",
        "detail": plural(result.n_items, "item"),
        "words": _words(result, result.estimate, result.conf_low, result.conf_high, reason),
        **_numbers(result, result.estimate, result.conf_low, result.conf_high),
        "tone": TONES[result.verdict],
        "settled": result.verdict in _SETTLED,
        "strong": True,
    }


def _by_labels(result: Comparison) -> list[dict[str, Any]]:
    """Return what the judge and people's labels say by themselves, where labels correct a judge."""
    account = result.labels
    if account is None:
        return []
    parts = (
        ("Judge alone", plural(account.n_judged, "item"), account.judged, "neutral"),
        ("Labels alone", plural(account.n_labels, "item"), account.labels_only, "neutral"),
    )
    return [
        {
            "label": name,
            "detail": detail,
            "words": _words(result, each.estimate, each.conf_low, each.conf_high, ""),
            **_numbers(result, each.estimate, each.conf_low, each.conf_high),
            "tone": tone,
            "settled": False,
        }
        for name, detail, each, tone in parts
    ]


def _group(result: Comparison, group: GroupRow) -> dict[str, Any]:
    reason = why_none(group.n_items, group.n_clusters, group.verdict_reason)
    return {
        "label": group.level,
        "detail": plural(group.n_items, "item"),
        "words": _words(result, group.estimate, group.conf_low, group.conf_high, reason),
        **_numbers(result, group.estimate, group.conf_low, group.conf_high),
        "tone": TONES[group.verdict],
        "settled": group.verdict in _SETTLED,
    }


def _method(result: Comparison, row: MethodRow) -> dict[str, Any]:
    headline = row.role == "headline"
    low, high = row.conf_low, row.conf_high
    if low is not None and high is not None:
        words = _words(result, row.estimate, low, high, "")
    else:
        words = "no interval" if row.p_value is None else f"test only, p {p_value(row.p_value)}"
    better = (row.estimate or 0.0) > 0
    tone = "neutral" if not row.excludes_zero else "good" if better == result.higher_is_better else "bad"
    return {
        "label": row.method,
        "words": words,
        **_numbers(result, row.estimate, low, high),
        "tone": TONES[result.verdict] if headline else tone,
        "settled": row.excludes_zero,
        "strong": headline,
    }


def _cost(row: CostRow) -> dict[str, Any]:
    low, high = row.conf_low or math.nan, row.conf_high or math.nan
    outside = not low <= 1 <= high
    return {
        # A ratio has no unit.
        "label": WORDS[row.quantity].partition(" (")[0],
        "words": f"× {number(row.ratio)} {interval(low, high)}",
        "estimate": row.ratio,
        "conf_low": low,
        "conf_high": high,
        "tone": "neutral" if not outside else "good" if high < 1 else "bad",
        "settled": outside,
    }
