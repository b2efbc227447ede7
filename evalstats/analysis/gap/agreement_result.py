"""How far the lab orders models as the live world does: the records of that layer of a gap."""

import dataclasses
from typing import Literal

import polars as pl

from evalstats.analysis.result import Estimate
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.record import record

Coefficient = Literal["pearson", "spearman", "kendall"]
Source = Literal["items", "votes", "items and votes", "models", "all"]


@record
class SourceInterval:
    """The interval of a coefficient by one source of uncertainty; None with a reason where it cannot be told.

    `source` is what would be other ones: lab "items", live "votes" or sessions, both for these very models, "models" like these
    with scores taken as exact, or "all". By items and votes rank coefficients are those of the true scores; all others are
    coefficients as measured, noise included.
    """

    source: Source
    conf_low: float | None = None
    conf_high: float | None = None
    method: str = ""
    reason: str | None = None


@record
class CoefficientRow(Estimate):
    """One coefficient over all shared models, with an interval for these models and one for models like them.

    p is of no association, by permutations, all of them where models are few. `ceiling` is what to expect if the true
    scores agreed perfectly, given the noise of both sides; agreement below its ends is not noise alone.
    `disattenuated`, of Pearson alone, is the correlation of true scores: it may exceed 1, which is reported and not
    clipped; its ends are of models like these ("all"), or of these ("items and votes") where models are few.

    Attributes
    ----------
    intervals
        For these models, by items and votes or the one of them whose errors are known; for models like them, by all or by models.
    p_method
        How the p was computed.
    disattenuated_source
        What its ends allow for.
    these_low, these_high
        Interval for these very models.
    true_reason
        Why true scores have no coefficient.
    name
        Which coefficient.
    """

    name: Coefficient
    intervals: tuple[SourceInterval, ...] = ()
    p_method: str = ""
    ceiling: float | None = None
    ceiling_low: float | None = None
    ceiling_high: float | None = None
    disattenuated: float | None = None
    disattenuated_low: float | None = None
    disattenuated_high: float | None = None
    disattenuated_source: Source | None = None
    these_low: float | None = None
    these_high: float | None = None
    true_reason: str | None = None

    def interval(self, source: Source) -> SourceInterval | None:
        """Return the interval by one source, or None."""
        return next((each for each in self.intervals if each.source == source), None)

    @property
    def of_these(self) -> SourceInterval | None:
        """The interval for these very models, by all noise there is; None where there is none."""
        return self._first("items and votes", "votes", "items")

    @property
    def like_these(self) -> SourceInterval | None:
        """The interval for other models like these; None where there is none."""
        return self._first("all", "models")

    def _first(self, *sources: Source) -> SourceInterval | None:
        found = (self.interval(source) for source in sources)
        return next((each for each in found if each and None not in (each.conf_low, each.conf_high)), None)


@record
class PartRow:
    """Agreement within some of the models: the best k live or in the lab, or a tier of the live order.

    The interval is of Spearman's coefficient of the true scores of these models; the set itself is chosen by the estimates.
    `n_shared` of the live top k are in the lab's top k too.

    Attributes
    ----------
    kind, label
        Which models these are, and that in words.
    pearson, spearman, kendall
        The coefficients within them.
    """

    kind: Literal["top", "lab top", "tier"]
    label: str
    n_models: int
    pearson: float | None = None
    spearman: float | None = None
    kendall: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    n_shared: int | None = None
    models: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval, of no width where all pairs are separated; None where there is none."""
        return None if self.conf_low is None or self.conf_high is None else (self.conf_low, self.conf_high)


@record
class Contradiction:
    """Two models that both sides separate, in opposite directions; differences are `better_live` less the other, own units.

    Attributes
    ----------
    better_lab
        The model ahead in the lab.
    lab_difference, live_difference
        The differences.
    lab_p_adjusted, live_p_adjusted
        Their p, adjusted over all pairs.
    """

    better_live: str
    better_lab: str
    lab_difference: float
    lab_p_adjusted: float
    live_difference: float
    live_p_adjusted: float


@record
class PairOrder:
    """Agreement over all pairs of models.

    `agreement` is the share of pairs in the same order by estimate; its interval is by models and errors, since pairs
    are far from independent. Separated pairs differ by Holm over all pairs of a side; of those separated on both,
    `n_same` are in the same order. `separability` is the share of pairs with an unadjusted interval without 0;
    `confidence_agreement` Arena-Hard's: +1 where both sides separate alike, -1 oppositely, 0 else, averaged. `brier` is
    Brier's score of the lab's probabilities of order as forecasts of the live order.

    Attributes
    ----------
    n_separated_lab, n_separated_live, n_separated_both
        Pairs separated by the lab, live, and by both.
    n_contradicted, contradictions
        Pairs that both separate in opposite directions.
    separability_lab, separability_live
        Share of pairs that either side tells apart.
    confidence_low, confidence_high
        Interval of `confidence_agreement`.
    """

    n_pairs: int
    agreement: float
    agreement_low: float | None = None
    agreement_high: float | None = None
    n_separated_lab: int | None = None
    n_separated_live: int | None = None
    n_separated_both: int | None = None
    n_same: int | None = None
    n_contradicted: int | None = None
    separability_lab: float | None = None
    separability_live: float | None = None
    confidence_agreement: float | None = None
    confidence_low: float | None = None
    confidence_high: float | None = None
    contradictions: tuple[Contradiction, ...] = ()
    brier: Estimate | None = None
    reason: str | None = None


@record
class Agreement:
    """How far the lab orders models as live users do.

    Attributes
    ----------
    coefficients
        Spearman, Kendall and Pearson over all shared models.
    parts
        The same within the top k and tiers.
    pairs
        The same question asked of pairs of models.
    """

    n_models: int
    coefficients: tuple[CoefficientRow, ...]
    parts: tuple[PartRow, ...] = ()
    pairs: PairOrder | None = None
    notes: tuple[Note, ...] = ()

    def of(self, name: Coefficient) -> CoefficientRow:
        """Return one coefficient."""
        return next(row for row in self.coefficients if row.name == name)

    def to_frame(self) -> pl.DataFrame:
        """One row for each coefficient and source."""
        rows = [
            {"term": row.name, "estimate": row.estimate, **dataclasses.asdict(each)}
            for row in self.coefficients
            for each in (row.intervals or (SourceInterval(source="all", reason=row.reason),))
        ]
        return ShownFrame(rows, infer_schema_length=None)
