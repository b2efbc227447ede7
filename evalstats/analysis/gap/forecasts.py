"""What to expect live: of models that only the lab has scored, and from the drop with difficult users."""

import math
from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.gap.behaviours import (
    Behaviours,
    LabDrops,
    behaviours_of,
    by_behaviour,
    drops_of,
    lab_drops,
    live_shares,
    weights_of,
)
from evalstats.analysis.gap.material import Material, Side
from evalstats.analysis.gap.result import DropForecast, DropRow, Forecast, Hierarchy, LeftOut
from evalstats.analysis.gap.score_scale import gap_in_points, new_logits, on_live_scale
from evalstats.analysis.result import Estimate
from evalstats.analysis.result import notes as as_notes
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray, is_constant
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.line import fit_line, fit_plane, slope_covariance
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance
from evalstats.stats.errors_in_variables.true_gaps import (
    LEAST_MODELS,
    HierarchyFit,
    NewModels,
    Predicted,
    fit_hierarchy,
)
from evalstats.stats.estimate import normal_quantile, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.gap import (
    Drops,
    PooledDrops,
    combined,
    flipped_pairs,
    no_spread_p,
    pooled_drops,
    spread_beyond_noise,
)

_METHOD = (
    "One model of both sides: true lab scores normal, live scores on a line in them, true gaps normal about it, the noise of "
    "both sides as estimated; mean and intercept integrated exactly, slope and spreads on a lattice; nothing is drawn at random. "
    "A prediction is of the true live score, with the spread of true gaps in it; what is measured live has noise of its own on "
    "top, which predictions of left-out models contain"
)
_DEPENDENCE = (
    "predictions of left-out models share the line through the others: "
    "the interval of their coverage is somewhat too narrow"
)
_MISSING = "its lab error is unknown: the median of the shared models' is used"
_OUTSIDE = (
    "its lab score lies outside those of the shared models: the interval assumes that the line goes on and that gaps are no "
    "larger out there, which these data cannot show"
)
_MARGINAL = (
    "only variances of the scores are known: errors that models share count as noise of each, so predictions of left-out models "
    "may be wider than need be"
)


def hierarchy_of(material: Material) -> Hierarchy:
    """Fit one model of lab and live, predict models that only the lab has, and leave out each shared one as a check.

    In each side's own direction, in the order of the rows. Prediction intervals end where the live scale does. Fitted on the
    scale of the line, and told in the live metric's own numbers.

    >>> from evalstats.analysis.gap.gap import gap
    >>> lab = {"model": list("abcdefgh"), "estimate": [9.0, 8, 7.5, 7, 6, 5.5, 5, 4], "std_error": [0.1] * 8}
    >>> live = {"model": list("abcdefg"), "estimate": [29.0, 25, 24, 21, 17, 17, 15], "std_error": [1.0] * 7}
    >>> found = gap(lab, live, n_resamples=100).hierarchy
    >>> [(new.name, round(new.expected), new.extrapolated) for new in found.forecasts]
    [('h', 11, True)]
    """
    _check(material)
    new, errors = _new_scores(material)
    variance, cross = _new_errors(material, errors)
    try:
        fit = fit_hierarchy(
            material.scores,
            new_lab=new if new.size else None,
            new_lab_covariance=variance if new.size else None,
            new_cross_with_lab=cross if new.size else None,
            conf_level=material.options.conf_level,
        )
    except InputError as error:
        raise CannotAnswerError(str(error)) from error
    return _hierarchy(material, fit, np.lexsort((np.arange(material.n_models), -material.own_scores.live)))


def _check(material: Material) -> None:
    """Raise CannotAnswerError where there is too little for a model of both sides."""
    if material.n_models < LEAST_MODELS:
        raise CannotAnswerError(
            f"{material.n_models} shared models are too few for a line and the spread about it; "
            f"at least {LEAST_MODELS} are needed"
        )
    for name, side in (("lab", material.lab), ("live", material.live)):
        if side.covariance is None:
            raise CannotAnswerError(
                f"not every {name} score has a standard error, so noise and true gaps cannot be told apart; give standard errors"
            )
        if is_constant(side.estimate):
            raise CannotAnswerError(f"all shared models have the same {name} score, so there is no line to predict by")


