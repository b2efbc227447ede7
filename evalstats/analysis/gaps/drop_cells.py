"""Lab outcomes as scores with ideal users and differences to them, model by model and behaviour by behaviour."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.aggregate.items import item_sums
from evalstats.analysis.gaps.behaviours import Behaviours, LiveShares
from evalstats.analysis.gaps.material import Material, Side
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, IntArray
from evalstats.stats.gap.drop_line import Drops
from evalstats.stats.gap.scenario_cells import CellRates, cell_rates, combined

_ITEM = ("benchmark", "task", "item")
_LEVEL, _CLUSTER = "evalstats: level", "evalstats: cluster"
_PAIRED_FROM = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LabDrops:
    """The lab by model: cell 0 holds ideal items, each other cell one behaviour (differences to ideal where paired).

    `paired` and `weights` have one entry for each behaviour; `keep` are places in `Material.models`.
    """

    models: tuple[str, ...]
    keep: IntArray
    rates: CellRates
    paired: np.ndarray
    warnings: tuple[str, ...]


def lab_drops(material: Material, behaviours: Behaviours, rows: pl.DataFrame, shares: LiveShares) -> LabDrops:
    """Bring the lab's items into cells: ideal, and one for each behaviour that live users show."""
    used = [name for name, weight in zip(behaviours.others, shares.weights, strict=True) if weight > 0.0]
    table = _wide(material, behaviours, rows, used)
    values = table.select(behaviours.ideal, *used).to_numpy().astype(np.float64)
    paired, told = _paired(values, used)
    values[:, 1:] = np.where(paired, values[:, 1:] - values[:, :1], values[:, 1:])
    model = np.array([material.models.index(name) for name in table["model"]], dtype=np.int64)
    cluster = table[_CLUSTER].rank("dense").to_numpy().astype(np.int64) - 1
    keep, left = _enough(values, model, cluster, material.models)
    place = np.full(material.n_models, -1, dtype=np.int64)
    place[keep] = np.arange(keep.size)
    row, cell = np.nonzero(np.isfinite(values) & (place[model] >= 0)[:, np.newaxis])
    rates = cell_rates(
        cluster[row],
        place[model[row]],
        cell.astype(np.int64),
        np.ones(row.size),
        values[row, cell],
        n_clusters=int(cluster.max()) + 1,
        n_models=keep.size,
        n_cells=values.shape[1],
        low=material.lab.low,
        high=material.lab.high,
    )
    return LabDrops(
        models=tuple(material.models[int(at)] for at in keep),
        keep=keep,
        rates=_with_floors(rates, paired, material.lab),
        paired=paired,
        warnings=(*told, *left),
    )


def _wide(material: Material, behaviours: Behaviours, rows: pl.DataFrame, used: Sequence[str]) -> pl.DataFrame:
    """One row for each model x base item, with its cluster and its mean score at each level; null where not played."""
    own = rows.with_columns(
        pl.col(behaviours.column).cast(pl.String).alias(_LEVEL), _cluster(material, rows).alias(_CLUSTER)
    ).filter(pl.col("model").is_in(list(material.models)), pl.col(_LEVEL).is_in([behaviours.ideal, *used]))
    sums = item_sums(own, arm="model", key=(*_ITEM, _CLUSTER, _LEVEL))
    means = sums.filter(pl.col("n_scored") > 0).with_columns((pl.col("total") / pl.col("n_scored")).alias("score"))
    wide = means.pivot(on=_LEVEL, index=["model", *_ITEM, _CLUSTER], values="score")
    missing = [name for name in (behaviours.ideal, *used) if name not in wide.columns]
    if missing:
        raise CannotAnswerError(f"no shared model has a lab score with {', '.join(map(repr, missing))} users")
    return wide.sort("model", *_ITEM, _CLUSTER)


def _cluster(material: Material, rows: pl.DataFrame) -> pl.Expr:
    """By what the lab's errors are clustered; the base item where nothing else is known."""
    item = pl.concat_str([pl.col(name).cast(pl.String).fill_null("") for name in _ITEM], separator="\x1f")
    for name in material.lab.clusters:
        try:
            column = name if material.lab_data is None else material.lab_data.factor(name)
        except InputError:
            continue
        if column != "item" and rows[column].null_count() < rows.height:
            return pl.coalesce(pl.col(column).cast(pl.String), item)
    return item


