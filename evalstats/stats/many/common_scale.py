"""Scores of models that answered different items, on one scale: what each would score on the items of all of them.

Raw means of unlike items cannot be put in order: whoever skipped the hard ones looks better. Items that the same models
answered form a block, blocks and models have an effect each, and a model's score is its mean over all items.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_values
from evalstats.stats.clusters import cluster_mean, multiway_mean
from evalstats.stats.estimate import IntervalEstimate, t_quantile
from evalstats.stats.many.pair_table import as_scores
from evalstats.stats.one_sample import mean_t, wilson_ends
from evalstats.stats.roots import solved

_ROUNDS, _CLOSE = 200, 1e-11
# A prior so weak that it only keeps effects finite where a block or a model is without a miss.
_RIDGE = 1e-9
_LARGEST_STEP = 2.0


@record
class CommonScale:
    """Scores on all items, and values of items, shape (n_items, n_models), whose plain means and covariances are theirs."""

    estimate: FloatArray
    values: FloatArray


def common_scale(scores: ArrayLike, *, bounds: tuple[float, float] | None = None) -> CommonScale:
    """Score every model on the items of all, from the items it has and how it compares with the others there.

    Parameters
    ----------
    scores
        float64, shape (n_items, n_models): item means over trials, NaN where a model has no score. Every item has a score
        of some model, and models are connected: each shares items with another, directly or through others.
    bounds
        Lowest and highest possible score. Between them effects add on the logit scale, so that no score leaves the bounds
        and a difference may shrink near them; without bounds they add in the score's own unit.

    Notes
    -----
    g(mean of model j in block b) = a_b + theta_j, by (quasi-)likelihood; a block holds the items that exactly the same
    models have. The score of model j is the mean over all items of g^-1(a_b + theta_j). A model with every item keeps its
    plain mean, and two models are ordered as on the items they share. Without bounds this is least squares with an effect
    of every item and model. Items are the sample: `values` hold each item's influence on the scores (delta method), so that
    items or clusters of them give the covariance.

    Examples
    --------
    >>> easy, hard = [[0.9, 0.8]] * 4, [[np.nan, 0.2]] * 4  # the second model has the hard items too
    >>> common_scale([*easy, *hard]).estimate.round(2).tolist()
    [0.6, 0.5]
    >>> common_scale([*easy, *hard], bounds=(0.0, 1.0)).estimate.round(2).tolist()
    [0.63, 0.5]
    """
    y = as_scores(scores)
    present = ~np.isnan(y)
    if present.all():
        return CommonScale(estimate=y.mean(axis=0), values=y)
    if not present.any(axis=1).all():
        raise InputError("some items have no score of any model; leave them out")
    low, span = (0.0, 1.0) if bounds is None else (bounds[0], bounds[1] - bounds[0])
    unit = np.where(present, (y - low) / span, 0.0)
    masks, block = np.unique(present, axis=0, return_inverse=True)
    held, block = masks.astype(np.float64), np.asarray(block, dtype=np.int64).reshape(-1)
    mean, slope = _fitted(unit, held, block, logit=bounds is not None)
    values = low + span * _linearised(unit, held, block, mean, slope)
    return CommonScale(estimate=values.mean(axis=0), values=values)


def _fitted(unit: FloatArray, held: FloatArray, block: IntArray, *, logit: bool) -> tuple[FloatArray, FloatArray]:
    """Return the fitted mean of every block and model, and how fast it moves with an effect; Newton's steps."""
    size = np.bincount(block).astype(np.float64)
    totals = np.zeros_like(held)
    np.add.at(totals, block, unit)
    centre = totals.sum() / (size @ held).sum()
    middle = float(centre)
    start = math.log(middle / (1.0 - middle)) if logit and 0.0 < middle < 1.0 else 0.0 if logit else middle
    blocks: FloatArray = np.full(len(size), start)
    models: FloatArray = np.zeros_like(held[0])
    for _ in range(_ROUNDS):
        mean, slope = _curve(blocks[:, np.newaxis] + models, logit=logit)
        off = held * (totals - size[:, np.newaxis] * mean)
        weight = held * slope * size[:, np.newaxis]
        of_block = weight.sum(axis=1) + _RIDGE
        slack_block: FloatArray = off.sum(axis=1) - _RIDGE * blocks
        slack: FloatArray = off.sum(axis=0) - _RIDGE * models
        step: FloatArray = solved(_information(weight, of_block), slack - weight.T @ (slack_block / of_block))
        step_block: FloatArray = (slack_block - weight @ step) / of_block
        furthest = max(float(np.abs(step).max()), float(np.abs(step_block).max()))
        share = min(1.0, _LARGEST_STEP / furthest) if logit and furthest else 1.0
        blocks, models = blocks + share * step_block, models + share * step
        if furthest <= _CLOSE * max(1.0, float(np.abs(blocks).max())):
            break
    return _curve(blocks[:, np.newaxis] + models, logit=logit)


