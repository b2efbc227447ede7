"""Draws of scores as other items, other votes or other models would have given them.

Adding noise to scores that hold noise already would count it twice: every draw would be noisier than the data, and their
correlation lower. So the scores are first shrunk until their spread and their covariance are those of the true scores (as
far as the known noise tells), and the noise is added to those. The draws then scatter about the observed coefficient.
"""

from dataclasses import dataclass

import numpy as np

from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.gap.noise_free import NoiseSource, known, own_variances, symmetric_root, without_noise
from evalstats.stats.gap.reliability import shared_noise
from evalstats.stats.gap.scores import LabLiveScores

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
