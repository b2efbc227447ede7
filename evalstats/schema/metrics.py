"""One definition of each metric, where several files describe it."""

from typing import Any

import polars as pl

from evalstats.schema.columns import KEYS, schema_of

# Loaders tell a metric's kind from the scores they see, so one file of a pair may look narrower than the other.
_WIDTH = ("binary", "proportion", "bounded", "continuous")


def one_definition(metrics: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Merge rows of `metrics` that describe the same metric, and say where they contradict each other.

    What was seen in one file may be narrower than what was seen in another: the widest kind counts (binary, proportion,
    bounded, continuous), with bounds that hold for all. Direction and unit come from the first row that names them.

    Returns
    -------
    merged : polars.DataFrame
        One row for each (benchmark, metric), in order of first appearance.
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
        merged.append(_merged(rows))
        for name in ("higher_is_better", "unit", "kind"):
            said = list(dict.fromkeys(row[name] for row in rows if row[name] is not None))
            if name == "kind":
                said = said if "ordinal" in said and len(said) > 1 else []
            if len(said) > 1:
                what = f"metric {rows[0]['metric']!r} of {rows[0]['benchmark']!r}"
                contradictions.append(f"sources describe {what} differently: {name} is {said[0]!r} and {said[1]!r}")
    return pl.DataFrame(merged, schema={**metrics.schema, **schema_of("metrics")}), contradictions


def _merged(rows: list[dict[str, Any]]) -> dict[str, Any]:
    first = rows[0]
    if len(rows) == 1:
        return first
    kinds = [row["kind"] for row in rows]
    kind = first["kind"] if "ordinal" in kinds else max(kinds, key=_WIDTH.index)
    lows = [row["low"] for row in rows]
    highs = [row["high"] for row in rows]
    units = [row["unit"] for row in rows if row["unit"] is not None and row["kind"] == kind]
    return {
        **first,
        "kind": kind,
        "low": None if None in lows else min(lows),
        "high": None if None in highs else max(highs),
        "unit": units[0] if units else None,
        "primary": any(row["primary"] for row in rows),
    }