def _curve(effect: FloatArray, *, logit: bool) -> tuple[FloatArray, FloatArray]:
    """Return means of effects, and their slope."""
    if not logit:
        return effect, np.ones_like(effect)
    share = 1.0 / (1.0 + np.exp(-effect))
    return share, share * (1.0 - share)


def _information(weight: FloatArray, of_block: FloatArray) -> FloatArray:
    """Return the information on model effects; their mean, which blocks take up, is held at 0."""
    n_models = weight.shape[1]
    across = weight.T @ (weight / of_block[:, np.newaxis])
    return np.diag(weight.sum(axis=0) + _RIDGE) - across + np.full((n_models, n_models), 1.0 / n_models)


def _linearised(unit: FloatArray, held: FloatArray, block: IntArray, mean: FloatArray, slope: FloatArray) -> FloatArray:
    """Return the scores plus the influence of every item on them, times the number of items."""
    size = np.bincount(block).astype(np.float64)
    weight = held * slope
    of_block = weight.sum(axis=1) + _RIDGE / size
    residual = np.where(held[block] > 0.0, unit - mean[block], 0.0)
    in_block = residual.sum(axis=1) / of_block[block]
    own = residual - weight[block] * in_block[:, np.newaxis]
    moved: FloatArray = solved(_information(weight * size[:, np.newaxis], of_block * size), own.T).T
    # How far each score moves with each model's effect, its own directly and all of them through the blocks.
    pull = np.diag(size @ slope) - (slope * size[:, np.newaxis]).T @ (weight / of_block[:, np.newaxis])
    return mean[block] + slope[block] * in_block[:, np.newaxis] + moved @ pull.T


def score_interval(
    values: ArrayLike,
    *,
    n_own: int,
    bounds: tuple[float, float] | None = None,
    clusters: Sequence[ArrayLike] = (),
    conf_level: float = 0.95,
) -> IntervalEstimate:
    """Interval of one model's score from its column of `CommonScale.values`, for new items like these.

    Between `bounds` it is Wilson's at the number of items that the variance is worth, at most the `n_own` answers that the
    model gave; without bounds a t interval. The variance is that of items, or CR2 of clusters of them.

    Examples
    --------
    >>> y = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]] * 10)
    >>> y[:12, 1] = np.nan
    >>> found = score_interval(common_scale(y, bounds=(0.0, 1.0)).values[:, 1], n_own=28, bounds=(0.0, 1.0))
    >>> round(found.estimate, 3), round(found.conf_low, 3), round(found.conf_high, 3)
    (0.5, 0.298, 0.702)
    """
    z = as_values(values, "values")
    if len(clusters) > 1:
        found = multiway_mean(z, clusters, conf_level=conf_level).estimate
    elif clusters:
        found = cluster_mean(z, clusters[0], conf_level=conf_level).estimate
    else:
        found = mean_t(z, conf_level=conf_level)
    found = replace(found, p_value=None, statistic=None, method="score on all items, t")
    if bounds is None or found.std_error is None or found.df is None or found.conf_low is None:
        return found
    low, span = bounds[0], bounds[1] - bounds[0]
    share = min(1.0, max(0.0, (found.estimate - low) / span))
    worth = min(share * (1.0 - share) / (found.std_error / span) ** 2, float(n_own)) or float(n_own)
    ends = wilson_ends(share, worth, t_quantile(conf_level, found.df))
    return replace(
        found, conf_low=low + span * ends[0], conf_high=low + span * ends[1], method="score on all items, Wilson"
    )
