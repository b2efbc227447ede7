"""Sums by cluster, model and cell, and errors of any smooth statistic of two tables of them, by linearisation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTable:
    """Sums of one side: one entry for each cluster x model x cell that has a score, sorted in that order.

    Attributes
    ----------
    cluster, model, cell
        int64, shape (n_entries,), codes from 0.
    n, total
        float64, shape (n_entries,): sum of weights, above 0, and the weighted sum of scores.
    n_clusters
        Clusters that have an entry.
    """

    cluster: IntArray
    model: IntArray
    cell: IntArray
    n: FloatArray
    total: FloatArray
    n_clusters: int
    n_models: int
    n_cells: int

    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Return the sums of weights and of scores, each of shape (n_models, n_cells)."""
        place = self.model * self.n_cells + self.cell
        size = self.n_models * self.n_cells
        shape = (self.n_models, self.n_cells)
        return (
            np.bincount(place, weights=self.n, minlength=size).astype(np.float64).reshape(shape),
            np.bincount(place, weights=self.total, minlength=size).astype(np.float64).reshape(shape),
        )

    def clusters_of_models(self) -> IntArray:
        """Count the clusters that each model has, shape (n_models,)."""
        pairs = np.unique(self.cluster * self.n_models + self.model)
        return np.bincount(pairs % self.n_models, minlength=self.n_models).astype(np.int64)


def cell_table(
    cluster: ArrayLike,
    model: ArrayLike,
    cell: ArrayLike,
    n: ArrayLike,
    total: ArrayLike,
    *,
    n_models: int,
    n_cells: int,
) -> CellTable:
    """Make a table of sums from entries in any order; entries of one cluster, model and cell are added up.

    Parameters
    ----------
    cluster, model, cell
        Integer codes of 0 or more, shape (n_entries,).
    n, total
        Sums of weights and of weighted scores, shape (n_entries,). An entry of weight 0 is left out.

    Raises
    ------
    InputError
        If there is no entry, a code is out of range, a sum is not finite, or a weight is negative.

    Examples
    --------
    >>> table = cell_table([5, 5, 9], [0, 0, 0], [0, 0, 1], [1, 1, 2], [1, 0, 2], n_models=1, n_cells=2)
    >>> table.n.tolist(), table.total.tolist(), table.n_clusters
    ([2.0, 2.0], [1.0, 2.0], 2)
    """
    codes = [np.asarray(code, dtype=np.int64) for code in (cluster, model, cell)]
    weight, sums = np.asarray(n, dtype=np.float64), np.asarray(total, dtype=np.float64)
    if any(array.shape != (weight.size,) for array in (*codes, weight, sums)) or weight.size == 0:
        raise InputError(
            "a side needs one cluster, model, cell, weight and total for each entry, and at least one entry"
        )
    if not (np.isfinite(weight).all() and np.isfinite(sums).all()) or (weight < 0).any():
        raise InputError("sums of outcomes hold NaN, an infinite number or a negative weight; leave unscored rows out")
    for name, code, count in zip(("cluster", "model", "cell"), codes, (None, n_models, n_cells), strict=True):
        if code.min() < 0 or (count is not None and code.max() >= count):
            raise InputError(
                f"codes of the {name} run from {code.min()} to {code.max()}; {count or 'any number'} are known"
            )
    kept = weight > 0
    if not kept.any():
        raise InputError("all weights are 0; a side needs at least one outcome that counts")
    key = (codes[0][kept] * n_models + codes[1][kept]) * n_cells + codes[2][kept]
    entries, place = np.unique(key, return_inverse=True)
    levels, compact = np.unique(entries // (n_models * n_cells), return_inverse=True)
    return CellTable(
        cluster=compact.astype(np.int64),
        model=entries // n_cells % n_models,
        cell=entries % n_cells,
        n=np.bincount(place, weights=weight[kept]).astype(np.float64),
        total=np.bincount(place, weights=sums[kept]).astype(np.float64),
        n_clusters=levels.size,
        n_models=n_models,
        n_cells=n_cells,
    )


# Sums may be complex: their derivatives are taken by steps along the imaginary axis.
Sums = npt.NDArray[Any]
# (n_lab, total_lab, n_live, total_live), each of shape (..., n_models, n_cells), to (..., n_models, n_statistics); a model's
# statistics depend on its own sums alone, and on each side only through shares and rates.
Statistic = Callable[[Sums, Sums, Sums, Sums], Sums]
# Derivatives along the imaginary axis lose no digits however small the step.
STEP = 1e-30
_MOST_NUMBERS = 2_000_000
# A cluster that holds all of a cell but for rounding.
_WHOLE = 1.0 - 1e-9
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True, kw_only=True)
class Linearised:
    """Statistics with the variance that each side brings, for each model and for the mean over the models chosen.

    Attributes
    ----------
    estimate
        float64, shape (n_models + 1, n_statistics); the last row is the mean over models.
    lab_variance, live_variance
        The same shape: variance from clusters of the lab, of live.
    lab_df, live_df
        The same shape: degrees of freedom of those variances.
    lonely
        (side, model, cell) where a single cluster holds a model's whole cell.
    """

    estimate: FloatArray
    lab_variance: FloatArray
    live_variance: FloatArray
    lab_df: FloatArray
    live_df: FloatArray
    lonely: tuple[tuple[str, int, int], ...]

    @property
    def variance(self) -> FloatArray:
        """Both sides' variance."""
        return self.lab_variance + self.live_variance

    @property
    def df(self) -> FloatArray:
        """Satterthwaite's degrees of freedom of the sum; 0 where there is no variance."""
        below = _ratio(self.lab_variance**2, self.lab_df) + _ratio(self.live_variance**2, self.live_df)
        return _ratio(self.variance**2, below)


