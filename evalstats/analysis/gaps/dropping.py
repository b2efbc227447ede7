"""The drop from ideal to non-ideal users in the lab, as a forecast of what live users will say."""

from dataclasses import replace

import numpy as np

from evalstats.analysis.gaps.behaviours import Behaviours, behaviours_of, live_shares
from evalstats.analysis.gaps.drop_cells import LabDrops, by_behaviour, drops_of, lab_drops, weights_of
from evalstats.analysis.gaps.drop_slope import DropSlope, drop_slope
from evalstats.analysis.gaps.material import Material, Side
from evalstats.analysis.gaps.mix_results import DropForecast, DropRow, Part
from evalstats.stats.checks import FloatArray
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import t_quantile
from evalstats.stats.gap.drop_line import Drops, PooledDrops, flipped_pairs, pooled_drops
from evalstats.stats.gap.scenario_cells import combined


@one_thread
def drop_forecast_of(material: Material) -> DropForecast:
    """Forecast live scores from what non-ideal users do to each model in the lab.

    Parameters
    ----------
    material
        With `lab_data` that hold items with ideal and with non-ideal users (`user_kind`, else a scenario called "ideal" or
        "stable"). Shares of behaviours come from `options.mix`, else from labels of live rows. Live outcomes are not needed.

    Returns
    -------
    DropForecast
        Numbers in the lab metric's own unit. A drop is the mean over the non-ideal behaviours, in their live shares, of the
        score with that behaviour less the score with ideal users: on the same items where at least half of a behaviour's items
        were played with ideal users too (items without a twin are then left out), else a difference of means.

    Raises
    ------
    CannotAnswerError
        If the lab has no ideal or no non-ideal users, live shares are unknown, or no model has five clusters of either.

    Notes
    -----
    Errors are clustered as the lab's are, and shared by models. The forecast counts in the errors of ideal score and drop with
    their covariance, the spread of drops, and the counting of live users; shares from outside are taken as exact.
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
        warnings=(
            *shares.warnings,
            *lab.warnings,
            *(() if variance is not None else ("fewer than five live clusters: the live shares are taken as exact",)),
            *slope.warnings,
        ),
        conf_level=level,
    )


def _mean_drop(lab: LabDrops, weights: FloatArray, conf_level: float) -> Part:
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
        return replace(row, live=Part(estimate=estimate, reason=reason), miss=Part(estimate=apart, reason=reason))
    own, (_, error, df) = float(live.covariance[at, at]), forecast
    live_df = np.inf if live.df is None else live.df
    both = (own + error) ** 2 / (own**2 / live_df + error**2 / df) if own + error > 0.0 else df
    return replace(
        row, live=_part(estimate, own, live_df, level, live), miss=_part(apart, own + error, float(both), level)
    )


def _part(estimate: float, variance: float, df: float, conf_level: float, side: Side | None = None) -> Part:
    """Give an estimate its t interval, cut at the bounds of the metric where it is a score."""
    if not variance > 0.0:
        return Part(estimate=estimate, reason="the spread of its scores is unknown")
    error = float(np.sqrt(variance))
    half = t_quantile(conf_level, min(df, 1e9)) * error
    low, high = estimate - half, estimate + half
    if side is not None and side.low is not None:
        low = max(low, min(side.low, estimate))
    if side is not None and side.high is not None:
        high = min(high, max(side.high, estimate))
    return Part(estimate=estimate, std_error=error, conf_low=low, conf_high=high)


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
