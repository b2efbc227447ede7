"""What gap() has prepared before any question is asked, and the outcomes of a side summed by cluster and cell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from evalstats.analysis.design.clusters import chosen_clusters, label_of, named_clusters
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.gap.options import Scale
from evalstats.analysis.leaderboard.entries import ENTRY, EntryTable, entries_of, entry_table
from evalstats.analysis.provenance import run_notes, sources_of
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import many, plural, several
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.schema.data import EvalData
from evalstats.schema.tables import parts_of
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.errors_in_variables.scores import FEWEST_CLUSTERS, LabLiveScores, cluster_means
from evalstats.stats.many.ranks import rank_sets, rank_sets_normal
from evalstats.table.items import HELPER
from evalstats.table.metric import Direction
from evalstats.table.systems import System

SideKind = Literal["outcomes", "comparisons", "aggregates"]
# From the places of some models of a side, the best and the worst rank of each among them; zeros where ranks cannot be told.
RankSets = Callable[[Sequence[int]], tuple[IntArray, IntArray]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSums:
    """Outcomes of one side as weighted sums: one entry for each cluster x model x cell that has a score.

    A *cell* is a combination of levels of the factors that both sides have (scenario, user kind, language). Clusters
    are items of the lab, or groups of them, and live users. Codes count from 0; `n` sums weights (in the lab: item
    means).
    """

    cluster: IntArray
    model: IntArray
    cell: IntArray
    n: FloatArray
    total: FloatArray
    n_clusters: int
    n_models: int
    n_cells: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side: estimates of the models that both sides have, and what they rest on.

    Attributes
    ----------
    unit, scale
        Unit for words; factor from the metric's own numbers to shown ones (100 for a share).
    turned
        Whether less is better here, so that the sign is turned in `Material.scores`; `estimate` is in the metric's own direction.
    covariance, marginal
        Of the errors of `estimate`; None where none is known. Marginal: published variances alone, so that what models share is
        unknown: an upper bound of noise.
    df
        Degrees of freedom of the errors, where few clusters make them t; None for normal.
    n, n_clusters
        Items, sessions or votes behind each model; clusters behind each (0 where unknown).
    n_distinct
        Clusters of the first kind behind all these models together (0 where unknown): one user may meet several of them.
    rank_low, rank_high
        Rank set of each model among the shared ones; zeros where it cannot be told.
    only_here
        Models that the other side does not have, with their estimate and standard error (None where unknown).
    """

    kind: SideKind
    name: str
    metric: str
    unit: str
    scale: float
    metric_kind: str
    low: float | None = None
    high: float | None = None
    turned: bool = False
    models: tuple[str, ...]
    estimate: FloatArray
    covariance: FloatArray | None
    marginal: bool = False
    df: float | None = None
    n: IntArray
    n_clusters: IntArray
    n_distinct: int = 0
    clusters: tuple[str, ...] = ()
    rank_low: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rank_high: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    only_here: tuple[tuple[str, float, float | None], ...] = ()
    first_day: str | None = None
    last_day: str | None = None
    method: str = ""
    direction: Direction = "declared"
    sources: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()

    def std_error(self) -> FloatArray | None:
        """Return the marginal standard errors, or None."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Outcomes of both sides by cell, the combinations of `levels`; models are `Material.models`.

    `live` is None where only votes or published numbers are known of it: then a mix must be given (`Options.mix`).
    `joined` are levels that were taken together since too few live users stand behind each.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    lab: CellSums
    live: CellSums | None
    joined: tuple[str, ...] = ()

    def label(self, cell: int) -> str:
        """Name a cell for a reader."""
        return " / ".join(self.levels[cell])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What was asked; `margin` in the live metric's own unit, `mix` the shares of one factor given from outside."""

    conf_level: float = 0.95
    margin: float | None = None
    n_resamples: int = 2000
    top: tuple[int, ...] = (5, 10)
    seed: int = 0
    mix_factor: str | None = None
    mix: Mapping[str, float] = field(default_factory=dict[str, float])
    mix_source: str = ""
    scale: Scale = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Both sides over the models they share, under the live names, and what was asked.

    `scores` are both estimates with their covariances, turned so that more is better; a side whose link is "logit" is in logits
    there (for `scale_reason`), and `own_scores` has it as it is. `cells` are None where a side has
    no outcomes or they share no factor. `lab_data` and `live_data` are cut to the shared models and the metric in
    question.
    """

    models: tuple[str, ...]
    lab: Side
    live: Side
    same_scale: bool
    scores: LabLiveScores
    options: Options
    cells: Cells | None = None
    no_cells_reason: str | None = None
    lab_data: EvalData | None = None
    live_data: EvalData | None = None
    plain: LabLiveScores | None = None
    lab_link: Literal["identity", "logit"] = "identity"
    live_link: Literal["identity", "logit"] = "identity"
    scale_reason: str = ""

    @property
    def own_scores(self) -> LabLiveScores:
        """Scores in the metrics' own numbers, whatever the scale of the line."""
        return self.scores if self.plain is None else self.plain

    @property
    def n_models(self) -> int:
        """How many models both sides have."""
        return len(self.models)


