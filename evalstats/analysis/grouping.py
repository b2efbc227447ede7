"""What items have in common: columns that may group them, clusters that are declared or by design, factors averaged over."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from evalstats.analysis.design.metric import Metric
from evalstats.analysis.pairs import Floats, Ints, Pairs
from evalstats.document.model import Note
from evalstats.document.numbers import many, plural
from evalstats.errors import InputError, Option, some_of
from evalstats.schema.columns import TRIAL_LABEL, column_names
from evalstats.schema.data import EvalData
from evalstats.schema.pseudonyms import is_answer, is_measure, plain
from evalstats.schema.tables import parts_of
from evalstats.stats.stratified import Strata, strata_of
from evalstats.table.items import HELPER, ITEM_KEY, Codes, item_codes, level_codes, levels_of_items
from evalstats.table.systems import rows_among
from evalstats.table.trial_sets import row_counts, trial_sets

# Standard columns that can group items; every further column of the outcomes can as well, if it is not a measurement.
_STANDARD_GROUPS = ("task", "scenario", "user_kind", "user", "session")
ITEM_OF_VARIANTS = f"{HELPER}item of variants"
# A "continuous" score that takes fewer values than this cannot tell copies from chance.
_MIN_DISTINCT = 10
# What a user says in the place of a cluster column where items share nothing.
NO_CLUSTERS = "none"
# A column that differs within so few items was perhaps meant to describe items.
_FEW_ITEMS = 0.05
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Columns that may group items without anybody having said so; `notes` name those that only just cannot."""

    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def candidate_groups(data: EvalData, metric: Metric, columns: Sequence[str], *, contrast: str) -> Candidates:
    """Return the columns that describe items, whichever system answered, and are themselves no answer and no score.

    A column that differs within an item describes answers: a judge's decision, the option that was picked, a second metric.
    Items on which the systems agree would share a level of it and the others would not, so that it always seems to group the
    differences. The same holds of a column made from the scores, such as how many systems were right. All systems of the data
    count, not only those that are compared; the metric is taken as it is in the files.
    """
    outcomes = data.outcomes
    of_metric = (outcomes["benchmark"] == metric.benchmark) & (outcomes["metric"] == metric.name)
    rows = rows_among(outcomes, of_metric)
    systems: list[str] = rows["system"].unique().drop_nulls().sort().to_list()
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
    kept: list[str] = []
    notes: list[str] = []
    for name in names:
        own, differs = levels_of_items(_codes_of(rows, name), place, n)
        differing = int(differs.sum())
        if not differing and not _made_from_scores(
            pl.Series(own).set(pl.Series(own < 0), None), means.fill_nan(None), every
        ):
            kept.append(name)
        elif 0 < differing <= _FEW_ITEMS * n:
            shown = label_of(name, data.factor_names())
            notes.append(
                f"{shown} differs within {differing} of {n:,} items, so it was not tested as a group of items; "
                "to have it tested, give each item one level"
            )
    return Candidates(names=tuple(kept), notes=tuple(notes))


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


def without_clusters(cluster: str | Sequence[str] | None) -> bool:
    """Whether the user says that items share nothing that is not declared: cluster "none"."""
    return NO_CLUSTERS in ([cluster] if isinstance(cluster, str) else cluster or ())


