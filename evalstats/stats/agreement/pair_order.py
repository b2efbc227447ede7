"""Which pairs of models each side separates, alike or oppositely, and how well probabilities forecast an order.

References: Li et al. 2024, arXiv 2406.11939 (separability, agreement with confidence, pair-rank Brier); Murphy 1973,
doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2, and Stephenson et al. 2008, doi:10.1175/2007WAF2006116.1 (parts of
Brier's score).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError
from evalstats.stats.agreement.attenuation import FEW_MODELS, ScoreDraws, draw_noise
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_values, check_level
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.estimate import SMALLEST_P, normal_quantile
from evalstats.stats.many.multiplicity import holm

_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """Brier's score of forecasts of order, and what it is made of.

    `score` is the mean of (forecast - outcome)^2, 0.25 for a coin, and exactly reliability - resolution + uncertainty + within;
    `soft_score` that of (forecast - probability of the outcome)^2, None where that probability is unknown.
    """

    score: float
    soft_score: float | None
    reliability: float
    resolution: float
    uncertainty: float
    within: float


def forecast_parts(forecasts: ArrayLike, outcomes: ArrayLike, chances: ArrayLike | None = None) -> Forecasts:
    """Score forecasts that the first of a pair beats the second, and take the score apart as Murphy does.

    Outcomes are 1 where the first won, 0 where the second did, 0.5 for a tie; `chances` the probability of the outcome 1 where
    outcomes are themselves uncertain. Which model of a pair comes first is arbitrary, so each pair is binned from both ends:
    ten bins, symmetric about one half, and a base rate of one half. `within` is the variance of the forecasts inside bins less
    twice their covariance with the outcomes there: it makes the identity exact for binned forecasts.

    Examples
    --------
    >>> r = forecast_parts([0.9, 0.8, 0.4], [1.0, 0.0, 0.0])
    >>> round(r.score, 6), round(r.reliability - r.resolution + r.uncertainty + r.within, 6)
    (0.27, 0.27)
    """
    p, y = as_values(forecasts, "forecasts"), as_values(outcomes, "outcomes")
    soft = None if chances is None else float(((p - as_values(chances, "chances")) ** 2).mean())
    q, x = np.concatenate([p, 1.0 - p]), np.concatenate([y, 1.0 - y])
    # The bin of 1 - p is the mirror of the bin of p, rounding at the edges or not.
    lower = np.minimum((p * _BINS).astype(np.int64), _BINS - 1)
    bins = np.concatenate([lower, _BINS - 1 - lower])
    return Forecasts(score=float(((p - y) ** 2).mean()), soft_score=soft, **_murphy(q, x, bins))


def _murphy(q: FloatArray, x: FloatArray, bins: IntArray) -> dict[str, float]:
    n = np.maximum(np.bincount(bins, minlength=_BINS), 1).astype(np.float64)
    share = np.bincount(bins, minlength=_BINS) / q.size
    mean_q = np.bincount(bins, q, minlength=_BINS) / n
    mean_x = np.bincount(bins, x, minlength=_BINS) / n
    left = q - mean_q[bins]
    return {
        "reliability": float((share * (mean_q - mean_x) ** 2).sum()),
        "resolution": float((share * (mean_x - x.mean()) ** 2).sum()),
        "uncertainty": float(x.var()),
        "within": float((left**2 - 2.0 * left * (x - mean_x[bins])).mean()),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSide:
    """All pairs on one side, first less second, in the order of `PairAgreement.first` and `second`.

    `p_adjusted` is Holm's over all pairs, `probability` the chance that the first is truly better given a flat prior;
    `separated` and `alone` say whether p_adjusted, and p_value, is below 1 - conf_level. None where errors are unknown.
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
    """Compare the order of every pair of models on both sides; without covariances only the raw agreement is told.

    Intervals are by a bootstrap over models (a model drawn twice is no pair with itself), or by draws of items and votes below
    10 models: pairs share models, so a binomial interval over pairs would be far too short. Raises CannotAnswerError if there
    are fewer than 3 models.

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
    sides = (lab, live)
    ends = _ends(scores, sides, level, n_resamples=n_resamples, seed=seed) if scores.n_models >= 4 else {}
    return PairAgreement(
        first=first.astype(np.int64),
        second=second.astype(np.int64),
        lab=lab,
        live=live,
        agreement=float(values["agreement"].mean()),
        ends=ends,
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
) -> dict[str, tuple[float, float]]:
    rng, values = np.random.default_rng(seed), _values(*sides)
    if scores.n_models >= FEW_MODELS:
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        drawn = _resampled(values, scores.n_models, n_resamples, rng)
        ends = {name: np.quantile(draws, tails) for name, draws in drawn.items()}
    elif scores.has_errors:
        noise = draw_noise(scores, "items and votes", n_resamples=n_resamples, rng=rng)
        drawn = _redrawn(sides, level, noise)
        ends = {name: _shifted(float(values[name].mean()), draws, name, level) for name, draws in drawn.items()}
    else:
        return {}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items() if low < high}


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
