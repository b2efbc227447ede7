"""The linear mixed model behind strengths by category, with noise that is independent between categories."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.simulated import pseudo_inverse
from evalstats.stats.arena.slice_scores import Clustering, SlicedScores, mean_quadratic, sliced_scores
from evalstats.stats.arena.vote_law import linear_predictor, tie_parameter, vote_law
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes

_RANK = 1e-9
_ENTRIES = 300  # random deviations drawn to see what deviations add
_FINE = 12  # values of tau by which a drawn maximum is sought below the first of the grid


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationModel:
    """y_s = A_s'(l + d_s) + e_s with d_s ~ N(0, tau^2 I) and e_s ~ N(0, diag(noise_s)), for every category s.

    Attributes
    ----------
    axes
        A_s, float64, shape (n_models, n_s): orthonormal directions of strengths that the category's votes tell.
    values, noise
        float64, each of shape (n_s,).
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

        Notes
        -----
        With G_s = A_s diag(1/(tau^2 + noise)) A_s' and C = (sum of G)^-, the error of d_s has the covariance
        tau^2 I - tau^4 (G_s - G_s C G_s); of d_s less its mean the same between the centring matrix.
        """
        n = self.n_models
        parts = [axes / (tau**2 + noise) for axes, noise in zip(self.axes, self.noise, strict=True)]
        gains = [part @ axes.T for part, axes in zip(parts, self.axes, strict=True)]
        pulls = [part @ y for part, y in zip(parts, self.values, strict=True)]
        filled = np.array(gains, dtype=np.float64).sum(axis=0) + 1.0 / n
        common = np.asarray(np.linalg.inv(filled) - 1.0 / n, dtype=np.float64)
        strengths = np.asarray(common @ np.array(pulls).sum(axis=0), dtype=np.float64)
        deviations = tau**2 * np.array([pull - gain @ strengths for pull, gain in zip(pulls, gains, strict=True)])
        # Gains have no part along equal strengths, so that centring takes tau^2 / n off the prior's variance alone.
        variances = np.array(
            [
                tau**2 * (1.0 - 1.0 / n) - tau**4 * (np.diag(gain) - np.einsum("ij,ij->i", gain @ common, gain))
                for gain in gains
            ]
        )
        return strengths, deviations, np.maximum(variances, 0.0)


def deviation_model(
    fit: PairFit,
    rows: VoteRows,
    category: IntArray,
    *,
    strengths: FloatArray,
    extra: FloatArray | float = 0.0,
) -> DeviationModel:
    """Expand the likelihood of every category about given strengths, shape (n_categories, n_models).

    Parameters
    ----------
    extra
        Variance of scores that clusters add, shape (n_categories, n_models, n_models).
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
        kept = size > _RANK * max(float(size[-1]), 1e-300)
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
    return DeviationModel(
        n_models=strengths.shape[1],
        axes=tuple(axes),
        values=tuple(values),
        noise=tuple(noise),
    )


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
    a, t, b = law.scores
    square = law.win * a**2 + law.tie * t**2 + law.loss * b**2
    return scores.laplacians(rows.weight_squares * square)


@dataclass(frozen=True, slots=True, kw_only=True)
class WayNoise:
    """What clusters of one way add to noise: each cluster has deviations of its own, of one variance.

    Attributes
    ----------
    blocks
        float64, shape (n_categories, n_models, n_models): variance of scores if those deviations have variance 1.
    at_zero
        Variance of clusters' scores at common strengths over that of single votes, on average over directions.
    by_clusters, by_deviations
        What clusters' deviations, and categories' deviations, of variance 1 add to it.
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

    times = max(2, -(-_ENTRIES // (n_categories * n)))
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
                by_deviations=float(np.mean([of_deviations(codes) for _ in range(times)])),
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
