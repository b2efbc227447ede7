"""One way to compute one quantity: a row of what several methods say."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from evalstats.analysis.result import Estimate
from evalstats.stats import estimate as stats_estimate

Role = Literal["headline", "check", "second interval", "other estimand", "sensitivity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRow(Estimate):
    """One way to compute one quantity. Numbers are in the metric's own unit (proportions, not percentage points).

    `term` is what is estimated: "difference", "baseline", "candidate", or a name of a further quantity.
    """

    term: str
    role: Role
    estimate: float | None = None
    statistic: float | None = None
    n_items: int | None = None
    n_clusters: int | None = None
    n_resamples: int | None = None
    note: str = ""


def method_row(found: stats_estimate.Estimate, *, term: str, role: Role, note: str = "") -> MethodRow:
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


_COLUMNS = {
    **dict.fromkeys(("term", "method", "role"), pl.String),
    **dict.fromkeys(
        ("conf_level", "estimate", "std_error", "conf_low", "conf_high", "statistic", "df", "p_value"), pl.Float64
    ),
    **dict.fromkeys(("n_items", "n_clusters", "n_resamples"), pl.Int64),
    "note": pl.String,
}


def rows_frame(rows: tuple[MethodRow, ...]) -> pl.DataFrame:
    """Return method rows as a frame with glossary names."""
    return pl.DataFrame([{name: getattr(row, name) for name in _COLUMNS} for row in rows], schema=_COLUMNS)
