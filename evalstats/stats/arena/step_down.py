"""Step-down p-values of many one-sided contrasts, from few passes over the draws."""

from dataclasses import dataclass, field

import numpy as np

from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.many.max_t import TIE, upper_quantile
from evalstats.stats.tails import SMALLEST_P


@dataclass(slots=True)
class StepDown:
    """The same p-values as `evalstats.stats.many.max_t.OneSided`, faster where pairs are many.

    The family holds both directions of every pair. With |t| sorted downwards, p of the k-th is the share of draws in which
    the largest of the mirrored statistics of all pairs, or of the statistics of the k-th and later ones, reaches it. A draw
    whose largest mirrored statistic is D counts for all pairs with |t| <= D at once. For the others only the few statistics
    above D matter: one of the l-th pair that reaches the k-th bound counts for k to l.

    Examples
    --------
    >>> found = StepDown(np.array([2.0, -1.0]), np.arange(2))
    >>> found.add(np.array([[2.0, -1.0], [0.5, 1.5], [-0.1, 0.2]]), np.ones(3))
    >>> found.p_adjusted().round(3).tolist()
    [0.333, 0.667]
    """

    observed: FloatArray
    members: IntArray
    order: IntArray = field(init=False)
    rank: IntArray = field(init=False)
    orient: FloatArray = field(init=False)
    bound: FloatArray = field(init=False)
    steps: FloatArray = field(init=False)
    total: float = 0.0
    largest: list[FloatArray] = field(default_factory=list[FloatArray])
    weights: list[FloatArray] = field(default_factory=list[FloatArray])

    def __post_init__(self) -> None:
        t = self.observed[self.members]
        self.order = np.argsort(-np.abs(t), kind="stable")
        self.rank = np.empty_like(self.order)
        self.rank[self.order] = np.arange(t.size)
        self.orient = np.copysign(1.0, t)
        self.bound = np.abs(t)[self.order] * (1.0 - TIE)
        self.steps = np.zeros(t.size + 1)

    def add(self, t: FloatArray, weight: FloatArray) -> None:
        """Count one chunk of draws, shape (n_draws, all pairs), and their mirror images."""
        whole = self.members.size == t.shape[1]
        ahead = (t if whole else t[:, self.members]) * self.orient
        low, high = ahead.min(axis=1), ahead.max(axis=1)
        self._count(ahead, -low, weight, high > -low)
        np.negative(ahead, out=ahead)
        self._count(ahead, high, weight, -low > high)
        self.total += 2.0 * float(weight.sum())
        self.largest.append(np.maximum(-low, high))
        self.weights.append(weight)

    def p_adjusted(self) -> FloatArray:
        """Step-down p-values in the order of `members`."""
        shares = np.cumsum(self.steps[:-1]) / self.total
        adjusted = np.empty_like(shares)
        adjusted[self.order] = np.clip(np.maximum.accumulate(shares), SMALLEST_P, 1.0)
        return adjusted

    def critical(self, conf_level: float) -> float:
        """Return the least q that the largest |t| exceeds in at most 1 - conf_level of the draws."""
        return upper_quantile(np.concatenate(self.largest), np.concatenate(self.weights), conf_level)[0]

    def _count(self, ahead: FloatArray, mirrored: FloatArray, weight: FloatArray, beyond: np.ndarray) -> None:
        """Add each draw's weight to the ranks k that it counts for: a run to the end, and runs before it."""
        size = self.bound.size
        ends = np.searchsorted(-self.bound, -mirrored)
        self.steps += np.bincount(ends, weights=weight, minlength=size + 1)
        some = np.flatnonzero(beyond)
        row, column = np.nonzero(ahead[some] > mirrored[some, np.newaxis])
        draw, last = some[row], self.rank[column]
        first = np.searchsorted(-self.bound, -ahead[draw, column])
        last = np.minimum(last, ends[draw] - 1)
        kept = first <= last
        if not kept.any():
            return
        # Runs of one draw may overlap: in order of their starts, each adds what lies beyond all before it.
        place = draw[kept] * (size + 1)
        start, stop = place + first[kept], place + last[kept]
        sorted_by = np.argsort(start, kind="stable")
        start, stop, each = start[sorted_by], stop[sorted_by], draw[kept][sorted_by]
        before = np.concatenate([[-1], np.maximum.accumulate(stop)[:-1]])
        start = np.maximum(start, before + 1)
        new = start <= stop
        self.steps += np.bincount(start[new] % (size + 1), weights=weight[each[new]], minlength=size + 1)
        self.steps -= np.bincount(stop[new] % (size + 1) + 1, weights=weight[each[new]], minlength=size + 1)
