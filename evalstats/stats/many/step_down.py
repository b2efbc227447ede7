"""Step-down tests of a family of differences, from draws of all of them together: Westfall and Young's, two- and one-sided.

What is drawn (signs of items, clusters, a normal law) stands in `reference_laws`. Reference: Westfall & Young 1993,
Resampling-Based Multiple Testing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import SMALLEST_P

ROWS = 64  # pairs worked on at once, so that their draws stay in the processor's cache
TIE = 1e-9  # relative: statistics that differ by rounding are ties

Draws: TypeAlias = Iterator[tuple[FloatArray, FloatArray]]


@record
class ReferenceLaw:
    """What the studentised differences would look like together if no two models differed.

    `observed` is the signed t of every pair. `chunks` yields (signed t, shape (n_draws, n_pairs); weight of each draw). The
    observed t are one of the draws, so that no share counted from them is 0. The law is symmetric: a draw and its mirror image
    are equally likely. The draws of a pair lie side by side in memory, since all work is done on one pair's draws after
    another's. A chunk may be written over by the next.
    """

    observed: FloatArray
    chunks: Callable[[], Draws]
    exact: bool
    n_resamples: int | None
    seed: int | None


class Collector(Protocol):
    """Takes the draws of a law chunk by chunk."""

    def add(self, t: FloatArray, weight: FloatArray) -> None:
        """Take signed t, shape (n_draws, n_pairs), and the weight of each draw."""
        ...


def collect(law: ReferenceLaw, collectors: Sequence[Collector]) -> None:
    """Pass every draw of the law to every collector."""
    for t, weight in law.chunks():
        for collector in collectors:
            collector.add(t, weight)


@dataclass(slots=True)
class TwoSided:
    """Step-down p-values of two-sided hypotheses, and the law of the largest |t|.

    With t sorted downwards, p of the k-th is the share of draws in which the largest |t| of the k-th and all later
    pairs reaches the k-th observed, and never less than that of the one before (Westfall & Young 1993).
    """

    observed: FloatArray
    order: IntArray = field(init=False)
    hits: FloatArray = field(init=False)
    total: float = 0.0
    largest: list[FloatArray] = field(default_factory=list[FloatArray])
    weights: list[FloatArray] = field(default_factory=list[FloatArray])

    def __post_init__(self) -> None:
        self.order = np.argsort(-np.abs(self.observed), kind="stable")
        self.hits = np.zeros(self.observed.size)

    def add(self, t: FloatArray, weight: FloatArray) -> None:
        """Count one chunk of draws."""
        bound = np.abs(self.observed[self.order]) * (1.0 - TIE)
        rest = np.full(t.shape[0], -np.inf)
        for start in range((bound.size - 1) // ROWS * ROWS, -1, -ROWS):
            rows = t.T[self.order[start : start + ROWS]]
            np.abs(rows, out=rows)
            after = rest  # every row becomes the largest, draw by draw, of itself, all later rows and what lies beyond
            for row in rows[::-1]:
                after = np.maximum(row, after, out=row)
            rest = rows[0].copy()
            here = bound[start : start + ROWS]
            skipping_is_cheaper = rest.max() < here[-1]
            if not skipping_is_cheaper:
                self.hits[start : start + ROWS] += _weighed(rows >= here[:, np.newaxis], weight)
        self.total += float(weight.sum())
        self.largest.append(rest)
        self.weights.append(weight)

    def p_adjusted(self) -> FloatArray:
        """Step-down p-values in the order of the pairs."""
        return _stepped(self.hits / self.total, self.order)

    def critical(self, conf_level: float) -> tuple[float, bool]:
        """Return the least q that the largest |t| exceeds in at most 1 - conf_level of the draws.

        So |t| > q for a pair exactly when its single-step p is at most 1 - conf_level. The second is whether the draws
        reach that level at all: with few patterns even the largest |t| may be too likely, and q is only that.
        """
        return upper_quantile(np.concatenate(self.largest), np.concatenate(self.weights), conf_level)


@dataclass(slots=True)
class OneSided:
    """Step-down p-values of "first is not above second" for both directions of the pairs of one family.

    All 2 n_pairs one-sided hypotheses are in the family; the p returned is that of the direction observed. Only a
    hypothesis that was rejected leaves the family, not its mirror image: so a direction claimed is protected too.

    With |t| sorted downwards, p of the k-th is the share of draws in which the largest of the mirrored statistics of all
    pairs, or of the statistics of the k-th and later ones, reaches it. A draw whose largest mirrored statistic is D counts
    for all pairs with |t| <= D at once. For the others only the few statistics above D matter: one of the l-th pair that
    reaches the k-th bound counts for k to l.
    """

    observed: FloatArray
    members: IntArray
    order: IntArray = field(init=False)
    rank: IntArray = field(init=False)
    orient: FloatArray = field(init=False)
    turned: bool = field(init=False)
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
        self.turned = bool((self.orient < 0.0).any())
        self.bound = np.abs(t)[self.order] * (1.0 - TIE)
        self.steps = np.zeros(t.size + 1)

    def add(self, t: FloatArray, weight: FloatArray) -> None:
        """Count one chunk of draws, shape (n_draws, all pairs), and their mirror images."""
        blocks = (self._ahead(t, slice(start, start + ROWS)) for start in range(0, self.members.size, ROWS))
        ends = [(ahead.min(axis=0), ahead.max(axis=0)) for ahead in blocks]
        self.add_within(t, weight, np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0))

    def add_within(self, t: FloatArray, weight: FloatArray, low: FloatArray, high: FloatArray) -> None:
        """Count a chunk of which the least and the largest statistic of every draw, in the direction observed, are at hand."""
        # A statistic counts from the bound of its own pair on: most pairs are too far apart for any draw.
        own = self.bound[self.rank]
        near = np.flatnonzero(own <= max(float(high.max()), -float(low.min())))
        up, down = _Beyond(), _Beyond()
        for start in range(0, near.size, ROWS):
            rows = near[start : start + ROWS]
            ahead, least = self._ahead(t, rows), own[rows, np.newaxis]
            up.add(ahead, (ahead >= least) & (ahead > -low), rows)
            down.add(ahead, (ahead <= -least) & (ahead < -high), rows)
        self._count(*up.found(), -low, weight)
        pair, draw, value = down.found()
        self._count(pair, draw, -value, high, weight)
        self.total += 2.0 * float(weight.sum())
        self.largest.append(np.maximum(-low, high))
        self.weights.append(weight)

    def p_adjusted(self) -> FloatArray:
        """Step-down p-values in the order of `members`."""
        return _stepped(np.cumsum(self.steps[:-1]) / self.total, self.order)

    def critical(self, conf_level: float) -> float:
        """Return the least q that the largest |t| exceeds in at most 1 - conf_level of the draws."""
        return upper_quantile(np.concatenate(self.largest), np.concatenate(self.weights), conf_level)[0]

    def _ahead(self, t: FloatArray, rows: slice | IntArray) -> FloatArray:
        """Return t of some pairs of the family, in the direction observed: shape (n_pairs, n_draws)."""
        # Members are sorted: as many as there are pairs are all pairs.
        ahead = t.T[rows if self.members.size == t.shape[1] else self.members[rows]]
        return ahead * self.orient[rows, np.newaxis] if self.turned else ahead

    def _count(
        self, pair: IntArray, draw: IntArray, value: FloatArray, mirrored: FloatArray, weight: FloatArray
    ) -> None:
        """Add each draw's weight to the ranks k that it counts for: a run to the end, and runs before it."""
        size = self.bound.size
        ends = np.searchsorted(-self.bound, -mirrored)
        self.steps += np.bincount(ends, weights=weight, minlength=size + 1)
        last = np.minimum(self.rank[pair], ends[draw] - 1)
        # Whoever does not reach the last bound reaches none: most, which need not be sorted in.
        kept = np.flatnonzero((last >= 0) & (value >= self.bound[last]))
        if not kept.size:
            return
        # Runs of one draw may overlap: in order of their starts, each adds what lies beyond all before it.
        place = draw[kept] * (size + 1)
        start, stop = place + np.searchsorted(-self.bound, -value[kept]), place + last[kept]
        sorted_by = np.argsort(start, kind="stable")
        start, stop, each = start[sorted_by], stop[sorted_by], draw[kept][sorted_by]
        before = np.concatenate([[-1], np.maximum.accumulate(stop)[:-1]])
        start = np.maximum(start, before + 1)
        new = start <= stop
        self.steps += np.bincount(start[new] % (size + 1), weights=weight[each[new]], minlength=size + 1)
        self.steps -= np.bincount(stop[new] % (size + 1) + 1, weights=weight[each[new]], minlength=size + 1)


