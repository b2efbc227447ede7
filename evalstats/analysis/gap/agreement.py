"""How far the lab orders models as live users do: coefficients, pairs, the best models, single scenarios."""

from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from evalstats.analysis.gap.material import CellSums, Material, Options, cell_sums, clusters_by_level, levels_of
from evalstats.analysis.gap.result import (
    Agreement,
    CoefficientRow,
    Contradiction,
    PairOrder,
    PartRow,
    SliceRow,
    Source,
    SourceInterval,
)
from evalstats.analysis.gap.scenario_gaps import too_small
from evalstats.analysis.gap.shared_models import Asked
from evalstats.analysis.result import Estimate
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.stats.agreement.attenuation import Ceiling, TrueAgreement, ceilings, true_agreement, true_correlation
from evalstats.stats.agreement.correlation import NAMES, CoefficientName, association_test, correlate
from evalstats.stats.agreement.intervals import (
    PairAgreement,
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


def pair_order_of(scores: LabLiveScores, models: tuple[str, ...], material: Material) -> PairOrder:
    """Return agreement over pairs of `models`, in the order of `scores`; the clearest contradictions come first."""
    options = material.options
    found = pair_agreement(
        scores,
        lab_df=material.lab.df,
        live_df=material.live.df,
        conf_level=options.conf_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )
    agreement, confidence, brier = (_end(found, name) for name in ("agreement", "confidence", "brier"))
    n_same, n_contradicted = _count(found.same), _count(found.contradicted)
    return PairOrder(
        n_pairs=found.first.size,
        agreement=found.agreement,
        agreement_low=agreement[0],
        agreement_high=agreement[1],
        n_separated_lab=_count(found.lab.separated),
        n_separated_live=_count(found.live.separated),
        n_separated_both=None if n_same is None or n_contradicted is None else n_same + n_contradicted,
        n_same=n_same,
        n_contradicted=n_contradicted,
        separability_lab=_share(found.lab.alone),
        separability_live=_share(found.live.alone),
        confidence_agreement=found.confidence,
        confidence_low=confidence[0],
        confidence_high=confidence[1],
        contradictions=_contradictions(found, models),
        brier=None
        if found.brier is None
        else Estimate(estimate=found.brier, conf_low=brier[0], conf_high=brier[1], conf_level=options.conf_level),
        reason=_reason(scores),
    )


def _end(found: PairAgreement, name: str) -> tuple[float | None, float | None]:
    return found.ends.get(name, (None, None))


def _count(mask: BoolArray | None) -> int | None:
    return None if mask is None else int(np.count_nonzero(mask))


def _share(mask: BoolArray | None) -> float | None:
    return None if mask is None else float(mask.mean())


def _contradictions(found: PairAgreement, models: tuple[str, ...]) -> tuple[Contradiction, ...]:
    lab_p, live_p = found.lab.p_adjusted, found.live.p_adjusted
    if found.contradicted is None or lab_p is None or live_p is None:
        return ()
    rows: list[Contradiction] = []
    for pair in np.flatnonzero(found.contradicted):
        sign = 1.0 if found.live.difference[pair] > 0 else -1.0
        ends = models[int(found.first[pair])], models[int(found.second[pair])]
        rows.append(
            Contradiction(
                better_live=ends[0] if sign > 0 else ends[1],
                better_lab=ends[1] if sign > 0 else ends[0],
                lab_difference=sign * float(found.lab.difference[pair]),
                lab_p_adjusted=float(lab_p[pair]),
                live_difference=sign * float(found.live.difference[pair]),
                live_p_adjusted=float(live_p[pair]),
            )
        )
    # As sure as its less sure side.
    return tuple(
        sorted(rows, key=lambda row: (max(row.lab_p_adjusted, row.live_p_adjusted), row.better_live, row.better_lab))
    )


def _reason(scores: LabLiveScores) -> str | None:
    sides = (("lab", scores.lab_covariance), ("live", scores.live_covariance))
    unknown = [side for side, covariance in sides if covariance is None]
    if not unknown:
        return None
    return f"the errors of the {' and the '.join(unknown)} scores are unknown: no pair can be called separated on both sides"


_TIERS_FROM = 15
_TIER_NAMES = ("best third live", "middle third live", "last third live")
_Kind = Literal["all", "top", "lab top", "tier"]


def parts_of(scores: LabLiveScores, models: tuple[str, ...], material: Material) -> tuple[PartRow, ...]:
    """Return agreement over all models and within parts of the live and the lab order.

    Models close to each other agree less in order than models far apart, whatever the benchmark is worth.
    """
    options = material.options
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
    return tuple(_part(places, scores, material, row) for places, row in cuts)


def _named(kind: _Kind, label: str, places: IntArray, models: tuple[str, ...]) -> PartRow:
    names = tuple(models[int(place)] for place in places)
    return PartRow(kind=kind, label=label, n_models=places.size, models=names)


def _part(places: IntArray, scores: LabLiveScores, material: Material, row: PartRow) -> PartRow:
    cut = scores.subset(np.sort(places))
    values = {name: float(correlate(name, cut.lab, cut.live)) for name in NAMES}
    flat = np.isnan(values["pearson"])
    low, high, reason = (
        (None, None, "all scores of a side are equal here") if flat else _ends(cut, material.options, _df(material))
    )
    return replace(
        row,
        pearson=None if flat else values["pearson"],
        spearman=None if flat else values["spearman"],
        kendall=None if flat else values["kendall"],
        conf_low=low,
        conf_high=high,
        reason=reason,
    )


_Df = tuple[float | None, float | None]


def _df(material: Material) -> _Df:
    return material.lab.df, material.live.df


def _ends(
    cut: LabLiveScores, options: Options, df: _Df = (None, None)
) -> tuple[float | None, float | None, str | None]:
    source = noise_source(cut)
    ends = true_rank_interval(cut, "spearman", source, conf_level=options.conf_level, lab_df=df[0], live_df=df[1])
    if source != "items and votes":
        return ends.conf_low, ends.conf_high, f"interval by {source} alone: the errors of the other side are unknown"
    return ends.conf_low, ends.conf_high, ends.reason


_SOURCES: tuple[Source, ...] = ("items", "votes", "items and votes", "models", "all")
_WEAK_CEILING = 0.7


@one_thread
def agreement_of(material: Material) -> Agreement:
    """Return how far the lab orders the shared models as live users do.

    What falls away with missing errors, fewer than 3 models or a constant side has a reason. Models are put into the
    order of their scores before anything is drawn, so the order they come in changes nothing.
    """
    order = canonical_order(material.scores)
    scores = material.scores.subset(order)
    models = tuple(material.models[int(place)] for place in order)
    options = material.options
    reason = _no_agreement(scores)
    if reason is not None:
        rows = tuple(CoefficientRow(name=name, estimate=None, reason=reason) for name in NAMES)
        return Agreement(n_models=scores.n_models, coefficients=rows, notes=as_notes("few", (reason,), caution=False))
    drawn = draw_sources(
        scores,
        n_resamples=options.n_resamples,
        seed=options.seed,
        lab_df=material.lab.df,
        live_df=material.live.df,
    )
    coefficients = _coefficients(drawn, material)
    return Agreement(
        n_models=scores.n_models,
        coefficients=coefficients,
        parts=parts_of(scores, models, material),
        pairs=pair_order_of(material.own_scores.subset(order), models, material),
        notes=_notes(material, coefficients),
    )


def slice_row(scores: LabLiveScores, *, factor: str, level: str, cut: str, options: Options) -> SliceRow:
    """Return Spearman's coefficient where the lab, or both sides, are cut to one level of a factor ("" for all)."""
    which = "both" if cut == "both" else "lab"
    reason = _no_agreement(scores)
    if reason is not None:
        return SliceRow(factor=factor, level=level, cut=which, n_models=scores.n_models, reason=reason)
    scores = scores.subset(canonical_order(scores))
    low, high, reason = _ends(scores, options)
    ceiling = _ceilings(scores, options).get("spearman")
    return SliceRow(
        factor=factor,
        level=level,
        cut=which,
        n_models=scores.n_models,
        spearman=float(correlate("spearman", scores.lab, scores.live)),
        conf_low=low,
        conf_high=high,
        ceiling=None if ceiling is None else ceiling.expected,
        reason=reason,
    )


def _no_agreement(scores: LabLiveScores) -> str | None:
    if scores.n_models < 3:
        return f"{scores.n_models} shared models make no order to speak of; at least 3 are needed"
    sides = ("lab", scores.lab), ("live", scores.live)
    flat = [side for side, values in sides if np.isnan(float(correlate("pearson", values, values)))]
    if flat:
        return f"all {' and '.join(flat)} scores are equal: there is no order to agree with"
    return None


def _coefficients(drawn: SourceDraws, material: Material) -> tuple[CoefficientRow, ...]:
    scores, options = drawn.scores, material.options
    tops = _ceilings(scores, options)
    true, true_reason = _true_agreement(scores, options)
    return tuple(_coefficient(name, drawn, material, (tops.get(name), true, true_reason)) for name in NAMES)


def _coefficient(
    name: CoefficientName,
    drawn: SourceDraws,
    material: Material,
    beyond: tuple[Ceiling | None, TrueAgreement | None, str | None],
) -> CoefficientRow:
    scores, options, (ceiling, true, true_reason) = drawn.scores, material.options, beyond
    test = association_test(name, scores.lab, scores.live, seed=options.seed)
    beyond_noise: dict[str, Any] = {}
    if ceiling is not None:
        beyond_noise = {"ceiling": ceiling.expected, "ceiling_low": ceiling.low, "ceiling_high": ceiling.high}
    if true is not None and name == "pearson":
        few, these = true.low is None, (true.these_low, true.these_high)
        low, high = these if few else (true.low, true.high)
        beyond_noise |= {
            "disattenuated": true.estimate,
            "disattenuated_low": low,
            "disattenuated_high": high,
            "disattenuated_source": "items and votes" if few else "all",
            "these_low": these[0],
            "these_high": these[1],
        }
    return CoefficientRow(
        name=name,
        estimate=test.estimate,
        intervals=tuple(_interval(drawn, source, name, material) for source in _SOURCES),
        p_value=test.p_value,
        p_method=test.method,
        **beyond_noise,
        true_reason=true_reason if name == "pearson" or ceiling is None else None,
    )


def _interval(drawn: SourceDraws, source: Source, name: CoefficientName, material: Material) -> SourceInterval:
    """Rank coefficients of these models are of their true scores; all others as they would be measured."""
    level, (lab_df, live_df) = material.options.conf_level, _df(material)
    if name == "pearson" or source in ("models", "all"):
        ends = source_interval(drawn, source, name, conf_level=level)
    else:
        ends = true_rank_interval(drawn.scores, name, source, conf_level=level, lab_df=lab_df, live_df=live_df)
    return SourceInterval(source=source, **asdict(ends))


def _ceilings(scores: LabLiveScores, options: Options) -> dict[CoefficientName, Ceiling]:
    if not scores.has_errors:
        return {}
    return ceilings(scores, conf_level=options.conf_level, n_resamples=options.n_resamples, seed=options.seed)


def _true_agreement(scores: LabLiveScores, options: Options) -> tuple[TrueAgreement | None, str | None]:
    """Correlation of true scores, and why it or its interval is missing."""
    if not scores.has_errors:
        sides = (("lab", scores.lab_covariance), ("live", scores.live_covariance))
        unknown = " and ".join(side for side, covariance in sides if covariance is None)
        return None, f"without the errors of the {unknown} scores noise cannot be told from disagreement: no ceiling"
    true = true_agreement(scores, conf_level=options.conf_level, n_resamples=options.n_resamples, seed=options.seed)
    return true, true.reason or true.interval_reason


def _notes(material: Material, rows: tuple[CoefficientRow, ...]) -> tuple[Note, ...]:
    found: list[str] = []
    if not material.scores.has_errors:
        found.append(rows[0].true_reason or "")
    else:
        known = true_correlation(material.scores)
        found += [known.reason] if known.reason else []
        if known.disattenuated is not None and known.disattenuated > 1:
            found.append(
                f"The correlation freed of noise is {known.disattenuated:.2f}, above 1: the noise is overstated, errors are "
                "shared by both sides, or chance lifted the sample"
            )
        if known.ceiling is not None and known.ceiling < _WEAK_CEILING:
            found.append(
                f"noise alone keeps Pearson's correlation near {known.ceiling:.2f} even if true scores agree perfectly"
            )
    alone = [word for word, side in (("lab", material.lab), ("live", material.live)) if side.marginal]
    if alone and material.scores.has_errors:
        found.append(
            f"Of the {' and the '.join(alone)} scores only published standard errors are known, not what the models share: the "
            "noise is an upper bound, so flags are conservative, the ceiling is a lower bound, and slope and correlation freed "
            "of noise are upper ones"
        )
    return as_notes("fit", found, caution=False)


_MOST_LEVELS = 12


def slices_of(made: Material, asked: Asked) -> tuple[SliceRow, ...]:
    """Return the agreement by level of the first factor that the lab outcomes have; nothing where there is none."""
    units = asked.lab.units
    if units is None or not asked.lab.factors:
        return ()
    factor = asked.lab.factors[0]
    levels = sorted(level[0] for level in levels_of(units, made.lab.models, (factor,)))
    if not 2 <= len(levels) <= _MOST_LEVELS:
        return ()
    cells = [(level,) for level in levels]
    lab = cell_sums(units, made.lab.models, (factor,), cells)
    rows = [
        _row(made, _means(lab, cell, turned=made.lab.turned), None, factor, level) for cell, level in enumerate(levels)
    ]
    live_units = asked.live.units
    if live_units is None or factor not in asked.live.factors:
        return tuple(rows)
    live = cell_sums(live_units, made.live.models, (factor,), cells)
    people = clusters_by_level(live_units, made.live.models, (factor,))
    for cell, level in enumerate(levels):
        if too_small(people.get((level,), 0), asked.min_cell):
            continue
        both = _means(lab, cell, turned=made.lab.turned), _means(live, cell, turned=made.live.turned)
        if not isinstance(both[1], str) or both[1] != _NOTHING:
            rows.append(_row(made, both[0], both[1], factor, level))
    return tuple(rows)


Means = tuple[FloatArray, FloatArray] | str
_NOTHING = "no live outcome in it"


def _means(sums: CellSums, cell: int, *, turned: bool) -> Means:
    """Return the means of all models in one cell with their covariance, or why there are none."""
    at = sums.cell == cell
    if not at.any():
        return _NOTHING
    found = cluster_means(
        sums.cluster[at], sums.model[at], sums.n[at], sums.total[at], n_clusters=sums.n_clusters, n_models=sums.n_models
    )
    if found.covariance is None or not np.isfinite(found.estimate).all():
        return found.reason or "a model has no outcome in it"
    return (-found.estimate if turned else found.estimate), found.covariance


def _row(made: Material, lab: Means, live: Means | None, factor: str, level: str) -> SliceRow:
    cut = "lab" if live is None else "both"
    wrong = next((each for each in (lab, live) if isinstance(each, str)), None)
    if wrong is not None or isinstance(lab, str) or isinstance(live, str):
        return SliceRow(factor=factor, level=level, cut=cut, n_models=made.n_models, reason=wrong)
    z, v_z = (made.scores.live, made.scores.live_covariance) if live is None else live
    scores = LabLiveScores(lab=lab[0], live=z, lab_covariance=lab[1], live_covariance=v_z)
    return slice_row(scores, factor=factor, level=level, cut=cut, options=made.options)
