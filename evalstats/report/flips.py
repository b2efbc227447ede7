"""Items on which the two sides disagree: how many by scenario, some of every scenario, and all of them as data."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

import polars as pl

from evalstats.analysis.compare.flips import Flip, flips_table
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.methods import pass_name
from evalstats.document.blocks import Table
from evalstats.document.numbers import plural, scaled
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
    return "\n\n".join(part for part in (prose(f"{_counted(result, found)}{rest}"), _counts(page), table) if part)


def _counted(result: Comparison, found: Sequence[Flip]) -> str:
    first = f"{plural(len(found), 'item')} of {result.n_items:,}"
    if not result.higher_is_better:
        return f"{first} changed sides of the scale's middle."
    gained = sum(item.change > 0 for item in found)
    if name := pass_name(result):
        return (
            f"{first} flipped: {gained:,} whose {name} is at least one half for {result.candidate.name} alone, "
            f"{len(found) - gained:,} for {result.baseline.name} alone."
        )
    return (
        f"{first} flipped: {gained:,} that only {result.candidate.name} gets mostly right, {len(found) - gained:,} that "
        f"only {result.baseline.name} does."
    )


def _counts(page: ComparisonPage) -> str:
    """Count what was gained and lost in every scenario; nothing where there is only one, or more than a page holds."""
    counted = page.comparison.flipped_by
    if not 2 <= len(counted) <= _MOST_COUNTED:
        return ""
    return table_float(flips_table(counted, page.comparison.by or page.scenario), "tbl-flips-counted")


def appendix(page: ComparisonPage) -> str:
    """Return, for the PDF alone, the full list of flipped items that the page carries as data."""
    found = _in_order(page.comparison.flipped)
    if len(_some_of_each(found)) == len(found):
        return ""
    printed = found[:_PRINTED]
    which = f"the first {_PRINTED} of {len(found):,}" if len(found) > len(printed) else f"all {len(found)}"
    table = _items_table(page, printed, "")
    return raw("typst", f"= Appendix: {which} flipped items\n\n{typst_table(table, tones={})}")


def flips_frame(found: Sequence[Flip]) -> pl.DataFrame:
    """Return flipped items as a frame: scores in the metric's unit, candidate minus baseline, and where their rows stand."""
    names = ("task", "item", "variant", "scenario", "baseline", "candidate", "change")
    schema: dict[str, pl.DataType] = {name: pl.String() if name in names[:4] else pl.Float64() for name in names}
    sources = ("baseline_source", "candidate_source")
    rows = [
        {**{name: getattr(item, name) for name in names}, **{name: str(getattr(item, name) or "") for name in sources}}
        for item in found
    ]
    return pl.DataFrame(rows, schema={**schema, **{name: pl.String() for name in sources}})


def _in_order(items: Sequence[Flip]) -> list[Flip]:
    return sorted(items, key=lambda item: (item.scenario or "", item.task, item.item, item.variant))


def _levels(found: Sequence[Flip]) -> int:
    return len({item.scenario or "" for item in found})


def _some_of_each(found: Sequence[Flip]) -> list[Flip]:
    """Return all where they are few, else 20: the first of every scenario, then the second, and so on; in their order."""
    if len(found) <= _SHOWN + _SPARED:
        return list(found)
    scenarios: defaultdict[str, list[Flip]] = defaultdict(list)
    for item in found:
        scenarios[item.scenario or ""].append(item)
    most_first = sorted(scenarios.values(), key=len, reverse=True)
    in_turn = [item for rank in zip_longest(*most_first) for item in rank if item is not None]
    return _in_order(in_turn[:_SHOWN])


def _items_table(page: ComparisonPage, found: Sequence[Flip], caption: str) -> Table:
    result = page.comparison
    unit = f" ({result.baseline.unit})" if result.baseline.unit else ""
    digits = 0 if result.scale >= 100 else 2
    rows = [
        (
            "/".join(part for part in (item.task, item.item, item.variant) if part),
            item.scenario or "",
            scaled(item.baseline, result.scale, digits),
            scaled(item.candidate, result.scale, digits),
            _place(item),
        )
        for item in found
    ]
    columns = (
        "Item",
        page.scenario,
        f"{result.baseline.name}{unit}",
        f"{result.candidate.name}{unit}",
        "Rows in the files",
    )
    return without_empty_columns(Table(columns=columns, rows=tuple(rows), align="llrrl", caption=caption))


def _place(item: Flip) -> str:
    """Return where the rows of both sides stand, in one cell."""
    places = [str(source) for source in (item.baseline_source, item.candidate_source) if source]
    return "; ".join(dict.fromkeys(places))
