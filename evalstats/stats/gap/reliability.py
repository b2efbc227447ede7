"""How much of the spread between models is real on each side, and what their correlation would be without noise."""

import math
from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray, is_constant
from evalstats.stats.gap.correlations import pearson
from evalstats.stats.gap.scores import LabLiveScores, centred_variance

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
