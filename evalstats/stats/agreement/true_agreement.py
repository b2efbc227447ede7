"""How well the true scores of both sides agree, freed of noise, and what noise leaves of perfect agreement."""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import special

from evalstats.stats.agreement.attenuation import known as known_covariance
from evalstats.stats.agreement.attenuation import (
    map_to_correlation,
    own_variances,
    shared_noise,
    true_correlation,
    without_noise,
)
from evalstats.stats.agreement.correlation import NAMES, CoefficientName, correlate, mean_ranks
from evalstats.stats.agreement.intervals import FEW_MODELS, draw_noise, own_noise
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.errors_in_variables.scores import LabLiveScores

_Ends: TypeAlias = "tuple[float, float] | str"
_TOO_HIGH = (
    "the scores agree more than even perfect agreement would explain: the noise is overstated, or errors are shared"
)
_TOO_LOW = "the scores disagree more than even perfect disagreement would explain: the noise is overstated, or errors are shared"
_STEPS = 41


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueAgreement:
    """Pearson's correlation of true scores, with intervals.

    Attributes
    ----------
    estimate
        May exceed 1; None with `reason` where a reliability is too low.
    low, high
        For models like these (models, items and votes are all drawn); None below 10 models. Ends are correlations that can
        be: an interval that reaches 1 does not exclude perfect agreement, and the estimate may lie above it.
    these_low, these_high
        For these very models (items and votes alone).
    reason, interval_reason
        Why there is no estimate; why there is no interval of one kind.
    """

    estimate: float | None
    low: float | None = None
    high: float | None = None
    these_low: float | None = None
    these_high: float | None = None
    reason: str | None = None
    interval_reason: str | None = None


