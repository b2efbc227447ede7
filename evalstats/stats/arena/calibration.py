"""Do predicted shares of votes come true? Bins of predictions beside what was observed."""

from dataclasses import dataclass

import numpy as np

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.goodness import AgainstDrawn, against_drawn
from evalstats.stats.arena.simulated import CheckCells, Simulated, VoteTables
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import t_quantile
from evalstats.stats.one_sample import wilson_ends

N_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareBin:
    """Held-out votes whose predicted share of side a lies between `low` and `high`, and their mean shares."""

    low: float
    high: float
    n_votes: int
    predicted: float
    observed: float
    conf_low: float | None
    conf_high: float | None


def share_bins(
    predicted: FloatArray, share: FloatArray, count: FloatArray, codes: IntArray | None, *, conf_level: float = 0.95
) -> tuple[ShareBin, ...]:
    """Sort votes into bins by predicted share, as equal as whole predictions allow, and compare with observed shares.

    Parameters
    ----------
    predicted, share, count
        Shape (n_rows,): predicted and observed share of side a, and votes.
    codes
        Clusters, shape (n_rows,), or None.

    Notes
    -----
    The interval is Wilson's at the number of votes that the variance between clusters (or votes) is worth, with a t
    quantile; none with fewer than 2 clusters' worth.
    """
    if predicted.size == 0:
        raise InputError("there are no predictions to sort into bins")
    order = np.argsort(predicted, kind="stable")
    value, passed = predicted[order], np.cumsum(count[order])
    label = np.minimum((passed - count[order] / 2.0) / passed[-1] * N_BINS, N_BINS - 1).astype(np.int64)
    # Equal predictions stay together.
    start = np.flatnonzero(np.concatenate([[True], np.diff(value) > 1e-12]))
    label = np.repeat(label[start], np.diff(np.append(start, value.size)))
    bins: list[ShareBin] = []
    for each in np.unique(label):
        at = order[label == each]
        observed, error, df = clustered_mean(share[at], count[at], None if codes is None else codes[at])
        n = float(count[at].sum())
        low, high = None, None
        if df >= 1.0:
            worth = min(n, observed * (1.0 - observed) / error**2) if error > 0.0 else min(n, df + 1.0)
            low, high = wilson_ends(observed, max(worth, 1e-9), t_quantile(conf_level, df))
        bins.append(
            ShareBin(
                low=float(predicted[at].min()),
                high=float(predicted[at].max()),
                n_votes=int(n),
                predicted=float(count[at] @ predicted[at]) / n,
                observed=observed,
                conf_low=low,
                conf_high=high,
            )
        )
    return tuple(bins)


@one_thread
def calibration_error(votes: Simulated) -> AgainstDrawn:
    """Return how far shares of pairs are from predicted ones, pairs sorted by how far apart their ratings are.

    Parameters
    ----------
    votes
        Observed and drawn votes (`evalstats.stats.arena.simulated.simulated`).

    Raises
    ------
    CannotAnswerError
        If ratings can follow every pair.

    Notes
    -----
    In each of up to 10 bins of about equally many votes the share that the stronger models won is compared with that which
    their ratings predict; the statistic is the root of the mean squared difference over votes. Strengths are fitted again to
    every drawn table, which makes up for the boldness of ratings of few votes, and draws have the tastes of raters.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.simulated import simulated
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> cycle = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 1, 0], count=[16, 4, 17, 3, 14, 6])
    >>> calibration_error(simulated(fit_strengths(cycle), cycle)).p_value < 0.02
    True
    """
    if votes.cells.n_pairs < votes.cells.n_models:
        raise CannotAnswerError(f"{votes.cells.n_models} models met in so few pairs that ratings can follow every one")
    drawn = _calibration_errors(votes.cells, votes.drawn)
    return against_drawn(float(_calibration_errors(votes.cells, votes.observed)[0]), drawn)


def _calibration_errors(cells: CheckCells, table: VoteTables) -> FloatArray:
    count = cells.by_pair(cells.count)
    expected = cells.by_pair(cells.count * table.shares(cells)) / count
    stronger = np.where(expected >= 0.5, 1.0, -1.0)
    rest = stronger * cells.by_pair(table.won + table.tied / 2.0 - cells.count * table.shares(cells))
    out = np.empty(rest.shape[0])
    for row, (apart, left) in enumerate(zip(np.abs(expected - 0.5), rest, strict=True)):
        order = np.argsort(apart, kind="stable")
        passed = np.cumsum(count[order])
        label = np.minimum((passed - count[order] / 2.0) / passed[-1] * N_BINS, N_BINS - 1).astype(np.int64)
        size, off = np.bincount(label, weights=count[order]), np.bincount(label, weights=left[order])
        out[row] = np.sqrt((off**2 / np.maximum(size, 1e-300)).sum() / passed[-1])
    return out


def clustered_mean(values: FloatArray, count: FloatArray, codes: IntArray | None) -> tuple[float, float, float]:
    """Return the mean of votes' values, its standard error by clusters, and degrees of freedom G* - 1.

    V = sum of R_g^2 / (1 - f_g) / n^2 with R_g the sum of residuals of a cluster and f_g its share of votes.

    Examples
    --------
    >>> mean, error, df = clustered_mean(np.array([1.0, 0.0]), np.array([5.0, 5.0]), None)
    >>> mean, round(error, 4), df
    (0.5, 0.1667, 9.0)
    """
    n = float(count.sum())
    mean = float(count @ values) / n
    rest = values - mean
    if codes is None:
        squares, df = float(count @ rest**2) / max(1.0 - 1.0 / n, 1e-12), n - 1.0
    else:
        _, place = np.unique(codes, return_inverse=True)
        size = np.bincount(place, weights=count)
        sums = np.bincount(place, weights=count * rest)
        squares = float((sums**2 / np.maximum(1.0 - size / n, 1e-12)).sum()) if size.size > 1 else 0.0
        df = n**2 / float(size @ size) - 1.0
    return mean, float(np.sqrt(squares)) / n, df
