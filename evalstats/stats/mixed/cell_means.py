"""Plain means of cells with a covariance clustered by unit: what a saturated model gives where no score is missing."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import too_few_clusters

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_LARGEST_SHARE = 1.0 - 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class CellMeans:
    """Means of cells, and how they vary together.

    Attributes
    ----------
    mean
        float64, shape (n_cells,).
    influence
        float64, shape (n_clusters, n_cells): what each cluster contributes to the means.
    covariance
        float64, shape (n_cells, n_cells): CR2, the sum of squared contributions.
    """

    mean: Floats
    influence: Floats = field(repr=False)
    covariance: Floats
    n_clusters: int
    _counts: Floats = field(repr=False)
    _enlarged: Floats = field(repr=False)
    _crossed: Floats = field(repr=False)

    def df(self, rows: Floats) -> Floats:
        """Satterthwaite's degrees of freedom of the t of contrasts of cells, shape (n_contrasts, n_cells)."""
        counts, total = self._counts, self._counts.sum(axis=0)
        square = (rows / total) ** 2
        spread = square @ (counts * self._enlarged**2).T
        moved = square @ (counts**2 * self._enlarged**2 / total).T
        # tr(P^2) of P = diag(spread) - moved moved'.
        whole = (square @ self._crossed * square).sum(axis=1)
        trace = (spread - moved).sum(axis=1)
        return np.asarray(trace**2 / ((spread**2).sum(axis=1) - 2 * (spread * moved).sum(axis=1) + whole))


def cell_means(scores: Floats, cell: Ints, cluster: Ints) -> CellMeans:
    """Return means of cells with CR2 standard errors.

    With a fixed effect for every cell and no score missing, weighted and plain least squares agree: whatever random effects
    items have, the estimates are the plain means, and a share of successes is already averaged over the population of
    items. So no model needs to be fitted.

    Parameters
    ----------
    scores
        float64, shape (n_rows,).
    cell, cluster
        int64, shape (n_rows,): codes from 0 without gaps; clusters are independent.

    Raises
    ------
    CannotAnswerError
        If there are fewer than 5 clusters.

    References
    ----------
    Bell & McCaffrey 2002, Survey Methodology 28:169 (in a saturated design the adjustment is a factor for each cluster and
    cell).

    Examples
    --------
    >>> found = cell_means(np.array([0.0, 1, 1, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1]), np.arange(6))
    >>> found.mean.round(3).tolist(), (np.diag(found.covariance) * 9).round(3).tolist()
    ([0.667, 0.667], [1.0, 1.0])
    >>> found.df(np.array([[-1.0, 1.0]])).round(6).tolist()
    [4.0]
    """
    n_clusters, n_cells = int(cluster.max()) + 1, int(cell.max()) + 1
    few = too_few_clusters(n_clusters)
    if few is not None:
        raise CannotAnswerError(few)
    place = cluster * n_cells + cell
    counts = np.bincount(place, minlength=n_clusters * n_cells).reshape(n_clusters, n_cells).astype(np.float64)
    total = counts.sum(axis=0)
    mean = np.bincount(cell, weights=scores, minlength=n_cells) / total
    pull = np.bincount(place, weights=scores - mean[cell], minlength=n_clusters * n_cells).reshape(n_clusters, n_cells)
    share = counts / total
    # A cell that lies in one cluster has no spread to judge by: its pulls sum to 0.
    enlarged = 1.0 / np.sqrt(1.0 - np.minimum(share, _LARGEST_SHARE))
    influence = pull / total * enlarged
    crossed = counts * enlarged / np.sqrt(total)
    return CellMeans(
        mean=mean,
        influence=influence,
        covariance=influence.T @ influence,
        n_clusters=n_clusters,
        _counts=counts,
        _enlarged=enlarged,
        _crossed=(crossed.T @ crossed) ** 2,
    )
