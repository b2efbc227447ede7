"""What `power` answers: a frozen plan with the answer, how it was reached, its curve and what to buy next."""

import dataclasses
from dataclasses import field
from typing import Any, Literal

import polars as pl

from evalstats.analysis.result import OfOrigin, Origin, Result, json_safe
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.options import PowerTest
from evalstats.record import record

Solved = Literal["n_items", "n_clusters", "delta", "power", "margin", "half_width"]
PowerMethod = Literal["exact", "formula", "miller", "t", "clusters", "simulation", "independent"]
Resource = Literal["as it is", "items", "trials", "clusters"]


@record
class PlanRow:
    """The same question by another way: what it needs, or what it reaches at the plan's size.

    `role` is "headline", "other test", "formula", "simulation" or "other assumption". `conf_low` and `conf_high` are the
    Monte Carlo interval of a simulated power.

    Attributes
    ----------
    delta, margin, half_width, power
        What it needs or reaches, in the unit of the plan.
    """

    method: str
    role: str
    n_items: int | None = None
    n_clusters: int | None = None
    delta: float | None = None
    margin: float | None = None
    power: float | None = None
    half_width: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    n_resamples: int | None = None


@record
class CurvePoint:
    """One size of a plan: the power for the difference asked about, and what that size could find.

    `mde` is the smallest difference found with the power asked for, `margin` the smallest margin shown with it,
    `half_width` half the expected width of the interval; None where the question does not ask for it, or where no value does.

    Attributes
    ----------
    power
        Power for the difference asked about.
    """

    n_items: int
    n_clusters: int | None = None
    power: float | None = None
    mde: float | None = None
    margin: float | None = None
    half_width: float | None = None


@record
class NextStep:
    """What doubling one resource of the pilot would buy.

    Items are bought in the same clusters, clusters with as many items each. `mde` is the smallest difference found with the power
    asked for; `precision_per_cost` is 1/std_error^2 for each unit of cost, as a multiple of the pilot's (without costs, a unit
    is one answer of one system); `needed` of this resource alone would find the difference asked about.

    Attributes
    ----------
    buy
        The resource that is doubled; "as it is" for the pilot.
    cost
        In the unit of the costs given; else answers of one system.
    n_trials
        Trials of an item by baseline and by candidate.
    """

    buy: Resource
    n_items: int
    n_clusters: int | None
    n_trials: tuple[float, float]
    std_error: float | None = None
    mde: float | None = None
    cost: float | None = None
    precision_per_cost: float | None = None
    needed: int | None = None
    reason: str = ""


@record
class VariancePart:
    """One part of the variance of the pilot's difference: "clusters", "items", or "trials" of either side.

    `variance` is that of one cluster, item or trial in squared score units; `share` what it makes of the squared standard
    error of the pilot.

    Attributes
    ----------
    part
        "clusters", "items", or "trials" of either side.
    """

    part: str
    variance: float
    share: float


@record
class TrialRow:
    """Items needed with so many trials of each item by each system; `n_answers` counts both systems.

    Attributes
    ----------
    n_trials
        Trials of each item.
    """

    n_trials: int
    n_items: int | None
    n_answers: int | None


@record
class ShortFormPlan:
    """Chosen items of the pilot that tell a score as well as the plan's random items, by models left out of their choice.

    Attributes
    ----------
    size
        Items of the form.
    n_items, n_models
        What the pilot has in common: items, and models that answered all of them.
    score_error, difference_error
        Root mean square error of a model's score, and of the difference of two, as shares.
    random_size, difference_size
        Random items that would err as little.
    """

    size: int
    n_items: int
    n_models: int
    score_error: float
    random_size: int
    difference_error: float
    difference_size: int


