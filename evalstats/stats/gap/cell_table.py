"""Outcomes of one side as sums by cluster, model and cell: all that a decomposition, its errors and its resamples need."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

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
