"""Factors of the items that nobody declared: which of them decides a comparison, and over which the difference varies."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.compare.question import Question
from evalstats.analysis.compare.result import LevelDifferences
from evalstats.analysis.design.clusters import label_of, nested, without_nested
from evalstats.analysis.design.dependence import ItemFactor, dependence
from evalstats.analysis.pairs import Pairs
from evalstats.table.items import level_places


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The question with what decides it, what was looked at, and what was found."""

    question: Question
    rows: tuple[ItemFactor, ...]
    findings: tuple[LevelDifferences, ...]


def with_what_decides(question: Question, columns: Sequence[str], *, settled: bool, split: Sequence[str]) -> Reading:
    """Look which of the factors decides; where somebody declared what items share (`settled`), that holds.

    What a factor that decides explains is not counted again: the others are then looked at with it as the unit. A factor that
    the comparison is split by is shown level by level and is no finding.
    """
    paired = question.pairs.subset(question.pairs.paired)
    names, seed = question.data.factor_names(), question.seed
    rows = dependence(paired, columns, question.clusters, names=names, seed=seed)
    partitions = tuple(row.column for row in rows if row.kind == "partition" and not row.copies)
    question = replace(question, declared=question.clusters, partitions=() if settled else partitions)
    apart = rows
    if not settled:
        widest = _widest(question, paired, [row for row in rows if row.widens])
        if widest is not None:
            clusters = _joined(question, paired, widest)
            question = replace(question, clusters=clusters, widened_by=widest)
            others = [name for name in columns if name != widest.column]
            apart = _besides(paired, widest, rows, dependence(paired, others, clusters, names=names, seed=seed))
        too_few = [row for row in apart if row.forbids]
        question = replace(question, too_few=max(too_few, key=lambda row: row.design_effect, default=None))
    copies = [row for row in rows if row.copies]
    findings = [*copies, *(row for row in apart if row.varies and not row.copies)]
    told = (row for row in findings if row.column not in (*split, *question.declared))
    return Reading(question=question, rows=rows, findings=_by_levels(paired, told, question))


def _widest(question: Question, paired: Pairs, rows: Iterable[ItemFactor]) -> ItemFactor | None:
    """Return the factor whose interval is the widest, where one is wider than that of the items."""
    width, widest = question.width(paired, question.clusters, question.conf_level), None
    for row in rows:
        own = question.width(paired, _joined(question, paired, row), question.conf_level)
        if own > width:
            width, widest = own, row
    return widest


def _joined(question: Question, paired: Pairs, row: ItemFactor) -> tuple[str, ...]:
    # Labels correct with one column of clusters.
    if question.labels is not None:
        return (row.column,)
    return tuple(without_nested(paired, (*question.declared, row.column)))


def _besides(
    paired: Pairs, main: ItemFactor, rows: Iterable[ItemFactor], again: Iterable[ItemFactor]
) -> tuple[ItemFactor, ...]:
    """Return what is left of the factors beside the one in force: tested anew where its levels lie within theirs."""
    anew, unit = {row.column: row for row in again}, paired.codes(main.column)
    left: list[ItemFactor] = []
    for row in rows:
        if row.column in anew:
            left.append(anew[row.column])
        elif row.column != main.column and not nested(unit, paired.codes(row.column)):
            left.append(row)
    return tuple(left)


def _by_levels(paired: Pairs, rows: Iterable[ItemFactor], question: Question) -> tuple[LevelDifferences, ...]:
    names, differences = question.data.factor_names(), question.scores(paired).differences
    found: list[LevelDifferences] = []
    for row in rows:
        levels = [
            (name, len(places), float(np.mean(differences[places])))
            for name, places in level_places(paired.items[row.column])
            if name is not None
        ]
        found.append(
            LevelDifferences(
                factor=label_of(row.column, names),
                levels=tuple(sorted(levels, key=lambda level: (-level[2], level[0]))),
                copies=row.copies,
                p_value=None if row.copies else row.p_adjusted,
            )
        )
    return tuple(found)