@record(repr=False)
class PowerPlan(OfOrigin, Result):
    """How many items, trials or clusters are needed, or what a number of them can show. The answer, and how it was reached.

    Numbers are in the metric's own unit; `scale` and `unit` say how they are shown (100 and "pp" for proportions). The power
    is always that of a true difference that somebody names beforehand, never that of a difference that was observed.

    Attributes
    ----------
    solved
        Which of the numbers is the answer; the others were given. `answer` is its value, None where `reason` says why.
    power_goal, power
        The power asked for, and the power at the answer (whole numbers of items give a little more).
    answer_low, answer_high, answer_range
        The answer if the pilot's variance lay at either end of its interval, and what was varied; None without a pilot.
    n_tasks
        Of a suite, the tasks that the difference is the mean over; each has the same share of the items.
    different
        What the sides do not share ("users"), where nothing is paired; sizes are then those of one side.
    smallest_delta
        With the clusters that there are, no number of items finds less than this.
    conf_low, conf_high, n_resamples
        95% Monte Carlo interval of `power` where it is simulated, and the simulated comparisons.
    beside, curve
        The same question by other tests, formulas and by simulation; power and detectable difference by size.
    parts, next_steps, recommendation
        Where the variance of a pilot comes from, what doubling items, trials or clusters would buy, and which to buy.
    question
        What the plan answers, in words.
    test
        What is to be shown: "difference", "noninferiority", "equivalence", or an interval's "precision".
    n_items, n_clusters, n_trials
        The size: items, clusters, and trials of an item by baseline and by candidate.
    delta, margin, half_width
        The true difference, the margin, and half the width of the interval; None where the question has none.
    reason
        Why no size is enough; None where one is.
    discordance
        Share of items that exactly one side gets right; None where scores are not right or wrong.
    variance, icc, cluster_size
        Variance of an item's difference in squared score units, the share of it between clusters, and items in each.
    assumptions
        What was assumed where no pilot tells it, in words.
    curve_unit, cost_unit
        What the curve counts, and what a cost is in.
    by_trials
        Items needed by number of trials.
    pilot
        What the pilot holds, in words; "" without one.
    short_form
        Chosen items that tell a score as well as these random ones; None where none is known.
    """

    question: str
    test: PowerTest
    solved: Solved
    conf_level: float
    power_goal: float
    method: PowerMethod
    method_reason: str
    n_items: int | None = None
    n_clusters: int | None = None
    n_trials: tuple[float, float] = (1.0, 1.0)
    delta: float | None = None
    margin: float | None = None
    half_width: float | None = None
    power: float | None = None
    reason: str | None = None
    answer_low: float | None = None
    answer_high: float | None = None
    answer_range: str = ""
    smallest_delta: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    n_resamples: int | None = None
    discordance: float | None = None
    variance: float | None = None
    icc: float | None = None
    cluster_size: float | None = None
    assumptions: tuple[str, ...] = ()
    beside: tuple[PlanRow, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    curve_unit: Literal["items", "clusters"] = "items"
    parts: tuple[VariancePart, ...] = ()
    next_steps: tuple[NextStep, ...] = ()
    cost_unit: str = ""
    recommendation: tuple[str, ...] = ()
    by_trials: tuple[TrialRow, ...] = ()
    n_tasks: int | None = None
    different: str = ""
    pilot: str = ""
    short_form: ShortFormPlan | None = None
    benchmark: str = ""
    metric: str = ""
    scale: float = 1.0
    unit: str = ""
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    @property
    def answer(self) -> float | int | None:
        """The number that was asked for, in its own unit."""
        value: float | int | None = getattr(self, self.solved)
        return value

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        answer = "none" if self.answer is None else f"{self.answer:,.6g}"
        return f"<PowerPlan: {self.solved} {answer} ({self.method}): {self.question}>"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-safe values, the answer first: what `save` writes and `--format json` prints."""
        values = Result.to_dict(self)
        return {"result": values.pop("result"), "answer": json_safe(self.answer), **values}

    def to_frame(self) -> pl.DataFrame:
        """Tidy rows: the answer by every method (term "plan"), the curve (term "curve"), what to buy next (term "buy")."""
        plan = [{"term": "plan", **dataclasses.asdict(row)} for row in self.beside]
        curve = [{"term": "curve", "method": self.method, **dataclasses.asdict(point)} for point in self.curve]
        steps = [
            {
                "term": f"buy: {step.buy}",
                "method": self.method,
                "n_items": step.n_items,
                "n_clusters": step.n_clusters,
                "n_trials": sum(step.n_trials) / 2,
                "std_error": step.std_error,
                "mde": step.mde,
                "cost": step.cost,
                "note": step.reason,
            }
            for step in self.next_steps
        ]
        rows = [{**row, "conf_level": self.conf_level} for row in (*plan, *curve, *steps)]
        return ShownFrame(pl.DataFrame(rows, schema=_FRAME) if rows else pl.DataFrame(schema=_FRAME))


_FRAME: dict[str, type[pl.DataType]] = {
    "term": pl.String,
    "method": pl.String,
    "role": pl.String,
    "n_items": pl.Int64,
    "n_clusters": pl.Int64,
    "n_trials": pl.Float64,
    "delta": pl.Float64,
    "margin": pl.Float64,
    "power": pl.Float64,
    "mde": pl.Float64,
    "half_width": pl.Float64,
    "std_error": pl.Float64,
    "cost": pl.Float64,
    "conf_low": pl.Float64,
    "conf_high": pl.Float64,
    "conf_level": pl.Float64,
    "n_resamples": pl.Int64,
    "note": pl.String,
}
