"""How far the lab orders models as live users do: coefficients, pairs, the best models, single scenarios."""

from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from evalstats.analysis.gap.agreement_result import (
    Agreement,
    CoefficientRow,
    Contradiction,
    PairOrder,
    PartRow,
    SliceRow,
    Source,
    SourceInterval,
)
from evalstats.analysis.gap.shared_models import SharedModels, too_small
from evalstats.analysis.result import Estimate
from evalstats.analysis.result import notes as as_notes
from evalstats.stats.agreement.attenuation import Ceiling, ceilings, true_agreement
from evalstats.stats.agreement.correlation import NAMES, CoefficientName, association_test, correlate
from evalstats.stats.agreement.intervals import (
    SourceDraws,
    canonical_order,
    draw_sources,
    noise_source,
    pair_agreement,
    source_interval,
)
from evalstats.stats.agreement.orders import true_rank_interval
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.scores import LabLiveScores, cluster_means
from evalstats.stats.standardisation import CellTable

_TIERS_FROM = 15
_TIER_NAMES = ("best third live", "middle third live", "last third live")
_SOURCES: tuple[Source, ...] = ("items", "votes", "items and votes", "models", "all")
_MOST_LEVELS = 12
_NOTHING = "no live outcome in it"


@one_thread
def agreement_of(shared: SharedModels) -> Agreement:
    """Return how far the lab orders the shared models as live users do.

    What falls away with missing errors, fewer than 3 models or a constant side has a reason. Models are put into the
    order of their scores before anything is drawn, so the order they come in changes nothing.
    """
    order = canonical_order(shared.scores)
    scores = shared.scores.subset(order)
    models = tuple(shared.models[int(place)] for place in order)
    reason = _no_agreement(scores)
    if reason is not None:
        rows = tuple(CoefficientRow(name=name, estimate=None, reason=reason) for name in NAMES)
        notes = as_notes("few", (reason,), caution=False)
        return Agreement(n_models=scores.n_models, coefficients=rows, slices=_slices(shared), notes=notes)
    coefficients = _coefficients(scores, shared)
    return Agreement(
        n_models=scores.n_models,
        coefficients=coefficients,
        parts=_parts(scores, models, shared),
        pairs=_pairs(shared.own_scores.subset(order), models, shared),
        slices=_slices(shared),
        notes=as_notes(
            "fit",
            dict.fromkeys(
                row.true_reason
                for row in coefficients
                if row.true_reason and (row.disattenuated is None or row.disattenuated > 1)
            ),
            caution=False,
        ),
    )


def _no_agreement(scores: LabLiveScores) -> str | None:
    if scores.n_models < 3:
        return f"{scores.n_models} shared models make no order to speak of; at least 3 are needed"
    sides = ("lab", scores.lab), ("live", scores.live)
    flat = [side for side, values in sides if np.isnan(float(correlate("pearson", values, values)))]
    return f"all {' and '.join(flat)} scores are equal: there is no order to agree with" if flat else None


def _unknown_errors(scores: LabLiveScores) -> list[str]:
    sides = (("lab", scores.lab_covariance), ("live", scores.live_covariance))
    return [side for side, covariance in sides if covariance is None]


# --- coefficients ---


def _coefficients(scores: LabLiveScores, shared: SharedModels) -> tuple[CoefficientRow, ...]:
    drawn = draw_sources(
        scores,
        n_resamples=shared.n_resamples,
        seed=shared.seed,
        lab_df=shared.lab.df,
        live_df=shared.live.df,
    )
    tops = _ceilings(scores, shared)
    true, true_reason = None, None
    if scores.has_errors:
        true = true_agreement(scores, conf_level=shared.conf_level, n_resamples=shared.n_resamples, seed=shared.seed)
        true_reason = true.reason or true.interval_reason
    else:
        unknown = " and ".join(_unknown_errors(scores))
        true_reason = f"without the errors of the {unknown} scores noise cannot be told from disagreement: no ceiling"
    rows: list[CoefficientRow] = []
    for name in NAMES:
        test, ceiling = association_test(name, scores.lab, scores.live, seed=shared.seed), tops.get(name)
        beyond_noise: dict[str, Any] = {}
        if ceiling is not None:
            beyond_noise = {"ceiling": ceiling.expected, "ceiling_low": ceiling.low, "ceiling_high": ceiling.high}
        if true is not None and name == "pearson":
            few = true.low is None
            beyond_noise |= {
                "disattenuated": true.estimate,
                "disattenuated_low": true.these_low if few else true.low,
                "disattenuated_high": true.these_high if few else true.high,
                "disattenuated_source": "items and votes" if few else "all",
                "these_low": true.these_low,
                "these_high": true.these_high,
            }
        rows.append(
            CoefficientRow(
                name=name,
                estimate=test.estimate,
                intervals=tuple(_interval(drawn, source, name, shared) for source in _SOURCES),
                p_value=test.p_value,
                p_method=test.method,
                **beyond_noise,
                true_reason=true_reason if name == "pearson" or ceiling is None else None,
            )
        )
    return tuple(rows)


