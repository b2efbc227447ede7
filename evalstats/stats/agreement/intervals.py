"""Intervals of a coefficient of agreement by what was sampled: lab items, live votes, models."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.agreement.attenuation import (
    NoiseSource,
    known,
    own_variances,
    shared_noise,
    symmetric_root,
    without_noise,
)
from evalstats.stats.agreement.correlation import CoefficientName, correlate, kendall
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.estimate import normal_quantile, t_quantile

_TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDraws:
    """Scores drawn anew.

    Attributes
    ----------
    lab, live
        float64, shape (n_resamples, n_models), or (1, n_models) for a side that is held as it is.
    """

    lab: FloatArray
    live: FloatArray


def canonical_order(scores: LabLiveScores) -> IntArray:
    """Return an order of the models by their scores, so that draws do not depend on the order they came in.

    Examples
    --------
    >>> canonical_order(LabLiveScores(lab=np.array([1.0, 2.0]), live=np.array([5.0, 4.0]))).tolist()
    [1, 0]
    """
    return np.lexsort((scores.lab, scores.live)).astype(np.int64)


def draw_noise(
    scores: LabLiveScores,
    source: NoiseSource,
    *,
    n_resamples: int,
    rng: np.random.Generator,
    lab_df: float | None = None,
    live_df: float | None = None,
) -> ScoreDraws:
    """Draw the scores that the same models would have with other items, other votes, or both.

    Parameters
    ----------
    scores
        With the covariance of the side or sides in question; `cross` is used for both together.
    source
        What is drawn anew.
    n_resamples, rng
        How many draws, and the generator.
    lab_df, live_df
        Degrees of freedom of the errors where few clusters make them t; None for normal.

    Returns
    -------
    ScoreDraws
        Centred on `without_noise`, normal (or t) with the covariances given.

    Examples
    --------
    >>> s = LabLiveScores(lab=np.arange(5.0), live=np.arange(5.0), lab_covariance=0.1 * np.eye(5))
    >>> draws = draw_noise(s, "items", n_resamples=3, rng=np.random.default_rng(0))
    >>> draws.lab.shape, draws.live.shape
    ((3, 5), (1, 5))
    """
    lab, live = without_noise(scores, source)
    n = scores.n_models
    normal = rng.standard_normal((n_resamples, 2 * n))
    if source == "items and votes" and scores.cross is not None:
        joint = _joint(scores)
        # Both sides in units of their own noise, or the root would depend on the units they came in.
        unit = np.repeat(
            np.sqrt([max(float(np.diag(joint)[side].mean()), _TINY) for side in (slice(n), slice(n, None))]), n
        )
        errors = normal @ symmetric_root(joint / np.outer(unit, unit)) * unit
        lab_error, live_error = errors[:, :n], errors[:, n:]
    else:
        lab_error = None if source == "votes" else normal[:, :n] @ symmetric_root(known(scores.lab_covariance, "lab"))
        live_error = (
            None if source == "items" else normal[:, n:] @ symmetric_root(known(scores.live_covariance, "live"))
        )
    return ScoreDraws(
        lab=lab[None] if lab_error is None else lab + _heavier(lab_error, lab_df, rng),
        live=live[None] if live_error is None else live + _heavier(live_error, live_df, rng),
    )


def draw_models(scores: LabLiveScores, *, n_resamples: int, rng: np.random.Generator) -> ScoreDraws:
    """Draw models with replacement, each with its two scores as they are.

    Examples
    --------
    >>> s = LabLiveScores(lab=np.arange(5.0), live=np.arange(5.0))
    >>> draws = draw_models(s, n_resamples=3, rng=np.random.default_rng(0))
    >>> draws.lab.shape, bool((draws.lab == draws.live).all())
    ((3, 5), True)
    """
    places = rng.integers(0, scores.n_models, (n_resamples, scores.n_models))
    return ScoreDraws(lab=scores.lab[places], live=scores.live[places])


def draw_all(scores: LabLiveScores, *, n_resamples: int, rng: np.random.Generator) -> ScoreDraws:
    """Draw other models like these, with other items and other votes: models without noise, and fresh noise for each.

    A model that is drawn twice gets two draws of noise, as two models of the same strength would. Noise is drawn model by
    model, about what all models share.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.arange(5.0), live=np.arange(5.0), lab_covariance=0.1 * np.eye(5), live_covariance=0.1 * np.eye(5)
    ... )
    >>> draw_all(s, n_resamples=3, rng=np.random.default_rng(0)).live.shape
    (3, 5)
    """
    lab, live = without_noise(scores, "items and votes")
    n = scores.n_models
    places = rng.integers(0, n, (n_resamples, n))
    noise = own_noise(scores, places, rng)
    return ScoreDraws(lab=lab[places] + noise.lab, live=live[places] + noise.live)


def own_noise(scores: LabLiveScores, places: IntArray, rng: np.random.Generator) -> ScoreDraws:
    """Draw noise for the models at `places`, each on its own, about what all models share.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.arange(3.0), live=np.arange(3.0), lab_covariance=np.ones((3, 3)), live_covariance=np.eye(3)
    ... )
    >>> float(np.abs(own_noise(s, np.zeros((2, 3), dtype=np.int64), np.random.default_rng(0)).lab).max())
    0.0
    """
    lab_sd = np.sqrt(own_variances(known(scores.lab_covariance, "lab")))
    live_sd = np.sqrt(own_variances(known(scores.live_covariance, "live")))
    product = float(np.sqrt((lab_sd**2).mean() * (live_sd**2).mean()))
    together = float(np.clip(shared_noise(scores.cross) / product if product > 0 else 0.0, -1.0, 1.0))
    first, second = rng.standard_normal(places.shape), rng.standard_normal(places.shape)
    return ScoreDraws(
        lab=lab_sd[places] * first,
        live=live_sd[places] * (together * first + np.sqrt(1.0 - together**2) * second),
    )


def _joint(scores: LabLiveScores) -> FloatArray:
    lab, live = known(scores.lab_covariance, "lab"), known(scores.live_covariance, "live")
    cross = np.zeros_like(lab) if scores.cross is None else scores.cross
    return np.block([[lab, cross], [cross.T, live]])


def _heavier(errors: FloatArray, df: float | None, rng: np.random.Generator) -> FloatArray:
    return errors if df is None else errors * np.sqrt(df / rng.chisquare(df, (len(errors), 1)))


AnySource: TypeAlias = Literal["items", "votes", "items and votes", "models", "all"]

FEW_MODELS = 10  # below it, resampling models says nothing about other models

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
    """Draws by every source that the data have, made once for all coefficients.

    Attributes
    ----------
    scores
        What they were drawn from.
    draws
        By source; a source that cannot be drawn is in `reasons` instead.
    """

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

    Parameters
    ----------
    scores
        Both sides. Sort the models by `canonical_order` first where results must not depend on their order.
    n_resamples, seed
        Each source has its own stream of random numbers, so that one more source does not move another.
    lab_df, live_df
        Degrees of freedom of the errors where few clusters make them t.
    only_noise
        Leave models as they are.

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
    """Return the widest source of noise that was drawn: both, or the one side whose errors are known.

    Examples
    --------
    >>> s = LabLiveScores(lab=np.arange(5.0), live=np.arange(5.0), lab_covariance=0.1 * np.eye(5))
    >>> noise_source(draw_sources(s, n_resamples=99))
    'items'
    """
    if "items" in drawn.draws and "votes" not in drawn.draws:
        return "items"
    return "votes" if "votes" in drawn.draws and "items" not in drawn.draws else "items and votes"


def missing_sources(scores: LabLiveScores) -> dict[AnySource, str]:
    """Return the sources that these data cannot speak of, each with the reason.

    Examples
    --------
    >>> sorted(missing_sources(LabLiveScores(lab=np.arange(12.0), live=np.arange(12.0))))
    ['all', 'items', 'items and votes', 'votes']
    """
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

    Notes
    -----
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

    Parameters
    ----------
    estimate, values
        The coefficient and its draws.
    step
        Half the smallest distance from 1 that the coefficient can have; 1 itself has no finite z and is taken as 1 - step.
    conf_level
        Level of the interval.

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
    """Return half the smallest distance from 1 that a coefficient of so many untied models can have.

    Examples
    --------
    >>> resolution("spearman", 3), resolution("kendall", 3)
    (0.25, 0.3333333333333333)
    """
    if name == "spearman":
        return 6.0 / (n_models * (n_models**2 - 1))
    return 2.0 / (n_models * (n_models - 1)) if name == "kendall" else 1e-9


def model_check(
    name: CoefficientName, scores: LabLiveScores, *, conf_level: float = 0.95
) -> tuple[float, float] | None:
    """Interval over models that repeats no model: Fisher's z, or the jackknife for Kendall.

    Parameters
    ----------
    name, scores, conf_level
        As above. None below 10 models or where there is no finite interval.

    Returns
    -------
    tuple of float or None
        Pearson: z with variance 1/(n - 3). Spearman: (1 + r^2/2)/(n - 3). Kendall: jackknife of z, t with n - 1.

    References
    ----------
    Bonett & Wright 2000, doi:10.1007/BF02294183.

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