def _sign(side: Side) -> float:
    return -1.0 if side.turned else 1.0


def _new_scores(material: Material) -> tuple[FloatArray, list[float | None]]:
    """Return lab scores of models that only the lab has, on the scale of the line, and their standard errors there."""
    lab = material.lab
    new = np.array([estimate for _, estimate, _ in lab.only_here], dtype=np.float64)
    errors = [error for _, _, error in lab.only_here]
    if material.lab_link == "identity" or not new.size:
        return _sign(lab) * new, errors
    found, slope = new_logits(lab, new, np.array([np.nan if error is None else error for error in errors]))
    return found, [None if error is None else error * step for error, step in zip(errors, slope.tolist(), strict=True)]


def _new_errors(material: Material, errors: list[float | None]) -> tuple[FloatArray, FloatArray | None]:
    """Return variances of the new models' lab errors and their covariances with those of the shared models.

    Where covariances are known, a new model is taken to have been scored on the same items: it shares with every other model
    what that one shares with the rest on average, and has an error of its own at least as large as the smallest of theirs.
    """
    lab, table = material.lab, np.asarray(material.scores.lab_covariance, dtype=np.float64)
    n = len(table)
    common = 0.0 if lab.marginal else float((table.sum() - np.trace(table)) / (n * (n - 1)))
    middle = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
    own = np.diag(table) if lab.marginal else np.maximum(np.diag(middle), 0.0) * n / (n - 1)
    usual = common + float(np.median(own))
    given = [usual if error is None else max(error**2, common + float(own.min())) for error in errors]
    if lab.marginal:
        return np.array(given), None
    shared = table.mean(axis=0) - centred_variance(table) / n
    return np.array(given), np.tile(shared, (len(given), 1))


def _hierarchy(material: Material, fit: HierarchyFit, order: IntArray) -> Hierarchy:
    """Put the fit into words and own directions."""
    lab, live = material.lab, material.live
    slope = np.array([fit.slope, fit.slope_low, fit.slope_high]) * _sign(lab) * _sign(live)
    in_points = (gap_in_points(material, gap) for gap in (fit.gap_mean, fit.gap_low, fit.gap_high))
    gap_mean, gap_low, gap_high = _own(live, *in_points)
    below = 1.0 - fit.probability_below if live.turned else fit.probability_below
    return Hierarchy(
        slope=float(slope[0]),
        slope_low=float(slope[1:].min()),
        slope_high=float(slope[1:].max()),
        tau=fit.tau,
        tau_low=fit.tau_low,
        tau_high=fit.tau_high,
        forecasts=() if fit.new is None else _forecasts(material, fit.new),
        left_out=_left_out(material, fit, order),
        coverage=fit.coverage.estimate,
        coverage_low=fit.coverage.conf_low,
        coverage_high=fit.coverage.conf_high,
        probability_below=tuple(below[order].tolist()),
        gap_mean=tuple(gap_mean[order].tolist()),
        gap_low=tuple(gap_low[order].tolist()),
        gap_high=tuple(gap_high[order].tolist()),
        priors=fit.priors,
        sensitivity=fit.sensitivity,
        method=_METHOD,
        notes=as_notes(
            "fit", (*fit.warnings, *([_MARGINAL] if lab.marginal or live.marginal else []), _DEPENDENCE), caution=False
        ),
    )