def _interval(drawn: SourceDraws, source: Source, name: CoefficientName, shared: SharedModels) -> SourceInterval:
    """Rank coefficients of these models are of their true scores; all others as they would be measured."""
    level = shared.conf_level
    if name == "pearson" or source in ("models", "all"):
        ends = source_interval(drawn, source, name, conf_level=level)
    else:
        dfs = {"lab_df": shared.lab.df, "live_df": shared.live.df}
        ends = true_rank_interval(drawn.scores, name, source, conf_level=level, **dfs)
    return SourceInterval(source=source, **asdict(ends))


def _ceilings(scores: LabLiveScores, shared: SharedModels) -> dict[CoefficientName, Ceiling]:
    if not scores.has_errors:
        return {}
    return ceilings(scores, conf_level=shared.conf_level, n_resamples=shared.n_resamples, seed=shared.seed)


def _rank_ends(
    scores: LabLiveScores, shared: SharedModels, *, lab_df: float | None = None, live_df: float | None = None
) -> tuple[float | None, float | None, str | None]:
    """Return the interval of Spearman's coefficient of the true scores of some models, and what limits it."""
    source = noise_source(scores)
    level = shared.conf_level
    ends = true_rank_interval(scores, "spearman", source, conf_level=level, lab_df=lab_df, live_df=live_df)
    if source != "items and votes":
        return ends.conf_low, ends.conf_high, f"interval by {source} alone: the errors of the other side are unknown"
    return ends.conf_low, ends.conf_high, ends.reason


# --- parts of the order ---


def _parts(scores: LabLiveScores, models: tuple[str, ...], shared: SharedModels) -> tuple[PartRow, ...]:
    """Return agreement over all models and within parts of the live and the lab order.

    Models close to each other agree less in order than models far apart, whatever the benchmark is worth.
    """
    by_live = np.lexsort((scores.lab, -scores.live)).astype(np.int64)
    by_lab = np.lexsort((scores.live, -scores.lab)).astype(np.int64)

    def part(kind: Literal["all", "top", "lab top", "tier"], label: str, places: IntArray) -> PartRow:
        cut = scores.subset(np.sort(places))
        values: dict[str, float] = {name: float(correlate(name, cut.lab, cut.live)) for name in NAMES}
        names = tuple(models[int(place)] for place in places)
        row = PartRow(kind=kind, label=label, n_models=places.size, models=names)
        if np.isnan(values["pearson"]):
            return replace(row, reason="all scores of a side are equal here")
        low, high, reason = _rank_ends(cut, shared, lab_df=shared.lab.df, live_df=shared.live.df)
        return replace(row, **values, conf_low=low, conf_high=high, reason=reason)

    rows = [part("all", "all models", by_live)]
    for k in sorted({k for k in shared.top if 3 <= k < scores.n_models}):
        both, chance = len(set(by_live[:k].tolist()) & set(by_lab[:k].tolist())), k * k / scores.n_models
        best = (part("top", f"live top {k}", by_live[:k]), part("lab top", f"lab top {k}", by_lab[:k]))
        rows += [replace(row, n_shared=both, n_shared_by_chance=chance) for row in best]
    if scores.n_models >= _TIERS_FROM:
        thirds = zip(_TIER_NAMES, np.array_split(by_live, 3), strict=True)
        rows += [part("tier", label, third) for label, third in thirds]
    return tuple(rows)


# --- pairs ---


