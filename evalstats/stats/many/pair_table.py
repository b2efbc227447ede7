"""Pairs of models on the items that both have: counts, mean differences, standard errors and covariances of mean scores."""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.bootstrap import common_step
from evalstats.stats.checks import FloatArray, IntArray, as_codes, as_values, too_few_clusters

if TYPE_CHECKING:  # what a law is drawn with takes long to import, and a comparison of two asks for none
    from evalstats.stats.many.step_down import ReferenceLaw

Real = TypeVar("Real", bound=np.floating[Any])

FLAT = 1e-12  # a variance below this share of its own sum of squares is rounding
ENOUGH_ONE_WAY = 6  # 5 items that all point one way have a sign-flip p of 2/32, above .05
_WHOLE = 2.0**53  # whole numbers up to here are exact
_BLOCK = 4_000_000  # numbers held at once
_ROUNDING = 1e-8


@record
class PairTable:
    """Every pair asked for, with what its own items say, in an order that does not depend on that of the input.

    Items and models are put in an order of their own, so that a permuted table gives the same numbers to the last bit.

    Attributes
    ----------
    scores, times
        float64, shape (n_rows, n_models), items and models reordered; NaN where a model has no score. Without clusters, items
        that score alike are one row, which stands for so many, shape (n_rows,).
    codes, n_groups
        Cluster of every item, 0..n_groups-1; None and the number of items without clusters.
    columns
        `scores[:, k]` is column `columns[k]` of the input.
    first, second
        Columns of `scores`, shape (n_pairs,), first < second; every pair once.
    position, sign
        Where each pair asked for stands in the table, and -1 where it was asked for the other way round.
    n_items, n_clusters
        Items that both have and the clusters those lie in.
    estimate, std_error, df
        Mean of first minus second; NaN where it cannot be had, `std_error` also where the differences have no spread.
    squares
        Sum of the squared differences; NaN with clusters.
    totals
        Sums of differences and counts of every pair by cluster, shape (n_groups, n_pairs); None without clusters, where these
        are many, and where every model has every item, so that sums by models are enough.
    laws
        Laws of the differences that were asked for, by what was asked: see `evalstats.stats.many.reference_laws`.
    """

    scores: FloatArray
    times: IntArray
    codes: IntArray | None
    n_groups: int
    columns: IntArray
    first: IntArray
    second: IntArray
    position: IntArray
    sign: FloatArray
    n_items: IntArray
    n_clusters: IntArray | None
    estimate: FloatArray
    squares: FloatArray
    std_error: FloatArray
    df: FloatArray
    totals: tuple[FloatArray, FloatArray] | None = None
    laws: "dict[Hashable, ReferenceLaw]" = field(
        default_factory=dict[Hashable, "ReferenceLaw"], repr=False, compare=False
    )

    @property
    def testable(self) -> NDArray[np.bool_]:
        """Pairs whose difference has a standard error."""
        return np.isfinite(self.std_error)

    @property
    def one_way(self) -> NDArray[np.bool_]:
        """Pairs of independent items whose difference is the same on every item and not 0: enough of them for sign flips."""
        if self.codes is not None:
            return np.zeros(self.first.size, dtype=np.bool_)
        return ~self.testable & (self.n_items >= ENOUGH_ONE_WAY) & (self.estimate != 0.0)


def as_scores(scores: ArrayLike, *, least_models: int = 2) -> FloatArray:
    """Return a float64 array of shape (n_items, n_models), NaN where a model has no score, or raise InputError."""
    y = np.asarray(scores, dtype=np.float64)
    if y.ndim != 2:
        raise InputError(f"scores have {y.ndim} dimensions; give a table of items by models")
    if y.shape[0] == 0 or y.shape[1] < least_models:
        raise InputError(
            f"scores have shape {y.shape}; at least 1 item and {least_models} models are needed, items in rows"
        )
    if np.isinf(y).any():
        raise InputError(f"{int(np.isinf(y).sum())} scores are infinite; use NaN where a model has no score")
    return y


