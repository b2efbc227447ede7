"""What is concluded from one metric, and what another handling of the same rows does to it.

The conclusions are the verdicts on all pairs of models that share enough items, each by its own interval, as `compare` gives
them where nothing but what is declared makes items dependent, and who leads. A treatment gives another table of scores (or other
clusters), from which all of them are drawn anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from evalstats.analysis.audit.panel import Observation, Panel, Treatment
from evalstats.analysis.audit.result import Effect, Finding, FlippedComparison, Shift, Verdict
from evalstats.analysis.design.entries import MIN_SHARED, components, shared_counts
from evalstats.analysis.result import Estimate, finite
from evalstats.stats.many.common_scale import common_scale
from evalstats.stats.many.independent import independent_differences
from evalstats.stats.many.pairwise import PairwiseDifferences, differing_items, pairwise_differences
from evalstats.stats.stratified import linearised, strata_of
from evalstats.table.items import Bools, Floats, Ints

# A difference that changes by less than this share of its standard error, and by less than half a point, stands.
MOVED = 0.25
HALF_A_POINT = 0.005
_FEW_DF, _FEWEST_DIFFERING = 4.0, 6
_SHOWN_FLIPS = 20
_VERDICTS: dict[int, Verdict] = {1: "better", -1: "worse", 0: "inconclusive"}


@dataclass(frozen=True, kw_only=True)
class Conclusions:
    """Verdicts on all pairs of models, first minus second in the order of the columns, shape (n_pairs,).

    `verdict` is 1 where the first is better, -1 where it is worse, 0 where neither is shown; `compared` are pairs with enough
    items in common. `means` are the models' mean scores, on one scale where they lack
    items, NaN without any.
    """

    pairs: PairwiseDifferences
    verdict: npt.NDArray[np.int8]
    compared: Bools
    means: Floats
    leader: str


def conclusions(panel: Panel, treatment: Treatment | None = None) -> Conclusions:
    """Draw all conclusions from a panel, under a treatment of its rows."""
    scores = panel.table(treatment)
    codes = panel.codes if treatment is None or treatment.clusters is None else treatment.clusters
    if treatment is not None and treatment.strata is not None:
        scores, codes, pairs = _averaged(panel, scores, codes, treatment.strata)
    else:
        pairs = _differences(panel, scores, codes)
    compared = pairs.n_items >= MIN_SHARED
    if treatment is not None and treatment.apart is not None:
        compared &= treatment.apart[pairs.first] == treatment.apart[pairs.second]
    with np.errstate(invalid="ignore"):
        apart = compared & ((pairs.conf_low > 0) | (pairs.conf_high < 0))
    # Too few items on which two models differ, or clusters, decide nothing whatever their interval says.
    if pairs.n_differing is not None:
        apart &= pairs.n_differing >= _FEWEST_DIFFERING
    if pairs.n_clusters is not None:
        apart &= pairs.df >= _FEW_DF
    better = 1 if panel.metric.higher_is_better else -1
    verdict = np.where(apart, better * np.sign(np.nan_to_num(pairs.estimate)), 0).astype(np.int8)
    means = _on_one_scale(panel, scores)
    leader = "" if np.isnan(means).all() else panel.models[int(np.nanargmax(better * means))]
    return Conclusions(pairs=pairs, verdict=verdict, compared=compared, means=means, leader=leader)


def _differences(panel: Panel, scores: Floats, codes: Ints | None) -> PairwiseDifferences:
    metric = panel.metric
    if scores.shape[1] < 2:  # one model: a pair of which nothing is known
        scores = np.column_stack([scores, np.full(scores.shape[0], np.nan)])
    known = scores[~np.isnan(scores)]
    if panel.different:
        return _unpaired(panel, scores, codes)
    bounds = None
    if metric.low is not None and metric.high is not None:
        inside = known.size == 0 or (known.min() >= metric.low and known.max() <= metric.high)
        bounds = (metric.low, metric.high) if inside else None
    binary = metric.is_share and codes is None and bool(np.isin(known, (0.0, 1.0)).all())
    return pairwise_differences(
        scores,
        clusters=codes,
        binary=binary,
        bounds=bounds,
        shares=metric.kind in ("binary", "proportion") and not binary,
        adjust="none",
        conf_level=panel.conf_level,
    )


def _unpaired(panel: Panel, scores: Floats, codes: Ints | None) -> PairwiseDifferences:
    """Compare every two models on users of their own, counting the smaller side; users of several are a cluster each."""
    seen = ~np.isnan(scores)
    if codes is None and (seen.sum(axis=1) > 1).any():
        codes = np.arange(scores.shape[0], dtype=np.int64)
    # A model without a score gets a row that stands for none: its pairs count 0 items, and are not compared.
    rows = [np.flatnonzero(own) if own.any() else np.zeros(1, dtype=np.int64) for own in seen.T]
    filled = np.where(seen, scores, 0.0)
    n = seen.sum(axis=0)
    found = independent_differences(
        [filled[own, j] for j, own in enumerate(rows)],
        pairs=list(combinations(range(n.size), 2)),
        clusters=None if codes is None else [codes[own] for own in rows],
        span=panel.metric.span,
        binary=panel.metric.is_share and codes is None and bool(np.isin(filled, (0.0, 1.0)).all()),
        conf_level=panel.conf_level,
        adjust="none",
    )
    return replace(found, n_items=np.minimum(n[found.first], n[found.second]))


def _averaged(
    panel: Panel, scores: Floats, codes: Ints | None, strata: Ints
) -> tuple[Floats, Ints | None, PairwiseDifferences]:
    """Return values whose means weigh levels equally, of the items that all models have, and what follows for the pairs."""
    whole = ~np.isnan(scores).any(axis=1)
    if not whole.any():
        return scores, codes, _differences(panel, scores, codes)
    raw, codes = scores[whole], None if codes is None else codes[whole]
    levels = strata_of(strata[whole], len(raw), np.ones(len(np.unique(strata[whole]))))
    free = replace(panel, metric=replace(panel.metric, kind="continuous", low=None, high=None))
    values = linearised(raw, levels)
    pairs = _differences(free, values, codes)
    return values, codes, replace(pairs, n_differing=differing_items(raw, pairs, levels.item_weights))


def _on_one_scale(panel: Panel, scores: Floats) -> Floats:
    """Return the models' means on the items of all; of their own items where the models do not hang together."""
    seen = ~np.isnan(scores)
    n = seen.sum(axis=0)
    own = np.divide(np.where(seen, scores, 0.0).sum(axis=0), n, out=np.full(len(n), np.nan), where=n > 0)
    known, any_model = n > 0, seen.any(axis=1)
    if seen[np.ix_(any_model, known)].all() or np.unique(components(shared_counts(seen[:, known]) > 0)).size > 1:
        return own
    metric = panel.metric
    fits = metric.bounds is not None and np.nanmin(scores) >= metric.bounds[0] and np.nanmax(scores) <= metric.bounds[1]
    found = common_scale(scores[np.ix_(any_model, known)], bounds=metric.bounds if fits else None)
    own[known] = found.estimate
    return own