def _pairs(scores: LabLiveScores, models: tuple[str, ...], shared: SharedModels) -> PairOrder:
    """Return agreement over pairs of `models`, in the order of `scores`; the clearest contradictions come first."""
    found = pair_agreement(
        scores,
        lab_df=shared.lab.df,
        live_df=shared.live.df,
        conf_level=shared.conf_level,
        n_resamples=shared.n_resamples,
        seed=shared.seed,
    )
    ends = {name: found.ends.get(name, (None, None)) for name in ("agreement", "confidence", "brier")}
    rows: list[Contradiction] = []
    lab_p, live_p = found.lab.p_adjusted, found.live.p_adjusted
    if found.contradicted is not None and lab_p is not None and live_p is not None:
        for pair in np.flatnonzero(found.contradicted):
            sign = 1.0 if found.live.difference[pair] > 0 else -1.0
            names = models[int(found.first[pair])], models[int(found.second[pair])]
            rows.append(
                Contradiction(
                    better_live=names[0] if sign > 0 else names[1],
                    better_lab=names[1] if sign > 0 else names[0],
                    lab_difference=sign * float(found.lab.difference[pair]),
                    lab_p_adjusted=float(lab_p[pair]),
                    live_difference=sign * float(found.live.difference[pair]),
                    live_p_adjusted=float(live_p[pair]),
                )
            )
    # As sure as its less sure side.
    rows.sort(key=lambda row: (max(row.lab_p_adjusted, row.live_p_adjusted), row.better_live, row.better_lab))
    n_same, n_contradicted = _count(found.same), _count(found.contradicted)
    unknown = _unknown_errors(scores)
    alone = [None if side.alone is None else float(side.alone.mean()) for side in (found.lab, found.live)]
    return PairOrder(
        n_pairs=found.first.size,
        agreement=found.agreement,
        agreement_low=ends["agreement"][0],
        agreement_high=ends["agreement"][1],
        n_separated_lab=_count(found.lab.separated),
        n_separated_live=_count(found.live.separated),
        n_separated_both=None if n_same is None or n_contradicted is None else n_same + n_contradicted,
        n_same=n_same,
        n_contradicted=n_contradicted,
        separability_lab=alone[0],
        separability_live=alone[1],
        confidence_agreement=found.confidence,
        confidence_low=ends["confidence"][0],
        confidence_high=ends["confidence"][1],
        contradictions=tuple(rows),
        brier=None
        if found.brier is None
        else Estimate(
            estimate=found.brier,
            conf_low=ends["brier"][0],
            conf_high=ends["brier"][1],
            conf_level=shared.conf_level,
        ),
        reason=f"the errors of the {' and the '.join(unknown)} scores are unknown: no pair can be called separated on both sides"
        if unknown
        else None,
    )


def _count(mask: BoolArray | None) -> int | None:
    return None if mask is None else int(np.count_nonzero(mask))


# --- slices ---


def _slices(shared: SharedModels) -> tuple[SliceRow, ...]:
    """Return the agreement by level of the first factor that the lab outcomes have; nothing where there is none."""
    lab, live = shared.lab, shared.live
    if lab.outcomes is None or not lab.factors:
        return ()
    factor = lab.factors[0]
    levels = sorted(lab.outcomes.levels(lab.models, (factor,)))
    if not 2 <= len(levels) <= _MOST_LEVELS:
        return ()
    of_lab = _means(lab.outcomes.cells(lab.models, (factor,), levels), lab.sign)
    given = shared.scores.live, shared.scores.live_covariance
    rows = [
        slice_row(shared, means, given, factor=factor, level=level, cut="lab")
        for (level,), means in zip(levels, of_lab, strict=True)
    ]
    if live.outcomes is None or factor not in live.factors:
        return tuple(rows)
    people = live.outcomes.people(live.models, (factor,))
    of_live = _means(live.outcomes.cells(live.models, (factor,), levels), live.sign)
    for (level,), own, theirs in zip(levels, of_lab, of_live, strict=True):
        if not too_small(people.get((level,), 0), shared.min_cell) and theirs != _NOTHING:
            rows.append(slice_row(shared, own, theirs, factor=factor, level=level, cut="both"))
    return tuple(rows)


# Means of all models with their covariance, or why there are none.
Means = tuple[FloatArray, FloatArray | None] | str


def _means(table: CellTable, sign: float) -> list[Means]:
    """Return the means of all models in each cell."""
    means: list[Means] = []
    for cell in range(table.n_cells):
        at = table.cell == cell
        if not at.any():
            means.append(_NOTHING)
            continue
        columns = (table.cluster[at], table.model[at], table.n[at], table.total[at])
        found = cluster_means(*columns, n_clusters=table.n_clusters, n_models=table.n_models)
        known = found.covariance is not None and bool(np.isfinite(found.estimate).all())
        reason = found.reason or "a model has no outcome in it"
        means.append((sign * found.estimate, found.covariance) if known else reason)
    return means


def slice_row(
    shared: SharedModels, lab: Means, live: Means, *, factor: str, level: str, cut: Literal["lab", "both"]
) -> SliceRow:
    """Return Spearman's coefficient where the lab, or both sides, are cut to one level of a factor."""
    if isinstance(lab, str) or isinstance(live, str):
        wrong = lab if isinstance(lab, str) else str(live)
        return SliceRow(factor=factor, level=level, cut=cut, n_models=shared.n_models, reason=wrong)
    scores = LabLiveScores(lab=lab[0], live=live[0], lab_covariance=lab[1], live_covariance=live[1])
    row = SliceRow(factor=factor, level=level, cut=cut, n_models=scores.n_models)
    reason = _no_agreement(scores)
    if reason is not None:
        return replace(row, reason=reason)
    scores = scores.subset(canonical_order(scores))
    low, high, reason = _rank_ends(scores, shared)
    ceiling = _ceilings(scores, shared).get("spearman")
    return replace(
        row,
        spearman=float(correlate("spearman", scores.lab, scores.live)),
        conf_low=low,
        conf_high=high,
        ceiling=None if ceiling is None else ceiling.expected,
        reason=reason,
    )
