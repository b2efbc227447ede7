"""Outcomes of one side as units: item means in the lab, rows with live users; each with its cluster and its cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evalstats.aggregate.items import HELPER
from evalstats.analysis.arms import Arm, Metric
from evalstats.analysis.boards.checks import some
from evalstats.analysis.boards.entries import ENTRY, entries_of
from evalstats.analysis.boards.entry_table import EntryTable, entry_table
from evalstats.analysis.gaps.material import CellSums
from evalstats.analysis.grouping import chosen_clusters, label_of, named_clusters
from evalstats.document.numbers import plural
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.stats.checks import IntArray

CLUSTER = f"{HELPER}cluster"
N, TOTAL = f"{HELPER}n", f"{HELPER}total"
# Whichever of these the live rows have is what they share errors by, the widest first.
LIVE_CLUSTERS = ("user", "session")
NO_LEVEL = "(none)"
INDEPENDENT = (
    "no user or session of the live rows has several of them, so they are taken as independent; if people come back, errors are "
    "too small"
)
_WEIGHTS = "sampling weights, which are not used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Units of all models of one side.

    Attributes
    ----------
    frame
        One row for each cluster x model x combination of factors: CLUSTER, ENTRY, the factors as text, N and TOTAL.
    rows
        The outcome rows behind them, with the column ENTRY.
    n
        Units behind each model, by name.
    clusters
        By what they are clustered, as a reader calls it; empty where every unit stands alone.
    matrix
        The lab's item values, where there are any.
    """

    metric: Metric
    frame: pl.DataFrame
    rows: pl.DataFrame
    n: dict[str, int]
    clusters: tuple[str, ...]
    runs: tuple[str, ...]
    table: EntryTable | None = None
    codes: IntArray | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def lab_units(
    data: EvalData, *, metric: str | None, cluster: str | Sequence[str] | None, factors: Sequence[str]
) -> Units:
    """Reduce lab outcomes to item means.

    Items are clustered as `leaderboard` clusters them: by what was named or declared, and variants of one item together.
    Of several ways the one with the fewest levels counts.

    Raises
    ------
    InputError
        If a name is unknown or ambiguous.
    CannotAnswerError
        If fewer than two models have a score.
    """
    chosen, arms, notes = entries_of(data, metric=metric, models=None, contrast="model")
    named = named_clusters(data, cluster)
    columns = [data.factor(name) for name in factors]
    table = entry_table(data, chosen, arms, [*named, *columns], None, contrast="model")
    clusters, told = chosen_clusters(data, table.every, cluster, table.runs, contrast="model")
    codes, said, more = _one_way(table, clusters, data)
    values = table.values.values
    item, model = np.nonzero(~np.isnan(values))
    frame = pl.DataFrame(
        {
            CLUSTER: codes[item],
            ENTRY: np.array(table.names, dtype=object)[model],
            N: np.ones(item.size),
            TOTAL: values[item, model],
        },
        schema_overrides={ENTRY: pl.String},
    )
    levels = {
        own: table.every.items[name].cast(pl.String).fill_null(NO_LEVEL).gather(item)
        for own, name in zip(factors, columns, strict=True)
    }
    rows = pl.concat([arm.rows.with_columns(pl.lit(arm.name).alias(ENTRY)) for arm in table.arms])
    remarks = _remarks(table.arms)
    scored = table.scored.sum(axis=0)
    return Units(
        metric=table.values.metric,
        frame=_summed(frame.with_columns(**levels), factors),
        rows=rows,
        n=dict(zip(table.names, scored.tolist(), strict=True)),
        clusters=said,
        runs=table.runs,
        table=table,
        codes=codes,
        warnings=(*table.rulers.refusal(), *table.rulers.of("weakens")),
        notes=(*told, *more, *notes, *remarks, *table.rulers.of("note"), *_lost(rows, "lab")),
    )


