"""How sure agreement is: intervals of coefficients by what was sampled, and pairs of models that both sides separate.

References: Li et al. 2024, arXiv 2406.11939 (separability, agreement with confidence, pair-rank Brier).
"""

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy import special

from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.agreement.attenuation import (
    FEW_MODELS,
    NoiseSource,
    ScoreDraws,
    draw_noise,
    own_noise,
    without_noise,
)
from evalstats.stats.agreement.correlation import CoefficientName, correlate
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, check_level
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.estimate import SMALLEST_P, normal_quantile
from evalstats.stats.many.multiplicity import holm


def canonical_order(scores: LabLiveScores) -> IntArray:
    """Return an order of the models by their scores, so that draws do not depend on the order they came in."""
    return np.lexsort((scores.lab, scores.live)).astype(np.int64)


def draw_models(scores: LabLiveScores, *, n_resamples: int, rng: np.random.Generator) -> ScoreDraws:
    """Draw models with replacement, each with its two scores as they are."""
    places = rng.integers(0, scores.n_models, (n_resamples, scores.n_models))
    return ScoreDraws(lab=scores.lab[places], live=scores.live[places])


def draw_all(scores: LabLiveScores, *, n_resamples: int, rng: np.random.Generator) -> ScoreDraws:
    """Draw other models like these, with other items and other votes: models without noise, and fresh noise for each.

    A model that is drawn twice gets two draws of noise, as two models of the same strength would. Noise is drawn model by
    model, about what all models share.
    """
    lab, live = without_noise(scores, "items and votes")
    n = scores.n_models
    places = rng.integers(0, n, (n_resamples, n))
    noise = own_noise(scores, places, rng)
    return ScoreDraws(lab=lab[places] + noise.lab, live=live[places] + noise.live)


AnySource: TypeAlias = Literal["items", "votes", "items and votes", "models", "all"]

_NO_WIDTH = 1e-9


@record
class AgreementInterval:
    """Ends of an interval, and how they were reached; None with a reason where there are none."""

    conf_low: float | None
    conf_high: float | None
    method: str
    reason: str | None = None


@record
class SourceDraws:
    """Draws by every source that the data have, made once for all coefficients; other sources are in `reasons`."""

    scores: LabLiveScores
    draws: dict[AnySource, ScoreDraws]
    reasons: dict[AnySource, str]


def draw_sources(
    scores: LabLiveScores,
    *,
    n_resamples: int = 2000,
    seed: int = 0,
    lab_df: float | None = None,
    live_df: float | None = None,
    sources: Collection[AnySource] = get_args(AnySource),
) -> SourceDraws:
    """Draw scores by each of the sources that are asked for: items, votes, both, models, and all of them.

    Sort the models by `canonical_order` first where results must not depend on their order. Each source has its own stream of
    random numbers, so that one more source does not move another.
    """
    made: dict[AnySource, ScoreDraws] = {}
    reasons = missing_sources(scores)
    streams = np.random.SeedSequence(seed).spawn(5)
    noise: tuple[NoiseSource, ...] = ("items", "votes", "items and votes")
    for source, stream in zip(noise, streams, strict=False):
        if source in sources and source not in reasons:
            made[source] = draw_noise(
                scores,
                source,
                n_resamples=n_resamples,
                rng=np.random.default_rng(stream),
                lab_df=lab_df,
                live_df=live_df,
            )
    if "models" in sources and "models" not in reasons:
        made["models"] = draw_models(scores, n_resamples=n_resamples, rng=np.random.default_rng(streams[3]))
    if "all" in sources and "all" not in reasons:
        made["all"] = draw_all(scores, n_resamples=n_resamples, rng=np.random.default_rng(streams[4]))
    return SourceDraws(scores=scores, draws=made, reasons=reasons)


def noise_source(scores: LabLiveScores) -> NoiseSource:
    """Return the widest source of noise that is known: both, or the one side whose errors are."""
    if scores.lab_covariance is not None and scores.live_covariance is None:
        return "items"
    return "votes" if scores.lab_covariance is None and scores.live_covariance is not None else "items and votes"