CLUSTER = f"{HELPER}cluster"
N, TOTAL = f"{HELPER}n", f"{HELPER}total"
# Whichever of these the live rows have is what they share errors by, the widest first.
LIVE_CLUSTERS = ("user", "session")
NO_LEVEL = "(none)"
INDEPENDENT = Note(
    kind="dependence",
    text="No user or session has several live rows, so these count as independent; if people came back, intervals are too short",
    remedy=("Name what they share with ", Option("live_cluster")),
)
_WEIGHTS = "sampling weights, which are not used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Units of all models of one side.

    `frame` has one row for each cluster x model x combination of factors: CLUSTER, ENTRY, the factors as text, N and
    TOTAL; `rows` are the outcome rows behind them, with ENTRY. `table` and `codes` hold the lab's item values and their
    clusters.
    """

    metric: Metric
    frame: pl.DataFrame
    rows: pl.DataFrame
    n: dict[str, int]
    clusters: tuple[str, ...]
    runs: tuple[str, ...]
    table: EntryTable | None = None
    codes: IntArray | None = None
    notes: tuple[Note, ...] = ()


def lab_units(
    data: EvalData, *, metric: str | None, cluster: str | Sequence[str] | None, factors: Sequence[str]
) -> Units:
    """Reduce lab outcomes to item means.

    Items are clustered as `leaderboard` clusters them: by what was named or declared, and variants of one item together.
    Of several ways the one with the fewest levels counts.
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
        notes=(
            *table.measured.refusal(),
            *table.measured.notes("weakens"),
            *as_notes("dependence", (*told, *more), caution=False),
            *as_notes("choice", (*notes, *remarks), caution=False),
            *table.measured.notes("note"),
            *_lost(rows, "lab"),
        ),
    )


