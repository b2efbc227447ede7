"""How much more a model scores on items it may have seen: the frozen result of `contamination()`."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

import polars as pl

from evalstats.analysis.result import Estimate, OfMetric, Origin, Result, row_named
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.grammar import plural
from evalstats.options import Alternative
from evalstats.record import record
from evalstats.stats.clusters import Dependence
from evalstats.stats.contamination import DateDensity
from evalstats.table.metric import MetricFacts

Design = Literal["split", "date", "twins"]
Compared = Literal["latent", "points"]
Verdict = Literal["inflated", "clean within the margin", "inconclusive", "invalid"]
METHODS: Mapping[Design, str] = {
    "split": "difference in differences against reference models, t on their number",
    "date": "regression discontinuity against reference models, t on their number",
    "twins": "paired twins against reference models, t on their number",
}
LATENT = "abilities by pairwise conditional Rasch"


@record
class WidthRow(Estimate):
    """The break at a date by another bandwidth, or by parabolas: does the answer hang on the choice?

    `order` is 1 for straight lines, 2 for parabolas.

    Attributes
    ----------
    width
        The bandwidth in days.
    n_old, n_new
        Items within it on either side.
    """

    width: float
    order: int
    n_old: int = 0
    n_new: int = 0


@record
class ContaminationRow(Estimate):
    """One suspect model. Amounts are in the metric's unit, turned so that more is better: positive is inflation.

    Attributes
    ----------
    estimate, conf_low, conf_high, std_error, df, p_value, p_adjusted
        Its advantage on old items beyond that of clean models of its ability; the interval knows the spread between references. p
        is two-sided, or one-sided for inflation where that was declared; adjusted for all suspects together (Holm).
    logits, points
        The same in logits of ability (None where models are compared in points), and in points as if abilities did not matter.
    outside, in_range
        Why too few items tell its ability from that of the references; whether its score lies among theirs on both sides.
    largest
        The largest inflation that the data leave possible: the upper end of the two-sided interval.
    own, reference
        Its own advantage on old items (old less new, the break, original less rephrased), which difficulty may explain; that of a
        clean model of its ability (in points: the mean of the references).
    item_std_error, item_p_value
        From items alone. Beside, never the answer: it takes all clean models to be alike.
    between_sd
        Standard deviation of the advantage between references beyond item noise.
    n_old, n_new, n_left_out
        Items on both sides that the model and all its references have (with twins, pairs), and those that some of them lack.
    cutoff, bandwidth, bandwidth_reason, widths, density
        For a break at a date: the date, how far from it items count (days) and why, other choices, and how items are spread.
    references
        The models that it was held against.
    old_score, new_score
        Its mean on old and on new items.
    """

    model: str
    verdict: Verdict
    reason: str = ""
    references: tuple[str, ...]
    n_old: int
    n_new: int
    n_left_out: int = 0
    n_clusters: int | None = None
    logits: Estimate | None = None
    points: Estimate | None = None
    outside: str | None = None
    in_range: bool = True
    largest: float | None = None
    own: float | None = None
    own_low: float | None = None
    own_high: float | None = None
    reference: float | None = None
    item_std_error: float | None = None
    item_p_value: float | None = None
    between_sd: float | None = None
    old_score: float | None = None
    new_score: float | None = None
    cutoff: str | None = None
    bandwidth: float | None = None
    bandwidth_reason: str | None = None
    widths: tuple[WidthRow, ...] = ()
    density: DateDensity | None = None


@record(repr=False)
class ContaminationCheck(OfMetric, Result):
    """What `contamination` found: a line for each suspect model, and how it was reached.

    Attributes
    ----------
    design
        What tells old items from new: a "split", a "date" with a cutoff for each model, or "twins" (an item and its
        rewritten copy).
    column, old, new
        The column that the design rests on, and what its two sides are called.
    verdict, reason
        "inflated" where any model is, "clean within the margin" where all are, "invalid" where nothing can be said of any;
        and why, in words.
    margin
        The largest inflation that does not matter, in the metric's own unit; None where none is declared.
    alternative
        Whether the tests ask for inflation alone or for any difference.
    compared, compared_reason
        The scale on which models are held against each other, and why it is points where it is.
    rows
        One for each suspect.
    suspects, references
        Models suspected (none named: all), and models known to be clean (none named: each is held against all the others).
    """

    about: MetricFacts
    design: Design
    column: str
    old: str
    new: str
    verdict: Verdict
    reason: str
    conf_level: float
    margin: float | None
    alternative: Alternative
    compared: Compared = "points"
    compared_reason: str = ""
    rows: tuple[ContaminationRow, ...]
    suspects: tuple[str, ...] = ()
    references: tuple[str, ...]
    method: str
    estimand: str
    clusters: tuple[str, ...] = ()
    dependence: tuple[Dependence, ...] = ()
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        return (
            f"<ContaminationCheck: {plural(len(self.rows), 'suspect')} on {self.benchmark}, {self.metric} by {self.column}: "
            f"{self.verdict}>"
        )

    def row(self, model: str) -> ContaminationRow:
        """Return one suspect's line."""
        return row_named(self.rows, model, what="suspect", key="model")

    def inflated(self) -> tuple[str, ...]:
        """Names of the models that are shown to be inflated."""
        return tuple(row.model for row in self.rows if row.verdict == "inflated")

    def to_frame(self) -> pl.DataFrame:
        """One row for each suspect, in glossary names."""
        numbers = (
            "estimate", "conf_low", "conf_high", "std_error", "df", "p_value", "p_adjusted", "own", "reference", "largest",
            "item_std_error", "item_p_value", "between_sd", "bandwidth",
        )  # fmt: skip
        return ShownFrame(
            [
                {
                    "model": row.model,
                    "metric": self.metric,
                    "verdict": row.verdict,
                    **{name: getattr(row, name) for name in numbers},
                    **_beside("logits", row.logits),
                    **_beside("points", row.points),
                    "conf_level": self.conf_level,
                    "method": self.method,
                    "n_references": len(row.references),
                    "n_old": row.n_old,
                    "n_new": row.n_new,
                    "n_clusters": row.n_clusters,
                    "cutoff": row.cutoff,
                    "reason": row.reason,
                }
                for row in self.rows
            ],
            schema_overrides={
                **dict.fromkeys((*numbers, *_beside("logits", None), *_beside("points", None)), pl.Float64),
                "n_clusters": pl.Int64,
                "cutoff": pl.String,
            },
        )


def _beside(name: str, found: Estimate | None) -> dict[str, float | None]:
    """Return the columns of an answer on one scale."""
    return {
        name: found and found.estimate,
        f"{name}_conf_low": found and found.conf_low,
        f"{name}_conf_high": found and found.conf_high,
        f"{name}_p_value": found and found.p_value,
    }
