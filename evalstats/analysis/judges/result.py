"""How far judges agree with people, how they err, and scores corrected for it: the frozen result of `judges()`."""

from dataclasses import field
from typing import Literal, Self

import polars as pl

from evalstats.analysis.result import Estimate, OfOrigin, Origin, Result, row_named
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.raters.correction import LabelsNeeded

Standing = Literal["as people", "below people", "above people", "open", "no second person"]


@record
class JudgeRow(Estimate):
    """One judge: its agreement with people, and how it errs.

    Attributes
    ----------
    estimate, conf_low, conf_high
        Krippendorff's alpha over all pairs of the judge and a person, of all `n_units` that both rated; a unit weighs the same
        however many people rated it.
    difference
        The judge's alpha minus that of people among themselves, both on the `n_double` units that it and two people rated; None
        without such units.
    standing
        "as people" where the interval of the difference lies above -0.1, "below people" or "above people" where it excludes 0
        on that side, else "open"; "open" too where the judge's alpha is shown to be another one on units that one person rated.
    raw, kappa, ac1
        Share of equal ratings, Cohen's kappa (quadratic weights for ordered ratings) and Gwet's AC1, over all pairs of the
        judge and a person, as alpha is.
    icc
        Of numbers: ICC2, the share of the variance of single ratings that lies between answers, of the judge and people's mean.
    bias
        Judge minus people, on the scale of the ratings.
    sensitivity, specificity
        Of yes-or-no ratings: how often the judge says yes where most people do, and no where they do.
    favours_p
        p of the hypothesis that its bias is the same for all models; None with one model.
    confusion
        How often each pair of ratings was given: rows are the people's, columns the judge's, in the order of `levels`.
    n_units, n_people, n_double
        Units that it and a person rated, people who did, and units that two of them rated.
    levels
        The ratings that occur, in order.
    """

    name: str
    n_units: int
    n_people: int
    n_double: int = 0
    difference: Estimate | None = None
    standing: Standing
    raw: Estimate
    kappa: Estimate
    ac1: Estimate
    icc: Estimate | None = None
    bias: Estimate | None = None
    sensitivity: Estimate | None = None
    specificity: Estimate | None = None
    favours_p: float | None = None
    levels: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()


@record
class PersonRow(Estimate):
    """One person's agreement with the others: alpha over all pairs with one of them."""

    name: str
    n_units: int


@record
class PeopleAgreement(Estimate):
    """Agreement of people among themselves: Krippendorff's alpha on the units that two of them rated.

    Attributes
    ----------
    raw, ac1
        Share of equal ratings and Gwet's AC1, on the same units.
    persons
        Each person with the others, where three or more rated and no judge did.
    n_people
        People who rated.
    """

    n_units: int
    n_people: int
    raw: Estimate
    ac1: Estimate
    persons: tuple[PersonRow, ...] = ()


@record
class BiasRow(Estimate):
    """A judge's bias for one model: judge minus people, on units that people rated.

    Attributes
    ----------
    sensitivity, specificity
        Of yes-or-no ratings: how often it says yes where people do, and no where they do.
    """

    judge: str
    name: str
    n_units: int
    sensitivity: Estimate | None = None
    specificity: Estimate | None = None


Bias = Literal["place", "inconsistent", "length", "own family"]


@record
class BiasCheck(Estimate):
    """One thing that a judge may go by besides the answers.

    Attributes
    ----------
    check
        "place": share of verdicts for the answer shown first. "inconsistent": share of pairs whose verdict turns with the order.
        "length": odds ratio of being preferred for twice the length (of pairs), or points more (of ratings). "own family": how
        much more it prefers, or how much higher it rates, models of its own family than people do.
    null
        The value without a bias; None for a share that has none.
    association
        Whether nobody's labels hold the answers' worth fixed: longer answers may be better.
    family
        The judge's.
    """

    judge: str
    check: Bias
    n_units: int
    null: float | None
    association: bool = False
    family: str = ""

    @property
    def shown(self) -> bool:
        """Whether the interval excludes the value without a bias."""
        known = self.null is not None and self.conf_low is not None and self.conf_high is not None
        return known and not (self.conf_low or 0.0) <= (self.null or 0.0) <= (self.conf_high or 0.0)


@record
class PlaceRow:
    """A model's share of a judge's preferences by its place, over pairs that were judged in both orders.

    `tied` is the share where a pair whose verdict changes with the order counts as a tie.

    Attributes
    ----------
    when_first, when_second
        Its share where it was shown first, and second.
    """

    judge: str
    name: str
    when_first: float
    when_second: float
    tied: float
    n_pairs: int


@record
class LabelPlan:
    """How many labels of each model are needed, for the judge that agrees best.

    Attributes
    ----------
    half_width, margin
        What for: a score to within so much; or to find a difference of so much between two models with 80% power, labels being of
        the same items for both.
    n
        Labels in all; None where labels of all items would not do. `low` and `high` are those at the ends of the interval of the
        judge's correlation with people.
    alone
        Labels without the judge.
    low, high
        Labels at the ends of the interval of the correlation.
    correlation
        Correlation of the judge with people.
    """

    half_width: float | None = None
    margin: float | None = None
    n: int | None
    low: int | None
    high: int | None
    alone: int
    n_items: int
    correlation: float
    correlation_low: float
    correlation_high: float

    @classmethod
    def of(cls, found: LabelsNeeded, *, half_width: float | None = None, margin: float | None = None) -> Self:
        """Return it with what it is for."""
        names = ("n", "low", "high", "alone", "n_items", "correlation", "correlation_low", "correlation_high")
        return cls(half_width=half_width, margin=margin, **{name: getattr(found, name) for name in names})


