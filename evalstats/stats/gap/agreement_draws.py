"""Draws of scores as other items, other votes or other models would have given them.

Adding noise to scores that hold noise already would count it twice: every draw would be noisier than the data, and their
correlation lower. So the scores are first shrunk until their spread and their covariance are those of the true scores (as
far as the known noise tells), and the noise is added to those. The draws then scatter about the observed coefficient.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.gap.reliability import shared_noise
from evalstats.stats.gap.scores import LabLiveScores, centred_variance

NoiseSource: TypeAlias = Literal["items", "votes", "items and votes"]

_NEARLY_ONE = 1.0 - 1e-9
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
        errors = normal @ _root(joint / np.outer(unit, unit)) * unit
        lab_error, live_error = errors[:, :n], errors[:, n:]
    else:
        lab_error = None if source == "votes" else normal[:, :n] @ _root(_known(scores.lab_covariance, "lab"))
        live_error = None if source == "items" else normal[:, n:] @ _root(_known(scores.live_covariance, "live"))
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
    lab_sd = np.sqrt(own_variances(_known(scores.lab_covariance, "lab")))
    live_sd = np.sqrt(own_variances(_known(scores.live_covariance, "live")))
    product = float(np.sqrt((lab_sd**2).mean() * (live_sd**2).mean()))
    together = float(np.clip(shared_noise(scores.cross) / product if product > 0 else 0.0, -1.0, 1.0))
    first, second = rng.standard_normal(places.shape), rng.standard_normal(places.shape)
    return ScoreDraws(
        lab=lab_sd[places] * first,
        live=live_sd[places] * (together * first + np.sqrt(1.0 - together**2) * second),
    )


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


def _noise_moments(scores: LabLiveScores, source: NoiseSource) -> FloatArray:
    """Variances and covariance of the noise of one model on both sides, with the side that is held free of it."""
    lab = 0.0 if source == "votes" else centred_variance(_known(scores.lab_covariance, "lab"))
    live = 0.0 if source == "items" else centred_variance(_known(scores.live_covariance, "live"))
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
        root = _root(seen)
        back = np.linalg.inv(root)
        return back @ _root(root @ true @ root) @ back
    if source == "votes":
        slope, left = true[0, 1], max(float(true[1, 1] - true[0, 1] ** 2), 0.0)
        keep = np.sqrt(left / (1.0 - r * r))
        return np.array([[1.0, 0.0], [slope - keep * r, keep]])
    flipped = _matching(seen, true[::-1, ::-1], "votes")
    return flipped[::-1, ::-1]


def _root(table: FloatArray) -> FloatArray:
    """Symmetric root; rounding that makes a variance negative is put back to 0."""
    values, vectors = np.linalg.eigh((table + table.T) / 2.0)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _joint(scores: LabLiveScores) -> FloatArray:
    lab, live = _known(scores.lab_covariance, "lab"), _known(scores.live_covariance, "live")
    cross = np.zeros_like(lab) if scores.cross is None else scores.cross
    return np.block([[lab, cross], [cross.T, live]])


def _known(covariance: FloatArray | None, side: str) -> FloatArray:
    if covariance is None:
        raise CannotAnswerError(f"the errors of the {side} scores are unknown; give their standard errors")
    return covariance


def _heavier(errors: FloatArray, df: float | None, rng: np.random.Generator) -> FloatArray:
    return errors if df is None else errors * np.sqrt(df / rng.chisquare(df, (len(errors), 1)))
