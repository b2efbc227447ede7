"""What a comparison by several metrics answers: the frozen result of `compare()` with a list of metrics."""

from dataclasses import dataclass, field

import polars as pl

from evalstats.analysis.compare.result import Comparison, qualified
from evalstats.analysis.result import Result, finite, row_named
from evalstats.analysis.settings import Settings
from evalstats.document.model import Note
from evalstats.stats.many.multiplicity import holm


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparisons(Result):
    """Is the candidate better than the baseline, by each of several metrics? One answer for each, and none of all together.

    Every metric keeps its unit and its direction; nothing is averaged over them. The metrics are one family: each interval is
    at Bonferroni's level, so that all hold together at `conf_level`, and each `p_adjusted` belongs to its interval.

    Attributes
    ----------
    rows
        The comparison by each metric, in the order asked for; the `conf_level` of each is the adjusted one.
    conf_level
        Level at which all intervals hold together.
    """

    rows: tuple[Comparison, ...]
    conf_level: float = 0.95
    notes: tuple[Note, ...] = ()
    settings: Settings | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Refuse a family without a member, which a saved file could hold."""
        if not self.rows:
            message = "no metric is compared"
            raise ValueError(message)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        first = self.rows[0]
        told = ", ".join(f"{row.metric} {row.verdict}" for row in self.rows)
        return f"<Comparisons: {first.candidate.name} against {first.baseline.name}: {told}>"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in the order asked for."""
        return tuple(row.metric for row in self.rows)

    def row(self, metric: str) -> Comparison:
        """Return the comparison by one metric, with its interval at the adjusted level.

        InputError if there is no such metric; the message names the closest.
        """
        return row_named(self.rows, metric, what="metric", key="metric")

    def to_frame(self) -> pl.DataFrame:
        """One row for each metric, in the metric's own unit (proportions, not percentage points)."""
        return pl.DataFrame(
            [
                {
                    "benchmark": row.benchmark,
                    "metric": row.metric,
                    "higher_is_better": row.higher_is_better,
                    "baseline": row.baseline.estimate,
                    "candidate": row.candidate.estimate,
                    **{name: getattr(row, name) for name in _NUMBERS},
                    "p_holm": p_holm,
                    "n_items": row.n_items,
                    "n_clusters": row.n_clusters,
                    "method": row.method,
                    "verdict": row.verdict,
                    "note": qualified(row.verdict_reason, [note.text for note in row.qualifiers]),
                }
                for row, p_holm in zip(self.rows, _holm(self.rows), strict=True)
            ],
            schema_overrides={
                **dict.fromkeys(("baseline", "candidate", *_NUMBERS, "p_holm"), pl.Float64),
                **dict.fromkeys(("n_items", "n_clusters"), pl.Int64),
            },
        )


_NUMBERS = ("estimate", "std_error", "conf_low", "conf_high", "conf_level", "p_value", "p_adjusted")


def _holm(rows: tuple[Comparison, ...]) -> list[float | None]:
    """Return Holm's p of every row, which is never above Bonferroni's; None where there is no p."""
    known = [row.p_value for row in rows if row.p_value is not None]
    stepped = iter(holm(known).tolist() if known else ())
    return [None if row.p_value is None else finite(next(stepped)) for row in rows]