@record
class CorrectedRow(Estimate):
    """One model's score by a judge, corrected by the labels of a part of its answers (prediction-powered mean).

    Attributes
    ----------
    judge_mean
        Its score as the judge has it.
    by_labels
        Its score by the labels alone.
    by_errors
        Of yes-or-no ratings: Rogan and Gladen's correction.
    tuning
        Weight of the judge: 0 labels alone, 1 in full.
    label_worth
        So many labels alone would be as precise.
    n_labels, n_judged
        Answers with labels, and answers that the judge rated.
    """

    judge: str
    name: str
    judge_mean: float
    n_labels: int
    n_judged: int
    tuning: float
    label_worth: float
    by_labels: Estimate
    by_errors: Estimate | None = None


@record(repr=False)
class JudgeReport(OfOrigin, Result):
    """Whether judges can stand in for people.

    Attributes
    ----------
    rows
        One for each judge, the one that agrees best first; none where nobody is there to agree with, or people alone rated.
    people
        Agreement of people among themselves; None where no unit was rated by two of them.
    by_model
        Each judge's bias for each model.
    corrected
        Each model's score corrected for each judge's errors, where a part of its answers has labels.
    label_plan
        How many labels to buy, where there are enough to plan by.
    biases, by_place
        Influences on judges besides the answers: place, length, own family; and each model's share by place.
    not_checked
        What of these could not be checked, and why.
    truth, unit
        Whose ratings judges are held against (people, the key, or a judge by name), and what was rated: answers or pairs.
    scale
        What kind of numbers the ratings were taken for.
    criterion
        What was judged, where the ratings are of several criteria.
    reference
        Raters that judges are held against.
    n_ratings, n_units
        Ratings that were read, and the different things (answers or pairs) that were rated.
    n_resamples
        Bootstrap samples behind the intervals of agreement.
    """

    benchmark: str
    criterion: str
    reference: tuple[str, ...]
    truth: str = "people"
    unit: str = "answer"
    scale: str
    rows: tuple[JudgeRow, ...] = ()
    people: PeopleAgreement | None = None
    by_model: tuple[BiasRow, ...] = ()
    corrected: tuple[CorrectedRow, ...] = ()
    label_plan: LabelPlan | None = None
    biases: tuple[BiasCheck, ...] = ()
    by_place: tuple[PlaceRow, ...] = ()
    not_checked: tuple[str, ...] = ()
    conf_level: float = 0.95
    n_ratings: int = 0
    n_units: int = 0
    clusters: tuple[str, ...] = ()
    n_resamples: int = 0
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        rows = [(row.name, row.estimate) for row in self.rows]
        rows += [("people", self.people.estimate)] if self.people and not self.rows else []
        told = ", ".join(f"{name} alpha {alpha:.2f}" for name, alpha in rows if alpha is not None)
        return f"<JudgeReport: {plural(len(self.rows), 'judge')} on {plural(self.n_units, 'unit')}: {told}>"

    def row(self, name: str) -> JudgeRow:
        """Return one judge's line.

        Raises
        ------
        InputError
            If there is no such judge; the message names the closest.
        """
        return row_named(self.rows, name, what="judge")

    def to_frame(self) -> pl.DataFrame:
        """One row for each judge, in glossary names; where people alone rated, one for these."""
        shared = ("estimate", "std_error", "conf_low", "conf_high", "conf_level", "method")
        rows: list[dict[str, object]] = [
            {
                "judge": row.name,
                "term": "alpha",
                **{name: getattr(row, name) for name in shared},
                "among_people": None if self.people is None else self.people.estimate,
                "difference": None if row.difference is None else row.difference.estimate,
                "standing": row.standing,
                "raw_agreement": row.raw.estimate,
                "kappa": row.kappa.estimate,
                "ac1": row.ac1.estimate,
                "bias": None if row.bias is None else row.bias.estimate,
                "sensitivity": None if row.sensitivity is None else row.sensitivity.estimate,
                "specificity": None if row.specificity is None else row.specificity.estimate,
                "n_items": row.n_units,
                "n_double": row.n_double,
            }
            for row in self.rows
        ]
        if not rows and self.people is not None:
            found = self.people
            among: dict[str, object] = {**dict.fromkeys(_COLUMNS), **{name: getattr(found, name) for name in shared}}
            among |= {"term": "alpha among people", "among_people": found.estimate, "raw_agreement": found.raw.estimate}
            rows.append({**among, "ac1": found.ac1.estimate, "n_items": found.n_units, "n_double": found.n_units})
        return ShownFrame(rows, schema=_COLUMNS)


_COLUMNS = {
    **dict.fromkeys(("judge", "term"), pl.String),
    **dict.fromkeys(("estimate", "std_error", "conf_low", "conf_high", "conf_level"), pl.Float64),
    "method": pl.String,
    **dict.fromkeys(("among_people", "difference"), pl.Float64),
    "standing": pl.String,
    **dict.fromkeys(("raw_agreement", "kappa", "ac1", "bias", "sensitivity", "specificity"), pl.Float64),
    **dict.fromkeys(("n_items", "n_double"), pl.Int64),
}
