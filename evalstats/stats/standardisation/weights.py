"""Weights that give a sample a known mix: by joint cells (post-stratification) or by margins (raking)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray, as_values
from evalstats.stats.standardisation.linearisation import STEP, Sums

TRIM = 5.0  # times the mean weight: the largest that raking gives
_SHARES = 1e-6
_MOST_ROUNDS = 200
_TOLERANCE = 1e-12


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


def raked_cells(
    n_lab: Sums, n_live: Sums, factors: tuple[IntArray, ...], *, trim: float | None
) -> tuple[Sums, int, bool]:
    """Rake lab cells to the live margins: weights of cells shape (..., n_cells), rounds, whether all margins are met.

    Levels that the lab lacks are left out of the live margin, and cells of levels that live users never bring get weight 0.
    `trim` is the largest weight of a row, as a multiple of the mean; a cut is followed by further rounds, until both hold.

    References
    ----------
    Deming & Stephan 1940, doi:10.1214/aoms/1177731829; Deville, Sarndal & Sautory 1993, doi:10.1080/01621459.1993.10476369.

    Examples
    --------
    >>> n_lab, n_live = np.array([[1.0, 1, 1, 1]]), np.array([[3.0, 0, 0, 1]])
    >>> w, _, met = raked_cells(n_lab, n_live, (np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])), trim=None)
    >>> w.round(4).tolist(), met
    ([[0.5625, 0.1875, 0.1875, 0.0625]], True)
    """
    members = [np.eye(int(codes.max()) + 1)[codes] for codes in factors]
    wanted: list[Sums] = []
    for member in members:
        has: Sums = n_lab @ member
        margin: Sums = np.where(has != 0, n_live @ member, 0.0)
        wanted.append(margin / margin.sum(-1)[..., None])
    weights, rounds, miss = n_lab / n_lab.sum(-1)[..., None], 0, np.inf
    while rounds < _MOST_ROUNDS and miss > _TOLERANCE:
        rounds += 1
        for codes, member, share in zip(factors, members, wanted, strict=True):
            has = weights @ member
            weights = weights * np.where(has != 0, share / np.where(has != 0, has, 1.0), 0.0)[..., codes]
        if trim is not None:
            weights = _cut(weights, n_lab, trim)
        total = weights.sum(-1)[..., None]
        reached: list[Sums] = [weights @ member / total for member in members]
        miss = max(_distance(have - share) for have, share in zip(reached, wanted, strict=True))
    return weights, rounds, miss <= _TOLERANCE * 100


def _distance(off: Sums) -> float:
    """Return the largest miss, of the shares or of their derivatives, which may settle later."""
    return max(float(np.abs(np.real(off)).max()), float(np.abs(np.imag(off)).max()) / STEP)


def _cut(weights: Sums, n: Sums, trim: float) -> Sums:
    """Hold the weight of a row at `trim` times the mean weight of rows used."""
    used = np.real(weights) > 0
    mean = weights.sum(-1) / np.where(used, n, 0.0).sum(-1)
    most = trim * mean[..., None] * n
    return np.where(np.real(weights) > np.real(most), most, weights)