class _Beyond:
    """Gathers the statistics that are marked in blocks of pairs: pair, draw and value."""

    def __init__(self) -> None:
        self._parts: list[tuple[IntArray, IntArray, FloatArray]] = []

    def add(self, ahead: FloatArray, marked: NDArray[np.bool_], pairs: IntArray) -> None:
        """Take what is marked in one block, shape (n_pairs, n_draws), of these pairs."""
        place = np.flatnonzero(marked)  # far quicker than rows and columns at once
        if place.size:
            row, draw = np.divmod(place, marked.shape[1])
            self._parts.append((pairs[row], draw, ahead.take(place)))

    def found(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return all of it."""
        if not self._parts:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
        pair, draw, value = zip(*self._parts, strict=True)
        return np.concatenate(pair), np.concatenate(draw), np.concatenate(value)


def upper_quantile(values: FloatArray, weights: FloatArray, conf_level: float) -> tuple[float, bool]:
    """Return the least of `values` that at most a share 1 - conf_level of the weight lies above.

    The second is whether there is a value that at most that share reaches or lies above, so that q can be exceeded.
    """
    alike = bool((weights == 1.0).all())
    order = None if alike else np.argsort(values, kind="stable")
    below = np.arange(1.0, values.size + 1.0) if order is None else np.cumsum(weights[order])
    at = int(np.count_nonzero(below < conf_level * float(below[-1]) * (1.0 - 1e-12)))
    # One place of many draws is found without sorting them.
    q = float(np.partition(values, at)[at] if order is None else values[order[at]])
    largest = float(values.max())
    return q, q < largest * (1.0 - TIE) or (np.isfinite(q) and not np.isfinite(largest))


def _weighed(reached: NDArray[np.bool_], weight: FloatArray) -> FloatArray:
    """Return the weight of the draws, in columns, that are marked in each row."""
    if (weight == 1.0).all():
        return np.count_nonzero(reached, axis=1).astype(np.float64)
    return reached @ weight


def _stepped(shares: FloatArray, order: IntArray) -> FloatArray:
    adjusted = np.empty_like(shares)
    adjusted[order] = np.clip(np.maximum.accumulate(shares), SMALLEST_P, 1.0)
    return adjusted
