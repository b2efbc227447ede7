"""What of the gap is the mix of scenarios, and what is behaviour within them: the third and fourth layer of `gap()`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a decomposition, with its interval, in the metric's own unit; `reason` where something is missing."""

    estimate: float | None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompositionRow:
    """The gap of one model (or of the mean of all), live less lab, in parts that add up.

    Attributes
    ----------
    model
        Name; "" for the mean over models.
    lab, live, total
        The two rates and live less lab.
    mix
        Because live users bring other scenarios. `behaviour`: because the model does otherwise within the same scenarios.
    unexplained
        By design: live scenarios that the lab never covers (and lab scenarios that live users never bring).
    factors
        Where there are several factors: each one's part of `mix` (Shapley), by name.
    poststratified
        What the lab predicts for the live mix: the lab's rates in the live shares (over scenarios the lab covers).
    raked
        The same with the lab weighted to the live margins of each factor alone; None with a single factor.
    threefold
        (mix, behaviour, interaction) of the three-fold version, which hangs on which side is taken first; for the appendix.
    """

    model: str
    lab: Part
    live: Part
    total: Part
    mix: Part
    behaviour: Part
    unexplained: Part | None = None
    factors: tuple[tuple[str, Part], ...] = ()
    poststratified: Part | None = None
    raked: Part | None = None
    threefold: tuple[float, float, float] | None = None
    n_lab: int = 0
    n_live: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPart:
    """One scenario's contribution, mean over models.

    Attributes
    ----------
    lab_share, live_share
        Of a model's outcomes on the side that fall into it, mean over models. `live_share_low`, `live_share_high`: interval
        of the live share.
    lab_rate, live_rate
        Mean over models of the rate in it; None where a side has nothing there.
    mix, behaviour
        Its contributions; mix terms are centred so that they do not hinge on an arbitrary zero.
    status
        "covered"; "lab never covers" (positivity fails); "live never brings"; "thin" (fewer than ten lab items).
    """

    cell: str
    lab_share: float
    live_share: float
    live_share_low: float | None = None
    live_share_high: float | None = None
    lab_rate: float | None = None
    live_rate: float | None = None
    mix: Part | None = None
    behaviour: Part | None = None
    n_lab: int = 0
    n_live: int = 0
    status: Literal["covered", "lab never covers", "live never brings", "thin"] = "covered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighting:
    """How lab items were weighted to stand for the live mix.

    Attributes
    ----------
    method
        "post-stratified" (joint cells) or "raked" (margins, by iterative proportional fitting).
    effective_n, n
        Kish's effective number of items, and how many there are.
    ratio, trimmed
        Largest weight over the smallest; share of items whose weight was cut at `trim` times the mean weight.
    converged, n_rounds
        Of the raking.
    uncovered
        Share of the live mix in cells the lab never covers: no weight can stand for it.
    margins
        (factor, level, share aimed at, share reached), over what the lab covers.
    """

    method: str
    n: int
    effective_n: float
    ratio: float
    trim: float | None = None
    trimmed: float = 0.0
    converged: bool = True
    n_rounds: int = 0
    uncovered: float = 0.0
    margins: tuple[tuple[str, str, float, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """The gap on one scale, in parts.

    Attributes
    ----------
    factors
        Columns whose combinations are the cells.
    overall
        The mean over models; `rows`: each model, in the order of `Material.models`.
    cells
        Each cell: the positivity table and the contributions.
    weighting
        Of lab items to the joint cells; `raking` to the margins of several factors.
    mix_source
        Where the live shares come from: "counted in the live data", or the words given with a mix from outside. With a mix
        from outside and no live outcomes, only `poststratified` is known, and `live`, `behaviour` have a reason.
    """

    factors: tuple[str, ...]
    overall: DecompositionRow
    rows: tuple[DecompositionRow, ...]
    cells: tuple[CellPart, ...]
    weighting: Weighting | None = None
    raking: Weighting | None = None
    mix_source: str = "counted in the live data"
    conf_level: float = 0.95
    n_resamples: int | None = None
    method: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioGap:
    """Live less lab within one scenario, for one model (or the mean of all: model "").

    Attributes
    ----------
    pooled, pooled_low, pooled_high
        Partially pooled over models and scenarios.
    p_adjusted
        Benjamini-Hochberg over all cells of the table (over scenarios, for the means).
    n_live
        Live outcomes; None where they are withheld since too few users stand behind them.
    df
        Of the t law of the interval.
    adjusted_low, adjusted_high
        Interval at the level that false-coverage control asks for where the gap is flagged; else the plain one.
    equivalence_low, equivalence_high
        The narrower interval that decides `aligned`.
    lab, live
        The two rates.
    """

    scenario: str
    model: str
    estimate: float | None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    pooled: float | None = None
    pooled_low: float | None = None
    pooled_high: float | None = None
    n_lab: int = 0
    n_live: int | None = 0
    verdict: Literal["gap", "aligned", "inconclusive", "invalid"] = "inconclusive"
    reason: str | None = None
    df: float | None = None
    adjusted_low: float | None = None
    adjusted_high: float | None = None
    equivalence_low: float | None = None
    equivalence_high: float | None = None
    lab: float | None = None
    live: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioGaps:
    """For which scenario types does the lab not predict? On one scale only.

    Attributes
    ----------
    means
        One for each scenario: mean over models. `rows`: model x scenario.
    tau_interaction
        Standard deviation of true gaps of model x scenario beyond the model's and the scenario's own; None where unknown.
    """

    factor: str
    means: tuple[ScenarioGap, ...]
    rows: tuple[ScenarioGap, ...]
    tau_interaction: float | None = None
    p_interaction: float | None = None
    conf_level: float = 0.95
    method: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRow:
    """One model's drop from ideal to non-ideal users in the lab, and what it forecasts for live users.

    Attributes
    ----------
    ideal, drop
        Lab score with ideal users, and what non-ideal ones take from it (negative: the model does worse), averaged over the
        non-ideal behaviours in their live shares. `pooled`: partially pooled over models.
    forecast
        ideal + share of non-ideal users x pooled drop: the live score to expect from the lab alone.
    live, miss
        The live score where it is on the same scale, and live less forecast.
    """

    model: str
    ideal: Part
    drop: Part
    pooled: Part
    forecast: Part
    live: Part | None = None
    miss: Part | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropForecast:
    """The drop from ideal to non-ideal users as a forecast of the gap.

    Attributes
    ----------
    share_non_ideal
        Of live users; `share_source` says from where.
    mean_drop
        Over models. `spread`: standard deviation of true drops between models, with the p of none.
    slope
        Of the gap (live less the lab's ideal score, or the calibrated gap) on the drop over models, errors on both sides
        and shared ones counted; None where it cannot be estimated. 1 times the non-ideal share if the drop carries over
        whole.
    explained
        Share of the variance of true gaps that the drop explains; None where there is no variance to explain.
    flips
        Pairs of models whose order by forecast differs from that with ideal users, both separated; the one ahead with ideal
        users first.
    slope_p, slope_df
        Of the hypothesis that the gap does not go with the drop; df of its t law (None: normal).
    slope_reason
        Why there is no slope.
    """

    rows: tuple[DropRow, ...]
    share_non_ideal: float
    share_source: str
    mean_drop: Part
    spread: float | None = None
    spread_p: float | None = None
    slope: Part | None = None
    expected_slope: float | None = None
    explained: float | None = None
    flips: tuple[tuple[str, str], ...] = ()
    method: str = ""
    warnings: tuple[str, ...] = ()
    slope_p: float | None = None
    slope_df: float | None = None
    slope_reason: str | None = None
    conf_level: float = 0.95
