"""The covariance of strengths, and the variances of contrasts taken from it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.stats.arena.fit import PairFit
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import SMALLEST_P

ENOUGH_CLUSTERS = 40  # clusters that a way must be worth for claims by a multivariate t: see `strength_ranks`
_NEGATIVE = 1e-9  # of the variances that stand in: less than that is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way in which votes share something.

    Attributes
    ----------
    n_clusters
        Clusters with a vote of some weight.
    effective
        (sum k)^2 / sum k^2 for the weights k of the clusters' votes: how many equal clusters these are worth.
    largest_share
        Share of all votes in the largest cluster.
    jackknife
        Whether its part is the one-step cluster jackknife, which is taken where the largest share exceeds .05.
    nested_in
        The way inside which every one of these clusters lies, so that this one adds nothing; None where it was used.
    """

    name: str
    n_clusters: int
    effective: float
    largest_share: float
    jackknife: bool = False
    nested_in: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthCovariance:
    """Covariance of the parameters of a fit, and what may be claimed with it.

    Attributes
    ----------
    covariance
        float64, shape (n_parameters, n_parameters), in the order of the fit's parameters. With several ways of clustering it
        may have negative eigenvalues: variances are to be taken by `contrast_variance` and `combination_variance`.
    joint
        float64, shape (n_models, n_models): the part of the strengths with negative eigenvalues set to 0, for claims about
        several contrasts at once.
    votes
        The same as `covariance` if every vote stood on its own.
    one_way
        One covariance for each way that was used.
    df
        Degrees of freedom of the t law, of what all votes bear on; of two models see `contrast_df`.
    model_effective
        float64, shape (n_models,): how many equal clusters the votes on each model are worth, in the way where these are the
        fewest.
    ways
        What the votes share, in the order of `rows.clusters`; empty where every vote stands on its own.
    repaired, repair
        Whether `joint` differs from `covariance`, and the sum of the negative eigenvalues over that of the positive ones.
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
    repair: float = 0.0
    few_clusters: bool = False
    plain: bool = False
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
    """Return the variances of strength i less strength j, one for each pair of entries of `i` and `j`.

    Notes
    -----
    V_ii + V_jj - 2 V_ij. Inclusion and exclusion can come out at or below 0 by chance: then the largest of the one-way
    variances and that of single votes is returned. A plain covariance is taken as it is.
    """
    first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)

    def of(matrix: FloatArray) -> FloatArray:
        own = np.diagonal(matrix)
        return own[first] + own[second] - 2.0 * matrix[first, second]

    return _positive(covariance, [of(matrix) for matrix in _matrices(covariance)])


def contrast_df(covariance: StrengthCovariance, i: ArrayLike, j: ArrayLike) -> FloatArray:
    """Return the degrees of freedom of strength i less strength j; NaN where all votes on one of them lie in one cluster.

    Notes
    -----
    min(df, G*_i - 1, G*_j - 1), with G*_i of the votes on model i alone: a model that few raters saw is known no better than
    so many raters allow, however many others there are.
    """
    fewest = np.minimum(covariance.model_effective[np.asarray(i)], covariance.model_effective[np.asarray(j)])
    df = np.minimum(covariance.df, fewest - 1.0)
    return np.where(df > _NEGATIVE, df, np.nan)


def combination_variance(covariance: StrengthCovariance, weights: ArrayLike) -> FloatArray:
    """Return the variances of combinations of parameters, `weights` of shape (n_combinations, n_parameters).

    As `contrast_variance`, for coefficients and single strengths too.

    Examples
    --------
    >>> from evalstats.stats.arena.bradley_terry import fit_strengths
    >>> from evalstats.stats.arena.covariance import covariance_of
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0], [1, 1], [0, 1], count=[30, 10])
    >>> found = covariance_of(fit_strengths(rows), rows)
    >>> combination_variance(found, [[1, -1], [1, 0]]).round(6).tolist()
    [0.133333, 0.033333]
    """
    rows = np.asarray(weights, dtype=np.float64)
    return _positive(covariance, [np.einsum("cp,pq,cq->c", rows, matrix, rows) for matrix in _matrices(covariance)])


def _matrices(covariance: StrengthCovariance) -> tuple[FloatArray, ...]:
    """Return the covariance, and behind it those that stand in for it."""
    return (covariance.covariance, covariance.votes, *covariance.one_way)


def _positive(covariance: StrengthCovariance, variances: list[FloatArray]) -> FloatArray:
    """Return the first variances, or where they are not positive the largest of the others."""
    value, others = variances[0], np.max(variances[1:], axis=0)
    return value if covariance.plain else np.where(value > _NEGATIVE * others, value, others)


def contrast_p(fit: PairFit, covariance: StrengthCovariance, i: ArrayLike, j: ArrayLike) -> FloatArray:
    """Return two-sided p-values of strength i = strength j by the t law; NaN where a contrast has no standard error."""
    first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    variance = contrast_variance(covariance, first, second)
    df = contrast_df(covariance, first, second)
    known = (variance > 0.0) & ~np.isnan(df)
    t = (fit.strengths[first] - fit.strengths[second]) / np.sqrt(np.where(known, variance, 1.0))
    p = 2.0 * special.stdtr(np.where(known, df, 1.0), -np.abs(t))
    return np.where(known, np.clip(p, SMALLEST_P, 1.0), np.nan)


def df_words(df: float) -> str:
    """Write degrees of freedom, with a decimal where they are few.

    Examples
    --------
    >>> df_words(12.0), df_words(73.46), df_words(2999.0)
    ('12', '73.5', '2,999')
    """
    return f"{df:.3g}" if df < 100.0 else f"{df:,.0f}"
