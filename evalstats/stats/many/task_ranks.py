"""Which rank each model will have on a task not yet seen, from its ranks on many tasks: conformal prediction.

References: Vovk, Gammerman & Shafer 2005, doi:10.1007/b106715 (conformal prediction); Neuhof & Benjamini 2026,
arXiv:2606.08679 (rank intervals of leaderboards with many tasks).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.agreement.correlation import mean_ranks
from evalstats.stats.checks import FloatArray, IntArray, check_level

_ROUNDING = 1e-9
_DIGITS = 12  # scores that differ by less are tied


@record
class TaskRanks:
    """Intervals for ranks on a new task; arrays of shape (n_models,), rank 1 is the best.

    Attributes
    ----------
    low, high
        Ends of each model's interval; each holds by itself.
    median
        Median of its ranks on the tasks at hand; models with equal scores on a task share the mean of their places.
    inside
        Share of the tasks whose rank lies in the interval that the other tasks give; None where these are too few.
    together
        Share of the tasks on which the ranks of all models do at once; None as well.
    """

    low: IntArray
    high: IntArray
    median: FloatArray
    inside: FloatArray | None
    together: float | None


def tasks_needed(conf_level: float) -> int:
    """Return the fewest tasks from which an interval can leave out any rank: the least n with 1/(n + 1) <= 1 - conf_level.

    >>> tasks_needed(0.95), tasks_needed(0.9)
    (19, 9)
    """
    return math.ceil(1.0 / (1.0 - check_level(conf_level)) - _ROUNDING) - 1


def new_task_ranks(scores: ArrayLike, *, conf_level: float = 0.95) -> TaskRanks:
    """Return, for each model, an interval that holds its rank by score on a new task with probability `conf_level`.

    Parameters
    ----------
    scores
        float64, shape (n_tasks, n_models): each model's score on each task, a higher one better.

    Raises
    ------
    InputError
        If a score is missing, or there are fewer than two models.
    CannotAnswerError
        If there are fewer tasks than `tasks_needed`.

    Notes
    -----
    The tasks at hand and the new one must be exchangeable: as likely in any order, as if all were drawn at random from one
    pool. Then a model's ranks are exchangeable too, whatever their law, and however models depend on each other. A rank r
    belongs to the interval if, among the n ranks seen and r, more than a share of 1 - `conf_level` lie at least as far from
    the median of all n + 1 as r does (full conformal prediction). The probability is over tasks, those at hand included, and
    of one model at a time. The rank is the one by measured scores, so that noise of a new task as large as these is part of
    it.

    `inside` is `conf_level` or more by arithmetic alone, so it says how cautious whole ranks make the interval and never
    whether tasks are exchangeable; `together` is bound by nothing.

    Simulated at 95%, 10 models, 20, 40 and 100 tasks (2,000 tables each, `new-tasks` of `make validate`): exchangeable tasks
    are covered .97, also with scores so coarse that most tie; tasks of five families .98. One of a sixth family: .91 to .92,
    while `inside` says .98. Tasks that drift in time: .97.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = new_task_ranks(rng.normal([2.0, 1.0, 0.9, 0.0], 0.5, (30, 4)))
    >>> found.low.tolist(), found.high.tolist(), found.median.tolist()
    ([1, 1, 1, 3], [3, 4, 4, 4], [1.0, 2.0, 2.5, 4.0])
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 2:
        raise InputError(
            f"scores have shape {values.shape}; give a row for each task and a column for each of two models"
        )
    if not np.isfinite(values).all():
        raise InputError("some scores are missing; leave out tasks that some model has not run")
    alpha, n = 1.0 - check_level(conf_level), len(values)
    if n < (needed := tasks_needed(conf_level)):
        raise CannotAnswerError(
            f"{n} tasks are too few to say which rank a model has on another at {100 * conf_level:g}%; at least {needed} are "
            "needed"
        )
    ranks = mean_ranks(-np.round(values, _DIGITS))
    low, high = conformal_ends(ranks, alpha)
    inside = together = None
    if n > needed:
        held = np.zeros(ranks.shape, dtype=np.bool_)
        # What the other tasks give depends on the rank that is left out, not on its task.
        for rank in np.unique(ranks):
            at, others = ranks == rank, ranks.copy()
            others[at.argmax(axis=0), np.arange(ranks.shape[1])] = others[0]
            below, above = conformal_ends(others[1:], alpha)
            held |= at & (below <= rank) & (rank <= above)
        inside, together = held.mean(axis=0, dtype=np.float64), float(held.all(axis=1).mean())
    median = np.asarray(np.median(ranks, axis=0), dtype=np.float64)
    return TaskRanks(low=low, high=high, median=median, inside=inside, together=together)


def conformal_ends(ranks: FloatArray, alpha: float) -> tuple[IntArray, IntArray]:
    """Return the conformal ends of each model from its ranks, from 1 to n_models; shape (n_tasks, n_models).

    Beyond the median, a rank moves it no further: so the ranks that belong are those as near to it as the k-th farthest.
    """
    n, n_models = ranks.shape
    far = math.floor(alpha * (n + 1) + _ROUNDING)

    def reach(values: FloatArray) -> FloatArray:
        beyond = np.full((1, n_models), n_models + 1.0)
        middle = np.median(np.vstack([values, beyond]), axis=0)
        return np.asarray(middle + np.sort(np.abs(values - middle), axis=0)[-far], dtype=np.float64)

    high, low = reach(ranks), -reach(-ranks)
    return (
        np.maximum(np.floor(low + _ROUNDING), 1).astype(np.int64),
        np.minimum(np.ceil(high - _ROUNDING), n_models).astype(np.int64),
    )
