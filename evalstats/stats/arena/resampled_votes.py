"""Votes drawn again: what a replicate is made of where every vote stands on its own, and where clusters are drawn whole."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.cells import PairCells, split_votes
from evalstats.stats.arena.fit import Ties
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes

_EXACT = 1_000_000  # binomial draws that are cheap enough; beyond, Poisson
_SHARP = 1e10  # weights closer than one part in this are one: sums of them round as their order happens to be


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteUnits:
    """Units that are drawn, and the votes that come with each: one vote of a cell, or all votes of a cluster.

    Attributes
    ----------
    cells
        The cells of a fit, with the votes as they are. Without covariates both sides of a pair are one cell.
    parts
        Sparse, shape (n_parts * n_cells, n_units): weight won by the first model, then lost, then (where ties have a
        parameter) tied, of each cell, that a unit brings when drawn once.
    expected
        float64, shape (n_units,): how often a unit is drawn on average.
    n_drawn
        Draws to a replicate.
    poisson
        Whether every unit is drawn a Poisson number of times, instead of `n_drawn` in all.
    vote_weight
        Weight of a vote on average.
    """

    cells: PairCells
    parts: csr_array
    expected: FloatArray
    n_drawn: int
    poisson: bool
    vote_weight: float

    def draw(self, rng: np.random.Generator, n_resamples: int) -> FloatArray:
        """Return how often each unit is drawn, shape (n_units, n_resamples)."""
        if self.poisson:
            times = rng.poisson(self.expected, size=(n_resamples, self.expected.size))
        else:
            # The rest are draws of votes without weight.
            chances = np.append(self.expected, max(0.0, self.n_drawn - float(self.expected.sum())))
            times = rng.multinomial(self.n_drawn, chances / chances.sum(), size=n_resamples)[:, :-1]
        return np.ascontiguousarray(times.T, dtype=np.float64)

    def votes(self, times: FloatArray) -> tuple[FloatArray, ...]:
        """Return the weight won, lost (and tied) in each cell, each of shape (n_cells, n_resamples)."""
        both, n = self.parts @ times, self.cells.first.size
        return tuple(both[at : at + n] for at in range(0, both.shape[0], n))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """Rows with some weight, the cell of each, and its share seen from the first model of the cell."""

    rows: VoteRows
    place: IntArray
    share: FloatArray
    first: IntArray
    second: IntArray
    covariates: FloatArray


def single_votes(rows: VoteRows, ties: Ties, n_resamples: int) -> VoteUnits:
    """Return units of single votes.

    Parameters
    ----------
    n_resamples
        Replicates that are wanted. Where that makes many draws they are Poisson: a replicate then has a random number of
        votes, and given their number the law is the multinomial one.

    Notes
    -----
    Votes of one row whose weights differ (mean m, mean square q) are drawn as votes of weight q / m and votes of none, such
    that the drawn sum has the mean and the variance that it should have.
    """
    at = _placed(rows)
    # Differing weights are different votes, as far as they can still be told apart.
    each = at.rows.weight_squares / at.rows.weight
    kind = np.rint(each / each.max() * _SHARP)
    label = _numbered(at.place, [at.share, kind])
    _, start, unit = np.unique(label, return_index=True, return_inverse=True)
    weight = np.bincount(unit, weights=at.rows.weight)
    squares = np.bincount(unit, weights=at.rows.weight_squares)
    once = split_votes(at.share[start], squares / weight, ties)
    expected = weight**2 / squares
    n = start.size
    return VoteUnits(
        cells=_cells(at, ties),
        parts=_parts(once[:2] if ties == "half" else once, at.place[start], np.arange(n), at.first.size),
        expected=expected,
        n_drawn=rows.n_votes,
        poisson=n * n_resamples > _EXACT,
        vote_weight=float(at.rows.weight.sum()) / at.rows.n_votes,
    )


def whole_clusters(rows: VoteRows, ties: Ties, way: int) -> VoteUnits:
    """Return units of the clusters of one way, as many drawn as there are."""
    at = _placed(rows)
    codes, n = as_codes(at.rows.clusters[way], at.rows.n_rows)
    once = split_votes(at.share, at.rows.weight, ties)
    return VoteUnits(
        cells=_cells(at, ties),
        parts=_parts(once[:2] if ties == "half" else once, at.place, codes, at.first.size),
        expected=np.ones(n),
        n_drawn=n,
        poisson=False,
        vote_weight=float(at.rows.weight.sum()) / at.rows.n_votes,
    )


def _placed(rows: VoteRows) -> _Placed:
    heavy = rows.weight > 0.0
    rows = rows if heavy.all() else rows.take(heavy)
    if not rows.n_rows:
        raise CannotAnswerError("there are no votes (or none of any weight), so there is nothing to draw from")
    turned = (rows.first > rows.second) & (rows.n_covariates == 0)
    first, second = np.where(turned, rows.second, rows.first), np.where(turned, rows.first, rows.second)
    label = _numbered(first * rows.n_models + second, rows.covariates.T)
    _, start, place = np.unique(label, return_index=True, return_inverse=True)
    return _Placed(
        rows=rows,
        place=place.astype(np.int64),
        share=np.where(turned, 1.0 - rows.share, rows.share),
        first=first[start],
        second=second[start],
        covariates=rows.covariates[start],
    )


def _cells(at: _Placed, ties: Ties) -> PairCells:
    n = at.first.size
    won, lost, tied = (
        np.bincount(at.place, weights=part, minlength=n).astype(np.float64, copy=False)
        for part in split_votes(at.share, at.rows.weight, ties)
    )
    return PairCells(
        n_models=at.rows.n_models,
        first=at.first,
        second=at.second,
        won=won,
        lost=lost,
        tied=tied,
        covariates=at.covariates,
    )


def _parts(once: tuple[FloatArray, ...], place: IntArray, unit: IntArray, n_cells: int) -> csr_array:
    """Sum what every entry brings to its cell, by unit; `once` holds the weight won, lost (and tied) by entry."""
    values, row = np.concatenate(once), np.concatenate([place + k * n_cells for k in range(len(once))])
    some = values != 0.0
    shape = (len(once) * n_cells, int(unit.max()) + 1)
    table = csr_array((values[some], (row[some], np.tile(unit, len(once))[some])), shape=shape)
    table.sum_duplicates()
    return table


def _numbered(label: IntArray, columns: Iterable[FloatArray]) -> IntArray:
    """Return a number for each row, the same for rows alike in all columns, in the order of the columns' values."""
    for column in columns:
        levels, code = np.unique(column, return_inverse=True)
        if levels.size > 1:
            # Compact numbers in between keep the product far from overflow.
            label = (np.unique(label, return_inverse=True)[1] * levels.size + code).astype(np.int64)
    return label
