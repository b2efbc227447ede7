"""The comparison level by level of a factor: as one family, as strata, and the items that stand in no level."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.compare.design import PairedDesign
from evalstats.analysis.compare.result import GroupRow, holm_of
from evalstats.analysis.compare.verdict import answered, judged, missing_account
from evalstats.analysis.design.clusters import label_of
from evalstats.analysis.result import MethodRow, estimated, method_row
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import comma_list, conjugate
from evalstats.stats.stratified import stratified_mean
from evalstats.table.items import HELPER, ITEM_KEY
from evalstats.table.score_table import ScoreTable

_LEVEL, _SHOWN = f"{HELPER}level", 3


def by_level(design: PairedDesign, column: str) -> tuple[GroupRow, ...]:
    """Repeat the comparison within each level of a factor, as one family.

    Everything is at the level of Bonferroni over the rows: intervals hold together, and the adjusted p beside them is
    the one that belongs to them. Holm's p, which is never larger, is kept as well.
    """
    if column not in design.table.items.columns:
        raise InputError(f"{column!r} does not describe items, so the comparison cannot be split by it")
    levels = [(name, table) for name, table in design.table.levels(column) if table.paired().any()]
    if not levels:
        several, text = _items_of_several_levels(design.table, column)
        raise CannotAnswerError(
            f"{text}; give each item one" if several else f"no paired item has a level of {column!r}"
        )
    conf_level = 1 - (1 - design.conf_level) / len(levels)
    rows: list[GroupRow] = []
    for name, table in levels:
        part = design.within(table, conf_level)
        scores, found, verdict, reason = answered(part)
        headline = part.shown(found).headline  # with the interval that a factor nobody declared widened
        row = GroupRow(
            **estimated(headline),
            level=name,
            n_items=headline.n,
            n_clusters=headline.n_clusters,
            baseline=scores.mean(scores.baseline),
            candidate=scores.mean(scores.candidate),
            p_adjusted=None if headline.p_value is None else min(1.0, len(levels) * headline.p_value),
            p_holm=None,
            verdict=verdict,
            verdict_reason="; ".join((reason, *(note.text for note in found.qualifiers(verdict)))),
        )
        rows.append(_if_missing(design, row, part.table))
    return tuple(replace(row, p_holm=p) for row, p in zip(rows, holm_of(rows), strict=True))


def _if_missing(design: PairedDesign, row: GroupRow, table: ScoreTable) -> GroupRow:
    """Forbid or limit a level's verdict where what is missing in it could undo it."""
    if row.verdict not in ("better", "worse") or design.ignorable or not table.incomplete:
        return row
    own = tuple(name for name in design.clusters if len(np.unique(table.codes(name))) < len(table))
    here = replace(
        design, table=table, clusters=own, conf_level=row.conf_level, margin=None, partitions=(), average=None
    )
    ruled = judged(missing_account(here), row.verdict, row.verdict_reason, estimate=row.estimate, names=design.names)
    return replace(
        row,
        verdict=ruled.verdict,
        verdict_reason=ruled.reason,
        qualifiers=(*row.qualifiers, *ruled.qualifiers),
        withheld=ruled.withheld,
    )


def stratified_row(design: PairedDesign, column: str) -> MethodRow | None:
    """Return the difference with the levels of a factor taken as fixed strata; None where items are clustered."""
    items = design.paired.items
    if design.clusters or design.average or column not in items.columns or items[column].null_count():
        return None
    codes = design.paired.codes(column)
    found = stratified_mean(design.scores().differences, codes, conf_level=design.conf_level)
    name = label_of(column, design.data.factor_names())
    note = f"for new items of these same levels of {name}, which are then strata, and in their present shares"
    return method_row(found, "other estimand", note)


def items_in_no_row(design: PairedDesign, column: str, by: str | None) -> Iterator[str]:
    """Say which items stand in none of the rows of a factor: those whose levels differ, and those without one."""
    several, text = _items_of_several_levels(design.table, column)
    if several:
        yield f"{text} and {conjugate(several, 'stand')} in none of its rows"
    without = design.paired.items[column].null_count() - several
    if without:
        have, stand = ("has", "stands") if without == 1 else ("have", "stand")
        yield f"{without:,} of {len(design.paired):,} items {have} no level of {by} and {stand} in none of its rows"


def _items_of_several_levels(table: ScoreTable, column: str) -> tuple[int, str]:
    """Return how many paired items have levels of a factor that differ, between the sides or within one, and an example."""
    key, paired = [name for name in ITEM_KEY if name in table.items.columns], table.paired()
    lacking = table.items.filter(pl.Series(paired) & table.items[column].is_null())
    sides = [f"{HELPER}{name} side" for name in ("first", "second")]
    levels = [
        system.rows.select(*key, system.rows[column].cast(pl.String).alias(_LEVEL))
        .join(lacking.select(key), on=key, how="semi", nulls_equal=True)
        .group_by(key)
        .agg(pl.col(_LEVEL).drop_nulls().unique().sort().alias(side))
        for side, system in zip(sides, table.systems, strict=True)
    ]
    both = levels[0].join(levels[1], on=key, nulls_equal=True)
    unlike = both.filter(pl.concat_list(sides).list.n_unique() > 1).sort(key)
    if not unlike.height:
        return 0, ""
    first = unlike.row(0, named=True)
    name = "/".join(str(first[part]) for part in key if first[part])
    told = " and ".join(
        f"{comma_list(map(repr, first[side]), _SHOWN)} for {system}"
        for side, system in zip(sides, table.names, strict=True)
    )
    n, have = unlike.height, "has" if unlike.height == 1 else "have"
    return n, f"{n:,} of {int(paired.sum()):,} items {have} more than one level of {column} (item {name} has {told})"
