"""The top of a table is partly luck: scores drawn towards their mean, and the winner's score corrected for having won."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evalstats.analysis.leaderboard.comparability import ComparabilityGraph
from evalstats.analysis.leaderboard.result import TIED, Winner
from evalstats.analysis.leaderboard.standings import Plan, Scores
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.many.pair_table import score_covariance
from evalstats.stats.many.winners_curse import WinnerInterval, shrunken_means, winner_interval

Floats = npt.NDArray[np.float64]
_ROUNDING = 1e-12
# The correction takes the covariance as known and the scores as normal.
_MIN_ITEMS, _MIN_CLUSTERS, _MIN_EITHER = 100, 40, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """Shrunken scores in column order (None where there are none), and the winner."""

    shrunken: tuple[float | None, ...]
    winner: Winner | None = None


def corrected(scores: Scores, plan: Plan, names: Sequence[str], graph: ComparabilityGraph) -> Correction:
    """Correct the scores of models on the same or overlapping items for the luck of the draw of items.

    The covariance is that of items, or of the clusters that are fewest. Models that fall into unconnected parts have no
    common mean to be drawn to, and no winner.
    """
    if not graph.connected:
        return Correction(shrunken=(None,) * len(names))
    estimates = np.nanmean(scores.values, axis=0)
    codes = min(scores.clusters, key=lambda each: len(np.unique(each)), default=None)
    groups = codes if codes is not None else np.arange(len(scores.values))
    units = [len(np.unique(groups[~np.isnan(column)])) for column in scores.values.T]
    what = "items" if codes is None else "clusters"
    if not scores.allowed.all() or np.isnan(scores.values).any():
        return uncorrected(estimates, plan, names, "the models did not see the same items")
    least = _MIN_ITEMS if codes is None else _MIN_CLUSTERS
    tied = _tied(estimates, plan, names)
    if min(units) < least and len(tied) < 2:
        few = f"there are {min(units)} {what}, and at least {least} are needed to know the noise by"
        return uncorrected(estimates, plan, names, few)
    near = _near_an_end(scores.values[:, int(np.argmax(plan.turned(estimates)))], plan)
    if near is not None:
        found = corrected_estimates(estimates, score_covariance(scores.values, clusters=codes), plan, names)
        return replace(uncorrected(estimates, plan, names, near), shrunken=found.shrunken)
    return corrected_estimates(estimates, score_covariance(scores.values, clusters=codes), plan, names)


def corrected_estimates(estimates: Floats, covariance: Floats, plan: Plan, names: Sequence[str]) -> Correction:
    """Do the same for estimates with a known covariance, shape (n_models, n_models)."""
    noise = np.diagonal(covariance)
    flat = [
        name for name, variance in zip(names, noise.tolist(), strict=True) if not variance > _ROUNDING * noise.max()
    ]
    if flat:
        return uncorrected(estimates, plan, names, f"the scores of {flat[0]} are all equal, so its noise is not known")
    drawn = (
        shrunken_means(estimates, covariance=covariance).shrunken.tolist() if len(names) > 2 else [None] * len(names)
    )
    best = int(np.argmax(plan.turned(estimates)))
    tied = _tied(estimates, plan, names)
    if len(tied) > 1:
        correction = uncorrected(
            estimates, plan, names, f"{len(tied)} models share it, so the data picked none of them"
        )
        return replace(correction, shrunken=tuple(drawn))
    found = winner_interval(plan.turned(estimates), covariance, conf_level=plan.conf_level)
    found = _sober(found, math.sqrt(float(noise[best])))
    ends = plan.turned(np.array([found.estimate, found.conf_low, found.conf_high]))
    ends = np.clip(ends, plan.metric.low, plan.metric.high).tolist()
    winner = Winner(
        name=names[best],
        estimate=float(estimates[best]),
        conf_level=plan.conf_level,
        method=found.method if found.note is None else f"{found.method}: {found.note}",
        corrected=ends[0],
        conf_low=min(ends[1:]),
        conf_high=max(ends[1:]),
        shrunken=drawn[best],
    )
    return Correction(shrunken=tuple(drawn), winner=winner)


def _sober(found: WinnerInterval, sd: float) -> WinnerInterval:
    """Give the simultaneous interval where the correction is wild, or its interval shorter than the model's own.

    A near tie moves the corrected score below all that the simultaneous interval holds.
    """
    own = 2.0 * normal_quantile(found.conf_level) * sd
    wild = not found.projection_low <= found.estimate <= found.projection_high
    if not wild and found.conf_high - found.conf_low >= own and found.conf_low >= found.observed - 3.0 * own:
        return found
    return replace(
        found,
        estimate=found.observed,
        conf_low=found.projection_low,
        conf_high=found.projection_high,
        method="simultaneous (projection)",
        note="the lead is too narrow for a correction of its own"
        if wild
        else "never shorter than the model's own interval",
    )


def _near_an_end(values: Floats, plan: Plan) -> str | None:
    """Return why the score on top is too near an end of its scale for a normal law; a bounded metric only."""
    if plan.bounds is None:
        return None
    low, high = plan.bounds
    share = (values - low) / (high - low)
    fewest = min(float(share.sum()), float((1.0 - share).sum()))
    if fewest >= _MIN_EITHER:
        return None
    return f"it lies within {_MIN_EITHER} items of an end of the scale, where its noise is not normal"


def uncorrected(estimates: Floats, plan: Plan, names: Sequence[str], reason: str) -> Correction:
    """Name the model on top and say why its score is not corrected."""
    tied = _tied(estimates, plan, names)
    best = float(estimates[int(np.argmax(plan.turned(estimates)))])
    winner = Winner(name=", ".join(tied), estimate=best, conf_level=plan.conf_level, reason=reason)
    return Correction(shrunken=(None,) * len(names), winner=winner)


def _tied(estimates: Floats, plan: Plan, names: Sequence[str]) -> list[str]:
    turned = plan.turned(estimates)
    return [name for name, value in zip(names, turned.tolist(), strict=True) if turned.max() - value <= TIED]