def _own(
    side: Side, middle: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return an interval in the side's own direction."""
    return (-middle, -high, -low) if side.turned else (middle, low, high)


def _within(material: Material, law: Predicted) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return predictions in the live side's own direction and numbers, cut off where its scale ends."""
    side = material.live
    low = -np.inf if side.low is None else side.low
    high = np.inf if side.high is None else side.high
    found = (np.clip(on_live_scale(material, part), low, high) for part in (law.expected, law.low, law.high))
    middle, lower, upper = found
    return (middle, upper, lower) if side.turned else (middle, lower, upper)


def _forecasts(material: Material, new: NewModels) -> tuple[Forecast, ...]:
    expected, low, high = _within(material, new.live)
    step = 1e-4
    slope = np.abs(
        on_live_scale(material, new.live.expected + step) - on_live_scale(material, new.live.expected - step)
    )
    errors = new.live.std_error * slope / (2 * step)
    found = list[Forecast]()
    for j, (name, estimate, error) in enumerate(material.lab.only_here):
        reasons = [*([_MISSING] if error is None else []), *([_OUTSIDE] if new.extrapolated[j] else [])]
        found.append(
            Forecast(
                name=name,
                lab=estimate,
                lab_std_error=error,
                expected=float(expected[j]),
                std_error=float(errors[j]),
                pred_low=float(low[j]),
                pred_high=float(high[j]),
                rank_low=None if new.extrapolated[j] else int(new.rank_low[j]),
                rank_high=None if new.extrapolated[j] else int(new.rank_high[j]),
                extrapolated=bool(new.extrapolated[j]),
                reason="; ".join(reasons) or None,
            )
        )
    return tuple(found)


def _left_out(material: Material, fit: HierarchyFit, order: IntArray) -> tuple[LeftOut, ...]:
    expected, low, high = _within(material, fit.left_out)
    return tuple(
        LeftOut(
            name=material.models[j],
            live=float(material.live.estimate[j]),
            expected=float(expected[j]),
            pred_low=float(low[j]),
            pred_high=float(high[j]),
            inside=bool(fit.inside[j]),
        )
        for j in map(int, order)
    )


FEWEST_FOR_SLOPE = 6
_EXACT_SHARES = "fewer than five live clusters: the live shares are taken as exact"
_NO_REST = "the search for the slope did not come to rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSlope:
    """The slope of the gap on the drop, or why there is none."""

    part: Estimate | None = None
    expected: float | None = None
    explained: float | None = None
    p_value: float | None = None
    df: float | None = None
    reason: str | None = None
    method: str = ""
    converged: bool = True


def drop_slope(material: Material, keep: IntArray, drops: Drops, share: float) -> DropSlope:
    """Fit the gap on the drop over the models at places `keep`, with errors on both sides.

    On one scale the gap is live less the ideal lab score, and the line is York's with the covariance that the ideal
    score makes by entering gap and drop. On different scales live scores are fitted on ideal score and drop together.
    """
    n = keep.size
    if n < FEWEST_FOR_SLOPE:
        return DropSlope(
            reason=f"{n} models with a drop and a live score; a slope over models needs {FEWEST_FOR_SLOPE}"
        )
    scores = material.own_scores.subset(keep)
    noise = scores.live_covariance
    if noise is None:
        return DropSlope(reason="the live scores have no standard errors, so noise and gap cannot be told apart")
    own = (_turned(drops) if material.lab.turned else drops).smooth()
    try:
        if material.same_scale:
            return _on_one_scale(scores.live, noise, own, share, material.options.conf_level)
        return _on_two_scales(scores.live, noise, own, share, material.options.conf_level)
    except (CannotAnswerError, np.linalg.LinAlgError) as error:
        return DropSlope(reason=str(error))


def _turned(drops: Drops) -> Drops:
    return Drops(ideal=-drops.ideal, drop=-drops.drop, covariance=drops.covariance, df=drops.df)


def _on_one_scale(live: FloatArray, noise: FloatArray, drops: Drops, share: float, level: float) -> DropSlope:
    gap = LabLiveScores(
        lab=drops.drop,
        live=live - drops.ideal,
        lab_covariance=drops.of_drop,
        live_covariance=noise + drops.of_ideal,
        cross=-drops.drop_with_ideal,
    )
    fit = fit_line(gap, conf_level=level)
    flat = spread_beyond_noise(gap.live, noise + drops.of_ideal)
    df = float(gap.n_models - 2) if fit.tau2 > 0.0 else None
    error = math.sqrt(slope_covariance(gap, fit.slope, fit.tau2))
    return replace(
        _with_interval(drops, fit.slope, error, df, level),
        expected=share,
        explained=_explained(fit.tau2, flat),
        method="; York's line of live less ideal score on the drop",
        converged=fit.converged,
    )


def _on_two_scales(live: FloatArray, noise: FloatArray, drops: Drops, share: float, level: float) -> DropSlope:
    columns = np.stack([drops.ideal, drops.drop])
    fit = fit_plane(live, columns, noise, drops.covariance)
    n = drops.ideal.size
    alone = fit_line(
        LabLiveScores(lab=drops.ideal, live=live, lab_covariance=drops.of_ideal, live_covariance=noise),
        conf_level=level,
    )
    slope, error = float(fit.slopes[1]), math.sqrt(float(fit.covariance[1, 1]))
    df = float(n - 3) if fit.tau2 > 0.0 else None
    return replace(
        _with_interval(drops, slope, error, df, level),
        expected=share * float(fit.slopes[0]),
        explained=_explained(fit.tau2, alone.tau2),
        method="; plane of live scores on ideal score and drop, errors on all sides",
        converged=fit.converged,
    )


def _with_interval(drops: Drops, slope: float, error: float, df: float | None, level: float) -> DropSlope:
    """Return the slope with its interval and p; none where models hardly differ in their drop."""
    if no_spread_p(drops) > 1.0 - level:
        return DropSlope(
            df=df, reason="models do not differ in their drop by more than noise, so no slope is determined"
        )
    half = (normal_quantile(level) if df is None else t_quantile(level, df)) * error
    part = Estimate(estimate=slope, std_error=error, conf_low=slope - half, conf_high=slope + half, conf_level=level)
    p = two_sided_normal_p(slope / error) if df is None else two_sided_t_p(slope / error, df)
    return DropSlope(part=part, p_value=p, df=df)


def _explained(tau2: float, alone: float) -> float | None:
    return None if alone <= 0.0 else float(np.clip(1.0 - tau2 / alone, 0.0, 1.0))


@one_thread
def drop_forecast_of(material: Material) -> DropForecast:
    """Forecast live scores, in the lab metric's own unit, from what non-ideal users do to each model in the lab.

    A drop is the mean over the non-ideal behaviours, in their live shares, of the score with that behaviour less the
    score with ideal users: on the same items where at least half of a behaviour's items were played with ideal users
    too (items without a twin are then left out), else a difference of means. The forecast counts in the errors of ideal
    score and drop with their covariance, the spread of drops, and the counting of live users; shares from outside are
    taken as exact.
    """
    behaviours, rows = behaviours_of(material)
    shares = live_shares(material, behaviours)
    lab = lab_drops(material, behaviours, rows, shares)
    weights = np.array(shares.weights)
    drops = drops_of(lab, weights)
    variance = shares.variance(by_behaviour(lab, weights))
    pooled = pooled_drops(drops, shares.non_ideal, share_variance=variance or 0.0)
    slope = drop_slope(material, lab.keep, drops, shares.non_ideal)
    level = material.options.conf_level
    flips = flipped_pairs(drops, pooled, conf_level=level)
    return DropForecast(
        rows=tuple(_rows(material, lab, drops, pooled)),
        share_non_ideal=shares.non_ideal,
        share_source=shares.source,
        mean_drop=_mean_drop(lab, weights, level),
        spread=pooled.spread,
        spread_p=pooled.spread_p,
        slope=slope.part,
        expected_slope=slope.expected,
        explained=slope.explained,
        slope_p=slope.p_value,
        slope_df=slope.df,
        slope_reason=slope.reason,
        flips=tuple(
            (lab.models[j], lab.models[i]) if material.lab.turned else (lab.models[i], lab.models[j]) for i, j in flips
        ),
        method=_method(lab, behaviours, slope),
        notes=(
            *shares.notes,
            *lab.notes,
            *as_notes("few", () if variance is not None else (_EXACT_SHARES,), caution=False),
            *as_notes("fit", () if slope.converged else (_NO_REST,), caution=False),
        ),
        conf_level=level,
    )


def _mean_drop(lab: LabDrops, weights: FloatArray, conf_level: float) -> Estimate:
    _, drop = weights_of(lab, weights[weights > 0.0])
    found = combined(lab.rates, drop.mean(axis=0, keepdims=True))
    return _part(float(found.estimate[0]), float(found.covariance[0, 0]), float(found.df[0]), conf_level)


def _rows(material: Material, lab: LabDrops, drops: Drops, pooled: PooledDrops) -> list[DropRow]:
    level, live = material.options.conf_level, material.live
    errors = np.diag(pooled.forecast_covariance)
    rows: list[DropRow] = []
    for at, model in enumerate(lab.models):
        df = float(drops.df[at])
        forecast = _part(float(pooled.forecast[at]), float(errors[at]), df, level, material.lab)
        row = DropRow(
            model=model,
            ideal=_part(float(drops.ideal[at]), float(drops.of_ideal[at, at]), df, level, material.lab),
            drop=_part(float(drops.drop[at]), float(drops.of_drop[at, at]), df, level),
            pooled=_part(float(pooled.pooled[at]), float(pooled.pooled_std_error[at]) ** 2, df, level),
            forecast=forecast,
        )
        if material.same_scale and live.kind == "outcomes":
            row = _with_live(row, live, int(lab.keep[at]), (float(pooled.forecast[at]), float(errors[at]), df), level)
        rows.append(row)
    return rows


def _with_live(row: DropRow, live: Side, at: int, forecast: tuple[float, float, float], level: float) -> DropRow:
    """Set the live score beside the forecast; the two have independent errors."""
    estimate = float(live.estimate[at])
    apart = estimate - forecast[0]
    if live.covariance is None:
        reason = "the live scores have no standard errors"
        return replace(
            row, live=Estimate(estimate=estimate, reason=reason), miss=Estimate(estimate=apart, reason=reason)
        )
    own, (_, error, df) = float(live.covariance[at, at]), forecast
    live_df = np.inf if live.df is None else live.df
    both = (own + error) ** 2 / (own**2 / live_df + error**2 / df) if own + error > 0.0 else df
    return replace(
        row, live=_part(estimate, own, live_df, level, live), miss=_part(apart, own + error, float(both), level)
    )


def _part(estimate: float, variance: float, df: float, conf_level: float, side: Side | None = None) -> Estimate:
    """Give an estimate its t interval, cut at the bounds of the metric where it is a score."""
    if not variance > 0.0:
        return Estimate(estimate=estimate, reason="the spread of its scores is unknown")
    error = float(np.sqrt(variance))
    half = t_quantile(conf_level, min(df, 1e9)) * error
    low, high = estimate - half, estimate + half
    if side is not None and side.low is not None:
        low = max(low, min(side.low, estimate))
    if side is not None and side.high is not None:
        high = min(high, max(side.high, estimate))
    return Estimate(estimate=estimate, std_error=error, conf_low=low, conf_high=high, conf_level=conf_level)


def _method(lab: LabDrops, behaviours: Behaviours, slope: DropSlope) -> str:
    how = (
        "within items"
        if lab.paired.all()
        else "of means"
        if not lab.paired.any()
        else "within items where they are shared"
    )
    pooled = "pooled over models by REML" if lab.keep.size > 2 else "not pooled: fewer than three models"
    return f"differences {how} to {behaviours.ideal!r} users by {behaviours.column}, errors clustered; {pooled}{slope.method}"
