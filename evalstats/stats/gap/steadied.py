"""Covariances estimated from few clusters, drawn towards a simple form before they are inverted."""

from dataclasses import replace

import numpy as np

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray
from evalstats.stats.gap.other_lines import own_variances
from evalstats.stats.gap.scores import LabLiveScores


def steadied(scores: LabLiveScores, n_clusters: float) -> LabLiveScores:
    """Return the scores with covariances that keep York's test near its level where clusters are few for the models.

    A covariance of n models from G clusters is inverted to weigh residuals, and the inverse of a noisy covariance is too large:
    with 15 models and 40 clusters a test of tau = 0 at 5% rejects 17% of the time. So each covariance is mixed with one of
    independent errors about a common part, which takes n numbers instead of n (n + 1) / 2; its share is 2 n / (G - 1), at most
    1. Variances of models about the mean of all are kept.

    Parameters
    ----------
    n_clusters
        Clusters behind the side that has fewer.

    Raises
    ------
    InputError
        With fewer than 2 clusters.

    Examples
    --------
    >>> table = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> zeros = np.zeros(3)
    >>> scores = LabLiveScores(lab=zeros, live=zeros, lab_covariance=table, live_covariance=table)
    >>> steadied(scores, 5).lab_covariance.round(2).tolist()[0][1:]
    [0.67, 0.67]
    """
    if n_clusters < 2:
        raise InputError(f"{n_clusters} clusters tell no covariance; at least 2 are needed")
    share = min(1.0, 2.0 * scores.n_models / (n_clusters - 1.0))
    v_x, v_z = scores.lab_covariance, scores.live_covariance
    if v_x is None or v_z is None or scores.n_models < 3:
        return scores
    cross = (
        None if scores.cross is None else (1.0 - share) * scores.cross + share * _simple_cross(scores.cross, v_x, v_z)
    )
    return replace(
        scores,
        lab_covariance=(1.0 - share) * v_x + share * _simple(v_x),
        live_covariance=(1.0 - share) * v_z + share * _simple(v_z),
        cross=cross,
    )


def _simple(table: FloatArray) -> FloatArray:
    """Each model's own variance, and one number that all share."""
    n, own = table.shape[0], own_variances(table)
    return np.diag(own) + float(table.mean() - own.mean() / n)


def _simple_cross(cross: FloatArray, v_x: FloatArray, v_z: FloatArray) -> FloatArray:
    """Return the same covariance of both sides' errors for each model, no larger than variances allow, and what all share."""
    n = cross.shape[0]
    own = (float(np.trace(cross)) - float(cross.sum()) / n) / (n - 1.0)
    most = np.sqrt(own_variances(v_x) * own_variances(v_z))
    return np.diag(np.clip(own, -most, most)) + float(cross.mean() - own / n)
