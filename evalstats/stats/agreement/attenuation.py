"""Attenuation: how much of the spread between models is real, what noise hides of a correlation, and scores without it."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.agreement.correlation import pearson
from evalstats.stats.checks import FloatArray, is_constant
from evalstats.stats.errors_in_variables.scores import LabLiveScores, centred_variance

TINY_RELIABILITY = 0.1  # below it the noise is more than nine tenths of the spread, and a ratio to it says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How much of the variance between models on one side is not noise.

    Attributes
    ----------
    value
        1 - noise/spread; below 0 where the scores vary less than noise alone would make them.
    noise
        Variance of the error of one score about the mean of all, squared unit of the score.
    spread
        Variance of the scores over the models (divisor n - 1).
    """

    value: float
    noise: float
    spread: float


def reliability(scores: FloatArray, covariance: FloatArray) -> Reliability:
    """Return the share of the variance between models that is not noise.

    Parameters
    ----------
    scores
        float64, shape (n_models,).
    covariance
        Of their errors, shape (n_models, n_models). What all models share drops out.

    Raises
    ------
    CannotAnswerError
        If there are fewer than 3 models or all scores are equal.

    Notes
    -----
    Errors are taken as unrelated to the true scores. With published variances alone (no covariances) the noise is too large
    wherever the models answered the same items, and the reliability a lower bound.

    Examples
    --------
    >>> round(reliability(np.array([1.0, 2.0, 3.0]), 0.2 * np.eye(3)).value, 12)
    0.8
    """
    if scores.size < 3 or is_constant(scores):
        raise CannotAnswerError("reliability needs 3 models or more whose scores are not all equal")
    spread, noise = float(scores.var(ddof=1)), centred_variance(covariance)
    return Reliability(value=1.0 - noise / spread, noise=noise, spread=spread)