def live_units(
    data: EvalData, *, metric: str | None, cluster: str | Sequence[str] | None, factors: Sequence[str]
) -> Units:
    """Sum live outcomes by user, model and cell.

    Rows are clustered by what was named; else by user, session or item, whichever they have, in this order. A row without
    a level is a cluster of its own. Sampling weights count.
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
        alone_too = f"{plural(without, 'live row')} without a {column} each count as a cluster of their own"
        told = (*told, Note(kind="dependence", text=alone_too, caution=False))
    if scored["weight"].drop_nulls().n_unique() > 1:
        told = (*told, Note(kind="choice", text="Live rows carry sampling weights, which are used", caution=False))
    _check_weights(own)
    counts = own.group_by(ENTRY).len()
    return Units(
        metric=chosen,
        frame=_summed(own.select(CLUSTER, ENTRY, *factors, N, TOTAL), factors),
        rows=rows,
        n=dict(counts.iter_rows()),
        clusters=said,
        runs=tuple(sorted({run for arm in arms for run in arm.runs})),
        notes=(
            *told,
            *as_notes("choice", (*notes, *(each for each in _remarks(arms) if _WEIGHTS not in each)), caution=False),
            *_lost(rows, "live"),
        ),
    )


def _remarks(arms: Sequence[System]) -> tuple[str, ...]:
    """Return what was done to the rows of single systems, each thing said once."""
    by_text: dict[str, list[str]] = {}
    for arm in arms:
        for remark in arm.remarks:
            by_text.setdefault(remark.removeprefix(f"{arm.name}: "), []).append(arm.name)
    return tuple(f"{several(names, 3)}: {text}" for text, names in by_text.items())


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
    frame = units.frame.join(place, on=ENTRY, maintain_order="left")
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
) -> tuple[str | None, tuple[str, ...], tuple[Note, ...]]:
    """Return the column by which live rows share their errors, its name for a reader, and a note."""
    named = _listed(cluster)
    if named == ("none",):
        said = "Live rows count as independent, as asked"
        return None, (), (Note(kind="dependence", text=said, caution=False),)
    if len(named) > 1:
        raise InputError(f"live rows take one cluster column, and {', '.join(named)} are named; name the widest")
    if named:
        return data.factor(named[0]), named, ()
    declared = parts_of(data.runs["dependence"])
    for name in (*LIVE_CLUSTERS, *declared, "item"):
        if name in rows.columns and rows[name].null_count() < rows.height and rows[name].n_unique() < rows.height:
            return name, (label_of(name, data.factor_names()),), ()
    return None, (), (INDEPENDENT,)


def _lost(rows: pl.DataFrame, where: str) -> tuple[Note, ...]:
    lost = int((rows["status"] != "scored").sum())
    if not lost:
        return ()
    said = f"{lost:,} of {rows.height:,} {where} rows have no score and are left out"
    return (Note(kind="missing", text=said, caution=False),)


def _listed(names: str | Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str) else tuple(names)


_ENOUGH_CLUSTERS = 40  # for a normal law of ranks
_STEADY = 20  # equal clusters, from which a standard error is known well enough
_RANK_DRAWS = 4_999  # rank sets are shown beside the answer, and decide nothing


def outcome_side(
    data: EvalData,
    *,
    live: bool,
    metric: str | None,
    cluster: str | Sequence[str] | None,
    factors: Sequence[str],
    least: int = FEWEST_CLUSTERS,
) -> tuple[Side, RankSets, Units]:
    """Score every model of one side.

    A model with fewer than five clusters has no error that could be believed, and is not scored; neither is one with fewer
    than `least`, where so few people must not be told of.
    """
    least = max(least, FEWEST_CLUSTERS)
    units = (live_units if live else lab_units)(data, metric=metric, cluster=cluster, factors=factors)
    per_model = units.frame.group_by(ENTRY).agg(pl.col(CLUSTER).n_unique()).sort(ENTRY)
    kept = per_model.filter(pl.col(CLUSTER) >= least)[ENTRY].to_list()
    few = per_model.filter(pl.col(CLUSTER) < least)[ENTRY].to_list()
    what = units.clusters[0] if units.clusters else ("row" if live else "item")
    where = "live" if live else "lab"
    if not kept:
        raise CannotAnswerError(
            f"no model of the {where} has {least} {what}s with a score; at least that many are needed"
        )
    sums = cell_sums(units, kept, (), ())
    found = cluster_means(
        sums.cluster, sums.model, sums.n, sums.total, n_clusters=sums.n_clusters, n_models=sums.n_models
    )
    counts = np.array([units.n[name] for name in kept], dtype=np.int64)
    covariance, floored = _without_zero_variance(found.covariance, found.estimate, found.n_clusters, units)
    left = _not_scored(few, least, what, where)
    side = Side(
        kind="outcomes",
        name=units.metric.benchmark,
        metric=units.metric.name,
        unit=units.metric.score_unit,
        scale=units.metric.scale,
        metric_kind=units.metric.kind,
        low=units.metric.low,
        high=units.metric.high,
        turned=not units.metric.higher_is_better,
        direction=units.metric.direction,
        models=tuple(kept),
        estimate=found.estimate,
        covariance=covariance,
        df=found.df,
        n=counts,
        n_clusters=found.n_clusters,
        clusters=units.clusters,
        first_day=day_of(units.rows["timestamp"].min()),
        last_day=day_of(units.rows["timestamp"].max()),
        method=_method(units, live=live),
        sources=sources_of(data, units.runs),
        notes=(
            *run_notes(data, units.runs),
            *units.metric.cautions,
            *units.notes,
            *left,
            *_few(found.n_clusters, found.df, what, where),
            *_floored(kept, floored, where),
        ),
    )
    return side, _ranks(units, side), units


def _without_zero_variance(
    covariance: FloatArray | None, estimate: FloatArray, n_clusters: IntArray, units: Units
) -> tuple[FloatArray | None, IntArray]:
    """Give a model whose scores are all alike the variance of a share with one success and one failure more.

    A score of 100 of 100 is not known exactly; without this it would be the one point that every line has to pass through.
    """
    if covariance is None or units.metric.span is None or units.metric.low is None:
        return covariance, np.zeros(0, dtype=np.int64)
    flat = np.flatnonzero(np.diag(covariance) <= 1e-12 * units.metric.span**2)
    if not flat.size:
        return covariance, flat
    n = n_clusters[flat].astype(np.float64)
    share = ((estimate[flat] - units.metric.low) / units.metric.span * n + 1.0) / (n + 2.0)
    own = covariance.copy()
    own[flat, flat] = share * (1.0 - share) / n * units.metric.span**2
    return own, flat


def _ranks(units: Units, side: Side) -> RankSets:
    """Return rank sets from the items in the lab, from the normal law for many live users."""

    def sets(at: Sequence[int]) -> tuple[IntArray, IntArray]:
        if units.table is None:
            many_users = int(side.n_clusters[list(at)].min()) >= _ENOUGH_CLUSTERS
            return normal_ranks(side, at) if many_users else no_ranks(len(at))
        columns = [units.table.names.index(side.models[j]) for j in at]
        values = (-1.0 if side.turned else 1.0) * units.table.values.values[:, columns]
        found = rank_sets(values, clusters=units.codes if units.clusters else None, marginal=False)
        return no_ranks(len(at)) if found.reason else (found.low, found.high)

    return sets


def normal_ranks(side: Side, at: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return the rank sets of the models at some places among themselves, by the normal law."""
    if side.covariance is None:
        return no_ranks(len(at))
    sign = -1.0 if side.turned else 1.0
    covariance = side.covariance[np.ix_(at, at)]
    found = rank_sets_normal(sign * side.estimate[list(at)], covariance, n_resamples=_RANK_DRAWS, marginal=False)
    return no_ranks(len(at)) if found.reason else (found.low, found.high)