def ranked(panel: Panel, before: Conclusions, seen: Observation) -> tuple[Finding, Bools]:
    """Apply every treatment of an observation, and say what it does to the conclusions.

    Returns it as a finding, and the pairs whose verdict some treatment changes or takes away, shape (n_pairs,).
    """
    metric = panel.metric
    depends = np.zeros(before.verdict.size, dtype=np.bool_)
    shifts: list[Shift] = []
    moves = False
    # Without a comparison there is no conclusion that could change.
    for treatment in seen.treatments if before.compared.any() else ():
        after = conclusions(panel, treatment)
        # A pair that can no longer be compared has lost its verdict; one that never could has none.
        lost = before.compared & ~after.compared & (before.verdict != 0)
        flipped = lost | (before.compared & after.compared & (before.verdict != after.verdict))
        size, points = _sizes(before, after)
        depends |= flipped
        leader = after.leader
        if before.leader and after.leader:
            # A leader with whom another draws level still leads.
            own, best = (after.means[panel.models.index(name)] for name in (before.leader, after.leader))
            leader = before.leader if own == best else after.leader
        moves |= bool((size > MOVED).any()) or leader != before.leader
        moves |= metric.span is not None and bool((points > HALF_A_POINT * metric.span).any())
        largest = float(size.max(initial=0.0))
        places = _weightiest(before, after, size, np.flatnonzero(flipped))
        if not places and largest > 0:
            places = [int(np.argmax(size))]
        shifts.append(
            Shift(
                treatment=treatment.words,
                n_pairs=int(before.compared.sum()),
                n_flips=int((flipped & after.compared).sum()),
                n_lost=int((flipped & ~after.compared).sum()),
                largest=finite(largest),
                leader_before=before.leader,
                leader_after=leader,
                flips=tuple(_flip(panel, before, after, k) for k in places[:_SHOWN_FLIPS]),
            )
        )
    shifts.sort(key=lambda each: (-each.n_flips - each.n_lost, -(each.largest or 0.0)))
    effect: Effect = "open" if not shifts else "flips" if depends.any() else "moves" if moves else "stands"
    finding = Finding(
        kind=seen.kind,
        benchmark=metric.benchmark,
        metric=metric.name,
        text=seen.text,
        remedy=seen.remedy,
        effect=effect,
        n_rows=seen.n_rows,
        n_items=seen.n_items,
        models=seen.models,
        examples=seen.examples,
        shifts=tuple(shifts),
        n_depend=int(depends.sum()),
    )
    return finding, depends