def linearised(
    statistic: Statistic, lab: CellTable, live: CellTable, average: IntArray, *, fixed_lab_shares: bool = False
) -> Linearised:
    """Estimate statistics of two tables with their variances.

    Parameters
    ----------
    statistic
        From sums to statistics, made of analytic operations (no absolute values, no maxima).
    average
        Models over which the last row averages.
    fixed_lab_shares
        Whether the share of each cell of the lab was chosen, as quotas of items are, and so has no error. Then only the
        rates within cells vary.

    Notes
    -----
    With a and b the derivatives by the sum of weights N and of scores T of a cell, cluster g adds b (T_g - r N_g) for what
    it does within the cell and (a + b r) N_g for the share it brings. Each is divided by the square root of 1 - h, with h
    the cluster's part of the cell (of the side): the correction that makes the variance of a mean unbiased for independent
    rows (CR2). A cell held by one cluster has no spread of its own: its residual is taken from the model's overall rate,
    which overstates it (lonely.psu "adjust" of R's survey package). Degrees of freedom: (sum c)^2/(sum c^2) - 1 with c_g the
    variance that a cluster would add if rows were independent with the cell's variance.

    References
    ----------
    Bell & McCaffrey 2002; Lumley 2010, Complex Surveys, doi:10.1002/9780470580066; Squire & Trapp 1998,
    doi:10.1137/S003614459631241X (complex steps).

    Examples
    --------
    >>> from evalstats.stats.standardisation.linearisation import cell_table
    >>> side = cell_table(range(6), [0] * 6, [0] * 6, [1] * 6, [1, 0, 1, 1, 0, 1], n_models=1, n_cells=1)
    >>> def difference(n_lab, t_lab, n_live, t_live):
    ...     return t_live / n_live - t_lab / n_lab
    >>> fit = linearised(difference, side, side, np.array([0]))
    >>> bool(np.isclose(fit.variance[0, 0], 2 * np.var([1, 0, 1, 1, 0, 1], ddof=1) / 6)), round(float(fit.df[0, 0]), 6)
    (True, 10.0)
    """
    sums = (*lab.sums(), *live.sums())
    point = np.asarray(statistic(*sums), dtype=np.float64)
    slopes = derivatives(statistic, sums)
    lab_side = _side_errors(lab, slopes[0], slopes[1], average, fixed_shares=fixed_lab_shares)
    live_side = _side_errors(live, slopes[2], slopes[3], average)
    return Linearised(
        estimate=np.vstack([point, point[average].mean(0, keepdims=True)]),
        lab_variance=lab_side[0],
        lab_df=lab_side[1],
        live_variance=live_side[0],
        live_df=live_side[1],
        lonely=(*_lonely(lab, sums[0], "lab"), *_lonely(live, sums[2], "live")),
    )


