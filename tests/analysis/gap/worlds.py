"""Sides and shared models made by hand, without reading or matching anything."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.gap.shared_models import SharedCells, SharedModels
from evalstats.analysis.gap.side_scores import SideScores
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table
from evalstats.stats.errors_in_variables.scores import LabLiveScores, cluster_means
from evalstats.stats.standardisation import CellTable, cell_table
from evalstats.table.metric import MetricFacts


def names_of(n_models: int) -> tuple[str, ...]:
    return tuple(f"m{place:02d}" for place in range(n_models))


def about(**changes: object) -> MetricFacts:
    """Success in a benchmark."""
    plain: dict[str, object] = {"low": None, "high": None, "higher_is_better": True, "unit": ""}
    return MetricFacts(**{"benchmark": "bench", "name": "success", "kind": "binary", **plain, **changes})


def side(estimate: np.ndarray, covariance: np.ndarray | None = None, **changes: object) -> SideScores:
    """One side by success, as it is told of a benchmark; the models are m0, m1, ..."""
    none = np.zeros(len(estimate), dtype=np.int64)
    plain: dict[str, object] = {
        "kind": "outcomes", "about": about(),
        "models": tuple(f"m{j}" for j in range(len(estimate))), "n": none, "n_clusters": none,
    }  # fmt: skip
    return SideScores(estimate=estimate, covariance=covariance, **{**plain, **changes})


def shared_of(lab: SideScores, live: SideScores, **changes: object) -> SharedModels:
    """Both sides over the same models, which have the lab's names."""
    scores = LabLiveScores(
        lab=lab.sign * lab.estimate,
        live=live.sign * live.estimate,
        lab_covariance=lab.covariance,
        live_covariance=live.covariance,
    )
    plain: dict[str, object] = {"models": lab.models, "same_scale": True, "scores": scores}
    return SharedModels(lab=lab, live=live, **{**plain, **changes})


def sums_of(
    frame: pl.DataFrame, models: Sequence[str], levels: Sequence[tuple[str, ...]], factors: Sequence[str]
) -> CellTable:
    """Sums by cluster, model and cell of rows with `cluster`, `model`, `score` and the factors."""
    cells = {level: place for place, level in enumerate(levels)}
    cell = [cells[row] for row in frame.select(factors).rows()]
    model = [models.index(name) for name in frame["model"]]
    cluster = frame["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    ones = np.ones(frame.height)
    return cell_table(cluster, model, cell, ones, frame["score"], n_models=len(models), n_cells=len(levels))


def side_of(frame: pl.DataFrame, models: Sequence[str], *, live: bool = False, **changes: object) -> SideScores:
    """The mean score of each model with clustered errors."""
    sums = sums_of(frame.with_columns(all=pl.lit("")), models, [("",)], ["all"])
    found = cluster_means(
        sums.cluster, sums.model, sums.n, sums.total, n_clusters=sums.n_clusters, n_models=len(models)
    )
    plain: dict[str, object] = {
        "about": about(benchmark="live" if live else "bench", low=0.0, high=1.0),
        "models": tuple(models),
        "df": found.df,
        "n": np.bincount(sums.model, minlength=len(models)).astype(np.int64),
        "n_clusters": found.n_clusters,
        "clusters": ("user",) if live else ("env_id",),
    }
    return replace(side(found.estimate, found.covariance, **plain), **changes)


def outcomes_of(frame: pl.DataFrame, *, live: bool = False) -> EvalData:
    """Tidy outcomes of rows with `cluster`, `model`, `item`, `score`, `scenario`, `user_kind`."""
    own = {"user": pl.col("cluster").cast(pl.String)} if live else {"env_id": pl.col("cluster").cast(pl.String)}
    tidy = frame.with_columns(
        run=pl.col("model"),
        system=pl.col("model"),
        benchmark=pl.lit("live" if live else "bench"),
        task=pl.lit(""),
        item=pl.lit(None, dtype=pl.String) if "item" not in frame.columns else pl.col("item").cast(pl.String),
        variant=pl.col("scenario") if "scenario" in frame.columns else pl.lit(""),
        trial=pl.lit(0),
        metric=pl.lit("success"),
        status=pl.when(pl.col("score").is_null()).then(pl.lit("error")).otherwise(pl.lit("scored")),
        setting=pl.lit("live" if live else "lab"),
        **own,
    ).drop("cluster")
    return EvalData(outcomes=check_table(tidy, "outcomes"))


def made_of(
    lab: pl.DataFrame,
    live: pl.DataFrame | None,
    *,
    factors: Sequence[str] = ("scenario",),
    live_estimate: np.ndarray | None = None,
    live_covariance: np.ndarray | None = None,
    **asked: object,
) -> SharedModels:
    """Both sides over the models of the lab; live users of whom only scores are known where `live` is None."""
    models = tuple(sorted(lab["model"].unique().to_list()))
    frames = [lab] if live is None else [lab, live]
    levels = sorted({row for frame in frames for row in frame.select(factors).rows()})
    if live is None:
        assert live_estimate is not None
        changes = {"estimate": live_estimate, "covariance": live_covariance, "df": None, "kind": "comparisons"}
        live_side = side_of(lab, models, live=True, **changes)
    else:
        live_side = side_of(live, models, live=True, data=outcomes_of(live, live=True))
    cells = SharedCells(
        factors=tuple(factors),
        levels=tuple(levels),
        lab=sums_of(lab, models, levels, factors),
        live=None if live is None else sums_of(live, models, levels, factors),
    )
    lab_side = side_of(lab, models, data=outcomes_of(lab))
    return shared_of(lab_side, live_side, same_scale=live is not None, cells=cells, **asked)


def world(
    rng: np.random.Generator,
    rates: np.ndarray,
    *,
    models: Sequence[str],
    scenarios: Sequence[str],
    n_clusters: int,
    per_cluster: int = 2,
    spread: float = 0.1,
    kinds: Mapping[str, str] | None = None,
    crossed: bool = True,
) -> pl.DataFrame:
    """Successes whose chances share a cluster effect.

    `rates` has shape (n_models, n_scenarios). Crossed: every item of every cluster is given to all models in all scenarios, as
    a benchmark is. Else each cluster is a user with `per_cluster` rows of random model and scenario.
    """
    n_models, n_scenarios = rates.shape
    if crossed:
        shape = (n_clusters, per_cluster, n_models, n_scenarios)
        cluster, item, model, scenario = (at.ravel() for at in np.indices(shape))
        item = cluster * per_cluster + item
    else:
        cluster = np.repeat(np.arange(n_clusters), per_cluster)
        item = np.arange(cluster.size)
        model = rng.integers(n_models, size=cluster.size)
        scenario = rng.integers(n_scenarios, size=cluster.size)
    effect = rng.uniform(-spread, spread, size=n_clusters)
    score = (rng.random(cluster.size) < rates[model, scenario] + effect[cluster]).astype(np.float64)
    frame = pl.DataFrame(
        {
            "cluster": cluster,
            "item": [f"i{at}" for at in item],
            "model": np.array(models)[model],
            "scenario": np.array(list(scenarios))[scenario],
            "score": score,
        }
    )
    kinds = kinds or {}
    return frame.with_columns(user_kind=pl.col("scenario").replace_strict(kinds, default=None, return_dtype=pl.String))
