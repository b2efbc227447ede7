"""Whether any score has changed from run to run: the part of an overview that watches scores by the day of their runs."""

from dataclasses import field
from datetime import date
from typing import ClassVar, Literal

import polars as pl

from evalstats.analysis.result import Estimate, OfOrigin, Origin, Result, frame_of, row_named
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.table.metric import Direction

Drifted = Literal["dropped", "rose", "no drift shown", "too few"]


@record
class Day(Estimate):
    """One model's score on one benchmark on one day; all of its runs of that day together.

    Attributes
    ----------
    estimate, conf_low, conf_high, method
        Mean score of that day's items with an interval that holds for this day alone; days are not compared by these.
    n_items, n_lost
        Items with a score; rows without one (harness errors and unscored).
    watched
        Whether the day is compared with the last one: nothing has changed since that makes the score another quantity.
    changes
        What differs from the model's day before, in words.
    day
        The day.
    """

    name: str
    benchmark: str
    day: date
    estimate: float | None
    n_items: int
    n_lost: int = 0
    watched: bool = True
    changes: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


@record
class History(Estimate):
    """One model on one benchmark: whether its score has changed, each item against itself.

    Attributes
    ----------
    estimate
        Mean of the runs since `since` less mean of the runs before, on items with scores on both sides.
    conf_low, conf_high
        Confidence sequence at `conf_level`, adjusted for all models and for every place that the change may have: it holds at
        every look.
    p_value, p_adjusted
        Anytime-valid; the second times the number of models.
    verdict
        "dropped" or "rose" where the interval excludes 0; "too few" where there is none, and `reason` says why.
    since
        First day of the later part; where no drift is shown, the day at which a change shows most.
    first_flagged
        The first day on which a look showed this or another change.
    before, after
        The means of the two parts.
    first, last
        First and last of the days that are compared.
    n_days, n_items, n_clusters
        Days that are compared, items with scores on both sides, and their clusters where they have any.
    n_since
        Days of the later part.
    dispersion
        How many times as much days vary as their items explain; 1 where no more is shown. The interval is widened for it.
    beside
        What else changed on the day of a drop or rise.
    score_unit
        Unit of a score as shown.
    higher_is_better, direction
        Whether more is better, and how that is known.
    """

    name: str
    benchmark: str
    metric: str
    scale: float
    unit: str
    score_unit: str
    higher_is_better: bool
    verdict: Drifted
    estimate: float | None = None
    direction: Direction = "declared"
    since: date | None = None
    first_flagged: date | None = None
    before: float | None = None
    after: float | None = None
    first: date
    last: date
    n_days: int
    n_items: int = 0
    n_clusters: int | None = None
    n_since: int = 0
    dispersion: float = 1.0
    beside: tuple[str, ...] = ()

    @property
    def drifted(self) -> bool:
        """Whether a change is shown."""
        return self.verdict in ("dropped", "rose")

    @property
    def worse(self) -> bool:
        """Whether a change for the worse is shown."""
        return self.drifted and (self.verdict == "dropped") == self.higher_is_better


@record(repr=False)
class Changes(OfOrigin, Result):
    """Every model's score by the day of its runs, and whether it has changed.

    Attributes
    ----------
    rows
        One for each model on each benchmark: those that changed first.
    days
        One for each of these and each day with runs, in order.
    n_watched
        Models that are compared: the family of the adjustment.
    reference
        The last day of the reference, where one was named.
    cluster
        The column that items are clustered by, as asked for.
    accept
        Settings of runs that may differ between days.
    models
        The models asked for; empty: all.
    metric
        The metric asked for; None: the headline of each benchmark.
    """

    told_by: ClassVar[str] = "evalstats.analysis.overview.changes_document"
    rows: tuple[History, ...]
    days: tuple[Day, ...]
    conf_level: float
    method: str
    estimand: str
    n_watched: int
    reference: date | None = None
    cluster: str | None = None
    accept: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    metric: str | None = None
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        changed = [f"{row.name} {row.verdict}" for row in self.rows if row.drifted]
        told = ", ".join(changed) or "no drift shown"
        return f"<Changes: {plural(len(self.rows), 'model')} on {plural(self.n_days, 'day')}: {told}>"

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The benchmarks, in order."""
        return tuple(sorted({row.benchmark for row in self.rows}))

    @property
    def n_days(self) -> int:
        """Different days with runs."""
        return len({each.day for each in self.days})

    @property
    def answered(self) -> bool:
        """Whether any change has an interval."""
        return bool(self.judged)

    @property
    def judged(self) -> tuple[History, ...]:
        """Those with an interval."""
        return tuple(row for row in self.rows if row.verdict != "too few")

    def row(self, name: str) -> History:
        """Return one model's line (of several benchmarks the first).

        InputError if there is no such model; the message names the closest.
        """
        return row_named(self.rows, name)

    def days_of(self, row: History) -> tuple[Day, ...]:
        """Return the days of one line."""
        return tuple(each for each in self.days if (each.name, each.benchmark) == (row.name, row.benchmark))

    def to_frame(self) -> pl.DataFrame:
        """One row for each model and day: score, interval, items, whether it is compared, what changed."""
        names = (
            "name",
            "benchmark",
            "day",
            "estimate",
            "conf_low",
            "conf_high",
            "conf_level",
            "method",
            "n_items",
            "n_lost",
        )
        told = pl.Series("changes", [", ".join(each.changes) or None for each in self.days], dtype=pl.String)
        return ShownFrame(frame_of(self.days, Day, (*names, "watched")).with_columns(told).rename({"name": "system"}))

    def changes_frame(self) -> pl.DataFrame:
        """One row for each model: its change with the confidence sequence, and the verdict."""
        names = (
            "name", "benchmark", "metric", "verdict", "since", "estimate", "conf_low", "conf_high", "conf_level", "p_value",
            "p_adjusted", "before", "after", "first_flagged", "first", "last", "n_days", "n_items", "n_clusters", "reason",
        )  # fmt: skip
        return frame_of(self.rows, History, names).rename({"name": "system"})
