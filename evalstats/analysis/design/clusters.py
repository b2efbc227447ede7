"""What items have in common: columns that may group them, clusters that are declared or by design, copies, dependence.

What items share that nobody declared: what each factor is, whether differences go by it, and what follows.

===========================================  ==========================================================================
a factor is                                  and so
===========================================  ==========================================================================
declared (`cluster`, `average`, the plan)    what was declared holds; it is not looked at here
a partition: named for what its levels hold  fixed: the levels are all that is asked about, and a difference that varies
(category, language), yes and no, or what    over them is a finding
`by` names; few levels, many items in each
a partition all or nothing in every level    copies of one test: the level is the unit, as in a sample
a sample: passage, user, any other name      where differences may go by it, the wider of the clustered and the
                                             independent interval decides
===========================================  ==========================================================================
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl

from evalstats.document.model import Column, Note, Table
from evalstats.document.numbers import number, p_words
from evalstats.errors import Advice, InputError, Option
from evalstats.grammar import plural_of
from evalstats.record import record
from evalstats.schema.columns import TRIAL_LABEL, column_names, is_answer, is_measure, is_partition, plain
from evalstats.schema.data import EvalData
from evalstats.schema.tables import levels_of, parts_of
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.clusters import Dependence, cluster_mean, undeclared_dependence
from evalstats.stats.one_sample import satterthwaite_df
from evalstats.stats.paired.means import paired_t
from evalstats.table.items import (
    HELPER,
    ITEM_KEY,
    ITEM_OF_VARIANTS,
    Bools,
    Codes,
    Floats,
    Ints,
    item_codes,
    level_codes,
    levels_of_items,
    row_counts,
    trial_sets,
)
from evalstats.table.metric import MetricFacts
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import rows_among

# Standard columns that can group items; every further column of the outcomes can as well, if it is not a measurement.
_STANDARD_GROUPS = ("task", "scenario", "user_kind", "user", "session")
# A "continuous" score that takes fewer values than this cannot tell copies from chance.
_MIN_DISTINCT = 10
# What a user says in the place of a cluster column where items share nothing.
NO_CLUSTERS = "none"
# A column that differs within so few items was perhaps meant to describe items.
_FEW_ITEMS = 0.05
# An answer and the right one have so few labels, are equal on so many of the rows that are right and unequal on as many others;
# some rows tell, of which a few must be of either kind.
_MOST_LABELS, _NEARLY, _TELL, _FEWEST = 50, 0.9, 2_000, 5
# Levels that are nothing but letters of options, such as A to D or (a) to (e), are the key of a multiple-choice test.
_OPTION, _MOST_OPTIONS = r"^\(?[A-Ea-e][).]?$", 5
# With more systems hardly two items have the same scores, and everything follows from them.
_MOST_SYSTEMS = 12
_EVERY, _PLACE = f"{HELPER}every score", f"{HELPER}place"
_FEW_VALUES, _LARGEST = 1_000, 2**62
_SCORES = pl.col("score").round(9).cast(pl.String).fill_null("").sort_by("system", "trial").str.join("|")
# Decimals of a step are rounded when they are read: 0.3 / 0.1 is no whole number.
_STEP_TOLERANCE = 1e-6


def group_columns(outcomes: pl.DataFrame) -> tuple[str, ...]:
    """Columns that may group items: some standard ones and every factor that is not a measurement."""
    standard = {*column_names("outcomes"), TRIAL_LABEL}
    dtypes = {name: dtype for name, dtype in outcomes.schema.items() if name not in standard}
    factors = [name for name, dtype in dtypes.items() if not (dtype.is_float() or name.startswith(HELPER))]
    return (*_STANDARD_GROUPS, *factors)


@record
class Candidates:
    """Columns that may group items without anybody having said so; `notes` name those that only just cannot."""

    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def candidate_groups(data: EvalData, metric: MetricFacts, columns: Sequence[str], *, contrast: str) -> Candidates:
    """Return the columns that describe items, whichever system answered, and are themselves no answer and no score.

    A column that differs within an item describes answers: a judge's decision, the option that was picked, a second metric.
    Items on which the systems agree would share a level of it and the others would not, so that it always seems to group the
    differences. The same holds of a column made from the scores, such as how many systems were right, of one that says what a
    column of answers says, and of two that say what is right where they are equal. All systems of the data count, not only those
    that are compared; the metric is taken as it is in the files.
    """
    outcomes = data.outcomes
    of_metric = (outcomes["benchmark"] == metric.benchmark) & (outcomes["metric"] == metric.name)
    rows = rows_among(outcomes, of_metric)
    systems: list[str] = levels_of(rows["system"])
    plain_names = [plain(name) for name in systems]
    names = [name for name in columns if name != contrast and _describes_items(rows[name], plain_names)]
    if not names or not rows.height:
        return Candidates(names=())
    place, first = item_codes(rows, [name for name in ITEM_KEY if name != contrast])
    n = len(first)
    score = rows["score"].fill_null(0.0).to_numpy()
    scored, counts = rows["score"].is_not_null().to_numpy(), row_counts(rows)
    means = pl.Series(np.bincount(place, weights=score * counts, minlength=n)) / pl.Series(
        np.bincount(place[scored], weights=counts[scored], minlength=n)
    )
    every = _patterns(rows, place, n, systems) if len(systems) <= _MOST_SYSTEMS else None
    answers = [levels_of_items(_codes_of(rows, name), place, n)[0] for name in columns if is_answer(name)]
    compared = _answer_and_key(rows, columns)
    kept: list[str] = []
    notes: list[str] = []
    for name in names:
        own, differs = levels_of_items(_codes_of(rows, name), place, n)
        differing = int(differs.sum())
        if name in compared:
            shown = label_of(name, data.factor_names())
            notes.append(f"{shown} is an answer or the right one, so it was not tested as a group of items")
            continue
        if not differing and not _made_from_scores(
            pl.Series(own).set(pl.Series(own < 0), None), means.fill_nan(None), every
        ):
            if not any(nested(own, answer) and nested(answer, own) for answer in answers):
                kept.append(name)
        elif 0 < differing <= _FEW_ITEMS * n:
            shown = label_of(name, data.factor_names())
            notes.append(
                f"{shown} differs within {differing} of {n:,} items, so it was not tested as a group of items; "
                "to have it tested, give each item one level"
            )
    return Candidates(names=tuple(kept), notes=tuple(notes))


def _answer_and_key(rows: pl.DataFrame, columns: Sequence[str]) -> frozenset[str]:
    """Return two columns that are equal where the score is the highest and unequal elsewhere; none where no two are."""
    some = rows.gather_every(max(1, rows.height // _TELL))
    right = some["score"] == some["score"].max()
    labels = {name: some[name].cast(pl.String).str.to_lowercase() for name in columns}
    few = [name for name, cells in labels.items() if 1 < cells.n_unique() <= _MOST_LABELS]
    for pair in combinations(few, 2):
        equal = labels[pair[0]].eq_missing(labels[pair[1]])
        of_either = equal.filter(right), (~equal).filter(~right)
        if all(len(each) >= _FEWEST and each.sum() >= _NEARLY * len(each) for each in of_either):
            return frozenset(pair)
    return frozenset()


def _patterns(rows: pl.DataFrame, place: Codes, n_items: int, systems: Sequence[str]) -> pl.Series:
    """Return what tells the scores of all systems on an item apart, for every item.

    Where each system has one score for every item, a number does it, whose digits are the scores; else a text.
    """
    sets = trial_sets(rows)
    if sets is not None:  # then the scores of an item are told by which trials had each
        known = rows.select("system", pl.col("score").round(9), sets.struct.unnest().hash_rows().alias("trial"))
        told = pl.struct("system", "score", "trial").hash().sort_by("system", "score").cast(pl.String).str.join("|")
        return (
            known.with_columns(pl.Series(_PLACE, place)).group_by(_PLACE).agg(told.alias(_EVERY)).sort(_PLACE)[_EVERY]
        )
    score = rows["score"].round(9)
    values = score.unique().sort(nulls_last=True)
    if rows.height == n_items * len(systems) and len(values) <= _FEW_VALUES and len(values) ** len(systems) < _LARGEST:
        known = values.drop_nulls()
        levels, codes = level_codes(rows["system"])
        pattern = np.zeros(n_items, dtype=np.int64)
        for system in range(len(levels)):
            own = np.flatnonzero(codes == system)
            if len(own) != n_items or np.bincount(place[own], minlength=n_items).max() > 1:
                break
            digit = score.gather(own).replace_strict(known, range(1, 1 + len(known)), default=0, return_dtype=pl.Int64)
            pattern[place[own]] += digit.to_numpy() * len(values) ** system
        else:
            return pl.Series(pattern)
    coded = rows.select(pl.col("system").cast(pl.String), "trial", "score").with_columns(pl.Series(_PLACE, place))
    return coded.group_by(_PLACE).agg(_SCORES.alias(_EVERY)).sort(_PLACE)[_EVERY]


def _describes_items(column: pl.Series, systems: Sequence[str]) -> bool:
    """Whether a column may describe items, by its values and its name, which in a wide table may end in a system's."""
    name, dtype = column.name, column.dtype
    if dtype.is_nested() or dtype.is_float() or column.null_count() == len(column) or column.n_unique() == 1:
        return False
    if name in _STANDARD_GROUPS:
        return True
    own = next((plain(name).removesuffix(f"_{each}") for each in systems if plain(name).endswith(f"_{each}")), name)
    if is_answer(own) or ((dtype.is_numeric() or dtype == pl.Boolean) and is_measure(own)):
        return False
    if dtype.is_numeric() or dtype == pl.Boolean:
        return True
    levels = column.drop_nulls().unique().cast(pl.String)
    if len(levels) <= _MOST_OPTIONS and levels.str.contains(_OPTION).all():
        return False
    numbers = levels.cast(pl.Float64, strict=False)
    return bool(numbers.is_null().any() or (numbers == numbers.round()).all())


