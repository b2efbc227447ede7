"""Scores of votes summed by cluster, and the sandwich covariances and jackknife steps made of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from evalstats.errors import InputError
from evalstats.stats.arena.bradley_terry import row_scores
from evalstats.stats.arena.likelihood import PairFit, derivatives, split_votes
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes
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


_LIGHT = 0.01  # below this leverage a cluster's own information changes its step by less than one part in 100
_ALL = 1e-9  # information that would be left in a direction, relative, below which the cluster holds all of it


@one_thread
def jackknifed(fit: PairFit, rows: VoteRows, codes: IntArray) -> tuple[FloatArray, int]:
    """Return the sum over clusters of D_g D_g', with D_g the change of the parameters when cluster g is put back.

    D_g = (H - H_g)^- S_g is one Newton step from the fit of all votes to that without cluster g (up to the sign), with H the
    information, H_g the part of cluster g and S_g its score. (G-1)/G times the sum is the cluster jackknife, which unlike
    the plain sandwich does not take a large cluster's residuals for smaller than they are.

    Returns
    -------
    tuple
        The sum, float64, shape (n_parameters, n_parameters); and how many clusters hold all that is known of some model or
        coefficient: leaving them out is not possible, and in that direction they add nothing.

    Notes
    -----
    With B = R'R the inverse of H and A'A = H_g, the singular values s of A R' are the cluster's leverages, and
    D_g = R' (I + V diag(s^2 / (1 - s^2)) V') R S_g. Clusters whose leverages add up to less than 0.01 are taken without
    their own part.

    References
    ----------
    Bell & McCaffrey 2002, Survey Methodology 28:169; MacKinnon, Nielsen & Webb 2023, doi:10.1016/j.jeconom.2022.04.001.
    """
    root = bread_root(fit.bread)
    total, n_whole = np.zeros((root.shape[0], root.shape[0])), 0
    each = max(1.0, rows.n_rows / max(1, np.unique(codes).size))
    for part, local in cluster_parts(rows, codes, max(1, int(_HELD / (fit.n_parameters * each)))):
        steps = score_sums(fit, part, local) @ root.T
        # Where a cluster starts among the rows, which are sorted by cluster.
        starts = np.concatenate([[0], np.cumsum(np.bincount(local))])
        leverage = information_roots(fit, part, root)
        traces = np.bincount(np.repeat(local, leverage.shape[1]), weights=np.square(leverage).sum(axis=2).ravel())
        for g in np.flatnonzero(traces >= _LIGHT).tolist():
            own = leverage[starts[g] : starts[g + 1]].reshape(-1, root.shape[0])
            _, size, turn = np.linalg.svd(own, full_matrices=False)
            left = 1.0 - np.square(size)
            whole = left <= _ALL
            n_whole += bool(whole.any())
            along = turn @ steps[g]
            steps[g] += turn.T @ (along * np.where(whole, -1.0, np.square(size) / np.where(whole, 1.0, left)))
        total += steps.T @ steps
    return root.T @ total @ root, n_whole


def information_roots(fit: PairFit, rows: VoteRows, root: FloatArray) -> FloatArray:
    """Return a with a'a = R J R' for the information J of each row, shape (n_rows, 1 or 2, number of rows of `root`).

    The second of two is there where ties have a parameter.
    """
    n, k = fit.n_models, fit.coefficients.size
    eta = fit.strengths[rows.first] - fit.strengths[rows.second] + rows.covariates @ fit.coefficients
    tau = 0.0 if fit.tie is None else float(np.log(fit.tie))
    at = derivatives(fit.ties, eta, tau, split_votes(rows.share, rows.weight, fit.ties))
    by_row = root.T
    by_eta = by_row[rows.first] - by_row[rows.second] + rows.covariates @ by_row[n : n + k]
    size = np.sqrt(at.curve)[:, np.newaxis]
    if fit.tie is None:
        return (size * by_eta)[:, np.newaxis]
    # Cholesky of the 2 x 2 curvature; rounding may leave a hair below 0 of a tie parameter's own information.
    slant = (at.cross / np.sqrt(at.curve))[:, np.newaxis]
    rest = np.sqrt(np.maximum(at.tie_curve[:, np.newaxis] - slant**2, 0.0))
    return np.stack([size * by_eta + slant * by_row[-1], rest * by_row[-1]], axis=1)


def bread_root(bread: FloatArray) -> FloatArray:
    """Return R with R'R = bread and as many rows as the bread has directions."""
    values, vectors = np.linalg.eigh(bread)
    kept = values > values[-1] * 1e-13
    return np.sqrt(values[kept])[:, np.newaxis] * vectors[:, kept].T