def _sizes(before: Conclusions, after: Conclusions) -> tuple[Floats, Floats]:
    """Return how much each pair moves: in its standard error, its width included, and in the metric's own unit."""
    own, other = before.pairs, after.pairs
    both = before.compared & after.compared
    with np.errstate(invalid="ignore", divide="ignore"):
        points = np.where(both, np.abs(other.estimate - own.estimate), 0.0)
        shift = points / own.std_error
        width = np.where(both, np.abs(other.std_error / own.std_error - 1.0), 0.0)
    points, shift, width = (np.where(np.isfinite(each), each, 0.0) for each in (points, shift, width))
    return np.maximum(shift, width), points


def _weightiest(before: Conclusions, after: Conclusions, size: Floats, places: Ints) -> list[int]:
    """Order pairs: verdicts turned round first, then those of the better models, then by how far they move."""
    if not places.size:
        return []
    order = np.argsort(np.argsort(-np.abs(np.nan_to_num(before.means - np.nanmax(before.means, initial=-np.inf)))))
    standing = order[before.pairs.first] + order[before.pairs.second]
    turned = before.verdict * after.verdict < 0
    return sorted(places.tolist(), key=lambda k: (not turned[k], -size[k], standing[k]))


def _flip(panel: Panel, before: Conclusions, after: Conclusions, k: int) -> FlippedComparison:
    """Return one pair before and after, the one that was better (or does better on average) first."""
    better = 1 if panel.metric.higher_is_better else -1
    first, second = (panel.models[int(each[k])] for each in (before.pairs.first, before.pairs.second))
    turn = (int(before.verdict[k]) or better * np.sign(before.pairs.estimate[k])) < 0
    return FlippedComparison(
        first=second if turn else first,
        second=first if turn else second,
        before=_estimate(before, k, turn=turn),
        after=_estimate(after, k, turn=turn),
        verdict_before=_VERDICTS[int(before.verdict[k]) * (-1 if turn else 1)],
        verdict_after=_VERDICTS[int(after.verdict[k]) * (-1 if turn else 1)],
    )


def _estimate(found: Conclusions, k: int, *, turn: bool) -> Estimate:
    pairs = found.pairs
    if not found.compared[k]:
        return Estimate(estimate=None, conf_level=pairs.conf_level, reason="not compared")
    ends: Sequence[float] = (float(pairs.conf_low[k]), float(pairs.conf_high[k]))
    low, high = (-ends[1], -ends[0]) if turn else ends
    value = float(pairs.estimate[k])
    return Estimate(
        estimate=finite(-value if turn else value),
        std_error=finite(float(pairs.std_error[k])),
        conf_low=finite(low),
        conf_high=finite(high),
        conf_level=pairs.conf_level,
        p_value=finite(float(pairs.p_value[k])),
        method=pairs.method,
    )