def missing_sources(scores: LabLiveScores) -> dict[AnySource, str]:
    """Return the sources that these data cannot speak of, each with the reason."""
    n, reasons = scores.n_models, dict[AnySource, str]()
    unknown = [side for side in ("lab", "live") if getattr(scores, f"{side}_covariance") is None]
    if "lab" in unknown:
        reasons["items"] = "the errors of the lab scores are unknown"
    if "live" in unknown:
        reasons["votes"] = "the errors of the live scores are unknown"
    if unknown:
        reasons["items and votes"] = f"the errors of the {' and the '.join(unknown)} scores are unknown"
        reasons["all"] = reasons["items and votes"] + '; "models" holds their noise too, since it comes along with them'
    if n < FEW_MODELS:
        few = f"{n} models are too few to speak of other models like them; {FEW_MODELS} are needed"
        reasons["models"] = reasons["all"] = few
    return reasons


def source_interval(
    drawn: SourceDraws, source: AnySource, name: CoefficientName, *, conf_level: float = 0.95
) -> AgreementInterval:
    """Return the interval of one coefficient as measured, with its noise, by one source.

    `true_rank_interval` is of the true scores. By items and votes: the draws scatter about the coefficient of the scores
    freed of noise *and then made noisy again*; their deviations from their own mean, on the scale of Fisher's z, are laid about
    the estimate the other way round (the basic bootstrap). By models: the percentiles of the bootstrap. By all: as for noise.

    Examples
    --------
    >>> s = LabLiveScores(lab=np.arange(12.0), live=np.arange(12.0)[::-1] ** 2)
    >>> r = source_interval(draw_sources(s, n_resamples=199), "models", "pearson")
    >>> r.method
    'bootstrap over models, percentile'
    """
    level = check_level(conf_level)
    if source not in drawn.draws:
        return AgreementInterval(
            conf_low=None, conf_high=None, method="", reason=drawn.reasons.get(source, "not asked")
        )
    draws = drawn.draws[source]
    estimate = float(correlate(name, drawn.scores.lab, drawn.scores.live))
    values = correlate(name, draws.lab, draws.live)
    values = values[np.isfinite(values)]
    if np.isnan(estimate) or values.size < 50:
        reason = "a side is constant, in the data or in nearly every draw"
        return AgreementInterval(conf_low=None, conf_high=None, method="", reason=reason)
    if source == "models":
        low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return _with_width(float(low), float(high), "bootstrap over models, percentile")
    low, high = shifted_ends(estimate, values, resolution(name, drawn.scores.n_models), level)
    words = "models without noise, fresh noise" if source == "all" else f"draws of {source}"
    return _with_width(low, high, f"{words}, basic on Fisher's z")


def _with_width(low: float, high: float, method: str) -> AgreementInterval:
    """Return an interval, or none where nearly all draws gave one value: a rank coefficient of few models has few."""
    if high - low > _NO_WIDTH:
        return AgreementInterval(conf_low=low, conf_high=high, method=method)
    reason = "nearly all draws give the same value, and an interval without width would claim too much"
    return AgreementInterval(conf_low=None, conf_high=None, method="", reason=reason)


def shifted_ends(estimate: float, values: FloatArray, step: float, conf_level: float) -> tuple[float, float]:
    """Lay the deviations of draws from their mean about the estimate, on Fisher's z.

    `step` is half the smallest distance from 1 that the coefficient can have; 1 itself has no finite z and is taken as
    1 - step.
    """
    most = 1.0 - step
    z = np.arctanh(np.clip(values, -most, most))
    low, high = np.quantile(z - z.mean(), [(1.0 - conf_level) / 2.0, (1.0 + conf_level) / 2.0])
    centre = math.atanh(max(-most, min(most, estimate)))
    ends = math.tanh(centre - float(high)), math.tanh(centre - float(low))
    # A coefficient of exactly one may be the true one: the interval must not exclude it.
    return (-1.0 if estimate <= -most else ends[0]), (1.0 if estimate >= most else ends[1])


def resolution(name: CoefficientName, n_models: int) -> float:
    """Return half the smallest distance from 1 that a coefficient of so many untied models can have."""
    if name == "spearman":
        return 6.0 / (n_models * (n_models**2 - 1))
    return 2.0 / (n_models * (n_models - 1)) if name == "kendall" else 1e-9


@record
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


@record
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
    brier
        Brier's score of the lab's probabilities of order as forecasts of the live order (0.25 for a coin); None where lab
        errors are unknown.
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
    brier: float | None


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
        brier=float(values["brier"].mean()) if "brier" in values else None,
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
