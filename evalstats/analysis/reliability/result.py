"""How reliable scores are over items, trials and other facets: the frozen result of `reliability()`."""

from dataclasses import field
from typing import Literal

import polars as pl

from evalstats.analysis.result import Estimate, OfMetric, Origin, Result
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.reliability import Coefficient
from evalstats.table.metric import MetricFacts


@record
class FacetRow:
    """One facet of the design.

    Attributes
    ----------
    n_levels
        Levels in all.
    n_each
        Levels that the mean of an object rests on (in each level of `within`): those of the design that is judged. Levels of
        unequal size count by their shares, so that a large one and ten small ones may count as two.
    within
        What the facet is nested in.
    fixed
        Whether its levels are the only ones of interest, and not a sample.
    """

    name: str
    n_levels: int
    n_each: int
    within: tuple[str, ...] = ()
    fixed: bool = False


@record
class ComponentRow(Estimate):
    """One source of the variance of a single score; `estimate` is its standard deviation, in the metric's own unit.

    Attributes
    ----------
    factors
        The factors whose combination it is particular to; the last row holds what is left.
    variance, share
        Its variance, and that over the sum of all.
    share_low, share_high
        Interval of the share.
    role
        What it is to scores averaged over the design: "universe", true differences; "relative", error in the order too;
        "absolute", error that all objects share; "none".
    zero
        Whether the variance is estimated as 0, the least that it can be: the data show none, and do not show that there is none.
    """

    factors: tuple[str, ...]
    variance: float
    share: float
    share_low: float | None = None
    share_high: float | None = None
    role: str
    zero: bool


@record
class ReliabilityRow(Estimate):
    """One coefficient of reliability, from 0 to 1.

    Attributes
    ----------
    kind
        "relative": E rho^2, of the order; "absolute": Phi, of the scores themselves.
    """

    kind: Coefficient


@record
class CurveRow(ReliabilityRow):
    """Reliability with another number of levels of one facet, all else as it is (a D-study).

    Attributes
    ----------
    facet, n
        So many levels of this facet.
    """

    facet: str
    n: int


@record
class TargetRow:
    """How many levels of one facet reach a reliability, all else as it is.

    Attributes
    ----------
    facet
        What there would be more or fewer of.
    kind, target
        Which coefficient is to reach what.
    n
        The least number that does; None where none does, and `reason` says why.
    n_low, n_high
        Interval of that number; None at its end where no number is enough.
    limit
        What unlimited levels come to.
    """

    facet: str
    kind: Coefficient
    target: float
    n: int | None = None
    n_low: int | None = None
    n_high: int | None = None
    limit: float | None = None
    reason: str | None = None


@record
class FirstPlaceRow(Estimate):
    """How probable it is that another object comes first with other levels of some facets; `estimate` is the probability.

    Attributes
    ----------
    renewed
        Facets whose levels would be others.
    n
        How many others of each; None: as many as there are.
    """

    renewed: tuple[str, ...]
    n: int | None = None


@record
class ObjectRow:
    """One object of measurement.

    Attributes
    ----------
    score
        Its mean score, adjusted for which levels of the facets it met.
    """

    name: str
    score: float


@record(repr=False)
class ReliabilityReport(OfMetric, Result):
    """How reliable scores are over facets: components of variance, both coefficients, and what more levels would buy.

    Attributes
    ----------
    object
        The column whose levels are told apart, the object of measurement.
    facets
        What a score could have had another level of.
    objects
        The levels of `object`, the best first.
    components
        One for each source of variance.
    relative, absolute
        E rho^2 and Phi of the design as it is.
    curve, targets
        Reliability by number of levels, and how many reach .8 and .9.
    first_places
        How probable another first place is with other levels of each facet that is a sample.
    balanced
        Whether every cell of the design is filled alike.
    n_cells, n_lost, n_meant
        Filled cells; scores that are missing, of how many that were meant.
    """

    about: MetricFacts
    object: str
    conf_level: float
    facets: tuple[FacetRow, ...]
    objects: tuple[ObjectRow, ...]
    components: tuple[ComponentRow, ...]
    relative: ReliabilityRow
    absolute: ReliabilityRow
    curve: tuple[CurveRow, ...]
    targets: tuple[TargetRow, ...]
    first_places: tuple[FirstPlaceRow, ...]
    balanced: bool
    n_cells: int
    n_items: int
    n_lost: int
    n_meant: int
    n_resamples: int
    method: str
    origin: Origin = field(default_factory=Origin)
    notes: tuple[Note, ...] = ()

    @property
    def verdict(self) -> Literal["reliable", "unreliable", "inconclusive"]:
        """Whether the interval of E rho^2 lies above .8, below it, or holds it."""
        low, high = self.relative.conf_low, self.relative.conf_high
        if low is not None and low >= TARGETS[0]:
            return "reliable"
        return "unreliable" if high is not None and high < TARGETS[0] else "inconclusive"

    @property
    def n_models(self) -> int:
        """How many objects there are."""
        return len(self.objects)

    def facet(self, name: str) -> FacetRow:
        """Return the row of a facet."""
        return next(row for row in self.facets if row.name == name)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        names = ", ".join(row.name for row in self.facets)
        return f"<ReliabilityReport: {plural(len(self.objects), self.object)} over {names}; {self.verdict}>"

    def to_frame(self) -> pl.DataFrame:
        """One row for each component of variance, in glossary names."""
        names = (
            "term", "estimate", "conf_low", "conf_high", "conf_level", "df", "variance", "share", "share_low", "share_high",
            "role", "zero", "method",
        )  # fmt: skip
        rows = [
            {name: ":".join(row.factors) if name == "term" else getattr(row, name) for name in names}
            for row in self.components
        ]
        numbers: dict[str, type[pl.DataType]] = dict.fromkeys(
            ("estimate", "conf_low", "conf_high", "share_low", "share_high"), pl.Float64
        )
        return ShownFrame(rows, schema_overrides=numbers, infer_schema_length=None)


TARGETS = (0.8, 0.9)
