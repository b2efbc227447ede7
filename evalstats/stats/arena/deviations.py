"""The linear mixed model behind strengths by category, with noise that is independent between categories."""

from dataclasses import dataclass, replace

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.simulated import pseudo_inverse
from evalstats.stats.arena.stacked import Clustering, SlicedScores, mean_quadratic, sliced_scores
from evalstats.stats.arena.vote_law import linear_predictor, tie_parameter, vote_law
from evalstats.stats.arena.votes import VoteRows
from evalstats.stats.checks import FloatArray, IntArray

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
    inflation
        What noise was multiplied by for clusters.
    """

    n_models: int
    axes: tuple[FloatArray, ...]
    values: tuple[FloatArray, ...]
    noise: tuple[FloatArray, ...]
    inflation: float

    def largest_tau(self) -> float:
        """Return a tau above any that is likely."""
        spread = sum(float(y @ y) for y in self.values) / sum(y.size for y in self.values)
        quiet = min(float(np.median(v)) for v in self.noise)
        return 2.0 * float(np.sqrt(max(spread, quiet)))

    def inflated(self, inflation: float) -> "DeviationModel":
        """Return the model with noise that is so many times that of single votes."""
        factor = inflation / self.inflation
        return replace(self, noise=tuple(factor * noise for noise in self.noise), inflation=inflation)

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
    inflation: float = 1.0,
) -> DeviationModel:
    """Expand the likelihood of every category about given strengths, shape (n_categories, n_models)."""
    n_categories = strengths.shape[0]
    change = strengths - fit.strengths
    shift = change[category, rows.first] - change[category, rows.second]
    scores = sliced_scores(fit, rows, category, n_categories, shift=shift)
    noise_meat = _expected_meat(fit, scores, shift)
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
        noise.append(np.maximum(inflation * variance, 1e-12))
    if sum(y.size for y in values) < strengths.shape[1]:
        raise CannotAnswerError("no two models met in more than one category, so nothing can be told of deviations")
    return DeviationModel(
        n_models=strengths.shape[1],
        axes=tuple(axes),
        values=tuple(values),
        noise=tuple(noise),
        inflation=inflation,
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
class Inflation:
    """How many times the variances between clusters exceed those of single votes, on average over deviations.

    Attributes
    ----------
    at_zero
        As seen at common strengths, where true deviations add to it; at least 1.
    by_deviations
        What deviations of variance 1 add.
    """

    at_zero: float
    by_deviations: float

    def at(self, tau: float) -> float:
        """Return it without what deviations of that standard deviation add; at least 1."""
        return max(1.0, self.at_zero - tau**2 * self.by_deviations)


def cluster_inflation(
    fit: PairFit, rows: VoteRows, category: IntArray, *, used: Clustering, seed: int = 0
) -> Inflation:
    """Compare the scores' variances by clusters with those of single votes, at common strengths.

    The trace of P V, with V the clustered covariance of the categories' estimates and P the inverse of that of single votes,
    from which common strengths are taken off. Residuals from predictions in their place would hide what few clusters in a
    category have in common (a third of tests of no deviations would then be below .05, with three clusters in each).
    """
    if not used.ways:
        return Inflation(at_zero=1.0, by_deviations=0.0)
    nothing = np.zeros(rows.n_rows)
    n_categories, n = int(category.max()) + 1, rows.n_models
    scores = sliced_scores(fit, rows, category, n_categories, shift=nothing)
    noise = _expected_meat(fit, scores, nothing)
    inverse = [pseudo_inverse(block) for block in noise]
    moved = np.vstack([own @ information for own, information in zip(inverse, scores.information, strict=True)])
    common = pseudo_inverse(np.sum([i @ own @ i for own, i in zip(inverse, scores.information, strict=True)], axis=0))
    free = max(1, sum(int(np.linalg.matrix_rank(block, hermitian=True)) for block in noise) - (n - 1))

    def ratio(of: SlicedScores) -> float:
        each = [(sign, mean_quadratic(of, codes, inverse, moved, common) / free) for sign, codes, _ in used.terms]
        return max(sum(sign * value for sign, value in each), *(value for sign, value in each if sign > 0.0))

    law = vote_law(fit.ties, linear_predictor(fit, rows), tie_parameter(fit, rows))
    whole = pseudo_inverse(scores.information.sum(axis=0))
    rng = np.random.default_rng(seed)
    added: list[float] = []
    for _ in range(max(2, -(-_ENTRIES // (n_categories * n)))):
        drawn = rng.standard_normal((n_categories, n))
        drawn -= whole @ np.einsum("sij,sj->i", scores.information, drawn)
        change = drawn[category, rows.first] - drawn[category, rows.second]
        added.append(ratio(replace(scores, score=law.information * change)))
    return Inflation(at_zero=max(1.0, ratio(scores)), by_deviations=float(np.mean(added)))
