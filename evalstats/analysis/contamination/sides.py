"""Which items are old and which new: by the levels of a column, by their benchmark, or as rephrased twins of one another."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.aggregate.items import HELPER
from evalstats.analysis.arms import listed
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.contamination.items import Asked, Bools, Ints, ItemTable, enough, few_sides, split_asked
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.stats.checks import FEW_CLUSTERS, FEW_ITEMS
from evalstats.stats.contamination.item_contrast import twin_contrast

Levels = str | Sequence[str] | None
OLD_NAMES = frozenset({"old", "public", "seen", "published", "train", "original"})
NEW_NAMES = frozenset(
    {
        "new",
        "fresh",
        "held-out",
        "held_out",
        "heldout",
        "private",
        "unseen",
        "hidden",
        "test",
        "rephrased",
        "paraphrased",
    }
)


def side_levels(
    found: Sequence[str], old: Levels, new: Levels, column: str
) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the levels of both sides, and a note where a side was not named.

    Raises
    ------
    InputError
        If a level does not exist or stands on both sides, or it is not clear which side is which.

    Examples
    --------
    >>> side_levels(["fresh", "public"], None, None, "source")[:2]
    (('public',), ('fresh',))
    """
    olds, news = _as_levels(old), _as_levels(new)
    for level in (*(olds or ()), *(news or ())):
        if level not in found:
            raise InputError(f"{column} has no level {level!r}; it has {listed(found)}")
    both = sorted(set(olds or ()) & set(news or ()))
    if both:
        raise InputError(f"{both[0]!r} is named as old and as new; an item is one or the other")
    if olds is not None and news is not None:
        return olds, news, ""
    if len(found) < 2:
        have = f"one level, {found[0]!r}" if found else "no level"
        raise CannotAnswerError(f"{column} has {have}; old and new items are both needed")
    if olds is not None or news is not None:
        rest = tuple(level for level in found if level not in (olds or news or ()))
        told = f"the rest of {column} ({listed(rest)}) is taken as {'new' if olds else 'old'}"
        return (olds, rest, told) if olds else (rest, news or (), told)
    known = [tuple(level for level in found if level.lower() in names) for names in (OLD_NAMES, NEW_NAMES)]
    if len(found) == 2 and all(len(each) == 1 for each in known):
        return (
            known[0],
            known[1],
            f"by their names, {known[0][0]!r} of {column} is taken as old and {known[1][0]!r} as new",
        )
    raise InputError(
        f"which items are old and which new? {column} has {listed(found)}: "
        "name them, --old LEVEL --new LEVEL (old=, new= in Python)"
    )


def _as_levels(given: Levels) -> tuple[str, ...] | None:
    if given is None:
        return None
    levels = (given,) if isinstance(given, str) else tuple(given)
    if not levels:
        raise InputError("old and new need at least one level each; leave the option out to take the rest")
    return levels


def ask_of_split(
    table: ItemTable, column: str, label: str, old: Levels, new: Levels
) -> tuple[list[Asked], tuple[str, str], tuple[str, ...]]:
    """Return every suspect's question, what the sides are called, and notes.

    Raises
    ------
    CannotAnswerError
        If the column has one level, or a side has too few items.
    """
    levels = table.column(column)
    found = sorted({level for level in levels if level is not None})
    olds, news, told = side_levels(found, old, new, label)
    is_old, is_new = _among(levels, olds), _among(levels, news)
    for side, names, word in ((is_old, olds, "old"), (is_new, news, "new")):
        if int(side.sum()) < FEW_ITEMS:
            message = (
                f"{plural(int(side.sum()), 'item')} of {label} {listed(names)} ({word}); at least {FEW_ITEMS} of each side are "
                "needed"
            )
            raise CannotAnswerError(message)
    short, left_out = enough(table, (is_old, is_new), ("old", "new"))
    asked = [
        split_asked(table, name, [other for other in table.others(name) if other not in short], is_old, is_new)
        for name in table.suspects
        if name not in short
    ]
    return (
        asked,
        (" and ".join(olds), " and ".join(news)),
        (*([told] if told else []), *_neither(levels, olds, news, label), *left_out),
    )