def pair_table(
    scores: ArrayLike | PairTable,
    pairs: Sequence[tuple[int, int]] | None = None,
    clusters: ArrayLike | None = None,
    times: IntArray | None = None,
) -> PairTable:
    """Return the table of all pairs, or of `pairs` (columns of `scores`); scores are NaN where a model has none.

    Each row is one item, or stands for so many `times` that score alike. A table made before is handed back, so that several
    questions about the same pairs share one.

    Examples
    --------
    >>> table = pair_table([[0.2, 0.5], [0.4, 0.5], [np.nan, 0.9], [0.6, 0.5]], [(1, 0)])
    >>> int(table.n_items[0]), round(float(table.sign[0] * table.estimate[0]), 3), table.std_error.round(3).tolist()
    (3, 0.1, [0.115])
    """
    if isinstance(scores, PairTable):
        return scores
    raw = as_scores(scores)
    if clusters is not None:
        clusters = as_codes(clusters, raw.shape[0])[0]
    shared = np.count_nonzero(~np.isnan(raw), axis=1) > 1
    # An item of one model alone says nothing of a difference.
    kept = slice(None) if shared.all() or not shared.any() else shared
    raw, times = raw[kept], np.ones(len(raw), dtype=np.int64)[kept] if times is None else times[kept]
    rows, columns = canonical_order(raw, times)
    y, times, codes = raw[np.ix_(rows, columns)], times[rows], None
    if clusters is None:
        y, times = merged(y, times)
        n_groups = int(times.sum())
    else:
        in_order, n_groups = as_codes(clusters[kept], raw.shape[0])
        codes = in_order[rows]
    first, second, position, sign = _unique_pairs(pairs, columns)
    n_clusters, totals = None, None
    if codes is None:
        n, estimate, squares, std_error, df = _of_items(y, times, first, second)
    else:
        cheaper_to_keep = n_groups * first.size <= _BLOCK and np.isnan(y).any()
        if cheaper_to_keep:
            totals = cluster_totals(y, codes, n_groups, first, second)
            blocks = iter([(slice(None), *totals)])
        else:
            blocks = cluster_blocks(y, codes, n_groups, first, second)
        n, n_clusters, estimate, std_error, df = _of_clusters(blocks, first.size)
        squares = np.full(first.size, np.nan)
    return PairTable(
        scores=y,
        times=times,
        codes=codes,
        n_groups=n_groups,
        columns=columns,
        first=first,
        second=second,
        position=position,
        sign=sign,
        n_items=n,
        n_clusters=n_clusters,
        estimate=estimate,
        squares=squares,
        std_error=std_error,
        df=df,
        totals=totals,
    )


