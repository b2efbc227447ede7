"""The frozen result of `gap()` with its layers. No verdict in it comes from a point estimate."""

import dataclasses
from dataclasses import field
from typing import Literal

import polars as pl

from evalstats.analysis.gap.agreement_result import Agreement
from evalstats.analysis.result import Estimate, OfOrigin, Origin, Result, row_named
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.escape import one_line
from evalstats.document.model import Note
from evalstats.record import record
from evalstats.table.metric import MetricFacts

Link = Literal["identity", "logit"]
GapVerdict = Literal["aligned", "gap", "inconclusive", "invalid"]
CellStatus = Literal["covered", "lab never covers", "live never brings", "thin"]
Ends = tuple[float | None, float | None] | None


@record
class DecompositionRow:
    """The gap of one model (or of the mean of all: model ""), live minus lab, in parts that add up.

    `mix`: live users bring other scenarios; `factors` are its parts by factor (Shapley). `behaviour`: the model does
    otherwise within the same scenarios. `unexplained`: scenarios of one side alone. `poststratified` is what the lab
    predicts for the live mix.

    Attributes
    ----------
    total
        Live minus lab.
    n_lab, n_live
        Rows on either side.
    """

    model: str
    lab: Estimate
    live: Estimate
    total: Estimate
    mix: Estimate
    behaviour: Estimate
    unexplained: Estimate | None = None
    factors: tuple[tuple[str, Estimate], ...] = ()
    poststratified: Estimate | None = None
    n_lab: int = 0
    n_live: int = 0
    reason: str | None = None


@record
class CellPart:
    """One scenario's shares, rates and contributions, means over models; None where a side has nothing there.

    Mix terms are centred so that they do not hinge on an arbitrary zero. "thin" has fewer than ten lab items.

    Attributes
    ----------
    cell
        The scenario.
    lab_share, live_share
        Its share of either side.
    lab_rate, live_rate
        Mean score within it.
    mix, behaviour
        What it adds to either part.
    n_lab, n_live
        Rows on either side.
    status
        Whether both sides cover it, and with enough items.
    """

    cell: str
    lab_share: float
    live_share: float
    live_share_low: float | None = None
    live_share_high: float | None = None
    lab_rate: float | None = None
    live_rate: float | None = None
    mix: Estimate | None = None
    behaviour: Estimate | None = None
    n_lab: int = 0
    n_live: int = 0
    status: CellStatus = "covered"


@record
class Weighting:
    """How lab items were weighted by joint cells to stand for the live mix.

    `effective_n` is Kish's; `ratio` the largest weight over the smallest; `uncovered` the share of the live mix in cells
    the lab never covers.

    Attributes
    ----------
    n
        Lab items.
    """

    n: int
    effective_n: float
    ratio: float
    uncovered: float = 0.0


@record
class Decomposition:
    """The gap on one scale, in parts: of the mean over models (`overall`), of each model, and by cell of the `factors`.

    With a mix from outside (`mix_source`) and no live outcomes, only `poststratified` is known, and `live`, `behaviour` have a
    reason.

    Attributes
    ----------
    rows, cells
        By model, and by scenario.
    weighting
        How lab items were weighted to the live mix.
    """

    factors: tuple[str, ...]
    overall: DecompositionRow
    rows: tuple[DecompositionRow, ...]
    cells: tuple[CellPart, ...]
    weighting: Weighting | None = None
    mix_source: str = "counted in the live data"
    conf_level: float = 0.95
    notes: tuple[Note, ...] = ()


@record
class JudgedGap(Estimate):
    """A gap with its verdict.

    `adjusted_low` and `adjusted_high` are at the level that false-coverage control asks for where the gap is flagged, else the
    plain interval; the narrower `equivalence_low` and `equivalence_high` decide `aligned`.

    Attributes
    ----------
    adjusted_low, adjusted_high
        The interval that decides, widened for selection where flagged.
    equivalence_low, equivalence_high
        The narrower interval, which decides `aligned`.
    """

    adjusted_low: float | None = None
    adjusted_high: float | None = None
    equivalence_low: float | None = None
    equivalence_high: float | None = None
    verdict: GapVerdict = "inconclusive"

    @property
    def deciding(self) -> Ends:
        """The interval that the verdict rests on: widened for being picked where the gap is flagged."""
        known = self.adjusted_low is not None and self.adjusted_high is not None
        return (self.adjusted_low, self.adjusted_high) if known else self.ends


@record
class ScenarioGap(JudgedGap):
    """Live minus lab within one scenario, for one model (or the mean of all: model "").

    `p_adjusted` is Benjamini-Hochberg's over all cells of the table (over scenarios, for the means). `n_live` counts live
    outcomes; None where they are withheld since too few users stand behind them.

    Attributes
    ----------
    n_lab
        Lab outcomes.
    """

    scenario: str
    model: str
    n_lab: int = 0
    n_live: int | None = 0
    lab: float | None = None
    live: float | None = None


