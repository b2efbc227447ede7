"""Laws of the largest |t| of several differences: signs of items, correlated normal and t estimates, Tukey's range.

References: Westfall & Young 1993 (step-down); Owen, Maximov & Chertkov 2019, doi:10.1214/18-EJS1527 (the mixture of
directions); Deak 1980, doi:10.1007/BF01396339; Genz & Bretz 2009, doi:10.1007/978-3-642-01689-9 (the law); Tukey 1953, The
problem of multiple comparisons; Copenhaver & Holland 1988, doi:10.1080/00949658808811082 (the studentised range).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray, check_level
from evalstats.stats.estimate import SMALLEST_P, legendre, positive_p

ROWS = 64  # pairs worked on at once, so that their draws stay in the processor's cache
_KEPT = 512  # pairs of a family whose draws are kept while a chunk is counted
TIE = 1e-9  # relative: statistics that differ by rounding are ties

Draws: TypeAlias = Iterator[tuple[FloatArray, FloatArray]]
_SHIFTS = 8  # independent shifts of the points; their spread is the error reported
_POINTS = 2000  # for each rung and shift
_HIGHEST = 8  # rungs are drawn for c = 0, 1, ..., 8
_LEAST = 1e-14  # below it p is the sum over the estimates, which it cannot exceed
_HELD = 2_000_000
_NODES = 200
_FAR = 38.0  # beyond it the normal density is 0 in double precision
_LARGE_DF = 1e7  # from here on the law is the normal one to 7 digits or more


@dataclass(frozen=True, slots=True, kw_only=True)
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
            rows = np.abs(t.T[self.order[start : start + ROWS]])
            _suffix_maxima(rows, rest)
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
        starts = range(0, self.members.size, ROWS)
        # The blocks of a small family are gathered once; all pairs at once would leave the cache.
        keeping_is_cheaper = self.members.size <= _KEPT
        blocks = [self._ahead(t, start) for start in starts] if keeping_is_cheaper else None
        gathered = blocks or (self._ahead(t, start) for start in starts)
        ends = [(ahead.min(axis=0), ahead.max(axis=0)) for ahead in gathered]
        low, high = np.min([each for each, _ in ends], axis=0), np.max([each for _, each in ends], axis=0)
        up, down = _Beyond(), _Beyond()
        for start, (lowest, highest) in zip(starts, ends, strict=True):
            rises, falls = bool((highest > -low).any()), bool((lowest < -high).any())
            if not (rises or falls):
                continue
            ahead = blocks[start // ROWS] if blocks else self._ahead(t, start)
            if rises:
                up.add(ahead, ahead > -low, start)
            if falls:
                down.add(ahead, ahead < -high, start)
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

    def _ahead(self, t: FloatArray, start: int) -> FloatArray:
        """Return t of some pairs of the family from `start` on, in the direction observed: shape (n_pairs, n_draws)."""
        here = slice(start, start + ROWS)
        orient = self.orient[here, np.newaxis]
        if self.members.size == t.shape[1]:
            return t.T[here] * orient  # members are sorted: these are all pairs
        ahead = t.T[self.members[here]]
        np.multiply(ahead, orient, out=ahead)
        return ahead

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

    def add(self, ahead: FloatArray, marked: NDArray[np.bool_], start: int) -> None:
        """Take what is marked in one block, shape (n_pairs, n_draws), whose first pair stands at `start`."""
        place = np.flatnonzero(marked)  # far quicker than rows and columns at once
        if place.size:
            pair, draw = np.divmod(place, marked.shape[1])
            self._parts.append((pair + start, draw, ahead[pair, draw]))

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
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    at = int(np.count_nonzero(below < conf_level * float(below[-1]) * (1.0 - 1e-12)))
    q, largest = float(values[order[at]]), float(values[order[-1]])
    return q, q < largest * (1.0 - TIE) or (np.isfinite(q) and not np.isfinite(largest))


def _suffix_maxima(rows: FloatArray, beyond: FloatArray) -> None:
    """Turn every row into the largest, draw by draw, of itself, all later rows and what lies beyond them."""
    after = beyond
    for row in rows[::-1]:
        after = np.maximum(row, after, out=row)


def _weighed(reached: NDArray[np.bool_], weight: FloatArray) -> FloatArray:
    """Return the weight of the draws, in columns, that are marked in each row."""
    if (weight == 1.0).all():
        return np.count_nonzero(reached, axis=1).astype(np.float64)
    return reached @ weight


def _stepped(shares: FloatArray, order: IntArray) -> FloatArray:
    adjusted = np.empty_like(shares)
    adjusted[order] = np.clip(np.maximum.accumulate(shares), SMALLEST_P, 1.0)
    return adjusted


@dataclass(frozen=True, slots=True)
class _Rung:
    """Directions: the largest |t| on each at length 1, and its weight; shape (n_shifts, n_points)."""

    reach: FloatArray
    weight: FloatArray


class MaxLaw:
    """P(the largest |t| reaches c) for estimates with a given correlation, which may be singular, and a common scale.

    Notes
    -----
    A normal vector of rank r has a direction and an independent length, chi with r degrees of freedom (over sqrt(chi2/df) for
    t). Along a direction the largest |t| reaches c from a certain length on, so the length is integrated in closed form and
    only directions are drawn: p = E S(c / reach), with S the upper tail of the length. For c up to 1 directions are uniform.
    For larger c they are those of the mixture of the k laws "given that |t_j| reaches c0", reweighted by its density
    sum_j S(c0 / |t_j|), so that the relative error does not grow as p falls. Points are a Kronecker sequence with 8 random
    shifts, whose spread gives the error. The answer is kept between the p of one estimate and the sum of all (Bonferroni).

    Examples
    --------
    >>> law = MaxLaw(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> p, error = law.p(2.5, df=20)
    >>> round(p, 4), error < 1e-4
    (0.0389, True)
    """

    def __init__(self, correlation: FloatArray, *, seed: int = 0) -> None:
        self.seed = seed
        self._factor = _root(correlation)
        self.k, self.rank = self._factor.shape
        self._rungs: dict[int, _Rung] = {}

    def p(self, c: float, df: float = math.inf) -> tuple[float, float]:
        """Return P(max |t| >= |c|) and the standard error of that number; the error is 0 where p is exact or a bound."""
        c = abs(c)
        single = _length_tail(np.array(c), 1, df).item()
        if self.rank == 1 or single < _LEAST:
            return max(single if self.rank == 1 else self.k * single, SMALLEST_P), 0.0
        value, error = self._at(self._rung(_equivalent(c, df)), c, df)
        return min(max(value, single), self.k * single), error

    def critical(self, conf_level: float, df: float = math.inf) -> tuple[float, float]:
        """Return the c that the largest |t| exceeds with probability 1 - conf_level, and its standard error.

        Never below the quantile of one estimate and never above Bonferroni's.
        """
        beyond = 1.0 - check_level(conf_level)
        least, most = _quantile(beyond, df), _quantile(beyond / self.k, df)
        if self.rank == 1:
            return least, 0.0
        rung = self._rung(_equivalent(least, df))
        goal = math.log(beyond)

        def excess(c: float) -> float:
            return math.log(max(self._at(rung, c, df)[0], SMALLEST_P)) - goal

        if excess(least) <= 0.0:
            return least, 0.0
        if excess(most) >= 0.0:
            return most, 0.0
        c = float(optimize.brentq(excess, least, most, xtol=1e-10))
        slope = (excess(c * 1.001) - excess(c * 0.999)) / (0.002 * c) * beyond
        return c, self._at(rung, c, df)[1] / abs(slope)

    def _at(self, rung: _Rung, c: float, df: float) -> tuple[float, float]:
        each = (rung.weight * _length_tail(c / rung.reach, self.rank, df)).mean(axis=1)
        return float(each.mean()), float(each.std(ddof=1)) / math.sqrt(_SHIFTS)

    def _rung(self, c: float) -> _Rung:
        at = min(_HIGHEST, math.floor(c))
        if at not in self._rungs:
            self._rungs[at] = self._drawn(0.0 if at <= 1 else float(at))
        return self._rungs[at]

    def _drawn(self, bound: float) -> _Rung:
        n = _POINTS
        rng = np.random.default_rng(self.seed)
        base = _kronecker(n, self.rank + 2)
        reach, weight = np.empty((_SHIFTS, n)), np.ones((_SHIFTS, n))
        rows = max(1, _HELD // self.k)
        for i in range(_SHIFTS):
            shift = np.asarray(rng.random(base.shape[1]), dtype=np.float64)
            tent = np.abs(2.0 * np.mod(base + shift, 1.0) - 1.0)  # makes the integrand periodic
            u = np.clip(tent, 1e-15, 1.0 - 1e-15)
            for start in range(0, n, rows):
                part = slice(start, start + rows)
                on_each = self._directions(u[part], bound)
                reach[i, part] = on_each.max(axis=1)
                if bound > 0.0:
                    density = _length_tail(bound / on_each, self.rank, math.inf).mean(axis=1)
                    weight[i, part] = 2.0 * float(special.ndtr(-bound)) / density
        return _Rung(reach, weight)

    def _directions(self, u: FloatArray, bound: float) -> FloatArray:
        """Return |t| at length 1, shape (n, k), for directions of normal vectors given that some |t_j| reaches the bound."""
        x = np.asarray(special.ndtri(u[:, 2:]), dtype=np.float64)
        if bound > 0.0:
            j = np.minimum((u[:, 0] * self.k).astype(np.int64), self.k - 1)
            axis = self._factor[j]
            t = -special.ndtri(u[:, 1] * float(special.ndtr(-bound)))  # its sign does not matter
            x += (t - (x * axis).sum(axis=1))[:, np.newaxis] * axis
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        return np.maximum(np.abs(x @ self._factor.T), 1e-150)


def _equivalent(c: float, df: float) -> float:
    """Return the normal c whose tail falls as fast along a direction as that of t with df degrees of freedom at c >= 0."""
    return c if math.isinf(df) else c * math.sqrt((df + 1.0) / (df + c * c))


def _length_tail(length: FloatArray, rank: int, df: float) -> FloatArray:
    """Return P(chi_rank > length), or that of chi_rank / sqrt(chi2_df / df)."""
    square = np.square(np.minimum(length, 1e150))
    if math.isinf(df):
        return np.asarray(special.gammaincc(0.5 * rank, 0.5 * square), dtype=np.float64)
    return np.asarray(special.betainc(0.5 * df, 0.5 * rank, df / (df + square)), dtype=np.float64)


def _quantile(beyond: float, df: float) -> float:
    return -float(special.ndtri(0.5 * beyond) if math.isinf(df) else special.stdtrit(df, 0.5 * beyond))


def _root(matrix: FloatArray) -> FloatArray:
    """Return F with F F' = matrix and no more columns than its rank."""
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    if -values[0] > 1e-8 * values[-1]:
        raise InputError(f"correlation has the negative eigenvalue {values[0]:.3g}; give the matrix of a covariance")
    kept = values > 1e-12 * values[-1]
    factor = vectors[:, kept] * np.sqrt(values[kept])
    return factor / np.linalg.norm(factor, axis=1, keepdims=True)


@lru_cache(maxsize=8)
def _primes(n: int) -> tuple[int, ...]:
    found: list[int] = []
    candidate = 2
    while len(found) < n:
        if all(candidate % prime for prime in found if prime * prime <= candidate):
            found.append(candidate)
        candidate += 1
    return tuple(found)


def _kronecker(n: int, dimensions: int) -> FloatArray:
    """Return n points of Richtmyer's sequence, multiples of the roots of primes modulo 1."""
    roots = np.sqrt(np.array(_primes(dimensions), dtype=np.float64))
    return np.asarray(np.outer(np.arange(1, n + 1), roots) % 1.0, dtype=np.float64)


def range_p(q: float, n_means: int, df: float = math.inf) -> float:
    """P(range of n_means independent standard normals, over an independent sqrt(chi2_df/df), exceeds q).

    Tukey's p of a difference with t = difference/std_error is range_p(sqrt(2) |t|, n_means, df); df is infinite for a known
    standard error.

    Notes
    -----
    With F and f the normal law, the upper tail is n int f(z) (F(z)^(n-1) - (F(z) - F(z-q))^(n-1)) dz, whose integrand is
    written without a difference, so that small p keep their digits; then averaged over the chi law. Gauss-Legendre, 200 nodes.

    Examples
    --------
    >>> round(range_p(3.633, 4), 4), round(range_p(4.0, 3, df=10.5), 4)
    (0.05, 0.0417)
    """
    if math.isinf(df) or df > _LARGE_DF:
        return positive_p(float(_normal_tail(np.array([q]), n_means)[0]))
    # The square of the scale is chi2/df; where it is small q counts for less, which is where a small p comes from.
    high = float(special.chdtri(df, 1e-15))
    least = max(2.0 * float(special.gammaincinv(0.5 * df, 1e-40)), 1e-60)
    u, w = _between(0.5 * math.log(least / df), 0.5 * math.log(high / df))
    scale = np.exp(u)
    log_density = (
        math.log(2.0)
        + 0.5 * df * math.log(0.5 * df)
        - float(special.gammaln(0.5 * df))
        + df * u
        - 0.5 * df * np.square(scale)
    )
    return positive_p(float(w @ (np.exp(log_density) * _normal_tail(q * scale, n_means))))


def range_critical(conf_level: float, n_means: int, df: float = math.inf) -> float:
    """Return q that the studentised range exceeds with probability 1 - conf_level.

    Examples
    --------
    >>> round(range_critical(0.95, 3, 20), 3)
    3.578
    """
    beyond = 1.0 - check_level(conf_level)
    first_guess = 8.0
    high = first_guess
    while range_p(high, n_means, df) > beyond:
        high *= 2.0
    goal = math.log(beyond)
    found = optimize.brentq(lambda q: math.log(range_p(q, n_means, df)) - goal, 0.0, high, xtol=1e-12, rtol=1e-13)
    return float(found)


def _normal_tail(q: FloatArray, n: int) -> FloatArray:
    """Return P(range of n normals > q) for every q."""
    # Two pieces: where all n lie near 0, and where the largest lies near q.
    total = np.zeros(q.shape)
    for low, high in ((-8.5, 0.0), (0.0, 9.0)):
        total += _piece(q, n, np.full(q.shape, low), np.full(q.shape, high))
    start = np.full(q.shape, 9.0)
    total += _piece(q, n, start, np.clip(q + 9.0, start, _FAR))
    return np.clip(total, SMALLEST_P, 1.0)


def _piece(q: FloatArray, n: int, low: FloatArray, high: FloatArray) -> FloatArray:
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    nodes, weights = legendre(_NODES)
    z = middle[:, np.newaxis] + half[:, np.newaxis] * nodes
    below = special.ndtr(z)
    left_out = np.minimum(special.ndtr(z - q[:, np.newaxis]) / below, 1.0)
    with np.errstate(divide="ignore"):
        gap = -np.expm1((n - 1) * np.log1p(-left_out))
    density = np.exp(-0.5 * np.square(z)) / math.sqrt(2.0 * math.pi)
    return half * ((density * below ** (n - 1) * gap) @ weights) * n


def _between(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    half = 0.5 * (high - low)
    nodes, weights = legendre(_NODES)
    return 0.5 * (high + low) + half * nodes, half * weights
