"""Agreement over pairs of models, with their names: what contradicts what."""

import numpy as np

from evalstats.analysis.gaps.agreement_results import Brier, Contradiction, PairOrder
from evalstats.analysis.gaps.material import Material
from evalstats.stats.gap.pair_order import BoolArray, PairAgreement, pair_agreement
from evalstats.stats.gap.scores import LabLiveScores

LISTED_MODELS = 100  # above it the matrix of relations has thousands of entries that nobody reads


def pair_order_of(scores: LabLiveScores, models: tuple[str, ...], material: Material) -> PairOrder:
    """Return agreement over pairs; contradictions are listed with the clearest first.

    Parameters
    ----------
    scores, models
        In the same order.
    material
        For the options and the degrees of freedom of either side.
    """
    options = material.options
    found = pair_agreement(
        scores,
        lab_df=material.lab.df,
        live_df=material.live.df,
        conf_level=options.conf_level,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )
    agreement, confidence = _end(found, "agreement"), _end(found, "confidence")
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
        brier=_brier(found),
        matrix=_matrix(found, models) if len(models) <= LISTED_MODELS else (),
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


def _brier(found: PairAgreement) -> Brier | None:
    parts = found.forecasts
    if parts is None:
        return None
    low, high = _end(found, "brier")
    return Brier(
        score=parts.score,
        soft_score=parts.soft_score,
        reliability=parts.reliability,
        resolution=parts.resolution,
        uncertainty=parts.uncertainty,
        within=parts.within,
        conf_low=low,
        conf_high=high,
    )


def _matrix(found: PairAgreement, models: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    lab, live, same, opposite = found.lab.separated, found.live.separated, found.same, found.contradicted
    if lab is None or live is None or same is None or opposite is None:
        return ()
    words = np.select([same, opposite, lab, live], ["same", "contradicted", "lab only", "live only"], "neither")
    return tuple(
        (models[int(found.first[pair])], models[int(found.second[pair])], str(words[pair]))
        for pair in range(words.size)
    )


def _reason(scores: LabLiveScores) -> str | None:
    sides = (("lab", scores.lab_covariance), ("live", scores.live_covariance))
    unknown = [side for side, covariance in sides if covariance is None]
    if not unknown:
        return None
    return f"the errors of the {' and the '.join(unknown)} scores are unknown: no pair can be called separated on both sides"
