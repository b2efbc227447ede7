"""Strengths by slice of the votes (periods, categories): scores, tests that all slices are alike, and partial pooling."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import special
from scipy.sparse import csr_array

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.arena.bradley_terry import fit_strengths, row_scores
from evalstats.stats.arena.covariance import (
    FEWEST_CLUSTERS,
    StrengthCovariance,
    combination_variance,
    covariance_of,
    few_factor,
    intersection,
    nested_in,
)
from evalstats.stats.arena.likelihood import PairFit, Ties, connection, linear_predictor, tie_parameter, vote_law
from evalstats.stats.arena.parametric_bootstrap import pseudo_inverse
from evalstats.stats.arena.votes import VoteRows, summed
from evalstats.stats.checks import FloatArray, IntArray, as_codes, check_count, check_level
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import t_quantile


@record
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


@record
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


@record
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


_RANK_TOLERANCE = 1e-9
_ENTRIES = 300  # random deviations drawn to see what deviations add
_FINE = 12  # values of tau by which a drawn maximum is sought below the first of the grid


@record
class DeviationModel:
    """y_s = A_s'(l + d_s) + e_s with d_s ~ N(0, tau^2 I) and e_s ~ N(0, diag(noise_s)), for every category s.

    `axes` are A_s, of shape (n_models, n_s): orthonormal directions of strengths that the category's votes tell; `values` and
    `noise` have shape (n_s,).
    """

    n_models: int
    axes: tuple[FloatArray, ...]
    values: tuple[FloatArray, ...]
    noise: tuple[FloatArray, ...]

    def largest_tau(self) -> float:
        """Return a tau above any that is likely."""
        spread = sum(float(y @ y) for y in self.values) / sum(y.size for y in self.values)
        quiet = min(float(np.median(v)) for v in self.noise)
        return 2.0 * float(np.sqrt(max(spread, quiet)))

    def log_lik(self, tau: float) -> float:
        """Return the restricted log-likelihood of tau."""
        return float(self.log_lik_of(tau, [y[None] for y in self.values])[0])

    def log_lik_of(self, tau: float, values: list[FloatArray]) -> FloatArray:
        """Return the restricted log-likelihood of tau for several sets of values, each of shape (n_sets, n_s)."""
        inside, pull = np.full((self.n_models, self.n_models), 1.0 / self.n_models), 0.0
        total = np.zeros(values[0].shape[0])
        for axes, noise, y in zip(self.axes, self.noise, values, strict=True):
            weight = 1.0 / (tau**2 + noise)
            inside += (axes * weight) @ axes.T
            pull = pull + (y * weight) @ axes.T
            total += y**2 @ weight - float(np.log(weight).sum())
        lower = np.linalg.cholesky(inside)
        solved = np.linalg.solve(lower, np.transpose(pull))
        total += 2.0 * float(np.log(np.diag(lower)).sum()) - np.square(solved).sum(axis=0)
        return -total / 2.0

    def predict(self, tau: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return strengths, deviations (mean 0 in each category), and variances of their errors, at a tau.

        With G_s = A_s diag(1/(tau^2 + noise)) A_s' and C = (sum of G)^-, the error of d_s has the covariance
        tau^2 I - tau^4 (G_s - G_s C G_s); of d_s less its mean the same between the centring matrix.
        """
        n = self.n_models
        parts = [axes / (tau**2 + noise) for axes, noise in zip(self.axes, self.noise, strict=True)]
        gains = [part @ axes.T for part, axes in zip(parts, self.axes, strict=True)]
        pulls = [part @ y for part, y in zip(parts, self.values, strict=True)]
        # Pulls and gains have no part along equal strengths, so that it does not matter what fills that direction.
        common = np.asarray(np.linalg.inv(np.array(gains).sum(axis=0) + 1.0 / n), dtype=np.float64)
        strengths = np.asarray(common @ np.array(pulls).sum(axis=0), dtype=np.float64)
        deviations = tau**2 * np.array([pull - gain @ strengths for pull, gain in zip(pulls, gains, strict=True)])
        # For the same reason centring takes tau^2 / n off the prior's variance alone.
        variances = np.array(
            [
                tau**2 * (1.0 - 1.0 / n) - tau**4 * (np.diag(gain) - np.einsum("ij,ij->i", gain @ common, gain))
                for gain in gains
            ]
        )
        return strengths, deviations, np.maximum(variances, 0.0)


