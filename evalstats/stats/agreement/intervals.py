"""Intervals of a coefficient of agreement by what was sampled: lab items, live votes, models.

Reference: Bonett & Wright 2000, doi:10.1007/BF02294183 (Fisher's z for Spearman's and Kendall's coefficients).
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.agreement.attenuation import (
    FEW_MODELS,
    NoiseSource,
    ScoreDraws,
    draw_noise,
    own_noise,
    without_noise,
)
from evalstats.stats.agreement.correlation import CoefficientName, correlate, kendall
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.estimate import normal_quantile, t_quantile


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementInterval:
    """Ends of an interval, and how they were reached; None with a reason where there are none."""

    conf_low: float | None
    conf_high: float | None
    method: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
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
    only_noise: bool = False,
) -> SourceDraws:
    """Draw scores by each of five sources: items, votes, both, models, and all of them.

    Sort the models by `canonical_order` first where results must not depend on their order. Each source has its own stream of
    random numbers, so that one more source does not move another. `only_noise` leaves models as they are.

    Examples
    --------
    >>> s = LabLiveScores(lab=np.arange(5.0), live=np.arange(5.0), lab_covariance=0.1 * np.eye(5))
    >>> r = draw_sources(s, n_resamples=99)
    >>> sorted(r.draws), r.reasons["models"]
    (['items'], '5 models are too few to speak of other models like them; 10 are needed')
    """
    made: dict[AnySource, ScoreDraws] = {}
    reasons = missing_sources(scores)
    streams = np.random.SeedSequence(seed).spawn(5)
    noise: tuple[NoiseSource, ...] = ("items", "votes", "items and votes")
    for source, stream in zip(noise, streams, strict=False):
        if source not in reasons:
            made[source] = draw_noise(
                scores,
                source,
                n_resamples=n_resamples,
                rng=np.random.default_rng(stream),
                lab_df=lab_df,
                live_df=live_df,
            )
    if not only_noise and "models" not in reasons:
        made["models"] = draw_models(scores, n_resamples=n_resamples, rng=np.random.default_rng(streams[3]))
    if not only_noise and "all" not in reasons:
        made["all"] = draw_all(scores, n_resamples=n_resamples, rng=np.random.default_rng(streams[4]))
    return SourceDraws(scores=scores, draws=made, reasons=reasons)


def noise_source(drawn: SourceDraws) -> NoiseSource:
    """Return the widest source of noise that was drawn: both, or the one side whose errors are known."""
    if "items" in drawn.draws and "votes" not in drawn.draws:
        return "items"
    return "votes" if "votes" in drawn.draws and "items" not in drawn.draws else "items and votes"


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
    """Return the interval of one coefficient by one source.

    By items and votes: the draws scatter about the coefficient of the scores freed of noise *and then made noisy again*;
    their deviations from their own mean, on the scale of Fisher's z, are laid about the estimate the other way round (the
    basic bootstrap). By models: the percentiles of the bootstrap. By all: as for noise.

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

    Examples
    --------
    >>> low, high = shifted_ends(0.0, np.tanh(np.linspace(-1.0, 1.0, 1001)), 1e-9, 0.9)
    >>> round(math.atanh(low), 6), round(math.atanh(high), 6)
    (-0.9, 0.9)
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


def model_check(
    name: CoefficientName, scores: LabLiveScores, *, conf_level: float = 0.95
) -> tuple[float, float] | None:
    """Interval over models that repeats no model; None below 10 models or where there is no finite interval.

    Fisher's z, for Pearson with variance 1/(n - 3), for Spearman with (1 + r^2/2)/(n - 3); for Kendall the jackknife of z, t
    with n - 1.

    Examples
    --------
    >>> x = np.arange(12.0)
    >>> low, high = model_check("pearson", LabLiveScores(lab=x, live=(5.0 * x) % 12.0 + x))
    >>> bool(low < np.corrcoef(x, (5.0 * x) % 12.0 + x)[0, 1] < high < 1.0)
    True
    """
    level, n = check_level(conf_level), scores.n_models
    estimate = float(correlate(name, scores.lab, scores.live))
    if n < FEW_MODELS or not abs(estimate) < 1.0:
        return None
    if name == "kendall":
        left_out = _kendall_without_each(scores)
        if not (np.abs(left_out) < 1.0).all():
            return None
        z = np.arctanh(left_out)
        half = t_quantile(level, n - 1.0) * math.sqrt((n - 1) / n * float(((z - z.mean()) ** 2).sum()))
    else:
        wider = 1.0 + estimate**2 / 2.0 if name == "spearman" else 1.0
        half = normal_quantile(level) * math.sqrt(wider / (n - 3))
    centre = math.atanh(estimate)
    return (math.tanh(centre - half), math.tanh(centre + half)) if half > 0 else None


def _kendall_without_each(scores: LabLiveScores) -> FloatArray:
    n = scores.n_models
    others = np.array([[j for j in range(n) if j != i] for i in range(n)])
    values = kendall(scores.lab[others], scores.live[others])
    if np.isnan(values).any():
        raise CannotAnswerError("without one of the models a side is constant")
    return values
