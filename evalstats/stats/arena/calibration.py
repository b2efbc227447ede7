"""Do predicted shares of votes come true? Bins of predictions beside what was observed."""

from dataclasses import dataclass

import numpy as np

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.one_score import wilson_ends
from evalstats.stats.tails import t_quantile

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
