"""Agreement of the lab and live users over pairs of models: which pairs each side separates, alike or oppositely."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.estimate import SMALLEST_P, normal_quantile
from evalstats.stats.gap.agreement_draws import ScoreDraws, draw_noise
from evalstats.stats.gap.agreement_sources import FEW_MODELS
from evalstats.stats.gap.pair_forecasts import Forecasts, forecast_parts
from evalstats.stats.gap.scores import LabLiveScores
from evalstats.stats.many.multiplicity import holm

BoolArray: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSide:
    """All pairs on one side, in the order of `PairAgreement.first` and `second`.

    Attributes
    ----------
    difference
        First less second, own unit.
    std_error, p_value, p_adjusted, probability
        Of the difference (models that answered the same items share errors, which cancel); two-sided p, alone and by Holm
        over all pairs; chance that the first is truly better given a flat prior. None where errors are unknown.
    separated, alone
        Whether p_adjusted, and p_value, is below 1 - conf_level.
    """

    difference: FloatArray
    std_error: FloatArray | None = None
    p_value: FloatArray | None = None
    p_adjusted: FloatArray | None = None
    probability: FloatArray | None = None
    separated: BoolArray | None = None
    alone: BoolArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """Agreement over all pairs.

    Attributes
    ----------
    first, second
        int64, shape (n_pairs,): places of the two models, first < second.
    agreement
        Share of pairs in the same order by estimate; a tie on either side counts half.
    ends
        Interval of each quantity: "agreement", "confidence", "brier"; a quantity without one is not in it.
    same, contradicted
        For each pair: separated on both sides and alike, or oppositely. None where errors of a side are unknown.
    confidence
        Arena-Hard's agreement with confidence, by unadjusted intervals.
    forecasts
        How well the lab's probabilities of order forecast the live order; None where lab errors are unknown.
    """

    first: IntArray
    second: IntArray
    lab: PairSide
    live: PairSide
    agreement: float
    ends: dict[str, tuple[float, float]]
    interval_method: str | None
    same: BoolArray | None
    contradicted: BoolArray | None
    confidence: float | None
    forecasts: Forecasts | None


def pair_agreement(
    scores: LabLiveScores,
    *,
    lab_df: float | None = None,
    live_df: float | None = None,
    conf_level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> PairAgreement:
    """Compare the order of every pair of models on both sides.

    Parameters
    ----------
    scores
        Both sides; without covariances only the raw agreement is told.
    lab_df, live_df
        Degrees of freedom of the errors where few clusters make them t; None for normal.

    Returns
    -------
    PairAgreement
        Intervals by a bootstrap over models (a model drawn twice is no pair with itself), or by draws of items and votes
        below 10 models: pairs share models, so a binomial interval over pairs would be far too short.

    Raises
    ------
    CannotAnswerError
        If there are fewer than 3 models.

    References
    ----------
    Li et al. 2024, arXiv 2406.11939 (separability, agreement with confidence, pair-rank Brier).

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.array([1.0, 2.0, 3.0]),
    ...     live=np.array([2.0, 1.0, 3.0]),
    ...     lab_covariance=0.01 * np.eye(3),
    ...     live_covariance=0.01 * np.eye(3),
    ... )
    >>> r = pair_agreement(s)
    >>> round(r.agreement, 3), int(r.same.sum()), int(r.contradicted.sum())
    (0.667, 2, 1)
    """
    level = check_level(conf_level)
    if scores.n_models < 3:
        raise CannotAnswerError(f"{scores.n_models} shared models make no order to speak of; at least 3 are needed")
    first, second = np.triu_indices(scores.n_models, 1)
    lab = _side(scores.lab, scores.lab_covariance, lab_df, level)
    live = _side(scores.live, scores.live_covariance, live_df, level)
    orders = np.sign(lab.difference) * np.sign(live.difference)
    both = None if lab.separated is None or live.separated is None else lab.separated & live.separated
    values = _values(lab, live)
    ends, method = (
        _ends(scores, (lab, live), level, n_resamples=n_resamples, seed=seed) if scores.n_models >= 4 else ({}, None)
    )
    return PairAgreement(
        first=first.astype(np.int64),
        second=second.astype(np.int64),
        lab=lab,
        live=live,
        agreement=float(values["agreement"].mean()),
        ends=ends,
        interval_method=method,
        same=None if both is None else both & (orders > 0),
        contradicted=None if both is None else both & (orders < 0),
        confidence=float(values["confidence"].mean()) if "confidence" in values else None,
        forecasts=None
        if lab.probability is None
        else forecast_parts(lab.probability, np.sign(live.difference) / 2.0 + 0.5, live.probability),
    )


def _side(scores: FloatArray, covariance: FloatArray | None, df: float | None, level: float) -> PairSide:
    first, second = np.triu_indices(scores.size, 1)
    difference = scores[first] - scores[second]
    if covariance is None:
        return PairSide(difference=difference)
    variance = covariance[first, first] + covariance[second, second] - 2.0 * covariance[first, second]
    rounding = 1e-12 * (covariance[first, first] + covariance[second, second])
    error = np.sqrt(np.where(variance > rounding, variance, 0.0))
    below = _below(difference, error, df)
    p = np.clip(2.0 * np.minimum(below, _below(-difference, error, df)), SMALLEST_P, 1.0)
    adjusted = holm(p)
    return PairSide(
        difference=difference,
        std_error=error,
        p_value=p,
        p_adjusted=adjusted,
        probability=below,
        separated=adjusted < 1.0 - level,
        alone=p < 1.0 - level,
    )


def _below(difference: FloatArray, error: FloatArray, df: float | None) -> FloatArray:
    """Chance that the true difference is above 0. Where two scores have no error between them it cannot be told: one half."""
    ratio = np.where(error > 0, difference / np.where(error > 0, error, 1.0), 0.0)
    return special.ndtr(ratio) if df is None else np.asarray(special.stdtr(df, ratio), dtype=np.float64)


def _values(lab: PairSide, live: PairSide) -> dict[str, FloatArray]:
    """Each quantity pair by pair; what is reported is their mean."""
    orders = np.sign(lab.difference) * np.sign(live.difference)
    found = {"agreement": orders / 2.0 + 0.5}
    if lab.alone is not None and live.alone is not None:
        found["confidence"] = np.where(lab.alone & live.alone, orders, 0.0)
    if lab.probability is not None:
        found["brier"] = (lab.probability - (np.sign(live.difference) / 2.0 + 0.5)) ** 2
    return found


def _ends(
    scores: LabLiveScores, sides: tuple[PairSide, PairSide], level: float, *, n_resamples: int, seed: int
) -> tuple[dict[str, tuple[float, float]], str | None]:
    rng, values = np.random.default_rng(seed), _values(*sides)
    if scores.n_models >= FEW_MODELS:
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        drawn = _resampled(values, scores.n_models, n_resamples, rng)
        ends = {name: np.quantile(draws, tails) for name, draws in drawn.items()}
        method = "bootstrap over models, percentile"
    elif scores.has_errors:
        noise = draw_noise(scores, "items and votes", n_resamples=n_resamples, rng=rng)
        drawn = _redrawn(sides, level, noise)
        ends = {name: _shifted(float(values[name].mean()), draws, name, level) for name, draws in drawn.items()}
        method = "draws of items and votes, basic"
    else:
        return {}, None
    return {name: (float(low), float(high)) for name, (low, high) in ends.items() if low < high}, method


def _resampled(
    values: dict[str, FloatArray], n: int, n_resamples: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Means over the pairs of different models in each resample, from how often each model was drawn."""
    counts = rng.multinomial(n, np.full(n, 1.0 / n), n_resamples).astype(np.float64)
    pairs = (counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)) / 2.0
    counts, pairs = counts[pairs > 0], pairs[pairs > 0]
    first, second = np.triu_indices(n, 1)
    found: dict[str, FloatArray] = {}
    for name, each in values.items():
        table = np.zeros((n, n))
        table[first, second] = each
        found[name] = ((counts @ table) * counts).sum(axis=1) / pairs
    return found


def _redrawn(sides: tuple[PairSide, PairSide], level: float, drawn: ScoreDraws) -> dict[str, FloatArray]:
    """Each quantity for draws of items and votes, all draws at once: models are few here."""
    first, second = np.triu_indices(drawn.lab.shape[1], 1)
    lab, live = (
        replace(
            side,
            difference=difference,
            probability=_below(difference, side.std_error, None),
            alone=np.abs(difference) > normal_quantile(level) * side.std_error,
        )
        for side, difference in zip(
            sides,
            (drawn.lab[:, first] - drawn.lab[:, second], drawn.live[:, first] - drawn.live[:, second]),
            strict=True,
        )
        if side.std_error is not None
    )
    return {name: each.mean(axis=-1) for name, each in _values(lab, live).items()}


def _shifted(estimate: float, draws: FloatArray, name: str, level: float) -> FloatArray:
    """Lay the deviations of the draws from their mean about the estimate, within what is possible."""
    low, high = np.quantile(draws - draws.mean(), [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    least = -1.0 if name == "confidence" else 0.0
    return np.clip([estimate - high, estimate - low], least, 1.0)
