"""Outcome rows reduced to one row for every arm x item: counts and sums, from which every statistic is computed.

Written once against narwhals, so that it runs where the rows are (Polars lazy or eager, DuckDB, PySpark); only the
small table is collected.
"""

from collections.abc import Sequence
from typing import Any, cast

import narwhals as nw
import polars as pl

from evalstats.schema.tables import as_polars

ITEM_KEY = ("task", "item", "variant")
# Helper columns begin with this, which no column of a result file does: a factor may be called anything else.
HELPER = "evalstats: "


def item_sums(outcomes: object, *, arm: str, key: Sequence[str] = ITEM_KEY) -> pl.DataFrame:
    """Count and sum the scores of every (arm, item).

    Parameters
    ----------
    outcomes
        Rows of one metric of one benchmark, in any frame that narwhals knows, lazy or not.
    arm
        Column that names what is compared.
    key
        Columns that name an item.

    Returns
    -------
    pl.DataFrame
        `arm`, the key, `n_scored` (trials with a score), `n_error`, `n_unscored`, `total` (sum of scores over trials) and
        `total_sq` (sum of their squares), sorted, so that the order of the rows given has no effect. A row that holds the
        average of k trials (`trial` null, `n_trials` k) counts k times.

    Examples
    --------
    >>> rows = {"model": ["m", "m"], "task": ["", ""], "item": ["q", "q"], "variant": ["", ""]}
    >>> item_sums({**rows, "score": [1.0, None], "status": ["scored", "error"]}, arm="model").row(0)[4:7]
    (1, 1, 0)
    """
    group = [arm, *[name for name in key if name != arm]]
    frame = _native(outcomes)
    trials = _trials(frame)
    parts = {
        "n_scored": (nw.col("status") == "scored").cast(nw.Int64) * trials,
        "n_error": (nw.col("status") == "error").cast(nw.Int64) * trials,
        "n_unscored": (nw.col("status") == "unscored").cast(nw.Int64) * trials,
        "total": nw.col("score") * trials,
        "total_sq": nw.col("score") * nw.col("score") * trials,
    }
    flagged = frame.with_columns(part.alias(f"{HELPER}{name}") for name, part in parts.items())
    summed = flagged.group_by(group).agg(nw.col(f"{HELPER}{name}").sum().alias(name) for name in parts)
    return as_polars(summed.to_native()).sort(group)


def constant_factors(outcomes: object, factors: Sequence[str], *, key: Sequence[str] = ITEM_KEY) -> pl.DataFrame:
    """Return the level of every factor for every item, as text; null where it varies within the item or is absent."""
    wanted = [name for name in factors if name not in key]
    if not wanted:
        return as_polars(_native(outcomes).select(list(key)).unique().to_native()).sort(list(key))
    # Under names of our own: Polars takes a column called "*" or "^a$" for a pattern, whatever is asked of it.
    safe = {name: f"{HELPER}{place}" for place, name in enumerate(wanted)}
    text = _native(outcomes).rename(safe).with_columns(nw.col(own).cast(nw.String) for own in safe.values())
    ends = text.group_by(list(key)).agg(
        *[nw.col(own).min().alias(f"{own} low") for own in safe.values()],
        *[nw.col(own).max().alias(f"{own} high") for own in safe.values()],
    )
    collected = as_polars(ends.to_native()).sort(list(key))
    levels = [
        pl.when(pl.col(f"{own} low") == pl.col(f"{own} high")).then(pl.col(f"{own} low")).alias(name)
        for name, own in safe.items()
    ]
    return collected.select(*key, *levels)


def _trials(frame: "nw.LazyFrame[Any]") -> nw.Expr:
    """How many trials a row stands for: `n_trials` where it is an average over trials, else one."""
    one = nw.lit(1, nw.Int64)
    if not {"trial", "n_trials"} <= set(frame.collect_schema().names()):
        return one
    averaged = nw.col("trial").is_null() & ~nw.col("n_trials").is_null()
    return nw.when(averaged).then(nw.col("n_trials").cast(nw.Int64)).otherwise(one)


def _native(frame: object) -> "nw.LazyFrame[Any]":
    known = frame if not isinstance(frame, dict) else as_polars(cast("object", frame))
    return nw.from_native(cast("Any", known)).lazy()
