"""Items with rephrased twins: which row is an original, which a twin, and the pairs of every model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.aggregate.items import HELPER
from evalstats.analysis.arms import listed
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.contaminations.asking import Asked, few_sides
from evalstats.analysis.contaminations.items import Ints, ItemTable
from evalstats.analysis.contaminations.splitting import Levels, side_levels
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.stats.checks import FEW_CLUSTERS, FEW_ITEMS
from evalstats.stats.contamination.item_contrast import twin_contrast

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