def _among(levels: Sequence[str | None], names: Sequence[str]) -> Bools:
    return np.array([level in names for level in levels], dtype=np.bool_)


def _neither(levels: Sequence[str | None], olds: Sequence[str], news: Sequence[str], label: str) -> tuple[str, ...]:
    empty = sum(level is None for level in levels)
    other = sum(level is not None and level not in (*olds, *news) for level in levels)
    told = [f"{plural(empty, 'item')} with no level of {label}, or with several, left out"] if empty else []
    return (*told, *([f"{plural(other, 'item')} of other levels of {label} left out"] if other else []))


SOURCE = f"{HELPER}benchmark"
_MEANING = ("kind", "low", "high", "higher_is_better", "unit")


def joined(data: EvalData, old: Levels, new: Levels) -> EvalData:
    """Return the benchmarks named, or all, under one name, with a column that says which is which.

    The item ids of different benchmarks are kept apart by their tasks. Only metrics that all of them define alike are one
    quantity; the others keep no definition, and a score outside what is seen elsewhere is refused later on.

    Raises
    ------
    InputError
        If a metric of one name means something else in another benchmark.

    Examples
    --------
    >>> from evalstats.schema.tables import frame_from_rows
    >>> rows = [
    ...     {
    ...         "run": b,
    ...         "model": "m",
    ...         "system": "m",
    ...         "benchmark": b,
    ...         "item": "1",
    ...         "metric": "acc",
    ...         "score": 1.0,
    ...         "status": "scored",
    ...     }
    ...     for b in ("gsm8k", "gsm1k")
    ... ]
    >>> found = joined(EvalData(outcomes=frame_from_rows(rows, "outcomes")), "gsm8k", "gsm1k").outcomes
    >>> found["benchmark"].unique().to_list(), found["task"].to_list()
    (['gsm8k and gsm1k'], ['gsm8k', 'gsm1k'])
    """
    named = [*_listed(old), *_listed(new)] if old is not None and new is not None else []
    present: list[str] = data.outcomes["benchmark"].unique().sort().to_list()
    names = [name for name in dict.fromkeys(named) if name in present] or present
    title = " and ".join(names)
    parts = pl.concat_str(
        pl.col("benchmark"), pl.when(pl.col("task") != "").then("/" + pl.col("task")).otherwise(pl.lit(""))
    )
    rows = data.outcomes.filter(pl.col("benchmark").is_in(names)).with_columns(
        parts.alias("task"), pl.lit(title).alias("benchmark"), pl.col("benchmark").alias(SOURCE)
    )
    return replace(data, outcomes=rows, metrics=_one_meaning(data.metrics, names, title))


def _listed(levels: Levels) -> Sequence[str]:
    return [levels] if isinstance(levels, str) else list(levels or ())


def _one_meaning(metrics: pl.DataFrame, names: Sequence[str], title: str) -> pl.DataFrame:
    """Return the definitions that all benchmarks share, under the common name."""
    own = metrics.filter(pl.col("benchmark").is_in(names))
    kept: list[pl.DataFrame] = []
    for (metric,), found in own.partition_by("metric", as_dict=True).items():
        # A benchmark that declares no direction has the one that the others declare.
        said = found["higher_is_better"].drop_nulls()
        rows = found if said.is_empty() else found.with_columns(pl.col("higher_is_better").fill_null(said[0]))
        if rows.select(_MEANING).unique().height > 1:
            message = f"{metric!r} means something else in each of {title}: their scores are not one quantity"
            raise InputError(message)
        if rows.height == len(names):
            every = bool(rows["primary"].all())
            kept.append(rows.head(1).with_columns(pl.lit(title).alias("benchmark"), pl.lit(every).alias("primary")))
    return pl.concat(kept) if kept else own.clear()


ORIGINAL, REPHRASED = "original", "rephrased"
_PLACE = f"{HELPER}place"