def canonical_order(scores: FloatArray, times: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Return an order of rows and one of columns that permuting either does not change.

    Columns go by count, sum and sum weighted with the row totals, all rounded once from the exact sum; rows, each of which
    counts so many `times`, by their values in that order. Columns that tie in all three may keep the order given: then draws
    differ, the law does not.
    """
    times = np.ones(len(scores), dtype=np.int64) if times is None else times
    filled = np.nan_to_num(scores, nan=0.0) if np.isnan(scores).any() else scores
    # Whole numbers add up to the same in every order.
    in_order = filled if all(_is_whole(column, times) for column in filled.T) else np.sort(filled, axis=1)
    row_totals = in_order.sum(axis=1)
    sums = [_exact_sum(column, times) for column in filled.T]
    weighted = [_exact_sum(column * row_totals, times) for column in filled.T]
    columns = np.lexsort(np.array([weighted, sums, -(times @ np.isnan(scores))]))
    rows = np.lexsort([scores[:, column] for column in columns[::-1]])
    return rows.astype(np.int64), columns.astype(np.int64)


def merged(y: FloatArray, times: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the rows that differ from the one before, and how many items each stands for; `y` is sorted."""
    alike = (y[1:] == y[:-1]) | (np.isnan(y[1:]) & np.isnan(y[:-1]))
    first = np.flatnonzero(np.append(True, ~alike.all(axis=1)))
    return y[first], np.add.reduceat(times, first)


def _exact_sum(values: FloatArray, times: IntArray) -> float:
    """Return the sum rounded once; whole numbers add up without rounding, and right and wrong answers are such."""
    return float(values @ times) if _is_whole(values, times) else math.fsum(np.repeat(values, times).tolist())


def _is_whole(values: FloatArray, times: IntArray) -> bool:
    return float(np.abs(values) @ times) < _WHOLE and bool((values == np.rint(values)).all())


def difference_blocks(y: NDArray[Real], first: IntArray, second: IntArray) -> Iterator[tuple[slice, NDArray[Real]]]:
    """Yield slices of the pairs with their item differences, shape (n_items, pairs of the slice), NaN kept.

    Differences that are rounding error of the scores are 0.
    """
    width = max(1, _BLOCK // max(1, 4 * y.shape[0]))  # both sides of a difference are held, and what is made of it
    whole = np.isnan(y) | (y == np.rint(y))
    rounding = 0.0 if whole.all() else FLAT * float(np.nanmax(np.abs(y)))
    for start in range(0, first.size, width):
        part = slice(start, min(start + width, first.size))
        d: NDArray[Real] = y[:, first[part]]
        d -= y[:, second[part]]
        if rounding:
            d[np.abs(d) <= rounding] = 0.0
        yield part, d


def cluster_sums(d: FloatArray, codes: IntArray, n_groups: int) -> tuple[FloatArray, FloatArray]:
    """Return sums and counts of the entries of `d` that are not NaN, per cluster, shape (n_groups, d.shape[1])."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(n_groups))
    filled = d[order]
    present = ~np.isnan(filled)
    filled[~present] = 0.0
    counts = np.add.reduceat(present, starts, axis=0, dtype=np.float64)
    sums = np.add.reduceat(filled, starts, axis=0)
    largest = max(float(filled.max(initial=0.0)), -float(filled.min(initial=0.0)))
    rounding = FLAT * largest * float(counts.max(initial=0.0))
    return np.where(np.abs(sums) > rounding, sums, 0.0), counts


def cluster_blocks(
    y: FloatArray, codes: IntArray, n_groups: int, first: IntArray, second: IntArray
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield slices of the pairs with sums of differences and counts per cluster, shape (n_groups, pairs or 1)."""
    if np.isnan(y).any():
        for part, d in difference_blocks(y, first, second):
            yield part, *cluster_sums(d, codes, n_groups)
        return
    # Where every model has every item, sums by models are enough.
    sums, counts = cluster_sums(y - y.mean(axis=1, keepdims=True), codes, n_groups)
    for part, d in difference_blocks(sums, first, second):
        yield part, d, counts[:, :1]


def cluster_totals(
    y: FloatArray, codes: IntArray, n_groups: int, first: IntArray, second: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return what `cluster_blocks` yields of all pairs together, shape (n_groups, n_pairs) each."""
    sums, counts = np.empty((n_groups, first.size)), np.empty((n_groups, first.size))
    for part, differences, held in cluster_blocks(y, codes, n_groups, first, second):
        sums[:, part], counts[:, part] = differences, held
    return sums, counts


def satterthwaite(share: FloatArray) -> FloatArray:
    """Return the Satterthwaite df of the CR2 variance of means, from clusters' shares, shape (n_clusters, n_means)."""
    cross = share**2 / (1.0 - share)
    return 1.0 / ((share**2).sum(axis=0) + cross.sum(axis=0) ** 2 - (cross**2).sum(axis=0))


def _unique_pairs(
    pairs: Sequence[tuple[int, int]] | None, columns: IntArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return first and second of every distinct pair, where each pair asked for stands, and its direction."""
    n_models = columns.size
    place = np.empty(n_models, dtype=np.int64)
    place[columns] = np.arange(n_models)
    if pairs is None:
        i, j = np.triu_indices(n_models, k=1)
    else:
        asked = np.asarray(pairs, dtype=np.int64).reshape(len(pairs), 2)
        i, j = asked[:, 0], asked[:, 1]
        wrong = (i == j) | (asked.min(axis=1) < 0) | (asked.max(axis=1) >= n_models)
        if wrong.any():
            raise InputError(
                f"({i[wrong][0]}, {j[wrong][0]}) is no pair; give two different columns, 0 to {n_models - 1}"
            )
    a, b = place[i], place[j]
    low, high = np.minimum(a, b), np.maximum(a, b)
    codes, position = np.unique(low * n_models + high, return_inverse=True)
    sign = np.sign(b - a).astype(np.float64)
    return codes // n_models, codes % n_models, position.astype(np.int64), sign


def _of_items(
    y: FloatArray, times: IntArray, first: IntArray, second: IntArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    exact = _lattice_moments(y, times, first, second)
    n, mean, squares, around = _block_moments(y, times, first, second) if exact is None else exact
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = around / (n - 1.0) / n
        spread = around > FLAT * squares
    df = np.where(n > 1, n - 1.0, np.nan)
    return n, mean, squares, np.where(spread, np.sqrt(variance), np.nan), df


def _lattice_moments(
    y: FloatArray, times: IntArray, first: IntArray, second: IntArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray] | None:
    """Return n, mean, sum of squares and of centred squares from products of models, where these are whole numbers.

    None where scores lie on no lattice: sums of squares by models would lose small differences to rounding.
    """
    levels = np.unique(np.concatenate([np.unique(y[part]) for part in _row_slices(y)]))
    levels = levels[~np.isnan(levels)]
    step = common_step(levels) if levels.size else None
    if step is None or float(np.square(np.rint(levels / step)).max()) * float(times.sum()) >= _WHOLE:
        return None
    own, cross, sums, shared = np.zeros((4, y.shape[1], y.shape[1]))
    for part in _row_slices(y):
        rows, counted = y[part], times[part, np.newaxis]
        missing, whole = np.isnan(rows), np.rint(rows / step)
        whole[missing] = 0.0
        held = np.logical_not(missing).astype(np.float64)
        weighed = held * counted
        own += (whole**2).T @ weighed
        cross += whole.T @ (whole * counted)
        sums += whole.T @ weighed
        shared += held.T @ weighed
    n = shared[first, second]
    total = sums[first, second] - sums[second, first]
    squares = own[first, second] + own[second, first] - 2.0 * cross[first, second]
    with np.errstate(invalid="ignore", divide="ignore"):
        around = squares - total**2 / n
    return n.astype(np.int64), _ratio(total * step, n), squares * step**2, around * step**2


def _row_slices(y: FloatArray) -> Iterator[slice]:
    """Yield slices of the rows in turn, of as many as may be held."""
    height = max(1, _BLOCK // y.shape[1])
    return (slice(start, start + height) for start in range(0, len(y), height))


def _block_moments(
    y: FloatArray, times: IntArray, first: IntArray, second: IntArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return the same from the differences themselves."""
    n = np.empty(first.size, dtype=np.int64)
    mean, squares, around = (np.empty(first.size) for _ in range(3))
    counted = times[:, np.newaxis]
    for part, d in difference_blocks(y, first, second):
        present = ~np.isnan(d)
        filled = np.where(present, d, 0.0)
        n[part] = (present * counted).sum(axis=0)
        mean[part] = _ratio((filled * counted).sum(axis=0), n[part].astype(np.float64))
        squares[part] = (np.square(filled) * counted).sum(axis=0)
        around[part] = (np.square(np.where(present, d - mean[part], 0.0)) * counted).sum(axis=0)
    return n, mean, squares, around


def _ratio(total: FloatArray, count: FloatArray) -> FloatArray:
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


def _of_clusters(
    blocks: Iterator[tuple[slice, FloatArray, FloatArray]], size: int
) -> tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]:
    """CR2 with Satterthwaite df for every pair, from sums and counts by cluster."""
    n, groups = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    estimate, std_error, df = np.empty(size), np.empty(size), np.empty(size)
    for part, sums, counts in blocks:
        total = counts.sum(axis=0)
        n_clusters = (counts > 0).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = counts / total
            mean = sums.sum(axis=0) / total
            residual = sums - counts * mean
            variance = (residual**2 / (1.0 - share)).sum(axis=0) / total**2
            rounding = FLAT * ((sums**2 / (1.0 - share)).sum(axis=0) / total**2)
            # Of one cluster, whose share is 1, all of these are infinite or NaN.
            std_error[part] = np.where(variance > rounding, np.sqrt(variance), np.nan)
            df[part] = satterthwaite(share)
        n[part], groups[part], estimate[part] = total.astype(np.int64), n_clusters, mean
    return n, groups, estimate, std_error, df


def score_covariance(
    scores: ArrayLike, *, clusters: ArrayLike | None = None, times: IntArray | None = None
) -> FloatArray:
    """Covariance of the models' mean scores, which share the luck of their items, shape (n_models, n_models).

    Parameters
    ----------
    scores
        float64, shape (n_items, n_models): item means over trials; NaN where a model has no score. Each model's mean is
        over its own items, and two models covary through the items that both have.
    clusters
        Integer codes, shape (n_items,); at least 5 clusters. The diagonal is then the CR2 variance.
    times
        How many items that score alike a row stands for, without clusters; by default one.

    Notes
    -----
    Cov(a, b) = sum_g R_ga R_gb / sqrt((1 - f_ga)(1 - f_gb)) / (n_a n_b), with R_ga the residuals of model a summed over
    cluster g, n_a its items and f_ga the share of them in g; without clusters every item is one of its own.

    Examples
    --------
    >>> y = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> np.allclose(score_covariance(y), np.cov(y, rowvar=False) / 4)
    True
    """
    y = as_scores(scores, least_models=1)
    grouped = None if clusters is None else cluster_sums(y, *as_codes(clusters, y.shape[0]))
    held = np.logical_not(np.isnan(y)) if grouped is None else grouped[1]
    each = np.ones(len(held), dtype=np.int64) if times is None else times
    n, units = (held * each[:, np.newaxis]).sum(axis=0, dtype=np.float64), each @ (held > 0)

    def parts() -> Iterator[tuple[FloatArray, FloatArray, IntArray]]:
        """Yield sums and counts of the clusters, or of items, as many at a time as may be held; all counts alike stand once."""
        if grouped is not None:
            yield *grouped, each[:, np.newaxis]
            return
        for part in _row_slices(y):
            if held[part].all():
                yield y[part], np.ones((1, n.size)), each[part, np.newaxis]
            else:
                yield np.nan_to_num(y[part], nan=0.0), held[part].astype(np.float64), each[part, np.newaxis]

    if int(units.min()) < 2:
        raise InputError(f"model {int(np.argmin(units))} has {int(units.min())} scored items; at least 2 are needed")
    reason = None if clusters is None else too_few_clusters(int(units.min()))
    if reason is not None:
        raise InputError(reason)
    total = np.zeros(n.size)
    for sums, _, counted in parts():
        total += (sums * counted).sum(axis=0)
    product = np.zeros((n.size, n.size))
    for sums, counts, counted in parts():
        residuals = (sums - counts * (total / n)) / (np.sqrt(1.0 - counts / n) * n)
        product += residuals.T @ (residuals * counted)
    return product


def as_estimates(estimates: ArrayLike, covariance: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return estimates, shape (n,), and their covariance, shape (n, n), symmetric with variances above 0, n > 1."""
    theta = as_values(estimates, "estimates")
    sigma = np.asarray(covariance, dtype=np.float64)
    if theta.size < 2:
        raise InputError("there is 1 estimate; at least 2 models are needed")
    if sigma.shape != (theta.size, theta.size):
        raise InputError(
            f"the covariance has shape {sigma.shape} for {theta.size} estimates; give a square matrix "
            "(np.diag(std_errors**2) where estimates are independent)"
        )
    scale = np.sqrt(np.abs(np.diagonal(sigma)))
    if not np.isfinite(sigma).all() or not (np.diagonal(sigma) > 0.0).all():
        raise InputError("the covariance holds NaN, infinity or a variance that is not above 0; leave such models out")
    if (sigma - sigma.T > _ROUNDING * np.outer(scale, scale)).any():
        raise InputError("the covariance is not symmetric; entry (a, b) and entry (b, a) are the same number")
    if float(np.linalg.eigvalsh(sigma / np.outer(scale, scale))[0]) < -_ROUNDING * theta.size:
        raise InputError("the covariance is not one: some combination of the estimates has a negative variance")
    return theta, 0.5 * (sigma + sigma.T)
