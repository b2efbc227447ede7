"""Agreement within parts of the order: the best live, the best in the lab, thirds."""

from dataclasses import replace
from typing import Literal

import numpy as np

from evalstats.analysis.gaps.agreement_results import PartRow
from evalstats.analysis.gaps.material import Options
from evalstats.stats.checks import IntArray
from evalstats.stats.gap.agreement_sources import draw_sources, noise_source, source_interval
from evalstats.stats.gap.correlations import NAMES, correlate
from evalstats.stats.gap.scores import LabLiveScores

_TIERS_FROM = 15
_TIER_NAMES = ("best third live", "middle third live", "last third live")
_Kind = Literal["all", "top", "lab top", "tier"]


def parts_of(scores: LabLiveScores, models: tuple[str, ...], options: Options) -> tuple[PartRow, ...]:
    """Return agreement over all models and within parts of the live and the lab order.

    Models that are close to each other agree less in order than models far apart, whatever the benchmark is worth: a
    coefficient over all says little about the top.
    """
    by_live = np.lexsort((scores.lab, -scores.live)).astype(np.int64)
    by_lab = np.lexsort((scores.live, -scores.lab)).astype(np.int64)
    cuts: list[tuple[IntArray, PartRow]] = [(by_live, _named("all", "all models", by_live, models))]
    for k in sorted({k for k in options.top if 3 <= k < scores.n_models}):
        shared, chance = len(set(by_live[:k].tolist()) & set(by_lab[:k].tolist())), k * k / scores.n_models
        best = (
            _named("top", f"live top {k}", by_live[:k], models),
            _named("lab top", f"lab top {k}", by_lab[:k], models),
        )
        cuts += [
            (places, replace(row, n_shared=shared, n_shared_by_chance=chance))
            for places, row in zip((by_live[:k], by_lab[:k]), best, strict=True)
        ]
    if scores.n_models >= _TIERS_FROM:
        thirds = zip(_TIER_NAMES, np.array_split(by_live, 3), strict=True)
        cuts += [(third, _named("tier", label, third, models)) for label, third in thirds]
    return tuple(_part(places, scores, options, row) for places, row in cuts)


def _named(kind: _Kind, label: str, places: IntArray, models: tuple[str, ...]) -> PartRow:
    names = tuple(models[int(place)] for place in places)
    return PartRow(kind=kind, label=label, n_models=places.size, models=names)


def _part(places: IntArray, scores: LabLiveScores, options: Options, row: PartRow) -> PartRow:
    # Sorted places keep the canonical order, on which the draws hang.
    cut = scores.subset(np.sort(places))
    values = {name: float(correlate(name, cut.lab, cut.live)) for name in NAMES}
    flat = np.isnan(values["pearson"])
    low, high, reason = (None, None, "all scores of a side are equal here") if flat else _ends(cut, options)
    return replace(
        row,
        pearson=None if flat else values["pearson"],
        spearman=None if flat else values["spearman"],
        kendall=None if flat else values["kendall"],
        conf_low=low,
        conf_high=high,
        reason=reason,
    )


def _ends(cut: LabLiveScores, options: Options) -> tuple[float | None, float | None, str | None]:
    drawn = draw_sources(cut, n_resamples=options.n_resamples, seed=options.seed, only_noise=True)
    source = noise_source(drawn)
    ends = source_interval(drawn, source, "spearman", conf_level=options.conf_level)
    if source != "items and votes":
        return ends.conf_low, ends.conf_high, f"interval by {source} alone: the errors of the other side are unknown"
    return ends.conf_low, ends.conf_high, ends.reason