@record
class ScenarioGaps:
    """For which scenario types does the lab not predict? On one scale only: means over models, and model x scenario.

    Attributes
    ----------
    means, rows
        By scenario, and by model and scenario.
    """

    factor: str
    means: tuple[ScenarioGap, ...]
    rows: tuple[ScenarioGap, ...]
    conf_level: float = 0.95
    notes: tuple[Note, ...] = ()


@record
class SideAccount:
    """What one side is.

    `errors` are "full" (all covariances known), "marginal" (published standard errors alone) or "none". `n_models`
    counts all models of this side, `n_units` its items, sessions or votes (`unit_word`). `reliability` is the share of
    the variance between models that is not noise, `noise` the standard deviation of that noise, `spread` that of the
    estimates. `link` is "logit" where the metric's shares enter line and correlation as logits, and
    then `noise` and `spread` are logits.

    Attributes
    ----------
    kind
        What it holds: outcomes, votes or published numbers.
    first_day, last_day
        When it was measured.
    only_here
        Models that the other side lacks.
    """

    kind: str
    about: MetricFacts
    errors: Literal["full", "marginal", "none"]
    n_models: int
    n_units: int | None
    unit_word: str
    n_clusters: int | None = None
    clusters: tuple[str, ...] = ()
    reliability: float | None = None
    noise: float | None = None
    spread: float | None = None
    first_day: str | None = None
    last_day: str | None = None
    method: str = ""
    only_here: tuple[str, ...] = ()
    link: Link = "identity"


@record
class ModelGap(JudgedGap):
    """What the calibrated gap and the plain difference say of one model, in the live side's own unit.

    Attributes
    ----------
    expected
        What the lab score leads to expect live, by a line through the *other* models.
    estimate, std_error, conf_low, conf_high, p_value
        The gap, live less expected; error of noise and line, not of the spread between models; p of no gap.
    p_outlier, p_adjusted
        Whether it stands out among the gaps of the others; adjusted over models (Benjamini-Hochberg).
    shrunken, detectable, leverage, extrapolated
        The gap drawn towards 0 by as much as the noise makes likely; the smallest gap that would have been flagged with 80%
        probability; the share of the line's information that the model holds; whether its lab score is outside the others'.
    difference, difference_low, difference_high, difference_p, difference_adjusted
        Live minus lab, where both are on one scale, with its own verdict; the interval for false-coverage control where flagged.
    material
        Whether the interval of a gap also lies beyond the declared margin.
    difference_std_error, difference_verdict
        Standard error and verdict of the plain difference.
    """

    estimate: float | None = None
    expected: float | None = None
    p_outlier: float | None = None
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


@record
class GapRow(ModelGap):
    """One model: its gap, and the two scores in each side's own unit with their intervals.

    `lab_name` is the name in the lab where it is another.

    Attributes
    ----------
    lab_std_error, live_std_error
        Standard errors of the two scores.
    lab_n, live_n
        Items, sessions or votes behind them.
    """

    name: str
    lab_name: str
    lab: float
    live: float
    lab_std_error: float | None = None
    lab_low: float | None = None
    lab_high: float | None = None
    live_std_error: float | None = None
    live_low: float | None = None
    live_high: float | None = None
    lab_n: int | None = None
    live_n: int | None = None


@record
class OtherLine:
    """The same line by another method, such as least squares ("ols", biased towards 0 by noise in the lab).

    `n_beyond` counts models whose residual this line would call significant, without adjustment; None where it gives no
    error.

    Attributes
    ----------
    key, title
        Its name, short and in words.
    slope, intercept, slope_std_error
        The line.
    why
        What is wrong with it here.
    """

    key: str
    title: str
    slope: float
    intercept: float
    slope_std_error: float | None = None
    n_beyond: int | None = None
    why: str = ""