def twin_rows(
    data: EvalData, column: str, label: str, old: Levels, new: Levels
) -> tuple[EvalData, tuple[str, str], tuple[str, ...]]:
    """Return the data with every item under the name of its original, and original or rephrased as its variant.

    Several twins of one item become trials of one: they are averaged.

    Raises
    ------
    InputError
        If it is not clear which rows are originals and which twins, or a twin names an original that does not exist.
    CannotAnswerError
        If too few originals have a twin.
    """
    rows = data.outcomes
    text = rows[column].cast(pl.String)
    found = text.drop_nulls().unique().sort().to_list()
    found = [level for level in found if level]
    items = set(rows["item"].unique().to_list())
    named = sum(level in items for level in found)
    if old is None and new is None and named and column != "variant":
        marked, notes = _by_name(rows, text, label, [level for level in found if level not in items])
        sides = (ORIGINAL, REPHRASED)
    else:
        olds, news, told = side_levels(found, old, new, label)
        kind = pl.when(text.is_in(olds)).then(pl.lit(ORIGINAL)).when(text.is_in(news)).then(pl.lit(REPHRASED))
        marked = rows.with_columns(_kind=pl.select(kind).to_series(), _own=rows["item"])
        sides, notes = (" and ".join(olds), " and ".join(news)), ((told,) if told else ())
    kept = marked.filter(pl.col("_kind").is_not_null())
    whole = kept.group_by("task", "_own").agg(pl.col("_kind").n_unique().alias("_n")).filter(pl.col("_n") == 2)
    if whole.height < FEW_ITEMS:
        message = (
            f"{plural(whole.height, 'item')} with an original and a twin by {label}; at least {FEW_ITEMS} are needed"
        )
        raise CannotAnswerError(message)
    alone = marked.select("task", "_own").unique().height - whole.height
    notes = (*notes, *([f"{plural(alone, 'item')} without a twin, or without its original, left out"] if alone else []))
    paired = kept.join(whole.select("task", "_own"), on=["task", "_own"], how="semi")
    return replace(data, outcomes=_renumbered(paired, rows.columns)), sides, notes


