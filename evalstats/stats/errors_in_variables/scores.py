"""Two measurements of the same models with the covariance of their errors, shrunk where clusters are few.

References: Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004 (CR2).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.one_sample import satterthwaite_df

_SYMMETRY = 1e-8


@record
class LabLiveScores:
    """Scores of the same models in the lab and with live users. More is better on both sides, each on its own scale.

    Covariances of errors have shape (n_models, n_models), None where no error is known. A component that all models share
    (easy items, the zero of a rating scale) may be in one or not: nothing here may depend on it. `cross` is the covariance of
    lab errors (rows) with live errors (columns), where both rest on the same items or raters.
    """

    lab: FloatArray
    live: FloatArray
    lab_covariance: FloatArray | None = None
    live_covariance: FloatArray | None = None
    cross: FloatArray | None = None

    def __post_init__(self) -> None:
        n = self.lab.size
        for name, side in (("lab", self.lab), ("live", self.live)):
            if not np.isfinite(side).all():
                raise InputError(f"{name} holds NaN or an infinite number; leave models without a score out")
        for name, table in (("lab_covariance", self.lab_covariance), ("live_covariance", self.live_covariance)):
            if table is None:
                continue
            if table.shape != (n, n) or not np.isfinite(table).all():
                raise InputError(f"{name} has shape {table.shape}; it must be ({n}, {n}) of finite numbers")
            scale = float(np.abs(table).max(initial=0.0))
            if np.abs(table - table.T).max(initial=0.0) > _SYMMETRY * scale or (np.diag(table) < 0).any():
                raise InputError(f"{name} is no covariance: it must be symmetric, with no negative variance")
        if self.cross is not None and (self.cross.shape != (n, n) or not np.isfinite(self.cross).all()):
            raise InputError(f"cross has shape {self.cross.shape}; it must be ({n}, {n}) of finite numbers")

    @property
    def n_models(self) -> int:
        """How many models there are."""
        return self.lab.size

    @property
    def has_errors(self) -> bool:
        """Whether the errors of both sides are known."""
        return self.lab_covariance is not None and self.live_covariance is not None

    def subset(self, keep: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> "LabLiveScores":
        """Keep some of the models, by place or by mask."""
        at = np.flatnonzero(keep) if keep.dtype == np.bool_ else keep

        def cut(table: FloatArray | None) -> FloatArray | None:
            return None if table is None else table[np.ix_(at, at)]

        return replace(
            self,
            lab=self.lab[at],
            live=self.live[at],
            lab_covariance=cut(self.lab_covariance),
            live_covariance=cut(self.live_covariance),
            cross=cut(self.cross),
        )


def centred_variance(covariance: FloatArray) -> float:
    """Return the noise variance of one score about the mean of all: tr(C V C)/(n - 1), with C the centring matrix.

    Errors of models that answered the same items move together; the part that moves all of them alike changes no comparison
    and is left out. It is the mean of the variances less the mean of the covariances.
    """
    n = covariance.shape[0]
    total, diagonal = float(covariance.sum()), float(np.trace(covariance))
    return max(0.0, diagonal / n - (total - diagonal) / (n * (n - 1)))


FEWEST_CLUSTERS = 5


@record
class ClusterMeans:
    """Means of models whose units fall into clusters that models share.

    `estimate` is NaN for a model without a unit; `covariance` of the errors None where a model has fewer than five clusters
    (`reason`); `df` the smallest Satterthwaite degrees of freedom of a mean.
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

    Entries of one cluster and model are added up: `n` is the sum of the weights of the units, `total` of weight x score.

    Notes
    -----
    Cov(a, b) = sum_g R_ga R_gb / sqrt((1 - f_ga)(1 - f_gb)) / (n_a n_b): R_ga the residuals of model a summed over
    cluster g, f_ga the share of its weight in g. The diagonal is the CR2 variance of a mean. The same as
    `evalstats.stats.many.pair_table` on a dense table; here the table is sparse, since of a hundred thousand users each meets
    a few models.
    """
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


def unique_variances(covariance: FloatArray) -> FloatArray:
    """Return each model's noise variance without what all models share; their mean is `centred_variance`."""
    n = covariance.shape[0]
    centred = np.diag(covariance) - 2.0 * covariance.mean(axis=1) + covariance.mean()
    # A variance about the mean of all holds (1 - 2/n) of the model's own and the mean of all over n.
    return np.maximum((centred - centred.sum() / (n * (n - 1.0))) * n / (n - 2.0), 0.0)


def shrunken_covariances(scores: LabLiveScores, n_clusters: float) -> LabLiveScores:
    """Return the scores with covariances that keep York's test near its level where clusters are few for the models.

    A covariance of n models from G clusters is inverted to weigh residuals, and the inverse of a noisy covariance is too large:
    with 15 models and 40 clusters a test of tau = 0 at 5% rejects 17% of the time. So each covariance is mixed with one of
    independent errors about a common part, which takes n numbers instead of n (n + 1) / 2; its share is 2 n / (G - 1), at most
    1, with G the clusters behind the side that has fewer. Variances of models about the mean of all are kept.

    Examples
    --------
    >>> table = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> zeros = np.zeros(3)
    >>> scores = LabLiveScores(lab=zeros, live=zeros, lab_covariance=table, live_covariance=table)
    >>> shrunken_covariances(scores, 5).lab_covariance.round(2).tolist()[0][1:]
    [0.67, 0.67]
    """
    share = min(1.0, 2.0 * scores.n_models / (n_clusters - 1.0))
    v_x, v_z = scores.lab_covariance, scores.live_covariance
    if v_x is None or v_z is None or scores.n_models < 3:
        return scores
    cross = scores.cross
    if cross is not None:
        # The same covariance of both sides' errors for each model, no larger than variances allow, and what all share.
        n = len(cross)
        own = (float(np.trace(cross)) - float(cross.sum()) / n) / (n - 1.0)
        most = np.sqrt(unique_variances(v_x) * unique_variances(v_z))
        simple = np.diag(np.clip(own, -most, most)) + float(cross.mean() - own / n)
        cross = (1.0 - share) * cross + share * simple
    return replace(
        scores,
        lab_covariance=(1.0 - share) * v_x + share * _simple(v_x),
        live_covariance=(1.0 - share) * v_z + share * _simple(v_z),
        cross=cross,
    )


def _simple(table: FloatArray) -> FloatArray:
    """Each model's own variance, and one number that all share."""
    n, own = len(table), unique_variances(table)
    return np.diag(own) + float(table.mean() - own.mean() / n)
