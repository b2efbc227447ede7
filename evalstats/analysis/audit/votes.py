"""Votes against one opponent as scores: an item's preference for the model that was held against it (AlpacaEval)."""

from dataclasses import replace

import polars as pl

from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table
from evalstats.table.items import HELPER

_MODEL, _OPPONENT, _SHARE = f"{HELPER}model", f"{HELPER}opponent", f"{HELPER}share"
_SHARES = {"a": 1.0, "b": 0.0, "tie": 0.5, "both_bad": 0.5}


def with_scores_of_votes(data: EvalData) -> EvalData:
    """Return data that hold votes and no scores with every vote of a run against one opponent as a score of the other model.

    The metric is named by the opponent, so that no two are mixed. Votes between changing models stay votes.

    >>> votes = {
    ...     "run": ["r1", "r2"],
    ...     "battle": ["0", "0"],
    ...     "item": ["q", "q"],
    ...     "model_a": ["base", "base"],
    ...     "model_b": ["x", "y"],
    ...     "outcome": ["b", "tie"],
    ...     "status": ["scored", "scored"],
    ... }
    >>> found = with_scores_of_votes(EvalData(comparisons=check_table(votes, "comparisons")))
    >>> found.outcomes.select("model", "metric", "score").rows()
    [('x', 'preference to base', 1.0), ('y', 'preference to base', 0.5)]
    """
    votes = data.comparisons.filter(pl.col("item").is_not_null())
    if data.outcomes.height or not votes.height:
        return data
    sided = votes.join(_opponents(votes), on="run", how="inner").filter(
        (pl.col("model_a") == pl.col(_OPPONENT)) != (pl.col("model_b") == pl.col(_OPPONENT))
    )
    if not sided.height:
        return data
    benchmarks = data.runs.select("run", "benchmark").unique("run")
    is_a = pl.col("model_a") != pl.col(_OPPONENT)
    for_a = pl.coalesce("preference", pl.col("outcome").replace_strict(_SHARES, return_dtype=pl.Float64, default=None))
    model = pl.when(is_a).then("model_a").otherwise("model_b")
    scored = sided.join(benchmarks, on="run", how="left").with_columns(
        pl.when(is_a).then(for_a).otherwise(1.0 - for_a).alias(_SHARE), model.alias(_MODEL)
    )
    outcomes = scored.select(
        "run",
        pl.col(_MODEL).alias("model"),
        pl.col(_MODEL).alias("system"),
        pl.col("benchmark").fill_null("votes"),
        "item",
        pl.col("battle").cum_count().over("run", _MODEL, "item", "judge").sub(1).cast(pl.Int64).alias("trial"),
        pl.concat_str(pl.lit("preference to "), pl.col(_OPPONENT)).alias("metric"),
        pl.when(pl.col("status") == "scored").then(_SHARE).alias("score"),
        pl.when((pl.col("status") == "scored") & pl.col(_SHARE).is_null())
        .then(pl.lit("unscored"))
        .otherwise("status")
        .alias("status"),
        "status_reason",
        "value_raw",
        "judge",
        "scenario",
        "setting",
        "timestamp",
    )
    return replace(data, outcomes=check_table(outcomes, "outcomes"), metrics=_metrics(outcomes))


def _opponents(votes: pl.DataFrame) -> pl.DataFrame:
    """Return, for each run, the model that is in all of its votes: of two such, the one that is in more runs."""
    sides = pl.concat([votes.select("run", pl.col(side).alias(_OPPONENT)) for side in ("model_a", "model_b")])
    counted = (
        sides.group_by("run", _OPPONENT).len().with_columns(pl.col("run").n_unique().over(_OPPONENT).alias("runs"))
    )
    whole = counted.join(votes.group_by("run").len(name="votes"), on="run").filter(pl.col("len") == pl.col("votes"))
    return (
        whole.sort("run", "runs", descending=[False, True])
        .filter(pl.col("runs") == pl.col("runs").max().over("run"))
        .filter(pl.len().over("run") == 1)
        .select("run", _OPPONENT)
    )


def _metrics(outcomes: pl.DataFrame) -> pl.DataFrame:
    rows = outcomes.select("benchmark", "metric").unique().sort("benchmark", "metric")
    facts = {"kind": "bounded", "low": 0.0, "high": 1.0, "higher_is_better": True, "primary": True}
    return check_table(rows.with_columns(pl.lit(value).alias(name) for name, value in facts.items()), "metrics")