def chosen_clusters(
    data: EvalData, pairs: Pairs, cluster: str | Sequence[str] | None, runs: Sequence[str], *, contrast: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the cluster columns in force, and a note for each that the user did not name.

    The item is a cluster wherever it has several variants; columns that a file or a column map declares as dependence
    are clusters too, unless the user says that there are none.
    """
    columns = named_clusters(data, cluster)
    notes: list[str] = []
    for column, name in zip(columns, [cluster] if isinstance(cluster, str) else cluster or (), strict=False):
        _check_constant(pairs, column, name)
    for name in parts_of(data.rows_of_runs(runs)["dependence"]):
        if name not in pairs.items.columns or name in columns:
            continue
        if without_clusters(cluster):
            notes.append(f"{name} is declared as a source of dependence in the data and set aside, as asked")
            continue
        _check_constant(pairs, name, name)
        columns.append(name)
        notes.append(f"{name} is declared as a source of dependence in the data, so items are clustered by it")
    if contrast != "variant" and _has_variants(pairs):
        columns.append(ITEM_OF_VARIANTS)
        notes.append("Items come in several variants, so the variants of one item are one cluster")
    return tuple(without_nested(pairs, columns)), tuple(notes)


def with_item_column(pairs: Pairs) -> Pairs:
    """Add the column that names an item whatever its variant."""
    text = [pl.col(name).cast(pl.String) for name in ("task", "item") if name in pairs.items.columns]
    return replace(pairs, items=pairs.items.with_columns(pl.concat_str(text, separator="\x1f").alias(ITEM_OF_VARIANTS)))


def label_of(column: str, factor_names: Mapping[str, str]) -> str:
    """Return what a column is called in words: the source's own name for it, where it has one."""
    if column == ITEM_OF_VARIANTS:
        return "item"
    return next((own for own, standard in sorted(factor_names.items()) if standard == column), column)


def _has_variants(pairs: Pairs) -> bool:
    paired = pairs.items.filter(pl.Series(pairs.paired))
    return "variant" in paired.columns and paired[ITEM_OF_VARIANTS].n_unique() < paired.height


def _check_constant(pairs: Pairs, column: str, name: str) -> None:
    if column in pairs.items.columns:
        missing = pairs.items[column].alias("level").is_null() & pl.Series(pairs.paired)
        if not missing.any():
            return
        items = pairs.items.filter(missing)["item"].head(3).to_list()
        raise InputError(
            f"cluster {name!r} has no single level for {int(missing.sum())} of the paired items (first {items}): "
            "it is empty there, or differs between rows of one item; fill it or choose another column"
        )
    raise InputError(
        f"{name!r} cannot be a cluster: it does not describe items; columns that do: {', '.join(pairs.items.columns)}"
    )


def without_nested(pairs: Pairs, columns: Sequence[str]) -> list[str]:
    """Drop a column whose groups lie within the groups of another: the coarser one covers it."""
    codes = {name: pairs.codes(name) for name in dict.fromkeys(columns)}
    kept: list[str] = []
    for name, own in codes.items():
        covered = any(
            other != name and nested(own, codes[other]) and not (nested(codes[other], own) and other not in kept)
            for other in codes
        )
        if not covered:
            kept.append(name)
    return kept


def nested(inner: Ints, outer: Ints) -> bool:
    """Whether every group of one column lies within one group of the other."""
    return len(np.unique(np.stack([inner, outer], axis=1), axis=0)) == len(np.unique(inner))


def duplicate_notes(data: EvalData, pairs: Pairs, runs: Sequence[str], metric: Metric) -> tuple[Note, ...]:
    """Return a caution when many items have the very same scores on every metric, as copies of one item would.

    Only said where a metric is fine enough for equal rows to mean something: on right-or-wrong scores, ratings and other
    scores of few steps, or where everything stands at the ends of the scale, items that have nothing in common agree too.
    """
    named = data.metrics.filter((pl.col("benchmark") == metric.benchmark) & (pl.col("kind") == "continuous"))["metric"]
    if not len(named):
        return ()
    rows = data.outcomes.filter(pl.col("run").is_in(list(runs)) & (pl.col("benchmark") == metric.benchmark))
    key = [name for name in ("task", "item", "variant") if name in pairs.items.columns]
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
    wide = wide.join(pairs.items.select(key), on=key, how="semi")
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


# Factors whose levels a benchmark is usually averaged over, the first of them that has several.
_NATURAL = (
    "task", "scenario", "subject", "category", "domain", "subset", "topic", "discipline", "subtask", "language", "difficulty",
    "type",
)  # fmt: skip
# Sizes within this ratio make no difference that anybody would see.
_ALIKE = 1.2
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """A mean over the levels of one factor, which are fixed; `label` is what the user calls the column.

    "micro": every item alike, so that levels count by their items; "macro": every level alike; "weighted": by `shares`.
    """

    column: str
    label: str
    kind: Literal["micro", "macro", "weighted"]
    shares: Mapping[str, float]

    def strata(self, items: pl.DataFrame) -> Strata | None:
        """Return the stratum of every item and the shares; None where the items have one level."""
        levels = self._levels(items)
        names: list[str] = levels.unique().sort().to_list()
        if len(names) < 2:
            return None
        codes = np.searchsorted(np.array(names, dtype=object), levels.to_numpy().astype(object))
        weights = None
        if self.kind == "macro":
            weights = [1.0] * len(names)
        elif self.kind == "weighted":
            without = [name for name in names if name not in self.shares]
            if without:
                raise InputError(
                    f"{_listed(without)} of {self.label} {'has' if len(without) == 1 else 'have'} no share in the weights; give "
                    f"every level one, or keep the levels that shall count with {Option('where')}"
                )
            weights = [self.shares[name] for name in names]
        return strata_of(codes.astype(np.int64), items.height, weights)

    def words(self, items: pl.DataFrame) -> str:
        """Name the average: "macro average over 57 subjects of 100 to 1,534 items"."""
        kind = "weighted average" if self.kind == "weighted" else f"{self.kind} average"
        return f"{kind} over {_sizes(self._levels(items), self.label)}"

    def how(self) -> str:
        """Say how levels count, for the estimand."""
        counts = {
            "micro": "every item counting alike",
            "macro": "every level counting alike",
            "weighted": "in the shares given",
        }
        return f"mean over the levels of {self.label}, {counts[self.kind]}"

    def check(self, items: pl.DataFrame) -> None:
        """Refuse shares of levels that no item has, which would silently go to the others."""
        if self.kind == "weighted":
            here = set(self._levels(items).to_list())
            gone = [name for name in self.shares if name not in here]
            if gone:
                raise InputError(
                    f"the weights give a share to {_listed(gone)}, and no item has that level of {self.label}; its levels are "
                    f"{_listed(sorted(here))}"
                )

    def _levels(self, items: pl.DataFrame) -> pl.Series:
        if self.column not in items.columns:
            raise InputError(f"{self.label!r} does not describe items, so nothing can be averaged over it")
        levels = items[self.column].cast(pl.String)
        lost = levels.null_count()
        if lost:
            raise InputError(
                f"{lost:,} of {items.height:,} items have no single level of {self.label}, so they stand in no average over it; "
                f"fill the column, or average over another one: {Option('over')}"
            )
        return levels


def wanted_average(
    data: EvalData,
    items: pl.DataFrame,
    *,
    average: str | None,
    over: str | None,
    weights: Mapping[str, float] | None,
) -> Average | None:
    """Return the average that was asked for over the items of every side; None where nothing was."""
    if average is None and weights is None:
        if over is None:
            return None
        raise InputError(
            f"over={over!r} names what to average over; say how as well: average 'micro' or 'macro', or weights"
        )
    if average is not None and weights is not None:
        raise InputError(
            f"average={average!r} and weights are given; weights are an average of their own, so give one of the two"
        )
    if average not in (None, "micro", "macro"):
        raise InputError(f"average is {average!r}; it is 'micro' (every item alike) or 'macro' (every level alike)")
    column = natural_factor(items) if over is None else data.factor(over)
    if column is None:
        raise InputError(
            f"there is no task or scenario with several levels to average over; name the factor with {Option('over')}"
        )
    label = over or label_of(column, data.factor_names())
    if weights is not None:
        found = Average(column=column, label=label, kind="weighted", shares=_checked(weights))
    else:
        found = Average(column=column, label=label, kind="macro" if average == "macro" else "micro", shares={})
    found.check(items)
    return found


def natural_factor(items: pl.DataFrame) -> str | None:
    """Return what a benchmark is usually averaged over: task where there are several, else scenario, subject, ..."""
    return next((name for name in _NATURAL if _has_levels(items, name)), None)


def _has_levels(items: pl.DataFrame, name: str) -> bool:
    if name not in items.columns or items[name].null_count():
        return False
    return 2 <= items[name].n_unique() <= items.height / 2


def other_averages(
    data: EvalData, items: pl.DataFrame, *, but: Average | None = None, declared: Sequence[str] = ()
) -> tuple[Average, ...]:
    """Return the averages that somebody else could have meant: over a usual or `declared` factor with levels of unlike sizes.

    Every level alike where every item counts alike, or an average over another factor was taken; every item alike beside a
    macro or weighted average. Levels that group the items as an earlier factor does are given once.
    """
    found: list[Average] = []
    seen: list[str] = []
    taken = None if but is None or but.kind == "micro" else but
    if taken is not None and _unlike(items[taken.column]):
        found.append(replace(taken, kind="micro", shares={}))
        seen.append(taken.column)
    for name in dict.fromkeys((*declared, *_NATURAL)):
        if _has_levels(items, name) and _unlike(items[name]) and not any(_alike(items, name, other) for other in seen):
            seen.append(name)
            found.append(Average(column=name, label=label_of(name, data.factor_names()), kind="macro", shares={}))
    return tuple(found)


def _unlike(levels: pl.Series) -> bool:
    counts: list[int] = levels.value_counts()["count"].to_list()
    return max(counts) > _ALIKE * min(counts)


def _alike(items: pl.DataFrame, one: str, other: str) -> bool:
    """Whether two columns group the items alike."""
    return one == other or items.select(one, other).n_unique() == items[one].n_unique() == items[other].n_unique()


def plain_average(data: EvalData, items: pl.DataFrame, clusters: Sequence[str]) -> str:
    """Say which average a plain mean is, where levels differ in size; "" where it makes no difference."""
    found = [each for each in other_averages(data, items) if each.column not in clusters]
    return replace(found[0], kind="micro").words(items) if found else ""


def weighted_words(kind: str, factor: str) -> str:
    """Say how an average weighs, to begin a sentence with.

    >>> weighted_words("macro", "subject"), weighted_words("micro", "subject")
    ('with subjects weighted equally', 'with every item weighted equally')
    """
    return "with every item weighted equally" if kind == "micro" else f"with {many(factor)} weighted equally"


def fixed_by(average: Average | None, pairs: Pairs, column: str) -> bool:
    """Whether the levels averaged over, which are fixed, fix those of another column: each lies in one of its groups."""
    if average is None or average.column not in pairs.items.columns or column not in pairs.items.columns:
        return False
    codes, levels = pairs.codes(column), pairs.codes(average.column)
    return len(np.unique(np.stack([codes, levels], axis=1), axis=0)) == len(np.unique(levels))


def refuse_clusters(average: Average | None, clusters: Sequence[str], pairs: Pairs) -> None:
    """Refuse clusters that are the levels averaged over, or contain them: these cannot be both fixed and sampled."""
    for name in clusters:
        if average is not None and fixed_by(average, pairs, name):
            raise InputError(
                f"{average.label} is averaged over, so its levels are fixed, and clusters of {name} would take them for a "
                "sample; leave out one of the two ({Option('cluster', 'none')} drops the clusters)"
            )


def _checked(weights: Mapping[str, float]) -> dict[str, float]:
    wrong = [name for name, share in weights.items() if not (math.isfinite(share) and share >= 0)]
    if wrong or not any(share > 0 for share in weights.values()):
        name = wrong[0] if wrong else next(iter(weights), "")
        raise InputError(f"the weight of {name!r} is {weights.get(name)}; weights are numbers of 0 or more, not all 0")
    if any(share == 0 for share in weights.values()):
        name = next(name for name, share in weights.items() if share == 0)
        raise InputError(f"the weight of {name!r} is 0; leave its items out with {Option('where')} instead")
    return {str(name): float(share) for name, share in weights.items()}


def _sizes(levels: pl.Series, label: str) -> str:
    counts: list[int] = levels.value_counts()["count"].to_list()
    few, most = min(counts), max(counts)
    sizes = f"{few:,} to {most:,}" if few != most else f"{few:,}"
    # A column may be called anything; a word takes an s.
    named = plural(len(counts), label, many(label)) if label.isalpha() else f"{len(counts):,} levels of {label}"
    return f"{named} of {sizes} items"


def _listed(names: Sequence[str]) -> str:
    return some_of(map(repr, names), _SHOWN)
