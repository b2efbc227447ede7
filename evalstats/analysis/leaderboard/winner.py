"""The winner's curse on a board: the score at the top corrected for having been picked, and all scores shrunken."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from evalstats.analysis.design.entries import ComparabilityGraph
from evalstats.analysis.leaderboard.ranks import BoardScores, RankingOptions
from evalstats.analysis.leaderboard.result import TIED, TopScore
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.many.pair_table import score_covariance
from evalstats.stats.many.winners_curse import shrunken_means, winner_interval
from evalstats.table.items import Floats

_ROUNDING = 1e-12
# The correction takes the covariance as known and the scores as normal.
_MIN_ITEMS, _MIN_DRAWN, _MIN_EITHER = 100, 40, 10

# The score at the top, and shrunken scores in column order, None where there are none.
Correction: TypeAlias = tuple[TopScore | None, tuple[float | None, ...]]


def corrected(
    scores: BoardScores, asked: RankingOptions, names: Sequence[str], graph: ComparabilityGraph
) -> Correction:
    """Correct the scores of models on the same items for the luck of the draw of items.

    The covariance is that of items, or of the clusters that are fewest. Models that fall into unconnected parts have no
    common mean to be drawn to, and no winner.
    """
    none = (None,) * len(names)
    if not graph.connected:
        return None, none
    estimates = np.nanmean(scores.values, axis=0) if scores.means is None else scores.means
    if not scores.comparable.all() or np.isnan(scores.values).any():
        return _uncorrected(estimates, asked, names, "the models did not see the same items"), none
    codes = min(scores.clusters, key=lambda each: len(np.unique(each)), default=None)
    units, least = len(scores.values), _MIN_ITEMS
    if codes is not None:
        units, least = len(np.unique(codes)), _MIN_DRAWN
    if units < least and len(_tied(estimates, asked, names)) < 2:
        what = "items" if codes is None else "clusters"
        few = f"there are {units} {what}, and at least {least} are needed to know the noise by"
        return _uncorrected(estimates, asked, names, few), none
    top, shrunken = corrected_estimates(estimates, score_covariance(scores.values, clusters=codes), asked, names)
    if asked.metric.bounds is not None:
        low, high = asked.metric.bounds
        share = (scores.values[:, int(np.argmax(asked.turned(estimates)))] - low) / (high - low)
        if min(float(share.sum()), float((1.0 - share).sum())) < _MIN_EITHER:
            near = f"it lies within {_MIN_EITHER} items of an end of the scale, where its noise is not normal"
            top = _uncorrected(estimates, asked, names, near)
    return top, shrunken


def corrected_estimates(
    estimates: Floats, covariance: Floats, asked: RankingOptions, names: Sequence[str]
) -> Correction:
    """Do the same for estimates with a known covariance, shape (n_models, n_models)."""
    noise = np.diagonal(covariance)
    flat = [name for name, own in zip(names, noise.tolist(), strict=True) if not own > _ROUNDING * noise.max()]
    shrunken: tuple[float | None, ...] = (None,) * len(names)
    if flat:
        reason = f"the scores of {flat[0]} are all equal, so its noise is not known"
        return _uncorrected(estimates, asked, names, reason), shrunken
    if len(names) > 2:
        shrunken = tuple(shrunken_means(estimates, covariance=covariance).shrunken.tolist())
    best = int(np.argmax(asked.turned(estimates)))
    tied = _tied(estimates, asked, names)
    if len(tied) > 1:
        reason = f"{len(tied)} models share it, so the data picked none of them"
        return _uncorrected(estimates, asked, names, reason), shrunken
    found = winner_interval(asked.turned(estimates), covariance, conf_level=asked.conf_level)
    # The simultaneous interval where the correction is wild, or its interval shorter than the model's own: a near tie moves the
    # corrected score below all that the simultaneous interval holds.
    own = 2.0 * normal_quantile(found.conf_level) * math.sqrt(float(noise[best]))
    wild = not found.projection_low <= found.estimate <= found.projection_high
    if wild or found.conf_high - found.conf_low < own or found.conf_low < found.observed - 3.0 * own:
        found = replace(
            found,
            estimate=found.observed,
            conf_low=found.projection_low,
            conf_high=found.projection_high,
            method="simultaneous (projection)",
            note="the lead is too narrow for a correction of its own"
            if wild
            else "never shorter than the model's own interval",
        )
    ends = asked.turned(np.array([found.estimate, found.conf_low, found.conf_high]))
    ends = np.clip(ends, asked.metric.low, asked.metric.high).tolist()
    top = TopScore(
        name=names[best],
        estimate=float(estimates[best]),
        conf_level=asked.conf_level,
        method=found.method if found.note is None else f"{found.method}: {found.note}",
        corrected=ends[0],
        conf_low=min(ends[1:]),
        conf_high=max(ends[1:]),
        shrunken=shrunken[best],
    )
    return top, shrunken


def _uncorrected(estimates: Floats, asked: RankingOptions, names: Sequence[str], reason: str) -> TopScore:
    """Name the model on top and say why its score is not corrected."""
    best = float(estimates[int(np.argmax(asked.turned(estimates)))])
    name = ", ".join(_tied(estimates, asked, names))
    return TopScore(name=name, estimate=best, conf_level=asked.conf_level, reason=reason)


def _tied(estimates: Floats, asked: RankingOptions, names: Sequence[str]) -> list[str]:
    turned = asked.turned(estimates)
    return [name for name, value in zip(names, turned.tolist(), strict=True) if turned.max() - value <= TIED]