def _by_name(
    rows: pl.DataFrame, text: pl.Series, label: str, unknown: Sequence[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Mark rows whose column names another item as twins of it, and that item's rows as originals."""
    if unknown:
        message = (
            f"{label} names {listed(unknown)}, and no item is called so; if these are levels, give --old and --new"
        )
        raise InputError(message)
    # An item that names itself is an original, as a table may say of each row.
    twin = text.is_not_null() & (text != "") & (text != rows["item"])
    originals = set(text.filter(twin).unique().to_list())
    chained = rows.filter(twin & rows["item"].is_in(list(originals)))["item"].unique().sort().to_list()
    if chained:
        message = f"{chained[0]!r} is a twin by {label} and is itself named as an original; name the first original on every twin"
        raise InputError(message)
    kind = pl.when(twin).then(pl.lit(REPHRASED)).when(rows["item"].is_in(list(originals))).then(pl.lit(ORIGINAL))
    own = pl.when(twin).then(text).otherwise(rows["item"])
    return rows.with_columns(_kind=pl.select(kind).to_series(), _own=pl.select(own).to_series()), ()


def _renumbered(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Put originals and twins under one item, and number the trials of several twins through."""
    cell = ["run", "model", "system", "benchmark", "task", "_own", "_kind", "metric", "judge"]
    ordered = rows.sort(
        "run", "benchmark", "task", "_own", "_kind", "metric", "item", "variant", "trial", nulls_last=True
    )
    numbered = ordered.with_columns(pl.int_range(pl.len()).over(cell).alias(_PLACE))
    trial = (
        pl.when(pl.col("trial").is_null() & (pl.col("n_trials").fill_null(1) > 1)).then(None).otherwise(pl.col(_PLACE))
    )
    return numbered.with_columns(item=pl.col("_own"), variant=pl.col("_kind"), trial=trial.cast(pl.Int64)).select(
        columns
    )


def ask_of_twins(data: EvalData, table: ItemTable, conf_level: float, seed: int) -> tuple[list[Asked], tuple[str, ...]]:
    """Return every suspect's question of originals less rephrased twins, with the paired comparison of its own.

    Raises
    ------
    CannotAnswerError
        If a named model has too few pairs.
    """
    differences, first = _differences(table)
    counts = {name: int((~np.isnan(differences[:, j])).sum()) for j, name in enumerate(table.table.names)}
    short = [name for name, n in counts.items() if n < FEW_ITEMS]
    named = [name for name in short if name in (table.references or ()) or (table.named and name in table.suspects)]
    if named or all(name in short for name in table.suspects):
        name = (named or short)[0]
        raise CannotAnswerError(
            f"{name!r} has {plural(counts[name], 'pair')} of an original and a twin; at least {FEW_ITEMS} are needed"
        )
    asked = [
        _own(data, table, _asked(table, differences, first, name, short), conf_level, seed)
        for name in table.suspects
        if name not in short
    ]
    return asked, tuple(f"left out: {name!r} has {plural(counts[name], 'pair')}" for name in short)


def _differences(table: ItemTable) -> tuple[np.ndarray, Ints]:
    """Return original less rephrased for every item and model, and the row of the table that each original is."""
    items = table.table.values.matrix.items.select("task", "item", "variant").with_row_index(_PLACE)
    originals = items.filter(pl.col("variant") == ORIGINAL)
    both = originals.join(items.filter(pl.col("variant") == REPHRASED), on=["task", "item"], suffix=" twin").sort(
        _PLACE
    )
    first = both[_PLACE].to_numpy().astype(np.int64)
    return table.values[first] - table.values[both[f"{_PLACE} twin"].to_numpy()], first


def _asked(table: ItemTable, differences: np.ndarray, first: Ints, suspect: str, short: Sequence[str]) -> Asked:
    others = [name for name in table.others(suspect) if name not in short]
    places = [table.table.names.index(name) for name in (suspect, *others)]
    keep = ~np.isnan(differences[:, places]).any(axis=1)
    values, rows = differences[keep][:, places], first[keep]
    codes = [each[rows] for each in table.clusters]
    n = len(values)
    few = next(
        (label for each, label in zip(codes, table.labels, strict=True) if len(np.unique(each)) < FEW_CLUSTERS), None
    )
    invalid = table.measured_apart(suspect, others) or few_sides(n, n)
    if invalid is None and few is not None:
        invalid = f"the pairs lie in fewer than {FEW_CLUSTERS} levels of {few}: too few clusters for an interval"
    sign = 1.0 if table.metric.higher_is_better else -1.0
    column = table.of(suspect)[rows]
    return Asked(
        suspect=suspect,
        references=tuple(others),
        suspect_scores=values[:, 0],
        reference_scores=values[:, 1:],
        contrast=None if invalid else twin_contrast(n, codes),
        n_old=n,
        n_new=n,
        n_left_out=len(differences) - n,
        clustered=bool(codes),
        invalid=invalid,
        old_score=sign * float(column.mean()) if n else None,
        new_score=sign * float((column - values[:, 0]).mean()) if n else None,
        groups={name: each[rows] for name, each in table.of_groups().items()},
    )


def _own(data: EvalData, table: ItemTable, asked: Asked, conf_level: float, seed: int) -> Asked:
    """Add the suspect's own paired comparison, original against rephrased, by the machinery of `compare`."""
    if asked.contrast is None:
        return asked
    arm = next(arm for arm in table.table.arms if arm.name == asked.suspect)
    own = replace(data, outcomes=arm.rows)
    found = compare(
        own,
        REPHRASED,
        ORIGINAL,
        metric=table.metric.name,
        contrast="variant",
        cluster=list(table.labels) or None,
        conf_level=conf_level,
        seed=seed,
    )
    sign = 1.0 if table.metric.higher_is_better else -1.0
    limits = [each for each in (found.conf_low, found.conf_high) if each is not None]
    low, high = sorted(sign * each for each in limits) if len(limits) == 2 else (None, None)
    return replace(asked, own_low=low, own_high=high, own_method=found.method)
