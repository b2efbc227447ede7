"""The covariance of strengths from votes that share raters, prompts, sessions or events, and the variances of contrasts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.grammar import is_are, plural
from evalstats.record import record
from evalstats.stats.arena.bradley_terry import row_scores
from evalstats.stats.arena.likelihood import PairFit, derivatives, linear_predictor, split_votes
from evalstats.stats.arena.votes import VoteRows, summed
from evalstats.stats.checks import FloatArray, IntArray, as_codes, counted_order, few_effective, levels_and_places
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import SMALLEST_P

_HELD = 4_000_000  # numbers held at once in a block of clusters by parameters


@record
class Meat:
    """Sum over clusters of the outer product of their scores, and how large the clusters are.

    `matrix`, of shape (n_parameters, n_parameters), is the sum over clusters g of S_g S_g', with S_g the score of the votes of g.
    `n_clusters` counts those with a vote of some weight; `sum_k`, `sum_k2` and `largest` are of the weights k of their votes.
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
def clustered_meat(fit: PairFit, chunks: Iterable[VoteRows]) -> Meat:
    """Sum the outer products of the scores of the clusters, `rows.clusters[0]`.

    Votes may come in chunks, so that votes too many to be held can be read in parts; no cluster may lie in two of them, which is
    not checked, since that would take all codes at once. InputError if there is no vote of any weight.
    """
    matrix = np.zeros((fit.n_parameters, fit.n_parameters))
    n_clusters, sum_k, sum_k2, largest = 0, 0.0, 0.0, 0.0
    for rows in chunks:
        for part, local in cluster_parts(rows, rows.clusters[0], max(1, _HELD // fit.n_parameters)):
            scores, k = score_sums(fit, part, local), np.bincount(local, weights=part.weight)
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
    """
    rows = rows.heavy()
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


def cluster_parts(rows: VoteRows, codes: IntArray, most: int) -> Iterator[tuple[VoteRows, IntArray]]:
    """Yield the rows of at most `most` clusters at a time, and their clusters numbered from 0 without gaps.

    Rows of no weight are left out, with the clusters that have no other; those of a part stay in their order.
    """
    codes, rows = codes[rows.weight > 0.0], rows.heavy()
    if not codes.size:
        return
    levels, place = levels_and_places(codes)
    if levels.size <= most:
        yield rows, place
        return
    part = place // most
    order = counted_order(part)
    ends = [0, *np.cumsum(np.bincount(part)).tolist()]
    for k, (low, high) in enumerate(pairwise(ends)):
        at = order[low:high]
        yield rows.take(at), place[at] - k * most


def sorted_part(part: tuple[VoteRows, IntArray]) -> tuple[VoteRows, IntArray, IntArray]:
    """Return the rows and clusters of a part sorted by cluster, and where each cluster starts, the end of the last behind."""
    rows, local = part
    order = counted_order(local)
    return rows.take(order), local[order], np.concatenate([[0], np.cumsum(np.bincount(local))])


def clusters_at_once(fit: PairFit, rows: VoteRows, codes: IntArray) -> int:
    """Return of how many clusters the rows may be held beside all parameters."""
    return max(1, _HELD // (fit.n_parameters * max(1, rows.n_rows // max(1, np.unique(codes).size))))


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


def model_clusters(rows: VoteRows, codes: IntArray | None) -> tuple[FloatArray, FloatArray]:
    """Return how the votes on each model lie in clusters; without codes every vote is one of its own.

    (sum k)^2 / sum k^2 for the weights k of a model's votes in each cluster, 0 for a model without votes; and the share of its
    votes in the cluster that holds the most of them.
    """
    n, both = rows.n_models, np.concatenate([rows.first, rows.second])
    weight = np.concatenate([rows.weight, rows.weight])
    total = summed(both, weight, n)
    if codes is None:
        squares = summed(both, np.concatenate([rows.weight_squares, rows.weight_squares]), n)
        largest = np.zeros(n)
    else:
        squares, largest = np.zeros(n), np.zeros(n)
        for part, local in cluster_parts(rows, codes, max(1, _HELD // max(n, 1))):
            place = np.concatenate([local * n + part.first, local * n + part.second])
            count = int(local.max()) + 1
            held = summed(place, np.concatenate([part.weight, part.weight]), count * n).reshape(count, n)
            squares += np.einsum("gm,gm->m", held, held)
            largest = np.maximum(largest, held.max(axis=0))
    some = np.where(total > 0.0, total, 1.0)
    return total**2 / np.where(squares > 0.0, squares, 1.0), largest / some


_LIGHT = 0.01  # below this leverage a cluster's own information changes its step by less than one part in 100
_ALL = 1e-9  # information that would be left in a direction, relative, below which the cluster holds all of it


@one_thread
def jackknifed(fit: PairFit, rows: VoteRows, codes: IntArray) -> tuple[FloatArray, int]:
    """Return the sum over clusters of D_g D_g', with D_g the change of the parameters when cluster g is put back.

    D_g = (H - H_g)^- S_g is one Newton step from the fit of all votes to that without cluster g (up to the sign), with H the
    information, H_g the part of cluster g and S_g its score. (G-1)/G times the sum is the cluster jackknife, which unlike
    the plain sandwich does not take a large cluster's residuals for smaller than they are (Bell & McCaffrey 2002, Survey
    Methodology 28:169). Beside it stands how many clusters hold all that is known of some model or coefficient: leaving them out
    is not possible, and in that direction they add nothing.

    With B = R'R the inverse of H and A'A = H_g, the singular values s of A R' are the cluster's leverages, and
    D_g = R' (I + V diag(s^2 / (1 - s^2)) V') R S_g. Clusters whose leverages add up to less than 0.01 are taken without
    their own part.
    """
    root = bread_root(fit.bread)
    total, n_whole = np.zeros((root.shape[0], root.shape[0])), 0
    block = clusters_at_once(fit, rows, codes)
    for part, local, starts in map(sorted_part, cluster_parts(rows, codes, block)):
        steps = score_sums(fit, part, local) @ root.T
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
    votes = split_votes(rows.share, rows.weight, fit.ties)
    at = derivatives(fit.ties, linear_predictor(fit, rows), fit.tau, votes)
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


# Share of the votes on some model in one cluster from which the jackknife is taken; a cluster's share of all votes is a mean of
# its shares of the models' votes, so that it is never the larger one.
LARGE = 0.05


@record
class Term:
    """The covariance by one way of clustering, or by the intersection of several.

    `jackknife`: whether it is the one-step cluster jackknife, else the sandwich with G/(G - 1); `n_whole`: clusters that hold all
    that is known of some model, counted where the jackknife was taken.
    """

    covariance: FloatArray
    meat: Meat
    model_effective: FloatArray
    jackknife: bool = False
    n_whole: int = 0


def sandwich(bread: FloatArray, meat: FloatArray) -> FloatArray:
    """Return bread @ meat @ bread, symmetric to the last bit."""
    product = bread @ meat @ bread
    return (product + product.T) / 2.0


def _term(fit: PairFit, rows: VoteRows, codes: IntArray) -> Term:
    """Return the covariance clustered by `codes`: jackknife where a cluster is large."""
    meat = clustered_meat(fit, [replace(rows, clusters=(codes,))])
    count = meat.n_clusters
    effective, largest = model_clusters(rows, codes)
    if largest.max() <= LARGE or count == 1:
        covariance = sandwich(fit.bread, meat.matrix) * few_factor(count)
        return Term(covariance=covariance, meat=meat, model_effective=effective)
    total, n_whole = jackknifed(fit, rows, codes)
    covariance = (count - 1) / count * total
    return Term(
        covariance=(covariance + covariance.T) / 2.0,
        meat=meat,
        model_effective=effective,
        jackknife=True,
        n_whole=n_whole,
    )


def _terms(fit: PairFit, rows: VoteRows, columns: Sequence[IntArray]) -> dict[tuple[int, ...], Term]:
    """Return the terms of inclusion and exclusion: each way, each pair of ways, ..., keyed by the ways' places."""
    return {
        chosen: _term(fit, rows, intersection([columns[w] for w in chosen]))
        for size in range(1, len(columns) + 1)
        for chosen in combinations(range(len(columns)), size)
    }


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
    """
    counts = [np.count_nonzero(np.bincount(codes)) for codes in columns]
    kept: list[int] = []
    parent: list[int | None] = [None] * len(columns)
    for w in sorted(range(len(columns)), key=lambda w: counts[w]):
        inside = (c for c in kept if int(intersection([columns[w], columns[c]]).max(initial=-1)) + 1 == counts[w])
        parent[w] = next(inside, None)
        if parent[w] is None:
            kept.append(w)
    return parent


def intersection(columns: Sequence[IntArray]) -> IntArray:
    """Return codes 0, 1, ... of the clusters that share a cluster in every way, of which each has such codes."""
    codes = columns[0]
    for other in columns[1:]:
        codes = levels_and_places(codes * (int(other.max(initial=0)) + 1) + other)[1]
    return codes


ENOUGH_CLUSTERS = 40  # clusters that a way must be worth for claims by a multivariate t: see `strength_ranks`
_NO_VARIANCE = 1e-9  # of the variances that stand in: less than that is none


@record
class Way:
    """A way in which votes share something.

    `n_clusters` counts those with a vote of some weight, and `effective` is (sum k)^2 / sum k^2 for the weights k of their votes:
    how many equal clusters these are worth. `jackknife`: whether its part is the one-step cluster jackknife, taken where the
    largest share of all votes exceeds .05. `nested_in`: the way inside which every one of these clusters lies, so that this one
    adds nothing; None where it was used.
    """

    name: str
    n_clusters: int
    effective: float
    largest_share: float
    jackknife: bool = False
    nested_in: str | None = None


@record
class StrengthCovariance:
    """Covariance of the parameters of a fit, and what may be claimed with it.

    Attributes
    ----------
    covariance
        float64, shape (n_parameters, n_parameters), in the order of the fit's parameters. With several ways of clustering it
        may have negative eigenvalues: variances are to be taken by `contrast_variance` and `combination_variance`.
    joint
        float64, shape (n_models, n_models): the part of the strengths with negative eigenvalues set to 0, for claims about
        several contrasts at once; `repaired` where it differs.
    votes, one_way
        The same as `covariance` if every vote stood on its own, and by each way that was used.
    df
        Degrees of freedom of the t law, of what all votes bear on; of two models see `contrast_df`.
    model_effective
        float64, shape (n_models,): how many equal clusters the votes on each model are worth, in the way where these are the
        fewest.
    ways
        What the votes share, in the order of `rows.clusters`; empty where every vote stands on its own.
    few_clusters
        Whether some way is worth fewer clusters than there are models, or fewer than 40: then claims about several pairs go
        by sign flips of clusters.
    reason
        Why no interval may be claimed; None where it may.
    """

    covariance: FloatArray
    joint: FloatArray
    votes: FloatArray
    one_way: tuple[FloatArray, ...]
    df: float
    model_effective: FloatArray
    method: str
    ways: tuple[Way, ...] = ()
    repaired: bool = False
    few_clusters: bool = False
    reason: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[Way, ...]:
        """Ways that are not nested in another."""
        return tuple(way for way in self.ways if way.nested_in is None)

    @property
    def n_models(self) -> int:
        """Models with a strength."""
        return self.joint.shape[0]


def contrast_variance(covariance: StrengthCovariance, i: ArrayLike, j: ArrayLike) -> FloatArray:
    """Return the variances of strength i less strength j, one for each pair of entries of `i` and `j`: V_ii + V_jj - 2 V_ij.

    Inclusion and exclusion can come out at or below 0 by chance: then the largest of the one-way variances and that of single
    votes is returned.
    """
    first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    return _positive([variances_of(matrix, first, second) for matrix in _matrices(covariance)])


def contrast_df(covariance: StrengthCovariance, i: ArrayLike, j: ArrayLike) -> FloatArray:
    """Return the degrees of freedom of strength i less strength j; NaN where all votes on one of them lie in one cluster.

    min(df, G*_i - 1, G*_j - 1), with G*_i of the votes on model i alone: a model that few raters saw is known no better than
    so many raters allow, however many others there are.
    """
    fewest = np.minimum(covariance.model_effective[np.asarray(i)], covariance.model_effective[np.asarray(j)])
    df = np.minimum(covariance.df, fewest - 1.0)
    return np.where(df > _NO_VARIANCE, df, np.nan)


def variances_of(matrix: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """Return the variances of the differences first - second under one covariance."""
    own = np.diagonal(matrix)
    return own[first] + own[second] - 2.0 * matrix[first, second]


def combination_variance(covariance: StrengthCovariance, weights: ArrayLike) -> FloatArray:
    """Return the variances of combinations of parameters, `weights` of shape (n_combinations, n_parameters).

    As `contrast_variance`, for coefficients and single strengths too.
    """
    rows = np.asarray(weights, dtype=np.float64)
    return _positive([np.einsum("cp,pq,cq->c", rows, matrix, rows) for matrix in _matrices(covariance)])


def _matrices(covariance: StrengthCovariance) -> tuple[FloatArray, ...]:
    """Return the covariance, and behind it those that stand in for it."""
    return (covariance.covariance, covariance.votes, *covariance.one_way)


def _positive(variances: list[FloatArray]) -> FloatArray:
    """Return the first variances, or where they are not positive the largest of the others."""
    value, others = variances[0], np.max(variances[1:], axis=0)
    return np.where(value > _NO_VARIANCE * others, value, others)


def contrast_p(fit: PairFit, covariance: StrengthCovariance, i: ArrayLike, j: ArrayLike) -> FloatArray:
    """Return two-sided p-values of strength i = strength j by the t law; NaN where a contrast has no standard error."""
    first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    variance = contrast_variance(covariance, first, second)
    df = contrast_df(covariance, first, second)
    known = (variance > 0.0) & ~np.isnan(df)
    t = (fit.strengths[first] - fit.strengths[second]) / np.sqrt(np.where(known, variance, 1.0))
    p = 2.0 * special.stdtr(np.where(known, df, 1.0), -np.abs(t))
    return np.where(known, np.maximum(p, SMALLEST_P), np.nan)


def plus(covariance: StrengthCovariance, added: FloatArray) -> StrengthCovariance:
    """Return the covariance with a further part, of shape (n_parameters, n_parameters), that votes do not share."""
    n = covariance.n_models
    return replace(
        covariance,
        covariance=covariance.covariance + added,
        joint=covariance.joint + added[:n, :n],
        votes=covariance.votes + added,
        one_way=tuple(each + added for each in covariance.one_way),
    )


def df_words(df: float) -> str:
    """Write degrees of freedom, with a decimal where they are few."""
    return f"{df:.3g}" if df < 100.0 else f"{df:,.0f}"


FEWEST_CLUSTERS = 6  # with fewer in some way no interval is claimed
_MOST_WAYS = 6
_FEW_DF = 4.0
_NEGATIVE_ROUNDING = 1e-9  # of the largest eigenvalue: less than that below 0 is rounding


def covariance_of(fit: PairFit, rows: VoteRows, *, names: Sequence[str] | None = None) -> StrengthCovariance:
    """Covariance of a fit's parameters, clustered by every way in which votes share something.

    `fit`: strengths fitted to `rows`. `names`: what `rows.clusters` are, for the words of the result; by default "way 1",
    "way 2", ...

    Notes
    -----
    Without clusters: the sandwich B M B of single votes, with B the bread and M the sum of the outer products of scores.
    With one way, M is summed by cluster, times G/(G - 1). With several: inclusion and exclusion over the ways and their
    intersections (for two, V_a + V_b - V_ab), each with its own G/(G - 1). A way whose clusters each lie inside a cluster of
    another is left out. A term of which one cluster holds more than .05 of all votes, or of those on some model, is the
    one-step cluster jackknife: D_g = (H - H_g)^- S_g, V = (G - 1)/G times the sum of D_g D_g'.

    The law of a contrast over its standard error is t with min G* - 1 degrees of freedom, G* = (sum k)^2 / sum k^2 over all
    votes, and over those on either of the two models: see `contrast_df`.

    Coverage of nominal .95 intervals, ten models, 2,000 votes, raters' own preferences of sd .8 and prompts' of sd .6: 100
    raters .95, with the k-th voting in proportion to 1/k .95, 13 prompts .96, both .95 (single votes: .90, .70, .75, .75).
    For a model that 4, 8 or 20 of 100 raters voted on: .97, .97, .96; with the degrees of freedom of all votes and no
    jackknife .79, .88, .92.

    References
    ----------
    Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136; MacKinnon, Nielsen & Webb 2023,
    doi:10.1016/j.jeconom.2022.04.001.
    """
    called = _names(rows, names)
    rows = rows.heavy()
    votes = vote_meat(fit, rows)
    by_vote = sandwich(fit.bread, votes.matrix)
    columns = [as_codes(codes, rows.n_rows)[0] for codes in rows.clusters]
    if not columns:
        effective = model_clusters(rows, None)[0]
        df, n_models = votes.effective - 1.0, effective.size
        return StrengthCovariance(
            covariance=by_vote,
            joint=by_vote[:n_models, :n_models],
            votes=by_vote,
            one_way=(),
            df=df,
            model_effective=effective,
            method=f"sandwich of single votes, t with {df_words(df)} df",
            reason=_too_few("votes", votes.n_clusters),
        )
    parents = nested_in(columns)
    used = [w for w, parent in enumerate(parents) if parent is None]
    found = _terms(fit, rows, [columns[w] for w in used])
    ways = tuple(
        _way(
            called[w],
            found[used.index(w),].meat if parent is None else _sizes(columns[w], rows.weight),
            jackknife=parent is None and found[used.index(w),].jackknife,
            nested=None if parent is None else called[parent],
        )
        for w, parent in enumerate(parents)
    )
    return _assembled(
        inclusion_exclusion(found),
        by_vote,
        tuple(found[k,].covariance for k in range(len(used))),
        ways,
        np.min([found[k,].model_effective for k in range(len(used))], axis=0),
        warnings=_whole(sum(each.n_whole for key, each in found.items() if len(key) == 1)),
    )


def covariance_of_meat(fit: PairFit, meat: Meat, votes: Meat, *, name: str = "way 1") -> StrengthCovariance:
    """Covariance from sums that were read in parts: the sandwich clustered by one way, with G/(G - 1).

    `meat` is from `clustered_meat` over all votes, `votes` from `vote_meat` of the same votes; merged without clusters they are
    few. The jackknife needs the votes themselves; where it would have been taken for the share of all votes, a warning says so.
    How the votes on single models lie in clusters is not known here: degrees of freedom are those of all votes.
    """
    warnings = ()
    if meat.largest_share > LARGE:
        words = (
            f"the largest cluster by {name} holds {meat.largest_share:.0%} of the votes, so the standard errors of this "
            "sandwich are somewhat too small; the jackknife needs all votes at once"
        )
        warnings = (words,)
    covariance = sandwich(fit.bread, meat.matrix) * few_factor(meat.n_clusters)
    way = _way(name, meat, jackknife=False, nested=None)
    by_vote = sandwich(fit.bread, votes.matrix)
    alike = np.full(fit.n_models, meat.effective)
    return _assembled(covariance, by_vote, (covariance,), (way,), alike, warnings=warnings)


def _assembled(
    covariance: FloatArray,
    by_vote: FloatArray,
    one_way: tuple[FloatArray, ...],
    ways: tuple[Way, ...],
    model_effective: FloatArray,
    *,
    warnings: tuple[str, ...],
) -> StrengthCovariance:
    """Put the parts together and say what may be claimed."""
    n_models = model_effective.size
    used = [way for way in ways if way.nested_in is None]
    df = min(way.effective for way in used) - 1.0
    joint, repair = _repaired(covariance, n_models)
    words = " and ".join(way.name + (" (one-step jackknife)" if way.jackknife else "") for way in used)
    few = [way for way in used if way.effective < max(n_models, ENOUGH_CLUSTERS)]
    reasons = [reason for way in used if (reason := _too_few(way.name, way.n_clusters))]
    return StrengthCovariance(
        covariance=covariance,
        joint=joint,
        votes=by_vote,
        one_way=one_way,
        df=df,
        model_effective=model_effective,
        method=f"sandwich clustered by {words}, t with {df_words(df)} df",
        ways=ways,
        repaired=repair > 0.0,
        few_clusters=bool(few),
        reason="; ".join(reasons) or None,
        warnings=(*warnings, *_cautions(few, model_effective, df, repair)),
    )


def _repaired(covariance: FloatArray, n_models: int) -> tuple[FloatArray, float]:
    """Return the strengths' part with negative eigenvalues set to 0, and how much that was."""
    strengths = covariance[:n_models, :n_models]
    values, vectors = np.linalg.eigh(strengths)
    if -values[0] <= _NEGATIVE_ROUNDING * values[-1]:
        return strengths, 0.0
    above = np.maximum(values, 0.0)
    return (vectors * above) @ vectors.T, float((above - values).sum() / above.sum())


