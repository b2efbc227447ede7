"""Original items and their rephrased twins: rows of a pair under one item, and every suspect's gain on originals."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.contamination.items import Floats, Ints, ItemTable, Levels, SuspectCase, few_sides, side_levels
from evalstats.analysis.contamination.latent_scale import latent_of_twins
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural, quoted_list
from evalstats.schema.data import EvalData
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import FEW_CLUSTERS, FEW_ITEMS
from evalstats.stats.contamination import twin_contrast
from evalstats.table.items import HELPER

ORIGINAL, REPHRASED = "original", "rephrased"
_PLACE = f"{HELPER}place"


def twin_rows(
    data: EvalData, column: str, label: str, old: Levels, new: Levels
) -> tuple[EvalData, tuple[str, str], tuple[str, ...]]:
    """Return the data with every item under the name of its original, and original or rephrased as its variant.

    Several twins of one item become trials of one: they are averaged.
    """
    rows = data.outcomes
    text = rows[column].cast(pl.String)
    found = levels_of(text)
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
        raise CannotAnswerError(
            f"{plural(whole.height, 'item')} with an original and a twin by {label}; at least {FEW_ITEMS} are needed"
        )
    alone = marked.select("task", "_own").unique().height - whole.height
    notes = (*notes, *([f"{plural(alone, 'item')} without a twin, or without its original, dropped"] if alone else []))
    paired = kept.join(whole.select("task", "_own"), on=["task", "_own"], how="semi")
    return replace(data, outcomes=_renumbered(paired, rows.columns)), sides, notes


def _by_name(
    rows: pl.DataFrame, text: pl.Series, label: str, unknown: Sequence[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Mark rows whose column names another item as twins of it, and that item's rows as originals."""
    if unknown:
        raise InputError(
            f"{label} names {quoted_list(unknown)}, and no item is called so; if these are levels, give {Option('old')} and "
            f"{Option('new')}"
        )
    # An item that names itself is an original, as a table may say of each row.
    twin = text.is_not_null() & (text != "") & (text != rows["item"])
    originals = set(text.filter(twin).unique().to_list())
    chained = rows.filter(twin & rows["item"].is_in(list(originals)))["item"].unique().sort().to_list()
    if chained:
        raise InputError(
            f"{chained[0]!r} is a twin by {label} and is itself named as an original; name the first original on every twin"
        )
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


def twin_cases(
    data: EvalData, table: ItemTable, conf_level: float, seed: int
) -> tuple[list[SuspectCase], tuple[str, ...]]:
    """Return every suspect's question of originals less rephrased twins, with the paired comparison of its own."""
    items = table.board.table.items.select("task", "item", "variant").with_row_index(_PLACE)
    original, rephrased = (items.filter(pl.col("variant") == kind) for kind in (ORIGINAL, REPHRASED))
    both = original.join(rephrased, on=["task", "item"], suffix=" twin").sort(_PLACE)
    first = both[_PLACE].to_numpy().astype(np.int64)  # the row of the table that each original is
    originals, twins = table.values[first], table.values[both[f"{_PLACE} twin"].to_numpy()]
    differences = originals - twins
    counts = {name: int((~np.isnan(differences[:, j])).sum()) for j, name in enumerate(table.board.names)}
    short = {
        name: f"{name!r} has {plural(n, 'pair')} of an original and a twin; at least {FEW_ITEMS} are needed"
        for name, n in counts.items()
        if n < FEW_ITEMS
    }
    notes = table.left_out(short)
    cases = [
        _own(data, table, _twin_case(table, (originals, twins), first, name, short), conf_level, seed)
        for name in table.suspects
        if name not in short
    ]
    return cases, notes


def _twin_case(
    table: ItemTable, sides: tuple[Floats, Floats], first: Ints, suspect: str, short: Collection[str]
) -> SuspectCase:
    others = [name for name in table.others(suspect) if name not in short]
    places = [table.board.names.index(name) for name in (suspect, *others)]
    keep = ~np.isnan((sides[0] - sides[1])[:, places]).any(axis=1)
    originals, twins, rows = sides[0][keep][:, places], sides[1][keep][:, places], first[keep]
    codes = [each[rows] for each in table.clusters]
    n = len(rows)
    few = [label for each, label in zip(codes, table.labels, strict=True) if len(np.unique(each)) < FEW_CLUSTERS]
    invalid = table.measured_apart(suspect, others) or few_sides(n, n)
    if invalid is None and few:
        invalid = f"the pairs lie in fewer than {FEW_CLUSTERS} levels of {few[0]}: too few clusters for an interval"
    sign = 1.0 if table.metric.higher_is_better else -1.0
    return SuspectCase(
        suspect=suspect,
        references=tuple(others),
        scores=originals - twins,
        latent=None
        if invalid or table.compared == "points" or not others
        else latent_of_twins(originals, twins, table.metric),
        contrast=None if invalid else twin_contrast(n, codes),
        n_old=n,
        n_new=n,
        n_left_out=len(first) - n,
        clustered=bool(codes),
        invalid=invalid,
        old_score=sign * float(originals[:, 0].mean()) if n else None,
        new_score=sign * float(twins[:, 0].mean()) if n else None,
        groups={name: each[rows] for name, each in table.of_groups().items()},
    )


def _own(data: EvalData, table: ItemTable, case: SuspectCase, conf_level: float, seed: int) -> SuspectCase:
    """Add the suspect's own paired comparison, original against rephrased, by the machinery of `compare`."""
    if case.contrast is None:
        return case
    arm = next(arm for arm in table.board.table.systems if arm.name == case.suspect)
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
    return replace(case, own_ends=(low, high))
