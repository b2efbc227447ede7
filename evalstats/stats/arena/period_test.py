"""Are strengths the same in all periods? A test that sees any change.

References
----------
.. [1] P. Kline, A. Santos, "A score based approach to wild bootstrap inference", J. Econometric Methods 1 (2012) 23-41.
"""

from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.covariance import FEWEST_CLUSTERS
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.slice_scores import (
    Clustering,
    SlicedScores,
    clustering,
    heterogeneity,
    heterogeneity_draws,
    rank_between,
    sliced_scores,
)
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import IntArray, check_count
from evalstats.stats.computation import one_thread


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodTest:
    """Whether strengths are the same in all periods.

    Attributes
    ----------
    statistic
        Score statistic: sum over periods of u' I^- u.
    df
        Degrees of freedom it would have under the chi-squared law, which holds only for independent votes; `p_value` is from
        random signs of clusters.
    """

    statistic: float
    df: int
    p_value: float
    n_resamples: int
    n_clusters: int


@one_thread
def period_test(fit: PairFit, rows: VoteRows, period: IntArray, *, n_resamples: int = 999, seed: int = 0) -> PeriodTest:
    """Test that strengths are the same in all periods, whatever the change.

    Parameters
    ----------
    fit
        Strengths fitted to all rows together.
    rows
        Votes with their clusters; rows of different periods must not be merged.
    period
        Shape (n_rows,): 0..n_periods-1.

    Raises
    ------
    CannotAnswerError
        If no two models met in more than one period, or clusters are fewer than 6.

    Notes
    -----
    A score test: nothing is fitted by period, so that periods with few votes do no harm. With u the scores of a period's
    votes at the common fit, the common part taken off, and I their information, Q = sum u' I^- u. Its law comes from the
    same sums with a random sign for every cluster (see `heterogeneity_draws` for several ways). Coefficients of covariates
    stay as fitted.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> first, second = np.repeat([0, 1, 0], 400), np.repeat([1, 2, 2], 400)
    >>> when = np.tile([0, 1], 600)
    >>> won = np.where(when == 0, np.arange(1200) % 3 == 0, np.arange(1200) % 3 > 0)
    >>> rows = vote_rows(first, second, np.where(won, 0, 1), clusters=(when,))
    >>> from dataclasses import replace
    >>> period_test(fit_strengths(rows), replace(rows, clusters=()), rows.clusters[0]).p_value
    0.001
    """
    n_resamples = check_count(n_resamples, "n_resamples", least=99)
    scores = period_scores(fit, rows, period)
    used = clustering(rows)
    enough_clusters(used)
    df = rank_between(scores)
    if df <= 0:
        raise CannotAnswerError("no models met in more than one period, so no change can be seen")
    statistic = float(heterogeneity(scores, scores.gradient()))
    drawn = heterogeneity_draws(scores, used, n_resamples, np.random.default_rng(seed))
    p = (1 + int(np.count_nonzero(drawn >= statistic))) / (1 + n_resamples)
    return PeriodTest(
        statistic=statistic, df=df, p_value=p, n_resamples=n_resamples, n_clusters=used.fewest if used.ways else 0
    )


def period_scores(fit: PairFit, rows: VoteRows, period: IntArray) -> SlicedScores:
    """Return scores by period, or raise where periods are not what they must be."""
    n_periods = int(period.max(initial=-1)) + 1
    if period.shape != (rows.n_rows,) or (period.size and period.min() < 0):
        raise InputError(
            f"periods have shape {period.shape}, but there are {rows.n_rows} rows; give one of 0, 1, ... each"
        )
    if n_periods < 2:
        raise CannotAnswerError("all votes are of one period, so no change can be seen")
    return sliced_scores(fit, rows, period, n_periods)


def enough_clusters(used: Clustering) -> None:
    """Raise CannotAnswerError where clusters are too few to tell change from chance."""
    if used.fewest < FEWEST_CLUSTERS:
        raise CannotAnswerError(
            f"votes come from {used.fewest} clusters; at least {FEWEST_CLUSTERS} are needed to tell change from chance"
        )
