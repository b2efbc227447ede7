"""How far the lab orders models as live users do: `agreement_of` and its table of coefficients."""

import numpy as np

from evalstats.analysis.gaps.agreeing_pairs import pair_order_of
from evalstats.analysis.gaps.agreeing_parts import parts_of
from evalstats.analysis.gaps.agreement_results import (
    Agreement,
    CoefficientRow,
    SliceRow,
    Source,
    SourceInterval,
    SubsetRow,
)
from evalstats.analysis.gaps.material import Material, Options
from evalstats.stats.computation import one_thread
from evalstats.stats.gap.agreement_draws import canonical_order
from evalstats.stats.gap.agreement_sources import SourceDraws, draw_sources, model_check, noise_source, source_interval
from evalstats.stats.gap.association import association_test
from evalstats.stats.gap.ceilings import Ceiling, ceilings
from evalstats.stats.gap.correlations import NAMES, CoefficientName, correlate
from evalstats.stats.gap.model_subsets import subset_agreement
from evalstats.stats.gap.reliability import true_correlation
from evalstats.stats.gap.scores import LabLiveScores
from evalstats.stats.gap.true_agreement import TrueAgreement, true_agreement

_SOURCES: tuple[Source, ...] = ("items", "votes", "items and votes", "models", "all")
_WEAK_CEILING = 0.7


@one_thread
def agreement_of(material: Material) -> Agreement:
    """Tell how far the lab orders the shared models as live users do.

    Parameters
    ----------
    material
        Both sides over the models they share. Standard errors may be missing: what falls away with them has a reason.

    Returns
    -------
    Agreement
        Coefficients with intervals by items, votes and models; parts of the order; subsets; pairs. Where there are fewer
        than 3 models or a side is constant, coefficients are None with the reason.

    Notes
    -----
    Models are put into the order of their scores before anything is drawn, so the order they come in changes nothing.
    """
    order = canonical_order(material.scores)
    scores = material.scores.subset(order)
    models = tuple(material.models[int(place)] for place in order)
    options = material.options
    reason = _no_agreement(scores)
    if reason is not None:
        rows = tuple(CoefficientRow(name=name, estimate=None, reason=reason) for name in NAMES)
        return Agreement(n_models=scores.n_models, coefficients=rows, warnings=(reason,))
    drawn = draw_sources(
        scores,
        n_resamples=options.n_resamples,
        seed=options.seed,
        lab_df=material.lab.df,
        live_df=material.live.df,
    )
    coefficients = _coefficients(scores, drawn, options)
    return Agreement(
        n_models=scores.n_models,
        coefficients=coefficients,
        parts=parts_of(scores, models, options),
        subsets=_subsets(scores, options.seed),
        pairs=pair_order_of(scores, models, material),
        n_resamples=options.n_resamples,
        warnings=_warnings(material, coefficients),
    )


def slice_row(scores: LabLiveScores, *, factor: str, level: str, cut: str, options: Options) -> SliceRow:
    """Tell Spearman's coefficient where the lab, or both sides, are cut to one level of a factor.

    Parameters
    ----------
    scores
        Of the sub-scores: models that have a score in the slice on the side or sides that were cut.
    factor, level
        Which slice; level "" for all.
    cut
        "lab" or "both".
    options
        `conf_level`, `n_resamples` and `seed` are used.

    Returns
    -------
    SliceRow
        Interval by items and votes, or by the one whose errors are known; ceiling where both are known.
    """
    which = "both" if cut == "both" else "lab"
    reason = _no_agreement(scores)
    if reason is not None:
        return SliceRow(factor=factor, level=level, cut=which, n_models=scores.n_models, reason=reason)
    scores = scores.subset(canonical_order(scores))
    drawn = draw_sources(scores, n_resamples=options.n_resamples, seed=options.seed, only_noise=True)
    source = noise_source(drawn)
    ends = source_interval(drawn, source, "spearman", conf_level=options.conf_level)
    ceiling = _ceilings(scores, options).get("spearman")
    return SliceRow(
        factor=factor,
        level=level,
        cut=which,
        n_models=scores.n_models,
        spearman=float(correlate("spearman", scores.lab, scores.live)),
        conf_low=ends.conf_low,
        conf_high=ends.conf_high,
        ceiling=None if ceiling is None else ceiling.expected,
        reason=ends.reason if source == "items and votes" else f"interval by {source} alone: other errors are unknown",
    )


