"""Which columns make items dependent: declared by user or file, told by the design, or suspected from the data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY
from evalstats.analysis.arms import Metric
from evalstats.analysis.pairs import Floats, Ints, Pairs
from evalstats.errors import InputError
from evalstats.schema.columns import TRIAL_LABEL, column_names
from evalstats.schema.data import EvalData
from evalstats.schema.pseudonyms import is_answer, is_measure, plain
from evalstats.stats.clusters import Dependence, undeclared_dependence

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
_EVERY = f"{HELPER}every score"
_SCORES = pl.col("score").round(9).cast(pl.String).fill_null("").sort_by("system", "trial").str.join("|")
# Decimals of a step are rounded when they are read: 0.3 / 0.1 is no whole number.
_STEP_TOLERANCE = 1e-6


def group_columns(outcomes: pl.DataFrame) -> tuple[str, ...]:
    """Columns that may group items: some standard ones and every factor that is not a measurement."""
    standard = {*column_names("outcomes"), TRIAL_LABEL}
    factors = [name for name in outcomes.columns if name not in standard and not outcomes[name].dtype.is_float()]
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
    count, not only those that are compared.

    Parameters
    ----------
    metric
        As it is in the files.
    columns
        Factors of the outcomes, as `group_columns` gives them.
    """
    rows = data.outcomes.filter((pl.col("benchmark") == metric.benchmark) & (pl.col("metric") == metric.name))
    systems = [plain(name) for name in rows["system"].unique().drop_nulls().to_list()]
    names = [name for name in columns if name != contrast and _describes_items(rows[name], systems)]
    if not names or not rows.height:
        return Candidates(names=())
    key = [name for name in ITEM_KEY if name != contrast]
    coded = rows.select(*key, "system", "trial", "score").with_columns(
        _level_codes(rows, name).alias(f"{HELPER}{place}") for place, name in enumerate(names)
    )
    at = [f"{HELPER}{place}" for place in range(len(names))]
    items = coded.group_by(key).agg(
        pl.col("score").mean(),
        _SCORES.alias(_EVERY) if len(systems) <= _MOST_SYSTEMS else pl.lit(None, pl.String).alias(_EVERY),
        *(pl.col(each).min() for each in at),
        *((pl.col(each).min() != pl.col(each).max()).alias(f"{each} differs") for each in at),
    )
    kept: list[str] = []
    notes: list[str] = []
    for name, each in zip(names, at, strict=True):
        differing = int(items[f"{each} differs"].sum())
        if not differing and not _made_from_scores(items[each], items["score"], items[_EVERY]):
            kept.append(name)
        elif 0 < differing <= _FEW_ITEMS * items.height:
            shown = label_of(name, data.factor_names())
            notes.append(
                f"{shown} differs within {differing} of {items.height:,} items, so it was not tested as a group of items; "
                "to have it tested, give each item one level"
            )
    return Candidates(names=tuple(kept), notes=tuple(notes))


def _describes_items(column: pl.Series, systems: Sequence[str]) -> bool:
    """Whether a column may describe items, by its values and its name, which in a wide table may end in a system's."""
    name, dtype = column.name, column.dtype
    if dtype.is_nested() or dtype.is_float() or column.null_count() == len(column):
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


def _level_codes(rows: pl.DataFrame, name: str) -> pl.Series:
    """Return a whole number for each level, 0 where a run that has the column left it empty, null where a run lacks it."""
    frame = pl.DataFrame({"run": rows["run"], "level": rows[name].cast(pl.String)})
    code = pl.col("level").rank("dense").cast(pl.Int64)
    has = pl.col("level").is_not_null().any().over("run")
    return frame.select(pl.when(has).then(code.fill_null(0))).to_series()


def _made_from_scores(levels: pl.Series, means: pl.Series, every: pl.Series) -> bool:
    """Whether the levels follow from the scores of all systems, or cut the range of their means into stretches."""
    repeated = every.null_count() == 0 and every.n_unique() <= len(every) / 2
    if repeated and pl.DataFrame([levels, every]).n_unique() == every.n_unique():
        return True
    known = pl.DataFrame({"level": levels, "mean": means.round(9)}).drop_nulls()
    ends = known.group_by("level").agg(low=pl.col("mean").min(), high=pl.col("mean").max()).sort("low", "high")
    return ends.height > 1 and bool((ends["low"][1:] > ends["high"][:-1]).all())