def shared_noise(cross: FloatArray | None) -> float:
    """Return the covariance of the lab error and the live error of one model, about the means of all; 0 for None.

    Examples
    --------
    >>> shared_noise(None), shared_noise(np.eye(3)), shared_noise(np.ones((3, 3)))
    (0.0, 1.0, 0.0)
    """
    if cross is None:
        return 0.0
    n = cross.shape[0]
    return float((np.trace(cross) - cross.sum() / n) / (n - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueCorrelation:
    """Pearson's correlation freed of noise.

    Attributes
    ----------
    observed
        Of the scores as they are.
    ceiling
        What `observed` would be expected to be if the true scores agreed perfectly: the root of the product of the
        reliabilities, lifted where the sides share noise. None with `reason` where a reliability is not above 0.
    disattenuated
        Of the true scores; may exceed 1. None with `reason` where a reliability is below 0.1.
    """

    observed: float
    ceiling: float | None
    disattenuated: float | None
    lab: Reliability
    live: Reliability
    reason: str | None = None


def true_correlation(scores: LabLiveScores) -> TrueCorrelation:
    """Correlate the true scores of both sides: the covariance less shared noise, over the spreads less noise.

    Parameters
    ----------
    scores
        With the covariances of both sides.

    Raises
    ------
    CannotAnswerError
        If the errors of a side are unknown, there are fewer than 3 models, or a side is constant.

    References
    ----------
    Spearman 1904, American Journal of Psychology 15:72.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.array([1.0, 2.0, 3.0]),
    ...     live=np.array([1.0, 3.0, 2.0]),
    ...     lab_covariance=0.2 * np.eye(3),
    ...     live_covariance=0.2 * np.eye(3),
    ... )
    >>> r = true_correlation(s)
    >>> round(r.observed, 3), round(r.ceiling, 3), round(r.disattenuated, 3)
    (0.5, 0.8, 0.625)
    """
    if scores.lab_covariance is None or scores.live_covariance is None:
        raise CannotAnswerError("errors of both sides are needed to free their correlation of noise")
    lab = reliability(scores.lab, scores.lab_covariance)
    live = reliability(scores.live, scores.live_covariance)
    observed = float(pearson(scores.lab, scores.live))
    lift = shared_noise(scores.cross) / math.sqrt(lab.spread * live.spread)
    worst = min(lab.value, live.value)
    return TrueCorrelation(
        observed=observed,
        ceiling=math.sqrt(lab.value * live.value) + lift if worst > 0 else None,
        disattenuated=(observed - lift) / math.sqrt(lab.value * live.value) if worst >= TINY_RELIABILITY else None,
        lab=lab,
        live=live,
        reason=_why_not(lab.value, live.value),
    )


def _why_not(lab: float, live: float) -> str | None:
    weak = [f"{name} {value:.2f}" for name, value in (("lab", lab), ("live", live)) if value < TINY_RELIABILITY]
    if not weak:
        return None
    return (
        f"reliability of {' and '.join(weak)}, below {TINY_RELIABILITY}: the models differ hardly more than noise makes "
        "them differ, and a correlation of true scores would be a ratio to nearly nothing"
    )


NoiseSource: TypeAlias = Literal["items", "votes", "items and votes"]

_NEARLY_ONE = 1.0 - 1e-9


def without_noise(scores: LabLiveScores, source: NoiseSource) -> tuple[FloatArray, FloatArray]:
    """Return scores whose variances and covariance are the observed ones less the noise of one source.

    Parameters
    ----------
    scores
        With the covariance of the side or sides in question.
    source
        "items": the lab's noise is taken out and the live scores stay; "votes": the other way round; "items and votes".

    Returns
    -------
    tuple of numpy.ndarray
        Lab and live, each of shape (n_models,). Single values are no estimates of single true scores: only their spread and
        their covariance are right. Where noise exceeds spread the side is flat.

    References
    ----------
    Louis 1984, JASA 79:393; Ghosh 1992, JASA 87:533 (constrained empirical Bayes), here for two scores at once.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.array([1.0, 2.0, 3.0]), live=np.array([1.0, 3.0, 2.0]), lab_covariance=0.36 * np.eye(3)
    ... )
    >>> lab, live = without_noise(s, "items")
    >>> round(float(lab.var(ddof=1)), 6), live.tolist()
    (0.64, [1.0, 3.0, 2.0])
    """
    scale, matching = _matched(scores, source, None)
    centre = np.array([scores.lab.mean(), scores.live.mean()])
    turned = (np.column_stack([scores.lab, scores.live]) - centre) @ (matching * scale[:, None] / scale).T + centre
    # A side that is held stays exactly as it is, not as a product with one.
    return (
        scores.lab if source == "votes" else turned[:, 0],
        scores.live if source == "items" else turned[:, 1],
    )


def map_to_correlation(scores: LabLiveScores, rho: float) -> FloatArray:
    """Return the linear map from the scores to scores without noise that have a correlation of our choice.

    Parameters
    ----------
    scores
        With the covariances of both sides.
    rho
        From -1 to 1.

    Returns
    -------
    numpy.ndarray
        Shape (2, 2): (lab, live) about their means, times its transpose, have the spread that both sides have beyond noise.

    Examples
    --------
    >>> s = LabLiveScores(
    ...     lab=np.arange(5.0), live=np.arange(5.0) % 3, lab_covariance=0.1 * np.eye(5), live_covariance=0.1 * np.eye(5)
    ... )
    >>> turned = np.column_stack([s.lab, s.live]) @ map_to_correlation(s, 0.25).T
    >>> round(float(np.corrcoef(turned.T)[0, 1]), 9)
    0.25
    """
    scale, matching = _matched(scores, "items and votes", rho)
    return matching * scale[:, None] / scale


def own_variances(covariance: FloatArray) -> FloatArray:
    """Return each model's noise variance about what all models share; their mean is `centred_variance`.

    Examples
    --------
    >>> own_variances(np.diag([1.0, 2.0, 3.0]) + 5.0).tolist()
    [1.0, 2.0, 3.0]
    """
    n = covariance.shape[0]
    diagonal = np.diag(covariance)
    others = (covariance.sum(axis=1) - diagonal) / (n - 1)
    own = np.maximum(diagonal - 2.0 * others + others.mean(), 0.0)
    mean = float(own.mean())
    return own * (centred_variance(covariance) / mean) if mean > 0 else own


def symmetric_root(table: FloatArray) -> FloatArray:
    """Return the symmetric root of a covariance; rounding that makes a variance negative is put back to 0.

    Examples
    --------
    >>> symmetric_root(np.array([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    values, vectors = np.linalg.eigh((table + table.T) / 2.0)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def known(covariance: FloatArray | None, side: str) -> FloatArray:
    """Return the covariance of a side, or raise CannotAnswerError where it is not known.

    Examples
    --------
    >>> known(np.eye(1), "lab").tolist()
    [[1.0]]
    """
    if covariance is None:
        raise CannotAnswerError(f"the errors of the {side} scores are unknown; give their standard errors")
    return covariance


def _matched(scores: LabLiveScores, source: NoiseSource, rho: float | None) -> tuple[FloatArray, FloatArray]:
    """Spread of both sides, and the map of standardised scores that takes the noise out."""
    scale = np.array([scores.lab.std(ddof=1), scores.live.std(ddof=1)])
    if not (scale > 0).all():
        raise CannotAnswerError("all scores of a side are equal; noise cannot be told from spread")
    centre = np.array([scores.lab.mean(), scores.live.mean()])
    standard = (np.column_stack([scores.lab, scores.live]) - centre) / scale
    seen = standard.T @ standard / (scores.n_models - 1)
    true = _less_noise(seen, _noise_moments(scores, source) / np.outer(scale, scale))
    if rho is not None:
        true[0, 1] = true[1, 0] = rho * np.sqrt(true[0, 0] * true[1, 1])
    return scale, _matching(seen, true, source)


def _noise_moments(scores: LabLiveScores, source: NoiseSource) -> FloatArray:
    """Variances and covariance of the noise of one model on both sides, with the side that is held free of it."""
    lab = 0.0 if source == "votes" else centred_variance(known(scores.lab_covariance, "lab"))
    live = 0.0 if source == "items" else centred_variance(known(scores.live_covariance, "live"))
    both = shared_noise(scores.cross) if source == "items and votes" else 0.0
    return np.array([[lab, both], [both, live]])


def _less_noise(seen: FloatArray, noise: FloatArray) -> FloatArray:
    """Moments less noise, brought back to moments that can be: no negative variance, no correlation beyond one."""
    true = seen - noise
    lab, live = max(float(true[0, 0]), 0.0), max(float(true[1, 1]), 0.0)
    most = float(np.sqrt(lab * live))
    both = float(np.clip(true[0, 1], -most, most))
    return np.array([[lab, both], [both, live]])


def _matching(seen: FloatArray, true: FloatArray, source: NoiseSource) -> FloatArray:
    """Return the linear map that gives scores with moments `seen` the moments `true`.

    For one source the side that is held does not move: the other keeps its regression on it and shrinks about that. For
    both, the map is the one that moves the scores least.
    """
    r = float(np.clip(seen[0, 1], -_NEARLY_ONE, _NEARLY_ONE))
    seen = np.array([[1.0, r], [r, 1.0]])
    if source == "items and votes":
        root = symmetric_root(seen)
        back = np.linalg.inv(root)
        return back @ symmetric_root(root @ true @ root) @ back
    if source == "votes":
        slope, left = true[0, 1], max(float(true[1, 1] - true[0, 1] ** 2), 0.0)
        keep = np.sqrt(left / (1.0 - r * r))
        return np.array([[1.0, 0.0], [slope - keep * r, keep]])
    flipped = _matching(seen, true[::-1, ::-1], "votes")
    return flipped[::-1, ::-1]