def live_units(
    data: EvalData, *, metric: str | None, cluster: str | Sequence[str] | None, factors: Sequence[str]
) -> Units:
    """Sum live outcomes by user, model and cell.

    Rows are clustered by what was named; else by user, session or item, whichever they have, in this order. A row without
    a level is a cluster of its own. Sampling weights count.

    Raises
    ------
    InputError
        If a name is unknown or ambiguous, or a weight is negative.
    """
    chosen, arms, notes = entries_of(data, metric=metric, models=None, contrast="model", least=1)
    rows = pl.concat([arm.rows.with_columns(pl.lit(arm.name).alias(ENTRY)) for arm in arms])
    columns = [data.factor(name) for name in factors]
    column, said, told = _live_cluster(data, rows, cluster)
    scored = rows.filter(pl.col("status") == "scored").with_row_index(f"{HELPER}row")
    alone = pl.concat_str(pl.lit("row \x1f"), pl.col(f"{HELPER}row").cast(pl.String))
    level = alone if column is None else pl.coalesce(pl.col(column).cast(pl.String), alone)
    weight = pl.col("weight").fill_null(1.0)
    own = scored.with_columns(
        level.alias(CLUSTER),
        weight.alias(N),
        (weight * pl.col("score")).alias(TOTAL),
        *[
            pl.col(name).cast(pl.String).fill_null(NO_LEVEL).alias(given)
            for given, name in zip(factors, columns, strict=True)
        ],
    )
    without = 0 if column is None else int(scored[column].null_count())
    if without:
        told = (*told, f"{plural(without, 'live row')} without a {column} each count as a cluster of their own")
    if scored["weight"].drop_nulls().n_unique() > 1:
        told = (*told, "live rows carry sampling weights, which are used")
    _check_weights(own)
    counts = own.group_by(ENTRY).len()
    return Units(
        metric=chosen,
        frame=_summed(own.select(CLUSTER, ENTRY, *factors, N, TOTAL), factors),
        rows=rows,
        n=dict(counts.iter_rows()),
        clusters=said,
        runs=tuple(sorted({run for arm in arms for run in arm.runs})),
        warnings=(INDEPENDENT,) if INDEPENDENT in told else (),
        notes=(
            *(each for each in told if each != INDEPENDENT),
            *notes,
            *(each for each in _remarks(arms) if _WEIGHTS not in each),
            *_lost(rows, "live"),
        ),
    )


def _remarks(arms: Sequence[Arm]) -> tuple[str, ...]:
    """Return what was done to the rows of single systems, each thing said once."""
    by_text: dict[str, list[str]] = {}
    for arm in arms:
        for remark in arm.remarks:
            by_text.setdefault(remark.removeprefix(f"{arm.name}: "), []).append(arm.name)
    return tuple(f"{some(names)}: {text}" for text, names in by_text.items())


def _check_weights(rows: pl.DataFrame) -> None:
    """Refuse weights that leave a model with nothing."""
    empty = rows.group_by(ENTRY).agg(pl.col(N).sum()).filter(pl.col(N) <= 0)[ENTRY].sort().to_list()
    if empty:
        raise InputError(
            f"the weights of the live rows of {empty[0]!r} sum to 0; give at least one of them a weight above 0"
        )


def cell_sums(
    units: Units,
    models: Sequence[str],
    factors: Sequence[str],
    cells: Sequence[tuple[str, ...]],
    *,
    joined: Mapping[tuple[str, ...], tuple[str, ...]] | None = None,
) -> CellSums:
    """Code the units of some models as sums by cluster, model and cell; `joined` maps levels to the cell they are part of."""
    place = pl.DataFrame({ENTRY: list(models), "_model": range(len(models))}, schema_overrides={ENTRY: pl.String})
    frame = units.frame.join(place, on=ENTRY)
    if factors:
        place_of = {cell: j for j, cell in enumerate(cells)}
        place_of |= {level: place_of[cell] for level, cell in (joined or {}).items()}
        known = pl.DataFrame(list(place_of), schema=dict.fromkeys(factors, pl.String), orient="row")
        frame = frame.join(known.with_columns(pl.Series("_cell", list(place_of.values()))), on=list(factors))
    else:
        frame = frame.with_columns(pl.lit(0).alias("_cell"))
    cluster = frame[CLUSTER].rank("dense").to_numpy().astype(np.int64) - 1
    return CellSums(
        cluster=cluster,
        model=frame["_model"].to_numpy().astype(np.int64),
        cell=frame["_cell"].to_numpy().astype(np.int64),
        n=frame[N].to_numpy().astype(np.float64),
        total=frame[TOTAL].to_numpy().astype(np.float64),
        n_clusters=int(cluster.max(initial=-1)) + 1,
        n_models=len(models),
        n_cells=max(1, len(cells)),
    )