def derivatives(statistic: Statistic, sums: tuple[FloatArray, FloatArray, FloatArray, FloatArray]) -> FloatArray:
    """Return derivatives by each sum, shape (4, n_models, n_cells, n_statistics), by steps along the imaginary axis."""
    n_models, n_cells = sums[0].shape
    block = max(1, _MOST_NUMBERS // (n_models * n_cells))
    out: list[FloatArray] = []
    for which in range(4):
        for start in range(0, n_cells, block):
            cells = np.arange(start, min(start + block, n_cells))
            stepped = [np.asarray(array, dtype=np.complex128)[None] for array in sums]
            moved = np.repeat(stepped[which], cells.size, axis=0)
            moved[np.arange(cells.size), :, cells] += 1j * STEP
            stepped[which] = moved
            out.append(np.imag(statistic(*stepped)) / STEP)
    return np.concatenate(out).reshape(4, n_cells, n_models, -1).transpose(0, 2, 1, 3)


def _side_errors(
    table: CellTable, by_n: FloatArray, by_total: FloatArray, average: IntArray, *, fixed_shares: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Variances and degrees of freedom from one side's clusters, shape (n_models + 1, n_statistics)."""
    n, total = table.sums()
    rate = np.where(n > 0, total / np.where(n > 0, n, 1.0), 0.0)
    pair, pair_of = np.unique(table.cluster * table.n_models + table.model, return_inverse=True)
    within, between = _residuals(table, n, total, np.bincount(pair_of, weights=table.n).astype(np.float64)[pair_of])
    flat = (n.size, by_n.shape[-1])
    slope = (by_n + by_total * rate[..., None]).reshape(flat) * (0.0 if fixed_shares else 1.0)
    by_rate = by_total.reshape(flat)
    expected = slope**2 + by_rate**2 * _row_variance(table, rate).reshape(-1, 1)
    place = table.model * table.n_cells + table.cell
    chosen = np.flatnonzero(np.isin(table.model, average))
    blocks: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    every = np.arange(place.size)
    whole = np.zeros(table.n_clusters, dtype=np.int64)
    for at, unit, model in ((every, pair_of, pair % table.n_models), (chosen, table.cluster[chosen], whole)):

        def gathered(values: FloatArray, at: IntArray = at, unit: IntArray = unit, size: int = model.size) -> csr_array:
            return csr_array((values[at], (unit, place[at])), shape=(size, n.size))

        adds = gathered(within) @ by_rate + gathered(between) @ slope
        law = gathered(table.n) @ expected
        groups = csr_array((np.ones(model.size), (model, np.arange(model.size))), shape=(model.max() + 1, model.size))
        blocks.append((groups @ adds**2, groups @ law, groups @ law**2))
    blocks[1] = (blocks[1][0] / max(average.size, 1) ** 2, *blocks[1][1:])
    variance, law, square = (np.vstack(parts) for parts in zip(*blocks, strict=True))
    return variance, np.maximum(_ratio(law**2, square) - 1.0, 1.0)


def _residuals(
    table: CellTable, n: FloatArray, total: FloatArray, brought: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return each entry's residual within its cell and its size, both corrected for its part of the cell and the side.

    `brought` is the sum of weights of the entry's cluster for the entry's model.
    """
    model, cell = table.model, table.cell
    part, whole = table.n / n[model, cell], brought / n.sum(1)[model]
    alone = part > _WHOLE
    rate = np.where(alone, (total.sum(1) / np.maximum(n.sum(1), _TINY))[model], total[model, cell] / n[model, cell])
    within = (table.total - rate * table.n) / np.sqrt(np.where(alone, 1.0, 1.0 - part))
    return within, table.n / np.sqrt(np.where(whole > _WHOLE, 1.0, 1.0 - whole))


def _row_variance(table: CellTable, rate: FloatArray) -> FloatArray:
    """Variance of a row within each cell, from the spread of cluster means (exact where a cluster is one row)."""
    place = table.model * table.n_cells + table.cell
    off = (table.total - rate[table.model, table.cell] * table.n) ** 2 / table.n
    size = table.n_models * table.n_cells
    squares, clusters = np.bincount(place, weights=off, minlength=size), np.bincount(place, minlength=size)
    return (squares / np.maximum(clusters - 1, 1)).reshape(rate.shape)


def _lonely(table: CellTable, n: FloatArray, side: str) -> tuple[tuple[str, int, int], ...]:
    alone = table.n / n[table.model, table.cell] > _WHOLE
    return tuple((side, int(m), int(s)) for m, s in zip(table.model[alone], table.cell[alone], strict=True))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