def _cautions(few: Sequence[Way], model_effective: FloatArray, df: float, repair: float) -> tuple[str, ...]:
    enough = max(model_effective.size, ENOUGH_CLUSTERS)
    warnings = [
        f"{way.name}: {plural(way.n_clusters, 'cluster')} worth {way.effective:.0f} equal "
        f"{'ones' if way.n_clusters > 1 else 'one'}, where {enough:.0f} are needed to draw from their covariance: which pairs "
        "differ is told by sign flips of clusters"
        for way in few
    ]
    if df < _FEW_DF - 1e-9:
        warnings.append(few_effective(df))
    rare = int(np.count_nonzero(model_effective < FEWEST_CLUSTERS))
    if rare and df >= FEWEST_CLUSTERS - 1:
        warnings.append(
            f"the votes on {rare} model{'s come' if rare > 1 else ' come'} from clusters worth fewer than {FEWEST_CLUSTERS}: "
            "their differences from others have few degrees of freedom and wide intervals"
        )
    if repair > 0.0:
        warnings.append(
            f"the covariance by several ways had negative eigenvalues ({repair:.1%} of the positive ones), which were set to "
            "0 for claims about several pairs"
        )
    return tuple(warnings)


def _whole(n_whole: int) -> tuple[str, ...]:
    if not n_whole:
        return ()
    words = (
        f"{n_whole} cluster{'s hold' if n_whole > 1 else ' holds'} all votes on some model, so how much that model's "
        "strength varies between clusters cannot be seen"
    )
    return (words,)