def no_ranks(n: int) -> tuple[IntArray, IntArray]:
    """Return the zeros that stand for ranks that cannot be told."""
    none = np.zeros(n, dtype=np.int64)
    return none, none


def _method(units: Units, *, live: bool) -> str:
    unit = "rows" if live else "item means"
    shared = f"errors clustered by {units.clusters[0]}" if units.clusters else f"{unit} as independent"
    return f"mean of {unit}, {shared} and shared between models"


def _not_scored(few: Sequence[str], least: int, what: str, where: str) -> tuple[Note, ...]:
    if not few:
        return ()
    has, is_ = ("has", "is") if len(few) == 1 else ("have", "are")
    said = f"{several(few)} {has} fewer than {least} {many(what)} in the {where} data and {is_} not scored"
    return (Note(kind="left_out", text=said),)


def _few(n_clusters: IntArray, df: float | None, what: str, where: str) -> tuple[Note, ...]:
    """Warn where errors rest on few clusters, or on many of which a few hold most rows."""
    least = int(n_clusters.min())
    worth = least if df is None else min(least, round(df) + 1)
    if worth >= _STEADY:
        return ()
    unequal = "" if worth >= least else f" (worth about {worth} equal ones)"
    said = f"A model of the {where} data rests on only {plural(least, what)}{unequal}, so tests find too much"
    return (Note(kind="few", text=said, remedy=f"Score more {many(what)}"),)


def _floored(models: Sequence[str], flat: IntArray, where: str) -> tuple[Note, ...]:
    if not flat.size:
        return ()
    names = several([models[int(j)] for j in flat])
    have = "has one and the same" if flat.size == 1 else "have one and the same"
    said = (
        f"{names} {have} score on every {where} unit; the error is taken as if one success and one failure were added"
    )
    return (Note(kind="few", text=said, caution=False),)


def day_of(moment: object) -> str | None:
    """Return the day of a date or a moment, as text."""
    return None if moment is None else str(moment)[:10]
