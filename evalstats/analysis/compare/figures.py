"""Figures of a comparison: the difference by group, by method, what the two cost, and which items flipped."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from evalstats.analysis.compare.flips import ItemSpread
from evalstats.analysis.compare.result import (
    DECIDED,
    Comparison,
    Comparisons,
    GroupRow,
    UnevenOrder,
    Verdict,
)
from evalstats.analysis.costs import WORDS
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import Estimate, as_columns
from evalstats.document.model import Figure, Interval, Table, Tone, drawn_interval
from evalstats.document.numbers import declared, digits_of_interval, interval, number, p_value, scaled, titled
from evalstats.grammar import plural, plural_of
from evalstats.stats.checks import FEW_CLUSTERS

MOST_GROUPS = 40
_LONG_NAME = 18  # letters; beside an axis the title above has to name the sides then
_FEWEST_RATIOS = 2  # a figure of one ratio says no more than its numbers

_SAME = "The same question by other methods"
_ONCE = "For a single look, chosen beforehand"
_OTHER = "Other questions, each with an answer of its own"

_TONES: dict[Verdict, Tone] = {
    "better": "good",
    "worse": "bad",
    "equivalent": "neutral",
    "inconclusive": "neutral",
    "powerless": "neutral",
    "invalid": "caution",
}


def difference(result: Comparison, *, table: Table | None = None) -> Figure:
    """Return the figure of the difference with its interval, and below it the difference within every group.

    At most 40 groups are drawn, those with the most items: the largest difference first, those without an interval last.
    """
    groups = sorted(
        sorted(result.groups, key=lambda group: (-group.n_items, group.level))[:MOST_GROUPS],
        key=lambda group: (
            group.conf_low is None,
            -math.inf if group.estimate is None else -group.estimate,
            group.level,
        ),
    )
    every = f"All {result.different or 'items'}"
    if result.average.startswith("macro") and result.by is not None:
        every = f"All {plural_of(result.by)} alike"
    rows = [
        {**_decided(result, result, every if result.labels is None else "Corrected"), "strong": True},
        *_by_labels(result),
        *(_decided(result, group, group.level) for group in groups),
    ]
    by = f", overall and by {result.by}" if groups else ""
    more = f" Drawn are the {MOST_GROUPS} groups with the most items." if len(result.groups) > MOST_GROUPS else ""
    first, *higher = dict.fromkeys(
        # Two digits of what an interval may miss: 98.3%.
        f"{100 - float(f'{100 * (1 - level):.2g}'):.6g}%"
        for level in (result.conf_level, *{group.conf_level for group in groups})
    )
    together = f" (each {result.by}'s at {higher[0]}, so that all hold together)" if higher else ""
    return Figure(
        id="difference",
        plot="forest",
        rows=as_columns(rows),
        options=_axis(result),
        alt=f"Difference in {result.metric}{by}, {result.candidate.name} minus {result.baseline.name}: {rows[0]['words']}.",
        caption=f"The difference in {result.metric}{by}, with {first} intervals{together}; filled points are "
        f"settled.{more}",
        table=table,
    )


def by_metric(result: Comparisons, table: Table) -> Figure | Table:
    """Return the differences in several metrics as one figure; the table where no metric has an interval.

    Metrics of unlike units share an axis of half-widths of their intervals: beyond 1 an interval excludes 0.
    """
    if not any(row.conf_low is not None for row in result.rows):
        return table
    first, several = result.rows[0], len({row.benchmark for row in result.rows}) > 1
    alike = len({(row.unit, row.scale) for row in result.rows}) == 1
    rows: list[dict[str, Any]] = []
    for row in result.rows:
        low = "" if row.higher_is_better or row.direction == "asked" else "lower is better"
        name = f"{row.metric}{placed(row.benchmark) if several else ''}"
        drawn = _drawn(row, row, name, detail=low, words=row.verdict_word)
        if row.conf_low is not None and row.conf_high is not None:
            drawn["words"] = f"{drawn['words']}{f' {row.unit}' if row.unit and not alike else ''}, {row.verdict_word}"
            half = (row.conf_high - row.conf_low) / 2 * row.scale
            if not alike and half > 0:
                drawn |= {key: drawn[key] / half for key in ("estimate", "conf_low", "conf_high")}
        elif not alike:
            drawn["estimate"] = None
        is_settled = row.verdict in DECIDED or row.higher_known is not None
        rows.append({**drawn, "tone": _TONES[row.verdict], "settled": is_settled})
    unit = titled("", first.unit) if alike else " (half-widths of the interval)"
    who, whose = first.candidate.name, first.baseline.name
    return Figure(
        id="metrics",
        plot="forest",
        rows=as_columns(rows),
        options={"title": f"{who} minus {whose}{unit}"},
        alt=f"{who} minus {whose}: {'; '.join(' '.join((row['label'], row['words'])) for row in rows)}.",
        caption="The difference in each metric, with intervals adjusted for all metrics; filled points are settled.",
        table=table,
    )


def methods(result: Comparison, *, table: Table | None = None) -> Figure:
    """Return the figure of the same difference by every method, in groups by what each answers.

    Where the run is watched while it goes on, the rows from the fixed-n headline on are for a single look.
    """
    found = [row for row in result.rows if row.term == "difference"]
    beside = [row for row in found if row.role not in ("headline", "other estimand")]
    once = len(beside)
    if result.sequential is not None:
        once = next((place for place, row in enumerate(beside) if row.role == "sensitivity"), once)
    parts = (
        ("", [row for row in found if row.role == "headline"]),
        (_SAME, beside[:once]),
        (_ONCE, beside[once:]),
        (_OTHER, [row for row in found if row.role == "other estimand"]),
    )
    rows: list[dict[str, Any]] = []
    for title, own in parts:
        for row in own:
            headline, better = row.role == "headline", (row.estimate or 0.0) > 0
            tone = "neutral" if not row.excludes_zero else "good" if better == result.higher_is_better else "bad"
            words = "no interval" if row.p_value is None else f"test only, p {p_value(row.p_value)}"
            drawn = _drawn(result, row, row.method, words=words)
            tone = _TONES[result.verdict] if headline else tone
            rows.append({**drawn, "tone": tone, "settled": row.excludes_zero, "strong": headline, "group": title})
    agree = sum(bool(row["settled"]) for row in rows)
    return Figure(
        id="methods",
        plot="forest",
        rows=as_columns(rows),
        options=_axis(result),
        alt=f"The same difference by {plural(len(rows), 'method')}; {agree} of the intervals exclude 0.",
        caption="The same difference by every method; the first row decides, and filled points exclude 0.",
        table=table,
    )


def costs(result: Comparison, *, table: Table) -> Figure | Table:
    """Return the figure of what the candidate takes as a multiple of the baseline; the table where too few can be drawn."""
    who, whose = result.candidate.name, result.baseline.name
    rows: list[dict[str, Any]] = []
    for row in result.costs:
        low, high = row.conf_low, row.conf_high
        if not (row.ratio and low and high and low > 0):
            continue
        outside = not low <= 1 <= high
        rows.append(
            {
                # A ratio has no unit.
                "label": WORDS[row.quantity].partition(" (")[0],
                "words": f"× {number(row.ratio)} {interval(low, high)}",
                "estimate": row.ratio,
                "conf_low": low,
                "conf_high": high,
                "tone": "neutral" if not outside else "good" if high < 1 else "bad",
                "settled": outside,
            }
        )
    if len(rows) < _FEWEST_RATIOS:
        return table
    said = "; ".join(f"{row['label']} {row['words']}" for row in rows)
    return Figure(
        id="costs",
        plot="forest",
        rows=as_columns(rows),
        options={
            "title": f"{who} as a multiple of {whose} (log scale)",
            "reference": 1.0,
            "log": True,
            "sides": ("← takes less", "takes more →"),
            "side_tones": ("good", "bad"),
        },
        alt=f"{who} as a multiple of {whose}: {said}.",
        caption=f"{who} as a multiple of {whose}; filled points are settled.",
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
    return Figure(
        id="narrowing",
        plot="sequence",
        rows=_along(account.path, account.scale),
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


def spread(result: Comparison, found: ItemSpread) -> Figure:
    """Return how the differences of items lie."""
    axis = _axis(result)
    return Figure(
        id="spread",
        plot="raincloud",
        rows={"estimate": [value * result.scale for value in found.values], "n": list(found.counts)},
        options={"title": f"{axis['title']}, item by item", "sides": axis["sides"]},
        alt=f"{result.candidate.name} scores higher on {found.n_higher:,} and lower on {found.n_lower:,} of "
        f"{plural(result.n_items, 'item')}.",
        caption="The difference on every item: density, quartiles with the middle 90%, mean (diamond) and the items.",
    )


def uneven(result: Comparison, found: UnevenOrder) -> Figure:
    """Return how the difference adds up over the units in their order, with the band of random orders."""
    unit = {"pp": "percentage points"}.get(result.unit, result.unit)
    order = "of finishing" if found.order == "timestamp" else "of the files"
    stretch = f"{found.unit}s {found.first:,} to {found.last:,}"
    return Figure(
        id="order",
        plot="cumulative",
        rows=_along(found.path, result.scale),
        options={
            "title": f"{result.candidate.name} minus {result.baseline.name} in {result.metric}, added up"
            + (f" ({unit})" if unit else ""),
            "x_title": f"{found.unit.capitalize()}s, in the order {order}",
            "stretch": (found.first, found.last),
        },
        alt=f"The difference as it adds up over {plural(found.n_units, found.unit)}; {stretch} stand out.",
        caption=f"The difference as it adds up over the {found.unit}s in the order {order}; 99% of random orders stay within the "
        f"band. Shaded: {stretch}.",
    )


def _along(path: Sequence[tuple[int, float, float, float]], scale: float) -> dict[str, list[Any]]:
    """Return a path of n, a number and two ends as columns, in the unit that is shown."""
    columns = zip(*path, strict=True)
    return {
        name: [value * (1 if name == "n" else scale) for value in column]
        for name, column in zip(("n", "estimate", "conf_low", "conf_high"), columns, strict=True)
    }


def drawn(result: Comparison, p_value: float | None) -> Interval | None:
    """Return the difference as the card draws it, with the p beside it and the counts from which a page moves its ends.

    A page claims by the interval alone. It gets no counts where more decides: missing scores, a direction that is asked for, or
    whether two sides that agree on every item are one.
    """
    counts: tuple[int, ...] = ()
    alone = result.direction != "asked" and (result.missing.ignorable or not result.missing.rows)
    if alone and result.method == "Tango score" and result.table is not None and result.table.discordant:
        counts = (result.table.n, result.table.only_candidate, result.table.only_baseline)
    elif alone and result.method == "Miettinen-Nurminen score":
        sides = (result.candidate, result.baseline)
        counts = tuple(n for side in sides for n in (round((side.estimate or 0.0) * side.n_items), side.n_items))
    span, axis = result.about.span, _axis(result)
    return drawn_interval(
        result.estimate,
        result.ends,
        scale=result.scale,
        digits=digits_of(result),
        unit=result.unit,
        origin=0.0,
        margin=result.margin or 0.0,
        sides=axis["sides"],
        falling=not result.higher_is_better,
        bounds=None if span is None else (-span, span),
        conf_level=result.conf_level,
        method=result.method,
        counts=counts,
        p_value=p_value,
    )


def digits_of(comparison: Comparison) -> int:
    """Return how many decimals its differences are shown with."""
    return digits_of_interval(comparison.conf_low, comparison.conf_high, comparison.scale)


def _axis(result: Comparison) -> dict[str, Any]:
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


def _drawn(result: Comparison, found: Estimate, label: str, *, detail: str = "", words: str) -> dict[str, Any]:
    """Return a difference as a row of a forest; `words` stand in the place of its interval where there is none."""
    digits, values = digits_of(result), (found.estimate, found.conf_low, found.conf_high)
    if found.conf_low is not None and found.conf_high is not None:
        ends = interval(found.conf_low, found.conf_high, result.scale, digits, sign=True)
        words = f"{scaled(found.estimate, result.scale, digits, sign=True)} {ends}"
    shown = (None if value is None else value * result.scale for value in values)
    row = dict(zip(("estimate", "conf_low", "conf_high"), shown, strict=True))
    return {"label": label, **({"detail": detail} if detail else {}), "words": words, **row}


def _decided(result: Comparison, found: Comparison | GroupRow, label: str) -> dict[str, Any]:
    """Return the difference over all items, or within one group, with its verdict."""
    n = f"{found.n_items:,} {result.counted_as}" if result.different else plural(found.n_items, "item")
    why = n
    if found.n_clusters is not None and found.n_clusters < FEW_CLUSTERS:
        why = plural(found.n_clusters, "cluster")
    elif found.verdict_reason and found.n_items > 1:
        why = found.verdict_reason
    words = f"no {'estimate' if found.estimate is None else 'interval'}: {why}"
    row = _drawn(result, found, label, detail=n, words=words)
    return {**row, "tone": _TONES[found.verdict], "settled": found.verdict in DECIDED}


def _by_labels(result: Comparison) -> Iterator[dict[str, Any]]:
    """Yield what the judge and people's labels say by themselves, where labels correct a judge."""
    account = result.labels
    if account is not None:
        judged, labels = (account.judged, account.n_judged), (account.labels_only, account.n_labels)
        for label, (found, n) in (("Judge alone", judged), ("Labels alone", labels)):
            drawn = _drawn(result, found, label, detail=plural(n, "item"), words="no interval: ")
            yield {**drawn, "tone": "neutral", "settled": False}
