"""One definition of each metric, where several files describe it."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from evalstats.schema.columns import KEYS, schema_of

# Loaders tell a metric's kind from the scores they see, so one file of a pair may look narrower than the other.
_WIDTH = ("binary", "proportion", "bounded", "continuous")


def one_definition(metrics: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Merge rows of `metrics` that describe the same metric, and say where they contradict each other.

    What was seen in one file may be narrower than what was seen in another: the widest kind counts (binary, proportion,
    bounded, continuous), with bounds that hold for all. Direction and unit come from the first row that names them. Rows
    that give the metric two directions, or two different ranges, cannot both be true: they stay apart, and the metric
    is not analysed until one is declared.

    Returns
    -------
    merged : polars.DataFrame
        One row for each (benchmark, metric), in order of first appearance; several where they contradict each other.
    contradictions : list of str
        A sentence for each metric whose descriptions cannot all be true.

    Examples
    --------
    >>> row = {"benchmark": "b", "metric": "m", "low": 0.0, "high": 1.0, "higher_is_better": True, "primary": False}
    >>> seen = pl.DataFrame([{**row, "kind": "binary", "unit": None}, {**row, "kind": "bounded", "unit": None}])
    >>> one_definition(seen)[0]["kind"].to_list()
    ['bounded']
    """
    key = list(KEYS["metrics"])
    if not metrics.select(key).is_duplicated().any():
        return metrics, []
    contradictions: list[str] = []
    merged: list[dict[str, Any]] = []
    for _, group in metrics.group_by(key, maintain_order=True):
        rows = group.unique(maintain_order=True).to_dicts()
        disputes = [*contradicted(rows), *_other_words(rows)]
        merged.extend(rows if contradicted(rows) else [_merged(rows)])
        what = f"metric {rows[0]['metric']!r} of {rows[0]['benchmark']!r}"
        contradictions.extend(f"sources describe {what} differently: {text}" for text in disputes)
    return pl.DataFrame(merged, schema={**metrics.schema, **schema_of("metrics")}), contradictions


def contradicted(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say in what the descriptions of one metric cannot all be true: its direction, its range.

    Examples
    --------
    >>> sides = [{"higher_is_better": None, "low": 0.0, "high": high} for high in (1.0, 100.0)]
    >>> contradicted(sides)
    ['it runs from 0 to 1, and from 0 to 100']
    """
    rows = list(rows)
    found: list[str] = []
    if len({row["higher_is_better"] for row in rows} - {None}) > 1:
        found.append("more is better, and less is better")
    ranges = {(row["low"], row["high"]): None for row in rows if row["low"] is not None and row["high"] is not None}
    if len(ranges) > 1:
        found.append(f"it runs {', and '.join(f'from {low:g} to {high:g}' for low, high in ranges)}")
    return found


def _other_words(rows: list[dict[str, Any]]) -> list[str]:
    """Say where descriptions differ that hold beside each other: the first counts."""
    units = list(dict.fromkeys(row["unit"] for row in rows if row["unit"] is not None))
    kinds = list(dict.fromkeys(row["kind"] for row in rows if row["kind"] is not None))
    told = [("unit", units)] + ([("kind", kinds)] if "ordinal" in kinds else [])
    return [f"{name} is {said[0]!r} and {said[1]!r}" for name, said in told if len(said) > 1]


def _merged(rows: list[dict[str, Any]]) -> dict[str, Any]:
    first = rows[0]
    if len(rows) == 1:
        return first
    kinds = [row["kind"] for row in rows]
    kind = first["kind"] if "ordinal" in kinds else max(kinds, key=_WIDTH.index)
    lows = [row["low"] for row in rows]
    highs = [row["high"] for row in rows]
    units = [row["unit"] for row in rows if row["unit"] is not None and row["kind"] == kind]
    directions = [row["higher_is_better"] for row in rows if row["higher_is_better"] is not None]
    return {
        **first,
        "kind": kind,
        "low": None if None in lows else min(lows),
        "high": None if None in highs else max(highs),
        "higher_is_better": directions[0] if directions else None,
        "unit": units[0] if units else None,
        "primary": any(row["primary"] for row in rows),
    }


def with_facts(metrics: pl.DataFrame, key: tuple[str, str], facts: Mapping[str, object]) -> pl.DataFrame:
    """Return `metrics` with what the user declares of one metric in place of what the sources say.

    Examples
    --------
    >>> from evalstats.schema.tables import empty_table
    >>> with_facts(empty_table("metrics"), ("b", "wer"), {"higher_is_better": False}).select(
    ...     "metric", "higher_is_better"
    ... ).row(0)
    ('wer', False)
    """
    schema = {**metrics.schema, **schema_of("metrics")}
    own = (pl.col("benchmark") == key[0]) & (pl.col("metric") == key[1])
    rows = metrics.filter(own).to_dicts() or [{"benchmark": key[0], "metric": key[1], "primary": False}]
    told = pl.DataFrame([{**row, **facts} for row in rows], schema=schema)
    # Sources that contradicted each other in nothing but what is now declared are one again.
    return one_definition(pl.concat([metrics.filter(~own), told], how="diagonal_relaxed"))[0]
