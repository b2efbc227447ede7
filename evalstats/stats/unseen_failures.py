"""Outright failures that a sample did not show: what share of them would undo a result, and what share it can exclude.

A t interval knows only the differences that were seen. Where a system falls to the worst score on one item in fifty, most
samples of fifty items hold no such fall, or one: the interval is too short exactly when nothing points to it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, as_values, check_bounds, check_level


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenFailures:
    """Further outright failures of one side: what would undo its lead, and what the items cannot exclude.

    Attributes
    ----------
    undoing
        Share of items, in [0, 1], on which the side would have to fail besides what was seen for its lead (and the
        allowance) to be gone; 0 or less where there is none.
    possible
        Share of further failures that these items cannot exclude at `conf_level`.
    failures
        Items on which the side failed outright and the other did not.
    seen
        Whether either side failed outright on any item.
    n
        Items.
    """

    undoing: float
    possible: float
    failures: int
    seen: bool
    n: int
    conf_level: float

    @property
    def within(self) -> bool:
        """Whether failures that cannot be excluded would undo the lead."""
        return self.undoing <= self.possible


def unseen_failures(
    side: ArrayLike, other: ArrayLike, *, allowance: float = 0.0, conf_level: float = 0.95
) -> UnseenFailures:
    """Compare the failures that would undo the lead of one side with those that its items cannot exclude.

    For graded scores with a worst value. For right-or-wrong answers the score interval knows of rare failures already.

    Parameters
    ----------
    side, other
        float64 arrays, shape (n_items,): how far either side's score lies from the worst one, 0 or more.
    allowance
        What the side may lose beyond its lead, such as a declared margin, in score units.

    Returns
    -------
    UnseenFailures

    Raises
    ------
    InputError
        Arrays that do not match, or a score beyond the worst one.

    Notes
    -----
    If the side failed on a further share s of the items, its mean m would become (1 - s) m, so s = (m - m_other +
    allowance)/m takes lead and allowance away. Of k failures in n items, Clopper and Pearson's one-sided upper end U
    is the largest rate not excluded (1 - (1 - conf_level)^(1/n) where k = 0, about 3/n at 95%), and U - k/n is what it
    adds to those seen. Failures are counted where the other side did not fail: an item on which both do is hard, no more.

    References
    ----------
    Clopper & Pearson 1934, Biometrika 26:404; Hanley & Lippman-Hand 1983, JAMA 249:1743 (the rule of three).

    Examples
    --------
    >>> r = unseen_failures([0.76, 0.74, 0.78] * 20, [0.75, 0.73, 0.76] * 20)
    >>> round(r.undoing, 4), round(r.possible, 4), r.within
    (0.0175, 0.0487, True)
    """
    mine, theirs = as_values(side, "side"), as_values(other, "other")
    if mine.shape != theirs.shape:
        raise InputError(f"side has {mine.size} items and other has {theirs.size}; give the same items")
    for values, what in ((mine, "side"), (theirs, "other")):
        check_bounds(values, 0.0, None, what)
    level = check_level(conf_level)
    mean, n = float(mine.mean()), mine.size
    failures = int(np.count_nonzero((mine <= 0.0) & (theirs > 0.0)))
    lead = mean - float(theirs.mean()) + allowance
    return UnseenFailures(
        undoing=lead / mean if mean > 0.0 else 0.0,
        possible=float(possible_failures(failures, n, conf_level=level)),
        failures=failures,
        seen=bool((mine <= 0.0).any() or (theirs <= 0.0).any()),
        n=n,
        conf_level=level,
    )


def possible_failures(failures: ArrayLike, n: ArrayLike, *, conf_level: float = 0.95) -> FloatArray:
    """Return the share of further failures that `failures` seen in `n` items cannot exclude.

    Examples
    --------
    >>> possible_failures([0, 1], 50).round(4).tolist()
    [0.0582, 0.0714]
    """
    k, items = np.asarray(failures, dtype=np.float64), np.asarray(n, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        upper = np.where(k < items, special.betaincinv(k + 1.0, np.maximum(items - k, 0.5), conf_level), 1.0)
        return np.asarray(np.where(items > 0, upper - k / items, np.nan), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFailures:
    """The same for pairs of models, of the better one of each pair; arrays of shape (n_pairs,)."""

    undoing: FloatArray
    possible: FloatArray
    seen: NDArray[np.bool_]

    @property
    def within(self) -> NDArray[np.bool_]:
        """Pairs whose difference would be undone by failures that cannot be excluded."""
        with np.errstate(invalid="ignore"):
            return (self.undoing > 0.0) & (self.undoing <= self.possible)


def pair_failures(heights: ArrayLike, first: ArrayLike, second: ArrayLike, *, conf_level: float = 0.95) -> PairFailures:
    """Return what unseen failures would do to the lead in every pair of models.

    Parameters
    ----------
    heights
        float64, shape (n_items, n_models): how far each score lies from the worst one; NaN where there is none. A pair
        is looked at on the items that both have.
    first, second
        Columns of the pairs, shape (n_pairs,).

    Examples
    --------
    >>> r = pair_failures([[0.76, 0.75]] * 60 + [[np.nan, 0.1]], [0], [1])
    >>> r.undoing.round(4).tolist(), r.possible.round(4).tolist(), r.seen.tolist(), r.within.tolist()
    ([0.0132], [0.0487], [False], [True])
    """
    height = np.asarray(heights, dtype=np.float64)
    i, j = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    held = (~np.isnan(height)).astype(np.float64)
    failed = held * (np.nan_to_num(height, nan=1.0) <= 0.0)
    total = np.where(held > 0.0, height, 0.0).T @ held
    alone, either = failed.T @ (held - failed), failed.T @ held
    items = (held.T @ held)[i, j]
    ahead = total[i, j] >= total[j, i]
    best, other = np.maximum(total[i, j], total[j, i]), np.minimum(total[i, j], total[j, i])
    failures = np.where(ahead, alone[i, j], alone[j, i])
    return PairFailures(
        undoing=np.where(best > 0.0, (best - other) / np.where(best > 0.0, best, 1.0), 0.0),
        possible=possible_failures(failures, items, conf_level=check_level(conf_level)),
        seen=(either[i, j] + either[j, i]) > 0.0,
    )
