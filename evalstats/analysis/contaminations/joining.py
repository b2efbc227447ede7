"""Two benchmarks as old and new items of one: a public one and its fresh counterpart."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from evalstats.aggregate.items import HELPER
from evalstats.analysis.contaminations.splitting import Levels
from evalstats.errors import InputError
from evalstats.schema.data import EvalData

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