LARGE = 0.05  # share of all votes, or of those on one model, in one cluster, from which the jackknife is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """The covariance by one way of clustering, or by the intersection of several.

    Attributes
    ----------
    jackknife
        Whether it is the one-step cluster jackknife; else the sandwich with G/(G - 1).
    n_whole
        Clusters that hold all that is known of some model, counted where the jackknife was taken.
    """

    covariance: FloatArray
    meat: Meat
    models: ModelClusters
    jackknife: bool = False
    n_whole: int = 0


def sandwich(bread: FloatArray, meat: FloatArray) -> FloatArray:
    """Return bread @ meat @ bread, symmetric to the last bit."""
    product = bread @ meat @ bread
    return (product + product.T) / 2.0


def term(fit: PairFit, rows: VoteRows, codes: IntArray, *, plain: bool) -> Term:
    """Return the covariance clustered by `codes`: jackknife where a cluster is large, unless `plain`."""
    meat = clustered_meat(fit, [replace(rows, clusters=(codes,))])
    count = meat.n_clusters
    models = model_clusters(rows, codes)
    if not plain and max(meat.largest_share, models.largest_share.max()) > LARGE and count > 1:
        total, n_whole = jackknifed(fit, rows, codes)
        covariance = (count - 1) / count * total
        return Term(
            covariance=(covariance + covariance.T) / 2.0, meat=meat, models=models, jackknife=True, n_whole=n_whole
        )
    return Term(covariance=sandwich(fit.bread, meat.matrix) * few_factor(count), meat=meat, models=models)


def terms(fit: PairFit, rows: VoteRows, columns: Sequence[IntArray], *, plain: bool) -> dict[tuple[int, ...], Term]:
    """Return the terms of inclusion and exclusion: each way, each pair of ways, ..., keyed by the ways' places."""
    found: dict[tuple[int, ...], Term] = {}
    for size in range(1, len(columns) + 1):
        for chosen in combinations(range(len(columns)), size):
            codes = intersection([columns[w] for w in chosen])
            found[chosen] = term(fit, rows, codes, plain=plain)
    return found


def inclusion_exclusion(found: Mapping[tuple[int, ...], Term]) -> FloatArray:
    """Return the sum of the terms: added for odd numbers of ways, subtracted for even."""
    return sum(
        ((-1.0) ** (len(chosen) + 1) * each.covariance for chosen, each in found.items()),
        start=np.zeros_like(next(iter(found.values())).covariance),
    )


def few_factor(n_clusters: int) -> float:
    """Return G/(G - 1), which makes up for residuals that were fitted; 1 for a single cluster, which has no variance."""
    return n_clusters / (n_clusters - 1) if n_clusters > 1 else 1.0


def nested_in(columns: Sequence[IntArray]) -> list[int | None]:
    """Return for each way the one of fewer clusters inside whose clusters all of its own lie; None for ways to be kept.

    Of ways that are the same in other names the first is kept.

    Examples
    --------
    >>> nested_in([np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])])
    [1, None, None]
    """
    counts = [int(np.unique(codes).size) for codes in columns]
    kept: list[int] = []
    parent: list[int | None] = [None] * len(columns)
    for w in sorted(range(len(columns)), key=lambda w: counts[w]):
        inside = (c for c in kept if int(intersection([columns[w], columns[c]]).max(initial=-1)) + 1 == counts[w])
        parent[w] = next(inside, None)
        if parent[w] is None:
            kept.append(w)
    return parent


def intersection(columns: Sequence[IntArray]) -> IntArray:
    """Return codes 0, 1, ... of the clusters that share a cluster in every way."""
    codes = columns[0]
    for other in columns[1:]:
        codes = np.unique(codes * (int(other.max(initial=0)) + 1) + other, return_inverse=True)[1]
    return as_codes(codes, codes.size)[0] if codes.size else codes
