"""Was a test set seen in its published order? The likelihood of that order against shuffled ones."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import positive_p

_MIN_SHARDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTest:
    """How often a shuffled order is as likely as the published one.

    Attributes
    ----------
    p_value
        (b + 1) / (n + 1), b the shuffles of the whole set at least as likely as its published order. It cannot be less than
        `smallest_p`.
    n_shuffles, n_shards
        Shuffles of each shard, and shards.
    shard_mean, shard_std_error, shard_statistic, shard_df, shard_p_value
        Published order less the mean of shuffles, over shards, in log-likelihood; Student's t, one-sided for more. None
        with fewer than five shards, and `reason` says so.
    """

    p_value: float
    smallest_p: float
    n_shuffles: int
    n_shards: int
    shard_mean: float
    shard_std_error: float | None = None
    shard_statistic: float | None = None
    shard_df: float | None = None
    shard_p_value: float | None = None
    reason: str | None = None


def canonical_order_test(canonical: ArrayLike, shuffled: ArrayLike) -> OrderTest:
    """Test whether a model finds a data set likelier in its published order than shuffled.

    A model that never saw the set has no reason to prefer any order, so the test holds exactly, provided the items are
    exchangeable: an order that means something (by date, by difficulty, by topic) makes a clean model prefer it too.

    Parameters
    ----------
    canonical
        Log-likelihood of the published order: a number, or float64 of shape (n_shards,), one for each shard.
    shuffled
        Log-likelihoods of random orders: shape (n_shuffles,), or (n_shards, n_shuffles). Shuffle k of all shards together
        is one shuffle of the whole set, within shards.

    Raises
    ------
    InputError
        If shapes do not fit, a value is not finite, or there is no shuffle.

    Notes
    -----
    The whole set: p = (b + 1) / (n + 1). Shards: the published order less the mean of the shuffles of a shard has mean 0 for
    a clean model, and a t test over shards gives small p from few shuffles. That one rests on means of shards being near
    normal, not on counting.

    References
    ----------
    Oren, Meister, Chatterji, Ladhak & Hashimoto 2023, Proving test set contamination in black box language models,
    arXiv:2310.17623; Phipson & Smyth 2010, doi:10.2202/1544-6115.1585 (why 1 is added).

    Examples
    --------
    >>> found = canonical_order_test(-90.0, [-100.0, -95.0, -89.0, -99.0])
    >>> found.p_value, found.shard_p_value
    (0.4, None)
    """
    one = np.atleast_1d(np.asarray(canonical, dtype=np.float64))
    many = np.asarray(shuffled, dtype=np.float64)
    many = many[np.newaxis] if many.ndim == 1 and one.size == 1 else many
    if one.ndim != 1 or many.ndim != 2 or len(many) != one.size or not many.shape[1]:
        raise InputError(
            f"canonical has shape {np.shape(canonical)} and shuffled {np.shape(shuffled)}; give one log-likelihood for each "
            "shard, and (n_shards, n_shuffles) of them, at least one shuffle"
        )
    if not (np.isfinite(one).all() and np.isfinite(many).all()):
        raise InputError("some log-likelihoods are NaN or infinite; a sequence of probability 0 cannot be compared")
    total, others = float(one.sum()), many.sum(axis=0)
    # Sums of the same numbers in another order may differ by rounding; they count as equal.
    slack = 1e-12 * max(1.0, abs(total))
    n = others.size
    found = OrderTest(
        p_value=(int((others >= total - slack).sum()) + 1) / (n + 1),
        smallest_p=1 / (n + 1),
        n_shuffles=n,
        n_shards=one.size,
        shard_mean=float((one - many.mean(axis=1)).mean()),
    )
    return _with_shards(found, one - many.mean(axis=1))


def _with_shards(found: OrderTest, ahead: FloatArray) -> OrderTest:
    """Add the one-sided t test over shards, or why there is none."""
    count = ahead.size
    if count < _MIN_SHARDS:
        one = "1 shard is" if count == 1 else f"{count} shards are"
        return replace(found, reason=f"{one} too few for a t test over shards; at least {_MIN_SHARDS} are needed")
    error = float(ahead.std(ddof=1)) / math.sqrt(count)
    if error <= 1e-12 * float(np.abs(ahead).max()):
        return replace(found, reason=f"all {count} shards differ by the same amount, so their spread is unknown")
    t = found.shard_mean / error
    return replace(
        found,
        shard_std_error=error,
        shard_statistic=t,
        shard_df=float(count - 1),
        shard_p_value=positive_p(float(special.stdtr(count - 1, -t))),
    )
