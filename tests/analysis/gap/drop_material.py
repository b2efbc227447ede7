"""Material made by hand for gaps by scenario and forecasts by drop, without reading or matching anything."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.gap.material import Cells, CellSums, Material, Options, Side
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table
from evalstats.stats.errors_in_variables.scores import LabLiveScores, cluster_means


def names_of(n_models: int) -> tuple[str, ...]:
    return tuple(f"m{place:02d}" for place in range(n_models))


def sums_of(frame: pl.DataFrame, models: Sequence[str], levels: Sequence[tuple[str, ...]], factors: Sequence[str]):
    """Sums by cluster, model and cell of rows with `cluster`, `model`, `score` and the factors."""
    cells = {level: place for place, level in enumerate(levels)}
    cell = np.array([cells[row] for row in frame.select(factors).rows()], dtype=np.int64)
    model = np.array([models.index(name) for name in frame["model"]], dtype=np.int64)
    cluster = frame["cluster"].rank("dense").to_numpy().astype(np.int64) - 1
    return CellSums(
        cluster=cluster,
        model=model,
        cell=cell,
        n=np.ones(frame.height),
        total=frame["score"].to_numpy().astype(np.float64),
        n_clusters=int(cluster.max()) + 1,
        n_models=len(models),
        n_cells=len(levels),
    )


def side_of(frame: pl.DataFrame, models: Sequence[str], *, live: bool = False, **changes: object) -> Side:
    """The mean score of each model with clustered errors."""
    sums = sums_of(frame.with_columns(all=pl.lit("")), models, [("",)], ["all"])
    found = cluster_means(
        sums.cluster, sums.model, sums.n, sums.total, n_clusters=sums.n_clusters, n_models=len(models)
    )
    none = np.zeros(len(models), dtype=np.int64)
    side = Side(
        kind="outcomes",
        name="live" if live else "bench",
        metric="success",
        unit="pp",
        scale=100.0,
        metric_kind="binary",
        low=0.0,
        high=1.0,
        turned=False,
        models=tuple(models),
        estimate=found.estimate,
        covariance=found.covariance,
        marginal=False,
        df=found.df,
        n=np.bincount(sums.model, minlength=len(models)).astype(np.int64),
        n_clusters=found.n_clusters,
        clusters=("user",) if live else ("env_id",),
        rank_low=none,
        rank_high=none,
    )
    return replace(side, **changes)


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


def material_of(
    lab: pl.DataFrame,
    live: pl.DataFrame | None,
    *,
    factors: Sequence[str] = ("scenario",),
    options: Options | None = None,
    live_estimate: np.ndarray | None = None,
    live_covariance: np.ndarray | None = None,
) -> Material:
    """Both sides over the models of the lab; live users of whom only scores are known where `live` is None."""
    models = tuple(sorted(lab["model"].unique().to_list()))
    frames = [lab] if live is None else [lab, live]
    levels = sorted({row for frame in frames for row in frame.select(factors).rows()})
    lab_side = side_of(lab, models)
    if live is None:
        assert live_estimate is not None
        changes = {"estimate": live_estimate, "covariance": live_covariance, "df": None, "kind": "comparisons"}
        live_side = side_of(lab, models, live=True, **changes)
    else:
        live_side = side_of(live, models, live=True)
    cells = Cells(
        factors=tuple(factors),
        levels=tuple(levels),
        lab=sums_of(lab, models, levels, factors),
        live=None if live is None else sums_of(live, models, levels, factors),
    )
    return Material(
        models=models,
        lab=lab_side,
        live=live_side,
        same_scale=live is not None,
        scores=LabLiveScores(
            lab=lab_side.estimate,
            live=live_side.estimate,
            lab_covariance=lab_side.covariance,
            live_covariance=live_side.covariance,
        ),
        options=options or Options(),
        cells=cells,
        lab_data=outcomes_of(lab),
        live_data=None if live is None else outcomes_of(live, live=True),
    )


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