def _too_few(name: str, count: int) -> str | None:
    if count >= FEWEST_CLUSTERS:
        return None
    return f"{name}: {count} {is_are(count)} too few for an interval; at least {FEWEST_CLUSTERS} are needed"


def _way(name: str, meat: Meat, *, jackknife: bool, nested: str | None) -> Way:
    return Way(
        name=name,
        n_clusters=meat.n_clusters,
        effective=meat.effective,
        largest_share=meat.largest_share,
        jackknife=jackknife,
        nested_in=nested,
    )


def _sizes(codes: IntArray, weight: FloatArray) -> Meat:
    """Return the sizes of clusters without their scores."""
    k = np.bincount(codes, weights=weight)
    return Meat(
        matrix=np.zeros((0, 0)),
        n_clusters=k.size,
        sum_k=float(k.sum()),
        sum_k2=float(np.square(k).sum()),
        largest=float(k.max()),
    )


def _names(rows: VoteRows, names: Sequence[str] | None) -> tuple[str, ...]:
    count = len(rows.clusters)
    if count > _MOST_WAYS:
        raise InputError(f"votes are clustered in {count} ways; give at most {_MOST_WAYS}")
    if names is None:
        return tuple(f"way {w + 1}" for w in range(count))
    if len(names) != count:
        raise InputError(f"{len(names)} names for {count} ways of clustering; give one name for each")
    return tuple(names)
