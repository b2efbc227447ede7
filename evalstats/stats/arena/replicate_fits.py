"""Strengths fitted to many tables of votes on the same pairs at once."""

import numpy as np
from scipy.special import expit

from evalstats.stats.arena.fit import Ties
from evalstats.stats.arena.vote_law import VoteLaw, vote_law
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread

_STEP = 1e-6  # log-units: far below what a statistic of a drawn table needs
_LARGEST_STEP = 1.5
_MOST_STEPS = 30
_RIDGE = 1e-9
_AT_ONCE = 4_000_000  # numbers in one block of matrices


@one_thread
def fit_replicates(
    first: IntArray,
    second: IntArray,
    offset: FloatArray,
    *,
    won: FloatArray,
    tied: FloatArray,
    lost: FloatArray,
    ties: Ties,
    start: FloatArray,
    tie: float,
    prior: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Fit strengths to each of many tables by Fisher scoring.

    Parameters
    ----------
    first, second, offset
        Shape (n_cells,): the pair of every cell, and what is added to its eta.
    won, tied, lost
        float64, shape (n_tables, n_cells): votes of each cell, seen from the first model.
    start, tie
        Strengths, shape (n_models,), and tie parameter to begin with; with "half" it plays no part and is returned as it is.
    prior
        Votes won and lost by every model against an average one.

    Returns
    -------
    tuple
        Strengths, shape (n_tables, n_models), sum 0; tie parameters, shape (n_tables, 1).

    Notes
    -----
    A drawn table may have no finite optimum, where a model won all its votes. Its strengths then stop far out, where the
    likelihood is flat and fitted probabilities no longer change by what a check would see.

    Examples
    --------
    >>> votes = {"won": np.array([[3.0]]), "tied": np.array([[0.0]]), "lost": np.array([[1.0]])}
    >>> pair = np.array([0]), np.array([1]), np.array([0.0])
    >>> found, _ = fit_replicates(*pair, **votes, ties="half", start=np.zeros(2), tie=0.0)
    >>> (found[0, 0] - found[0, 1]).round(6) == np.log(3.0).round(6)
    np.True_
    """
    n_tables, n = won.shape[0], start.size
    strengths = np.repeat(start[None] - start.mean(), n_tables, axis=0)
    parameter = np.full((n_tables, 1), float(tie))
    cells = _Cells(first, second, offset, n)
    size = max(1, _AT_ONCE // max((n + 1) ** 2, first.size))
    for begin in range(0, n_tables, size):
        part = slice(begin, min(begin + size, n_tables))
        strengths[part], parameter[part] = _search(
            cells,
            (won[part], tied[part], lost[part]),
            ties,
            strengths=strengths[part],
            parameter=parameter[part],
            prior=prior,
        )
    return strengths, parameter


class _Cells:
    """Which models a cell is about, and sums by model and by pair."""

    def __init__(self, first: IntArray, second: IntArray, offset: FloatArray, n: int) -> None:
        self.first, self.second, self.offset, self.n = first, second, offset, n
        self.pairs, self.place = np.unique(first * n + second, return_inverse=True)
        order = np.argsort(self.place, kind="stable")
        self.order = None if self.pairs.size == first.size and np.array_equal(order, np.arange(first.size)) else order
        self.begin = np.flatnonzero(np.diff(self.place[order], prepend=-1))
        # Rows of models, columns of pairs: 1 where first, -1 where second.
        self.incidence = np.zeros((n, self.pairs.size))
        self.incidence[self.pairs // n, np.arange(self.pairs.size)] = 1.0
        self.incidence[self.pairs % n, np.arange(self.pairs.size)] = -1.0

    def by_pair(self, values: FloatArray) -> FloatArray:
        if self.order is None:
            return values
        return np.add.reduceat(values[:, self.order], self.begin, axis=1)

    def by_model(self, values: FloatArray) -> FloatArray:
        return self.by_pair(values) @ self.incidence.T

    def laplacian(self, weight: FloatArray) -> FloatArray:
        n, by_pair = self.n, self.by_pair(weight)
        out = np.zeros((weight.shape[0], n, n))
        i, j = self.pairs // n, self.pairs % n
        out[:, i, j] -= by_pair
        out[:, j, i] -= by_pair
        at = np.arange(n)
        out[:, at, at] = -out.sum(axis=2)
        return out


def _search(
    cells: _Cells,
    votes: tuple[FloatArray, FloatArray, FloatArray],
    ties: Ties,
    *,
    strengths: FloatArray,
    parameter: FloatArray,
    prior: float,
) -> tuple[FloatArray, FloatArray]:
    strengths, parameter = strengths.copy(), parameter.copy()
    won, tied, lost = votes
    active: IntArray = np.arange(won.shape[0], dtype=np.int64)
    total = (won + tied + lost)[0]
    for _ in range(_MOST_STEPS):
        s, nu = strengths[active], parameter[active]
        eta = s[:, cells.first] - s[:, cells.second] + cells.offset
        if ties == "half":
            share = expit(eta)
            residual, information = won[active] + tied[active] / 2.0 - total * share, share * (1.0 - share)
            gradient, matrix = _equations(cells, residual, total * information, s, prior)
            step, move = np.linalg.solve(matrix, gradient[..., None])[..., 0], np.zeros_like(nu)
        else:
            law, left = vote_law(ties, eta, nu), (won[active], tied[active], lost[active])
            slope = sum(part * score for part, score in zip(left, law.scores, strict=True))
            gradient, matrix = _equations(cells, np.asarray(slope), total * law.information, s, prior)
            step, move = _with_tie(cells, law, nu, left, equations=(gradient, matrix), davidson=ties == "davidson")
        largest = np.abs(step).max(axis=1, keepdims=True)
        factor = np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, 1e-300))
        strengths[active] = s + factor * step
        parameter[active] = _moved(ties, nu, factor * move)
        far = np.maximum(largest, np.abs(move))[:, 0] > _STEP
        active = active[far]
        if not active.size:
            break
    strengths -= strengths.mean(axis=1, keepdims=True)
    return strengths, parameter


def _equations(
    cells: _Cells, slope: FloatArray, information: FloatArray, strengths: FloatArray, prior: float
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient by strengths and the expected information, its missing direction filled in."""
    gradient, matrix = cells.by_model(slope), cells.laplacian(information)
    n, at = cells.n, np.arange(cells.n)
    if prior > 0.0:
        gradient = gradient + prior * (1.0 - 2.0 * expit(strengths))
        matrix[:, at, at] += 2.0 * prior * expit(strengths) * expit(-strengths)
    level = np.maximum(matrix[:, at, at].mean(axis=1), 1e-300)[:, None, None]
    matrix += level / n
    matrix[:, at, at] += _RIDGE * level[:, 0]
    return gradient - gradient.mean(axis=1, keepdims=True), matrix


def _with_tie(
    cells: _Cells,
    law: VoteLaw,
    tie: FloatArray,
    votes: tuple[FloatArray, FloatArray, FloatArray],
    *,
    equations: tuple[FloatArray, FloatArray],
    davidson: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the step of strengths and of the logarithm of the tie parameter together."""
    chances = (law.win, law.tie, law.loss)
    gradient, matrix = equations
    if davidson:
        by_tie = (-law.tie, 1.0 - law.tie, -law.tie)
    else:
        room = 2.0 * tie**2 / np.maximum(tie**2 - 1.0, 1e-9)
        by_tie = (law.win - 1.0, room - (1.0 - law.win) - (1.0 - law.loss), law.loss - 1.0)
    total = votes[0] + votes[1] + votes[2]
    own = np.asarray(sum(n * u for n, u in zip(votes, by_tie, strict=True))).sum(axis=1)
    curve = (total * np.asarray(sum(p * u**2 for p, u in zip(chances, by_tie, strict=True)))).sum(axis=1)
    both = [p * u * score for p, u, score in zip(chances, by_tie, law.scores, strict=True)]
    cross = cells.by_model(total * (both[0] + both[1] + both[2]))
    found = np.linalg.solve(matrix, np.stack([gradient, cross], axis=2))
    left = np.maximum(curve - (cross * found[..., 1]).sum(axis=1), 1e-9 * np.maximum(curve, 1e-300))
    move = np.clip((own - (cross * found[..., 0]).sum(axis=1)) / left, -1.0, 1.0)
    return found[..., 0] - move[:, None] * found[..., 1], move[:, None]


def _moved(ties: Ties, tie: FloatArray, move: FloatArray) -> FloatArray:
    if ties == "rao-kupper":
        # theta stays above 1: its excess is halved at most.
        return np.maximum(tie * np.exp(move), 1.0 + (tie - 1.0) / 2.0)
    return tie * np.exp(move)
