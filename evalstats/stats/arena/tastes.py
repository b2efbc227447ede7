"""Tastes: votes of one rater (or on one prompt) lean the same way, which draws of honest votes must show too.

Strengths as a cluster of votes has them are everybody's plus independent normal amounts. Their standard deviation is taken
from how much residuals of one cluster go together.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from evalstats.stats.arena.fit import PairFit, Ties
from evalstats.stats.arena.honest_votes import ATTENUATION
from evalstats.stats.arena.sandwich import nested_in
from evalstats.stats.arena.scores import summed
from evalstats.stats.arena.vote_law import linear_predictor, tie_parameter, vote_law
from evalstats.stats.arena.votes import A_WINS, TIE, VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes

_NODES, _AREAS = np.polynomial.hermite_e.hermegauss(41)
_GRID = np.concatenate([[0.0], np.geomspace(0.02, 4.0, 60)])  # standard deviations
_POOL = 4_096  # rows of normal numbers that clusters draw from


@dataclass(frozen=True, slots=True, kw_only=True)
class Tastes:
    """Ways of clustering in which tastes show, and their standard deviations in log-units.

    Attributes
    ----------
    codes
        int64, shape (n_rows,), for each way.
    sd
        One for each way, above 0.
    """

    codes: tuple[IntArray, ...] = ()
    sd: tuple[float, ...] = ()

    @property
    def sharper(self) -> float:
        """By how much strengths of one cluster are further apart than those of all, whose votes tastes blur."""
        return math.sqrt(1.0 + ATTENUATION * 2.0 * sum(sd**2 for sd in self.sd))


def tastes_of(fit: PairFit, rows: VoteRows) -> Tastes:
    """Estimate the tastes of every way in which votes are clustered.

    Notes
    -----
    With r the residual of a vote's share, v its derivative by eta and x the contrast of its two models, tastes with variance
    s^2 give two votes of one cluster the covariance s^2 v v' x'x (to first order). So the sum over pairs of votes of one
    cluster of r r' x'x, over that of v v' (x'x)^2, estimates s^2. What first order leaves out is put right by the exact
    variance of a share between equals, and what the fit takes away by G*/(G* - 1) for clusters worth G* equal ones. A way
    inside another (sessions of a rater) is left with what it adds.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rng = np.random.default_rng(0)
    >>> rater, first = np.repeat(np.arange(200), 30), rng.integers(0, 5, 6000)
    >>> second = (first + rng.integers(1, 5, 6000)) % 5
    >>> own = 0.8 * rng.normal(size=(200, 5))
    >>> lost = rng.random(6000) > expit(own[rater, first] - own[rater, second])
    >>> rows = vote_rows(first, second, lost.astype(int), clusters=(rater,))
    >>> [round(sd, 1) for sd in tastes_of(fit_strengths(rows), rows).sd]
    [0.8]
    """
    if not rows.clusters or not rows.n_rows:
        return Tastes()
    law = vote_law(fit.ties, linear_predictor(fit, rows), tie_parameter(fit, rows))
    share = np.where(rows.outcome == A_WINS, 1.0, np.where(rows.outcome >= TIE, 0.5, 0.0))
    count = rows.count.astype(np.float64)
    residual, slope = share - law.share, law.slope
    columns = [as_codes(codes, rows.n_rows)[0] for codes in rows.clusters]
    inside = nested_in(columns)
    squares = [_together(rows, codes, count, residual, slope) for codes in columns]
    kept: list[tuple[IntArray, float]] = []
    for way, codes in enumerate(columns):
        parent = inside[way]
        square = squares[way] - (0.0 if parent is None else max(squares[parent], 0.0))
        sd = _spread(square, fit.ties, tie_parameter(fit, rows))
        if sd > 0.0:
            kept.append((codes, sd))
    return Tastes(codes=tuple(codes for codes, _ in kept), sd=tuple(sd for _, sd in kept))


def _together(rows: VoteRows, codes: IntArray, count: FloatArray, residual: FloatArray, slope: FloatArray) -> float:
    """Return the variance of tastes to first order; 0 where no cluster has two votes."""
    n, k = int(codes.max()) + 1, rows.n_models
    low, high = np.minimum(rows.first, rows.second), np.maximum(rows.first, rows.second)
    cell, place = np.unique(np.concatenate([codes * k + rows.first, codes * k + rows.second]), return_inverse=True)
    pull = summed(place, np.concatenate([count * residual, -count * residual]), cell.size)
    known = summed(place, np.tile(count * slope, 2), cell.size)
    _, pair = np.unique((codes * k + low) * k + high, return_inverse=True)
    met = summed(pair, count * slope, int(pair.max()) + 1)
    # A vote together with itself tells nothing of tastes.
    found = float(pull @ pull) - 2.0 * float(count @ residual**2)
    expected = float(known @ known) + 2.0 * float(met @ met) - 4.0 * float(count @ slope**2)
    if expected <= 1e-9 * float(known @ known):
        return 0.0
    size = summed(codes, count, n)
    worth = float(size.sum()) ** 2 / float(size @ size)
    return found / expected * worth / max(worth - 1.0, 0.5)


def _spread(square: float, ties: Ties, tie: float) -> float:
    """Return the standard deviation of tastes that makes shares between equals vary as much as found."""
    if square <= 0.0:
        return 0.0
    shares = vote_law(ties, math.sqrt(2.0) * _GRID[:, None] * _NODES, tie).share
    varies = ((shares - 0.5) ** 2) @ (_AREAS / _AREAS.sum())
    slope = float(vote_law(ties, np.zeros(1), tie).slope[0])
    return float(np.interp(2.0 * slope**2 * square, varies, _GRID))


@dataclass(frozen=True, slots=True, kw_only=True)
class TastedCells:
    """Votes of every cell by whose tastes they follow.

    Attributes
    ----------
    first, second
        int64, shape (n_entries,): models of an entry, all votes of one cell and of the same clusters.
    start
        Where each cell begins among the entries.
    cell
        int64, shape (n_entries,).
    part
        float64, shape (n_entries,): share of the cell's votes.
    codes
        For each way the cluster of every entry.
    """

    tastes: Tastes
    n_models: int
    first: IntArray
    second: IntArray
    start: IntArray
    cell: IntArray
    part: FloatArray
    codes: tuple[IntArray, ...]

    def shifted(self, eta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw log-odds of cells from tastes of their raters, shape (n, n_cells); shares are on average those of `eta`."""
        middle = (self.tastes.sharper * eta)[self.cell]
        pools = [rng.standard_normal((max(_POOL, int(codes.max()) + 1), self.n_models)) for codes in self.codes]
        out = np.empty((n, eta.size))
        for draw, leaned in zip(range(n), self._lean(pools, rng), strict=False):
            out[draw] = np.add.reduceat(self.part * expit(middle + leaned), self.start)
        return logit(np.clip(out, 1e-12, 1.0 - 1e-12))

    def _lean(self, pools: list[FloatArray], rng: np.random.Generator) -> Iterator[FloatArray]:
        """Give every cluster a row of the pool anew, with random signs: cheaper than normal numbers for each draw."""
        k = self.n_models
        while True:
            total = np.zeros(self.first.size)
            for codes, sd, pool in zip(self.codes, self.tastes.sd, pools, strict=True):
                row = rng.permutation(pool.shape[0])[codes] * k
                own = (pool * (rng.integers(0, 2, k) * 2.0 - 1.0)).ravel()
                total += sd * (own[row + self.first] - own[row + self.second])
            yield total


def tasted_cells(rows: VoteRows, cell: IntArray, pairs: tuple[IntArray, IntArray], tastes: Tastes) -> TastedCells:
    """Sort votes by cell and by whose tastes they follow.

    Parameters
    ----------
    cell
        int64, shape (n_rows,): the cell of every row, 0, 1, ... without gaps.
    pairs
        Models of every cell.
    """
    key = cell
    for codes in tastes.codes:
        key = np.unique(key * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    # Numbers of keys ascend with those of cells, so that entries of a cell stand together.
    _, at, place = np.unique(key, return_index=True, return_inverse=True)
    count = summed(place, rows.count.astype(np.float64), at.size)
    of_cell = cell[at]
    start = np.flatnonzero(np.diff(of_cell, prepend=-1))
    total = summed(of_cell, count, start.size)
    return TastedCells(
        tastes=tastes,
        n_models=rows.n_models,
        first=pairs[0][of_cell],
        second=pairs[1][of_cell],
        start=start.astype(np.int64),
        cell=of_cell,
        part=count / total[of_cell],
        codes=tuple(codes[at] for codes in tastes.codes),
    )
