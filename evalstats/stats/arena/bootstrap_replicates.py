"""Replicates of a bootstrap: votes or whole clusters drawn again, and strengths fitted to all of them at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.sparse.csgraph import connected_components

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.bradley_terry import maximise
from evalstats.stats.arena.existence import win_table
from evalstats.stats.arena.likelihood import PairCells, PairFit, Ties, split_votes
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes
from evalstats.stats.computation import one_thread

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


OnStep: TypeAlias = Callable[[int, int], None]

# Votes won, and as many lost, by every model against an average one: added where a replicate's wins do not connect models.
LENT_VOTES = 0.5

_STEP = 1e-9  # log-units
_MOST_STEPS = 40
_LARGEST_STEP = 2.0
_HELD = 1_000_000  # numbers in one array of a block


@dataclass(frozen=True, slots=True, kw_only=True)
class RefitReplicates:
    """Parameters of every replicate.

    Attributes
    ----------
    parameters
        float64, shape (n_resamples, n_parameters), as in `PairFit`; NaN where there is no optimum.
    apart
        Boolean, shape (n_resamples, n_models): models that wins and ties did not connect with the largest group of models.
        A replicate with any such was fitted with `LENT_VOTES`.
    by_newton
        Boolean, shape (n_resamples,): not settled by steps with the full data's information.
    """

    parameters: FloatArray
    apart: BoolArray
    by_newton: BoolArray


@one_thread
def refit_replicates(
    units: VoteUnits, fit: PairFit, rng: np.random.Generator, n_resamples: int, on_step: OnStep | None = None
) -> RefitReplicates:
    """Draw replicates and fit each, starting at the fit of the full data.

    Where ties count as half a win, every step of every replicate uses the inverse information of the full data (a chord
    method), so that a step of all of them is a few products of matrices. What has not settled after that, and every fit whose
    ties have a parameter, takes Newton's steps of its own.
    """
    frame = _framed(units, fit)
    size = max(1, min(n_resamples, _HELD // max(frame.cells.first.size, units.expected.size)))
    parameters = np.empty((n_resamples, fit.n_parameters))
    apart = np.zeros((n_resamples, fit.n_models), dtype=np.bool_)
    by_newton = np.zeros(n_resamples, dtype=np.bool_)
    for begin in range(0, n_resamples, size):
        end = min(begin + size, n_resamples)
        votes = units.votes(units.draw(rng, end - begin))
        settled = np.zeros(end - begin, dtype=np.bool_)
        if fit.ties == "half":
            parameters[begin:end], settled = _chord(frame, votes[0], votes[1])
        for column in np.flatnonzero(~settled):
            at = begin + int(column)
            parameters[at], apart[at] = _newton(frame, [part[:, column] for part in votes])
        by_newton[begin:end] = ~settled
        if on_step is not None:
            on_step(end, n_resamples)
    return RefitReplicates(parameters=parameters * frame.unit, apart=apart, by_newton=by_newton)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What all replicates share: cells and fit with covariates of mean square 1; parameters times `unit` are the fit's own."""

    cells: PairCells
    design: csr_array
    start: FloatArray
    bread: FloatArray
    unit: FloatArray
    fit: PairFit
    lent: float


def _framed(units: VoteUnits, fit: PairFit) -> _Frame:
    cells, n = units.cells, fit.n_models
    weight = cells.weight
    scale = np.sqrt(weight @ cells.covariates**2 / weight.sum())
    unit = np.ones(fit.n_parameters)
    unit[n : n + scale.size] = 1.0 / scale
    cells = replace(cells, covariates=cells.covariates / scale)
    tau = [] if fit.tie is None else [np.log(fit.tie)]
    size = cells.first.size
    at = np.arange(size)
    ones = np.ones(size)
    sides = csr_array(
        (np.concatenate([ones, -ones]), (np.tile(at, 2), np.concatenate([cells.first, cells.second]))), shape=(size, n)
    )
    return _Frame(
        cells=cells,
        design=csr_array(hstack([sides, csr_array(cells.covariates)])) if scale.size else sides,
        start=np.concatenate([fit.strengths, fit.coefficients, tau]) / unit,
        bread=fit.bread / unit[:, np.newaxis] / unit,
        unit=unit,
        fit=fit,
        lent=LENT_VOTES * units.vote_weight,
    )


def _chord(frame: _Frame, won: FloatArray, lost: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return parameters, shape (n, n_parameters), and which of the replicates settled."""
    n = won.shape[1]
    theta = np.repeat(frame.start[:, np.newaxis], n, axis=1)
    out, settled, active = theta.copy(), np.zeros(n, dtype=np.bool_), np.arange(n, dtype=np.int64)
    lead, level = (won - lost) / 2.0, (won + lost) / 2.0
    across = csr_array(frame.design.T)
    for _ in range(_MOST_STEPS):
        # expit(x) = (1 + tanh(x / 2)) / 2, and tanh neither overflows nor is slow.
        pull = frame.design @ theta
        pull *= 0.5
        np.tanh(pull, out=pull)
        pull *= level
        np.subtract(lead, pull, out=pull)
        gradient = across @ pull
        if frame.fit.prior > 0.0:
            gradient[: frame.fit.n_models] -= frame.fit.prior * np.tanh(theta[: frame.fit.n_models] / 2.0)
        step = frame.bread @ gradient
        largest = np.abs(step).max(axis=0)
        theta = theta + step * np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, 1e-300))
        done = largest <= _STEP
        out[:, active[done]] = theta[:, done]
        settled[active[done]] = True
        if done.all():
            break
        # Copying what is left pays only where it is clearly less.
        if np.count_nonzero(done) > done.size // 4:
            active, theta, lead, level = active[~done], theta[:, ~done], lead[:, ~done], level[:, ~done]
    return out.T, settled


def _newton(frame: _Frame, votes: Sequence[FloatArray]) -> tuple[FloatArray, BoolArray]:
    """Return the parameters of one replicate (NaN where there is no optimum), and the models that are apart."""
    fit = frame.fit
    tied = votes[2] if len(votes) > 2 else np.zeros_like(votes[0])
    cells = replace(frame.cells, won=votes[0], lost=votes[1], tied=tied)
    apart = np.zeros(fit.n_models, dtype=np.bool_) if fit.prior > 0.0 else _apart(cells)
    prior = frame.lent if apart.any() else fit.prior
    if fit.ties != "half" and not 0.0 < float(tied.sum()) < float(cells.weight.sum()):
        return np.full(fit.n_parameters, np.nan), apart
    found = maximise(cells, fit.ties, frame.start, prior=prior)
    return (found.parameters if found.converged else np.full(fit.n_parameters, np.nan)), apart


def _apart(cells: PairCells) -> BoolArray:
    """Return which models wins and ties do not connect with the largest group."""
    graph = csr_array(win_table(cells))
    graph.eliminate_zeros()
    _, label = connected_components(graph, directed=True, connection="strong")
    return label != np.argmax(np.bincount(label))
