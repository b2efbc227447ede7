"""Laws of the studentised differences of all pairs together: sign flips of items or clusters, and the normal law."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evalstats.record import record
from evalstats.stats.bootstrap import common_step
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.many.pair_table import (
    FLAT,
    PairTable,
    cluster_sums,
    cluster_totals,
    difference_blocks,
    score_covariance,
)
from evalstats.stats.many.step_down import ROWS, Draws, ReferenceLaw

Signs: TypeAlias = NDArray[np.floating[Any]]
Options = ParamSpec("Options")

LISTED = 2**19  # patterns listed at most: 20 units, one of them held, since a pattern and its mirror tell the same
_COUNTED = 500  # whole numbers up to here, logarithms above
_MANY = 16  # units with as many copies are drawn as one binomial number
FLIPPED_CLUSTERS = 6  # with 5 clusters no pattern of signs is rarer than 1 in 16
ENOUGH_ITEMS = 100  # from here on the normal law holds: .94 measured at 200 items, .91 at 50
_HELD = 4_000_000  # statistics or signs drawn at once
_LONG = 400  # draws worked on at once, at least: long rows for every pair, and no more memory than that
_KEPT = 40_000_000  # differences kept between chunks of draws; more are made anew for each
_MOST_STATISTICS = 6.0e7  # patterns times pairs listed at most: some seconds; 20 clusters of up to 15 models
_EXACT_IN_SINGLE = 2.0**24  # whole numbers up to here are exact in single precision
_MOST_CORRELATED = 5000  # pairs whose correlation matrix is made: 200 MB
_RIDGE = 1e-9  # keeps the factor of a singular correlation matrix real


@record
class SignPatterns:
    """Sums of the signs of units that come in `copies`, whose signs flip one by one.

    `exact` says that `chunks` lists every pattern (or every pattern up to a change of all signs).
    """

    copies: IntArray
    exact: bool
    n_resamples: int
    seed: int

    def chunks(
        self, rows: int, dtype: type[np.floating[Any]] = np.float64, *, blocks: int = 1
    ) -> Iterator[tuple[Signs, FloatArray]]:
        """Yield (sums of signs, shape (<= rows * blocks, n_units); weight of each row).

        Draws are made `rows` at a time, so `blocks` changes none of them. A chunk stands in the room of the one before:
        fresh memory costs more than the draws.
        """
        return self._listed(rows * blocks, dtype) if self.exact else self._drawn(rows, blocks, dtype)

    def _listed(self, rows: int, dtype: type[np.floating[Any]]) -> Iterator[tuple[Signs, FloatArray]]:
        copies = self.copies
        options = _options(copies)
        weights = [_binomial(c)[:choices] for c, choices in zip(copies.tolist(), options, strict=True)]
        total = math.prod(options)
        for start in range(0, total, rows):
            number = np.arange(start, min(start + rows, total))
            sums, weight = np.empty((number.size, copies.size), dtype=dtype), np.ones(number.size)
            for u, choices in enumerate(options):
                number, down = np.divmod(number, choices)
                sums[:, u] = copies[u] - 2 * down
                weight *= weights[u][down]
            yield sums, weight

    def _drawn(self, rows: int, blocks: int, dtype: type[np.floating[Any]]) -> Iterator[tuple[Signs, FloatArray]]:
        rng = np.random.default_rng(self.seed)
        n_units, single = self.copies.size, np.flatnonzero(self.copies == 1)
        several = np.flatnonzero(self.copies != 1).tolist()
        together = single.size and single[-1] - single[0] + 1 == single.size
        run = slice(int(single[0]), int(single[-1]) + 1) if together else single  # a slice is faster to fill
        room = np.empty((min(rows * blocks, self.n_resamples), n_units), dtype=dtype)
        for done in range(0, self.n_resamples, rows * blocks):
            chunk = room[: self.n_resamples - done]
            for start in range(0, len(chunk), rows):
                sums = chunk[start : start + rows]
                octets = np.frombuffer(rng.bytes(len(sums) * ((single.size + 7) // 8)), dtype=np.uint8)
                signs = np.unpackbits(octets.reshape(len(sums), -1), axis=1, count=single.size).view(np.int8)
                signs += signs  # bits become -1 and 1 in their own room
                signs -= 1
                sums[:, run] = signs
                for u in several:
                    copies = int(self.copies[u])
                    sums[:, u] = 2 * rng.binomial(copies, 0.5, size=len(sums)) - copies
            yield chunk, np.ones(len(chunk))


def sign_patterns(copies: IntArray, *, seed: int, n_resamples: int, most_listed: int = LISTED) -> SignPatterns:
    """Return patterns for units in so many copies: all of them up to `most_listed`, else draws."""
    exact = math.prod(_options(copies)) <= min(most_listed, LISTED)
    return SignPatterns(copies=copies, exact=exact, n_resamples=n_resamples, seed=seed)


def _options(copies: IntArray) -> list[int]:
    """Return how many sums each unit can show; one unit with an odd number of copies is held above 0."""
    options = (copies + 1).tolist()
    odd = np.flatnonzero(copies % 2 == 1)
    if odd.size:
        options[int(odd[0])] //= 2
    return options


def _binomial(count: int) -> FloatArray:
    """Return P(down of `count` signs are -1) for down = 0..count."""
    if count <= _COUNTED:
        return np.array([math.comb(count, down) / 2**count for down in range(count + 1)])
    down = np.arange(count + 1)
    log_ways = special.gammaln(count + 1) - special.gammaln(down + 1) - special.gammaln(count - down + 1)
    return np.exp(log_ways - count * math.log(2.0))


def enough_to_flip(table: PairTable) -> NDArray[np.bool_]:
    """Return the pairs whose items are independent or come in at least six clusters."""
    if table.n_clusters is None:
        return np.ones(table.first.size, dtype=np.bool_)
    return table.n_clusters >= FLIPPED_CLUSTERS


def fitting_law(
    table: PairTable, pairs: IntArray, *, seed: int, n_resamples: int, most_listed: int = LISTED
) -> tuple[ReferenceLaw, str]:
    """Return the law for `pairs` of the table that fits its units, and its name.

    Sign flips of clusters where there are any; sign flips of items below 100 items for some pair; else the normal law.
    """
    if table.codes is not None:
        law = flip_clusters(table, pairs, seed=seed, n_resamples=n_resamples, most_listed=most_listed)
        return law, "sign flips of clusters"
    if int(table.n_items[pairs].min()) < ENOUGH_ITEMS:
        law = flip_items(table, pairs, seed=seed, n_resamples=n_resamples, most_listed=most_listed)
        return law, "sign flips of items"
    return normal_items(table, pairs, seed=seed, n_resamples=n_resamples), "normal law of independent items"


def _once(
    law_of: Callable[Concatenate[PairTable, IntArray, Options], ReferenceLaw],
) -> Callable[Concatenate[PairTable, IntArray, Options], ReferenceLaw]:
    """Give a table that is asked again for the same law the one it has."""

    @wraps(law_of)
    def of_table(table: PairTable, pairs: IntArray, /, *args: Options.args, **options: Options.kwargs) -> ReferenceLaw:
        key = (law_of.__name__, pairs.tobytes(), args, tuple(sorted(options.items())))
        if key not in table.laws:
            table.laws[key] = law_of(table, pairs, *args, **options)
        return table.laws[key]

    return of_table


@_once
def flip_items(
    table: PairTable, pairs: IntArray, *, seed: int, n_resamples: int, most_listed: int = LISTED
) -> ReferenceLaw:
    """Law of t under sign flips of independent items, the same flips for all `pairs` of the table.

    A pair's sum of squares does not change under flips, so t follows from the signed sum alone. Items on which all
    models agree count in n and nowhere else; items that tell models apart in the same way are one unit with copies.
    """
    first, second, used = _columns_used(table, pairs)
    units, copies = _item_units(_scores_of(table, used), table.times)
    patterns = _patterns(copies, pairs.size, seed, n_resamples, most_listed)
    if not patterns.exact:
        # Units of few copies stand once per copy.
        few = copies < _MANY
        times = np.where(few, copies, 1)
        units, copies = np.repeat(units, times, axis=0), np.repeat(np.where(few, 1, copies), times)
    partial = np.isnan(units).any(axis=1)
    # Units of one copy stand together: signs are filled in by runs.
    arranged = np.argsort(np.where(partial, 2 + (copies > 1), copies == 1), kind="stable")
    units, copies, n_complete = units[arranged], copies[arranged], int(np.count_nonzero(~partial))
    patterns = replace(patterns, copies=copies)
    units, step = _on_lattice(units, copies)
    signed = _SignedSums(units[:n_complete], units[n_complete:], first, second)
    n, squares = table.n_items[pairs].astype(np.float64), table.squares[pairs]
    sheet = _Sheet(pairs.size)

    def statistics(signs: Signs) -> FloatArray:
        sums_of = signed(signs)

        def some(part: slice, out: FloatArray) -> None:
            sums, n_of, squares_of = sums_of(part), n[part, np.newaxis], squares[part, np.newaxis]
            sums *= step
            spread = np.subtract(n_of * squares_of, np.square(sums, out=out), out=out)
            flat = spread <= FLAT * n_of * squares_of
            endless = np.copysign(np.inf, sums[flat])
            spread[flat] = 1.0
            np.multiply(sums, np.sqrt(np.divide(n_of - 1.0, spread, out=out), out=out), out=out)
            out[flat] = endless

        return sheet.filled(signs.shape[0], some)

    return _flip_law(patterns, statistics, _studentised(table, pairs), units.dtype.type)


@_once
def flip_clusters(
    table: PairTable,
    pairs: IntArray,
    *,
    seed: int,
    n_resamples: int,
    centred: bool = False,
    most_listed: int = LISTED,
) -> ReferenceLaw:
    """Law of t, with the CR2 variance, under sign flips of whole clusters.

    With D_g the sum of differences in cluster g, n_g its items and f_g = n_g / n, a draw of signs s gives
    m = sum(s_g D_g) / n, v = sum((s_g D_g - n_g m)^2 / (1 - f_g)) / n^2 and t = m / sqrt(v). Expanded, v needs two
    signed sums only. `centred` takes the residual sums D_g - n_g mean instead: the wild bootstrap for intervals.
    """
    if table.codes is None:
        raise ValueError("the table has no clusters")
    first, second, used = _columns_used(table, pairs)
    y = table.scores[:, used]
    n, estimate, std_error = _observed(table, pairs)
    complete = not bool(np.isnan(y).any())
    if complete:
        # Differences are linear in the models, so sums per model are enough.
        sums, counts = cluster_sums(y - y.mean(axis=1, keepdims=True), table.codes, table.n_groups)
        counts = counts[:, :1]
        if centred:
            sums = sums - counts * (sums.sum(axis=0) / y.shape[0])
    else:
        if table.totals is None:
            sums, counts = cluster_totals(y, table.codes, table.n_groups, first, second)
        else:
            sums, counts = (each[:, pairs] for each in table.totals)
        if centred:
            sums = sums - counts * estimate
    arranged = np.lexsort((*sums.T[::-1], *counts.T[::-1]))
    sums, counts = sums[arranged], counts[arranged]
    weight = 1.0 / (1.0 - counts / n.max() if complete else 1.0 - counts / n)
    if complete:
        blocks = difference_blocks(sums, first, second)
        squares = np.concatenate([(d**2 * weight).sum(axis=0) for _, d in blocks])
    else:
        squares = (sums**2 * weight).sum(axis=0)
    sizes = np.broadcast_to((counts**2 * weight).sum(axis=0), n.shape)
    # The sign of a cluster in which all models have the same sum does not matter.
    spread_of = np.ptp(sums, axis=1) if complete else np.abs(sums).max(axis=1)
    telling = spread_of > FLAT * float(np.abs(sums).max())
    sums, lifted = sums[telling], (sums * counts * weight)[telling]
    patterns = _patterns(
        np.ones(int(np.count_nonzero(telling)), dtype=np.int64), pairs.size, seed, n_resamples, most_listed
    )

    sheet = _Sheet(pairs.size)

    def paired(total: FloatArray, part: slice) -> FloatArray:
        return total[first[part]] - total[second[part]] if complete else total[part]

    def statistics(signs: Signs) -> FloatArray:
        totals = [np.ascontiguousarray((signs @ columns).T) for columns in (sums, lifted)]

        def some(part: slice, out: FloatArray) -> None:
            n_of, squares_of, sizes_of = (each[part, np.newaxis] for each in (n, squares, sizes))
            mean = paired(totals[0], part) / n_of
            spread = squares_of - mean * (2.0 * paired(totals[1], part) - mean * sizes_of)
            flat = spread <= FLAT * squares_of
            at_all = np.abs(n_of * mean) > FLAT * np.sqrt(squares_of)
            endless = np.where(at_all, np.copysign(np.inf, mean), 0.0)
            out[:] = np.where(flat, endless, n_of * mean / np.sqrt(np.where(flat, 1.0, spread)))

        return sheet.filled(signs.shape[0], some)

    observed = np.zeros(pairs.size) if centred else estimate / std_error
    return _flip_law(patterns, statistics, observed, np.float64)


@_once
def normal_items(table: PairTable, pairs: IntArray, *, seed: int, n_resamples: int) -> ReferenceLaw:
    """Law of t for independent items with estimated covariance: normal differences over a common chi.

    The covariance of the differences is that of the items themselves; the scale is sqrt(chi2 / df) with df one less
    than the fewest items behind a pair.
    """
    first, second, used = _columns_used(table, pairs)
    y = _scores_of(table, used)
    n, estimate, _ = _observed(table, pairs)
    observed, df = _studentised(table, pairs), float(n.min()) - 1.0
    if not np.isnan(y).any():
        roots = _Roots(_root(score_covariance(y, times=table.times)), first, second)
    elif pairs.size <= _MOST_CORRELATED:
        roots = _Roots(_root(_correlation(y, table.times, first, second, estimate)))
    else:
        # The differences of the items themselves have the covariance wanted, and are smaller than the matrix of all pairs.
        own = np.empty((len(y), pairs.size), dtype=np.float32)
        for part, d in difference_blocks(y, first, second):
            own[:, part] = np.where(np.isnan(d), 0.0, d - estimate[part]) * np.sqrt(table.times)[:, np.newaxis]
        roots = _Roots(own)
    return _normal_law(roots, observed, seed=seed, n_resamples=n_resamples, df=df)


def normal_known(
    estimates: FloatArray,
    covariance: FloatArray,
    first: IntArray,
    second: IntArray,
    *,
    seed: int,
    n_resamples: int,
    df: float | None = None,
    variance: FloatArray | None = None,
) -> ReferenceLaw:
    """Law of z for estimates whose covariance is known, or of t where it was estimated with `df` degrees of freedom.

    `variance` of the differences, shape (n_pairs,), takes the place of the covariance's own in what was observed.
    """
    factor = _root(covariance)
    if variance is None:
        variance = covariance[first, first] + covariance[second, second] - 2.0 * covariance[first, second]
    observed = (estimates[first] - estimates[second]) / np.sqrt(variance)
    return _normal_law(_Roots(factor, first, second), observed, seed=seed, n_resamples=n_resamples, df=df)


def _on_lattice(units: FloatArray, copies: IntArray) -> tuple[Signs, float]:
    """Return units in whole steps and single precision, and the step, where sums of them are exact; else units and 1."""
    step = common_step(np.unique(units[~np.isnan(units)]))
    if step is None:
        return units, 1.0
    whole = np.rint(units / step)
    exact = float(copies @ np.nanmax(whole, axis=1)) < _EXACT_IN_SINGLE
    return (whole.astype(np.float32) if exact else whole), step


class _SignedSums:
    """Signed sums of differences for every pair: linear in the models where an item has them all."""

    def __init__(self, complete: Signs, partial: Signs, first: IntArray, second: IntArray) -> None:
        self._complete, self._partial = complete, partial
        self._first, self._second = first, second
        keeping_is_cheaper = partial.shape[0] * first.size <= _KEPT
        self._blocks = list(self._differences()) if keeping_is_cheaper else None

    def __call__(self, signs: Signs) -> Callable[[slice], FloatArray]:
        """Return what gives the sums of some pairs, shape (pairs, draws)."""
        split = self._complete.shape[0]
        models = np.ascontiguousarray((signs[:, :split] @ self._complete).T).astype(np.float64)
        models_alone_are_cheaper = not self._partial.shape[0]
        if models_alone_are_cheaper:
            return lambda part: _gap(models, self._first[part], self._second[part])
        rest = np.empty((self._first.size, signs.shape[0]), dtype=signs.dtype)
        for part, d in self._blocks or self._differences():
            rest[part] = (signs[:, split:] @ d).T
        return lambda part: np.add(d := _gap(models, self._first[part], self._second[part]), rest[part], out=d)

    def _differences(self) -> Iterator[tuple[slice, Signs]]:
        for part, d in difference_blocks(self._partial, self._first, self._second):
            d[np.isnan(d)] = 0.0
            yield part, d


def _gap(models: NDArray[Any], first: IntArray, second: IntArray, out: FloatArray | None = None) -> FloatArray:
    """Return rows of `models` less others."""
    gap = np.take(models, first, axis=0, out=out, mode="clip")  # what "raise" fills is copied once more
    gap -= models[second]
    return gap


def _flip_law(
    patterns: SignPatterns,
    statistics: Callable[[Signs], FloatArray],
    observed: FloatArray,
    dtype: type[np.floating],
) -> ReferenceLaw:
    def chunks() -> Draws:
        if not patterns.exact:
            yield observed[np.newaxis], np.ones(1)
        size = max(observed.size, patterns.copies.size)
        rows = max(1, _HELD // size)
        for signs, weight in patterns.chunks(rows, dtype, blocks=-(-_LONG // rows)):
            yield statistics(signs), weight

    return ReferenceLaw(
        observed=observed,
        chunks=chunks,
        exact=patterns.exact,
        n_resamples=None if patterns.exact else patterns.n_resamples,
        seed=None if patterns.exact else patterns.seed,
    )


class _Sheet:
    """Room for the statistics of one chunk, used again by the next: fresh memory costs as much as the work."""

    def __init__(self, n_pairs: int) -> None:
        self._n_pairs = n_pairs
        self._room = np.empty(0)

    def filled(self, n_draws: int, some: Callable[[slice, FloatArray], None]) -> FloatArray:
        """Return statistics, shape (n_draws, n_pairs), from what writes those of some pairs where it is told."""
        size = self._n_pairs * n_draws
        if self._room.size < size:
            self._room = np.empty(size)
        t = self._room[:size].reshape(self._n_pairs, n_draws)
        for start in range(0, self._n_pairs, ROWS):
            part = slice(start, start + ROWS)
            some(part, t[part])
        return t.T


class _Roots:
    """R, up to a scale for each difference, with R'R the covariance of differences: one column each, or two to subtract."""

    def __init__(
        self, factor: NDArray[np.floating], first: IntArray | None = None, second: IntArray | None = None
    ) -> None:
        self._factor = factor
        self._columns = None if first is None or second is None else (first, second)
        self.size = factor.shape[1] if first is None else first.size
        parts = (slice(start, start + ROWS) for start in range(0, self.size, ROWS))
        squares = np.concatenate([np.square(self._of(part)).sum(axis=0) for part in parts])
        # A difference without spread is 0 in every draw.
        self._over = np.where(squares > 0.0, 1.0 / np.sqrt(np.where(squares > 0.0, squares, 1.0)), 0.0)

    @property
    def n_rows(self) -> int:
        """Independent normal numbers that a draw takes."""
        return self._factor.shape[0]

    def times(self, z: FloatArray, chi: FloatArray | None) -> Callable[[slice, FloatArray], None]:
        """Return what writes some rows of (z R)' / chi, R with columns of unit length: shape (differences, draws)."""
        columns = self._columns
        turned = np.ascontiguousarray((z @ self._factor).T if columns else z.T)
        if chi is not None:
            turned /= chi
        turned = turned if columns else turned.astype(self._factor.dtype)

        def some(part: slice, out: FloatArray) -> None:
            if columns is None:
                np.matmul(self._factor[:, part].T, turned, out=out)
            else:
                _gap(turned, columns[0][part], columns[1][part], out)
            out *= self._over[part, np.newaxis]

        return some

    def _of(self, part: slice) -> FloatArray:
        if self._columns is None:
            return self._factor[:, part].astype(np.float64)
        first, second = self._columns
        return (self._factor[:, first[part]] - self._factor[:, second[part]]).astype(np.float64)


