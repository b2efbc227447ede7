"""What a sample says of a mix that is not its own: means of cells in known shares."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, as_values
from evalstats.stats.estimate import Estimate
from evalstats.stats.gap.weighted_mean import clustered_mean

_SHARES = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class CellWeights:
    """Weights of rows that make the shares of cells equal those wanted, over the cells that have a row.

    Attributes
    ----------
    by_cell
        float64, shape (n_cells,): weight of each row of the cell, with a mean of 1 over the rows used; 0 in cells without
        rows or without a share.
    effective_n, ratio
        Kish's effective number of rows; largest weight over the smallest.
    uncovered
        Share wanted in cells without a row. The other shares are scaled up: a mean is over the covered mix.
    empty
        Those cells.
    """

    by_cell: FloatArray
    effective_n: float
    ratio: float
    uncovered: float
    empty: tuple[int, ...]


def cell_weights(count: ArrayLike, share: ArrayLike) -> CellWeights:
    """Weight rows by cell so that cells have the shares wanted.

    Parameters
    ----------
    count
        Rows (or the sum of their weights) in each cell, shape (n_cells,).
    share
        Shares wanted, shape (n_cells,), adding up to 1.

    Raises
    ------
    InputError
        If shapes differ, or shares are negative or do not add up to 1.
    CannotAnswerError
        If no cell that is wanted has a row.

    Examples
    --------
    >>> w = cell_weights([5, 3, 2, 0], [0.2, 0.2, 0.4, 0.2])
    >>> w.by_cell.round(3).tolist(), round(w.uncovered, 3), w.empty, round(w.effective_n, 3)
    ([0.5, 0.833, 2.5, 0.0], 0.2, (3,), 6.316)
    """
    n, wanted = as_values(count, "counts"), as_values(share, "shares")
    if n.size != wanted.size or n.min() < 0:
        raise InputError(f"{n.size} counts and {wanted.size} shares; give one of each for each cell, none negative")
    if wanted.min() < 0 or abs(wanted.sum() - 1.0) > _SHARES:
        raise InputError(f"shares add up to {wanted.sum():g}; they must be 0 or more and add up to 1")
    used = (n > 0) & (wanted > 0)
    if not used.any():
        raise CannotAnswerError("no cell of the mix has a row; nothing can stand for it")
    uncovered = float(wanted[n <= 0].sum())
    target = np.where(used, wanted, 0.0) / wanted[used].sum()
    weight = np.where(used, target / np.where(used, n, 1.0), 0.0) * n[used].sum()
    return CellWeights(
        by_cell=weight,
        effective_n=float((weight * n).sum() ** 2 / (weight**2 * n).sum()),
        ratio=float(weight[used].max() / weight[used].min()),
        uncovered=uncovered,
        empty=tuple(int(cell) for cell in np.flatnonzero((n <= 0) & (wanted > 0))),
    )


def poststratified_mean(
    values: ArrayLike,
    cells: ArrayLike,
    share: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    conf_level: float = 0.95,
) -> tuple[Estimate, CellWeights]:
    """Mean of values over a mix of cells with known shares, with its error by linearisation over clusters.

    Parameters
    ----------
    values
        float64, shape (n_rows,).
    cells
        Integer codes from 0, shape (n_rows,).
    share
        float64, shape (n_cells,): shares of the mix, taken as known.
    clusters
        Integer codes, shape (n_rows,); each row its own where left out. Clusters may span cells.

    Notes
    -----
    For independent rows and few cells `evalstats.stats.stratified.stratified_mean` has better degrees of freedom. Shares
    that are themselves estimated add error: see `evalstats.stats.gap.cell_linear`.

    References
    ----------
    Holt & Smith 1979, doi:10.2307/2344652.

    Examples
    --------
    >>> mean, weights = poststratified_mean([1, 1, 0, 1, 0, 0], [0, 0, 0, 1, 1, 1], [0.25, 0.75])
    >>> round(mean.estimate, 4), weights.effective_n
    (0.4167, 4.8)
    """
    x = as_values(values)
    codes = np.asarray(cells, dtype=np.int64)
    wanted = as_values(share, "shares")
    if codes.shape != x.shape or codes.min() < 0 or codes.max() >= wanted.size:
        raise InputError(f"cells must be codes from 0 to {wanted.size - 1}, one for each of the {x.size} values")
    count = np.bincount(codes, minlength=wanted.size)
    weights = cell_weights(count, wanted)
    means = np.bincount(codes, weights=x, minlength=wanted.size) / np.maximum(count, 1)
    estimate = clustered_mean(
        x,
        x - means[codes],
        weights.by_cell[codes],
        clusters=clusters,
        conf_level=conf_level,
        method="post-stratified, linearised t",
    )
    return estimate, weights
