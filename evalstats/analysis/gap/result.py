"""The frozen result of `gap()`. No verdict in it comes from a point estimate."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

import polars as pl

from evalstats.analysis.gap.layers import Agreement, Decomposition, DropForecast, ScenarioGaps
from evalstats.analysis.result import Estimate, Result, row_named
from evalstats.analysis.scales import Direction
from evalstats.document.escape import one_line
from evalstats.document.model import Note
from evalstats.schema.plan import PlanAccount

GapVerdict = Literal["aligned", "gap", "inconclusive", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SideAccount:
    """What one side is.

    Attributes
    ----------
    kind
        "outcomes", "comparisons" or "aggregates".
    errors
        "full": covariance of all errors; "marginal": published standard errors alone; "none".
    n_models
        All models of this side; `only_here` names those that the other side has not.
    n_units
        Items, sessions or votes in all; `unit_word` says which.
    reliability
        Share of the variance between models that is not noise; None where errors are unknown. `noise` is the standard
        deviation of that noise, `spread` that of the estimates.
    """

    kind: str
    name: str
    metric: str
    metric_kind: str
    unit: str
    scale: float
    higher_is_better: bool
    errors: Literal["full", "marginal", "none"]
    n_models: int
    n_units: int | None
    unit_word: str
    n_clusters: int | None = None
    clusters: tuple[str, ...] = ()
    direction: Direction = "declared"
    reliability: float | None = None
    noise: float | None = None
    spread: float | None = None
    first_day: str | None = None
    last_day: str | None = None
    method: str = ""
    only_here: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGap(Estimate):
    """What the calibrated gap and the plain difference say of one model, in the live side's own unit.

    Attributes
    ----------
    expected
        What the lab score leads to expect live, by a line through the *other* models.
    estimate, std_error, conf_low, conf_high, p_value
        The gap, live less expected; error of noise and line, not of the spread between models; p of no gap.
    p_outlier, p_adjusted
        Whether it stands out among the gaps of the others; adjusted over models (Benjamini-Hochberg).
    adjusted_low, adjusted_high
        Interval at the level that false-coverage control asks for where the model is flagged; else the plain one.
    equivalence_low, equivalence_high
        The narrower interval that decides `aligned`.
    shrunken, shrunken_low, shrunken_high
        The gap drawn towards 0 by as much as the noise makes likely.
    detectable
        The smallest gap that would have been flagged with 80% probability.
    leverage
        Share of the line's information that the model holds, 0 to 1. `extrapolated`: its lab score lies outside the others'.
    difference, difference_low, difference_high, difference_p, difference_adjusted
        Live less lab, where both are on one scale, with its own verdict; None otherwise. The interval is the one at the
        level of false-coverage control where flagged.
    verdict, material, reason
        Of the calibrated gap. `material`: the interval also lies beyond the declared margin.
    """

    estimate: float | None = None
    expected: float | None = None
    p_outlier: float | None = None
    adjusted_low: float | None = None
    adjusted_high: float | None = None
    equivalence_low: float | None = None
    equivalence_high: float | None = None
    shrunken: float | None = None
    shrunken_low: float | None = None
    shrunken_high: float | None = None
    detectable: float | None = None
    leverage: float | None = None
    extrapolated: bool = False
    difference: float | None = None
    difference_std_error: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    difference_p: float | None = None
    difference_adjusted: float | None = None
    difference_verdict: GapVerdict | None = None
    verdict: GapVerdict = "invalid"
    material: bool | None = None
    reason: str = ""

    @property
    def deciding(self) -> tuple[float | None, float | None] | None:
        """The interval that the verdict rests on: widened for being picked where the model is flagged."""
        known = self.adjusted_low is not None and self.adjusted_high is not None
        return (self.adjusted_low, self.adjusted_high) if known else self.ends


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRow(ModelGap):
    """One model: its gap, and the two scores in each side's own unit with their intervals.

    Ranks are sets, None where they cannot be told. `lab_name` is the name in the lab where it is another.
    """

    name: str
    lab_name: str
    lab: float
    live: float
    lab_std_error: float | None = None
    lab_low: float | None = None
    lab_high: float | None = None
    lab_rank_low: int | None = None
    lab_rank_high: int | None = None
    live_std_error: float | None = None
    live_low: float | None = None
    live_high: float | None = None
    live_rank_low: int | None = None
    live_rank_high: int | None = None
    lab_n: int | None = None
    live_n: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLine:
    """The same line by another method, for comparison.

    Attributes
    ----------
    key
        "ols" (live on lab, biased towards 0 by noise in the lab), "theil-sen", "deming", "structural", "without leverage".
    n_beyond
        Models whose residual this line would call significant at the level, without adjustment; None where it gives no error.
    """

    key: str
    title: str
    slope: float
    intercept: float
    slope_std_error: float | None = None
    n_beyond: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationLine:
    """The line by which lab scores are read as live ones: York's, with errors on both sides and variance between models.

    Attributes
    ----------
    slope, intercept
        live = intercept + slope * lab, in own units; the slope's interval inverts a test; an end that is None is infinite.
    tau, tau_low, tau_high
        Standard deviation of true gaps beyond noise, live unit; interval by inverting the test (tau_low may be 0).
    statistic, df, p_value
        Of the question whether noise alone explains all gaps (tau = 0): chi-squared.
    detectable
        The smallest gap of a typical model that would have been flagged with 80% probability.
    others
        The line by other methods.
    influential
        Models without which the slope moves by more than one standard error.
    slope_p_value
        Of no association at all (slope 0). `slope_one_p`: of slope 1, where both sides are on one scale; None otherwise.
    lab_p_value
        Of lab scores that differ by no more than their noise, where no line is determined.
    bend_p
        Of live scores that follow a straight line in the lab scores, against a bend; None where that cannot be told.
    """

    slope: float
    intercept: float
    slope_std_error: float
    slope_low: float | None
    slope_high: float | None
    intercept_std_error: float
    tau: float
    tau_low: float
    tau_high: float | None
    statistic: float
    df: int
    p_value: float
    detectable: float | None
    n_models: int
    others: tuple[OtherLine, ...] = ()
    influential: tuple[str, ...] = ()
    converged: bool = True
    slope_p_value: float | None = None
    slope_one_p: float | None = None
    lab_p_value: float | None = None
    bend_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation(Estimate):
    """One model's live less lab, less the mean of that over all models: what it adds to the overall drop."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelGap(Estimate):
    """Live less lab over all shared models on one scale: the overall drop, whatever the models' order.

    Attributes
    ----------
    estimate, std_error, conf_low, conf_high, p_value
        Mean over models of live less lab, for these models; items and users are what was sampled.
    verdict
        aligned, gap or inconclusive by its interval and the margin.
    deviations
        Of each model from the mean difference, in the order of the shared models; intervals of those that stand out at the
        level of false-coverage control. `heterogeneity_p`: of one true difference for all models.
    """

    estimate: float
    equivalence_low: float
    equivalence_high: float
    verdict: GapVerdict
    deviations: tuple[Deviation, ...] = ()
    heterogeneity_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What live users are expected to say of a model that only the lab has scored.

    Attributes
    ----------
    expected, pred_low, pred_high
        Expected live score and its *prediction* interval, with the spread of true gaps in it.
    extrapolated
        Whether its lab score lies outside those of the models the line rests on.
    """

    name: str
    lab: float
    lab_std_error: float | None
    expected: float | None
    std_error: float | None = None
    pred_low: float | None = None
    pred_high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    extrapolated: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """One model predicted by the others, as if it had no live score."""

    name: str
    live: float
    expected: float
    pred_low: float
    pred_high: float
    inside: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy:
    """One model of lab and live together (true score, slope, gaps), fitted by numerical integration.

    Attributes
    ----------
    slope, tau
        Posterior median and interval.
    forecasts
        For models that only the lab has.
    left_out
        Every shared model predicted by the others; `coverage` is the share inside, `coverage_low`, `coverage_high` its
        interval (models are few).
    probability_below
        For each shared model in the order of the rows: probability that its true gap is below 0.
    priors
        The priors in words; `sensitivity` the width of a typical prediction interval under others, relative to these.
    """

    slope: float
    slope_low: float
    slope_high: float
    tau: float
    tau_low: float
    tau_high: float
    forecasts: tuple[Forecast, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    coverage: float | None = None
    coverage_low: float | None = None
    coverage_high: float | None = None
    probability_below: tuple[float, ...] = ()
    gap_mean: tuple[float, ...] = ()
    gap_low: tuple[float, ...] = ()
    gap_high: tuple[float, ...] = ()
    priors: str = ""
    sensitivity: tuple[tuple[str, float], ...] = ()
    method: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Threat:
    """A threat to the validity of any comparison of lab and live, and what these data say of it.

    Attributes
    ----------
    key
        "self-selection", "versions", "prompts", "outcome", "contamination", "judge", "survivorship".
    status
        "seen": the data show it; "possible": nothing rules it out; "ruled out": the data rule it out.
    """

    key: str
    title: str
    text: str
    status: Literal["seen", "possible", "ruled out"] = "possible"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LabLiveGap(Result):
    """Does the lab predict the live world, and for which models not? The answer, and how it was reached.

    Attributes
    ----------
    verdict, verdict_reason
        Of all models together: "gap" where at least one model is flagged or (on one scale) the overall level differs, each at
        half of what the level leaves, since these are two questions; "aligned" where a margin is declared and every model (and
        the level) is aligned; "invalid" where no gap can be estimated at all; else "inconclusive".
    rows
        One for each shared model, by the live score, the best first.
    agreement
        Correlations, order and pairs, with intervals from three sources. Always there.
    line, level, decomposition, scenario_gaps, drops, hierarchy
        The further layers; None with a sentence in `left_out` where the data cannot give one.
    left_out
        (layer, why) for each layer that is missing.
    near_names
        (lab name, live name) that look alike and were not joined.
    joined_by_alias
        (lab name, live name) that an alias joined.
    """

    lab: SideAccount
    live: SideAccount
    same_scale: bool
    verdict: GapVerdict
    verdict_reason: str
    conf_level: float
    margin: float | None
    method: str
    method_reason: str
    estimand: str
    rows: tuple[GapRow, ...]
    agreement: Agreement
    line: CalibrationLine | None = None
    level: LevelGap | None = None
    decomposition: Decomposition | None = None
    scenario_gaps: ScenarioGaps | None = None
    drops: DropForecast | None = None
    hierarchy: Hierarchy | None = None
    threats: tuple[Threat, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    near_names: tuple[tuple[str, str], ...] = ()
    joined_by_alias: tuple[tuple[str, str], ...] = ()
    n_models: int = 0
    n_resamples: int | None = None
    converged: bool = True
    plan: PlanAccount | None = None
    seed: int = 0
    version: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        about = f"{self.n_models} models, {one_line(self.lab.name)} against {one_line(self.live.name)}"
        return f"<LabLiveGap: {about}: {self.verdict}>"

    def row(self, name: str) -> GapRow:
        """Return one model's line.

        Raises
        ------
        InputError
            If there is no such model; the message names the closest.
        """
        return row_named(self.rows, name)

    def flagged(self) -> tuple[str, ...]:
        """Models whose calibrated gap has the verdict "gap"."""
        return tuple(row.name for row in self.rows if row.verdict == "gap")

    def to_frame(self) -> pl.DataFrame:
        """One row for each shared model."""
        rows = [
            {
                "model": row.name,
                **{field.name: getattr(row, field.name) for field in dataclasses.fields(row) if field.name != "name"},
            }
            for row in self.rows
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    def agreement_frame(self) -> pl.DataFrame:
        """One row for each coefficient, source of uncertainty and set of models."""
        return self.agreement.to_frame()
