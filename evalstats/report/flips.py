"""Items on which the two sides disagree: how many by scenario, some of every scenario, and all of them as data."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import zip_longest

import polars as pl

from evalstats.analysis.results import Comparison, FlippedItem
from evalstats.display.blocks import Table
from evalstats.display.numbers import plural, scaled
from evalstats.report.comparison import ComparisonPage
from evalstats.report.markup import csv_link, prose, raw
from evalstats.report.tables import table_float, typst_table, without_empty_columns

_SHOWN = 20
_SPARED = 5  # not worth an appendix
_PRINTED = 200
_MOST_COUNTED = 40


def flipped(page: ComparisonPage) -> str:
    """Return the items on which the two disagree: counts, up to 25 of them, how many more, and all of them as data."""
    result = page.comparison
    if not result.flipped:
        return prose("No item flipped: wherever one side mostly succeeds, the other does too.")
    found = _in_order(result.flipped)
    shown = _some_of_each(found)
    more = len(found) - len(shown)
    which = f"some of every {page.scenario}" if _levels(found) > 1 else "the first"
    rest = f" {len(shown)} are shown, {which}; the other {more:,} are in the data." if more else ""
    caption = "Items on which the two disagree" + (f", by {page.scenario}" if _levels(found) > 1 else "")
    link = csv_link(flips_frame(found), "flipped-items.csv", f"All {len(found):,} flipped items (CSV)")
    table = table_float(_items_table(page, shown, caption), "tbl-flipped", after=link)
    return "\n\n".join(
        part for part in (prose(f"{_counted(result, found)}{rest}"), _counts(page, found), table) if part
    )


def _counted(result: Comparison, found: Sequence[FlippedItem]) -> str:
    first = f"{plural(len(found), 'item')} of {result.n_items:,}"
    if not result.higher_is_better:
        return f"{first} changed sides of the scale's middle."
    gained = sum(item.change > 0 for item in found)
    return (
        f"{first} flipped: {gained:,} that only {result.candidate.name} gets mostly right, {len(found) - gained:,} that "
        f"only {result.baseline.name} does."
    )


def _counts(page: ComparisonPage, found: Sequence[FlippedItem]) -> str:
    """Count what was gained and lost in every scenario; nothing where there is only one, or more than a page holds."""
    if not 2 <= _levels(found) <= _MOST_COUNTED:
        return ""
    up, down = ("Gained", "Lost") if page.comparison.higher_is_better else ("Up", "Down")
    ups = Counter(item.scenario or "" for item in found if item.change > 0)
    downs = Counter(item.scenario or "" for item in found if item.change <= 0)
    rows = tuple((name or "(none)", f"{ups[name]:,}", f"{downs[name]:,}") for name in sorted(ups.keys() | downs.keys()))
    table = Table(
        columns=(page.scenario, up, down), rows=rows, align="lrr", caption=f"Flipped items by {page.scenario}"
    )
    return table_float(table, "tbl-flips-counted")


def appendix(page: ComparisonPage) -> str:
    """Return, for the PDF alone, the full list of flipped items that the page carries as data."""
    found = _in_order(page.comparison.flipped)
    if len(_some_of_each(found)) == len(found):
        return ""
    printed = found[:_PRINTED]
    which = f"the first {_PRINTED} of {len(found):,}" if len(found) > len(printed) else f"all {len(found)}"
    table = _items_table(page, printed, "")
    return raw("typst", f"= Appendix: {which} flipped items\n\n{typst_table(table, tones={})}")


def flips_frame(found: Sequence[FlippedItem]) -> pl.DataFrame:
    """Return flipped items as a frame: scores in the metric's unit, candidate minus baseline."""
    names = ("task", "item", "variant", "scenario", "baseline", "candidate", "change")
    schema: dict[str, pl.DataType] = {name: pl.String() if name in names[:4] else pl.Float64() for name in names}
    return pl.DataFrame([{name: getattr(item, name) for name in names} for item in found], schema=schema)


def _in_order(items: Sequence[FlippedItem]) -> list[FlippedItem]:
    return sorted(items, key=lambda item: (item.scenario or "", item.task, item.item, item.variant))


def _levels(found: Sequence[FlippedItem]) -> int:
    return len({item.scenario or "" for item in found})


def _some_of_each(found: Sequence[FlippedItem]) -> list[FlippedItem]:
    """Return all where they are few, else 20: the first of every scenario, then the second, and so on; in their order."""
    if len(found) <= _SHOWN + _SPARED:
        return list(found)
    scenarios: defaultdict[str, list[FlippedItem]] = defaultdict(list)
    for item in found:
        scenarios[item.scenario or ""].append(item)
    most_first = sorted(scenarios.values(), key=len, reverse=True)
    in_turn = [item for rank in zip_longest(*most_first) for item in rank if item is not None]
    return _in_order(in_turn[:_SHOWN])


def _items_table(page: ComparisonPage, found: Sequence[FlippedItem], caption: str) -> Table:
    result = page.comparison
    unit = f" ({result.baseline.unit})" if result.baseline.unit else ""
    digits = 0 if result.scale >= 100 else 2
    rows = [
        (
            "/".join(part for part in (item.task, item.item, item.variant) if part),
            item.scenario or "",
            scaled(item.baseline, result.scale, digits),
            scaled(item.candidate, result.scale, digits),
        )
        for item in found
    ]
    columns = ("Item", page.scenario, f"{result.baseline.name}{unit}", f"{result.candidate.name}{unit}")
    return without_empty_columns(Table(columns=columns, rows=tuple(rows), align="llrr", caption=caption))