def deviation_model(
    fit: PairFit, rows: VoteRows, category: IntArray, *, strengths: FloatArray, extra: FloatArray | float = 0.0
) -> DeviationModel:
    """Expand the likelihood of every category about given strengths, shape (n_categories, n_models).

    `extra`, of shape (n_categories, n_models, n_models), is the variance of scores that clusters add.
    """
    n_categories = strengths.shape[0]
    change = strengths - fit.strengths
    shift = change[category, rows.first] - change[category, rows.second]
    scores = sliced_scores(fit, rows, category, n_categories, shift=shift)
    noise_meat = _expected_meat(fit, scores, shift) + extra
    gradient = scores.gradient()
    axes: list[FloatArray] = []
    values: list[FloatArray] = []
    noise: list[FloatArray] = []
    for s in range(n_categories):
        size, vectors = np.linalg.eigh(scores.information[s])
        kept = size > _RANK_TOLERANCE * max(float(size[-1]), 1e-300)
        told, known = vectors[:, kept], size[kept]
        # Estimates in those directions: one Newton step from where the likelihood was expanded.
        y = told.T @ strengths[s] + (told.T @ gradient[s]) / known
        error = (told.T @ noise_meat[s] @ told) / np.outer(known, known)
        variance, turn = np.linalg.eigh((error + error.T) / 2.0)
        axes.append(np.asarray(told @ turn, dtype=np.float64))
        values.append(np.asarray(turn.T @ y, dtype=np.float64))
        noise.append(np.maximum(variance, 1e-12))
    if sum(y.size for y in values) < strengths.shape[1]:
        raise CannotAnswerError("no two models met in more than one category, so nothing can be told of deviations")
    return DeviationModel(n_models=strengths.shape[1], axes=tuple(axes), values=tuple(values), noise=tuple(noise))