def levels_of(units: Units, models: Sequence[str], factors: Sequence[str]) -> set[tuple[str, ...]]:
    """Return the combinations of levels that some models have; a row without a level has none."""
    frame = units.frame.filter(pl.col(ENTRY).is_in(list(models)))
    return {levels for levels in frame.select(factors).unique().rows() if NO_LEVEL not in levels}


def clusters_by_level(units: Units, models: Sequence[str], factors: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Return how many clusters (users) stand behind each combination of levels, over some models."""
    frame = units.frame.filter(pl.col(ENTRY).is_in(list(models)))
    counts = frame.group_by(*factors).agg(pl.col(CLUSTER).n_unique())
    return {row[:-1]: int(row[-1]) for row in counts.rows() if NO_LEVEL not in row[:-1]}


def unlabelled(units: Units, models: Sequence[str], factors: Sequence[str]) -> float:
    """Return the share of the units of some models that lack a level of some factor."""
    frame = units.frame.filter(pl.col(ENTRY).is_in(list(models)))
    without = frame.filter(pl.any_horizontal(pl.col(name) == NO_LEVEL for name in factors))
    total = float(frame[N].sum())
    return float(without[N].sum()) / total if total else 0.0


def _summed(frame: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    # In a fixed order, so that sums do not hang on the order of the rows.
    return frame.group_by(CLUSTER, ENTRY, *factors).agg(pl.col(N, TOTAL).sum()).sort(CLUSTER, ENTRY, *factors)


def _one_way(
    table: EntryTable, clusters: Sequence[str], data: EvalData
) -> tuple[IntArray, tuple[str, ...], tuple[str, ...]]:
    """Return the codes of the coarsest clustering; every item on its own where there is none."""
    coded = {name: np.unique(table.every.codes(name), return_inverse=True)[1] for name in clusters}
    if not coded:
        return np.arange(table.every.items.height, dtype=np.int64), (), ()
    first = min(coded, key=lambda name: int(coded[name].max()))
    labels = {name: label_of(name, data.factor_names()) for name in coded}
    others = [labels[name] for name in coded if name != first]
    note = f"lab items also share {', '.join(others)}; errors are clustered by {labels[first]}, which has the fewest levels"
    return coded[first].astype(np.int64), (labels[first],), (note,) if others else ()


def _live_cluster(
    data: EvalData, rows: pl.DataFrame, cluster: str | Sequence[str] | None
) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """Return the column by which live rows share their errors, its name for a reader, and a note."""
    named = _listed(cluster)
    if named == ("none",):
        return None, (), ("live rows are taken as independent, as asked for",)
    if len(named) > 1:
        raise InputError(f"live rows take one cluster column, and {', '.join(named)} are named; name the widest")
    if named:
        return data.factor(named[0]), named, ()
    declared = data.runs["dependence"].explode().drop_nulls().unique().sort().to_list()
    for name in (*LIVE_CLUSTERS, *declared, "item"):
        if name in rows.columns and rows[name].null_count() < rows.height and rows[name].n_unique() < rows.height:
            return name, (label_of(name, data.factor_names()),), ()
    return None, (), (INDEPENDENT,)


def _lost(rows: pl.DataFrame, where: str) -> tuple[str, ...]:
    lost = int((rows["status"] != "scored").sum())
    if not lost:
        return ()
    return (f"{plural(lost, f'{where} row')} of {rows.height:,} without a score are left out",)


def _listed(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)
