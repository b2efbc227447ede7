"""What items share that nobody declared: what each factor is, whether differences go by it, and what follows.

===========================================  ==========================================================================
a factor is                                  and so
===========================================  ==========================================================================
declared (`cluster`, `average`, the plan)    what was declared holds; it is not looked at here
a partition: named for what its levels hold  fixed: the levels are all that is asked about, and a difference that varies
(category, language) or yes and no; few      over them is a finding
levels, many items in each
a partition all or nothing in every level    copies of one test: the level is the unit, as in a sample
a sample: passage, user, any other name      where differences may go by it, the wider of the clustered and the
                                             independent interval decides
===========================================  ==========================================================================
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from evalstats.analysis.design.clusters import label_of, nested
from evalstats.document.model import Column, Note, Table
from evalstats.document.numbers import number, p_words
from evalstats.errors import Advice, Option
from evalstats.grammar import plural_of
from evalstats.record import record
from evalstats.schema.column_names import is_partition
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.clusters import Dependence, cluster_mean, undeclared_dependence
from evalstats.stats.one_sample import satterthwaite_df
from evalstats.stats.paired.means import paired_t
from evalstats.table.items import Floats, Ints
from evalstats.table.score_table import ScoreTable

# Where a sample may matter: so small a p over all factors, and so large a design effect.
SUSPECTED_P, SUSPECTED_EFFECT = 0.2, 1.2
# A partition has few levels with many items each, on average.
MOST_LEVELS, FEWEST_EACH = 100, 5
# Where no more of the variance than this lies within levels, the items of a level are copies.
_WITHIN_COPIES = 0.1
_VARIES = 0.05
Kind = Literal["partition", "sample"]
_NAMED = 2


@record
class ItemFactor(Dependence):
    """What a factor of the items is, and whether the differences go by it.

    Attributes
    ----------
    factor, column
        The source's own name, and the column.
    kind
        "partition": its levels are all there are; "sample": there are more.
    copies
        Whether every level of a partition is all or nothing, so that its items are copies and the level is the unit.
    effective
        Clusters of equal size that the levels are worth: 1 and the Satterthwaite df.
    """

    column: str
    kind: Kind
    copies: bool = False
    effective: float

    @property
    def widens(self) -> bool:
        """Whether the interval clustered by this factor decides if it is the wider one."""
        suspected = self.p_adjusted <= SUSPECTED_P and self.design_effect >= SUSPECTED_EFFECT
        return suspected and self.effective >= FEW_CLUSTERS and self._sampled

    @property
    def forbids(self) -> bool:
        """Whether items clearly go by this factor, and its levels are too few to say how others differ."""
        return self.flag == "warn" and self.effective < FEW_CLUSTERS and self._sampled

    @property
    def varies(self) -> bool:
        """Whether the difference varies over the levels of a partition."""
        return self.kind == "partition" and (self.copies or self.p_adjusted <= _VARIES)

    @property
    def _sampled(self) -> bool:
        return self.kind == "sample" or self.copies

    @property
    def what(self) -> str:
        """What its levels are, in words."""
        return "copies of one test each" if self.copies else "all there are" if self.kind == "partition" else "a sample"

    def why(self) -> str:
        """Say what forbids a verdict, as a clause."""
        return f"items of one {self.factor} {self._alike}, and {self._too_few}"

    @property
    def _alike(self) -> str:
        return f"behave alike (design effect {number(self.design_effect, 1)})"

    @property
    def _too_few(self) -> str:
        return f"{self.n_levels} are too few to say how other {plural_of(self.factor)} differ"

    def note(self) -> Note:
        """Say that this factor decides, and how to rule it out: a caution where items clearly go by it."""
        items = f"Items of one {self.factor}"
        if self.flag != "warn":
            maybe = f"may behave alike (adjusted {p_words(self.p_adjusted)})"
            return Note(kind="dependence", text=f"{items} {maybe}, so the answer is clustered by it", caution=False)
        # That the answer is clustered stands in its scope.
        then = f", and {self._too_few}" if self.effective < FEW_CLUSTERS else ""
        return Note(kind="dependence", text=f"{items} {self._alike}{then}", remedy=self.rules_out)

    @property
    def rules_out(self) -> Advice:
        """How to say that these levels are all that is asked about."""
        levels = f"{self.n_levels} {plural_of(self.factor)}"
        return (f"If these {levels} are all you ask about, add ", Option("cluster", "none"))


def dependence(
    table: ScoreTable,
    columns: Iterable[str],
    clusters: Sequence[str],
    *,
    names: Mapping[str, str],
    seed: int,
) -> tuple[ItemFactor, ...]:
    """Say what the factors of paired items are, and test whether the differences go by them.

    Where clusters are in force they are the unit: their mean differences are permuted, so that what they share already does not
    count again. Of the columns, which both sides have, those are passed over that vary within a unit, have one level or more
    than half as many levels as units, or are made by the two scores of an item. Samples are one family of tests, partitions
    another. `names` are sources' own names of standard columns.
    """
    both = table.values()
    differences = both[:, 1] - both[:, 0]
    codes = {name: table.codes(name) for name in columns if name not in clusters and name in table.items.columns}
    if not codes:
        return ()
    scores = np.unique(both.round(9), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if scores.max(initial=0) < len(scores) / 2:
        codes = {name: each for name, each in codes.items() if not nested(scores, each)}
    known: dict[str, _Known] = {}
    for name, each in codes.items():
        named = is_partition(label_of(name, names), table.items[name])
        kind, copies = kind_of(each, differences, named=named)
        known[name] = _Known(kind, copies, effective_levels(each))
    if clusters:
        unit = min((table.codes(name) for name in clusters), key=lambda codes: len(np.unique(codes)))
        differences, codes = _per_unit(differences, codes, unit)
    # Samples first: of two factors that make the same groups, the first is looked at.
    samples = [name for name in codes if known[name].kind == "sample" or known[name].copies]
    usable = usable_factors(
        {name: codes[name] for name in sorted(codes, key=lambda name: name not in samples)}, len(differences)
    )
    rows: list[ItemFactor] = []
    for family in (samples, [name for name in codes if name not in samples]):
        factors = {name: usable[name] for name in family if name in usable}
        for row in undeclared_dependence(differences, factors, seed=seed) if factors else ():
            values: dict[str, Any] = {each.name: getattr(row, each.name) for each in fields(row)}
            values["factor"] = label_of(row.factor, names)
            what = known[row.factor]
            rows.append(
                ItemFactor(**values, column=row.factor, kind=what.kind, copies=what.copies, effective=what.effective)
            )
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class _Known:
    kind: Kind
    copies: bool
    effective: float


def partitions_named(rows: Iterable[ItemFactor], *, besides: Iterable[str | None] = ()) -> str:
    """Say for which levels an answer holds: of the partitions of the items, at most two; "" where there are none."""
    said = set(besides)
    named = [
        f"{row.n_levels} {plural_of(row.factor)}"
        for row in rows
        if row.kind == "partition" and not row.copies and row.factor not in said
    ]
    return f"for these {' and '.join(named[:_NAMED])}" if named else ""


def dependence_table(rows: Iterable[ItemFactor], caption: str) -> Table:
    """Return what the factors are as a table; `caption` says what was looked at."""
    columns = (
        Column(title="Factor", kind="name"),
        Column(title="Levels", kind="count"),
        Column(title="They are", kind="text"),
        Column(title="Design effect", kind="number"),
        Column(title="By chance", kind="interval", spare=True),
        Column(title="p (adjusted)", kind="p"),
    )
    cells = tuple(
        (row.factor, row.n_levels, row.what, row.design_effect, (row.band_low, row.band_high), row.p_adjusted)
        for row in rows
    )
    return Table(id="dependence", columns=columns, rows=cells, caption=caption)


def deciding_factor(table: ScoreTable, rows: Sequence[ItemFactor], *, fewest: int = FEW_CLUSTERS) -> ItemFactor | None:
    """Return the factor that decides a lead of several systems, which has no interval of its own: by CR2 against Student's t.

    With fewer levels than `fewest` there is no answer, so that it decides only where items clearly go by it.
    """
    few = [row for row in rows if row.forbids or (row.widens and row.n_levels < fewest and row.flag == "warn")]
    values = table.values()
    d = values[:, 1] - values[:, 0]

    def width(row: ItemFactor | None) -> float:
        return (paired_t(d) if row is None else cluster_mean(d, table.codes(row.column)).estimate).width

    enough = [row for row in rows if row.n_levels >= fewest]
    return widest_factor(enough, width) or max(few, key=lambda row: row.design_effect, default=None)


def factor_of_score(
    table: ScoreTable,
    columns: Iterable[str],
    clusters: Sequence[str],
    width: Callable[[ItemFactor | None], float],
    *,
    names: Mapping[str, str],
) -> ItemFactor | None:
    """Return the factor that decides the score of the one system of a table, as it would decide its lead over a constant."""
    alone = np.stack([np.zeros(len(table)), table.column(0)], axis=1)
    rows = dependence(ScoreTable.of_values(alone, table.items, table.metric), columns, clusters, names=names, seed=0)
    few = (row for row in rows if row.forbids)
    return widest_factor(rows, width) or max(few, key=lambda row: row.design_effect, default=None)


def widest_factor(rows: Iterable[ItemFactor], width: Callable[[ItemFactor | None], float]) -> ItemFactor | None:
    """Return the factor in doubt that gives the widest interval, if it is wider than with no such factor (`width` of None)."""
    widest, widths = None, dict[str, float]()
    for row in rows:
        if row.widens:
            widths[row.column] = width(row)
            widest = row if widest is None or widths[row.column] > widths[widest.column] else widest
    return widest if widest is not None and widths[widest.column] > width(None) else None


def effective_levels(codes: Ints) -> float:
    """Return how many clusters of equal size the levels are worth: 1 and the Satterthwaite df of the CR2 variance.

    >>> effective_levels(np.repeat(np.arange(6), 4)), round(effective_levels(np.repeat(np.arange(4), [20, 1, 1, 1])), 1)
    (6.0, 2.2)
    """
    sizes = np.unique(codes, return_counts=True)[1]
    return round(1.0 + satterthwaite_df(sizes / len(codes)), 9) if len(sizes) > 1 else 1.0


def kind_of(codes: Ints, differences: Floats, *, named: bool) -> tuple[Kind, bool]:
    """Return what a factor is, and whether a partition is all or nothing in every level.

    `named`: its name or its levels say that they are all there can be (`evalstats.schema.column_names.is_partition`).

    `differences` between systems have shape (n_items,), or (n_items, n_systems), each system's less its mean.

    >>> codes, same = np.repeat(np.arange(4), 6), np.repeat([1.0, 0.0, 0.0, 1.0], 6)
    >>> kind_of(codes, np.tile([1.0, 0.0], 12), named=True), kind_of(codes, same, named=True)
    (('partition', False), ('partition', True))
    """
    sizes = np.unique(codes, return_counts=True)[1]
    few = 2 <= len(sizes) <= MOST_LEVELS and len(codes) >= FEWEST_EACH * len(sizes)
    if not (few and named):
        return "sample", False
    d = differences.reshape(len(codes), -1) - differences.mean(axis=0)
    sums = np.stack([np.bincount(codes, weights=column) for column in d.T], axis=1)
    counts = np.maximum(np.bincount(codes), 1)[:, np.newaxis]
    total = float(np.square(d).sum())
    within = float(np.square(d - (sums / counts)[codes]).sum())
    return "partition", total > 0 and within <= _WITHIN_COPIES * total


def _per_unit(differences: Floats, codes: Mapping[str, Ints], unit: Ints) -> tuple[Floats, dict[str, Ints]]:
    """Mean difference of every unit, and the factors that are constant within units."""
    _, first, units = np.unique(unit, return_index=True, return_inverse=True)
    means = np.bincount(units, weights=differences) / np.bincount(units)
    constant = {name: each for name, each in codes.items() if np.array_equal(each[first][units], each)}
    return means, {name: each[first] for name, each in constant.items()}


def usable_factors(codes: Mapping[str, Ints], n_units: int) -> dict[str, Ints]:
    """Factors with 2 to n/2 levels; of two that make the same groups, the first."""
    usable: dict[str, Ints] = {}
    for name, each in codes.items():
        compact = np.unique(each, return_inverse=True)[1].astype(np.int64)
        levels = int(compact.max(initial=-1)) + 1
        same = any(nested(compact, other) and nested(other, compact) for other in usable.values())
        if 2 <= levels <= n_units / 2 and not same:
            usable[name] = compact
    return usable


def crossed_factors(
    table: ScoreTable, columns: Iterable[str], clusters: Sequence[str], names: Mapping[str, str]
) -> list[str]:
    """Return the factors that could make items dependent and vary within the declared clusters: these go untested."""
    if not clusters:
        return []
    unit = min((table.codes(name) for name in clusters), key=lambda codes: len(np.unique(codes)))
    others = [name for name in columns if name in table.items.columns and name not in clusters]
    usable = usable_factors({name: table.codes(name) for name in others}, len(unit))
    return [label_of(name, names) for name, codes in usable.items() if not nested(unit, codes)]