def _paired(values: FloatArray, used: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Tell which behaviours were played on the items of ideal users."""
    ideal = np.isfinite(values[:, 0])
    played = np.isfinite(values[:, 1:])
    twins = (played & ideal[:, np.newaxis]).sum(axis=0)
    paired = twins >= _PAIRED_FROM * np.maximum(played.sum(axis=0), 1)
    lost = int((played & ~ideal[:, np.newaxis])[:, paired].sum())
    told: list[str] = []
    if lost:
        told.append(f"{lost:,} scores with non-ideal users have no twin with ideal ones and are left out of the drops")
    if not paired.all():
        names = ", ".join(repr(name) for name, yes in zip(used, paired.tolist(), strict=True) if not yes)
        told.append(f"{names}: other items than with ideal users, so the drop may come from the items")
    return np.asarray(paired, dtype=np.bool_), tuple(told)


def _enough(
    values: FloatArray, model: IntArray, cluster: IntArray, models: Sequence[str]
) -> tuple[IntArray, tuple[str, ...]]:
    """Keep the models that have five clusters of scores with ideal users and with each behaviour."""
    counts = np.array(
        [
            [np.unique(cluster[(model == m) & np.isfinite(column)]).size for column in values.T]
            for m in range(len(models))
        ]
    )
    keep = np.flatnonzero((counts >= FEW_CLUSTERS).all(axis=1)).astype(np.int64)
    if not keep.size:
        raise CannotAnswerError(
            f"no model has {FEW_CLUSTERS} clusters of lab items with ideal users and with every other behaviour that live "
            "users show; that many are needed for the error of a drop"
        )
    left = [name for at, name in enumerate(models) if at not in keep]
    if not left:
        return keep, ()
    names = ", ".join(left[:4]) + (f" and {len(left) - 4} more" if len(left) > 4 else "")
    return keep, (f"{names}: fewer than {FEW_CLUSTERS} clusters of some behaviour in the lab, so no drop",)


def _with_floors(rates: CellRates, paired: np.ndarray, side: Side) -> CellRates:
    """Give a difference that is the same on every item the variance of one step up and one step down more."""
    n_models, n_cells = rates.rate.shape
    flat = np.asarray(rates.residual.power(2).sum(axis=0)).ravel().reshape(n_models, n_cells) == 0.0
    flat[:, 1:] &= paired
    flat[:, 0] = False
    k = rates.n_clusters[flat].astype(np.float64)
    floor = rates.floor.reshape(n_models, n_cells).copy()
    if side.low is not None and side.high is not None:
        floor[flat] = 2.0 * (side.high - side.low) ** 2 / (k * (k + 2.0))
    return replace(rates, floor=floor.ravel())


def weights_of(lab: LabDrops, used: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weights of cells that make ideal scores and drops, each of shape (n_models, n_models * n_cells)."""
    n_models, n_cells = lab.rates.rate.shape
    own = np.concatenate([[-float(used[~lab.paired].sum())], used])
    ideal: FloatArray = np.zeros((n_models, n_models * n_cells))
    drop: FloatArray = np.zeros((n_models, n_models * n_cells))
    for at in range(n_models):
        ideal[at, at * n_cells] = 1.0
        drop[at, at * n_cells : (at + 1) * n_cells] = own
    return ideal, drop


def drops_of(lab: LabDrops, weights: FloatArray) -> Drops:
    """Average the behaviours in their live shares: ideal scores and drops with the covariance of their errors.

    Raises
    ------
    CannotAnswerError
        If the error of a drop is unknown.
    """
    ideal, drop = weights_of(lab, weights[weights > 0.0])
    found = combined(lab.rates, np.vstack([ideal, drop]))
    n = lab.keep.size
    flat = np.flatnonzero(~(np.diag(found.covariance)[n:] > 0.0))
    if flat.size:
        raise CannotAnswerError(
            f"{lab.models[int(flat[0])]} has the same difference on every item, and the metric has no bounds to say what else "
            "could have been; the error of its drop is unknown"
        )
    return Drops(
        ideal=found.estimate[:n],
        drop=found.estimate[n:],
        covariance=found.covariance,
        df=np.minimum(found.df[:n], found.df[n:]),
    )


def by_behaviour(lab: LabDrops, weights: FloatArray) -> FloatArray:
    """Mean drop over models of each behaviour; 0 for one that live users never show."""
    rate = lab.rates.rate.mean(axis=0)
    drops = np.zeros(weights.size)
    drops[weights > 0.0] = np.where(lab.paired, rate[1:], rate[1:] - rate[0])
    return drops
