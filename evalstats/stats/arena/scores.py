"""Scores of votes, summed by cluster: the middle of every sandwich covariance."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evalstats.errors import InputError
from evalstats.stats.arena.bradley_terry import row_scores
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread

_HELD = 4_000_000  # numbers held at once in a block of clusters by parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Meat:
    """Sum over clusters of the outer product of their scores, and how large the clusters are.

    Attributes
    ----------
    matrix
        float64, shape (n_parameters, n_parameters): sum over clusters g of S_g S_g', with S_g the score of the votes of g.
    n_clusters
        Clusters with a vote of some weight.
    sum_k, sum_k2, largest
        Of the weights k of the votes of each cluster (their number, where all votes weigh 1): sum, sum of squares, maximum.
    """

    matrix: FloatArray
    n_clusters: int
    sum_k: float
    sum_k2: float
    largest: float

    @property
    def effective(self) -> float:
        """How many equal clusters these are worth: (sum k)^2 / sum k^2."""
        return self.sum_k**2 / self.sum_k2

    @property
    def largest_share(self) -> float:
        """Share of all votes in the largest cluster."""
        return self.largest / self.sum_k


@one_thread
def clustered_meat(fit: PairFit, chunks: Iterable[VoteRows], way: int = 0) -> Meat:
    """Sum the outer products of the clusters' scores.

    Parameters
    ----------
    chunks
        Votes. No cluster may lie in two chunks; so votes too many to be held can be read in parts.
    way
        Which of `rows.clusters` holds the clusters.

    Raises
    ------
    InputError
        If there is no such way, or no vote of any weight.

    Notes
    -----
    Whether a cluster lies in two chunks is not checked, since that would take all codes at once.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0], clusters=([0, 0, 1, 1],))
    >>> meat = clustered_meat(fit_strengths(rows), [rows])
    >>> meat.matrix.round(6).tolist(), meat.effective
    ([[0.5, -0.5], [-0.5, 0.5]], 2.0)
    """
    matrix = np.zeros((fit.n_parameters, fit.n_parameters))
    n_clusters, sum_k, sum_k2, largest = 0, 0.0, 0.0, 0.0
    for rows in chunks:
        if not 0 <= way < len(rows.clusters):
            raise InputError(f"way {way} was asked for, but votes have {len(rows.clusters)} ways of clustering")
        for scores, k in score_blocks(fit, rows, rows.clusters[way]):
            matrix += scores.T @ scores
            n_clusters += k.size
            sum_k += float(k.sum())
            sum_k2 += float(np.square(k).sum())
            largest = max(largest, float(k.max()))
    if not n_clusters:
        raise InputError("there are no votes of any weight, so there are no scores")
    return Meat(matrix=matrix, n_clusters=n_clusters, sum_k=sum_k, sum_k2=sum_k2, largest=largest)


@one_thread
def vote_meat(fit: PairFit, rows: VoteRows) -> Meat:
    """Sum the outer products of the scores of single votes: every vote is a cluster of its own.

    A row of c votes whose weights have the sum W and the sum of squares Q adds Q s s', with s the score of one vote of
    weight 1. The largest weight in a row is taken as Q / W, which it is where its votes weigh the same.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [0, 1], count=[3, 1])
    >>> vote_meat(fit_strengths(rows), rows).matrix.round(6).tolist()
    [[0.75, -0.75], [-0.75, 0.75]]
    """
    rows = with_weight(rows)
    if not rows.n_rows:
        raise InputError("there are no votes of any weight, so there are no scores")
    n = rows.n_models
    slope, further = score_columns(fit, rows)
    squares = rows.weight_squares
    matrix = np.zeros((fit.n_parameters, fit.n_parameters))
    between = summed(rows.first * n + rows.second, squares * slope**2, n * n).reshape(n, n)
    between += between.T
    matrix[:n, :n] = np.diag(between.sum(axis=1)) - between
    for j, column in enumerate(further.T):
        both = squares * slope * column
        matrix[:n, n + j] = matrix[n + j, :n] = summed(rows.first, both, n) - summed(rows.second, both, n)
    matrix[n:, n:] = further.T @ (squares[:, np.newaxis] * further)
    return Meat(
        matrix=matrix,
        n_clusters=rows.n_votes,
        sum_k=float(rows.weight.sum()),
        sum_k2=float(squares.sum()),
        largest=float((squares / rows.weight).max()),
    )


def score_blocks(fit: PairFit, rows: VoteRows, codes: IntArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the scores of some clusters, shape (n_clusters, n_parameters), and the weight of their votes, in order of code."""
    for part, local in cluster_parts(rows, codes, max(1, _HELD // fit.n_parameters)):
        yield score_sums(fit, part, local), summed(local, part.weight, int(local[-1]) + 1)


def cluster_parts(rows: VoteRows, codes: IntArray, most: int) -> Iterator[tuple[VoteRows, IntArray]]:
    """Yield the rows of at most `most` clusters at a time, and their clusters numbered from 0 without gaps.

    Rows of no weight are left out, with the clusters that have no other.
    """
    heavy = rows.weight > 0.0
    if not heavy.all():
        rows, codes = rows.take(heavy), codes[heavy]
    if not codes.size:
        return
    if np.any(codes[1:] < codes[:-1]):
        order = np.argsort(codes, kind="stable")
        rows, codes = rows.take(order), codes[order]
    first = np.concatenate([[True], codes[1:] != codes[:-1]])
    place = np.cumsum(first) - 1
    ends = [*np.flatnonzero(first)[::most].tolist(), codes.size]
    for low, high in pairwise(ends):
        yield (rows if high - low == codes.size else rows.take(np.arange(low, high))), place[low:high] - place[low]


def score_sums(fit: PairFit, rows: VoteRows, local: IntArray) -> FloatArray:
    """Return the sums of the scores of rows by cluster, shape (n_clusters, n_parameters)."""
    slope, further = score_columns(fit, rows)
    n, size, count = rows.n_models, fit.n_parameters, int(local.max()) + 1
    pull = slope * rows.weight
    sums = summed(local * size + rows.first, pull, count * size)
    sums -= summed(local * size + rows.second, pull, count * size)
    table = sums.reshape(count, size)
    for j, column in enumerate(further.T):
        table[:, n + j] = summed(local, rows.weight * column, count)
    return table


def score_columns(fit: PairFit, rows: VoteRows) -> tuple[FloatArray, FloatArray]:
    """Return the score of one vote of each row by eta, and by coefficients and tie parameter, (n_rows, number of these)."""
    scores = row_scores(fit, rows)
    by_covariates = scores.slope[:, np.newaxis] * rows.covariates
    if scores.tie_slope is None:
        return scores.slope, by_covariates
    return scores.slope, np.column_stack([by_covariates, scores.tie_slope])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelClusters:
    """How the votes on each model lie in clusters, each of shape (n_models,).

    Attributes
    ----------
    effective
        (sum k)^2 / sum k^2 for the weights k of a model's votes in each cluster; 0 for a model without votes.
    largest_share
        Share of a model's votes in the cluster that holds the most of them.
    """

    effective: FloatArray
    largest_share: FloatArray


def model_clusters(rows: VoteRows, codes: IntArray | None) -> ModelClusters:
    """Count the clusters behind each model; without codes every vote is one of its own."""
    n, both = rows.n_models, np.concatenate([rows.first, rows.second])
    weight = np.concatenate([rows.weight, rows.weight])
    total = summed(both, weight, n)
    if codes is None:
        squares = summed(both, np.concatenate([rows.weight_squares, rows.weight_squares]), n)
        largest = np.zeros(n)
    else:
        # Clusters in order of their code, so that equal ones stand together in a sort of small whole numbers.
        levels, place = np.unique(np.concatenate([codes, codes]) * n + both, return_inverse=True)
        held = summed(place, weight, levels.size)
        squares = summed(levels % n, held**2, n)
        largest = np.zeros(n)
        np.maximum.at(largest, levels % n, held)
    some = np.where(total > 0.0, total, 1.0)
    return ModelClusters(effective=total**2 / np.where(squares > 0.0, squares, 1.0), largest_share=largest / some)


def with_weight(rows: VoteRows) -> VoteRows:
    """Return the rows that have some weight."""
    heavy = rows.weight > 0.0
    return rows if heavy.all() else rows.take(heavy)


def summed(codes: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Return the sums of values by code, shape (size,)."""
    return np.bincount(codes, weights=values, minlength=size).astype(np.float64, copy=False)