def true_agreement(
    scores: LabLiveScores, *, conf_level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> TrueAgreement:
    """Free Pearson's correlation of noise, with intervals by bootstrap of the whole ratio.

    Parameters
    ----------
    scores
        With the covariances of both sides.
    conf_level, n_resamples, seed
        Of the intervals; the same draws serve every correlation that is tried.

    Returns
    -------
    TrueAgreement
        The estimate is not clipped at 1: one above it says that the noise is given too large, that errors are shared, or
        that chance lifted the sample.

    Raises
    ------
    CannotAnswerError
        If the errors of a side are unknown, there are fewer than 3 models, or a side is constant.

    Notes
    -----
    The interval holds every correlation of true scores under which an estimate like this one is no surprise. For each one
    tried, true scores are made with that correlation and the spread that the sides have beyond noise, models (for "like
    these") and noise are drawn, and the whole ratio is computed anew. The spread of the ratio shrinks towards 1, which
    makes percentiles of a bootstrap about the estimate far too short there: they covered .74 to .85 in place of .95.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.arange(12.0),
    ...     live=np.arange(12.0) % 7,
    ...     lab_covariance=0.1 * np.eye(12),
    ...     live_covariance=0.1 * np.eye(12),
    ... )
    >>> r = true_agreement(s, n_resamples=499)
    >>> r.low < r.these_low < r.estimate < r.these_high < r.high
    True
    """
    level, known = check_level(conf_level), true_correlation(scores)
    if known.disattenuated is None:
        return TrueAgreement(estimate=None, reason=known.reason)
    streams = np.random.SeedSequence(seed).spawn(2)
    these = _ends(scores, known.disattenuated, level, _these(scores, n_resamples, np.random.default_rng(streams[0])))
    wider: _Ends = f"fewer than {FEW_MODELS} models: the interval is for these alone"
    if scores.n_models >= FEW_MODELS:
        wider = _ends(
            scores, known.disattenuated, level, _others(scores, n_resamples, np.random.default_rng(streams[1]))
        )
    return TrueAgreement(
        estimate=known.disattenuated,
        low=None if isinstance(wider, str) else wider[0],
        high=None if isinstance(wider, str) else wider[1],
        these_low=None if isinstance(these, str) else these[0],
        these_high=None if isinstance(these, str) else these[1],
        interval_reason=these if isinstance(these, str) else wider if isinstance(wider, str) else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draws:
    """What every draw adds to the moments of made-up true scores, whatever their correlation.

    Attributes
    ----------
    moments
        Shape (n_resamples, 4, 4): of lab score, live score, lab noise and live noise over the models drawn.
    lab_noise, live_noise
        Noise variances of the models drawn, shape (n_resamples,) or (1,).
    """

    moments: FloatArray
    lab_noise: FloatArray
    live_noise: FloatArray


def _these(scores: LabLiveScores, n_resamples: int, rng: np.random.Generator) -> _Draws:
    draws = draw_noise(scores, "items and votes", n_resamples=n_resamples, rng=rng)
    lab, live = without_noise(scores, "items and votes")
    return _Draws(
        moments=_moments(scores.lab[None], scores.live[None], draws.lab - lab, draws.live - live),
        lab_noise=own_variances(known_covariance(scores.lab_covariance, "lab")).mean(keepdims=True),
        live_noise=own_variances(known_covariance(scores.live_covariance, "live")).mean(keepdims=True),
    )


def _others(scores: LabLiveScores, n_resamples: int, rng: np.random.Generator) -> _Draws:
    places = rng.integers(0, scores.n_models, (n_resamples, scores.n_models))
    lab, live = (
        own_variances(known_covariance(scores.lab_covariance, "lab")),
        own_variances(known_covariance(scores.live_covariance, "live")),
    )
    noise = own_noise(scores, places, rng)
    return _Draws(
        moments=_moments(scores.lab[places], scores.live[places], noise.lab, noise.live),
        lab_noise=lab[places].mean(axis=1),
        live_noise=live[places].mean(axis=1),
    )


def _moments(*parts: FloatArray) -> FloatArray:
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    centred = [np.broadcast_to(part - part.mean(axis=-1, keepdims=True), shape) for part in parts]
    found = np.empty((shape[0], 4, 4))
    for i in range(4):
        for j in range(i, 4):
            found[:, i, j] = found[:, j, i] = np.einsum("dm,dm->d", centred[i], centred[j]) / (shape[1] - 1)
    return found


def _ends(scores: LabLiveScores, estimate: float, level: float, draws: _Draws) -> _Ends:
    """Invert the test of every correlation on a grid that is dense near -1 and 1."""
    tried = np.sin(np.linspace(-np.pi / 2.0, np.pi / 2.0, _STEPS))
    tails = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    laws = np.array([np.quantile(_ratios(scores, float(rho), draws), tails, method="lower") for rho in tried])
    if estimate > laws[-1, 1]:
        return _TOO_HIGH
    if estimate < laws[0, 0]:
        return _TOO_LOW
    return _crossing(tried, laws[:, 1], estimate, -1.0), _crossing(tried, laws[:, 0], estimate, 1.0)


def _crossing(tried: FloatArray, quantile: FloatArray, estimate: float, beyond: float) -> float:
    """Return the correlation at which the rising quantile meets the estimate; `beyond` where it never does."""
    rising = np.maximum.accumulate(quantile)
    if not rising[0] < estimate < rising[-1]:
        return beyond
    after = int(np.searchsorted(rising, estimate))
    low, high = float(rising[after - 1]), float(rising[after])
    share = (estimate - low) / (high - low) if np.isfinite(low) and np.isfinite(high) else 0.5
    return float(tried[after - 1] + share * (tried[after] - tried[after - 1]))


def _ratios(scores: LabLiveScores, rho: float, draws: _Draws) -> FloatArray:
    """Disattenuated correlations of draws; beyond all bounds, with the sign of the covariance, where noise exceeds spread."""
    weights = np.hstack([map_to_correlation(scores, rho), np.eye(2)])
    seen = np.einsum("ai,dij,bj->dab", weights, draws.moments, weights, optimize=True)
    product = seen[:, 0, 1] - shared_noise(scores.cross)
    left, right = seen[:, 0, 0] - draws.lab_noise, seen[:, 1, 1] - draws.live_noise
    size = np.sqrt(np.maximum(left, 0.0) * np.maximum(right, 0.0))
    ratios = np.where(product < 0, -np.inf, np.inf)
    np.divide(product, size, out=ratios, where=size > 0)
    return ratios


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """What a coefficient comes out as if the true scores agree perfectly.

    Attributes
    ----------
    expected
        Mean over draws of noise; for Pearson by formula, the root of the product of the reliabilities.
    low, high
        Where the coefficient of one sample then lies, with the probability asked for.
    """

    expected: float
    low: float
    high: float


def ceilings(
    scores: LabLiveScores, *, conf_level: float = 0.95, n_resamples: int = 2000, seed: int = 0
) -> dict[CoefficientName, Ceiling]:
    """Return the ceilings of all three coefficients; empty where a reliability is not above 0.

    Parameters
    ----------
    scores
        With the covariances of both sides.
    conf_level
        Of the range in which a sample's coefficient lies.

    Notes
    -----
    True scores that agree perfectly are made from the mean of both sides' standardised scores, with the spread that each
    side has beyond its noise; noise is drawn with the covariances given. Agreement below `low` is not noise alone.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.arange(12.0), live=np.arange(12.0), lab_covariance=1.3 * np.eye(12), live_covariance=2.6 * np.eye(12)
    ... )
    >>> round(ceilings(s, n_resamples=199)["pearson"].expected, 12)
    0.848528137424
    """
    level, known = check_level(conf_level), true_correlation(scores)
    if known.ceiling is None:
        return {}
    noise_free = _agreeing(scores, known.lab.spread - known.lab.noise, known.live.spread - known.live.noise)
    lab, live = _with_noise(noise_free, scores, n_resamples, np.random.default_rng(seed))
    found: dict[CoefficientName, Ceiling] = {}
    for name in NAMES:
        values = correlate(name, lab, live)
        low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        expected = known.ceiling if name == "pearson" else float(values.mean())
        found[name] = Ceiling(expected=expected, low=float(low), high=float(high))
    return found


def _agreeing(scores: LabLiveScores, lab_variance: float, live_variance: float) -> tuple[FloatArray, FloatArray]:
    """Make true scores that agree perfectly, in the order and with the spacing of both sides taken together."""
    together = _standard(scores.lab) + _standard(scores.live)
    if together.std() < 1e-6:  # the sides are opposite: there is no common order, and any spacing will do
        together = special.ndtri(mean_ranks(scores.live) / (scores.n_models + 1.0))
    standard = _standard(together)
    return math.sqrt(lab_variance) * standard, math.sqrt(live_variance) * standard


def _standard(values: FloatArray) -> FloatArray:
    return (values - values.mean()) / values.std(ddof=1)


def _with_noise(
    noise_free: tuple[FloatArray, FloatArray], scores: LabLiveScores, n_resamples: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Add noise alone: draws about the data, less their centre."""
    draws = draw_noise(scores, "items and votes", n_resamples=n_resamples, rng=rng)
    lab, live = without_noise(scores, "items and votes")
    return draws.lab - lab + noise_free[0], draws.live - live + noise_free[1]
