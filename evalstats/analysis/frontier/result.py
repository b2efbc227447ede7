"""What score is to be had for what cost: the frozen result of `frontier()`."""

from dataclasses import field
from typing import Literal

import polars as pl

from evalstats.analysis.result import Estimate, OfMetric, Origin, Result, row_named
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.grammar import plural
from evalstats.options import Cost
from evalstats.record import record
from evalstats.table.metric import MetricFacts

Standing = Literal["on the frontier", "open", "dominated"]


@record
class FrontierRow(Estimate):
    """One system: its score and its cost on the items that all systems have, and where that puts it.

    Attributes
    ----------
    estimate, conf_low, conf_high, method, reason
        Mean score in the metric's own unit, with the interval that `score` would give.
    cost, cost_low, cost_high
        Mean cost of an item, trials averaged; `cost_reason` says why it has no interval.
    on_frontier
        Whether no other system scores as much for as little, in the data as observed.
    beaten_by
        The systems that do, in the data as observed.
    share, share_error
        Share of bootstrap resamples in which it is on the frontier, and the Monte Carlo standard error of that; None where
        there are too few clusters to resample. A share is no probability.
    dominated_by
        Systems that are shown to score more for less: both differences exclude 0, over all pairs together.
    standing
        "dominated" where some system is in `dominated_by`; "on the frontier" where the share reaches `conf_level`, also where
        savings that rare dear items could undo count as none; else "open".
    unseen_tail
        Whether it is "open" for these rare dear items alone.
    cost_reason
        Why its cost has no interval.
    """

    name: str
    estimate: float
    cost: float
    on_frontier: bool
    standing: Standing
    cost_low: float | None = None
    cost_high: float | None = None
    cost_reason: str | None = None
    share: float | None = None
    share_error: float | None = None
    beaten_by: tuple[str, ...] = ()
    dominated_by: tuple[str, ...] = ()
    unseen_tail: bool = False
    n_trials: int = 0
    runs: tuple[str, ...] = ()


@record(repr=False)
class Frontier(OfMetric, Result):
    """Which systems give the most score for their cost, and how sure that is.

    Attributes
    ----------
    rows
        One for each system, the cheapest first.
    cost, cost_unit
        The column of the outcomes that is the cost, and its unit.
    different
        What the systems do not share ("users", "items"), where each has its own; "" where they answered the same items.
    n_items
        Items that every system has, with score and cost: all numbers rest on these. Of different users, those of any.
    n_items_any
        Items that any of them has.
    left_out
        Systems that have no cost, or no score.
    dominance_method
        How it is tested whether one system beats another in score and cost.
    share_reason
        Why there is no share of resamples in which a system is on the frontier; None where there is.
    """

    about: MetricFacts
    different: str = ""
    tasks: tuple[str, ...]
    cost: Cost
    cost_unit: str
    contrast: str
    conf_level: float
    rows: tuple[FrontierRow, ...]
    method: str
    dominance_method: str
    estimand: str
    n_items: int
    n_items_any: int
    n_clusters: int | None = None
    clusters: tuple[str, ...] = ()
    share_reason: str | None = None
    left_out: tuple[str, ...] = ()
    n_resamples: int = 0
    origin: Origin = field(default_factory=Origin)
    notes: tuple[Note, ...] = ()

    @property
    def score_unit(self) -> str:
        """Unit of a score as shown: "%" for shares."""
        return self.about.score_unit

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        names = ", ".join(row.name for row in self.rows if row.on_frontier)
        return (
            f"<Frontier: {plural(len(self.rows), 'system')} on {self.benchmark}, {self.metric} by {self.cost}: {names}>"
        )

    def row(self, name: str) -> FrontierRow:
        """Return one system's line.

        InputError if there is no such system; the message names the closest.
        """
        return row_named(self.rows, name)

    def to_frame(self) -> pl.DataFrame:
        """One row for each system, in glossary names; systems that dominate are joined with commas."""
        return ShownFrame(
            [
                {
                    "system": row.name,
                    "metric": self.metric,
                    "estimate": row.estimate,
                    "conf_low": row.conf_low,
                    "conf_high": row.conf_high,
                    "conf_level": self.conf_level,
                    "method": row.method,
                    "cost": self.cost,
                    "cost_estimate": row.cost,
                    "cost_low": row.cost_low,
                    "cost_high": row.cost_high,
                    "on_frontier": row.on_frontier,
                    "share": row.share,
                    "share_error": row.share_error,
                    "standing": row.standing,
                    "beaten_by": ", ".join(row.beaten_by) or None,
                    "dominated_by": ", ".join(row.dominated_by) or None,
                    "n_items": self.n_items,
                    "n_trials": row.n_trials,
                    "n_clusters": self.n_clusters,
                    "n_resamples": self.n_resamples,
                }
                for row in self.rows
            ],
            schema_overrides={
                **dict.fromkeys(("conf_low", "conf_high", "cost_low", "cost_high", "share", "share_error"), pl.Float64),
                **dict.fromkeys(("beaten_by", "dominated_by"), pl.String),
                "n_clusters": pl.Int64,
            },
        )
