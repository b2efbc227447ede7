"""Old and new items on the scale of abilities, where models of unlike ability can be compared, and what that is in points.

Under the Rasch model items that are easier by one amount are easier by it for every model, but in points most for the models in
the middle. So logits are compared, and the answer is told as the points by which the suspect's own score on old items is too
high.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from evalstats.analysis.contamination.result import Compared
from evalstats.analysis.design.metric import Metric
from evalstats.errors import InputError, Option
from evalstats.grammar import plural
from evalstats.options import InflationScale
from evalstats.record import record
from evalstats.stats.contamination import ItemContrast, ReferenceGap, reference_gap
from evalstats.stats.rasch import ability_scores

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# So many items have to tell a suspect from its references, on either side and in either direction.
MIN_TELLING = 5
_LEAST_STRETCH = 0.1


def scale_for(metric: Metric, asked: InflationScale) -> tuple[Compared, str]:
    """Return the scale on which models are compared, and why on points where it is that."""
    if asked == "points":
        return "points", "points were asked for"
    if metric.kind in ("binary", "proportion") and metric.span is not None:
        return "latent", ""
    why = f"{metric.name!r} is no share of right answers (its kind is {metric.kind})"
    if asked == "latent":
        raise InputError(f"scale is latent, and {why}; use {Option('scale', 'points')}, or leave it out")
    return "points", why


def shares_of(values: Floats, metric: Metric) -> Floats:
    """Return values that are turned so that more is better as shares of the metric's range."""
    low = (metric.low if metric.higher_is_better else -(metric.high or 0.0)) or 0.0
    return np.asarray(np.clip((values - low) / (metric.span or 1.0), 0.0, 1.0), dtype=np.float64)


@record
class LatentScores:
    """What a suspect (first column) and its references show of their ability on each item, in logits.

    `share` is what the suspect has right on old items, `stretch` by how much of a logit of ability the logit of a share moves,
    `span` the range of the metric. `in_range`: its scores lie among theirs on both sides; `outside`: why too few items tell the
    suspect from its references (None where enough do).
    """

    scores: Floats
    share: float
    stretch: float
    span: float
    in_range: bool
    outside: str | None

    def in_points(self, logits: ReferenceGap, points: ReferenceGap) -> ReferenceGap:
        """Return an answer in logits as the points by which the suspect's own score on old items is too high."""
        at = special.logit(self.share)

        def excess(logit: float | None) -> float | None:
            return None if logit is None else self.span * (self.share - float(special.expit(at - self.stretch * logit)))

        clean = float(special.expit(at - self.stretch * logits.estimate))
        slope = self.span * self.stretch * clean * (1.0 - clean)
        errors = {name: getattr(logits, name) for name in ("std_error", "item_std_error", "between_sd")}
        estimate = excess(logits.estimate) or 0.0
        return replace(
            logits,
            **{name: None if error is None else slope * error for name, error in errors.items()},
            estimate=estimate,
            conf_low=excess(logits.conf_low),
            conf_high=excess(logits.conf_high),
            own=points.own,
            own_std_error=points.own_std_error,
            reference=None if points.reference is None else points.own - estimate,
        )


class ScaleGaps(NamedTuple):
    """A suspect's advantage beyond its references': the answer, in the metric's unit, and what it is on either scale."""

    answer: ReferenceGap
    logits: ReferenceGap | None
    points: ReferenceGap


def gaps_of(
    values: Floats,
    latent: LatentScores | None,
    contrast: ItemContrast,
    *,
    conf_level: float,
    bound: float | None = None,
) -> ScaleGaps:
    """Hold the first column of `values` against the others; the scale of abilities answers where there is one."""
    points = reference_gap(values[:, 0], values[:, 1:], contrast, conf_level=conf_level, bound=bound)
    if latent is None:
        return ScaleGaps(points, None, points)
    logits = reference_gap(latent.scores[:, 0], latent.scores[:, 1:], contrast, conf_level=conf_level)
    return ScaleGaps(latent.in_points(logits, points), logits, points)


def latent_of_split(values: Floats, old: Bools, metric: Metric, level: float | None = None) -> LatentScores:
    """Return abilities from old and from new items, each with a scale of its own that all models share.

    `level` is the suspect's score on old items, where it is not their mean.
    """
    shares = shares_of(values, metric)
    share = None if level is None else float(shares_of(np.array(level), metric))
    found = np.empty_like(shares)
    found[old], found[~old] = ability_scores([shares[old], shares[~old]])
    return _latent(found, shares[old], shares[~old], metric, share)


def latent_of_twins(originals: Floats, twins: Floats, metric: Metric) -> LatentScores:
    """Return, for each pair, ability on the original less ability on its twin."""
    ours, theirs = shares_of(originals, metric), shares_of(twins, metric)
    on_originals, on_twins = ability_scores([ours, theirs])
    return _latent(on_originals - on_twins, ours, theirs, metric, None)


def _latent(scores: Floats, old: Floats, new: Floats, metric: Metric, share: float | None) -> LatentScores:
    edge, sides = 0.5 / (len(old) + 1), (old.mean(axis=0), new.mean(axis=0))
    given = float(old[:, 0].mean()) if share is None else share
    return LatentScores(
        scores=scores,
        share=float(np.clip(given, edge, 1.0 - edge)),
        stretch=_stretch(old),
        span=metric.span or 1.0,
        in_range=all(side[1:].min() <= side[0] <= side[1:].max() for side in sides),
        outside=_outside(old, "old") or _outside(new, "new"),
    )


def _stretch(shares: Floats) -> float:
    """Return E[p (1 - p)] / {P (1 - P)} over items, with the spread of p from how models go together on them."""
    kept = shares[:, shares.std(axis=0) > 0.0]
    if kept.shape[1] < 2:
        return 1.0
    table, count = np.corrcoef(kept, rowvar=False), kept.shape[1]
    return max(_LEAST_STRETCH, 1.0 - max(0.0, float(table.sum() - count) / (count * (count - 1))))


def _outside(shares: Floats, word: str) -> str | None:
    """Return why the items of a side do not place the suspect among its references: nearly all of them lie beyond it."""
    suspect, others = shares[:, 0], shares[:, 1:]
    failed = int(((suspect < 1.0) & (others.max(axis=1) > 0.0)).sum())
    solved = int(((suspect > 0.0) & (others.min(axis=1) < 1.0)).sum())
    if min(failed, solved) >= MIN_TELLING:
        return None
    what = "fails and a reference solves" if failed < solved else "solves and a reference fails"
    return (
        f"it lies outside the references' range: {plural(min(failed, solved), f'{word} item')} that it {what}, where at "
        f"least {MIN_TELLING} are needed"
    )