def _no_agreement(scores: LabLiveScores) -> str | None:
    if scores.n_models < 3:
        return f"{scores.n_models} shared models make no order to speak of; at least 3 are needed"
    sides = ("lab", scores.lab), ("live", scores.live)
    flat = [side for side, values in sides if np.isnan(float(correlate("pearson", values, values)))]
    if flat:
        return f"all {' and '.join(flat)} scores are equal: there is no order to agree with"
    return None


def _coefficients(scores: LabLiveScores, drawn: SourceDraws, options: Options) -> tuple[CoefficientRow, ...]:
    tops = _ceilings(scores, options)
    true, true_reason = _true_agreement(scores, options)
    return tuple(_coefficient(name, scores, drawn, options, (tops.get(name), true, true_reason)) for name in NAMES)


def _coefficient(
    name: CoefficientName,
    scores: LabLiveScores,
    drawn: SourceDraws,
    options: Options,
    beyond: tuple[Ceiling | None, TrueAgreement | None, str | None],
) -> CoefficientRow:
    level, (ceiling, true, true_reason) = options.conf_level, beyond
    test = association_test(name, scores.lab, scores.live, seed=options.seed)
    check = model_check(name, scores, conf_level=level)
    of_true = true if name == "pearson" else None
    few = of_true is not None and of_true.low is None
    return CoefficientRow(
        name=name,
        estimate=test.estimate,
        intervals=tuple(_interval(drawn, source, name, level) for source in _SOURCES),
        fisher_low=None if check is None else check[0],
        fisher_high=None if check is None else check[1],
        p_value=test.p_value,
        p_method=test.method,
        ceiling=None if ceiling is None else ceiling.expected,
        ceiling_low=None if ceiling is None else ceiling.low,
        ceiling_high=None if ceiling is None else ceiling.high,
        disattenuated=None if of_true is None else of_true.estimate,
        disattenuated_low=None if of_true is None else of_true.these_low if few else of_true.low,
        disattenuated_high=None if of_true is None else of_true.these_high if few else of_true.high,
        disattenuated_source=None if of_true is None else "items and votes" if few else "all",
        these_low=None if of_true is None else of_true.these_low,
        these_high=None if of_true is None else of_true.these_high,
        true_reason=true_reason if name == "pearson" or ceiling is None else None,
    )


def _interval(drawn: SourceDraws, source: Source, name: CoefficientName, level: float) -> SourceInterval:
    ends = source_interval(drawn, source, name, conf_level=level)
    return SourceInterval(
        source=source, conf_low=ends.conf_low, conf_high=ends.conf_high, method=ends.method, reason=ends.reason
    )


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


def _subsets(scores: LabLiveScores, seed: int) -> tuple[SubsetRow, ...]:
    return tuple(
        SubsetRow(
            kind=each.kind,
            size=each.size,
            n_subsets=each.n_subsets,
            mean=each.mean,
            sd=each.sd,
            low=each.low,
            high=each.high,
        )
        for each in subset_agreement(scores, seed=seed)
    )


def _warnings(material: Material, rows: tuple[CoefficientRow, ...]) -> tuple[str, ...]:
    found: list[str] = []
    if not material.scores.has_errors:
        found.append(rows[0].true_reason or "")
    else:
        known = true_correlation(material.scores)
        found += [known.reason] if known.reason else []
        if known.disattenuated is not None and known.disattenuated > 1:
            found.append(
                f"the correlation freed of noise is {known.disattenuated:.2f}, above 1: the noise is overstated, errors are "
                "shared by both sides, or chance lifted the sample"
            )
        if known.ceiling is not None and known.ceiling < _WEAK_CEILING:
            found.append(
                f"noise alone keeps Pearson's correlation near {known.ceiling:.2f} even if true scores agree perfectly"
            )
    alone = [word for word, side in (("lab", material.lab), ("live", material.live)) if side.marginal]
    if alone and material.scores.has_errors:
        found.append(
            f"of the {' and the '.join(alone)} scores only published standard errors are known, not what the models share: the "
            "noise is an upper bound, so flags are conservative, the ceiling is a lower bound, and slope and correlation freed "
            "of noise are upper ones"
        )
    return tuple(found)
