"""Strengths and scores of votes from slices, periods or categories, and tests that they are equal in all."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.bradley_terry import fit_strengths, row_scores
from evalstats.stats.arena.covariance import (
    FEWEST_CLUSTERS,
    StrengthCovariance,
    combination_variance,
    covariance_of,
    few_factor,
    intersection,
    nested_in,
    summed,
)
from evalstats.stats.arena.likelihood import PairFit, Ties, connection, linear_predictor, tie_parameter, vote_law
from evalstats.stats.arena.parametric_bootstrap import pseudo_inverse
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFit:
    """Strengths of the models that a part of the votes connects.

    `models`, ascending, are those of the largest connected group, in the numbering of all votes; `fit` and `covariance` are in
    their order.
    """

    models: IntArray
    fit: PairFit
    covariance: StrengthCovariance

    def against(self, anchors: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return each model's strength less the anchors' mean, and the standard errors; shape (n_models,).

        A difference without an error (the only anchor itself) has NaN for it.
        """
        inside = np.isin(self.models, anchors)
        weights = np.zeros((self.models.size, self.fit.n_parameters))
        weights[:, : self.models.size] = np.eye(self.models.size) - inside / inside.sum()
        variance = combination_variance(self.covariance, weights)
        known = variance > 1e-12 * max(float(variance.max(initial=0.0)), 1e-300)
        error = np.where(known, np.sqrt(np.where(known, variance, 1.0)), np.nan)
        return self.fit.strengths - float(self.fit.strengths[inside].mean()), error


def slice_fit(rows: VoteRows, *, ties: Ties = "half", prior: float = 0.0) -> SliceFit:
    """Fit strengths to a part of the votes with their covariance, for the models that `slice_strengths` rates."""
    models, fit, numbered = slice_strengths(rows, ties=ties, prior=prior)
    return SliceFit(models=models, fit=fit, covariance=covariance_of(fit, numbered))


def slice_strengths(rows: VoteRows, *, ties: Ties = "half", prior: float = 0.0) -> tuple[IntArray, PairFit, VoteRows]:
    """Fit strengths to a part of the votes, for the largest group of models that these votes connect.

    Models are numbered as in all votes; with a prior every model that has a vote is rated. Returned are the models, ascending;
    their fit, in that order; and the votes between them, numbered so.

    Raises
    ------
    CannotAnswerError
        If the votes connect no two models.
    """
    heavy = rows.heavy()
    if not heavy.n_rows:
        raise CannotAnswerError("there are no votes of any weight")
    if prior > 0.0:
        models = np.unique(np.concatenate([heavy.first, heavy.second]))
    else:
        largest = max(connection(heavy).components, key=len)
        if len(largest) < 2:
            raise CannotAnswerError("the votes connect no two models: every pair has a side that never got anything")
        models = np.array(sorted(largest), dtype=np.int64)
    place = np.full(rows.n_models, -1, dtype=np.int64)
    place[models] = np.arange(models.size)
    inside = heavy.take((place[heavy.first] >= 0) & (place[heavy.second] >= 0))
    numbered = replace(inside, n_models=models.size, first=place[inside.first], second=place[inside.second])
    return models, fit_strengths(numbered, ties=ties, prior=prior), numbered


_MANY = 2_000  # clusters
_QUICK = 1_000  # parameters of which a covariance is factored quickly
_HELD = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicedScores:
    """Votes with the slice of each (0..n_slices-1), and what they say of strengths at some eta.

    `score`, of shape (n_rows,), is the derivative of the log-likelihood of one vote of the row by eta; `information`, of shape
    (n_slices, n_models, n_models), the expected information on strengths of every slice.
    """

    rows: VoteRows
    slices: IntArray
    n_slices: int
    score: FloatArray
    information: FloatArray

    @property
    def n_models(self) -> int:
        """Models."""
        return self.rows.n_models

    def gradient(self) -> FloatArray:
        """Return the sums of scores, shape (n_slices, n_models)."""
        pull = self.rows.weight * self.score
        at, size = self.slices * self.n_models, self.n_slices * self.n_models
        total = summed(at + self.rows.first, pull, size) - summed(at + self.rows.second, pull, size)
        return total.reshape(self.n_slices, self.n_models)

    def by_cluster(self, codes: IntArray, factor: FloatArray | None = None) -> csr_array:
        """Return the scores of clusters, sparse, shape (n_clusters, n_slices * n_models)."""
        n = int(codes.max(initial=-1)) + 1
        at = self.slices * self.n_models
        pull = self.rows.weight * self.score * (1.0 if factor is None else factor)
        return csr_array(
            (
                np.concatenate([pull, -pull]),
                (np.tile(codes, 2), np.concatenate([at + self.rows.first, at + self.rows.second])),
            ),
            shape=(n, self.n_slices * self.n_models),
        )

    def vote_meat(self, factor: FloatArray | None = None) -> FloatArray:
        """Return the sum of outer products of single votes' scores in every slice, shape (n_slices, n_models, n_models)."""
        return self.laplacians(self.rows.weight_squares * self.score**2 * (1.0 if factor is None else factor))

    def laplacians(self, weight: FloatArray) -> FloatArray:
        """Return sums of weight d d' over rows with contrasts d, shape (n_slices, n_models, n_models)."""
        return _laplacians(self.rows, self.slices, self.n_slices, weight)