def _normal_law(roots: _Roots, observed: FloatArray, *, seed: int, n_resamples: int, df: float | None) -> ReferenceLaw:
    def chunks() -> Draws:
        yield observed[np.newaxis], np.ones(1)
        rng = np.random.default_rng(seed)
        widest = max(roots.n_rows, roots.size)
        rows, done = max(1, _HELD // widest), 0
        sheet = _Sheet(roots.size)
        normal: list[FloatArray] = []
        scale: list[FloatArray] = []
        while done < n_resamples:
            size = min(rows, n_resamples - done)
            normal.append(rng.standard_normal((size, roots.n_rows)))
            if df is not None:
                scale.append(np.sqrt(rng.chisquare(df, size=size) / df))
            done += size
            n_draws = sum(map(len, normal))
            if n_draws >= _LONG or done == n_resamples:
                some = roots.times(np.concatenate(normal), np.concatenate(scale) if scale else None)
                yield sheet.filled(n_draws, some), np.ones(n_draws)
                normal, scale = [], []

    return ReferenceLaw(observed=observed, chunks=chunks, exact=False, n_resamples=n_resamples, seed=seed)


def _patterns(copies: IntArray, n_pairs: int, seed: int, n_resamples: int, most_listed: int) -> SignPatterns:
    listed = int(min(most_listed, _MOST_STATISTICS / n_pairs))
    return sign_patterns(copies, seed=seed, n_resamples=n_resamples, most_listed=listed)


def _columns_used(table: PairTable, pairs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return both columns of the pairs, counted among the columns used, and those."""
    both = np.stack([table.first[pairs], table.second[pairs]])
    used, place = np.unique(both, return_inverse=True)
    first, second = place.reshape(both.shape).astype(np.int64)
    return first, second, used


def _scores_of(table: PairTable, used: IntArray) -> FloatArray:
    return table.scores if used.size == table.columns.size else table.scores[:, used]


def _observed(table: PairTable, pairs: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    return table.n_items[pairs].astype(np.float64), table.estimate[pairs], table.std_error[pairs]


def _studentised(table: PairTable, pairs: IntArray) -> FloatArray:
    """Return t of every pair; infinite where the difference is the same on every item, as in a draw that has them so."""
    _, estimate, std_error = _observed(table, pairs)
    return np.where(np.isnan(std_error), np.copysign(np.inf, estimate), estimate / std_error)


def _item_units(y: FloatArray, times: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows that tell models apart, up to a shift and a change of sign, and how often they occur."""
    some = ~np.isnan(y).all(axis=1)
    y, times = y[some], times[some]
    low: FloatArray = np.nanmin(y, axis=1)
    high: FloatArray = np.nanmax(y, axis=1)
    telling = high - low > FLAT * float(np.nanmax(np.abs(y)))
    y, times, low, high = y[telling], times[telling], low[telling, np.newaxis], high[telling, np.newaxis]
    contrast = np.nan_to_num(2.0 * y - low - high)
    at = np.argmax(contrast != 0.0, axis=1)
    turned = contrast[np.arange(at.size), at] < 0.0
    either = np.where(turned[:, np.newaxis], high - y, y - low)
    distinct, unit = np.unique(np.where(np.isnan(either), -1.0, either), axis=0, return_inverse=True)
    copies = np.bincount(unit.reshape(-1), weights=times, minlength=len(distinct))
    return np.where(distinct < 0.0, np.nan, distinct), copies.astype(np.int64)


def _correlation(y: FloatArray, times: IntArray, first: IntArray, second: IntArray, estimate: FloatArray) -> FloatArray:
    """Return the correlation of the mean differences of pairs whose items differ."""
    product = np.zeros((first.size, first.size))
    rows = max(1, _HELD // first.size)
    for start in range(0, y.shape[0], rows):
        part = slice(start, start + rows)
        d = y[part][:, first] - y[part][:, second]
        centred = np.where(np.isnan(d), 0.0, d - estimate)
        product += (centred.T * times[part]) @ centred
    scale = np.sqrt(np.diagonal(product))
    scale = np.where(scale > 0.0, scale, 1.0)
    return product / np.outer(scale, scale)


def _root(covariance: FloatArray) -> FloatArray:
    """Return R with R'R = covariance, up to a ridge."""
    ridge = _RIDGE * float(np.diagonal(covariance).mean()) or 1.0
    root = np.linalg.cholesky(covariance + ridge * np.eye(covariance.shape[0]), upper=True)
    return np.asarray(root, dtype=np.float64)
