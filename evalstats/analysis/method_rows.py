"""One way to compute one quantity: a row of what several methods say."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

import polars as pl

from evalstats.stats.estimate import Estimate

Role = Literal["headline", "check", "second interval", "other estimand", "sensitivity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRow:
    """One way to compute one quantity. Numbers are in the metric's own unit (proportions, not percentage points).

    `term` is what is estimated: "difference", "baseline", "candidate", or a name of a further quantity.
    """

    term: str
    method: str
    role: Role
    conf_level: float
    estimate: float | None = None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    n_items: int | None = None
    n_clusters: int | None = None
    n_resamples: int | None = None
    note: str = ""


def method_row(found: Estimate, *, term: str, role: Role, note: str = "") -> MethodRow:
    """Copy an estimate into a row; the reason for a missing interval joins the note."""
    parts = [part for part in (note, found.reason) if part]
    return MethodRow(
        term=term,
        method=found.method,
        role=role,
        conf_level=found.conf_level,
        estimate=found.estimate,
        std_error=found.std_error,
        conf_low=found.conf_low,
        conf_high=found.conf_high,
        statistic=found.statistic,
        df=found.df,
        p_value=found.p_value,
        n_items=found.n,
        n_clusters=found.n_clusters,
        n_resamples=found.n_resamples,
        note="; ".join(parts),
    )


def rows_frame(rows: tuple[MethodRow, ...]) -> pl.DataFrame:
    """Return method rows as a frame with glossary names."""
    fields = {
        field.name: pl.String if field.type in (str, Role) else pl.Int64 if field.type == (int | None) else pl.Float64
        for field in dataclasses.fields(MethodRow)
    }
    return pl.DataFrame([dataclasses.asdict(row) for row in rows], schema=fields)
