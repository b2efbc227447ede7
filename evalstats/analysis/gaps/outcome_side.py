"""One side made of outcomes: a mean score for every model, with errors clustered and shared between models."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from evalstats.analysis.boards.entries import ENTRY
from evalstats.analysis.gaps.material import RankSets, Side
from evalstats.analysis.gaps.units import CLUSTER, TOTAL, N, Units, lab_units, live_units
from evalstats.analysis.provenance import notes_of, sources_of
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError
from evalstats.schema.data import EvalData
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.gap.cluster_means import FEWEST_CLUSTERS, cluster_means
from evalstats.stats.many.ranks import rank_sets, rank_sets_normal

_ENOUGH_CLUSTERS = 40  # for a normal law of ranks
_NAMED = 4
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

    Raises
    ------
    InputError
        If a name is unknown or ambiguous.
    CannotAnswerError
        If no model has a score from enough clusters.
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
    cluster_codes, model, n, total, n_clusters = _codes(units.frame, kept)
    found = cluster_means(cluster_codes, model, n, total, n_clusters=n_clusters, n_models=len(kept))
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
        marginal=False,
        df=found.df,
        n=counts,
        n_clusters=found.n_clusters,
        clusters=units.clusters,
        rank_low=np.zeros(len(kept), dtype=np.int64),
        rank_high=np.zeros(len(kept), dtype=np.int64),
        first_day=_day(units.rows, first=True),
        last_day=_day(units.rows, first=False),
        method=_method(units, live=live),
        rows=units.rows,
        sources=sources_of(data, units.runs),
        warnings=(
            *units.metric.cautions,
            *units.warnings,
            *left,
            *_few(found.n_clusters, found.df, what, where),
            *_floored(kept, floored, where),
        ),
        notes=(*units.notes, *notes_of(data, units.runs)),
    )
    return side, _ranks(units, side), units


def _codes(frame: pl.DataFrame, models: Sequence[str]) -> tuple[IntArray, IntArray, FloatArray, FloatArray, int]:
    place = pl.DataFrame({ENTRY: list(models), "_model": range(len(models))}, schema_overrides={ENTRY: pl.String})
    own = frame.join(place, on=ENTRY, maintain_order="left")
    cluster = own[CLUSTER].rank("dense").to_numpy().astype(np.int64) - 1
    return (
        cluster,
        own["_model"].to_numpy().astype(np.int64),
        own[N].to_numpy().astype(np.float64),
        own[TOTAL].to_numpy().astype(np.float64),
        int(cluster.max(initial=-1)) + 1,
    )


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
    sign = -1.0 if side.turned else 1.0

    def sets(at: Sequence[int]) -> tuple[IntArray, IntArray]:
        none = np.zeros(len(at), dtype=np.int64)
        if len(at) < 2 or side.covariance is None:
            return none, none
        if units.table is not None:
            columns = [units.table.names.index(side.models[j]) for j in at]
            values = sign * units.table.values.values[:, columns]
            found = rank_sets(values, clusters=units.codes if units.clusters else None)
        elif int(side.n_clusters[list(at)].min()) >= _ENOUGH_CLUSTERS:
            found = rank_sets_normal(
                sign * side.estimate[list(at)], side.covariance[np.ix_(at, at)], n_resamples=_RANK_DRAWS
            )
        else:
            return none, none
        return (none, none) if found.reason else (found.low, found.high)

    return sets


def _method(units: Units, *, live: bool) -> str:
    unit = "rows" if live else "item means"
    shared = f"errors clustered by {units.clusters[0]}" if units.clusters else f"{unit} as independent"
    return f"mean of {unit}, {shared} and shared between models"


def _not_scored(few: Sequence[str], least: int, what: str, where: str) -> tuple[str, ...]:
    if not few:
        return ()
    has, is_ = ("has", "is") if len(few) == 1 else ("have", "are")
    return (f"{_some(few)} {has} fewer than {least} {what}s in the {where} data and {is_} not scored",)


def _few(n_clusters: IntArray, df: float | None, what: str, where: str) -> tuple[str, ...]:
    """Warn where errors rest on few clusters, or on many of which a few hold most rows."""
    least = int(n_clusters.min())
    worth = least if df is None else min(least, round(df) + 1)
    if worth >= _STEADY:
        return ()
    unequal = "" if worth >= least else f", so unequal that they are worth about {worth} equal ones"
    said = (
        f"a model of the {where} data rests on {plural(least, what)} only{unequal}: its standard error is itself uncertain, and "
        "tests that take it as known find too much"
    )
    return (said,)


def _floored(models: Sequence[str], flat: IntArray, where: str) -> tuple[str, ...]:
    if not flat.size:
        return ()
    names = _some([models[int(j)] for j in flat])
    return (
        f"{names}: all scores in the {where} data are alike; their error is that of one success and one failure more",
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _day(rows: pl.DataFrame, *, first: bool) -> str | None:
    if "timestamp" not in rows.columns or rows["timestamp"].null_count() == rows.height:
        return None
    found = rows["timestamp"].min() if first else rows["timestamp"].max()
    return str(found)[:10]
