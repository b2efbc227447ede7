"""The comparison level by level of a factor, and by other averages over its levels."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.compare.design import PairedDesign
from evalstats.analysis.compare.difference import Difference
from evalstats.analysis.compare.missing import account_for_missing, judged, missing_account
from evalstats.analysis.compare.result import Comparison, GroupRow, OtherAverage
from evalstats.analysis.compare.verdict import decide, evidence_of, verdict_of
from evalstats.analysis.design.averages import Average, fixed_by, other_averages
from evalstats.analysis.design.clusters import label_of
from evalstats.analysis.design.dependence import ItemFactor
from evalstats.analysis.result import MethodRow, estimated, method_row
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import comma_list, conjugate, plural_of
from evalstats.stats.many.multiplicity import holm
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
        several, text = items_of_several_levels(design.table, column)
        raise CannotAnswerError(
            f"{text}; give each item one" if several else f"no paired item has a level of {column!r}"
        )
    conf_level = 1 - (1 - design.conf_level) / len(levels)
    parts = [design.within(table, conf_level) for _, table in levels]
    scores = [part.scores() for part in parts]
    found = [part.difference(own) for part, own in zip(parts, scores, strict=True)]
    tested = [place for place, each in enumerate(found) if each.headline.p_value is not None]
    stepped = holm(np.array([found[place].headline.p_value for place in tested], dtype=np.float64)) if tested else ()
    p_holm = dict(zip(tested, stepped, strict=True))
    rows: list[GroupRow] = []
    for place, ((name, table), part, own, each) in enumerate(zip(levels, parts, scores, found, strict=True)):
        verdict, reason = verdict_of(part, evidence_of(part, each, *part.equivalence(own)))
        headline = shown(each, part.too_few).headline
        p, holms = headline.p_value, p_holm.get(place)
        row = GroupRow(
            **estimated(headline),
            level=name,
            n_items=headline.n,
            n_clusters=headline.n_clusters,
            baseline=own.mean(own.baseline),
            candidate=own.mean(own.candidate),
            p_adjusted=None if p is None else min(1.0, len(levels) * p),
            p_holm=None if holms is None else float(holms),
            verdict=verdict,
            verdict_reason="; ".join((reason, *(note.text for note in each.qualifiers(verdict)))),
        )
        rows.append(_if_missing(design, row, table))
    return tuple(rows)


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
    several, text = items_of_several_levels(design.table, column)
    if several:
        yield f"{text} and {conjugate(several, 'stand')} in none of its rows"
    without = design.paired.items[column].null_count() - several
    if without:
        have, stand = ("has", "stands") if without == 1 else ("have", "stand")
        yield f"{without:,} of {len(design.paired):,} items {have} no level of {by} and {stand} in none of its rows"


def items_of_several_levels(table: ScoreTable, column: str) -> tuple[int, str]:
    """Return how plural_of paired items have levels of a factor that differ, between the sides or within one, and an example."""
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


def by_other_averages(design: PairedDesign, result: Comparison, declared: Sequence[str]) -> tuple[OtherAverage, ...]:
    """Answer by each other average that could have been meant; none beside labels, and while a run is watched."""
    if design.labels is not None or design.sequential:
        return ()
    averages = other_averages(design.data, design.paired.items, but=design.average, declared=declared)
    return tuple(
        _beside(replace(design, average=average if average.kind == "macro" else None, method="auto"), result, average)
        for average in averages
        if not any(fixed_by(average, design.paired, name) for name in design.clusters)
    )


def _beside(design: PairedDesign, result: Comparison, average: Average) -> OtherAverage:
    """Answer by a design's average in few words, beside the `result` that another gave; `average` names it."""
    scores = design.scores()
    found = design.difference(scores)
    verdict, reason = decide(evidence_of(design, found, *design.equivalence(scores)))
    account = account_for_missing(design, watching=False)
    verdict = judged(account, verdict, reason, estimate=found.headline.estimate, names=design.names).verdict
    same_sign = (result.estimate or 0.0) * found.headline.estimate >= 0
    return OtherAverage(
        **estimated(found.headline, reason=None),
        factor=average.label,
        kind="macro" if average.kind == "macro" else "micro",
        words=average.words(design.paired.items),
        verdict=verdict,
        agrees=same_sign and verdict == result.verdict,
    )


def shown(found: Difference, too_few: ItemFactor | None, beside: tuple[MethodRow, ...] = ()) -> Difference:
    """Return a difference as it is shown, where a factor that nobody declared decides.

    The interval of independent items stands `beside` the wider one. Where there are too few levels there is none that is wide
    enough, and none is shown at the head.
    """
    if too_few is None or found.headline.n_clusters is not None:
        return replace(found, rows=(*found.rows[:1], *beside, *found.rows[1:]))
    unknown = dict.fromkeys(("std_error", "conf_low", "conf_high", "statistic", "df", "p_value"))
    reason = f"{too_few.n_levels} {plural_of(too_few.factor)} are too few for an interval"
    bare = replace(found.headline, reason=reason, **unknown)
    return replace(found, headline=bare, mde=None, rows=(*beside, *found.rows[1:]))