def draws_without(model: DeviationModel, grid: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw the restricted likelihood ratio of tau = 0 where there are no deviations, shape (n,)."""
    drawn = [rng.standard_normal((n, noise.size)) * np.sqrt(noise) for noise in model.noise]
    none = model.log_lik_of(0.0, drawn)
    best = none.copy()
    # Finer towards 0, where most maxima lie.
    points = np.concatenate([grid[1] * np.arange(1, _FINE) / _FINE, grid[1:]])
    for tau in points:
        best = np.maximum(best, model.log_lik_of(float(tau), drawn))
    return 2.0 * (best - none)


def _expected_meat(fit: PairFit, scores: SlicedScores, shift: FloatArray) -> FloatArray:
    """Return the variance of the scores of every category if votes are independent, under the law of votes."""
    rows = scores.rows
    law = vote_law(fit.ties, linear_predictor(fit, rows) + shift, tie_parameter(fit, rows))
    return scores.laplacians(rows.weight_squares * law.score_squares)


@record
class WayNoise:
    """What clusters of one way add to noise: each cluster has deviations of its own, of one variance.

    `blocks`, of shape (n_categories, n_models, n_models), is the variance of scores if those deviations have variance 1;
    `at_zero` the variance of clusters' scores at common strengths over that of single votes, on average over directions;
    `by_clusters` and `by_deviations` what clusters' deviations, and categories' deviations, of variance 1 add to it.
    """

    blocks: FloatArray
    at_zero: float
    by_clusters: float
    by_deviations: float

    def variance(self, tau: float) -> float:
        """Return the variance of clusters' deviations where those of categories have standard deviation tau."""
        left = self.at_zero - 1.0 - tau**2 * self.by_deviations
        return max(0.0, left / self.by_clusters) if self.by_clusters > 0.0 else 0.0


def cluster_noise(
    fit: PairFit, rows: VoteRows, category: IntArray, *, used: Clustering, seed: int = 0
) -> tuple[WayNoise, ...]:
    """Estimate what clusters add to the noise of every category, by moments at common strengths.

    Residuals from predictions in their place would hide what few clusters in a category have in common (a third of tests of
    no deviations would then be below .05, with three clusters in each).
    """
    nothing = np.zeros(rows.n_rows)
    n_categories, n = int(category.max()) + 1, rows.n_models
    scores = sliced_scores(fit, rows, category, n_categories, shift=nothing)
    noise = _expected_meat(fit, scores, nothing)
    inverse = [pseudo_inverse(block) for block in noise]
    moved = np.vstack([own @ information for own, information in zip(inverse, scores.information, strict=True)])
    common = pseudo_inverse(np.sum([i @ own @ i for own, i in zip(inverse, scores.information, strict=True)], axis=0))
    free = max(1, sum(int(np.linalg.matrix_rank(block, hermitian=True)) for block in noise) - (n - 1))
    information = vote_law(fit.ties, linear_predictor(fit, rows), tie_parameter(fit, rows)).information
    whole = pseudo_inverse(scores.information.sum(axis=0))
    rng = np.random.default_rng(seed)

    def ratio(of: SlicedScores, codes: IntArray) -> float:
        return mean_quadratic(of, codes, inverse, moved, common) / free

    def of_deviations(codes: IntArray) -> float:
        drawn = rng.standard_normal((n_categories, n))
        drawn -= whole @ np.einsum("sij,sj->i", scores.information, drawn)
        change = drawn[category, rows.first] - drawn[category, rows.second]
        return ratio(replace(scores, score=information * change), codes)

    rounds = max(2, -(-_ENTRIES // (n_categories * n)))
    out: list[WayNoise] = []
    for codes in used.ways:
        blocks = _squares(rows, category, codes, rows.weight * information, n_categories)
        added = sum(float(np.sum(k * block)) for k, block in zip(inverse, blocks, strict=True))
        shared = sum(
            float(np.sum(common * (y.T @ block @ y)))
            for y, block in zip(np.split(moved, n_categories), blocks, strict=True)
        )
        out.append(
            WayNoise(
                blocks=blocks,
                at_zero=ratio(scores, codes),
                by_clusters=(added - shared) / free,
                by_deviations=float(np.mean([of_deviations(codes) for _ in range(rounds)])),
            )
        )
    return tuple(out)


def _squares(rows: VoteRows, category: IntArray, codes: IntArray, weight: FloatArray, n_categories: int) -> FloatArray:
    """Return for every category the sum over clusters of the square of their information there."""
    n = rows.n_models
    out = np.zeros((n_categories, n, n))
    for s in range(n_categories):
        has = category == s
        first, second, w = rows.first[has], rows.second[has], weight[has]
        place = as_codes(codes[has], int(has.sum()))[0] * n
        stacked = csr_array(
            (
                np.concatenate([w, w, -w, -w]),
                (
                    np.concatenate([place + first, place + second, place + first, place + second]),
                    np.concatenate([first, second, second, first]),
                ),
            ),
            shape=(int(place.max()) + n, n),
        )
        out[s] = (stacked.T @ stacked).toarray()
    return out


_ROUNDS = 3
_GRID = 32
_FALL = 9.0  # log-likelihood below the maximum at which the grid of tau ends
_STEPS = 60
_NOTHING = 1e-6
_SETTLE = 8
_NEAR = 0.01  # relative change of tau at which the two agree


@record
class PooledStrengths:
    """Deviations of strengths by category.

    Attributes
    ----------
    strengths
        float64, shape (n_models,), sum 0, log-units: common to all categories.
    deviations, std_error, conf_low, conf_high
        float64, shape (n_categories, n_models): predicted strength in the category less the common one, of mean 0 in each
        category; the standard deviation of the error, in which it is counted that `tau` is estimated; and the interval.
    tau, tau_low, tau_high
        Standard deviation of true deviations, log-units, with its profile interval; `tau_low` may be 0.
    statistic, p_value
        Restricted likelihood ratio of tau = 0, and its p from simulated noise; never 0.
    inflation
        How many times the variances between clusters exceed those of single votes, on average over deviations; 1 where votes
        stand on their own. Clusters that categories lie inside of are not counted.
    """

    strengths: FloatArray
    deviations: FloatArray
    std_error: FloatArray
    conf_low: FloatArray
    conf_high: FloatArray
    tau: float
    tau_low: float
    tau_high: float
    statistic: float
    p_value: float
    inflation: float
    df: float
    n_resamples: int


@one_thread
def pooled_strengths(
    fit: PairFit, rows: VoteRows, category: IntArray, *, conf_level: float = 0.95, n_resamples: int = 999, seed: int = 0
) -> PooledStrengths:
    """Predict strengths in each category: strength m in category s is l_m + d_ms, d_ms ~ N(0, tau^2).

    `fit`: strengths fitted to all rows together. `rows`: votes with their clusters; rows of different categories must not be
    merged. A vote may stand in several categories, with the code of the vote itself as a cluster. `category`: shape
    (n_rows,): 0..n_categories-1.

    Notes
    -----
    The likelihood of each category is expanded to second order about its prediction, three times (penalised quasi-
    likelihood), so that a category that does not connect all models, or in which a model won all, needs no estimate of its
    own: what its votes do not tell comes from the prior. Noise has the variance of single votes under the law of votes,
    and what clusters add if each has deviations of its own, of one variance (by moments); a covariance estimated for every
    cell would be as noisy as the cells. tau is estimated by restricted
    likelihood. Predictions are averaged over tau by that likelihood, so their errors count in that it is not known. Intervals
    are t with min G* - 1 df. Coefficients of covariates stay as fitted.
    """
    level, n_resamples = check_level(conf_level), check_count(n_resamples, "n_resamples", least=99)
    n_categories = int(category.max(initial=-1)) + 1
    if category.shape != (rows.n_rows,):
        raise InputError(f"categories have shape {category.shape}, but there are {rows.n_rows} rows; give one for each")
    if n_categories < 2:
        raise CannotAnswerError("votes are of one category; at least 2 are needed")
    used = clustering(replace(rows, clusters=_within(rows, category)))
    enough_clusters(used)
    strengths = np.repeat(fit.strengths[None], n_categories, axis=0)
    ways = cluster_noise(fit, rows, category, used=used, seed=seed)

    def model_at(tau: float) -> DeviationModel:
        # What clusters add to the variance of scores.
        extra = sum((way.variance(tau) * way.blocks for way in ways), 0.0)
        return deviation_model(fit, rows, category, strengths=strengths, extra=extra)

    tau = 0.0
    for _ in range(_ROUNDS):
        model, tau = _settled(model_at, tau)
        common, deviations, _ = model.predict(tau)
        strengths = common + deviations
    model, tau = _settled(model_at, tau)
    grid, height = _grid(model, tau)
    weights = np.exp(height - height.max()) * _widths(grid)
    mean, error = _averaged(model, grid, weights)
    reach = t_quantile(level, max(used.df, 1.0)) * error
    # Without deviations clusters would vary as much as they are seen to.
    null = model_at(0.0)
    statistic = max(0.0, 2.0 * (null.log_lik(_best(null)) - null.log_lik(0.0)))
    low, high = _interval(model, tau, level)
    return PooledStrengths(
        strengths=model.predict(tau)[0],
        deviations=mean,
        std_error=error,
        conf_low=mean - reach,
        conf_high=mean + reach,
        tau=tau,
        tau_low=low,
        tau_high=high,
        statistic=statistic,
        p_value=_p_value(null, statistic, grid, n_resamples, seed),
        inflation=max([1.0, *(way.at_zero - tau**2 * way.by_deviations for way in ways)]),
        df=used.df,
        n_resamples=n_resamples,
    )


def _within(rows: VoteRows, category: IntArray) -> tuple[IntArray, ...]:
    """Return the ways of clustering that vary inside of categories; what a whole category shares is its deviation."""
    n = int(category.max()) + 1
    return tuple(codes for codes in rows.clusters if np.unique(codes * n + category).size > n)


def _settled(model_at: Callable[[float], DeviationModel], tau: float) -> tuple[DeviationModel, float]:
    """Return tau, and the model with the noise that is left when what such deviations add to clusters is taken off."""
    model = model_at(tau)
    for _ in range(_SETTLE):
        tau, before = _best(model), tau
        if abs(tau - before) <= _NEAR * max(tau, before):
            break
        model = model_at(tau)
    return model, tau


def _best(model: DeviationModel) -> float:
    """Return the tau of the largest restricted likelihood."""
    top = model.largest_tau()
    points = np.linspace(0.0, top, _GRID)
    best = int(np.argmax([model.log_lik(float(tau)) for tau in points]))
    low, high = points[max(best - 1, 0)], points[min(best + 1, _GRID - 1)]
    from scipy.optimize import minimize_scalar  # slow to load

    found = minimize_scalar(lambda tau: -model.log_lik(float(tau)), bounds=(low, high), method="bounded")
    tau = float(found.x)
    # 0 where nothing else is better.
    return tau if model.log_lik(tau) > model.log_lik(0.0) + _NOTHING else 0.0


def _grid(model: DeviationModel, tau: float) -> tuple[FloatArray, FloatArray]:
    """Return values of tau that hold almost all of the likelihood, and its logarithm there."""
    least = model.log_lik(tau) - _FALL
    high = max(tau, 0.05 * model.largest_tau())
    while model.log_lik(high) > least:
        high *= 1.25
    grid = np.linspace(0.0, high, _GRID)
    return grid, np.array([model.log_lik(float(value)) for value in grid])


def _widths(grid: FloatArray) -> FloatArray:
    width = np.gradient(grid)
    width[[0, -1]] /= 2.0
    return np.asarray(width, dtype=np.float64)


def _averaged(model: DeviationModel, grid: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the deviations, averaged over tau."""
    kept = weights > 1e-4 * weights.max()
    found = [model.predict(float(tau)) for tau in grid[kept]]
    share = weights[kept] / weights[kept].sum()
    means, variances = np.array([each[1] for each in found]), np.array([each[2] for each in found])
    mean = np.tensordot(share, means, axes=1)
    total = np.tensordot(share, variances + (means - mean) ** 2, axes=1)
    return mean, np.sqrt(np.maximum(total, 0.0))


def _interval(model: DeviationModel, tau: float, level: float) -> tuple[float, float]:
    """Return where twice the log-likelihood is within a chi-squared quantile of its maximum."""
    least = model.log_lik(tau) - float(special.chdtri(1, 1.0 - level)) / 2.0

    def crossing(inside: float, outside: float) -> float:
        for _ in range(_STEPS):
            middle = (inside + outside) / 2.0
            inside, outside = (middle, outside) if model.log_lik(middle) >= least else (inside, middle)
        return (inside + outside) / 2.0

    first_guess = max(2.0 * tau, 0.05 * model.largest_tau())
    high = first_guess
    while model.log_lik(high) >= least:
        high *= 2.0
    low = 0.0 if model.log_lik(0.0) >= least else crossing(tau, 0.0)
    return low, crossing(tau, high)


def _p_value(model: DeviationModel, statistic: float, grid: FloatArray, n_resamples: int, seed: int) -> float:
    """Return the share of noise without deviations whose ratio is as large, the observed one counted in."""
    if statistic <= 0.0:
        return 1.0
    drawn = draws_without(model, grid, n_resamples, np.random.default_rng(seed))
    return (1 + int(np.count_nonzero(drawn >= statistic * (1.0 - 1e-9)))) / (1 + n_resamples)