def _codes_of(rows: pl.DataFrame, name: str) -> Codes:
    """Return a whole number for each level, 0 where a run that has the column left it empty, -1 where a run lacks it."""
    codes = level_codes(rows[name])[1] + np.int32(1)
    empty = codes == 0
    if empty.any():
        _, run = level_codes(rows["run"])
        has = np.zeros(int(run.max()) + 1, dtype=np.bool_)
        has[run[~empty]] = True
        codes[empty & ~has[run]] = -1
    return codes


def _made_from_scores(levels: pl.Series, means: pl.Series, every: pl.Series | None) -> bool:
    """Whether the levels follow from the scores of all systems, or cut the range of their means into stretches."""
    if every is not None:
        n_patterns = every.n_unique()
        both = pl.DataFrame([levels.alias("level"), every.alias("every")])
        if n_patterns <= len(every) / 2 and both.n_unique() == n_patterns:
            return True
    known = pl.DataFrame({"level": levels, "mean": means.round(9)}).drop_nulls()
    ends = known.group_by("level").agg(low=pl.col("mean").min(), high=pl.col("mean").max()).sort("low", "high")
    return ends.height > 1 and bool((ends["low"][1:] > ends["high"][:-1]).all())


def named_clusters(data: EvalData, cluster: str | Sequence[str] | None) -> list[str]:
    """Return the columns of the outcomes that are named as clusters; "none" names none."""
    named = [cluster] if isinstance(cluster, str) else list(cluster or ())
    if NO_CLUSTERS not in named:
        return [data.factor(name) for name in named]
    if len(named) > 1:
        others = ", ".join(name for name in named if name != NO_CLUSTERS)
        raise InputError(f"cluster is {NO_CLUSTERS!r} and also {others}; name the columns, or {NO_CLUSTERS!r} alone")
    return []


