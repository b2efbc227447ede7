"""Votes summed to one cell for each pair of models (and covariates): what the likelihood of a fit needs and no more."""

from dataclasses import dataclass

import numpy as np

from evalstats.errors import InputError
from evalstats.stats.arena.fit import Ties
from evalstats.stats.arena.votes import VoteRows, merged
from evalstats.stats.checks import FloatArray, IntArray

_LARGEST_SQUARE = 4_000_000  # pairs of models that are counted in a table; beyond, rows are sorted


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCells:
    """Weight of votes won by the first model, lost by it, and tied.

    Attributes
    ----------
    first, second
        int64, shape (n_cells,).
    won, lost, tied
        float64, shape (n_cells,). Where ties count for half a win, they are in `won` and `lost`, and `tied` is 0.
    covariates
        float64, shape (n_cells, n_covariates).
    """

    n_models: int
    first: IntArray
    second: IntArray
    won: FloatArray
    lost: FloatArray
    tied: FloatArray
    covariates: FloatArray

    @property
    def weight(self) -> FloatArray:
        """Votes of each cell."""
        return self.won + self.lost + self.tied

    @property
    def n_covariates(self) -> int:
        """Columns of `covariates`."""
        return int(self.covariates.shape[1])


def sums_at(place: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Return the sum of the values at each place 0..size-1, shape (size,)."""
    return np.bincount(place, weights=values, minlength=size).astype(np.float64, copy=False)


def split_votes(share: FloatArray, weight: FloatArray, ties: Ties) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weight won by the first model, lost by it, and tied, each of shape (n_rows,).

    Raises
    ------
    InputError
        If ties have a probability of their own but a share is none of 0, 1/2 and 1.
    """
    if ties == "half":
        won = weight * share
        return won, weight - won, np.zeros_like(won)
    won, lost, tied = share == 1.0, share == 0.0, share == 0.5
    graded = share.size - int(np.count_nonzero(won | lost | tied))
    if graded:
        raise InputError(
            f"{graded} of {share.size} rows hold a graded preference (a share other than 0, 1/2 and 1); "
            f'ties="{ties}" needs a win, a loss or a tie: round them or use ties="half"'
        )
    return weight * won, weight * lost, weight * tied


def pair_cells(rows: VoteRows, ties: Ties) -> PairCells:
    """Sum votes to cells; without covariates the two sides of a pair become one cell. Cells without weight are left out."""
    n = rows.n_models
    if rows.n_covariates or n * n > _LARGEST_SQUARE:
        # Rows without clusters were merged when they were made.
        rows = merged(rows, keep_clusters=False) if rows.clusters else rows
        won, lost, tied = split_votes(rows.share, rows.weight, ties)
        return _heavy(PairCells(
            n_models=n, first=rows.first, second=rows.second, won=won, lost=lost, tied=tied, covariates=rows.covariates
        ))  # fmt: skip
    place = rows.first * n + rows.second
    won, lost, tied = (sums_at(place, part, n * n).reshape(n, n) for part in split_votes(rows.share, rows.weight, ties))
    won, lost, tied = won + lost.T, lost + won.T, tied + tied.T
    first, second = np.nonzero(np.triu(won + lost + tied, 1))
    return PairCells(
        n_models=n,
        first=first.astype(np.int64),
        second=second.astype(np.int64),
        won=won[first, second],
        lost=lost[first, second],
        tied=tied[first, second],
        covariates=np.zeros((first.size, 0)),
    )


def _heavy(cells: PairCells) -> PairCells:
    """Return the cells that have any weight."""
    heavy = cells.weight > 0.0
    if heavy.all():
        return cells
    return PairCells(
        n_models=cells.n_models,
        first=cells.first[heavy],
        second=cells.second[heavy],
        won=cells.won[heavy],
        lost=cells.lost[heavy],
        tied=cells.tied[heavy],
        covariates=cells.covariates[heavy],
    )