@record
class CalibrationLine:
    """York's line by which lab scores are read as live ones, with errors on both sides and variance between models.

    Attributes
    ----------
    slope, intercept
        live = intercept + slope * lab, in own units, or logits of a side whose `link` is "logit"; the slope's interval inverts a
        test; an end that is None is infinite.
    tau, tau_low, tau_high
        Standard deviation of true gaps beyond noise, live unit (or logits); interval by inverting the test (tau_low may be 0).
    statistic, df, p_value
        Of the question whether noise alone explains all gaps (tau = 0): chi-squared.
    detectable
        The smallest gap of a typical model that would have been flagged with 80% probability.
    influential
        Models without which the slope moves by more than one standard error.
    slope_p_value, slope_one_p, lab_p_value, bend_p
        Of slope 0; of slope 1, on one scale; of lab scores that differ by no more than noise; of no bend in the line.
    bent
        Whether the scores bend away from the line, so that no model is called a gap.
    slope_std_error, intercept_std_error
        Standard errors.
    others
        The line by other methods.
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
    bent: bool = False


@record
class LevelGap(Estimate):
    """Live minus lab over all shared models on one scale: the overall drop, whatever the models' order.

    The estimate is the mean over these models; items and users are what was sampled.

    Attributes
    ----------
    equivalence_low, equivalence_high
        The narrower interval, which decides `aligned`.
    """

    estimate: float
    equivalence_low: float
    equivalence_high: float
    verdict: GapVerdict


@record
class Forecast:
    """What live users are expected to say of a model that only the lab has scored.

    `pred_low` and `pred_high` are a *prediction* interval, with the spread of true gaps in it. `extrapolated`: its lab
    score lies outside those of the models the line rests on.

    Attributes
    ----------
    lab_std_error
        Standard error of the lab score.
    expected
        What is expected live.
    rank_low, rank_high
        The places that it could take among live models.
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


@record
class Hierarchy:
    """One model of lab and live together (true score, slope, gaps), fitted by numerical integration.

    `slope` and `tau` are posterior medians with intervals. Every shared model is predicted by the others (`left_out`);
    `coverage` is the share inside, with an interval, since models are few. `probability_below` is, in the order of the
    rows, that a true gap is below 0. `sensitivity` is the width of a typical prediction interval under other priors,
    relative to these.

    Attributes
    ----------
    forecasts
        Models that only the lab has scored.
    priors
        The priors in words.
    """

    slope: float
    slope_low: float
    slope_high: float
    tau: float
    tau_low: float
    tau_high: float
    forecasts: tuple[Forecast, ...] = ()
    coverage: float | None = None
    coverage_low: float | None = None
    coverage_high: float | None = None
    probability_below: tuple[float, ...] = ()
    priors: str = ""
    sensitivity: tuple[tuple[str, float], ...] = ()
    notes: tuple[Note, ...] = ()


@record
class Threat:
    """A threat to the validity of any comparison of lab and live: "seen" where these data show it, else "possible".

    Attributes
    ----------
    key, title
        Its name, and what it is in words.
    text
        What these data say of it.
    status
        "seen" where these data show it, else "possible".
    """

    key: str
    title: str
    text: str
    status: Literal["seen", "possible"] = "possible"


@record(repr=False)
class LabLiveGap(OfOrigin, Result):
    """Does the lab predict the live world, and for which models does it fail? The answer, and how it was reached.

    Attributes
    ----------
    verdict, verdict_reason
        Of all models together: "gap" where at least one model is flagged or (on one scale) the overall level differs, each at
        half of what the level leaves, since these are two questions; "aligned" where a margin is declared and every model (and
        the level) is aligned; "invalid" where no gap can be estimated at all; else "inconclusive".
    scale_reason
        Why shares enter as logits; "" where both sides enter as they are.
    rows
        One for each shared model, by the live score, the best first.
    line, level, decomposition, scenario_gaps, hierarchy
        The layers beyond `agreement`; None with a (layer, why) in `left_out` where the data cannot give one.
    near_names, joined_by_alias
        (lab name, live name) that look alike and were not joined, and that an alias joined.
    lab, live
        What each side is: metric, numbers of models and rows, reliability and dates.
    same_scale
        Whether lab and live scores are on one scale, so that their levels can be compared.
    margin
        The largest gap that does not matter, in the unit of the live metric; None where none is declared.
    agreement
        How far the lab orders models as the live world does.
    threats
        Threats to validity that no method takes away.
    left_out
        (layer, why) of each layer that the data do not allow.
    n_models
        Models that both sides have.
    """

    lab: SideAccount
    live: SideAccount
    same_scale: bool
    scale_reason: str = ""
    verdict: GapVerdict
    verdict_reason: str
    conf_level: float
    margin: float | None
    estimand: str
    rows: tuple[GapRow, ...]
    agreement: Agreement
    line: CalibrationLine | None = None
    level: LevelGap | None = None
    decomposition: Decomposition | None = None
    scenario_gaps: ScenarioGaps | None = None
    hierarchy: Hierarchy | None = None
    threats: tuple[Threat, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    near_names: tuple[tuple[str, str], ...] = ()
    joined_by_alias: tuple[tuple[str, str], ...] = ()
    n_models: int = 0
    n_resamples: int | None = None
    converged: bool = True
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        lab, live = (one_line(side.about.benchmark) for side in (self.lab, self.live))
        about = f"{self.n_models} models, {lab} against {live}"
        return f"<LabLiveGap: {about}: {self.verdict}>"

    def row(self, name: str) -> GapRow:
        """Return one model's line."""
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
        return ShownFrame(rows, infer_schema_length=None)
