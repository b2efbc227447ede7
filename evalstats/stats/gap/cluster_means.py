"""Mean scores of models from sums by cluster, with the covariance that shared clusters make."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.one_sample import satterthwaite_df

FEWEST_CLUSTERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMeans:
    """Means of models whose units fall into clusters that models share.

    Attributes
    ----------
    estimate
        float64, shape (n_models,): weighted means; NaN for a model without a unit.
    covariance
        float64, shape (n_models, n_models), of their errors; None where a model has fewer than five clusters (`reason`).
    n_clusters
        int64, shape (n_models,): clusters with a unit of each model.
    df
        Smallest Satterthwaite degrees of freedom of a mean.
    """

    estimate: FloatArray
    covariance: FloatArray | None
    n_clusters: IntArray
    df: float | None
    reason: str | None = None


def cluster_means(
    cluster: IntArray, model: IntArray, n: FloatArray, total: FloatArray, *, n_clusters: int, n_models: int
) -> ClusterMeans:
    """Average the units of each model, with errors clustered.

    Parameters
    ----------
    cluster, model
        int64, shape (n_entries,): codes from 0; a pair may stand in several entries, which are added up.
    n, total
        float64, shape (n_entries,): sum of the weights of the units, and of weight x score.

    Returns
    -------
    ClusterMeans
        With Cov(a, b) = sum_g R_ga R_gb / sqrt((1 - f_ga)(1 - f_gb)) / (n_a n_b): R_ga the residuals of model a summed over
        cluster g, f_ga the share of its weight in g. The diagonal is the CR2 variance of a mean.

    Raises
    ------
    InputError
        If shapes differ, or a weight is negative or no number.

    Notes
    -----
    The same as `evalstats.stats.many.pair_table` on a dense table; here the table is sparse, since of a hundred
    thousand users each meets a few models.

    References
    ----------
    Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004.

    Examples
    --------
    >>> codes = np.arange(12)
    >>> found = cluster_means(codes % 6, codes // 6, np.ones(12), (codes % 2).astype(float), n_clusters=6, n_models=2)
    >>> found.estimate.tolist(), found.n_clusters.tolist()
    ([0.5, 0.5], [6, 6])
    """
    if not cluster.shape == model.shape == n.shape == total.shape:
        raise InputError("cluster, model, n and total must have one entry each for every row")
    if not (np.isfinite(n).all() and np.isfinite(total).all() and (n >= 0).all()):
        raise InputError("a weight is negative, or a weight or sum is no number; leave such rows out")
    shape = (n_clusters, n_models)
    counts = sparse.csr_array((n, (cluster, model)), shape=shape)
    sums = sparse.csr_array((total, (cluster, model)), shape=shape)
    weight = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
    units = np.bincount(counts.tocoo().coords[1][counts.tocoo().data > 0], minlength=n_models).astype(np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = np.asarray(sums.sum(axis=0), dtype=np.float64).ravel() / weight
    few = np.flatnonzero(units < FEWEST_CLUSTERS)
    if few.size:
        reason = f"model {int(few[0])} has {int(units[few[0]])} clusters; at least {FEWEST_CLUSTERS} are needed"
        return ClusterMeans(estimate=estimate, covariance=None, n_clusters=units, df=None, reason=reason)
    at = counts.tocoo()
    row, column, own = at.coords[0], at.coords[1], at.data
    share = own / weight[column]
    residual = np.asarray(sums[row, column]).ravel() - own * estimate[column]
    scaled = sparse.csr_array((residual / np.sqrt(1.0 - share) / weight[column], (row, column)), shape=shape)
    covariance = np.asarray((scaled.T @ scaled).todense(), dtype=np.float64)
    df = min(satterthwaite_df(share[column == j]) for j in range(n_models))
    return ClusterMeans(estimate=estimate, covariance=covariance, n_clusters=units, df=float(df))