def named_clusters(data: EvalData, cluster: str | Sequence[str] | None) -> list[str]:
    """Return the columns of the outcomes that are named as clusters; "none" names none.

    Raises
    ------
    InputError
        If there is no such column, or "none" stands beside others.
    """
    named = [cluster] if isinstance(cluster, str) else list(cluster or ())
    if NO_CLUSTERS not in named:
        return [data.factor(name) for name in named]
    if len(named) > 1:
        others = ", ".join(name for name in named if name != NO_CLUSTERS)
        message = f"cluster is {NO_CLUSTERS!r} and also {others}; name the columns, or {NO_CLUSTERS!r} alone"
        raise InputError(message)
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

    Raises
    ------
    InputError
        If a named column does not exist, or its level varies within an item.
    """
    columns = named_clusters(data, cluster)
    notes: list[str] = []
    for column, name in zip(columns, [cluster] if isinstance(cluster, str) else cluster or (), strict=False):
        _check_constant(pairs, column, name)
    declared = data.runs.filter(pl.col("run").is_in(list(runs)))["dependence"].explode().drop_nulls().unique().to_list()
    for name in sorted(declared):
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
        notes.append("items come in several variants, so the variants of one item are one cluster")
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
        message = (
            f"cluster {name!r} has no single level for {int(missing.sum())} of the paired items (first {items}): "
            "it is empty there, or differs between rows of one item; fill it or choose another column"
        )
        raise InputError(message)
    message = (
        f"{name!r} cannot be a cluster: it does not describe items; columns that do: {', '.join(pairs.items.columns)}"
    )
    raise InputError(message)


def without_nested(pairs: Pairs, columns: Sequence[str]) -> list[str]:
    """Drop a column whose groups lie within the groups of another: the coarser one covers it."""
    codes = {name: pairs.codes(name) for name in dict.fromkeys(columns)}
    kept: list[str] = []
    for name, own in codes.items():
        covered = any(
            other != name and _nested(own, codes[other]) and not (_nested(codes[other], own) and other not in kept)
            for other in codes
        )
        if not covered:
            kept.append(name)
    return kept


def _nested(inner: Ints, outer: Ints) -> bool:
    return len(np.unique(np.stack([inner, outer], axis=1), axis=0)) == len(np.unique(inner))


def dependence_rows(
    pairs: Pairs,
    columns: Sequence[str],
    clusters: Sequence[str],
    *,
    names: Mapping[str, str],
    seed: int,
) -> tuple[Dependence, ...]:
    """Test whether the differences run in groups along factors that were not declared.

    Where clusters are declared they are the unit: their mean differences are permuted, so that what they share already
    does not count again.

    Parameters
    ----------
    pairs
        Paired items only.
    columns
        Candidate columns that both sides have; those in `clusters`, those that vary within a unit, with one level, or
        with more than half as many levels as units are passed over, and so is one that the two scores of an item make.
    names
        Sources' own names of standard columns.
    """
    differences = pairs.candidate.means() - pairs.baseline.means()
    candidates = {name: pairs.codes(name) for name in columns if name not in clusters and name in pairs.items.columns}
    scores = np.unique(_both_scores(pairs), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    if scores.max(initial=0) < len(scores) / 2:
        candidates = {name: codes for name, codes in candidates.items() if not _nested(scores, codes)}
    if clusters:
        unit = min((pairs.codes(name) for name in clusters), key=lambda codes: len(np.unique(codes)))
        differences, candidates = _per_unit(differences, candidates, unit)
    factors = _usable(candidates, len(differences))
    if not factors:
        return ()
    found = undeclared_dependence(differences, factors, seed=seed)
    return tuple(replace(row, factor=label_of(row.factor, names)) for row in found)


def _both_scores(pairs: Pairs) -> Floats:
    return np.stack([pairs.baseline.means(), pairs.candidate.means()], axis=1).round(9)


def crossed_factors(
    pairs: Pairs, columns: Sequence[str], clusters: Sequence[str], names: Mapping[str, str]
) -> list[str]:
    """Return the factors that could make items dependent and vary within the declared clusters: these go untested."""
    if not clusters:
        return []
    unit = min((pairs.codes(name) for name in clusters), key=lambda codes: len(np.unique(codes)))
    others = [name for name in columns if name in pairs.items.columns and name not in clusters]
    usable = _usable({name: pairs.codes(name) for name in others}, len(unit))
    return [label_of(name, names) for name, codes in usable.items() if not _nested(unit, codes)]


def _per_unit(differences: Floats, candidates: Mapping[str, Ints], unit: Ints) -> tuple[Floats, dict[str, Ints]]:
    """Mean difference of every unit, and the factors that are constant within units."""
    _, first, codes = np.unique(unit, return_index=True, return_inverse=True)
    means = np.bincount(codes, weights=differences) / np.bincount(codes)
    constant = {name: each for name, each in candidates.items() if np.array_equal(each[first][codes], each)}
    return means, {name: each[first] for name, each in constant.items()}


def _usable(candidates: Mapping[str, Ints], n_units: int) -> dict[str, Ints]:
    """Factors with 2 to n/2 levels; of two that make the same groups, the first."""
    usable: dict[str, Ints] = {}
    for name, each in candidates.items():
        codes = np.unique(each, return_inverse=True)[1].astype(np.int64)
        levels = int(codes.max(initial=-1)) + 1
        same = any(_nested(codes, other) and _nested(other, codes) for other in usable.values())
        if 2 <= levels <= n_units / 2 and not same:
            usable[name] = codes
    return usable


def duplicate_rows_warning(data: EvalData, pairs: Pairs, runs: Sequence[str], metric: Metric) -> str | None:
    """Return a warning when many items have the very same scores on every metric, as copies of one item would.

    Only said where a metric is fine enough for equal rows to mean something: on right-or-wrong scores, ratings and other
    scores of few steps, or where everything stands at the ends of the scale, items that have nothing in common agree too.
    """
    named = data.metrics.filter((pl.col("benchmark") == metric.benchmark) & (pl.col("kind") == "continuous"))["metric"]
    rows = data.outcomes.filter(pl.col("run").is_in(list(runs)) & (pl.col("benchmark") == metric.benchmark))
    key = [name for name in ("task", "item", "variant") if name in pairs.items.columns]
    n_all = rows.select(key).n_unique()
    fine = [name for name in named if _fine(rows.filter(pl.col("metric") == name)["score"], n_all)]
    if not fine:
        return None
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
        return None
    n, distinct = wide.height, wide.drop(key).unique().height
    return (
        f"only {distinct} of {n} items have distinct scores over all metrics of both sides; items that are copies or "
        "templates of one another count as one, so name what they share as the cluster"
    )


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