def chosen_clusters(
    data: EvalData,
    table: ScoreTable,
    cluster: str | Sequence[str] | None,
    runs: Sequence[str],
    *,
    contrast: str,
    counted: Bools | None = None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the cluster columns in force, and a note for each that the user did not name.

    The item is a cluster wherever it has several variants; columns that a file or a column map declares as dependence
    are clusters too, unless the user says that there are none. `counted` are the items that are analysed, by default those
    that every system has.
    """
    if counted is None:
        counted = table.paired()
    columns = named_clusters(data, cluster)
    notes: list[str] = []
    for column, name in zip(columns, [cluster] if isinstance(cluster, str) else cluster or (), strict=False):
        if column == "trial":
            raise InputError(
                f"{name!r} numbers the trials of each item, so it cannot be a cluster; that trials vary together is said with "
                f"{Option('runs', 'sample')}"
            )
        _check_constant(table.items, counted, column, name)
    for name in parts_of(data.rows_of_runs(runs)["dependence"]):
        if name not in table.items.columns or name in columns:
            continue
        if NO_CLUSTERS in ([cluster] if isinstance(cluster, str) else cluster or ()):
            notes.append(f"{name} is declared as a source of dependence in the data and set aside, as asked")
            continue
        _check_constant(table.items, counted, name, name)
        columns.append(name)
        notes.append(f"{name} is declared as a source of dependence in the data, so items are clustered by it")
    if contrast != "variant" and ITEM_OF_VARIANTS in table.items.columns:
        own = table.items[ITEM_OF_VARIANTS].filter(pl.Series(counted))
        if own.n_unique() < len(own):
            columns.append(ITEM_OF_VARIANTS)
            notes.append("Items come in several variants, so the variants of one item are one cluster")
    return tuple(without_nested(table, columns)), tuple(notes)


def label_of(column: str, factor_names: Mapping[str, str]) -> str:
    """Return what a column is called in words: the source's own name for it, where it has one."""
    if column == ITEM_OF_VARIANTS:
        return "item"
    own = next((own for own, standard in sorted(factor_names.items()) if standard == column), column)
    return own.removesuffix("_digest")  # of a text, which itself is not kept


def _check_constant(items: pl.DataFrame, counted: Bools, column: str, name: str) -> None:
    if column not in items.columns:
        raise InputError(
            f"{name!r} cannot be a cluster: it does not describe items; columns that do: {', '.join(items.columns)}"
        )
    missing = items[column].alias("level").is_null() & pl.Series(counted)
    if missing.any():
        raise InputError(
            f"cluster {name!r} has no single level for {int(missing.sum())} of the paired items (first "
            f"{items.filter(missing)['item'].head(3).to_list()}): it is empty there, or differs between rows of one item; fill "
            "it or choose another column"
        )


def without_nested(table: ScoreTable, columns: Sequence[str]) -> list[str]:
    """Drop a column whose groups lie within the groups of another: the coarser one covers it."""
    codes = {name: table.codes(name) for name in dict.fromkeys(columns)}
    kept: list[str] = []
    for name, own in codes.items():
        covered = any(
            other != name and nested(own, codes[other]) and not (nested(codes[other], own) and other not in kept)
            for other in codes
        )
        if not covered:
            kept.append(name)
    return kept


def nested(inner: Ints | Codes, outer: Ints | Codes) -> bool:
    """Whether every group of one column lies within one group of the other."""
    return len(np.unique(np.stack([inner, outer], axis=1), axis=0)) == len(np.unique(inner))


def duplicate_notes(data: EvalData, items: pl.DataFrame, runs: Sequence[str], metric: MetricFacts) -> tuple[Note, ...]:
    """Return a caution when many items have the very same scores on every metric, as copies of one item would.

    Only said where a metric is fine enough for equal rows to mean something: on right-or-wrong scores, ratings and other
    scores of few steps, or where everything stands at the ends of the scale, items that have nothing in common agree too.
    """
    named = data.metrics.filter((pl.col("benchmark") == metric.benchmark) & (pl.col("kind") == "continuous"))["metric"]
    if not len(named):
        return ()
    rows = data.outcomes.filter(pl.col("run").is_in(list(runs)) & (pl.col("benchmark") == metric.benchmark))
    key = [name for name in ITEM_KEY if name in items.columns]
    n_all = rows.select(key).n_unique()
    fine = [name for name in named if _fine(rows.filter(pl.col("metric") == name)["score"], n_all)]
    if not fine:
        return ()
    cells = rows.with_columns(
        _cell=pl.concat_str("run", "metric", pl.col("trial").fill_null(0).cast(pl.String), separator="\x1f"),
        _at_end=~pl.col("metric").is_in(fine)
        | (pl.col("score") == pl.col("score").min().over("metric"))
        | (pl.col("score") == pl.col("score").max().over("metric")),
    )
    telling = cells.group_by(key).agg(pl.col("_at_end").all()).filter(~pl.col("_at_end"))
    wide = cells.pivot("_cell", index=key, values="score", aggregate_function="first")
    wide = wide.join(items.select(key), on=key, how="semi")
    fine_rows = wide.join(telling, on=key, how="semi")
    if fine_rows.is_empty() or fine_rows.drop(key).unique().height > 0.9 * fine_rows.height:
        return ()
    n, distinct = wide.height, wide.drop(key).unique().height
    text = (
        f"Only {distinct} of {n} items have distinct scores over all metrics of both sides; items that are copies or "
        "templates of one another count as one, so name what they share as the cluster"
    )
    return (Note(kind="dependence", text=text),)


def _fine(scores: pl.Series, n_items: int) -> bool:
    """Whether a metric has more possible values than there are items, so that unrelated items seldom share one.

    Scores that all lie on the multiples of the smallest step between two of them can take range / step + 1 values.
    """
    values = scores.drop_nulls().unique().sort().to_numpy().astype(np.float64)
    if len(values) < _MIN_DISTINCT:
        return False
    steps: Floats = (values - values[0]) / float(np.diff(values).min())
    on_steps = bool(np.all(np.abs(steps - np.rint(steps)) < _STEP_TOLERANCE))
    return not on_steps or steps[-1] + 1 > n_items


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
    split: Sequence[str] = (),
) -> tuple[ItemFactor, ...]:
    """Say what the factors of paired items are, and test whether the differences go by them.

    Where clusters are in force they are the unit: their mean differences are permuted, so that what they share already does not
    count again. Of the columns, which both sides have, those are passed over that vary within a unit, have one level or more
    than half as many levels as units, or are made by the two scores of an item. Samples are one family of tests, partitions
    another. `names` are sources' own names of standard columns. Of a factor that the answer is `split` by, whatever it is called,
    the levels are what is asked about.
    """
    both = table.values()
    differences = both[:, 1] - both[:, 0]
    codes = {name: table.codes(name) for name in columns if name not in clusters and name in table.items.columns}
    if not codes:
        return ()
    scores = np.unique(both.round(9), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if scores.max(initial=0) < len(scores) / 2:
        codes = {name: each for name, each in codes.items() if not nested(scores, each)}
    known: dict[str, tuple[Kind, bool, float]] = {}
    for name, each in codes.items():
        named = name in split or is_partition(label_of(name, names), table.items[name])
        kind, copies = kind_of(each, differences, named=named)
        known[name] = kind, copies, effective_levels(each)
    if clusters:
        unit = min((table.codes(name) for name in clusters), key=lambda codes: len(np.unique(codes)))
        differences, codes = _per_unit(differences, codes, unit)
    # Samples first: of two factors that make the same groups, the first is looked at.
    samples = [name for name in codes if known[name][0] == "sample" or known[name][1]]
    usable = usable_factors(
        {name: codes[name] for name in sorted(codes, key=lambda name: name not in samples)}, len(differences)
    )
    rows: list[ItemFactor] = []
    for family in (samples, [name for name in codes if name not in samples]):
        factors = {name: usable[name] for name in family if name in usable}
        for row in undeclared_dependence(differences, factors, seed=seed) if factors else ():
            values: dict[str, Any] = {each.name: getattr(row, each.name) for each in fields(row)}
            values["factor"] = label_of(row.factor, names)
            kind, copies, effective = known[row.factor]
            rows.append(ItemFactor(**values, column=row.factor, kind=kind, copies=copies, effective=effective))
    return tuple(rows)


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

    `named`: its name or its levels say that they are all there can be (`evalstats.schema.columns.is_partition`).

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
) -> tuple[str, ...]:
    """Say which factors could make items dependent and vary within the declared clusters, so that they go untested."""
    if not clusters:
        return ()
    unit = min((table.codes(name) for name in clusters), key=lambda codes: len(np.unique(codes)))
    others = [name for name in columns if name in table.items.columns and name not in clusters]
    usable = usable_factors({name: table.codes(name) for name in others}, len(unit))
    crossed = [label_of(name, names) for name, codes in usable.items() if not nested(unit, codes)]
    words = f"Not tested for dependence, since they vary within the clusters: {', '.join(crossed)}"
    return (words,) if crossed else ()
