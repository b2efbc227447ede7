"""How far the lab orders models as live users do: coefficients, pairs, the best models."""

from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from evalstats.analysis.gap.agreement_result import (
    Agreement,
    CoefficientRow,
    Contradiction,
    PairOrder,
    PartRow,
    Source,
    SourceInterval,
)
from evalstats.analysis.gap.shared_models import SharedModels
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
from evalstats.stats.checks import BoolArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.errors_in_variables.scores import LabLiveScores

_TIERS_FROM = 15
_TIER_NAMES = ("best third live", "middle third live", "last third live")


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
        return Agreement(n_models=scores.n_models, coefficients=rows, notes=notes)
    coefficients = _coefficients(scores, shared)
    return Agreement(
        n_models=scores.n_models,
        coefficients=coefficients,
        parts=_parts(scores, models, shared),
        pairs=_pairs(shared.own_scores.subset(order), models, shared),
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
    # For these models by the noise that is known, and for models like them by everything, else by the models alone.
    sources: tuple[Source, ...] = (noise_source(scores), "all" if scores.has_errors else "models")
    drawn = draw_sources(
        scores,
        sources=sources,
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
                intervals=tuple(_interval(drawn, source, name, shared) for source in sources),
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
    """Return agreement within parts of the live and the lab order.

    Models close to each other agree less in order than models far apart, whatever the benchmark is worth.
    """
    by_live = np.lexsort((scores.lab, -scores.live)).astype(np.int64)
    by_lab = np.lexsort((scores.live, -scores.lab)).astype(np.int64)

    def part(kind: Literal["top", "lab top", "tier"], label: str, places: IntArray) -> PartRow:
        cut = scores.subset(np.sort(places))
        values: dict[str, float] = {name: float(correlate(name, cut.lab, cut.live)) for name in NAMES}
        names = tuple(models[int(place)] for place in places)
        row = PartRow(kind=kind, label=label, n_models=places.size, models=names)
        if np.isnan(values["pearson"]):
            return replace(row, reason="all scores of a side are equal here")
        low, high, reason = _rank_ends(cut, shared, lab_df=shared.lab.df, live_df=shared.live.df)
        return replace(row, **values, conf_low=low, conf_high=high, reason=reason)

    rows = list[PartRow]()
    for k in sorted({k for k in shared.top if 3 <= k < scores.n_models}):
        both = len(set(by_live[:k].tolist()) & set(by_lab[:k].tolist()))
        best = (part("top", f"live top {k}", by_live[:k]), part("lab top", f"lab top {k}", by_lab[:k]))
        rows += [replace(row, n_shared=both) for row in best]
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