def sliced_scores(
    fit: PairFit, rows: VoteRows, slices: IntArray, n_slices: int, *, shift: FloatArray | None = None
) -> SlicedScores:
    """Return scores and information of votes at a fit, with `shift`, shape (n_rows,), added to eta."""
    eta = linear_predictor(fit, rows)
    if shift is None:
        score = row_scores(fit, rows).slope
        law = vote_law(fit.ties, eta, tie_parameter(fit, rows))
    else:
        eta = eta + shift
        law = vote_law(fit.ties, eta, tie_parameter(fit, rows))
        # Between a loss, a tie and a win the score of a graded share is linear, as it is for "half".
        win, tie, loss = law.scores
        far = np.abs(rows.share - 0.5) * 2.0
        score = (1.0 - far) * tie + far * np.where(rows.share > 0.5, win, loss)
    return SlicedScores(
        rows=rows,
        slices=slices,
        n_slices=n_slices,
        score=score,
        information=_laplacians(rows, slices, n_slices, rows.weight * law.information),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering:
    """Ways of clustering in use, those of which no way lies inside another.

    Attributes
    ----------
    ways
        Codes of each, shape (n_rows,); empty where every vote stands on its own.
    terms
        What inclusion and exclusion adds (sign 1) and subtracts (-1): sign, codes, number of clusters.
    df
        min (sum k)^2 / sum k^2 - 1 over the ways, k the weights of clusters' votes.
    fewest
        Clusters of the way that has the fewest.
    """

    ways: tuple[IntArray, ...]
    terms: tuple[tuple[float, IntArray, int], ...]
    df: float
    fewest: int


def clustering(rows: VoteRows) -> Clustering:
    """Return the ways of clustering that count."""
    columns = [as_codes(codes, rows.n_rows)[0] for codes in rows.clusters] if rows.n_rows else []
    ways = tuple(column for column, parent in zip(columns, nested_in(columns), strict=True) if parent is None)
    terms: list[tuple[float, IntArray, int]] = []
    for chosen in range(1, 2 ** len(ways)):
        members = [way for k, way in enumerate(ways) if chosen >> k & 1]
        codes = intersection(members)
        terms.append((1.0 if len(members) % 2 else -1.0, codes, int(codes.max(initial=-1)) + 1))
    if not ways:
        squares = float(rows.weight_squares.sum())
        df = float(rows.weight.sum()) ** 2 / max(squares, 1e-300) - 1.0
        return Clustering(ways=(), terms=(), df=df, fewest=rows.n_votes)
    sizes = [summed(way, rows.weight, int(way.max()) + 1) for way in ways]
    effective = [float(size.sum()) ** 2 / float(size @ size) for size in sizes]
    return Clustering(ways=ways, terms=tuple(terms), df=min(effective) - 1.0, fewest=min(s.size for s in sizes))


def enough_clusters(used: Clustering) -> None:
    """Raise CannotAnswerError where clusters are too few to tell change from chance."""
    if used.fewest < FEWEST_CLUSTERS:
        raise CannotAnswerError(
            f"votes come from {used.fewest} clusters; at least {FEWEST_CLUSTERS} are needed to tell change from chance"
        )


def draws(scores: SlicedScores, codes: IntArray | None, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw sums of clusters' scores with random signs, shape (n, n_slices, n_models).

    With more than 2,000 clusters, or single votes, normal draws with the same covariance take their place where that is
    quicker.
    """
    shape = (n, scores.n_slices, scores.n_models)
    if codes is None:
        roots = [_root(block) for block in scores.vote_meat()]
        return np.stack([rng.standard_normal((n, scores.n_models)) @ root.T for root in roots], axis=1)
    table = scores.by_cluster(codes)
    count, size = table.shape
    normal_is_cheaper = count > _MANY and size <= _QUICK
    if normal_is_cheaper:
        root = _root(np.asarray((table.T @ table).toarray(), dtype=np.float64))
        return (rng.standard_normal((n, size)) @ root.T).reshape(shape)
    each = max(1, _HELD // count)
    parts = [
        np.asarray((rng.integers(0, 2, size=(min(each, n - at), count)) * 2.0 - 1.0) @ table, dtype=np.float64)
        for at in range(0, n, each)
    ]
    # Without the factor 7% of 400 tables of equal strengths were below .05 with 15 clusters, with it 5%.
    return np.concatenate(parts).reshape(shape) * few_factor(count) ** 0.5


def heterogeneity_draws(scores: SlicedScores, used: Clustering, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw `heterogeneity` where slices do not differ, shape (n,).

    With several ways of clustering the draws of all ways are added, and the values scaled to the mean that inclusion and
    exclusion gives (never less than that of any one way).
    """
    if len(used.ways) < 2:
        return heterogeneity(scores, draws(scores, used.ways[0] if used.ways else None, n, rng))
    total = np.zeros((n, scores.n_slices, scores.n_models))
    for codes in used.ways:
        total += draws(scores, codes, n, rng)
    drawn = heterogeneity(scores, total)
    inverse = [pseudo_inverse(block) for block in scores.information]
    common = pseudo_inverse(scores.information.sum(axis=0))
    same = np.tile(np.eye(scores.n_models), (scores.n_slices, 1))
    means = [(sign, mean_quadratic(scores, codes, inverse, same, common)) for sign, codes, _ in used.terms]
    wanted = max(sum(sign * mean for sign, mean in means), *(mean for sign, mean in means if sign > 0.0))
    return drawn * (wanted / max(float(drawn.mean()), 1e-300))


def mean_quadratic(
    scores: SlicedScores, codes: IntArray, inverse: list[FloatArray], moved: FloatArray, common: FloatArray
) -> float:
    """Return the mean over random signs of sum of u' K u over slices, less v' C v for v the sum of Y'u.

    `inverse` holds K of every slice, `moved` is Y, shape (n_slices * n_models, n_models), and `common` is C.
    """
    n = scores.n_models
    # A cluster's votes of one slice alone matter for the first part.
    apart = as_codes(codes * scores.n_slices + scores.slices, codes.size)[0]
    table = scores.by_cluster(apart)
    of_row = np.zeros(table.shape[0], dtype=np.int64)
    of_row[apart] = scores.slices
    total = 0.0
    for s, matrix in enumerate(inverse):
        own = table[of_row == s][:, s * n : (s + 1) * n]
        total += float(np.sum(matrix * (own.T @ own).toarray()))
    together = scores.by_cluster(codes)
    sums = np.asarray(together @ moved, dtype=np.float64)
    return (total - float(np.sum(common * (sums.T @ sums)))) * few_factor(together.shape[0])


def heterogeneity(scores: SlicedScores, gradient: FloatArray) -> FloatArray:
    """Return the sum over slices of u' I^- u, u the scores (..., n_slices, n_models) less the common strengths' part."""
    total = np.zeros(gradient.shape[:-2])
    for k in range(scores.n_slices):
        own = gradient[..., k, :]
        total = total + ((own @ pseudo_inverse(scores.information[k])) * own).sum(axis=-1)
    # sum of (u - I c)' I^- (u - I c) with c the common step is sum of u' I^- u less what the common step explains.
    both = gradient.sum(axis=-2)
    return total - ((both @ pseudo_inverse(scores.information.sum(axis=0))) * both).sum(axis=-1)


def rank_between(scores: SlicedScores) -> int:
    """Return how many ways there are in which slices could differ: degrees of freedom of the plain chi-squared law."""
    each = sum(int(np.linalg.matrix_rank(block, hermitian=True)) for block in scores.information)
    return each - int(np.linalg.matrix_rank(scores.information.sum(axis=0), hermitian=True))


def _laplacians(rows: VoteRows, slices: IntArray, n_slices: int, weight: FloatArray) -> FloatArray:
    n = rows.n_models
    between = summed((slices * n + rows.first) * n + rows.second, weight, n_slices * n * n).reshape(n_slices, n, n)
    between = between + between.transpose(0, 2, 1)
    out = -between
    at = np.arange(n)
    out[:, at, at] = between.sum(axis=2)
    return out


def _root(covariance: FloatArray) -> FloatArray:
    """Return L with L L' the covariance, which may be singular: a ridge of 1e-10 of the largest variance changes no draw."""
    ridge = 1e-10 * max(float(np.diag(covariance).max(initial=0.0)), 1e-300)
    return np.asarray(np.linalg.cholesky(covariance + ridge * np.eye(covariance.shape[0])), dtype=np.float64)
